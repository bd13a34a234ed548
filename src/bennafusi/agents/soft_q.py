"""Deep soft Q-learning with an agent of which every parameter is a Benna-Fusi chain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.agents.adam import adam
from bennafusi.agents.networks import Network, Params, Slopes
from bennafusi.agents.policies import soft_value
from bennafusi.agents.replay import Transition
from bennafusi.synapse.branch import when
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import linear_variance
from bennafusi.synapse.numbers import real
from bennafusi.synapse.scheme import Method, every_and_dt
from bennafusi.synapse.transform import ConsolidateState, consolidate

Loss = Literal["all", "taken"]
HiddenStart = Literal["linear-variance", "gains-copied", "copy", "zeros"]


class SoftQState(NamedTuple):
    """What the agent has learnt.

    Attributes:
        params: the network, which acts.
        target: a slower copy of it, which says what states are worth.
        optimizer: Adam's moments and all beakers.
        learning_rate: Adam's, a number in the state so that agents of one batch may differ in it.
    """

    params: Params
    target: Params
    optimizer: ConsolidateState
    learning_rate: Array


@dataclass(frozen=True)
class SoftQ:
    r"""The agent; a chain of one beaker without a leak is the control agent.

    With :math:`\theta^-` the target network, one update on one transition is an Adam step on

    .. math::
        L(\theta) &= \sum_a \big(y_a - Q(s, a; \theta)\big)^2, \\
        y_{a_t} &= r + \gamma\, \alpha \log \sum_{a'} e^{Q(s', a'; \theta^-) / \alpha}, \qquad
        y_a = Q(s, a; \theta^-) \text{ for all other actions,}

    which goes into the first beaker of every parameter. With ``loss="taken"`` the sum has the term
    of the action that was taken alone.

    Args:
        network: maps an observation to values.
        chain: of every parameter.
        every: updates between two steps of the chains.
        dt: time that one such step covers; ``every`` if not given.
        method: how the chains are stepped.
        hidden: the deeper beakers at the start: ``"linear-variance"`` (the paper's, with
            :math:`s^2` = 1/inputs for weights and 1/tasks for gains and biases), ``"gains-copied"``
            (the same for weights, but gains and biases as full as the visible ones), ``"copy"`` or
            ``"zeros"``.
        loss: over ``"all"`` actions or the ``"taken"`` one.
        alpha: weight of the entropy, and temperature of the policy.
        tau: share by which the target moves towards the network.
        beta1: of Adam.
        beta2: of Adam.
        adam_epsilon: of Adam.

    Example:
        >>> agent = SoftQ(Network(hidden=(8, 8)), Chain(1, 0.1, leak=False))
        >>> state = start(agent, jax.random.key(0), 1e-3)
        >>> x = jnp.ones(4)
        >>> step = Transition(x, jnp.int32(0), jnp.float32(1), jnp.float32(0.95), x)
        >>> state, loss = learn(agent, state, jnp.int32(0), step, targets(agent, state, 0, step))

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 4.2.
        Haarnoja et al., *Reinforcement learning with deep energy-based policies*, 2017.
    """

    network: Network
    chain: Chain
    every: int = 1
    dt: float | None = None
    method: Method = "multirate"
    hidden: HiddenStart = "linear-variance"
    loss: Loss = "all"
    alpha: float = 0.01
    tau: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    adam_epsilon: float = 1e-8

    def __post_init__(self) -> None:
        for name, kind in (("hidden", HiddenStart), ("loss", Loss)):
            if getattr(self, name) not in get_args(kind):
                known = ", ".join(map(repr, get_args(kind)))
                raise ValueError(f"{name}={getattr(self, name)!r}: unknown; choose one of {known}")
        every, dt = every_and_dt(self.every, self.dt)
        object.__setattr__(self, "every", every)
        object.__setattr__(self, "dt", dt)
        for name in ("alpha", "adam_epsilon"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name):g}: must be above 0")
        for name in ("tau", "beta1", "beta2"):
            value = real(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if not 0 <= value <= 1 or (name != "tau" and value == 1):
                most = "1" if name == "tau" else "below 1"
                raise ValueError(f"{name}={value:g}: choose a number from 0 to {most}")
        self.optimizer  # noqa: B018 - builds it, which refuses what does not fit together

    @cached_property
    def optimizer(self) -> optax.GradientTransformationExtraArgs:
        """Adam, and the chains around it."""
        return self._optimizer(None)

    def _optimizer(self, key: Array | None) -> optax.GradientTransformationExtraArgs:
        return consolidate(
            adam(self.beta1, self.beta2, self.adam_epsilon),
            self.chain,
            every=self.every,
            dt=self.dt,
            method=self.method,
            hidden=self.hidden if self.hidden in ("copy", "zeros") else self._hidden,
            key=key,
        )

    def _hidden(self, weight: Array, chain: Chain, key: Array | None, path: str) -> Array:
        """The paper's start of the hidden beakers, for the parameter at ``path``."""
        if key is None:
            raise ValueError(
                "key=None: the hidden beakers are drawn; use bennafusi.agents.soft_q.start"
            )
        shared = path.startswith("weights")
        if self.hidden == "gains-copied" and not shared:
            return jnp.broadcast_to(weight[None], (chain.n - 1, *weight.shape))
        # Gains and biases have one row per task, weights one per input.
        return linear_variance(weight, chain, key, 1 / weight.shape[0])


def start(
    agent: SoftQ, key: Array, learning_rate: float | Array, dtype: Any = jnp.float32
) -> SoftQState:
    """The agent at birth; its target network is a copy of it."""
    weights, hidden = jax.random.split(key)
    params = agent.network.start(weights, dtype)
    return SoftQState(
        params,
        jax.tree.map(jnp.copy, params),
        agent._optimizer(hidden).init(params),
        jnp.asarray(learning_rate, dtype),
    )


def values(agent: SoftQ, state: SoftQState, task: Array, observation: Array) -> Array:
    """Values of all actions."""
    return agent.network.values(state.params, task, observation)


def targets(agent: SoftQ, state: SoftQState, task: Array, step: Transition) -> Array:
    """What the values of all actions should have been, ``[actions]``."""
    both = jnp.stack([step.observation, step.following])
    q_tm1, q_t = agent.network.values(state.target, task, both)
    outcome = step.reward + step.discount * soft_value(q_t, agent.alpha)
    return jnp.where(_taken(agent, step), outcome, q_tm1)


def learn(
    agent: SoftQ,
    state: SoftQState,
    task: Array,
    step: Transition,
    wanted: Array,
    due: bool | None = None,
) -> tuple[SoftQState, Array]:
    """One update towards the wanted values: the new state, and the loss before.

    Where the loss is not finite nothing is learnt, so that one can still look at the network that
    made it. ``due``: whether the chains step after this update, if that is known beforehand.
    """
    weight = _taken(agent, step) if agent.loss == "taken" else jnp.ones_like(wanted, jnp.bool_)

    def loss(q: Array) -> Array:
        error = jnp.where(weight, wanted - q, jnp.zeros_like(q))
        return jnp.sum(error * error)

    value, slopes = agent.network.slopes(loss, state.params, task, step.observation)
    descend = partial(_descend, agent, task, slopes, due if agent.chain.flows else False)
    return when(jnp.isfinite(value), descend, state), value


def _descend(
    agent: SoftQ, task: Array, slopes: Slopes, due: bool | None, state: SoftQState
) -> SoftQState:
    gradient = agent.network.gradient(slopes, task)
    updates, optimizer = agent.optimizer.update(
        gradient, state.optimizer, state.params, learning_rate=state.learning_rate, due=due
    )
    params = optax.apply_updates(state.params, updates)
    return state._replace(params=params, optimizer=optimizer)


def track(agent: SoftQ, state: SoftQState) -> SoftQState:
    r"""Let the target follow: :math:`\theta^- \leftarrow \theta^- + \tau (\theta - \theta^-)`."""
    target = jax.tree.map(lambda t, p: t + agent.tau * (p - t), state.target, state.params)
    return state._replace(target=target)


def catch_up(state: SoftQState) -> SoftQState:
    """Make the target equal to the network."""
    return state._replace(target=state.params)


def updates_made(state: SoftQState) -> Array:
    """How many updates the agent has made, int32."""
    count: Array = state.optimizer.optimizer.updates
    return count


def beakers_awake(agent: SoftQ, updates: int) -> int:
    """How many beakers can act on the weight after so many updates, the weight itself included."""
    if not agent.chain.flows:
        return 1
    opened = int((updates >= agent.chain.gate_opens[:-1]).sum())
    return 1 + (opened if agent.chain.gated else agent.chain.n - 1)


def _taken(agent: SoftQ, step: Transition) -> Array:
    return jnp.arange(agent.network.outputs, dtype=jnp.int32) == step.action
