"""Matches for the tests: rulesets, table sizes and decks to draw from; a match played twice at once."""

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from gnav_env import cards
from gnav_env._jit import IS_COMPILED
from gnav_env.effects import TRADE, Effect, Special
from gnav_env.rules import Rules
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from oracle import EXCHANGE, STAND, Oracle

__all__ = [
    "ACTIONS",
    "SideBySide",
    "examples",
    "house_rules",
    "named_tables",
    "seats_for",
    "shuffled",
    "whole_deck",
    "with_rest",
]

ACTIONS = (STAND, EXCHANGE)
"""The oracle's names of the engine's actions 0 and 1."""


def examples(num_compiled: int, num_plain: int) -> settings:
    """Hypothesis settings: so many examples with the engine compiled, so many with it in plain Python."""
    return settings(deadline=None, max_examples=num_compiled if IS_COMPILED else num_plain)


def whole_deck(rules: Rules) -> list[str]:
    """Every card of `rules`, high to low."""
    return [rank for rank, copies in rules.deck.items() for _ in range(copies)]


def with_rest(rules: Rules, top: Sequence[str]) -> list[str]:
    """The whole deck with the cards `top` first."""
    rest = whole_deck(rules)
    for rank in top:
        rest.remove(rank)
    return [*top, *rest]


def shuffled(rules: Rules, chooser: random.Random, bias: float = 0.0) -> list[str]:
    """A random order of the deck; with `bias` up to 1, cards that do something come ever earlier."""

    def acts(rank: str) -> bool:
        is_special = any(special.rank == rank for special in rules.specials) or rank in rules.when_exchanged
        return is_special or rules.effect(rank) != TRADE or rules.effect(rank, from_stock=True) != TRADE

    return sorted(whole_deck(rules), key=lambda rank: chooser.random() - bias * acts(rank))


def seats_for(rules: Rules | str, wanted: int) -> int:
    """The number of seats nearest to `wanted` for which the ruleset is made."""
    rules = VARIANTS[rules] if isinstance(rules, str) else rules
    return rules.nearest_seats(wanted)


class SideBySide:
    """One match played in oracle and engine; after each step everything that both can tell must agree."""

    def __init__(self, rules: Rules, num_seats: int, dealer: int = 0, lives: Sequence[int] | None = None) -> None:
        self.oracle = Oracle(rules, num_seats, dealer, None if lives is None else list(lives))
        self.table = Table(rules, num_seats, first_dealer=dealer, lives=lives)
        self.num_seats = num_seats
        self.story = [f"{num_seats} seats, dealer {dealer}, lives {self.oracle.lives}"]

    def deal(self, deck: Sequence[str]) -> None:
        """Deal on both: `deck` and what it leaves out, or from the rest of the last one if there is no shuffle now."""
        assert self.table.wants_deck == self.oracle.wants_deck(), "\n".join([*self.story, "shuffle or go on?"])
        if self.oracle.wants_deck():
            deck = with_rest(self.oracle.rules, deck)
            self.story.append(f"deal {' '.join(deck)}")
            self.oracle.deal(deck)
            self.table.deal(deck)
        else:
            self.story.append("deal from the rest")
            self.oracle.deal(None)
            self.table.deal()
        self.compare()

    def act(self, action: str) -> None:
        """Let the seat to act choose `action` on both."""
        self.story.append(f"seat {self.oracle.to_act} {action}")
        self.oracle.act(action)
        self.table.act(ACTIONS.index(action))
        self.compare()

    def compare(self) -> None:
        """Fail, with the story of the match, where oracle and engine differ."""
        oracle, engine = self.oracle_view(), self.engine_view()
        wrong = [
            f"{key}: oracle {oracle[key]!r}, engine {engine[key]!r}" for key in oracle if oracle[key] != engine[key]
        ]
        state = [f"oracle: {key} {oracle[key]}" for key in ("hands", "lives", "pool", "places", "over")]
        assert not wrong, "\n".join([str(self.oracle.rules.to_dict()), *self.story, *state, *wrong])

    def play_deal(self, chooser: random.Random, eagerness: float, bias: float) -> None:
        """One whole deal: a random deck, random legal actions, EXCHANGE with probability `eagerness`."""
        self.deal(shuffled(self.oracle.rules, chooser, bias))
        while self.oracle.to_act is not None:
            legal = self.oracle.legal()
            wish = EXCHANGE if chooser.random() < eagerness else STAND
            self.act(wish if wish in legal else legal[0])

    def _observers(self) -> list[int]:
        """The seats whose knowledge is compared now: all of a small table, four in turn of a large one."""
        first = 4 * len(self.story)
        return sorted({(first + i) % self.num_seats for i in range(6 if self.num_seats <= 6 else 4)})

    def oracle_view(self) -> dict[str, Any]:
        """All that the oracle can tell of the match at this step."""
        oracle = self.oracle
        hands, stock, aside = oracle.zones()
        return {
            "to_act": oracle.to_act,
            "over": oracle.over,
            "legal": oracle.legal(),
            "lives": oracle.lives,
            "pool": oracle.pool,
            "pool_stays": oracle.pool_stays,
            "stakes": oracle.stakes,
            "antes": oracle.antes,
            "dealer": oracle.dealer,
            "deals": oracle.deals,
            "hands": oracle.hands,
            "zones": (sorted(hands), stock, sorted(aside)),
            "lost": oracle.lost,
            "losses": [{cause: n for cause, n in paid.items() if n} for paid in oracle.losses],
            "losers": oracle.losers,
            "sit_out": oracle.sit_out,
            "places": oracle.places,
            "knocks": oracle.knocks,
            "known": {seat: oracle.knows(seat) for seat in self._observers()},
            "remembered": {seat: oracle.remembered(seat) for seat in self._observers()},
        }

    def engine_view(self) -> dict[str, Any]:
        """The same from the engine."""
        table = self.table
        hands, stock, aside = table.zones()
        return {
            "to_act": table.to_act,
            "over": table.is_over,
            "legal": [ACTIONS[action] for action in table.legal_actions()],
            "lives": list(table.lives),
            "pool": table.pool,
            "pool_stays": table.pool_stays,
            "stakes": table.stakes,
            "antes": list(table.antes),
            "dealer": table.dealer,
            "deals": table.deals,
            "hands": list(table.hands),
            "zones": (sorted(hands), list(stock), sorted(aside)),
            "lost": list(table.lost),
            "losses": table.losses,
            "losers": sorted(table.losers),
            "sit_out": sorted(table.sit_out),
            "places": table.by_seat("place"),  # before they are final too
            "knocks": sorted(table.knocks),
            "known": {seat: table.known(seat) for seat in self._observers()},
            "remembered": {seat: table.remembered(seat) for seat in self._observers()},
        }


@st.composite
def named_tables(draw: st.DrawFn, most_seats: int = 20) -> tuple[str, int]:
    """The name of a ruleset and a number of seats it allows, up to `most_seats`."""
    rules = draw(st.sampled_from(list(VARIANTS.values())))
    most_seats = max(rules.min_players, min(most_seats, rules.seat_limit))
    return rules.name, draw(st.integers(rules.min_players, most_seats))


_PACKS = (
    cards.GNAV_PACK,
    cards.HYPP_PACK,
    cards.JOKER_HIGH_PACK,
    cards.DOUBLE_GNAV_PACK,
    cards.KILLE_PACK,
    cards.CUCCU_PACK,
)


@st.composite
def _refusals(draw: st.DrawFn) -> Effect:
    pay = draw(st.integers(0, 3))
    return Effect(
        refuse=True,
        pay=pay,
        payer=draw(st.sampled_from(("challenger", "origin"))) if pay else "challenger",
        undo=draw(st.sampled_from(("none", "all", "card", "sweep"))),
        stop=draw(st.sampled_from((False, False, True))),
    )


def _effects() -> st.SearchStrategy[Effect]:
    others = st.sampled_from((Effect(redirect=True), Effect(bargain=True), TRADE))
    return st.one_of(others, _refusals())


@st.composite
def _decks(draw: st.DrawFn) -> dict[str, int]:
    """A real pack, or a small one of three to seven ranks in which the stock runs out."""
    if draw(st.integers(0, 3)) == 0:
        pack = draw(st.sampled_from(_PACKS))
        return {rank: copies for rank, copies in pack.items() if copies > 0}
    return {str(rank): draw(st.integers(1, 4)) for rank in range(draw(st.integers(3, 7)), 0, -1)}


@st.composite
def _decks_with_changes(draw: st.DrawFn, deck: dict[str, int], plain: str) -> tuple[dict[str, int], dict[str, str]]:
    """`deck` with up to two ranks more that it has no cards of, and `when_exchanged`, which makes such cards."""
    ranks = draw(st.lists(st.sampled_from([rank for rank in deck if rank != plain]), unique=True, max_size=2))
    when_exchanged = {rank: f"{rank}x" for rank in ranks}
    order = list(deck)
    for other in when_exchanged.values():
        order.insert(draw(st.integers(0, len(order))), other)
    return {rank: deck.get(rank, 0) for rank in order}, when_exchanged


@st.composite
def _special_rows(draw: st.DrawFn, ranks: list[str]) -> tuple[Special, ...]:
    """Rows for up to two ranks, each from some count to some other."""
    rows: list[Special] = []
    for rank in draw(st.lists(st.sampled_from(ranks), unique=True, max_size=2)):
        for count in range(draw(st.integers(1, 2)), draw(st.integers(1, 4)) + 1):
            above = draw(st.sampled_from(["", *ranks])) if draw(st.booleans()) else ""
            row = Special(
                rank=rank,
                count=count,
                holder=f"rank_above {above}" if above else "lose",
                others=draw(st.sampled_from(("lowest", "none"))),
                bonus=draw(st.integers(0, 2)) if above else 0,
                sit_out=draw(st.booleans()),
            )
            rows.append(row)
    return tuple(rows)


@st.composite
def house_rules(draw: st.DrawFn) -> Rules:
    """A ruleset that no house plays: any options together, effects on any ranks, often a very small deck."""
    deck = draw(_decks())
    plain = draw(st.sampled_from(sorted(deck)))  # it keeps two seats possible however many cards redirect
    deck[plain] = max(3, deck[plain])
    deck, when_exchanged = draw(_decks_with_changes(deck, plain))
    ranks = st.sampled_from([rank for rank in deck if rank != plain])
    specials = draw(_special_rows(list(deck)))
    losing = {special.rank for special in specials if special.holder == "lose"}
    may_be_immune = [rank for rank in deck if rank not in losing]
    return VARIANTS["pagat"].replace(
        name="house",
        deck=deck,
        effects=draw(st.dictionaries(ranks, _effects(), max_size=6)),
        from_stock=draw(st.dictionaries(ranks, _effects(), max_size=3)),
        when_exchanged=when_exchanged,
        loss=draw(st.dictionaries(st.sampled_from(list(deck)), st.integers(0, 3), max_size=3)),
        specials=specials,
        count_at=draw(st.sampled_from(("showdown", "dealt"))),
        immune=tuple(draw(st.lists(st.sampled_from(may_be_immune), unique=True, max_size=2))),
        lives=draw(st.integers(1, 4)),
        ante=draw(st.integers(0, 2)),
        direction=draw(st.sampled_from(("clockwise", "anticlockwise"))),
        challenged_matador_turn=draw(st.sampled_from(("skip", "play"))),
        stand_requires=draw(st.sampled_from(("any", "matador"))),
        matador_may_be_offered=draw(st.booleans()),
        fine_to=draw(st.sampled_from(("pool", "holder", "none"))),
        loss_to=draw(st.sampled_from(("pool", "none"))),
        mid_deal_out=draw(st.sampled_from(("dead_card", "deferred", "dead_card_finish"))),
        all_out=draw(st.sampled_from(("play_off", "joint", "carry_over", "all_reenter"))),
        ties=draw(st.sampled_from(("all", "first", "unique", "none_if_all_equal"))),
        sit_out=draw(st.sampled_from(("auto", "off"))),
        speech=draw(st.sampled_from(("spoken", "silent"))),
        knock=draw(st.sampled_from(("dealt", "none"))),
        reshuffle=draw(st.sampled_from(("each_deal", "on_exhaustion"))),
        strikes=draw(st.sampled_from(("cumulative", "consecutive"))),
        end=draw(st.one_of(st.just("last_survivor"), st.integers(1, 6).map(lambda n: f"deals:{n}"))),
    )
