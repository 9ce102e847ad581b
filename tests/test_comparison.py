"""`gnav compare`: who is better is said with the error that was allowed, and the same either way round."""

import json

import numpy as np
import pytest

from gnav_agents.arena.comparison import COMPARISON, PLOT, block_means, compare, make_comparison
from gnav_agents.arena.sequential import SequentialTest
from gnav_agents.arena.store import PLAN
from gnav_agents.arena.workshop import Workshop, play_units
from gnav_agents.commands.compare import EXIT_CODES
from gnav_agents.uniform import Uniform
from gnav_env.errors import GnavError
from test_sequential import run_many
from tournaments import ZOO, Below, BelowAsPolicy, Shell, contents, make_units_small

NUM_RUNS = 2000


class Never:
    def act(self, observation, action_mask, rng):
        raise RuntimeError("never")


@pytest.fixture
def gnav(monkeypatch, capsys):
    return Shell(monkeypatch, capsys)


@pytest.fixture
def small_units(monkeypatch):
    make_units_small(monkeypatch, 200)


def played(plan):
    """The entries [M, S] of each unit."""
    with Workshop(plan) as workshop:
        return [unit.entries for _, unit in play_units(workshop, range(len(plan.units)))]


# ------------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("threshold:IV", "uniform", "--delta", "0.05"), 0, "threshold:IV is better than uniform"),
        (("uniform", "threshold:IV", "--delta", "0.05"), 1, "threshold:IV is better than uniform"),
        (("threshold:IV", "threshold:III", "--delta", "0.3"), 3, "are level: no difference of 0.3 either way"),
        (
            ("threshold:IV", "threshold:V", "--delta", "0.002", "--max-blocks", "20"),
            4,
            "allows no more than 20",
        ),
    ],
)
def test_the_verdict_is_said_and_is_the_exit_code(gnav, arguments, code, said):
    assert gnav("compare", *arguments, "--seats", "4") == code
    assert said in gnav.out
    assert arguments[0] in gnav.out.splitlines()[0] and arguments[1] in gnav.out.splitlines()[0]


def test_each_verdict_has_its_exit_code_and_none_is_that_of_errors():
    assert EXIT_CODES == {"better": 0, "worse": 1, "level": 3, "undecided": 4}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tips", "tips"), "name two different agents, not tips twice"),
        (("tips", "tipz"), "did you mean 'tips'"),
        (("tips", "uniform", "--seats", "1"), "seats must be 2 to 37"),
        (("tips", "uniform", "--rules", "pagta"), "did you mean 'pagat'"),
        (("tips", "uniform", "--among", "nobody"), "unknown agent 'nobody'"),
        (("tips", "uniform", "--among", "stand,"), "an agent's name is missing"),
        (("tips", "uniform", "--delta", "0"), "delta must be above 0"),
        (("tips", "uniform", "--alpha", "0.7"), "alpha must be above 0 and below 0.5"),
        (("tips", "uniform", "--max-blocks", "0"), "blocks must be a whole number, 1 or more, not 0"),
        (("tips", "uniform", "--seed", "-1"), "seed must be"),
        (("tips", "uniform", "--time-limit", "0"), "time limit must be more than 0"),
        (("tips", "uniform", "--workers", "2"), "executor serial has one worker, not 2"),
    ],
)
def test_a_comparison_that_cannot_be_ends_with_a_sentence_and_exit_code_2(gnav, arguments, said, tmp_path):
    assert gnav("compare", *arguments, "--out", tmp_path / "a") == 2
    assert said in " ".join(gnav.err.split())
    assert not (tmp_path / "a").exists() or not contents(tmp_path / "a").keys() - {PLAN}


def test_with_the_agents_exchanged_everything_is_the_other_way_round():
    agents = {"fox": BelowAsPolicy(0.3), "owl": Uniform(), "low": ZOO["low"], "middle": ZOO["middle"]}
    looks = []
    for a, b in (("fox", "owl"), ("owl", "fox")):
        plan = make_comparison(a, b, "pagat", 5, ("low", "middle"), seed=4, max_blocks=2000, agents=agents)
        result = compare(plan, SequentialTest(0.02))
        looks.append((result, result.test.history))
    (one, ours), (other, theirs) = looks
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert len(ours) == len(theirs)
    for mine, yours in zip(ours, theirs, strict=True):
        assert mine.num_blocks == yours.num_blocks
        assert mine.mean == pytest.approx(-yours.mean, abs=1e-12)
        assert mine.llr_better == pytest.approx(yours.llr_worse)
        assert (mine.low, mine.high) == pytest.approx((-yours.high, -yours.low))


def test_agents_that_choose_alike_differ_by_exactly_nothing():
    agents = {"fox": Below(0.4), "owl": BelowAsPolicy(0.4), "uniform": Uniform()}
    for among in ((), ("uniform",)):
        plan = make_comparison("fox", "owl", "pagat", 6, among, max_blocks=2000, agents=agents)
        result = compare(plan, SequentialTest(0.05))
        assert result.verdict == "level"
        assert {(look.mean, look.llr_better - look.llr_worse) for look in result.test.history} == {(0, 0)}


def test_the_others_are_copies_of_b_or_those_that_are_named():
    agents = {"fox": Below(0.3), "owl": Uniform(), "low": ZOO["low"], "middle": ZOO["middle"]}
    plan = make_comparison("fox", "owl", "pagat", 4, max_blocks=8, agents=agents)
    assert (plan.names, plan.among) == (("fox", "owl"), ("owl",))
    [entries] = played(plan)
    seatings = entries["agent"].reshape(8, 2, 4, 4)
    assert ((seatings == 0).sum(axis=3) == [[1], [0]]).all()
    plan = make_comparison("fox", "owl", "pagat", 4, ("low", "middle", "fox"), max_blocks=9, agents=agents)
    assert (plan.names, plan.among) == (("fox", "owl", "low", "middle"), ("low", "middle", "fox"))
    [entries] = played(plan)
    seatings = entries["agent"].reshape(9, 2, 4, 4)
    changed = seatings[:, 0] != seatings[:, 1]
    assert (changed.sum(axis=2) == 1).all() and (changed.sum(axis=1) == 1).all()  # one seat, and each seat once
    assert (seatings[:, 0][changed] == 0).all() and (seatings[:, 1][changed] == 1).all()
    assert set(np.unique(seatings[:, 0][~changed])) == {0, 2, 3}


def test_block_means_are_what_one_counts():
    agents = {"fox": Below(0.3), "owl": Uniform(), "low": ZOO["low"]}
    plan = make_comparison("fox", "owl", "pagat", 9, ("low", "owl"), max_blocks=12, agents=agents)
    [entries] = played(plan)
    expected = []
    for block in range(12):
        here = entries[entries["block"][:, 0] == block]
        out = [0, 0]
        for rotation in range(8):
            pair = [here[(here["line_up"][:, 0] == k) & (here["rotation"][:, 0] == rotation)][0] for k in (0, 1)]
            [seat] = np.flatnonzero(pair[0]["agent"] != pair[1]["agent"])
            for k in (0, 1):
                assert pair[k]["agent"][seat] == k
                out[k] += int(pair[k]["eliminated"][seat])
        expected.append((out[1] - out[0]) / 8)
    assert len(set(expected)) > 3
    assert block_means(plan.fields[0], entries).tolist() == pytest.approx(expected)


def test_forfeits_count_against_an_agent_and_are_told(small_units):
    plan = make_comparison("fox", "owl", "pagat", 3, agents={"fox": Below(0.3), "owl": Never()})
    result = compare(plan, SequentialTest(0.1))
    assert result.verdict == "better"
    assert result.forfeits[0] == 0 < result.forfeits[1]
    strict = make_comparison("fox", "owl", "pagat", 3, agents={"fox": Below(0.3), "owl": Never()}, strict=True)
    with pytest.raises(GnavError, match="agent owl failed"):
        compare(strict, SequentialTest(0.1))


# ---------------------------------------------------------------------------------------------------- its folder

ARGUMENTS = ("compare", "threshold:IV", "threshold:VI", "--seats", "5", "--delta", "0.05", "--seed", "2")


def test_the_folder_holds_what_was_found_and_how(gnav, small_units, tmp_path):
    code = gnav(*ARGUMENTS, "--out", tmp_path)
    found = json.loads((tmp_path / COMPARISON).read_text())
    assert EXIT_CODES[found["verdict"]] == code
    assert (found["a"], found["b"], found["among"]) == ("threshold:IV", "threshold:VI", ["threshold:VI"])
    assert found["difference"]["low"] < found["difference"]["value"] < found["difference"]["high"]
    assert found["test"]["delta"] == 0.05
    assert found["forfeits"] == {"a": 0, "b": 0}
    assert found["history"][-1]["num_blocks"] == found["num_blocks"]
    assert len(found["history"]) > 3
    assert (tmp_path / PLOT).read_text().startswith("<svg")


def test_a_comparison_that_was_stopped_goes_on_to_the_same_verdict_and_bytes(gnav, small_units, tmp_path):
    gnav(*ARGUMENTS, "--out", tmp_path / "whole")
    plan = make_comparison("threshold:IV", "threshold:VI", "pagat", 5, seed=2)

    class Stop(Exception):
        pass

    def give_up(look):
        if look.num_blocks > 30:
            raise Stop

    with pytest.raises(Stop):
        compare(plan, SequentialTest(0.05), folder=tmp_path / "stopped", look=give_up)
    left = contents(tmp_path / "stopped")
    assert COMPARISON not in left
    units = [name for name in left if name.startswith("units/")]
    assert 1 < len(units) < 20
    gnav(*ARGUMENTS, "--out", tmp_path / "stopped")
    now = contents(tmp_path / "stopped")
    assert now == contents(tmp_path / "whole")
    assert all(now[name] == left[name] for name in units)
    before = gnav.out
    gnav(*ARGUMENTS, "--out", tmp_path / "stopped")  # once more from what is there
    assert gnav.out == before
    assert contents(tmp_path / "stopped") == now


def test_an_undecided_comparison_goes_on_with_more_blocks_and_loses_none_with_fewer(gnav, small_units, tmp_path):
    arguments = ("compare", "threshold:IV", "threshold:V", "--delta", "0.005", "--seats", "4")
    assert gnav(*arguments, "--max-blocks", "60", "--out", tmp_path / "whole") == 4
    assert gnav(*arguments, "--max-blocks", "37", "--out", tmp_path / "grown") == 4  # ends within a unit
    assert gnav(*arguments, "--max-blocks", "60", "--out", tmp_path / "grown") == 4
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")
    units = {name for name in contents(tmp_path / "grown") if name.startswith("units/")}
    assert gnav(*arguments, "--max-blocks", "37", "--out", tmp_path / "grown") == 4
    assert '"num_blocks": 37' in (tmp_path / "grown" / COMPARISON).read_text()
    assert units == {name for name in contents(tmp_path / "grown") if name.startswith("units/")}


def test_another_comparison_in_the_folder_is_refused_unless_it_may_be_replaced(gnav, small_units, tmp_path):
    gnav(*ARGUMENTS, "--out", tmp_path / "a")
    before = contents(tmp_path / "a")
    other = ("compare", "threshold:IV", "uniform", "--seats", "5", "--delta", "0.1", "--out", tmp_path / "a")
    assert gnav(*other) == 2
    assert "holds another tournament" in gnav.err
    assert contents(tmp_path / "a") == before
    assert gnav(*other, "--overwrite") == 0
    assert json.loads((tmp_path / "a" / COMPARISON).read_text())["b"] == "uniform"


@pytest.mark.slow
def test_two_processes_come_to_the_same_verdict_after_as_many_blocks(gnav, tmp_path):
    arguments = ("compare", "threshold:IV", "threshold:V", "--seats", "6", "--delta", "0.01", "--max-blocks", "1500")
    code = gnav(*arguments, "--out", tmp_path / "one")
    assert gnav(*arguments, "--out", tmp_path / "two", "--executor", "process", "--workers", "2") == code
    assert (tmp_path / "two" / COMPARISON).read_bytes() == (tmp_path / "one" / COMPARISON).read_bytes()


# ------------------------------------------------------------------------------------------- errors that it makes


PAIRS = [("threshold:IV", "threshold:V"), ("tips", "uniform")]
"""Nearly level, so that most blocks differ by nothing; and as far apart as agents are."""


@pytest.fixture(scope="module", params=PAIRS, ids=" and ".join)
def real_blocks(request):
    """The block means of two agents, and a delta that is found or missed within a thousand blocks."""
    plan = make_comparison(*request.param, "pagat", 6, seed=8, max_blocks=600)
    blocks = np.concatenate([block_means(plan.fields[0], entries) for entries in played(plan)])
    assert len(blocks) == 600
    return blocks, 0.13 * np.sqrt((blocks**2).mean())


def test_over_two_thousand_runs_of_real_blocks_without_a_difference_the_error_stays_at_its_level(real_blocks):
    blocks, delta = real_blocks
    rng = np.random.default_rng(21)
    longest = 3000
    # with signs that are drawn there is no difference, whatever the agents are
    runs = rng.choice(blocks, (NUM_RUNS, longest)) * rng.choice([-1, 1], (NUM_RUNS, longest))
    assert abs(runs.mean()) < 3 * runs.std() / np.sqrt(runs.size)
    for look_every in (1, 32, 256):
        better, worse, ends = run_many(runs, SequentialTest(delta, alpha=0.05), look_every)
        error = (better | worse).mean()
        print(f"delta {delta:.4f}, looks every {look_every}: error {error:.4f}, {ends.mean():.0f} blocks expected")
        assert 0 < error <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / NUM_RUNS)
        assert (ends <= longest).mean() > 0.99
        assert ends.mean() < 1200


def test_a_difference_of_delta_between_real_blocks_is_found_with_the_power_promised(real_blocks):
    blocks, delta = real_blocks
    runs = np.random.default_rng(22).choice(blocks - blocks.mean(), (NUM_RUNS, 3000)) + delta
    better, worse, _ = run_many(runs, SequentialTest(delta, beta=0.05), 32)
    print(f"delta {delta:.4f}: power {better.mean():.4f}")
    assert better.mean() >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / NUM_RUNS)
    assert worse.mean() < 0.002
