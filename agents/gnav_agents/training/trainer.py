"""A training run from config to report: the folder, the loop, what is logged, how it stops and goes on."""

import json
import platform
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat
from torch.utils.tensorboard.writer import SummaryWriter

from gnav_agents.files import write_files
from gnav_agents.learned import LearnedAgent, save_agent
from gnav_agents.training.checkpoint import latest_checkpoint, restore_checkpoint, save_checkpoint
from gnav_agents.training.collect import Field
from gnav_agents.training.config import TrainConfig, read_config, to_yaml
from gnav_agents.training.evaluate import Evaluation, Population
from gnav_agents.training.league import League
from gnav_agents.training.potential import Potential, read_potentials
from gnav_agents.training.ppo import SelfPlayPPO
from gnav_agents.training.report import write_report
from gnav_env.errors import GnavError
from gnav_env.observation import num_features
from gnav_env.variants import get_rules

__all__ = ["Outcome", "Trainer", "check_folder"]

_PACKAGES = (
    "gnav",
    "numpy",
    "numba",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
    "gymnasium",
    "safetensors",
)
_CONTENTS = (
    *("config.yaml", "versions.json", "metrics.jsonl", "report.md", "progress.png", "losses.png"),
    *("best", "final", "checkpoints", "tensorboard"),
)
"""What a run writes into its folder."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    decisions: int
    is_finished: bool
    evaluation: Evaluation
    best: Evaluation
    best_decisions: int


def check_folder(folder: Path, config: TrainConfig, *, resume: bool, overwrite: bool) -> Path | None:
    """The checkpoint to resume from, None for a new run; nothing is written.

    Raises `GnavError` if the folder is in use for something else, or if the run cannot be resumed as asked.
    """
    there = folder.is_dir() and any(folder.iterdir())
    is_run = (folder / "config.yaml").is_file()
    if folder.exists() and (not folder.is_dir() or (there and not is_run)):
        raise GnavError(f"{folder}: is there already and is not a training run; choose another folder with --out")
    if not resume:
        if there and not overwrite:
            raise GnavError(
                f"{folder}: there is a run already; continue it with --resume, replace it with --overwrite, "
                "or choose another folder with --out"
            )
        return None
    checkpoint = latest_checkpoint(folder / "checkpoints")
    if checkpoint is None:
        raise GnavError(f"{folder}: there is no checkpoint to resume from; start without --resume")
    before, now = (_flat(c.model_dump(mode="json")) for c in (read_config(folder / "config.yaml"), config))
    changed = [key for key in now if now[key] != before.get(key) and key not in ("name", "total_decisions")]
    if changed:
        raise GnavError(
            f"{folder}: a resumed run keeps its config, but {changed[0]} was {before.get(changed[0])!r} "
            f"and is now {now[changed[0]]!r}; only total_decisions may change"
        )
    return checkpoint


class Trainer:
    """A run in `folder`: a new one, in the place of what is there, or the one that left `checkpoint`."""

    def __init__(self, config: TrainConfig, folder: Path, checkpoint: Path | None = None, *, command: str = "") -> None:
        self.config = config
        self.folder = folder
        self.command = command
        self.rules = get_rules(config.rules)
        sizes = [self.rules.check_seats(size) for size in config.seats]
        seeds = np.random.SeedSequence(config.seed).spawn(3 + len(sizes))
        collecting, shuffling, weights = (int(s.generate_state(1, np.uint64)[0] >> 1) for s in seeds[:3])
        self.league = League(config.league, self.rules, sizes)
        self.population = Population(config.evaluation, self.rules, sizes)
        potentials: dict[int, Potential] = {}
        if config.match_values is not None:
            potentials = read_potentials(config.match_values, self.rules, sizes)
        fields = [
            Field(
                self.rules,
                size,
                len(range(i, config.tables, len(sizes))),
                width=num_features(max(sizes)),
                seed=int(seeds[3 + i].generate_state(1, np.uint64)[0] >> 1),
                league=self.league,
                potential=potentials.get(size),
            )
            for i, size in enumerate(sizes)
        ]
        self.model = SelfPlayPPO(
            fields,
            config.ppo,
            network=config.network,
            rng=np.random.default_rng(collecting),
            shuffler=np.random.default_rng(shuffling),
            seed=weights,
        )
        self.evaluation: Evaluation | None = None
        self.best: tuple[Evaluation, int] | None = None
        self.seconds = {"evaluate": 0.0, "all": 0.0}
        if checkpoint is None:
            self.league.add_snapshot(self.model.network(), 0)
            for field in fields:
                field.seat_all(self.model.rng)
        else:
            self._take_up(restore_checkpoint(checkpoint, self.model, self.league))
        self._checkpoint = checkpoint
        self._saved_at = self.decisions if checkpoint else -1

    @property
    def decisions(self) -> int:
        """Decisions learned from so far."""
        return self.model.num_timesteps

    @property
    def is_finished(self) -> bool:
        """True if all decisions that the config asks for have been made."""
        return self.decisions >= self.config.total_decisions

    def run(self, on_update: Callable[["Trainer"], None] = lambda _: None) -> Outcome:
        """Train until the run is finished, or until Ctrl-C; the folder holds all that came of it.

        `on_update` is called after each update of the policy.
        """
        began = perf_counter() - self.seconds["all"]
        self._prepare()
        with _threads(self.config.threads), _interruptible() as is_interrupted, self._logging():
            if self.evaluation is None:
                self._evaluate()
                self.model.logger.dump(self.decisions)
            while not self.is_finished and not is_interrupted():
                before = self.decisions
                self.model.iterate(self.config.total_decisions)
                self.league.fade()
                if self._is_due(self.config.league.snapshot_every, before):
                    self.league.add_snapshot(self.model.network(), self.decisions)
                if self._is_due(self.config.evaluation.every, before) or self.is_finished:
                    self._evaluate()
                self.seconds["all"] = perf_counter() - began
                self._log()
                if self._is_due(self.config.checkpoint.every, before):
                    self._save()
                on_update(self)
            if self._saved_at != self.decisions:
                self._save()
        assert self.evaluation is not None
        assert self.best is not None
        if self.is_finished:
            self._write_agent("final", self.evaluation, self.decisions)
            write_report(self.folder, self.config, self.command, self.rules, self.seconds | self.model.seconds)
        return Outcome(self.decisions, self.is_finished, self.evaluation, *self.best)

    def _is_due(self, every: int, before: int) -> bool:
        """True if a multiple of `every` decisions was passed since `before`."""
        return self.decisions // every > before // every

    def _prepare(self) -> None:
        """The folder is that of this run, with its config."""
        if self._checkpoint is None:
            for path in filter(Path.exists, map(self.folder.joinpath, _CONTENTS)):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        about = {
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
            "rules": {"name": self.rules.name, "hash": self.rules.hash},
        }
        write_files(
            self.folder,
            {
                "config.yaml": to_yaml(self.config).encode(),
                "versions.json": (json.dumps(about, indent=2) + "\n").encode(),
                "metrics.jsonl": b"".join(self._lines_so_far()),
            },
        )

    def _lines_so_far(self) -> Iterator[bytes]:
        """The metrics up to the checkpoint; a run that was killed may have written more."""
        path = self.folder / "metrics.jsonl"
        if self._checkpoint is None or not path.is_file():
            return
        for line in path.read_bytes().splitlines(keepends=True):
            try:
                if json.loads(line)["decisions"] <= self.decisions:
                    yield line
            except (ValueError, KeyError):
                return

    def _evaluate(self) -> None:
        """The learner has been measured, and is in best/ unless an earlier one was clearly better."""
        began = perf_counter()
        self.evaluation = self.population.evaluate(LearnedAgent(self.model.network()))
        for name, value in self.evaluation.metrics().items():
            self.model.logger.record(name, value)
        if self.best is None or not self.evaluation.is_worse_than(self.best[0]):
            self.best = (self.evaluation, self.decisions)
            self._write_agent("best", *self.best)
        self.seconds["evaluate"] += perf_counter() - began

    def _write_agent(self, name: str, evaluation: Evaluation, decisions: int) -> None:
        meta = {
            "rules": {"name": self.rules.name, "hash": self.rules.hash},
            "seats": list(self.config.seats),
            "decisions": decisions,
            "results": evaluation.to_dict(),
            "training": self.config.model_dump(mode="json"),
            "versions": {name: _version(name) for name in _PACKAGES},
        }
        save_agent(self.folder / name, self.model.network(), meta)

    def _log(self) -> None:
        logger = self.model.logger
        for name, share in zip(self.league.names, self.league.outlive(), strict=True):
            if name in self.config.league.agents:
                logger.record(f"league/{name}", float(share))
        for name, seconds in (self.seconds | self.model.seconds).items():
            logger.record(f"time/{name}", seconds)
        logger.dump(self.decisions)

    def _save(self) -> None:
        assert self.evaluation is not None
        assert self.best is not None
        progress = {
            "evaluation": self.evaluation.to_dict(),
            "best": [self.best[0].to_dict(), self.best[1]],
            "seconds": [self.seconds, self.model.seconds],
        }
        save_checkpoint(self.folder / "checkpoints", self.model, self.league, progress, self.config.checkpoint.keep)
        self._saved_at = self.decisions

    def _take_up(self, progress: dict[str, Any]) -> None:
        self.evaluation = Evaluation(**progress["evaluation"])
        self.best = (Evaluation(**progress["best"][0]), progress["best"][1])
        self.seconds, self.model.seconds = progress["seconds"]

    @contextmanager
    def _logging(self) -> Generator[None]:
        """The model's logger writes lines of JSON, and TensorBoard's curves, on one axis if it is resumed."""
        first = self.decisions + 1 if self._checkpoint else None
        try:
            logger = Logger(None, [_Curves(self.folder / "tensorboard", first), _Lines(self.folder / "metrics.jsonl")])
        except OSError as error:
            raise GnavError(f"{self.folder}: cannot be written to: {error.strerror or error}") from None
        self.model.set_logger(logger)
        try:
            yield
        finally:
            logger.close()


class _Curves(TensorBoardOutputFormat):
    """TensorBoard's curves; points from `first` on that an earlier, killed run has left are dropped."""

    def __init__(self, folder: Path, first: int | None) -> None:
        self.writer = SummaryWriter(log_dir=str(folder), purge_step=first)
        self._is_closed = False


class _Lines(KVWriter):
    """metrics.jsonl: a line for each update."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """One more line; if there is no room for it, none."""
        numbers = {name: float(value) for name, value in sorted(key_values.items())}
        known = {name: value if np.isfinite(value) else None for name, value in numbers.items()}
        line = json.dumps({"decisions": step, **known}).encode() + b"\n"
        size = self.path.stat().st_size
        try:
            with self.path.open("ab") as file:
                file.write(line)
        except OSError as error:
            with self.path.open("r+b") as file:
                file.truncate(size)
            raise GnavError(f"{self.path}: cannot be written to: {error.strerror or error}") from None

    def close(self) -> None:
        """Nothing is left open."""


@contextmanager
def _threads(num_threads: int) -> Generator[None]:
    """torch uses `num_threads` threads meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _interruptible() -> Generator[Callable[[], bool]]:
    """A function that says whether Ctrl-C has been pressed; a second one interrupts at once."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def on_interrupt(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)
        pressed.set()

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _flat(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """`data` with dotted keys instead of sections."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
