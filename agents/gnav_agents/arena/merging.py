"""The shards of a tournament put together: every unit that one of several folders has, in one store.

store.py keeps the folders; tournament.py makes the reports of what comes of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gnav_agents.arena.store import Store, parquet_bytes, plan_difference, same_plan, some_units
from gnav_env.errors import GnavError

__all__ = ["merge"]


def merge(
    folders: Sequence[str | Path],
    out: str | Path,
    *,
    overwrite: bool = False,
    reports: Sequence[str] = (),
) -> Store:
    """The store at `out`, begun, with every unit that one of `folders` has; `write_results` is the caller's.

    Args:
        folders: of the same tournament, one or more: shards, cut off or finished ones.
        out: a folder that is none of them.
        overwrite: of `out`, as in `Store.begin`.
        reports: as of `Store`.

    Raises `GnavError` for folders of different tournaments, for one unit with different contents in two folders, and
    for units that nobody has.
    """
    sources = [Store(folder) for folder in folders]
    if not sources:
        raise GnavError("to merge, name one folder or more")
    plan = sources[0].plan
    for source in sources:
        if not same_plan(source.plan, plan):
            raise GnavError(
                f"{source.folder}: is of another tournament than {sources[0].folder} "
                f"({plan_difference(plan, source.plan)}); shards of one tournament can be merged"
            )
        if source.folder.resolve() == Path(out).resolve():
            raise GnavError(f"{out}: is to be merged itself, so name another folder for what comes of it")
    finished = [source.finished_units() for source in sources]
    missing = sorted(set(range(plan["num_units"])).difference(*finished))
    if missing:
        raise GnavError(
            f"{some_units(missing, plan['num_units'])} missing{_shards_of(missing, sources)}; they have to be played"
        )
    target = Store(out, reports=reports)
    target.begin(plan["identity"], num_units=plan["num_units"], overwrite=overwrite)
    try:
        _copy(target, sources, finished)
    except BaseException:
        target.close()
        raise
    return target


def _copy(target: Store, sources: Sequence[Store], finished: Sequence[set[int]]) -> None:
    """`target` has every unit that one of `sources` has, and they agree."""
    there = target.finished_units()
    holders = [(target, there), *zip(sources, finished, strict=True)]
    errors = {store: _by_unit(store.read_errors()) for store, _ in holders}
    for unit in range(target.num_units):
        first: Store | None = None
        contents: tuple[bytes, list[dict[str, Any]]] = b"", []
        for store in (store for store, units in holders if unit in units):
            (table,) = store.read_units([unit])
            found = parquet_bytes([table]), errors[store][unit]
            if first is None:
                first, contents = store, found
                if unit not in there:
                    target.add(unit, table, found[1])
            elif found != contents:
                raise GnavError(
                    f"unit {unit} is one thing in {first.folder} and another in {store.folder}: "
                    "the same plan should give the same bytes, so one of them was played with something else"
                )


def _by_unit(rows: Iterable[dict[str, Any]]) -> defaultdict[int, list[dict[str, Any]]]:
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["unit"]].append(row)
    return found


def _shards_of(units: Iterable[int], sources: Iterable[Store]) -> str:
    """Of which shards the units would be, if the sources are shards of one division."""
    counts = {source.shard[1] for source in sources if source.shard is not None}
    if len(counts) != 1:
        return ""
    (count,) = counts
    return f", of shard {', '.join(f'{index}/{count}' for index in sorted({unit % count for unit in units}))}"
