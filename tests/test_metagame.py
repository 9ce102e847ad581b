"""The metagame: alpha-rank and Nash averaging say what others' code says and keep their own conditions; cycles."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnav_agents.arena.metagame import alpha_rank, find_cycle, nash_average
from gnav_env.errors import GnavError

ROCK_PAPER_SCISSORS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])
DOMINATED = np.array([[0.0, 0.5, 0.4], [-0.5, 0, 0.1], [-0.4, -0.1, 0]])
GAMES = {
    "rock, paper, scissors": ROCK_PAPER_SCISSORS,
    "a small one": ROCK_PAPER_SCISSORS / 100,
    "dominated": DOMINATED,
    "nobody better": np.zeros((4, 4)),
    "cycle and outsider": np.pad(ROCK_PAPER_SCISSORS, (0, 1), constant_values=((0, 0.3), (0, -0.3)))[:4, :4],
    "random": np.random.default_rng(0).normal(0, 0.3, (6, 6)),
    "random, 13 agents": np.random.default_rng(1).normal(0, 0.1, (13, 13)),
}


def random_game(seed, num_agents, rank):
    """Antisymmetric [m, m] of rank 2 * `rank` at most: cyclic games on top of each other."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(2, num_agents, rank))
    return left @ right.T - right @ left.T


# ------------------------------------------------------------------------------------------------- alpha-rank


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize(("population", "alpha"), [(50, 0.1), (20, 1.0), (5, 3.0)])
def test_alpha_rank_is_open_spiels(name, population, alpha):
    alpharank = pytest.importorskip("open_spiel.python.egt.alpharank")
    wanted = alpharank.compute([GAMES[name]], m=population, alpha=alpha)[2]
    assert alpha_rank(GAMES[name], population, alpha) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("name", GAMES)
def test_alpha_rank_goes_to_open_spiels_limit_of_strong_selection(name):
    alpharank = pytest.importorskip("open_spiel.python.egt.alpharank")
    wanted = alpharank.compute([GAMES[name]], use_inf_alpha=True, inf_alpha_eps=1e-7)[2]
    assert alpha_rank(GAMES[name], alpha=1e6) == pytest.approx(wanted, abs=1e-5)


def test_alpha_rank_as_set_here_is_nearly_at_the_limit():
    game = GAMES["random"].round(1)  # differences of 0 among them
    assert alpha_rank(game) == pytest.approx(alpha_rank(game, alpha=1e6), abs=0.01)


def test_alpha_rank_by_hand():
    assert alpha_rank(ROCK_PAPER_SCISSORS) == pytest.approx([1 / 3] * 3)
    assert alpha_rank(DOMINATED) == pytest.approx([1, 0, 0])
    assert alpha_rank(np.zeros((4, 4))) == pytest.approx([1 / 4] * 4)
    assert alpha_rank([[0.2]]) == pytest.approx([1])
    # two agents: detailed balance, the ratio of the two fixation probabilities is exp((population - 1) u)
    mass = alpha_rank([[0, 0.03], [0.01, 0]], population=10, alpha=5)
    assert mass[0] / mass[1] == pytest.approx(np.exp(9 * 5 * 0.02))


def test_alpha_rank_stays_a_distribution_when_selection_is_stronger_than_floating_point():
    for alpha in (1e-9, 1e4, 1e9):
        mass = alpha_rank(GAMES["random, 13 agents"], alpha=alpha)
        assert mass.sum() == pytest.approx(1)
        assert (mass >= 0).all()


def test_alpha_rank_does_not_depend_on_the_numbering_of_agents():
    order = np.random.default_rng(2).permutation(6)
    game = GAMES["random"] / 10
    assert alpha_rank(game[np.ix_(order, order)]) == pytest.approx(alpha_rank(game)[order])


# --------------------------------------------------------------------------------------------- Nash averaging


def assert_is_equilibrium(payoffs):
    weights, values = nash_average(payoffs)
    game = (np.asarray(payoffs) - np.transpose(payoffs)) / 2
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert values == pytest.approx(game @ weights)
    assert values.max() <= 1e-6
    assert abs(values[weights > 1e-6]).max() <= 1e-6
    return weights


@pytest.mark.parametrize("name", GAMES)
def test_nash_averaging_is_open_spiels(name):
    cvxpy = pytest.importorskip("cvxpy")
    module = pytest.importorskip("open_spiel.python.algorithms.nash_averaging")
    payoffs = GAMES[name]
    game = (payoffs - payoffs.T) / 2
    try:
        wanted = module._max_entropy_symmetric_nash(game).ravel()
    except cvxpy.error.SolverError:
        pytest.skip("OpenSpiel's solver finds no equilibrium of this game")
    assert assert_is_equilibrium(payoffs) == pytest.approx(wanted, abs=1e-4)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), num_agents=st.integers(1, 13), rank=st.integers(1, 6))
def test_nobody_gains_against_the_equilibrium(seed, num_agents, rank):
    assert_is_equilibrium(random_game(seed, num_agents, rank))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32), num_agents=st.integers(2, 6), data=st.data())
def test_copies_share_evenly_and_change_nobody_elses_weight(seed, num_agents, data):
    """Balduzzi et al. 2018: Nash averaging is invariant to redundant agents."""
    game = random_game(seed, num_agents, 3)
    alone = assert_is_equilibrium(game)
    copies = np.append(np.arange(num_agents), data.draw(st.lists(st.integers(0, num_agents - 1), min_size=1)))
    weights = assert_is_equilibrium(game[np.ix_(copies, copies)])
    share = alone / np.bincount(copies, minlength=num_agents)
    assert weights == pytest.approx(share[copies], abs=1e-5)


def test_of_several_equilibria_it_is_the_one_of_greatest_entropy():
    # agents 0 and 1 beat the rest and are level with each other: any mixture of the two is an equilibrium
    game = np.array([[0, 0, 1.0, 2], [0, 0, 2, 1], [-1, -2, 0, 0], [-2, -1, 0, 0]])
    assert assert_is_equilibrium(game) == pytest.approx([0.5, 0.5, 0, 0], abs=1e-7)
    # two cycles side by side, and one within which the weights differ
    pad = np.zeros((3, 3))
    assert assert_is_equilibrium(np.block([[ROCK_PAPER_SCISSORS, pad], [pad, ROCK_PAPER_SCISSORS]])) == pytest.approx(
        [1 / 6] * 6, abs=1e-7
    )
    # agent 2 gains p1 - p0: equilibria are the mixtures of 0 and 1 with p0 at least 1/2
    bounded = np.array([[0, 0, 1.0], [0, 0, -1.0], [-1, 1, 0]])
    assert assert_is_equilibrium(bounded)[:2] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_where_an_outsider_bounds_the_equilibria_entropy_is_greatest_on_the_bound():
    # 2 gains 2 p1 - p0: equilibria are the mixtures of 0 and 1 with p0 at least 2/3
    game = np.array([[0, 0, 1.0], [0, 0, -2.0], [-1, 2.0, 0]])
    assert assert_is_equilibrium(game) == pytest.approx([2 / 3, 1 / 3, 0], abs=1e-6)


def test_nash_averaging_by_hand():
    weights, values = nash_average(DOMINATED)
    assert weights == pytest.approx([1, 0, 0])
    assert values == pytest.approx([0, -0.5, -0.4])
    weights, values = nash_average(np.zeros((5, 5)))
    assert weights == pytest.approx([1 / 5] * 5)
    assert values.tolist() == [0] * 5
    # rock, paper, scissors for stakes of 1, 2 and 3: the weights are the stakes opposite
    weights, values = nash_average([[0, -1, 2.0], [1, 0, -3], [-2, 3, 0]])
    assert weights == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert values == pytest.approx([0, 0, 0], abs=1e-12)


def test_only_the_antisymmetric_part_counts_for_nash_averaging():
    common = np.full((3, 3), 0.7)
    assert nash_average(DOMINATED + common)[0] == pytest.approx(nash_average(DOMINATED)[0])


# ----------------------------------------------------------------------------------------------------- cycles


def graph(num_agents, *edges):
    beats = np.zeros((num_agents, num_agents), bool)
    for winner, loser in edges:
        beats[winner, loser] = True
    return beats


def test_cycles_by_hand():
    assert find_cycle(ROCK_PAPER_SCISSORS > 0) == [0, 2, 1]
    assert find_cycle(DOMINATED > 0) == []
    assert find_cycle(np.zeros((1, 1), bool)) == []
    assert find_cycle(graph(6, (0, 1), (1, 2), (2, 3), (3, 0), (5, 4), (4, 3), (3, 5))) == [3, 5, 4]
    assert find_cycle(graph(4, (2, 3), (3, 2), (0, 1), (1, 2), (2, 0))) == [2, 3]
    assert find_cycle(graph(3, (0, 0), (0, 1), (1, 2))) == []


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.data())
def test_the_cycle_is_the_shortest_there_is_and_begins_with_its_smallest_number(num_agents, data):
    edges = st.tuples(st.integers(0, num_agents - 1), st.integers(0, num_agents - 1))
    beats = graph(num_agents, *data.draw(st.lists(edges, max_size=12)))

    def is_cycle(agents):
        return all(beats[one, other] for one, other in zip(agents, (*agents[1:], agents[0]), strict=True))

    all_cycles = (c for length in range(2, num_agents + 1) for c in permutations(range(num_agents), length))
    shortest = next((cycle for cycle in all_cycles if is_cycle(cycle)), ())
    found = find_cycle(beats)
    assert len(found) == len(shortest)
    assert found[:1] == list(shortest[:1])
    assert not found or is_cycle(found)
    assert found == find_cycle(beats)


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.zeros(4), np.zeros((0, 0)), [[0, np.nan], [0, 0]]])
def test_what_is_no_matrix_of_agents_is_refused(matrix):
    for function in (alpha_rank, nash_average, find_cycle):
        with pytest.raises(GnavError, match="matrix"):
            function(matrix)


@pytest.mark.parametrize(("population", "alpha"), [(1, 1.0), (50, 0.0), (50, np.inf)])
def test_a_population_that_cannot_evolve_is_refused(population, alpha):
    with pytest.raises(GnavError, match="population must be 2 or more"):
        alpha_rank(DOMINATED, population, alpha)
