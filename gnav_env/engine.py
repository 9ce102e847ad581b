"""The rules of play, once: kernels that read and change one table record (state.py), from the cards being dealt up to
the showdown (showdown.py).

A match runs through phases: BETWEEN (a deal is wanted) -> `begin_deal` -> TURNS -> `act` ... -> BETWEEN or OVER. Chance
enters only through the order of the deck, which chance.py or the caller has written into the record before, where
`wants_deck` says so. Kernels trust their arguments: Table and the environments check at the door.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.compiled import COMPARED, ENDS_AT_ONCE, MAX_RANKS, TO_HOLDER, TO_NOBODY
from gnav_env.effects import FINES, FINES_ORIGIN, REDIRECTS, REFUSES, STOPS, SWEEPS, UNDOES, UNDOES_ALL
from gnav_env.showdown import end_match, showdown
from gnav_env.state import (
    BETWEEN,
    DREW,
    EXCHANGE,
    FAILED,
    NOBODY,
    NOT_ACTED,
    OVER,
    REFUSED,
    STAND,
    STOCK,
    STOOD,
    TRADED,
    TURNS,
    beside,
    hand_rank,
    holds,
    mark,
    neighbour,
    num_left,
    plays,
)

__all__ = [
    "act",
    "begin_deal",
    "begin_match",
    "can_exchange",
    "can_stand",
    "cards_needed",
    "legal_action",
    "take_turn",
    "wants_deck",
]


@kernel
def cards_needed(t: Any, r: Any) -> int:
    """The most cards that a deal can look at: one a seat, and what challenges can turn from the stock.

    Each challenge behind the dealer ends at one card and passes redirecting ones; for it to come from further off, as
    many redirecting cards are in hands, so not in the stock: redirecting cards + 1 in all. Where deals go on from the
    rest of the deck all cards may be looked at in time.
    """
    if r.keeps_rest:
        return np.int64(r.num_cards)
    return min(np.int64(t.num_seats) + r.num_redirecting + 1, np.int64(r.num_cards))


@kernel
def wants_deck(t: Any, r: Any) -> bool:
    """True if the cards are to be shuffled for the next deal; otherwise it is dealt from the rest of the last one.

    The rest is too short if a challenge behind the dealer might find no card.
    """
    if not r.keeps_rest or t.deals == 0:
        return True
    num_playing = 0
    for seat in range(np.int64(t.num_seats)):
        num_playing += plays(t, seat)
    return t.stock_end - t.num_seats - t.drawn < num_playing + r.num_redirecting + 1


@kernel
def begin_match(t: Any, r: Any, num_seats: int, dealer: int) -> None:
    """A new match of `num_seats` full seats is between deals; `dealer` deals first. The shoe is left as it is."""
    t.deals = 0
    t.num_seats = num_seats
    t.dealer = dealer
    t.phase = BETWEEN
    t.pool = 0
    t.pool_stays = 0
    t.stakes = 0
    t.to_act = NOBODY
    t.drawn = 0
    t.stock_end = r.num_cards
    t.undone = 0
    t.stopped = 0
    for seat in range(num_seats):
        t.seats[seat].lives = r.lives
        t.seats[seat].place = 0
        t.seats[seat].sits_out = 0
        t.antes[seat] = 0
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
    if t.seats[seat].fined > 0:
        t.seats[seat].fined = 0
        for rank in range(MAX_RANKS):
            t.fines[seat, rank] = 0
    t.seats[seat].lost = 0
    t.seats[seat].gained = 0
    t.seats[seat].bonus = 0
    t.seats[seat].loser = 0
    t.seats[seat].seen[0] = 0
    t.seats[seat].seen[1] = 0


@kernel
def begin_deal(t: Any, r: Any) -> None:
    """Antes are paid, cards are out from `t.deck`, dealt special ranks have knocked, and the eldest is to act."""
    num_seats = np.int64(t.num_seats)
    if r.keeps_rest:
        if wants_deck(t, r):
            _forget(t, r)
        else:
            _go_on_with_rest(t, r)
    else:
        t.stock_end = r.num_cards
    if t.deals > 0:
        _pass_deal_on(t, r)
    t.deals += 1
    for half in range(2):
        t.face_up[half] = 0
        t.exchanged[half] = 0
    t.phase = TURNS
    t.drawn = 0
    t.undone = 0
    t.stopped = 0
    for seat in range(num_seats):
        _clear_seat(t, seat)
        if plays(t, seat):
            t.seats[seat].hand = seat
            mark(t.seats[seat].seen, seat)
            if r.knocks and r.special[t.deck[seat]]:
                t.seats[seat].knocked = 1
                if r.knock_tells:
                    mark(t.face_up, seat)
            if r.ante:
                t.antes[seat] += r.ante
                t.stakes += r.ante
        t.seats[seat].sits_out = 0
    t.to_act = neighbour(t, np.int64(t.dealer), r.direction)


@kernel
def _pass_deal_on(t: Any, r: Any) -> None:
    """The next seat that plays deals."""
    dealer = np.int64(t.dealer)
    for _ in range(np.int64(t.num_seats)):
        dealer = beside(t, dealer, r.direction)
        if plays(t, dealer):
            break
    t.dealer = dealer


@kernel
def _forget(t: Any, r: Any) -> None:
    """The deck has been shuffled: all cards are to come again."""
    t.stock_end = r.num_cards
    for seat in range(np.int64(t.num_seats)):
        for rank in range(np.int64(r.num_ranks)):
            t.gone[seat, rank] = 0


@kernel
def _go_on_with_rest(t: Any, r: Any) -> None:
    """The rest of the stock comes first in the deck, the cards of the last deal go behind it.

    Each seat remembers which of them it has seen. A seat that will not play has one of the last cards at its
    position, so that the cards to come are for those who do.
    """
    num_seats, num_cards = np.int64(t.num_seats), np.int64(r.num_cards)
    num_spent = num_seats + t.drawn
    for position in range(num_spent):
        t.deck[position] = r.dealt_as[t.deck[position]]
        for seat in range(num_seats):
            if holds(t.face_up, position) or holds(t.seats[seat].seen, position):
                t.gone[seat, t.deck[position]] += 1
    _reverse(t.deck, 0, num_spent)
    _reverse(t.deck, num_spent, num_cards)
    _reverse(t.deck, 0, num_cards)
    t.stock_end -= num_spent
    for seat in range(num_seats):
        if not plays(t, seat):
            last = t.deck[num_cards - 1]
            for position in range(num_cards - 1, seat, -1):
                t.deck[position] = t.deck[position - 1]
            t.deck[seat] = last
            t.stock_end = min(np.int64(t.stock_end) + 1, num_cards)


@kernel
def _reverse(deck: Any, begin: int, end: int) -> None:
    """The cards at the positions `begin` to `end` - 1 stand the other way round."""
    for step in range((end - begin) // 2):
        card = deck[begin + step]
        deck[begin + step] = deck[end - 1 - step]
        deck[end - 1 - step] = card


@kernel
def _advance(t: Any, r: Any) -> None:
    """The next seat that has a turn is to act; behind the dealer `to_act` is NOBODY."""
    seat = np.int64(t.to_act)
    for _ in range(np.int64(t.num_seats)):
        if seat == t.dealer:
            break
        seat = neighbour(t, seat, r.direction)
        if t.seats[seat].lives > 0 and t.seats[seat].turn == NOT_ACTED and not (r.skips and t.seats[seat].answers):
            t.to_act = seat
            return
    t.to_act = NOBODY


@kernel
def can_exchange(t: Any, r: Any) -> bool:
    """True if the seat to act may choose EXCHANGE: there is a card to ask for, and its own may be offered."""
    seat = np.int64(t.to_act)
    if seat == t.dealer and t.num_seats + t.drawn >= t.stock_end:
        return False
    return not (r.matador_stays and r.matador[hand_rank(t, seat)])


@kernel
def can_stand(t: Any, r: Any) -> bool:
    """True if the seat to act may choose STAND; where that takes a matador it is waived if EXCHANGE is impossible."""
    if not r.stand_needs_matador or r.matador[hand_rank(t, np.int64(t.to_act))]:
        return True
    return not can_exchange(t, r)


@kernel
def legal_action(t: Any, r: Any, wanted: int) -> int:
    """The `wanted` action of the seat to act, or the other one where it is illegal."""
    if not can_stand(t, r):
        return EXCHANGE
    if not can_exchange(t, r):
        return STAND
    return wanted


@kernel
def act(t: Any, r: Any, action: int) -> None:
    """The seat to act has chosen `action`, and all that follows has happened, up to the next choice or deal."""
    take_turn(t, r, action)
    if t.phase == TURNS and t.to_act == NOBODY:
        showdown(t, r)


@kernel
def take_turn(t: Any, r: Any, action: int) -> None:
    """As `act`, but for the showdown: if that is to follow, nobody is to act."""
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


@kernel
def _exchange(t: Any, r: Any, challenger: int) -> None:
    """`challenger` asks the next seat, and whom it is sent on to, for a card."""
    seat = challenger
    for _ in range(np.int64(t.num_seats)):
        if seat == t.dealer:
            break
        seat = neighbour(t, seat, r.direction)
        rank = hand_rank(t, seat)
        effect = np.int64(r.asked[rank])
        if effect == 0:
            t.seats[challenger].turn = TRADED
            t.seats[challenger].asked = seat
            t.seats[challenger].gave = t.seats[challenger].hand
            t.seats[challenger].got = t.seats[seat].hand
            _swap(t, r, challenger, seat)
            return
        _reveal(t, r, seat, effect)
        if effect != REDIRECTS:
            _answer(t, r, challenger, seat, rank, effect, np.int64(r.asked_fine[rank]))
            return
    t.seats[challenger].asked = STOCK
    for _ in range(np.int64(r.num_cards)):
        position = np.int64(t.num_seats) + t.drawn
        if position >= t.stock_end:
            break
        t.drawn += 1
        rank = np.int64(t.deck[position])
        effect = np.int64(r.turned[rank])
        if effect == 0:
            t.seats[challenger].turn = DREW
            t.seats[challenger].gave = t.seats[challenger].hand
            t.seats[challenger].got = position
            t.seats[challenger].hand = position
            mark(t.seats[challenger].seen, position)
            return
        mark(t.face_up, position)
        if effect != REDIRECTS:
            _answer(t, r, challenger, STOCK, rank, effect, np.int64(r.turned_fine[rank]))
            return
    t.seats[challenger].turn = FAILED


@kernel
def _swap(t: Any, r: Any, one: int, other: int) -> None:
    """The cards of two seats have changed hands; both seats know both faces, both cards are exchanged."""
    gives, takes = np.int64(t.seats[one].hand), np.int64(t.seats[other].hand)
    t.seats[one].hand = takes
    t.seats[other].hand = gives
    mark(t.seats[one].seen, takes)
    mark(t.seats[other].seen, gives)
    _mark_exchanged(t, r, gives)
    _mark_exchanged(t, r, takes)


@kernel
def _mark_exchanged(t: Any, r: Any, position: int) -> None:
    """The card at `position` has changed hands, which may make another of it."""
    mark(t.exchanged, position)
    rank = np.int64(t.deck[position])
    if r.when_exchanged[rank] != rank:
        t.deck[position] = r.when_exchanged[rank]
        mark(t.face_up, position)


@kernel
def _reveal(t: Any, r: Any, seat: int, effect: int) -> None:
    """The card of `seat` has answered, with its face if the rules are spoken."""
    t.seats[seat].answers |= effect & (REDIRECTS | REFUSES)
    if r.spoken:
        t.seats[seat].revealed = hand_rank(t, seat) + 1
        mark(t.face_up, np.int64(t.seats[seat].hand))


@kernel
def _answer(t: Any, r: Any, challenger: int, holder: int, rank: int, effect: int, fine: int) -> None:
    """The card of `holder` (a seat or STOCK), a `rank`, has refused, with all that it does besides."""
    t.seats[challenger].turn = REFUSED
    t.seats[challenger].asked = holder
    offered = np.int64(t.seats[challenger].hand)
    if effect & FINES:
        _fine(t, r, _payer(t, effect, challenger, offered), holder, rank, fine)
    if effect & STOPS:
        t.stopped = 1
    if effect & UNDOES:
        t.undone += 1
        if effect & UNDOES_ALL:
            _undo_all(t)
        elif effect & SWEEPS:
            _sweep(t, r, challenger, offered)
        else:
            _undo_card(t, r, challenger, offered)


@kernel
def _payer(t: Any, effect: int, challenger: int, offered: int) -> int:
    """The seat that an effect fines: the challenger, or the origin of the `offered` card (NOBODY for a drawn one)."""
    if not effect & FINES_ORIGIN:
        return challenger
    return offered if offered < t.num_seats else NOBODY


@kernel
def _undo_all(t: Any) -> None:
    """Every seat of the deal holds the card that it was dealt."""
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].hand >= 0:
            t.seats[seat].hand = seat
            t.seats[seat].gave = NOBODY
            t.seats[seat].got = NOBODY


@kernel
def _undo_card(t: Any, r: Any, challenger: int, offered: int) -> None:
    """The trades along which the `offered` card came are taken back, newest first."""
    holder = challenger
    for _ in range(np.int64(t.num_seats)):
        giver = NOBODY
        for seat in range(np.int64(t.num_seats)):
            if t.seats[seat].turn == TRADED and t.seats[seat].asked == holder and t.seats[seat].gave == offered:
                giver = seat
        if giver == NOBODY:
            break
        _swap(t, r, giver, holder)
        t.seats[giver].gave = NOBODY
        t.seats[giver].got = NOBODY
        holder = giver


@kernel
def _sweep(t: Any, r: Any, challenger: int, offered: int) -> None:
    """The `offered` card is pushed back seat by seat towards the eldest, past cards that redirect.

    A card that refuses ends it, and if that one fines, it fines again.
    """
    eldest = neighbour(t, np.int64(t.dealer), r.direction)
    carrier = seat = challenger
    for _ in range(np.int64(t.num_seats)):
        if seat == eldest:
            break
        seat = neighbour(t, seat, -r.direction)
        rank = hand_rank(t, seat)
        effect = np.int64(r.asked[rank])
        if effect == 0:
            _swap(t, r, carrier, seat)
            carrier = seat
            continue
        _reveal(t, r, seat, effect)
        if effect & FINES:
            _fine(t, r, _payer(t, effect, challenger, offered), seat, rank, np.int64(r.asked_fine[rank]))
        if effect != REDIRECTS:
            break


@kernel
def _fine(t: Any, r: Any, payer: int, holder: int, rank: int, amount: int) -> None:
    """`payer` has paid a fine to a card of `rank`, as far as it can; the match may be over if that leaves one seat.

    A fine that goes to the holder of the card goes to the pool if that is no seat with lives; nobody pays himself.
    """
    if payer == NOBODY or t.phase == OVER or (payer == holder and r.fine_to == TO_HOLDER):
        return
    paid = min(amount, np.int64(t.seats[payer].lives))
    t.seats[payer].lives -= paid
    t.seats[payer].fined += paid
    t.fines[payer, rank] += paid
    t.seats[payer].lost += paid
    if r.fine_to == TO_HOLDER and holder >= 0 and t.seats[holder].lives > 0:
        t.seats[holder].lives += paid
        t.seats[holder].gained += paid
    elif r.fine_to != TO_NOBODY:
        t.pool += paid
    if paid > 0 and t.seats[payer].lives == 0 and r.mid_deal_out != COMPARED:
        still_in = num_left(t)
        t.seats[payer].place = still_in + 1
        if still_in == 1 and r.mid_deal_out == ENDS_AT_ONCE:
            end_match(t)
