"""Recycling dormant units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.rivals.skeleton import (
    Number,
    Tree,
    difference,
    need,
    need_floats,
    need_key,
    number,
    positive,
    stepped,
)
from bennafusi.rivals.units import (
    Initializer,
    Layers,
    need_activations,
    need_layers,
    newborn_state,
    reborn,
    widths,
)
from bennafusi.synapse.branch import when
from bennafusi.synapse.wrapped import wrapped


class RedoState(NamedTuple):
    """State of :func:`redo`.

    Attributes:
        updates: how many since units were last looked at, int32.
        key: random key of the next births.
        optimizer: the wrapped optimiser's own state.
    """

    updates: Array
    key: Array
    optimizer: optax.OptState


def redo(
    optimizer: optax.GradientTransformation,
    layers: Layers,
    *,
    key: Array,
    threshold: Number = 0.1,
    period: int = 1000,
    initializer: Initializer | None = None,
) -> optax.GradientTransformationExtraArgs:
    r"""ReDo: every so many updates, units that are (almost) silent are born again.

    With the mean over the examples at hand, a unit's score in its layer is

    .. math:: s_i = \frac{E|h_i|}{\frac1H \sum_j E|h_j|}.

    Where :math:`s_i \le \tau`, the unit gets new weights in, weights out of 0, a bias of 0, and the
    optimiser's state of its weights begins anew: Adam's moments at 0, the beakers of a chain
    as it fills them at the start (``hidden="copy"``: as full as the new weights). No array per
    parameter.

    Args:
        optimizer: any optax optimiser whose state is shaped like the parameters, such as Adam.
        layers: where the weights of each hidden layer stand.
        key: random key.
        threshold: :math:`\tau`; 0 takes units that are silent altogether.
        period: updates between two looks.
        initializer: of the weights in; ``jax.nn.initializers.glorot_uniform()`` if not given.

    Returns:
        An optax transformation whose ``update`` demands ``activations``: for each of ``layers`` an
        array ``[..., units]``, taken after the nonlinearity.

    Example:
        >>> from bennafusi.rivals import Units
        >>> params = {"in": jnp.ones((1, 2)), "out": jnp.ones((2, 1))}
        >>> optimizer = redo(optax.sgd(0.0), [Units("in", "out")], key=jax.random.key(0), period=1)
        >>> updates, state = optimizer.update(
        ...     params, optimizer.init(params), params, activations=[jnp.array([[0.0, 3.0]])]
        ... )
        >>> optax.apply_updates(params, updates)["out"].tolist()  # the first unit was silent
        [[0.0], [1.0]]

    References:
        Sokar et al., *The dormant neuron phenomenon in deep reinforcement learning*, 2023.
    """
    base = wrapped(optimizer)
    places, length = need_layers(layers), positive("period", period)
    threshold = number("threshold", threshold)
    fresh = jax.nn.initializers.glorot_uniform() if initializer is None else initializer

    def init(params: Tree) -> RedoState:
        need_floats(params)
        widths(params, places)
        return RedoState(jnp.zeros((), jnp.int32), need_key(key), base.init(params))

    def update(
        updates: Tree,
        state: RedoState,
        params: Tree | None = None,
        *,
        activations: Sequence[Array],
        **extra: Any,
    ) -> tuple[Tree, RedoState]:
        need(params)
        seen = need_activations(activations, params, places)
        steps, inner = base.update(updates, state.optimizer, params, **extra)

        def recycle(carry: tuple[Tree, RedoState]) -> tuple[Tree, RedoState]:
            steps, state = carry
            next_key, now = jax.random.split(state.key)
            chosen = [silent(h, threshold) for h in seen]
            weights = reborn(stepped(params, steps), places, chosen, now, fresh)
            inner = newborn_state(base, state.optimizer, params, weights, (places, chosen))
            steps = difference(weights, params, steps)
            return steps, RedoState(jnp.zeros_like(state.updates), next_key, inner)

        count = optax.safe_increment(state.updates)
        carry = (steps, RedoState(count, state.key, inner))
        steps, state = when(count >= length, recycle, carry)
        return steps, state

    return optax.GradientTransformationExtraArgs(init, update)


def silent(activations: Array, threshold: Any) -> Array:
    """Which units have a score of at most ``threshold``; ``[examples, units]`` to ``[units]``."""
    size = jnp.mean(jnp.abs(activations), axis=0)
    # Multiplied out: in a layer that is silent altogether all units are born again. Of a batch that
    # is not finite nothing is said.
    mean = jnp.mean(size)
    return (size <= jnp.asarray(threshold, size.dtype) * mean) & jnp.isfinite(mean)
