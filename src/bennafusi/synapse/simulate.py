"""Drive a chain by given inputs: the model on its own, without a learner."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike

from bennafusi.synapse import integrate
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.numbers import whole
from bennafusi.synapse.precision import wide
from bennafusi.synapse.scheme import Method, Scheme


def simulate(
    chain: Chain,
    dw: ArrayLike,
    *,
    u0: ArrayLike | None = None,
    dt: float = 1.0,
    method: Method = "multirate",
    flow: ArrayLike = 1.0,
    record_every: int | None = None,
) -> Array:
    r"""Drive a chain with the inputs ``dw`` and return its levels.

    Each step lets liquid flow and adds one input to the first beaker, both from the old levels:

    .. math:: u(t + dt) = M\, u(t) + dw(t)\, e_1,

    with :math:`M = 1 + A\,dt` for ``"euler"``, a close and fast approximation of it for
    ``"multirate"``, and :math:`M = e^{A\,dt}` for ``"exact"``. The weight after the last step thus
    holds the last input in full. (:func:`consolidate` runs the same sequence, input, flow, input,
    flow, and hands the weight over *after* a flow.)

    Args:
        chain: the chain.
        dw: inputs ``[T, *shape]``; any shape after time, one independent chain for each element.
        u0: levels at the start, ``[n, *shape]``; zeros if not given.
        dt: time that passes with each input, in updates.
        method: ``"multirate"``, ``"euler"`` or ``"exact"``; see :func:`consolidate`.
        flow: factor on the flow into deeper beakers, a number or an array ``[*shape]``.
        record_every: return the levels after every so many inputs as well.

    Returns:
        The levels after the last input, ``[n, *shape]``; with ``record_every=r`` the levels after
        inputs ``r, 2r, ...``, ``[T // r, n, *shape]``.

    Example:
        One input of size 1, then none: the weight is the memory's kernel, :math:`\sim t^{-1/2}`.

        >>> impulse = jnp.zeros(65).at[0].set(1.0)
        >>> chain = Chain(n=12, g12=0.125, gated=False)
        >>> u = simulate(chain, impulse, method="euler")
        >>> round(float(u[0]), 5)
        0.16608
    """
    inputs = jnp.asarray(dw)
    if not jnp.issubdtype(inputs.dtype, jnp.inexact):
        raise TypeError(f"dw has dtype {inputs.dtype}: must be real or complex floating point")
    inputs = wide(inputs)
    if inputs.ndim < 1:
        raise ValueError("dw is a scalar: the first axis must be time, [T, ...]")
    shape = (chain.n, *inputs.shape[1:])
    levels = jnp.zeros(shape, inputs.dtype) if u0 is None else jnp.asarray(u0, inputs.dtype)
    if levels.shape != shape:
        raise ValueError(f"u0 has shape {levels.shape}: this chain and dw need {shape}")
    interval = None if record_every is None else whole("record_every", record_every)
    if interval is not None and interval < 1:
        raise ValueError(f"record_every={interval}: must be at least 1")
    scheme = Scheme(chain, dt, method, updates_per_step=dt)
    scheme.check_flow(flow)
    result: Array = _drive(scheme, interval, inputs, levels, jnp.asarray(flow, inputs.dtype))
    return result


@partial(jax.jit, static_argnames=("scheme", "interval"))
def _drive(
    scheme: Scheme, interval: int | None, inputs: Array, levels: Array, flow: Array
) -> Array:
    Carry = tuple[Array, integrate.ChainState]

    def advance(carry: Carry, dw: Array) -> tuple[Carry, None]:
        weight, state = carry
        state = integrate.step(scheme, state, weight, flow)
        return (state.levels[0][0] + dw, state), None

    def whole(carry: Carry) -> Array:
        weight, state = carry
        levels: Array = integrate.read(state)
        return levels.at[0].set(weight)

    carry = (levels[0], integrate.start(scheme, levels))
    if interval is None:
        return whole(lax.scan(advance, carry, inputs)[0])

    def block(carry: Carry, dws: Array) -> tuple[Carry, Array]:
        carry, _ = lax.scan(advance, carry, dws)
        return carry, whole(carry)

    blocks = len(inputs) // interval
    return lax.scan(
        block, carry, inputs[: blocks * interval].reshape(blocks, interval, *inputs.shape[1:])
    )[1]
