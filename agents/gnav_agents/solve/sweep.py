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

from gnav_agents.solve.last_seat import go_through_last
from gnav_agents.solve.layout import END, ENTER, EXIT, MAX_OPEN, NEW, Layout, lay_out
from gnav_agents.solve.left_cards import WORK, count_ending, count_left, lowest, put_back, take
from gnav_agents.solve.tree import Tree
from gnav_env._jit import kernel
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
    played: NDArray[np.float64]
    """`stand` with the tremble."""
    legal: NDArray[np.int8]
    worth: NDArray[np.float64]
    regrets: NDArray[np.float64]
    sums: NDArray[np.float64]


class _How(NamedTuple):
    """What to do with choices."""

    mode: int
    tremble: float
    weight: float


class _Buffers(NamedTuple):
    """All nodes on a way down the tree."""

    reach: NDArray[np.float64]
    """[size]"""
    values: NDArray[np.float64]
    """[A, S, size]"""
    work: NDArray[Any]
    """[1] of WORK."""


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
            played=np.zeros(num_states),
            legal=legal,
            worth=np.zeros((num_states, NUM_ACTIONS)),
            regrets=np.zeros((num_states, NUM_ACTIONS)),
            sums=np.zeros(num_states),
        )
        self._weight = 0.0
        self._tops = _tops(self.layout)
        self._buffers: SimpleQueue[_Buffers] = SimpleQueue()
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
        buffers = self._make_buffers(2)
        reach, values, _ = buffers
        eldest = slice(self.layout.starts[1], self.layout.starts[2])
        reach[0] = 1.0
        self.worth[:] = 0
        _tremble_all(self._choices, how.tremble)
        waiting: list[tuple[_Top, NDArray[np.float64], list[Future[tuple[Any, Any]]]]] = []
        for top in self._tops:
            self._go(top.enter, buffers, how, gains)
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
            self._go(top.leave, buffers, how, gains)
        return Swept(values=values[STAND, :, 0].copy(), gains=gains)

    def _branch(self, steps: tuple[int, int], there: NDArray[np.float64], how: _How) -> tuple[Any, Any]:
        """The steps below the eldest's node whose reach is `there`: what they add to its values, and gains."""
        buffers = self._buffers.get()
        reach, values, _ = buffers
        eldest = slice(self.layout.starts[1], self.layout.starts[2])
        gains = np.zeros(self.layout.num_seats)
        reach[eldest] = there
        values[:, :, eldest] = 0
        try:
            self._go(steps, buffers, how, gains)
            return values[:, :, eldest].copy(), gains
        finally:
            self._buffers.put(buffers)

    def _go(self, steps: tuple[int, int], buffers: _Buffers, how: _How, gains: Any) -> None:
        _go_all(self.layout, self.payoffs, self._choices, how, steps[0], steps[1], buffers, gains)

    def _make_buffers(self, num_depths: int) -> _Buffers:
        """Room for nodes of the first `num_depths` depths."""
        size = int(self.layout.starts[num_depths])
        return _Buffers(
            reach=np.zeros(size),
            values=np.zeros((NUM_ACTIONS, self.layout.num_seats, size)),
            work=np.zeros(1, WORK),
        )


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
def _go_all(layout: Any, payoffs: Any, choices: Any, how: Any, begin: int, end: int, buffers: Any, gains: Any) -> None:
    """The steps `begin` to `end` - 1 have been taken."""
    reach, values, work = buffers.reach, buffers.values, buffers.work[0]
    for at in range(begin, end):
        step, edge = layout.steps[at, 0], layout.edges[layout.steps[at, 1]]
        node = layout.nodes[edge.parent]
        if step == END:
            _end(layout, payoffs, edge, node, values, work)
            continue
        child = layout.nodes[edge.child]
        if step == ENTER:
            _enter(layout, choices, edge, node, child, reach, values, work)
        elif step == EXIT:
            if child.actor >= 0:
                _decide(layout, choices, how, child, reach, values, gains)
            _leave(layout, edge, node, child, values, work)
        else:
            _last(layout, payoffs, choices, how, edge, node, child, reach, values, gains, work)


@kernel
def _tremble_all(choices: Any, tremble: float) -> None:
    """`choices.played` is right in all states."""
    for state in range(len(choices.stand)):
        _tremble(choices, state, tremble)


@kernel
def _tremble(choices: Any, state: int, tremble: float) -> None:
    """`choices.played` is right in this state."""
    stand = choices.stand[state]
    choices.played[state] = (1 - tremble) * stand + tremble / 2 if choices.legal[state] == 3 else stand


@kernel
def _settle(edge: Any, add: Any, ranks: Any, ranks_at: int, summary: int, new_rank: int) -> int:
    """The summary at the other end of the edge."""
    for i in range(np.int64(edge.num_retired)):
        place = np.int64(edge.retired[i])
        summary = add[summary, new_rank if place == NEW else np.int64(ranks[ranks_at + place])]
    return summary


@kernel
def _enter(layout: Any, choices: Any, edge: Any, node: Any, child: Any, reach: Any, values: Any, work: Any) -> None:
    """The reach of the edge's child is known, and its values are 0 so far."""
    numbers, ranks, add, used, deck = layout.numbers, layout.ranks, layout.add, layout.used, layout.decks[0]
    played = choices.played
    here, there = layout.starts[node.depth], layout.starts[child.depth]
    reach[there : there + child.num_summaries * child.num_combos] = 0
    values[:, :, there : there + child.num_summaries * child.num_combos] = 0
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        count_left(deck, used, ranks, node, summary, work)
        for combo in range(node.num_combos):
            w = reach[here + s * node.num_combos + combo] * edge.scale
            target = there + numbers[edge.combos_at + combo]
            if target < there or w == 0:
                continue
            if node.actor >= 0:
                stand = played[node.first_state + numbers[node.states_at + combo]]
                w *= stand if edge.action == STAND else 1 - stand
            at = node.ranks_at + MAX_OPEN * combo
            take(work, ranks, at, MAX_OPEN)
            w *= take(work, ranks, edge.faces_at, edge.num_faces)
            if w > 0 and edge.num_new == 0:
                row = _settle(edge, add, ranks, at, summary, -1) - child.first_summary
                reach[target + row * child.num_combos] += w
            if w > 0:
                for k in range(edge.num_new):
                    rank = np.int64(ranks[edge.new_at + k])
                    if work.left[rank] > 0:
                        row = _settle(edge, add, ranks, at, summary, rank) - child.first_summary
                        reach[target + row * child.num_combos + numbers[edge.news_at + k]] += w * work.left[rank]
            put_back(work, ranks, edge.faces_at, edge.num_faces)
            put_back(work, ranks, at, MAX_OPEN)


@kernel
def _decide(layout: Any, choices: Any, how: Any, node: Any, reach: Any, values: Any, gains: Any) -> None:
    """The node's choices have been looked at; the values of STAND have become those of the node."""
    numbers, worth, played = layout.numbers, choices.worth, choices.played
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
                stand = played[node.first_state + numbers[node.states_at + combo]]
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
        _tremble(choices, state, how.tremble)


@kernel
def _leave(layout: Any, edge: Any, node: Any, child: Any, values: Any, work: Any) -> None:
    """The child's values are among those of the parent's action."""
    numbers, ranks, add, used, deck = layout.numbers, layout.ranks, layout.add, layout.used, layout.decks[0]
    here, there, action = layout.starts[node.depth], layout.starts[child.depth], np.int64(edge.action)
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        count_left(deck, used, ranks, node, summary, work)
        for combo in range(node.num_combos):
            target = there + numbers[edge.combos_at + combo]
            if target < there:
                continue
            i = here + s * node.num_combos + combo
            at = node.ranks_at + MAX_OPEN * combo
            take(work, ranks, at, MAX_OPEN)
            w = edge.scale * take(work, ranks, edge.faces_at, edge.num_faces)
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
            put_back(work, ranks, edge.faces_at, edge.num_faces)
            put_back(work, ranks, at, MAX_OPEN)


@kernel
def _end(layout: Any, payoffs: Any, edge: Any, node: Any, values: Any, work: Any) -> None:
    """The deal's end along the edge is among the values of the parent's action."""
    numbers, ranks, used, deck = layout.numbers, layout.ranks, layout.used, layout.decks[0]
    lows, holders_of_low = layout.low, layout.holds_low
    end, hands, action = layout.ends[edge.first_end], layout.hands[edge.first_hands], np.int64(edge.action)
    here, new_bit = layout.starts[node.depth], np.int64(hands.new_bit)
    num_on_way = np.int64(edge.num_faces) - (edge.from_stock and edge.num_new == 0)
    for family in range(node.first_family, node.first_family + node.num_families):
        begin, behind = layout.family[family], layout.family[family + 1]
        count_left(deck, used, ranks, node, begin, work)
        low_settled, holders = np.int64(lows[begin]), np.int64(holders_of_low[begin])
        for combo in range(node.num_combos):
            if numbers[edge.combos_at + combo] < 0:
                continue
            at = node.ranks_at + MAX_OPEN * combo
            take(work, ranks, at, MAX_OPEN)
            w = edge.scale * take(work, ranks, edge.faces_at, num_on_way)
            if w > 0 and edge.from_stock:
                count_ending(deck, used.shape[1], work)
                w /= work.num_ending
            w *= take(work, ranks, edge.faces_at + num_on_way, edge.num_faces - num_on_way)
            if w > 0:
                low, mask = lowest(hands, low_settled, holders, ranks, at)
                lower, equal, higher = np.int64(0), np.int64(0), np.int64(edge.num_new == 0)
                for k in range(edge.num_new):
                    rank = np.int64(ranks[edge.new_at + k])
                    lower += work.left[rank] * (rank < low)
                    equal += work.left[rank] * (rank == low)
                    higher += work.left[rank] * (rank > low)
                for seat in range(values.shape[1]):
                    value = w * (
                        lower * payoffs[end.kind, new_bit, seat]
                        + equal * payoffs[end.kind, mask | new_bit, seat]
                        + higher * payoffs[end.kind, mask, seat]
                    )
                    for summary in range(begin, behind):
                        values[action, seat, here + (summary - node.first_summary) * node.num_combos + combo] += value
            put_back(work, ranks, edge.faces_at, edge.num_faces)
            put_back(work, ranks, at, MAX_OPEN)


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
    work: Any,
) -> None:
    """The last seat's choices have been looked at, and what follows is among the values of the parent's action."""
    go_through_last(layout, payoffs, choices, edge, node, child, reach, values, work, False)
    _choose(choices, how, child, gains)
    go_through_last(layout, payoffs, choices, edge, node, child, reach, values, work, True)
