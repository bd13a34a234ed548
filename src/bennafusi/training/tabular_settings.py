"""What defines a run of the tabular agents, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from bennafusi.agents.chains import TableChains
from bennafusi.agents.q_lambda import QLambda, QLambdaRule
from bennafusi.envs.grid import Grid
from bennafusi.synapse.numbers import check_flags, check_whole


@dataclass(frozen=True)
class TabularSettings:
    """One run of continual Q-learning; the defaults are Table S1 and its Benna-Fusi agent.

    Args:
        epochs: how often the goal is placed: upper right, lower left, upper right, ...
        episodes: episodes per epoch.
        max_steps: steps after which an episode ends without a reward.
        size: rows, and columns, of the grid.
        agent: how it acts and learns.
        chain: of every value.
        depths: whether to look, at every switch, at what the policies of its beakers find.

    Example:
        >>> control = TabularSettings(chain=TableChains(n=1))
        >>> control.learner.chain.flows, TabularSettings().learner.chain.flows
        (False, True)
    """

    epochs: int = 24
    episodes: int = 10_000
    max_steps: int = 20_000
    size: int = 10
    agent: QLambdaRule = field(default_factory=QLambdaRule)
    chain: TableChains = field(default_factory=TableChains)
    depths: bool = False

    def __post_init__(self) -> None:
        check_whole(self, {"epochs": (1, 2**30), "episodes": (1, 2**30)})
        check_flags(self, "depths")
        for name in ("size", "max_steps"):  # checked, and cast, by the task
            object.__setattr__(self, name, getattr(self.grid, name))
        if self.chain.n == 1 and self.agent.modulation != "none":
            raise ValueError(
                f"agent.modulation={self.agent.modulation!r} with chain.n=1: an ordinary table has "
                "no flow to modulate; choose agent.modulation='none', or chain.n >= 2"
            )
        try:
            self.learner  # noqa: B018 - a rule and a chain may not fit together
        except ValueError as error:
            raise ValueError(f"agent.{error}") from error

    @property
    def idle(self) -> tuple[str, ...]:
        """The parts without a say in such a run."""
        return ("chain",) if self.chain.n == 1 else ()

    @cached_property
    def grid(self) -> Grid:
        """The task."""
        return Grid(self.size, self.max_steps)

    @cached_property
    def learner(self) -> QLambda:
        """The agent, built of its parts."""
        return QLambda(self.grid.cells, self.grid.actions, self.chain.chain, self.agent)
