"""Tasks of gymnax, held against the original games and Gymnasium's control tasks."""

import importlib.metadata
from functools import cache, partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.envs import gymnax_tasks, named
from bennafusi.envs.gym import TaskEnv
from bennafusi.envs.gymnax_tasks import GymnaxTask
from bennafusi.envs.padded import alike

STEPS = 12_000
FUZZED = 0.1  # of the steps begin in a state that random play would hardly come to


class Counting:
    """A generator that says whether it was asked."""

    def __init__(self, seed):
        self.source, self.asked = np.random.RandomState(seed), 0

    def __getattr__(self, name):
        self.asked += 1
        return getattr(self.source, name)


def breakout(game):
    names = ("ball_y", "ball_x", "ball_dir", "pos", "strike", "last_y", "last_x")
    return {name: getattr(game, name) for name in names} | {"brick_map": game.brick_map.copy()}


def space_invaders(game):
    whole = ("pos", "alien_dir", "enemy_move_interval", "alien_move_timer", "alien_shot_timer")
    maps = ("f_bullet_map", "e_bullet_map", "alien_map")
    found = {name: getattr(game, name) for name in (*whole, "ramp_index", "shot_timer", "ramping")}
    return found | {name: getattr(game, name).copy() for name in maps}


def asterix(game):
    names = ("player_x", "player_y", "shot_timer", "spawn_speed", "spawn_timer", "move_speed")
    names += ("move_timer", "ramp_timer", "ramp_index")
    rows = [[0] * 5 if one is None else [*map(int, one), 1] for one in game.entities]
    return {name: getattr(game, name) for name in names} | {"entities": np.array(rows)}


def freeway(game):
    return {"pos": game.pos, "cars": np.array(game.cars), "move_timer": game.move_timer}


def fuzz(name, game, rng):
    """Put some of the game where random play would hardly bring it."""
    if name == "breakout":
        game.brick_map[1:4] = rng.random((3, 10)) < rng.choice([0.0, 0.1, 0.5])
        game.pos = int(rng.integers(10))
    if name == "space_invaders":
        game.alien_map = np.roll(game.alien_map, int(rng.integers(3)), axis=0)
        game.alien_map *= rng.random((10, 10)) < rng.choice([0.1, 0.8])
        game.alien_map[0, 4] = 1  # one is always left
        game.enemy_move_interval = int(rng.integers(6, 13))
    if name == "asterix":
        game.player_x, game.player_y = int(rng.integers(10)), int(rng.integers(1, 9))
    if name == "freeway":
        game.pos = int(rng.integers(1, 10))


GAMES = {
    "breakout": ("Breakout-MinAtar", breakout),
    "space_invaders": ("SpaceInvaders-MinAtar", space_invaders),
    "asterix": ("Asterix-MinAtar", asterix),
    "freeway": ("Freeway-MinAtar", freeway),
}


@cache
def played(name):
    """Steps of the original game: where each began, the action, and all that came of it."""
    from minatar import Environment

    rng, chance = np.random.default_rng(0), Counting(1)
    env = Environment(name, sticky_action_prob=0.0)
    env.env.random, fields = chance, GAMES[name][1]
    env.reset()
    rows = []
    for _ in range(STEPS):
        if rng.random() < FUZZED:
            fuzz(name, env.env, rng)
        action = int(rng.integers(6))
        before, asked = fields(env.env), chance.asked
        reward, over = env.env.act(action)
        rows.append((before, action, fields(env.env), env.state(), reward, over, chance.asked))
        rows[-1] = (*rows[-1][:-1], chance.asked > asked)
        if over:
            env.reset()
    return [stacked(column) for column in zip(*rows, strict=True)]


def stacked(column):
    if isinstance(column[0], dict):
        return {name: np.stack([row[name] for row in column]) for name in column[0]}
    return np.array(column)


@cache
def compiled(name):
    """The start of an episode, and as many steps at once as are recorded: one program a game."""
    task = GymnaxTask(name)
    start = jax.jit(task.reset)(jax.random.key(0))

    def step(env, action, key):
        state, *rest = task.step(start._replace(env=env), action, key)
        return state.env, task.observe(state), *rest

    def all_steps(fields, action, seed):  # the original's numbers in the place of gymnax's own
        given = {k: jnp.asarray(v, getattr(start.env, k).dtype) for k, v in fields.items()}
        axes = dict.fromkeys(start.env.__dataclass_fields__) | dict.fromkeys(fields, 0)
        keys = jax.random.split(jax.random.key(seed), STEPS)
        every = jax.vmap(step, (start.env.replace(**axes), 0, 0))
        return every(start.env.replace(**given), action, keys)

    program = jax.jit(all_steps)
    return lambda fields, action, seed=2: jax.tree.map(
        np.asarray, program(fields, jnp.asarray(action, jnp.int32), seed)
    )


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_the_original_step_by_step(name):
    before, action, after, seen, reward, over, drawn = played(name)
    state, ours, gained, terminated, truncated = compiled(GAMES[name][0])(before, action)
    kept = ~drawn
    assert kept.sum() >= 10_000
    assert np.array_equal(gained[kept], reward[kept].astype(np.float32))
    assert np.array_equal(ours[kept], seen[kept])
    assert not truncated.any()
    if name == "freeway":  # has no end but that of time, which is not ours to compare here
        assert not terminated.any()
    else:
        assert np.array_equal(terminated[kept], over[kept])
        assert over.sum() > 50
    for field, values in after.items():
        mine, theirs = getattr(state, field)[kept], values[kept]
        if field == "ramp_timer":  # counts on in gymnax when there is nothing left to ramp
            mine, theirs = (x[(after["spawn_speed"] > 1)[kept]] for x in (mine, theirs))
        assert np.array_equal(mine, theirs.astype(mine.dtype)), field
    assert gained.max() > 0


def test_what_comes_into_asterix_is_drawn_as_in_the_original():
    before, action, *_ = played("asterix")
    before = {name: np.broadcast_to(rows[:1], rows.shape).copy() for name, rows in before.items()}
    before["spawn_timer"][:] = 0
    state, *_ = compiled("Asterix-MinAtar")(before, np.zeros_like(action), 3)
    assert (state.entities[:, :, 4].sum(1) == 1).all()
    rows = state.entities[np.arange(STEPS), state.entities[:, :, 4].argmax(1)]
    assert abs(rows[:, 2].mean() - 1 / 2) < 0.02  # from the left
    assert abs(rows[:, 3].mean() - 1 / 3) < 0.02  # gold
    counts = np.bincount(rows[:, 1], minlength=9)[1:9]
    assert ((counts - STEPS / 8) ** 2 / (STEPS / 8)).sum() < 24.3  # chi-square of 7, p = 0.001


def test_cars_are_drawn_anew_as_in_the_original_once_the_road_is_crossed():
    before, action, *_ = played("freeway")
    before = {name: np.broadcast_to(rows[:1], rows.shape).copy() for name, rows in before.items()}
    before["pos"][:], before["move_timer"][:] = 1, 0
    state, _, reward, *_ = compiled("Freeway-MinAtar")(before, np.full_like(action, 2), 3)
    assert (reward == 1).all()
    speeds, counts = np.unique(state.cars[:, :, 3], return_counts=True)
    assert speeds.tolist() == [*range(-5, 0), *range(1, 6)]
    expected = 8 * STEPS / 10
    assert ((counts - expected) ** 2 / expected).sum() < 27.9  # chi-square of 9, p = 0.001


@pytest.mark.parametrize("name", ["Acrobot-v1", "MountainCar-v0"])
def test_control_is_that_of_gymnasium(name):
    rng = np.random.default_rng(0)
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    rows = []
    wide = (3, 3, 1, 1) if name == "Acrobot-v1" else (0.55, 0.06)
    for _ in range(2_000):
        if rng.random() < 0.2:
            env.state = rng.uniform(-1, 1, len(wide)) * wide
        before, action = np.array(env.state), int(rng.integers(3))
        seen, reward, terminated, _, _ = env.step(action)
        rows.append((before, action, seen, reward, terminated))
        if terminated:
            env.reset()
    before, action, seen, reward, over = map(np.array, zip(*rows, strict=True))
    task = GymnaxTask(name)
    start = jax.jit(task.reset)(jax.random.key(0))
    fields = {
        "Acrobot-v1": ("joint_angle1", "joint_angle2", "velocity_1", "velocity_2"),
        "MountainCar-v0": ("position", "velocity"),
    }[name]

    def step(values, action):
        env = start.env.replace(**dict(zip(fields, values, strict=True)))
        state, *rest = task.step(start._replace(env=env), action, jax.random.key(0))
        return task.observe(state), *rest

    values = jnp.asarray(before, jnp.float32)
    ours, gained, terminated, _ = jax.jit(jax.vmap(step))(values, jnp.asarray(action, jnp.int32))
    np.testing.assert_allclose(ours, seen, rtol=1e-4, atol=2e-5)
    assert np.mean(np.asarray(terminated) == over) > 0.999  # float32 may differ at the very edge
    same = np.asarray(terminated) == over
    assert np.array_equal(np.asarray(gained)[same], reward[same].astype(np.float32))
    assert over.sum() > 5


def test_an_episode_is_cut_short_and_an_action_may_stick():
    task = GymnaxTask("MountainCar-v0", max_steps=3)
    state, step = jax.jit(task.reset)(jax.random.key(0)), jax.jit(task.step)
    ends = []
    for number in range(3):
        state, _, terminated, truncated = step(state, jnp.int32(0), jax.random.key(number))
        ends.append((bool(terminated), bool(truncated)))
    assert ends == [(False, False), (False, False), (False, True)]
    assert int(state.steps) == 3

    sticky = GymnaxTask("Breakout-MinAtar", sticky=0.25)
    state = jax.jit(sticky.reset)(jax.random.key(0))._replace(action=jnp.int32(1))
    keys = jax.random.split(jax.random.key(3), 2000)
    moved = jax.jit(jax.vmap(lambda key: sticky.step(state, jnp.int32(3), key)[0]))(keys)
    assert abs(np.mean(np.asarray(moved.action) == 1) - 0.25) < 0.04
    assert set(np.asarray(moved.env.pos).tolist()) == {3, 5}


def test_a_state_has_one_type_for_a_loop_and_for_a_file():
    for name in named.GYMNAX:
        task = named.find(name)
        state = jax.eval_shape(task.reset, jax.random.key(0))
        after = jax.eval_shape(task.step, state, jnp.int32(0), jax.random.key(1))[0]
        assert jax.tree.structure(state) == jax.tree.structure(after)
        for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
            assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, False)


def test_tasks_are_made_alike():
    names = ["gymnax/Breakout-MinAtar", "gymnax/Freeway-MinAtar", "gymnax/SpaceInvaders-MinAtar"]
    games = alike([named.find(name) for name in names])
    for game, channels in zip(games, (4, 7, 6), strict=True):
        state = jax.jit(game.task.reset)(jax.random.key(0))
        seen = game.observe(state)
        assert (seen.shape, seen.dtype, game.actions) == ((10, 10, 7), jnp.bool_, 6)
        assert bool(jnp.array_equal(seen[..., :channels], game.task.observe(state)))
        assert not seen[..., channels:].any()
        assert game.observations[0].shape == (10, 10, 7)
    small, large = alike([named.find("cartpole"), named.find("gymnax/Acrobot-v1")])
    assert (small.shape, small.actions, len(small.action_names)) == ((6,), 3, 3)
    state = small.reset(jnp.full(4, 0.5))
    ends = [small.step(state, jnp.int32(a), jnp.zeros(4))[0].values.tolist() for a in (1, 2)]
    assert ends[0] == ends[1]  # an action that the task has not is its last one
    assert large.max_steps == 500
    with pytest.raises(ValueError, match=r"\(10, 10, 4\) and \(6,\) cannot be padded"):
        alike([named.find(names[0]), named.find("gymnax/Acrobot-v1")])


def test_pictures_and_letters():
    game = GymnaxTask("Breakout-MinAtar")
    state = jax.jit(game.reset)(jax.random.key(0))
    picture = game.draw(state)
    assert picture.shape == (240, 240, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) == 4  # ground, paddle, ball, bricks
    assert game.text(state).splitlines()[1] == "4444444444"
    assert game.text(state).splitlines()[9] == "....1....."
    car = GymnaxTask("MountainCar-v0")
    state = car.reset(jax.random.key(0))
    assert car.draw(state).shape == (240, 120, 3)
    assert car.text(state).startswith("[-0.")


def test_it_is_an_environment_for_gymnasium():
    env = TaskEnv(GymnaxTask("Breakout-MinAtar"))
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    assert env.step(np.int64(5))[4] == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gymnax/Brekout-MinAtar", "no 'Brekout-MinAtar'; did you mean 'gymnax/Breakout-MinAtar'"),
        ("gymnax/Foo", "unknown task 'gymnax/Foo': gymnax has no 'Foo'; there is: gymnax/"),
        ("gymnax/Pendulum-v1", "actions are continuous"),
        ("cartpol", "unknown task 'cartpol'; choose from 'cartpole'"),
    ],
)
def test_what_cannot_be_played_is_refused(name, words):
    with pytest.raises(ValueError, match=words):
        named.find(name)


def test_limits_are_refused():
    make = partial(GymnaxTask, "Breakout-MinAtar")
    for change, words in (({"max_steps": 0}, "max_steps=0"), ({"sticky": 1.0}, "sticky=1")):
        with pytest.raises(ValueError, match=words):
            make(**change)
    with pytest.raises(ValueError, match=r"sticky=0\.1 with task 'catcher'"):
        named.find("catcher", sticky=0.1)


def test_a_gymnax_that_is_missing_or_old_is_told(monkeypatch):
    gymnax_tasks._made.cache_clear()
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.0.9")
    with pytest.raises(ValueError, match=r"gymnax 0\.0\.9 is installed.*needs 1\.0\.1"):
        GymnaxTask("Breakout-MinAtar")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(gymnax_tasks.importlib, "import_module", missing)
    with pytest.raises(ValueError, match=r"not there: pip install 'bennafusi\[gymnax\]'"):
        GymnaxTask("Breakout-MinAtar")
    gymnax_tasks._made.cache_clear()
