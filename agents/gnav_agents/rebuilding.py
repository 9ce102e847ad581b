"""The deal rebuilt from what one seat sees of it, as the table record that the engine plays on from.

The rules are not written a second time. A reading of a view is a deal in which the engine, played from the start with
the actions that the view shows, lets the seat see just that view; here one is looked for. The view's own seat is 0 in
it. belief.py weighs what the cards may be that the seat does not know.

Where turns are lost by answering and answers are spoken, a view tells the whole public course of a deal. Otherwise it
does not tell who asked whom if a card that answers was offered, taken and asked again, nor which of several silent
refusals undid the trades: then the usual is assumed, that cards answer where they were dealt, and that the last
refusal did it. It never tells what was paid in this deal (the record counts it as if nobody had had too few lives),
the pool beyond its share, antes, and the faces of cards turned from the stock that went aside. None of this changes
what follows in lives, except that such faces are drawn like unknown cards.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import SLOT, dealer_slot, is_playing, known_rank, place
from gnav_env._jit import kernel
from gnav_env.compiled import COMPARED, MAX_CARDS, MAX_RANKS
from gnav_env.effects import REDIRECTS, REFUSES, STOPS, UNDOES
from gnav_env.engine import act, begin_deal, begin_match
from gnav_env.observation import num_features, observe
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, FAILED, NOT_ACTED, STAND, STOOD, TURNS, num_left

__all__ = ["begin", "rank_kinds", "rebuild", "replay", "seat_of", "shows", "turn_of"]

_AMPLE = 1000
"""Lives that nobody can lose in a deal."""

_GENERAL = num_features(2) - 2 * SLOT
_LIVES, _HISTORY, _ANSWERED, _KNOCK, _REVEALED = map(
    place, ("lives", "action_history", "answered", "knock", "revealed_matador")
)
_STOCK_TURNED, _DEALS_LEFT, _POOL, _CHANCE_LOWER = map(place, ("stock_turned", "deals_left", "pool", "chance_lower"))


def rank_kinds(rules: Rules) -> NDArray[np.int8]:
    """By rank the lowest one that acts in public as it does, -1 for ranks without cards in the deck: [MAX_RANKS]."""
    r = rules.compiled[0]
    kinds = np.full(MAX_RANKS, -1, np.int8)
    first: dict[Any, int] = {}
    for rank in range(len(rules.ranks)):
        if r.copies[rank]:
            ways = (r.asked[rank], r.asked_fine[rank], r.turned[rank], r.turned_fine[rank])
            changes, knocks = r.when_exchanged[rank] != rank, r.knocks and r.special[rank]
            face = rank if changes or (r.spoken and r.asked[rank]) else -1
            kinds[rank] = first.setdefault((*map(int, ways), bool(knocks), face), rank)
    return kinds


@kernel
def seat_of(slot: int, num_seats: int, r: Any) -> int:
    """The seat that a record rebuilt from a view has for the slot; the view's own seat is 0."""
    return slot if slot == 0 or r.direction > 0 else num_seats - slot


@kernel
def rebuild(view: Any, num_seats: int, r: Any, kinds: Any, t: Any, deck: Any, scratch: Any) -> bool:
    """`t` is the deal as the `view` [F] of a seat with a live card has it, to be played on by seat 0.

    deck int8 [MAX_CARDS] is written: the ranks by position with which the deal has gone so from the start, right where
    the seat knows them. False if no such deal was found; then `t` is one in which nobody has traded. scratch is
    float32 [F].
    """
    guess = np.empty(MAX_CARDS, np.int8)
    _guess_cards(view, num_seats, r, kinds, guess)
    if _find_reading(view, num_seats, r, kinds, t, guess, deck, scratch):
        return True
    _guess_cards(view, num_seats, r, kinds, deck)
    _deal_without_history(view, num_seats, r, t, deck)
    return False


@kernel
def turn_of(view: Any, slot: int) -> int:
    """How the slot's turn went, NOT_ACTED ... FAILED."""
    for turn in range(STOOD, FAILED + 1):
        if view[_HISTORY + turn + SLOT * slot] > 0:
            return turn
    return NOT_ACTED


@kernel
def _guess_cards(view: Any, num_seats: int, r: Any, kinds: Any, guess: Any) -> None:
    """`guess` has a card for each seat that answers, or does not, as the seat's own has done."""
    plain = _first_rank(r, kinds, 0, 0, False)
    for position in range(MAX_CARDS):
        guess[position] = plain
    for slot in range(num_seats):
        seat = seat_of(slot, num_seats, r)
        if view[_REVEALED + SLOT * slot] > 0:
            guess[seat] = np.int64(np.rint(view[_REVEALED + SLOT * slot] * r.num_ranks)) - 1
        elif view[_ANSWERED + SLOT * slot] > 0:
            guess[seat] = _first_rank(r, kinds, REDIRECTS, REDIRECTS, False)
        elif view[_ANSWERED + 1 + SLOT * slot] > 0:
            guess[seat] = _first_rank(r, kinds, REFUSES, REFUSES | STOPS | UNDOES, False)
        elif view[_KNOCK + SLOT * slot] > 0:
            guess[seat] = _first_rank(r, kinds, 0, 0, True)


@kernel
def _first_rank(r: Any, kinds: Any, effect: int, among: int, knocks: bool) -> int:
    """The lowest rank that has of the bits `among` just those of `effect` when asked (0: all bits), and knocks or not.

    The lowest of the deck if there is none.
    """
    lowest = -1
    for rank in range(np.int64(r.num_ranks)):
        if kinds[rank] != rank:
            continue
        if lowest < 0:
            lowest = rank
        has = np.int64(r.asked[rank]) if among == 0 else np.int64(r.asked[rank]) & among
        if has == effect and (r.knocks and r.special[rank]) == knocks and r.when_exchanged[rank] == rank:
            return rank
    return lowest


@kernel
def _find_reading(view: Any, num_seats: int, r: Any, kinds: Any, t: Any, guess: Any, deck: Any, scratch: Any) -> bool:
    """`deck` is dealt so that the deal goes as the view says, and has gone so in `t`; False if none is found.

    The guess, or else one in which a card or two are of another kind.
    """
    if _fits(view, num_seats, r, t, guess, deck, scratch) or _fits_changed(
        view, num_seats, r, kinds, 0, t, guess, deck, scratch
    ):
        return True
    for choice in range(_num_choices(view, num_seats, r)):
        position, rank = _choice(choice, num_seats, r)
        before = guess[position]
        if kinds[rank] == rank and rank != before:
            guess[position] = rank
            if _fits_changed(view, num_seats, r, kinds, choice + 1, t, guess, deck, scratch):
                return True
            guess[position] = before
    return False


@kernel
def _fits_changed(
    view: Any, num_seats: int, r: Any, kinds: Any, first: int, t: Any, guess: Any, deck: Any, scratch: Any
) -> bool:
    """One of the choices from number `first` on makes the guess fit, and it has been made."""
    for choice in range(first, _num_choices(view, num_seats, r)):
        position, rank = _choice(choice, num_seats, r)
        before = guess[position]
        if kinds[rank] == rank and rank != before:
            guess[position] = rank
            if _fits(view, num_seats, r, t, guess, deck, scratch):
                return True
            guess[position] = before
    return False


@kernel
def _num_choices(view: Any, num_seats: int, r: Any) -> int:
    return (num_seats + _num_turned(view)) * np.int64(r.num_ranks)


@kernel
def _choice(number: int, num_seats: int, r: Any) -> tuple[int, int]:
    """A position and a rank for it; the seats come first, from the one that acted last."""
    place_in_line, rank = number // np.int64(r.num_ranks), number % np.int64(r.num_ranks)
    if place_in_line < num_seats:
        return seat_of(num_seats - 1 - place_in_line, num_seats, r), rank
    return place_in_line, rank


@kernel
def _num_turned(view: Any) -> int:
    """Cards turned from the stock, 10 at most."""
    return np.int64(np.rint(view[_STOCK_TURNED] * 10))


@kernel
def _fits(view: Any, num_seats: int, r: Any, t: Any, guess: Any, deck: Any, scratch: Any) -> bool:
    """With the guess dealt and the known cards put in where they must have been, the seat would have this view."""
    for position in range(MAX_CARDS):
        deck[position] = guess[position]
    if not replay(view, num_seats, r, deck, t):
        return False
    for slot in range(num_seats):
        rank = known_rank(view, slot, r.num_ranks)
        position = np.int64(t.seats[seat_of(slot, num_seats, r)].hand)
        if rank >= 0 and position >= 0:
            deck[position] = r.dealt_as[rank]
    return replay(view, num_seats, r, deck, t) and shows(view, num_seats, r, t, scratch)


@kernel
def replay(view: Any, num_seats: int, r: Any, deck: Any, t: Any) -> bool:
    """The deal has gone from `deck` to the turn of seat 0 with the actions of the view; False if it cannot."""
    begin(view, num_seats, r, deck, t)
    for _ in range(num_seats):
        seat = np.int64(t.to_act)
        if seat <= 0:
            break
        turn = turn_of(view, seat_of(seat, num_seats, r))
        if turn == NOT_ACTED:
            return False
        act(t, r, STAND if turn == STOOD else EXCHANGE)
    if t.phase != TURNS or t.to_act != 0:
        return False
    _set_lives(view, num_seats, r, t)
    return True


@kernel
def begin(view: Any, num_seats: int, r: Any, deck: Any, t: Any) -> None:
    """`deck` is dealt to the seats that the view shows in the deal, all with more lives than they can lose."""
    begin_match(t, r, num_seats, seat_of(dealer_slot(view, num_seats), num_seats, r))
    for position in range(np.int64(r.num_cards)):
        t.deck[position] = deck[position]
    for slot in range(num_seats):
        seat = seat_of(slot, num_seats, r)
        t.seats[seat].lives = _AMPLE
        t.seats[seat].sits_out = not is_playing(view, slot) and turn_of(view, slot) == NOT_ACTED
    begin_deal(t, r)
    if r.num_deals:
        t.deals = r.num_deals - np.int64(np.rint(view[_DEALS_LEFT] * r.num_deals))


@kernel
def _set_lives(view: Any, num_seats: int, r: Any, t: Any) -> None:
    """The seats have the lives of the view, and those that have fallen in this deal have a place."""
    for slot in range(num_seats):
        t.seats[seat_of(slot, num_seats, r)].lives = np.int64(np.rint(view[_LIVES + SLOT * slot] * r.lives))
    for seat in range(num_seats):
        if t.seats[seat].lives == 0 and (r.mid_deal_out != COMPARED or t.seats[seat].hand < 0):
            t.seats[seat].place = num_left(t) + 1


@kernel
def shows(view: Any, num_seats: int, r: Any, t: Any, scratch: Any) -> bool:
    """Seat 0 sees in `t` what the view says of this deal."""
    observe(t, r, 0, scratch)
    is_same = True
    for feature in range(_CHANCE_LOWER):
        is_same &= scratch[feature] == view[feature] or feature == _POOL
    for feature in range(_GENERAL, _GENERAL + SLOT * num_seats):
        is_same &= scratch[feature] == view[feature]
    return is_same


@kernel
def _deal_without_history(view: Any, num_seats: int, r: Any, t: Any, deck: Any) -> None:
    """`t` is a deal in which nobody has traded, with all else as in the view."""
    for slot in range(num_seats):
        rank = known_rank(view, slot, r.num_ranks)
        if rank >= 0:
            deck[seat_of(slot, num_seats, r)] = rank
    begin(view, num_seats, r, deck, t)
    _set_lives(view, num_seats, r, t)
    t.to_act = 0
    t.drawn = _num_turned(view)
    for slot in range(num_seats):
        seat = seat_of(slot, num_seats, r)
        t.seats[seat].turn = turn_of(view, slot)
        t.seats[seat].answers = np.int64(view[_ANSWERED + SLOT * slot]) * REDIRECTS
        t.seats[seat].answers |= np.int64(view[_ANSWERED + 1 + SLOT * slot]) * REFUSES
