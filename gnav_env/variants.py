"""The named rulesets of Gnav, each with its source. Data only; what the options mean stands in rules.py."""

from collections.abc import Mapping

from gnav_env._yaml import nearest
from gnav_env.cards import DOUBLE_GNAV_PACK, GNAV_PACK, HYPP_PACK, JOKER_HIGH_PACK, JOKER_LOW_PACK
from gnav_env.effects import Effect, Special
from gnav_env.errors import RulesError
from gnav_env.rules import Rules, name_rules

__all__ = ["VARIANTS", "get_rules"]

_PAGAT = "J. McLeod, pagat.com, Gnav"
_LETTERS = "the international description of Gnav with the penalty letters G-N-A-V"

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

VARIANTS: dict[str, Rules] = {
    rules.name: name_rules(rules)
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
            effects=_matadors("joker", "K", "Q", "J", "10"),
        ),
        _pagat.replace(
            name="joker_fool",
            title="Plain cards, jokers as fools",
            deck=JOKER_LOW_PACK,
            effects=_matadors("A", "K", "Q", "J", "10"),
            specials=_fool_specials("joker"),
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
        return Rules.from_yaml(rules)
    raise RulesError(
        f"unknown ruleset {rules!r}{nearest(rules, VARIANTS)}; the named ones are {', '.join(VARIANTS)}, "
        "or give the path of a YAML file"
    )
