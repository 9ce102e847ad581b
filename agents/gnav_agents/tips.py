"""`tips`: the advice that texts of the rules give to people, as far as it can be followed to the letter.

The international description of Gnav: keep a matador and IX to XII, get rid of 0 to III and of what is lower
still, and between the two look at what is known. The bands are measured by strength, so that they mean
something for any pack.
"""

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, known_ranks, settled_and_behind
from gnav_env.compiled import MAX_RANKS
from gnav_env.observation import piece
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND

__all__ = ["Tips"]

_HIGH = 12 / 16
"""IX: twelve of the sixteen plain ranks of Gnav are lower, and from here on a card is kept."""
_LOW = 7 / 16
"""IV: seven are lower, and below this a card is given away."""
_MOST = 0.5
"""The share of the unseen cards that must be lower for a card between the bands to be kept."""
_ENOUGH = 0.5
"""The chance of a lower card in some hand behind with which it is kept as well."""


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
        plain = [rank for rank in rules.ranks if rank not in rules.matadors]
        num_plain = sum(rules.deck[rank] for rank in plain)
        self._is_high = np.ones(MAX_RANKS, np.bool_)
        self._is_low = np.zeros(MAX_RANKS, np.bool_)
        num_lower = 0
        for rank in plain:
            number = rules.rank_numbers[rank]
            self._is_high[number] = num_lower >= _HIGH * num_plain
            self._is_low[number] = num_lower < _LOW * num_plain
            num_lower += rules.deck[rank]
        self._num_ranks = len(rules.ranks)
        self._is_matador = rules.compiled["matador"][0] != 0
        self._is_special = rules.compiled["special"][0] != 0
        self._spares = rules.compiled["special_spares"][0] != 0  # [rank, holders - 1]

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the advised action, or for the other where that is illegal."""
        own = piece(observation, "own_card").argmax(axis=1)
        settled, behind = settled_and_behind(observation)
        known = known_ranks(observation, self._num_ranks)
        is_known = (known >= 0) & (settled | behind)
        is_lower = is_known & (known < own[:, None]) & ~self._is_special[known]

        rows, next_slot = np.arange(len(own)), behind.argmax(axis=1)
        knows_next = is_known[rows, next_slot] & behind[rows, next_slot]
        next_rank = known[rows, next_slot]
        next_is_better = knows_next & (next_rank > own) & ~self._is_matador[next_rank]

        chance_lower = piece(observation, "chance_lower")[:, 0]
        chance_behind = 1 - (1 - chance_lower) ** behind.sum(axis=1)
        choices = [
            (self._is_matador[own], STAND),
            ((is_lower & settled).any(axis=1), STAND),
            (self._others_lose(own, known, is_known), STAND),
            (knows_next & ~next_is_better, STAND),
            (next_is_better & ~is_lower.any(axis=1), EXCHANGE),
            (self._is_high[own], STAND),
            (self._is_low[own], EXCHANGE),
            ((chance_lower >= _MOST) | (chance_behind >= _ENOUGH), STAND),
        ]
        conditions, actions = zip(*choices, strict=True)
        return certain(np.select(conditions, actions, EXCHANGE), action_mask)

    def _others_lose(
        self, own: NDArray[np.int64], known: NDArray[np.int64], is_known: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Where so many of a special rank are known elsewhere that only their holders will lose, [B]."""
        others_lose = np.zeros(len(own), np.bool_)
        for rank in np.flatnonzero(self._is_special):
            num = (is_known & (known == rank)).sum(axis=1)
            row = np.minimum(num, self._spares.shape[1]) - 1
            others_lose |= (num > 0) & (own != rank) & self._spares[rank, row]
        return others_lose
