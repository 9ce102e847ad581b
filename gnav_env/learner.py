"""B tables with one learning seat each; the other seats are played by opponents, which are functions passed in.

Under the environments of Gymnasium (single.py) and Stable-Baselines3 (sb3.py), so that these are the same game.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.vector import Tables

__all__ = ["LearnerTables", "Opponent", "Opponents", "final_rewards", "uniform"]

Opponent = Callable[[NDArray[np.float32], NDArray[np.int8], np.random.Generator], Any]
"""What plays a seat: (observation [N, F], action_mask [N, 2], rng) -> actions [N]. Or an object with such an `act`."""

Opponents = Opponent | Any | Sequence[Opponent | Any]


def uniform(observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> NDArray[Any]:
    """Any legal action, each with the same chance: the opponent where none is named. int64 [N]."""
    luck = rng.random(len(action_mask)) < 0.5
    return np.where(action_mask.all(1), luck, action_mask[:, 1] != 0).astype(np.int64)


def final_rewards(reward: str, place: NDArray[Any], seats: NDArray[Any]) -> NDArray[np.float64]:
    """What seat `seats[n]` is paid for its finishing place among `place` [N, S]: `placement` or `win`, else 0. [N]

    `placement` runs from 1 (first) to -1 (last), seats that share a place get the mean; `win` is 1 for the winner,
    shared by joint winners. A seat without a place (0) gets 0.
    """
    own = place[np.arange(len(seats)), seats]
    num_tied = (place == own[:, None]).sum(1)
    if reward == "win":
        value = (own == 1) / num_tied
    elif reward == "placement":
        value = 1.0 - 2.0 * (own + (num_tied - 1) / 2 - 1) / (place.shape[1] - 1)
    else:
        value = np.zeros(len(seats))
    return np.where(own > 0, value, 0.0)


class LearnerTables:
    """B tables that always wait for their learner; what the opponents do in between is played at once.

    An episode ends when the learner falls or the match (or `episode="deal"`: the deal) ends; the table then goes on
    with its next match, and `final_observation` holds the last view of the old one. A match (or deal) that ends before
    the learner has had a choice is no episode and is passed over.

    Args:
        opponents: one function or agent for all other seats, or S - 1 of them in the order of seats after the learner.
        seat: the learner's seat; None: match number modulo S, so that it sits everywhere in turn.
        reward: `lives`, `placement` or `win`, as in `gnav_env.aec.GnavEnv`.
        rules, num_seats, num_tables, seed, episode, max_deals: as in `Tables`.
    """

    def __init__(
        self,
        rules: str | Rules = "pagat",
        num_seats: int = 6,
        num_tables: int = 1,
        *,
        opponents: Opponents = uniform,
        seat: int | None = None,
        reward: Literal["lives", "placement", "win"] = "lives",
        episode: Literal["match", "deal"] = "match",
        max_deals: int | None = None,
        seed: int = 0,
    ) -> None:
        if reward not in ("lives", "placement", "win"):
            raise GnavError(f"reward must be lives, placement or win, not {reward!r}")
        if episode == "deal" and reward != "lives":
            raise GnavError(f"reward {reward!r} needs episode='match': a single deal has no winner")
        self.tables = Tables(
            rules, num_seats, num_tables, seed=seed, episode=episode, restart=False, max_deals=max_deals
        )
        self.num_seats, self.num_tables = self.tables.num_seats, num_tables
        if seat is not None and not 0 <= seat < num_seats:
            raise GnavError(f"seat must be 0 to {num_seats - 1}, not {seat}")
        self.reward = reward
        self._fixed_seat = seat
        self._opponents = self._read_opponents(opponents)
        self.reset(seed)

    def _read_opponents(self, opponents: Opponents) -> list[Opponent]:
        """The function that plays each of the S - 1 seats after the learner."""
        if callable(opponents) or hasattr(opponents, "act"):
            opponents = [opponents] * (self.num_seats - 1)
        functions: list[Any] = [getattr(opponent, "act", opponent) for opponent in opponents]
        if len(functions) != self.num_seats - 1:
            raise GnavError(f"opponents must be one, or {self.num_seats - 1} for the other seats, not {len(functions)}")
        for function in functions:
            if not callable(function):
                raise GnavError(
                    "an opponent is a function (observation, action_mask, rng) -> actions, or has such an `act`, "
                    f"not {function!r}; for agents by name see gnav_agents.registry.make_agent"
                )
        return functions

    def reset(self, seed: int | None = None) -> None:
        """The first matches under `seed`; without a seed the next match at every table."""
        if seed is not None:
            self.tables.reset(seed)
            self._rng = np.random.Generator(np.random.Philox(key=self.tables.seed))
        else:
            self.tables.restart_rows(np.arange(self.num_tables))
        self.final_observation = np.zeros_like(self.tables.observation)
        self.terminated = np.zeros(self.num_tables, np.bool_)
        self.truncated = np.zeros(self.num_tables, np.bool_)
        self.rewards = np.zeros(self.num_tables, np.float32)
        self._balance = np.zeros(self.num_tables, np.int64)
        self._is_done = np.zeros(self.num_tables, np.bool_)
        self._sit(np.arange(self.num_tables))
        self._play_opponents()

    def step(self, actions: NDArray[Any]) -> None:
        """The learners choose `actions` [B]; afterwards all tables wait for them again.

        `rewards` float32 [B], `terminated` and `truncated` bool [B] belong to this step; where one of them is set,
        `final_observation` [B, F] is the learner's last view. `observation` and `action_mask` are what comes next.
        """
        self.rewards = np.zeros(self.num_tables, np.float32)
        self.terminated = np.zeros(self.num_tables, np.bool_)
        self.truncated = np.zeros(self.num_tables, np.bool_)
        self._is_done = np.zeros(self.num_tables, np.bool_)
        self._advance(np.asarray(actions), np.arange(self.num_tables))
        self._play_opponents()

    @property
    def observation(self) -> NDArray[np.float32]:
        """What each learner sees now, float32 [B, F]."""
        return self.tables.observation

    @property
    def action_mask(self) -> NDArray[np.int8]:
        """What each learner may choose, int8 [B, 2]."""
        return self.tables.action_mask

    def _sit(self, rows: NDArray[np.int64]) -> None:
        """The learners of new matches at `rows` have their seats."""
        seats = self.tables.records["match"] % self.num_seats
        if self._fixed_seat is not None:
            seats = np.full(self.num_tables, self._fixed_seat)
        self.seat = seats.astype(np.int64) if len(rows) == self.num_tables else np.copy(self.seat)
        self.seat[rows] = seats[rows]
        self._balance[rows] = 0

    def _play_opponents(self) -> None:
        """Opponents act, and finished matches are followed by new ones, until every table waits for its learner."""
        while True:
            finished = np.flatnonzero(self._is_done)
            if len(finished):
                self.tables.restart_rows(finished)
                self._is_done[:] = False
                self._sit(finished)
            rows = np.flatnonzero(self.tables.seat != self.seat)
            if not len(rows):
                return
            actions = np.zeros(self.num_tables, np.int64)
            places = (self.tables.seat - self.seat) % self.num_seats - 1
            for function in dict.fromkeys(self._opponents):
                played = [place for place, other in enumerate(self._opponents) if other == function]
                mine = rows[np.isin(places[rows], played)]
                if len(mine):
                    actions[mine] = function(self.tables.observation[mine], self.tables.action_mask[mine], self._rng)
            self._advance(actions, rows)

    def _advance(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """The tables of `rows` have gone a step further; what it means to the learners is written down.

        Nothing is, once the episode of this step has ended: what precedes a learner's first choice is no part of one.
        """
        self.tables.step(actions, rows)
        every = np.arange(self.num_tables)
        place = self.tables.place
        balance = self.tables.balance[every, self.seat].astype(np.int64)
        moved = np.zeros(self.num_tables, np.bool_)
        moved[rows] = True
        counts = moved & ~(self.terminated | self.truncated)
        has_place = place[every, self.seat] > 0
        cut_off = moved & self.tables.reached_limit
        if self.reward == "lives":
            self.rewards[counts] += (balance - self._balance)[counts]
        else:
            self.rewards[counts] += final_rewards(self.reward, place, self.seat)[counts]
        self._balance = np.where(moved, np.where(self.tables.ended_deal, 0, balance), self._balance)
        ends_as_deal = cut_off & (self.tables.episode == "deal")
        self.terminated |= counts & (has_place | ends_as_deal)
        self.truncated |= counts & cut_off & ~ends_as_deal & ~has_place
        self._is_done |= moved & (has_place | cut_off)
        ends = counts & self._is_done
        if ends.any():
            self.final_observation = np.where(ends[:, None], self.tables.observe(self.seat), self.final_observation)
