"""The PettingZoo AEC environment, ``gnav/gnav-v0``.

    >>> import pettingzoo, gnav_env
    >>> env = pettingzoo.make("aec", "gnav/gnav-v0", num_seats=4)
    >>> env.reset(seed=1)
    >>> observation, reward, termination, truncation, info = env.last()
    >>> observation["observation"].shape, observation["action_mask"]
    ((146,), array([1, 1], dtype=int8))

PettingZoo's wrappers for order, bounds and illegal actions cost more than all else together; their checks, with
the same errors, are made here instead. The environment may be wrapped in them all the same.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from gymnasium import logger, spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.env_logger import EnvLogger

from gnav_env._jit import kernel
from gnav_env.chance import checked_seed, fresh_seed
from gnav_env.errors import GnavError
from gnav_env.learner import final_rewards
from gnav_env.observation import bounds, num_features, observe
from gnav_env.rules import Rules
from gnav_env.state import NUM_ACTIONS, TABLE
from gnav_env.stepping import OUTCOME, look, start, step
from gnav_env.table import Table
from gnav_env.variants import get_rules

__all__ = ["GnavEnv", "env", "parallel_env"]

_SEAT, _STAND, _EXCHANGE, _ENDED_DEAL, _CUT_OFF, _CHANGED = 0xFF, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12
"""How `_report` packs a step: the seat to act + 1 (0: none), its legal actions, that a deal ended, that the match
reached its limit, that a deal ended or somebody's lives changed."""

_MASKS = [np.array([code & 1, code >> 1], np.int8) for code in range(4)]
"""Masks by legal actions as bits. A seat that is not to act shows STAND alone: it changes nothing."""


@kernel
def _report(t: Any, r: Any, o: Any, observation: Any) -> int:
    look(t, r, o, observation)
    changed = np.int64(o.ended_deal)
    for seat in range(np.int64(t.num_seats)):
        if o.balance[seat] != 0:
            changed = 1
    code = np.int64(o.seat) + 1 + _STAND * np.int64(o.action_mask[0]) + _EXCHANGE * np.int64(o.action_mask[1])
    code += _ENDED_DEAL * np.int64(o.ended_deal) + _CUT_OFF * np.int64(o.reached_limit) + _CHANGED * changed
    return code  # pyright: ignore[reportReturnType]


@kernel
def _start(
    tables: Any,
    rules: Any,
    num_seats: int,
    seed: int,
    match: int,
    dealer: int,
    outcomes: Any,
    observation: Any,
) -> int:
    """A match has begun at the one table; what comes back is packed."""
    o = outcomes[0]
    start(tables[0], rules[0], num_seats, seed, match, dealer)
    o.ended_deal = 0
    o.reached_limit = 0
    for seat in range(num_seats):
        o.balance[seat] = 0
        o.place[seat] = 0
    return _report(tables[0], rules[0], o, observation)


@kernel
def _step(tables: Any, rules: Any, action: int, max_deals: int, outcomes: Any, observation: Any) -> int:
    """The seat to act at the one table has chosen; what comes back is packed."""
    step(tables[0], rules[0], action, max_deals, outcomes[0])
    return _report(tables[0], rules[0], outcomes[0], observation)


@kernel
def _observe(tables: Any, rules: Any, seat: int, observation: Any) -> None:
    observe(tables[0], rules[0], seat, observation)


class GnavEnv(AECEnv[str, Any, int]):
    """Gnav for PettingZoo. Agents are ``player_0`` ... in the order of the seats.

    Args:
        rules: name of a ruleset, path of a YAML file, or `Rules`.
        num_seats: seats at the table, 2 to 37 for the usual deck.
        episode: `match`, or `deal`: one deal.
        reward: `lives`: lives received - paid, when it happens. `placement`: from 1 (first) to -1 (last), when a seat
            falls or the match ends; seats that fall together share the mean. `win`: 1 for the winner (joint winners
            share it), 0 for the others. The last two need `episode="match"`.
        obs_mode: `dict`: ``{"observation", "action_mask"}`` as PettingZoo's classic games; `flat`: the vector alone,
            with the mask in the agent's info.
        render_mode: None, `ansi`, `rgb_array` or `human`.
        max_cycles: deals after which the match is truncated; None: `Rules.max_deals`.

    The observation is float32 [F], see `gnav_env.observation.PIECES`; the mask int8 [2]. Actions are 0 STAND and
    1 EXCHANGE. `state` is the view of every seat, one after the other, float32 [S x F].

    An action outside the space is an `AssertionError`; an illegal one ends the match for all with -1 for the agent
    that chose it, as PettingZoo's TerminateIllegalWrapper does, and its info says under ``illegal_action`` which
    rule it broke.
    Raises `GnavError` for options that cannot be.
    """

    metadata: dict[str, Any] = {
        "name": "gnav_v0",
        "render_modes": ["ansi", "rgb_array", "human"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | Rules = "pagat",
        num_seats: int = 6,
        *,
        episode: Literal["match", "deal"] = "match",
        reward: Literal["lives", "placement", "win"] = "lives",
        obs_mode: Literal["dict", "flat"] = "dict",
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
        max_cycles: int | None = None,
    ) -> None:
        super().__init__()
        self.rules = get_rules(rules)
        self.num_seats = self.rules.check_seats(num_seats)
        _check_option("episode", episode, ("match", "deal"))
        _check_option("reward", reward, ("lives", "placement", "win"))
        _check_option("obs_mode", obs_mode, ("dict", "flat"))
        _check_option("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if episode == "deal" and reward != "lives":
            raise GnavError(f"reward {reward!r} needs episode='match': a single deal has no winner")
        if max_cycles is not None and max_cycles < 1:
            raise GnavError(f"max_cycles must be 1 deal or more, not {max_cycles}")
        self.episode = episode
        self.reward = reward
        self.obs_mode = obs_mode
        self.render_mode = render_mode
        self.max_deals = 1 if episode == "deal" else max_cycles or self.rules.max_deals(self.num_seats)
        self.possible_agents = [f"player_{seat}" for seat in range(self.num_seats)]
        low, high = bounds(self.num_seats)
        vector = spaces.Box(low, high, dtype=np.float32)
        mask = spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": vector, "action_mask": mask}) if obs_mode == "dict" else vector
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: _action_space() for agent in self.possible_agents}
        self.state_space = spaces.Box(np.tile(low, self.num_seats), np.tile(high, self.num_seats), dtype=np.float32)
        self._is_flat = obs_mode == "flat"
        self._num_features = num_features(self.num_seats)
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._tables: NDArray[Any] = np.zeros(1, TABLE)
        self._outcomes: NDArray[Any] = np.zeros(1, OUTCOME)
        self._view_outcome()
        self._dealer = -1 if self.rules.first_dealer == "random" else int(self.rules.first_dealer)
        self._seed: int | None = None
        self._match = 0
        self._has_reset = False
        self._renderer: Any = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the agent's observations, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the agent's actions, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """A new match: the first under `seed`; without a seed the next under the last one (at first: a random one)."""
        if seed is not None or self._seed is None:
            self._seed, self._match = fresh_seed() if seed is None else checked_seed(seed), 0
        else:
            self._match += 1
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: self._idle_info() for agent in self.agents}
        self._skip_agent_selection: str | None = None
        self._is_paying = False  # some reward of the last step is not 0
        self._truncates_next = False  # the match was cut off while fallen seats had their last step to come
        self._balance = [0] * self.num_seats
        self._has_reset = self._has_updated = True
        self._fresh: NDArray[np.float32] | None = np.empty(self._num_features, np.float32)
        code = _start(
            self._tables,
            self.rules.compiled,
            self.num_seats,
            self._seed,
            self._match,
            self._dealer,
            self._outcomes,
            self._fresh,
        )
        self._turn_to(code)
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """The selected agent acts (None if it is dead), and play goes on to the next choice."""
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        self._has_updated = True
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._step_dead(action)
            return
        if action is not True and action is not False and action in (0, 1):
            choice = int(action)
        else:
            raise AssertionError(f"action is not in action space: 0 STAND or 1 EXCHANGE, not {action!r}")
        if self._is_paying:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._is_paying = False
        self._cumulative_rewards[agent] = 0.0
        if not self._legal & (1 << choice):
            self._end_illegally(agent, choice)
            return
        if self._is_flat:
            self.infos[agent] = self._idle_info()
        self._fresh = np.empty(self._num_features, np.float32)
        code = _step(self._tables, self.rules.compiled, choice, self.max_deals, self._outcomes, self._fresh)
        if code & _CHANGED:
            self._settle(code)
        self._turn_to(code)
        if self.render_mode == "human":
            self.render()

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last step, termination, truncation and info of the selected agent."""
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def observe(self, agent: str) -> Any:
        """What `agent` sees now, in a fresh array; any agent may look at any time."""
        if not self._has_reset:
            EnvLogger.error_observe_before_reset()
        seat = self._seat_of[agent]
        is_to_act = seat == self._seat
        if is_to_act and self._fresh is not None:
            vector, self._fresh = self._fresh, None
        else:
            vector = np.empty(self._num_features, np.float32)
            _observe(self._tables, self.rules.compiled, seat, vector)
        if self._is_flat:
            return vector
        return {"observation": vector, "action_mask": _MASKS[self._legal if is_to_act else 1].copy()}

    def state(self) -> NDArray[np.float32]:
        """The view of every seat, seat 0 first: float32 [S x F], within `state_space`."""
        if not self._has_reset:
            EnvLogger.error_state_before_reset()
        views = np.empty((self.num_seats, self._num_features), np.float32)
        for seat in range(self.num_seats):
            _observe(self._tables, self.rules.compiled, seat, views[seat])
        return views.reshape(-1)

    def render(self) -> Any:
        """The table with all cards open: a text, an image uint8 [H, W, 3], or None with the window drawn."""
        if not self._has_reset:
            EnvLogger.error_render_before_reset()
        if self.render_mode is None:
            logger.warn("render() needs a render_mode, given when the environment is made: ansi, rgb_array or human")
            return None
        if self._renderer is None:
            from gnav_env.render import Renderer

            self._renderer = Renderer(self.render_mode, f"Gnav: {self.rules.name}")
        return self._renderer.show(self.table)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    @property
    def table(self) -> Table:
        """A copy of the table as a `Table`: all of it, so not for players' eyes."""
        return Table.from_record(self.rules, self._tables[0])

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:  # type: ignore[override]
        """The selected agents, one after the other; step() or reset() must be called in between."""
        if not self._has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return self._iterate(max_iter)

    def _iterate(self, max_iter: int) -> Iterator[str]:
        for _ in range(max_iter):
            if not self.agents:
                return
            assert self._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
            self._has_updated = False
            yield self.agent_selection

    def __getattr__(self, name: str) -> Any:
        if name in ("agents", "rewards", "terminations", "truncations", "infos", "agent_selection"):
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_renderer": None, "_balance_view": None, "_place_view": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._view_outcome()

    def _view_outcome(self) -> None:
        self._balance_view: NDArray[np.int16] = self._outcomes["balance"][0, : self.num_seats]
        self._place_view: NDArray[np.int8] = self._outcomes["place"][0, : self.num_seats]

    def _idle_info(self) -> dict[str, Any]:
        return {"action_mask": _MASKS[1].copy()} if self._is_flat else {}

    def _turn_to(self, code: int) -> None:
        """The seat to act that `code` names is selected, unless a dead agent must step first."""
        self._legal = (code >> 8) & 3
        self._seat = (code & _SEAT) - 1
        if self._seat >= 0:
            agent = self.possible_agents[self._seat]
            self.agent_selection = agent
            if self._is_flat:
                self.infos[agent] = {"action_mask": _MASKS[self._legal].copy()}
        if code & _CHANGED:
            self._deads_step_first()

    def _settle(self, code: int) -> None:
        """Rewards are paid and fallen seats are terminated after a step that changed lives or ended a deal."""
        balance: list[int] = self._balance_view.tolist()
        place: list[int] = self._place_view.tolist()
        is_cut_off = bool(code & _CUT_OFF)
        for agent in self.agents:
            seat = self._seat_of[agent]
            is_new = place[seat] > 0 and not self.terminations[agent]
            if self.reward == "lives":
                self.rewards[agent] = float(balance[seat] - self._balance[seat])
            elif is_new:
                self.rewards[agent] = float(final_rewards(self.reward, np.array([place]), np.array([seat]))[0])
            if is_new or (is_cut_off and self.episode == "deal"):
                self.terminations[agent] = True
        self._balance = [0] * self.num_seats if code & _ENDED_DEAL else balance
        self._is_paying = True
        self._accumulate_rewards()
        if is_cut_off and self.episode == "match":
            if any(self.terminations.values()):
                self._truncates_next = True
            else:
                self.truncations = dict.fromkeys(self.agents, True)

    def _step_dead(self, action: int | None) -> None:
        self._was_dead_step(action)  # type: ignore[arg-type]
        self._is_paying = False
        if self._truncates_next and self.agents and not any(self.terminations.values()):
            self._truncates_next = False
            self.truncations = dict.fromkeys(self.agents, True)
            self._deads_step_first()

    def _end_illegally(self, agent: str, action: int) -> None:
        EnvLogger.warn_on_illegal_move()
        self.infos[agent] = {**self.infos[agent], "illegal_action": self.table.why_illegal(action)}
        self.terminations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[agent] = -1.0
        self._is_paying = True
        self._accumulate_rewards()
        self._deads_step_first()


def _action_space() -> spaces.Space[Any]:
    return spaces.Discrete(NUM_ACTIONS)


def env(**options: Any) -> GnavEnv:
    """The environment, as `pettingzoo.make` hands it out; options as in `GnavEnv`."""
    return GnavEnv(**options)


def parallel_env(*, max_cycles: int | None = None, **options: Any) -> ParallelEnv[str, Any, int | None]:
    """The environment under PettingZoo's parallel API: a step is one decision, of the agent whose turn it is.

    `max_cycles` counts deals, as in `GnavEnv`. Made by PettingZoo's `turn_based_aec_to_parallel`; the
    actions of agents that are not to act are not looked at.
    """
    environment: Any = env(max_cycles=max_cycles, **options)
    return turn_based_aec_to_parallel(environment)


def _check_option(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise GnavError(f"{name} must be {' or '.join(map(str, choices))}, not {value!r}")
