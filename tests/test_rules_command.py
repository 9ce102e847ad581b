"""`gnav rules`: people find, read, compare and check rulesets at the command line."""

import json
import sys
from pathlib import Path

import pytest

from gnav_agents.cli import main
from gnav_env.reading import read_rules
from gnav_env.sheet import make_sheet, sheet_markdown
from gnav_env.variants import VARIANTS

pytestmark = pytest.mark.pure

ROOT = Path(__file__).parents[1]
HOUSE = str(ROOT / "configs" / "variants" / "house_cuckoo.yaml")
LONG = str(ROOT / "configs" / "variants" / "long_night.yaml")


class Shell:
    """Runs `gnav rules ...` and keeps what it said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        """The exit code."""
        self.monkeypatch.setattr(sys, "argv", ["gnav", "rules", *arguments])
        self.monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            main()
        self.out, self.err = self.capsys.readouterr()
        return int(ended.value.code or 0)


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def test_help_names_what_there_is_to_do(rules: Shell) -> None:
    assert rules("--help") == 0
    assert all(word in rules.out for word in ("list", "show", "diff", "validate", "schema"))


@pytest.mark.parametrize("command", ["list", "show", "diff", "validate", "schema"])
def test_each_part_has_help(command: str, rules: Shell) -> None:
    assert rules(command, "--help") == 0
    assert "Usage" in rules.out


def test_all_named_rulesets_are_listed(rules: Shell) -> None:
    assert rules("list") == 0
    assert all(f" {name} " in rules.out for name in VARIANTS)
    assert "2–37" in rules.out


@pytest.mark.parametrize("name", VARIANTS)
def test_a_sheet_is_shown_whole(name: str, rules: Shell) -> None:
    assert rules("show", name) == 0
    shown = " ".join(rules.out.split())
    sheet = make_sheet(VARIANTS[name])
    for section in sheet.sections:
        assert section.title in shown
        assert all(" ".join(sentence.split()[:8]) in shown for sentence in section.sentences)
    assert all(row.names.split(",")[0] in shown for row in sheet.cards)


def test_a_sheet_of_a_file_can_be_had_as_markdown(rules: Shell) -> None:
    assert rules("show", HOUSE, "--markdown") == 0
    assert rules.out == sheet_markdown(make_sheet(read_rules(HOUSE, VARIANTS)))


def test_cards_are_called_as_one_likes(rules: Shell) -> None:
    assert rules("show", "pagat", "--language", "norwegian") == 0
    assert "Gjøk" in rules.out
    assert "Cuckoo" not in rules.out


@pytest.mark.parametrize("name", ["pagat", "kille", "lu_stu", HOUSE])
def test_the_yaml_of_a_ruleset_is_a_file_to_begin_with(name: str, rules: Shell, tmp_path: Path) -> None:
    assert rules("show", name, "--yaml") == 0
    (tmp_path / "mine.yaml").write_text(rules.out, encoding="utf-8")
    assert rules("diff", name, str(tmp_path / "mine.yaml")) == 0
    assert "are the same game" in rules.out
    assert "┃" not in rules.out, "nothing differs, not even for the eye"


def test_a_difference_is_shown_side_by_side(rules: Shell) -> None:
    assert rules("diff", "pagat", LONG) == 0
    lines = [" ".join(line.split()) for line in rules.out.splitlines()]
    assert "lives │ 3 │ 5" in lines
    assert "Fool: at the showdown" in rules.out
    assert "same game" not in rules.out


def test_the_same_game_is_said_to_be_the_same(rules: Shell) -> None:
    assert rules("diff", "pagat", "pieces") == 0
    assert "container" in rules.out
    assert f"pagat and pieces are the same game ({VARIANTS['pagat'].hash})." in rules.out


def test_a_ruleset_only_written_otherwise_plays_alike(rules: Shell, tmp_path: Path) -> None:
    path = tmp_path / "wordy.yaml"
    path.write_text("name: wordy\nbased_on: pagat\nfrom_stock: {cuckoo: [refuse, stop]}\n")
    assert rules("diff", "pagat", str(path)) == 0
    assert "play alike" in " ".join(rules.out.split())


def test_good_files_get_a_line_each(rules: Shell) -> None:
    assert rules("validate", HOUSE, LONG) == 0
    lines = rules.out.splitlines()
    ruleset = read_rules(HOUSE, VARIANTS)
    assert lines[0] == f"{HOUSE}: house_cuckoo {ruleset.hash}, 3–12 seats, 54 cards"
    assert len(lines) == 2
    assert rules.err == ""


def test_all_bad_files_are_told_of_and_good_ones_between_them(rules: Shell, tmp_path: Path) -> None:
    typo, wrong = tmp_path / "typo.yaml", tmp_path / "wrong.yaml"
    typo.write_text("name: x\nbased_on: pagat\nlivs: 3\n")
    wrong.write_text("name: x\nbased_on: pagat\neffects:\n  kat: [refuse]\n")
    assert rules("validate", str(typo), LONG, str(wrong), str(tmp_path / "none.yaml"), str(ROOT / "README.md")) == 2
    first, second, third, fourth = rules.err.splitlines()
    assert first.startswith(f"gnav: {typo}:3: ")
    assert "did you mean 'lives'" in first
    assert second.startswith(f"gnav: {wrong}:3: ")
    assert "did you mean 'cat'" in second
    assert "there is no such file; that folder has typo.yaml, wrong.yaml" in third
    assert "must end in .yaml" in fourth
    assert rules.out.startswith(f"{LONG}: long_night ")


def test_the_schema_is_the_one_beside_the_examples(rules: Shell) -> None:
    assert rules("schema") == 0
    written = (ROOT / "configs" / "variants" / "rules.schema.json").read_text(encoding="utf-8")
    assert json.loads(rules.out) == json.loads(written)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "pagad"), "did you mean 'pagat'"),
        (("show", "nowhere.yaml"), "there is no such file"),
        (("show", "pagat", "--markdown", "--yaml"), "give one of the two"),
        (("show", "pagat", "--language", "latin"), "latin"),
        (("diff", "pagat", "kile"), "did you mean 'kille'"),
        (("diff", "pagat"), "Missing argument"),
        (("validate",), "Missing argument"),
        (("shew", "pagat"), "shew"),
    ],
)
def test_what_cannot_be_is_a_sentence_and_exit_code_2(arguments: tuple[str, ...], said: str, rules: Shell) -> None:
    assert rules(*arguments) == 2
    assert said in rules.err
    assert "Traceback" not in rules.err
