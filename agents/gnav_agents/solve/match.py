"""`solve_match`: an equilibrium of a whole match, deal by deal from its last states back to the full one.

A seat wants to be the last survivor. What the ends of a state's deal are worth to it are therefore its chances to win
from the states that follow (match_states.py), and with these the deal is solved as any other (deal.py). Where states
lead back to themselves, as a play-off does, solving and valuing take turns until they agree.

The values belong to the policies found, and every state has its NashConv. How much a seat can gain over the whole
match, departing wherever it likes, is worked out from the policies alone (match_certificate.py). The cap that
environments put on the deals of a match is left out of account: it hardly ever comes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.deal import settle
from gnav_agents.solve.match_certificate import best_values
from gnav_agents.solve.match_file import MatchFolder, MatchValues, SolvedState
from gnav_agents.solve.match_states import MatchStates, find_states, payoffs_of
from gnav_agents.solve.sweep import KEEP, Sweeper
from gnav_env.rules import Rules

__all__ = ["TOLERANCE", "Progress", "solve_match"]

TOLERANCE = 1e-6
"""NashConv of a state, in chances to win, below which its policy is good enough.

A match has some two deals for each life, so the gains of the states add up to little more than ten times as much.
"""

_STILL = 1e-12
"""Values that move by less than this have settled."""
_MAX_VALUATIONS = 10_000
_MAX_ROUNDS = 12
"""Times that states which lead back to themselves are solved."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far solving has come."""

    num_done: int
    """States solved."""
    num_states: int
    state: str
    """The last one of them, as "3 2 1"."""
    nash_conv: float
    num_rounds: int
    """Sweeps that it took."""


def solve_match(
    rules: Rules,
    num_seats: int,
    folder: str | Path | None = None,
    *,
    tolerance: float = TOLERANCE,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> MatchValues:
    """The values of all states of a match, with what a seat can gain at most.

    With a `folder` solved states are kept there, a run that was killed goes on, and in the end it has `values.json` for
    `MatchValues.load` and `policies.npz` for `MatchPolicies.load`. The result does not depend on interruptions, nor on
    `workers`, the threads. Raises `GnavError` for rules that cannot be solved, and for a folder in use for others.
    """
    states = find_states(rules, num_seats)
    kept = MatchFolder(folder, states, tolerance) if folder is not None else None
    solved: dict[int, SolvedState] = {}
    for group in states.groups():
        found = kept.read(group) if kept is not None else None
        if found is None:
            found = _Group(states, group, solved, tolerance, workers).solve()
            if kept is not None:
                kept.write(found)
        solved |= found
        for number, one in found.items():
            if progress is not None:
                progress(_progress(states, number, one, len(solved)))
    best = best_values(states, solved, workers)
    values = MatchValues.of(states, solved, tolerance, best[0] - solved[0].values)
    if kept is not None:
        kept.finish(values, solved)
    return values


def _progress(states: MatchStates, number: int, one: SolvedState, num_done: int) -> Progress:
    return Progress(
        num_done=num_done,
        num_states=len(states.states),
        state=str(states.states[number]),
        nash_conv=one.nash_conv,
        num_rounds=one.num_rounds,
    )


class _Group:
    """States that lead to one another, mostly only one; those that follow them are `solved`."""

    def __init__(
        self, states: MatchStates, group: list[int], solved: dict[int, SolvedState], tolerance: float, workers: int
    ) -> None:
        self._states, self._group, self._tolerance, self._workers = states, group, tolerance, workers
        self._values = {number: one.values for number, one in solved.items()}
        self._policies: dict[int, NDArray[np.float32]] = {}
        self._gains: dict[int, NDArray[np.float64]] = {}
        self._num_rounds = dict.fromkeys(group, 0)
        self._is_closed = any(set(states.following[number].states.tolist()) & set(group) for number in group)
        for number in group:
            num_seats = states.states[number].num_seats
            self._values[number] = np.full(num_seats, 1 / num_seats)

    def solve(self) -> dict[int, SolvedState]:
        """Policies, values and gains of the states, by number."""
        for _ in range(_MAX_ROUNDS if self._is_closed else 1):
            for number in self._group:
                self._settle(number)
            self._valuate()
            if all(gains.sum() < self._tolerance for gains in self._gains.values()):
                break
        return {
            number: SolvedState(
                stand=self._policies[number],
                values=self._values[number],
                gains=self._gains[number],
                num_rounds=self._num_rounds[number],
            )
            for number in self._group
        }

    def _settle(self, number: int) -> None:
        """The state has a policy that is an equilibrium if values are as they are now."""
        sweeper = self._sweeper(number)
        found = settle(sweeper, tolerance=self._tolerance / 2)
        self._policies[number] = found.stand.astype(np.float32)
        self._num_rounds[number] += found.num_rounds

    def _valuate(self) -> None:
        """The values of the states are those of their policies."""
        for _ in range(_MAX_VALUATIONS):
            moved = 0.0
            for number in self._group:
                found = self._sweeper(number).sweep(KEEP)
                moved = max(moved, float(np.abs(found.values - self._values[number]).max()))
                self._values[number], self._gains[number] = found.values, found.gains
            if moved < _STILL or not self._is_closed:
                break

    def _sweeper(self, number: int) -> Sweeper:
        """For the state's deal and its policy so far."""
        sweeper = self._states.sweeper(number, self._workers)
        sweeper.payoffs = payoffs_of(self._states.following[number], self._values)
        if number in self._policies:
            sweeper.stand[:] = self._policies[number]
        else:
            sweeper.stand[:] = np.choose(sweeper.legal, [0.0, 1.0, 0.0, 0.5])
        return sweeper
