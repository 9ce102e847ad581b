"""What a sheet says of a ruleset in sentences, section by section: the deal, a turn, paying, the showdown, the end."""

from gnav_env.effects import TRADE, Special
from gnav_env.phrases import Words, first_large, in_words, joined, life_count

__all__ = ["Sentences"]

_DISPLAYS = {
    "tokens": ", kept as tokens",
    "letters": "; each that is lost is written down as a letter, G, N, A and V",
    "strokes": "; each that is lost is marked with a stroke",
}
_FINES_TO = {
    "pool": "it goes to the pool",
    "holder": "it goes to the holder of the card",
    "none": "nobody gets it",
}
_FALLEN = {
    "dead_card": "is out at once: it has no more turn and its card is not compared. If that leaves one seat, the match "
    "ends there",
    "deferred": "has no more turn, but its card is compared all the same and costs nothing more",
    "dead_card_finish": "is out at once: it has no more turn and its card is not compared. The deal is played to its "
    "end even if that leaves one seat, which then has the lowest card and loses",
}
_TIES = {
    "all": "The lowest loses; who ties for lowest loses too.",
    "first": "The lowest loses; of those that tie for lowest, only the first in the order of turns does.",
    "unique": "The lowest loses, unless several tie for lowest: then none of them does.",
    "none_if_all_equal": "The lowest loses; who ties for lowest loses too, unless all cards compared are equal.",
}
_UNDOINGS = {
    "all": (
        "undoes",
        "undo",
        "all trades of the deal, draws from the stock too: every seat has the card again that it was dealt.",
    ),
    "card": (
        "sends",
        "send",
        "the offered card home: the trades along which it came are undone, the newest first, until the seat that it "
        "was dealt to has it. Other trades stand.",
    ),
    "sweep": (
        "pushes",
        "push",
        "the offered card back towards the eldest: each seat in turn changes cards with the one after it, whether or "
        "not the two have traded, seats that have fallen too. Cards that send on are passed over; a card that refuses "
        "ends it, and if that card fines, it fines again.",
    ),
}
"""What becomes of trades, with the verb for one card and for several."""


class Sentences(Words):
    """Tells `rules`, section by section."""

    # ---------------------------------------------------------------------------------------------- the deal, turns

    def deal(self) -> list[str]:
        rules = self.rules
        said = [
            "Each seat is dealt one card, face down; the rest of the deck is the stock."
            if rules.container == "deck"
            else "Each seat draws one card from the bag and keeps it to itself; what is left in the bag is the stock."
        ]
        side = "left" if rules.direction == "clockwise" else "right"
        said.append(
            f"Play goes {rules.direction}: the seat at the dealer's {side} is the eldest and acts first, the dealer "
            "acts last, and nobody acts twice in a deal."
        )
        dealer = "is drawn by lot" if rules.first_dealer == "random" else f"is seat {rules.first_dealer}"
        if rules.num_deals == 1:
            said.append(f"The dealer {dealer}.")
        else:
            said.append(f"The first dealer {dealer}; after each deal the next seat that plays becomes the dealer.")
        if rules.reshuffle == "on_exhaustion":
            said.append(
                "The next deal comes from what is left of the stock. Only when that is too short are all cards "
                "shuffled again, so it pays to remember what has been played."
            )
        elif rules.num_deals != 1:
            said.append("All cards are shuffled before each deal.")
        if rules.ante:
            said.append(f"Each seat stakes {rules.ante} on every deal that it plays; stakes are kept beside the lives.")
        knocking = dict.fromkeys(special.rank for special in rules.specials if rules.deck[special.rank])
        if rules.knock == "dealt" and knocking:
            said.append(f"Whoever is dealt {joined([self.a(rank) for rank in knocking], 'or')} must knock.")
        return said

    def turn(self) -> list[str]:
        rules = self.rules
        matadors = rules.matadors
        said = [
            "STAND keeps the card. EXCHANGE challenges the next seat for its card; the dealer turns the top card of "
            "the stock instead."
        ]
        if matadors:
            named = f"The matador{'s are' if len(matadors) > 1 else ' is'} {self.the(matadors)}: asked for, "
            named += f"{'they answer' if len(matadors) > 1 else 'it answers'} as the table says. "
            said.append(f"{named}Every other card has to be traded.")
        else:
            said.append("No card can refuse: whoever is asked has to trade.")
        if redirecting := self._doing(lambda effect: effect.redirect):
            said.append(
                f"A challenge sent on by {self.the(redirecting, 'or')} goes to the next seat, and behind the dealer "
                "to the stock, until it meets a card that ends it."
            )
        said += [*self._stock(), *self._undoings()]
        if stopping := self._doing(lambda effect: effect.stop):
            said.append(
                f"When {self.the(stopping, 'or')} stops the deal, nobody else acts and the showdown follows; in a hand "
                "that nobody asks it stops nothing."
            )
        if inns := self._doing(lambda effect: effect.bargain):
            said.append(f"Some houses let the two seats bargain over {self.the(inns)}; here it just refuses.")
        said += self._exchanged()
        if not matadors:
            return said + ["STAND is allowed only where EXCHANGE is not."] * (rules.stand_requires == "matador")
        has_had = "has had its turn" if rules.challenged_matador_turn == "skip" else "still has its turn"
        said.append(f"A seat whose matador has answered a challenge {has_had}.")
        if rules.stand_requires == "matador":
            said.append("Only a matador lets its holder STAND, unless EXCHANGE is impossible.")
        if not rules.matador_may_be_offered:
            said.append("The holder of a matador may not EXCHANGE.")
        if rules.speech == "spoken":
            said.append("A matador that answers is shown to all.")
        else:
            shown = any(effect != TRADE for effect in self._turned.values())
            said.append(
                "A matador that answers is not shown: the others see only what it does."
                + " One that is turned from the stock is shown to all." * shown
            )
        return said

    def _stock(self) -> list[str]:
        acting = [rank for rank, effect in self._turned.items() if effect != TRADE]
        others = [rank for rank, effect in self._turned.items() if effect != self.rules.effect(rank)]
        aside = "the old card is laid aside"
        if not acting:
            said = f"Whatever comes from the stock is taken{', without effect,' * bool(others)} and {aside}."
        elif not others:
            said = f"A card from the stock answers as if the next seat held it; if it is taken, {aside}."
        else:
            do_so = "answers" if len(others) == 1 else "answer"
            said = f"From the stock {self.the(others)} {do_so} otherwise than from a hand; if a card is taken, {aside}."
        return [said, "A dealer who finds the stock empty cannot EXCHANGE."]

    def _undoings(self) -> list[str]:
        said: list[str] = []
        for scope, (one_does, several_do, what) in _UNDOINGS.items():
            if ranks := self._doing(lambda effect, scope=scope: effect.undo == scope):
                said.append(f"{first_large(self.the(ranks))} {several_do if len(ranks) > 1 else one_does} {what}")
        return said + ["Then turns go on as usual: nobody acts again, and no fine is given back."] * bool(said)

    def _exchanged(self) -> list[str]:
        said: list[str] = []
        for rank, other in self.rules.when_exchanged.items():
            lowest = ", the lowest card of all," if other == self.rules.ranks[0] else ""
            said.append(
                f"{first_large(self.a(rank))} that changes hands lies face up and is {self.a(other)}{lowest} for the "
                "rest of the deal, even if it comes back. Drawing it from the stock does not count."
            )
        return said

    # ---------------------------------------------------------------------------------------------- what it costs

    def paying(self) -> list[str]:
        rules = self.rules
        display = "strokes" if rules.display == "letters" and rules.lives != 4 else rules.display
        kept = _DISPLAYS[display] if rules.lives > 1 else _DISPLAYS[display].replace("tokens", "a token")
        said = [f"Each seat starts with {life_count(rules.lives)}{kept}."]
        if self._has_fines:
            said.append(f"A fine is paid at once, as far as the lives go; {_FINES_TO[rules.fine_to]}.")
            if rules.fine_to == "holder" and self._stock_fines:
                said.append("A fine for a card from the stock goes to the pool.")
        if by_origin := self._doing(lambda effect: effect.payer == "origin"):
            said.append(
                f"{first_large(self.the(by_origin))} {'fines' if len(by_origin) == 1 else 'fine'} the seat to which "
                "the offered card was dealt, whoever offers it now."
            )
        to_pool = "pays 1 life to the pool" if rules.loss_to == "pool" else "loses 1 life, which nobody gets"
        said.append(f"Whoever loses at the showdown {to_pool}.")
        losses: dict[int, list[str]] = {}
        for rank in rules.deck:
            losses.setdefault(rules.loss.get(rank, 1), []).append(rank)
        for lives, ranks in losses.items():
            if lives != 1:
                whoever = f"A loser who holds {joined([self.a(rank) for rank in ranks], 'or')}"
                said.append(f"{whoever} {f'loses {life_count(lives)} instead' if lives else 'loses nothing'}.")
        if self._has_fines:
            said.append(f"A seat whose last life goes for a fine {_FALLEN[rules.mid_deal_out]}.")
        if rules.strikes == "consecutive" and rules.lives > 1:
            from_pool = ", out of the pool as far as that goes" if self._has_pool else ""
            said.append(f"Whoever comes through a deal without paying has all {rules.lives} lives again{from_pool}.")
        return said

    # ---------------------------------------------------------------------------------------------- showdown, end

    def showdown(self) -> list[str]:
        rules = self.rules
        said = [f"All cards are turned up and compared, high to low as in the table. {_TIES[rules.ties]}"]
        if rules.ties == "first" and rules.seat_limit == 2:
            said.append("With two at the table that means: the dealer wins ties.")
        if rules.immune:
            are = "never loses: it is" if len(rules.immune) == 1 else "never lose: they are"
            said.append(f"{first_large(self.the(rules.immune))} {are} left out of the comparison.")
        for special in sorted(self._specials, key=lambda special: special.count):
            said.append(self._special(special))
        for rank in dict.fromkeys(special.rank for special in self._specials):
            highest = max(special.count for special in rules.specials if special.rank == rank)
            named = {special.count for special in self._specials if special.rank == rank}
            left = [count for count in range(1, min(highest, self._copies(rank))) if count not in named]
            if left:
                only = joined([in_words(count) for count in left], "or")
                said.append(
                    f"Where there {'is' if left == [1] else 'are'} only {only}, {self.a(rank)} is compared like any "
                    "other card."
                )
        return said

    def _special(self, special: Special) -> str:
        """The sentence about `special`."""
        rank, how_many = special.rank, self._how_many(special)
        several = how_many != "one"
        any_of_them = f"whoever holds {self.a(rank)}"
        if self.rules.count_at == "dealt":
            dealt = self.a(self._came_from.get(rank, rank))
            condition = f"If {how_many} {'seats were' if several else 'seat was'} dealt {dealt}, "
            losing, standing = f"{any_of_them} at the showdown loses", f"{self.a(rank)} stands"
        elif how_many == "one or more":
            condition, losing, standing = "", f"{any_of_them} loses", f"{self.a(rank)} stands"
        else:
            condition = f"If {how_many} {'seats hold' if several else 'seat holds'} {self.a(rank)}, "
            losing, standing = ("they lose", "their cards stand") if several else ("it loses", "the card stands")
        if special.above:
            said = f"{condition}{standing} just above {self.the([special.above])}"
            said += f", and each holder wins {life_count(special.bonus)}" * bool(special.bonus)
            said += "; the lowest card then costs nothing" * (special.others == "none")
        else:
            said = f"{condition}{losing}, and "
            said += "so does the lowest of the rest" if special.others == "lowest" else "nobody else does"
        if self._sits_out(special):
            said += "; each holder misses the next deal, unless fewer than two seats would then play"
        return f"{first_large(said)}."

    def end(self) -> list[str]:
        rules = self.rules
        said = ["A seat without lives is out: it gets no more cards and is passed over."] * (rules.num_deals != 1)
        if not rules.num_deals:
            said.append("The last seat with lives wins the match.")
        elif rules.num_deals > 1:
            said.append(
                f"The match ends after {rules.num_deals} deals, or as soon as only one seat has lives; whoever has the "
                "most lives then wins, and who ties for that shares the win."
            )
        elif rules.lives == 1:
            said.append("The match is a single deal, and whoever loses it loses the match.")
        else:
            said.append("The match is a single deal: whoever has the most lives after it wins.")
        if rules.num_deals > 1 and self._has_pool:
            said.append(
                f"What counts then is the lives kept and the share of the pool, less the {rules.lives} at the start."
            )
        prize = " and ".join(["the pool"] * self._has_pool + ["the stakes"] * bool(rules.ante))
        if self._can_all_fall:
            said += self._all_out(prize)
        if not prize:
            said.append("Lost lives go to nobody, so there is no pool to win.")
        elif self._winners_may_tie:
            said.append(f"The winner takes {prize}; winners who tie share alike.")
        else:
            said.append(f"The winner takes {prize}.")
        return said

    @property
    def _can_all_fall(self) -> bool:
        """Whether the last seats can fall together: not where one alone loses each showdown."""
        one_alone = self.rules.ties in ("first", "unique") and all(special.above for special in self._specials)
        return not one_alone or (self._has_fines and self.rules.mid_deal_out != "dead_card")

    @property
    def _winners_may_tie(self) -> bool:
        """Whether a match can have several winners."""
        if self.rules.num_deals == 1:
            return self.rules.seat_limit > 2 or self._can_all_fall
        return self.rules.num_deals > 1 or (self._can_all_fall and self.rules.all_out == "joint")

    def _all_out(self, prize: str) -> list[str]:
        rules = self.rules
        share = "If the last deal leaves nobody with lives, those who fell in it share the win."
        if rules.num_deals == 1:
            return [share]
        together = "If the last seats fall together,"
        back = "they get one life back each" + (", out of the pool," if self._has_pool else "")
        stay = (
            f"; {prize} then stay{'s' if prize == 'the pool' else ''} for the next match instead of going to the winner"
        )
        said = {
            "play_off": f"{together} {back} and play on.",
            "joint": f"{together} they share the win.",
            "carry_over": f"{together} {back} and play on{stay if prize else ''}.",
            "all_reenter": f"{together} everybody starts again with full lives, those too who were out before.",
        }[rules.all_out]
        return [said, *[share] * (rules.num_deals > 0 and rules.all_out != "joint")]
