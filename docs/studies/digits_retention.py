"""Retention on split digits: which depth keeps all classes, and would an average of weights do?

python docs/studies/digits_retention.py [FOLDER]      (some minutes on one core)

One network learns pairs of digits in turn; how many updates each pair has is the rhythm. At the end
of the last five turns, all ten digits are asked for: of every depth of a chain, of moving averages
of the plain weights at five timescales, and of Lookahead's slow weights. Learning rates, the
chain's g12 and Lookahead's numbers are chosen on seeds 0 and 1 from equally many, each by its best
read-out over all rhythms; seeds 10 to 19 judge. Writes ``digits-retention.json`` and ``.png``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import optax
from jax import Array, lax
from numpy.typing import NDArray

from bennafusi import Chain, beakers, consolidate
from bennafusi.metrics import interval
from bennafusi.rivals import lookahead

Float64 = NDArray[np.float64]
Tree = Any
TASKS, BATCH, HIDDEN, TRAIN, TEST = 5, 32, 64, 250, 90
UPDATES = 6_000
RHYTHMS = (10, 30, 100, 300)  # updates of a task before the next one
RATES = (0.03, 0.1, 0.3, 1.0)  # of plain SGD
TUNING, JUDGING = range(2), range(10, 20)
AVERAGES = (30, 100, 300, 1000, 3000)  # updates
CHAINS = {f"1/g12 = {t}": Chain(n=6, g12=1 / t, gated=False) for t in AVERAGES}
LOOKAHEADS = ((5, 0.5), (10, 0.1), (100, 0.5), (100, 0.1), (300, 0.1))  # period, step size


class Learner(NamedTuple):
    """A way to learn, and the networks that it has to show.

    Attributes:
        names: of what is read out, the weight first.
        start: from a rate and parameters to a state.
        update: from a rate, gradients, state and parameters to state and parameters.
        read: from state and parameters to parameters with an axis of read-outs in front.
    """

    names: tuple[str, ...]
    start: Callable[[Array, Tree], Tree]
    update: Callable[[Array, Tree, Tree, Tree], tuple[Tree, Tree]]
    read: Callable[[Tree, Tree], Tree]


def wrapped(
    around: Callable[[Any], Any], names: tuple[str, ...], read: Callable[[Tree, Tree], Tree]
) -> Learner:
    """An optax transformation around SGD."""

    def update(rate: Array, grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        updates, state = around(optax.sgd(rate)).update(grads, state, params)
        return state, optax.apply_updates(params, updates)

    return Learner(names, lambda rate, p: around(optax.sgd(rate)).init(p), update, read)


def of_chain(chain: Chain) -> Learner:
    """Read out at every depth."""
    names = ("weight", *(f"beaker {k}" for k in range(2, chain.n + 1)))
    return wrapped(lambda sgd: consolidate(sgd, chain), names, lambda state, p: beakers(state))


def of_lookahead(period: int, step_size: float) -> Learner:
    """Read out fast and slow."""
    return wrapped(
        lambda sgd: lookahead(sgd, period=period, step_size=step_size),
        ("weight", "slow"),
        lambda state, p: jax.tree.map(lambda *x: jnp.stack(x), p, state.slow),
    )


def of_averages() -> Learner:
    """Plain SGD, read out as moving averages."""
    shares = 1 / jnp.asarray(AVERAGES, jnp.float32)

    def update(rate: Array, grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        params = jax.tree.map(lambda p, g: p - rate * g, params, grads)

        def nearer(mean: Array, p: Array) -> Array:
            return mean + shares.reshape(-1, *[1] * p.ndim) * (p[None] - mean)

        return jax.tree.map(nearer, state, params), params

    def start(rate: Array, params: Tree) -> Tree:
        return jax.tree.map(lambda p: jnp.stack([p] * len(AVERAGES)), params)

    names = ("weight", *(f"average over {t:,}" for t in AVERAGES))
    return Learner(names, start, update, lambda s, p: jax.tree.map(_joined, p, s))


def _joined(weight: Array, others: Array) -> Array:
    return jnp.concatenate([weight[None], others])


def split_digits() -> tuple[Array, ...]:
    """Pictures and digits for training and testing, each ``[tasks, examples, ...]``."""
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    pictures, digits = (pictures[order] / 16).astype(np.float32), digits[order]
    rows = [np.flatnonzero(digits // 2 == task)[: TRAIN + TEST] for task in range(TASKS)]
    x, y = (jnp.asarray(np.stack([a[r] for r in rows])) for a in (pictures, digits))
    return x[:, :TRAIN], y[:, :TRAIN], x[:, TRAIN:], y[:, TRAIN:]


def network(params: Tree, x: Array) -> Array:
    """Two layers."""
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def newborn(key: Array) -> Tree:
    """Parameters before the first update."""
    one, two = jax.random.split(key)
    return {
        "w1": jax.random.normal(one, (64, HIDDEN)) / 8,
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(two, (HIDDEN, 10)) / HIDDEN**0.5,
        "b2": jnp.zeros(10),
    }


def measure(learner: Learner) -> Callable[[Array, Array, Array], Array]:
    """A compiled function of keys, rhythm and rates: accuracies, ``[rates, keys, names]``.

    On all digits, and the mean over the last turn of every task: what came last is known best.
    """
    x, y, test_x, test_y = split_digits()

    def loss(params: Tree, rows: Array, task: Array) -> Array:
        wrong = optax.softmax_cross_entropy_with_integer_labels
        return wrong(network(params, x[task, rows]), y[task, rows]).mean()

    def accuracy(params: Tree) -> Array:
        return (network(params, test_x).argmax(-1) == test_y).mean()

    def one(key: Array, rhythm: Array, rate: Array) -> Array:
        params = newborn(jax.random.fold_in(key, 0))

        def update(step: Array, now: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
            state, params = now
            rows = jax.random.randint(jax.random.fold_in(key, step + 1), (BATCH,), 0, TRAIN)
            grads = jax.grad(loss)(params, rows, step // rhythm % TASKS)
            return learner.update(rate, grads, state, params)

        def turn(carry: tuple[Array, tuple[Tree, Tree]], left: Array) -> Any:
            end = UPDATES - left * rhythm
            now = lax.fori_loop(carry[0], end, update, carry[1])
            return (end, now), jax.vmap(accuracy)(learner.read(*now))

        first = (jnp.int32(0), (learner.start(rate, params), params))
        left = jnp.arange(TASKS - 1, -1, -1, dtype=jnp.int32)
        return lax.scan(turn, first, left)[1].mean(0)

    return jax.jit(jax.vmap(jax.vmap(one, (0, None, None)), (None, None, 0)))


def tables(
    run: Callable[[Array, Array, Array], Array], rates: tuple[float, ...], seeds: range
) -> list[dict[str, list[list[float]]]]:
    """For each rate the accuracies by rhythm, ``[seeds][names]``."""
    keys = jax.vmap(jax.random.key)(jnp.array(seeds))
    found = {
        str(rhythm): np.asarray(run(keys, jnp.int32(rhythm), jnp.asarray(rates, jnp.float32)))
        for rhythm in RHYTHMS
    }
    return [{r: x[place].tolist() for r, x in found.items()} for place in range(len(rates))]


class Chosen(NamedTuple):
    """The settings that did best on the seeds for choosing, and what they do on the others."""

    settings: str
    rate: float
    names: tuple[str, ...]
    tuning: dict[str, list[list[float]]]
    judging: dict[str, list[list[float]]]


def mean_of(found: dict[str, list[list[float]]]) -> Float64:
    """Over rhythms and seeds, by name."""
    return np.mean([np.mean(rows, axis=0) for rows in found.values()], axis=0)


def best(candidates: dict[str, Learner]) -> Chosen:
    """Choose by the best read-out over all rhythms, then judge."""
    tried = []
    for settings, learner in candidates.items():
        run = measure(learner)
        for rate, tuning in zip(RATES, tables(run, RATES, TUNING), strict=True):
            top = float(mean_of(tuning)[1:].max())
            print(f"{settings}, rate {rate:g}: {top:.3f}", flush=True)
            tried.append((top, settings, rate, learner.names, tuning, run))
    _, settings, rate, names, tuning, run = max(tried, key=lambda row: row[0])
    return Chosen(settings, rate, names, tuning, tables(run, (rate,), JUDGING)[0])


def compared(mine: Chosen, other: Chosen) -> dict[str, Any]:
    """One read-out for all rhythms, and one for each; chosen on the first seeds, by pairs."""

    def gap(places: list[tuple[int, int]]) -> list[float]:
        rows = [
            np.array(mine.judging[rhythm])[:, a] - np.array(other.judging[rhythm])[:, b]
            for rhythm, (a, b) in zip(mine.judging, places, strict=True)
        ]
        return [round(x, 4) for x in interval(np.mean(rows, axis=0))]

    fixed = [1 + int(np.argmax(mean_of(c.tuning)[1:])) for c in (mine, other)]
    each = [
        tuple(1 + int(np.argmax(np.mean(c.tuning[r], axis=0)[1:])) for c in (mine, other))
        for r in mine.judging
    ]
    return {
        "fixed": [c.names[k] for c, k in zip((mine, other), fixed, strict=True)],
        "gap of the fixed ones over all rhythms": gap([(fixed[0], fixed[1])] * len(each)),
        "each": {
            r: [mine.names[a], other.names[b]] for r, (a, b) in zip(mine.judging, each, strict=True)
        },
        "gap of those for each rhythm, mean": gap(each),
        "gap of the fixed one to those for each rhythm": gap([(fixed[0], b) for _, b in each]),
    }


def study() -> dict[str, Any]:
    """All numbers of the finding."""
    chain = best({name: of_chain(chain) for name, chain in CHAINS.items()})
    averages = best({"moving averages": of_averages()})
    slow = best({f"period {p}, step size {s:g}": of_lookahead(p, s) for p, s in LOOKAHEADS})
    return {
        "chain": chain._asdict(),
        "averages": averages._asdict(),
        "lookahead": slow._asdict(),
        "timescales": CHAINS[chain.settings].timescales.tolist(),
        "against averages": compared(chain, averages),
        "against lookahead": compared(chain, slow),
    }


def draw(found: dict[str, Any]) -> plt.Figure:
    """Accuracy of every read-out at every rhythm."""
    titles = {
        "chain": f"chain, {found['chain']['settings']}",
        "averages": "plain weights, moving averages",
        "lookahead": f"Lookahead, {found['lookahead']['settings']}",
    }
    with matplotlib.rc_context({"font.size": 9}):
        figure = plt.figure(figsize=(11, 3.2), layout="constrained")
        panels = figure.subplots(1, 3)
        for axes, (name, title) in zip(panels, titles.items(), strict=True):
            mean = np.array([np.mean(rows, axis=0) for rows in found[name]["judging"].values()]).T
            image = axes.imshow(mean, vmin=0, vmax=1, cmap="viridis", aspect="auto")
            for (row, column), value in np.ndenumerate(mean):
                ink = "black" if value > 0.6 else "white"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink)
            labels = list(found[name]["names"])
            if name == "chain":
                times = found["timescales"]
                labels = [f"{x} ({t:,.0f})" for x, t in zip(labels, times, strict=True)]
            axes.set_yticks(range(len(labels)), labels)
            axes.set_xticks(range(len(RHYTHMS)), [str(rhythm) for rhythm in RHYTHMS])
            axes.set_xlabel("updates of a task in a row")
            axes.set_title(f"{title}\nrate {found[name]['rate']:g}", fontsize=9)
        figure.colorbar(image, ax=panels, label="accuracy on all digits", aspect=18)
        return figure


def main(folder: Path) -> None:
    """Study, print, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    found = study()
    (folder / "digits-retention.json").write_text(json.dumps(found) + "\n")
    for name in ("against averages", "against lookahead"):
        print(f"{name}: {json.dumps(found[name])}")
    draw(found).savefig(folder / "digits-retention.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))
