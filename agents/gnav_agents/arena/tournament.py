"""A whole tournament: schedule, play and figures. `gnav tournament` and Python programs come in here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent
from gnav_agents.arena.play import PlayedMatch, play_unit
from gnav_agents.arena.schedule import blocks_per_unit, make_line_ups, make_seatings
from gnav_agents.arena.setup import Setup, make_setup
from gnav_agents.arena.statistics import Estimate, Row, make_rows, sum_by_block
from gnav_env.rules import Rules

__all__ = ["Result", "play_tournament", "run_tournament"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a tournament."""

    setup: Setup
    entries: NDArray[Any]
    """One row a match, one column a seat: [M, S] of `play.ENTRY`."""
    rows: tuple[Row, ...]
    """The leaderboard, best first."""

    @property
    def num_decisions(self) -> int:
        """Actions chosen in all matches."""
        return int(self.entries["decisions"].sum())

    def table(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows: a figure x has the columns x, x_low and x_high."""
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            flat: dict[str, Any] = {}
            for item in fields(row):
                value = getattr(row, item.name)
                if isinstance(value, Estimate):
                    flat[item.name] = value.value
                    flat[f"{item.name}_low"], flat[f"{item.name}_high"] = value.low, value.high
                else:
                    flat[item.name] = value
            rows.append(flat)
        return rows


def run_tournament(
    agents: Sequence[str] | Mapping[str, Agent],
    rules: str | Rules = "pagat",
    num_seats: int = 6,
    num_blocks: int = 200,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> Result:
    """The result of `agents` meeting at tables of `num_seats` seats in `num_blocks` blocks.

    Args:
        agents: names that the registry knows, or agents by names of your own. Each name once.
        rules: name of a ruleset, path of a YAML file, or `Rules`.
        num_seats: seats at each table. With fewer agents each has several, with more they take turns.
        num_blocks: shoes played; each takes min(num_seats, 8) matches.
        seed: 0 to 2**63 - 1. The same seed, arguments and agents give the same result to the last bit.
        progress: is told now and then how many blocks have been played.
        record: is given every match, block by block.

    Raises `GnavError` for arguments that cannot be, and for an agent that fails or acts illegally, naming it.
    """
    setup = make_setup(agents, rules, num_seats, num_blocks, seed)
    return play_tournament(setup, progress=progress, record=record)


def play_tournament(
    setup: Setup,
    *,
    progress: Callable[[int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> Result:
    """The result of the tournament that `setup` describes; `progress` and `record` as in `run_tournament`."""
    num_agents = len(setup.names)
    line_ups = make_line_ups(num_agents, setup.num_seats, setup.num_blocks, setup.seed)
    seatings = make_seatings(line_ups)
    num_rotations = seatings.shape[1]
    size = blocks_per_unit(setup.num_seats)
    parts: list[NDArray[Any]] = []
    for unit, first in enumerate(range(0, setup.num_blocks, size)):

        def tell(num_matches: int, first: int = first) -> None:
            if progress is not None:
                progress(first + num_matches // num_rotations)

        parts.append(play_unit(setup, unit, first, seatings[first : first + size], progress=tell, record=record))
    entries = np.concatenate(parts)
    rows = make_rows(sum_by_block(entries, num_agents), setup.names, setup.seed)
    return Result(setup=setup, entries=entries, rows=rows)
