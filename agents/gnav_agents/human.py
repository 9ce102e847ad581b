"""`Human`: a person as an agent. How to ask the person is a function handed to it; ui/terminal.py has one."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Actions, Masks, Observations

__all__ = ["Human"]


class Human:
    """An agent whose actions come from `ask`, which is given an observation [F] and an action mask [A]."""

    def __init__(self, ask: Callable[[NDArray[np.float32], NDArray[np.int8]], int]) -> None:
        self._ask = ask

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
        """The person's actions [B]."""
        answers = [self._ask(seen, mask) for seen, mask in zip(observation, action_mask, strict=True)]
        return np.array(answers, np.int64)
