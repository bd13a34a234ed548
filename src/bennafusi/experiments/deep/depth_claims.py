"""Our own claims about what the depths know, with rules that were written before the runs.

Looks at seeds 0 to 9 led to them; they are for seeds from 10 on. Intervals are over seeds: how many
visits there are, and of which tasks, is no matter of luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.depth_choice import (
    MARGIN,
    Switch,
    by_agreement,
    by_loss,
    chosen,
    ends,
    gain,
    returns,
)
from bennafusi.metrics import Interval, interval
from bennafusi.results import Finding, RunData
from bennafusi.synapse.chain import Float64

SEEDS = 5  # that an agent needs to be judged
NEAR = 4  # times longer or shorter: from one depth to the next
LEAST_SWITCHES = 5  # with a depth that is clearly better, to say anything about which


Switches = Callable[[RunData], list[Switch]]


def starts_higher(runs: list[RunData], name: str, task: str) -> Finding:
    """Whether the best depth at a switch plays the task that begins better than the weights."""
    statement = (
        "Ours: the depth that does best in 5 games at a switch back to a task starts the epoch at "
        f"a higher test reward than the weights: {task}"
    )
    return _chosen_plays_better(runs, name, task, returns, statement)


def ends_higher(runs: list[RunData], name: str, task: str) -> Finding:
    """Whether the best depth at the end of an epoch plays the trained task better."""
    statement = (
        "Ours: the depth that does best in 5 games at the end of an epoch plays the task that was "
        f"trained better than the weights: {task}"
    )
    return _chosen_plays_better(runs, name, task, ends, statement)


def smoothed(runs: list[RunData], name: str, task: str, depth: int = 2) -> Finding:
    """Whether a depth that nobody needs to choose plays the trained task better."""
    statement = (
        f"Ours: the network of beaker {depth}, a running average of the weights, plays the task "
        f"that was trained better than they do at the end of an epoch: {task}"
    )
    rule = "the 95% interval of its mean gain in 5 games, over seeds, is above 0"

    def same(switch: Switch) -> int:
        return depth if depth in switch.look["depths"] else 1

    return _plays_better(runs, name, task, ends, same, statement, rule)


def what_depths_know(runs: list[RunData], name: str, tasks: Sequence[str]) -> list[Finding]:
    """Whether depths play better than the weights, before and after an epoch of every task."""
    judged = (starts_higher, ends_higher, smoothed)
    return [judge(runs, name, task) for judge in judged for task in tasks]


def _chosen_plays_better(
    runs: list[RunData], name: str, task: str, switches: Switches, statement: str
) -> Finding:
    rule = (
        "in 5 games that did not choose it, the chosen depth (the weights, unless a depth beats "
        f"them by {MARGIN:.0%} of the threshold) earns more than the weights: the 95% interval of "
        "the mean over its switches, over seeds, is above 0"
    )
    return _plays_better(
        runs, name, task, switches, lambda x: chosen(x.look, x.task), statement, rule
    )


def _plays_better(
    runs: list[RunData],
    name: str,
    task: str,
    switches: Switches,
    choose: Callable[[Switch], int],
    statement: str,
    rule: str,
) -> Finding:
    mine = measures.by_variant(runs).get(name, [])
    picks = [[(x, choose(x)) for x in switches(run) if x.task == task] for run in mine]
    if lack := _lack(name, len(mine), min(map(len, picks), default=0)):
        return Finding(statement, rule, lack, None)
    found = interval(_table([[gain(x.look, task, depth) for x, depth in row] for row in picks]))
    deep = [depth > 1 for row in picks for _, depth in row]
    measured = f"{_words(found)} more; a depth was chosen at {sum(deep)} of {len(deep)} switches"
    return Finding(statement, rule, measured, found.low > 0)


def sooner(runs: list[RunData], mine: str, other: str, task: str, words: str) -> Finding:
    """Whether an agent that recalls a depth at a switch relearns a task in fewer episodes."""
    statement = f"Ours: {words}, a task is relearnt in fewer episodes: {task}"
    rule = (
        f"training episodes to relearn in later visits (never counts as the whole epoch): fewer "
        f"than {other} of the same seed; the 95% interval of the difference, over seeds, is below 0"
    )
    rows = {
        name: {run.seed: later for run in group if (later := _capped(run, task))}
        for name, group in measures.by_variant(runs).items()
    }
    seeds = sorted(rows.get(mine, {}).keys() & rows.get(other, {}).keys())
    if lack := _lack(f"{mine} beside {other}", len(seeds), 1):
        return Finding(statement, rule, lack, None)
    shared = min(len(rows[name][seed]) for name in (mine, other) for seed in seeds)
    one, two = (_table([rows[name][seed][:shared] for seed in seeds]) for name in (mine, other))
    found = interval(one - two)
    measured = f"{mine} {one.mean():,.0f}, {other} {two.mean():,.0f} episodes; {_words(found)}"
    return Finding(statement, rule, measured, found.high < 0)


# Variants that recall a depth at a switch, beside the one that does not.
RECALLS = {
    "benna-fusi-recall": "With recall at a switch and exploration as always",
    "benna-fusi-recall-hold": "With recall at a switch and exploration held back while the "
    "recalled network earns its threshold",
}


def with_recall(runs: list[RunData], other: str, tasks: Iterable[str]) -> list[Finding]:
    """Whether either kind of recall saves episodes, for every task."""
    return [
        sooner(runs, name, other, task, words) for name, words in RECALLS.items() for task in tasks
    ]


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
    """A way to choose a depth.

    Attributes:
        words: what it goes by.
        depth: that it chooses at a switch; None where nothing was recorded for it.
    """

    words: str
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
    if lack := _lack("this way", len(rows), min(map(len, rows), default=0)):
        return Finding(statement, rule, lack, None)
    found = interval(_table(rows))
    return Finding(statement, rule, f"{_words(found)} of the threshold", found.low > 0)


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


def _capped(run: RunData, task: str) -> list[float]:
    """Training episodes to relearn a task in its later visits, at most those of the epoch."""
    tests, found = trials_of(run), []
    times = measures.relearning(run)
    for place, name in enumerate(measures.epoch_tasks(run)):
        if name == task:
            mine = tests.episode[tests.epoch == place + 1]
            found.append(min(float(times[place]), float(mine.max() - mine.size)))
    return found[1:]


def _table(rows: list[list[float]]) -> Float64:
    shortest = min(map(len, rows))
    return np.array([row[:shortest] for row in rows], np.float64)


def _lack(name: str, seeds: int, each: int) -> str:
    if seeds < SEEDS:
        return f"not enough data: {name} has {seeds} of {SEEDS} seeds"
    return "" if each else f"not enough data: {name} has not come to such a switch in every seed"


def _words(found: Interval) -> str:
    return f"{found.value:+.3g} [{found.low:+.3g}, {found.high:+.3g}]"
