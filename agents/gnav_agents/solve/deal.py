"""`solve_deal`: an equilibrium of one deal for the objective lives lost, exact over chance, for small tables.

Rounds of best responses, seat after seat (sweep.py), end in a policy from which no seat gains, mostly within six. The
first rounds let everybody do the wrong thing now and then, so that play is sensible too where a table without mistakes
never gets. Where the rounds go in circles, regret matching takes over. Large deals begin from what sampled.py finds in
seconds, which saves two rounds of minutes. With three seats and more there are several
equilibria: what certifies one is NashConv, the sum of what the seats could gain, not its values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.asked import policy_of
from gnav_agents.solve.information import InformationStates
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.sampled import solve_sampled
from gnav_agents.solve.situation_policy import SituationPolicy
from gnav_agents.solve.sweep import KEEP, REGRET, RESPOND, Sweeper
from gnav_agents.solve.tree import Tree, build_tree
from gnav_env.errors import GnavError
from gnav_env.rules import Rules

__all__ = ["MAX_EXACT_SEATS", "TOLERANCE", "SolvedDeal", "deal_tree", "settle", "solve_deal"]

MAX_EXACT_SEATS = 6
"""The largest table that is solved exactly."""
TOLERANCE = 1e-6
"""NashConv, in lives a deal, below which a policy is an equilibrium."""
TREMBLE = 0.01
_CLOSE = 1e-4
"""NashConv at which rounds with trembling have done their work."""
_MAX_ROUNDS = 12
_MAX_REGRET_ROUNDS = 4096
_MANY_STATES = 100_000
"""Information states from which on sampling first is worth its time."""


@dataclass(frozen=True)
class SolvedDeal:
    """A policy for every information state of a deal, and what is known of it."""

    tree: Tree
    stand: NDArray[np.float64]
    """[num_states]: the chance of STAND in each information state."""
    values: NDArray[np.float64]
    """[S]: lives won less lives lost in a deal by each seat, in the order of action."""
    gains: NDArray[np.float64]
    """[S]: what each seat would gain by its best response."""
    num_rounds: int
    """Sweeps that it took."""
    how: str
    """`best responses` or `regret matching`."""

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium."""
        return float(self.gains.sum())


def deal_tree(rules: Rules, num_seats: int) -> Tree:
    """The tree of a deal among `num_seats` seats with full lives.

    Two seats and more are allowed whatever number a match of these rules begins with: a match comes down to two.
    Raises `GnavError` for a number of seats or rules that are not solved exactly.
    """
    most = min(MAX_EXACT_SEATS, rules.seat_limit)
    if not 2 <= num_seats <= most:
        raise GnavError(f"seats must be 2 to {most} to be solved exactly, not {num_seats}")
    return build_tree(rules, [rules.lives] * num_seats)


def solve_deal(
    rules: Rules,
    num_seats: int,
    *,
    workers: int = 1,
    tolerance: float = TOLERANCE,
    progress: Callable[[str, float], None] | None = None,
) -> SolvedDeal:
    """An equilibrium of the deal; NashConv is below `tolerance`, or as low as could be reached.

    `progress` is told what each round was and the NashConv found on the way, NaN before the first.
    """
    tree = deal_tree(rules, num_seats)
    sweeper = Sweeper(tree, lives_payoffs(tree), workers=workers)
    if tree.num_states >= _MANY_STATES and rules.can_seat(num_seats):
        _begin_from_samples(sweeper, progress)
    return settle(sweeper, tolerance=tolerance, progress=progress)


def _begin_from_samples(sweeper: Sweeper, progress: Callable[[str, float], None] | None) -> None:
    """The sweeper's policy is what sampled deals say, without mixing; it is the same each time."""
    tree = sweeper.tree
    if progress is not None:
        progress("sampling deals", np.nan)
    sampled = SituationPolicy(solve_sampled(tree.rules, tree.num_seats))
    sweeper.stand[:] = policy_of("sampled", sampled, tree, InformationStates(tree), sweeper.legal) >= 0.5


def settle(
    sweeper: Sweeper,
    *,
    tolerance: float = TOLERANCE,
    max_regret_rounds: int = _MAX_REGRET_ROUNDS,
    progress: Callable[[str, float], None] | None = None,
) -> SolvedDeal:
    """The same for any payoffs; the sweeper's policy is where the rounds begin and where they end."""
    tell = progress or (lambda _what, _nash_conv: None)
    num_rounds = 0
    for tremble, enough in ((TREMBLE, _CLOSE), (0.0, 0.0)):
        seen: set[bytes] = set()
        for _ in range(_MAX_ROUNDS):
            policy = sweeper.stand.copy()
            found = sweeper.sweep(RESPOND, tremble=tremble)
            num_rounds += 1
            gain = float(found.gains.sum())
            tell("best responses, trembling" if tremble else "best responses", gain)
            is_still = np.array_equal(policy, sweeper.stand)
            if is_still and not tremble:
                return _solved(sweeper, found, num_rounds, "best responses")
            if not tremble and gain < _CLOSE:
                found = sweeper.sweep(KEEP)
                num_rounds += 1
                tell("looking", float(found.gains.sum()))
                if found.gains.sum() < tolerance:
                    return _solved(sweeper, found, num_rounds, "best responses")
            state = sweeper.stand.tobytes()
            if is_still or gain < enough or state in seen:
                break
            seen.add(state)
        if tremble:
            never = (sweeper.legal == 3) & ~sweeper.worth.any(axis=1)
            sweeper.stand[never] = 1.0  # more cards of a rank than there are: kept out of the way
    return _match_regrets(sweeper, num_rounds, tolerance, max_regret_rounds, tell)


def _match_regrets(
    sweeper: Sweeper, num_rounds: int, tolerance: float, max_rounds: int, tell: Callable[[str, float], Any]
) -> SolvedDeal:
    """Predictive regret matching+ from the sweeper's policy on: the last policy or the average, whichever is better.

    Later rounds weigh more in the average, by their number squared.
    """
    sweeper.forget()
    check = 8
    for number in range(1, max_rounds + 1):
        found = sweeper.sweep(REGRET, weight=float(number) ** 2)
        tell("regret matching", float(found.gains.sum()))
        if number in (check, max_rounds):
            check *= 2
            last = sweeper.stand.copy()
            found = sweeper.sweep(KEEP)
            sweeper.stand[:] = sweeper.average
            averaged = sweeper.sweep(KEEP)
            if found.gains.sum() <= averaged.gains.sum():
                sweeper.stand[:] = last
            else:
                found = averaged
            tell("looking", float(found.gains.sum()))
            if found.gains.sum() < tolerance or number == max_rounds:
                return _solved(sweeper, found, num_rounds + number, "regret matching")
            sweeper.stand[:] = last
    raise AssertionError("max_rounds is 1 at least")


def _solved(sweeper: Sweeper, found: Any, num_rounds: int, how: str) -> SolvedDeal:
    return SolvedDeal(
        tree=sweeper.tree,
        stand=sweeper.stand.copy(),
        values=found.values,
        gains=found.gains,
        num_rounds=num_rounds,
        how=how,
    )
