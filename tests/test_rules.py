"""Rulesets as data: what each is, YAML there and back, and errors that say what would be right."""

import re
from pathlib import Path
from typing import Any

import pytest

from gnav_env import VARIANTS, Effect, GnavError, Rules, RulesError, Special, Table, Tables, YamlError, get_rules
from gnav_env.aec import GnavEnv
from gnav_env.reading import read_rules, rules_to_yaml

pytestmark = pytest.mark.pure
ROOT = Path(__file__).parents[1]
PAGAT = VARIANTS["pagat"]

LIMITS = {"double": 51, "hypp": 18, "joker_cuckoo": 45, "joker_fool": 45, "kille": 13, "slabberjan": 39}
LIMITS |= {"ranter": 51, "ranter_1882": 51, "screw_stop": 51, "le_her": 2, "campli": 20, "lu_stu": 20, "vogelspiel": 20}
"""cards - 1 - redirecting cards, at most 51, or what the game is for; all others have 42 cards and 4 that redirect."""


@pytest.mark.parametrize("rules", VARIANTS.values(), ids=list(VARIANTS))
def test_the_deck_limits_the_seats(rules: Rules) -> None:
    assert rules.seat_limit == LIMITS.get(rules.name, 37)
    span = f"{rules.min_players} to {rules.seat_limit}" if rules.name != "le_her" else "2 for ruleset le_her"
    for wrong in (rules.min_players - 1, rules.seat_limit + 1):
        with pytest.raises(RulesError, match=f"seats must be {span}"):
            rules.check_seats(wrong)


def test_the_rulesets_are_those_of_the_rule_text() -> None:
    gnav = "pagat letters tokens pool pieces short forced silent double hypp joker_cuckoo joker_fool"
    relatives = "kille ranter ranter_1882 screw_stop le_her campli lu_stu slabberjan vogelspiel"
    assert " ".join(VARIANTS) == f"{gnav} {relatives}"
    assert PAGAT.num_cards == 42
    assert len(PAGAT.ranks) == 21
    assert PAGAT.matadors == ("cuckoo", "dragon", "cat", "horse", "house")
    assert VARIANTS["double"].num_cards == 84
    assert VARIANTS["hypp"].num_cards == 21
    assert VARIANTS["joker_fool"].num_cards == VARIANTS["joker_cuckoo"].num_cards == 54
    assert VARIANTS["joker_fool"].matadors == ("A", "K", "Q", "J", "10")
    assert VARIANTS["pool"].num_deals == 20
    assert VARIANTS["short"].num_deals == 10
    for name in ("letters", "tokens", "pool", "short", "forced", "silent", "hypp", "joker_cuckoo"):
        assert VARIANTS[name].lives == 4
        assert VARIANTS[name].challenged_matador_turn == "play"
        assert not VARIANTS[name].specials


def test_every_ruleset_has_a_line_and_a_source_for_people() -> None:
    assert all(rules.title and rules.source for rules in VARIANTS.values())


@pytest.mark.parametrize("rules", VARIANTS.values(), ids=list(VARIANTS))
def test_yaml_there_and_back_is_the_same_ruleset(rules: Rules, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(rules_to_yaml(rules), encoding="utf-8")
    again = read_rules(path, VARIANTS)
    assert again == rules
    assert again.hash == rules.hash
    assert (again.compiled == rules.compiled).all()


def test_a_hash_names_the_game_and_not_its_looks() -> None:
    assert VARIANTS["pieces"].hash == PAGAT.hash
    others = [rules.hash for rules in VARIANTS.values() if rules.name != "pieces"]
    assert len(set(others)) == len(others)
    assert PAGAT.replace(title="Otherwise", display="strokes").hash == PAGAT.hash
    assert PAGAT.replace(lives=4).hash != PAGAT.hash
    upside_down = dict(reversed(PAGAT.deck.items()))
    assert PAGAT.replace(deck=upside_down).hash != PAGAT.hash, "the order of ranks is the game"


def test_the_house_variant_that_ships_builds_on_pagat() -> None:
    rules = get_rules(str(ROOT / "configs" / "variants" / "long_night.yaml"))
    assert rules.effects["dragon"] == Effect(refuse=True, pay=2)
    assert rules.effects["cat"] == PAGAT.effects["cat"]
    assert rules.effect("cuckoo", from_stock=True) == Effect()
    assert rules.loss == {"fool": 2}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: x\nbased_on: pagat\nlivs: 3\n", 3, "did you mean 'lives'"),
        ("name: x\nbased_on: pagad\n", 2, "did you mean 'pagat'"),
        ("name: x\nbased_on: pagat\n\nlives: many\n", 4, "lives must be a whole number from 1 to 100"),
        ("name: x\nbased_on: pagat\nlives: 0\n", 3, "lives must be a whole number from 1 to 100, not 0"),
        ("name: x\nbased_on: pagat\nspeech: loud\n", 3, "speech must be spoken or silent"),
        ("name: x\nbased_on: [pagat]\n", 2, "unknown ruleset ['pagat']"),
        ("name: x\nbased_on: pagat\ntitle: [a]\n", 3, "title must be a text"),
        ("name: 12\nbased_on: pagat\n", 1, "name must be letters"),
        ("name: x\nbased_on: pagat\nnames: {fool: ''}\n", 3, "a word or more"),
        ("name: x\nbased_on: pagat\nnames: {fool: [1]}\n", 3, "a word or more"),
        ("name: x\nbased_on: pagat\neffects: {cuckoo: take}\n", 3, "an effect is a list of atoms"),
        ("name: x\nbased_on: pagat\nend: deals:\u0663\n", 3, "end must be last_survivor or deals:N"),
        ("name: x\nbased_on: pagat\nfirst_dealer: 40\n", 3, "a whole number from 0 to 36"),
        ("name: x\nbased_on: pagat\nties: last\n", 3, "ties must be all or first or unique or none_if_all_equal"),
        ("name: x\nbased_on: pagat\nreshuffle: never\n", 3, "reshuffle must be each_deal or on_exhaustion"),
        ("name: x\nbased_on: pagat\nante: -1\n", 3, "ante must be a whole number from 0 to 100"),
        ("name: x\nbased_on: pagat\nbargain: on\n", 3, "bargain must be off"),
        ("name: x\nbased_on: pagat\nimmune: cat\n", 3, "immune must be a list"),
        ("name: x\nbased_on: pagat\nimmune: [kat]\n", 3, "did you mean 'cat'"),
        ("name: x\nbased_on: pagat\nimmune: [fool]\n", 3, "it cannot be immune too"),
        ("name: x\nbased_on: pagat\nwhen_exchanged: {cat: owl}\n", 3, "with 0 copies in the deck, not owl"),
        ("name: x\nbased_on: pagat\neffects: {cat: [refuse, pay nobody 1]}\n", 3, "unknown atom 'pay nobody 1'"),
        ("name: x\nbased_on: pagat\neffects: {cat: [refuse, undo some]}\n", 3, "unknown atom 'undo some'"),
        ("name: x\nbased_on: pagat\neffects: {cat: [refuse, pay 1, pay 2]}\n", 3, "each kind of atom once"),
        ("name: x\nbased_on: pagat\neffects: {cat: [bargain, stop]}\n", 3, "bargain stands alone"),
        ("name: x\nbased_on: pagat\nspecials: [{rank: fool, count: 1, holder: wins}]\n", 3, "rank_above and a rank"),
        ("name: x\nbased_on: pagat\nspecials: [{rank: fool, count: 1, holder: rank_above kat}]\n", 3, "no rank 'kat'"),
        ("name: x\nbased_on: pagat\nspecials: [{rank: fool, count: 1, bonus: 1}]\n", 3, "goes with rank_above"),
        ("name: x\nbased_on: pagat\neffects:\n  cat: [refuse, pay]\n", 3, "unknown atom 'pay'"),
        ("name: x\nbased_on: pagat\neffects:\n  kat: [refuse]\n", 3, "did you mean 'cat'"),
        ("name: x\nbased_on: pagat\neffects: {cat: [pay 1]}\n", 3, "go with refuse"),
        ("name: x\nbased_on: pagat\neffects: {cat: [redirect, stop]}\n", 3, "redirect stands alone"),
        ("name: x\nbased_on: pagat\neffects: [cat]\n", 3, "must map ranks"),
        ("name: x\nbased_on: pagat\nend: deals\n", 3, "end must be last_survivor or deals:N"),
        ("name: x\nbased_on: pagat\nspecials: [{rank: fool}]\n", 3, "needs a rank and a count"),
        ("name: x\nbased_on: pagat\nspecials: [{rank: fool, count: 1, sit: true}]\n", 3, "did you mean 'sit_out'"),
        ("name: x\nbased_on: pagat\nspecials: [{rank: fool, count: 9}]\n", 3, "count must be"),
        ("name: x\nbased_on: pagat\nloss: {fool: -1}\n", 3, "loss of fool"),
        ("name: x\nbased_on: pagat\ndeck: {a: 1}\n", 3, "deck must map 2 to 24 ranks"),
        ("name: x\nbased_on: pagat\ndeck: {a: 60, b: 60}\n", 3, "at most 84 cards"),
        ("name: x\nbased_on: pagat\ndeck: {grey owl: 2, b: 6}\n", 3, "a rank is letters and digits"),
        ("name: x\nbased_on: pagat\nfirst_dealer: nobody\n", 3, "first_dealer"),
        ("name: x\nbased_on: pagat\nmatador_may_be_offered: 'no'\n", 3, "must be true or false"),
        ("name: x y\nbased_on: pagat\n", 1, "name must be letters"),
        ("based_on: pagat\n", None, "needs a name"),
        ("name: x\n", None, "needs a deck"),
        ("name: [x\n", 2, "not YAML"),
        ("- name\n", 1, "a mapping was expected (`key: value` lines), not a list"),
        ("", 1, "a mapping was expected (`key: value` lines), not nothing"),
    ],
)
def test_yaml_that_cannot_be_names_path_line_and_remedy(
    text: str, line: int | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    where = f"{path}:{line}:" if line else f"{path}:"
    with pytest.raises(YamlError, match=re.escape(message)) as raised:
        read_rules(path, VARIANTS)
    assert str(raised.value).startswith(where)


def test_a_missing_file_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text("name: x\n")
    with pytest.raises(YamlError, match=r"no such file; that folder has house\.yaml"):
        get_rules(str(tmp_path / "hous.yaml"))


def test_an_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(RulesError, match="did you mean 'letters'"):
        get_rules("leters")


def test_yaml_reads_as_version_1_2(tmp_path: Path) -> None:
    """`no` is a word here; PyYAML would make it False and fail to find the rank."""
    path = tmp_path / "words.yaml"
    path.write_text("name: words\ndeck: {yes: 4, no: 4}\neffects: {yes: [refuse]}\n", encoding="utf-8")
    assert read_rules(path, VARIANTS).ranks == ("no", "yes")


@pytest.mark.parametrize("value", [0, "x", 1.5, True, None])
def test_values_are_checked_when_they_are_made(value: Any) -> None:
    with pytest.raises(GnavError):
        PAGAT.replace(lives=value)


def test_a_gap_in_the_specials_leaves_the_rank_simply_compared() -> None:
    rules = PAGAT.replace(specials=(Special(rank="fool", count=1), Special(rank="fool", count=3, others="none")))
    assert rules.compiled[0].special_loses[0].tolist() == [1, 0, 1, 1]
    assert rules.compiled[0].special_spares[0].tolist() == [0, 0, 1, 1]


def test_the_first_dealer_has_to_sit_at_the_table() -> None:
    rules = PAGAT.replace(name="house", first_dealer=5)
    for make in (Table, Tables, GnavEnv):
        assert make(rules, 6)
        with pytest.raises(RulesError, match="seats must be more than 5 for ruleset house"):
            make(rules, 5)


def test_a_match_of_so_many_deals_is_not_cut_off_before() -> None:
    rules = PAGAT.replace(name="house", end="deals:100", lives=1)
    assert rules.max_deals(3) == 100
    assert PAGAT.max_deals(3) == 36


def test_the_compiled_record_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        PAGAT.compiled["lives"] = 9


def test_cards_have_the_names_of_their_tradition_and_translations() -> None:
    assert [PAGAT.card_name(rank) for rank in ("cuckoo", "12", "0", "pot")] == ["Cuckoo", "XII", "0", "Pot"]
    assert PAGAT.card_name("house", "norwegian") == "Hus"
    assert [VARIANTS["ranter"].card_name(rank) for rank in ("K", "10", "A")] == ["King", "10", "Ace"]
    assert VARIANTS["kille"].card_name("vardshus") == "Värdshus"
    assert VARIANTS["kille"].card_name("vardshus", "english") == "Inn"
    assert VARIANTS["vogelspiel"].card_name("witch") == "Hexe"
    assert VARIANTS["vogelspiel"].card_name("witch", "english") == "Witch"
    assert VARIANTS["campli"].card_name("9") == "IX"
