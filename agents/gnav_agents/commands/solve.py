"""`gnav solve`: equilibria of a deal and of a match."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnav_agents.commands.options import OverwriteOption, ThreadsOption

if TYPE_CHECKING:
    from gnav_agents.solve.deal import SolvedDeal
    from gnav_env.rules import Rules

__all__ = ["solve"]

_ROUNDING = 1e-9
"""Lives a deal by which two ways to add up all deals may differ."""

solve = typer.Typer(invoke_without_command=True, help="Find equilibria: of a deal, in lives, and of a whole match.")

_Rules = Annotated[str, typer.Option(help="Ruleset: a name or the path of a YAML file.")]


@solve.callback()
def count_or_command(
    context: typer.Context,
    count: Annotated[bool, typer.Option("--count", help="Count information states, and end.")] = False,
    rules: Annotated[str, typer.Option(help="With --count: rulesets with commas between.")] = "pagat,letters",
    seats: Annotated[str, typer.Option(help="With --count: numbers of seats, as in `2-4,6`.")] = "2-4",
) -> None:
    """Find equilibria: of a deal, in lives, and of a whole match.

    `gnav solve --count` says how many information states there are to solve.
    """
    if context.invoked_subcommand is not None:
        return
    if not count:
        print(context.get_help())
        raise typer.Exit
    from rich.console import Console
    from rich.table import Table

    from gnav_agents.solve.deal import deal_tree
    from gnav_agents.studies.cells import parse_seats
    from gnav_env.variants import get_rules

    table = Table(title="information states of a deal, by seat in the order of action")
    for name in ("rules", "seats", "public nodes", "information states", "by seat"):
        table.add_column(name, justify="left" if name in ("rules", "by seat") else "right")
    for name in rules.split(","):
        ruleset = get_rules(name.strip())
        for num_seats in parse_seats(seats):
            tree = deal_tree(ruleset, num_seats)
            num_nodes = sum(node.actor >= 0 for node in tree.nodes)
            by_seat = " ".join(f"{num:,}" for num in tree.states_by_seat())
            table.add_row(ruleset.name, str(num_seats), f"{num_nodes:,}", f"{tree.num_states:,}", by_seat)
    Console().print(table)


@solve.command()
def deal(
    rules: _Rules = "pagat",
    seats: Annotated[int, typer.Option(help="Seats: up to 6 exactly, more by samples.")] = 4,
    out: Annotated[
        Path | None, typer.Option(help="File for the solution.", show_default="results/RULES-SEATS.npz")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="NashConv, in lives a deal, at which to be content.")] = 1e-6,
    check: Annotated[
        bool, typer.Option(help="Work out NashConv once more by going through all deals with the engine itself.")
    ] = True,
    sampled: Annotated[
        bool,
        typer.Option(
            "--sampled",
            help="Solve an abstraction by samples, as with 7 seats and more; up to 6 it is said what that loses.",
        ),
    ] = False,
    iterations: Annotated[int, typer.Option(min=1, help="Rounds of sampled regret matching.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampled deals.")] = 0,
    workers: ThreadsOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """An equilibrium of one deal, for the objective lives lost: nobody can lose fewer by playing otherwise.

    Up to 6 seats it is exact. More are solved by sampled deals, on an abstraction of what a seat sees. Play it with
    `equilibrium:FILE` wherever an agent can be named.
    """
    from gnav_agents.arena.executors import num_cores
    from gnav_agents.files import write_files
    from gnav_agents.solve.deal import MAX_EXACT_SEATS
    from gnav_env.errors import GnavError
    from gnav_env.variants import get_rules

    ruleset = get_rules(rules)
    file = out or Path("results") / f"{ruleset.name}-{seats}.npz"
    if file.is_dir():
        raise GnavError(f"{file} is a folder: --out names the file, as in {file / f'{ruleset.name}-{seats}.npz'}")
    if file.exists() and not overwrite:
        raise GnavError(f"{file} is there already: take another --out, or --overwrite")
    write_files(file.parent, {})  # can it be written to? Better known now than when all is solved
    num_workers = workers or num_cores()
    if sampled or seats > MAX_EXACT_SEATS:
        _solve_by_samples(ruleset, seats, file, iterations, seed, num_workers)
    else:
        _solve_exactly(ruleset, seats, file, tolerance, check, num_workers)


@solve.command()
def match(
    rules: _Rules = "pagat",
    seats: Annotated[int, typer.Option(help="Seats at the start.")] = 3,
    lives: Annotated[
        int | None, typer.Option(help="Lives of each seat at the start.", show_default="those of the ruleset")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder; a stopped run goes on there.", show_default="results/match-RULES-SEATSxLIVES"),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="NashConv of each state, in win probability, at which to be content.")
    ] = 1e-6,
    workers: ThreadsOption = None,
) -> None:
    """An equilibrium of the whole match: for each score and dealer, play that wins most often.

    The folder gets values.json, the chance to win of each seat in each state, which training can use
    (`objective: match`), and policies.npz, which `match_equilibrium:FOLDER` plays. `pagat` with 4 seats
    of 3 lives takes about ten minutes.
    """
    from dataclasses import replace

    from rich.console import Console
    from rich.table import Table

    from gnav_agents.arena.executors import num_cores
    from gnav_agents.commands.progress import goes_on, time_bar
    from gnav_agents.files import write_files
    from gnav_agents.solve.match import solve_match
    from gnav_env.reading import rules_to_yaml
    from gnav_env.variants import get_rules

    ruleset = get_rules(rules)
    if lives is not None:
        ruleset = replace(ruleset, lives=lives)
    folder = out or Path("results") / f"match-{ruleset.name}-{seats}x{ruleset.lives}"
    with goes_on(f"solved states are kept in {folder}"), time_bar() as progress:
        task = progress.add_task("finding the states", total=None)
        values = solve_match(
            ruleset,
            seats,
            folder,
            tolerance=tolerance,
            workers=workers or num_cores(),
            progress=lambda now: progress.update(
                task,
                description=f"lives {now.state}: NashConv {now.nash_conv:.1e}",
                completed=now.num_done,
                total=now.num_states,
            ),
        )
    chances = values.value([ruleset.lives] * seats)
    table = Table(title=f"{ruleset.name}, {seats} seats of {ruleset.lives} lives: {len(values.nash_conv)} states")
    for name in ("seat, in the order of action", "wins", "gain by a best response"):
        table.add_column(name, justify="right")
    for seat, (chance, gain) in enumerate(zip(chances, values.gains, strict=True)):
        table.add_row(str(seat + 1), f"{chance:.4f}", f"{max(0.0, gain):.1e}")
    Console().print(table)
    print("gain: what the seat could win more often by the best response over the whole match")
    if (most := max(values.nash_conv.values())) >= tolerance:
        print(f"In some states NashConv is more than the tolerance, {tolerance:.0e}: {most:.1e} at most.")
    if ruleset.hash == get_rules(rules).hash:
        print(f"{folder}: play it as match_equilibrium:{folder}")
    else:
        write_files(folder, {"rules.yaml": rules_to_yaml(ruleset).encode()})
        print(f"{folder}: play it as match_equilibrium:{folder} with --rules {folder / 'rules.yaml'}")


def _solve_exactly(rules: "Rules", num_seats: int, file: Path, tolerance: float, check: bool, num_workers: int) -> None:
    """Solve on the public tree, certify, show."""
    from math import isnan

    from gnav_agents.commands.progress import time_bar
    from gnav_agents.solve.deal import solve_deal
    from gnav_agents.solve.information import InformationStates
    from gnav_agents.solve.nashconv import nash_conv
    from gnav_agents.solve.solution import save_solution, shipped_solutions
    from gnav_env.errors import GnavError

    with time_bar() as progress:
        task = progress.add_task("building the public tree", total=None)
        solved = solve_deal(
            rules,
            num_seats,
            workers=num_workers,
            tolerance=tolerance,
            progress=lambda what, gain: progress.update(
                task, description=what if isnan(gain) else f"{what}: NashConv {gain:.1e}"
            ),
        )
        how = {"by": solved.how, "rounds": solved.num_rounds, "values": solved.values.tolist()}
        save_solution(file, solved.tree, solved.stand, nash_conv=solved.nash_conv, solved=how)
        _say_deal(solved)
        if check:
            progress.update(task, description="NashConv again, through all deals with the engine")
            index = InformationStates(solved.tree).index("table")
            found = nash_conv(
                index,
                solved.stand,
                rules,
                num_seats,
                workers=num_workers,
                progress=lambda done, total: progress.update(task, completed=done, total=total),
            )
            if abs(found.total - solved.nash_conv) > _ROUNDING:
                file.unlink()
                raise GnavError(
                    f"NashConv is {solved.nash_conv:.2e} by the solver, and {found.total:.2e} by going through all "
                    f"deals with the engine: one of them does not play ruleset {rules.name} right, so nothing is kept; "
                    "please report it"
                )
            print(f"NashConv by going through all deals with the engine: {found.total:.2e} lives a deal")
    if solved.nash_conv >= tolerance:
        print(f"That is more than the tolerance, {tolerance:.0e}, and all that so many rounds could reach.")
    if any((rules.name, number) not in shipped_solutions() for number in range(2, num_seats)):
        print(
            f"{file}: with the tables of 2 to {num_seats - 1} seats in the same folder, to which a match comes down, "
            f"play it as equilibrium:{file.parent}"
        )
    else:
        print(f"{file}: play it as equilibrium:{file}")


def _say_deal(solved: "SolvedDeal") -> None:
    """The value of each seat and NashConv."""
    from rich.console import Console
    from rich.table import Table

    num_seats = solved.tree.num_seats
    table = Table(title=f"{solved.tree.rules.name}, {num_seats} seats: {solved.tree.num_states:,} information states")
    for name in ("seat, in the order of action", "lives lost a deal", "gain by a best response"):
        table.add_column(name, justify="right")
    for seat, (value, gain) in enumerate(zip(solved.values, solved.gains, strict=True)):
        who = " (dealer)" if seat == num_seats - 1 else " (eldest)" if seat == 0 else ""
        table.add_row(f"{seat + 1}{who}", f"{-value:.5f}", f"{max(0.0, gain):.1e}")
    console = Console()
    console.print(table)
    console.print(f"by {solved.how}, {solved.num_rounds} sweeps; NashConv {solved.nash_conv:.2e} lives a deal")


def _solve_by_samples(
    rules: "Rules", num_seats: int, file: Path, num_iterations: int, seed: int, num_workers: int
) -> None:
    """Solve on the abstraction, and say what a best response gains on it: at least, and exactly where that can be."""
    from gnav_agents.commands.progress import time_bar
    from gnav_agents.solve.exact_gain import exact_gain, why_not_exact
    from gnav_agents.solve.gain import gain_bound
    from gnav_agents.solve.sampled import solve_sampled
    from gnav_agents.solve.situation_policy import SituationPolicy

    with time_bar() as progress:
        task = progress.add_task("playing", total=num_iterations)
        solution = solve_sampled(
            rules,
            num_seats,
            num_iterations=num_iterations,
            seed=seed,
            progress=lambda *_: progress.advance(task),
        )
        solution.save(file)
        policy = SituationPolicy(solution)
        print(f"{rules.name}, {num_seats} seats, by sampled regret matching on an abstraction of what a seat sees")
        progress.update(task, description="measuring on deals held out", total=None)
        bound = gain_bound("the solution", policy, rules, num_seats, seed=seed)
        print(
            f"best-response gain on deals held out, a lower bound: {max(0.0, bound.gain):.5f} lives a deal, mean over "
            f"the seats (95 %: {max(0.0, bound.low):.5f} to {max(0.0, bound.high):.5f})"
        )
        if reason := why_not_exact(policy, rules, num_seats):
            print(f"what the abstraction loses is not known: {reason}")
        else:
            exact = exact_gain(
                "the solution",
                policy,
                rules,
                num_seats,
                workers=num_workers,
                progress=lambda what, _: progress.update(task, description=what),
            )
            print(
                f"what the abstraction loses, by the best responses themselves: {exact.gain:.5f} lives a deal, mean "
                f"over the seats; NashConv {sum(exact.gains):.5f}"
            )
    print(f"{file}: play it as equilibrium:{file}")
