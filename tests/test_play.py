"""A person plays at the terminal, leaves, asks for help; what was written down is shown again."""

import io
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from gnav_agents.cli import main
from gnav_agents.registry import make_agent
from gnav_agents.ui.explain import explain_cards, explain_rules
from gnav_agents.ui.terminal import Player, Terminal, play_match
from gnav_env.errors import GnavError
from gnav_env.notation import read_file, replay
from gnav_env.table import Table
from gnav_env.variants import VARIANTS


class Session:
    """A person who types `lines` at a terminal, at `seat`; nobody types if that is None."""

    def __init__(self, lines: Sequence[str], seat: int | None = 0, keyboard: io.StringIO | None = None) -> None:
        self.screen = io.StringIO()
        self.keyboard = keyboard or io.StringIO("".join(f"{line}\n" for line in lines))
        self.console = Console(file=self.screen, width=140)
        self.seat = seat

    def play(
        self,
        rules: str = "pagat",
        num_seats: int = 4,
        opponents: str = "tips",
        *,
        seed: int = 1,
        reveal: bool = False,
        record: Path | None = None,
        language: str = "english",
    ) -> Table:
        """The table at the end of a match."""
        players = [Player(name=opponents, agent=make_agent(opponents, rules, num_seats)) for _ in range(num_seats)]
        if self.seat is not None:
            players[self.seat] = Player(name="human")
        terminal = Terminal(
            self.console,
            self.keyboard,
            observer=self.seat,
            names=[player.name for player in players],
            language=language,  # type: ignore[arg-type]
        )
        return play_match(terminal, rules, players, seed=seed, reveal=reveal, record=record)

    @property
    def shown(self) -> str:
        """All that has been on the screen."""
        return self.screen.getvalue()


def test_a_whole_match_is_played_told_and_written_down(tmp_path: Path) -> None:
    session = Session(["s", "X", "stand", "EXCHANGE", *["s"] * 40])
    table = session.play(record=tmp_path / "match.txt")
    assert table.is_over
    for told in ("deal 1: ", "showdown: ", "loses 1 life with", "the match is over after", "(you), result"):
        assert told in session.shown
    assert re.search(rf"you come in at place {table.places[0]} of 4", session.shown)
    record = read_file(tmp_path / "match.txt")
    assert record.agents == ("human", "tips", "tips", "tips")
    *_, last = replay(record)
    assert last.after.places == table.places


def test_the_same_seed_and_the_same_choices_give_the_same_match() -> None:
    first, second = Session(["s"] * 40), Session(["s"] * 40)
    first.play(opponents="uniform", seed=5)
    second.play(opponents="uniform", seed=5)
    assert first.shown == second.shown


@pytest.mark.parametrize("seat", [0, 2])
def test_whoever_leaves_is_told_how_the_match_stands(seat: int, tmp_path: Path) -> None:
    for last in (["q"], ["quit"], []):
        session = Session(["s", *last], seat)
        table = session.play(record=tmp_path / "match.txt")
        assert not table.is_over
        assert f"you leave in deal {table.deals}" in session.shown
        assert "lives: seat 0 " in session.shown
        record = read_file(tmp_path / "match.txt")
        assert not record.is_finished
        assert len(list(replay(record))) >= 2


class Interrupted(io.StringIO):
    """A keyboard on which somebody presses Ctrl-C."""

    def readline(self, size: int | None = -1, /) -> str:
        raise KeyboardInterrupt


def test_an_interrupted_match_is_written_down_too(tmp_path: Path) -> None:
    session = Session([], keyboard=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        session.play(record=tmp_path / "match.txt")
    assert "you leave in deal" in session.shown
    assert not read_file(tmp_path / "match.txt").is_finished


def test_a_choice_against_the_rules_is_explained_and_asked_again() -> None:
    session = Session(["s"] * 30)
    session.play("forced", seed=3)
    assert "That is not allowed: seat 0 may not STAND without a matador (stand_requires: matador)." in session.shown


def test_help_and_whatever_else_is_typed_do_not_cost_the_turn() -> None:
    session = Session(["?", "hm", "s", "q"])
    session.play()
    assert re.search(r"Cat +│ 2 +│ refuses, challenger pays 1", session.shown)
    assert "Please type s (STAND), x (EXCHANGE), ? or q." in session.shown
    assert "you stand with" in session.shown


@pytest.mark.parametrize("name", VARIANTS)
def test_every_card_of_every_ruleset_can_be_explained(name: str) -> None:
    console = Console(file=io.StringIO(), width=160)
    console.print(explain_cards(VARIANTS[name]))
    console.print("\n".join(explain_rules(VARIANTS[name])))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert ("refuses" in shown) == bool(VARIANTS[name].matadors)


def test_who_is_out_may_see_the_rest_or_leave() -> None:
    prompt = "You are out. Enter shows the rest, q leaves."
    sessions = [Session([*["x"] * 12, *rest]) for rest in ([""], ["q"])]
    tables = [session.play("pagat", 5, "tips", seed=2) for session in sessions]
    for session, table in zip(sessions, tables, strict=True):
        assert session.shown.count(prompt) == 1, session.shown
        assert table.lives[0] == 0


def test_cards_have_norwegian_names_too() -> None:
    session = Session(["s"] * 40)
    session.play(language="norwegian")
    assert not re.search("Cuckoo|Horse|House|Owl|Fool", session.shown)
    assert re.search("Gjøk|Hest|Hus|Ugle|Narr", session.shown)


def test_reveal_tells_each_deal_again_with_all_cards() -> None:
    session = Session(["s", "q"])
    session.play(reveal=True)
    again = session.shown.partition("With all cards face up:")[2]
    assert again.startswith("\ndealt: seat 0 ")
    assert "seat 0 stands with" in again


def test_agents_can_be_watched() -> None:
    session = Session([], seat=None)
    table = session.play()
    assert table.is_over
    assert "you" not in session.shown
    assert not re.search(r"\?", session.shown)


def test_an_agent_that_answers_illegally_is_named() -> None:
    class Rogue:
        def act(self, observation: object, action_mask: object, rng: object) -> list[int]:
            return [7]

    session = Session([], seat=None)
    terminal = Terminal(session.console, session.keyboard)
    with pytest.raises(GnavError, match="agent rogue: an action is 0"):
        play_match(terminal, "pagat", [Player(name="rogue", agent=Rogue())] * 3, seed=1)


def _command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, typed: str = ""
) -> tuple[int, str, str]:
    """Exit code, output and errors of `gnav` with `words`."""
    monkeypatch.setattr(sys, "argv", ["gnav", *words])
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    monkeypatch.setenv("COLUMNS", "140")
    with pytest.raises(SystemExit) as stopped:
        main()
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A match of four that was written down."""
    Session([], seat=None).play("tokens", seed=4, record=tmp_path / "match.txt")
    return tmp_path / "match.txt"


def test_the_command_plays(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "match.txt"
    options = ["--opponents", "tips,threshold:VI", "--seats", "5", "--seat", "1", "--record", str(path)]
    options += ["--seed", "3", "--match", "2"]
    code, out, err = _command(monkeypatch, capsys, "play", *options, typed="s\nq\n")
    assert (code, err) == (0, "")
    assert "you leave" in out
    record = read_file(path)
    assert record.agents == ("tips", "human", "threshold:VI", "tips", "threshold:VI")
    assert (record.seed, record.match) == (3, 2)
    code, _, err = _command(monkeypatch, capsys, "play", *options)
    assert (code, "is there already" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seats", "50"], "seats must be 2 to 37 for ruleset pagat, not 50"),
        (["--seat", "6"], "--seat must be 0 to 5, not 6"),
        (["--opponents", "tips,tips", "--seats", "2"], "--opponents must be at most 1 for this table, not 2"),
        (["--opponents", "tipz"], "did you mean 'tips'?"),
        (["--rules", "pagta"], "did you mean 'pagat'?"),
        (["--record", "no/such/folder/match.txt"], "there is no folder no/such/folder"),
    ],
)
def test_the_command_says_what_would_be_right(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _command(monkeypatch, capsys, "play", *words)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_match_is_shown_again(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _command(monkeypatch, capsys, "replay", str(recorded))
    assert (code, err) == (0, "")
    record = read_file(recorded)
    assert out.count(" deals ──") == len(record.deals)
    assert "all true" in out
    code, out, _ = _command(monkeypatch, capsys, "replay", str(recorded), "--deal", "2", "--no-reveal")
    assert out.count(" deals ──") == 1
    assert "?" in out
    code, out, _ = _command(monkeypatch, capsys, "replay", str(recorded), "--verify")
    assert len(out.splitlines()) == 1
    code, out, _ = _command(monkeypatch, capsys, "replay", str(recorded), "--step", typed="\n\nq\n")
    assert out.count("Enter goes on") == 3


def test_a_corrupt_file_ends_with_code_2_and_a_sentence(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = recorded.read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.startswith("pool:"))
    lines[number - 1] = "pool: 77"
    recorded.write_text("\n".join(lines), encoding="utf-8")
    code, out, err = _command(monkeypatch, capsys, "replay", str(recorded))
    assert (code, out) == (2, "")
    assert f"{recorded}:{number}: expected `pool: " in err
    code, _, err = _command(monkeypatch, capsys, "replay", str(recorded), "--deal", "99")
    assert code == 2
    code, _, err = _command(monkeypatch, capsys, "replay", str(recorded.with_name("none")))
    assert (code, "there is no such file" in err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_it_works_in_a_real_terminal_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ["-m", "gnav_agents.cli", "play", "--opponents=tips", "--seed=1", "--record", str(tmp_path / "match.txt")]
    process = subprocess.Popen(
        [sys.executable, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    try:
        _read_until(ours, "q quits")
        os.write(ours, b"s\n")
        _read_until(ours, "q quits")
        for _ in range(10):  # a signal just before the program waits for a key is only seen with the next key
            process.send_signal(signal.SIGINT)
            if select.select([ours], [], [], 3)[0]:
                break
        _read_until(ours, "you leave in deal")
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert not read_file(tmp_path / "match.txt").is_finished


def _read_until(terminal: int, text: str) -> str:
    """What the terminal has shown when `text` has been there."""
    shown = ""
    while text not in shown and select.select([terminal], [], [], 120)[0]:
        try:
            piece = os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # the other side has gone
            break
        shown += piece
    assert text in shown, shown
    return shown
