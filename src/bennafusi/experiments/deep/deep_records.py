"""The records of a deep run: the tests of a chunk, all tests of a run, the numbers of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bennafusi.results import RunData
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import Tests, Trial
from bennafusi.training.rows import trimmed

MEANS = ("training_reward", "training_length", "loss", "largest")


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


def scalars(settings: DeepSettings, record: dict[str, Any]) -> tuple[int, dict[str, float]]:
    """A record as the episode it belongs to, and its numbers by name; none of what is drawn."""
    if record["kind"] in ("levels", "weights", "games"):
        return record["episode"], {}
    if record["kind"] == "test":
        step = (record["epoch"] - 1) * settings.episodes + record["episode"]
        step = step if settings.steps is None else record["steps"]
        numbers = {k: v for k, v in record.items() if k not in ("kind", "task", "epoch", "episode")}
        task = {f"{k}/{record['task']}": numbers.pop(k) for k in ("reward", "length")}
        training = {
            f"{k}/{record['task']}": numbers.pop(k) for k in ("training_reward", "training_length")
        }
        return step, {**task, **training, **numbers}
    if record["kind"] == "depths":
        return record["episode"], {
            f"depth/{task}/{depth:02}": sum(games) / len(games)
            for task, played in record["rewards"].items()
            for depth, games in zip(record["depths"], played, strict=True)
        }
    if record["kind"] == "recall":
        numbers = {f"recall/{name}": record[name] for name in ("depth", "earned", "weights")}
        return record["episode"], numbers
    if record["kind"] == "plasticity":
        numbers = {k: v for k, v in record.items() if k not in ("kind", "task", "epoch")}
        known = {f"plasticity/{name}": v for name, v in numbers.items() if v is not None}
        return record["epoch"] * settings.length, known
    tests = {f"switch/{task}": sum(r) / len(r) for task, r in record["tests"].items()}
    distances = {
        f"distance/{group}/{place:02}": gap
        for group, gaps in record["distances"].items()
        for place, gap in enumerate(gaps, start=1)
    }
    return record["epoch"] * settings.length, {**tests, "awake": record["awake"], **distances}
