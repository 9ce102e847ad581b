"""The rules of play, once: kernels that read and change one table record. Batch loops stand at the end.

A card in play is its position in the deck. Position s was dealt to seat s, the stock begins at position num_seats, and a
seat's hand is the position it holds. Trades move positions and are public, so everybody can follow where a position is;
only its rank is private. An undo of all trades hands every seat its own number back.

A match runs through phases: BETWEEN (a deck is wanted) -> `begin_deal` -> TURNS -> `act` ... -> BETWEEN or OVER. Chance
enters only through the order of the deck, which chance.py or the caller has written into the record before.
Kernels trust their arguments: Table and the environments check at the door.
"""

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.rules import (
    FINES,
    MAX_CARDS,
    MAX_SEATS,
    REDIRECTS,
    SPECIAL_ROWS,
    STOPS,
    TO_HOLDER,
    TO_POOL,
    UNDOES,
)

__all__ = [
    "BETWEEN",
    "DREW",
    "EXCHANGE",
    "FAILED",
    "NOBODY",
    "NOT_ACTED",
    "NUM_ACTIONS",
    "OVER",
    "REFUSED",
    "STAND",
    "STOCK",
    "STOOD",
    "TABLE",
    "TRADED",
    "TURNS",
    "act",
    "begin_deal",
    "begin_match",
    "can_exchange",
    "can_stand",
    "cards_needed",
    "hand_rank",
    "num_winners",
]

STAND, EXCHANGE = 0, 1
NUM_ACTIONS = 2

BETWEEN, TURNS, OVER = 0, 1, 2
"""Phases: a deck is wanted, a seat is to act, the match has ended."""

NOT_ACTED, STOOD, TRADED, DREW, REFUSED, FAILED = 0, 1, 2, 3, 4, 5
"""How a seat's turn went; FAILED: the challenge found no card."""

NOBODY, STOCK = -1, -2
"""Instead of a seat: none, and the stock."""

_SEATS, _CARDS = (MAX_SEATS,), (MAX_CARDS,)

TABLE = np.dtype(
    (
        np.record,
        [
            # the match
            ("shoe", np.uint64),  # key of the match's decks in chance.py
            ("match", np.int64),  # number of the match under its seed
            ("deals", np.int32),  # deals begun
            ("num_seats", np.int8),
            ("dealer", np.int8),
            ("phase", np.int8),
            ("pool", np.int16),
            ("lives", np.int16, _SEATS),
            ("place", np.int8, _SEATS),  # 0 while in the match; seats that fall together share the best place
            ("sits_out", np.int8, _SEATS),  # in BETWEEN: misses the coming deal
            # the deal; stays to be looked at until the next one begins
            ("to_act", np.int8),  # the seat to act, or NOBODY
            ("drawn", np.int8),  # cards turned from the stock
            ("undone", np.int8),  # times that the trades were undone
            ("stopped", np.int8),  # 1: a card ended the turns
            ("deck", np.int8, _CARDS),  # rank by position
            ("face_up", np.int8, _CARDS),  # by position: 1 if its face is public
            ("moved", np.int8, _CARDS),  # by position: 1 if it has been traded or drawn in this deal, undone or not
            ("hand", np.int8, _SEATS),  # position held; NOBODY: not in this deal
            ("turn", np.int8, _SEATS),  # NOT_ACTED ... FAILED
            ("asked", np.int8, _SEATS),  # by challenger: the seat whose card ended the challenge, or STOCK, NOBODY
            ("gave", np.int8, _SEATS),  # by challenger who traded or drew: position given, NOBODY without
            ("got", np.int8, _SEATS),  # ... and position taken
            ("answers", np.int8, _SEATS),  # effect bits with which the seat's cards have answered
            ("revealed", np.int8, _SEATS),  # 1 + the rank with which the seat last answered, 0 if none or not spoken
            ("knocked", np.int8, _SEATS),
            ("fined", np.int16, _SEATS),  # lives paid in fines in this deal
            ("lost", np.int16, _SEATS),  # lives paid in all in this deal
            ("gained", np.int16, _SEATS),  # lives received from fines in this deal
            ("loser", np.int8, _SEATS),  # 1: lost at the showdown
        ],
    )
)
"""The whole state of a match. int8 holds seats (below 40), positions (below 84) and flags."""


@kernel
def cards_needed(t: Any, r: Any) -> int:
    """The most cards that a deal can look at: one a seat, and what challenges can turn from the stock.

    Each challenge behind the dealer ends at one card and passes redirecting ones; for it to come from further off, as
    many redirecting cards are in hands, so not in the stock: redirecting cards + 1 in all.
    """
    return min(np.int64(t.num_seats) + r.num_redirecting + 1, np.int64(r.num_cards))


@kernel
def begin_match(t: Any, r: Any, num_seats: int, dealer: int) -> None:
    """A new match of `num_seats` full seats is between deals; `dealer` deals first. The shoe is left as it is."""
    t.deals = 0
    t.num_seats = num_seats
    t.dealer = dealer
    t.phase = BETWEEN
    t.pool = 0
    t.to_act = NOBODY
    t.drawn = 0
    t.undone = 0
    t.stopped = 0
    for position in range(r.num_cards):
        t.face_up[position] = 0
        t.moved[position] = 0
    for seat in range(num_seats):
        t.lives[seat] = r.lives
        t.place[seat] = 0
        t.sits_out[seat] = 0
        _clear_seat(t, seat)


@kernel
def _clear_seat(t: Any, seat: int) -> None:
    t.hand[seat] = NOBODY
    t.turn[seat] = NOT_ACTED
    t.asked[seat] = NOBODY
    t.gave[seat] = NOBODY
    t.got[seat] = NOBODY
    t.answers[seat] = 0
    t.revealed[seat] = 0
    t.knocked[seat] = 0
    t.fined[seat] = 0
    t.lost[seat] = 0
    t.gained[seat] = 0
    t.loser[seat] = 0


@kernel
def begin_deal(t: Any, r: Any) -> None:
    """Cards are out from `t.deck`, dealt special ranks have knocked, and the eldest is to act."""
    num_seats = np.int64(t.num_seats)
    if t.deals > 0:
        dealer = np.int64(t.dealer)
        for _ in range(num_seats):
            dealer += 1
            if dealer == num_seats:
                dealer = 0
            if t.lives[dealer] > 0 and t.sits_out[dealer] == 0:
                break
        t.dealer = dealer
    t.deals += 1
    for position in range(num_seats + t.drawn):  # the cards that the last deal used
        t.face_up[position] = 0
        t.moved[position] = 0
    t.phase = TURNS
    t.drawn = 0
    t.undone = 0
    t.stopped = 0
    for seat in range(num_seats):
        _clear_seat(t, seat)
        if t.lives[seat] > 0 and t.sits_out[seat] == 0:
            t.hand[seat] = seat
            if r.knocks and r.special[t.deck[seat]]:
                t.knocked[seat] = 1
                t.face_up[seat] = r.knock_tells
        t.sits_out[seat] = 0
    t.to_act = _next_seat(t, np.int64(t.dealer))


@kernel
def hand_rank(t: Any, seat: int) -> int:
    """The rank of the card that `seat` holds."""
    return np.int64(t.deck[t.hand[seat]])


@kernel
def _next_seat(t: Any, seat: int) -> int:
    """The next seat of this deal after `seat`, clockwise."""
    num_seats = np.int64(t.num_seats)
    for _ in range(num_seats):
        seat += 1
        if seat == num_seats:
            seat = 0
        if t.hand[seat] >= 0:
            break
    return seat


@kernel
def _advance(t: Any, r: Any) -> None:
    """The next seat that has a turn is to act; behind the dealer `to_act` is NOBODY."""
    seat = np.int64(t.to_act)
    for _ in range(np.int64(t.num_seats)):
        if seat == t.dealer:
            break
        seat = _next_seat(t, seat)
        if t.lives[seat] > 0 and t.turn[seat] == NOT_ACTED and not (r.skips and t.answers[seat]):
            t.to_act = seat
            return
    t.to_act = NOBODY


@kernel
def can_exchange(t: Any, r: Any) -> bool:
    """True if the seat to act may choose EXCHANGE: there is a card to ask for, and its own may be offered."""
    seat = np.int64(t.to_act)
    if seat == t.dealer and t.num_seats + t.drawn >= r.num_cards:
        return False
    return not (r.matador_stays and r.matador[hand_rank(t, seat)])


@kernel
def can_stand(t: Any, r: Any) -> bool:
    """True if the seat to act may choose STAND; where that takes a matador it is waived if EXCHANGE is impossible."""
    if not r.stand_needs_matador or r.matador[hand_rank(t, np.int64(t.to_act))]:
        return True
    return not can_exchange(t, r)


@kernel
def act(t: Any, r: Any, action: int) -> None:
    """The seat to act has chosen `action`, and all that follows has happened, up to the next choice or deck."""
    seat = np.int64(t.to_act)
    if action == STAND:
        t.turn[seat] = STOOD
    else:
        _exchange(t, r, seat)
    if t.phase == TURNS:
        if t.stopped:
            t.to_act = NOBODY
        else:
            _advance(t, r)
        if t.to_act == NOBODY:
            _showdown(t, r)


@kernel
def _exchange(t: Any, r: Any, challenger: int) -> None:
    """`challenger` asks the next seat, and whom it is sent on to, for a card."""
    seat = challenger
    for _ in range(np.int64(t.num_seats)):
        if seat == t.dealer:
            break
        seat = _next_seat(t, seat)
        rank = hand_rank(t, seat)
        effect = np.int64(r.asked[rank])
        if effect == 0:
            t.turn[challenger] = TRADED
            t.asked[challenger] = seat
            _trade(t, challenger, np.int64(t.hand[seat]))
            t.hand[seat] = t.gave[challenger]
            return
        t.answers[seat] |= effect
        if r.spoken:
            t.revealed[seat] = rank + 1
            t.face_up[t.hand[seat]] = 1
        if effect != REDIRECTS:
            _answer(t, r, challenger, seat, effect, np.int64(r.asked_fine[rank]))
            return
    t.asked[challenger] = STOCK
    for _ in range(np.int64(r.num_cards)):
        position = np.int64(t.num_seats) + t.drawn
        if position >= r.num_cards:
            break
        t.drawn += 1
        rank = np.int64(t.deck[position])
        effect = np.int64(r.turned[rank])
        if effect == 0:
            t.turn[challenger] = DREW
            _trade(t, challenger, position)
            return
        t.face_up[position] = 1
        if effect != REDIRECTS:
            _answer(t, r, challenger, STOCK, effect, np.int64(r.turned_fine[rank]))
            return
    t.turn[challenger] = FAILED


@kernel
def _trade(t: Any, challenger: int, position: int) -> None:
    """`challenger` holds the card at `position`; what it gave and got is written down."""
    t.gave[challenger] = t.hand[challenger]
    t.got[challenger] = position
    t.moved[t.hand[challenger]] = 1
    t.moved[position] = 1
    t.hand[challenger] = position


@kernel
def _answer(t: Any, r: Any, challenger: int, holder: int, effect: int, fine: int) -> None:
    """A card of `holder` (a seat or STOCK) has refused, with all that it does besides."""
    t.turn[challenger] = REFUSED
    t.asked[challenger] = holder
    if effect & UNDOES:
        t.undone += 1
        for seat in range(np.int64(t.num_seats)):
            if t.hand[seat] >= 0:
                t.hand[seat] = seat
    if effect & STOPS:
        t.stopped = 1
    if effect & FINES:
        _fine(t, r, challenger, holder, fine)


@kernel
def _fine(t: Any, r: Any, payer: int, holder: int, amount: int) -> None:
    """`payer` has paid a fine, as far as it can; if that leaves one seat in the match, the match is over."""
    paid = min(amount, np.int64(t.lives[payer]))
    t.lives[payer] -= paid
    t.fined[payer] += paid
    t.lost[payer] += paid
    if r.fine_to == TO_HOLDER and holder >= 0:
        t.lives[holder] += paid
        t.gained[holder] += paid
    elif r.fine_to == TO_POOL or r.fine_to == TO_HOLDER:
        t.pool += paid
    if t.lives[payer] == 0:
        num_left = _num_left(t)
        t.place[payer] = num_left + 1
        if num_left == 1:
            _end_match(t)


@kernel
def _num_left(t: Any) -> int:
    """Seats with lives."""
    num_left = 0
    for seat in range(np.int64(t.num_seats)):
        if t.lives[seat] > 0:
            num_left += 1
    return num_left


@kernel
def _end_match(t: Any) -> None:
    """The match is over, the seats still in it are placed by their lives."""
    t.phase = OVER
    t.to_act = NOBODY
    for seat in range(np.int64(t.num_seats)):
        if t.lives[seat] > 0:
            place = 1
            for other in range(np.int64(t.num_seats)):
                if t.lives[other] > t.lives[seat]:
                    place += 1
            t.place[seat] = place


@kernel
def _showdown(t: Any, r: Any) -> None:
    """All live cards are compared, losers have paid, and the match goes on or is over."""
    num_seats = np.int64(t.num_seats)
    t.phase = BETWEEN
    _find_losers(t, r)
    num_fallen = 0
    for seat in range(num_seats):
        if t.loser[seat]:
            paid = min(np.int64(r.loss[hand_rank(t, seat)]), np.int64(t.lives[seat]))
            t.lives[seat] -= paid
            t.lost[seat] += paid
            if r.loss_to == TO_POOL:
                t.pool += paid
            if t.lives[seat] == 0:
                num_fallen += 1
    num_left = _num_left(t)
    is_last_deal = r.num_deals > 0 and t.deals >= r.num_deals
    plays_off = num_left == 0 and r.play_off and not is_last_deal
    for seat in range(num_seats):
        if t.loser[seat] and t.lives[seat] == 0:
            if plays_off:
                t.lives[seat] = 1
                t.pool = max(0, t.pool - 1)
            else:
                t.place[seat] = num_left + 1
    if plays_off:
        num_left = num_fallen
    if num_left <= 1 or is_last_deal:
        _end_match(t)
        return
    num_playing = num_left
    for seat in range(num_seats):
        if t.sits_out[seat] and t.lives[seat] > 0:
            num_playing -= 1
    for seat in range(num_seats):
        if num_playing < 2 or t.lives[seat] == 0:
            t.sits_out[seat] = 0


@kernel
def _find_losers(t: Any, r: Any) -> None:
    """`t.loser` marks who loses this showdown, `t.sits_out` who would miss the next deal; live faces are public."""
    num_seats = np.int64(t.num_seats)
    others_lose = True
    lowest = np.int64(r.num_ranks)
    for seat in range(num_seats):
        if t.hand[seat] < 0 or t.lives[seat] == 0:
            continue
        t.face_up[t.hand[seat]] = 1
        rank = hand_rank(t, seat)
        if not r.special[rank]:
            lowest = min(lowest, rank)
            continue
        row = min(_num_live(t, rank), SPECIAL_ROWS) - 1
        if r.special_loses[rank, row]:
            t.loser[seat] = 1
        else:
            lowest = min(lowest, rank)
        if r.special_spares[rank, row]:
            others_lose = False
        if r.special_sits_out[rank, row]:
            t.sits_out[seat] = 1
    for seat in range(num_seats):
        if others_lose and t.hand[seat] >= 0 and t.lives[seat] > 0 and not t.loser[seat]:
            if hand_rank(t, seat) == lowest:
                t.loser[seat] = 1


@kernel
def _num_live(t: Any, rank: int) -> int:
    """Live seats of this deal that hold `rank`."""
    num = 0
    for seat in range(np.int64(t.num_seats)):
        if t.hand[seat] >= 0 and t.lives[seat] > 0 and hand_rank(t, seat) == rank:
            num += 1
    return num


@kernel
def num_winners(t: Any) -> int:
    """Seats that share the first place; 0 while the match goes on."""
    num = 0
    for seat in range(np.int64(t.num_seats)):
        if t.place[seat] == 1:
            num += 1
    return num
