"""What the depths know: how the network that each beaker holds plays every task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bennafusi.agents import soft_q
from bennafusi.agents.networks import Params
from bennafusi.agents.soft_q import SoftQState
from bennafusi.envs.control import ControlTask
from bennafusi.experiments.deep.deep_records import short
from bennafusi.experiments.deep.depth_evidence import evidence
from bennafusi.experiments.deep.game_frames import frames, packed
from bennafusi.experiments.deep.levels import chainless
from bennafusi.synapse.readout import beakers
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState
from bennafusi.training.rollout import apart, evaluate, rollouts


def networks(agent: SoftQState, depths: Sequence[int]) -> list[Params]:
    """All parameters, gains and biases of every task included, as each of some beakers holds them.

    Those without a chain are in every network as they are.

    Args:
        agent: of a run.
        depths: which beakers; 1 is the weight, as the last update left it.
    """
    if set(depths) == {1}:  # of any agent, also one without beakers
        return [agent.params for _ in depths]
    # All levels at once: readout() of each depth by itself takes four times as long, not compiled.
    levels = jax.tree.map(np.asarray, beakers(agent.optimizer))

    def held_by(depth: int) -> Params:
        def pick(u: Any, weight: Any) -> Any:
            return weight if chainless(u) else u[depth - 1]

        found: Params = jax.tree.map(pick, levels, agent.params, is_leaf=chainless)
        return found

    held = [agent.params if depth == 1 else held_by(depth) for depth in depths]
    return [jax.tree.map(jnp.asarray, params) for params in held]


class Players(NamedTuple):
    """Who plays at a look, and which games.

    Attributes:
        depths: the beakers.
        networks: what they hold.
        keys: of the games, for each task.
    """

    depths: list[int]
    networks: list[Params]
    keys: list[Array]


def records(
    settings: DeepSettings, state: DeepState, episode: int, keep: bool = False
) -> list[dict[str, Any]]:
    """What is recorded of a look at the depths: how they play, and perhaps a game of each.

    Args:
        settings: of the run.
        state: of the run; it is looked at, and nothing of it changes.
        episode: since the run began.
        keep: whether to keep a game of each depth on each task that can be drawn.

    Returns:
        A record of kind ``depths`` and one of kind ``games``, the latter if there are any. In the
        first, ``rewards`` has a list of games per task and depth; of the task that is trained next,
        ``losses`` and ``agreement`` have a number for each depth. In the second, ``games`` has of
        each task and depth the first of those games, as :func:`~.game_frames.packed` makes it.
    """
    updates, epoch = int(soft_q.updates_made(state.agent)), -(-episode // settings.length)
    shown = settings.chain.chain.reached(updates)
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(state.key)), 2**31 + 3)
    moment = jax.random.fold_in(key, episode)
    own = [jax.random.fold_in(moment, index) for index in range(len(settings.different))]
    who = Players(shown, networks(state.agent, shown), own)
    when = {
        "episode": episode,
        "epoch": epoch,
        "task": settings.tasks[(epoch - 1) % len(settings.tasks)] if epoch else None,
        "updates": updates,
        "depths": shown,
    }
    next_task = settings.order[int(state.epoch) % len(settings.tasks)]
    found = [{"kind": "depths", **when, **_scores(settings, who, next_task)}]
    kept = _games(settings, who) if keep else {}
    return [*found, {"kind": "games", **when, "games": kept}] if kept else found


def _scores(settings: DeepSettings, who: Players, next_task: int) -> dict[str, Any]:
    """How each depth's network plays every task; all depths play the same games."""
    games, times, rewards = settings.depths.games, settings.chain.chain.timescales, {}
    for index, name in enumerate(settings.different):
        own, task = who.keys[index], jnp.int32(index)
        played = [evaluate(settings, params, task, own, games) for params in who.networks]
        rewards[name] = [np.asarray(one).tolist() for one in played]
    own = who.keys[next_task]
    losses, agreement = evidence(settings, who.networks, next_task, own, games)
    return {
        "timescales": [float(f"{times[depth - 1]:.6g}") for depth in who.depths],
        "rewards": rewards,
        "losses": [short(loss) for loss in losses],
        "agreement": [short(share) for share in agreement],
    }


def _games(settings: DeepSettings, who: Players) -> dict[str, list[dict[str, Any]]]:
    """The first of the games that are scored, of each depth, on each task that can be drawn."""
    kept, games = {}, settings.depths.games
    for index, (name, env) in enumerate(zip(settings.different, settings.envs, strict=True)):
        if not isinstance(env, ControlTask):
            continue
        play = partial(rollouts, settings, task=jnp.int32(index), key=who.keys[index])
        played = [apart(play(params, episodes=games, first=1))[0] for params in who.networks]
        kept[name] = [packed(frames(env, one)) for one in played]
    return kept
