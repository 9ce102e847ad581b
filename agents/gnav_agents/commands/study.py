"""`gnav study`: questions about the game, answered by playing or solving it, as reports to make again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gnav_agents.studies.report import About

__all__ = ["study"]

study = typer.Typer(no_args_is_help=True, help="Ask how the game goes: how long matches last, what advice is worth.")

_Seed = Annotated[int, typer.Option(help="The same seed gives the same files, byte for byte.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the results of another study in that folder.")]


@study.command()
def length(
    rules: Annotated[
        str, typer.Option(help="Rulesets with commas between: names, paths of YAML files, or `all` named ones.")
    ] = "all",
    seats: Annotated[
        str, typer.Option(help="Numbers of seats: a list with ranges, as in `2-6,10`.")
    ] = "2,3,4,6,8,10,12,15,20",
    agent: Annotated[
        str, typer.Option(help="Who sits at every seat; of several with commas between each sits in turn.")
    ] = "tips",
    matches: Annotated[int, typer.Option(help="Matches for each ruleset and number of seats.")] = 1000,
    seed: _Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.", show_default="results/study-length-…")
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """How many deals a match takes, by ruleset and seats.

    The folder gets length.csv, length.json (with the definitions), length.md and length.png.
    """
    from gnav_agents.studies.cells import make_grid
    from gnav_agents.studies.length import study_length
    from gnav_agents.studies.plots import length_picture
    from gnav_agents.studies.report import About, length_files, length_tables
    from gnav_env.chance import checked_seed

    grid = make_grid(rules, seats)
    options: dict[str, Any] = {"agent": agent, "matches": matches}
    command = _command("length", {"rules": rules, "seats": seats, **options, "seed": seed})
    about = About(study="length", command=command, seed=checked_seed(seed), grid=grid, options=options)
    names = [name.strip() for name in agent.split(",")]
    folder = out or _folder(about, f"{matches}-matches")
    num_cells = sum(len(grid.seats_of(one)) for one in grid.rules)
    with _Work(folder, about, overwrite, num_cells * max(1, matches)) as work:
        rows = study_length(grid, names, matches, seed, progress=work.tell)
    work.finish(length_files(about, rows), {"length.png": length_picture(rows)}, length_tables(about, rows))


@study.command()
def tips(
    rules: Annotated[
        str, typer.Option(help="Rulesets with commas between: names, paths of YAML files, or `all` named ones.")
    ] = "pagat",
    seats: Annotated[str, typer.Option(help="Numbers of seats: a list with ranges, as in `2-6,10`.")] = (
        "3,4,6,10,15,20"
    ),
    samples: Annotated[int, typer.Option(help="Deals for each card at each position.")] = 20_000,
    matches: Annotated[
        int, typer.Option(help="Matches for each number of seats of the claim about their length.")
    ] = 1000,
    seed: _Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.", show_default="results/study-tips-…")
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """Put the advice of rule texts to the test: true, false or depends, with figures.

    The folder gets tips.csv (all figures), tips.json and tips.md (with the definitions), and tips.png.
    """
    from gnav_agents.studies.cells import make_grid
    from gnav_agents.studies.plots import tips_picture
    from gnav_agents.studies.report import About, tips_files, tips_tables, verdict_table
    from gnav_agents.studies.tips import num_steps, study_tips
    from gnav_env.chance import checked_seed

    grid = make_grid(rules, seats)
    options: dict[str, Any] = {"samples": samples, "matches": matches}
    command = _command("tips", {"rules": rules, "seats": seats, **options, "seed": seed})
    about = About(study="tips", command=command, seed=checked_seed(seed), grid=grid, options=options)
    folder = out or _folder(about, f"{samples}-samples")
    with _Work(folder, about, overwrite, num_steps(grid)) as work:
        figures, findings = study_tips(
            grid, samples, matches, seed, progress=lambda steps: work.tell("simulating", steps)
        )
    tables = {"verdicts": verdict_table(findings), **tips_tables(figures)}
    work.finish(tips_files(about, figures, findings), {"tips.png": tips_picture(figures)}, tables)


@study.command()
def strategy(
    rules: Annotated[
        str, typer.Option(help="Rulesets with commas between: names, paths of YAML files, or `all` named ones.")
    ] = "pagat",
    seats: Annotated[str, typer.Option(help="Numbers of seats, 2 to 6: a list with ranges, as in `2-4,6`.")] = "2-5",
    agent: Annotated[
        str,
        typer.Option(
            help="More agents to measure, with commas between, beside tips, counting, stand, exchange, uniform and all "
            "thresholds; a trained one by its folder.",
            show_default="none",
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.", show_default="results/study-strategy-…")
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """What solved deals teach: thresholds, how far agents are from best play, what a knock and a seat are worth.

    Exact, for two to six seats; six take some twenty minutes. The folder gets strategy.csv (all figures), strategy.json
    and strategy.md (with the definitions), and four pictures.
    """
    from gnav_agents.studies.cells import make_grid
    from gnav_agents.studies.report import About
    from gnav_agents.studies.strategy import num_steps, study_strategy
    from gnav_agents.studies.strategy_plots import strategy_pictures
    from gnav_agents.studies.strategy_report import strategy_files, strategy_tables

    grid = make_grid(rules, seats)
    names = [name.strip() for name in agent.split(",") if name.strip()]
    options = {"agent": ",".join(names)} if names else {}
    command = _command("strategy", {"rules": rules, "seats": seats, **options})
    about = About(study="strategy", command=command, seed=None, grid=grid, options=options)
    folder = out or _folder(about, f"{seats}-seats")
    with _Work(folder, about, overwrite, num_steps(grid, names)) as work:
        rows, cells = study_strategy(grid, names, progress=work.tell)
    work.finish(strategy_files(about, rows, cells), strategy_pictures(rows), strategy_tables(rows, cells))


class _Work:
    """The folder and the bar of a study while it runs, and what is said in the end."""

    def __init__(self, folder: Path, about: "About", overwrite: bool, total: int) -> None:
        from gnav_agents.commands.progress import steps_bar
        from gnav_agents.studies.report import prepare_folder
        from gnav_env._jit import cache_is_cold

        prepare_folder(folder, about, overwrite=overwrite)
        self._folder, self._about = folder, about
        self._progress = steps_bar()
        self._task = self._progress.add_task("compiling, once" if cache_is_cold() else "playing", total=total)

    def __enter__(self) -> "_Work":
        self._progress.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        from contextlib import suppress

        self._progress.stop()
        if kind is not None:
            with suppress(OSError):
                self._folder.rmdir()  # only if nothing was in it

    def tell(self, description: str, num_done: int) -> None:
        """The bar goes on by `num_done`."""
        self._progress.update(self._task, advance=num_done, description=description)

    def finish(
        self, files: dict[str, bytes], pictures: dict[str, bytes | None], tables: dict[str, list[list[str]]]
    ) -> None:
        """Tables are on the screen, files in the folder; a picture is None without matplotlib."""
        from rich.console import Console

        from gnav_agents.files import write_files
        from gnav_agents.studies.report import screen_tables

        drawn = {name: picture for name, picture in pictures.items() if picture is not None}
        write_files(self._folder, {**files, **drawn})
        console = Console()
        for table in screen_tables(tables):
            console.print(table)
        for note in self._about.grid.notes:
            console.print(note, highlight=False, markup=False)
        written = ", ".join([*files, *drawn])
        console.print(f"{self._folder}: {written}", highlight=False, markup=False, soft_wrap=True)
        if len(drawn) < len(pictures):
            missing = ", ".join(name for name in pictures if name not in drawn)
            console.print(f"no {missing}: that takes matplotlib (pip install matplotlib)")


def _folder(about: "About", size: str) -> Path:
    """Where a study is kept if nothing else is said."""
    names = [rules.name for rules in about.grid.rules]
    which = "-".join(names) if len(names) < 4 else f"{len(names)}-rulesets"
    seed = "" if about.seed is None else f"-seed-{about.seed}"
    return Path("results") / f"study-{about.study}-{which}-{size}{seed}"


def _command(name: str, options: dict[str, Any]) -> str:
    """The command line that asks for this study."""
    import shlex

    return shlex.join(
        ["gnav", "study", name, *(str(word) for key, value in options.items() for word in (f"--{key}", value))]
    )
