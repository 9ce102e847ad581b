"""A native VecEnv for Stable-Baselines3 and sb3-contrib: one learning seat a table, opponents inside, masks included.

    >>> from gnav_env.sb3 import GnavVecEnv  # doctest: +SKIP
    >>> MaskablePPO("MlpPolicy", GnavVecEnv(num_envs=256)).learn(100_000)  # doctest: +SKIP

This file imports stable_baselines3 (extra `train`); nothing else in gnav_env does.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from gnav_env.learner import LearnerTables, Opponents, uniform
from gnav_env.observation import bounds
from gnav_env.rules import Rules
from gnav_env.state import NUM_ACTIONS

__all__ = ["GnavVecEnv"]


class GnavVecEnv(VecEnv):
    """B tables with one learning seat each. Options as in `LearnerTables`.

    ``env_method("action_masks")`` gives bool [2] for each table, which is how MaskablePPO asks; `action_masks` gives
    [B, 2] at once.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules = "pagat",
        num_seats: int = 6,
        *,
        opponents: Opponents = uniform,
        seat: int | None = None,
        reward: Literal["lives", "placement", "win"] = "lives",
        episode: Literal["match", "deal"] = "match",
        max_cycles: int | None = None,
        seed: int = 0,
    ) -> None:
        self.render_mode = None
        self._learner = LearnerTables(
            rules,
            num_seats,
            num_envs,
            opponents=opponents,
            seat=seat,
            reward=reward,
            episode=episode,
            max_deals=max_cycles,
            seed=seed,
        )
        self._next_seed: int | None = seed
        self._actions: NDArray[Any] = np.zeros(num_envs, np.int64)
        low, high = bounds(num_seats)
        super().__init__(num_envs, spaces.Box(low, high, dtype=np.float32), spaces.Discrete(NUM_ACTIONS))

    def reset(self) -> NDArray[np.float32]:
        """The first matches under the seed last given, later the next ones; float32 [B, F]."""
        self._learner.reset(self._next_seed)
        self._next_seed = None
        self._reset_seeds()
        self._reset_options()
        return self._learner.observation.copy()

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """The next reset starts at the first matches of `seed`."""
        self._next_seed = seed
        return [seed] * self.num_envs

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the learners' `actions` [B] for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """The learners have acted: observation [B, F], reward [B], done [B] and infos, all fresh."""
        learner = self._learner
        learner.step(self._actions)
        dones = learner.terminated | learner.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for b in np.flatnonzero(dones):
            infos[b] = {
                "terminal_observation": learner.final_observation[b].copy(),
                "TimeLimit.truncated": bool(learner.truncated[b]),
            }
        return learner.observation.copy(), learner.rewards, dones, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learners may choose, bool [B, 2]."""
        return self._learner.action_mask != 0

    def close(self) -> None:
        """Nothing is held open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute, once for each table of `indices`."""
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set the attribute; it is one for all tables."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """What the method returns for each table of `indices`; `action_masks` is the one that tables have."""
        if method_name != "action_masks":
            raise AttributeError(f"tables have no method {method_name!r}; there is action_masks")
        masks = self.action_masks()
        return [masks[b] for b in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No table is wrapped."""
        return [False] * len(list(self._get_indices(indices)))

    def has_attr(self, attr_name: str) -> bool:
        """True for `action_masks` and the other attributes of this class."""
        return hasattr(self, attr_name)
