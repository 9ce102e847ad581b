"""A second reading of the rules: slow, plain Python, one object per card, nothing shared with the engine.

The engine is fast because a card is its place in the deck. Here every trade is remembered and an undo walks
back through them, and a card knows who has seen it. Of the package only `Rules` is used, the data that says
what each rank does. The tests play the same decks and actions in both and compare all that both can tell.
"""

from dataclasses import dataclass, field

from gnav_env.effects import TRADE, Effect
from gnav_env.rules import Rules

STAND, EXCHANGE = "STAND", "EXCHANGE"


@dataclass(eq=False)
class Card:
    """One card of the deck; two cards of a rank are different objects."""

    rank: str
    origin: int | None = None
    """The seat it was dealt to, None if it lay in the stock."""
    seen_by: set[int] = field(default_factory=set[int])
    """The seats whose players know its face."""


@dataclass(frozen=True)
class Trade:
    """Two hands that changed places."""

    challenger: int
    other: int


@dataclass(frozen=True)
class Draw:
    """A card taken from the stock, and the card that the drawer laid aside for it."""

    challenger: int
    drawn: Card
    given: Card


class Oracle:
    """A match under `rules`, played deal by deal: `deal`, then `act` until `to_act` is None."""

    def __init__(self, rules: Rules, num_seats: int, dealer: int, lives: list[int] | None = None) -> None:
        self.rules = rules
        self.num_seats = num_seats
        self.seats = list(range(num_seats))
        self.lives = [rules.lives] * num_seats if lives is None else list(lives)
        self.pool = 0
        self.dealer = dealer
        self.deals = 0
        self.over = False
        self.to_act: int | None = None
        self.places = [0 if n > 0 else len(self._seats_left()) + 1 for n in self.lives]
        self.sit_out: list[int] = []
        self.losers: list[int] = []
        self.knocks: list[int] = []
        self.lost = [0] * num_seats
        # The zones of the current deal.
        self.cards: list[Card | None] = [None] * num_seats
        self.stock: list[Card] = []
        self.aside: list[Card] = []
        # Its course.
        self.order: list[int] = []
        self.had_turn: set[int] = set()
        self.trades: list[Trade | Draw] = []

    # What can be asked.

    @property
    def hands(self) -> list[str | None]:
        """The rank in each hand, None for a seat that is not in the deal."""
        return [None if card is None else card.rank for card in self.cards]

    def zones(self) -> tuple[list[str], list[str], list[str]]:
        """The ranks in the hands, in the stock (next first) and aside."""
        hands = [card.rank for card in self.cards if card is not None]
        return hands, [card.rank for card in self.stock], [card.rank for card in self.aside]

    def legal(self) -> list[str]:
        """The actions open to the seat that is to act, none between deals."""
        if self.to_act is None:
            return []
        holds_matador = self.rules.effect(self._card_of(self.to_act).rank) != TRADE
        exchange_is_possible = not (self.to_act == self.dealer and not self.stock)
        may_exchange = exchange_is_possible and (self.rules.matador_may_be_offered or not holds_matador)
        may_stand = self.rules.stand_requires == "any" or holds_matador or not may_exchange
        return [STAND] * may_stand + [EXCHANGE] * may_exchange

    def knows(self, observer: int) -> dict[int, str]:
        """For each seat of the deal whose present card `observer` has seen at some time: its rank."""
        return {
            seat: card.rank for seat, card in enumerate(self.cards) if card is not None and observer in card.seen_by
        }

    # A deal.

    def deal(self, deck: list[str]) -> None:
        """Begin the next deal: the first cards of `deck` go to the seats, the rest is the stock."""
        assert not self.over, "the match is over"
        assert self.to_act is None, "the deal is not finished"
        playing = [seat for seat in self.seats if self.lives[seat] > 0 and seat not in self.sit_out]
        if self.deals > 0:
            self.dealer = next(seat for seat in self._clockwise_after(self.dealer) if seat in playing)
        self.deals += 1
        self.order = [seat for seat in self._clockwise_after(self.dealer) if seat in playing]
        self.had_turn = set()
        self.trades = []
        self.sit_out = []
        self.losers = []
        self.lost = [0] * self.num_seats

        self.cards = [None] * self.num_seats
        self.aside = []
        for seat in self.seats:
            if seat in playing:
                self.cards[seat] = Card(deck[seat], origin=seat, seen_by={seat})
            else:
                self.aside.append(Card(deck[seat]))
        self.stock = [Card(rank) for rank in deck[self.num_seats :]]

        special_ranks = {special.rank for special in self.rules.specials}
        self.knocks = []
        if self.rules.knock == "dealt":
            self.knocks = [seat for seat in playing if self._card_of(seat).rank in special_ranks]
        if len(special_ranks) == 1:
            for seat in self.knocks:  # one rank only knocks, so that all know what the card is
                self._show_to_all(self._card_of(seat))
        self._go_on()

    def act(self, action: str) -> None:
        """Let the seat to act stand or exchange, and play on to the next decision or to the deal's end."""
        assert action in self.legal(), f"{action} is not legal"
        assert self.to_act is not None
        seat, self.to_act = self.to_act, None
        self.had_turn.add(seat)
        stopped = self._challenge(seat) if action == EXCHANGE else False
        if self._ends_with_one_seat():
            return
        if stopped:
            self._showdown()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """The next live seat that has not had its turn acts; if there is none, the showdown comes."""
        waiting = [seat for seat in self.order if self.lives[seat] > 0 and seat not in self.had_turn]
        if waiting:
            self.to_act = waiting[0]
        else:
            self._showdown()

    # A challenge.

    def _challenge(self, challenger: int) -> bool:
        """Ask the seats behind `challenger` one by one, then the stock, until a card trades or refuses.

        True if the card that answered stops the deal.
        """
        behind = self.order[self.order.index(challenger) + 1 :]
        for asked in behind:
            card = self._card_of(asked)
            effect = self.rules.effect(card.rank)
            if effect == TRADE:
                self._trade(challenger, asked)
                return False
            if self.rules.speech == "spoken":
                self._show_to_all(card)
            if self.rules.challenged_matador_turn == "skip":
                self.had_turn.add(asked)
            if not effect.redirect:
                return self._refuse(challenger, effect, holder=asked)
        while self.stock:
            card = self.stock.pop(0)
            effect = self.rules.effect(card.rank, from_stock=True)
            if effect == TRADE:
                self._draw(challenger, card)
                return False
            self._show_to_all(card)
            self.aside.append(card)
            if not effect.redirect:
                return self._refuse(challenger, effect, holder=None)
        return False

    def _trade(self, challenger: int, other: int) -> None:
        mine, theirs = self._card_of(challenger), self._card_of(other)
        mine.seen_by.add(other)
        theirs.seen_by.add(challenger)
        self.cards[challenger], self.cards[other] = theirs, mine
        self.trades.append(Trade(challenger, other))

    def _draw(self, challenger: int, drawn: Card) -> None:
        given = self._card_of(challenger)
        drawn.seen_by.add(challenger)
        self.cards[challenger] = drawn
        self.aside.append(given)
        self.trades.append(Draw(challenger, drawn, given))

    def _refuse(self, challenger: int, effect: Effect, holder: int | None) -> bool:
        """What a refusing card does besides: the fine, the undo. True if it stops the deal."""
        if effect.pay:
            self._fine(challenger, effect.pay, holder)
        if effect.undo == "all":
            self._undo_all()
        return effect.stop

    def _fine(self, payer: int, amount: int, holder: int | None) -> None:
        paid = min(amount, self.lives[payer])
        self.lives[payer] -= paid
        self.lost[payer] += paid
        if self.rules.fine_to == "pool" or (self.rules.fine_to == "holder" and holder is None):
            self.pool += paid
        elif holder is not None and self.rules.fine_to == "holder":
            self.lives[holder] += paid
        if self.lives[payer] == 0:
            self._fall([payer])

    def _undo_all(self) -> None:
        """Take every trade of this deal back, newest first. A drawn card does not go back on the stock."""
        while self.trades:
            trade = self.trades.pop()
            if isinstance(trade, Trade):
                a, b = trade.challenger, trade.other
                self.cards[a], self.cards[b] = self.cards[b], self.cards[a]
            else:
                assert self.cards[trade.challenger] is trade.drawn
                self.aside.remove(trade.given)
                self.aside.append(trade.drawn)
                self.cards[trade.challenger] = trade.given
        assert all(self._card_of(seat).origin == seat for seat in self.order)

    # The end of a deal.

    def _showdown(self) -> None:
        """Compare the live cards, let the losers pay, and see whether the match is over."""
        live = [seat for seat in self.order if self.lives[seat] > 0]
        for seat in live:
            self._show_to_all(self._card_of(seat))

        losers: list[int] = []
        sitting_out: list[int] = []
        compared = list(live)
        lowest_loses = True
        for rank in self.rules.deck:
            holders = [seat for seat in live if self._card_of(seat).rank == rank]
            rows = {special.count: special for special in self.rules.specials if special.rank == rank}
            if not holders or not rows:
                continue
            row = rows.get(min(len(holders), max(rows)))
            if row is None:
                continue
            assert row.holder == "lose"
            losers += holders
            compared = [seat for seat in compared if seat not in holders]
            if row.others == "none":
                lowest_loses = False
            if row.sit_out and self.rules.sit_out == "auto":
                sitting_out += holders
        if lowest_loses and compared:
            lowest = min(self._height(seat) for seat in compared)
            losers += [seat for seat in compared if self._height(seat) == lowest]

        self.losers = sorted(losers)
        for seat in self.losers:
            paid = min(self.rules.loss.get(self._card_of(seat).rank, 1), self.lives[seat])
            self.lives[seat] -= paid
            self.lost[seat] += paid
            if self.rules.loss_to == "pool":
                self.pool += paid
        fallen = [seat for seat in self.losers if self.lives[seat] == 0]
        self._fall(fallen)
        self._after_the_deal(fallen, sorted(sitting_out))

    def _after_the_deal(self, fallen: list[int], sitting_out: list[int]) -> None:
        left = self._seats_left()
        is_last_deal = self.rules.num_deals == self.deals
        if self._ends_with_one_seat():
            return
        if not left:
            if is_last_deal or self.rules.all_out == "joint":
                for seat in fallen:
                    self.places[seat] = 1
                self.over = True
            else:
                self._play_off(fallen)
            return
        if is_last_deal:
            for seat in left:
                self.places[seat] = 1 + sum(self.lives[other] > self.lives[seat] for other in left)
            self.over = True
            return
        sitting_out = [seat for seat in sitting_out if self.lives[seat] > 0]
        if len(left) - len(sitting_out) >= 2:
            self.sit_out = sitting_out

    def _play_off(self, fallen: list[int]) -> None:
        """The seats that fell at this showdown get a life back and stay in; the pool pays as long as it can.

        Where losses go to the pool, it can: each of these seats has just paid it at least one life.
        """
        assert self.rules.loss_to == "none" or self.pool >= len(fallen)
        for seat in fallen:
            self.lives[seat] = 1
            self.pool = max(0, self.pool - 1)
            self.places[seat] = 0

    def _ends_with_one_seat(self) -> bool:
        """Whether one seat only has lives left, which ends the match and wins it."""
        left = self._seats_left()
        if len(left) != 1:
            return False
        self.places[left[0]] = 1
        self.over = True
        return True

    def _fall(self, seats: list[int]) -> None:
        """Give `seats`, which have just lost their last lives together, their place."""
        for seat in seats:
            self.places[seat] = len(self._seats_left()) + 1

    # Small words.

    def _seats_left(self) -> list[int]:
        return [seat for seat in self.seats if self.lives[seat] > 0]

    def _clockwise_after(self, seat: int) -> list[int]:
        """All seats, from the one after `seat` round to `seat` itself."""
        return self.seats[seat + 1 :] + self.seats[: seat + 1]

    def _card_of(self, seat: int) -> Card:
        card = self.cards[seat]
        assert card is not None, f"seat {seat} is not in the deal"
        return card

    def _height(self, seat: int) -> int:
        """How high the card of `seat` is; decks list their ranks from high to low."""
        return -list(self.rules.deck).index(self._card_of(seat).rank)

    def _show_to_all(self, card: Card) -> None:
        card.seen_by.update(self.seats)
