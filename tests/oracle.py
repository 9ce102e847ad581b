"""A second reading of the rules: slow, plain Python, one object per card, nothing shared with the engine.

The engine is fast because a card is its place in the deck. Here every trade is remembered and an undo walks
back through them, and a card knows who has seen it. Of the package only `Rules` is used, the data that says
what each rank does. The tests play the same decks and actions in both and compare all that both can tell.
"""

from collections import Counter
from dataclasses import dataclass, field

from gnav_env.effects import TRADE, Effect, Special
from gnav_env.rules import Rules

STAND, EXCHANGE = "STAND", "EXCHANGE"


@dataclass(eq=False)
class Card:
    """One card of the deck; two cards of a rank are different objects."""

    printed: str
    """Its rank in the deck."""
    rank: str = ""
    """Its rank now: another one from the moment that it was exchanged, if the rules say so."""
    origin: int | None = None
    """The seat it was dealt to, None if it lay in the stock."""
    seen_by: set[int] = field(default_factory=set[int])
    """The seats whose players have seen its face in this deal."""
    remembered_by: set[int] = field(default_factory=set[int])
    """The seats whose players have seen it in an earlier deal since the last shuffle."""

    def __post_init__(self) -> None:
        self.rank = self.printed

    def put_back(self) -> None:
        """Make it a card of the next deal: what it was before, seen by nobody, but not forgotten."""
        self.remembered_by |= self.seen_by
        self.seen_by = set()
        self.rank, self.origin = self.printed, None


@dataclass(eq=False)
class Trade:
    """Two hands that changed places."""

    challenger: int
    other: int
    offered: Card
    stands: bool
    """Whether it is a challenge's trade that no undo has taken back; a step of an undo never is."""


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
        self.pool_stays = False
        self.stakes = 0
        self.antes = [0] * num_seats
        self.dealer = dealer
        self.deals = 0
        self.over = False
        self.to_act: int | None = None
        self.places = [0 if n > 0 else len(self._seats_left()) + 1 for n in self.lives]
        self.sit_out: list[int] = []
        self.losers: list[int] = []
        self.knocks: list[int] = []
        self.lost = [0] * num_seats
        self.losses: list[Counter[str]] = [Counter() for _ in self.seats]
        # The zones of the current deal.
        self.cards: list[Card | None] = [None] * num_seats
        self.stock: list[Card] = []
        self.aside: list[Card] = []
        # Where the next deal finds the cards: those of this deal, in seat order and as the stock was turned, and
        # those that earlier deals have used.
        self.used: list[Card] = []
        self.spent: list[Card] = []
        # Its course.
        self.order: list[int] = []
        self.had_turn: set[int] = set()
        self.moves: list[Trade | Draw] = []

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

    def remembered(self, observer: int) -> dict[str, int]:
        """How many cards of each rank `observer` has seen in earlier deals since the last shuffle."""
        return dict(
            Counter(card.printed for card in self.stock + self.spent + self.used if observer in card.remembered_by)
        )

    def wants_deck(self) -> bool:
        """Whether the cards are shuffled for the next deal, so that `deal` must be given a deck."""
        if self.deals == 0 or self.rules.reshuffle == "each_deal":
            return True
        return len(self.stock) < len(self._will_play()) + self.rules.num_redirecting + 1

    # A deal.

    def deal(self, deck: list[str] | None) -> None:
        """Begin the next deal: the first cards of `deck` go to the seats, the rest is the stock.

        With None they come from what the stock has left.
        """
        assert not self.over, "the match is over"
        assert self.to_act is None, "the deal is not finished"
        assert (deck is not None) == self.wants_deck(), "a deck where the cards are shuffled, and only there"
        playing = self._will_play()
        if self.deals > 0:
            self.dealer = next(seat for seat in self._round_after(self.dealer) if seat in playing)
        self.deals += 1
        self.order = [seat for seat in self._round_after(self.dealer) if seat in playing]
        self.had_turn = set()
        self.moves = []
        self.sit_out = []
        self.losers = []
        self.lost = [0] * self.num_seats
        self.losses = [Counter() for _ in self.seats]
        for seat in playing:
            self.antes[seat] += self.rules.ante
            self.stakes += self.rules.ante

        if deck is None:
            self._lay_out(*self._row_of_the_rest(playing), playing)
        else:
            self._lay_out([Card(rank) for rank in deck], len(deck), playing)
        self._knock(playing)
        self._go_on()

    def _row_of_the_rest(self, playing: list[int]) -> tuple[list[Card], int]:
        """All cards in a row, the rest of the stock first, and where the rest ends.

        A seat that does not play gets a card too, which nobody sees: the last of the row. That is a spent one, since
        each deal uses at least as many cards as there are seats.
        """
        row, end = self.stock + self.spent + self.used, len(self.stock)
        for card in row:
            card.put_back()
        for seat in self.seats:
            if seat not in playing:
                row.insert(seat, row.pop())
                end += 1
        assert end <= len(row)
        return row, end

    def _lay_out(self, row: list[Card], end: int, playing: list[int]) -> None:
        """Give the first cards of `row` to the seats; the cards from there to `end` are the stock."""
        self.used, self.stock, self.spent = row[: self.num_seats], row[self.num_seats : end], row[end:]
        self.aside = list(self.spent)
        self.cards = [None] * self.num_seats
        for seat, card in enumerate(self.used):
            if seat in playing:
                card.origin = seat
                card.seen_by = {seat}
                self.cards[seat] = card
            else:
                self.aside.append(card)

    def _knock(self, playing: list[int]) -> None:
        special_ranks = {special.rank for special in self.rules.specials if self.rules.deck[special.rank] > 0}
        self.knocks = []
        if self.rules.knock == "dealt":
            self.knocks = [seat for seat in playing if self._card_of(seat).rank in special_ranks]
        if len(special_ranks) == 1:
            for seat in self.knocks:  # one rank only knocks, so that all know what the card is
                self._show_to_all(self._card_of(seat))

    def act(self, action: str) -> None:
        """Let the seat to act stand or exchange, and play on to the next decision or to the deal's end."""
        assert action in self.legal(), f"{action} is not legal"
        assert self.to_act is not None
        seat, self.to_act = self.to_act, None
        self.had_turn.add(seat)
        stopped = self._challenge(seat) if action == EXCHANGE else False
        if self._is_decided():
            self._ends_with_one_seat()
        elif stopped:
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
            self._answer(asked)
            if not effect.redirect:
                return self._refuse(challenger, effect, self._card_of(asked).rank, holder=asked)
        while self.stock:
            card = self.stock.pop(0)
            self.used.append(card)
            effect = self.rules.effect(card.rank, from_stock=True)
            if effect == TRADE:
                self._draw(challenger, card)
                return False
            self._show_to_all(card)
            self.aside.append(card)
            if not effect.redirect:
                return self._refuse(challenger, effect, card.rank, holder=None)
        return False

    def _answer(self, seat: int) -> None:
        """What goes with every answer by a card of `seat`, whatever the card does."""
        if self.rules.speech == "spoken":
            self._show_to_all(self._card_of(seat))
        if self.rules.challenged_matador_turn == "skip":
            self.had_turn.add(seat)

    def _trade(self, challenger: int, other: int) -> None:
        self.moves.append(Trade(challenger, other, self._card_of(challenger), stands=True))
        self._swap(challenger, other)

    def _swap(self, a: int, b: int) -> None:
        """The hands of `a` and `b` change places: both players see both cards, and both cards are exchanged."""
        mine, theirs = self._card_of(a), self._card_of(b)
        self.cards[a], self.cards[b] = theirs, mine
        for card in (mine, theirs):
            card.seen_by |= {a, b}
            if card.rank in self.rules.when_exchanged:
                card.rank = self.rules.when_exchanged[card.rank]
                self._show_to_all(card)

    def _draw(self, challenger: int, drawn: Card) -> None:
        given = self._card_of(challenger)
        drawn.seen_by.add(challenger)
        self.cards[challenger] = drawn
        self.aside.append(given)
        self.moves.append(Draw(challenger, drawn, given))

    def _refuse(self, challenger: int, effect: Effect, rank: str, holder: int | None) -> bool:
        """What a refusing card of `rank` does besides: the fine, the undo. True if it stops the deal."""
        self._fine(effect, challenger, self._card_of(challenger), rank, holder)
        if effect.undo == "all":
            self._undo_all()
        elif effect.undo == "card":
            self._undo_card(self._card_of(challenger))
        elif effect.undo == "sweep":
            self._sweep(challenger)
        return effect.stop

    def _fine(self, effect: Effect, challenger: int, offered: Card, rank: str, holder: int | None) -> None:
        """Let the challenger, or the seat to which the `offered` card was dealt, pay what `effect` says."""
        payer = challenger if effect.payer == "challenger" else offered.origin
        if payer is None or self._is_decided():
            return
        if self.rules.fine_to == "holder" and holder == payer:
            return
        paid = min(effect.pay, self.lives[payer])
        if paid == 0:
            return
        self.lives[payer] -= paid
        self.lost[payer] += paid
        self.losses[payer][rank] += paid
        if self.rules.fine_to == "holder" and holder is not None and self.lives[holder] > 0:
            self.lives[holder] += paid
        elif self.rules.fine_to != "none":
            self.pool += paid
        if self.lives[payer] == 0 and self.rules.mid_deal_out != "deferred":
            self._fall([payer])

    def _undo_all(self) -> None:
        """Take every move of this deal back, newest first. A drawn card does not go back on the stock."""
        while self.moves:
            move = self.moves.pop()
            if isinstance(move, Trade):
                a, b = move.challenger, move.other
                self.cards[a], self.cards[b] = self.cards[b], self.cards[a]
            else:
                assert self.cards[move.challenger] is move.drawn
                self.aside.remove(move.given)
                self.aside.append(move.drawn)
                self.cards[move.challenger] = move.given
        assert all(self._card_of(seat).origin == seat for seat in self.order)

    def _undo_card(self, card: Card) -> None:
        """Take back the trades by which `card` was passed on, newest first, so that it goes home."""
        for move in reversed(list(self.moves)):
            if isinstance(move, Trade) and move.stands and move.offered is card:
                assert self.cards[move.other] is card
                move.stands = False
                self._step_back(move.other, move.challenger)
        assert card.origin is not None and self.cards[card.origin] is card

    def _sweep(self, challenger: int) -> None:
        """Push the offered card back towards the eldest, past cards that redirect, until one refuses."""
        offered, holder = self._card_of(challenger), challenger
        for seat in reversed(self.order[: self.order.index(challenger)]):
            effect = self.rules.effect(self._card_of(seat).rank)
            if effect == TRADE:
                self._step_back(holder, seat)
                holder = seat
                continue
            self._answer(seat)
            if effect.refuses:
                self._fine(effect, challenger, offered, self._card_of(seat).rank, holder=seat)
                return

    def _step_back(self, holder: int, seat: int) -> None:
        """An undo gives the card of `holder` to `seat` and takes that of `seat` for it."""
        self.moves.append(Trade(holder, seat, self._card_of(holder), stands=False))
        self._swap(holder, seat)

    # The end of a deal.

    def _showdown(self) -> None:
        """Compare the live cards, let the losers pay, and see whether the match is over."""
        live = [seat for seat in self.order if self.lives[seat] > 0 or self.rules.mid_deal_out == "deferred"]
        for seat in live:
            self._show_to_all(self._card_of(seat))
        specials = self._specials_held(live)

        losers = [seat for seat in specials if specials[seat].holder == "lose"]
        if all(special.others == "lowest" for special in specials.values()):
            immune = [seat for seat in live if self._card_of(seat).rank in self.rules.immune]
            compared = [seat for seat in live if seat not in losers and seat not in immune]
            losers += self._lowest({seat: self._height(seat, specials.get(seat)) for seat in compared})

        self._pay_losses(sorted(losers), by_themselves=[s for s in specials if specials[s].holder == "lose"])
        for seat, special in specials.items():
            if self.lives[seat] > 0:
                self.lives[seat] += special.bonus
        if self.rules.strikes == "consecutive":
            self._give_back()
        fallen = [seat for seat in live if self.lives[seat] == 0]
        self._fall(fallen)
        sitting_out = [seat for seat in specials if specials[seat].sit_out and self.rules.sit_out == "auto"]
        self._after_the_deal(fallen, sorted(sitting_out))

    def _specials_held(self, live: list[int]) -> dict[int, Special]:
        """Those of the seats `live` whose card is not simply compared, with what is said of it."""
        shown = Counter(self._card_of(seat).rank for seat in live)
        dealt = Counter(self.used[seat].printed for seat in self.order)
        held: dict[int, Special] = {}
        for seat in live:
            rank = self._card_of(seat).rank
            count = dealt[self._card_of(seat).printed] if self.rules.count_at == "dealt" else shown[rank]
            rows = {special.count: special for special in self.rules.specials if special.rank == rank}
            row = rows.get(min(count, max(rows))) if rows else None
            if row is not None:
                held[seat] = row
        return held

    def _lowest(self, heights: dict[int, float]) -> list[int]:
        """The losers among the seats compared, which come in the order of turns."""
        lowest = [seat for seat in heights if heights[seat] == min(heights.values())]
        if self.rules.ties == "first":
            return lowest[:1]
        if self.rules.ties == "unique" and len(lowest) > 1:
            return []
        if self.rules.ties == "none_if_all_equal" and len(lowest) == len(heights) > 1:
            return []
        return lowest

    def _pay_losses(self, losers: list[int], by_themselves: list[int]) -> None:
        self.losers = losers
        for seat in losers:
            rank = self._card_of(seat).rank
            paid = min(self.rules.loss.get(rank, 1), self.lives[seat])
            self.lives[seat] -= paid
            self.lost[seat] += paid
            self.losses[seat][rank if seat in by_themselves else "lowest"] += paid
            if self.rules.loss_to == "pool":
                self.pool += paid

    def _give_back(self) -> None:
        """A seat that paid nothing in this deal gets all the lives back that it has ever lost."""
        for seat in self.order:
            if self.lost[seat] == 0:
                self._fill_up(seat, self.rules.lives)

    def _after_the_deal(self, fallen: list[int], sitting_out: list[int]) -> None:
        left = self._seats_left()
        is_last_deal = self.rules.num_deals == self.deals
        if self._ends_with_one_seat():
            return
        if not left and not is_last_deal:
            self._all_are_out(fallen)
            return
        if is_last_deal:
            for seat in left:
                self.places[seat] = 1 + sum(self.lives[other] > self.lives[seat] for other in left)
            self.over = True
            return
        sitting_out = [seat for seat in sitting_out if self.lives[seat] > 0]
        if len(left) - len(sitting_out) >= 2:
            self.sit_out = sitting_out

    def _all_are_out(self, fallen: list[int]) -> None:
        """What comes when no seat has lives; `fallen` have just lost theirs together."""
        if self.rules.all_out == "all_reenter":
            self._bring_back(self.seats, self.rules.lives)
        elif self.rules.all_out == "joint" or not fallen:
            self.over = True  # those who fell last have got the first place
        else:
            self._bring_back(fallen, 1)
            self.pool_stays = self.pool_stays or self.rules.all_out == "carry_over"
            self._ends_with_one_seat()  # who fell alone, after all others, has nobody to play against

    def _bring_back(self, seats: list[int], lives: int) -> None:
        for seat in seats:
            self._fill_up(seat, lives)
            self.places[seat] = 0

    def _fill_up(self, seat: int, lives: int) -> None:
        """Give `seat` what it has less than `lives`; the pool pays as long as it can."""
        given = max(0, lives - self.lives[seat])
        self.lives[seat] += given
        self.pool = max(0, self.pool - given)

    def _is_decided(self) -> bool:
        """Whether fines have ended the match in the middle of a deal."""
        return self.rules.mid_deal_out == "dead_card" and len(self._seats_left()) == 1

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

    def _will_play(self) -> list[int]:
        """The seats that get a card in the next deal."""
        return [seat for seat in self.seats if self.lives[seat] > 0 and seat not in self.sit_out]

    def _round_after(self, seat: int) -> list[int]:
        """All seats in the direction of play, from the one after `seat` round to `seat` itself."""
        clockwise = self.seats[seat + 1 :] + self.seats[: seat + 1]
        return clockwise if self.rules.direction == "clockwise" else [*clockwise[-2::-1], seat]

    def _card_of(self, seat: int) -> Card:
        card = self.cards[seat]
        assert card is not None, f"seat {seat} is not in the deal"
        return card

    def _height(self, seat: int, special: Special | None) -> float:
        """How high the card of `seat` is; decks list their ranks from high to low."""
        ranks = list(self.rules.deck)
        if special is not None and special.above:
            return 0.5 - ranks.index(special.above)
        return -ranks.index(self._card_of(seat).rank)

    def _show_to_all(self, card: Card) -> None:
        card.seen_by.update(self.seats)
