"""From sums to a `Summary`: every figure with its interval, ranks, ratings, curves and matrices.

sums.py has added the entries up, bootstrap.py resamples the sums, ratings.py and metagame.py say what follows from
who was placed before whom; reports are made of the summary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.bootstrap import Resampled, draw_weights, holm, rank_intervals, share
from gnav_agents.arena.fields import INVASION, MIXED
from gnav_agents.arena.metagame import alpha_rank, find_cycle, nash_average
from gnav_agents.arena.plan import Plan
from gnav_agents.arena.ratings import elo, fit_strengths, resampled_strengths
from gnav_agents.arena.schedule import pair_spread
from gnav_agents.arena.summary import STATISTICS, Counts, Curve, FieldReport, Matrix, Metagame, Row, Summary
from gnav_agents.arena.sums import SHARES, SUMS, FieldSums
from gnav_agents.files import versions
from gnav_env.losses import loss_causes

__all__ = ["make_summary", "survival"]

_RATING_ZERO = "uniform"


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


def make_summary(plan: Plan, sums: Sequence[FieldSums]) -> Summary:
    """What a tournament has found; `sums` are those of the plan's fields, in their order."""
    figures: list[_Figures] = []
    curves: list[Curve] = []
    outlived: list[Resampled] = []
    invaded: list[Resampled] = []
    first_kind = plan.fields[0].kind
    for number, added in enumerate(sums):
        weights = draw_weights(added.num_groups, plan.seed, number)
        figures.append(_figures(plan, added, weights))
        if added.field.kind == first_kind:
            curves += _curves(plan, added, weights)
            if first_kind == MIXED and len(plan.names) > 1:
                outlived.append(_outlived(added, weights))
        if added.field.kind == INVASION:
            invaded.append(_invaded(plan, added, weights))
    num_first = len(plan.seats)
    leaderboard = _rows(plan, _mean_figures(figures[:num_first]))
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
        fields=tuple(_field_report(plan, added, one) for added, one in zip(sums, figures, strict=True)),
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
    zero = plan.names.index(_RATING_ZERO) if _RATING_ZERO in plan.names else None
    values = elo(strengths.theta, zero)
    samples = elo(resampled_strengths(strengths, weights), zero)
    main = strengths.components[zero] if zero is not None else np.bincount(strengths.components).argmax()
    samples[:, strengths.components != main] = np.nan
    return Resampled(np.where(strengths.components == main, values, np.nan), samples, added.num_groups)


def _mean_figures(parts: Sequence[_Figures]) -> _Figures:
    ratings = [part.rating for part in parts if part.rating is not None]
    return _Figures(
        statistics=Resampled.mean([part.statistics for part in parts]),
        losses=Resampled.mean([part.losses for part in parts]),
        rating=Resampled.mean(ratings) if ratings else None,
        entries=np.sum([part.entries for part in parts], axis=0),
        forfeits=np.sum([part.forfeits for part in parts], axis=0),
    )


def _rows(plan: Plan, figures: _Figures) -> tuple[Row, ...]:
    """The agents, best first."""
    statistics, names = figures.statistics, plan.names
    ranking = statistics[:, STATISTICS.index("relative_elimination_rate")]
    placement = statistics.values[:, STATISTICS.index("placement")]
    rate = np.where(np.isnan(ranking.values), np.inf, ranking.values)
    order = sorted(range(len(names)), key=lambda a: (rate[a], -np.nan_to_num(placement[a]), names[a]))
    low, high = rank_intervals(ranking)
    behind = _behind(ranking, order[0])
    causes = loss_causes(plan.rules)
    return tuple(
        Row(
            rank=rank,
            rank_low=min(rank, int(low[a])),
            rank_high=max(rank, int(high[a])),
            standing="best" if a == order[0] else "behind" if behind[a] else "level",
            agent=names[a],
            entries=int(figures.entries[a]),
            forfeits=int(figures.forfeits[a]),
            figures={name: statistics.estimate(a, k) for k, name in enumerate(STATISTICS)},
            losses={cause: figures.losses.estimate(a, k) for k, cause in enumerate(causes)},
            rating=figures.rating.estimate(a) if figures.rating is not None else None,
        )
        for rank, a in enumerate(order, start=1)
    )


def _behind(ranking: Resampled, best: int) -> NDArray[np.bool_]:
    """Which agents [m] are behind the best one beyond doubt."""
    others = np.arange(len(ranking.values)) != best
    lead = Resampled(
        (ranking.values - ranking.values[best])[others],
        (ranking.samples - ranking.samples[:, [best]])[:, others],
        ranking.num_groups,
    )
    behind = np.zeros(len(others), np.bool_)
    behind[others] = holm(lead.certainty())
    return behind


def _field_report(plan: Plan, added: FieldSums, figures: _Figures) -> FieldReport:
    field = added.field
    return FieldReport(
        field=field.kind,
        num_seats=field.num_seats,
        num_blocks=field.num_blocks,
        num_matches=added.num_matches,
        pair_spread=pair_spread(field.line_ups, len(plan.names)) if field.kind == MIXED else None,
        rows=_rows(plan, figures),
    )


def _curves(plan: Plan, added: FieldSums, weights: NDArray[np.float64]) -> list[Curve]:
    curves: list[Curve] = []
    for number, name in enumerate(plan.names):
        exits = added.exits[:, number]
        whole = exits.sum(axis=0)
        curve = Resampled(survival(whole), survival(_resampled_sums(weights, exits)), added.num_groups)
        at_risk = _at_risk(whole)
        num_deals = int(np.count_nonzero(at_risk))
        low, high = curve.ends if added.num_groups > 1 else (curve.values, curve.values)
        curves.append(
            Curve(
                num_seats=added.field.num_seats,
                agent=name,
                deals=tuple(range(1, num_deals + 1)),
                alive=_rounded(curve.values[:num_deals]),
                low=_rounded(low[:num_deals]),
                high=_rounded(high[:num_deals]),
                at_risk=tuple(at_risk[:num_deals].astype(int).tolist()),
            )
        )
    return curves


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.round(values, 6).tolist())


def _at_risk(exits: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64] | NDArray[np.float64]:
    """Entries with lives as each deal began, [..., T], of those that left in each, [..., T, 2]."""
    left = exits.sum(axis=-1)
    return np.flip(np.cumsum(np.flip(left, axis=-1), axis=-1), axis=-1)


def survival(exits: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Kaplan-Meier estimate of the share that has not been eliminated after each deal, [..., T].

    `exits` [..., T, 2] are the entries eliminated in each deal, and those whose match ended there for them otherwise.
    """
    gone = share(exits[..., 0], _at_risk(exits))
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
    weights, gains = nash_average(payoffs)
    first, second = np.triu_indices(len(order), 1)
    there, back = np.asarray(order)[first], np.asarray(order)[second]
    lead = Resampled(
        invasion.values[there, back] - invasion.values[back, there],
        invasion.samples[:, there, back] - invasion.samples[:, back, there],
        invasion.num_groups,
    )
    certain = holm(lead.certainty())
    beats = np.zeros(payoffs.shape, np.bool_)
    beats[first, second] = certain & (lead.values > 0)
    beats[second, first] = certain & (lead.values < 0)
    return Metagame(
        alpha_rank=_by_name(names, alpha_rank(payoffs)),
        nash=_by_name(names, weights),
        nash_value=_by_name(names, gains),
        cycle=tuple(names[a] for a in find_cycle(beats)),
    )


def _by_name(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, float]:
    return {name: round(value, 6) + 0.0 for name, value in zip(names, values.tolist(), strict=True)}
