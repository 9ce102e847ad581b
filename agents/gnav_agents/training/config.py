"""What a training run is told: a YAML file, `--set` on top, checked. Mistakes are told with their place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    field_validator,
    model_validator,
)

from gnav_agents.sections import Section, validated
from gnav_env._yaml import read_yaml
from gnav_env.errors import GnavError

__all__ = [
    "EvaluationConfig",
    "LeagueConfig",
    "NetworkConfig",
    "PpoConfig",
    "TrainConfig",
    "read_config",
    "to_yaml",
]


class NetworkConfig(Section):
    """Sizes of the hidden layers."""

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = (64, 64)
    """Of the policy."""
    value_hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = (32,)
    """Of the value function, which is only there to make learning steadier."""


class PpoConfig(Section):
    """How Stable-Baselines3's MaskablePPO learns from the decisions collected."""

    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """At the start; it falls linearly to `final_learning_rate` at the last decision."""
    final_learning_rate: float = Field(default=0.0, ge=0, le=1)
    decisions_per_update: int = Field(default=65_536, ge=16, le=2**24)
    batch_size: int = Field(default=8_192, ge=2, le=2**24)
    epochs: int = Field(default=2, ge=1, le=100)
    clip: float = Field(default=0.2, gt=0, le=10)
    entropy: float = Field(default=0.001, ge=0, le=10)
    """Weight of the policy's entropy."""
    value: float = Field(default=0.5, ge=0, le=100)
    """Weight of the value function's error."""
    max_grad_norm: float = Field(default=0.5, gt=0)

    @model_validator(mode="after")
    def _check_batch(self) -> "PpoConfig":
        if self.batch_size > self.decisions_per_update:
            raise ValueError(
                f"batch_size must be at most decisions_per_update ({self.decisions_per_update}), not {self.batch_size}"
            )
        return self


class LeagueConfig(Section):
    """Who sits at the tables: `mirror`, `snapshots` and `anchors` are parts of the tables, in proportion."""

    mirror: float = Field(default=1.0, ge=0)
    """Tables at which every seat learns."""
    snapshots: float = Field(default=1.0, ge=0)
    """Tables at which some seats are past selves."""
    anchors: float = Field(default=0.0, ge=0)
    """Tables at which some seats are agents that do not change."""
    agents: tuple[str, ...] = ()
    """The anchors, by name."""
    opponents: float = Field(default=0.5, gt=0, lt=1)
    """Share of the seats that opponents have at the tables where there are any."""
    snapshot_every: int = Field(default=250_000, ge=1)
    """Decisions between two snapshots."""
    keep: int = Field(default=8, ge=1, le=100)
    """Snapshots in the league; a new one takes the place of the oldest."""
    focus: float = Field(default=1.0, ge=0, le=10)
    """How much opponents that the learner does not outlive are preferred; 0: all alike."""

    @model_validator(mode="after")
    def _check_parts(self) -> "LeagueConfig":
        if self.mirror + self.snapshots + self.anchors <= 0:
            raise ValueError("one of mirror, snapshots and anchors must be above 0")
        if self.anchors > 0 and not self.agents:
            raise ValueError("anchors above 0 need names in agents, for example agents: [tips]")
        return self


class EvaluationConfig(Section):
    """How progress is measured: the same cards against the same population, again and again."""

    every: int = Field(default=1_000_000, ge=1)
    """Decisions between two evaluations."""
    opponents: tuple[str, ...] = Field(default=("uniform", "threshold:VII", "tips"), min_length=1)
    matches: int = Field(default=1_200, ge=1, le=1_000_000)
    """Matches of an evaluation, rounded up so that each shoe is played from every seat."""
    seed: int = Field(default=1, ge=0, lt=2**63)


class CheckpointConfig(Section):
    """How often a run can be picked up again."""

    every: int = Field(default=1_000_000, ge=1)
    """Decisions between two checkpoints."""
    keep: int = Field(default=2, ge=1, le=1000)
    """Checkpoints that stay."""


def _as_list(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


class TrainConfig(Section):
    """A whole training run."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """The run's folder is runs/NAME, unless --out says otherwise."""
    rules: str = "pagat"
    """Name of a ruleset, or path of a YAML file."""
    seats: Annotated[tuple[int, ...], BeforeValidator(_as_list), Field(min_length=1)] = (6,)
    """Seats at the tables; several numbers train one agent on tables of each size."""
    objective: Literal["deal", "match"] = "deal"
    """What is learned: `deal` is to lose few lives in each deal, `match` to be the last survivor."""
    match_values: str | None = None
    """For the objective `match`: the path of `values.json` from `gnav solve match`."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    total_decisions: int = Field(ge=1)
    """Decisions of learning seats after which the run is finished."""
    tables: int = Field(default=1_024, ge=1, le=2**20)
    """Tables that are played at once, of all sizes together."""
    threads: int = Field(default=1, ge=1, le=256)
    """Threads of torch; more than one is slower on a machine that has other work."""
    network: NetworkConfig = NetworkConfig()
    ppo: PpoConfig = PpoConfig()
    league: LeagueConfig = LeagueConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()

    @field_validator("seats")
    @classmethod
    def _check_seats(cls, seats: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seats)) != len(seats):
            raise ValueError(f"each number of seats once, not {list(seats)}")
        return tuple(sorted(seats))

    @model_validator(mode="after")
    def _check_objective(self) -> "TrainConfig":
        if self.objective == "match" and self.match_values is None:
            raise ValueError("objective match needs match_values, the path of a file made by `gnav solve match`")
        if self.objective != "match" and self.match_values is not None:
            raise ValueError(f"match_values are for the objective match, not {self.objective}")
        return self

    @model_validator(mode="after")
    def _check_tables(self) -> "TrainConfig":
        if self.tables < len(self.seats):
            raise ValueError(f"tables must be {len(self.seats)} or more, one for each number of seats")
        return self


def read_config(path: str | Path, overrides: Sequence[str] = (), *, seed: int | None = None) -> TrainConfig:
    """The run described in the YAML file at `path`, changed by `overrides` ("ppo.epochs=3") and `seed`.

    Raises `YamlError` that names file and line, or the override, and what would have been right.
    """
    data = read_yaml(path)
    origins: dict[tuple[str, ...], str] = {}
    for override in overrides:
        keys, value = _read_override(override)
        _put(data, keys, value, f"--set {override}")
        origins[keys] = f"--set {override}"
    if seed is not None:
        data["seed"] = seed
        origins["seed",] = f"--seed {seed}"
    return validated(TrainConfig, data, path, origins)


def to_yaml(config: TrainConfig) -> str:
    """The whole config as YAML, defaults included; `read_config` reads it back."""
    from io import StringIO

    from ruamel.yaml import YAML

    writer = YAML()
    writer.default_flow_style = None
    text = StringIO()
    writer.dump(config.model_dump(mode="json"), text)
    return text.getvalue()


def _read_override(override: str) -> tuple[tuple[str, ...], Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    name, sign, text = override.partition("=")
    keys = tuple(name.strip().split("."))
    if not sign or not all(keys):
        raise GnavError(f"--set {override}: write KEY=VALUE, for example --set ppo.epochs=3")
    try:
        return keys, YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        raise GnavError(f"--set {override}: the value is not YAML") from None


def _put(data: Any, keys: tuple[str, ...], value: Any, origin: str) -> None:
    for i, key in enumerate(keys[:-1]):
        if data.get(key) is None:
            data[key] = {}
        data = data[key]
        if not isinstance(data, dict):
            raise GnavError(f"{origin}: {'.'.join(keys[: i + 1])} is a value, not a section")
    data[keys[-1]] = value
