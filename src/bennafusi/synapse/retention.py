"""What a chain remembers: exact theory, and a simulation to hold against it.

Random patterns of ±1 are stored one after another, one element per synapse. An ideal observer who
knows a pattern asks how much of it the weights still hold. Time is counted in steps: a pattern of
age :math:`t` has been followed by :math:`t` others. Gates are taken as open throughout, since this
is about the state that a chain settles into.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg.lapack
import scipy.special
from jax import Array, lax
from numpy.typing import ArrayLike

from bennafusi.synapse import integrate
from bennafusi.synapse.chain import Chain, Float64
from bennafusi.synapse.numbers import real, whole
from bennafusi.synapse.scheme import Scheme

BITS = 32  # patterns that share one draw of random words
# The singular values of a chain span about as much as its areas. From 2^48 on the usual algorithm,
# which is as exact as the largest of them, gets the smallest ones wrong.
WIDEST = 2.0**45


def kernel(chain: Chain, ages: ArrayLike, dt: float = 1.0) -> Float64:
    r"""How much of a pattern is left in the weight, :math:`r(t) = (M^t)_{11}`.

    :math:`M` is the explicit step of length ``dt``. Its decay rates :math:`\rho_j` and modes
    :math:`v_j` are found together, see :func:`covariance`, and

    .. math:: r(t) = \sum_j v_{1j}^2\, (1 - \rho_j)^t,

    close to :math:`t^{-1/2}` between the chain's shortest and longest timescale.

    Args:
        chain: the chain; its gates are ignored.
        ages: ages in steps, of any shape, at least 0. Between whole ages the formula interpolates.
        dt: time that one step covers, in updates.

    Returns:
        :math:`r` at each age, of the shape of ``ages``.

    Example:
        >>> kernel(Chain(n=12, g12=0.125), [0, 1, 64, 1024]).round(5)
        array([1.     , 0.875  , 0.16608, 0.04197])
    """
    times = np.asarray(ages, np.float64)
    if not np.all((times >= 0) & np.isfinite(times)):
        raise ValueError("ages: must be finite and at least 0")
    return _left(*_modes(chain, dt), times)


def covariance(chain: Chain, dt: float = 1.0) -> Float64:
    r"""Covariance of all levels, ``[n, n]``, once random inputs of variance 1 have come for ever.

    The solution of :math:`P = M P M^T + e_1 e_1^T`. In the scaled levels :math:`\sqrt{C_k}\,u_k`
    the step is symmetric, :math:`1 - F^T F` with a bidiagonal :math:`F`, whose singular values and
    right vectors give the decay rates :math:`\rho_j = \sigma_j^2` and modes :math:`v_j` to many
    digits even where a rate is far below rounding; for long chains by Jacobi's rotations, since the
    usual way finds no :math:`\sigma_j` below the largest one's rounding. Then

    .. math::
        \sqrt{C_k C_l}\, P_{kl} = \sum_{ij} v_{ki}
            \frac{v_{1i}\, v_{1j}}{\rho_i + \rho_j - \rho_i \rho_j}\, v_{lj}.

    Args:
        chain: the chain, with a leak; its gates are ignored.
        dt: time that one step covers, in updates.

    Returns:
        The covariance.

    Example:
        >>> covariance(Chain(n=2, g12=0.125)).round(3)
        array([[7.608, 3.413],
               [3.413, 2.33 ]])
    """
    if not chain.leak:
        raise ValueError("chain: without a leak its levels grow for ever; there is no covariance")
    rates, modes = _modes(chain, dt)
    shared = np.add.outer(rates, rates) - np.outer(rates, rates)
    scaled = modes @ (np.outer(modes[0], modes[0]) / shared) @ modes.T
    root = np.sqrt(chain.areas)
    result: Float64 = scaled / np.outer(root, root)
    return result


def variances(chain: Chain, dt: float = 1.0) -> Float64:
    r"""Variance of each level under random inputs of variance 1, :math:`\mathrm{Var}(u_k)`.

    The diagonal of :func:`covariance`. It falls almost linearly with depth.

    Args:
        chain: the chain, with a leak; its gates are ignored.
        dt: time that one step covers, in updates.

    Returns:
        The variances, ``[n]``.

    Example:
        >>> v = variances(Chain(n=8, g12=0.125))
        >>> round(float(v[0]), 3)
        23.285
        >>> (v / v[0]).round(2)
        array([1.  , 0.77, 0.63, 0.51, 0.39, 0.28, 0.17, 0.07])
    """
    return np.diagonal(covariance(chain, dt)).copy()


def signal_to_noise(chain: Chain, ages: ArrayLike, synapses: float, dt: float = 1.0) -> Float64:
    r"""How far a pattern stands out of all the others: its signal-to-noise ratio.

    .. math:: \mathrm{SNR}(t) = \sqrt{N}\, \frac{r(t)}{\sqrt{\mathrm{Var}(u_1)}}

    Args:
        chain: the chain, with a leak; its gates are ignored.
        ages: ages in steps, of any shape.
        synapses: how many synapses :math:`N` hold one element of the pattern each.
        dt: time that one step covers, in updates.

    Returns:
        The ratio at each age, of the shape of ``ages``.

    Example:
        >>> signal_to_noise(Chain(n=8, g12=0.125), [0, 1000], synapses=1_000_000).round(1)
        array([207.2,   8.8])
    """
    count = _synapses(synapses)
    snr: Float64 = np.sqrt(count / variances(chain, dt)[0]) * kernel(chain, ages, dt)
    return snr


def lifetime(chain: Chain, synapses: float, dt: float = 1.0) -> float:
    r"""The age at which a pattern drowns: where its signal-to-noise ratio crosses 1.

    Found by bisection in :math:`\log t`. It grows like :math:`N / \log N` as long as the chain's
    longest timescale is not reached, and like :math:`\log N` beyond it, or for a single beaker.

    Args:
        chain: the chain, with a leak; its gates are ignored.
        synapses: how many synapses :math:`N` hold one element of the pattern each.
        dt: time that one step covers, in updates.

    Returns:
        The age in steps; 0 if even a fresh pattern does not stand out.

    Example:
        >>> [round(lifetime(Chain(n=n, g12=0.125), synapses=1e8)) for n in (1, 12)]
        [64, 5401120]
    """
    level = np.sqrt(variances(chain, dt)[0] / _synapses(synapses))
    if level >= 1:
        return 0.0
    rates, modes = _modes(chain, dt)
    # No mode outlives the slowest, and r(t) <= exp(-slowest * t).
    low, high = np.log(1e-3), np.log(-np.log(level) / rates.min() + 1)
    while high - low > 1e-12 * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if _left(rates, modes, np.exp(middle)) > level else (low, middle)
    return float(np.exp(low))


class Measurement(NamedTuple):
    """What :func:`measure` found.

    Attributes:
        overlap: mean over synapses of weight times pattern, for each age asked for.
        deviation: standard deviation of the weights.
    """

    overlap: Array
    deviation: Array


def measure(chain: Chain, key: Array, synapses: int, steps: int, ages: ArrayLike) -> Measurement:
    r"""Store random patterns in real chains, one per step, and look for the old ones.

    The chains start in their stationary state, :math:`u \sim N(0, P)`, and make ``steps`` steps
    :math:`u \leftarrow M u + x\,e_1` with patterns :math:`x_i = \pm 1`, by the same multirate
    integrator as an optimiser's. The overlap :math:`\frac1N \sum_i w_i x_i` of the final weights
    with the pattern of age :math:`t` has mean :math:`r(t)` and standard deviation
    :math:`\sqrt{(\mathrm{Var}(u_1) - r(t)^2) / N}`. Patterns are not stored: those of the given
    ages are drawn again from their keys.

    Args:
        chain: the chain, with a leak; its gates are ignored.
        key: random key.
        synapses: number of synapses.
        steps: number of patterns stored.
        ages: whole ages below ``steps``, ``[A]``; the newest pattern has age 0.

    Returns:
        Overlaps ``[A]`` and the deviation of the weights.

    Example:
        >>> chain = Chain(n=4, g12=0.125)
        >>> found = measure(chain, jax.random.key(0), 100_000, 32, [0, 1, 8])
        >>> bool(abs(found.overlap - kernel(chain, [0, 1, 8])).max() < 0.05)
        True
    """
    count, length = whole("synapses", synapses), whole("steps", steps)
    if count < 1 or length < 1:
        raise ValueError(f"synapses={count}, steps={length}: both must be at least 1")
    asked = np.asarray(ages)
    if asked.ndim != 1 or not np.issubdtype(asked.dtype, np.integer):
        raise TypeError("ages: must be a list of whole numbers")
    if asked.size and not 0 <= asked.min() <= asked.max() < length:
        raise ValueError(f"ages: must be from 0 to {length - 1}, below steps={length}")
    scheme = Scheme(dataclasses.replace(chain, gated=False))
    root = jnp.asarray(np.linalg.cholesky(covariance(chain)), jnp.float32)
    found: Measurement = _measure(scheme, count, length, key, root, jnp.asarray(asked, jnp.int32))
    return found


@partial(jax.jit, static_argnames=("scheme", "synapses", "steps"))
def _measure(
    scheme: Scheme, synapses: int, steps: int, key: Array, root: Array, ages: Array
) -> Measurement:
    pattern_key, start_key = jax.random.split(key)
    noise = jax.random.normal(start_key, (scheme.chain.n, synapses), jnp.float32)
    levels = jnp.matmul(root, noise, precision=lax.Precision.HIGHEST)
    Carry = tuple[Array, integrate.ChainState]

    def block(length: int, carry: Carry, index: Array) -> tuple[Carry, None]:
        words = _words(pattern_key, index, synapses)

        def store(carry: Carry, bit: Array) -> tuple[Carry, None]:
            weight, state = carry
            state = integrate.step(scheme, state, weight)
            return (state.levels[0][0] + _signs(words, bit), state), None

        return lax.scan(store, carry, jnp.arange(length, dtype=jnp.uint32))

    blocks, rest = divmod(steps, BITS)
    carry = (levels[0], integrate.start(scheme, levels))
    carry, _ = lax.scan(partial(block, BITS), carry, jnp.arange(blocks, dtype=jnp.uint32))
    (weight, _), _ = block(rest, carry, jnp.uint32(blocks)) if rest else (carry, None)

    def overlap(age: Array) -> Array:
        time = steps - 1 - age
        return jnp.mean(weight * _signs(_words(pattern_key, time // BITS, synapses), time % BITS))

    return Measurement(lax.map(overlap, ages), jnp.std(weight))


def _words(key: Array, block: Array, synapses: int) -> Array:
    """Random bits for :data:`BITS` patterns, one word per synapse."""
    return jax.random.bits(jax.random.fold_in(key, block), (synapses,), jnp.uint32)


def _signs(words: Array, bit: Array) -> Array:
    """One bit of each word as ±1: moved to where a float32 has its sign, over the bits of 1.0."""
    raised = (words >> bit.astype(jnp.uint32)) << np.uint32(31)
    return lax.bitcast_convert_type(raised | np.uint32(0x3F800000), jnp.float32)


def _modes(chain: Chain, dt: float) -> tuple[Float64, Float64]:
    """Decay rates ``[n]`` and, as columns, the modes of the scaled levels; see covariance."""
    scheme = Scheme(chain, dt, "euler")
    factor = np.diag(np.sqrt(scheme.from_below)) - np.diag(np.sqrt(scheme.from_above[1:]), 1)
    if chain.areas[-1] > WIDEST:
        return _modes_by_rotations(factor)
    _, singular, modes = np.linalg.svd(factor)
    return singular**2, modes.T


def _modes_by_rotations(factor: Float64) -> tuple[Float64, Float64]:
    """The same by Jacobi's rotations, each singular value to as many digits as the largest."""
    # joba=2: rows and columns may both be of any size. jobp=0: tiny numbers stay what they are.
    found, _, modes, work, _, failed = scipy.linalg.lapack.dgejsv(factor, joba=2, jobp=0)
    if failed:
        raise np.linalg.LinAlgError(f"chain: its modes were not found (dgejsv: info={failed})")
    return (found * (work[0] / work[1])) ** 2, modes


def _left(rates: Float64, modes: Float64, times: Float64) -> Float64:
    """The kernel at ``times``, from the decay rates and modes."""
    # |1 - rate|^t without first rounding 1 - 1e-18 to 1. A rate above 1 alternates in sign.
    size = np.exp(scipy.special.xlog1py(times[..., None], -np.minimum(rates, 2 - rates)))
    sign = np.where(rates > 1, np.cos(np.pi * times[..., None]), 1.0)
    total: Float64 = np.sum(modes[0] ** 2 * size * sign, axis=-1)
    return total


def _synapses(value: float) -> float:
    count = real("synapses", value)
    if not count > 0:
        raise ValueError(f"synapses={count}: must be above 0")
    return count
