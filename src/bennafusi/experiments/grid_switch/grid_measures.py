"""The two measures of Figure 2, from the lengths of an epoch's episodes, and tables of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bennafusi.experiments import statistics
from bennafusi.results import RunData, Table
from bennafusi.synapse.chain import Float64

WINDOW, GOOD_LENGTH = 20, 13
FIRST_SWITCHES = 2  # epochs that are no relearning: the first task, and the second


def first_reward(length: NDArray[np.int32], found: NDArray[np.bool_]) -> int | None:
    """Steps from the start of the epoch to its first reward; None if there was none.

    Example:
        >>> first_reward(np.array([20, 5, 7]), np.array([False, True, True]))
        25
    """
    rewarded = np.flatnonzero(found)
    return int(length[: rewarded[0] + 1].sum()) if rewarded.size else None


def relearning_steps(length: NDArray[np.int32]) -> int | None:
    """Steps until the mean length of the last 20 episodes is below 13; None if that never happens.

    Example:
        >>> relearning_steps(np.full(30, 12)), relearning_steps(np.full(30, 13))
        (240, None)
    """
    if length.size < WINDOW:
        return None
    sums = np.convolve(length.astype(np.int64), np.ones(WINDOW, np.int64), mode="valid")
    good = np.flatnonzero(sums < GOOD_LENGTH * WINDOW)
    return int(length[: good[0] + WINDOW].sum()) if good.size else None


class Measures:
    """Both measures of all runs: ``[seeds, epochs]`` per variant, cut to its shortest run."""

    def __init__(self, runs: list[RunData]) -> None:
        done = [(run.variant, [r for r in run.records if r["kind"] == "epoch"]) for run in runs]
        self.first: dict[str, Float64] = {}  # steps to the first reward, NaN where there was none
        self.relearning: dict[str, Float64] = {}  # steps to relearn, infinite where it never did
        self.steps: dict[str, Float64] = {}  # of the epoch: what a run without either took at least
        for variant in dict.fromkeys(name for name, _ in done):
            mine = [records for name, records in done if name == variant]
            mine = [records[: min(map(len, mine))] for records in mine]
            self.first[variant] = _table(mine, "first_reward", np.nan)
            self.relearning[variant] = _table(mine, "relearning_steps", np.inf)
            self.steps[variant] = _table(mine, "steps", np.nan)
        # The fewest of any variant.
        self.seeds = min((len(table) for table in self.first.values()), default=0)


def _table(runs: list[list[dict[str, Any]]], name: str, missing: float) -> Float64:
    rows = [[missing if r[name] is None else float(r[name]) for r in records] for records in runs]
    return np.array(rows, np.float64).reshape(len(rows), -1)


def scores(run: RunData) -> dict[str, float]:
    """Means over the epochs from the third on; one without a reward counts with its whole length.

    So the measures of Figure 2 are lower bounds where that happened.
    """
    measures = Measures([run])
    first, relearning = measures.first[run.variant][0], measures.relearning[run.variant][0]
    steps = measures.steps[run.variant][0]
    return {
        "steps to the first reward, epochs 3 on": _later(first, steps),
        "steps to a good policy, epochs 3 on": _later(relearning, steps),
        "seconds": float("nan") if run.seconds is None else run.seconds,
    }


def tables(runs: list[RunData]) -> list[Table]:
    """The measures over seeds, and those of every epoch."""
    rows: list[tuple[str | int | float, ...]] = []
    for run in runs:
        measures = Measures([run])
        columns = (measures.first, measures.relearning, measures.steps)
        cells = np.stack([table[run.variant][0] for table in columns], axis=1)
        rows += [(run.variant, run.seed, e, *row) for e, row in enumerate(cells.tolist(), start=1)]
    names = ("variant", "seed", "epoch", "first reward", "good policy", "steps")
    title = "Of each epoch: steps to the first reward, to a good policy, and in all"
    summary = statistics.summary((run.variant, scores(run)) for run in runs)
    found = [summary, Table("epochs", title, names, rows)]
    return [table for table in found if table.rows]


def _later(steps: Float64, all_steps: Float64) -> float:
    filled = np.where(np.isfinite(steps), steps, all_steps)[FIRST_SWITCHES:]
    return float(filled.mean()) if filled.size else float("nan")
