"""The last seat of a deal in a sweep: it has no arrays of its own, and is gone through from the node before it."""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_agents.solve.layout import MAX_OPEN
from gnav_agents.solve.left_cards import count_ending, count_left, join_card, lowest, put_back, take
from gnav_agents.solve.settled import NO_RANK
from gnav_env._jit import kernel
from gnav_env.state import EXCHANGE, STAND

__all__ = ["go_through_last"]

_NOTHING = 1e-13
"""Less than this share of the cards of a rank is what rounding leaves where all are gone."""


@kernel
def go_through_last(
    layout: Any,
    payoffs: Any,
    choices: Any,
    edge: Any,
    node: Any,
    child: Any,
    reach: Any,
    values: Any,
    work: Any,
    is_back: bool,
) -> None:
    """Down to the last seat's choices, to see what they are worth, or back with what follows from them.

    The summaries of a family differ only in how many cards are left of the new one's rank.
    """
    numbers, ranks, used, deck = layout.numbers, layout.ranks, layout.used, layout.decks[0]
    ends, hands, played, worth = layout.ends, layout.hands, choices.played, choices.worth
    here, action, actor, step = layout.starts[node.depth], np.int64(edge.action), np.int64(child.actor), node.num_combos
    num_cards = node.num_settled if edge.num_new > 0 else np.int64(0)
    num_groups, num_ranks = max(1, np.int64(edge.num_new)), used.shape[1]
    work.each[:] = 0
    for family in range(node.first_family, node.first_family + node.num_families):
        begin, behind = layout.family[family], layout.family[family + 1]
        count_left(deck, used, ranks, node, begin, work)
        for combo in range(step):
            first = here + (begin - node.first_summary) * step + combo
            target = child.first_state + numbers[edge.combos_at + combo]
            if target < child.first_state:
                continue
            at = node.ranks_at + MAX_OPEN * combo
            take(work, ranks, at, MAX_OPEN)
            w = edge.scale * take(work, ranks, edge.faces_at, edge.num_faces)
            if w > 0 and not is_back:
                _weigh(reach, first, step, used, layout.cards, num_cards, begin, behind, edge.num_new > 0, work)
                if node.actor >= 0:
                    stand = played[node.first_state + numbers[node.states_at + combo]]
                    w *= stand if action == STAND else 1 - stand
            if w > 0 and (is_back or work.total > 0):
                _look_at_hands(hands, edge, ranks, at, layout.low[begin], layout.holds_low[begin], work)
                _look_at_stock(deck, num_ranks, work)
                group = 0
                while group < num_groups:
                    next_group = _end_of_group(deck, edge, ranks, group, work)
                    _join_new(hands, edge, ranks, group, work)
                    if is_back:
                        _come_back(
                            deck, ends, hands, payoffs, edge, numbers, ranks, group, next_group, target, played,
                            work, num_ranks,
                        )  # fmt: skip
                    else:
                        _look_at_choices(
                            deck, ends, hands, payoffs, edge, numbers, ranks, group, next_group, w, target, worth,
                            actor, work, num_ranks,
                        )  # fmt: skip
                    group = next_group
                if is_back:
                    _add_up(edge, ranks, used, begin, work, payoffs.shape[2])
                    _spread(values, action, w, first, step, layout.cards, num_cards, begin, behind, work)
            put_back(work, ranks, edge.faces_at, edge.num_faces)
            put_back(work, ranks, at, MAX_OPEN)


@kernel
def _weigh(
    reach: Any,
    first: int,
    step: int,
    used: Any,
    cards: Any,
    num_cards: int,
    begin: int,
    behind: int,
    with_new: bool,
    work: Any,
) -> None:
    """`work.total` and, if a new card is looked at, `work.num` are those of the summaries `begin` to `behind` - 1."""
    work.total = 0
    work.num[:] = 0
    for summary in range(begin, behind):
        w = reach[first + (summary - begin) * step]
        if w > 0:
            work.total += w
            for j in range(num_cards):
                work.num[cards[summary, j]] -= w
    if with_new and work.total > 0:
        for rank in range(used.shape[1]):
            most = work.total * (work.left[rank] + used[begin, rank])
            num = most + work.num[rank]
            work.num[rank] = num if num > _NOTHING * most else 0.0


@kernel
def _add_up(edge: Any, ranks: Any, used: Any, begin: int, work: Any, num_seats: int) -> None:
    """`work.worth` is what the family is worth if none of its cards were gone, with `work.each` of the new card's."""
    if edge.num_new > 0:
        for seat in range(num_seats):
            total = 0.0
            for k in range(np.int64(edge.num_new)):
                rank = np.int64(ranks[edge.new_at + k])
                total += (work.left[rank] + used[begin, rank]) * work.each[rank, seat]
            work.worth[seat] = total


@kernel
def _spread(
    values: Any,
    action: int,
    w: float,
    first: int,
    step: int,
    cards: Any,
    num_cards: int,
    begin: int,
    behind: int,
    work: Any,
) -> None:
    """What the family is worth is among the values of the action in each of its summaries."""
    for summary in range(begin, behind):
        i = first + (summary - begin) * step
        for seat in range(values.shape[1]):
            value = work.worth[seat]
            for j in range(num_cards):
                value -= work.each[cards[summary, j], seat]
            values[action, seat, i] += w * value


@kernel
def _look_at_hands(hands: Any, edge: Any, ranks: Any, at: int, low_settled: int, holders: int, work: Any) -> None:
    """`work.lows` and `work.masks` are those of the family."""
    for number in range(np.int64(edge.num_hands)):
        low, mask = lowest(hands[edge.first_hands + number], np.int64(low_settled), np.int64(holders), ranks, at)
        work.lows[number] = low
        work.masks[number] = mask


@kernel
def _look_at_stock(deck: Any, num_ranks: int, work: Any) -> None:
    """`work.below` and `work.num_ending` have the cards of the stock."""
    count_ending(deck, num_ranks, work)
    work.per_card[0] = 1 / work.num_ending
    work.per_card[1] = 1 / max(1, work.num_ending - 1)
    for rank in range(num_ranks):
        work.below[rank + 1] = work.below[rank] + work.left[rank] * deck.is_taken[rank]


@kernel
def _end_of_group(deck: Any, edge: Any, ranks: Any, begin: int, work: Any) -> int:
    """Behind the last of the new card's ranks, from number `begin` on, that lie with the first one.

    They can all be taken from the stock, and are together above or below the lowest rank of each of the hands.
    """
    if edge.num_new == 0 or not deck.is_taken[ranks[edge.new_at + begin]]:
        return begin + 1
    rank, until = np.int64(ranks[edge.new_at + begin]), np.int64(NO_RANK)
    for number in range(np.int64(edge.num_hands)):
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
def _join_new(hands: Any, edge: Any, ranks: Any, k: int, work: Any) -> None:
    """`work.joined` is right for a new card of the rank number `k`."""
    for number in range(np.int64(edge.num_hands)):
        mask = work.masks[number]
        if edge.num_new > 0:
            new_bit = np.int64(hands[edge.first_hands + number].new_bit)
            _, mask = join_card(work.lows[number], mask, np.int64(ranks[edge.new_at + k]), new_bit)
        work.joined[number] = mask


@kernel
def _new_card(edge: Any, numbers: Any, ranks: Any, k: int) -> tuple[int, int]:
    """Number `k` of the new card's ranks and what it adds to the state; -1, 0 without a new card."""
    if edge.num_new == 0:
        return np.int64(-1), np.int64(0)
    return np.int64(ranks[edge.new_at + k]), np.int64(numbers[edge.news_at + k])


@kernel
def _drawn(deck: Any, low: int, new_bit: int, rank: int, work: Any, num_ranks: int) -> tuple[float, float, float]:
    """The chances to draw a card that is taken: lower than the lowest in the other hands, equal, higher.

    `low` and `new_bit` are those of the hands, `rank` that of the new card (see `_new_card`).
    """
    low, _ = join_card(low, np.int64(0), rank, new_bit)
    at, taken, per_card = min(low, num_ranks), np.int64(0), work.per_card[0]
    if rank >= 0:
        taken = deck.is_taken[rank]
        per_card = work.per_card[deck.ends_challenge[rank]]
    lower = work.below[at] - taken * (rank < low)
    equal = work.below[min(at + 1, num_ranks)] - work.below[at] - taken * (rank == low)
    higher = work.below[num_ranks] - taken - lower - equal
    return lower * per_card, equal * per_card, higher * per_card


@kernel
def _if_answered(deck: Any, ends: Any, payoffs: Any, edge: Any, rank: int, seat: int, work: Any) -> float:
    """What the deal is worth to `seat` if the stock shows a card that is not taken, times the chance of that.

    `rank` is that of the new card.
    """
    total = 0.0
    for number in range(1, np.int64(edge.num_ends)):
        end = ends[edge.first_end + number]
        if number != edge.draws:
            total += (work.left[end.rank] - (end.rank == rank)) * payoffs[end.kind, work.joined[end.hands], seat]
    return total * work.per_card[0 if rank < 0 else deck.ends_challenge[rank]]


@kernel
def _look_at_choices(
    deck: Any,
    ends: Any,
    hands: Any,
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
    rank, _ = _new_card(edge, numbers, ranks, begin)
    end = ends[edge.first_end]
    standing, answered = payoffs[end.kind, work.joined[end.hands], actor], 0.0
    if edge.num_ends > 1:
        answered = _if_answered(deck, ends, payoffs, edge, rank, actor, work)
    draws = np.int64(edge.draws)
    end = ends[edge.first_end + max(draws, 0)]
    low, mask, bit = work.lows[end.hands], work.joined[end.hands], np.int64(end.drawn_bit)
    new_bit = np.int64(hands[edge.first_hands + end.hands].new_bit)
    varies = draws >= 0 and new_bit and rank < low
    exchanging = answered
    for k in range(begin, behind):
        rank, news = _new_card(edge, numbers, ranks, k)
        if draws >= 0 and (k == begin or varies):
            lower, equal, higher = _drawn(deck, low, new_bit, rank, work, num_ranks)
            exchanging = answered + (
                lower * payoffs[end.kind, bit, actor]
                + equal * payoffs[end.kind, mask | bit, actor]
                + higher * payoffs[end.kind, mask, actor]
            )
        num = w * (work.total if rank < 0 else work.num[rank])
        worth[target + news, STAND] += num * standing
        worth[target + news, EXCHANGE] += num * exchanging


@kernel
def _come_back(
    deck: Any,
    ends: Any,
    hands: Any,
    payoffs: Any,
    edge: Any,
    numbers: Any,
    ranks: Any,
    begin: int,
    behind: int,
    target: int,
    played: Any,
    work: Any,
    num_ranks: int,
) -> None:
    """`work.each` is right for the ranks of a group, or `work.worth` if there is no new card."""
    rank, _ = _new_card(edge, numbers, ranks, begin)
    draws, lower, equal, higher = np.int64(edge.draws), 0.0, 0.0, 0.0
    stood, end = ends[edge.first_end], ends[edge.first_end + max(draws, 0)]
    low, mask, bit = work.lows[end.hands], work.joined[end.hands], np.int64(end.drawn_bit)
    new_bit = np.int64(hands[edge.first_hands + end.hands].new_bit)
    varies = draws >= 0 and new_bit and rank < low
    if draws >= 0:
        lower, equal, higher = _drawn(deck, low, new_bit, rank, work, num_ranks)
    for seat in range(payoffs.shape[2]):
        standing, answered = payoffs[stood.kind, work.joined[stood.hands], seat], 0.0
        if edge.num_ends > 1:
            answered = _if_answered(deck, ends, payoffs, edge, rank, seat, work)
        for k in range(begin, behind):
            this, news = _new_card(edge, numbers, ranks, k)
            if varies and k > begin:
                lower, equal, higher = _drawn(deck, low, new_bit, this, work, num_ranks)
            exchanging = answered + (
                lower * payoffs[end.kind, bit, seat]
                + equal * payoffs[end.kind, mask | bit, seat]
                + higher * payoffs[end.kind, mask, seat]
            )
            stand = played[target + news]
            value = stand * standing + (1 - stand) * exchanging
            if this < 0:
                work.worth[seat] = value
            else:
                work.each[this, seat] = value
        if varies:
            lower, equal, higher = _drawn(deck, low, new_bit, rank, work, num_ranks)
