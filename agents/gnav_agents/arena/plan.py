"""`Plan`: what a tournament is to be, frozen and checked. Everything else in the arena trusts it."""

import dataclasses
import hashlib
import importlib.metadata
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from gnav_agents.agent import Agent
from gnav_agents.arena.fields import MIXED, Field, check_kind
from gnav_agents.arena.summary import RulesName, TournamentPlan
from gnav_env._yaml import parse_yaml
from gnav_env.errors import GnavError
from gnav_env.reading import rules_from_dict, rules_to_yaml
from gnav_env.rules import Rules
from gnav_env.variants import VARIANTS, get_rules

__all__ = ["DEFAULT_BLOCKS", "DEFAULT_GAINS", "DEFAULT_TIME_LIMIT", "GAINS", "Plan", "Unit", "make_plan", "plan_of"]

DEFAULT_BLOCKS = 200
DEFAULT_TIME_LIMIT = 10.0
"""Seconds that a foreign agent has for a decision."""
LONGEST_TIME_LIMIT = 3600.0
GAINS = ("bound", "exact", "none")
"""How best-response gains are measured: a lower bound; exactly where that can be, otherwise so; not at all."""
DEFAULT_GAINS = "bound"
"""Of the command."""


@dataclass(frozen=True)
class Unit:
    """A unit of work: blocks of one field that are played side by side."""

    number: int
    """Among all units of the plan, from 0."""
    field: int
    """Its field's number."""
    first_block: int
    num_blocks: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Agents, the tables that they meet at, and how often. Raises `GnavError` for what cannot be.

    >>> plan = make_plan(["tips", "uniform"], seats=(2, 6), blocks=10)
    >>> [(field.kind, field.num_seats, field.num_matches) for field in plan.fields]
    [('mixed', 2, 20), ('mixed', 6, 60)]
    """

    names: tuple[str, ...]
    """Of the agents, each once."""
    rules: Rules
    rules_name: str
    """As they were named: a ruleset or the path of a YAML file."""
    seats: tuple[int, ...]
    """Numbers of seats."""
    blocks: tuple[tuple[str, int], ...]
    """Kinds of fields, each with its number of blocks; the leaderboard is that of the first."""
    seed: int
    """0 to 2**63 - 1."""
    time_limit: float = DEFAULT_TIME_LIMIT
    strict: bool = False
    """A failure of an agent ends the tournament, instead of its match."""
    trust: bool = False
    """Agents may be read from files that run code."""
    gains: str = "none"
    """One of `GAINS`. What is played does not depend on it."""
    among: tuple[str, ...] = ()
    """Of a comparison: the agents in the other seats."""
    agents: Mapping[str, Agent] | None = field(default=None, compare=False, repr=False)
    """Instead of names that the registry knows: agents by names of the caller's."""

    def __post_init__(self) -> None:
        _check_names(self.names)
        if not self.seats:
            raise GnavError("a tournament needs a number of seats, as in --seats 6 or --seats 2,6,12")
        for position, num_seats in enumerate(self.seats):
            self.rules.check_seats(num_seats)
            if num_seats in self.seats[:position]:
                raise GnavError(f"{num_seats} seats are listed twice: name each number of seats once")
        _check_number("seed", self.seed, 0, 2**63 - 1)
        if not self.blocks:
            raise GnavError("a tournament needs a field, as in --fields mixed")
        for _, num_blocks in self.blocks:
            _check_number("blocks", num_blocks, 1)
        is_number = isinstance(self.time_limit, (int, float)) and not isinstance(self.time_limit, bool)
        if not is_number or not 0 < self.time_limit <= LONGEST_TIME_LIMIT:
            raise GnavError(
                f"the time limit must be more than 0 and at most {LONGEST_TIME_LIMIT:.0f} seconds, "
                f"not {self.time_limit}"
            )
        if self.gains not in GAINS:
            raise GnavError(f"gains must be {', '.join(GAINS[:-1])} or {GAINS[-1]}, not {self.gains!r}")

        for name, agent in (self.agents or {}).items():
            if isinstance(agent, type) or not callable(getattr(agent, "act", None)):
                raise GnavError(f"agent {name}: it must be an object with a method act, not {agent!r}")
        for played in self.fields:
            missing = np.flatnonzero(np.bincount(played.line_ups.ravel(), minlength=len(self.names)) == 0)
            if missing.size:
                raise GnavError(
                    f"with so few blocks at {played.num_seats} seats {self.names[missing[0]]} never sits at a table: "
                    f"blocks must be {len(self.names)} or more to be sure that all do, not {played.num_blocks}"
                )

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Every kind of field at every number of seats; kind by kind."""
        return tuple(
            Field(
                kind=kind,
                num_seats=num_seats,
                num_blocks=num_blocks,
                agents=self.names,
                seed=self.seed,
                among=self.among,
            )
            for kind, num_blocks in self.blocks
            for num_seats in self.seats
        )

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The work, in order; the results are the same in whatever order it is done."""
        units: list[Unit] = []
        for number, played in enumerate(self.fields):
            size = played.blocks_per_unit
            for first in range(0, played.num_blocks, size):
                units.append(Unit(len(units), number, first, min(size, played.num_blocks - first)))
        return tuple(units)

    def __getstate__(self) -> dict[str, Any]:
        """What a worker needs to be sent: what was worked out from it is left behind."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}

    def matches_in(self, unit: Unit) -> int:
        """Matches of a unit."""
        played = self.fields[unit.field]
        return unit.num_blocks * played.num_line_ups * played.num_rotations

    @property
    def command(self) -> str:
        """The command that plays this tournament, wherever and by how many workers."""
        fields = ",".join(f"{kind}={num_blocks}" for kind, num_blocks in self.blocks)
        options = {
            "--agents": ",".join(self.names),
            "--rules": self.rules_name,
            "--seats": ",".join(map(str, self.seats)),
            "--fields": fields,
            "--seed": str(self.seed),
        }
        words = [word for option in options.items() for word in option]
        if self.time_limit != DEFAULT_TIME_LIMIT:
            words += ["--time-limit", f"{self.time_limit:g}"]
        if self.gains != DEFAULT_GAINS:
            words += ["--gains", self.gains]
        return shlex.join(["gnav", "tournament", *words, *(["--trust"] if self.trust else [])])

    def identity(self) -> dict[str, Any]:
        """All that the matches depend on, as JSON has it, and under `as_named` what they do not; see `plan_of`."""
        return {
            "gnav": importlib.metadata.version("gnav"),
            "plan": self.describe().model_dump(mode="json"),
            "blocks": [list(pair) for pair in self.blocks],  # in order, which a mapping may lose
            "rules": rules_to_yaml(self.rules),
            "among": list(self.among),
            "trust": self.trust,
            "as_named": {"rules": self.rules_name, "gains": self.gains},
        }

    def describe(self) -> TournamentPlan:
        """What tells this tournament from others, as data."""
        return TournamentPlan(
            rules=RulesName(name=self.rules.name, hash=self.rules.hash),
            agents=self.names,
            digests={} if self.agents is not None else _digests(self.names),
            seats=self.seats,
            fields=dict(self.blocks),
            seed=self.seed,
            time_limit=self.time_limit,
        )


def make_plan(
    agents: Sequence[str] | Mapping[str, Agent],
    rules: str | Rules = "pagat",
    seats: int | Sequence[int] | None = None,
    fields: Sequence[str] | Mapping[str, int | None] = (MIXED,),
    blocks: int = DEFAULT_BLOCKS,
    seed: int = 0,
    *,
    time_limit: float = DEFAULT_TIME_LIMIT,
    gains: str = "none",
    strict: bool = False,
    trust: bool = False,
) -> Plan:
    """The plan with what is left out filled in.

    Args:
        agents: names that the registry knows, or agents by names of your own. Each name once.
        rules: name of a ruleset, path of a YAML file, or `Rules`.
        seats: numbers of seats at the tables; None: 6, or the number nearest to it that the ruleset allows.
        fields: kinds of fields, or their numbers of blocks by kind. None as a number: `blocks` for mixed tables; for
            the others, which play every agent in every block, as many as bring an agent about as many entries.
        blocks: shoes played at mixed tables.
        seed: 0 to 2**63 - 1. The same seed, arguments and agents give the same results to the last bit.
        time_limit: seconds that a foreign agent has for a decision.
        gains: how best-response gains are measured: `bound`, `exact` where that can be, or `none`.
        strict: a failure of an agent raises `GnavError`, instead of forfeiting its seat.
        trust: agents may be read from files that run code.
    """
    if isinstance(agents, str):
        raise GnavError(f"agents must be a list of names, such as [{agents!r}], not a string")
    names = tuple(agents)
    _check_names(names)
    found = get_rules(rules)
    if seats is None:
        seats = found.nearest_seats(6)
    _check_number("blocks", blocks, 1)
    wanted = fields if isinstance(fields, Mapping) else dict.fromkeys(fields)
    for kind in wanted:
        check_kind(kind, names)
    return Plan(
        names=names,
        rules=found,
        rules_name=found.name if isinstance(rules, Rules) else rules,
        seats=tuple(seats) if isinstance(seats, Iterable) else (seats,),
        blocks=tuple(
            (kind, _default_blocks(kind, blocks, len(names)) if num is None else num) for kind, num in wanted.items()
        ),
        seed=seed,
        time_limit=time_limit,
        gains=gains,
        strict=strict,
        trust=trust,
        agents=agents if isinstance(agents, Mapping) else None,
    )


def plan_of(identity: Mapping[str, Any]) -> Plan:
    """The plan that `identity` is of, for reports: nobody can play it before agents are found.

    Raises `GnavError` if it is of another version of Gnav, or not of a plan.
    """
    here = importlib.metadata.version("gnav")
    if identity.get("gnav") != here:
        raise GnavError(f"this tournament was played with Gnav {identity.get('gnav')}, and this is Gnav {here}")
    try:
        described = TournamentPlan.model_validate(identity["plan"])
        return Plan(
            names=described.agents,
            rules=rules_from_dict(parse_yaml(identity["rules"], where="plan.json"), VARIANTS, where="plan.json"),
            rules_name=identity["as_named"]["rules"],
            seats=described.seats,
            blocks=tuple((kind, num_blocks) for kind, num_blocks in identity["blocks"]),
            seed=described.seed,
            time_limit=described.time_limit,
            gains=identity["as_named"]["gains"],
            trust=identity["trust"],
            among=tuple(identity["among"]),
        )
    except (KeyError, TypeError, ValidationError) as error:
        raise GnavError(f"plan.json: is not the plan of a tournament: {error}") from None


def _default_blocks(kind: str, blocks: int, num_agents: int) -> int:
    return blocks if kind == MIXED else min(blocks, max(20, -(-blocks // num_agents)))


def _digests(names: Sequence[str]) -> dict[str, str]:
    """The SHA-256 of the file that each agent comes from, so that a changed one is not taken for the old one."""
    from gnav_agents.registry import agent_file

    files = {name: agent_file(name) for name in names}
    return {name: _sha256(path) for name, path in files.items() if path is not None}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise GnavError("a tournament needs at least one agent, as in --agents tips,uniform")
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise GnavError(f"an agent's name must be text, not {name!r}")
        if not name:
            raise GnavError("an agent's name is missing: agents are names with one comma between them")
        if name in names[:number]:
            raise GnavError(f"agent {name} is listed twice: name each agent once, the seats are filled in turn")


def _check_number(name: str, value: Any, low: int, high: int | None = None) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        limits = f"{low} or more" if high is None else f"from {low} to {high}"
        raise GnavError(f"{name} must be a whole number, {limits}, not {value}")
