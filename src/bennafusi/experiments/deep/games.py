"""What the experiments on MinAtar's games share: settings, chains by their reach, measures, rules.

The rules were written before any run that they judge. The control's learning rate is the one of
:data:`RATES` with the highest mean of :func:`late_return` over seeds 0 and 1 of Breakout, in runs
of 20,000 steps; chains are given the same rate, and their reach is what is varied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import deep_tables
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.depth_choice import best, gain
from bennafusi.experiments.deep.depth_claims import words_of
from bennafusi.experiments.deep.table_s2 import task_fields
from bennafusi.experiments.experiment import Changes, Runs, Scale
from bennafusi.experiments.statistics import (
    EXCLUDES,
    LEAST_SEEDS,
    cut_to_shortest,
    difference,
    filled,
    greater,
    in_words,
    summary,
)
from bennafusi.metrics import interval
from bennafusi.results import Finding, RunData, Table
from bennafusi.synapse.chain import Float64
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import MINIBATCH, DeepSettings

BREAKOUT, INVADERS, FREEWAY = (
    f"gymnax/{name}-MinAtar" for name in ("Breakout", "SpaceInvaders", "Freeway")
)
RATES = (1e-4, 3e-4, 1e-3)
SECONDS = 300e-6  # of a training step with one update from 32 in four steps, on one core, roughly
LATE = 0.75  # of a run's steps: what comes after it is its end
EARLY = 0.25  # of an epoch's steps: what comes before it is its beginning
MARGIN = 0.1  # of the control's score: a difference within it is none
BEAKERS = 10  # timescales beyond the longest run, at every reach
RHYTHM = (8, 4, 2)  # updates between two steps of the chains, if their first tube allows
CONTROL: Changes = {"chain.n": 1}

# The published sequences: sticky actions, a constant share of random ones, one network for all.
# The rate is the best of RATES by the rule above (2.4, 3.0 and 3.1 on average over both seeds).
COMMON: Changes = {
    **MINIBATCH,
    "sticky": 0.1,
    "network.filters": 16,
    "test_every": 10,
    "optimizer.learning_rate": 1e-3,
}
SMOKE: Changes = {
    "steps": 300,
    "max_steps": 40,
    "test_every": 2,
    "network.filters": 2,
    "network.hidden": (8,),
    "schedule.replay": 200,
    "schedule.batch": 8,
    "schedule.warmup": 20,
    "schedule.target_every": 20,
}


def settings_of(
    scale: Scale, tasks: Sequence[str], scales: dict[Scale, Changes], own: Changes
) -> DeepSettings:
    """Of an experiment: what all games have, the scale's own, the experiment's own."""
    return changed(DeepSettings(), {**COMMON, **task_fields(*tasks), **own, **scales[scale]})


def at_reach(deviations: float) -> Changes:
    """Chains that let a weight of the largest layer go so many standard deviations of its start.

    They step every 8 updates by 8, as the paper's do every 64 by 64, or more often where such a
    step would overshoot. The reach is the same, and an update between two steps costs what it costs
    without chains.

    Example:
        >>> settings = DeepSettings()  # a layer of 400 inputs, Adam at 1e-3
        >>> found = at_reach(2.0)
        >>> round(found["chain.g12"](settings), 4), found["chain.every"](settings)
        (0.01, 8)
        >>> at_reach(0.1)["chain.every"](settings)  # g12 = 0.2
        4
    """

    def g12(base: DeepSettings) -> float:
        inputs = max(rows for rows, _ in base.network.layers(base.sizes))
        return base.optimizer.learning_rate * math.sqrt(inputs) / deviations

    def every(base: DeepSettings) -> int:
        return next((count for count in RHYTHM if count * g12(base) <= 1), 1)

    return {"chain.n": BEAKERS, "chain.g12": g12, "chain.every": every}


def late_return(run: RunData) -> float:
    """Mean return of the tests in the last quarter of a run's steps."""
    tests = trials_of(run)
    if not tests.steps.size:
        return float("nan")
    return float(np.mean(tests.reward[tests.steps > LATE * tests.steps[-1]]))


def early_returns(run: RunData) -> Float64:
    """Mean return of the tests in the first quarter of each visit of a game after its first."""
    tests, seen, found = trials_of(run), set[str](), []
    begun = 0.0
    for epoch, task in enumerate(measures.epoch_tasks(run), start=1):
        mine = tests.epoch == epoch
        steps, rewards = tests.steps[mine], tests.reward[mine]
        if task in seen and steps.size:
            first = steps <= begun + EARLY * (steps[-1] - begun)
            found.append(float(np.mean(rewards[first])) if first.any() else float("nan"))
        seen.add(task)
        begun = float(steps[-1]) if steps.size else begun
    return np.array(found, np.float64)


def gains_by_depth(run: RunData) -> dict[str, float]:
    """Of games that went: what the best depth earns beyond the weights, mean over later switches.

    The best depth is chosen by half of the episodes of a look, and counted by the other half.
    """
    looks = {x["epoch"]: x for x in run.records if x["kind"] == "depths"}
    found: dict[str, list[float]] = {}
    for epoch, task in enumerate(measures.epoch_tasks(run), start=1):
        if look := looks.get(epoch):
            for game in found.keys() - {task}:
                found[game].append(gain(look, game, best(look, game)))
        found.setdefault(task, [])
    return {game: float(np.mean(gains)) for game, gains in found.items() if gains}


def kept_deep(runs: Runs, mine: str, statement: str) -> Finding:
    """Whether a depth plays games that went better than the weights do."""
    rule = (
        "at each switch at which a game was gone, the depth that earns most in half of the "
        "episodes of a look (it may be the weight) against the weights in the other half, mean "
        f"over switches: the 95% interval over at least {LEAST_SEEDS} seeds is above 0 for at "
        "least one game and below 0 for none"
    )
    rows = [row for run in runs if run.variant == mine and (row := gains_by_depth(run))]
    if len(rows) < LEAST_SEEDS:
        lack = f"seeds with looks at the depths: {mine} {len(rows)}"
        return Finding(statement, rule, judge.lacking([lack]), None)
    games = [game for game in rows[0] if all(game in row for row in rows)]
    found = {game: interval([row[game] for row in rows]) for game in games}
    measured = "; ".join(f"{game}: {words_of(gained)} more" for game, gained in found.items())
    better = any(gained.low > 0 for gained in found.values())
    worse = any(gained.high < 0 for gained in found.values())
    return Finding(statement, rule, measured, better and not worse)


def matches(runs: Runs, mine: Sequence[str], control: str, statement: str) -> Finding:
    """Whether one of several agents plays as well as the control, within a tenth of its score."""
    rule = (
        "mean return of the tests in the last quarter of the steps: the 95% interval of the "
        f"difference from {control}, over at least {LEAST_SEEDS} seeds, lies within "
        f"{MARGIN:.0%} of its mean, for at least one of them (a run that diverged has a return of "
        "0, and no game has less)"
    )
    over = [run for run in runs if judge.finished(run) or measures.diverged(run)]
    groups = measures.by_variant(over)
    there = [name for name in mine if len(groups.get(name, [])) >= LEAST_SEEDS]
    if not there or len(groups.get(control, [])) < LEAST_SEEDS:
        held = ", ".join(f"{name} {len(groups.get(name, []))}" for name in (control, *mine))
        return Finding(statement, rule, judge.lacking([f"finished runs: {held}"]), None)
    scores = {
        name: np.array([0.0 if measures.diverged(r) else late_return(r) for r in groups[name]])
        for name in (control, *there)
    }
    room = MARGIN * abs(float(scores[control].mean()))
    parts, found = [in_words({n: s[:, None] for n, s in scores.items()})], []
    for name in there:
        low, high = difference(scores[name], scores[control])
        parts.append(f"{name} less {control}: [{low:.3g}, {high:.3g}]")
        found.append(-room <= low and high <= room)
    return Finding(statement, rule, "; ".join(parts) + f"; room {room:.2g}", any(found))


def relearns_faster(runs: Runs, mine: str, control: str, statement: str) -> Finding:
    """Whether an agent earns more than the control when a game has just come back."""
    rule = (
        "mean return of the tests in the first quarter of each returning visit that both have come "
        f"to (0 from where a run diverged): above that of {control}; {EXCLUDES}"
    )
    groups, both = measures.by_variant(runs), (mine, control)
    early = {name: [early_returns(run) for run in groups.get(name, [])] for name in both}
    furthest = max((row.size for found in early.values() for row in found), default=0)
    tables = {}
    for name, found in early.items():
        lost = map(measures.diverged, groups.get(name, []))
        rows = [filled(furthest, row, 0.0, gone) for row, gone in zip(found, lost, strict=True)]
        tables[name] = cut_to_shortest([row for row in rows if row.size])
    shared = min(table.shape[1] for table in tables.values())
    tables = {name: table[:, :shared] for name, table in tables.items()}
    lack = ""
    if any(len(table) < judge.SEEDS or not table.size for table in tables.values()):
        held = ", ".join(f"{name} {len(table)}" for name, table in tables.items())
        lack = f"seeds with a returning game: {held}"
    elif any(np.isnan(table).any() for table in tables.values()):
        lack = "a visit without a test in its first quarter"
    if lack:
        return Finding(statement, rule, judge.lacking([lack]), None)
    return Finding(statement, rule, in_words(tables), greater(tables[mine], tables[control]))


def seconds(settings: DeepSettings) -> float:
    """What a run costs: mostly its updates, which grow with their batch; not measured."""
    schedule = settings.schedule
    each = SECONDS * (schedule.batch / 32) * (4 / schedule.every)
    return each * settings.epochs * settings.length


def scores(run: RunData) -> dict[str, float]:
    """The numbers by which a run is known; of several games in turn, the metrics of each too."""
    early = early_returns(run)
    found = {"return, last quarter of the steps": late_return(run)}
    if np.isfinite(early).any():  # a very short run may have no test so early
        found["return, first quarter of returning visits"] = float(np.nanmean(early))
    return found | deep_tables.in_turn(run) | deep_tables.seconds_of(run)


def tables(runs: Runs) -> list[Table]:
    """The measures over seeds, and whether agents can still learn."""
    found = [summary((run.variant, scores(run)) for run in runs), deep_tables.plasticity(runs)]
    return [table for table in found if table.rows]
