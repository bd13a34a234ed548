"""Methods tuned on some seeds and judged on others: the chosen points, and who is before whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bennafusi.metrics import Interval, interval

FIRST_JUDGED = 10  # seeds below it are for tuning, the others for judging
LEAST = 3  # seeds, below which nothing is judged


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

    Scores are by seed, one per point.

    Example:
        >>> best({0: [0.1, 0.6, 0.4], 1: [0.1, 0.2, 0.6]})
        2
    """
    return int(np.argmax(np.mean([scores[seed] for seed in scores], axis=0)))


def places(samples: Mapping[str, Sequence[float]]) -> list[Place]:
    """Methods in the order of their means, from one score of each per judged seed.

    One is certainly before another if its 95% interval is wholly above the other's.

    Example:
        >>> found = places({"a": [1, 1, 1], "b": [3, 5, 4], "c": [4, 3, 4]})
        >>> [(place.name, place.rank) for place in found]
        [('b', '1-2, tie'), ('c', '1-2, tie'), ('a', '3')]
    """
    scores = {name: interval(values) for name, values in samples.items()}
    found = []
    for name, mine in scores.items():
        others = [other for known, other in scores.items() if known != name]
        before = sum(other.low > mine.high for other in others)
        behind = sum(other.high < mine.low for other in others)
        found.append(Place(name, mine, before + 1, len(scores) - behind))
    return sorted(found, key=lambda place: (-place.score.value, place.name))


def gap(one: Sequence[float], other: Sequence[float]) -> Interval:
    """Mean of one method less that of another over the same seeds, with its interval.

    Example:
        >>> gap([3, 4, 5], [1, 2, 3])
        Interval(value=2.0, low=2.0, high=2.0)
    """
    return interval(np.asarray(one, np.float64) - np.asarray(other, np.float64))
