"""Who relearns what comes back? Ways to remember on the returning digits, tuned alike.

python docs/studies/returning_rivals.py [FOLDER]      (about half an hour on one core)

Digits 0-4 and 5-9 in turn, every 100 updates, as examples/returning_digits.py has them: updates
until nine in ten unseen pictures are right again, mean over visits 5 to 20. Every method of
``bennafusi.rivals`` that stands around an optimiser and needs no more than the gradient, and the
chain, stand around the Adam that was best there alone (b2 0.99). Each has fifteen points: three
rates, and five strengths a factor of ten apart around its usual one, of which those are left out
that it refuses; Adam alone has fifteen rates.

The rule, written before any of it was run: the point with the fewest updates on seeds 0 to 2 is
judged on seeds 20 to 29, which the example has not had. One method is before another if the 95%
interval of their difference over these seeds, by pairs, excludes 0; else they are a tie.

Writes ``returning-rivals.json`` and ``.png``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import optax
from jax import Array

from bennafusi.experiments.agent_styles import styles
from bennafusi.metrics import interval
from bennafusi.rivals.catalogue import METHODS, Given

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import returning_digits as digits

TUNING, JUDGING = range(3), range(20, 30)
RATES = (3e-3, 1e-2, 3e-2)
FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)  # of a method's usual strength
MORE_RATES = tuple(float(f"{1e-3 * 10 ** (k / 7):.3g}") for k in range(15))  # 0.001 to 0.1
B2 = 0.99
MINE, ALONE = "benna-fusi", "control"
# Others must be told activations, a boundary or a second gradient.
COMPARED = tuple(name for name, method in METHODS.items() if not method.needs)


def grid(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Strengths and rates that a method is tried with."""
    if name == ALONE:
        return (1.0,), MORE_RATES
    strengths = [float(f"{METHODS[name].strength * factor:.6g}") for factor in FACTORS]
    return tuple(s for s in strengths if _taken(name, s)), RATES


def _taken(name: str, strength: float) -> bool:
    """Whether a method takes such a strength."""
    try:
        _optimizer(name, strength, 1e-3)
    except ValueError:
        return False
    return True


def _optimizer(name: str, strength: Any, rate: Any) -> optax.GradientTransformation:
    adam = optax.adam(rate, b2=B2)
    return METHODS[name].around(Given(adam, jax.random.key(0), rate), strength)


def _by_seed(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """Parameters have the seeds in front, and a method may look at all of its parameters."""
    return optax.GradientTransformation(jax.vmap(optimizer.init), jax.vmap(optimizer.update))


def updates(
    name: str, points: list[tuple[float, float]], seeds: range, visit: int = digits.VISIT
) -> np.ndarray:
    """Updates to relearn, ``[points, seeds]``, where the task changes every ``visit`` updates."""
    read = jax.vmap(METHODS[name].read)

    def one(strength: Any, rate: Array, seeds: Array) -> Array:
        return digits.learn(_by_seed(_optimizer(name, strength, rate)), seeds, read, visit)

    # Some strengths must be known before compiling; rates never.
    run = jax.jit(one, static_argnums=0 if METHODS[name].fixed else ())
    found = []
    for strength, rate in points:
        right = np.asarray(run(strength, jnp.float32(rate), jnp.asarray(seeds)))
        visits = right.reshape(digits.VISITS, visit, -1)[digits.LATER :]
        found.append(digits.relearning(visits))
    return np.array(found)


def tuned(name: str, run: Any = updates) -> dict[str, Any]:
    """The point that was best on the tuning seeds, and what it does on the others."""
    strengths, rates = grid(name)
    points = [(strength, rate) for strength in strengths for rate in rates]
    means = run(name, points, TUNING).mean(axis=1)
    best = int(np.argmin(means))
    strength, rate = points[best]
    edge = rate in (min(rates), max(rates)) or (
        len(strengths) > 1 and strength in (min(strengths), max(strengths))
    )
    return {
        "strength": strength,
        "rate": rate,
        "at an edge of the grid": edge,
        "tuning": round(float(means[best]), 3),
        "points": len(points),
        "updates": [round(float(x), 3) for x in run(name, [points[best]], JUDGING)[0]],
    }


def against(found: dict[str, dict[str, Any]], other: str) -> dict[str, list[float]]:
    """Of each method the mean difference to another, with its interval over seeds."""
    theirs = np.array(found[other]["updates"])
    return {
        name: [round(x, 3) for x in interval(np.array(one["updates"]) - theirs)]
        for name, one in found.items()
    }


def draw(found: dict[str, dict[str, Any]]) -> plt.Figure:
    """Updates to relearn of every method, the quickest above; a point for each seed."""
    order = sorted(found, key=lambda name: -np.mean(found[name]["updates"]))
    with matplotlib.rc_context({"font.size": 9}):
        figure = plt.figure(figsize=(7, 4.2), layout="constrained")
        axes, agents = figure.subplots(), styles(order)
        for height, name in enumerate(order):
            numbers = found[name]["updates"]
            colour = agents[name].colour
            axes.plot(numbers, [height] * len(numbers), "o", ms=3, alpha=0.35, color=colour)
            axes.plot(np.mean(numbers), height, "|", ms=13, mew=2.2, color=colour)
        axes.set_yticks(range(len(order)), order)
        axes.set_xlabel("updates until nine in ten unseen pictures are right again")
        axes.set_xlim(left=0)
        axes.grid(True, axis="x", color="0.9", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def main(folder: Path) -> None:
    """Tune, judge, print, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in COMPARED:
        found[name] = tuned(name)
        one = found[name]
        means = f"{np.mean(one['updates']):.2f} ({one['tuning']:.2f} on the tuning seeds)"
        print(f"{name}: {means}, strength {one['strength']:g}, rate {one['rate']:g}", flush=True)
    gaps = {f"against {name}": against(found, name) for name in (MINE, ALONE)}
    text = json.dumps({"methods": found, **gaps}, indent=1)
    (folder / "returning-rivals.json").write_text(text + "\n")
    draw(found).savefig(folder / "returning-rivals.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))
