"""`uniform`: any legal action, each as likely as the others. Nothing that thinks may lose to it."""

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy

__all__ = ["Uniform"]


class Uniform(Policy):
    """Chooses among the legal actions, each with probability 1 / their number."""

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: the same for each legal action."""
        is_legal = (action_mask != 0).astype(np.float64)
        return is_legal / (is_legal[:, :1] + is_legal[:, 1:])
