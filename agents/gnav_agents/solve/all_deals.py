"""Kernels that go through every row of ranks that can be dealt, and through every choice in it; see nashconv.py.

Cards are dealt as they are looked at, each rank as likely as cards of it are left. A seat that is to act does what the
policy does, and once also what it does not, the others going on as the policy says.

Only at the end of a deal ranks go together: of cards that are lower than all others, as low as the lowest, or higher,
the engine is shown one each. That is all that a showdown of plain cards can ask of the last one.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.information import (
    NOT_FOUND,
    PUBLIC_SIZE,
    Index,
    find_node,
    position_in,
    public_key,
    size_of,
    write_public_of,
)
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_CARDS, MAX_RANKS, NOT_COMPARED
from gnav_env.effects import REDIRECTS
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, take_turn
from gnav_env.showdown import showdown
from gnav_env.state import (
    EXCHANGE,
    NOBODY,
    NUM_ACTIONS,
    STAND,
    TURNS,
    hand_rank,
    holds,
    is_live,
    neighbour,
    net_lives,
)

__all__ = ["MOST_SEATS", "WORK", "Book", "go_through"]

_NOTHING = -1
"""Instead of an action: none is chosen yet; instead of a position: no card is wanted."""
_LOWER, _TIED, _HIGHER, _APART = 0, 1, 2, 3
"""Groups of ranks, by the lowest card of the others; from _APART on each rank is its own."""
_HIGHEST = 127
_ENDLESS = 1 << 62
MOST_SEATS = 10
_NUM_LEVELS = 3 * MOST_SEATS + MAX_CARDS

FRAME = np.dtype(
    (
        np.record,
        [
            ("depth", np.int64),  # which table
            ("chosen", np.int64),  # the action of the seat to act, if it only lacks cards that will be looked at
            ("weight", np.float64),  # the chance that all this comes about
            ("position", np.int64),  # that is looked at; _NOTHING: a seat chooses
            ("next", np.int64),  # rank or action that is to be tried
            ("chance", np.float64),  # of the one that is being tried
            ("num", np.float64),  # cards that the one at the position can be
            ("actor", np.int64),
            ("state", np.int64),
            ("found", np.float64, (MOST_SEATS,)),  # what the deal is worth to each seat from here
        ],
    )
)
"""A card or a choice on the way."""
END = np.dtype((np.record, [("stamp", np.int64), ("worth", np.float64, (MOST_SEATS,))]))
"""What a deal ends with for each seat; it has been tried if the stamp is that of the day."""
WORK = np.dtype(
    (
        np.record,
        [
            ("num_seats", np.int64),
            ("num_ranks", np.int64),
            ("num_bytes", np.int64),  # the first bytes of a table, which are all of it that a deal of so many reads
            ("are_grouped", np.int64),  # whether a showdown asks for no more than the groups of ranks
            ("num_failures", np.int64),  # choices whose information state was not found
            ("plain", np.int64),  # a rank that trades
            ("stamp", np.int64),  # goes up with each deal whose ends are tried
            ("left", np.int64, (MAX_RANKS,)),  # cards of each rank that have not been looked at
            ("is_dealt", np.int8, (MAX_CARDS,)),  # whether the card at a position has been looked at
            ("frames", FRAME, (_NUM_LEVELS,)),
            ("stood", END, (_APART + MAX_RANKS,)),  # the ends at the last seat's turn: it stood, by group of its rank,
            ("took", END, (_APART + MAX_RANKS,)),  # ... took a stock card, by group of that one,
            ("turned", END, (MAX_RANKS * (_APART + MAX_RANKS),)),  # ... got an answer, by its rank and its own's group
            ("taken", END),  # the sum over the stock cards that can be taken
            ("offered", np.float64, (MOST_SEATS,)),  # what EXCHANGE is worth with the card at hand
            ("states", np.int64, (MAX_RANKS,)),  # of the last seat, by the rank of its card
            ("row", np.uint32, (PUBLIC_SIZE,)),
            ("last_key", np.uint64, (MOST_SEATS,)),
            ("last_node", np.int64, (MOST_SEATS,)),  # by seat: where it was last to act; mostly it is there again
        ],
    )
)
"""What kernels keep in mind. A record, since arrays in a tuple are slow to reach."""


class Book(NamedTuple):
    """The information states, what the policy does in them, and what has been found out about them."""

    states: Index
    stand: NDArray[np.float64]
    worth: NDArray[np.float64]
    """[num_states, A]: what each choice is worth, times the chance that the others bring the state about."""
    legal: NDArray[np.int8]
    """[num_states]: bit 1 STAND, bit 2 EXCHANGE; 0 where nobody has been."""
    actors: NDArray[np.int8]


@kernel
def go_through(works: Any, tables: Any, memory: Any, rules: Any, book: Book, ranks: Any, chance: float) -> None:
    """The first frame of `works` [1] has found what deals are worth that begin with `ranks` [S], -1: yet to come.

    Deep first, with a frame for each card that is looked at and each choice: numba keeps no kernels that call
    themselves. A choice that the policy does not make is tried where it has a chance to come about.
    """
    work, r = works[0], rules[0]
    _start(work, tables[0], r, ranks)
    level = 0
    frame = work.frames[0]
    frame.depth, frame.chosen, frame.weight = 0, _NOTHING, chance
    is_done = _enter(work, tables, memory, r, book, work.frames[0])
    for _ in range(_ENDLESS):
        if not is_done and _go_on(work, tables, r, book, work.frames[level], work.frames[level + 1]):
            level += 1
            is_done = _enter(work, tables, memory, r, book, work.frames[level])
            continue
        if level == 0:
            break
        level -= 1
        _take_in(work, book, work.frames[level], work.frames[level + 1])
        is_done = False


@kernel
def _start(work: Any, t: Any, r: Any, ranks: Any) -> None:
    """The deal is out, with what is known of it in `ranks` [S]."""
    for rank in range(work.num_ranks):
        work.left[rank] = r.copies[rank]
        if not r.special[rank] and r.asked[rank] == 0 and r.turned[rank] == 0:
            work.plain = rank
    begin_match(t, r, work.num_seats, work.num_seats - 1)
    for position in range(MAX_CARDS):
        t.deck[position] = work.plain
        work.is_dealt[position] = 0
    for seat in range(work.num_seats):
        if ranks[seat] >= 0:
            t.deck[seat] = ranks[seat]
            work.left[ranks[seat]] -= 1
            work.is_dealt[seat] = 1
    begin_deal(t, r)


@kernel
def _enter(work: Any, tables: Any, memory: Any, r: Any, book: Book, frame: Any) -> bool:
    """The frame has begun; True if that is all, since its deal goes no further."""
    depth, chosen = np.int64(frame.depth), np.int64(frame.chosen)
    position = _wanted(work, tables[depth], r, chosen)
    if chosen != _NOTHING and position < 0:
        _copy(work, memory, depth)
        depth += 1
        take_turn(tables[depth], r, chosen)
        chosen = _NOTHING
        position = _wanted(work, tables[depth], r, chosen)
        frame.depth, frame.chosen = depth, chosen
    t = tables[depth]
    frame.position, frame.next = position, 0
    for seat in range(work.num_seats):
        frame.found[seat] = 0
    if chosen == EXCHANGE and position >= work.num_seats and _ends_deal(work, tables, memory, r, depth, position):
        work.stamp += 1
        hand = np.int64(t.seats[t.to_act].hand)
        low = _low_of_others(work, t, r, hand)
        _turn_stock(work, tables, memory, r, depth, np.int64(t.deck[hand]), True, low, frame.found)
        return True
    if t.phase != TURNS:
        for seat in range(work.num_seats):
            frame.found[seat] = net_lives(t, seat)
        return True
    if t.to_act == NOBODY:
        if position < 0 or _num_wanted(work, t, r) == 1:
            _show(work, tables, memory, r, depth, position, frame)
            return True
    elif t.to_act == t.dealer and chosen == _NOTHING:
        _last(work, tables, memory, r, book, frame)
        return True
    if position >= 0:
        frame.num = _num_left(work, r, position)
    else:
        actor = np.int64(t.to_act)
        frame.actor = actor
        _find_states(work, t, r, book.states, actor, np.int64(t.deck[t.seats[actor].hand]))
        frame.state = _state(work, np.int64(t.deck[t.seats[actor].hand]))
        _note_legal(book, t, r, np.int64(frame.state))
    return False


@kernel
def _ends_deal(work: Any, tables: Any, memory: Any, r: Any, depth: int, position: int) -> bool:
    """Nobody is to act any more after the EXCHANGE that will look at `position` in the stock, whatever lies there."""
    tables[depth].deck[position] = work.plain
    _copy(work, memory, depth)
    take_turn(tables[depth + 1], r, EXCHANGE)
    return tables[depth + 1].to_act == NOBODY


@kernel
def _go_on(work: Any, tables: Any, r: Any, book: Book, frame: Any, child: Any) -> bool:
    """The `child` stands for the frame's next card or choice; False if there is none."""
    child.depth = frame.depth
    if frame.position >= 0:
        position = np.int64(frame.position)
        for rank in range(np.int64(frame.next), work.num_ranks):
            if work.left[rank] > 0 and _can_be(work, r, position, rank):
                frame.next, frame.chance = rank + 1, work.left[rank] / frame.num
                tables[frame.depth].deck[position] = rank
                work.left[rank] -= 1
                work.is_dealt[position] = 1
                child.chosen, child.weight = frame.chosen, frame.weight * frame.chance
                return True
        return False
    legal = np.int64(book.legal[frame.state])
    stand = _chance_of_stand(book.stand[frame.state], legal)
    for action in range(np.int64(frame.next), NUM_ACTIONS):
        chance = stand if action == STAND else 1 - stand
        if legal >> action & 1 and (chance > 0 or frame.weight > 0):
            frame.next, frame.chance = action + 1, chance
            child.chosen, child.weight = action, frame.weight * chance
            return True
    return False


@kernel
def _take_in(work: Any, book: Book, frame: Any, child: Any) -> None:
    """What the `child` has found is part of what the frame does."""
    if frame.position >= 0:
        work.left[frame.next - 1] += 1
        work.is_dealt[frame.position] = 0
    else:
        book.worth[frame.state, frame.next - 1] += frame.weight * child.found[frame.actor]
    for seat in range(work.num_seats):
        frame.found[seat] += frame.chance * child.found[seat]


@kernel
def _note_legal(book: Book, t: Any, r: Any, state: int) -> None:
    """What the seat to act may do is written down for its information state."""
    book.legal[state] = np.int64(can_stand(t, r)) + 2 * np.int64(can_exchange(t, r))
    book.actors[state] = t.to_act


@kernel
def _chance_of_stand(stand: float, legal: int) -> float:
    """What the policy's chance of STAND comes to where not everything is legal."""
    if legal == 3:
        return stand
    return 1.0 if legal == 1 else 0.0


@kernel
def _copy(work: Any, memory: Any, depth: int) -> None:
    """The table behind that at `depth` is like it."""
    for byte in range(work.num_bytes):
        memory[depth + 1, byte] = memory[depth, byte]


@kernel
def _wanted(work: Any, t: Any, r: Any, chosen: int) -> int:
    """The position that is looked at next and has not been before, _NOTHING if there is none."""
    if t.phase != TURNS or chosen == STAND:
        return _NOTHING
    if t.to_act == NOBODY:
        for seat in range(work.num_seats):
            if is_live(t, r, seat) and not work.is_dealt[t.seats[seat].hand]:
                return np.int64(t.seats[seat].hand)
        return _NOTHING
    seat: Any = np.int64(t.to_act)
    if chosen == _NOTHING:
        return _NOTHING if work.is_dealt[t.seats[seat].hand] else np.int64(t.seats[seat].hand)
    for _ in range(work.num_seats):
        if seat == t.dealer:
            break
        seat = neighbour(t, seat, r.direction)
        if not work.is_dealt[t.seats[seat].hand]:
            return np.int64(t.seats[seat].hand)
        if r.asked[hand_rank(t, seat)] != REDIRECTS:
            return _NOTHING
    for position in range(work.num_seats + t.drawn, np.int64(t.stock_end)):
        if not work.is_dealt[position]:
            return position
        if r.turned[t.deck[position]] != REDIRECTS:
            return _NOTHING
    return _NOTHING


@kernel
def _num_wanted(work: Any, t: Any, r: Any) -> int:
    """Live cards that have not been looked at."""
    num = 0
    for seat in range(work.num_seats):
        num += is_live(t, r, seat) and not work.is_dealt[t.seats[seat].hand]
    return num


@kernel
def _can_be(work: Any, r: Any, position: int, rank: int) -> bool:
    """A card of `rank` at `position` would not have knocked."""
    return position >= work.num_seats or not (r.knocks and r.special[rank])


@kernel
def _num_left(work: Any, r: Any, position: int) -> int:
    """Cards that the one at `position` can be."""
    num = 0
    for rank in range(work.num_ranks):
        if _can_be(work, r, position, rank):
            num += work.left[rank]
    return num


@kernel
def _find_states(work: Any, t: Any, r: Any, index: Index, actor: int, only: int) -> None:
    """`states` says in which information state `actor` is with each rank in hand, or with the `only` one (-1: any)."""
    key = public_key(work.row, write_public_of(t, r, actor, work.row))
    if work.last_node[actor] < 0 or work.last_key[actor] != key:
        work.last_key[actor] = key
        work.last_node[actor] = find_node(index, key)
    node = np.int64(work.last_node[actor])
    own, step, size, number = (
        -1,
        0,
        1,
        0,
    )  # the set of its own card's ranks if that is private, and what one of them counts
    is_found = node >= 0
    if is_found:
        kind = index.kind[node]
        number = index.first_state[node]
        for i in range(np.int64(index.kinds.num_seen[kind]) - 1, -1, -1):
            seat, ranks = np.int64(index.kinds.holders[kind, i]), np.int64(index.kinds.ranks[kind, i])
            hand = np.int64(t.seats[seat].hand)
            is_found = is_found and holds(t.seats[actor].seen, hand)
            if seat == actor:
                own, step = ranks, size
            else:
                at = position_in(ranks, np.int64(t.deck[hand]))
                is_found = is_found and at >= 0
                number += at * size
            size *= size_of(ranks)
    for rank in range(work.num_ranks):
        if only >= 0 and rank != only:
            continue
        at = position_in(own, rank) if own >= 0 else 0
        work.states[rank] = number + at * step if is_found and at >= 0 else NOT_FOUND


@kernel
def _state(work: Any, rank: int) -> int:
    """The state with `rank`; 0 stands for one that was not found, and the failure is counted."""
    if work.states[rank] == NOT_FOUND:
        work.num_failures += 1
        return 0
    return np.int64(work.states[rank])


@kernel
def _show(work: Any, tables: Any, memory: Any, r: Any, depth: int, position: int, frame: Any) -> None:
    """The frame has found what the deal at table `depth` is worth, which lacks only the card at `position`, if any."""
    t = tables[depth]
    work.stamp += 1
    if position < 0:
        end = work.taken
        _end(work, tables, memory, r, depth, _NOTHING, end)
        for seat in range(work.num_seats):
            frame.found[seat] = end.worth[seat]
        return
    low = _low_of_others(work, t, r, position)
    num = _num_left(work, r, position)
    for rank in range(work.num_ranks):
        if work.left[rank] > 0 and _can_be(work, r, position, rank):
            t.deck[position] = rank
            end = work.stood[_group(r, rank, low)]
            _end(work, tables, memory, r, depth, _NOTHING, end)
            for seat in range(work.num_seats):
                frame.found[seat] += work.left[rank] / num * end.worth[seat]


@kernel
def _end(work: Any, tables: Any, memory: Any, r: Any, depth: int, chosen: int, end: Any) -> None:
    """`end` is known: what the deal at table `depth` ends with after the last choice, or if there is none any more."""
    if end.stamp == work.stamp:
        return
    end.stamp = work.stamp
    _copy(work, memory, depth)
    t = tables[depth + 1]
    if chosen == _NOTHING:
        showdown(t, r)
    else:
        act(t, r, chosen)
    for seat in range(work.num_seats):
        end.worth[seat] = net_lives(t, seat)


@kernel
def _low_of_others(work: Any, t: Any, r: Any, position: int) -> int:
    """The height of the lowest live card but that at `position`; -1 where ranks do not go together.

    That is where fallen seats have cards: an undoing could give them other ones.
    """
    low = _HIGHEST
    if not work.are_grouped:
        return -1
    for seat in range(work.num_seats):
        if not is_live(t, r, seat):
            return -1
        hand = np.int64(t.seats[seat].hand)
        rank = np.int64(t.deck[hand])
        if hand != position and not r.special[rank] and r.height[rank] != NOT_COMPARED:
            low = min(low, np.int64(r.height[rank]))
    return low


@kernel
def _group(r: Any, rank: int, low: int) -> int:
    """The group of `rank` when the lowest of the others is of the height `low`."""
    height = np.int64(r.height[rank])
    if low < 0 or r.special[rank] or height == NOT_COMPARED:
        return _APART + rank
    if height < low:
        return _LOWER
    return _TIED if height == low else _HIGHER


@kernel
def _last(work: Any, tables: Any, memory: Any, r: Any, book: Book, frame: Any) -> None:
    """The frame has found what the deal is worth where the last seat is to choose, its card looked at or not."""
    depth = np.int64(frame.depth)
    t = tables[depth]
    actor = np.int64(t.to_act)
    position = np.int64(t.seats[actor].hand)
    dealt = np.int64(t.deck[position]) if work.is_dealt[position] else -1
    low = _low_of_others(work, t, r, position)
    _find_states(work, t, r, book.states, actor, dealt)
    work.stamp += 1
    num = 1 if dealt >= 0 else _num_left(work, r, position)
    for rank in range(work.num_ranks):
        if rank != dealt and (dealt >= 0 or work.left[rank] == 0 or not _can_be(work, r, position, rank)):
            continue
        here = 1.0 if dealt >= 0 else work.left[rank] / num
        t.deck[position] = rank
        state = _state(work, rank)
        _note_legal(book, t, r, state)
        legal = np.int64(book.legal[state])
        stand = _chance_of_stand(book.stand[state], legal)
        if legal & 1 and (stand > 0 or frame.weight > 0):
            end = work.stood[_group(r, rank, low)]
            _end(work, tables, memory, r, depth, STAND, end)
            book.worth[state, STAND] += frame.weight * here * end.worth[actor]
            for seat in range(work.num_seats):
                frame.found[seat] += here * stand * end.worth[seat]
        if legal & 2 and (stand < 1 or frame.weight > 0):
            _turn_stock(work, tables, memory, r, depth, rank, dealt >= 0, low, work.offered)
            book.worth[state, EXCHANGE] += frame.weight * here * work.offered[actor]
            for seat in range(work.num_seats):
                frame.found[seat] += here * (1 - stand) * work.offered[seat]


@kernel
def _turn_stock(
    work: Any, tables: Any, memory: Any, r: Any, depth: int, own: int, is_dealt: bool, low: int, out: Any
) -> None:
    """`out` [S] says what an EXCHANGE is worth that gets as far as the stock and ends the deal, with the card `own`.

    The first stock card that does not pass the challenge on is any of those cards, each as likely.
    """
    t = tables[depth]
    place = work.num_seats + np.int64(t.drawn)
    if work.taken.stamp != work.stamp:
        _sum_taken(work, tables, memory, r, depth, low)
    for seat in range(work.num_seats):
        out[seat] = work.taken.worth[seat]
    num = 0
    for rank in range(work.num_ranks):
        if r.turned[rank] == REDIRECTS:
            continue
        left = work.left[rank]
        if rank == own and not is_dealt:
            left -= 1
            if r.turned[rank] == 0:
                end = work.took[_group(r, rank, low)]
                for seat in range(work.num_seats):
                    out[seat] -= end.worth[seat]
        num += left
        if left > 0 and r.turned[rank] != 0:
            t.deck[place] = rank
            end = work.turned[rank * (_APART + MAX_RANKS) + _group(r, own, low)]
            _end(work, tables, memory, r, depth, EXCHANGE, end)
            for seat in range(work.num_seats):
                out[seat] += left * end.worth[seat]
    for seat in range(work.num_seats):
        out[seat] /= num


@kernel
def _sum_taken(work: Any, tables: Any, memory: Any, r: Any, depth: int, low: int) -> None:
    """`taken` is what the stock cards that can be taken are worth, all together."""
    t = tables[depth]
    work.taken.stamp = work.stamp
    for seat in range(work.num_seats):
        work.taken.worth[seat] = 0
    for rank in range(work.num_ranks):
        if work.left[rank] > 0 and r.turned[rank] == 0:
            t.deck[work.num_seats + t.drawn] = rank
            end = work.took[_group(r, rank, low)]
            _end(work, tables, memory, r, depth, EXCHANGE, end)
            for seat in range(work.num_seats):
                work.taken.worth[seat] += work.left[rank] * end.worth[seat]
