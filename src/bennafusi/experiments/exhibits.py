"""What a report can move or take apart, from the records of runs of any experiment.

Which exhibits there are follows from the kinds of records: those of the grid have ``values``, those
of the deep agents ``test`` and ``levels``. Runs that are not far enough give none.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bennafusi.results import Exhibit, RunData, Table
from bennafusi.synapse.chain import Float64

MOST_FRAMES = 120
MOST_LINES = 400  # of a chart; more seeds than that nobody tells apart


def seeds(tables: Iterable[Table]) -> list[Exhibit]:
    """Every seed by itself: the numbers behind the figures, a panel per agent, a line per seed."""
    known = {table.name: table for table in tables}
    charts: list[dict[str, Any]] = []
    epochs = known.get("epochs")
    if epochs and "first reward" in epochs.columns:
        for column, text in (
            ("first reward", "the first reward"),
            ("good policy", "a good policy"),
        ):
            charts += _charts(epochs, "epoch", column, f"Steps to {text}", log=True)
    else:
        if epochs and len({row[2] for row in epochs.rows}) > 1:
            charts += _by_task(epochs, "relearning", "Episodes to relearn", log=True)
            charts += _by_task(epochs, "reward", "Reward per episode", log=False)
        charts += _charts(known.get("curve"), "episode", "reward", "Test reward", log=False)
    if not charts:
        return []
    caption = "A panel for each agent, a line for each seed. ∞: it never came to it."
    return [Exhibit("seeds", "Seeds apart", caption, {"charts": charts})]


def values(runs: Sequence[RunData]) -> list[Exhibit]:
    """The value functions of the grid over training, of the first seed of each agent."""
    films = [film for run in _first_seeds(runs) if (film := _value_film(run)) is not None]
    if not films:
        return []
    caption = (
        "The value of every cell as each beaker of the table has it, bright is high; the scale of "
        "each panel ends at its own highest value at that moment. ★ is the goal, ○ where it was "
        "before. When the goal moves, the visible values V¹ follow at once and the hidden ones "
        "slowly: what they still hold of the other corner flows back. Choose a cell to see its "
        "beakers."
    )
    return [Exhibit("values", "The value functions over training", caption, {"films": films})]


def beakers(runs: Sequence[RunData], timescales: dict[str, list[float]]) -> list[Exhibit]:
    """The beakers of a few parameters over training, of the first seed of each agent that has any.

    Args:
        runs: of one experiment.
        timescales: of each beaker in updates, by variant.
    """
    films = [
        film
        for run in _first_seeds(runs)
        if (film := _level_film(run, timescales.get(run.variant, []))) is not None
    ]
    if not films:
        return []
    caption = (
        "The chain of one parameter, or the root mean square over a whole layer. u₁ is the weight "
        "itself; each beaker is wider than the one before it and joined to it by a thinner tube, "
        "so that it is slower. Pale beakers do not act on the weight yet: their gate is shut."
    )
    return [Exhibit("beakers", "The beakers over training", caption, {"films": films[:3]})]


def packed(numbers: Float64) -> dict[str, Any]:
    """Numbers as 16 bits each, between their least and their greatest: short, and good to draw.

    Example:
        >>> packed(np.array([[0.0, 0.5], [0.25, 1.0]]))
        {'low': 0.0, 'high': 1.0, 'words': 'AAAAgABA//8='}
    """
    low, high = float(numbers.min()), float(numbers.max())
    shares = (numbers - low) / ((high - low) or 1.0)
    words = np.round(shares * 65535).astype("<u2").tobytes()
    return {
        "low": float(f"{low:.6g}"),
        "high": float(f"{high:.6g}"),
        "words": base64.b64encode(words).decode("ascii"),
    }


def thinned(count: int, most: int = MOST_FRAMES) -> list[int]:
    """Evenly spread places, the first and the last among them.

    Example:
        >>> thinned(3), thinned(9, 5)
        ([0, 1, 2], [0, 2, 4, 6, 8])
    """
    places = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    return [int(place) for place in places]


def _by_task(table: Table, column: str, title: str, log: bool) -> list[dict[str, Any]]:
    tasks = dict.fromkeys(str(row[3]) for row in table.rows)
    charts = []
    for task in tasks:
        mine = table._replace(rows=[row for row in table.rows if row[3] == task])
        charts += _charts(mine, "epoch", column, f"{title}: {task}", log)
    return charts


def _charts(table: Table | None, x: str, y: str, title: str, log: bool) -> list[dict[str, Any]]:
    """A chart of two columns, a line for each run; None is infinity, what is not known is left out.

    Example:
        >>> table = Table("a", "A", ("variant", "seed", "x", "y"), [("v", 0, 1, math.inf)])
        >>> _charts(table, "x", "y", "Y", False)[0]["lines"]
        [{'variant': 'v', 'seed': 0, 'x': [1], 'y': [None]}]
    """
    if table is None or not {x, y} <= set(table.columns):
        return []
    places = table.columns.index(x), table.columns.index(y)
    lines: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in table.rows:
        across, up = (row[place] for place in places)
        if isinstance(up, str) or math.isnan(up):
            continue
        line = lines.setdefault(
            (row[0], row[1]), {"variant": row[0], "seed": row[1], "x": [], "y": []}
        )
        line["x"].append(across)
        line["y"].append(None if math.isinf(up) else float(f"{up:.5g}"))
    found = list(lines.values())[:MOST_LINES]
    return [{"title": title, "x": x, "y": y, "log": log, "lines": found}] if found else []


def _first_seeds(runs: Sequence[RunData]) -> list[RunData]:
    return list({run.variant: run for run in reversed(runs)}.values())[::-1]


def _value_film(run: RunData) -> dict[str, Any] | None:
    frames = [record for record in run.records if record["kind"] == "values"]
    if not frames:
        return None
    frames = [frames[place] for place in thinned(len(frames))]
    numbers = np.array([record["values"] for record in frames], np.float64)
    return {
        "agent": run.variant,
        "seed": run.seed,
        "shape": list(numbers.shape),
        "values": packed(numbers),
        "epochs": [int(record["epoch"]) for record in frames],
        "steps": [int(record["steps"]) for record in frames],
    }


def _level_film(run: RunData, timescales: list[float]) -> dict[str, Any] | None:
    frames = [record for record in run.records if record["kind"] == "levels"]
    if not frames:
        return None
    frames = [frames[place] for place in thinned(len(frames))]
    choices = []
    for number, part in enumerate(frames[0]["parts"]):
        name = f"{part['group']}, layer {part['layer']}"
        rows = [("whole layer", [f["parts"][number]["rms"] for f in frames])]
        for index, place in enumerate(part["places"]):
            one, other = (int(axis) + 1 for axis in place)
            first = "from" if part["group"] == "weights" else "task"
            rows.append(
                (
                    f"{first} {one}, unit {other}",
                    [f["parts"][number]["levels"][index] for f in frames],
                )
            )
        for label, levels in rows:
            table = np.array(levels, np.float64)
            choices.append({"part": name, "name": label, "n": table.shape[1], **packed(table)})
    return {
        "agent": run.variant,
        "seed": run.seed,
        "timescales": [float(f"{time:.3g}") for time in timescales],
        "choices": choices,
        "episodes": [int(f["episode"]) for f in frames],
        "epochs": [int(f["epoch"]) for f in frames],
        "tasks": [f["task"] for f in frames],
        "updates": [int(f["updates"]) for f in frames],
        "awake": [int(f["awake"]) for f in frames],
    }
