"""NashConv by going through all deals, against the sweep over the public tree, which it knows nothing of."""

from functools import cache

import numpy as np
import pytest

from gnav_agents.solve.deal import solve_deal
from gnav_agents.solve.information import Index, InformationStates
from gnav_agents.solve.nashconv import nash_conv
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.sweep import Sweeper
from gnav_agents.solve.tree import build_tree
from gnav_env import VARIANTS, GnavError, Rules
from gnav_env.effects import Effect

TINY = VARIANTS["ranter_1882"].replace(
    name="tiny",
    deck={"5": 1, "4": 1, "3": 2, "2": 2, "1": 2},
    effects={"5": Effect(refuse=True, pay=1), "4": Effect(redirect=True)},
)
"""Eight cards, of which one refuses and one sends on."""
RULES = {rules.name: rules for rules in (*VARIANTS.values(), TINY)} | {
    "fragile": TINY.replace(name="fragile", lives=1),
    "first": TINY.replace(name="first", ties="first", challenged_matador_turn="play"),
}


@cache
def laid_out(rules: Rules, num_seats: int) -> tuple[Sweeper, Index]:
    tree = build_tree(rules, [rules.lives] * num_seats)
    return Sweeper(tree, lives_payoffs(tree)), InformationStates(tree).index("table")


@pytest.mark.parametrize(
    ("name", "num_seats"),
    [
        ("pagat", 2), ("pagat", 3), ("letters", 2), ("le_her", 2), ("ranter", 3), ("slabberjan", 2), ("forced", 2),
        ("tiny", 3), ("fragile", 2), ("fragile", 3), ("first", 3),
    ],
)  # fmt: skip
def test_a_policy_at_random_gains_what_the_sweep_says(name: str, num_seats: int) -> None:
    sweeper, index = laid_out(RULES[name], num_seats)
    chances = np.random.default_rng(num_seats).random(len(sweeper.stand))
    sweeper.stand[:] = np.where(sweeper.legal == 3, chances, sweeper.legal == 1)
    swept, found = sweeper.sweep(), nash_conv(index, sweeper.stand, RULES[name], num_seats)
    np.testing.assert_allclose(found.values, swept.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.gains, swept.gains, rtol=0, atol=1e-12)
    assert found.total > 0.01


@pytest.mark.parametrize(
    ("name", "num_seats"),
    [("pagat", 2), ("pagat", 3), pytest.param("pagat", 4, marks=pytest.mark.slow), ("letters", 2), ("tiny", 3)],
)
def test_an_equilibrium_gains_nothing(name: str, num_seats: int) -> None:
    solved = solve_deal(RULES[name], num_seats)
    index = InformationStates(solved.tree).index("table")
    found = nash_conv(index, solved.stand, RULES[name], num_seats)
    np.testing.assert_allclose(found.values, solved.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.gains, solved.gains, rtol=0, atol=1e-12)
    assert found.total < 1e-6


def test_le_her_is_worth_what_the_literature_says() -> None:
    # Bellhouse and Fillion, Statistical Science 30, 2015: the receiver, who acts first, wins 11327 of 22100 times
    solved = solve_deal(RULES["le_her"], 2)
    found = nash_conv(InformationStates(solved.tree).index("table"), solved.stand, RULES["le_her"], 2)
    assert found.values[0] == pytest.approx(11327 / 22100 - 1, abs=1e-5)


def test_two_threads_find_the_same_and_progress_is_told() -> None:
    sweeper, index = laid_out(RULES["pagat"], 3)
    stand = np.where(sweeper.legal == 3, 0.3, sweeper.legal == 1)
    told: list[tuple[int, int]] = []
    one = nash_conv(index, stand, RULES["pagat"], 3)
    two = nash_conv(index, stand, RULES["pagat"], 3, workers=2, progress=lambda *done: told.append(done))
    np.testing.assert_allclose(two.gains, one.gains, rtol=0, atol=1e-13)
    assert sorted(told)[-1] == (len(told), len(told))


def test_the_states_of_another_deal_are_refused() -> None:
    sweeper, index = laid_out(RULES["pagat"], 3)
    with pytest.raises(GnavError, match="not the information states of pagat with 2 seats"):
        nash_conv(index, sweeper.stand, RULES["pagat"], 2)
    with pytest.raises(GnavError, match="2 to 10"):
        nash_conv(index, sweeper.stand, RULES["pagat"], 11)
