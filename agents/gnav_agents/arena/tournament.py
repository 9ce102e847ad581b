"""A whole tournament: units are played, kept and counted. `gnav tournament` and Python programs come in here.

plan.py says what is to be played, workshop.py plays it, store.py keeps it, figures.py makes a `Summary` of it, and
tables.py and html.py show that.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gnav_agents.agent import Agent
from gnav_agents.arena.columns import entries_of, failure_rows, table_of
from gnav_agents.arena.executors import check_executor
from gnav_agents.arena.fields import MIXED
from gnav_agents.arena.figures import make_summary
from gnav_agents.arena.gains import GAINS_FILE, gathered_gains, measure_gains, num_cells
from gnav_agents.arena.html import report_html
from gnav_agents.arena.merging import merge
from gnav_agents.arena.plan import DEFAULT_BLOCKS, DEFAULT_TIME_LIMIT, Plan, make_plan, plan_of
from gnav_agents.arena.play import PlayedMatch, PlayedUnit
from gnav_agents.arena.store import Store, units_of_shard
from gnav_agents.arena.summary import SUMMARY, Gain, Summary
from gnav_agents.arena.sums import FieldSums
from gnav_agents.arena.tables import leaderboard_markdown, leaderboard_rows
from gnav_agents.arena.workshop import Workshop, play_units
from gnav_agents.files import csv_text, require, write_files
from gnav_env.errors import GnavError
from gnav_env.losses import loss_causes
from gnav_env.rules import Rules

__all__ = ["REPORTS", "Result", "Session", "default_folder", "merge_folders", "play_in_folder", "run_tournament"]

REPORTS = (SUMMARY, "leaderboard.csv", "leaderboard.md", "report.html")
"""Files that a finished tournament leaves in its folder, besides those of store.py and gains.py."""
_OURS = (*REPORTS, GAINS_FILE)

_PACKAGES = ("pyarrow", "jinja2", "matplotlib")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a tournament."""

    plan: Plan
    summary: Summary
    units: tuple[PlayedUnit, ...]
    """In the order of the plan's units."""

    def entries(self, field: int = 0) -> list[NDArray[Any]]:
        """The entries [M, S] of each unit of the plan's field number `field`."""
        return [played.entries for unit, played in zip(self.plan.units, self.units, strict=True) if unit.field == field]


@dataclass(frozen=True, kw_only=True)
class Session:
    """What one call of `play_in_folder` has done."""

    summary: Summary | None
    """None while units are missing: those of other shards."""
    num_matches: int
    """Played now; what was there already is not counted."""
    num_decisions: int


def run_tournament(
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
    progress: Callable[[int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> Result:
    """The result of `agents` meeting at tables, played here and kept in memory.

    The arguments up to `trust` are those of `plan.make_plan`; agents that are objects are asked in this process and
    have no time limit. `progress` is told now and then how many matches have ended, `record` is given every match.

    Raises `GnavError` for arguments that cannot be, and if `strict` for an agent that fails, naming it.
    """
    plan = make_plan(
        agents, rules, seats, fields, blocks, seed, time_limit=time_limit, gains=gains, strict=strict, trust=trust
    )
    tally = _Tally(plan)
    units: list[PlayedUnit] = []
    with Workshop(plan) as workshop:
        for number, played in play_units(workshop, range(len(plan.units)), progress=progress, record=record):
            tally.add(number, played.entries)
            units.append(played)
    summary = tally.summary(measure_gains(plan, range(num_cells(plan))))
    return Result(plan=plan, summary=summary, units=tuple(units))


def default_folder(plan: Plan) -> Path:
    """Where a tournament is kept if nothing else is said."""
    seats = "-".join(map(str, plan.seats))
    kind, num_blocks = plan.blocks[0]
    field = kind.partition(":")[0]
    return Path("results") / f"{plan.rules.name}-{seats}-seats-{field}-{num_blocks}-seed-{plan.seed}"


def play_in_folder(
    plan: Plan,
    folder: str | Path,
    *,
    overwrite: bool = False,
    shard: tuple[int, int] | None = None,
    executor: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    progress: Callable[[int], None] | None = None,
    progress_of_gains: Callable[[int, int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> Session:
    """`folder` has all units of `plan` that it is to have, and if none is missing the reports.

    Units and gains that are there already are not played or measured again. The files are a function of the plan alone:
    other executors, workers or shards give the same bytes.

    Args:
        plan: what to play.
        folder: where; made if need be.
        overwrite: replace another tournament that is there.
        shard: (i, n): only the units that leave i when divided by n; `merge_folders` puts the shards together.
        executor: serial, process or ray, with `workers` and `address` as in `executors.run_units`.
        progress: is told how many matches of the shard have ended, those of earlier runs included.
        progress_of_gains: is told how many best-response gains have been measured, and of how many.
        record: is given every match that is played now.
    """
    require("arena", *_PACKAGES)
    check_executor(executor, workers, address)
    wanted = units_of_shard(len(plan.units), shard)
    with Workshop(plan) as workshop, Store(folder, reports=_OURS) as store:
        store.begin(plan.identity(), num_units=len(plan.units), overwrite=overwrite, shard=shard)
        tally = _Tally(plan)
        if plan.strict and (errors := store.read_errors()):
            raise GnavError(
                f"agent {errors[0]['agent']} failed in an earlier run ({errors[0]['kind']}): {store.folder}"
            )
        finished = store.finished_units()
        tally.add_kept(store, sorted(finished))
        num_before = sum(plan.matches_in(plan.units[number]) for number in finished if number in wanted)

        def tell(num_matches: int) -> None:
            if progress is not None:
                progress(num_before + num_matches)

        tell(0)
        missing = [number for number in wanted if number not in finished]
        num_matches = num_decisions = 0
        for number, played in play_units(
            workshop, missing, executor=executor, workers=workers, address=address, progress=tell, record=record
        ):
            unit = plan.units[number]
            store.add(number, table_of(plan, unit, played.entries), failure_rows(plan, unit, played))
            tally.add(number, played.entries)
            num_matches += len(played.entries)
            num_decisions += int(played.entries["decisions"].sum())
        is_complete = store.is_complete()
        gains = measure_gains(
            plan,
            units_of_shard(num_cells(plan), None if is_complete else shard),
            store.folder,
            executor=executor,
            workers=workers,
            address=address,
            progress=progress_of_gains,
        )
        summary = _finish(store, tally, gains) if is_complete else None
        return Session(summary=summary, num_matches=num_matches, num_decisions=num_decisions)


def merge_folders(folders: Sequence[str | Path], out: str | Path, *, overwrite: bool = False) -> Summary:
    """`out` has the results of the shards in `folders`, as if all had been played there. Their summary.

    Raises `GnavError` for folders that do not belong together and for units that are in none of them.
    """
    require("arena", *_PACKAGES)
    with merge(folders, out, overwrite=overwrite, reports=_OURS) as store:
        plan = _tournament_in(store)
        gains = gathered_gains(plan, folders, store.folder)
        tally = _Tally(plan)
        tally.add_kept(store, range(len(plan.units)))
        return _finish(store, tally, gains)


def _tournament_in(store: Store) -> Plan:
    identity = store.plan["identity"]
    if identity.get("among"):
        raise GnavError("these folders hold comparisons, which have no shards to merge")
    return plan_of(identity)


class _Tally:
    """The sums of all fields of a plan."""

    def __init__(self, plan: Plan) -> None:
        num_causes = len(loss_causes(plan.rules))
        self._plan = plan
        self._sums = [FieldSums(field, num_causes) for field in plan.fields]

    def add(self, number: int, entries: NDArray[Any]) -> None:
        """The entries of unit `number` have been counted."""
        self._sums[self._plan.units[number].field].add(entries)

    def add_kept(self, store: Store, numbers: Iterable[int]) -> None:
        """The units `numbers`, which are in the store, have been counted."""
        wanted = list(numbers)
        for number, table in zip(wanted, store.read_units(wanted), strict=True):
            self.add(number, entries_of(self._plan, self._plan.units[number], table))

    def summary(self, gains: Mapping[int, Gain]) -> Summary:
        """What all units together say; `gains` are by cell."""
        return make_summary(self._plan, self._sums, gains)


def _finish(store: Store, tally: _Tally, gains: Mapping[int, Gain]) -> Summary:
    """The store is finished and the reports lie beside its results."""
    summary = tally.summary(gains)
    store.write_results()
    texts = {
        SUMMARY: summary.to_json(),
        "leaderboard.csv": csv_text(leaderboard_rows(summary)),
        "leaderboard.md": leaderboard_markdown(summary),
        "report.html": report_html(summary),
    }
    write_files(store.folder, {name: text.encode() for name, text in texts.items()})
    return summary
