"""The experiments by name. What a run folder says is looked up here and nowhere else."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """An experiment: its names, what it shows, and whether it is made of durable runs."""

    name: str
    module: str
    figures: tuple[str, ...]
    summary: str
    durable: bool

    def load(self) -> ModuleType:
        """Its code, imported only when it is needed."""
        return importlib.import_module(f"bennafusi.experiments.{self.module}")

    def seconds(self) -> float:
        """What one run at the paper's scale costs on this machine, measured now."""
        os.environ.setdefault("NPROC", "1")  # as in a run's own process
        cost: float = self.load().calibrate()
        return cost


CATALOGUE = (
    Entry("memory", "memory", (), "how long random patterns stand out", False),
    Entry(
        "grid-switch", "grid_switch", ("fig2", "fig3"), "Q(lambda) whose goal keeps moving", True
    ),
    Entry("two-task", "deep.two_task", ("fig4",), "Cart-Pole and Catcher in turn", True),
    Entry("online-cartpole", "deep.online_cartpole", ("fig5",), "Cart-Pole without replay", True),
    Entry("epoch-length", "deep.epoch_length", ("figS1",), "epochs of different length", True),
    Entry("three-task", "deep.three_task", ("figS2",), "three tasks in turn", True),
    Entry("replay-size", "deep.replay_size", ("figS3",), "replay instead of beakers", True),
    Entry("online-catcher", "deep.online_catcher", ("figS4",), "Catcher without replay", True),
    Entry("epsilon-floor", "deep.epsilon_floor", ("figS5",), "exploration that never ends", True),
    Entry("ablation", "deep.ablation", (), "what the paper leaves open", True),
    Entry("train", "deep.train", (), "one deep agent; made by bennafusi train", True),
)


class UnknownError(ValueError):
    """A name that is not there, with the one that was meant."""


def find(name: str) -> Entry:
    """The experiment of that name, or of that figure of the paper."""
    for entry in CATALOGUE:
        if name.lower() in (word.lower() for word in (entry.name, *entry.figures)):
            return entry
    known = [word for entry in CATALOGUE for word in (entry.name, *entry.figures)]
    raise UnknownError(f"unknown experiment {name!r}. {suggestion(name, known)}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """What may have been meant."""
    options = list(known)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"There is: {', '.join(options)}."


def make_job(spec: Any) -> Any:
    """The job of one run, from the spec in its folder."""
    from bennafusi.runs.config import from_json

    module = find(spec.experiment).load()
    settings = from_json(type(module.settings("paper")), spec.settings)
    return module.Job(spec.variant, spec.seed, settings)
