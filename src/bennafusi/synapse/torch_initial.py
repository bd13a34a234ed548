"""The hidden beakers of PyTorch parameters at birth."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import HiddenName, depth_shares

# weight, chain, generator, name of the parameter -> levels u_2 .. u_n, [n - 1, *weight.shape]
HiddenFunction = Callable[[Tensor, Chain, torch.Generator | None, str], Tensor]
Hidden = HiddenName | HiddenFunction


def at_birth(
    hidden: Hidden,
    parameter: Tensor,
    chain: Chain,
    generator: torch.Generator | None,
    path: str,
) -> Tensor:
    """Levels of the hidden beakers at the start, flat: ``[n - 1, numel]``."""
    weight = parameter.detach().to(level_dtype(parameter))
    shape = (chain.n - 1, *weight.shape)
    if hidden == "copy":
        levels = weight.expand(shape)
    elif hidden == "zeros":
        levels = weight.new_zeros(shape)
    elif hidden == "linear-variance":
        noise = torch.randn(shape, dtype=weight.dtype, generator=generator).to(weight)
        deviation = torch.as_tensor(depth_shares(chain)).sqrt().to(weight)
        levels = (
            noise * deviation.view(-1, *[1] * weight.ndim) * weight.abs().square().mean().sqrt()
        )
    else:
        assert callable(hidden)
        levels = hidden(weight, chain, generator, path).to(weight)
        if tuple(levels.shape) != shape:
            raise ValueError(
                f"hidden={hidden!r}: returned shape {tuple(levels.shape)} for parameter {path!r}; "
                f"the {chain.n - 1} hidden beakers need {shape}"
            )
    return levels.reshape(chain.n - 1, parameter.numel())


def level_dtype(parameter: Tensor) -> torch.dtype:
    """In float32 or more, as :func:`bennafusi.synapse.precision.wide` has it for JAX.

    Asked of torch itself, not by size: of torch's types, complex half precision has four bytes too.
    """
    return torch.promote_types(parameter.dtype, torch.float32)
