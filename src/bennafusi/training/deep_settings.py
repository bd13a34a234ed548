"""What defines a run of the deep agents; the defaults are Table S2, multi-task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from bennafusi.agents.adam import Adam
from bennafusi.agents.cascade_replay import RINGS
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.methods import Rival
from bennafusi.agents.networks import Network, Sizes
from bennafusi.agents.permanent import Boundary
from bennafusi.agents.soft_q import SoftQ, SoftQRule
from bennafusi.agents.stream_q import Stream
from bennafusi.envs.named import find
from bennafusi.envs.padded import Padded, alike
from bennafusi.envs.task import observation_shape, observation_size
from bennafusi.synapse.numbers import real, whole

ScheduleKind = Literal["episodic", "online", "minibatch", "stream"]
ReplayKind = Literal["fifo", "reservoir", "cascade"]
TimeOut = Literal["terminal", "bootstrap"]
TargetUpdate = Literal["update", "episode"]
RecallKind = Literal["none", "explore", "hold"]
AgentAtSwitch = Literal["keep", "reset", "own"]


@dataclass(frozen=True)
class Exploration:
    """How often actions are uniform: less and less in an epoch.

    Args:
        epsilon: how often at the start of an epoch.
        decay: factor on that per episode.
        floor: the least it can be.
    """

    epsilon: float = 1.0
    decay: float = 0.9995
    floor: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "decay", "floor"):
            share = real(name, getattr(self, name))
            object.__setattr__(self, name, share)
            if not 0 <= share <= 1:
                raise ValueError(f"{name}={share:g}: choose a number from 0 to 1")


@dataclass(frozen=True)
class Schedule:
    """When the agent learns, and from what.

    Args:
        kind: ``"episodic"``: ``batch`` sequential updates after each training episode;
            ``"online"``: one update after each step, with ``batch=1``; ``"minibatch"``: one update
            from a whole ``batch`` after every so many steps, as in ordinary DQN; ``"stream"``: one
            update of stream-Q after each step, which has neither replay nor target.
        replay: how many transitions are kept; 1 is learning from the newest alone.
        replay_kind: which: ``"fifo"``: the newest; ``"reservoir"``: a fair sample of all there
            were; ``"cascade"``: of all ages, the older the fewer (multi-timescale replay).
        batch: how many of them are learnt from, one after the other or, as a minibatch, at once.
        target_update: whether the target follows once per ``"update"`` or per ``"episode"``.
        every: steps between two updates from a minibatch.
        warmup: transitions to collect before the first minibatch.
        target_every: updates between two moves of the target; with ``agent.tau=1`` it is a copy
            that stands still in between.
        keep: whether the transitions outlive the switch to another task; each is then learnt from
            with the gains and biases of its own task, if tasks have some.
        agent_at_switch: ``"keep"``: one agent learns all tasks; ``"reset"``: each epoch begins with
            a new one; ``"own"``: each task has an agent and a replay of its own, which wait while
            others are trained.
    """

    kind: ScheduleKind = "episodic"
    replay: int = 2000
    batch: int = 64
    target_update: TargetUpdate = "episode"
    every: int = 1
    warmup: int = 0
    target_every: int = 1
    keep: bool = False
    replay_kind: ReplayKind = "fifo"
    agent_at_switch: AgentAtSwitch = "keep"

    def __post_init__(self) -> None:
        _check_choices(self, {"kind": ScheduleKind, "target_update": TargetUpdate})
        _check_choices(self, {"replay_kind": ReplayKind, "agent_at_switch": AgentAtSwitch})
        _check_whole(self, {"replay": (1, 2**24), "batch": (1, 2**16), "every": (1, 2**16)})
        _check_whole(self, {"warmup": (0, self.replay), "target_every": (1, 2**24)})
        if not isinstance(self.keep, bool):
            raise TypeError(f"keep={self.keep!r}: must be true or false")
        for name, usual in (("every", 1), ("warmup", 0)):
            if getattr(self, name) != usual and self.kind != "minibatch":
                raise ValueError(
                    f"{name}={getattr(self, name)} with kind={self.kind!r}: is for minibatches; "
                    f"choose {name}={usual}, or kind='minibatch'"
                )
        if self.target_every > 1 and self.target_update == "episode":
            raise ValueError(
                f"target_every={self.target_every} with target_update='episode': is counted in "
                "updates; choose target_update='update', or target_every=1"
            )
        if self.replay < self.batch:
            raise ValueError(
                f"replay={self.replay} with batch={self.batch}: a batch is drawn without "
                f"replacement, so choose replay >= {self.batch}, or a smaller batch"
            )
        if self.replay_kind == "cascade" and self.replay % RINGS:
            raise ValueError(
                f"replay={self.replay} with replay_kind='cascade': {RINGS} rings share it; choose "
                f"a multiple of {RINGS}"
            )
        if self.replay_kind != "fifo" and self.replay == 1:
            raise ValueError(
                f"replay=1 with replay_kind={self.replay_kind!r}: the newest alone is learnt from; "
                "choose replay_kind='fifo', or a larger replay"
            )
        if self.kind == "stream" and self.replay > 1:
            raise ValueError(
                f"replay={self.replay} with kind='stream': stream-Q learns from the newest step "
                "alone; choose replay=1, or another kind"
            )
        if self.kind == "online" and self.batch > 1:
            raise ValueError(
                f"batch={self.batch} with kind='online': one transition is learnt from at each "
                "step; choose batch=1 (and replay=1 for the newest alone), or kind='episodic'"
            )


@dataclass(frozen=True)
class Depths:
    """How often the networks that the beakers hold are looked at; training is not touched by it.

    Args:
        games: that each of them plays on each task; 0 is no look at all.
        every: tests between two looks besides those at the switches; 0 is no other looks.
    """

    games: int = 0
    every: int = 0

    def __post_init__(self) -> None:
        _check_whole(self, {"games": (0, 1000), "every": (0, 2**20)})
        if self.every and not self.games:
            raise ValueError(
                f"every={self.every} with games=0: nobody would play; choose games >= 1, or every=0"
            )


@dataclass(frozen=True)
class Recall:
    """Whether the depth that plays best is poured back up at a switch to a task known before.

    Args:
        kind: ``"none"``: never; ``"explore"``: exploration then starts over, as in every epoch;
            ``"hold"``: it is held back while the recalled network earns the task's threshold.
        epsilon: how often actions are uniform while exploration is held back.
    """

    kind: RecallKind = "none"
    epsilon: float = 0.05

    def __post_init__(self) -> None:
        _check_choices(self, {"kind": RecallKind})
        object.__setattr__(self, "epsilon", real("epsilon", self.epsilon))
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon={self.epsilon:g}: choose a number from 0 to 1")


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
        _check_whole(self, {name: (1, value) for name, value in most.items()})
        if self.steps is not None:
            _check_whole(self, {"steps": (1, 2**30)})
        object.__setattr__(self, "sticky", real("sticky", self.sticky))
        _check_whole(self, {"test_every": (2, 2**20)})
        object.__setattr__(self, "largest_value", real("largest_value", self.largest_value))
        if not self.largest_value > 0:
            raise ValueError(f"largest_value={self.largest_value:g}: must be above 0")
        _check_choices(self, {"time_out": TimeOut})
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
        wanted = (("agent.alpha", self.agent.alpha, 0), ("chain.n", self.chain.n, 1))
        for name, value, only in (*wanted, ("method.name", self.method.name, "none")):
            if stream and value != only:
                raise ValueError(
                    f"{name}={value} with schedule.kind='stream': stream-Q has a hard maximum, an "
                    f"optimiser of its own and no chains; choose {name}={only}"
                )

    def _check_permanent(self) -> None:
        found = {"chain.n": (self.chain.n, 1), "method.name": (self.method.name, "none")}
        for name, (value, only) in found.items():
            if self.network.permanent and value != only:
                raise ValueError(
                    f"{name}={value} with network.permanent=True: it would move the permanent "
                    f"part; choose {name}={only}"
                )
        if self.network.permanent and self.schedule.kind in ("online", "stream"):
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


def _check_whole(settings: Any, limits: dict[str, tuple[int, int]]) -> None:
    for name, (least, most) in limits.items():
        value = whole(name, getattr(settings, name))
        object.__setattr__(settings, name, value)
        if not least <= value <= most:
            raise ValueError(f"{name}={value}: choose a whole number from {least} to {most:,}")


def _check_choices(settings: Any, kinds: dict[str, Any]) -> None:
    for name, kind in kinds.items():
        choices: Iterable[str] = get_args(kind)
        if getattr(settings, name) not in choices:
            known = " or ".join(map(repr, choices))
            raise ValueError(f"{name}={getattr(settings, name)!r}: unknown; choose {known}")


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
