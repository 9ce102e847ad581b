"""The whole state of a match as one record, and the small questions that one asks of it.

A card in play is its position in the deck. Position s was dealt to seat s, the stock begins at position num_seats,
and a seat's hand is the position it holds. Trades move positions and are public, so everybody can follow where a
position is; only its rank is private. An undo of all trades hands every seat its own number back. engine.py and
showdown.py change the record; the rules stand there.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.compiled import COMPARED, MAX_CARDS, MAX_RANKS, MAX_SEATS

__all__ = [
    "AS_LOWEST",
    "AS_SPECIAL",
    "BETWEEN",
    "DREW",
    "EXCHANGE",
    "FAILED",
    "NOBODY",
    "NOT_ACTED",
    "NUM_ACTIONS",
    "OVER",
    "REFUSED",
    "SEAT",
    "STAND",
    "STOCK",
    "STOOD",
    "TABLE",
    "TRADED",
    "TURNS",
    "beside",
    "hand_rank",
    "holds",
    "is_live",
    "mark",
    "neighbour",
    "net_lives",
    "num_left",
    "plays",
]

STAND, EXCHANGE = 0, 1
NUM_ACTIONS = 2

BETWEEN, TURNS, OVER = 0, 1, 2
"""Phases: a deal is wanted, a seat is to act, the match has ended."""

NOT_ACTED, STOOD, TRADED, DREW, REFUSED, FAILED = 0, 1, 2, 3, 4, 5
"""How a seat's turn went; FAILED: the challenge found no card."""

AS_LOWEST, AS_SPECIAL = 1, 2
"""Why a card lost at the showdown: it was the lowest, or of a special rank that loses by itself."""

NOBODY, STOCK = -1, -2
"""Instead of a seat: none, and the stock."""

SEAT = np.dtype(
    (
        np.record,
        [
            ("lives", np.int16),
            ("place", np.int8),  # 0 while in the match; seats that fall together share the best place
            ("sits_out", np.int8),  # in BETWEEN: misses the coming deal
            # the deal
            ("fined", np.int16),  # lives paid in fines
            ("lost", np.int16),  # lives paid in all
            ("gained", np.int16),  # lives received from fines
            ("bonus", np.int8),  # lives won at the showdown
            ("hand", np.int8),  # position held; NOBODY: not in this deal
            ("turn", np.int8),  # NOT_ACTED ... FAILED
            ("asked", np.int8),  # of a challenger: the seat whose card ended the challenge, or STOCK, NOBODY
            ("gave", np.int8),  # of a challenger whose trade or draw stands: position given, else NOBODY
            ("got", np.int8),  # ... and position taken
            ("answers", np.int8),  # REDIRECTS and REFUSES, if the seat's cards have done so
            ("revealed", np.int8),  # 1 + the rank with which the seat last answered, 0 if none or not spoken
            ("knocked", np.int8),
            ("height", np.int8),  # after a showdown: as what its card was compared, in half ranks, or NOT_COMPARED
            ("loser", np.int8),  # lost at the showdown: AS_LOWEST or AS_SPECIAL, otherwise 0
            ("seen", np.int64, (2,)),  # positions whose faces the seat has seen, a set of bits (see `holds`)
        ],
    )
)
"""What a table keeps of each seat. Side by side, since a deal looks at all of a seat at once."""

TABLE = np.dtype(
    (
        np.record,
        [
            ("shoe", np.uint64),  # key of the match's decks in chance.py
            ("match", np.int64),  # number of the match under its seed
            ("deals", np.int32),  # deals begun
            ("stakes", np.int32),  # antes paid
            ("pool", np.int16),
            ("pool_stays", np.int8),  # 1: the last seats have fallen together, and the pool waits for the next match
            ("num_seats", np.int8),
            ("dealer", np.int8),
            ("phase", np.int8),
            # the deal; stays to be looked at until the next one begins
            ("to_act", np.int8),  # the seat to act, or NOBODY
            ("drawn", np.int8),  # cards turned from the stock
            ("stock_end", np.int8),  # the stock's cards are at positions before this one
            ("undone", np.int8),  # times that trades were undone
            ("stopped", np.int8),  # 1: a card ended the turns
            ("face_up", np.int64, (2,)),  # positions whose faces are public, a set of bits
            ("exchanged", np.int64, (2,)),  # positions that have changed hands, undone or not, a set of bits
            ("deck", np.int8, (MAX_CARDS,)),  # rank by position
            ("seats", SEAT, (MAX_SEATS,)),
            # where deals go on from the rest of the deck
            ("gone", np.int8, (MAX_SEATS, MAX_RANKS)),  # by seat and rank: cards seen in deals since the shuffle
            ("antes", np.int32, (MAX_SEATS,)),  # paid by each seat
            ("fines", np.int16, (MAX_SEATS, MAX_RANKS)),  # by seat and rank: lives paid in this deal to cards that fine
        ],
    )
)
"""The whole state of a match. int8 holds seats, positions and flags."""


@kernel
def holds(bits: Any, position: int) -> bool:
    """True if `position` is in the set `bits`, int64 [2]: 42 positions in each."""
    return (bits[position // 42] >> (position % 42)) & 1 != 0


@kernel
def mark(bits: Any, position: int) -> None:
    """`position` is in the set `bits`, int64 [2]."""
    if position < 42:
        bits[0] |= np.int64(1) << position
    else:
        bits[1] |= np.int64(1) << (position - 42)


@kernel
def hand_rank(t: Any, seat: int) -> int:
    """The rank of the card that `seat` holds."""
    return np.int64(t.deck[t.seats[seat].hand])


@kernel
def is_live(t: Any, r: Any, seat: int) -> bool:
    """True if `seat` has a card in this deal that counts: it has lives, or fallen seats are compared all the same."""
    return t.seats[seat].hand >= 0 and (t.seats[seat].lives > 0 or r.mid_deal_out == COMPARED)


@kernel
def beside(t: Any, seat: int, step: int) -> int:
    """The next seat at the table from `seat`, clockwise for a `step` of 1, the other way round for -1."""
    num_seats = np.int64(t.num_seats)
    seat += step
    if seat == num_seats or seat < 0:
        seat -= step * num_seats
    return seat


@kernel
def plays(t: Any, seat: int) -> bool:
    """True if `seat` will have a card in the coming deal."""
    return t.seats[seat].lives > 0 and t.seats[seat].sits_out == 0


@kernel
def net_lives(t: Any, seat: int) -> int:
    """Lives that `seat` has won and lost in this deal."""
    return np.int64(t.seats[seat].gained) + np.int64(t.seats[seat].bonus) - np.int64(t.seats[seat].lost)


@kernel
def neighbour(t: Any, seat: int, step: int) -> int:
    """The next seat of this deal from `seat`; `step` as for `beside`."""
    for _ in range(np.int64(t.num_seats)):
        seat = beside(t, seat, step)
        if t.seats[seat].hand >= 0:
            break
    return seat


@kernel
def num_left(t: Any) -> int:
    """Seats with lives."""
    num = 0
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].lives > 0:
            num += 1
    return num
