"""An agent that neither explores nor learns, step by step, for those who want to see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bennafusi.agents.networks import Params
from bennafusi.agents.soft_q import SoftQState
from bennafusi.envs.control import ControlState
from bennafusi.experiments.deep.job import DeepRun
from bennafusi.training import playing
from bennafusi.training.deep_settings import DeepSettings

ACTIONS = ("left", "right", "none")


class Frame(NamedTuple):
    """What is there to see after a step.

    Attributes:
        world: the task's state.
        step: steps taken so far.
        total: the return so far.
        action: what the agent did; empty at the start.
    """

    world: ControlState
    step: int
    total: float
    action: str


def tasks(job: object) -> tuple[str, ...] | None:
    """The tasks of a deep agent's job; None if it is the job of something else."""
    return job.settings.tasks if isinstance(job, DeepRun) else None


def episodes(job: Any, state: Any, task: str, seed: int, count: int) -> list[list[Frame]]:
    """So many episodes of a task; those of :func:`bennafusi.training.playing.evaluate`.

    Args:
        job: of the run.
        state: of the job.
        task: one of the run's own.
        seed: of the episodes' randomness.
        count: how many.
    """
    index = jnp.int32(job.settings.tasks.index(task))
    agent = jax.tree.map(jnp.asarray, state.agent)
    begin, step = _programs(job.settings)
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), index), count)
    found = []
    for key in keys:
        now = begin(index, key)
        moments = [Frame(jax.device_get(now.world), 0, 0.0, "")]
        while not now.over:
            now = step(agent, index, key, now)
            action = ACTIONS[int(now.action)]
            seen = jax.device_get(now.world)
            moments.append(Frame(seen, len(moments), float(now.total), action))
        found.append(moments)
    return found


def state_of(job: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """As much of a job's state as playing takes, from its network alone.

    Args:
        job: of the run.
        arrays: the network by group and layer, ``weights/0`` and so on, as ``final.npz`` has it.

    Raises:
        ValueError: if that is not this job's network.
    """
    network, sizes = job.settings.network, job.settings.sizes
    shapes = jax.eval_shape(partial(network.start, sizes=sizes), jax.random.key(0))
    groups = {}
    for group, leaves in shapes._asdict().items():
        found = [arrays.get(f"{group}/{layer}") for layer in range(len(leaves))]
        for layer, (array, leaf) in enumerate(zip(found, leaves, strict=True)):
            if array is None or array.shape != leaf.shape or array.dtype != leaf.dtype:
                raise ValueError(f"{group}/{layer}: is not there, or not of this network's shape")
        groups[group] = tuple(map(jnp.asarray, found))
    nothing: Any = None
    agent = SoftQState(Params(**groups), nothing, nothing, nothing)
    return SimpleNamespace(agent=agent)


def draw(job: Any, task: str, moment: Frame) -> NDArray[np.uint8]:
    """The task as a picture."""
    world = job.settings.worlds[job.settings.tasks.index(task)]
    picture: NDArray[np.uint8] = world.draw(moment.world)
    return picture


@lru_cache(maxsize=4)
def _programs(settings: DeepSettings) -> tuple[Any, Any]:
    """How an episode begins and goes on; all tasks and seeds share them."""
    return (
        jax.jit(partial(playing.first_moment, settings)),
        jax.jit(partial(playing.play, settings)),
    )
