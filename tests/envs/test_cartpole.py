import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bennafusi.envs.cartpole import CartPole
from bennafusi.envs.control import NOISE, ControlState

STATES = 10_000


def at(values):
    values = jnp.asarray(values, jnp.float32)
    each = values.shape[:-1]
    return ControlState(values, jnp.ones(each, jnp.int32), jnp.zeros(each, jnp.int32))


def random_states():
    """Beyond the bounds of an episode, so that both ways of failing are among them."""
    widest = np.array([2.5, 3.0, 0.22, 3.5])
    states = np.random.default_rng(0).uniform(-widest, widest, (STATES, 4))
    return states.astype(np.float32)


def gymnasium_steps(states, action, **changes):
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    for name, value in changes.items():
        assert hasattr(env, name)
        setattr(env, name, value)
    seen = []
    for state in states.astype(np.float64):
        env.state, env.steps_beyond_terminated = state, None
        _, reward, terminated, _, _ = env.step(action)
        seen.append((env.state, reward, terminated))
    return map(np.array, zip(*seen, strict=True))


def our_steps(task, states, action):
    move = jax.jit(jax.vmap(lambda state: task.step(state, jnp.int32(action), jnp.zeros(NOISE))))
    after, reward, terminated, truncated = move(at(states))
    assert not truncated.any()
    return np.asarray(after.values), np.asarray(reward), np.asarray(terminated)


@pytest.mark.parametrize("action", [0, 1])
@pytest.mark.parametrize(
    ("task", "changes"),
    [
        (CartPole(), {}),
        (CartPole(half_length=1.0), {"length": 1.0, "polemass_length": 0.1}),
    ],
    ids=["Cart-Pole", "Cart-PoleLong"],
)
def test_every_step_agrees_with_gymnasium(task, changes, action):
    states = random_states()
    expected, expected_reward, expected_terminated = gymnasium_steps(states, action, **changes)
    values, reward, terminated = our_steps(task, states, action)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(reward, expected_reward)
    np.testing.assert_array_equal(terminated, expected_terminated)
    assert 0.05 < terminated.mean() < 0.95
    beyond_x, beyond_angle = abs(values[:, 0]) > 2.4, abs(values[:, 2]) > np.radians(12)
    assert (beyond_x & ~beyond_angle).any()
    assert (beyond_angle & ~beyond_x).any()


def test_a_pole_mass_length_that_was_not_recomputed_would_be_noticed():
    """The comparison above can tell a real Cart-PoleLong from one that changed ``length`` alone."""
    states = random_states()
    forgetful, _, _ = gymnasium_steps(states, 1, length=1.0)
    values, _, _ = our_steps(CartPole(half_length=1.0), states, 1)
    error = abs(values - forgetful)
    assert np.median(error[:, 1]) > 100 * 1e-5
    assert error[:, 3].max() > 100 * 1e-5
    assert CartPole(half_length=1.0).pole_mass_length == pytest.approx(0.1)


def test_an_episode_agrees_with_gymnasium_to_its_end():
    env = gymnasium.make("CartPole-v1").unwrapped
    start, _ = env.reset(seed=3)
    env.state = start.astype(np.float64)
    task, state, move = CartPole(), at(start), jax.jit(CartPole().step)
    terminated, steps = False, 0
    while not terminated:
        action = int(steps % 3 > 0)
        expected, _, terminated, _, _ = env.step(action)
        state, _, ours, _ = move(state, jnp.int32(action), jnp.zeros(NOISE))
        np.testing.assert_allclose(task.observe(state), expected, atol=1e-5)
        assert bool(ours) == terminated
        steps += 1
    assert steps > 8


def test_starts_are_uniform_around_rest():
    values = np.asarray(
        jax.vmap(CartPole().reset)(jax.random.uniform(jax.random.key(0), (4000, NOISE))).values
    )
    assert values.min() >= -0.05
    assert values.max() < 0.05
    # four standard errors of the mean, and of the variance, of a uniform distribution
    assert abs(values.mean(0)).max() < 4 * 0.1 / np.sqrt(12 * 4000)
    np.testing.assert_allclose(values.var(0), 0.01 / 12, rtol=4 * np.sqrt(0.8 / 4000))
    assert abs(np.corrcoef(values.T) - np.eye(4)).max() < 4 / np.sqrt(4000)


def test_the_network_sees_scaled_values():
    np.testing.assert_allclose(
        CartPole().features(at([0.75, -1.5, 0.07, 0.6])), [1, -2, 1, 2], rtol=1e-6
    )


numbers = st.floats(-4, 4, width=32, allow_subnormal=False)


@given(st.tuples(numbers, numbers, numbers, numbers), st.sampled_from([0.5, 1.0, 3.0]))
def test_left_and_right_are_mirror_images(values, half_length):
    task = CartPole(half_length=half_length)
    values = np.array(values, np.float32)
    right, _, fell, _ = task.step(at(values), jnp.int32(1), jnp.zeros(NOISE))
    left, _, fell_too, _ = task.step(at(-values), jnp.int32(0), jnp.zeros(NOISE))
    np.testing.assert_allclose(right.values, -left.values, rtol=1e-6, atol=1e-6)
    assert bool(fell) == bool(fell_too)


def colour_at(picture, x, y):
    return picture[round(y), round(x)].tolist()


def test_pictures_show_cart_pole_and_bounds():
    sky, blue, yellow, red = [246, 244, 238], [37, 99, 175], [240, 180, 41], [200, 62, 62]
    short, long = CartPole(), CartPole(half_length=1.0)
    picture = short.draw(at([1, 0, 0, 0]))
    assert picture.shape == (360, 640, 3)
    assert picture.dtype == np.uint8
    assert colour_at(picture, 320 + 120 + 20, 275) == blue
    assert colour_at(picture, 320 + 120, 200) == yellow
    assert colour_at(picture, 320 - 288, 310) == red
    assert colour_at(picture, 320 + 287, 310) == red
    # one metre of pole above the axle, or two
    above_one_metre = 264 - 130
    assert colour_at(picture, 440, above_one_metre) == sky
    assert colour_at(long.draw(at([1, 0, 0, 0])), 440, above_one_metre) == yellow
    assert colour_at(CartPole(half_length=20).draw(at([0, 0, 0, 0])), 320, 100) == yellow
    # positive angles lean to the right
    tip = 320 + 115 * np.sin(0.2), 264 - 115 * np.cos(0.2)
    assert colour_at(short.draw(at([0, 0, 0.2, 0])), *tip) == yellow
    assert colour_at(short.draw(at([0, 0, -0.2, 0])), *tip) != yellow


def test_text_shows_where_the_cart_is_and_how_the_pole_leans():
    task = CartPole()
    line = task.text(at([-2.4, 0, -0.1, 0]))
    assert line.startswith("|[\\]---")
    assert "x -2.40 m, angle -5.7 degrees" in line
    assert "---[|]|" in task.text(at([9, 0, 0, 0]))
    assert len(line) == len(task.text(at([1.3, 0, 0.1, 0])))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"half_length": 0}, ValueError, r"half_length=0.0: choose 0.001 to 1000 metres"),
        ({"half_length": -1.0}, ValueError, r"half_length=-1.0: choose"),
        ({"half_length": float("nan")}, ValueError, "half_length=nan: must be finite"),
        ({"half_length": "long"}, TypeError, "half_length='long': must be a number, not str"),
        ({"max_steps": 0}, ValueError, "max_steps=0: choose a whole number from 1"),
        ({"max_steps": 1.5}, TypeError, "max_steps=1.5: must be a whole number"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        CartPole(**settings)
