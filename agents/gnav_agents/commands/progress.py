"""Progress bars of long commands."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["goes_on", "matches_bar", "steps_bar", "time_bar"]


@contextmanager
def goes_on(what_is_kept: str) -> Generator[None]:
    """Ctrl-C ends the command with a word on how to go on."""
    import sys

    import typer

    try:
        yield
    except KeyboardInterrupt:
        print(f"gnav: interrupted; {what_is_kept}, and the same command goes on there", file=sys.stderr)
        raise typer.Exit(130) from None


def steps_bar() -> "Progress":
    """A bar on stderr with what is done and the time left."""
    from rich.progress import TaskProgressColumn, TimeRemainingColumn

    return _bar(TaskProgressColumn(), TimeRemainingColumn())


def time_bar() -> "Progress":
    """A bar on stderr with what is being done and for how long; for work of which nobody knows how much there is."""
    from rich.progress import TimeElapsedColumn

    return _bar(TimeElapsedColumn())


def matches_bar() -> "Progress":
    """A bar on stderr with matches done, matches a second and the time left."""
    from rich.progress import MofNCompleteColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Matches a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("– matches/s" if speed is None else f"{speed:,.0f} matches/s")

    return _bar(MofNCompleteColumn(), RateColumn(), TimeRemainingColumn())


def _bar(*columns: "ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress

    console = Console(stderr=True)
    return Progress(
        "{task.description}",
        BarColumn(),
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
