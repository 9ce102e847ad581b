"""The policies of a solved match: the file that keeps them, and how to find a seat's one from what it sees.

An observation shows the lives that seats have now, but a state is told by those they had when the deal began. What the
deal has cost so far follows from what is public, so it is kept beside the key of each public node (information.py).
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import SLOT, Observations, dealer_slot, place
from gnav_agents.files import write_files
from gnav_agents.solve.information import (
    PUBLIC_SIZE,
    Index,
    InformationStates,
    Kinds,
    find_all,
    is_in_deal,
    make_index,
    public_key,
    public_keys,
    write_public,
)
from gnav_agents.solve.match_states import MatchStates, State
from gnav_agents.solve.tree import Node, Tree
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_SEATS
from gnav_env.engine import begin_deal, begin_match, take_turn
from gnav_env.errors import GnavError
from gnav_env.observation import OBSERVATION_VERSION, num_seats_of
from gnav_env.rules import Rules
from gnav_env.state import TABLE
from gnav_env.variants import get_rules

__all__ = ["NOT_SOLVED", "MatchPolicies"]

NOT_SOLVED = -1.0
"""Instead of a chance: what is seen belongs to no state that was solved."""

_FORMAT = 1
_LIVES = place("lives")
_ABSENT, _PLAYS, _SITS_OUT = 0, 1, 2


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """The public tree that some states share."""

    keys: NDArray[np.uint64]
    """By node: its key, [nodes]."""
    kind: NDArray[np.int32]
    kinds: Kinds


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchPolicies:
    """A policy for each state of a match, and where to find it."""

    rules: Rules
    num_seats: int
    """Seats of the full state."""
    states: tuple[State, ...]
    part_of: tuple[int, ...]
    """Which of `parts` each state's tree is."""
    parts: tuple[_Part, ...]
    stand: tuple[NDArray[np.float32], ...]
    """The chance of STAND, by state and information state."""
    keys: NDArray[np.uint64]
    """Keys of all public nodes of all trees, ascending, each once, [K]."""
    paid: NDArray[np.int8]
    """Lives that the deal has cost there so far, [K, num_seats], by the deal's seats in the order of action."""

    @cached_property
    def _indexes(self) -> list[Index]:
        return [make_index(part.keys, part.kind, part.kinds, self.rules) for part in self.parts]

    @cached_property
    def _numbers(self) -> dict[State, int]:
        return {state: number for number, state in enumerate(self.states)}

    @classmethod
    def of(cls, states: MatchStates, stand: Mapping[int, NDArray[np.float32]]) -> Self:
        """The policies `stand`, by number of the state.

        Raises `GnavError` if an observation does not tell what a deal has cost so far.
        """
        trees: dict[int, int] = {}
        parts: list[_Part] = []
        paid: dict[int, tuple[int, ...]] = {}
        part_of: list[int] = []
        for number in range(len(states.states)):
            tree = states.tree(number)
            if id(tree) not in trees:
                trees[id(tree)] = len(parts)
                information = InformationStates(tree)
                keys = public_keys(information.rows())
                parts.append(_Part(keys=keys, kind=information.kind, kinds=information.kinds))
                _note_paid(tree, keys, states.num_seats, paid)
            part_of.append(trees[id(tree)])
        keys = sorted(paid)
        return cls(
            rules=states.rules,
            num_seats=states.num_seats,
            states=tuple(states.states),
            part_of=tuple(part_of),
            parts=tuple(parts),
            stand=tuple(stand[number] for number in range(len(states.states))),
            keys=np.array(keys, np.uint64),
            paid=np.array([paid[key] for key in keys], np.int8).reshape(-1, states.num_seats),
        )

    def chances(self, observations: Observations) -> NDArray[np.float64]:
        """The chance of STAND for each row of `observations` [B, F], NOT_SOLVED where there is none."""
        num_seats = num_seats_of(observations.shape[1])
        lives = np.zeros((len(observations), num_seats), np.int64)
        roles = np.zeros((len(observations), num_seats), np.int64)
        _begin_all(observations, self.rules.compiled, self.keys, self.paid, lives, roles)
        rows, inverse = np.unique(np.concatenate([lives, roles], axis=1), axis=0, return_inverse=True)
        chances = np.full(len(observations), NOT_SOLVED)
        for which, row in enumerate(rows.tolist()):
            seats = [seat for seat in range(num_seats) if row[num_seats + seat] != _ABSENT]
            state = State(tuple(row[seat] for seat in seats), tuple(row[num_seats + s] == _SITS_OUT for s in seats))
            number = self._numbers.get(state)
            if number is None:
                continue
            at = np.flatnonzero(inverse.ravel() == which)
            found = np.empty(len(at), np.int64)
            find_all(self._indexes[self.part_of[number]], observations[at], num_seats, found)
            chances[at] = np.where(found >= 0, self.stand[number][found], NOT_SOLVED)
        return chances

    def save(self, path: str | Path) -> None:
        """The policies are in the file `path`, for `load`; `GnavError` if it cannot be written."""
        path = Path(path)
        write_files(path.parent, {path.name: self.to_bytes()})

    def to_bytes(self) -> bytes:
        """The content of the file."""
        about = {
            "format": _FORMAT,
            "observation_version": OBSERVATION_VERSION,
            "rules": {"name": self.rules.name, "hash": self.rules.hash},
            "num_seats": self.num_seats,
            "states": [[list(state.lives), list(map(int, state.sits_out))] for state in self.states],
            "part_of": list(self.part_of),
            "num_nodes": [len(part.keys) for part in self.parts],
            "num_kinds": [len(part.kinds.num_seen) for part in self.parts],
            "num_chances": [len(stand) for stand in self.stand],
        }
        stream = io.BytesIO()
        np.savez_compressed(
            stream,
            about=np.frombuffer(json.dumps(about).encode(), np.uint8),
            node_keys=np.concatenate([part.keys for part in self.parts]),
            kind=np.concatenate([part.kind for part in self.parts]),
            **{name: np.concatenate([getattr(part.kinds, name) for part in self.parts]) for name in Kinds._fields},
            stand=np.concatenate(self.stand),
            keys=self.keys,
            paid=self.paid,
        )
        return stream.getvalue()

    @classmethod
    def load(cls, path: str | Path, *, rules: str | Rules) -> Self:
        """The policies in the file `path`; `GnavError` if it is damaged, of another version or for other rules."""
        path, rules = Path(path), get_rules(rules)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                arrays: dict[str, NDArray[Any]] = dict(file)
            about = json.loads(arrays["about"].tobytes())
            version, layout = about["format"], about["observation_version"]
            made_name, made_hash = about["rules"]["name"], about["rules"]["hash"]
        except FileNotFoundError:
            raise GnavError(f"{path}: there is no such file; `gnav solve match` writes policies") from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise GnavError(f"{path}: holds no policies of a match, or is damaged ({type(error).__name__})") from None
        if (version, layout) != (_FORMAT, OBSERVATION_VERSION):
            raise GnavError(f"{path}: was made by another version of Gnav; solve the match again")
        if made_hash != rules.hash:
            raise GnavError(
                f"{path}: is for the ruleset {made_name} ({made_hash}), not for {rules.name} ({rules.hash}); "
                "solve a match with these rules"
            )
        try:
            return cls(rules=rules, **_read(about, arrays))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise GnavError(f"{path}: is damaged ({type(error).__name__})") from None


def _read(about: Any, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The fields of `MatchPolicies`, but for the rules."""

    def split(name: str, sizes: list[int]) -> list[NDArray[Any]]:
        return np.split(arrays[name], np.cumsum(sizes)[:-1])

    nodes, kinds = about["num_nodes"], about["num_kinds"]
    columns = zip(*(split(name, kinds) for name in Kinds._fields), strict=True)
    return {
        "num_seats": int(about["num_seats"]),
        "states": tuple(State(tuple(lives), tuple(map(bool, out))) for lives, out in about["states"]),
        "part_of": tuple(map(int, about["part_of"])),
        "parts": tuple(
            _Part(keys=keys, kind=kind, kinds=Kinds(*column))
            for keys, kind, column in zip(split("node_keys", nodes), split("kind", nodes), columns, strict=True)
        ),
        "stand": tuple(split("stand", about["num_chances"])),
        "keys": arrays["keys"],
        "paid": arrays["paid"],
    }


def _note_paid(tree: Tree, keys: NDArray[np.uint64], most_seats: int, paid: dict[int, tuple[int, ...]]) -> None:
    """What each node's deal has cost so far is among `paid`, by key."""
    playing = [seat for seat in range(tree.num_seats) if not tree.sits_out[seat]]
    nodes = [node for node in tree.nodes if node.actor >= 0]
    for node, key in zip(nodes, keys.tolist(), strict=True):
        lives = _lives_at(tree, node)
        row = [tree.lives[seat] - lives[seat] for seat in playing]
        row += [0] * (most_seats - len(row))
        if paid.setdefault(key, tuple(row)) != tuple(row):
            raise GnavError(
                f"the policies of a match of {tree.rules.name} cannot be kept: what a seat sees does not tell the "
                "lives with which the deal began"
            )


def _lives_at(tree: Tree, node: Node) -> list[int]:
    """The seats' lives when the node has been reached."""
    t: Any = np.zeros(1, TABLE)[0]
    begin_match(t, tree.compiled[0], tree.num_seats, tree.num_seats - 1)
    for seat in range(tree.num_seats):
        t.seats[seat].lives = tree.lives[seat]
        t.seats[seat].sits_out = tree.sits_out[seat]
    t.deck[:] = np.frombuffer(node.deck, np.int8)
    begin_deal(t, tree.compiled[0])
    for action in node.actions:
        take_turn(t, tree.compiled[0], action)
    return t["seats"]["lives"][: tree.num_seats].tolist()


@kernel
def _begin_all(observations: Any, rules: Any, keys: Any, paid: Any, lives: Any, roles: Any) -> None:
    """Write into `lives` and `roles` [B, S] how the deals began, in the order of action; zeros if it is not known."""
    order, row = np.zeros(MAX_SEATS, np.int64), np.zeros(PUBLIC_SIZE, np.uint32)
    num_seats = lives.shape[1]
    for b in range(lives.shape[0]):
        view = observations[b]
        size = write_public(view, rules[0], num_seats, order, row)
        at = np.searchsorted(keys, public_key(row, size))
        if at == keys.size or keys[at] != public_key(row, size) or size - 1 > paid.shape[1]:
            continue
        dealer, num_playing = dealer_slot(view, num_seats), 0
        for step in range(num_seats):
            slot = dealer + 1 + step
            if slot >= num_seats:
                slot -= num_seats
            lives[b, step] = np.int64(np.rint(view[_LIVES + SLOT * slot] * rules[0].lives))
            if is_in_deal(view, slot):
                lives[b, step] += paid[at, num_playing]
                num_playing += 1
                roles[b, step] = _PLAYS
            elif lives[b, step] > 0:
                roles[b, step] = _SITS_OUT
