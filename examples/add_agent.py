"""An agent of your own: expected Sarsa whose table is a table of chains, in one compiled loop.

python examples/add_agent.py
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bennafusi import Chain, consolidate
from bennafusi.envs.grid import Grid, GridState


# --8<-- [start:agent]
class SarsaState(NamedTuple):
    """Everything that is learnt: arrays only, so that it can be compiled, saved and resumed."""

    table: jax.Array
    optimizer: object


@dataclass(frozen=True)  # its settings; hashable, so that they can be compiled in
class ExpectedSarsa:
    """Values follow the policy that is played, exploration included."""

    states: int
    actions: int
    chain: Chain
    gamma: float = 0.9
    epsilon: float = 0.1
    learning_rate: float = 0.2

    @cached_property
    def optimizer(self) -> optax.GradientTransformationExtraArgs:
        """Plain descent, with chains."""
        return consolidate(optax.sgd(self.learning_rate), self.chain)


def start(agent: ExpectedSarsa) -> SarsaState:
    """An empty table."""
    table = jnp.zeros((agent.states, agent.actions))
    return SarsaState(table, agent.optimizer.init(table))


def policy(agent: ExpectedSarsa, q: jax.Array) -> jax.Array:
    """Probabilities of the actions: greedy, ties shared, with exploration."""
    best = (q == q.max()).astype(q.dtype)
    return agent.epsilon / agent.actions + (1 - agent.epsilon) * best / best.sum()


def learn(agent: ExpectedSarsa, state: SarsaState, s_tm1, a_tm1, r_t, discount_t, s_t):
    """One update towards r + discount * sum_a pi(a) Q(s, a), then one step of all chains."""
    q_t = state.table[s_t]
    error = r_t + discount_t * jnp.sum(policy(agent, q_t) * q_t) - state.table[s_tm1, a_tm1]
    gradient = jnp.zeros_like(state.table).at[s_tm1, a_tm1].set(-error)
    updates, optimizer = agent.optimizer.update(gradient, state.optimizer, state.table)
    return SarsaState(optax.apply_updates(state.table, updates), optimizer)


# --8<-- [end:agent]


# --8<-- [start:loop]
@partial(jax.jit, static_argnames=("agent", "task", "steps"))
def train(agent: ExpectedSarsa, task: Grid, key: jax.Array, steps: int) -> jax.Array:
    """Run for so many steps; whether each of them ended an episode, ``[steps]``."""
    first, key = jax.random.split(key)

    def step(carry: tuple[SarsaState, GridState], key: jax.Array):
        state, world = carry
        choose, new = jax.random.split(key)
        seen = task.observe(world)
        action = jax.random.choice(choose, agent.actions, p=policy(agent, state.table[seen]))
        after, reward, terminated, truncated = task.step(world, action)
        discount = jnp.where(terminated, 0.0, agent.gamma)
        state = learn(agent, state, seen, action, reward, discount, task.observe(after))
        over = terminated | truncated
        fresh = task.reset(new)
        after = jax.tree.map(lambda a, b: jnp.where(over, a, b), fresh, after)
        return (state, after), over

    carry = (start(agent), task.reset(first))
    return jax.lax.scan(step, carry, jax.random.split(key, steps))[1]


# --8<-- [end:loop]


def main() -> None:
    """Train it in a small grid."""
    task = Grid(size=5)
    for name, chain in (
        ("no chain", Chain(1, 0.1, leak=False)),
        ("chain", Chain.covering(2_000, 100_000, gated=False)),
    ):
        agent = ExpectedSarsa(task.observations, task.actions, chain)
        ends = np.flatnonzero(train(agent, task, jax.random.key(2), steps=20_000))
        lengths = np.diff(ends, prepend=-1)
        print(
            f"{name}: {len(lengths)} episodes, mean length of the first 20: "
            f"{lengths[:20].mean():.1f}, of the last 200: {lengths[-200:].mean():.1f}"
        )


if __name__ == "__main__":
    main()
