"""A Gymnasium task of your own, and a table of values that is a table of chains.

The task is an ordinary ``gymnasium.Env``: a corridor whose reward changes ends. The agent is
Q-learning; its table is a parameter like any other, so that ``consolidate`` gives it chains.

python examples/gymnasium_task.py
"""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from bennafusi import Chain, beakers, consolidate

CELLS, EPISODES, EPOCHS = 7, 60, 6


class Corridor(gymnasium.Env):
    """Walk left or right from the middle; one end pays 1. Which one, the agent cannot see."""

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's way

    def __init__(self, end: str = "right", longest: int = 200) -> None:
        self.observation_space, self.action_space = spaces.Discrete(CELLS), spaces.Discrete(2)
        self.end, self.longest = end, longest

    def reset(self, *, seed=None, options=None):
        """Back to the middle."""
        super().reset(seed=seed)
        self.cell, self.steps = CELLS // 2, 0
        return self.cell, {}

    def step(self, action):
        """One cell to the left (0) or to the right (1)."""
        self.cell = int(np.clip(self.cell + (1 if action == 1 else -1), 0, CELLS - 1))
        self.steps += 1
        found = self.cell == (CELLS - 1 if self.end == "right" else 0)
        return self.cell, float(found), found, not found and self.steps >= self.longest, {}


def train(optimizer: optax.GradientTransformation, seed: int) -> tuple[list[list[int]], object]:
    """Lengths of the episodes in each epoch, and the optimiser's state at the end."""
    env = gymnasium.make("Corridor-v0")
    rng = np.random.default_rng(seed)
    table = jnp.zeros((CELLS, 2))
    state = optimizer.init(table)

    @jax.jit
    def learn(table, state, s, a, r, s_next, discount):
        error = r + discount * table[s_next].max() - table[s, a]
        gradient = jnp.zeros_like(table).at[s, a].set(-error)
        updates, state = optimizer.update(gradient, state, table)
        return optax.apply_updates(table, updates), state

    lengths = []
    for epoch in range(EPOCHS):
        env.unwrapped.end = "right" if epoch % 2 == 0 else "left"
        lengths.append([])
        for _ in range(EPISODES):
            s, _ = env.reset()
            over, steps = False, 0
            while not over:
                values = np.asarray(table)[s]
                greedy = rng.choice(np.flatnonzero(values == values.max()))
                a = int(rng.integers(2)) if rng.random() < 0.2 else int(greedy)
                s_next, r, terminated, truncated, _ = env.step(a)
                discount = 0.0 if terminated else 0.9
                table, state = learn(table, state, s, a, r, s_next, discount)
                s, over, steps = s_next, terminated or truncated, steps + 1
            lengths[-1].append(steps)
    return lengths, state


def main() -> None:
    """Train with and without a chain."""
    gymnasium.register("Corridor-v0", entry_point=Corridor)
    check_env(gymnasium.make("Corridor-v0").unwrapped, skip_render_check=True)
    # An epoch of 60 episodes of about 5 steps is the shortest timescale.
    chain = Chain.covering(shortest=300, longest=20_000, gated=False)
    print(chain)
    for name, optimizer in (
        ("no chain", optax.sgd(0.2)),
        ("chain", consolidate(optax.sgd(0.2), chain)),
    ):
        lengths, state = train(optimizer, seed=0)
        first = [sum(part[:10]) for part in lengths]
        print(f"{name}: steps in the first 10 episodes of each epoch", *first)
        if name == "chain":
            best = np.asarray(beakers(state)).max(-1)
            for k, values in enumerate(best, start=1):
                print(f"  V{k} along the corridor:", " ".join(f"{v:.2f}" for v in values))


if __name__ == "__main__":
    main()
