"""The observation: its layout, what it must hold by name, and that it leaks nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnav_env import VARIANTS, GnavError, Table, Tables
from gnav_env._jit import IS_COMPILED
from gnav_env.observation import PIECES, bounds, layout_table, num_features, num_seats_of, piece
from gnav_env.state import NOBODY
from matches import seats_for

pytestmark = pytest.mark.pure
ROOT = Path(__file__).parents[1]


def seen_by(table: Table, seat: int, name: str) -> Any:
    return piece(table.observe(seat)[0], name)


def test_the_layout_in_the_docs_is_the_one_in_the_code() -> None:
    assert layout_table(6) in (ROOT / "docs" / "observation.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["own_card", "knock", "revealed_matador", "action_history"])
def test_the_four_pieces_that_must_be_there_are_there_by_name(name: str) -> None:
    assert name in [item.name for item in PIECES]


def test_pieces_do_not_overlap_and_fill_the_vector() -> None:
    for num_seats in (2, 6, 51):
        vector = np.zeros(num_features(num_seats), np.int64)
        for item in PIECES:
            piece(vector, item.name)[...] += 1
        assert (vector == 1).all()
        assert num_seats_of(len(vector)) == num_seats


def test_a_small_tables_layout_begins_that_of_a_larger_one() -> None:
    small, large = np.arange(num_features(3)), np.arange(num_features(20))
    for item in PIECES:
        cut = piece(large, item.name)
        np.testing.assert_array_equal(piece(small, item.name), cut[:3] if item.per_seat else cut)


def test_a_length_that_no_table_has_says_what_would_be_right() -> None:
    with pytest.raises(GnavError, match="features"):
        num_seats_of(151)
    with pytest.raises(KeyError, match="own_card"):
        piece(np.zeros(num_features(6)), "own_cart")


def test_the_own_card_and_its_history_follow_a_trade() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(["2", "9", "5", "6", "7"])
    assert seen_by(table, 0, "own_card").argmax() == table.rules.rank_numbers["2"]
    assert seen_by(table, 0, "own_card_history").tolist() == [1, 0, 0]
    table.act(1)
    assert seen_by(table, 0, "own_card").argmax() == table.rules.rank_numbers["9"]
    assert seen_by(table, 0, "own_card_history").tolist() == [0, 1, 0]
    known = seen_by(table, 0, "known")
    assert known[1].tolist() == pytest.approx([1, table.rules.rank_numbers["2"] / 20, 1])
    assert seen_by(table, 0, "lower_known").tolist() == [0, 1], "seat 1 comes after me and holds my 2"
    assert seen_by(table, 1, "known")[3].tolist() == pytest.approx([1, table.rules.rank_numbers["9"] / 20, 0])
    assert seen_by(table, 2, "known")[:, 0].tolist() == [1, 0, 0, 0], "the others saw no face"
    assert seen_by(table, 2, "action_history")[2].tolist() == [0, 0, 1, 0, 0, 0], "but they saw the trade"


def test_a_lower_card_of_a_seat_before_me_is_settled() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(["9", "2", "5", "6", "7"])
    table.act(1)
    assert seen_by(table, 1, "lower_known").tolist() == [1, 0], "I hold the 9, and seat 0 my old 2"


def test_knocks_are_seen_and_tell_the_card() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(["9", "fool", "5", "6"])
    assert seen_by(table, 2, "knock")[:, 0].tolist() == [0, 0, 0, 1]
    assert seen_by(table, 2, "known")[3].tolist() == [1, 0, 1]


@pytest.mark.parametrize(("rules", "value"), [("letters", 17 / 21), ("silent", 0.0)])
def test_a_matador_that_answers_is_revealed_unless_the_rules_are_silent(rules: str, value: float) -> None:
    table = Table(rules, 4, first_dealer=3)
    table.deal(["9", "house", "5", "6"])
    table.act(1)
    assert seen_by(table, 3, "revealed_matador")[2, 0] == pytest.approx(value)
    assert seen_by(table, 3, "answered")[2].tolist() == [1, 0]
    assert seen_by(table, 3, "known")[2, 0] == (value > 0)


def test_the_chance_of_a_lower_card_counts_what_is_unseen() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(["1", "fool", "5", "6"])
    # below I are 0, Pot, Owl, Fool: eight cards, of which the knocking Fool is seen; 40 cards are unseen
    assert seen_by(table, 0, "chance_lower")[0] == pytest.approx(7 / 40)
    assert seen_by(table, 0, "chance_matador")[0] == pytest.approx(10 / 40)


def all_views(tables: Tables) -> list[np.ndarray]:
    return [tables.observe(np.full(tables.num_tables, seat)) for seat in range(tables.num_seats)]


@pytest.mark.parametrize("rules", list(VARIANTS))
def test_observations_stay_within_their_bounds_and_agree_with_the_readable_table(rules: str) -> None:
    num_steps = 150 if IS_COMPILED else 8
    num_seats = seats_for(rules, 5)
    tables = Tables(rules, num_seats, 8, seed=3)
    direction = int(tables.rules.compiled[0].direction)
    low, high = bounds(num_seats)
    luck = np.random.default_rng(1)
    for _ in range(num_steps):
        for seat, view in enumerate(all_views(tables)):
            assert (view >= low).all() and (view <= high).all()
            for b in range(0, 8, 4):
                table = Table.from_record(tables.rules, tables.records[b])
                cards = seen_by(table, seat, "known")[:, 0] > 0
                expected = {
                    (other - seat) * direction % num_seats for other in table.known(seat) if table.lives[other] > 0
                }
                assert set(np.flatnonzero(cards)) == expected
        tables.step(np.where(luck.random(8) < 0.5, tables.action_mask[:, 1], 1 - tables.action_mask[:, 0]))


@settings(max_examples=150 if IS_COMPILED else 10, deadline=None)
@given(
    rules=st.sampled_from(sorted(VARIANTS)),
    num_seats=st.integers(3, 8),
    seed=st.integers(0, 10_000),
    actions=st.lists(st.integers(0, 1), min_size=8, max_size=8),
    observer=st.integers(0, 7),
    luck=st.randoms(use_true_random=False),
)
def test_two_tables_that_agree_on_what_a_seat_knows_give_it_the_same_bytes(
    rules: str, num_seats: int, seed: int, actions: list[int], observer: int, luck: Any
) -> None:
    """Play a deal; exchange cards that the observer has not seen; play the same actions: the same bytes.

    Cards may only change places if the public course of the deal stays what it was, which is checked by its record.
    """
    num_seats = seats_for(rules, num_seats)
    observer %= num_seats
    table = Table(rules, num_seats, seed=seed, first_dealer=num_seats - 1)
    table.deal()
    deck = table.deck

    def play(cards: list[str]) -> tuple[Any, Table]:
        played = Table(rules, num_seats, seed=seed, first_dealer=num_seats - 1)
        played.deal(cards)
        for wish in actions:
            legal = played.legal_actions()
            if not legal or played.deals > 1:
                break
            played.act(wish if wish in legal else legal[0])
        record = played.record
        seen = played.seen(observer)
        seats = record.seats[:num_seats]
        public = (
            [int(record[name]) for name in ("phase", "to_act", "drawn", "undone", "stopped", "pool")],
            [seats[name].tolist() for name in ("lives", "hand", "turn", "asked", "answers", "revealed", "knocked")],
            seen.tolist(),
            [card for card, is_seen in zip(cards, seen, strict=True) if is_seen],
        )
        return public, played

    public, original = play(deck)
    unseen = [position for position, is_seen in enumerate(public[2]) if not is_seen]
    shuffled = unseen[:]
    luck.shuffle(shuffled)
    other_deck = deck[:]
    for position, source in zip(unseen, shuffled, strict=True):
        other_deck[position] = deck[source]
    other_public, other = play(other_deck)
    if other_public == public:
        assert original.observe(observer)[0].tobytes() == other.observe(observer)[0].tobytes()


def test_an_unseen_card_changes_nobody_elses_observation() -> None:
    """The same, by hand, so that the property above cannot be empty: all seats but one hold what they held."""
    base = ["7", "9", "5", "6", "12", "11"]
    views = []
    for card in ("2", "3", "8", "10"):
        table = Table("pagat", 6, first_dealer=5)
        table.deal([base[0], base[1], card, *base[3:]])
        table.act(1)
        views.append([table.observe(seat)[0].tobytes() for seat in (0, 1, 3, 4, 5)])
    assert all(view == views[0] for view in views)


def test_a_seat_that_is_not_to_act_shows_stand_alone() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal()
    assert table.observe(0)[1].tolist() == [1, 1]
    assert table.observe(1)[1].tolist() == [1, 0]
    assert table.record.to_act != NOBODY
