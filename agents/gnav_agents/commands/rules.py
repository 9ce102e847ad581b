"""`gnav rules`: the rulesets for people: listed, explained, set side by side, checked."""

from pathlib import Path
from typing import Annotated

import typer

from gnav_agents.commands.options import CardNames, CardNamesOption

__all__ = ["rules"]

rules = typer.Typer(
    help="What is played: rulesets listed, explained, compared, checked.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_Ruleset = Annotated[str, typer.Argument(metavar="NAME|FILE", help="Name of a ruleset, or path of a YAML file.")]


@rules.command("list")
def list_rules() -> None:
    """List the named rulesets."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gnav_env.variants import VARIANTS

    table = Table("name", "title", "seats", "cards", "lives", "source", show_edge=False)
    table.columns[0].no_wrap = True
    for ruleset in VARIANTS.values():
        numbers = (ruleset.seat_span("–"), str(ruleset.num_cards), str(ruleset.lives))
        table.add_row(*map(Text, (ruleset.name, ruleset.title, *numbers, ruleset.source)))
    Console().print(table)


@rules.command()
def show(
    name: _Ruleset,
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown.")] = False,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="As YAML with every option: a file to make a ruleset of one's own from.")
    ] = False,
    language: CardNamesOption = CardNames.OWN,
) -> None:
    """Show the sheet of a ruleset: what each card does, who pays whom, how it ends."""
    from rich.console import Console

    from gnav_agents.ui.explain import draw_sheet
    from gnav_env.errors import GnavError
    from gnav_env.reading import rules_to_yaml
    from gnav_env.sheet import make_sheet, sheet_markdown
    from gnav_env.variants import get_rules

    if markdown and yaml:
        raise GnavError("--markdown and --yaml: give one of the two")
    ruleset = get_rules(name)
    if yaml:
        print(rules_to_yaml(ruleset), end="")
    elif markdown:
        print(sheet_markdown(make_sheet(ruleset, language.value)), end="")
    else:
        Console().print(draw_sheet(ruleset, language.value))


@rules.command()
def diff(a: _Ruleset, b: _Ruleset) -> None:
    """Show in what two rulesets differ.

    What is only for the eye comes last; without it two rulesets with the same hash are the same game.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from gnav_env.rules import COSMETIC
    from gnav_env.sheet import rules_diff
    from gnav_env.variants import get_rules

    one, other = get_rules(a), get_rules(b)
    console = Console()
    rows = rules_diff(one, other)
    if rows:
        table = Table("", escape(a), escape(b), show_edge=False)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    if one.hash == other.hash:
        console.print(f"{a} and {b} are the same game ({one.hash}).", markup=False, highlight=False)
    elif not any(row[0] not in COSMETIC for row in rows):
        console.print(f"{a} and {b} play alike, only written otherwise.", markup=False, highlight=False)


@rules.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rulesets in YAML.")],
) -> None:
    """Check rulesets in YAML files.

    A good file gets a line with name, hash, seats and cards. For every bad one it is said where the mistake is and
    what would be right, and the exit code is 2.
    """
    import sys

    from gnav_env.errors import GnavError
    from gnav_env.reading import read_rules
    from gnav_env.variants import VARIANTS

    is_good = True
    for path in files:
        try:
            if path.suffix not in (".yaml", ".yml"):
                raise GnavError(f"{path}: the file of a ruleset must end in .yaml or .yml")
            ruleset = read_rules(path, VARIANTS)
        except GnavError as error:
            is_good = False
            print(f"gnav: {error}", file=sys.stderr)
        else:
            seats = ruleset.seat_span("–")
            print(f"{path}: {ruleset.name} {ruleset.hash}, {seats} seats, {ruleset.num_cards} cards")
    if not is_good:
        raise typer.Exit(2)


@rules.command()
def schema() -> None:
    """Print the JSON schema of rulesets in YAML, for editors."""
    import json

    from gnav_env.schema import rules_schema
    from gnav_env.variants import VARIANTS

    print(json.dumps(rules_schema(VARIANTS), indent=2, ensure_ascii=False))
