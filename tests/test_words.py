"""What is said of a table is true, and says nothing to a seat that it has not seen."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnav_env.errors import GnavError
from gnav_env.state import NOBODY
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from gnav_env.views import lives_in_words, view_seats
from gnav_env.words import Narrator, cards_at_showdown
from matches import examples, named_tables, shuffled

pytestmark = pytest.mark.pure


def _after(rules: str, deck: str, actions: str, **options: object) -> tuple[Table, Table]:
    """A table with as many seats as actions or passes (``-``), the last deals: before and after the last action."""
    table = Table(rules, len(actions), first_dealer=len(actions) - 1, **options)  # type: ignore[arg-type]
    table.deal(deck.split())
    before = table.copy()
    for action in actions.replace("-", ""):
        before = table.copy()
        table.act("SX".index(action))
    return before, table


CASES = [
    ("pagat", "2 9 7", "S--", "seat 0 stands with II", "seat 0 stands"),
    ("pagat", "2 9 7", "X--", "seat 0 asks seat 1 (trade: II for IX)", "seat 0 asks seat 1 (trade)"),
    (
        "pagat",
        "2 horse house cat",
        "X---",
        "seat 0 asks seat 1 (Horse: goes on), seat 2 (House: goes on), seat 3 (Cat: refused, pays 1, trades undone)",
        "seat 0 asks seat 1 (Horse: goes on), seat 2 (House: goes on), seat 3 (Cat: refused, pays 1, trades undone)",
    ),
    (
        "silent",
        "2 horse cat 3",
        "X---",
        "seat 0 asks seat 1 (Horse: goes on), seat 2 (Cat: refused, pays 1, trades undone)",
        "seat 0 asks seat 1 (goes on), seat 2 (refused, pays 1, trades undone)",
    ),
    (
        "tokens",
        "2 9 7 horse dragon",
        "SSX",
        "seat 2 asks the stock (Horse: goes on), the stock (Dragon: refused, pays 1)",
        "seat 2 asks the stock (Horse: goes on), the stock (Dragon: refused, pays 1)",
    ),
    (
        "tokens",
        "2 dragon 7",
        "X--",
        "seat 0 asks seat 1 (Dragon: refused, pays 1 to seat 1)",
        "seat 0 asks seat 1 (Dragon: refused, pays 1 to seat 1)",
    ),
    (
        "pagat",
        "2 9 7 12",
        "SSX",
        "seat 2 asks the stock (draw: VII for XII)",
        "seat 2 asks the stock (draw)",
    ),
    (
        "pagat",
        "9 cuckoo 7",
        "X--",
        "seat 0 asks seat 1 (Cuckoo: refused, the deal stops)",
        "seat 0 asks seat 1 (Cuckoo: refused, the deal stops)",
    ),
    (
        "pagat",
        "9 2 fool",
        "SX-",
        "seat 1 asks seat 2 (trade: II for Fool)",
        "seat 1 asks seat 2 (trade: ? for Fool)",
    ),
]


@pytest.mark.parametrize(("rules", "deck", "actions", "full", "public"), CASES)
def test_an_action_is_told_with_all_that_it_caused(rules: str, deck: str, actions: str, full: str, public: str) -> None:
    before, after = _after(rules, deck, actions)
    assert Narrator().action(before, after) == full
    assert Narrator(observer=NOBODY).action(before, after) == public


def test_the_observer_is_told_of_its_own_trades_and_called_you() -> None:
    before, after = _after("pagat", "2 9 7", "X--")
    assert Narrator(observer=0, says_you=True).action(before, after) == "you ask seat 1 (trade: II for IX)"
    assert Narrator(observer=1, says_you=True).action(before, after) == "seat 0 asks you (trade: II for IX)"
    assert Narrator(observer=2, says_you=True).action(before, after) == "seat 0 asks seat 1 (trade)"
    before, after = _after("pagat", "2 cat 7", "X--")
    told = Narrator(observer=0, says_you=True, language="norwegian").action(before, after)
    assert told == "you ask seat 1 (Katt: refused, you pay 1, trades undone)"


def test_the_showdown_is_told_with_losers_and_places() -> None:
    before, after = _after("pagat", "fool 3 11 3", "XXXS", lives=[1, 1, 3, 1])
    assert Narrator(observer=2, says_you=True).ending(before, after) == [
        "showdown: seat 0 III, seat 1 XI, you III, seat 3 Fool",
        "seat 0 loses 1 life with III",
        "you lose 1 life with III",
        "seat 3 loses 1 life with Fool",
        "seat 0 is out, place 3",
        "seat 3 is out, place 3",
    ]


def test_fools_sit_out_and_the_last_play_off() -> None:
    before, after = _after("pagat", "fool 9 fool 8 7", "SSSSS")
    assert Narrator().ending(before, after)[-2:] == [
        "seat 0 sits out the next deal",
        "seat 2 sits out the next deal",
    ]
    before, after = _after("pagat", "5 5", "SS", lives=[1, 1])
    assert Narrator().ending(before, after)[-1] == "seat 0 and seat 1 fall together and play off with a life each"


def test_a_fine_that_ends_the_match_leaves_no_showdown() -> None:
    before, after = _after("pagat", "9 dragon", "X-", lives=[1, 3])
    assert cards_at_showdown(before, after) == []
    assert Narrator().act(before, after) == [
        "seat 0 asks seat 1 (Dragon: refused, pays 1); seat 0 is out, place 2",
        "seat 1 wins the match and the pool of 1",
    ]


def test_a_match_can_be_shared() -> None:
    before, after = _after("pagat", "5 5", "SS", lives=[1, 1])
    joint = Table(before.rules.replace(all_out="joint"), 2, first_dealer=1, lives=[1, 1])
    joint.deal(["5", "5"])
    joint.act(0)
    before = joint.copy()
    joint.act(0)
    assert Narrator().ending(before, joint)[-1] == "seat 0 and seat 1 share the match and the pool of 2"
    assert after.places == [0, 0]


@examples(150, 5)
@given(named_tables(most_seats=7), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_no_sentence_names_a_card_that_its_observer_has_not_seen(
    named: tuple[str, int], seed: int, bias: float
) -> None:
    name, num_seats = named
    chooser = random.Random(seed)
    table = Table(name, num_seats)
    observer = chooser.randrange(-1, num_seats)
    narrator = Narrator(observer=observer)
    names = {table.rules.card_name(rank): rank for rank in table.rules.ranks}
    was = {other: rank for rank, other in table.rules.when_exchanged.items()}
    for _ in range(3):
        if table.is_over:
            return
        table.deal(shuffled(table.rules, chooser, bias))
        while legal := table.legal_actions():
            before = table.copy()
            table.act(chooser.choice(legal))
            told = narrator.action(before, table)
            words = set(re.findall(r"\w+", re.sub(r"(seat|pays?|place|gets?) \d+", "", told))) & set(names)
            seen = table.seen(observer)
            shown = {rank for rank, is_seen in zip(table.deck, seen, strict=True) if is_seen}
            shown |= {was[rank] for rank in shown & set(was)}
            assert {names[word] for word in words} <= shown, told
            views = view_seats(table, observer)
            assert {view.seat: view.rank for view in views if view.rank} == table.known(observer)


def test_lives_are_shown_as_the_rules_say() -> None:
    tokens, letters = Table("tokens", 3, lives=[5, 2, 7]), Table("letters", 3, lives=[4, 1, 3])
    assert [lives_in_words(tokens, seat) for seat in range(3)] == ["●●●●●", "●●○○", "7"]
    assert [lives_in_words(letters, seat) for seat in range(3)] == ["····", "GNA·", "G···"]
    strokes = Table(letters.rules.replace(display="strokes"), 3, lives=[4, 1, 3])
    assert [lives_in_words(strokes, seat) for seat in range(3)] == ["····", "|||·", "|···"]


def test_an_observer_must_sit_at_the_table() -> None:
    with pytest.raises(GnavError, match=r"observer must be a seat \(0 to 2\), -1 or None, not 3"):
        view_seats(Table("pagat", 3), 3)


def test_a_sweep_is_told_seat_by_seat_with_the_faces_that_one_saw() -> None:
    table = Table("lu_stu", 6, first_dealer=0)
    table.deal(["5", "gnaf", "2", "9", "salta", "bum"])  # turns: seats 5, 4, 3, 2, 1, 0
    for action in (0, 0, 0):
        table.act(action)
    before = table.copy()
    table.act(1)
    told = {observer: Narrator(observer=observer).action(before, table) for observer in (None, 3, 0)}
    path = "seat 4 (Salta: passed over), seat 5 (Bum: refused)"
    asks = "seat 2 asks seat 1 (Gnaf: refused, pays 2,"
    assert told[None] == f"{asks} II is pushed back: seat 3 (trade: II for IX), {path})"
    assert told[3] == f"{asks} its card is pushed back: seat 3 (trade: II for IX), {path})"
    assert told[0] == f"{asks} its card is pushed back: seat 3 (trade), {path})"


def test_payers_and_receivers_of_several_fines_are_told_apart() -> None:
    rules = VARIANTS["lu_stu"].replace(name="house", fine_to="holder")
    table = Table(rules, 6, first_dealer=0)
    table.deal(["5", "gnaf", "2", "9", "salta", "bum"])
    for action in (0, 0, 0):
        table.act(action)
    before = table.copy()
    table.act(1)
    assert "(Gnaf: refused, pays 2, seat 1 gets 1, seat 5 gets 1," in Narrator().action(before, table)


def test_nobody_is_told_a_place_that_is_not_final() -> None:
    table = Table("campli", 3, first_dealer=2, lives=[1, 3, 3])
    table.deal(["3", "9", "8"])
    for _ in range(2):
        table.act(0)
    before = table.copy()
    table.act(0)
    said = Narrator().act(before, table)
    assert said[-1] == "seat 0 is out"
    assert table.places == [0, 0, 0]
    assert view_seats(table)[0].remarks == "stood, loses"
