"""The rules of play, once: kernels that read and change one table record. Batch loops stand at the end.

A card in play is its position in the deck. Position s was dealt to seat s, the stock begins at position num_seats,
and a seat's hand is the position it holds. Trades move positions and are public, so everybody can follow where a
position is; only its rank is private. An undo of all trades hands every seat its own number back.

A match runs through phases: BETWEEN (a deck is wanted) -> `begin_deal` -> TURNS -> `act` ... -> BETWEEN or OVER. Chance
enters only through the order of the deck, which chance.py or the caller has written into the record before.
Kernels trust their arguments: Table and the environments check at the door.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.effects import FINES, REDIRECTS, SPECIAL_ROWS, STOPS, UNDOES
from gnav_env.rules import MAX_CARDS, MAX_SEATS, TO_HOLDER, TO_POOL

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
    "SEAT",
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
    "holds",
]

STAND, EXCHANGE = 0, 1
NUM_ACTIONS = 2

BETWEEN, TURNS, OVER = 0, 1, 2
"""Phases: a deck is wanted, a seat is to act, the match has ended."""

NOT_ACTED, STOOD, TRADED, DREW, REFUSED, FAILED = 0, 1, 2, 3, 4, 5
"""How a seat's turn went; FAILED: the challenge found no card."""

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
            ("hand", np.int8),  # position held; NOBODY: not in this deal
            ("turn", np.int8),  # NOT_ACTED ... FAILED
            ("asked", np.int8),  # of a challenger: the seat whose card ended the challenge, or STOCK, NOBODY
            ("gave", np.int8),  # of a challenger who traded or drew: position given, NOBODY without
            ("got", np.int8),  # ... and position taken
            ("answers", np.int8),  # effect bits with which the seat's cards have answered
            ("revealed", np.int8),  # 1 + the rank with which the seat last answered, 0 if none or not spoken
            ("knocked", np.int8),
            ("loser", np.int8),  # 1: lost at the showdown
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
            ("pool", np.int16),
            ("num_seats", np.int8),
            ("dealer", np.int8),
            ("phase", np.int8),
            # the deal; stays to be looked at until the next one begins
            ("to_act", np.int8),  # the seat to act, or NOBODY
            ("drawn", np.int8),  # cards turned from the stock
            ("undone", np.int8),  # times that the trades were undone
            ("stopped", np.int8),  # 1: a card ended the turns
            ("face_up", np.int64, (2,)),  # positions whose faces are public, a set of bits
            (
                "moved",
                np.int64,
                (2,),
            ),  # positions that have been traded or drawn, undone or not, a set of bits
            ("deck", np.int8, (MAX_CARDS,)),  # rank by position
            ("seats", SEAT, (MAX_SEATS,)),
        ],
    )
)
"""The whole state of a match. int8 holds seats (below 40), positions (below 84) and flags.

A card's origin is its position; `gave`, `got` and `asked` are the trades of the deal, `moved` its exchanged cards: what
relatives of the game ask for, whose undo follows one card or whose cards change by being exchanged.
"""


@kernel
def holds(bits: Any, position: int) -> bool:
    """True if `position` is in the set `bits`, int64 [2]: 42 positions in each."""
    return (bits[position // 42] >> (position % 42)) & 1 != 0


@kernel
def _mark(bits: Any, position: int) -> None:
    """`position` is in the set `bits`, int64 [2]."""
    if position < 42:
        bits[0] |= np.int64(1) << position
    else:
        bits[1] |= np.int64(1) << (position - 42)


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
    for seat in range(num_seats):
        t.seats[seat].lives = r.lives
        t.seats[seat].place = 0
        t.seats[seat].sits_out = 0
        _clear_seat(t, seat)


@kernel
def _clear_seat(t: Any, seat: int) -> None:
    t.seats[seat].hand = NOBODY
    t.seats[seat].turn = NOT_ACTED
    t.seats[seat].asked = NOBODY
    t.seats[seat].gave = NOBODY
    t.seats[seat].got = NOBODY
    t.seats[seat].answers = 0
    t.seats[seat].revealed = 0
    t.seats[seat].knocked = 0
    t.seats[seat].fined = 0
    t.seats[seat].lost = 0
    t.seats[seat].gained = 0
    t.seats[seat].loser = 0
    t.seats[seat].seen[0] = 0
    t.seats[seat].seen[1] = 0


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
            if t.seats[dealer].lives > 0 and t.seats[dealer].sits_out == 0:
                break
        t.dealer = dealer
    t.deals += 1
    for half in range(2):
        t.face_up[half] = 0
        t.moved[half] = 0
    t.phase = TURNS
    t.drawn = 0
    t.undone = 0
    t.stopped = 0
    for seat in range(num_seats):
        _clear_seat(t, seat)
        if t.seats[seat].lives > 0 and t.seats[seat].sits_out == 0:
            t.seats[seat].hand = seat
            _mark(t.seats[seat].seen, seat)
            if r.knocks and r.special[t.deck[seat]]:
                t.seats[seat].knocked = 1
                if r.knock_tells:
                    _mark(t.face_up, seat)
        t.seats[seat].sits_out = 0
    t.to_act = _next_seat(t, np.int64(t.dealer))


@kernel
def hand_rank(t: Any, seat: int) -> int:
    """The rank of the card that `seat` holds."""
    return np.int64(t.deck[t.seats[seat].hand])


@kernel
def _is_live(t: Any, seat: int) -> bool:
    """True if `seat` has a card in this deal, and lives."""
    return t.seats[seat].hand >= 0 and t.seats[seat].lives > 0


@kernel
def _next_seat(t: Any, seat: int) -> int:
    """The next seat of this deal after `seat`, clockwise."""
    num_seats = np.int64(t.num_seats)
    for _ in range(num_seats):
        seat += 1
        if seat == num_seats:
            seat = 0
        if t.seats[seat].hand >= 0:
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
        if t.seats[seat].lives > 0 and t.seats[seat].turn == NOT_ACTED and not (r.skips and t.seats[seat].answers):
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
        t.seats[seat].turn = STOOD
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
            t.seats[challenger].turn = TRADED
            t.seats[challenger].asked = seat
            _trade(t, challenger, np.int64(t.seats[seat].hand))
            t.seats[seat].hand = t.seats[challenger].gave
            _mark(t.seats[seat].seen, np.int64(t.seats[seat].hand))
            return
        t.seats[seat].answers |= effect
        if r.spoken:
            t.seats[seat].revealed = rank + 1
            _mark(t.face_up, np.int64(t.seats[seat].hand))
        if effect != REDIRECTS:
            _answer(t, r, challenger, seat, effect, np.int64(r.asked_fine[rank]))
            return
    t.seats[challenger].asked = STOCK
    for _ in range(np.int64(r.num_cards)):
        position = np.int64(t.num_seats) + t.drawn
        if position >= r.num_cards:
            break
        t.drawn += 1
        rank = np.int64(t.deck[position])
        effect = np.int64(r.turned[rank])
        if effect == 0:
            t.seats[challenger].turn = DREW
            _trade(t, challenger, position)
            return
        _mark(t.face_up, position)
        if effect != REDIRECTS:
            _answer(t, r, challenger, STOCK, effect, np.int64(r.turned_fine[rank]))
            return
    t.seats[challenger].turn = FAILED


@kernel
def _trade(t: Any, challenger: int, position: int) -> None:
    """`challenger` holds the card at `position`; what it gave and got is written down."""
    t.seats[challenger].gave = t.seats[challenger].hand
    t.seats[challenger].got = position
    _mark(t.moved, np.int64(t.seats[challenger].hand))
    _mark(t.seats[challenger].seen, position)
    _mark(t.moved, position)
    t.seats[challenger].hand = position


@kernel
def _answer(t: Any, r: Any, challenger: int, holder: int, effect: int, fine: int) -> None:
    """A card of `holder` (a seat or STOCK) has refused, with all that it does besides."""
    t.seats[challenger].turn = REFUSED
    t.seats[challenger].asked = holder
    if effect & UNDOES:
        t.undone += 1
        for seat in range(np.int64(t.num_seats)):
            if t.seats[seat].hand >= 0:
                t.seats[seat].hand = seat
    if effect & STOPS:
        t.stopped = 1
    if effect & FINES:
        _fine(t, r, challenger, holder, fine)


@kernel
def _fine(t: Any, r: Any, payer: int, holder: int, amount: int) -> None:
    """`payer` has paid a fine, as far as it can; if that leaves one seat in the match, the match is over."""
    paid = min(amount, np.int64(t.seats[payer].lives))
    t.seats[payer].lives -= paid
    t.seats[payer].fined += paid
    t.seats[payer].lost += paid
    if r.fine_to == TO_HOLDER and holder >= 0:
        t.seats[holder].lives += paid
        t.seats[holder].gained += paid
    elif r.fine_to == TO_POOL or r.fine_to == TO_HOLDER:
        t.pool += paid
    if t.seats[payer].lives == 0:
        num_left = _num_left(t)
        t.seats[payer].place = num_left + 1
        if num_left == 1:
            _end_match(t)


@kernel
def _num_left(t: Any) -> int:
    """Seats with lives."""
    num_left = 0
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].lives > 0:
            num_left += 1
    return num_left


@kernel
def _end_match(t: Any) -> None:
    """The match is over, the seats still in it are placed by their lives."""
    t.phase = OVER
    t.to_act = NOBODY
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].lives > 0:
            place = 1
            for other in range(np.int64(t.num_seats)):
                if t.seats[other].lives > t.seats[seat].lives:
                    place += 1
            t.seats[seat].place = place


@kernel
def _showdown(t: Any, r: Any) -> None:
    """All live cards are compared, losers have paid, and the match goes on or is over."""
    t.phase = BETWEEN
    somebody_sits_out = _find_losers(t, r)
    num_left, num_fallen = 0, 0
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].loser:
            num_fallen += _lose(t, r, seat)
        num_left += t.seats[seat].lives > 0
    is_last_deal = r.num_deals > 0 and t.deals >= r.num_deals
    if num_fallen > 0:
        plays_off = num_left == 0 and r.play_off and not is_last_deal
        _leave_or_play_off(t, num_left + 1, plays_off)
        if plays_off:
            num_left = num_fallen
    is_over = num_left <= 1 or is_last_deal
    if somebody_sits_out:
        _check_sit_out(t, num_left, is_over)
    if is_over:
        _end_match(t)


@kernel
def _lose(t: Any, r: Any, seat: int) -> bool:
    """A loser has paid for its card, as far as it can; True if that was its last life."""
    paid = min(np.int64(r.loss[hand_rank(t, seat)]), np.int64(t.seats[seat].lives))
    t.seats[seat].lives -= paid
    t.seats[seat].lost += paid
    if r.loss_to == TO_POOL:
        t.pool += paid
    return t.seats[seat].lives == 0


@kernel
def _leave_or_play_off(t: Any, place: int, plays_off: bool) -> None:
    """The losers without lives have their `place`, or a life back to play it off, also those who should sit out."""
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].loser and t.seats[seat].lives == 0:
            if plays_off:
                t.seats[seat].lives = 1
                t.seats[seat].sits_out = 0
                t.pool = max(0, t.pool - 1)
            else:
                t.seats[seat].place = place


@kernel
def _check_sit_out(t: Any, num_left: int, is_over: bool) -> None:
    """Only seats with lives sit out, and none if that would leave fewer than two to play."""
    num_playing = num_left
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].sits_out and t.seats[seat].lives > 0:
            num_playing -= 1
    for seat in range(np.int64(t.num_seats)):
        if is_over or num_playing < 2 or t.seats[seat].lives == 0:
            t.seats[seat].sits_out = 0


@kernel
def _find_losers(t: Any, r: Any) -> bool:
    """`loser` marks who loses, `sits_out` who would miss the next deal (True if any does); live faces are public."""
    num_seats = np.int64(t.num_seats)
    others_lose, somebody_sits_out = True, False
    lowest = np.int64(r.num_ranks)
    for seat in range(num_seats):
        if not _is_live(t, seat):
            continue
        _mark(t.face_up, np.int64(t.seats[seat].hand))
        rank = hand_rank(t, seat)
        if not r.special[rank]:
            lowest = min(lowest, rank)
            continue
        row = min(_num_live(t, rank), SPECIAL_ROWS) - 1
        if r.special_loses[rank, row]:
            t.seats[seat].loser = 1
        else:
            lowest = min(lowest, rank)
        if r.special_spares[rank, row]:
            others_lose = False
        if r.special_sits_out[rank, row]:
            t.seats[seat].sits_out = 1
            somebody_sits_out = True
    if others_lose:
        for seat in range(num_seats):
            if _is_live(t, seat) and hand_rank(t, seat) == lowest:
                t.seats[seat].loser = 1
    return somebody_sits_out


@kernel
def _num_live(t: Any, rank: int) -> int:
    """Live seats of this deal that hold `rank`."""
    num = 0
    for seat in range(np.int64(t.num_seats)):
        if _is_live(t, seat) and hand_rank(t, seat) == rank:
            num += 1
    return num
