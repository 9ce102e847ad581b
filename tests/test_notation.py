"""A match that was written down is read and played again, and whatever is wrong with the text is found."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnav_env.errors import GnavError
from gnav_env.notation import Recorder, read, read_file, record_match, replay
from gnav_env.rules import Rules
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from matches import examples, house_rules, seats_for, shuffled

pytestmark = pytest.mark.pure


def _played(rules: str | Rules, num_seats: int, seed: int, most_deals: int = 60, *, shoe: bool = True) -> Recorder:
    """A match with random actions; without `shoe` from decks in which cards that do something come early."""
    chooser = random.Random(seed)
    table = Table(rules, num_seats, seed=seed)
    recorder = Recorder(table, seed=seed, match=0, agents=[f"agent number {seat}" for seat in range(num_seats)])
    while not table.is_over and table.deals < most_deals:
        recorder.deal(None if shoe or not table.wants_deck else shuffled(table.rules, chooser, 0.4))
        while (legal := table.legal_actions()) != []:
            recorder.act(chooser.choice(legal))
    return recorder


def _error(text: str, where: str = "match.txt") -> str:
    """What is wrong with `text`."""
    with pytest.raises(GnavError) as caught:
        list(replay(read(text, where=where)))
    return str(caught.value)


SAMPLE = _played("pagat", 3, seed=5).text
LINES = SAMPLE.splitlines()


def _line(beginning: str) -> int:
    """The index of the first line that begins so."""
    return next(index for index, line in enumerate(LINES) if line.startswith(beginning))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_match_of_each_named_ruleset_is_read_as_it_was_written(name: str) -> None:
    num_seats = seats_for(name, 5)
    recorder = _played(name, num_seats, seed=3)
    record = read(recorder.text)
    assert record.rules == VARIANTS[name]
    assert (record.num_seats, record.seed, record.match, record.is_finished) == (num_seats, 3, 0, True)
    steps = list(replay(record))
    assert steps[-1].after.places == recorder.table.places
    assert steps[-1].after.lives == recorder.table.lives
    assert len({step.after.deals for step in steps}) == recorder.table.deals


@examples(40, 4)
@given(house_rules(), st.integers(0, 2**32 - 1), st.data())
def test_a_match_under_any_rules_carries_its_rules_along(rules: Rules, seed: int, data: st.DataObject) -> None:
    num_seats = data.draw(st.integers(2, min(8, rules.seat_limit)))
    recorder = _played(rules, num_seats, seed, most_deals=4, shoe=False)
    record = read(recorder.text)
    assert record.rules.hash == rules.hash
    *_, last = replay(record)
    assert last.after.lives == recorder.table.lives
    assert last.after.places == recorder.table.places


def test_seed_match_and_actions_are_enough_to_write_a_match_down() -> None:
    recorder = _played("pagat", 6, seed=8)
    record = read(recorder.text)
    actions = [action for deal in record.deals for _, action in deal.actions]
    text = record_match("pagat", 6, seed=8, match=0, actions=np.array(actions).tolist(), agents=record.agents)
    assert text == recorder.text
    with pytest.raises(GnavError, match=f"is over after {len(actions)} actions"):
        record_match("pagat", 6, seed=8, match=0, actions=[*actions, 0])


def test_a_match_that_was_broken_off_is_unfinished_but_true() -> None:
    text = record_match("pagat", 3, seed=1, match=0, actions=[0, 0])
    assert text.endswith("\nend: unfinished\n")
    record = read(text)
    assert not record.is_finished
    assert [step.action for step in replay(record)] == [None, 0, 0]
    assert "expected `end: unfinished`" in _error(text.replace("end: unfinished", "end: seat 1 wins"))


def test_lives_and_first_dealer_are_kept() -> None:
    table = Table("pagat", 4, first_dealer=3, lives=[1, 2, 0, 5])
    recorder = Recorder(table)
    recorder.deal(["2", "9", "house", "5", "7"])
    recorder.act(0)
    record = read(recorder.text)
    assert (record.first_dealer, record.lives, record.seed, record.agents) == (3, (1, 2, 0, 5), None, ())
    assert "dealt: 2 9 - 5" in recorder.text
    *_, last = replay(record)
    assert last.after.hands == ["2", "9", None, "5"]


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    recorder = _played("pagat", 3, seed=2)
    recorder.save(tmp_path / "match.txt")
    assert list(replay(read_file(tmp_path / "match.txt")))
    with pytest.raises(GnavError, match="there is no such file"):
        read_file(tmp_path / "none.txt")
    (tmp_path / "noise.txt").write_bytes(bytes(range(256)))
    with pytest.raises(GnavError, match=r"noise\.txt: cannot be read as text"):
        read_file(tmp_path / "noise.txt")


def test_remarks_of_people_are_passed_over() -> None:
    remarked = [line for text in LINES for line in (text, "# what luck", "")]
    assert len(list(replay(read("\r\n".join(remarked))))) == len(list(replay(read(SAMPLE))))


FREE = ("seed:", "match:", "agent ")
"""Lines whose contents nothing contradicts."""


@pytest.mark.parametrize("index", [i for i, line in enumerate(LINES) if line and not line.startswith(FREE)])
def test_a_line_that_is_missing_doubled_or_changed_is_found(index: int) -> None:
    before, line, after = LINES[:index], LINES[index], LINES[index + 1 :]
    # a card that nobody looks at may well be another, so among cards a whole one is taken away
    shortened = line[: line.rindex(" ")] if line.startswith(("dealt:", "stock:")) else line[:-1]
    for changed in ([], [line, line], [f"{line} 9"], [shortened], [line.replace(":", "", 1) + ":"]):
        message = _error("\n".join([*before, *changed, *after]) + "\n")
        assert message.startswith("match.txt:"), message


def test_a_file_that_breaks_off_is_found_wherever_it_does() -> None:
    for num_lines in range(1, len(LINES)):
        message = _error("\n".join(LINES[:num_lines]))
        assert message.startswith("match.txt:"), message


def test_two_lines_that_have_changed_places_are_found() -> None:
    for index, (line, following) in enumerate(pairwise(LINES)):
        if line and following and line != following:
            swapped = [*LINES[:index], following, line, *LINES[index + 2 :]]
            assert _error("\n".join(swapped)).startswith("match.txt:")


def test_an_error_names_the_line_and_what_was_expected() -> None:
    index = _line("losers:")
    changed = [*LINES[:index], "losers: 0 1 2", *LINES[index + 1 :]]
    assert _error("\n".join(changed)) == f"match.txt:{index + 1}: expected `{LINES[index]}`, found `losers: 0 1 2`"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("gnav match, format 2", "match.txt:1: this is format 2, only format 1 can be read"),
        ("gnav game, format 1", "match.txt:1: expected `gnav match, format 1`, found"),
        ("rules: pagta 0123", "unknown ruleset 'pagta' (did you mean 'pagat'?)"),
        ("rules: pagat 0123", "match.txt:2: the rules called pagat have the hash"),
        ("seats: 50", "expected `lives:` and 50 numbers, found 3"),
        ("seats: four", "match.txt:3: expected `seats:` and a number, found `seats: four`"),
        ("first dealer: 7", "match.txt: first_dealer must be a seat, 0 to 2, not 7"),
        ("dealt: 1 2", "dealt must have 3 cards"),
        ("dealt: 1 1 1", "the deck of pagat has only 2 of '1'"),
        ("dealt: 1 2 knave", "the deck of pagat has no 'knave'"),
    ],
)
def test_what_the_text_should_have_is_said(wrong: str, message: str) -> None:
    index = _line(wrong.split()[0])
    assert message in _error("\n".join([*LINES[:index], wrong, *LINES[index + 1 :]]))


def test_an_action_against_the_rules_is_found() -> None:
    table = Table("forced", 3, first_dealer=2)
    recorder = Recorder(table)
    recorder.deal(["2", "9", "5", "7"])
    recorder.act(1)
    text = recorder.text.replace("seat 0 EXCHANGE", "seat 0 STAND")
    assert "may not STAND without a matador" in _error(text)
    assert "seat 0 was expected to act, not seat 1" in _error(recorder.text.replace("seat 0 EX", "seat 1 EX"))


def test_rules_that_do_not_fit_their_hash_are_found() -> None:
    text = _played(VARIANTS["pagat"].replace(name="mine", lives=2), 3, seed=1).text
    assert "  lives: 2\n" in text
    assert "the rules called mine have the hash" in _error(text.replace("  lives: 2\n", "  lives: 3\n"))
    message = _error(text.replace("  lives: 2\n", "  livse: 2\n"))
    line = text[: text.index("  lives: 2")].count("\n") + 1
    assert message.startswith(f"match.txt:{line}: unknown key 'livse'")


def test_a_recorder_wants_a_new_table_and_a_name_for_each_seat() -> None:
    table = Table("pagat", 3)
    with pytest.raises(GnavError, match="agents must be 3 names"):
        Recorder(table, agents=["tips"])
    with pytest.raises(GnavError, match="must be one line"):
        Recorder(table, agents=["a\nb", "c", "d"])
    table.deal()
    with pytest.raises(GnavError, match="from its first deal on"):
        Recorder(table)
