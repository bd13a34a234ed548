"""How a chain is stepped: which beakers move when, and by how much. Plain numbers, no arrays of u.

Everything that both faces of the library (JAX and PyTorch) must agree on is decided here, in
float64, before anything is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from bennafusi.synapse.chain import Chain, Float64
from bennafusi.synapse.numbers import readonly, real, whole

A = TypeVar("A")  # a whole number, or an array of one
Method = Literal["multirate", "euler", "exact"]

GROUP_SIZE = 3
TOLERANCE = 1 / 128
FEWEST, MOST = 4, 16
LONGEST_PERIOD = 2**14
# Chain steps are counted in int32. Past this count the counter runs in circles of LONGEST_PERIOD,
# so that the rhythm of the groups goes on for ever; a gate that has not opened by then stays shut.
COUNTER_END = 2**30


class Group(NamedTuple):
    """Neighbouring beakers ``start .. stop-1`` (from 0) that move every ``period`` steps."""

    start: int
    stop: int
    period: int


@dataclass(frozen=True)
class Scheme:
    r"""One step of a chain, as numbers.

    In one explicit (Euler) step of length ``dt``, all from old levels,

    .. math::
        u_k \leftarrow u_k + a_k (u_{k-1} - u_k) + \mathrm{gate}_k\, b_k (u_{k+1} - u_k),
        \qquad a_k = \frac{dt\, g_{k-1,k}}{C_k}, \quad b_k = \frac{dt\, g_{k,k+1}}{C_k}.

    ``"euler"`` moves every beaker at every step. ``"multirate"`` lets beakers move in groups: the
    first two or three at every step, each deeper group more rarely and by a longer step. Liquid
    that a faster group sends down a tube is kept at its upper end until the slower group moves, so
    that nothing of it is lost, neither by lag nor by rounding. ``"exact"`` multiplies all
    levels by the matrix exponential and has no largest ``dt``.

    Args:
        chain: the chain.
        dt: time that one step covers, in updates.
        method: ``"multirate"``, ``"euler"`` or ``"exact"``.
        updates_per_step: updates that pass between two steps, which the gates count.

    Example:
        >>> for group in Scheme(Chain(n=30, g12=0.001625), dt=64, updates_per_step=64).groups:
        ...     print(group)
        Group(start=0, stop=3, period=1)
        Group(start=3, stop=6, period=4)
        Group(start=6, stop=9, period=32)
        Group(start=9, stop=12, period=256)
        Group(start=12, stop=15, period=2048)
        Group(start=15, stop=30, period=16384)
    """

    chain: Chain
    dt: float = 1.0
    method: Method = "multirate"
    updates_per_step: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.chain, Chain):
            raise TypeError(f"chain={self.chain!r}: must be a bennafusi.Chain")
        if self.method not in get_args(Method):
            known = ", ".join(map(repr, get_args(Method)))
            raise ValueError(f"method={self.method!r}: unknown; choose one of {known}")
        for name in ("dt", "updates_per_step"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be above 0")
        limit = self.chain.largest_step
        if self.method != "exact" and self.chain.flows and self.dt > limit * (1 + 1e-12):
            raise ValueError(
                f"dt={self.dt:g} with g12={self.chain.g12:g}: dt * g12 = "
                f"{self.dt * self.chain.g12:g} makes method={self.method!r} overshoot; it must be "
                f"at most {limit * self.chain.g12:g} (dt <= {limit:g}). "
                f"method='exact' has no such limit"
            )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Beakers that move together, fastest first; one group for all methods but multirate.

        The second group begins where a step :data:`FEWEST` times as long still moves less than
        :data:`TOLERANCE` of a difference in level. From there on every third beaker begins a group
        that moves more rarely by the growth of three beakers, while its rates fall by the square of
        that: step errors shrink with depth. Periods are powers of two, so each divides the next.
        """
        n, rates = self.chain.n, self.from_below
        slow = [i for i in range(2, n) if FEWEST * rates[i] <= TOLERANCE]
        if self.method != "multirate" or not slow or self.chain.growth < 2 ** (1 / GROUP_SIZE):
            return (Group(0, n, 1),)
        ratio = 2 ** math.floor(GROUP_SIZE * math.log2(self.chain.growth) + 1e-9)
        largest = min(TOLERANCE / max(rates[slow[0]], 1e-300), MOST)
        starts, periods = [0, slow[0]], [1, 2 ** math.floor(math.log2(largest) + 1e-9)]
        while starts[-1] + GROUP_SIZE < n and periods[-1] * ratio <= LONGEST_PERIOD:
            starts.append(starts[-1] + GROUP_SIZE)
            periods.append(periods[-1] * ratio)
        return tuple(map(Group, starts, [*starts[1:], n], periods))

    @cached_property
    def from_above(self) -> Float64:
        r"""Share :math:`a_k` of the drop from the beaker above that flows in; 0 for the first."""
        tubes, areas = self.chain.tubes, self.chain.areas
        return readonly(np.r_[0.0, self.dt * tubes[:-1] / areas[1:]])

    @cached_property
    def from_below(self) -> Float64:
        r"""Share :math:`b_k` of the difference to the beaker below that flows back."""
        return readonly(self.dt * self.chain.tubes / self.chain.areas)

    @cached_property
    def gate_steps(self) -> NDArray[np.int32]:
        """Chain step at which each gate opens; int32 max for one that never does."""
        # The small allowance keeps 20.000000000000004 updates from becoming 21 steps of one.
        steps = np.ceil(self.chain.gate_opens / self.updates_per_step * (1 - 1e-12))
        never = np.iinfo(np.int32).max
        return np.where(steps <= COUNTER_END, np.minimum(steps, COUNTER_END), never).astype(
            np.int32
        )

    @cached_property
    def propagators(self) -> Float64:
        r"""For ``"exact"``: :math:`e^{A_j dt} - 1` with the first :math:`j = 0 \dots n` gates open.

        The identity is left out because float32 could not hold ``1 - 1e-9``.
        """
        n = self.chain.n
        matrices = []
        for opened in range(n + 1):
            below = np.where(np.arange(n) < opened, self.from_below, 0.0)
            generator = np.diag(-self.from_above - below)
            generator += np.diag(below[:-1], 1) + np.diag(self.from_above[1:], -1)
            matrices.append(_expm1(generator))
        return readonly(np.stack(matrices))

    @property
    def settings(self) -> dict[str, Any]:
        """All that a saved state must agree with, as plain numbers, words and truth values."""
        every = int(self.updates_per_step)  # whole, wherever a state is kept
        return {**asdict(self.chain), "every": every, "dt": self.dt, "method": self.method}

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Scheme:
        """The scheme that has these :attr:`settings`."""
        chain = Chain(**{field.name: settings[field.name] for field in fields(Chain)})
        return cls(chain, settings["dt"], settings["method"], settings["every"])

    def group_of(self, depth: int) -> int:
        """Which group beaker ``depth``, counted from 1, is in."""
        return next(i for i, group in enumerate(self.groups) if depth <= group.stop)

    def check_flow(self, flow: object) -> None:
        """Refuse a modulation of the flow where the method has no place for it."""
        if self.method == "exact" and not (isinstance(flow, int | float) and flow == 1):
            raise ValueError(
                "flow: method='exact' cannot modulate the flow; use 'multirate' or 'euler'"
            )


def _choose(yes: bool, one: int, other: int) -> int:
    """One of two numbers, for libraries that count in Python."""
    return one if yes else other


def next_step(steps: A, choose: Callable[[Any, Any, int], Any] = _choose) -> A:
    """The step counter after one more step, a number or an array; see :data:`COUNTER_END`.

    Args:
        steps: the counter before.
        choose: between two, by a truth value; ``jnp.where`` inside a program.

    Example:
        >>> next_step(5), next_step(COUNTER_END + LONGEST_PERIOD - 1) == COUNTER_END
        (6, True)
    """
    after: Any = steps + 1  # type: ignore[operator]
    result: A = choose(after < COUNTER_END + LONGEST_PERIOD, after, COUNTER_END)
    return result


def every_and_dt(every: object, dt: object) -> tuple[int, float]:
    """Validate how often the chain steps; ``dt`` is ``every`` unless said otherwise."""
    count = whole("every", every)
    if count < 1:
        raise ValueError(f"every={count}: the chain steps after every so many updates, every >= 1")
    return count, float(count) if dt is None else real("dt", dt)


def _expm1(matrix: Float64) -> Float64:
    r"""Matrix :math:`e^A - 1`, accurate also where it is tiny: :math:`A\,\varphi_1(A)`."""
    from scipy.linalg import expm  # a quarter of a second, which only "exact" needs to wait for

    n = len(matrix)
    # expm([[A, 1], [0, 0]]) holds phi_1(A) in its upper right block.
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:] = matrix, np.eye(n)
    result: Float64 = matrix @ expm(block)[:n, n:]
    return result
