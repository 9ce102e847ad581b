"""Plackett-Luce strengths of agents, fitted to the places of all matches at once, and what resampling does to them.

The strengths do not depend on the order of the matches, unlike Elo's running update. figures.py resamples them with
the same weights of blocks as everything else and puts them on the Elo scale; metagame.py looks at who beats whom where
one number an agent does not say it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gnav_env._jit import kernel
from gnav_env.errors import GnavError

__all__ = ["ELO_PER_UNIT", "RIDGE", "Strengths", "elo", "fit_strengths", "resampled_strengths"]

ELO_PER_UNIT = 400 / np.log(10)
"""Elo points for a lead of 1 in log strength: 400 points are odds of 10 to 1."""

RIDGE = 1e-3
"""The fit maximises log-likelihood - RIDGE / 2 * sum of squared theta.

As strong as a prior with a standard deviation of 32, or 5,500 Elo points: it moves no agent that has both won and lost
by what could be seen, and keeps the others finite.
"""

_MAX_STEPS = 200
_CLOSE_ENOUGH = 1e-8
"""The last step, in log strength; what is left is about its square."""


@dataclass(frozen=True)
class Strengths:
    """The fit for m agents and G groups of matches."""

    theta: NDArray[np.float64]
    """Log strengths, [m], mean 0; an agent is placed before another with the odds exp(difference) to 1."""

    scores: NDArray[np.float64]
    """Gradient of each group's log-likelihood at theta, [G, m]."""

    information: NDArray[np.float64]
    """Minus the second derivatives of the log-likelihood at theta, ridge included, [m, m]."""

    components: NDArray[np.int64]
    """[m], 0 or more; only agents with the same number are compared by what they have done.

    Those of one component have, directly or through others, been placed before each other in both directions (ties
    count as both). Between components the maximum of the likelihood lies at infinity (Ford, American Mathematical
    Monthly 64(8), 1957): an agent that always lost is a component of its own, and how far below the others it stands,
    and how surely, is the ridge's doing.
    """


def fit_strengths(
    places: ArrayLike, agents: ArrayLike, num_agents: int, groups: ArrayLike, num_groups: int
) -> Strengths:
    """Maximum likelihood strengths of `num_agents` agents under Plackett-Luce, the winner being chosen first.

    `places` [M, S], lower is better, seats that fell together have the same; `agents` [M, S] who sat there, several
    seats may have the same agent; `groups` [M] to which group (of those that are resampled together) a match belongs.
    Ties by Efron's rule (Journal of the American Statistical Association 72, 1977): the likelihood is Cox's partial
    likelihood with matches as strata and places as times. `GnavError` if the arrays do not fit together.

    Newton's method with the step length ln(1 + b) / b, where b is the range of the step: it converges from anywhere
    (Sun and Tran-Dinh, Mathematical Programming 178, 2019), since the third derivatives of a log-sum-exp along a step
    are at most the step's range times the second ones.
    """
    seat_places, seat_agents, match_groups = _checked(places, agents, num_agents, groups, num_groups)
    order = np.argsort(seat_places, axis=1, kind="stable")
    seat_places = np.take_along_axis(seat_places, order, axis=1)
    seat_agents = np.take_along_axis(seat_agents, order, axis=1)
    theta = np.zeros(num_agents)
    for _ in range(_MAX_STEPS):
        scores, information = _derivatives(seat_places, seat_agents, match_groups, num_groups, theta)
        step = np.linalg.solve(information, scores.sum(axis=0) - RIDGE * theta)
        span = float(np.ptp(step))
        if span < _CLOSE_ENOUGH:
            break
        theta = theta + np.log1p(span) / span * step
        theta -= theta.mean()
    scores, information = _derivatives(seat_places, seat_agents, match_groups, num_groups, theta)
    return Strengths(theta, scores, information, _components(seat_places, seat_agents, num_agents))


def resampled_strengths(strengths: Strengths, weights: ArrayLike) -> NDArray[np.float64]:
    """Strengths for resamples of the groups, [R, m]; `weights` [R, G] says how often each group was drawn.

    One Newton step from theta with the information kept, instead of a fit for each resample: the score bootstrap
    (Kline and Santos, Journal of Econometric Methods 1(1), 2012), with the bootstrap's counts less 1 as its weights.
    """
    extra = np.asarray(weights, np.float64) - 1
    if extra.ndim != 2 or extra.shape[1] != len(strengths.scores):
        raise GnavError(f"weights must have one column for each of {len(strengths.scores)} groups, not {extra.shape}")
    return strengths.theta + np.linalg.solve(strengths.information, (extra @ strengths.scores).T).T


def elo(theta: ArrayLike, zero: int | None) -> NDArray[np.float64]:
    """Elo points of log strengths [..., m]: those of agent `zero` are 0 (None: their mean is)."""
    values = np.asarray(theta, np.float64)
    origin = values.mean(axis=-1, keepdims=True) if zero is None else values[..., [zero]]
    return ELO_PER_UNIT * (values - origin)


def _checked(
    places: ArrayLike, agents: ArrayLike, num_agents: int, groups: ArrayLike, num_groups: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """`places`, `agents` and `groups` as arrays that belong together; `GnavError` if they do not."""
    seat_places = np.asarray(places, np.float64)
    seat_agents, match_groups = np.asarray(agents), np.asarray(groups)
    if seat_places.ndim != 2 or seat_agents.shape != seat_places.shape or match_groups.shape != seat_places.shape[:1]:
        shapes = f"{seat_places.shape}, {seat_agents.shape}, {match_groups.shape}"
        raise GnavError(f"places, agents and groups must have the shapes [M, S], [M, S] and [M], not {shapes}")
    if not np.isfinite(seat_places).all():
        raise GnavError("places must be finite numbers: every seat of a match has one")
    for name, numbers, limit in (("agents", seat_agents, num_agents), ("groups", match_groups, num_groups)):
        if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= limit):
            raise GnavError(f"{name} must be whole numbers from 0 to {limit - 1}")
    return seat_places, seat_agents.astype(np.int64), match_groups.astype(np.int64)


def _derivatives(
    places: NDArray[np.float64],
    agents: NDArray[np.int64],
    groups: NDArray[np.int64],
    num_groups: int,
    theta: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores by group [G, m] and the information with the ridge [m, m] at `theta`; seats in order of place."""
    scores = np.zeros((num_groups, len(theta)))
    information = RIDGE * np.identity(len(theta))
    score_all(places, agents, groups, np.exp(theta), scores, information)
    return scores, information


@kernel
def score_all(places: Any, agents: Any, groups: Any, strength: Any, scores: Any, information: Any) -> None:
    """To `scores` [G, m] and `information` [m, m] what each match says has been added.

    Places and agents [M, S] are sorted by place. Of d seats that tie, Efron takes the first to be chosen among them
    and all worse seats, the next one when 1 / d of each of them is gone, and so on: d choices with the sums of
    strengths worse + (1 - k / d) tied, k = 0 ... d - 1. The sums over choices that a seat's derivatives need are
    running sums over the better places and a part for its own.
    """
    num_matches, num_seats = places.shape
    rest = np.zeros(num_seats + 1)
    for match in range(num_matches):
        seat, group = agents[match], groups[match]
        for i in range(num_seats - 1, -1, -1):
            rest[i] = rest[i + 1] + strength[seat[i]]
        once, twice = 0.0, 0.0  # sums of 1 / sum of strengths and of its square, over the choices of better places
        first = 0
        for end in range(1, num_seats + 1):
            if end < num_seats and places[match, end] == places[match, first]:
                continue
            tied, worse = rest[first] - rest[end], rest[end]
            all_once, all_twice, own_once, mixed_twice, own_twice = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(end - first):
                there = 1 - k / (end - first)
                inverse = 1 / (worse + there * tied)
                all_once += inverse
                all_twice += inverse * inverse
                own_once += there * inverse
                mixed_twice += there * inverse * inverse
                own_twice += there * there * inverse * inverse
            for i in range(first, end):
                a = seat[i]
                expected = strength[a] * (once + own_once)
                scores[group, a] += 1 - expected
                information[a, a] += expected
                for j in range(first, end):
                    information[a, seat[j]] -= strength[a] * strength[seat[j]] * (twice + own_twice)
                for j in range(end, num_seats):
                    both = strength[a] * strength[seat[j]] * (twice + mixed_twice)
                    information[a, seat[j]] -= both
                    information[seat[j], a] -= both
            once += all_once
            twice += all_twice
            first = end


def _components(places: NDArray[np.float64], agents: NDArray[np.int64], num_agents: int) -> NDArray[np.int64]:
    """See `Strengths.components`; seats in order of place, in which neighbours are enough to reach all others."""
    better, worse = agents[:, :-1], agents[:, 1:]
    is_tie = places[:, :-1] == places[:, 1:]
    before = np.concatenate([better.ravel(), worse[is_tie]])
    behind = np.concatenate([worse.ravel(), better[is_tie]])
    graph = coo_array((np.ones(len(before)), (before, behind)), shape=(num_agents, num_agents))
    return connected_components(graph, directed=True, connection="strong")[1].astype(np.int64)
