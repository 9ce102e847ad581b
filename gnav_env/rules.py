"""`Rules`: a ruleset as frozen, checked data; to and from YAML; compiled into one record for the engine.

A ruleset says what each rank does, what it costs and how a match ends. The engine reads the compiled record and has
no branch on a ruleset's name. The named rulesets stand in variants.py; this file knows none of them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from gnav_env._yaml import line_of, nearest, read_yaml, reject_unknown_keys
from gnav_env.effects import SPECIAL_ROWS, TRADE, Effect, Special, check_choice, check_range
from gnav_env.errors import RulesError, YamlError

__all__ = [
    "MAX_CARDS",
    "MAX_RANKS",
    "MAX_SEATS",
    "RULES",
    "Rules",
]

MAX_SEATS = 40
MAX_CARDS = 84
MAX_RANKS = 24
TO_POOL, TO_HOLDER, TO_NOBODY = 0, 1, 2
"""Where lives go, in the compiled record."""

RULES = np.dtype(
    (
        np.record,
        [
            ("num_cards", np.int16),
            ("num_ranks", np.int16),
            ("num_redirecting", np.int16),  # redirecting cards in the deck
            ("per_rank", np.float32),  # 1 / ranks, 1 / (ranks - 1), 1 / lives, to scale observations
            ("per_step", np.float32),
            ("per_life", np.float32),
            ("deck", np.int8, (MAX_CARDS,)),  # ranks of the sorted deck, lowest first
            ("copies", np.int8, (MAX_RANKS,)),  # by rank, as all that follow; rank 0 is the lowest
            ("cards_below", np.int8, (MAX_RANKS,)),  # cards of lower ranks in the deck
            ("matadors_in_deck", np.int8),
            ("asked", np.int8, (MAX_RANKS,)),  # effect bits when asked by a seat
            ("asked_fine", np.int8, (MAX_RANKS,)),
            ("turned", np.int8, (MAX_RANKS,)),  # effect bits when turned from the stock
            ("turned_fine", np.int8, (MAX_RANKS,)),
            ("loss", np.int8, (MAX_RANKS,)),
            ("matador", np.int8, (MAX_RANKS,)),
            ("special", np.int8, (MAX_RANKS,)),  # 1 if the rank is not simply ranked at the showdown
            ("special_loses", np.int8, (MAX_RANKS, SPECIAL_ROWS)),  # by rank and number of live holders - 1
            ("special_spares", np.int8, (MAX_RANKS, SPECIAL_ROWS)),  # 1: the others lose nothing
            ("special_sits_out", np.int8, (MAX_RANKS, SPECIAL_ROWS)),
            ("lives", np.int16),
            ("skips", np.int8),  # a seat whose card answered has had its turn
            ("stand_needs_matador", np.int8),
            ("matador_stays", np.int8),  # a matador may not be offered
            ("fine_to", np.int8),
            ("loss_to", np.int8),
            ("play_off", np.int8),  # 0: seats that fall last together share the match
            ("spoken", np.int8),  # the face of a card that answers is public
            ("knocks", np.int8),  # a seat dealt a special rank knocks
            ("knock_tells", np.int8),  # ... and there is just one such rank, so that a knock tells the card
            ("num_deals", np.int16),  # the match ends after so many; 0: with the last survivor
        ],
    )
)
"""The compiled form of `Rules`: one record, read by kernels."""


_CHOICES: dict[str, tuple[str, ...]] = {
    "challenged_matador_turn": ("skip", "play"),
    "stand_requires": ("any", "matador"),
    "fine_to": ("pool", "holder", "none"),
    "loss_to": ("pool", "none"),
    "mid_deal_out": ("dead_card",),
    "all_out": ("play_off", "joint"),
    "ties": ("all",),
    "sit_out": ("auto", "off"),
    "speech": ("spoken", "silent"),
    "knock": ("dealt", "none"),
    "reshuffle": ("each_deal",),
    "strikes": ("cumulative",),
    "display": ("tokens", "letters", "strokes"),
    "container": ("deck", "bag"),
}
_COSMETIC = ("name", "title", "source", "display", "container")


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
    """Ranks from high to low, each with its number of copies."""
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    """What a rank does when asked by a seat; ranks left out trade. A rank with an effect is a matador."""
    from_stock: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    """Exceptions for ranks turned from the stock; ranks left out answer there as when asked."""
    loss: Mapping[str, int] = field(default_factory=dict[str, int])
    """Lives that a loser with this rank pays at the showdown; ranks left out cost 1."""
    specials: tuple[Special, ...] = ()
    """Ranks that are not simply compared at the showdown."""
    lives: int = 3
    """Lives of each seat at the start, 1 to 100."""
    min_players: int = 2
    """Fewest seats."""
    max_players: int = MAX_SEATS
    """Most seats; the deck sets a limit of its own (`seat_limit`)."""
    challenged_matador_turn: Literal["skip", "play"] = "skip"
    """Whether a seat whose card answered a challenge has had its turn."""
    stand_requires: Literal["any", "matador"] = "any"
    """`matador`: STAND only with a matador, unless EXCHANGE is impossible."""
    matador_may_be_offered: bool = True
    """Whether the holder of a matador may choose EXCHANGE."""
    fine_to: Literal["pool", "holder", "none"] = "pool"
    """Who gets a fine; `holder`: a fine from the stock goes to the pool."""
    loss_to: Literal["pool", "none"] = "pool"
    """Where the lives lost at the showdown go."""
    mid_deal_out: Literal["dead_card"] = "dead_card"
    """A seat that falls in mid-deal: its card is out of the comparison."""
    all_out: Literal["play_off", "joint"] = "play_off"
    """When the last seats fall together: they get a life back and play on, or share the match."""
    ties: Literal["all"] = "all"
    """All seats tied for lowest lose."""
    sit_out: Literal["auto", "off"] = "auto"
    """Whether the specials' sit_out is observed."""
    speech: Literal["spoken", "silent"] = "spoken"
    """`silent`: of a card that answers, others see only what it does, not its face."""
    knock: Literal["dealt", "none"] = "none"
    """`dealt`: a seat that is dealt a special rank must knock."""
    reshuffle: Literal["each_deal"] = "each_deal"
    """When the cards are shuffled."""
    strikes: Literal["cumulative"] = "cumulative"
    """Lost lives stay lost."""
    first_dealer: Literal["random"] | int = "random"
    """`random` from the seed, or a seat."""
    end: str = "last_survivor"
    """`last_survivor`, or `deals:N`: the most lives after N deals win."""
    display: Literal["tokens", "letters", "strokes"] = "tokens"
    """How lives are shown to people."""
    container: Literal["deck", "bag"] = "deck"
    """What the cards come out of, for people."""

    def __post_init__(self) -> None:
        if not self.name or not all(c.isalnum() or c in "_-" for c in self.name):
            raise RulesError(f"name must be letters, digits, _ and -, not {self.name!r}")
        self._check_deck()
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_range("lives", self.lives, 1, 100)
        check_range("min_players", self.min_players, 2, MAX_SEATS)
        check_range("max_players", self.max_players, self.min_players, MAX_SEATS)
        if not isinstance(self.matador_may_be_offered, bool):
            raise RulesError(f"matador_may_be_offered must be true or false, not {self.matador_may_be_offered!r}")
        if self.first_dealer != "random":
            check_range("first_dealer (a seat, or random)", self.first_dealer, 0, MAX_SEATS - 1)
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
            check_range(f"deck: copies of {rank}", copies, 1, MAX_CARDS)
        if self.num_cards > MAX_CARDS:
            raise RulesError(f"deck must have at most {MAX_CARDS} cards, not {self.num_cards}")
        for name in ("effects", "from_stock", "loss"):
            for rank in getattr(self, name):
                self._check_rank(rank, name)
        for rank, lives in self.loss.items():
            check_range(f"loss of {rank}", lives, 0, 100)
        for special in self.specials:
            self._check_rank(special.rank, "specials")
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
            if self.effect(rank).redirect or self.effect(rank, from_stock=True).redirect
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
        if word != "deals" or not number.isdigit() or not 1 <= int(number) <= 10_000:
            raise RulesError(f"end must be last_survivor or deals:N with N 1 to 10000, not {self.end!r}")
        return int(number)

    def effect(self, rank: str, *, from_stock: bool = False) -> Effect:
        """What `rank` does to a challenge, in a hand or turned from the stock."""
        asked = self.effects.get(rank, TRADE)
        return self.from_stock.get(rank, asked) if from_stock else asked

    def check_seats(self, num_seats: int) -> int:
        """`num_seats`, or `RulesError` if this ruleset cannot be played by so many."""
        if not isinstance(num_seats, (int, np.integer)) or not self.min_players <= num_seats <= self.seat_limit:
            raise RulesError(
                f"seats must be {self.min_players} to {self.seat_limit} for ruleset {self.name}, not {num_seats!r}"
            )
        return int(num_seats)

    def max_deals(self, num_seats: int) -> int:
        """Deals after which an environment truncates a match: four times the bound of a match without gains."""
        return 4 * num_seats * self.lives

    @property
    def hash(self) -> str:
        """16 hex digits that name the game: equal for rulesets that differ only in name, title, source and display."""
        data = {key: value for key, value in self.to_dict().items() if key not in _COSMETIC}
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
        at = 0
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
        for special in self.specials:
            number = self.rank_numbers[special.rank]
            record.special[number] = 1
            is_largest = special.count == max(s.count for s in self.specials if s.rank == special.rank)
            rows = slice(special.count - 1, None if is_largest else special.count)  # the largest means "or more"
            record.special_loses[number, rows] = special.holder == "lose"
            record.special_spares[number, rows] = special.others == "none"
            record.special_sits_out[number, rows] = special.sit_out and self.sit_out == "auto"
        record.lives = self.lives
        record.skips = self.challenged_matador_turn == "skip"
        record.stand_needs_matador = self.stand_requires == "matador"
        record.matador_stays = not self.matador_may_be_offered
        record.fine_to = {"pool": TO_POOL, "holder": TO_HOLDER, "none": TO_NOBODY}[self.fine_to]
        record.loss_to = {"pool": TO_POOL, "none": TO_NOBODY}[self.loss_to]
        record.play_off = self.all_out == "play_off"
        record.spoken = self.speech == "spoken"
        record.knocks = self.knock == "dealt"
        record.knock_tells = len({special.rank for special in self.specials}) == 1
        record.num_deals = self.num_deals
        array.flags.writeable = False
        return array

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked anew."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The ruleset as plain data; `from_dict` reads it back."""
        data: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("effects", "from_stock"):
                value = {rank: effect.to_atoms() for rank, effect in value.items()}
            elif item.name == "specials":
                value = [vars(special).copy() for special in value]
            elif isinstance(value, Mapping):
                value = dict(value)
            data[item.name] = value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "rules") -> Self:
        """The ruleset in `data`, either whole or as changes to a named one (``based_on: pagat``).

        With `based_on`, effects, from_stock and loss are merged rank by rank; all other keys replace the base's.
        Raises `RulesError`, or `YamlError` with the line if `data` comes from `read_yaml`; `where` is the file's name.
        """
        known = [item.name for item in fields(cls)]
        reject_unknown_keys(data, ["based_on", *known], where)
        values: dict[str, Any] = {}
        base_name = data.get("based_on")
        if base_name is not None:
            if base_name not in _NAMED:
                raise YamlError(
                    f"{_at(data, ['based_on'], where)}: unknown ruleset {base_name!r}"
                    f"{nearest(str(base_name), _NAMED)}; named rulesets are {', '.join(_NAMED)}"
                )
            base = _NAMED[base_name]
            values = {item.name: getattr(base, item.name) for item in fields(base)}
            values.update(title="", source="")
        for key, value in data.items():
            if key == "based_on":
                continue
            try:
                values[key] = _read_value(key, value, values.get(key))
            except (RulesError, TypeError) as error:
                raise YamlError(f"{_at(data, [key], where)}: {error}") from None
        missing = [key for key in ("name", "deck") if key not in values]
        if "name" in missing or "name" not in data:
            raise YamlError(f"{where}: a ruleset needs a name of its own: add `name: my_rules`")
        if missing:
            raise YamlError(f"{where}: a ruleset needs a deck, or `based_on:` one of {', '.join(_NAMED)}")
        try:
            return cls(**values)
        except RulesError as error:
            key = next((key for key in data if str(error).startswith(str(key))), None)
            raise YamlError(f"{_at(data, [key] if key else [], where)}: {error}") from None

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """The ruleset in the YAML file at `path`.

        Raises `YamlError` with path, line and what would be right.
        """
        return cls.from_dict(read_yaml(path), where=str(path))

    def to_yaml(self) -> str:
        """The whole ruleset as YAML text that `from_yaml` reads."""
        from io import StringIO

        from ruamel.yaml import YAML

        stream = StringIO()
        yaml = YAML(typ="rt")
        yaml.default_flow_style = None
        yaml.dump(self.to_dict(), stream)
        return stream.getvalue()


_NAMED: dict[str, Rules] = {}


def name_rules(rules: Rules) -> Rules:
    """Make `rules` known under its name, so that YAML can build on it (`based_on`). Returns it."""
    _NAMED[rules.name] = rules
    return rules


def _at(data: Any, keys: list[Any], where: str) -> str:
    line = line_of(data, keys)
    return f"{where}:{line}" if line else where


def _read_value(key: str, value: Any, base: Any) -> Any:
    """One field of `Rules` from its plain form; `base` is the value that `based_on` brought."""
    if key in ("deck", "effects", "from_stock", "loss"):
        if not isinstance(value, Mapping):
            raise RulesError(f"{key} must map ranks to values, not {value!r}")
        read = {str(rank): item for rank, item in value.items()}
        if key == "deck":
            return read
        if key != "loss":
            read = {rank: Effect.from_atoms(item) for rank, item in read.items()}
        return {**(base or {}), **read}
    if key == "specials":
        if not isinstance(value, (list, tuple)):
            raise RulesError(f"specials must be a list, not {value!r}")
        return tuple(Special.from_mapping(item) for item in value)
    return value
