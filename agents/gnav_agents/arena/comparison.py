"""Two agents compared: each takes the same seat, among the same others, with the same cards and the same luck.

What the rest of the arena does for a tournament is done here for the field `substitution`, unit after unit, until
sequential.py has seen enough. `gnav compare` and Python programs come in here.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent
from gnav_agents.arena.columns import entries_of, failure_rows, table_of
from gnav_agents.arena.executors import check_executor
from gnav_agents.arena.fields import SUBSTITUTION, Field
from gnav_agents.arena.plan import DEFAULT_TIME_LIMIT, Plan
from gnav_agents.arena.sequential import Look, SequentialTest, Verdict
from gnav_agents.arena.store import Store
from gnav_agents.arena.workshop import Workshop, play_units
from gnav_agents.files import json_text, require, versions, write_files
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["COMPARISON", "PLOT", "Comparison", "block_means", "compare", "make_comparison"]

COMPARISON = "comparison.json"
PLOT = "comparison.svg"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What came of a comparison; A is the first agent, and every difference is B's elimination rate less A's."""

    plan: Plan
    test: SequentialTest
    forfeits: tuple[int, int]
    """Of A and B."""

    @property
    def verdict(self) -> Verdict:
        """better: A is eliminated less often than B; worse: more often; level; undecided: out of blocks."""
        return self.test.verdict

    def to_dict(self) -> dict[str, Any]:
        """As plain data, which is what comparison.json holds."""
        test = self.test
        low, high = test.interval
        return {
            "schema_version": 1,
            "a": self.plan.names[0],
            "b": self.plan.names[1],
            "verdict": self.verdict,
            "difference": {"value": test.mean, "low": low, "high": high},
            "num_blocks": test.num_blocks,
            "test": {
                "delta": test.delta,
                "alpha": test.alpha,
                "beta": test.beta,
                "lower": test.lower,
                "upper": test.upper,
            },
            "forfeits": {"a": self.forfeits[0], "b": self.forfeits[1]},
            "among": list(self.plan.among),
            "plan": self.plan.describe().model_dump(mode="json"),
            "versions": versions(),
            "history": [asdict(look) for look in test.history],
        }


def make_comparison(
    a: str,
    b: str,
    rules: str | Rules = "pagat",
    num_seats: int | None = None,
    among: Sequence[str] = (),
    seed: int = 0,
    *,
    max_blocks: int = 100_000,
    time_limit: float = DEFAULT_TIME_LIMIT,
    strict: bool = False,
    trust: bool = False,
    agents: Mapping[str, Agent] | None = None,
) -> Plan:
    """The plan of a comparison of the agents `a` and `b`, who sit among copies of b, or among the agents `among`."""
    if a == b:
        raise GnavError(f"to compare, name two different agents, not {a} twice")
    found = get_rules(rules)
    others = tuple(among) or (b,)
    return Plan(
        names=tuple(dict.fromkeys((a, b, *others))),
        rules=found,
        rules_name=found.name if isinstance(rules, Rules) else rules,
        seats=(found.nearest_seats(6) if num_seats is None else num_seats,),
        blocks=((SUBSTITUTION, max_blocks),),
        seed=seed,
        time_limit=time_limit,
        strict=strict,
        trust=trust,
        among=others,
        agents=agents,
    )


def compare(
    plan: Plan,
    test: SequentialTest,
    *,
    folder: str | Path | None = None,
    overwrite: bool = False,
    executor: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    look: Callable[[Look], None] | None = None,
) -> Comparison:
    """The comparison of the plan's first two agents, ended as soon as `test` is decided.

    Args:
        plan: from `make_comparison`.
        test: a new one.
        folder: keeps the units played, so that a run that was cut off goes on there; in the end comparison.json, and
            comparison.svg with the way the test went.
        overwrite: replace another comparison that is there.
        executor: serial, process or ray, with `workers` and `address` as in `executors.run_units`. The verdict does
            not depend on it: units are looked at in their order.
        look: is told how the test stands after each unit.
    """
    check_executor(executor, workers, address)
    (field,) = plan.fields
    forfeits = np.zeros(2, np.int64)
    with ExitStack() as stack:
        workshop = stack.enter_context(Workshop(plan))
        store = None
        if folder is not None:
            require("arena", "pyarrow", "matplotlib")
            store = stack.enter_context(Store(folder, reports=(COMPARISON, PLOT)))
            store.begin(_identity(plan), num_units=len(plan.units), overwrite=overwrite, may_grow=True)
        played = _in_order(workshop, store, executor=executor, workers=workers, address=address)
        stack.callback(played.close)  # workers end with us
        for entries in played:
            test.add(block_means(field, entries))
            forfeits += [entries["forfeited"][entries["agent"] == agent].sum() for agent in (0, 1)]
            if look is not None:
                look(test.history[-1])
            if test.verdict != "undecided":
                break
        comparison = Comparison(plan=plan, test=test, forfeits=(int(forfeits[0]), int(forfeits[1])))
        if folder is not None:
            _write(Path(folder), comparison)
    return comparison


def _identity(plan: Plan) -> dict[str, Any]:
    """What the units depend on: not how many there may be at most."""
    identity = plan.identity()
    del identity["blocks"], identity["plan"]["fields"]
    return identity


def block_means(field: Field, entries: NDArray[Any]) -> NDArray[np.float64]:
    """The elimination rate of agent 1 less that of agent 0 in each block, [N], from entries [M, S] of whole blocks."""
    counts = field.counts()
    shape = (-1, *counts.shape)  # blocks, agents, rotations, seats
    eliminated = (entries["eliminated"].reshape(shape) & counts).any(axis=3)
    rates = eliminated.mean(axis=2)
    return rates[:, 1] - rates[:, 0]


def _in_order(
    workshop: Workshop, store: Store | None, *, executor: str, workers: int | None, address: str | None
) -> Generator[NDArray[Any]]:
    """The entries of the plan's units in their order, those in the `store` read and the others played and kept."""
    plan = workshop.plan
    numbers = range(len(plan.units))
    finished = _fitting_units(plan, store) if store is not None else set[int]()
    missing = [number for number in numbers if number not in finished]
    playing = play_units(workshop, missing, executor=executor, workers=workers, address=address)
    waiting: dict[int, NDArray[Any]] = {}
    try:
        for number in numbers:
            unit = plan.units[number]
            if store is not None and number in finished:
                (table,) = store.read_units([number])
                yield entries_of(plan, unit, table.slice(0, _num_rows(plan, number)))
                continue
            while number not in waiting:
                other, result = next(playing)
                waiting[other] = result.entries
                if store is not None:
                    done = plan.units[other]
                    store.add(other, table_of(plan, done, result.entries), failure_rows(plan, done, result))
            yield waiting.pop(number)
    finally:
        playing.close()


def _num_rows(plan: Plan, number: int) -> int:
    return plan.matches_in(plan.units[number]) * plan.seats[0]


def _fitting_units(plan: Plan, store: Store) -> set[int]:
    """The units in the store; the last one of a run of fewer blocks may have been short, and is played anew."""
    finished = {number for number in store.finished_units() if number < len(plan.units)}
    last = max(finished, default=None)
    if last is not None and next(store.read_units([last])).num_rows < _num_rows(plan, last):
        store.remove(last)
        finished.remove(last)
    return finished


def _write(folder: Path, comparison: Comparison) -> None:
    from gnav_agents.arena.plots import sequential_plot

    write_files(
        folder,
        {
            COMPARISON: json_text(comparison.to_dict()).encode(),
            PLOT: sequential_plot(comparison.test).svg.encode(),
        },
    )
