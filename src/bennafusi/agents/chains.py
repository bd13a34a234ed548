"""The chains of an agent's parameters, as settings: which there are, and how they are stepped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.agents.networks import Params
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import linear_variance
from bennafusi.synapse.numbers import check_choices, check_whole, real, whole
from bennafusi.synapse.scheme import Method, Scheme
from bennafusi.synapse.transform import consolidate

HiddenStart = Literal["linear-variance", "gains-copied", "copy", "zeros"]
Layers = Literal["all", "body", "head"]
LONGEST = 2**20  # updates between two steps


@dataclass(frozen=True)
class TableChains:
    """The chain of every value of a table; the defaults are Table S1.

    Args:
        n: Benna-Fusi variables per value; 1 is the control agent, an ordinary table.
        g12: the first tube's width.

    Example:
        >>> TableChains(n=1).chain.flows, TableChains().chain.flows
        (False, True)
    """

    n: int = 3
    g12: float = 1e-5

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole("n", self.n))
        object.__setattr__(self, "g12", self.chain.g12)
        Scheme(self.chain, dt=1.0, method="euler")  # refuses a chain too fast for steps of 1

    @cached_property
    def chain(self) -> Chain:
        """Without gates, of which the paper speaks for networks alone."""
        return Chain(self.n, self.g12, leak=self.n != 1, gated=False)


@dataclass(frozen=True)
class NetworkChains:
    """The chain of every parameter of a network, or of those of some layers.

    The defaults are Table S2, multi-task.

    Args:
        n: Benna-Fusi variables per parameter; 1 is the control agent.
        g12: the first tube's width.
        every: updates between two steps of the chains.
        dt: time that one such step covers, in updates; ``every`` if not given.
        gated: whether the flow back from deep beakers stays shut until they had time to fill.
        hidden_start: the deeper beakers at the start: ``"linear-variance"`` (the paper's, with
            :math:`s^2` = 1/inputs for weights and 1/tasks for gains and biases), ``"gains-copied"``
            (the same for weights, but gains and biases as full as the visible ones), ``"copy"`` or
            ``"zeros"``.
        method: how the chains are stepped.
        layers: which have chains: ``"all"``, the ``"body"`` (all but the last) or the ``"head"``
            (the last alone). The parameters of the others are the optimiser's alone.

    Example:
        >>> NetworkChains(n=4, g12=0.125, every=1).chain.timescales
        array([  8.,  32., 128., 512.])
        >>> NetworkChains(n=1).chain.flows
        False
    """

    n: int = 30
    g12: float = 0.001625
    every: int = 64
    dt: float | None = None
    gated: bool = True
    hidden_start: HiddenStart = "linear-variance"
    method: Method = "multirate"
    layers: Layers = "all"

    def __post_init__(self) -> None:
        check_choices(self, {"hidden_start": HiddenStart, "method": Method, "layers": Layers})
        object.__setattr__(self, "n", whole("n", self.n))
        object.__setattr__(self, "g12", self.chain.g12)
        check_whole(self, {"every": (1, LONGEST)})
        if self.dt is not None:
            object.__setattr__(self, "dt", real("dt", self.dt))
        self.around(optax.identity())  # refuses what does not fit together

    @cached_property
    def chain(self) -> Chain:
        """With a leak, unless there is nothing but the parameter itself."""
        return Chain(self.n, self.g12, leak=self.n != 1, gated=self.gated)

    def around(
        self, optimizer: optax.GradientTransformationExtraArgs, key: Array | None = None
    ) -> optax.GradientTransformationExtraArgs:
        """These chains around an optimiser of :class:`bennafusi.agents.networks.Params`.

        Args:
            optimizer: what makes the updates of the first beaker.
            key: for the hidden beakers at the start; ``init`` needs it where they are drawn.
        """
        return consolidate(
            optimizer,
            self.chain,
            every=self.every,
            dt=self.dt,
            method=self.method,
            hidden=self.hidden_start if self.hidden_start in ("copy", "zeros") else self._hidden,
            mask=None if self.layers == "all" else partial(_chosen, self.layers == "head"),
            key=key,
            packed=True,
        )

    def awake(self, updates: int) -> int:
        """How many beakers can act on the weight after so many updates, the weight included."""
        if not self.chain.flows:
            return 1
        opened = int((updates >= self.chain.gate_opens[:-1]).sum())
        return 1 + (opened if self.gated else self.n - 1)

    def _hidden(self, weight: Array, chain: Chain, key: Array | None, path: str) -> Array:
        """The paper's start of the hidden beakers, for the parameter at ``path``."""
        if key is None:
            raise ValueError(
                "key=None: the hidden beakers are drawn; use bennafusi.agents.soft_q.start"
            )
        shared = path.startswith("weights")
        if self.hidden_start == "gains-copied" and not shared:
            return jnp.broadcast_to(weight[None], (chain.n - 1, *weight.shape))
        # Gains and biases have one row per task, weights one per input.
        return linear_variance(weight, chain, key, 1 / weight.shape[0])


def _chosen(last: bool, params: Params) -> Any:
    """Which parameters have a chain: those of the last layer, or those of all others."""

    def of(group: tuple[Array, ...]) -> Any:
        return (*[not last] * (len(group) - 1), last)

    return type(params)(*map(of, params))
