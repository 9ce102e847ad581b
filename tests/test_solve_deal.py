"""The exact solver, held against every deal of tiny decks played out (deals.py), and against the literature."""

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deals import Both, Key, both, house
from gnav_agents.solve.deal import settle, solve_deal
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.sweep import KEEP, REGRET, RESPOND, Sweeper
from gnav_agents.solve.tree import build_tree
from gnav_env import EXCHANGE, STAND, VARIANTS, Effect, GnavError, Rules
from gnav_env.effects import Special

PAGAT, LETTERS, LE_HER = VARIANTS["pagat"], VARIANTS["letters"], VARIANTS["le_her"]


# ----------------------------------------------------------------------------------------------------- against chance


SKIP = house(PAGAT, "cuckoo dragon cat house 2 1 fool")
TWO_FOOLS = house(PAGAT, "cat house 2 1 fool fool")
PLAY = house(LETTERS, "cuckoo cat horse house 2 1 fool")
HOLDER = house(LETTERS, "dragon cat house 2 1 1", fine_to="holder", ties="first")
FORCED = house(LETTERS, "cuckoo dragon house 3 2 1", stand_requires="matador")
STAYS = house(PAGAT, "dragon cat house 3 2 1 fool", matador_may_be_offered=False)
TAKEN = house(LETTERS, "cuckoo cat house 2 1 1", from_stock={"cat": Effect(), "house": Effect(refuse=True, pay=2)})
DEAR = house(PAGAT, "dragon cat house 2 2 1", effects={**HOLDER.effects, "dragon": Effect(refuse=True, pay=2)})

TABLES: dict[str, tuple[Rules, list[int], list[bool] | None]] = {
    "skip, 2 seats": (SKIP, [3, 3], None),
    "skip, 3 seats": (house(PAGAT, "dragon cat house 2 1 fool"), [3, 3, 3], None),
    "cards of one rank": (house(PAGAT, "dragon dragon house house 2 1 1"), [3, 3], None),
    "two fools": (TWO_FOOLS, [3, 3, 3], None),
    "play, 2 seats": (PLAY, [4, 4], None),
    "play, 3 seats": (house(LETTERS, "cat house 2 1 fool fool"), [4, 4, 4], None),
    "two that send on": (house(LETTERS, "cat horse house 2 1 1"), [4, 4, 4], None),
    "three that send on": (house(LETTERS, "horse house house 2 1 1"), [4, 4], None),
    "fines to the holder": (HOLDER, [2, 2, 2], None),
    "forced": (FORCED, [4, 4, 4], None),
    "forced, without matadors": (house(LETTERS, "3 2 2 1", stand_requires="matador"), [4, 4], None),
    "forced, knocking": (house(PAGAT, "cuckoo house 2 1 fool", stand_requires="matador"), [3, 3, 3], None),
    "matadors stay": (STAYS, [2, 2], None),
    "taken from the stock": (TAKEN, [4, 4, 4], None),
    "last lives": (DEAR, [1, 2, 1], None),
    "last lives, dead cards to the end": (DEAR.replace(mid_deal_out="dead_card_finish"), [1, 1, 2], None),
    "last lives, cards still compared": (DEAR.replace(mid_deal_out="deferred"), [2, 1, 1], None),
    "last lives, play": (HOLDER.replace(challenged_matador_turn="play", fine_to="pool"), [1, 1, 1], None),
    "the eldest sits out": (TWO_FOOLS, [1, 2, 2], [True, False, False]),
    "one between sits out": (PLAY, [1, 2, 1], [False, True, False]),
}


@cache
def table_named(name: str) -> Both:
    """Both, for one of TABLES."""
    return both(*TABLES[name])


@st.composite
def solvable_tables(draw: st.DrawFn) -> tuple[Rules, list[int]]:
    """A ruleset of any options that can be solved, with five or six cards, and lives for two or three seats."""
    ranks = draw(st.permutations(draw(st.sampled_from(("cba321", "ba321", "cb21", "a321")))))
    deck = dict.fromkeys(ranks, 1)
    for rank in draw(st.lists(st.sampled_from(ranks), max_size=6 - len(ranks))):
        deck[rank] += 1
    matadors = [rank for rank in ranks if rank in "cba"]
    pays, undoes, stops = st.integers(0, 2), st.sampled_from(("none", "all")), st.booleans()
    refusals = st.builds(Effect, refuse=st.just(True), pay=pays, undo=undoes, stop=stops)
    answers = st.one_of(refusals, refusals, st.just(Effect(redirect=True)), st.just(Effect()))
    skips, knocks = draw(st.booleans()), draw(st.booleans())
    special = draw(st.sampled_from(ranks)) if skips and knocks else ""
    rows = [
        Special(
            rank=special, count=count, others=draw(st.sampled_from(("lowest", "none"))), sit_out=draw(st.booleans())
        )
        for count in (1, 2)
        if special
    ]
    effects = {rank: draw(answers) for rank in matadors}
    from_stock = draw(st.dictionaries(st.sampled_from(matadors), answers, max_size=2))
    num_redirecting = sum(
        deck[rank] for rank in ranks if Effect(redirect=True) in (effects.get(rank), from_stock.get(rank))
    )
    assume(sum(deck.values()) - 1 - num_redirecting >= 2)
    rules = PAGAT.replace(
        name="house",
        deck=deck,
        effects=effects,
        from_stock=from_stock,
        specials=tuple(rows[: draw(st.integers(1, 2))]),
        challenged_matador_turn="skip" if skips else "play",
        knock="dealt" if special else "none",
        stand_requires=draw(st.sampled_from(("any", "any", "matador"))),
        matador_may_be_offered=draw(st.booleans()),
        fine_to=draw(st.sampled_from(("pool", "holder", "none"))),
        loss_to=draw(st.sampled_from(("pool", "none"))),
        mid_deal_out=draw(st.sampled_from(("dead_card", "deferred", "dead_card_finish"))),
        ties=draw(st.sampled_from(("all", "first", "unique", "none_if_all_equal"))),
        strikes=draw(st.sampled_from(("cumulative", "consecutive"))),
        count_at="showdown" if special else draw(st.sampled_from(("showdown", "dealt"))),
    )
    num_seats = draw(st.integers(2, min(3, rules.seat_limit)))
    return rules, draw(st.lists(st.integers(1, 3), min_size=num_seats, max_size=num_seats))


def check_values(both: Both, seed: int) -> None:
    """Values, gains and the worth of each choice are those of enumeration, for a random policy."""
    policy = both.deals.random_policy(np.random.default_rng(seed))
    both.play(policy)
    found = both.sweeper.sweep(KEEP)
    assert found.values == pytest.approx(both.deals.values(policy), abs=1e-12)
    assert found.gains == pytest.approx(both.deals.gains(policy), abs=1e-12)
    for key, worth in both.deals.worth(policy).items():
        legal = both.deals.legal[key]
        state = both.states[key]
        assert both.sweeper.legal[state] == sum(1 << action for action in legal)
        assert both.sweeper.worth[state, legal] == pytest.approx(worth[legal], abs=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_values_and_best_responses_are_those_of_every_deal_played_out(name: str) -> None:
    for seed in range(3):
        check_values(table_named(name), seed)


@given(table=solvable_tables(), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_values_and_best_responses_are_those_of_every_deal_whatever_the_rules(
    table: tuple[Rules, list[int]], seed: int
) -> None:
    check_values(both(*table), seed)


@pytest.mark.parametrize("name", ["skip, 2 seats", "fines to the holder"])
def test_no_pure_reply_beats_the_best_response(name: str) -> None:
    table = table_named(name)
    policy = table.deals.random_policy(np.random.default_rng(7))
    table.play(policy)
    found = table.sweeper.sweep()
    for seat in range(len(table.deals.lives)):
        worth = {key: worth for key, worth in table.deals.worth(policy).items() if key[0] == seat}
        best = {key: 1.0 - max(table.deals.legal[key], key=worth[key].__getitem__) for key in worth}
        free = [key for key in worth if len(table.deals.legal[key]) == 2][:7]  # all of the eldest's
        gains: list[float] = []
        for reply in itertools.product((0.0, 1.0), repeat=len(free)):
            values = table.deals.values(policy | best | dict(zip(free, reply, strict=True)))
            gains.append(float(values[seat] - found.values[seat]))
        assert max(gains) == pytest.approx(found.gains[seat], abs=1e-12)


@pytest.mark.parametrize("name", ["skip, 3 seats", "play, 2 seats", "forced", "matadors stay"])
def test_who_trembles_does_now_and_then_what_it_did_not_want(name: str) -> None:
    table = table_named(name)
    policy = table.deals.random_policy(np.random.default_rng(5))
    table.play(policy)
    found = table.sweeper.sweep(tremble=0.2)
    trembling = {key: 0.8 * p + 0.1 if len(table.deals.legal[key]) == 2 else p for key, p in policy.items()}
    assert found.values == pytest.approx(table.deals.values(trembling), abs=1e-12)
    assert table.policy == policy
    for key, worth in table.deals.worth(trembling).items():
        legal = table.deals.legal[key]
        assert table.sweeper.worth[table.states[key], legal] == pytest.approx(worth[legal], abs=1e-12)


@pytest.mark.parametrize("name", ["skip, 3 seats", "play, 3 seats", "last lives"])
def test_a_round_answers_from_the_dealer_to_the_eldest(name: str) -> None:
    table = table_named(name)
    policy = table.deals.random_policy(np.random.default_rng(3))
    table.play(policy)
    table.sweeper.sweep(RESPOND)
    answered = table.policy
    for seat in reversed(range(len(table.deals.lives))):
        for key, worth in table.deals.worth(policy).items():
            if key[0] == seat and len(table.deals.legal[key]) == 2:
                is_close = abs(worth[STAND] - worth[EXCHANGE]) < 1e-12
                policy[key] = answered[key] if is_close else float(worth[STAND] > worth[EXCHANGE])
                assert is_close or answered[key] == policy[key]
        assert table.deals.gains(policy)[seat] == pytest.approx(0, abs=1e-12)


def test_regret_matching_plays_by_the_regrets_and_averages_by_weight() -> None:
    table = both(SKIP, [3, 3])
    sweeper, legal = table.sweeper, table.sweeper.legal == 3
    regrets, sums = np.zeros((len(legal), 2)), np.zeros(len(legal))
    for weight in (1.0, 2.0, 3.0):
        before = sweeper.stand.copy()
        sweeper.sweep(REGRET, weight=weight)
        value = before * sweeper.worth[:, STAND] + (1 - before) * sweeper.worth[:, EXCHANGE]
        regrets = np.maximum(regrets + sweeper.worth - value[:, None], 0)
        total = regrets.sum(axis=1)
        played = np.where(legal & (total > 0), regrets[:, STAND] / np.where(total > 0, total, 1), before)
        assert sweeper.stand == pytest.approx(played, abs=1e-12)
        sums += weight * sweeper.stand
    assert sweeper.average == pytest.approx(sums / 6, abs=1e-12)
    sweeper.forget()
    assert np.array_equal(sweeper.average, sweeper.stand)


# -------------------------------------------------------------------------------------------------- information states


@pytest.mark.parametrize("name", TABLES)
def test_an_information_state_is_all_that_the_seat_to_act_has_learned(name: str) -> None:
    table = table_named(name)
    assert len(set(table.states.values())) == len(table.states)
    table.sweeper.stand[:] = np.choose(table.sweeper.legal, [0.0, 1.0, 0.0, 0.5])
    table.sweeper.sweep()
    never = np.ones(table.tree.num_states, np.bool_)
    never[list(table.states.values())] = False
    assert not table.sweeper.worth[never].any()


@pytest.mark.parametrize(("rules", "counts"), [(PAGAT, (420, 3101, 19346)), (LE_HER, (183,))])
def test_there_are_so_many_information_states(rules: Rules, counts: tuple[int, ...]) -> None:
    for num_seats, count in enumerate(counts, start=2):
        tree = build_tree(rules, [rules.lives] * num_seats)
        assert tree.num_states == count == sum(tree.states_by_seat())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("silent", "speech: silent"),
        ("campli", "immune ranks"),
        ("kille", "when_exchanged"),
        ("vogelspiel", "losses that differ"),
        ("lu_stu", r"specials that do not knock \(matto\)"),
    ],
)
def test_rules_that_cannot_be_solved_are_refused_with_what_stands_in_the_way(name: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        build_tree(VARIANTS[name], [3, 3])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reshuffle": "on_exhaustion"}, "reshuffle: on_exhaustion"),
        ({"immune": ("cuckoo",)}, "immune ranks"),
        ({"knock": "none"}, r"specials that do not knock \(fool\)"),
        ({"challenged_matador_turn": "play"}, "does not cost the turn"),
        ({"loss": {"owl": 2}}, "losses that differ by rank"),
        ({"effects": {"cat": Effect(refuse=True, undo="card")}}, "undo of one card or by a sweep"),
    ],
)
def test_an_option_that_the_tree_cannot_hold_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GnavError, match=message):
        build_tree(PAGAT.replace(name="house", **changes), [3, 3, 3])


@pytest.mark.parametrize(("name", "num_seats", "most"), [("pagat", 1, 6), ("pagat", 7, 6), ("le_her", 3, 2)])
def test_seats_that_are_too_many_or_too_few_are_refused(name: str, num_seats: int, most: int) -> None:
    with pytest.raises(GnavError, match=f"seats must be 2 to {most} to be solved exactly, not {num_seats}"):
        solve_deal(VARIANTS[name], num_seats)


# ---------------------------------------------------------------------------------------------------------- equilibria


@pytest.mark.parametrize(("name", "num_seats"), [("pagat", 2), ("pagat", 3), ("letters", 2), ("pagat", 4)])
def test_nobody_gains_by_leaving_the_equilibrium(name: str, num_seats: int) -> None:
    solved = solve_deal(VARIANTS[name], num_seats)
    assert solved.nash_conv < 1e-6
    sweeper = Sweeper(solved.tree, lives_payoffs(solved.tree))
    sweeper.stand[:] = solved.stand
    found = sweeper.sweep()
    assert found.gains.sum() == pytest.approx(solved.nash_conv, abs=1e-12)
    assert np.array_equal(found.values, solved.values)


@pytest.mark.parametrize("name", TABLES)
def test_nobody_gains_by_leaving_the_equilibrium_of_a_tiny_deck(name: str) -> None:
    table = table_named(name)
    table.sweeper.stand[:] = np.choose(table.sweeper.legal, [0.0, 1.0, 0.0, 0.5])
    solved = settle(table.sweeper)
    assert solved.nash_conv < 1e-6
    assert table.deals.gains(table.policy).sum() == pytest.approx(solved.nash_conv, abs=1e-12)
    assert table.deals.values(table.policy) == pytest.approx(solved.values, abs=1e-12)


def test_any_number_of_workers_finds_the_same() -> None:
    solved = [solve_deal(PAGAT, 3, workers=workers) for workers in (1, 2)]
    for array in ("stand", "values", "gains"):
        assert getattr(solved[0], array).tobytes() == getattr(solved[1], array).tobytes()
    tree = solved[0].tree
    found: list[bytes] = []
    for workers in (1, 2):
        sweeper = Sweeper(tree, lives_payoffs(tree), workers=workers)
        for number in range(3):
            sweeper.sweep(REGRET, weight=number + 1)
        found.append(sweeper.average.tobytes() + sweeper.worth.tobytes())
    assert found[0] == found[1]


def le_hers_exchange(key: Key) -> float:
    """How often one exchanges in the published equilibrium (Bellhouse and Fillion 2015, as in test_le_her.py)."""
    seat, hands, faces = key[0], key[-2][2], dict(key[-1])
    known = {other: LE_HER.rank_numbers[faces[hand]] for other, hand in enumerate(hands) if hand in faces}
    if len(known) == 2:  # the dealer has been asked: he draws to what would lose, and a tie wins
        return float(known[0] > known[1])
    doubtful, chance = (("7", 3 / 8), ("8", 5 / 8))[seat]
    if known[seat] == LE_HER.rank_numbers[doubtful]:
        return chance
    return float(known[seat] < LE_HER.rank_numbers[doubtful])


def test_nothing_is_better_than_the_published_equilibrium_of_le_her() -> None:
    table = both(LE_HER, [1, 1])
    table.play({key: 1 - le_hers_exchange(key) for key in table.states})
    found = table.sweeper.sweep()
    assert found.gains == pytest.approx(0, abs=1e-12)
    wins = Fraction(11327, 22100)
    assert found.values == pytest.approx([float(wins - 1), float(-wins)], abs=1e-12)


def test_le_her_is_solved_to_the_published_value() -> None:
    solved = solve_deal(LE_HER, 2)
    wins = Fraction(11327, 22100)
    assert solved.nash_conv < 1e-6
    assert solved.values == pytest.approx([float(wins - 1), float(-wins)], abs=1e-6)
