"""Agents out of other people's things: PettingZoo players, files of Stable-Baselines3, TorchScript and ONNX, hosts."""

import base64
import gc
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from gnav_agents.foreign import ForeignCodeWarning, PettingZooPlayer
from gnav_agents.hosted import Hosted
from gnav_agents.learned import Network
from gnav_agents.registry import describe_agents, is_foreign, make_agent
from gnav_agents.sb3_zip import algorithm_of
from gnav_env import VARIANTS, GnavError, aec
from gnav_env.observation import num_features
from gnav_env.reading import rules_from_dict

PLAYERS = """
import numpy as np

def follow(observation):
    assert observation["observation"].dtype == np.float32 and observation["action_mask"].dtype == np.int8
    observation["observation"][:] = 7
    return observation["action_mask"].argmax()

class Careful:
    def __init__(self, num_seats):
        self.num_seats = num_seats

    def act(self, observation):
        return int(observation["observation"][0] > 0.5)

class Vague:
    def __call__(self, observation):
        return 0.5

class Breaks:
    def __init__(self):
        raise OSError("no fuel")

def exits(rules):
    raise SystemExit(3)

class Hangs:
    def act(self, observation, action_mask, rng):
        while True:
            pass

class Plain:
    def act(self, observation, action_mask, rng):
        return action_mask.argmax(axis=1)

number = 7
"""


@pytest.fixture
def _players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current directory has a module `players`."""
    (tmp_path / "players.py").write_text(PLAYERS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "players", raising=False)


def questions(num_seats: int, num_rows: int = 40) -> tuple[Any, Any]:
    """Random observations and masks; both actions are legal in the first half."""
    rng = np.random.default_rng(5)
    mask = np.ones((num_rows, 2), np.int8)
    mask[num_rows // 2 :: 2, 0] = 0
    mask[num_rows // 2 + 1 :: 2, 1] = 0
    return rng.random((num_rows, num_features(num_seats)), np.float32), mask


def network(num_seats: int) -> Network:
    """A network of one layer."""
    rng = np.random.default_rng(9)
    width = num_features(num_seats)
    weight = (rng.standard_normal((width, 2)) / 5).astype(np.float32)
    return Network((weight,), (np.array([0.3, -0.2], np.float32),))


# --------------------------------------------------------------------------------------------- PettingZoo


@pytest.mark.usefixtures("_players")
def test_a_function_of_an_observation_plays_row_by_row_on_copies() -> None:
    agent = make_agent("pettingzoo:players:follow")
    observation, mask = questions(6)
    before = observation.copy()
    actions = agent.act(observation, mask, np.random.default_rng(0))
    assert (actions.dtype, actions.tolist()) == (np.int64, mask.argmax(axis=1).tolist())
    assert (observation == before).all()


@pytest.mark.usefixtures("_players")
def test_a_class_with_act_is_made_for_the_table_and_plays() -> None:
    agent: Any = make_agent("pettingzoo:players:Careful", num_seats=4)
    observation, mask = questions(4)
    actions = agent.act(observation, mask, np.random.default_rng(0))
    assert actions.tolist() == (observation[:, 0] > 0.5).astype(int).tolist()


@pytest.mark.usefixtures("_players")
def test_a_player_of_pettingzoo_is_a_function_or_acts() -> None:
    with pytest.raises(GnavError, match=r"agent pettingzoo:players:number: .* a method act, not int"):
        make_agent("pettingzoo:players:number")
    with pytest.raises(GnavError, match=r"agent pettingzoo:players:Breaks: .* OSError: no fuel"):
        make_agent("pettingzoo:players:Breaks")
    with pytest.raises(GnavError, match=r"module players has no folow .*did you mean 'follow'"):
        make_agent("pettingzoo:players:folow")
    vague = make_agent("pettingzoo:players:Vague")
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        vague.act(*questions(6), np.random.default_rng(0))


def test_a_player_sees_what_the_environment_shows() -> None:
    env = aec.env()
    seen: list[Any] = []
    player = PettingZooPlayer(lambda observation: seen.append(observation) or 0)
    env.reset(seed=1)
    shown = env.last()[0]
    player.act(shown["observation"][np.newaxis], shown["action_mask"][np.newaxis], np.random.default_rng(0))
    assert seen[0].keys() == shown.keys()
    assert all((seen[0][key] == shown[key]).all() and seen[0][key].dtype == shown[key].dtype for key in shown)


# ----------------------------------------------------------------------------------------- Stable-Baselines3


class _Env(gymnasium.Env[Any, Any]):
    """Spaces to make a model for."""

    def __init__(self, observation_space: spaces.Space[Any], num_actions: int = 2) -> None:
        self.observation_space = observation_space
        self.action_space = spaces.Discrete(num_actions)


def flat(num_seats: int) -> spaces.Box:
    return spaces.Box(0, 51, (num_features(num_seats),), np.float32)


def small(algorithm: str, space: spaces.Space[Any], num_actions: int = 2) -> Any:
    """A model without training."""
    import sb3_contrib
    import stable_baselines3

    makers = stable_baselines3 if hasattr(stable_baselines3, algorithm) else sb3_contrib
    policy = {"RecurrentPPO": "MlpLstmPolicy"}.get(algorithm, "MlpPolicy")
    if isinstance(space, spaces.Dict):
        policy = "MultiInputPolicy"
    options = {"buffer_size": 10} if "DQN" in algorithm else {}
    env = _Env(space, num_actions)
    return getattr(makers, algorithm)(policy, env, policy_kwargs={"net_arch": [8]}, device="cpu", **options)


def trusted(path: Path, num_seats: int = 6) -> Any:
    with pytest.warns(ForeignCodeWarning, match="runs whatever code is in them; it is trusted"):
        return make_agent(str(path), "pagat", num_seats, trust=True)


@pytest.mark.parametrize("algorithm", ["MaskablePPO", "PPO", "A2C", "DQN"])
def test_a_model_of_stable_baselines3_plays_as_it_does_there(algorithm: str, tmp_path: Path) -> None:
    model = small(algorithm, flat(6))
    model.save(tmp_path / "model.zip")
    assert algorithm_of(tmp_path / "model.zip") == algorithm
    agent = trusted(tmp_path / "model.zip")
    observation, mask = questions(6)
    probabilities = agent.probabilities(observation, mask)
    assert (probabilities[mask == 0] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    best = model.predict(observation[:20], deterministic=True)[0]
    assert probabilities[:20].argmax(axis=1).tolist() == best.tolist()
    tensor = model.policy.obs_to_tensor(observation)[0]
    if algorithm == "DQN":
        assert set(probabilities.flat) == {0, 1}
    elif algorithm == "MaskablePPO":
        theirs = model.policy.get_distribution(tensor, mask).distribution.probs.detach().numpy()
        np.testing.assert_allclose(probabilities, theirs, atol=1e-6)
    else:
        theirs = model.policy.get_distribution(tensor).distribution.probs.detach().numpy()
        np.testing.assert_allclose(probabilities[:20], theirs[:20], atol=1e-6)


def test_a_model_that_sees_the_mask_is_shown_it(tmp_path: Path) -> None:
    space = spaces.Dict({"observation": flat(6), "action_mask": spaces.MultiBinary(2)})
    model = small("PPO", space)
    model.save(tmp_path / "model.zip")
    observation, mask = questions(6)
    probabilities = trusted(tmp_path / "model.zip").probabilities(observation, mask)
    seen = model.policy.obs_to_tensor({"observation": observation, "action_mask": mask})[0]
    theirs = model.policy.get_distribution(seen).distribution.probs.detach().numpy()
    np.testing.assert_allclose(probabilities[:20], theirs[:20], atol=1e-6)


def test_a_model_made_for_other_tables_is_fitted(tmp_path: Path) -> None:
    model = small("PPO", flat(4))
    model.save(tmp_path / "model.zip")
    observation, mask = questions(6)
    theirs = model.predict(observation[:20, : num_features(4)], deterministic=True)[0]
    probabilities = trusted(tmp_path / "model.zip", 6).probabilities(observation, mask)
    assert probabilities[:20].argmax(axis=1).tolist() == theirs.tolist()
    assert trusted(tmp_path / "model.zip", 3).probabilities(*questions(3)).shape == (40, 2)


@pytest.mark.parametrize(
    ("algorithm", "space", "num_actions", "message"),
    [
        ("PPO", spaces.Box(0, 1, (7,), np.float32), 2, "an observation has .* features .*, not 7"),
        ("PPO", spaces.Discrete(7), 2, r"observation space Discrete\(7\); it should be our observation"),
        ("PPO", flat(6), 3, r"action space Discrete\(3\); it should be Discrete\(2\)"),
        ("RecurrentPPO", flat(6), 2, "its policy is of sb3_contrib.common.recurrent.policies; what can play"),
        ("QRDQN", flat(6), 2, "its policy is of sb3_contrib.qrdqn.policies; what can play"),
    ],
)
def test_a_model_that_cannot_play_is_refused_with_a_reason(
    algorithm: str, space: Any, num_actions: int, message: str, tmp_path: Path
) -> None:
    small(algorithm, space, num_actions).save(tmp_path / "model.zip")
    with pytest.raises(GnavError, match=f"agent .*model.zip: .*{message}"), pytest.warns(ForeignCodeWarning):
        make_agent(str(tmp_path / "model.zip"), trust=True)


class _Touches:
    """A pickle of it makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_code_in_a_model_runs_with_trust_and_not_without(tmp_path: Path) -> None:
    good, bad, trace = tmp_path / "good.zip", tmp_path / "bad.zip", tmp_path / "trace"
    small("PPO", flat(6)).save(good)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "data":
                data = json.loads(content)
                code = base64.b64encode(pickle.dumps(_Touches(trace))).decode()
                data["tensorboard_log"] = {":type:": "code", ":serialized:": code}
                content = json.dumps(data).encode()
            target.writestr(name, content)
    assert algorithm_of(bad) == "PPO"
    with pytest.raises(GnavError, match=r"bad.zip: .* pickles, .* allow it with --trust \(trust=True in Python\)"):
        make_agent(str(bad))
    with pytest.raises(GnavError, match="allow it with --trust"):
        Hosted(str(bad), "pagat", 6, time_limit=20)
    assert not trace.exists()
    trusted(bad)
    assert trace.exists()


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (".zip", "it is no model of Stable-Baselines3"),
        (".pt", "it is no TorchScript module"),
        (".onnx", "it is no ONNX network"),
    ],
)
@pytest.mark.filterwarnings("ignore::gnav_agents.foreign.ForeignCodeWarning")
def test_a_file_of_something_else_is_refused(suffix: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / f"agent{suffix}"
    with pytest.raises(GnavError, match="there is no such file"):
        make_agent(str(path), trust=True)
    path.write_bytes(b"something else")
    with pytest.raises(GnavError, match=f"agent .*: {message}"):
        make_agent(str(path), trust=True)


# --------------------------------------------------------------------------------------- TorchScript and ONNX


def save_script(path: Path, layers: Network) -> None:
    import torch

    linear = torch.nn.Linear(layers.width, 2)
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(layers.weights[0].T.copy()))
        linear.bias.copy_(torch.from_numpy(layers.biases[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(linear), str(path))


def save_onnx(path: Path, layers: Network, *, rows: Any = "batch", width: Any = None, kind: int = 1) -> None:
    from onnx import helper, numpy_helper, save

    graph = helper.make_graph(
        [helper.make_node("Gemm", ["seen", "weight", "bias"], ["logits"])],
        "network",
        [helper.make_tensor_value_info("seen", kind, [rows, width or layers.width])],
        [helper.make_tensor_value_info("logits", kind, [rows, 2])],
        [
            numpy_helper.from_array(layers.weights[0].astype("f8" if kind == 11 else "f4"), "weight"),
            numpy_helper.from_array(layers.biases[0].astype("f8" if kind == 11 else "f4"), "bias"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    save(model, str(path))


def test_a_torchscript_module_plays_as_the_same_network_does_here(tmp_path: Path) -> None:
    ours, path = network(6), tmp_path / "agent.pt"
    save_script(path, ours)
    shutil.copy(path, tmp_path / "agent.ts")
    for name in ("agent.pt", "agent.ts"):
        with pytest.raises(GnavError, match=r"a program that can write files.* allow it with --trust"):
            make_agent(str(tmp_path / name))
    with pytest.warns(ForeignCodeWarning, match="can write files, even while it is loaded; it is trusted"):
        agent: Any = make_agent(str(path), trust=True)
    np.testing.assert_allclose(agent.probabilities(*questions(6)), ours.probabilities(*questions(6)), atol=1e-6)
    with pytest.raises(GnavError, match="does not take observations"), pytest.warns(ForeignCodeWarning):
        make_agent(str(path), num_seats=5, trust=True)


def test_a_torchscript_module_can_write_files_while_it_is_loaded(tmp_path: Path) -> None:
    """Why it needs trust."""
    import torch

    trace = tmp_path / "trace"
    source = f"""
def forward(self, x: Tensor) -> Tensor:
    torch.save(x, {str(trace)!r})
    return x[:, :2]
"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.ScriptModule()
        module.define(source)
        torch.jit.save(module, str(tmp_path / "agent.pt"))
    with pytest.warns(ForeignCodeWarning):
        make_agent(str(tmp_path / "agent.pt"), trust=True)
    assert trace.exists()


def test_an_onnx_network_plays_as_the_same_network_does_here(tmp_path: Path) -> None:
    ours = network(6)
    save_onnx(tmp_path / "fixed.onnx", ours)
    save_onnx(tmp_path / "free.onnx", ours, width="features")
    for name in ("fixed.onnx", "free.onnx"):
        agent: Any = make_agent(str(tmp_path / name))
        np.testing.assert_allclose(agent.probabilities(*questions(6)), ours.probabilities(*questions(6)), atol=1e-6)
    for num_seats in (3, 9):
        agent = make_agent(str(tmp_path / "fixed.onnx"), num_seats=num_seats)
        seen = questions(num_seats)
        np.testing.assert_allclose(agent.probabilities(*seen), ours.probabilities(*seen), atol=1e-6)
        with pytest.raises(GnavError, match=r"free.onnx: it does not take observations \[B, "):
            make_agent(str(tmp_path / "free.onnx"), num_seats=num_seats)


def test_what_is_wrong_with_an_onnx_network_is_said(tmp_path: Path) -> None:
    path, ours = tmp_path / "agent.onnx", network(6)
    save_onnx(path, ours, rows=1)
    with pytest.raises(GnavError, match="its batch size is fixed at 1; export it with a first dimension that is free"):
        make_agent(str(path))
    save_onnx(path, ours, kind=11)
    with pytest.raises(
        GnavError, match=r"its input should be one tensor\(float\) \[B, F\], not seen: tensor\(double\)"
    ):
        make_agent(str(path))
    save_onnx(path, Network((np.zeros((7, 2), np.float32),), ours.biases))
    with pytest.raises(GnavError, match=r"an observation has .* features .*, not 7"):
        make_agent(str(path))
    wide = Network((np.zeros((ours.width, 3), np.float32),), (np.zeros(3, np.float32),))
    save_onnx(path, wide)
    with pytest.raises(GnavError, match=r"the output should be logits \[2, 2\], not \[2, 3\]"):
        make_agent(str(path))


@pytest.mark.parametrize(
    ("suffix", "package", "extra"),
    [(".zip", "sb3_contrib", "train"), (".pt", "torch", "train"), (".onnx", "onnxruntime", "onnx")],
)
@pytest.mark.filterwarnings("ignore::gnav_agents.foreign.ForeignCodeWarning")
def test_a_package_that_is_missing_is_named_with_its_extra(
    suffix: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"agent{suffix}"
    if suffix == ".zip":
        small("PPO", flat(6)).save(path)
    else:
        path.touch()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(GnavError, match=rf"it needs {package}, which is not installed: pip install 'gnav\[{extra}\]'"):
        make_agent(str(path), trust=True)


# ------------------------------------------------------------------------------------------------------- hosts


@pytest.mark.parametrize("name", VARIANTS)
def test_rules_come_through_a_channel_as_they_were(name: str) -> None:
    sent = json.loads(json.dumps(VARIANTS[name].to_dict()))
    assert rules_from_dict(sent, {}) == VARIANTS[name]


@pytest.mark.usefixtures("_players")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("players:nobody", "agent players:nobody: module players has no nobody"),
        ("players:exits", "agent players:exits: it could not be made: SystemExit: 3"),
    ],
)
def test_a_hosted_agent_that_cannot_be_made_is_refused_at_the_door(name: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        Hosted(name, "pagat", 6, time_limit=1)


@pytest.mark.parametrize("time_limit", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_is_some_seconds(time_limit: float) -> None:
    with pytest.raises(GnavError, match="time_limit must be a number of seconds above 0"):
        Hosted("uniform", "pagat", 6, time_limit=time_limit)


def test_a_network_in_a_file_is_hosted_like_any_agent(tmp_path: Path) -> None:
    save_onnx(tmp_path / "agent.onnx", network(6))
    ours: Any = make_agent(str(tmp_path / "agent.onnx"))
    with Hosted(str(tmp_path / "agent.onnx"), "pagat", 6, time_limit=20) as hosted:
        assert hosted.probabilities is not None
        theirs = hosted.probabilities(*questions(6))
    np.testing.assert_array_equal(theirs, ours.probabilities(*questions(6)))


def test_the_best_response_to_a_file_is_hosted_as_the_file_is(tmp_path: Path) -> None:
    save_onnx(tmp_path / "agent.onnx", network(3))
    name = f"best_response:{tmp_path / 'agent.onnx'}"
    with Hosted(name, "pagat", 3, time_limit=120) as hosted:
        assert hosted.probabilities is not None
        theirs = hosted.probabilities(*questions(3))
    np.testing.assert_array_equal(theirs, make_agent(name, num_seats=3).probabilities(*questions(3)))
    (tmp_path / "model.zip").touch()
    with pytest.raises(GnavError, match="allow it with --trust"):
        Hosted(f"best_response:{tmp_path / 'model.zip'}", "pagat", 3, time_limit=20)


@pytest.mark.slow
def test_a_trusted_model_is_hosted_and_warned_of_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    small("PPO", flat(6)).save(tmp_path / "model.zip")
    with pytest.warns(ForeignCodeWarning) as warned:
        hosted = Hosted(str(tmp_path / "model.zip"), "pagat", 6, time_limit=20, trust=True)
    with hosted:
        assert hosted.probabilities is not None
        theirs = hosted.probabilities(*questions(6))
    assert len(warned) == 1
    assert "ForeignCodeWarning" not in capfd.readouterr().err
    np.testing.assert_allclose(theirs, trusted(tmp_path / "model.zip").probabilities(*questions(6)), atol=1e-6)


def test_a_host_that_is_forgotten_ends_its_process() -> None:
    hosted = Hosted("uniform", "pagat", 6, time_limit=20)
    assert hosted._child is not None
    process = hosted._child.process
    assert process.poll() is None
    del hosted
    gc.collect()
    assert process.poll() is not None  # by itself, as its channel is closed, or killed


@pytest.mark.usefixtures("_players")
def test_hosted_agents_end_with_the_process_that_made_them() -> None:
    """Killed, so that it can end nothing itself; its error stream is open as long as somebody holds it."""
    code = """
import numpy as np
from gnav_agents.hosted import Hosted
waiting = Hosted("players:Plain", "pagat", 3, time_limit=1)
busy = Hosted("players:Hangs", "pagat", 3, time_limit=1)
busy.most_rows = 1
print("hosted", flush=True)
busy.time_limit = 1000
busy.act(np.zeros((1, 109), np.float32), np.ones((1, 2), np.int8), np.random.default_rng(0))
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "hosted\n"
    parent.send_signal(signal.SIGKILL)
    assert parent.communicate(timeout=30)[1] == ""


@pytest.mark.usefixtures("_players")
def test_agents_of_others_are_foreign_and_ours_are_not(tmp_path: Path) -> None:
    (tmp_path / "run" / "best").mkdir(parents=True)
    (tmp_path / "run" / "best" / "agent.json").write_text("{}", encoding="utf-8")
    assert not any(map(is_foreign, ["uniform", "threshold:VII", "tips", "counting", "run", "run/best"]))
    foreign = ["players:Plain", "pettingzoo:players:follow", "a.zip", "a.pt", "a.ts", "a.onnx", "elsewhere/run"]
    assert all(map(is_foreign, foreign))


def test_every_form_of_a_foreign_agent_is_described() -> None:
    described = describe_agents()
    for name in ("FILE.zip", "FILE.pt", "FILE.ts", "FILE.onnx", "pettingzoo:MODULE:NAME"):
        assert described[name]
    assert {name for name, text in described.items() if "--trust" in text} == {"FILE.zip", "FILE.pt", "FILE.ts"}
    with pytest.raises(GnavError, match=r"a file of .zip, .pt, .ts, .onnx, and module:attribute or pettingzoo:module"):
        make_agent("nobody")
