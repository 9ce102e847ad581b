"""`gnav replay`: a match that was written down, played again and checked."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["replay"]


def replay(
    file: Annotated[Path, typer.Argument(help="A match as text: from `gnav play --record` or a tournament.")],
    deal: Annotated[int | None, typer.Option(help="Show only the deal with this number.", show_default="all")] = None,
    reveal: Annotated[bool, typer.Option(help="All cards face up, or only what everybody could see.")] = True,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter after each action.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Only check that the file is true.")] = False,
) -> None:
    """Show a match that was written down, deal by deal.

    The match is played again by the rules, and everything that the file says must come out. If it does not,
    the exit code is 2 and a sentence names the line.
    """
    import sys

    from rich.console import Console

    from gnav_agents.ui.terminal import Terminal, show_replay
    from gnav_env.errors import GnavError
    from gnav_env.notation import read_file
    from gnav_env.notation import replay as play_again
    from gnav_env.state import NOBODY

    record = read_file(file)
    steps = list(play_again(record))
    if deal is not None and not 1 <= deal <= len(record.deals):
        raise GnavError(f"--deal must be 1 to {len(record.deals)}, the deals in {file}, not {deal}")
    console = Console()
    if not verify:
        terminal = Terminal(console, sys.stdin, observer=None if reveal else NOBODY, names=record.agents)
        show_replay(terminal, steps, only_deal=deal, pauses=step)
    num_actions = sum(step.action is not None for step in steps)
    unfinished = "" if record.is_finished else ", unfinished"
    console.print(
        f"{file}: {len(record.deals)} deals, {num_actions} actions, all true{unfinished}",
        highlight=False,
        markup=False,
    )
