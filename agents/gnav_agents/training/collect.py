"""Experience: tables at which some seats learn, and what each of their decisions led to.

A seat decides at most once a deal, so a decision is an episode of one step: its reward is what the seat received
minus what it paid from then on to the end of the deal, or, for the objective `match`, what its chance to win the match
has grown by in the deal (potential.py). Decisions wait, each by itself, until their deal has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gnav_agents.learned import Network, fit
from gnav_agents.training.league import LEARNER, League
from gnav_agents.training.potential import Potential, at_end
from gnav_env.rules import Rules
from gnav_env.state import NUM_ACTIONS
from gnav_env.vector import Tables

__all__ = ["Decisions", "Field"]


@dataclass(frozen=True)
class Decisions:
    """N finished decisions."""

    observation: NDArray[np.float32]
    """[N, width]"""
    action_mask: NDArray[np.int8]
    """[N, A]"""
    action: NDArray[np.int8]
    """[N]"""
    log_prob: NDArray[np.float32]
    """[N], of the action, under the policy that chose it"""
    reward: NDArray[np.float32]
    """[N], lives received - paid by that seat from the decision to the end of the deal; or chance gained in the deal"""

    def __len__(self) -> int:
        return len(self.action)

    def split(self, at: int) -> tuple[Self, Self]:
        """The first `at` decisions, and the others."""
        arrays = [getattr(self, item.name) for item in fields(self)]
        return type(self)(*(a[:at] for a in arrays)), type(self)(*(a[at:] for a in arrays))

    @classmethod
    def none(cls, width: int) -> Self:
        """No decisions, for observations of `width` features."""
        return cls(
            np.zeros((0, width), np.float32),
            np.zeros((0, NUM_ACTIONS), np.int8),
            np.zeros(0, np.int8),
            np.zeros(0, np.float32),
            np.zeros(0, np.float32),
        )

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """All decisions of `parts`, in order."""
        return cls(*(np.concatenate([getattr(p, item.name) for p in parts]) for item in fields(cls)))


class Field:
    """B tables of one size, who sits there, and the decisions that wait for their deal's end, by seat."""

    def __init__(
        self,
        rules: Rules,
        num_seats: int,
        num_tables: int,
        *,
        width: int,
        seed: int,
        league: League,
        potential: Potential | None = None,
    ) -> None:
        self.league = league
        self.potential = potential
        """None: lives are what counts."""
        self.width = width
        self.tables = Tables(rules, num_seats, num_tables, seed=seed)
        self.kinds = league.table_kinds(num_tables)
        self.seating = np.full((num_tables, num_seats), LEARNER, np.int16)
        shape = (num_tables, num_seats)
        self.balance = np.zeros(shape, np.int16)
        """Lives received - paid in the deal so far; what came before a decision is not due to it."""
        self.waits = np.zeros(shape, np.bool_)
        self.observation = np.zeros((*shape, width), np.float32)
        self.action_mask = np.zeros((*shape, NUM_ACTIONS), np.int8)
        self.action = np.zeros(shape, np.int8)
        self.log_prob = np.zeros(shape, np.float32)
        self.balance_before = np.zeros(shape, np.int16)
        self.chance = np.zeros(shape) if potential is None else potential.of(self.tables.records)
        """Each seat's chance to win the match when the deal began; zeros if lives are what counts."""

    def seat_all(self, rng: np.random.Generator) -> None:
        """New seatings at all tables, for matches that begin."""
        self.seating = self.league.seat(self.kinds, self.tables.num_seats, rng)

    def step(self, network: Network, rng: np.random.Generator) -> Decisions:
        """One decision at every table; those that are finished by it come back."""
        tables = self.tables
        rows = np.arange(tables.num_tables)
        seats = tables.seat.astype(np.int64)
        acting = self.seating[rows, seats]
        actions = np.empty(tables.num_tables, np.int64)

        at = np.flatnonzero(acting == LEARNER)
        seen = fit(tables.observation[at], self.width)
        mask = tables.action_mask[at]
        chances = network.probabilities(seen, mask)
        chosen = (rng.random(len(at)) >= chances[:, 0]).astype(np.int64)
        actions[at] = chosen
        self.waits[at, seats[at]] = True
        self.observation[at, seats[at]] = seen
        self.action_mask[at, seats[at]] = mask
        self.action[at, seats[at]] = chosen
        self.log_prob[at, seats[at]] = np.log(chances[np.arange(len(at)), chosen])
        self.balance_before[at, seats[at]] = self.balance[at, seats[at]]

        for member in np.unique(acting[acting != LEARNER]):
            at = np.flatnonzero(acting == member)
            agent = self.league.agent(int(member), tables.num_seats)
            actions[at] = agent.act(tables.observation[at], tables.action_mask[at], rng)

        tables.step(actions)
        self.balance = np.where(tables.ended_deal[:, None], 0, tables.balance).astype(np.int16)
        return self._finish(rng)

    def _finish(self, rng: np.random.Generator) -> Decisions:
        """The decisions of deals that have ended; new opponents where a match has."""
        tables = self.tables
        reward = self._rewards()
        is_paid = tables.ended_deal if self.potential is None else tables.ended_deal & ~tables.reached_limit
        at = np.nonzero(self.waits & is_paid[:, None])
        self.waits[tables.ended_deal] = False
        finished = Decisions(
            self.observation[at],
            self.action_mask[at],
            self.action[at],
            self.log_prob[at],
            reward[at].astype(np.float32),
        )
        over = np.flatnonzero(tables.ended_match | tables.reached_limit)
        if len(over):
            counts = np.flatnonzero(tables.ended_match)
            self.league.record(self.seating[counts], tables.place[counts])
            self.seating[over] = self.league.seat(self.kinds[over], tables.num_seats, rng)
        return finished

    def _rewards(self) -> NDArray[Any]:
        """[B, S]: what the deals that have ended have brought; the chances are then those of the next ones.

        A match that was cut off has no end, so with chances nobody is paid for its last deal.
        """
        tables = self.tables
        if self.potential is None:
            return tables.balance - self.balance_before
        rows = np.flatnonzero(tables.ended_deal)
        next_chance = self.chance.copy()
        next_chance[rows] = self.potential.of(tables.records[rows])
        after = np.where(tables.ended_match[:, None], at_end(tables.place), next_chance)
        gained = after - self.chance
        self.chance = next_chance
        return gained

    def state(self) -> dict[str, NDArray[Any]]:
        """All that a run which is picked up again needs, by name; `restore` takes it back."""
        tables = self.tables
        return {
            "records": tables.records.view(np.uint8).reshape(tables.num_tables, -1).copy(),
            **{f"tables_{name}": getattr(tables, name).copy() for name in _TABLES_STATE},
            **{name: getattr(self, name).copy() for name in _FIELD_STATE},
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """The field is as it was when `state` was taken."""
        records = self.tables.records
        records[:] = state["records"].reshape(-1).view(records.dtype)
        for name in _TABLES_STATE:
            setattr(self.tables, name, state[f"tables_{name}"])
        for name in _FIELD_STATE:
            setattr(self, name, state[name])


_TABLES_STATE = ("observation", "action_mask", "seat")
_FIELD_STATE = (
    "seating",
    "balance",
    "waits",
    "observation",
    "action_mask",
    "action",
    "log_prob",
    "balance_before",
    "chance",
)
