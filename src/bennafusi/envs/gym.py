"""The only bridge to Gymnasium: any of our tasks as a ``gymnasium.Env``."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from jax import Array

from bennafusi.envs.task import Task, draw_chance

RENDER_MODES = ("rgb_array", "ansi")


class TaskEnv(gymnasium.Env[Any, np.int64]):
    """A task behind Gymnasium's interface.

    Args:
        task: the task.
        render_mode: ``"rgb_array"``, ``"ansi"`` or ``None``.

    Example:
        >>> env = gymnasium.make("bennafusi.envs:bennafusi/Grid-v0", size=4)
        >>> observation, info = env.reset(seed=1)
        >>> env.observation_space
        Discrete(16)
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 15}  # noqa: RUF012

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            known = ", ".join(map(repr, RENDER_MODES))
            raise ValueError(f"render_mode={render_mode!r}: unknown; choose {known} or None")
        self.task, self.render_mode = task, render_mode
        self.action_space = spaces.Discrete(task.actions)
        seen = task.observations
        self.observation_space = (
            spaces.Discrete(seen) if isinstance(seen, int) else spaces.Box(*seen, dtype=np.float32)
        )
        self._state: Any = None
        self._key: Array | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; with a seed, one that can be had again."""
        super().reset(seed=seed, options=options)
        key = jax.random.key(int(self.np_random.integers(2**31)))
        self._state, observation, self._key = _reset(self.task, key)
        return self._seen(observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        if self._key is None:
            raise gymnasium.error.ResetNeeded("step() before reset(): call reset() first")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(
                f"action={action!r}: choose a whole number from 0 to {self.task.actions - 1}"
            )
        self._state, observation, reward, terminated, truncated, self._key = _step(
            self.task, self._state, np.int32(action), self._key
        )
        return self._seen(observation), float(reward), bool(terminated), bool(truncated), {}

    def render(self) -> Any:
        """The state as a picture or in letters; ``None`` without a render mode."""
        if self.render_mode is None:
            return None
        if self._key is None:
            raise gymnasium.error.ResetNeeded("render() before reset(): call reset() first")
        draw = self.task.draw if self.render_mode == "rgb_array" else self.task.text
        return draw(self._state)

    def _seen(self, observation: Array) -> Any:
        discrete = isinstance(self.observation_space, spaces.Discrete)
        return np.int64(observation) if discrete else np.array(observation, np.float32)


@partial(jax.jit, static_argnums=0)
def _reset(task: Task, key: Array) -> tuple[Any, Array, Array]:
    now, later = jax.random.split(key)
    state = task.reset(draw_chance(task, now))
    return state, task.observe(state), later


@partial(jax.jit, static_argnums=0)
def _step(
    task: Task, state: Any, action: Array, key: Array
) -> tuple[Any, Array, Array, Array, Array, Array]:
    now, later = jax.random.split(key)
    state, reward, terminated, truncated = task.step(state, action, draw_chance(task, now))
    return state, task.observe(state), reward, terminated, truncated, later


def make_grid(render_mode: str | None = None, **settings: Any) -> TaskEnv:
    """The paper's grid world; ``settings`` are those of :class:`bennafusi.envs.grid.Grid`."""
    from bennafusi.envs.grid import Grid

    return TaskEnv(Grid(**settings), render_mode)


def make_cartpole(render_mode: str | None = None, **settings: Any) -> TaskEnv:
    """Cart-Pole; ``settings`` are those of :class:`bennafusi.envs.cartpole.CartPole`."""
    from bennafusi.envs.cartpole import CartPole

    return TaskEnv(CartPole(**settings), render_mode)


def make_cartpole_long(render_mode: str | None = None, **settings: Any) -> TaskEnv:
    """Cart-Pole with the paper's longer pole, unless ``settings`` name another length."""
    return make_cartpole(render_mode, **{"half_length": 1.0, **settings})


def make_catcher(render_mode: str | None = None, **settings: Any) -> TaskEnv:
    """Catcher; ``settings`` are those of :class:`bennafusi.envs.catcher.Catcher`."""
    from bennafusi.envs.catcher import Catcher

    return TaskEnv(Catcher(**settings), render_mode)
