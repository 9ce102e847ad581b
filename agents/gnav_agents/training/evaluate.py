"""Progress, measured: the learner plays the same cards against the same population every time.

Mean reward in self-play says nothing: players who all stand lose few lives and are easily beaten. So each
evaluation seats one learner among opponents that never change; a shoe is played with the learner in every
seat, and every evaluation plays the same shoes, so that two of them differ by the learner alone.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent
from gnav_agents.training.config import EvaluationConfig
from gnav_agents.training.league import LEARNER
from gnav_env.rules import Rules
from gnav_env.vector import Tables

__all__ = ["Evaluation", "Population"]


@dataclass(frozen=True)
class Evaluation:
    """How the learner did; every `_error` is a standard error over shoes."""

    wins: float
    """Share of the matches won (a shared place counts in part), times the number of seats: 1 is par."""
    wins_error: float
    outlive: float
    """Chance to outlive an opponent in a match (a tie is half), the average over the population."""
    outlive_error: float
    outlive_by_opponent: dict[str, float]
    lives_lost: float
    """Lives lost by the learner in a deal that it is in the match for."""
    rivals_lives_lost: float
    """The same for its opponents."""
    matches: int

    def is_worse_than(self, other: "Evaluation") -> bool:
        """True if the learner outlived fewer by more than a standard error: less may be luck."""
        return self.outlive < other.outlive - other.outlive_error

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def metrics(self) -> dict[str, float]:
        """The figures by the names of their curves."""
        return {
            "population/wins": self.wins,
            "population/outlive": self.outlive,
            "population/lives_lost": self.lives_lost,
            "population/rivals_lives_lost": self.rivals_lives_lost,
            **{f"outlive/{name}": share for name, share in self.outlive_by_opponent.items()},
        }


class Population:
    """Opponents in fixed seats with fixed shoes, for tables of each of `sizes`."""

    def __init__(self, config: EvaluationConfig, rules: Rules, sizes: Sequence[int]) -> None:
        from gnav_agents.registry import make_agent

        self.names = config.opponents
        self.seed = config.seed
        self._tables: list[Tables] = []
        self._seatings: list[NDArray[np.int64]] = []
        self._agents: list[list[Agent]] = []
        rng = np.random.default_rng(config.seed)
        for size in sizes:
            num_shoes = -(-config.matches // (size * len(sizes)))
            opponents = np.resize(np.arange(len(self.names)), num_shoes * (size - 1))
            base = np.full((num_shoes, size), LEARNER)
            base[:, 1:] = rng.permutation(opponents).reshape(num_shoes, size - 1)
            turned = [np.roll(base, turn, axis=1) for turn in range(size)]
            self._seatings.append(np.stack(turned, axis=1).reshape(num_shoes * size, size))
            self._tables.append(Tables(rules, size, num_shoes * size, seed=config.seed, restart=False))
            self._agents.append([make_agent(name, rules, size) for name in self.names])

    def evaluate(self, learner: Agent) -> Evaluation:
        """`learner` has played all matches."""
        parts = [
            _play(tables, seating, [*agents, learner], np.random.default_rng(self.seed))
            for tables, seating, agents in zip(self._tables, self._seatings, self._agents, strict=True)
        ]
        wins = np.concatenate([part.wins for part in parts])
        compared = np.concatenate([part.compared for part in parts])
        outlived = np.concatenate([part.outlived for part in parts])
        lives, deals = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("lives", "deals"))
        by_opponent = outlived.sum(axis=0) / np.maximum(1, compared.sum(axis=0))
        met = compared.sum(axis=0) > 0
        shares = outlived.sum(axis=1) / compared.sum(axis=1)
        return Evaluation(
            wins=float(wins.mean()),
            wins_error=float(wins.std() / len(wins) ** 0.5),
            outlive=float(by_opponent[met].mean()),
            outlive_error=float(shares.std() / len(shares) ** 0.5),
            outlive_by_opponent={
                name: float(share) for name, share, was_met in zip(self.names, by_opponent, met, strict=True) if was_met
            },
            lives_lost=float(lives[0] / deals[0]),
            rivals_lives_lost=float(lives[1] / deals[1]),
            matches=sum(len(seating) for seating in self._seatings),
        )


@dataclass(frozen=True)
class _Part:
    """The matches at tables of one size, by shoe."""

    wins: NDArray[np.float64]
    """[N]"""
    compared: NDArray[np.float64]
    """[N, O]"""
    outlived: NDArray[np.float64]
    """[N, O]"""
    lives: NDArray[np.float64]
    """lost by the learner, by its rivals"""
    deals: NDArray[np.float64]


def _play(tables: Tables, seating: NDArray[np.int64], agents: Sequence[Agent], rng: np.random.Generator) -> _Part:
    num_matches, num_seats = seating.shape
    num_shoes = num_matches // num_seats
    tables.reset(matches=np.arange(num_shoes).repeat(num_seats))
    is_learner = seating == LEARNER
    sides = (is_learner, ~is_learner)
    place = np.zeros(seating.shape, np.int64)
    lives, deals = np.zeros(2), np.zeros(2)
    while True:
        live = np.flatnonzero(tables.seat >= 0)
        if not len(live):
            break
        acting = seating[live, tables.seat[live]]
        actions = np.zeros(num_matches, np.int64)
        for number in np.unique(acting):
            at = live[acting == number]
            actions[at] = agents[number].act(tables.observation[at], tables.action_mask[at], rng)
        is_playing = tables.records["seats"]["hand"][:, :num_seats] >= 0
        tables.step(actions)
        ended = tables.ended_deal[:, None]
        for i, side in enumerate(sides):
            lives[i] -= (tables.balance * (ended & side)).sum()
            deals[i] += (ended & side & is_playing).sum()
        place = np.where(ended, tables.place, place)
    place = np.maximum(place, 1)  # who is in a match that was cut off shares the first place

    is_first = place == 1
    wins = (is_first & is_learner).sum(axis=1) / is_first.sum(axis=1) * num_seats
    own = place[is_learner][:, None]
    better = (own < place) + 0.5 * (own == place)
    met = np.stack([seating == number for number in range(len(agents) - 1)], axis=2)
    return _Part(
        wins=wins.reshape(num_shoes, num_seats).mean(axis=1),
        compared=met.sum(axis=1).reshape(num_shoes, num_seats, -1).sum(axis=1).astype(np.float64),
        outlived=(met * better[:, :, None]).sum(axis=1).reshape(num_shoes, num_seats, -1).sum(axis=1),
        lives=lives,
        deals=deals,
    )
