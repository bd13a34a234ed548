"""Statistics for a handful of seeds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bennafusi.synapse.chain import Float64

RESAMPLES = 4000


class Interval(NamedTuple):
    """An estimate and its 95% bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:,.0f} [{self.low:,.0f}, {self.high:,.0f}]"


def mean_interval(samples: Float64) -> Interval:
    """Mean over seeds and epochs, ``[seeds, epochs]``, resampled over both.

    Seeds differ by luck and epochs of one seed are alike, so whole seeds are drawn first and then
    epochs, the same for all of them.

    Example:
        >>> mean_interval(np.array([[1.0, 1.0], [1.0, 1.0]]))
        Interval(value=1.0, low=1.0, high=1.0)
    """
    return _interval(float(np.mean(samples)), _means(samples, np.random.default_rng(0)))


def difference_interval(one: Float64, other: Float64) -> Interval:
    """Mean of ``one`` less mean of ``other``, both ``[seeds, epochs]``, resampled apart."""
    rng = np.random.default_rng(0)
    gaps = _means(one, rng) - _means(other, rng)
    return _interval(float(np.mean(one) - np.mean(other)), gaps)


def _means(samples: Float64, rng: np.random.Generator) -> Float64:
    seeds, epochs = samples.shape
    drawn = rng.integers(seeds, size=(RESAMPLES, seeds, 1))
    times = rng.integers(epochs, size=(RESAMPLES, 1, epochs))
    means: Float64 = samples[drawn, times].mean(axis=(1, 2))
    return means


def _interval(value: float, resampled: Float64) -> Interval:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Interval(value, float(low), float(high))
