"""`Table`: one match to look at and play, in words. It checks at the door and calls the engine's kernels.

>>> table = Table("pagat", num_seats=4, first_dealer=3)
>>> table.deal(["2", "9", "house", "5", "7"])
>>> for action in (EXCHANGE, EXCHANGE, EXCHANGE):
...     table.act(action)
>>> table.hands, table.losers
(['9', '5', 'house', '7'], [1])
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gnav_env import chance, engine
from gnav_env.errors import GnavError, IllegalAction
from gnav_env.losses import add_losses, cause_numbers, loss_causes
from gnav_env.observation import num_features, observe, write_mask
from gnav_env.rules import Rules
from gnav_env.state import BETWEEN, EXCHANGE, NOBODY, NUM_ACTIONS, OVER, STAND, TABLE, TURNS, holds
from gnav_env.variants import get_rules

__all__ = ["ACTION_NAMES", "Table"]

ACTION_NAMES = ("STAND", "EXCHANGE")


class Table:
    """One match. Between deals call `deal`, then `act` for the seat `to_act` until it is None.

    Args:
        rules: name of a ruleset, path of a YAML file, or `Rules`.
        num_seats: 2 to 37 for the usual deck.
        seed: 0 to 2**63 - 1; with `match` it names the shoe that `deal` takes its decks from.
        match: number of the match under `seed`.
        first_dealer: the seat that deals first; None: as the rules say, at random from the shoe.
        lives: lives of each seat at the start, [num_seats], 0 for a seat that is out; None: as the rules say.
        pool: lives in the pool at the start, as an earlier match may have left them (all_out: carry_over).

    Raises `RulesError` for rules that cannot be, `GnavError` for other impossible arguments.
    """

    def __init__(
        self,
        rules: str | Rules = "pagat",
        num_seats: int = 6,
        *,
        seed: int = 0,
        match: int = 0,
        first_dealer: int | None = None,
        lives: Sequence[int] | None = None,
        pool: int = 0,
    ) -> None:
        self.rules = get_rules(rules)
        self.num_seats = self.rules.check_seats(num_seats)
        self._tables: NDArray[Any] = np.zeros(1, TABLE)
        self.record.shoe = chance.shoe_key(chance.checked_seed(seed), match)
        if first_dealer is None and self.rules.first_dealer != "random":
            first_dealer = int(self.rules.first_dealer)
        if first_dealer is None:
            first_dealer = int(chance.first_dealer(self.record.shoe, self.num_seats))
        if not 0 <= first_dealer < self.num_seats:
            raise GnavError(f"first_dealer must be a seat, 0 to {self.num_seats - 1}, not {first_dealer}")
        engine.begin_match(self.record, self._rules_record, self.num_seats, first_dealer)
        if not 0 <= pool < 2**14:
            raise GnavError(f"pool must be 0 to {2**14 - 1} lives, not {pool}")
        self.record.pool = pool
        if lives is not None:
            if len(lives) != self.num_seats or min(lives) < 0 or sum(n > 0 for n in lives) < 2:
                raise GnavError(f"lives must be {self.num_seats} numbers, two of them above 0, not {lives}")
            if lives[first_dealer] == 0:
                raise GnavError(f"seat {first_dealer} has no lives, it cannot deal first")
            num_left = sum(n > 0 for n in lives)
            self.record.seats["lives"][: self.num_seats] = lives
            self.record.seats["place"][: self.num_seats] = [0 if n > 0 else num_left + 1 for n in lives]

    @property
    def record(self) -> Any:
        """The engine's record of this table (dtype `TABLE`), alive: what changes here changes there."""
        return self._tables[0]

    @property
    def _rules_record(self) -> Any:
        return self.rules.compiled[0]

    def deal(self, deck: Sequence[str] | None = None) -> None:
        """The next deal is out.

        `deck` gives ranks by position: first the cards of seats 0, 1, ..., then the stock in the order in which it
        is drawn; what is left out follows in any order. None: the shoe's next deck. Where the rules go on from the
        rest of the last deck (`wants_deck` is false) no deck can be given.
        """
        if self.is_over:
            raise GnavError("the match is over: make a new Table")
        if self._value("phase") != BETWEEN:
            raise GnavError("the deal is not finished: act() for the seat that is to_act")
        if not self.wants_deck:
            if deck is not None:
                raise GnavError("this deal comes from the rest of the deck (reshuffle: on_exhaustion): give none")
        elif deck is None:
            num_cards = self.rules.num_cards
            chance.shuffle(self.record.deck, self._rules_record, self.record.shoe, self.deals, num_cards)
        else:
            self.record.deck[: self.rules.num_cards] = self._read_deck(deck)
        engine.begin_deal(self.record, self._rules_record)

    @property
    def wants_deck(self) -> bool:
        """True if the cards are shuffled for the next deal, false if it is dealt from the rest of the last one."""
        return bool(engine.wants_deck(self.record, self._rules_record))

    def _read_deck(self, deck: Sequence[str]) -> list[int]:
        left = dict(self.rules.deck)
        if len(deck) < self.num_seats:
            raise GnavError(f"the deck must name at least a card for each of {self.num_seats} seats")
        for rank in deck:
            if left.get(rank, 0) == 0:
                raise GnavError(
                    f"the deck of {self.rules.name} has "
                    + (f"only {self.rules.deck[rank]} of {rank!r}" if rank in left else f"no {rank!r}")
                )
            left[rank] -= 1
        rest = [rank for rank, copies in left.items() for _ in range(copies)]
        return [self.rules.rank_numbers[rank] for rank in (*deck, *rest)]

    def legal_actions(self) -> list[int]:
        """The actions that the seat to act may choose, STAND (0) before EXCHANGE (1); [] if no seat is."""
        if self._value("phase") != TURNS:
            return []
        stand = engine.can_stand(self.record, self._rules_record)
        exchange = engine.can_exchange(self.record, self._rules_record)
        return [STAND] * bool(stand) + [EXCHANGE] * bool(exchange)

    def act(self, action: int) -> None:
        """The seat to act chooses `action`: STAND (0) or EXCHANGE (1). Raises `IllegalAction` naming the rule."""
        if self._value("phase") != TURNS:
            raise IllegalAction("no seat is to act: " + ("the match is over" if self.is_over else "deal() first"))
        if action not in self.legal_actions():
            raise IllegalAction(self.why_illegal(action))
        engine.act(self.record, self._rules_record, int(action))

    def why_illegal(self, action: int) -> str:
        """The rule that forbids `action` to the seat to act, as a sentence."""
        seat = self.to_act
        if action not in (STAND, EXCHANGE):
            return f"an action is {STAND} (STAND) or {EXCHANGE} (EXCHANGE), not {action!r}"
        if action == STAND:
            return f"seat {seat} may not STAND without a matador (stand_requires: matador)"
        if seat == self.dealer and self.num_seats + self.record.drawn >= self.record.stock_end:
            return f"seat {seat} may not EXCHANGE: it is the dealer and the stock is empty"
        return f"seat {seat} may not EXCHANGE a matador (matador_may_be_offered: false)"

    @property
    def to_act(self) -> int | None:
        """The seat to act, None between deals and after the match."""
        seat = self._value("to_act")
        return None if seat == NOBODY else seat

    @property
    def is_over(self) -> bool:
        """True once the match has ended."""
        return self._value("phase") == OVER

    @property
    def dealer(self) -> int:
        """The seat that deals (or dealt last, between deals)."""
        return self._value("dealer")

    @property
    def deals(self) -> int:
        """Deals begun."""
        return self._value("deals")

    @property
    def pool(self) -> int:
        """Lives in the pool."""
        return self._value("pool")

    @property
    def pool_stays(self) -> bool:
        """True once the last seats have fallen together where the pool then waits for the next match (carry_over)."""
        return bool(self._value("pool_stays"))

    @property
    def stakes(self) -> int:
        """Antes paid so far, all together. They are no lives."""
        return self._value("stakes")

    @property
    def antes(self) -> list[int]:
        """Antes paid so far by seat."""
        return self._tables["antes"][0, : self.num_seats].tolist()

    @property
    def lives(self) -> list[int]:
        """Lives by seat."""
        return self.by_seat("lives")

    @property
    def lost(self) -> list[int]:
        """Lives that each seat has paid in this deal (fines and losses), or in the last one between deals.

        Lives received (fines to the holder, a special's bonus) are not taken off.
        """
        return self.by_seat("lost")

    @property
    def losses(self) -> list[dict[str, int]]:
        """The same by cause: `lowest`, or the rank of the card that took a fine or lost by itself."""
        names, numbers = loss_causes(self.rules), cause_numbers(self.rules)
        counts = np.zeros((self.num_seats, len(names)), np.int64)
        for seat, row in enumerate(counts):
            add_losses(self.record, seat, numbers, row)
        return [{name: n for name, n in zip(names, row, strict=True) if n} for row in counts.tolist()]

    @property
    def places(self) -> list[int]:
        """Finishing places: 0 while in the match; seats that fall together share the best place.

        Where seats that are out may come back (all_out: all_reenter) nobody has one before the match is over.
        """
        if self.rules.all_out == "all_reenter" and not self.is_over:
            return [0] * self.num_seats
        return self.by_seat("place")

    @property
    def losers(self) -> list[int]:
        """Seats that lost the last showdown."""
        return self._seats_with("loser")

    @property
    def sit_out(self) -> list[int]:
        """Seats that must miss the coming deal."""
        return self._seats_with("sits_out")

    @property
    def knocks(self) -> list[int]:
        """Seats that knocked in this deal."""
        return self._seats_with("knocked")

    @property
    def winners(self) -> list[int]:
        """Seats that share the first place, [] while the match goes on."""
        return [seat for seat, place in enumerate(self.places) if place == 1 and self.is_over]

    @property
    def results(self) -> list[float]:
        """Lives held + share of the pool - lives bought, and of the stakes - antes paid, by seat, after the match.

        The winners share pool and stakes, unless they wait for the next match (`pool_stays`).
        """
        winners = [] if self.pool_stays else self.winners
        share = (self.pool + self.stakes) / max(1, len(winners))
        return [
            lives - self.rules.lives - ante + share * (seat in winners)
            for seat, (lives, ante) in enumerate(zip(self.lives, self.antes, strict=True))
        ]

    @property
    def deck(self) -> list[str]:
        """Ranks by deck position: of seats 0, 1, ..., then of the stock. Not for the players' eyes."""
        return [self.rules.ranks[rank] for rank in self.record.deck[: self.rules.num_cards]]

    @property
    def hands(self) -> list[str | None]:
        """The card that each seat holds, None if it is not in the deal. Not for the players' eyes."""
        deck = self.deck
        return [deck[p] if p >= 0 else None for p in self.by_seat("hand")]

    def zones(self) -> tuple[list[str], list[str], list[str]]:
        """All cards by where they are: in hands, in the stock, aside."""
        deck = self.deck
        held = [p for p in self.by_seat("hand") if p >= 0]
        stock = range(self.num_seats + int(self.record.drawn), int(self.record.stock_end))
        aside = [deck[p] for p in range(self.rules.num_cards) if p not in held and p not in stock]
        return [deck[p] for p in held], [deck[p] for p in stock], aside

    def seen(self, observer: int) -> NDArray[np.bool_]:
        """Which faces `observer` has seen in this deal, [cards] by deck position; NOBODY: those face up."""
        if not NOBODY <= observer < self.num_seats:
            raise GnavError(f"observer must be a seat, 0 to {self.num_seats - 1}, not {observer}")
        bits = self.record.face_up.copy()
        if observer != NOBODY:
            bits |= self.record.seats[observer].seen
        return np.array([holds(bits, position) for position in range(self.rules.num_cards)])

    def known(self, observer: int) -> dict[int, str]:
        """What `observer` knows of the cards that seats hold now: seat -> rank, its own included."""
        seen = self.seen(observer)
        positions = self.by_seat("hand")
        return {seat: rank for seat, rank in enumerate(self.hands) if rank and seen[positions[seat]]}

    def remembered(self, seat: int) -> dict[str, int]:
        """How many cards of each rank `seat` has seen in earlier deals since the shuffle (reshuffle: on_exhaustion)."""
        self._check_seat(seat)
        gone = self._tables["gone"][0, seat].tolist()
        return {rank: gone[number] for number, rank in enumerate(self.rules.ranks) if gone[number]}

    def observe(self, seat: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """What `seat` sees now, float32 [F], and what it may choose, int8 [A] (see observation.py)."""
        self._check_seat(seat)
        observation = np.zeros(num_features(self.num_seats), np.float32)
        action_mask = np.zeros(NUM_ACTIONS, np.int8)
        observe(self.record, self._rules_record, seat, observation)
        write_mask(self.record, self._rules_record, seat, action_mask)
        return observation, action_mask

    def _check_seat(self, seat: int) -> None:
        if not 0 <= seat < self.num_seats:
            raise GnavError(f"seat must be 0 to {self.num_seats - 1}, not {seat}")

    @classmethod
    def from_record(cls, rules: Rules, record: Any) -> Self:
        """A table in the state of an engine `record` under `rules`; the record is copied."""
        table = object.__new__(cls)
        table.rules, table.num_seats = rules, int(record.num_seats)
        table._tables = np.zeros(1, TABLE)
        table._tables[0] = record
        return table

    def copy(self) -> Self:
        """A table in the same state that goes its own way."""
        return self.from_record(self.rules, self.record)

    def by_seat(self, name: str) -> list[int]:
        """A field of the engine's `SEAT` by seat, [S]."""
        return self._tables["seats"][name][0, : self.num_seats].tolist()

    def _value(self, name: str) -> int:
        """A number of the engine's `TABLE`. This way it takes a hundredth of what `record` takes."""
        return int(self._tables[name][0])

    def _seats_with(self, name: str) -> list[int]:
        return [seat for seat, value in enumerate(self.by_seat(name)) if value]
