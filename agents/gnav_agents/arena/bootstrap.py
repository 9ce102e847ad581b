"""Figures with intervals: values, what they are in resamples, and what may be said of their differences.

The blocks of a tournament are its independent units, so whole blocks (or groups of them, see sums.py) are drawn with
replacement: the cluster bootstrap. Everything that comes of one field is resampled with the same draws, so that
differences keep what their terms have in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from gnav_agents.arena.schedule import RESAMPLING, generator
from gnav_agents.arena.summary import LEVEL, NUM_RESAMPLES, Estimate

__all__ = ["Resampled", "draw_weights", "holm", "rank_intervals", "share"]

_DIGITS = 6


def draw_weights(num_groups: int, seed: int, *key: int) -> NDArray[np.float64]:
    """How often each resample has drawn each of `num_groups` groups, [R, G]; each row sums to G."""
    rng = generator(seed, RESAMPLING, *key)
    return rng.multinomial(num_groups, np.full(num_groups, 1 / num_groups), size=NUM_RESAMPLES).astype(np.float64)


def share(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[np.float64]:
    """`numerator` / `denominator`, NaN where the latter is 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.full(shape, np.nan), where=denominator > 0)


@dataclass(frozen=True)
class Resampled:
    """Figures [...] and what they are in R resamples of `num_groups` groups [R, ...]; NaN where there is none."""

    values: NDArray[np.float64]
    samples: NDArray[np.float64]
    num_groups: int

    @classmethod
    def mean(cls, parts: Sequence[Self]) -> Self:
        """The mean of figures that were resampled with the same draws, each with the same weight; gaps are left out."""
        return cls(
            _mean_of_known([part.values for part in parts]),
            _mean_of_known([part.samples for part in parts]),
            min(part.num_groups for part in parts),
        )

    def __getitem__(self, index: Any) -> "Resampled":
        """The figures at `index` of [...]."""
        index = index if isinstance(index, tuple) else (index,)
        return Resampled(self.values[index], self.samples[:, *index], self.num_groups)

    def __sub__(self, other: "Resampled") -> "Resampled":
        """Differences to figures that were resampled with the same draws."""
        return Resampled(self.values - other.values, self.samples - other.samples, self.num_groups)

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the intervals, [...] each; NaN if there is a single group."""
        ends = np.full((2, *self.values.shape), np.nan)
        if self.num_groups > 1:
            there = ~np.isnan(self.samples).all(axis=0)
            ends[:, there] = np.nanquantile(self.samples[:, there], _levels(self.num_groups), axis=0)
        return ends[0], ends[1]

    def estimate(self, *index: int) -> Estimate:
        """One figure with its interval."""
        numbers = (float(array[index]) for array in (self.values, *self.ends))
        value, low, high = (None if np.isnan(number) else round(number, _DIGITS) + 0.0 for number in numbers)
        return Estimate(value=value, low=low, high=high)

    def certainty(self) -> NDArray[np.float64]:
        """Two-sided p-values of the figures being 0, [...]; 1 where nothing is known.

        By Student's t with the bootstrap's standard error, which is short by the square root of (G - 1) / G. Where all
        resamples agree on a figure that is not 0, all G groups have the same sign, whose chance is 2 ** (1 - G).
        """
        num_groups = self.num_groups
        known = ~np.isnan(self.values) & (self.values != 0) & (num_groups > 1)
        error = np.std(self.samples, axis=0, ddof=1) * np.sqrt(num_groups / max(1, num_groups - 1))
        known &= ~np.isnan(error)  # some resample has no figure, so nobody knows how far it may lie
        certain = known & (error <= 1e-12)
        t = np.divide(np.abs(self.values), error, out=np.zeros_like(self.values), where=known & ~certain)
        return np.where(certain, 2.0 ** (1 - num_groups), 2 * special.stdtr(max(1, num_groups - 1), -t))


def _mean_of_known(arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The mean over `arrays` of what is not NaN, NaN where all are."""
    stacked = np.stack(arrays)
    return share(np.nansum(stacked, axis=0), np.count_nonzero(~np.isnan(stacked), axis=0))


def _levels(num_groups: int) -> tuple[float, float]:
    """The two percentiles, as shares, that enclose `LEVEL`, widened for few groups (Hesterberg 2015)."""
    t = special.stdtrit(num_groups - 1, (1 + LEVEL) / 2)  # Student's quantile; ndtr is the normal distribution
    tail = float(special.ndtr(-t * np.sqrt(num_groups / (num_groups - 1))))
    return tail, 1 - tail


def rank_intervals(ranking: Resampled) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lowest and highest rank [m] that each agent has in `LEVEL` of the resamples; any rank if there is one group.

    Lower figures rank first, NaN last.
    """
    num_agents = len(ranking.values)
    if ranking.num_groups < 2:
        return np.ones(num_agents, np.int64), np.full(num_agents, num_agents)
    rates = np.where(np.isnan(ranking.samples), np.inf, ranking.samples)
    ranks = np.stack([1 + np.count_nonzero(rates < rates[:, [a]], axis=1) for a in range(num_agents)], axis=1)
    low, high = np.quantile(ranks, _levels(ranking.num_groups), axis=0, method="nearest")
    return low.astype(np.int64), high.astype(np.int64)


def holm(p_values: NDArray[np.float64], level: float = 0.05) -> NDArray[np.bool_]:
    """Which of the hypotheses with these p-values [n] fall, so that none of them wrongly falls but in `level` of cases.

    Holm, Scandinavian Journal of Statistics 6, 1979.

    >>> holm(np.array([0.001, 0.04, 0.02])).tolist()
    [True, True, True]
    >>> holm(np.array([0.001, 0.04, 0.03])).tolist()
    [True, False, False]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1)
    holds = p_values[order] * steps < level
    fall = np.zeros(len(p_values), np.bool_)
    fall[order] = np.cumprod(holds).astype(np.bool_)
    return fall
