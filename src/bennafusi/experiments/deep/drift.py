"""How far the weights of a network wander: a sample of them over training, and its diffusion."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.experiments.deep.deep_records import short
from bennafusi.results import RunData
from bennafusi.training.deep_state import DeepState

SAMPLED = 128  # weights of every layer
MILLION = 1e6


class DriftRun(DeepRun):
    """A deep run with one more record, ``weights``: a sample of them, at every look and switch."""

    def _levels(self, state: DeepState) -> list[dict[str, Any]]:
        return [*super()._levels(state), record(state, self.progress(state)[0])]


def record(state: DeepState, episode: int) -> dict[str, Any]:
    """The same few weights of every layer, evenly spread."""
    layers = [np.asarray(leaf).ravel() for leaf in state.agent.params.weights]
    sampled = [w[np.linspace(0, w.size - 1, min(SAMPLED, w.size)).astype(int)] for w in layers]
    return {
        "kind": "weights",
        "episode": episode,
        "steps": int(state.steps),
        "layers": [[short(float(x)) for x in layer] for layer in sampled],
    }


def drift(run: RunData) -> float:
    r"""How far a weight wanders in a million steps, in the second half of what there is of a run.

    .. math::
        \sqrt{\sum_i \overline{(w_{i+1} - w_i)^2} \Big/ \sum_i (t_{i+1} - t_i)}

    over looks :math:`i`, the mean being over weights of all layers alike and :math:`t` in millions
    of steps: of a random walk that does not depend on how often it is looked at. NaN with fewer
    than four looks.

    Example:
        >>> looks = [{"kind": "weights", "steps": k * 500_000, "layers": [[0.1 * k]]}
        ...          for k in range(5)]
        >>> round(drift(RunData("a", 0, looks)), 6)
        0.141421
    """
    looks = [record for record in run.records if record["kind"] == "weights"]
    late = looks[len(looks) // 2 :]
    if len(looks) < 4:
        return float("nan")
    squares, steps = 0.0, (late[-1]["steps"] - late[0]["steps"]) / MILLION
    for before, after in itertools.pairwise(late):
        moved = [
            np.mean((np.array(two) - np.array(one)) ** 2)
            for one, two in zip(before["layers"], after["layers"], strict=True)
        ]
        squares += float(np.mean(moved))
    return float(np.sqrt(squares / steps)) if steps else float("nan")
