"""Progress bars of long commands."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["matches_bar"]


def matches_bar() -> "Progress":
    """A bar on stderr with matches done, matches a second and the time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Matches a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("– matches/s" if speed is None else f"{speed:,.0f} matches/s")

    return Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
