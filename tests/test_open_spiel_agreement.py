"""The exact solver and OpenSpiel agree: on what a policy is worth, on best responses, on what an equilibrium is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deals import Deals, house, states_of
from gnav_agents.solve.deal import settle
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.sweep import Sweeper
from gnav_agents.solve.tree import build_tree
from gnav_env import EXCHANGE, STAND, VARIANTS, Rules

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import cfr, expected_game_score, exploitability  # noqa: E402
from open_spiel.python.policy import TabularPolicy  # noqa: E402

from test_open_spiel import load_from  # noqa: E402

PAGAT, LETTERS = VARIANTS["pagat"], VARIANTS["letters"]

TABLES: dict[str, tuple[Rules, int]] = {
    "skip, 2 players": (house(PAGAT, "cuckoo cat house 2 1 fool"), 2),
    "play, the other way round, 2 players": (house(LETTERS, "dragon house 2 1 1", direction="anticlockwise"), 2),
    "fines to the holder, 3 players": (house(LETTERS, "dragon 2 1 1", fine_to="holder", lives=1), 3),
    "skip, 3 players": (house(PAGAT, "cat house 2 1 fool"), 3),
}
MARKS = {"skip, 3 players": pytest.mark.slow}


class Agreement:
    """A game of OpenSpiel, and the sweeper over the same deal."""

    def __init__(self, folder: Path, rules: Rules, num_players: int) -> None:
        self.game: Any = load_from(folder, rules, num_players)
        lives = [rules.lives] * num_players
        tree = build_tree(rules, lives)
        self.sweeper = Sweeper(tree, lives_payoffs(tree))
        deals = Deals(rules.replace(direction="clockwise"), tuple(lives), (False,) * num_players)
        self.states: dict[str, int] = {}
        """Our numbers of information states, by OpenSpiel's strings, found by the same cards and actions in both."""
        for key, state in states_of(tree, deals).items():
            example = deals.examples[key]
            told = self.told([rules.rank_numbers[rank] for rank in example.deck], example.actions)
            assert told not in self.states
            self.states[told] = state

    def told(self, deck: list[int], actions: tuple[int, ...]) -> str:
        """OpenSpiel's string for the player to act, after `actions` with the cards of `deck`."""
        state, cards, choices = self.game.new_initial_state(), iter(deck), iter(actions)
        for _ in range(self.game.num_players()):
            state.apply_action(next(cards))
        for action in choices:
            state.apply_action(action)
            while state.is_chance_node():
                state.apply_action(next(cards))
        return state.information_state_string()

    def take(self, policy: TabularPolicy) -> None:
        """The sweeper plays OpenSpiel's policy."""
        for told, state in self.states.items():
            self.sweeper.stand[state] = policy.policy_for_key(told)[STAND]

    def given(self) -> TabularPolicy:
        """The sweeper's policy, for OpenSpiel."""
        policy = TabularPolicy(self.game)
        for told, state in self.states.items():
            stand = self.sweeper.stand[state]
            policy.policy_for_key(told)[:] = [stand, 1 - stand]
        return policy

    def judged(self, policy: TabularPolicy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What OpenSpiel says that each player can expect, and gain by a best response."""
        players = [policy] * self.game.num_players()
        values = expected_game_score.policy_value(self.game.new_initial_state(), players)
        found: Any = exploitability.nash_conv(self.game, policy, return_only_nash_conv=False, use_cpp_br=False)
        return np.array(values), np.array(found.player_improvements)


@pytest.fixture(scope="module", params=[pytest.param(name, marks=MARKS.get(name, ())) for name in TABLES])
def agreement(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Agreement:
    return Agreement(tmp_path_factory.mktemp("house"), *TABLES[request.param])


def uniform(agreement: Agreement) -> TabularPolicy:
    return TabularPolicy(agreement.game)


def drawn(agreement: Agreement) -> TabularPolicy:
    policy, luck = TabularPolicy(agreement.game), np.random.default_rng(2)
    for row, legal in zip(policy.action_probability_array, policy.legal_actions_mask, strict=True):
        weights = luck.random(2) * legal
        row[:] = weights / weights.sum()
    return policy


def average_of_cfr(agreement: Agreement) -> TabularPolicy:
    solver = cfr.CFRSolver(agreement.game)
    for _ in range(4):
        solver.evaluate_and_update_policy()
    return solver.average_policy()


def equilibrium(agreement: Agreement) -> TabularPolicy:
    settle(agreement.sweeper)
    return agreement.given()


def test_the_information_states_are_the_same(agreement: Agreement) -> None:
    policy = TabularPolicy(agreement.game)
    assert set(policy.state_lookup) == set(agreement.states)
    assert len(set(agreement.states.values())) == len(agreement.states)
    for told, row in policy.state_lookup.items():
        legal = policy.legal_actions_mask[row]
        assert agreement.sweeper.legal[agreement.states[told]] == legal[STAND] + 2 * legal[EXCHANGE]


@pytest.mark.parametrize("make", [uniform, drawn, average_of_cfr, equilibrium])
def test_values_and_best_responses_are_the_same(
    make: Callable[[Agreement], TabularPolicy], agreement: Agreement
) -> None:
    policy = make(agreement)
    agreement.take(policy)
    found = agreement.sweeper.sweep()
    values, gains = agreement.judged(policy)
    assert found.values == pytest.approx(values, abs=1e-10)
    assert found.gains == pytest.approx(gains, abs=1e-10)
    if make is equilibrium:
        assert gains.sum() < 1e-6
