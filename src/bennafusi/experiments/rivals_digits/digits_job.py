"""One run of ``rivals-digits``: all methods at all points of their grids, for one seed."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bennafusi.files import RunError
from bennafusi.metrics import (
    area_under_curve,
    dormant_share,
    effective_rank,
    forgetting_from_end,
)
from bennafusi.rivals.catalogue import METHODS
from bennafusi.synapse.numbers import check_whole

PROBLEMS = ("split", "permuted")
FACTORS = (0.1, 1.0, 10.0)  # of a method's usual strength
RATES = (5e-4, 2e-3, 8e-3)
# What has no strength is tuned by its rate alone, with as many points.
MORE_RATES = tuple(1.25e-4 * 2**k for k in range(9))
MEASURES = ("kept", "learnt", "lost", "dormant", "rank", "norm", "moved")


@dataclass(frozen=True)
class DigitsSettings:
    """What the experiment ``rivals-digits`` runs."""

    methods: tuple[str, ...] = tuple(METHODS)
    # Rhythms: updates on a task until the next one has its turn.
    visits: tuple[int, ...] = (20, 100, 200)
    updates: int = 1000
    hidden: int = 64  # units of the hidden layer
    batch: int = 16  # examples per update
    look: int = 20  # updates between two scores

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in METHODS:
                raise ValueError(f"methods: unknown {name!r}; choose from {', '.join(METHODS)}")
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError(f"methods={self.methods}: name one or more, each once")
        check_whole(self, dict.fromkeys(("updates", "hidden", "batch", "look"), (1, 2**30)))
        if not self.visits or any(
            visit < 1 or visit % self.look or self.updates % visit for visit in self.visits
        ):
            raise ValueError(
                f"visits={self.visits}: must be multiples of look={self.look} that divide "
                f"updates={self.updates}"
            )

    @property
    def cells(self) -> list[tuple[str, int]]:
        """Problem and rhythm of each stream."""
        return [(problem, visit) for problem in PROBLEMS for visit in self.visits]


def grid(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Strengths and rates that a method is tried with: nine points for each.

    Example:
        >>> grid("l2-init")
        ((0.0001, 0.001, 0.01), (0.0005, 0.002, 0.008))
        >>> [len(part) for part in grid("control")]
        [1, 9]
    """
    if name == "control":
        return (1.0,), MORE_RATES
    strength = METHODS[name].strength
    return tuple(float(f"{strength * factor:.6g}") for factor in FACTORS), RATES


class State(NamedTuple):
    """The score by which methods are tuned and judged, so far."""

    kept: NDArray[np.float64]  # [methods, points, cells]; NaN where it is not known yet
    done: NDArray[np.int64]  # methods so far


class DigitsRun:
    """The job of one seed: a chunk is one method.

    Each record, of the kind ``cell``, is one method on one problem in one rhythm: its grid, and for
    every point of it the measures and the course of the mean accuracy over all tasks.
    """

    def __init__(self, settings: DigitsSettings, seed: int) -> None:
        if importlib.util.find_spec("sklearn") is None:
            raise RunError(
                "rivals-digits needs the digits of scikit-learn: pip install 'bennafusi[digits]'"
            )
        self.settings, self.seed = settings, seed

    def initial(self) -> State:
        """Nothing is known."""
        shape = len(self.settings.methods), len(MORE_RATES), len(self.settings.cells)
        return State(np.full(shape, np.nan), np.array(0))

    def outline(self) -> dict[str, Any]:
        """Shapes and dtypes of the state, and of what one method needs for all its networks."""
        from bennafusi.experiments.rivals_digits.digits_learning import outline

        settings, many = self.settings, (len(MORE_RATES), len(self.settings.cells))
        kept = [outline(name, settings.hidden) for name in settings.methods]
        network = max(sum(leaf.size for leaf in jax.tree.leaves(one)) for one in kept)
        shapes = {
            "networks": (*many, network),
            "batches": (*many, settings.batch, settings.hidden),
            "tasks": (many[1], settings.updates),
        }
        parts = jax.eval_shape(lambda: {name: jnp.zeros(shapes[name]) for name in shapes})
        return {**self.initial()._asdict(), **parts}

    def advance(self, state: State) -> tuple[State, list[dict[str, Any]]]:
        """One more method."""
        place = int(state.done)
        records = cells(self.settings, self.settings.methods[place], self.seed)
        kept = state.kept.copy()
        for cell, record in enumerate(records):
            kept[place, :, cell] = [point["kept"] for point in record["points"]]
        return State(kept, state.done + 1), records

    def progress(self, state: State) -> tuple[int, int]:
        """Methods."""
        return int(state.done), len(self.settings.methods)

    def check(self, state: State) -> str | None:
        """Accuracies are finite, also those of weights that are not."""
        return None if np.isfinite(state.kept[: int(state.done)]).all() else "kept: not finite"

    def final(self, state: State) -> dict[str, NDArray[Any]]:
        """The score of every method at every point."""
        return {"kept": state.kept}


def cells(settings: DigitsSettings, name: str, seed: int) -> list[dict[str, Any]]:
    """The records of one method."""
    from bennafusi.experiments.rivals_digits import digits_learning as program

    strengths, rates = grid(name)
    streams = [program.stream(*cell, settings.updates, seed) for cell in settings.cells]
    found = program.learn(
        name,
        strengths,
        jnp.array(rates),
        program.Stream(*(np.stack(parts) for parts in zip(*streams, strict=True))),
        program.pictures(),
        jax.random.key(seed),
        hidden=settings.hidden,
        batch=settings.batch,
        look=settings.look,
    )
    found = jax.tree.map(np.asarray, jax.block_until_ready(found))  # type: ignore[no-untyped-call]
    records = []
    for place, (problem, visit) in enumerate(settings.cells):
        trained = streams[place].task[::visit].tolist()
        points = [
            {
                "strength": strength,
                "rate": rate,
                **measures(
                    program.Learnt(*(leaf[s, r, place] for leaf in found)),
                    trained,
                    visit // settings.look,
                ),
            }
            for s, strength in enumerate(strengths)
            for r, rate in enumerate(rates)
        ]
        cell = {"kind": "cell", "method": name, "problem": problem, "visit": visit}
        records.append({**cell, "look": settings.look, "points": points})
    return records


def measures(found: Any, trained: list[int], looks: int) -> dict[str, Any]:
    """What one network is known by, from the task of each visit and the scores per visit.

    Returns:
        ``kept``: mean accuracy over all tasks in the second half of training, by which methods are
        tuned and judged. ``learnt``: on the task of each visit at its end, mean. ``lost``: what
        each task has lost since its last visit, mean. Then what says whether it can still learn,
        and ``curve``, the mean accuracy over all tasks at every look.
    """
    scores = np.asarray(found.scores, np.float64)
    curve, ends = scores.mean(axis=1), scores[::looks]
    half = len(curve) // 2 + 1
    numbers = {
        "kept": area_under_curve(curve[half:]),
        "learnt": float(np.mean([ends[k, task] for k, task in enumerate(trained, start=1)])),
        "lost": float(np.nanmean(forgetting_from_end(ends, trained))),
        # Where weights are lost no unit is active.
        "dormant": float(np.nan_to_num(dormant_share(found.hidden), nan=1.0)),
        "rank": float(effective_rank(_finite(found.hidden))),
        "norm": float(_finite(found.norm)),
        "moved": float(_finite(found.moved)),
    }
    rounded = {name: float(f"{number:.5g}") for name, number in numbers.items()}
    return {**rounded, "curve": [round(x, 4) for x in curve.tolist()]}


def _finite(values: Any) -> NDArray[np.float64]:
    """A rate may be so large that weights are lost; JSON knows no infinity."""
    return np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=1e30, neginf=-1e30)


def seconds(settings: DigitsSettings) -> float | None:
    """What a run takes here, from two of its methods; None without scikit-learn."""
    if importlib.util.find_spec("sklearn") is None:
        return None
    taken = []
    for seed in range(2):  # the first one compiles
        began = time.perf_counter()
        cells(settings, "control", seed)
        taken.append(time.perf_counter() - began)
    # Others compute up to twice as much as the control, and compile longer.
    return len(settings.methods) * (1.5 * taken[1] + max(taken[0] - taken[1], 0.0))
