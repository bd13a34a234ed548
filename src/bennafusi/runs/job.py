"""What an experiment hands over to be run: its job, and the spec that names one run of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

Record: TypeAlias = dict[str, Any]


class Job(Protocol):
    """One run, as pure functions of its state.

    The state is any tree of arrays, JAX or NumPy, typed keys included. Everything a resume needs
    is in it: a job that keeps a counter or a generator in itself does not resume to the bit.

    A job may also have ``outline()``: shapes and dtypes of its state, as :func:`jax.eval_shape`
    gives them, and of what else it fills. One that does not fit into memory is then refused before
    it takes any; of a job without it, the state is looked at once it is there.
    """

    def initial(self) -> Any:
        """The state before the first chunk; also the template that checkpoints are held against."""
        ...

    def advance(self, state: Any) -> tuple[Any, list[Record]]:
        """The state one chunk later, and the records of that chunk.

        Deterministic, and 1 to 5 s long: a signal is looked at when a chunk ends. It may donate
        ``state``. Records are plain JSON objects without NaN, and do not depend on how the run
        was cut into chunks.
        """
        ...

    def progress(self, state: Any) -> tuple[int, int]:
        """Units of work done, and in all; the run ends when they are equal.

        Of two chunks in a row one must get on.
        """
        ...

    def check(self, state: Any) -> str | None:
        """None if the state is healthy, else what is wrong, by the name of the part it is in."""
        ...

    def final(self, state: Any) -> dict[str, NDArray[Any]]:
        """The arrays to keep in ``final.npz`` once the run is done."""
        ...


@dataclass(frozen=True)
class RunSpec:
    """One run: whatever decides its numbers.

    Attributes:
        experiment: name of the experiment.
        variant: which of the experiment's agents.
        seed: seed of all randomness.
        settings: the experiment's settings as plain JSON, the same for all its runs.
    """

    experiment: str
    variant: str
    seed: int
    settings: dict[str, Any]


# Called in the run's own process, once handlers stand; so this is the place to import JAX from.
JobFactory: TypeAlias = Callable[[RunSpec], Job]
