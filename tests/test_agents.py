"""The scripted agents: what each of them does, that all keep to the rules, and that counting is worth it."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnav_agents import counting, opponents
from gnav_agents.agent import (
    Agent,
    Policy,
    certain,
    checked_actions,
    dealer_slot,
    is_playing,
    known_rank,
    known_ranks,
    legal,
    own_ranks,
    settled_and_behind,
)
from gnav_agents.registry import make_agent
from gnav_agents.solve.situations import SITUATION, situations
from gnav_env import EXCHANGE, STAND, VARIANTS, GnavError, Rules, Table, Tables, get_rules
from gnav_env.observation import num_features, observe, piece, write_mask

AGENTS = ("uniform", "stand", "exchange", "threshold:{middle}", "tips", "counting")
SEATS = (2, 3, 6, 20)
SEATINGS = [
    (name, num_seats)
    for name, rules in VARIANTS.items()
    for num_seats in SEATS
    if rules.min_players <= num_seats <= rules.seat_limit
]


@pytest.fixture
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`counting` learns from few deals, and what it has learned is forgotten."""
    monkeypatch.setattr(counting, "_NUM_SAMPLES", 2000)
    monkeypatch.setattr(opponents, "_NUM_LEVEL_SAMPLES", 1000)
    monkeypatch.setattr(counting, "_CHUNK", 1000)
    for cached in (counting.reply_table, opponents.opponent_level):
        cached.cache_clear()
    yield
    for cached in (counting.reply_table, opponents.opponent_level):
        cached.cache_clear()


def make(name: str, rules: Rules, num_seats: int) -> Any:
    return make_agent(name.format(middle=rules.ranks[len(rules.ranks) // 3]), rules, num_seats)


def play(agent: Agent, tables: Tables, num_steps: int, seed: int = 0) -> list[list[int]]:
    """What the agent chose in so many steps, in all seats."""
    luck = np.random.default_rng(seed)
    chosen: list[list[int]] = []
    for _ in range(num_steps):
        answer = agent.act(tables.observation, tables.action_mask, luck)
        actions = checked_actions("it", answer, tables.action_mask)
        tables.step(actions)
        chosen.append(actions.tolist())
    return chosen


def view(deck: Sequence[str], actions: Sequence[int], rules: str = "pagat") -> tuple[NDArray[Any], NDArray[Any]]:
    """What the seat to act sees after `actions`, [1, F] and [1, A], in a deal that the last seat deals."""
    num_seats = len(deck)
    table = Table(rules, num_seats, first_dealer=num_seats - 1)
    table.deal(deck)
    for action in actions:
        table.act(action)
    assert table.to_act is not None
    observation, mask = np.zeros((1, num_features(num_seats)), np.float32), np.zeros((1, 2), np.int8)
    observe(table.record, table.rules.compiled[0], table.to_act, observation[0])
    write_mask(table.record, table.rules.compiled[0], table.to_act, mask[0])
    return observation, mask


def choice(agent: Agent, deck: Sequence[str], actions: Sequence[int] = (), rules: str = "pagat") -> int:
    """What `agent` chooses after `actions` in a deal of `deck`."""
    return int(agent.act(*view(deck, actions, rules), np.random.default_rng(0))[0])


def share_of_wins(agent: Agent, others: Agent, num_matches: int, seed: int) -> float:
    """Wins of three seats with `agent` against three with `others`, 1 is fair; both play the same cards."""
    wins = 0.0
    for first in (0, 3):
        tables = Tables("pagat", 6, num_matches, seed=seed, restart=False)
        luck = np.random.default_rng(seed)
        place = np.zeros((num_matches, 6), np.int64)
        while (tables.seat >= 0).any():
            actions = np.zeros(num_matches, np.int64)
            mine = (tables.seat >= first) & (tables.seat < first + 3)
            for player, rows in ((agent, mine), (others, (tables.seat >= 0) & ~mine)):
                if rows.any():
                    actions[rows] = player.act(tables.observation[rows], tables.action_mask[rows], luck)
            tables.step(actions)
            ended = tables.ended_match | tables.reached_limit
            place[ended] = tables.place[ended]
        is_first = place == 1
        wins += (is_first[:, first : first + 3].sum(axis=1) / np.maximum(1, is_first.sum(axis=1))).sum()
    return wins / num_matches


@pytest.mark.usefixtures("_few_samples")
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_legal_under_every_ruleset_and_with_any_number_of_seats(name: str) -> None:
    for ruleset, num_seats in SEATINGS:
        rules = get_rules(ruleset)
        tables = Tables(rules, num_seats, 32, seed=1, episode="deal")
        play(make(name, rules, num_seats), tables, 3 * num_seats)


@pytest.mark.usefixtures("_few_samples")
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_legal_in_whole_matches_with_their_eliminations(name: str) -> None:
    for ruleset, num_seats in (("pagat", 6), ("forced", 3), ("hypp", 18)):
        rules = get_rules(ruleset)
        play(make(name, rules, num_seats), Tables(rules, num_seats, 32, seed=1), 25 * num_seats)


@pytest.mark.usefixtures("_few_samples")
@pytest.mark.parametrize("name", AGENTS)
def test_the_same_seed_brings_the_same_actions(name: str) -> None:
    rules = get_rules("pagat")
    first, second = (play(make(name, rules, 6), Tables(rules, 6, 32, seed=3), 60, seed=4) for _ in range(2))
    assert first == second


@pytest.mark.usefixtures("_few_samples")
@pytest.mark.parametrize("name", AGENTS)
def test_probabilities_are_of_legal_actions_and_sum_to_one(name: str) -> None:
    rules = get_rules("forced")
    agent = make(name, rules, 6)
    assert isinstance(agent, Policy)
    tables = Tables(rules, 6, 200, seed=5)
    probabilities = agent.probabilities(tables.observation, tables.action_mask)
    assert probabilities.shape == (200, 2)
    assert (probabilities[tables.action_mask == 0] == 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1)


@pytest.mark.pure
def test_uniform_takes_each_legal_action_as_often() -> None:
    mask = np.array([[1, 1], [1, 0], [0, 1]], np.int8)
    probabilities = make_agent("uniform").probabilities(np.zeros((3, num_features(6)), np.float32), mask)  # type: ignore[attr-defined]
    assert probabilities.tolist() == [[0.5, 0.5], [1, 0], [0, 1]]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("rank", "lowest_kept", "highest_given"),
    [("VII", "7", "6"), ("7", "7", "6"), ("house", "house", "12"), ("Pot", "pot", "owl"), ("i", "1", "0")],
)
def test_a_threshold_keeps_its_rank_and_gives_the_next_lower_away(
    rank: str, lowest_kept: str, highest_given: str
) -> None:
    agent = make_agent(f"threshold:{rank}")
    assert choice(agent, [lowest_kept, "9", "4"]) == STAND
    assert choice(agent, [highest_given, "9", "4"]) == EXCHANGE


@pytest.mark.pure
def test_stand_and_exchange_do_so_with_any_card() -> None:
    for rank in get_rules("pagat").ranks:
        deck = [rank, "5", "8"]
        assert choice(make_agent("stand"), deck) == STAND
        assert choice(make_agent("exchange"), deck) == EXCHANGE


@pytest.mark.pure
def test_a_ruleset_that_forbids_standing_is_kept_to() -> None:
    assert choice(make_agent("stand", "forced"), ["4", "5", "8"], rules="forced") == EXCHANGE


@pytest.mark.pure
@pytest.mark.parametrize("num_seats", [2, 6])
def test_tips_keep_matadors_and_nine_to_twelve_and_give_three_and_lower_away(num_seats: int) -> None:
    agent = make_agent("tips")
    others = ["5", "8", "5", "8", "6"][: num_seats - 1]
    for rank in ("cuckoo", "dragon", "cat", "horse", "house", "12", "11", "10", "9"):
        assert choice(agent, [rank, *others]) == STAND, rank
    for rank in ("3", "2", "1", "0", "pot", "owl", "fool"):
        assert choice(agent, [rank, *others]) == EXCHANGE, rank


@pytest.mark.pure
def test_tips_bands_go_by_strength_in_other_packs() -> None:
    agent = make_agent("tips", "joker_cuckoo")
    for rank, action in (("10", STAND), ("9", STAND), ("8", STAND), ("4", EXCHANGE), ("A", EXCHANGE)):
        assert choice(agent, [rank, "6", "7"], rules="joker_cuckoo") == action, rank


@pytest.mark.pure
def test_tips_are_the_more_careful_the_more_seats_are_behind() -> None:
    agent = make_agent("tips")
    assert choice(agent, ["7", "8", "7", "8", "9", "9"]) == STAND
    assert choice(agent, ["8", "7"], rules="pagat", actions=[STAND]) == EXCHANGE


@pytest.mark.pure
def test_tips_never_ask_a_seat_that_is_known_to_hold_a_lower_card() -> None:
    assert choice(make_agent("tips"), ["0", "fool", "8"]) == STAND


@pytest.mark.pure
def test_tips_keep_any_card_when_a_lower_one_is_known_to_be_settled() -> None:
    # seat 0 asks seat 1, which then holds the 2 and knows that seat 0 has the 1
    assert choice(make_agent("tips"), ["2", "1", "9", "9"], [EXCHANGE]) == STAND
    assert choice(make_agent("tips"), ["1", "2", "9", "9"], [EXCHANGE]) == EXCHANGE


@pytest.mark.pure
def test_tips_keep_any_card_when_two_fools_elsewhere_will_lose_alone() -> None:
    assert choice(make_agent("tips"), ["0", "5", "fool", "fool"]) == STAND
    assert choice(make_agent("tips"), ["0", "5", "8", "fool"]) == EXCHANGE


def test_counting_keeps_a_card_when_a_lower_one_is_known_to_be_settled() -> None:
    agent = make_agent("counting", num_seats=4)
    assert choice(agent, ["2", "1", "9", "9"], [EXCHANGE]) == STAND
    assert choice(agent, ["1", "2", "9", "9"], [EXCHANGE]) == EXCHANGE


@pytest.mark.pure
@pytest.mark.parametrize(
    ("deck", "actions", "own", "others"),
    [  # seats behind, plain card known, special known, cards that went nowhere, settled seats that stood
        (["2", "1", "9", "9"], [], "2", (3, 0, 0, 0, 0)),
        (["2", "1", "9", "9"], [EXCHANGE], "2", (2, 1, 0, 0, 0)),
        (["1", "1", "9", "9"], [EXCHANGE], "1", (2, 4, 0, 0, 0)),
        (["2", "fool", "9", "9"], [EXCHANGE], "2", (2, 0, 1, 0, 0)),
        (["2", "9", "5", "fool"], [STAND], "9", (2, 0, 3, 0, 1)),
        (["8", "fool", "9", "9"], [], "8", (3, 0, 2, 0, 0)),
        (["9", "9", "fool", "fool"], [], "9", (3, 0, 4, 0, 0)),
        (["2", "house", "9", "9"], [EXCHANGE, STAND], "9", (0, 0, 0, 0, 1)),
        (["2", "dragon", "9", "9"], [EXCHANGE, STAND], "9", (0, 0, 0, 1, 1)),
        (["2", "cat", "9", "9"], [EXCHANGE, STAND], "9", (0, 0, 0, 2, 1)),
    ],
)
def test_a_situation_is_what_the_seat_sees(
    deck: list[str], actions: list[int], own: str, others: tuple[int, ...]
) -> None:
    rules = get_rules("pagat")
    number = situations(view(deck, actions)[0], rules)
    assert np.unravel_index(number[0], SITUATION) == (rules.rank_numbers[own], *others)


def test_counting_makes_the_same_table_again() -> None:
    rules = get_rules("pagat")
    assert np.array_equal(counting.reply_table(rules, 3), counting.reply_table.__wrapped__(rules, 3))


def test_counting_stands_with_a_card_for_which_nobody_would_want_another() -> None:
    agent = make_agent("counting")
    for rank in ("cuckoo", "horse", "12"):
        assert choice(agent, [rank, "5", "8", "5", "8", "6"]) == STAND
    for rank in ("fool", "owl", "0"):
        assert choice(agent, [rank, "5", "8", "5", "8", "6"]) == EXCHANGE


@pytest.mark.parametrize("rank", ["III", "IV", "V", "VI", "VII"])
def test_counting_outlives_threshold_players(rank: str) -> None:
    # measured over 16000 matches: 1.11, 1.09, 1.11, 1.13, 1.17, each give or take 0.01
    assert share_of_wins(make_agent("counting"), make_agent(f"threshold:{rank}"), 1000, seed=7) > 1.03


def test_counting_outlives_the_tips() -> None:
    # measured over 16000 matches: 1.04, give or take 0.01
    assert share_of_wins(make_agent("counting"), make_agent("tips"), 3000, seed=8) > 1.01


@pytest.mark.pure
@pytest.mark.parametrize(("ruleset", "num_seats"), [("pagat", 6), ("letters", 3), ("hypp", 8)])
def test_helpers_for_all_rows_and_kernels_for_one_view_read_the_same(ruleset: str, num_seats: int) -> None:
    rules = get_rules(ruleset)
    num_ranks = len(rules.ranks)
    tables = Tables(rules, num_seats, 16, seed=6)
    luck = np.random.default_rng(6)
    for _ in range(3 * num_seats):
        seen = tables.observation
        settled, behind = settled_and_behind(seen)
        slots = np.arange(1, num_seats)
        for b, row in enumerate(seen):
            playing = np.array([is_playing(row, slot) for slot in range(1, num_seats)])
            dealer = dealer_slot(row, num_seats)
            assert (settled[b, 1:] == playing & (slots > dealer)).all()
            assert (behind[b, 1:] == playing & (slots <= dealer)).all()
            known = [known_rank(row, slot, num_ranks) for slot in range(num_seats)]
            assert known_ranks(seen, num_ranks)[b].tolist() == known
        assert (own_ranks(seen) == piece(seen, "own_card").argmax(axis=1)).all()
        tables.step(legal(luck.integers(2, size=16), tables.action_mask))


@pytest.mark.pure
def test_what_is_certain_is_the_preferred_action_or_the_only_legal_one() -> None:
    mask = np.array([[1, 1], [1, 1], [1, 0], [0, 1]], np.int8)
    preferred = np.array([False, True, True, False])
    assert certain(preferred, mask).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert legal(preferred, mask).tolist() == [0, 1, 0, 1]


@pytest.mark.pure
@pytest.mark.parametrize("preferred", [[0, 1, 2], [0, -1, 0], [0, 1]])
def test_what_is_certain_must_be_an_action_in_each_row(preferred: list[int]) -> None:
    with pytest.raises(GnavError, match="preferred must be 3 actions, one a row"):
        certain(np.array(preferred), np.ones((3, 2), np.int8))


@pytest.mark.parametrize("name", ["threshold:VII", "tips", "counting"])
def test_an_observation_that_no_table_has_is_refused(name: str) -> None:
    agent = make_agent(name)
    with pytest.raises(GnavError, match="features"):
        agent.act(np.zeros((3, 7), np.float32), np.ones((3, 2), np.int8), np.random.default_rng(0))


def test_the_door_lets_legal_actions_through_as_int64() -> None:
    mask = np.array([[1, 1], [0, 1]], np.int8)
    for actions in ([0, 1], np.array([0, 1], np.int8), np.array([False, True])):
        checked = checked_actions("fox", actions, mask)
        assert checked.dtype == np.int64
        assert checked.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([1], r"agent fox: act must return an action for each row, shape \[2\], not \[1\]"),
        ([0.0, 1.0], "agent fox: actions must be whole numbers, not float64"),
        ([2, 1], r"agent fox: an action is 0 \(STAND\) or 1 \(EXCHANGE\), not 2"),
        ([-1, 1], r"agent fox: an action is 0 \(STAND\) or 1 \(EXCHANGE\), not -1"),
        ([0, 0], "agent fox: STAND is illegal in row 1"),
    ],
)
def test_the_door_names_the_agent_that_answers_wrongly(actions: list[Any], message: str) -> None:
    with pytest.raises(GnavError, match=message):
        checked_actions("fox", actions, np.array([[1, 1], [0, 1]], np.int8))
