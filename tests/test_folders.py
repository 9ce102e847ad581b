"""A tournament's folder: whatever is killed, split up or played elsewhere, the files are the same to the last byte."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gnav_agents.arena import make_plan, play_in_folder, read_summary, run_tournament
from gnav_agents.arena.comparison import make_comparison
from gnav_agents.arena.plan import plan_of
from gnav_agents.arena.store import ERRORS, PLAN, RESULTS
from gnav_agents.arena.tournament import REPORTS, default_folder, merge_folders
from gnav_agents.uniform import Uniform
from gnav_env.errors import GnavError
from gnav_env.losses import loss_causes
from tournaments import ZOO, Below, contents, make_units_small

NAMES = ("tips", "threshold:IV", "uniform")
FIELDS = {"mixed": 20, "invasion": 3, "self": 4}
LONG_NIGHT = str(Path(__file__).parents[1] / "configs" / "variants" / "long_night.yaml")


class Stop(Exception):
    pass


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    make_units_small(monkeypatch, 12)


def small_plan(**options):
    return make_plan(**{"agents": NAMES, "seats": (3, 4), "fields": FIELDS, "seed": 5, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What one run without a break leaves."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        make_units_small(patch, 12)
        play_in_folder(small_plan(), folder)
    return contents(folder)


def put_back(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content)


# ------------------------------------------------------------------------------------------------ what is there


def test_in_the_end_there_are_plan_results_errors_and_reports_and_nothing_else(whole):
    assert whole.keys() == {PLAN, RESULTS, ERRORS, *REPORTS}
    assert b"http" not in whole["report.html"].replace(b"http://www.w3.org/", b"")


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path, whole):
    play_in_folder(small_plan(), tmp_path / "a")
    assert contents(tmp_path / "a") == whole
    play_in_folder(small_plan(seed=6), tmp_path / "b")
    other = contents(tmp_path / "b")
    assert other.keys() == whole.keys()
    assert [name for name in whole if other[name] == whole[name]] == [ERRORS]


def test_the_summary_on_disk_is_that_of_the_same_tournament_in_memory(tmp_path, whole):
    result = run_tournament(NAMES, "pagat", (3, 4), FIELDS, seed=5)
    put_back(tmp_path, whole)
    session = play_in_folder(small_plan(), tmp_path / "again", shard=(0, 1))
    assert session.summary == result.summary == read_summary(tmp_path)
    assert result.summary.to_json().encode() == whole["summary.json"]
    assert session.num_matches == result.summary.counts.matches
    assert session.num_decisions == result.summary.counts.decisions


def test_results_have_a_row_for_each_seat_of_each_match_and_a_row_group_for_each_unit(tmp_path, whole):
    plan = small_plan()
    put_back(tmp_path, whole)
    result = run_tournament(NAMES, "pagat", (3, 4), FIELDS, seed=5)
    with pq.ParquetFile(tmp_path / RESULTS) as file:
        assert file.num_row_groups == len(plan.units) == 20
        for unit, played in zip(plan.units, result.units, strict=True):
            table, entries = file.read_row_group(unit.number), played.entries.ravel()
            field = plan.fields[unit.field]
            assert set(table.column("seats").to_pylist()) == {field.num_seats}
            assert set(table.column("field").to_pylist()) == {field.kind}
            assert table.column("agent").to_pylist() == [plan.names[agent] for agent in entries["agent"]]
            for number, cause in enumerate(loss_causes(plan.rules)):
                assert np.array_equal(table.column(f"lost_{cause}"), entries["losses"][:, number])
            plain = [name for name in entries.dtype.names if name not in ("agent", "losses")]
            for name in plain:
                assert np.array_equal(table.column(name), entries[name])
            assert table.num_columns == 2 + 1 + len(loss_causes(plan.rules)) + len(plain)


def test_the_summary_says_what_was_played(whole):
    summary = json.loads(whole["summary.json"])
    assert summary["command"] == (
        "gnav tournament --agents tips,threshold:IV,uniform --rules pagat --seats 3,4 "
        "--fields mixed=20,invasion=3,self=4 --seed 5 --gains none"
    )
    assert summary["plan"]["rules"] == {"name": "pagat", "hash": small_plan().rules.hash}
    assert summary["plan"]["fields"] == FIELDS
    assert summary["plan"]["seed"] == 5
    assert {"gnav", "numpy", "python"} <= summary["versions"].keys()
    assert [(field["field"], field["num_seats"]) for field in summary["fields"]] == [
        (kind, num_seats) for kind in FIELDS for num_seats in (3, 4)
    ]
    assert [field["pair_spread"] is None for field in summary["fields"]] == [False, False, True, True, True, True]


def test_a_folder_without_a_name_is_called_after_what_is_played():
    assert default_folder(small_plan()).as_posix() == "results/pagat-3-4-seats-mixed-20-seed-5"
    other = make_plan(NAMES, "letters", 5, {"reference:tips": 7})
    assert default_folder(other).as_posix() == "results/letters-5-seats-reference-7-seed-0"


# --------------------------------------------------------------------------------------------------- resumption


def test_a_run_that_was_stopped_goes_on_with_nothing_lost_or_counted_twice(tmp_path, whole):
    plan = small_plan()
    num_matches = sum(field.num_matches for field in plan.fields)
    recorded = []
    for limit in (num_matches // 3, 2 * num_matches // 3):

        def give_up(done, limit=limit):
            if done > limit:
                raise Stop

        with pytest.raises(Stop):
            play_in_folder(plan, tmp_path, progress=give_up, record=lambda match: recorded.append(match))
        assert not (tmp_path / RESULTS).exists()
    assert 0 < len(list((tmp_path / "units").iterdir())) < len(plan.units)
    told = []
    num_before = len(recorded)
    session = play_in_folder(plan, tmp_path, progress=told.append, record=recorded.append)
    assert contents(tmp_path) == whole
    assert 0 < session.num_matches < num_matches
    assert told[0] == num_matches - session.num_matches
    assert told[-1] == num_matches
    assert session.num_matches == len(recorded) - num_before
    assert len({(m.field, m.num_seats, m.block, m.line_up, m.rotation) for m in recorded}) == num_matches


def test_an_agent_that_ends_the_run_loses_only_the_unit_that_was_being_played(tmp_path):
    class Interrupting(Uniform):
        num_left = 250

        def probabilities(self, observation, action_mask):
            Interrupting.num_left -= 1
            if Interrupting.num_left == 0:
                raise KeyboardInterrupt
            return super().probabilities(observation, action_mask)

    def plan(fox):
        return small_plan(agents={"fox": fox, "low": ZOO["low"], "uniform": ZOO["uniform"]})

    play_in_folder(plan(Uniform()), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        play_in_folder(plan(Interrupting()), tmp_path / "stopped")
    num_units = len(list((tmp_path / "stopped" / "units").iterdir()))
    assert 0 < num_units < len(plan(Uniform()).units)
    play_in_folder(plan(Interrupting()), tmp_path / "stopped")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_a_finished_tournament_is_not_played_again_and_its_reports_are_made_again(tmp_path, whole):
    put_back(tmp_path, whole)
    (tmp_path / "report.html").unlink()
    session = play_in_folder(small_plan(), tmp_path)
    assert (session.num_matches, session.num_decisions) == (0, 0)
    assert contents(tmp_path) == whole


@pytest.mark.slow
def test_a_run_that_is_really_killed_goes_on_to_the_same_bytes(tmp_path, whole):
    code = (
        "from gnav_agents.arena import fields; fields.blocks_per_unit = lambda matches: max(1, 12 // matches)\n"
        "from gnav_agents.arena import play; play.NUM_TABLES = 1\n"  # slower
        "from gnav_agents.cli import main; main()"
    )
    command = json.loads(whole["summary.json"])["command"].split()[1:]
    folder = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", code, *command, "--out", str(folder)], stderr=subprocess.DEVNULL)
    give_up = time.monotonic() + 120
    while not list(folder.glob("units/*.parquet")):
        assert process.poll() is None and time.monotonic() < give_up
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / RESULTS).exists()
    session = play_in_folder(small_plan(), folder)
    assert 0 < session.num_matches < session.summary.counts.matches
    assert contents(folder) == whole


# ------------------------------------------------------------------------------------------- another tournament


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"seed": 6}, "plan.seed was 5, is 6"),
        ({"agents": ("uniform", "tips", "threshold:IV")}, "plan.agents"),
        ({"rules": "letters"}, "plan.rules"),
        ({"fields": {**FIELDS, "mixed": 21}}, "plan.fields"),
        ({"fields": {"invasion": 3, "mixed": 20, "self": 4}}, "blocks was"),
        ({"time_limit": 3.0}, "plan.time_limit was 10.0, is 3.0"),
    ],
)
def test_a_folder_with_another_tournament_is_refused_and_left_alone(tmp_path, whole, other, difference):
    put_back(tmp_path, whole)
    with pytest.raises(GnavError, match="holds another tournament") as told:
        play_in_folder(small_plan(**other), tmp_path)
    assert difference in str(told.value)
    assert contents(tmp_path) == whole


def test_overwriting_replaces_another_tournament_and_leaves_files_that_are_not_of_it(tmp_path, whole):
    (tmp_path / "a").mkdir()
    put_back(tmp_path / "a", whole)
    (tmp_path / "a" / "notes.txt").write_text("mine")
    play_in_folder(small_plan(seats=4), tmp_path / "a", overwrite=True)
    play_in_folder(small_plan(seats=4), tmp_path / "b")
    found = contents(tmp_path / "a")
    assert found.pop("notes.txt") == b"mine"
    assert found == contents(tmp_path / "b")


def test_a_changed_file_of_an_agent_is_another_tournament(tmp_path):
    (tmp_path / "fox.onnx").write_bytes(b"one")
    one = make_plan(["tips", str(tmp_path / "fox.onnx")]).identity()
    (tmp_path / "fox.onnx").write_bytes(b"another")
    other = make_plan(["tips", str(tmp_path / "fox.onnx")]).identity()
    assert one["plan"]["digests"].keys() == {str(tmp_path / "fox.onnx")}
    assert one != other


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"agents": ("tips", "tipz")}, "did you mean 'tips'"),
        ({"agents": ("tips", "threshold:XX")}, "XX"),
        ({"agents": ("tips", "no_module:Agent")}, "no_module"),
    ],
)
def test_agents_that_cannot_be_made_leave_no_folder(tmp_path, options, sentence):
    with pytest.raises(GnavError, match=sentence):
        play_in_folder(small_plan(**options), tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "options", [{"shard": (2, 2)}, {"executor": "threads"}, {"workers": 2}, {"address": "auto"}, {"workers": 0}]
)
def test_a_way_to_play_that_cannot_be_leaves_nothing(tmp_path, options):
    with pytest.raises(GnavError):
        play_in_folder(small_plan(), tmp_path / "a", **options)
    assert not (tmp_path / "a").exists() or not contents(tmp_path / "a").keys() - {PLAN}


# ---------------------------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize(
    "plan",
    [
        make_plan(["tips", "uniform"], "kille", (3, 9), {"self": 3, "mixed": None}, 17, 2**63 - 1, time_limit=0.25),
        make_plan(["tips", "fox.zip"], LONG_NIGHT, trust=True),
        make_comparison("tips", "uniform", "letters", 5, ("stand", "exchange"), 3, max_blocks=70),
    ],
    ids=["named", "from a file", "comparison"],
)
def test_a_plan_comes_back_from_what_is_kept_of_it(plan):
    identity = json.loads(json.dumps(plan.identity()))
    again = plan_of(identity)
    assert again == plan
    assert again.rules == plan.rules
    assert [field.line_ups.tolist() for field in again.fields] == [field.line_ups.tolist() for field in plan.fields]
    assert json.loads(json.dumps(again.identity())) == identity


def test_a_plan_of_another_version_or_of_nothing_is_refused():
    identity = small_plan().identity()
    with pytest.raises(GnavError, match=r"was played with Gnav 0\.0\.1, and this is Gnav"):
        plan_of({**identity, "gnav": "0.0.1"})
    for key in ("plan", "blocks", "rules", "among"):
        with pytest.raises(GnavError, match="not the plan of a tournament"):
            plan_of({name: value for name, value in identity.items() if name != key})


# -------------------------------------------------------------------------------------- shards and other executors


@pytest.mark.parametrize("count", [2, 3])
def test_merged_shards_give_the_same_bytes_as_one_run(tmp_path, whole, count):
    folders = [tmp_path / f"shard{index}" for index in range(count)]
    numbers = []
    for index, folder in enumerate(folders):
        session = play_in_folder(small_plan(), folder, shard=(index, count))
        assert session.summary is None
        assert not set(REPORTS) & contents(folder).keys()
        numbers.append(session.num_matches)
    assert sum(numbers) == json.loads(whole["summary.json"])["counts"]["matches"]
    summary = merge_folders(folders[::-1], tmp_path / "merged")
    assert summary == read_summary(tmp_path / "merged")
    assert contents(tmp_path / "merged") == whole


def test_shards_that_are_missing_are_named_and_nothing_is_left(tmp_path):
    play_in_folder(small_plan(), tmp_path / "a", shard=(0, 2))
    with pytest.raises(GnavError, match="missing") as told:
        merge_folders([tmp_path / "a"], tmp_path / "merged")
    assert "1/2" in str(told.value)
    assert not (tmp_path / "merged").exists()


def test_a_shard_may_be_finished_into_the_whole_where_it_lies(tmp_path, whole):
    play_in_folder(small_plan(), tmp_path, shard=(1, 2))
    play_in_folder(small_plan(), tmp_path)
    assert contents(tmp_path) == whole


def test_shards_of_different_tournaments_are_not_merged(tmp_path):
    play_in_folder(small_plan(), tmp_path / "a", shard=(0, 2))
    play_in_folder(small_plan(seed=6), tmp_path / "b", shard=(1, 2))
    with pytest.raises(GnavError, match="of another tournament"):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")


@pytest.mark.slow
def test_two_processes_give_the_same_bytes_as_one(tmp_path, monkeypatch):
    monkeypatch.undo()  # workers know nothing of small units; a unit for each field and number of seats
    plan = small_plan(seats=(3, 4, 5))
    assert len(plan.units) == 9
    play_in_folder(plan, tmp_path / "one")
    told = []
    play_in_folder(plan, tmp_path / "two", executor="process", workers=2, progress=told.append)
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert told == sorted(told)
    assert told[-1] == sum(field.num_matches for field in plan.fields)


def test_agents_that_are_objects_cannot_be_sent_to_workers(tmp_path):
    plan = small_plan(agents={"fox": Below(0.3), "owl": Below(0.4)})
    with pytest.raises(GnavError, match="agents that are objects are played with executor serial"):
        play_in_folder(plan, tmp_path, executor="process", workers=2)
