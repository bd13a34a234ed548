"""How sentences about the deep experiments are judged; each experiment says which of them.

The rules were chosen before any run of these experiments, though not before all prototypes of the
agents. An agent is judged by at least two seeds. Here is what is said of whole runs; what is said
of visits of a task is in :mod:`~bennafusi.experiments.deep.visit_claims`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.results import Finding, RunData

SEEDS = 2  # that an agent needs to be judged
KEPT = 475  # of 500 steps of Cart-Pole, mean over the last tests
STABLE, STABLE_SHARE = 400, 0.25  # a moving average that stays above, in the last part of a run
WINDOW, LONG_WINDOW = 100, 1000  # tests of the paper's moving averages: Figures S3 to S5, and 5

Amount = Callable[[RunData], float]


def run_time(runs: list[RunData], mine: str, other: str, most_times: float) -> Finding:
    """How much longer an agent's runs take."""
    statement = "The overall runtime is only 1.5 to 2 times longer than that of the control model"
    rule = f"mean seconds of a finished run: at most {most_times:g} times those of {other}"
    groups = measures.by_variant(runs)
    seconds = {
        name: [run.seconds for run in groups.get(name, []) if run.seconds is not None]
        for name in (mine, other)
    }
    few = {name: len(s) for name, s in seconds.items() if len(s) < SEEDS}
    if few:
        short = [f"{name} has {count} of {SEEDS} timed runs" for name, count in few.items()]
        return Finding(statement, rule, lacking(short), None)
    one, two = (float(np.mean(s)) for s in seconds.values())
    measured = f"{one / two:.2f} times ({one:,.0f} s and {two:,.0f} s)"
    return Finding(statement, rule, measured, one <= most_times * two)


class Count(NamedTuple):
    """A rule that the runs of an agent pass one by one, each judged by one number when it is done.

    A run that diverged has come to its end too: its number is below all others.
    """

    number: Amount  # of a run
    passes: Callable[[float], bool]  # whether a number passes
    rule: str  # in words
    every: bool = False  # whether all runs must pass, and not just most

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
            lack = lacking(f"{n} has {len(done[n])} of {SEEDS} finished runs" for n in short)
            return Finding(statement, rule, lack, None)
        parts, verdicts = [], []
        for name, mine in done.items():
            numbers = [ended(self.number, run) for run in mine]
            passed = np.array([self.passes(number) for number in numbers])
            listed = ", ".join(map(or_diverged, numbers))
            left = len(groups[name]) - len(mine)
            unfinished = f", {left} unfinished left out" if left else ""
            parts.append(f"{name} {share(passed)} ({listed}{unfinished})")
            verdicts.append(bool(passed.all()) if self.every else most(passed))
        return Finding(statement, rule, "; ".join(parts), all(verdicts))


def ended(number: Amount, run: RunData) -> float:
    """The number of a run that has come to its end; below all others if it diverged."""
    return -np.inf if measures.diverged(run) else number(run)


def or_diverged(number: float) -> str:
    """Such a number to be read.

    Example:
        >>> or_diverged(41.25), or_diverged(-np.inf)
        ('41.25', 'diverged')
    """
    return f"{number:.4g}" if np.isfinite(number) else "diverged"


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
    lambda x: x >= KEPT,
    f"{average_of(LONG_WINDOW)} ends at {KEPT} or above",
)
LOSES = Count(
    final(LONG_WINDOW),
    lambda x: x < KEPT,
    f"{average_of(LONG_WINDOW)} ends below {KEPT}",
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


def share(passed: NDArray[np.bool_]) -> str:
    """How many of all, in words."""
    return f"{int(np.sum(passed))} of {passed.size}"


def lacking(parts: Iterable[str]) -> str:
    """What is missing, in words; nothing if nothing is."""
    text = "; ".join(parts)
    return f"not enough data: {text}" if text else ""
