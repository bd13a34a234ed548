"""An episode as numbers, for those who draw it themselves."""

from __future__ import annotations

from typing import Any

from bennafusi.envs.cartpole import FARTHEST, STEEPEST, CartPole
from bennafusi.experiments.deep import play
from bennafusi.experiments.deep.drawing import leads, task_name
from bennafusi.results import Exhibit, RunData


def chosen(runs: list[RunData]) -> list[RunData]:
    """Whom to watch: the first agent that the figures are about, and the first of the others."""
    found: dict[bool, RunData] = {}
    for run in runs:
        found.setdefault(leads(run.variant), run)
    return [found[kind] for kind in (True, False) if kind in found]


def episodes(job: Any, state: Any, agent: str, seed: int, done: int) -> list[dict[str, Any]]:
    """One episode of each of a job's tasks, as plain JSON.

    Args:
        job: of the run.
        state: of the job, or as much of it as :func:`play.state_of` makes.
        agent: what to call it.
        seed: of the run.
        done: episodes it was trained for.
    """
    found, when = [], _when(job.settings, done)
    for task in play.tasks(job) or ():
        moments = play.episodes(job, state, task, 0, 1)[0]
        world = job.settings.worlds[job.settings.tasks.index(task)]
        rows = [[float(value) for value in moment.world.values] for moment in moments]
        found.append(
            {
                "agent": agent,
                "seed": seed,
                "when": when,
                "task": task_name(task),
                **(_cart(world, rows) if isinstance(world, CartPole) else _catcher(rows)),
                "totals": [float(f"{moment.total:g}") for moment in moments],
                "actions": "".join(moment.action[:1] or "-" for moment in moments),
            }
        )
    return found


def exhibit(played: list[dict[str, Any]]) -> list[Exhibit]:
    """All of it as one thing to look at."""
    if not played:
        return []
    caption = (
        "One episode of each task by the network as it is now, without exploration; drawn from the "
        "task's own state. Red marks are the bounds: beyond them the episode ends."
    )
    return [Exhibit("play", "The agent at play", caption, {"episodes": played})]


def _when(settings: Any, done: int) -> str:
    when = f"after {done:,} episodes"
    if len(settings.tasks) == 1 or not done:
        return when
    last = settings.tasks[(done - 1) // settings.episodes % len(settings.tasks)]
    return f"{when}, the last on {task_name(last)}"


def _cart(world: CartPole, rows: list[list[float]]) -> dict[str, Any]:
    return {
        "kind": "cartpole",
        "pole": 2 * world.half_length,
        "farthest": FARTHEST,
        "steepest": round(STEEPEST, 4),
        "x": [round(row[0], 3) for row in rows],
        "angle": [round(row[2], 4) for row in rows],
    }


def _catcher(rows: list[list[float]]) -> dict[str, Any]:
    return {
        "kind": "catcher",
        "fruit": [[int(row[0]), int(row[3])] for row in rows],
        "paddle": [int(row[2]) for row in rows],
    }
