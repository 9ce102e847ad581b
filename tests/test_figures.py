"""Sums and figures: they are what one counts by hand or slowly, and intervals promise no more than they hold."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import CensoredData, ecdf

from gnav_agents.arena import make_plan, run_tournament, sums
from gnav_agents.arena.bootstrap import Resampled, draw_weights, holm, rank_intervals
from gnav_agents.arena.figures import _behind, make_summary, survival
from gnav_agents.arena.play import entry_dtype
from gnav_agents.arena.summary import STATISTICS
from gnav_agents.arena.sums import SHARES, SUMS, FieldSums
from gnav_env.losses import loss_causes
from gnav_env.rules import Rules
from gnav_env.variants import get_rules
from matches import seats_for
from tournaments import ZOO, Below, Dice, make_units_small

ALL_FIELDS = {"mixed": 6, "invasion": 3, "self": 4, "reference:low": 5}


class Moody(Below):
    """Fails now and then."""

    def act(self, observation, action_mask, rng):
        if len(observation) == 1 and observation.sum() % 1 < 0.1:
            raise RuntimeError("not in the mood")
        if len(observation) > 1 and (observation.sum(axis=1) % 1 < 0.1).any():
            raise RuntimeError("not all of them")
        return super().act(observation, action_mask, rng)


AGENTS = {"low": ZOO["low"], "uniform": ZOO["uniform"], "moody": Moody(0.5)}


def as_dicts(entries):
    """Matches of seats of values by name."""
    names = entries.dtype.names
    return [[dict(zip(names, entry, strict=True)) for entry in match] for match in entries.tolist()]


def slowly(field, units, num_groups, num_causes):
    """totals, outlive, exits and stayed, counted entry by entry."""
    totals = defaultdict(lambda: [0] * (len(SUMS) + num_causes))
    outlive, exits, stayed = Counter(), Counter(), Counter()
    num_seats, num_agents = field.num_seats, len(field.agents)
    for match in (match for entries in units for match in as_dicts(entries)):
        num_out = sum(entry["eliminated"] for entry in match)
        falls = [(entry["last_deal"], -entry["place"]) for entry in match if entry["eliminated"]]
        group = match[0]["block"] * num_groups // field.num_blocks
        for entry in match:
            agent, place, tied, eliminated = (entry[name] for name in ("agent", "place", "tied", "eliminated"))
            others = [other for other in match if other["seat"] != entry["seat"]]
            if field.kind == "mixed":
                for other in others:
                    if other["agent"] != agent:
                        outlive[group, agent, other["agent"], 1] += 2
                        outlive[group, agent, other["agent"], 0] += (place < other["place"]) + (place <= other["place"])
            elif field.kind != "self" and (entry["seat"] + entry["rotation"]) % num_seats != 0:
                continue  # a copy that the candidate sits among
            fall = (entry["last_deal"], -place)
            key = agent * num_agents + others[0]["agent"] if field.kind == "invasion" else agent
            row = {
                "entries": 1,
                "forfeits": entry["forfeited"],
                "eliminated": eliminated,
                "times_seats": num_seats * eliminated,
                "of_all": num_out,
                "wins": SHARES // tied if place == 1 else 0,
                "first_out": SHARES // falls.count(fall) if eliminated and fall == min(falls) else 0,
                "placement": sum((place < other["place"]) + (place <= other["place"]) for other in others),
                "lives_lost": entry["lives_lost"],
                "deals": entry["deals"],
                "at_risk": entry["last_deal"],
            }
            added = [*(row[name] for name in SUMS), *entry["losses"].tolist()]
            totals[group, key] = [a + b for a, b in zip(totals[group, key], added, strict=True)]
            if eliminated or entry["cut"]:
                exits[group, agent, entry["last_deal"] - 1, int(not eliminated)] += 1
            else:
                stayed[group, agent] += 1
    return totals, outlive, exits, stayed


def nonzero(array):
    """The cells that are not 0, by index."""
    return {tuple(index): int(array[tuple(index)]) for index in np.argwhere(array).tolist()}


@settings(deadline=None, max_examples=10)
@given(data=st.data(), kind=st.sampled_from(list(ALL_FIELDS)), seed=st.integers(0, 2**63 - 1))
def test_every_sum_is_what_one_counts_entry_by_entry_in_whatever_order_units_come(data, kind, seed):
    rules = get_rules(data.draw(st.sampled_from(["pagat", "tokens", "short", "campli", "kille", "vogelspiel"])))
    num_seats = seats_for(rules, data.draw(st.integers(2, 7)))
    num_groups = data.draw(st.integers(1, 6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "MAX_GROUPS", num_groups)
        make_units_small(patch, 12)
        patch.setattr(Rules, "max_deals", lambda self, num_seats: 3 * num_seats)
        fields = {"mixed": 6, kind: ALL_FIELDS[kind]}  # what is first ranks, and not all fields can
        result = run_tournament(AGENTS, rules, num_seats, fields, seed=seed)
        field = result.plan.fields[-1]
        num_causes = len(loss_causes(rules))
        num_groups = min(num_groups, field.num_blocks)
        units = result.entries(len(result.plan.fields) - 1)
        totals, outlive, exits, stayed = slowly(field, units, num_groups, num_causes)
        for order in (range(len(units)), data.draw(st.permutations(range(len(units))))):
            found = FieldSums(field, num_causes)
            for unit in order:
                found.add(units[unit])
            assert found.num_groups == num_groups
            expected = {(*at, number): value for at, row in totals.items() for number, value in enumerate(row) if value}
            assert nonzero(found.totals) == expected
            assert nonzero(found.outlive) == {at: value for at, value in outlive.items() if value}
            assert nonzero(found.exits) == exits
            assert nonzero(found.stayed) == stayed
            assert found.num_matches == field.num_matches
            assert found.num_cut == sum(int(entries["cut"][:, 0].sum()) for entries in units)
            assert found.num_decisions == sum(int(entries["decisions"].sum()) for entries in units)


def test_the_matches_of_a_mixed_field_come_in_the_order_of_blocks_with_their_groups(monkeypatch):
    monkeypatch.setattr(sums, "MAX_GROUPS", 4)
    make_units_small(monkeypatch, 9)
    result = run_tournament(AGENTS, "pagat", 3, blocks=11, seed=2)
    found = FieldSums(result.plan.fields[0], 4)
    for entries in reversed(result.entries()):
        found.add(entries)
    groups, agents, places = found.matches()
    whole = np.concatenate(result.entries())
    # neighbours together, in groups of equal size but for one
    assert groups.tolist() == [group for group, size in enumerate((3, 3, 3, 2)) for _ in range(3 * size)]
    assert np.array_equal(agents, whole["agent"])
    assert np.array_equal(places, whole["place"])


# ------------------------------------------------------------------------------------------------ figures by hand


def summary_of(matches, names, num_seats, rules="pagat"):
    """The summary of matches of seats (block, agent, place, tied, eliminated, deals, last_deal, lives_lost)."""
    columns = ("block", "agent", "place", "tied", "eliminated", "deals", "last_deal", "lives_lost")
    rules = get_rules(rules)
    entries = np.zeros((len(matches), num_seats), entry_dtype(rules))
    for m, seats in enumerate(matches):
        for s, values in enumerate(seats):
            for name, value in zip(columns, values, strict=True):
                entries[name][m, s] = value
    num_blocks = len({seats[0][0] for seats in matches})
    plan = make_plan(dict.fromkeys(names, Below(0)), rules, num_seats, blocks=num_blocks)
    [field] = plan.fields
    found = FieldSums(field, len(loss_causes(rules)))
    found.add(entries)
    return make_summary(plan, [found], {})


def figures_of(summary, name):
    return {row.agent: row.figures[name].value for row in summary.leaderboard}


BY_HAND = [
    # two of three eliminated: par 2/3 a seat
    [(0, 0, 1, 1, False, 5, 6, 1), (0, 1, 3, 1, True, 2, 2, 3), (0, 1, 2, 1, True, 5, 6, 3)],
    # two share the match, one eliminated: par 1/3 a seat
    [(1, 1, 1, 2, False, 4, 4, 3), (1, 0, 1, 2, False, 4, 4, 3), (1, 1, 3, 1, True, 1, 1, 3)],
    # two fall first together
    [(2, 0, 2, 2, True, 3, 3, 3), (2, 1, 2, 2, True, 3, 3, 3), (2, 0, 1, 1, False, 3, 3, 0)],
]


@pytest.mark.parametrize(
    ("name", "fox", "owl"),
    [
        ("relative_elimination_rate", 3 * 1 / (2 + 1 + 2 + 2), 3 * 4 / (2 + 2 + 1 + 1 + 2)),
        ("elimination_rate", 1 / 4, 4 / 5),
        ("hazard", 100 * 1 / (6 + 4 + 3 + 3), 100 * 4 / (2 + 6 + 4 + 1 + 3)),
        ("placement", (1 + 0.75 + 0.25 + 1) / 4, (0 + 0.5 + 0.75 + 0 + 0.25) / 5),
        ("win_share", (1 + 1 / 2 + 0 + 1) / 4, (1 / 2) / 5),
        ("early_elimination", (1 / 2) / 4, (1 + 0 + 0 + 1 + 1 / 2) / 5),
        ("loss_rate", (1 + 3 + 3 + 0) / (5 + 4 + 3 + 3), (3 + 3 + 3 + 3 + 3) / (2 + 5 + 4 + 1 + 3)),
        ("mean_deals", 15 / 4, 15 / 5),
    ],
)
def test_figures_are_those_calculated_by_hand(name, fox, owl):
    found = figures_of(summary_of(BY_HAND, ("fox", "owl"), 3), name)
    assert found == pytest.approx({"fox": fox, "owl": owl}, abs=1e-6)


def test_all_figures_are_calculated_by_hand():
    [mark] = [mark for mark in test_figures_are_those_calculated_by_hand.pytestmark if mark.name == "parametrize"]
    assert {case[0] for case in mark.args[1]} == set(STATISTICS)


def test_the_outlive_matrix_by_hand_counts_a_tie_as_half():
    matrix = summary_of(BY_HAND, ("fox", "owl"), 3).outlive
    assert matrix.agents == ("fox", "owl")
    values = [[cell.value for cell in row] for row in matrix.cells]
    fox = (1 + 1 + 0.5 + 1 + 0.5 + 1) / 6
    assert values == [[None, pytest.approx(fox, abs=1e-6)], [pytest.approx(1 - fox, abs=1e-6), None]]


def test_where_nobody_is_eliminated_there_is_no_relative_rate_and_placement_decides():
    matches = [[(block, 0, 2, 1, False, 5, 5, 2), (block, 1, 1, 1, False, 5, 5, 0)] for block in range(3)]
    rows = summary_of(matches, ("loser", "winner"), 2).leaderboard
    assert [(row.agent, row.rank, row.standing) for row in rows] == [("winner", 1, "best"), ("loser", 2, "level")]
    assert rows[0].figures["relative_elimination_rate"].model_dump() == {"value": None, "low": None, "high": None}
    assert rows[0].figures["elimination_rate"].value == 0


# ---------------------------------------------------------------------------------------- figures counted slowly


@pytest.fixture(scope="module")
def big():
    agents = {**AGENTS, "stand": Below(0)}
    return run_tournament(agents, "pagat", (3, 6), {"mixed": 40, "invasion": 12, "self": 8}, seed=5)


def whole(result, kind, num_seats):
    """All entries [M, S] of a field."""
    [number] = [
        number for number, field in enumerate(result.plan.fields) if (field.kind, field.num_seats) == (kind, num_seats)
    ]
    return np.concatenate(result.entries(number))


def test_losses_by_cause_are_lives_paid_for_each_deal_with_a_card(big):
    entries = whole(big, "mixed", 6)
    [report] = [one for one in big.summary.fields if (one.field, one.num_seats) == ("mixed", 6)]
    for row in report.rows:
        own = entries[entries["agent"] == big.plan.names.index(row.agent)]
        expected = own["losses"].sum(axis=0) / own["deals"].sum()
        assert list(row.losses) == list(loss_causes(big.plan.rules))
        assert [cause.value for cause in row.losses.values()] == pytest.approx(expected, abs=1e-6)
        assert sum(cause.value for cause in row.losses.values()) == pytest.approx(
            row.figures["loss_rate"].value, abs=1e-5
        )


def test_survival_is_the_estimate_of_scipy(big):
    for num_seats in (3, 6):
        entries = whole(big, "mixed", num_seats)
        for number, name in enumerate(big.plan.names):
            own = entries[entries["agent"] == number]
            fell = own["eliminated"]
            [curve] = [one for one in big.summary.survival if (one.agent, one.num_seats) == (name, num_seats)]
            # whose match was over first is there for good: censored behind all deals
            sample = CensoredData(uncensored=own["last_deal"][fell], right=np.full((~fell).sum(), 10_000))
            assert curve.alive == pytest.approx(ecdf(sample).sf.evaluate(np.array(curve.deals)), abs=1e-6)
            assert curve.deals == tuple(range(1, entries["last_deal"][entries["eliminated"]].max() + 1))
            left = [int((fell & (own["last_deal"] < deal)).sum()) for deal in curve.deals]
            assert list(curve.at_risk) == [own.size - num for num in left]
            assert curve.alive[-1] == pytest.approx(1 - fell.mean(), abs=1e-6)
            assert all(
                low <= value <= high for low, value, high in zip(curve.low, curve.alive, curve.high, strict=True)
            )


def test_survival_of_a_small_sample_is_that_of_the_textbook():
    # deals 1 to 4: of 10 two fall; one is cut off alive; of 7 three fall and one is cut off; of 3 all fall
    exits = np.array([[2, 0], [0, 1], [3, 1], [3, 0]])
    assert survival(exits, np.int64(0)) == pytest.approx([8 / 10, 8 / 10, 8 / 10 * 4 / 7, 0])
    # five more are there to the end
    assert survival(exits, np.int64(5)) == pytest.approx([13 / 15, 13 / 15, 13 / 15 * 9 / 12, 13 / 15 * 9 / 12 * 5 / 8])
    assert survival(np.zeros((3, 2)), np.int64(0)) == pytest.approx([1, 1, 1])


def test_the_outlive_matrix_is_a_mean_over_the_numbers_of_seats_of_what_one_counts(big):
    names = big.summary.outlive.agents
    assert names == tuple(row.agent for row in big.summary.leaderboard)
    for row, cells in zip(names, big.summary.outlive.cells, strict=True):
        for column, cell in zip(names, cells, strict=True):
            if row == column:
                assert cell.value is None
                continue
            shares = []
            for num_seats in (3, 6):
                scores = []
                for match in whole(big, "mixed", num_seats):
                    mine = match["place"][match["agent"] == big.plan.names.index(row)]
                    theirs = match["place"][match["agent"] == big.plan.names.index(column)]
                    scores += [(a < b) + (a == b) / 2 for a in mine for b in theirs]
                shares.append(np.mean(scores))
            assert cell.value == pytest.approx(np.mean(shares), abs=1e-6)


def test_the_invasion_matrix_is_what_one_counts(big):
    names = big.summary.invasion.agents
    for row, cells in zip(names, big.summary.invasion.cells, strict=True):
        for column, cell in zip(names, cells, strict=True):
            if row == column:
                assert cell.value is None
                continue
            a, b = big.plan.names.index(row), big.plan.names.index(column)
            rates = []
            for num_seats in (3, 6):
                entries = whole(big, "invasion", num_seats)
                alone = entries["agent"] == a
                here = (alone.sum(axis=1) == 1) & ((entries["agent"] == b).sum(axis=1) == num_seats - 1)
                assert here.sum() == 12 * num_seats
                out = entries["eliminated"][here]
                rates.append(out[alone[here]].mean() / out.mean())
            assert cell.value == pytest.approx(1 - np.mean(rates), abs=1e-6)


def test_with_several_numbers_of_seats_a_figure_is_the_mean_over_them(big):
    parts = {one.num_seats: {row.agent: row for row in one.rows} for one in big.summary.fields if one.field == "mixed"}
    assert parts.keys() == {3, 6}
    for row in big.summary.leaderboard:
        three, six = parts[3][row.agent], parts[6][row.agent]
        assert row.entries == three.entries + six.entries
        assert row.forfeits == three.forfeits + six.forfeits
        for name in STATISTICS:
            mean = (three.figures[name].value + six.figures[name].value) / 2
            assert row.figures[name].value == pytest.approx(mean, abs=2e-6)
        for cause in row.losses:
            assert row.losses[cause].value == pytest.approx(
                (three.losses[cause].value + six.losses[cause].value) / 2, abs=2e-6
            )
        rate = row.figures["relative_elimination_rate"]
        widths = [
            one.figures["relative_elimination_rate"].high - one.figures["relative_elimination_rate"].low
            for one in (three, six)
        ]
        assert rate.high - rate.low == pytest.approx(np.hypot(*widths) / 2, rel=0.15)


def test_counts_are_those_of_all_fields(big):
    units = [unit.entries for unit in big.units]
    counts = big.summary.counts
    assert counts.matches == sum(len(entries) for entries in units) == sum(one.num_matches for one in big.plan.fields)
    assert counts.decisions == sum(int(entries["decisions"].sum()) for entries in units)
    assert counts.cut_matches == 0
    assert counts.forfeits == sum(int(entries["forfeited"].sum()) for entries in units) > 0


def test_uniform_has_rating_zero_and_without_it_the_mean_has(big):
    assert big.summary.rating_zero == "uniform"
    ratings = {row.agent: row.rating for row in big.summary.leaderboard}
    assert ratings["uniform"].model_dump() == {"value": 0, "low": 0, "high": 0}
    other = run_tournament({"low": Below(0.3), "stand": Below(0)}, "pagat", 4, blocks=20).summary
    assert other.rating_zero == "mean"
    assert sum(row.rating.value for row in other.leaderboard) == pytest.approx(0, abs=1e-5)


def test_the_metagame_is_that_of_the_invasion_matrix(big):
    found = big.summary.metagame
    assert found.alpha_rank.keys() == found.nash.keys() == set(big.plan.names)
    assert sum(found.alpha_rank.values()) == pytest.approx(1, abs=1e-5)
    assert sum(found.nash.values()) == pytest.approx(1, abs=1e-5)
    assert max(found.nash_value.values()) == pytest.approx(0, abs=1e-5)
    assert found.cycle == ()
    assert found.nash["moody"] == pytest.approx(0, abs=1e-5)


# --------------------------------------------------------------------------------------------------- uncertainty


def test_resamples_draw_as_many_groups_as_there_are_and_each_equally_often():
    weights = draw_weights(30, 4, 1)
    assert weights.shape == (2000, 30)
    assert (weights.sum(axis=1) == 30).all()
    assert weights.mean(axis=0) == pytest.approx(1, abs=0.12)
    assert weights.var() == pytest.approx(29 / 30, rel=0.05)
    assert np.array_equal(weights, draw_weights(30, 4, 1))
    assert not np.array_equal(weights, draw_weights(30, 4, 2))
    assert not np.array_equal(weights, draw_weights(30, 5, 1))


@pytest.mark.parametrize("num_blocks", [10, 40])
def test_intervals_over_blocks_hold_the_truth_as_often_as_they_promise(num_blocks):
    # matches of a block share their luck: eliminations among 6 are binomial with a chance drawn for the block
    rng = np.random.default_rng(1)
    num_trials, truth = 1500, 0.7
    eliminated = rng.binomial(6, rng.beta(1.4, 0.6, (num_trials, num_blocks)))
    weights = draw_weights(num_blocks, 1)
    figures = Resampled(
        eliminated.mean(axis=1) / 6, (weights @ eliminated.T) / (6 * weights.sum(axis=1, keepdims=True)), num_blocks
    )
    low, high = figures.ends
    assert 0.93 <= ((low <= truth) & (truth <= high)).mean() <= 0.97
    assert figures[3].ends[0] == pytest.approx(low[3])
    assert figures.estimate(3).low == pytest.approx(low[3], abs=1e-6)


def test_what_is_not_there_in_some_resamples_has_its_interval_from_the_others():
    samples = np.linspace(0, 1, 2000)[:, np.newaxis] * [1, 1]
    samples[::2, 1] = np.nan
    low, high = Resampled(np.array([0.5, 0.5]), samples, 1000).ends
    assert low == pytest.approx([0.025, 0.025], abs=0.002)
    assert high == pytest.approx([0.975, 0.975], abs=0.002)
    nothing = Resampled(np.array([np.nan]), np.full((2000, 1), np.nan), 1000)
    assert nothing.estimate(0).model_dump() == {"value": None, "low": None, "high": None}


def test_holm_is_that_of_an_example_done_by_hand():
    # in order 0.005 < 0.05/4, 0.01 < 0.05/3, but 0.03 > 0.05/2: what comes after stands too
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == [True, False, False, True]
    assert holm(np.array([])).tolist() == []
    assert holm(np.array([0.051])).tolist() == [False]


@given(st.lists(st.floats(0, 1), max_size=8).map(np.array))
def test_holm_finds_what_bonferroni_finds_and_nothing_that_is_not_there_by_itself(p_values):
    fall = holm(p_values)
    assert fall[p_values < 0.05 / max(1, len(p_values))].all()
    assert not fall[p_values > 0.0501].any()
    if len(p_values):
        assert p_values[fall].max(initial=0) <= p_values[~fall].min(initial=1)


def test_of_many_true_hypotheses_one_falls_as_rarely_as_promised():
    rng = np.random.default_rng(2)
    num_groups, num_others, num_trials = 60, 5, 600
    weights = draw_weights(num_groups, 3)
    wrong = 0
    for blocks in rng.standard_normal((num_trials, num_groups, num_others)):
        lead = Resampled(blocks.mean(axis=0), weights @ blocks / num_groups, num_groups)
        wrong += holm(lead.certainty()).any()
    assert wrong / num_trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / num_trials)
    assert wrong > 0


def test_rank_intervals_say_where_the_ranks_lie_in_the_resamples():
    samples = np.tile([0.5, 0.8, 1.2, 1.5], (1000, 1))
    samples[:300, [0, 1]] = samples[:300, [1, 0]]
    samples[:10, [2, 3]] = samples[:10, [3, 2]]  # too seldom to count
    low, high = rank_intervals(Resampled(samples.mean(axis=0), samples, 500))
    assert (low.tolist(), high.tolist()) == ([1, 1, 3, 4], [2, 2, 3, 4])
    low, high = rank_intervals(Resampled(samples.mean(axis=0), samples, 1))
    assert (low.tolist(), high.tolist()) == ([1, 1, 1, 1], [4, 4, 4, 4])


def test_a_single_block_has_figures_but_no_intervals():
    summary = run_tournament(ZOO, "pagat", 4, {"mixed": 1, "invasion": 1}).summary
    for row in summary.leaderboard:
        for one in (*row.figures.values(), *row.losses.values(), row.rating):
            assert one.value is not None
            assert one.low is one.high is None
        assert (row.rank_low, row.rank_high) == (1, 4)
    assert [row.standing for row in summary.leaderboard] == ["best", "level", "level", "level"]
    assert all(curve.low == curve.alive == curve.high for curve in summary.survival)
    assert summary.invasion.cells[0][1].low is None
    assert summary.metagame.cycle == ()


# ---------------------------------------------------------------------------------------------- what must be level


def test_the_same_dice_under_two_names_are_at_par_and_level():
    rows = run_tournament({"fox": Dice(), "owl": Dice()}, "pagat", 6, blocks=150, seed=11).summary.leaderboard
    for row in rows:
        rate = row.figures["relative_elimination_rate"]
        assert rate.low < 1 < rate.high
        assert row.standing in ("best", "level")
        assert (row.rank_low, row.rank_high) == (1, 2)
    # with equal numbers of seats, what one gains the other loses
    assert sum(row.figures["relative_elimination_rate"].value for row in rows) == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize("agent", ["low", "middle", "uniform"])
def test_the_same_agent_under_two_names_is_exactly_at_par_and_level(agent):
    # over all rotations both meet the same cards and the same luck in the same seats
    agents = {"fox": ZOO[agent], "owl": ZOO[agent]}
    rows = run_tournament(agents, "pagat", 6, {"mixed": 50, "invasion": 10}, seed=11).summary.leaderboard
    par = {"value": 1, "low": 1, "high": 1}
    assert [row.figures["relative_elimination_rate"].model_dump() for row in rows] == [par, par]
    assert [(row.agent, row.standing) for row in rows] == [("fox", "best"), ("owl", "level")]
    assert rows[0].figures == rows[1].figures
    assert [row.rating.value for row in rows] == [0, 0]


def test_an_agent_alone_is_exactly_at_par():
    summary = run_tournament({"fox": Below(0.4)}, "pagat", 6, {"mixed": 20, "self": 20}).summary
    mixed, alone = (report.rows[0] for report in summary.fields)
    assert summary.leaderboard == (mixed,)
    for row in (mixed, alone):
        rate = row.figures["relative_elimination_rate"]
        assert (rate.value, rate.low, rate.high) == (1, 1, 1)
        assert (row.rank, row.rank_low, row.rank_high) == (1, 1, 1)
        assert row.rating is None
    assert (mixed.standing, alone.standing) == ("best", "level")
    assert (mixed.entries, alone.entries) == (20 * 6 * 6, 20 * 6)
    assert summary.outlive is None


def test_agents_that_are_alike_are_seldom_told_apart_though_the_first_of_many_is_picked_by_its_luck():
    # eight equal agents, ten blocks: the pick of the luckiest and the few blocks both invite false certainty
    rng = np.random.default_rng(5)
    num_wrong = 0
    for trial in range(200):
        rates = rng.normal(1, 0.3, (10, 8))
        weights = draw_weights(10, trial)
        ranking = Resampled(rates.mean(axis=0), weights @ rates / 10, 10)
        num_wrong += any(_behind(ranking, int(ranking.values.argmin())))
    assert num_wrong <= 20  # 10 promised; 20 is three standard errors more


def test_what_every_block_says_alike_is_certain_with_enough_blocks_and_not_with_few():
    for num_groups, certain in ((4, False), (12, True)):
        same = Resampled(np.array([0.5, 0.0]), np.tile([0.5, 0.0], (100, 1)), num_groups)
        assert holm(same.certainty()).tolist() == [certain, False]


def test_a_field_of_copies_ranks_nobody():
    summary = run_tournament(AGENTS, "pagat", 4, {"self": 5, "mixed": 8}).summary
    assert summary.leaderboard == summary.fields[0].rows
    everywhere = {(row.standing, row.rank_low, row.rank_high) for row in summary.leaderboard}
    assert everywhere == {("level", 1, len(AGENTS))}


def test_a_resample_without_a_figure_leaves_doubt():
    samples = np.random.default_rng(1).normal(1, 0.01, (500, 1))
    assert holm(Resampled(np.array([1.0]), samples, 40).certainty()).all()
    samples[0] = np.nan
    assert not holm(Resampled(np.array([1.0]), samples, 40).certainty()).any()


def test_a_sensible_agent_is_ranked_before_dice_and_the_difference_is_seen():
    rows = run_tournament({"dice": Dice(), "low": Below(0.35)}, "pagat", 6, blocks=60, seed=1).summary.leaderboard
    assert [(row.rank, row.rank_low, row.rank_high, row.agent, row.standing) for row in rows] == [
        (1, 1, 1, "low", "best"),
        (2, 2, 2, "dice", "behind"),
    ]
