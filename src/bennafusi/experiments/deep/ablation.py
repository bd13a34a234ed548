"""The experiment ``ablation``: what the paper leaves open, one choice at a time."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import table_s2, visit_claims
from bennafusi.experiments.deep.deep_experiment import curve, deep_experiment
from bennafusi.experiments.experiment import Changes, Reason, Runs, Scale, drawn
from bennafusi.results import Finding, Picture
from bennafusi.training.deep_settings import ONLINE, DeepSettings

Choices = dict[str, tuple[Changes, str]]  # what one changes, and in words

_COMMON: Choices = {
    "default": ({}, "as chosen"),
    "loss-taken": ({"agent.loss": "taken"}, "the loss has the action taken alone"),
    "hidden-zeros": ({"chain.hidden_start": "zeros"}, "hidden variables start at 0"),
    "hidden-copy": ({"chain.hidden_start": "copy"}, "hidden variables start at their parameter"),
    "ungated": ({"chain.gated": False}, "deep variables flow back from the start"),
    "gain-before": ({"network.gain": "before"}, "gains act before the rectification"),
    "time-out-bootstrap": ({"time_out": "bootstrap"}, "an episode cut short keeps its value"),
}
# Where the two columns of the table have different defaults, each is given the other's.
TWO_TASK: Choices = {
    **_COMMON,
    "target-update": (
        {"schedule.target_update": "update"},
        "the target follows after every update",
    ),
    "gains-copied": ({"chain.hidden_start": "gains-copied"}, "hidden gains start at the gains"),
}
ONE_TASK: Choices = {
    **_COMMON,
    "target-update": (
        {"schedule.target_update": "episode"},
        "the target follows after every episode",
    ),
    "gains-drawn": (
        {"chain.hidden_start": "linear-variance"},
        "hidden gains start at random around 0",
    ),
}
ONLINE_SHARE = 6  # of all episodes of a two-task run, as many as an online run has at most


def _online_episodes(base: DeepSettings) -> int:
    """The paper's, or fewer at smaller scales."""
    few = base.epochs * base.episodes // ONLINE_SHARE
    whole = max(1, few // base.test_every) * base.test_every  # the last one is a test
    return min(int(ONLINE["episodes"]), whole)


# All runs of an experiment share one base, the two-task one; here is how to get online from there.
_ONLINE: Changes = {
    **ONLINE,
    **table_s2.task_fields("cartpole"),
    "episodes": _online_episodes,
    "depths.games": 0,
}


def settings(scale: Scale) -> DeepSettings:
    """Two tasks in turn; at quick scale long enough for 10,000 episodes online."""
    return table_s2.multi_task(scale, {"epochs": 12} if scale == "quick" else None)


def claims(runs: Runs) -> list[Finding]:
    """Whether what the paper says of the Benna-Fusi agent holds under each choice."""
    visits, found = visit_claims.Visits(runs), []
    for name, (_, words) in TWO_TASK.items():
        finding = visit_claims.relearns(visits, name, "cartpole", _RELEARNS.format(name, words))
        if finding.holds is not None:
            late = visit_claims.late_medians(visits, name, ("cartpole", "catcher"))
            finding = finding._replace(measured=f"{finding.measured}; {late}")
        found.append(finding)
    for name, (_, words) in ONE_TASK.items():
        statement = _KEEPS.format(name, words)
        found.append(judge.KEEPS.finding(runs, [f"online-{name}"], statement))
    return found


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """A figure for each family, and what the beakers of the first hold."""
    from bennafusi.experiments.deep import beaker_figure, relearning_figure

    one = [run for run in runs if run.variant.startswith("online-")]
    two = [run for run in runs if not run.variant.startswith("online-")]
    both = "What is left open: two tasks"
    title, caption = "What is left open: online Cart-Pole", "The Benna-Fusi agent by choice."
    return drawn(
        relearning_figure.relearning(two, folder, "ablation", both),
        curve(one, folder, "ablation-online", title, caption, judge.LONG_WINDOW),
        beaker_figure.compared(two, folder),
    )


_RELEARNS = "Two tasks, {} ({}): Cart-Pole is relearnt in all epochs after the first visit"
_KEEPS = "Online, {} ({}): Cart-Pole is performed to perfection in most cases"
_HANGS = Reason(
    "it hangs on this choice, of which the paper is silent",
    "docs/fidelity.md#what-hangs-on-the-open-choices",
)

EXPERIMENT = deep_experiment(
    name="ablation",
    title="How much depends on what the paper leaves open?",
    lead="The Benna-Fusi agent with one choice changed at a time, with two tasks in turn and on "
    "Cart-Pole online.",
    summary="what the paper leaves open",
    variants={
        **{name: changes for name, (changes, _) in TWO_TASK.items()},
        **{f"online-{name}": {**_ONLINE, **changes} for name, (changes, _) in ONE_TASK.items()},
    },
    settings=settings,
    claims=claims,
    reasons={f.statement: _HANGS for f in claims([]) if "default" not in f.statement},
    figures=figures,
)
