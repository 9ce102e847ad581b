"""The engine against the oracle: random decks and actions, everything compared after every step."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnav_env.rules import Rules
from gnav_env.variants import VARIANTS
from matches import SideBySide, examples, house_rules, named_tables, seats_for

pytestmark = pytest.mark.pure

SEEDS = st.integers(0, 2**32 - 1)
SHARES = st.sampled_from((0.0, 0.3, 0.5, 0.7, 0.9, 1.0))


def _play(rules: Rules, num_seats: int, seed: int, eagerness: float, bias: float, most_deals: int) -> None:
    chooser = random.Random(seed)
    match = SideBySide(rules, num_seats, dealer=chooser.randrange(num_seats))
    while not match.oracle.over and match.oracle.deals < most_deals:
        match.play_deal(chooser, eagerness, bias)


@examples(120, 6)
@given(named_tables(), SEEDS, SHARES, SHARES)
def test_every_named_ruleset_is_played_as_the_oracle_reads_it(
    table: tuple[str, int], seed: int, eagerness: float, bias: float
) -> None:
    name, num_seats = table
    _play(VARIANTS[name], num_seats, seed, eagerness, bias, most_deals=12)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_whole_match_of_each_named_ruleset_is_played_as_the_oracle_reads_it(name: str) -> None:
    rules = VARIANTS[name]
    _play(rules, rules.min_players, 1, 0.6, 0.2, most_deals=30)
    _play(rules, seats_for(rules, 6), 2, 0.6, 0.2, most_deals=30)


@examples(350, 30)
@given(house_rules(), st.data(), SEEDS, SHARES, SHARES)
def test_any_options_together_are_played_as_the_oracle_reads_them(
    rules: Rules, data: st.DataObject, seed: int, eagerness: float, bias: float
) -> None:
    num_seats = data.draw(st.integers(2, min(8, rules.seat_limit)), label="seats")
    _play(rules, num_seats, seed, eagerness, bias, most_deals=12)


@examples(20, 5)
@given(house_rules(), SEEDS, SHARES, SHARES)
def test_any_options_are_played_at_the_seat_limit_too(rules: Rules, seed: int, eagerness: float, bias: float) -> None:
    _play(rules, rules.seat_limit, seed, eagerness, bias, most_deals=3)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_largest_table_of_each_named_ruleset_is_played_as_the_oracle_reads_it(name: str) -> None:
    rules = VARIANTS[name]
    _play(rules, rules.seat_limit, 3, 0.7, 0.5, most_deals=3)


@examples(60, 10)
@given(named_tables(most_seats=8), st.data(), SEEDS, SHARES)
def test_a_match_may_begin_with_any_lives(table: tuple[str, int], data: st.DataObject, seed: int, bias: float) -> None:
    name, num_seats = table
    lives = data.draw(st.lists(st.integers(1, 2), min_size=num_seats, max_size=num_seats), label="lives")
    chooser = random.Random(seed)
    match = SideBySide(VARIANTS[name], num_seats, chooser.randrange(num_seats), lives)
    while not match.oracle.over and match.oracle.deals < 8:
        match.play_deal(chooser, 0.6, bias)
