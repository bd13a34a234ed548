"""What defines a run of the deep agents; the defaults are Table S2, multi-task."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from bennafusi.agents.adam import Adam
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.methods import Rival
from bennafusi.agents.networks import Network, Sizes
from bennafusi.agents.permanent import Boundary
from bennafusi.agents.soft_q import SoftQ, SoftQRule
from bennafusi.agents.stream_q import Stream, StreamQ
from bennafusi.envs.named import find
from bennafusi.envs.padded import Padded, alike
from bennafusi.envs.task import observation_shape, observation_size
from bennafusi.synapse.numbers import check_choices, check_positive, check_whole, real
from bennafusi.training.schedule import EACH_STEP, Depths, Exploration, Recall, Schedule

TimeOut = Literal["terminal", "bootstrap"]


@dataclass(frozen=True)
class DeepSettings:
    """One run of deep soft Q-learning on one task or several in turn.

    Args:
        tasks: their names; epoch ``e`` (from 0) trains on number ``e`` modulo their number, so that
            one task is trained alone, two alternate and more rotate. A name that comes more than
            once is one task, in any order with others.
        gammas: discount of each task, wherever it comes.
        epochs: how often the task is chosen.
        episodes: episodes per epoch, tests included.
        steps: training steps per epoch, instead of ``episodes``; the epoch ends with the episode in
            which they are reached.
        max_steps: steps after which an episode is cut short.
        sticky: how often the last action is taken in place of the chosen one; of gymnax's tasks.
        time_out: whether a cut-short episode is ``"terminal"`` or its value is a ``"bootstrap"``.
        test_every: every so-many-th episode is a test: no exploration, no learning.
        largest_value: a run whose values pass it has diverged and stops.
        schedule: when it learns, and from what.
        exploration: how often it acts at random.
        network: its layers.
        optimizer: Adam's numbers.
        agent: what it learns towards.
        chain: of every parameter.
        depths: looks at what its beakers know.
        recall: what becomes of that at a switch.
        method: another way to remember, around Adam.
        stream: the numbers of stream-Q, with ``schedule.kind="stream"``.
        boundary: what a network of two parts (``network.permanent``) does at each switch: of all
            agents that of this setting alone is told of switches.

    Example:
        >>> settings = DeepSettings(chain=NetworkChains(n=3))
        >>> settings.chain.n, settings.network.size(settings.sizes)
        (3, 84408)
        >>> DeepSettings(tasks=("catcher",), gammas=(2.0,))
        Traceback (most recent call last):
        ...
        ValueError: gammas=(2.0,): a discount is a number from 0 to 1
    """

    tasks: tuple[str, ...] = ("cartpole", "catcher")
    gammas: tuple[float, ...] = (0.95, 0.99)
    epochs: int = 40
    episodes: int = 20_000
    steps: int | None = None
    max_steps: int = 500
    sticky: float = 0.0
    time_out: TimeOut = "terminal"
    test_every: int = 10
    largest_value: float = 1e5
    schedule: Schedule = field(default_factory=Schedule)
    exploration: Exploration = field(default_factory=Exploration)
    network: Network = field(default_factory=Network)
    optimizer: Adam = field(default_factory=Adam)
    agent: SoftQRule = field(default_factory=SoftQRule)
    chain: NetworkChains = field(default_factory=NetworkChains)
    depths: Depths = field(default_factory=Depths)
    recall: Recall = field(default_factory=Recall)
    method: Rival = field(default_factory=Rival)
    stream: Stream = field(default_factory=Stream)
    boundary: Boundary = field(default_factory=Boundary)

    def __post_init__(self) -> None:
        self._check_tasks()
        most = {"epochs": 2**20, "episodes": 2**30, "max_steps": 2**20}
        check_whole(self, {name: (1, value) for name, value in most.items()})
        if self.steps is not None:
            check_whole(self, {"steps": (1, 2**30)})
        object.__setattr__(self, "sticky", real("sticky", self.sticky))
        check_whole(self, {"test_every": (2, 2**20)})
        check_positive(self, "largest_value")
        check_choices(self, {"time_out": TimeOut})
        if self.recall.kind != "none" and (self.chain.n == 1 or self.depths.games < 2):
            raise ValueError(
                f"recall.kind={self.recall.kind!r} with chain.n={self.chain.n}, depths.games="
                f"{self.depths.games}: half of the games choose a depth; choose chain.n >= 2 and "
                "depths.games >= 2, or recall.kind='none'"
            )
        if self.recall.kind != "none" and self.separate:
            raise ValueError(
                f"recall.kind={self.recall.kind!r} with tasks={self.tasks}: only the paper's small "
                "tasks can be recalled at a switch; choose recall.kind='none'"
            )
        self._check_agents()
        self._check_stream()
        self._check_permanent()
        self._check_length()
        sizes = self.sizes  # a task refuses what does not fit it
        try:
            self.network.layers(sizes)
        except ValueError as error:
            raise ValueError(f"network.{error}") from error

    def _check_agents(self) -> None:
        if not 1 <= self.agent.acting <= self.chain.n:
            raise ValueError(
                f"agent.acting={self.agent.acting} with chain.n={self.chain.n}: a beaker acts; "
                f"choose one from 1, the weight, to {self.chain.n}"
            )
        if self.agent.acting > 1 and self.chain.layers != "all":
            raise ValueError(
                f"agent.acting={self.agent.acting} with chain.layers={self.chain.layers!r}: some "
                "layers have no beakers that could act; choose agent.acting=1, or layers='all'"
            )
        kind = self.schedule.agent_at_switch
        if kind != "keep" and self.recall.kind != "none":
            raise ValueError(
                f"schedule.agent_at_switch={kind!r} with recall.kind={self.recall.kind!r}: another "
                "agent has nothing to recall; choose agent_at_switch='keep', or recall.kind='none'"
            )
        if kind == "own" and self.depths.games:
            raise ValueError(
                f"schedule.agent_at_switch='own' with depths.games={self.depths.games}: looks at "
                "depths are for one agent that plays all tasks; choose depths.games=0"
            )

    def _check_stream(self) -> None:
        stream = self.schedule.kind == "stream"
        if self.network.normalise and not stream:
            raise ValueError(
                f"network.normalise=True with schedule.kind={self.schedule.kind!r}: stream-Q alone "
                "keeps count of what is seen; choose network.normalise=false, or "
                "schedule.kind='stream'"
            )
        wanted = (("agent.alpha", self.agent.alpha, 0), ("method.name", self.method.name, "none"))
        for name, value, only in wanted:
            if stream and value != only:
                raise ValueError(
                    f"{name}={value} with schedule.kind='stream': stream-Q has a hard maximum and "
                    f"an optimiser of its own; choose {name}={only}"
                )

    def _check_permanent(self) -> None:
        found = {"chain.n": (self.chain.n, 1), "method.name": (self.method.name, "none")}
        for name, (value, only) in found.items():
            if self.network.permanent and value != only:
                raise ValueError(
                    f"{name}={value} with network.permanent=True: it would move the permanent "
                    f"part; choose {name}={only}"
                )
        if self.network.permanent and self.schedule.kind in EACH_STEP:
            raise ValueError(
                f"schedule.kind={self.schedule.kind!r} with network.permanent=True: what is kept "
                "at a switch is taken from a replay; choose schedule.kind='episodic' or "
                "'minibatch'"
            )

    def _check_length(self) -> None:
        if self.steps is not None:
            steps, length = 2 * self.epochs * (self.steps + self.max_steps), f"steps={self.steps}"
        else:
            steps = self.epochs * self.episodes * max(self.max_steps, self.schedule.batch)
            length = f"episodes={self.episodes}"
        if steps >= 2**31:
            raise ValueError(
                f"epochs={self.epochs}, {length}, max_steps={self.max_steps}: that "
                f"may be {steps:,} steps, and they are counted to 2^31 - 1; choose fewer"
            )

    def _check_tasks(self) -> None:
        for name in ("tasks", "gammas"):
            if not isinstance(getattr(self, name), tuple | list):
                raise TypeError(f"{name}={getattr(self, name)!r}: must be a list, one per task")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.tasks or len(self.tasks) != len(self.gammas):
            raise ValueError(
                f"gammas={self.gammas!r} with tasks={self.tasks!r}: name a task, and a discount "
                "for each"
            )
        for task in self.tasks:
            if not isinstance(task, str):
                raise TypeError(f"tasks: {task!r} is no name of a task")
        gammas = tuple(real("gammas", gamma) for gamma in self.gammas)
        object.__setattr__(self, "gammas", gammas)
        if not all(0 <= gamma <= 1 for gamma in gammas):
            raise ValueError(f"gammas={gammas}: a discount is a number from 0 to 1")
        for task in self.different:
            found = {g for name, g in zip(self.tasks, gammas, strict=True) if name == task}
            if len(found) > 1:
                raise ValueError(
                    f"gammas={gammas} with tasks={self.tasks}: {task!r} comes with several; give "
                    "it one discount wherever it comes"
                )

    @cached_property
    def different(self) -> tuple[str, ...]:
        """The tasks by name, each once; these are numbered."""
        return tuple(dict.fromkeys(self.tasks))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The number of the task of each epoch, until they begin anew."""
        return tuple(map(self.different.index, self.tasks))

    @cached_property
    def discounts(self) -> tuple[float, ...]:
        """Of each task, by its number."""
        return tuple(self.gammas[self.tasks.index(task)] for task in self.different)

    @cached_property
    def envs(self) -> tuple[Any, ...]:
        """The tasks themselves by their number, made alike where they are not."""
        try:
            found = [find(name, self.max_steps, self.sticky) for name in self.different]
            kinds = {(observation_shape(env), env.actions) for env in found}
            return tuple(found) if len(kinds) == 1 else alike(found)
        except ValueError as error:
            raise ValueError(f"tasks: {error}") from error

    @cached_property
    def separate(self) -> bool:
        """Whether each task has a compiled program of its own.

        Small tasks that take numbers move together and one of them is kept, which costs less than
        a branch. Others have states of their own shape: only that of the task at hand is carried.
        """
        return any(env.noise is None or isinstance(env, Padded) for env in self.envs)

    @property
    def idle(self) -> tuple[str, ...]:
        """The parts without a say in such a run.

        Example:
            >>> DeepSettings().idle, DeepSettings(chain=NetworkChains(n=1)).idle[0]
            (('method', 'stream', 'boundary', 'recall'), 'chain')
        """
        parts = {
            "chain": self.chain.n == 1,
            "method": self.method.name == "none",
            "stream": self.schedule.kind != "stream",
            "boundary": not self.network.permanent,
            "recall": self.recall.kind == "none",
        }
        return tuple(name for name, idle in parts.items() if idle)

    @property
    def mixed(self) -> bool:
        """Whether the replay holds transitions of several tasks that must be told apart."""
        return self.schedule.keep and self.network.per_task and len(self.different) > 1

    @property
    def length(self) -> int:
        """Of an epoch, in its unit."""
        return self.episodes if self.steps is None else self.steps

    @property
    def unit(self) -> str:
        """What epochs are counted in."""
        return "episodes" if self.steps is None else "steps"

    @property
    def sizes(self) -> Sizes:
        """What the network is built for."""
        first, tasks = self.envs[0], len(self.different) if self.network.per_task else 1
        inputs = observation_shape(first) if self.separate else observation_size(first)
        return Sizes(inputs, first.actions, tasks)

    @cached_property
    def learner(self) -> SoftQ:
        """The agent, built of its parts."""
        return SoftQ(self.network, self.chain, self.optimizer, self.agent, self.method)

    @cached_property
    def streamer(self) -> StreamQ:
        """The agent of ``schedule.kind="stream"``."""
        return StreamQ(self.network, self.chain, self.stream)


# Ordinary deep Q-learning from minibatches, with the numbers of the published MinAtar sequences:
# 3 x 3 filters where there is a grid, a constant share of random actions, a target that is copied.
MINIBATCH: dict[str, Any] = {
    "epochs": 1,
    "steps": 500_000,
    "time_out": "bootstrap",
    "schedule.kind": "minibatch",
    "schedule.replay": 100_000,
    "schedule.batch": 32,
    "schedule.every": 4,
    "schedule.warmup": 1_000,
    "schedule.target_update": "update",
    "schedule.target_every": 250,
    "schedule.keep": True,
    "exploration.epsilon": 0.1,
    "exploration.decay": 1.0,
    "network.hidden": (128,),
    "network.per_task": False,
    "optimizer.learning_rate": 1e-4,
    "agent.loss": "taken",
    "agent.alpha": 0.0,
    "agent.tau": 1.0,
    "chain.every": 1,
    "chain.hidden_start": "copy",
}

# Table S2, second column: one task, learnt online; what differs from the first one.
ONLINE: dict[str, Any] = {
    "epochs": 1,
    "episodes": 100_000,
    "schedule.kind": "online",
    "schedule.replay": 1,
    "schedule.batch": 1,
    "schedule.target_update": "update",
    "network.hidden": (100, 50),
    "chain.g12": 0.01,
    "chain.every": 1,
    # With zero-mean hidden gains, all gains of the only task sink to 0: the agent never learns.
    "chain.hidden_start": "gains-copied",
}

# Stream-Q: what differs from the agents above, with the numbers of its paper.
STREAM: dict[str, Any] = {
    "schedule.kind": "stream",
    "exploration.floor": 0.01,
    "network.layer_norm": True,
    "network.units": "leaky-relu",
    "network.sparse": 0.9,
    "network.normalise": True,
    "optimizer.learning_rate": 1.0,
    "agent.alpha": 0.0,
    "agent.loss": "taken",
    "chain.n": 1,
}

# Chains around it: n as everywhere, and what a sparse start leaves at 0 is 0 further down, too.
STREAM_CHAIN: dict[str, Any] = {"chain.n": NetworkChains().n, "chain.hidden_start": "copy"}
