"""Is a deep beaker just an average? Averages of plain weights, in agents that learn online.

python docs/studies/online_average.py RATE SEED [FOLDER]      (some minutes on one core)

Trains a control agent of ``online-cartpole`` (Adam alone, no chain) at full length and keeps moving
averages of its weights, of the timescales of the chain's deeper beakers. After every 1,000 episodes
the weights and each average play five games. Writes ``online-average-RATE-SEED.json``.

python docs/studies/online_average.py judge [FOLDER]

Chooses a rate and a timescale on some seeds and says what they earn on others, by the rule of
docs/depths.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bennafusi.agents import soft_q
from bennafusi.experiments.deep.depth_online import LATE, SECOND
from bennafusi.experiments.registry import find
from bennafusi.training import deep_loop
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.rollout import evaluate

RATES = ("1e-3", "1e-4")
CHOOSING, JUDGING = (0, 2), SECOND.judging
TIMESCALES = (25_600, 102_400, 409_600, 1_638_400, 6_553_600)  # updates: of beakers 5 to 9
SAMPLE = 10  # episodes between two additions to an average: at most 5,000 updates
LOOK, GAMES = 1_000, 5  # episodes between two looks, games at each
MOST_STEPS = 10**6  # more than so few episodes can have


class Averages:
    """Moving averages of a tree, each with its timescale, corrected for their start at zero."""

    def __init__(self, tree: Any, timescales: tuple[int, ...]) -> None:
        self.timescales = timescales
        self.sums = [jax.tree.map(np.zeros_like, tree) for _ in timescales]
        self.weights = [0.0] * len(timescales)

    def add(self, tree: Any, updates: int) -> None:
        """Take in the weights as they are, so many updates after the last time."""
        for place, timescale in enumerate(self.timescales):
            keep = float(np.exp(-updates / timescale))

            def moved(total: Any, now: Any, keep: float = keep) -> Any:
                return np.float32(keep) * total + np.float32(1 - keep) * now

            self.sums[place] = jax.tree.map(moved, self.sums[place], tree)
            self.weights[place] = keep * self.weights[place] + 1 - keep

    def trees(self) -> list[Any]:
        """The averages."""
        pairs = zip(self.sums, self.weights, strict=True)
        return [jax.tree.map(lambda s, w=weight: s / np.float32(w), sums) for sums, weight in pairs]


def follow(settings: DeepSettings, seed: int) -> list[dict[str, Any]]:
    """Train an agent to its end, or until it diverges; what the weights and averages earn."""
    state, looks, before = deep_loop.start(settings, seed), [], 0
    averages = Averages(state.agent.params, TIMESCALES)
    key = jax.random.key(2**30 + seed)
    while not deep_loop.finished(settings, state) and not bool(state.diverged):
        state, _ = deep_loop.advance(settings, state, MOST_STEPS, SAMPLE)
        params = jax.tree.map(np.asarray, state.agent.params)
        updates = int(soft_q.updates_made(state.agent))
        averages.add(params, updates - before)
        before = updates
        episode = int(state.epoch) * settings.episodes + int(state.episode)
        if episode % LOOK == 0:
            own = jax.random.fold_in(key, episode)
            trees = [jax.tree.map(jnp.asarray, tree) for tree in (params, *averages.trees())]
            played = [evaluate(settings, tree, jnp.int32(0), own, GAMES) for tree in trees]
            means = [float(np.mean(rewards)) for rewards in played]
            looks.append({"episode": episode, "updates": updates, "rewards": means})
    return looks


def late(looks: list[dict[str, Any]], episodes: int) -> list[float]:
    """Mean over the looks at the end, of the weights and each average; 0 if it diverged before."""
    ends = [look["rewards"] for look in looks if look["episode"] > episodes - LATE]
    if len(ends) < LATE // LOOK:
        return [0.0] * (1 + len(TIMESCALES))
    return [float(mean) for mean in np.mean(ends, axis=0)]


def judge(folder: Path) -> dict[str, Any]:
    """The rate and timescale that are best where they are chosen, and what they earn elsewhere."""
    episodes = find("online-cartpole").settings("paper").episodes

    def ends(rate: str, seed: int) -> list[float]:
        path = folder / f"online-average-{rate}-{seed}.json"
        return late(json.loads(path.read_text()), episodes)

    tried = {rate: np.mean([ends(rate, seed) for seed in CHOOSING], axis=0) for rate in RATES}
    rate = max(RATES, key=lambda name: float(tried[name][1:].max()))
    place = 1 + int(np.argmax(tried[rate][1:]))
    judged = {seed: ends(rate, seed) for seed in JUDGING}
    return {
        "rate": rate,
        "timescale": TIMESCALES[place - 1],
        "chosen among": {name: numbers.round(1).tolist() for name, numbers in tried.items()},
        "average": {seed: round(numbers[place], 1) for seed, numbers in judged.items()},
        "weights": {seed: round(numbers[0], 1) for seed, numbers in judged.items()},
    }


def main(arguments: list[str]) -> None:
    """Train one agent, or judge all."""
    if arguments and arguments[0] == "judge":
        print(json.dumps(judge(Path(*arguments[1:2])), indent=1))
        return
    rate, seed = arguments[0], int(arguments[1])
    experiment, folder = find("online-cartpole"), Path(*arguments[2:3])
    settings: DeepSettings = experiment.settings_of(f"control-{rate}", experiment.settings("paper"))
    looks = follow(settings, seed)
    (folder / f"online-average-{rate}-{seed}.json").write_text(json.dumps(looks) + "\n")
    print(rate, seed, [round(mean, 1) for mean in late(looks, settings.episodes)])


if __name__ == "__main__":
    main(sys.argv[1:])
