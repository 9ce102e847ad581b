"""Who sits opposite: anchors that never change and snapshots of the learner, chosen by how hard they are to
outlive.

Prioritised fictitious self-play: a member of the league is drawn with weight (1 - p) ** focus, p being the
estimated probability that the learner outlives it in a match.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent
from gnav_agents.learned import LearnedAgent, Network
from gnav_agents.training.config import LeagueConfig
from gnav_env.rules import Rules

__all__ = ["LEARNER", "League"]

LEARNER = -1
"""The number of the learner among the members, in arrays of who sits where."""

_PRIOR = 20.0
"""The estimates start as if so many comparisons had come out even."""
_FADING = 0.95
"""What is left of an old comparison's weight after each update of the policy."""


class League:
    """Numbered members: first the anchors (made for each number of seats), then up to `keep` snapshots."""

    def __init__(self, config: LeagueConfig, rules: Rules, sizes: Sequence[int]) -> None:
        from gnav_agents.registry import make_agent

        self.config = config
        self._anchors: dict[int, list[Agent]] = {
            size: [make_agent(name, rules, size) for name in config.agents] for size in sizes
        }
        self.snapshots: list[Network] = []
        self.ages: list[int] = []
        """Decisions after which each snapshot was taken."""
        num_members = len(config.agents) + config.keep
        self.compared = np.zeros(num_members)
        self.outlived = np.zeros(num_members)

    @property
    def names(self) -> list[str]:
        """What the members are called, by number."""
        return [*self.config.agents, *(f"snapshot:{age}" for age in self.ages)]

    def agent(self, member: int, num_seats: int) -> Agent:
        """Member number `member`, for tables with `num_seats` seats. Snapshots sample."""
        anchors = self._anchors[num_seats]
        if member < len(anchors):
            return anchors[member]
        return LearnedAgent(self.snapshots[member - len(anchors)], greedy=False)

    def add_snapshot(self, network: Network, age: int) -> None:
        """`network`, which nobody will change, is a member, in the oldest's place if all are taken."""
        if len(self.snapshots) < self.config.keep:
            at = len(self.snapshots)
            self.snapshots.append(network)
            self.ages.append(age)
        else:
            at = int(np.argmin(self.ages))
            self.snapshots[at] = network
            self.ages[at] = age
        member = len(self.config.agents) + at
        self.compared[member] = self.outlived[member] = 0

    def outlive(self) -> NDArray[np.float64]:
        """Estimated probability that the learner outlives each member, [M]."""
        names = len(self.names)
        return (self.outlived[:names] + _PRIOR / 2) / (self.compared[:names] + _PRIOR)

    def seat(self, kinds: NDArray[Any], num_seats: int, rng: np.random.Generator) -> NDArray[np.int16]:
        """Members for the seats of tables of the `kinds` [n] (see `table_kinds`), LEARNER or a number, [n,
        S].

        At a table with opponents there is at least one, and at least one learner.
        """
        n = len(kinds)
        seating = np.full((n, num_seats), LEARNER, np.int16)
        is_opponent = rng.random((n, num_seats)) < self.config.opponents
        two = rng.random((n, num_seats)).argsort(axis=1)[:, :2]
        is_opponent[np.arange(n), two[:, 0]] = True
        is_opponent[np.arange(n), two[:, 1]] = False
        weights = (1 - self.outlive()) ** self.config.focus
        num_anchors = len(self.config.agents)
        for kind, members in (
            (1, np.arange(num_anchors, len(weights))),
            (2, np.arange(num_anchors)),
        ):
            rows, seats = np.nonzero(is_opponent & (kinds == kind)[:, None])
            if len(rows):
                chances = weights[members] / weights[members].sum()
                seating[rows, seats] = rng.choice(members, size=len(rows), p=chances)
        return seating

    def table_kinds(self, num_tables: int) -> NDArray[np.int8]:
        """What each table is for, [B]: 0 mirror, 1 snapshots, 2 anchors."""
        parts = np.cumsum([self.config.mirror, self.config.snapshots, self.config.anchors])
        return np.searchsorted(parts / parts[-1], (np.arange(num_tables) + 0.5) / num_tables).astype(np.int8)

    def record(self, seating: NDArray[np.int16], place: NDArray[Any]) -> None:
        """Finished matches are counted: who sat where [n, S], and the places [n, S]; a tie is half."""
        is_learner = seating == LEARNER
        for member in np.unique(seating[seating != LEARNER]):
            pairs = is_learner[:, :, None] & (seating == member)[:, None, :]
            difference = place[:, :, None] - place[:, None, :].astype(np.int64)
            outlived = (difference < 0) + 0.5 * (difference == 0)
            self.compared[member] += pairs.sum()
            self.outlived[member] += (pairs * outlived).sum()

    def fade(self) -> None:
        """What has been counted so far weighs less from now on: the learner has changed."""
        self.compared *= _FADING
        self.outlived *= _FADING
