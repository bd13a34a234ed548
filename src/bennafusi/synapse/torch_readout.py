"""Parameters from the depth of PyTorch chains, and a way to put them in place for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from bennafusi.synapse.depth import beaker
from bennafusi.synapse.scheme import Scheme
from bennafusi.synapse.torch_bundle import Bundle, full_product

if TYPE_CHECKING:
    from bennafusi.synapse.torch import Consolidated


class Readout(dict[Tensor, Tensor]):
    """A tensor for each parameter that has a chain, of its shape and type.

    Used in a ``with`` statement, the parameters have these values inside it, and their own again
    after it, also after an error. The optimiser refuses to step meanwhile.
    """

    def __init__(self, optimizer: Consolidated, values: dict[Tensor, Tensor]) -> None:
        super().__init__(values)
        self._optimizer = optimizer
        self._own: list[Tensor] = []

    @torch.no_grad()
    def __enter__(self) -> Readout:
        self._optimizer._require_own_weights()
        self._own = [parameter.detach().clone() for parameter in self]
        self._optimizer._in_place = self
        for parameter, value in self.items():
            parameter.copy_(value)
        return self

    @torch.no_grad()
    def __exit__(self, *error: object) -> None:
        for parameter, value in zip(self, self._own, strict=True):
            parameter.copy_(value)
        self._optimizer._in_place = None
        self._own = []


def read(scheme: Scheme, bundle: Bundle, depth: int | Sequence[float] | Tensor) -> list[Tensor]:
    """One depth, or a weighted sum of all, for each parameter of a bundle."""
    n = scheme.chain.n
    if isinstance(depth, int) or np.ndim(depth) == 0:
        flat = bundle.level(scheme, beaker(depth, n))
    elif len(depth) == n:
        levels = torch.stack([bundle.level(scheme, k) for k in range(1, n + 1)])
        flat = full_product(torch.as_tensor(depth).to(levels), levels)
    else:
        raise ValueError(
            f"depth has {len(depth)} entries: this chain has {n} beakers, "
            f"so that weights for them need {n}"
        )
    # A copy: what is read out may be written to, the beakers may not.
    parts = zip(bundle.parts(flat), bundle.parameters, strict=True)
    return [part.to(parameter.dtype, copy=True) for part, parameter in parts]
