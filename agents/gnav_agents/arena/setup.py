"""`Setup`: what a tournament is to be, frozen and checked. Everything else in the arena trusts it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnav_agents.agent import Agent
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["Setup", "make_setup"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Agents, the tables that they meet at, and how often. Raises `GnavError` for what cannot be."""

    names: tuple[str, ...]
    """Of the agents, each once."""
    agents: tuple[Agent, ...]
    rules: Rules
    num_seats: int
    num_blocks: int
    seed: int
    """0 to 2**63 - 1."""

    def __post_init__(self) -> None:
        if not self.names:
            raise GnavError("a tournament needs at least one agent, as in --agents tips,uniform")
        for number, name in enumerate(self.names):
            if not name:
                raise GnavError("an agent's name is missing: agents are names with one comma between them")
            if name in self.names[:number]:
                raise GnavError(f"agent {name} is listed twice: name each agent once, the seats are filled in turn")
        self.rules.check_seats(self.num_seats)
        _check_number("seed", self.seed, 0, 2**63 - 1)
        _check_number("blocks", self.num_blocks, 1)
        num_needed = -(-len(self.names) // self.num_seats)
        if self.num_blocks < num_needed:
            raise GnavError(
                f"blocks must be {num_needed} or more, so that each of {len(self.names)} agents gets to "
                f"sit at a table of {self.num_seats}, not {self.num_blocks}"
            )


def make_setup(
    agents: Sequence[str] | Mapping[str, Agent],
    rules: str | Rules,
    num_seats: int,
    num_blocks: int,
    seed: int,
) -> Setup:
    """The setup with the agents that the registry knows by these names, or with `agents` as they are."""
    rules = get_rules(rules)
    if isinstance(agents, str):
        raise GnavError(f"agents must be a list of names, such as [{agents!r}], not a string")
    # whatever can be wrong without the agents is found before any of them is loaded
    empty = Setup(names=tuple(agents), agents=(), rules=rules, num_seats=num_seats, num_blocks=num_blocks, seed=seed)
    return replace(empty, agents=_find_agents(agents, rules, num_seats))


def _find_agents(agents: Sequence[str] | Mapping[str, Agent], rules: Rules, num_seats: int) -> tuple[Agent, ...]:
    if isinstance(agents, Mapping):
        return tuple(agents.values())
    from gnav_agents.registry import make_agent

    return tuple(make_agent(name, rules, num_seats) for name in agents)


def _check_number(name: str, value: Any, low: int, high: int | None = None) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        limits = f"{low} or more" if high is None else f"from {low} to {high}"
        raise GnavError(f"{name} must be a whole number, {limits}, not {value}")
