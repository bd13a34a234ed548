"""What the depths know, as something to move: depth against time, and the networks at play.

Deep agents record the reward of each depth's network on every task, the grid from how many cells
the greedy policy of each depth finds either goal. Both become the same plain JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bennafusi.experiments.deep.deep_measures import counted_in
from bennafusi.experiments.deep.panels import task_name
from bennafusi.experiments.exhibits import thinned
from bennafusi.results import Exhibit, RunData

MOST_FILMS = 8
MOST_PLAYED = 4  # films whose games are on the page; of a long run they are half a megabyte


def looked(run: RunData) -> list[dict[str, Any]]:
    """A run's looks at its depths."""
    return [record for record in run.records if record["kind"] == "depths"]


def games(run: RunData) -> dict[int, dict[str, list[Any]]]:
    """The games that a run kept, by episode, task and depth; older runs kept none."""
    kept = (record for record in run.records if record["kind"] == "games")
    return {int(record["episode"]): record["games"] for record in kept}


def shows_its_end(run: RunData) -> bool:
    """Whether games of a run's last look were kept, so that no network has to play anew."""
    looks = looked(run)
    return bool(looks) and looks[-1].get("episode") in games(run)


def depths(
    runs: Sequence[RunData],
    timescales: Mapping[str, list[float]],
    played: Mapping[tuple[str, int], Mapping[str, Any]],
) -> list[Exhibit]:
    """How the network of each depth plays each task over training, run by run.

    Args:
        runs: of one experiment.
        timescales: of each beaker in updates, by variant; where records do not have them.
        played: by variant and seed, what :func:`bennafusi.experiments.deep.play.of_depths` gave;
            for the last look of runs that kept no game of it.
    """
    seen = [run for run in runs if len(looked(run)) > 1][:MOST_FILMS]
    films = []
    for place, run in enumerate(seen):
        kept = games(run) if place < MOST_PLAYED else {}
        film = _film(run, timescales.get(run.variant, []), kept)
        films.append({**film, "played": played.get((run.variant, run.seed))})
    if not films:
        return []
    caption = (
        f"{_best(films[0])} Every cell is the network that a beaker held at that moment, all "
        "weights, gains and biases taken from that depth; u₁ is the network itself. The further "
        "down, the longer it remembers (right). White lines are switches, bars on top mark when "
        "that task was trained; empty: the run was not yet as old as that depth remembers. Choose "
        "a cell, by a click or the arrow keys, to see one of its games where it was kept."
    )
    return [Exhibit("depths", "What the depths know", caption, {"films": films})]


def _film(
    run: RunData, timescales: list[float], kept: Mapping[int, Mapping[str, list[Any]]]
) -> dict[str, Any]:
    looks = looked(run)
    looks = [looks[place] for place in thinned(len(looks))]
    deep = "rewards" in looks[0]
    values = "rewards" if deep else "found"
    most = max(looks, key=lambda look: len(next(iter(look[values].values()), [])))
    known = most.get("timescales") or timescales
    # A run's tasks take turns, so the first of them is that of the odd epochs of the grid.
    names = list(most[values])
    trained = [
        look["task"] if deep else names[(int(look["epoch"]) - 1) % len(names)] for look in looks
    ]
    return {
        "agent": run.variant,
        "seed": run.seed,
        "unit": "mean reward" if deep else "share of cells from which the goal is found",
        "along": counted_in(run) if deep else "step",
        "times": [int(look["episode" if deep else "steps"]) for look in looks],
        "epochs": [int(look["epoch"]) for look in looks],
        "trained": [task_name(name) if name else "" for name in trained],
        "timescales": [float(f"{time:.3g}") for time in known],
        "panels": [
            {
                **_panel(name, [look[values][name] for look in looks]),
                "games": [kept.get(look.get("episode", -1), {}).get(name) for look in looks],
            }
            for name in names
        ],
    }


def _panel(name: str, looks: list[list[Any]]) -> dict[str, Any]:
    """One task: a row for each depth, None where a depth was not reached."""
    rows: list[list[float | None]] = [[None] * len(looks) for _ in range(max(map(len, looks)))]
    for place, depths in enumerate(looks):
        for row, games in zip(rows, depths, strict=False):
            mean = float(np.mean(np.array(games, np.float64)))
            row[place] = float(f"{mean:.4g}") if math.isfinite(mean) else None
    return {"task": task_name(name), "values": rows}


def _best(film: dict[str, Any]) -> str:
    """In a sentence for each task: the best depth at the last look, beside the network itself."""
    parts = []
    for panel in film["panels"]:
        last = [row[-1] for row in panel["values"]]
        known = [(value, -k) for k, value in enumerate(last, start=1) if value is not None]
        if not known or last[0] is None:
            continue
        best, depth = max(known)
        than = f"u{-depth} has {best:g}" if depth < -1 else "no depth has more"
        parts.append(f"{panel['task']}: the network itself has {last[0]:g}, {than}")
    when = f"At the last look at {film['agent']}, seed {film['seed']}"
    return f"{when} ({film['along']} {film['times'][-1]:,}; {film['unit']}): {'; '.join(parts)}."
