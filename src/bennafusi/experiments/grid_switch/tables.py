"""The numbers of the grid: those by which a run is known, and those behind Figure 2."""

from __future__ import annotations

import numpy as np

from bennafusi.experiments import statistics
from bennafusi.experiments.grid_switch.measures import Measures
from bennafusi.results import RunData, Table
from bennafusi.synapse.chain import Float64

FIRST_SWITCHES = 2  # epochs that are no relearning: the first task, and the second


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


def numbers(runs: list[RunData]) -> list[Table]:
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
    tables = [summary, Table("epochs", title, names, rows)]
    return [table for table in tables if table.rows]


def _later(steps: Float64, all_steps: Float64) -> float:
    filled = np.where(np.isfinite(steps), steps, all_steps)[FIRST_SWITCHES:]
    return float(filled.mean()) if filled.size else float("nan")
