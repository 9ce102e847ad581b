"""From sums to a `Summary`: every figure with its interval, ranks, ratings, curves and matrices.

sums.py has added the entries up, bootstrap.py resamples the sums, ratings.py and metagame.py say what follows from
who was placed before whom; reports are made of the summary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.bootstrap import Resampled, draw_weights, holm, rank_intervals, share
from gnav_agents.arena.fields import INVASION, MIXED, SELF
from gnav_agents.arena.metagame import alpha_rank, find_cycle, nash_average
from gnav_agents.arena.plan import Plan
from gnav_agents.arena.ratings import elo, fit_strengths, resampled_strengths
from gnav_agents.arena.schedule import pair_spread
from gnav_agents.arena.summary import STATISTICS, Counts, Curve, FieldReport, Gain, Matrix, Metagame, Row, Summary
from gnav_agents.arena.sums import SHARES, SUMS, FieldSums
from gnav_agents.files import versions
from gnav_env.losses import loss_causes

__all__ = ["make_summary", "survival"]

_RATING_ZERO = "uniform"

NUM_SOLVED = 100
"""Resamples of the invasion matrix whose metagame is solved."""


@dataclass(frozen=True)
class _Figures:
    """What is known of each agent in one field, or on the average of several."""

    statistics: Resampled
    """[m, len(STATISTICS)]"""
    losses: Resampled
    """[m, causes]"""
    rating: Resampled | None
    """[m]"""
    entries: NDArray[np.int64]
    forfeits: NDArray[np.int64]


def make_summary(plan: Plan, sums: Sequence[FieldSums], gains: Mapping[int, Gain]) -> Summary:
    """What a tournament has found; `sums` are those of the plan's fields, in their order, `gains` by cell."""
    figures: list[_Figures] = []
    curves: list[Curve] = []
    outlived: list[Resampled] = []
    invaded: list[Resampled] = []
    first_kind = plan.fields[0].kind
    for number, added in enumerate(sums):
        # one kind of field has the same shoes at all numbers of seats, so the same draws too
        weights = draw_weights(added.num_groups, plan.seed, number // len(plan.seats))
        figures.append(_figures(plan, added, weights))
        if added.field.kind == first_kind:
            curves += _curves(plan, added, weights)
            if first_kind == MIXED and len(plan.names) > 1:
                outlived.append(_outlived(added, weights))
        if added.field.kind == INVASION:
            invaded.append(_invaded(plan, added, weights))
    num_first = len(plan.seats)
    leaderboard = _rows(
        plan, _mean_figures(figures[:num_first]), _gains(plan, gains, plan.seats), is_ranked=first_kind != SELF
    )
    order = [plan.names.index(row.agent) for row in leaderboard]
    invasion = Resampled.mean(invaded) if invaded else None
    return Summary(
        command=plan.command,
        plan=plan.describe(),
        versions=versions(),
        counts=Counts(
            matches=sum(added.num_matches for added in sums),
            cut_matches=sum(added.num_cut for added in sums),
            decisions=sum(added.num_decisions for added in sums),
            forfeits=sum(added.num_forfeits for added in sums),
        ),
        rating_zero=_RATING_ZERO if _RATING_ZERO in plan.names else "mean",
        leaderboard=leaderboard,
        fields=tuple(_field_report(plan, added, one, gains) for added, one in zip(sums, figures, strict=True)),
        survival=tuple(sorted(curves, key=lambda curve: (curve.num_seats, order.index(plan.names.index(curve.agent))))),
        outlive=_matrix(plan, order, Resampled.mean(outlived)) if outlived else None,
        invasion=_matrix(plan, order, invasion) if invasion is not None else None,
        metagame=_metagame(plan, order, invasion) if invasion is not None else None,
    )


def _figures(plan: Plan, added: FieldSums, weights: NDArray[np.float64]) -> _Figures:
    totals, num_agents = added.totals, len(plan.names)
    if added.field.kind == INVASION:  # a candidate's entries among all references
        totals = totals.reshape(added.num_groups, num_agents, num_agents, -1).sum(axis=2)
    of_whole, of_samples = totals.sum(axis=0), _resampled_sums(weights, totals)
    num_seats = added.field.num_seats
    deals = SUMS.index("deals")
    return _Figures(
        statistics=Resampled(_statistics(of_whole, num_seats), _statistics(of_samples, num_seats), added.num_groups),
        losses=Resampled(
            share(of_whole[..., len(SUMS) :], of_whole[..., [deals]]),
            share(of_samples[..., len(SUMS) :], of_samples[..., [deals]]),
            added.num_groups,
        ),
        rating=_rating(plan, added, weights) if added.field.kind == MIXED and num_agents > 1 else None,
        entries=of_whole[:, SUMS.index("entries")],
        forfeits=of_whole[:, SUMS.index("forfeits")],
    )


def _resampled_sums(weights: NDArray[np.float64], sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sums [G, ...] of each resample, [R, ...]: whole numbers below 2**53, so exact in whatever order."""
    flat = sums.reshape(len(sums), -1).astype(np.float64)
    return (weights @ flat).reshape(len(weights), *sums.shape[1:])


def _statistics(sums: NDArray[np.int64] | NDArray[np.float64], num_seats: int) -> NDArray[np.float64]:
    """`STATISTICS` of sums [..., len(SUMS) or more], [..., len(STATISTICS)]; see `summary.DEFINITIONS`."""
    of = {name: sums[..., number] for number, name in enumerate(SUMS)}
    found = {
        "relative_elimination_rate": share(of["times_seats"], of["of_all"]),
        "elimination_rate": share(of["eliminated"], of["entries"]),
        "hazard": 100 * share(of["eliminated"], of["at_risk"]),
        "placement": share(of["placement"], 2 * (num_seats - 1) * of["entries"]),
        "win_share": share(of["wins"], SHARES * of["entries"]),
        "early_elimination": share(of["first_out"], SHARES * of["entries"]),
        "loss_rate": share(of["lives_lost"], of["deals"]),
        "mean_deals": share(of["deals"], of["entries"]),
    }
    return np.stack([found[name] for name in STATISTICS], axis=-1)


def _rating(plan: Plan, added: FieldSums, weights: NDArray[np.float64]) -> Resampled:
    """Elo points; NaN for an agent that nothing ties to the one that has 0."""
    groups, agents, places = added.matches()
    strengths = fit_strengths(places, agents, len(plan.names), groups, added.num_groups)
    components = strengths.components
    zero = plan.names.index(_RATING_ZERO) if _RATING_ZERO in plan.names else None
    main = components == (components[zero] if zero is not None else np.bincount(components).argmax())
    values, samples = np.full(len(main), np.nan), np.full((len(weights), len(main)), np.nan)
    if main.sum() > 1:
        at = int(np.count_nonzero(main[:zero])) if zero is not None else None
        values[main] = elo(strengths.theta[main], at)
        samples[:, main] = elo(resampled_strengths(strengths, weights)[:, main], at)
    return Resampled(values, samples, added.num_groups)


def _mean_figures(parts: Sequence[_Figures]) -> _Figures:
    ratings = [part.rating for part in parts if part.rating is not None]
    return _Figures(
        statistics=Resampled.mean([part.statistics for part in parts]),
        losses=Resampled.mean([part.losses for part in parts]),
        rating=Resampled.mean(ratings) if ratings else None,
        entries=np.sum([part.entries for part in parts], axis=0),
        forfeits=np.sum([part.forfeits for part in parts], axis=0),
    )


def _gains(plan: Plan, gains: Mapping[int, Gain], seats: Sequence[int]) -> list[Gain | None]:
    """The gain of each agent, mean over numbers of seats; None if gains were not wanted."""
    num_agents = len(plan.names)
    if not gains:
        return [None] * num_agents
    first_cells = [plan.seats.index(num_seats) * num_agents for num_seats in seats]
    return [_mean_gain([gains[first + a] for first in first_cells]) for a in range(num_agents)]


def _mean_gain(gains: Sequence[Gain]) -> Gain:
    """The mean of an agent's gains over the numbers of seats; none if one of them is missing."""
    if len(gains) == 1:
        return gains[0]
    missing = next((gain for gain in gains if gain.value is None), None)
    if missing is not None:
        return Gain(agent=missing.agent, num_seats=0, how="none", reason=missing.reason)
    value = float(np.mean([gain.value for gain in gains if gain.value is not None]))
    if all(gain.how == "exact" for gain in gains):
        return Gain(agent=gains[0].agent, num_seats=0, how="exact", value=round(value, 6))
    halves = [(gain.high - gain.low) / 2 for gain in gains if gain.low is not None and gain.high is not None]
    half = float(np.sqrt(np.sum(np.square(halves)))) / len(gains)
    low, high = round(value - half, 6), round(value + half, 6)
    return Gain(agent=gains[0].agent, num_seats=0, how="bound", value=round(value, 6), low=low, high=high)


def _rows(plan: Plan, figures: _Figures, gains: Sequence[Gain | None], *, is_ranked: bool = True) -> tuple[Row, ...]:
    """The agents, best first; in the plan's order and all level if the field cannot rank them."""
    statistics, names = figures.statistics, plan.names
    num_agents = len(names)
    ranking = statistics[:, STATISTICS.index("relative_elimination_rate")]
    placement = statistics.values[:, STATISTICS.index("placement")]
    rate = np.where(np.isnan(ranking.values), np.inf, ranking.values)
    order = list(range(num_agents))
    low, high = np.ones(num_agents, np.int64), np.full(num_agents, num_agents)
    standing = ["level"] * num_agents
    if is_ranked:
        order.sort(key=lambda a: (rate[a], -np.nan_to_num(placement[a]), names[a]))
        low, high = rank_intervals(ranking)
        standing = ["behind" if is_behind else "level" for is_behind in _behind(ranking, order[0])]
        standing[order[0]] = "best"
    causes = loss_causes(plan.rules)
    return tuple(
        Row(
            rank=rank,
            rank_low=min(rank, int(low[a])),
            rank_high=max(rank, int(high[a])),
            standing=standing[a],
            agent=names[a],
            entries=int(figures.entries[a]),
            forfeits=int(figures.forfeits[a]),
            figures={name: statistics.estimate(a, k) for k, name in enumerate(STATISTICS)},
            losses={cause: figures.losses.estimate(a, k) for k, cause in enumerate(causes)},
            rating=figures.rating.estimate(a) if figures.rating is not None else None,
            gain=gains[a],
        )
        for rank, a in enumerate(order, start=1)
    )


def _behind(ranking: Resampled, best: int) -> list[bool]:
    """Which agents [m] are behind the best one beyond doubt, all pairs of agents being compared.

    All, since the best one has been picked by the same figures.
    """
    first, second = np.triu_indices(len(ranking.values), 1)
    certain = holm((ranking[first] - ranking[second]).certainty())
    others = np.concatenate([second[certain & (first == best)], first[certain & (second == best)]])
    return np.isin(np.arange(len(ranking.values)), others).tolist()


def _field_report(plan: Plan, added: FieldSums, figures: _Figures, gains: Mapping[int, Gain]) -> FieldReport:
    field = added.field
    return FieldReport(
        field=field.kind,
        num_seats=field.num_seats,
        num_blocks=field.num_blocks,
        num_matches=added.num_matches,
        pair_spread=pair_spread(field.line_ups, len(plan.names)) if field.kind == MIXED else None,
        rows=_rows(plan, figures, _gains(plan, gains, [field.num_seats]), is_ranked=field.kind != SELF),
    )


def _curves(plan: Plan, added: FieldSums, weights: NDArray[np.float64]) -> list[Curve]:
    curves: list[Curve] = []
    for number, name in enumerate(plan.names):
        exits, stayed = added.exits[:, number], added.stayed[:, number]
        whole, staying = exits.sum(axis=0), stayed.sum(axis=0)
        samples = survival(_resampled_sums(weights, exits), _resampled_sums(weights, stayed))
        curve = Resampled(survival(whole, staying), samples, added.num_groups)
        low, high = curve.ends if added.num_groups > 1 else (curve.values, curve.values)
        curves.append(
            Curve(
                num_seats=added.field.num_seats,
                agent=name,
                deals=tuple(range(1, len(whole) + 1)),
                alive=_rounded(curve.values),
                low=_rounded(low),
                high=_rounded(high),
                at_risk=tuple(_at_risk(whole, staying).astype(int).tolist()),
            )
        )
    return curves


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.round(values, 6).tolist())


_Sums = NDArray[np.int64] | NDArray[np.float64]


def _at_risk(exits: _Sums, stayed: _Sums) -> NDArray[Any]:
    """Entries not eliminated or cut off as each deal began, [..., T]."""
    left = exits.sum(axis=-1)
    return np.flip(np.cumsum(np.flip(left, axis=-1), axis=-1), axis=-1) + np.asarray(stayed)[..., np.newaxis]


def survival(exits: _Sums, stayed: _Sums) -> NDArray[np.float64]:
    """Kaplan-Meier estimate of the share that has not been eliminated after each deal, [..., T].

    `exits` [..., T, 2] are the entries eliminated in each deal, and those of matches that were cut off behind it,
    which are censored there; `stayed` [...] those whose match was over before they fell: they never do.
    """
    gone = share(exits[..., 0], _at_risk(exits, stayed))
    return np.cumprod(1 - np.nan_to_num(gone), axis=-1, dtype=np.float64)


def _outlived(added: FieldSums, weights: NDArray[np.float64]) -> Resampled:
    """The share of meetings in which the row agent outlived the column agent, [m, m]."""
    whole, samples = added.outlive.sum(axis=0), _resampled_sums(weights, added.outlive)
    return Resampled(share(whole[..., 0], whole[..., 1]), share(samples[..., 0], samples[..., 1]), added.num_groups)


def _invaded(plan: Plan, added: FieldSums, weights: NDArray[np.float64]) -> Resampled:
    """1 - relative elimination rate of the row agent among copies of the column agent, [m, m]."""
    num_agents = len(plan.names)
    columns = [SUMS.index("times_seats"), SUMS.index("of_all")]
    totals = added.totals[..., columns].reshape(added.num_groups, num_agents, num_agents, 2)
    whole, samples = totals.sum(axis=0), _resampled_sums(weights, totals)
    return Resampled(
        1 - share(whole[..., 0], whole[..., 1]), 1 - share(samples[..., 0], samples[..., 1]), added.num_groups
    )


def _matrix(plan: Plan, order: Sequence[int], figures: Resampled) -> Matrix:
    return Matrix(
        agents=tuple(plan.names[a] for a in order),
        cells=tuple(tuple(figures.estimate(a, b) for b in order) for a in order),
    )


def _metagame(plan: Plan, order: Sequence[int], invasion: Resampled) -> Metagame | None:
    """What follows from the invasion matrix; None if it has gaps, as after matches without any elimination."""
    payoffs = invasion.values[np.ix_(order, order)].copy()
    np.fill_diagonal(payoffs, 0)
    if np.isnan(payoffs).any():
        return None
    names = [plan.names[a] for a in order]
    rank_mass, weights = _mean_solutions(invasion, order)
    first, second = np.triu_indices(len(order), 1)
    there, back = np.asarray(order)[first], np.asarray(order)[second]
    lead = invasion[there, back] - invasion[back, there]
    certain = holm(lead.certainty())
    beats = np.zeros(payoffs.shape, np.bool_)
    beats[first, second] = certain & (lead.values > 0)
    beats[second, first] = certain & (lead.values < 0)
    return Metagame(
        alpha_rank=_by_name(names, rank_mass),
        nash=_by_name(names, weights),
        nash_value=_by_name(names, (payoffs - payoffs.T) / 2 @ weights),
        cycle=tuple(names[a] for a in find_cycle(beats)),
    )


def _mean_solutions(invasion: Resampled, order: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Alpha-rank and Nash averaging, [m] each: the mean over the matrix, which has no gaps, and its first resamples.

    Of the measured matrix alone they would follow the sign of what is noise.
    """
    masses: list[NDArray[np.float64]] = []
    weights: list[NDArray[np.float64]] = []
    for matrix in (*invasion.samples[:NUM_SOLVED], invasion.values):
        payoffs = matrix[np.ix_(order, order)].copy()
        np.fill_diagonal(payoffs, 0)
        if not np.isnan(payoffs).any():
            masses.append(alpha_rank(payoffs))
            weights.append(nash_average(payoffs)[0])
    return np.mean(masses, axis=0), np.mean(weights, axis=0)


def _by_name(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, float]:
    return {name: round(value, 6) + 0.0 for name, value in zip(names, values.tolist(), strict=True)}
