"""What holds in every match of every ruleset, whoever plays: properties of the engine, seen by `Table`."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnav_env.effects import TRADE, Effect
from gnav_env.rules import Rules
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from matches import examples, house_rules, named_tables, shuffled, whole_deck

pytestmark = pytest.mark.pure

SEEDS = st.integers(0, 2**32 - 1)
BIASES = st.sampled_from((0.0, 0.3, 0.6, 1.0))
SETTINGS = examples(60, 4)
MOST_DEALS = 10


def _steps(
    rules: Rules, num_seats: int, seed: int, bias: float, most_deals: int = MOST_DEALS
) -> Iterator[tuple[Table, int | None, int | None]]:
    """A match of random legal actions: after a deal (table, None, None), after an act (table, seat, action).

    Without `bias` the decks come from the seed, otherwise cards that do something come early.
    """
    chooser = random.Random(seed)
    table = Table(rules, num_seats, seed=seed)
    while not table.is_over and table.deals < most_deals:
        table.deal(shuffled(rules, chooser, bias) if bias else None)
        yield table, None, None
        while table.to_act is not None:
            seat, action = table.to_act, chooser.choice(table.legal_actions())
            table.act(action)
            yield table, seat, action


def _in_deal(table: Table) -> list[int]:
    """The seats that hold a card, in the order of their turns."""
    num_seats = len(table.hands)
    step = 1 if table.rules.direction == "clockwise" else -1
    order = [(table.dealer + step * (1 + i)) % num_seats for i in range(num_seats)]
    return [seat for seat in order if table.hands[seat] is not None]


def _answer(table: Table, seat: int) -> Effect:
    """What the card does that would end a challenge by `seat` now: the first that does not redirect."""
    order = _in_deal(table)
    behind = [table.hands[other] for other in order[order.index(seat) + 1 :]]
    effects = [table.rules.effect(rank) for rank in behind if rank is not None]
    effects += [table.rules.effect(rank, from_stock=True) for rank in table.zones()[1]]
    return next((effect for effect in effects if not effect.redirect), TRADE)


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_no_card_is_lost_or_made(setting: tuple[str, int], seed: int, bias: float) -> None:
    rules = VARIANTS[setting[0]]
    pack = Counter(whole_deck(rules))
    dealt_as = {other: rank for rank, other in rules.when_exchanged.items()}
    for table, _, _ in _steps(rules, setting[1], seed, bias):
        hands, stock, aside = table.zones()
        assert Counter(dealt_as.get(rank, rank) for rank in (*hands, *stock, *aside)) == pack
        assert Counter(hands) == Counter(rank for rank in table.hands if rank is not None)


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_lives_that_go_to_the_pool_or_a_holder_are_never_lost_or_made(
    setting: tuple[str, int], seed: int, bias: float
) -> None:
    name, num_seats = setting
    rules = VARIANTS[name]
    if rules.fine_to == "none":
        rules = rules.replace(fine_to="holder")
    rules = rules.replace(loss_to="pool")
    won = 0
    for table, _, _ in _steps(rules, num_seats, seed, bias):
        won += sum(table.by_seat("bonus")) if table.to_act is None else 0
        assert sum(table.lives) + table.pool == num_seats * rules.lives + won
        assert min(table.lives) >= 0
        assert table.pool >= 0


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_a_seat_decides_at_most_once_a_deal_in_the_order_of_seats(
    setting: tuple[str, int], seed: int, bias: float
) -> None:
    acted: list[int] = []
    for table, seat, _ in _steps(VARIANTS[setting[0]], setting[1], seed, bias):
        if seat is None:
            acted = []
            continue
        acted.append(seat)
        assert acted == [other for other in _in_deal(table) if other in acted]


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_an_undo_restores_the_dealt_hands_and_a_plain_refusal_changes_none(
    setting: tuple[str, int], seed: int, bias: float
) -> None:
    chooser = random.Random(seed)
    rules = VARIANTS[setting[0]]
    table = Table(rules, setting[1], seed=seed)
    while not table.is_over and table.deals < MOST_DEALS:
        table.deal(shuffled(rules, chooser, bias))
        dealt = table.hands
        while table.to_act is not None:
            seat, action = table.to_act, chooser.choice(table.legal_actions())
            answer, before = _answer(table, seat), table.hands
            table.act(action)
            if answer.undo == "all" and action == 1:
                assert table.hands == dealt
            elif answer.undo != "none" and action == 1:
                was = Counter(rules.when_exchanged.get(rank or "", rank) for rank in before)
                assert Counter(rules.when_exchanged.get(rank or "", rank) for rank in table.hands) == was
            elif answer.refuses or action == 0:
                assert table.hands == before
            else:
                moved = [other for other in _in_deal(table) if table.hands[other] != before[other]]
                assert not moved or (seat in moved and len(moved) <= 2)


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_every_showdown_has_a_loser(setting: tuple[str, int], seed: int, bias: float) -> None:
    for table, _, _ in _steps(VARIANTS[setting[0]], setting[1], seed, bias):
        if table.to_act is None and not table.losers:
            # No showdown: fines left one seat in the match, or none in the deal.
            one_is_left = table.is_over and sum(lives > 0 for lives in table.lives) == 1
            assert one_is_left or all(table.lives[seat] == 0 for seat in _in_deal(table))


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_a_match_in_which_lives_only_go_down_is_no_longer_than_all_its_lives(
    setting: tuple[str, int], seed: int, bias: float
) -> None:
    name, num_seats = setting
    rules = VARIANTS[name].replace(fine_to="none", all_out="joint", lives=2, immune=())
    rules = rules.replace(specials=tuple(special for special in rules.specials if not special.bonus))
    bound = num_seats * rules.lives
    over, places = False, [0]
    for table, _, _ in _steps(rules, num_seats, seed, bias, most_deals=bound + 1):
        over, places = table.is_over, table.places
        assert table.deals <= bound
        if table.to_act is None and not table.is_over:
            assert sum(table.lives) <= bound - table.deals
    assert over
    assert min(places) == 1
    assert 4 * bound == rules.max_deals(num_seats)


@SETTINGS
@given(named_tables(), SEEDS, BIASES)
def test_places_are_those_of_a_competition(setting: tuple[str, int], seed: int, bias: float) -> None:
    for table, _, _ in _steps(VARIANTS[setting[0]], setting[1], seed, bias, most_deals=100):
        given_out = [place for place in table.places if place > 0]
        still_in = len(table.places) - len(given_out)
        assert all(place == still_in + 1 + sum(p < place for p in given_out) for place in given_out)
        if table.is_over:
            assert still_in == 0


@SETTINGS
@given(house_rules(), SEEDS, BIASES)
def test_at_the_seat_limit_a_challenge_behind_the_dealer_still_finds_a_card(
    rules: Rules, seed: int, bias: float
) -> None:
    rules = rules.replace(stand_requires="any", matador_may_be_offered=True)
    for table, _, _ in _steps(rules, rules.seat_limit, seed, bias, most_deals=3):
        if table.to_act is not None:
            assert table.legal_actions() == [0, 1]
            assert table.zones()[1]
