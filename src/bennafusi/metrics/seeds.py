"""What a handful of seeds says: intervals, robust means, whole distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64 = NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate and its bootstrap interval.

    Example:
        >>> print(Interval(0.931, 0.9, 0.95), Interval(12345.6, 999, 2e6), sep=" and ")
        0.931 [0.9, 0.95] and 12,346 [999, 2,000,000]
        >>> print(Interval(999.7, 998, 1002))
        1,000 [998, 1,002]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        # From 999.5 on three digits would be 1e+03.
        value, low, high = (f"{x:,.0f}" if abs(x) >= 999.5 else f"{x:.3g}" for x in self)
        return f"{value} [{low}, {high}]"


def interval(
    samples: ArrayLike,
    statistic: Callable[[Float64], Any] = np.mean,
    *,
    level: float = 0.95,
    resamples: int = 4000,
    seed: int = 0,
) -> Interval:
    """A statistic over seeds and its percentile bootstrap interval; says little of two seeds.

    Of one seed it says nothing, and has no width. What never came about may be infinite: then so is
    a bound, if so many draws are. Of a sample that is NaN all is NaN.

    Args:
        samples: one number per seed, or ``[seeds, ...]``; whole seeds are drawn.
        statistic: from samples to a number.
        level: of the interval.
        resamples: how often seeds are drawn.
        seed: of the draws.

    Returns:
        The statistic of the samples, and the interval.

    Example:
        >>> interval([3.0, 3.0, 3.0])
        Interval(value=3.0, low=3.0, high=3.0)
        >>> interval([4.0, 5.0, float("inf")], np.median)
        Interval(value=5.0, low=4.0, high=inf)

    References:
        Efron, *Bootstrap methods: another look at the jackknife*, 1979.
    """
    values = np.asarray(samples, np.float64)
    if not values.ndim or not values.size:
        raise ValueError(f"samples: there must be at least one seed, not shape {values.shape}")
    if resamples < 1:
        raise ValueError(f"resamples={resamples}: must be at least 1")
    if not 0 < level < 1:
        raise ValueError(f"level={level}: must be above 0 and below 1")
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(values), size=(resamples, len(values)))
    found = [float(statistic(values[rows])) for rows in drawn]
    ends = [(1 - level) / 2, (1 + level) / 2]
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(found, ends)
    if np.isinf(found).any():  # between two such draws there is nothing: the outer of them
        low = np.quantile(found, ends[0], method="lower")
        high = np.quantile(found, ends[1], method="higher")
    return Interval(float(statistic(values)), float(low), float(high))


def interquartile_mean(scores: ArrayLike) -> float:
    """Mean of the middle half: a quarter of the scores, rounded down, is left out at either end.

    NaN if one of them is: a run that was lost is none of the best.

    Example:
        >>> interquartile_mean([100, 2, 3, 1])
        2.5

    References:
        Agarwal et al., *Deep reinforcement learning at the edge of the statistical precipice*,
        2021.
    """
    values = np.sort(np.asarray(scores, np.float64), axis=None)
    if np.isnan(values).any():  # which sort behind the largest, and would be cut off
        return float("nan")
    cut = values.size // 4
    return float(values[cut : values.size - cut].mean())


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> Float64:
    r"""Share of runs that score above each threshold; one whose score is NaN is above none.

    .. math:: P(\tau) = \frac1N \sum_n 1[x_n > \tau]

    Example:
        >>> performance_profile([1, 2, 3, 4], thresholds=[0, 2, 4])
        array([1. , 0.5, 0. ])

    References:
        Agarwal et al., *Deep reinforcement learning at the edge of the statistical precipice*,
        2021.
    """
    values = np.asarray(scores, np.float64).reshape(-1)
    levels = np.asarray(thresholds, np.float64)
    share: Float64 = (values[:, None] > levels[None]).mean(axis=0)
    return share
