"""Deals worked out by hand from the rules (tests/data/worked_deals.yaml) come out so in oracle and engine."""

from pathlib import Path
from typing import Any

import pytest

from gnav_env._yaml import read_yaml
from gnav_env.effects import Special
from gnav_env.variants import VARIANTS
from matches import SideBySide

pytestmark = pytest.mark.pure

DEALS: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "data" / "worked_deals.yaml")["deals"]
LETTERS = {"X": "EXCHANGE", "S": "STAND"}


def _by_seat(order: list[int], values: list[Any]) -> list[Any]:
    """`values` in the order of turns, put in the order of seats."""
    return [value for _, value in sorted(zip(order, values, strict=True), key=lambda pair: pair[0])]


def _play(match: SideBySide, order: list[int], letters: str) -> None:
    """Play `letters` by the seats in `order`; each X and S must come at its seat's turn, and - get none."""
    for seat, letter in zip(order, letters, strict=True):
        if letter != "-":
            assert match.table.to_act == match.oracle.to_act == seat
            match.act(LETTERS[letter])
    assert match.table.to_act is None


@pytest.mark.parametrize("deal", DEALS, ids=[deal["title"] for deal in DEALS])
def test_the_worked_deals_come_out_as_worked(deal: dict[str, Any]) -> None:
    rules = VARIANTS[deal["ruleset"]]
    num_seats = len(deal["hands"])
    before = list(deal.get("lives", [rules.lives] * num_seats))
    step = 1 if rules.direction == "clockwise" else -1
    order = [(num_seats - 1 + step * turn) % num_seats for turn in range(1, num_seats + 1)]
    match = SideBySide(rules, num_seats, dealer=num_seats - 1, lives=_by_seat(order, before))
    match.deal([*_by_seat(order, deal["hands"]), *deal["stock"]])
    _play(match, order, deal["play"])
    gained = deal.get("gained", [0] * num_seats)
    for view in (match.oracle_view(), match.engine_view()):
        assert [view["hands"][seat] for seat in order] == deal["final"]
        assert [view["lost"][seat] for seat in order] == deal["lost"]
        assert sorted(order.index(seat) for seat in view["losers"]) == deal["losers"]
        assert view["pool"] == deal["pool"]
        assert sorted(order.index(seat) for seat in view["sit_out"]) == deal.get("sit_out", [])
        after = [now - lost + won for now, lost, won in zip(before, deal["lost"], gained, strict=True)]
        assert [view["lives"][seat] for seat in order] == deal.get("lives_after", after)


def test_the_last_two_who_fell_together_play_on_for_the_match() -> None:
    rules = VARIANTS["pagat"]
    match = SideBySide(rules, 2, dealer=1, lives=[1, 1])
    match.deal(["5", "5", "9"])
    _play(match, [0, 1], "SS")
    assert not match.table.is_over
    assert match.table.places == [0, 0]
    match.deal(["4", "8", "9"])
    assert match.table.dealer == 0
    _play(match, [1, 0], "SX")
    assert match.table.hands == ["9", "8"]
    assert match.table.is_over
    assert match.table.places == [1, 2]
    assert match.table.lives == [1, 0]
    assert match.table.pool == 1


def test_the_holders_of_both_fools_miss_one_deal_and_come_back() -> None:
    rules = VARIANTS["pagat"]
    match = SideBySide(rules, 4, dealer=3)
    match.deal(["fool", "10", "fool", "1", "pot"])
    assert match.table.knocks == [0, 2]
    _play(match, [0, 1, 2, 3], "XSXS")
    match.deal(["5", "6", "7", "8"])
    assert match.table.hands == ["5", None, "7", None]
    assert match.table.dealer == 0
    _play(match, [2, 0], "SS")
    assert match.table.losers == [0]
    match.deal(["5", "6", "7", "8"])
    assert match.table.dealer == 1
    assert match.table.hands == ["5", "6", "7", "8"]
    _play(match, [2, 3, 0, 1], "SSSS")
    assert match.table.lives == [1, 2, 3, 2]


def test_nobody_has_to_sit_out_when_the_match_is_over() -> None:
    rules = VARIANTS["pagat"]
    match = SideBySide(rules, 3, dealer=2, lives=[1, 1, 2])
    match.deal(["fool", "fool", "2", "9"])
    _play(match, [0, 1, 2], "SSS")
    assert match.table.is_over
    assert match.table.places == [2, 2, 1]
    assert match.table.sit_out == []


def test_all_who_fell_together_play_the_play_off_even_one_who_should_sit_out() -> None:
    fool = Special(rank="fool", count=1, others="lowest", sit_out=True)
    rules = VARIANTS["pagat"].replace(name="house", specials=(fool,))
    match = SideBySide(rules, 3, dealer=2, lives=[1, 1, 1])
    match.deal(["fool", "2", "2", "9"])
    _play(match, [0, 1, 2], "SSS")
    assert match.table.lives == [1, 1, 1]
    assert match.table.sit_out == []


def test_a_player_still_knows_after_an_undo_what_he_saw_before() -> None:
    rules = VARIANTS["silent"]
    match = SideBySide(rules, 4, dealer=3)
    match.deal(["2", "9", "3", "cat", "6"])
    for action in ("EXCHANGE", "STAND", "EXCHANGE"):
        match.act(action)
    assert match.table.hands == ["2", "9", "3", "cat"]
    assert [match.table.known(seat) for seat in range(4)] == [
        {0: "2", 1: "9"},
        {0: "2", 1: "9"},
        {2: "3"},
        {3: "cat"},
    ]
