"""`Rules`: a ruleset as frozen, checked data, compiled into one record for the engine.

A ruleset says what each rank does, what it costs and how a match ends. The engine reads the compiled record and has
no branch on a ruleset's name. YAML is read and written in reading.py, the named rulesets stand in variants.py.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from gnav_env._yaml import nearest
from gnav_env.cards import Language, Numerals, display_name
from gnav_env.compiled import MAX_CARDS, MAX_RANKS, MAX_SEATS, NOT_COMPARED, RULES
from gnav_env.effects import TRADE, Effect, Special, check_choice, check_range
from gnav_env.errors import RulesError

__all__ = ["Rules"]

COSMETIC = ("name", "title", "source", "names", "numerals", "display", "container")
"""Options that are only for the eye."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """One ruleset. Fields are the options of the rules; every one has a default except name and deck.

    Ranks are keys of cards.py. Values are checked when the object is made (`RulesError`).
    """

    name: str
    """Key of the ruleset, e.g. ``pagat``."""
    title: str = ""
    """A line for people."""
    source: str = ""
    """Where the rules are described."""
    deck: Mapping[str, int]
    """Ranks from high to low, each with its number of copies; 0 only for what `when_exchanged` makes of another."""
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    """What a rank does when asked by a seat; ranks left out trade. A rank with an effect is a matador."""
    from_stock: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    """Exceptions for ranks turned from the stock; ranks left out answer there as when asked."""
    when_exchanged: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a rank is, face up, for the rest of the deal once it has changed hands; drawing it does not count."""
    loss: Mapping[str, int] = field(default_factory=dict[str, int])
    """Lives that a loser with this rank pays at the showdown; ranks left out cost 1."""
    specials: tuple[Special, ...] = ()
    """Ranks that are not simply compared at the showdown."""
    count_at: Literal["showdown", "dealt"] = "showdown"
    """Whether specials are counted among the live cards of the showdown, or as they were dealt."""
    immune: tuple[str, ...] = ()
    """Ranks that never lose: they are left out of the comparison."""
    lives: int = 3
    """Lives of each seat at the start, 1 to 100."""
    ante: int = 0
    """What each seat in a deal stakes on it, 0 to 100. Stakes are kept beside the lives; the winner takes them."""
    min_players: int = 2
    """Fewest seats."""
    max_players: int = MAX_SEATS
    """Most seats; the deck sets a limit of its own (`seat_limit`)."""
    direction: Literal["clockwise", "anticlockwise"] = "clockwise"
    """Which way turns, challenges and the deal go."""
    challenged_matador_turn: Literal["skip", "play"] = "skip"
    """Whether a seat whose card answered a challenge has had its turn."""
    stand_requires: Literal["any", "matador"] = "any"
    """`matador`: STAND only with a matador, unless EXCHANGE is impossible."""
    matador_may_be_offered: bool = True
    """Whether the holder of a matador may choose EXCHANGE."""
    bargain: Literal["off"] = "off"
    """What the atom `bargain` means; `off`: it refuses."""
    fine_to: Literal["pool", "holder", "none"] = "pool"
    """Who gets a fine; `holder`: a fine from the stock goes to the pool."""
    loss_to: Literal["pool", "none"] = "pool"
    """Where the lives lost at the showdown go."""
    mid_deal_out: Literal["dead_card", "deferred", "dead_card_finish"] = "dead_card"
    """A seat that falls in mid-deal. `dead_card`: its card is out of the comparison, and if one seat is left the match
    ends at once. `deferred`: its card is compared all the same and costs nothing more. `dead_card_finish`: a dead card,
    but the deal is played to its end."""
    all_out: Literal["play_off", "joint", "carry_over", "all_reenter"] = "play_off"
    """When the last seats fall together. `play_off`: they get a life back and play another deal. `joint`: they share
    the match. `carry_over`: as play_off, and the pool is kept for the next match. `all_reenter`: everybody starts
    again with full lives."""
    ties: Literal["all", "first", "unique", "none_if_all_equal"] = "all"
    """Who loses of the seats tied for lowest. `first`: the earliest in the order of turns. `unique`: only a single
    lowest loses. `none_if_all_equal`: all of them, unless all cards compared are equal."""
    sit_out: Literal["auto", "off"] = "auto"
    """Whether the specials' sit_out is observed."""
    speech: Literal["spoken", "silent"] = "spoken"
    """`silent`: of a card that answers, others see only what it does, not its face."""
    knock: Literal["dealt", "none"] = "none"
    """`dealt`: a seat that is dealt a special rank must knock."""
    reshuffle: Literal["each_deal", "on_exhaustion"] = "each_deal"
    """When the cards are shuffled. `on_exhaustion`: deals go on from the rest of the deck until it is too short, so
    that it pays to remember what has been seen."""
    strikes: Literal["cumulative", "consecutive"] = "cumulative"
    """`cumulative`: lost lives stay lost. `consecutive`: who pays nothing in a deal gets all lost lives back."""
    first_dealer: Literal["random"] | int = "random"
    """`random` from the seed, or a seat."""
    end: str = "last_survivor"
    """`last_survivor`, or `deals:N`: the most lives after N deals win."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """What people call a rank, where it is not its key."""
    numerals: Numerals = "arabic"
    """The figures of number cards, for people."""
    display: Literal["tokens", "letters", "strokes"] = "tokens"
    """How lives are shown to people."""
    container: Literal["deck", "bag"] = "deck"
    """What the cards come out of, for people."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not all(c.isalnum() or c in "_-" for c in self.name):
            raise RulesError(f"name must be letters, digits, _ and -, not {self.name!r}")
        self._check_deck()
        for name, choices in option_choices().items():
            check_choice(name, getattr(self, name), choices)
        check_range("lives", self.lives, 1, 100)
        check_range("ante", self.ante, 0, 100)
        check_range("min_players", self.min_players, 2, MAX_SEATS)
        check_range("max_players", self.max_players, self.min_players, MAX_SEATS)
        if not isinstance(self.matador_may_be_offered, bool):
            raise RulesError(f"matador_may_be_offered must be true or false, not {self.matador_may_be_offered!r}")
        if self.first_dealer != "random":
            check_range("first_dealer (a seat, or random)", self.first_dealer, 0, max(0, self.seat_limit - 1))
        _ = self.num_deals
        if self.seat_limit < self.min_players:
            raise RulesError(
                f"the deck of {self.num_cards} cards serves at most {self.seat_limit} seats "
                f"(cards - 1 - redirecting cards), min_players is {self.min_players}"
            )

    def _check_deck(self) -> None:
        if not isinstance(self.deck, Mapping) or not 2 <= len(self.deck) <= MAX_RANKS:
            raise RulesError(f"deck must map 2 to {MAX_RANKS} ranks, high to low, to their number of copies")
        for rank, copies in self.deck.items():
            if not rank.isalnum():
                raise RulesError(f"deck: a rank is letters and digits, not {rank!r}")
            check_range(f"deck: copies of {rank}", copies, int(rank not in self.when_exchanged.values()), MAX_CARDS)
        if self.num_cards > MAX_CARDS:
            raise RulesError(f"deck must have at most {MAX_CARDS} cards, not {self.num_cards}")
        for name in ("title", "source"):
            if not isinstance(getattr(self, name), str):
                raise RulesError(f"{name} must be a text, not {getattr(self, name)!r}")
        for rank, called in self.names.items():
            if not isinstance(called, str) or not called.strip():
                raise RulesError(f"names: what people call {rank} must be a word or more, not {called!r}")
        for name in ("effects", "from_stock", "when_exchanged", "loss", "immune", "names"):
            for rank in getattr(self, name):
                self._check_rank(rank, name)
        for rank, lives in self.loss.items():
            check_range(f"loss of {rank}", lives, 0, 100)
        for rank, other in self.when_exchanged.items():
            self._check_rank(other, "when_exchanged")
            if other in self.when_exchanged or list(self.when_exchanged.values()).count(other) > 1 or self.deck[other]:
                raise RulesError(
                    f"when_exchanged: {rank} must become a rank of its own, with 0 copies in the deck, not {other}"
                )
        self._check_specials()

    def _check_specials(self) -> None:
        for special in self.specials:
            self._check_rank(special.rank, "specials")
            if special.above:
                self._check_rank(special.above, "specials: rank_above")
            elif special.rank in self.immune:
                raise RulesError(f"immune: {special.rank} is a special whose holder loses, it cannot be immune too")
        keys = [(special.rank, special.count) for special in self.specials]
        if len(set(keys)) < len(keys):
            raise RulesError("specials: each rank and count once")

    def _check_rank(self, rank: str, where: str) -> None:
        if rank not in self.deck:
            raise RulesError(
                f"{where}: the deck has no rank {rank!r}{nearest(str(rank), self.deck)}; "
                f"its ranks are {', '.join(self.deck)}"
            )

    @property
    def num_cards(self) -> int:
        """Cards in the deck."""
        return sum(self.deck.values())

    @cached_property
    def ranks(self) -> tuple[str, ...]:
        """The ranks from low to high: a rank's number is its place here."""
        return tuple(reversed(list(self.deck)))

    @cached_property
    def rank_numbers(self) -> dict[str, int]:
        """Each rank's number, 0 the lowest."""
        return {rank: number for number, rank in enumerate(self.ranks)}

    @property
    def matadors(self) -> tuple[str, ...]:
        """The ranks that answer a challenge, high to low."""
        return tuple(rank for rank in self.deck if self.effects.get(rank, TRADE) != TRADE)

    @property
    def num_redirecting(self) -> int:
        """Cards of the deck that pass a challenge on, from a hand or from the stock."""
        return sum(
            copies
            for rank, copies in self.deck.items()
            if self.effect(rank).redirect
            or self.effect(rank, from_stock=True).redirect
            or self.effect(self.when_exchanged.get(rank, rank)).redirect
        )

    @property
    def seat_limit(self) -> int:
        """The most seats: a challenge that goes behind the dealer always finds a card."""
        return min(self.max_players, self.num_cards - 1 - self.num_redirecting)

    @property
    def num_deals(self) -> int:
        """Deals after which a match ends; 0 for `last_survivor`."""
        if self.end == "last_survivor":
            return 0
        word, _, number = str(self.end).partition(":")
        if word != "deals" or not (number.isascii() and number.isdigit()) or not 1 <= int(number) <= 10_000:
            raise RulesError(f"end must be last_survivor or deals:N with N 1 to 10000, not {self.end!r}")
        return int(number)

    def effect(self, rank: str, *, from_stock: bool = False) -> Effect:
        """What `rank` does to a challenge, in a hand or turned from the stock."""
        asked = self.effects.get(rank, TRADE)
        return self.from_stock.get(rank, asked) if from_stock else asked

    def card_name(self, rank: str, language: Language = "own") -> str:
        """What people call `rank`."""
        if language == "own" and rank in self.names:
            return self.names[rank]
        return display_name(rank, language, self.numerals)

    def means_or_more(self, special: Special) -> bool:
        """True if `special` has the largest count of its rank, which counts for more of them too."""
        return special.count == max(other.count for other in self.specials if other.rank == special.rank)

    def seat_span(self, between: str = " to ") -> str:
        """The numbers of seats that the ruleset is made for, in words: ``2 to 37``, or one number."""
        return between.join(dict.fromkeys((str(self.min_players), str(self.seat_limit))))

    def nearest_seats(self, wanted: int) -> int:
        """The number of seats nearest to `wanted` that the ruleset is made for."""
        return min(max(wanted, self.min_players), self.seat_limit)

    def can_seat(self, num_seats: int) -> bool:
        """True if so many can play this ruleset."""
        has_dealer = self.first_dealer == "random" or num_seats > int(self.first_dealer)
        return self.min_players <= num_seats <= self.seat_limit and has_dealer

    def check_seats(self, num_seats: int) -> int:
        """`num_seats`, or `RulesError` if this ruleset cannot be played by so many."""
        if not isinstance(num_seats, (int, np.integer)) or not self.min_players <= num_seats <= self.seat_limit:
            raise RulesError(f"seats must be {self.seat_span()} for ruleset {self.name}, not {num_seats!r}")
        if self.first_dealer != "random" and num_seats <= int(self.first_dealer):
            raise RulesError(
                f"seats must be more than {self.first_dealer} for ruleset {self.name}, "
                f"whose first_dealer is seat {self.first_dealer}, not {num_seats}"
            )
        return int(num_seats)

    def max_deals(self, num_seats: int) -> int:
        """Deals after which an environment truncates a match: four times the bound of a match without gains.

        A match that ends after so many deals is not cut off before.
        """
        return max(4 * num_seats * self.lives, self.num_deals)

    @cached_property
    def hash(self) -> str:
        """16 hex digits that name the game: equal for rulesets that differ only in names, title, source and display.

        Options that are as usual do not count, so that a new one leaves the hashes of old rulesets as they are.
        """
        data = {key: value for key, value in self.to_dict(all_options=False).items() if key not in COSMETIC}
        data["deck"] = list(self.deck.items())
        text = json.dumps(data, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.hash)

    @cached_property
    def compiled(self) -> NDArray[Any]:
        """The ruleset as kernels read it: [1] of `RULES`, read-only."""
        array = np.zeros(1, RULES)
        record: Any = array[0]
        record.num_cards = self.num_cards
        record.num_ranks = len(self.ranks)
        record.num_redirecting = self.num_redirecting
        record.per_rank = 1 / len(self.ranks)
        record.per_step = 1 / (len(self.ranks) - 1)
        record.per_life = 1 / self.lives
        self._compile_ranks(record)
        self._compile_specials(record)
        record.counts_dealt = self.count_at == "dealt"
        record.lives = self.lives
        record.ante = self.ante
        record.direction = 1 if self.direction == "clockwise" else -1
        record.skips = self.challenged_matador_turn == "skip"
        record.stand_needs_matador = self.stand_requires == "matador"
        record.matador_stays = not self.matador_may_be_offered
        for name in ("fine_to", "mid_deal_out", "ties", "all_out"):
            record[name] = option_choices()[name].index(getattr(self, name))
        record.loss_to = option_choices()["fine_to"].index(self.loss_to)
        record.keeps_rest = self.reshuffle == "on_exhaustion"
        record.heals = self.strikes == "consecutive"
        record.spoken = self.speech == "spoken"
        record.knocks = self.knock == "dealt"
        record.knock_tells = len({special.rank for special in self.specials if self.deck[special.rank]}) == 1
        record.num_deals = self.num_deals
        array.flags.writeable = False
        return array

    def _compile_ranks(self, record: Any) -> None:
        at = 0
        record.when_exchanged[:] = record.dealt_as[:] = np.arange(MAX_RANKS)
        for number, rank in enumerate(self.ranks):
            copies = self.deck[rank]
            record.deck[at : at + copies] = number
            at += copies
            record.copies[number] = copies
            record.cards_below[number] = at - copies
            record.matadors_in_deck += copies * (rank in self.matadors)
            asked, turned = self.effect(rank), self.effect(rank, from_stock=True)
            record.asked[number], record.asked_fine[number] = asked.bits, asked.pay
            record.turned[number], record.turned_fine[number] = turned.bits, turned.pay
            record.loss[number] = self.loss.get(rank, 1)
            record.matador[number] = rank in self.matadors
            record.height[number] = NOT_COMPARED if rank in self.immune else 2 * number
            if rank in self.when_exchanged:
                other = self.rank_numbers[self.when_exchanged[rank]]
                record.when_exchanged[number], record.dealt_as[other] = other, number

    def _compile_specials(self, record: Any) -> None:
        record.special_height[:] = record.height[:, np.newaxis]
        for special in self.specials:
            number = self.rank_numbers[special.rank]
            record.special[number] = 1
            rows = slice(special.count - 1, None if self.means_or_more(special) else special.count)
            record.special_loses[number, rows] = special.holder == "lose"
            is_compared = special.above and special.rank not in self.immune
            height = 2 * self.rank_numbers[special.above] + 1 if is_compared else NOT_COMPARED
            record.special_height[number, rows] = height
            record.special_spares[number, rows] = special.others == "none"
            record.special_bonus[number, rows] = special.bonus
            record.special_sits_out[number, rows] = special.sit_out and self.sit_out == "auto"

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked anew."""
        return replace(self, **changes)

    def to_dict(self, *, all_options: bool = True) -> dict[str, Any]:
        """The ruleset as plain data, which `reading.rules_from_dict` reads back.

        Without `all_options` those that are as usual are left out.
        """
        data: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if not all_options and value == usual_value(item.name):
                continue
            if item.name in ("effects", "from_stock"):
                value = {rank: effect.to_atoms() for rank, effect in value.items()}
            elif item.name == "specials":
                value = [special.to_mapping() for special in value]
            elif isinstance(value, Mapping):
                value = dict(value)
            elif isinstance(value, tuple):
                value = list(value)
            data[item.name] = value
        return data


_FIELDS = {item.name: item for item in fields(Rules)}
_CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(item.type)
    for name, item in _FIELDS.items()
    if get_args(item.type) and all(isinstance(choice, str) for choice in get_args(item.type))
}


def option_choices() -> dict[str, tuple[str, ...]]:
    """The options that are one of a few words, with these words: the usual one stands first."""
    return _CHOICES


def usual_value(name: str) -> Any:
    """What the option called `name` is where a ruleset does not say; `...` where it must."""
    item = _FIELDS[name]
    if item.default_factory is not MISSING:
        return item.default_factory()
    return ... if item.default is MISSING else item.default
