"""The PettingZoo environment: PettingZoo's own tests, and the traps that they do not see."""

import pickle
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils import wrappers

import gnav_env
from gnav_env import VARIANTS, GnavError, Rules
from gnav_env.aec import GnavEnv, env, parallel_env
from matches import seats_for

with warnings.catch_warnings():  # PettingZoo's tests import games of its own, which warn
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test
    from pettingzoo.test.max_cycles_test import max_cycles_test
    from pettingzoo.test.state_test import test_state as check_state
    from pettingzoo.test.state_test import test_state_space as check_state_space

SEATS = (2, 3, 6, 12, 20)
TABLES = [(name, n) for name, rules in VARIANTS.items() for n in SEATS if rules.min_players <= n <= rules.seat_limit]
DICT_WARNINGS = ("Observation is not a NumPy array", "Observation space for each agent probably should be")
"""What PettingZoo's api_test says of every dict observation whose environment is not on its own list of names."""


def make(**options: Any) -> GnavEnv:
    return pettingzoo.make("aec", "gnav/gnav-v0", **options)


def play(environment: GnavEnv, seed: int | None = None, reset: bool = True) -> Iterator[tuple[Any, ...]]:
    """Whole matches by fixed luck: yields what `last` gives, with the agent in front."""
    if reset:
        environment.reset(seed=seed)
    luck = np.random.default_rng(seed)
    while environment.agents:
        agent = environment.agent_selection
        view, reward, termination, truncation, info = environment.last()
        yield agent, view, reward, termination, truncation, info
        mask = view["action_mask"] if isinstance(view, dict) else info["action_mask"]
        is_dead = termination or truncation
        environment.step(None if is_dead else int(luck.choice(np.flatnonzero(mask))))


@pytest.mark.parametrize(("rules", "num_seats"), TABLES)
@pytest.mark.parametrize("obs_mode", ["dict", "flat"])
def test_api_test_passes_with_warnings_as_errors(rules: str, num_seats: int, obs_mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if obs_mode == "dict":
            for message in DICT_WARNINGS:
                warnings.filterwarnings("ignore", message=message)
        api_test(make(rules=rules, num_seats=num_seats, obs_mode=obs_mode), num_cycles=25)


@pytest.mark.parametrize(("rules", "num_seats"), TABLES)
def test_seed_test_passes(rules: str, num_seats: int) -> None:
    seed_test(lambda: make(rules=rules, num_seats=num_seats), num_cycles=50)


@pytest.mark.parametrize(
    ("rules", "num_seats"), [("pagat", n) for n in SEATS] + [(name, seats_for(name, 6)) for name in VARIANTS]
)
def test_render_test_passes(rules: str, num_seats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(lambda render_mode: make(rules=rules, num_seats=num_seats, render_mode=render_mode))


@pytest.mark.parametrize("num_seats", SEATS)
def test_state_test_passes(num_seats: int) -> None:
    environment = make(num_seats=num_seats)
    check_state_space(environment)
    check_state(environment, num_cycles=10)


@pytest.mark.parametrize("num_seats", SEATS)
def test_max_cycles_test_passes_where_every_seat_acts_in_every_deal(num_seats: int) -> None:
    """PettingZoo's test wants one action of each agent a cycle: no card may answer, nobody may fall.

    Its parallel half counts steps, so that its environment is cut off after as many decisions by the test itself.
    """
    plain = Rules(name="plain", deck={"3": 10, "2": 10, "1": 10}, lives=9)

    class CutOff(wrappers.BaseParallelWrapper):
        def __init__(self, environment: Any, num_steps: int) -> None:
            super().__init__(environment)
            self.left = num_steps

        def step(self, actions: Any) -> Any:
            observations, rewards, terminations, truncations, infos = super().step(actions)
            self.left -= 1
            if self.left == 0:
                truncations = dict.fromkeys(truncations, True)
            return observations, rewards, terminations, truncations, infos

    module = types.SimpleNamespace(
        env=lambda max_cycles: env(rules=plain, num_seats=num_seats, max_cycles=max_cycles),
        parallel_env=lambda max_cycles: CutOff(parallel_env(rules=plain, num_seats=num_seats), max_cycles),
    )
    max_cycles_test(module)


@pytest.mark.slow
def test_performance_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    performance_benchmark(make())
    assert "turns per second" in capsys.readouterr().out


@pytest.mark.parametrize(("rules", "num_seats"), TABLES)
def test_whole_matches_are_the_same_for_the_same_seed(rules: str, num_seats: int) -> None:
    first = list(play(make(rules=rules, num_seats=num_seats), seed=7))
    second = list(play(make(rules=rules, num_seats=num_seats), seed=7))
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert one[0] == other[0] and one[2:5] == other[2:5]
        assert one[1]["observation"].tobytes() == other[1]["observation"].tobytes()


def digest(steps: list[tuple[Any, ...]]) -> list[Any]:
    return [(step[0], step[1]["observation"].tobytes(), *step[2:5]) for step in steps]


def test_a_reset_in_mid_match_starts_the_same_match_again() -> None:
    environment = make()
    whole = digest(list(play(environment, seed=3)))
    for count, _ in enumerate(play(environment, seed=3)):
        if count == 9:
            break
    assert digest(list(play(environment, seed=3))) == whole


def test_without_a_seed_the_next_match_follows_and_differs() -> None:
    environment = make()
    environment.reset(seed=3)
    first = environment.state().tobytes()
    environment.reset()
    second = environment.state().tobytes()
    environment.reset(seed=3)
    environment.reset()
    assert environment.state().tobytes() == second != first


@pytest.mark.parametrize("obs_mode", ["dict", "flat"])
def test_a_pickle_in_mid_match_goes_on_as_the_original(obs_mode: str) -> None:
    environment = make(obs_mode=obs_mode)
    for count, _ in enumerate(play(environment, seed=5)):
        if count == 20:
            break
    copy = pickle.loads(pickle.dumps(environment))
    for one, other in zip(play(environment, 8, reset=False), play(copy, 8, reset=False), strict=True):
        assert one[0] == other[0] and one[2:5] == other[2:5]
        assert pickle.dumps(one[1]) == pickle.dumps(other[1])


@pytest.mark.parametrize("rules", list(VARIANTS))
@pytest.mark.parametrize("reward", ["lives", "placement", "win"])
def test_the_rewards_of_last_sum_to_the_ledger(rules: str, reward: str) -> None:
    for seed in range(12):
        environment = make(rules=rules, num_seats=seats_for(rules, 6), reward=reward)
        total = dict.fromkeys(environment.possible_agents, 0.0)
        terminal_seen: set[str] = set()
        for agent, _, gained, termination, truncation, _ in play(environment, seed=seed):
            assert agent not in terminal_seen, "nothing is emitted after the terminal step"
            assert not (termination and truncation)
            total[agent] += gained
            if termination or truncation:
                terminal_seen.add(agent)
        assert terminal_seen == set(environment.possible_agents)
        table = environment.table
        assert table.is_over
        if reward == "lives":
            restored = sum(total.values()) - sum(n - table.rules.lives for n in table.lives)
            assert restored <= 0, "only a play-off gives lives back, which is no reward"
            if min(table.places) == 1 and table.places.count(1) == 1 and restored == 0:
                assert list(total.values()) == [n - table.rules.lives for n in table.lives]
        elif reward == "win":
            assert sum(total.values()) == pytest.approx(1.0)
        else:
            assert sum(total.values()) == pytest.approx(0.0)
            best = max(total, key=lambda agent: total[agent])
            assert table.places[environment.possible_agents.index(best)] == 1


def match_with(condition: Any, **options: Any) -> int:
    """A seed whose random match shows what is asked for."""
    for seed in range(400):
        environment = make(**options)
        for _ in play(environment, seed=seed):
            if condition(environment):
                return seed
    raise AssertionError("no such match among 400 seeds")


def num_terminated(environment: GnavEnv) -> int:
    return sum(environment.terminations.values())


def test_two_seats_out_in_one_deal_have_one_last_step_each() -> None:
    seed = match_with(lambda e: num_terminated(e) == 2 and len(e.agents) > 3)
    environment = make()
    dead = [step[0] for step in play(environment, seed=seed) if step[3]]
    assert sorted(dead) == sorted(environment.possible_agents)


def test_the_last_two_out_together_play_off() -> None:
    def play_off(environment: GnavEnv) -> bool:
        table = environment.table
        return len(environment.agents) == 2 and table.lives.count(1) == 2 and table.pool >= 16

    seed = match_with(play_off, num_seats=6)
    environment = make()
    steps = list(play(environment, seed=seed))
    assert sum(step[3] for step in steps) == 6
    assert environment.table.winners


def test_a_dealer_that_falls_is_passed_over() -> None:
    dealers: list[int] = []
    for seed in range(200):
        environment = make(num_seats=3)
        for _ in play(environment, seed=seed):
            dealers.append(environment.table.dealer)
            if len(dealers) > 1 and dealers[-1] != dealers[-2] and environment.table.lives[dealers[-2]] == 0:
                lives = environment.table.lives
                following = [seat % 3 for seat in range(dealers[-2] + 1, dealers[-2] + 4) if lives[seat % 3] > 0]
                assert dealers[-1] == following[0]
                return
        dealers.clear()
    raise AssertionError("no dealer fell in 200 matches")


@pytest.mark.parametrize("num_seats", [3, 6])
def test_a_limit_truncates_all_that_are_left_and_never_mixes_with_termination(num_seats: int) -> None:
    saw_fallen = False
    for seed in range(60):
        environment = make(num_seats=num_seats, max_cycles=6)
        ends = {}
        for agent, _, _, termination, truncation, _ in play(environment, seed=seed):
            assert not (any(environment.terminations.values()) and any(environment.truncations.values()))
            if termination or truncation:
                ends[agent] = truncation
        assert len(ends) == num_seats
        table = environment.table
        if table.deals == 6 and not table.is_over:
            for seat, agent in enumerate(environment.possible_agents):
                assert ends[agent] == (table.places[seat] == 0)
            saw_fallen = saw_fallen or 0 in table.lives
    assert saw_fallen


def test_a_deal_episode_ends_after_one_deal_for_all() -> None:
    for seed in range(20):
        environment = make(episode="deal")
        steps = list(play(environment, seed=seed))
        assert sum(step[3] for step in steps) == 6 and not any(step[4] for step in steps)
        assert environment.table.deals == 1
        assert sum(step[2] for step in steps) == -sum(environment.table.lost)


def test_observe_works_for_any_seat_at_any_time_and_changes_nothing() -> None:
    one, other = make(), make()
    for left, right in zip(play(one, seed=2), play(other, seed=2), strict=True):
        for agent in one.possible_agents:
            view = one.observe(agent)
            assert one.observation_space(agent).contains(view)
        assert left[1]["observation"].tobytes() == right[1]["observation"].tobytes()


def test_observations_are_never_written_in_place() -> None:
    environment = make(obs_mode="flat")
    kept: list[tuple[Any, bytes]] = []
    for _, view, *_ in play(environment, seed=4):
        assert not any(np.shares_memory(view, earlier) for earlier, _ in kept)
        kept.append((view, view.tobytes()))
    assert all(view.tobytes() == before for view, before in kept)


def test_asking_twice_gives_two_arrays() -> None:
    environment = make(obs_mode="flat")
    environment.reset(seed=1)
    first, second = environment.last()[0], environment.last()[0]
    assert first is not second and first.tobytes() == second.tobytes()


def test_the_list_of_agents_is_not_shared() -> None:
    environment = make()
    environment.reset(seed=1)
    environment.agents.clear()
    assert len(environment.possible_agents) == 6
    environment.reset(seed=1)
    assert len(environment.agents) == 6


def test_the_global_random_state_is_left_alone() -> None:
    before = np.random.get_state()[1].tobytes()  # type: ignore[union-attr]
    list(play(make(), seed=9))
    make().reset()
    assert np.random.get_state()[1].tobytes() == before  # type: ignore[union-attr]


def test_order_is_enforced_with_pettingzoos_errors() -> None:
    environment = make()
    for name in (
        "agents",
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "agent_selection",
        "num_agents",
    ):
        with pytest.raises(AttributeError, match="agents" if name == "num_agents" else name):
            getattr(environment, name)
    for call in (
        lambda: environment.step(0),
        lambda: environment.observe("player_0"),
        environment.state,
        environment.render,
        environment.agent_iter,
    ):
        with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before"):
            call()
    environment.reset(seed=1)
    iterator = environment.agent_iter()
    next(iterator)
    with pytest.raises(AssertionError, match=r"need to call step\(\) or reset\(\)"):
        next(iterator)


@pytest.mark.parametrize("action", [2, -1, None, "STAND", 0.5, True])
def test_an_action_outside_the_space_is_an_assertion_error(action: Any) -> None:
    environment = make()
    environment.reset(seed=1)
    with pytest.raises(AssertionError, match="action is not in action space"):
        environment.step(action)


@pytest.mark.parametrize("action", [0, np.int64(0), np.int32(0)])
def test_integers_of_any_kind_are_actions(action: Any) -> None:
    environment = make()
    environment.reset(seed=1)
    environment.step(action)


def illegal_start() -> GnavEnv:
    environment = make(rules="forced")
    for seed in range(100):
        environment.reset(seed=seed)
        if environment.last()[0]["action_mask"][0] == 0:
            return environment
    raise AssertionError


def test_an_illegal_action_ends_the_match_as_pettingzoos_wrapper_does() -> None:
    environment = illegal_start()
    agent = environment.agent_selection
    environment.step(0)
    assert all(environment.terminations.values())
    assert environment.rewards[agent] == -1 and sum(environment.rewards.values()) == -1
    assert "stand_requires" in environment.infos[agent]["illegal_action"]
    while environment.agents:
        environment.step(None)


def test_a_step_after_the_end_warns_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    environment = make()
    list(play(environment, seed=1))
    environment.step(0)
    assert not environment.agents


def test_it_also_runs_inside_pettingzoos_wrappers() -> None:
    wrapped = wrappers.OrderEnforcingWrapper(
        wrappers.AssertOutOfBoundsWrapper(wrappers.TerminateIllegalWrapper(make(), illegal_reward=-1))
    )
    bare = digest(list(play(make(), seed=6)))
    assert digest(list(play(wrapped, seed=6))) == bare  # type: ignore[arg-type]


def test_a_dead_agent_takes_only_none() -> None:
    environment = make(episode="deal")
    for _ in play(environment, seed=1):
        if any(environment.terminations.values()):
            break
    with pytest.raises(ValueError, match="None"):
        environment.step(0)


def test_the_parallel_api_plays_the_same_match() -> None:
    environment = parallel_env(num_seats=4)
    environment.reset(seed=3)
    twin = env(num_seats=4)
    twin.reset(seed=3)
    for _ in range(500):
        if not environment.agents:
            break
        agent = twin.agent_selection
        environment.step({agent: 1})
        twin.step(1)
        while twin.agents and (twin.terminations[twin.agent_selection] or twin.truncations[twin.agent_selection]):
            twin.step(None)
        assert environment.unwrapped.state().tobytes() == twin.state().tobytes()
    assert not environment.agents and not twin.agents


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "pagatt"}, "did you mean 'pagat'"),
        ({"num_seats": 38}, "seats must be 2 to 37"),
        ({"num_seats": 1}, "seats must be 2 to 37"),
        ({"rules": "letters", "num_seats": 2}, "seats must be 3 to 37"),
        ({"rules": "hypp", "num_seats": 19}, "seats must be 2 to 18"),
        ({"episode": "game"}, "episode must be match or deal"),
        ({"reward": "money"}, "reward must be lives or placement or win"),
        ({"reward": "win", "episode": "deal"}, "needs episode='match'"),
        ({"obs_mode": "image"}, "obs_mode must be dict or flat"),
        ({"render_mode": "svg"}, "render_mode must be"),
        ({"max_cycles": 0}, "max_cycles must be 1"),
    ],
)
def test_options_that_cannot_be_say_what_would_be_right(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GnavError, match=message):
        make(**options)


def test_a_seed_that_cannot_be_says_what_would_be_right() -> None:
    with pytest.raises(GnavError, match="seed must be a whole number"):
        make().reset(seed=-1)


def test_the_environment_is_registered_with_pettingzoo() -> None:
    assert "gnav/gnav-v0" in pettingzoo.aec_registry
    assert isinstance(make(), GnavEnv)
    assert gnav_env.__name__ == "gnav_env"
