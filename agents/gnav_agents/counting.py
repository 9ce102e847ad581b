"""`counting`: the best reply to threshold players, found by playing both actions on the same cards.

A seat decides once a deal. Against players whose ways are known its best choice is therefore a table: for
each situation that it can tell apart, what EXCHANGE gains over STAND. The table for a number of seats is made
when it is first wanted, in about half a second, from deals simulated with the engine's own kernels; the same
seeds, the same table.

What is gained is counted in lives: one's own, less the average of the others', since a match is won by
outliving them. The opponents are those of opponents.py.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, is_playing
from gnav_agents.opponents import opponent_level, sample_decisions
from gnav_agents.solve.situations import SITUATION, shrunk, situation, situations
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_SEATS
from gnav_env.observation import num_seats_of
from gnav_env.rules import Rules

__all__ = ["Counting", "reply_table"]

_NUM_SAMPLES = 160_000
_CHUNK = 20_000
_PRIOR = 20
"""So many samples of a situation count as much as the mean of the coarser situation that it belongs to."""
_UNKNOWN = -1


class Counting(Policy):
    """EXCHANGE where the table for as many seats as have live cards says that it gains, otherwise STAND."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._replies = np.full((MAX_SEATS + 1, int(np.prod(SITUATION))), _UNKNOWN, np.int8)
        """The better action by seats with live cards and situation; _UNKNOWN as long as nobody has asked."""

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the better action, or for the other where that is illegal."""
        replies = np.empty(len(observation), np.int64)
        seats = num_seats_of(observation.shape[1])
        while num_live := _reply_all(observation, seats, self._rules.compiled, self._replies, replies):
            self._replies[num_live] = reply_table(self._rules, num_live) > 0
        return certain(replies, action_mask)


@kernel
def _reply_all(observation: Any, num_seats: int, rules: Any, table: Any, replies: Any) -> int:
    """Write the better action [B] by `table` into `replies`, and say 0; or how many live seats it does not know."""
    for b in range(replies.size):
        view = observation[b]
        num_live = 0
        for slot in range(num_seats):
            num_live += is_playing(view, slot)
        num_live = max(2, num_live)
        replies[b] = table[num_live, situation(view, num_seats, rules[0])]
        if replies[b] == _UNKNOWN:
            return num_live
    return 0


@cache
def reply_table(rules: Rules, num_seats: int) -> NDArray[np.float64]:
    """Lives that EXCHANGE gains over STAND in a deal of `num_seats`, by situation: [prod(SITUATION)]."""
    level = opponent_level(rules, num_seats)
    num_situations = int(np.prod(SITUATION))
    count, total = np.zeros(num_situations), np.zeros(num_situations)
    for chunk in range(_NUM_SAMPLES // _CHUNK):
        observation, gain = sample_decisions(rules, num_seats, level, 1 + chunk, _CHUNK)
        numbers = situations(observation, rules)
        count += np.bincount(numbers, minlength=num_situations)
        total += np.bincount(numbers, gain, num_situations)
    return shrunk(count.reshape(SITUATION), total.reshape(SITUATION), _PRIOR).ravel()
