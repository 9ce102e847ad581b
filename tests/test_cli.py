"""The command line: it is quick, everything is reachable, and bad input ends with a sentence and exit code 2."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gnav_agents.cli import main

ROOT = Path(__file__).parents[1]
COMMANDS = (
    "train",
    "tournament",
    "compare",
    "merge",
    "leaderboard",
    "exploit",
    "play",
    "replay",
    "agents",
    "observation",
    "rules",
    "study",
)


def gnav(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of `gnav` with these arguments."""
    monkeypatch.setattr(sys, "argv", ["gnav", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_help_names_every_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert gnav(monkeypatch, "--help") == 0
    said = capsys.readouterr().out
    assert all(command in said for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gnav(monkeypatch, command, "--help") == 0
    assert "Usage" in capsys.readouterr().out


def test_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, gnav_agents.cli; print(*sorted({'numba', 'torch', 'numpy', 'pettingzoo'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_game_loads_neither_torch_nor_sb3() -> None:
    code = "import sys, gnav_env; print(*sorted({'torch', 'stable_baselines3', 'gnav_agents'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_observation_is_printed_from_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gnav_env.observation import layout_table

    assert gnav(monkeypatch, "observation", "--seats", "3") == 0
    assert capsys.readouterr().out.strip() == layout_table(3)


def test_the_agents_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert gnav(monkeypatch, "agents") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("uniform", "stand", "exchange", "threshold", "tips", "counting"))


TWO = ("--agents", "tips,stand", "--blocks", "1")
NOT_YAML = "rules: [pagat\nseats: 6\n"
TYPO = (ROOT / "configs" / "train" / "quickstart.yaml").read_text(encoding="utf-8").replace("seats:", "saets:")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tournament", "--agents", "tips,countin", "--blocks", "1"), "did you mean 'counting'"),
        (("tournament", *TWO, "--rules", "pagad"), "did you mean 'pagat'"),
        (("tournament", *TWO, "--rules", "nowhere.yaml"), "there is no such file"),
        (("tournament", *TWO, "--seats", "38"), "seats must be 2 to 37"),
        (("tournament", *TWO, "--seats", "19", "--rules", "hypp"), "seats must be 2 to 18"),
        (("tournament", *TWO, "--seats", "2", "--rules", "letters"), "seats must be 3 to 37"),
        (("tournament", "--agents", "tips,stand", "--blocks", "0"), "block"),
        (("tournament", "--agents", "tips,threshold:XX", "--blocks", "1"), "XX"),
        (("tournament", "--agents", "tips,runs/none", "--blocks", "1"), "does not exist"),
        (("tournament", "--agents", "tips,no_module:Agent", "--blocks", "1"), "no_module"),
        (("compare", "tips", "illegal_agent:Agent", "--strict"), "agent illegal_agent:Agent failed (illegal)"),
        (("compare", "tips", "raising_agent:Agent", "--strict"), "failed (raised): RuntimeError: boom"),
        (("compare", "tips", "countin"), "did you mean 'counting'"),
        (("merge", "nowhere", "--out", "whole"), "nowhere"),
        (("leaderboard", "nowhere"), "nowhere"),
        (("tournament", "--agents", "tips,raising_agent:Unborn", "--blocks", "1"), "could not be made"),
        (("tournament", "--agents", "tips,broken_agent:Agent", "--blocks", "1"), "cannot be loaded: SyntaxError"),
        (("play", "--watch", "--opponents", "raising_agent:Agent", "--seed", "1"), "failed: RuntimeError: boom"),
        (("play", "--opponents", "tipz"), "did you mean 'tips'"),
        (("replay", "not_there.txt"), "not_there.txt"),
        (("replay", "corrupt.txt"), "corrupt.txt"),
        (("train", "not_there.yaml"), "there is no such file"),
        (("train", "not_yaml.yaml"), "not_yaml.yaml:"),
        (("train", "typo.yaml"), "did you mean 'seats'"),
        (("train", "quickstart.yaml", "--set", "ppo.epoch=3"), "epochs"),
        (("train", "quickstart.yaml", "--set", "seats=99"), "99"),
        (("observation", "--seats", "1"), "seats must be 2 to 51"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "not_yaml.yaml").write_text(NOT_YAML)
    (tmp_path / "typo.yaml").write_text(TYPO)
    (tmp_path / "quickstart.yaml").write_bytes((ROOT / "configs" / "train" / "quickstart.yaml").read_bytes())
    (tmp_path / "corrupt.txt").write_text("gnav match 1\nnothing of the kind\n")
    (tmp_path / "illegal_agent.py").write_text(
        "class Agent:\n    def act(self, observation, action_mask, rng):\n        return [7] * len(action_mask)\n"
    )
    (tmp_path / "raising_agent.py").write_text(
        "class Agent:\n    def act(self, observation, action_mask, rng):\n        raise RuntimeError('boom')\n"
        "class Unborn(Agent):\n    def __init__(self):\n        raise RuntimeError('no')\n"
    )
    (tmp_path / "broken_agent.py").write_text("class Agent(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    files = set(tmp_path.rglob("*"))
    assert gnav(monkeypatch, *arguments) == 2
    err = capsys.readouterr().err
    assert said in " ".join(err.split())
    assert "Traceback" not in err
    written = {p for p in set(tmp_path.rglob("*")) - files if p.is_file() and p.suffix != ".pyc"}
    assert not written, "nothing is left behind"
    assert not (tmp_path / "results").is_dir() or not any((tmp_path / "results").iterdir())


def test_an_unknown_option_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gnav(monkeypatch, "tournament", "--agent", "tips") == 2


@pytest.mark.skipif(os.name == "nt", reason="asks for a full disk that only Linux has")
def test_a_folder_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    assert gnav(monkeypatch, "tournament", *TWO, "--out", str(tmp_path / "taken" / "results")) == 2
    assert "taken" in capsys.readouterr().err


def test_a_traceback_is_there_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNAV_TRACEBACK", "1")
    monkeypatch.setattr(sys, "argv", ["gnav", "observation", "--seats", "1"])
    with pytest.raises(ValueError, match="seats must be"):
        main()


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gnav_agents.cli.app", interrupted)
    assert gnav(monkeypatch) == 130
