"""The arena: schedules are fair, play is the game's, figures are true, the same seed gives the same bytes."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from gnav_agents.agent import legal
from gnav_agents.arena import PlayedMatch, report, run_tournament
from gnav_agents.arena.play import ENTRY, play_unit
from gnav_agents.arena.schedule import blocks_per_unit, make_line_ups, make_seatings, rotation_shifts
from gnav_agents.arena.setup import make_setup
from gnav_agents.arena.statistics import RATIOS, SUMS, interval, make_rows, ratios, resample, sum_by_block
from gnav_agents.commands.tournament import tournament
from gnav_env.errors import GnavError
from gnav_env.notation import read_file, replay
from gnav_env.observation import piece
from gnav_env.rules import Rules
from gnav_env.table import Table


class Below:
    """Exchanges a card that is weaker than `strength`, 0 to 1."""

    def __init__(self, strength):
        self.strength = strength

    def act(self, observation, action_mask, rng):
        return legal(piece(observation, "own_strength")[:, 0] < self.strength, action_mask)


class Dice:
    """Any legal action, by chance."""

    def act(self, observation, action_mask, rng):
        return legal(rng.integers(2, size=len(observation)), action_mask)


ZOO = {"stand": Below(0), "low": Below(0.3), "middle": Below(0.45), "dice": Dice()}


# --------------------------------------------------------------------------------------------------- schedule


@pytest.mark.parametrize("num_seats", [2, 3, 6, 8])
def test_up_to_eight_seats_a_block_brings_every_place_of_its_line_up_to_every_seat_once(num_seats):
    seatings = make_seatings(np.arange(num_seats)[np.newaxis])[0]
    assert seatings.shape == (num_seats, num_seats)
    for seat in range(num_seats):
        assert sorted(seatings[:, seat]) == list(range(num_seats))
    for rotation in seatings:
        assert sorted(rotation) == list(range(num_seats))


@pytest.mark.parametrize("num_seats", [9, 13, 20, 37])
def test_above_eight_seats_a_block_has_eight_rotations_equally_spaced(num_seats):
    shifts = rotation_shifts(num_seats)
    assert len(shifts) == 8
    gaps = np.diff([*shifts, num_seats])
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1
    seatings = make_seatings(np.arange(num_seats)[np.newaxis])[0]
    for place in range(num_seats):
        assert len(set(np.argwhere(seatings == place)[:, 1])) == 8


@settings(deadline=None, max_examples=60)
@given(
    num_agents=st.integers(1, 12),
    num_seats=st.integers(2, 10),
    num_blocks=st.integers(1, 30),
    seed=st.integers(0, 2**63 - 1),
)
def test_every_agent_gets_as_many_seats_as_any_other_give_or_take_one(num_agents, num_seats, num_blocks, seed):
    line_ups = make_line_ups(num_agents, num_seats, num_blocks, seed)
    assert line_ups.shape == (num_blocks, num_seats)
    counts = np.bincount(line_ups.ravel(), minlength=num_agents)
    assert counts.max() - counts.min() <= 1
    for line_up in line_ups:  # and so within each line-up
        here = np.bincount(line_up, minlength=num_agents)
        assert here.max() - here.min() <= 1


def test_the_first_blocks_of_a_long_schedule_are_the_blocks_of_a_short_one():
    for num_agents in (3, 4, 11):
        long = make_line_ups(num_agents, 6, 300, seed=5)
        assert np.array_equal(long[:17], make_line_ups(num_agents, 6, 17, seed=5))
        assert not np.array_equal(long, make_line_ups(num_agents, 6, 300, seed=6))


def test_the_places_of_a_line_up_are_drawn_evenly():
    line_ups = make_line_ups(4, 4, 4000, seed=2)
    for place in range(4):
        assert np.bincount(line_ups[:, place], minlength=4) == pytest.approx(1000, abs=120)


# ------------------------------------------------------------------------------------------------------- play


def entries_by_table(match: PlayedMatch, names: tuple[str, ...]):
    """The entries of a match, played again at a `Table`, with everything counted the plain way."""
    table = Table(match.rules, match.num_seats, seed=match.seed, match=match.block)
    rows = [dict.fromkeys(ENTRY.names or (), 0) for _ in range(match.num_seats)]
    actions = iter(match.actions)
    while not table.is_over:
        table.deal()
        for seat in range(match.num_seats):
            rows[seat]["deals"] += table.hands[seat] is not None
        while table.to_act is not None:
            rows[table.to_act]["decisions"] += 1
            table.act(next(actions))
        for seat in range(match.num_seats):
            rows[seat]["lives_lost"] += table.lost[seat] - int(table.record.seats[seat].gained)
            if rows[seat]["last_deal"] == 0 and (table.places[seat] > 0 or table.is_over):
                rows[seat]["last_deal"] = table.deals
    assert next(actions, None) is None
    for seat, row in enumerate(rows):
        place = table.places[seat]
        row.update(block=match.block, rotation=match.rotation, seat=seat, place=place)
        row.update(agent=names.index(match.agents[seat]), tied=table.places.count(place))
        row.update(eliminated=table.lives[seat] == 0 and place > 1)
    return rows


@pytest.mark.parametrize(("rules", "num_seats"), [("pagat", 4), ("tokens", 6), ("short", 3), ("silent", 10)])
def test_entries_say_what_a_table_says_when_the_match_is_played_there_again(rules, num_seats):
    matches: list[PlayedMatch] = []
    result = run_tournament(ZOO, rules, num_seats, 4, seed=3, record=matches.append)
    assert len(matches) == len(result.entries) == 4 * min(num_seats, 8)
    for match, entries in zip(matches, result.entries, strict=True):
        for entry, expected in zip(entries, entries_by_table(match, tuple(ZOO)), strict=True):
            assert {name: entry[name] for name in expected} == expected


def test_the_rotations_of_a_block_play_the_same_cards_with_the_same_first_dealer():
    matches: list[PlayedMatch] = []
    run_tournament({"stand": Below(0)}, "letters", 5, 2, record=matches.append)
    for block in range(2):
        same = [match.actions for match in matches if match.block == block]
        assert len(same) == 5
        assert len(set(same)) == 1


@pytest.mark.parametrize("rules", ["pagat", "letters", "short", "kille", "campli", "lu_stu", "ranter", "vogelspiel"])
def test_the_win_shares_of_a_match_sum_to_one_and_its_placements_average_one_half(rules):
    entries = run_tournament(ZOO, rules, 5, 30, seed=1).entries
    wins = (entries["place"] == 1) / entries["tied"]
    assert wins.sum(axis=1) == pytest.approx(1)
    mean_place = entries["place"] + (entries["tied"] - 1) / 2
    assert mean_place.mean(axis=1) == pytest.approx(3)
    if rules != "short":  # until one is left: who is not first has been eliminated
        assert np.array_equal(entries["eliminated"], entries["place"] > 1)


def test_a_match_cut_off_at_the_limit_is_placed_by_lives(monkeypatch):
    monkeypatch.setattr(Rules, "max_deals", lambda self, num_seats: 2)
    entries = run_tournament(ZOO, "letters", 4, 3).entries
    assert entries["cut"].all()
    assert not entries["eliminated"].any()
    assert (entries["last_deal"] == 2).all()
    for lost, place in zip(entries["lives_lost"], entries["place"], strict=True):
        assert place.tolist() == [1 + sum(lost < own) for own in lost]


def test_luck_is_keyed_by_unit_so_that_units_may_be_played_in_any_order():
    num_blocks = blocks_per_unit(3) + 5
    whole = run_tournament(ZOO, "pagat", 3, num_blocks, seed=9).entries
    setup = make_setup(ZOO, "pagat", 3, num_blocks, 9)
    seatings = make_seatings(make_line_ups(4, 3, num_blocks, 9))
    first = blocks_per_unit(3)
    last_unit = play_unit(setup, 1, first, seatings[first:])
    first_unit = play_unit(setup, 0, 0, seatings[:first])
    assert np.array_equal(np.concatenate([first_unit, last_unit]), whole)


def test_without_luck_of_their_own_agents_play_a_block_the_same_in_whatever_tournament_it_is():
    calm = {name: ZOO[name] for name in ("stand", "low", "middle")}
    short = run_tournament(calm, "pagat", 3, 7, seed=4).entries
    long = run_tournament(calm, "pagat", 3, blocks_per_unit(3) + 7, seed=4).entries
    assert np.array_equal(long[: len(short)], short)


def test_progress_tells_the_blocks_played_and_ends_with_all_of_them():
    told: list[int] = []
    run_tournament(ZOO, "pagat", 4, 30, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 30


class Wrong:
    def __init__(self, answer):
        self.answer = answer

    def act(self, observation, action_mask, rng):
        return self.answer(len(observation))


@pytest.mark.parametrize(
    ("rules", "answer", "sentence"),
    [
        ("pagat", lambda n: np.full(n, 2), "agent fox: an action is 0"),
        ("forced", lambda n: np.zeros(n, np.int64), "agent fox: STAND is illegal"),
        ("pagat", lambda n: np.zeros((n, 1), np.int64), "agent fox: act must return an action for each row"),
        ("pagat", lambda n: np.full(n, 0.5), "agent fox: actions must be whole numbers"),
        ("pagat", lambda n: None, "agent fox: act must return"),
        ("pagat", lambda n: 1 // 0, "agent fox failed: ZeroDivisionError"),
    ],
)
def test_an_agent_that_acts_illegally_or_fails_is_named(rules, answer, sentence):
    with pytest.raises(GnavError, match=sentence):
        run_tournament({"stand": ZOO["dice"], "fox": Wrong(answer)}, rules, 4, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"num_blocks": 0}, "blocks must be a whole number, 1 or more, not 0"),
        ({"num_blocks": 1, "num_seats": 2}, "blocks must be 2 or more"),
        ({"num_seats": 38}, "seats must be 2 to"),
        ({"num_seats": 1}, "seats must be 2 to"),
        ({"seed": -1}, "seed must be"),
        ({"agents": {}}, "at least one agent"),
        ({"agents": ["tips", "uniform", "tips"]}, "agent tips is listed twice"),
        ({"agents": ["tips", ""]}, "an agent's name is missing"),
        ({"agents": "tips"}, "must be a list"),
        ({"rules": "pagta"}, "did you mean 'pagat'"),
    ],
)
def test_a_tournament_that_cannot_be_is_refused_with_what_would_be_right(arguments, sentence):
    with pytest.raises(GnavError, match=sentence):
        run_tournament(**{"agents": ZOO, **arguments})


# ------------------------------------------------------------------------------------------------- statistics


def entries_of(matches):
    """Entries [M, S] from matches of seats (block, agent, place, tied, eliminated, deals, lives_lost)."""
    names = ("block", "agent", "place", "tied", "eliminated", "deals", "lives_lost")
    entries = np.zeros((len(matches), len(matches[0])), ENTRY)
    for m, seats in enumerate(matches):
        for s, values in enumerate(seats):
            for name, value in zip(names, values, strict=True):
                entries[name][m, s] = value
    return entries


def test_figures_are_those_calculated_by_hand():
    entries = entries_of(
        [
            # two of three eliminated: par 2/3 a seat
            [(0, 0, 1, 1, False, 5, 1), (0, 1, 3, 1, True, 2, 3), (0, 1, 2, 1, True, 5, 3)],
            # two share the match, one eliminated: par 1/3 a seat
            [(1, 1, 1, 2, False, 4, 3), (1, 0, 1, 2, False, 4, 3), (1, 1, 3, 1, True, 1, 3)],
        ]
    )
    figures = dict(zip(RATIOS, ratios(sum_by_block(entries, 2).sum(axis=0)).T, strict=True))
    assert figures["relative_elimination_rate"] == pytest.approx([0 / (2 / 3 + 1 / 3), 3 / (4 / 3 + 2 / 3)])
    assert figures["elimination_rate"] == pytest.approx([0, 3 / 4])
    assert figures["win_share"] == pytest.approx([(1 + 1 / 2) / 2, (0 + 0 + 1 / 2 + 0) / 4])
    assert figures["placement"] == pytest.approx([(1 + 0.75) / 2, (0 + 0.5 + 0.75 + 0) / 4])
    assert figures["loss_rate"] == pytest.approx([4 / 9, 12 / 12])
    assert figures["mean_deals"] == pytest.approx([4.5, 3])


def test_sums_by_block_keep_blocks_and_agents_apart():
    entries = run_tournament(ZOO, "pagat", 5, 12, seed=8).entries
    sums = sum_by_block(entries, 4)
    assert sums.shape == (12, 4, len(SUMS))
    block, agent = 7, 2
    here = (entries["block"] == block) & (entries["agent"] == agent)
    assert sums[block, agent, SUMS.index("entries")] == here.sum()
    assert sums[block, agent, SUMS.index("lives_lost")] == entries["lives_lost"][here].sum()


def test_intervals_over_blocks_hold_the_truth_as_often_as_they_promise():
    # matches of a block share their luck: eliminations among 6 are binomial with a chance drawn for the block
    rng = np.random.default_rng(1)
    num_trials, num_blocks, truth = 300, 40, 0.7
    num_held = 0
    for _ in range(num_trials):
        sums = np.zeros((num_blocks, 1, len(SUMS)))
        sums[:, 0, SUMS.index("entries")] = 6
        sums[:, 0, SUMS.index("eliminated")] = rng.binomial(6, rng.beta(1.4, 0.6, num_blocks))
        resampled = ratios(resample(sums, 500, seed=1))[:, 0, list(RATIOS).index("elimination_rate")]
        low, high = interval(resampled, num_blocks)
        num_held += bool(low <= truth <= high)
    assert 0.92 <= num_held / num_trials <= 0.98


def test_a_single_block_has_figures_but_no_intervals():
    row = run_tournament(ZOO, "pagat", 4, 1).rows[0]
    assert row.relative_elimination_rate.value > 0
    assert np.isnan(row.relative_elimination_rate.low)
    assert (row.rank_low, row.rank_high) == (1, 4)


def test_where_nobody_is_eliminated_there_is_no_relative_rate_and_placement_decides():
    matches = [[(block, 0, 1, 1, False, 5, 0), (block, 1, 2, 1, False, 5, 2)] for block in range(3)]
    rows = make_rows(sum_by_block(entries_of(matches), 2), ("loser", "winner")[::-1], seed=0)
    assert [row.agent for row in rows] == ["winner", "loser"]
    assert np.isnan(rows[0].relative_elimination_rate.value)


def test_the_same_dice_under_two_names_are_at_par_and_level():
    result = run_tournament({"fox": Dice(), "owl": Dice()}, "pagat", 6, 150, seed=11)
    for row in result.rows:
        assert row.relative_elimination_rate.low < 1 < row.relative_elimination_rate.high
        assert row.standing in ("best", "level")
        assert (row.rank_low, row.rank_high) == (1, 2)
    values = [row.relative_elimination_rate.value for row in result.rows]
    assert sum(values) == pytest.approx(2)  # with equal numbers of seats, what one gains the other loses


def test_the_same_agent_without_luck_under_two_names_is_exactly_at_par():
    # over all rotations both meet the same cards in the same seats
    result = run_tournament({"fox": Below(0.4), "owl": Below(0.4)}, "pagat", 6, 50, seed=11)
    assert [row.relative_elimination_rate.value for row in result.rows] == [1, 1]
    assert [row.standing for row in result.rows] == ["best", "level"]


def test_an_agent_alone_is_exactly_at_par():
    [row] = run_tournament({"fox": Below(0.4)}, "pagat", 6, 20).rows
    assert row.relative_elimination_rate.value == pytest.approx(1)
    assert row.standing == "best"
    assert row.entries == 20 * 6 * 6


def test_a_sensible_agent_is_ranked_before_dice_and_the_difference_is_seen():
    result = run_tournament({"dice": Dice(), "low": Below(0.35)}, "pagat", 6, 60, seed=1)
    assert [(row.rank, row.agent, row.standing) for row in result.rows] == [
        (1, "low", "best"),
        (2, "dice", "behind"),
    ]


# ------------------------------------------------------------------------------------------------------ files


def write_all(folder: Path, seed: int = 0, num_blocks: int = 8):
    setup = make_setup(ZOO, "pagat", 4, num_blocks, seed)
    report.prepare_folder(folder, setup, "pagat")
    result = run_tournament(ZOO, "pagat", 4, num_blocks, seed)
    report.write_report(result, folder, "pagat")
    report.write_plot(result, folder / "leaderboard.png")
    return result


def test_the_same_seed_gives_the_same_bytes_in_every_file(tmp_path):
    write_all(tmp_path / "a")
    write_all(tmp_path / "b")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert {"leaderboard.csv", "entries.csv", "summary.json"} <= set(names)
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    write_all(tmp_path / "c", seed=1)
    assert (tmp_path / "a" / "entries.csv").read_bytes() != (tmp_path / "c" / "entries.csv").read_bytes()


def test_files_say_what_the_result_says(tmp_path):
    result = write_all(tmp_path)
    with (tmp_path / "leaderboard.csv").open() as file:
        board = list(csv.DictReader(file))
    assert [row["agent"] for row in board] == [row.agent for row in result.rows]
    rate = result.rows[0].relative_elimination_rate
    assert float(board[0]["relative_elimination_rate"]) == pytest.approx(rate.value, abs=1e-6)
    assert float(board[0]["relative_elimination_rate_high"]) == pytest.approx(rate.high, abs=1e-6)
    with (tmp_path / "entries.csv").open() as file:
        entries = list(csv.DictReader(file))
    assert len(entries) == 8 * 4 * 4
    assert Counter(row["agent"] for row in entries) == dict.fromkeys(ZOO, 32)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["command"] == (
        "gnav tournament --agents stand,low,middle,dice --rules pagat --seats 4 --blocks 8 --seed 0"
    )
    assert summary["rules"] == {"name": "pagat", "hash": result.setup.rules.hash}
    assert summary["num_matches"] == 32
    assert [row["agent"] for row in summary["rows"]] == [row.agent for row in result.rows]


def test_a_folder_with_another_tournament_is_not_overwritten_unasked(tmp_path):
    write_all(tmp_path)
    write_all(tmp_path)  # the same again is no loss
    other = make_setup(ZOO, "pagat", 4, 9, 0)
    with pytest.raises(GnavError, match="results of another tournament"):
        report.prepare_folder(tmp_path, other, "pagat")
    report.prepare_folder(tmp_path, other, "pagat", overwrite=True)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    setup = make_setup(ZOO, "pagat", 4, 8, 0)
    with pytest.raises(GnavError, match=r"file.*cannot be written"):
        report.prepare_folder(tmp_path / "file", setup, "pagat")


def test_a_write_that_fails_leaves_the_old_file_and_no_remains(tmp_path, monkeypatch):
    result = write_all(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self, content):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(GnavError, match=r"cannot be written \(No space left on device\)"):
        report.write_report(result, tmp_path, "pagat")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_recorded_matches_can_be_replayed(tmp_path):
    run_tournament(ZOO, "pagat", 3, 2, record=lambda match: report.write_match(match, tmp_path / "matches"))
    files = sorted((tmp_path / "matches").iterdir())
    assert len(files) == 6
    for file in files:
        steps = list(replay(read_file(file)))
        assert steps[-1].after.is_over


def test_the_screen_shows_every_agent_even_one_with_brackets_in_its_name():
    from rich.console import Console

    result = run_tournament({"[red]fox": Below(0.4), "dice": Dice()}, "pagat", 4, 3)
    console = Console(width=120)
    with console.capture() as capture:
        console.print(report.screen_table(result))
    assert "[red]fox" in capture.get()
    assert "dice" in capture.get()


def test_the_command_ranks_the_agents_it_is_given_and_writes_the_folder(tmp_path):
    app = typer.Typer()
    app.command()(tournament)
    arguments = ["--agents", "stand, threshold:IV", "--seats", "3", "--blocks", "5"]
    run = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "a"), "--record", str(tmp_path / "matches")])
    assert run.exit_code == 0, run.output
    assert "threshold:IV" in run.output
    assert "15 matches" in run.output
    assert len(list((tmp_path / "matches").iterdir())) == 15
    again = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "b")])
    assert again.exit_code == 0, again.output
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_the_command_makes_no_folder_for_a_tournament_that_cannot_be(tmp_path):
    app = typer.Typer()
    app.command()(tournament)
    run = CliRunner().invoke(app, ["--agents", "tips,tipz", "--out", str(tmp_path / "a")])
    assert isinstance(run.exception, GnavError)
    assert "did you mean 'tips'" in str(run.exception)
    assert not (tmp_path / "a").exists()
