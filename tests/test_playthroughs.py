"""The golden playthroughs are what the game does today, byte for byte, and what they say is true."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from gnav_env.notation import read_file, replay
from gnav_env.variants import VARIANTS

pytestmark = pytest.mark.pure

FOLDER = Path(__file__).parent / "data" / "playthroughs"
SCRIPT = Path(__file__).parent.parent / "scripts" / "remake_playthroughs.py"


@pytest.fixture(scope="module")
def playthrough() -> Callable[[str], str]:
    return runpy.run_path(str(SCRIPT))["playthrough"]


def test_every_named_ruleset_has_one() -> None:
    assert {path.stem for path in FOLDER.glob("*")} == set(VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_game_is_played_as_it_was(name: str, playthrough: Callable[[str], str]) -> None:
    written = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert playthrough(name) == written, "if this is meant: python scripts/remake_playthroughs.py, and read the diff"


@pytest.mark.parametrize("name", VARIANTS)
def test_a_playthrough_is_a_record_that_can_be_replayed(name: str) -> None:
    record = read_file(FOLDER / f"{name}.txt")
    *_, last = replay(record)
    assert record.is_finished
    assert last.after.is_over
