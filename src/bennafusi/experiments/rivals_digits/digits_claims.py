"""What runs of ``rivals-digits`` say: each method at its tuned point, ranked, and a few claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from bennafusi.experiments import ranking, statistics
from bennafusi.experiments.rivals_digits.digits_job import MEASURES
from bennafusi.results import Finding, RunData, Table

Cell = tuple[str, int]
MINE, DEEPER, NOTHING = "benna-fusi", "benna-fusi-depth-2", "control"
RULE = (
    "accuracy on all tasks in the second half of training, each method at the point of its grid "
    "that was best on the tuning seeds; the 95% interval of the difference over the judged seeds "
    "is above 0 in every problem and rhythm"
)
# Who keeps more than whom; ours, written down before the judged seeds were run.
CLAIMS = {
    "A chain keeps more than Adam alone": (MINE, NOTHING),
    "A chain is more than a rate that falls": (MINE, "annealed"),
    "A chain keeps more than online EWC": (MINE, "online-ewc"),
    "Read at its second beaker, a chain keeps more than Adam alone": (DEEPER, NOTHING),
    "A plain running average keeps more than a chain's second beaker": ("ema", DEEPER),
}
_WHERE = ("seed", "method", "problem", "visit")


class Tuned(NamedTuple):
    """One method on one problem in one rhythm."""

    strength: float  # of the point that was best on the tuning seeds
    rate: float  # likewise
    edge: bool  # whether it lies at an edge of the grid, so that more might have been found beyond
    judged: dict[int, dict[str, Any]]  # that point's record of each judged seed


def tuned(runs: Iterable[RunData]) -> dict[Cell, dict[str, Tuned]]:
    """Of each problem and rhythm, all methods that were tuned there."""
    found: dict[tuple[str, int, str], dict[int, list[dict[str, Any]]]] = {}
    for run in runs:
        for record in run.records:
            key = (record["problem"], record["visit"], record["method"])
            found.setdefault(key, {})[run.seed] = record["points"]
    cells: dict[Cell, dict[str, Tuned]] = {}
    for (problem, visit, method), by_seed in found.items():
        tuning = {
            seed: [point["kept"] for point in points]
            for seed, points in by_seed.items()
            if seed < ranking.FIRST_JUDGED
        }
        if tuning:
            place = ranking.best(tuning)
            points = next(iter(by_seed.values()))
            judged = {
                seed: mine[place]
                for seed, mine in sorted(by_seed.items())
                if seed >= ranking.FIRST_JUDGED
            }
            strength, rate = points[place]["strength"], points[place]["rate"]
            cell = cells.setdefault((problem, visit), {})
            cell[method] = Tuned(strength, rate, _at_edge(points, strength, rate), judged)
    return cells


def _at_edge(points: list[dict[str, Any]], strength: float, rate: float) -> bool:
    edges = []
    for name, value in (("strength", strength), ("rate", rate)):
        values = {point[name] for point in points}
        edges.append(len(values) > 1 and value in (min(values), max(values)))
    return any(edges)


def kept(methods: dict[str, Tuned]) -> dict[str, dict[int, float]]:
    """The score of each method that was judged, by seed."""
    found = {
        name: {seed: record["kept"] for seed, record in one.judged.items()}
        for name, one in methods.items()
    }
    return {name: scores for name, scores in found.items() if len(scores) >= statistics.LEAST_SEEDS}


def claims(runs: list[RunData]) -> list[Finding]:
    """Each of :data:`CLAIMS`, judged."""
    cells = {cell: kept(methods) for cell, methods in tuned(runs).items()}
    return [_above(cells, *pair, statement) for statement, pair in CLAIMS.items()]


def _above(
    cells: dict[Cell, dict[str, dict[int, float]]], one: str, other: str, statement: str
) -> Finding:
    parts, verdicts = [], []
    for (problem, visit), scores in cells.items():
        if both := ranking.gap(scores.get(one, {}), scores.get(other, {})):
            gap, _ = both
            parts.append(f"{problem} {visit}: {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")
            verdicts.append(gap.low > 0)
    if not verdicts or len(verdicts) < len(cells):
        few = f"not enough data: {statistics.LEAST_SEEDS} judged seeds of both"
        return Finding(statement, RULE, f"{few}, from {ranking.FIRST_JUDGED} on", None)
    return Finding(statement, RULE, "; ".join(parts), all(verdicts))


def tables(runs: list[RunData]) -> list[Table]:
    """The ranking of each problem and rhythm, then every point of every grid."""
    rows: list[tuple[str | int | float, ...]] = []
    for (problem, visit), methods in tuned(runs).items():
        for place in ranking.places(kept(methods)):
            one = methods[place.name]
            means = [_mean(one, name) for name in MEASURES[1:]]
            point = (one.strength, one.rate, "yes" if one.edge else "no")
            where = (problem, visit, place.rank, place.name)
            rows.append((*where, *(round(x, 4) for x in place.score), *means, *point))
    columns = ("problem", "visit", "rank", "method", "kept", "low 95%", "high 95%")
    renamed = [statistics.RECORDED.get(name, name) for name in MEASURES]
    more = (*renamed[1:], "strength", "rate", "at an edge of the grid")
    title = (
        "Accuracy on all tasks in the second half of training (kept), at the tuned point, mean "
        "over the judged seeds; ranks whose intervals overlap are ties"
    )
    names = ("strength", "rate", *MEASURES)
    every = [
        (*(run.seed, r["method"], r["problem"], r["visit"]), *(p[name] for name in names))
        for run in runs
        for r in run.records
        for p in r["points"]
    ]
    judged = [
        (method, {f"kept, {problem} {visit}": score})
        for (problem, visit), methods in tuned(runs).items()
        for method, by_seed in kept(methods).items()
        for score in by_seed.values()
    ]
    found = [
        statistics.summary((run.variant, scores(run)) for run in runs),
        Table("ranking", title, (*columns, *more), rows),
        Table("points", "Every point of every grid", (*_WHERE, *names[:2], *renamed), every),
        *(table._replace(name="methods") for table in statistics.profiles(judged)),
    ]
    return [table for table in found if table.rows]


def _mean(one: Tuned, measure: str) -> float:
    return round(float(np.mean([record[measure] for record in one.judged.values()])), 4)


def scores(run: RunData) -> dict[str, float]:
    """The best point of the chain and of Adam alone, mean over problems and rhythms."""
    found: dict[str, list[float]] = {}
    for record in run.records:
        best = max(point["kept"] for point in record["points"])
        found.setdefault(record["method"], []).append(best)
    measures = {
        f"kept, best point of the grid, {name}": float(np.mean(found[name]))
        if name in found
        else float("nan")
        for name in (MINE, DEEPER, NOTHING)
    }
    return {**measures, "seconds": float("nan") if run.seconds is None else run.seconds}
