"""How well tasks are learnt, kept, and learnt again.

Scores are ``[switches + 1, tasks]``: row 0 is before any training, row k after the k-th epoch, and
``trained[k - 1]`` is the task that epoch k trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64 = NDArray[np.float64]


def average_performance(scores: ArrayLike) -> float:
    r"""Mean score over all tasks at the end, :math:`\frac1N \sum_i p_i(T)`.

    Example:
        >>> average_performance([[0, 0], [9, 1], [5, 7]])
        6.0

    References:
        Wołczyk et al., *Continual World*, 2021.
    """
    return float(_table(scores)[-1].mean())


def forgetting_from_end(scores: ArrayLike, trained: Sequence[int]) -> Float64:
    r"""Of each task, its score at the end of its own (last) epoch less that at the end of the run.

    .. math:: F_i = p_i(\text{end of epoch } i) - p_i(T)

    Negative if other tasks made it better; 0 for the task that was trained last; NaN for one that
    never was.

    Example:
        >>> forgetting_from_end([[0, 0], [9, 1], [5, 7]], trained=[0, 1])
        array([4., 0.])

    References:
        Wołczyk et al., *Continual World*, 2021.
    """
    table, tasks = _matched(scores, trained)
    ends = {task: epoch for epoch, task in enumerate(tasks, start=1)}
    return np.array(
        [table[ends[i], i] - table[-1, i] if i in ends else np.nan for i in range(table.shape[1])]
    )


def forgetting_from_peak(scores: ArrayLike) -> Float64:
    r"""Of each task, the best score it ever had less that at the end of the run.

    .. math:: F_i = \max_{t} p_i(t) - p_i(T)

    Never negative, and never below :func:`forgetting_from_end`. The paper leaves the end of the run
    and the time before any training out of the maximum, so that its form may be negative.

    Example:
        >>> forgetting_from_peak([[0, 8], [9, 1], [5, 7]])
        array([4., 1.])

    References:
        Chaudhry et al., *Riemannian walk for incremental learning: understanding forgetting and
        intransigence*, 2018.
    """
    table = _table(scores)
    lost: Float64 = table.max(axis=0) - table[-1]
    return lost


def zero_shot_transfer(scores: ArrayLike, trained: Sequence[int]) -> Float64:
    r"""Of each task, its score right before its own first epoch less that of a learner that is new.

    .. math:: Z_i = p_i(\text{start of the first epoch of } i) - p_i(0)

    NaN for a task that was first, or never trained: nothing came before it that could help. CORA
    names the part of each earlier task, over the largest score of this one; here is their sum.

    Example:
        >>> zero_shot_transfer([[0, 2], [9, 3], [5, 7]], trained=[0, 1])
        array([nan,  1.])

    References:
        Powers et al., *CORA: benchmarks, baselines, and metrics*, 2022.
    """
    table, tasks = _matched(scores, trained)
    first: dict[int, int] = {}
    for before, task in enumerate(tasks):
        first.setdefault(task, before)
    return np.array(
        [
            table[first[i], i] - table[0, i] if first.get(i, 0) else np.nan
            for i in range(table.shape[1])
        ]
    )


def forward_transfer(curve: ArrayLike, alone: ArrayLike, best: float = 1.0) -> float:
    r"""How much faster a task was learnt than by a learner that knew nothing.

    .. math:: \frac{\mathrm{AUC} - \mathrm{AUC}_{alone}}{best - \mathrm{AUC}_{alone}}

    of the learning curves on this task, in this run and alone, at the same equally spaced times, so
    that both have as many scores.

    It takes runs of each task alone. Without them there is :func:`zero_shot_transfer`.

    Example:
        >>> forward_transfer([0.5, 1.0], alone=[0.0, 1.0])
        0.5

    References:
        Wołczyk et al., *Continual World*, 2021; there ``best`` is a success rate of 1.
    """
    if np.shape(curve) != np.shape(alone):
        raise ValueError(
            f"alone: has shape {np.shape(alone)}, and the curve {np.shape(curve)}; both must have "
            f"their scores at the same times"
        )
    here, there = area_under_curve(curve), area_under_curve(alone)
    if not best > there:
        raise ValueError(f"best={best}: must be above the area alone, {there}")
    return (here - there) / (best - there)


def area_under_curve(curve: ArrayLike, times: ArrayLike | None = None) -> float:
    r"""Area under a learning curve per unit of time: its mean, if no times are given.

    .. math:: \mathrm{AUC} = \frac{1}{t_n - t_1} \int_{t_1}^{t_n} p(t)\,dt

    With times, the integral is that of the trapezoids between neighbouring points.

    Example:
        >>> area_under_curve([0, 2, 4]), area_under_curve([0, 2, 4], times=[0, 3, 4])
        (2.0, 1.5)

    References:
        Wołczyk et al., *Continual World*, 2021; there of each task over its own epoch.
    """
    values = np.asarray(curve, np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"curve: must be a list of scores, not of shape {values.shape}")
    if times is None:
        return float(values.mean())
    moments = _moments(times, values)
    if moments.size < 2 or not (np.diff(moments) > 0).all():
        raise ValueError("times: there must be two or more, each later than the one before")
    return float(np.trapezoid(values, moments) / (moments[-1] - moments[0]))


class Duration(NamedTuple):
    """How long something took.

    Attributes:
        time: when it happened, or until when it had not.
        reached: whether it happened; if not, the time is *censored*: the truth is larger.
    """

    time: float
    reached: bool


def time_to_reach(times: ArrayLike, curve: ArrayLike, level: float, window: int = 1) -> Duration:
    r"""When the mean of ``window`` scores in a row first is at least ``level``.

    .. math:: T = \min \{ t_k : \frac1w \sum_{j=k-w+1}^{k} p_j \ge level \}

    If that never happens, the last time there is, as one that is censored.

    Example:
        >>> time_to_reach([10, 20, 30], [1, 4, 6], level=5, window=2)
        Duration(time=30.0, reached=True)
        >>> time_to_reach([10, 20, 30], [1, 4, 6], level=7)
        Duration(time=30.0, reached=False)

    References:
        Kaplanis, Shanahan and Clopath, *Continual reinforcement learning with complex synapses*,
        2018, count relearning by such a threshold. To call the rest censored is ours.
    """
    values = np.asarray(curve, np.float64)
    moments = _moments(times, values)
    if not (np.diff(moments) >= 0).all():
        raise ValueError("times: each must be at least as late as the one before")
    _need_window(window)
    if values.size >= window:
        # Of sums, not of means: rewards are whole numbers, and their sums are exact. Each window
        # by itself: differences of one long sum are not, and a NaN in it would never end.
        sums = np.lib.stride_tricks.sliding_window_view(values, window).sum(axis=1)
        # Six times 0.1, added up, is less than 6 * 0.1 in its last digit.
        exact = np.isclose(sums, level * window, rtol=1e-12, atol=0)
        good = np.flatnonzero((sums >= level * window) | exact)
        if good.size:
            return Duration(float(moments[good[0] + window - 1]), True)
    return Duration(float(moments[-1]) if moments.size else 0.0, False)


def median_duration(durations: Sequence[Duration]) -> float:
    r"""The median by Kaplan and Meier, which takes censored ones for what they say; else infinite.

    .. math:: \min \{ t : \prod_{t_i \le t} (1 - \frac{1}{n_i}) \le \frac12 \}

    over the durations that were reached, where :math:`n_i` are not over before :math:`t_i`.

    Example:
        >>> ran = [Duration(2, True), Duration(3, False), Duration(5, True), Duration(9, True)]
        >>> median_duration(ran)
        5.0

    References:
        Kaplan and Meier, *Nonparametric estimation from incomplete observations*, 1958.
    """
    if any(np.isnan(duration.time) for duration in durations):
        raise ValueError("durations: one has the time NaN; of what was not seen, leave it out")
    left, survival = len(durations), 1.0
    # At the same time, what happened comes before what was only seen so far.
    for duration in sorted(durations, key=lambda d: (d.time, not d.reached)):
        if duration.reached:
            survival *= (left - 1) / left
            if survival <= 0.5 + 1e-12:
                return float(duration.time)
        left -= 1
    return float("inf")


def relearning_gain(first: float, again: float) -> float:
    r"""What was saved the second time, :math:`(T_{first} - T_{again}) / T_{first}`.

    1 if it was still known, 0 if it took as long, negative if it took longer. Durations that are
    only censored must not be put in as if they were whole; of medians that are infinite
    (:func:`median_duration`), it is minus infinity if the second is, and NaN if the first is.

    Example:
        >>> relearning_gain(first=8, again=2)
        0.75

    References:
        Chua, Precup and Richards, arXiv 2605.26357, 2026.
    """
    if not first > 0:
        raise ValueError(f"first={first}: must be above 0")
    return (first - again) / first


def drop_after_switch(curve: ArrayLike, switches: Sequence[int], window: int = 1) -> Float64:
    r"""At each switch, the mean of the last scores before it less that of the first after it.

    .. math:: D_s = \frac1w \sum_{j=s-w}^{s-1} p_j - \frac1w \sum_{j=s}^{s+w-1} p_j

    Ours: it follows no paper.

    Args:
        curve: scores in order of time: on whatever task was there, or on one task alone.
        switches: places in the curve at which a new task begins, or the one task comes back.
        window: how many scores on either side are averaged.

    Returns:
        One drop per switch.

    Example:
        >>> drop_after_switch([8, 10, 1, 3, 9], switches=[2], window=2)
        array([7.])
    """
    values = np.asarray(curve, np.float64)
    _need_window(window)
    for place in switches:
        if not window <= place <= values.size - window:
            raise ValueError(f"switches: {place} has not {window} scores on either side")
    return np.array(
        [values[s - window : s].mean() - values[s : s + window].mean() for s in switches],
        np.float64,
    )


def _moments(times: ArrayLike, values: Float64) -> Float64:
    moments = np.asarray(times, np.float64)
    if moments.shape != values.shape or moments.ndim != 1:
        raise ValueError(
            f"times: of shape {moments.shape}, and the curve of {values.shape}; there must be one "
            f"time for each score"
        )
    return moments


def _need_window(window: int) -> None:
    if not isinstance(window, int | np.integer):
        raise TypeError(f"window={window!r}: must be a whole number")
    if window < 1:
        raise ValueError(f"window={window}: must be at least 1")


def _table(scores: ArrayLike) -> Float64:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"scores: must be [switches + 1, tasks], not of shape {table.shape}")
    return table


def _matched(scores: ArrayLike, trained: Sequence[int]) -> tuple[Float64, list[int]]:
    table = _table(scores)
    tasks: list[int] = np.asarray(trained).tolist()  # numbers of any library, to look up
    if len(tasks) != len(table) - 1:
        raise ValueError(
            f"trained: {len(tasks)} epochs for {len(table)} rows of scores; "
            f"there must be one row more than epochs"
        )
    for task in tasks:
        if task not in range(table.shape[1]):
            raise ValueError(f"trained: task {task} is none of the {table.shape[1]} tasks")
    return table, tasks
