"""Continual backpropagation."""

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
    average_decay,
    difference,
    more_in,
    moved,
    need,
    need_floats,
    need_key,
    number,
    stepped,
)
from bennafusi.rivals.units import (
    Initializer,
    Layers,
    Units,
    by_path,
    need_activations,
    need_layers,
    newborn_state,
    reborn,
    widths,
    with_leaves,
)
from bennafusi.synapse.branch import when
from bennafusi.synapse.numbers import whole
from bennafusi.synapse.wrapped import wrapped


class UnitMemory(NamedTuple):
    """What :func:`continual_backprop` knows of one layer.

    Attributes:
        age: updates since each unit was born, int32.
        share: how much of both averages is what they are averages of, by which they are divided.
        utility: moving average of its contribution.
        activity: moving average of its activation.
        owed: how many units are to be replaced, a part of one included.
    """

    age: Array
    share: Array
    utility: Array
    activity: Array
    owed: Array


class ContinualBackpropState(NamedTuple):
    """State of :func:`continual_backprop`.

    Attributes:
        units: of each layer.
        key: random key of the next births.
        optimizer: the wrapped optimiser's own state.
    """

    units: tuple[UnitMemory, ...]
    key: Array
    optimizer: optax.OptState


def continual_backprop(
    optimizer: optax.GradientTransformation,
    layers: Layers,
    *,
    key: Array,
    replacement_rate: Number = 1e-4,
    maturity: int = 100,
    utility_decay: Number = 0.99,
    initializer: Initializer | None = None,
) -> optax.GradientTransformationExtraArgs:
    r"""Continual backpropagation: now and then the least useful grown-up unit is born again.

    Of every unit :math:`i` in a layer, at every update,

    .. math::
        u_i \leftarrow \eta u_i + (1 - \eta)\, E|h_i| \sum_k |w_{ik}|, \qquad
        \hat u_i = u_i / (1 - \eta^{a_i}),

    with the mean over the examples at hand, the weights out :math:`w_{ik}` after the optimiser's
    step and the age :math:`a_i`. The layer's debt grows by ``replacement_rate`` for each unit older
    than ``maturity``; once it exceeds 1, the one of them with the lowest :math:`\hat u` gets new
    weights in, weights out of 0 and a bias of 0, what it gave on average goes into the next layer's
    bias, and the optimiser's state of its weights begins anew. Adam's step count, which is one for
    all weights, goes on.
    No array per parameter, four per unit.

    Args:
        optimizer: any optax optimiser whose state is shaped like the parameters, such as Adam.
        layers: where the weights of each hidden layer stand.
        key: random key.
        replacement_rate: share of the grown-up units that is replaced per update.
        maturity: age in updates up to which a unit is safe.
        utility_decay: :math:`\eta`.
        initializer: of the weights in; ``jax.nn.initializers.he_uniform()`` if not given.

    Returns:
        An optax transformation whose ``update`` demands ``activations``: for each of ``layers`` an
        array ``[..., units]``, taken after the nonlinearity.

    Example:
        >>> from bennafusi.rivals import Units
        >>> params = {"in": jnp.ones((1, 2)), "out": jnp.ones((2, 1))}
        >>> optimizer = continual_backprop(
        ...     optax.sgd(0.0), [Units("in", "out")], key=jax.random.key(0), replacement_rate=1.0,
        ...     maturity=0,
        ... )
        >>> updates, state = optimizer.update(
        ...     params, optimizer.init(params), params, activations=[jnp.array([[1.0, 3.0]])]
        ... )
        >>> optax.apply_updates(params, updates)["out"].tolist()  # the first gave less
        [[0.0], [1.0]]

    References:
        Dohare et al., *Loss of plasticity in deep continual learning*, 2024, algorithm 1.
    """
    base = wrapped(optimizer)
    places = need_layers(layers)
    rate = number("replacement_rate", replacement_rate, most=1.0)
    number("maturity", whole("maturity", maturity))
    utility_decay = average_decay("utility_decay", utility_decay)
    fresh = jax.nn.initializers.he_uniform() if initializer is None else initializer

    def init(params: Tree) -> ContinualBackpropState:
        need_floats(params)
        return ContinualBackpropState(
            tuple(_newborn(width) for width in widths(params, places)),
            need_key(key),
            base.init(params),
        )

    def update(
        updates: Tree,
        state: ContinualBackpropState,
        params: Tree | None = None,
        *,
        activations: Sequence[Array],
        **extra: Any,
    ) -> tuple[Tree, ContinualBackpropState]:
        need(params)
        seen = need_activations(activations, params, places)
        steps, inner = base.update(updates, state.optimizer, params, **extra)
        leaves = by_path(stepped(params, steps))  # the test comes after the step
        units = tuple(
            _older(memory, h, leaves[layer.outgoing], maturity, rate, utility_decay)
            for memory, h, layer in zip(state.units, seen, places, strict=True)
        )
        Carry = tuple[Tree, ContinualBackpropState]

        def replace(carry: Carry) -> Carry:
            steps, state = carry
            next_key, now = jax.random.split(state.key)
            chosen = [_least_useful(memory, maturity) for memory in state.units]
            weights = stepped(params, steps)
            weights = _compensated(weights, places, state.units, chosen)
            weights = reborn(weights, places, chosen, now, fresh)
            inner = newborn_state(base, state.optimizer, params, weights, (places, chosen))
            units = tuple(map(_replaced, state.units, chosen))
            return difference(weights, params, steps), ContinualBackpropState(
                units, next_key, inner
            )

        due = jnp.any(jnp.stack([memory.owed > 1 for memory in units]))
        return when(due, replace, (steps, ContinualBackpropState(units, state.key, inner)))

    return optax.GradientTransformationExtraArgs(init, update)


def _newborn(width: int) -> UnitMemory:
    nothing = jnp.zeros(width, jnp.float32)
    return UnitMemory(
        jnp.zeros(width, jnp.int32),
        nothing,
        jnp.zeros_like(nothing),
        jnp.zeros_like(nothing),
        jnp.zeros((), jnp.float32),
    )


def _older(
    memory: UnitMemory, h: Array, outgoing: Array, maturity: int, rate: Number, decay: Number
) -> UnitMemory:
    """The memory of a layer after one more update."""
    others = tuple(axis for axis in range(outgoing.ndim) if axis != outgoing.ndim - 2)
    reach = jnp.sum(jnp.abs(outgoing), axis=others).astype(jnp.float32)
    gain = jnp.mean(jnp.abs(h), axis=0).astype(jnp.float32) * reach
    given = jnp.mean(h, axis=0).astype(jnp.float32)
    # A batch that is not finite says nothing of a unit, which is no older by it; in an average it
    # would stay for good, and come out in the next layer's bias many updates later.
    told = jnp.isfinite(gain)
    gain, given = jnp.where(told, gain, memory.utility), jnp.where(told, given, memory.activity)
    age = jnp.where(told, optax.safe_increment(memory.age), memory.age)
    grown = jnp.sum(age > maturity).astype(jnp.float32)
    return UnitMemory(
        age,
        jnp.where(told, more_in(memory.share, decay), memory.share),
        moved(memory.utility, gain, decay),
        moved(memory.activity, given, decay),
        memory.owed + jnp.asarray(rate, jnp.float32) * grown,
    )


def _whole(average: Array, memory: UnitMemory) -> Array:
    """The average as it is of what there was; of a newborn unit 0."""
    return average / jnp.where(memory.share > 0, memory.share, jnp.ones_like(memory.share))


def _least_useful(memory: UnitMemory, maturity: int) -> Array:
    """A mask of the unit to replace, of none if the layer owes none or none is old enough."""
    utility = _whole(memory.utility, memory)
    grown = memory.age > maturity
    place = jnp.argmin(jnp.where(grown, utility, jnp.full_like(utility, jnp.inf)))
    mask = jnp.arange(utility.size) == place
    return mask & grown & (memory.owed > 1)


def _replaced(memory: UnitMemory, mask: Array) -> UnitMemory:
    def cleared(x: Array) -> Array:
        return jnp.where(mask, jnp.zeros_like(x), x)

    paid = jnp.any(mask).astype(jnp.float32)
    return UnitMemory(
        cleared(memory.age),
        cleared(memory.share),
        cleared(memory.utility),
        cleared(memory.activity),
        memory.owed - paid,
    )


def _compensated(
    weights: Tree,
    layers: tuple[Units, ...],
    units: tuple[UnitMemory, ...],
    chosen: list[Array],
) -> Tree:
    """What a unit gave the next layer on average goes into that layer's bias."""
    leaves = by_path(weights)
    changed: dict[str, Array] = {}
    for layer, memory, mask in zip(layers, units, chosen, strict=True):
        if layer.next_bias is None:
            continue
        mean = _whole(memory.activity, memory)
        out = leaves[layer.outgoing]
        bias = changed.get(layer.next_bias, leaves[layer.next_bias])  # of several layers, perhaps
        if out.ndim > 2:  # a filter, of which every place sees the unit once
            out = jnp.sum(out, axis=tuple(range(out.ndim - 2)))
        gone = jnp.where(mask, mean, jnp.zeros_like(mean)).astype(out.dtype)
        changed[layer.next_bias] = bias + gone @ out
    return with_leaves(weights, changed)
