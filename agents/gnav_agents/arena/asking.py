"""One agent asked for a batch of decisions: a legal action for each, or why the agent forfeits it.

play.py asks here and plays on, whatever an agent does. An agent that belongs to somebody else is asked through
`gnav_agents.hosted.Hosted`, which outlives what the agent may do to its process.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Actions, Agent, Masks, Observations
from gnav_agents.hosted import SPLIT, Hosted, HostedError, described
from gnav_env._jit import kernel
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND

__all__ = ["Answer", "Entrant", "Failure", "Kind"]

Kind = Literal["raised", "illegal", "timed out", "died"]
"""How an agent can fail."""

_MOST_LOST = 3
"""Decisions that timed out or died, after which an agent is withdrawn."""
_TOLERANCE = 1e-6
_NONE = -1
"""What stands in an array of actions where there is none."""
_WORDS = ("STAND", "EXCHANGE")


class Failure(NamedTuple):
    """A decision that an agent forfeits."""

    row: int
    kind: Kind
    detail: str


class Answer(NamedTuple):
    """What an agent chose."""

    actions: Actions
    """Legal actions [n]; where the agent failed a stand-in, STAND if that is legal."""
    failures: list[Failure]
    """In the order of rows, none twice."""


class Entrant:
    """An agent that is asked, and may fail without harm to others.

    Args:
        name: what the agent is called.
        agent: the agent; if it has `probabilities`, `luck` decides, otherwise its `act` does.
        copies: the agent gets observations of its own. Without it, what it writes into them is seen by all: for
            agents of ours, which do not, at large batches a copy costs more than anything else here.
    """

    def __init__(self, name: str, agent: Agent, *, copies: bool = True) -> None:
        self.name = name
        self.agent = agent
        self._hosted = agent if isinstance(agent, Hosted) else None
        self._copies = copies and self._hosted is None
        self._probabilities: Any = getattr(agent, "probabilities", None)
        self.new_unit()

    def new_unit(self) -> None:
        """What the agent did in another unit of work is forgotten, and it is no longer withdrawn."""
        self._num_lost = 0
        self._withdrawn: tuple[Kind, str] | None = None

    def choose(
        self,
        observation: Observations,
        action_mask: Masks,
        luck: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> Answer:
        """The agent's actions for observations [n, F] and masks [n, 2].

        `luck` [n], 0 or more and below 1, decides where the agent has probabilities; `rng` is for one that draws
        for itself. A batch that fails as a whole is asked again in parts, so that only those rows are forfeited that
        fail by themselves.
        """
        actions = np.empty(len(action_mask), np.int64)
        failures: list[Failure] = []
        waiting = [(0, len(actions))] if len(actions) else []  # first and end of batches, the next one last
        while waiting:
            first, end = waiting.pop()
            if self._withdrawn is not None:
                failures += [Failure(row, *self._withdrawn) for row in range(first, end)]
                continue
            most_rows = self._hosted.most_rows if self._hosted is not None else end - first
            if end - first > most_rows:
                waiting += _parts(first, end, most_rows)
                continue
            rows = slice(first, end)
            try:
                illegal = self._ask(observation[rows], action_mask[rows], luck[rows], rng, actions[rows])
            except (Exception, SystemExit) as error:
                if isinstance(error, HostedError) and error.is_lost:
                    self._withdrawn = error.kind, f"withdrawn: {error.detail}"
                    waiting.append((first, end))
                elif end - first > 1:
                    waiting += _parts(first, end, max(1, (end - first) // SPLIT))
                else:
                    failures.append(self._failure(first, error))
            else:
                failures += [Failure(first + row, "illegal", detail) for row, detail in illegal]
        for row, _, _ in failures:
            actions[row] = STAND if action_mask[row, STAND] else EXCHANGE
        return Answer(actions, failures)

    def _ask(
        self,
        observation: Observations,
        action_mask: Masks,
        luck: NDArray[np.float64],
        rng: np.random.Generator,
        actions: Actions,
    ) -> list[tuple[int, str]]:
        """Write into `actions` [n] what the agent's answer means; the rows in which it is illegal, and why.

        Raises whatever the agent raises, and `ValueError` or `TypeError` if the answer's form is wrong.
        """
        seen = observation.copy() if self._copies else observation
        mask = action_mask.copy()
        if self._probabilities is not None:
            answer = _checked(self._probabilities(seen, mask), (len(luck), NUM_ACTIONS), "iuf", "probabilities")
            num_illegal = _draw_all(answer.astype(np.float64, order="C", copy=False), action_mask, luck, actions)
        else:
            answer = _checked(self.agent.act(seen, mask, rng), (len(luck),), "biu", "actions")
            num_illegal = _choose_all(answer.astype(np.int64, order="C", copy=False), action_mask, actions)
        if not num_illegal:
            return []
        return [
            (row, _what_is_illegal(answer[row], action_mask[row])) for row in np.flatnonzero(actions == _NONE).tolist()
        ]

    def _failure(self, row: int, error: BaseException) -> Failure:
        """The failure of one row that was asked by itself; the agent may be withdrawn for it."""
        if not isinstance(error, HostedError):
            return Failure(row, "raised", described(error))
        if error.kind != "raised":
            self._num_lost += 1
            if self._num_lost == _MOST_LOST:
                self._withdrawn = error.kind, f"withdrawn: {error.detail}"
        return Failure(row, error.kind, error.detail)


def _parts(first: int, end: int, size: int) -> list[tuple[int, int]]:
    """The rows from `first` to `end` in parts of `size`, the last part first."""
    return [(start, min(start + size, end)) for start in range(first, end, size)][::-1]


def _checked(answer: Any, shape: tuple[int, ...], kinds: str, what: str) -> NDArray[Any]:
    """The answer as an array; `ValueError` or `TypeError` unless it has `shape` and a dtype of one of `kinds`."""
    array = np.asarray(answer)
    if array.shape != shape:
        raise ValueError(f"{what} should have the shape {list(shape)}, not {list(array.shape)}")
    if array.dtype.kind not in kinds:
        raise TypeError(f"{what} should be {'numbers' if 'f' in kinds else 'whole numbers'}, not {array.dtype}")
    return array


@kernel
def _draw_all(probabilities: Any, action_mask: Any, luck: Any, actions: Any) -> int:
    """Write into `actions` [n] what `luck` [n] draws, or -1 where `probabilities` [n, A] are none; how many are."""
    num_illegal = 0
    for b in range(luck.size):
        stand, exchange = probabilities[b, STAND], probabilities[b, EXCHANGE]
        is_legal = (stand == 0 or action_mask[b, STAND] != 0) and (exchange == 0 or action_mask[b, EXCHANGE] != 0)
        # not a number is neither at least nor at most anything
        if is_legal and stand >= 0 and exchange >= 0 and abs(stand + exchange - 1) <= _TOLERANCE:
            actions[b] = EXCHANGE if exchange > 0 and luck[b] >= stand else STAND
        else:
            actions[b] = _NONE
            num_illegal += 1
    return num_illegal


@kernel
def _choose_all(chosen: Any, action_mask: Any, actions: Any) -> int:
    """Write into `actions` [n] what is `chosen` [n], or -1 where that is illegal; how often it is."""
    num_illegal = 0
    for b in range(chosen.size):
        action = chosen[b]
        if action in (STAND, EXCHANGE) and action_mask[b, action] != 0:
            actions[b] = action
        else:
            actions[b] = _NONE
            num_illegal += 1
    return num_illegal


def _what_is_illegal(answer: NDArray[Any], mask: NDArray[np.int8]) -> str:
    """What is wrong with the answer to one row: an action, or probabilities [2]."""
    if answer.ndim == 0:
        action = int(answer)
        if action in (STAND, EXCHANGE):
            return f"{_WORDS[action]} is illegal here"
        return f"an action is {STAND} (STAND) or {EXCHANGE} (EXCHANGE), not {action}"
    shown = f"[{answer[STAND]:g}, {answer[EXCHANGE]:g}]"
    if ((answer > 0) & (mask == 0)).any():
        return f"probabilities {shown} give {_WORDS[int(np.flatnonzero(mask == 0)[0])]} a chance, which is illegal here"
    return f"probabilities are not negative and sum to 1, not {shown}"
