"""All sets of open choices on seeds 0 to 2 in one picture, from the stored numbers.

python docs/studies/open_choices.py FOLDER      (seconds; reads results/choices/online-choices*)

The plan was run on seed 0, three of its sets on seeds 1 and 2 as well, and the rest of it on these
later, in a folder of its own. A folder keeps the mean of each task over its seeds and the smaller
score, which is exact: each seed's is cut at 0 and 1. Of the other task the mean is cut.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from bennafusi.experiments.deep import choices_figure
from bennafusi.experiments.deep.online_choices import (
    ASKED,
    CHOICES,
    added,
    best_first,
    letters,
    score,
)

RESULTS = Path(__file__).parents[2] / "results" / "choices"
FOLDERS = ("online-choices", "online-choices-rest")


def scores() -> dict[str, dict[str, float]]:
    """Of each set, by task: the part of what is asked, each folder by the seeds that it has."""
    parts = defaultdict[str, list[tuple[int, dict[str, float]]]](list)
    for name in FOLDERS:
        with (RESULTS / name / "numbers" / "sets.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                mine = {task: score(task, float(row[task])) for task in ASKED}
                mine[min(mine, key=lambda task: mine[task])] = float(row["score"])
                parts[row["set"]].append((int(row["seeds"]), mine))
    return {
        chosen: {
            task: float(np.average([s[task] for _, s in mine], weights=[n for n, _ in mine]))
            for task in ASKED
        }
        for chosen, mine in parts.items()
    }


def main(folder: Path) -> None:
    """Draw them, and print what each choice adds."""
    found = scores()
    effects = added(found)
    rows = {chosen: (letters(chosen), found[chosen]) for chosen in best_first(found)}
    words = {letter: choice.other for letter, choice in CHOICES.items()}
    choices_figure.sets(rows, words, effects, folder)
    for chosen, (_, mine) in rows.items():
        print(chosen, *(f"{task} {part:.2f}" for task, part in mine.items()))
    for letter, effect in effects.items():
        print(words[letter], *(f"{task} {part:+.2f}" for task, part in effect.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
