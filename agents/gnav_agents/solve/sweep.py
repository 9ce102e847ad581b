"""One sweep over a deal: what every choice of every seat is worth, exactly, and better choices as it goes.

A seat chooses at most once a deal. So one way down the public tree carries the chances that the others bring about a
node (its reach), and one way up the values of the deal's ends; where they meet stands what each choice is worth in
each information state. Going up, a node's choices may be changed before its values go on: the seats behind have then
already changed theirs, those before have not, and the sweep is one round of best responses, seat after seat, from the
dealer to the eldest.

The kernels trust the arrays of layout.py.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.layout import DRAWS, END, ENTER, EXIT, MAX_OPEN, NEW, Layout, lay_out
from gnav_agents.solve.settled import NO_RANK
from gnav_agents.solve.tree import Tree
from gnav_env._jit import kernel
from gnav_env.compiled import MAX_RANKS
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND

__all__ = ["KEEP", "REGRET", "RESPOND", "Sweeper", "Swept"]

KEEP, RESPOND, REGRET = 0, 1, 2
"""What a sweep does with choices: leave them; take the better one; predictive regret matching+."""

_INDIFFERENT = 1e-11
"""Of two choices whose values differ by less than this share of them neither is the better one."""


@dataclass(frozen=True)
class Swept:
    """What a sweep found for the policy as it came upon it."""

    values: NDArray[np.float64]
    """[S]: what the deal is worth to each seat, in the order of action."""
    gains: NDArray[np.float64]
    """[S]: what each seat would gain by the best response; NashConv is their sum."""


class _Choices(NamedTuple):
    """The policy and what is known of it, by information state."""

    stand: NDArray[np.float64]
    legal: NDArray[np.int8]
    worth: NDArray[np.float64]
    regrets: NDArray[np.float64]
    sums: NDArray[np.float64]


class _How(NamedTuple):
    """What to do with choices."""

    mode: int
    tremble: float
    weight: float


MAX_ENDS = MAX_RANKS + 2
"""Ways in which the last seat's turn can end a deal: it stood, it took a card, each other rank."""

WORK = np.dtype(
    (
        np.record,
        [
            ("left", np.int64, (MAX_RANKS,)),  # by rank: cards that are neither settled nor open nor public
            ("below", np.int64, (MAX_RANKS + 1,)),  # those of lower ranks that could be taken from the stock
            ("num_ending", np.int64),  # those that end a challenge behind the dealer
            ("per_card", np.float64, (2,)),  # 1 / them; 1 / them if the new card is one
            ("lows", np.int64, (MAX_ENDS,)),  # by end: the lowest rank in the hands, but for a new card
            ("masks", np.int64, (MAX_ENDS,)),  # ... and the seats that hold it, a set of bits
        ],
    )
)
"""What kernels keep in mind while they go through an edge. A record, since arrays in a tuple are slow to reach."""


@dataclass(frozen=True)
class _Top:
    """Steps of a knock pattern: into the eldest's node, along each of its edges, and out of it."""

    enter: tuple[int, int]
    branches: list[tuple[int, int]]
    leave: tuple[int, int]


class Sweeper:
    """Sweeps over the deal of a tree; `stand` [num_states] is the policy, the chance of STAND in each state."""

    def __init__(self, tree: Tree, payoffs: NDArray[np.float64], *, workers: int = 1) -> None:
        """`payoffs` [kinds, 2^S, S]: by kind of ending and set of those who hold the lowest card, for each seat.

        Branches of the tree are gone through by `workers` threads; the result is the same for any number.
        """
        self.tree, self.layout, self.payoffs = tree, lay_out(tree), np.ascontiguousarray(payoffs)
        num_states = tree.num_states
        legal = legal_choices(tree)
        self._choices = _Choices(
            stand=np.choose(legal, [0.0, 1.0, 0.0, 0.5]),
            legal=legal,
            worth=np.zeros((num_states, NUM_ACTIONS)),
            regrets=np.zeros((num_states, NUM_ACTIONS)),
            sums=np.zeros(num_states),
        )
        self._weight = 0.0
        self._tops = _tops(self.layout)
        self._buffers: SimpleQueue[tuple[NDArray[np.float64], NDArray[np.float64]]] = SimpleQueue()
        self._pool = ThreadPoolExecutor(workers)
        for _ in range(workers):
            self._buffers.put(self._make_buffers(len(self.layout.starts) - 1))

    @property
    def stand(self) -> NDArray[np.float64]:
        """The policy, [num_states]; it may be written to."""
        return self._choices.stand

    @property
    def legal(self) -> NDArray[np.int8]:
        """What is legal in each state: bit 1 STAND, bit 2 EXCHANGE."""
        return self._choices.legal

    @property
    def worth(self) -> NDArray[np.float64]:
        """[num_states, A]: what each choice is worth, times the chance that the others bring the state about."""
        return self._choices.worth

    @property
    def average(self) -> NDArray[np.float64]:
        """The mean of the policies that regret matching has played, [num_states]."""
        return self._choices.sums / self._weight if self._weight else self.stand.copy()

    def forget(self) -> None:
        """Regrets and the average policy begin anew."""
        self._choices.regrets[:] = self._choices.sums[:] = self._weight = 0

    def sweep(self, mode: int = KEEP, *, tremble: float = 0.0, weight: float = 1.0) -> Swept:
        """One sweep. Everybody does what they did not want with a chance of `tremble` / 2.

        With REGRET the average takes in the policy that comes of it with `weight`.
        """
        how = _How(mode, float(tremble), float(weight))
        if mode == REGRET:
            self._weight += weight
        num_seats = self.layout.num_seats
        gains = np.zeros(num_seats)
        reach, values = self._make_buffers(2)
        eldest = slice(self.layout.starts[1], self.layout.starts[2])
        reach[0] = 1.0
        self.worth[:] = 0
        waiting: list[tuple[_Top, NDArray[np.float64], list[Future[tuple[Any, Any]]]]] = []
        for top in self._tops:
            self._go(top.enter, reach, values, how, gains)
            there = reach[eldest].copy()
            jobs = [self._pool.submit(self._branch, branch, there, how) for branch in top.branches]
            waiting.append((top, there, jobs))
        for top, there, jobs in waiting:
            reach[eldest] = there
            values[:, :, eldest] = 0
            for job in jobs:
                part, gained = job.result()
                values[:, :, eldest] += part
                gains += gained
            self._go(top.leave, reach, values, how, gains)
        return Swept(values=values[STAND, :, 0].copy(), gains=gains)

    def _branch(self, steps: tuple[int, int], there: NDArray[np.float64], how: _How) -> tuple[Any, Any]:
        """The steps below the eldest's node whose reach is `there`: what they add to its values, and gains."""
        buffers = self._buffers.get()
        reach, values = buffers
        eldest = slice(self.layout.starts[1], self.layout.starts[2])
        gains = np.zeros(self.layout.num_seats)
        reach[eldest] = there
        values[:, :, eldest] = 0
        self._go(steps, reach, values, how, gains)
        part = values[:, :, eldest].copy()
        self._buffers.put(buffers)
        return part, gains

    def _go(self, steps: tuple[int, int], reach: Any, values: Any, how: _How, gains: Any) -> None:
        _go_all(self.layout, self.payoffs, self._choices, how, steps[0], steps[1], reach, values, gains)

    def _make_buffers(self, num_depths: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Reach [size] and values [A, S, size] of all nodes on a way down the tree."""
        size = int(self.layout.starts[num_depths])
        return np.zeros(size), np.zeros((NUM_ACTIONS, self.layout.num_seats, size))


def legal_choices(tree: Tree) -> NDArray[np.int8]:
    """What is legal in each information state, [num_states]: bit 1 STAND, bit 2 EXCHANGE."""
    parts = [
        np.repeat(np.array(node.legal, np.int8), node.num_states // len(node.legal))
        for node in tree.nodes
        if node.actor >= 0
    ]
    return np.concatenate(parts)


def _tops(layout: Layout) -> list[_Top]:
    """The steps of each knock pattern."""
    tops: list[_Top] = []
    depth, begin, branches, first = 0, 0, list[tuple[int, int]](), 0
    for at, (step, _) in enumerate(layout.steps.tolist()):
        if step == ENTER:
            depth += 1
            if depth == 1:
                first, branches, begin = at, [], at + 1
                continue
        elif step == EXIT:
            depth -= 1
            if depth == 0:
                tops.append(_Top((first, first + 1), branches, (at, at + 1)))
                continue
        if depth == 1:
            branches.append((begin, at + 1))
            begin = at + 1
    return tops


@kernel
def _go_all(
    layout: Any, payoffs: Any, choices: Any, how: Any, begin: int, end: int, reach: Any, values: Any, gains: Any
) -> None:
    """The steps `begin` to `end` - 1 have been taken."""
    for at in range(begin, end):
        step, edge = layout.steps[at, 0], layout.edges[layout.steps[at, 1]]
        node = layout.nodes[edge.parent]
        if step == END:
            _end(layout, payoffs, edge, node, values)
            continue
        child = layout.nodes[edge.child]
        if step == ENTER:
            _enter(layout, choices, how, edge, node, child, reach, values)
        elif step == EXIT:
            if child.actor >= 0:
                _decide(layout, choices, how, child, reach, values, gains)
            _leave(layout, edge, node, child, values)
        else:
            _last(layout, payoffs, choices, how, edge, node, child, reach, values, gains)


@kernel
def _trembling(stand: float, legal: int, tremble: float) -> float:
    """The chance of STAND that remains of `stand`."""
    return (1 - tremble) * stand + tremble / 2 if legal == 3 else stand


@kernel
def _count_left(deck: Any, used: Any, ranks: Any, node: Any, summary: int, work: Any) -> None:
    """`work.left` has the cards that are neither settled nor public."""
    for rank in range(used.shape[1]):
        work.left[rank] = deck.copies[rank] - used[summary, rank] - ranks[node.public_at + rank]


@kernel
def _take(work: Any, ranks: Any, at: int, num: int) -> int:
    """The cards `ranks` [at, at + num) are not left any more. In how many ways that can happen one after the other."""
    ways = 1
    for i in range(at, at + num):
        if ranks[i] < 0:
            break
        ways *= max(0, work.left[ranks[i]])
        work.left[ranks[i]] -= 1
    return ways


@kernel
def _put_back(work: Any, ranks: Any, at: int, num: int) -> None:
    """They are again."""
    for i in range(at, at + num):
        if ranks[i] < 0:
            break
        work.left[ranks[i]] += 1


@kernel
def _settle(edge: Any, add: Any, ranks: Any, ranks_at: int, summary: int, new_rank: int) -> int:
    """The summary at the other end of the edge."""
    for i in range(np.int64(edge.num_retired)):
        place = np.int64(edge.retired[i])
        summary = add[summary, new_rank if place == NEW else np.int64(ranks[ranks_at + place])]
    return summary


@kernel
def _enter(layout: Any, choices: Any, how: Any, edge: Any, node: Any, child: Any, reach: Any, values: Any) -> None:
    """The reach of the edge's child is known, and its values are 0 so far."""
    numbers, ranks, add, used, deck = layout.numbers, layout.ranks, layout.add, layout.used, layout.decks[0]
    stands, legal = choices.stand, choices.legal
    here, there = layout.starts[node.depth], layout.starts[child.depth]
    reach[there : there + child.num_summaries * child.num_combos] = 0
    values[:, :, there : there + child.num_summaries * child.num_combos] = 0
    works = np.zeros(1, WORK)
    work = works[0]
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        _count_left(deck, used, ranks, node, summary, work)
        for combo in range(node.num_combos):
            w = reach[here + s * node.num_combos + combo] * edge.scale
            target = there + numbers[edge.combos_at + combo]
            if target < there or w == 0:
                continue
            if node.actor >= 0:
                state = node.first_state + numbers[node.states_at + combo]
                stand = _trembling(stands[state], legal[state], how.tremble)
                w *= stand if edge.action == STAND else 1 - stand
            at = node.ranks_at + MAX_OPEN * combo
            _take(work, ranks, at, MAX_OPEN)
            w *= _take(work, ranks, edge.faces_at, edge.num_faces)
            if w > 0 and edge.num_new == 0:
                row = _settle(edge, add, ranks, at, summary, -1) - child.first_summary
                reach[target + row * child.num_combos] += w
            if w > 0:
                for k in range(edge.num_new):
                    rank = np.int64(ranks[edge.new_at + k])
                    if work.left[rank] > 0:
                        row = _settle(edge, add, ranks, at, summary, rank) - child.first_summary
                        reach[target + row * child.num_combos + numbers[edge.news_at + k]] += w * work.left[rank]
            _put_back(work, ranks, edge.faces_at, edge.num_faces)
            _put_back(work, ranks, at, MAX_OPEN)


@kernel
def _decide(layout: Any, choices: Any, how: Any, node: Any, reach: Any, values: Any, gains: Any) -> None:
    """The node's choices have been looked at; the values of STAND have become those of the node."""
    numbers, worth, stands, legal = layout.numbers, choices.worth, choices.stand, choices.legal
    here = layout.starts[node.depth]
    for s in range(node.num_summaries):
        for combo in range(node.num_combos):
            i = here + s * node.num_combos + combo
            if reach[i] > 0:
                state = node.first_state + numbers[node.states_at + combo]
                worth[state, STAND] += reach[i] * values[STAND, node.actor, i]
                worth[state, EXCHANGE] += reach[i] * values[EXCHANGE, node.actor, i]
    _choose(choices, how, node, gains)
    for seat in range(values.shape[1]):
        for s in range(node.num_summaries):
            for combo in range(node.num_combos):
                i = here + s * node.num_combos + combo
                state = node.first_state + numbers[node.states_at + combo]
                stand = _trembling(stands[state], legal[state], how.tremble)
                values[STAND, seat, i] = stand * values[STAND, seat, i] + (1 - stand) * values[EXCHANGE, seat, i]


@kernel
def _choose(choices: Any, how: Any, node: Any, gains: Any) -> None:
    """What the node's actor could gain is counted, and its choices are better where that is wanted."""
    stands, worth, legal, regrets, sums = choices.stand, choices.worth, choices.legal, choices.regrets, choices.sums
    for state in range(node.first_state, node.first_state + node.num_states):
        standing, exchanging = worth[state, STAND], worth[state, EXCHANGE]
        if legal[state] == 3:
            value = stands[state] * standing + (1 - stands[state]) * exchanging
            gains[node.actor] += max(standing, exchanging) - value
            if how.mode == RESPOND:
                if abs(standing - exchanging) > _INDIFFERENT * max(abs(standing), abs(exchanging)):
                    stands[state] = np.float64(standing > exchanging)
            elif how.mode == REGRET:
                first = max(0.0, regrets[state, STAND] + standing - value)
                second = max(0.0, regrets[state, EXCHANGE] + exchanging - value)
                regrets[state, STAND] = first
                regrets[state, EXCHANGE] = second
                first = max(0.0, first + standing - value)  # predictive: the next round is taken to be like this one
                second = max(0.0, second + exchanging - value)
                if first + second > 0:
                    stands[state] = first / (first + second)
        if how.mode == REGRET:
            sums[state] += how.weight * stands[state]


@kernel
def _leave(layout: Any, edge: Any, node: Any, child: Any, values: Any) -> None:
    """The child's values are among those of the parent's action."""
    numbers, ranks, add, used, deck = layout.numbers, layout.ranks, layout.add, layout.used, layout.decks[0]
    here, there, action = layout.starts[node.depth], layout.starts[child.depth], np.int64(edge.action)
    works = np.zeros(1, WORK)
    work = works[0]
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        _count_left(deck, used, ranks, node, summary, work)
        for combo in range(node.num_combos):
            target = there + numbers[edge.combos_at + combo]
            if target < there:
                continue
            i = here + s * node.num_combos + combo
            at = node.ranks_at + MAX_OPEN * combo
            _take(work, ranks, at, MAX_OPEN)
            w = edge.scale * _take(work, ranks, edge.faces_at, edge.num_faces)
            if w > 0 and edge.num_new == 0:
                row = _settle(edge, add, ranks, at, summary, -1) - child.first_summary
                for seat in range(values.shape[1]):
                    values[action, seat, i] += w * values[STAND, seat, target + row * child.num_combos]
            if w > 0:
                for k in range(edge.num_new):
                    rank = np.int64(ranks[edge.new_at + k])
                    if work.left[rank] > 0:
                        row = _settle(edge, add, ranks, at, summary, rank) - child.first_summary
                        j = target + row * child.num_combos + numbers[edge.news_at + k]
                        for seat in range(values.shape[1]):
                            values[action, seat, i] += w * work.left[rank] * values[STAND, seat, j]
            _put_back(work, ranks, edge.faces_at, edge.num_faces)
            _put_back(work, ranks, at, MAX_OPEN)


@kernel
def _lowest(end: Any, low_settled: int, holders: int, ranks: Any, at: int) -> tuple[int, int]:
    """The lowest rank in the hands, but for a new card, and the seats that hold it, a set of bits.

    The settled cards are told by their lowest rank and its holders.
    """
    low, mask = np.int64(end.low), np.int64(end.mask)
    if low_settled <= low and low_settled != NO_RANK:
        if low_settled < low:
            mask = np.int64(0)
        low = low_settled
        card = 0
        while holders:
            if holders & 1:
                mask |= end.settled_bits[card]
            holders >>= 1
            card += 1
    for place in range(MAX_OPEN):
        bit = np.int64(end.open_bits[place])
        if bit:
            low, mask = _joined(low, mask, np.int64(ranks[at + place]), bit)
    return low, mask


@kernel
def _joined(low: int, mask: int, rank: int, bit: int) -> tuple[int, int]:
    """The lowest rank and its holders when the seat `bit` holds a card of `rank`; nobody does if `bit` is 0."""
    if bit == 0 or rank > low:
        return low, mask
    return rank, bit if rank < low else mask | bit


@kernel
def _count_ending(deck: Any, num_ranks: int, work: Any) -> None:
    """`work.num_ending` has the cards left that end a challenge behind the dealer."""
    work.num_ending = 0
    for rank in range(num_ranks):
        work.num_ending += work.left[rank] * deck.ends_challenge[rank]


@kernel
def _end(layout: Any, payoffs: Any, edge: Any, node: Any, values: Any) -> None:
    """The deal's end along the edge is among the values of the parent's action."""
    numbers, ranks, used, deck = layout.numbers, layout.ranks, layout.used, layout.decks[0]
    lows, holders_of_low = layout.low, layout.holds_low
    end, action = layout.ends[edge.first_end], np.int64(edge.action)
    here, new_bit = layout.starts[node.depth], np.int64(end.new_bit)
    num_on_way = np.int64(edge.num_faces) - (edge.from_stock and edge.num_new == 0)
    works = np.zeros(1, WORK)
    work = works[0]
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        _count_left(deck, used, ranks, node, summary, work)
        low_settled, holders = np.int64(lows[summary]), np.int64(holders_of_low[summary])
        for combo in range(node.num_combos):
            if numbers[edge.combos_at + combo] < 0:
                continue
            i = here + s * node.num_combos + combo
            at = node.ranks_at + MAX_OPEN * combo
            _take(work, ranks, at, MAX_OPEN)
            w = edge.scale * _take(work, ranks, edge.faces_at, num_on_way)
            if w > 0 and edge.from_stock:
                _count_ending(deck, used.shape[1], work)
                w /= work.num_ending
            w *= _take(work, ranks, edge.faces_at + num_on_way, edge.num_faces - num_on_way)
            if w > 0:
                low, mask = _lowest(end, low_settled, holders, ranks, at)
                lower, equal, higher = np.int64(0), np.int64(0), np.int64(edge.num_new == 0)
                for k in range(edge.num_new):
                    rank = np.int64(ranks[edge.new_at + k])
                    lower += work.left[rank] * (rank < low)
                    equal += work.left[rank] * (rank == low)
                    higher += work.left[rank] * (rank > low)
                for seat in range(values.shape[1]):
                    values[action, seat, i] += w * (
                        lower * payoffs[end.kind, new_bit, seat]
                        + equal * payoffs[end.kind, mask | new_bit, seat]
                        + higher * payoffs[end.kind, mask, seat]
                    )
            _put_back(work, ranks, edge.faces_at, edge.num_faces)
            _put_back(work, ranks, at, MAX_OPEN)


@kernel
def _last(
    layout: Any,
    payoffs: Any,
    choices: Any,
    how: Any,
    edge: Any,
    node: Any,
    child: Any,
    reach: Any,
    values: Any,
    gains: Any,
) -> None:
    """The last seat's choices have been looked at, and what follows is among the values of the parent's action."""
    _go_through_last(layout, payoffs, choices, how, edge, node, child, reach, values, False)
    _choose(choices, how, child, gains)
    _go_through_last(layout, payoffs, choices, how, edge, node, child, reach, values, True)


@kernel
def _go_through_last(
    layout: Any,
    payoffs: Any,
    choices: Any,
    how: Any,
    edge: Any,
    node: Any,
    child: Any,
    reach: Any,
    values: Any,
    is_back: bool,
) -> None:
    """Down to the last seat's choices, to see what they are worth, or back with what follows from them."""
    numbers, ranks, used, deck = layout.numbers, layout.ranks, layout.used, layout.decks[0]
    lows, holders_of_low, ends = layout.low, layout.holds_low, layout.ends
    stands, legal, worth = choices.stand, choices.legal, choices.worth
    here, action, actor = layout.starts[node.depth], np.int64(edge.action), np.int64(child.actor)
    works = np.zeros(1, WORK)
    work = works[0]
    num_groups = max(1, np.int64(edge.num_new))
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        _count_left(deck, used, ranks, node, summary, work)
        low_settled, holders = np.int64(lows[summary]), np.int64(holders_of_low[summary])
        for combo in range(node.num_combos):
            i = here + s * node.num_combos + combo
            target = child.first_state + numbers[edge.combos_at + combo]
            if target < child.first_state or (reach[i] == 0 and not is_back):
                continue
            w = np.float64(edge.scale)
            if not is_back:
                w *= reach[i]
                if node.actor >= 0:
                    state = node.first_state + numbers[node.states_at + combo]
                    stand = _trembling(stands[state], legal[state], how.tremble)
                    w *= stand if action == STAND else 1 - stand
            at = node.ranks_at + MAX_OPEN * combo
            _take(work, ranks, at, MAX_OPEN)
            w *= _take(work, ranks, edge.faces_at, edge.num_faces)
            if w > 0:
                for number in range(np.int64(edge.num_ends)):
                    low, mask = _lowest(ends[edge.first_end + number], low_settled, holders, ranks, at)
                    work.lows[number] = low
                    work.masks[number] = mask
                _look_at_stock(deck, used.shape[1], work)
                group = 0
                while group < num_groups:
                    behind = _end_of_group(deck, ends, edge, ranks, group, work)
                    if is_back:
                        _come_back(
                            deck, ends, payoffs, edge, numbers, ranks, group, behind, w, target,
                            stands, legal, how.tremble, values, action, i, work, used.shape[1],
                        )  # fmt: skip
                    else:
                        _look_at_choices(
                            deck, ends, payoffs, edge, numbers, ranks, group, behind, w, target,
                            worth, actor, work, used.shape[1],
                        )  # fmt: skip
                    group = behind
            _put_back(work, ranks, edge.faces_at, edge.num_faces)
            _put_back(work, ranks, at, MAX_OPEN)


@kernel
def _look_at_stock(deck: Any, num_ranks: int, work: Any) -> None:
    """`work.below` and `work.num_ending` have the cards of the stock."""
    _count_ending(deck, num_ranks, work)
    work.per_card[0] = 1 / work.num_ending
    work.per_card[1] = 1 / max(1, work.num_ending - 1)
    for rank in range(num_ranks):
        work.below[rank + 1] = work.below[rank] + work.left[rank] * deck.is_taken[rank]


@kernel
def _end_of_group(deck: Any, ends: Any, edge: Any, ranks: Any, begin: int, work: Any) -> int:
    """Behind the last of the new card's ranks, from number `begin` on, that lie with the first one.

    They can all be taken from the stock, and are together above or below each end's lowest rank.
    """
    if edge.num_new == 0 or not deck.is_taken[ranks[edge.new_at + begin]]:
        return begin + 1
    rank, until = np.int64(ranks[edge.new_at + begin]), np.int64(NO_RANK)
    for number in range(np.int64(edge.num_ends)):
        low = work.lows[number]
        if rank == low:
            return begin + 1
        if rank < low:
            until = min(until, low)
    behind = begin + 1
    for k in range(begin + 1, np.int64(edge.num_new)):
        other = ranks[edge.new_at + k]
        if other >= until or not deck.is_taken[other]:
            break
        behind += 1
    return behind


@kernel
def _new_card(edge: Any, numbers: Any, ranks: Any, k: int, work: Any) -> tuple[int, int, int]:
    """Number `k` of the new card's ranks, cards left of it, what it adds to the state; -1, 1, 0 without a new card."""
    if edge.num_new == 0:
        return np.int64(-1), np.int64(1), np.int64(0)
    rank = np.int64(ranks[edge.new_at + k])
    return rank, work.left[rank], np.int64(numbers[edge.news_at + k])


@kernel
def _drawn(deck: Any, end: Any, number: int, rank: int, work: Any, num_ranks: int) -> tuple[float, float, float]:
    """The chances to draw a card that is taken: lower than the lowest in the other hands, equal, higher.

    `end`, number `number`, is the one by drawing, `rank` that of the new card (see `_new_card`).
    """
    low, _ = _joined(work.lows[number], np.int64(0), rank, np.int64(end.new_bit))
    at, taken, per_card = min(low, num_ranks), np.int64(0), work.per_card[0]
    if rank >= 0:
        taken = deck.is_taken[rank]
        per_card = work.per_card[deck.ends_challenge[rank]]
    lower = work.below[at] - taken * (rank < low)
    equal = work.below[min(at + 1, num_ranks)] - work.below[at] - taken * (rank == low)
    higher = work.below[num_ranks] - taken - lower - equal
    return lower * per_card, equal * per_card, higher * per_card


@kernel
def _if_stood(ends: Any, payoffs: Any, edge: Any, rank: int, seat: int, work: Any) -> float:
    """What the deal is worth to `seat` if the last one stands; `rank` is that of the new card."""
    end = ends[edge.first_end]
    _, mask = _joined(work.lows[0], work.masks[0], rank, np.int64(end.new_bit))
    return payoffs[end.kind, mask, seat]


@kernel
def _if_answered(deck: Any, ends: Any, payoffs: Any, edge: Any, rank: int, seat: int, work: Any) -> float:
    """The same if the stock shows a card that is not taken, times the chance of that."""
    total = 0.0
    for number in range(1, np.int64(edge.num_ends)):
        end = ends[edge.first_end + number]
        if end.role != DRAWS:
            _, mask = _joined(work.lows[number], work.masks[number], rank, np.int64(end.new_bit))
            total += (work.left[end.rank] - (end.rank == rank)) * payoffs[end.kind, mask, seat]
    return total * work.per_card[0 if rank < 0 else deck.ends_challenge[rank]]


@kernel
def _draws(ends: Any, edge: Any) -> int:
    """The number of the end by drawing a card that is taken, -1 if there is none."""
    for number in range(1, np.int64(edge.num_ends)):
        if ends[edge.first_end + number].role == DRAWS:
            return number
    return -1


@kernel
def _look_at_choices(
    deck: Any,
    ends: Any,
    payoffs: Any,
    edge: Any,
    numbers: Any,
    ranks: Any,
    begin: int,
    behind: int,
    w: float,
    target: int,
    worth: Any,
    actor: int,
    work: Any,
    num_ranks: int,
) -> None:
    """What the last seat's choices are worth to it, with the ranks of a group, has been added to `worth`."""
    rank, _, _ = _new_card(edge, numbers, ranks, begin, work)
    standing, draws = _if_stood(ends, payoffs, edge, rank, actor, work), _draws(ends, edge)
    answered = _if_answered(deck, ends, payoffs, edge, rank, actor, work) if edge.num_ends > 1 else 0.0
    end = ends[edge.first_end + max(draws, 0)]
    low, bit = work.lows[max(draws, 0)], np.int64(end.drawn_bit)
    _, mask = _joined(low, work.masks[max(draws, 0)], rank, np.int64(end.new_bit))
    varies = draws >= 0 and end.new_bit and rank < low
    exchanging = answered
    for k in range(begin, behind):
        rank, num, news = _new_card(edge, numbers, ranks, k, work)
        if draws >= 0 and (k == begin or varies):
            lower, equal, higher = _drawn(deck, end, draws, rank, work, num_ranks)
            exchanging = answered + (
                lower * payoffs[end.kind, bit, actor]
                + equal * payoffs[end.kind, mask | bit, actor]
                + higher * payoffs[end.kind, mask, actor]
            )
        worth[target + news, STAND] += w * num * standing
        worth[target + news, EXCHANGE] += w * num * exchanging


@kernel
def _come_back(
    deck: Any,
    ends: Any,
    payoffs: Any,
    edge: Any,
    numbers: Any,
    ranks: Any,
    begin: int,
    behind: int,
    w: float,
    target: int,
    stands: Any,
    legal: Any,
    tremble: float,
    values: Any,
    action: int,
    i: int,
    work: Any,
    num_ranks: int,
) -> None:
    """What follows from the last seat's choices, with the ranks of a group, has been added to `values`."""
    rank, _, _ = _new_card(edge, numbers, ranks, begin, work)
    draws, standing, exchanging, lower, equal, higher = _draws(ends, edge), 0.0, 0.0, 0.0, 0.0, 0.0
    varies = draws >= 0 and ends[edge.first_end + draws].new_bit and rank < work.lows[draws]
    for k in range(begin, behind):
        rank, num, news = _new_card(edge, numbers, ranks, k, work)
        stand = _trembling(stands[target + news], legal[target + news], tremble)
        standing += num * stand
        exchanging += num * (1 - stand)
        if varies and stand < 1 and num > 0:
            chances = _drawn(deck, ends[edge.first_end + draws], draws, rank, work, num_ranks)
            lower += num * (1 - stand) * chances[0]
            equal += num * (1 - stand) * chances[1]
            higher += num * (1 - stand) * chances[2]
    rank, _, _ = _new_card(edge, numbers, ranks, begin, work)
    per_card = work.per_card[0 if rank < 0 else deck.ends_challenge[rank]]
    for number in range(np.int64(edge.num_ends)):
        end = ends[edge.first_end + number]
        _, mask = _joined(work.lows[number], work.masks[number], rank, np.int64(end.new_bit))
        if number == draws and exchanging > 0:
            if not varies:
                chances = _drawn(deck, end, draws, rank, work, num_ranks)
                lower, equal, higher = exchanging * chances[0], exchanging * chances[1], exchanging * chances[2]
            for seat in range(values.shape[1]):
                values[action, seat, i] += w * (
                    lower * payoffs[end.kind, end.drawn_bit, seat]
                    + equal * payoffs[end.kind, mask | end.drawn_bit, seat]
                    + higher * payoffs[end.kind, mask, seat]
                )
        elif number != draws:
            chance = standing
            if number > 0:
                chance = exchanging * per_card * (work.left[end.rank] - (end.rank == rank))
            if chance > 0:
                for seat in range(values.shape[1]):
                    values[action, seat, i] += w * chance * payoffs[end.kind, mask, seat]
