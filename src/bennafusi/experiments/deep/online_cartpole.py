"""The experiment ``online-cartpole``: Figure 5, Cart-Pole without a replay database."""

from __future__ import annotations

from functools import partial

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import depth_online, table_s2
from bennafusi.experiments.deep.deep_experiment import curve_figures, deep_experiment
from bennafusi.experiments.experiment import Reason, Runs
from bennafusi.results import Finding


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentences about Figure 5."""
    return [
        judge.LOSES.finding(runs, tuple(table_s2.CONTROLS), _CONTROLS),
        judge.KEEPS.finding(runs, ("benna-fusi",), _MINE),
    ]


def ours(runs: Runs) -> list[Finding]:
    """Our own sentence: whether a depth still plays when the weights have fallen, judged twice."""
    rounds = (depth_online.FIRST, depth_online.SECOND)
    return [depth_online.plays_on(runs, "benna-fusi", seeds) for seeds in rounds]


_CONTROLS = (
    "None of the control agents were able to learn and maintain a consistently good policy for the "
    "Cart-Pole task"
)
_MINE = "The Benna-Fusi agent learned to perform the task to perfection in most cases"
_WHERE = "docs/results.md#one-task-without-replay-figure-5"
REASONS = {
    _CONTROLS: Reason(
        "now and then a control keeps it: at full length one of rate 1e-4 and, on another seed, "
        "one of 1e-3, which does so at a tenth of it too",
        _WHERE,
    ),
    _MINE: Reason(
        "it comes to between 460 and 500 (on some seeds after 20,000 episodes) and stays above "
        "nearly all controls, but falls slowly; so it does where an end at 500 steps is no failure "
        "(time_out=bootstrap)",
        _WHERE,
    ),
}

EXPERIMENT = deep_experiment(
    name="online-cartpole",
    paper=("fig5",),
    title="Can an agent learn from the newest experience alone?",
    lead="Deep soft Q-learning on Cart-Pole, one update per step and no replay database. "
    "Benna-Fusi and control agents; Table S2 of the paper, single task.",
    summary="Cart-Pole without replay",
    variants={"benna-fusi": {}, **table_s2.CONTROLS},
    settings=table_s2.online,
    claims=lambda runs: [*claims(runs), *ours(runs)],
    reasons=REASONS,
    figures=partial(
        curve_figures,
        stem="figure-5",
        title="Figure 5: Cart-Pole, learnt online",
        caption="Benna-Fusi and control agents.",
        paper_window=judge.LONG_WINDOW,
    ),
)
