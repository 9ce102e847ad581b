"""Models of Stable-Baselines3 in their .zip files: which algorithm made one, and its network. For foreign.py.

Which algorithm it was stands in JSON and is read as such; the rest are pickles, so nothing is loaded that has not been
trusted before.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations
from gnav_env.errors import GnavError
from gnav_env.state import NUM_ACTIONS

__all__ = ["algorithm_of", "read_model"]

_POLICIES = {
    "sb3_contrib.common.maskable.policies": "MaskablePPO",
    "stable_baselines3.common.policies": "PPO",  # or A2C
    "stable_baselines3.dqn.policies": "DQN",
}
"""The modules of the policies, by which the algorithms are known."""


def algorithm_of(path: Path) -> str:
    """The algorithm that made the model at `path`: MaskablePPO, PPO, A2C or DQN; nothing is unpickled.

    Raises `GnavError` for any other and for a file that is no model.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = data["policy_class"]["__module__"]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, OSError) as error:
        raise GnavError(
            f"it is no model of Stable-Baselines3, as model.save(...) writes it ({type(error).__name__}: {error})"
        ) from None
    algorithm = _POLICIES.get(module)
    if algorithm is None:
        raise GnavError(
            f"its policy is of {module}; what can play here are MaskablePPO, PPO, A2C and DQN with the policies of "
            "Stable-Baselines3 and sb3-contrib, none that remembers"
        )
    return "A2C" if algorithm == "PPO" and "clip_range" not in data else algorithm


def read_model(path: Path) -> tuple[Callable[[Observations, Masks], NDArray[Any]], int]:
    """The network of the model at `path`, (observation, action_mask) -> logits [B, A], and the features it reads.

    Raises `GnavError` if the model does not see our observation, or if Stable-Baselines3 is not installed.
    """
    algorithm = algorithm_of(path)
    model = _load(algorithm, path)
    width, takes_mask = _observation_of(model)
    import torch

    torch.set_num_threads(1)
    policy = model.policy
    policy.set_training_mode(False)

    def preferences(observation: Observations, action_mask: Masks) -> NDArray[Any]:
        seen = {"observation": observation, "action_mask": action_mask} if takes_mask else observation
        with torch.no_grad():
            tensor = policy.obs_to_tensor(seen)[0]
            if algorithm != "DQN":
                return policy.get_distribution(tensor).distribution.logits.numpy()
            values = policy.q_net(tensor).numpy()
        best = np.where(action_mask != 0, values, -np.inf).argmax(axis=1)
        return np.where(np.arange(NUM_ACTIONS) == best[:, np.newaxis], 0.0, -np.inf)

    return preferences, width


def _load(algorithm: str, path: Path) -> Any:
    """The model, without what only training needs: large buffers, and schedules that other Pythons cannot read."""
    try:
        import sb3_contrib
        import stable_baselines3
    except ModuleNotFoundError as error:
        raise GnavError(f"it needs {error.name}, which is not installed: pip install 'gnav[train]'") from None

    library = sb3_contrib if algorithm == "MaskablePPO" else stable_baselines3
    instead: dict[str, Any] = {
        "buffer_size": 1,
        "clip_range": _zero,
        "clip_range_vf": None,
        "exploration_schedule": _zero,
        "learning_rate": 0.0,
        "lr_schedule": _zero,
        "n_steps": 1,
        "_last_episode_starts": None,
        "_last_obs": None,
        "_last_original_obs": None,
    }
    try:
        return getattr(library, algorithm).load(path, device="cpu", custom_objects=instead)
    except Exception as error:
        raise GnavError(f"it cannot be loaded: {type(error).__name__}: {error}") from error


def _zero(_left: float) -> float:
    """A schedule for a model that learns no more."""
    return 0.0


def _observation_of(model: Any) -> tuple[int, bool]:
    """How many features the model reads, and whether it is given the mask too; `GnavError` unless it fits."""
    from gymnasium import spaces

    space, action_space = model.observation_space, model.action_space
    takes_mask = isinstance(space, spaces.Dict)
    if takes_mask and set(space.spaces) == {"observation", "action_mask"} and space["action_mask"].shape == (2,):
        space = space["observation"]
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise GnavError(
            f"it was made for the observation space {model.observation_space}; it should be our observation, a Box "
            "[F], or a Dict of observation, Box [F], and action_mask [2]"
        )
    if not isinstance(action_space, spaces.Discrete) or (action_space.n, action_space.start) != (NUM_ACTIONS, 0):
        raise GnavError(f"it was made for the action space {action_space}; it should be Discrete({NUM_ACTIONS})")
    return space.shape[0], takes_mask
