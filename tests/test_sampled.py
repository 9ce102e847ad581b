"""Sampled solving and gains that are lower bounds, against every deal of tiny decks played out through the engine."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnav_agents.agent import Agent, Policy, certain, own_ranks
from gnav_agents.registry import make_agent
from gnav_agents.solve import gain as gain_module
from gnav_agents.solve.gain import GainBound, gain_bound
from gnav_agents.solve.sampled import solve_sampled
from gnav_agents.solve.situation_policy import SampledSolution, SituationPolicy
from gnav_agents.solve.situations import FINE, fine_situations, in_words, num_fine_situations, shrunk
from gnav_env import EXCHANGE, STAND, VARIANTS, GnavError, Rules, Table, Tables, get_rules
from gnav_env.effects import Effect
from gnav_env.engine import cards_needed
from gnav_env.observation import num_features, observe, piece, write_mask
from gnav_env.state import net_lives

PAGAT, LETTERS, LE_HER = VARIANTS["pagat"], VARIANTS["letters"], VARIANTS["le_her"]
PLAIN = VARIANTS["ranter_1882"].replace(name="plain", deck={"4": 1, "3": 2, "2": 2, "1": 1})
TINY = PLAIN.replace(
    name="tiny",
    deck={"5": 1, "4": 1, "3": 2, "2": 2, "1": 2},
    effects={"5": Effect(refuse=True, pay=1), "4": Effect(redirect=True)},
)
"""Eight cards, of which one refuses and one sends on."""


def view(table: Table) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """What the seat to act sees, [1, F], and may do, [1, A]."""
    assert table.to_act is not None
    observation = np.zeros((1, num_features(table.num_seats)), np.float32)
    mask = np.zeros((1, 2), np.int8)
    observe(table.record, table.rules.compiled[0], table.to_act, observation[0])
    write_mask(table.record, table.rules.compiled[0], table.to_act, mask[0])
    return observation, mask


def dealt(rules: Rules, num_seats: int, deck: tuple[str, ...], actions: tuple[int, ...] = ()) -> Table:
    """A deal of `deck` by the last seat, after `actions`."""
    table = Table(rules, num_seats, first_dealer=num_seats - 1)
    table.deal(deck)
    for action in actions:
        table.act(action)
    return table


@cache
def deals(rules: Rules, num_seats: int) -> list[tuple[tuple[str, ...], float]]:
    """All orders of the cards that a deal can look at, with their chances."""
    num_needed = int(cards_needed(Table(rules, num_seats).record, rules.compiled[0]))
    found: list[tuple[tuple[str, ...], float]] = []
    for cards in product(rules.ranks, repeat=num_needed):
        chance, left = 1.0, dict(rules.deck)
        for number, card in enumerate(cards):
            chance *= left[card] / (rules.num_cards - number)
            left[card] -= 1
        if chance > 0:
            found.append((cards, chance))
    assert sum(chance for _, chance in found) == pytest.approx(1)
    return found


def enumerated(agent: Any, rules: Rules, num_seats: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lives won and lost by each seat, all playing as `agent` does, and what a best response of each gains, [S]."""
    chances: dict[bytes, float] = {}
    worth: dict[tuple[int, bytes], NDArray[np.float64]] = defaultdict(lambda: np.zeros(2))

    def played(table: Table, reach: float) -> NDArray[np.float64]:
        """What each seat can expect at `table`, which comes about with the chance `reach`."""
        if table.to_act is None:
            return np.array([net_lives(table.record, seat) for seat in range(num_seats)], np.float64)
        seat = table.to_act
        observation, mask = view(table)
        seen = observation.tobytes()
        if seen not in chances:
            chances[seen] = float(agent.probabilities(observation, mask)[0, STAND])
        expected = np.zeros(num_seats)
        for action, chance in ((STAND, chances[seen]), (EXCHANGE, 1 - chances[seen])):
            if mask[0, action]:
                after = table.copy()
                after.act(action)
                values = played(after, reach * chance)
                worth[seat, seen][action] += reach * values[seat]
                expected += chance * values
            else:
                worth[seat, seen][action] = -np.inf
        return expected

    balance, gains = np.zeros(num_seats), np.zeros(num_seats)
    for deck, chance in deals(rules, num_seats):
        balance += chance * played(dealt(rules, num_seats, deck), chance)
    for (seat, seen), values in worth.items():
        stand = chances[seen]
        # an action that is illegal is worth minus infinity, and has no chance
        gains[seat] += values.max() - sum(p * v for p, v in zip((stand, 1 - stand), values, strict=True) if p > 0)
    return balance, gains


def bounded(name: str, agent: Agent, rules: Rules, num_seats: int) -> GainBound:
    """The bound from enough samples for a tiny deck."""
    return gain_bound(name, agent, rules, num_seats, num_training_deals=15_000, num_deals=15_000)


@cache
def solved(rules: Rules, num_seats: int) -> SampledSolution:
    return solve_sampled(rules, num_seats, num_iterations=100, deals_per_iteration=1000)


@pytest.mark.parametrize("name", ["stand", "exchange", "uniform", "threshold:3"])
def test_the_interval_covers_what_enumeration_says_that_a_best_response_gains(name: str) -> None:
    # without effects a fine situation of two seats holds all that matters
    agent = make_agent(name, PLAIN, 2)
    _, exact = enumerated(agent, PLAIN, 2)
    bound = bounded(name, agent, PLAIN, 2)
    assert exact.mean() > 0.005
    assert bound.low <= exact.mean() <= bound.high
    for position, known in zip(bound.by_position, exact, strict=True):
        assert position.gain == pytest.approx(known, abs=position.high - position.low)


@pytest.mark.parametrize(("name", "num_seats"), [("exchange", 2), ("threshold:3", 2), ("uniform", 3)])
def test_the_bound_is_not_above_the_gain_and_not_far_below(name: str, num_seats: int) -> None:
    # a card in the stock fines, so that the dealer would do well to remember more than a situation tells
    agent = make_agent(name, TINY, num_seats)
    _, exact = enumerated(agent, TINY, num_seats)
    bound = bounded(name, agent, TINY, num_seats)
    assert 0.8 * exact.mean() < bound.low < exact.mean()


@pytest.mark.parametrize("num_seats", [2, 3])
def test_a_tiny_deal_solved_by_samples_leaves_a_best_response_next_to_nothing(num_seats: int) -> None:
    _, gains = enumerated(SituationPolicy(solved(PLAIN, num_seats)), PLAIN, num_seats)
    assert (gains > -1e-9).all()
    assert gains.max() < 0.0005


def test_le_her_solved_by_samples_has_nearly_the_published_value() -> None:
    # Bellhouse & Fillion 2015: the receiver wins 11327 of 22100, who loses pays a life
    balance, gains = enumerated(SituationPolicy(solved(LE_HER, 2)), LE_HER, 2)
    assert balance[0] == pytest.approx(11327 / 22100 - 1, abs=0.002)
    assert gains.max() < 0.004


@pytest.mark.parametrize("name", ["stand", "exchange"])
def test_much_is_gained_over_one_who_always_does_the_same(name: str) -> None:
    bound = gain_bound(name, make_agent(name, PAGAT, 8), PAGAT, 8, num_training_deals=3000, num_deals=3000)
    assert bound.low > 0.05
    assert all(position.low > 0 for position in bound.by_position)


def test_little_is_gained_over_a_solution_and_more_over_the_tips() -> None:
    bounds = {
        name: bounded(name, agent, PAGAT, 5)
        for name, agent in (("solution", SituationPolicy(solved(PAGAT, 5))), ("tips", make_agent("tips", PAGAT, 5)))
    }
    assert -0.0005 < bounds["solution"].gain < 0.001
    assert bounds["tips"].low > 0.005


def test_positions_average_to_the_whole_and_departures_do_not_exceed_it() -> None:
    bound = gain_bound("stand", make_agent("stand", PAGAT, 5), PAGAT, 5, num_training_deals=3000, num_deals=3000)
    assert [one.position for one in bound.by_position] == [0, 1, 2, 3, 4]
    assert np.mean([one.gain for one in bound.by_position]) == pytest.approx(bound.gain)
    assert len(bound.departures) == 10
    assert sum(one.gain for one in bound.departures) <= bound.gain
    assert {one.action for one in bound.departures} == {STAND}
    assert any(one.words.startswith("Fool, as it was dealt") for one in bound.departures)


@pytest.mark.parametrize("rules", ["campli", "pagat"])
def test_positions_are_counted_in_the_order_of_play_clockwise_or_not(rules: str) -> None:
    # only the dealer, who has no seat behind, always exchanges: only there the reply gains
    bound = gain_bound("dealer", DealerExchanges(), rules, 4, num_training_deals=3000, num_deals=3000)
    dealer = bound.by_position[-1]
    assert dealer.low > 0.1
    assert all(one.gain < dealer.low / 2 for one in bound.by_position[:-1])


class DealerExchanges(Policy):
    """Always exchanges as the dealer; elsewhere the three lowest cards."""

    def probabilities(self, observation: Any, action_mask: Any) -> NDArray[np.float64]:
        is_dealer = piece(observation, "dealer")[:, 0, 0] > 0
        return certain(is_dealer | (own_ranks(observation) < 3), action_mask)


class Drawn:
    """Somebody's agent without probabilities, which draws for itself."""

    def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
        return np.where(action_mask.all(axis=1), rng.integers(0, 2, len(action_mask)), action_mask[:, 1])


class Fails:
    def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
        raise OSError("no such thing")


class Odd(Policy):
    def probabilities(self, observation: Any, action_mask: Any) -> NDArray[np.float64]:
        return np.full((len(observation), 2), 0.6)


def test_an_agent_that_draws_for_itself_is_measured_as_one_with_the_same_probabilities() -> None:
    drawn = bounded("drawn", Drawn(), PAGAT, 4)
    keyed = bounded("uniform", make_agent("uniform"), PAGAT, 4)
    assert drawn.low < keyed.high
    assert keyed.low < drawn.high


def test_luck_hangs_on_deal_and_seat_and_not_on_the_size_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def bound() -> GainBound:
        return gain_bound("uniform", make_agent("uniform"), PAGAT, 4, num_training_deals=700, num_deals=700)

    first = bound()
    monkeypatch.setattr(gain_module, "_BATCH", 97)
    assert bound() == first


@pytest.mark.parametrize(("agent", "message"), [(Fails(), "agent fox failed: OSError"), (Odd(), "a row summing to 1")])
def test_an_agent_that_fails_is_named(agent: Agent, message: str) -> None:
    with pytest.raises(GnavError, match="agent fox") as error:
        gain_bound("fox", agent, PAGAT, 4, num_training_deals=10, num_deals=10)
    assert message in str(error.value)


def test_progress_is_told_up_to_the_last_deal_and_iteration() -> None:
    told: list[int] = []
    gain_bound("stand", make_agent("stand"), TINY, 2, num_training_deals=1500, num_deals=10, progress=told.append)
    assert told == [1024, 1500, 1510]
    told.clear()
    solve_sampled(TINY, 2, num_iterations=3, deals_per_iteration=5, progress=told.append)
    assert told == [1, 2, 3]


def test_the_same_seed_brings_the_same_solution_and_another_seed_another() -> None:
    def solution(seed: int) -> bytes:
        return solve_sampled(PAGAT, 3, num_iterations=5, deals_per_iteration=500, seed=seed).stand.tobytes()

    assert solution(1) == solution(1)
    assert solution(1) != solution(2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: solve_sampled(PAGAT, 1),
        lambda: solve_sampled(PAGAT, 38),
        lambda: solve_sampled(PAGAT, 3, num_iterations=0),
        lambda: solve_sampled(PAGAT, 3, seed=-1),
        lambda: gain_bound("tips", make_agent("tips"), PAGAT, 3, num_deals=1),
        lambda: gain_bound("tips", make_agent("tips"), PAGAT, 38),
        lambda: SituationPolicy(),
        lambda: SituationPolicy(solved(TINY, 2), solved(TINY, 2)),
        lambda: SituationPolicy(solved(TINY, 2), solved(LE_HER, 2)),
        lambda: SampledSolution(
            rules=TINY,
            num_seats=2,
            stand=np.full(num_fine_situations(2), 2, np.float32),
            seed=0,
            num_iterations=1,
            deals_per_iteration=1,
        ),
    ],
)
def test_numbers_out_of_range_are_refused(wrong: Callable[[], Any]) -> None:
    with pytest.raises(GnavError):
        wrong()


def test_a_saved_solution_plays_as_before(tmp_path: Path) -> None:
    solution = solved(TINY, 3)
    solution.save(tmp_path / "three.npz")
    again = SampledSolution.load(tmp_path / "three.npz", rules=TINY)
    assert again.stand.tobytes() == solution.stand.tobytes()
    assert (again.num_seats, again.seed, again.num_iterations, again.deals_per_iteration) == (3, 0, 100, 1000)


def test_a_solution_of_other_rules_and_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.npz"
    solved(TINY, 2).save(path)
    with pytest.raises(GnavError, match=r"a deal of the ruleset tiny \(.*\), not of letters"):
        SampledSolution.load(path, rules=LETTERS)
    with pytest.raises(GnavError, match="there is no such file"):
        SampledSolution.load(tmp_path / "none.npz", rules=TINY)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(GnavError, match="damaged"):
        SampledSolution.load(path, rules=TINY)
    np.savez(path, stand=np.array([None]))
    with pytest.raises(GnavError, match="no sampled solution"):
        SampledSolution.load(path, rules=TINY)


@pytest.mark.parametrize("rules", ["pagat", "forced"])
def test_a_solution_plays_whole_matches_at_tables_of_any_size(rules: str) -> None:
    policy = SituationPolicy(*(solve_sampled(rules, n, num_iterations=2, deals_per_iteration=100) for n in (3, 5)))
    luck = np.random.default_rng(0)
    for num_seats in (3, 4, 9):
        tables = Tables(get_rules(rules), num_seats, 32, seed=1)
        for _ in range(15 * num_seats):
            chances = policy.probabilities(tables.observation, tables.action_mask)
            assert (chances[tables.action_mask == 0] == 0).all()
            assert np.allclose(chances.sum(axis=1), 1)
            tables.step(policy.act(tables.observation, tables.action_mask, luck))


def test_with_fewer_live_seats_the_solution_for_as_many_is_played() -> None:
    three, five = (
        SampledSolution(
            rules=PAGAT,
            num_seats=num_seats,
            stand=np.full(num_fine_situations(num_seats), chance, np.float32),
            seed=0,
            num_iterations=1,
            deals_per_iteration=1,
        )
        for num_seats, chance in ((3, 0.25), (5, 0.75))
    )
    policy = SituationPolicy(five, three)
    stands = [
        policy.probabilities(*view(dealt(PAGAT, num_seats, ("9", "8", "7", "6", "5", "4", "3")[: num_seats + 1])))[
            0, STAND
        ]
        for num_seats in (2, 3, 4, 5, 6)
    ]
    assert stands == [0.25, 0.25, 0.75, 0.75, 0.75]


@pytest.mark.parametrize(
    ("deck", "actions", "parts"),
    [
        # seats behind, plain cards known, special ranks, low cards that went nowhere, traded, settled that asked
        (("5", "9", "8", "7"), (), (3, 0, 0, 0, 0, 0)),
        (("5", "9", "8", "7"), (STAND, STAND), (1, 0, 0, 0, 0, 0)),
        (("5", "9", "8", "7"), (EXCHANGE,), (2, 0, 0, 0, 1, 1)),
        (("9", "5", "8", "7"), (EXCHANGE,), (2, 1, 0, 0, 1, 1)),
        (("9", "9", "8", "7"), (EXCHANGE,), (2, 4, 0, 0, 1, 1)),
        (("9", "8", "fool", "7"), (), (3, 0, 3, 0, 0, 0)),
        (("2", "horse", "cuckoo", "9"), (EXCHANGE,), None),
        (("2", "9", "dragon", "8"), (STAND, EXCHANGE), (0, 0, 0, 1, 0, 1)),
        (("2", "9", "cat", "8"), (STAND, EXCHANGE), (0, 0, 0, 2, 0, 1)),
    ],
)
def test_a_fine_situation_is_what_the_seat_sees(
    deck: tuple[str, ...], actions: tuple[int, ...], parts: tuple[int, ...] | None
) -> None:
    table = dealt(PAGAT, 4, (*deck, "6"), actions)
    if parts is None:
        assert table.to_act is None, "the Cuckoo has stopped the deal"
        return
    assert table.to_act is not None
    behind, own, *others = np.unravel_index(fine_situations(view(table)[0], PAGAT)[0], FINE)
    assert (behind, *others) == parts
    assert PAGAT.ranks[own] == PAGAT.ranks[int(view(table)[0][0, : len(PAGAT.ranks)].argmax())]


@pytest.mark.parametrize(("card", "plain"), [("horse", 5), ("house", 5), ("dragon", 6)])
def test_a_next_card_that_has_answered_is_told_apart_by_what_it_does(card: str, plain: int) -> None:
    # in letters a seat whose card has answered still has its turn; nobody may ask across the one before
    table = dealt(LETTERS, 4, ("2", "3", card, "9", "6"), (STAND,))
    table.record.seats[2].revealed = 1
    table.record.face_up[0] |= 1 << 2
    assert np.unravel_index(fine_situations(view(table)[0], LETTERS)[0], FINE)[2] == plain


def test_a_situation_is_told_in_words() -> None:
    def words(deck: tuple[str, ...], actions: tuple[int, ...]) -> str:
        return in_words(int(fine_situations(view(dealt(PAGAT, 4, (*deck, "6"), actions))[0], PAGAT)[0]), PAGAT, 4)

    assert (
        words(("5", "9", "fool", "7"), ())
        == "V, as it was dealt, 3 seats behind, eldest, a seat further behind holds Fool"
    )
    assert words(("9", "5", "8", "7"), (EXCHANGE,)) == (
        "IX, got in a trade, 2 seats behind, 1 of the settled seats chose EXCHANGE, a lower card is settled"
    )
    assert words(("9", "5", "8", "7"), (STAND, STAND, STAND)) == (
        "VII, as it was dealt, dealer, none of the settled seats chose EXCHANGE"
    )


def test_few_samples_count_for_less_than_the_coarser_situation() -> None:
    count, total = np.array([[10.0, 0.0], [0.0, 0.0]]), np.array([[10.0, 0.0], [0.0, 0.0]])
    # coarser: 10 of 10 and a prior of 10 at nothing are a half; finer: 10 of 10 and 10 at a half are three quarters
    assert shrunk(count, total, 10.0).tolist() == [[0.75, 0.5], [0.0, 0.0]]
