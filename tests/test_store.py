"""The store: whatever is killed, the next run resumes; however it was played, the same bytes come of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnav_agents.arena.merging import merge
from gnav_agents.arena.store import ERROR_COLUMNS, Store, units_of_shard
from gnav_env.errors import GnavError

PLAN = {"seed": 1, "agents": ("tips", "uniform"), "rules": {"name": "pagat", "hash": "ab12"}}
NUM_UNITS = 5


def entries(unit):
    rng = np.random.default_rng(unit)
    num_rows = 50 + unit
    return pa.table(
        {
            "block": np.arange(num_rows) + 100 * unit,
            "place": rng.integers(1, 7, num_rows).astype(np.int16),
            "agent": pa.array(rng.choice(["tips", "uniform"], num_rows)).dictionary_encode(),
        }
    )


def failures(unit):
    """Units 1 and 3 have some."""
    row = {
        "seats": 6,
        "field": "mixed",
        "block": 100 * unit,
        "line_up": 0,
        "rotation": 2,
        "seat": 4,
        "agent": "fox",
        "deal": 7,
        "kind": "raised",
        "detail": 'said "no", twice,\r\nand\x00 \ud800 left',
    }
    return [row, row | {"seat": np.int16(5)}] if unit in (1, 3) else []


def play(folder, units=range(NUM_UNITS), *, ended=True, **options):
    with Store(folder) as store:
        store.begin(PLAN, num_units=NUM_UNITS, **options)
        missing = [unit for unit in units if unit not in store.finished_units()]
        for unit in missing:
            store.add(unit, entries(unit), failures(unit))
        if ended and store.is_complete():
            store.write_results()
        return missing


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What one run without a break leaves."""
    folder = tmp_path_factory.mktemp("whole")
    play(folder)
    return contents(folder)


def test_in_the_end_there_are_a_plan_results_and_errors_and_nothing_else(whole):
    assert sorted(whole) == ["errors.csv", "plan.json", "results.parquet"]
    assert json.loads(whole["plan.json"])["identity"] == {**PLAN, "agents": ["tips", "uniform"]}


def test_results_have_a_row_group_for_each_unit(tmp_path):
    play(tmp_path)
    with pq.ParquetFile(tmp_path / "results.parquet") as file:
        assert [file.read_row_group(unit) for unit in range(file.num_row_groups)] == [*map(entries, range(NUM_UNITS))]


@pytest.mark.parametrize("ended", [False, True])
def test_units_and_errors_are_read_back_as_they_were_before_the_end_and_after_it(tmp_path, ended):
    play(tmp_path, [3, 0, 1, 2, 4], ended=ended)
    store = Store(tmp_path)
    assert (tmp_path / "results.parquet").exists() is ended
    assert store.is_complete() and store.finished_units() == set(range(NUM_UNITS))
    assert [*store.read_units([4, 1])] == [entries(4), entries(1)]
    rows = store.read_errors()
    assert [(row["unit"], row["seat"]) for row in rows] == [(1, 4), (1, 5), (3, 4), (3, 5)]
    assert all(list(row) == list(ERROR_COLUMNS) for row in rows)
    assert all(isinstance(row[name], kind) for row in rows for name, kind in ERROR_COLUMNS.items())
    assert rows[0]["detail"].startswith('said "no", twice,\r\nand\x00')


def test_errors_csv_has_its_header_where_nothing_went_wrong(tmp_path):
    with Store(tmp_path) as store:
        store.begin(PLAN, num_units=1)
        store.add(0, entries(0))
        store.write_results()
        assert store.read_errors() == []
    assert (tmp_path / "errors.csv").read_text() == ",".join(ERROR_COLUMNS) + "\n"


# ----------------------------------------------------------------------------------------------------- resuming


def test_a_run_that_was_cut_off_resumes_with_what_is_missing_to_the_same_bytes(tmp_path, whole):
    play(tmp_path, [4, 1])
    before = contents(tmp_path)
    assert play(tmp_path, ended=False) == [0, 2, 3]
    assert {name: data for name, data in contents(tmp_path).items() if name in before} == before
    assert play(tmp_path) == []
    assert contents(tmp_path) == whole
    assert play(tmp_path) == []
    assert contents(tmp_path) == whole


@pytest.mark.parametrize("moved", range(2))
def test_a_unit_that_was_being_written_when_the_run_was_killed_is_played_again(tmp_path, whole, monkeypatch, moved):
    """Killed before its first file is moved to its place, or between its errors and its entries."""
    play(tmp_path, [0])
    real, num_moved = Path.replace, 0

    def killed(path, target):
        nonlocal num_moved
        if path.parent.name == "units":
            num_moved += 1
            if num_moved > moved:
                raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            play(tmp_path, [1])
    assert len(list((tmp_path / "units").iterdir())) == 3
    assert Store(tmp_path).read_errors() == []
    assert Store(tmp_path).finished_units() == {0}
    assert len(list((tmp_path / "units").iterdir())) == 3  # who only reads removes nothing
    assert play(tmp_path) == [1, 2, 3, 4]
    assert contents(tmp_path) == whole


def test_errors_that_a_killed_run_left_are_not_those_of_the_unit(tmp_path):
    with Store(tmp_path) as store:
        store.begin(PLAN, num_units=1)
        (tmp_path / "units").mkdir()
        (tmp_path / "units" / "000000.errors.json").write_text("[{}]")
        store.add(0, entries(0))
        assert store.read_errors() == []


@pytest.mark.parametrize("place", [(os, "fsync"), (pq.ParquetWriter, "write_table"), (Store, "_remove_units")])
def test_a_run_that_was_killed_while_it_wrote_results_ends_with_the_same_bytes(tmp_path, whole, monkeypatch, place):
    def killed(*_, **__):
        raise KeyboardInterrupt

    play(tmp_path, ended=False)
    with Store(tmp_path) as store, monkeypatch.context() as patched:
        store.begin(PLAN, num_units=NUM_UNITS)
        patched.setattr(*place, killed)
        with pytest.raises(KeyboardInterrupt):
            store.write_results()
    assert (tmp_path / "units").exists()
    assert play(tmp_path) == []
    assert contents(tmp_path) == whole


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped"])
def test_a_unit_that_is_not_whole_counts_as_missing(tmp_path, whole, damage):
    play(tmp_path, ended=False)
    path = tmp_path / "units" / "000003.parquet"
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[len(data) // 4] ^= 1
    path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "flipped": data}[damage])
    assert Store(tmp_path).finished_units() == {0, 1, 2, 4}
    with pytest.raises(GnavError, match=r"000003.parquet: is not there or not whole"):
        list(Store(tmp_path).read_units(range(NUM_UNITS)))
    assert play(tmp_path) == [3]
    assert contents(tmp_path) == whole


def test_results_that_are_not_whole_are_refused(tmp_path):
    play(tmp_path)
    path = tmp_path / "results.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(GnavError, match=r"results.parquet: is not whole, so play it again with --overwrite"):
        list(Store(tmp_path).read_units([0]))
    (tmp_path / "errors.csv").write_text("unit\n1\n")
    with pytest.raises(GnavError, match=r"errors.csv: is not what a tournament has written"):
        Store(tmp_path).read_errors()


def test_what_is_there_is_never_written_again(tmp_path):
    with Store(tmp_path) as store:
        with pytest.raises(GnavError, match="`begin` comes before"):
            store.add(0, entries(0))
        store.begin(PLAN, num_units=2)
        store.add(1, entries(1))
        with pytest.raises(GnavError, match="unit 1 is there already"):
            store.add(1, entries(2))
        with pytest.raises(GnavError, match="unit must be 0 to 1, not 2"):
            store.add(2, entries(2))
        with pytest.raises(GnavError, match=r"1 of 2 units \(0\) are missing"):
            store.write_results()
        assert [*store.read_units([1])] == [entries(1)]


# --------------------------------------------------------------------------------------------- other tournaments


def test_another_tournament_is_refused_and_the_error_says_what_differs(tmp_path):
    play(tmp_path, [2])
    before = contents(tmp_path)
    other = PLAN | {"seed": 2, "rules": {"name": "pagat", "hash": "cd34"}, "time_limit": 1.5}
    with pytest.raises(GnavError, match="holds another tournament") as caught:
        Store(tmp_path).begin(other, num_units=7)
    for part in [
        'rules.hash was "ab12", is "cd34"; seed was 1, is 2; time_limit was null, is 1.5; num_units was 5, is 7',
        "name another folder with --out, or say --overwrite",
    ]:
        assert part in str(caught.value)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("ended", [False, True])
def test_overwriting_removes_the_tournament_and_spares_what_we_do_not_know(tmp_path, ended):
    play(tmp_path, shard=None if ended else (0, 2), ended=ended)
    (tmp_path / "units").mkdir(exist_ok=True)
    for name in ["notes.txt", "units/000012.parquet.bak", "units/mine.parquet", "report.html"]:
        (tmp_path / name).write_text("mine")
    with Store(tmp_path, reports=["report.html"]) as store:
        store.begin({"seed": 9}, num_units=3, overwrite=True)
        assert store.finished_units() == set() and store.read_errors() == [] and not store.is_complete()
    assert sorted(contents(tmp_path)) == ["notes.txt", "plan.json", "units/000012.parquet.bak", "units/mine.parquet"]
    assert Store(tmp_path).plan["identity"] == {"seed": 9}


@pytest.mark.parametrize("text", ["{", "[1]", '{"schema": 99, "num_units": 1, "identity": {}}'])
def test_a_plan_that_cannot_be_read_is_refused_and_can_be_overwritten(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(GnavError, match=r"plan.json: is .*--overwrite"):
        Store(tmp_path).begin(PLAN, num_units=NUM_UNITS)
    assert play(tmp_path, overwrite=True) == list(range(NUM_UNITS))


def test_units_without_a_plan_are_refused(tmp_path):
    play(tmp_path, [0])
    (tmp_path / "plan.json").unlink()
    with pytest.raises(GnavError, match=r"results without the plan.json"):
        Store(tmp_path).begin(PLAN, num_units=NUM_UNITS)
    with pytest.raises(GnavError, match=r"plan.json: there is no such file"):
        Store(tmp_path).finished_units()


@pytest.mark.parametrize("place", ["", "deeper/still"])
def test_a_folder_that_cannot_be_is_refused(tmp_path, place):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(GnavError, match="cannot be written to"):
        Store(tmp_path / "file" / place).begin(PLAN, num_units=NUM_UNITS)
    assert (tmp_path / "file").read_text() == "no folder"


# ------------------------------------------------------------------------------------------------------ the lock


def test_two_runs_do_not_write_to_the_same_folder_and_the_error_names_the_other(tmp_path):
    with Store(tmp_path) as store:
        store.begin(PLAN, num_units=NUM_UNITS)
        with pytest.raises(GnavError, match=rf"process {os.getpid()} on .* writes to it"):
            Store(tmp_path).begin(PLAN, num_units=NUM_UNITS)
        store.add(0, entries(0))
    assert play(tmp_path) == [1, 2, 3, 4]


def test_a_process_that_was_killed_holds_no_lock(tmp_path):
    code = (
        "import os, signal, sys; from gnav_agents.arena.store import Store\n"
        "Store(sys.argv[1]).begin({}, num_units=1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    assert subprocess.run([sys.executable, "-c", code, tmp_path], env=environment).returncode < 0
    assert (tmp_path / ".lock").exists()
    with Store(tmp_path) as store:
        store.begin({}, num_units=1)
    assert not (tmp_path / ".lock").exists()


# --------------------------------------------------------------------------------------------- shards and merging


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_share_the_units(count):
    units = [unit for index in range(count) for unit in units_of_shard(NUM_UNITS, (index, count))]
    assert sorted(units) == list(units_of_shard(NUM_UNITS, None)) == list(range(NUM_UNITS))


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0)])
def test_a_shard_that_cannot_be_is_refused(shard, tmp_path):
    with pytest.raises(GnavError, match="shard must be 0/N to N-1/N"):
        Store(tmp_path).begin(PLAN, num_units=NUM_UNITS, shard=shard)


def play_shards(folder, count):
    folders = [folder / f"shard{index}" for index in range(count)]
    for index, place in enumerate(folders):
        play(place, units_of_shard(NUM_UNITS, (index, count)), shard=(index, count))
    return folders


@pytest.mark.parametrize("count", [1, 2, 3])
def test_merged_shards_give_the_same_bytes_as_one_run(tmp_path, whole, count):
    folders = play_shards(tmp_path, count)
    with merge(folders, tmp_path / "out") as store:
        store.write_results()
    assert contents(tmp_path / "out") == whole


def test_cut_off_and_finished_folders_that_overlap_are_merged_too(tmp_path, whole):
    play(tmp_path / "all")
    play(tmp_path / "some", [3, 1])
    play(tmp_path / "out", [4])
    with merge([tmp_path / "some", tmp_path / "all"], tmp_path / "out") as store:
        store.write_results()
    assert contents(tmp_path / "out") == whole


def test_the_same_unit_with_other_contents_is_refused(tmp_path):
    for name, other in [("a", 1), ("b", 2)]:
        with Store(tmp_path / name) as store:
            store.begin(PLAN, num_units=2)
            store.add(0, entries(0))
            store.add(1, entries(other))
    with pytest.raises(GnavError, match=r"unit 1 is one thing in .*a and another in .*b"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    with Store(tmp_path / "out") as store:  # nobody holds it
        store.begin(PLAN, num_units=2)


def test_missing_units_are_counted_and_their_shard_is_named(tmp_path):
    folders = play_shards(tmp_path, 3)
    with pytest.raises(GnavError, match=r"^1 of 5 units \(2\) are missing, of shard 2/3"):
        merge(folders[:2], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folders_of_different_tournaments_are_not_merged(tmp_path):
    play(tmp_path / "a")
    with Store(tmp_path / "b") as store:
        store.begin(PLAN | {"seed": 3}, num_units=NUM_UNITS)
    with pytest.raises(GnavError, match=r"b: is of another tournament than .*a \(seed was 1, is 3\)"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    with pytest.raises(GnavError, match="is to be merged itself"):
        merge([tmp_path / "a"], tmp_path / "b" / ".." / "a")
    with pytest.raises(GnavError, match="name one folder or more"):
        merge([], tmp_path / "out")
