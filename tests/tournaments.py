"""For the tests of the arena: agents that are quickly asked, what a folder holds, the command line."""

import sys
from pathlib import Path

import pytest

from gnav_agents.agent import Policy, certain, legal
from gnav_agents.arena import fields
from gnav_agents.cli import main
from gnav_agents.uniform import Uniform
from gnav_env.observation import piece

__all__ = ["ZOO", "Below", "BelowAsPolicy", "Dice", "Shell", "contents", "make_units_small"]


class Below:
    """Exchanges a card that is weaker than `strength`, 0 to 1."""

    def __init__(self, strength):
        self.strength = strength

    def act(self, observation, action_mask, rng):
        return legal(piece(observation, "own_strength")[:, 0] < self.strength, action_mask)


class BelowAsPolicy(Policy):
    """The same choices, said as probabilities."""

    def __init__(self, strength):
        self.strength = strength

    def probabilities(self, observation, action_mask):
        return certain(piece(observation, "own_strength")[:, 0] < self.strength, action_mask)


class Dice:
    """Any legal action, drawn with the generator that it is given."""

    def act(self, observation, action_mask, rng):
        return legal(rng.integers(2, size=len(observation)), action_mask)


ZOO = {"stand": Below(0), "low": Below(0.3), "middle": BelowAsPolicy(0.45), "uniform": Uniform()}
"""Agents for which the same seed means the same luck, wherever and with whomever they sit."""


class Shell:
    """Runs `gnav ...` and keeps what it said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        """The exit code."""
        self._monkeypatch.setattr(sys, "argv", ["gnav", *map(str, arguments)])
        self._monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            main()
        self.out, self.err = self._capsys.readouterr()
        return int(ended.value.code or 0)


def make_units_small(patch, num_matches):
    """Units of work are whole blocks with at most `num_matches` matches, or single blocks."""
    patch.setattr(fields, "blocks_per_unit", lambda matches_per_block: max(1, num_matches // matches_per_block))


def contents(folder):
    """What is in every file in and below `folder`, by its name there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()
    }
