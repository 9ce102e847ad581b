"""Every deal of a tiny deck, played out through the engine, beside the public tree of the exact solver.

What a player may know is worked out here from `Table` alone: policies are drawn by that, and only then written to the
information states of the tree.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.sweep import Sweeper
from gnav_agents.solve.tree import Node, Tree, build_tree
from gnav_env import EXCHANGE, STAND, Rules, Table
from gnav_env.engine import act, begin_deal, begin_match
from gnav_env.state import NOBODY, TABLE

__all__ = ["Both", "Deals", "Key", "both", "house", "learned"]

Key = tuple[Any, ...]
"""All that an observer has learned in a deal."""
Decision = tuple[Key, int]
"""What the seat to act knew, and what it chose."""


class Moment(NamedTuple):
    """A table in a deal, and what everybody has seen happen by then."""

    table: Table
    drawn: int
    happened: Key


def moment(table: Table) -> Moment:
    """`table` as it is now."""
    happened = [tuple(table.by_seat(name)) for name in ("turn", "asked", "hand", "lives", "answers", "knocked")]
    return Moment(table, int(table.record.drawn), tuple(happened))


def learned(moments: Sequence[Moment], observer: int) -> Key:
    """What `observer` (NOBODY: everybody) has learned by the last of `moments`, the first with all cards out.

    Stock cards that one challenge has passed are sorted: their order means nothing.
    """
    table, deck = moments[-1].table, moments[-1].table.deck
    faces = {position: deck[position] for position in np.flatnonzero(table.seen(observer)).tolist()}
    for before, after in itertools.pairwise(moments):
        passed = range(table.num_seats + before.drawn, table.num_seats + after.drawn - 1)
        faces |= dict(zip(passed, sorted(faces[position] for position in passed), strict=True))
    return (observer, table.to_act, *(m.happened for m in moments), tuple(sorted(faces.items())))


class Example(NamedTuple):
    """How it can come about that the seat to act knows what it knows."""

    public: Key
    """What all know then."""
    deck: list[str]
    actions: tuple[int, ...]


@dataclass
class Deals:
    """All deals of a table whose last seat deals: each way through one, with its chance but for the choices made."""

    rules: Rules
    lives: tuple[int, ...]
    sits_out: tuple[bool, ...]
    chances: list[float] = field(default_factory=list[float])
    choices: list[tuple[Decision, ...]] = field(default_factory=list[tuple[Decision, ...]])
    results: list[list[int]] = field(default_factory=list[list[int]])
    legal: dict[Key, list[int]] = field(default_factory=dict[Key, list[int]])
    """By what the seat to act knows."""
    examples: dict[Key, Example] = field(default_factory=dict[Key, Example])

    def __post_init__(self) -> None:
        playing = [seat for seat, sits_out in enumerate(self.sits_out) if not sits_out]
        for cards, chance in self._orders((), len(playing)):
            table = Table(self.rules, len(self.lives), first_dealer=len(self.lives) - 1, lives=self.lives)
            table.record.seats["sits_out"][: len(self.lives)] = self.sits_out
            table.deal(self._deck(cards))
            self._play((moment(table),), (), cards, chance)

    def _orders(self, cards: tuple[str, ...], num: int) -> Iterator[tuple[tuple[str, ...], float]]:
        """All ways in which `num` cards can follow `cards`, with their chances."""
        if num == 0:
            yield cards, 1.0
            return
        for rank, copies in self.rules.deck.items():
            left = copies - cards.count(rank)
            if left:
                for order, chance in self._orders((*cards, rank), num - 1):
                    yield order, chance * left / (self.rules.num_cards - len(cards))

    def _deck(self, cards: tuple[str, ...]) -> list[str]:
        """The deck that begins with `cards`; a seat that sits out has one of the rest at its position."""
        rest = [rank for rank, copies in self.rules.deck.items() for _ in range(copies - cards.count(rank))]
        hands = iter(cards)
        deck = [rest.pop() if sits_out else next(hands) for sits_out in self.sits_out]
        return [*deck, *hands, *rest]

    def _play(
        self, moments: tuple[Moment, ...], choices: tuple[Decision, ...], cards: tuple[str, ...], chance: float
    ) -> None:
        """All ways to go on from the last of `moments`; `cards` have been seen by somebody."""
        table = moments[-1].table
        if table.to_act is None:
            self.chances.append(chance)
            self.choices.append(choices)
            gained, bonus = table.by_seat("gained"), table.by_seat("bonus")
            self.results.append([a + b - c for a, b, c in zip(gained, bonus, table.lost, strict=True)])
            return
        key = learned(moments, table.to_act)
        if key not in self.legal:
            self.legal[key] = table.legal_actions()
            actions = tuple(action for _, action in choices)
            self.examples[key] = Example(learned(moments, NOBODY), table.deck, actions)
        for action in self.legal[key]:
            for after, order, more in self._after(table, action, cards):
                self._play((*moments, after), (*choices, (key, action)), order, chance * more)

    def _after(
        self, table: Table, action: int, cards: tuple[str, ...]
    ) -> Iterator[tuple[Moment, tuple[str, ...], float]]:
        """What can follow from `action`: with the cards that somebody has seen by then, and the chances of new ones."""
        after = table.copy()
        after.record.deck[: self.rules.num_cards] = [self.rules.rank_numbers[rank] for rank in self._deck(cards)]
        after.act(action)
        then = moment(after)
        if self.sits_out.count(False) + then.drawn <= len(cards):
            yield then, cards, 1.0
            return
        for order, chance in self._orders(cards, 1):
            for then, longer, more in self._after(table, action, order):
                yield then, longer, chance * more

    def values(self, policy: dict[Key, float]) -> NDArray[np.float64]:
        """What each seat wins and loses, [S], if STAND has the chances of `policy`."""
        total = np.zeros(len(self.lives))
        for chance, choices, results in zip(self.chances, self.choices, self.results, strict=True):
            for key, action in choices:
                chance *= policy[key] if action == STAND else 1 - policy[key]
            total += chance * np.array(results)
        return total

    def worth(self, policy: dict[Key, float]) -> dict[Key, NDArray[np.float64]]:
        """What each choice brings the one who makes it, [A], times the chance that the others let it come to that."""
        worth = {key: np.zeros(2) for key in self.legal}
        for chance, choices, results in zip(self.chances, self.choices, self.results, strict=True):
            for number, (key, action) in enumerate(choices):
                others = chance
                for other, chosen in choices[:number] + choices[number + 1 :]:
                    others *= policy[other] if chosen == STAND else 1 - policy[other]
                worth[key][action] += others * results[key[0]]
        return worth

    def gains(self, policy: dict[Key, float]) -> NDArray[np.float64]:
        """What each seat gains by its best response, [S]: state by state, for nobody chooses twice."""
        gains = np.zeros(len(self.lives))
        for key, worth in self.worth(policy).items():
            value = policy[key] * worth[STAND] + (1 - policy[key]) * worth[EXCHANGE]
            gains[key[0]] += max(worth[action] for action in self.legal[key]) - value
        return gains

    def random_policy(self, luck: np.random.Generator) -> dict[Key, float]:
        """Chances of STAND, some of them 0 or 1."""
        drawn = {key: float(np.clip(luck.uniform(-0.3, 1.3), 0, 1)) for key in self.legal}
        return {key: drawn[key] if len(legal) == 2 else 1.0 - legal[0] for key, legal in self.legal.items()}


def shown_at(tree: Tree, node: Node) -> Key:
    """What all have learned at `node`."""
    table: Any = np.zeros(1, TABLE)[0]
    begin_match(table, tree.compiled[0], tree.num_seats, tree.num_seats - 1)
    table["seats"]["lives"][: tree.num_seats] = tree.lives
    table["seats"]["sits_out"][: tree.num_seats] = tree.sits_out
    table["deck"] = np.frombuffer(node.deck, np.int8)
    begin_deal(table, tree.compiled[0])
    moments = [moment(Table.from_record(tree.rules, table))]
    for action in node.actions:
        act(table, tree.compiled[0], action)
        moments.append(moment(Table.from_record(tree.rules, table)))
    return learned(moments, NOBODY)


def states_of(tree: Tree, deals: Deals) -> dict[Key, int]:
    """The number of the information state in which the seat to act knows that."""
    nodes = {shown_at(tree, node): node for node in tree.nodes if node.actor >= 0}
    assert len(nodes) == sum(node.actor >= 0 for node in tree.nodes), "two nodes that nobody can tell apart"
    states: dict[Key, int] = {}
    for key, example in deals.examples.items():
        node = nodes[example.public]
        assert node.actor == key[0]
        ranks = {position: tree.rules.rank_numbers[example.deck[position]] for position, _ in key[-1]}
        assert {node.open[place] for place in node.seen} | set(node.public) == set(ranks)
        number = 0
        for place in node.seen:
            number = number * len(node.domains[place]) + node.domains[place].index(ranks[node.open[place]])
        states[key] = node.first_state + number
    return states


@dataclass
class Both:
    """All deals of a table, and the sweeper over its tree."""

    deals: Deals
    tree: Tree
    sweeper: Sweeper
    states: dict[Key, int]

    def play(self, policy: dict[Key, float]) -> None:
        """The sweeper has this policy."""
        for key, stand in policy.items():
            self.sweeper.stand[self.states[key]] = stand

    @property
    def policy(self) -> dict[Key, float]:
        """The sweeper's policy."""
        return {key: float(self.sweeper.stand[state]) for key, state in self.states.items()}


def both(rules: Rules, lives: Sequence[int], sits_out: Sequence[bool] | None = None) -> Both:
    """Both, for a table with these lives."""
    tree = build_tree(rules, lives, sits_out)
    deals = Deals(rules, tuple(lives), tuple(sits_out or [False] * len(lives)))
    return Both(deals, tree, Sweeper(tree, lives_payoffs(tree)), states_of(tree, deals))


def house(base: Rules, deck: str, **changes: Any) -> Rules:
    """The rules of `base` with few cards, high to low."""
    ranks = deck.split()
    options: dict[str, Any] = {
        "name": "house",
        "min_players": 2,
        "deck": {rank: ranks.count(rank) for rank in ranks},
        "effects": {rank: effect for rank, effect in base.effects.items() if rank in ranks},
        "specials": tuple(special for special in base.specials if special.rank in ranks),
    }
    return base.replace(**{**options, **changes})
