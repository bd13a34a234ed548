"""The beakers of PyTorch parameters that travel together, and how they move."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bennafusi.synapse.equation import relax
from bennafusi.synapse.numbers import whole
from bennafusi.synapse.scheme import COUNTER_END, LONGEST_PERIOD, Scheme, next_step
from bennafusi.synapse.torch_initial import level_dtype

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
        self.steps = next_step(self.steps)
        if not scheme.chain.flows:
            return
        rows = self._rows()
        weight = rows[0]
        if scheme.method == "exact":
            opened = int((self.steps >= scheme.gate_steps).sum())
            rise = torch.tensor(scheme.propagators[opened]).to(weight)
            levels = torch.stack(rows)
            rows = list((levels + full_product(rise, levels)).unbind())
        else:
            self._move(scheme, rows, self._factor(flow, weight))
        self.rows = rows[1:]
        self.put(rows[0])

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

    def level(self, scheme: Scheme, depth: int) -> Tensor:
        """Beaker ``depth``, counted from 1, flat; liquid that waits in a tube counts with it."""
        rows = self._rows()
        index = scheme.group_of(depth)
        place = depth - 1 + index  # a tube's row stands between two groups
        arriving = index > 0 and depth - 1 == scheme.groups[index].start
        return rows[place] + rows[place - 1] if arriving else rows[place]

    def put(self, flat: Tensor) -> None:
        """Give the parameters the values of one flat tensor."""
        for parameter, part in zip(self.parameters, self.parts(flat), strict=True):
            parameter.copy_(part)

    def parts(self, flat: Tensor) -> list[Tensor]:
        """A flat tensor as one for each parameter, of its shape."""
        parts = torch.split(flat, self.sizes)
        return [part.view_as(p) for part, p in zip(parts, self.parameters, strict=True)]

    def pour_up(self, scheme: Scheme, depth: int) -> Tensor:
        """Give all beakers above ``depth`` its level; returns the liquid that this created."""
        target = self.level(scheme, depth)
        areas = scheme.chain.areas.tolist()
        created = torch.zeros_like(target)
        for above in range(1, depth):
            missing = target - self.level(scheme, above)
            created = _add_scaled(created, areas[above - 1], missing)
        rows = self._rows()
        for above in range(1, depth):
            index = scheme.group_of(above)
            rows[above - 1 + index] = target
            if index > 0 and above - 1 == scheme.groups[index].start:
                rows[above - 2 + index] = torch.zeros_like(target)  # what waited for it
        self.rows = rows[1:]
        self.put(target)
        return created

    def saved(self) -> dict[str, Any]:
        """What a ``state_dict`` holds of it."""
        names = ("rows", "shapes", "steps", "updates")
        return {name: getattr(self, name) for name in names} | {"rows": list(self.rows)}

    def require_fitting(self, saved: Mapping[str, Any], every: int) -> None:
        """Refuse a saved bundle that is not one of these parameters, or that is damaged."""
        if saved["shapes"] != self.shapes:
            raise ValueError(
                f"state_dict: its beakers are for parameters of shapes {saved['shapes']}, "
                f"this optimiser's do not fit: {self.shapes}"
            )
        if len(saved["rows"]) != len(self.rows):
            raise ValueError(
                f"state_dict: 'rows' has {len(saved['rows'])} tensors, "
                f"and this chain needs {len(self.rows)}"
            )
        for number, (new, old) in enumerate(zip(saved["rows"], self.rows, strict=True)):
            if new.shape != old.shape:
                raise ValueError(
                    f"state_dict: row {number} has shape {tuple(new.shape)}, "
                    f"and needs {tuple(old.shape)}"
                )
            if not torch.isfinite(new).all():
                raise ValueError(f"state_dict: row {number} holds values that are not finite")
        ends = {"steps": COUNTER_END + LONGEST_PERIOD, "updates": every}
        for name, end in ends.items():
            if not 0 <= whole(f"state_dict: {name}", saved[name]) < end:
                raise ValueError(
                    f"state_dict: {name}={saved[name]}: must be at least 0 and below {end}"
                )

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what was saved, after :meth:`require_fitting`."""
        self.steps, self.updates = saved["steps"], saved["updates"]
        # Copied, and not into the old rows: a state_dict taken before may still hold those.
        weight = self._weight()
        self.rows = [row.to(weight, copy=True) for row in saved["rows"]]

    def _rows(self) -> list[Tensor]:
        """The first beaker and all rows below it, on the device where the parameters are now."""
        weight = self._weight()
        # A model may move after its optimiser was made, as those of Stable-Baselines3 do.
        if any((row.device, row.dtype) != (weight.device, weight.dtype) for row in self.rows[:1]):
            self.rows = [row.to(weight) for row in self.rows]
        return [weight, *self.rows]

    def _weight(self) -> Tensor:
        """The first beaker, flat, in the precision of the chain."""
        flat = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        return flat.to(level_dtype(self.parameters[0]))

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


def full_product(shares: Tensor, levels: Tensor) -> Tensor:
    """``shares @ levels`` in the type of the levels, within ``torch.autocast`` too.

    Autocast runs such products in half precision, in which beakers would lose what they hold.
    """
    device = levels.device.type
    if not torch.amp.is_autocast_available(device):  # and so none is on
        return shares @ levels
    with torch.autocast(device, enabled=False):
        return shares @ levels


def check_flow(flow: Flow, groups: list[dict[str, Any]]) -> None:
    """Refuse what fits no parameter, before anything has moved."""
    if isinstance(flow, Mapping):
        known = {id(parameter): parameter for group in groups for parameter in group["params"]}
        for key, value in flow.items():
            if id(key) not in known:
                raise ValueError(
                    f"flow: its key {key!r} is none of this optimiser's parameters; the keys must "
                    f"be the parameters themselves, not names or copies"
                )
            shape = torch.as_tensor(value).shape
            if shape not in (torch.Size(), known[id(key)].shape):
                raise ValueError(
                    f"flow: a factor of shape {tuple(shape)} for a parameter of shape "
                    f"{tuple(known[id(key)].shape)}; give a number or a tensor of that shape"
                )
    elif not (hasattr(flow, "__float__") or callable(flow)):
        raise TypeError(
            f"flow={flow!r}: must be a number, a mapping {{parameter: factor}}, or a function of "
            f"the drop of level"
        )
    if isinstance(flow, Tensor) and flow.ndim > 0:
        raise ValueError(
            f"flow: a tensor of shape {tuple(flow.shape)} fits no parameter by itself; "
            f"give a number, or a mapping {{parameter: tensor}}"
        )


def _add_scaled(y: Tensor, a: float, x: Tensor) -> Tensor:
    return torch.add(y, x, alpha=a)
