"""All cells of Adam's epsilon in one picture: cause and effect, from the stored numbers.

python docs/studies/epsilon_cells.py FOLDER      (seconds; reads results/paper/online-epsilon-*)

The sixteen pairs of a control and the four of the Benna-Fusi agent were run on three days, in three
folders, each of which has a picture of its own runs alone.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from bennafusi.experiments.deep.drift_figure import Run, of_numbers
from bennafusi.experiments.deep.online_epsilon import AGENTS, BETWEEN

RESULTS = Path(__file__).parents[2] / "results" / "paper"
FOLDERS = ("online-epsilon-judged", "online-epsilon-controls", "online-epsilon-fourth")


def runs(folder: Path) -> list[Run]:
    """Those of one folder that came to their end."""
    numbers = folder / "numbers"
    over = {
        (row["variant"], row["seed"])
        for row in rows(numbers / "runs.csv")
        if row["state"] == "done"
    }
    found = []
    for row in rows(numbers / "drift.csv"):
        if (row["variant"], row["seed"]) in over:
            agent, _, epsilon = row["variant"].rpartition(BETWEEN)
            drift, reward = float(row["drift"]), float(row["final moving average"])
            found.append(Run(agent, float(epsilon), drift, reward))
    return found


def rows(path: Path) -> list[dict[str, str]]:
    """Of a table."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main(folder: Path) -> None:
    """Draw all of them."""
    every = [run for name in FOLDERS for run in runs(RESULTS / name)]
    picture = of_numbers(every, folder, AGENTS)
    print(f"{len(every)} runs; {picture.caption if picture else 'nothing to draw'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
