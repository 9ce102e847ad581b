"""A table in words: what a deal or an action has caused, told by a `Narrator`.

Notation, pictures and the terminal all say things with the sentences made here. A sentence shows the faces
that its observer has seen and no others.

    >>> from gnav_env.state import NOBODY
    >>> from gnav_env.table import Table
    >>> table = Table("pagat", num_seats=4, first_dealer=3)
    >>> table.deal(["2", "9", "house", "5", "cat"])
    >>> table.act(1)
    >>> before = table.copy()
    >>> table.act(1)
    >>> Narrator().act(before, table)[0]
    'seat 1 asks seat 2 (House: goes on), seat 3 (trade: II for V)'
    >>> Narrator(observer=NOBODY).act(before, table)[0]
    'seat 1 asks seat 2 (House: goes on), seat 3 (trade)'
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnav_env.cards import Language
from gnav_env.effects import TRADE, Effect
from gnav_env.errors import GnavError
from gnav_env.state import FAILED, STOCK, STOOD, TRADED, TURNS
from gnav_env.table import Table
from gnav_env.views import checked_observer

__all__ = ["Narrator", "cards_at_showdown"]


@dataclass(frozen=True, kw_only=True)
class Narrator:
    """Tells what happens as far as `observer` sees it: a seat, None: all faces, NOBODY: what is public."""

    observer: int | None = None
    says_you: bool = False
    """Whether the observer is called you."""
    language: Language = "own"
    """Of the names of the cards."""

    def deal(self, table: Table) -> list[str]:
        """What is said when the deal has just been dealt: who deals, who knocks."""
        seen = self._seen(table)
        said = [f"deal {table.deals}: {self._does(table.dealer, 'deals')}"]
        if table.rules.reshuffle == "on_exhaustion":
            said.append("from the rest of the deck" if table.record.gone.any() else "the cards are shuffled")
        if table.rules.ante:
            said.append(f"everybody in the deal stakes {table.rules.ante}")
        for seat in table.knocks:
            face = self._face(table, seat, seen)
            said.append(self._does(seat, "knocks") + (f" ({face})" if face else ""))
        return said

    def act(self, before: Table, after: Table) -> list[str]:
        """What the seat to act in `before` has done, as one sentence; then, if the deal has ended, how."""
        return [self.action(before, after), *self.ending(before, after)]

    def action(self, before: Table, after: Table) -> str:
        """The action of the seat to act in `before`, with what the cards answered."""
        seat = before.to_act
        if seat is None:
            raise GnavError("no seat was to act before: give the tables right before and after an action")
        seen = self._seen(before)
        turn = after.by_seat("turn")[seat]
        if turn == STOOD:
            face = self._face(before, before.by_seat("hand")[seat], seen)
            said = self._does(seat, "stands") + (f" with {face}" if face else "")
        else:
            path = list(_path(before, after, seat))
            self._see_path(before, seat, path, seen)
            met = [
                f"{self._who(holder)} ({self._answer(before, after, seat, holder, position, seen)})"
                for holder, position in path
            ]
            if turn == FAILED:
                met.append("the stock (empty)")
            said = self._does(seat, "asks") + " " + ", ".join(met)
        for other in range(after.num_seats):
            if before.lives[other] > 0 and _lives_at_showdown(before, after, other) == 0:
                said += f"; {self._does(other, 'is')} " + (
                    "without lives" if after.rules.mid_deal_out == "deferred" else _out(after, other)
                )
        return said

    def ending(self, before: Table, after: Table) -> list[str]:
        """How the deal has ended: the showdown, who loses, who is out; [] while it goes on."""
        if after.record.phase == TURNS or before.record.phase != TURNS:
            return []
        said: list[str] = []
        cards = cards_at_showdown(before, after)
        if cards:
            said += self._showdown(before, after, cards)
        if after.is_over:
            winners = [self._who(seat) for seat in after.winners]
            if len(winners) == 1:
                said.append(self._does(after.winners[0], "wins") + " the match")
            else:
                said.append(f"{_list(winners)} share the match")
            if after.pool_stays and after.pool + after.stakes:
                said.append(f"the pool of {after.pool + after.stakes} waits for the next match")
            else:
                prizes = [f"the {name} of {n}" for name, n in (("pool", after.pool), ("stakes", after.stakes)) if n]
                said[-1] += f"{',' if len(prizes) > 1 else ' and'} {_list(prizes)}" if prizes else ""
        return said

    def _showdown(self, before: Table, after: Table, cards: Sequence[str | None]) -> list[str]:
        faces = {seat: after.rules.card_name(rank, self.language) for seat, rank in enumerate(cards) if rank}
        said = ["showdown: " + ", ".join(f"{self._who(seat)} {face}" for seat, face in faces.items())]
        fined = after.by_seat("fined")
        paid = {seat: after.lost[seat] - fined[seat] for seat in after.losers}
        said += [
            f"{self._does(seat, 'loses')} {_count(n, 'life', 'lives') if n else 'nothing'} with {faces[seat]}"
            for seat, n in paid.items()
        ]
        if not paid:
            said.append("nobody loses")
        bonus = after.by_seat("bonus")
        said += [
            f"{self._does(seat, 'wins')} {_count(n, 'life', 'lives')} with {faces[seat]}"
            for seat, n in enumerate(bonus)
            if n
        ]
        held = {seat: _lives_at_showdown(before, after, seat) - paid.get(seat, 0) + bonus[seat] for seat in faces}
        said += self._leaving(after, held)
        said += [f"{self._does(seat, 'sits')} out the next deal" for seat in after.sit_out]
        return said

    def _leaving(self, after: Table, held: dict[int, int]) -> list[str]:
        """Who falls and who has lives given back; `held` are the lives of the seats compared, all losses paid."""
        if not any(held.values()) and after.rules.all_out == "all_reenter" and not after.is_over:
            return [f"nobody is left: everybody starts again with {_count(after.rules.lives, 'life', 'lives')}"]
        fallen = [seat for seat, lives in held.items() if lives == 0]
        revived = [seat for seat in fallen if after.lives[seat] > 0]
        said: list[str] = []
        if len(revived) == 1:
            said.append(f"{self._does(revived[0], 'gets')} a life back, nobody else is left")
        elif revived:
            said.append(f"{_list([self._who(seat) for seat in revived])} fall together and play off with a life each")
        said += [f"{self._does(seat, 'is')} {_out(after, seat)}" for seat in fallen if seat not in revived]
        said += [
            f"{self._does(seat, 'gets')} {_count(after.lives[seat] - lives, 'life', 'lives')} back"
            for seat, lives in held.items()
            if 0 < lives < after.lives[seat]
        ]
        return said

    def _answer(
        self, before: Table, after: Table, seat: int, holder: int, position: int, seen: NDArray[np.bool_]
    ) -> str:
        """What the card at `position` did when `seat` met it."""
        effect = _effect(before, holder, position)
        face = self._face(before, position, seen)
        if effect.redirect:
            return f"{face}: goes on" if face else "goes on"
        if not effect.refuses:
            word = "draw" if holder == STOCK else "trade"
            given = self._face(before, before.by_seat("hand")[seat], seen)
            return f"{word}: {given or '?'} for {face or '?'}" if given or face else word
        said = [f"{face}: refused" if face else "refused"]
        said += self._fines(before, after, seat)
        if effect.undo == "all":
            said.append("trades undone")
        elif effect.undo != "none":
            said.append(self._way_back(before, after, seat, effect, seen))
        if effect.stop:
            said.append("the deal stops")
        return ", ".join(said)

    def _fines(self, before: Table, after: Table, challenger: int) -> list[str]:
        """Who has paid for the challenge, and which seats got it."""
        seats = range(after.num_seats)
        paid = {seat: n for seat in seats if (n := _change("fined", before, after, seat))}
        got = {seat: n for seat in seats if (n := _change("gained", before, after, seat))}
        said = [
            f"{'pays' if seat == challenger and not self._is_you(seat) else self._does(seat, 'pays')} {n}"
            for seat, n in paid.items()
        ]
        if len(got) == len(paid) == 1:
            said[0] += f" to {self._who(next(iter(got)))}"
        else:
            said += [f"{self._does(seat, 'gets')} {n}" for seat, n in got.items()]
        return said

    def _way_back(self, before: Table, after: Table, challenger: int, effect: Effect, seen: NDArray[np.bool_]) -> str:
        """Where the offered card has gone when an effect undid its way."""
        offered = before.by_seat("hand")[challenger]
        card = self._face(before, offered, seen) or "its card"
        if effect.undo == "sweep":
            steps = self._sweep(before, challenger, seen)
            return f"{card} is pushed back: {', '.join(steps)}" if steps else f"{card} stays"
        homes = list(_way_home(before, challenger))
        if not homes:
            return f"{card} stays"
        return f"{card} goes back to {', '.join(self._who(seat) for seat in homes)}"

    def _sweep(self, before: Table, challenger: int, seen: NDArray[np.bool_]) -> list[str]:
        """What the cards did that the offered one was pushed towards, seat by seat; their faces are seen as told."""
        rules, hands = before.rules, before.by_seat("hand")
        offered, carrier = hands[challenger], challenger
        said: list[str] = []
        for seat in _seats_back(before, challenger):
            effect = _effect(before, seat, hands[seat])
            if effect == TRADE:
                if self.observer in (seat, carrier):
                    seen[[offered, hands[seat]]] = True
                given, taken = self._face(before, offered, seen), self._face(before, hands[seat], seen)
                faces = f": {given or '?'} for {taken or '?'}" if given or taken else ""
                said.append(f"{self._who(seat)} (trade{faces})")
                carrier = seat
                continue
            seen[hands[seat]] |= rules.speech == "spoken"
            face = self._face(before, hands[seat], seen)
            does = "passed over" if effect.redirect else "refused"
            said.append(f"{self._who(seat)} ({face}: {does})" if face else f"{self._who(seat)} ({does})")
            if not effect.redirect:
                break
        return said

    def _see_path(self, table: Table, seat: int, path: Sequence[tuple[int, int]], seen: NDArray[np.bool_]) -> None:
        """`seen` has the faces too that this challenge of `seat` shows to the observer."""
        for holder, position in path:
            effect = _effect(table, holder, position)
            given = table.by_seat("hand")[seat]
            if effect.redirect or effect.refuses:
                seen[position] |= holder == STOCK or table.rules.speech == "spoken"
            elif self.observer in (seat, holder):
                seen[[position, given]] = True
            elif holder != STOCK:
                for place in (position, given):
                    seen[place] |= table.rules.ranks[table.record.deck[place]] in table.rules.when_exchanged

    def _seen(self, table: Table) -> NDArray[np.bool_]:
        if self.observer is None:
            return np.ones(table.rules.num_cards, np.bool_)
        return table.seen(checked_observer(table, self.observer))

    def _face(self, table: Table, position: int, seen: NDArray[np.bool_]) -> str:
        """The name of the card at a deck position, empty if it is not seen."""
        return (
            table.rules.card_name(table.rules.ranks[table.record.deck[position]], self.language)
            if seen[position]
            else ""
        )

    def _is_you(self, seat: int) -> bool:
        return self.says_you and seat == self.observer

    def _who(self, seat: int) -> str:
        if seat == STOCK:
            return "the stock"
        return "you" if self._is_you(seat) else f"seat {seat}"

    def _does(self, seat: int, verb: str) -> str:
        """Subject and verb, the verb given in the third person."""
        if self._is_you(seat):
            verb = "are" if verb == "is" else verb.removesuffix("s")
        return f"{self._who(seat)} {verb}"


def _path(before: Table, after: Table, challenger: int) -> Iterator[tuple[int, int]]:
    """The holders (seats, then STOCK) and deck positions of the cards that a challenge has met, in order."""
    end = after.by_seat("asked")[challenger]
    hands = before.by_seat("hand")
    seat = challenger
    while seat != before.dealer:
        seat = (seat + int(before.rules.compiled[0].direction)) % before.num_seats
        if hands[seat] >= 0:
            yield seat, hands[seat]
            if seat == end:
                return
    for position in range(before.num_seats + before.record.drawn, before.num_seats + after.record.drawn):
        yield STOCK, position


def _seats_back(table: Table, challenger: int) -> Iterator[int]:
    """The seats of the deal before `challenger`, back to the eldest."""
    hands, step = table.by_seat("hand"), int(table.rules.compiled[0].direction)
    for distance in range(1, table.num_seats):
        seat = (challenger - step * distance) % table.num_seats
        if seat == table.dealer:
            return
        if hands[seat] >= 0:
            yield seat


def _way_home(before: Table, challenger: int) -> Iterator[int]:
    """The seats to which the card that `challenger` offers goes back, trade by trade, its origin last."""
    offered = before.by_seat("hand")[challenger]
    gave, asked, turn = (before.by_seat(name) for name in ("gave", "asked", "turn"))
    holder: int | None = challenger
    while holder is not None:
        trades = ((gave[seat], asked[seat], turn[seat]) for seat in range(before.num_seats))
        holder = next((seat for seat, trade in enumerate(trades) if trade == (offered, holder, TRADED)), None)
        if holder is not None:
            yield holder


def _effect(table: Table, holder: int, position: int) -> Effect:
    return table.rules.effect(table.rules.ranks[table.record.deck[position]], from_stock=holder == STOCK)


def cards_at_showdown(before: Table, after: Table) -> list[str | None]:
    """The cards by seat that were compared when an action ended the deal, None for a seat without a live one.

    [] if there was no showdown: the deal goes on, or a fine has ended the match.
    """
    num_left = sum(lives > 0 for lives in after.lives)
    ends_at_once = after.rules.mid_deal_out == "dead_card"
    if after.record.phase == TURNS or (ends_at_once and after.is_over and num_left == 1 and not after.losers):
        return []
    all_count = after.rules.mid_deal_out == "deferred"
    return [
        hand if all_count or _lives_at_showdown(before, after, seat) > 0 else None
        for seat, hand in enumerate(after.hands)
    ]


def _lives_at_showdown(before: Table, after: Table, seat: int) -> int:
    """The lives of `seat` when the cards were compared, all fines of the last action paid."""
    return before.lives[seat] - _change("fined", before, after, seat) + _change("gained", before, after, seat)


def _change(name: str, before: Table, after: Table, seat: int) -> int:
    """By how much a number of `seat` has risen."""
    return after.by_seat(name)[seat] - before.by_seat(name)[seat]


def _out(table: Table, seat: int) -> str:
    """``out, place 4``; without a place where it is not final."""
    return f"out, place {table.places[seat]}" if table.places[seat] else "out"


def _list(names: Sequence[str]) -> str:
    """``seat 1, seat 2 and seat 3``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
