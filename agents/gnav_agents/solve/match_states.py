"""The states of a match between deals, and how deals lead from one to another.

A state is who has how many lives, in the order of action with the dealer last, and who sits out the coming deal. Seats
that are out are left out: nothing depends on them any more. The engine says what follows a deal (payoffs.py).

States in which the same seats can fall within the deal have the same public tree, so they share it, and its layout:
the lives above what fines can take are only counted afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.payoffs import after_showdown
from gnav_agents.solve.sweep import Sweeper
from gnav_agents.solve.tree import Kind, Tree, build_tree
from gnav_env.errors import GnavError
from gnav_env.rules import Rules

__all__ = ["Following", "MatchStates", "State", "find_states", "payoffs_of"]

OVER = -1
"""Instead of the number of a state: the match is over."""

_MOST_STATES = 10_000


@dataclass(frozen=True, order=True)
class State:
    """A deal is wanted."""

    lives: tuple[int, ...]
    """Of the seats still in, in the order of action: the last one deals."""
    sits_out: tuple[bool, ...]
    """Who misses the coming deal."""

    @property
    def num_seats(self) -> int:
        """Seats still in."""
        return len(self.lives)

    def __str__(self) -> str:
        """As "3 2 (1)": lives, in brackets those of a seat that sits out."""
        return " ".join(f"({n})" if out else str(n) for n, out in zip(self.lives, self.sits_out, strict=True))


@dataclass(frozen=True, eq=False)
class Following:
    """What the ends of a state's deal lead to."""

    numbers: NDArray[np.int32]
    """[kinds, 2^S]: by kind of ending and holders of the lowest card, which of the `N` rows below; N: impossible."""
    states: NDArray[np.int64]
    """[N]: the next state's number, or OVER."""
    seats: NDArray[np.int64]
    """[N, S]: which seat of the next state each one is, -1 if it is out."""
    shares: NDArray[np.float64]
    """[N, S]: what each seat has of the match's win, 0 unless it is over; joint winners share it."""


class MatchStates:
    """All states that a match can come to, from the full one, number 0, on."""

    def __init__(self, rules: Rules, num_seats: int) -> None:
        self.rules, self.num_seats = rules, num_seats
        self.states: list[State] = []
        self.following: list[Following] = []
        self._numbers: dict[State, int] = {}
        self._trees: dict[State, Tree] = {}
        self._sweepers: dict[State, Sweeper] = {}
        full = State((rules.lives,) * num_seats, (False,) * num_seats)
        self._cap = 1 + _most_fined(build_tree(rules, full.lives))
        self._number(full)
        for state in self.states:
            self.following.append(self._follow(state))

    def number(self, state: State) -> int | None:
        """The number of `state`, None if a match never comes to it."""
        return self._numbers.get(state)

    def groups(self) -> list[list[int]]:
        """The states' numbers, those that can lead to one another together, what a group leads to before it."""
        leads = np.eye(len(self.states), dtype=np.bool_)
        for number, following in enumerate(self.following):
            leads[number, following.states[following.states != OVER]] = True
        for between in range(len(leads)):
            leads |= np.outer(leads[:, between], leads[between])
        groups: dict[bytes, list[int]] = {}
        for number in np.argsort(leads.sum(axis=1), kind="stable").tolist():
            groups.setdefault((leads[number] & leads[:, number]).tobytes(), []).append(number)
        return list(groups.values())

    def tree(self, number: int) -> Tree:
        """The public tree of the deal of state `number`, maybe with fewer lives. States that can share it do."""
        return self._trees[self._shape(self.states[number])]

    def sweeper(self, number: int, workers: int = 1) -> Sweeper:
        """For the deal of state `number`, its payoffs still to be set. States that share a tree share it."""
        shape = self._shape(self.states[number])
        if shape not in self._sweepers:
            tree = self._trees[shape]
            self._sweepers[shape] = Sweeper(tree, np.zeros((1, 1, tree.num_seats)), workers=workers)
        return self._sweepers[shape]

    def _number(self, state: State) -> int:
        if state not in self._numbers:
            if len(self.states) == _MOST_STATES:
                raise GnavError(f"a match of {self.rules.name} comes to more than {_MOST_STATES} states")
            self._numbers[state] = len(self.states)
            self.states.append(state)
        return self._numbers[state]

    def _shape(self, state: State) -> State:
        """The state with as few lives that has the same public tree."""
        low = State(tuple(min(lives, self._cap) for lives in state.lives), state.sits_out)
        for shape in (low, state):
            if shape not in self._trees:
                self._trees[shape] = build_tree(self.rules, shape.lives, shape.sits_out)
            tree = self._trees[shape]
            if shape == state or _most_fined(tree) < self._cap:
                return shape
        raise AssertionError("a state has its own tree")

    def _follow(self, state: State) -> Following:
        tree = self._trees[self._shape(state)]
        more = np.subtract(state.lives, tree.lives)
        after = after_showdown(replace(tree, lives=state.lives, kinds=[_with_lives(kind, more) for kind in tree.kinds]))
        names = ("is_possible", "is_over", "dealer", "lives", "place", "sits_out")
        columns = [after[name].reshape(after.size, -1)[:, : state.num_seats].astype(np.int64) for name in names]
        rows, numbers = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
        rows = rows.tolist()
        if not rows[0][0]:
            rows = rows[1:]
            numbers = numbers - 1
        ends = [self._end(state.num_seats, row) for row in rows]
        return Following(
            numbers=np.where(numbers < 0, len(rows), numbers).reshape(after.shape).astype(np.int32),
            states=np.array([end[0] for end in ends], np.int64),
            seats=np.array([end[1] for end in ends], np.int64),
            shares=np.array([end[2] for end in ends]),
        )

    def _end(self, num_seats: int, row: list[int]) -> tuple[int, list[int], list[float]]:
        """What one row of possible, over, dealer, lives, places and who sits out leads to."""
        _, is_over, dealer = row[:3]
        lives, place, sits_out = (row[3 + num_seats * i : 3 + num_seats * (i + 1)] for i in range(3))
        nobody, nothing = [-1] * num_seats, [0.0] * num_seats
        if is_over:
            winners = [seat for seat in range(num_seats) if place[seat] == 1]
            return OVER, nobody, [float(seat in winners) / len(winners) for seat in range(num_seats)]
        seats = [seat % num_seats for seat in range(dealer + 1, dealer + 1 + num_seats) if lives[seat % num_seats] > 0]
        state = State(tuple(lives[seat] for seat in seats), tuple(bool(sits_out[seat]) for seat in seats))
        return self._number(state), [seats.index(s) if s in seats else -1 for s in range(num_seats)], nothing


def find_states(rules: Rules, num_seats: int) -> MatchStates:
    """The states of a match; `GnavError` if the rules make too many of them, or have what the tree cannot hold."""
    rules.check_seats(num_seats)
    if rules.num_deals:
        raise GnavError(
            f"ruleset {rules.name} cannot be solved as a match: it ends after {rules.num_deals} deals, and the states "
            "do not count deals; solve rulesets in which the last survivor wins"
        )
    if rules.all_out == "all_reenter" and num_seats > 2:
        raise GnavError(
            f"ruleset {rules.name} cannot be solved as a match: seats that are out come back into it (all_out: "
            "all_reenter), and the states only know those that are in"
        )
    return MatchStates(rules, num_seats)


def payoffs_of(following: Following, values: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """[kinds, 2^S, S]: what a deal's ends are worth to each seat, if states are worth `values` [S] by number."""
    rows = np.concatenate([following.shares, np.zeros((1, following.shares.shape[1]))])
    for row, number in enumerate(following.states.tolist()):
        if number != OVER:
            seats = following.seats[row]
            rows[row] = np.where(seats >= 0, values[number][seats], 0)
    return rows[following.numbers]


def _most_fined(tree: Tree) -> int:
    """The most lives that a seat can pay in fines."""
    return max(int(kind.record["seats"]["fined"][: tree.num_seats].max()) for kind in tree.kinds)


def _with_lives(kind: Kind, more: NDArray[Any]) -> Kind:
    """The same ending between seats that have had `more` [S] lives from the beginning."""
    record = kind.record.copy()
    record["seats"]["lives"][: len(more)] += more.astype(np.int16)
    return Kind(record=record, public=kind.public)
