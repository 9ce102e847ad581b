"""The sheet of a ruleset (gnav_env/sheet.py) drawn for the terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from gnav_env.cards import Language
from gnav_env.rules import Rules
from gnav_env.sheet import COLUMNS, Sheet, make_sheet

__all__ = ["draw_sheet", "explain_cards", "explain_rules"]


def explain_cards(rules: Rules, language: Language = "own") -> Grid:
    """What each card does when asked, turned from the stock, compared; cards that do the same share a row."""
    return _draw_cards(make_sheet(rules, language))


def explain_rules(rules: Rules, language: Language = "own") -> list[str]:
    """The rest of the rules, in sentences."""
    sheet = make_sheet(rules, language)
    return [sentence for section in sheet.sections for sentence in section.sentences]


def draw_sheet(rules: Rules, language: Language = "own") -> Group:
    """The whole sheet: facts, cards, and the sentences under their headings."""
    return Group(*_parts(make_sheet(rules, language)))


def _parts(sheet: Sheet) -> Iterator[RenderableType]:
    yield Text(sheet.title, style="bold cyan")
    facts = Grid.grid(padding=(0, 2))
    for head, fact in sheet.facts:
        facts.add_row(Text(head, style="dim"), Text(fact))
    yield facts
    yield Text()
    yield _draw_cards(sheet)
    for section in sheet.sections:
        yield Text(f"\n{section.title}", style="bold")
        sentences = Grid.grid(padding=(0, 1))
        for sentence in section.sentences:
            sentences.add_row(Text("·", style="dim"), Text(sentence))
        yield Padding(sentences, (0, 0, 0, 1))


def _draw_cards(sheet: Sheet) -> Grid:
    grid = Grid(*COLUMNS, show_edge=False)
    for row in sheet.cards:
        grid.add_row(*(Text(cell) for cell in row.cells))
    return grid
