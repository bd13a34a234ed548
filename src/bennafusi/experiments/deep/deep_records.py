"""The record of a test, from the compiled loop to the measures: one type, whoever holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bennafusi.results import RunData
from bennafusi.training.deep_state import Tests, trimmed

MEANS = ("training_reward", "training_length", "loss", "largest")


class Trial(NamedTuple):
    """One test episode, as ``metrics.jsonl`` has it; or many, with an array for each field.

    Attributes:
        epoch: counted from 1.
        episode: of the epoch, counted from 1, tests included.
        task: its name.
        reward: of the test.
        length: its steps.
        training_reward: mean over the training episodes since the test before.
        training_length: the same of their steps.
        loss: mean over their updates, 0 without any.
        largest: the largest value of any action since the test before, by its size.
        updates: of the whole run, when it ended.
        steps: of the whole run, when it ended.
    """

    epoch: Any
    episode: Any
    task: Any
    reward: Any
    length: Any
    training_reward: Any
    training_length: Any
    loss: Any
    largest: Any
    updates: Any
    steps: Any

    def record(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"kind": "test", **self._asdict()}


def trials(ended: Tests, tasks: Sequence[str]) -> list[Trial]:
    """The tests that ended in a chunk."""
    columns = {name: column.tolist() for name, column in trimmed(ended).items()}
    columns["task"] = [tasks[epoch % len(tasks)] for epoch in columns["epoch"]]
    columns |= {name: [number + 1 for number in columns[name]] for name in ("epoch", "episode")}
    columns |= {name: list(map(short, columns[name])) for name in MEANS}
    return list(map(Trial, *(columns[name] for name in Trial._fields)))


def trials_of(run: RunData) -> Trial:
    """All tests of a run as one array for each field."""
    rows = [record for record in run.records if record["kind"] == "test"]
    return Trial(*(np.array([row[name] for row in rows]) for name in Trial._fields))


def short(number: float) -> float:
    """Six digits are enough for means, and a third of the bytes."""
    return float(f"{number:.6g}")
