"""A match as text and back: `Recorder` writes it as it is played, `replay` plays it again and checks it.

The text has a header, then each deal with its cards, its actions and what came of them, then the end:

    gnav match, format 1
    rules: pagat 3d41c7e01d0b5a57
    seats: 4
    seed: 7
    match: 0
    first dealer: 2
    lives: 3 3 3 3
    agent 0: tips
    ...

    deal 1, dealer 2
    dealt: 12 house 4 fool
    stock: 7 3 cat horse 2
    knocks: 3
    seat 3 EXCHANGE: asks seat 0 (trade: Fool for XII)
    ...
    showdown: fool house 4 12
    losers: 0 2
    lives: 2 3 2 3
    pool: 2

    end: seat 3 wins
    places: 3 2 4 1
    results: -3 -3 -3 9

`dealt` names ranks by seat, `-` for a seat that is not in the deal; `stock` goes as far as a deal can look, so that no
shuffler is needed; where deals go on from the rest of the deck it is all of the stock. Only header, cards and actions
say what to play; other lines are consequences, which `replay` works out again and compares. A ruleset that is not a
named one stands behind `rules` as YAML, indented. Empty lines and lines that begin with # are for people. record.py
reads the form.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnav_env import engine
from gnav_env.errors import GnavError
from gnav_env.reading import rules_to_yaml
from gnav_env.record import FORMAT, NO_CARD, UNFINISHED, Record, read, read_file
from gnav_env.rules import Rules
from gnav_env.table import ACTION_NAMES, Table
from gnav_env.variants import VARIANTS
from gnav_env.words import Narrator, cards_at_showdown

__all__ = ["Record", "Recorder", "Step", "read", "read_file", "record_match", "replay"]


class Recorder:
    """Writes down the match that is played through its `deal` and `act`, from the first deal on.

    Args:
        table: a table before its first deal.
        seed, match: where its decks come from, if they come from a shoe.
        agents: a name for each seat, or none at all.
    """

    def __init__(
        self, table: Table, *, seed: int | None = None, match: int | None = None, agents: Sequence[str] = ()
    ) -> None:
        if table.deals > 0:
            raise GnavError("a match is recorded from its first deal on: give the Recorder a new Table")
        if agents and len(agents) != table.num_seats:
            raise GnavError(f"agents must be {table.num_seats} names, one a seat, or none, not {len(agents)}")
        if any(len(name.splitlines()) > 1 for name in agents):
            raise GnavError("an agent's name must be one line")
        self.table = table
        self.lines: list[str] = [f"gnav match, format {FORMAT}", *_rules_lines(table.rules)]
        self._say("seats", table.num_seats)
        if seed is not None:
            self._say("seed", seed)
        if match is not None:
            self._say("match", match)
        self._say("first dealer", table.dealer)
        self._say("lives", *table.lives)
        if table.pool:
            self._say("pool at the start", table.pool)
        for seat, name in enumerate(agents):
            self._say(f"agent {seat}", name)

    def deal(self, deck: Sequence[str] | None = None) -> None:
        """The table's next deal is out (see `Table.deal`) and written down."""
        table = self.table
        table.deal(deck)
        hands = [hand or NO_CARD for hand in table.hands]
        needed = min(engine.cards_needed(table.record, table.rules.compiled[0]), int(table.record.stock_end))
        self.lines += ["", f"deal {table.deals}, dealer {table.dealer}"]
        self._say("dealt", *hands)
        self._say("stock", *table.deck[table.num_seats : needed])
        if table.knocks:
            self._say("knocks", *table.knocks)

    def act(self, action: int) -> None:
        """The seat to act chooses `action` (see `Table.act`), and what follows is written down."""
        table = self.table
        before = table.copy()
        table.act(action)
        seat = f"seat {before.to_act}"
        caused = Narrator().action(before, table).removeprefix(f"{seat} ")
        self.lines.append(f"{seat} {ACTION_NAMES[action]}: {caused}")
        if table.to_act is None:
            self._end_deal(before)
        if table.is_over:
            winners = [f"seat {seat}" for seat in table.winners]
            self.lines += ["", f"end: {' and '.join(winners)} {'win' if len(winners) > 1 else 'wins'}"]
            self._say("places", *table.places)
            self._say("results", *(f"{result:g}" for result in table.results))

    def comment(self, text: str) -> None:
        """Add `text` for people; replay passes over it."""
        self.lines += [f"# {line}".rstrip() for line in text.splitlines()]

    @property
    def text(self) -> str:
        """The match so far."""
        lines = self.lines if self.table.is_over else [*self.lines, "", f"end: {UNFINISHED}"]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the match so far into the file at `path`."""
        Path(path).write_text(self.text, encoding="utf-8", newline="\n")

    def _end_deal(self, before: Table) -> None:
        shown = cards_at_showdown(before, self.table)
        self._say("showdown", *(rank or NO_CARD for rank in shown) if shown else ["none"])
        self._say("losers", *self.table.losers or ["none"])
        self._say("lives", *self.table.lives)
        self._say("pool", self.table.pool)
        if self.table.stakes:
            self._say("stakes", self.table.stakes)
        if self.table.sit_out:
            self._say("sit out", *self.table.sit_out)

    def _say(self, key: str, *values: Any) -> None:
        self.lines.append(f"{key}: {' '.join(map(str, values))}".rstrip())


def record_match(
    rules: str | Rules,
    num_seats: int,
    *,
    seed: int,
    match: int,
    actions: Sequence[int],
    agents: Sequence[str] = (),
    first_dealer: int | None = None,
) -> str:
    """The text of match number `match` under `seed`, given the action of each decision in order.

    If they end before the match does it is unfinished; `GnavError` if there are too many.
    """
    recorder = Recorder(
        Table(rules, num_seats, seed=seed, match=match, first_dealer=first_dealer),
        seed=seed,
        match=match,
        agents=agents,
    )
    for number, action in enumerate(actions):
        if recorder.table.is_over:
            raise GnavError(f"the match is over after {number} actions, {len(actions)} were given")
        if recorder.table.to_act is None:
            recorder.deal()
        recorder.act(int(action))
    return recorder.text


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a replay: a deal has been dealt (`before` and `action` are None) or a seat has acted."""

    before: Table | None
    action: int | None
    after: Table


def replay(record: Record) -> Iterator[Step]:
    """Play `record` again, step by step, comparing each consequence with what the text says.

    Raises `GnavError` with file, line and what was expected at the first difference.
    """
    checker = _Checker(record)
    try:
        table = Table(
            record.rules, record.num_seats, first_dealer=record.first_dealer, lives=record.lives, pool=record.pool
        )
    except GnavError as error:
        raise GnavError(f"{record.where}: {error}") from None
    recorder = Recorder(table, seed=record.seed, match=record.match, agents=record.agents)
    checker.compare(recorder.lines)
    for deal in record.deals:
        with checker.naming_the_line(1):
            if table.to_act is not None:
                raise GnavError(f"seat {table.to_act} was expected to act before the next deal")
            recorder.deal(_whole_cards(record.rules, deal.cards) if table.wants_deck else None)
        checker.compare(recorder.lines)
        yield Step(before=None, action=None, after=table.copy())
        for seat, action in deal.actions:
            with checker.naming_the_line():
                if table.to_act is None:
                    raise GnavError(f"the deal has ended before seat {seat} could act")
                if seat != table.to_act:
                    raise GnavError(f"seat {table.to_act} was expected to act, not seat {seat}")
                before = table.copy()
                recorder.act(action)
            checker.compare(recorder.lines)
            yield Step(before=before, action=action, after=table.copy())
    checker.compare(recorder.text.splitlines())
    checker.end()


class _Checker:
    """Compares the lines that a Recorder writes with those of a file, each once, in order."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._num_compared = 0
        self._num_written = 0

    def compare(self, written: Sequence[str]) -> None:
        """Raise `GnavError` where a line that is new in `written` is not the file's next."""
        for line in written[self._num_written :]:
            if line and not line.startswith(" "):
                if self._num_compared == len(self._record.lines):
                    raise GnavError(f"{self._place(-1)}: the file breaks off here, expected `{line}` next")
                found = self._record.lines[self._num_compared][1]
                if found != line:
                    raise GnavError(f"{self._place(self._num_compared)}: expected `{line}`, found `{found}`")
                self._num_compared += 1
        self._num_written = len(written)

    def end(self) -> None:
        """Raise `GnavError` if the file has more lines."""
        if self._num_compared < len(self._record.lines):
            found = self._record.lines[self._num_compared][1]
            raise GnavError(f"{self._place(self._num_compared)}: expected the end of the file, found `{found}`")

    @contextmanager
    def naming_the_line(self, ahead: int = 0) -> Generator[None]:
        """`GnavError`s raised inside begin with file and line, `ahead` of the lines compared so far."""
        place = self._place(min(self._num_compared + ahead, len(self._record.lines) - 1))
        try:
            yield
        except GnavError as error:
            raise GnavError(f"{place}: {error}") from None

    def _place(self, index: int) -> str:
        return f"{self._record.where}:{self._record.lines[index][0]}"


def _rules_lines(rules: Rules) -> list[str]:
    """The name and hash of `rules`, and the whole of them if they are not a named ruleset as it stands."""
    lines = [f"rules: {rules.name} {rules.hash}"]
    named = VARIANTS.get(rules.name)
    if named is None or named != rules or named.hash != rules.hash:
        lines += [f"  {line}".rstrip() for line in rules_to_yaml(rules).splitlines()]
    return lines


def _whole_cards(rules: Rules, cards: Sequence[str]) -> list[str]:
    """`cards` with other cards of the deck, lowest first, in the places of seats that are not in the deal."""
    left = [rank for rank in rules.ranks for _ in range(rules.deck[rank])]
    for rank in cards:
        if rank in left:
            left.remove(rank)
    spare = iter(left)
    return [next(spare, NO_CARD) if rank == NO_CARD else rank for rank in cards]
