"""Whether a deep agent can still learn: its units and weights, looked at when an epoch ends."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bennafusi.agents.networks import Params
from bennafusi.experiments.deep.deep_records import short
from bennafusi.metrics import distance_moved, dormant_share, effective_rank, weight_norm
from bennafusi.training import multitask
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.rollout import Trajectory

STATES = 512  # of the agent's own test episodes, by which its units are judged


def record(
    settings: DeepSettings, params: Params, task: int, played: Trajectory, born: Params | None
) -> dict[str, Any]:
    """What the units of a network do in the states of some episodes, and how far its weights are.

    Args:
        settings: of the run.
        params: the network.
        task: the number of the task that was played.
        played: episodes of it, with a leading axis.
        born: the network at its birth; None where agents take turns.

    Returns:
        ``dormant``: the share of all hidden units that are; ``rank``: directions that the last
        hidden layer uses; ``norm`` of all weights; ``moved``: their distance from birth, or None.
        No entry at all where activations are not finite.
    """
    own = task if settings.separate else None
    hidden = [np.asarray(x) for x in _hidden(settings, own, params, jnp.int32(task), _some(played))]
    if not all(np.isfinite(x).all() for x in hidden):
        return {}
    units = [x.shape[-1] for x in hidden]
    dormant = np.average([dormant_share(x) for x in hidden], weights=units)
    moved = None if born is None else short(distance_moved(params.weights, born.weights))
    return {
        "dormant": short(float(dormant)),
        "rank": effective_rank(hidden[-1].reshape(len(hidden[-1]), -1)),
        "norm": short(weight_norm(params.weights)),
        "moved": moved,
    }


def _some(played: Trajectory) -> Any:
    """States evenly spread over all steps of all episodes; of few steps each several times."""
    length = np.asarray(played.length)
    episode = np.repeat(np.arange(length.size), length)
    step = np.concatenate([np.arange(steps) for steps in length])
    chosen = np.linspace(0, step.size - 1, STATES).round().astype(int)
    return jax.tree.map(lambda x: np.asarray(x)[episode[chosen], step[chosen]], played.states)


@partial(jax.jit, static_argnames=("settings", "own"))
def _hidden(
    settings: DeepSettings, own: int | None, params: Params, number: Array, states: Any
) -> tuple[Array, ...]:
    task = number if own is None else own  # tasks that have a program each are fixed in it
    seen = jax.vmap(partial(multitask.observe, settings, task))(states)
    return settings.network.hidden_units(params, task, seen)
