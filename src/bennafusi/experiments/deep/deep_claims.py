"""How sentences about the deep experiments are judged; each experiment says which of them.

The rules were chosen before any run of these experiments, though not before all prototypes of the
agents. An agent is judged by at least two seeds, its relearning by at least two visits of a task
after the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.statistics import difference_interval, mean_interval
from bennafusi.results import Finding, RunData
from bennafusi.synapse.chain import Float64

SEEDS = 2  # that an agent needs to be judged
LATER_VISITS = 2  # after the first, that a task needs
FORGOTTEN = 0.25  # of the later visits without relearning: a severe case
PERFECT = 475  # of 500 steps of Cart-Pole, mean over the last tests
STABLE, STABLE_SHARE = 400, 0.25  # a moving average that stays above, in the last part of a run
WINDOW, LONG_WINDOW = 100, 1000  # tests of the paper's moving averages: Figures S3 to S5, and 5
QUARTER, HALF = 0.25, 0.5

Amount = Callable[[RunData], float]


class Visits:
    """What agents did with a task at each of its epochs.

    Tables are ``[seeds, visits]``; an agent's are cut to its run that is least far.
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
        self._tables: dict[tuple[str, str], tuple[Float64, Float64]] = {}
        for name, mine in measured.items():
            for task in dict.fromkeys(task for tasks, _, _ in mine for task in tasks):
                self._tables[name, task] = (
                    _table([times[_places(tasks, task)] for tasks, times, _ in mine]),
                    _table([rewards[_places(tasks, task)] for tasks, _, rewards in mine]),
                )

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
        return _sentence(found)


def relearns(visits: Visits, name: str, task: str, statement: str) -> Finding:
    """Whether an agent relearns a task at every visit after the first."""
    rule = "in every later visit of every seed the mean of 10 tests reaches the threshold"
    if lack := visits.lack([name], task):
        return Finding(statement, rule, lack, None)
    done = np.isfinite(visits.relearning(name, task))
    measured = f"{_of(done[:, 1:])} later visits; with the first {_of(done)}"
    return Finding(statement, rule, measured, bool(done[:, 1:].all()))


def forgets(visits: Visits, name: str, task: str, statement: str) -> Finding:
    """Whether an agent often fails to relearn a task."""
    rule = f"at least {FORGOTTEN:.0%} of the later visits end without relearning"
    if lack := visits.lack([name], task):
        return Finding(statement, rule, lack, None)
    failed = np.isinf(visits.relearning(name, task))[:, 1:]
    measured = f"{_of(failed)} later visits ({failed.mean():.0%})"
    return Finding(statement, rule, measured, bool(failed.mean() >= FORGOTTEN))


def learns_at_first(visits: Visits, names: Sequence[str], task: str, statement: str) -> Finding:
    """Whether agents learn a task at its first visit."""
    rule = "every agent reaches the threshold in the first visit, in most seeds"
    if lack := visits.lack(names, task, least=1):
        return Finding(statement, rule, lack, None)
    done = {name: np.isfinite(visits.relearning(name, task)[:, 0]) for name in names}
    measured = ", ".join(f"{name} {_of(table)}" for name, table in done.items())
    return Finding(statement, rule, measured, all(most(table) for table in done.values()))


class Faster(NamedTuple):
    """A comparison of how fast a task is relearnt in the last part of its visits.

    Attributes:
        share: that part.
        equal: whether to be as fast is enough; then nothing is said where neither ever relearns.
    """

    share: float
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
        names = [mine, *others]
        if lack := visits.lack(names, task, self.least):
            return lack, None
        tables = {name: visits.relearning(name, task) for name in names}
        shared = min(table.shape[1] for table in tables.values())
        count = int(np.ceil(shared * self.share))
        late = {name: _median(table[:, shared - count : shared]) for name, table in tables.items()}
        early = {name: _median(table[:, :count]) for name, table in tables.items()}
        measured = f"{_medians(late)} in visits {shared - count + 1} to {shared}; at first "
        measured += _medians(early)
        rest = [late[name] for name in others]
        if self.equal and np.isinf([late[mine], *rest]).all():
            return f"{measured}; neither relearns", None
        quick = [late[mine] <= x if self.equal else late[mine] < x for x in rest]
        return measured, all(quick)

    def finding(
        self, visits: Visits, mine: str, others: Sequence[str], task: str, statement: str
    ) -> Finding:
        """Judge one task."""
        return Finding(statement, self.rule, *self.compare(visits, mine, others, task))


def late_medians(visits: Visits, name: str, tasks: Sequence[str]) -> str:
    """How long an agent takes to relearn tasks in the last half of their visits, in words."""
    parts = []
    for task in tasks:
        if not visits.lack([name], task):
            table = visits.relearning(name, task)
            late = _median(table[:, table.shape[1] // 2 :])
            parts.append(f"{task} {episodes(late)}")
    return f"median of the last half of visits: {', '.join(parts)}"


def earns_more(visits: Visits, mine: str, other: str, task: str, statement: str) -> Finding:
    """Whether an agent's reward per epoch is higher, after the first visit."""
    rule = f"more than {other} in later visits; the 95% interval of the difference excludes 0"
    if lack := visits.lack([mine, other], task):
        return Finding(statement, rule, lack, None)
    shared = min(visits.rewards(name, task).shape[1] for name in (mine, other))
    one, two = (visits.rewards(name, task)[:, 1:shared] for name in (mine, other))
    measured = f"{mine} {mean_interval(one)}, {other} {mean_interval(two)} per episode"
    return Finding(statement, rule, measured, difference_interval(one, two).low > 0)


def run_time(runs: list[RunData], mine: str, other: str, most_times: float) -> Finding:
    """How much longer an agent's runs take."""
    statement = "The overall runtime is only 1.5 to 2 times longer than that of the control model"
    rule = f"mean seconds of a finished run: at most {most_times:g} times those of {other}"
    groups = measures.by_variant(runs)
    seconds = {
        name: [run.seconds for run in groups.get(name, []) if run.seconds is not None]
        for name in (mine, other)
    }
    short = [f"{name} has {len(s)} of {SEEDS} timed runs" for name, s in seconds.items()]
    if any(len(s) < SEEDS for s in seconds.values()):
        return Finding(statement, rule, _sentence(short), None)
    one, two = (float(np.mean(s)) for s in seconds.values())
    measured = f"{one / two:.2f} times ({one:,.0f} s and {two:,.0f} s)"
    return Finding(statement, rule, measured, one <= most_times * two)


class Count(NamedTuple):
    """A rule that the runs of an agent pass one by one, each judged by one number when it is done.

    A run that diverged has come to its end too: its number is below all others.

    Attributes:
        number: of a run.
        passes: whether a number passes.
        rule: in words.
        every: whether all runs must pass, and not just most.
    """

    number: Amount
    passes: Callable[[float], bool]
    rule: str
    every: bool = False

    def finding(self, runs: list[RunData], names: Sequence[str], statement: str) -> Finding:
        """Whether it holds for all of these agents."""
        rule = f"{self.rule}, in {'every seed' if self.every else 'most seeds'}"
        groups = measures.by_variant(runs)
        done = {
            name: [r for r in groups.get(name, []) if finished(r) or measures.diverged(r)]
            for name in names
        }
        short = [n for n, mine in done.items() if len(mine) < SEEDS]
        if short:
            lack = _sentence(f"{n} has {len(done[n])} of {SEEDS} finished runs" for n in short)
            return Finding(statement, rule, lack, None)
        parts, verdicts = [], []
        for name, mine in done.items():
            numbers = [-np.inf if measures.diverged(r) else self.number(r) for r in mine]
            passed = np.array([self.passes(number) for number in numbers])
            listed = ", ".join(f"{x:.4g}" if np.isfinite(x) else "diverged" for x in numbers)
            left = len(groups[name]) - len(mine)
            unfinished = f", {left} unfinished left out" if left else ""
            parts.append(f"{name} {_of(passed)} ({listed}{unfinished})")
            verdicts.append(bool(passed.all()) if self.every else most(passed))
        return Finding(statement, rule, "; ".join(parts), all(verdicts))


def final(paper_window: int) -> Amount:
    """The mean of a run's last tests, as many as its moving average takes."""
    return lambda run: measures.final_average(run, measures.window_of(run, paper_window))


def lowest_late(run: RunData) -> float:
    """The number by which a run is stable or not."""
    return measures.lowest_in_last(run, measures.window_of(run, WINDOW), STABLE_SHARE)


def average_of(paper_window: int) -> str:
    """The moving average, for a rule."""
    return f"the moving average of {paper_window} tests (at most a tenth of all)"


STAYS = Count(
    lowest_late,
    lambda x: x >= STABLE,
    f"{average_of(WINDOW)} stays at {STABLE} or above in the last quarter of the run",
)
FALLS = Count(
    lowest_late,
    lambda x: x < STABLE,
    f"{average_of(WINDOW)} falls below {STABLE} in the last quarter of the run",
)
KEEPS = Count(
    final(LONG_WINDOW),
    lambda x: x >= PERFECT,
    f"{average_of(LONG_WINDOW)} ends at {PERFECT} or above",
)
LOSES = Count(
    final(LONG_WINDOW),
    lambda x: x < PERFECT,
    f"{average_of(LONG_WINDOW)} ends below {PERFECT}",
)


def finished(run: RunData) -> bool:
    """Whether a run of one task has ended."""
    return bool(measures.epoch_tasks(run))


def most(passed: Sequence[bool] | NDArray[np.bool_]) -> bool:
    """More than half of them.

    Example:
        >>> most([True, True, False]), most([True, False])
        (True, False)
    """
    return 2 * int(np.sum(passed)) > len(passed)


def episodes(number: float) -> str:
    """A number of episodes, or that it never came to that.

    Example:
        >>> episodes(1234.0), episodes(float("inf"))
        ('1,234', 'never')
    """
    return f"{number:,.0f}" if np.isfinite(number) else "never"


def _places(tasks: list[str], task: str) -> list[int]:
    return [place for place, name in enumerate(tasks) if name == task]


def _table(rows: list[Float64]) -> Float64:
    shortest = min(map(len, rows))
    return np.array([row[:shortest] for row in rows], np.float64).reshape(len(rows), shortest)


def _median(table: Float64) -> float:
    return float(np.median(table))


def _medians(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {episodes(number)}" for name, number in numbers.items())


def _of(passed: NDArray[np.bool_]) -> str:
    return f"{int(np.sum(passed))} of {passed.size}"


def _sentence(parts: Iterable[str]) -> str:
    text = "; ".join(parts)
    return f"not enough data: {text}" if text else ""
