"""Play of a unit of work: all its matches side by side, one call of each agent a step. It makes entries.

schedule.py has said who sits where; statistics.py counts the entries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import ask
from gnav_agents.arena.schedule import LUCK, generator
from gnav_agents.arena.setup import Setup
from gnav_env.rules import Rules
from gnav_env.vector import Tables

__all__ = ["ENTRY", "PlayedMatch", "play_unit"]

ENTRY = np.dtype(
    [
        ("block", np.int64),  # number of the block, which is the number of the match's shoe under the seed
        ("rotation", np.int16),  # number of the rotation within the block
        ("seat", np.int16),
        ("agent", np.int16),  # its number in the tournament's list
        ("place", np.int16),  # 1 the best; seats that fall together share the best of their places
        ("tied", np.int16),  # seats that share the place, this one included
        ("eliminated", np.bool_),  # lost its last life, and others outlived it
        (
            "cut",
            np.bool_,
        ),  # the match was cut off at the environment's limit and its survivors placed by lives
        ("deals", np.int32),  # deals in which the seat had a card
        ("last_deal", np.int32),  # the deal, from 1, in which it fell or the match ended
        ("lives_lost", np.int32),  # lives paid, less lives received as fines
        ("decisions", np.int32),  # actions chosen
    ]
)
"""One seat of one match."""


@dataclass(frozen=True, kw_only=True)
class PlayedMatch:
    """One match as it was played: the shoe of match number `block` under `seed`, and the actions."""

    rules: Rules
    num_seats: int
    seed: int
    block: int
    rotation: int
    agents: tuple[str, ...]
    """Names by seat."""
    actions: tuple[int, ...]
    """In the order in which they were chosen, 0 STAND, 1 EXCHANGE."""


def play_unit(
    setup: Setup,
    unit: int,
    first_block: int,
    seatings: NDArray[np.int64],
    *,
    progress: Callable[[int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> NDArray[Any]:
    """The entries of the blocks from `first_block` on, [N * R, S] of `ENTRY`, in order of block and rotation.

    Args:
        setup: the agents and their tables.
        unit: number of the unit, which keys the agents' luck.
        first_block: number of the first block.
        seatings: the agent at each seat, [N, R, S].
        progress: is told after each step how many matches have ended.
        record: is given every match when all have ended.

    Raises `GnavError`, naming the agent, for an agent that fails or answers with what is no legal action.
    """
    num_blocks, num_rotations, num_seats = seatings.shape
    agent_at = seatings.reshape(-1, num_seats)
    blocks = np.repeat(np.arange(first_block, first_block + num_blocks), num_rotations)
    generators = [generator(setup.seed, LUCK, unit, number) for number in range(len(setup.agents))]
    tables = Tables(setup.rules, num_seats, len(agent_at), seed=setup.seed, restart=False)
    tables.reset(matches=blocks)
    counts = _Counts(tables)
    log: list[tuple[NDArray[Any], NDArray[Any]]] = []
    while (waiting := np.flatnonzero(tables.seat >= 0)).size:
        seats = tables.seat[waiting]
        actions = np.zeros(len(agent_at), np.int64)
        actions[waiting] = _ask(setup, tables, waiting, agent_at[waiting, seats], generators)
        if record is not None:
            log.append((waiting, actions[waiting]))
        counts.decisions[waiting, seats] += 1
        tables.step(actions)
        counts.add_deals(tables)
        if progress is not None:
            progress(int(np.count_nonzero(tables.seat < 0)))

    entries = np.zeros(agent_at.shape, ENTRY)
    entries["block"] = blocks[:, np.newaxis]
    entries["rotation"] = np.tile(np.arange(num_rotations), num_blocks)[:, np.newaxis]
    entries["seat"] = np.arange(num_seats)
    entries["agent"] = agent_at
    for name in ("deals", "last_deal", "lives_lost", "decisions"):
        entries[name] = getattr(counts, name)
    _place(tables, entries)
    if record is not None:
        _report_matches(setup, entries, log, record)
    return entries


class _Counts:
    """What has to be counted while matches go on, int32 [M, S] each, named as the fields of `ENTRY`."""

    def __init__(self, tables: Tables) -> None:
        shape = (tables.num_tables, tables.num_seats)
        self.deals = (_seats(tables)["hand"] >= 0).astype(np.int32)
        self.last_deal = np.zeros(shape, np.int32)
        self.lives_lost = np.zeros(shape, np.int32)
        self.decisions = np.zeros(shape, np.int32)
        self._deal = np.ones(tables.num_tables, np.int32)  # number of the deal that each table plays

    def add_deals(self, tables: Tables) -> None:
        """Deals that the last step of `tables` ended have been counted."""
        ended = np.flatnonzero(tables.ended_deal)
        if not ended.size:
            return
        self.lives_lost[ended] -= tables.balance[ended]
        is_over = tables.seat[ended] < 0
        fell_now = (self.last_deal[ended] == 0) & ((tables.place[ended] > 0) | is_over[:, np.newaxis])
        self.last_deal[ended] += np.where(fell_now, self._deal[ended, np.newaxis], 0)
        going_on = ended[~is_over]
        self._deal[going_on] += 1
        self.deals[going_on] += _seats(tables)["hand"][going_on] >= 0


def _seats(tables: Tables) -> NDArray[Any]:
    """The engine's records of the seats, alive, [M, S]."""
    return tables.records["seats"][:, : tables.num_seats]


def _ask(
    setup: Setup,
    tables: Tables,
    waiting: NDArray[np.int64],
    acting: NDArray[np.int64],
    generators: Sequence[np.random.Generator],
) -> NDArray[np.int64]:
    """What the agents `acting` [n] choose at the tables `waiting` [n]: legal actions [n]."""
    order = np.argsort(acting, kind="stable")
    rows = waiting[order]
    observation, mask = tables.observation[rows], tables.action_mask[rows]
    ends = np.cumsum(np.bincount(acting, minlength=len(setup.agents)))
    actions = np.empty(len(order), np.int64)
    first = 0
    for name, agent, rng, end in zip(setup.names, setup.agents, generators, ends.tolist(), strict=True):
        if end > first:
            actions[order[first:end]] = ask(name, agent, observation[first:end], mask[first:end], rng)
        first = end
    return actions


def _place(tables: Tables, entries: NDArray[Any]) -> None:
    """The places of all matches, which are over, stand in `entries`."""
    lives = _seats(tables)["lives"]
    place = _seats(tables)["place"].astype(np.int64)
    is_cut = (place == 0).any(axis=1)
    num_richer = np.count_nonzero(lives[:, np.newaxis, :] > lives[:, :, np.newaxis], axis=2)
    place = np.where(place == 0, 1 + num_richer, place)
    entries["cut"] = is_cut[:, np.newaxis]
    entries["place"] = place
    entries["tied"] = np.count_nonzero(place[:, np.newaxis, :] == place[:, :, np.newaxis], axis=2)
    entries["eliminated"] = (lives == 0) & (place > 1)


def _report_matches(
    setup: Setup,
    entries: NDArray[Any],
    log: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    record: Callable[[PlayedMatch], None],
) -> None:
    """`record` has been given each match; `log` has the tables and actions of each step."""
    rows = np.concatenate([rows for rows, _ in log])
    actions = np.concatenate([actions for _, actions in log])[np.argsort(rows, kind="stable")]
    ends = np.cumsum(np.bincount(rows, minlength=len(entries)))[:-1]
    for entry, chosen in zip(entries, np.split(actions, ends), strict=True):
        record(
            PlayedMatch(
                rules=setup.rules,
                num_seats=setup.num_seats,
                seed=setup.seed,
                block=int(entry["block"][0]),
                rotation=int(entry["rotation"][0]),
                agents=tuple(setup.names[number] for number in entry["agent"]),
                actions=tuple(chosen.tolist()),
            )
        )
