"""What a table is worth to each seat as a match: its chance to be the last survivor, from a solved match.

The objective `match` pays a seat for each deal what its chance has grown by. Over a match these payments add up to 1
for having won, or 0, less the chance at the start, so who gains most a deal wins most.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.match_file import MatchValues
from gnav_env.errors import GnavError
from gnav_env.rules import Rules

__all__ = ["Potential", "at_end", "read_potentials"]


class Potential:
    """Chances of the seats of tables of one size."""

    def __init__(self, values: MatchValues, rules: Rules, num_seats: int) -> None:
        """Raises `GnavError` if `values` are of other rules, or do not reach as far as tables of `num_seats`."""
        if values.rules_hash != rules.hash:
            raise GnavError(
                f"match_values: are of the ruleset {values.rules_name} ({values.rules_hash}), not of {rules.name} "
                f"({rules.hash}); solve the match of these rules"
            )
        if num_seats > values.num_seats:
            raise GnavError(
                f"match_values: are for 2 to {values.num_seats} seats, not {num_seats}; objective: match needs a "
                "solved match of as many seats as the largest table has"
            )
        self._num_seats, self._direction = num_seats, int(rules.compiled["direction"][0])
        self._values = values
        self._known: dict[bytes, NDArray[np.float64]] = {}
        values.value([rules.lives] * num_seats)

    def of(self, records: NDArray[Any]) -> NDArray[np.float64]:
        """[B, S]: the seats' chances at tables (dtype `state.TABLE`) whose deal has just begun."""
        seats = records["seats"][:, : self._num_seats]
        lives, is_dealt = seats["lives"].astype(np.int64), (seats["hand"] >= 0).astype(np.int64)
        rows = np.concatenate([records["dealer"][:, None].astype(np.int64), lives, is_dealt], axis=1)
        chances = np.zeros((len(records), self._num_seats))
        for b, row in enumerate(rows):
            key = row.tobytes()
            if key not in self._known:
                self._known[key] = self._look_up(int(row[0]), lives[b], is_dealt[b])
            chances[b] = self._known[key]
        return chances

    def _look_up(self, dealer: int, lives: NDArray[np.int64], is_dealt: NDArray[np.int64]) -> NDArray[np.float64]:
        steps = (dealer + self._direction * np.arange(1, self._num_seats + 1)) % self._num_seats
        order = steps[lives[steps] > 0]
        chances = np.zeros(self._num_seats)
        chances[order] = self._values.value(lives[order].tolist(), (is_dealt[order] == 0).tolist())
        return chances


def at_end(place: NDArray[Any]) -> NDArray[np.float64]:
    """[B, S]: 1 for the winner of a match that is over, shared by joint ones; `place` [B, S] are finishing places."""
    wins = place == 1
    return wins / np.maximum(1, wins.sum(axis=1, keepdims=True))


def read_potentials(path: str | Path, rules: Rules, sizes: Sequence[int]) -> dict[int, Potential]:
    """The potential of tables of each of `sizes` by the match values in the file `path`; `GnavError` as above."""
    values = MatchValues.load(path)
    return {size: Potential(values, rules, size) for size in sizes}
