"""Recall at a switch: the depth that plays the task which begins is poured back up."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from bennafusi.agents import soft_q
from bennafusi.experiments.deep.deep_measures import THRESHOLDS
from bennafusi.experiments.deep.depth_choice import Look, chosen, earned
from bennafusi.synapse.readout import recall
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState


def refuse_unknown(settings: DeepSettings) -> None:
    """Raise ValueError for tasks of which nobody has said what is a good score."""
    lacking = [task for task in settings.tasks if task not in THRESHOLDS]
    if settings.recall.kind != "none" and lacking:
        known = ", ".join(THRESHOLDS)
        raise ValueError(
            f"recall.kind={settings.recall.kind!r} with tasks={','.join(settings.tasks)}: "
            f"{lacking[0]!r} has no threshold to choose a depth by; choose from {known}"
        )


def recalled(
    settings: DeepSettings, state: DeepState, look: Look
) -> tuple[DeepState, list[dict[str, Any]]]:
    """The state with which the next epoch begins, and a record of kind ``recall``.

    Only tasks that were trained before are recalled, and only if there is a next epoch.

    State and look are of the moment right after the switch.
    """
    epoch, tasks = int(state.epoch), settings.tasks
    task = tasks[epoch % len(tasks)]
    before = {tasks[past % len(tasks)] for past in range(epoch)}
    if settings.recall.kind == "none" or task not in before or epoch >= settings.epochs:
        return state, []
    depth = chosen(look, task)
    reward = earned(look, task, depth)
    held = settings.recall.kind == "hold" and depth > 1 and reward >= THRESHOLDS[task]
    if depth > 1:
        back = recall(state.agent.optimizer, state.agent.params, depth, overwrite=True)
        agent = state.agent._replace(params=back.params, optimizer=back.state)
        state = state._replace(agent=soft_q.sync_target(agent))
    if held and state.hold is not None:
        level, mean = jnp.float32(THRESHOLDS[task]), jnp.float32(reward)
        state = state._replace(hold=state.hold._replace(level=level, earned=mean))
    return state, [
        {
            "kind": "recall",
            "epoch": epoch,
            "episode": epoch * settings.length,
            "task": task,
            "depth": depth,
            "earned": reward,
            "weights": earned(look, task, 1),
            "held": held,
        }
    ]
