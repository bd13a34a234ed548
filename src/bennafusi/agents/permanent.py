"""Permanent and transient values: what is new is learnt apart, and kept when one is told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents.networks import Network, Params, half
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQState
from bennafusi.synapse.numbers import check_positive, check_shares, check_whole


@dataclass(frozen=True)
class Boundary:
    r"""What a network of two parts (``network.permanent``) does when it is told that a task ends.

    The values are :math:`Q = P + T`. Errors of Q move the transient part T alone. At a boundary the
    permanent part P goes towards the sum as it then is, by gradient descent over what the replay
    holds, and T fades:

    .. math::
        w_P \leftarrow w_P - \eta \nabla \overline{\big(P(s, a) - (P + T)(s, a)\big)^2}, \qquad
        T \leftarrow \lambda T

    Args:
        rate: :math:`\eta`.
        updates: steps of P at a boundary, each from a batch.
        batch: transitions in each.
        decay: :math:`\lambda`, what is left of T; 0 is a new beginning.

    Example:
        >>> Boundary(decay=2.0)
        Traceback (most recent call last):
        ...
        ValueError: decay=2: choose a number from 0 to 1

    References:
        Anand and Precup, *Prediction and control in continual reinforcement learning*, 2023.
    """

    rate: float = 1e-3
    updates: int = 500
    batch: int = 64
    decay: float = 0.75

    def __post_init__(self) -> None:
        check_positive(self, "rate")
        check_shares(self, "decay")
        check_whole(self, {"updates": (1, 2**16), "batch": (1, 2**16)})


def crossed(
    network: Network,
    rule: Boundary,
    task: Array | int,
    draw: Callable[[Array], Transition],
    key: Array,
    state: SoftQState,
) -> SoftQState:
    """The agent after a boundary that it is told of.

    Args:
        network: of two parts.
        rule: what it does.
        task: the number of the task that ends.
        draw: a batch of what is remembered of it, by a key.
        key: for all batches.
        state: of the agent.
    """
    transient, permanent = half(state.params, 0), half(state.params, 1)
    alone = network.alone

    def update(params: Params, key: Array) -> tuple[Params, None]:
        steps = draw(key)
        here = task if steps.task is None else steps.task
        taken = partial(jnp.take_along_axis, indices=steps.action[:, None], axis=1)
        wanted = taken(network.values(state.params, here, steps.observation))

        def loss(params: Params) -> Array:
            error = taken(alone.values(params, here, steps.observation)) - wanted
            return jnp.mean(error * error)

        down = jax.tree.map(lambda g: jnp.asarray(-rule.rate, g.dtype) * g, jax.grad(loss)(params))
        return jax.tree.map(jnp.add, params, down), None

    permanent, _ = lax.scan(update, permanent, jax.random.split(key, rule.updates))
    # Values are linear in the last layer: what is left of it is left of them.
    faded = Params(*(_last(part, rule.decay) for part in transient))._replace(gains=transient.gains)
    both = Params(*(new + old for new, old in zip(faded, permanent, strict=True)))
    return state._replace(params=both)


def _last(layers: tuple[Array, ...], decay: float) -> tuple[Array, ...]:
    *others, last = layers
    return (*others, jnp.asarray(decay, last.dtype) * last)
