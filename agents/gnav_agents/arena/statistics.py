"""From entries to figures: rates with cluster-bootstrap intervals, ranks, and who is level with the best.

Each statistic is a ratio of two sums over an agent's entries, such as eliminations / entries; `DEFINITIONS`
says what they mean. The matches of a block share cards and agents and are not independent; blocks are. So the
bootstrap draws whole blocks, and the intervals allow for what the matches of a block have in common.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from gnav_agents.arena.schedule import RESAMPLING, generator

__all__ = [
    "DEFINITIONS",
    "RATIOS",
    "SUMS",
    "Estimate",
    "Row",
    "interval",
    "make_rows",
    "ratios",
    "resample",
    "sum_by_block",
]

LEVEL = 0.95
NUM_RESAMPLES = 2000

SUMS = ("entries", "eliminated", "times_seats", "of_all", "wins", "placement", "lives_lost", "deals")
RATIOS = {
    "relative_elimination_rate": ("times_seats", "of_all"),
    "elimination_rate": ("eliminated", "entries"),
    "win_share": ("wins", "entries"),
    "placement": ("placement", "entries"),
    "loss_rate": ("lives_lost", "deals"),
    "mean_deals": ("deals", "entries"),
}
"""Each statistic as numerator and denominator out of `SUMS`; the first one ranks the agents."""

DEFINITIONS = {
    "entry": "one seat of one match, played by one agent",
    "block": "one shoe and one line-up, played once for each rotation of the line-up over the seats",
    "eliminated": "the seat lost its last life and others outlived it; the last seats of a match are not "
    "eliminated when they fall together and share it, nor are seats that have lives when the match ends",
    "elimination_rate": "share of the agent's entries that were eliminated",
    "relative_elimination_rate": "seats x eliminations of the agent / eliminations of all seats of the same "
    "matches, both summed over the agent's entries: its elimination rate in units of its tables' mean rate; "
    "1 is par, lower is better",
    "win_share": "mean over entries of 1 / (seats that share the first place), 0 for other places; 1 / seats is par",
    "placement": "mean over entries of 1 - (place - 1) / (seats - 1), where seats that fall together have "
    "the mean of their places; 1 is always first, 0 always last, 0.5 is par",
    "loss_rate": "lives paid, less lives received as fines, for each deal in which the agent had a card",
    "mean_deals": "mean over entries of the deals in which the agent had a card",
    "interval": f"{LEVEL:.0%} bootstrap percentile interval over blocks, {NUM_RESAMPLES} resamples, the "
    "percentiles widened for few blocks (Hesterberg, The American Statistician 69, 2015)",
    "rank": "by relative_elimination_rate; rank_low to rank_high is where the rank lies in as many resamples",
    "standing": "best: the first; level: the interval of the difference to the first, both resampled "
    "together, holds 0; behind: it does not",
}
"""What the words of a leaderboard mean."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval; NaN where there is none (no denominator, or a single block)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """One agent on the leaderboard; `DEFINITIONS` says what the figures mean."""

    rank: int
    rank_low: int
    rank_high: int
    standing: str
    """best, level or behind."""
    agent: str
    entries: int
    relative_elimination_rate: Estimate
    elimination_rate: Estimate
    win_share: Estimate
    placement: Estimate
    loss_rate: Estimate
    mean_deals: Estimate


def sum_by_block(entries: NDArray[Any], num_agents: int) -> NDArray[np.float64]:
    """`SUMS` of each agent in each block, [N, num_agents, len(SUMS)]; `entries` [M, S] hold N blocks."""
    num_seats = entries.shape[1]
    is_first = entries["place"] == 1
    mean_place = entries["place"] + (entries["tied"] - 1) / 2
    by_entry = {
        "entries": np.ones(entries.shape),
        "eliminated": entries["eliminated"],
        # sums of whole numbers are exact, so that equal agents come out equal to the last digit
        "times_seats": num_seats * entries["eliminated"],
        "of_all": np.broadcast_to(entries["eliminated"].sum(axis=1, keepdims=True), entries.shape),
        "wins": is_first / entries["tied"],
        "placement": 1 - (mean_place - 1) / (num_seats - 1),
        "lives_lost": entries["lives_lost"],
        "deals": entries["deals"],
    }
    blocks, block = np.unique(entries["block"], return_inverse=True)
    cell = (block.reshape(entries.shape) * num_agents + entries["agent"]).ravel()
    num_cells = len(blocks) * num_agents
    sums = np.empty((num_cells, len(SUMS)))
    for column, name in enumerate(SUMS):
        sums[:, column] = np.bincount(cell, by_entry[name].ravel(), minlength=num_cells)
    return sums.reshape(len(blocks), num_agents, len(SUMS))


def make_rows(sums: NDArray[np.float64], names: tuple[str, ...], seed: int) -> tuple[Row, ...]:
    """The leaderboard, best first, from the sums by block [N, len(names), len(SUMS)]."""
    values = ratios(sums.sum(axis=0))
    resampled = ratios(resample(sums, NUM_RESAMPLES, seed))
    low, high = interval(resampled, len(sums))
    ranking = values[:, 0]
    placement = values[:, list(RATIOS).index("placement")]
    order = sorted(range(len(names)), key=lambda a: (_nan_last(ranking[a]), -placement[a], names[a]))
    rank_low, rank_high = _rank_interval(resampled[:, :, 0], len(sums))
    best = order[0]
    behind_low, _ = interval(resampled[:, :, 0] - resampled[:, [best], 0], len(sums))
    return tuple(
        Row(
            rank=place,
            rank_low=min(place, int(rank_low[a])),
            rank_high=max(place, int(rank_high[a])),
            standing="best" if a == best else "behind" if behind_low[a] > 0 else "level",
            agent=names[a],
            entries=int(sums[:, a, 0].sum()),
            **{
                name: Estimate(float(values[a, k]), float(low[a, k]), float(high[a, k]))
                for k, name in enumerate(RATIOS)
            },
        )
        for place, a in enumerate(order, start=1)
    )


def ratios(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """`RATIOS` of sums [..., len(SUMS)], [..., len(RATIOS)]; NaN where the denominator is 0."""
    numerators = sums[..., [SUMS.index(numerator) for numerator, _ in RATIOS.values()]]
    denominators = sums[..., [SUMS.index(denominator) for _, denominator in RATIOS.values()]]
    return np.divide(numerators, denominators, out=np.full_like(numerators, np.nan), where=denominators > 0)


def resample(sums: NDArray[np.float64], num_resamples: int, seed: int) -> NDArray[np.float64]:
    """For each resample the sum over N blocks drawn with replacement, [N, ...] -> [num_resamples, ...]."""
    num_blocks = len(sums)
    rng = generator(seed, RESAMPLING)
    flat = sums.reshape(num_blocks, -1)
    totals = np.empty((num_resamples, flat.shape[1]))
    at_once = max(1, 2**22 // num_blocks)  # bounds the memory
    for first in range(0, num_resamples, at_once):
        num = min(at_once, num_resamples - first)
        drawn = rng.integers(num_blocks, size=(num, num_blocks)) + num_blocks * np.arange(num)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=num * num_blocks).reshape(num, num_blocks)
        # not `@`: its last digits would depend on the number of threads
        totals[first : first + num] = np.einsum("rn,nk->rk", counts.astype(np.float64), flat)
    return totals.reshape(num_resamples, *sums.shape[1:])


def _levels(num_blocks: int) -> tuple[float, float]:
    """The two percentiles, as shares, that enclose `LEVEL`, widened for few blocks (Hesterberg 2015)."""
    t = special.stdtrit(num_blocks - 1, (1 + LEVEL) / 2)  # Student's quantile; ndtr is the normal distribution
    tail = float(special.ndtr(-t * np.sqrt(num_blocks / (num_blocks - 1))))
    return tail, 1 - tail


def interval(resampled: NDArray[np.float64], num_blocks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends [...] of intervals from resamples [R, ...]; NaN if there is but one block."""
    ends = np.full((2, *resampled.shape[1:]), np.nan)
    if num_blocks > 1:
        there = ~np.isnan(resampled).all(axis=0)
        ends[:, there] = np.nanquantile(resampled[:, there], _levels(num_blocks), axis=0)
    return ends[0], ends[1]


def _rank_interval(ranking: NDArray[np.float64], num_blocks: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lowest and highest rank [m] of each agent in `LEVEL` of the resamples [R, m]; any rank if N = 1."""
    num_agents = ranking.shape[1]
    if num_blocks < 2:
        return np.ones(num_agents), np.full(num_agents, num_agents)
    rates = _nan_last(ranking)
    ranks = np.stack([1 + np.count_nonzero(rates < rates[:, [a]], axis=1) for a in range(num_agents)], axis=1)
    low, high = np.quantile(ranks, _levels(num_blocks), axis=0, method="nearest")
    return low, high


def _nan_last(values: Any) -> Any:
    """`values` with infinity for NaN, so that they sort last."""
    return np.where(np.isnan(values), np.inf, values)
