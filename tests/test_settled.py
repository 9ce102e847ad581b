"""Summaries of settled cards: any order of the same cards is one summary, apart from who holds the lowest."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from gnav_agents.solve.settled import NO_RANK, Summaries, make_summaries

pytestmark = pytest.mark.pure

COPIES = [2, 1, 0, 3]
RANKS = [0, 1, 3]


@pytest.fixture(scope="module")
def summaries() -> Summaries:
    return make_summaries(COPIES, RANKS, 4, [3])


def added(summaries: Summaries, cards: tuple[int, ...]) -> int:
    """The summary of `cards`, settled one after the other; -1 if there are not so many of a rank."""
    number = 0
    for rank in cards:
        number = int(summaries.add[number, rank])
        if number < 0:
            return -1
    return number


def rows(num: int) -> list[tuple[int, ...]]:
    """All rows of so many cards that the copies allow."""
    return [
        cards
        for cards in product(RANKS, repeat=num)
        if all(count <= COPIES[rank] for rank, count in Counter(cards).items())
    ]


@pytest.mark.parametrize("num", range(5))
def test_a_summary_has_the_cards_the_lowest_and_who_holds_it(num: int, summaries: Summaries) -> None:
    assert rows(num)
    for cards in rows(num):
        number = added(summaries, cards)
        assert summaries.first[num] <= number < summaries.first[num + 1]
        assert summaries.used[number].tolist() == [cards.count(rank) for rank in range(len(COPIES))]
        low = min(cards, default=NO_RANK)
        assert summaries.low[number] == low
        holders = {place for place, rank in enumerate(cards) if rank == low}
        assert {place for place in range(16) if summaries.holds_low[number] >> place & 1} == holders


@pytest.mark.parametrize("num", range(5))
def test_rows_share_a_summary_just_when_cards_and_holders_of_the_lowest_are_the_same(
    num: int, summaries: Summaries
) -> None:
    facts: dict[int, set[object]] = {}
    for cards in rows(num):
        holders = tuple(rank == min(cards) for rank in cards)
        facts.setdefault(added(summaries, cards), set()).add((tuple(sorted(cards)), holders))
    assert all(len(same) == 1 for same in facts.values())
    assert len(facts) == len({next(iter(same)) for same in facts.values()})
    assert sorted(facts) == list(range(summaries.first[num], summaries.first[num + 1]))


def test_the_order_of_the_others_does_not_matter(summaries: Summaries) -> None:
    assert len({added(summaries, (0, *rest)) for rest in permutations((1, 3, 3))}) == 1


def test_there_is_no_summary_of_more_cards_of_a_rank_than_there_are(summaries: Summaries) -> None:
    assert added(summaries, (1, 1)) == added(summaries, (0, 3, 0, 0)) == added(summaries, (2,)) == -1


def test_nothing_is_added_to_the_last_ones(summaries: Summaries) -> None:
    assert np.all(summaries.add[summaries.first[4] :] == -1)
    assert len(summaries.add) == len(summaries.used) == len(summaries.low) == summaries.first[-1]
