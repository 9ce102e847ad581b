"""Gymnasium, SB3 and the batch: the checks of their own, and that they all play the same match."""

import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

from gnav_env import VARIANTS, GnavError, IllegalAction, Tables
from gnav_env._jit import IS_COMPILED
from gnav_env.learner import LearnerTables, uniform
from gnav_env.single import GnavSingle
from matches import seats_for

RULES = [(name, n) for name in VARIANTS for n in sorted({seats_for(name, n) for n in (2, 3, 6)})]


def fixed(observation: Any, action_mask: Any, rng: Any) -> Any:
    """A policy without luck: exchange low cards where that is legal."""
    wish = (observation[:, 24] < 0.45).astype(np.int64)
    is_legal = action_mask[np.arange(len(wish)), wish] != 0
    return np.where(is_legal, wish, 1 - wish)


@pytest.mark.parametrize(
    ("rules", "num_seats", "reward", "low", "high"),
    [
        ("kille", 3, "win", 0, 1),
        ("kille", 3, "placement", -1, 1),
        ("screw_stop", 4, "win", 0, 1),
        ("campli", 3, "placement", -1, 1),
    ],
)
def test_an_episode_is_paid_for_its_own_match_alone(
    rules: str, num_seats: int, reward: Any, low: float, high: float
) -> None:
    """The next match may end before the learner's first choice; that is no part of any episode."""
    tables = LearnerTables(rules, num_seats, 64, reward=reward, seed=3)
    total, num_episodes, luck = np.zeros(64), 0, np.random.default_rng(1)
    for _ in range(60 if IS_COMPILED else 6):
        wish = luck.integers(0, 2, 64)
        legal = tables.action_mask[np.arange(64), wish] != 0
        tables.step(np.where(legal, wish, 1 - wish))
        assert (tables.tables.seat == tables.seat).all()
        total += tables.rewards
        ended = tables.terminated | tables.truncated
        assert ((total[ended] >= low) & (total[ended] <= high)).all()
        num_episodes += int(ended.sum())
        total[ended] = 0
    assert num_episodes > 64


def test_a_deal_as_an_episode_costs_no_more_than_a_deal_can() -> None:
    tables = LearnerTables("pagat", 6, 64, episode="deal", seed=3)
    for _ in range(80 if IS_COMPILED else 6):
        tables.step(tables.action_mask[:, 1].astype(np.int64))
        assert tables.terminated.all()
        assert (tables.rewards >= -2).all(), "a fine and a loss"


@pytest.mark.parametrize(("rules", "num_seats"), RULES)
def test_gymnasiums_checker_is_content(rules: str, num_seats: int) -> None:
    if rules == "forced":
        pytest.skip("the checker samples actions without the mask, and an illegal one is an error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("gnav/Gnav-v0", rules=rules, num_seats=num_seats).unwrapped, skip_render_check=True)


def test_sb3s_checker_is_content() -> None:
    sb3_check = pytest.importorskip("stable_baselines3.common.env_checker").check_env
    sb3_check(gymnasium.make("gnav/Gnav-v0").unwrapped)


def test_maskable_ppo_learns_on_the_vec_env() -> None:
    sb3_contrib = pytest.importorskip("sb3_contrib")
    from gnav_env.sb3 import GnavVecEnv

    model = sb3_contrib.MaskablePPO("MlpPolicy", GnavVecEnv(32), n_steps=16, batch_size=128, device="cpu")
    model.learn(1024)
    assert model.num_timesteps == 1024


def test_the_vec_env_keeps_terminal_observations_and_never_writes_in_place() -> None:
    pytest.importorskip("stable_baselines3")
    from gnav_env.sb3 import GnavVecEnv

    environment = GnavVecEnv(8, num_seats=3, opponents=fixed, seed=4)
    kept = [environment.reset()]
    num_done = 0
    for _ in range(60):
        environment.step_async(np.ones(8, np.int64))
        observation, reward, done, infos = environment.step_wait()
        assert not any(np.shares_memory(observation, earlier) for earlier in kept)
        kept.append(observation)
        for b in np.flatnonzero(done):
            num_done += 1
            assert infos[b]["terminal_observation"].shape == observation[b].shape
        assert reward.dtype == np.float32
    assert num_done > 0
    assert np.array(environment.env_method("action_masks")).shape == (8, 2)


def test_the_vec_env_survives_a_pickle_and_its_masks_with_it() -> None:
    pytest.importorskip("stable_baselines3")
    from gnav_env.sb3 import GnavVecEnv

    environment = GnavVecEnv(4, num_seats=3, opponents=fixed, seed=2)
    environment.reset()
    environment.step(np.zeros(4, np.int64))
    copy = pickle.loads(pickle.dumps(environment))
    for _ in range(20):
        assert copy.action_masks().tolist() == environment.action_masks().tolist()
        ours, theirs = environment.step(np.ones(4, np.int64)), copy.step(np.ones(4, np.int64))
        assert ours[0].tobytes() == theirs[0].tobytes()
        assert ours[1].tolist() == theirs[1].tolist()


def test_the_learner_sees_its_table_and_no_card_that_it_does_not_know() -> None:
    environment = gymnasium.make("gnav/Gnav-v0", num_seats=4, render_mode="ansi", opponents=fixed)
    environment.reset(seed=3)
    said = environment.render()
    assert "?" in said, "the others' cards are hidden"
    picture = gymnasium.make("gnav/Gnav-v0", num_seats=4, render_mode="rgb_array", opponents=fixed)
    picture.reset(seed=3)
    assert picture.render().shape == (800, 1200, 3)
    with pytest.raises(GnavError, match="render_mode must be None"):
        GnavSingle(render_mode="svg")  # type: ignore[arg-type]


def test_agents_of_the_zoo_are_opponents() -> None:
    registry = pytest.importorskip("gnav_agents.registry")
    learner = LearnerTables(
        num_tables=16, opponents=[registry.make_agent(name) for name in ("tips", "stand")] * 2 + [uniform]
    )
    for _ in range(30):
        learner.step(fixed(learner.observation, learner.action_mask, None))
    assert (learner.tables.seat == learner.seat).all()


def test_a_vector_of_tables_is_made_by_gymnasium() -> None:
    environment = gymnasium.make_vec("gnav/Gnav-v0", num_envs=8, num_seats=3, opponents=fixed)
    observation, info = environment.reset(seed=1)
    assert environment.observation_space.contains(observation)
    ended = 0
    for _ in range(80):
        observation, _, terminated, truncated, info = environment.step(np.zeros(8, np.int64))
        assert environment.observation_space.contains(observation)
        for b in np.flatnonzero(terminated | truncated):
            ended += 1
            assert info["_final_obs"][b] and info["final_obs"][b].shape == observation[b].shape
    assert ended > 0


@pytest.mark.parametrize(("rules", "num_seats"), RULES)
def test_a_batch_of_one_a_batch_of_many_and_the_aec_play_the_same_deals(rules: str, num_seats: int) -> None:
    num_tables = 5
    many = Tables(rules, num_seats, num_tables, seed=11, restart=False)
    alone = [Tables(rules, num_seats, 1, seed=11, restart=False) for _ in range(num_tables)]
    aec: list[Any] = []
    for b, tables in enumerate(alone):
        tables.reset(matches=[b])
        environment = pettingzoo.make("aec", "gnav/gnav-v0", rules=rules, num_seats=num_seats)
        environment.reset(seed=11)
        for _ in range(b):
            environment.reset()
        aec.append(environment)
    for _ in range(400):
        if (many.seat < 0).all():
            break
        actions = fixed(many.observation, many.action_mask, None)
        for b in np.flatnonzero(many.seat >= 0):
            environment = aec[b]
            while environment.terminations[environment.agent_selection]:
                environment.step(None)
            view = environment.last()[0]
            assert environment.agent_selection == f"player_{many.seat[b]}"
            assert view["observation"].tobytes() == many.observation[b].tobytes() == alone[b].observation[0].tobytes()
            assert view["action_mask"].tolist() == many.action_mask[b].tolist()
            environment.step(int(actions[b]))
            alone[b].step(actions[b : b + 1])
        many.step(actions)
    assert (many.seat < 0).all()
    for b in range(num_tables):
        assert many.records[b].tobytes() == alone[b].records[0].tobytes()
        assert aec[b].table.record.tobytes() == many.records[b].tobytes()


@pytest.mark.parametrize("reward", ["lives", "placement", "win"])
def test_the_learners_rewards_are_those_of_the_aec(reward: str) -> None:
    for seat in range(3):
        learner = LearnerTables(num_seats=3, opponents=fixed, seat=seat, reward=reward, seed=5)
        for match in range(4):
            total = 0.0
            while True:
                actions = fixed(learner.observation, learner.action_mask, None)
                learner.step(actions)
                total += float(learner.rewards[0])
                if learner.terminated[0] or learner.truncated[0]:
                    break
            environment = pettingzoo.make("aec", "gnav/gnav-v0", num_seats=3, reward=reward)
            environment.reset(seed=5)
            for _ in range(match):
                environment.reset()
            expected = 0.0
            while environment.agents:
                agent = environment.agent_selection
                view, gained, termination, truncation, _ = environment.last()
                if agent == f"player_{seat}":
                    expected += gained
                if termination or truncation:
                    environment.step(None)
                else:
                    environment.step(int(fixed(view["observation"][None], view["action_mask"][None], None)[0]))
            assert total == pytest.approx(expected)


def test_the_learner_sits_everywhere_in_turn() -> None:
    learner = LearnerTables(num_seats=4, num_tables=8, opponents=fixed)
    assert learner.seat.tolist() == [0, 1, 2, 3] * 2


def test_each_opponent_plays_its_own_seat() -> None:
    def always(action: int) -> Any:
        return lambda observation, action_mask, rng: np.full(len(observation), action)

    learner = LearnerTables(num_seats=3, opponents=[always(0), always(1)], seat=1, seed=2)
    twin = Tables(num_seats=3, seed=2)
    for _ in range(10):
        while twin.seat[0] != 1:
            twin.step(np.array([0 if twin.seat[0] == 2 else 1]))
        if learner.tables.records[0]["match"] != 0 or twin.records[0]["match"] != 0:
            break
        assert learner.observation.tobytes() == twin.observation.tobytes()
        action = fixed(twin.observation, twin.action_mask, None)
        learner.step(action)
        twin.step(action)
    assert twin.records[0]["deals"] > 1


@pytest.mark.parametrize(
    "seats", [[-1] * 4, [39, 200, 0, 0], [3, 0, 0, 0], [0], [0.0] * 4, [[0, 0], [0, 0]], [True] * 4]
)
def test_tables_show_no_seat_that_is_not_there(seats: Any) -> None:
    tables = Tables(num_seats=3, num_tables=4, seed=1)
    with pytest.raises(GnavError, match="seats must be 4 whole numbers from 0 to 2"):
        tables.observe(np.array(seats))


@pytest.mark.parametrize("rows", [[0, 1, 500_000], [-1], [0.0, 1.0], [True, False, True, True], [1, 1]])
def test_tables_step_no_row_that_is_not_there(rows: Any) -> None:
    tables = Tables(num_seats=3, num_tables=4, seed=1)
    before = tables.records.tobytes()
    with pytest.raises(GnavError, match="rows must"):
        tables.step(np.zeros(4, np.int64), rows=np.array(rows))
    assert tables.records.tobytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": None}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"num_seats": "3"}, "not '3'"),
    ],
)
def test_tables_of_the_impossible_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GnavError, match=message):
        Tables(**options)
    with pytest.raises(GnavError, match="matches must be 2 whole numbers"):
        Tables(num_tables=2).reset(matches=[-1, 0])


def test_illegal_actions_are_errors_that_name_the_rule_and_change_nothing() -> None:
    tables = Tables("forced", 6, 16, seed=1)
    before = tables.records.tobytes()
    with pytest.raises(IllegalAction, match="stand_requires: matador"):
        tables.step(np.zeros(16, np.int64))
    assert tables.records.tobytes() == before
    with pytest.raises(IllegalAction, match=r"0 \(STAND\) or 1 \(EXCHANGE\), not 7"):
        tables.step(np.full(16, 7))
    environment = gymnasium.make("gnav/Gnav-v0", rules="forced", opponents=fixed).unwrapped
    environment.reset(seed=1)
    wrong = int(np.flatnonzero(~environment.action_masks())[0]) if not environment.action_masks().all() else 5
    with pytest.raises(IllegalAction):
        environment.step(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponents": [fixed]}, "opponents must be one, or 5"),
        ({"opponents": "tips"}, "opponents must be one"),
        ({"seat": 6}, "seat must be 0 to 5"),
        ({"reward": "win", "episode": "deal"}, "needs episode='match'"),
        ({"reward": "points"}, "reward must be lives, placement or win"),
        ({"episode": "round"}, "episode must be match or deal"),
        ({"num_tables": 0}, "num_tables must be 1 or more"),
    ],
)
def test_options_that_cannot_be_say_what_would_be_right(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GnavError, match=message):
        LearnerTables(**options)


def test_a_step_after_the_end_asks_for_a_reset() -> None:
    environment = gymnasium.make("gnav/Gnav-v0", num_seats=2, episode="deal", opponents=fixed).unwrapped
    environment.reset(seed=1)
    for _ in range(5):
        if environment.step(0)[2]:
            break
    with pytest.raises(GnavError, match=r"call reset\(\) first"):
        environment.step(0)
