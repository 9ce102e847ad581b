"""`threshold:RANK`: EXCHANGE a card ranked below RANK, keep any other; `stand` and `exchange` are extremes.

One number is the whole agent, and a well chosen one is hard to beat for who does not look around: the
yardstick for everything that claims to play. The best rank falls as seats are added (pagat: VI at two, IV or
V at six, I at twenty).
"""

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, certain, own_ranks
from gnav_env._yaml import nearest
from gnav_env.cards import Language, roman
from gnav_env.compiled import MAX_RANKS
from gnav_env.errors import GnavError
from gnav_env.rules import Rules

__all__ = ["Threshold", "exchange", "rank_number", "stand", "threshold"]


class Threshold(Policy):
    """EXCHANGE with a card whose number is below `level`, 0 being the lowest rank; STAND with any other."""

    def __init__(self, level: int) -> None:
        self.level = level

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the action of the threshold, or for the other where that is illegal."""
        return certain(own_ranks(observation) < self.level, action_mask)


def threshold(rank: str, rules: Rules) -> Threshold:
    """The agent that stands with `rank` and above; `GnavError` if the deck has no such rank."""
    return Threshold(rank_number(rank, rules))


def stand() -> Threshold:
    """The agent that stands wherever it may."""
    return Threshold(0)


def exchange() -> Threshold:
    """The agent that exchanges wherever it may."""
    return Threshold(MAX_RANKS)


def rank_number(rank: str, rules: Rules) -> int:
    """The number of `rank`, 0 the lowest: a key of the deck or a name that people use, in any case.

    Raises `GnavError` with the deck's ranks if it has none like that.
    """
    numbers: dict[str, int] = {}
    for number, key in enumerate(rules.ranks):
        figures = [roman(int(key))] if key.isdigit() else []
        for name in (key, *(rules.card_name(key, language) for language in get_args(Language)), *figures):
            numbers.setdefault(name.lower(), number)
    if rank.lower() not in numbers:
        raise GnavError(
            f"the deck of {rules.name} has no rank {rank!r}{nearest(rank.lower(), numbers)}; "
            f"its ranks are {', '.join(rules.card_name(key) for key in rules.deck)}"
        )
    return numbers[rank.lower()]
