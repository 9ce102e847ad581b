"""The values of a solved match as a file, and the folder in which match.py keeps states as it solves them."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gnav_agents.files import json_text, write_files
from gnav_agents.solve.match_policies import MatchPolicies
from gnav_agents.solve.match_states import MatchStates, State
from gnav_env.errors import GnavError

__all__ = ["MatchFolder", "MatchValues", "SolvedState"]

_FORMAT = 1
"""Rises when names or meanings in the files change."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SolvedState:
    """A policy for the deal of a state, and what is known of it."""

    stand: NDArray[np.float32]
    """[num_states]: the chance of STAND in each information state."""
    values: NDArray[np.float64]
    """[S]: chances to win the match, in the order of action."""
    gains: NDArray[np.float64]
    """[S]: what each seat would gain by its best response in this deal."""
    num_rounds: int
    """Sweeps that it took."""

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium."""
        return float(self.gains.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchValues:
    """What each state of a match is worth to its seats; made by `solve_match`."""

    rules_name: str
    rules_hash: str
    num_seats: int
    """Seats of the full state; all that a match comes to from there is here."""
    tolerance: float
    """NashConv that was asked of each state."""
    gains: tuple[float, ...]
    """[S]: what each seat gains from the full state on by a best response over the whole match, in chances to win."""
    states: dict[State, NDArray[np.float64]]
    """[S]: chances to win, in the order of action."""
    nash_conv: dict[State, float]
    num_rounds: dict[State, int]
    """Sweeps that each state took."""

    @classmethod
    def of(
        cls, states: MatchStates, solved: Mapping[int, SolvedState], tolerance: float, gains: NDArray[np.float64]
    ) -> Self:
        """The values of `solved` states."""
        return cls(
            rules_name=states.rules.name,
            rules_hash=states.rules.hash,
            num_seats=states.num_seats,
            tolerance=tolerance,
            gains=tuple(gains.tolist()),
            states={state: solved[number].values for number, state in enumerate(states.states)},
            nash_conv={state: solved[number].nash_conv for number, state in enumerate(states.states)},
            num_rounds={state: solved[number].num_rounds for number, state in enumerate(states.states)},
        )

    def value(self, lives: Sequence[int], sits_out: Sequence[bool] | None = None) -> NDArray[np.float64]:
        """[S]: the chance of each seat to be the last survivor; joint survivors share it.

        `lives` are those of the seats still in, in the order of action of the coming deal: the last one deals.
        `sits_out` says who misses it. Raises `GnavError` for a state that the match never comes to.
        """
        lives = tuple(int(num) for num in lives)
        if len(lives) == 1:
            return np.ones(1)
        state = State(lives, tuple(map(bool, sits_out or [False] * len(lives))))
        if state not in self.states:
            raise GnavError(
                f"the match of {self.num_seats} seats of {self.rules_name} never comes to the lives {state}; "
                "lives are those of the seats still in, in the order of action, the dealer last"
            )
        return self.states[state]

    def save(self, path: str | Path) -> None:
        """The values are in the file `path`, JSON, for `load`; `GnavError` if it cannot be written."""
        path = Path(path)
        write_files(path.parent, {path.name: self.to_json().encode()})

    def to_json(self) -> str:
        """The content of the file."""
        rows = [
            {
                "lives": list(state.lives),
                "sits_out": list(state.sits_out),
                "values": values.tolist(),
                "nash_conv": self.nash_conv[state],
                "num_rounds": self.num_rounds[state],
            }
            for state, values in self.states.items()
        ]
        head = {
            "format": _FORMAT,
            "rules": {"name": self.rules_name, "hash": self.rules_hash},
            "num_seats": self.num_seats,
            "tolerance": self.tolerance,
            "gains": list(self.gains),
        }
        lines = ",\n".join(json.dumps(row) for row in rows)
        return json_text(head).removesuffix("\n}\n") + f',\n  "states": [\n{lines}\n  ]\n}}\n'

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The values in the file `path`; `GnavError` if it is none, is damaged or of another version."""
        path = Path(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            version, rows = data["format"], data["states"]
            states = [State(tuple(map(int, row["lives"])), tuple(map(bool, row["sits_out"]))) for row in rows]
            values = cls(
                rules_name=str(data["rules"]["name"]),
                rules_hash=str(data["rules"]["hash"]),
                num_seats=int(data["num_seats"]),
                tolerance=float(data["tolerance"]),
                gains=tuple(map(float, data["gains"])),
                states={state: np.array(row["values"], np.float64) for state, row in zip(states, rows, strict=True)},
                nash_conv={state: float(row["nash_conv"]) for state, row in zip(states, rows, strict=True)},
                num_rounds={state: int(row["num_rounds"]) for state, row in zip(states, rows, strict=True)},
            )
            is_whole = all(one.shape == (state.num_seats,) for state, one in values.states.items())
        except FileNotFoundError:
            raise GnavError(f"{path}: there is no such file; `gnav solve match` writes match values") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GnavError(f"{path}: holds no match values, or is damaged ({type(error).__name__})") from None
        if version != _FORMAT or not is_whole:
            raise GnavError(f"{path}: is damaged or of another version of Gnav; solve the match again")
        return values


class MatchFolder:
    """A folder with `match.json`, what is solved; `states/`, a file for each solved state; and what came of it."""

    def __init__(self, folder: str | Path, states: MatchStates, tolerance: float) -> None:
        """Raises `GnavError` if the folder is in use for something else."""
        self._folder, self._states = Path(folder), states
        about = {
            "format": _FORMAT,
            "rules": {"name": states.rules.name, "hash": states.rules.hash},
            "num_seats": states.num_seats,
            "tolerance": tolerance,
        }
        path = self._folder / "match.json"
        if not path.is_file():
            if self._folder.exists() and (not self._folder.is_dir() or any(self._folder.iterdir())):
                raise GnavError(f"{folder}: is there already and holds no match; choose another folder")
            write_files(self._folder, {path.name: json_text(about).encode()})
        elif path.read_bytes() != json_text(about).encode():
            raise GnavError(f"{folder}: holds another match, see {path}; choose another folder")

    def read(self, group: Sequence[int]) -> dict[int, SolvedState] | None:
        """The states `group` as they were solved before, None if one of them was not."""
        paths = [self._folder / "states" / self._name(number) for number in group]
        if not all(path.is_file() for path in paths):
            return None
        return {number: _read_state(path) for number, path in zip(group, paths, strict=True)}

    def write(self, solved: Mapping[int, SolvedState]) -> None:
        """The states are kept."""
        files: dict[str, bytes] = {}
        for number, one in solved.items():
            arrays: dict[str, Any] = {"stand": one.stand, "values": one.values, "gains": one.gains}
            files[self._name(number)] = _packed(arrays | {"num_rounds": np.array(one.num_rounds)})
        write_files(self._folder / "states", files)

    def finish(self, values: MatchValues, solved: Mapping[int, SolvedState]) -> None:
        """`values.json` and `policies.npz` are there."""
        policies = MatchPolicies.of(self._states, {number: one.stand for number, one in solved.items()})
        write_files(self._folder, {"values.json": values.to_json().encode(), "policies.npz": policies.to_bytes()})

    def _name(self, number: int) -> str:
        state = self._states.states[number]
        parts = (f"{lives}{'s' * out}" for lives, out in zip(state.lives, state.sits_out, strict=True))
        return f"{'-'.join(parts)}.npz"


def _packed(arrays: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _read_state(path: Path) -> SolvedState:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            return SolvedState(
                stand=arrays["stand"],
                values=arrays["values"],
                gains=arrays["gains"],
                num_rounds=int(arrays["num_rounds"]),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise GnavError(f"{path}: is damaged ({type(error).__name__}); take the file away") from None
