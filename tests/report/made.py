"""Run folders made by hand, so that reports can be tested without training anybody."""

import functools
import hashlib

import numpy as np

from bennafusi.experiments.deep import game_frames
from bennafusi.experiments.registry import find
from bennafusi.runs import checkpoint, metrics_file, plan, tree
from bennafusi.runs.config import to_json, with_changes
from bennafusi.runs.status import Status, write_status

GRID = {"size": "4", "epochs": "4", "episodes": "30"}
DEEP = {"epochs": "4", "episodes": "20", "max_steps": "40"}
DEEP |= {"network.hidden": "4", "chain.n": "5"}
ENVIRONMENT = {"python": "3.11.7", "jax": "0.10.2", "machine": "x86_64", "device": "cpu: cpu"}


def specs(experiment, variants, seeds, changes):
    settings = with_changes(find(experiment).settings("smoke"), changes)
    return plan.plan(experiment, variants, seeds, to_json(settings))


def write(folder, spec, records, state="done", **status):
    folder.write_config(spec, ENVIRONMENT)
    writer = metrics_file.Metrics(folder.metrics, metrics_file.Offset())
    writer.append(records)
    writer.close()
    seal(folder)
    write_status(folder, Status(state=state, seconds=12.5, **status))


def seal(folder):
    """A checkpoint that vouches for whatever the metrics are now."""
    content = folder.metrics.read_bytes()
    offset = metrics_file.Offset(
        len(content), content.count(b"\n"), hashlib.sha256(content).hexdigest()
    )
    state = {"a": np.zeros(1)}
    checkpoint.Store(folder.checkpoints, state).save(state, offset, {}, {})


def grid(root, seeds=(0, 1)):
    """Runs of grid-switch whose values walk from corner to corner."""
    made = specs("grid-switch", ["control", "benna-fusi", "modified"], seeds, GRID)
    for folder, spec in zip(plan.prepare(root, made), made, strict=True):
        n = 1 if spec.variant == "control" else 3
        records = []
        for epoch in range(1, 5):
            for part in range(4):
                records.append(values(n, epoch, part))
            slow = 1000 if spec.variant == "control" else 1000 // epoch
            never = spec.variant == "modified" and epoch == 2
            records.append(
                {
                    "kind": "epoch",
                    "epoch": epoch,
                    "first_reward": slow + spec.seed,
                    "relearning_steps": None if never else 2 * slow,
                    "steps": 5000,
                    "rewards": 20,
                    "mean_length": 12.0,
                    "lengths": [12] * 30,
                }
            )
        write(folder, spec, records, done=120, total=120, attempts=1)


def values(n, epoch, part):
    ramp = np.add.outer(np.arange(4), np.arange(4)[::-1]) / 6  # high in the lower left corner
    now = ramp if epoch % 2 == 0 else 1 - ramp
    share = (part + 1) / 4
    maps = [(share * now + (1 - share) * (1 - now)) / 2**k for k in range(n)]
    step = 1000 * (4 * epoch + part)
    numbers = np.round(maps, 5).tolist()
    return {"kind": "values", "steps": step, "epoch": epoch, "values": numbers}


def deep(root, seeds=(0, 1), experiment="two-task", finished=True):
    """Runs of two-task that learn Cart-Pole and Catcher on paper, with a network of chance."""
    made = specs(experiment, ["benna-fusi", "control-1e-3"], seeds, DEEP)
    for folder, spec in zip(plan.prepare(root, made), made, strict=True):
        chains = spec.variant == "benna-fusi"
        looks = [depths] if chains else []
        records = [
            *([levels(0)] if chains else []),
            switch(0, chains),
            *(look(0) for look in looks),
        ]
        for epoch in range(1, 5):
            task = ("cartpole", "catcher")[(epoch - 1) % 2]
            for episode in range(2, 21, 2):
                records.append(test(epoch, episode, task, spec.seed))
            records += [*([levels(epoch)] if chains else []), switch(epoch, chains)]
            records += [look(epoch) for look in looks]
            # Of the first run games were kept, at some of its switches.
            records += [games(epoch)] if chains and spec.seed == 0 and epoch in (2, 3) else []
        kept = None
        if finished:
            arrays = network(5 if chains else 1).items()
            content = tree.npz({k: v + np.float32(1e-6 * spec.seed) for k, v in arrays})
            folder.final.write_bytes(content)
            kept = hashlib.sha256(content).hexdigest()
        write(folder, spec, records, done=80, total=80, attempts=1, final_sha256=kept)


def test(epoch, episode, task, seed):
    reward = float(episode * epoch + seed)
    return {
        "kind": "test",
        "epoch": epoch,
        "episode": episode,
        "task": task,
        "reward": reward,
        "length": 20,
        "training_reward": reward,
        "training_length": 20.0,
        "loss": 0.5,
        "largest": 1.0,
        "updates": 64 * episode,
        "steps": 20 * episode,
    }


def switch(epoch, chains):
    return {
        "kind": "switch",
        "epoch": epoch,
        "task": ("cartpole", "catcher")[(epoch - 1) % 2] if epoch else None,
        "tests": {"cartpole": [float(10 + 5 * epoch)] * 3, "catcher": [float(epoch)] * 3},
        "updates": 1000 * epoch,
        "steps": 400 * epoch,
        "awake": 1 + epoch,
        "distances": {"weights": [0.1 * k for k in range(5)]} if chains else {},
    }


def depths(epoch):
    """Three depths, each reached an epoch later than the one above it."""
    shown = list(range(1, min(epoch + 1, 3) + 1))
    return {
        "kind": "depths",
        "episode": 20 * epoch,
        "epoch": epoch,
        "task": ("cartpole", "catcher")[(epoch - 1) % 2] if epoch else None,
        "updates": 1000 * epoch,
        "depths": shown,
        "timescales": [10.0 * 4 ** (k - 1) for k in shown],
        "rewards": {
            "cartpole": [[10.0 * epoch + k, 10.0 * epoch + k] for k in shown],
            "catcher": [[-float(k)] for k in shown],
        },
    }


def games(epoch):
    """The first game of each cell: a cart that rolls to the right, a paddle under a fruit."""
    look = depths(epoch)
    drawn = {
        "cartpole": [cart(int(played[0])) for played in look["rewards"]["cartpole"]],
        "catcher": [catcher(int(played[0])) for played in look["rewards"]["catcher"]],
    }
    when = {name: look[name] for name in ("episode", "epoch", "task", "updates", "depths")}
    packed = {task: list(map(game_frames.packed, played)) for task, played in drawn.items()}
    return {"kind": "games", **when, "games": packed}


def cart(steps):
    fixed = {"kind": "cartpole", "pole": 1.0, "farthest": 2.4, "steepest": 0.2094}
    x, angle = ([size * step for step in range(steps + 1)] for size in (0.02, 0.004))
    actions = "-" + "r" * steps
    return {**fixed, "x": x, "angle": angle, "totals": list(range(steps + 1)), "actions": actions}


def catcher(reward, steps=300):
    """Longer than a kept game has frames."""
    row = [2 * step % 60 for step in range(steps + 1)]
    paddle = [step % 50 for step in range(steps + 1)]
    fixed = {"kind": "catcher", "column": [20] * (steps + 1), "row": row, "paddle": paddle}
    return {**fixed, "totals": [0] * steps + [reward], "actions": "-" + "lr" * (steps // 2)}


def levels(epoch):
    held = [round(0.3 - 0.1 * k + 0.05 * epoch, 4) for k in range(5)]
    parts = [
        {
            "group": group,
            "layer": layer,
            "rms": [abs(level) for level in held],
            "places": [[1, 2]],
            "levels": [held],
        }
        for group in ("weights", "gains")
        for layer in (1, 2)
    ]
    return {
        "kind": "levels",
        "episode": 20 * epoch,
        "epoch": epoch,
        "task": ("cartpole", "catcher")[(epoch - 1) % 2] if epoch else None,
        "updates": 1000 * epoch,
        "awake": 1 + epoch,
        "parts": parts,
    }


@functools.cache
def network(n):
    import jax

    settings = with_changes(find("two-task").settings("smoke"), {**DEEP, "chain.n": str(n)})
    params = settings.network.start(jax.random.key(0), settings.sizes)
    return {
        f"{group}/{layer}": np.asarray(leaf)
        for group, leaves in params._asdict().items()
        for layer, leaf in enumerate(leaves)
    }
