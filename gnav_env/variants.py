"""The named rulesets of Gnav and its relatives, each with its source. Data only; what the options mean stands in
rules.py.
"""

from collections.abc import Mapping

from gnav_env._yaml import nearest
from gnav_env.cards import (
    CUCCU_PACK,
    DOUBLE_GNAV_PACK,
    GNAV_PACK,
    HYPP_PACK,
    JOKER_HIGH_PACK,
    JOKER_LOW_PACK,
    KILLE_PACK,
    PLAIN_PACK,
    SLABBERJAN_PACK,
    VOGELSPIEL_PACK,
)
from gnav_env.effects import TRADE, Effect, Special
from gnav_env.errors import RulesError
from gnav_env.reading import read_rules
from gnav_env.rules import Rules

__all__ = ["VARIANTS", "get_rules"]

_PAGAT = "J. McLeod, pagat.com, Gnav"
_LETTERS = "the international description of Gnav with the penalty letters G-N-A-V"

_WIKIPEDIA = "Wikipedia"

_REFUSES = Effect(refuse=True)
_STOPS = Effect(refuse=True, stop=True)
_FINES = Effect(refuse=True, pay=1)
_UNDOES = Effect(refuse=True, pay=1, undo="all")
_REDIRECTS = Effect(redirect=True)
_MATADOR_EFFECTS = (_STOPS, _FINES, _UNDOES, _REDIRECTS, _REDIRECTS)


def _matadors(*ranks: str) -> Mapping[str, Effect]:
    """The five effects of Gnav for the five top `ranks`, high to low."""
    return dict(zip(ranks, _MATADOR_EFFECTS, strict=True))


def _fool_specials(rank: str) -> tuple[Special, ...]:
    return (
        Special(rank=rank, count=1, holder="lose", others="lowest"),
        Special(rank=rank, count=2, holder="lose", others="none", sit_out=True),
    )


_pagat = Rules(
    name="pagat",
    title="Gnav as played in Norway",
    source=_PAGAT,
    deck=GNAV_PACK,
    numerals="roman",
    effects=_matadors("cuckoo", "dragon", "cat", "horse", "house"),
    specials=_fool_specials("fool"),
    lives=3,
    knock="dealt",
)
_letters = Rules(
    name="letters",
    title="International Gnav, lives lost as the letters G-N-A-V",
    source=_LETTERS,
    deck=GNAV_PACK,
    numerals="roman",
    effects=_pagat.effects,
    lives=4,
    min_players=3,
    challenged_matador_turn="play",
    fine_to="none",
    loss_to="none",
    display="letters",
)
_tokens = _letters.replace(
    name="tokens",
    title="Letters rules with stakes: fines to the holder, losses to the pool",
    fine_to="holder",
    loss_to="pool",
    display="tokens",
)

_kille = Rules(
    name="kille",
    title="Kille, the Swedish game of one card, one life and a Harlekin that must not be passed on",
    source=f"{_WIKIPEDIA}, Kille",
    deck=KILLE_PACK,
    effects={
        "kuku": _STOPS,
        "husar": _FINES,
        "husu": Effect(refuse=True, pay=1, payer="origin", undo="card"),
        "kavall": _REDIRECTS,
        "vardshus": _REDIRECTS,
    },
    from_stock={"kavall": _REFUSES, "vardshus": _REFUSES},
    when_exchanged={"harlekin": "gammal"},
    specials=(Special(rank="gammal", count=1),),
    lives=1,
    ante=1,
    min_players=3,
    max_players=13,
    fine_to="none",
    loss_to="none",
    display="strokes",
)
_ranter = Rules(
    name="ranter",
    title="Ranter-Go-Round, or Chase the Ace, with plain cards",
    source=f"{_WIKIPEDIA}, Ranter-Go-Round",
    deck=PLAIN_PACK,
    effects={"K": _REFUSES},
)
_campli = Rules(
    name="campli",
    title="Cucù as played at Campli",
    source="J. McLeod, pagat.com, Cucù",
    deck=CUCCU_PACK,
    numerals="roman",
    effects={
        "cucu": _REFUSES,
        "bum": _FINES,
        "salta": _REDIRECTS,
        "gnaf": Effect(refuse=True, pay=1, undo="card"),
        "taverna": Effect(bargain=True),
    },
    from_stock=dict.fromkeys(("cucu", "bum", "salta", "gnaf", "taverna"), TRADE),
    immune=("cucu",),
    specials=(
        Special(rank="matto", count=1),
        Special(rank="matto", count=2, holder="rank_above bum"),
    ),
    ante=1,
    max_players=20,
    direction="anticlockwise",
    challenged_matador_turn="play",
    mid_deal_out="dead_card_finish",
    all_out="all_reenter",
)
_slabberjan = _pagat.replace(
    name="slabberjan",
    title="Slabberjan, the game of Zeeland",
    source="J. McLeod, pagat.com, Cuckoo",
    deck=SLABBERJAN_PACK,
    numerals="arabic",
    effects={
        "kapaf": Effect(refuse=True, pay=1, stop=True),
        "vogel": _REFUSES,
        "poesje": Effect(refuse=True, undo="all"),
        "herberg": _REDIRECTS,
    },
    specials=(),
    knock="none",
    lives=4,
)

VARIANTS: dict[str, Rules] = {
    rules.name: rules
    for rules in (
        _pagat,
        _letters,
        _tokens,
        _tokens.replace(name="pool", title="The gambling form: twenty deals for a pool", end="deals:20"),
        _pagat.replace(name="pieces", title="Wooden pieces from a bag", container="bag"),
        _letters.replace(name="short", title="Ten deals", end="deals:10"),
        _letters.replace(name="forced", title="Stand only with a matador", stand_requires="matador"),
        _letters.replace(name="silent", title="No announcements", speech="silent"),
        _pagat.replace(name="double", title="Two sets of pieces, 84 in all", deck=DOUBLE_GNAV_PACK),
        _letters.replace(
            name="hypp",
            title="One set of 21 cards",
            source="the exchange game with the pack of Hypp",
            deck=HYPP_PACK,
            min_players=2,
        ),
        _letters.replace(
            name="joker_cuckoo",
            title="Plain cards, jokers as cuckoos",
            deck=JOKER_HIGH_PACK,
            numerals="arabic",
            effects=_matadors("joker", "K", "Q", "J", "10"),
        ),
        _pagat.replace(
            name="joker_fool",
            title="Plain cards, jokers as fools",
            deck=JOKER_LOW_PACK,
            numerals="arabic",
            effects=_matadors("A", "K", "Q", "J", "10"),
            specials=_fool_specials("joker"),
        ),
        _kille,
        _ranter,
        _ranter.replace(
            name="ranter_1882",
            title="Ranter-Go-Round as it was first described: Kings trade",
            effects={},
        ),
        _ranter.replace(
            name="screw_stop",
            title="Screw Your Neighbour where a King stops the deal",
            effects={"K": _STOPS},
        ),
        _ranter.replace(
            name="le_her",
            title="Le Her: two players, one deal, the dealer wins ties",
            source=f"{_WIKIPEDIA}, Le Her; D. R. Bellhouse and N. Fillion, Statistical Science 30, 2015",
            lives=1,
            max_players=2,
            challenged_matador_turn="play",
            ties="first",
            end="deals:1",
        ),
        _campli,
        _campli.replace(
            name="lu_stu",
            title="Lu Stù, Cucù as played at Montorio",
            effects={**_campli.effects, "gnaf": Effect(refuse=True, pay=1, undo="sweep")},
            immune=(),
            specials=(Special(rank="matto", count=2, holder="rank_above cucu", bonus=1),),
            mid_deal_out="dead_card",
            all_out="play_off",
            ties="first",
        ),
        _slabberjan,
        Rules(
            name="vogelspiel",
            title="Vogelspiel, the bird game of Bavaria and Austria, after Adrian",
            source=f"{_WIKIPEDIA}, Vogelspiel",
            deck=VOGELSPIEL_PACK,
            numerals="roman",
            names={
                "bird": "Vogel",
                "guard": "Wacht",
                "cat": "Katze",
                "horse": "Pferd",
                "tavern": "Wirtshaus",
                "plate": "Teller",
                "sausages": "Würste",
                "glass": "Glas",
                "fool": "Narr",
                "witch": "Hexe",
            },
            effects={
                "bird": Effect(refuse=True, pay=2),
                **dict.fromkeys(("guard", "cat", "horse", "tavern"), _FINES),
            },
            loss={"witch": 2},
            min_players=4,
            max_players=20,
        ),
    )
}
"""The named rulesets by name; ``pagat`` is the default everywhere."""


def get_rules(rules: str | Rules) -> Rules:
    """The ruleset called `rules`, the one in the YAML file at the path `rules`, or `rules` itself.

    Raises `RulesError` for an unknown name, `YamlError` for a file that cannot be.
    """
    if isinstance(rules, Rules):
        return rules
    if rules in VARIANTS:
        return VARIANTS[rules]
    if rules.endswith((".yaml", ".yml")):
        return read_rules(rules, VARIANTS)
    raise RulesError(
        f"unknown ruleset {rules!r}{nearest(rules, VARIANTS)}; the named ones are {', '.join(VARIANTS)}, "
        "or give the path of a YAML file"
    )
