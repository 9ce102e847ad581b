"""The objective `match`: decisions are paid by how the chance to win has grown, and over a match that adds up."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnav_agents.learned import Network
from gnav_agents.solve.match import solve_match
from gnav_agents.solve.match_file import MatchValues
from gnav_agents.training.collect import Field
from gnav_agents.training.config import LeagueConfig, TrainConfig, read_config
from gnav_agents.training.league import League
from gnav_agents.training.potential import Potential
from gnav_agents.training.trainer import Trainer, check_folder
from gnav_env.effects import Effect
from gnav_env.errors import GnavError
from gnav_env.observation import num_features
from gnav_env.rules import Rules, Special
from gnav_env.variants import get_rules

TINY = Rules(
    name="tiny",
    deck={"dragon": 1, "house": 1, "4": 1, "3": 2, "2": 1, "fool": 2},
    effects={"dragon": Effect(refuse=True, pay=1), "house": Effect(redirect=True)},
    specials=(Special(rank="fool", count=1, holder="lose", sit_out=True),),
    knock="dealt",
    lives=2,
    direction="anticlockwise",
)
SEATS = 3


@pytest.fixture(scope="module")
def values() -> MatchValues:
    return solve_match(TINY, SEATS)


@pytest.fixture(scope="module")
def pagat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The values of a match of two seats."""
    path = tmp_path_factory.mktemp("values") / "values.json"
    solve_match(get_rules("pagat"), 2).save(path)
    return path


def make_field(potential: Potential | None) -> Field:
    members = League(LeagueConfig(snapshots=0), TINY, [SEATS])
    width = num_features(SEATS)
    field = Field(TINY, SEATS, 24, width=width, seed=5, league=members, potential=potential)
    field.seat_all(np.random.default_rng(9))
    return field


def network() -> Network:
    rng = np.random.default_rng(1)
    return Network((rng.normal(0, 0.3, (num_features(SEATS), 2)).astype(np.float32),), (np.zeros(2, np.float32),))


def chances(record: Any, values: MatchValues) -> list[float]:
    """What the values say of a table whose deal has just begun, looked up by hand."""
    seats, order = record["seats"], list[int]()
    for step in range(1, SEATS + 1):
        seat = (int(record["dealer"]) - step) % SEATS
        if seats[seat]["lives"] > 0:
            order.append(seat)
    found = [0.0] * SEATS
    lives = [int(seats[seat]["lives"]) for seat in order]
    for seat, chance in zip(order, values.value(lives, [seats[s]["hand"] < 0 for s in order]), strict=True):
        found[seat] = float(chance)
    return found


def test_a_decision_is_paid_what_the_deal_has_added_to_the_chance_of_its_seat(values: MatchValues) -> None:
    field = make_field(Potential(values, TINY, SEATS))
    rng = np.random.default_rng(3)
    before = [chances(record, values) for record in field.tables.records]
    deciders: list[list[int]] = [[] for _ in before]
    num_paid = 0
    for _ in range(150):
        for b, seat in enumerate(field.tables.seat.tolist()):
            deciders[b].append(seat)
        decisions = field.step(network(), rng)
        expected: list[float] = []
        for b in np.flatnonzero(field.tables.ended_deal):
            now = chances(field.tables.records[b], values)
            winners = np.flatnonzero(field.tables.place[b] == 1)
            won = [float(seat in winners) / max(1, len(winners)) for seat in range(SEATS)]
            after = won if field.tables.ended_match[b] else now
            expected += [after[seat] - before[b][seat] for seat in sorted(deciders[b])]
            before[b], deciders[b] = now, []
        assert decisions.reward == pytest.approx(expected, abs=1e-6)
        num_paid += len(expected)
    assert num_paid > 1_000


def test_over_a_match_the_payments_of_a_seat_add_up_to_winning_or_not(values: MatchValues) -> None:
    field = make_field(Potential(values, TINY, SEATS))
    rng = np.random.default_rng(3)
    first, total, num_matches = field.chance.copy(), np.zeros_like(field.chance), 0
    for _ in range(100):
        held = field.chance.copy()
        field.step(network(), rng)
        for b in range(len(held)):
            if field.tables.ended_match[b]:
                won = field.tables.place[b] == 1
                total[b] += won / won.sum() - held[b]
                assert total[b] == pytest.approx(won / won.sum() - first[b], abs=1e-12)
                first[b], total[b] = field.chance[b], 0
                num_matches += 1
            elif field.tables.ended_deal[b]:
                total[b] += field.chance[b] - held[b]
    assert num_matches > 50


def test_without_values_lives_are_what_counts() -> None:
    field = make_field(None)
    rewards = np.concatenate([field.step(network(), np.random.default_rng(i)).reward for i in range(30)])
    assert set(rewards.tolist()) == {-2, -1, 0} or set(rewards.tolist()) == {-1, 0}


def tiny(**changes: Any) -> TrainConfig:
    settings: dict[str, Any] = {
        "name": "tiny",
        "objective": "match",
        "seats": [2],
        "total_decisions": 512,
        "tables": 16,
        "network": {"hidden": [8], "value_hidden": [4]},
        "ppo": {"decisions_per_update": 128, "batch_size": 64},
        "league": {"snapshots": 0},
        "evaluation": {"every": 512, "opponents": ["uniform"], "matches": 8},
        "checkpoint": {"every": 256},
    }
    return TrainConfig.model_validate(settings | changes)


def weights(folder: Path) -> bytes:
    return (folder / "final" / "agent.safetensors").read_bytes()


def test_a_run_for_the_match_that_was_resumed_is_the_run_that_never_stopped(
    pagat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnav_agents.training.trainer.write_report", lambda *_: None)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    config = tiny(match_values=str(pagat))
    Trainer(config, whole).run()
    Trainer(config, stopped).run(lambda run: signal.raise_signal(signal.SIGINT) if run.decisions == 256 else None)
    assert not (stopped / "final").exists()
    Trainer(config, stopped, check_folder(stopped, config, resume=True, overwrite=False)).run()
    assert weights(whole) == weights(stopped)
    assert '"collect/chance_lost"' in (whole / "metrics.jsonl").read_text()


def test_values_of_other_rules_or_smaller_tables_are_refused(pagat: Path, tmp_path: Path) -> None:
    with pytest.raises(GnavError, match=r"match_values: are of the ruleset pagat .*, not of letters"):
        Trainer(tiny(match_values=str(pagat), rules="letters", seats=[3]), tmp_path / "a")
    with pytest.raises(GnavError, match="match_values: are for 2 to 2 seats, not 3"):
        Trainer(tiny(match_values=str(pagat), seats=[2, 3]), tmp_path / "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\ntotal_decisions: 9\nobjective: match\n", "objective match needs match_values"),
        ("name: a\ntotal_decisions: 9\nmatch_values: v.json\n", "match_values are for the objective match, not deal"),
        ("name: a\ntotal_decisions: 9\nobjective: lives\n", r"a\.yaml:3: objective is 'lives': .*'deal' or 'match'"),
    ],
)
def test_a_mistake_about_the_objective_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(GnavError, match=message):
        read_config(tmp_path / "a.yaml")
