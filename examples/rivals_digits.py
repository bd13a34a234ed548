"""Split digits with several ways to remember, each one line: how to compare them, not who wins.

Strengths are not tuned here; a fair comparison tunes each of them, and the rate, by one rule.

python examples/rivals_digits.py --seeds 5
"""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from split_digits_optax import BATCH, ROUND, TASKS, TRAIN, UPDATES, network, split_digits, start

from bennafusi import Chain, consolidate, metrics, rivals

RATE, KEY = 0.1, jax.random.key(0)
HIDDEN = [rivals.Units("w1", "w2", bias="b1", next_bias="b2")]


def methods(rounds: int) -> dict[str, optax.GradientTransformation]:
    """One line each."""
    sgd, total = optax.sgd(RATE), rounds * ROUND
    return {
        "nothing": sgd,
        "chain": consolidate(sgd, Chain.covering(ROUND, 4 * total, gated=False)),
        "slow weights": rivals.slow_weights(sgd, g12=1 / ROUND),
        "annealed": rivals.annealed(sgd, Chain(8, 1 / ROUND)),
        "L2 to the start": rivals.l2_init(sgd, strength=1e-3),
        "online EWC": rivals.online_ewc(sgd, strength=10.0),
        "synaptic intelligence": rivals.synaptic_intelligence(sgd, strength=0.1),
        "... told boundaries": rivals.synaptic_intelligence_with_boundaries(sgd, strength=0.1),
        "UPGD": rivals.upgd(sgd, noise=1e-4, key=KEY),
        "hare and tortoise": rivals.hare_and_tortoise(sgd, step_size=1 / ROUND, period=UPDATES),
        "shrink and perturb": rivals.shrink_and_perturb(sgd, decay=1e-5, noise=1e-4, key=KEY),
        "ReDo": rivals.redo(sgd, HIDDEN, key=KEY, period=UPDATES),
    }


def learn(optimizer, key, tasks, data):
    """Accuracy on every task before training and after each epoch, ``[epochs + 1, tasks]``."""
    x, y, test_x, test_y = data
    tell = optax.with_extra_args_support(optimizer).update

    def loss(params, x, y):
        hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
        error = optax.softmax_cross_entropy_with_integer_labels(network(params, x), y)
        return error.mean(), [hidden]

    def update(carry, now):
        (params, state), (task, first, key) = carry, now
        rows = jax.random.randint(key, (BATCH,), 0, TRAIN)
        grads, seen = jax.grad(loss, has_aux=True)(params, x[task, rows], y[task, rows])
        updates, state = tell(grads, state, params, activations=seen, boundary=first)
        return (optax.apply_updates(params, updates), state), None

    def epoch(carry, now):
        task, key = now
        keys = jax.random.split(key, UPDATES)
        steps = (jnp.full(UPDATES, task), jnp.arange(UPDATES) == 0, keys)
        carry, _ = jax.lax.scan(update, carry, steps)
        return carry, accuracy(carry[0])

    def accuracy(params):
        return (network(params, test_x).argmax(-1) == test_y).mean(-1)

    params = start(key)
    keys = jax.random.split(jax.random.fold_in(key, 1), len(tasks))
    _, scores = jax.lax.scan(epoch, (params, optimizer.init(params)), (tasks, keys))
    return jnp.concatenate([accuracy(params)[None], scores])


def main() -> None:
    """Print what each method knows at the end, and what it forgot, over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", nargs="*", help="some of the methods, by name")
    given = parser.parse_args()
    trained = list(range(TASKS)) * given.rounds
    data = tuple(map(jnp.asarray, split_digits()))
    print(f"{'':24}accuracy on all tasks at the end | lost since each one's last epoch")
    all_of_them = methods(given.rounds)
    for name in given.only or all_of_them:
        run = jax.jit(partial(learn, all_of_them[name], tasks=jnp.array(trained), data=data))
        tables = [np.asarray(run(key=jax.random.key(seed))) for seed in range(given.seeds)]
        known = metrics.interval([metrics.average_performance(t) for t in tables])
        lost = metrics.interval([metrics.forgetting_from_end(t, trained).mean() for t in tables])
        numbers = (f"{i.value:.2f} [{i.low:.2f}, {i.high:.2f}]" for i in (known, lost))
        print(f"{name:24}" + " | ".join(f"{text:32}" for text in numbers).rstrip())


if __name__ == "__main__":
    main()
