"""When does a depth still have a task: did it have it when the task's own epoch ended?

python docs/studies/depths_kept.py FOLDER [VARIANT]      (seconds; reads runs that are there)

For every return to a task: which depths played it at the end of its last epoch, and which play it
now, after the other tasks. Then what goes with the reward of the best depth now. A look at runs
that were judged, for an explanation: nothing here was predicted, and nothing is judged by it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from bennafusi.experiments.deep.deep_measures import THRESHOLDS
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.depth_choice import Look, ends, returns
from bennafusi.results import RunData
from bennafusi.runs.load import load_all

HALF = 0.5  # of a task's threshold: what counts as having it
DEEP = 4  # beakers from here on are as slow as a good part of an epoch, or slower
LAST_TESTS = 50


class Return(NamedTuple):
    """A return to a task: the look at the end of its last epoch, and the look now."""

    run: RunData
    task: str
    then: Look
    now: Look


def found(runs: Sequence[RunData]) -> list[Return]:
    """All returns of some runs."""
    every = []
    for run in runs:
        own = {look["epoch"]: look for _, look in ends(run)}
        for task, look in returns(run):
            then = own[look["epoch"] - len(look["rewards"]) + 1]
            every.append(Return(run, task, then, look))
    return every


def shares(look: Look, task: str) -> dict[int, float]:
    """What each depth earns, as a share of the threshold."""
    games = look["rewards"][task]
    means = [float(np.mean(each)) / THRESHOLDS[task] for each in games]
    return dict(zip(look["depths"], means, strict=True))


def kept(every: Sequence[Return]) -> dict[tuple[str, int], list[int]]:
    """By task and depth: kept it, lost it, has it without having had it, neither."""
    counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for back in every:
        now = shares(back.now, back.task)
        for depth, then in shares(back.then, back.task).items():
            place = 2 * (then < HALF) + (now[depth] < HALF)
            counts[back.task, depth][place] += 1
    return dict(sorted(counts.items()))


def measures(back: Return) -> dict[str, float]:
    """What might go with it; the first is what it should go with."""
    then, now = shares(back.then, back.task), shares(back.now, back.task)
    tests, epoch = trials_of(back.run), back.then["epoch"]
    own = tests.epoch == epoch
    gaps = next(
        record["distances"]["weights"]
        for record in back.run.records
        if record["kind"] == "switch" and record["epoch"] == back.now["epoch"]
    )
    return {
        "best depth now": max(value for depth, value in now.items() if depth > 1),
        "deep beakers when its epoch ended": float(
            np.mean([value for depth, value in then.items() if depth >= DEEP])
        ),
        "weights when its epoch ended": float(np.mean(tests.reward[own][-LAST_TESTS:])),
        "share of good tests in its epoch": float(
            np.mean(tests.reward[own] >= THRESHOLDS[back.task])
        ),
        "loss at the end of its epoch": float(np.mean(tests.loss[own][-LAST_TESTS:])),
        "updates since": float(back.now["updates"] - back.then["updates"]),
        f"distance of beaker {DEEP} from the weights now": gaps[DEEP - 1],
        f"distance of beaker {DEEP + 1} from the weights now": gaps[DEEP],
    }


def main(folder: Path, variant: str = "benna-fusi") -> None:
    """Print both tables."""
    loaded = load_all(folder, lambda spec: spec.variant == variant)
    runs = [RunData(run.spec.variant, run.spec.seed, run.records) for run in loaded.runs]
    every = found(runs)
    seeds = sorted({back.run.seed for back in every})
    print(f"{variant}, seeds {', '.join(map(str, seeds))}: {len(every)} returns")
    for (task, depth), (stays, goes, comes, never) in kept(every).items():
        had = f"had it {stays + goes} of {stays + goes + comes + never}"
        print(f"{task:14} beaker {depth}: {had}, still has it {stays}; has it newly {comes}")
    for task in dict.fromkeys(back.task for back in every):
        rows = [measures(back) for back in every if back.task == task]
        best, *others = rows[0]
        for name in others:
            pairs = [(row[name], row[best]) for row in rows]
            x, y = np.array([p for p in pairs if np.isfinite(p).all()]).reshape(-1, 2).T
            known = x.size > 2 and np.ptp(x) > 0 and np.ptp(y) > 0
            rho = f"{spearmanr(x, y).statistic:+.2f}" if known else "not known"
            print(f"{task:14} {name}: rank correlation with the best depth now {rho}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
