"""What agents keep and win back, of a page of results that is older than these measures.

python docs/studies/stored_measures.py results/paper/two-task-judged      (seconds)

From the page's ``numbers/switches.csv`` and ``numbers/epochs.csv`` alone, by the functions of
``bennafusi.metrics`` and under their names; written beside them as ``continual.csv``. Measures that
need every test (drop after a switch, area under the curve) are not to be had from these.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from bennafusi import metrics
from bennafusi.experiments.deep.deep_continual import lost_by_switch
from bennafusi.experiments.deep.deep_measures import THRESHOLDS
from bennafusi.metrics import Duration
from bennafusi.report.results_folder import as_csv
from bennafusi.results import Table

Run = tuple[str, int]


def rows(path: Path) -> dict[Run, list[dict[str, str]]]:
    """Of a table, by variant and seed."""
    found: dict[Run, list[dict[str, str]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["variant"], int(row["seed"])), []).append(row)
    return found


def kept(switches: list[dict[str, str]], epochs: list[dict[str, str]]) -> dict[str, float]:
    """The measures of one run."""
    tasks = list(dict.fromkeys(row["tested"] for row in switches))
    scores = np.full((len(epochs) + 1, len(tasks)), np.nan)
    for row in switches:
        scores[int(row["epoch"]), tasks.index(row["tested"])] = float(row["reward"])
    trained = [tasks.index(row["task"]) for row in epochs]
    found = {
        "average performance, share of thresholds": metrics.average_performance(
            scores / [THRESHOLDS[task] for task in tasks]
        )
    }
    for place, task in enumerate(tasks):
        first, *later = (_duration(row) for row in epochs if row["task"] == task)
        again = metrics.median_duration(later)
        gain = metrics.relearning_gain(first.time, again) if first.reached else np.nan
        found |= {
            f"relearning gain {task}, share of episodes": gain,
            f"forgetting from end {task}, reward": metrics.forgetting_from_end(scores, trained)[
                place
            ],
            f"forgetting from end {task}, reward, mean over switches": lost_by_switch(
                scores, trained
            )[place],
            f"forgetting from peak {task}, reward": metrics.forgetting_from_peak(scores)[place],
        }
    return {name: float(number) for name, number in found.items()}


def _duration(row: dict[str, str]) -> Duration:
    time = float(row["relearning"])
    return Duration(time, bool(np.isfinite(time)))


def main(folder: Path) -> None:
    """Write them and print their means over seeds."""
    numbers = folder / "numbers"
    switches, epochs = rows(numbers / "switches.csv"), rows(numbers / "epochs.csv")
    found = {run: kept(switches[run], epochs[run]) for run in epochs}
    lines = [(*run, name, x) for run, mine in found.items() for name, x in mine.items()]
    columns = ("variant", "seed", "measure", "number")
    (numbers / "continual.csv").write_text(as_csv(Table("continual", "", columns, lines)))
    for variant in dict.fromkeys(variant for variant, _ in found):
        mine = [one for (name, _), one in found.items() if name == variant]
        for name in mine[0]:
            each = [one[name] for one in mine]
            print(f"{variant}: {name}: {np.mean(each):.3g} ({', '.join(f'{x:.3g}' for x in each)})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
