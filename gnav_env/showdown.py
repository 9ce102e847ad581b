"""The end of a deal: cards are compared, losers pay, seats leave or come back, the match goes on or is over.

engine.py plays the deal up to here. Kernels of one table record, as there.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from typing import Any

import numpy as np

from gnav_env._jit import kernel
from gnav_env.compiled import (
    ALL_REENTER,
    CARRY_OVER,
    NOT_COMPARED,
    PLAY_OFF,
    TIED_ALL,
    TIED_FIRST,
    TIED_UNEQUAL,
    TO_POOL,
)
from gnav_env.effects import SPECIAL_ROWS
from gnav_env.state import AS_LOWEST, AS_SPECIAL, BETWEEN, NOBODY, OVER, hand_rank, is_live, mark, neighbour

__all__ = ["end_match", "showdown"]

_HIGHEST = 127


@kernel
def showdown(t: Any, r: Any) -> None:
    """All live cards are compared, losers have paid, and the match goes on or is over."""
    t.phase = BETWEEN
    t.to_act = NOBODY
    lowest, others_lose, somebody_sits_out = _look_at_cards(t, r)
    if others_lose:
        _mark_lowest(t, r, lowest)
    still_in, num_fallen = 0, 0
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].loser or t.seats[seat].bonus:
            _settle(t, r, seat)
        still_in += t.seats[seat].lives > 0
        num_fallen += _falls(t, seat)
    if r.heals:
        _heal(t, r)
    is_last_deal = r.num_deals > 0 and t.deals >= r.num_deals
    if still_in == 0 and r.all_out == ALL_REENTER and not is_last_deal:
        _reenter(t, r)
        return
    if num_fallen > 0:
        still_in = _leave_or_play_off(t, r, still_in, is_last_deal)
    is_over = still_in <= 1 or is_last_deal
    if somebody_sits_out:
        _check_sit_out(t, still_in, is_over)
    if is_over:
        end_match(t)


@kernel
def _look_at_cards(t: Any, r: Any) -> tuple[int, bool, bool]:
    """All live faces are public, and `height` says as what they are compared; specials have lost, won or sit out.

    The least height, whether those who hold it lose, whether anybody would sit out.
    """
    lowest, others_lose, somebody_sits_out = np.int64(_HIGHEST), True, False
    for seat in range(np.int64(t.num_seats)):
        height = np.int64(NOT_COMPARED)
        if is_live(t, r, seat):
            mark(t.face_up, np.int64(t.seats[seat].hand))
            rank = hand_rank(t, seat)
            height = np.int64(r.height[rank])
            row = _special_row(t, r, rank) if r.special[rank] else -1
            if row >= 0:
                height = np.int64(r.special_height[rank, row])
                t.seats[seat].loser = AS_SPECIAL if r.special_loses[rank, row] else 0
                t.seats[seat].bonus = r.special_bonus[rank, row]
                if r.special_spares[rank, row]:
                    others_lose = False
                if r.special_sits_out[rank, row]:
                    t.seats[seat].sits_out = 1
                    somebody_sits_out = True
            if height != NOT_COMPARED:
                lowest = min(lowest, height)
        t.seats[seat].height = height
    return lowest, others_lose, somebody_sits_out


@kernel
def _special_row(t: Any, r: Any, rank: int) -> int:
    """The row of `rank` in the tables of specials: how many there are, less 1. -1: none was dealt.

    Where they are counted as dealt, a card that has become another counts as what it was.
    """
    num, dealt = 0, np.int64(r.dealt_as[rank])
    for seat in range(np.int64(t.num_seats)):
        if r.counts_dealt:
            num += t.seats[seat].hand >= 0 and r.dealt_as[t.deck[seat]] == dealt
        else:
            num += is_live(t, r, seat) and hand_rank(t, seat) == rank
    return min(num, SPECIAL_ROWS) - 1


@kernel
def _mark_lowest(t: Any, r: Any, lowest: int) -> None:
    """`loser` marks those who hold a card of the height `lowest`, as the rule for ties says."""
    num_tied = 0
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].height == lowest:
            t.seats[seat].loser = AS_LOWEST
            num_tied += 1
    if num_tied > 1 and r.ties != TIED_ALL:
        _spare_tied(t, r, lowest)


@kernel
def _spare_tied(t: Any, r: Any, lowest: int) -> None:
    """Of those tied at the height `lowest` none loses, or the first in the order of turns, or all if others are higher.

    Which of these the rule for ties says.
    """
    if r.ties == TIED_UNEQUAL:
        for seat in range(np.int64(t.num_seats)):
            if t.seats[seat].height > lowest:
                return
    first_loses = r.ties == TIED_FIRST
    seat = np.int64(t.dealer)
    for _ in range(np.int64(t.num_seats)):
        seat = neighbour(t, seat, r.direction)
        if t.seats[seat].height == lowest:
            t.seats[seat].loser = AS_LOWEST if first_loses else 0
            first_loses = False
        if seat == t.dealer:
            break


@kernel
def _settle(t: Any, r: Any, seat: int) -> None:
    """`seat` has paid for its card if it lost, as far as it can; if it has lives left it has what it won."""
    if t.seats[seat].loser:
        paid = min(np.int64(r.loss[hand_rank(t, seat)]), np.int64(t.seats[seat].lives))
        t.seats[seat].lives -= paid
        t.seats[seat].lost += paid
        if r.loss_to == TO_POOL:
            t.pool += paid
    if t.seats[seat].lives == 0:
        t.seats[seat].bonus = 0
    t.seats[seat].lives += t.seats[seat].bonus


@kernel
def _falls(t: Any, seat: int) -> bool:
    """True if `seat` has lost its last life in this deal and has no place yet."""
    return t.seats[seat].lives == 0 and t.seats[seat].hand >= 0 and t.seats[seat].place == 0


@kernel
def _heal(t: Any, r: Any) -> None:
    """The seats of the deal that paid nothing in it have full lives again."""
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].hand >= 0 and t.seats[seat].lost == 0:
            _give_back(t, r, seat)


@kernel
def _give_back(t: Any, r: Any, seat: int) -> None:
    """`seat` has full lives again, out of the pool as far as that goes."""
    num_missing = max(np.int64(0), np.int64(r.lives) - t.seats[seat].lives)
    t.seats[seat].lives += num_missing
    t.pool = max(np.int64(0), t.pool - num_missing)


@kernel
def _reenter(t: Any, r: Any) -> None:
    """Everybody starts again."""
    for seat in range(np.int64(t.num_seats)):
        t.seats[seat].place = 0
        t.seats[seat].sits_out = 0
        _give_back(t, r, seat)


@kernel
def _leave_or_play_off(t: Any, r: Any, still_in: int, is_last_deal: bool) -> int:
    """The seats that have fallen have their place, or a life back to play it off. Gives back how many are in."""
    goes_on = still_in == 0 and not is_last_deal and (r.all_out == PLAY_OFF or r.all_out == CARRY_OVER)
    num_revived = 0
    for seat in range(np.int64(t.num_seats)):
        if _falls(t, seat):
            if goes_on:
                t.seats[seat].lives = 1
                t.seats[seat].sits_out = 0
                t.pool = max(np.int64(0), np.int64(t.pool) - 1)
                num_revived += 1
            else:
                t.seats[seat].place = still_in + 1
    if num_revived > 0 and r.all_out == CARRY_OVER:
        t.pool_stays = 1
    return still_in + num_revived


@kernel
def _check_sit_out(t: Any, still_in: int, is_over: bool) -> None:
    """Only seats with lives sit out, and none if that would leave fewer than two to play."""
    num_playing = still_in
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].sits_out and t.seats[seat].lives > 0:
            num_playing -= 1
    for seat in range(np.int64(t.num_seats)):
        if is_over or num_playing < 2 or t.seats[seat].lives == 0:
            t.seats[seat].sits_out = 0


@kernel
def end_match(t: Any) -> None:
    """The match is over, the seats still in it are placed by their lives."""
    t.phase = OVER
    t.to_act = NOBODY
    for seat in range(np.int64(t.num_seats)):
        if t.seats[seat].lives > 0:
            place = 1
            for other in range(np.int64(t.num_seats)):
                if t.seats[other].lives > t.seats[seat].lives:
                    place += 1
            t.seats[seat].place = place
