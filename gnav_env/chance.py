"""Shuffles, counter-based: the deck of a deal is a function of (seed, match, deal) and of nothing else.

So results never depend on how many tables run side by side, nor on threads, nor on what was played before. A shoe is
the row of decks that one match plays from; its key is 64 bits. Deck position s is the card of seat s in every deal, and
the stock begins at position num_seats: an elimination elsewhere shifts nobody's cards.

Numbers are splitmix64 (G. L. Steele et al., OOPSLA 2014); a place among k comes from 32 random bits by multiplication,
which is uneven by less than k / 2**32.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.errors import GnavError

__all__ = ["FIRST_DEALER", "checked_seed", "first_dealer", "fresh_seed", "random_key", "shoe_key", "shuffle"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

FIRST_DEALER = 0x7FFFFFFF
"""The deal number that stands for the choice of the first dealer."""


def fresh_seed() -> int:
    """A seed from the operating system, for those who name none: 0 to 2**63 - 1."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))


def checked_seed(seed: int) -> int:
    """`seed`, or `GnavError` if it is not a whole number from 0 to 2**63 - 1."""
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise GnavError(f"seed must be a whole number from 0 to 2**63 - 1, not {seed!r}")
    return int(seed)


@kernel
def mix(x: Any) -> Any:
    """uint64 -> uint64: splitmix64's finaliser, a bijection that looks random."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@kernel
def random_key(key: Any, number: int) -> Any:
    """The key numbered `number` below `key` (from Python an np.uint64), uint64."""
    return mix(np.uint64(key) + mix(np.uint64(number) + _GAMMA) + _GAMMA)


@kernel
def shoe_key(seed: int, match: int) -> Any:
    """The key of the shoe of match `match` under `seed`, uint64. Both are integers from 0 to 2**63 - 1."""
    return random_key(random_key(0, seed), match)


@kernel
def below(bits: Any, num: int) -> int:
    """A number from 0 to `num` - 1 out of the low 32 `bits` of a uint64."""
    return np.int64(((bits & _LOW) * np.uint64(num)) >> _S32)


@kernel
def first_dealer(shoe: int, num_seats: int) -> int:
    """The seat that deals first in the match with this shoe."""
    return below(random_key(shoe, FIRST_DEALER), num_seats)


@kernel
def shuffle(deck: Any, rules: Any, shoe: int, deal: int, num_needed: int) -> None:
    """Write the order of deal number `deal` of `shoe` into `deck` (int8, ranks).

    The whole deck is there, but only the first `num_needed` places are shuffled; a deal never looks at more than
    seats + redirecting cards + 1 (see `engine.cards_needed`).
    """
    num_cards = np.int64(rules.num_cards)
    for position in range(num_cards):
        deck[position] = rules.deck[position]
    state = random_key(shoe, deal)
    bits = state
    for position in range(min(num_needed, num_cards - 1)):
        if position & 1 == 0:
            state = state + _GAMMA
            bits = mix(state)
        else:
            bits = bits >> _S32
        other = position + below(bits, num_cards - position)
        card = deck[position]
        deck[position] = deck[other]
        deck[other] = card
