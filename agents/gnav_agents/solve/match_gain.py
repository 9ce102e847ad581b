"""How much more often than an agent one can win a match among seats that all play as it does, exactly.

exact_gain.py measures the same for one deal, in lives; match.py knows the states of a match and match_certificate.py
the best response over all of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.asked import policy_of
from gnav_agents.solve.exact_gain import why_not_exact
from gnav_agents.solve.information import InformationStates
from gnav_agents.solve.match_certificate import best_values
from gnav_agents.solve.match_file import SolvedState
from gnav_agents.solve.match_states import MatchStates, find_states, payoffs_of
from gnav_agents.solve.sweep import KEEP
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["MAX_MATCH_SEATS", "MatchGain", "match_gain"]

MAX_MATCH_SEATS = 4
"""The largest table whose matches are gone through."""

_STILL = 1e-12
_MAX_SWEEPS = 10_000


@dataclass(frozen=True, kw_only=True)
class MatchGain:
    """What a best response over the whole match gains over an agent among its like, in chances to win, 0 to 1."""

    values: tuple[float, ...]
    """The agent's own chance to win, by position in the first deal."""
    gains: tuple[float, ...]
    """What a best response adds to it."""
    num_states: int
    """States of the match: who has how many lives, who deals, who sits out."""

    @property
    def gain(self) -> float:
        """Mean over the positions."""
        return float(np.mean(self.gains))


def match_gain(
    name: str,
    agent: Any,
    rules: str | Rules,
    num_seats: int,
    *,
    workers: int = 1,
    progress: Callable[[str, float], None] | None = None,
) -> MatchGain:
    """What a best response gains over the `agent` called `name`, which sits in all other seats, over a match.

    The arguments are those of `exact_gain`. Where seats are out, the agent is shown the smaller table that is left.
    Raises `GnavError` for more than `MAX_MATCH_SEATS` seats, for rules whose matches cannot be solved, for an agent
    without probabilities, and for one that fails, naming it.
    """
    rules = get_rules(rules)
    if num_seats > MAX_MATCH_SEATS:
        raise GnavError(f"over a match the gain is known for 2 to {MAX_MATCH_SEATS} seats, not {num_seats}")
    if reason := why_not_exact(agent, rules, num_seats):
        raise GnavError(f"agent {name}: its gain over a match cannot be found: {reason}")
    tell = progress or (lambda _what, _share: None)
    tell("finding the states of the match", 0)
    states = find_states(rules, num_seats)
    solved: dict[int, SolvedState] = {}
    for group in states.groups():
        tell("playing all states", len(solved) / len(states.states))
        policies = {number: _policy(name, agent, states, number, workers) for number in group}
        solved |= _valued(states, group, policies, solved, workers)
    tell("finding the best response", 0)
    best = best_values(states, solved, workers)
    values = solved[0].values
    return MatchGain(
        values=tuple(values.tolist()), gains=tuple((best[0] - values).tolist()), num_states=len(states.states)
    )


def _policy(name: str, agent: Any, states: MatchStates, number: int, workers: int) -> NDArray[np.float32]:
    """The agent's chance of STAND in the deal of a state, [num_states]."""
    tree = replace(states.tree(number), lives=states.states[number].lives)
    return policy_of(name, agent, tree, InformationStates(tree), states.sweeper(number, workers).legal).astype(
        np.float32
    )


def _valued(
    states: MatchStates,
    group: list[int],
    policies: dict[int, NDArray[np.float32]],
    solved: dict[int, SolvedState],
    workers: int,
) -> dict[int, SolvedState]:
    """States that lead to one another, with what the policies are worth there; what follows them is `solved`."""
    values = {number: one.values for number, one in solved.items()}
    values |= {
        number: np.full(states.states[number].num_seats, 1 / states.states[number].num_seats) for number in group
    }
    gains: dict[int, NDArray[np.float64]] = {}
    is_closed = any(set(states.following[number].states.tolist()) & set(group) for number in group)
    for _ in range(_MAX_SWEEPS if is_closed else 1):
        moved = 0.0
        for number in group:
            sweeper = states.sweeper(number, workers)
            sweeper.payoffs = payoffs_of(states.following[number], values)
            sweeper.stand[:] = policies[number]
            found = sweeper.sweep(KEEP)
            moved = max(moved, float(np.abs(found.values - values[number]).max()))
            values[number], gains[number] = found.values, found.gains
        if moved < _STILL:
            break
    return {
        number: SolvedState(stand=policies[number], values=values[number], gains=gains[number], num_rounds=0)
        for number in group
    }
