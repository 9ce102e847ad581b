"""A summary as one page of HTML that needs nothing but itself: report.html.

tables.py and plots.py make what is shown, report.html.j2 beside this file puts it in its place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gnav_agents.arena.plots import TEXT, Plot, forest_plot, loss_plot, matrix_plot, rank_plot, survival_plot
from gnav_agents.arena.summary import FieldReport, Metagame, Row, Summary
from gnav_agents.arena.tables import COLUMNS, columns_for, interval, number, played, seats_in_words

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["report_html"]

TEMPLATE = "report.html.j2"

_FURTHER: tuple[tuple[str, str, int], ...] = (
    ("win_share", "win share", 3),
    ("early_elimination", "early elimination", 3),
    ("hazard", "hazard", 2),
    ("mean_deals", "deals", 2),
)
"""Statistics that the leaderboard leaves out: name, heading, decimals."""

_SMALLEST = 7.0
"""CSS pixels below which no letter of a plot shrinks; a narrower window scrolls the plot in its box."""
_LARGEST = 14.5


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as the template wants it."""

    label: str
    headings: tuple[str, ...]
    are_words: tuple[bool, ...]
    """Of each column: words stand left, numbers right."""
    rows: tuple[tuple[str, ...], ...]
    agent_at: int
    """The column that names the agent."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A plot with the words below it."""

    svg: "Markup"
    narrowest: int
    widest: int
    """CSS pixels."""
    caption: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """A heading with what belongs under it."""

    heading: str
    text: str = ""
    table: Table | None = None
    pictures: tuple[Picture, ...] = ()


def report_html(summary: Summary) -> str:
    """The whole page; the same summary gives the same text. Refers to nothing outside itself."""
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    template = environment.from_string(files("gnav_agents.arena").joinpath(TEMPLATE).read_text(encoding="utf-8"))
    return template.render(
        summary=summary,
        played=played(summary),
        answer=_answer(summary),
        sections=_sections(summary),
        facts=_facts(summary),
        terms={name.replace("_", " "): meaning for name, meaning in summary.definitions.items()},
    )


def _answer(summary: Summary) -> "Markup":
    """Who is best, and who is level with it, in a sentence."""
    from markupsafe import Markup

    best, *others = summary.leaderboard
    rate = interval(best.figures["relative_elimination_rate"])
    bold = Markup("<strong>{}</strong>")
    rated = Markup("{} is eliminated {}{} times as often as is par at its tables")
    if not others:
        return Markup("Only {} has played, so there is nobody to rank it against.").format(bold.format(best.agent))
    if best.standing != "best":
        return Markup("Tables of copies of one agent rank nobody.")
    first = rated.format(bold.format(best.agent), "least: ", rate)
    level = [bold.format(row.agent) for row in others if row.standing == "level"]
    if not level:
        return first + ". No other agent is level with it."
    *most, last = level
    names = Markup("{} and {}").format(Markup(", ").join(most), last) if most else last
    return first + Markup(", but {} {} level with it: the difference may be luck.").format(
        names, "are" if most else "is"
    )


def _sections(summary: Summary) -> list[tuple[str, str, list[Part]]]:
    """Id, heading and parts of each section that has any."""
    makers: dict[str, tuple[str, Callable[[Summary], list[Part]]]] = {
        "leaderboard": ("Leaderboard", _leaderboard),
        "fields": ("Field by field", _fields),
        "figures": ("Further figures", _further),
        "survival": ("Survival", _survival),
        "pairs": ("Agent against agent", _pairs),
        "metagame": ("The game between agents", _metagame),
        "forfeits": ("Forfeits", _forfeits),
    }
    made = [(key, heading, make(summary)) for key, (heading, make) in makers.items()]
    return [(key, heading, parts) for key, heading, parts in made if parts]


def _leaderboard(summary: Summary) -> list[Part]:
    rows = summary.leaderboard
    text = "The mean over the numbers of seats, each with the same weight." if len(summary.plan.seats) > 1 else ""
    reasons = [f"{row.agent}: {row.gain.reason}" for row in rows if row.gain is not None and row.gain.reason]
    if reasons:
        text = f"{text} Without a best-response gain: {'; '.join(reasons)}.".lstrip()
    forest = _picture(
        forest_plot(rows),
        "Relative elimination rate with its 95 % interval. Left is better; the dashed line is par. Full dot: the "
        "best; ring: level with it; square: behind.",
    )
    ranks = _picture(rank_plot(rows), "Rank, and the range in which it lies in 95 % of the resamples.")
    return [Part(heading="", text=text, table=_rows_table("Leaderboard", rows), pictures=(forest, ranks))]


def _fields(summary: Summary) -> list[Part]:
    """A table for each field and number of seats, but for one that is the leaderboard again."""
    again = next(iter(summary.plan.fields)) if len(summary.plan.seats) == 1 else None
    return [_field(report) for report in summary.fields if report.field != again]


def _field(report: FieldReport) -> Part:
    heading = _name(report)
    text = f"{report.num_blocks:,} blocks, {report.num_matches:,} matches."
    return Part(heading=heading, text=text, table=_rows_table(heading, report.rows))


def _name(report: FieldReport) -> str:
    return f"{report.field}, {seats_in_words([report.num_seats])}"


def _further(summary: Summary) -> list[Part]:
    rows = summary.leaderboard
    table = Table(
        label="Further figures",
        headings=("#", "agent", *(heading for _, heading, _ in _FURTHER)),
        are_words=(False, True, *(False for _ in _FURTHER)),
        rows=tuple(
            (f"{row.rank}", row.agent, *(interval(row.figures[name], digits) for name, _, digits in _FURTHER))
            for row in rows
        ),
        agent_at=1,
    )
    pictures = (
        (_picture(loss_plot(rows), "Lives paid for each deal, by cause: at the showdown as lowest, or to a card."),)
        if any(cause.value for row in rows for cause in row.losses.values())
        else ()
    )
    return [Part(heading="", table=table, pictures=pictures)]


def _survival(summary: Summary) -> list[Part]:
    agents = [row.agent for row in summary.leaderboard]
    pictures: list[Picture] = []
    for num_seats in summary.plan.seats:
        curves = [curve for curve in summary.survival if curve.num_seats == num_seats]
        if curves:
            caption = (
                f"{seats_in_words([num_seats])}: share of entries not eliminated after so many deals, with its 95 % "
                "band (Kaplan-Meier). Dashed: the first of the leaderboard. Grey: from the worst to the best."
            )
            pictures.append(_picture(survival_plot(curves, agents), caption))
    return [Part(heading="", pictures=tuple(pictures))] if pictures else []


def _pairs(summary: Summary) -> list[Part]:
    reading = "Read along the row; columns have the numbers of the rows. Italic: the interval holds par."
    parts: list[Part] = []
    if summary.outlive:
        plot = matrix_plot(summary.outlive, name="outlive", par=0.5, digits=1)
        caption = f"How often, in percent, the row agent outlives the column agent; 50 is par. {reading}"
        parts.append(Part(heading="Who outlives whom", pictures=(_picture(plot, caption),)))
    if summary.invasion:
        plot = matrix_plot(summary.invasion, name="invasion", par=0, digits=0)
        caption = (
            "One row agent among copies of the column agent: by how many percent it is eliminated less often (+) or "
            f"more often (−) than is par. {reading}"
        )
        parts.append(Part(heading="Who invades whom", pictures=(_picture(plot, caption),)))
    return parts


def _metagame(summary: Summary) -> list[Part]:
    game = summary.metagame
    if game is None:
        return []
    table = Table(
        label="Alpha-rank and Nash averaging",
        headings=("agent", "alpha-rank", "Nash weight", "gain against it"),
        are_words=(True, False, False, False),
        rows=tuple(
            (
                agent,
                number(game.alpha_rank[agent], 3),
                number(game.nash[agent], 3),
                number(game.nash_value[agent], 3),
            )
            for agent in sorted(game.alpha_rank, key=lambda agent: -game.alpha_rank[agent])
        ),
        agent_at=0,
    )
    text = (
        f"{_cycle(game)} Alpha-rank is how much of the time a population that is invaded now and then consists of the "
        "agent; the Nash weight is its share in the equilibrium of the game in which one picks an agent; the gain is "
        "what the agent has against that equilibrium, 0 at best."
    )
    return [Part(heading="", text=text, table=table)]


def _cycle(game: Metagame) -> str:
    if not game.cycle:
        return "No cycle of agents, each better against the next, is beyond doubt."
    around = (*game.cycle, game.cycle[0])
    links = ", ".join(f"{one} beats {other}" for one, other in pairwise(around))
    return f"There is a cycle, beyond doubt: {links}. To beat is to invade the other better than it invades oneself."


def _forfeits(summary: Summary) -> list[Part]:
    """Forfeits by field, seats and agent, and the sum of them."""
    if summary.counts.forfeits == 0:
        return []
    table = Table(
        label="Forfeits",
        headings=("field", "seats", "agent", "forfeits", "entries"),
        are_words=(True, False, True, False, False),
        rows=tuple(
            (report.field, f"{report.num_seats}", row.agent, f"{row.forfeits:,}", f"{row.entries:,}")
            for report in summary.fields
            for row in report.rows
            if row.forfeits
        ),
        agent_at=2,
    )
    text = f"{summary.counts.forfeits:,} in all: {summary.definitions['forfeits']}."
    return [Part(heading="", text=text, table=table)]


def _rows_table(label: str, rows: Sequence[Row]) -> Table:
    """Rows under the columns of a leaderboard."""
    columns = columns_for(rows)
    return Table(
        label=label,
        headings=tuple(column.heading for column in columns),
        are_words=tuple(column.is_word for column in columns),
        rows=tuple(tuple(column.text(row) for column in columns) for row in rows),
        agent_at=next(at for at, column in enumerate(COLUMNS) if column.heading == "agent"),
    )


def _picture(plot: Plot, caption: str) -> Picture:
    """The plot with the widths between which its letters can be read and are not coarse."""
    from markupsafe import Markup

    scale = plot.width / TEXT
    return Picture(
        svg=Markup(plot.svg),
        narrowest=round(_SMALLEST * scale),
        widest=round(_LARGEST * scale),
        caption=caption,
    )


def _facts(summary: Summary) -> list[tuple[str, str]]:
    """How it was played: words and what stands behind them."""
    plan, counts = summary.plan, summary.counts
    facts = [
        ("ruleset", f"{plan.rules.name} ({plan.rules.hash})"),
        ("agents", ", ".join(plan.agents)),
        ("seats", ", ".join(map(str, plan.seats))),
        ("blocks for each number of seats", ", ".join(f"{field} {blocks:,}" for field, blocks in plan.fields.items())),
        ("seed", f"{plan.seed}"),
        ("time limit", f"{plan.time_limit:g} s for a decision of a foreign agent"),
        ("matches", f"{counts.matches:,}, of which {counts.cut_matches:,} were cut off at the environment's limit"),
        ("decisions", f"{counts.decisions:,}"),
        ("rating 0", "the mean of all agents" if summary.rating_zero == "mean" else summary.rating_zero),
        ("versions", ", ".join(f"{name} {version}" for name, version in summary.versions.items())),
    ]
    facts += [
        (f"balance of {_name(report)}", f"pairs meet equally often at every seat distance, give or take {spread}")
        for report in summary.fields
        if (spread := report.pair_spread) is not None
    ]
    return facts + [(f"SHA-256 of {agent}", digest) for agent, digest in plan.digests.items()]
