"""Entries as columns: the Arrow tables that store.py keeps as Parquet, one row for each seat of each match.

Columns are those of `play.entry_dtype` under the same names, with agents and fields by name, `seats` for the size of
the table and `lost_CAUSE` for the lives paid by cause.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.plan import Plan, Unit
from gnav_agents.arena.play import PlayedUnit, entry_dtype
from gnav_env.losses import loss_causes

if TYPE_CHECKING:
    import pyarrow

__all__ = ["entries_of", "failure_rows", "table_of"]


def table_of(plan: Plan, unit: Unit, entries: NDArray[Any]) -> "pyarrow.Table":
    """The Arrow table of the entries [M, S] of a unit, M * S rows."""
    import pyarrow as pa

    field = plan.fields[unit.field]
    rows = entries.ravel()
    kinds = [kind for kind, _ in plan.blocks]
    columns: dict[str, Any] = {
        "seats": pa.array(np.full(len(rows), field.num_seats, np.int16)),
        "field": _names(np.full(len(rows), kinds.index(field.kind), np.int16), kinds),
    }
    for name in rows.dtype.names or ():
        if name == "agent":
            columns[name] = _names(np.ascontiguousarray(rows[name]), plan.names)
        elif name == "losses":
            for number, cause in enumerate(loss_causes(plan.rules)):
                columns[f"lost_{cause}"] = pa.array(np.ascontiguousarray(rows[name][:, number]))
        else:
            columns[name] = pa.array(np.ascontiguousarray(rows[name]))
    return pa.table(columns)


def _names(numbers: NDArray[np.int16], names: Any) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(list(names), pa.string()))


def entries_of(plan: Plan, unit: Unit, table: "pyarrow.Table") -> NDArray[Any]:
    """The entries [M, S] of a unit from their Arrow table."""
    entries = np.zeros(table.num_rows, entry_dtype(plan.rules))
    for name in entries.dtype.names or ():
        if name == "agent":
            names = table.column(name).combine_chunks()
            numbers = np.array([plan.names.index(agent) for agent in names.dictionary.to_pylist()], np.int16)
            entries[name] = numbers[names.indices.to_numpy()]
        elif name == "losses":
            for number, cause in enumerate(loss_causes(plan.rules)):
                entries[name][:, number] = table.column(f"lost_{cause}").to_numpy()
        else:
            entries[name] = table.column(name).to_numpy()
    return entries.reshape(-1, plan.fields[unit.field].num_seats)


def failure_rows(plan: Plan, unit: Unit, played: PlayedUnit) -> list[dict[str, Any]]:
    """The failures of a unit as rows of `store.ERROR_COLUMNS`, which adds the unit."""
    field = plan.fields[unit.field]
    rows: list[dict[str, Any]] = []
    for failure in played.failures:
        entry = played.entries[failure.match, failure.seat]
        rows.append(
            {
                "seats": field.num_seats,
                "field": field.kind,
                **{name: int(entry[name]) for name in ("block", "line_up", "rotation", "seat")},
                "agent": plan.names[int(entry["agent"])],
                "deal": failure.deal,
                "kind": failure.kind,
                "detail": failure.detail,
            }
        )
    return rows
