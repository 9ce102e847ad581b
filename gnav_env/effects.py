"""What a card does: `Effect` when it is asked, `Special` at the showdown. A ruleset (rules.py) is made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from gnav_env._yaml import nearest
from gnav_env.errors import RulesError

__all__ = ["SPECIAL_ROWS", "TRADE", "Effect", "Special", "check_choice", "check_range"]

SPECIAL_ROWS = 4
"""The largest count of a special that has a row of its own."""

REDIRECTS, REFUSES, STOPS, UNDOES, FINES = 1, 2, 4, 8, 16
"""Bits of an effect in the compiled record; an effect without bits is the plain trade."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a card does to a challenge instead of trading. No field set: it trades (see `TRADE`)."""

    redirect: bool = False
    """The challenge goes on to the next seat, behind the dealer to the next stock card."""
    refuse: bool = False
    """No trade."""
    pay: int = 0
    """The challenger pays a fine of so many lives."""
    undo: Literal["none", "all"] = "none"
    """`all`: every trade of this deal is taken back, stock draws too."""
    stop: bool = False
    """No more turns: showdown now."""

    def __post_init__(self) -> None:
        if self.redirect and (self.refuse or self.pay or self.undo != "none" or self.stop):
            raise RulesError("redirect stands alone: a card that passes the challenge on does nothing else")
        if (self.pay or self.undo != "none" or self.stop) and not self.refuse:
            raise RulesError("pay, undo and stop go with refuse: write [refuse, pay 1]")
        if not 0 <= self.pay <= 100:
            raise RulesError(f"pay must be 0 to 100 lives, not {self.pay}")
        if self.undo not in ("none", "all"):
            raise RulesError(f"undo must be all (or left out), not {self.undo!r}")

    @classmethod
    def from_atoms(cls, atoms: Any) -> Self:
        """The effect written as a list of atoms, ``[refuse, pay 1, undo all, stop]`` or ``[redirect]``; ``[]`` trades.

        >>> Effect.from_atoms(["refuse", "pay 1"])
        Effect(redirect=False, refuse=True, pay=1, undo='none', stop=False)
        """
        if atoms == "take":
            atoms = []
        if not isinstance(atoms, (list, tuple)):
            raise RulesError(f"an effect is a list of atoms like [refuse, pay 1], not {atoms!r}")
        values: dict[str, Any] = {}
        for atom in atoms:
            word, _, argument = str(atom).strip().partition(" ")
            if word in ("redirect", "refuse", "stop") and not argument:
                values[word] = True
            elif word == "pay" and argument.isdigit():
                values["pay"] = int(argument)
            elif word == "undo" and argument == "all":
                values["undo"] = "all"
            else:
                known = ["redirect", "refuse", "pay 1", "undo all", "stop"]
                raise RulesError(
                    f"unknown atom {str(atom)!r}{nearest(str(atom), known)}; the atoms are {', '.join(known)}"
                )
        return cls(**values)

    def to_atoms(self) -> list[str]:
        """The list that `from_atoms` reads."""
        atoms = [word for word in ("redirect", "refuse") if getattr(self, word)]
        if self.pay:
            atoms.append(f"pay {self.pay}")
        if self.undo != "none":
            atoms.append(f"undo {self.undo}")
        if self.stop:
            atoms.append("stop")
        return atoms

    @property
    def bits(self) -> int:
        """The effect without its amount, for the compiled record."""
        return (
            REDIRECTS * self.redirect
            + REFUSES * self.refuse
            + STOPS * self.stop
            + UNDOES * (self.undo == "all")
            + FINES * (self.pay > 0)
        )


TRADE = Effect()
"""The plain card: the two cards change hands."""


@dataclass(frozen=True, kw_only=True)
class Special:
    """A rank not simply compared at the showdown, when `count` live seats hold it (the largest count: or more)."""

    rank: str
    count: int
    holder: Literal["lose"] = "lose"
    """`lose`: the holder leaves the comparison and loses."""
    others: Literal["lowest", "none"] = "lowest"
    """Whether the lowest of the rest lose too."""
    sit_out: bool = False
    """The holders miss the next deal."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= SPECIAL_ROWS:
            raise RulesError(f"a special's count must be 1 to {SPECIAL_ROWS}, not {self.count}")
        check_choice("a special's holder", self.holder, ("lose",))
        check_choice("a special's others", self.others, ("lowest", "none"))
        if not isinstance(self.sit_out, bool):
            raise RulesError(f"a special's sit_out must be true or false, not {self.sit_out!r}")

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


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """`RulesError` unless `value` is one of `choices`."""
    if value not in choices:
        raise RulesError(f"{name} must be {' or '.join(choices)}, not {value!r}{nearest(str(value), choices)}")


def check_range(name: str, value: Any, low: int, high: int) -> None:
    """`RulesError` unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise RulesError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
