"""The others, as agents and studies think of them: threshold players around the level that does best in such company.

Deals of such a table are simulated with the engine's own kernels. What is gained in them is counted in lives: one's
own, less the average of the others', since a match is won by outliving them.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import own_ranks
from gnav_env._jit import kernel
from gnav_env.chance import below, random_key, shuffle
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed, legal_action
from gnav_env.observation import num_features, observe
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND, TABLE, TURNS, hand_rank, net_lives

__all__ = ["opponent_action", "opponent_level", "relative_balance", "sample_decisions"]

_NUM_LEVEL_SAMPLES = 10_000


@cache
def opponent_level(rules: Rules, num_seats: int) -> int:
    """The number of the rank below which opponents exchange: a threshold that is the best reply to itself.

    Three times the best threshold against the last one; in practice it stays where it is after the second.
    Pagat: VI at two seats, III at six, the Pot at twenty.
    """
    num_ranks = len(rules.ranks)
    level = num_ranks // 3
    for _ in range(3):
        observation, gain = sample_decisions(rules, num_seats, level, 0, _NUM_LEVEL_SAMPLES)
        gain_by_rank = np.bincount(own_ranks(observation), gain, num_ranks)
        level = int(np.argmax(np.append(0, np.cumsum(gain_by_rank))))
    return level


def sample_decisions(
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
