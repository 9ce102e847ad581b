"""How each seat of a table looks to somebody: `view_seats`, and the few words that pictures, texts and tables share.

words.py tells what happens; here is what is.
"""

from dataclasses import dataclass

from gnav_env.cards import Language
from gnav_env.errors import GnavError
from gnav_env.state import BETWEEN, DREW, FAILED, NOBODY, NOT_ACTED, REFUSED, STOCK, STOOD, TRADED
from gnav_env.table import Table

__all__ = ["SeatView", "checked_observer", "lives_in_words", "num_stock", "view_seats"]


@dataclass(frozen=True, kw_only=True)
class SeatView:
    """What an observer sees of one seat."""

    seat: int
    lives: int
    rank: str | None
    """The rank of its card, None if the observer does not know it or the seat has none."""
    has_card: bool
    turn: str
    """How its turn in this deal went, in a few words; empty while it has not acted."""
    answered: str
    """With what card it answered a challenge in this deal: ``?`` if that was silent, empty if it did not."""
    place: int
    """Finishing place, 0 while in the match."""
    is_dealer: bool
    is_to_act: bool
    has_knocked: bool
    is_loser: bool
    """It lost the showdown that has just been."""
    sits_out: bool
    """It misses this deal or, between deals, the coming one."""

    @property
    def remarks(self) -> str:
        """All there is to say of the seat in this deal."""
        said = ["knocked"] if self.has_knocked else []
        said += [f"answered {self.answered}".removesuffix(" ?")] if self.answered else []
        said += [self.turn] if self.turn else []
        said += ["loses"] if self.is_loser else []
        said += ["sits out"] if self.sits_out else []
        said += [f"place {self.place}"] if self.place else []
        return ", ".join(said)


def view_seats(table: Table, observer: int | None = None, language: Language = "own") -> list[SeatView]:
    """What `observer` sees of each seat; None: all faces, NOBODY: only those that are face up."""
    hands = table.hands
    known = dict(enumerate(hands)) if observer is None else table.known(checked_observer(table, observer))
    is_on = table.record.phase != BETWEEN
    passed_over = [is_on and hand is None and lives > 0 for hand, lives in zip(hands, table.lives, strict=True)]
    knocked, losers, sitting_out, places = table.knocks, table.losers, table.sit_out, table.places
    return [
        SeatView(
            seat=seat,
            lives=table.lives[seat],
            rank=known.get(seat),
            has_card=hand is not None,
            turn=_turn_in_words(table, seat),
            answered=_answered(table, seat, language),
            place=places[seat],
            is_dealer=seat == table.dealer,
            is_to_act=seat == table.to_act,
            has_knocked=seat in knocked,
            is_loser=seat in losers,
            sits_out=seat in sitting_out or passed_over[seat],
        )
        for seat, hand in enumerate(hands)
    ]


def lives_in_words(table: Table, seat: int) -> str:
    """The lives of `seat` as the rules show them: tokens held, letters of GNAV lost, or strokes got.

    >>> lives_in_words(Table("pagat", 4), 0), lives_in_words(Table("letters", 4, lives=[2, 4, 4, 4]), 0)
    ('●●●', 'GN··')
    """
    lives, start = table.lives[seat], table.rules.lives
    lost = max(0, start - lives)
    if max(lives, start) > 6:
        return f"{lives}"
    if table.rules.display == "letters" and start == 4:
        return "GNAV"[:lost] + "·" * (4 - lost)
    if table.rules.display == "tokens":
        return "●" * lives + "○" * lost
    return "|" * lost + "·" * (start - lost)


def num_stock(table: Table) -> int:
    """Cards left in the stock; before the first deal, the whole deck."""
    if not table.deals:
        return table.rules.num_cards
    return int(table.record.stock_end) - table.num_seats - int(table.record.drawn)


def _turn_in_words(table: Table, seat: int) -> str:
    asked = table.by_seat("asked")[seat]
    whom = "the stock" if asked == STOCK else f"seat {asked}"
    return {
        NOT_ACTED: "",
        STOOD: "stood",
        TRADED: f"traded with {whom}",
        DREW: "drew from the stock",
        REFUSED: f"refused by {whom}",
        FAILED: "found no card",
    }[table.by_seat("turn")[seat]]


def _answered(table: Table, seat: int, language: Language) -> str:
    revealed = table.by_seat("revealed")[seat]
    if revealed:
        return table.rules.card_name(table.rules.ranks[revealed - 1], language)
    return "?" if table.by_seat("answers")[seat] else ""


def checked_observer(table: Table, observer: int) -> int:
    """`observer`, or `GnavError` if it is neither a seat nor NOBODY."""
    if not NOBODY <= observer < table.num_seats:
        raise GnavError(f"observer must be a seat (0 to {table.num_seats - 1}), {NOBODY} or None, not {observer}")
    return observer
