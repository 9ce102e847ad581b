"""`tips`: the advice that texts of the rules give to people, as far as it can be followed to the letter.

The international description of Gnav: keep a matador and IX to XII, get rid of 0 to III and of what is lower
still, and between the two look at what is known. The bands are measured by strength, so that they mean
something for any pack.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import (
    Masks,
    Observations,
    Policy,
    certain,
    dealer_slot,
    is_playing,
    known_rank,
    own_rank,
    place,
)
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_RANKS, SPECIAL_ROWS
from gnav_env.observation import num_seats_of
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND

__all__ = ["Tips"]

_HIGH_FROM = 12 / 16
"""IX: twelve of the sixteen plain ranks of Gnav are lower, and from here on a card is kept."""
_LOW_BELOW = 7 / 16
"""IV: seven are lower, and below this a card is given away."""
_MOST = 0.5
"""The share of the unseen cards that must be lower for a card between the bands to be kept."""
_ENOUGH = 0.5
"""The chance of a lower card in some hand behind with which it is kept as well."""

_LOW, _BETWEEN, _HIGH = 0, 1, 2
_CHANCE_LOWER = place("chance_lower")


class Tips(Policy):
    """What is known comes first, then the bands, then how many are still to act.

    1. A matador is kept. So is any card if a lower one is known to be settled before it, if the next seat is
       known to hold none that is better, or if special ranks (Fools) known elsewhere will be the only losers.
    2. If the next seat is known to hold a better card, and nobody a worse one than mine: EXCHANGE.
    3. High plain cards are kept, low ones given away.
    4. A card between is kept if most of what it could be exchanged for is worse, or if so many come behind
       that one of them probably holds a lower one.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._bands = _bands(rules)

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the advised action, or for the other where that is illegal."""
        advised = np.empty(len(observation), np.int64)
        _advise_all(observation, num_seats_of(observation.shape[1]), self._rules.compiled, self._bands, advised)
        return certain(advised, action_mask)


def _bands(rules: Rules) -> NDArray[np.int8]:
    """_LOW, _BETWEEN or _HIGH by rank, [MAX_RANKS]; ranks that are not plain are _HIGH."""
    plain = [rank for rank in rules.ranks if rank not in rules.matadors]
    num_plain = sum(rules.deck[rank] for rank in plain)
    bands = np.full(MAX_RANKS, _HIGH, np.int8)
    num_lower = 0
    for rank in plain:
        if num_lower < _LOW_BELOW * num_plain:
            bands[rules.rank_numbers[rank]] = _LOW
        elif num_lower < _HIGH_FROM * num_plain:
            bands[rules.rank_numbers[rank]] = _BETWEEN
        num_lower += rules.deck[rank]
    return bands


@kernel
def _advise_all(observation: Any, num_seats: int, rules: Any, bands: Any, advised: Any) -> None:
    for b in range(advised.size):
        advised[b] = _advise(observation[b], num_seats, rules[0], bands)


@kernel
def _advise(view: Any, num_seats: int, r: Any, bands: Any) -> int:
    """The action that the tips advise to the seat with this `view`; the numbers are those of `Tips`."""
    own, dealer = own_rank(view), dealer_slot(view, num_seats)
    knows_next, next_is_better = False, False
    knows_lower, lower_is_settled, others_lose = False, False, False
    num_behind = 0
    for slot in range(1, num_seats):
        if not is_playing(view, slot):
            continue
        is_behind = slot <= dealer
        num_behind += is_behind
        rank = known_rank(view, slot, r.num_ranks)
        if rank < 0:
            continue
        if is_behind and num_behind == 1:
            knows_next = True
            next_is_better = rank > own and r.matador[rank] == 0
        if r.special[rank]:
            others_lose |= rank != own and _loses_alone(view, num_seats, r, rank)
        elif rank < own:
            knows_lower = True
            lower_is_settled |= not is_behind

    if r.matador[own] or lower_is_settled or others_lose or (knows_next and not next_is_better):
        return STAND  # 1
    if next_is_better and not knows_lower:
        return EXCHANGE  # 2
    if bands[own] != _BETWEEN:
        return STAND if bands[own] == _HIGH else EXCHANGE  # 3
    chance_lower: Any = np.float64(view[_CHANCE_LOWER])
    chance_behind = 1 - (1 - chance_lower) ** num_behind
    return STAND if chance_lower >= _MOST or chance_behind >= _ENOUGH else EXCHANGE  # 4


@kernel
def _loses_alone(view: Any, num_seats: int, r: Any, rank: int) -> bool:
    """So many of the special `rank` are known elsewhere, one or more, that only their holders will lose."""
    num_holders = 0
    for slot in range(1, num_seats):
        num_holders += is_playing(view, slot) and known_rank(view, slot, r.num_ranks) == rank
    return r.special_spares[rank, min(num_holders, SPECIAL_ROWS) - 1] != 0
