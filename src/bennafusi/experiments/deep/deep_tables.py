"""The numbers of the deep experiments: those by which a run is known, and those behind figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bennafusi.experiments import statistics
from bennafusi.experiments.deep import deep_continual as continual
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_claims import KEPT, LONG_WINDOW, finished, lowest_late
from bennafusi.results import RunData, Table

CURVE_POINTS = 200  # of a moving average, evenly spread; every one would be megabytes
AVERAGE = "average performance, share of thresholds"
ALONE = "control-reset"  # who begins each epoch anew, so that each task is learnt alone

Cells = tuple[str | int | float, ...]


def scores(run: RunData) -> dict[str, float]:
    """The numbers by which a run is known; of one task, or of several in turn.

    Of several, a measure is called like its function in :mod:`bennafusi.metrics`; relearning and
    reward are of all visits of a task but the first.
    """
    return (in_turn(run) if _several(run) else _one(run)) | seconds_of(run)


def tables(runs: list[RunData]) -> list[Table]:
    """What a figure of these runs is made of, and the measures beyond the paper."""
    found = [
        statistics.summary((run.variant, scores(run)) for run in runs),
        Table(
            "epochs",
            "Of each finished epoch: training episodes until the task was relearnt, reward per "
            "episode",
            ("variant", "seed", "epoch", "task", "relearning", "reward"),
            _rows(runs, _epochs),
        ),
        Table(
            "switches",
            "Mean test reward on every task before training (epoch 0) and at the end of each epoch",
            ("variant", "seed", "epoch", "trained", "tested", "reward"),
            _rows(runs, _switches),
        ),
        plasticity(runs),
        transfer(runs),
        Table(
            "beakers",
            "Root mean square distance of each beaker from the weight at each switch",
            ("variant", "seed", "epoch", "parameters", "beaker", "distance"),
            _rows(runs, _beakers),
        ),
        Table(
            "curve",
            "Moving average of the test reward, at some of the episodes",
            ("variant", "seed", "episode", "tests averaged", "reward"),
            _rows(runs, _curve),
        ),
    ]
    return [table for table in found if table.rows]


def plasticity(runs: list[RunData]) -> Table:
    """Whether agents can still learn."""
    return Table(
        "plasticity",
        "Dormant hidden units (share), effective rank of the last hidden layer, norm of the "
        "weights and their distance from the start, before training (epoch 0) and at the end of "
        "each epoch",
        ("variant", "seed", "epoch", *(statistics.RECORDED[name] for name in measures.PLASTIC)),
        _rows(runs, _plasticity),
    )


def transfer(runs: list[RunData]) -> Table:
    """Forward transfer, where there is a run of the same seed that learns each task alone."""
    alone = {run.seed: run for run in runs if run.variant == ALONE}
    return Table(
        "transfer",
        "Forward transfer to each task but the first: area under the tests of its first visit, as "
        f"a share of what {ALONE} of the same seed leaves below perfect play",
        ("variant", "seed", "task", "forward transfer"),
        [
            (run.variant, run.seed, task, number)
            for run in runs
            if run.seed in alone and run.variant != ALONE
            for task, number in continual.transfer(run, alone[run.seed]).items()
        ],
    )


def in_turn(run: RunData) -> dict[str, float]:
    """What a run of several tasks is known by, task after task; nothing of a run of one."""
    if not _several(run):
        return {}
    found = {k: x for numbers in continual.by_task(run).values() for k, x in numbers.items()}
    average = continual.average(run)
    return found | ({} if np.isnan(average) else {AVERAGE: average})


def _several(run: RunData) -> bool:
    return len(measures.switch_scores(run)) > 1


def _one(run: RunData) -> dict[str, float]:
    window = measures.window_of(run, LONG_WINDOW)
    averages = measures.moving_average(run, window)[1]
    late = lowest_late(run) if finished(run) else float("nan")
    found = {
        "final moving average": measures.final_average(run, window),
        "lowest moving average of the last quarter": late,
        "highest moving average": float(averages.max()) if averages.size else float("nan"),
    }
    areas = continual.areas(run)
    found |= {f"area under curve {task}, reward": area for task, area in areas.items()}
    if set(areas) == {"cartpole"}:
        reached = measures.first_reaching(run, window, KEPT)
        found[f"first episode with a moving average of {KEPT}"] = reached
    return found


def seconds_of(run: RunData) -> dict[str, float]:
    """How long a run took, if it has ended."""
    return {"seconds": float("nan") if run.seconds is None else run.seconds}


def _rows(runs: list[RunData], cells: Callable[[RunData], Iterator[Cells]]) -> list[Cells]:
    return [(run.variant, run.seed, *row) for run in runs for row in cells(run)]


def _epochs(run: RunData) -> Iterator[Cells]:
    tasks, times = measures.epoch_tasks(run), measures.relearning(run).tolist()
    rewards = measures.reward_per_epoch(run).tolist()
    yield from zip(range(1, len(tasks) + 1), tasks, times, rewards, strict=True)


def _switches(run: RunData) -> Iterator[Cells]:
    epochs, trained = measures.switch_epochs(run).tolist(), ["", *measures.epoch_tasks(run)]
    for task, rewards in measures.switch_scores(run).items():
        yield from zip(epochs, trained, [task] * len(epochs), rewards.tolist(), strict=True)


def _plasticity(run: RunData) -> Iterator[Cells]:
    for epoch, look in measures.plasticity(run).items():
        yield epoch, *(look[name] for name in measures.PLASTIC)


def _beakers(run: RunData) -> Iterator[Cells]:
    for group, table in measures.distances(run).items():
        for epoch, gaps in zip(measures.switch_epochs(run).tolist(), table.tolist(), strict=True):
            yield from ((epoch, group, k, gap) for k, gap in enumerate(gaps, start=1))


def _curve(run: RunData) -> Iterator[Cells]:
    window = measures.window_of(run, LONG_WINDOW)
    episodes, averages = measures.moving_average(run, window)
    if averages.size:
        kept = np.unique(np.linspace(0, averages.size - 1, CURVE_POINTS).round().astype(int))
        for place in kept.tolist():
            yield int(episodes[place]), window, float(averages[place])
