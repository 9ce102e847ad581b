"""What a seat may think of the cards that it does not know: how likely each rank is, and samples of them all.

rebuilding.py gives the course of the deal. A card may be of any rank with which that course would have been the same,
which the engine is asked, rank by rank; how likely the ranks are is then a matter of what its holders chose. Given the
course the positions have nothing to do with each other but for the deck, so that a rank's weight at each position says
it all, and a sample is drawn position by position.

The others are thought to be the threshold players of opponents.py, with slips (`chance_of_exchange`). rollout.py plays
on.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_agents.agent import is_playing, known_rank, place
from gnav_agents.rebuilding import begin, rebuild, replay, seat_of, shows, turn_of
from gnav_env._jit import kernel
from gnav_env.chance import below, random_key
from gnav_env.compiled import MAX_CARDS, MAX_RANKS
from gnav_env.engine import act, can_exchange, can_stand, cards_needed
from gnav_env.state import EXCHANGE, STAND, STOOD

__all__ = ["BELIEF", "UNSURE", "chance_of_exchange", "draw_cards", "read_view"]

BELIEF = np.dtype(
    (
        np.record,
        [
            ("deck", np.int8, (MAX_CARDS,)),  # ranks by position with which the deal has gone as the view says
            ("is_known", np.int8, (MAX_CARDS,)),  # 1 where the seat knows the card at a position
            ("weight", np.float64, (MAX_CARDS, MAX_RANKS)),  # likelihood of what is seen if the position has the rank
            ("num_hidden", np.int16),  # positions whose cards are to be drawn
            ("num_weighed", np.int16),  # so many of them, the first, have weights that matter
            ("hidden", np.int8, (MAX_CARDS,)),  # these positions
            ("num_unseen", np.int16),  # cards that the seat has not seen
            ("unseen", np.int16, (MAX_RANKS,)),  # ... by rank
            ("left", np.int16, (MAX_RANKS,)),  # ... and not drawn so far
        ],
    )
)
"""What a seat makes of its view, beside the record of the table."""

UNSURE = 0.02
"""The chance that another player has done the opposite of what its threshold says."""

_TO_UNIT = 2.0**-53
_SHIFT = np.uint64(11)
_SEEN_BEFORE = place("seen_before")


@kernel
def read_view(view: Any, num_seats: int, r: Any, kinds: Any, level: int, tables: Any, b: Any, scratch: Any) -> bool:
    """The deal is in tables[0] as the `view` [F] has it, seat 0 to act, and in `b` what it says of hidden cards.

    The others are thought to exchange below a rank that each draws anew, `level` or one more or less. False if the
    view is not that of a seat with a live card. tables [2] and scratch float32 [F] are written.
    """
    if not is_playing(view, 0):
        return False
    t = tables[0]
    is_found = rebuild(view, num_seats, r, kinds, t, b.deck, scratch)
    for position in range(MAX_CARDS):
        b.is_known[position] = 0
        for rank in range(MAX_RANKS):
            b.weight[position, rank] = 1
    for slot in range(num_seats):
        position = np.int64(t.seats[seat_of(slot, num_seats, r)].hand)
        if position >= 0 and known_rank(view, slot, r.num_ranks) >= 0:
            b.is_known[position] = 1
    if is_found:
        _weigh_courses(view, num_seats, r, kinds, tables, b, scratch)
        _weigh_actions(view, num_seats, r, level, tables[1], b)
    _list_hidden(view, r, t, b)
    return True


@kernel
def _weigh_courses(view: Any, num_seats: int, r: Any, kinds: Any, tables: Any, b: Any, scratch: Any) -> None:
    """The weight of each rank at each hidden position is 0 if the deal would have gone another way with it."""
    t, trial = tables[0], tables[1]
    for position in range(num_seats + np.int64(t.drawn)):
        if not _is_hidden(t, b, position):
            continue
        dealt = b.deck[position]
        for kind in range(np.int64(r.num_ranks)):
            if kinds[kind] != kind or kinds[dealt] == kind:
                continue
            b.deck[position] = kind
            if not (
                replay(view, num_seats, r, b.deck, trial)
                and _is_same_course(t, trial)
                and shows(view, num_seats, r, trial, scratch)
            ):
                for rank in range(np.int64(r.num_ranks)):
                    if kinds[rank] == kind:
                        b.weight[position, rank] = 0
        b.deck[position] = dealt


@kernel
def _is_hidden(t: Any, b: Any, position: int) -> bool:
    """A card of this deal lies at `position`, or may come from there, and the seat does not know it."""
    return not b.is_known[position] and (position >= t.num_seats or t.seats[position].hand >= 0)


@kernel
def _is_same_course(t: Any, other: Any) -> bool:
    """In both deals the same seats have traded, so that they hold the same positions."""
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].hand != other.seats[seat].hand or t.seats[seat].asked != other.seats[seat].asked:
            return False
    return True


@kernel
def _weigh_actions(view: Any, num_seats: int, r: Any, level: int, t: Any, b: Any) -> None:
    """Each position's weights are multiplied by the chance of what its holders chose."""
    begin(view, num_seats, r, b.deck, t)
    for _ in range(num_seats):
        seat = np.int64(t.to_act)
        if seat <= 0:
            break
        position = np.int64(t.seats[seat].hand)
        action = STAND if turn_of(view, seat_of(seat, num_seats, r)) == STOOD else EXCHANGE
        dealt = t.deck[position]
        for rank in range(np.int64(r.num_ranks)):
            t.deck[position] = rank
            exchanges = chance_of_exchange(t, r, rank, level)
            b.weight[position, rank] *= exchanges if action == EXCHANGE else 1 - exchanges
        t.deck[position] = dealt
        act(t, r, action)


@kernel
def chance_of_exchange(t: Any, r: Any, rank: int, level: int) -> float:
    """The chance that another player to act who holds a `rank` chooses EXCHANGE."""
    if not can_stand(t, r):
        return 1.0
    if not can_exchange(t, r):
        return 0.0
    share = min(max(level + 1 - rank, 0), 3) / 3
    return UNSURE + (1 - 2 * UNSURE) * share


@kernel
def _list_hidden(view: Any, r: Any, t: Any, b: Any) -> None:
    """`b` lists the positions whose cards are to be drawn, those with weights first, and counts the cards for them."""
    num_ranks, num_seats = np.int64(r.num_ranks), np.int64(t.num_seats)
    b.num_unseen = 0
    for rank in range(num_ranks):
        b.unseen[rank] = r.copies[rank]
        if r.keeps_rest:
            b.unseen[rank] -= np.int64(np.rint(view[_SEEN_BEFORE + rank] * r.copies[rank]))
    for position in range(num_seats + np.int64(t.drawn)):
        if b.is_known[position]:
            b.unseen[r.dealt_as[t.deck[position]]] -= 1
    for rank in range(num_ranks):
        b.num_unseen += b.unseen[rank]

    b.num_hidden, b.num_weighed = 0, 0
    for matters in (True, False):
        for position in range(cards_needed(t, r)):
            if _is_hidden(t, b, position) and _has_weights(r, b, position) == matters:
                b.hidden[b.num_hidden] = position
                b.num_hidden += 1
        if matters:
            b.num_weighed = b.num_hidden


@kernel
def _has_weights(r: Any, b: Any, position: int) -> bool:
    """What is seen is more likely with some ranks at `position` than with others."""
    least, most = np.inf, 0.0
    for rank in range(np.int64(r.num_ranks)):
        if b.unseen[rank] > 0:
            least = min(least, b.weight[position, rank])
            most = max(most, b.weight[position, rank])
    return least < most


@kernel
def draw_cards(b: Any, r: Any, key: Any, deck: Any) -> float:
    """The hidden positions of `deck` have cards drawn by `key`; gives back how much the sample counts.

    Position by position a rank is drawn by its weight and the number of cards left; the sample then counts as the
    product of what the ranks to choose from weighed. Means of samples that count so are right (self-normalised
    importance sampling).
    """
    num_ranks = np.int64(r.num_ranks)
    for rank in range(num_ranks):
        b.left[rank] = b.unseen[rank]
    counts = 1.0
    for i in range(np.int64(b.num_hidden)):
        position = np.int64(b.hidden[i])
        bits = random_key(key, i)
        drawn = -1
        if i < b.num_weighed:
            total = 0.0
            for rank in range(num_ranks):
                total += b.left[rank] * b.weight[position, rank]
            if total <= 0:
                return 0.0
            counts *= total
            rest = total * (np.float64(bits >> _SHIFT) * _TO_UNIT)
            for rank in range(num_ranks):
                share = b.left[rank] * b.weight[position, rank]
                if share > 0:
                    drawn = rank
                    rest -= share
                    if rest < 0:
                        break
        else:
            rest_of_cards = below(bits, b.num_unseen - i)
            for rank in range(num_ranks):
                rest_of_cards -= np.int64(b.left[rank])
                if rest_of_cards < 0:
                    drawn = rank
                    break
        b.left[drawn] -= 1
        deck[position] = drawn
    return counts
