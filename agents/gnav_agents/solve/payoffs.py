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

_CHUNK = 256


def lives_payoffs(tree: Tree) -> NDArray[np.float64]:
    """[kinds, 2^S, S]: lives that each seat wins less those it loses, by kind of ending and holders of the lowest.

    Holders that cannot be (somebody whose card all know) have 0.
    """
    payoffs = np.zeros((len(tree.kinds), 1 << tree.num_seats, tree.num_seats))
    for first in range(0, len(tree.kinds), _CHUNK):
        tables, is_possible = after_showdown(tree, range(first, min(first + _CHUNK, len(tree.kinds))))
        seats = tables["seats"][:, :, : tree.num_seats]
        lives = seats["gained"].astype(float) + seats["bonus"] - seats["lost"]
        payoffs[first : first + _CHUNK] = np.where(is_possible[:, :, None], lives, 0)
    return payoffs


def after_showdown(tree: Tree, kinds: range | None = None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The tables [kinds, 2^S] after the showdown, and whether those seats can hold the lowest card there.

    `kinds` picks some kinds of ending; a table takes 6 kB.
    """
    picked = [tree.kinds[number] for number in (kinds if kinds is not None else range(len(tree.kinds)))]
    tables = np.zeros((len(picked), 1 << tree.num_seats), TABLE)
    for number, kind in enumerate(picked):
        tables[number] = kind.record
    public = np.array([kind.public for kind in picked], np.int64)
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
