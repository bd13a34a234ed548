"""What a report can move or take apart, from the records of runs of any experiment.

Which exhibits there are follows from the kinds of records: those of the grid have ``values``, those
of the deep agents ``test`` and ``levels``. Runs that are not far enough give none. Captions say
what is to be seen in these runs, from their numbers.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bennafusi.experiments import statistics
from bennafusi.experiments.agent_styles import on_a_page
from bennafusi.experiments.deep.deep_measures import counted_in
from bennafusi.experiments.deep.panels import task_name
from bennafusi.metrics import interquartile_mean, interval, performance_profile
from bennafusi.results import Exhibit, RunData, Table
from bennafusi.synapse.chain import Float64

MOST_FRAMES = 120
MOST_LEVELS = 400  # of a profile
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
    caption = (
        "Thin lines are seeds, thick ones the mean over them, or the median where one never came "
        "to it (∞). Point at a line to read it off; a click on a name takes it out or back in."
    )
    data = {"charts": charts, "styles": on_a_page(_agents(known.values()))}
    return [Exhibit("seeds", "Every agent, every seed", caption, data)]


def profiles(scored: Sequence[tuple[str, dict[str, float]]]) -> list[Exhibit]:
    """Whole distributions over seeds beside means of all and of the middle half of them."""
    samples = statistics.by_measure(scored)
    names = dict.fromkeys(name for _, name in samples)
    with np.errstate(over="ignore", invalid="ignore"):  # absurd numbers are found by their size
        measures = [_profile(name, samples) for name in names]
    shown = [one for one in measures if one is not None]
    if not shown:
        return []
    most = max(len(numbers) for numbers in samples.values())
    few = " With fewer than four seeds nothing is cut, and both means are the same." * (most < 4)
    caption = (
        "Each step is one run: how many of an agent's runs come out above a number. The "
        "interquartile mean leaves out the lowest and the highest quarter of them, so that one run "
        f"of luck does not decide; intervals are 95%, by resampling three seeds or more.{few}"
    )
    data = {"measures": shown, "styles": on_a_page(variant for variant, _ in scored)}
    return [Exhibit("profiles", "Not only the mean", caption, data)]


def values(runs: Sequence[RunData]) -> list[Exhibit]:
    """The value functions of the grid over training, of the first seed of each agent."""
    films = [film for run in _first_seeds(runs) if (film := _value_film(run)) is not None]
    if not films:
        return []
    caption = (
        "The value of every cell as each beaker of the table has it, bright is high; the scale of "
        "each panel ends at its own highest value at that moment. ★ is the goal, ○ where it was "
        f"before. {_other_corner(runs)}Choose a cell to see its beakers."
    )
    return [Exhibit("values", "The value functions over training", caption, {"films": films})]


def beakers(runs: Sequence[RunData], timescales: dict[str, list[float]]) -> list[Exhibit]:
    """The beakers of a few parameters over training, of the first seed of each agent that has any.

    Timescales are those of each beaker in updates, by variant.
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


def _agents(tables: Iterable[Table]) -> list[str]:
    return [str(row[0]) for table in tables if "variant" in table.columns for row in table.rows]


def _by_task(table: Table, column: str, title: str, log: bool) -> list[dict[str, Any]]:
    tasks = dict.fromkeys(str(row[3]) for row in table.rows)
    charts = []
    for task in tasks:
        mine = table._replace(rows=[row for row in table.rows if row[3] == task])
        found = _charts(mine, "epoch", column, title, log)
        charts += [{**chart, "task": task_name(task)} for chart in found]
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


def _profile(name: str, samples: dict[tuple[str, str], Float64]) -> dict[str, Any] | None:
    """One measure: the share of each agent's runs above every number that came out, two means."""
    mine = {variant: numbers for (variant, of), numbers in samples.items() if of == name}
    known = np.concatenate([*mine.values(), np.empty(0)])
    known = known[np.isfinite(known)]
    if known.size < 2 or not float(np.ptp(known)) < math.inf:
        return None
    low, high = float(known.min()), float(known.max())
    pad = 0.04 * (high - low or 1.0)
    levels = np.array([low - pad, *np.unique(known)[-MOST_LEVELS:], high + pad], np.float64)
    agents = []
    for variant, numbers in mine.items():
        if numbers.size:
            share = performance_profile(numbers, levels)
            enough = numbers.size >= statistics.LEAST_SEEDS and bool(np.isfinite(numbers).all())
            middle = interval(numbers, interquartile_mean, resamples=1000) if enough else None
            agents.append(
                {
                    "variant": variant,
                    "seeds": numbers.size,
                    "mean": _number(float(numbers.mean())),
                    "middle": _number(interquartile_mean(numbers)),
                    "interval": [_number(middle.low), _number(middle.high)] if middle else None,
                    "share": [round(float(part), 4) for part in share],
                }
            )
    return {"title": name, "levels": [_number(float(x)) for x in levels], "agents": agents}


def _number(number: float) -> float | None:
    """Short enough for a page; None stands for what is infinite."""
    return float(f"{number:.5g}") if math.isfinite(number) else None


def _other_corner(runs: Sequence[RunData]) -> str:
    """What each beaker of the deepest table holds of the other goal at the end."""
    tables = [run for run in runs if any(r["kind"] == "values" for r in run.records)]
    last = [[r for r in run.records if r["kind"] == "values"][-1] for run in tables]
    place = max(range(len(last)), key=lambda at: len(last[at]["values"]))
    values, epoch = np.array(last[place]["values"], np.float64), int(last[place]["epoch"])
    other = values[:, -1, 0] if epoch % 2 else values[:, 0, -1]
    if len(values) < 2 or epoch < 2 or not (values.max(axis=(1, 2)) > 0).all():
        return ""
    shares = other / values.max(axis=(1, 2))
    words = ", ".join(f"{share:.0%} in V{k}" for k, share in enumerate(shares, start=1))
    run = tables[place]
    return (
        f"At the end of {run.variant}, seed {run.seed}, the corner of the other goal stands at "
        f"{words} of the highest value there. "
    )


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
        "along": counted_in(run),
        "times": [int(f["episode"]) for f in frames],
        "epochs": [int(f["epoch"]) for f in frames],
        "tasks": [f["task"] for f in frames],
        "updates": [int(f["updates"]) for f in frames],
        "awake": [int(f["awake"]) for f in frames],
    }
