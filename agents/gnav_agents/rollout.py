"""`rollout:N`: both actions played to the end of the deal on N deals that agree with what the seat knows.

belief.py reads the view and draws the cards that the seat does not know; the engine's kernels play on. The others are
those of opponents.py, as they are when what they did is weighed. What is gained is counted in lives: one's own, less
the average of the others', since a match is won by outliving them.

Both actions meet the same cards and the same opponents. Luck is keyed by the view: the same view, the same action.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, is_playing
from gnav_agents.belief import BELIEF, draw_cards, read_view
from gnav_agents.opponents import opponent_action, opponent_level
from gnav_agents.rebuilding import rank_kinds
from gnav_env._jit import kernel
from gnav_env.chance import random_key
from gnav_env.compiled import MAX_SEATS
from gnav_env.engine import act
from gnav_env.errors import GnavError
from gnav_env.observation import num_seats_of, piece
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND, TABLE, TURNS, net_lives

__all__ = ["Rollout", "rollout"]

_MOST_SAMPLES = 100_000
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
                self._levels[max(2, num_live)] = opponent_level(self._rules, max(2, num_live))
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
        act(t, r, opponent_action(t, r, key, np.int64(t.to_act), level))
    num_others, others = 0, 0
    for seat in range(1, num_seats):
        if t.seats[seat].hand >= 0:
            others += net_lives(t, seat)
            num_others += 1
    return net_lives(t, 0) - others / max(1, num_others)
