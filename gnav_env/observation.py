"""What a seat sees, piece by piece: `PIECES` is the layout, `observe` the kernel that writes it.

An observation is a float32 vector, egocentric: slot 0 is the seat itself, slot 1 the next seat in the direction of
play, the first to be asked, and so on.
The general pieces come first, then one block for each slot, so that the vector of a small table is the beginning of
that of a larger one: an agent made for 20 seats reads a table of 6 with zeros behind it.

An observation depends only on what its seat may know: its own card, the faces of trades it took part in, and what is
public. Ranks are scaled so that 0 is the lowest of the ruleset and 1 the highest.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_env._jit import kernel
from gnav_env.compiled import (
    ALL_REENTER,
    COMPARED,
    MAX_RANKS,
    MAX_SEATS,
    TIED_FIRST,
    TIED_UNEQUAL,
    TIED_UNIQUE,
    TO_HOLDER,
    TO_POOL,
)
from gnav_env.effects import REDIRECTS, REFUSES
from gnav_env.engine import can_exchange, can_stand
from gnav_env.errors import GnavError
from gnav_env.state import BETWEEN, STAND, beside, hand_rank, is_live

__all__ = [
    "OBSERVATION_VERSION",
    "PIECES",
    "Piece",
    "bounds",
    "layout_table",
    "num_features",
    "num_seats_of",
    "observe",
    "piece",
    "write_mask",
]

OBSERVATION_VERSION = 2
"""Rises whenever the layout or the meaning of a piece changes; checkpoints carry it."""

_NUM_BEHIND = 6


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A named part of the observation: `size` numbers, once or for each slot."""

    name: str
    size: int
    meaning: str
    per_seat: bool = False
    high: float = 1.0
    """Largest value; the smallest is 0."""


PIECES: tuple[Piece, ...] = (
    Piece(
        name="own_card",
        size=MAX_RANKS,
        meaning="one-hot rank of my card, lowest rank first; zeros without a card",
    ),
    Piece(name="own_strength", size=1, meaning="rank of my card, scaled"),
    Piece(name="own_matador", size=1, meaning="my card is a matador"),
    Piece(name="own_card_history", size=3, meaning="my card was: dealt to me, traded, drawn from the stock"),
    Piece(
        name="seats_behind",
        size=_NUM_BEHIND,
        meaning="one-hot number of seats of this deal that come after me, the last place means 5 or more",
    ),
    Piece(name="seats_in_deal", size=1, meaning=f"seats with a live card / {MAX_SEATS}"),
    Piece(name="seats_in_match", size=1, meaning=f"seats with lives / {MAX_SEATS}"),
    Piece(name="undone", size=1, meaning="the trades of this deal have been undone"),
    Piece(name="stock_turned", size=1, meaning="cards turned from the stock in this deal / 10, at most 1"),
    Piece(
        name="deals_left",
        size=1,
        meaning="share of the deals still to come; 0 where a match has no fixed number",
    ),
    Piece(name="pool", size=1, meaning="pool / all lives at the start, at most 1"),
    Piece(
        name="rules",
        size=13,
        meaning="lives at the start / 10 (at most 1); answering costs the turn; fines to: pool, holder; losses to the "
        "pool; answers are spoken; the lowest rank is special; standing takes a matador; last survivor wins; of those "
        "tied for lowest: the first alone loses, nobody may lose; fallen seats may return; lost lives may come back",
    ),
    Piece(
        name="chance_lower",
        size=1,
        meaning="share of the cards that I have not seen that are lower than mine",
    ),
    Piece(name="chance_matador", size=1, meaning="share of the cards that I have not seen that are matadors"),
    Piece(
        name="lower_known",
        size=2,
        meaning="I know a lower live card on the table: of a seat that comes before me in this deal, of one behind me",
    ),
    Piece(
        name="seen_before",
        size=MAX_RANKS,
        meaning="cards of each rank that I have seen in earlier deals since the shuffle / copies in the deck, lowest "
        "rank first; zeros where every deal is shuffled",
    ),
    Piece(name="playing", size=1, per_seat=True, meaning="has a live card in this deal"),
    Piece(name="lives", size=1, per_seat=True, high=float(MAX_SEATS), meaning="lives / lives at the start"),
    Piece(name="dealer", size=1, per_seat=True, meaning="deals, so acts last"),
    Piece(
        name="action_history",
        size=6,
        per_seat=True,
        meaning="one-hot turn: none so far, stood, traded, drew from the stock, was refused, found no card",
    ),
    Piece(name="answered", size=2, per_seat=True, meaning="a card of it has: sent a challenge on, refused one"),
    Piece(name="knock", size=1, per_seat=True, meaning="knocked in this deal"),
    Piece(
        name="revealed_matador",
        size=1,
        per_seat=True,
        meaning="rank of the card with which it answered, scaled to (0, 1]; 0: none, or silent",
    ),
    Piece(
        name="known",
        size=3,
        per_seat=True,
        meaning="I know its card now: 1, its rank scaled, lower than mine",
    ),
)
"""The observation, in order. The general pieces come before those for each slot."""


_BY_NAME = {item.name: item for item in PIECES}


@cache
def _offset(name: str) -> int:
    """Where a piece begins: in the vector, or in its slot's block."""
    at = 0
    for item in PIECES:
        if item.name == name:
            return at
        following = PIECES[PIECES.index(item) + 1]
        at = 0 if following.per_seat and not item.per_seat else at + item.size
    raise KeyError(name)


NUM_GENERAL = sum(item.size for item in PIECES if not item.per_seat)
NUM_PER_SEAT = sum(item.size for item in PIECES if item.per_seat)

_OWN_STRENGTH, _OWN_MATADOR, _OWN_HISTORY = map(_offset, ("own_strength", "own_matador", "own_card_history"))
_BEHIND, _IN_DEAL, _IN_MATCH = map(_offset, ("seats_behind", "seats_in_deal", "seats_in_match"))
_UNDONE, _STOCK_TURNED, _DEALS_LEFT, _POOL = map(_offset, ("undone", "stock_turned", "deals_left", "pool"))
_RULES, _LOWER, _MATADOR, _KNOWN_LOWER = map(_offset, ("rules", "chance_lower", "chance_matador", "lower_known"))
_SEEN_BEFORE = _offset("seen_before")
_PLAYING, _LIVES, _DEALER, _KNOCK, _REVEALED = (
    np.uint64(_offset(name)) for name in ("playing", "lives", "dealer", "knock", "revealed_matador")
)
_HISTORY = np.uint64(_offset("action_history"))
_REDIRECTED, _DECLINED = (np.uint64(_offset("answered") + i) for i in range(2))
_KNOWN, _KNOWN_RANK, _KNOWN_IS_LOWER = (np.uint64(_offset("known") + i) for i in range(3))


def num_features(num_seats: int) -> int:
    """Length F of the observation of a table with `num_seats` seats."""
    return NUM_GENERAL + NUM_PER_SEAT * num_seats


def num_seats_of(num_features: int) -> int:
    """The seats of a table whose observations have `num_features` numbers; `GnavError` if none has."""
    num_seats, rest = divmod(num_features - NUM_GENERAL, NUM_PER_SEAT)
    if rest or not 2 <= num_seats <= MAX_SEATS:
        raise GnavError(
            f"an observation has {NUM_GENERAL} + {NUM_PER_SEAT} x seats features (2 to {MAX_SEATS} seats), "
            f"not {num_features}"
        )
    return num_seats


def piece(observation: NDArray[Any], name: str) -> NDArray[Any]:
    """The part of `observation` [..., F] called `name`: a view [..., size], or [..., S, size] for a piece of each slot.

    Raises `KeyError` if no piece has that name.
    """
    item = _BY_NAME.get(name)
    if item is None:
        raise KeyError(f"no piece is called {name!r}; the pieces are {', '.join(p.name for p in PIECES)}")
    at = _offset(name)
    if not item.per_seat:
        return observation[..., at : at + item.size]
    num_seats = num_seats_of(observation.shape[-1])
    blocks = observation[..., NUM_GENERAL:].reshape(*observation.shape[:-1], num_seats, NUM_PER_SEAT)
    return blocks[..., at : at + item.size]


def bounds(num_seats: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Smallest and largest value of each feature, float32 [F] each."""
    general = [item.high for item in PIECES if not item.per_seat for _ in range(item.size)]
    per_seat = [item.high for item in PIECES if item.per_seat for _ in range(item.size)]
    high = np.array(general + per_seat * num_seats, np.float32)
    return np.zeros_like(high), high


def layout_table(num_seats: int) -> str:
    """The layout as a Markdown table, made from `PIECES`; `GnavError` if no table has `num_seats` seats."""
    if not 2 <= num_seats <= MAX_SEATS:
        raise GnavError(f"seats must be 2 to {MAX_SEATS}, not {num_seats}")
    rows = ["| features | piece | shape | range | meaning |", "|---|---|---|---|---|"]
    at = 0
    for item in PIECES:
        shape = f"{num_seats} × {item.size}" if item.per_seat else f"{item.size}"
        if item.per_seat:
            first = NUM_GENERAL + _offset(item.name)
            where = f"{first}–{first + item.size - 1}" if item.size > 1 else f"{first}"
            where += f", +{NUM_PER_SEAT} a slot"
        else:
            where = f"{at}–{at + item.size - 1}" if item.size > 1 else f"{at}"
            at += item.size
        rows.append(f"| {where} | `{item.name}` | {shape} | 0–{item.high:g} | {item.meaning} |")
    rows.append(f"| **{num_features(num_seats)} in all** | | | | for {num_seats} seats |")
    return "\n".join(rows)


@kernel
def write_mask(t: Any, r: Any, seat: int, mask: Any) -> None:
    """Write into `mask` [A], 0 or 1, what `seat` may choose; a seat that is not to act shows STAND alone."""
    is_to_act = seat == t.to_act
    mask[STAND] = not is_to_act or can_stand(t, r)
    mask[1 - STAND] = is_to_act and can_exchange(t, r)


@kernel
def observe(t: Any, r: Any, seat: int, out: Any) -> None:
    """Write into `out`, float32 [F], what `seat` sees of the table now."""
    num_seats = np.int64(t.num_seats)
    for feature in range(NUM_GENERAL + NUM_PER_SEAT * num_seats):
        out[feature] = 0
    seen_low = t.seats[seat].seen[0] | t.face_up[0]
    seen_high = t.seats[seat].seen[1] | t.face_up[1]
    holds = is_live(t, r, seat)
    own = np.int64(-1)
    if holds:
        own = hand_rank(t, seat)
        _write_own(t, r, seat, own, out)
    _write_seats(t, r, seat, own, seen_low, seen_high, out)
    _write_deal(t, r, out)
    if holds and t.phase != BETWEEN:
        _write_counts(t, r, seat, own, seen_low, seen_high, out)
    if r.keeps_rest:
        for rank in range(np.int64(r.num_ranks)):
            if t.gone[seat, rank] > 0:
                out[_SEEN_BEFORE + rank] = np.float32(t.gone[seat, rank]) / np.float32(r.copies[rank])


@kernel
def _write_own(t: Any, r: Any, seat: int, own: int, out: Any) -> None:
    out[own] = 1
    out[_OWN_STRENGTH] = np.float32(own) * r.per_step
    out[_OWN_MATADOR] = r.matador[own]
    position = np.int64(t.seats[seat].hand)
    if position >= t.num_seats:
        out[_OWN_HISTORY + 2] = 1
    elif position == seat:
        out[_OWN_HISTORY] = 1
    else:
        out[_OWN_HISTORY + 1] = 1


@kernel
def _write_seats(t: Any, r: Any, seat: int, own: int, seen_low: int, seen_high: int, out: Any) -> None:
    """The block of each slot, and what is counted on the way round, in the direction of play.

    Without branches, since what the cards do is hard to predict; offsets are unsigned, which spares a test for
    negative indices at each store.
    """
    num_seats = np.int64(t.num_seats)
    direction = np.int64(r.direction)
    to_dealer = (np.int64(t.dealer) - seat) * direction  # steps from me to the dealer
    if to_dealer < 0:
        to_dealer += num_seats
    compared = np.int64(r.mid_deal_out == COMPARED)
    num_behind, num_live, num_left = 0, 0, 0
    lower_before, lower_behind = 0, 0
    other = seat
    for slot in range(num_seats):
        lives = np.int64(t.seats[other].lives)
        position = np.int64(t.seats[other].hand)
        answers = np.int64(t.seats[other].answers)
        is_behind = np.int64(slot <= to_dealer)
        is_left = np.int64(lives > 0)
        live = (is_left | compared) & np.int64(position >= 0)
        num_left += is_left
        num_live += live
        num_behind += live & is_behind
        position = max(position, 0)
        seen = seen_low >> position if position < 42 else seen_high >> (position - 42)
        known = live & seen
        rank = np.int64(t.deck[position])
        lower = known & np.int64(rank < own)
        lower_behind |= lower & is_behind
        lower_before |= lower & (1 - is_behind)
        at = np.uint64(NUM_GENERAL + NUM_PER_SEAT * slot)
        out[at + _PLAYING] = np.float32(live)
        out[at + _LIVES] = min(np.float32(MAX_SEATS), np.float32(lives) * r.per_life)
        out[at + _HISTORY + np.uint64(t.seats[other].turn)] = 1
        out[at + _REDIRECTED] = np.float32(answers & REDIRECTS)
        out[at + _DECLINED] = np.float32((answers // REFUSES) & 1)
        out[at + _KNOCK] = np.float32(t.seats[other].knocked)
        out[at + _REVEALED] = np.float32(t.seats[other].revealed) * r.per_rank
        out[at + _KNOWN] = np.float32(known)
        out[at + _KNOWN_RANK] = np.float32(rank * known) * r.per_step
        out[at + _KNOWN_IS_LOWER] = np.float32(lower)
        other = beside(t, other, direction)
    out[np.uint64(NUM_GENERAL + NUM_PER_SEAT * to_dealer) + _DEALER] = 1
    out[_KNOWN_LOWER] = np.float32(lower_before)
    out[_KNOWN_LOWER + 1] = np.float32(lower_behind)
    if own >= 0:
        out[_BEHIND + min(num_behind - 1, _NUM_BEHIND - 1)] = 1
    out[_IN_DEAL] = num_live * (1.0 / MAX_SEATS)
    out[_IN_MATCH] = num_left * (1.0 / MAX_SEATS)


@kernel
def _write_deal(t: Any, r: Any, out: Any) -> None:
    """Facts of the deal and of the ruleset."""
    out[_UNDONE] = t.undone > 0
    out[_STOCK_TURNED] = min(1.0, t.drawn / 10)
    if r.num_deals:
        out[_DEALS_LEFT] = max(0.0, (r.num_deals - t.deals) / r.num_deals)
        out[_RULES + 8] = 0
    else:
        out[_RULES + 8] = 1
    out[_POOL] = min(1.0, t.pool / (np.int64(t.num_seats) * r.lives))
    out[_RULES] = min(1.0, r.lives / 10)
    out[_RULES + 1] = r.skips
    out[_RULES + 2] = r.fine_to == TO_POOL
    out[_RULES + 3] = r.fine_to == TO_HOLDER
    out[_RULES + 4] = r.loss_to == TO_POOL
    out[_RULES + 5] = r.spoken
    out[_RULES + 6] = r.special[0]
    out[_RULES + 7] = r.stand_needs_matador
    out[_RULES + 9] = r.ties == TIED_FIRST
    out[_RULES + 10] = r.ties == TIED_UNIQUE or r.ties == TIED_UNEQUAL
    out[_RULES + 11] = r.all_out == ALL_REENTER
    out[_RULES + 12] = r.heals


@kernel
def _write_counts(t: Any, r: Any, seat: int, own: int, seen_low: int, seen_high: int, out: Any) -> None:
    """Chances that a card I have not seen is lower than mine, is a matador."""
    num_seen, num_lower, num_matadors = 0, 0, 0
    for position in range(np.int64(t.num_seats) + t.drawn):
        seen = seen_low >> position if position < 42 else seen_high >> (position - 42)
        if seen & 1:
            rank = np.int64(r.dealt_as[t.deck[position]])
            num_seen += 1
            num_lower += rank < own
            num_matadors += np.int64(r.matador[rank])
    if r.keeps_rest:
        for rank in range(np.int64(r.num_ranks)):
            num = np.int64(t.gone[seat, rank])
            num_seen += num
            num_lower += num * (rank < own)
            num_matadors += num * r.matador[rank]
    num_unseen = max(1, r.num_cards - num_seen)
    out[_LOWER] = (r.cards_below[own] - num_lower) / num_unseen
    out[_MATADOR] = (r.matadors_in_deck - num_matadors) / num_unseen
