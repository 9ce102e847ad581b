"""What rule texts say about Gnav, put to the test: `study_tips` makes figures, and of the figures verdicts.

claims.py says what the claims are, deals.py plays the deals. Here they are counted, and each figure is judged.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent, Masks, Observations, Policy, certain
from gnav_agents.counting import Counting
from gnav_agents.opponents import opponent_level
from gnav_agents.studies.cells import Grid
from gnav_agents.studies.claims import BY_FAR, CLAIMS, LONG_SEATS, SAFE, Figure, Finding, find, judge_length
from gnav_agents.studies.deals import Choices, sample_challenges, sample_choices, sample_losses
from gnav_agents.studies.figures import (
    Estimate,
    all_at_once,
    judge_at_least,
    judge_at_most,
    mean_of,
    ratio_of,
    share_of,
)
from gnav_agents.studies.length import BATCH, play_lengths, play_out, quantile
from gnav_agents.uniform import Uniform
from gnav_env.errors import GnavError
from gnav_env.observation import piece
from gnav_env.rules import Rules
from gnav_env.state import STAND
from gnav_env.vector import Tables

__all__ = ["SelfConsistent", "num_steps", "study_tips"]

_FEW = 30
"""A cell with fewer choices than this is open, whatever its interval."""
_DEALS_PER_SAMPLE = 10
"""Deals of all seats for each sample of a card at a position: they are cheap, and differences of seats are small."""
_SEAT_STEPS, _LENGTH_STEPS = 30, 40
"""What a number of seats weighs in the progress, in units of one card at one position."""


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
    """Figures and findings for each ruleset that the grid has seats for.

    Args:
        grid: rulesets and numbers of seats; the claim about 15 to 20 seats has its own.
        num_samples: deals for each card at each position, each played with both actions.
        num_matches: matches for each number of seats of the claim about their length.
        seed: 0 to 2**63 - 1.
        progress: hears how many more of `num_steps` are done.
    """
    for name, num in (("samples", num_samples), ("matches", num_matches)):
        if num < 2:
            raise GnavError(f"{name} must be 2 or more, not {num}")
    figures: list[Figure] = []
    findings: list[Finding] = []
    for rules in filter(grid.seats_of, grid.rules):
        found = [
            *_study_cards(rules, grid.seats_of(rules), num_samples, seed, progress),
            *_study_seats(rules, grid.seats_of(rules), num_samples, seed, progress),
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
        + _SEAT_STEPS * len(grid.seats_of(rules))
        + _LENGTH_STEPS * 2 * len(_long_seats(rules))
        for rules in filter(grid.seats_of, grid.rules)
    )


# ----------------------------------------------------------------------------------------------- cards at positions


def _study_cards(rules: Rules, seats: Sequence[int], num_samples: int, seed: int, progress: Progress) -> list[Figure]:
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
            kinds = (f"loss with {_names(rules, redirecting)}", f"loss with {_names(rules, [plain])}")
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


def _matadors(rules: Rules, num_seats: int, num_cells: int, lost: dict[str, list[NDArray[np.int64]]]) -> list[Figure]:
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


def _study_seats(rules: Rules, seats: Sequence[int], num_samples: int, seed: int, progress: Progress) -> list[Figure]:
    """The claim `dealer`, and what a matador's risk is compared with."""
    figures: list[Figure] = []
    for num_seats in seats:
        level = opponent_level(rules, num_seats)
        lost = sample_losses(rules, num_seats, level, seed, num_samples * _DEALS_PER_SAMPLE)
        if rules.matadors:
            told: dict[str, Any] = {"rules": rules.name, "seats": num_seats, "claim": "matador", "card": "any card"}
            figures.append(Figure(figure="chance to lose a life", estimate=mean_of((lost > 0).mean(axis=1)), **told))
        figures += _positions(rules, "threshold", lost, 2 * len(seats))
        counting = _lost_by_position(rules, num_seats, Counting(rules), seed, num_samples)
        figures += _positions(rules, "counting", counting, 2 * len(seats))
        progress(_SEAT_STEPS)
    return figures


def _lost_by_position(rules: Rules, num_seats: int, agent: Agent, seed: int, num_deals: int) -> NDArray[np.int64]:
    """Lives paid in the first deals of matches, all seats played by `agent`, [num_deals, S]: dealer first."""
    lost = np.zeros((num_deals, num_seats), np.int64)
    for first in range(0, num_deals, BATCH):
        matches = np.arange(first, min(num_deals, first + BATCH))
        tables = Tables(rules, num_seats, len(matches), seed=seed, episode="deal", restart=False)
        play_out(tables, matches, [("counting", agent)])
        direction = int(rules.compiled["direction"][0])
        dealer = tables.records["dealer"].astype(np.int64)[:, np.newaxis]
        seat = (dealer - direction * np.arange(num_seats)) % num_seats
        lost[matches] = np.take_along_axis(tables.records["seats"]["lost"].astype(np.int64), seat, axis=1)
    return lost


def _positions(rules: Rules, players: str, lost: NDArray[np.int64], num_cells: int) -> list[Figure]:
    """The figures of the claim `dealer` from lives paid in deals, `lost` [N, S]: dealer first."""
    num_seats = lost.shape[1]
    told: dict[str, Any] = {"rules": rules.name, "claim": "dealer", "seats": num_seats, "players": players}
    every, loss = lost.mean(axis=1), lost.mean(axis=0)
    best_other = 1 + int(loss[1:].argmin())
    lead = lost[:, best_other] - lost[:, 0]
    judgement = judge_at_least(BY_FAR, ratio_of(lead, every, all_at_once(num_cells)))
    return [
        *(
            Figure(figure="loss", estimate=mean_of(lost[:, position]), position=position, **told)
            for position in range(num_seats)
        ),
        Figure(figure="dealer's loss", estimate=mean_of(lost[:, 0]), **told),
        Figure(figure="eldest's loss", estimate=mean_of(lost[:, -1]), **told),
        Figure(figure="mean loss", estimate=mean_of(every), **told),
        Figure(figure="least loss, seats behind", estimate=_exact(int(loss.argmin()), len(lost)), **told),
        Figure(figure="lead", estimate=mean_of(lead), **told),
        Figure(figure="lead / mean loss", estimate=ratio_of(lead, every), judgement=judgement, **told),
    ]


def _study_challenges(rules: Rules, seats: Sequence[int], num_samples: int, seed: int) -> list[Figure]:
    """Meeting a redirecting card, in the claim `redirection`."""
    figures: list[Figure] = []
    if not _redirecting(rules) or not _next_plain(rules):
        return figures
    for num_seats in seats:
        lost, _ = sample_challenges(rules, num_seats, opponent_level(rules, num_seats), seed, num_samples)
        if len(lost):
            kinds = ("loss if redirected", "loss if traded")
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
                    judgement=judge_length(low, median, high, num_matches),
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
    return [n for n in LONG_SEATS if rules.can_seat(n) and rules.num_deals == 0]


def _names(rules: Rules, ranks: Sequence[str]) -> str:
    return " or ".join(rules.card_name(rank) for rank in ranks)
