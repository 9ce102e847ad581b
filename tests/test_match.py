"""Solved matches: chances and best responses against enumeration by the engine and against play, files, the agent."""

import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnav_agents.match_equilibrium import MatchEquilibrium
from gnav_agents.solve.match import TOLERANCE, solve_match
from gnav_agents.solve.match_certificate import best_values
from gnav_agents.solve.match_file import MatchValues, SolvedState
from gnav_agents.solve.match_policies import MatchPolicies
from gnav_agents.solve.match_states import State, find_states
from gnav_agents.solve.sweep import legal_choices
from gnav_env.effects import Effect
from gnav_env.engine import begin_match
from gnav_env.errors import GnavError
from gnav_env.rules import Rules, Special
from gnav_env.state import OVER, TABLE
from gnav_env.table import Table
from gnav_env.variants import get_rules
from gnav_env.vector import Tables

PAGAT = get_rules("pagat")
TINY = Rules(
    name="tiny",
    deck={"dragon": 1, "house": 1, "4": 1, "3": 2, "2": 1, "fool": 2},
    effects={"dragon": Effect(refuse=True, pay=1), "house": Effect(redirect=True)},
    specials=(
        Special(rank="fool", count=1, holder="lose", sit_out=True),
        Special(rank="fool", count=2, holder="lose", others="none", sit_out=True),
    ),
    knock="dealt",
    lives=2,
)


@pytest.fixture(scope="module")
def pagat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a solved match of two seats."""
    folder = tmp_path_factory.mktemp("match") / "pagat"
    solve_match(PAGAT, 2, folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a solved match of three seats with the tiny deck."""
    folder = tmp_path_factory.mktemp("match") / "tiny"
    solve_match(TINY, 3, folder)
    return folder


def values_of(folder: Path) -> MatchValues:
    return MatchValues.load(folder / "values.json")


def agent_of(folder: Path, rules: Rules) -> MatchEquilibrium:
    return MatchEquilibrium(MatchPolicies.load(folder / "policies.npz", rules=rules))


@pytest.mark.parametrize("name", ["pagat", "tiny"])
def test_the_chances_of_a_state_sum_to_one(name: str, request: pytest.FixtureRequest) -> None:
    for state, chances in values_of(request.getfixturevalue(name)).states.items():
        assert chances.sum() == pytest.approx(1, abs=1e-11), state
        assert (chances > 0).all()


def test_a_match_of_two_seats_with_three_lives_has_nine_states(pagat: Path) -> None:
    assert len(values_of(pagat).states) == 9
    assert len(find_states(PAGAT, 3).states) == 36


@pytest.mark.parametrize("name", ["pagat", "tiny"])
def test_no_seat_gains_in_a_deal_nor_over_the_match(name: str, request: pytest.FixtureRequest) -> None:
    values = values_of(request.getfixturevalue(name))
    assert max(values.nash_conv.values()) < TOLERANCE
    assert -1e-12 < min(values.gains) <= max(values.gains) < 1e-5


def test_the_certificate_shows_what_can_be_gained_from_bad_play() -> None:
    states = find_states(replace(PAGAT, lives=2), 2)
    solved: dict[int, SolvedState] = {}
    for number, state in enumerate(states.states):
        legal = legal_choices(states.tree(number))
        solved[number] = SolvedState(
            stand=np.choose(legal, [0.0, 1.0, 0.0, 0.5]).astype(np.float32),
            values=np.zeros(state.num_seats),
            gains=np.zeros(state.num_seats),
            num_rounds=0,
        )
    assert (best_values(states, solved)[0] > 0.6).all()


def test_more_lives_are_worth_more(pagat: Path) -> None:
    values = values_of(pagat)
    for lives in (1, 2):
        for other in (1, 2, 3):
            assert values.value([lives, other])[0] < values.value([lives + 1, other])[0]
            assert values.value([other, lives])[1] < values.value([other, lives + 1])[1]


def test_with_one_life_each_a_match_is_one_deal_and_its_play_offs() -> None:
    values = solve_match(replace(PAGAT, lives=1), 2)
    assert list(values.states) == [State((1, 1), (False, False))]
    assert values.value([1, 1]).sum() == pytest.approx(1, abs=1e-11)


def test_which_way_round_a_table_plays_makes_no_difference() -> None:
    there, back = (solve_match(replace(TINY, direction=way), 2) for way in ("clockwise", "anticlockwise"))
    assert {state: chances.tolist() for state, chances in there.states.items()} == {
        state: chances.tolist() for state, chances in back.states.items()
    }


def test_one_seat_has_won(pagat: Path) -> None:
    assert values_of(pagat).value([2]).tolist() == [1]


class Enumerated:
    """The deals of a state played out by the engine: every deck that can be told from the others, every choice."""

    def __init__(self, state: State, rules: Rules) -> None:
        self.deals: list[tuple[float, Any]] = []
        ranks = [rank for rank, num in rules.deck.items() for _ in range(num)]
        record: Any = np.zeros(1, TABLE)[0]
        begin_match(record, rules.compiled[0], state.num_seats, state.num_seats - 1)
        for seat in range(state.num_seats):
            record.seats[seat].lives = state.lives[seat]
            record.seats[seat].sits_out = state.sits_out[seat]
        table = Table.from_record(rules, record)
        for chance, deck in _decks(ranks, state.num_seats + 2):
            dealt = table.copy()
            dealt.deal(deck)
            self.deals.append((chance, _play_on(dealt)))


def _decks(ranks: Sequence[str], num_known: int) -> list[tuple[float, list[str]]]:
    """The decks that differ in their first cards, with their chances."""
    found: dict[tuple[str, ...], float] = {(): 1.0}
    for _ in range(num_known):
        longer: dict[tuple[str, ...], float] = {}
        for begin, chance in found.items():
            rest = list(ranks)
            for rank in begin:
                rest.remove(rank)
            for rank in set(rest):
                longer[(*begin, rank)] = chance * rest.count(rank) / len(rest)
        found = longer
    decks: list[tuple[float, list[str]]] = []
    for begin, chance in sorted(found.items()):
        rest = list(ranks)
        for rank in begin:
            rest.remove(rank)
        decks.append((chance, [*begin, *rest]))
    return decks


def _play_on(table: Table) -> Any:
    """What follows: (seat, observation, mask, what follows each action), or (shares,), or (state, its seats)."""
    if table.to_act is not None:
        observation, mask = table.observe(table.to_act)
        following: list[Any] = [None, None]
        for action in table.legal_actions():
            after = table.copy()
            after.act(action)
            following[action] = _play_on(after)
        return table.to_act, observation, mask, following
    num_seats = len(table.lives)
    if table.record["phase"] == OVER:
        return ([float(seat in table.winners) / len(table.winners) for seat in range(num_seats)],)
    lives, sits_out = table.lives, table.sit_out
    dealer = table.dealer
    while True:
        dealer = (dealer + 1) % num_seats
        if lives[dealer] > 0 and dealer not in sits_out:
            break
    seats = [seat % num_seats for seat in range(dealer + 1, dealer + 1 + num_seats) if lives[seat % num_seats] > 0]
    return State(tuple(lives[s] for s in seats), tuple(s in sits_out for s in seats)), seats


class Iterated:
    """Plain value iteration over the enumerated deals: what the agent's play is worth, and the best against it."""

    def __init__(self, agent: MatchEquilibrium, deals: dict[State, Enumerated]) -> None:
        self._agent = agent
        self._chances: dict[bytes, NDArray[np.float64]] = {}
        self.value = {state: np.zeros(state.num_seats) for state in deals}
        self.best = {state: np.zeros(state.num_seats) for state in deals}
        for state in sorted(deals, key=lambda state: (sum(state.lives), state.num_seats)):
            for _ in range(200):
                value = np.sum([chance * self._worth(deal) for chance, deal in deals[state].deals], axis=0)
                best = np.array([self._best(seat, deals[state]) for seat in range(state.num_seats)])
                moved = max(np.abs(value - self.value[state]).max(), np.abs(best - self.best[state]).max())
                self.value[state], self.best[state] = value, best
                if moved < 1e-13:
                    break

    def _policy(self, observation: Any, mask: Any) -> NDArray[np.float64]:
        key = observation.tobytes()
        if key not in self._chances:
            self._chances[key] = self._agent.probabilities(observation[None], mask[None])[0]
        return self._chances[key]

    def _end(self, deal: Any, values: dict[State, NDArray[np.float64]], num_seats: int) -> NDArray[np.float64]:
        if len(deal) == 1:
            return np.array(deal[0])
        worth = np.zeros(num_seats)
        worth[deal[1]] = values[deal[0]]
        return worth

    def _worth(self, deal: Any, num_seats: int = 2) -> NDArray[np.float64]:
        if len(deal) < 4:
            return self._end(deal, self.value, num_seats)
        _, observation, mask, following = deal
        chances = self._policy(observation, mask)
        return np.sum([chances[a] * self._worth(following[a]) for a in range(2) if chances[a]], axis=0)

    def _best(self, seat: int, deals: Enumerated) -> float:
        worth: dict[bytes, NDArray[np.float64]] = defaultdict(lambda: np.zeros(2))
        masks: dict[bytes, Any] = {}
        total = 0.0

        def below(deal: Any, chance: float) -> float:
            if len(deal) < 4:
                return chance * self._end(deal, self.best, 2)[seat]
            actor, observation, mask, following = deal
            if actor == seat:
                masks[observation.tobytes()] = mask
                for a in range(2):
                    if following[a] is not None:
                        worth[observation.tobytes()][a] += below(following[a], chance)
                return 0.0
            chances = self._policy(observation, mask)
            return sum(below(following[a], chance * chances[a]) for a in range(2) if chances[a])

        for chance, deal in deals.deals:
            total += below(deal, chance)
        return total + sum(float(row[masks[key] > 0].max()) for key, row in worth.items())


@pytest.mark.slow
def test_a_match_with_a_tiny_deck_agrees_with_value_iteration_over_the_engine(tmp_path: Path) -> None:
    values = solve_match(TINY, 2, tmp_path / "two")
    deals = {state: Enumerated(state, TINY) for state in values.states}
    plain = Iterated(agent_of(tmp_path / "two", TINY), deals)
    for state, chances in values.states.items():
        assert plain.value[state] == pytest.approx(chances, abs=1e-10), state
    full = State((2, 2), (False, False))
    assert plain.best[full] - plain.value[full] == pytest.approx(values.gains, abs=1e-9)


def win_shares(agent: MatchEquilibrium, rules: Rules, num_seats: int, num_matches: int) -> tuple[NDArray[Any], int]:
    """Matches won by the eldest of the first deal and so on, as a share, and how many matches there were."""
    tables = Tables(rules, num_seats, 2_000, seed=7)
    rng = np.random.default_rng(11)
    wins, num = np.zeros(num_seats), 0
    eldest = (tables.records["dealer"].astype(int) + 1) % num_seats
    # whole batches: the matches that end early are not all there are
    is_first = np.ones(tables.num_tables, np.bool_)
    for _ in range(num_matches // tables.num_tables):
        while is_first.any():
            tables.step(agent.act(tables.observation, tables.action_mask, rng))
            for b in np.flatnonzero(tables.ended_match & is_first):
                winners = np.flatnonzero(tables.place[b] == 1)
                wins[(winners - eldest[b]) % num_seats] += 1 / len(winners)
                num += 1
            is_first &= ~tables.ended_match
        tables.reset(tables.seed + 1)
        eldest = (tables.records["dealer"].astype(int) + 1) % num_seats
        is_first[:] = True
    return wins / num, num


def test_who_plays_the_solution_wins_two_seat_matches_as_often_as_the_values_say(tmp_path: Path) -> None:
    rules = replace(PAGAT, lives=2)
    values = solve_match(rules, 2, tmp_path / "match")
    shares, num = win_shares(agent_of(tmp_path / "match", rules), rules, 2, 20_000)
    assert num == 20_000
    assert shares == pytest.approx(values.value([2, 2]), abs=4 * 0.5 / np.sqrt(num))


def test_fines_in_mid_deal_and_seats_that_sit_out_do_not_confuse_the_agent(tiny: Path) -> None:
    values = values_of(tiny)
    assert any(any(state.sits_out) for state in values.states)
    shares, num = win_shares(agent_of(tiny, TINY), TINY, 3, 20_000)
    assert shares == pytest.approx(values.value([2, 2, 2]), abs=4 * 0.5 / np.sqrt(num))


def test_a_run_that_was_stopped_and_goes_on_leaves_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    files = sorted(path.relative_to(tiny) for path in tiny.rglob("*") if path.is_file())
    stopped = tmp_path / "stopped"
    for name in files[::2]:
        if name.parent.name == "states":
            (stopped / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tiny / name, stopped / name)
    shutil.copy(tiny / "match.json", stopped / "match.json")
    solve_match(TINY, 3, stopped, workers=2)
    assert sorted(path.relative_to(stopped) for path in stopped.rglob("*") if path.is_file()) == files
    for name in files:
        assert (tiny / name).read_bytes() == (stopped / name).read_bytes(), name


def test_progress_is_told_state_by_state() -> None:
    told: list[Any] = []
    solve_match(TINY, 2, progress=told.append)
    assert [one.num_done for one in told] == list(range(1, told[0].num_states + 1))
    assert told[-1].state == "2 2"


def test_values_come_back_as_they_were_saved(pagat: Path, tmp_path: Path) -> None:
    values = values_of(pagat)
    values.save(tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_bytes() == (pagat / "values.json").read_bytes()
    assert json.loads((pagat / "values.json").read_text())["rules"]["hash"] == PAGAT.hash


def test_a_folder_is_only_used_for_the_match_that_it_holds(pagat: Path, tmp_path: Path) -> None:
    with pytest.raises(GnavError, match=r"holds another match"):
        solve_match(TINY, 2, pagat)
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(GnavError, match="is there already and holds no match"):
        solve_match(TINY, 2, tmp_path)


def test_states_that_a_match_never_comes_to_have_no_value(pagat: Path) -> None:
    with pytest.raises(GnavError, match="2 seats of pagat never comes to the lives 3 4"):
        values_of(pagat).value([3, 4])
    with pytest.raises(GnavError, match=r"never comes to the lives 3 \(1\)"):
        values_of(pagat).value([3, 1], [False, True])


def test_damaged_files_and_those_of_other_rules_are_refused(pagat: Path, tmp_path: Path) -> None:
    with pytest.raises(GnavError, match=r"there is no such file"):
        MatchValues.load(tmp_path / "none.json")
    (tmp_path / "half.json").write_bytes((pagat / "values.json").read_bytes()[:500])
    with pytest.raises(GnavError, match=r"half\.json: holds no match values, or is damaged"):
        MatchValues.load(tmp_path / "half.json")
    (tmp_path / "half.npz").write_bytes((pagat / "policies.npz").read_bytes()[:900])
    with pytest.raises(GnavError, match=r"half\.npz: holds no policies of a match, or is damaged"):
        MatchPolicies.load(tmp_path / "half.npz", rules=PAGAT)
    with pytest.raises(GnavError, match=r"is for the ruleset pagat .*, not for tiny"):
        MatchPolicies.load(pagat / "policies.npz", rules=TINY)


def test_the_agent_says_at_which_tables_it_can_play(pagat: Path) -> None:
    tables = Tables("pagat", 3, 4)
    with pytest.raises(GnavError, match=r"solved matches of pagat with 2 to 2 seats of 3 lives; this table has 3"):
        agent_of(pagat, PAGAT).act(tables.observation, tables.action_mask, np.random.default_rng(0))


def test_a_match_of_a_fixed_number_of_deals_is_not_solved() -> None:
    with pytest.raises(GnavError, match="it ends after 5 deals"):
        solve_match(replace(TINY, end="deals:5"), 2)
