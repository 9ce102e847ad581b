"""Gymnasium: one learning seat, ``gnav/Gnav-v0``, and many such tables at once (`gymnasium.make_vec`).

    >>> import gymnasium, gnav_env
    >>> env = gymnasium.make("gnav/Gnav-v0", num_seats=4)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["action_mask"]
    ((146,), array([1, 1], dtype=int8))

Opponents are functions or agents passed in, see `gnav_env.learner.Opponent`.
"""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from gnav_env.chance import fresh_seed
from gnav_env.errors import GnavError, IllegalAction
from gnav_env.learner import LearnerTables, Opponents, uniform
from gnav_env.observation import bounds
from gnav_env.rules import Rules
from gnav_env.state import NUM_ACTIONS
from gnav_env.table import Table

__all__ = ["GnavSingle", "GnavVector"]


def _vector_space(num_seats: int) -> spaces.Box:
    """The space of one observation."""
    low, high = bounds(num_seats)
    return spaces.Box(low, high, dtype=np.float32)


class GnavSingle(gymnasium.Env[Any, Any]):
    """One learning seat against opponents. Options as in `LearnerTables`, and:

    Args:
        render_mode: None, `ansi`, `rgb_array` or `human`; the learner's cards and what it knows are open.
        max_cycles: deals after which the match is truncated; None: `Rules.max_deals`.

    The observation is float32 [F], actions are 0 STAND and 1 EXCHANGE, the mask is in ``info["action_mask"]`` and comes
    from `action_masks`, as sb3-contrib asks for it. An illegal action raises `IllegalAction` and changes nothing.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}

    def __init__(
        self,
        rules: str | Rules = "pagat",
        num_seats: int = 6,
        *,
        opponents: Opponents = uniform,
        seat: int | None = None,
        reward: Literal["lives", "placement", "win"] = "lives",
        episode: Literal["match", "deal"] = "match",
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
        max_cycles: int | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise GnavError(f"render_mode must be None, ansi, rgb_array or human, not {render_mode!r}")
        self._learner = LearnerTables(
            rules,
            num_seats,
            opponents=opponents,
            seat=seat,
            reward=reward,
            episode=episode,
            max_deals=max_cycles,
            seed=fresh_seed(),
        )
        self.render_mode = render_mode
        self.observation_space = _vector_space(num_seats)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._last_table: Table | None = None
        self._is_over = True
        self._renderer: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The first match under `seed`; without a seed the next one."""
        super().reset(seed=seed)
        if seed is not None or not self._is_over or self._last_table is None:
            self._learner.reset(seed)
        self._is_over = False  # after a finished match the next one already waits
        self._last_table = self._table()
        if self.render_mode == "human":
            self.render()
        return self._learner.observation[0].copy(), self._info()

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """The learner acts, and the opponents until it is to act again or its match has ended."""
        if self._is_over:
            raise GnavError("the match is over (or has not begun): call reset() first")
        if not self.action_space.contains(action):
            raise IllegalAction(f"an action is 0 (STAND) or 1 (EXCHANGE), not {action!r}")
        learner = self._learner
        learner.step(np.array([action]))
        self._is_over = bool(learner.terminated[0] or learner.truncated[0])
        view = learner.final_observation[0] if self._is_over else learner.observation[0]
        if not self._is_over:
            self._last_table = self._table()
        if self.render_mode == "human":
            self.render()
        return (
            view.copy(),
            float(learner.rewards[0]),
            bool(learner.terminated[0]),
            bool(learner.truncated[0]),
            self._info(),
        )

    def action_masks(self) -> NDArray[np.bool_]:
        """What the learner may choose, bool [2]."""
        return np.array([True, False]) if self._is_over else self._learner.action_mask[0] != 0

    def render(self) -> Any:
        """The table as the learner sees it: a text, an image uint8 [H, W, 3], or None with the window drawn."""
        if self.render_mode is None or self._last_table is None:
            gymnasium.logger.warn("render() needs a render_mode, given when the environment is made, and a reset()")
            return None
        if self._renderer is None:
            from gnav_env.render import Renderer

            self._renderer = Renderer(self.render_mode, f"Gnav: {self._learner.tables.rules.name}")
        return self._renderer.show(self._last_table, int(self._learner.seat[0]))

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks().astype(np.int8), "seat": int(self._learner.seat[0])}

    def _table(self) -> Table:
        return Table.from_record(self._learner.tables.rules, self._learner.tables.records[0])


class GnavVector(gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """B tables with one learning seat each, for `gymnasium.make_vec("gnav/Gnav-v0", num_envs=B, ...)`.

    A finished match is followed by the next in the same step; ``info["final_obs"]`` then holds the last view (and
    ``info["_final_obs"]`` says where). ``info["action_mask"]`` is int8 [B, 2].
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}

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
    ) -> None:
        self._learner = LearnerTables(
            rules,
            num_seats,
            num_envs,
            opponents=opponents,
            seat=seat,
            reward=reward,
            episode=episode,
            max_deals=max_cycles,
            seed=fresh_seed(),
        )
        self.num_envs = num_envs
        self.single_observation_space = _vector_space(num_seats)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The first matches under `seed`, one number for all tables; without a seed the next matches."""
        if seed is not None and not isinstance(seed, int):
            raise GnavError("seed must be one number: the matches of all tables follow from it")
        super().reset(seed=seed)
        self._learner.reset(seed)
        return self._learner.observation.copy(), {"action_mask": self._learner.action_mask.copy()}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """The learners act; observation [B, F], reward [B], terminated [B], truncated [B], info."""
        learner = self._learner
        learner.step(actions)
        info: dict[str, Any] = {"action_mask": learner.action_mask.copy()}
        ended = learner.terminated | learner.truncated
        if ended.any():
            final = np.empty(self.num_envs, object)
            for b in np.flatnonzero(ended):
                final[b] = learner.final_observation[b].copy()
            info.update(final_obs=final, _final_obs=ended)
        return learner.observation.copy(), learner.rewards, learner.terminated, learner.truncated, info
