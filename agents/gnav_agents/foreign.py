"""Agents made of what other people wrote for something else: players of PettingZoo's observations, networks in files.

registry.py gives them their names. What is in a file is read by sb3_zip.py, torchscript.py and onnx_file.py, each of
which hands back a function from observations to preferences; here it becomes a policy. hosted.py keeps all these in
processes of their own.
"""

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents import onnx_file, sb3_zip, torchscript
from gnav_agents.agent import Actions, Masks, Observations, Policy
from gnav_agents.learned import fit, softmax_of_legal
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, num_seats_of
from gnav_env.state import NUM_ACTIONS

__all__ = [
    "FILE_KINDS",
    "ForeignCodeWarning",
    "ForeignNetwork",
    "PettingZooPlayer",
    "is_file_name",
    "make_from_file",
    "require_trust",
]

Preferences = Callable[[Observations, Masks], NDArray[Any]]
"""(observation [B, F], action_mask [B, A]) -> logits [B, A]; those of illegal actions do not matter."""


class ForeignCodeWarning(UserWarning):
    """A file is read that can run whatever code is in it."""


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """What an agent's file can be, by the end of its name."""

    description: str
    read: Callable[[Path], tuple[Preferences, int | None]]
    """The network in a file, and the features that it reads; None: as many as it is given."""
    danger: str = ""
    """What reading such a file can do; empty if it is data and nothing else."""


_TORCHSCRIPT = FileKind(
    description="a TorchScript module: observation [B, F] to logits [B, 2]",
    read=torchscript.read_module,
    danger="a TorchScript file is a program that can write files, even while it is loaded",
)

FILE_KINDS = {
    ".zip": FileKind(
        description="a model of Stable-Baselines3: MaskablePPO, PPO, A2C or DQN",
        read=sb3_zip.read_model,
        danger="a Stable-Baselines3 file holds pickles, and loading it runs whatever code is in them",
    ),
    ".pt": _TORCHSCRIPT,
    ".ts": _TORCHSCRIPT,
    ".onnx": FileKind(description="an ONNX network: observation [B, F] to logits [B, 2]", read=onnx_file.read_network),
}
"""The files that agents can be in, by the end of their names."""


class ForeignNetwork(Policy):
    """Draws among the legal actions as a network's logits say, for tables of any size where its width is known.

    Args:
        preferences: the network.
        width: features that it reads, see `gnav_agents.learned.fit`; None: as many as the table has.
    """

    def __init__(self, preferences: Preferences, width: int | None = None) -> None:
        if width is not None:
            num_seats_of(width)
        self.width = width
        self._preferences = preferences

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: softmax of the logits of the legal actions.

        Raises `GnavError` if the network answers with another shape.
        """
        fitting = observation if self.width is None else fit(observation, self.width)
        logits = np.asarray(self._preferences(fitting, action_mask))
        if logits.shape != action_mask.shape:
            raise GnavError(f"the output should be logits {list(action_mask.shape)}, not {list(logits.shape)}")
        return softmax_of_legal(logits, action_mask)


class PettingZooPlayer:
    """An agent of one seat, as people write them for `env.last()`: asked row by row.

    `player`, or its method `act` if it has one, is given ``{"observation": float32 [F], "action_mask": int8 [2]}``,
    its own copies, and returns 0 or 1. It gets no generator: one that draws for itself does not repeat.
    """

    def __init__(self, player: Any) -> None:
        choose = getattr(player, "act", player)
        if not callable(choose):
            raise GnavError(
                "a player of PettingZoo's observations is a function of one, or an object with a method act, "
                f"not {type(player).__name__}"
            )
        self._choose: Callable[[dict[str, NDArray[Any]]], Any] = choose

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
        """The player's actions [B]; `TypeError` if one is no whole number."""
        rows = zip(observation, action_mask, strict=True)
        answers = [self._choose({"observation": seen.copy(), "action_mask": mask.copy()}) for seen, mask in rows]
        return np.array([operator.index(answer) for answer in answers], np.int64)


def is_file_name(name: str) -> bool:
    """Whether `name` ends as the file of an agent does."""
    return Path(name).suffix in FILE_KINDS


def require_trust(name: str, *, trust: bool) -> None:
    """If `name` is a file that can run code: a `ForeignCodeWarning` with `trust`, without it a `GnavError`."""
    kind = FILE_KINDS.get(Path(name).suffix)
    if kind is not None and not Path(name).is_file():
        raise GnavError(f"agent {name}: there is no such file")
    if kind is None or not kind.danger:
        return
    if not trust:
        raise GnavError(
            f"agent {name}: {kind.danger}; if you trust those who made it, allow it with --trust (trust=True in Python)"
        )
    warnings.warn(f"agent {name}: {kind.danger}; it is trusted", ForeignCodeWarning, stacklevel=2)


def make_from_file(name: str, num_seats: int, *, trust: bool = False) -> ForeignNetwork:
    """The agent in the file `name`, for tables of `num_seats`.

    Raises `GnavError` if there is no such file, if it may not be read without `trust`, or if what is in it does
    not play Gnav.
    """
    path = Path(name)
    require_trust(name, trust=trust)
    try:
        agent = ForeignNetwork(*FILE_KINDS[path.suffix].read(path))
        observation = np.zeros((2, num_features(num_seats)), np.float32)
        agent.probabilities(observation, np.ones((2, NUM_ACTIONS), np.int8))
    except GnavError as error:
        raise GnavError(f"agent {name}: {error}") from error
    except Exception as error:
        raise GnavError(
            f"agent {name}: it does not take observations [B, {num_features(num_seats)}] of a table of {num_seats} "
            f"seats: {type(error).__name__}: {error}"
        ) from error
    return agent
