"""What follows the ends of a deal, by the engine's own showdown: lives won and lost, and the next deal of a match."""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.tree import NOT_LIVE, PRIVATE, Tree
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_SEATS
from gnav_env.engine import begin_deal
from gnav_env.showdown import showdown
from gnav_env.state import BETWEEN, TABLE, TURNS, net_lives

__all__ = ["after_showdown", "lives_payoffs"]

AFTER = np.dtype(
    (
        np.record,
        [
            ("is_possible", np.int8),  # 1: just those seats can hold the lowest card
            ("is_over", np.int8),  # 1: the match is
            ("dealer", np.int8),  # of the next deal, if it is not
            ("net", np.int16, (MAX_SEATS,)),  # by seat: lives won and lost
            ("lives", np.int16, (MAX_SEATS,)),
            ("place", np.int8, (MAX_SEATS,)),  # 0: still in the match
            ("sits_out", np.int8, (MAX_SEATS,)),  # 1: misses the next deal
        ],
    )
)
"""What the showdown leaves behind."""


def lives_payoffs(tree: Tree) -> NDArray[np.float64]:
    """[kinds, 2^S, S]: lives that each seat wins less those it loses, by kind of ending and holders of the lowest.

    Holders that cannot be (somebody whose card all know) have 0.
    """
    after = after_showdown(tree)
    return np.where(after["is_possible"][:, :, None], after["net"][:, :, : tree.num_seats], 0).astype(np.float64)


def after_showdown(tree: Tree) -> NDArray[Any]:
    """Records of `AFTER` [kinds, 2^S], by kind of ending and set of seats that hold the lowest card, as bits."""
    tables = np.zeros(len(tree.kinds), TABLE)
    for number, kind in enumerate(tree.kinds):
        tables[number] = kind.record
    public = np.array([kind.public for kind in tree.kinds], np.int64)
    compared = [rank for rank in range(len(tree.rules.ranks)) if not tree.compiled[0].special[rank]]
    after: NDArray[Any] = np.zeros((len(tree.kinds), 1 << tree.num_seats), AFTER)
    _show_all(tables, np.zeros(1, TABLE), tree.compiled, public, compared[0], compared[-1], after)
    return after


@kernel
def _show_all(tables: Any, shown: Any, rules: Any, public: Any, lowest: int, highest: int, after: Any) -> None:
    """The showdown has been held for each of `tables` and each set of holders, at the table `shown` [1]."""
    r, t = rules[0], shown[0]
    for kind in range(after.shape[0]):
        for mask in range(after.shape[1]):
            shown[0] = tables[kind]
            if t.phase == TURNS:
                low = _low_rank(r, public[kind], mask, lowest, highest)
                if low < 0:
                    continue
                for seat in range(public.shape[1]):
                    if public[kind, seat] == PRIVATE:
                        t.deck[t.seats[seat].hand] = low if mask >> seat & 1 else highest
                showdown(t, r)
            _note(t, r, after[kind, mask])


@kernel
def _note(t: Any, r: Any, after: Any) -> None:
    """`after` says what has become of the table, and the next deal has begun if the match goes on."""
    after.is_possible = 1
    after.is_over = t.phase != BETWEEN
    for seat in range(np.int64(t.num_seats)):
        after.net[seat] = net_lives(t, seat)
        after.lives[seat] = t.seats[seat].lives
        after.place[seat] = t.seats[seat].place
        after.sits_out[seat] = t.seats[seat].sits_out
    if t.phase == BETWEEN:
        begin_deal(t, r)
    after.dealer = t.dealer


@kernel
def _low_rank(r: Any, public: Any, mask: int, lowest: int, highest: int) -> int:
    """A rank that the seats of `mask` can hold, and no others, as the lowest; -1 if there is none."""
    low = np.int64(-1)
    for seat in range(public.size):
        rank = public[seat]
        if mask >> seat & 1:
            if rank == NOT_LIVE or (rank >= 0 and (r.special[rank] or (low >= 0 and low != rank))):
                return -1
            if rank >= 0:
                low = rank
    if low < 0:
        low = np.int64(lowest)
    for seat in range(public.size):
        rank = public[seat]
        if not mask >> seat & 1:
            if rank == PRIVATE and (mask == 0 or low >= highest):
                return -1
            if rank >= 0 and not r.special[rank] and (mask == 0 or rank <= low):
                return -1
    return low
