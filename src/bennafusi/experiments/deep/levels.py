"""What a few beakers hold over training: small enough to be written down many times in a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import optax
from numpy.typing import NDArray

from bennafusi.agents import soft_q
from bennafusi.agents.soft_q import SoftQState
from bennafusi.synapse.readout import beakers
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState

LOOKS = 40  # at least so many in a run,
LEAST = 5  # but never after fewer episodes
EACH = 2  # parameters of every group and layer that are followed


def spacing(settings: DeepSettings) -> int:
    """Episodes between two looks; every epoch is cut into equal parts, a short run's into one each.

    Epochs that are counted in steps are looked at when they end.

    Example:
        >>> spacing(DeepSettings(epochs=1, episodes=10_000)), spacing(DeepSettings(epochs=12))
        (250, 5000)
        >>> spacing(DeepSettings(epochs=40)), spacing(DeepSettings(epochs=320, episodes=2_500))
        (10000, 2500)
    """
    if settings.steps is not None:
        return 2**31 - 1
    parts = max(math.ceil(LOOKS / settings.epochs), 2 if settings.epochs <= LOOKS else 1)
    return min(settings.episodes, max(LEAST, -(-settings.episodes // parts)))


def places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Which parameters of an array are followed: the same in every run, none at a corner.

    Example:
        >>> places((4, 100)), places((1, 1))
        ([(1, 33), (2, 66)], [(0, 0)])
    """
    spots = (tuple(size * part // (EACH + 1) for size in shape) for part in range(1, EACH + 1))
    return list(dict.fromkeys(spots))


def chainless(beakers: Any) -> bool:
    """Whether this stands in the place of a parameter that has no beakers."""
    return isinstance(beakers, optax.MaskedNode)


def chains(agent: SoftQState) -> Iterator[tuple[str, int, NDArray[Any]]]:
    """The beakers ``[n, *shape]`` of every parameter that has some, by group and layer (from 1)."""
    for group, leaves in beakers(agent.optimizer)._asdict().items():
        for layer, leaf in enumerate(leaves, start=1):
            if not chainless(leaf):
                yield group, layer, np.asarray(leaf)


def record(settings: DeepSettings, state: DeepState, episode: int) -> dict[str, Any]:
    """The levels of all beakers of a few parameters, and the root mean square of each layer's.

    Episodes are counted since the run began, and in training steps where epochs are.

    Returns:
        A record; its epoch is the one of the last episode, 0 before the first. ``parts`` has an
        entry for each group and layer: ``group``, ``layer`` (from 1), ``rms`` (a number for each
        beaker), ``places`` and ``levels`` (a list of such numbers for each place).
    """
    updates, epoch = int(soft_q.updates_made(state.agent)), -(-episode // settings.length)
    parts = []
    for group, layer, own in chains(state.agent):
        levels = own.astype(np.float64)
        spots = places(levels.shape[1:])
        flat = levels.reshape(len(levels), -1)
        chosen = [[beaker[spot] for beaker in levels] for spot in spots]
        parts.append(
            {
                "group": group,
                "layer": layer,
                "rms": _short(np.sqrt(np.mean(flat**2, axis=1))),
                "places": [list(spot) for spot in spots],
                "levels": [_short(numbers) for numbers in chosen],
            }
        )
    return {
        "kind": "levels",
        "episode": episode,
        "epoch": epoch,
        "task": settings.tasks[(epoch - 1) % len(settings.tasks)] if epoch else None,
        "updates": updates,
        "awake": settings.chain.awake(updates),
        "parts": parts,
    }


def _short(numbers: Any) -> list[float]:
    """Four digits are enough to draw a level."""
    return [float(f"{number:.4g}") for number in numbers]
