"""The experiment ``online-catcher``: Figure S4, Catcher without a replay database."""

from __future__ import annotations

from functools import partial

import numpy as np

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import depth_online, table_s2
from bennafusi.experiments.deep.deep_experiment import curve_figures, deep_experiment
from bennafusi.experiments.experiment import Reason, Runs
from bennafusi.results import Finding, RunData

# "The best control agent" is the one whose moving average ends highest; two rates must be there.
MINE, CONTROLS = "benna-fusi", ("control-1e-3", "control-1e-4")
AGENTS = (MINE, *CONTROLS)
GOOD = measures.THRESHOLDS["catcher"]
GOOD_AT_THE_END = judge.Count(
    judge.final(judge.WINDOW),
    lambda x: x >= GOOD,
    f"{judge.average_of(judge.WINDOW)} ends at {GOOD} or above",
)


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentences about Figure S4."""
    learn = GOOD_AT_THE_END.finding(runs, AGENTS, _ALL)
    if rest := sorted({run.variant for run in runs} - set(AGENTS)):
        learn = learn._replace(measured=f"{learn.measured}; not judged: {', '.join(rest)}")
    return [learn, _sooner(runs)]


def ours(runs: Runs) -> list[Finding]:
    """Our own sentence: whether a depth plays it, where the weights do not."""
    return [depth_online.plays_on(runs, MINE, goal=depth_online.CATCHER)]


def _sooner(runs: Runs) -> Finding:
    rule = (
        f"median over seeds of the episode at which {judge.average_of(judge.WINDOW)} first reaches "
        f"{GOOD} (never, if the run diverged before): below that of benna-fusi for the control "
        "whose average ends higher"
    )
    # The same agents and seeds as above are needed, and missed in the same words.
    if GOOD_AT_THE_END.finding(runs, AGENTS, _ALL).holds is None:
        return GOOD_AT_THE_END.finding(runs, AGENTS, _SOONER)._replace(expected=rule)
    over = [run for run in runs if judge.finished(run) or measures.diverged(run)]
    groups = measures.by_variant(over)
    end = partial(judge.ended, judge.final(judge.WINDOW))
    controls = [name for name in groups if name != MINE and len(groups[name]) >= judge.SEEDS]
    # Of equals the first: those that are always there come before the others.
    controls.sort(key=lambda name: (name not in AGENTS, name))
    best = max(controls, key=lambda name: float(np.mean([end(run) for run in groups[name]])))
    reached = {name: float(np.median([_reached(r) for r in mine])) for name, mine in groups.items()}
    measured = ", ".join(f"{name} {judge.episodes(number)}" for name, number in reached.items())
    holds = reached[best] < reached[MINE]
    return Finding(_SOONER, rule, f"{measured} episodes; the best control is {best}", holds)


def _reached(run: RunData) -> float:
    return measures.first_reaching(run, measures.window_of(run, judge.WINDOW), GOOD)


_ALL = "For Catcher, all agents were able to learn a consistently good policy"
_SOONER = "... with the control agent learning a bit faster"
REASONS = {
    _ALL: Reason(
        "the weights of the Benna-Fusi agent jump between good and bad policies, and controls lose "
        "Catcher later on; the one set of open choices under which its weights end well here does "
        "not keep Cart-Pole. A network read from a deep beaker plays well",
        "docs/depths.md#online-catcher",
    ),
}

EXPERIMENT = deep_experiment(
    name="online-catcher",
    paper=("figS4",),
    title="Is that so for a task that forgets less?",
    lead="Catcher with one update per step and no replay database.",
    summary="Catcher without replay",
    variants={MINE: {}, **table_s2.CONTROLS},
    usual_variants=lambda scale: AGENTS if scale == "quick" else (),
    settings=partial(table_s2.online, task="catcher"),
    claims=lambda runs: [*claims(runs), *ours(runs)],
    reasons=REASONS,
    figures=partial(
        curve_figures,
        stem="figure-s4",
        title="Figure S4: Catcher, learnt online",
        caption="Benna-Fusi and control agents.",
        paper_window=judge.WINDOW,
    ),
)
