"""The words for a ruleset: names with their articles, rows of the table of cards. sentences.py says the rest."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gnav_env.cards import Language
from gnav_env.effects import TRADE, Effect, Special
from gnav_env.rules import Rules

__all__ = ["CardRow", "Words", "first_large", "in_words", "joined", "life_count", "what_it_does"]

_COUNTS = ("no", "one", "two", "three", "four")
NONE = "–"
_SAME = "the same"
ORDINARY = ("trades", "is taken")


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


class Words:
    """Finds the words for `rules`: what is called what, what each card does."""

    def __init__(self, rules: Rules, language: Language) -> None:
        self.rules = rules
        self._language: Language = language
        self._came_from = {other: rank for rank, other in rules.when_exchanged.items()}
        self._turned = {rank: rules.effect(rank, from_stock=True) for rank, copies in rules.deck.items() if copies}
        self._has_fines = bool(self._doing(lambda effect: effect.pay > 0))
        self._stock_fines = any(effect.pay for effect in self._turned.values())
        goes_to_pool = rules.fine_to == "pool" or (rules.fine_to == "holder" and self._stock_fines)
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
        return joined([f"the {self.name(rank)}" for rank in ranks], word)

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
        return first_large(", ".join(parts))

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
        in_deck = {copies for copies in rules.deck.values() if copies}
        each = f", {in_words(in_deck.pop())} of each of {len(self._turned)} ranks" if len(in_deck) == 1 else ""
        facts = [
            ("Ruleset", rules.name),
            ("Seats", rules.seat_span()),
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
        says = "trades" if asked == TRADE else what_it_does(asked)
        if rank in self.rules.when_exchanged:
            becomes = f"is {self.a(self.rules.when_exchanged[rank])} from then on"
            says += f", and {becomes}" if asked == TRADE else f"; once it has changed hands it {becomes}"
        if rank not in self._turned:
            turned = NONE
        elif self._turned[rank] == TRADE:
            turned = "is taken"
        else:
            turned = _SAME if self._turned[rank] == asked else what_it_does(self._turned[rank], from_stock=True)
        return CardRow(
            ranks=(rank,),
            names=first_large(self.name(rank)),
            copies=str(self.rules.deck[rank] or NONE),
            asked=says,
            turned=turned,
            showdown="; ".join(self._compared(rank)),
        )

    def cells(self, rank: str) -> tuple[str, ...]:
        """The row of `rank` alone with every cell spelled out."""
        row = self.card(rank)
        turned = what_it_does(self._turned[rank], from_stock=True) if row.turned == _SAME else row.turned
        return (row.names, row.copies, row.asked, turned, row.showdown or NONE)

    def _compared(self, rank: str) -> list[str]:
        said: list[str] = []
        for special in self._specials:
            if special.rank != rank:
                continue
            several = special.count > 1
            if special.above:
                does = f"just above {self.the([special.above])}"
                does += f", {'each' if several else 'the'} holder wins {life_count(special.bonus)}" * bool(
                    special.bonus
                )
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
        return said + ([f"a loser with it pays {life_count(loss) if loss else 'nothing'}"] if loss != 1 else [])

    def _how_many(self, special: Special) -> str:
        """The count of a special; the largest of its rank means `or more`, where there can be more."""
        more = self.rules.means_or_more(special) and self._copies(special.rank) > special.count
        return in_words(special.count) + (" or more" if more else "")

    def _sits_out(self, special: Special) -> bool:
        return special.sit_out and self.rules.sit_out == "auto"


def what_it_does(effect: Effect, *, from_stock: bool = False) -> str:
    """What a card that does not trade does to a challenge, in a few words."""
    if effect.redirect:
        return "is laid aside, the next is turned" if from_stock else "sends on to the next seat"
    said = ["refuses"]
    if effect.pay:
        payer = "challenger" if effect.payer == "challenger" else "whoever was dealt the offered card"
        said.append(f"{payer} pays {life_count(effect.pay)}")
    said += {
        "none": [],
        "all": ["all trades are undone"],
        "card": ["the offered card goes home"],
        "sweep": ["the offered card is pushed back"],
    }[effect.undo]
    return ", ".join([*said, *["the deal stops"] * effect.stop])


def life_count(number: int) -> str:
    """``1 life``, ``2 lives``."""
    return f"{number} {'life' if number == 1 else 'lives'}"


def in_words(number: int) -> str:
    """A small number in words."""
    return _COUNTS[number] if number < len(_COUNTS) else str(number)


def joined(parts: Sequence[str], word: str) -> str:
    """``a, b and c``."""
    return f" {word} ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def first_large(text: str) -> str:
    """`text` with its first letter large."""
    return text[:1].upper() + text[1:]
