"""`rollout`: deals rebuilt from views are the true ones, hidden cards are drawn as Bayes has it, and it plays well."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnav_agents.agent import Agent, checked_actions
from gnav_agents.belief import BELIEF, UNSURE, draw_cards, read_view
from gnav_agents.opponents import opponent_level
from gnav_agents.rebuilding import rank_kinds
from gnav_agents.rollout import Rollout, rollout
from gnav_agents.threshold import Threshold
from gnav_agents.uniform import Uniform
from gnav_env import EXCHANGE, STAND, VARIANTS, GnavError, Rules, Table, Tables, get_rules
from gnav_env._jit import kernel
from gnav_env.chance import random_key
from gnav_env.effects import Effect, Special
from gnav_env.engine import act, legal_action
from gnav_env.observation import num_features, piece
from gnav_env.state import TABLE, TURNS, hand_rank
from matches import seats_for, with_rest

TOLD = ("pagat", "double", "joker_fool", "kille", "ranter", "screw_stop", "slabberjan", "vogelspiel")
"""Rulesets in which a view tells the public course of the deal whatever the others do."""
TOLD_BY_SENSIBLE_PLAY = ("letters", "tokens", "short", "forced", "hypp", "joker_cuckoo", "campli", "lu_stu", "le_her")
"""... in which it does as long as nobody offers a card that answers."""
LEVEL = 6
NUM_TABLES = 8


@kernel
def _read(
    view: Any, num_seats: int, rules: Any, kinds: Any, level: int, tables: Any, beliefs: Any, scratch: Any
) -> bool:
    return read_view(view, num_seats, rules[0], kinds, level, tables, beliefs[0], scratch)


@kernel
def _draw_all(rules: Any, num_samples: int, tables: Any, beliefs: Any, chances: Any) -> None:
    """Write the chance of each rank at each position into chances [P, R], from so many samples."""
    total = 0.0
    for sample in range(num_samples):
        counts = draw_cards(beliefs[0], rules[0], random_key(1, sample), tables[0].deck)
        total += counts
        for position in range(chances.shape[0]):
            chances[position, tables[0].deck[position]] += counts
    for position in range(chances.shape[0]):
        for rank in range(chances.shape[1]):
            chances[position, rank] /= total


@kernel
def _play_thresholds(tables: Any, rules: Any, action: int, level: int) -> None:
    """The seat to act has chosen `action`, and the others have played a threshold."""
    t, r = tables[0], rules[0]
    act(t, r, action)
    for _ in range(np.int64(t.num_seats)):
        if t.phase == TURNS:
            act(t, r, legal_action(t, r, np.int64(hand_rank(t, np.int64(t.to_act)) < level)))  # type: ignore[arg-type]


class Read:
    """What `read_view` makes of a view: the rebuilt record, seat 0 the view's own, and the belief."""

    def __init__(self, rules: Rules, num_seats: int, view: NDArray[Any], level: int = LEVEL) -> None:
        self.rules = rules
        self.tables, self.beliefs = np.zeros(2, TABLE), np.zeros(1, BELIEF)
        scratch = np.empty(num_features(num_seats), np.float32)
        kinds = rank_kinds(rules)
        _read(view, num_seats, rules.compiled, kinds, level, self.tables, self.beliefs, scratch)
        self.table = self.tables[:1]
        self.is_known = self.beliefs["is_known"][0]
        self.weight = self.beliefs["weight"][0]

    def chances(self, num_positions: int, num_samples: int = 20_000) -> NDArray[np.float64]:
        """The chance of each rank at each position, [P, R], by samples."""
        chances = np.zeros((num_positions, len(self.rules.ranks)))
        _draw_all(self.rules.compiled, num_samples, self.tables, self.beliefs, chances)
        return chances


def decisions(rules: Rules, num_seats: int, agent: Agent, num_steps: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Tables [1] at decisions of matches among copies of `agent`, and what the seat to act sees."""
    tables = Tables(rules, num_seats, NUM_TABLES, seed=2)
    luck = np.random.default_rng(3)
    for _ in range(num_steps):
        for b in range(NUM_TABLES):
            yield tables.records[b : b + 1], tables.observation[b]
        tables.step(agent.act(tables.observation, tables.action_mask, luck))


def by_seat(table: Any, me: int, *names: str) -> dict[str, list[int]]:
    """Fields of the seats of `table` [1], `me` first and then clockwise; so are the positions dealt to seats."""
    num_seats = int(table["num_seats"][0])
    fields: dict[str, list[int]] = {}
    for name in names:
        values = np.roll(table["seats"][name][0, :num_seats], -me)
        if name in ("hand", "asked", "gave", "got"):
            values = np.where((values >= 0) & (values < num_seats), (values - me) % num_seats, values)
        fields[name] = values.tolist()
    return fields


def state(table: Any, me: int) -> dict[str, Any]:
    """All that matters for playing on, from the place of seat `me`."""
    num_seats = int(table["num_seats"][0])
    names = ("hand", "turn", "asked", "gave", "got", "answers", "revealed", "knocked", "lives", "sits_out")
    fields: dict[str, Any] = by_seat(table, me, *names)
    places = by_seat(table, me, "place")["place"]
    fields["fallen"] = [hand >= 0 and place > 0 for hand, place in zip(fields["hand"], places, strict=True)]
    for name in ("dealer", "to_act"):
        fields[name] = (int(table[name][0]) - me) % num_seats
    for name in ("phase", "drawn", "stopped", "stock_end"):
        fields[name] = int(table[name][0])
    fields["is_undone"] = table["undone"][0] > 0
    return fields


def end(rules: Rules, table: Any, me: int, action: int) -> dict[str, Any]:
    """What the deal comes to if the seat to act chooses `action` and the others play a threshold."""
    played = table.copy()
    before = by_seat(played, me, "lost", "gained")
    _play_thresholds(played, rules.compiled, action, LEVEL)
    after = by_seat(played, me, "lost", "gained")
    paid: dict[str, Any] = {name: np.subtract(after[name], before[name]).tolist() for name in before}
    fields = by_seat(played, me, "hand", "turn", "lives", "loser", "bonus", "sits_out")
    return {**fields, **paid, "phase": int(played["phase"][0])}


def differences(rules: Rules, table: Any, view: NDArray[Any]) -> list[str]:
    """In what the deal rebuilt from `view` and the true one differ, now and at the end after each action."""
    num_seats, me = int(table["num_seats"][0]), int(table["to_act"][0])
    read = Read(rules, num_seats, view)
    true, rebuilt = state(table, me), state(read.table, 0)
    found = [key for key in true if true[key] != rebuilt[key]]
    if found:
        return found
    deck = table["deck"][0].copy()
    deck[:num_seats] = np.roll(deck[:num_seats], -me)
    for position in range(num_seats + true["drawn"]):
        rank = deck[position]
        if read.is_known[position]:
            if read.table["deck"][0, position] != rank:
                found.append("a known card")
        elif read.weight[position, rules.compiled["dealt_as"][0, rank]] == 0:
            is_in_deal = position >= num_seats or true["hand"][position] >= 0
            found += ["a card thought impossible"] * is_in_deal
    read.table["deck"][0] = deck
    for action in (STAND, EXCHANGE):
        is_legal = Table.from_record(rules, table[0]).legal_actions()
        if action in is_legal and end(rules, read.table, 0, action) != end(rules, table, me, action):
            found.append(f"the end after {action}")
    return found


@pytest.mark.parametrize("num_seats", [2, 3, 6, 9])
@pytest.mark.parametrize("name", TOLD)
def test_a_deal_rebuilt_from_a_view_plays_on_as_the_true_one(name: str, num_seats: int) -> None:
    rules = get_rules(name)
    num_seats = seats_for(rules, num_seats)
    for table, view in decisions(rules, num_seats, Uniform(), 25):
        assert not differences(rules, table, view)


@pytest.mark.parametrize("num_seats", [3, 6, 9])
@pytest.mark.parametrize("name", TOLD_BY_SENSIBLE_PLAY)
def test_it_does_so_where_answering_costs_no_turn_if_nobody_offers_a_card_that_answers(
    name: str, num_seats: int
) -> None:
    rules = get_rules(name)
    num_seats = seats_for(rules, num_seats)
    for table, view in decisions(rules, num_seats, Threshold(len(rules.ranks) // 3), 25):
        assert not differences(rules, table, view)


@pytest.mark.parametrize("name", ["letters", "silent", "joker_cuckoo", "lu_stu"])
def test_what_a_view_does_not_tell_is_seldom(name: str) -> None:
    rules = get_rules(name)
    wrong = [bool(differences(rules, table, view)) for table, view in decisions(rules, 6, Uniform(), 50)]
    assert np.mean(wrong) < 0.015


def test_a_rebuilt_deal_shows_its_seat_the_same_view() -> None:
    rules = get_rules("joker_cuckoo")
    names = ("own_card", "own_card_history", "undone", "stock_turned", "known", "action_history", "answered", "lives")
    same: list[bool] = []
    for _, view in decisions(rules, 6, Uniform(), 60):
        seen = Table.from_record(rules, Read(rules, 6, view).table[0]).observe(0)[0]
        same.append(all((piece(seen, name) == piece(view, name)).all() for name in names))
    assert np.mean(same) > 0.995


TINY = Rules(
    name="tiny",
    deck={"9": 1, "8": 1, "7": 1, "6": 2, "5": 2, "4": 1, "3": 2, "2": 1},
    effects={"9": Effect(refuse=True, pay=1, undo="all"), "8": Effect(refuse=True), "7": Effect(redirect=True)},
    specials=(Special(rank="2", count=1),),
    knock="dealt",
)
TINY_LEVEL = 3
DEALS = [
    (["3", "6", "5", "4"], [EXCHANGE]),
    (["3", "6", "5", "4"], [STAND, EXCHANGE]),
    (["5", "4", "6", "3"], [EXCHANGE, EXCHANGE, STAND]),
    (["4", "9", "5", "6"], [EXCHANGE]),
    (["5", "3", "9", "6"], [EXCHANGE, EXCHANGE]),
    (["3", "7", "5", "6"], [EXCHANGE, STAND]),
    (["6", "8", "2", "3"], [EXCHANGE, EXCHANGE]),
]


def played(deck: Sequence[str], actions: Sequence[int]) -> tuple[Table, float] | None:
    """The deal after `actions`, and how likely the players are to choose them; None if they cannot."""
    table = Table(TINY, 4, first_dealer=3)
    table.deal(with_rest(TINY, deck))
    chance = 1.0
    for action in actions:
        if table.to_act is None or action not in table.legal_actions():
            return None
        rank = TINY.rank_numbers[str(table.hands[table.to_act])]
        wants = UNSURE + (1 - 2 * UNSURE) * np.mean([rank < TINY_LEVEL + shift for shift in (-1, 0, 1)])
        chance *= float(wants) if action == EXCHANGE else 1 - float(wants)
        table.act(action)
    return table, chance


@pytest.mark.parametrize(("deck", "actions"), DEALS)
def test_hidden_cards_are_drawn_as_bayes_has_it(deck: list[str], actions: list[int]) -> None:
    truth = played(deck, actions)
    assert truth is not None
    me = truth[0].to_act
    assert me is not None
    view = truth[0].observe(me)[0]
    exact = np.zeros((4, len(TINY.ranks)))
    for other in product(TINY.ranks, repeat=4):
        ways = 1
        for i, rank in enumerate(other):
            ways *= TINY.deck[rank] - other[:i].count(rank)
        result = played(other, actions) if ways > 0 else None
        if result and result[0].to_act == me and (result[0].observe(me)[0] == view).all():
            for position, rank in enumerate(other):
                exact[position, TINY.rank_numbers[rank]] += ways * result[1]
    exact /= exact.sum(axis=1, keepdims=True)

    drawn = np.roll(Read(TINY, 4, view, TINY_LEVEL).chances(4), me, axis=0)
    assert np.abs(drawn - exact).max() < 0.015


def test_drawn_cards_and_known_ones_are_those_of_the_deck() -> None:
    rules = get_rules("hypp")
    for _, view in decisions(rules, 9, Threshold(LEVEL), 20):
        read = Read(rules, 9, view)
        read.chances(9, num_samples=1)
        hands = read.table["seats"]["hand"][0, :9]
        cards = [rules.ranks[rank] for rank in read.table["deck"][0, hands[hands >= 0]]]
        assert len(set(cards)) == len(cards), "one of each rank"


def test_who_stood_is_thought_to_hold_a_high_card_and_what_was_given_away_is_known() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(with_rest(table.rules, ["9", "2", "5", "6"]))
    for action in (STAND, EXCHANGE):
        table.act(action)
    chances = Read(table.rules, 4, table.observe(2)[0]).chances(4)
    means = chances @ np.arange(len(table.rules.ranks))
    assert means[2] > 12, "seat 0 stood"
    assert chances[3, table.rules.rank_numbers["2"]] == pytest.approx(1), "seat 1 gave it to me"


def choice(agent: Agent, deck: Sequence[str], actions: Sequence[int] = ()) -> int:
    table = Table("pagat", len(deck), first_dealer=len(deck) - 1)
    table.deal(with_rest(table.rules, deck))
    for action in actions:
        table.act(action)
    assert table.to_act is not None
    view, mask = table.observe(table.to_act)
    return int(agent.act(view[None], mask[None], np.random.default_rng(0))[0])


def test_it_uses_what_it_knows() -> None:
    agent = Rollout(get_rules("pagat"), 400)
    assert choice(agent, ["2", "9", "5", "6"]) == EXCHANGE
    assert choice(agent, ["12", "9", "5", "6"]) == STAND
    assert choice(agent, ["2", "fool", "5", "6"]) == STAND, "the next seat has knocked"
    assert choice(agent, ["3", "1", "7", "8"], [EXCHANGE]) == STAND, "the lower card that I gave away is settled"


def sample_of_decisions(rules: Rules, num_seats: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Views [B, F] and masks [B, A] at decisions in which both actions are legal."""
    tables = Tables(rules, num_seats, 40, seed=4)
    luck, views, masks = np.random.default_rng(1), [], []
    for _ in range(10):
        views.append(tables.observation.copy())
        masks.append(tables.action_mask.copy())
        tables.step(Uniform().act(tables.observation, tables.action_mask, luck))
    return np.concatenate(views), np.concatenate(masks)


def test_a_view_has_one_answer_whatever_else_is_asked_and_in_what_order() -> None:
    rules = get_rules("letters")
    views, masks = sample_of_decisions(rules, 6)
    gains = Rollout(rules, 20).gains(views, masks)
    order = np.random.default_rng(2).permutation(len(views))
    assert (Rollout(rules, 20).gains(views[order], masks[order]) == gains[order]).all()
    agent = Rollout(rules, 20)
    one_by_one = [agent.gains(views[row : row + 1], masks[row : row + 1])[0] for row in range(0, len(views), 7)]
    assert (np.array(one_by_one) == gains[::7]).all()
    assert len(np.unique(gains)) > len(gains) // 2, "luck differs from view to view"


def test_more_deals_bring_answers_nearer_to_each_other() -> None:
    rules = get_rules("pagat")
    views, masks = sample_of_decisions(rules, 6)
    best = Rollout(rules, 2000).gains(views, masks)
    few, many = (np.abs(Rollout(rules, n).gains(views, masks) - best).mean() for n in (10, 250))
    assert many < few / 3


SEATINGS = [
    (name, num_seats)
    for name, rules in VARIANTS.items()
    for num_seats in (2, 3, 6, 20)
    if rules.min_players <= num_seats <= rules.seat_limit
]


def test_it_is_legal_under_every_ruleset_and_with_any_number_of_seats() -> None:
    for name, num_seats in SEATINGS:
        rules = get_rules(name)
        agent, tables, luck = Rollout(rules, 2), Tables(rules, num_seats, 8, seed=1), np.random.default_rng(1)
        for _ in range(2 * num_seats):
            probabilities = agent.probabilities(tables.observation, tables.action_mask)
            assert (probabilities[tables.action_mask == 0] == 0).all()
            assert (probabilities.max(axis=1) == 1).all()
            answer = agent.act(tables.observation, tables.action_mask, luck)
            tables.step(checked_actions("it", answer, tables.action_mask))


def test_a_view_without_a_card_gets_a_legal_answer() -> None:
    views, masks = np.zeros((2, num_features(6)), np.float32), np.array([[1, 1], [0, 1]], np.int8)
    assert Rollout(get_rules("pagat"), 5).probabilities(views, masks).tolist() == [[1, 0], [0, 1]]


def test_the_level_of_the_others_falls_with_the_number_of_seats() -> None:
    levels = [opponent_level(get_rules("pagat"), num_seats) for num_seats in (2, 6, 20)]
    names = [get_rules("pagat").card_name(get_rules("pagat").ranks[level]) for level in levels]
    assert names == ["VI", "III", "Pot"]


@pytest.mark.parametrize("number", ["0", "-1", "many", "", "100001", "1.5"])
def test_a_number_of_deals_that_cannot_be_says_what_would_be_right(number: str) -> None:
    with pytest.raises(GnavError, match=r"1 to 100000"):
        rollout(number, get_rules("pagat"))


def share_of_wins(agent: Agent, others: Agent, num_matches: int) -> float:
    """Wins of three seats with `agent` against three with `others`, both with the same cards; one half is fair."""
    wins = 0.0
    for mine in ([0, 2, 4], [1, 3, 5]):
        tables = Tables("pagat", 6, num_matches, seed=11, restart=False)
        place, luck = np.zeros((num_matches, 6), np.int64), np.random.default_rng(1)
        while (tables.seat >= 0).any():
            actions = np.zeros(num_matches, np.int64)
            is_mine = np.isin(tables.seat, mine)
            for player, rows in ((agent, is_mine), (others, (tables.seat >= 0) & ~is_mine)):
                if rows.any():
                    actions[rows] = player.act(tables.observation[rows], tables.action_mask[rows], luck)
            tables.step(actions)
            ended = tables.ended_match | tables.reached_limit
            place[ended] = tables.place[ended]
        is_first = place == 1
        wins += float((is_first[:, mine].sum(axis=1) / np.maximum(1, is_first.sum(axis=1))).mean()) / 2
    return wins


def test_it_beats_who_plays_anything() -> None:
    assert share_of_wins(Rollout(get_rules("pagat"), 20), Uniform(), 100) > 0.7


@pytest.mark.slow
def test_it_beats_threshold_players() -> None:
    rules = get_rules("pagat")
    four = Threshold(rules.rank_numbers["4"])
    assert share_of_wins(Rollout(rules, 100), four, 800) > 0.52
