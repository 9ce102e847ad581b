"""`rollout:N`: both actions played to the end of the deal on N deals that agree with what the seat knows.

belief.py reads the view and draws the cards that the seat does not know; the engine's kernels play on. The others are
threshold players around the level that does best in such company, as they are when what they did is weighed. What is
gained is counted in lives: one's own, less the average of the others', since a match is won by outliving them.

Both actions meet the same cards and the same opponents. Luck is keyed by the view: the same view, the same action.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, is_playing
from gnav_agents.belief import BELIEF, choose, draw_cards, read_view
from gnav_agents.rebuilding import rank_kinds
from gnav_env._jit import kernel
from gnav_env.chance import below, random_key, shuffle
from gnav_env.compiled import MAX_SEATS
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed
from gnav_env.errors import GnavError
from gnav_env.observation import num_seats_of, piece
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND, TABLE, TURNS, hand_rank, net_lives

__all__ = ["Rollout", "others_level", "rollout"]

_MOST_SAMPLES = 100_000
_NUM_LEVEL_SAMPLES = 20_000
_UNKNOWN = -1


class Rollout(Policy):
    """EXCHANGE where it gains lives over STAND in the mean of `num_samples` sampled deals, otherwise STAND.

    Raises `GnavError` if `num_samples` is not 1 to 100,000.
    """

    def __init__(self, rules: Rules, num_samples: int) -> None:
        if not 1 <= num_samples <= _MOST_SAMPLES:
            raise GnavError(f"rollout: the number of deals must be 1 to {_MOST_SAMPLES}, not {num_samples}")
        self._rules, self._num_samples = rules, num_samples
        self._kinds = rank_kinds(rules)
        self._levels = np.full(MAX_SEATS + 1, _UNKNOWN)
        """The level of the others by seats with live cards; _UNKNOWN as long as nobody has asked."""

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the better action, or for the other where that is illegal."""
        gains = self.gains(observation, action_mask)
        return certain((gains > 0).astype(np.int64), action_mask)

    def gains(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """Lives that EXCHANGE gains over STAND in the mean of the sampled deals, [B]; 0 where one is illegal."""
        views = np.ascontiguousarray(observation, np.float32)
        num_seats = num_seats_of(views.shape[1])
        for num_live in np.unique((piece(views, "playing")[..., 0] > 0).sum(axis=1)).tolist():
            if self._levels[max(2, num_live)] == _UNKNOWN:
                self._levels[max(2, num_live)] = others_level(self._rules, max(2, num_live))
        gains = np.zeros(len(views))
        _gain_all(
            views,
            views.view(np.uint32),
            action_mask,
            num_seats,
            self._rules.compiled,
            self._kinds,
            self._levels,
            self._num_samples,
            np.zeros(2, TABLE),
            np.zeros(1, BELIEF),
            np.empty(views.shape[1], np.float32),
            gains,
        )
        return gains


def rollout(num_samples: str, rules: Rules) -> Rollout:
    """The agent that plays out `num_samples` deals a decision; `GnavError` if that is no number from 1 to 100,000."""
    if not (num_samples.isascii() and num_samples.isdigit()):
        raise GnavError(f"rollout: the number of deals must be 1 to {_MOST_SAMPLES}, not {num_samples!r}")
    return Rollout(rules, int(num_samples))


@cache
def others_level(rules: Rules, num_seats: int) -> int:
    """The number of the rank below which the others exchange: a threshold that is the best reply to itself.

    Three times the best threshold against the last one. Pagat: VI at two seats, III at six, the 0 at twenty.
    """
    level = len(rules.ranks) // 3
    for _ in range(3):
        gains = np.zeros(len(rules.ranks))
        _gain_by_rank(rules.compiled, num_seats, level, _NUM_LEVEL_SAMPLES, np.zeros(2, TABLE), gains)
        level = int(np.argmax(np.append(0, np.cumsum(gains))))
    return level


@kernel
def _gain_by_rank(rules: Any, num_seats: int, level: int, num_samples: int, tables: Any, gains: Any) -> None:
    """Add to gains [ranks] what EXCHANGE gains over STAND for seat 0 with each rank, among others of `level`."""
    t, r = tables[0], rules[0]
    for sample in range(num_samples):
        key = random_key(0, sample)
        begin_match(t, r, num_seats, below(random_key(key, MAX_SEATS), num_seats))
        shuffle(t.deck, r, key, 0, cards_needed(t, r))
        begin_deal(t, r)
        for _ in range(num_seats):
            if t.to_act <= 0:
                break
            act(t, r, choose(t, r, key, level))
        if t.to_act == 0 and can_stand(t, r) and can_exchange(t, r):
            gain = _play_on(tables, r, key, EXCHANGE, level) - _play_on(tables, r, key, STAND, level)
            gains[hand_rank(t, 0)] += gain


@kernel
def _gain_all(
    views: Any,
    bits: Any,
    action_mask: Any,
    num_seats: int,
    rules: Any,
    kinds: Any,
    levels: Any,
    num_samples: int,
    tables: Any,
    beliefs: Any,
    scratch: Any,
    gains: Any,
) -> None:
    """Write into gains [B] what EXCHANGE gains in the mean where both actions are legal.

    bits uint32 [B, F] are the same bytes as views [B, F].
    """
    r, b = rules[0], beliefs[0]
    for row in range(gains.size):
        if action_mask[row, STAND] and action_mask[row, EXCHANGE]:
            level: Any = np.int64(levels[_num_live(views[row], num_seats)])
            if read_view(views[row], num_seats, r, kinds, level, tables, b, scratch):
                gains[row] = _gain(r, _key(bits[row]), level, num_samples, tables, b)


@kernel
def _num_live(view: Any, num_seats: int) -> int:
    """Seats with live cards, at least 2."""
    num = 0
    for slot in range(num_seats):
        num += is_playing(view, slot)
    return max(2, num)


@kernel
def _key(bits: Any) -> Any:
    """A key made of all `bits`, uint32 [F]."""
    key = np.uint64(0)
    for feature in range(bits.size):
        key = random_key(key, bits[feature])
    return key


@kernel
def _gain(r: Any, key: Any, level: int, num_samples: int, tables: Any, b: Any) -> float:
    """What EXCHANGE gains over STAND for seat 0 of tables[0], in the mean of samples of the hidden cards in `b`."""
    all_counts, all_gains = 0.0, 0.0
    for sample in range(num_samples):
        sample_key = random_key(key, sample)
        counts = draw_cards(b, r, random_key(sample_key, MAX_SEATS), tables[0].deck)
        if counts > 0:
            all_counts += counts
            exchanging = _play_on(tables, r, sample_key, EXCHANGE, level)
            all_gains += counts * (exchanging - _play_on(tables, r, sample_key, STAND, level))
    return all_gains / all_counts if all_counts > 0 else 0.0


@kernel
def _play_on(tables: Any, r: Any, key: Any, action: int, level: int) -> float:
    """Lives that seat 0 of tables[0] wins and loses by `action`, less the average of the others' that are in the deal.

    tables[1] plays; the others' luck is in `key`.
    """
    tables[1] = tables[0]
    t = tables[1]
    num_seats = np.int64(t.num_seats)
    act(t, r, action)
    for _ in range(num_seats):
        if t.phase != TURNS:
            break
        act(t, r, choose(t, r, key, level))
    num_others, others = 0, 0
    for seat in range(1, num_seats):
        if t.seats[seat].hand >= 0:
            others += net_lives(t, seat)
            num_others += 1
    return net_lives(t, 0) - others / max(1, num_others)
