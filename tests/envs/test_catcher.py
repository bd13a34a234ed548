from functools import cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bennafusi.envs.catcher import Catcher
from bennafusi.envs.control import NOISE, ControlState
from bennafusi.envs.task import draw_chance

TRACES = Path(__file__).parents[1] / "data" / "catcher_traces.npz"
ORIGINAL = {
    "lives1": Catcher(clip=False, start=25),
    "lives3": Catcher(lives=3, no_op=True, clip=False, start=25),
}
COLUMNS, ROWS = np.arange(8, 53, 4), -np.arange(4, 29, 4)
every_set = pytest.mark.parametrize("name", ORIGINAL)


@cache
def trace(name):
    with np.load(TRACES, allow_pickle=False) as file:
        part = {key.removeprefix(f"{name}_"): file[key] for key in file if key.startswith(name)}
    for key in ("state", "next_state"):
        whole = part[f"{key}_whole"].astype(np.float32)
        velocity = part[f"{key}_velocity"]
        part[key] = np.stack([whole[:, 0], velocity, whole[:, 1], whole[:, 2]], axis=1)
    part["first"] = np.diff(part["episode"], prepend=-1) != 0
    return part


def noise_for(fruit_x, fruit_y):
    """The noise from which a fruit begins here."""
    noise = np.zeros((len(fruit_x), NOISE), np.float32)
    noise[:, 0] = ((fruit_x - 8) / 4 + 0.5) / len(COLUMNS)
    noise[:, 1] = ((-fruit_y - 4) / 4 + 0.5) / len(ROWS)
    return jnp.asarray(noise)


def at(fruit_x=30, velocity=0.0, x=25, fruit_y=0, lives=1, steps=0):
    values = jnp.array([fruit_x, velocity, x, fruit_y], jnp.float32)
    return ControlState(values, jnp.int32(lives), jnp.int32(steps))


def moved(task, state, action=0):
    after, reward, terminated, truncated = task.step(state, jnp.int32(action), jnp.zeros(NOISE))
    return after, float(reward), bool(terminated), bool(truncated)


@every_set
def test_every_recorded_step_of_the_original_game(name):
    seen, task = trace(name), ORIGINAL[name]
    rows = len(seen["state"])
    assert rows == {"lives1": 15_628, "lives3": 25_081}[name]
    state = ControlState(
        jnp.asarray(seen["state"]),
        jnp.asarray(seen["lives_before"], jnp.int32),
        jnp.zeros(rows, jnp.int32),
    )
    noise = jax.random.uniform(jax.random.key(0), (rows, NOISE))
    action = jnp.asarray(seen["action"], jnp.int32)
    after, reward, over, _ = jax.jit(jax.vmap(task.step))(state, action, noise)
    values, expected = np.asarray(after.values), seen["next_state"]
    np.testing.assert_array_equal(values[:, 2], expected[:, 2])
    np.testing.assert_allclose(values[:, 1], expected[:, 1], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(reward, seen["reward"])
    np.testing.assert_array_equal(over, seen["over"])
    within = ~seen["first"][1:]
    np.testing.assert_array_equal(
        np.asarray(after.lives)[:-1][within], seen["lives_before"][1:][within]
    )
    # a fruit stays the same until it is caught or missed; where the next begins is chance
    new = seen["reward"] != 0
    np.testing.assert_array_equal(values[~new][:, [0, 3]], expected[~new][:, [0, 3]])
    for fruit in (values[new], expected[new]):
        assert set(fruit[:, 0]) == set(COLUMNS)
        assert set(fruit[:, 3]) == set(np.trunc(ROWS + 2.0267))


@every_set
def test_whole_recorded_episodes_from_their_first_state_on(name):
    """Nothing is handed over but the actions and where new fruit begins."""
    seen, task = trace(name), ORIGINAL[name]
    first = seen["state"][seen["first"]]
    begun = jax.vmap(task.reset)(noise_for(first[:, 0], first[:, 3]))
    np.testing.assert_array_equal(begun.values, first)

    new = seen["reward"] != 0
    began = np.where(new[:, None], seen["next_state"] - [0, 0, 0, 3], [8, 0, 0, -4])
    begin = jax.tree.map(lambda leaf: leaf[np.cumsum(seen["first"]) - 1], begun)

    def step(state, now):
        is_first, start, action, noise = now
        state = jax.tree.map(lambda a, b: jnp.where(is_first, a, b), start, state)
        state, reward, over, _ = task.step(state, action, noise)
        return state, (state.values, reward, over)

    rows = (
        jnp.asarray(seen["first"]),
        begin,
        jnp.asarray(seen["action"], jnp.int32),
        noise_for(began[:, 0], began[:, 3]),
    )
    values, reward, over = map(np.asarray, jax.lax.scan(step, at(), rows)[1])
    np.testing.assert_array_equal(values[:, [0, 2, 3]], seen["next_state"][:, [0, 2, 3]])
    np.testing.assert_allclose(values[:, 1], seen["next_state"][:, 1], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(reward, seen["reward"])
    np.testing.assert_array_equal(over, seen["over"])


def track(values, chance):
    """Push towards where the fruit will land, ahead of the paddle's own slide."""
    return (values[2] + 4 * values[1] < values[0]).astype(jnp.int32)


def press_any(values, chance):
    return (chance < 0.5).astype(jnp.int32)


@partial(jax.jit, static_argnums=(0, 1))
def play(task, policy, keys):
    """The return and the frames of an episode per key."""

    def step(carry, key):
        state, total, frames, done = carry
        noise = jax.random.uniform(key, (NOISE,))  # the task leaves the last number alone
        state, reward, *ends = task.step(state, policy(state.values, noise[-1]), noise)
        total, frames = jnp.where(done, total, total + reward), frames + (~done).astype(jnp.int32)
        return (state, total, frames, done | ends[0] | ends[1]), None

    def episode(key):
        begin, run = jax.random.split(key)
        carry = task.reset(draw_chance(task, begin)), jnp.float32(0), jnp.int32(0), jnp.bool(False)
        (_, total, frames, _), _ = jax.lax.scan(step, carry, jax.random.split(run, task.max_steps))
        return total, frames

    return jax.vmap(episode)(keys)


@pytest.mark.parametrize(
    ("task", "policy", "expected", "tolerance", "expected_frames"),
    [
        (Catcher(), track, 14.28, 0.03, 500),
        (Catcher(rounding=True), track, 13.37, 0.03, 500),
        (Catcher(), press_any, -0.55, 0.03, 54),
    ],
    ids=["perfect", "perfect with rounding", "random"],
)
def test_scores_of_perfect_and_of_random_play(task, policy, expected, tolerance, expected_frames):
    """Known from the original game to ``tolerance``; ours has a standard error besides."""
    count = 4000
    total, frames = map(np.asarray, play(task, policy, jax.random.split(jax.random.key(1), count)))
    error = total.std() / np.sqrt(count)
    assert abs(total.mean() - expected) < tolerance + 3 * error
    frame_error = frames.std() / np.sqrt(count)
    assert abs(frames.mean() - expected_frames) <= 0.02 * expected_frames + 3 * frame_error
    if policy is track:
        assert set(total) <= {12, 13, 14, 15}
        assert (frames == 500).all()


def test_new_fruit_is_uniform():
    chances = jax.random.uniform(jax.random.key(0), (8400, NOISE))
    values = np.asarray(jax.vmap(Catcher().reset)(chances).values)
    _, counts = np.unique(values[:, [0, 3]], axis=0, return_counts=True)
    assert len(counts) == 12 * 7
    # chi-square with 83 degrees of freedom: mean 83, s.d. 13
    assert ((counts - 100) ** 2 / 100).sum() < 83 + 4 * 13
    np.testing.assert_array_equal(np.unique(values[:, 1:3], axis=0), [[0, 26]])


def test_the_largest_and_the_least_noise_stay_on_the_field():
    most = Catcher().reset(jnp.full(NOISE, np.nextafter(np.float32(1), np.float32(0)))).values
    assert most.tolist() == [52, 0, 26, -28]
    assert Catcher().reset(jnp.zeros(NOISE)).values.tolist() == [8, 0, 26, -4]


@pytest.mark.parametrize(("gap", "caught"), [(-9, 0), (-8, 1), (0, 1), (7, 1), (8, 0)])
def test_paddle_and_fruit_must_overlap_sideways(gap, caught):
    assert moved(Catcher(), at(fruit_x=24, x=24 + gap, fruit_y=58))[1] == caught


@pytest.mark.parametrize(("fruit_y", "caught"), [(55, 0), (56, 1), (61, 1), (62, 0), (63, 0)])
def test_paddle_and_fruit_must_overlap_upright(fruit_y, caught):
    assert moved(Catcher(), at(fruit_x=24, x=24, fruit_y=fruit_y))[1] == caught


def test_a_miss_counts_in_the_frame_in_which_the_game_notices():
    after, reward, terminated, _ = moved(Catcher(), at(fruit_y=63, x=0))
    assert (float(after.values[3]), reward, terminated) == (65, 0, False)
    after, reward, terminated, truncated = moved(Catcher(), after)
    assert (reward, terminated, truncated) == (-1, True, False)
    assert after.values[jnp.array([0, 3])].tolist() == [8, -1]  # already the next fruit


@pytest.mark.parametrize(("clip", "rewards"), [(True, [-1, -1]), (False, [-1, -6])])
def test_the_last_miss_costs_more_unless_clipped(clip, rewards):
    task = Catcher(lives=2, clip=clip)
    first, reward, terminated, _ = moved(task, at(fruit_y=64, x=0, lives=2))
    assert (reward, terminated, int(first.lives)) == (rewards[0], False, 1)
    _, reward, terminated, _ = moved(task, at(fruit_y=65, x=0, lives=1))
    assert (reward, terminated) == (rewards[1], True)


def test_losing_in_the_last_frame_is_an_end_and_not_a_time_out():
    last = at(fruit_y=65, x=0, steps=499)
    assert moved(Catcher(), last)[2:] == (True, False)
    assert moved(Catcher(), last._replace(steps=jnp.int32(498)))[2:] == (True, False)


@pytest.mark.parametrize(("x", "velocity", "action"), [(1, -3.0, 0), (50, 3.0, 1)])
def test_walls_stop_the_paddle(x, velocity, action):
    after, *_ = moved(Catcher(), at(x=x, velocity=velocity), action)
    assert after.values[jnp.array([1, 2])].tolist() == [0, 0 if action == 0 else 51]


def test_rounding_instead_of_cutting():
    """x + 0.9 * 1.344 = 26.2; from velocity 0.4 it is 26.57. Fruit at -12 falls to -9.97."""
    for rounding, x, y in ((False, 26, -9), (True, 27, -10)):
        after, *_ = moved(Catcher(rounding=rounding), at(x=25, velocity=0.4, fruit_y=-12), 1)
        assert after.values[jnp.array([2, 3])].tolist() == [x, y]


def test_no_key():
    after, *_ = moved(Catcher(no_op=True), at(velocity=2.0), 2)
    assert float(after.values[1]) == pytest.approx(1.8)
    assert (Catcher().actions, Catcher(no_op=True).actions) == (2, 3)


@partial(jax.jit, static_argnums=0)
def wander(task, noise, to_the_right):
    def step(state, now):
        other = jnp.where(now[3] < 0.3, task.actions - 1, 0)  # no key, if that is an action
        action = jnp.where(now[2] < to_the_right, 1, other).astype(jnp.int32)
        state, reward, *_ = task.step(state, action, now)
        return state, (state, reward)

    return jax.lax.scan(step, task.reset(noise[0]), noise[1:])[1]


@given(
    st.sampled_from(
        [
            Catcher(),
            Catcher(rounding=True, start=0),
            Catcher(lives=3, no_op=True, clip=False, start=51),
        ]
    ),
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)
def test_everything_stays_where_it_can_be(task, seed, to_the_right):
    noise = np.random.default_rng(seed).random((301, NOISE), np.float32)
    states, rewards = wander(task, noise, to_the_right)
    low, high = task.observations
    values = np.asarray(states.values)
    assert (values >= low).all()
    assert (values <= high).all()
    np.testing.assert_array_equal(values[:, [0, 2, 3]], np.trunc(values[:, [0, 2, 3]]))
    assert set(values[:, 0]) <= set(COLUMNS)
    assert set(np.asarray(rewards)) <= ({-1, 0, 1} if task.clip else {-6, -1, 0, 1})
    assert (np.diff(np.asarray(states.lives)) <= 0).all()


def test_the_network_sees_normalised_values():
    centre = at(29.887, 0.1593, 22.539, 24.738)
    np.testing.assert_allclose(Catcher().features(centre), np.zeros(4), atol=1e-6)
    far = at(29.887 + 13.895, 0.1593 + 2.0409, 22.539 + 17.417, 24.738 + 23.385)
    np.testing.assert_allclose(Catcher().features(far), np.ones(4), rtol=1e-5)


def test_pictures_show_the_true_rectangles():
    picture = Catcher().draw(at(fruit_x=40, x=0, fruit_y=-20))
    assert picture.dtype == np.uint8
    red = np.argwhere((picture == [200, 62, 62]).all(-1)) / 6 - [32, 8]
    blue = np.argwhere((picture == [37, 99, 175]).all(-1)) / 6 - [32, 8]
    for shape, low, high in ((red, [-22, 38], [-18, 42]), (blue, [57, -6], [60, 7])):
        np.testing.assert_allclose(shape.min(0), low)
        np.testing.assert_allclose(shape.max(0) + 1 / 6, high)


def test_text_shows_fruit_and_paddle():
    rows = Catcher().text(at(fruit_x=24, x=20, fruit_y=30)).splitlines()
    assert len(rows) == 16
    assert rows[7] == "|" + " " * 11 + "oo" + " " * 19 + "|"
    assert rows[14] == "|" + " " * 7 + "=======" + " " * 18 + "|"
    assert Catcher().text(at(x=0, fruit_y=65)).splitlines()[14].startswith("|====  ")
    assert {len(row) for row in rows} == {34}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"lives": 0}, ValueError, "lives=0: choose a whole number from 1"),
        ({"lives": True}, TypeError, "lives=True: must be a whole number"),
        ({"max_steps": 0}, ValueError, "max_steps=0: choose a whole number from 1"),
        ({"start": -1}, ValueError, "start=-1: choose a whole number from 0 to 51"),
        ({"start": 52}, ValueError, "start=52: choose a whole number from 0 to 51"),
        ({"start": 2.0}, TypeError, "start=2.0: must be a whole number, not float"),
        ({"no_op": 1}, TypeError, "no_op=1: must be True or False"),
        ({"rounding": "yes"}, TypeError, "rounding='yes': must be True or False"),
        ({"clip": None}, TypeError, "clip=None: must be True or False"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        Catcher(**settings)
