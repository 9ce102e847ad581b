"""Stable-Baselines3's MaskablePPO with our own collection of experience: every learning seat of every table,
one policy.

A decision is an episode of one step, so its buffer holds N of them side by side, as if N environments had
made one step.
"""

from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from gnav_agents.learned import Network
from gnav_agents.training.collect import Decisions, Field
from gnav_agents.training.config import NetworkConfig, PpoConfig
from gnav_env.state import NUM_ACTIONS

__all__ = ["SelfPlayPPO"]


class _Buffer(MaskableRolloutBuffer):
    """The buffer, shuffled by a generator of its own instead of NumPy's global one."""

    def __init__(self, *arguments: Any, shuffler: np.random.Generator, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.shuffler = shuffler

    def get(self, batch_size: int | None = None) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """All decisions once, in batches of `batch_size`, in a new order."""
        if not self.generator_ready:
            for name in (
                "observations",
                "actions",
                "values",
                "log_probs",
                "advantages",
                "returns",
                "action_masks",
            ):
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        order = self.shuffler.permutation(self.n_envs)
        for start in range(0, self.n_envs, batch_size or self.n_envs):
            yield self._get_samples(order[start : start + (batch_size or self.n_envs)])


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO that learns from what happens in `fields`; `num_timesteps` counts decisions."""

    def __init__(
        self,
        fields: list[Field],
        config: PpoConfig,
        *,
        network: NetworkConfig,
        rng: np.random.Generator,
        shuffler: np.random.Generator,
        seed: int,
    ) -> None:
        self.fields = fields
        self.rng = rng
        self.shuffler = shuffler
        self.surplus = [Decisions.none(fields[0].width)]
        """Decisions finished but not yet learned from."""
        self.seconds = {"collect": 0.0, "update": 0.0}
        width = fields[0].width
        super().__init__(
            "MlpPolicy",
            None,  # type: ignore[arg-type]
            learning_rate=_linear(config.learning_rate, config.final_learning_rate),
            n_steps=1,
            batch_size=config.batch_size,
            n_epochs=config.epochs,
            gamma=1.0,
            gae_lambda=1.0,
            clip_range=config.clip,
            ent_coef=config.entropy,
            vf_coef=config.value,
            max_grad_norm=config.max_grad_norm,
            rollout_buffer_class=_Buffer,
            rollout_buffer_kwargs={"shuffler": shuffler},
            policy_kwargs={"net_arch": {"pi": list(network.hidden), "vf": list(network.value_hidden)}},
            seed=None,
            device="cpu",
            _init_setup_model=False,
        )
        self.observation_space = spaces.Box(0.0, np.inf, (width,), np.float32)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self.n_envs = config.decisions_per_update
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._setup_model()
        self.set_logger(Logger(None, []))

    def network(self) -> Network:
        """A copy of the policy as it is now; learning does not change it."""
        state = self.policy.state_dict()
        last = len(self.policy_kwargs["net_arch"]["pi"])
        names = [f"mlp_extractor.policy_net.{2 * i}" for i in range(last)] + ["action_net"]
        tensors = {
            f"{i}.{kind}": state[f"{name}.{kind}"].numpy().T.copy()
            for i, name in enumerate(names)
            for kind in ("weight", "bias")
        }
        return Network.from_tensors(tensors)

    def collect_rollouts(
        self,
        env: Any,
        callback: BaseCallback | None,
        rollout_buffer: Any,
        n_rollout_steps: int = 1,
        use_masking: bool = True,
    ) -> bool:
        """The buffer is full of decisions, each with its own reward; True."""
        network = self.network()
        self.policy.set_training_mode(False)
        num_surplus = sum(map(len, self.surplus))
        while num_surplus < self.n_envs:
            for field in self.fields:
                decisions = field.step(network, self.rng)
                num_surplus += len(decisions)
                self.surplus.append(decisions)
        decisions, rest = Decisions.join(self.surplus).split(self.n_envs)
        self.surplus = [rest]
        with torch.no_grad():
            values = self.policy.predict_values(torch.from_numpy(decisions.observation))
        ones = np.ones(self.n_envs, np.bool_)
        rollout_buffer.reset()
        rollout_buffer.add(
            decisions.observation,
            decisions.action.reshape(-1, 1),
            decisions.reward,
            ones,
            values,
            torch.from_numpy(decisions.log_prob),
            action_masks=decisions.action_mask,
        )
        rollout_buffer.compute_returns_and_advantage(last_values=torch.zeros(self.n_envs), dones=ones)
        self.num_timesteps += self.n_envs
        lost = "lives_lost" if self.fields[0].potential is None else "chance_lost"
        self.logger.record(f"collect/{lost}", -float(decisions.reward.mean()))
        self.logger.record("collect/exchanges", float(decisions.action.mean()))
        return True

    def iterate(self, total_decisions: int) -> None:
        """One round of collecting decisions and learning from them; `total_decisions` ends the schedules."""
        began = perf_counter()
        self.collect_rollouts(None, None, self.rollout_buffer)
        collected = perf_counter()
        self._update_current_progress_remaining(min(self.num_timesteps, total_decisions), total_decisions)
        self.train()
        self.seconds["collect"] += collected - began
        self.seconds["update"] += perf_counter() - collected


def _linear(start: float, end: float) -> Callable[[float], float]:
    """A schedule for what is left of the run, from `start` (all of it) to `end` (nothing)."""
    return lambda left: end + (start - end) * left
