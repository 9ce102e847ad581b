"""What an agent is: something that chooses actions for many seats at once.

Agents are batched: row b of `observation` and `action_mask` is one seat's view of one table. An agent keeps
no memory between calls; all that its seat may know is in the observation (see `gnav_env.observation`).

Below the protocol stands what several agents need; an agent's file imports no other agent's. First come helpers that
read all rows at once, then kernels that read one `view`, a row [F], for agents that go round the table slot by slot.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gnav_env._jit import kernel
from gnav_env.compiled import MAX_RANKS
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, num_seats_of, piece
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND

__all__ = [
    "SLOT",
    "Actions",
    "Agent",
    "Masks",
    "Observations",
    "Policy",
    "ask",
    "certain",
    "checked_actions",
    "dealer_slot",
    "is_playing",
    "known_rank",
    "known_ranks",
    "legal",
    "mixed",
    "own_rank",
    "own_ranks",
    "place",
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
    """Probabilities [B, A] without luck: 1 for `preferred` [B], or for the other where that is illegal.

    Raises `GnavError` if `preferred` are not actions, one a row.
    """
    preferred = np.asarray(preferred, np.int64)
    probabilities = np.zeros((len(action_mask), NUM_ACTIONS))
    if preferred.shape != (len(action_mask),) or not _decide_all(preferred, action_mask, probabilities):
        raise GnavError(f"preferred must be {len(action_mask)} actions, one a row: {STAND} STAND, {EXCHANGE} EXCHANGE")
    return probabilities


@kernel
def _decide_all(preferred: Any, action_mask: Any, probabilities: Any) -> bool:
    """Write 1 for the action that is taken into `probabilities` [B, A], zeros so far; False at what is no action."""
    for b in range(preferred.size):
        action = preferred[b]
        if action != STAND and action != EXCHANGE:
            return False
        if not action_mask[b, action]:
            action = 1 - action
        probabilities[b, action] = 1
    return True


def mixed(stand: NDArray[np.float64], action_mask: Masks) -> NDArray[np.float64]:
    """Probabilities [B, A] of who stands with the chances `stand` [B], as far as that is legal."""
    probabilities = np.empty((len(action_mask), NUM_ACTIONS))
    _mix_all(stand, action_mask, probabilities)
    return probabilities


@kernel
def _mix_all(stand: Any, mask: Any, probabilities: Any) -> None:
    """Write `probabilities` [B, A] from the chances of STAND [B], as far as they are legal."""
    for b in range(stand.size):
        chance = stand[b]
        if not mask[b, EXCHANGE]:
            chance = 1.0
        elif not mask[b, STAND]:
            chance = 0.0
        probabilities[b, STAND] = chance
        probabilities[b, EXCHANGE] = 1 - chance


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


def own_ranks(observation: Observations) -> NDArray[np.int64]:
    """The number of the rank of the seat's own card, 0 the lowest, [B]; 0 for a seat without a card."""
    num_seats_of(observation.shape[1])
    ranks = np.empty(len(observation), np.int64)
    _own_ranks_all(observation, ranks)
    return ranks


def settled_and_behind(observation: Observations) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Slots with a live card, two masks [B, S]: those that come before mine in this deal, those behind."""
    has_card = piece(observation, "playing")[..., 0] > 0
    to_dealer = piece(observation, "dealer")[..., 0].argmax(axis=1)[:, None]
    slots = np.arange(has_card.shape[1])
    return has_card & (slots > to_dealer), has_card & (slots > 0) & (slots <= to_dealer)


def known_ranks(observation: Observations, num_ranks: int) -> NDArray[np.int64]:
    """The number of each slot's rank where the seat knows it (its own in slot 0), otherwise -1, [B, S]."""
    known = piece(observation, "known")
    rank = np.rint(known[..., 1] * (num_ranks - 1)).astype(np.int64)
    return np.where(known[..., 0] > 0, rank, -1)


def place(name: str) -> int:
    """Where the piece called `name` begins in a row of the observation; if it is one of each slot, for slot 0."""
    return int(piece(np.arange(num_features(2)), name).flat[0])


SLOT = num_features(3) - num_features(2)
"""From the place of a piece in one slot's block to its place in the next one's."""

_OWN_CARD, _PLAYING, _DEALER, _KNOWN = map(place, ("own_card", "playing", "dealer", "known"))


@kernel
def _own_ranks_all(observation: Any, ranks: Any) -> None:
    for b in range(ranks.size):
        ranks[b] = own_rank(observation[b])


@kernel
def own_rank(view: Any) -> int:
    """The number of the rank of the seat's own card, 0 the lowest; 0 for a seat without a card."""
    for rank in range(MAX_RANKS):
        if view[_OWN_CARD + rank] > 0:
            return rank
    return 0


@kernel
def dealer_slot(view: Any, num_seats: int) -> int:
    """The slot that deals: it and those between come behind the seat in this deal, those further on before it."""
    for slot in range(num_seats):
        if view[_DEALER + SLOT * slot] > 0:
            return slot
    return 0


@kernel
def is_playing(view: Any, slot: int) -> bool:
    """The slot has a live card in this deal."""
    return view[_PLAYING + SLOT * slot] > 0


@kernel
def known_rank(view: Any, slot: int, num_ranks: int) -> int:
    """The number of the slot's rank if the seat knows it (its own in slot 0), otherwise -1."""
    if view[_KNOWN + SLOT * slot] > 0:
        return np.int64(np.rint(view[_KNOWN + 1 + SLOT * slot] * (num_ranks - 1)))
    return -1
