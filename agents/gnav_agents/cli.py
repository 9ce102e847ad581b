"""The `gnav` command: it puts the commands together and turns our errors into sentences.

Each command stands in a file of commands/ and imports what is heavy only when it runs: `gnav --help` is quick.
"""

import os
import sys
import warnings

import typer

from gnav_agents.commands.agents import agents
from gnav_agents.commands.compare import compare
from gnav_agents.commands.exploit import exploit
from gnav_agents.commands.leaderboard import leaderboard
from gnav_agents.commands.merge import merge
from gnav_agents.commands.observation import observation
from gnav_agents.commands.play import play
from gnav_agents.commands.replay import replay
from gnav_agents.commands.rules import rules
from gnav_agents.commands.solve import solve
from gnav_agents.commands.study import study
from gnav_agents.commands.tournament import tournament
from gnav_agents.commands.train import train

__all__ = ["app", "main"]

app = typer.Typer(
    name="gnav",
    help="Gnav, a card game of exchange and bluff: train bots, rank them, play against them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in (train, tournament, compare, merge, leaderboard, exploit, play, replay, agents, observation):
    app.command()(command)
app.add_typer(rules, name="rules")
app.add_typer(solve, name="solve")
app.add_typer(study, name="study")


def main() -> None:
    """Run the command line. Errors about input end with exit code 2 and a sentence, Ctrl-C with 130.

    With `GNAV_TRACEBACK` set they show where they were raised.
    """
    warnings.showwarning = _show_warning
    try:
        app()
    except KeyboardInterrupt:
        print("gnav: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        from gnav_env.errors import GnavError  # late: gnav_env brings the compiler

        if not isinstance(error, (GnavError, OSError)) or os.environ.get("GNAV_TRACEBACK"):
            raise
        print(f"gnav: {error}", file=sys.stderr)
        sys.exit(2)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as a sentence, without the line of code that it came from."""
    print(f"gnav: warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
