"""What is shown and kept of `gnav study strategy`: tables, CSV, JSON with the definitions, Markdown."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import isnan

from gnav_agents.files import csv_text, json_text, rounded
from gnav_agents.studies.report import About, Cells, about_study, head, markdown, text_of
from gnav_agents.studies.strategy import BEST, DEFINITIONS, EQUILIBRIUM, Cell, Row

__all__ = ["strategy_files", "strategy_tables"]

_DIGITS = 9
"""Of NashConv; what lies behind is the noise of adding."""


def strategy_files(about: About, rows: Sequence[Row], cells: Sequence[Cell]) -> dict[str, bytes]:
    """strategy.csv, strategy.json and strategy.md."""
    text = [*head("What solved deals teach", about), "## What the words mean", ""]
    text += [f"- **{word}**: {meaning}." for word, meaning in DEFINITIONS.items()]
    for title, table in strategy_tables(rows, cells).items():
        text += ["", f"## {title}", "", *markdown(table)]
    plain = [asdict(row) for row in rows]
    data = {
        **about_study(about),
        "definitions": DEFINITIONS,
        "solved": [asdict(cell) | {"nash_conv": round(cell.nash_conv, _DIGITS)} for cell in cells],
        "rows": [rounded(row) for row in plain],
    }
    return {
        "strategy.csv": csv_text(plain).encode(),
        "strategy.json": json_text(data).encode(),
        "strategy.md": text_of(text),
    }


def strategy_tables(rows: Sequence[Row], cells: Sequence[Cell]) -> dict[str, Cells]:
    """For each ruleset a table of each topic by seats, the heading first, and one of how the deals were solved."""
    tables: dict[str, Cells] = {}
    for name in dict.fromkeys(row.rules for row in rows):
        alike = [row for row in rows if row.rules == name]
        for title, lines in (
            ("exchanges below, if all before have stood", _by_position(alike, "threshold", _threshold)),
            ("after a trade: share of states that the rule fits", _by_position(alike, "rule fits", _share)),
            ("best-response gain: sum (eldest ... dealer)", _by_what(alike, "gain")),
            ("lives lost by not knowing: sum (eldest ... dealer)", _by_what(alike, "information")),
            ("lives lost a deal", _by_position(alike, "value", lambda row: f"{row.value:.4f}")),
        ):
            if len(lines) > 1:
                tables[f"{name}: {title}"] = lines
        tables[f"{name}: how it was solved"] = [
            ["seats", "states", "sweeps", "NashConv", "how"],
            *(
                [str(cell.seats), f"{cell.states:,}", str(cell.sweeps), _small(cell.nash_conv), cell.how]
                for cell in cells
                if cell.rules == name
            ),
        ]
    return tables


def _by_position(rows: Sequence[Row], name: str, shown: Callable[[Row], str]) -> Cells:
    """A line for each position, the dealer's last; `name` is a topic or what the rows are about."""
    picked = [row for row in rows if name in (row.topic, row.what)]
    seats = list(dict.fromkeys(row.seats for row in picked))
    at = {(row.seats, row.position): row for row in picked}
    lines: Cells = [["seats behind", *(f"{number} seats" for number in seats)]]
    for position in sorted({position for _, position in at if position is not None}, reverse=True):
        cells = [at.get((number, position)) for number in seats]
        lines.append([str(position or "0 (dealer)"), *("–" if row is None else shown(row) for row in cells)])
    return lines


def _by_what(rows: Sequence[Row], topic: str) -> Cells:
    """A line for each agent, or each piece of information: the sum, and each seat behind it."""
    picked = [row for row in rows if row.topic == topic and not row.what.startswith("threshold:")]
    seats = list(dict.fromkeys(row.seats for row in picked))
    whats = list(dict.fromkeys(row.what for row in picked))
    lines: Cells = [["agent" if topic == "gain" else "missed", *(f"{number} seats" for number in seats)]]
    for what in sorted(whats, key=lambda what: (what != EQUILIBRIUM, what != BEST)):
        line = [what]
        for number in seats:
            found = [row for row in picked if row.what == what and row.seats == number]
            by_seat = " ".join(f"{row.value:.4f}" for row in found if row.position is not None)
            whole = next((row for row in found if row.position is None), None)
            card = f"{whole.card}: " if whole is not None and whole.card else ""
            line.append("–" if whole is None else f"{card}{whole.value:.4f} ({by_seat})")
        lines.append(line)
    return lines


def _threshold(row: Row) -> str:
    """The lowest rank that is kept, with a mark where there is more to say."""
    return f"{row.card or 'all'}{f' ({row.note})' if row.note else ''}"


def _share(row: Row) -> str:
    return "–" if isnan(row.value) else f"{row.value:.1%}"


def _small(value: float) -> str:
    """NashConv, as far as it means something."""
    least = 10.0**-_DIGITS
    return f"{value:.0e}" if value >= least else f"< {least:.0e}"
