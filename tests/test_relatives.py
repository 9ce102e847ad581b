"""What Gnav's relatives do that Gnav does not, by hand: direction, re-entry, the rest of the deck, stakes, strikes."""

from collections import Counter

import numpy as np
import pytest

from gnav_env import EXCHANGE, STAND, VARIANTS, Effect, GnavError, Rules, Special, Table, Tables
from gnav_env.observation import piece
from matches import SideBySide, seats_for, whole_deck, with_rest

pytestmark = pytest.mark.pure

PAGAT, CAMPLI, KILLE, LU_STU = (VARIANTS[name] for name in ("pagat", "campli", "kille", "lu_stu"))
RANTER = VARIANTS["ranter"]


def all_stand(table: Table) -> None:
    while table.to_act is not None:
        table.act(STAND)


def test_anticlockwise_turns_challenges_and_the_deal_go_the_other_way() -> None:
    table = Table("campli", 4, first_dealer=0)
    table.deal(["9", "8", "7", "2"])
    assert table.to_act == 3
    table.act(EXCHANGE)
    assert table.hands == ["9", "8", "2", "7"], "seat 3 has asked seat 2"
    order = []
    while table.to_act is not None:
        order.append(table.to_act)
        table.act(STAND)
    assert order == [2, 1, 0]
    table.deal()
    assert table.dealer == 3


@pytest.mark.parametrize("name", VARIANTS)
def test_slot_1_of_an_observation_is_the_seat_that_is_asked_first(name: str) -> None:
    rules = VARIANTS[name]
    num_seats = seats_for(rules, 4)
    table = Table(rules, num_seats, first_dealer=0, seed=3)
    table.deal()
    assert table.to_act is not None
    asked = (table.to_act + (1 if rules.direction == "clockwise" else -1)) % num_seats
    observation, _ = table.observe(asked)
    acted = (table.to_act - asked) * int(rules.compiled[0].direction) % num_seats
    table.act(STAND if STAND in table.legal_actions() else EXCHANGE)
    observation, _ = table.observe(asked)
    assert acted == num_seats - 1, "the seat before me is in the last slot"
    assert piece(observation, "action_history")[acted, 0] == 0
    assert piece(observation, "action_history")[:acted, 0].sum() >= num_seats - 2


def test_everybody_comes_back_when_nobody_is_left_at_campli() -> None:
    table = Table("campli", 4, first_dealer=1, lives=[1, 1, 0, 0], pool=10)
    table.deal(["5", "5", "9", "9"])
    assert table.hands[2:] == [None, None]
    all_stand(table)
    assert not table.is_over
    assert table.lives == [3, 3, 3, 3]
    assert table.places == [0, 0, 0, 0]
    assert table.pool == 10 + 2 - 12
    table.deal()
    assert None not in table.hands


def test_who_may_come_back_is_not_terminated_before_the_match_is_over() -> None:
    from gnav_env.aec import env

    environment = env(rules="campli", num_seats=5)
    came_back = 0
    for seed in range(30):
        environment.reset(seed=seed)
        generator, was_out = np.random.default_rng(seed), set[int]()
        for agent in environment.agent_iter():
            observation, _, termination, truncation, _ = environment.last()
            table = environment.table
            if termination or truncation:
                assert table.is_over or truncation
                environment.step(None)
                continue
            lives = table.lives
            came_back += len([seat for seat in was_out if lives[seat] > 0])
            was_out = {seat for seat, number in enumerate(lives) if number == 0}
            assert len(environment.agents) == 5
            assert environment.agent_selection == agent
            legal = np.flatnonzero(observation["action_mask"])
            environment.step(int(generator.choice(legal)))
    assert came_back > 0, "in thirty matches somebody does"


def test_stakes_are_no_lives_and_the_winner_takes_them() -> None:
    table = Table("kille", 4, first_dealer=3)
    table.deal(["5", "6", "7", "8"])
    assert (table.stakes, table.antes, table.pool, table.lives) == (4, [1] * 4, 0, [1] * 4)
    all_stand(table)
    table.deal(["5", "6", "7", "8"])
    assert table.antes == [1, 2, 2, 2], "who is out stakes nothing"
    while not table.is_over:
        all_stand(table)
        if not table.is_over:
            table.deal()
    [winner] = table.winners
    assert table.results[winner] == table.stakes - table.antes[winner]
    assert sum(table.antes) == table.stakes


def test_the_pool_waits_for_the_next_match_where_it_is_carried_over() -> None:
    rules = RANTER.replace(name="house", all_out="carry_over", lives=1)
    table = Table(rules, 3, first_dealer=2, pool=5)
    table.deal(["5", "5", "5"])
    all_stand(table)
    assert table.pool_stays and table.lives == [1, 1, 1] and table.pool == 5
    table.deal(["5", "6", "7"])
    all_stand(table)
    table.deal(["5", "6", "7"])
    all_stand(table)
    assert table.is_over and table.pool == 7
    assert sorted(table.results) == [-1, -1, 0]
    with pytest.raises(GnavError, match="pool must be 0 to"):
        Table(rules, 3, pool=-1)


def test_a_fallen_seats_card_still_counts_where_falling_is_deferred() -> None:
    rules = PAGAT.replace(name="house", mid_deal_out="deferred")
    for mode, losers, lives in ((rules, [0], [0, 3, 3, 3]), (PAGAT, [2], [0, 3, 2, 3])):
        match = SideBySide(mode, 4, dealer=3, lives=[1, 3, 3, 3])
        match.deal(["2", "dragon", "5", "9"])
        match.act("EXCHANGE")
        while match.table.to_act is not None:
            match.act("STAND")
        assert match.table.losers == losers
        assert match.table.lives == lives
        assert match.table.places == [4, 0, 0, 0]


def test_a_deal_is_played_to_its_end_where_the_rules_say_so() -> None:
    for rules, is_over_at_once in ((CAMPLI, False), (LU_STU, True)):
        match = SideBySide(rules, 2, dealer=0, lives=[2, 1])
        match.deal(["bum", "2", "7"])
        match.act("EXCHANGE")  # seat 1 asks seat 0, is fined and falls
        assert match.table.is_over is is_over_at_once
        if not is_over_at_once:
            assert match.table.to_act == 0
            match.act("STAND")
            assert match.table.losers == [0], "compared with nobody, it is the lowest"
        assert match.table.is_over and match.table.winners == [0]


@pytest.mark.parametrize(
    ("ties", "hands", "losers"),
    [
        ("all", ["5", "3", "3"], [1, 2]),
        ("first", ["5", "3", "3"], [1]),
        ("unique", ["5", "3", "3"], []),
        ("unique", ["5", "4", "3"], [2]),
        ("none_if_all_equal", ["5", "3", "3"], [1, 2]),
        ("none_if_all_equal", ["3", "3", "3"], []),
    ],
)
def test_ties_are_settled_as_the_rules_say(ties: str, hands: list[str], losers: list[int]) -> None:
    match = SideBySide(RANTER.replace(name="house", ties=ties), 3, dealer=2)
    match.deal(hands)
    for _ in hands:
        match.act("STAND")
    assert match.table.losers == losers


def test_specials_may_be_counted_as_dealt() -> None:
    """One fool dealt, both there at the showdown: one row or the other counts."""
    for count_at, losers in (("showdown", [0, 3]), ("dealt", [0, 2, 3])):
        match = SideBySide(PAGAT.replace(name="house", count_at=count_at), 4, dealer=3)
        match.deal(["fool", "9", "4", "7", "fool"])
        for action in ("STAND", "STAND", "STAND", "EXCHANGE"):
            match.act(action)
        assert match.table.hands == ["fool", "9", "4", "fool"]
        assert match.table.losers == losers


def test_a_card_that_has_become_another_is_counted_as_it_was_dealt() -> None:
    for count_at in ("showdown", "dealt"):
        match = SideBySide(KILLE.replace(name="house", count_at=count_at), 4, dealer=3)
        match.deal(["harlekin", "5", "7", "3"])
        for action in ("EXCHANGE", "STAND", "STAND", "STAND"):
            match.act(action)
        assert match.table.losers == [1, 3], "its holder, and the lowest of the rest"


def test_a_deal_survived_gives_lost_lives_back_where_only_consecutive_strikes_count() -> None:
    match = SideBySide(RANTER.replace(name="house", strikes="consecutive"), 4, dealer=3, lives=[1, 2, 3, 3])
    match.deal(["9", "8", "7", "2"])
    for _ in range(4):
        match.act("STAND")
    assert match.table.lives == [3, 3, 3, 2]


def test_a_sweep_jumps_what_redirects_stops_at_what_refuses_and_is_fined_again() -> None:
    match = SideBySide(LU_STU, 6, dealer=0)
    match.deal(["5", "gnaf", "2", "9", "salta", "bum"])  # turns: 5 bum, 4 salta, 3, 2, 1 gnaf, 0
    for action in ("STAND", "STAND", "STAND", "EXCHANGE"):
        match.act(action)
    assert match.table.hands == ["5", "gnaf", "9", "2", "salta", "bum"], "past the salta, up to the bum"
    assert match.table.lost == [0, 0, 2, 0, 0, 0], "the gnaf fines, and the bum again"


def test_a_dealers_card_from_the_stock_has_no_origin_to_fine() -> None:
    husu = Effect(refuse=True, pay=1, payer="origin")
    match = SideBySide(PAGAT.replace(name="house", effects={"cat": husu}, specials=()), 3, dealer=2)
    match.deal(["2", "5", "9", "cat"])
    for action in ("EXCHANGE", "EXCHANGE", "EXCHANGE"):
        match.act(action)
    assert match.table.hands == ["5", "9", "2"]
    assert match.table.lost == [1, 0, 1], "seat 0 was dealt the 2 that the dealer offers, and the dealer is lowest"


def test_deals_go_on_from_the_rest_of_the_deck_until_it_is_too_short() -> None:
    rules = RANTER.replace(name="house", reshuffle="on_exhaustion", lives=100, ties="unique")
    table = Table(rules, 5, seed=4, first_dealer=0)
    drawn: list[str] = []
    num_shuffles = 0
    for _ in range(40):
        if table.wants_deck:
            num_shuffles += 1
            drawn = []
        stock_before = table.zones()[1] if table.deals else []
        was_shuffled = table.wants_deck
        table.deal()
        hands = [hand for hand in table.hands if hand]
        if not was_shuffled:
            assert hands == stock_before[:5], "the next cards, in their order"
            assert table.zones()[1] == stock_before[5:]
        drawn += hands
        assert not Counter(drawn) - Counter(whole_deck(rules)), "no card comes twice before the shuffle"
        all_stand(table)
    assert num_shuffles == 40 // 10, "ten deals of five leave 2 cards of 52: too few for five seats and a stock card"
    table = Table(rules, 5, seed=4)
    table.deal()
    all_stand(table)
    with pytest.raises(GnavError, match="comes from the rest of the deck"):
        table.deal(["2", "3", "4", "5", "6"])


def test_what_was_seen_since_the_shuffle_is_in_the_observation() -> None:
    rules = RANTER.replace(name="house", reshuffle="on_exhaustion")
    table = Table(rules, 3, first_dealer=2)
    table.deal(["9", "2", "K", "5", "A", "A", "A", "7"])
    table.act(STAND)
    table.act(EXCHANGE)  # the king refuses
    assert table.to_act is None
    table.deal()
    assert table.hands == ["5", "A", "A"]
    seen = piece(table.observe(0)[0], "seen_before")
    expected = np.zeros(24)
    expected[[rules.rank_numbers[rank] for rank in ("9", "2", "K")]] = 0.25
    assert seen == pytest.approx(expected)
    # lower than the 5 that I hold: 4 aces and 4 each of 2, 3 and 4, of which a 2 is seen; 4 cards are seen in all
    assert piece(table.observe(0)[0], "chance_lower")[0] == pytest.approx(15 / 48)
    fresh = Table(RANTER, 3, first_dealer=2)
    fresh.deal(["5", "A", "A"])
    assert piece(fresh.observe(0)[0], "chance_lower")[0] == pytest.approx(16 / 51)
    assert not piece(fresh.observe(0)[0], "seen_before").any()


def test_a_seat_remembers_only_the_faces_that_it_saw() -> None:
    """Fined out in mid-deal, a card is shown to nobody: its holder alone will know that it is gone."""
    rules = PAGAT.replace(name="house", reshuffle="on_exhaustion", specials=())
    table = Table(rules, 4, first_dealer=3, lives=[1, 3, 3, 3])
    table.deal(["2", "dragon", "5", "9"])
    table.act(EXCHANGE)
    all_stand(table)
    table.deal()
    assert [table.remembered(seat).get("2", 0) for seat in range(4)] == [1, 0, 0, 0]
    assert table.remembered(3) == {"dragon": 1, "5": 1, "9": 1}


def test_what_nobody_saw_of_an_earlier_deal_changes_nobodys_observation() -> None:
    """The card of a seat that fell changes places with one far down the stock: only that seat can tell."""
    rules = PAGAT.replace(name="house", reshuffle="on_exhaustion", specials=())
    views = []
    for fallen in ("2", "0"):
        deck = [fallen, "dragon", "5", "9"]
        rest = [rank for rank in with_rest(rules, deck) if rank not in ("2", "0")][4:]
        table = Table(rules, 4, first_dealer=3, lives=[1, 3, 3, 3])
        table.deal([*deck, *rest])  # the other low cards come last, in any order
        table.act(EXCHANGE)
        all_stand(table)
        assert table.lives[0] == 0
        table.deal()
        views.append([table.observe(seat)[0].tobytes() for seat in range(4)])
    assert views[0][1:] == views[1][1:]
    assert views[0][0] != views[1][0]


def test_a_special_above_another_rank_beats_it_and_no_higher_one() -> None:
    fool = Special(rank="fool", count=1, holder="rank_above house", bonus=2)
    rules = PAGAT.replace(name="house", specials=(fool,))
    for hands, losers in ((["fool", "house", "horse"], [1]), (["fool", "horse", "cat"], [0])):
        match = SideBySide(rules, 3, dealer=2)
        match.deal(hands)
        for _ in range(3):
            match.act("STAND")
        assert match.table.losers == losers
        assert match.table.lives[0] == 3 + 2 - (0 in losers)
        assert match.table.by_seat("bonus") == [2, 0, 0]


def test_no_ruleset_costs_a_compilation_of_its_own() -> None:
    """All rulesets and house rules run through the same machine code: kernels have one signature each."""
    from gnav_env import stepping
    from gnav_env._jit import IS_COMPILED

    def num_signatures() -> int:
        return len(stepping.step_all.signatures) if IS_COMPILED else 0  # type: ignore[attr-defined]

    def play(rules: Rules) -> None:
        tables = Tables(rules, seats_for(rules, 4), 2, seed=1)
        tables.step(tables.action_mask[:, 1].astype(np.int64))

    play(PAGAT)
    before = num_signatures()
    for rules in (*VARIANTS.values(), PAGAT.replace(name="house", reshuffle="on_exhaustion", ties="unique")):
        play(rules)
    assert num_signatures() == before
