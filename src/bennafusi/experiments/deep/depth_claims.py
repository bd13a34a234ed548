"""Our own claims about what the depths know, with rules that were written before the runs.

Looks at seeds 0 to 9 led to them; they are for seeds from 10 on. Intervals are over seeds: how many
visits there are, and of which tasks, is no matter of luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.depth_choice import (
    MARGIN,
    Switch,
    chosen,
    ends,
    gain,
    returns,
)
from bennafusi.experiments.statistics import cut_to_shortest
from bennafusi.metrics import Interval, interval
from bennafusi.results import Finding, RunData

SEEDS = 5  # that an agent needs to be judged


Switches = Callable[[RunData], list[Switch]]


def starts_higher(runs: list[RunData], name: str, task: str) -> Finding:
    """Whether the best depth at a switch plays the task that begins better than the weights."""
    statement = (
        "Ours: the depth that does best in 5 games at a switch back to a task starts the epoch at "
        f"a higher test reward than the weights: {task}"
    )
    return _chosen_plays_better(runs, name, task, returns, statement)


def ends_higher(runs: list[RunData], name: str, task: str) -> Finding:
    """Whether the best depth at the end of an epoch plays the trained task better."""
    statement = (
        "Ours: the depth that does best in 5 games at the end of an epoch plays the task that was "
        f"trained better than the weights: {task}"
    )
    return _chosen_plays_better(runs, name, task, ends, statement)


def smoothed(runs: list[RunData], name: str, task: str, depth: int = 2) -> Finding:
    """Whether a depth that nobody needs to choose plays the trained task better."""
    statement = (
        f"Ours: the network of beaker {depth}, a running average of the weights, plays the task "
        f"that was trained better than they do at the end of an epoch: {task}"
    )
    rule = "the 95% interval of its mean gain in 5 games, over seeds, is above 0"

    def same(switch: Switch) -> int:
        return depth if depth in switch.look["depths"] else 1

    return _plays_better(runs, name, task, ends, same, statement, rule)


def what_depths_know(runs: list[RunData], name: str, tasks: Sequence[str]) -> list[Finding]:
    """Whether depths play better than the weights, before and after an epoch of every task."""
    judged = (starts_higher, ends_higher, smoothed)
    return [judge(runs, name, task) for judge in judged for task in tasks]


def _chosen_plays_better(
    runs: list[RunData], name: str, task: str, switches: Switches, statement: str
) -> Finding:
    rule = (
        "in 5 games that did not choose it, the chosen depth (the weights, unless a depth beats "
        f"them by {MARGIN:.0%} of the threshold) earns more than the weights: the 95% interval of "
        "the mean over its switches, over seeds, is above 0"
    )
    return _plays_better(
        runs, name, task, switches, lambda x: chosen(x.look, x.task), statement, rule
    )


def _plays_better(
    runs: list[RunData],
    name: str,
    task: str,
    switches: Switches,
    choose: Callable[[Switch], int],
    statement: str,
    rule: str,
) -> Finding:
    mine = measures.by_variant(runs).get(name, [])
    picks = [[(x, choose(x)) for x in switches(run) if x.task == task] for run in mine]
    if lack := lack_of(name, len(mine), min(map(len, picks), default=0)):
        return Finding(statement, rule, lack, None)
    found = interval(
        cut_to_shortest([[gain(x.look, task, depth) for x, depth in row] for row in picks])
    )
    deep = [depth > 1 for row in picks for _, depth in row]
    measured = f"{words_of(found)} more; a depth was chosen at {sum(deep)} of {len(deep)} switches"
    return Finding(statement, rule, measured, found.low > 0)


def sooner(runs: list[RunData], mine: str, other: str, task: str, words: str) -> Finding:
    """Whether an agent that recalls a depth at a switch relearns a task in fewer episodes."""
    statement = f"Ours: {words}, a task is relearnt in fewer episodes: {task}"
    rule = (
        f"training episodes to relearn in later visits (never counts as the whole epoch): fewer "
        f"than {other} of the same seed; the 95% interval of the difference, over seeds, is below 0"
    )
    rows = {
        name: {run.seed: later for run in group if (later := _capped(run, task))}
        for name, group in measures.by_variant(runs).items()
    }
    seeds = sorted(rows.get(mine, {}).keys() & rows.get(other, {}).keys())
    if lack := lack_of(f"{mine} beside {other}", len(seeds), 1):
        return Finding(statement, rule, lack, None)
    shared = min(len(rows[name][seed]) for name in (mine, other) for seed in seeds)
    one, two = (
        cut_to_shortest([rows[name][seed][:shared] for seed in seeds]) for name in (mine, other)
    )
    found = interval(one - two)
    measured = f"{mine} {one.mean():,.0f}, {other} {two.mean():,.0f} episodes; {words_of(found)}"
    return Finding(statement, rule, measured, found.high < 0)


# Variants that recall a depth at a switch, beside the one that does not.
RECALL, HOLD = "benna-fusi-recall", "benna-fusi-recall-hold"
RECALLS = {
    RECALL: "With recall at a switch and exploration as always",
    HOLD: "With recall at a switch and exploration held back while the "
    "recalled network earns its threshold",
}


def with_recall(runs: list[RunData], other: str, tasks: Iterable[str]) -> list[Finding]:
    """Whether either kind of recall saves episodes, for every task."""
    recalled = Unheld.among(runs)
    judged = [(name, words, task) for name, words in RECALLS.items() for task in tasks]
    found = [sooner(recalled.runs, name, other, task, words) for name, words, task in judged]
    names = [name for name, _, _ in judged]
    return [
        recalled.noted(finding) if name == RECALL else finding
        for name, finding in zip(names, found, strict=True)
    ]


class Unheld(NamedTuple):
    """Runs, among which those that could hold exploration back and never did count as plain recall.

    Until something is held back, the two kinds of recall are the same run to the bit.
    """

    runs: list[RunData]  # all of them
    seeds: list[int]  # of those that were counted so, because plain recall was not run

    @classmethod
    def among(cls, runs: list[RunData]) -> Unheld:
        """Those of some runs."""
        own = {run.seed for run in runs if run.variant == RECALL}
        same = [
            run._replace(variant=RECALL)
            for run in runs
            if run.variant == HOLD
            and run.seed not in own
            and not any(record.get("held") for record in run.records)
        ]
        return cls([*runs, *same], [run.seed for run in same])

    def noted(self, finding: Finding) -> Finding:
        """What was found of plain recall, with the seeds that another variant lent."""
        if not self.seeds or finding.holds is None:
            return finding
        seeds = ", ".join(map(str, self.seeds))
        lent = f"seeds {seeds} are those of {HOLD}, which held nothing back"
        return finding._replace(measured=f"{finding.measured} ({lent})")


def _capped(run: RunData, task: str) -> list[float]:
    """Training episodes to relearn a task in its later visits, at most those of the epoch."""
    tests, found = trials_of(run), []
    times = measures.relearning(run)
    for place, name in enumerate(measures.epoch_tasks(run)):
        mine = tests.episode[tests.epoch == place + 1]
        if name == task and mine.size:  # epochs may be too short for a test
            found.append(min(float(times[place]), float(mine.max() - mine.size)))
    return found[1:]


def lack_of(name: str, seeds: int, each: int) -> str:
    """What is missing to judge; nothing if ``seeds`` are enough and ``each`` has a switch."""
    if seeds < SEEDS:
        return f"not enough data: {name} has {seeds} of {SEEDS} seeds"
    return "" if each else f"not enough data: {name} has not come to such a switch in every seed"


def words_of(found: Interval) -> str:
    """An estimate with its sign."""
    return f"{found.value:+.3g} [{found.low:+.3g}, {found.high:+.3g}]"
