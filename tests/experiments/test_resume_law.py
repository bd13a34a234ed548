"""Killed anywhere and resumed from the disk, a run of any settings is the uninterrupted one.

One tiny run for each corner of the settings; how it is cut into chunks and where it is killed are
drawn at random and are no part of the compiled programs, so that each is compiled once. Corners
that differ from others by the method or the replay alone are for ``make faults``.
"""

import os
import random
from typing import get_args

import pytest

from bennafusi.agents.methods import MethodName
from bennafusi.experiments.deep import deep_job
from bennafusi.runs import plan
from bennafusi.runs.attempt import Pace
from bennafusi.runs.signals import Stop
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import MINIBATCH, STREAM, DeepSettings
from bennafusi.training.schedule import ReplayKind
from tests.promotion import standard_promotion
from tests.runs.common import EAGER, After, results

TINY = {
    "epochs": 3,
    "max_steps": 16,
    "test_every": 2,
    "network.hidden": (4,),
    "chain.n": 3,
    "chain.every": 2,
    "chain.g12": 0.1,
}
MINI = {
    **MINIBATCH,
    "schedule.replay": 32,
    "schedule.batch": 4,
    "schedule.warmup": 6,
    "schedule.target_every": 3,
}
ONE = {
    "tasks": ("cartpole",),
    "gammas": (0.95,),
    "episodes": 12,
    "schedule.kind": "online",
    "schedule.replay": 16,
    "schedule.batch": 1,
}
CORNERS = {
    "recall": {
        "episodes": 8,
        "depths.games": 2,
        "depths.every": 1,
        "recall.kind": "hold",
        "schedule.replay": 40,
        "schedule.batch": 4,
    },
    "minibatch": {**MINI, "tasks": ("gymnax/MountainCar-v0",), "gammas": (0.99,), "steps": 60},
    "online": {**ONE, "schedule.replay": 1, "time_out": "bootstrap"},
    # A rival that draws noise, a fair sample of all transitions, and a target that is copied.
    "minibatch-in-turn": {
        **MINI,
        "steps": 40,
        "schedule.replay_kind": "reservoir",
        "schedule.every": 3,
        "agent.double": True,
        "chain.n": 1,
        "method.name": "upgd",
    },
}
# Agents that take turns, tasks that come more than once, chains on some layers.
CORNERS["own"] = {
    **MINI,
    "tasks": ("cartpole", "catcher", "cartpole"),
    "gammas": (0.95, 0.99, 0.95),
    "steps": 40,
    "schedule.agent_at_switch": "own",
    "chain.layers": "body",
}
# Values in two parts: at each switch one teaches the other from the replay, and fades.
CORNERS["permanent"] = {
    "episodes": 8,
    "schedule.replay": 40,
    "schedule.batch": 4,
    "network.permanent": True,
    "boundary.updates": 3,
    "boundary.batch": 4,
    "chain.n": 1,
}
# Traces, the count of updates and what was seen so far outlive a step and an episode.
CORNERS["stream"] = {**ONE, **STREAM, "schedule.replay": 1, "network.hidden": (8,), "chain.n": 4}
FAULTS = int(os.environ.get("BENNAFUSI_FAULT_ROUNDS", "10")) >= 20
if FAULTS:
    names = (name for name in get_args(MethodName) if name != "none")
    CORNERS |= {name: {**ONE, "chain.n": 1, "method.name": name} for name in names}
    for keep in (False, True):
        more = {"steps": 40, "schedule.replay": 40, "schedule.keep": keep}  # cascades have 20 rings
        CORNERS |= {
            f"{name}-{'kept' if keep else 'anew'}": {**MINI, **more, "schedule.replay_kind": name}
            for name in get_args(ReplayKind)
        }
    inside = {"schedule.target_update": "update", "method.name": "synaptic-intelligence"}
    CORNERS["inside-a-chain"] = {**ONE, **inside, "agent.acting": 2}
    CORNERS["reset"] = {**CORNERS["own"], "schedule.agent_at_switch": "reset"}
ROUNDS = 10 if FAULTS else 2


class KilledError(BaseException):
    """No handler runs, nothing is saved: as far as a folder can tell, SIGKILL."""


def cut(settings, chance=None):
    """A job whose chunks are as long as it happens, and that may be killed in one of them."""

    class Cut(deep_job.DeepRun):
        def advance(self, state):
            state, records = super().advance(state)
            if chance is not None and chance.random() < 0.25:
                raise KilledError
            return state, records

    return lambda spec: Cut(settings, spec.seed)


@pytest.mark.parametrize("corner", CORNERS)
@standard_promotion()
def test_killed_and_resumed_is_uninterrupted(tmp_path, monkeypatch, corner):
    if corner == "minibatch":
        pytest.importorskip("gymnax")
    settings = changed(DeepSettings(), {**TINY, **CORNERS[corner]})
    specs = plan.plan("law", [corner], [3], {})
    (whole,) = plan.prepare(tmp_path / "whole", specs)
    assert work(whole.path, cut(settings), stop=Stop()) == 0
    chance = random.Random(corner)
    for number in range(ROUNDS):
        (folder,) = plan.prepare(tmp_path / str(number), specs)
        code, ends = None, []
        while code != 0:
            for name, most in (("CHUNK_STEPS", 50), ("CHUNK_EPISODES", 5)):
                sizes = dict.fromkeys(deep_job.CHUNK_STEPS, chance.randint(1, most))
                monkeypatch.setattr(deep_job, name, sizes)
            stop = After(chance.randint(1, 6)) if chance.random() < 0.5 else Stop()
            pace = EAGER if chance.random() < 0.6 else Pace(checkpoint=1e9, status=0.0)
            try:
                # After some attempts it is let through: every chunk could be the last.
                killer = chance if len(ends) < 8 else None
                code = work(folder.path, cut(settings, killer), pace, stop)
            except KilledError:
                code = -9
            ends.append(code)
            assert code in (0, 75, -9)
        assert results(folder) == results(whole), (number, ends)
        assert verify(folder.path).problems == []
