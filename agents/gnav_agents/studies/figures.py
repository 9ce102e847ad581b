"""Estimates with 95 % intervals, and the written rule by which they become a verdict.

Everything here is a function of numbers handed to it. Samples are independent (whole deals or whole matches), so that
simple intervals will do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "LEVEL",
    "VERDICT_RULE",
    "Estimate",
    "Judgement",
    "Verdict",
    "all_at_once",
    "judge_at_least",
    "judge_at_most",
    "mean_of",
    "ratio_of",
    "share_of",
    "verdict_of",
]

LEVEL = 0.95
"""How often an interval holds the true figure."""

Judgement = Literal["holds", "fails", "open"]
"""What one figure says of a claim; `open`: its interval lies on both sides of the line."""
Verdict = Literal["true", "false", "depends", "open", "does not apply"]

VERDICT_RULE = (
    "A claim is put to many cells (seats, position, card). In each it holds or fails if the whole interval lies on "
    "that side of the line, otherwise the cell is open; these intervals are wide enough to hold in all the claim's "
    "cells of a ruleset at once (Bonferroni). depends: it holds in some cells and fails in others. true: it fails in "
    "none and holds in at least half of them. false: it holds in none and fails in at least half of them. open: there "
    "are too few samples for any of these. does not apply: there are no cells."
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure, its standard error and its interval; NaN where there are too few samples for one."""

    value: float
    error: float
    low: float
    high: float
    num: int
    """Samples: deals, pairs of deals or matches."""


def mean_of(values: NDArray[Any], level: float = LEVEL) -> Estimate:
    """The mean of independent `values` [N] with Student's interval.

    >>> estimate = mean_of(np.array([1, 2, 3]))
    >>> round(estimate.low, 2), estimate.value, round(estimate.high, 2)
    (-0.48, 2.0, 4.48)
    """
    num = len(values)
    value = float(np.mean(values)) if num else np.nan
    error = float(np.std(values, ddof=1) / np.sqrt(num)) if num > 1 else np.nan
    reach = float(special.stdtrit(max(1, num - 1), (1 + level) / 2)) * error
    return Estimate(value=value, error=error, low=value - reach, high=value + reach, num=num)


def share_of(count: int, num: int, level: float = LEVEL) -> Estimate:
    """The share `count` of `num` independent samples with the exact interval of Clopper and Pearson.

    >>> estimate = share_of(0, 300)
    >>> estimate.value, estimate.low, round(estimate.high, 4)
    (0.0, 0.0, 0.0122)
    """
    if num == 0:
        return Estimate(value=np.nan, error=np.nan, low=np.nan, high=np.nan, num=0)
    tail = (1 - level) / 2
    low = float(special.betaincinv(count, num - count + 1, tail)) if count > 0 else 0.0
    high = float(special.betaincinv(count + 1, num - count, 1 - tail)) if count < num else 1.0
    share = count / num
    return Estimate(value=share, error=float(np.sqrt(share * (1 - share) / num)), low=low, high=high, num=num)


def ratio_of(numerator: NDArray[Any], denominator: NDArray[Any], level: float = LEVEL) -> Estimate:
    """The ratio of two means over the same independent samples [N], with its interval by the delta method.

    >>> ratio_of(np.array([2, 4, 6]), np.array([1, 2, 3])).value
    2.0
    """
    whole = float(np.mean(denominator)) if len(denominator) else 0.0
    if whole == 0:
        return Estimate(value=np.nan, error=np.nan, low=np.nan, high=np.nan, num=len(denominator))
    ratio = float(np.mean(numerator)) / whole
    spread = mean_of((numerator - ratio * denominator) / whole, level)
    return Estimate(
        value=ratio, error=spread.error, low=ratio + spread.low, high=ratio + spread.high, num=len(denominator)
    )


def all_at_once(num_cells: int) -> float:
    """The level that each of so many intervals needs for all of them to hold at `LEVEL` (Bonferroni).

    >>> round(all_at_once(10), 3)
    0.995
    """
    return 1 - (1 - LEVEL) / max(1, num_cells)


def judge_at_least(line: float, estimate: Estimate) -> Judgement:
    """`holds` if the interval lies above `line`, `fails` if below."""
    return "holds" if estimate.low > line else "fails" if estimate.high < line else "open"


def judge_at_most(line: float, estimate: Estimate) -> Judgement:
    """`holds` if the interval does not pass `line`, `fails` if it lies above."""
    return "holds" if estimate.high <= line else "fails" if estimate.low > line else "open"


def verdict_of(judgements: Sequence[Judgement]) -> Verdict:
    """What the cells say together, by `VERDICT_RULE`.

    >>> verdict_of(["holds", "holds", "open"]), verdict_of(["holds", "fails"]), verdict_of([])
    ('true', 'depends', 'does not apply')
    """
    num_holds, num_fails = judgements.count("holds"), judgements.count("fails")
    if not judgements:
        return "does not apply"
    if num_holds and num_fails:
        return "depends"
    if max(num_holds, num_fails) < len(judgements) / 2:
        return "open"
    return "true" if num_holds else "false"
