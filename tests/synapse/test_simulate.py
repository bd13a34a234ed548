import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi import Chain, simulate
from tests.reference.euler import euler

N = 30


def relative_rms(error, reference):
    return np.sqrt((error**2).mean(1) / (reference**2).mean(1))


def test_two_beakers_by_hand():
    # areas 1, 2; tubes 0.1, 0.05; from (1, 0): beaker 1 loses 0.1, beaker 2 gains 0.1 / 2.
    chain = Chain(2, 0.1, gated=False)
    u = simulate(chain, jnp.array([0.0]), u0=jnp.array([1.0, 0.0]), method="euler")
    np.testing.assert_allclose(u, [0.9, 0.05], rtol=1e-6)
    # next: 0.9 - 0.1 * 0.85 + 0.5 ; 0.05 + 0.05 * 0.85 - 0.025 * 0.05
    u = simulate(chain, jnp.array([0.0, 0.5]), u0=jnp.array([1.0, 0.0]), method="euler")
    np.testing.assert_allclose(u, [1.315, 0.09125], rtol=1e-6)


def test_gates_shut_only_the_flow_back_by_hand():
    # 2 / 0.5 = 4 updates until beaker 2 may act on beaker 1.
    chain = Chain(2, 0.5, leak=False)
    u = simulate(chain, jnp.zeros(3), u0=jnp.array([1.0, 0.0]), method="euler")
    np.testing.assert_allclose(u, [1.0, 1 - 0.75**3], rtol=1e-6)
    u = simulate(chain, jnp.zeros(4), u0=jnp.array([1.0, 0.0]), method="euler")
    below = 1 - 0.75**3
    np.testing.assert_allclose(u, [1 - 0.5 * (1 - below), below + 0.25 * (1 - below)], rtol=1e-6)


def test_flow_scales_only_the_deeper_beaker_s_equation():
    chain = Chain(3, 0.1, leak=False, gated=False)
    u0 = jnp.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    u = simulate(chain, jnp.zeros((1, 2)), u0=u0, method="euler", flow=jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(u, [[0.9, 0.9], [0.05, 0.15], [0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("method", ["euler", "multirate"])
@pytest.mark.parametrize("flow", [0.3, 2.0])
def test_modulated_flow_agrees_with_the_oracle(method, flow):
    dw = np.random.default_rng(0).standard_normal((8000, 4))
    chain = Chain(8, 0.05, gated=False)
    u = simulate(chain, jnp.asarray(dw, jnp.float32), method=method, flow=flow)
    reference = euler(8, 0.05, dw, flow=flow)
    awake = chain.timescales < len(dw)
    errors = relative_rms(u - reference, reference)[awake]
    assert errors.max() < (2e-5 if method == "euler" else 5e-3)


def test_white_noise_in_float32():
    dw = np.random.default_rng(1).standard_normal((65_536, 64))
    reference = euler(N, 0.1, dw)
    u = simulate(Chain(N, 0.1, gated=False), jnp.asarray(dw, jnp.float32))
    assert relative_rms(u - reference, reference)[:8].max() < 5e-3


def test_paper_style_start_in_float32_where_plain_euler_fails():
    rng = np.random.default_rng(2)
    steps, g12, dt = 200_000, 0.001625, 64.0
    dw = 1e-3 * rng.standard_normal((steps, 32)).astype(np.float32)
    spread = np.sqrt(1 - np.arange(1, N + 1) / N)[:, None]
    u0 = (spread * rng.standard_normal((N, 32))).astype(np.float32)
    reference = euler(N, g12, dw, u0=u0, dt=dt, gated=True)
    displacement = reference - u0
    chain = Chain(N, g12)
    errors = {
        method: relative_rms(
            simulate(chain, jnp.asarray(dw), u0=jnp.asarray(u0), dt=dt, method=method) - reference,
            displacement,
        )
        for method in ("multirate", "euler")
    }
    assert errors["multirate"][:12].max() < 2e-2
    assert errors["multirate"][12:15].max() < 5e-2
    # why multirate is the default: in float32 the increments of deep beakers are rounded away
    assert errors["euler"][11] > 0.15
    assert errors["euler"][12] > 0.6
    assert errors["euler"][15] > 0.95


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.3, 1.0])
def test_multirate_is_accurate_for_every_step_size(rate):
    dw = np.random.default_rng(3).standard_normal((16_384, 32))
    chain = Chain(8, rate, gated=False)
    reference = euler(8, rate, dw)
    u = simulate(chain, jnp.asarray(dw, jnp.float32))
    # Deeper beakers than the run is long have hardly begun to move, and lag by their own period.
    awake = chain.timescales < len(dw)
    assert relative_rms(u - reference, reference)[awake].max() < 5e-3


@pytest.mark.parametrize("n", [4, 12, 30])
def test_liquid_is_conserved_without_leak_and_gates(n):
    chain = Chain(n, 0.1, leak=False, gated=False)
    poured = np.linspace(0.5, 2.0, 16)
    u0 = jnp.zeros((n, 16)).at[0].set(jnp.asarray(poured, jnp.float32))
    u = np.asarray(simulate(chain, jnp.zeros((100_000, 16)), u0=u0), np.float64)
    np.testing.assert_allclose(chain.areas @ u, poured, rtol=1e-5)
    assert u[3].min() > 0.001  # it has spread
    if n == 12:  # in plain float32 it is not
        u = np.asarray(simulate(chain, jnp.zeros((100_000, 16)), u0=u0, method="euler"), float)
        assert np.abs(chain.areas @ u / poured - 1).max() > 5e-5


def test_impulse_response_of_the_reference_chain():
    # FACTS: C_k = 2^(k-1), g = 2^(-k-2), dt = 1, leak on, m = 12
    chain = Chain(12, 0.125, gated=False)
    impulse = jnp.zeros(65_537).at[0].set(1.0)
    for method, tolerance in (("euler", 2e-4), ("multirate", 5e-3)):
        recorded = simulate(chain, impulse, method=method, record_every=1)[:, 0]
        for age, expected in {
            0: 1.0,
            1: 0.875,
            8: 0.4520,
            64: 0.16608,
            1024: 0.041971,
            65536: 0.0052499,
        }.items():
            assert float(recorded[age]) == pytest.approx(expected, rel=tolerance)


def test_exact_is_the_continuous_solution_for_any_step():
    chain = Chain(6, 0.1, gated=False)
    u0 = jnp.asarray(np.random.default_rng(4).standard_normal((6, 3)), jnp.float32)
    once = simulate(chain, jnp.zeros((1, 3)), u0=u0, dt=5000.0, method="exact")
    often = simulate(chain, jnp.zeros((500, 3)), u0=u0, dt=10.0, method="exact")
    finely = simulate(chain, jnp.zeros((50_000, 3)), u0=u0, dt=0.1, method="euler")
    np.testing.assert_allclose(once, often, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(once, finely, rtol=3e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["euler", "exact"])
def test_gates_agree_with_the_oracle(method):
    dw = np.random.default_rng(5).standard_normal((2000, 8))
    u = simulate(Chain(5, 0.01), jnp.asarray(dw, jnp.float32), method=method)
    reference = euler(5, 0.01, dw, gated=True)
    ungated = euler(5, 0.01, dw)
    assert relative_rms(u - reference, reference).max() < 2e-2
    assert relative_rms(ungated - reference, reference).max() > 5e-2


def test_recording():
    chain = Chain(7, 0.1)
    dw = jax.random.normal(jax.random.key(0), (100, 3))
    recorded = simulate(chain, dw, record_every=8)
    assert recorded.shape == (12, 7, 3)
    np.testing.assert_array_equal(recorded[4], simulate(chain, dw[:40]))


def test_shapes_dtypes_and_float64():
    assert simulate(Chain(3, 0.1), jnp.zeros(5)).shape == (3,)
    assert simulate(Chain(3, 0.1), jnp.zeros((5, 2, 4))).shape == (3, 2, 4)
    assert simulate(Chain(3, 0.1), jnp.zeros((0, 2))).shape == (3, 2)
    half = jnp.full((2000,), 0.01, jnp.bfloat16)
    u = simulate(Chain(8, 0.01, gated=False), half)
    assert u.dtype == jnp.float32
    assert float(u[7]) > 0
    with jax.enable_x64(True):
        dw = np.random.default_rng(6).standard_normal((300, 2))
        u = simulate(Chain(6, 0.05, gated=False), dw, method="euler")
        assert u.dtype == jnp.float64
        np.testing.assert_allclose(u, euler(6, 0.05, dw), rtol=1e-11)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dw": jnp.zeros(3, jnp.int32)}, TypeError, "dw has dtype int32"),
        ({"dw": jnp.zeros(())}, ValueError, "dw is a scalar"),
        ({"u0": jnp.zeros((3, 1))}, ValueError, r"u0 has shape \(3, 1\).*need \(4,\)"),
        ({"dt": 11.0}, ValueError, r"dt \* g12 = 1.1.*at most 1"),
        ({"method": "rk4"}, ValueError, "method='rk4'"),
        ({"record_every": 0}, ValueError, "record_every=0"),
        ({"method": "exact", "flow": 2.0}, ValueError, "flow: method='exact'"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        simulate(Chain(4, 0.1), **{"dw": jnp.zeros(3), **arguments})
