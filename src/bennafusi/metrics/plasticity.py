"""Whether a network can still learn: what of it is alive, and how far it has gone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64 = NDArray[np.float64]


def dormant_share(activations: ArrayLike, threshold: float = 0.1) -> float:
    r"""Share of a layer's units that are dormant, :math:`s_i \le \tau`.

    .. math:: s_i = \frac{E|h_i|}{\frac1H \sum_j E|h_j|}

    Activations are those *after* the nonlinearity; before a ReLU no unit would ever be silent. In a
    layer that is silent altogether all are dormant; of activations that are not finite it is NaN.

    Args:
        activations: ``[..., units]``.
        threshold: :math:`\tau`.

    Example:
        >>> dormant_share([[0.0, 0.1, 2.0, 1.9]], threshold=0.1)
        0.5

    References:
        Sokar et al., *The dormant neuron phenomenon in deep reinforcement learning*, 2023.
    """
    values = np.asarray(activations, np.float64)
    if not values.ndim or not values.size:
        raise ValueError(f"activations: must be [..., units], not of shape {values.shape}")
    if not np.isfinite(values).all():
        return float("nan")
    size = np.abs(values.reshape(-1, values.shape[-1])).mean(axis=0)
    return float(np.mean(size <= threshold * size.mean()))


def effective_rank(features: ArrayLike, delta: float = 0.01) -> int:
    r"""How many directions the features use: the srank of their singular values.

    .. math:: \min \{ k : \sum_{i \le k} \sigma_i \ge (1 - \delta) \sum_i \sigma_i \}

    Args:
        features: ``[examples, units]``.
        delta: :math:`\delta`, the part that may be missing.

    Example:
        >>> effective_rank(np.diag([4.0, 4.0, 0.01]))
        2

    References:
        Kumar et al., *Implicit under-parameterization inhibits data-efficient deep reinforcement
        learning*, 2021.
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta}: must be at least 0 and below 1")
    values = _singular("features", features)
    if not values.sum() > 0:
        return 0
    share = np.cumsum(values) / values.sum()
    return int(np.argmax(share >= (1 - delta) - 1e-12) + 1)


def stable_rank(matrix: ArrayLike) -> float:
    r"""Squared Frobenius norm over squared spectral norm, :math:`\sum_i \sigma_i^2 / \sigma_1^2`.

    Between 1 and the rank; 0 for a matrix of zeros. No experiment here reports it: their records
    hold no features, only :func:`effective_rank`.

    Example:
        >>> stable_rank(np.diag([2.0, 1.0]))
        1.25

    References:
        Rudelson and Vershynin, *Sampling from large matrices: an approach through geometric
        functional analysis*, 2007, who call it the numerical rank.
    """
    values = _singular("matrix", matrix)
    # Divided first: squares of very large or small numbers are infinite or 0.
    return float(((values / values[0]) ** 2).sum()) if values[0] > 0 else 0.0


def weight_norm(arrays: Iterable[ArrayLike]) -> float:
    r"""Euclidean norm of all weights together, :math:`\sqrt{\sum_i w_i^2}`.

    For a tree, of ``jax.tree.leaves(params)``. The usual norm; that it is one number for all arrays
    together, and no mean over them, is our choice.

    Example:
        >>> weight_norm([[3.0], [[4.0]]])
        5.0
    """
    return float(np.sqrt(sum(np.sum(np.asarray(x, np.float64) ** 2) for x in arrays)))


def distance_moved(now: Iterable[ArrayLike], before: Iterable[ArrayLike]) -> float:
    r"""Euclidean distance between the weights now and before, :math:`\sqrt{\sum_i (w_i - v_i)^2}`.

    The :func:`weight_norm` of the difference, all arrays together; ours in the same sense.

    Example:
        >>> distance_moved([[3.0], [5.0]], before=[[0.0], [1.0]])
        5.0
    """
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(now, before, strict=True)]
    for one, two in pairs:
        if one.shape != two.shape:
            raise ValueError(f"before: has an array of shape {two.shape} where now has {one.shape}")
    return weight_norm(a.astype(np.float64) - b.astype(np.float64) for a, b in pairs)


def _singular(name: str, matrix: ArrayLike) -> Float64:
    values = np.asarray(matrix, np.float64)
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"{name}: must be a matrix with numbers in it, not of shape {values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: holds NaN or infinity, of which there is no rank")
    return np.asarray(np.linalg.svd(values, compute_uv=False), np.float64)
