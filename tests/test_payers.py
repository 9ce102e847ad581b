"""How many seats pay in a deal: exact probabilities for tiny decks, the engine against counts that do not use it.

All orders of the deck are played. The brute-force count below knows ranks, refusals and ties and nothing of positions,
records or effects as bits; the closed forms are from the rules' own chance check and from counting hands.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from math import comb

import pytest

from gnav_env import EXCHANGE, STAND, VARIANTS, Effect, Rules, Special, Table

pytestmark = pytest.mark.pure

Distribution = dict[int, Fraction]
PLAIN = VARIANTS["ranter_1882"].replace(name="tiny", deck={"4": 1, "3": 2, "2": 2, "1": 1})
REFUSING = PLAIN.replace(effects={"4": Effect(refuse=True, pay=1)})
STOPPING = PLAIN.replace(effects={"4": Effect(refuse=True, stop=True)}, ties="first")
REDIRECTING = PLAIN.replace(deck={"4": 1, "3": 1, "2": 2, "1": 2}, effects={"4": Effect(redirect=True)}, ties="unique")
RULESETS = (PLAIN, REFUSING, STOPPING, REDIRECTING)


def orders(rules: Rules) -> list[tuple[str, ...]]:
    """All different orders of the deck."""
    return sorted(set(permutations([rank for rank, copies in rules.deck.items() for _ in range(copies)])))


def engine_payers(rules: Rules, num_seats: int, keep: int) -> Distribution:
    """How many seats pay, each with its probability, if all exchange cards below the number `keep`; by the engine."""
    counts: Counter[int] = Counter()
    decks = orders(rules)
    for deck in decks:
        table = Table(rules, num_seats, first_dealer=num_seats - 1)
        table.deal(deck)
        while table.to_act is not None:
            wish = EXCHANGE if int(table.hands[table.to_act] or 0) < keep else STAND
            table.act(wish if wish in table.legal_actions() else STAND)
        counts[sum(lost > 0 for lost in table.lost)] += 1
    return {number: Fraction(count, len(decks)) for number, count in counts.items()}


def counted_payers(rules: Rules, num_seats: int, keep: int) -> Distribution:
    """The same by lists of numbers, with the four rules that the tiny rulesets use written out."""
    counts: Counter[int] = Counter()
    decks = orders(rules)
    top = rules.effects.get("4")
    for deck in decks:
        cards = [int(rank) for rank in deck]
        row, done, paid = cards, set[int](), set[int]()
        for seat in range(num_seats):
            if seat in done or row[seat] >= keep:
                continue
            other, stop = seat + 1, False
            while other < len(row) and row[other] == 4 and top is not None:
                done.add(other)
                if not top.redirect:
                    paid |= {seat} if top.pay else set()
                    stop = top.stop
                    if other >= num_seats:
                        del row[other]  # turned up, and out of the stock
                    break
                other += 1
            else:
                if other < num_seats:
                    row[seat], row[other] = row[other], row[seat]
                elif other < len(row):
                    row[seat] = row[other]
                    row[num_seats : other + 1] = []
            if stop:
                break
        lowest = min(row[:num_seats])
        tied = [seat for seat in range(num_seats) if row[seat] == lowest]
        if rules.ties == "unique" and len(tied) > 1:
            tied = []
        paid |= set(tied[:1] if rules.ties == "first" else tied)
        counts[len(paid)] += 1
    return {number: Fraction(count, len(decks)) for number, count in counts.items()}


@pytest.mark.parametrize("num_seats", [2, 3, 4])
@pytest.mark.parametrize("rules", RULESETS, ids=["plain", "refusing", "stopping", "redirecting"])
def test_the_chance_of_each_number_of_payers_is_that_of_a_plain_count(rules: Rules, num_seats: int) -> None:
    for keep in (0, 2, 3, 5):
        engine = engine_payers(rules, num_seats, keep)
        assert engine == counted_payers(rules, num_seats, keep)
        assert sum(engine.values()) == 1


def test_with_nobody_exchanging_it_is_the_chance_that_so_many_tie_for_lowest() -> None:
    """Hands are counted: k cards of the lowest rank and the rest from those above it."""
    for num_seats in (2, 3, 4):
        for number, chance in engine_payers(PLAIN, num_seats, 0).items():
            hands, above = 0, 0
            for copies in PLAIN.deck.values():  # high to low: so many cards are above
                hands += comb(copies, number) * comb(above, num_seats - number)
                above += copies
            assert chance == Fraction(hands, comb(6, num_seats))


def test_fools_are_dealt_as_often_as_the_chance_check_says() -> None:
    """42 cards, n seats: none (42-n)(41-n)/1722, one 2n(42-n)/1722, two n(n-1)/1722; here 8 cards, 3 seats."""
    rules = PLAIN.replace(deck={"4": 3, "3": 3, "1": 2}, specials=(Special(rank="1", count=1),), knock="dealt")
    counts: Counter[int] = Counter()
    for fools in combinations(range(8), 2):
        deck = ["1" if position in fools else "" for position in range(8)]
        others = iter(["4", "4", "4", "3", "3", "3"])
        table = Table(rules, 3, first_dealer=2)
        table.deal([rank or next(others) for rank in deck])
        counts[len(table.knocks)] += 1
    n, total = 3, 56  # 8 x 7
    assert [Fraction(counts[k], 28) for k in range(3)] == [
        Fraction((8 - n) * (7 - n), total),
        Fraction(2 * n * (8 - n), total),
        Fraction(n * (n - 1), total),
    ]
