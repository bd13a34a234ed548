"""Statistics for a handful of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from bennafusi.metrics import Interval as Interval
from bennafusi.results import Table
from bennafusi.synapse.chain import Float64

RESAMPLES = 4000


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


def summary(scored: Iterable[tuple[str, Mapping[str, float]]]) -> Table:
    """The numbers by which runs are known, over the seeds of each variant.

    What never came about is infinite, and so is a mean with it; what is not known of a run is left
    out. The interval is the bootstrap's, over seeds, and says little with two of them.

    Args:
        scored: of each run its variant, and its numbers by name.

    Example:
        >>> summary([("a", {"seconds": 1.0}), ("a", {"seconds": 3.0})]).rows
        [('a', 'seconds', 2, 2.0, 1.4142135623730951, 1.0, 3.0, 2.0)]
    """
    found: dict[tuple[str, str], list[float]] = {}
    for variant, scores in scored:
        for name, number in scores.items():
            found.setdefault((variant, name), []).append(number)
    rows: list[tuple[str | int | float, ...]] = []
    for (variant, name), numbers in found.items():
        known = np.array([x for x in numbers if not np.isnan(x)], np.float64)
        rows.append((variant, name, known.size, *_moments(known)))
    columns = ("variant", "measure", "seeds", "mean", "sd", "low 95%", "high 95%", "median")
    return Table("summary", "The measures of each agent over its seeds", columns, rows)


def _moments(known: Float64) -> tuple[float, ...]:
    """Mean, standard deviation, interval and median, as far as so many numbers have them."""
    unknown = float("nan")
    if not known.size:
        return (unknown,) * 5
    mean, median = float(known.mean()), float(np.median(known))
    if known.size < 2 or np.isinf(known).any():
        return (mean, unknown, unknown, unknown, median)
    _, low, high = mean_interval(known[:, None])
    return (mean, float(known.std(ddof=1)), low, high, median)


def _means(samples: Float64, rng: np.random.Generator) -> Float64:
    seeds, epochs = samples.shape
    drawn = rng.integers(seeds, size=(RESAMPLES, seeds, 1))
    times = rng.integers(epochs, size=(RESAMPLES, 1, epochs))
    means: Float64 = samples[drawn, times].mean(axis=(1, 2))
    return means


def _interval(value: float, resampled: Float64) -> Interval:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Interval(value, float(low), float(high))
