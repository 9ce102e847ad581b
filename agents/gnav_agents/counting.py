"""`counting`: the best reply to threshold players, found by playing both actions on the same cards.

A seat decides once a deal. Against players whose ways are known its best choice is therefore a table: for
each situation that it can tell apart, what EXCHANGE gains over STAND. The table for a number of seats is made
when it is first wanted, in about half a second, from deals simulated with the engine's own kernels; the same
seeds, the same table.

What is gained is counted in lives: one's own, less the average of the others', since a match is won by
outliving them. The opponents are threshold players around the level that does best in such company (see
`opponent_level`).
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, known_ranks, settled_and_behind
from gnav_env._jit import kernel
from gnav_env.chance import below, random_key, shuffle
from gnav_env.compiled import MAX_RANKS
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed, legal_action
from gnav_env.observation import num_features, observe, piece
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NUM_ACTIONS, REFUSED, STAND, STOOD, TABLE, TURNS, hand_rank, net_lives

__all__ = ["Counting", "opponent_action", "opponent_level", "relative_balance", "reply_table", "situations"]

SITUATION = (
    MAX_RANKS,  # own rank
    8,  # seats behind; 7: or more
    5,  # plain cards known: none, a lower one settled, the next one not higher, higher, an equal one settled
    5,  # special ranks known elsewhere: none, one settled, one at the next seat, one behind it, two or more
    3,  # low cards that went nowhere: none seen, a settled seat was refused, all trades were undone
    5,  # settled seats that stood; 4: or more
)
"""How many values each part of a situation has, the parts in the order of their weight."""

_NUM_SAMPLES = 160_000
_NUM_LEVEL_SAMPLES = 10_000
_CHUNK = 20_000
_PRIOR = 20
"""So many samples of a situation count as much as the mean of the coarser situation that it belongs to."""


class Counting(Policy):
    """EXCHANGE where the table for as many seats as have live cards says that it gains, otherwise STAND."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._tables: dict[int, NDArray[np.float64]] = {}

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the better action, or for the other where that is illegal."""
        situation = situations(observation, self._rules)
        num_live = np.maximum(2, (piece(observation, "playing")[..., 0] > 0).sum(axis=1))
        gain = np.empty(len(observation))
        for num_seats in np.unique(num_live).tolist():
            if num_seats not in self._tables:
                self._tables[num_seats] = reply_table(self._rules, num_seats)
            rows = num_live == num_seats
            gain[rows] = self._tables[num_seats][situation[rows]]
        return certain(gain > 0, action_mask)


def situations(observation: Observations, rules: Rules) -> NDArray[np.int64]:
    """The number of the situation (see `SITUATION`) in each row, [B]."""
    own = piece(observation, "own_card").argmax(axis=1)
    settled, behind = settled_and_behind(observation)
    rank = known_ranks(observation, len(rules.ranks))
    is_known = (rank >= 0) & (settled | behind)
    is_special = is_known & (rules.compiled["special"][0] != 0)[rank]
    is_plain = is_known & ~is_special
    rows, next_slot = np.arange(len(own)), behind.argmax(axis=1)
    is_next = np.zeros_like(behind)
    is_next[rows, next_slot] = behind[rows, next_slot]

    def somewhere(where: NDArray[np.bool_]) -> Any:
        return where.any(axis=1)

    mine = own[:, None]
    relation = np.select(
        [
            somewhere(is_plain & settled & (rank < mine)),
            somewhere(is_plain & is_next & (rank <= mine)),
            somewhere(is_plain & is_next & (rank > mine)),
            somewhere(is_plain & settled & (rank == mine)),
        ],
        [1, 2, 3, 4],
    )
    num_specials = is_special.sum(axis=1)
    specials = np.select(
        [
            num_specials == 0,
            num_specials > 1,
            somewhere(is_special & settled),
            somewhere(is_special & is_next),
        ],
        [0, 4, 1, 2],
        3,
    )
    turn = piece(observation, "action_history")
    has_stood, was_refused = turn[..., STOOD] > 0, turn[..., REFUSED] > 0
    is_undone = piece(observation, "undone")[:, 0] > 0
    kept = np.select([is_undone, somewhere(settled & was_refused)], [2, 1])
    parts = (own, behind.sum(axis=1), relation, specials, kept, (settled & has_stood).sum(axis=1))
    return np.ravel_multi_index(parts, SITUATION, mode="clip")


@cache
def reply_table(rules: Rules, num_seats: int) -> NDArray[np.float64]:
    """Lives that EXCHANGE gains over STAND in a deal of `num_seats`, by situation: [prod(SITUATION)]."""
    level = opponent_level(rules, num_seats)
    num_situations = int(np.prod(SITUATION))
    count, total = np.zeros(num_situations), np.zeros(num_situations)
    for chunk in range(_NUM_SAMPLES // _CHUNK):
        observation, gain = _samples(rules, num_seats, level, 1 + chunk, _CHUNK)
        situation = situations(observation, rules)
        count += np.bincount(situation, minlength=num_situations)
        total += np.bincount(situation, gain, num_situations)
    return _shrunk(count.reshape(SITUATION), total.reshape(SITUATION)).ravel()


def _shrunk(count: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of `total` by `count`, shape SITUATION; where samples are few, near the coarser situation's."""
    mean = np.zeros(())
    for num_parts in range(1, count.ndim + 1):
        finer = tuple(range(num_parts, count.ndim))
        mean = (total.sum(axis=finer) + _PRIOR * mean[..., None]) / (count.sum(axis=finer) + _PRIOR)
    return mean


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
        own = piece(observation, "own_card").argmax(axis=1)
        gain_by_rank = np.bincount(own, gain, num_ranks)
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
