"""A deal of many seats solved by samples, on the fine situations of situations.py, for the lives that a seat loses.

External sampling: the cards and the choices of all seats are drawn, and every seat that has a choice tries the other
action too, on the same cards, the others' luck unchanged. What EXCHANGE gained over STAND is summed by situation over
the deals of an iteration; regret matching makes the next policy of it, and the solution is the average policy. Both
regrets and policies are weighted by the number of the iteration (linear CFR: N. Brown and T. Sandholm, AAAI 2019).
Regret-matching+ is the better rule where gains are exact; on samples its clipping keeps noise of one sign, and bad
actions are played for long. A seat chooses at most once a deal, so no earlier choice of its own weighs in. All seats
share one table, since a situation tells how many seats are behind.

The solution is written and played in situation_policy.py; gain.py says how far from a best response a policy is at
least.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.situation_policy import SampledSolution
from gnav_agents.solve.situations import FINE, fine_situation, num_fine_situations, shrunk
from gnav_env._jit import kernel
from gnav_env.chance import checked_seed, random_key, shoe_key, shuffle
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed, legal_action
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, observe
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND, TABLE, TURNS, net_lives
from gnav_env.variants import get_rules

__all__ = ["luck_of", "solve_sampled", "start_deal"]

NUM_ITERATIONS = 200
DEALS_PER_ITERATION = 8_000

_PRIOR = 20.0
"""So many samples of a situation count as much as the mean of the coarser one; with fewer, it is not played mixed."""
_DEAL, _LUCK = 0, 1
"""The branches of a deal's key: its cards, and the luck of its seats."""
_SHIFT, _TO_UNIT = np.uint64(11), 2.0**-53


def solve_sampled(
    rules: str | Rules,
    num_seats: int,
    *,
    num_iterations: int = NUM_ITERATIONS,
    deals_per_iteration: int = DEALS_PER_ITERATION,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SampledSolution:
    """A policy that no seat of a deal, with full lives, can much improve on, in lives and among fine situations.

    Args:
        rules: the ruleset.
        num_seats: 2 to the ruleset's limit.
        num_iterations: how often the policy is made anew.
        deals_per_iteration: deals sampled for each of them.
        seed: the same seed, the same solution, byte for byte.
        progress: is told after each iteration how many are done.

    Raises `GnavError` for a number that is out of its range.
    """
    rules = get_rules(rules)
    rules.check_seats(num_seats)
    seed = checked_seed(seed)
    if num_iterations < 1 or deals_per_iteration < 1:
        raise GnavError("num_iterations and deals_per_iteration must be 1 or more")
    size = num_fine_situations(num_seats)
    solver = _Solver(num_seats)
    scratch = np.zeros(2, TABLE)
    view = np.empty(num_features(num_seats), np.float32)
    key = np.uint64(shoe_key(seed, num_seats))
    for iteration in range(num_iterations):
        count, total = np.zeros(size), np.zeros(size)
        first = iteration * deals_per_iteration
        sample_gains_all(
            scratch,
            scratch.view(np.uint8).reshape(2, -1),
            rules.compiled,
            num_seats,
            solver.stand,
            key,
            first,
            deals_per_iteration,
            view,
            count,
            total,
        )
        solver.update(count, total)
        if progress is not None:
            progress(iteration + 1)
    return SampledSolution(
        rules=rules,
        num_seats=num_seats,
        stand=solver.solution(),
        seed=seed,
        num_iterations=num_iterations,
        deals_per_iteration=deals_per_iteration,
    )


class _Solver:
    """Regret matching in all situations at once."""

    def __init__(self, num_seats: int) -> None:
        self._shape = (num_seats, *FINE[1:])
        size = num_fine_situations(num_seats)
        self.stand = np.full(size, 0.5)
        """The chance of STAND now, [size]."""
        self._stand_regret, self._exchange_regret = np.zeros(size), np.zeros(size)
        self._count, self._total = np.zeros(size), np.zeros(size)
        self._sum = np.zeros(size)
        self._num_iterations = 0

    def update(self, count: NDArray[np.float64], total: NDArray[np.float64]) -> None:
        """The next policy, after `count` samples of each situation in which EXCHANGE gained `total` over STAND."""
        self._num_iterations += 1
        self._sum += self._num_iterations * self.stand
        self._stand_regret -= self._num_iterations * (1 - self.stand) * total
        self._exchange_regret += self._num_iterations * self.stand * total
        stand, exchange = np.maximum(self._stand_regret, 0), np.maximum(self._exchange_regret, 0)
        np.divide(stand, stand + exchange, out=self.stand, where=stand + exchange > 0)
        self._count += count
        self._total += total

    def solution(self) -> NDArray[np.float32]:
        """The average policy, and in situations with few samples what was better there and in coarser ones."""
        average = self._sum / (self._num_iterations * (self._num_iterations + 1) / 2)
        gain = shrunk(self._count.reshape(self._shape), self._total.reshape(self._shape), _PRIOR).ravel()
        return np.where(self._count < _PRIOR, gain <= 0, average).astype(np.float32)


@kernel
def start_deal(t: Any, r: Any, num_seats: int, key: Any) -> None:
    """A deal of `num_seats` seats with full lives is out, its cards from `key`; the last seat deals."""
    t.shoe = key
    begin_match(t, r, num_seats, num_seats - 1)
    shuffle(t.deck, r, key, _DEAL, cards_needed(t, r))
    begin_deal(t, r)


@kernel
def luck_of(key: Any, seat: int) -> float:
    """The luck of `seat` in the deal of this `key`, 0 or more and below 1: it stands if that is below its chance."""
    return np.float64(random_key(random_key(key, _LUCK), seat) >> _SHIFT) * _TO_UNIT


@kernel
def sample_gains_all(
    tables: Any,
    memory: Any,
    rules: Any,
    num_seats: int,
    stand: Any,
    seed: Any,
    first: int,
    num_deals: int,
    view: Any,
    count: Any,
    total: Any,
) -> None:
    """What EXCHANGE gained over STAND, in lives, is added to `total` by situation, and the samples to `count`.

    `tables` [2] is for the deal and for the other action in it, `memory` uint8 [2, bytes] the same two as bytes.
    """
    t, other, r = tables[0], tables[1], rules[0]
    situation_at, seat_at, gained = np.empty(num_seats, np.int64), np.empty(num_seats, np.int64), np.empty(num_seats)
    actions = np.empty(num_seats, np.int64)
    for number in range(first, first + num_deals):
        key = random_key(seed, number)
        start_deal(t, r, num_seats, key)
        num_choices = 0
        for _ in range(num_seats):
            if t.phase != TURNS:
                break
            if not (can_stand(t, r) and can_exchange(t, r)):
                act(t, r, legal_action(t, r, STAND))
                continue
            seat: Any = np.int64(t.to_act)
            observe(t, r, seat, view)
            situation = fine_situation(view, num_seats, r, num_seats - 1)
            action = EXCHANGE if luck_of(key, seat) >= stand[situation] else STAND
            for byte in range(memory.shape[1]):
                memory[1, byte] = memory[0, byte]
            act(other, r, 1 - action)
            _play_out(other, r, key, stand, view)
            seat_at[num_choices], situation_at[num_choices], actions[num_choices] = seat, situation, action
            gained[num_choices] = net_lives(other, seat)
            num_choices += 1
            act(t, r, action)
        for choice in range(num_choices):
            gain = gained[choice] - net_lives(t, seat_at[choice])
            if actions[choice] == EXCHANGE:
                gain = -gain
            count[situation_at[choice]] += 1
            total[situation_at[choice]] += gain


@kernel
def _play_out(t: Any, r: Any, key: Any, stand: Any, view: Any) -> None:
    """The deal is over, all seats that had a choice having drawn from the policy `stand`."""
    num_seats = np.int64(t.num_seats)
    for _ in range(num_seats):
        if t.phase != TURNS:
            break
        action: Any = STAND
        if can_stand(t, r) and can_exchange(t, r):
            seat: Any = np.int64(t.to_act)
            observe(t, r, seat, view)
            situation = fine_situation(view, num_seats, r, num_seats - 1)
            action = EXCHANGE if luck_of(key, seat) >= stand[situation] else STAND
        act(t, r, legal_action(t, r, action))
