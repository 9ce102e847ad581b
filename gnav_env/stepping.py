"""One step of a table with all that an environment wants to know of it: the choice, what followed, what is seen next.

The environments of one table and of many call the same kernels, so that a batch of one is a batch of any size.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.chance import first_dealer, shoe_key, shuffle
from gnav_env.compiled import ALL_REENTER, MAX_SEATS
from gnav_env.engine import (
    act,
    begin_deal,
    begin_match,
    can_exchange,
    can_stand,
    cards_needed,
    legal_action,
    wants_deck,
)
from gnav_env.observation import observe, write_mask
from gnav_env.state import BETWEEN, EXCHANGE, NOBODY, NUM_ACTIONS, OVER, STAND, TURNS, hand_rank, net_lives

__all__ = ["OUTCOME", "deal", "look", "observe_all", "play_thresholds_all", "start", "start_all", "step", "step_all"]

OUTCOME = np.dtype(
    (
        np.record,
        [
            ("actor", np.int8),  # the seat that acted in this step, NOBODY at the start of a match
            ("seat", np.int8),  # the seat to act now, NOBODY if the table has finished
            ("action_mask", np.int8, (NUM_ACTIONS,)),  # what that seat may choose
            ("ended_deal", np.int8),  # 1: this step ended a deal
            ("ended_match", np.int8),  # 1: ... and the match
            ("reached_limit", np.int8),  # 1: ... or the match has had as many deals as it may, unfinished
            (
                "balance",
                np.int16,
                (MAX_SEATS,),
            ),  # lives received - paid by each seat in the step's deal so far
            ("place", np.int8, (MAX_SEATS,)),  # finishing places so far, 0 while it may change
        ],
    )
)
"""What a step reports, one record a table."""


@kernel
def deal(t: Any, r: Any) -> None:
    """The shoe's next deal is out."""
    if wants_deck(t, r):
        shuffle(t.deck, r, t.shoe, np.int64(t.deals), cards_needed(t, r))
    begin_deal(t, r)


@kernel
def start(t: Any, r: Any, num_seats: int, seed: int, match: int, dealer: int) -> None:
    """Match number `match` under `seed` has begun and its first deal is out; `dealer` below 0: drawn from the shoe."""
    t.shoe = shoe_key(seed, match)
    t.match = match
    if dealer < 0:
        dealer = first_dealer(t.shoe, num_seats)
    begin_match(t, r, num_seats, dealer)
    deal(t, r)


@kernel
def step(t: Any, r: Any, action: int, max_deals: int, o: Any) -> None:
    """The seat to act has chosen `action`; `o` says what came of it, and the next deal is out if one follows.

    No deal follows the one numbered `max_deals` (0: no limit).
    """
    o.actor = t.to_act
    act(t, r, action)
    num_seats = np.int64(t.num_seats)
    is_final = t.phase == OVER or r.all_out != ALL_REENTER
    for seat in range(num_seats):
        o.balance[seat] = net_lives(t, seat)
        o.place[seat] = t.seats[seat].place if is_final else 0
    o.ended_deal = t.phase != TURNS
    o.ended_match = t.phase == OVER
    o.reached_limit = 0
    if t.phase == BETWEEN:
        if max_deals > 0 and t.deals >= max_deals:
            o.reached_limit = 1
        else:
            deal(t, r)


@kernel
def look(t: Any, r: Any, o: Any, observation: Any) -> None:
    """The seat to act is in `o`, with what it may do and, in `observation`, what it sees."""
    seat = np.int64(t.to_act)
    o.seat = seat
    write_mask(t, r, seat, o.action_mask)
    if seat == NOBODY:
        for feature in range(observation.size):
            observation[feature] = 0
    else:
        observe(t, r, seat, observation)


@kernel
def start_all(
    tables: Any,
    rules: Any,
    rows: Any,
    num_seats: int,
    seed: int,
    matches: Any,
    dealer: int,
    outcomes: Any,
    observations: Any,
) -> None:
    """`start` with match `matches[b]` for each table b of `rows`; its outcome and observation are written."""
    for row in range(rows.size):
        b = rows[row]
        start(tables[b], rules[0], num_seats, seed, matches[b], dealer)
        o = outcomes[b]
        o.actor = NOBODY
        o.ended_deal = 0
        o.ended_match = 0
        o.reached_limit = 0
        for seat in range(num_seats):
            o.balance[seat] = 0
            o.place[seat] = 0
        look(tables[b], rules[0], o, observations[b])


@kernel
def step_all(
    tables: Any,
    rules: Any,
    rows: Any,
    actions: Any,
    max_deals: int,
    seed: int,
    stride: int,
    dealer: int,
    outcomes: Any,
    observations: Any,
) -> int:
    """`step` for each table b of `rows` with action `actions[b]`; its outcome and observation are written.

    `stride` above 0: a table that has finished at once starts the match numbered so much higher under `seed`.
    With 0 it rests: its seat is NOBODY, its observation zeros, its action is ignored.
    Gives back -1, or the first table whose action is not legal; then nothing has happened at any of them.
    """
    for row in range(rows.size):
        t, action = tables[rows[row]], actions[rows[row]]
        if t.phase == TURNS:
            is_legal = can_stand(t, rules[0]) if action == STAND else can_exchange(t, rules[0])
            if action < STAND or action > EXCHANGE or not is_legal:
                return rows[row]
    for row in range(rows.size):
        b = rows[row]
        t, r, o = tables[b], rules[0], outcomes[b]
        if t.phase == TURNS:
            step(t, r, np.int64(actions[b]), max_deals, o)
            if t.phase != TURNS and stride > 0:
                start(t, r, np.int64(t.num_seats), seed, t.match + stride, dealer)
        else:
            o.actor = NOBODY
            o.ended_deal = 0
            o.ended_match = 0
            o.reached_limit = 0
        look(t, r, o, observations[b])
    return -1


@kernel
def observe_all(tables: Any, rules: Any, seats: Any, observations: Any) -> None:
    """What seat `seats[b]` sees at table b, for each of B tables, written into observations [B, F]."""
    for b in range(tables.size):
        observe(tables[b], rules[0], np.int64(seats[b]), observations[b])


@kernel
def play_thresholds_all(
    tables: Any, rules: Any, thresholds: Any, seed: int, first_match: int, num_matches: int, places: Any
) -> int:
    """Whole matches of players who EXCHANGE below a rank; gives back the number of decisions.

    Seat s plays `thresholds[s]` (int64 [S]) where it is legal. The matches are those numbered from `first_match` under
    `seed`; places int8 [num_matches, S] are written, 0 for seats left when a match of 10,000 deals is given up.
    They are played at the table `tables` [1].
    """
    num_seats = thresholds.size
    t, r = tables[0], rules[0]
    num_decisions = 0
    for match in range(num_matches):
        start(t, r, num_seats, seed, first_match + match, -1)
        while t.phase != OVER and t.deals < 10_000:
            if t.phase == BETWEEN:
                deal(t, r)
            seat = np.int64(t.to_act)
            act(t, r, legal_action(t, r, np.int64(hand_rank(t, seat) < thresholds[seat])))
            num_decisions += 1
        for seat in range(num_seats):
            places[match, seat] = t.seats[seat].place
    return num_decisions
