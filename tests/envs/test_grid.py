import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.envs.grid import Grid

GRID = Grid()


def walk(grid, cell, goal, actions):
    state = grid.place(cell, goal)
    for action in actions:
        state, reward, terminated, truncated = grid.step(state, jnp.int32(action))
    return int(state.cell), float(reward), bool(terminated), bool(truncated)


@pytest.mark.parametrize(("action", "reached"), [(0, 45), (1, 56), (2, 65), (3, 54), (4, 55)])
def test_moves(action, reached):
    assert walk(GRID, 55, 9, [action]) == (reached, 0.0, False, False)


@pytest.mark.parametrize(("cell", "action"), [(5, 0), (59, 1), (94, 2), (40, 3)])
def test_walls_keep_the_agent_in_place(cell, action):
    assert walk(GRID, cell, 9, [action]) == (cell, 0.0, False, False)


def test_only_picking_up_in_the_goal_is_rewarded_and_ends_the_episode():
    assert walk(GRID, 8, 9, [1]) == (9, 0.0, False, False)
    assert walk(GRID, 8, 9, [1, 4]) == (9, 1.0, True, False)
    assert walk(GRID, 8, 90, [1, 4]) == (9, 0.0, False, False)
    assert walk(GRID, 90, 90, [4]) == (90, 1.0, True, False)


def test_time_runs_out_unless_the_reward_was_found_in_the_last_step():
    grid = Grid(max_steps=2)
    assert walk(grid, 8, 9, [1, 1]) == (9, 0.0, False, True)
    assert walk(grid, 8, 9, [1, 4]) == (9, 1.0, True, False)


def test_goals_are_the_upper_right_and_the_lower_left_corner():
    assert GRID.goals == (9, 90)
    assert int(GRID.reset(jax.random.key(0)).goal) == 9
    assert int(Grid(goal="lower left").reset(jax.random.key(0)).goal) == 90


def test_starts_are_uniform():
    cells = GRID.draw_start(jax.random.key(0), (100_000,))
    counts = np.bincount(np.asarray(cells), minlength=100)
    assert len(counts) == 100
    # chi-square with 99 degrees of freedom: mean 99, s.d. 14
    assert ((counts - 1000) ** 2 / 1000).sum() < 99 + 4 * 14


def test_pictures_show_goal_and_agent():
    picture = GRID.draw(GRID.place(90, 9))
    assert picture.shape == (401, 401, 3)
    assert picture.dtype == np.uint8
    assert picture[20, 380].tolist() == [240, 180, 41]
    assert picture[380, 20].tolist() == [37, 99, 175]
    assert "*" in GRID.text(GRID.place(9, 9))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"size": 1}, ValueError, "size=1: choose a whole number from 2"),
        ({"size": 2.5}, TypeError, "size=2.5: must be a whole number"),
        ({"max_steps": 0}, ValueError, "max_steps=0: choose"),
        ({"goal": "middle"}, ValueError, "goal='middle': unknown corner; choose 'upper right'"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        Grid(**settings)
