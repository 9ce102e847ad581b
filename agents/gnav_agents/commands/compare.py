"""`gnav compare`: is one agent better than another? Played until it is decided, and no longer."""

from pathlib import Path
from typing import Annotated

import typer

from gnav_agents.commands.options import (
    AddressOption,
    Executor,
    ExecutorOption,
    OverwriteOption,
    StrictOption,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
)

__all__ = ["EXIT_CODES", "compare"]

EXIT_CODES = {"better": 0, "worse": 1, "level": 3, "undecided": 4}
"""By verdict; 2 is for errors, as with every command."""

_FIRST_LOOKS = 10
_THINNING = 1.1


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The agent that is to be better.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The agent that it is compared with.")],
    seats: Annotated[
        int | None,
        typer.Option(help="Seats at the table.", show_default="6, or the nearest that the ruleset allows"),
    ] = None,
    among: Annotated[
        str | None,
        typer.Option(help="Agents in the other seats, with commas between.", show_default="copies of B"),
    ] = None,
    rules: Annotated[str, typer.Option(help="Name of a ruleset, or path of a YAML file.")] = "pagat",
    delta: Annotated[
        float, typer.Option(help="The smallest difference of elimination rates that matters: 0.01 is one point.")
    ] = 0.01,
    alpha: Annotated[float, typer.Option(help="Chance of finding a difference where there is none.")] = 0.05,
    beta: Annotated[float, typer.Option(help="Chance of missing a difference of delta.")] = 0.05,
    max_blocks: Annotated[int, typer.Option(help="Blocks after which an open test ends as undecided.")] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same verdict.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps what was played, so that a stopped run goes on, the verdict and a plot."),
    ] = None,
    executor: ExecutorOption = Executor.SERIAL,
    workers: WorkersOption = None,
    address: AddressOption = None,
    time_limit: TimeLimitOption = None,
    strict: StrictOption = False,
    trust: TrustOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Say whether A is eliminated less often than B in the same seats, among the same others, with the same cards.

    The test is sequential: it ends when the log-likelihood ratio of "A is better by delta", or of "B is", leaves its
    bounds. Exit code: 0 A is better, 1 B is better, 3 they are level (no difference of delta), 4 undecided, 2 error.
    """
    from rich.console import Console

    from gnav_agents.arena import comparison
    from gnav_agents.arena.config import split_names
    from gnav_agents.arena.plan import DEFAULT_TIME_LIMIT
    from gnav_agents.arena.sequential import Look, SequentialTest

    plan = comparison.make_comparison(
        a,
        b,
        rules,
        seats,
        split_names(among) if among else (),
        seed,
        max_blocks=max_blocks,
        time_limit=DEFAULT_TIME_LIMIT if time_limit is None else time_limit,
        strict=strict,
        trust=trust,
    )
    test = SequentialTest(delta, alpha, beta)
    console = Console(highlight=False, markup=False)
    console.print(
        f"{a} against {b}, {plan.rules.name}, {plan.seats[0]} seats, among {', '.join(plan.among)}; "
        f"a log-likelihood ratio above {test.upper:.2f} says yes, below {test.lower:.2f} no"
    )
    console.print("  blocks   difference [95 %]             A better   B better")
    num_shown = 0

    def tell(look: Look) -> None:
        nonlocal num_shown
        is_early = len(test.history) <= _FIRST_LOOKS
        if is_early or look.num_blocks >= _THINNING * num_shown or test.verdict != "undecided":
            num_shown = look.num_blocks
            interval = f"[{look.low:+.4f}, {look.high:+.4f}]"
            console.print(
                f"{look.num_blocks:8,}   {look.mean:+.4f} {interval:20} {look.llr_better:+9.2f}  {look.llr_worse:+9.2f}"
            )

    result = comparison.compare(
        plan,
        test,
        folder=out,
        overwrite=overwrite,
        executor=executor,
        workers=workers,
        address=address,
        look=tell,
    )
    words = {
        "better": f"{a} is better than {b}",
        "worse": f"{b} is better than {a}",
        "level": f"{a} and {b} are level: no difference of {delta:g} either way",
        "undecided": f"undecided: --max-blocks allows no more than {test.num_blocks:,}",
    }
    console.print(words[result.verdict], style="bold")
    for name, num in zip((a, b), result.forfeits, strict=True):
        if num:
            console.print(f"{name} forfeited {num:,} of its entries", style="bold")
    if out is not None:
        console.print(f"{out}: {comparison.COMPARISON}, {comparison.PLOT}")
    raise typer.Exit(EXIT_CODES[result.verdict])
