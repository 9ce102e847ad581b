"""Which rulesets and which numbers of seats a study is about, from what was written on the command line."""

from dataclasses import dataclass

from gnav_env.compiled import MAX_SEATS
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.variants import VARIANTS, get_rules

__all__ = ["Grid", "make_grid", "parse_seats"]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The cells of a study: rulesets with the numbers of seats that can play them. Raises `GnavError` if none can."""

    rules: tuple[Rules, ...]
    seats: tuple[int, ...]

    def __post_init__(self) -> None:
        if not any(self.seats_of(rules) for rules in self.rules):
            raise GnavError(f"nothing is left to play: {'; '.join(self.notes)}")

    def seats_of(self, rules: Rules) -> list[int]:
        """The numbers of seats that can play `rules`."""
        return [n for n in self.seats if rules.can_seat(n)]

    @property
    def notes(self) -> list[str]:
        """What is left out and why, a sentence for each ruleset."""
        notes: list[str] = []
        for rules in self.rules:
            left_out = [n for n in self.seats if n not in self.seats_of(rules)]
            if left_out:
                numbers = ", ".join(map(str, left_out))
                notes.append(f"{rules.name} is played by {rules.seat_span()}: {numbers} left out")
        return notes


def make_grid(rules: str, seats: str) -> Grid:
    """The cells for `rules` (names or paths with commas between, or `all`) and `seats` (see `parse_seats`)."""
    names = list(VARIANTS) if rules.strip() == "all" else [name.strip() for name in rules.split(",")]
    found = tuple(get_rules(name) for name in names)
    for number, one in enumerate(found):
        if any(one.name == other.name for other in found[:number]):
            raise GnavError(f"ruleset {one.name} is listed twice: each needs a name of its own")
    return Grid(rules=found, seats=parse_seats(seats))


def parse_seats(text: str) -> tuple[int, ...]:
    """The numbers in a list with commas and ranges, in order, each once.

    >>> parse_seats("10,2-4")
    (2, 3, 4, 10)
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last if dash else first]
        if not all(end.isdecimal() and end.isascii() for end in ends):
            raise GnavError(f"seats must be numbers and ranges with commas between, as in 2-6,10, not {text!r}")
        low, high = map(int, ends)
        if not 2 <= low <= high <= MAX_SEATS:
            raise GnavError(f"seats must be 2 to {MAX_SEATS}, a range from low to high, not {part.strip()!r}")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))
