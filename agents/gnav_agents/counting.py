"""`counting`: the best reply to threshold players, found by playing both actions on the same cards.

A seat decides once a deal. Against players whose ways are known its best choice is therefore a table: for
each situation that it can tell apart, what EXCHANGE gains over STAND. The table for a number of seats is made
when it is first wanted, in about half a second, from deals simulated with the engine's own kernels; the same
seeds, the same table.

What is gained is counted in lives: one's own, less the average of the others', since a match is won by
outliving them. The opponents are threshold players around the level that does best in such company (see
`opponent_level`).
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, is_playing, own_ranks
from gnav_agents.solve.situations import SITUATION, shrunk, situation, situations
from gnav_env._jit import kernel
from gnav_env.chance import below, random_key, shuffle
from gnav_env.compiled import MAX_SEATS
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed, legal_action
from gnav_env.observation import num_features, num_seats_of, observe
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND, TABLE, TURNS, hand_rank, net_lives

__all__ = ["Counting", "opponent_action", "opponent_level", "relative_balance", "reply_table"]

_NUM_SAMPLES = 160_000
_NUM_LEVEL_SAMPLES = 10_000
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
        observation, gain = _samples(rules, num_seats, level, 1 + chunk, _CHUNK)
        numbers = situations(observation, rules)
        count += np.bincount(numbers, minlength=num_situations)
        total += np.bincount(numbers, gain, num_situations)
    return shrunk(count.reshape(SITUATION), total.reshape(SITUATION), _PRIOR).ravel()


@cache
def opponent_level(rules: Rules, num_seats: int) -> int:
    """The number of the rank below which opponents exchange: a threshold that is the best reply to itself.

    Three times the best threshold against the last one; in practice it stays where it is after the second.
    Pagat: VI at two seats, III at six, the Pot at twenty.
    """
    num_ranks = len(rules.ranks)
    level = num_ranks // 3
    for _ in range(3):
        observation, gain = _samples(rules, num_seats, level, 0, _NUM_LEVEL_SAMPLES)
        gain_by_rank = np.bincount(own_ranks(observation), gain, num_ranks)
        level = int(np.argmax(np.append(0, np.cumsum(gain_by_rank))))
    return level


def _samples(
    rules: Rules, num_seats: int, level: int, seed: int, num_samples: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Decisions among opponents of `level`: what the seat sees [N, F], the lives that EXCHANGE gains [N]."""
    observation = np.empty((num_samples, num_features(num_seats)), np.float32)
    balance = np.empty((num_samples, NUM_ACTIONS))
    num_found = sample_all(np.zeros(1, TABLE), rules.compiled, num_seats, level, seed, observation, balance)
    return observation[:num_found], (balance[:, EXCHANGE] - balance[:, STAND])[:num_found]


@kernel
def sample_all(tables: Any, rules: Any, num_seats: int, level: int, seed: int, observations: Any, balances: Any) -> int:
    """Deals have been played twice, with STAND and with EXCHANGE of one seat; the number of samples.

    The others exchange below a level that each draws anew, `level` or one more or less. Observations [N, F]
    hold what the seat saw before it chose, balances [N, A] its lives won and lost less the average of the
    others'. Where a choice is rare (some rulesets force it) fewer than N samples may be found.
    """
    t, r = tables[0], rules[0]
    num_samples = observations.shape[0]
    begin_match(t, r, num_seats, num_seats - 1)
    num_needed = cards_needed(t, r)
    num_found = 0
    for number in range(4 * num_samples):
        if num_found == num_samples:
            break
        key = random_key(seed, number)
        chooser = below(random_key(key, num_seats), num_seats)
        found = 0
        for action in range(NUM_ACTIONS):
            shuffle(t.deck, r, key, 0, num_needed)  # anew: a card that changes hands may become another
            begin_match(t, r, num_seats, num_seats - 1)
            begin_deal(t, r)
            for _ in range(num_seats):
                if t.phase != TURNS:
                    break
                seat: Any = np.int64(t.to_act)
                choice: Any = opponent_action(t, r, key, seat, level)
                if seat == chooser and can_stand(t, r) and can_exchange(t, r):
                    found = 1
                    choice = action
                    if action == STAND:
                        observe(t, r, seat, observations[num_found])
                act(t, r, choice)
            balances[num_found, action] = relative_balance(t, chooser)
        num_found += found
    return num_found


@kernel
def opponent_action(t: Any, r: Any, key: Any, seat: int, level: int) -> int:
    """EXCHANGE below `level`, or below one rank more or less, as the deal's `key` has it for `seat`, where legal."""
    wanted: Any = np.int64(hand_rank(t, seat) < level - 1 + below(random_key(key, seat), 3))
    return legal_action(t, r, wanted)


@kernel
def relative_balance(t: Any, seat: int) -> float:
    """Lives that `seat` has won and lost in this deal, less the average of the others'."""
    own, all_seats = net_lives(t, seat), 0
    for other in range(np.int64(t.num_seats)):
        all_seats += net_lives(t, other)
    return own - (all_seats - own) / (np.int64(t.num_seats) - 1)
