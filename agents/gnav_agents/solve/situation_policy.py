"""What sampled.py finds: a policy by fine situation (situations.py), the file that keeps it, and who plays it."""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, is_playing, mixed
from gnav_agents.files import write_files
from gnav_agents.solve.situations import FINE, check_deal_seats, fine_situation, num_fine_situations
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_SEATS
from gnav_env.errors import GnavError
from gnav_env.observation import OBSERVATION_VERSION, num_seats_of
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["SampledSolution", "SituationPolicy"]

_FORMAT = 1
"""Rises when the names or the meaning of what is in the file change, and when fine situations mean something else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledSolution:
    """A policy for every seat of a deal, and how it was found."""

    rules: Rules
    num_seats: int
    stand: NDArray[np.float32]
    """The chance of STAND by fine situation, [num_fine_situations(num_seats)], 0 to 1."""
    seed: int
    num_iterations: int
    deals_per_iteration: int

    def __post_init__(self) -> None:
        check_deal_seats(self.rules, self.num_seats)
        size = num_fine_situations(self.num_seats)
        if self.stand.shape != (size,) or self.stand.dtype != np.float32:
            raise GnavError(f"stand should be {size} numbers of float32, not {self.stand.shape} of {self.stand.dtype}")
        if not ((self.stand >= 0) & (self.stand <= 1)).all():
            raise GnavError("stand should hold probabilities, 0 to 1")

    def save(self, path: str | Path) -> None:
        """The solution is in the file `path`, for `load`; `GnavError` if it cannot be written."""
        path = Path(path)
        about = {
            "format": _FORMAT,
            "observation_version": OBSERVATION_VERSION,
            "situation": list(FINE),
            "rules": {"name": self.rules.name, "hash": self.rules.hash},
            "num_seats": self.num_seats,
            "seed": self.seed,
            "num_iterations": self.num_iterations,
            "deals_per_iteration": self.deals_per_iteration,
        }
        stream = io.BytesIO()
        np.savez_compressed(stream, about=np.frombuffer(json.dumps(about).encode(), np.uint8), stand=self.stand)
        write_files(path.parent, {path.name: stream.getvalue()})

    @classmethod
    def load(cls, path: str | Path, *, rules: str | Rules) -> Self:
        """The solution in the file `path`; `GnavError` if it is damaged, of another version or for other rules."""
        path, rules = Path(path), get_rules(rules)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                about = json.loads(arrays["about"].tobytes())
                stand = arrays["stand"]
            made_for, version, layout = about["rules"], about["format"], about["observation_version"]
            made_name, made_hash, parts = made_for["name"], made_for["hash"], about["situation"]
            made = {name: int(about[name]) for name in ("num_seats", "seed", "num_iterations", "deals_per_iteration")}
        except FileNotFoundError:
            raise GnavError(f"{path}: there is no such file; a sampled solution is a file that was saved") from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise GnavError(f"{path}: is no sampled solution, or is damaged ({type(error).__name__})") from None
        if (version, layout, parts) != (_FORMAT, OBSERVATION_VERSION, list(FINE)):
            raise GnavError(
                f"{path}: was made by another version of Gnav (format {version}, observation {layout}), this one reads "
                f"format {_FORMAT}, observation {OBSERVATION_VERSION}; solve again"
            )
        if made_hash != rules.hash:
            raise GnavError(
                f"{path}: solves a deal of the ruleset {made_name} ({made_hash}), not of {rules.name} ({rules.hash}); "
                f"solve one with these rules"
            )
        try:
            return cls(rules=rules, stand=stand, **made)
        except GnavError as error:
            raise GnavError(f"{path}: is damaged: {error}") from None


def is_sampled(path: str | Path) -> bool:
    """Whether the file `path` is a sampled solution, whole or not."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) == {"about.npy", "stand.npy"}
    except (OSError, zipfile.BadZipFile):
        return False


class SituationPolicy(Policy):
    """Plays the solution for as many seats as have live cards; where there is none, the one for the nearest number.

    Args:
        solutions: one or more, of one ruleset, each for another number of seats.

    Raises `GnavError` if they are not.
    """

    def __init__(self, *solutions: SampledSolution) -> None:
        seats = [solution.num_seats for solution in solutions]
        if not solutions or len(set(seats)) < len(seats) or len({one.rules.hash for one in solutions}) > 1:
            raise GnavError("solutions should be of one ruleset, one or more, each for another number of seats")
        self._rules = solutions[0].rules
        self._stand = np.concatenate([solution.stand for solution in solutions])
        starts = np.cumsum([0, *(len(solution.stand) for solution in solutions)])
        nearest = [
            # of two as near the larger one
            min(range(len(seats)), key=lambda i: (abs(seats[i] - num_live), -seats[i]))
            for num_live in range(MAX_SEATS + 1)
        ]
        self._starts = starts[nearest]
        self._most_behind = np.array(seats)[nearest] - 1

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]."""
        stand = np.empty(len(observation))
        num_seats = num_seats_of(observation.shape[1])
        _play_all(
            observation,
            num_seats,
            self._rules.compiled,
            self._stand,
            self._starts,
            self._most_behind,
            stand,
        )
        return mixed(stand, action_mask)


@kernel
def _play_all(
    observation: Any,
    num_seats: int,
    rules: Any,
    solutions: Any,
    starts: Any,
    most_behind: Any,
    stand: Any,
) -> None:
    """Write the chances of STAND [B]; by live seats `starts` says where in `solutions` theirs begins."""
    for b in range(len(observation)):
        view = observation[b]
        num_live = 0
        for slot in range(num_seats):
            num_live += is_playing(view, slot)
        number = fine_situation(view, num_seats, rules[0], most_behind[num_live])
        stand[b] = solutions[starts[num_live] + number]
