"""Schedules are fair: all agents sit as often, all pairs meet as often at all distances, at all seats."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnav_agents.arena import schedule
from gnav_agents.arena.designs import design_size, find_design
from gnav_agents.arena.schedule import (
    MATCHES_PER_UNIT,
    blocks_per_unit,
    invasion_line_ups,
    make_line_ups,
    make_seatings,
    pair_meetings,
    pair_spread,
    reference_line_ups,
    rotation_shifts,
    self_line_ups,
)

SEATS = (2, 3, 4, 5, 6, 8, 10)


def plain_meetings(line_ups, num_agents):
    """What `pair_meetings` says, counted one by one."""
    num_seats = line_ups.shape[1]
    meetings = np.zeros((num_seats - 1, num_agents, num_agents), int)
    for line_up in line_ups:
        for place in range(num_seats):
            for distance in range(1, num_seats):
                other = line_up[(place + distance) % num_seats]
                meetings[distance - 1, line_up[place], other] += 1
    return meetings


# -------------------------------------------------------------------------------------------------- rotations


@pytest.mark.parametrize("num_seats", [2, 3, 6, 8])
def test_up_to_eight_seats_a_block_brings_every_place_of_its_line_up_to_every_seat_once(num_seats):
    seatings = make_seatings(np.arange(num_seats)[np.newaxis])[0]
    assert seatings.shape == (num_seats, num_seats)
    for seat in range(num_seats):
        assert sorted(seatings[:, seat]) == list(range(num_seats))
    for rotation in seatings:
        assert sorted(rotation) == list(range(num_seats))


@pytest.mark.parametrize("num_seats", [9, 13, 20, 37])
def test_above_eight_seats_a_block_has_eight_rotations_equally_spaced(num_seats):
    shifts = rotation_shifts(num_seats)
    assert len(shifts) == 8
    gaps = np.diff([*shifts, num_seats])
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1
    seatings = make_seatings(np.arange(num_seats)[np.newaxis])[0]
    for place in range(num_seats):
        assert len(set(np.argwhere(seatings == place)[:, 1])) == 8


def test_seatings_of_many_line_ups_a_block_are_those_of_each_line_up():
    line_ups = invasion_line_ups(3, 9).reshape(3, 2, 9)
    seatings = make_seatings(line_ups)
    assert seatings.shape == (3, 2, 8, 9)
    assert np.array_equal(seatings[1, 1], make_seatings(line_ups[1, 1]))
    assert np.array_equal(seatings[1, 1, 0], line_ups[1, 1])


@pytest.mark.parametrize("num_seats", [9, 12, 20])
def test_above_eight_seats_line_ups_begin_at_each_seat_once_in_as_many_blocks_as_there_are_seats(
    num_seats, monkeypatch
):
    turned = make_line_ups(num_seats, num_seats, 3 * num_seats, seed=4)
    monkeypatch.setattr(schedule, "MAX_ROTATIONS", num_seats)  # then they are not turned
    still = make_line_ups(num_seats, num_seats, 3 * num_seats, seed=4)
    offsets = [row.tolist().index(first) for row, first in zip(turned, still[:, 0], strict=True)]
    for row, before, offset in zip(turned, still, offsets, strict=True):
        assert np.array_equal(row, np.roll(before, offset))
    for first in range(0, 3 * num_seats, num_seats):
        assert sorted(offsets[first : first + num_seats]) == list(range(num_seats))
    assert offsets[:num_seats] != offsets[num_seats : 2 * num_seats]


@pytest.mark.parametrize(("matches_per_block", "num_blocks"), [(8, 768), (3, 2048), (7, 877), (6144, 1), (9999, 1)])
def test_a_unit_has_as_many_whole_blocks_as_make_up_its_matches_and_at_least_one(matches_per_block, num_blocks):
    assert MATCHES_PER_UNIT == 6144
    assert blocks_per_unit(matches_per_block) == num_blocks


# ---------------------------------------------------------------------------------------------------- balance


@settings(deadline=None, max_examples=30)
@given(num_agents=st.integers(1, 6), num_seats=st.integers(2, 9), data=st.data())
def test_pair_meetings_are_those_that_one_counts_one_by_one(num_agents, num_seats, data):
    seat = st.integers(0, num_agents - 1)
    rows = data.draw(st.lists(st.lists(seat, min_size=num_seats, max_size=num_seats), min_size=1, max_size=5))
    line_ups = np.array(rows)
    expected = plain_meetings(line_ups, num_agents)
    assert np.array_equal(pair_meetings(line_ups, num_agents), expected)
    others = [m for distance in expected for (a, b), m in np.ndenumerate(distance) if a != b]
    assert pair_spread(line_ups, num_agents) == max(others, default=0) - min(others, default=0)


@pytest.mark.parametrize("num_agents", range(2, 12))
def test_in_a_whole_design_every_pair_meets_equally_often_at_every_distance(num_agents):
    for num_seats in SEATS:
        size = design_size(num_agents, num_seats)
        for repetitions in (1, 2):
            line_ups = make_line_ups(num_agents, num_seats, repetitions * size, seed=num_agents)
            assert pair_spread(line_ups, num_agents) == 0
            counts = np.bincount(line_ups.ravel(), minlength=num_agents)
            assert (counts == repetitions * size * num_seats / num_agents).all()


@pytest.mark.parametrize(("num_agents", "num_seats"), [(12, 12), (15, 6), (24, 4), (2, 20), (4, 20), (32, 7), (49, 9)])
def test_so_it_is_with_more_agents_and_with_more_seats(num_agents, num_seats):
    line_ups = make_line_ups(num_agents, num_seats, design_size(num_agents, num_seats), seed=1)
    assert pair_spread(line_ups, num_agents) == 0


@pytest.mark.parametrize("num_agents", [4, 5, 7, 8, 9, 11, 13, 16, 17, 25, 27, 61])
def test_perfect_cyclic_designs_of_a_prime_power_have_each_pair_once_at_each_distance(num_agents):
    """N. S. Mendelsohn, Perfect cyclic designs, Discrete Mathematics 20 (1977): if S divides q - 1, they exist."""
    for num_seats in range(2, 20):
        if (num_agents - 1) % num_seats == 0:
            assert design_size(num_agents, num_seats) == num_agents * (num_agents - 1) // num_seats
            line_ups = make_line_ups(num_agents, num_seats, design_size(num_agents, num_seats), seed=3)
            meetings = pair_meetings(line_ups, num_agents)
            assert (meetings == 1 - np.eye(num_agents, dtype=int)).all()


@pytest.mark.parametrize(("num_agents", "num_seats"), [(3, 3), (5, 3), (7, 5), (8, 6), (9, 7), (11, 9), (64, 20)])
def test_a_prime_power_of_agents_needs_no_more_line_ups_than_there_are_ordered_pairs(num_agents, num_seats):
    assert design_size(num_agents, num_seats) <= num_agents * (num_agents - 1)


@pytest.mark.parametrize(("num_agents", "num_seats"), [(12, 20), (24, 20), (60, 6), (60, 20)])
def test_where_no_balanced_design_is_found_the_meetings_are_nearly_equal(num_agents, num_seats):
    num_blocks = design_size(num_agents, num_seats)
    line_ups = make_line_ups(num_agents, num_seats, num_blocks, seed=1)
    assert 0 < pair_spread(line_ups, num_agents) <= 7
    chance = np.random.default_rng(1).permuted(line_ups, axis=1)
    assert pair_spread(line_ups, num_agents) < pair_spread(chance, num_agents) / 2


def test_a_design_is_always_the_same():
    before = find_design(6, 5)
    find_design.cache_clear()
    after = find_design(6, 5)
    assert after is not before
    assert np.array_equal(after.words, before.words)
    assert np.array_equal(after.shifts, before.shifts)


# --------------------------------------------------------------------------------------------------- prefixes


@settings(deadline=None, max_examples=60)
@given(
    num_agents=st.sampled_from([1, 2, 3, 4, 5, 6, 7, 9, 12, 70]),
    num_seats=st.sampled_from([2, 3, 4, 6, 9]),
    num_blocks=st.integers(1, 150),
    seed=st.integers(0, 2**63 - 1),
)
def test_whenever_all_agents_could_have_sat_equally_often_they_have(num_agents, num_seats, num_blocks, seed):
    line_ups = make_line_ups(num_agents, num_seats, num_blocks, seed)
    assert line_ups.shape == (num_blocks, num_seats)
    for last in range(num_agents, num_blocks + 1, num_agents):
        counts = np.bincount(line_ups[last - num_agents : last].ravel(), minlength=num_agents)
        assert (counts == num_seats).all()
    for line_up in line_ups:
        here = np.bincount(line_up, minlength=num_agents)
        assert here.max() - here.min() <= 1


@pytest.mark.parametrize(("num_agents", "num_seats"), [(4, 6), (6, 4), (8, 6), (12, 8), (24, 8), (20, 20)])
def test_any_first_part_of_a_schedule_is_more_balanced_than_chance(num_agents, num_seats):
    line_ups = make_line_ups(num_agents, num_seats, 2000, seed=6)
    chance = np.random.default_rng(6).permuted(line_ups, axis=1)
    for num_blocks, part in [(50, 1), (100, 3 / 4), (300, 2 / 3), (700, 1 / 3), (2000, 1 / 5)]:
        spread, by_chance = (pair_spread(rows[:num_blocks], num_agents) for rows in (line_ups, chance))
        assert spread < part * by_chance


def test_the_first_blocks_of_a_long_schedule_are_the_blocks_of_a_short_one():
    for num_agents, num_seats in [(3, 6), (4, 6), (11, 6), (5, 12)]:
        long = make_line_ups(num_agents, num_seats, 300, seed=5)
        for num_blocks in (1, 17, 121):
            assert np.array_equal(long[:num_blocks], make_line_ups(num_agents, num_seats, num_blocks, seed=5))


def test_another_seed_and_each_repetition_of_the_design_give_another_order():
    size = design_size(7, 6)
    line_ups = make_line_ups(7, 6, 2 * size, seed=5)
    assert not np.array_equal(line_ups, make_line_ups(7, 6, 2 * size, seed=6))
    assert not np.array_equal(line_ups[:size], line_ups[size:])


def test_the_places_of_a_line_up_are_drawn_evenly():
    line_ups = make_line_ups(4, 4, 4000, seed=2)
    for place in range(4):
        assert np.bincount(line_ups[:, place], minlength=4) == pytest.approx(1000, abs=120)


# ----------------------------------------------------------------------------------------------- other fields


def test_in_a_homogeneous_field_one_agent_sits_among_copies_of_another():
    assert reference_line_ups(3, 1, 4).tolist() == [[0, 1, 1, 1], [1, 1, 1, 1], [2, 1, 1, 1]]
    assert self_line_ups(3, 2).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert invasion_line_ups(3, 3).tolist() == [[0, 1, 1], [0, 2, 2], [1, 0, 0], [1, 2, 2], [2, 0, 0], [2, 1, 1]]
    assert invasion_line_ups(1, 6).shape == (0, 6)
