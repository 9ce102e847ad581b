"""A learned agent: a small network read from a folder of the zoo, `agent.safetensors` beside `agent.json`.

The forward pass is ours, so that an agent plays where torch and Stable-Baselines3 are not installed.
training/ makes the networks and uses the same forward pass to collect experience; the optimiser's own is only
in the update.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Actions, Masks, Observations, Policy, certain, legal
from gnav_agents.files import write_files
from gnav_env._jit import kernel
from gnav_env.errors import GnavError
from gnav_env.observation import OBSERVATION_VERSION, num_seats_of, piece
from gnav_env.rules import Rules
from gnav_env.state import NUM_ACTIONS
from gnav_env.variants import get_rules

__all__ = ["LearnedAgent", "Network", "fit", "load_agent", "read_meta", "save_agent", "softmax_of_legal"]

FORMAT = 1
"""Rises when `agent.json` or the names of the tensors change."""


@kernel
def _affine(inputs: Any, weight: Any, bias: Any, outputs: Any) -> None:
    """outputs [B, O] = inputs [B, I] @ weight [I, O] + bias [O], float32.

    Row by row and without BLAS: a row's numbers depend neither on the rows beside it nor on threads (BLAS
    with several threads is some thirty times slower on a busy machine), and most inputs are zero.
    """
    for b in range(inputs.shape[0]):
        row = outputs[b]
        for o in range(bias.size):
            row[o] = bias[o]
        for i in range(inputs.shape[1]):
            value = inputs[b, i]
            if value != 0:
                for o in range(bias.size):
                    row[o] += value * weight[i, o]


def fit(observation: Observations, width: int) -> Observations:
    """`observation` [B, F] as a network of `width` inputs reads it, C-contiguous [B, width].

    Slots that the network has no inputs for are cut off; slots that the table has no seats for look like
    seats that are out.
    """
    size = observation.shape[1]
    if size >= width:
        return np.ascontiguousarray(observation[:, :width], np.float32)
    wide = np.zeros((len(observation), width), np.float32)
    wide[:, :size] = observation
    piece(wide, "action_history")[:, num_seats_of(size) :, 0] = 1
    return wide


def softmax_of_legal(logits: NDArray[Any], action_mask: Masks) -> NDArray[np.float64]:
    """float64 [B, A]: softmax of the logits [B, A] of the legal actions, 0 for the others."""
    of_legal = np.where(action_mask != 0, logits.astype(np.float64), -np.inf)
    odds = np.exp(of_legal - of_legal.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Network:
    """Layers with tanh between them; `weights[i]` is float32 [inputs, outputs], `biases[i]` [outputs]."""

    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    @property
    def width(self) -> int:
        """Features that the first layer reads."""
        return self.weights[0].shape[0]

    def logits(self, observation: Observations) -> NDArray[np.float32]:
        """float32 [B, A], for observations [B, F] of a table of any size."""
        values = fit(observation, self.width)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i > 0:
                np.tanh(values, out=values)
            outputs = np.empty((len(values), bias.size), np.float32)
            _affine(values, weight, bias, outputs)
            values = outputs
        return values

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: softmax of the logits of the legal actions."""
        return softmax_of_legal(self.logits(observation), action_mask)

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """The layers by name, as they are written to a file; `from_tensors` reads them back."""
        layers = enumerate(zip(self.weights, self.biases, strict=True))
        return {
            f"{i}.{kind}": array for i, pair in layers for kind, array in zip(("weight", "bias"), pair, strict=True)
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """The network in `tensors`; `GnavError` unless they are layers that fit, of finite numbers."""
        count = len(tensors) // 2
        names = {f"{i}.{kind}" for i in range(count) for kind in ("weight", "bias")}
        if not count or set(tensors) != names:
            raise GnavError(f"the tensors should be 0.weight, 0.bias, 1.weight ..., not {', '.join(sorted(tensors))}")
        inputs = tensors["0.weight"].shape[0] if tensors["0.weight"].ndim == 2 else 0
        num_seats_of(inputs)
        for i in range(count):
            weight, bias = tensors[f"{i}.weight"], tensors[f"{i}.bias"]
            outputs = NUM_ACTIONS if i == count - 1 else bias.size
            if weight.shape != (inputs, outputs) or bias.shape != (outputs,):
                raise GnavError(
                    f"layer {i} should have a weight of {inputs} x {outputs} and a bias of {outputs}, "
                    f"not {list(weight.shape)} and {list(bias.shape)}"
                )
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise GnavError(f"layer {i} holds numbers that are not finite")
            inputs = outputs
        return cls(
            tuple(np.ascontiguousarray(tensors[f"{i}.weight"], np.float32) for i in range(count)),
            tuple(np.ascontiguousarray(tensors[f"{i}.bias"], np.float32) for i in range(count)),
        )


class LearnedAgent(Policy):
    """Plays what a network finds best (`greedy`), or draws from its probabilities."""

    def __init__(self, network: Network, *, greedy: bool = True) -> None:
        self.network = network
        self.greedy = greedy

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: what is really played, so only 0 and 1 for a greedy agent."""
        if self.greedy:
            return certain(self._best(observation), action_mask)
        return self.network.probabilities(observation, action_mask)

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
        """An action [B] for each row; a greedy agent leaves `rng` alone."""
        if self.greedy:
            return legal(self._best(observation), action_mask)
        return super().act(observation, action_mask, rng)

    def _best(self, observation: Observations) -> Actions:
        """The action with the larger logit, [B], legal or not; STAND if they are equal."""
        return self.network.logits(observation).argmax(axis=1)


def save_agent(folder: str | Path, network: Network, meta: Mapping[str, Any]) -> None:
    """`folder` holds the agent: both files are new, or, if they cannot be written, both are as they were.

    `meta` needs `rules` (name and hash, see `load_agent`); the rest is for the reader: seats, training,
    results.
    """
    from safetensors.numpy import save

    weights = save(network.tensors())
    about = {
        "format": FORMAT,
        "observation_version": OBSERVATION_VERSION,
        "network": {"activation": "tanh", "layers": [network.width, *(bias.size for bias in network.biases)]},
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        **meta,
    }
    text = json.dumps(about, indent=2) + "\n"
    write_files(folder, {"agent.safetensors": weights, "agent.json": text.encode()})


def load_agent(folder: str | Path, *, rules: str | Rules, num_seats: int, greedy: bool = True) -> LearnedAgent:
    """The agent in `folder`, for a table of `num_seats` seats with `rules`.

    Raises `GnavError` if there is none, if a file is damaged, or if the agent was trained on other rules or
    for another version of the observation. It serves every number of seats (see `fit`), whatever it was
    trained on.
    """
    folder = Path(folder)
    rules = get_rules(rules)
    rules.check_seats(num_seats)
    about = read_meta(folder)
    trained_on = about["rules"]
    if trained_on["hash"] != rules.hash:
        raise GnavError(
            f"{folder}: this agent was trained on the ruleset {trained_on['name']} ({trained_on['hash']}) "
            f"and cannot play {rules.name} ({rules.hash}); train one with `rules: {rules.name}`"
        )
    return LearnedAgent(_read_network(folder / "agent.safetensors", about["weights_sha256"]), greedy=greedy)


def read_meta(folder: str | Path) -> dict[str, Any]:
    """What `agent.json` in `folder` says; `GnavError` if it is missing, damaged or of another version."""
    path = Path(folder) / "agent.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        inside = [name for name in ("best", "final") if (path.parent / name / path.name).is_file()]
        hint = f"; did you mean {path.parent / inside[0]}?" if inside else ""
        raise GnavError(f"{path.parent}: there is no learned agent (agent.json) here{hint}") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise GnavError(f"{path}: cannot be read: {error}") from None
    try:
        version, layout = int(about["format"]), int(about["observation_version"])
        _ = about["rules"]["name"], about["rules"]["hash"], about["weights_sha256"]
    except (KeyError, TypeError, ValueError) as error:
        raise GnavError(
            f"{path}: is not the description of a learned agent, which has format, observation_version, rules and "
            f"weights_sha256 ({type(error).__name__}: {error})"
        ) from None
    if version != FORMAT:
        raise GnavError(f"{path}: has format {version}, this Gnav reads format {FORMAT}")
    if layout != OBSERVATION_VERSION:
        raise GnavError(
            f"{path}: was trained on version {layout} of the observation, this Gnav writes version "
            f"{OBSERVATION_VERSION}; train the agent again"
        )
    return about


def _read_network(path: Path, digest: str) -> Network:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        content = path.read_bytes()
    except OSError as error:
        raise GnavError(f"{path}: cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise GnavError(f"{path}: is damaged, or does not belong to the agent.json beside it (its checksum differs)")
    try:
        return Network.from_tensors(load(content))
    except (SafetensorError, GnavError) as error:
        raise GnavError(f"{path}: holds no network: {error}") from None
