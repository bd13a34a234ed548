"""Tasks of gymnax, which is imported when the first of them is made: MinAtar, control and more."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bennafusi.envs.pictures import bars, grid_letters, grid_picture
from bennafusi.envs.task import Bounds
from bennafusi.synapse.numbers import check_shares, check_whole
from bennafusi.text import suggestion

PREFIX = "gymnax/"
MINATAR = "-MinAtar"
# What the six actions of every MinAtar game are called; those that a game has no use for do nothing
MINATAR_ACTIONS = ("none", "left", "up", "right", "down", "fire")
INSTALL = "pip install 'bennafusi[gymnax]'"


class GymnaxState(NamedTuple):
    """Where things are.

    Attributes:
        env: gymnax's own state.
        seen: what is seen of it, which may be random in gymnax.
        action: the last action, int32; 0 before the first one.
        steps: steps taken in this episode, int32.
    """

    env: Any
    seen: Array
    action: Array
    steps: Array


@dataclass(frozen=True)
class GymnaxTask:
    """A task of gymnax as pure functions of (state, action, key).

    ``step`` takes gymnax's inner step, so that no reset is worked out at every one of them. A
    game of MinAtar has all six actions, whatever it can do with them, and is seen as bits.

    Args:
        name: gymnax's own, such as ``"Breakout-MinAtar"``.
        max_steps: steps after which an episode is cut short; gymnax's own number if None.
        sticky: how often the last action is taken in place of the one chosen.

    Example:
        >>> task = GymnaxTask("Breakout-MinAtar", sticky=0.1)
        >>> task.actions, task.observations[0].shape
        (6, (10, 10, 4))
        >>> state = task.reset(jax.random.key(0))
        >>> state, reward, terminated, truncated = task.step(state, jnp.int32(1), jax.random.key(1))
        >>> float(reward), bool(terminated), bool(truncated)
        (0.0, False, False)
    """

    name: str
    max_steps: int | None = None
    sticky: float = 0.0

    def __post_init__(self) -> None:
        made = _made(self.name)
        if self.max_steps is None:
            object.__setattr__(self, "max_steps", int(made.params.max_steps_in_episode))
        check_whole(self, {"max_steps": (1, 2**31 - 1)})
        check_shares(self, "sticky", below_1=True)

    @property
    def _limit(self) -> int:
        assert self.max_steps is not None
        return self.max_steps

    @property
    def actions(self) -> int:
        """Actions are whole numbers below this one."""
        return _made(self.name).actions

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each action does in MinAtar; elsewhere its number."""
        names = MINATAR_ACTIONS if self.name.endswith(MINATAR) else map(str, range(self.actions))
        return tuple(names)

    @property
    def observations(self) -> Bounds:
        """The least and the greatest values of an observation."""
        return _made(self.name).bounds

    @property
    def noise(self) -> None:
        """It takes keys."""
        return

    @cached_property
    def _params(self) -> Any:
        return _made(self.name).params.replace(max_steps_in_episode=self._limit)

    def reset(self, chance: Array) -> GymnaxState:
        """The state at the start of an episode."""
        with _usual_arithmetic():
            seen, state = _made(self.name).env.reset_env(chance, self._params)
        zero = jnp.zeros((), jnp.int32)
        return GymnaxState(jax.tree.map(_strong, state), self._seen(seen), zero, zero)

    def step(
        self, state: GymnaxState, action: Array, chance: Array
    ) -> tuple[GymnaxState, Array, Array, Array]:
        """One action: the next state, the reward (float32), terminated, truncated."""
        if self.sticky:
            chance, other = jax.random.split(chance)
            stuck = jax.random.uniform(other, (), jnp.float32) < self.sticky
            action = jnp.where(stuck, state.action, action)
        action = action.astype(jnp.int32)
        with _usual_arithmetic():
            env, params = _made(self.name).env, self._params
            seen, after, reward, terminated, _ = env.step_env(chance, state.env, action, params)
            truncated = env.is_truncated(after, params)
        # Some of gymnax's numbers are of another type after a step than after a reset.
        after = jax.tree.map(lambda new, old: _strong(new, old.dtype), after, state.env)
        terminated, truncated = _strong(terminated, jnp.bool_), _strong(truncated, jnp.bool_)
        moved = GymnaxState(after, self._seen(seen), action, state.steps + 1)
        return moved, _strong(reward, jnp.float32), terminated, truncated & ~terminated

    def observe(self, state: GymnaxState) -> Array:
        """What is seen of the state: bits in MinAtar, else float32."""
        return state.seen

    def draw(self, state: GymnaxState) -> NDArray[np.uint8]:
        """A picture: the grid with a colour for each channel, or a bar for each number."""
        seen = np.asarray(state.seen)
        return grid_picture(seen) if seen.ndim == 3 else bars(seen, *self.observations)

    def text(self, state: GymnaxState) -> str:
        """The grid with a digit for the first channel that is on in a cell; or the numbers."""
        seen = np.asarray(state.seen)
        return grid_letters(seen) if seen.ndim == 3 else f"{seen.tolist()}\n"

    def _seen(self, seen: Array) -> Array:
        return _strong(seen, jnp.bool_ if self.name.endswith(MINATAR) else jnp.float32)


class _Made(NamedTuple):
    env: Any
    params: Any
    actions: int
    bounds: Bounds


@cache
def _made(name: str) -> _Made:
    """One of gymnax's environments, refused with a clear word if an agent here cannot play it."""
    gymnax = _library()
    if name not in gymnax.registered_envs:
        known = suggestion(name, gymnax.registered_envs, PREFIX)
        raise ValueError(f"unknown task {PREFIX + name!r}: gymnax has no {name!r}; {known}")
    whole_set = {"use_minimal_action_set": False} if name.endswith(MINATAR) else {}
    # It may be asked for while a program is traced, and what gymnax keeps must outlive that.
    with jax.ensure_compile_time_eval(), _usual_arithmetic():
        env, params = gymnax.make(name, **whole_set)
        actions, seen = env.action_space(params), env.observation_space(params)
        if not hasattr(actions, "n"):
            raise ValueError(
                f"{PREFIX}{name}: its actions are continuous, and the agents here choose among "
                "a few; take another task"
            )
        shape = getattr(seen, "shape", None)
        if shape is None or not hasattr(seen, "low"):
            raise ValueError(f"{PREFIX}{name}: its observations are no array of numbers")
        ends = (np.broadcast_to(np.asarray(x, np.float32), shape) for x in (seen.low, seen.high))
        low, high = (np.clip(end, *_finite()) for end in ends)
    return _Made(env, params, int(actions.n), (low, high))


def _library() -> Any:
    try:
        gymnax = importlib.import_module("gymnax")
        version = metadata.version("gymnax")
    except (ImportError, metadata.PackageNotFoundError) as error:
        raise ValueError(f"gymnax is needed for {PREFIX}... and not there: {INSTALL}") from error
    if not version.startswith("1.0.") or version == "1.0.0":
        raise ValueError(
            f"gymnax {version} is installed, and {PREFIX}... needs 1.0.1 or a later 1.0: {INSTALL}"
        )
    return gymnax


@contextlib.contextmanager
def _usual_arithmetic() -> Iterator[None]:
    """JAX as gymnax expects it, whatever the caller's rules for mixing types and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def _strong(value: Any, dtype: Any = None) -> Array:
    """An array that keeps its type; a weak one could not be carried by a loop, nor be saved."""
    array = jnp.asarray(value)
    return jax.lax.convert_element_type(array, array.dtype if dtype is None else dtype)


def _finite() -> tuple[float, float]:
    limits = np.finfo(np.float32)
    return float(limits.min), float(limits.max)
