"""What the paper says of the grid, judged by the runs."""

from __future__ import annotations

import numpy as np

from bennafusi.experiments.grid_switch.grid_measures import Measures
from bennafusi.experiments.statistics import EXCLUDES, greater, in_words
from bennafusi.results import Finding, RunData, all_of
from bennafusi.synapse.chain import Float64

CHAINS = ("benna-fusi", "modified")
SEEDS = 2  # that an agent needs to be judged
MUCH_FASTER = 0.5  # of the steps at the first switch
FORGOTTEN, REMEMBERED = 0.3, 0.5  # of the highest value of the same beaker


def claims(runs: list[RunData]) -> list[Finding]:
    """The paper's sentences about Figures 2 and 3, in their order, each once."""
    measures = Measures(runs)
    return [
        all_of(FASTER, [_quicker(measures, name, "control", FASTER) for name in CHAINS]),
        _quicker(measures, "modified", "benna-fusi", QUICKEST),
        all_of(LONG, [_long(measures, name) for name in ("control", *CHAINS)]),
        _relearning(measures, "control", CONTINUES),
        all_of(REATTAIN, [_relearning(measures, name, REATTAIN) for name in CHAINS]),
        all_of(REMEMBER, [_hidden(runs, name) for name in CHAINS]),
    ]


FASTER = (
    "The Benna-Fusi agents learned to switch between good policies for each task significantly "
    "faster than the control agent"
)
QUICKEST = (
    "... with the modified Benna-Fusi agent being the quickest to relocate the reward for the "
    "first time at the beginning of each epoch"
)
LONG = (
    "It takes them all a long time to find the reward when its location is switched to the "
    "opposite corner at the beginning of the second epoch"
)
CONTINUES = (
    "The control agent continues to take a long time to relearn a good policy after subsequent "
    "switches"
)
REATTAIN = (
    "Both Benna-Fusi agents learn to re-attain a good level of performance much faster than after "
    "the initial task-switch"
)
REMEMBER = (
    "While V^1 only appears to retain information about the current reward, V^2 and V^3 still "
    "remember that there is value at the previous one"
)


def _quicker(measures: Measures, one: str, other: str, statement: str) -> Finding:
    rule = f"fewer steps to the first reward than {other}, from epoch 3 on; {EXCLUDES}"
    if not _enough(measures, one, other):
        return Finding(statement, rule, "-", None)
    # As far as both are: epochs differ, and an agent that is not done has had the first ones alone.
    shared = min(measures.first[name].shape[1] for name in (one, other))
    (mine, never), (theirs, too) = (_later(measures, name, shared) for name in (one, other))
    measured = f"steps: {in_words({one: mine, other: theirs})}"
    if never or too:
        measured += f"; epochs without any reward, counted as their whole length: {never}, {too}"
    return Finding(statement, rule, measured, greater(theirs, mine))


def _long(measures: Measures, name: str) -> Finding:
    rule = "more steps to the first reward in epoch 2 than in epoch 1, mean over seeds"
    if not _enough(measures, name):
        return Finding(LONG, rule, "-", None)
    table, steps = measures.first[name], measures.steps[name]
    one, two = np.where(np.isnan(table), steps, table)[:, :2].mean(axis=0)
    return Finding(LONG, rule, f"{name} {one:,.0f}, then {two:,.0f} steps", bool(two > one))


def _relearning(measures: Measures, name: str, statement: str) -> Finding:
    """Later switches against the first one. A run that never relearns counts its whole epoch."""
    control = name == "control"
    sign = "at least" if control else "less than"
    rule = f"steps to relearn in epochs 3 on: {sign} {MUCH_FASTER} of those in epoch 2"
    if not _enough(measures, name):
        return Finding(statement, rule, "-", None)
    table = measures.relearning[name]
    never = int(np.isinf(table[:, 1:]).sum())
    filled = np.where(np.isfinite(table), table, measures.steps[name])
    first, later = float(filled[:, 1].mean()), filled[:, 2:]
    ratio = float(later.mean()) / first if first else np.inf
    measured = (
        f"steps: {in_words({f'{name} {first:,.0f} in epoch 2, later': later})}, ratio {ratio:.2g}"
    )
    if never:
        measured += f"; {never} of {table[:, 1:].size} never did and count as their whole epoch"
    return Finding(
        statement, rule, measured, ratio >= MUCH_FASTER if control else ratio < MUCH_FASTER
    )


def _hidden(runs: list[RunData], name: str) -> Finding:
    rule = (
        f"value at the previous goal, of the same beaker's highest: V^1 below {FORGOTTEN}, V^2 "
        f"and V^3 above {REMEMBERED}, mean over at least {SEEDS} seeds at the last look in epoch 3"
    )
    mine = [run for run in runs if run.variant == name and last_odd_epoch(run) >= 3]
    last = min((last_odd_epoch(run) for run in mine), default=0)
    shares = {}
    for epoch in sorted({3, last}):
        moments = [values for run in mine if (values := snapshot(run, epoch)) is not None]
        if len(moments) >= SEEDS:
            shares[epoch] = np.mean([_at_previous_goal(values) for values in moments], axis=0)
    if 3 not in shares:
        return Finding(REMEMBER, rule, "-", None)
    measured = f"{name} " + "; ".join(
        f"epoch {epoch}: " + ", ".join(f"V^{k} {x:.2f}" for k, x in enumerate(share, start=1))
        for epoch, share in shares.items()
    )
    holds = shares[3][0] < FORGOTTEN and bool((shares[3][1:] > REMEMBERED).all())
    return Finding(REMEMBER, rule, measured, bool(holds))


def snapshot(run: RunData, epoch: int) -> Float64 | None:
    """The value functions ``[n, size, size]`` at the last moment seen in an epoch."""
    frames = [r for r in run.records if r["kind"] == "values" and r["epoch"] == epoch]
    return np.array(frames[-1]["values"], np.float64) if frames else None


def last_odd_epoch(run: RunData) -> int:
    """The last finished epoch whose goal was in the upper right corner; 0 if there is none."""
    done = [r["epoch"] for r in run.records if r["kind"] == "epoch" and r["epoch"] % 2]
    return max((epoch for epoch in done if snapshot(run, epoch) is not None), default=0)


def _at_previous_goal(values: Float64) -> Float64:
    """In odd epochs the goal is the upper right corner, and was the lower left one before."""
    highest = values.max(axis=(1, 2))
    shares: Float64 = values[:, -1, 0] / np.where(highest > 0, highest, 1)
    return shares


def _later(measures: Measures, name: str, last: int) -> tuple[Float64, int]:
    """Steps to the first reward in epochs 3 to ``last``, and in how many of them there was none.

    Those count as their whole epoch, the least it can have been.
    """
    table = measures.first[name][:, 2:last]
    none = np.isnan(table)
    return np.where(none, measures.steps[name][:, 2:last], table), int(none.sum())


def _enough(measures: Measures, *names: str) -> bool:
    """At least two seeds of four epochs of each."""
    tables = [measures.first.get(name) for name in names]
    return all(
        table is not None and len(table) >= SEEDS and table.shape[1] >= 4 for table in tables
    )
