"""The best-response gain of every agent of a tournament at every number of seats: measured, kept, put together.

A cell is one agent at one number of seats. What is measured depends on the plan and the cell alone, so cells are units
of work like any other; gains.json in the tournament's folder keeps them. solve/gain.py and solve/exact_gain.py measure,
figures.py puts them in the rows of the leaderboard.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from gnav_agents.agent import Actions, Masks, Observations
from gnav_agents.arena.executors import run_units
from gnav_agents.arena.plan import Plan
from gnav_agents.arena.summary import Gain
from gnav_agents.files import write_files
from gnav_agents.foreign import ForeignCodeWarning
from gnav_agents.hosted import Hosted
from gnav_agents.registry import is_foreign, make_agent
from gnav_agents.solve.exact_gain import Exploiter, why_not_exact
from gnav_agents.solve.gain import gain_bound
from gnav_env.errors import GnavError
from gnav_env.rules import Rules

__all__ = ["GAINS_FILE", "gathered_gains", "measure_gain", "measure_gains", "num_cells"]

GAINS_FILE = "gains.json"

_SCHEMA = 1
_NUM_DEALS = 60_000
"""Deals times seats from which a reply is learned, and as many in which it is measured: a second or two an agent."""
_HOSTED_ROWS = 128
"""Decisions asked for at once of an agent that may be slow."""
_DIGITS = 6


def num_cells(plan: Plan) -> int:
    """Agents times numbers of seats; 0 if gains are not wanted. Cell c is agent c % agents at seats c // agents."""
    return len(plan.names) * len(plan.seats) if plan.gains != "none" else 0


def measure_gain(plan: Plan, cell: int) -> Gain:
    """The gain of a cell. If the agent fails there is none, and the reason is given.

    Raises `GnavError` for that only if the plan is strict.
    """
    number, at = divmod(cell, len(plan.names))
    name, num_seats = plan.names[at], plan.seats[number]
    try:
        if plan.agents is not None:
            return _measured(plan, name, plan.agents[name], num_seats)
        if not is_foreign(name):
            return _measured(plan, name, make_agent(name, plan.rules, num_seats), num_seats)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForeignCodeWarning)  # said already, where the tournament was begun
            hosted = Hosted(name, plan.rules, num_seats, time_limit=plan.time_limit, trust=plan.trust)
        with hosted:
            return _measured(plan, name, _InParts(hosted), num_seats)
    except (Exception, SystemExit) as error:
        said = str(error) if isinstance(error, GnavError) else f"agent {name} failed: {type(error).__name__}: {error}"
        if plan.strict:
            raise GnavError(said) from error
        return _no_gain(name, num_seats, said)


def _measured(plan: Plan, name: str, agent: Any, num_seats: int) -> Gain:
    if plan.gains == "exact" and not why_not_exact(agent, plan.rules, num_seats):
        exact = _exploiter(plan.rules, num_seats).gain(name, agent)
        return Gain(agent=name, num_seats=num_seats, how="exact", value=round(exact.gain, _DIGITS))
    num_deals = max(2, _NUM_DEALS // num_seats)
    bound = gain_bound(
        name, agent, plan.rules, num_seats, num_training_deals=num_deals, num_deals=num_deals, seed=plan.seed
    )
    return Gain(
        agent=name,
        num_seats=num_seats,
        how="bound",
        value=round(bound.gain, _DIGITS),
        low=round(bound.low, _DIGITS),
        high=round(bound.high, _DIGITS),
        num_deals=num_deals,
    )


@lru_cache(maxsize=1)
def _exploiter(rules: Rules, num_seats: int) -> Exploiter:
    """Cells of one number of seats follow one another."""
    return Exploiter(rules, num_seats)


def _no_gain(name: str, num_seats: int, reason: str) -> Gain:
    return Gain(agent=name, num_seats=num_seats, how="none", reason=reason)


class _InParts:
    """An agent in a process of its own, asked for few decisions at a time, so that each answer comes in time."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self.probabilities = self._probabilities if hosted.probabilities is not None else None

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
        return np.concatenate(
            [self._hosted.act(observation[rows], action_mask[rows], rng) for rows in _parts(observation)]
        )

    def _probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[Any]:
        ask = self._hosted.probabilities
        assert ask is not None
        return np.concatenate([ask(observation[rows], action_mask[rows]) for rows in _parts(observation)])


def _parts(observation: Observations) -> list[slice]:
    return [slice(first, first + _HOSTED_ROWS) for first in range(0, max(1, len(observation)), _HOSTED_ROWS)]


def measure_gains(
    plan: Plan,
    cells: Iterable[int],
    folder: Path | None = None,
    *,
    executor: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, Gain]:
    """The gains of `cells`, and of those that `folder` has already; there they are kept as they come.

    Args:
        plan: of which the folder is.
        cells: numbers from 0 to `num_cells` - 1.
        folder: where gains.json is; without one nothing is kept.
        executor: serial, process or ray, with `workers` and `address` as in `executors.run_units`.
        progress: is told how many cells are done, and of how many.
    """
    found = _kept(plan, folder) if folder is not None else {}
    wanted = [cell for cell in cells if cell not in found]
    for done, (cell, gain) in enumerate(
        run_units(partial(measure_gain, plan), wanted, executor=executor, workers=workers, address=address), start=1
    ):
        found[cell] = gain
        if folder is not None:
            _keep(plan, found, folder)
        if progress is not None:
            progress(done, len(wanted))
    _exploiter.cache_clear()
    return found


def gathered_gains(plan: Plan, folders: Sequence[str | Path], out: Path) -> dict[int, Gain]:
    """The gains that `folders` have between them, now kept in `out`; `GnavError` if one is missing."""
    found: dict[int, Gain] = {}
    for folder in (*folders, out):
        found |= _kept(plan, Path(folder))
    missing = num_cells(plan) - len(found)
    if missing > 0:
        raise GnavError(
            f"{missing} of {num_cells(plan)} best-response gains are missing: the parts have to be played with the "
            f"same --gains, here {plan.gains}"
        )
    if found:
        _keep(plan, found, out)
    return found


def _keep(plan: Plan, found: dict[int, Gain], folder: Path) -> None:
    cells = {str(cell): found[cell].model_dump(mode="json") for cell in sorted(found)}
    data = {"schema": _SCHEMA, "gains": plan.gains, "cells": cells}
    write_files(folder, {GAINS_FILE: (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()})


def _kept(plan: Plan, folder: Path) -> dict[int, Gain]:
    """The gains in a folder that were measured as the plan wants it; others are measured anew."""
    try:
        data: Any = json.loads((folder / GAINS_FILE).read_bytes())
        if (data["schema"], data["gains"]) != (_SCHEMA, plan.gains):
            return {}
        return {int(cell): Gain.model_validate(gain) for cell, gain in data["cells"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError):
        return {}
