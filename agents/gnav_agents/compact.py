"""`compact`: a rule of ten lines that a person can learn, read off the equilibria of tables of two to five.

In them a seat that has seen nothing exchanges below a rank that depends on how many are still to act behind it, hardly
on how many have acted; who has given away a lower card than the one it got stands, since that card will lose; and
nobody asks a seat that has knocked.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import (
    SLOT,
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
from gnav_env.observation import num_seats_of
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND

__all__ = ["BELOW", "Compact"]

BELOW = (7, 7, 6, 5, 5, 4, 4, 4, 3)
"""Plain ranks that are exchanged with none, one, two ... seats behind (the last: or more), of Gnav's fifteen.

Pagat: below V with none or one behind, IV with two, III with three or four, II with five to seven, then I.
"""
_OF = 15

_KNOCK = place("knock")


class Compact(Policy):
    """1. Who holds a special rank (a Fool) gives it away, if the next seat has not knocked.
    2. Nobody asks a seat that has knocked.
    3. If two or more special ranks are known elsewhere, they alone lose: STAND.
    4. If a seat before me holds a plain card lower than mine, the one that I gave away: STAND.
    5. Otherwise EXCHANGE what is below the rank for as many seats as come behind, and keep the rest.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._below = thresholds(rules)

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for what the rule says, or for the other where that is illegal."""
        chosen = np.empty(len(observation), np.int64)
        _choose_all(observation, num_seats_of(observation.shape[1]), self._rules.compiled, self._below, chosen)
        return certain(chosen, action_mask)


def thresholds(rules: Rules) -> NDArray[np.int64]:
    """The number of the rank below which a card is exchanged, by seats behind, int64 [len(BELOW)].

    In other packs than Gnav's as great a share of the plain ranks is exchanged.
    """
    special = rules.compiled[0].special
    plain = [
        n for n, rank in enumerate(rules.ranks) if rules.deck[rank] and rank not in rules.matadors and not special[n]
    ]
    return np.array([plain[round(num * len(plain) / _OF)] for num in BELOW], np.int64)


@kernel
def _choose_all(observation: Any, num_seats: int, rules: Any, below: Any, chosen: Any) -> None:
    for b in range(chosen.size):
        chosen[b] = _choose(observation[b], num_seats, rules[0], below)


@kernel
def _choose(view: Any, num_seats: int, r: Any, below: Any) -> int:
    """What the rule says to the seat with this `view`."""
    own, dealer = own_rank(view), dealer_slot(view, num_seats)
    num_behind, num_special = 0, 0
    next_knocked, lower_settled = False, False
    for slot in range(1, num_seats):
        if not is_playing(view, slot):
            continue
        rank = known_rank(view, slot, r.num_ranks)
        if rank >= 0 and r.special[rank]:
            num_special += 1
        if slot <= dealer:
            num_behind += 1
            if num_behind == 1:
                next_knocked = view[_KNOCK + SLOT * slot] > 0
        elif rank >= 0 and not r.special[rank] and rank < own:
            lower_settled = True
    if next_knocked:
        return STAND
    if r.special[own]:
        return EXCHANGE
    if num_special > 1 or lower_settled:
        return STAND
    return EXCHANGE if own < below[min(num_behind, below.size - 1)] else STAND
