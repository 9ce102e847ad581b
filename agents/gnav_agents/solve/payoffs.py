"""What the ends of a deal are worth, by the engine's own showdown: in lives, or as the next deal of a match."""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.tree import NOT_LIVE, PRIVATE, Tree
from gnav_env._jit import kernel
from gnav_env.showdown import showdown
from gnav_env.state import TABLE, TURNS

__all__ = ["after_showdown", "lives_payoffs"]


def lives_payoffs(tree: Tree) -> NDArray[np.float64]:
    """[kinds, 2^S, S]: lives that each seat wins less those it loses, by kind of ending and holders of the lowest.

    Holders that cannot be (somebody whose card all know) have 0.
    """
    num_seats = tree.num_seats
    tables, is_possible = after_showdown(tree)
    payoffs = np.zeros((*tables.shape, num_seats))
    for seat in range(num_seats):
        s = tables["seats"][:, :, seat]
        payoffs[:, :, seat] = s["gained"].astype(float) + s["bonus"] - s["lost"]
    return np.where(is_possible[:, :, None], payoffs, 0)


def after_showdown(tree: Tree) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The tables [kinds, 2^S] after the showdown, and whether those seats can hold the lowest card there."""
    num_masks = 1 << tree.num_seats
    tables = np.zeros((len(tree.kinds), num_masks), TABLE)
    for number, kind in enumerate(tree.kinds):
        tables[number] = kind.record
    public = np.array([kind.public for kind in tree.kinds], np.int64)
    compared = [rank for rank in range(len(tree.rules.ranks)) if not tree.compiled[0].special[rank]]
    is_possible = np.zeros(tables.shape, np.bool_)
    _show_all(tables, tree.compiled, public, compared[0], compared[-1], is_possible)
    return tables, is_possible


@kernel
def _show_all(tables: Any, rules: Any, public: Any, lowest: int, highest: int, is_possible: Any) -> None:
    """The showdown has been held at each table where just the seats of its mask can hold the lowest card."""
    r = rules[0]
    for kind in range(tables.shape[0]):
        for mask in range(tables.shape[1]):
            t = tables[kind, mask]
            if t.phase != TURNS:
                is_possible[kind, mask] = True
                continue
            low = _low_rank(r, public[kind], mask, lowest, highest)
            if low < 0:
                continue
            for seat in range(public.shape[1]):
                if public[kind, seat] == PRIVATE:
                    t.deck[t.seats[seat].hand] = low if mask >> seat & 1 else highest
            is_possible[kind, mask] = True
            showdown(t, r)


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
