"""What the short examples learn: scikit-learn's digits in three streams, and a small network.

Each stream is an iterator of batches, and what to be tested with in the end: pictures that are not
in it. In place of all this take data, a network and a loss of your own.
"""

import sys
from collections.abc import Iterator

import jax
import numpy as np
import optax
from sklearn.datasets import load_digits

SEED = int(sys.argv[1]) if sys.argv[1:] else 10
ORDER = np.random.default_rng(SEED).permutation(1797)
X, Y = (a[ORDER] for a in load_digits(return_X_y=True))
X = (X / 16).astype(np.float32)
LEARN, TEST = np.arange(1400), np.arange(1400, 1797)

Batch = tuple[np.ndarray, np.ndarray]


def once() -> tuple[Iterator[Batch], Batch]:
    """One picture at a time, each once."""
    return ((X[i], Y[i]) for i in LEARN), (X[TEST], Y[TEST])


def in_turn(visits: int = 20, length: int = 100) -> tuple[Iterator[Batch], Batch, Batch]:
    """Digits 0-4 and 5-9 in turn, 32 a batch; tests of the last task and of the one before."""
    rng, turns = np.random.default_rng(SEED), np.arange(visits * length) // length % 2
    tasks = [LEARN[Y[LEARN] // 5 == task] for task in (0, 1)]
    batches = (rng.choice(tasks[turn], 32) for turn in turns)
    new, old = (TEST[(Y[TEST] // 5 == turns[-1]) == same] for same in (True, False))
    return ((X[b], Y[b]) for b in batches), (X[new], Y[new]), (X[old], Y[old])


def drifting(fades: int = 4, length: int = 500) -> tuple[Iterator[Batch], Batch, Batch]:
    """One order of the pixels fades into the next; tests of the last one and of that before."""
    rng = np.random.default_rng(SEED)
    orders = [rng.permutation(64) for _ in range(fades + 1)]

    def faded(rows: np.ndarray, time: int) -> Batch:
        fade, part = divmod(time, length)
        here, there = (X[rows][:, order] for order in orders[fade : fade + 2])
        return here + np.float32(part / length) * (there - here), Y[rows]

    batches = (faded(rng.choice(LEARN, 32), time) for time in range(fades * length))
    new, old = ((X[TEST][:, orders[k]], Y[TEST]) for k in (-1, -2))
    return batches, new, old


def start() -> list[jax.Array]:
    """Weights of 64 hidden units and ten answers."""
    keys = jax.random.split(jax.random.key(SEED))
    return [jax.random.normal(k, (64, size)) / 8 for k, size in zip(keys, (64, 10), strict=True)]


def scores(params: list[jax.Array], x: jax.Array) -> jax.Array:
    """Ten numbers for each picture."""
    return jax.nn.relu(x @ params[0]) @ params[1]


def loss(params: list[jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    """Mean cross-entropy."""
    return optax.softmax_cross_entropy_with_integer_labels(scores(params, x), y).mean()


def wrong(params: list[jax.Array], tests: list[Batch]) -> list[str]:
    """Share of wrong answers in each test, to print."""
    return [f"{(scores(params, x).argmax(-1) != y).mean():.2f}" for x, y in tests]
