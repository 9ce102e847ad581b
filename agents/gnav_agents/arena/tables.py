"""A summary as tables: for the screen, as Markdown, as rows for CSV.

`COLUMNS` says once what a leaderboard shows; html.py shows the same columns. plots.py draws, summary.py is what all
of them read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnav_agents.arena.summary import STATISTICS, Estimate, Row, Summary

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "COLUMNS",
    "Column",
    "columns_for",
    "interval",
    "leaderboard_markdown",
    "leaderboard_rows",
    "markdown_block",
    "markdown_table",
    "number",
    "percent",
    "played",
    "screen_table",
    "seats_in_words",
    "zero_in_words",
]

NOTHING = "–"
"""Stands where there is no figure."""


def number(value: float | None, digits: int) -> str:
    """`value` with so many decimals and a true minus sign."""
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage."""
    return NOTHING if value is None else f"{number(100 * value, digits)} %"


def interval(estimate: Estimate, digits: int = 3) -> str:
    """The figure with its interval behind it, or alone if it has none."""
    text = number(estimate.value, digits)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{number(estimate.low, digits)}, {number(estimate.high, digits)}]"


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a leaderboard."""

    heading: str
    short: str
    """The heading where room is scarce."""
    meaning: tuple[str, ...]
    """The names in `DEFINITIONS` that explain it."""
    text: Callable[[Row], str]
    is_word: bool = False
    """Words stand left, numbers right."""
    brief: Callable[[Row], str] | None = None
    """Instead of `text` on a screen, where room is scarce."""


def _ranks(row: Row) -> str:
    return f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"


def _gain(row: Row, *, is_brief: bool = False) -> str:
    """Nobody has to depart from the agent, so a best response gains 0 or more."""
    gain = row.gain
    if gain is None or gain.value is None:
        return NOTHING
    ends = [None if end is None else max(0.0, end) for end in (gain.value, gain.low, gain.high)]
    if is_brief:
        return number(ends[0], 3)
    return interval(Estimate(value=ends[0], low=ends[1], high=ends[2]), 4)


_AGENT = Column(heading="agent", short="agent", meaning=(), text=lambda row: row.agent, is_word=True)
_RATING = Column(
    heading="rating",
    short="rating",
    meaning=("rating",),
    text=lambda row: NOTHING if row.rating is None else number(row.rating.value, 0),
)
_GAIN = Column(
    heading="best-response gain",
    short="gain",
    meaning=("gain",),
    text=_gain,
    brief=lambda row: _gain(row, is_brief=True),
)
_STANDING = Column(heading="standing", short="is", meaning=("standing",), text=lambda row: row.standing, is_word=True)

COLUMNS = (
    Column(heading="#", short="#", meaning=("rank",), text=lambda row: f"{row.rank}"),
    _AGENT,
    Column(
        heading="elimination",
        short="elimination",
        meaning=("relative_elimination_rate", "interval"),
        text=lambda row: interval(row.figures["relative_elimination_rate"]),
    ),
    Column(
        heading="eliminated",
        short="out",
        meaning=("elimination_rate", "eliminated"),
        text=lambda row: percent(row.figures["elimination_rate"].value),
    ),
    Column(
        heading="placement",
        short="placed",
        meaning=("placement",),
        text=lambda row: number(row.figures["placement"].value, 3),
    ),
    Column(
        heading="lives lost a deal",
        short="loss",
        meaning=("loss_rate",),
        text=lambda row: number(row.figures["loss_rate"].value, 3),
    ),
    _GAIN,
    _RATING,
    Column(heading="ranks", short="ranks", meaning=("rank",), text=_ranks),
    _STANDING,
)
"""What a leaderboard shows of each agent."""


def columns_for(rows: Sequence[Row]) -> tuple[Column, ...]:
    """The columns that have something to say of `rows`: rating and gain only where there is one."""
    is_rated = any(row.rating is not None for row in rows)
    has_gain = any(row.gain is not None for row in rows)
    left_out = [*([] if is_rated else [_RATING]), *([] if has_gain else [_GAIN])]
    return tuple(column for column in COLUMNS if column not in left_out)


def seats_in_words(seats: Sequence[int]) -> str:
    """`6 seats`, `2, 4 and 6 seats`."""
    *others, last = map(str, seats)
    return f"{', '.join(others)} and {last} seats" if others else f"{last} seats"


def played(summary: Summary) -> str:
    """What the leaderboard comes from, without the ruleset's name: `6 seats, mixed field, 200 blocks ...`."""
    plan = summary.plan
    field, num_blocks = next(iter(plan.fields.items()))
    num_matches = sum(report.num_matches for report in summary.fields if report.field == field)
    each = " for each number of seats" if len(plan.seats) > 1 else ""
    blocks = f"{num_blocks:,} {'block' if num_blocks == 1 else 'blocks'}{each}"
    return f"{seats_in_words(plan.seats)}, {field} field, {blocks}, {num_matches:,} matches, seed {plan.seed}"


def screen_table(summary: Summary) -> "Table":
    """The leaderboard for a terminal of 80 columns or more."""
    import rich.box
    from rich.table import Table
    from rich.text import Text

    rows = summary.leaderboard
    columns = columns_for(rows)
    table = Table(
        title=Text(f"{summary.plan.rules.name}, {played(summary)}"),
        caption=Text(
            "elimination: rate relative to the same tables with its 95 % interval, 1 is par, lower is better; "
            "out: share eliminated; placed: 1 always first, 0 always last; loss: lives a deal; "
            + ("gain: by the best response to it; " if _GAIN in columns else "")
            + "ranks: likely ones; "
            "level: not told apart from the best"
        ),
        box=rich.box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    for column in columns:
        table.add_column(
            column.short,
            justify="left" if column.is_word else "right",
            overflow="fold",
            no_wrap=column is not _AGENT,
        )
    for row in rows:
        # Text: square brackets in agents' names are no markup
        cells = [Text((column.brief or column.text)(row)) for column in columns]
        table.add_row(*cells, style="bold" if row.standing == "best" else "")
    return table


def markdown_table(summary: Summary) -> str:
    """The leaderboard as a Markdown table, a line for each agent; ends with a line feed."""
    columns = _markdown_columns(summary)
    lines = [f"| {' | '.join(column.heading for column in columns)} |", f"|{'---|' * len(columns)}"]
    for row in summary.leaderboard:
        cells = [_code(row.agent) if column is _AGENT else column.text(row) for column in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def markdown_block(summary: Summary) -> str:
    """What was played and the table: the part of a README that `gnav leaderboard` keeps; ends with a line feed."""
    return (
        f"Ruleset {_code(summary.plan.rules.name)}, {played(summary)}. Elimination is the rate relative to the same "
        f"tables (1 is par, lower is better) with its 95 % interval.\n\n{markdown_table(summary)}"
    )


def leaderboard_markdown(summary: Summary) -> str:
    """leaderboard.md: the table, what was played, what the columns mean, and the command."""
    meanings = [
        f"- **{column.heading}**: {'; '.join(summary.definitions[name] for name in column.meaning)}"
        for column in _markdown_columns(summary)
        if column.meaning
    ]
    return "\n".join(
        [
            f"# Leaderboard: {summary.plan.rules.name}",
            "",
            markdown_block(summary),
            "## What the columns mean",
            "",
            *meanings,
            "",
            "## How it was played",
            "",
            f"Hash of the rules `{summary.plan.rules.hash}`; a rating of 0: {zero_in_words(summary)}.",
            "",
            "```sh",
            summary.command,
            "```",
            "",
        ]
    )


def zero_in_words(summary: Summary) -> str:
    """Whose rating is 0."""
    return "the mean of all agents" if summary.rating_zero == "mean" else f"that of {_code(summary.rating_zero)}"


def leaderboard_rows(summary: Summary) -> list[dict[str, Any]]:
    """The first field as rows for CSV, all with the same keys; None where there is no figure.

    `seats` is `all` in the rows of the leaderboard. With several numbers of seats the rows of each number follow.
    """
    field = next(iter(summary.plan.fields))
    parts = [report for report in summary.fields if report.field == field] if len(summary.plan.seats) > 1 else []
    tables = [("all", summary.leaderboard), *((str(part.num_seats), part.rows) for part in parts)]
    causes = list(dict.fromkeys(cause for _, rows in tables for row in rows for cause in row.losses))
    return [_flat(seats, row, causes) for seats, rows in tables for row in rows]


def _flat(seats: str, row: Row, causes: Sequence[str]) -> dict[str, Any]:
    """One row for CSV."""
    none = Estimate(value=None, low=None, high=None)
    estimates = (
        {name: row.figures.get(name, none) for name in STATISTICS}
        | {"rating": row.rating or none}
        | {f"loss_{cause}": row.losses.get(cause, none) for cause in causes}
    )
    gain = row.gain
    if gain is not None:
        estimates["gain"] = Estimate(value=gain.value, low=gain.low, high=gain.high)
    flat: dict[str, Any] = {"seats": seats} | row.model_dump(exclude={"figures", "losses", "rating", "gain"})
    for name, estimate in estimates.items():
        flat |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return flat | ({"gain_how": gain.how} if gain is not None else {})


def _markdown_columns(summary: Summary) -> list[Column]:
    """The ranks say more than the standing does."""
    return [column for column in columns_for(summary.leaderboard) if column is not _STANDING]


def _code(text: str) -> str:
    """`text` as a code span that may stand in a Markdown table."""
    fence, pad = ("``", " ") if "`" in text else ("`", "")
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")
