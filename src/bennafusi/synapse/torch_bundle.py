"""The beakers of PyTorch parameters that travel together, and how they move."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.equation import relax
from bennafusi.synapse.initial import HiddenName, depth_shares
from bennafusi.synapse.scheme import Scheme

# weight, chain -> levels u_2 .. u_n, [n - 1, *weight.shape]
HiddenFunction = Callable[[Tensor, Chain], Tensor]
Hidden = HiddenName | HiddenFunction
Flow = float | Tensor | Mapping[Tensor, float | Tensor] | Callable[[Tensor], Tensor]


class Bundle:
    """Parameters of one group, type and device whose beakers travel in common flat tensors.

    Attributes:
        parameters: the parameters, each of which is its own first beaker.
        rows: one flat tensor per deeper beaker, group by group, with one more after each group but
            the last: the liquid that waits in the tube below it.
        steps: steps that the chain has made.
        updates: optimiser steps since the chain last moved.
    """

    def __init__(self, parameters: list[Tensor], hidden: Tensor, scheme: Scheme) -> None:
        self.parameters = parameters
        self.sizes = [p.numel() for p in parameters]
        self.shapes = [list(p.shape) for p in parameters]
        self.rows: list[Tensor] = []
        self.steps = 0
        self.updates = 0
        self._gates: list[int] = scheme.gate_steps.tolist()
        self._shares_by_gates: dict[int, list[tuple[list[float], list[float]]]] = {}
        for group in scheme.groups:
            if group.start > 0:
                self.rows.append(torch.zeros_like(hidden[0]))
            self.rows += [hidden[k - 1].clone() for k in range(max(group.start, 1), group.stop)]

    def step(self, scheme: Scheme, flow: Flow) -> None:
        """One step of the chain from the parameters as they are now."""
        self.steps = scheme.next_step(self.steps)
        if not scheme.chain.flows:
            return
        weight = torch.cat([p.reshape(-1) for p in self.parameters]).to(
            _level_dtype(self.parameters[0])
        )
        rows = [weight, *self.rows]
        if scheme.method == "exact":
            opened = int((self.steps >= scheme.gate_steps).sum())
            rise = torch.tensor(scheme.propagators[opened]).to(weight)
            levels = torch.stack(rows)
            rows = list((levels + rise @ levels).unbind())
        else:
            self._move(scheme, rows, self._factor(flow, weight))
        self.rows = rows[1:]
        for parameter, part in zip(self.parameters, torch.split(rows[0], self.sizes), strict=True):
            parameter.copy_(part.view_as(parameter))

    def _move(self, scheme: Scheme, rows: list[Tensor], flow: Any) -> None:
        """Move the groups whose time has come, deepest first, each from old levels."""
        shares = self._shares(scheme)
        for index in reversed(range(len(scheme.groups))):
            start, stop, period = scheme.groups[index]
            if self.steps % period:
                continue
            first, size = start + index, stop - start  # a tube's row stands between two groups
            if index > 0:
                rows[first] = rows[first] + rows[first - 1]
                rows[first - 1] = torch.zeros_like(rows[first])
            levels = rows[first : first + size]
            tube = first + size
            last = index + 1 == len(scheme.groups)
            below = torch.zeros_like(levels[0]) if last else rows[tube + 1] + rows[tube]
            inward, back = shares[index]
            rows[first : first + size], drop = relax(
                [*levels, below], inward, back, flow, _add_scaled
            )
            if not last:
                rows[tube] = _add_scaled(rows[tube], inward[size], drop)

    def _shares(self, scheme: Scheme) -> list[tuple[list[float], list[float]]]:
        """What flows into and back to the beakers of each group, with the gates as they are now."""
        opened = bisect_right(self._gates, self.steps)  # gates open from the top
        if opened not in self._shares_by_gates:
            back = np.where(np.arange(scheme.chain.n) < opened, scheme.from_below, 0.0)
            self._shares_by_gates = {
                opened: [
                    (
                        (scheme.from_above[start : stop + 1] * period).tolist(),
                        (back[start:stop] * period).tolist(),
                    )
                    for start, stop, period in scheme.groups
                ]
            }
        return self._shares_by_gates[opened]

    def read(self, scheme: Scheme, index: int) -> Tensor:
        """All levels of one parameter, liquid that waits in a tube counted with where it goes."""
        parameter = self.parameters[index]
        begin = sum(self.sizes[:index])
        rows = [row[begin : begin + self.sizes[index]] for row in self.rows]
        levels = [parameter.detach().reshape(-1).to(rows[0].dtype if rows else parameter.dtype)]
        waiting: Tensor | float = 0.0
        position = 0
        for number, group in enumerate(scheme.groups):
            if number > 0:
                waiting = rows[position]
                position += 1
            for _ in range(max(group.start, 1), group.stop):
                levels.append(rows[position] + waiting)
                position += 1
                waiting = 0.0
        return torch.stack(levels).view(len(levels), *parameter.shape)

    def _factor(
        self, flow: Flow, weight: Tensor
    ) -> float | Tensor | Callable[[Tensor], Tensor] | None:
        """``flow`` for the flat tensors, ``None`` where it changes nothing."""
        if callable(flow):
            return flow
        if isinstance(flow, Mapping):
            parts = [
                torch.as_tensor(flow.get(p, 1.0)).to(weight).expand_as(p) for p in self.parameters
            ]
            return torch.cat([part.reshape(-1) for part in parts])
        if isinstance(flow, Tensor):
            return flow.to(weight)
        return None if flow == 1 else flow


def at_birth(
    hidden: Hidden, parameter: Tensor, chain: Chain, generator: torch.Generator | None
) -> Tensor:
    """Levels of the hidden beakers at the start, flat: ``[n - 1, numel]``."""
    weight = parameter.detach().to(_level_dtype(parameter))
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
        levels = hidden(weight, chain).to(weight)
        if tuple(levels.shape) != shape:
            raise ValueError(
                f"hidden={hidden!r}: returned shape {tuple(levels.shape)}; "
                f"the {chain.n - 1} hidden beakers need {shape}"
            )
    return levels.reshape(chain.n - 1, parameter.numel())


def _level_dtype(parameter: Tensor) -> torch.dtype:
    """Beakers are never kept below float32: in bfloat16 the second one would hardly ever move."""
    return torch.promote_types(parameter.dtype, torch.float32)


def _add_scaled(y: Tensor, a: float, x: Tensor) -> Tensor:
    return torch.add(y, x, alpha=a)
