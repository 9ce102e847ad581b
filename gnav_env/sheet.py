"""A ruleset as a sheet for people, made from the data: what each card does, who pays whom, how it ends.

`make_sheet` says it in words, `sheet_markdown` sets the sheet as a page, `rules_diff` sets two rulesets side by side.
The terminal draws the same sheet with colours.

>>> from gnav_env.effects import Effect
>>> from gnav_env.rules import Rules
>>> rules = Rules(name="small", deck={"K": 4, "2": 4, "A": 4}, effects={"K": Effect(refuse=True)})
>>> [(row.names, row.asked) for row in make_sheet(rules).cards]
[('King', 'refuses'), ('2, Ace', 'trades')]
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gnav_env.cards import Language
from gnav_env.phrases import NONE, ORDINARY, CardRow
from gnav_env.rules import COSMETIC, Rules
from gnav_env.sentences import Sentences

__all__ = ["CardRow", "Section", "Sheet", "make_sheet", "rules_diff", "sheet_markdown"]

COLUMNS = ("card", "copies", "when asked", "from the stock", "at the showdown")
"""Heads of the table of cards."""

_ASPECTS = {head: column for column, head in enumerate(COLUMNS) if column}
_BY_RANK = ("deck", "effects", "from_stock", "when_exchanged", "loss", "specials", "immune")


@dataclass(frozen=True, kw_only=True)
class Section:
    """Sentences about one part of the game."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """All that one needs to know to play."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """What is said in a word, each with its heading."""
    cards: tuple[CardRow, ...]
    """High to low."""
    sections: tuple[Section, ...]


def make_sheet(rules: Rules, language: Language = "own") -> Sheet:
    """`rules` as a sheet, the cards called as in `language`."""
    writer = Sentences(rules, language)
    sections = {
        "The deal": writer.deal(),
        "A turn": writer.turn(),
        "Paying": writer.paying(),
        "The showdown": writer.showdown(),
        "The end": writer.end(),
    }
    return Sheet(
        title=rules.title or rules.name,
        facts=tuple(writer.facts()),
        cards=tuple(writer.cards()),
        sections=tuple(Section(title=title, sentences=tuple(said)) for title, said in sections.items()),
    )


def sheet_markdown(sheet: Sheet) -> str:
    """The sheet as a page of Markdown."""
    lines = [f"# {_inline(sheet.title)}", ""]
    lines += [f"- **{head}:** {_inline(fact)}" for head, fact in sheet.facts]
    lines += ["", "## The cards, high to low", "", _table_row(COLUMNS), "|---|---|---|---|---|"]
    lines += [_table_row(row.cells) for row in sheet.cards]
    for section in sheet.sections:
        lines += ["", f"## {section.title}", "", *(f"- {_inline(sentence)}" for sentence in section.sentences)]
    return "\n".join(lines) + "\n"


def rules_diff(a: Rules, b: Rules) -> list[tuple[str, str, str]]:
    """What differs, each with its value in `a` and in `b`: options, then cards, then what is only for the eye.

    Ranks side by side that differ in the same way share a row; a rank that one of the two has not is ``–`` there.
    """
    rows: list[tuple[str, str, str]] = []
    options = [item.name for item in fields(Rules) if item.name not in (*_BY_RANK, *COSMETIC)]
    rows += _differences(a, b, options)
    common = [[rank for rank in one.deck if rank in other.deck] for one, other in ((a, b), (b, a))]
    if common[0] != common[1]:
        orders = [Sentences(rules, "own").listed(ranks) for rules, ranks in zip((a, b), common, strict=True)]
        rows.append(("order of the cards", orders[0], orders[1]))
    rows += _card_differences(a, b)
    return rows + _differences(a, b, COSMETIC)


def _differences(a: Rules, b: Rules, names: Iterable[str]) -> list[tuple[str, str, str]]:
    values = [(name, _value(getattr(a, name)), _value(getattr(b, name))) for name in names]
    return [row for row in values if row[1] != row[2]]


def _value(value: Any) -> str:
    """The value of an option as one writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {item}" for key, item in sorted(value.items())) or NONE
    return str(value) or NONE


def _card_differences(a: Rules, b: Rules) -> list[tuple[str, str, str]]:
    """What the cards do otherwise, ranks side by side in one row."""
    writers = [Sentences(a, "own"), Sentences(b, "own")]
    rows: list[tuple[str, str, str]] = []
    for aspect, column in _ASPECTS.items():
        runs: list[tuple[Sentences, list[str], str, str]] = []
        for rank in [*a.deck, *(rank for rank in b.deck if rank not in a.deck)]:
            writer = writers[rank not in a.deck]
            one, other = (writer.cells(rank)[column] if rank in writer.rules.deck else NONE for writer in writers)
            if rank not in a.deck or rank not in b.deck:
                one, other = (NONE if said in ORDINARY else said for said in (one, other))
            if runs and runs[-1][0] is writer and runs[-1][2:] == (one, other):
                runs[-1][1].append(rank)
            else:
                runs.append((writer, [rank], one, other))
        rows += [(f"{w.listed(ranks)}: {aspect}", one, other) for w, ranks, one, other in runs if one != other]
    return rows


def _inline(text: str) -> str:
    """Text on one line that Markdown leaves alone."""
    return " ".join(re.sub(r"([\\`*\[\]<>|]|(?<!\w)_|_(?!\w))", r"\\\1", text).split())


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_inline, cells))} |"
