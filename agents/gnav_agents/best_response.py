"""`best_response:AGENT`: what does best against copies of an agent, the strictest opponent that it can meet.

Up to six seats in the deal, by rules that can be solved, the reply is exact (solve/exact_gain.py), beyond them it is
learned from samples (solve/gain.py). It is found when it is first wanted, for full lives, and kept: six seats take a
minute or more. Where the agent's like never comes, it plays as the agent does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, mixed
from gnav_agents.solve.exact_gain import exact_gain, why_not_exact
from gnav_agents.solve.gain import SampledReply, learn_reply
from gnav_agents.solve.information import NOT_FOUND, Index, InformationStates, find_all, num_in_deal
from gnav_env.errors import GnavError
from gnav_env.observation import num_seats_of
from gnav_env.rules import Rules
from gnav_env.state import STAND

__all__ = ["BestResponse"]


@dataclass(frozen=True, eq=False)
class _Exact:
    """A reply by information state."""

    index: Index
    stand: NDArray[np.float64]


class BestResponse(Policy):
    """The best response to a table of copies of `agent`, for as many seats as are in the deal.

    Raises `GnavError` if the agent, called `name`, does not say its probabilities.
    """

    def __init__(self, name: str, agent: object, rules: Rules) -> None:
        if not callable(getattr(agent, "probabilities", None)):
            raise GnavError(
                f"agent best_response:{name}: {name} does not say its probabilities, and its best response is made of "
                "them"
            )
        self._name, self._rules = name, rules
        self._agent: Policy = agent  # pyright: ignore[reportAttributeAccessIssue]  # as far as we ask
        self._replies: dict[int, _Exact | SampledReply] = {}
        """By seats in the deal."""

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]."""
        stand = np.empty(len(observation))
        num_seats = num_in_deal(observation)
        for number in np.unique(num_seats).tolist():
            rows = np.flatnonzero(num_seats == number)
            stand[rows] = self._stand(max(2, number), observation[rows], action_mask[rows])
        return mixed(stand, action_mask)

    def prepare(self, num_seats: int) -> None:
        """The replies of a match that begins with `num_seats` are there: nobody has to wait for them in it."""
        for number in range(2, num_seats + 1):
            self._reply(number)

    def _reply(self, num_in_deal: int) -> _Exact | SampledReply:
        if num_in_deal not in self._replies:
            self._replies[num_in_deal] = self._solved(num_in_deal)
        return self._replies[num_in_deal]

    def _stand(self, num_in_deal: int, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """The chance of STAND, [B]."""
        reply = self._reply(num_in_deal)
        if isinstance(reply, SampledReply):
            return reply.probabilities(observation, action_mask)[:, STAND]
        states = np.empty(len(observation), np.int64)
        find_all(reply.index, observation, num_seats_of(observation.shape[1]), states)
        stand = reply.stand[states]
        lost = states == NOT_FOUND  # a seat has fallen in mid-deal: with full lives none does
        if lost.any():
            stand[lost] = self._agent.probabilities(observation[lost], action_mask[lost])[:, STAND]
        return stand

    def _solved(self, num_in_deal: int) -> _Exact | SampledReply:
        if why_not_exact(self._agent, self._rules, num_in_deal):
            return learn_reply(self._name, self._agent, self._rules, num_in_deal)
        found = exact_gain(self._name, self._agent, self._rules, num_in_deal)
        return _Exact(InformationStates(found.tree).index(), found.reply)
