"""What defines a run of the deep agents; the defaults are Table S2, multi-task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from bennafusi.agents.networks import GainPlace, Network
from bennafusi.agents.soft_q import HiddenStart, Loss, SoftQ
from bennafusi.envs.catalogue import TASKS
from bennafusi.envs.control import ControlTask
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.numbers import real, whole
from bennafusi.synapse.scheme import Method

Schedule = Literal["episodic", "online"]
TimeOut = Literal["terminal", "bootstrap"]
TargetUpdate = Literal["update", "episode"]


@dataclass(frozen=True)
class DeepSettings:
    """One run of deep soft Q-learning on one task or several in turn.

    Args:
        tasks: their names; epoch ``e`` (from 0) trains on number ``e`` modulo their number, so that
            one task is trained alone, two alternate and more rotate.
        gammas: discount of each task.
        schedule: ``"episodic"``: ``batch`` sequential updates after each training episode;
            ``"online"``: one update after each step, with ``batch=1``.
        epochs: how often the task is chosen.
        episodes: episodes per epoch, tests included.
        max_steps: steps after which an episode is cut short.
        test_every: every so-many-th episode is a test: no exploration, no learning.
        epsilon: how often actions are uniform at the start of an epoch.
        epsilon_decay: factor on that per episode.
        epsilon_floor: the least it can be.
        hidden: units of the hidden layers.
        gain: whether gains act ``"after"`` or ``"before"`` the rectification.
        learning_rate: of Adam.
        beta1: of Adam.
        beta2: of Adam.
        adam_epsilon: of Adam.
        replay: how many of the newest transitions are kept; 1 is learning from the newest alone.
        batch: how many of them are learnt from, one after the other.
        tau: share by which the target network follows.
        target_update: whether it follows once per ``"update"`` or per ``"episode"``.
        alpha: weight of the entropy, and temperature of the policy.
        loss: over ``"all"`` actions or the ``"taken"`` one.
        time_out: whether a cut-short episode is ``"terminal"`` or its value is a ``"bootstrap"``.
        n: Benna-Fusi variables per parameter; 1 is the control agent.
        g12: the first tube's width.
        every: updates between two steps of the chains.
        dt: time that one such step covers, in updates; ``every`` if not given.
        gated: whether the flow back from deep beakers stays shut until they had time to fill.
        hidden_start: the deeper beakers at the start.
        method: how the chains are stepped.
        largest_value: a run whose values pass it has diverged and stops.

    Example:
        >>> DeepSettings().agent.network.size
        84408
        >>> DeepSettings(tasks=("catcher",), gammas=(2.0,))
        Traceback (most recent call last):
        ...
        ValueError: gammas=(2.0,): a discount is a number from 0 to 1
    """

    tasks: tuple[str, ...] = ("cartpole", "catcher")
    gammas: tuple[float, ...] = (0.95, 0.99)
    schedule: Schedule = "episodic"
    epochs: int = 40
    episodes: int = 20_000
    max_steps: int = 500
    test_every: int = 10
    epsilon: float = 1.0
    epsilon_decay: float = 0.9995
    epsilon_floor: float = 0.0
    hidden: tuple[int, ...] = (400, 200)
    gain: GainPlace = "after"
    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    adam_epsilon: float = 1e-8
    replay: int = 2000
    batch: int = 64
    tau: float = 0.01
    target_update: TargetUpdate = "episode"
    alpha: float = 0.01
    loss: Loss = "all"
    time_out: TimeOut = "terminal"
    n: int = 30
    g12: float = 0.001625
    every: int = 64
    dt: float | None = None
    gated: bool = True
    hidden_start: HiddenStart = "linear-variance"
    method: Method = "multirate"
    largest_value: float = 1e5

    def __post_init__(self) -> None:
        self._check_tasks()
        object.__setattr__(self, "n", whole("n", self.n))
        if self.dt is not None:
            object.__setattr__(self, "dt", real("dt", self.dt))
        for name, most in _WHOLE.items():
            value = whole(name, getattr(self, name))
            object.__setattr__(self, name, value)
            least = 2 if name == "test_every" else 1
            if not least <= value <= most:
                raise ValueError(f"{name}={value}: choose a whole number from {least} to {most:,}")
        for name in ("epsilon", "epsilon_decay", "epsilon_floor"):
            share = real(name, getattr(self, name))
            object.__setattr__(self, name, share)
            if not 0 <= share <= 1:
                raise ValueError(f"{name}={share:g}: choose a number from 0 to 1")
        for name in ("learning_rate", "largest_value"):
            number = real(name, getattr(self, name))
            object.__setattr__(self, name, number)
            if not number > 0:
                raise ValueError(f"{name}={number:g}: must be above 0")
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                known = " or ".join(map(repr, get_args(kind)))
                raise ValueError(f"{name}={getattr(self, name)!r}: unknown; choose {known}")
        if self.replay < self.batch:
            raise ValueError(
                f"replay={self.replay} with batch={self.batch}: a batch is drawn without "
                f"replacement, so choose replay >= {self.batch}, or a smaller batch"
            )
        if self.schedule == "online" and self.batch > 1:
            raise ValueError(
                f"batch={self.batch} with schedule='online': one transition is learnt from at each "
                "step; choose batch=1 (and replay=1 for the newest alone), or schedule='episodic'"
            )
        most = self.epochs * self.episodes * max(self.max_steps, self.batch)
        if most >= 2**31:
            raise ValueError(
                f"epochs={self.epochs}, episodes={self.episodes}, max_steps={self.max_steps}: that "
                f"may be {most:,} steps, and they are counted to 2^31 - 1; choose fewer"
            )
        # What belongs to the tasks or the agent is checked, and cast, by them.
        self.worlds  # noqa: B018
        agent = self.agent
        for part, names in (
            (agent, ("alpha", "tau", "beta1", "beta2", "adam_epsilon")),
            (agent.network, ("hidden",)),
            (agent.chain, ("g12", "gated")),
        ):
            for name in names:
                object.__setattr__(self, name, getattr(part, name))

    def _check_tasks(self) -> None:
        widths: object = self.hidden
        if isinstance(widths, list):
            object.__setattr__(self, "hidden", tuple(widths))
        for field in ("tasks", "gammas"):
            if not isinstance(getattr(self, field), tuple | list):
                raise TypeError(f"{field}={getattr(self, field)!r}: must be a list, one per task")
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if not self.tasks or len(self.tasks) != len(self.gammas):
            raise ValueError(
                f"gammas={self.gammas!r} with tasks={self.tasks!r}: name a task, and a discount "
                "for each"
            )
        for name in self.tasks:
            if not isinstance(name, str) or name not in TASKS:
                known = ", ".join(map(repr, TASKS))
                raise ValueError(f"tasks: unknown task {name!r}; choose from {known}")
        gammas = tuple(real("gammas", gamma) for gamma in self.gammas)
        object.__setattr__(self, "gammas", gammas)
        if not all(0 <= gamma <= 1 for gamma in gammas):
            raise ValueError(f"gammas={gammas}: a discount is a number from 0 to 1")

    @cached_property
    def worlds(self) -> tuple[ControlTask, ...]:
        """The tasks themselves."""
        return tuple(replace(TASKS[name], max_steps=self.max_steps) for name in self.tasks)  # type: ignore[type-var]

    @cached_property
    def agent(self) -> SoftQ:
        """The agent."""
        return SoftQ(
            Network(4, self.hidden, self.worlds[0].actions, len(self.tasks), self.gain),
            Chain(self.n, self.g12, leak=self.n != 1, gated=self.gated),
            every=self.every,
            dt=self.dt,
            method=self.method,
            hidden=self.hidden_start,
            loss=self.loss,
            alpha=self.alpha,
            tau=self.tau,
            beta1=self.beta1,
            beta2=self.beta2,
            adam_epsilon=self.adam_epsilon,
        )


_WHOLE = {
    "every": 2**20,
    "epochs": 2**20,
    "episodes": 2**30,
    "max_steps": 2**20,
    "test_every": 2**20,
    "replay": 2**24,
    "batch": 2**16,
}
_CHOICES = {
    "schedule": Schedule,
    "time_out": TimeOut,
    "target_update": TargetUpdate,
    "hidden_start": HiddenStart,
    "gain": GainPlace,
    "loss": Loss,
    "method": Method,
}

# Table S2, second column: one task, learnt online.
ONLINE: dict[str, Any] = {
    "schedule": "online",
    "epochs": 1,
    "episodes": 100_000,
    "hidden": (100, 50),
    "replay": 1,
    "batch": 1,
    "target_update": "update",
    "g12": 0.01,
    "every": 1,
    # With zero-mean hidden gains, all gains of the only task sink to 0: the agent never learns.
    "hidden_start": "gains-copied",
}
