"""Stream-Q: deep Q-learning from each step as it comes, without a replay or a target network."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.networks import Network, Params, Sizes, scaled_by
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQState
from bennafusi.rivals.obgd import ObgdState, obgd
from bennafusi.synapse.branch import when
from bennafusi.synapse.numbers import check_positive, check_shares
from bennafusi.synapse.transform import ConsolidateState

SMALLEST = 1e-8  # added to a variance


@dataclass(frozen=True)
class Stream:
    """Settings of stream-Q; its learning rate is that of the optimiser.

    Args:
        kappa: how far a step stays from overshooting.
        trace_decay: how long an action shares in what comes after it, usually called lambda.

    Example:
        >>> Stream(trace_decay=1.5)
        Traceback (most recent call last):
        ...
        ValueError: trace_decay=1.5: choose a number from 0 to 1
    """

    kappa: float = 2.0
    trace_decay: float = 0.8

    def __post_init__(self) -> None:
        check_positive(self, "kappa")
        check_shares(self, "trace_decay")


@dataclass(frozen=True)
class StreamQ:
    """The agent, by its parts; with chains of more than one beaker its steps go into the first.

    Args:
        network: of the agent; with ``normalise`` it sees observations with mean 0 and variance 1.
        chains: of every parameter; of one beaker, it is the published method.
        rule: the settings.

    Example:
        >>> agent = StreamQ(Network(hidden=(8,), layer_norm=True), NetworkChains(n=3, every=1))
        >>> state = start(agent, Sizes(inputs=4, actions=2), jax.random.key(0), 1.0)
        >>> from bennafusi.synapse.readout import beakers
        >>> beakers(state.optimizer).weights[0].shape
        (3, 4, 8)
    """

    network: Network
    chains: NetworkChains = field(default_factory=lambda: NetworkChains(n=1))
    rule: Stream = field(default_factory=Stream)

    def optimizer(
        self, learning_rate: float | Array, gamma: float | Array, key: Array | None = None
    ) -> optax.GradientTransformationExtraArgs:
        """Steps that cannot overshoot, into the chains where there are any."""
        steps = obgd(
            learning_rate=learning_rate,
            kappa=self.rule.kappa,
            discount=gamma,
            trace_decay=self.rule.trace_decay,
        )
        return self.chains.around(steps, key) if self.chains.chain.flows else steps


class Moments(NamedTuple):
    """Mean and variance of all that was seen, kept step by step (Welford, 1962).

    Attributes:
        size: how many there were, int32.
        mean: of them.
        spread: sum of squared distances from the mean.
    """

    size: Array
    mean: Array
    spread: Array

    def after(self, value: Array) -> Moments:
        """With one more.

        Example:
            >>> moments = Moments(jnp.int32(0), jnp.zeros(()), jnp.zeros(()))
            >>> for value in (1.0, 2.0, 6.0):
            ...     moments = moments.after(jnp.float32(value))
            >>> float(moments.mean), float(moments.variance())
            (3.0, 7.0)
        """
        size = self.size + 1
        mean = self.mean + (value - self.mean) / size.astype(value.dtype)
        return Moments(size, mean, self.spread + (value - self.mean) * (value - mean))

    def variance(self) -> Array:
        """Of all so far; 1 before there are two."""
        others = jnp.maximum(self.size - 1, 1).astype(self.spread.dtype)
        return jnp.where(self.size > 1, self.spread / others, jnp.ones_like(self.spread))


class StreamMemory(NamedTuple):
    """What the agent keeps beside its network, in the place of Adam's moments and the beakers.

    Attributes:
        trace: how much each parameter shares in what comes next; with chains, also all beakers.
        updates: how many there were, int32.
        seen: of every number of an observation.
        returns: of the discounted rewards so far, by whose size rewards are scaled.
        running: the discounted reward so far.
    """

    trace: ObgdState | ConsolidateState
    updates: Array
    seen: Moments
    returns: Moments
    running: Array


def start(agent: StreamQ, sizes: Sizes, key: Array, learning_rate: float | Array) -> SoftQState:
    """The agent at birth; it has a state like the other agents', of which it uses no target."""
    network = agent.network
    params = network.start(key, sizes)
    number, count = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
    row = jnp.zeros(params.gains[0].shape[-1] if network.normalise else 0, jnp.float32)
    trace = agent.optimizer(learning_rate, 1.0, jax.random.fold_in(key, 1)).init(params)
    memory = StreamMemory(
        trace, count, Moments(count, row, row), Moments(count, number, number), number
    )
    return SoftQState(
        params,
        jax.tree.map(jnp.copy, params),
        jax.tree.map(jnp.copy, memory),
        jnp.asarray(learning_rate, jnp.float32),
    )


def learn(
    agent: StreamQ,
    state: SoftQState,
    task: Array | int,
    step: Transition,
    gamma: Array,
    done: Array,
) -> tuple[SoftQState, Array]:
    r"""One update from what just happened: the new state, and the squared error before.

    .. math::
        \delta &= r / \sigma_G + \gamma \max_{a'} Q(s', a') - Q(s, a), \\
        z &\leftarrow \gamma \lambda z + \nabla Q(s, a), \qquad
        w \leftarrow w + \frac{\eta}{\max(M, 1)}\, \delta z

    with :math:`M` of :func:`bennafusi.rivals.obgd.obgd`. Traces end with an episode and with an
    action that was not the best. Observations are seen with the mean 0 and variance 1 of all so
    far, and rewards are divided by the standard deviation of the discounted sum
    :math:`G \leftarrow \gamma G + r` of them. Gains stay at 1: the method has none. With chains
    this is the step into the first beakers; mean and variance are those of all so far whatever
    flows, and a deeper beaker keeps those of its own time.

    Args:
        agent: what it is made of.
        state: of the agent.
        task: the number of the task.
        step: what happened.
        gamma: the task's discount, also where ``step.discount`` is 0.
        done: whether the episode is over.

    References:
        Elsayed, Vasan and Mahmood, *Streaming deep reinforcement learning finally works*, 2024.
    """
    network = agent.network
    chosen_from = network.values(state.params, task, step.observation)
    greedy = chosen_from[step.action] >= jnp.max(chosen_from)
    params, memory = state.params, state.optimizer
    running = gamma * memory.running * (1 - done.astype(jnp.float32)) + step.reward
    returns, seen = memory.returns.after(running), memory.seen
    if network.normalise:
        seen = seen.after(step.observation.astype(jnp.float32).ravel())
        params = scaled_by(params, seen.mean, (seen.variance() + SMALLEST) ** -0.5)
    q, slopes = network.slopes(lambda q: q[step.action], params, task, step.observation)
    ahead = jnp.max(network.values(params, task, step.next_observation))
    delta = step.reward * (returns.variance() + SMALLEST) ** -0.5 + step.discount * ahead - q
    gradient = network.gradient(params, slopes, task)
    gradient = gradient._replace(gains=jax.tree.map(jnp.zeros_like, gradient.gains))
    memory = memory._replace(seen=seen, returns=returns, running=running)
    move = partial(_move, agent, gamma, gradient, delta, done | ~greedy)
    after = state._replace(params=params, optimizer=memory)
    return when(jnp.isfinite(delta), move, after), delta * delta


def _move(
    agent: StreamQ, gamma: Array, gradient: Params, delta: Array, reset: Array, state: SoftQState
) -> SoftQState:
    memory = state.optimizer
    optimizer = agent.optimizer(state.learning_rate, gamma)
    updates, trace = optimizer.update(
        gradient, memory.trace, state.params, delta=delta, reset=reset
    )
    params = optax.apply_updates(state.params, updates)
    memory = memory._replace(trace=trace, updates=memory.updates + 1)
    if agent.chains.chain.flows:
        params = _as_told(agent.network, state.params, params)
    return state._replace(params=params, optimizer=memory)


def _as_told(network: Network, before: Params, after: Params) -> Params:
    """What is not learnt, the gains and how it sees, stays as it is whatever flows."""
    seen = slice(0, 1 if network.normalise else 0)
    biases = (*before.biases[seen], *after.biases[seen.stop :])
    return Params(after.weights, before.gains, biases)
