"""Studies: lengths are those of the game, the same seed gives the same bytes, verdicts follow from figures."""

import csv
import json
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from gnav_agents.agent import legal
from gnav_agents.commands.study import study
from gnav_agents.opponents import opponent_level
from gnav_agents.studies import report, tips
from gnav_agents.studies.cells import make_grid, parse_seats
from gnav_agents.studies.claims import CLAIMS, Figure, find, judge_length, verdict_of_lengths
from gnav_agents.studies.deals import sample_challenges, sample_choices, sample_losses
from gnav_agents.studies.figures import (
    Estimate,
    all_at_once,
    judge_at_least,
    judge_at_most,
    mean_of,
    ratio_of,
    share_of,
    verdict_of,
)
from gnav_agents.studies.length import QUANTILES, Lengths, length_row, play_lengths, study_length
from gnav_agents.studies.tips import SelfConsistent, study_tips
from gnav_agents.threshold import Threshold
from gnav_env.errors import GnavError
from gnav_env.observation import piece
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND
from gnav_env.table import Table
from gnav_env.variants import VARIANTS, get_rules


class Dice:
    """Any legal action, by chance. No `Policy`, so it is asked row by row."""

    def act(self, observation, action_mask, rng):
        return legal(rng.integers(2, size=len(observation)), action_mask)


def run(*arguments):
    """What `gnav study` with these arguments says; errors are raised."""
    app = typer.Typer()
    app.add_typer(study, name="study")
    result = CliRunner().invoke(app, ["study", *arguments], catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def read_csv(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# ------------------------------------------------------------------------------------------------------ length


def replay(rules: Rules, num_seats: int, seed: int, match: int, level: int) -> tuple[int, int, bool]:
    """Deals, decisions and whether it was cut off, of a match of threshold players at a plain `Table`."""
    table = Table(rules, num_seats, seed=seed, match=match)
    decisions = 0
    while not table.is_over and table.deals < rules.max_deals(num_seats):
        table.deal()
        while (seat := table.to_act) is not None:
            wanted = int(rules.rank_numbers[str(table.hands[seat])] < level)
            actions = table.legal_actions()
            table.act(wanted if wanted in actions else actions[0])
            decisions += 1
    return table.deals, decisions, not table.is_over


@pytest.mark.parametrize(
    ("name", "num_seats"), [("pagat", 5), ("campli", 4), ("kille", 6), ("ranter", 9), ("le_her", 2)]
)
def test_lengths_are_those_of_a_plain_replay(name, num_seats):
    rules = get_rules(name)
    level = len(rules.ranks) // 3
    lengths = play_lengths(rules, num_seats, [f"threshold:{rules.ranks[level]}"], 12, seed=3)
    replayed = [replay(rules, num_seats, 3, match, level) for match in range(12)]
    assert list(zip(lengths.deals, lengths.decisions, lengths.is_cut, strict=True)) == replayed


def test_a_match_that_never_ends_is_counted_as_cut_off():
    rules = VARIANTS["pagat"].replace(name="undecided", loss=dict.fromkeys(VARIANTS["pagat"].deck, 0))
    lengths = play_lengths(rules, 3, ["stand"], 4, seed=0)
    assert lengths.is_cut.all()
    assert (lengths.deals == rules.max_deals(3)).all()
    row = length_row(rules, 3, lengths)
    assert (row["cut"], row["share_cut"], row["q50"]) == (4, 1, rules.max_deals(3))
    grid = make_grid("pagat", "3")
    about = report.About(study="length", command="gnav", seed=0, grid=grid, options={})
    shown = report.length_tables(about, [{**row, "rules": "pagat"}])["pagat"][1]
    assert shown[1].startswith("≥ 36")
    assert shown[4] == "≥ 36"
    assert "100.0%" in shown


@pytest.mark.parametrize("agents", [["tips"], ["uniform", "stand"], [Dice()]])
def test_it_does_not_matter_how_many_matches_are_played_side_by_side(agents):
    one, other = (play_lengths("pagat", 4, agents, 20, seed=5, batch=batch) for batch in (20, 7))
    assert np.array_equal(one.deals, other.deals)
    assert np.array_equal(one.decisions, other.decisions)


def test_more_matches_begin_with_the_same_ones():
    few, many = (play_lengths("pagat", 3, ["uniform"], num, seed=1) for num in (10, 30))
    assert np.array_equal(few.deals, many.deals[:10])


def test_another_seed_gives_other_matches():
    one, other = (play_lengths("pagat", 4, ["uniform"], 50, seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.deals, other.deals)


def test_agents_are_seated_in_turn():
    seen = {}

    class Noting:
        def __init__(self, name):
            self.name = name

        def act(self, observation, action_mask, rng):
            seen.setdefault(self.name, []).append(len(observation))
            return np.zeros(len(observation), np.int64)

    lengths = play_lengths("short", 4, [Noting("a"), Noting("b"), Noting("c")], 30, seed=0)
    total = {name: sum(rows) for name, rows in seen.items()}
    assert sum(total.values()) == lengths.decisions.sum()
    assert total["a"] > 1.5 * max(total["b"], total["c"])  # seats 0 and 3


def test_quantiles_are_whole_deals_and_agree_with_numpy():
    deals = np.random.default_rng(0).integers(1, 60, 501)
    lengths = Lengths(deals=deals, decisions=3 * deals, is_cut=np.zeros(501, np.bool_))
    row = length_row(VARIANTS["pagat"], 6, lengths)
    for share in QUANTILES:
        assert row[f"q{100 * share:02.0f}"] == np.quantile(deals, share, method="inverted_cdf")
    assert row["mean"] == pytest.approx(deals.mean())
    assert row["decisions"] == pytest.approx(3 * deals.mean())
    assert row["longest"] == deals.max()


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    means = [mean_of(rng.normal(2, 3, 40)) for _ in range(400)]
    shares = [share_of(int(rng.binomial(60, 0.1)), 60) for _ in range(400)]
    ratios = [ratio_of(2 * x + rng.normal(0, 1, 80), x) for x in rng.uniform(1, 2, (400, 80))]
    assert 0.92 < np.mean([e.low < 2 < e.high for e in means]) < 0.98
    assert np.mean([e.low < 0.1 < e.high for e in shares]) > 0.94
    assert 0.91 < np.mean([e.low < 2 < e.high for e in ratios]) < 0.98


def test_a_single_match_has_no_interval():
    assert np.isnan(mean_of(np.array([4])).low)
    rows = study_length(make_grid("le_her", "2"), ["stand"], 1, 0)
    about = report.About(study="length", command="gnav", seed=0, grid=make_grid("le_her", "2"), options={})
    assert report.length_tables(about, rows)["le_her"][1][1] == "1.00"
    assert json.loads(report.length_files(about, rows)["length.json"])["rows"][0]["mean_low"] is None


# -------------------------------------------------------------------------------------------------------- cells


def test_seats_are_lists_and_ranges():
    assert parse_seats("10, 2-4,3") == (2, 3, 4, 10)


@pytest.mark.parametrize("text", ["", "x", "1-3", "4-2", "3,", "2-99", "-4", "²"])
def test_other_seats_are_refused(text):
    with pytest.raises(GnavError, match="seats must be"):
        parse_seats(text)


def test_what_a_ruleset_cannot_seat_is_left_out_with_a_note():
    grid = make_grid("pagat,kille,le_her", "2,3,15")
    assert [grid.seats_of(rules) for rules in grid.rules] == [[2, 3, 15], [3], [2]]
    assert grid.notes == ["kille is played by 3 to 13: 2, 15 left out", "le_her is played by 2: 3, 15 left out"]


def test_all_means_every_named_ruleset():
    assert [rules.name for rules in make_grid("all", "4").rules] == list(VARIANTS)


# ------------------------------------------------------------------------------------------------------- verdicts


def estimate(low, high):
    return Estimate(value=(low + high) / 2, error=1, low=low, high=high, num=100)


def test_an_interval_is_judged_by_its_side_of_the_line():
    assert judge_at_least(0, estimate(0.1, 0.2)) == "holds"
    assert judge_at_least(0, estimate(-0.2, -0.1)) == "fails"
    assert judge_at_least(0, estimate(-0.1, 0.1)) == "open"
    assert judge_at_least(0, estimate(np.nan, np.nan)) == "open"
    assert judge_at_most(0.01, estimate(0, 0.01)) == "holds"
    assert judge_at_most(0.01, estimate(0.02, 0.03)) == "fails"
    assert judge_at_most(0.01, estimate(0, 0.03)) == "open"


@pytest.mark.parametrize(
    ("judgements", "verdict"),
    [
        (["holds", "holds"], "true"),
        (["holds", "open"], "true"),
        (["fails", "fails"], "false"),
        (["fails", "open"], "false"),
        (["holds", "fails", "open", "open", "open"], "depends"),
        (["holds", "open", "open"], "open"),
        (["open"], "open"),
        ([], "does not apply"),
    ],
)
def test_cells_make_a_verdict(judgements, verdict):
    assert verdict_of(judgements) == verdict


@pytest.mark.parametrize(
    ("quantiles", "verdict"),
    [
        ([(30, 40, 60), (31, 45, 59)], "true"),
        ([(30, 40, 60), (20, 29, 35)], "depends"),
        ([(20, 30, 61)], "depends"),
        ([(20, 29, 35), (50, 61, 70)], "false"),
        ([], "does not apply"),
    ],
)
def test_match_lengths_make_a_verdict(quantiles, verdict):
    assert verdict_of_lengths([judge_length(*cell, 1000) for cell in quantiles]) == verdict


def test_a_finding_says_where():
    def figure(card, seats, position, judgement):
        return Figure(
            rules="pagat",
            claim="low",
            figure="gain of EXCHANGE",
            seats=seats,
            card=card,
            position=position,
            judgement=judgement,
            estimate=estimate(0, 1),
        )

    figures = [figure("I", 3, at, "holds") for at in range(3)] + [figure("0", 3, 0, "fails")]
    figures += [figure("0", 3, at, "open") for at in (1, 2)]
    finding = find(VARIANTS["pagat"], "low", figures)
    assert finding.verdict == "depends"
    assert finding.because == "holds I everywhere; fails 0 at 3 (1 of 3 positions); open 0 at 3 (2 of 3 positions)"
    assert find(VARIANTS["pagat"], "low", figures[:3]).because == "holds everywhere"


def test_intervals_that_hold_all_at_once_are_wider():
    values = np.arange(50)
    assert mean_of(values, all_at_once(20)).low < mean_of(values).low


# ---------------------------------------------------------------------------------------------------------- deals


def test_a_fool_that_is_kept_loses():
    rules, level = VARIANTS["pagat"], 6
    choices = sample_choices(rules, 4, level, 0, position=0, rank=0, num_samples=400)
    assert choices.chose.any()
    assert (choices.lost >= 0).all()
    # a Fool that is kept to the end loses, whatever the others have
    kept = choices.lost[choices.chose, STAND]
    assert (kept >= 1).all()


@pytest.mark.parametrize("name", ["kille", "campli", "lu_stu", "vogelspiel"])
def test_who_has_no_choice_plays_the_same_deal_twice(name):
    rules = VARIANTS[name]
    for position in range(4):
        one = sample_choices(rules, 4, 5, 7, position, 3, 300)
        assert (one.lost[~one.chose, STAND] == one.lost[~one.chose, EXCHANGE]).all()


@pytest.mark.parametrize("direction", ["clockwise", "anticlockwise"])
def test_losses_by_position_do_not_depend_on_the_direction(direction):
    rules = VARIANTS["pagat"].replace(name="turned", direction=direction)
    lost = sample_losses(rules, 4, 5, 0, 40_000).mean(axis=0)
    usual = sample_losses(VARIANTS["pagat"], 4, 5, 1, 40_000).mean(axis=0)
    assert lost == pytest.approx(usual, abs=0.02)


def test_losses_by_position_are_those_of_whole_tables():
    rules, level, num_deals = VARIANTS["pagat"], 6, 1500
    lost = np.zeros((num_deals, 4))
    for match in range(num_deals):
        table = Table(rules, 4, seed=9, match=match, first_dealer=3)
        table.deal()
        while (seat := table.to_act) is not None:
            table.act(int(rules.rank_numbers[str(table.hands[seat])] < level))
        lost[match] = table.lost[::-1]
    means = sample_losses(rules, 4, level, 0, 40_000).mean(axis=0)
    for position in range(4):
        plain = mean_of(lost[:, position], 0.9999)
        assert plain.low < means[position] < plain.high


@pytest.mark.parametrize(("name", "num_seats"), [("pagat", 4), ("campli", 5)])
def test_positions_of_agents_are_counted_as_those_of_the_kernel(name, num_seats):
    rules, level = VARIANTS[name], 7
    played = tips._lost_by_position(rules, num_seats, Threshold(level), 0, 3000)
    means = sample_losses(rules, num_seats, level, 0, 40_000).mean(axis=0)
    for position in range(num_seats):
        plain = mean_of(played[:, position], 0.9999)
        assert plain.low < means[position] < plain.high


def test_exchanging_the_lowest_card_gains_at_six_seats():
    rules = VARIANTS["pagat"]
    level = opponent_level(rules, 6)
    for position in range(6):
        assert mean_of(sample_choices(rules, 6, level, 0, position, 0, 2000).gain).low > 0
        assert mean_of(sample_choices(rules, 6, level, 0, position, 20, 2000).gain).high < 0


def test_the_matadors_of_ranter_redirect_nothing_and_no_challenge_is_found():
    assert tips._redirecting(VARIANTS["ranter"]) == []
    assert tips._next_plain(VARIANTS["ranter"]) == "Q"
    assert tips._next_plain(VARIANTS["pagat"]) == "12"
    assert tips._next_plain(VARIANTS["kille"]) == "12"
    assert tips._next_plain(VARIANTS["ranter_1882"]) is None


def test_challenges_are_compared_on_the_same_cards():
    lost, balance = sample_challenges(VARIANTS["pagat"], 6, 6, 0, 3000)
    assert 500 < len(lost) <= 3000
    assert balance.shape == lost.shape == (len(lost), 2)
    assert (lost[:, 0] == lost[:, 1]).any()
    assert (lost[:, 0] != lost[:, 1]).any()


def test_the_self_consistent_player_changes_with_the_seats_left():
    rules = VARIANTS["pagat"]
    agent = SelfConsistent(rules)
    assert opponent_level(rules, 2) > opponent_level(rules, 6)
    table = Table(rules, 6, seed=0, lives=[1, 1, 0, 0, 0, 0], first_dealer=0)
    table.deal([rules.ranks[opponent_level(rules, 6)]] * 2 + ["12", "12", "11", "11"])
    observation, mask = table.observe(1)
    assert (piece(observation, "playing") > 0).sum() == 2
    assert agent.act(observation[None], mask[None], np.random.default_rng(0)).tolist() == [EXCHANGE]


# -------------------------------------------------------------------------------------------------------- commands


LENGTH = ("length", "--matches", "6", "--seed", "4")
TIPS = ("tips", "--samples", "8", "--matches", "2", "--seed", "4")


@pytest.mark.parametrize(
    ("rules", "seats"), [("pagat", "3"), ("campli", "3,4"), ("kille", "3-4"), ("ranter", "5"), ("le_her", "2")]
)
def test_lengths_from_the_command_line(rules, seats, tmp_path):
    out = tmp_path / "out"
    said = run(*LENGTH, "--rules", rules, "--seats", seats, "--out", str(out))
    assert rules in said
    rows = read_csv(out / "length.csv")
    assert [int(row["seats"]) for row in rows] == list(parse_seats(seats))
    assert all(int(row["matches"]) == 6 for row in rows)
    data = json.loads((out / "length.json").read_text(encoding="utf-8"))
    assert data["rules"][0]["hash"] == VARIANTS[rules].hash
    assert data["command"].startswith("gnav study length")
    assert data["definitions"].keys() >= {"deals", "cut"}
    assert "| seats |" in (out / "length.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rules", "seats"), [("pagat", "3"), ("campli", "3"), ("kille", "3"), ("ranter", "3"), ("le_her", "2")]
)
def test_tips_from_the_command_line(rules, seats, tmp_path):
    out = tmp_path / "out"
    said = run(*TIPS, "--rules", rules, "--seats", seats, "--out", str(out))
    assert all(claim.title in said for claim in CLAIMS.values())
    data = json.loads((out / "tips.json").read_text(encoding="utf-8"))
    verdicts = {verdict["claim"]: verdict["verdict"] for verdict in data["verdicts"]}
    assert list(verdicts) == list(CLAIMS)
    assert (verdicts["redirection"] == "does not apply") == (rules in ("ranter", "le_her"))
    assert (verdicts["length"] == "does not apply") == (rules in ("kille", "le_her"))
    assert verdicts["high"] != "does not apply"
    assert len(data["figures"]) == len(read_csv(out / "tips.csv"))


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for arguments in ((*LENGTH, "--rules", "pagat,kille", "--agent", "uniform,tips"), TIPS):
        folders = [tmp_path / f"{arguments[0]}-{number}" for number in range(2)]
        for folder in folders:
            run(*arguments, "--seats", "3", "--out", str(folder))
        for name in (f"{arguments[0]}.{kind}" for kind in ("csv", "json", "md")):
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_the_batch_changes_no_byte():
    grid = make_grid("pagat,campli", "3,4")
    about = report.About(study="length", command="gnav", seed=2, grid=grid, options={})
    one, other = (report.length_files(about, study_length(grid, ["uniform"], 9, 2, batch=batch)) for batch in (1000, 4))
    assert one == other


def test_another_study_is_not_written_over(tmp_path):
    run(*LENGTH, "--rules", "pagat", "--seats", "3", "--out", str(tmp_path))
    run(*LENGTH, "--rules", "pagat", "--seats", "3", "--out", str(tmp_path))
    with pytest.raises(GnavError, match="--overwrite"):
        run(*LENGTH, "--rules", "pagat", "--seats", "4", "--out", str(tmp_path))
    run(*LENGTH, "--rules", "pagat", "--seats", "4", "--out", str(tmp_path), "--overwrite")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*LENGTH, "--seats", "two"), "seats must be numbers and ranges"),
        ((*LENGTH, "--seats", "1"), "seats must be 2 to"),
        ((*LENGTH, "--rules", "le_her", "--seats", "3"), "nothing is left to play: le_her is played by 2"),
        ((*LENGTH, "--rules", "pagad"), "did you mean 'pagat'"),
        ((*LENGTH, "--rules", "pagat,pagat"), "listed twice"),
        ((*LENGTH, "--agent", "tipz", "--rules", "pagat"), "did you mean 'tips'"),
        ((*LENGTH, "--agent", "tips,stand,uniform", "--rules", "pagat", "--seats", "2"), "no room for 3 agents"),
        (("length", "--matches", "0", "--rules", "pagat"), "matches must be 1 or more"),
        ((*LENGTH, "--seed", "-1"), "seed must be"),
        ((*TIPS, "--rules", "nowhere"), "unknown ruleset"),
        (("tips", "--samples", "1"), "samples must be 2 or more"),
        ((*TIPS, "--seats", "3-"), "seats must be numbers and ranges"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_no_folder(arguments, said, tmp_path):
    with pytest.raises(GnavError, match=said):
        run(*arguments, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_there_is_no_picture(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run(*LENGTH, "--rules", "pagat", "--seats", "3", "--out", str(tmp_path))
    assert "no length.png" in said
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["length.csv", "length.json", "length.md"]


def test_progress_adds_up():
    grid = make_grid("pagat,le_her", "3,4")
    heard = []
    _, findings = study_tips(grid, 2, 2, 0, progress=heard.append)
    assert {finding.rules for finding in findings} == {"pagat"}  # le_her has no table here, and a note
    assert sum(heard) == tips.num_steps(grid)
    told = count()
    study_length(grid, ["stand"], 5, 0, progress=lambda name, num: [next(told) for _ in range(num)])
    assert next(told) == 10
