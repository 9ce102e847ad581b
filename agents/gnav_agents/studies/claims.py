"""The claims of rule texts that tips.py puts to the test, and how a verdict on one follows from its figures.

Each has a definition that says what is counted and where the line is. No verdict stands here: they come from the rule
in figures.py, or from `verdict_of_lengths` for the length of a match, and the words that say where from the figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gnav_agents.studies.figures import Estimate, Judgement, Verdict, verdict_of
from gnav_env.rules import Rules

__all__ = [
    "BY_FAR",
    "CLAIMS",
    "LONG_SEATS",
    "SAFE",
    "Claim",
    "Figure",
    "Finding",
    "LengthJudgement",
    "find",
    "judge_length",
    "verdict_of_lengths",
]

SAFE = 0.01
"""A matador is called safe if it loses a life in at most this share of deals."""
BY_FAR = 0.1
"""The dealer is called by far the strongest if it leads by at least this share of the mean loss."""
LONG_SEATS = range(15, 21)
FEW_MATCHES = 100
"""With fewer matches nothing is said of how long they are."""
LONG_DEALS = (30, 60)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the rule texts, and what is made of it here."""

    title: str
    definition: str


CLAIMS = {
    "matador": Claim(
        title="any matador is safe",
        definition="A seat is dealt a matador and never offers it. Counted: how often it loses a life in that deal, "
        f"by fine or showdown, over all positions. Holds for a rank at so many seats if that is at most {SAFE:.0%}. "
        "Beside it the same chance for any seat with any card, all seats playing the same threshold. Read literally "
        "(never), one lost life is enough to make the claim false.",
    ),
    "low": Claim(
        title="exchange 0 to III",
        definition="A seat that still has the card that it was dealt, 0 to III, chooses. Counted: lives that EXCHANGE "
        "gains over STAND on the same cards, its own less the average of the others'. Holds for a card, a position "
        "and a number of seats if that is above 0.",
    ),
    "high": Claim(
        title="stand with IX to XII",
        definition="The same with IX to XII. Holds for a card, a position and a number of seats if EXCHANGE gains "
        "less than nothing.",
    ),
    "dealer": Claim(
        title="the dealer's seat is by far the strongest",
        definition="All seats play alike: once they exchange below the same rank, once they are counting agents, "
        "which use what they have seen. Counted: lives lost a deal by position. The dealer leads by what the best of "
        "the other positions loses more than it, deal by deal; holds at so many seats if the lead is at least "
        f"{BY_FAR:.0%} of the mean loss of all seats. It is called the strongest if the lead is above 0.",
    ),
    "redirection": Claim(
        title="redirection is worth seeking",
        definition="Two figures. Holding: a seat is dealt a redirecting card, or on otherwise the same cards the next "
        "plain card below the matadors, and keeps it; holds if it loses fewer lives with the redirecting card. "
        "Meeting: a seat before the dealer offers a card that is below the threshold; its neighbour has a plain card, "
        "or on otherwise the same cards a redirecting one; holds if the challenger loses fewer lives in the deal when "
        "it was redirected.",
    ),
    "length": Claim(
        title="15 to 20 players take 30 to 60 deals",
        definition="Matches of 15, 16 ... 20 seats, once with the threshold that is the best reply to itself for as "
        "many seats as are left, once with any legal action by chance. Holds if the middle 90 % of the matches take "
        f"{LONG_DEALS[0]} to {LONG_DEALS[1]} deals, partly if the median does. true: holds everywhere. false: not even "
        "partly anywhere. depends: otherwise. open: fewer than "
        f"{FEW_MATCHES} matches. Matches cut off at Rules.max_deals count with what they had.",
    ),
}
"""The claims by key."""

LengthJudgement = Literal["holds", "partly", "fails", "open"]
_JUDGEMENTS = ("holds", "partly", "fails", "open")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of the report, with all that says of what."""

    rules: str
    claim: str
    """A key of `CLAIMS`, or `gain` for the gains of cards that no claim is about."""
    figure: str
    seats: int
    estimate: Estimate
    """With the 95 % interval of this figure alone."""
    judgement: Judgement | LengthJudgement | None = None
    """What the figure says of the claim, by the interval that holds in all cells at once; None: it is for reading."""
    card: str = ""
    position: int | None = None
    """Seats that act later; None: all positions, each with the same weight."""
    players: str = "threshold"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verdict on one claim for one ruleset."""

    rules: str
    claim: str
    verdict: Verdict
    because: str
    """Where it holds or fails, in words made from the figures."""


def find(rules: Rules, claim: str, figures: Sequence[Figure]) -> Finding:
    """The verdict that follows from the judged figures of one claim."""
    judged = [figure for figure in figures if figure.judgement is not None]
    if claim == "length":
        verdict = verdict_of_lengths([str(figure.judgement) for figure in judged])
    else:
        verdict = verdict_of([figure.judgement for figure in judged])  # type: ignore[misc]
    words = [f"{word} {_where(judged, word)}" for word in _JUDGEMENTS if judged and _where(judged, word)]
    if claim == "matador" and judged:
        num_lost = round(sum(figure.estimate.value * figure.estimate.num for figure in judged))
        num = sum(figure.estimate.num for figure in judged)
        words.append(f"read literally {'false' if num_lost else 'not refuted'}: {num_lost:,} of {num:,} lost a life")
    if claim == "dealer" and judged:
        words += [_strongest(figures, players) for players in dict.fromkeys(figure.players for figure in judged)]
    return Finding(rules=rules.name, claim=claim, verdict=verdict, because="; ".join(words) or _why_not(rules, claim))


def verdict_of_lengths(judgements: Sequence[str]) -> Verdict:
    """What the cells of match lengths (holds, partly, fails) say together.

    >>> verdict_of_lengths(["holds", "partly"]), verdict_of_lengths(["fails"])
    ('depends', 'false')
    """
    if not judgements:
        return "does not apply"
    if "open" in judgements:
        return "open"
    if all(judgement == "holds" for judgement in judgements):
        return "true"
    return "false" if all(judgement == "fails" for judgement in judgements) else "depends"


def judge_length(low: int, median: int, high: int, num_matches: int) -> LengthJudgement:
    """What the quantiles 5, 50 and 95 % of the deals of so many matches say of the claim; `open` if they are few.

    >>> judge_length(31, 40, 55, 1000), judge_length(20, 40, 55, 1000), judge_length(20, 29, 55, 1000)
    ('holds', 'partly', 'fails')
    """
    if num_matches < FEW_MATCHES:
        return "open"
    if LONG_DEALS[0] <= low and high <= LONG_DEALS[1]:
        return "holds"
    return "partly" if LONG_DEALS[0] <= median <= LONG_DEALS[1] else "fails"


def _why_not(rules: Rules, claim: str) -> str:
    """Why a claim has no cells."""
    if claim == "length":
        if rules.num_deals:
            return f"a match has no more than {rules.num_deals} deal{'s' if rules.num_deals > 1 else ''}"
        return f"{rules.name} is played by {rules.seat_limit} at most"
    if claim == "redirection":
        return "no card redirects, or none plain stands below those that do"
    return "no seat has such a card, or a choice with it, in this ruleset"


def _where(figures: Sequence[Figure], judgement: str) -> str:
    """Where figures were judged so: cards or figures, then seats, with the number of positions if not all."""
    if all(figure.judgement == judgement for figure in figures):
        return "everywhere"
    parts: list[str] = []
    for name in dict.fromkeys(_label(figure) for figure in figures):
        alike = [figure for figure in figures if _label(figure) == name]
        seats: list[str] = []
        for num_seats in dict.fromkeys(figure.seats for figure in alike):
            here = [figure for figure in alike if figure.seats == num_seats]
            num = sum(figure.judgement == judgement for figure in here)
            if num:
                seats.append(f"{num_seats}" if num == len(here) else f"{num_seats} ({num} of {len(here)} positions)")
        if all(figure.judgement == judgement for figure in alike):
            parts.append(f"{name} everywhere")
        elif seats:
            parts.append(f"{name} at {', '.join(seats)}")
    return " · ".join(parts)


def _strongest(figures: Sequence[Figure], players: str) -> str:
    """Where the dealer is the strongest seat among these players, and which seat is instead."""
    alike = [figure for figure in figures if figure.players == players]
    leads = [figure.seats for figure in alike if figure.figure == "lead" and figure.estimate.low > 0]
    best: dict[str, list[int]] = {}
    for figure in alike:
        if figure.figure.startswith("least loss") and figure.seats not in leads:
            behind = round(figure.estimate.value)
            name = "the dealer" if behind == 0 else "the eldest" if behind == figure.seats - 1 else f"{behind} behind"
            best.setdefault(name, []).append(figure.seats)
    least = [f"least loss {name} at {', '.join(map(str, seats))}" for name, seats in best.items()]
    strongest = f"at {', '.join(map(str, leads))}" if leads else "nowhere"
    return f"{players}: the dealer is clearly the strongest {strongest}{''.join(f', {words}' for words in least)}"


def _label(figure: Figure) -> str:
    """What tells figures of a claim apart, besides seats and position."""
    if figure.claim in ("dealer", "length"):
        return figure.players
    if figure.claim == "redirection":
        return figure.figure.partition(":")[0]
    return figure.card
