"""`gnav leaderboard`: the ranking of a tournament that was played, shown again or put into documents."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["leaderboard"]

BEGIN = "<!-- leaderboard: begin -->"
END = "<!-- leaderboard: end -->"


def leaderboard(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder of a tournament's results, or its summary.json.")
    ],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    write: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=f"Put the Markdown into this file, between its lines `{BEGIN}` and `{END}`. May be given several "
            "times: all of the files are changed, or none if one lacks a marker.",
        ),
    ] = None,
) -> None:
    """Show the ranking of a tournament, or rebuild it where a document has it."""
    from rich.console import Console

    from gnav_agents.arena.summary import read_summary
    from gnav_agents.arena.tables import markdown_block, screen_table
    from gnav_agents.files import write_files

    summary = read_summary(results)
    block = markdown_block(summary)
    paths = [path.resolve() for path in write or []]  # a link stays one
    contents = [(path, _with_block(path, block)) for path in paths]
    for path, content in contents:
        write_files(path.parent, {path.name: content})
    console = Console()
    if markdown:
        print(block, end="")
    else:
        console.print(screen_table(summary))
    for path, _ in contents:
        Console(stderr=True).print(f"{path}: rebuilt", highlight=False, markup=False)


def _with_block(path: Path, block: str) -> bytes:
    """The file at `path` with `block` between its markers; `GnavError` if there is not one pair of them, in order."""
    from gnav_env.errors import GnavError

    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise GnavError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise GnavError(f"{path}: cannot be read as text: {error}") from None
    for marker in (BEGIN, END):
        if text.count(marker) != 1:
            found = "is not there" if marker not in text else "is there more than once"
            raise GnavError(f"{path}: the line {marker} {found}; the ranking stands between one {BEGIN} and one {END}")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise GnavError(f"{path}: {END} stands before {BEGIN}; it has to come after")
    line_end = "\r\n" if 0 < text.count("\r\n") == text.count("\n") else "\n"
    inside = f"\n\n{block}\n".replace("\n", line_end)
    return f"{before}{BEGIN}{inside}{END}{after}".encode()
