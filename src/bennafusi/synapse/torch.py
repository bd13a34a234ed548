"""The chain around any PyTorch optimiser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import require_known
from bennafusi.synapse.scheme import Method, Scheme, every_and_dt
from bennafusi.synapse.torch_bundle import Bundle, Flow, Hidden, at_birth


class Consolidated(Optimizer):
    r"""Give every parameter a Benna-Fusi chain, around any PyTorch optimiser.

    The optimiser's own step goes into the first beaker, which is the parameter; after ``every``
    steps the chain makes one step of length ``dt``. The flow is not scaled by the learning rate,
    and the optimiser's moments are left alone. Parameters without a gradient keep flowing.

    It is a ``torch.optim.Optimizer``: learning-rate schedulers, closures, hooks,
    ``add_param_group`` and ``state_dict`` work as ever, and ``param_groups`` and ``state`` are the
    wrapped optimiser's own.

    Args:
        optimizer: any PyTorch optimiser.
        chain: the chain; ``Chain(1, g12, leak=False)`` is the optimiser itself.
        every: optimiser steps between two steps of the chain. The paper uses 64 with ``dt=64``.
        dt: time that one step of the chain covers, in updates; ``every`` if not given.
        method: ``"multirate"``, ``"euler"`` or ``"exact"``; see :func:`bennafusi.consolidate`.
        hidden: the deeper beakers at the start: ``"copy"``, ``"zeros"``, ``"linear-variance"`` or a
            function ``(weight, chain) -> [n - 1, *weight.shape]``.
        mask: function from a parameter to whether it gets a chain. All do, if not given.
        generator: random generator for ``hidden="linear-variance"``.

    Example:
        >>> model = torch.nn.Linear(4, 2)
        >>> chain = Chain.covering(10, 1e6)
        >>> optimizer = Consolidated(torch.optim.Adam(model.parameters(), lr=1e-3), chain)
        >>> model(torch.ones(4)).sum().backward()
        >>> optimizer.step()
        >>> optimizer.beakers(model.weight).shape
        torch.Size([10, 2, 4])
    """

    def __init__(
        self,
        optimizer: Optimizer,
        chain: Chain,
        *,
        every: int = 1,
        dt: float | None = None,
        method: Method = "multirate",
        hidden: Hidden = "copy",
        mask: Callable[[Tensor], bool] | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"optimizer={optimizer!r}: must be a torch.optim.Optimizer")
        self.every, step_length = every_and_dt(every, dt)
        self.scheme = Scheme(chain, step_length, method, updates_per_step=self.every)
        require_known(hidden, generator, example="torch.Generator()", name="generator")
        self._hidden, self._mask, self._generator = hidden, mask, generator
        self._bundles: list[Bundle] = []
        self._groups_seen = 0
        super().__init__(optimizer.param_groups, optimizer.defaults)
        self.optimizer = optimizer
        self._share()
        self._adopt_new_groups()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None, *, flow: Flow = 1.0) -> Any:
        """One step of the wrapped optimiser and, when it is due, one of the chain.

        Args:
            closure: passed on to the wrapped optimiser.
            flow: factor on the flow into deeper beakers: a number, a mapping from parameters to
                numbers or tensors of their shape (parameters left out count as 1), or an
                elementwise function that makes the factor from the drop of level along a tube. It
                is read when beakers move.

        Returns:
            What the wrapped optimiser returns.
        """
        self.scheme.check_flow(flow)
        _check_flow(flow, self.param_groups)
        loss = self.optimizer.step(closure) if closure is not None else self.optimizer.step()
        for bundle in self._bundles:
            bundle.updates += 1
            if bundle.updates == self.every:
                bundle.updates = 0
                bundle.step(self.scheme, flow)
        return loss

    def beakers(self, parameter: Tensor) -> Tensor:
        """All levels of one parameter, ``[n, *shape]``; the first is the parameter itself."""
        for bundle in self._bundles:
            for index, member in enumerate(bundle.parameters):
                if member is parameter:
                    return bundle.read(self.scheme, index)
        raise ValueError("parameter: has no chain in this optimiser")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; their chains begin with this call."""
        if not hasattr(self, "optimizer"):  # called by Optimizer.__init__ for groups that exist
            super().add_param_group(param_group)
            return
        self.optimizer.add_param_group(param_group)
        self._share()
        self._adopt_new_groups()

    def state_dict(self) -> dict[str, Any]:
        """The wrapped optimiser's ``state_dict`` with one more entry, ``"beakers"``.

        Plain tensors, numbers and strings: ``torch.load(..., weights_only=True)`` reads it.
        """
        state: dict[str, Any] = super().state_dict()
        bundles = [
            {"rows": list(b.rows), "shapes": b.shapes, "steps": b.steps, "updates": b.updates}
            for b in self._bundles
        ]
        state["beakers"] = {"settings": self._settings(), "bundles": bundles}
        return state

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore optimiser, beakers and counters; training goes on bit for bit."""
        if "beakers" not in state_dict:
            raise ValueError("state_dict: has no 'beakers'; it was not saved by a Consolidated")
        saved = state_dict["beakers"]
        if saved["settings"] != self._settings():
            raise ValueError(
                f"state_dict: was saved with {saved['settings']}, "
                f"but this optimiser has {self._settings()}"
            )
        here, there = [b.shapes for b in self._bundles], [b["shapes"] for b in saved["bundles"]]
        if here != there:
            raise ValueError(
                f"state_dict: its beakers are for parameters of shapes {there}, "
                f"this optimiser's do not fit: {here}"
            )
        plain = {name: value for name, value in state_dict.items() if name != "beakers"}
        super().load_state_dict(plain)  # runs the hooks registered here
        self.optimizer.load_state_dict(plain)
        self._share()
        for bundle, source in zip(self._bundles, saved["bundles"], strict=True):
            bundle.steps, bundle.updates = source["steps"], source["updates"]
            bundle.rows = [
                # Copied, and not into the old rows: a state_dict taken before may still hold those.
                new.to(old, copy=True)
                for old, new in zip(bundle.rows, source["rows"], strict=True)
            ]

    def __getstate__(self) -> dict[str, Any]:
        """For ``copy.deepcopy``: the base class would forget the beakers."""
        own = (
            "optimizer",
            "every",
            "scheme",
            "_hidden",
            "_mask",
            "_generator",
            "_bundles",
            "_groups_seen",
        )
        return {**super().__getstate__(), **{name: getattr(self, name) for name in own}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        """One list of groups and one state for wrapper and wrapped, whoever replaced theirs."""
        self.param_groups = self.optimizer.param_groups
        self.state = self.optimizer.state

    def _settings(self) -> dict[str, Any]:
        scheme = self.scheme
        return {
            **asdict(scheme.chain),
            "every": self.every,
            "dt": scheme.dt,
            "method": scheme.method,
        }

    @torch.no_grad()
    def _adopt_new_groups(self) -> None:
        for group in self.param_groups[self._groups_seen :]:
            kinds: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
            for parameter in group["params"]:
                if self._mask is not None and not self._mask(parameter):
                    continue
                if not (parameter.is_floating_point() or parameter.is_complex()):
                    raise TypeError(
                        f"params: one has dtype {parameter.dtype}, and only floating point can "
                        f"flow; leave it out with mask="
                    )
                kinds.setdefault((parameter.dtype, parameter.device), []).append(parameter)
            for members in kinds.values():
                levels = [
                    at_birth(self._hidden, p, self.scheme.chain, self._generator) for p in members
                ]
                self._bundles.append(Bundle(members, torch.cat(levels, 1), self.scheme))
        self._groups_seen = len(self.param_groups)


def consolidated(
    optimizer_class: Callable[..., Optimizer], chain: Chain, **settings: Any
) -> type[Consolidated]:
    """An optimiser *class* with chains, for libraries that want to build the optimiser themselves.

    Args:
        optimizer_class: such as ``torch.optim.Adam``.
        chain: the chain.
        **settings: further arguments of :class:`Consolidated`.

    Returns:
        A class that takes the arguments of ``optimizer_class``.

    Example:
        In Stable-Baselines3, ``policy_kwargs={"optimizer_class": consolidated(torch.optim.Adam,
        chain)}``; on its own:

        >>> ChainedAdam = consolidated(torch.optim.Adam, Chain(n=8, g12=0.01))
        >>> optimizer = ChainedAdam([torch.nn.Parameter(torch.ones(3))], lr=1e-3)
        >>> type(optimizer).__name__
        'ConsolidatedAdam'
    """

    class Class(Consolidated):
        def __init__(self, params: Iterable[Any], *args: Any, **options: Any) -> None:
            super().__init__(optimizer_class(params, *args, **options), chain, **settings)

    name = getattr(optimizer_class, "__name__", "Optimizer")
    Class.__name__ = Class.__qualname__ = f"Consolidated{name}"
    Class.__doc__ = f"{name} whose parameters are Benna-Fusi chains, {chain!r}."
    return Class


def _check_flow(flow: Flow, groups: list[dict[str, Any]]) -> None:
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
    if isinstance(flow, Tensor) and flow.ndim > 0:
        raise ValueError(
            f"flow: a tensor of shape {tuple(flow.shape)} fits no parameter by itself; "
            f"give a number, or a mapping {{parameter: tensor}}"
        )
