"""What is shown and kept of a study: tables for the screen, and a folder with CSV, JSON, Markdown and a picture.

CSV, JSON and Markdown are a function of the figures and of how they were asked for (no clock, no machine), so that the
same seed gives the same bytes. The pictures are drawn in plots.py; the solved study has files of its own
(strategy_report.py, strategy_plots.py).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rich.box
from rich.table import Table
from rich.text import Text

from gnav_agents.files import csv_text, json_text, rounded, versions
from gnav_agents.studies.cells import Grid
from gnav_agents.studies.claims import CLAIMS, Figure, Finding
from gnav_agents.studies.figures import VERDICT_RULE
from gnav_agents.studies.length import DEFINITIONS, QUANTILES
from gnav_env.errors import GnavError

__all__ = [
    "About",
    "Cells",
    "about_study",
    "head",
    "length_files",
    "length_tables",
    "markdown",
    "prepare_folder",
    "screen_tables",
    "text_of",
    "tips_files",
    "tips_tables",
    "verdict_table",
]

SCHEMA = 1
"""Rises when the meaning or the names of what stands in the files change."""

Cells = list[list[str]]
"""A table: its lines, the heading first."""


@dataclass(frozen=True, kw_only=True)
class About:
    """How a study was asked for; it stands at the head of its files."""

    study: str
    """`length`, `tips` or `strategy`."""
    command: str
    """The command that makes it again."""
    seed: int | None
    """None: the figures are exact, nothing is drawn."""
    grid: Grid
    options: Mapping[str, Any]
    """What else was asked for: agents, matches, samples."""


def prepare_folder(folder: Path, about: About, *, overwrite: bool = False) -> None:
    """`folder` is there and can be written to; `GnavError` if it holds another study, unless `overwrite`."""
    path = folder / f"{about.study}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        command = json.loads(path.read_text(encoding="utf-8"))["command"] if path.exists() else about.command
    except OSError as error:
        raise GnavError(f"{folder} cannot be written to ({error.strerror}): name another folder with --out") from error
    except (ValueError, KeyError, TypeError):
        command = None
    if command != about.command and not overwrite:
        raise GnavError(f"{folder} holds the results of another study: name another with --out, or say --overwrite")


def length_files(about: About, rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """length.csv, length.json and length.md."""
    text = [*head("How long a match lasts", about), "## What the words mean", ""]
    text += [f"- **{word}**: {meaning}." for word, meaning in DEFINITIONS.items()]
    for title, cells in length_tables(about, rows).items():
        text += ["", f"## {title}", "", *markdown(cells)]
    data = {**about_study(about), "definitions": DEFINITIONS, "rows": [rounded(row) for row in rows]}
    return {
        "length.csv": csv_text(rows).encode(),
        "length.json": json_text(data).encode(),
        "length.md": text_of(text),
    }


def tips_files(about: About, figures: Sequence[Figure], findings: Sequence[Finding]) -> dict[str, bytes]:
    """tips.csv, tips.json and tips.md."""
    text = [*head("What rule texts say, put to the test", about), "## Verdicts", ""]
    text += [*markdown(verdict_table(findings)), "", VERDICT_RULE, "", "## Definitions", ""]
    text += [f"- **{claim.title}** (`{key}`): {claim.definition}" for key, claim in CLAIMS.items()]
    for title, cells in tips_tables(figures).items():
        text += ["", f"## {title}", "", *markdown(cells)]
    rows = [_figure_row(figure) for figure in figures]
    data = {
        **about_study(about),
        "claims": {key: {"title": claim.title, "definition": claim.definition} for key, claim in CLAIMS.items()},
        "verdict_rule": VERDICT_RULE,
        "verdicts": [
            {"rules": f.rules, "claim": f.claim, "verdict": f.verdict, "because": f.because} for f in findings
        ],
        "figures": [rounded(row) for row in rows],
    }
    return {"tips.csv": csv_text(rows).encode(), "tips.json": json_text(data).encode(), "tips.md": text_of(text)}


def length_tables(about: About, rows: Sequence[Mapping[str, Any]]) -> dict[str, Cells]:
    """A table for each ruleset, the heading first."""
    heading = ["seats", "deals", *(f"{share:.0%}" for share in QUANTILES), "longest", "cut", "decisions"]
    tables: dict[str, Cells] = {}
    for rules in about.grid.rules:
        lines = [
            [
                str(row["seats"]),
                f"{'≥ ' if row['cut'] else ''}{_interval(row['mean'], row['mean_low'], row['mean_high'], 2)}",
                *(_quantile(row, f"q{100 * share:02.0f}") for share in QUANTILES),
                str(row["longest"]),
                f"{row['share_cut']:.1%}" if row["cut"] else "–",
                f"{row['decisions']:.1f}",
            ]
            for row in rows
            if row["rules"] == rules.name
        ]
        if lines:
            tables[rules.name] = [heading, *lines]
    return tables


def verdict_table(findings: Sequence[Finding]) -> Cells:
    """A line for each ruleset and claim, the heading first."""
    return [
        ["rules", "claim", "verdict", "where"],
        *([f.rules, CLAIMS[f.claim].title, f.verdict, f.because] for f in findings),
    ]


def tips_tables(figures: Sequence[Figure]) -> dict[str, Cells]:
    """For each ruleset and claim a table of its figures over all positions by seats, the heading first.

    For claims about choices the share of positions in which the claim holds stands behind the figure.
    """
    tables: dict[str, Cells] = {}
    titles = {key: claim.title for key, claim in CLAIMS.items()} | {"gain": "what EXCHANGE gains with other cards"}
    for rules in dict.fromkeys(figure.rules for figure in figures):
        for key, title in titles.items():
            alike = [figure for figure in figures if figure.rules == rules and figure.claim == key]
            seats = list(dict.fromkeys(figure.seats for figure in alike))
            whole = [figure for figure in alike if figure.position is None]
            if not whole:
                continue
            lines: Cells = [["figure", *(f"{number} seats" for number in seats)]]
            for name in dict.fromkeys(_name(figure) for figure in whole):
                by_seats = {figure.seats: figure for figure in whole if _name(figure) == name}
                lines.append([name, *(_cell(by_seats.get(number), alike) for number in seats)])
            tables[f"{rules}: {title}"] = lines
    return tables


def screen_tables(tables: Mapping[str, Cells]) -> list[Table]:
    """Tables for the screen."""
    shown: list[Table] = []
    for title, (heading, *lines) in tables.items():
        table = Table(title=title, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
        for number, word in enumerate(heading):
            is_text = number == 0 or word in ("claim", "verdict", "where")
            min_width = 18 if number == 0 and len(heading) > 4 and word == "figure" else None
            table.add_column(word, justify="left" if is_text else "right", overflow="fold", min_width=min_width)
        for line in lines:
            table.add_row(*map(Text, line))  # names may have square brackets, which are no markup
        shown.append(table)
    return shown


def _name(figure: Figure) -> str:
    """What a line of a table is about."""
    parts = [figure.card or figure.figure]
    if figure.claim in ("dealer", "length"):
        parts.append(f"({figure.players})")
    return " ".join(parts)


def _cell(figure: Figure | None, alike: Sequence[Figure]) -> str:
    """A figure with half the width of its interval; behind it positions in which the claim holds, if it has any."""
    if figure is None or np.isnan(figure.estimate.value):
        return "–"
    estimate = figure.estimate
    is_share = figure.figure.startswith(("chance", "cut off", "lead /"))
    scale, digits, unit = (100, 2, " %") if is_share else (1, 3, "")
    if np.isnan(estimate.error):
        text = f"{estimate.value:.0f}"
    else:
        text = f"{scale * estimate.value:.{digits}f} ± {scale * (estimate.high - estimate.low) / 2:.{digits}f}{unit}"
    judged = [
        other
        for other in alike
        if other.position is not None
        and other.judgement is not None
        and (other.seats, other.card, other.players) == (figure.seats, figure.card, figure.players)
    ]
    if judged:
        text += f" ({sum(other.judgement == 'holds' for other in judged)}/{len(judged)})"
    return text


def _quantile(row: Mapping[str, Any], name: str) -> str:
    return f"{'≥ ' if row['cut'] and row[name] >= row['limit'] else ''}{row[name]}"


def _interval(value: float, low: float, high: float, digits: int) -> str:
    if np.isnan(low):
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _figure_row(figure: Figure) -> dict[str, Any]:
    estimate = figure.estimate
    return {
        "rules": figure.rules,
        "claim": figure.claim,
        "figure": figure.figure,
        "players": figure.players,
        "seats": figure.seats,
        "position": figure.position,
        "card": figure.card,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "samples": estimate.num,
        "judgement": figure.judgement,
    }


def head(title: str, about: About) -> list[str]:
    """The first lines of a report in Markdown."""
    asked = [f"{name} {value}" for name, value in about.options.items()]
    how = [*asked, "exact, nothing is drawn" if about.seed is None else f"seed {about.seed}"]
    intervals = "" if about.seed is None else " Intervals are 95 %."
    lines = [f"# {title}", "", f"Made by `{about.command}`: {', '.join(how)}.{intervals}", ""]
    if about.grid.notes:
        lines += [
            "Not every ruleset is for every number of seats:",
            "",
            *(f"- {note}." for note in about.grid.notes),
            "",
        ]
    return lines


def about_study(about: About) -> dict[str, Any]:
    """What stands at the head of a report in JSON."""
    return {
        "schema": SCHEMA,
        "study": about.study,
        "command": about.command,
        "seed": about.seed,
        **about.options,
        "seats": list(about.grid.seats),
        "rules": [{"name": rules.name, "title": rules.title, "hash": rules.hash} for rules in about.grid.rules],
        "left_out": about.grid.notes,
        "versions": versions(),
    }


def text_of(lines: Sequence[str]) -> bytes:
    """The lines of a text file."""
    return ("\n".join(lines).rstrip() + "\n").encode()


def markdown(cells: Cells) -> list[str]:
    """A table in Markdown; text columns to the left, figures to the right."""
    heading, *lines = cells
    is_text = [number == 0 or word in ("claim", "verdict", "where") for number, word in enumerate(heading)]
    rule = ["---" if left else "---:" for left in is_text]
    return [f"| {' | '.join(line)} |" for line in (heading, rule, *lines)]
