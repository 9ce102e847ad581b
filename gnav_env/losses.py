"""Why lives were lost: every life paid in a deal has a cause, the lowest card or a rank that costs lives by itself.

engine.py and showdown.py keep in the record what this needs; `Table.losses` and the zoo's arena read it here.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_env._jit import kernel
from gnav_env.effects import FINES
from gnav_env.rules import Rules
from gnav_env.state import AS_SPECIAL, hand_rank

__all__ = ["LOWEST", "add_losses", "cause_numbers", "loss_causes"]

LOWEST = "lowest"
"""The cause of a loss at the showdown that the rank itself does not explain."""


def loss_causes(rules: Rules) -> tuple[str, ...]:
    """`lowest`, then the keys of the ranks that take fines or lose by themselves, lowest rank first.

    >>> from gnav_env.variants import get_rules
    >>> loss_causes(get_rules("pagat"))
    ('lowest', 'fool', 'cat', 'dragon')
    """
    return (LOWEST, *(rank for number, rank in enumerate(rules.ranks) if _costs_lives(rules, number)))


def cause_numbers(rules: Rules) -> NDArray[np.int64]:
    """The number in `loss_causes` of each rank as a cause, int64 [num_ranks]; 0 for ranks that are none."""
    causes = loss_causes(rules)
    return np.array([causes.index(rank) if rank in causes else 0 for rank in rules.ranks], np.int64)


def _costs_lives(rules: Rules, number: int) -> bool:
    record = rules.compiled[0]
    takes_fines = (record.asked[number] | record.turned[number]) & FINES
    return bool(takes_fines or (record.special[number] and record.special_loses[number].any()))


@kernel
def add_losses(t: Any, seat: int, causes: Any, counts: Any) -> None:
    """The lives that `seat` has paid in this deal are added to `counts` [C], by cause.

    `causes` is `cause_numbers`; after a showdown its losses are among them.
    """
    lost, fined = np.int64(t.seats[seat].lost), np.int64(t.seats[seat].fined)
    if fined > 0:
        for rank in range(causes.size):
            counts[causes[rank]] += t.fines[seat, rank]
    if lost > fined:
        cause = causes[hand_rank(t, seat)] if t.seats[seat].loser == AS_SPECIAL else 0
        counts[cause] += lost - fined
