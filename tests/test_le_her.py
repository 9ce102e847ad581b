"""Le Her as it is solved in the literature: every deal enumerated through the engine, exact fractions.

D. R. Bellhouse and N. Fillion, Le Her and Other Problems in Probability Discussed by Bernoulli, Montmort and
Waldegrave, Statistical Science 30 (2015). Ranks are numbered from 0, the Ace: the 7 is number 6, the 8 number 7.
"""

from fractions import Fraction
from functools import cache
from itertools import product

from gnav_env import EXCHANGE, STAND, VARIANTS, Table

LE_HER = VARIANTS["le_her"]
RANKS = LE_HER.ranks
RECEIVER, DEALER = 0, 1
SEVEN, EIGHT = RANKS.index("7"), RANKS.index("8")
ALL_DEALS = 52 * 51 * 50
"""Equally likely ways to deal three cards: to the receiver, to the dealer, on top of the stock."""

Cards = tuple[int, int, int]
"""Rank numbers of receiver, dealer and stock."""


@cache
def receiver_wins(cards: Cards, receiver: int, dealer: int) -> bool:
    """Whether the receiver wins, played by the engine, if the two choose these actions."""
    table = Table(LE_HER, 2, first_dealer=DEALER)
    table.deal([RANKS[number] for number in cards])
    assert table.to_act == RECEIVER
    table.act(receiver)
    assert table.to_act == DEALER, "a dealer whose king has answered still has a turn"
    table.act(dealer)
    assert table.is_over
    assert sorted(table.places) == [1, 2]
    return table.winners == [RECEIVER]


@cache
def deals() -> list[tuple[Cards, int]]:
    """All deals by rank, each with the number of ways that it comes about."""
    ways: list[tuple[Cards, int]] = []
    for cards in product(range(len(RANKS)), repeat=3):
        number, left = 1, [4] * len(RANKS)
        for card in cards:
            number *= left[card]
            left[card] -= 1
        ways.append((cards, number))
    assert sum(number for _, number in ways) == ALL_DEALS
    return ways


def dealers_best_answer(cards: Cards, receiver: int, switches: int) -> int:
    """What the dealer does who, not asked for a card, switches below rank number `switches`.

    Once asked, he knows what the receiver holds: he keeps what wins (a tie does) and draws to what loses.
    """
    mine, yours = cards[DEALER], cards[RECEIVER]
    if receiver == STAND:
        return EXCHANGE if mine < switches else STAND
    if RANKS[mine] == "K":
        return STAND
    return STAND if yours >= mine else EXCHANGE


def wins(receiver_switches: int, dealer_switches: int) -> Fraction:
    """Wins of the receiver out of 5525 if both switch all below a rank number."""
    total = 0
    for cards, ways in deals():
        action = EXCHANGE if cards[RECEIVER] < receiver_switches else STAND
        answer = dealers_best_answer(cards, action, dealer_switches)
        total += ways * receiver_wins(cards, action, answer)
    return Fraction(total * 5525, ALL_DEALS)


def test_the_matrix_of_the_doubtful_cards_is_the_published_one() -> None:
    matrix = [[wins(row, column) for column in (EIGHT + 1, EIGHT)] for row in (SEVEN + 1, SEVEN)]
    assert matrix == [[2828, 2838], [2834, 2828]]


def test_the_matrix_has_the_published_equilibrium() -> None:
    (a, b), (c, d) = [[wins(row, column) for column in (EIGHT + 1, EIGHT)] for row in (SEVEN + 1, SEVEN)]
    assert (d - c) / (a + d - b - c) == Fraction(3, 8), "how often the receiver switches a 7"
    assert (d - b) / (a + d - b - c) == Fraction(5, 8), "how often the dealer switches an 8"
    assert (a * d - b * c) / (a + d - b - c) / 5525 == Fraction(11327, 22100)


def test_nobody_can_do_better_than_the_published_equilibrium_with_any_strategy() -> None:
    """Best replies, card by card, among all strategies and not only among the doubtful ones."""
    value = Fraction(11327, 22100) * ALL_DEALS
    receiver_gets = {(mine, action): Fraction(0) for mine in range(13) for action in (STAND, EXCHANGE)}
    for cards, ways in deals():
        for action in (STAND, EXCHANGE):
            for switches, chance in ((EIGHT + 1, Fraction(5, 8)), (EIGHT, Fraction(3, 8))):
                answer = dealers_best_answer(cards, action, switches)
                receiver_gets[cards[RECEIVER], action] += chance * ways * receiver_wins(cards, action, answer)
    best = sum(max(receiver_gets[mine, STAND], receiver_gets[mine, EXCHANGE]) for mine in range(13))
    assert best == value

    dealer_leaves: dict[tuple[object, int], Fraction] = {}
    for cards, ways in deals():
        for switches, chance in ((SEVEN + 1, Fraction(3, 8)), (SEVEN, Fraction(5, 8))):
            action = EXCHANGE if cards[RECEIVER] < switches else STAND
            knows = cards[DEALER] if action == STAND else (cards[RECEIVER], cards[DEALER])
            for answer in (STAND, EXCHANGE):
                key = (action, knows), answer
                dealer_leaves.setdefault(key, Fraction(0))
                dealer_leaves[key] += chance * ways * receiver_wins(cards, action, answer)
    states = {state for state, _ in dealer_leaves}
    least = sum(min(dealer_leaves[state, STAND], dealer_leaves[state, EXCHANGE]) for state in states)
    assert least == value
