from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg

from bennafusi import Chain
from bennafusi.synapse.scheme import COUNTER_END, LONGEST_PERIOD, Scheme, next_step


def every_scheme():
    for n in range(1, 65):
        for rate in (1e-6, 1e-3, 0.01, 0.1, 0.5, 1.0):
            yield Scheme(Chain(n, rate))


def test_groups_cover_all_beakers_once_and_periods_divide():
    for scheme in every_scheme():
        groups = scheme.groups
        assert [i for g in groups for i in range(g.start, g.stop)] == list(range(scheme.chain.n))
        assert groups[0].period == 1
        for fast, slow in pairwise(groups):
            assert slow.period % fast.period == 0
            assert slow.period > fast.period
            assert LONGEST_PERIOD % slow.period == 0


def test_memory_is_at_most_1_4_arrays_per_beaker():
    for scheme in every_scheme():
        tubes = len(scheme.groups) - 1
        assert scheme.chain.n + tubes <= 1.4 * scheme.chain.n


def test_work_per_step_does_not_grow_with_the_chain():
    def work(n, rate):
        return sum((g.stop - g.start) / g.period for g in Scheme(Chain(n, rate)).groups)

    for rate in (0.01, 0.1):
        assert work(30, rate) < 4
        assert work(30, rate) < 1.1 * work(8, rate)
        assert work(60, rate) < 1.01 * work(30, rate)


def test_euler_and_exact_are_one_group():
    for method in ("euler", "exact"):
        assert len(Scheme(Chain(30, 0.1), method=method).groups) == 1


def test_gates_count_updates_not_steps():
    chain = Chain(3, 0.001625)
    np.testing.assert_array_equal(
        Scheme(chain, 64, updates_per_step=64).gate_steps, np.ceil(chain.gate_opens / 64)
    )
    # 2^k / 0.1 is a whole number of updates and must not be rounded up to the next one.
    np.testing.assert_array_equal(Scheme(Chain(3, 0.1)).gate_steps, [20, 40, 80])
    assert Scheme(Chain(30, 0.001625)).gate_steps[-1] == np.iinfo(np.int32).max


def test_propagator_is_the_matrix_exponential():
    scheme = Scheme(Chain(5, 0.1), dt=100.0, method="exact")
    areas, tubes = scheme.chain.areas, scheme.chain.tubes
    generator = np.zeros((5, 5))
    for k in range(5):
        generator[k, k] -= tubes[k] / areas[k]
        if k > 0:
            generator[k, k - 1] += tubes[k - 1] / areas[k]
            generator[k, k] -= tubes[k - 1] / areas[k]
        if k < 4:
            generator[k, k + 1] += tubes[k] / areas[k]
    expected = scipy.linalg.expm(100 * generator) - np.eye(5)
    np.testing.assert_allclose(scheme.propagators[-1], expected, rtol=1e-10)


def test_the_step_counter_never_overflows():
    steps = COUNTER_END - 1
    seen = []
    for _ in range(3 * LONGEST_PERIOD):
        steps = next_step(steps)
        seen.append(steps)
    assert max(seen) < 2**31 - 1
    # the rhythm of every group goes on: its period divides the length of the circle
    due = [s % LONGEST_PERIOD == 0 for s in seen]
    assert np.diff(np.flatnonzero(due)).tolist() == [LONGEST_PERIOD] * (sum(due) - 1)
    # and arrays go the same way
    assert next_step(np.array([COUNTER_END - 1, *seen[:-1]]), np.where).tolist() == seen


@pytest.mark.parametrize("method", ["euler", "multirate"])
def test_too_long_a_step_is_refused_with_the_limit(method):
    with pytest.raises(ValueError, match=r"dt \* g12 = 1.04.*at most 1.*'exact' has no such limit"):
        Scheme(Chain(4, 0.01), dt=104.0, method=method)
    Scheme(Chain(4, 0.01), dt=100.0, method=method)
    Scheme(Chain(4, 0.01), dt=1e6, method="exact")
    Scheme(Chain(1, 10.0, leak=False), dt=1.0)  # nothing flows, nothing overshoots


def test_slow_growth_has_a_lower_limit():
    with pytest.raises(ValueError, match=r"at most 0\.5"):
        Scheme(Chain(4, 0.6, growth=1.0), method="euler")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "rk4"}, ValueError, "method='rk4'.*'multirate', 'euler', 'exact'"),
        ({"dt": 0.0}, ValueError, "dt=0.0.*above 0"),
        ({"dt": float("nan")}, ValueError, "dt=nan.*finite"),
    ],
)
def test_bad_settings(arguments, error, message):
    with pytest.raises(error, match=message):
        Scheme(Chain(4, 0.1), **arguments)
    with pytest.raises(TypeError, match="must be a bennafusi"):
        Scheme(0.1)
