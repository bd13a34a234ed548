"""Exact memory curves against known numbers, and the simulation against the exact curves."""

import jax
import numpy as np
import pytest
import scipy.linalg

from bennafusi import Chain
from bennafusi.synapse import retention
from bennafusi.synapse.scheme import Scheme


def chain_of(n):
    return Chain(n, 0.125, gated=False)


def one_step(chain, dt=1.0):
    """M, written out again from the scheme's numbers."""
    scheme = Scheme(chain, dt, "euler")
    above, below = scheme.from_above, scheme.from_below
    return np.diag(1 - above - below) + np.diag(below[:-1], 1) + np.diag(above[1:], -1)


# Theory


@pytest.mark.parametrize(
    ("age", "left", "digits"),
    [
        (0, 1.0, 12),
        (1, 0.875, 12),
        (8, 0.4520, 4),
        (64, 0.16608, 5),
        (1024, 0.041971, 6),
        (65536, 0.0052499, 7),
    ],
)
def test_kernel_of_twelve_beakers(age, left, digits):
    assert retention.kernel(chain_of(12), age) == pytest.approx(left, abs=0.51 * 10**-digits)


def test_kernel_is_a_power_law():
    # The third digit of the slope depends on how densely young ages are sampled.
    ages = np.geomspace(8, 2**20, 1000)
    left = retention.kernel(chain_of(12), ages)
    slope = np.polyfit(np.log(ages), np.log(left), 1)[0]
    assert slope == pytest.approx(-0.498, abs=0.001)
    far = retention.kernel(chain_of(12), 2**20) * 2**10
    assert far == pytest.approx(1.344, abs=0.0005)


@pytest.mark.parametrize(("n", "variance"), [(4, 13.143), (8, 23.285), (12, 33.279)])
def test_variance_of_the_weight(n, variance):
    assert retention.variances(chain_of(n))[0] == pytest.approx(variance, abs=0.0005)


def test_variance_falls_with_depth():
    variances = retention.variances(chain_of(8))
    shares = [1, 0.772, 0.628, 0.505, 0.391, 0.280, 0.172, 0.067]
    np.testing.assert_allclose(variances / variances[0], shares, atol=0.00051)


@pytest.mark.parametrize(("n", "synapses", "ratio"), [(8, 1e6, 207), (12, 1e8, 1733)])
def test_signal_to_noise_of_a_fresh_pattern(n, synapses, ratio):
    assert retention.signal_to_noise(chain_of(n), 0, synapses) == pytest.approx(ratio, abs=0.5)


@pytest.mark.parametrize(
    ("n", "synapses", "age", "within"),
    [
        (4, 1e4, 1e3, 10),
        (8, 1e6, 7.71e4, 50),
        (12, 1e8, 5.40e6, 5e3),
        (1, 1e4, 29, 0.5),
        (1, 1e6, 46, 0.5),
        (1, 1e8, 64, 0.5),
    ],
)
def test_lifetime(n, synapses, age, within):
    found = retention.lifetime(chain_of(n), synapses)
    assert found == pytest.approx(age, abs=within)
    assert retention.signal_to_noise(chain_of(n), found, synapses) == pytest.approx(1, abs=1e-9)


def test_a_pattern_in_too_few_synapses_has_no_lifetime():
    assert retention.lifetime(chain_of(12), 33) == 0
    assert retention.lifetime(chain_of(12), 34) > 0


@pytest.mark.parametrize(("n", "dt"), [(1, 1.0), (2, 7.9), (5, 1.0), (5, 8.0), (9, 3.0)])
def test_theory_is_that_of_the_explicit_step(n, dt):
    chain = chain_of(n)
    M = one_step(chain, dt)
    powers = [np.linalg.matrix_power(M, t)[0, 0] for t in range(40)]
    np.testing.assert_allclose(retention.kernel(chain, np.arange(40), dt), powers, atol=1e-13)
    noise = np.zeros((n, n))
    noise[0, 0] = 1
    expected = scipy.linalg.solve_discrete_lyapunov(M, noise)
    np.testing.assert_allclose(retention.covariance(chain, dt), expected, rtol=1e-9)


def test_theory_holds_where_rates_are_below_rounding():
    deep = chain_of(30)
    slowest = retention.kernel(deep, 2.0**40) * 2**20
    assert slowest == pytest.approx(1.344, abs=0.001)
    covariance = retention.covariance(deep)
    noise = np.zeros((30, 30))
    noise[0, 0] = 1
    M = one_step(deep)
    np.testing.assert_allclose(M @ covariance @ M.T + noise, covariance, atol=1e-12)
    assert np.all(np.diff(np.diag(covariance)) < 0)


def test_chains_that_span_more_than_rounding():
    """Each further beaker adds as much to the weight's variance, and the last has always the same.

    The numbers of 60 beakers were worked out with 120 digits.
    """
    counts = [40, 45, 46, 47, 50, 52, 60, 100, 400]
    found = [retention.variances(Chain(n, 0.01)) for n in counts]
    np.testing.assert_allclose([v[-1] for v in found], 19.249023975154, rtol=1e-11)
    growth = np.diff([v[0] for v in found]) / np.diff(counts)
    np.testing.assert_allclose(growth, 31.202668, rtol=1e-7)
    sixty = found[counts.index(60)]
    np.testing.assert_allclose(sixty[[0, 30]], [1911.8674696716, 923.19251385], rtol=1e-12)
    deep = Chain(60, 0.01)
    life = retention.lifetime(deep, 1e30)
    assert life > 1e20
    assert retention.signal_to_noise(deep, life, 1e30) == pytest.approx(1, abs=1e-9)
    # Far below rounding the kernel is still that of an endless chain, with a leak and without.
    for leak in (True, False):
        left = retention.kernel(Chain(100, 0.125, leak=leak), 2.0**150) * 2.0**75
        assert left == pytest.approx(1.344, abs=0.001)


def test_gates_are_taken_as_open():
    assert retention.kernel(Chain(4, 0.125), 50) == retention.kernel(chain_of(4), 50)


def test_refusals():
    with pytest.raises(ValueError, match="without a leak"):
        retention.variances(Chain(4, 0.125, leak=False))
    with pytest.raises(ValueError, match="ages: must be finite and at least 0"):
        retention.kernel(chain_of(4), [-1])
    with pytest.raises(ValueError, match=r"synapses=0\.0"):
        retention.lifetime(chain_of(4), 0)
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="from 0 to 9, below steps=10"):
        retention.measure(chain_of(4), key, 10, 10, [10])
    with pytest.raises(TypeError, match="whole numbers"):
        retention.measure(chain_of(4), key, 10, 10, [0.5])
    with pytest.raises(ValueError, match="both must be at least 1"):
        retention.measure(chain_of(4), key, 0, 10, [0])


# Simulation


@pytest.mark.parametrize("n", [1, 12])
def test_simulation_agrees_with_theory(n):
    chain, synapses, ages = chain_of(n), 20_000, np.arange(700)
    found = retention.measure(chain, jax.random.key(3), synapses, 700, ages)
    left, variance = retention.kernel(chain, ages), retention.variances(chain)[0]
    distances = (found.overlap - left) / np.sqrt((variance - left**2) / synapses)
    assert np.abs(distances).max() < 5
    assert np.mean(distances**2) == pytest.approx(1, abs=5 * np.sqrt(2 / len(ages)))
    assert found.deviation == pytest.approx(np.sqrt(variance), rel=5 / np.sqrt(2 * synapses))


def test_simulation_starts_in_the_state_it_stays_in():
    expected = np.sqrt(retention.variances(chain_of(8))[0])
    found = retention.measure(chain_of(8), jax.random.key(1), 20_000, 1, [0])
    assert found.deviation == pytest.approx(expected, rel=0.025)


def test_the_key_decides():
    def overlaps(seed):
        key = jax.random.key(seed)
        return retention.measure(chain_of(1), key, 20_000, 700, np.arange(700)).overlap

    np.testing.assert_array_equal(overlaps(0), overlaps(0))
    assert np.mean(overlaps(0) != overlaps(1)) > 0.99
