import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from bennafusi.agents.adam import adam
from tests.promotion import lenient

STEPS = 300


def gradients(dtype):
    """Of very different sizes, some of them always 0, some of them rare; float32 holds them."""
    random = np.random.default_rng(0)
    sizes = 10.0 ** np.array([-9.0, -6.0, -3.0, 0.0, 3.0])
    plain = random.standard_normal((STEPS, 5)) * sizes
    rare = random.standard_normal((STEPS, 2, 2)) * (random.random((STEPS, 2, 2)) < 0.05)
    rare[:, 0, 0] = 0.0
    return {name: x.astype(np.float32).astype(dtype) for name, x in (("w", plain), ("b", rare))}


def begin(dtype):
    return {"w": np.linspace(-1, 1, 5).astype(dtype), "b": np.ones((2, 2), dtype)}


def run(optimizer, dtype, **extra):
    """The optimiser's state after all steps, and the parameters after each."""

    @jax.jit
    def all_steps(params, grads):
        def body(carry, g):
            params, state = carry
            updates, state = optimizer.update(g, state, params, **extra)
            params = optax.apply_updates(params, updates)
            return (params, state), params

        (_, state), history = jax.lax.scan(body, (params, optimizer.init(params)), grads)
        return state, history

    return all_steps(*jax.tree.map(jnp.asarray, (begin(dtype), gradients(dtype))))


def torch_adam(rate, **settings):
    """The same by torch, in float64: parameters after every step, and both moments at the end."""
    params = {name: torch.tensor(x) for name, x in begin(np.float64).items()}
    optimizer = torch.optim.Adam(params.values(), lr=rate, **settings)
    grads, history = gradients(np.float64), {name: [] for name in params}
    for step in range(STEPS):
        for name, p in params.items():
            p.grad = torch.tensor(grads[name][step])
        optimizer.step()
        for name, p in params.items():
            history[name].append(p.numpy().copy())
    moments = [
        {name: optimizer.state[p][kind].numpy() for name, p in params.items()}
        for kind in ("exp_avg", "exp_avg_sq")
    ]
    return {name: np.array(x) for name, x in history.items()}, *moments


def close(ours, theirs, **tolerance):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **tolerance), ours, theirs)


@pytest.mark.parametrize("settings", [(0.9, 0.999, 1e-8), (0.5, 0.9, 1e-3)])
def test_equals_torch_in_float64(settings):
    history, mean, square = torch_adam(0.01, betas=settings[:2], eps=settings[2])
    with jax.enable_x64(True):
        state, ours = run(adam(*settings), np.float64, learning_rate=jnp.float64(0.01))
    close(ours, history, rtol=1e-12, atol=1e-13)
    close(state.mu, mean, rtol=1e-10, atol=1e-25)
    close(state.nu, square, rtol=1e-10, atol=1e-35)
    assert int(state.count) == STEPS


def test_equals_optax_in_float64():
    with jax.enable_x64(True):
        state, ours = run(adam(), np.float64, learning_rate=jnp.float64(0.01))
        theirs_state, theirs = run(lenient(optax.adam(0.01)), np.float64)
    close(ours, theirs, rtol=1e-12, atol=1e-13)
    close(state.mu, theirs_state[0].mu, rtol=1e-10, atol=1e-25)
    close(state.nu, theirs_state[0].nu, rtol=1e-10, atol=1e-35)


def test_float32_is_close_to_float64():
    # 1 - 0.999 has four digits left in float32, so early steps are off by up to 3e-5 of a rate.
    history, _, _ = torch_adam(0.01)
    _, ours = run(adam(), np.float32, learning_rate=jnp.float32(0.01))
    close(ours, history, rtol=0, atol=1e-5)


def test_the_first_step_is_the_rate_whatever_the_gradient():
    # m / (1 - 0.9) = g and v / (1 - 0.999) = g^2, so the step is rate * g / (|g| + 1e-8).
    grads = jnp.array([1e4, -2.0, 1e-8, 0.0])
    optimizer = adam()
    updates, state = optimizer.update(grads, optimizer.init(grads), learning_rate=jnp.float32(0.5))
    np.testing.assert_allclose(updates, [-0.5, 0.5, -0.25, 0.0], rtol=1e-4)
    np.testing.assert_allclose(state.mu, 0.1 * grads, rtol=1e-6)
    np.testing.assert_allclose(state.nu, 0.001 * grads**2, rtol=1e-4)


def test_rates_may_differ_within_a_batch_and_change_in_time():
    optimizer, rates = adam(), jnp.array([0.1, 0.2, 0.0])

    def two_steps(rate):
        w, state = jnp.ones(2), optimizer.init(jnp.ones(2))
        first, state = optimizer.update(jnp.array([1.0, -3.0]), state, w, learning_rate=rate)
        later, _ = optimizer.update(jnp.array([2.0, 1.0]), state, w, learning_rate=0.5 * rate)
        return first, later

    first, later = jax.vmap(two_steps)(rates)
    np.testing.assert_allclose(first, rates[:, None] * jnp.array([[-1.0, 1.0]]), rtol=1e-4)
    for i, rate in enumerate(rates):
        np.testing.assert_allclose(later[i], two_steps(rate)[1], rtol=1e-6)
    # by hand, second element: m = -0.27 + 0.1 over 0.19, v = 0.008991 + 0.001 over 0.001999
    mean, square = (-0.27 + 0.1) / 0.19, (0.008991 + 0.001) / 0.001999
    np.testing.assert_allclose(later[0][1], -0.05 * mean / np.sqrt(square), rtol=1e-4)


def test_unknown_arguments_pass_and_the_rate_is_required():
    optimizer, w = adam(), jnp.ones(2)
    optimizer.update(w, optimizer.init(w), w, learning_rate=jnp.float32(1), nobody_knows_me=1)
    with pytest.raises(TypeError, match="learning_rate"):
        optimizer.update(w, optimizer.init(w), w)
