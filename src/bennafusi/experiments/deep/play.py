"""Trained agents at play: whom to watch, with which network, and an episode as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import NDArray

from bennafusi.agents import soft_q
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.networks import Params
from bennafusi.envs.control import ControlTask
from bennafusi.experiments.agent_styles import leads
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.experiments.deep.deep_measures import by_variant
from bennafusi.experiments.deep.depths import networks
from bennafusi.experiments.deep.game_frames import frames
from bennafusi.experiments.deep.panels import task_name
from bennafusi.results import Exhibit, RunData, Table
from bennafusi.training import turns
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState
from bennafusi.training.rollout import Trajectory, apart, rollouts

MOST_AGENTS, MOST_SEEDS = 6, 3  # that play; an episode is some kilobytes


def tasks(job: object) -> tuple[str, ...] | None:
    """The tasks of a deep agent's job; None if it is the job of something else."""
    return job.settings.different if isinstance(job, DeepRun) else None


def network(settings: DeepSettings, arrays: Mapping[str, NDArray[Any]]) -> Params:
    """The network of a run, from arrays by group and layer.

    Args:
        settings: of the run.
        arrays: ``weights/0`` and so on, as ``final.npz`` has them.

    Raises:
        ValueError: if that is not this run's network.
    """
    start = partial(settings.network.start, sizes=settings.sizes)
    groups = {}
    for group, leaves in jax.eval_shape(start, jax.random.key(0))._asdict().items():
        found = [arrays.get(f"{group}/{layer}") for layer in range(len(leaves))]
        for layer, (array, leaf) in enumerate(zip(found, leaves, strict=True)):
            if array is None or array.shape != leaf.shape or array.dtype != leaf.dtype:
                raise ValueError(f"{group}/{layer}: is not there, or not of this network's shape")
        groups[group] = tuple(map(jnp.asarray, found))
    return Params(**groups)


def held(settings: DeepSettings, state: DeepState, task: str, depth: int) -> Params:
    """The network in a beaker of the agent that plays a task; depth 1 is the weights."""
    agent = turns.agent_of(settings, state, settings.different.index(task))
    return networks(agent, [depth])[0]


def episodes(
    settings: DeepSettings, params: Params, task: str, seed: int, count: int
) -> list[Trajectory]:
    """So many episodes of one of a run's tasks.

    Args:
        settings: of the run.
        params: the network.
        task: one of the run's own.
        seed: of the episodes' randomness.
        count: how many.
    """
    index = jnp.int32(settings.different.index(task))
    key = jax.random.fold_in(jax.random.key(seed), index)
    own = jax.tree.map(jnp.asarray, params)
    # Who plays does not learn: one program for all agents of an experiment, however they do.
    learning = ("optimizer", "exploration", "depths", "recall")
    usual = {name: getattr(DeepSettings(), name) for name in learning}
    weights = replace(settings.agent, acting=1)
    alike = replace(settings, **usual, chain=NetworkChains(n=1), agent=weights)
    return apart(rollouts(alike, own, index, key, count))


def chosen(runs: list[RunData], summary: Table | None) -> tuple[list[RunData], str]:
    """Whom to watch: all agents, those of the figures first, then the others, strongest first.

    Args:
        runs: of one experiment.
        summary: its measures; the first of each agent's is its strength.

    Returns:
        The runs, some seeds of each agent, and the strongest of the others if they are several.
    """
    strength: dict[str, float] = {}
    for row in summary.rows if summary else ():
        mean = float(row[summary.columns.index("mean")]) if summary else math.nan
        strength.setdefault(str(row[0]), -math.inf if math.isnan(mean) else mean)
    groups = by_variant(runs)
    order = sorted(groups, key=lambda name: (not leads(name), -strength.get(name, -math.inf)))
    others = [name for name in order if not leads(name)]
    first = [name for name in order if leads(name)][: MOST_AGENTS - bool(others)]
    shown = [*first, *others][:MOST_AGENTS]
    mine = [run for name in shown for run in groups[name][:MOST_SEEDS]]
    return mine, others[0] if len(others) > 1 else ""


def of_depths(
    settings: DeepSettings, state: DeepState, agent: str, seed: int, done: int
) -> dict[str, Any]:
    """One episode of each task by the network of each depth, all in the same games.

    Args:
        settings: of the run.
        state: its newest.
        agent: what to call it.
        seed: of the run.
        done: episodes it was trained for.
    """
    shown = settings.chain.chain.reached(int(soft_q.updates_made(state.agent)))
    found = [
        {**episode, "depth": depth}
        for depth, params in zip(shown, networks(state.agent, shown), strict=True)
        for episode in plain(settings, params, agent, seed, done)
    ]
    return {"time": done, "episodes": found}


def plain(
    settings: DeepSettings, params: Params, agent: str, seed: int, done: int
) -> list[dict[str, Any]]:
    """One episode of each of a run's tasks, as plain JSON; of the paper's tasks alone.

    Nothing where each task has an agent of its own: one network does not play them all.

    Args:
        settings: of the run.
        params: its network.
        agent: what to call it.
        seed: of the run.
        done: episodes it was trained for.
    """
    found, when = [], _when(settings, done)
    if settings.schedule.agent_at_switch == "own":
        return []
    for task, env in zip(settings.different, settings.envs, strict=True):
        if not isinstance(env, ControlTask):  # bennafusi watch draws those
            continue
        played = episodes(settings, params, task, 0, 1)[0]
        told = {"agent": agent, "seed": seed, "when": when, "task": task_name(task)}
        found.append({**told, **frames(env, played)})
    return found


def exhibit(played: list[dict[str, Any]], strongest: str) -> list[Exhibit]:
    """All of it as one thing to look at.

    Args:
        played: what :func:`plain` gave of each agent.
        strongest: which of the agents that the figures are not about is the strongest.
    """
    if not played:
        return []
    caption = (
        "One episode of each task by the network as it is now, without exploration, all agents in "
        "the same game; drawn from the task's own state. Red marks are the bounds: beyond them the "
        f"episode ends. {_returns(played)}"
    )
    data = {"episodes": played, "strongest": strongest}
    return [Exhibit("play", "The agents at play", caption, data)]


def _returns(played: list[dict[str, Any]]) -> str:
    """What the first seed of each agent came to."""
    found: dict[str, dict[str, str]] = {}
    for one in played:
        by_agent = found.setdefault(one["task"], {})
        by_agent.setdefault(one["agent"], f"{one['totals'][-1]:g} ({one['agent']})")
    lines = [f"{task}: {', '.join(agents.values())}" for task, agents in found.items()]
    return f"Returns here, {'; '.join(lines)}."


def _when(settings: DeepSettings, done: int) -> str:
    when = f"after {done:,} {settings.unit}"
    if len(settings.tasks) == 1 or not done:
        return when
    last = settings.tasks[(done - 1) // settings.length % len(settings.tasks)]
    return f"{when}, the last on {task_name(last)}"
