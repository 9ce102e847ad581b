"""The study of solved deals: its figures follow from the solver, its files repeat to the byte."""

import csv
import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from gnav_agents.commands.study import study
from gnav_agents.solve.deal import deal_tree, solve_deal
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.solution import save_solution
from gnav_agents.solve.sweep import KEEP, Sweeper
from gnav_agents.studies import strategy
from gnav_agents.studies.cells import make_grid
from gnav_agents.studies.strategy import AGENTS, BEST, EQUILIBRIUM, num_steps, study_strategy
from gnav_agents.studies.strategy_information import MISSED, actors, groups_of, losses_from
from gnav_env.errors import GnavError
from gnav_env.state import EXCHANGE, STAND
from gnav_env.variants import VARIANTS

SEATS = (2, 3)


@pytest.fixture(scope="module")
def found():
    """Rows and cells of pagat at two and three seats, solved here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategy, "shipped_solutions", dict)
        return study_strategy(make_grid("pagat", "2,3"))


@pytest.fixture(scope="module", params=SEATS)
def solved(request):
    """A sweeper in equilibrium, swept, and what was found."""
    deal = solve_deal(VARIANTS["pagat"], request.param)
    sweeper = Sweeper(deal.tree, lives_payoffs(deal.tree))
    sweeper.stand[:] = deal.stand
    return sweeper, sweeper.sweep(KEEP)


def values_of(rows, seats, topic, what, *, whole=False):
    """The figures by position, the eldest first, or the sum."""
    alike = [row for row in rows if (row.seats, row.topic, row.what) == (seats, topic, what)]
    if whole:
        return next(row.value for row in alike if row.position is None)
    return [row.value for row in sorted(alike, key=lambda row: -(row.position or 0)) if row.position is not None]


def run(*arguments):
    """What `gnav study` with these arguments says; errors are raised."""
    app = typer.Typer()
    app.add_typer(study, name="study")
    result = CliRunner().invoke(app, ["study", *arguments], catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_values_are_those_of_the_solved_deal(found):
    rows, cells = found
    for cell in cells:
        deal = solve_deal(VARIANTS["pagat"], cell.seats)
        assert values_of(rows, cell.seats, "value", EQUILIBRIUM) == pytest.approx(-deal.values, abs=1e-9)
        assert cell.nash_conv < 1e-6
        assert cell.states == deal.tree.num_states


@pytest.mark.parametrize("num_seats", SEATS)
def test_the_threshold_is_where_the_solved_policy_turns(found, num_seats):
    deal = solve_deal(VARIANTS["pagat"], num_seats)
    shown = {row.position: row for row in found[0] if (row.seats, row.topic) == (num_seats, "threshold")}
    assert set(shown) == set(range(num_seats))
    for node in deal.tree.nodes:
        if node.actor >= 0 and not node.public and EXCHANGE not in node.actions:
            ranks = node.domains[node.seen[0]]
            stand = deal.stand[node.first_state : node.first_state + node.num_states]
            row = shown[num_seats - 1 - node.actor]
            assert [rank >= row.value for rank in ranks] == [chance == 1 for chance in stand]
            assert VARIANTS["pagat"].card_name(VARIANTS["pagat"].ranks[int(row.value)]) == row.card
            assert row.note == ""


def test_the_more_seats_have_stood_the_more_is_exchanged(found):
    for num_seats in SEATS:
        thresholds = values_of(found[0], num_seats, "threshold", "exchanges")
        assert thresholds == sorted(thresholds)


def test_a_seat_that_was_traded_with_exchanges_a_card_that_is_no_better(found):
    fits = [row for row in found[0] if row.what == "rule fits" and row.seats == 3]
    assert [row.value for row in fits] == [1, 1]
    costs = [row.value for row in found[0] if row.what == "rule costs" and row.seats == 3]
    assert costs == pytest.approx([0, 0], abs=1e-12)


def test_only_the_equilibrium_leaves_nothing_to_gain(found):
    rows, _ = found
    for num_seats in SEATS:
        sums = [row for row in rows if (row.seats, row.topic, row.position) == (num_seats, "gain", None)]
        gains = {row.what: row.value for row in sums}
        assert gains.pop(EQUILIBRIUM) == pytest.approx(0, abs=1e-6)
        assert set(AGENTS) < set(gains)
        assert min(gains.values()) > 1e-3
        assert gains[BEST] == min(gain for what, gain in gains.items() if what.startswith("threshold:"))
        for what in gains:
            assert sum(values_of(rows, num_seats, "gain", what)) == pytest.approx(gains[what])
            assert min(values_of(rows, num_seats, "gain", what)) > -1e-9


@pytest.mark.parametrize("name", ["stand", "exchange"])
def test_the_gain_of_who_does_always_the_same_is_that_of_the_constant_policy(found, solved, name):
    sweeper, _ = solved
    kept = sweeper.stand.copy()
    sweeper.stand[:] = np.where(sweeper.legal == 3, name == "stand", sweeper.legal == 1)
    gains = sweeper.sweep(KEEP).gains
    sweeper.stand[:] = kept
    sweeper.sweep(KEEP)
    assert values_of(found[0], sweeper.tree.num_seats, "gain", name) == pytest.approx(gains, abs=1e-9)


def test_a_threshold_need_not_be_named():
    grid = make_grid("pagat", "2")
    assert study_strategy(grid, ["threshold:V"]) == study_strategy(grid)


def test_a_shipped_solution_is_taken_if_it_is_of_the_same_rules(found, tmp_path, monkeypatch):
    deal = solve_deal(VARIANTS["pagat"], 2)
    path = tmp_path / "pagat-2.npz"
    save_solution(path, deal.tree, deal.stand, nash_conv=deal.nash_conv, solved={"by": "a file", "rounds": 1})
    monkeypatch.setattr(strategy, "shipped_solutions", lambda: {("pagat", 2): path})
    rows, (cell,) = study_strategy(make_grid("pagat", "2"))
    assert (cell.how, cell.sweeps) == ("a file", 1)
    assert rows == [row for row in found[0] if row.seats == 2]
    other = tmp_path / "pagat.yaml"
    other.write_text("name: pagat\nbased_on: pagat\nlives: 2\ntitle: two lives\nsource: this test\n", encoding="utf-8")
    _, (cell,) = study_strategy(make_grid(str(other), "2"))
    assert cell.how == "best responses"


@pytest.mark.parametrize("missed", MISSED)
def test_what_missing_something_costs_is_what_the_best_policy_without_it_loses(solved, missed):
    sweeper, swept = solved
    tree, kept = sweeper.tree, sweeper.stand.copy()
    group = groups_of(tree, missed, sweeper.legal)
    losses = losses_from(sweeper, group)
    worth, seat_of = sweeper.worth.copy(), actors(tree)
    for seat in range(tree.num_seats):
        sums = np.stack([np.bincount(group, worth[:, action], group.max() + 1) for action in (STAND, EXCHANGE)])
        blind = (sums[STAND] >= sums[EXCHANGE])[group].astype(float)
        own = (seat_of == seat) & (sweeper.legal == 3)
        sweeper.stand[:] = np.where(own, blind, kept)
        assert swept.values[seat] - sweeper.sweep(KEEP).values[seat] == pytest.approx(losses[seat], abs=1e-9)
    sweeper.stand[:] = kept
    sweeper.sweep(KEEP)


def test_who_misses_more_loses_more(found):
    for num_seats in SEATS:
        lost = {missed: np.array(values_of(found[0], num_seats, "information", missed)) for missed in MISSED}
        assert (lost["history"] >= np.maximum(lost["knocks"], lost["cards seen"]) - 1e-12).all()
        assert min(values.min() for values in lost.values()) >= -1e-9
        assert lost["cards seen"][0] == pytest.approx(0, abs=1e-12)  # the eldest has seen none
        assert lost["knocks"].sum() > 0


def test_a_seat_without_history_has_a_group_for_each_card():
    tree = deal_tree(VARIANTS["pagat"], 3)
    group = groups_of(tree, "history", np.full(tree.num_states, 3, np.int8))
    seat = actors(tree)
    assert [len(set(group[seat == number])) for number in range(3)] == [21] * 3


def test_states_that_differ_in_a_knock_alone_are_one_to_who_is_deaf():
    rules = VARIANTS["pagat"]
    tree = deal_tree(rules, 3)
    group = groups_of(tree, "knocks", np.full(tree.num_states, 3, np.int8))
    eldest = [node for node in tree.nodes if node.actor == 0]
    by_card = {}
    for node in eldest:
        cards = node.domains[node.seen[0]] if node.seen else (node.public[node.hand],)
        for number, card in enumerate(cards):
            by_card.setdefault(card, set()).add(int(group[node.first_state + number]))
    assert len(eldest) > 2
    assert all(len(numbers) == 1 for numbers in by_card.values())
    assert len(set.union(*by_card.values())) == len(by_card) == 21


def test_where_nobody_knocks_there_is_nothing_to_hear():
    rows, cells = study_strategy(make_grid("ranter", "2"))
    assert values_of(rows, 2, "information", "knocks") == pytest.approx([0, 0], abs=1e-9)
    assert cells[0].rules == "ranter"


def test_progress_comes_to_its_end():
    grid, steps = make_grid("pagat", "2"), []
    study_strategy(grid, ["tips"], progress=lambda _what, num: steps.append(num))
    assert sum(steps) == num_steps(grid, ["tips"])


@pytest.mark.parametrize(
    ("rules", "seats", "agents", "words"),
    [
        ("pagat", "2,7", [], "2 to 6"),
        ("silent", "3", [], "cannot be solved exactly"),
        ("pagat", "2", ["nobody"], "nobody"),
    ],
)
def test_what_cannot_be_studied_is_refused_before_anything_is_solved(rules, seats, agents, words):
    told = []
    with pytest.raises(GnavError, match=words):
        study_strategy(make_grid(rules, seats), agents, progress=lambda what, _num: told.append(what))
    assert told == []


def test_an_agent_that_does_not_say_its_probabilities_is_refused(monkeypatch):
    class Silent:
        def act(self, observation, action_mask, rng):
            return np.zeros(len(observation), np.int64)

    monkeypatch.setattr(strategy, "make_agent", lambda *_: Silent())
    with pytest.raises(GnavError, match="does not say its probabilities"):
        study_strategy(make_grid("pagat", "2"))


def test_the_same_command_writes_the_same_bytes(tmp_path):
    names = ["strategy.csv", "strategy.json", "strategy.md"]
    said = [run("strategy", "--seats", "2", "--out", str(tmp_path / folder)) for folder in "ab"]
    one, other = ({name: (tmp_path / folder / name).read_bytes() for name in names} for folder in "ab")
    assert one == other
    assert "lives lost a deal" in said[0]
    rows = list(csv.DictReader(one["strategy.csv"].decode().splitlines()))
    data = json.loads(one["strategy.json"])
    assert data["seed"] is None
    assert len(rows) == len(data["rows"])
    assert {row["topic"] for row in rows} <= set(data["definitions"])
    assert b"nothing is drawn" in one["strategy.md"]
    for picture in ("strategy", "strategy-gains", "strategy-information", "strategy-values"):
        assert (tmp_path / "a" / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
