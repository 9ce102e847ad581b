"""A ruleset as a sheet for people, made from the data: what each card does, who pays whom, how it ends.

`make_sheet` says it in words, `sheet_markdown` sets the sheet as a page, `rules_diff` sets two rulesets side by side.
The terminal draws the same sheet with colours.

>>> from gnav_env.rules import Rules
>>> rules = Rules(name="small", deck={"K": 4, "2": 4, "A": 4}, effects={"K": Effect(refuse=True)})
>>> [(row.names, row.asked) for row in make_sheet(rules).cards]
[('King', 'refuses'), ('2, Ace', 'trades')]
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gnav_env.cards import Language
from gnav_env.effects import TRADE, Effect, Special
from gnav_env.rules import Rules

__all__ = ["CardRow", "Section", "Sheet", "make_sheet", "rules_diff", "sheet_markdown"]

COLUMNS = ("card", "copies", "when asked", "from the stock", "at the showdown")
"""Heads of the table of cards."""

COSMETIC = ("name", "title", "source", "names", "numerals", "display", "container")
"""Options that are only for the eye; `rules_diff` has them last."""

_COUNTS = ("no", "one", "two", "three", "four")
_NONE = "–"
_SAME = "the same"
_ORDINARY = ("trades", "is taken")
_ASPECTS = {head: column for column, head in enumerate(COLUMNS) if column}
_BY_RANK = ("deck", "effects", "from_stock", "when_exchanged", "loss", "specials", "immune")


@dataclass(frozen=True, kw_only=True)
class CardRow:
    """Ranks that stand side by side and do the same."""

    ranks: tuple[str, ...]
    names: str
    """What people call them, a run of numbers cut short."""
    copies: str
    asked: str
    turned: str
    showdown: str
    """What is unusual about them there, empty if nothing."""

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The row under `COLUMNS`."""
        return (self.names, self.copies, self.asked, self.turned, self.showdown)


@dataclass(frozen=True, kw_only=True)
class Section:
    """Sentences about one part of the game."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """All that one needs to know to play."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """What is said in a word, each with its heading."""
    cards: tuple[CardRow, ...]
    """High to low."""
    sections: tuple[Section, ...]


def make_sheet(rules: Rules, language: Language = "own") -> Sheet:
    """`rules` as a sheet, the cards called as in `language`."""
    writer = _Writer(rules, language)
    sections = {
        "The deal": writer.deal(),
        "A turn": writer.turn(),
        "Paying": writer.paying(),
        "The showdown": writer.showdown(),
        "The end": writer.end(),
    }
    return Sheet(
        title=rules.title or rules.name,
        facts=tuple(writer.facts()),
        cards=tuple(writer.cards()),
        sections=tuple(Section(title=title, sentences=tuple(said)) for title, said in sections.items()),
    )


def sheet_markdown(sheet: Sheet) -> str:
    """The sheet as a page of Markdown."""
    lines = [f"# {_inline(sheet.title)}", ""]
    lines += [f"- **{head}:** {_inline(fact)}" for head, fact in sheet.facts]
    lines += ["", "## The cards, high to low", "", _table_row(COLUMNS), "|---|---|---|---|---|"]
    lines += [_table_row(row.cells) for row in sheet.cards]
    for section in sheet.sections:
        lines += ["", f"## {section.title}", "", *(f"- {_inline(sentence)}" for sentence in section.sentences)]
    return "\n".join(lines) + "\n"


def rules_diff(a: Rules, b: Rules) -> list[tuple[str, str, str]]:
    """What differs, each with its value in `a` and in `b`: options, then cards, then what is only for the eye.

    Ranks side by side that differ in the same way share a row; a rank that one of the two has not is ``–`` there.
    """
    rows: list[tuple[str, str, str]] = []
    options = [item.name for item in fields(Rules) if item.name not in (*_BY_RANK, *COSMETIC)]
    rows += _differences(a, b, options)
    common = [[rank for rank in one.deck if rank in other.deck] for one, other in ((a, b), (b, a))]
    if common[0] != common[1]:
        orders = [_Writer(rules, "own").listed(ranks) for rules, ranks in zip((a, b), common, strict=True)]
        rows.append(("order of the cards", orders[0], orders[1]))
    rows += _card_differences(a, b)
    return rows + _differences(a, b, COSMETIC)


def _differences(a: Rules, b: Rules, names: Iterable[str]) -> list[tuple[str, str, str]]:
    values = [(name, _value(getattr(a, name)), _value(getattr(b, name))) for name in names]
    return [row for row in values if row[1] != row[2]]


def _value(value: Any) -> str:
    """The value of an option as one writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {item}" for key, item in sorted(value.items())) or _NONE
    return str(value) or _NONE


def _card_differences(a: Rules, b: Rules) -> list[tuple[str, str, str]]:
    """What the cards do otherwise, ranks side by side in one row."""
    writers = [_Writer(a, "own"), _Writer(b, "own")]
    rows: list[tuple[str, str, str]] = []
    for aspect, column in _ASPECTS.items():
        runs: list[tuple[_Writer, list[str], str, str]] = []
        for rank in [*a.deck, *(rank for rank in b.deck if rank not in a.deck)]:
            writer = writers[rank not in a.deck]
            one, other = (writer.cells(rank)[column] if rank in writer.rules.deck else _NONE for writer in writers)
            if rank not in a.deck or rank not in b.deck:
                one, other = (_NONE if said in _ORDINARY else said for said in (one, other))
            if runs and runs[-1][0] is writer and runs[-1][2:] == (one, other):
                runs[-1][1].append(rank)
            else:
                runs.append((writer, [rank], one, other))
        rows += [(f"{w.listed(ranks)}: {aspect}", one, other) for w, ranks, one, other in runs if one != other]
    return rows


class _Writer:
    """Finds the words for `rules`, section by section."""

    def __init__(self, rules: Rules, language: Language) -> None:
        self.rules = rules
        self._language: Language = language
        self._came_from = {other: rank for rank, other in rules.when_exchanged.items()}
        self._turned = {rank: rules.effect(rank, from_stock=True) for rank, copies in rules.deck.items() if copies}
        self._has_fines = bool(self._doing(lambda effect: effect.pay > 0))
        stock_fines = any(effect.pay for effect in self._turned.values())
        goes_to_pool = rules.fine_to == "pool" or (rules.fine_to == "holder" and stock_fines)
        self._has_pool = rules.loss_to == "pool" or (self._has_fines and goes_to_pool)
        self._specials = [special for special in rules.specials if special.count <= self._copies(special.rank)]

    # ---------------------------------------------------------------------------------------------- words

    def name(self, rank: str) -> str:
        return self.rules.card_name(rank, self._language)

    def a(self, rank: str) -> str:
        """The name with its article."""
        is_vowel = rank in ("8", "11", "18") if rank.isdigit() else self.name(rank)[0].lower() in "aeiou"
        return f"{'an' if is_vowel else 'a'} {self.name(rank)}"

    def the(self, ranks: Iterable[str], word: str = "and") -> str:
        """``the Horse and the House``."""
        return _joined([f"the {self.name(rank)}" for rank in ranks], word)

    def listed(self, ranks: Sequence[str]) -> str:
        """Names with commas; a run of four numbers or more as ``XII … I``."""
        parts: list[str] = []
        at = 0
        while at < len(ranks):
            end = at + 1
            while end < len(ranks) and ranks[end].isdigit() and ranks[end - 1] == str(int(ranks[end]) + 1):
                end += 1
            run = [self.name(rank) for rank in ranks[at:end]]
            parts += [f"{run[0]} … {run[-1]}"] if len(run) > 3 else run
            at = end
        return _first_large(", ".join(parts))

    def _copies(self, rank: str) -> int:
        """The most cards of `rank` that there can be."""
        return self.rules.deck[rank] or self.rules.deck[self._came_from.get(rank, rank)]

    def _doing(self, does: Callable[[Effect], bool]) -> list[str]:
        """Ranks with such an effect, in a hand or turned from the stock."""
        return [
            rank for rank in self.rules.deck if does(self.rules.effect(rank)) or does(self._turned.get(rank, TRADE))
        ]

    # ---------------------------------------------------------------------------------------------- facts, cards

    def facts(self) -> list[tuple[str, str]]:
        rules = self.rules
        low, high = rules.min_players, rules.seat_limit
        in_deck = {copies for copies in rules.deck.values() if copies}
        each = f", {_count(in_deck.pop())} of each of {len(self._turned)} ranks" if len(in_deck) == 1 else ""
        facts = [
            ("Ruleset", rules.name),
            ("Seats", f"{low}" if low == high else f"{low} to {high}"),
            ("Cards", f"{rules.num_cards}{each}"),
            ("Lives", f"{rules.lives} each"),
        ]
        facts += [("Stake", f"{rules.ante} each deal")] if rules.ante else []
        return facts + ([("Source", rules.source)] if rules.source else [])

    def cards(self) -> list[CardRow]:
        rows: list[CardRow] = []
        for rank in self.rules.deck:
            row = self.card(rank)
            if rows and rows[-1].cells[1:] == row.cells[1:]:
                ranks = (*rows[-1].ranks, rank)
                rows[-1] = replace(row, ranks=ranks, names=self.listed(ranks))
            else:
                rows.append(row)
        return rows

    def card(self, rank: str) -> CardRow:
        """The row of `rank` alone."""
        asked = self.rules.effect(rank)
        says = "trades" if asked == TRADE else _does(asked)
        if rank in self.rules.when_exchanged:
            becomes = f"is {self.a(self.rules.when_exchanged[rank])} from then on"
            says += f", and {becomes}" if asked == TRADE else f"; once it has changed hands it {becomes}"
        if rank not in self._turned:
            turned = _NONE
        elif self._turned[rank] == TRADE:
            turned = "is taken"
        else:
            turned = _SAME if self._turned[rank] == asked else _does(self._turned[rank], from_stock=True)
        return CardRow(
            ranks=(rank,),
            names=_first_large(self.name(rank)),
            copies=str(self.rules.deck[rank] or _NONE),
            asked=says,
            turned=turned,
            showdown="; ".join(self._compared(rank)),
        )

    def cells(self, rank: str) -> tuple[str, ...]:
        """The row of `rank` alone with every cell spelled out."""
        row = self.card(rank)
        turned = _does(self._turned[rank], from_stock=True) if row.turned == _SAME else row.turned
        return (row.names, row.copies, row.asked, turned, row.showdown or _NONE)

    def _compared(self, rank: str) -> list[str]:
        said: list[str] = []
        for special in self._specials:
            if special.rank != rank:
                continue
            several = special.count > 1
            if special.above:
                does = f"just above {self.the([special.above])}"
                does += f", {'each' if several else 'the'} holder wins {_lives(special.bonus)}" * bool(special.bonus)
                does += ", no other loses" * (special.others == "none")
            elif special.others == "none":
                does = f"only {'the holders lose' if several else 'the holder loses'}"
            else:
                does = f"{'the holders lose' if several else 'the holder loses'}, and the lowest of the rest too"
            does += f", and {'they miss' if several else 'misses'} the next deal" * self._sits_out(special)
            how_many = self._how_many(special)
            said.append(does if how_many == "one or more" else f"{how_many}: {does}")
        said += ["never loses"] if rank in self.rules.immune else []
        loss = self.rules.loss.get(rank, 1)
        return said + ([f"a loser with it pays {_lives(loss)}"] if loss != 1 else [])

    def _how_many(self, special: Special) -> str:
        """The count of a special; the largest of its rank means `or more`, where there can be more."""
        is_largest = special.count == max(s.count for s in self.rules.specials if s.rank == special.rank)
        more = is_largest and self._copies(special.rank) > special.count
        return _count(special.count) + (" or more" if more else "")

    def _sits_out(self, special: Special) -> bool:
        return special.sit_out and self.rules.sit_out == "auto"

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
            said.append(f"Whoever is dealt {_joined([self.a(rank) for rank in knocking], 'or')} must knock.")
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
            said.append("A matador that answers is not shown: the others see only what it does.")
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
        for scope, what in _UNDOINGS.items():
            if ranks := self._doing(lambda effect, scope=scope: effect.undo == scope):
                said.append(f"{_first_large(self.the(ranks))} {what.replace('s ', ' ', 1) if len(ranks) > 1 else what}")
        return said + ["Then turns go on as usual: nobody acts again, and no fine is given back."] * bool(said)

    def _exchanged(self) -> list[str]:
        said: list[str] = []
        for rank, other in self.rules.when_exchanged.items():
            lowest = ", the lowest card of all," if other == self.rules.ranks[0] else ""
            said.append(
                f"{_first_large(self.a(rank))} that changes hands lies face up and is {self.a(other)}{lowest} for the "
                "rest of the deal, even if it comes back. Drawing it from the stock does not count."
            )
        return said

    # ---------------------------------------------------------------------------------------------- what it costs

    def paying(self) -> list[str]:
        rules = self.rules
        display = "strokes" if rules.display == "letters" and rules.lives != 4 else rules.display
        kept = _DISPLAYS[display] if rules.lives > 1 else _DISPLAYS[display].replace("tokens", "a token")
        said = [f"Each seat starts with {_lives(rules.lives)}{kept}."]
        if self._has_fines:
            said.append(f"A fine is paid at once, as far as the lives go; {_FINES_TO[rules.fine_to]}.")
            if rules.fine_to == "holder" and any(effect.pay for effect in self._turned.values()):
                said.append("A fine for a card from the stock goes to the pool.")
        if by_origin := self._doing(lambda effect: effect.payer == "origin"):
            said.append(
                f"{_first_large(self.the(by_origin))} {'fines' if len(by_origin) == 1 else 'fine'} the seat to which "
                "the offered card was dealt, whoever offers it now; nobody is fined by a card of one's own."
            )
        to_pool = "pays 1 life to the pool" if rules.loss_to == "pool" else "loses 1 life, which nobody gets"
        said.append(f"Whoever loses at the showdown {to_pool}.")
        losses: dict[int, list[str]] = {}
        for rank in rules.deck:
            losses.setdefault(rules.loss.get(rank, 1), []).append(rank)
        for lives, ranks in losses.items():
            if lives != 1:
                whoever = f"A loser who holds {_joined([self.a(rank) for rank in ranks], 'or')}"
                said.append(f"{whoever} {f'loses {_lives(lives)} instead' if lives else 'loses nothing'}.")
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
            said.append(f"{_first_large(self.the(rules.immune))} {are} left out of the comparison.")
        for special in sorted(self._specials, key=lambda special: special.count):
            said.append(self._special(special))
        for rank in dict.fromkeys(special.rank for special in self._specials):
            highest = max(special.count for special in rules.specials if special.rank == rank)
            named = {special.count for special in self._specials if special.rank == rank}
            left = [count for count in range(1, min(highest, self._copies(rank))) if count not in named]
            if left:
                only = _joined([_count(count) for count in left], "or")
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
            said += f", and each holder wins {_lives(special.bonus)}" * bool(special.bonus)
            said += "; the lowest card then costs nothing" * (special.others == "none")
        else:
            said = f"{condition}{losing}, and "
            said += "so does the lowest of the rest" if special.others == "lowest" else "nobody else does"
        if self._sits_out(special):
            said += "; each holder misses the next deal, unless fewer than two seats would then play"
        return f"{_first_large(said)}."

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
    "end even if that leaves one seat",
}
_TIES = {
    "all": "The lowest loses; who ties for lowest loses too.",
    "first": "The lowest loses; of those that tie for lowest, only the first in the order of turns does.",
    "unique": "The lowest loses, unless several tie for lowest: then none of them does.",
    "none_if_all_equal": "The lowest loses; who ties for lowest loses too, unless all cards compared are equal.",
}
_UNDOINGS = {
    "all": "undoes all trades of the deal, draws from the stock too: every seat has the card again that it was dealt.",
    "card": "sends the offered card home: the trades along which it came are undone, the newest first, until the seat "
    "that it was dealt to has it. Other trades stand.",
    "sweep": "pushes the offered card back towards the eldest: each seat in turn changes cards with the one after it, "
    "whether or not the two have traded. Cards that send on are passed over; a card that refuses ends it, and if that "
    "card fines, it fines again.",
}


def _does(effect: Effect, *, from_stock: bool = False) -> str:
    """What a card that does not trade does to a challenge, in a few words."""
    if effect.redirect:
        return "is laid aside, the next is turned" if from_stock else "sends on to the next seat"
    said = ["refuses"]
    if effect.pay:
        payer = "challenger" if effect.payer == "challenger" else "whoever was dealt the offered card"
        said.append(f"{payer} pays {_lives(effect.pay)}")
    said += {
        "none": [],
        "all": ["all trades are undone"],
        "card": ["the offered card goes home"],
        "sweep": ["the offered card is pushed back"],
    }[effect.undo]
    return ", ".join([*said, *["the deal stops"] * effect.stop])


def _lives(number: int) -> str:
    return f"{number} {'life' if number == 1 else 'lives'}"


def _count(number: int) -> str:
    """A small number in words."""
    return _COUNTS[number] if number < len(_COUNTS) else str(number)


def _joined(parts: Sequence[str], word: str) -> str:
    """``a, b and c``."""
    return f" {word} ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _first_large(text: str) -> str:
    return text[:1].upper() + text[1:]


def _inline(text: str) -> str:
    """Text on one line that Markdown leaves alone."""
    return " ".join(re.sub(r"([\\`*\[\]<>|]|(?<!\w)_|_(?!\w))", r"\\\1", text).split())


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_inline, cells))} |"
