"""The experiment ``online-epsilon``: what Adam's epsilon, which Table S2 leaves out, decides."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import deep_tables, table_s2
from bennafusi.experiments.deep.deep_experiment import curve, deep_experiment
from bennafusi.experiments.deep.drift import DriftRun, drift
from bennafusi.experiments.experiment import Changes, Reason, Runs, drawn
from bennafusi.results import Finding, Picture, RunData, Table

EPSILONS = ("1e-8", "1e-6", "1e-4", "1e-2")
USUAL, *LARGER = EPSILONS
MINE = "benna-fusi"
AGENTS: dict[str, Changes] = {MINE: {}, **table_s2.CONTROLS}
BETWEEN = "-eps-"
BRIEF = (MINE, "control-1e-3")  # at quick scale


def name_of(agent: str, epsilon: str) -> str:
    """Of a variant."""
    return f"{agent}{BETWEEN}{epsilon}"


def claims(runs: Runs) -> list[Finding]:
    """Ours: the paper says nothing of epsilon."""
    return [_drifts_less(runs), _keeps(runs), _decides(runs), _no_control(runs)]


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Cause and effect, and the learning curves."""
    from bennafusi.experiments.deep import drift_figure

    title, caption = "Learning curves by epsilon", "Benna-Fusi and control agents."
    return drawn(
        drift_figure.cause_and_effect(runs, folder, AGENTS, BETWEEN),
        curve(runs, folder, "curves", title, caption, judge.LONG_WINDOW),
    )


def tables(runs: Runs) -> list[Table]:
    """Those of all deep experiments, and how far weights wander."""
    rows = [
        (run.variant, run.seed, drift(run), judge.final(judge.LONG_WINDOW)(run)) for run in runs
    ]
    title = "Drift of a weight in a million steps, late in training, and where the reward ends"
    columns = ("variant", "seed", "drift", "final moving average")
    return [*deep_tables.tables(runs), Table("drift", title, columns, rows)]


def _keeps(runs: Runs) -> Finding:
    return _of_those_run(runs, judge.KEEPS, [name_of(MINE, e) for e in LARGER], _KEEPS)


def _no_control(runs: Runs) -> Finding:
    controls = [name_of(agent, e) for agent in table_s2.CONTROLS for e in EPSILONS]
    return _of_those_run(runs, judge.LOSES, controls, _LOSE)


def _of_those_run(runs: Runs, rule: judge.Count, names: list[str], statement: str) -> Finding:
    """A rule over the agents that were run; how many were not is said."""
    there = [name for name in names if name in measures.by_variant(runs)]
    found = rule.finding(runs, there or names, statement)
    missing = len(names) - len(there)
    note = f"; {missing} of {len(names)} were not run" if there and missing else ""
    return found._replace(measured=found.measured + note)


def _drifts_less(runs: Runs) -> Finding:
    rule = (
        "root mean square drift of a weight in a million steps, second half of the run: below "
        f"that with epsilon {USUAL}, median over seeds, for every agent and larger epsilon that "
        "were run with both"
    )
    to_the_end = [run for run in runs if judge.finished(run)]  # one that diverged has no late part
    agents = list(AGENTS)
    return _against_usual(to_the_end, agents, drift, np.median, operator.lt, _DRIFTS, rule)


def _decides(runs: Runs) -> Finding:
    rule = (
        f"share of the runs that end at {judge.KEPT} or above, a diverged one does not: with "
        f"every larger epsilon that was run above that with {USUAL}"
    )

    def kept(run: RunData) -> float:
        return float(judge.ended(judge.KEEPS.number, run) >= judge.KEPT)

    return _against_usual(runs, [MINE], kept, np.mean, operator.gt, _DECIDES, rule)


def _against_usual(
    runs: Runs,
    agents: list[str],
    number: judge.Amount,
    average: Callable[[list[float]], Any],
    better: Callable[[float, float], bool],
    statement: str,
    rule: str,
) -> Finding:
    """Every larger epsilon of every agent beside the usual one, as far as both were run."""
    ended = [run for run in runs if judge.finished(run) or measures.diverged(run)]
    groups = {
        name: float(average([number(run) for run in mine]))
        for name, mine in measures.by_variant(ended).items()
        if len(mine) >= judge.SEEDS
    }
    pairs = [
        (agent, epsilon, groups[name_of(agent, epsilon)], groups[name_of(agent, USUAL)])
        for agent in agents
        for epsilon in LARGER
        if name_of(agent, epsilon) in groups and name_of(agent, USUAL) in groups
    ]
    if not pairs:
        lack = f"no agent has {judge.SEEDS} finished runs with {USUAL} and with a larger epsilon"
        return Finding(statement, rule, f"not enough data: {lack}", None)
    parts = [
        f"{agent} {large:.3g} ({epsilon}) and {usual:.3g} ({USUAL})"
        for agent, epsilon, large, usual in pairs
    ]
    return Finding(statement, rule, "; ".join(parts), all(better(*p[2:]) for p in pairs))


_DRIFTS = (
    "Adam's step does not shrink when gradients do, so weights wander for ever; a larger epsilon "
    "makes them wander less"
)
_KEEPS = "... and with it the Benna-Fusi agent performs Cart-Pole to perfection in most cases"
_DECIDES = "... in more of them than with the usual epsilon"
_LOSE = "... but no control agent, with any epsilon: the chain is needed as well"

# Of full length.
NOT_EPSILON = Reason(
    "what is kept, and how far weights drift, differs between seeds more than between epsilons",
    "docs/results.md#is-it-adams-epsilon",
)
A_CONTROL = Reason(
    "one control of sixteen keeps it in every seed, that of rate 1e-4 with epsilon 1e-4, three "
    "times as late as the Benna-Fusi agent; with 1e-6 it does in two of three",
    "docs/results.md#is-it-adams-epsilon",
)

EXPERIMENT = deep_experiment(
    name="online-epsilon",
    title="What does Adam's epsilon decide?",
    lead="Cart-Pole without a replay database, by the epsilon of Adam, of which the paper's table "
    "says nothing. How far do weights wander late in training, and is the task kept?",
    summary="Adam's epsilon, online Cart-Pole",
    variants={
        name_of(agent, epsilon): {**changes, "optimizer.eps": float(epsilon)}
        for agent, changes in AGENTS.items()
        for epsilon in EPSILONS
    },
    usual_variants=lambda scale: (
        tuple(name_of(agent, e) for agent in BRIEF for e in EPSILONS) if scale == "quick" else ()
    ),
    settings=table_s2.online,
    job=DriftRun,
    tables=tables,
    claims=claims,
    reasons={**dict.fromkeys((_DRIFTS, _KEEPS, _DECIDES), NOT_EPSILON), _LOSE: A_CONTROL},
    figures=figures,
)
