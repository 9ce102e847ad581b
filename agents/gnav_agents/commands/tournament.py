"""`gnav tournament`: agents meet, and a ranking by elimination rate comes of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnav_agents.commands.options import (
    AddressOption,
    Executor,
    ExecutorOption,
    GainsOption,
    OverwriteOption,
    StrictOption,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from rich.console import Console

    from gnav_agents.arena.summary import Summary

__all__ = ["show", "tournament"]


def tournament(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="FILE.yaml", help="A tournament as in configs/arena; the options below come on top."),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option(help="Agents to rank, with commas between: `tips,threshold:VII,runs/x`. See `gnav agents`."),
    ] = None,
    seats: Annotated[
        str | None,
        typer.Option(
            help="Seats at each table, one number or several: `6`, `2,6,12`.",
            show_default="6, or the nearest that the ruleset allows",
        ),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            help="Blocks of mixed tables. A block is one shoe, played once for each rotation of the seats.",
            show_default="200",
        ),
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(
            help="Who meets whom: `mixed`, `invasion` (each agent alone among copies of each other), `self`, "
            "`reference:AGENT`, with commas between and a number of blocks behind if need be: `mixed,invasion=50`. "
            "The first one makes the leaderboard.",
            show_default="mixed",
        ),
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help="Name of a ruleset, or path of a YAML file.", show_default="pagat")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The same seed gives the same files, byte for byte.", show_default="0")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results.", show_default="results/FILE, or results/RULES-SEATS-FIELD-SEED"),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Folder that gets every match that is played now as text, for `gnav replay`.")
    ] = None,
    executor: ExecutorOption = Executor.SERIAL,
    workers: WorkersOption = None,
    address: AddressOption = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Play one part of N, for example 0/2; `gnav merge` joins the parts."),
    ] = None,
    time_limit: TimeLimitOption = None,
    gains: GainsOption = None,
    strict: StrictOption = False,
    trust: TrustOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Rank agents by how rarely they are eliminated.

    Every line-up plays the same cards from every seat, which takes out much of the luck. A run that was stopped goes
    on where it was when the same command is given again. The folder gets report.html, leaderboard.md and .csv,
    summary.json (with the definitions), results.parquet (each seat of each match) and errors.csv.
    """
    from functools import partial
    from time import perf_counter

    from rich.console import Console

    from gnav_agents.arena.config import read_config
    from gnav_agents.arena.plan import make_plan
    from gnav_agents.arena.recording import write_match
    from gnav_agents.arena.store import units_of_shard
    from gnav_agents.arena.tournament import default_folder, play_in_folder
    from gnav_agents.commands.progress import goes_on, matches_bar
    from gnav_env._jit import cache_is_cold
    from gnav_env.errors import GnavError

    if config is None and agents is None:
        raise GnavError("a tournament needs agents, as in --agents tips,uniform, or a file as in configs/arena")
    given = {
        "agents": ("--agents", agents),
        "rules": ("--rules", rules),
        "seats": ("--seats", seats),
        "fields": ("--fields", fields),
        "blocks": ("--blocks", blocks),
        "seed": ("--seed", seed),
        "time_limit": ("--time-limit", time_limit),
        "gains": ("--gains", gains),
    }
    plan = make_plan(**dict(read_config(config, given)), strict=strict, trust=trust)
    part = _parse_shard(shard)
    folder = out or (Path("results") / config.stem if config is not None else default_folder(plan))
    units = units_of_shard(len(plan.units), part)
    num_matches = sum(plan.matches_in(plan.units[number]) for number in units)
    began = played_until = perf_counter()

    def tell(num_done: int) -> None:
        nonlocal played_until
        played_until = perf_counter()
        bar.update(task, completed=num_done, description="playing")

    with goes_on(f"{folder} keeps what was played"), matches_bar() as bar:
        task = bar.add_task("compiling, once" if cache_is_cold() else "playing", total=num_matches)
        session = play_in_folder(
            plan,
            folder,
            overwrite=overwrite,
            shard=part,
            executor=executor,
            workers=workers,
            address=address,
            progress=tell,
            progress_of_gains=lambda done, of: bar.update(task, description=f"measuring gains, {done} of {of}"),
            record=partial(write_match, record) if record else None,
        )
    seconds = played_until - began
    console = Console()
    if session.summary is not None:
        show(console, session.summary, folder)
    num_before = num_matches - session.num_matches
    there = f", {num_before:,} were there already" if num_before else ""
    speed = f" ({session.num_decisions / seconds:,.0f} decisions/s)" if session.num_matches else ""
    console.print(f"{session.num_matches:,} matches in {seconds:.1f} s{speed}{there}", highlight=False)
    if session.summary is None:
        missing = f"{folder}: this part is done; with the other parts: gnav merge {folder} ... --out FOLDER"
        console.print(missing, highlight=False, markup=False)


def show(console: "Console", summary: "Summary", folder: Path) -> None:
    """The leaderboard is on the screen, with what else there is to know and to read."""
    from gnav_agents.arena.gains import GAINS_FILE
    from gnav_agents.arena.store import ERRORS, RESULTS
    from gnav_agents.arena.tables import screen_table
    from gnav_agents.arena.tournament import REPORTS

    console.print(screen_table(summary))
    if summary.counts.forfeits:
        forfeits = f"{summary.counts.forfeits:,} entries were forfeited: {folder / ERRORS} says by whom and why"
        console.print(forfeits, highlight=False, markup=False, style="bold")
    has_gains = summary.leaderboard[0].gain is not None
    files = ", ".join((*REPORTS, RESULTS, *([GAINS_FILE] if has_gains else []), ERRORS))
    console.print(f"{folder}: {files}", highlight=False, markup=False)


def _parse_shard(text: str | None) -> tuple[int, int] | None:
    """(0, 2) for ``0/2``; `GnavError` for what is no part."""
    from gnav_env.errors import GnavError

    if text is None:
        return None
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise GnavError(f"--shard {text}: write I/N, the part from 0 on and how many there are, as in 0/2")
    return int(index), int(count)
