"""A match that was written down, as data: `read` takes the text that notation.py writes and describes.

Here only the form is checked. Whether what the text says is true is found out by `notation.replay`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gnav_env._yaml import nearest, parse_yaml
from gnav_env.errors import GnavError
from gnav_env.reading import rules_from_dict
from gnav_env.rules import Rules
from gnav_env.table import ACTION_NAMES
from gnav_env.variants import VARIANTS

__all__ = ["FORMAT", "NO_CARD", "UNFINISHED", "DealRecord", "Record", "read", "read_file"]

FORMAT = 1
"""Rises when texts of before can no longer be read."""

NO_CARD = "-"
"""Instead of a rank, where a seat has none."""
UNFINISHED = "unfinished"
"""How a match ends that was broken off."""

_CONSEQUENCES = ("knocks:", "showdown:", "losers:", "lives:", "pool:", "stakes:", "sit out:")


@dataclass(frozen=True, kw_only=True)
class DealRecord:
    """One deal as it was read: what it takes to play it again."""

    number: int
    cards: tuple[str, ...]
    """Ranks by deck position, ``-`` for a seat that is not in the deal."""
    actions: tuple[tuple[int, int], ...]
    """Seat and action of each decision, in order."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A match as it was read. Whether its consequences are true is seen by `replay`."""

    where: str
    """The file's name, for errors."""
    rules: Rules
    num_seats: int
    seed: int | None
    match: int | None
    first_dealer: int
    lives: tuple[int, ...]
    pool: int
    """In it at the start."""
    agents: tuple[str, ...]
    deals: tuple[DealRecord, ...]
    is_finished: bool
    lines: tuple[tuple[int, str], ...]
    """Number and text of each line that replay compares."""


def read_file(path: str | Path) -> Record:
    """The match in the file at `path`; errors name file and line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise GnavError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise GnavError(f"{path}: cannot be read as text: {error}") from None
    return read(text, where=str(path))


def read(text: str, *, where: str = "match") -> Record:
    """The match in `text`; `where` stands for the file's name in errors."""
    return _Reader(text, where).record()


class _Reader:
    """Reads the form of a text, line by line."""

    def __init__(self, text: str, where: str) -> None:
        self._where = where
        self._raw = text.splitlines()
        self._lines = [(n, line.rstrip()) for n, line in enumerate(self._raw, 1) if _counts(line)]
        self._at = 0

    def record(self) -> Record:
        """The match, or `GnavError` where a line has not the form that it should have."""
        [number] = self._take(r"gnav match, format (\d+)", f"`gnav match, format {FORMAT}`")
        if int(number) != FORMAT:
            raise self._error(f"this is format {number}, only format {FORMAT} can be read", -1)
        rules = self._rules()
        num_seats = self._number("seats")
        seed = self._number("seed") if self._is_next("seed:") else None
        match = self._number("match") if self._is_next("match:") else None
        first_dealer = self._number("first dealer")
        lives = self._numbers("lives", num_seats)
        pool = self._number("pool at the start") if self._is_next("pool at the start:") else 0
        agents = self._agents(num_seats)
        deals: list[DealRecord] = []
        while self._is_next("deal "):
            deals.append(self._deal(num_seats))
        [end] = self._take(r"end: (.+)", "a deal, an action or the `end:` of the match")
        while self._is_next("places:", "results:"):
            self._at += 1
        if self._at < len(self._lines):
            raise self._error(f"expected nothing behind the end of the match, found `{self._lines[self._at][1]}`")
        return Record(
            where=self._where,
            rules=rules,
            num_seats=num_seats,
            seed=seed,
            match=match,
            first_dealer=first_dealer,
            lives=tuple(lives),
            pool=pool,
            agents=agents,
            deals=tuple(deals),
            is_finished=end != UNFINISHED,
            lines=tuple(self._lines),
        )

    def _rules(self) -> Rules:
        name, hash_there = self._take(r"rules: (\S+) ([0-9a-f]+)", "`rules:` with a ruleset's name and hash")
        first = last = self._lines[self._at - 1][0]
        while last < len(self._raw) and (self._raw[last].startswith("  ") or not _counts(self._raw[last])):
            last += 1
        block = [line[2:] for line in self._raw[first:last] if line.startswith("  ")]
        if block:
            self._lines = [(n, line) for n, line in self._lines if not first < n <= last]
            lines = [line[2:] if line.startswith("  ") else "" for line in self._raw[first:last]]
            data = parse_yaml("\n" * first + "\n".join(lines), where=self._where)
            rules = rules_from_dict(data, VARIANTS, where=self._where)
        elif name in VARIANTS:
            rules = VARIANTS[name]
        else:
            raise self._error(f"unknown ruleset {name!r}{nearest(name, VARIANTS)}, and no YAML of it below", -1)
        if rules.hash != hash_there:
            raise self._error(f"the rules called {name} have the hash {rules.hash}, not {hash_there}", -1)
        return rules

    def _agents(self, num_seats: int) -> tuple[str, ...]:
        if not self._is_next("agent "):
            return ()
        return tuple(self._take(rf"agent {seat}: ?(.*)", f"`agent {seat}:`")[0] for seat in range(num_seats))

    def _deal(self, num_seats: int) -> DealRecord:
        number, _ = self._take(r"deal (\d+), dealer (\d+)", "`deal N, dealer N`")
        dealt = self._words("dealt")
        if len(dealt) != num_seats:
            raise self._error(f"dealt must have {num_seats} cards (`{NO_CARD}` for none), not {len(dealt)}", -1)
        cards = (*dealt, *self._words("stock"))
        actions: list[tuple[int, int]] = []
        while not self._is_next("deal ", "end:"):
            if self._is_next(*_CONSEQUENCES):
                self._at += 1
            else:
                seat, action = self._take(r"seat (\d+) (STAND|EXCHANGE): .*", "an action like `seat 0 STAND: ...`")
                actions.append((int(seat), ACTION_NAMES.index(action)))
        return DealRecord(number=int(number), cards=cards, actions=tuple(actions))

    def _words(self, key: str) -> list[str]:
        return self._take(rf"{key}:(.*)", f"`{key}:`")[0].split()

    def _number(self, key: str) -> int:
        return self._numbers(key, 1)[0]

    def _numbers(self, key: str, num: int) -> list[int]:
        what = f"`{key}:` and " + ("a number" if num == 1 else f"{num} numbers")
        numbers = self._take(rf"{key}: (\d+(?: \d+)*)", what)[0].split()
        if len(numbers) != num:
            raise self._error(f"expected {what}, found {len(numbers)}", -1)
        return [int(number) for number in numbers]

    def _is_next(self, *beginnings: str) -> bool:
        return self._at < len(self._lines) and self._lines[self._at][1].startswith(beginnings)

    def _take(self, pattern: str, what: str) -> Sequence[str]:
        """The groups of `pattern` in the next line, which is taken; `what` says what it should be."""
        if self._at == len(self._lines):
            raise self._error(f"the file breaks off here, expected {what} next", -1)
        found = re.fullmatch(pattern, self._lines[self._at][1], re.ASCII)
        if not found:
            raise self._error(f"expected {what}, found `{self._lines[self._at][1]}`")
        self._at += 1
        return found.groups()

    def _error(self, text: str, ahead: int = 0) -> GnavError:
        """An error that names the line `ahead` of the next one."""
        at = self._at + ahead
        number = self._lines[at][0] if 0 <= at < len(self._lines) else 1
        return GnavError(f"{self._where}:{number}: {text}")


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")
