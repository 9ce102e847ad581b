"""Ranks and packs: what the cards are called and how many there are. Nothing here knows what a card does.

A rank has one key, used in data, YAML and notation (``cuckoo``, ``12``, ``0``, ``fool``), and names to show to
people. A pack lists its ranks from high to low with the copies of each.
"""

from typing import Literal

__all__ = [
    "DOUBLE_GNAV_PACK",
    "GNAV_PACK",
    "HYPP_PACK",
    "JOKER_HIGH_PACK",
    "JOKER_LOW_PACK",
    "MATADORS",
    "Language",
    "Pack",
    "display_name",
]

Pack = dict[str, int]
"""Ranks from high to low, each with its number of copies."""

Language = Literal["english", "norwegian"]

MATADORS = ("cuckoo", "dragon", "cat", "horse", "house")
_GNAV_RANKS = (*MATADORS, *(str(n) for n in range(12, -1, -1)), "pot", "owl", "fool")

GNAV_PACK: Pack = dict.fromkeys(_GNAV_RANKS, 2)
DOUBLE_GNAV_PACK: Pack = dict.fromkeys(_GNAV_RANKS, 4)
HYPP_PACK: Pack = dict.fromkeys(_GNAV_RANKS, 1)

_PLAIN_RANKS = ("K", "Q", "J", *(str(n) for n in range(10, 1, -1)))
JOKER_HIGH_PACK: Pack = {"joker": 2, **dict.fromkeys((*_PLAIN_RANKS, "A"), 4)}
JOKER_LOW_PACK: Pack = {**dict.fromkeys(("A", *_PLAIN_RANKS), 4), "joker": 2}

_ENGLISH = {"K": "King", "Q": "Queen", "J": "Jack", "A": "Ace"}
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
_ROMAN = ("0", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def display_name(rank: str, language: Language = "english") -> str:
    """What people call `rank`: ``Cuckoo``, ``XII``, in Norwegian ``Gjøk``.

    >>> display_name("12"), display_name("owl", "norwegian"), display_name("K")
    ('XII', 'Ugle', 'King')
    """
    if rank.isdigit() and int(rank) < len(_ROMAN):
        return _ROMAN[int(rank)]
    if language == "norwegian" and rank in _NORWEGIAN:
        return _NORWEGIAN[rank]
    return _ENGLISH.get(rank, rank[:1].upper() + rank[1:])
