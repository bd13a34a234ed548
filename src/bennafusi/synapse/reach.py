"""How far a chain lets a weight go."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.numbers import real
from bennafusi.synapse.scheme import every_and_dt


def reach(
    chain: Chain,
    learning_rate: float,
    *,
    every: int = 1,
    dt: float | None = None,
    params: Any = None,
) -> Any:
    r"""How far updates can hold a weight away from the beaker below it.

    An optimiser like Adam moves a weight by about its learning rate :math:`\eta` per update, and by
    hardly more. Between two steps of the chain that adds up to ``every`` times as much, and a step
    takes :math:`dt\, g_{1,2}` of the difference of level away. The two are equal at

    .. math:: |u_1 - u_2| = \frac{\mathrm{every} \cdot \eta}{dt\, g_{1,2}}.

    Farther than that a weight gets only as fast as the deeper beakers follow. A reach below the
    spread of the weights at their start means that the network is held near its random start.

    Args:
        chain: the chain.
        learning_rate: of the optimiser; for SGD, times the size of a typical gradient.
        every: updates between two steps of the chain.
        dt: time that one such step covers; ``every`` if not given.
        params: parameters at their start, a tree of arrays or of PyTorch's tensors.

    Returns:
        The reach in the units of the weights; with ``params`` a tree like theirs, in standard
        deviations of each, infinite where a parameter starts with equal values.

    Example:
        The paper's two-task agent, and the first beaker of its second layer:

        >>> round(reach(Chain(30, 0.001625), 1e-3, every=64), 2)
        0.62
        >>> weights = np.random.default_rng(0).normal(0, 1 / 20, (400, 200))
        >>> in_deviations = reach(Chain(30, 0.001625), 1e-3, every=64, params={"w": weights})
        >>> round(in_deviations["w"])
        12
    """
    every, step = every_and_dt(every, dt)
    rate = real("learning_rate", learning_rate)
    for name, value in (("learning_rate", rate), ("dt", step)):
        if not value > 0:
            raise ValueError(f"{name}={value:g}: must be above 0")
    far = every * rate / (step * chain.g12) if chain.flows else math.inf
    if params is None:
        return far

    def deviations(param: Any) -> float:
        array = param.detach().cpu().float() if hasattr(param, "detach") else param  # PyTorch's
        values = np.asarray(array)
        # In half precision the sum over a layer would stop growing, or become infinite.
        spread = float(np.std(values.astype(np.result_type(values.dtype, np.float32))))
        return far / spread if spread > 0 else math.inf

    return jax.tree.map(deviations, params)
