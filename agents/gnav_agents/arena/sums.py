"""Entries added up: whole numbers by group of blocks, which is all that the figures need of them.

Whole numbers because their sums are the same in whatever order units arrive and threads add. Groups because the
blocks of a long tournament are too many to resample one by one; with few blocks each is a group of its own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.fields import INVASION, MIXED, Field
from gnav_env._jit import kernel

__all__ = ["MAX_GROUPS", "SHARES", "SUMS", "FieldSums"]

MAX_GROUPS = 512
"""Groups of consecutive blocks that are resampled; more would make intervals dearer and not better."""

SHARES = 720_720
"""A place that several seats share is cut into so many parts, which any number up to 16 divides."""

SUMS = (
    "entries",
    "forfeits",
    "eliminated",
    "times_seats",  # seats x eliminated
    "of_all",  # eliminations of the whole table
    "wins",  # shares of first places, in parts of SHARES
    "first_out",  # shares of the first elimination, in parts of SHARES
    "placement",  # how far before the last place, in parts of 2 x (seats - 1)
    "lives_lost",
    "deals",
    "at_risk",  # deals up to the one in which the seat fell or the match ended
)
"""What is added up; behind these come the lives lost by cause."""


class FieldSums:
    """The sums of one field: `add` the entries of its units in any order.

    `totals` int64 [G, K, len(SUMS) + causes] are by key: the agent, or in the field `invasion` the pair
    candidate x agents + reference. Where the field is mixed there are also `outlive` int64 [G, m, m, 2] (twice the
    times that the row agent outlived the column agent, a tie being half, and twice their meetings) and the places of
    all matches. `exits` int64 [G, m, T, 2] (entries eliminated in deal t + 1, entries whose match was cut off there
    with lives left) and `stayed` int64 [G, m] (entries that were still there when their match was over) are of counted
    entries.
    """

    def __init__(self, field: Field, num_causes: int) -> None:
        self.field = field
        num_agents = len(field.agents)
        self.num_groups = min(field.num_blocks, MAX_GROUPS)
        self.num_keys = num_agents**2 if field.kind == INVASION else num_agents
        self.totals = np.zeros((self.num_groups, self.num_keys, len(SUMS) + num_causes), np.int64)
        self.outlive = np.zeros((self.num_groups, num_agents, num_agents, 2), np.int64)
        self.exits = np.zeros((self.num_groups, num_agents, 1, 2), np.int64)
        self.stayed = np.zeros((self.num_groups, num_agents), np.int64)
        self.num_matches = self.num_cut = self.num_decisions = self.num_forfeits = 0
        self._counts = field.counts()
        self._matches: dict[int, tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.int16]]] = {}

    def add(self, entries: NDArray[Any]) -> None:
        """The entries [M, S] of a unit are in the sums."""
        self.num_matches += len(entries)
        self.num_cut += int(entries["cut"][:, 0].sum())
        self.num_decisions += int(entries["decisions"].sum())
        self.num_forfeits += int(entries["forfeited"].sum())
        # neighbours together, since they make up whole designs
        group = entries["block"][:, 0] * self.num_groups // self.field.num_blocks
        counts = self._counts[entries["line_up"][:, 0], entries["rotation"][:, 0]]
        self._add_totals(entries, group, counts)
        self._add_exits(entries, group, counts)
        if self.field.kind == MIXED:
            agents, places = np.ascontiguousarray(entries["agent"]), np.ascontiguousarray(entries["place"])
            add_outlived_all(agents, places, group, self.outlive)
            self._matches[int(entries["block"][0, 0])] = group, agents, places

    def matches(self) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.int16]]:
        """Group [M], agents [M, S] and places [M, S] of all matches of a mixed field, in order of block."""
        groups, agents, places = zip(*(self._matches[block] for block in sorted(self._matches)), strict=True)
        return np.concatenate(groups), np.concatenate(agents), np.concatenate(places)

    def _add_totals(self, entries: NDArray[Any], group: NDArray[np.int64], counts: NDArray[np.bool_]) -> None:
        num_seats = entries.shape[1]
        eliminated = entries["eliminated"].astype(np.int64)
        of_all = np.broadcast_to(eliminated.sum(axis=1, keepdims=True), entries.shape)
        part = np.rint(SHARES / entries["tied"]).astype(np.int64)
        columns = [
            np.ones(entries.shape, np.int64),
            entries["forfeited"],
            eliminated,
            num_seats * eliminated,
            of_all,
            part * (entries["place"] == 1),
            _first_out(entries),
            2 * num_seats - (2 * entries["place"].astype(np.int64) + entries["tied"] - 1),
            entries["lives_lost"],
            entries["deals"],
            entries["last_deal"],
            *np.moveaxis(entries["losses"], 2, 0),
        ]
        cell = (group[:, np.newaxis] * self.num_keys + self._keys(entries))[counts]
        # sums of whole numbers below 2**53, so exact as floats too
        size = self.num_groups * self.num_keys
        for number, column in enumerate(columns):
            added = np.bincount(cell, column[counts], minlength=size).astype(np.int64)
            self.totals[..., number] += added.reshape(self.num_groups, self.num_keys)

    def _keys(self, entries: NDArray[Any]) -> NDArray[np.int64]:
        agents = entries["agent"].astype(np.int64)
        if self.field.kind != INVASION:
            return agents
        # a candidate's neighbour is one of the copies
        return agents * len(self.field.agents) + np.roll(agents, -1, axis=1)

    def _add_exits(self, entries: NDArray[Any], group: NDArray[np.int64], counts: NDArray[np.bool_]) -> None:
        num_agents = len(self.field.agents)
        row = group[:, np.newaxis] * num_agents + entries["agent"]
        left = entries["eliminated"] | entries["cut"]
        self.stayed += np.bincount(row[counts & ~left], minlength=self.stayed.size).reshape(self.stayed.shape)
        left &= counts
        missing = int(entries["last_deal"].max(initial=1, where=left)) - self.exits.shape[2]
        if missing > 0:
            self.exits = np.pad(self.exits, ((0, 0), (0, 0), (0, missing), (0, 0)))
        cell = ((row * self.exits.shape[2] + entries["last_deal"] - 1) * 2 + ~entries["eliminated"])[left]
        self.exits += np.bincount(cell, minlength=self.exits.size).reshape(self.exits.shape)


def _first_out(entries: NDArray[Any]) -> NDArray[np.int64]:
    """Of the first elimination of each match the parts that fall to each seat, [M, S]; SHARES in all, if there is one.

    By the deal and within it by place: seats that forfeit have the last places, whenever they do it.
    """
    never = np.iinfo(np.int64).max
    when = entries["last_deal"].astype(np.int64) * (entries.shape[1] + 1) - entries["place"]
    when[~entries["eliminated"]] = never
    is_first = (when == when.min(axis=1, keepdims=True)) & (when != never)
    num_first = np.maximum(1, is_first.sum(axis=1, keepdims=True))
    return np.rint(SHARES / num_first).astype(np.int64) * is_first


@kernel
def add_outlived_all(agents: Any, places: Any, groups: Any, outlive: Any) -> None:
    """The meetings of all pairs of seats in each match of agents and places [M, S] are in `outlive` [G, m, m, 2]."""
    for match in range(agents.shape[0]):
        group = groups[match]
        for seat in range(agents.shape[1]):
            for other in range(agents.shape[1]):
                if seat == other or agents[match, seat] == agents[match, other]:
                    continue
                cell = outlive[group, agents[match, seat], agents[match, other]]
                cell[1] += 2
                if places[match, seat] < places[match, other]:
                    cell[0] += 2
                elif places[match, seat] == places[match, other]:
                    cell[0] += 1
