"""A small sweep over n and g12: how well a chain learns the new, and how much it keeps of the old.

A linear model learns task A, then task B that contradicts it. Printed is what is left of each: 1 is
a task as good as learnt, 0 is as bad as not having learnt it. First for the weight after B, then
for the weight after a rest in which nothing is learnt and the beakers flow back.

python examples/sweep.py
"""

import argparse
import itertools

import jax
import jax.numpy as jnp
import optax

from bennafusi import Chain, consolidate

UPDATES, REST, RATE = 300, 300, 0.05


def score(weights: jax.Array, task: jax.Array) -> jax.Array:
    """1 at the task's own weights, 0 at none."""
    return 1 - jnp.mean(jnp.sum((weights - task) ** 2, -1) / jnp.sum(task**2, -1))


def learnt(chain: Chain, key: jax.Array) -> jax.Array:
    """Scores of A and B after B, and of A and B after the rest."""
    # Eight pairs of tasks at once: chains are elementwise, so they fit into one array of weights.
    task_a, task_b = jax.random.normal(key, (2, 8, 50))
    optimizer = consolidate(optax.sgd(RATE), chain)

    def update(carry, now):
        weights, state = carry
        in_b, learning = now
        target = jnp.where(in_b, task_b, task_a)
        updates, state = optimizer.update(learning * (weights - target), state, weights)
        weights = optax.apply_updates(weights, updates)
        return (weights, state), jnp.stack([score(weights, task_a), score(weights, task_b)])

    time = jnp.arange(2 * UPDATES + REST)
    now = (time >= UPDATES, (time < 2 * UPDATES).astype(jnp.float32))
    weights = jnp.zeros((8, 50))
    _, scores = jax.lax.scan(update, (weights, optimizer.init(weights)), now)
    return scores[jnp.array([2 * UPDATES - 1, -1])].ravel()


def main() -> None:
    """Sweep, and print a row for each chain."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--g12", type=float, nargs="+", default=[0.1, 0.01, 0.001])
    options = parser.parse_args()
    print("               after B          after a rest")
    print("  n   g12      old A   new B    old A   new B")
    plain = Chain(1, 0.1, leak=False)
    chains = [
        plain,
        *(Chain(n, g12, gated=False) for n, g12 in itertools.product(options.n, options.g12)),
    ]
    for chain in chains:
        scores = jax.jit(learnt, static_argnums=0)(chain, jax.random.key(0))
        name = f"{chain.n:3}   {chain.g12:<6g}" if chain.flows else "  no chain  "
        print(name, "".join(f"{s:8.2f}" for s in scores))


if __name__ == "__main__":
    main()
