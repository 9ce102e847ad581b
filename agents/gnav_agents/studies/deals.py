"""Single deals, simulated with the engine's own kernels for the claims of tips.py.

All seats have their full lives. Opponents are threshold players: they EXCHANGE below a level, the one that is the best
reply to itself (`counting.opponent_level`). A position is the number of seats that act later: 0 is the dealer. Samples
are numbered and their cards follow from seed, seats, position and number, so that two cards or two actions at the same
position meet the same company.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.opponents import opponent_action, relative_balance
from gnav_env._jit import kernel
from gnav_env.chance import below, random_key, shoe_key, shuffle
from gnav_env.effects import REDIRECTS
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed, legal_action
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NOT_ACTED, NUM_ACTIONS, STAND, STOOD, TABLE, TURNS, hand_rank, neighbour

__all__ = ["Choices", "sample_challenges", "sample_choices", "sample_losses"]

_ALL_SEATS, _CHALLENGES = 100, 101
"""Instead of a position in the keys of samples that have none."""

_CHOOSER, _CARD, _RANK = 100, 101, 102
"""Keys of luck below a sample's; those below them are of the seats."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Deals of one card at one position, each played twice: the seat keeps the card when its turn comes, or offers it.

    If it has no such turn (its card has answered, was taken, or the deal was stopped) both are the same deal.
    """

    chose: NDArray[np.bool_]
    """The seat still had its dealt card when its turn came, and both actions were legal, [N]."""
    kept: NDArray[np.bool_]
    """With STAND: the seat did not EXCHANGE at all, [N]."""
    lost: NDArray[np.int64]
    """Lives that the seat paid, [N, A]."""
    balance: NDArray[np.float64]
    """Lives that the seat won and lost, less the average of the others', [N, A]."""

    @property
    def gain(self) -> NDArray[np.float64]:
        """What EXCHANGE gained over STAND in `balance`, of the deals in which it was chosen."""
        return (self.balance[:, EXCHANGE] - self.balance[:, STAND])[self.chose]


def sample_choices(
    rules: Rules, num_seats: int, level: int, seed: int, position: int, rank: int, num_samples: int
) -> Choices:
    """Deals in which the seat at `position` is dealt a card of `rank`, the others exchange around `level`."""
    status = np.zeros((num_samples, 2), np.int8)
    lost = np.zeros((num_samples, NUM_ACTIONS), np.int64)
    balance = np.zeros((num_samples, NUM_ACTIONS))
    key = _key(seed, num_seats, position)
    choices_all(np.zeros(1, TABLE), rules.compiled, num_seats, level, key, position, rank, status, lost, balance)
    return Choices(chose=status[:, 0] != 0, kept=status[:, 1] != 0, lost=lost, balance=balance)


def sample_losses(rules: Rules, num_seats: int, level: int, seed: int, num_deals: int) -> NDArray[np.int64]:
    """Lives paid in deals where every seat exchanges below `level`, [num_deals, S] by position: dealer first."""
    lost = np.zeros((num_deals, num_seats), np.int64)
    losses_all(np.zeros(1, TABLE), rules.compiled, level, _key(seed, num_seats, _ALL_SEATS), lost)
    return lost


def sample_challenges(
    rules: Rules, num_seats: int, level: int, seed: int, num_samples: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Challenges that met a plain card [:, 0], and the same deals with a redirecting card in its place [:, 1].

    The challenger is before the dealer, was dealt a card below `level` and offers it. Gives back the lives that it
    paid in the deal, [N, 2], and its balance (see `Choices`), [N, 2]; N is `num_samples` less those deals in which
    the challenge did not come about.
    """
    found = np.zeros(num_samples, np.bool_)
    lost, balance = np.zeros((num_samples, 2), np.int64), np.zeros((num_samples, 2))
    redirecting = [rules.rank_numbers[rank] for rank in rules.deck if rules.effect(rank).redirect]
    cards = np.repeat(redirecting, [rules.deck[rules.ranks[number]] for number in redirecting]).astype(np.int64)
    key = _key(seed, num_seats, _CHALLENGES)
    challenges_all(np.zeros(1, TABLE), rules.compiled, num_seats, level, key, cards, found, lost, balance)
    return lost[found], balance[found]


def _key(seed: int, num_seats: int, position: int) -> np.uint64:
    """The key of the samples of this position."""
    return np.uint64(random_key(np.uint64(shoe_key(seed, num_seats)), position))


@kernel
def choices_all(
    tables: Any,
    rules: Any,
    num_seats: int,
    level: int,
    key: Any,
    position: int,
    rank: int,
    status: Any,
    lost: Any,
    balance: Any,
) -> None:
    """`Choices` in arrays: status [N, 2] is `chose` and `kept`. They are played at `tables` [1], as all here are."""
    t, r = tables[0], rules[0]
    begin_match(t, r, num_seats, num_seats - 1)
    num_needed = cards_needed(t, r)
    chooser = _seat_at(t, r, position)
    for number in range(status.shape[0]):
        luck = random_key(key, number)
        for action in range(NUM_ACTIONS):
            begin_match(t, r, num_seats, num_seats - 1)
            shuffle(t.deck, r, luck, 0, num_needed)  # anew, since a trade may change what a card is
            _put(t, r, luck, chooser, rank)
            begin_deal(t, r)
            for _ in range(num_seats):
                if t.phase != TURNS:
                    break
                seat: Any = np.int64(t.to_act)
                choice: Any = opponent_action(t, r, luck, seat, level)
                if seat == chooser and t.seats[seat].hand == seat and can_stand(t, r) and can_exchange(t, r):
                    status[number, 0] = 1
                    choice = action
                act(t, r, choice)
            if action == STAND:
                turn = t.seats[chooser].turn
                status[number, 1] = turn in (STOOD, NOT_ACTED)
            lost[number, action] = t.seats[chooser].lost
            balance[number, action] = relative_balance(t, chooser)


@kernel
def losses_all(tables: Any, rules: Any, level: int, key: Any, lost: Any) -> None:
    """Lives paid by position, lost [N, S], in N deals where all exchange below `level`."""
    t, r = tables[0], rules[0]
    num_seats: Any = np.int64(lost.shape[1])
    begin_match(t, r, num_seats, num_seats - 1)
    num_needed = cards_needed(t, r)
    for number in range(lost.shape[0]):
        begin_match(t, r, num_seats, num_seats - 1)
        shuffle(t.deck, r, random_key(key, number), 0, num_needed)
        begin_deal(t, r)
        for _ in range(num_seats):
            if t.phase != TURNS:
                break
            act(t, r, legal_action(t, r, np.int64(hand_rank(t, np.int64(t.to_act)) < level)))
        for position in range(num_seats):
            lost[number, position] = t.seats[_seat_at(t, r, position)].lost


@kernel
def challenges_all(
    tables: Any,
    rules: Any,
    num_seats: int,
    level: int,
    key: Any,
    cards: Any,
    found: Any,
    lost: Any,
    balance: Any,
) -> None:
    """Challenges that meet a plain card, and the same ones with one of `cards` in its place; see sample_challenges."""
    t, r = tables[0], rules[0]
    begin_match(t, r, num_seats, num_seats - 1)
    num_needed = cards_needed(t, r)
    num_low = 0
    for card in range(np.int64(r.num_cards)):
        num_low += r.deck[card] < max(1, level)
    for number in range(found.size):
        luck = random_key(key, number)
        challenger = _seat_at(t, r, 1 + below(random_key(luck, _CHOOSER), num_seats - 1))
        asked = (challenger + num_seats + r.direction) % num_seats
        rank = r.deck[below(random_key(luck, _RANK), num_low)]
        num_met = 0
        for kind in range(2):
            begin_match(t, r, num_seats, num_seats - 1)
            shuffle(t.deck, r, luck, 0, num_needed)
            _put(t, r, luck, challenger, rank)
            if kind == 1:
                _put(t, r, luck, asked, cards[below(random_key(luck, _CARD + 100), cards.size)])
            begin_deal(t, r)
            for _ in range(num_seats):
                if t.phase != TURNS:
                    break
                seat: Any = np.int64(t.to_act)
                choice: Any = opponent_action(t, r, luck, seat, level)
                if seat == challenger and t.seats[seat].hand == seat and can_exchange(t, r):
                    choice = EXCHANGE
                    effect = r.asked[hand_rank(t, neighbour(t, seat, np.int64(r.direction)))]
                    num_met += effect == (REDIRECTS if kind == 1 else 0)
                act(t, r, choice)
            lost[number, kind] = t.seats[challenger].lost
            balance[number, kind] = relative_balance(t, challenger)
        found[number] = num_met == 2


@kernel
def _seat_at(t: Any, r: Any, position: int) -> int:
    """The seat that acts when `position` seats are still to come, all of them playing."""
    num_seats = np.int64(t.num_seats)
    return (np.int64(t.dealer) + num_seats - position * r.direction) % num_seats


@kernel
def _put(t: Any, r: Any, luck: Any, position: int, rank: int) -> None:
    """A card of `rank`, each of its copies as likely, has changed places with the card at `position`.

    So a deck in random order becomes one in random order among those with such a card there.
    """
    copy = below(random_key(luck, _CARD), np.int64(r.copies[rank]))
    for place in range(np.int64(r.num_cards)):
        if t.deck[place] == rank:
            if copy == 0:
                t.deck[place] = t.deck[position]
                t.deck[position] = rank
                break
            copy -= 1
