"""Chance: who gets the Fools, counted over all decks that matter; whether shuffles are even (fixed seeds)."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from gnav_env._jit import IS_COMPILED
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from matches import whole_deck

pytestmark = pytest.mark.pure

NUM_DECKS = 4000 if IS_COMPILED else 500
LEAST_P = 1e-6
"""An even shuffle fails so rarely; the seeds are fixed, so that it fails always or never."""


@pytest.mark.parametrize("num_seats", range(2, 7) if IS_COMPILED else (2, 6))
def test_the_chances_that_none_one_or_both_fools_are_dealt_are_those_of_the_rules(num_seats: int) -> None:
    others = [rank for rank in whole_deck(VARIANTS["pagat"]) if rank != "fool"]
    num_knocks = [0, 0, 0]
    placements = list(combinations(range(42), 2))
    for first, second in placements:
        deck = list(others)
        deck.insert(first, "fool")
        deck.insert(second, "fool")
        table = Table("pagat", num_seats)
        table.deal(deck)
        assert table.knocks == [seat for seat in (first, second) if seat < num_seats]
        num_knocks[len(table.knocks)] += 1
    n = num_seats
    assert [Fraction(count, len(placements)) for count in num_knocks] == [
        Fraction((42 - n) * (41 - n), 1722),
        Fraction(2 * n * (42 - n), 1722),
        Fraction(n * (n - 1), 1722),
    ]


@cache
def _decks() -> NDArray[np.int64]:
    """The places that a deal of ten seats can look at, in first decks of many matches: [NUM_DECKS, 15]."""
    num_seats = 10
    num_looked_at = num_seats + VARIANTS["pagat"].num_redirecting + 1
    numbers = VARIANTS["pagat"].rank_numbers
    decks: list[list[int]] = []
    for match in range(NUM_DECKS):
        table = Table("pagat", num_seats, seed=2024, match=match)
        table.deal()
        decks.append([numbers[rank] for rank in table.deck[:num_looked_at]])
    return np.array(decks)


def test_every_rank_is_equally_likely_at_every_place_that_a_deal_can_look_at() -> None:
    decks = _decks()
    for position in range(decks.shape[1]):
        counts = np.bincount(decks[:, position], minlength=21)
        assert stats.chisquare(counts).pvalue > LEAST_P, f"position {position}: {counts}"


def test_neighbouring_places_depend_on_each_other_only_as_cards_of_one_deck_do() -> None:
    decks = _decks()
    for position in range(decks.shape[1] - 1):
        here, there = decks[:, position], decks[:, position + 1]
        equal, higher = int(np.sum(here == there)), int(np.sum(here > there))
        assert stats.binomtest(equal, NUM_DECKS, 1 / 41).pvalue > LEAST_P, f"position {position}: {equal}"
        assert stats.binomtest(higher, NUM_DECKS, 20 / 41).pvalue > LEAST_P, f"position {position}: {higher}"


def test_the_first_dealer_is_equally_likely_every_seat() -> None:
    counts = np.bincount([Table("pagat", 7, seed=5, match=match).dealer for match in range(NUM_DECKS)])
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > LEAST_P, str(counts)


def test_consecutive_deals_of_a_match_have_nothing_to_do_with_each_other() -> None:
    numbers = VARIANTS["letters"].rank_numbers
    table_of_pairs = np.zeros((3, 3))  # the card of seat 0 in two deals, in thirds of the deck
    for match in range(NUM_DECKS):
        table = Table("letters", 3, seed=7, match=match)
        thirds: list[int] = []
        for _ in range(2):
            table.deal()
            thirds.append(numbers[table.deck[0]] // 7)
            while table.to_act is not None:
                table.act(0)
        table_of_pairs[thirds[0], thirds[1]] += 1
    assert stats.chisquare(table_of_pairs.ravel()).pvalue > LEAST_P, str(table_of_pairs)
