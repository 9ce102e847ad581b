"""Settled cards, summed up: all that the rest of a deal can still ask of cards that nobody will look at any more.

The showdown asks who holds the lowest, the deck how many of each rank are gone. So the order of the cards does not
matter beyond the place of the lowest: the ranks in order and who holds the lowest are one summary, and there are some
twenty times fewer summaries of five cards than there are rows of five cards.

How a deal ends tells even fewer apart: a plain card that is not the lowest matters only as one that is gone. Summaries
that agree in all else are a family, and a family's numbers follow one another.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Summaries", "make_summaries"]

NO_RANK = 127
"""The lowest rank of no cards."""


@dataclass(frozen=True)
class Summaries:
    """All summaries of up to so many cards, numbered: those of m cards are `first[m]` to `first[m + 1]` - 1."""

    first: NDArray[np.int64]
    add: NDArray[np.int32]
    """[num, R]: the summary after a card of each rank is settled too, -1 where there is none."""
    used: NDArray[np.int8]
    """[num, R]: cards of each rank."""
    low: NDArray[np.int8]
    """[num]: the lowest rank, NO_RANK of no cards."""
    cards: NDArray[np.int8]
    """[num, num_cards]: the ranks in order, -1 behind the last."""
    first_family: NDArray[np.int64]
    """Families of m cards are `first_family[m]` to `first_family[m + 1]` - 1."""
    family: NDArray[np.int64]
    """[families + 1]: the first summary of each, and behind the last one of the last."""
    holds_low: NDArray[np.int16]
    """[num]: which of the cards, in the order in which they were settled, have the lowest rank: a set of bits."""


_Summary = tuple[tuple[int, ...], int]
"""The ranks in order, and who holds the lowest: a set of bits."""


def make_summaries(copies: Sequence[int], ranks: Sequence[int], num_cards: int, apart: Collection[int]) -> Summaries:
    """Summaries of up to `num_cards` cards of `ranks`; `copies` [R] says how many of each rank there are.

    In a family all have as many cards of each of the ranks that are `apart`.
    """
    num_ranks = len(copies)

    def family_of(summary: _Summary) -> _Summary:
        cards, holders = summary
        return tuple(rank for at, rank in enumerate(cards) if at == 0 or rank in apart or rank == cards[0]), holders

    levels: list[list[_Summary]] = [[((), 0)]]
    first = [0, 1]
    add: list[list[int]] = []
    for m in range(num_cards):
        added = [
            {rank: _joined(*summary, rank, m) for rank in ranks if summary[0].count(rank) < copies[rank]}
            for summary in levels[-1]
        ]
        following = sorted({key for row in added for key in row.values()}, key=lambda key: (family_of(key), key))
        numbers = {key: number for number, key in enumerate(following, start=first[-1])}
        add += [[numbers[row[rank]] if rank in row else -1 for rank in range(num_ranks)] for row in added]
        levels.append(following)
        first.append(first[-1] + len(following))
    add += [[-1] * num_ranks] * len(levels[-1])
    first_family, family = [0], list[int]()
    for begin, level in zip(first[:-1], levels, strict=True):
        families = [family_of(summary) for summary in level]
        family += [begin + at for at, one in enumerate(families) if at == 0 or one != families[at - 1]]
        first_family.append(len(family))
    keys = [key for level in levels for key in level]
    used = np.zeros((len(keys), num_ranks), np.int8)
    for number, (cards, _) in enumerate(keys):
        for rank in cards:
            used[number, rank] += 1
    return Summaries(
        first=np.array(first, np.int64),
        add=np.array(add, np.int32),
        used=used,
        low=np.array([cards[0] if cards else NO_RANK for cards, _ in keys], np.int8),
        cards=np.array([[*cards, *[-1] * (num_cards - len(cards))] for cards, _ in keys], np.int8).reshape(
            len(keys), num_cards
        ),
        first_family=np.array(first_family, np.int64),
        family=np.array([*family, first[-1]], np.int64),
        holds_low=np.array([holders for _, holders in keys], np.int16),
    )


def _joined(cards: tuple[int, ...], holders: int, rank: int, place: int) -> tuple[tuple[int, ...], int]:
    """Cards and holders of the lowest when one of `rank` is settled as number `place`."""
    if not cards or rank < cards[0]:
        holders = 1 << place
    elif rank == cards[0]:
        holders |= 1 << place
    return tuple(sorted((*cards, rank))), holders
