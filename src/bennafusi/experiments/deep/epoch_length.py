"""The experiment ``epoch-length``: Figure S1, two tasks in epochs of different length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bennafusi.experiments.deep import deep_experiment as common
from bennafusi.experiments.deep import depth_which, table_s2, visit_claims
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.experiment import Changes, Extent, Reason, Runs, Scale, drawn
from bennafusi.results import Finding, Picture
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

# Of the settings' own number of episodes: "2500 to 160k", where the paper's usual is 20,000.
FACTORS = {
    "eighth": 1 / 8,
    "quarter": 1 / 4,
    "half": 1 / 2,
    "full": 1,
    "double": 2,
    "fourfold": 4,
    "eightfold": 8,
}
AGENTS: dict[str, Changes] = {"benna-fusi": {}, "control": {"chain.n": 1}}
TASKS = ("cartpole", "catcher")
SHORT = ("quarter", "half", "full", "double")  # of which there are three visits at quick scale


def _episodes(factor: float) -> Callable[[DeepSettings], int]:
    """Per epoch, which ends with a test."""
    return lambda base: max(1, int(base.episodes * factor) // base.test_every) * base.test_every


def _epochs(factor: float) -> Callable[[DeepSettings], int]:
    """As many as fit into the same number of episodes in all."""
    return lambda base: max(1, base.epochs * base.episodes // _episodes(factor)(base))


def settings(scale: Scale) -> DeepSettings:
    """Table S2, multi-task; its length of an epoch is the middle one."""
    sizes: dict[Scale, Changes] = {"smoke": {"episodes": 16}, "quick": {"epochs": 12}, "paper": {}}
    return table_s2.multi_task(scale, sizes[scale])


def extent(settings: DeepSettings) -> Extent:
    """Episodes in all, of which each agent has its own epochs.

    Example:
        >>> extent(settings("quick")).words
        '60,000 episodes, network 400-200'
    """
    if settings.steps is not None:  # then all have the same number of epochs
        return common.extent(settings)
    episodes = settings.epochs * settings.episodes
    return common.extent(changed(settings, {"epochs": 1, "episodes": episodes}))


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentence about Figure S1, over all lengths and both tasks.

    Where there are too few visits of a task, or neither agent relearns it, nothing is judged.
    """
    visits, faster = visit_claims.Visits(runs), visit_claims.Faster(visit_claims.HALF, equal=True)
    judged = [
        (task, *faster.compare(visits, f"benna-fusi-{length}", [other], task))
        for length in FACTORS
        for task in TASKS
        if (other := f"control-{length}") in visits.groups
    ]
    verdicts = [holds for _, _, holds in judged if holds is not None]
    measured = "; ".join(f"{task}: {text}" for task, text, _ in judged) or "no length was run"
    return [Finding(_QUICKER, faster.rule, measured, all(verdicts) if verdicts else None)]


def ours(runs: Runs) -> list[Finding]:
    """Our own sentence: which depth remembers, over all lengths."""
    return [depth_which.near_the_epoch(runs, [f"benna-fusi-{name}" for name in FACTORS])]


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Figure S1, which beakers follow the weight within an epoch of each length, what they know."""
    from bennafusi.experiments.deep import beaker_figure, depth_figure, relearning_figure

    named, lengths = [], []
    for run in runs:
        agent, _, _ = run.variant.rpartition("-")
        longest = int(max(trials_of(run).episode, default=0))
        named.append(run._replace(variant=f"{agent}-{longest}"))
        lengths.append(run._replace(variant=f"epochs of {longest:,}"))
    return drawn(
        relearning_figure.epoch_length(named, folder),
        beaker_figure.compared(lengths, folder),
        depth_figure.depths(runs, folder),
    )


_QUICKER = (
    "In all cases the Benna-Fusi agent becomes quicker (or in a couple of instances equally quick) "
    "at relearning each task than the control agent"
)
REASONS = {
    _QUICKER: Reason(
        "Cart-Pole is relearnt sooner wherever it is relearnt at all; Catcher is not, on a small "
        "network and in short epochs. At the paper's size it holds for the middle length",
        "docs/results.md#the-supplement",
    ),
}
_WIDER = Reason(
    "what remembers has timescales from a fourth of an epoch to four and a half; the rule's factor "
    "of 4 cuts that in epochs of 2,500 episodes, whose beakers have 1.1 and 4.4",
    "docs/depths.md#other-lengths",
)
REASONS |= {finding.statement: _WIDER for finding in ours([])}

EXPERIMENT = common.deep_experiment(
    name="epoch-length",
    paper=("figS1",),
    title="Over which timescales does it remember?",
    lead="Cart-Pole and Catcher in turn, in epochs from an eighth to eight times the usual "
    "length, with as many episodes in all.",
    summary="epochs of different length",
    variants={
        f"{agent}-{name}": {
            **changes,
            "episodes": _episodes(factor),
            "epochs": _epochs(factor),
        }
        for name, factor in FACTORS.items()
        for agent, changes in AGENTS.items()
    },
    usual_variants=lambda scale: (
        tuple(f"{agent}-{name}" for name in SHORT for agent in AGENTS) if scale == "quick" else ()
    ),
    settings=settings,
    extent=extent,
    claims=lambda runs: [*claims(runs), *ours(runs)],
    reasons=REASONS,
    figures=figures,
)
