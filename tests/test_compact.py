"""The agent `compact`: it follows its five sentences, and they are what the solved deals say."""

import numpy as np
import pytest

from gnav_agents.compact import BELOW, Compact, thresholds
from gnav_agents.registry import make_agent
from gnav_agents.solve.deal import deal_tree
from gnav_agents.solve.solution import load_solution, shipped_solutions
from gnav_env import EXCHANGE, STAND, Table, get_rules

PAGAT = get_rules("pagat")
SPARE = ["12", "12", "11", "11", "10", "10", "9", "9", "8", "8", "7", "7", "6", "6", "5", "5"]


def after(cards: str, actions: str = "") -> Table:
    """A table with these cards, the eldest's first, where seats have chosen X (EXCHANGE) or S (STAND)."""
    hands = cards.split()
    table = Table(PAGAT, len(hands), first_dealer=len(hands) - 1)
    table.deal([*hands, *[card for card in SPARE if card not in hands]])
    for action in actions:
        table.act(EXCHANGE if action == "X" else STAND)
    return table


def choice(table: Table) -> int:
    """What `compact` does there."""
    assert table.to_act is not None
    observation, mask = table.observe(table.to_act)
    return int(np.argmax(Compact(PAGAT).probabilities(observation[None], mask[None])[0]))


@pytest.mark.parametrize(
    ("cards", "actions", "expected", "why"),
    [
        ("1 9 9 10", "", EXCHANGE, "below III with three behind"),
        ("2 9 9 10", "", EXCHANGE, "below III with three behind"),
        ("3 9 9 10", "", STAND, "three behind"),
        ("9 3 9 10", "S", EXCHANGE, "below IV with two behind"),
        ("9 9 4 10", "SS", EXCHANGE, "below V with one behind"),
        ("9 9 10 5", "SSS", STAND, "nobody behind"),
        ("house 9 9 10", "", STAND, "a matador"),
        ("owl fool 9 9", "", STAND, "the next has knocked"),
        ("fool 9 9 10", "", EXCHANGE, "a Fool is given away"),
        ("fool 9 fool 1", "SS", EXCHANGE, "the Fool's own holder gives it away"),
        ("fool fool owl 9", "SS", STAND, "two Fools are known elsewhere"),
        ("1 0 9 9", "X", STAND, "the card given away is lower"),
        ("0 1 9 9", "X", EXCHANGE, "the card given away is higher"),
        ("0 0 9 9", "X", EXCHANGE, "the card given away is as low"),
    ],
)
def test_it_keeps_to_its_sentences(cards: str, actions: str, expected: int, why: str) -> None:
    assert choice(after(cards, actions)) == expected, why


@pytest.mark.parametrize(("name", "num_seats"), [("pagat", 3), ("pagat", 4), ("letters", 3), ("letters", 4)])
def test_a_seat_that_has_seen_nothing_exchanges_what_an_equilibrium_does_but_for_a_rank(
    name: str, num_seats: int
) -> None:
    rules = get_rules(name)
    tree, stand = deal_tree(rules, num_seats), load_solution(shipped_solutions()[name, num_seats], rules).stand
    plain = [n for n, rank in enumerate(rules.ranks) if rank not in rules.matadors and rank != "fool"]
    for node in tree.nodes:
        if node.actor >= 0 and not any(node.actions) and not node.public:
            domain = node.domains[node.seen[0]]
            kept = dict(zip(domain, stand[node.first_state : node.first_state + node.num_states], strict=True))
            exchanged = sum(kept[rank] < 0.5 for rank in plain)
            assert abs(exchanged - BELOW[num_seats - 1 - node.actor]) <= 1


def test_in_other_packs_as_great_a_share_is_exchanged() -> None:
    assert thresholds(get_rules("ranter"))[0] == round(7 * 12 / 15)
    assert (np.diff(thresholds(PAGAT)) <= 0).all()


def test_it_can_be_named() -> None:
    assert isinstance(make_agent("compact", "letters", 8), Compact)
