"""A node of the public tree in words: what all have seen happen, and what the seat to act knows beyond that."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnav_agents.solve.tree import Node, Tree
from gnav_env.engine import begin_deal, begin_match, take_turn
from gnav_env.state import DREW, NOBODY, REFUSED, STAND, STOCK, TABLE, TRADED

__all__ = ["position_in_words", "state_in_words"]

_ORDINALS = ("eldest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def position_in_words(position: int, num_seats: int) -> str:
    """A seat in the order of action, 0 acting first: `eldest`, `second` ... `dealer`."""
    if position == num_seats - 1:
        return "dealer"
    return _ORDINALS[position] if position < len(_ORDINALS) else f"number {position + 1}"


def state_in_words(tree: Tree, node: Node, number: int) -> str:
    """Information state `number` of a node, from 0, as a player would say it.

    "Third of six, holding the VI it was dealt; the eldest stood; the second was refused by the fourth's Dragon."
    """
    return _Teller(tree, node, number).told()


class _Teller:
    def __init__(self, tree: Tree, node: Node, number: int) -> None:
        self._tree, self._node, self._rules = tree, node, tree.rules
        domains = [node.domains[place] for place in node.seen]
        places = np.unravel_index(number, [len(domain) for domain in domains]) if domains else ()
        self._ranks = {
            node.open[place]: domain[int(at)] for place, domain, at in zip(node.seen, domains, places, strict=True)
        }

    def told(self) -> str:
        node, num_seats = self._node, self._tree.num_seats
        t, happened = self._played()
        own = self._ranks[node.hand] if node.hand in self._ranks else int(t["deck"][node.hand])
        how = "it was dealt" if node.hand == node.actor else "it got in a trade"
        count = _NUMBERS[num_seats] if num_seats < len(_NUMBERS) else f"{num_seats}"
        position = position_in_words(node.actor, num_seats).capitalize()
        said = [f"{position} of {count}, holding the {self._card(own)} {how}", *happened]
        said += [
            f"it knows {self._whose(holder)} {self._card(self._ranks[node.open[place]])}"
            for place, holder in zip(node.seen, node.holders, strict=True)
            if node.open[place] != node.hand
        ]
        return "; ".join(said)

    def _played(self) -> tuple[Any, list[str]]:
        """The table in the node, and what has happened on the way."""
        node, num_seats = self._node, self._tree.num_seats
        r: Any = self._tree.compiled[0]
        t: Any = np.zeros(1, TABLE)[0]
        begin_match(t, r, num_seats, num_seats - 1)
        for seat in range(num_seats):
            t.seats[seat].lives = self._tree.lives[seat]
            t.seats[seat].sits_out = self._tree.sits_out[seat]
        t.deck[:] = np.frombuffer(node.deck, np.int8)
        begin_deal(t, r)
        for position, rank in self._ranks.items():
            t.deck[position] = rank
        knocking = [seat for seat in range(num_seats) if t.seats[seat].knocked]
        happened = [f"{self._list(knocking)} {'has' if len(knocking) == 1 else 'have'} knocked"] if knocking else []
        standing: list[int] = []
        for action in node.actions:
            seat = int(t.to_act)
            if action == STAND:
                standing.append(seat)
                take_turn(t, r, action)
                continue
            happened += self._stood(standing)
            standing = []
            before = t.copy()
            take_turn(t, r, action)
            happened.append(f"{self._who(seat)} {self._challenge(before, t, seat)}")
        return t, happened + self._stood(standing)

    def _stood(self, seats: Sequence[int]) -> list[str]:
        return [f"{self._list(seats)} stood"] if seats else []

    def _challenge(self, before: Any, after: Any, seat: int) -> str:
        """How the challenge of `seat` ended."""
        turn, asked = int(after.seats[seat].turn), int(after.seats[seat].asked)
        passed = [
            f"{self._whose(other)} {self._card(int(before.deck[before.seats[other].hand]))}"
            for other in range(seat + 1, self._tree.num_seats)
            if int(after.seats[other].answers) != int(before.seats[other].answers) and other != asked
        ]
        turned = [int(after.deck[self._tree.num_seats + at]) for at in range(int(before.drawn), int(after.drawn))]
        passed += [f"the stock's {self._card(rank)}" for rank in turned[:-1]]
        past = f" past {_listed(passed)}" if passed else ""
        if turn == TRADED:
            return f"traded with {self._who(asked)}{past}"
        if turn == DREW:
            return f"drew from the stock{past}"
        if turn != REFUSED:
            return f"asked in vain{past}"
        by = (
            f"the stock's {self._card(turned[-1])}"
            if asked == STOCK
            else f"{self._whose(asked)} {self._card(int(before.deck[before.seats[asked].hand]))}"
        )
        undone = ", which undid the trades" if int(after.undone) > int(before.undone) else ""
        return f"was refused by {by}{past}{undone}"

    def _list(self, seats: Sequence[int]) -> str:
        return _listed([self._who(seat) for seat in seats])

    def _who(self, seat: int) -> str:
        if seat == self._node.actor:
            return "it"
        return f"the {position_in_words(seat, self._tree.num_seats)}"

    def _whose(self, seat: int) -> str:
        if seat == NOBODY:
            return "the laid aside"
        return "its own" if seat == self._node.actor else f"{self._who(seat)}'s"

    def _card(self, rank: int) -> str:
        return self._rules.card_name(self._rules.ranks[rank])


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
