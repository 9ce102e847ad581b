"""`gnav tournament`: agents meet, and a ranking by elimination rate comes of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["tournament"]


def tournament(
    agents: Annotated[
        str,
        typer.Option(help="Agents to rank, with commas between: `tips,threshold:VII,runs/x`. See `gnav agents`."),
    ],
    seats: Annotated[
        int,
        typer.Option(help="Seats at each table. With fewer agents each sits several times, with more in turn."),
    ] = 6,
    blocks: Annotated[
        int,
        typer.Option(help="Blocks to play. A block is one shoe, played once for each rotation of the seats."),
    ] = 200,
    rules: Annotated[str, typer.Option(help="Name of a ruleset, or path of a YAML file.")] = "pagat",
    seed: Annotated[int, typer.Option(help="The same seed gives the same files, byte for byte.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results.", show_default="results/RULES-SEATS-BLOCKS-SEED"),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Folder that gets every match as text, for `gnav replay`.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results of another tournament in that folder.")
    ] = False,
) -> None:
    """Rank agents by how rarely they are eliminated.

    Every line-up plays the same cards from every seat, which takes out much of the luck. The folder gets
    leaderboard.csv, entries.csv (each seat of each match), summary.json (with the definitions) and
    leaderboard.png.
    """
    from contextlib import suppress
    from time import perf_counter

    from rich.console import Console

    from gnav_agents.arena.report import (
        default_folder,
        prepare_folder,
        screen_table,
        write_match,
        write_plot,
        write_report,
    )
    from gnav_agents.arena.setup import make_setup
    from gnav_agents.arena.tournament import play_tournament
    from gnav_env._jit import cache_is_cold

    setup = make_setup([name.strip() for name in agents.split(",")], rules, seats, blocks, seed)
    folder = out or default_folder(setup)
    prepare_folder(folder, setup, rules, overwrite=overwrite)
    began = perf_counter()
    try:
        with _progress() as progress:
            task = progress.add_task("compiling, once" if cache_is_cold() else "playing", total=blocks)
            result = play_tournament(
                setup,
                progress=lambda done: progress.update(task, completed=done, description="playing"),
                record=(lambda match: write_match(match, record)) if record else None,
            )
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # only if nothing was in it
        raise
    seconds = perf_counter() - began
    files = write_report(result, folder, rules)
    plot = write_plot(result, folder / "leaderboard.png")

    console = Console()
    console.print(screen_table(result))
    played = f"{len(result.entries):,} matches, {result.num_decisions:,} decisions in {seconds:.1f} s"
    console.print(f"{played} ({result.num_decisions / seconds:,.0f} decisions/s)", highlight=False)
    written = [*files, plot] if plot else files
    console.print(f"{folder}: {', '.join(path.name for path in written)}", highlight=False, markup=False)
    if plot is None:
        console.print("no leaderboard.png: that takes matplotlib (pip install matplotlib)", highlight=False)


def _progress() -> "Progress":
    """A bar on stderr with blocks done, blocks a second and the time left."""
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
        """Blocks a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("– blocks/s" if speed is None else f"{speed:,.0f} blocks/s")

    return Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
