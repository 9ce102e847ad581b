"""What rule texts say about Gnav, put to the test: `study_tips` makes figures, and of the figures verdicts.

Six claims, each with a definition (`CLAIMS`) that says what is counted and where the line is. No verdict stands here:
they all come from figures.py's rule, or from `verdict_of_lengths` for the length of a match.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent, Masks, Observations, Policy, certain
from gnav_agents.counting import opponent_level
from gnav_agents.studies.cells import Grid
from gnav_agents.studies.deals import Choices, sample_challenges, sample_choices, sample_losses
from gnav_agents.studies.figures import (
    Estimate,
    Judgement,
    Verdict,
    all_at_once,
    judge_at_least,
    judge_at_most,
    mean_of,
    ratio_of,
    share_of,
    verdict_of,
)
from gnav_agents.studies.length import play_lengths, quantile
from gnav_agents.uniform import Uniform
from gnav_env.errors import GnavError
from gnav_env.observation import piece
from gnav_env.rules import Rules
from gnav_env.state import STAND

__all__ = [
    "CLAIMS",
    "Claim",
    "Figure",
    "Finding",
    "SelfConsistent",
    "num_steps",
    "study_tips",
    "verdict_of_lengths",
]

SAFE = 0.01
"""A matador is called safe if it loses a life in at most this share of deals."""
BY_FAR = 0.1
"""The dealer is called by far the strongest if it leads by at least this share of the mean loss."""
LONG_SEATS = range(15, 21)
LONG_DEALS = (30, 60)

_FEW = 30
"""A cell with fewer choices than this is open, whatever its interval."""
_DEALS_PER_SAMPLE = 10
"""Deals of all seats for each sample of a card at a position: they are cheap, and differences of seats are small."""
_LENGTH_STEPS = 40
"""What a cell of match lengths weighs in the progress, as cells of one card at one position."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the rule texts, and what is made of it here."""

    title: str
    definition: str


CLAIMS = {
    "matador": Claim(
        title="any matador is safe",
        definition="A seat is dealt a matador and never offers it. Counted: how often it loses a life in that deal, by "
        f"fine or showdown, over all positions. Holds for a rank at so many seats if that is at most {SAFE:.0%}. Beside "
        "it the same chance for any seat with any card, all seats playing the same threshold. Read literally (never), "
        "one lost life is enough to make the claim false.",
    ),
    "low": Claim(
        title="exchange 0 to III",
        definition="A seat that still has the card that it was dealt, 0 to III, chooses. Counted: lives that EXCHANGE "
        "gains over STAND on the same cards, its own less the average of the others'. Holds for a card, a position and "
        "a number of seats if that is above 0.",
    ),
    "high": Claim(
        title="stand with IX to XII",
        definition="The same with IX to XII. Holds for a card, a position and a number of seats if EXCHANGE gains less "
        "than nothing.",
    ),
    "dealer": Claim(
        title="the dealer's seat is by far the strongest",
        definition="All seats exchange below the same rank. Counted: lives lost a deal by position. The dealer leads by "
        "what the next best position loses more than it, deal by deal; holds at so many seats if the lead is at least "
        f"{BY_FAR:.0%} of the mean loss of all seats. It is called the strongest if the lead is above 0.",
    ),
    "redirection": Claim(
        title="redirection is worth seeking",
        definition="Two figures. Holding: a seat is dealt a redirecting card, or on otherwise the same cards the next "
        "plain card below the matadors, and keeps it; holds if it loses fewer lives with the redirecting card. Meeting: "
        "a seat before the dealer offers a card that is below the threshold; its neighbour has a plain card, or on "
        "otherwise the same cards a redirecting one; holds if the challenger loses fewer lives in the deal when it was "
        "redirected.",
    ),
    "length": Claim(
        title="15 to 20 players take 30 to 60 deals",
        definition="Matches of 15, 16 ... 20 seats, once with the threshold that is the best reply to itself for as "
        "many seats as are left, once with any legal action by chance. Holds if the middle 90 % of the matches take "
        f"{LONG_DEALS[0]} to {LONG_DEALS[1]} deals, partly if the median does. true: holds everywhere. false: not even "
        "partly anywhere. depends: otherwise. Matches cut off at Rules.max_deals count with what they had.",
    ),
}
"""The claims by key."""

LengthJudgement = Literal["holds", "partly", "fails"]


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


class SelfConsistent(Policy):
    """EXCHANGE below the threshold that is the best reply to itself for as many seats as have live cards."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: 1 for the action of the threshold, or for the other where that is illegal."""
        own = piece(observation, "own_card").argmax(axis=1)
        num_live = np.maximum(2, (piece(observation, "playing")[..., 0] > 0).sum(axis=1))
        levels = np.zeros(num_live.max() + 1, np.int64)
        for num_seats in np.unique(num_live).tolist():
            levels[num_seats] = opponent_level(self._rules, num_seats)
        return certain(own < levels[num_live], action_mask)


Progress = Callable[[int], None]


def study_tips(
    grid: Grid, num_samples: int, num_matches: int, seed: int, *, progress: Progress = lambda steps: None
) -> tuple[list[Figure], list[Finding]]:
    """Figures and findings for each ruleset of the grid; `progress` hears how many more of `num_steps` are done.

    Args:
        grid: rulesets and numbers of seats; the claim about 15 to 20 seats has its own.
        num_samples: deals for each card at each position, each played with both actions.
        num_matches: matches for each number of seats of the claim about their length.
        seed: 0 to 2**63 - 1.
        progress: see above.
    """
    for name, num in (("samples", num_samples), ("matches", num_matches)):
        if num < 2:
            raise GnavError(f"{name} must be 2 or more, not {num}")
    figures: list[Figure] = []
    findings: list[Finding] = []
    for rules in grid.rules:
        found = [
            *_study_cards(rules, grid.seats_of(rules), num_samples, seed, progress),
            *_study_seats(rules, grid.seats_of(rules), num_samples * _DEALS_PER_SAMPLE, seed),
            *_study_challenges(rules, grid.seats_of(rules), num_samples * _DEALS_PER_SAMPLE, seed),
            *_study_length(rules, num_matches, seed, progress),
        ]
        figures += found
        findings += [find(rules, claim, [f for f in found if f.claim == claim]) for claim in CLAIMS]
    return figures, findings


def num_steps(grid: Grid) -> int:
    """What `progress` will have heard in the end."""
    return sum(
        sum(len(_cards_dealt(rules)) * num_seats for num_seats in grid.seats_of(rules))
        + _LENGTH_STEPS * 2 * len(_long_seats(rules))
        for rules in grid.rules
    )


def find(rules: Rules, claim: str, figures: Sequence[Figure]) -> Finding:
    """The verdict that follows from the judged figures of one claim."""
    judged = [figure for figure in figures if figure.judgement is not None]
    if claim == "length":
        verdict = verdict_of_lengths([str(figure.judgement) for figure in judged])
    else:
        verdict = verdict_of([figure.judgement for figure in judged])  # type: ignore[misc]
    words = [f"{word} {_where(judged, word)}" for word in ("holds", "partly", "fails", "open") if _where(judged, word)]
    if claim == "matador" and judged:
        num_lost = round(sum(figure.estimate.value * figure.estimate.num for figure in judged))
        num = sum(figure.estimate.num for figure in judged)
        words.append(f"read literally {'false' if num_lost else 'not refuted'}: {num_lost:,} of {num:,} lost a life")
    if claim == "dealer" and judged:
        leads = [figure for figure in figures if figure.figure == "lead" and figure.estimate.low > 0]
        words.append(f"the strongest at {', '.join(str(figure.seats) for figure in leads) or 'none'}")
    return Finding(rules=rules.name, claim=claim, verdict=verdict, because="; ".join(words) or _why_not(rules, claim))


def verdict_of_lengths(judgements: Sequence[str]) -> Verdict:
    """What the cells of match lengths (holds, partly, fails) say together.

    >>> verdict_of_lengths(["holds", "partly"]), verdict_of_lengths(["fails"])
    ('depends', 'false')
    """
    if not judgements:
        return "does not apply"
    if all(judgement == "holds" for judgement in judgements):
        return "true"
    return "false" if all(judgement == "fails" for judgement in judgements) else "depends"


def judge_length(low: int, median: int, high: int) -> LengthJudgement:
    """What the quantiles 5, 50 and 95 % of deals say of the claim.

    >>> judge_length(31, 40, 55), judge_length(20, 40, 55), judge_length(20, 29, 55)
    ('holds', 'partly', 'fails')
    """
    if LONG_DEALS[0] <= low and high <= LONG_DEALS[1]:
        return "holds"
    return "partly" if LONG_DEALS[0] <= median <= LONG_DEALS[1] else "fails"


# ----------------------------------------------------------------------------------------------- cards at positions


def _study_cards(
    rules: Rules, seats: Sequence[int], num_samples: int, seed: int, progress: Progress
) -> list[Figure]:
    """The claims about cards: `matador`, `low`, `high`, what holds for other cards, and holding in `redirection`."""
    figures: list[Figure] = []
    redirecting, plain = _redirecting(rules), _next_plain(rules)
    named = {claim: [rank for rank in ranks if rank in rules.deck] for claim, ranks in _BANDS.items()}
    num_cells = {claim: len(ranks) * sum(seats) for claim, ranks in named.items()}
    for num_seats in seats:
        level = opponent_level(rules, num_seats)
        lost: dict[str, list[NDArray[np.int64]]] = {rank: [] for rank in _cards_dealt(rules)}
        lost_kept: dict[str, list[NDArray[np.int64]]] = {rank: [] for rank in _cards_dealt(rules)}
        for rank in _cards_dealt(rules):
            claim = next((claim for claim, ranks in named.items() if rank in ranks), "gain")
            gains: list[Choices] = []
            for position in range(num_seats):
                number = rules.rank_numbers[rank]
                choices = sample_choices(rules, num_seats, level, seed, position, number, num_samples)
                lost[rank].append(choices.lost[:, STAND])
                lost_kept[rank].append(choices.lost[choices.kept, STAND])
                gains.append(choices)
                progress(1)
            figures += _gains(rules, claim, rank, gains, num_cells.get(claim, 1))
        figures += _matadors(rules, num_seats, len(seats), lost_kept)
        if redirecting and plain:
            with_redirecting = np.mean([np.concatenate(lost[rank]) for rank in redirecting], axis=0)
            with_plain = np.concatenate(lost[plain])
            kinds = (f"lives lost with {_names(rules, redirecting)}", f"lives lost with {_names(rules, [plain])}")
            figures += _compared(rules, num_seats, 2 * len(seats), "holding", kinds, with_redirecting, with_plain)
    return figures


_BANDS = {"low": ("3", "2", "1", "0"), "high": ("12", "11", "10", "9")}
"""The cards that a claim about choices names."""


def _gains(rules: Rules, claim: str, rank: str, by_position: Sequence[Choices], num_cells: int) -> list[Figure]:
    """What EXCHANGE gains with a card, by position and over those where there was a choice."""
    figures: list[Figure] = []
    sign = -1 if claim == "high" else 1
    told: dict[str, Any] = {
        "rules": rules.name,
        "claim": claim,
        "seats": len(by_position),
        "card": rules.card_name(rank),
    }
    for position, choices in enumerate(by_position):
        gain = choices.gain
        if gain.size == 0:
            continue
        is_judged = claim != "gain"
        judgement = judge_at_least(0, mean_of(sign * gain, all_at_once(num_cells))) if is_judged else None
        if is_judged and gain.size < _FEW:
            judgement = "open"
        figures.append(
            Figure(figure="gain of EXCHANGE", estimate=mean_of(gain), judgement=judgement, position=position, **told)
        )
    if figures:
        over_all = _average([figure.estimate for figure in figures])
        figures.append(Figure(figure="gain of EXCHANGE", estimate=over_all, **told))
    return figures


def _matadors(
    rules: Rules, num_seats: int, num_cells: int, lost: dict[str, list[NDArray[np.int64]]]
) -> list[Figure]:
    """How often a matador that was kept lost a life at so many seats, by rank and for any."""
    figures: list[Figure] = []
    weights: list[int] = []
    told: dict[str, Any] = {
        "rules": rules.name,
        "claim": "matador",
        "seats": num_seats,
        "figure": "chance to lose a life",
    }
    for rank in rules.matadors:
        kept = np.concatenate(lost[rank]) if rank in lost else np.empty(0, np.int64)
        if kept.size == 0:
            continue
        count, num = int(np.count_nonzero(kept)), len(kept)
        judgement = judge_at_most(SAFE, share_of(count, num, all_at_once(num_cells * len(rules.matadors))))
        estimate = share_of(count, num)
        figures.append(Figure(estimate=estimate, judgement=judgement, card=rules.card_name(rank), **told))
        weights.append(rules.deck[rank])
    if figures:
        over_all = _average([figure.estimate for figure in figures], weights)
        figures.append(Figure(estimate=over_all, card="any matador", **told))
    return figures


def _compared(
    rules: Rules,
    num_seats: int,
    num_cells: int,
    what: str,
    kinds: tuple[str, str],
    redirecting: NDArray[Any],
    plain: NDArray[Any],
) -> list[Figure]:
    """Lives lost [N] with redirection and without, on the same cards, and the judged difference."""
    told: dict[str, Any] = {"rules": rules.name, "claim": "redirection", "seats": num_seats}
    fewer = plain - redirecting
    judgement = judge_at_least(0, mean_of(fewer, all_at_once(num_cells))) if len(fewer) >= _FEW else "open"
    return [
        Figure(figure=f"{what}: {kinds[0]}", estimate=mean_of(redirecting), **told),
        Figure(figure=f"{what}: {kinds[1]}", estimate=mean_of(plain), **told),
        Figure(figure=f"{what}: fewer lost", estimate=mean_of(fewer), judgement=judgement, **told),
    ]


def _average(estimates: Sequence[Estimate], weights: Sequence[int] | None = None) -> Estimate:
    """The weighted mean of independent estimates, with the normal interval."""
    share = np.ones(len(estimates)) if weights is None else np.array(weights, float)
    share /= share.sum()
    value = float(sum(w * e.value for w, e in zip(share, estimates, strict=True)))
    error = float(np.sqrt(sum((w * e.error) ** 2 for w, e in zip(share, estimates, strict=True))))
    reach = 1.96 * error
    num = sum(e.num for e in estimates)
    return Estimate(value=value, error=error, low=value - reach, high=value + reach, num=num)


# ----------------------------------------------------------------------------------- seats, challenges, whole matches


def _study_seats(rules: Rules, seats: Sequence[int], num_deals: int, seed: int) -> list[Figure]:
    """The claim `dealer`, and what a matador's risk is compared with."""
    figures: list[Figure] = []
    for num_seats in seats:
        lost = sample_losses(rules, num_seats, opponent_level(rules, num_seats), seed, num_deals)
        told: dict[str, Any] = {"rules": rules.name, "seats": num_seats}
        if rules.matadors:
            chance = mean_of((lost > 0).mean(axis=1))
            figures.append(
                Figure(claim="matador", figure="chance to lose a life", card="any card", estimate=chance, **told)
            )
        told["claim"] = "dealer"
        figures += [
            Figure(figure="lives lost a deal", estimate=mean_of(lost[:, position]), position=position, **told)
            for position in range(num_seats)
        ]
        every = lost.mean(axis=1)
        lead = lost[:, 1 + int(lost[:, 1:].mean(axis=0).argmin())] - lost[:, 0]
        share = ratio_of(lead, every, all_at_once(len(seats)))
        figures += [
            Figure(figure="lives lost a deal by the dealer", estimate=mean_of(lost[:, 0]), **told),
            Figure(figure="lives lost a deal by the eldest", estimate=mean_of(lost[:, -1]), **told),
            Figure(figure="lives lost a deal by any seat", estimate=mean_of(every), **told),
            Figure(figure="lead", estimate=mean_of(lead), **told),
            Figure(
                figure="lead / loss of any seat",
                estimate=ratio_of(lead, every),
                judgement=judge_at_least(BY_FAR, share),
                **told,
            ),
        ]
    return figures


def _study_challenges(rules: Rules, seats: Sequence[int], num_samples: int, seed: int) -> list[Figure]:
    """Meeting a redirecting card, in the claim `redirection`."""
    figures: list[Figure] = []
    if not _redirecting(rules) or not _next_plain(rules):
        return figures
    for num_seats in seats:
        lost, _ = sample_challenges(rules, num_seats, opponent_level(rules, num_seats), seed, num_samples)
        if len(lost):
            kinds = ("lives lost when redirected", "lives lost when traded at once")
            figures += _compared(rules, num_seats, 2 * len(seats), "meeting", kinds, lost[:, 1], lost[:, 0])
    return figures


def _study_length(rules: Rules, num_matches: int, seed: int, progress: Progress) -> list[Figure]:
    """The claim `length`."""
    figures: list[Figure] = []
    players: dict[str, Agent] = {"threshold": SelfConsistent(rules), "uniform": Uniform()}
    for name, agent in players.items():
        for num_seats in _long_seats(rules):
            lengths = play_lengths(rules, num_seats, [agent], num_matches, seed)
            told: dict[str, Any] = {"rules": rules.name, "claim": "length", "seats": num_seats, "players": name}
            low, median, high = (quantile(lengths.deals, share) for share in (0.05, 0.5, 0.95))
            figures += [
                Figure(
                    figure="deals, mean",
                    estimate=mean_of(lengths.deals),
                    judgement=judge_length(low, median, high),
                    **told,
                ),
                *(
                    Figure(figure=f"deals, {word}", estimate=_exact(number, num_matches), **told)
                    for word, number in (("5 %", low), ("median", median), ("95 %", high))
                ),
                Figure(figure="cut off", estimate=share_of(int(lengths.is_cut.sum()), num_matches), **told),
            ]
            progress(_LENGTH_STEPS)
    return figures


def _exact(value: float, num: int) -> Estimate:
    """A figure that is given without an interval."""
    return Estimate(value=value, error=np.nan, low=np.nan, high=np.nan, num=num)


# ------------------------------------------------------------------------------------------------- what the rules have


def _cards_dealt(rules: Rules) -> list[str]:
    """Ranks that can be dealt, high to low."""
    return [rank for rank, copies in rules.deck.items() if copies]


def _redirecting(rules: Rules) -> list[str]:
    """Ranks that redirect when a seat that holds one is asked, high to low."""
    return [rank for rank in _cards_dealt(rules) if rules.effect(rank).redirect]


def _next_plain(rules: Rules) -> str | None:
    """The highest rank below all matadors that trades and means nothing special; None if there is none."""
    odd = {*rules.matadors, *rules.immune, *rules.when_exchanged, *(special.rank for special in rules.specials)}
    lowest = min((rules.rank_numbers[rank] for rank in rules.matadors), default=0)
    below = (rank for rank in _cards_dealt(rules) if rules.rank_numbers[rank] < lowest and rank not in odd)
    return next(below, None)


def _long_seats(rules: Rules) -> list[int]:
    """The numbers of seats of the claim about length that the ruleset can be played by, if it has no fixed length."""
    return [n for n in LONG_SEATS if rules.min_players <= n <= rules.seat_limit and rules.num_deals == 0]


def _names(rules: Rules, ranks: Sequence[str]) -> str:
    return " or ".join(rules.card_name(rank) for rank in ranks)


def _why_not(rules: Rules, claim: str) -> str:
    """Why a claim has no cells."""
    if claim == "length":
        if rules.num_deals:
            return f"a match ends after {rules.num_deals} deals at most"
        return f"{rules.name} is played by {rules.seat_limit} at most"
    if claim == "redirection":
        return "no card redirects, or none plain stands below those that do"
    return "no seat has such a card, or a choice with it, in this ruleset"


def _where(figures: Sequence[Figure], judgement: str) -> str:
    """Where figures were judged so: cards or figures, then seats, with the number of positions if not all."""
    parts: list[str] = []
    for name in dict.fromkeys(_label(figure) for figure in figures):
        alike = [figure for figure in figures if _label(figure) == name]
        seats: list[str] = []
        for num_seats in dict.fromkeys(figure.seats for figure in alike):
            here = [figure for figure in alike if figure.seats == num_seats]
            num = sum(figure.judgement == judgement for figure in here)
            if num:
                seats.append(f"{num_seats}" if num == len(here) else f"{num_seats} ({num} of {len(here)} positions)")
        if seats:
            parts.append(f"{name}{' ' if name else ''}at {', '.join(seats)}")
    return ", ".join(parts) if len(parts) < 2 else " · ".join(parts)


def _label(figure: Figure) -> str:
    """What tells figures of a claim apart, besides seats and position."""
    if figure.claim == "length":
        return figure.players
    if figure.claim == "redirection":
        return figure.figure.partition(":")[0]
    return figure.card
