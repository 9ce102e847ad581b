"""What is shown and kept of a tournament: a table for the screen, and a folder of files.

The files are a function of the result and of nothing else (no clock, no machine), so that the same seed gives
the same bytes. Each is written beside its place and then moved there: a file is whole or is not there.
"""

import csv
import io
import json
import os
import shlex
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rich.box
from rich.table import Table
from rich.text import Text

from gnav_agents.arena.play import ENTRY, PlayedMatch
from gnav_agents.arena.schedule import blocks_per_unit, rotation_shifts
from gnav_agents.arena.setup import Setup
from gnav_agents.arena.statistics import DEFINITIONS, Estimate, Row
from gnav_agents.arena.tournament import Result
from gnav_agents.files import csv_text, json_text, rounded, versions
from gnav_env.errors import GnavError
from gnav_env.notation import record_match

__all__ = [
    "command_line",
    "default_folder",
    "prepare_folder",
    "screen_table",
    "write_match",
    "write_plot",
    "write_report",
]

SCHEMA = 1
"""Rises when the meaning or the names of what stands in the files change."""

SUMMARY = "summary.json"


def command_line(setup: Setup, rules: str) -> str:
    """The command that plays this tournament; `rules` as they were named."""
    words = ["gnav", "tournament", "--agents", ",".join(setup.names), "--rules", rules]
    numbers = {"--seats": setup.num_seats, "--blocks": setup.num_blocks, "--seed": setup.seed}
    return shlex.join(words + [str(word) for option in numbers.items() for word in option])


def default_folder(setup: Setup) -> Path:
    """Where a tournament is kept if nothing else is said."""
    seats_and_blocks = f"{setup.num_seats}-seats-{setup.num_blocks}-blocks"
    return Path("results") / f"{setup.rules.name}-{seats_and_blocks}-seed-{setup.seed}"


def prepare_folder(folder: Path, setup: Setup, rules: str, *, overwrite: bool = False) -> None:
    """`folder` is there and can be written to.

    Raises `GnavError` if it cannot, or if it holds the results of another tournament, unless `overwrite`.
    """
    with _sentences(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        path = folder / SUMMARY
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text and not overwrite and _read_identity(text) != _identity(setup, rules):
        raise GnavError(
            f"{folder} holds the results of another tournament: name another folder with --out, or say --overwrite"
        )


def write_report(result: Result, folder: Path, rules: str) -> list[Path]:
    """`folder` has leaderboard.csv, entries.csv and summary.json of `result`. Returns their paths."""
    files = {
        "leaderboard.csv": csv_text(result.table()),
        "entries.csv": _entries_text(result),
        SUMMARY: json_text(_summary(result, rules)),
    }
    return [_write(folder / name, text.encode()) for name, text in files.items()]


def write_match(match: PlayedMatch, folder: Path) -> None:
    """`folder`, made if need be, has `match` as text that `gnav replay` reads."""
    text = record_match(
        match.rules,
        match.num_seats,
        seed=match.seed,
        match=match.block,
        actions=match.actions,
        agents=match.agents,
    )
    with _sentences(folder):
        folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"block-{match.block:05d}-rotation-{match.rotation}.txt", text.encode())


def write_plot(result: Result, path: Path) -> Path | None:
    """A PNG at `path` shows the relative elimination rates; None, and no file, without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    rows = result.rows
    rates = [row.relative_elimination_rate for row in rows]
    values = np.array([rate.value for rate in rates])
    # the percentile interval need not hold the value itself
    errors = np.nan_to_num([[max(0, r.value - r.low) for r in rates], [max(0, r.high - r.value) for r in rates]])
    figure = Figure(figsize=(7.5, 1.6 + 0.4 * len(rows)), layout="constrained")
    axes: Any = figure.add_subplot()
    heights = np.arange(len(rows))
    axes.axvline(1, color="0.6", linewidth=1, linestyle="--")
    axes.errorbar(values, heights, xerr=errors, fmt="o", color="tab:blue", capsize=3)
    axes.set_yticks(heights, [f"{row.rank}. {row.agent}" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("relative elimination rate, 95 % interval (1 is par, left is better)")
    axes.set_title(_title(result.setup), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
    return _write(path, picture.getvalue())


def screen_table(result: Result) -> Table:
    """The leaderboard for people."""
    caption = (
        "elimination: rate relative to the same tables, with its 95 % interval, 1 is par, lower is better; "
        "out: share eliminated; placed: 1 always first, 0 always last; loss: lives a deal; ranks: likely ones"
    )
    table = Table(title=_title(result.setup), caption=caption, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right")
    table.add_column("agent", overflow="fold", min_width=14)
    for heading in ("elimination", "out", "placed", "loss", "ranks"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("standing", no_wrap=True)
    for row in result.rows:
        table.add_row(*_cells(row), style="bold" if row.standing == "best" else "")
    return table


def _title(setup: Setup) -> str:
    num_rotations = len(rotation_shifts(setup.num_seats))
    blocks = f"{setup.num_blocks} blocks of {num_rotations} matches"
    return f"{setup.rules.name}, {setup.num_seats} seats, {blocks}, seed {setup.seed}"


def _cells(row: Row) -> list[Text]:
    ranks = f"{row.rank_low}–{row.rank_high}" if row.rank_low < row.rank_high else f"{row.rank_low}"
    rate = row.relative_elimination_rate
    cells = [
        f"{row.rank}",
        row.agent,
        f"{_number(rate.value, 3)} [{_number(rate.low, 3)}, {_number(rate.high, 3)}]",
        _percent(row.elimination_rate),
        _number(row.placement.value, 3),
        _number(row.loss_rate.value, 3),
        ranks,
        row.standing,
    ]
    return [Text(cell) for cell in cells]  # agents' names may have square brackets, which are no markup


def _number(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def _percent(estimate: Estimate) -> str:
    return "–" if np.isnan(estimate.value) else f"{estimate.value:.1%}"


def _identity(setup: Setup, rules: str) -> dict[str, Any]:
    """What tells one tournament from another, as it opens summary.json."""
    return {
        "schema": SCHEMA,
        "command": command_line(setup, rules),
        "seed": setup.seed,
        "rules": {"name": setup.rules.name, "hash": setup.rules.hash},
        "num_seats": setup.num_seats,
        "num_blocks": setup.num_blocks,
        "agents": list(setup.names),
    }


def _read_identity(summary: str) -> Any:
    """The identity in the text of a summary.json; None if that is something else."""
    try:
        data = json.loads(summary)
        return {key: data[key] for key in ("schema", "command", "seed", "rules", "num_seats", "num_blocks", "agents")}
    except (ValueError, KeyError, TypeError):
        return None


def _summary(result: Result, rules: str) -> dict[str, Any]:
    """What stands in summary.json."""
    setup = result.setup
    return {
        **_identity(setup, rules),
        "num_rotations": len(rotation_shifts(setup.num_seats)),
        "num_matches": len(result.entries),
        "num_cut_matches": int(result.entries["cut"][:, 0].sum()),
        "num_decisions": result.num_decisions,
        "blocks_per_unit": blocks_per_unit(setup.num_seats),
        "versions": versions(),
        "definitions": DEFINITIONS,
        "rows": [rounded(row) for row in result.table()],
    }


def _entries_text(result: Result) -> str:
    """entries.csv: a row for each seat of each match."""
    entries = result.entries.ravel()
    columns = [entries[name].astype(int).tolist() for name in ENTRY.names or ()]
    at = (ENTRY.names or ()).index("agent")
    columns[at] = [result.setup.names[number] for number in columns[at]]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(ENTRY.names or ())
    writer.writerows(zip(*columns, strict=True))
    return stream.getvalue()


def _write(path: Path, content: bytes) -> Path:
    """`content` is at `path`, or `GnavError` is raised and `path` is as it was."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with _sentences(path):
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    return path


@contextmanager
def _sentences(path: Path) -> Generator[None]:
    """The system's refusals become `GnavError`s that name `path`."""
    try:
        yield
    except OSError as error:
        raise GnavError(
            f"{path} cannot be written ({error.strerror}): make room there, or name another folder"
        ) from error
