"""One run of a deep agent, as a job that can be stopped anywhere."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bennafusi.agents import soft_q
from bennafusi.agents.networks import Params
from bennafusi.experiments.deep import depths, levels, plasticity_looks, recalling
from bennafusi.experiments.deep.deep_measures import DIVERGED
from bennafusi.experiments.deep.deep_records import short, trials
from bennafusi.experiments.deep.game_frames import kept_at
from bennafusi.experiments.on_host import on_host
from bennafusi.training import deep_loop, turns
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState
from bennafusi.training.rollout import Trajectory, evaluate, rollouts
from bennafusi.training.schedule import EACH_STEP

# A second or two, as so many episodes are.
CHUNK_STEPS = {"online": 60_000, "stream": 60_000, "episodic": 60_000, "minibatch": 4_000}
CHUNK_EPISODES = {"online": 5_000, "stream": 5_000, "episodic": 200, "minibatch": 5_000}
ENDLESS = 1_000_000  # episodes of an epoch that no measurement comes to the end of
SWITCH_TESTS = 10  # episodes of every task at the end of an epoch


class DeepRun:
    """The job of one agent and seed.

    Records are of four kinds. ``test``: one test episode, and the means of the training episodes
    since the one before. ``switch``: the agent before its first epoch (epoch 0) and at the end of
    each: how it plays every task, and how far its beakers are from its weights. ``plasticity``:
    whether it can still learn, at the same moments. ``levels``: what a few of its beakers hold, at
    each switch and some times in between; not of the control agent.
    With ``depths.games`` there are two more. ``depths``: how the network in each beaker plays; and
    at a switch ``games``: one of those games of each, small, to be shown. With ``recall`` there is
    ``recall``: which of them the next epoch begins with.
    """

    def __init__(self, settings: DeepSettings, seed: int) -> None:
        recalling.refuse_unknown(settings)
        self.settings, self.seed = settings, seed

    def initial(self) -> DeepState:
        """An agent that has seen nothing."""
        return on_host(deep_loop.start(self.settings, self.seed))

    def outline(self) -> DeepState:
        """Shapes and dtypes of the state: network, moments, beakers, replay."""
        shapes: DeepState = jax.eval_shape(lambda: deep_loop.start(self.settings, self.seed))
        return shapes

    def advance(self, state: DeepState) -> tuple[DeepState, list[dict[str, Any]]]:
        """A second or two further, or to the next look at the beakers, or the end of the epoch."""
        before, ended = int(state.epoch), int(state.episode)
        looked = levels.spacing(self.settings)
        records = [] if int(state.steps) else self._looks(state, 0)
        kind = self.settings.schedule.kind
        steps = max(CHUNK_STEPS[kind], 2 * self.settings.max_steps)  # a training episode at least
        # Where a chunk ends changes no bit of the training.
        probed = self.settings.depths.every * self.settings.test_every
        until_look = min(every - ended % every for every in (looked, probed) if every)
        episodes = min(CHUNK_EPISODES[kind], until_look)
        advanced = deep_loop.advance(self.settings, state, steps, episodes)
        state, tests = jax.block_until_ready(advanced)  # type: ignore[no-untyped-call]
        records += [trial.record() for trial in trials(tests, self.settings.tasks)]
        if bool(state.diverged):
            pass  # at a switch, perhaps; of such an agent nothing is looked at
        elif int(state.epoch) > before:
            looks = self._looks(state, before + 1)
            known = next((look for look in looks if look["kind"] == "depths"), {})
            state, more = recalling.recalled(self.settings, state, known)
            records += [*looks, *more]
        elif int(state.episode) > ended:
            records += self._levels(state) if int(state.episode) % looked == 0 else []
            records += self._depths(state) if probed and int(state.episode) % probed == 0 else []
        return on_host(state), records

    def progress(self, state: DeepState) -> tuple[int, int]:
        """Episodes; or training steps, if they are what an epoch is counted in."""
        length = self.settings.length
        here = state.episode if state.trained is None else state.trained
        # An epoch lasts as long as the episode in which its last step was.
        passed = min(int(here), length - 1)
        return int(state.epoch) * length + passed, self.settings.epochs * length

    def check(self, state: DeepState) -> str | None:
        """Where and when a run diverged, if it did."""
        if not bool(state.diverged):
            return None
        known = worst_group(state.agent.params)
        begun = int(state.episode) or int(state.tally.updates)  # it has learnt since the switch
        if self.settings.network.permanent and int(state.epoch) and not begun:
            where = f"at the switch that ended epoch {int(state.epoch)}"
            return f"{DIVERGED} {where}: {known}. A smaller boundary.rate may help"
        where = f"epoch {int(state.epoch) + 1}, episode {int(state.episode) + 1}"
        return (
            f"{DIVERGED} in {where} (step {int(state.steps):,}): values reached "
            f"{float(state.tally.largest):.3g}, the bound is {self.settings.largest_value:g}, mean "
            f"loss {float(state.tally.loss) / max(int(state.tally.updates), 1):.3g} since the last "
            f"test; {known}. A smaller learning_rate may help"
        )

    def final(self, state: DeepState) -> dict[str, NDArray[Any]]:
        """The network, by layer; where agents take turns, that of the last one."""
        return {
            f"{group}/{layer}": np.asarray(leaf)
            for group, leaves in state.agent.params._asdict().items()
            for layer, leaf in enumerate(leaves)
        }

    def _looks(self, state: DeepState, epoch: int) -> list[dict[str, Any]]:
        """All that is recorded at a switch."""
        known = self._depths(state, keep=kept_at(self.settings.epochs, epoch))
        played = self._tests(state, epoch)
        switch = self._switch(state, epoch, played)
        return [*self._levels(state), switch, *self._plasticity(state, epoch, played), *known]

    def _depths(self, state: DeepState, keep: bool = False) -> list[dict[str, Any]]:
        if self.settings.chain.n == 1 or not self.settings.depths.games:
            return []
        return depths.records(self.settings, state, self.progress(state)[0], keep)

    def _levels(self, state: DeepState) -> list[dict[str, Any]]:
        if self.settings.chain.n == 1:
            return []
        return [levels.record(self.settings, state, self.progress(state)[0])]

    def _tests(self, state: DeepState, epoch: int) -> list[Trajectory]:
        """Some episodes of every task at the end of an epoch, by the agent that plays it."""
        key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(state.key)), 2**31 + 2)
        found = []
        for index in range(count := len(self.settings.different)):
            own = jax.random.fold_in(key, epoch * count + index)
            agent = turns.agent_of(self.settings, state, index)
            params = soft_q.acting(self.settings.learner, agent)
            found.append(rollouts(self.settings, params, jnp.int32(index), own, SWITCH_TESTS))
        return found

    def _plasticity(
        self, state: DeepState, epoch: int, played: list[Trajectory]
    ) -> list[dict[str, Any]]:
        """Of the agent that was trained, in the states of its own tests."""
        order = self.settings.order
        task = order[max(epoch - 1, 0) % len(order)]
        kept = self.settings.schedule.agent_at_switch == "keep"
        params = turns.agent_of(self.settings, state, task).params
        born = self._born if kept else None
        found = plasticity_looks.record(self.settings, params, task, played[task], born)
        when = {"epoch": epoch, "task": self.settings.different[task] if epoch else None}
        return [{"kind": "plasticity", **when, **found}] if found else []

    @cached_property
    def _born(self) -> Params:
        """The network at its birth, made again where a run goes on."""
        return self.initial().agent.params

    def _switch(self, state: DeepState, epoch: int, played: list[Trajectory]) -> dict[str, Any]:
        tasks, different = self.settings.tasks, self.settings.different
        tests = {
            name: np.asarray(games.total).tolist()
            for name, games in zip(different, played, strict=True)
        }
        updates = int(soft_q.updates_made(state.agent))
        return {
            "kind": "switch",
            "epoch": epoch,
            "task": tasks[(epoch - 1) % len(tasks)] if epoch else None,
            "tests": tests,
            "updates": updates,
            "steps": int(state.steps),
            "awake": self.settings.chain.awake(updates),
            "distances": distances(state) if self.settings.chain.n > 1 else {},
        }


def distances(state: DeepState) -> dict[str, list[float]]:
    """Root mean square of u_k - u_1 for each beaker k, over the parameters of each group."""
    parts: dict[str, list[NDArray[Any]]] = {}
    for group, _, u in levels.chains(state.agent):
        parts.setdefault(group, []).append(u.reshape(len(u), -1))
    found = {}
    for group, leaves in parts.items():
        rows = np.concatenate(leaves, axis=1)
        gaps = np.sqrt(np.mean((rows - rows[:1]).astype(np.float64) ** 2, axis=1))
        found[group] = [short(float(gap)) for gap in gaps]
    return found


def worst_group(params: Params) -> str:
    """The group of parameters with which something is wrong, in words."""
    largest, culprit = -1.0, ""
    for group, leaves in params._asdict().items():
        for layer, leaf in enumerate(leaves):
            size = np.abs(np.asarray(leaf))
            if bad := int((~np.isfinite(size)).sum()):
                return f"{group} of layer {layer + 1} hold {bad} numbers that are not finite"
            if size.max() > largest:
                largest, culprit = float(size.max()), f"{group} of layer {layer + 1}"
    return f"the largest parameter is {largest:.3g}, among the {culprit}"


class OnlineCost(NamedTuple):
    """What learning from each step costs on this machine.

    Attributes:
        step: seconds.
        length: steps of an episode, of an agent that has not learnt much.
    """

    step: float
    length: float


def online_cost(settings: DeepSettings) -> OnlineCost:
    """By a short measurement, of which compiling is no part."""
    endless = changed(settings, {"episodes": ENDLESS, "steps": None})
    state, _ = deep_loop.advance(endless, deep_loop.start(endless, 0), 500, 100)  # compiles
    steps, episodes = int(state.steps), int(state.episode)
    began = time.perf_counter()
    after, _ = deep_loop.advance(endless, state, 20_000, 5_000)
    steps, episodes = int(after.steps) - steps, int(after.episode) - episodes  # waits for it
    return OnlineCost((time.perf_counter() - began) / steps, steps / max(1, episodes))


def seconds_per_episode(settings: DeepSettings, length: int) -> float:
    """What an episode of so many steps costs on this machine, from a short measurement."""
    if settings.schedule.kind in EACH_STEP:
        return online_cost(settings).step * length
    state, _ = deep_loop.advance(settings, deep_loop.start(settings, 0), 500, 100)  # compiles
    began = time.perf_counter()
    after, _ = deep_loop.advance(settings, state, 20_000, 60)
    after.steps.block_until_ready()
    taken = time.perf_counter() - began
    # Early episodes are short: nearly all of this is the batch of updates at their end.
    return taken / 60 + length * _seconds_per_step(settings, after)


def _seconds_per_step(settings: DeepSettings, state: DeepState) -> float:
    """What it takes to act; Cart-Pole, whose reward is its length, is what is played."""
    task = jnp.int32(settings.different.index("cartpole"))
    for seed in range(2):  # the first one compiles
        began = time.perf_counter()
        rewards = evaluate(settings, state.agent.params, task, jax.random.key(seed), 400)
        steps = float(jnp.sum(rewards))
    return (time.perf_counter() - began) / max(steps, 1.0)
