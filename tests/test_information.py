"""Information states: what a seat may know makes them, and nothing else does."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnav_agents.solve.information import NOT_FOUND, Index, InformationStates, find_all, num_in_deal
from gnav_agents.solve.tree import Node, build_tree
from gnav_env import VARIANTS, GnavError, Rules, Table
from gnav_env.observation import num_seats_of

SOLVABLE = [("pagat", 4), ("letters", 3), ("double", 3), ("ranter", 3), ("le_her", 2), ("slabberjan", 3), ("forced", 3)]
TELLING = [case for case in SOLVABLE if case[0] in ("pagat", "double", "ranter", "slabberjan")]
"""Where an answer costs the turn, so that nobody chooses after a face of the stock."""


@cache
def states_of(name: str, num_seats: int) -> InformationStates:
    rules = VARIANTS[name]
    return InformationStates(build_tree(rules, [rules.lives] * num_seats))


@cache
def index_of(states: InformationStates) -> Index:
    return states.index()


def found(states: InformationStates, observation: NDArray[np.float32]) -> int:
    """The number of the state that the row `observation` [F] is in."""
    out = np.empty(1, np.int64)
    find_all(index_of(states), observation[None], num_seats_of(len(observation)), out)
    return int(out[0])


def node_of(states: InformationStates, state: int) -> tuple[Node, list[int]]:
    """The node of a state, and the ranks that its actor has seen there."""
    nodes = [node for node in states.tree.nodes if node.actor >= 0]
    first = [node.first_state for node in nodes]
    node = nodes[int(np.searchsorted(first, state, side="right")) - 1]
    domains = [node.domains[place] for place in node.seen]
    at = np.unravel_index(state - node.first_state, [len(ranks) for ranks in domains]) if domains else ()
    return node, [ranks[int(i)] for ranks, i in zip(domains, at, strict=True)]


def choices(
    rules: Rules, num_seats: int, num_deals: int, **options: Any
) -> list[tuple[Table, NDArray[np.float32], NDArray[np.int8]]]:
    """Tables where a seat is to choose, in first deals of random play, with what it sees and may do."""
    rng = np.random.default_rng(num_seats)
    met: list[tuple[Table, NDArray[np.float32], NDArray[np.int8]]] = []
    for match in range(num_deals):
        table = Table(rules, num_seats, seed=5, match=match, **options)
        table.deal()
        while table.to_act is not None:
            met.append((table.copy(), *table.observe(table.to_act)))
            table.act(int(rng.choice(table.legal_actions())))
    return met


def in_order(table: Table) -> list[int]:
    """The seats of the deal in the order of action."""
    step = int(table.rules.compiled[0]["direction"])
    seats = [(table.dealer + step * (1 + i)) % table.num_seats for i in range(table.num_seats)]
    return [seat for seat in seats if table.record.seats[seat].hand >= 0]


@pytest.mark.parametrize(("name", "num_seats"), SOLVABLE)
def test_the_state_has_the_seat_that_looks_and_the_ranks_that_it_has_seen(name: str, num_seats: int) -> None:
    states = states_of(name, num_seats)
    for table, observation, _ in choices(VARIANTS[name], num_seats, 150):
        state = found(states, observation)
        assert state != NOT_FOUND
        node, ranks = node_of(states, state)
        seats = in_order(table)
        assert seats[node.actor] == table.to_act
        hands = [table.record.seats[seats[holder]].hand for holder in node.holders]
        assert ranks == [int(table.record.deck[hand]) for hand in hands]


@pytest.mark.parametrize(("name", "num_seats"), SOLVABLE)
def test_cards_that_the_seat_has_not_seen_make_no_other_state(name: str, num_seats: int) -> None:
    states, rng = states_of(name, num_seats), np.random.default_rng(1)
    for table, observation, _ in choices(VARIANTS[name], num_seats, 40):
        assert table.to_act is not None
        hidden = np.flatnonzero(~table.seen(table.to_act))
        table.record.deck[hidden] = rng.permutation(table.record.deck[hidden])
        assert found(states, table.observe(table.to_act)[0]) == found(states, observation)


@pytest.mark.parametrize(("name", "num_seats"), TELLING)
def test_states_and_observations_belong_together_one_to_one(name: str, num_seats: int) -> None:
    states = states_of(name, num_seats)
    by_state: dict[int, bytes] = {}
    by_view: dict[bytes, int] = {}
    for _, observation, _ in choices(VARIANTS[name], num_seats, 300):
        state, view = found(states, observation), observation.tobytes()
        assert by_state.setdefault(state, view) == view
        assert by_view.setdefault(view, state) == state
    assert len(by_state) > 100


@pytest.mark.parametrize(("name", "num_seats"), TELLING)
def test_a_state_is_seen_as_it_is_in_play(name: str, num_seats: int) -> None:
    states = states_of(name, num_seats)
    met = choices(VARIANTS[name], num_seats, 100)
    observation, mask = states.observations([found(states, row) for _, row, _ in met])
    np.testing.assert_array_equal(observation, [row for _, row, _ in met])
    np.testing.assert_array_equal(mask, [row for _, _, row in met])


@pytest.mark.parametrize(("name", "num_seats"), [("pagat", 3), ("pagat", 4), ("ranter", 3), ("le_her", 2)])
def test_every_state_is_found_again_from_what_is_seen_in_it(name: str, num_seats: int) -> None:
    states = states_of(name, num_seats)
    numbers = np.arange(states.tree.num_states)
    out = np.empty_like(numbers)
    find_all(states.index(), states.observations(numbers)[0], num_seats, out)
    np.testing.assert_array_equal(out, numbers)


@pytest.mark.parametrize(("name", "num_seats"), SOLVABLE)
def test_no_two_nodes_have_the_same_key_by_the_table(name: str, num_seats: int) -> None:
    states = states_of(name, num_seats)
    assert len(np.unique(states.index("table").keys)) == sum(node.actor >= 0 for node in states.tree.nodes)


def test_in_letters_nodes_that_differ_in_faces_of_the_stock_look_alike_to_a_seat() -> None:
    states = states_of("letters", 3)
    assert len(states.index().keys) == 613
    assert len(np.unique(states.index().keys)) == 335


@pytest.mark.parametrize("direction", ["clockwise", "anticlockwise"])
def test_seats_that_are_out_do_not_count(direction: str) -> None:
    rules = VARIANTS["pagat"].replace(direction=direction)
    states = states_of("pagat", 4)
    for table, observation, _ in choices(rules, 6, 100, lives=[3, 0, 3, 3, 0, 3], first_dealer=3):
        assert num_in_deal(observation[None]).tolist() == [4]
        node, ranks = node_of(states, found(states, observation))
        seats = in_order(table)
        assert seats[node.actor] == table.to_act
        assert ranks == [int(table.record.deck[table.record.seats[seats[holder]].hand]) for holder in node.holders]


def test_seats_that_sit_out_do_not_count() -> None:
    small, large = Table("pagat", 2, first_dealer=1), Table("pagat", 3, first_dealer=2)
    large.record.seats[1].sits_out = 1
    small.deal(["5", "9", "7"])
    large.deal(["5", "2", "9", "7"])
    states = states_of("pagat", 2)
    for table in (small, large):
        table.act(1)
    assert (small.to_act, large.to_act) == (1, 2)
    assert found(states, large.observe(2)[0]) == found(states, small.observe(1)[0]) != NOT_FOUND


def test_a_seat_that_fell_in_the_deal_counts() -> None:
    table = Table("pagat", 3, first_dealer=2, lives=[1, 3, 3])
    table.deal(["5", "dragon", "9", "7"])
    table.act(1)
    assert table.lives[0] == 0
    assert table.to_act == 2
    observation = table.observe(2)[0]
    assert num_in_deal(observation[None]).tolist() == [3]
    assert found(states_of("pagat", 3), observation) != NOT_FOUND


def test_what_no_table_of_the_index_can_show_is_not_found() -> None:
    states = states_of("pagat", 3)
    table = Table("pagat", 4, first_dealer=3)
    table.deal()
    assert table.to_act is not None
    assert found(states, table.observe(table.to_act)[0]) == NOT_FOUND


def test_numbers_that_are_no_states_are_refused() -> None:
    states = states_of("le_her", 2)
    with pytest.raises(GnavError, match="numbers from 0 to"):
        states.observations([states.tree.num_states])
    with pytest.raises(GnavError, match="numbers from 0 to"):
        states.observations([-1])
