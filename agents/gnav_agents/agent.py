"""What an agent is: something that chooses actions for many seats at once.

Agents are batched: row b of `observation` and `action_mask` is one seat's view of one table. An agent keeps no memory
between calls; all that its seat may know is in the observation (see `gnav_env.observation`).
"""

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Agent", "Policy", "Observations", "Masks", "Actions"]

Observations = NDArray[np.float32]
"""float32 [B, F], see `gnav_env.observation.PIECES`."""
Masks = NDArray[np.int8]
"""int8 [B, A], 1 where an action is legal; A = 2, STAND and EXCHANGE."""
Actions = NDArray[np.int64]
"""int64 [B], 0 STAND, 1 EXCHANGE."""


@runtime_checkable
class Agent(Protocol):
    """All that the arena and the environments ask of an agent. Other people's agents need no more than this."""

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Any:
        """An action [B] for each row; legal ones, as `action_mask` says. Luck comes from `rng` only."""
        ...


class Policy(ABC):
    """An agent that can say its probabilities; it acts by drawing from them."""

    @abstractmethod
    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: the chance of each action, 0 where it is illegal; rows sum to 1."""

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
        """An action [B] for each row, drawn with one number of `rng` a row."""
        stand = self.probabilities(observation, action_mask)[:, 0]
        return (rng.random(len(stand)) >= stand).astype(np.int64)


def legal(preferred: NDArray[Any], action_mask: Masks) -> Actions:
    """`preferred` actions [B], with the other action where the preferred one is illegal."""
    preferred = np.asarray(preferred, np.int64)
    is_legal = action_mask[np.arange(len(preferred)), preferred] != 0
    return np.where(is_legal, preferred, 1 - preferred)
