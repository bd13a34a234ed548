"""Our own claims about which depth it is that remembers, and who could tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.depth_choice import (
    MARGIN,
    Switch,
    by_agreement,
    by_loss,
    chosen,
    gain,
    returns,
)
from bennafusi.experiments.deep.depth_claims import lack_of, words_of
from bennafusi.experiments.statistics import cut_to_shortest
from bennafusi.metrics import interval
from bennafusi.results import Finding, RunData

NEAR = 4  # times longer or shorter: from one depth to the next
LEAST_SWITCHES = 5  # with a depth that is clearly better, to say anything about which


def near_the_epoch(runs: list[RunData], names: Iterable[str]) -> Finding:
    """Whether the depth that remembers best is the one as slow as an epoch is long."""
    statement = (
        "Ours: where a depth plays a task clearly better than the weights, its timescale is about "
        "the length of an epoch"
    )
    rule = (
        f"at more than half of such switches (at least {LEAST_SWITCHES}; clearly better also in "
        f"the games that did not choose) the timescale is within a factor of {NEAR} of the "
        "updates of an epoch"
    )
    groups = measures.by_variant(runs)
    back = [x for name in names for run in groups.get(name, []) for x in returns(run)]
    shares = [_share(x, k) for x in back if (k := _clearly_better(x)) > 1]
    if len(shares) < LEAST_SWITCHES:
        lack = f"a depth was clearly better at {len(shares)} of {len(back)} switches"
        return Finding(statement, rule, f"not enough data: {lack}", None)
    near = np.abs(np.log(shares)) < np.log(NEAR)
    listed = ", ".join(f"{share:.2g}" for share in sorted(shares))
    measured = f"{near.sum()} of {near.size} (timescale in epochs: {listed})"
    return Finding(statement, rule, measured, bool(near.mean() > 0.5))


class Judge(NamedTuple):
    """A way to choose a depth."""

    words: str  # what it goes by
    # The one that it chooses at a switch; None where nothing was recorded for it.
    depth: Callable[[Switch], int | None]


JUDGES = (
    Judge("who does best in 5 games", lambda x: chosen(x.look, x.task)),
    Judge("the smallest loss on 5 games of the weights", lambda x: by_loss(x.look)),
    Judge(
        "agreement with the other depths in 5 games of the weights", lambda x: by_agreement(x.look)
    ),
)


def chooses_well(runs: list[RunData], names: Iterable[str], judge: Judge) -> Finding:
    """Whether a way to choose a depth does better than the weights, over all tasks."""
    statement = f"Ours: {judge.words} chooses a depth that plays better than the weights"
    rule = (
        "reward beyond the weights' in games that did not choose, as a share of the task's "
        "threshold: the 95% interval of the mean over switches, over seeds, is above 0. Of several "
        "ways the one with the largest mean is worth having, if any"
    )
    groups = measures.by_variant(runs)
    rows = []
    for name in names:
        for run in groups.get(name, []):
            picked = [(x, judge.depth(x)) for x in returns(run)]
            rows.append(
                [gain(x.look, x.task, k) / measures.THRESHOLDS[x.task] for x, k in picked if k]
            )
    if lack := lack_of("this way", len(rows), min(map(len, rows), default=0)):
        return Finding(statement, rule, lack, None)
    found = interval(cut_to_shortest(rows))
    return Finding(statement, rule, f"{words_of(found)} of the threshold", found.low > 0)


def _clearly_better(switch: Switch) -> int:
    """The chosen depth, if the other games say the same of it; else 1."""
    depth = chosen(switch.look, switch.task)
    clear = gain(switch.look, switch.task, depth) > MARGIN * measures.THRESHOLDS[switch.task]
    return depth if clear else 1


def _share(switch: Switch, depth: int) -> float:
    """The timescale of a depth, in epochs."""
    look = switch.look
    timescale = float(look["timescales"][look["depths"].index(depth)])
    return timescale * int(look["epoch"]) / int(look["updates"])
