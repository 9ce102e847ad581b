"""Agents that fail: they forfeit their own seat in that match, and for everybody else the tournament goes on."""

import csv
import json
from collections import Counter

import numpy as np
import pytest

from gnav_agents.arena import make_plan, play_in_folder, run_tournament
from gnav_agents.arena.store import ERROR_COLUMNS
from gnav_env.errors import GnavError
from gnav_env.observation import piece
from gnav_env.table import Table
from tournaments import ZOO, Below, BelowAsPolicy

WEAK = 0.04
"""Strength of own cards at which the agents here fail: seldom enough that many of their matches are whole."""


class Raising(Below):
    def act(self, observation, action_mask, rng):
        if (piece(observation, "own_strength")[:, 0] < WEAK).any():
            raise ZeroDivisionError("too weak")
        return super().act(observation, action_mask, rng)


class Leaving(Below):
    def act(self, observation, action_mask, rng):
        if (piece(observation, "own_strength")[:, 0] < WEAK).any():
            raise SystemExit(3)
        return super().act(observation, action_mask, rng)


class Illegal(Below):
    def act(self, observation, action_mask, rng):
        is_weak = piece(observation, "own_strength")[:, 0] < WEAK
        return np.where(is_weak, 2, super().act(observation, action_mask, rng))


class IllegalAsPolicy(BelowAsPolicy):
    def probabilities(self, observation, action_mask):
        probabilities = super().probabilities(observation, action_mask)
        probabilities[piece(observation, "own_strength")[:, 0] < WEAK] = (0.7, 0.7)
        return probabilities


class Never:
    def act(self, observation, action_mask, rng):
        raise RuntimeError("never")


SOMETIMES = [
    (Raising, "raised", "ZeroDivisionError: too weak"),
    (Leaving, "raised", "SystemExit: 3"),
    (Illegal, "illegal", "an action is 0 (STAND) or 1 (EXCHANGE), not 2"),
    (IllegalAsPolicy, "illegal", "probabilities are not negative and sum to 1, not [0.7, 0.7]"),
]


def compete(fox, num_seats=3, record=None, rules="pagat", **options):
    """A tournament in which many matches are played without the fox."""
    agents = {"stand": Below(0), "low": ZOO["low"], "fox": fox, "uniform": ZOO["uniform"], "middle": ZOO["middle"]}
    return run_tournament(agents, rules, num_seats, blocks=60, seed=7, record=record, **options)


@pytest.mark.parametrize(("kind", "word", "detail"), SOMETIMES)
def test_a_failure_costs_the_agent_its_seat_in_that_match_and_changes_no_other_match(kind, word, detail):
    honest, result = compete(Below(0.45)), compete(kind(0.45))
    [before], [after] = honest.units, result.units
    assert not before.failures
    forfeited = after.entries["forfeited"]
    fox = result.plan.names.index("fox")
    whole = ~forfeited.any(axis=1)
    assert (~whole).sum() > 10
    assert (whole & (after.entries["agent"] == fox).any(axis=1)).sum() > 10
    assert np.array_equal(after.entries[whole], before.entries[whole])
    assert (after.entries["agent"][forfeited] == fox).all()
    assert {(failure.kind, failure.detail) for failure in after.failures} == {(word, detail)}
    failed = [(failure.match, failure.seat) for failure in after.failures]
    assert failed == sorted(failed)
    assert failed == [tuple(at) for at in np.argwhere(forfeited).tolist()]
    for failure in after.failures:
        entry = after.entries[failure.match, failure.seat]
        assert entry["last_deal"] == failure.deal


@pytest.mark.parametrize("kind", [Raising, Illegal])
def test_who_forfeits_is_last_and_eliminated_in_that_deal_and_the_others_are_placed_among_themselves(kind):
    matches = []
    result = compete(kind(0.45), 5, matches.append)
    [unit] = result.units
    num_checked = 0
    for match, entries in zip(matches, unit.entries, strict=True):
        out = entries["forfeited"]
        if not out.any():
            continue
        num_checked += 1
        table = Table(match.rules, 5, seed=match.seed, match=match.block)
        actions = iter(match.actions)
        decisions, paid, deals = Counter(), Counter(), Counter()
        while not table.is_over:
            table.deal()
            for seat in range(5):
                deals[seat] += table.hands[seat] is not None and table.deals <= entries["last_deal"][seat]
            while (seat := table.to_act) is not None:
                has_failed = out[seat] and decisions[seat] == entries["decisions"][seat]
                action = next(actions)
                if has_failed:
                    assert action == table.legal_actions()[0], "a player who stands"
                else:
                    decisions[seat] += 1
                table.act(action)
            for seat in range(5):
                paid[seat] += table.lost[seat] * (table.deals <= entries["last_deal"][seat])
        assert [decisions[seat] for seat in range(5)] == entries["decisions"].tolist()
        assert [paid[seat] for seat in range(5)] == entries["lives_lost"].tolist()
        assert [deals[seat] for seat in range(5)] == entries["deals"].tolist()
        assert entries["losses"].sum(axis=1).tolist() == entries["lives_lost"].tolist()
        others = [table.places[seat] for seat in range(5) if not out[seat]]
        expected = [1 + sum(other < place for other in others) for place in others]
        assert entries["place"][~out].tolist() == expected
        assert (entries["place"][out] == 1 + len(others)).all()
        assert (entries["tied"][out] == out.sum()).all()
        assert entries["eliminated"][out].all()
        assert entries["eliminated"][~out].tolist() == [place > 1 for place in expected]
        assert ((entries["place"] == 1) / entries["tied"]).sum() == pytest.approx(1)
    assert num_checked > 50


def test_an_agent_that_always_fails_forfeits_every_entry_in_which_it_is_asked():
    result = compete(Never(), 4)
    [unit] = result.units
    own = unit.entries[unit.entries["agent"] == result.plan.names.index("fox")]
    assert (own["forfeited"] | (own["decisions"] == 0)).all()
    assert own["forfeited"].mean() > 0.95
    row = result.summary.leaderboard[-1]
    assert (row.agent, row.forfeits, row.standing) == ("fox", own["forfeited"].sum(), "behind")
    assert row.figures["win_share"].value < 0.05
    assert row.figures["elimination_rate"].value > 0.95
    assert result.summary.counts.forfeits == row.forfeits
    assert sum(other.forfeits for other in result.summary.leaderboard) == row.forfeits


def test_where_nobody_plays_on_all_share_the_place():
    result = run_tournament({"fox": Never()}, "pagat", 3, {"self": 5})
    [unit] = result.units
    assert unit.entries["forfeited"].all() and unit.entries["eliminated"].all()
    assert (unit.entries["place"] == 1).all() and (unit.entries["tied"] == 3).all()


@pytest.mark.parametrize(("kind", "word", "detail"), [*SOMETIMES, (lambda _: Never(), "raised", "RuntimeError: never")])
def test_where_failures_may_not_be_the_agent_is_named(kind, word, detail):
    with pytest.raises(GnavError) as told:
        compete(kind(0.45), strict=True)
    assert str(told.value) == f"agent fox failed ({word}): {detail}"


def test_the_one_legal_action_stands_in_where_standing_is_illegal():
    # in `forced` a seat without a matador must exchange
    [unit] = compete(Never(), 4, rules="forced").units
    assert unit.entries["forfeited"].any()
    assert not unit.entries["forfeited"][unit.entries["agent"] != 2].any()


def test_failures_are_rows_of_errors_csv_with_the_place_of_the_match(tmp_path):
    agents = {"low": ZOO["low"], "fox": Raising(0.45), "owl": Illegal(0.3)}
    plan = make_plan(agents, "pagat", (3, 4), {"mixed": 6, "invasion": 2}, seed=3)
    summary = play_in_folder(plan, tmp_path / "a").summary
    with (tmp_path / "a" / "errors.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(ERROR_COLUMNS)
    assert {row["agent"]: row["kind"] for row in rows} == {"fox": "raised", "owl": "illegal"}
    result = run_tournament(agents, "pagat", (3, 4), {"mixed": 6, "invasion": 2}, seed=3)
    expected = [
        (plan.fields[unit.field].kind, plan.fields[unit.field].num_seats, *where, plan.names[entry["agent"]])
        for unit, played in zip(plan.units, result.units, strict=True)
        for entry in played.entries[played.entries["forfeited"]]
        for where in [[int(entry[name]) for name in ("block", "line_up", "rotation", "seat", "last_deal")]]
    ]
    numbers = ("block", "line_up", "rotation", "seat", "deal")
    told = [(row["field"], int(row["seats"]), *(int(row[name]) for name in numbers), row["agent"]) for row in rows]
    assert told == expected
    assert summary.counts.forfeits == len(rows)


# ------------------------------------------------------------------------------------------------ foreign agents

FOREIGN = """
import time

from gnav_env.observation import piece

class Honest:
    def act(self, observation, action_mask, rng):
        return action_mask[:, 1]

class Raising(Honest):
    def act(self, observation, action_mask, rng):
        if (piece(observation, "own_strength")[:, 0] < 0.04).any():
            raise ValueError("not today")
        return super().act(observation, action_mask, rng)

class Hanging(Honest):
    def act(self, observation, action_mask, rng):
        time.sleep(60)
"""


@pytest.mark.slow
def test_foreign_agents_that_hang_or_raise_are_told_apart_and_the_rest_counts(tmp_path, monkeypatch):
    (tmp_path / "strangers.py").write_text(FOREIGN)
    monkeypatch.chdir(tmp_path)
    agents = ["strangers:Honest", "strangers:Raising", "strangers:Hanging", "tips"]
    plan = make_plan(agents, "pagat", 3, blocks=12, seed=1, time_limit=0.3)
    summary = play_in_folder(plan, tmp_path / "a").summary
    with (tmp_path / "a" / "errors.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = Counter((row["agent"], row["kind"]) for row in rows)
    assert kinds.keys() == {("strangers:Raising", "raised"), ("strangers:Hanging", "timed out")}
    boards = {row.agent: row for row in summary.leaderboard}
    assert boards["strangers:Honest"].forfeits == boards["tips"].forfeits == 0
    assert boards["strangers:Hanging"].forfeits == kinds["strangers:Hanging", "timed out"]
    assert 0 < boards["strangers:Raising"].forfeits == kinds["strangers:Raising", "raised"]
    assert summary.leaderboard[-1].agent == "strangers:Hanging"
    assert all(row.entries == 12 * 3 * 3 / 4 for row in summary.leaderboard)
    assert json.loads((tmp_path / "a" / "summary.json").read_text())["plan"]["time_limit"] == 0.3
