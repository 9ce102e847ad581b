"""Information states: all that a seat may know when it chooses, as a number, for solver, agents and tests alike.

What is public comes first: what every seat of the deal has done, in the order of action, and where in it the seat is
that looks. That is a row of small numbers, the same whether it is read from an observation (`write_public`) or from
a table (`write_public_of`), and its hash is the key of a node of the public tree (tree.py). Within the node the ranks
that the seat has seen make the number: its own card, and those that it knows in other hands. Seats without a card in
the deal do not count, so four seats of six are a deal of four.

An observation does not say which faces the stock has shown. Where a seat can still choose after that (in letters), a
few nodes look alike to it, and the first of them stands for all; `write_public_of` keeps them apart.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import SLOT, Masks, Observations, dealer_slot, is_playing, known_rank, place
from gnav_agents.solve.tree import Node, Tree
from gnav_env._jit import kernel
from gnav_env.chance import random_key
from gnav_env.compiled import MAX_CARDS, MAX_RANKS, MAX_SEATS
from gnav_env.effects import REDIRECTS
from gnav_env.engine import begin_deal, begin_match, take_turn
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, num_seats_of, observe, write_mask
from gnav_env.rules import Rules
from gnav_env.state import NOT_ACTED, NUM_ACTIONS, STOCK, TABLE, beside, holds

__all__ = [
    "MAX_SEEN",
    "NOT_FOUND",
    "PUBLIC_SIZE",
    "Index",
    "InformationStates",
    "Kinds",
    "find_all",
    "find_node",
    "find_state",
    "make_index",
    "num_in_deal",
    "position_in",
    "public_key",
    "public_keys",
    "size_of",
    "write_public",
    "write_public_of",
]

MAX_SEEN = 4
"""Most cards that a seat knows when it chooses and that all do not, its own among them."""
NOT_FOUND = -1
"""Instead of a state's number."""
PUBLIC_SIZE = 1 + 2 * MAX_SEATS + 2 * MAX_CARDS
"""Longest row of what is public."""

_HISTORY, _ANSWERED, _KNOCK, _REVEALED = map(place, ("action_history", "answered", "knock", "revealed_matador"))
_UNDONE, _STOCK_TURNED = map(place, ("undone", "stock_turned"))
_MOST_TURNED = 10
_NUM_TURNS = 6


class Kinds(NamedTuple):
    """What a seat knows in a node, by kind of node: so few are different that nodes share them."""

    num_seen: NDArray[np.int8]
    """Cards, [K]."""
    holders: NDArray[np.int8]
    """Who holds them, [K, MAX_SEEN]: places in the order of action, that of the seat itself first if it is there."""
    ranks: NDArray[np.uint32]
    """The ranks that each may have, [K, MAX_SEEN]: sets of bits."""


class Index(NamedTuple):
    """From what is public to the information states of a node. numba takes it as it is."""

    keys: NDArray[np.uint64]
    """Ascending, [N]; of equal ones the first counts."""
    first_state: NDArray[np.int64]
    kind: NDArray[np.int32]
    kinds: Kinds
    compiled: NDArray[Any]
    """The compiled rules, [1]."""
    num_states: int


@kernel
def write_public(view: Any, r: Any, num_seats: int, order: Any, row: Any) -> int:
    """What is public in an observation's row `view` [F] of a table of `num_seats`, as far as it tells.

    Writes the slots of the deal's seats in the order of action into `order`, int64 [MAX_SEATS], and what they did into
    `row`, uint32 [PUBLIC_SIZE]; the number of entries of `row`, 1 + the deal's seats, comes back.
    """
    num_ranks = np.int64(r.num_ranks)
    dealer = dealer_slot(view, num_seats)
    size = 1
    own = 0
    for step in range(num_seats):
        slot = dealer + 1 + step
        if slot >= num_seats:
            slot -= num_seats
        if not is_in_deal(view, slot):
            continue
        at = SLOT * slot
        turn = 0
        for i in range(_NUM_TURNS):
            if view[_HISTORY + at + i] > 0:
                turn = i
        answers = np.int64(view[_ANSWERED + at] > 0) + 2 * np.int64(view[_ANSWERED + 1 + at] > 0)
        shown = np.int64(np.rint(view[_REVEALED + at] * num_ranks))
        if slot == 0:
            own = size - 1
        face = -1 if slot == 0 else known_rank(view, slot, num_ranks)
        if face >= 0 and r.asked[face] == 0:
            face = -1  # it has not answered: the seat may know it, all do not
        order[size - 1] = slot
        row[size] = _seat_code(turn, answers, np.int64(view[_KNOCK + at] > 0), shown, face)
        size += 1
    turned = np.int64(np.rint(view[_STOCK_TURNED] * _MOST_TURNED))
    row[0] = _deal_code(own, size - 1, np.int64(view[_UNDONE] > 0), turned)
    return size


@kernel
def is_in_deal(view: Any, slot: int) -> bool:
    """The slot was dealt a card in this deal, whether it has fallen since or not."""
    return is_playing(view, slot) or view[_HISTORY + SLOT * slot + NOT_ACTED] == 0


@kernel
def write_public_of(t: Any, r: Any, seat: int, row: Any) -> int:
    """All that is public in a deal of a table, and where in it `seat` is, into `row`; how many entries there are.

    Beyond what `write_public` writes it has whom each seat asked, which card it holds and the faces of the stock. In
    which order cards passed one challenge on is left out.
    """
    num_seats = np.int64(t.num_seats)
    size = 1
    own = 0
    other = np.int64(t.dealer)
    for _ in range(num_seats):
        other = beside(t, other, r.direction)
        s = t.seats[other]
        hand = np.int64(s.hand)
        if hand < 0:
            continue
        if other == seat:
            own = size // 2
        face = np.int64(t.deck[hand]) if holds(t.face_up, hand) else -1
        row[size] = _seat_code(np.int64(s.turn), np.int64(s.answers), np.int64(s.knocked), np.int64(s.revealed), face)
        row[size + 1] = hand + (np.int64(s.asked) - STOCK << 7)
        size += 2
    row[0] = _deal_code(own, size // 2, np.int64(t.undone), np.int64(t.drawn))
    begin = num_seats
    for position in range(num_seats, num_seats + t.drawn):
        is_shown = holds(t.face_up, position)
        if is_shown and r.turned[t.deck[position]] == REDIRECTS:
            continue
        for rank in range(np.int64(r.num_ranks) if position > begin else 0):
            num = 0
            for passed in range(begin, position):
                num += t.deck[passed] == rank
            if num > 0:
                row[size] = rank + (num << 5)
                size += 1
        row[size] = np.int64(t.deck[position]) if is_shown else 31
        size += 1
        begin = position + 1
    return size


@kernel
def _seat_code(turn: int, answers: int, knocked: int, shown: int, face: int) -> int:
    return turn + (answers << 3) + (knocked << 5) + (shown << 6) + (face + 1 << 11)


@kernel
def _deal_code(own: int, num: int, undone: int, turned: int) -> int:
    return own + (num << 6) + (undone << 12) + (turned << 18)


@kernel
def public_key(row: Any, size: int) -> Any:
    """The key, uint64, of what is public: the `size` first entries of `row`."""
    key = random_key(np.uint64(0), size)
    for i in range(size):
        key = random_key(key, np.int64(row[i]))
    return key


@kernel
def find_node(index: Index, key: Any) -> int:
    """Where in the index the node with this key stands, NOT_FOUND if it is not there."""
    low, high = 0, index.keys.size
    for _ in range(64):
        if low >= high:
            break
        middle = (low + high) // 2
        if index.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < index.keys.size and index.keys[low] == key:
        return low
    return NOT_FOUND


@kernel
def position_in(ranks: Any, rank: int) -> int:
    """Which of the set `ranks`, lowest first, `rank` is, NOT_FOUND if it is none of them."""
    bits = np.int64(ranks)
    if rank < 0 or not bits >> rank & 1:
        return NOT_FOUND
    num = 0
    for lower in range(rank):
        num += bits >> lower & 1
    return num


@kernel
def size_of(ranks: Any) -> int:
    """How many the set `ranks` has."""
    num = 0
    for rank in range(MAX_RANKS):
        num += np.int64(ranks) >> rank & 1
    return num


@kernel
def find_state(index: Index, view: Any, num_seats: int, order: Any, row: Any) -> int:
    """The number of the information state that `view` [F] is, NOT_FOUND if the index has none; the rest is scratch."""
    size = write_public(view, index.compiled[0], num_seats, order, row)
    node = find_node(index, public_key(row, size))
    if node < 0:
        return NOT_FOUND
    kind = index.kind[node]
    number = 0
    for i in range(index.kinds.num_seen[kind]):
        ranks = index.kinds.ranks[kind, i]
        rank = known_rank(view, order[index.kinds.holders[kind, i]], np.int64(index.compiled[0].num_ranks))
        at = position_in(ranks, rank)
        if at < 0:
            return NOT_FOUND
        number = number * size_of(ranks) + at
    return index.first_state[node] + number


@kernel
def find_all(index: Index, observations: Any, num_seats: int, states: Any) -> None:
    """Write into `states` [B] the numbers of the information states of `observations` [B, F], or NOT_FOUND."""
    order, row = np.zeros(MAX_SEATS, np.int64), np.zeros(PUBLIC_SIZE, np.uint32)
    for b in range(states.size):
        states[b] = find_state(index, observations[b], num_seats, order, row)


def num_in_deal(observations: Observations) -> NDArray[np.int64]:
    """The seats of the deal, those that have fallen in it among them, [B]."""
    num_seats = num_seats_of(observations.shape[1])
    numbers = np.empty(len(observations), np.int64)
    _num_in_deal_all(observations, num_seats, numbers)
    return numbers


@kernel
def _num_in_deal_all(observations: Any, num_seats: int, numbers: Any) -> None:
    for b in range(numbers.size):
        view = observations[b]
        numbers[b] = 0
        for slot in range(num_seats):
            numbers[b] += is_in_deal(view, slot)


def public_keys(rows: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """The keys of `rows`, [N]."""
    keys = np.empty(len(rows), np.uint64)
    _public_keys_all(rows, keys)
    return keys


@kernel
def _public_keys_all(rows: Any, keys: Any) -> None:
    for i in range(keys.size):
        keys[i] = public_key(rows[i], rows.shape[1])


def make_index(keys: NDArray[np.uint64], kind: NDArray[np.int32], kinds: Kinds, rules: Rules) -> Index:
    """The index of nodes that stand one after another as in their tree: each begins where the last one's states end."""
    sizes = np.array(
        [
            np.prod([int(ranks).bit_count() for ranks in row[:num]], dtype=np.int64)
            for num, row in zip(kinds.num_seen.tolist(), kinds.ranks, strict=True)
        ],
        np.int64,
    )[kind]
    order = np.argsort(keys, kind="stable")
    first_state = np.cumsum(sizes) - sizes
    return Index(keys[order], first_state[order], kind[order], kinds, rules.compiled, int(sizes.sum()))


class _Histories(NamedTuple):
    """How each node where a seat chooses comes about, and what the seat knows there."""

    actors: NDArray[np.int8]
    decks: NDArray[np.int8]
    num_actions: NDArray[np.int8]
    actions: NDArray[np.int8]
    num_seen: NDArray[np.int8]
    positions: NDArray[np.int8]
    ranks: NDArray[np.uint32]
    first_state: NDArray[np.int64]


class InformationStates:
    """The information states of a public tree: where to find them, and what a seat sees in them."""

    def __init__(self, tree: Tree) -> None:
        """Raises `GnavError` if a seat of the tree knows more cards than an index has room for."""
        self.tree = tree
        self._nodes = [node for node in tree.nodes if node.actor >= 0]
        self._histories = _histories(tree, self._nodes)
        self._lives = np.array(tree.lives, np.int16)
        self._sits_out = np.array(tree.sits_out, np.int8)
        self.kind, self.kinds = self._kinds()

    def rows(self) -> NDArray[np.uint32]:
        """What the actor of each node observes that is public, in the order of nodes, [N, 1 + seats of the deal]."""
        rows = np.zeros((len(self._nodes), 1 + self.tree.num_seats - sum(self.tree.sits_out)), np.uint32)
        self._read(rows, by_table=False)
        return rows

    def index(self, by: Literal["observation", "table"] = "observation") -> Index:
        """Where to find the states from what a seat observes, or from a table with `write_public_of`."""
        if by == "observation":
            keys = public_keys(self.rows())
        else:
            keys = self._read(np.zeros((0, 0), np.uint32), by_table=True)
        return make_index(keys, self.kind, self.kinds, self.tree.rules)

    def _read(self, rows: NDArray[np.uint32], *, by_table: bool) -> NDArray[np.uint64]:
        keys = np.empty(len(self._nodes), np.uint64)
        view = np.zeros(num_features(self.tree.num_seats), np.float32)
        _read_all(
            np.zeros(1, TABLE),
            self._histories,
            self.tree.compiled,
            self._lives,
            self._sits_out,
            by_table,
            view,
            rows,
            keys,
        )
        return keys

    def observations(self, states: Sequence[int] | NDArray[np.int64]) -> tuple[Observations, Masks]:
        """What the actors see in these information states, [B, F], and may do, [B, A]; all have the tree's lives.

        A state that needs more cards of a rank than there are is shown too, though nobody ever is in it. Raises
        `GnavError` for a number that is no state's.
        """
        states = np.asarray(states, np.int64)
        if states.size and not (states.min() >= 0 and states.max() < self.tree.num_states):
            raise GnavError(f"states should be numbers from 0 to {self.tree.num_states - 1}")
        observation = np.empty((len(states), num_features(self.tree.num_seats)), np.float32)
        mask = np.empty((len(states), NUM_ACTIONS), np.int8)
        at = np.searchsorted(self._histories.first_state, states, side="right") - 1
        _observe_states_all(
            np.zeros(1, TABLE),
            self._histories,
            self.tree.compiled,
            self._lives,
            self._sits_out,
            at,
            states,
            observation,
            mask,
        )
        return observation, mask

    def _kinds(self) -> tuple[NDArray[np.int32], Kinds]:
        """The kind of each node, [N], and the kinds."""
        seats = [seat for seat in range(self.tree.num_seats) if not self.tree.sits_out[seat]]
        place_of = {seat: number for number, seat in enumerate(seats)}
        numbers: dict[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], int] = {}
        kind = np.empty(len(self._nodes), np.int32)
        for i, node in enumerate(self._nodes):
            if len(node.seen) > MAX_SEEN or any(seat not in place_of for seat in node.holders):
                raise GnavError(
                    f"ruleset {self.tree.rules.name}: a seat would have to remember more than an observation tells"
                )
            key = (tuple(place_of[seat] for seat in node.holders), tuple(node.domains[at] for at in node.seen))
            kind[i] = numbers.setdefault(key, len(numbers))
        kinds = Kinds(
            np.array([len(holders) for holders, _ in numbers], np.int8),
            np.array([(*holders, *[0] * (MAX_SEEN - len(holders))) for holders, _ in numbers], np.int8),
            np.array([_sets(domains) for _, domains in numbers], np.uint32),
        )
        return kind, kinds


def _sets(domains: Sequence[Sequence[int]]) -> list[int]:
    """Ranks as sets of bits, [MAX_SEEN]."""
    return [sum(1 << rank for rank in ranks) for ranks in domains] + [0] * (MAX_SEEN - len(domains))


def _histories(tree: Tree, nodes: Sequence[Node]) -> _Histories:
    most = max((len(node.actions) for node in nodes), default=0)
    seen = [[node.open[at] for at in node.seen][:MAX_SEEN] for node in nodes]
    return _Histories(
        actors=np.array([node.actor for node in nodes], np.int8),
        decks=np.array([np.frombuffer(node.deck, np.int8) for node in nodes]).reshape(-1, MAX_CARDS),
        num_actions=np.array([len(node.actions) for node in nodes], np.int8),
        actions=np.array([(*node.actions, *[0] * (most - len(node.actions))) for node in nodes], np.int8),
        num_seen=np.array([len(positions) for positions in seen], np.int8),
        positions=np.array([positions + [0] * (MAX_SEEN - len(positions)) for positions in seen], np.int8),
        ranks=np.array([_sets([node.domains[at] for at in node.seen][:MAX_SEEN]) for node in nodes], np.uint32),
        first_state=np.array([node.first_state for node in nodes], np.int64),
    )


@kernel
def _replay(histories: _Histories, i: int, t: Any, r: Any, lives: Any, sits_out: Any) -> None:
    """The table is in node `i`, whose actor is to act."""
    begin_match(t, r, lives.size, lives.size - 1)
    for seat in range(lives.size):
        t.seats[seat].lives = lives[seat]
        t.seats[seat].sits_out = sits_out[seat]
    for position in range(MAX_CARDS):
        t.deck[position] = histories.decks[i, position]
    begin_deal(t, r)
    for action in range(histories.num_actions[i]):
        take_turn(t, r, np.int64(histories.actions[i, action]))


@kernel
def _read_all(
    tables: Any,
    histories: _Histories,
    rules: Any,
    lives: Any,
    sits_out: Any,
    by_table: bool,
    view: Any,
    rows: Any,
    keys: Any,
) -> None:
    """Write the key of each node, and its row if it is read from an observation.

    `tables` [1] and `view` [F] are scratch.
    """
    t, r = tables[0], rules[0]
    order, row = np.zeros(MAX_SEATS, np.int64), np.zeros(PUBLIC_SIZE, np.uint32)
    for i in range(keys.size):
        _replay(histories, i, t, r, lives, sits_out)
        seat = np.int64(histories.actors[i])
        if by_table:
            size = write_public_of(t, r, seat, row)
        else:
            observe(t, r, seat, view)
            size = write_public(view, r, lives.size, order, row)
            for entry in range(size):
                rows[i, entry] = row[entry]
        keys[i] = public_key(row, size)


@kernel
def _observe_states_all(
    tables: Any,
    histories: _Histories,
    rules: Any,
    lives: Any,
    sits_out: Any,
    nodes: Any,
    states: Any,
    observations: Any,
    masks: Any,
) -> None:
    """Write what the actor of node `nodes[b]` sees in the state `states[b]`; `tables` [1] is scratch."""
    t, r = tables[0], rules[0]
    replayed = -1
    for b in range(states.size):
        i = nodes[b]
        if i != replayed:
            _replay(histories, i, t, r, lives, sits_out)
            replayed = i
        number = states[b] - histories.first_state[i]
        for j in range(histories.num_seen[i] - 1, -1, -1):
            ranks = histories.ranks[i, j]
            size = size_of(ranks)
            at = number % size
            number //= size
            for rank in range(MAX_RANKS):
                if position_in(ranks, rank) == at:
                    t.deck[histories.positions[i, j]] = rank
        seat = np.int64(histories.actors[i])
        observe(t, r, seat, observations[b])
        write_mask(t, r, seat, masks[b])
