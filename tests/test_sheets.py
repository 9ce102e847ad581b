"""The sheets of rulesets: they leave nothing out, they say what is true, and the generated files are those of today."""

import json
import re
import runpy
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from gnav_env import VARIANTS, Effect, Rules, RulesError, Special, get_rules
from gnav_env._yaml import parse_yaml, read_yaml
from gnav_env.effects import TRADE
from gnav_env.reading import rules_to_yaml
from gnav_env.rules import COSMETIC, option_choices
from gnav_env.schema import field_docs, rules_schema
from gnav_env.sheet import COLUMNS, Sheet, make_sheet, rules_diff, sheet_markdown
from matches import examples, house_rules

pytestmark = pytest.mark.pure

ROOT = Path(__file__).parents[1]
NAMED = pytest.mark.parametrize("rules", VARIANTS.values(), ids=list(VARIANTS))

BASE = Rules(
    name="base",
    title="A ruleset in which every option matters",
    source="this test",
    deck={"joker": 2, "K": 4, "Q": 4, "J": 4, **{str(number): 4 for number in range(10, 1, -1)}, "A": 4, "crow": 0},
    when_exchanged={"joker": "crow"},
    effects={"K": Effect(refuse=True, pay=1), "Q": Effect(redirect=True)},
    specials=(Special(rank="A", count=1), Special(rank="A", count=2, others="none", sit_out=True)),
    lives=4,
    ante=1,
)
"""A little of everything."""

CHANGES: dict[str, Any] = {
    "name": "other",
    "title": "Another",
    "source": "elsewhere",
    "deck": {**BASE.deck, "2": 3},
    "effects": {**BASE.effects, "J": Effect(refuse=True)},
    "from_stock": {"K": TRADE},
    "when_exchanged": {"K": "crow"},
    "loss": {"2": 2},
    "specials": BASE.specials[:1],
    "count_at": "dealt",
    "immune": ("K",),
    "lives": 5,
    "ante": 0,
    "min_players": 3,
    "max_players": 9,
    "matador_may_be_offered": False,
    "first_dealer": 2,
    "end": "deals:5",
    "names": {"crow": "Jackdaw"},
    "numerals": "roman",
}
"""A change of each option that is not one of a few words."""

ALL_CHANGES = [
    *CHANGES.items(),
    *(
        (name, word)
        for name, words in option_choices().items()
        if name not in CHANGES
        for word in words
        if word != getattr(BASE, name)
    ),
]


def words(sheet: Sheet) -> str:
    return " ".join(sentence for section in sheet.sections for sentence in section.sentences)


def rows_of(markdown: str) -> list[list[str]]:
    """The cells of the table of cards."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


# ---------------------------------------------------------------------------------------------- nothing is left out


def test_the_changes_tried_here_are_of_all_options() -> None:
    assert {name for name, _ in ALL_CHANGES} == {item.name for item in fields(Rules)} - {"bargain"}
    assert option_choices()["bargain"] == ("off",), "a second value wants to be tried here too"


@pytest.mark.parametrize(("name", "value"), ALL_CHANGES, ids=[f"{name}-{value}"[:40] for name, value in ALL_CHANGES])
def test_a_change_of_any_option_changes_the_sheet_and_is_found(name: str, value: Any) -> None:
    changed = BASE.replace(**{name: value})
    assert sheet_markdown(make_sheet(changed)) != sheet_markdown(make_sheet(BASE))
    difference = rules_diff(BASE, changed)
    assert difference
    assert [(what, b, a) for what, a, b in rules_diff(changed, BASE)] == difference


@pytest.mark.parametrize("name", option_choices())
def test_each_word_of_an_option_gives_another_sheet(name: str) -> None:
    sheets = [sheet_markdown(make_sheet(BASE.replace(**{name: word}))) for word in option_choices()[name]]
    assert len(set(sheets)) == len(sheets)


@NAMED
@pytest.mark.parametrize("language", ["own", "english", "norwegian"])
def test_every_rank_has_its_place_high_to_low(rules: Rules, language: Any) -> None:
    sheet = make_sheet(rules, language)
    assert [rank for row in sheet.cards for rank in row.ranks] == list(rules.deck)
    for row in sheet.cards:
        for rank in row.ranks:
            name = rules.card_name(rank, language)
            assert name.lower() in row.names.lower() or ("…" in row.names and rank.isdigit())


@NAMED
def test_sentences_are_sentences(rules: Rules) -> None:
    for section in make_sheet(rules).sections:
        assert section.sentences
        for sentence in section.sentences:
            assert re.fullmatch(r"[A-Z].*[^.,;: ]\.", sentence), sentence
            for ugly in ("  ", "None", "{", ",,", " ,", " .", "1 lives", "..", "the the", "a a "):
                assert ugly not in sentence


@examples(num_compiled=60, num_plain=60)
@given(rules=house_rules())
def test_any_ruleset_has_a_sheet_with_a_sound_table(rules: Rules) -> None:
    sheet = make_sheet(rules)
    assert [rank for row in sheet.cards for rank in row.ranks] == list(rules.deck)
    head, rule, *rows = rows_of(sheet_markdown(sheet))
    assert head == list(COLUMNS)
    assert rule == ["---"] * len(COLUMNS)
    assert [len(row) for row in rows] == [len(COLUMNS)] * len(sheet.cards)
    assert all(section.sentences for section in sheet.sections)
    assert rules_diff(rules, rules) == []


def test_names_that_markdown_would_take_for_signs_are_left_alone() -> None:
    markdown = sheet_markdown(make_sheet(BASE.replace(names={"crow": "Pipe | *Star*"}, title="a_b <i>")))
    assert {len(row) for row in rows_of(markdown)} == {len(COLUMNS)}
    assert r"Pipe \| \*Star\*" in markdown
    assert markdown.startswith("# a_b \\<i\\>\n")


# ---------------------------------------------------------------------------------------------- what is said is true


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pagat", "If two seats hold a Fool, they lose, and nobody else does"),
        ("pagat", "Whoever is dealt a Fool must knock."),
        ("pagat", "A seat whose matador has answered a challenge has had its turn."),
        ("pagat", "A challenge sent on by the Horse or the House goes to the next seat"),
        ("pagat", "they get one life back each, out of the pool, and play on."),
        ("letters", "Each seat starts with 4 lives; each that is lost is written down as a letter, G, N, A and V."),
        ("letters", "Lost lives go to nobody, so there is no pool to win."),
        ("tokens", "it goes to the holder of the card. A fine for a card from the stock goes to the pool."),
        ("pool", "The match ends after 20 deals"),
        ("pieces", "Each seat draws one card from the bag"),
        ("forced", "Only a matador lets its holder STAND, unless EXCHANGE is impossible."),
        ("silent", "A matador that answers is not shown"),
        ("double", "If two or more seats hold a Fool, they lose"),
        ("kille", "A Harlekin that changes hands lies face up and is an exchanged Harlekin, the lowest card of all,"),
        ("kille", "Whoever holds an exchanged Harlekin loses, and so does the lowest of the rest."),
        ("kille", "The Husu fines the seat to which the offered card was dealt"),
        ("kille", "Each seat stakes 1 on every deal"),
        ("kille", "The winner takes the stakes."),
        ("campli", "Play goes anticlockwise: the seat at the dealer's right is the eldest"),
        ("campli", "The Cucu never loses"),
        ("campli", "If two seats hold a Matto, their cards stand just above the Bum."),
        ("campli", "Whatever comes from the stock is taken, without effect,"),
        ("campli", "everybody starts again with full lives, those too who were out before."),
        ("campli", "Some houses let the two seats bargain over the Taverna; here it just refuses."),
        ("lu_stu", "their cards stand just above the Cucu, and each holder wins 1 life."),
        ("lu_stu", "Where there is only one, a Matto is compared like any other card."),
        ("lu_stu", "The Gnaf pushes the offered card back towards the eldest"),
        ("ranter", "The matador is the King: asked for, it answers"),
        ("ranter_1882", "No card can refuse: whoever is asked has to trade."),
        ("screw_stop", "When the King stops the deal, nobody else acts"),
        ("le_her", "With two at the table that means: the dealer wins ties."),
        ("le_her", "The match is a single deal, and whoever loses it loses the match. The winner takes the pool."),
        ("slabberjan", "The Poesje undoes all trades of the deal"),
        ("vogelspiel", "A loser who holds a Hexe loses 2 lives instead."),
    ],
)
def test_a_sheet_says(name: str, said: str) -> None:
    assert said in words(make_sheet(VARIANTS[name]))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("letters", "knock"),
        ("letters", "Fool"),
        ("ranter", "fine"),
        ("ranter_1882", "matador"),
        ("campli", "starts again, out of the pool"),
        ("lu_stu", "If the last seats fall together"),  # one seat at a time falls there
        ("le_her", "If the last seats fall together"),
        ("le_her", "next deal"),
        ("vogelspiel", "sent on"),
    ],
)
def test_a_sheet_is_silent_about_what_cannot_happen(name: str, said: str) -> None:
    assert said not in words(make_sheet(VARIANTS[name]))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("pagat", ("Cat", "2", "refuses, challenger pays 1 life, all trades are undone", "the same", "")),
        ("pagat", ("Horse, House", "2", "sends on to the next seat", "the same", "")),
        ("pagat", ("XII … 0, Pot, Owl", "2", "trades", "is taken", "")),
        ("ranter", ("Queen, Jack, 10 … 2, Ace", "4", "trades", "is taken", "")),
        ("kille", ("Kavall, Värdshus", "2", "sends on to the next seat", "refuses", "")),
        ("kille", ("Harlekin", "2", "trades, and is an exchanged Harlekin from then on", "is taken", "")),
        (
            "kille",
            ("Exchanged Harlekin", "–", "trades", "–", "the holder loses, and the lowest of the rest too"),
        ),
        ("campli", ("Cucu", "2", "refuses", "is taken", "never loses")),
        ("lu_stu", ("Matto", "2", "trades", "is taken", "two: just above the Cucu, each holder wins 1 life")),
        ("vogelspiel", ("Wacht, Katze, Pferd, Wirtshaus", "2", "refuses, challenger pays 1 life", "the same", "")),
    ],
)
def test_a_row_of_cards_says(name: str, cells: tuple[str, ...]) -> None:
    assert cells in [row.cells for row in make_sheet(VARIANTS[name]).cards]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ties": "unique"}, "unless several tie for lowest: then none of them does."),
        ({"ties": "none_if_all_equal"}, "unless all cards compared are equal."),
        ({"count_at": "dealt"}, "If one seat was dealt an Ace, whoever holds an Ace at the showdown loses"),
        ({"reshuffle": "on_exhaustion"}, "it pays to remember what has been played."),
        ({"all_out": "carry_over"}, "the pool and the stakes then stay for the next match"),
        ({"all_out": "joint"}, "they share the win. The winner takes the pool and the stakes; winners who tie share"),
        ({"mid_deal_out": "deferred"}, "its card is compared all the same and costs nothing more."),
        ({"strikes": "consecutive"}, "has all 4 lives again, out of the pool as far as that goes."),
        ({"first_dealer": 2}, "The first dealer is seat 2;"),
        ({"from_stock": {"K": TRADE}}, "From the stock the King answers otherwise than from a hand;"),
        ({"loss": {"2": 0}}, "A loser who holds a 2 loses nothing."),
        ({"matador_may_be_offered": False}, "The holder of a matador may not EXCHANGE."),
    ],
)
def test_an_option_is_said_in_words(changes: dict[str, Any], said: str) -> None:
    assert said in words(make_sheet(BASE.replace(**changes)))


def test_cards_are_called_as_the_language_has_it() -> None:
    english, norwegian = (
        make_sheet(VARIANTS[name], language) for name, language in (("kille", "english"), ("pagat", "norwegian"))
    )
    assert "Whoever holds an exchanged Harlequin loses" in words(english)
    assert "Horse" not in words(norwegian)
    assert "by the Hest or the Hus" in words(norwegian)


# ---------------------------------------------------------------------------------------------- two rulesets


def test_a_difference_names_options_then_cards_then_looks() -> None:
    rows = rules_diff(VARIANTS["campli"], VARIANTS["lu_stu"])
    assert rows[:3] == [
        ("mid_deal_out", "dead_card_finish", "dead_card"),
        ("all_out", "all_reenter", "play_off"),
        ("ties", "all", "first"),
    ]
    assert ("Cucu: at the showdown", "never loses", "–") in rows
    assert [what for what, _, _ in rows][-2:] == ["name", "title"]


def test_ranks_that_differ_in_the_same_way_share_a_row_and_strangers_are_told_of() -> None:
    assert (
        "Cuckoo, Dragon, Cat, Horse, House, XII … 0, Pot, Owl, Fool: copies",
        "2",
        "4",
    ) in rules_diff(VARIANTS["pagat"], VARIANTS["double"])
    assert ("Kuku: when asked", "–", "refuses, the deal stops") in rules_diff(VARIANTS["pagat"], VARIANTS["kille"])


def test_another_order_of_the_same_cards_is_a_difference() -> None:
    upside_down = BASE.replace(deck=dict(reversed(BASE.deck.items())))
    assert [what for what, _, _ in rules_diff(BASE, upside_down)] == ["order of the cards"]


def test_the_same_game_differs_only_for_the_eye() -> None:
    for one in VARIANTS.values():
        for other in VARIANTS.values():
            plays_alike = all(what in COSMETIC for what, _, _ in rules_diff(one, other))
            assert plays_alike == (one.hash == other.hash)


# ---------------------------------------------------------------------------------------------- generated files


DOCUMENTS = runpy.run_path(str(ROOT / "scripts" / "remake_docs.py"))["documents"]()


@pytest.mark.parametrize("path", DOCUMENTS, ids=str)
def test_a_generated_file_is_fresh(path: Path) -> None:
    written = (ROOT / path).read_text(encoding="utf-8")
    assert written == DOCUMENTS[path], "if this is meant: python scripts/remake_docs.py, and read the diff"


def test_each_named_ruleset_has_a_page_and_no_other_has() -> None:
    assert {path.stem for path in (ROOT / "docs" / "rulesets").glob("*")} == {*VARIANTS, "README"}
    index = DOCUMENTS[Path("docs/rulesets/README.md")]
    assert all(f"]({name}.md)" in index for name in VARIANTS)


def test_a_generated_page_says_so_on_its_first_line() -> None:
    for path, text in DOCUMENTS.items():
        if path.parent.name == "rulesets":
            assert "scripts/remake_docs.py" in text.splitlines()[0]


# ---------------------------------------------------------------------------------------------- the schema


SCHEMA = rules_schema(VARIANTS)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def plain(data: Any) -> Any:
    """YAML as an editor sees it: keys are text."""
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    return [plain(item) for item in data] if isinstance(data, list) else data


def is_valid(text: str) -> bool:
    return VALIDATOR.is_valid(plain(parse_yaml(text, where="a test")))


def test_the_schema_is_one_and_holds_every_option_with_its_meaning() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == ["based_on", *(item.name for item in fields(Rules))]
    assert SCHEMA["properties"]["ties"]["enum"] == list(option_choices()["ties"])
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("name", [item.name for item in fields(Rules)])
def test_every_option_has_a_docstring(name: str) -> None:
    text = field_docs(Rules)[name]
    assert text.endswith(".")
    assert "``" not in text
    assert SCHEMA["properties"][name]["description"].startswith(text)


@NAMED
@pytest.mark.parametrize("all_options", [True, False])
def test_every_named_ruleset_is_valid(rules: Rules, all_options: bool) -> None:
    data = plain(parse_yaml(rules_to_yaml(rules, all_options=all_options), where=rules.name))
    assert [error.message for error in VALIDATOR.iter_errors(data)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "variants").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_valid_can_be_read_and_name_the_schema(path: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(plain(read_yaml(path)))] == []
    assert get_rules(str(path)).name == path.stem
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=rules.schema.json\n")


@pytest.mark.parametrize(
    "more",
    [
        "from_stock: {cat: take, 12: [refuse, pay 1]}",
        "effects: {cat: [], dragon: [refuse, pay origin 2, undo card, stop]}",
        "specials: [{rank: 12, count: 2, holder: rank_above cuckoo, bonus: 1}]",
        "first_dealer: 3",
        "bargain: off",
        "immune: [12, cat]",
        "names: {cat: Kissa, owl: Pöllö}",
    ],
)
def test_what_the_reader_takes_the_schema_takes(more: str, tmp_path: Path) -> None:
    text = f"name: x\nbased_on: letters\n{more}\n"
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    assert get_rules(str(tmp_path / "x.yaml")).name == "x"
    assert is_valid(text)


@pytest.mark.parametrize(
    "text",
    [
        "based_on: pagat",
        "name: x",
        "name: x y\nbased_on: pagat",
        "name: x\nbased_on: pagad",
        "name: x\ndeck: {a: 1}",
        "name: x\ndeck: {a: 2, b: many}",
        "name: x\ndeck: {a b: 2, c: 2}",
        *(
            f"name: x\nbased_on: pagat\n{wrong}"
            for wrong in (
                "livs: 3",
                "lives: 0",
                "lives: 101",
                "lives: many",
                "ante: -1",
                "min_players: 1",
                "max_players: 52",
                "speech: loud",
                "ties: everybody",
                "end: deals",
                "end: deals:0",
                "end: deals:10001",
                "first_dealer: nobody",
                "first_dealer: 51",
                "matador_may_be_offered: 'no'",
                "effects: [cat]",
                "effects: {cat: refuse}",
                "effects: {cat: take}",
                "effects: {cat: [refuse, pay]}",
                "effects: {cat: [pay 1]}",
                "effects: {cat: [redirect, stop]}",
                "effects: {cat: [undo some, refuse]}",
                "from_stock: {cat: keep}",
                "loss: {fool: -1}",
                "specials: [{rank: fool}]",
                "specials: [{rank: fool, count: 9}]",
                "specials: [{rank: fool, count: 1, sit: true}]",
                "specials: [{rank: fool, count: 1, holder: wins}]",
                "specials: [{rank: fool, count: 1, holder: rank_above}]",
                "immune: cat",
            )
        ),
    ],
)
def test_a_mistake_is_not_valid(text: str) -> None:
    assert not is_valid(text)


@pytest.mark.parametrize("name", ["lives", "ante", "min_players", "max_players", "first_dealer"])
def test_the_ranges_of_the_schema_are_those_of_the_rules(name: str) -> None:
    schema = SCHEMA["properties"][name]
    schema = schema.get("anyOf", [schema])[-1]
    low, high = schema["minimum"], schema["maximum"]
    wide = VARIANTS["double"].replace(deck={"1": 42, "0": 42}, effects={}, specials=())
    for good in (low, high):
        changes = {"max_players": 51, name: good}
        assert getattr(wide.replace(**changes), name) == good
    for wrong in (low - 1, high + 1):
        with pytest.raises(RulesError, match=f"{name}.*must be"):
            wide.replace(**{name: wrong})


def test_verbs_agree_with_several_cards_that_undo() -> None:
    effects = {rank: Effect(refuse=True, pay=1, undo="all") for rank in ("dragon", "cat")}
    said = sheet_markdown(make_sheet(VARIANTS["pagat"].replace(name="house", effects=effects)))
    assert "The Dragon and the Cat undo all trades" in said
    effects = {rank: Effect(refuse=True, undo="sweep") for rank in ("dragon", "cat")}
    said = sheet_markdown(make_sheet(VARIANTS["pagat"].replace(name="house", effects=effects)))
    assert "The Dragon and the Cat push the offered card back" in said
