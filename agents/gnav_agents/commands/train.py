"""`gnav train`: a bot is trained by self-play, as a YAML file says."""

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["train"]


def train(
    config: Annotated[
        Path, typer.Argument(help="What to train: a YAML file, for example configs/train/quickstart.yaml.")
    ],
    seed: Annotated[int | None, typer.Option(help="Another seed than the file's.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another value, for example `ppo.epochs=3`. Repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="runs/NAME")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in that folder.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in that folder.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, write nothing.")
    ] = False,
) -> None:
    """Train a bot by self-play.

    The folder of the run gets best/ and final/ (agents: `gnav tournament --agents runs/NAME/best,tips`),
    report.md with plots, tensorboard/, metrics.jsonl, and checkpoints/ to resume from. Ctrl-C stops with a
    checkpoint.
    """
    from rich.console import Console

    from gnav_agents.training.config import read_config, to_yaml
    from gnav_env.errors import GnavError

    if resume and overwrite:
        raise GnavError("--resume goes on with a run and --overwrite replaces it: give one of the two")
    settings = read_config(config, changes or [], seed=seed)
    try:
        from gnav_agents.training.trainer import Trainer, check_folder
    except ModuleNotFoundError as error:
        raise GnavError(f"training needs {error.name}: pip install 'gnav[train]'") from None
    folder = out or Path("runs") / settings.name
    checkpoint = check_folder(folder, settings, resume=resume, overwrite=overwrite)
    trainer = Trainer(settings, folder, checkpoint, command=_command(config, seed, changes or [], out))
    console = Console()
    if dry_run:
        console.print(to_yaml(settings), end="", markup=False, highlight=False)
        console.print(_plan(trainer), markup=False, highlight=False, soft_wrap=True)
        return
    if trainer.is_finished:
        console.print(
            f"{folder} is finished, with {trainer.decisions:,} decisions; to train it further, "
            "resume it with a larger --set total_decisions=N, next to the other options that it was begun with."
        )
        return
    with _progress() as progress:
        task = progress.add_task("training", total=settings.total_decisions, completed=trainer.decisions, figures="")
        outcome = trainer.run(
            lambda run: progress.update(
                task, completed=min(run.decisions, settings.total_decisions), figures=_figures(run)
            )
        )
    if not outcome.is_finished:
        again = _command(config, seed, changes or [], out)
        console.print(f"Stopped after {outcome.decisions:,} decisions. To go on: {again} --resume", soft_wrap=True)
        raise typer.Exit(130)
    console.print(_summary(outcome))
    console.print(f"Agents: {folder}/best and {folder}/final. Report: {folder}/report.md", soft_wrap=True)


def _command(config: Path, seed: int | None, changes: list[str], out: Path | None) -> str:
    """The command line that asks for the same training."""
    from shlex import join

    words = ["gnav", "train", str(config)]
    if seed is not None:
        words += ["--seed", str(seed)]
    for change in changes:
        words += ["--set", change]
    if out is not None:
        words += ["--out", str(out)]
    return join(words)


def _plan(trainer: Any) -> str:
    """What a run would do, in sentences."""
    config = trainer.config
    left = max(0, config.total_decisions - trainer.decisions)
    updates = -(-left // config.ppo.decisions_per_update)
    evaluations = -(-left // config.evaluation.every)
    start = f"go on at {trainer.decisions:,} decisions" if trainer.decisions else "start anew"
    return (
        f"\nNothing is written. The run would {start} in {trainer.folder}: {updates} updates of "
        f"{config.ppo.decisions_per_update:,} decisions each, about {evaluations} evaluations of "
        f"{config.evaluation.matches:,} matches, on ruleset {trainer.rules.name} ({trainer.rules.hash})."
    )


def _figures(run: Any) -> str:
    """The key figures of now."""
    result = run.evaluation
    lives = f"{result.lives_lost:.3f} lives a deal"
    return f"outlives {result.outlive:.3f}, wins {result.wins:.2f} x par, loses {lives}"


def _summary(outcome: Any) -> Any:
    from rich.table import Table

    table = Table("against the population", "best", "final")
    best, final = outcome.best, outcome.evaluation
    table.add_row("after decisions", f"{outcome.best_decisions:,}", f"{outcome.decisions:,}")
    table.add_row(
        "matches won, 1 is par",
        f"{best.wins:.3f} ± {best.wins_error:.3f}",
        f"{final.wins:.3f} ± {final.wins_error:.3f}",
    )
    table.add_row("lives lost a deal", f"{best.lives_lost:.4f}", f"{final.lives_lost:.4f}")
    for name, share in final.outlive_by_opponent.items():
        table.add_row(f"outlives {name}", f"{best.outlive_by_opponent[name]:.3f}", f"{share:.3f}")
    return table


def _progress() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    class Rate(TextColumn):
        def render(self, task: Any) -> Any:
            from rich.text import Text

            return Text(f"{task.speed or 0:,.0f}/s")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(""),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True),
    )
