"""Situations: the classes of views that are told apart where information states are too many to be told apart.

A deal of many seats has more information states than can be counted out, so what a seat sees is boiled down to a few
small whole numbers, the parts of its situation, and these to one number. There are two numberings: a coarse one for
the `counting` agent, whose situations are met often enough to learn from some hundred thousand deals, and a fine one
for sampled.py and gain.py. Both depend on nothing but the seat's observation, so on nothing that it may not know.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import (
    SLOT,
    Observations,
    dealer_slot,
    is_playing,
    known_rank,
    own_rank,
    place,
)
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_RANKS, MAX_SEATS
from gnav_env.effects import REDIRECTS
from gnav_env.errors import GnavError
from gnav_env.observation import num_seats_of
from gnav_env.rules import Rules
from gnav_env.state import NOT_ACTED, REFUSED, STOOD

__all__ = [
    "FINE",
    "SITUATION",
    "check_deal_seats",
    "fine_situation",
    "fine_situations",
    "in_words",
    "num_fine_situations",
    "shrunk",
    "situation",
    "situations",
]

SITUATION = (
    MAX_RANKS,  # own rank
    8,  # seats behind; 7: or more
    5,  # plain cards known: none, a lower one settled, the next one not higher, higher, an equal one settled
    5,  # special ranks known elsewhere: none, one settled, one at the next seat, one behind it, two or more
    3,  # low cards that went nowhere: none seen, a settled seat was refused, all trades were undone
    5,  # settled seats that stood; 4: or more
)
"""How many values each part of a coarse situation has, the parts in the order of their weight."""

FINE = (
    MAX_SEATS,  # seats behind
    MAX_RANKS,  # own rank
    7,  # plain cards known: as above, and 5: the next one sends a challenge on, 6: the next one refuses it
    5,  # special ranks known elsewhere, as above
    3,  # low cards that went nowhere, as above
    2,  # own card: dealt to the seat, got in a trade
    8,  # settled seats that chose EXCHANGE; 7: or more
)
"""How many values each part of a fine situation has, the parts in the order of their weight.

Seats behind come first, so that the situations of a deal of few seats are the first of those of a larger one. What is
not told apart is how much higher a known card is, which matters to the dealer of two or three.
"""

_UNDONE, _HISTORY, _TRADED = place("undone"), place("action_history"), place("own_card_history") + 1

_PLAIN = (
    "",
    "a lower card is settled",
    "the next seat's card is known and not higher",
    "the next seat's card is known and higher",
    "an equal card is settled",
    "the next seat's card is known to send challenges on",
    "the next seat's card is known to refuse",
)
_SPECIAL = (
    "",
    "{} is settled",
    "the next seat holds {}",
    "a seat further behind holds {}",
    "two or more of {} are known",
)
_NOWHERE = ("", "a settled seat was refused", "the trades were undone")


def check_deal_seats(rules: Rules, num_seats: int) -> None:
    """`GnavError` unless a deal can have so many seats: two, to which a match comes down, to the ruleset's limit."""
    if not 2 <= num_seats <= rules.seat_limit:
        raise GnavError(f"seats of a deal must be 2 to {rules.seat_limit} for ruleset {rules.name}, not {num_seats}")


@kernel
def situation(view: Any, num_seats: int, r: Any) -> int:
    """The number of the coarse situation (see `SITUATION`) of the seat with this `view`."""
    own, dealer = own_rank(view), dealer_slot(view, num_seats)
    num_behind, num_stood, specials = 0, 0, 0
    was_refused = False
    lower_settled, next_not_higher, next_higher, equal_settled = False, False, False, False
    for slot in range(1, num_seats):
        if not is_playing(view, slot):
            continue
        is_settled = slot > dealer
        num_behind += not is_settled
        is_next = not is_settled and num_behind == 1
        if is_settled:
            num_stood += view[_HISTORY + STOOD + SLOT * slot] > 0
            was_refused |= view[_HISTORY + REFUSED + SLOT * slot] > 0
        rank = known_rank(view, slot, r.num_ranks)
        if rank < 0:
            continue
        if r.special[rank]:
            one = 1 if is_settled else (2 if is_next else 3)
            specials = one if specials == 0 else 4
        elif is_settled:
            lower_settled |= rank < own
            equal_settled |= rank == own
        elif is_next:
            next_not_higher = rank <= own
            next_higher = rank > own

    plain = 0
    if lower_settled:
        plain = 1
    elif next_not_higher:
        plain = 2
    elif next_higher:
        plain = 3
    elif equal_settled:
        plain = 4
    nowhere = 0
    if view[_UNDONE] > 0:
        nowhere = 2
    elif was_refused:
        nowhere = 1
    parts = (own, num_behind, plain, specials, nowhere, num_stood)
    number = 0
    for i in range(len(SITUATION)):
        number = number * SITUATION[i] + min(parts[i], SITUATION[i] - 1)
    return number


@kernel
def fine_situation(view: Any, num_seats: int, r: Any, most_behind: int) -> int:
    """The number of the fine situation (see `FINE`) of the seat with this `view`; no more than so many seats behind."""
    dealer = dealer_slot(view, num_seats)
    num_behind, num_asking, next_rank = 0, 0, -1
    for slot in range(num_seats - 1, 0, -1):
        if not is_playing(view, slot):
            continue
        if slot > dealer:
            history = _HISTORY + SLOT * slot
            num_asking += not view[history + NOT_ACTED] > 0 and not view[history + STOOD] > 0
        else:
            num_behind += 1
            next_rank = known_rank(view, slot, r.num_ranks)
    # the coarse number, taken apart again: a shared kernel that gives back all parts would slow `counting` down
    coarse = situation(view, num_seats, r) // SITUATION[5]
    nowhere = coarse % SITUATION[4]
    coarse //= SITUATION[4]
    specials = coarse % SITUATION[3]
    coarse //= SITUATION[3]
    plain = coarse % SITUATION[2]
    own = coarse // (SITUATION[2] * SITUATION[1])
    if next_rank >= 0 and r.asked[next_rank] != 0 and plain != 1:
        plain = 5 if r.asked[next_rank] == REDIRECTS else 6
    parts = (min(num_behind, most_behind), own, plain, specials, nowhere, np.int64(view[_TRADED] > 0), num_asking)
    number = 0
    for i in range(len(FINE)):
        number = number * FINE[i] + min(parts[i], FINE[i] - 1)
    return number


def situations(observation: Observations, rules: Rules) -> NDArray[np.int64]:
    """The number of the coarse situation (see `SITUATION`) in each row, [B]."""
    numbers = np.empty(len(observation), np.int64)
    _situations_all(observation, num_seats_of(observation.shape[1]), rules.compiled, numbers)
    return numbers


def fine_situations(observation: Observations, rules: Rules) -> NDArray[np.int64]:
    """The number of the fine situation (see `FINE`) in each row, [B]."""
    numbers = np.empty(len(observation), np.int64)
    _fine_situations_all(observation, num_seats_of(observation.shape[1]), rules.compiled, numbers)
    return numbers


@kernel
def _situations_all(observation: Any, num_seats: int, rules: Any, numbers: Any) -> None:
    for b in range(numbers.size):
        numbers[b] = situation(observation[b], num_seats, rules[0])


@kernel
def _fine_situations_all(observation: Any, num_seats: int, rules: Any, numbers: Any) -> None:
    for b in range(numbers.size):
        numbers[b] = fine_situation(observation[b], num_seats, rules[0], num_seats - 1)


def num_fine_situations(num_seats: int) -> int:
    """The fine situations of a deal of `num_seats` have the numbers below this one."""
    return num_seats * int(np.prod(FINE[1:]))


def in_words(number: int, rules: Rules, num_seats: int) -> str:
    """The fine situation `number` of a deal of `num_seats` as a player would say it: "VII, as it was dealt, dealer"."""
    behind, own, plain, special, nowhere, is_traded, asking = (int(part) for part in np.unravel_index(number, FINE))
    ranks = " or ".join(dict.fromkeys(rules.card_name(special.rank) for special in rules.specials))
    if behind == num_seats - 1:
        settled = "eldest"
    else:
        number_asking = f"{asking}{' or more' * (asking == FINE[-1] - 1)}" if asking else "none"
        settled = f"{number_asking} of the settled seats chose EXCHANGE"
    said = (
        rules.card_name(rules.ranks[own]),
        "got in a trade" if is_traded else "as it was dealt",
        f"{behind} {'seat' if behind == 1 else 'seats'} behind" if behind else "dealer",
        settled,
        _PLAIN[plain],
        _SPECIAL[special].format(ranks),
        _NOWHERE[nowhere],
    )
    return ", ".join(part for part in said if part)


def shrunk(count: NDArray[np.float64], total: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """Means of `total` by `count`, arrays of the shape of the parts; where samples are few, near the coarser one's.

    `prior` samples of a situation count as much as the mean of the situation without its last part, and so on up.
    """
    mean = np.zeros(())
    for num_parts in range(1, count.ndim + 1):
        finer = tuple(range(num_parts, count.ndim))
        mean = (total.sum(axis=finer) + prior * mean[..., None]) / (count.sum(axis=finer) + prior)
    return mean
