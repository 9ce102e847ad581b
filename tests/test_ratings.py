"""Plackett-Luce strengths are the maximum of a plain likelihood, whatever the order, and their intervals are honest."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from gnav_agents.arena.ratings import ELO_PER_UNIT, RIDGE, elo, fit_strengths, resampled_strengths
from gnav_env.errors import GnavError


def drawn_matches(rng, theta, num_matches, num_seats):
    """(places, agents) [M, S] from Plackett-Luce: the order of log strengths with Gumbel noise; agents differ."""
    agents = rng.permuted(np.tile(np.arange(len(theta)), (num_matches, 1)), axis=1)[:, :num_seats]
    keys = theta[agents] + rng.gumbel(size=agents.shape)
    return (-keys).argsort(axis=1).argsort(axis=1) + 1, agents


def tied_matches(rng, num_matches, num_seats, num_agents):
    """(places, agents) [M, S] with ties and with agents that sit twice; tied seats have the best of their places."""
    agents = rng.integers(num_agents, size=(num_matches, num_seats))
    fall = rng.integers(4, size=agents.shape) + (agents < 2)
    return 1 + (fall[:, :, None] < fall[:, None, :]).sum(axis=2), agents


def plain_log_likelihood(theta, places, agents):
    """Efron's, match by match and choice by choice."""
    total = 0.0
    for match_places, match_agents in zip(places, agents, strict=True):
        for place in np.unique(match_places):
            tied = theta[match_agents[match_places == place]]
            worse = theta[match_agents[match_places > place]]
            for gone in range(len(tied)):
                there = 1 - gone / len(tied)
                total += tied[gone] - np.log(np.exp(worse).sum() + there * np.exp(tied).sum())
    return total


def fit(places, agents, num_agents):
    return fit_strengths(places, agents, num_agents, np.zeros(len(places), int), 1)


def test_without_ties_the_strengths_are_those_of_choix():
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(0)
    theta = rng.normal(0, 0.7, 7)
    places, agents = drawn_matches(rng, theta, 150, 5)
    rankings = [row[order].tolist() for row, order in zip(agents, places.argsort(axis=1), strict=True)]
    wanted = choix.ilsr_rankings(7, rankings, tol=1e-10)
    assert fit(places, agents, 7).theta == pytest.approx(wanted - wanted.mean(), abs=1e-4)


def test_with_ties_the_strengths_are_the_maximum_of_the_plain_likelihood():
    places, agents = tied_matches(np.random.default_rng(1), 30, 5, 4)

    def loss(theta):
        return RIDGE / 2 * (theta**2).sum() - plain_log_likelihood(theta, places, agents)

    found = fit(places, agents, 4)
    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6})
    assert found.theta == pytest.approx(best.x, abs=1e-4)
    assert loss(found.theta) <= best.fun + 1e-9


def test_scores_and_information_are_the_derivatives_of_the_plain_likelihood():
    places, agents = tied_matches(np.random.default_rng(2), 40, 6, 4)
    groups = np.arange(40) % 3
    found = fit_strengths(places, agents, 4, groups, 3)

    def gradient(theta, group):
        rows = groups == group
        return approx_fprime(theta, plain_log_likelihood, 1e-6, places[rows], agents[rows])

    for group in range(3):
        assert found.scores[group] == pytest.approx(gradient(found.theta, group), abs=1e-3)
    for agent in range(4):
        step = 1e-2 * np.eye(4)[agent]
        change = sum(gradient(found.theta + step, g) - gradient(found.theta - step, g) for g in range(3)) / 2e-2
        assert found.information[agent] == pytest.approx(RIDGE * np.eye(4)[agent] - change, abs=0.02)


def test_known_strengths_come_back():
    rng = np.random.default_rng(3)
    theta = np.linspace(-1, 1, 9)
    found = fit(*drawn_matches(rng, theta, 20_000, 6), 9)
    assert found.theta == pytest.approx(theta, abs=0.04)
    assert found.theta.mean() == pytest.approx(0, abs=1e-12)
    assert len(set(found.components.tolist())) == 1


def test_the_order_of_matches_and_of_seats_does_not_matter():
    rng = np.random.default_rng(4)
    places, agents = tied_matches(rng, 3000, 6, 8)
    found = fit(places, agents, 8)
    matches = rng.permutation(3000)
    seats = rng.permuted(np.tile(np.arange(6), (3000, 1)), axis=1)
    shuffled = [np.take_along_axis(part[matches], seats, axis=1) for part in (places, agents)]
    assert fit(*shuffled, 8).theta == pytest.approx(found.theta, abs=1e-9)


def test_only_the_order_of_places_matters():
    places, agents = tied_matches(np.random.default_rng(5), 200, 5, 5)
    assert (fit(places * 2.5 - 7, agents, 5).theta == fit(places, agents, 5).theta).all()


@pytest.mark.parametrize("num_blocks", [50, 200])
def test_the_interval_of_the_one_step_bootstrap_covers_as_often_as_it_says(num_blocks):
    """Matches of a block are alike: an agent has good and bad blocks, which intervals over matches would not see."""
    rng = np.random.default_rng(6)
    theta, num_runs, num_rotations = np.array([0.5, 0.2, 0.0, -0.2, -0.5]), 200, 3
    groups = np.repeat(np.arange(num_blocks), num_rotations)
    weights = rng.multinomial(num_blocks, np.full(num_blocks, 1 / num_blocks), size=400)
    # the strengths that the model fits when blocks have luck of their own are a little nearer to each other
    luck = rng.normal(0, 0.6, (40_000, 5))
    truth = elo(fit(*_lucky_matches(rng, theta, luck), 5).theta, None)
    covered = np.zeros((num_runs, 5))
    for run in range(num_runs):
        luck = np.repeat(rng.normal(0, 0.6, (num_blocks, 5)), num_rotations, axis=0)
        found = fit_strengths(*_lucky_matches(rng, theta, luck), 5, groups, num_blocks)
        low, high = np.percentile(elo(resampled_strengths(found, weights), None), [2.5, 97.5], axis=0)
        covered[run] = (low <= truth) & (truth <= high)
    assert covered.mean(axis=0).min() >= 0.90
    assert covered.mean() <= 0.99


def _lucky_matches(rng, theta, luck):
    """(places, agents) [M, 4] of four of five agents, strengths `theta` plus `luck` [M, 5]."""
    agents = rng.permuted(np.tile(np.arange(5), (len(luck), 1)), axis=1)[:, :4]
    keys = np.take_along_axis(theta + luck, agents, axis=1) + rng.gumbel(size=agents.shape)
    return (-keys).argsort(axis=1).argsort(axis=1) + 1, agents


def test_the_one_step_bootstrap_is_near_a_fit_of_every_resample():
    rng = np.random.default_rng(7)
    places, agents = drawn_matches(rng, np.linspace(-0.5, 0.5, 5), 600, 4)
    groups = np.arange(600) // 3
    weights = rng.multinomial(200, np.full(200, 1 / 200), size=40)
    one_step = resampled_strengths(fit_strengths(places, agents, 5, groups, 200), weights)
    for counts, quick in zip(weights, one_step, strict=True):
        rows = np.repeat(np.arange(600), counts[groups])
        assert quick == pytest.approx(fit(places[rows], agents[rows], 5).theta, abs=0.02)


def test_with_every_group_drawn_once_the_resample_is_the_fit():
    places, agents = tied_matches(np.random.default_rng(8), 50, 4, 4)
    found = fit_strengths(places, agents, 4, np.arange(50), 50)
    assert resampled_strengths(found, np.ones((2, 50))) == pytest.approx(np.tile(found.theta, (2, 1)), abs=1e-12)


def test_an_agent_that_always_loses_is_last_finite_and_apart():
    rng = np.random.default_rng(9)
    places, agents = drawn_matches(rng, np.array([0.3, 0.0, -0.3, -60.0]), 3000, 4)
    found = fit(places, agents, 4)
    assert np.isfinite(found.theta).all()
    assert found.theta.argmin() == 3
    assert 1000 < elo(found.theta, 3)[2] < 4000
    assert found.components[0] == found.components[1] == found.components[2] != found.components[3]
    without = fit_strengths(*_without_the_last(places, agents), 3, np.zeros(3000, int), 1)
    assert np.diff(found.theta[:3]) == pytest.approx(np.diff(without.theta), abs=0.02)


def _without_the_last(places, agents):
    others = agents != 3
    return places[others].reshape(-1, 3), agents[others].reshape(-1, 3)


def test_a_tournament_that_falls_apart_is_finite_and_its_parts_are_told():
    rng = np.random.default_rng(10)
    theta = np.array([0.4, -0.4, 0.0])
    places, agents = drawn_matches(rng, theta, 500, 3)
    both = fit(np.vstack([places, places]), np.vstack([agents, agents + 3]), 6)
    assert both.components[:3].tolist() == [both.components[0]] * 3
    assert both.components[3:].tolist() == [both.components[3]] * 3
    assert both.components[0] != both.components[3]
    assert both.theta[:3] == pytest.approx(both.theta[3:], abs=1e-9)


def test_agents_that_only_tie_are_held_together_and_equal():
    found = fit([[1, 1]] * 10, [[0, 1]] * 10, 2)
    assert found.theta.tolist() == [0, 0]
    assert found.components[0] == found.components[1]


def test_a_table_of_copies_says_nothing():
    found = fit([[1, 2, 3]] * 10, [[1, 1, 1]] * 10, 2)
    assert found.theta == pytest.approx([0, 0])
    assert found.information == pytest.approx(RIDGE * np.identity(2))


def test_a_hundred_elo_points_are_odds_of_178_to_100_and_zero_is_where_it_is_wanted():
    assert np.exp(100 / ELO_PER_UNIT) == pytest.approx(1.7783, abs=1e-4)
    theta = np.log([[10.0, 1.0, 0.1], [1.0, 1.0, 1.0]])
    assert elo(theta, 1) == pytest.approx(np.array([[400, 0, -400], [0, 0, 0]]))
    assert elo(theta, 2) == pytest.approx(np.array([[800, 400, 0], [0, 0, 0]]))
    assert elo(theta[0] + 5, None) == pytest.approx([400, 0, -400])


@pytest.mark.parametrize(
    ("places", "agents", "groups", "wrong"),
    [
        ([[1, 2]], [[0, 1, 2]], [0], "shapes"),
        ([[1, 2]], [[0, 1]], [0, 0], "shapes"),
        ([[1, np.nan]], [[0, 1]], [0], "finite"),
        ([[1, 2]], [[0, 5]], [0], "agents must be whole numbers from 0 to 2"),
        ([[1, 2]], [[0.5, 1.0]], [0], "agents must be whole numbers"),
        ([[1, 2]], [[0, 1]], [-1], "groups must be whole numbers from 0 to 0"),
    ],
)
def test_matches_that_cannot_be_are_refused(places, agents, groups, wrong):
    with pytest.raises(GnavError, match=wrong):
        fit_strengths(places, agents, 3, groups, 1)


def test_weights_for_other_groups_are_refused():
    with pytest.raises(GnavError, match="one column for each of 1 groups"):
        resampled_strengths(fit([[1, 2]], [[0, 1]], 2), np.ones((3, 2)))
