"""Synaptic intelligence, without boundaries and with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.typing import ArrayLike

from bennafusi.rivals.skeleton import (
    Number,
    PulledState,
    Tree,
    above_zero,
    average_decay,
    by_type,
    copied,
    more_in,
    moved,
    need,
    nothing_in,
    number,
    pulled,
    single,
    zeros,
)
from bennafusi.synapse.branch import when
from bennafusi.synapse.precision import wide

DIVIDES = "a weight that did not move divides by 0"


class PathMemory(NamedTuple):
    """Memory of :func:`synaptic_intelligence`.

    Attributes:
        mean_share: how much of ``mean`` is weights, by which it is to be divided.
        path_share: the same of ``path`` and ``drift``.
        mean: moving average of the weights.
        path: moving average of how much each weight lowered the loss, per update.
        drift: moving average of its steps.
    """

    mean_share: Array
    path_share: Array
    mean: Tree
    path: Tree
    drift: Tree


def synaptic_intelligence(
    optimizer: optax.GradientTransformation,
    *,
    strength: Number = 0.01,
    mean_decay: Number = 0.999,
    importance_decay: Number = 0.999,
    damping: Number = 1e-3,
) -> optax.GradientTransformationExtraArgs:
    r"""Synaptic intelligence without boundaries: a pull where moving a weight has lowered the loss.

    With :math:`\Delta` the optimiser's last step and :math:`E` a moving average, bias-corrected,

    .. math::
        \Omega = \frac{\max(E[-g \Delta], 0)}{E[\Delta]^2 + \xi}, \qquad
        g \leftarrow g + \lambda \Omega (w - E[w]).

    Each step of a weight is counted with the gradient that caused it, as in the paper. Three arrays
    per parameter.

    Args:
        optimizer: any optax optimiser.
        strength: :math:`\lambda`.
        mean_decay: of the mean of the weights.
        importance_decay: of both averages in :math:`\Omega`.
        damping: :math:`\xi`, above 0.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = synaptic_intelligence(
        ...     optax.sgd(1.0), strength=1.0, mean_decay=0.5, damping=1.0
        ... )
        >>> state = optimizer.init(jnp.array([0.0]))
        >>> updates, state = optimizer.update(jnp.array([2.0]), state, jnp.array([0.0]))
        >>> updates, state = optimizer.update(jnp.array([0.0]), state, jnp.array([-2.0]))
        >>> round(float(updates[0]), 4)  # 4 / (2**2 + 1), times -2 less the mean of -4/3, downhill
        0.5333

    References:
        Zenke, Poole and Ganguli, *Continual learning through synaptic intelligence*, 2017; without
        boundaries a baseline of Elsayed and Mahmood, *Addressing loss of plasticity and
        catastrophic forgetting in continual learning*, 2024.
    """
    strength = number("strength", strength)
    mean_decay = average_decay("mean_decay", mean_decay)
    importance_decay = average_decay("importance_decay", importance_decay)
    damping = above_zero("damping", damping, DIVIDES)

    def begin(params: Tree) -> PathMemory:
        mean, path, drift = zeros(params), zeros(params), zeros(params)
        return PathMemory(nothing_in(mean), nothing_in(path), mean, path, drift)

    def pull(memory: PathMemory, grads: Tree, params: Tree) -> tuple[Tree, PathMemory]:
        del grads
        mean = moved(memory.mean, params, mean_decay)
        mean_share = more_in(memory.mean_share, mean_decay)

        def numbers(dtype: Any) -> tuple[Array, Array]:
            # At the first update there is no step to judge by, and nothing pulls.
            share = jnp.where(memory.path_share > 0, memory.path_share, 1)
            return share.astype(dtype), 1 / mean_share.astype(dtype)

        known = by_type(numbers, params)

        def towards(w: Array, m: Array, path: Array, drift: Array) -> Array:
            c, whole_mean = known[w.dtype]  # the corrected path / c over (drift / c)^2 + damping
            floor = jnp.asarray(damping, w.dtype) * (c * c)
            # Divided last: XLA works a quotient out once, and what is made of it in both of Adam's
            # moments.
            away = jnp.asarray(strength, w.dtype) * c * (w - whole_mean * m)
            return jnp.maximum(path, 0) * away / (drift * drift + floor)

        away = jax.tree.map(towards, params, mean, memory.path, memory.drift)
        return away, memory._replace(mean_share=mean_share, mean=mean)

    def learn(memory: PathMemory, grads: Tree, steps: Tree) -> PathMemory:
        gains = jax.tree.map(lambda g, s: -g * s.astype(g.dtype), grads, steps)
        return memory._replace(
            path_share=more_in(memory.path_share, importance_decay),
            path=moved(memory.path, gains, importance_decay),
            drift=moved(
                memory.drift,
                jax.tree.map(lambda s, d: s.astype(d.dtype), steps, memory.drift),
                importance_decay,
            ),
        )

    return pulled(optimizer, begin, pull, learn)


class TaskMemory(NamedTuple):
    """Memory of :func:`synaptic_intelligence_with_boundaries`.

    Attributes:
        anchor: the weights at the last boundary.
        importance: of all tasks before it.
        path: how much each weight has lowered the loss since.
    """

    anchor: Tree
    importance: Tree
    path: Tree


def synaptic_intelligence_with_boundaries(
    optimizer: optax.GradientTransformation, *, strength: Number = 0.1, damping: Number = 0.1
) -> optax.GradientTransformationExtraArgs:
    r"""Synaptic intelligence as published: it must be told where one task ends and the next begins.

    At every update, with :math:`\Delta` the optimiser's step and :math:`g` the task's own gradient,

    .. math::
        g' = g + 2 c\, \Omega (w - w^*), \qquad \omega \leftarrow \omega - g \Delta,

    and at a boundary, before that,

    .. math::
        \Omega \leftarrow \Omega + \frac{\max(\omega, 0)}{(w - w^*)^2 + \xi}, \qquad
        w^* \leftarrow w, \qquad \omega \leftarrow 0.

    Three arrays per parameter.

    Args:
        optimizer: any optax optimiser.
        strength: :math:`c`; 0.1 for permuted MNIST in the paper.
        damping: :math:`\xi`, above 0.

    Returns:
        An optax transformation whose ``update`` demands ``boundary``: true at the first update of
        a new task, false otherwise. ``optax.MultiSteps`` hands on what its last batch was told
        alone: within it, say it at every batch of the first update.

    Example:
        >>> optimizer = synaptic_intelligence_with_boundaries(
        ...     optax.sgd(1.0), strength=1.0, damping=1.0
        ... )
        >>> state = optimizer.init(jnp.array([0.0]))
        >>> g, w = jnp.array([2.0]), jnp.array([0.0])
        >>> _, state = optimizer.update(g, state, w, boundary=False)
        >>> _, state = optimizer.update(g * 0, state, w - 2, boundary=True)
        >>> state.memory.importance  # 4 / (2**2 + 1)
        Array([0.8], dtype=float32)
        >>> optimizer.update(g * 0, state, w - 1, boundary=False)[0]  # back to -2
        Array([-1.6], dtype=float32)

    References:
        Zenke, Poole and Ganguli, *Continual learning through synaptic intelligence*, 2017,
        equations 4 and 5; clipped at 0 as in the authors' code.
    """
    twice = 2 * number("strength", strength)
    damping = above_zero("damping", damping, DIVIDES)

    def begin(params: Tree) -> TaskMemory:
        return TaskMemory(copied(params), zeros(params), zeros(params))

    def pull(memory: TaskMemory, grads: Tree, params: Tree) -> tuple[Tree, TaskMemory]:
        del grads
        away = jax.tree.map(
            lambda w, anchor, o: jnp.asarray(twice, w.dtype) * o * (w - anchor),
            params,
            memory.anchor,
            memory.importance,
        )
        return away, memory

    def learn(memory: TaskMemory, grads: Tree, steps: Tree) -> TaskMemory:
        path = jax.tree.map(lambda p, g, s: p - g * s.astype(g.dtype), memory.path, grads, steps)
        return memory._replace(path=path)

    def settled(memory: TaskMemory, params: Tree) -> TaskMemory:
        def grown(o: Array, path: Array, w: Array, anchor: Array) -> Array:
            distance = (w - anchor) ** 2 + jnp.asarray(damping, w.dtype)
            return o + jnp.maximum(path, 0) / distance

        importance = jax.tree.map(grown, memory.importance, memory.path, params, memory.anchor)
        return TaskMemory(params, importance, jax.tree.map(jnp.zeros_like, memory.path))

    inner = pulled(optimizer, begin, pull, learn)

    def update(
        updates: Tree,
        state: PulledState,
        params: Tree | None = None,
        *,
        boundary: ArrayLike,
        **extra: Any,
    ) -> tuple[Tree, PulledState]:
        need(params)
        weights = jax.tree.map(wide, params)
        due = single("boundary", boundary).astype(bool)
        memory = when(due, lambda m: settled(m, weights), state.memory)
        result: tuple[Tree, PulledState] = inner.update(
            updates, state._replace(memory=memory), params, **extra
        )
        return result

    return optax.GradientTransformationExtraArgs(inner.init, update)
