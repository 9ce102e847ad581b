"""`gnav merge`: the shards of a tournament become one."""

from pathlib import Path
from typing import Annotated

import typer

from gnav_agents.commands.options import OverwriteOption

__all__ = ["merge"]


def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="Folders of `gnav tournament ... --shard I/N`.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the whole tournament.")],
    overwrite: OverwriteOption = False,
) -> None:
    """Join the shards of a tournament: the files are the same, byte for byte, as if one machine had played it."""
    from rich.console import Console

    from gnav_agents.arena.tournament import merge_folders
    from gnav_agents.commands.tournament import show

    summary = merge_folders(folders, out, overwrite=overwrite)
    show(Console(), summary, out)
