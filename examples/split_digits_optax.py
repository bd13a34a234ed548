"""Split digits in optax: five tasks in turn, and what weight and beakers know of the old ones.

One network learns 0 and 1, then 2 and 3, and so on, and then begins again. All ten digits share one
output layer, and nobody says which task it is: while one is learnt, the others are overwritten. The
weight forgets, with a chain and without; what helps is to read something slower than the weight. A
running average of plain weights does that best, a chain's second beaker nearly as well.

python examples/split_digits_optax.py
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

from bennafusi import Chain, beakers, consolidate

TASKS, ROUNDS, UPDATES, BATCH = 5, 4, 50, 32  # 50 updates on each task, four times over
TRAIN, TEST = 250, 90  # examples per task
ROUND = TASKS * UPDATES  # updates until a task comes back


def split_digits() -> tuple[np.ndarray, ...]:
    """Pictures and digits for training and testing, each ``[tasks, examples, ...]``."""
    pictures, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    pictures, digits = (pictures[order] / 16).astype(np.float32), digits[order]
    rows = [np.flatnonzero(digits // 2 == task)[: TRAIN + TEST] for task in range(TASKS)]
    x, y = np.stack([pictures[r] for r in rows]), np.stack([digits[r] for r in rows])
    return x[:, :TRAIN], y[:, :TRAIN], x[:, TRAIN:], y[:, TRAIN:]


def network(params: dict, x: jax.Array) -> jax.Array:
    """Two layers."""
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def start(key: jax.Array, hidden: int = 64) -> dict:
    """Parameters at birth."""
    one, two = jax.random.split(key)
    return {
        "w1": jax.random.normal(one, (64, hidden)) / 8,
        "b1": jnp.zeros(hidden),
        "w2": jax.random.normal(two, (hidden, 10)) / hidden**0.5,
        "b2": jnp.zeros(10),
    }


def loss(params: dict, x: jax.Array, y: jax.Array) -> jax.Array:
    """Cross-entropy over all ten digits."""
    return optax.softmax_cross_entropy_with_integer_labels(network(params, x), y).mean()


def learn_all(optimizer: optax.GradientTransformation, key: jax.Array, x, y):
    """All tasks in turn: parameters, their running average, and the optimiser's state."""
    params = start(key)
    state = optimizer.init(params)
    task_of = jnp.tile(jnp.repeat(jnp.arange(TASKS), UPDATES), ROUNDS)

    def update(carry, now):
        (params, average, state), (task, key) = carry, now
        rows = jax.random.randint(key, (BATCH,), 0, TRAIN)
        grads = jax.grad(loss)(params, x[task, rows], y[task, rows])
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        average = jax.tree.map(lambda a, p: a + (p - a) / ROUND, average, params)
        return (params, average, state), None

    keys = jax.random.split(jax.random.fold_in(key, 1), len(task_of))
    return jax.lax.scan(update, (params, params, state), (task_of, keys))[0]


def main() -> None:
    """Train with and without a chain, and print the accuracy on each task at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    x, y, test_x, test_y = map(jnp.asarray, split_digits())

    def accuracy(params: dict) -> jax.Array:
        return (network(params, test_x).argmax(-1) == test_y).mean(-1)

    # The shortest timescale is one round of tasks, the longest a few times the whole run.
    chain = Chain.covering(shortest=ROUND, longest=4 * ROUNDS * ROUND, gated=False)
    plain, chained = optax.sgd(0.1), consolidate(optax.sgd(0.1), chain)

    @jax.jit
    def trial(key: jax.Array) -> dict[str, jax.Array]:
        params, average, _ = learn_all(plain, key, x, y)
        found = {"no chain": accuracy(params), "no chain, weights averaged": accuracy(average)}
        params, _, state = learn_all(chained, key, x, y)
        found["chain"] = accuracy(params)
        by_beaker = jax.vmap(accuracy)(beakers(state))
        return found | {f"chain, beaker {k + 1}": by_beaker[k] for k in range(1, chain.n)}

    trials = [trial(jax.random.key(seed)) for seed in range(seeds)]
    print(chain)
    print(f"accuracy after {ROUNDS} rounds of {TASKS} tasks, mean of {seeds} seeds")
    print(f"{'':26}    0/1    2/3    4/5    6/7    8/9 | old tasks")
    for name in sorted(trials[0], reverse=True):
        mean = np.mean([t[name] for t in trials], axis=0)
        row = "".join(f"{value:7.2f}" for value in mean)
        print(f"{name:26}{row} | {mean[:-1].mean():.2f}")


if __name__ == "__main__":
    main()
