import jax
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bennafusi import metrics
from bennafusi.rivals.redo import silent

numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=20)


def test_dormant_units_by_hand():
    # Means of |h|: 0, 0.2, 2, 1.8; their mean is 1, and 0.2 is not at most 0.1.
    h = [[0.0, 0.1, 4.0, -1.8], [0.0, -0.3, 0.0, 1.8]]
    assert metrics.dormant_share(h, 0.1) == 0.25
    assert metrics.dormant_share(h, 0.2) == 0.5
    assert metrics.dormant_share(h, 0.0) == 0.25
    assert metrics.dormant_share(np.zeros((3, 4))) == 1
    assert metrics.dormant_share(np.ones((2, 5, 4))) == 0


def test_what_is_dormant_is_what_redo_recycles():
    h = jax.nn.relu(jax.random.normal(jax.random.key(0), (32, 50)) - 1.5)
    for threshold in (0.0, 0.3, 0.7):
        share = float(silent(h, threshold).mean())
        assert share == pytest.approx(metrics.dormant_share(h, threshold))
    assert 0 < metrics.dormant_share(h, 0.7) < 1


def test_ranks_by_hand():
    assert metrics.effective_rank(np.eye(5)) == 5
    assert metrics.effective_rank(np.diag([90.0, 9, 1])) == 2  # 99%
    assert metrics.effective_rank(np.diag([90.0, 8, 2])) == 3
    assert metrics.effective_rank(np.diag([90.0, 8, 2]), delta=0.1) == 1
    assert metrics.effective_rank(np.zeros((2, 3))) == 0
    assert metrics.stable_rank(np.eye(4)) == pytest.approx(4)
    assert metrics.stable_rank(np.diag([3.0, 4.0])) == pytest.approx(25 / 16)
    assert metrics.stable_rank(np.zeros((2, 2))) == 0
    with pytest.raises(ValueError, match=r"must be a matrix.* \(3,\)"):
        metrics.stable_rank([1, 2, 3])


@given(st.integers(0, 100), st.integers(1, 5))
def test_ranks_are_at_most_the_rank(seed, rank):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(9, rank)) @ rng.normal(size=(rank, 6))
    assert 1 <= metrics.effective_rank(matrix) <= rank
    assert 1 - 1e-9 <= metrics.stable_rank(matrix) <= rank + 1e-9
    assert metrics.effective_rank(3 * matrix) == metrics.effective_rank(matrix)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_network_that_was_lost_is_neither_alive_nor_of_any_rank(lost):
    h = [[lost, 1.0, 2.0, 0.0]]
    assert np.isnan(metrics.dormant_share(h))
    with pytest.raises(ValueError, match="features: holds NaN or infinity"):
        metrics.effective_rank(h)
    with pytest.raises(ValueError, match="matrix: holds NaN or infinity"):
        metrics.stable_rank(h)


def test_what_plasticity_cannot_be_measured_of():
    with pytest.raises(ValueError, match=r"activations: must be \[..., units\], .* \(0, 4\)"):
        metrics.dormant_share(np.zeros((0, 4)))
    with pytest.raises(ValueError, match=r"delta=-0.1: must be at least 0 and below 1"):
        metrics.effective_rank(np.eye(3), delta=-0.1)
    with pytest.raises(ValueError, match=r"before: has an array of shape \(3, 1\) where now .*3,"):
        metrics.distance_moved([np.ones(3)], [np.ones((3, 1))])


def test_norm_and_distance_of_trees():
    params = {"w": np.array([[2.0, 0.0], [0.0, 2.0]]), "b": np.array([1.0])}
    leaves = jax.tree.leaves(params)
    assert metrics.weight_norm(leaves) == 3
    moved = jax.tree.leaves(jax.tree.map(lambda x: x + 2, params))
    assert metrics.distance_moved(moved, leaves) == pytest.approx(20**0.5)
    with pytest.raises(ValueError, match="shorter"):
        metrics.distance_moved(moved, leaves[:1])


def test_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        found = metrics.interval(rng.normal(size=30), resamples=300, seed=trial, level=0.9)
        covered += found.low <= 0 <= found.high
    assert 0.82 <= covered / 200 <= 0.95


@given(numbers)
def test_intervals_hold_their_samples(values):
    found = metrics.interval(values, np.median, resamples=50)
    assert min(values) <= found.low <= found.high <= max(values)
    assert found.value == np.median(values)


def test_bad_samples_are_refused():
    with pytest.raises(ValueError, match="at least one seed"):
        metrics.interval([])
    with pytest.raises(ValueError, match="level=95: must be above 0 and below 1"):
        metrics.interval([1.0], level=95)
    with pytest.raises(ValueError, match="resamples=0: must be at least 1"):
        metrics.interval([1.0], resamples=0)
    with pytest.raises(ValueError, match=r"samples: there must be at least one seed, .* \(\)"):
        metrics.interval(1.0)


def test_what_never_came_about_has_an_interval():
    """Three of five seeds never got there: the median is infinite, and may be as low as 1."""
    never = [1.0, 2.0, np.inf, np.inf, np.inf]
    assert metrics.interval(never, np.median) == (np.inf, 1.0, np.inf)
    assert metrics.interval([np.inf] * 3) == (np.inf, np.inf, np.inf)
    assert np.isnan(metrics.interval([1.0, 2.0, np.nan])).all()


def test_a_run_that_was_lost_is_none_of_the_best():
    assert np.isnan(metrics.interquartile_mean([1, 2, 3, np.nan]))
    assert metrics.interquartile_mean([1, 2, 3, np.inf]) == 2.5
    assert metrics.performance_profile([1, np.nan], [0]).tolist() == [0.5]


def test_an_interval_is_printed_without_powers_of_ten():
    assert str(metrics.Interval(999.7, 999.4, 1000.2)) == "1,000 [999, 1,000]"


@given(numbers)
def test_interquartile_mean_is_scipy_s(values):
    expected = scipy.stats.trim_mean(values, 0.25)
    assert metrics.interquartile_mean(values) == pytest.approx(expected, abs=1e-9)


@given(numbers, st.lists(st.floats(-100, 100), min_size=1, max_size=6))
def test_profiles_fall(values, thresholds):
    levels = sorted(thresholds)
    profile = metrics.performance_profile(values, levels)
    assert (np.diff(profile) <= 0).all()
    assert profile[0] == np.mean(np.asarray(values) > levels[0])
