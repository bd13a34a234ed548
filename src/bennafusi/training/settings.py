"""What defines a training run, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bennafusi.agents.q_lambda import Modulation, QLambda
from bennafusi.envs.grid import Grid
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.numbers import whole


@dataclass(frozen=True)
class TabularSettings:
    """One run of continual Q-learning; the defaults are Table S1 and its Benna-Fusi agent.

    Args:
        epochs: how often the goal is placed: upper right, lower left, upper right, ...
        episodes: episodes per epoch.
        max_steps: steps after which an episode ends without a reward.
        gamma: discount.
        lam: fading of eligibility traces, lambda.
        epsilon: how often an action is drawn uniformly.
        learning_rate: of the visible values.
        size: rows, and columns, of the grid.
        n: Benna-Fusi variables per value; 1 is the control agent, an ordinary table.
        g12: the first tube's width.
        modulation: ``"none"``, ``"trace"`` (the modified agent) or ``"directional"``.
        trace_scale: factor on the trace where the trace modulates the flow.

    Example:
        >>> control = TabularSettings(n=1)
        >>> control.agent.chain.flows, TabularSettings().agent.chain.flows
        (False, True)
    """

    epochs: int = 24
    episodes: int = 10_000
    max_steps: int = 20_000
    gamma: float = 0.9
    lam: float = 0.9
    epsilon: float = 0.05
    learning_rate: float = 0.1
    size: int = 10
    n: int = 3
    g12: float = 1e-5
    modulation: Modulation = "none"
    trace_scale: float = 10.0

    def __post_init__(self) -> None:
        for name in ("epochs", "episodes"):
            value = whole(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if not 1 <= value <= 2**30:
                raise ValueError(f"{name}={value}: choose a whole number from 1 to 2^30")
        # What belongs to the task or the agent is checked, and cast, by them.
        for part in (self.grid, self.agent, self.agent.chain):
            for name in set(vars(part)) & set(vars(self)):
                object.__setattr__(self, name, getattr(part, name))
        if self.n == 1 and self.modulation != "none":
            raise ValueError(
                f"modulation={self.modulation!r} with n=1: an ordinary table has no flow to "
                f"modulate; choose modulation='none', or n >= 2"
            )

    @cached_property
    def grid(self) -> Grid:
        """The task."""
        return Grid(self.size, self.max_steps)

    @cached_property
    def agent(self) -> QLambda:
        """The agent; its chains have no gates, of which the paper speaks for networks alone."""
        return QLambda(
            states=self.grid.cells,
            actions=self.grid.actions,
            chain=Chain(self.n, self.g12, leak=self.n != 1, gated=False),
            modulation=self.modulation,
            trace_scale=self.trace_scale,
            gamma=self.gamma,
            lam=self.lam,
            epsilon=self.epsilon,
            learning_rate=self.learning_rate,
        )
