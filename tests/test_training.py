"""Training: experience is each seat's own, runs repeat and resume exactly, mistakes are named, it learns."""

import json
import random
import signal
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from typer.testing import CliRunner

from gnav_agents.cli import app
from gnav_agents.learned import LearnedAgent, Network, load_agent
from gnav_agents.training.collect import Decisions, Field
from gnav_agents.training.config import LeagueConfig, TrainConfig, read_config, to_yaml
from gnav_agents.training.evaluate import Population
from gnav_agents.training.league import LEARNER, League
from gnav_agents.training.trainer import Trainer, check_folder
from gnav_env.errors import GnavError
from gnav_env.observation import num_features
from gnav_env.variants import get_rules

ROOT = Path(__file__).parent.parent
RULES = get_rules("pagat")
TINY: dict[str, Any] = {
    "name": "tiny",
    "total_decisions": 1_024,
    "tables": 32,
    "network": {"hidden": [8], "value_hidden": [4]},
    "ppo": {"decisions_per_update": 256, "batch_size": 64, "learning_rate": 0.01},
    "league": {"anchors": 1, "agents": ["uniform", "tips"], "snapshot_every": 300, "keep": 2},
    "evaluation": {"every": 512, "opponents": ["uniform", "stand"], "matches": 12},
    "checkpoint": {"every": 512},
}


def tiny(**changes: Any) -> TrainConfig:
    return TrainConfig.model_validate(TINY | changes)


def write_config(path: Path, text: str | None = None) -> Path:
    path.write_text(to_yaml(tiny()) if text is None else text)
    return path


def random_network(num_seats: int = 6, seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    return Network((rng.normal(0, 0.3, (num_features(num_seats), 2)).astype(np.float32),), (np.zeros(2, np.float32),))


def make_field(num_tables: int = 16, num_seats: int = 6, **league: Any) -> Field:
    members = League(LeagueConfig.model_validate(league), RULES, [num_seats])
    members.add_snapshot(random_network(num_seats, seed=1), 0)
    field = Field(RULES, num_seats, num_tables, width=num_features(num_seats), seed=5, league=members)
    field.seat_all(np.random.default_rng(9))
    return field


def metrics(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if not k.startswith("time/")} for line in lines]


def weights(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name / "agent.safetensors").read_bytes() for name in ("best", "final")}


def resume(folder: Path, checkpoint: Path | None) -> bool:
    """True if the run, taken up in another second than it was begun in, is finished.

    TensorBoard orders files of one process and second by a number that it compares as text.
    """
    sleep(1.01)
    return Trainer(tiny(), folder, checkpoint).run().is_finished


def interrupt_at(decisions: int) -> Any:
    """Ctrl-C once so many decisions have been learned from."""

    def on_update(trainer: Trainer) -> None:
        if trainer.decisions >= decisions:
            signal.raise_signal(signal.SIGINT)

    return on_update


@pytest.fixture(autouse=True)
def _no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs; the one in `finished` has its report."""
    monkeypatch.setattr("gnav_agents.training.trainer.write_report", lambda *_: None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    assert Trainer(tiny(), folder, command="gnav train tiny.yaml").run().is_finished
    return folder


# --- experience


def play_and_watch(field: Field, steps: int) -> tuple[Decisions, list[tuple[bytes, int, float]], int]:
    """The decisions that a field reports, those that an onlooker writes down, and how many still wait."""
    told: list[Decisions] = []
    seen: list[tuple[bytes, int, float]] = []
    waiting: dict[tuple[int, int], tuple[bytes, int, int]] = {}
    tables, network, rng = field.tables, random_network(), np.random.default_rng(2)
    balance = np.zeros((tables.num_tables, tables.num_seats))
    play = tables.step

    def step(actions: Any) -> None:
        for b, seat in enumerate(tables.seat.tolist()):
            if field.seating[b, seat] == LEARNER:
                waiting[b, seat] = (tables.observation[b].tobytes(), int(actions[b]), int(balance[b, seat]))
        play(actions)
        balance[:] = tables.balance
        for b in np.flatnonzero(tables.ended_deal).tolist():
            for seat in range(tables.num_seats):
                if (b, seat) in waiting:
                    observation, action, before = waiting.pop((b, seat))
                    seen.append((observation, action, float(tables.balance[b, seat] - before)))
            balance[b] = 0

    tables.step = step  # type: ignore[method-assign]
    for _ in range(steps):
        told.append(field.step(network, rng))
    return Decisions.join(told), seen, len(waiting)


@pytest.mark.parametrize("rules", ["pagat", "tokens", "kille", "campli", "lu_stu", "ranter"])
def test_each_decision_is_paid_what_its_seat_got_from_then_to_the_end_of_the_deal(rules: str) -> None:
    league = League(LeagueConfig(anchors=1, agents=("uniform",)), get_rules(rules), [6])
    league.add_snapshot(random_network(seed=1), 0)
    field = Field(get_rules(rules), 6, 24, width=num_features(6), seed=5, league=league)
    field.seat_all(np.random.default_rng(9))
    told, seen, num_waiting = play_and_watch(field, 150)
    rows = zip(told.observation, told.action.tolist(), told.reward.tolist(), strict=True)
    assert sorted((o.tobytes(), a, r) for o, a, r in rows) == sorted(seen)
    assert len(seen) > 500
    assert num_waiting == field.waits.sum()
    assert set(told.reward.tolist()) >= {0.0, -1.0}


def test_only_seats_that_learn_leave_decisions() -> None:
    everybody, some = make_field(mirror=1, snapshots=0), make_field(mirror=0, snapshots=1, opponents=0.9)
    told = [play_and_watch(field, 100)[0] for field in (everybody, some)]
    assert len(told[0]) > 2 * len(told[1]) > 0


def test_decisions_share_no_memory_with_what_is_written_later() -> None:
    field, rng = make_field(), np.random.default_rng(0)
    parts = [field.step(random_network(), rng) for _ in range(12)]
    copies = [part.observation.copy() for part in parts]
    for part in parts:
        assert not np.shares_memory(part.observation, field.observation)
        assert not np.shares_memory(part.observation, field.tables.observation)
    for _ in range(12):
        field.step(random_network(), rng)
    for part, copy in zip(parts, copies, strict=True):
        np.testing.assert_array_equal(part.observation, copy)


def test_the_buffer_holds_episodes_of_one_step() -> None:
    model = Trainer(tiny(), Path("unused")).model
    model.collect_rollouts(None, None, model.rollout_buffer)
    buffer = model.rollout_buffer
    assert buffer.episode_starts.all()
    np.testing.assert_allclose(buffer.advantages, buffer.rewards - buffer.values, atol=1e-6)
    np.testing.assert_allclose(buffer.returns, buffer.rewards, atol=1e-6)
    assert model.num_timesteps == 256


def test_collection_and_optimiser_agree_on_the_policy() -> None:
    model = Trainer(tiny(), Path("unused")).model
    model.collect_rollouts(None, None, model.rollout_buffer)
    for batch in model.rollout_buffer.get(64):
        _, log_prob, _ = model.policy.evaluate_actions(
            batch.observations, batch.actions.long().flatten(), action_masks=batch.action_masks
        )
        np.testing.assert_allclose(log_prob.detach(), batch.old_log_prob, atol=1e-5)


def test_no_decision_is_lost_between_updates() -> None:
    trainer = Trainer(tiny(), Path("unused"))
    model = trainer.model
    made = 0
    for field in model.fields:
        play = field.step

        def step(network: Network, rng: np.random.Generator, play: Any = play) -> Decisions:
            nonlocal made
            decisions = play(network, rng)
            made += len(decisions)
            return decisions

        field.step = step
    for _ in range(3):
        model.collect_rollouts(None, None, model.rollout_buffer)
    assert made == 3 * 256 + sum(map(len, model.surplus))


# --- league


def test_snapshots_do_not_learn_on() -> None:
    model = Trainer(tiny(), Path("unused")).model
    snapshot = model.network()
    before = {name: array.copy() for name, array in snapshot.tensors().items()}
    model.iterate(1_024)
    for name, array in snapshot.tensors().items():
        np.testing.assert_array_equal(array, before[name])
        assert not np.array_equal(array, model.network().tensors()[name]) or not array.any()


def test_tables_with_opponents_have_a_learner_and_an_opponent() -> None:
    league = League(LeagueConfig(anchors=1, agents=("uniform", "tips"), opponents=0.9), RULES, [3])
    league.add_snapshot(random_network(3), 0)
    kinds = league.table_kinds(300)
    assert np.bincount(kinds).tolist() == [100, 100, 100]
    seating = league.seat(kinds, 3, np.random.default_rng(0))
    assert (seating[kinds == 0] == LEARNER).all()
    assert (seating == LEARNER).any(axis=1).all()
    assert (seating[kinds > 0] != LEARNER).any(axis=1).all()
    assert set(np.unique(seating[kinds == 1])) == {LEARNER, 2}
    assert set(np.unique(seating[kinds == 2])) == {LEARNER, 0, 1}


def test_opponents_that_are_hard_to_outlive_come_more_often() -> None:
    league = League(LeagueConfig(anchors=1, agents=("uniform", "tips"), focus=2), RULES, [2])
    place = np.tile([1, 2], (200, 1))
    league.record(np.tile(np.array([LEARNER, 0], np.int16), (200, 1)), place)
    league.record(np.tile(np.array([LEARNER, 1], np.int16), (200, 1)), 3 - place)
    assert league.outlive()[0] > 0.9 > 0.1 > league.outlive()[1]
    seating = league.seat(np.full(500, 2, np.int8), 2, np.random.default_rng(0))
    assert (seating == 1).sum() > 10 * (seating == 0).sum()


def test_a_tie_counts_half_for_outliving() -> None:
    league = League(LeagueConfig(anchors=1, agents=("uniform",)), RULES, [3])
    league.record(np.array([[LEARNER, 0, 0]], np.int16), np.array([[2, 2, 1]], np.int8))
    assert (league.compared[0], league.outlived[0]) == (2, 0.5)


def test_a_new_snapshot_takes_the_place_of_the_oldest() -> None:
    league = League(LeagueConfig(keep=2), RULES, [6])
    for age in (0, 10, 20, 30):
        league.add_snapshot(random_network(seed=age), age)
    assert sorted(league.ages) == [20, 30]
    assert league.names == ["snapshot:20", "snapshot:30"]


# --- evaluation


def test_an_agent_among_its_equals_is_at_par() -> None:
    config = tiny(evaluation={"opponents": ["tips"], "matches": 600}).evaluation
    population = Population(config, RULES, [6])
    from gnav_agents.registry import make_agent

    result = population.evaluate(make_agent("tips", "pagat", 6))
    assert result.wins == pytest.approx(1)  # every shoe from every seat: exact for an agent without chance
    assert result.outlive == pytest.approx(0.5)
    assert result.lives_lost == pytest.approx(result.rivals_lives_lost)
    assert population.evaluate(make_agent("tips", "pagat", 6)) == result


def test_an_evaluation_tells_good_from_bad() -> None:
    from gnav_agents.registry import make_agent

    population = Population(tiny(evaluation={"opponents": ["uniform"], "matches": 120}).evaluation, RULES, [2, 5])
    good, bad = (population.evaluate(make_agent(name, "pagat", 5)) for name in ("tips", "exchange"))
    assert good.outlive > 0.5 > bad.outlive
    assert good.lives_lost < bad.lives_lost


# --- runs


def test_the_same_seed_gives_the_same_metrics_and_weights(finished: Path, tmp_path: Path) -> None:
    Trainer(tiny(), tmp_path / "again").run()
    assert metrics(tmp_path / "again") == metrics(finished)
    assert weights(tmp_path / "again") == weights(finished)
    Trainer(tiny(seed=1), tmp_path / "other").run()
    assert weights(tmp_path / "other") != weights(finished)


def test_global_generators_are_not_touched(tmp_path: Path) -> None:
    before = (
        random.getstate(),
        str(np.random.get_state()),
        torch.random.get_rng_state(),
        torch.get_num_threads(),
    )
    Trainer(tiny(total_decisions=512, threads=1), tmp_path / "run").run()
    assert random.getstate() == before[0]
    assert str(np.random.get_state()) == before[1]
    assert torch.equal(torch.random.get_rng_state(), before[2])
    assert torch.get_num_threads() == before[3]


def test_global_generators_do_not_matter(finished: Path, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(99)
        np.random.seed(99)
        random.seed(99)
        Trainer(tiny(), tmp_path / "run").run()
    assert weights(tmp_path / "run") == weights(finished)


def test_a_run_that_was_stopped_and_resumed_is_the_run_that_never_stopped(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    outcome = Trainer(tiny(), folder).run(interrupt_at(768))
    assert (outcome.is_finished, outcome.decisions) == (False, 768)
    assert not (folder / "final").exists()
    checkpoint = check_folder(folder, tiny(), resume=True, overwrite=False)
    assert resume(folder, checkpoint)
    assert metrics(folder) == metrics(finished)
    assert weights(folder) == weights(finished)
    assert curve(folder) == curve(finished)


def test_a_run_can_be_stopped_before_it_has_learned_anything(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, evaluate = tmp_path / "run", Population.evaluate

    def evaluate_and_interrupt(population: Population, learner: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return evaluate(population, learner)

    with monkeypatch.context() as patch:
        patch.setattr(Population, "evaluate", evaluate_and_interrupt)
        assert Trainer(tiny(), folder).run().decisions == 0
    Trainer(tiny(), folder, check_folder(folder, tiny(), resume=True, overwrite=False)).run()
    assert metrics(folder) == metrics(finished)
    assert weights(folder) == weights(finished)


def test_a_run_that_was_killed_goes_on_from_its_checkpoint_on_one_axis(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"

    class Killed(Exception):
        pass

    def kill(trainer: Trainer) -> None:
        if trainer.decisions == 768:
            raise Killed

    with pytest.raises(Killed):
        Trainer(tiny(), folder).run(kill)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"decisions": 77')
    checkpoint = check_folder(folder, tiny(), resume=True, overwrite=False)
    assert checkpoint is not None
    assert checkpoint.name == f"{512:012d}"
    assert resume(folder, checkpoint)
    assert metrics(folder) == metrics(finished)
    assert weights(folder) == weights(finished)
    assert curve(folder) == curve(finished)


def curve(folder: Path, name: str = "collect/lives_lost") -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_the_curves_are_counted_in_decisions(finished: Path) -> None:
    assert [step for step, _ in curve(finished)] == [256, 512, 768, 1_024]
    assert [step for step, _ in curve(finished, "population/outlive")] == [0, 512, 1_024]


def test_a_run_can_be_trained_further(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Trainer(tiny(), folder).run()
    longer = tiny(total_decisions=1_536)
    Trainer(longer, folder, check_folder(folder, longer, resume=True, overwrite=False)).run()
    assert [line["decisions"] for line in metrics(folder)] == [0, *range(256, 1_537, 256)]
    assert read_config(folder / "config.yaml") == longer


def test_a_resumed_run_keeps_its_config(finished: Path) -> None:
    other = tiny(ppo=TINY["ppo"] | {"clip": 0.3})
    with pytest.raises(GnavError, match=r"ppo\.clip was 0\.2 and is now 0\.3"):
        check_folder(finished, other, resume=True, overwrite=False)


def test_a_damaged_checkpoint_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Trainer(tiny(total_decisions=512), folder).run()
    checkpoint = check_folder(folder, tiny(total_decisions=512), resume=True, overwrite=False)
    assert checkpoint is not None
    path = checkpoint / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(GnavError, match=r"damaged .* delete it"):
        Trainer(tiny(total_decisions=512), folder, checkpoint)


def test_both_agents_of_a_run_can_be_loaded_and_say_where_they_come_from(finished: Path) -> None:
    for name in ("best", "final"):
        assert isinstance(load_agent(finished / name, rules="pagat", num_seats=6), LearnedAgent)
        about = json.loads((finished / name / "agent.json").read_text())
        assert about["seats"] == [6]
        assert about["training"]["total_decisions"] == 1_024
        assert set(about["results"]["outlive_by_opponent"]) == {"uniform", "stand"}
        assert about["versions"]["torch"]


def test_a_run_leaves_no_pickles(finished: Path) -> None:
    kinds = {path.suffix for path in finished.rglob("*") if path.is_file() and path.parent.name != "tensorboard"}
    assert kinds == {".yaml", ".json", ".jsonl", ".safetensors", ".md", ".png"}
    assert len(list((finished / "checkpoints").iterdir())) == 2


def test_the_report_says_how_the_run_can_be_repeated(finished: Path) -> None:
    text = (finished / "report.md").read_text()
    for part in (
        "gnav train tiny.yaml",
        "seed 0",
        "1,024 decisions",
        "`pagat`",
        "outlives `uniform`",
        "progress.png",
    ):
        assert part in text


def test_tables_of_several_sizes_train_one_agent(tmp_path: Path) -> None:
    config = tiny(seats=[4, 2], total_decisions=512, tables=31)
    trainer = Trainer(config, tmp_path / "run")
    assert [field.tables.num_tables for field in trainer.model.fields] == [16, 15]
    trainer.run()
    agent = load_agent(tmp_path / "run" / "best", rules="pagat", num_seats=9)
    assert agent.network.width == num_features(4)


def test_a_small_budget_already_beats_chance(tmp_path: Path) -> None:
    config = tiny(
        total_decisions=40_960,
        tables=256,
        network={"hidden": [32], "value_hidden": [16]},
        ppo={"decisions_per_update": 4_096, "batch_size": 256, "learning_rate": 0.005, "epochs": 2},
        league={"anchors": 1, "agents": ["uniform"]},
        evaluation={"every": 1_000_000, "opponents": ["uniform"], "matches": 1_200},
    )
    outcome = Trainer(config, tmp_path / "run").run()
    before = metrics(tmp_path / "run")[0]
    assert outcome.evaluation.wins > 1.8
    assert outcome.evaluation.outlive > 0.65 > before["population/outlive"]
    assert outcome.evaluation.lives_lost < outcome.evaluation.rivals_lives_lost - 0.05


# --- config


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "train").glob("*.yaml")), ids=lambda path: path.name)
def test_the_configs_that_come_with_gnav_can_be_run(path: Path) -> None:
    config = read_config(path)
    assert config.name == path.stem
    Trainer(config.model_copy(update={"tables": 8}), Path("unused"))


def test_a_config_comes_back_from_yaml_as_it_was(tmp_path: Path) -> None:
    assert read_config(write_config(tmp_path / "tiny.yaml")) == tiny()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: a\ntotal_decision: 5\n",
            r"a\.yaml:2: unknown key 'total_decision' \(did you mean 'total_decisions'\?\)",
        ),
        (
            "name: a\ntotal_decisions: 5\nppo:\n  clip: 0.1\n  lerning_rate: 1\n",
            r"a\.yaml:5: unknown key 'ppo\.lerning_rate' \(did you mean 'learning_rate'\?\)",
        ),
        ("name: a\n", r"a\.yaml: the key 'total_decisions' is missing"),
        ("name: a\ntotal_decisions: 0\n", r"a\.yaml:2: total_decisions is 0: .*greater than or equal to 1"),
        ("name: a\ntotal_decisions: many\n", r"a\.yaml:2: total_decisions is 'many': .*integer"),
        ("name: a/b\ntotal_decisions: 9\n", r"a\.yaml:1: name is 'a/b'"),
        ("name: a\ntotal_decisions: 9\nobjective: lives\n", r"a\.yaml:3: objective is 'lives': .*'deal' or 'match'"),
        (
            "name: a\ntotal_decisions: 9\nppo:\n  batch_size: 1e6\n",
            r"a\.yaml:3: ppo: batch_size must be at most",
        ),
        ("name: a\ntotal_decisions: 9\nleague:\n  anchors: 1\n", r"a\.yaml:3: league: .*agents: \[tips\]"),
        ("name: a\ntotal_decisions: 9\nseats: [6, 6]\n", r"a\.yaml:3: seats: each number of seats once"),
        ("- 1\n", r"a\.yaml:1: a mapping was expected"),
        ("name: [\n", r"a\.yaml:.* this is not YAML"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        read_config(write_config(tmp_path / "a.yaml", text))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    write_config(tmp_path / "there.yaml")
    with pytest.raises(GnavError, match=r"no such file; that folder has there\.yaml"):
        read_config(tmp_path / "a.yaml")


def test_values_can_be_set_from_outside(tmp_path: Path) -> None:
    path = write_config(tmp_path / "tiny.yaml")
    config = read_config(path, ["ppo.clip=0.3", "seats=[3, 4]", "league.agents=[tips]", "total_decisions=1e6"], seed=7)
    assert (config.ppo.clip, config.seats, config.seed) == (0.3, (3, 4), 7)
    assert (config.league.agents, config.total_decisions) == (("tips",), 1_000_000)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.lerning_rate=1", r"--set ppo\.lerning_rate=1: unknown key .*did you mean 'learning_rate'"),
        ("ppo.clip=no", r"--set ppo\.clip=no: ppo\.clip is 'no'"),
        ("ppo.clip", "write KEY=VALUE"),
        ("name.x=1", r"--set name\.x=1: name is a value, not a section"),
        ("seats=[", "the value is not YAML"),
    ],
)
def test_a_mistake_in_a_set_value_is_named(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        read_config(write_config(tmp_path / "tiny.yaml"), [override])


# --- command


def gnav(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = write_config(tmp_path / "tiny.yaml")
    before = sorted(tmp_path.rglob("*"))
    result = gnav("train", path, "--dry-run", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "batch_size: 64" in result.output
    assert "4 updates of 256 decisions each" in result.output
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("league.agents=[tipz]", "tips"),
        ("evaluation.opponents=[nobody]", "nobody"),
        ("rules=pagatt", "pagat"),
        ("seats=99", "seats must be 2 to"),
    ],
)
def test_a_dry_run_finds_what_only_shows_when_things_are_made(tmp_path: Path, change: str, message: str) -> None:
    path = write_config(tmp_path / "tiny.yaml")
    result = gnav("train", path, "--dry-run", "--out", tmp_path / "run", "--set", change)
    assert isinstance(result.exception, GnavError)
    assert message in str(result.exception)


def test_the_command_trains_and_says_what_came_of_it(tmp_path: Path) -> None:
    path, folder = write_config(tmp_path / "tiny.yaml"), tmp_path / "run"
    result = gnav("train", path, "--out", folder)
    assert result.exit_code == 0, result.output
    assert "outlives uniform" in result.output
    with pytest.raises(GnavError, match="continue it with --resume, replace it with --overwrite"):
        raise gnav("train", path, "--out", folder).exception
    result = gnav("train", path, "--out", folder, "--resume")
    assert result.exit_code == 0
    assert "is finished, with 1,024 decisions" in " ".join(result.output.split())
    (folder / "notes.txt").write_text("mine")
    assert gnav("train", path, "--out", folder, "--overwrite", "--set", "total_decisions=256").exit_code == 0
    assert len(metrics(folder)) == 2
    assert (folder / "notes.txt").read_text() == "mine"


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, run = write_config(tmp_path / "tiny.yaml"), Trainer.run
    monkeypatch.setattr(Trainer, "run", lambda trainer, _: run(trainer, interrupt_at(512)))
    result = gnav("train", path, "--out", tmp_path / "run", "--seed", 3)
    assert result.exit_code == 130
    assert "Stopped after 512 decisions" in result.output
    assert "--seed 3" in result.output
    assert result.output.rstrip().endswith("--resume")


def test_a_folder_that_is_no_run_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    for words in ({"resume": False, "overwrite": True}, {"resume": True, "overwrite": False}):
        with pytest.raises(GnavError, match="is not a training run"):
            check_folder(tmp_path / "thesis", tiny(), **words)
    with pytest.raises(GnavError, match="no checkpoint to resume from"):
        check_folder(tmp_path / "nothing", tiny(), resume=True, overwrite=False)


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GnavError, match="cannot be written to"):
        Trainer(tiny(), tmp_path / "file" / "run").run()
