"""Methods tuned on some seeds and judged on others: the chosen points, and who is before whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bennafusi.experiments.statistics import LEAST_SEEDS
from bennafusi.metrics import Interval, interval

FIRST_JUDGED = 10  # seeds below it are for tuning, the others for judging


class Place(NamedTuple):
    """Where a method stands."""

    name: str
    score: Interval  # mean over the judged seeds and its interval
    first: int  # the best rank it may have: one more than there are methods certainly before it
    last: int  # the worst

    @property
    def rank(self) -> str:
        """In words; ranks that overlap are a tie."""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}, tie"


def best(scores: Mapping[int, Sequence[float]]) -> int:
    """The place of the point with the highest mean over the tuning seeds; of equals the first.

    Scores are by seed, one per point. A point that has none in some seed is behind all others.

    Example:
        >>> best({0: [0.1, 0.6, 0.4], 1: [0.1, 0.2, 0.6]})
        2
        >>> best({0: [0.9, float("nan"), 0.4]})
        0
    """
    means = np.mean([scores[seed] for seed in scores], axis=0)
    return int(np.argmax(np.where(np.isnan(means), -np.inf, means)))


def places(samples: Mapping[str, Mapping[int, float]]) -> list[Place]:
    """Methods in the order of their means, from the scores of each by judged seed.

    One is certainly before another if its 95% interval is wholly above the other's.

    Example:
        >>> found = places({"a": {7: 1, 8: 1}, "b": {7: 3, 8: 5}, "c": {7: 4, 8: 3}})
        >>> [(place.name, place.rank) for place in found]
        [('b', '1-2, tie'), ('c', '1-2, tie'), ('a', '3')]
    """
    scores = {name: interval(list(values.values())) for name, values in samples.items()}
    found = []
    for name, mine in scores.items():
        others = [other for known, other in scores.items() if known != name]
        before = sum(other.low > mine.high for other in others)
        behind = sum(other.high < mine.low for other in others)
        found.append(Place(name, mine, before + 1, len(scores) - behind))
    return sorted(found, key=lambda place: (-place.score.value, place.name))


def gap(one: Mapping[int, float], other: Mapping[int, float]) -> tuple[Interval, list[int]] | None:
    """Mean of one method less that of another, with its interval, and the seeds that both have.

    None if these are fewer than three.

    Example:
        >>> gap({10: 3, 11: 4, 12: 5, 13: 9}, {10: 1, 11: 2, 12: 3})
        (Interval(value=2.0, low=2.0, high=2.0), [10, 11, 12])
        >>> gap({10: 3, 11: 4, 12: 5}, {11: 2, 12: 3, 13: 4}) is None
        True
    """
    seeds = sorted(one.keys() & other.keys())
    if len(seeds) < LEAST_SEEDS:
        return None
    return interval([one[seed] - other[seed] for seed in seeds]), seeds
