"""A learned agent on disk: it comes back as it was, serves every table, and a bad file is refused."""

import errno
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnav_agents import files
from gnav_agents.agent import Policy
from gnav_agents.learned import LearnedAgent, Network, fit, load_agent, save_agent
from gnav_agents.registry import make_agent
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, piece
from gnav_env.variants import get_rules
from gnav_env.vector import Tables

RULES = get_rules("pagat")
META = {"rules": {"name": "pagat", "hash": RULES.hash}, "seats": [6]}


def make_network(num_seats: int = 6, hidden: tuple[int, ...] = (16, 8), seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    sizes = (num_features(num_seats), *hidden, 2)
    return Network(
        tuple(rng.normal(0, 0.5, pair).astype(np.float32) for pair in pairwise(sizes)),
        tuple(rng.normal(0, 0.5, size).astype(np.float32) for size in sizes[1:]),
    )


def tables_in_play(num_seats: int, num_tables: int = 64, steps: int = 40) -> Tables:
    tables = Tables("pagat", num_seats, num_tables, seed=3)
    rng = np.random.default_rng(3)
    for _ in range(steps):
        tables.step(rng.integers(0, 2, num_tables) & tables.action_mask[:, 1])
    return tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_agent(tmp_path / "agent", make_network(), META)
    return tmp_path / "agent"


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "agent.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_saved_agent_comes_back_as_it_was(folder: Path) -> None:
    tables = tables_in_play(6)
    agent = load_agent(folder, rules="pagat", num_seats=6)
    np.testing.assert_array_equal(agent.network.logits(tables.observation), make_network().logits(tables.observation))


def test_the_forward_pass_is_that_of_a_plain_network() -> None:
    tables, network = tables_in_play(6), make_network()
    values = tables.observation.astype(np.float64)
    for i, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        values = (np.tanh(values) if i else values) @ weight + bias
    np.testing.assert_allclose(network.logits(tables.observation), values, atol=1e-4)


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    observation, network = tables_in_play(6).observation, make_network(hidden=(13, 7))
    alone = np.concatenate([network.logits(observation[b : b + 1]) for b in range(len(observation))])
    np.testing.assert_array_equal(alone, network.logits(observation))


def test_the_forward_pass_leaves_the_observation_alone() -> None:
    observation = tables_in_play(6).observation
    before = observation.copy()
    make_network().logits(observation)
    np.testing.assert_array_equal(observation, before)


@pytest.mark.parametrize("num_seats", [2, 3, 6, 7, 20, 37])
def test_an_agent_trained_at_six_seats_serves_every_table(folder: Path, num_seats: int) -> None:
    tables = tables_in_play(num_seats)
    agent = load_agent(folder, rules="pagat", num_seats=num_seats)
    tables.step(agent.act(tables.observation, tables.action_mask, np.random.default_rng(0)))


def test_a_slot_without_a_seat_looks_like_a_seat_that_is_out() -> None:
    tables = tables_in_play(6, num_tables=256, steps=200)
    lives = piece(tables.observation, "lives")[:, :, 0]
    is_out = (lives[:, 5] == 0) & (lives[:, 4] > 0)
    assert is_out.any()
    observation = tables.observation[is_out]
    np.testing.assert_array_equal(fit(observation[:, : num_features(5)], num_features(6)), observation)


def test_only_legal_actions_have_a_chance() -> None:
    tables = tables_in_play(6)
    mask = np.tile(np.array([[1, 0], [0, 1]], np.int8), (32, 1))
    for greedy in (True, False):
        agent = LearnedAgent(make_network(), greedy=greedy)
        np.testing.assert_array_equal(agent.probabilities(tables.observation, mask), mask)
        np.testing.assert_array_equal(agent.act(tables.observation, mask, np.random.default_rng(0)), mask[:, 1])


def test_the_probabilities_of_a_greedy_agent_are_what_it_plays() -> None:
    tables = tables_in_play(6)
    agent = LearnedAgent(make_network())
    played = agent.act(tables.observation, tables.action_mask, np.random.default_rng(0))
    np.testing.assert_array_equal(agent.probabilities(tables.observation, tables.action_mask)[:, 1], played)
    sampling = LearnedAgent(make_network(), greedy=False)
    assert isinstance(sampling, Policy)
    chances = sampling.probabilities(tables.observation, tables.action_mask)[:, 1]
    assert ((chances > 0) & (chances < 1)).any()
    np.testing.assert_array_equal(chances[tables.action_mask[:, 1] != 0] >= 0.5, played[tables.action_mask[:, 1] != 0])


def test_the_registry_finds_the_agent_by_its_folder(folder: Path) -> None:
    assert isinstance(make_agent(str(folder), "pagat", 6), LearnedAgent)


def test_an_agent_plays_where_torch_and_sb3_are_not_installed(folder: Path) -> None:
    program = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "stable_baselines3", "sb3_contrib", "tensorboard"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
from gnav_agents.registry import make_agent
from gnav_env.vector import Tables

tables = Tables("pagat", 6, 4, seed=1)
agent = make_agent({str(folder)!r}, "pagat", 6)
print(agent.act(tables.observation, tables.action_mask, np.random.default_rng(0)))
"""
    paths = os.pathsep.join(path for path in sys.path if path)
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert result.returncode == 0, result.stderr
    tables = Tables("pagat", 6, 4, seed=1)
    agent = LearnedAgent(make_network())
    assert (
        result.stdout.split()
        == str(agent.act(tables.observation, tables.action_mask, np.random.default_rng(0))).split()
    )


def test_other_rules_are_refused_by_name(folder: Path) -> None:
    with pytest.raises(GnavError, match=r"trained on the ruleset pagat .* cannot play letters"):
        load_agent(folder, rules="letters", num_seats=6)


def test_the_same_rules_under_another_name_are_welcome(folder: Path) -> None:
    assert load_agent(folder, rules="pieces", num_seats=6).greedy


def test_another_version_of_the_observation_is_refused(folder: Path) -> None:
    edit(folder, observation_version=0)
    with pytest.raises(GnavError, match="version 0 of the observation, this Gnav writes version"):
        load_agent(folder, rules="pagat", num_seats=6)


def test_a_folder_without_an_agent_is_refused_and_its_best_is_pointed_out(folder: Path) -> None:
    with pytest.raises(GnavError, match="no learned agent"):
        load_agent(folder / "nowhere", rules="pagat", num_seats=6)
    save_agent(folder.parent / "run" / "best", make_network(), META)
    with pytest.raises(GnavError, match=r"did you mean .*best\?"):
        load_agent(folder.parent / "run", rules="pagat", num_seats=6)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"{}", b'{"format": "x"}', b"\xff\xfe"])
def test_a_damaged_description_is_refused(folder: Path, content: bytes) -> None:
    (folder / "agent.json").write_bytes(content)
    with pytest.raises(GnavError, match=r"agent\.json: "):
        load_agent(folder, rules="pagat", num_seats=6)


def test_damaged_weights_are_refused(folder: Path) -> None:
    path = folder / "agent.safetensors"
    content = path.read_bytes()
    for damaged in (content[:-10], b"", content[:-1] + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(GnavError, match="damaged"):
            load_agent(folder, rules="pagat", num_seats=6)
    path.unlink()
    with pytest.raises(GnavError, match="cannot be read"):
        load_agent(folder, rules="pagat", num_seats=6)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("0.weight", np.zeros((7, 16), np.float32), "features"),
        ("1.weight", np.zeros((3, 8), np.float32), "layer 1 should have a weight of 16 x 8"),
        ("2.bias", np.zeros(3, np.float32), "layer 2"),
        ("1.bias", np.full(8, np.nan, np.float32), "not finite"),
        ("3.bias", np.zeros(3, np.float32), "the tensors should be"),
    ],
)
def test_tensors_that_are_no_network_are_refused(name: str, array: Any, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        Network.from_tensors(make_network().tensors() | {name: array})


def test_a_full_disk_leaves_the_agent_that_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fsync(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fsync)
    with pytest.raises(GnavError, match="No space left on device"):
        save_agent(folder, make_network(seed=1), META)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GnavError, match="cannot be written to"):
        save_agent(tmp_path / "file" / "agent", make_network(), META)
