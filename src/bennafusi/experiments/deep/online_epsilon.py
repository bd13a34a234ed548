"""The experiment ``online-epsilon``: what Adam's epsilon, which Table S2 leaves out, decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import deep_tables, table_s2
from bennafusi.experiments.deep.deep_experiment import curve, deep_experiment
from bennafusi.experiments.deep.drift import DriftRun, drift
from bennafusi.experiments.experiment import Changes, Runs, drawn
from bennafusi.results import Finding, Picture, Table

EPSILONS = ("1e-8", "1e-6", "1e-4", "1e-2")
USUAL, LARGER = "1e-8", "1e-4"
AGENTS: dict[str, Changes] = {"benna-fusi": {}, **table_s2.CONTROLS}
BETWEEN = "-eps-"
BRIEF = ("benna-fusi", "control-1e-3")  # at quick scale


def name_of(agent: str, epsilon: str) -> str:
    """Of a variant."""
    return f"{agent}{BETWEEN}{epsilon}"


def claims(runs: Runs) -> list[Finding]:
    """Ours: the paper says nothing of epsilon."""
    return [
        _drifts_less(runs),
        judge.KEEPS.finding(runs, [name_of("benna-fusi", LARGER)], _KEEPS),
        _no_control(runs),
    ]


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


def _no_control(runs: Runs) -> Finding:
    """Of those that were run; how many were not is said."""
    controls = [name_of(agent, e) for agent in table_s2.CONTROLS for e in EPSILONS]
    there = [name for name in controls if name in measures.by_variant(runs)]
    found = judge.LOSES.finding(runs, there or controls, _LOSE)
    missing = len(controls) - len(there)
    note = f"; {missing} of {len(controls)} were not run" if there and missing else ""
    return found._replace(measured=found.measured + note)


def _drifts_less(runs: Runs) -> Finding:
    rule = (
        "root mean square drift of a weight in a million steps, second half of the run: below "
        f"that with epsilon {USUAL}, median over seeds, for every agent that was run with both"
    )
    groups = measures.by_variant([run for run in runs if judge.finished(run)])
    drifts = {name: [drift(run) for run in mine] for name, mine in groups.items()}
    both = [
        agent
        for agent in AGENTS
        if all(len(drifts.get(name_of(agent, e), [])) >= judge.SEEDS for e in (USUAL, LARGER))
    ]
    if not both:
        lack = f"not enough data: no agent has {judge.SEEDS} finished runs with either epsilon"
        return Finding(_DRIFTS, rule, lack, None)
    parts, verdicts = [], []
    for agent in both:
        small, large = (float(np.median(drifts[name_of(agent, e)])) for e in (USUAL, LARGER))
        parts.append(f"{agent} {large:.3g} ({LARGER}) and {small:.3g} ({USUAL})")
        verdicts.append(large < small)
    return Finding(_DRIFTS, rule, "; ".join(parts), all(verdicts))


_DRIFTS = (
    "Adam's step does not shrink when gradients do, so weights wander for ever; a larger epsilon "
    f"({LARGER}) makes them wander less"
)
_KEEPS = "... and with it the Benna-Fusi agent performs Cart-Pole to perfection in most cases"
_LOSE = "... but no control agent, with any epsilon: the chain is needed as well"

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
    figures=figures,
)
