"""Digits learnt in turn, as one compiled program: many networks at once, scores as they go."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from numpy.typing import NDArray

from bennafusi.rivals.catalogue import METHODS, Given
from bennafusi.rivals.units import Units

PIXELS, DIGITS, TASKS = 64, 10, 5
TRAIN, TEST = 1250, 450  # rows of each task; those of two digits alone are there five times
LAYERS = (Units("w1", "w2", bias="b1", next_bias="b2"),)
Float32 = NDArray[np.float32]


class Stream(NamedTuple):
    """What a network is to learn, in which order; many of them with a leading axis."""

    train: NDArray[np.int32]  # rows of the pictures to learn each task from, [tasks, TRAIN]
    test: NDArray[np.int32]  # rows to judge it by, [tasks, TEST]
    pixels: NDArray[np.int32]  # the order in which each task has the pixels, [tasks, PIXELS]
    task: NDArray[np.int32]  # of every update, [updates]


class Learnt(NamedTuple):
    """What became of the networks, with leading axes of strengths, rates and streams."""

    # Accuracy on every task at the start and after every so many updates, [looks + 1, tasks].
    scores: Any
    hidden: Any  # activations of the last network on the tests of all tasks, after the ReLU
    norm: Any  # Euclidean norm of its weights
    moved: Any  # distance of its weights from where they began


@cache
def pictures() -> tuple[Float32, NDArray[np.int32]]:
    """All pictures ``[examples, PIXELS]`` in a fixed random order, and their digits."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return (x[order] / 16).astype(np.float32), y[order].astype(np.int32)


def stream(problem: str, visit: int, updates: int, seed: int) -> Stream:
    """One problem in one rhythm.

    Args:
        problem: ``"split"``, two digits in each task, or ``"permuted"``, all ten digits with the
            pixels of each task in an order of its own, which the seed draws.
        visit: updates on a task until the next one has its turn.
        updates: in all.
        seed: of the orders.
    """
    _, digits = pictures()
    rng = np.random.default_rng(seed)
    if problem == "split":
        mine = [np.flatnonzero(digits // 2 == task) for task in range(TASKS)]
        pixels = [np.arange(PIXELS)] * TASKS
    else:
        mine = [np.arange(len(digits))] * TASKS
        pixels = [rng.permutation(PIXELS) for _ in range(TASKS)]
    few = min(map(len, mine))
    held = few * TEST // (TRAIN + TEST)
    return Stream(
        np.stack([np.resize(rows[held:few], TRAIN) for rows in mine]).astype(np.int32),
        np.stack([np.resize(rows[:held], TEST) for rows in mine]).astype(np.int32),
        np.stack(pixels).astype(np.int32),
        (np.arange(updates) // visit % TASKS).astype(np.int32),
    )


@partial(jax.jit, static_argnames=("name", "strengths", "hidden", "batch", "look"))
def learn(
    name: str,
    strengths: tuple[float, ...],
    rates: Array,
    streams: Stream,
    data: tuple[Array, Array],
    key: Array,
    *,
    hidden: int,
    batch: int,
    look: int,
) -> Learnt:
    """Networks for all strengths, rates and streams, from birth to the end.

    The key, of start and batches, is the same for all of them.
    """
    one = partial(_learn, name, data, key, hidden=hidden, batch=batch, look=look)
    every = jax.vmap(jax.vmap(one, (None, None, 0)), (None, 0, None))
    if METHODS[name].fixed:
        found = [every(strength, rates, streams) for strength in strengths]
        stacked: Learnt = jax.tree.map(lambda *leaves: jnp.stack(leaves), *found)
        return stacked
    several: Learnt = jax.vmap(every, (0, None, None))(jnp.array(strengths), rates, streams)
    return several


def _learn(
    name: str,
    data: tuple[Array, Array],
    key: Array,
    strength: Any,
    rate: Array,
    given: Stream,
    *,
    hidden: int,
    batch: int,
    look: int,
) -> Learnt:
    method = METHODS[name]
    born, own, draws = jax.random.split(key, 3)
    optimizer = _optimizer(name, own, strength, rate)
    first = _start(born, hidden)
    x, y = data

    def shown(rows: Array, task: Array) -> Array:
        return x[rows][:, given.pixels[task]]

    def update(carry: Any, now: Any) -> Any:
        (params, state), (task, switched, key) = carry, now
        rows = given.train[task, jax.random.randint(key, (batch,), 0, TRAIN)]
        seen, grads = jax.value_and_grad(_loss, has_aux=True)(params, shown(rows, task), y[rows])
        told = {
            "activations": [seen[1]],
            "output_grads": jax.grad(_size)(params, shown(rows, task)),
            "boundary": switched,
        }
        steps, state = optimizer.update(grads, state, params, **told)
        return (optax.apply_updates(params, steps), state), None

    def score(carry: Any) -> Array:
        params = method.read(carry[1], carry[0])

        def accuracy(task: Array, rows: Array) -> Array:
            said = _forward(params, shown(rows, task))[0]
            return jnp.mean((said.argmax(-1) == y[rows]).astype(jnp.float32))

        return jax.vmap(accuracy)(jnp.arange(TASKS), jnp.asarray(given.test))

    def stretch(carry: Any, now: Any) -> Any:
        carry, _ = jax.lax.scan(update, carry, now)
        return carry, score(carry)

    steps = _steps(given, draws, look)
    begin = (first, optimizer.init(first))
    (params, state), scores = jax.lax.scan(stretch, begin, steps)
    last = method.read(state, params)
    seen = jax.vmap(lambda task, rows: _forward(last, shown(rows[:90], task))[1])(
        jnp.arange(TASKS), given.test
    )
    away = jax.tree.map(lambda a, b: a - b, last, first)
    scores = jnp.concatenate([score(begin)[None], scores])
    return Learnt(scores, seen.reshape(-1, hidden), optax.tree.norm(last), optax.tree.norm(away))


def outline(name: str, hidden: int) -> Any:
    """Shapes and dtypes of one network, and of all that its method keeps."""

    def begin(key: Array, rate: Array) -> Any:
        first = _start(key, hidden)
        return first, _optimizer(name, key, METHODS[name].strength, rate).init(first)

    return jax.eval_shape(begin, jax.random.key(0), jnp.float32(1e-3))


def _optimizer(
    name: str, key: Array, strength: Any, rate: Array
) -> optax.GradientTransformationExtraArgs:
    given = Given(optax.adam(rate), key, rate, LAYERS)
    return optax.with_extra_args_support(METHODS[name].around(given, strength))


def _steps(given: Stream, key: Array, look: int) -> Any:
    """Task, whether it is a new one, and key of every update, in rows of one look each."""
    switched = jnp.concatenate([jnp.zeros(1, bool), given.task[1:] != given.task[:-1]])
    every = (given.task, switched, jax.random.split(key, given.task.size))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, look, *leaf.shape[1:]), every)


def _start(key: Array, hidden: int) -> dict[str, Array]:
    one, two = jax.random.split(key)
    return {
        "w1": jax.random.normal(one, (PIXELS, hidden)) / PIXELS**0.5,
        "b1": jnp.zeros(hidden),
        "w2": jax.random.normal(two, (hidden, DIGITS)) / hidden**0.5,
        "b2": jnp.zeros(DIGITS),
    }


def _forward(params: dict[str, Array], x: Array) -> tuple[Array, Array]:
    """Logits of all ten digits, and hidden activations."""
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"][None])
    return hidden @ params["w2"] + params["b2"][None], hidden


def _loss(params: dict[str, Array], x: Array, y: Array) -> tuple[Array, Array]:
    logits, hidden = _forward(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), hidden


def _size(params: dict[str, Array], x: Array) -> Array:
    """Of the output: what MAS takes the gradient of."""
    return jnp.mean(jnp.sum(_forward(params, x)[0] ** 2, axis=-1))
