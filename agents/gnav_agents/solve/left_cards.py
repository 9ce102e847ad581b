"""What the kernels of a sweep keep in mind at an edge: which cards are left, who holds the lowest in the hands."""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_agents.solve.layout import MAX_OPEN, MAX_SWEPT_SEATS
from gnav_agents.solve.settled import NO_RANK
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_RANKS

__all__ = ["WORK", "count_ending", "count_left", "join_card", "lowest", "put_back", "take"]

MAX_HANDS = MAX_RANKS + 2
"""Ways in which the last seat's turn can end a deal: it stood, it took a card, each other rank."""

WORK = np.dtype(
    (
        np.record,
        [
            ("left", np.int64, (MAX_RANKS,)),  # by rank: cards that are neither settled nor open nor public
            ("below", np.int64, (MAX_RANKS + 1,)),  # those of lower ranks that could be taken from the stock
            ("num_ending", np.int64),  # those that end a challenge behind the dealer
            ("per_card", np.float64, (2,)),  # 1 / them; 1 / them if the new card is one
            ("lows", np.int64, (MAX_HANDS,)),  # by number of the hands: the lowest rank in them, but for a new card
            ("masks", np.int64, (MAX_HANDS,)),  # ... and the seats that hold it, a set of bits
            ("joined", np.int64, (MAX_HANDS,)),  # ... and the same with the new card
            # of a family
            ("total", np.float64),  # its reach
            ("num", np.float64, (MAX_RANKS,)),  # ... times the cards left of each rank
            ("worth", np.float64, (MAX_SWEPT_SEATS,)),  # what it is worth to each seat
            ("each", np.float64, (MAX_RANKS, MAX_SWEPT_SEATS)),  # ... for each card by which there are fewer of a rank
        ],
    )
)
"""What kernels keep in mind while they go through an edge. A record, since arrays in a tuple are slow to reach."""


@kernel
def count_left(deck: Any, used: Any, ranks: Any, node: Any, summary: int, work: Any) -> None:
    """`work.left` has the cards that are neither settled nor public."""
    for rank in range(used.shape[1]):
        work.left[rank] = deck.copies[rank] - used[summary, rank] - ranks[node.public_at + rank]


@kernel
def take(work: Any, ranks: Any, at: int, num: int) -> int:
    """The cards `ranks` [at, at + num) are not left any more. In how many ways that can happen one after the other."""
    ways = 1
    for i in range(at, at + num):
        if ranks[i] < 0:
            break
        ways *= max(0, work.left[ranks[i]])
        work.left[ranks[i]] -= 1
    return ways


@kernel
def put_back(work: Any, ranks: Any, at: int, num: int) -> None:
    """They are again."""
    for i in range(at, at + num):
        if ranks[i] < 0:
            break
        work.left[ranks[i]] += 1


@kernel
def lowest(hands: Any, low_settled: int, holders: int, ranks: Any, at: int) -> tuple[int, int]:
    """The lowest rank in the hands, but for a new card, and the seats that hold it, a set of bits.

    The settled cards are told by their lowest rank and its holders.
    """
    low, mask = np.int64(hands.low), np.int64(hands.mask)
    if low_settled <= low and low_settled != NO_RANK:
        if low_settled < low:
            mask = np.int64(0)
        low = low_settled
        card = 0
        while holders:
            if holders & 1:
                mask |= hands.settled_bits[card]
            holders >>= 1
            card += 1
    for place in range(MAX_OPEN):
        bit = np.int64(hands.open_bits[place])
        if bit:
            low, mask = join_card(low, mask, np.int64(ranks[at + place]), bit)
    return low, mask


@kernel
def join_card(low: int, mask: int, rank: int, bit: int) -> tuple[int, int]:
    """The lowest rank and its holders when the seat `bit` holds a card of `rank`; nobody does if `bit` is 0."""
    if bit == 0 or rank > low:
        return low, mask
    return rank, bit if rank < low else mask | bit


@kernel
def count_ending(deck: Any, num_ranks: int, work: Any) -> None:
    """`work.num_ending` has the cards left that end a challenge behind the dealer."""
    work.num_ending = 0
    for rank in range(num_ranks):
        work.num_ending += work.left[rank] * deck.ends_challenge[rank]
