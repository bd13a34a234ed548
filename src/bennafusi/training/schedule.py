"""When a deep run explores, learns, looks at its depths and recalls: the parts of its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bennafusi.agents.cascade_replay import RINGS
from bennafusi.synapse.numbers import check_choices, check_flags, check_shares, check_whole

ScheduleKind = Literal["episodic", "online", "minibatch", "stream"]
EACH_STEP: tuple[ScheduleKind, ...] = ("online", "stream")  # learn from each as it comes
ReplayKind = Literal["fifo", "reservoir", "cascade"]
TargetUpdate = Literal["update", "episode"]
RecallKind = Literal["none", "explore", "hold"]
AgentAtSwitch = Literal["keep", "reset", "own"]


@dataclass(frozen=True)
class Exploration:
    """How often actions are uniform: less and less in an epoch."""

    epsilon: float = 1.0  # how often at the start of an epoch
    decay: float = 0.9995  # factor on that per episode
    floor: float = 0.0  # the least it can be

    def __post_init__(self) -> None:
        check_shares(self, "epsilon", "decay", "floor")


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
        check_choices(self, {"kind": ScheduleKind, "target_update": TargetUpdate})
        check_choices(self, {"replay_kind": ReplayKind, "agent_at_switch": AgentAtSwitch})
        check_whole(self, {"replay": (1, 2**24), "batch": (1, 2**16), "every": (1, 2**16)})
        check_whole(self, {"warmup": (0, self.replay), "target_every": (1, 2**24)})
        check_flags(self, "keep")
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
    """How often the networks that the beakers hold are looked at; training is not touched by it."""

    # That each of them plays on each task, of which the first is kept at a switch, to be shown in a
    # report; 0 is no look at all.
    games: int = 0
    every: int = 0  # tests between two looks besides those at the switches; 0 is no other looks

    def __post_init__(self) -> None:
        check_whole(self, {"games": (0, 1000), "every": (0, 2**20)})
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
        check_choices(self, {"kind": RecallKind})
        check_shares(self, "epsilon")
