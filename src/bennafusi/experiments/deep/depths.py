"""What the depths know: how the network that each beaker holds plays every task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bennafusi.agents import soft_q
from bennafusi.agents.networks import Params
from bennafusi.agents.soft_q import SoftQState
from bennafusi.experiments.deep.deep_records import short
from bennafusi.experiments.deep.depth_evidence import evidence
from bennafusi.experiments.deep.levels import chainless
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.readout import beakers
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState
from bennafusi.training.rollout import evaluate


def reached(chain: Chain, updates: int) -> list[int]:
    """The depths that have had time to learn something: 1, the weight, and those below it.

    Example:
        >>> chain = Chain(n=30, g12=0.01)  # timescales 100, 400, 1600, ... updates
        >>> reached(chain, 0), reached(chain, 1600)
        ([1], [1, 2, 3])
    """
    deep = [k for k in range(2, chain.n + 1) if chain.timescales[k - 1] <= updates]
    return [1, *deep]


def networks(agent: SoftQState, depths: Sequence[int]) -> list[Params]:
    """All parameters, gains and biases of every task included, as each of some beakers holds them.

    Those without a chain are in every network as they are.

    Args:
        agent: of a run.
        depths: which beakers; 1 is the weight, as the last update left it.
    """
    # All levels at once: readout() of each depth by itself takes four times as long, not compiled.
    levels = jax.tree.map(np.asarray, beakers(agent.optimizer))

    def held_by(depth: int) -> Params:
        def pick(u: Any, weight: Any) -> Any:
            return weight if chainless(u) else u[depth - 1]

        found: Params = jax.tree.map(pick, levels, agent.params, is_leaf=chainless)
        return found

    held = [agent.params if depth == 1 else held_by(depth) for depth in depths]
    return [jax.tree.map(jnp.asarray, params) for params in held]


def record(settings: DeepSettings, state: DeepState, episode: int) -> dict[str, Any]:
    """The rewards of each depth's network on every task; all depths play the same games.

    Args:
        settings: of the run.
        state: of the run; it is looked at, and nothing of it changes.
        episode: since the run began.

    Returns:
        A record of kind ``depths``; ``rewards`` has a list of games per task and depth. Of the
        task that is trained next, ``losses`` and ``agreement`` have a number for each depth.
    """
    updates, epoch = int(soft_q.updates_made(state.agent)), -(-episode // settings.length)
    chain, games = settings.chain.chain, settings.depths.games
    shown = reached(chain, updates)
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(state.key)), 2**31 + 3)
    moment = jax.random.fold_in(key, episode)
    players, rewards = networks(state.agent, shown), {}
    for index, name in enumerate(settings.different):
        own, task = jax.random.fold_in(moment, index), jnp.int32(index)
        played = [evaluate(settings, params, task, own, games) for params in players]
        rewards[name] = [np.asarray(one).tolist() for one in played]
    following = settings.order[int(state.epoch) % len(settings.tasks)]
    own = jax.random.fold_in(moment, following)
    losses, agreement = evidence(settings, players, following, own, games)
    return {
        "kind": "depths",
        "episode": episode,
        "epoch": epoch,
        "task": settings.tasks[(epoch - 1) % len(settings.tasks)] if epoch else None,
        "updates": updates,
        "depths": shown,
        "timescales": [float(f"{chain.timescales[depth - 1]:.6g}") for depth in shown],
        "rewards": rewards,
        "losses": [short(loss) for loss in losses],
        "agreement": [short(share) for share in agreement],
    }
