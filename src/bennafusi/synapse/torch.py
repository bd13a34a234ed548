"""The chain around any PyTorch optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.depth import beaker_to_recall
from bennafusi.synapse.initial import require_known
from bennafusi.synapse.scheme import Method, Scheme, every_and_dt
from bennafusi.synapse.torch_bundle import Bundle, Flow, check_flow
from bennafusi.synapse.torch_initial import Hidden, at_birth
from bennafusi.synapse.torch_readout import Readout, read


class Consolidated(Optimizer):
    r"""Give every parameter a Benna-Fusi chain, around any PyTorch optimiser.

    The optimiser's own step goes into the first beaker, which is the parameter; after ``every``
    steps the chain makes one step of length ``dt``. The flow is not scaled by the learning rate,
    and the optimiser's moments are left alone. Parameters without a gradient keep flowing, frozen
    ones too: ``mask=lambda p: p.requires_grad`` leaves out those that are frozen by then.

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
            function ``(weight, chain, generator, path) -> [n - 1, *weight.shape]``. ``path`` is the
            parameter's name if the optimiser was given named parameters, else group and position,
            such as ``"0/1"``.
        mask: function from a parameter to whether it gets a chain. All do, if not given.
        generator: random generator for a random ``hidden``.

    Example:
        >>> model = torch.nn.Linear(4, 2)
        >>> chain = Chain.covering(300, 1e6)
        >>> optimizer = Consolidated(torch.optim.Adam(model.parameters(), lr=1e-3), chain)
        >>> model(torch.ones(4)).sum().backward()
        >>> optimizer.step()
        >>> optimizer.beakers(model.weight).shape
        torch.Size([7, 2, 4])
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
            raise TypeError(
                f"optimizer={optimizer!r}: must be a torch.optim.Optimizer that is made, such as "
                f"torch.optim.Adam(model.parameters()); around a class, consolidated(...)"
            )
        if isinstance(optimizer, Consolidated):
            raise TypeError(
                "optimizer: has chains already, and a state_dict holds one of each parameter; for "
                "other chains in other layers make an optimiser for each"
            )
        if mask is not None and not callable(mask):
            raise TypeError(f"mask={mask!r}: must be a function from a parameter to True or False")
        self.every, step_length = every_and_dt(every, dt)
        self.scheme = Scheme(chain, step_length, method, updates_per_step=self.every)
        require_known(hidden, generator, example="torch.Generator()", name="generator")
        self._hidden, self._mask, self._generator = hidden, mask, generator
        self._bundles: list[Bundle] = []
        self._groups_seen = 0
        self._in_place: Readout | None = None
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
        self._check(flow)
        loss = self.optimizer.step(closure) if closure is not None else self.optimizer.step()
        self._flow(flow)
        return loss

    # Which beakers move depends on counters: a compiled step would be another program every time.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _flow(self, flow: Flow) -> None:
        for bundle in self._bundles:
            bundle.updates += 1
            if bundle.updates >= self.every:
                bundle.updates = 0
                bundle.step(self.scheme, flow)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _check(self, flow: Flow) -> None:
        self._require_own_weights()
        grown = len(self.param_groups) != self._groups_seen
        if grown or self.param_groups is not self.optimizer.param_groups:
            raise RuntimeError(
                "the wrapped optimiser was loaded, or given parameters, by itself: call "
                "load_state_dict and add_param_group of the Consolidated, or do it before wrapping"
            )
        self.scheme.check_flow(flow)
        check_flow(flow, self.param_groups)

    def beakers(self, parameter: Tensor) -> Tensor:
        """All levels of one parameter, ``[n, *shape]``; the first is the parameter itself."""
        for bundle in self._bundles:
            for index, member in enumerate(bundle.parameters):
                if member is parameter:
                    levels = range(1, self.scheme.chain.n + 1)
                    return torch.stack(
                        [bundle.parts(bundle.level(self.scheme, k))[index] for k in levels]
                    )
        raise ValueError("parameter: has no chain in this optimiser")

    @torch.no_grad()
    def readout(self, depth: int | Sequence[float] | Tensor) -> Readout:
        r"""Parameters from the depth of the chains; in a ``with`` statement, put in place.

        Args:
            depth: a beaker's number, counted from 1, which is the parameter itself; or one weight
                per beaker, for :math:`\sum_k w_k u_k`.

        Returns:
            A dictionary from each parameter with a chain to a tensor of its shape and type.

        Example:
            >>> model = torch.nn.Linear(4, 2)
            >>> optimizer = Consolidated(torch.optim.SGD(model.parameters()), Chain(3, 0.1))
            >>> with optimizer.readout(3):
            ...     remembered = model(torch.ones(4))
            >>> torch.equal(remembered, model(torch.ones(4)))
            True
        """
        self._require_own_weights()
        values: dict[Tensor, Tensor] = {}
        for bundle in self._bundles:
            values.update(zip(bundle.parameters, read(self.scheme, bundle, depth), strict=True))
        return Readout(self, values)

    @torch.no_grad()
    def recall(self, depth: int, *, overwrite: bool = False) -> dict[Tensor, Tensor]:
        r"""Pour a depth back up, so that training goes on from what it remembers.

        The parameters and all beakers above ``depth`` take its level :math:`u_k`. Deeper beakers,
        counters, gates and the optimiser's moments stay.

        Args:
            depth: a beaker's number, from 2 on; 1 is the parameter itself.
            overwrite: must be ``True`` from depth 3 on, where beakers between lose what they hold.

        Returns:
            For each parameter with a chain the liquid that was created, or removed where below 0,
            :math:`\sum_{j<k} C_j (u_k - u_j)`.
        """
        self._require_own_weights()
        number = beaker_to_recall(depth, self.scheme.chain.n, overwrite)
        created: dict[Tensor, Tensor] = {}
        for bundle in self._bundles:
            parts = bundle.parts(bundle.pour_up(self.scheme, number))
            created.update(zip(bundle.parameters, parts, strict=True))
        return created

    def __repr__(self) -> str:
        scheme = self.scheme
        how = f"every={self.every}, dt={scheme.dt:g}, method={scheme.method!r}"
        return f"{type(self).__name__}({self.optimizer!r}, {how},\n{scheme.chain!r}\n)"

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

        Plain tensors, numbers and strings: ``torch.load(..., weights_only=True)`` reads it. Save
        this itself: ``get_optimizer_state_dict`` of ``torch.distributed.checkpoint`` keeps no entry
        but torch's own two, so that the beakers are lost, and it steps an optimiser that has not
        stepped yet, which moves the chain.
        """
        # Not the base class's, which knows nothing of an optimiser that has more to save. So the
        # hooks that are registered here are called here.
        for prepare in self._optimizer_state_dict_pre_hooks.values():
            prepare(self)
        bundles = [bundle.saved() for bundle in self._bundles]
        beakers = {"settings": self.scheme.settings, "bundles": bundles}
        state: dict[str, Any] = {**self.optimizer.state_dict(), "beakers": beakers}
        for change in self._optimizer_state_dict_post_hooks.values():
            changed = change(self, state)
            state = state if changed is None else changed
        return state

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore optimiser, beakers and counters; training goes on bit for bit."""
        self._require_own_weights()
        state = dict(state_dict)
        for change in self._optimizer_load_state_dict_pre_hooks.values():
            changed = change(self, state)
            state = state if changed is None else changed
        pairs = self._fitting(state)
        self.optimizer.load_state_dict({k: v for k, v in state.items() if k != "beakers"})
        self._share()
        for bundle, source in pairs:
            bundle.load(source)
        for finish in self._optimizer_load_state_dict_post_hooks.values():
            finish(self)

    def _fitting(self, state: dict[str, Any]) -> list[tuple[Bundle, dict[str, Any]]]:
        """The saved beakers of each bundle, refused before anything has changed if not its own."""
        if "beakers" not in state:
            raise ValueError(
                "state_dict: has no 'beakers'; it was not saved by a Consolidated, or by a helper "
                "of torch.distributed.checkpoint, which leaves them out: save what "
                "optimizer.state_dict() itself returns, which keeps them"
            )
        saved = state["beakers"]
        if saved["settings"] != self.scheme.settings:
            raise ValueError(
                f"state_dict: was saved with {saved['settings']}, "
                f"but this optimiser has {self.scheme.settings}"
            )
        if len(saved["bundles"]) != len(self._bundles):
            raise ValueError(
                f"state_dict: its beakers do not fit: for {len(saved['bundles'])} groups of "
                f"parameters, and this optimiser has {len(self._bundles)}"
            )
        pairs = list(zip(self._bundles, saved["bundles"], strict=True))
        for bundle, source in pairs:
            bundle.require_fitting(source, self.every)
        return pairs

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
            "_in_place",
        )
        return {**super().__getstate__(), **{name: getattr(self, name) for name in own}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._share()

    def _require_own_weights(self) -> None:
        """Refuse to go on while a read-out stands in the parameters' place."""
        if self._in_place is not None:
            raise RuntimeError(
                "a read-out is in the parameters' place: leave its `with` statement first"
            )

    def _share(self) -> None:
        """One list of groups and one state for wrapper and wrapped, whoever replaced theirs."""
        self.param_groups = self.optimizer.param_groups
        self.state = self.optimizer.state

    @torch.no_grad()
    def _adopt_new_groups(self) -> None:
        for number, group in enumerate(self.param_groups):
            if number < self._groups_seen:
                continue
            kinds: dict[tuple[torch.dtype, torch.device], list[tuple[str, Tensor]]] = {}
            positions = [f"{number}/{index}" for index in range(len(group["params"]))]
            names = group.get("param_names", positions)
            for name, parameter in zip(names, group["params"], strict=True):
                if self._mask is not None and not self._mask(parameter):
                    continue
                if not (parameter.is_floating_point() or parameter.is_complex()):
                    raise TypeError(
                        f"params: {name!r} has dtype {parameter.dtype}, and only floating point "
                        f"can flow; leave it out with mask="
                    )
                kind = (parameter.dtype, parameter.device)
                kinds.setdefault(kind, []).append((name, parameter))
            for members in kinds.values():
                levels = [
                    at_birth(self._hidden, parameter, self.scheme.chain, self._generator, name)
                    for name, parameter in members
                ]
                parameters = [parameter for _, parameter in members]
                self._bundles.append(Bundle(parameters, torch.cat(levels, 1), self.scheme))
        self._groups_seen = len(self.param_groups)
