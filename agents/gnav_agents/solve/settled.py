"""Settled cards, summed up: all that the rest of a deal can still ask of cards that nobody will look at any more.

The showdown asks who holds the lowest, the deck how many of each rank are gone. So the order of the cards does not
matter beyond the place of the lowest: the ranks in order and who holds the lowest are one summary, and there are some
twenty times fewer summaries of five cards than there are rows of five cards.
"""

from collections.abc import Sequence
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
    holds_low: NDArray[np.int16]
    """[num]: which of the cards, in the order in which they were settled, have the lowest rank: a set of bits."""


def make_summaries(copies: Sequence[int], ranks: Sequence[int], num_cards: int) -> Summaries:
    """Summaries of up to `num_cards` cards of `ranks`; `copies` [R] says how many of each rank there are."""
    num_ranks = len(copies)
    levels: list[dict[tuple[tuple[int, ...], int], int]] = [{((), 0): 0}]
    first = [0, 1]
    add: list[list[int]] = []
    for m in range(num_cards):
        following: dict[tuple[tuple[int, ...], int], int] = {}
        for cards, holders in levels[-1]:
            row = [-1] * num_ranks
            for rank in ranks:
                if cards.count(rank) < copies[rank]:
                    key = _joined(cards, holders, rank, m)
                    row[rank] = first[-1] + following.setdefault(key, len(following))
            add.append(row)
        levels.append(following)
        first.append(first[-1] + len(following))
    add += [[-1] * num_ranks] * len(levels[-1])
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
        holds_low=np.array([holders for _, holders in keys], np.int16),
    )


def _joined(cards: tuple[int, ...], holders: int, rank: int, place: int) -> tuple[tuple[int, ...], int]:
    """Cards and holders of the lowest when one of `rank` is settled as number `place`."""
    if not cards or rank < cards[0]:
        holders = 1 << place
    elif rank == cards[0]:
        holders |= 1 << place
    return tuple(sorted((*cards, rank))), holders
