"""NashConv of a deal, by going through every row of ranks with the engine: no tree, no sweep, nothing summed up.

What a solver finds is certified here by code that shares nothing with it but the numbers of information states
(information.py). all_deals.py plays the deals; what each choice is worth is summed up by information state, and the
better sum of each is the best response.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.all_deals import MOST_SEATS, WORK, Book, go_through
from gnav_agents.solve.information import NOT_FOUND, Index
from gnav_env.compiled import NOT_COMPARED
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NOBODY, NUM_ACTIONS, SEAT, STAND, TABLE

__all__ = ["NashConv", "nash_conv"]


@dataclass(frozen=True)
class NashConv:
    """What a policy, played by all seats, is worth to each, and what each could gain by leaving it alone."""

    values: NDArray[np.float64]
    """Lives a deal, [S], in the order of action."""
    gains: NDArray[np.float64]
    """Lives a deal by a best response, [S]; 0 or more, but for rounding."""

    @property
    def total(self) -> float:
        """NashConv, the sum of the gains: 0 in an equilibrium."""
        return float(self.gains.sum())


class _Worker:
    """One thread's part."""

    def __init__(self, index: Index, stand: NDArray[np.float64], rules: Rules, num_seats: int) -> None:
        self.num_seats = num_seats
        self._rules = rules.compiled.copy()
        self._rules["direction"] = 1  # seats are numbered in the order of action
        self._tables = np.zeros(num_seats + 2, TABLE)
        self._memory = self._tables.view(np.uint8).reshape(len(self._tables), TABLE.itemsize)
        self.work: NDArray[Any] = np.zeros(1, WORK)
        record, fields = self._rules[0], TABLE.fields
        assert fields is not None
        heights = record["special_height"][record["special"] != 0]
        losses = record["loss"][: len(rules.ranks)]
        self.work["num_seats"], self.work["num_ranks"] = num_seats, len(rules.ranks)
        self.work["num_bytes"] = fields["seats"][1] + num_seats * SEAT.itemsize
        self.work["are_grouped"] = bool((losses == losses[0]).all() and (heights == NOT_COMPARED).all())
        self.work["last_node"] = NOT_FOUND
        self.book = Book(
            states=index,
            stand=stand,
            worth=np.zeros((len(stand), NUM_ACTIONS)),
            legal=np.zeros(len(stand), np.int8),
            actors=np.full(len(stand), NOBODY, np.int8),
        )

    def go_through(self, ranks: NDArray[np.int8], chance: float) -> NDArray[np.float64]:
        """What deals that begin with `ranks` [S] are worth to each seat, [S]; `chance` is that of such a beginning."""
        go_through(self.work, self._tables, self._memory, self._rules, self.book, ranks, chance)
        return self.work["frames"]["found"][0, 0, : self.num_seats].copy()


def nash_conv(
    index: Index,
    stand: NDArray[np.float64],
    rules: Rules,
    num_seats: int,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> NashConv:
    """NashConv, in lives, of one deal between `num_seats` seats with full lives who all play the policy `stand`.

    Args:
        index: where the information states are found from tables, `InformationStates.index("table")`.
        stand: the chance of STAND in each of them, [num_states]; where one action alone is legal that is taken.
        rules: the ruleset.
        num_seats: the seats of the deal.
        workers: threads; sums differ in their last bits by their number.
        progress: is told after each part how many are done and how many there are.

    Raises `GnavError` if a choice comes about whose information state is not in the index.
    """
    if not 2 <= num_seats <= MOST_SEATS:
        raise GnavError(f"num_seats must be 2 to {MOST_SEATS} to go through all deals, not {num_seats}")
    jobs = _jobs(rules, num_seats)
    threads = [_Worker(index, np.ascontiguousarray(stand, np.float64), rules, num_seats) for _ in range(workers)]
    num_done = 0

    def do_part(number: int) -> NDArray[np.float64]:
        nonlocal num_done
        values = np.zeros(num_seats)
        for ranks, chance in jobs[number::workers]:
            values += chance * threads[number].go_through(ranks, chance)
            num_done += 1
            if progress is not None:
                progress(num_done, len(jobs))
        return values

    with ThreadPoolExecutor(workers) as pool:
        values = np.sum(list(pool.map(do_part, range(workers))), axis=0)
    if any(thread.work["num_failures"][0] for thread in threads):
        raise GnavError(f"these are not the information states of {rules.name} with {num_seats} seats")
    return NashConv(values=values, gains=_gains([thread.book for thread in threads], num_seats))


def _gains(books: list[Book], num_seats: int) -> NDArray[np.float64]:
    """What each seat gains by a best response, [S]."""
    worth = np.sum([book.worth for book in books], axis=0)
    legal = np.bitwise_or.reduce([book.legal for book in books])
    actors = np.max([book.actors for book in books], axis=0)
    stand = np.where(legal == 3, books[0].stand, legal == 1)
    played = stand * worth[:, STAND] + (1 - stand) * worth[:, EXCHANGE]
    best = np.where(legal == 3, worth.max(axis=1), played)
    return np.array([(best - played)[actors == seat].sum() for seat in range(num_seats)])


def _jobs(rules: Rules, num_seats: int) -> list[tuple[NDArray[np.int8], float]]:
    """Parts of all deals: what is dealt to begin with, by seat, -1 what is yet to come, and the chance of that.

    It is known who has knocked, and what the eldest has.
    """
    record = rules.compiled[0]
    copies = record["copies"][: len(rules.ranks)].astype(np.int64)
    is_special = (record["special"][: len(copies)] != 0) & (record["knocks"] != 0)
    special = int(is_special.argmax())
    num_special = int(copies[is_special].sum())
    num_plain = rules.num_cards - num_special
    jobs: list[tuple[NDArray[np.int8], float]] = []
    for num in range(min(num_special, num_seats) + 1):
        for knocking in combinations(range(num_seats), num):
            chance, left, plain = 1.0, num_special, num_plain
            ranks = np.full(num_seats, -1, np.int8)
            for seat in range(num_seats):
                if seat in knocking:
                    chance *= left / (left + plain)
                    left -= 1
                    ranks[seat] = special
                else:
                    chance *= plain / (left + plain)
                    plain -= 1
            if 0 in knocking:
                jobs.append((ranks, chance))
                continue
            for rank in np.flatnonzero((copies > 0) & ~is_special):
                with_eldest = ranks.copy()
                with_eldest[0] = rank
                jobs.append((with_eldest, chance * float(copies[rank]) / num_plain))
    return jobs
