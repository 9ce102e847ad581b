"""A field: who meets whom at tables of one size. It names the agent at each seat of each match of each block.

schedule.py makes the line-ups, plan.py says which fields a tournament has, play.py plays them, sums.py counts.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.schedule import (
    blocks_per_unit,
    invasion_line_ups,
    make_line_ups,
    make_seatings,
    reference_line_ups,
    rotation_shifts,
    self_line_ups,
)
from gnav_env.errors import GnavError

__all__ = ["INVASION", "MIXED", "REFERENCE", "SELF", "SUBSTITUTION", "Field", "check_kind"]

MIXED, INVASION, SELF, REFERENCE, SUBSTITUTION = "mixed", "invasion", "self", "reference:", "substitution"
"""Kinds of fields, see `summary.DEFINITIONS`; behind `reference:` comes the name of an agent.

`substitution` is for `gnav compare`: the first agent and then the second takes the same seat among the same others.
"""


def check_kind(kind: str, agents: tuple[str, ...]) -> None:
    """`kind` is a field that a tournament of `agents` can have, or `GnavError` says what would be."""
    if kind.startswith(REFERENCE):
        if kind.removeprefix(REFERENCE) in agents:
            return
        raise GnavError(f"field {kind!r}: the reference must be one of the agents, {', '.join(agents)}")
    if kind not in (MIXED, INVASION, SELF):
        raise GnavError(f"unknown field {kind!r}; the fields are mixed, invasion, self and reference:AGENT")
    if kind == INVASION and len(agents) < 2:
        raise GnavError("field invasion needs two agents or more")


@dataclass(frozen=True, kw_only=True)
class Field:
    """One kind of field at one number of seats."""

    kind: str
    num_seats: int
    num_blocks: int
    agents: tuple[str, ...]
    seed: int
    among: tuple[str, ...] = ()
    """Who has the other seats at a substitution."""

    @cached_property
    def line_ups(self) -> NDArray[np.int64]:
        """The agents of each line-up of each block, [N, L, S]; [1, L, S] if all blocks have the same."""
        num_agents, num_seats = len(self.agents), self.num_seats
        if self.kind == MIXED:
            return make_line_ups(num_agents, num_seats, self.num_blocks, self.seed)[:, np.newaxis]
        if self.kind == SUBSTITUTION:
            return self._substitutions()
        if self.kind == INVASION:
            return invasion_line_ups(num_agents, num_seats)[np.newaxis]
        if self.kind == SELF:
            return self_line_ups(num_agents, num_seats)[np.newaxis]
        reference = self.agents.index(self.kind.removeprefix(REFERENCE))
        return reference_line_ups(num_agents, reference, num_seats)[np.newaxis]

    def _substitutions(self) -> NDArray[np.int64]:
        """Balanced line-ups of the others, in each of which the first place goes to agent 0 and then to agent 1."""
        others = np.array([self.agents.index(name) for name in self.among])
        line_ups = others[make_line_ups(len(others), self.num_seats, self.num_blocks, self.seed)]
        both = np.stack([line_ups, line_ups], axis=1)
        both[:, :, 0] = (0, 1)
        return both

    @property
    def num_line_ups(self) -> int:
        """L, line-ups in a block."""
        return self.line_ups.shape[1]

    @property
    def num_rotations(self) -> int:
        """R, matches that each line-up of a block plays; copies of one agent need no turning."""
        return 1 if self.kind == SELF else len(rotation_shifts(self.num_seats))

    @property
    def num_matches(self) -> int:
        """Matches in all blocks."""
        return self.num_blocks * self.num_line_ups * self.num_rotations

    @property
    def blocks_per_unit(self) -> int:
        """Blocks in a unit of work; the last unit has what is left. Comparisons are looked at often: small units."""
        looks = 8 if self.kind == SUBSTITUTION else 1
        return blocks_per_unit(self.num_line_ups * self.num_rotations * looks)

    def seatings(self, first_block: int, num_blocks: int) -> NDArray[np.int64]:
        """The agent at each seat of each match, [num_blocks, L, R, S], of the blocks from `first_block` on."""
        blocks = np.arange(first_block, first_block + num_blocks)
        line_ups = self.line_ups[blocks % len(self.line_ups)]
        return make_seatings(line_ups)[..., : self.num_rotations, :]

    def counts(self) -> NDArray[np.bool_]:
        """The seats whose entries tell of their agent, [L, R, S]: all, or the candidate's among references."""
        num_seats = self.num_seats
        if self.kind in (MIXED, SELF):
            return np.ones((self.num_line_ups, self.num_rotations, num_seats), np.bool_)
        places = np.broadcast_to(np.arange(num_seats), (self.num_line_ups, num_seats))
        return make_seatings(places) == 0
