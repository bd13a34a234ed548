"""Statistics for a handful of seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bennafusi.metrics import interquartile_mean, interval, performance_profile
from bennafusi.results import Table
from bennafusi.synapse.chain import Float64

LEAST_SEEDS = 3  # that carry an interval and are ranked; of fewer, each is shown
RESAMPLES = 4000
# What records call a metric of bennafusi.metrics in short, and its name in tables.
RECORDED = {
    "lost": "forgetting from end",
    "dormant": "dormant share",
    "rank": "effective rank",
    "norm": "weight norm",
    "moved": "distance moved",
}


def in_words(tables: Mapping[str, Float64]) -> str:
    """Mean of each agent's ``[seeds, epochs]`` with its 95% interval, over seeds alone.

    Epochs of one seed are alike, and how many there are is no matter of luck: whole seeds are
    drawn. With three or four of them the interval is about their range; of two both are shown.

    Example:
        >>> in_words({"a": np.array([[1.0, 3.0], [4.0, 4.0], [6.0, 6.0]])})
        'a 4 [2, 6]'
        >>> in_words({"a": np.array([[1.0, 3.0], [4.0, 4.0]])})
        'a 3 (2 and 4); two seeds carry no interval'
    """
    means = {name: table.mean(axis=1) for name, table in tables.items()}
    parts = [f"{name} {_in_words(each)}" for name, each in means.items()]
    fewest = min(each.size for each in means.values())
    few = {1: "; one seed carries no interval", 2: "; two seeds carry no interval"}
    return ", ".join(parts) + few.get(fewest, "")


def _in_words(each: Float64) -> str:
    if each.size < LEAST_SEEDS:
        return f"{_short(float(each.mean()))} ({' and '.join(map(_short, each.tolist()))})"
    mean, low, high = map(_short, interval(each))
    return f"{mean} [{low}, {high}]"


def _short(number: float) -> str:
    """Rewards may be small, steps are not."""
    if math.isinf(number):
        return "never"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


EXCLUDES = (
    "the 95% interval of the difference, over seeds, excludes 0 (with two seeds: each is beyond "
    "both of the other's)"
)


def greater(one: Float64, other: Float64) -> bool:
    """Whether the mean of one agent is above another's, both ``[seeds, epochs]``.

    By the 95% interval of the difference, over seeds alone. Where an agent has two seeds, every
    seed of the one must be above every seed of the other.

    All numbers must be finite. What never came about has no difference to anything, and the answer
    would be no: who compares it counts it with the length of its epoch, as the grid's claims do, or
    takes medians, as those of visits do.

    Example:
        >>> greater(np.array([[3.0], [4.0]]), np.array([[1.0], [2.0]]))
        True
    """
    mine, theirs = one.mean(axis=1), other.mean(axis=1)
    if min(mine.size, theirs.size) < LEAST_SEEDS:
        return bool(mine.min() > theirs.max())
    return difference(mine, theirs)[0] > 0


def difference(one: Float64, other: Float64) -> tuple[float, float]:
    """The 95% interval of the mean of one agent less another's, from a finite number per seed.

    Example:
        >>> difference(np.array([3.0, 3.0, 3.0]), np.array([1.0, 1.0, 1.0]))
        (2.0, 2.0)
    """
    rng = np.random.default_rng(0)
    means = [x[rng.integers(x.size, size=(RESAMPLES, x.size))].mean(axis=1) for x in (one, other)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return float(low), float(high)


def cut_to_shortest(rows: Sequence[Sequence[float] | Float64]) -> Float64:
    """A row per seed, as far as all of them have come: ``[seeds, shortest]``.

    Example:
        >>> cut_to_shortest([[1.0, 2.0, 3.0], [4.0, 5.0]]).tolist()
        [[1.0, 2.0], [4.0, 5.0]]
    """
    shortest = min(map(len, rows), default=0)
    return np.array([row[:shortest] for row in rows], np.float64).reshape(len(rows), shortest)


def filled(count: int, row: Float64, missing: float, over: bool) -> Float64:
    """A run's numbers, filled up to so many if the run is over and will not come to them.

    Example:
        >>> filled(3, np.array([7.0]), np.inf, True).tolist()
        [7.0, inf, inf]
        >>> filled(3, np.array([7.0]), np.inf, False).tolist()
        [7.0]
    """
    return np.pad(row, (0, max(count - row.size, 0) * over), constant_values=missing)


def summary(scored: Iterable[tuple[str, Mapping[str, float]]]) -> Table:
    """The numbers by which runs are known, over the seeds of each variant.

    What never came about is infinite, and so is a mean with it; what is not known of a run is left
    out. The interval is the bootstrap's, over seeds; two of them carry none.

    Args:
        scored: of each run its variant, and its numbers by name.

    Example:
        >>> summary([("a", {"seconds": 1.0}), ("a", {"seconds": 3.0})]).rows
        [('a', 'seconds', 2, 2.0, 1.4142135623730951, nan, nan, 2.0, 2.0)]
    """
    rows: list[tuple[str | int | float, ...]] = []
    for (variant, name), known in by_measure(scored).items():
        rows.append((variant, name, known.size, *_moments(known)))
    names = ("mean", "sd", "low 95%", "high 95%", "median", "interquartile mean")
    columns = ("variant", "measure", "seeds", *names)
    return Table("summary", "The measures of each agent over its seeds", columns, rows)


def profiles(scored: Iterable[tuple[str, Mapping[str, float]]]) -> list[Table]:
    """Whole distributions over seeds, where a variant has at least three; no table of none.

    A profile is a staircase: all runs are above what is less than the first number of a variant,
    and it falls at each number that came out. What never came about is infinite.

    Args:
        scored: of each run its variant, and its numbers by name.

    Example:
        >>> (found,) = profiles([("a", {"reward": x}) for x in (1.0, 1.0, 4.0, 2.0)])
        >>> found.rows
        [('a', 'reward', 4, 1.0, 0.5), ('a', 'reward', 4, 2.0, 0.25), ('a', 'reward', 4, 4.0, 0.0)]
    """
    rows: list[tuple[str | int | float, ...]] = []
    for (variant, name), known in by_measure(scored).items():
        if known.size >= LEAST_SEEDS:
            levels = np.unique(known)
            shares = performance_profile(known, levels).tolist()
            steps = zip(levels.tolist(), shares, strict=True)
            rows += [(variant, name, known.size, *step) for step in steps]
    title = "Performance profiles: share of an agent's runs above each number that came out"
    columns = ("variant", "measure", "seeds", "number", "share above")
    return [Table("profiles", title, columns, rows)] if rows else []


def by_measure(
    scored: Iterable[tuple[str, Mapping[str, float]]],
) -> dict[tuple[str, str], Float64]:
    """The numbers of all seeds by variant and measure, without those that are not known."""
    found: dict[tuple[str, str], list[float]] = {}
    for variant, scores in scored:
        for name, number in scores.items():
            found.setdefault((variant, name), []).append(number)
    return {
        key: np.array([x for x in numbers if not np.isnan(x)], np.float64)
        for key, numbers in found.items()
    }


def told(summary: Table, wanted: Sequence[str]) -> list[str]:
    """What came out, a sentence for each measure that begins with one of some words.

    Every agent is named; of more than five the first three, and what the others span.

    Example:
        >>> told(summary([("a", {"reward": 1.0}), ("b", {"reward": 2.0})]), ("reward",))
        ['reward: 1 (a), 2 (b)']
    """
    at = {name: place for place, name in enumerate(summary.columns)}
    found: dict[str, list[tuple[str, float]]] = {}
    for row in summary.rows:
        # A mean with something in it that never came about says nothing of the others.
        mean, median = float(row[at["mean"]]), float(row[at["median"]])
        number = median if math.isinf(mean) else mean
        if str(row[at["measure"]]).startswith(tuple(wanted)) and not math.isnan(number):
            agents = found.setdefault(str(row[at["measure"]]), [])
            agents.append((str(row[at["variant"]]), number))
    return [f"{measure}: {_listed(agents)}" for measure, agents in found.items()]


def _listed(agents: list[tuple[str, float]]) -> str:
    alone, rest = (agents, []) if len(agents) <= 5 else (agents[:3], agents[3:])
    words = ", ".join(f"{_short(number)} ({name})" for name, number in alone)
    if not rest:
        return words
    low, high = (_short(pick(number for _, number in rest)) for pick in (min, max))
    return f"{words}; the {len(rest)} others from {low} to {high}"


def _moments(known: Float64) -> tuple[float, ...]:
    """Mean, standard deviation, interval, median and mean of the middle half, as far as known."""
    unknown = float("nan")
    if not known.size:
        return (unknown,) * 6
    mean, median = float(known.mean()), float(np.median(known))
    middle = interquartile_mean(known)
    if known.size < 2 or np.isinf(known).any():
        return (mean, unknown, unknown, unknown, median, middle)
    _, low, high = interval(known) if known.size >= LEAST_SEEDS else (mean, unknown, unknown)
    return (mean, float(known.std(ddof=1)), low, high, median, middle)
