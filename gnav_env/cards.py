"""Ranks and packs: what the cards are called and how many there are. Nothing here knows what a card does.

A rank has one key, used in data, YAML and notation (``cuckoo``, ``12``, ``0``, ``fool``), and names to show to
people: that of its own tradition, and translations. A pack lists its ranks from high to low with the copies of each.
"""

from typing import Literal

__all__ = [
    "CUCCU_PACK",
    "DOUBLE_GNAV_PACK",
    "GNAV_PACK",
    "HYPP_PACK",
    "JOKER_HIGH_PACK",
    "JOKER_LOW_PACK",
    "KILLE_PACK",
    "PLAIN_PACK",
    "SLABBERJAN_PACK",
    "VOGELSPIEL_PACK",
    "Language",
    "Numerals",
    "Pack",
    "display_name",
    "roman",
]

Pack = dict[str, int]
"""Ranks from high to low, each with its number of copies."""

Language = Literal["own", "english", "norwegian"]
"""`own`: the names of the game's own tradition."""
Numerals = Literal["roman", "arabic"]


def _numbers(highest: int, lowest: int) -> list[str]:
    return [str(number) for number in range(highest, lowest - 1, -1)]


_GNAV_RANKS = ("cuckoo", "dragon", "cat", "horse", "house", *_numbers(12, 0), "pot", "owl", "fool")
GNAV_PACK: Pack = dict.fromkeys(_GNAV_RANKS, 2)
DOUBLE_GNAV_PACK: Pack = dict.fromkeys(_GNAV_RANKS, 4)
HYPP_PACK: Pack = dict.fromkeys(_GNAV_RANKS, 1)

PLAIN_PACK: Pack = dict.fromkeys(("K", "Q", "J", *_numbers(10, 2), "A"), 4)
JOKER_HIGH_PACK: Pack = {"joker": 2, **PLAIN_PACK}
JOKER_LOW_PACK: Pack = {"A": 4, **PLAIN_PACK, "joker": 2}

KILLE_PACK: Pack = {
    **dict.fromkeys(("harlekin", "kuku", "husar", "husu", "kavall", "vardshus", *_numbers(12, 1)), 2),
    **dict.fromkeys(("kransen", "blompottan", "blaren"), 2),
    "gammal": 0,  # what a Harlekin becomes
}
CUCCU_PACK: Pack = dict.fromkeys(
    ("cucu", "bum", "salta", "gnaf", "taverna", *_numbers(10, 1), "nulla", "secchia", "mascherone", "leone", "matto"), 2
)
SLABBERJAN_PACK: Pack = dict.fromkeys(
    ("kapaf", "vogel", "poesje", "herberg", *_numbers(12, 0), "wittebrood", "pispot", "smoel", "janrit"), 2
)
VOGELSPIEL_PACK: Pack = {
    **dict.fromkeys(("bird", "guard", "cat", "horse", "tavern"), 2),
    **dict.fromkeys(_numbers(10, 1), 1),
    **dict.fromkeys(("nulla", "plate", "sausages", "glass", "fool", "witch"), 2),
}

_OWN = {"K": "King", "Q": "Queen", "J": "Jack", "A": "Ace", "vardshus": "Värdshus", "gammal": "exchanged Harlekin"}
_ENGLISH = {
    # Kille
    "harlekin": "Harlequin",
    "kuku": "Cuckoo",
    "husar": "Hussar",
    "husu": "Sow",
    "kavall": "Cavalier",
    "vardshus": "Inn",
    "kransen": "Wreath",
    "blompottan": "Flowerpot",
    "blaren": "Mask",
    "gammal": "exchanged Harlequin",
    # Cuccù
    "cucu": "Cuckoo",
    "bum": "Hunter",
    "salta": "Horse",
    "gnaf": "Cat",
    "taverna": "Inn",
    "nulla": "Nought",
    "secchia": "Bucket",
    "mascherone": "Mask",
    "leone": "Lion",
    "matto": "Fool",
    # Slabberjan
    "kapaf": "Chop-off",
    "vogel": "Bird",
    "poesje": "Pussycat",
    "herberg": "Inn",
    "wittebrood": "White Loaf",
    "pispot": "Chamber Pot",
    "smoel": "Mug",
}
_NORWEGIAN = {
    "cuckoo": "Gjøk",
    "dragon": "Dragon",
    "cat": "Katt",
    "horse": "Hest",
    "house": "Hus",
    "pot": "Potte",
    "owl": "Ugle",
    "fool": "Narr",
    "joker": "Joker",
    "K": "Konge",
    "Q": "Dame",
    "J": "Knekt",
    "A": "Ess",
}
_TRANSLATIONS: dict[Language, dict[str, str]] = {"own": {}, "english": _ENGLISH, "norwegian": _NORWEGIAN}


def roman(number: int) -> str:
    """`number`, 0 to 39, in Roman figures; 0 stays 0.

    >>> roman(9), roman(12), roman(0)
    ('IX', 'XII', '0')
    """
    tens, ones = divmod(number, 10)
    return "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones] or "0"


def display_name(rank: str, language: Language = "own", numerals: Numerals = "arabic") -> str:
    """What people call `rank`; where a language has no name for it, the one of its own tradition.

    >>> display_name("12", numerals="roman"), display_name("owl", "norwegian"), display_name("K")
    ('XII', 'Ugle', 'King')
    >>> display_name("husu"), display_name("husu", "english")
    ('Husu', 'Sow')
    """
    if rank.isdigit():
        return roman(int(rank)) if numerals == "roman" and int(rank) < 40 else rank
    own = _OWN.get(rank, rank[:1].upper() + rank[1:])
    return _TRANSLATIONS[language].get(rank, own)
