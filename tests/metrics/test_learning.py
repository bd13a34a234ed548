"""The metrics of learning, against numbers worked out by hand, and what must always hold."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bennafusi import metrics
from bennafusi.metrics import Duration

# Three tasks; epochs train 0, 1, 2 and 0 again.
SCORES = [
    [1, 2, 3],
    [9, 4, 3],
    [5, 8, 1],
    [3, 6, 7],
    [10, 7, 5],
]
TRAINED = [0, 1, 2, 0]
scores = st.integers(2, 6).flatmap(
    lambda rows: st.lists(
        st.lists(st.floats(-10, 10), min_size=3, max_size=3), min_size=rows, max_size=rows
    )
)


def test_by_hand():
    assert metrics.average_performance(SCORES) == (10 + 7 + 5) / 3
    assert metrics.forgetting_from_end(SCORES, TRAINED).tolist() == [0, 8 - 7, 7 - 5]
    assert metrics.forgetting_from_peak(SCORES).tolist() == [0, 8 - 7, 7 - 5]
    np.testing.assert_array_equal(
        metrics.zero_shot_transfer(SCORES, TRAINED), [np.nan, 4 - 2, 1 - 3]
    )


def test_the_two_forms_of_forgetting_differ():
    # Best before it was ever trained, and worse at the end of its own epoch.
    table = [[0, 9], [5, 6], [2, 3]]
    assert metrics.forgetting_from_end(table, [0, 1]).tolist() == [3, 0]
    assert metrics.forgetting_from_peak(table).tolist() == [3, 6]


def test_tasks_may_be_numbers_of_any_library():
    for trained in (np.array([0, 1, 2, 0]), list(map(jnp.int32, [0, 1, 2, 0]))):
        for measure in (metrics.forgetting_from_end, metrics.zero_shot_transfer):
            expected = measure(SCORES, [0, 1, 2, 0])
            np.testing.assert_array_equal(measure(SCORES, trained), expected)


def test_a_task_that_was_never_trained():
    table = [[0, 1], [4, 2]]
    np.testing.assert_array_equal(metrics.forgetting_from_end(table, [0]), [0, np.nan])
    np.testing.assert_array_equal(metrics.zero_shot_transfer(table, [0]), [np.nan, np.nan])


@given(scores, st.data())
def test_forgetting_from_the_peak_is_never_less(table, data):
    trained = [data.draw(st.integers(0, 2)) for _ in range(len(table) - 1)]
    peak = metrics.forgetting_from_peak(table)
    end = metrics.forgetting_from_end(table, trained)
    assert (peak >= 0).all()
    assert (peak[~np.isnan(end)] >= end[~np.isnan(end)]).all()
    assert end[trained[-1]] == 0
    shifted = np.asarray(table) + 7  # a shift of all scores changes neither
    np.testing.assert_allclose(metrics.forgetting_from_peak(shifted), peak, atol=1e-9)


def test_forward_transfer_and_area():
    assert metrics.area_under_curve([1, 3]) == 2
    assert metrics.area_under_curve([0, 4, 4], times=[0, 1, 4]) == (2 + 12) / 4
    assert metrics.forward_transfer([0.2, 0.8], [0.2, 0.8]) == 0
    assert metrics.forward_transfer([1, 1], [0.5, 0.5]) == 1
    assert metrics.forward_transfer([0, 0], [0.5, 0.5]) == -1
    assert metrics.forward_transfer([250, 450], [0, 400], best=500) == 150 / 300
    with pytest.raises(ValueError, match=r"best=1\.0: must be above the area alone, 2\.0"):
        metrics.forward_transfer([1], [2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 0.9))
def test_no_transfer_from_what_is_the_same(curve, alone):
    flat = [alone] * len(curve)
    transfer = metrics.forward_transfer(curve, flat)
    assert transfer <= 1 + 1e-9
    assert abs(metrics.forward_transfer(flat, flat)) < 1e-9


def test_time_to_reach_with_and_without_a_window():
    times, curve = [10, 20, 30, 40], [0, 9, 2, 8]
    assert metrics.time_to_reach(times, curve, 9) == Duration(20, True)
    assert metrics.time_to_reach(times, curve, 5, window=2) == Duration(30, True)
    assert metrics.time_to_reach(times, curve, 6, window=2) == Duration(40, False)
    assert metrics.time_to_reach(times, curve, 0, window=5) == Duration(40, False)
    assert metrics.time_to_reach([], [], 0) == Duration(0, False)


@pytest.mark.parametrize("level", [0.7, 0.9, 0.95])
def test_a_score_that_is_the_level_reaches_it_whatever_came_before(level):
    """The difference of two long sums is not the last score: 16.9 + 0.7 - 16.9 is below 0.7."""
    before = np.linspace(0, 0.69, 49)
    found = metrics.time_to_reach(range(50), [*before, level], level)
    assert found == Duration(49, True)


@pytest.mark.parametrize("level", [0.1, 0.3, 0.7, 0.95])
def test_scores_that_are_all_the_level_reach_it(level):
    """Added up, many of them differ from as many times the level in the last digit."""
    for window in range(1, 101):
        found = metrics.time_to_reach(range(window), [level] * window, level, window)
        assert found == Duration(window - 1, True)
        below = [*[level] * (window - 1), level - 1e-6]
        assert not metrics.time_to_reach(range(window), below, level, window).reached


def test_curves_and_times_must_fit():
    for short in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match=r"times: of shape .*, and the curve of \(3,\)"):
            metrics.time_to_reach(short, [0, 0, 9], 5)
        with pytest.raises(ValueError, match=r"times: of shape .*, and the curve of \(3,\)"):
            metrics.area_under_curve([0, 0, 9], times=short)
    for times in ([0, 4, 3], [0, 0, 1]):
        with pytest.raises(ValueError, match="times: there must be two or more, each later"):
            metrics.area_under_curve([0, 2, 4], times=times)
    with pytest.raises(ValueError, match="times: there must be two or more"):
        metrics.area_under_curve([3.0], times=[0])
    with pytest.raises(ValueError, match=r"alone: has shape \(9,\), and the curve \(3,\)"):
        metrics.forward_transfer([0.5] * 3, [0.1] * 9)
    with pytest.raises(ValueError, match="window=0: must be at least 1"):
        metrics.drop_after_switch([1, 2, 3], [1], window=0)
    for window in (1.5, 2.0, np.nan):
        with pytest.raises(TypeError, match=rf"window={window}: must be a whole number"):
            metrics.time_to_reach([1, 2], [0, 9], 5, window=window)
    for times in ([1, 3, 2], [1, np.nan, 0]):
        with pytest.raises(ValueError, match="times: each must be at least as late as the one"):
            metrics.time_to_reach(times, [0, 0, 9], 5)
    with pytest.raises(ValueError, match="durations: one has the time NaN"):
        metrics.median_duration([Duration(np.nan, True), Duration(1, True)])


def test_a_score_that_is_missing_spoils_its_own_windows_alone():
    curve = [np.nan, 5, 5, 5]
    assert metrics.time_to_reach([1, 2, 3, 4], curve, 5) == Duration(2, True)
    assert metrics.time_to_reach([1, 2, 3, 4], curve, 5, window=2) == Duration(3, True)
    with pytest.raises(ValueError, match="window=0: must be at least 1"):
        metrics.time_to_reach([1], [5], 5, window=0)


def test_median_by_kaplan_and_meier():
    def all_reached(*times):
        return [Duration(t, True) for t in times]

    assert metrics.median_duration(all_reached(5, 1, 3)) == 3
    # Four of five ended before 10; one was still going at 2. 1: 4/5; 4: 8/15 and 6: 4/15.
    ran = [*all_reached(1, 4, 6, 9), Duration(2, False)]
    assert metrics.median_duration(ran) == 6
    # Left out, the censored one would have made it look faster: 4. Most censored: not known.
    assert metrics.median_duration([Duration(1, True), *[Duration(9, False)] * 3]) == np.inf
    assert metrics.median_duration([]) == np.inf


@pytest.mark.parametrize("curve", [[], [[1.0, 2.0]]])
def test_an_area_is_under_a_list_of_scores(curve):
    with pytest.raises(ValueError, match="curve: must be a list of scores, not of shape"):
        metrics.area_under_curve(curve)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_without_censoring_it_is_the_lower_median(times):
    found = metrics.median_duration([Duration(t, True) for t in times])
    assert found == sorted(times)[(len(times) - 1) // 2]


def test_relearning_gain_and_drop():
    assert metrics.relearning_gain(10, 10) == 0
    assert metrics.relearning_gain(10, 15) == -0.5
    assert metrics.relearning_gain(10, np.inf) == -np.inf
    assert np.isnan(metrics.relearning_gain(np.inf, 10))
    with pytest.raises(ValueError, match="first=0: must be above 0"):
        metrics.relearning_gain(0, 1)
    curve = [5, 9, 1, 3, 8, 2]
    assert metrics.drop_after_switch(curve, [2, 5]).tolist() == [8, 6]
    assert metrics.drop_after_switch(curve, [2], window=2).tolist() == [7 - 2]
    with pytest.raises(ValueError, match="switches: 5 has not 2 scores on either side"):
        metrics.drop_after_switch(curve, [5], window=2)


@pytest.mark.parametrize(
    ("table", "trained", "message"),
    [
        ([1, 2], [0], r"scores: must be \[switches \+ 1, tasks\], not of shape \(2,\)"),
        (SCORES, [0, 1], "trained: 2 epochs for 5 rows"),
        (SCORES, [0, 1, 2, 3], "trained: task 3 is none of the 3 tasks"),
        (SCORES, [0, 1, 2, 0.5], r"trained: task 0\.5 is none of the 3 tasks"),
    ],
)
def test_what_does_not_fit_is_refused(table, trained, message):
    with pytest.raises(ValueError, match=message):
        metrics.forgetting_from_end(table, trained)
