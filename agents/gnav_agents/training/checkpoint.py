"""A run's state on disk, so complete that a run which is picked up goes on as if it had never stopped.

Tensors are safetensors, everything else is JSON; nothing is pickled. A checkpoint is a folder named by its
decisions.
"""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gnav_agents.files import write_files
from gnav_agents.learned import Network
from gnav_agents.training.collect import Decisions
from gnav_agents.training.league import League
from gnav_agents.training.ppo import SelfPlayPPO
from gnav_env.errors import GnavError

__all__ = ["latest_checkpoint", "restore_checkpoint", "save_checkpoint"]

FORMAT = 1
"""Rises when older checkpoints can no longer be read."""

Tensors = dict[str, NDArray[Any]]


def save_checkpoint(folder: Path, model: SelfPlayPPO, league: League, progress: dict[str, Any], keep: int) -> None:
    """`folder` has a checkpoint of now, with `progress` (plain data); all but the newest `keep` are gone."""
    from safetensors.numpy import save

    tensors: Tensors = {f"policy/{name}": tensor.numpy() for name, tensor in model.policy.state_dict().items()}
    for number, state in model.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{number}/{name}": tensor.numpy() for name, tensor in state.items()}
    for number, field in enumerate(model.fields):
        tensors |= {f"field/{number}/{name}": array for name, array in field.state().items()}
    tensors |= {f"surplus/{name}": array for name, array in vars(Decisions.join(model.surplus)).items()}
    for number, snapshot in enumerate(league.snapshots):
        tensors |= {f"snapshot/{number}/{name}": array for name, array in snapshot.tensors().items()}
    tensors |= {"league/compared": league.compared, "league/outlived": league.outlived}
    content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
    state = {
        "format": FORMAT,
        "sha256": hashlib.sha256(content).hexdigest(),
        "decisions": model.num_timesteps,
        "updates": model._n_updates,  # pyright: ignore[reportPrivateUsage]
        "generators": [model.rng.bit_generator.state, model.shuffler.bit_generator.state],
        "snapshots": league.ages,
        "progress": progress,
    }
    text = json.dumps(state, indent=1) + "\n"
    write_files(folder / f"{model.num_timesteps:012d}", {"state.safetensors": content, "state.json": text.encode()})
    for old in sorted(folder.iterdir())[:-keep]:
        shutil.rmtree(old)


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in `folder`, None if there is none."""
    complete = sorted(path.parent for path in folder.glob("*/state.json"))
    return complete[-1] if complete else None


def restore_checkpoint(folder: Path, model: SelfPlayPPO, league: League) -> dict[str, Any]:
    """`model` and `league` are as they were at the checkpoint in `folder`; the `progress` saved with it comes
    back.

    Raises `GnavError` if it is damaged or does not fit the run.
    """
    state, tensors = _read(folder)
    try:
        model.policy.load_state_dict(
            {name: torch.from_numpy(array) for name, array in _below("policy/", tensors).items()}
        )
        optimizer = model.policy.optimizer
        moments = _below("optimizer/", tensors)
        numbers = {name.partition("/")[0] for name in moments}
        optimizer.load_state_dict(
            {
                "state": {
                    int(number): {
                        name: torch.from_numpy(array) for name, array in _below(f"{number}/", moments).items()
                    }
                    for number in sorted(numbers, key=int)
                },
                "param_groups": optimizer.state_dict()["param_groups"],
            }
        )
        for number, field in enumerate(model.fields):
            field.restore(_below(f"field/{number}/", tensors))
        model.surplus = [Decisions(**_below("surplus/", tensors))]
        league.snapshots = [
            Network.from_tensors(_below(f"snapshot/{number}/", tensors)) for number in range(len(state["snapshots"]))
        ]
        league.ages = list(state["snapshots"])
        league.compared, league.outlived = tensors["league/compared"], tensors["league/outlived"]
        model.num_timesteps = int(state["decisions"])
        model._n_updates = int(state["updates"])  # pyright: ignore[reportPrivateUsage]
        for generator, inner in zip((model.rng, model.shuffler), state["generators"], strict=True):
            generator.bit_generator.state = inner
        return state["progress"]
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise GnavError(
            f"{folder}: this checkpoint does not fit the run's config: {error}; start anew with --overwrite"
        ) from None


def _read(folder: Path) -> tuple[dict[str, Any], Tensors]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        content = (folder / "state.safetensors").read_bytes()
        if state["format"] != FORMAT:
            raise GnavError(f"{folder}: has format {state['format']}, this Gnav reads format {FORMAT}")
        if hashlib.sha256(content).hexdigest() != state["sha256"]:
            raise ValueError("the checksum of state.safetensors differs")
        # copies, because what is read in place cannot be written to
        return state, {name: np.array(array) for name, array in load(content).items()}
    except GnavError:
        raise
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise GnavError(
            f"{folder}: this checkpoint is damaged ({error}); delete it to resume from the one before"
        ) from None


def _below(prefix: str, tensors: Tensors) -> Tensors:
    """The tensors whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
