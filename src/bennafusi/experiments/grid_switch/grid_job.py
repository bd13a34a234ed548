"""One run of ``grid-switch``: Q(lambda) on the grid, as a job that can be stopped anywhere."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from bennafusi.experiments.grid_switch import grid_depths
from bennafusi.experiments.grid_switch.grid_measures import first_reward, relearning_steps
from bennafusi.experiments.on_host import on_host
from bennafusi.training import tabular
from bennafusi.training.rows import trimmed
from bennafusi.training.tabular_settings import TabularSettings

FRAME = 20_000  # steps between two pictures of the value functions, or fewer for short epochs
USUAL_STEPS = 3_600_000  # steps of one run, where no agent stalls
FRAMES = 40  # frames per chunk: a second or two


class State(NamedTuple):
    """The training state, and the episodes of the current epoch so far."""

    training: Any
    length: NDArray[np.int32]
    found: NDArray[np.bool_]


class GridSwitch:
    """The job of one agent and seed.

    Records are of two kinds: ``epoch`` (every episode's length, and what the figures need of
    them) and ``values`` (the value functions of all beakers at one moment). With ``depths`` there
    is a third of that name for each epoch: what the greedy policies of all beakers find.
    """

    def __init__(self, settings: TabularSettings, seed: int) -> None:
        self.settings, self.seed = settings, seed
        # About ten steps per episode: a few pictures even of a small experiment's epochs.
        self.frame_steps = max(200, min(FRAME, 2 * self.settings.episodes * self.settings.size))

    def initial(self) -> State:
        """A fresh table."""
        episodes = self.settings.episodes
        training = on_host(tabular.start(self.settings, self.seed))
        return State(training, np.zeros(episodes, np.int32), np.zeros(episodes, np.bool_))

    def outline(self) -> State:
        """Shapes and dtypes of the state: the beakers of the table, its traces, the episodes."""
        with jax.enable_x64(True):
            training = jax.eval_shape(lambda: tabular.start(self.settings, self.seed))
        shape = (self.settings.episodes,)
        length, found = np.broadcast_to(np.int32(0), shape), np.broadcast_to(np.False_, shape)
        return State(training, length, found)  # which take no memory

    def advance(self, state: State) -> tuple[State, list[dict[str, Any]]]:
        """Some frames further."""
        training, length, found = state.training, state.length.copy(), state.found.copy()
        records: list[dict[str, Any]] = []
        for _ in range(FRAMES):
            left = self.frame_steps
            while left > 0 and not tabular.finished(self.settings, training):
                before = training
                # A switch that is to be looked at ends the stretch.
                switch = int(before.epoch) + 1 if self.settings.depths else None
                training, ended = tabular.advance(self.settings, before, left, switch)
                left -= int(training.steps) - int(before.steps)
                columns = trimmed(ended)
                for epoch, episode, steps, rewarded in zip(
                    *(columns[name].tolist() for name in ("epoch", "episode", "length", "found")),
                    strict=True,
                ):
                    length[episode], found[episode] = steps, rewarded
                    if episode == self.settings.episodes - 1:
                        records.append(_epoch(epoch, length, found))
                if self.settings.depths and int(training.epoch) > int(before.epoch):
                    records.append(self._depths(training))
            records.append(self.frame(training))
            if tabular.finished(self.settings, training):
                break
        return State(on_host(training), length, found), records

    def _depths(self, training: Any) -> dict[str, Any]:
        levels = np.stack([np.asarray(level) for level in training.table.levels])
        moment = int(training.epoch), int(training.steps)
        return grid_depths.record(self.settings.grid, levels, *moment)

    def progress(self, state: State) -> tuple[int, int]:
        """Episodes."""
        done = int(state.training.epoch) * self.settings.episodes + int(state.training.episode)
        return done, self.settings.epochs * self.settings.episodes

    def check(self, state: State) -> str | None:
        """Values cannot exceed the reward by much."""
        for k, level in enumerate(state.training.table.levels, start=1):
            if not np.isfinite(level).all() or np.abs(level).max() > 1e3:
                return f"Q^{k}: not finite, or above 1000, where no value can exceed 1"
        return None

    def final(self, state: State) -> dict[str, NDArray[Any]]:
        """All beakers of the table, and their value functions."""
        values = tabular.hidden_values(self.settings, state.training)
        return {"levels": np.stack(state.training.table.levels), "values": np.asarray(values)}

    def frame(self, training: Any) -> dict[str, Any]:
        """The record of the value functions at one moment."""
        values = np.asarray(tabular.hidden_values(self.settings, training))
        return {
            "kind": "values",
            "steps": int(training.steps),
            "epoch": min(int(training.epoch), self.settings.epochs - 1) + 1,
            "values": np.round(values, 5).tolist(),
        }


def _epoch(epoch: int, length: NDArray[np.int32], found: NDArray[np.bool_]) -> dict[str, Any]:
    relearnt = relearning_steps(length)
    return {
        "kind": "epoch",
        "epoch": epoch + 1,
        "first_reward": first_reward(length, found),
        "relearning_steps": relearnt,
        "steps": int(length.sum()),
        "rewards": int(found.sum()),
        "mean_length": round(float(length.mean()), 4),
        "lengths": length.tolist(),
    }


def seconds(settings: TabularSettings) -> float:
    """What a run takes here, from a part of one; shorter epochs and fewer of them take less."""
    job = GridSwitch(settings, 0)
    training, _ = tabular.advance(settings, job.initial().training, FRAME)  # compiles
    began, frames = time.perf_counter(), 5
    for _ in range(frames):
        training, _ = tabular.advance(settings, training, FRAME)
        job.frame(training)
    whole = TabularSettings()
    part = settings.epochs * settings.episodes / (whole.epochs * whole.episodes)
    return (time.perf_counter() - began) / (frames * FRAME) * USUAL_STEPS * part
