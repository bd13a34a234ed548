"""What the figures and claims of the deep experiments are made of, from the records of a run.

Nothing here knows the settings: how many episodes an epoch has, and which of them are tests, is
read off the records. An epoch is finished when the switch at its end has been recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.metrics import Duration, time_to_reach
from bennafusi.results import RunData
from bennafusi.synapse.chain import Float64
from bennafusi.training.deep_state import Trial

THRESHOLDS = {"cartpole": 450, "cartpole-long": 450, "catcher": 10}
# What perfect play earns per episode: of Catcher 13 to 15, by where the fruits fall.
PERFECT = {"cartpole": 500, "cartpole-long": 500, "catcher": 14.28}
PLASTIC = ("dormant", "rank", "norm", "moved")
RELEARNING_TESTS = 10  # tests whose mean must reach the threshold
WINDOW_SHARE = 10  # a window is at most this part of a run's tests

DIVERGED = "diverged"  # how the reason begins for which such a run has ended


def by_variant(runs: list[RunData]) -> dict[str, list[RunData]]:
    """The runs of each variant, both in their order.

    Example:
        >>> runs = [RunData("b", 0, []), RunData("a", 0, []), RunData("b", 1, [])]
        >>> {name: [run.seed for run in mine] for name, mine in by_variant(runs).items()}
        {'b': [0, 1], 'a': [0]}
    """
    found: dict[str, list[RunData]] = {}
    for run in runs:
        found.setdefault(run.variant, []).append(run)
    return found


def diverged(run: RunData) -> bool:
    """Whether the run ended because its values or its loss left all bounds.

    Example:
        >>> diverged(RunData("a", 0, [], failed="diverged in epoch 1, episode 7: ..."))
        True
    """
    return run.failed.startswith(DIVERGED)


def switches(run: RunData) -> list[dict[str, Any]]:
    """The switch records: before the first epoch, and at the end of each."""
    return [record for record in run.records if record["kind"] == "switch"]


def switch_epochs(run: RunData) -> NDArray[np.int64]:
    """The epochs at the end of which the agent was looked at; 0 is before the first."""
    return np.array([record["epoch"] for record in switches(run)], np.int64)


def plasticity(run: RunData) -> dict[int, dict[str, float]]:
    """What says whether a network can still learn, by the epoch at whose end it was looked at.

    NaN where a measure has no meaning.

    Example:
        >>> look = {"kind": "plasticity", "epoch": 0, "task": None, "dormant": 0.1, "moved": None}
        >>> plasticity(RunData("a", 0, [look]))
        {0: {'dormant': 0.1, 'moved': nan}}
    """
    looks = [record for record in run.records if record["kind"] == "plasticity"]
    return {look["epoch"]: {k: _number(look[k]) for k in PLASTIC if k in look} for look in looks}


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def epoch_tasks(run: RunData) -> list[str]:
    """The task of every finished epoch."""
    return [record["task"] for record in switches(run) if record["epoch"] > 0]


def epochs(run: RunData, tests: Trial) -> list[tuple[str, NDArray[np.intp]]]:
    """The task of every finished epoch, and where its tests are in the columns."""
    numbers = tests.epoch
    return [
        (task, np.flatnonzero(numbers == number))
        for number, task in enumerate(epoch_tasks(run), start=1)
    ]


def durations(run: RunData) -> list[Duration]:
    """Training episodes until a task was relearnt, for every finished epoch.

    It is relearnt when the mean of 10 tests in a row, all of this epoch, first reaches the task's
    threshold; tests are not counted. Censored if that never happens, NaN for a task without one.
    """
    tests = trials_of(run)
    return [
        _duration(tests.episode[mine], tests.reward[mine], THRESHOLDS.get(task, float("nan")))
        for task, mine in epochs(run, tests)
    ]


def relearning(run: RunData) -> Float64:
    """The :func:`durations` as numbers: infinite if a task was not relearnt."""
    found = [d.time if d.reached or np.isnan(d.time) else float("inf") for d in durations(run)]
    return np.array(found, np.float64)


def reward_per_epoch(run: RunData) -> Float64:
    """Mean reward per episode of every finished epoch, training and test episodes alike.

    Training episodes after an epoch's last test have no record and are left out.
    """
    tests, found = trials_of(run), []
    for _, mine in epochs(run, tests):
        training = np.diff(tests.episode[mine], prepend=0) - 1  # between two tests
        rewards = tests.reward[mine] + training * tests.training_reward[mine]
        episodes = mine.size + training.sum()
        found.append(rewards.sum() / episodes if episodes else np.nan)
    return np.array(found, np.float64)


def window_of(run: RunData, paper: int) -> int:
    """The window of a moving average: the paper's, but never more than a tenth of the tests.

    Paper-scale runs have 10,000 tests, so that their windows are the paper's own.
    """
    tests = len([record for record in run.records if record["kind"] == "test"])
    return max(1, min(paper, tests // WINDOW_SHARE))


def moving_average(run: RunData, window: int) -> tuple[Float64, Float64]:
    """Mean reward of the last so-many tests of the whole run, from the first time there are enough.

    Returns:
        The episode (of the whole run, tests included) at which each window ends, and the means.
    """
    tests = trials_of(run)
    episode, reward = _episodes_of_run(tests), tests.reward.astype(np.float64)
    if reward.size < window:
        return np.zeros(0), np.zeros(0)
    return episode[window - 1 :], _sums(reward, window) / window


def final_average(run: RunData, window: int) -> float:
    """Mean reward of the last so-many tests; NaN if there are fewer."""
    averages = moving_average(run, window)[1]
    return float(averages[-1]) if averages.size else float("nan")


def first_reaching(run: RunData, window: int, level: float) -> float:
    """The episode at which the moving average first reaches a level; infinite if it never does."""
    episodes, averages = moving_average(run, window)
    good = np.flatnonzero(averages >= level)
    return float(episodes[good[0]]) if good.size else float("inf")


def lowest_in_last(run: RunData, window: int, share: float) -> float:
    """The lowest moving average at the tests of the last part of a run; NaN without any."""
    averages = moving_average(run, window)[1]
    tests = averages.size + window - 1
    last = averages[-max(1, round(tests * share)) :]
    return float(last.min()) if last.size else float("nan")


def switch_scores(run: RunData) -> dict[str, Float64]:
    """Mean reward of the tests at each switch (epoch 0 first), for every task."""
    found = switches(run)
    tasks = list(found[0]["tests"]) if found else []
    return {
        task: np.array([np.mean(r["tests"][task]) for r in found], np.float64) for task in tasks
    }


def distances(run: RunData) -> dict[str, Float64]:
    """How far beakers are from the weights: ``[switches, n]`` for every group of parameters.

    Empty for the control agent, which has no deeper beakers.
    """
    found = switches(run)
    groups = list(found[0]["distances"]) if found else []
    return {g: np.array([record["distances"][g] for record in found], np.float64) for g in groups}


def counted_in(run: RunData) -> str:
    """What the looks of a run are counted in: ``"episode"``, or ``"step"`` where epochs are.

    Records do not say it; steps are many times as many as the episodes of the run's tests.
    """
    episodes = _episodes_of_run(trials_of(run))
    looks = [r["episode"] for r in run.records if r["kind"] in ("levels", "depths")]
    steps = episodes.size and max(looks, default=0) > 2 * episodes[-1]
    return "step" if steps else "episode"


def _duration(episode: NDArray[Any], reward: NDArray[Any], level: float) -> Duration:
    if np.isnan(level):
        return Duration(level, False)
    training = episode - np.arange(1, episode.size + 1)  # episodes that were no tests
    return time_to_reach(training, reward, level, RELEARNING_TESTS)


def _episodes_of_run(tests: Trial) -> Float64:
    """Episodes since the run began, at each test; an epoch is as long as its last test says."""
    episode = tests.episode.astype(np.float64)
    ends = np.flatnonzero(np.diff(tests.epoch, append=np.inf))
    before = np.concatenate([[0.0], np.cumsum(episode[ends])])
    passed: Float64 = episode + before[np.searchsorted(ends, np.arange(episode.size))]
    return passed


def _sums(values: Float64, window: int) -> Float64:
    """Of every window; rewards are whole numbers, so that these are exact."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    sums: Float64 = total[window:] - total[:-window]
    return sums
