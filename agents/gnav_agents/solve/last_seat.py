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
    """Down to the last seat's choices, to see what they are worth, or back with what follows from them."""
    numbers, ranks, used, deck = layout.numbers, layout.ranks, layout.used, layout.decks[0]
    lows, holders_of_low, ends, hands = layout.low, layout.holds_low, layout.ends, layout.hands
    played, worth = choices.played, choices.worth
    here, action, actor = layout.starts[node.depth], np.int64(edge.action), np.int64(child.actor)
    num_groups = max(1, np.int64(edge.num_new))
    for s in range(node.num_summaries):
        summary = node.first_summary + s
        count_left(deck, used, ranks, node, summary, work)
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
                    stand = played[node.first_state + numbers[node.states_at + combo]]
                    w *= stand if action == STAND else 1 - stand
            at = node.ranks_at + MAX_OPEN * combo
            take(work, ranks, at, MAX_OPEN)
            w *= take(work, ranks, edge.faces_at, edge.num_faces)
            if w > 0:
                for number in range(np.int64(edge.num_hands)):
                    low, mask = lowest(hands[edge.first_hands + number], low_settled, holders, ranks, at)
                    work.lows[number] = low
                    work.masks[number] = mask
                _look_at_stock(deck, used.shape[1], work)
                group = 0
                while group < num_groups:
                    behind = _end_of_group(deck, edge, ranks, group, work)
                    _join_new(hands, edge, ranks, group, work)
                    if is_back:
                        _come_back(
                            deck, ends, hands, payoffs, edge, numbers, ranks, group, behind, w, target,
                            played, values, action, i, work, used.shape[1],
                        )  # fmt: skip
                    else:
                        _look_at_choices(
                            deck, ends, hands, payoffs, edge, numbers, ranks, group, behind, w, target,
                            worth, actor, work, used.shape[1],
                        )  # fmt: skip
                    group = behind
            put_back(work, ranks, edge.faces_at, edge.num_faces)
            put_back(work, ranks, at, MAX_OPEN)


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
def _new_card(edge: Any, numbers: Any, ranks: Any, k: int, work: Any) -> tuple[int, int, int]:
    """Number `k` of the new card's ranks, cards left of it, what it adds to the state; -1, 1, 0 without a new card."""
    if edge.num_new == 0:
        return np.int64(-1), np.int64(1), np.int64(0)
    rank = np.int64(ranks[edge.new_at + k])
    return rank, work.left[rank], np.int64(numbers[edge.news_at + k])


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
    rank, _, _ = _new_card(edge, numbers, ranks, begin, work)
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
        rank, num, news = _new_card(edge, numbers, ranks, k, work)
        if draws >= 0 and (k == begin or varies):
            lower, equal, higher = _drawn(deck, low, new_bit, rank, work, num_ranks)
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
    hands: Any,
    payoffs: Any,
    edge: Any,
    numbers: Any,
    ranks: Any,
    begin: int,
    behind: int,
    w: float,
    target: int,
    played: Any,
    values: Any,
    action: int,
    i: int,
    work: Any,
    num_ranks: int,
) -> None:
    """What follows from the last seat's choices, with the ranks of a group, has been added to `values`."""
    rank, _, _ = _new_card(edge, numbers, ranks, begin, work)
    standing, exchanging, lower, equal, higher = 0.0, 0.0, 0.0, 0.0, 0.0
    draws = np.int64(edge.draws)
    end = ends[edge.first_end + max(draws, 0)]
    low, new_bit = work.lows[end.hands], np.int64(hands[edge.first_hands + end.hands].new_bit)
    varies = draws >= 0 and new_bit and rank < low
    for k in range(begin, behind):
        rank, num, news = _new_card(edge, numbers, ranks, k, work)
        stand = played[target + news]
        standing += num * stand
        exchanging += num * (1 - stand)
        if varies and stand < 1 and num > 0:
            chances = _drawn(deck, low, new_bit, rank, work, num_ranks)
            lower += num * (1 - stand) * chances[0]
            equal += num * (1 - stand) * chances[1]
            higher += num * (1 - stand) * chances[2]
    rank, _, _ = _new_card(edge, numbers, ranks, begin, work)
    per_card = work.per_card[0 if rank < 0 else deck.ends_challenge[rank]]
    for number in range(np.int64(edge.num_ends)):
        end = ends[edge.first_end + number]
        mask = work.joined[end.hands]
        if number == draws and exchanging > 0:
            if not varies:
                chances = _drawn(deck, low, new_bit, rank, work, num_ranks)
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
