"""Solved deals as files: for a ruleset and a number of seats, what to do in every information state.

A file is a numpy archive without pickles, the same bytes for the same solution: a header, the public rows of the
nodes (information.py) in the order of the tree with their kinds, and the policy, a bit a state where it is pure and
numbers where it is not. Those that come with the package lie in `solutions/`.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.files import write_files
from gnav_agents.solve.information import MAX_SEEN, Index, InformationStates, Kinds, make_index, public_keys
from gnav_agents.solve.tree import Tree
from gnav_env.errors import GnavError
from gnav_env.observation import OBSERVATION_VERSION
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["Solution", "SolutionHeader", "load_solution", "read_header", "save_solution", "shipped_solutions"]

_FORMAT = 1
"""Rises when the names or the meaning of what is in the file change, and when public rows mean something else."""

_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)
"""What reading a file that is none of ours can raise."""


@dataclass(frozen=True, kw_only=True)
class SolutionHeader:
    """What a file says about its solution."""

    rules_name: str
    rules_hash: str
    num_seats: int
    num_states: int
    nash_conv: float
    """In lives a deal."""
    solved: Mapping[str, Any]
    """How it was found."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """A policy for every seat of a deal."""

    header: SolutionHeader
    rules: Rules
    index: Index
    """Where the states are found from what a seat observes."""
    stand: NDArray[np.float64]
    """The chance of STAND in each information state, [num_states], in the order of the tree."""


def save_solution(
    path: str | Path, tree: Tree, stand: NDArray[np.float64], *, nash_conv: float, solved: Mapping[str, Any]
) -> None:
    """The policy `stand` [num_states] for the deal of `tree` is in the file `path`, for `load_solution`.

    `solved` says how it was found, in what JSON can hold. Raises `GnavError` if the policy is none, if seats of the
    tree sit out or have not the lives that the ruleset gives, or if the file cannot be written.
    """
    path = Path(path)
    if set(tree.lives) != {tree.rules.lives} or any(tree.sits_out):
        raise GnavError("a solution is for seats that all have the lives of the ruleset, none of which sits out")
    if stand.shape != (tree.num_states,) or not ((stand >= 0) & (stand <= 1)).all():
        raise GnavError(f"stand should be {tree.num_states} probabilities, 0 to 1, one for each information state")
    states = InformationStates(tree)
    header = {
        "format": _FORMAT,
        "observation_version": OBSERVATION_VERSION,
        "rules": {"name": tree.rules.name, "hash": tree.rules.hash},
        "num_seats": tree.num_seats,
        "num_states": tree.num_states,
        "nash_conv": nash_conv,
        "solved": dict(solved),
    }
    is_mixed = (stand > 0) & (stand < 1)
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header, sort_keys=True).encode(), np.uint8),
        "rows": np.ascontiguousarray(states.rows().T),
        "kind": states.kind,
        "num_seen": states.kinds.num_seen,
        "holders": states.kinds.holders,
        "ranks": states.kinds.ranks,
        "stands": np.packbits(stand == 1),
        "mixed": np.diff(np.flatnonzero(is_mixed), prepend=0).astype(np.uint32),
        "mixed_stand": stand[is_mixed],
    }
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    write_files(path.parent, {path.name: stream.getvalue()})


def is_solution(path: str | Path) -> bool:
    """Whether the file `path` is a solved deal, whole or not; a folder of results has other files as well."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "header.npy" in archive.namelist() and "stands.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_header(path: str | Path) -> SolutionHeader:
    """What the file `path` says about its solution; `GnavError` if it is damaged or of another version."""
    return _read(Path(path), ["header"])[0]


def load_solution(path: str | Path, rules: str | Rules) -> Solution:
    """The solution in the file `path`; `GnavError` if it is damaged, of another version or for other rules."""
    path, rules = Path(path), get_rules(rules)
    names = ["header", "rows", "kind", "num_seen", "holders", "ranks", "stands", "mixed", "mixed_stand"]
    header, arrays = _read(path, names)
    if header.rules_hash != rules.hash:
        raise GnavError(
            f"{path}: solves a deal of the ruleset {header.rules_name} ({header.rules_hash}), not of {rules.name} "
            f"({rules.hash}); solve one with these rules"
        )
    try:
        return _solution(header, rules, arrays)
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise GnavError(f"{path}: is damaged: {error}") from None


def _solution(header: SolutionHeader, rules: Rules, arrays: Mapping[str, NDArray[Any]]) -> Solution:
    """The solution in these arrays; `ValueError` and its like where they do not fit together."""
    rows, kind = np.ascontiguousarray(arrays["rows"].T), arrays["kind"]
    kinds = Kinds(arrays["num_seen"], arrays["holders"], arrays["ranks"])
    num_kinds = len(kinds.num_seen)
    expected = {
        "rows": (rows, np.uint32, (len(kind), 1 + header.num_seats)),
        "kind": (kind, np.int32, (len(kind),)),
        "num_seen": (kinds.num_seen, np.int8, (num_kinds,)),
        "holders": (kinds.holders, np.int8, (num_kinds, MAX_SEEN)),
        "ranks": (kinds.ranks, np.uint32, (num_kinds, MAX_SEEN)),
        "stands": (arrays["stands"], np.uint8, (-(-header.num_states // 8),)),
        "mixed": (arrays["mixed"], np.uint32, (len(arrays["mixed"]),)),
        "mixed_stand": (arrays["mixed_stand"], np.float64, (len(arrays["mixed"]),)),
    }
    for name, (array, dtype, shape) in expected.items():
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(f"{name} should be {shape} of {np.dtype(dtype)}, not {array.shape} of {array.dtype}")
    are_in_range = {
        "kind": (kind >= 0) & (kind < num_kinds),
        "num_seen": (kinds.num_seen >= 0) & (kinds.num_seen <= MAX_SEEN),
        "holders": (kinds.holders >= 0) & (kinds.holders < header.num_seats),
        "mixed_stand": (arrays["mixed_stand"] > 0) & (arrays["mixed_stand"] < 1),
    }
    for name, is_in_range in are_in_range.items():
        if not is_in_range.all():
            raise ValueError(f"{name} has numbers that mean nothing")
    index = make_index(public_keys(rows), kind, kinds, rules)
    if int(index.num_states) != header.num_states:
        raise ValueError(f"the nodes have {index.num_states} information states, the header says {header.num_states}")
    stand = np.unpackbits(arrays["stands"], count=header.num_states).astype(np.float64)
    stand[np.cumsum(arrays["mixed"], dtype=np.int64)] = arrays["mixed_stand"]
    return Solution(header=header, rules=rules, index=index, stand=stand)


def _read(path: Path, names: list[str]) -> tuple[SolutionHeader, dict[str, NDArray[Any]]]:
    """The header of the file and its arrays called `names`."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in names}
        about = json.loads(arrays["header"].tobytes())
        version, layout, solved = about["format"], about["observation_version"], dict(about["solved"])
        header = SolutionHeader(
            rules_name=str(about["rules"]["name"]),
            rules_hash=str(about["rules"]["hash"]),
            num_seats=int(about["num_seats"]),
            num_states=int(about["num_states"]),
            nash_conv=float(about["nash_conv"]),
            solved=solved,
        )
    except FileNotFoundError:
        raise GnavError(f"{path}: there is no such file; gnav solve deal --out {path} makes one") from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise GnavError(f"{path}: is no solved deal, or is damaged ({type(error).__name__})") from None
    if (version, layout) != (_FORMAT, OBSERVATION_VERSION):
        raise GnavError(
            f"{path}: was made by another version of Gnav (format {version}, observation {layout}), this one reads "
            f"format {_FORMAT}, observation {OBSERVATION_VERSION}; solve again"
        )
    return header, arrays


def shipped_solutions() -> dict[tuple[str, int], Path]:
    """The files that come with the package, by the name of the ruleset and the number of seats."""
    folder = Path(str(files("gnav_agents") / "solutions"))
    found: dict[tuple[str, int], Path] = {}
    for path in sorted(folder.glob("*-*.npz")):
        name, _, seats = path.stem.rpartition("-")
        if seats.isdecimal():
            found[name, int(seats)] = path
    return found
