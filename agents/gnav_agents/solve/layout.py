"""A public tree (tree.py) laid out in arrays for the kernels of sweep.py, with the order in which they go through it.

A node's reach is an array [settled summaries, combos]: a combo is a combination of the ranks of its open positions.
The last seat to act has no arrays: its node is gone through from its parent's.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.settled import NO_RANK, make_summaries
from gnav_agents.solve.tree import Edge, Ending, Node, Tree
from gnav_env.compiled import MAX_RANKS
from gnav_env.effects import REDIRECTS
from gnav_env.errors import GnavError
from gnav_env.state import EXCHANGE, STAND

__all__ = ["END", "ENTER", "EXIT", "LAST", "Layout", "lay_out"]

ENTER, EXIT, END, LAST = 0, 1, 2, 3
"""Steps: reach goes down an edge, values come up it; the deal ends; the last seat acts and the deal ends."""

MAX_OPEN = 6
MAX_SETTLED = 16
MAX_SWEPT_SEATS = 8
NEW = MAX_OPEN
"""Instead of an open position's place: the one that the edge looks at."""

NODE = np.dtype(
    (
        np.record,
        [
            ("actor", np.int8),
            ("depth", np.int16),
            ("first_summary", np.int64),
            ("num_summaries", np.int64),
            ("first_family", np.int64),
            ("num_families", np.int64),
            ("num_settled", np.int64),
            ("num_combos", np.int64),
            ("first_state", np.int64),
            ("num_states", np.int64),
            ("states_at", np.int64),  # in `numbers`, by combo: which of its states the actor is in
            ("ranks_at", np.int64),  # in `ranks`, by combo: MAX_OPEN ranks, -1 behind the last
            ("public_at", np.int64),  # in `ranks`, by rank: cards that all have seen
        ],
    )
)
EDGE = np.dtype(
    (
        np.record,
        [
            ("parent", np.int32),
            ("child", np.int32),
            ("action", np.int8),
            ("scale", np.float64),
            ("combos_at", np.int64),  # in `numbers`, by the parent's combo: part of the child's combo; -1: not this way
            ("news_at", np.int64),  # in `numbers`, for each rank of the new card: the other part
            ("new_at", np.int64),  # in `ranks`
            ("num_new", np.int8),  # 0: no new card
            ("faces_at", np.int64),  # in `ranks`
            ("num_faces", np.int8),
            ("num_retired", np.int8),
            ("retired", np.int8, (MAX_OPEN + 1,)),  # places of the positions that are settled now, NEW among them
            ("from_stock", np.int8),
            ("first_end", np.int64),
            ("num_ends", np.int16),
            ("draws", np.int16),  # which of the ends it is where the stock's card is taken; -1: none
            ("first_hands", np.int64),
            ("num_hands", np.int16),
        ],
    )
)
ENDS = np.dtype(
    (
        np.record,
        [
            ("kind", np.int32),
            ("rank", np.int8),  # of the stock's card that refuses or is special
            ("hands", np.int16),  # which of the edge's hands
            ("drawn_bit", np.int32),
        ],
    )
)
HANDS = np.dtype(
    (
        np.record,
        [
            ("low", np.int8),  # the lowest rank among those that all know, NO_RANK if there is none
            ("mask", np.int32),  # who holds it
            ("settled_bits", np.int32, (MAX_SETTLED,)),  # the seat, a bit, that holds each settled card
            ("open_bits", np.int32, (MAX_OPEN,)),  # 0: nobody who is compared
            ("new_bit", np.int32),
        ],
    )
)
"""Who holds which card when the deal ends, the stock's last one left out; many an end of an edge has the same."""
DECK = np.dtype(
    (
        np.record,
        [
            ("copies", np.int64, (MAX_RANKS,)),  # by rank, as all
            ("ends_challenge", np.int64, (MAX_RANKS,)),  # 1: a stock card of the rank ends a challenge
            ("is_taken", np.int64, (MAX_RANKS,)),  # 1: it is simply taken, and compared
        ],
    )
)

_Target = tuple[int, tuple[int, ...]] | None
"""By how much a number grows from one rank to the next and the ranks in order, if it depends on them."""


class Layout(NamedTuple):
    """The arrays. numba takes it as it is."""

    nodes: NDArray[Any]
    edges: NDArray[Any]
    ends: NDArray[Any]
    hands: NDArray[Any]
    numbers: NDArray[np.int32]
    ranks: NDArray[np.int8]
    steps: NDArray[np.int64]
    """[num_steps, 2]: what to do, with which edge."""
    decks: NDArray[Any]
    """[1] of DECK."""
    add: NDArray[np.int32]
    used: NDArray[np.int8]
    low: NDArray[np.int8]
    holds_low: NDArray[np.int16]
    cards: NDArray[np.int8]
    family: NDArray[np.int64]
    num_seats: int
    starts: NDArray[np.int64]
    """[depth + 1]: where the arrays of each depth begin in a buffer of reach."""


def lay_out(tree: Tree) -> Layout:
    """The arrays of `tree`."""
    return _Layer(tree).layout()


class _Pool:
    """Small rows one behind another, each once."""

    def __init__(self) -> None:
        self._at: dict[bytes, int] = {}
        self._rows: list[NDArray[Any]] = []
        self._size = 0

    def put(self, row: Sequence[int], kind: Any) -> int:
        """Where `row` begins."""
        array = np.array(row, kind)
        key = array.tobytes()
        if key not in self._at:
            self._at[key] = self._size
            self._rows.append(array)
            self._size += len(array)
        return self._at[key]

    def joined(self, kind: Any) -> NDArray[Any]:
        """All rows in one array."""
        return np.concatenate([np.zeros(0, kind), *self._rows])


class _Layer:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        record: Any = tree.compiled[0]
        self._num_ranks = len(tree.rules.ranks)
        self._copies: list[int] = record.copies[: self._num_ranks].tolist()
        turned: list[int] = record.turned[: self._num_ranks].tolist()
        self._ends_challenge = [effect != REDIRECTS for effect in turned]
        is_special = [bool(special) for special in record.special[: self._num_ranks]]
        self._is_taken = [effect == 0 and not special for effect, special in zip(turned, is_special, strict=True)]
        self._numbers, self._ranks = _Pool(), _Pool()
        self._ends: list[tuple[Any, ...]] = []
        self._hands: list[tuple[Any, ...]] = []
        self._listed: dict[Any, int] = {}
        self._numbered: dict[Any, int] = {}
        self._edges: list[tuple[Any, ...]] = []
        self._steps: list[tuple[int, int]] = []
        self._dealer = tree.num_seats - 1
        self._nodes = list(tree.nodes)
        self._last_edges = {number: self._halves(edge) for node in tree.nodes for number, edge in self._to_last(node)}
        most = max(len(node.settled) for node in self._nodes if node.actor != self._dealer)
        domain = {rank for node in tree.nodes for ranks in node.domains for rank in ranks}
        asked: list[int] = record.asked[: self._num_ranks].tolist()
        apart = {rank for rank in range(self._num_ranks) if asked[rank] or turned[rank] or is_special[rank]}
        self._summaries = make_summaries(self._copies, sorted(domain), most, apart)

    def layout(self) -> Layout:
        nodes = np.array([self._node(node) for node in self._nodes], NODE)
        self._go_through(0)
        kept = [node for node in self._nodes if node.actor != self._dealer]
        sizes = [0] * (1 + max(node.depth for node in kept))
        for node in kept:
            num = self._num_summaries(node) * prod(len(ranks) for ranks in node.domains)
            sizes[node.depth] = max(sizes[node.depth], num)
        return Layout(
            nodes=nodes,
            edges=np.array(self._edges, EDGE),
            ends=np.array(self._ends, ENDS),
            hands=np.array(self._hands, HANDS),
            numbers=self._numbers.joined(np.int32),
            ranks=self._ranks.joined(np.int8),
            steps=np.array(self._steps, np.int64),
            decks=self._deck(),
            add=self._summaries.add,
            used=self._summaries.used,
            low=self._summaries.low,
            holds_low=self._summaries.holds_low,
            cards=self._summaries.cards,
            family=self._summaries.family,
            num_seats=self._tree.num_seats,
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )

    def _deck(self) -> NDArray[Any]:
        decks = np.zeros(1, DECK)
        for rank, num in enumerate(self._copies):
            decks[0].copies[rank] = num
            decks[0].ends_challenge[rank] = self._ends_challenge[rank]
            decks[0].is_taken[rank] = self._is_taken[rank]
        return decks

    def _num_summaries(self, node: Node) -> int:
        first = self._summaries.first
        return int(first[len(node.settled) + 1] - first[len(node.settled)])

    def _node(self, node: Node) -> tuple[Any, ...]:
        if self._tree.num_seats > MAX_SWEPT_SEATS:
            raise GnavError(
                f"{self._tree.num_seats} seats are too many to be solved exactly: {MAX_SWEPT_SEATS} at most"
            )
        if len(node.open) > MAX_OPEN or len(node.settled) > MAX_SETTLED:
            raise GnavError(
                f"ruleset {self._tree.rules.name} with {self._tree.num_seats} seats cannot be solved exactly: a seat "
                f"may have to go by {len(node.open)} hidden cards, and there is room for {MAX_OPEN}"
            )
        is_dealer = node.actor == self._dealer
        strides = _strides(node.domains, node.seen)
        target = [
            (strides[place], node.domains[place]) if place in strides else None for place in range(len(node.open))
        ]
        num_settled = len(node.settled) if not is_dealer else 0
        families = self._summaries.first_family[num_settled : num_settled + 2]
        used = [0] * self._num_ranks
        for rank in node.public.values():
            used[rank] += 1
        return (
            node.actor,
            node.depth,
            0 if is_dealer else self._summaries.first[len(node.settled)],
            0 if is_dealer else self._num_summaries(node),
            0 if is_dealer else families[0],
            0 if is_dealer else families[1] - families[0],
            num_settled,
            0 if is_dealer else prod(len(ranks) for ranks in node.domains),
            node.first_state,
            node.num_states,
            0 if is_dealer else self._number_combos(node.domains, [], target),
            0 if is_dealer else self._list_combos(node.domains),
            self._ranks.put(used, np.int8),
        )

    def _list_combos(self, domains: Sequence[Sequence[int]]) -> int:
        """Where in `ranks` the combinations of open positions with these `domains` are."""
        key = tuple(domains)
        if key not in self._listed:
            rows = [rank for combo in product(*domains) for rank in (*combo, *[-1] * (MAX_OPEN - len(combo)))]
            self._listed[key] = self._ranks.put(rows, np.int8)
        return self._listed[key]

    def _number_combos(
        self,
        domains: Sequence[Sequence[int]],
        filters: Sequence[tuple[int, tuple[int, ...]]],
        target: Sequence[_Target],
    ) -> int:
        """Where in `numbers` it stands what each combination adds to the number of one of `target`.

        -1 for those that do not pass the `filters`.
        """
        key = (tuple(domains), tuple(filters), tuple(target))
        if key not in self._numbered:
            numbers = [
                sum(to[0] * to[1].index(rank) for rank, to in zip(combo, target, strict=True) if to is not None)
                if all(combo[place] in ranks for place, ranks in filters)
                else -1
                for combo in product(*domains)
            ]
            self._numbered[key] = self._numbers.put(numbers, np.int32)
        return self._numbered[key]

    def _to_last(self, node: Node) -> list[tuple[int, Edge]]:
        """The edges from `node` to the last seat's choice on which cards are settled; the child numbers them."""
        return [
            (edge.child, edge)
            for edge in node.edges
            if edge.child >= 0
            and self._tree.nodes[edge.child].actor == self._dealer
            and len(self._tree.nodes[edge.child].settled) > len(node.settled)
        ]

    def _halves(self, edge: Edge) -> tuple[Edge, Edge]:
        """The edge in two: cards are settled, then the new one is looked at.

        Between them lies a node with fewer states than there are on either side.
        """
        child = self._tree.nodes[edge.child]
        new_position = edge.new[0] if edge.new is not None else -1
        kept = [place for place, position in enumerate(child.open) if position != new_position]
        between = replace(
            child,
            actor=-1,
            open=[child.open[place] for place in kept],
            domains=[child.domains[place] for place in kept],
            seen=[],
            edges=[],
            first_state=0,
        )
        self._nodes.append(between)
        number = len(self._nodes) - 1
        first = replace(edge, child=number, new=None)
        return first, Edge(parent=number, action=STAND, scale=1.0, new=edge.new, child=edge.child)

    def _go_through(self, number: int) -> None:
        """Steps and edges of the subtree below node `number`."""
        for edge in self._nodes[number].edges:
            if edge.ending is not None:
                self._step(END, edge)
            elif edge.child in self._last_edges:
                first, second = self._last_edges[edge.child]
                at = self._step(ENTER, first)
                self._step(LAST, second)
                self._steps.append((EXIT, at))
            elif self._nodes[edge.child].actor == self._dealer:
                self._step(LAST, edge)
            else:
                at = self._step(ENTER, edge)
                self._go_through(edge.child)
                self._steps.append((EXIT, at))

    def _step(self, step: int, edge: Edge) -> int:
        """Add a step along `edge`; the edge's number in the arrays."""
        self._edges.append(self._edge(edge))
        self._steps.append((step, len(self._edges) - 1))
        return len(self._edges) - 1

    def _edge(self, edge: Edge) -> tuple[Any, ...]:
        parent = self._nodes[edge.parent]
        new_position, new_ranks = edge.new or (-1, ())
        child = self._nodes[edge.child] if edge.child >= 0 else None
        first_end, first_hands, draws = len(self._ends), len(self._hands), -1
        target: dict[int, tuple[int, tuple[int, ...]]] = {}
        retired: list[int] = []
        if child is None:
            assert edge.ending is not None
            self._put_ends([(edge.ending, -1, -1)], parent, new_position)
        else:
            is_dealer = child.actor == self._dealer
            places = child.seen if is_dealer else list(range(len(child.open)))
            strides = _strides(child.domains, places)
            target = {child.open[j]: (strides[j], child.domains[j]) for j in places}
            source = {position: place for place, position in enumerate(parent.open)} | {new_position: NEW}
            if is_dealer:
                draws = self._put_last_ends(child, parent, new_position)
            else:
                retired = [source[position] for position in child.settled[len(parent.settled) :]]
        stride, domain = target.get(new_position, (0, new_ranks))
        return (
            edge.parent,
            edge.child,
            edge.action,
            edge.scale,
            self._number_combos(parent.domains, edge.filters, [target.get(position) for position in parent.open]),
            self._numbers.put([stride * domain.index(rank) for rank in new_ranks], np.int32),
            self._ranks.put(new_ranks, np.int8),
            len(new_ranks),
            self._ranks.put(edge.faces, np.int8),
            len(edge.faces),
            len(retired),
            (retired + [0] * (MAX_OPEN + 1))[: MAX_OPEN + 1],
            edge.from_stock,
            first_end,
            len(self._ends) - first_end,
            draws,
            first_hands,
            len(self._hands) - first_hands,
        )

    def _put_last_ends(self, child: Node, parent: Node, new_position: int) -> int:
        """How the deal can end at the last seat's choice: first by STAND. Which one is by taking the stock's card."""
        ends: list[tuple[Ending, int, int]] = []
        draws = -1
        for edge in sorted(child.edges, key=lambda edge: edge.action):
            assert edge.ending is not None
            if edge.action == EXCHANGE and edge.new is not None:
                draws = len(ends)
                ends.append((edge.ending, -1, edge.new[0]))
            else:
                ends.append((edge.ending, edge.faces[-1] if edge.action == EXCHANGE else -1, -1))
        self._put_ends(ends, parent, new_position)
        return draws

    def _put_ends(self, ends: Sequence[tuple[Ending, int, int]], parent: Node, new_position: int) -> None:
        """Each of `ends` with the rank of the stock's card that refused and the position of one taken, if any."""
        hands: dict[tuple[Any, ...], int] = {}
        for ending, rank, drawn in ends:
            number = hands.setdefault(self._hands_of(ending, parent, new_position), len(hands))
            self._ends.append((ending.kind, rank, number, _bit(ending, drawn)))
        self._hands += hands

    def _hands_of(self, ending: Ending, parent: Node, new_position: int) -> tuple[Any, ...]:
        settled = tuple(_bit(ending, position) for position in parent.settled)
        assert all(settled), "a settled card has left the hands"
        return (
            ending.public_low if ending.public_low >= 0 else NO_RANK,
            ending.public_mask,
            settled + (0,) * (MAX_SETTLED - len(settled)),
            tuple(_bit(ending, position) for position in parent.open) + (0,) * (MAX_OPEN - len(parent.open)),
            _bit(ending, new_position),
        )


def _bit(ending: Ending, position: int) -> int:
    """The seat, a bit, that holds the `position`, 0 if nobody does who is compared."""
    return 1 << ending.seats[position] if position in ending.seats else 0


def _strides(domains: Sequence[Sequence[int]], places: Sequence[int]) -> dict[int, int]:
    """By how much the number of a combination grows from one rank to the next, for each of `places`; the last by 1."""
    strides, stride = {}, 1
    for place in reversed(places):
        strides[place] = stride
        stride *= len(domains[place])
    return strides
