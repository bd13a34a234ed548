"""Memory aware synapses without boundaries."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from bennafusi.rivals.ewc import ImportanceMemory, forgotten, pull_to_mean, remembered
from bennafusi.rivals.skeleton import Number, PulledState, Tree, average_decay, need, number, pulled
from bennafusi.synapse.precision import wide


def mas(
    optimizer: optax.GradientTransformation,
    *,
    strength: Number = 0.01,
    mean_decay: Number = 0.999,
    importance_decay: Number = 0.999,
) -> optax.GradientTransformationExtraArgs:
    r"""Memory aware synapses: a weight is important if the output depends on it, right or wrong.

    .. math::
        \bar w &\leftarrow \beta_w \bar w + (1 - \beta_w) w, \qquad
        \Omega \leftarrow \beta_\Omega \Omega + (1 - \beta_\Omega)
            \left| \nabla_w \lVert f(x) \rVert^2 \right| \\
        g &\leftarrow g + \lambda \hat\Omega (w - \hat{\bar w})

    as :func:`~bennafusi.rivals.online_ewc`, and without boundaries like it: the paper averages
    :math:`\Omega` over each task's data instead, each example's size by itself: of a batch, the
    gradient is averaged before its size is taken, which makes :math:`\Omega` smaller. Two arrays
    per parameter, and a second gradient.

    Args:
        optimizer: any optax optimiser.
        strength: :math:`\lambda`; of the penalty :math:`\frac{\lambda}{2} \Omega (w - \bar w)^2`.
        mean_decay: :math:`\beta_w`, of the mean of the weights.
        importance_decay: :math:`\beta_\Omega`, of the importance.

    Returns:
        An optax transformation whose ``update`` demands ``output_grads``: the gradient of
        :math:`\lVert f(x) \rVert^2`, like the gradients. Those of the loss again give the form
        that some benches call MAS. Inside ``optax.masked`` and ``optax.multi_transform`` they must
        be cut as the gradients are: give those ``mask_compatible_extra_args=True``.

    Example:
        >>> optimizer = mas(optax.sgd(1.0), strength=1.0, mean_decay=0.5)
        >>> state = optimizer.init(jnp.array([0.0]))
        >>> loud = jnp.array([-2.0])
        >>> zero, w = jnp.array([0.0]), jnp.array([3.0])
        >>> _, state = optimizer.update(zero, state, zero, output_grads=loud)
        >>> updates, state = optimizer.update(zero, state, w, output_grads=loud)
        >>> round(float(updates[0]), 4)  # 2 * (3 - 2), downhill
        -2.0

    References:
        Aljundi et al., *Memory aware synapses: learning what (not) to forget*, 2018.
    """
    strength = number("strength", strength)
    mean_decay = average_decay("mean_decay", mean_decay)
    importance_decay = average_decay("importance_decay", importance_decay)

    def pull(memory: ImportanceMemory, grads: Tree, params: Tree) -> tuple[Tree, ImportanceMemory]:
        del grads
        return pull_to_mean(memory, params, strength), memory

    inner = pulled(optimizer, forgotten, pull)

    def update(
        updates: Tree,
        state: PulledState,
        params: Tree | None = None,
        *,
        output_grads: Tree,
        **extra: Any,
    ) -> tuple[Tree, PulledState]:
        need(params)
        _need_alike(output_grads, updates)
        weights = jax.tree.map(wide, params)
        sizes = jax.tree.map(lambda g: jnp.abs(wide(g)), output_grads)
        memory = remembered(state.memory, weights, sizes, mean_decay, importance_decay)
        result: tuple[Tree, PulledState] = inner.update(
            updates, state._replace(memory=memory), params, **extra
        )
        return result

    return optax.GradientTransformationExtraArgs(inner.init, update)


def _need_alike(output_grads: Tree, grads: Tree) -> None:
    """Refuse a tree that is not the gradients', such as a whole one where a mask has cut theirs."""
    given: Any = jax.tree.structure(output_grads)
    needed: Any = jax.tree.structure(grads)
    if given != needed:
        raise ValueError(
            f"output_grads: its tree {given} must be like the gradients' {needed}; optax.masked "
            f"and optax.multi_transform cut both alike with mask_compatible_extra_args=True"
        )
    named = jax.tree_util.tree_leaves_with_path(output_grads)
    for (path, leaf), grad in zip(named, jax.tree.leaves(grads), strict=True):
        if jnp.shape(leaf) != jnp.shape(grad):
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            raise ValueError(
                f"output_grads: {name!r} has shape {jnp.shape(leaf)} and must be like its "
                f"gradient, {jnp.shape(grad)}; average over examples first"
            )
