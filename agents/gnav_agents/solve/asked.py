"""An agent's policy in all information states of a deal, by asking it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations
from gnav_agents.solve.information import InformationStates
from gnav_agents.solve.tree import Node, Tree
from gnav_env.errors import GnavError
from gnav_env.state import NUM_ACTIONS, STAND

__all__ = ["policy_of"]

_BATCH = 1 << 14
_TOLERANCE = 1e-6
"""By how much the probabilities of a row may miss 1."""


def policy_of(
    name: str,
    agent: Any,
    tree: Tree,
    states: InformationStates,
    legal: NDArray[np.int8],
    *,
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.float64]:
    """The chance of STAND in each information state, [num_states], of the agent called `name`.

    It is asked in all of them: a seat that leaves the policy alone leads the others where they never get by themselves.
    In states with more cards of a rank than there are it stands if that is legal. `legal` is that of the sweep.
    """
    stand = (legal & 1 > 0).astype(np.float64)
    wanted = np.flatnonzero(np.concatenate([_possible(tree, node) for node in tree.nodes if node.actor >= 0]))
    for first in range(0, len(wanted), _BATCH):
        batch = wanted[first : first + _BATCH]
        stand[batch] = _asked(name, agent, *states.observations(batch))
        if progress is not None:
            progress(first / len(wanted))
    return stand


def _possible(tree: Tree, node: Node) -> NDArray[np.bool_]:
    """The node's states [num_states] whose cards the deck has."""
    record: Any = tree.compiled[0]
    left = record.copies.astype(np.int64)
    for rank in node.public.values():
        left[rank] -= 1
    domains = [np.array(node.domains[place]) for place in node.seen]
    ranks = [axis.ravel() for axis in np.meshgrid(*domains, indexing="ij")]
    is_possible = np.ones(node.num_states, np.bool_)
    for one in ranks:
        is_possible &= np.sum([other == one for other in ranks], axis=0) <= left[one]
    return is_possible


def _asked(name: str, agent: Any, observation: Observations, mask: Masks) -> NDArray[np.float64]:
    """The chance of STAND [B] of the agent called `name`; `GnavError` naming it if it does not say."""
    try:
        chances = np.asarray(agent.probabilities(observation, mask.copy()), np.float64)
    except Exception as error:
        raise GnavError(f"agent {name} failed: {type(error).__name__}: {error}") from error
    is_right = chances.shape == (len(mask), NUM_ACTIONS) and bool(
        (np.abs(chances.sum(axis=1) - 1) <= _TOLERANCE).all() and (chances >= 0).all() and not chances[mask == 0].any()
    )
    if not is_right:
        raise GnavError(
            f"agent {name}: probabilities should be {[len(mask), NUM_ACTIONS]} numbers, 0 or more, 0 where an action "
            "is illegal, and a row should sum to 1"
        )
    return chances[:, STAND]
