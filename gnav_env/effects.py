"""What a card does: `Effect` when it is asked, `Special` at the showdown. A ruleset (rules.py) is made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from gnav_env._yaml import nearest
from gnav_env.errors import RulesError

__all__ = ["SPECIAL_ROWS", "TRADE", "Effect", "Special", "check_choice", "check_range"]

SPECIAL_ROWS = 4
"""The largest count of a special that has a row of its own."""

REDIRECTS, REFUSES, STOPS, FINES, FINES_ORIGIN, UNDOES_ALL, UNDOES_CARD, SWEEPS = (1 << bit for bit in range(8))
"""Bits of an effect in the compiled record; an effect without bits is the plain trade."""

UNDOES = UNDOES_ALL | UNDOES_CARD | SWEEPS

UNDO_SCOPES = ("none", "all", "card", "sweep")
_UNDO_BITS = dict(zip(UNDO_SCOPES, (0, UNDOES_ALL, UNDOES_CARD, SWEEPS), strict=True))


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """`RulesError` unless `value` is one of `choices`."""
    if value not in choices:
        raise RulesError(f"{name} must be {' or '.join(choices)}, not {value!r}{nearest(str(value), choices)}")


def check_range(name: str, value: Any, low: int, high: int) -> None:
    """`RulesError` unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise RulesError(f"{name} must be a whole number from {low} to {high}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a card does to a challenge instead of trading. No field set: it trades (see `TRADE`)."""

    redirect: bool = False
    """The challenge goes on to the next seat, behind the dealer to the next stock card."""
    refuse: bool = False
    """No trade."""
    pay: int = 0
    """A fine of so many lives."""
    payer: Literal["challenger", "origin"] = "challenger"
    """Who pays it; `origin`: the seat to which the offered card was dealt."""
    undo: Literal["none", "all", "card", "sweep"] = "none"
    """`all`: every trade of this deal is taken back, stock draws too. `card`: the trades along which the offered card
    came, back to its origin. `sweep`: the offered card is pushed back seat by seat towards the eldest, past cards that
    redirect, until one refuses; if that one fines, it fines again."""
    stop: bool = False
    """No more turns: showdown now."""
    bargain: bool = False
    """Cuccù's inn, a refusal that some houses let the two seats bargain about; here it just refuses."""

    def __post_init__(self) -> None:
        does_more = bool(self.pay) or self.undo != "none" or self.stop
        if self.redirect and (self.refuse or self.bargain or does_more):
            raise RulesError("redirect stands alone: a card that passes the challenge on does nothing else")
        if self.bargain and (self.refuse or does_more):
            raise RulesError("bargain stands alone: it is a refusal of its own kind")
        if does_more and not self.refuse:
            raise RulesError("pay, undo and stop go with refuse: write [refuse, pay 1]")
        if not 0 <= self.pay <= 100:
            raise RulesError(f"pay must be 0 to 100 lives, not {self.pay}")
        check_choice("pay's payer", self.payer, ("challenger", "origin"))
        if self.payer == "origin" and not self.pay:
            raise RulesError("pay origin needs a number of lives, as in pay origin 1")
        check_choice("undo", self.undo, UNDO_SCOPES)

    @classmethod
    def from_atoms(cls, atoms: Any) -> Self:
        """The effect written as a list of atoms, ``[refuse, pay 1, undo all, stop]`` or ``[redirect]``; ``[]`` trades.

        >>> Effect.from_atoms(["refuse", "pay origin 1"]).payer
        'origin'
        """
        if not isinstance(atoms, (list, tuple)):
            raise RulesError(f"an effect is a list of atoms like [refuse, pay 1], not {atoms!r}")
        values: dict[str, Any] = {}
        for atom in atoms:
            new = _read_atom(str(atom))
            if values.keys() & new.keys():
                raise RulesError(f"atom {str(atom)!r}: each kind of atom once")
            values.update(new)
        return cls(**values)

    def to_atoms(self) -> list[str]:
        """The list that `from_atoms` reads."""
        atoms = [word for word in ("redirect", "bargain", "refuse") if getattr(self, word)]
        if self.pay:
            atoms.append(f"pay origin {self.pay}" if self.payer == "origin" else f"pay {self.pay}")
        if self.undo != "none":
            atoms.append(f"undo {self.undo}")
        if self.stop:
            atoms.append("stop")
        return atoms

    @property
    def refuses(self) -> bool:
        """True if the challenge ends here without a trade."""
        return self.refuse or self.bargain

    @property
    def bits(self) -> int:
        """The effect without its amount, for the compiled record."""
        fines = FINES | FINES_ORIGIN * (self.payer == "origin") if self.pay else 0
        return REDIRECTS * self.redirect + REFUSES * self.refuses + STOPS * self.stop + fines + _UNDO_BITS[self.undo]


TRADE = Effect()
"""The plain card: the two cards change hands."""

ATOM_PATTERN = r"redirect|refuse|bargain|stop|pay (challenger |origin )?\d+|undo (all|card|sweep)"
"""What an atom may be, as a regular expression for a schema."""


def _read_atom(atom: str) -> dict[str, Any]:
    """The fields of `Effect` that `atom` sets."""
    word, *arguments = atom.split()
    if word in ("redirect", "refuse", "stop", "bargain") and not arguments:
        return {word: True}
    if word == "pay" and arguments and arguments[-1].isdecimal() and atom.isascii():
        if arguments[:-1] in ([], ["challenger"]):
            return {"pay": int(arguments[-1])}
        if arguments[:-1] == ["origin"]:
            return {"pay": int(arguments[-1]), "payer": "origin"}
    if word == "undo" and len(arguments) == 1 and arguments[0] in UNDO_SCOPES[1:]:
        return {"undo": arguments[0]}
    known = ["redirect", "refuse", "pay 1", "pay origin 1", "undo all", "undo card", "undo sweep", "stop", "bargain"]
    raise RulesError(f"unknown atom {atom!r}{nearest(atom, known)}; the atoms are {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class Special:
    """A rank not simply compared at the showdown, when `count` seats hold it (the largest count: or more)."""

    rank: str
    count: int
    holder: str = "lose"
    """`lose`: the holder leaves the comparison and loses. `rank_above X`: its card beats rank X and no higher one."""
    others: Literal["lowest", "none"] = "lowest"
    """Whether the lowest of the rest lose too."""
    bonus: int = 0
    """Lives that each holder wins, 0 to 10; with `rank_above`."""
    sit_out: bool = False
    """The holders miss the next deal."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= SPECIAL_ROWS:
            raise RulesError(f"a special's count must be 1 to {SPECIAL_ROWS}, not {self.count}")
        if self.holder != "lose" and not self.above:
            raise RulesError(f"a special's holder must be lose or rank_above and a rank, not {self.holder!r}")
        check_choice("a special's others", self.others, ("lowest", "none"))
        check_range("a special's bonus", self.bonus, 0, 10)
        if self.bonus and not self.above:
            raise RulesError("a special's bonus goes with rank_above: who loses wins nothing")
        if not isinstance(self.sit_out, bool):
            raise RulesError(f"a special's sit_out must be true or false, not {self.sit_out!r}")

    @property
    def above(self) -> str:
        """The rank that the card beats by `rank_above`, empty where the holder loses."""
        word, _, rank = str(self.holder).partition(" ")
        return rank.strip() if word == "rank_above" else ""

    @classmethod
    def from_mapping(cls, item: Any) -> Self:
        """The special written as a mapping with the fields of this class. `RulesError` if it is not one."""
        known = [f.name for f in fields(cls)]
        if not isinstance(item, Mapping):
            raise RulesError(f"a special is a mapping with {', '.join(known)}, not {item!r}")
        for key in item:
            if key not in known:
                raise RulesError(f"unknown key {key!r} of a special{nearest(str(key), known)}")
        if "rank" not in item or "count" not in item:
            raise RulesError("a special needs a rank and a count")
        check_range("a special's count", item["count"], 1, SPECIAL_ROWS)
        values: dict[str, Any] = {**item, "rank": str(item["rank"])}
        return cls(**values)

    def to_mapping(self) -> dict[str, Any]:
        """The mapping that `from_mapping` reads, without what is as usual."""
        values = {item.name: (getattr(self, item.name), item.default) for item in fields(self)}
        return {name: value for name, (value, usual) in values.items() if value != usual or name == "holder"}
