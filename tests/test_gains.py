"""Best-response gains in a tournament: measured once, kept, put together, and harmless where an agent fails."""

import json

import numpy as np
import pytest

from gnav_agents.arena import gains
from gnav_agents.arena.gains import GAINS_FILE, measure_gain, measure_gains, num_cells
from gnav_agents.arena.plan import make_plan
from gnav_agents.arena.tournament import merge_folders, play_in_folder, run_tournament
from gnav_agents.solve.exact_gain import exact_gain
from gnav_agents.threshold import stand, threshold
from gnav_env import GnavError, get_rules
from tournaments import Below, BelowAsPolicy, contents

NAMES = ("tips", "threshold:IV", "uniform")
FOREIGN = """
class Plain:
    def act(self, observation, action_mask, rng):
        return action_mask.argmax(axis=1)

class Raising(Plain):
    def act(self, observation, action_mask, rng):
        raise RuntimeError("the fox is ill")
"""


class Illegal:
    """Says what is no action."""

    def act(self, observation, action_mask, rng):
        return np.full(len(observation), 7)


@pytest.fixture(autouse=True)
def _few_deals(monkeypatch):
    monkeypatch.setattr(gains, "_NUM_DEALS", 1200)


def small_plan(**options):
    return make_plan(NAMES, "pagat", (2, 3), blocks=4, **{"gains": "bound", **options})


def test_there_is_a_cell_for_each_agent_at_each_number_of_seats_or_none():
    assert num_cells(small_plan()) == 6
    assert num_cells(small_plan(gains="none")) == 0
    found = measure_gains(small_plan(), range(6))
    assert [(found[cell].agent, found[cell].num_seats) for cell in range(6)] == [
        (name, num_seats) for num_seats in (2, 3) for name in NAMES
    ]


def test_a_bound_has_its_interval_and_the_same_seed_gives_it_again():
    one, again = (measure_gain(small_plan(), 2) for _ in range(2))
    assert one == again
    assert one.how == "bound"
    assert one.low < one.value < one.high  # type: ignore[operator]
    assert one.low > 0.1  # `uniform` loses a lot  # type: ignore[operator]
    assert measure_gain(small_plan(seed=1), 2) != one


def test_an_exact_gain_is_that_of_the_solver_and_has_no_interval():
    found = measure_gain(small_plan(gains="exact"), 1)
    rules = get_rules("pagat")
    assert found.how == "exact"
    assert (found.low, found.high) == (None, None)
    assert found.value == round(exact_gain("threshold:IV", threshold("IV", rules), rules, 2).gain, 6)


def test_where_it_cannot_be_exact_there_is_a_bound():
    agents = {"low": Below(0.3), "policy": BelowAsPolicy(0.3)}
    plan = make_plan(agents, "pagat", 2, blocks=2, gains="exact")
    assert [measure_gain(plan, cell).how for cell in range(2)] == ["bound", "exact"]


def test_several_numbers_of_seats_have_their_mean_and_its_interval():
    summary = run_tournament(NAMES, "pagat", (2, 3), blocks=4, gains="bound").summary
    by_seats = [next(row.gain for row in field.rows if row.agent == "tips") for field in summary.fields]
    whole = next(row.gain for row in summary.leaderboard if row.agent == "tips")
    assert whole.how == "bound"  # type: ignore[union-attr]
    assert whole.value == pytest.approx(np.mean([gain.value for gain in by_seats]), abs=1e-6)  # type: ignore[union-attr]
    widths = [gain.high - gain.low for gain in by_seats]  # type: ignore[union-attr,operator]
    assert whole.high - whole.low == pytest.approx(np.hypot(*widths) / 2, abs=1e-5)  # type: ignore[union-attr,operator]


def test_an_agent_that_fails_has_no_gain_and_a_reason_and_the_others_have_theirs():
    plan = make_plan({"ill": Illegal(), "fox": stand()}, "pagat", 3, blocks=4, gains="bound")
    found = measure_gains(plan, range(2))
    assert (found[0].how, found[0].value) == ("none", None)
    assert found[0].reason == "agent ill: an action is 0 (STAND) or 1 (EXCHANGE), not 7"
    assert found[1].how == "bound"


def test_if_strict_its_failure_ends_the_run():
    plan = make_plan({"ill": Illegal()}, "pagat", 3, {"self": 2}, gains="bound", strict=True)
    with pytest.raises(GnavError, match="agent ill: an action is 0"):
        measure_gains(plan, range(1))


@pytest.mark.slow
def test_foreign_agents_are_asked_in_processes_of_their_own(tmp_path, monkeypatch):
    (tmp_path / "strangers.py").write_text(FOREIGN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    plan = make_plan(["strangers:Plain", "strangers:Raising"], "pagat", 3, blocks=4, gains="bound")
    plain, raising = measure_gain(plan, 0), measure_gain(plan, 1)
    assert plain.how == "bound"
    assert plain.value == measure_gain(make_plan({"fox": stand()}, "pagat", 3, {"self": 2}, gains="bound"), 0).value
    assert raising.how == "none"
    assert "the fox is ill" in raising.reason


def test_what_a_folder_has_is_not_measured_again(tmp_path, monkeypatch):
    first = play_in_folder(small_plan(), tmp_path).summary
    before = contents(tmp_path)
    monkeypatch.setattr(gains, "measure_gain", lambda plan, cell: pytest.fail("it was there"))
    assert play_in_folder(small_plan(), tmp_path).summary == first
    assert contents(tmp_path) == before


def test_a_finished_tournament_can_be_given_gains_of_another_kind_without_being_played_again(tmp_path):
    play_in_folder(small_plan(gains="none"), tmp_path)
    assert GAINS_FILE not in contents(tmp_path)
    session = play_in_folder(small_plan(gains="exact"), tmp_path)
    assert session.num_matches == 0
    assert {row.gain.how for row in session.summary.leaderboard} == {"exact"}  # type: ignore[union-attr]
    assert json.loads((tmp_path / GAINS_FILE).read_text())["gains"] == "exact"


def test_shards_measure_their_part_and_merged_are_the_same_bytes(tmp_path):
    play_in_folder(small_plan(), tmp_path / "whole")
    parts = [tmp_path / f"part{number}" for number in range(2)]
    for number, part in enumerate(parts):
        play_in_folder(small_plan(), part, shard=(number, 2))
        assert list(json.loads((part / GAINS_FILE).read_text())["cells"]) == [str(number + 2 * i) for i in range(3)]
    merge_folders(parts, tmp_path / "merged")
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")


def test_shards_without_the_same_gains_are_not_merged(tmp_path):
    play_in_folder(small_plan(), tmp_path / "a", shard=(0, 2))
    play_in_folder(small_plan(gains="none"), tmp_path / "b", shard=(1, 2))
    with pytest.raises(GnavError, match=r"3 of 6 best-response gains are missing: .* same --gains, here bound"):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")


@pytest.mark.slow
def test_workers_give_the_same_bytes(tmp_path):
    plan = make_plan(NAMES, "pagat", (2, 3), blocks=4, gains="exact")
    play_in_folder(plan, tmp_path / "serial")
    play_in_folder(plan, tmp_path / "process", executor="process", workers=2)
    assert contents(tmp_path / "process") == contents(tmp_path / "serial")


def test_gains_of_no_kind_are_refused():
    with pytest.raises(GnavError, match="gains must be bound, exact or none, not 'some'"):
        small_plan(gains="some")
