"""The public tree of one deal: everything that all seats can see happen, up to the showdown.

The tree is found by trying every choice and every kind of card with the engine's own kernels; no rule is read a
second time. What hides in a node are ranks. A card in play is its position in the deck, and a private position is

- open, while a seat that is still to choose has seen its face (or while it may yet leave the hands): the solver
  keeps its rank apart,
- settled afterwards: only the showdown will ask for it (see settled.py).

A node where a seat is to choose has an information state for each combination of ranks that the seat may have
seen. Seats are numbered in the order of action, so the last one deals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_env.compiled import COMPARED
from gnav_env.effects import REDIRECTS
from gnav_env.engine import begin_deal, begin_match, can_exchange, can_stand, take_turn
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NOBODY, NOT_ACTED, STAND, TABLE, TURNS

_Outcome = tuple["Edge", dict[int, int], tuple[int, tuple[int, ...]] | None]
"""An edge, faces by position, and a position that is traded or drawn for the first time with its ranks."""

__all__ = ["NOT_LIVE", "PRIVATE", "Edge", "Ending", "Kind", "Node", "Tree", "build_tree", "check_solvable", "in_order"]


def in_order(rules: Rules) -> NDArray[Any]:
    """The compiled rules [1] with play going clockwise, so that seat numbers are the order of action.

    Turning the table round changes nothing else.
    """
    compiled = rules.compiled.copy()
    compiled["direction"] = 1
    return compiled


def check_solvable(rules: Rules) -> None:
    """`GnavError`, saying which option stands in the way, unless the public tree can be built for `rules`."""
    record = rules.compiled[0]
    private_specials = sorted({special.rank for special in rules.specials}) if not record.knocks else []
    reasons = {
        "speech: silent (cards that answer stay hidden)": rules.speech == "silent",
        "reshuffle: on_exhaustion (deals hang together)": rules.reshuffle == "on_exhaustion",
        "when_exchanged (cards that become others)": bool(rules.when_exchanged),
        "immune ranks": bool(rules.immune),
        f"specials that do not knock ({', '.join(private_specials)})": bool(private_specials),
        "more than one rank that knocks": bool(record.knocks and len({s.rank for s in rules.specials}) > 1),
        "specials that rank above others": any(special.above for special in rules.specials),
        "specials counted as they were dealt (count_at: dealt)": bool(rules.specials) and rules.count_at == "dealt",
        "undo of one card or by a sweep": any(effect.undo in ("card", "sweep") for effect in rules.effects.values()),
        "losses that differ by rank": len({rules.loss.get(rank, 1) for rank in rules.ranks}) > 1,
        "knocks where an answer does not cost the turn": bool(record.knocks and rules.specials and not record.skips),
    }
    for reason, is_so in reasons.items():
        if is_so:
            raise GnavError(f"ruleset {rules.name} cannot be solved exactly: it has {reason}")


_BALANCE = ("fined", "gained", "place")
"""Of a seat before the showdown: what follows depends on them too."""

PRIVATE, NOT_LIVE = -1, -2
"""Instead of a seat's public rank: its card is hidden; it has none that is compared."""


@dataclass(frozen=True)
class Kind:
    """Endings from which the same follows, given who holds the lowest card."""

    record: Any
    """The engine's table of one of them, before the showdown."""
    public: tuple[int, ...]
    """By seat: the rank of its card if all know it, or PRIVATE, NOT_LIVE."""


@dataclass(frozen=True)
class Ending:
    """Where the cards lie when a deal ends: who holds which position, whose ranks all know."""

    kind: int
    """Which of `Tree.kinds`: what follows, given who holds the lowest card."""
    seats: dict[int, int]
    """Position -> the live seat that holds it."""
    public_low: int
    """The lowest public rank that is compared, -1 if there is none."""
    public_mask: int
    """The live seats that hold it, a set of bits."""


@dataclass
class Edge:
    """What can follow from a choice: some faces become known, a position is looked at, somebody is to act."""

    parent: int
    action: int
    scale: float
    """1 over the cards that each look could have shown, all together."""
    faces: list[int] = field(default_factory=list[int])
    """Ranks that were turned up, each as likely as cards of it are left."""
    filters: list[tuple[int, tuple[int, ...]]] = field(default_factory=list[tuple[int, tuple[int, ...]]])
    """Open positions of the parent (their place there) whose rank must be one of those."""
    new: tuple[int, tuple[int, ...]] | None = None
    """A position looked at for the first time, and the ranks that it may have."""
    child: int = -1
    ending: Ending | None = None
    from_stock: bool = False
    """The end card of a challenge behind the dealer, after any number that passed it on: `scale` is then 1 and the
    chance is by the cards left that do not."""


@dataclass
class Node:
    """A seat is to choose (`actor`), or a card is to be looked at that nobody has seen (`actor` -1)."""

    actor: int
    open: list[int]
    domains: list[tuple[int, ...]]
    """The ranks that each open position may have."""
    settled: list[int]
    public: dict[int, int]
    """Ranks that all know, by position."""
    num_dealt: int
    """Dealt cards looked at so far, special ones left out."""
    depth: int
    deck: bytes
    """A deck that leads here, int8 [MAX_CARDS]: ranks that are not public stand for any of their domain."""
    actions: tuple[int, ...]
    """The choices on the way."""
    seen: list[int] = field(default_factory=list[int])
    """Places in `open` of the positions that the actor has seen, that of its own card first."""
    holders: list[int] = field(default_factory=list[int])
    """Who holds these positions."""
    hand: int = -1
    """The position that the actor holds."""
    legal: list[int] = field(default_factory=list[int])
    """By rank of the actor's card, in the order of its domain (one if all know it): bit 1 STAND, bit 2 EXCHANGE."""
    edges: list[Edge] = field(default_factory=list[Edge])
    first_state: int = 0
    """Number of its first information state."""

    @property
    def num_states(self) -> int:
        """Information states of the actor here."""
        return prod(len(self.domains[place]) for place in self.seen) if self.actor >= 0 else 0


@dataclass
class Tree:
    """All public nodes, parents before children; node 0 is the shuffled deck."""

    rules: Rules
    lives: tuple[int, ...]
    sits_out: tuple[bool, ...]
    compiled: NDArray[Any]
    nodes: list[Node]
    kinds: list[Kind]
    """What deals can end with."""

    @property
    def num_seats(self) -> int:
        """Seats with lives."""
        return len(self.lives)

    @property
    def num_states(self) -> int:
        """Information states of all seats."""
        return sum(node.num_states for node in self.nodes)

    def states_by_seat(self) -> list[int]:
        """Information states of each seat, in the order of action."""
        counts = [0] * self.num_seats
        for node in self.nodes:
            if node.actor >= 0:
                counts[node.actor] += node.num_states
        return counts


def build_tree(rules: Rules, lives: Sequence[int], sits_out: Sequence[bool] | None = None) -> Tree:
    """The public tree of the deal between seats with these `lives`, in the order of action, the last one deals.

    `sits_out` says who misses it. Raises `GnavError` if the rules have what the tree cannot hold (`check_solvable`).
    """
    check_solvable(rules)
    return _Builder(rules, tuple(lives), tuple(sits_out or [False] * len(lives))).tree()


class _Tables:
    """A table for each choice on the way down. The arrays are views of their fields: records are slow to ask."""

    def __init__(self, num: int, num_seats: int) -> None:
        self.records = np.zeros(num, TABLE)
        self._bytes = self.records.view(np.uint8).reshape(num, -1)
        self.decks: NDArray[np.int8] = self.records["deck"]
        self.facts = {name: self.records[name] for name in ("to_act", "phase", "drawn")}
        seats = self.records["seats"][:, :num_seats]
        self.seats = {name: seats[name] for name in ("hand", "lives", "turn", "answers", "seen", *_BALANCE)}

    def copy(self, source: int, target: int) -> Any:
        """Table `target` is as `source`."""
        self._bytes[target] = self._bytes[source]
        return self.records[target]


class _Look:
    """What the builder wants to know of table number `at`, as plain numbers."""

    def __init__(self, tables: _Tables, at: int) -> None:
        seats, facts = tables.seats, tables.facts
        self.hands: list[int] = seats["hand"][at].tolist()
        self.lives: list[int] = seats["lives"][at].tolist()
        self.turns: list[int] = seats["turn"][at].tolist()
        self.answers: list[int] = seats["answers"][at].tolist()
        self.seen: list[list[int]] = seats["seen"][at].tolist()
        self.to_act, self.phase, self.drawn = (int(facts[name][at]) for name in ("to_act", "phase", "drawn"))

    def has_seen(self, seat: int, position: int) -> bool:
        """`seat` has seen the face at `position`."""
        return bool(self.seen[seat][position // 42] >> position % 42 & 1)


class _Builder:
    """Goes through all that can happen, deep first."""

    def __init__(self, rules: Rules, lives: tuple[int, ...], sits_out: tuple[bool, ...]) -> None:
        self._rules, self._lives, self._sits_out = rules, lives, sits_out
        self._compiled = in_order(rules)
        self._r: Any = self._compiled[0]
        self._num_seats = len(lives)
        self._num_ranks = len(rules.ranks)
        self._tables = _Tables(self._num_seats + 2, self._num_seats)
        self._nodes: list[Node] = []
        self._kind_numbers: dict[Any, int] = {}
        self._kinds: list[Kind] = []
        self._copies = self._r.copies[: self._num_ranks].tolist()
        self._asked = self._r.asked[: self._num_ranks].tolist()
        self._turned = self._r.turned[: self._num_ranks].tolist()
        self._is_special = [bool(self._r.special[rank]) and bool(self._r.knocks) for rank in range(self._num_ranks)]
        self._is_uncompared = [bool(special) for special in self._r.special[: self._num_ranks]]
        self._skips, self._compares_the_fallen = bool(self._r.skips), self._r.mid_deal_out == COMPARED
        self._dealt = tuple(
            rank for rank in range(self._num_ranks) if self._copies[rank] and not self._is_special[rank]
        )
        self._num_dealt_cards = sum(self._copies[rank] for rank in self._dealt)
        self._any_choice = not self._r.stand_needs_matador and not self._r.matador_stays
        self._filler = next(rank for rank in self._dealt if not self._asked[rank] and not self._turned[rank])

    def tree(self) -> Tree:
        """The whole tree."""
        start = Node(actor=-1, open=[], domains=[], settled=[], public={}, num_dealt=0, depth=0, deck=b"", actions=())
        self._nodes.append(start)
        playing = [seat for seat in range(self._num_seats) if not self._sits_out[seat]]
        num_special = self._rules.num_cards - self._num_dealt_cards
        special = next((rank for rank in range(self._num_ranks) if self._is_special[rank]), -1)
        for num in range(min(num_special, len(playing)) + 1):
            chance = perm(num_special, num) * perm(self._num_dealt_cards, len(playing) - num)
            for knocking in combinations(playing, num):
                edge = Edge(parent=0, action=STAND, scale=chance / perm(self._rules.num_cards, len(playing)))
                self._deal(dict.fromkeys(knocking, special))
                self._go_to(edge, 0, start, dict.fromkeys(knocking, special))
        first_state = 0
        for node in self._nodes:
            node.first_state = first_state
            first_state += node.num_states
        return Tree(self._rules, self._lives, self._sits_out, self._compiled, self._nodes, self._kinds)

    def _deal(self, public: dict[int, int]) -> None:
        """At table 0 the seats have their cards."""
        self._tables.records[0] = np.zeros((), TABLE)
        t: Any = self._tables.records[0]
        begin_match(t, self._r, self._num_seats, self._num_seats - 1)
        for seat in range(self._num_seats):
            t.seats[seat].lives = self._lives[seat]
            t.seats[seat].sits_out = self._sits_out[seat]
        t.deck[:] = self._filler
        for position, rank in public.items():
            t.deck[position] = rank
        begin_deal(t, self._r)

    def _decide(self, node: Node, at: int) -> None:
        """All that can follow from the choice at `node`, where the table is number `at`."""
        number = len(self._nodes)
        self._nodes.append(node)
        look = _Look(self._tables, at)
        node.hand = look.hands[node.actor]
        places = [place for place, position in enumerate(node.open) if look.has_seen(node.actor, position)]
        node.seen = sorted(places, key=lambda place: node.open[place] != node.hand)
        node.holders = [
            look.hands.index(node.open[place]) if node.open[place] in look.hands else NOBODY for place in node.seen
        ]
        own = node.domains[node.seen[0]] if node.hand in node.open else (int(self._tables.decks[at, node.hand]),)
        for rank in own[:1] if self._any_choice else own:
            table = self._tables.copy(at, at + 1)
            self._tables.decks[at + 1, node.hand] = rank
            node.legal.append(int(can_stand(table, self._r)) + 2 * int(can_exchange(table, self._r)))
        if self._any_choice:
            node.legal *= len(own)
        if any(legal & 1 for legal in node.legal) or node.actor == self._num_seats - 1:  # layout.py wants it there
            self._follow(Edge(parent=number, action=STAND, scale=1.0), at, {}, None)
        if any(legal & 2 for legal in node.legal):
            for edge, faces, trade in self._challenge(node, number, look):
                self._follow(edge, at, faces, trade)

    def _is_to_act(self, look: _Look, seat: int) -> bool:
        """The seat may still have a turn."""
        if look.hands[seat] < 0 or look.lives[seat] == 0 or look.turns[seat] != NOT_ACTED:
            return False
        return not (self._skips and look.answers[seat])

    def _challenge(self, node: Node, number: int, look: _Look) -> Iterator[_Outcome]:
        """What EXCHANGE can meet."""
        seats = [seat for seat in range(node.actor + 1, self._num_seats) if look.hands[seat] >= 0]
        row = [look.hands[seat] for seat in seats]
        is_final = not any(self._is_to_act(look, seat) for seat in seats if not self._skips)
        yield from self._walk(node, look, row, Edge(parent=number, action=EXCHANGE, scale=1.0), {}, is_final)

    def _walk(
        self, node: Node, look: _Look, row: list[int], so_far: Edge, faces: dict[int, int], is_final: bool
    ) -> Iterator[_Outcome]:
        """The same, when the cards of `faces` have passed the challenge on and those of `row` come next."""
        if row:
            position, rest, effects = row[0], row[1:], self._asked
        else:
            if is_final:
                yield from self._end_cards(node, look, faces, so_far)
                return
            num_turned = sum(position >= self._num_seats for position in faces)
            position, rest, effects = self._num_seats + look.drawn + num_turned, [], self._turned
        by_dealing = position < self._num_seats
        is_open, is_public = position in node.open, position in node.public
        if is_public:
            domain: tuple[int, ...] = (node.public[position],)
        elif is_open:
            domain = node.domains[node.open.index(position)]
        else:
            domain = self._dealt if by_dealing else tuple(range(self._num_ranks))
        plain = tuple(rank for rank in domain if effects[rank] == 0)
        if plain:
            edge = self._copy(so_far)
            trade = None
            if is_open:
                edge.filters.append((node.open.index(position), plain))
            elif not is_public:
                trade = (position, plain)
            yield edge, faces, trade
        for rank in domain:
            if effects[rank] == 0 or self._is_used_up(node, so_far, rank, is_public or is_open):
                continue
            edge = self._copy(so_far)
            if is_open:
                edge.filters.append((node.open.index(position), (rank,)))
            elif not is_public:
                edge.faces.append(rank)
                edge.scale /= self._num_unseen(node, len(edge.faces) - 1, by_dealing)
            shown = faces | {position: rank}
            if effects[rank] != REDIRECTS:
                yield edge, shown, None
            elif by_dealing:
                yield from self._walk(node, look, rest, edge, shown, is_final)
            elif rank >= max((faces[p] for p in faces if p >= self._num_seats), default=0):
                edge.scale *= self._num_orders(faces, rank)
                yield from self._walk(node, look, rest, edge, shown, is_final)

    def _num_orders(self, faces: dict[int, int], rank: int) -> float:
        """By how many times more orders the stock cards turned so far can come in once one of `rank` has joined them.

        The order of cards that pass a challenge on is nothing to choose by, so they stand sorted in the tree.
        """
        turned = [face for position, face in faces.items() if position >= self._num_seats]
        return (len(turned) + 1) / (turned.count(rank) + 1)

    def _end_cards(self, node: Node, look: _Look, faces: dict[int, int], so_far: Edge) -> Iterator[_Outcome]:
        """The stock card at which a challenge ends that ends the deal. Which ones passed it on matters to nobody."""
        position = self._num_seats + look.drawn
        ranks = [rank for rank in range(self._num_ranks) if self._copies[rank] and self._turned[rank] != REDIRECTS]
        plain = tuple(rank for rank in ranks if self._turned[rank] == 0 and not self._is_special[rank])
        edge = self._copy(so_far)
        edge.from_stock = True
        yield edge, faces, (position, plain)
        for rank in ranks:
            if rank not in plain and not self._is_used_up(node, so_far, rank, False):
                edge = self._copy(so_far)
                edge.from_stock = True
                edge.faces.append(rank)
                yield edge, faces | {position: rank}, None

    def _copy(self, edge: Edge) -> Edge:
        return Edge(
            parent=edge.parent,
            action=edge.action,
            scale=edge.scale,
            faces=list(edge.faces),
            filters=list(edge.filters),
        )

    def _is_used_up(self, node: Node, edge: Edge, rank: int, is_looked_at: bool) -> bool:
        """No card of `rank` can be left."""
        num = list(node.public.values()).count(rank) + edge.faces.count(rank)
        return not is_looked_at and num >= self._copies[rank]

    def _num_unseen(self, node: Node, num_more: int, by_dealing: bool) -> int:
        """Cards that a position could be which is looked at for the first time."""
        if by_dealing:
            return self._num_dealt_cards - node.num_dealt - num_more
        num_special = sum(self._is_special[rank] for rank in node.public.values())
        return self._rules.num_cards - node.num_dealt - num_special - num_more

    def _follow(self, edge: Edge, at: int, faces: dict[int, int], trade: tuple[int, tuple[int, ...]] | None) -> None:
        """The choice of the edge is made at table number `at`, with these faces on the way."""
        parent = self._nodes[edge.parent]
        table, deck = self._tables.copy(at, at + 1), self._tables.decks[at + 1]
        for position, rank in faces.items():
            deck[position] = rank
        for place, ranks in edge.filters:
            deck[parent.open[place]] = ranks[0]
        if trade is not None:
            edge.new = trade
            if not edge.from_stock:
                edge.scale /= self._num_unseen(parent, len(edge.faces), trade[0] < self._num_seats)
            deck[trade[0]] = trade[1][0]
        take_turn(table, self._r, edge.action)
        self._go_to(edge, at + 1, parent, {**parent.public, **faces})

    def _go_to(self, edge: Edge, at: int, parent: Node, public: dict[int, int]) -> None:
        """The edge leads to table number `at`: somebody is to act, or a card is still to be seen, or it ends."""
        domains = dict(zip(parent.open, parent.domains, strict=True))
        for place, ranks in edge.filters:
            domains[parent.open[place]] = ranks
        domains = {position: ranks for position, ranks in domains.items() if position not in public}
        num_dealt = parent.num_dealt + len(edge.faces)
        if edge.new is not None:
            domains[edge.new[0]] = edge.new[1]
            num_dealt += 1
        look = _Look(self._tables, at)
        is_over = look.phase != TURNS or look.to_act == NOBODY
        touched = {*domains, *parent.settled, *public}
        if is_over:
            unseen = [s for s in range(self._num_seats) if self._is_live(look, s) and look.hands[s] not in touched]
        else:
            unseen = [] if look.hands[look.to_act] in touched else [look.to_act]
        if unseen and edge.new is None and not edge.from_stock:
            position = look.hands[unseen[0]]
            edge.new = (position, self._dealt)
            edge.scale /= self._num_dealt_cards - num_dealt
            domains[position] = self._dealt
            num_dealt += 1
            unseen = unseen[1:]
        elif unseen and not is_over:
            raise GnavError(f"ruleset {self._rules.name} cannot be solved: two cards are looked at in one turn")
        if is_over and not unseen:
            edge.ending = self._ending(at, look, public)
            parent.edges.append(edge)
            return
        needed = [position for position in domains if self._stays_open(look, position, is_over)]
        retired = [position for position in domains if position not in needed]
        child = Node(
            actor=-1 if is_over else look.to_act,
            open=needed,
            domains=[domains[position] for position in needed],
            settled=[*parent.settled, *retired],
            public=public,
            num_dealt=num_dealt,
            depth=parent.depth + 1,
            deck=self._tables.decks[at].tobytes(),
            actions=(*parent.actions, edge.action) if parent.actor >= 0 else parent.actions,
        )
        edge.child = len(self._nodes)
        parent.edges.append(edge)
        if is_over:
            self._nodes.append(child)
            self._go_to(Edge(parent=edge.child, action=STAND, scale=1.0), at, child, public)
        else:
            self._decide(child, at)

    def _stays_open(self, look: _Look, position: int, is_over: bool) -> bool:
        """The rank of a private position still matters to somebody's choice, or it may yet leave the hands."""
        if not is_over:
            for seat in range(self._num_seats):
                if self._is_to_act(look, seat) and look.has_seen(seat, position):
                    return True
        if position >= self._num_seats or position not in look.hands:
            return True
        fallen = [seat for seat, hand in enumerate(look.hands) if hand >= 0 and not self._is_live(look, seat)]
        return any(position in (seat, look.hands[seat]) for seat in fallen)

    def _is_live(self, look: _Look, seat: int) -> bool:
        return look.hands[seat] >= 0 and (look.lives[seat] > 0 or self._compares_the_fallen)

    def _ending(self, at: int, look: _Look, public: dict[int, int]) -> Ending:
        """The cards as they lie in the end."""
        seats = {hand: seat for seat, hand in enumerate(look.hands) if self._is_live(look, seat)}
        ranks = {seat: public.get(position, PRIVATE) for position, seat in seats.items()}
        compared = {seat: rank for seat, rank in ranks.items() if rank >= 0 and not self._is_uncompared[rank]}
        low = min(compared.values(), default=-1)
        mask = sum(1 << seat for seat, rank in compared.items() if rank == low)
        shown = tuple(ranks.get(seat, NOT_LIVE) for seat in range(self._num_seats))
        balance = [self._tables.seats[name][at].tolist() for name in _BALANCE]
        key = (look.phase, tuple(map(tuple, balance)), tuple(look.lives), shown)
        if key not in self._kind_numbers:
            self._kind_numbers[key] = len(self._kinds)
            record = self._tables.records[at].copy()
            for position in seats:
                if position in public:
                    record.deck[position] = public[position]
            self._kinds.append(Kind(record=record, public=shown))
        return Ending(kind=self._kind_numbers[key], seats=seats, public_low=low, public_mask=mask)
