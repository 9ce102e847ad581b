"""gnav_env.open_spiel: one deal as a game of OpenSpiel, held against Table, the oracle and the literature."""

import importlib.util
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnav_env import EXCHANGE, STAND, VARIANTS, Effect, GnavError, Rules, Table
from gnav_env._yaml import read_yaml
from gnav_env.reading import rules_to_yaml
from gnav_env.words import Narrator
from matches import house_rules, whole_deck

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import cfr, expected_game_score, exploitability  # noqa: E402
from open_spiel.python.policy import TabularPolicy  # noqa: E402

from gnav_env import open_spiel as game_module  # noqa: E402

DEALS: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "data" / "worked_deals.yaml")["deals"]
PAGAT = VARIANTS["pagat"]


def small(*deck: str, **changes: Any) -> Rules:
    """Pagat's rules with few cards, high to low."""
    effects = {rank: effect for rank, effect in PAGAT.effects.items() if rank in deck}
    specials = tuple(special for special in PAGAT.specials if special.rank in deck)
    options = {"name": "small", "deck": Counter(deck), "effects": effects, "specials": specials}
    return PAGAT.replace(**{**options, **changes})


ONE_OF_EACH = small("cuckoo", "dragon", "cat", "house", "3", "fool")
TWO_FOOLS = small("cuckoo", "house", "house", "2", "fool", "fool")
SILENT = small("dragon", "cat", "house", "3", "2", "1", speech="silent", knock="none", challenged_matador_turn="play")
SWEEPING = small(
    "gnaf",
    "salta",
    "5",
    "4",
    "3",
    "inn",
    effects={
        "gnaf": Effect(refuse=True, pay=1, undo="sweep"),
        "salta": Effect(redirect=True),
        "inn": Effect(bargain=True),
    },
    challenged_matador_turn="play",
    speech="silent",
    direction="anticlockwise",
)
KILLE = small(
    "harlekin",
    "husu",
    "kuku",
    "5",
    "4",
    "3",
    "gammal",
    deck={"harlekin": 1, "husu": 1, "kuku": 1, "5": 1, "4": 1, "3": 1, "gammal": 0},
    when_exchanged={"harlekin": "gammal"},
    effects={"husu": Effect(refuse=True, pay=1, payer="origin", undo="card"), "kuku": Effect(refuse=True, stop=True)},
    fine_to="holder",
    lives=1,
)
HOUSES = {"one of each": ONE_OF_EACH, "two fools": TWO_FOOLS, "silent": SILENT, "sweeping": SWEEPING, "kille": KILLE}


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Loads the game for rules and a number of players, through OpenSpiel."""

    def load_game(rules: Rules | str, num_players: int) -> Any:
        return load_from(tmp_path, rules, num_players)

    return load_game


def load_from(folder: Path, rules: Rules | str, num_players: int) -> Any:
    """The game for rules and a number of players; `folder` takes the file of rules that have no name."""
    if isinstance(rules, Rules):
        path = folder / f"{rules.hash}.yaml"
        path.write_text(rules_to_yaml(rules), encoding="utf-8")
        rules = str(path)
    return pyspiel.load_game("python_gnav_deal", {"rules": rules, "players": num_players})


Way = tuple[Any, ...]
"""States from the one in which all cards are out, each the next one's parent."""


@pytest.fixture(scope="module", params=HOUSES)
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Way]:
    """The ways to all states of a small game for three, once all cards are out and before the deal ends."""

    def walk(state: Any, before: Way) -> Iterator[Way]:
        path = (*before, state) if state.is_dealt else ()
        if path and not state.is_terminal():
            yield path
        for action in state.legal_actions():
            yield from walk(state.child(action), path)

    game = load_from(tmp_path_factory.mktemp("house"), HOUSES[request.param], 3)
    return list(walk(game.new_initial_state(), ()))


def where_one_acts(ways: list[Way]) -> Iterator[Way]:
    """The ways to states in which a player acts, chance left out."""
    for path in ways:
        if path[-1].current_player() >= 0:
            yield tuple(state for state in path if state.current_player() >= 0)


def deal_out(state: Any, ranks: list[str]) -> None:
    """Chance gives the cards `ranks`."""
    for rank in ranks:
        state.apply_action(state.get_game().rules.rank_numbers[rank])


def by_player(rules: Rules, values: list[Any]) -> list[Any]:
    """A list by seat in the order of players, and the other way round."""
    return values if rules.direction == "clockwise" else values[::-1]


def net(table: Table) -> list[int]:
    """Lives that each seat has won and lost in the deal."""
    gained, bonus = table.by_seat("gained"), table.by_seat("bonus")
    return [got + won - lost for got, won, lost in zip(gained, bonus, table.lost, strict=True)]


def table_for(rules: Rules, num_players: int) -> Table:
    """A table whose dealer is the last player."""
    return Table(rules, num_players, first_dealer=num_players - 1 if rules.direction == "clockwise" else 0)


# ------------------------------------------------------------------------------------------- OpenSpiel's own test


@pytest.mark.parametrize(
    ("rules", "num_players"),
    [
        ("pagat", 2),
        ("pagat", 6),
        ("tokens", 4),
        ("forced", 3),
        ("silent", 5),
        ("double", 9),
        ("kille", 4),
        ("le_her", 2),
        ("campli", 3),
        ("lu_stu", 5),
        ("vogelspiel", 4),
    ],
)
def test_open_spiels_simulation_test_passes(rules: str, num_players: int) -> None:
    game = pyspiel.load_game(f"python_gnav_deal(rules={rules},players={num_players})")
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("name", HOUSES)
def test_open_spiels_simulation_test_passes_for_a_house(name: str, load: Any) -> None:
    pyspiel.random_sim_test(load(HOUSES[name], 3), num_sims=4, serialize=True, verbose=False)


def test_without_parameters_it_is_pagat_with_three_players() -> None:
    game = pyspiel.load_game("python_gnav_deal")
    assert (game.rules, game.num_players()) == (PAGAT, 3)


# --------------------------------------------------------------------------------------------------- play and chance


@pytest.mark.parametrize(
    "deal", [deal for deal in DEALS if "lives" not in deal], ids=lambda deal: f"{deal['ruleset']}: {deal['title']}"
)
def test_the_worked_deals_come_out_as_worked(deal: dict[str, Any]) -> None:
    num_players = len(deal["hands"])
    game = pyspiel.load_game("python_gnav_deal", {"rules": deal["ruleset"], "players": num_players})
    state = game.new_initial_state()
    deal_out(state, deal["hands"])
    stock = list(deal["stock"])
    for player, letter in enumerate(deal["play"]):
        if letter == "-":
            continue
        assert state.current_player() == player
        state.apply_action({"X": EXCHANGE, "S": STAND}[letter])
        while state.is_chance_node():
            deal_out(state, [stock.pop(0)])
    assert state.is_terminal()
    gained = deal.get("gained", [0] * num_players)
    assert state.returns() == [won - lost for won, lost in zip(gained, deal["lost"], strict=True)]


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_house_plays_as_at_a_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    rules = data.draw(house_rules()).replace(first_dealer="random")
    num_players = data.draw(st.integers(2, min(6, rules.seat_limit)))
    deck = data.draw(st.permutations(whole_deck(rules)))
    game = load_from(tmp_path_factory.getbasetemp(), rules, num_players)
    state, table = game.new_initial_state(), table_for(rules, num_players)
    deal_out(state, deck[:num_players])
    table.deal([*by_player(rules, deck[:num_players]), *deck[num_players:]])
    num_out = num_players
    while not state.is_terminal():
        player = state.current_player()
        assert by_player(rules, list(range(num_players)))[player] == table.to_act
        assert state.legal_actions() == table.legal_actions()
        for other in range(num_players):
            seat = by_player(rules, list(range(num_players)))[other]
            assert (np.array(state.observation_tensor(other), np.float32) == table.observe(seat)[0]).all()
        action = data.draw(st.sampled_from(state.legal_actions()))
        state.apply_action(action)
        table.act(action)
        while state.is_chance_node():
            assert state.asking == player
            deal_out(state, [deck[num_out]])
            num_out += 1
    assert table.to_act is None
    assert num_out == num_players + table.record.drawn <= game.num_positions, "cards are turned only where needed"
    assert state.returns() == by_player(rules, net(table))
    assert all(game.min_utility() <= won <= game.max_utility() for won in state.returns())
    assert state.table.hands == table.hands
    assert all(map(list.__eq__, map(sorted, state.table.zones()), map(sorted, table.zones())))


def test_probabilities_of_the_deals_are_those_of_a_shuffle(load: Any) -> None:
    game = load(TWO_FOOLS, 3)
    chances: dict[tuple[str, ...], float] = {}

    def walk(state: Any, chance: float, cards: tuple[str, ...]) -> None:
        if state.is_dealt:
            chances[cards] = chance
            return
        outcomes = state.chance_outcomes()
        assert sum(p for _, p in outcomes) == pytest.approx(1)
        assert [rank for rank, _ in outcomes] == state.legal_actions()
        for rank, p in outcomes:
            walk(state.child(rank), chance * p, (*cards, TWO_FOOLS.ranks[rank]))

    walk(game.new_initial_state(), 1.0, ())
    counts = Counter(itertools.permutations(whole_deck(TWO_FOOLS), 3))
    assert chances == pytest.approx({cards: number / 120 for cards, number in counts.items()})


@pytest.mark.parametrize("wish", [STAND, EXCHANGE])
@pytest.mark.parametrize("rules", [TWO_FOOLS, SWEEPING, KILLE], ids=["two fools", "sweeping", "kille"])
def test_returns_of_a_fixed_profile_are_those_of_all_decks_played_at_a_table(
    rules: Rules, wish: int, load: Any
) -> None:
    total = np.zeros(3, int)
    decks = Counter(itertools.permutations(whole_deck(rules)))
    for deck, number in decks.items():
        table = table_for(rules, 3)
        table.deal(deck)
        while table.to_act is not None:
            table.act(wish if wish in table.legal_actions() else 1 - wish)
        total += number * np.array(net(table))

    def expected(state: Any) -> NDArray[np.float64]:
        if state.is_terminal():
            return np.array(state.returns())
        legal = state.legal_actions()
        chances = state.chance_outcomes() if state.is_chance_node() else [(wish if wish in legal else 1 - wish, 1.0)]
        return np.sum([chance * expected(state.child(action)) for action, chance in chances], axis=0)

    at_table = by_player(rules, (total / sum(decks.values())).tolist())
    assert expected(load(rules, 3).new_initial_state()) == pytest.approx(at_table, abs=1e-12)


def test_a_card_of_the_stock_that_sends_on_wants_another() -> None:
    state = pyspiel.load_game("python_gnav_deal(players=2)").new_initial_state()
    deal_out(state, ["2", "horse"])
    state.apply_action(EXCHANGE)
    assert state.is_chance_node()
    assert dict(state.chance_outcomes())[PAGAT.rank_numbers["horse"]] == pytest.approx(1 / 40)
    deal_out(state, ["house"])
    assert state.is_chance_node()
    assert dict(state.chance_outcomes())[PAGAT.rank_numbers["house"]] == pytest.approx(1 / 39)
    deal_out(state, ["9"])
    assert state.is_terminal(), "the horse has answered, so its holder has had his turn"
    assert state.returns() == [-1, 0]


@pytest.mark.parametrize(
    ("rules", "num_players", "low", "high"),
    [("pagat", 4, -3, 0), ("le_her", 2, -1, 0), ("tokens", 4, -4, 12), ("lu_stu", 5, -3, 1)],
)
def test_no_return_is_beyond_the_bounds(rules: str, num_players: int, low: int, high: int) -> None:
    game = pyspiel.load_game("python_gnav_deal", {"rules": rules, "players": num_players})
    assert (game.min_utility(), game.max_utility()) == (low, high)


# ------------------------------------------------------------------------------------------------ what players know


def replayed(state: Any) -> list[Table]:
    """The deal at a table, as dealt and after each turn."""
    rules, num_players = state.get_game().rules, state.num_players()
    history = state.full_history()
    cards = [rules.ranks[item.action] for item in history if item.player == pyspiel.PlayerId.CHANCE]
    table = table_for(rules, num_players)
    table.deal([*by_player(rules, cards[:num_players]), *cards[num_players:]])
    tables = [table.copy()]
    for item in history:
        if item.player >= 0:
            table.act(item.action)
            tables.append(table.copy())
    return tables


def learned(tables: list[Table], player: int) -> str:
    """What `player` has learned by the end of `tables`, told by Table and Narrator, step by step."""
    seat = by_player(tables[0].rules, list(range(tables[0].num_seats)))[player]
    told: list[Any] = [player, tables[0].known(seat), tables[0].knocks]
    for before, after in itertools.pairwise(tables):
        told.append(Narrator(observer=seat).act(before, after))
        told.append([(p, after.deck[p]) for p in np.flatnonzero(after.seen(seat)).tolist()])
        told.append([after.by_seat("hand"), after.lives, int(after.record.drawn)])
    return str(told)


def test_two_states_have_the_same_string_just_when_a_player_cannot_tell_them_apart(ways: list[Way]) -> None:
    strings: dict[str, set[str]] = defaultdict(set)
    knowledge: dict[str, set[str]] = defaultdict(set)
    for path in where_one_acts(ways):
        tables = replayed(path[-1])
        for player in range(3):
            text, facts = path[-1].information_state_string(player), learned(tables, player)
            strings[facts].add(text)
            knowledge[text].add(facts)
    assert [facts for facts, texts in strings.items() if len(texts) > 1] == []
    assert [text for text, facts in knowledge.items() if len(facts) > 1] == []


def test_the_tensor_says_what_the_string_says(ways: list[Way]) -> None:
    observer = ways[0][0].get_game().make_py_observer(pyspiel.IIGObservationType(perfect_recall=True))
    seen: set[tuple[str, bytes]] = set()
    for *_, state in ways:
        for player in range(3):
            observer.set_from(state, player)
            seen.add((observer.string_from(state, player), observer.tensor.tobytes()))
    assert len(seen) == len({text for text, _ in seen}) == len({tensor for _, tensor in seen})
    assert np.array_equal(state.information_state_tensor(2), observer.tensor)
    assert state.information_state_string(2) == observer.string_from(state, 2)


def test_nothing_that_was_known_is_forgotten(ways: list[Way]) -> None:
    before: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for path in where_one_acts(ways):
        for player in range(3):
            texts = [state.information_state_string(player) for state in path]
            before[texts[-1]].add(tuple(texts))
    assert [text for text, pasts in before.items() if len(pasts) > 1] == []


def test_a_player_sees_his_card_and_those_of_his_trades_and_no_other() -> None:
    state = pyspiel.load_game("python_gnav_deal(players=4)").new_initial_state()
    other = state.clone()
    deal_out(state, ["2", "9", "house", "5"])
    deal_out(other, ["2", "9", "house", "fool"])
    assert state.information_state_string(0) == "p0; II p0>p0"
    assert other.information_state_string(0) == "p0; p3 knocks; II p0>p0; Fool p3>p3", "only one rank knocks"
    for rest in (state, other):
        rest.apply_action(EXCHANGE)
        rest.apply_action(EXCHANGE)
    seats = "p0 trades with p1; p1 trades with p3"
    assert state.information_state_string(0) == f"p0; {seats}; II p0>p3; IX p1>p0; House p2>p2"
    assert state.information_state_string(1) == f"p1; {seats}; II p0>p3; IX p1>p0; House p2>p2; V p3>p1"
    assert state.information_state_string(2) == f"p2; {seats}; House p2>p2"
    assert other.information_state_string(2) == f"p2; p3 knocks; {seats}; House p2>p2; Fool p3>p1"
    assert str(state) == f"{seats}; II p0>p3; IX p1>p0; House p2>p2; V p3>p1"
    assert state.observation_string(2) == (
        "p2; p0 ? traded lives 3; p1 ? traded lives 3; p2 House sent on with House lives 3; p3 ? lives 3"
    )


def test_who_is_asked_for_a_card_of_the_stock_is_public_before_it_is_turned() -> None:
    state = pyspiel.load_game("python_gnav_deal(players=2)").new_initial_state()
    deal_out(state, ["2", "9"])
    assert state.information_state_string(0) == "p0; II p0>p0"
    state.apply_action(STAND)
    state.apply_action(EXCHANGE)
    assert state.information_state_string(0) == "p0; p0 stands; p1 asks the stock; II p0>p0"
    assert [state.action_to_string(rank) for rank in state.legal_actions()][:3] == ["Fool", "Owl", "Pot"]
    deal_out(state, ["fool"])
    assert state.is_terminal()
    assert str(state) == "p0 stands; p1 draws from the stock; lives 2 2; II p0>p0; IX p1>aside; Fool s0>p1"


def test_nobody_sees_a_card_before_all_are_out() -> None:
    game = pyspiel.load_game("python_gnav_deal(players=2)")
    state = game.new_initial_state()
    deal_out(state, ["2"])
    assert (str(state), state.information_state_string(0), state.observation_string(0)) == ("II p0", "p0", "p0")
    assert not np.any(state.observation_tensor(0)[:20])
    with pytest.raises(GnavError, match="cards are not out"):
        _ = state.table


def test_an_observer_can_ask_for_everybodys_faces_or_nobodys() -> None:
    game = pyspiel.load_game("python_gnav_deal(players=2)")
    state = game.new_initial_state()
    deal_out(state, ["2", "fool"])

    def seen(**options: Any) -> str:
        return game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True, **options)).string_from(state, 0)

    kinds = pyspiel.PrivateInfoType
    assert seen(private_info=kinds.ALL_PLAYERS) == "p0; p1 knocks; II p0>p0; Fool p1>p1"
    assert seen(private_info=kinds.NONE) == "p0; p1 knocks; Fool p1>p1"
    assert seen(public_info=False) == "p0; II p0>p0; Fool p1>p1"


# -------------------------------------------------------------------------------------------------- OpenSpiel solves


@pytest.mark.parametrize(
    ("rules", "num_players", "rounds"),
    [(ONE_OF_EACH, 2, 6), (small("cuckoo", "cat", "house", "3", "2"), 3, 3)],
    ids=["2 players", "3 players"],
)
def test_open_spiels_cfr_brings_its_nash_conv_down(rules: Rules, num_players: int, rounds: int, load: Any) -> None:
    game = load(rules, num_players)
    solver = cfr.CFRPlusSolver(game)
    at_first = exploitability.nash_conv(game, solver.average_policy(), use_cpp_br=False)
    for _ in range(rounds):
        solver.evaluate_and_update_policy()
    after = exploitability.nash_conv(game, solver.average_policy(), use_cpp_br=False)
    assert 0 <= after < at_first / 3


def le_her_equilibrium(state: Any) -> float:
    """How often the player to act exchanges in the published equilibrium (Bellhouse and Fillion 2015)."""
    player, numbers = state.current_player(), state.get_game().rules.rank_numbers
    known = {seat: numbers[rank] for seat, rank in state.table.known(player).items()}
    if len(known) == 2:  # the dealer has been asked: he draws to what would lose, and a tie wins
        return float(known[0] > known[1])
    doubtful, chance = ((numbers["7"], 3 / 8), (numbers["8"], 5 / 8))[player]
    return chance if known[player] == doubtful else float(known[player] < doubtful)


def test_open_spiel_finds_nothing_better_than_the_published_equilibrium_of_le_her() -> None:
    game = pyspiel.load_game("python_gnav_deal(rules=le_her,players=2)")
    policy = TabularPolicy(game)
    for state in policy.states:
        exchange = le_her_equilibrium(state)
        policy.policy_for_key(state.information_state_string())[:] = [1 - exchange, exchange]
    assert exploitability.nash_conv(game, policy, use_cpp_br=False) == pytest.approx(0, abs=1e-9)
    values = expected_game_score.policy_value(game.new_initial_state(), [policy, policy])
    wins = Fraction(11327, 22100)
    assert list(values) == pytest.approx([float(wins - 1), float(-wins)], abs=1e-12)


# ------------------------------------------------------------------------------------------------------- at the door


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("rules=pagatt", "unknown ruleset 'pagatt'"),
        ("players=1", "seats must be 2 to 37"),
        ("rules=vogelspiel", "seats must be 4 to 20"),
        ("rules=le_her", "seats must be 2 for"),
    ],
)
def test_a_game_that_cannot_be_is_refused_with_what_would_be_right(parameters: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        pyspiel.load_game(f"python_gnav_deal({parameters})")


def test_an_observer_that_there_is_not_is_refused() -> None:
    game = pyspiel.load_game("python_gnav_deal")
    with pytest.raises(GnavError, match="no parameters"):
        game.make_py_observer(None, {"depth": 2})
    with pytest.raises(GnavError, match="SINGLE_PLAYER"):
        game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=False, public_info=False))


def test_without_open_spiel_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    assert game_module.__file__
    spec = importlib.util.spec_from_file_location("without_open_spiel", game_module.__file__)
    assert spec is not None and spec.loader is not None
    with pytest.raises(GnavError, match=r"gnav\[openspiel\]"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
