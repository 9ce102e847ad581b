"""A tournament's folder: units on disk as they finish, and one file of results when all have.

    plan.json                 what is played: the same plan has the same results
    shard.json                which part of the units this folder is to have, if not all
    units/000012.parquet      the entries of unit 12, and before them
    units/000012.errors.json  what went wrong in it, if anything did
    results.parquet           in the end: all entries, unit u in row group u
    errors.csv                in the end: what went wrong

A file is whole or not there, and a unit that is there is never written again: a run can be killed at any time and the
next one plays what is missing. play.py makes the entries, executors.py brings them, tournament.py joins the three.
"""

import csv
import io
import json
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from gnav_agents.files import write_files
from gnav_env.errors import GnavError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ERRORS",
    "ERROR_COLUMNS",
    "RESULTS",
    "Store",
    "parquet_bytes",
    "plan_difference",
    "same_plan",
    "some_units",
    "units_of_shard",
]

PLAN, SHARD, UNITS, RESULTS, ERRORS, LOCK = "plan.json", "shard.json", "units", "results.parquet", "errors.csv", ".lock"

SCHEMA = 1
"""Number of the schema of all this."""

ERROR_COLUMNS: dict[str, type] = {
    "unit": int,
    "seats": int,
    "field": str,
    "block": int,
    "line_up": int,
    "rotation": int,
    "seat": int,
    "agent": str,
    "deal": int,
    "kind": str,
    "detail": str,
}
"""The columns of errors.csv."""

_OUR_UNIT_FILE = re.compile(r"\.?\d{6,}\.(parquet|errors\.json)(\.new)?")


def units_of_shard(num_units: int, shard: tuple[int, int] | None) -> range:
    """The units that shard (i, n) is to play: those that leave i when divided by n; all without a shard."""
    index, count = shard or (0, 1)
    if not 0 <= index < count:
        raise GnavError(f"shard must be 0/N to N-1/N, not {index}/{count}")
    return range(index, num_units, count)


class Store:
    """The folder of a tournament.

    To write, `begin`, and `close` in the end or use it as a context manager; to read, neither is needed.

    Args:
        folder: need not be there before `begin`.
        reports: names of further files that come of a tournament; they are removed when it is overwritten.
    """

    def __init__(self, folder: str | Path, *, reports: Sequence[str] = ()) -> None:
        self.folder = Path(folder)
        self._reports = tuple(reports)
        self._lock: BinaryIO | None = None

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -------------------------------------------------------------------------------------------- what is played

    def begin(
        self,
        identity: Mapping[str, Any],
        *,
        num_units: int,
        overwrite: bool = False,
        shard: tuple[int, int] | None = None,
        may_grow: bool = False,
    ) -> None:
        """The folder is there, is ours alone until `close`, and holds this tournament, begun or resumed.

        Args:
            identity: all that the results depend on, as JSON has it.
            num_units: how many units the whole tournament has, 1 or more.
            overwrite: begin anew; what is there of a tournament is removed, and no file that we do not know.
            shard: (i, n) if the folder is to have only the units of `units_of_shard`.
            may_grow: what is there may have another number of units.

        Raises `GnavError` if the folder holds another tournament, is in use, or cannot be written to.
        """
        units_of_shard(num_units, shard)
        if num_units < 1:
            raise GnavError(f"num_units must be 1 or more, not {num_units}")
        plan = json.loads(json.dumps({"schema": SCHEMA, "num_units": num_units, "identity": identity}))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.folder / LOCK)
        except OSError as error:
            raise GnavError(f"{self.folder}: cannot be written to: {error.strerror or error}") from None
        try:
            if overwrite:
                self._remove_all()
            else:
                self._check(plan, may_grow=may_grow)
            write_files(self.folder, {PLAN: _json(plan)})
            if shard is None:
                (self.folder / SHARD).unlink(missing_ok=True)
            else:
                write_files(self.folder, {SHARD: _json({"shard": shard[0], "of": shard[1]})})
            if self._is_finished:
                self._remove_units()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Others may write to the folder again."""
        if self._lock is not None:
            with suppress(OSError):
                (self.folder / LOCK).unlink()  # before it is unlocked, so that no other's goes
            self._lock.close()
            self._lock = None

    @property
    def plan(self) -> dict[str, Any]:
        """plan.json: `schema`, `num_units`, `identity`; `GnavError` if there is none."""
        path = self.folder / PLAN
        try:
            plan: Any = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise GnavError(f"{path}: there is no such file; a tournament leaves one in its folder") from None
        except (OSError, ValueError) as error:
            raise GnavError(f"{path}: is not the plan of a tournament: {error}") from None
        if not isinstance(plan, dict) or plan.keys() != {"schema", "num_units", "identity"} or plan["schema"] != SCHEMA:
            raise GnavError(f"{path}: is no plan of schema {SCHEMA}, which is what this Gnav reads")
        return plan

    @property
    def num_units(self) -> int:
        """Units of the whole tournament."""
        return self.plan["num_units"]

    @property
    def shard(self) -> tuple[int, int] | None:
        """(i, n) if the folder is to have only a part of the units."""
        path = self.folder / SHARD
        if not path.exists():
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            shard = json.loads(path.read_bytes())
            return int(shard["shard"]), int(shard["of"])
        return None

    def _check(self, plan: dict[str, Any], *, may_grow: bool) -> None:
        """What is in the folder belongs to `plan`."""
        remedy = "name another folder with --out, or say --overwrite"
        if (self.folder / PLAN).exists():
            try:
                before = self.plan
            except GnavError as error:
                raise GnavError(f"{error}: {remedy}") from None
            if may_grow:
                # what is there beyond the units of this plan stays
                plan["num_units"] = before["num_units"] = max(before["num_units"], plan["num_units"])
            if not same_plan(before, plan):
                raise GnavError(f"{self.folder}: holds another tournament ({plan_difference(before, plan)}): {remedy}")
        elif self._is_finished or self._unit_files():
            raise GnavError(f"{self.folder}: holds results without the {PLAN} that says of what: {remedy}")

    # ------------------------------------------------------------------------------------------------- its units

    @property
    def _is_finished(self) -> bool:
        return (self.folder / RESULTS).exists()

    def _path(self, unit: int, ending: str = "parquet") -> Path:
        return self.folder / UNITS / f"{unit:06d}.{ending}"

    def _unit_files(self) -> list[Path]:
        """The files of units, whole and half-written ones."""
        with suppress(FileNotFoundError):
            return [path for path in (self.folder / UNITS).iterdir() if _OUR_UNIT_FILE.fullmatch(path.name)]
        return []

    def finished_units(self) -> set[int]:
        """The units that are there and whole; after `begin`, what is left of others has been removed."""
        if self._is_finished:
            return set(range(self.num_units))
        finished = {unit for unit in range(self.num_units) if self._read(unit) is not None}
        if self._lock is not None:
            for path in self._unit_files():
                number = path.name.partition(".")[0]  # none for a half-written file, whose name begins with a dot
                if not number or int(number) not in finished:
                    path.unlink()
        return finished

    def is_complete(self) -> bool:
        """Whether all units are there."""
        return self._is_finished or not self._missing()

    def _missing(self) -> list[int]:
        return [unit for unit in range(self.num_units) if not self._path(unit).exists()]

    def remove(self, unit: int) -> None:
        """The unit is to be played again."""
        self._path(unit).unlink()

    def add(self, unit: int, table: "pa.Table", errors: Sequence[Mapping[str, Any]] = ()) -> None:
        """The unit is on disk: its entries, and what went wrong, rows of `ERROR_COLUMNS` without the unit."""
        if self._lock is None:
            raise GnavError(f"{self.folder}: `begin` comes before a unit is added")
        if not 0 <= unit < self.num_units:
            raise GnavError(f"unit must be 0 to {self.num_units - 1}, not {unit}")
        if self._is_finished or self._path(unit).exists():
            raise GnavError(f"{self.folder}: unit {unit} is there already, and what is there is not written again")
        rows = [_error_row({**row, "unit": unit}) for row in errors]
        contents = {self._path(unit, "errors.json").name: _json(rows)} if rows else {}
        if not rows:
            self._path(unit, "errors.json").unlink(missing_ok=True)  # of a run that was killed between the two
        # moved in this order: a unit that is there has its errors
        write_files(self.folder / UNITS, contents | {self._path(unit).name: parquet_bytes([table])})

    def read_units(self, numbers: Iterable[int]) -> Iterator["pa.Table"]:
        """The entries of the units, in the order of `numbers`, one at a time; `GnavError` if one is not whole."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._is_finished:
            path = self.folder / RESULTS
            try:
                with pq.ParquetFile(path, page_checksum_verification=True) as file:
                    for unit in numbers:
                        yield file.read_row_group(unit)
            except (OSError, ValueError, pa.ArrowException) as error:
                raise GnavError(f"{path}: is not whole, so play it again with --overwrite: {error}") from None
            return
        for unit in numbers:
            table = self._read(unit)
            if table is None:
                raise GnavError(f"{self._path(unit)}: is not there or not whole; the same command again plays it")
            yield table

    def _read(self, unit: int) -> "pa.Table | None":
        """The entries of a unit that waits in a file of its own; None if it is missing or not whole."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # every byte is read, and the pages' checksums are compared
            with pq.ParquetFile(self._path(unit), page_checksum_verification=True) as file:
                return file.read()
        except (OSError, ValueError, pa.ArrowException):
            return None

    def read_errors(self) -> list[dict[str, Any]]:
        """What went wrong in the units that are there, rows of `ERROR_COLUMNS` in the order of units."""
        if self._is_finished:
            try:
                with (self.folder / ERRORS).open(encoding="utf-8", newline="") as file:
                    return [_error_row(row) for row in csv.DictReader(file)]
            except (OSError, ValueError, KeyError) as error:
                raise GnavError(f"{self.folder / ERRORS}: is not what a tournament has written: {error!r}") from None
        rows: list[dict[str, Any]] = []
        for unit in range(self.num_units):
            path = self._path(unit, "errors.json")
            if path.exists() and self._path(unit).exists():
                rows += map(_error_row, json.loads(path.read_bytes()))
        return rows

    # --------------------------------------------------------------------------------------------------- the end

    def write_results(self) -> None:
        """All units are in results.parquet and errors.csv and nowhere else; `GnavError` if one is missing."""
        if self._lock is None:
            raise GnavError(f"{self.folder}: `begin` comes before results are written")
        if self._is_finished:
            return
        if missing := self._missing():
            raise GnavError(
                f"{self.folder}: {some_units(missing, self.num_units)} missing; the same command again plays them"
            )
        write_files(self.folder, {ERRORS: _errors_csv(self.read_errors())})
        waiting = self.folder / f".{RESULTS}.new"
        try:
            with waiting.open("wb") as file:
                _write_parquet(file, self.read_units(range(self.num_units)))
                file.flush()
                os.fsync(file.fileno())
            waiting.replace(self.folder / RESULTS)
        except OSError as error:
            raise GnavError(f"{self.folder}: cannot be written to: {error.strerror or error}") from None
        self._remove_units()

    def _remove_units(self) -> None:
        for path in self._unit_files():
            path.unlink()
        with suppress(OSError):  # there is none, or somebody has files of his own in it
            (self.folder / UNITS).rmdir()

    def _remove_all(self) -> None:
        """Nothing of a tournament is left; the plan went last, so that what a killed run leaves is still known."""
        self._remove_units()
        for name in (*self._reports, RESULTS, ERRORS, SHARD, PLAN):
            for path in (self.folder / name, self.folder / f".{name}.new"):
                path.unlink(missing_ok=True)


# ----------------------------------------------------------------------------------------- how it is written


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()


def _error_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns in their order and types; what UTF-8 cannot say is written out."""
    text = {name: str(row[name]).encode("utf-8", "backslashreplace").decode() for name in ERROR_COLUMNS}
    return {name: kind(text[name]) for name, kind in ERROR_COLUMNS.items()}


def _errors_csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(ERROR_COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def parquet_bytes(tables: Iterable["pa.Table"]) -> bytes:
    """The tables as one Parquet file, as they are kept."""
    stream = io.BytesIO()
    _write_parquet(stream, tables)
    return stream.getvalue()


def _write_parquet(file: Any, tables: Iterable["pa.Table"]) -> None:
    """One or more tables of the same schema are in the file, a row group each; equal tables give equal bytes."""
    import pyarrow.parquet as pq

    tables = iter(tables)
    first = next(tables)
    with pq.ParquetWriter(file, first.schema, compression="zstd", write_page_checksum=True) as writer:
        for table in chain([first], tables):
            writer.write_table(table.combine_chunks(), row_group_size=max(1, table.num_rows))


def some_units(units: Sequence[int], num_units: int) -> str:
    """How many units, and which are the first."""
    names = ", ".join(map(str, units[:5])) + (" ..." if len(units) > 5 else "")
    return f"{len(units)} of {num_units} units ({names}) are"


def plan_difference(before: Any, now: Any, name: str = "") -> str:
    """What differs between two plans, by name."""
    if isinstance(before, dict) and isinstance(now, dict):
        parts = [
            plan_difference(before.get(key), now.get(key), key if name in ("", "identity") else f"{name}.{key}")
            for key in sorted(before.keys() | now.keys())
            if before.get(key) != now.get(key)
        ]
        return "; ".join(parts)
    return f"{name} was {_short(before)}, is {_short(now)}"


def _compared(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without what its identity has under `as_named`: other words for the same."""
    return {**plan, "identity": {key: value for key, value in plan["identity"].items() if key != "as_named"}}


def same_plan(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two plans have the same results."""
    return _compared(one) == _compared(other)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _locked(path: Path) -> BinaryIO:
    """The file, locked until it is closed, which the system does for a process that dies.

    Where the system or the file system has no such locks, two runs are not kept apart.
    """
    try:
        import fcntl
    except ImportError:
        return path.open("a+b")
    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode() or "another process"
            file.close()
            raise GnavError(f"{path.parent}: {holder} writes to it: wait for it, or name another folder") from None
        except OSError:
            return file
        if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            break
        file.close()  # its last holder has removed it meanwhile
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
    file.flush()
    return file
