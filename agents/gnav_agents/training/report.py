"""What a run was and what came of it, for a reader: report.md and two plots, made from the run's files."""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from gnav_agents.files import write_files
from gnav_agents.learned import read_meta
from gnav_agents.training.config import TrainConfig
from gnav_env.rules import Rules

__all__ = ["write_report"]

_LOSSES = {
    "train/value_loss": "error of the value function",
    "train/entropy_loss": "- entropy of the policy",
    "train/approx_kl": "change of the policy in an update (KL)",
    "train/explained_variance": "share of the variance explained",
}


def write_report(folder: Path, config: TrainConfig, command: str, rules: Rules, seconds: dict[str, float]) -> None:
    """`folder` has report.md, progress.png and losses.png, from its metrics and its two agents."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    agents = {name: read_meta(folder / name) for name in ("best", "final")}
    text = _text(folder, config, command, rules, seconds, agents)
    plots = {"progress.png": _plot_progress(rows), "losses.png": _plot_losses(rows)}
    write_files(folder, {**plots, "report.md": text.encode()})


def _text(
    folder: Path,
    config: TrainConfig,
    command: str,
    rules: Rules,
    seconds: dict[str, float],
    agents: dict[str, Any],
) -> str:
    results = {name: about["results"] for name, about in agents.items()}
    best, final = results["best"], results["final"]
    decisions = agents["final"]["decisions"]
    rate = decisions / max(1e-9, seconds["collect"] + seconds["update"])
    opponents = "\n".join(
        f"| outlives `{name}` | {best['outlive_by_opponent'][name]:.3f} | {share:.3f} |"
        for name, share in final["outlive_by_opponent"].items()
    )
    rivals = ",".join(config.evaluation.opponents)
    parts = ", ".join(f"{name} {seconds[name]:.0f} s" for name in ("collect", "update", "evaluate"))
    return f"""# Training run `{config.name}`

    {command}

Ruleset `{rules.name}` ({rules.hash}), tables of {" and ".join(map(str, config.seats))} seats, objective
`{config.objective}`, seed {config.seed}, {decisions:,} decisions. It took {seconds["all"]:.0f} s
({parts}), which is {rate:,.0f} decisions a second while learning. The whole
config is in `config.yaml`, the versions of what it was run with in `versions.json`.

## Against the population

One learner among opponents that do not change, {final["matches"]:,} matches, each shoe played from every
seat and the same shoes at every evaluation. `best` is the policy of
{agents["best"]["decisions"]:,} decisions, the latest that outlived no fewer than an earlier one, give or
take a standard error; chosen by these very matches, its figures flatter it a little. A tournament with new
cards is the fair test:

    gnav tournament --agents {folder.as_posix()}/best,{rivals} --seats {config.seats[-1]}

| | best | final |
|---|---|---|
| matches won, 1 is par | {best["wins"]:.3f} ± {best["wins_error"]:.3f} | \
{final["wins"]:.3f} ± {final["wins_error"]:.3f} |
| outlives an opponent | {best["outlive"]:.3f} ± {best["outlive_error"]:.3f} | \
{final["outlive"]:.3f} ± {final["outlive_error"]:.3f} |
{opponents}
| lives lost a deal | {best["lives_lost"]:.4f} | {final["lives_lost"]:.4f} |
| ... by its opponents | {best["rivals_lives_lost"]:.4f} | {final["rivals_lives_lost"]:.4f} |

± is one standard error over shoes. Both agents play greedily, as they do when they are loaded by name.

![progress against the population](progress.png)

![losses of the optimiser](losses.png)
"""


def _plot_progress(rows: Sequence[dict[str, Any]]) -> bytes:
    names = [name for name in rows[0] if name.startswith("outlive/")]
    figure, (left, right) = _figure()
    for name in names:
        _curve(left, rows, name, name.removeprefix("outlive/"), marker=".")
    left.axhline(0.5, color="grey", linewidth=0.8)
    left.set(title="chance to outlive", xlabel="decisions")
    _curve(right, rows, "population/lives_lost", "learner", marker=".")
    _curve(right, rows, "population/rivals_lives_lost", "its opponents", marker=".")
    right.set(title="lives lost a deal", xlabel="decisions")
    left.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    right.legend(fontsize="small")
    return _png(figure)


def _plot_losses(rows: Sequence[dict[str, Any]]) -> bytes:
    figure, axes = _figure(2)
    for axis, (name, title) in zip(axes.flat, _LOSSES.items(), strict=True):
        _curve(axis, rows, name, name)
        axis.set(title=title, xlabel="decisions")
    return _png(figure)


def _curve(axis: Any, rows: Sequence[dict[str, Any]], name: str, label: str, **style: Any) -> None:
    points = [(row["decisions"], row[name]) for row in rows if row.get(name) is not None]
    axis.plot(*zip(*points, strict=True), label=label, **style)


def _figure(num_rows: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4 * num_rows), layout="constrained")
    return figure, figure.subplots(num_rows, 2)


def _png(figure: Any) -> bytes:
    image = BytesIO()
    figure.savefig(image, format="png", dpi=110)
    return image.getvalue()
