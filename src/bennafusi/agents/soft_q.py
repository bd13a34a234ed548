"""Deep soft Q-learning with an agent of which every parameter is a Benna-Fusi chain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.agents.adam import Adam
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.methods import Rival
from bennafusi.agents.networks import Network, Params, Sizes, Slopes
from bennafusi.agents.policies import double_value, soft_value
from bennafusi.agents.replay import Transition
from bennafusi.synapse.branch import when
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.numbers import check_choices, check_flags, check_shares, real, whole
from bennafusi.synapse.readout import readout
from bennafusi.synapse.transform import ConsolidateState

Loss = Literal["all", "taken"]


class SoftQState(NamedTuple):
    """What the agent has learnt.

    Attributes:
        params: the network, which acts.
        target: a slower copy of it, which says what states are worth.
        optimizer: Adam's moments and all beakers, a :class:`ConsolidateState`; or what an agent
            with another optimiser keeps in their place, and how many ``updates`` it made.
        learning_rate: Adam's, a number in the state so that agents of one batch may differ in it.
    """

    params: Params
    target: Params
    optimizer: Any
    learning_rate: Array


@dataclass(frozen=True)
class SoftQRule:
    """What the agent learns towards.

    Args:
        loss: over ``"all"`` actions or the ``"taken"`` one.
        alpha: weight of the entropy, and temperature of the policy; 0 is the hard maximum of
            ordinary Q-learning.
        tau: share by which the target moves towards the network; 1 is a copy.
        double: whether the network chooses the action that the target judges.
        acting: the beaker whose network acts, in training and in tests, once the agent is as old
            as its timescale; 1 is the weight, which learns whoever acts.
    """

    loss: Loss = "all"
    alpha: float = 0.01
    tau: float = 0.01
    double: bool = False
    acting: int = 1

    def __post_init__(self) -> None:
        check_choices(self, {"loss": Loss})
        check_shares(self, "tau")
        check_flags(self, "double")
        object.__setattr__(self, "alpha", real("alpha", self.alpha))
        if not self.alpha >= 0:
            raise ValueError(f"alpha={self.alpha:g}: must be 0, for a hard maximum, or above")
        object.__setattr__(self, "acting", whole("acting", self.acting))


@dataclass(frozen=True)
class SoftQ:
    r"""The agent, by its parts; chains of one beaker make it the control agent.

    With :math:`\theta^-` the target network, one update on one transition is an Adam step on

    .. math::
        L(\theta) &= \sum_a \big(y_a - Q(s, a; \theta)\big)^2, \\
        y_{a_t} &= r + \gamma\, \alpha \log \sum_{a'} e^{Q(s', a'; \theta^-) / \alpha}, \qquad
        y_a = Q(s, a; \theta^-) \text{ for all other actions,}

    which goes into the first beaker of every parameter. With ``loss="taken"`` the sum has the term
    of the action that was taken alone.

    Args:
        network: maps an observation to values.
        chains: of every parameter.
        adam: the optimiser of the first beakers.
        rule: what is learnt.
        method: another way to remember, around the optimiser.

    Example:
        >>> agent = SoftQ(Network(hidden=(8, 8)), NetworkChains(n=1))
        >>> state = start(agent, Sizes(inputs=4, actions=2), jax.random.key(0))
        >>> x = jnp.ones(4)
        >>> step = Transition(x, jnp.int32(0), jnp.float32(1), jnp.float32(0.95), x)
        >>> state, loss = learn(agent, state, jnp.int32(0), step, targets(agent, state, 0, step))

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 4.2.
        Haarnoja et al., *Reinforcement learning with deep energy-based policies*, 2017.
    """

    network: Network = field(default_factory=Network)
    chains: NetworkChains = field(default_factory=NetworkChains)
    adam: Adam = field(default_factory=Adam)
    rule: SoftQRule = field(default_factory=SoftQRule)
    method: Rival = field(default_factory=Rival)

    @property
    def chain(self) -> Chain:
        """Of every parameter."""
        return self.chains.chain

    @cached_property
    def optimizer(self) -> optax.GradientTransformationExtraArgs:
        """Adam, a rival around it if there is one, and the chains."""
        return self.chains.around(self.method.around(self.adam.transformation()))


def start(
    agent: SoftQ,
    sizes: Sizes,
    key: Array,
    learning_rate: float | Array | None = None,
    dtype: Any = jnp.float32,
) -> SoftQState:
    """The agent at birth; its target network is a copy of it.

    Args:
        agent: what it is made of.
        sizes: of what it sees and does.
        key: for all that is drawn.
        learning_rate: may be traced, so that agents of one batch differ in it; ``adam``'s if None.
        dtype: of all parameters and beakers.
    """
    weights, hidden = jax.random.split(key)
    params = agent.network.start(weights, sizes, dtype)
    rate = agent.adam.learning_rate if learning_rate is None else learning_rate
    inner = agent.method.around(agent.adam.transformation(), jax.random.fold_in(hidden, 1))
    return SoftQState(
        params,
        jax.tree.map(jnp.copy, params),
        agent.chains.around(inner, hidden).init(params),
        jnp.asarray(rate, dtype),
    )


def values(agent: SoftQ, state: SoftQState, task: Array | int, observation: Array) -> Array:
    """Values of all actions, by the network that acts."""
    return agent.network.values(acting(agent, state), task, observation)


def acting(agent: SoftQ, state: SoftQState) -> Params:
    """The network that acts: the weights, or a beaker's, once that has had time to fill."""
    depth = agent.rule.acting
    if depth == 1:
        return state.params
    held: Params = readout(state.optimizer, depth)
    age = min(math.ceil(agent.chain.timescales[depth - 1]), 2**31 - 1)
    chosen: Params = jax.tree.map(
        partial(jnp.where, updates_made(state) >= age), held, state.params
    )
    return chosen


def targets(agent: SoftQ, state: SoftQState, task: Array | int, step: Transition) -> Array:
    """What the values of all actions should have been, ``[actions]``; of a batch, a row each."""
    task = _own_task(task, step)
    if step.reward.ndim:
        if agent.rule.loss == "all":
            return jax.vmap(partial(targets, agent, state, task))(step)
        # Where the taken actions alone are learnt from, nobody asks what the others are worth.
        q_t = agent.network.values(state.target, task, step.next_observation)
        outcome = _outcome(agent, state, task, step, q_t)[:, None]
        return jnp.broadcast_to(outcome, q_t.shape)
    both = jnp.stack([step.observation, step.next_observation])
    q_tm1, q_t = agent.network.values(state.target, task, both)
    outcome = _outcome(agent, state, task, step, q_t)
    return jnp.where(_taken(step, q_tm1), outcome, q_tm1)


def _outcome(
    agent: SoftQ, state: SoftQState, task: Array | int, step: Transition, q_t: Array
) -> Array:
    """What the action that was taken turned out to be worth."""
    if not agent.rule.double:
        return step.reward + step.discount * soft_value(q_t, agent.rule.alpha)
    own = agent.network.values(state.params, task, step.next_observation)
    return step.reward + step.discount * double_value(own, q_t, agent.rule.alpha)


def learn(
    agent: SoftQ,
    state: SoftQState,
    task: Array | int,
    step: Transition,
    wanted: Array,
    due: bool | Array | None = None,
) -> tuple[SoftQState, Array]:
    """One update towards the wanted values: the new state, and the loss before.

    Of a batch, each with a leading axis, it is one update by the mean of the losses. Where the loss
    is not finite nothing is learnt, so that one can still look at the network that made it.
    ``due``: whether the chains step after this update, if that is known beforehand; a traced one
    makes two branches, so that an update without a step costs what it costs without chains.
    """
    task = _own_task(task, step)
    every = jnp.ones_like(wanted, jnp.bool_)
    weight = _taken(step, wanted) if agent.rule.loss == "taken" else every

    def loss(q: Array) -> Array:
        error = jnp.where(weight, wanted - q, jnp.zeros_like(q))
        total = jnp.sum(error * error)
        return total if wanted.ndim == 1 else total / wanted.shape[0]

    value, slopes = agent.network.slopes(loss, state.params, task, step.observation)
    descend, finite = partial(_descend, agent, task, slopes), jnp.isfinite(value)
    if not agent.chain.flows:
        due = False
    if not isinstance(due, Array):
        return when(finite, partial(descend, due), state), value
    state = when(finite & ~due, partial(descend, False), state)
    return when(finite & due, partial(descend, True), state), value


def _descend(
    agent: SoftQ, task: Array | int, slopes: Slopes | Params, due: bool | None, state: SoftQState
) -> SoftQState:
    gradient = agent.network.gradient(state.params, slopes, task)
    updates, optimizer = agent.optimizer.update(
        gradient, state.optimizer, state.params, learning_rate=state.learning_rate, due=due
    )
    params = optax.apply_updates(state.params, updates)
    return state._replace(params=params, optimizer=optimizer)


def update_target(agent: SoftQ, state: SoftQState) -> SoftQState:
    r"""Let the target follow: :math:`\theta^- \leftarrow \theta^- + \tau (\theta - \theta^-)`."""
    if agent.rule.tau == 1:
        return sync_target(state)
    # optax.incremental_update is tau p + (1 - tau) t: another rounding, and so another run.
    target = jax.tree.map(lambda t, p: t + agent.rule.tau * (p - t), state.target, state.params)
    return state._replace(target=target)


def sync_target(state: SoftQState) -> SoftQState:
    """Make the target equal to the network."""
    return state._replace(target=state.params)


def updates_made(state: SoftQState) -> Array:
    """How many updates the agent has made, int32."""
    if not isinstance(state.optimizer, ConsolidateState):
        made: Array = state.optimizer.updates
        return made
    inner = jax.tree.leaves(state.optimizer.optimizer, is_leaf=_is_adam)
    count: Array = next(part for part in inner if _is_adam(part)).count
    return count


def _is_adam(part: Any) -> bool:
    return isinstance(part, optax.ScaleByAdamState)


def _own_task(task: Array | int, step: Transition) -> Array | int:
    """The task at hand, unless transitions of several are told apart."""
    return task if step.task is None else step.task


def _taken(step: Transition, values: Array) -> Array:
    actions = jnp.arange(values.shape[-1], dtype=jnp.int32)
    return actions == step.action if values.ndim == 1 else actions[None] == step.action[:, None]
