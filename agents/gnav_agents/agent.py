"""What an agent is: something that chooses actions for many seats at once.

Agents are batched: row b of `observation` and `action_mask` is one seat's view of one table. An agent keeps
no memory between calls; all that its seat may know is in the observation (see `gnav_env.observation`).

Below the protocol stands what several agents need; an agent's file imports no other agent's.
"""

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gnav_env.errors import GnavError
from gnav_env.observation import piece
from gnav_env.state import EXCHANGE, STAND

__all__ = [
    "Actions",
    "Agent",
    "Masks",
    "Observations",
    "Policy",
    "ask",
    "certain",
    "checked_actions",
    "known_ranks",
    "legal",
    "settled_and_behind",
]

Observations = NDArray[np.float32]
"""float32 [B, F], see `gnav_env.observation.PIECES`."""
Masks = NDArray[np.int8]
"""int8 [B, A], 1 where an action is legal; A = 2, STAND and EXCHANGE."""
Actions = NDArray[np.int64]
"""int64 [B], 0 STAND, 1 EXCHANGE."""


@runtime_checkable
class Agent(Protocol):
    """What the arena and the environments ask of an agent; other people's need no more than this."""

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


def certain(preferred: NDArray[Any], action_mask: Masks) -> NDArray[np.float64]:
    """Probabilities [B, A] without luck: 1 for `preferred` [B], or for the other where that is illegal."""
    actions = legal(preferred, action_mask)
    return np.stack([actions == STAND, actions == EXCHANGE], axis=1).astype(np.float64)


def checked_actions(agent_name: str, actions: Any, action_mask: Masks) -> Actions:
    """`actions` as int64 [B], what the agent called `agent_name` answered to masks [B, A].

    Raises `GnavError` naming the agent if they are not whole numbers, one a row, or if one of them is
    illegal.
    """
    chosen = np.asarray(actions)
    num_rows = len(action_mask)
    if chosen.shape != (num_rows,):
        raise GnavError(
            f"agent {agent_name}: act must return an action for each row, shape [{num_rows}], not {list(chosen.shape)}"
        )
    if chosen.dtype.kind not in "biu":
        raise GnavError(f"agent {agent_name}: actions must be whole numbers, not {chosen.dtype}")
    chosen = chosen.astype(np.int64)
    is_known = (chosen == STAND) | (chosen == EXCHANGE)
    if not is_known.all():
        wrong = chosen[~is_known][0]
        raise GnavError(f"agent {agent_name}: an action is {STAND} (STAND) or {EXCHANGE} (EXCHANGE), not {wrong}")
    is_legal = action_mask[np.arange(num_rows), chosen] != 0
    if not is_legal.all():
        row = int(np.flatnonzero(~is_legal)[0])
        word = ("STAND", "EXCHANGE")[chosen[row]]
        raise GnavError(f"agent {agent_name}: {word} is illegal in row {row}; it must keep to action_mask")
    return chosen


def ask(name: str, agent: Agent, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
    """The actions [B] of the agent called `name`; `GnavError` naming it if it fails or answers with what is none.

    The agent is given a copy of the mask, so that it cannot make an action legal.
    """
    try:
        answer = agent.act(observation, action_mask.copy(), rng)
    except Exception as error:
        raise GnavError(f"agent {name} failed: {type(error).__name__}: {error}") from error
    return checked_actions(name, answer, action_mask)


def settled_and_behind(observation: Observations) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Slots with a live card, two masks [B, S]: those that come before mine in this deal, those behind."""
    is_playing = piece(observation, "playing")[..., 0] > 0
    to_dealer = piece(observation, "dealer")[..., 0].argmax(axis=1)[:, None]
    slots = np.arange(is_playing.shape[1])
    return is_playing & (slots > to_dealer), is_playing & (slots > 0) & (slots <= to_dealer)


def known_ranks(observation: Observations, num_ranks: int) -> NDArray[np.int64]:
    """The number of each slot's rank where the seat knows it (its own in slot 0), otherwise -1, [B, S]."""
    known = piece(observation, "known")
    rank = np.rint(known[..., 1] * (num_ranks - 1)).astype(np.int64)
    return np.where(known[..., 0] > 0, rank, -1)
