"""Naive Q(lambda) on a table of which every entry is a Benna-Fusi chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.equation import relax
from bennafusi.synapse.numbers import real, whole
from bennafusi.synapse.scheme import Scheme

Modulation = Literal["none", "trace", "directional"]


class TableState(NamedTuple):
    r"""What the agent has learnt, and what it did lately.

    Attributes:
        levels: the tables :math:`Q^1 \dots Q^n`, each ``[states * actions]``; the first is the
            visible one. They are separate arrays because XLA updates them faster so.
        traces: eligibility of each pair, ``[states * actions]``.
    """

    levels: tuple[Array, ...]
    traces: Array


class Noise(NamedTuple):
    """The chance that one choice of an action needs; a leading axis for many choices.

    Attributes:
        explore: whether to ignore the values.
        rank: one random number per action, ``[actions]``: of those that tie, the highest wins.
    """

    explore: Array
    rank: Array


@dataclass(frozen=True)
class QLambdaRule:
    r"""How the agent acts and learns; the defaults are Table S1.

    Args:
        modulation: what multiplies the flow from :math:`Q^k` into the deeper :math:`Q^{k+1}`, in
            the equation of the deeper one alone: ``"none"``; ``"trace"`` (the modified agent),
            ``trace_scale`` times :math:`e(s, a)`; or ``"directional"``, the same while
            :math:`Q^k > Q^{k+1}`, else 1, so that unused values can fade but not grow.
        trace_scale: see ``modulation``.
        gamma: discount of the future.
        lam: :math:`\lambda`, how slowly traces fade.
        epsilon: how often an action is drawn uniformly from all.
        learning_rate: :math:`\eta`, of the visible values.
    """

    modulation: Modulation = "none"
    trace_scale: float = 10.0
    gamma: float = 0.9
    lam: float = 0.9
    epsilon: float = 0.05
    learning_rate: float = 0.1

    def __post_init__(self) -> None:
        for name in ("gamma", "lam", "epsilon", "learning_rate"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: must lie between 0 and 1")
        object.__setattr__(self, "trace_scale", real("trace_scale", self.trace_scale))
        if self.modulation not in get_args(Modulation):
            known = ", ".join(map(repr, get_args(Modulation)))
            raise ValueError(f"modulation={self.modulation!r}: unknown; choose one of {known}")


@dataclass(frozen=True)
class QLambda:
    r"""The agent: control, Benna-Fusi and modified Benna-Fusi, depending on chain and modulation.

    Each step acts :math:`\epsilon`-greedily on :math:`Q^1`, ties broken at random, and then learns:

    .. math::
        \delta_t &= r_t + \gamma \max_a Q^1(s_t, a) - Q^1(s_{t-1}, a_{t-1}) \\
        e(s, a) &\leftarrow 1 \text{ for the pair just visited, else } \gamma \lambda\, e(s, a) \\
        Q^1(s, a) &\leftarrow Q^1(s, a) + \eta\, \delta_t\, e(s, a)

    for all pairs, after which every chain makes one explicit step of ``dt = 1`` from the new
    values. Traces are replaced, not summed; they are never cut by exploration ("naive") and are
    zero when an episode starts.

    Args:
        states: how many states the table has.
        actions: how many actions.
        chain: the chain of every entry. One beaker without a leak is the control agent.
        rule: how it acts and learns, and what modulates the flow.

    Example:
        >>> agent = QLambda(states=4, actions=2, chain=Chain(n=3, g12=1e-5, gated=False))
        >>> hidden_values(agent, start(agent)).shape
        (3, 4)

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 4.1.
        Sutton and Barto, *Reinforcement Learning*, 1998, section 7.6 (naive Q(lambda)).
    """

    states: int
    actions: int
    chain: Chain
    rule: QLambdaRule = field(default_factory=QLambdaRule)

    def __post_init__(self) -> None:
        for name in ("states", "actions"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: a table needs at least 1")
        if self.chain.gated:
            raise ValueError("chain: gated=True is not for tables; make it Chain(..., gated=False)")
        scale = self.rule.trace_scale
        limit = self.scheme.chain.largest_step  # a scheme refuses a chain too fast for steps of 1
        if self.rule.modulation != "none" and not 0 <= scale <= limit:
            raise ValueError(
                f"trace_scale={scale:g}: with g12={self.chain.g12:g} a deeper beaker "
                f"would overshoot; choose 0 to {limit:g}"
            )

    @cached_property
    def scheme(self) -> Scheme:
        """How the chains are stepped: plain Euler, as in the paper, once per update."""
        return Scheme(self.chain, dt=1.0, method="euler")


def start(agent: QLambda) -> TableState:
    """All values and traces 0, in float64 where it is enabled."""
    pairs = agent.states * agent.actions
    return TableState(tuple(jnp.zeros(pairs) for _ in range(agent.chain.n)), jnp.zeros(pairs))


def draw_noise(agent: QLambda, key: Array, shape: tuple[int, ...] = ()) -> Noise:
    """The chance for as many choices as ``shape`` says."""
    bits = jax.random.bits(key, (*shape, 1 + agent.actions), jnp.uint32)
    threshold = jnp.asarray(min(round(agent.rule.epsilon * 2**32), 2**32 - 1), jnp.uint32)
    return Noise(bits[..., 0] < threshold, bits[..., 1:])


def values(agent: QLambda, table: TableState, state: Array) -> Array:
    r"""The visible :math:`Q^1(s, \cdot)` of one state, ``[actions]``."""
    return lax.dynamic_slice(table.levels[0], (state * agent.actions,), (agent.actions,))


def act(q: Array, noise: Noise) -> Array:
    """The best action, ties broken at random, or any action where chance says to explore.

    Example:
        >>> q, rank = jnp.array([0.0, 2.0, 2.0]), jnp.array([9, 3, 5])
        >>> int(act(q, Noise(jnp.array(False), rank))), int(act(q, Noise(jnp.array(True), rank)))
        (2, 0)
    """
    allowed = (q == jnp.max(q)) | noise.explore
    # Ranks start at 1, so that 0 is left for what is not allowed.
    rank = jnp.where(allowed, noise.rank | 1, jnp.zeros_like(noise.rank))
    return jnp.argmax(rank).astype(jnp.int32)


def learn(
    agent: QLambda,
    table: TableState,
    s_tm1: Array,
    a_tm1: Array,
    r_t: Array,
    discount_t: Array,
    s_t: Array,
    first_tm1: Array,
) -> TableState:
    """One Q-learning update of the whole table, then one step of all chains.

    Args:
        agent: its settings.
        table: before the step.
        s_tm1: the state in which it acted.
        a_tm1: its action.
        r_t: the reward.
        discount_t: ``gamma``, or 0 if ``s_t`` is terminal.
        s_t: the state it came to.
        first_tm1: whether the episode began with ``s_tm1``.
    """
    q_tm1 = values(agent, table, s_tm1)[a_tm1]
    delta = r_t + discount_t * jnp.max(values(agent, table, s_t)) - q_tm1
    fade = jnp.where(first_tm1, 0.0, agent.rule.gamma * agent.rule.lam)
    visited = jnp.arange(table.traces.size, dtype=jnp.int32) == s_tm1 * agent.actions + a_tm1
    traces = jnp.where(visited, 1.0, fade * table.traces)
    visible = table.levels[0] + (agent.rule.learning_rate * delta) * traces
    return TableState(_relaxed(agent, (visible, *table.levels[1:]), traces), traces)


def _relaxed(agent: QLambda, levels: tuple[Array, ...], traces: Array) -> tuple[Array, ...]:
    """All chains after one step: Euler without gates, as ``integrate.step`` would make it."""
    # Through consolidate() the same step of 500 values with three beakers took 1.1 to 1.9 us
    # instead of 0.55 to 0.59, and a whole step of this agent takes 2.4.
    if not agent.chain.flows:
        return levels
    inward, back = agent.scheme.from_above.tolist(), agent.scheme.from_below.tolist()
    below = jnp.zeros_like(traces)
    rows, _ = relax([*levels, below], inward, back, modulated(agent, traces))
    return tuple(rows)


def modulated(agent: QLambda, traces: Array) -> Array | Callable[[Array], Array] | None:
    """The factor on the flow into deeper beakers, or the function that gives it for each tube."""
    if agent.rule.modulation == "none":
        return None
    scaled = agent.rule.trace_scale * traces
    if agent.rule.modulation == "trace":
        return scaled
    return lambda drop: jnp.where(drop > 0, scaled, 1.0)


def hidden_values(agent: QLambda, table: TableState) -> Array:
    r""":math:`V^k(s) = \max_a Q^k(s, a)` for all beakers and states, ``[n, states]``."""
    levels = jnp.stack(table.levels)
    return jnp.max(levels.reshape(-1, agent.states, agent.actions), axis=-1)
