"""What a seat can win at most in a match if all others keep to their policies.

Backwards over the states, as match.py solves them, but with the departing seat's own chances from the states that
follow. One sweep over a state's deal does it for all its seats: what each one gains by its best response depends on its
own payoffs only.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.match_file import SolvedState
from gnav_agents.solve.match_states import MatchStates, payoffs_of
from gnav_agents.solve.sweep import KEEP

__all__ = ["best_values"]

_STILL = 1e-12
_MAX_ITERATIONS = 10_000


def best_values(
    states: MatchStates, solved: Mapping[int, SolvedState], workers: int = 1
) -> dict[int, NDArray[np.float64]]:
    """By state the chance of each seat, [S], to win from there on by a best response over all that is left.

    The others play the policies `solved`. States that lead back to themselves begin with what those policies are worth
    and grow, deal by deal, until they move no more.
    """
    best: dict[int, NDArray[np.float64]] = {}
    for group in states.groups():
        best |= {number: solved[number].values for number in group}
        is_closed = any(set(states.following[number].states.tolist()) & set(group) for number in group)
        for _ in range(_MAX_ITERATIONS):
            moved = 0.0
            for number in group:
                sweeper = states.sweeper(number, workers)
                sweeper.payoffs = payoffs_of(states.following[number], best)
                sweeper.stand[:] = solved[number].stand
                found = sweeper.sweep(KEEP)
                value = found.values + found.gains
                moved = max(moved, float(np.abs(value - best[number]).max()))
                best[number] = value
            if moved < _STILL or not is_closed:
                break
    return best
