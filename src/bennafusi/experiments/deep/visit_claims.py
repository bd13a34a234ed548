"""How sentences about tasks that come back are judged: what agents do at each visit of a task.

An agent's relearning is judged by at least two visits after the first. A sentence about all
controls is judged once, over those that were run; which were not stands beside the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_claims import SEEDS, episodes, lacking, most, share
from bennafusi.experiments.statistics import EXCLUDES, cut_to_shortest, filled, greater, in_words
from bennafusi.results import Finding, RunData, all_of
from bennafusi.synapse.chain import Float64

LATER_VISITS = 2  # after the first, that a task needs
FORGOTTEN = 0.25  # of the later visits without relearning: a severe case
QUARTER, HALF = 0.25, 0.5


class Visits:
    """What agents did with a task at each of its epochs.

    Tables are ``[seeds, visits]``; an agent's are cut to its run that is least far. A run that
    diverged has come to its end: visits that it did not come to are without relearning or reward.
    """

    def __init__(self, runs: list[RunData]) -> None:
        self.groups = measures.by_variant(runs)
        measured = {
            name: [
                (measures.epoch_tasks(r), measures.relearning(r), measures.reward_per_epoch(r))
                for r in mine
            ]
            for name, mine in self.groups.items()
        }
        order = max((one[0] for mine in measured.values() for one in mine), key=len, default=[])
        self._tables: dict[tuple[str, str], tuple[Float64, Float64]] = {}
        for name, mine in measured.items():
            lost = [measures.diverged(run) for run in self.groups[name]]
            for task in dict.fromkeys(task for tasks, _, _ in mine for task in tasks):
                times, rewards, count = [], [], order.count(task)
                for (tasks, relearning, earned), gone in zip(mine, lost, strict=True):
                    here = _places(tasks, task)
                    times.append(filled(count, relearning[here], np.inf, gone))
                    rewards.append(filled(count, earned[here], 0.0, gone))
                self._tables[name, task] = cut_to_shortest(times), cut_to_shortest(rewards)

    def lost(self, names: Iterable[str]) -> str:
        """Which of these agents have runs that diverged, for the end of a sentence."""
        count = {n: sum(map(measures.diverged, self.groups.get(n, []))) for n in names}
        found = [f"{name} {number}" for name, number in count.items() if number]
        return f"; diverged, and from there on without relearning: {', '.join(found)}" * bool(found)

    def relearning(self, name: str, task: str) -> Float64:
        """Training episodes until the task was relearnt; infinite where it was not."""
        return self._tables[name, task][0]

    def rewards(self, name: str, task: str) -> Float64:
        """Mean reward per episode."""
        return self._tables[name, task][1]

    def lack(self, names: Iterable[str], task: str, least: int = 1 + LATER_VISITS) -> str:
        """What is missing to judge these agents on a task, in words; nothing if all is there."""
        found = []
        for name in names:
            seeds = len(self.groups.get(name, []))
            visits = self._tables[name, task][0].shape[1] if (name, task) in self._tables else 0
            if seeds < SEEDS:
                found.append(f"{name} has {seeds} of {SEEDS} seeds")
            elif visits < least:
                found.append(f"{name} has {visits} of {least} visits of {task}")
        return lacking(found)

    def of(self, names: Sequence[str], task: str, least: int = 1 + LATER_VISITS) -> Those:
        """Those of several agents that can be judged on a task."""
        enough = [name for name in names if not self.lack([name], task, least)]
        rest = [name for name in names if name not in enough]
        return Those(
            enough,
            f"; not judged: {', '.join(rest)}" if rest else "",
            "" if enough else self.lack(names, task, least),
        )


class Those(NamedTuple):
    """Agents of which there are enough data."""

    names: list[str]
    without: str  # which others there are too few of, for the end of a sentence
    lack: str  # what is missing where there are none


def relearns(visits: Visits, name: str, task: str, statement: str) -> Finding:
    """Whether an agent relearns a task at every visit after the first."""
    rule = "in every later visit of every seed the mean of 10 tests reaches the threshold"
    if lack := visits.lack([name], task):
        return Finding(statement, rule, lack, None)
    done = np.isfinite(visits.relearning(name, task))
    measured = f"{share(done[:, 1:])} later visits; with the first {share(done)}"
    measured += visits.lost([name])
    return Finding(statement, rule, measured, bool(done[:, 1:].all()))


def forget(visits: Visits, names: Sequence[str], task: str, statement: str) -> Finding:
    """Whether each of several agents often fails to relearn a task."""
    rule = f"for every control at least {FORGOTTEN:.0%} of the later visits end without relearning"
    those = visits.of(names, task)
    if those.lack:
        return Finding(statement, rule, those.lack, None)
    failed = {name: np.isinf(visits.relearning(name, task))[:, 1:] for name in those.names}
    parts = [f"{name} {share(table)} ({table.mean():.0%})" for name, table in failed.items()]
    severe = [bool(table.mean() >= FORGOTTEN) for table in failed.values()]
    measured = ", ".join(parts) + those.without + visits.lost(those.names)
    return Finding(statement, rule, measured, all(severe))


def learns_at_first(visits: Visits, names: Sequence[str], task: str, statement: str) -> Finding:
    """Whether agents learn a task at its first visit."""
    rule = "every agent reaches the threshold in the first visit, in most seeds"
    those = visits.of(names, task, least=1)
    if those.lack:
        return Finding(statement, rule, those.lack, None)
    done = {name: np.isfinite(visits.relearning(name, task)[:, 0]) for name in those.names}
    measured = ", ".join(f"{name} {share(table)}" for name, table in done.items())
    measured += those.without + visits.lost(those.names)
    return Finding(statement, rule, measured, all(most(table) for table in done.values()))


class Faster(NamedTuple):
    """A comparison of how fast a task is relearnt in the last part of its visits."""

    share: float  # that part
    # Whether to be as fast is enough; then nothing is said where neither ever relearns.
    equal: bool = False

    @property
    def least(self) -> int:
        """Visits that it takes: enough to have such a part of."""
        return max(1 + LATER_VISITS, round(1 / self.share))

    @property
    def rule(self) -> str:
        """In words."""
        part = {QUARTER: "quarter", HALF: "half"}[self.share]
        sign = "at most" if self.equal else "below"
        return (
            f"median training episodes to relearn, over seeds and the last {part} of the visits "
            f"(never counts as infinite): {sign} that of every control"
        )

    def compare(
        self, visits: Visits, mine: str, others: Sequence[str], task: str
    ) -> tuple[str, bool | None]:
        """The numbers, and whether one agent is faster than all others."""
        those = visits.of(others, task, self.least)
        if lack := visits.lack([mine], task, self.least) or those.lack:
            return lack, None
        names = [mine, *those.names]
        last = min(visits.relearning(name, task).shape[1] for name in names)
        first = last - int(np.ceil(last * self.share)) + 1
        late = {name: _median(visits.relearning(name, task)[:, first - 1 : last]) for name in names}
        measured = f"{_medians(late)} in visits {first} to {last}{those.without}"
        measured += visits.lost(names)
        rest = [late[name] for name in those.names]
        if self.equal and np.isinf([late[mine], *rest]).all():
            return f"{measured}; neither relearns", None
        quick = [late[mine] <= x if self.equal else late[mine] < x for x in rest]
        return measured, all(quick)

    def finding(
        self, visits: Visits, mine: str, others: Sequence[str], tasks: Sequence[str], statement: str
    ) -> Finding:
        """Judge tasks together."""
        judged = [(task, *self.compare(visits, mine, others, task)) for task in tasks]
        return all_of(
            statement,
            [Finding(task, self.rule, f"{task}: {text}", holds) for task, text, holds in judged],
        )


def slower_at_first(
    visits: Visits, mine: str, others: Sequence[str], task: str, statement: str
) -> Finding:
    """Whether an agent takes longer than others to learn a task in its first visits."""
    rule = (
        "median training episodes to learn, over seeds and the first quarter of the visits (never "
        "counts as infinite): above that of a control"
    )
    those = visits.of(others, task)
    if lack := visits.lack([mine], task) or those.lack:
        return Finding(statement, rule, lack, None)
    names = [mine, *those.names]
    shared = min(visits.relearning(name, task).shape[1] for name in names)
    last = int(np.ceil(shared * QUARTER))
    early = {name: _median(visits.relearning(name, task)[:, :last]) for name in names}
    measured = f"{_medians(early)} in visits 1 to {last}{those.without}{visits.lost(names)}"
    slower = early[mine] > min(early[name] for name in those.names)
    return Finding(statement, rule, measured, None if np.isinf([*early.values()]).all() else slower)


def late_medians(visits: Visits, name: str, tasks: Sequence[str]) -> str:
    """How long an agent takes to relearn tasks in the last half of their visits, in words."""
    parts = []
    for task in tasks:
        if not visits.lack([name], task):
            table = visits.relearning(name, task)
            late = _median(table[:, table.shape[1] // 2 :])
            parts.append(f"{task} {episodes(late)}")
    return f"median of the last half of visits: {', '.join(parts)}"


def earns_more(
    visits: Visits, mine: str, others: Sequence[str], task: str, statement: str
) -> Finding:
    """Whether an agent's reward per epoch is higher than that of others, after the first visit."""
    rule = f"more than every control in later visits; {EXCLUDES}"
    those = visits.of(others, task)
    if lack := visits.lack([mine], task) or those.lack:
        return Finding(statement, rule, lack, None)
    names = [mine, *those.names]
    shared = min(visits.rewards(name, task).shape[1] for name in names)
    later = {name: visits.rewards(name, task)[:, 1:shared] for name in names}
    more = [greater(later[mine], later[name]) for name in those.names]
    measured = f"per episode: {in_words(later)}{those.without}{visits.lost(names)}"
    return Finding(statement, rule, measured, all(more))


def _places(tasks: list[str], task: str) -> list[int]:
    return [place for place, name in enumerate(tasks) if name == task]


def _median(table: Float64) -> float:
    return float(np.median(table))


def _medians(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {episodes(number)}" for name, number in numbers.items())
