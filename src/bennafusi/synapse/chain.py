"""The Benna-Fusi chain: its sizes, its timescales, and the paper's equations, stated once."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bennafusi.synapse.numbers import readonly, real, whole

Float64 = NDArray[np.float64]

# In units of a weight. A layer of 100 inputs starts with a spread of 0.1, so that this is half of
# it; the paper's online agent, the tightest chain that is known to learn, has a reach of 0.1.
LEAST_REACH = 0.05


@dataclass(frozen=True, repr=False)
class Chain:
    r"""A chain of ``n`` beakers, joined by tubes, of which the first holds the weight.

    Beaker :math:`k = 1 \dots n` has base area :math:`C_k = q^{k-1}`, and the tube below it has
    width :math:`g_{k,k+1} = g_{1,2}\, q^{-(k-1)}` (``growth`` :math:`q`, 2 in the paper). Liquid
    levels obey

    .. math::
        C_k \frac{du_k}{dt} = g_{k-1,k}(u_{k-1} - u_k) + \mathrm{gate}_k\, g_{k,k+1}(u_{k+1} - u_k),

    where :math:`u_{n+1} = 0` is the leak and learning adds its steps to :math:`u_1`, the weight.
    Time is counted in updates of the weight; the flow is *not* multiplied by a learning rate.

    Args:
        n: number of beakers; 1 without a leak is an ordinary parameter.
        g12: width of the first tube, :math:`1/g_{1,2}` being the shortest timescale, in updates.
        growth: how much wider each beaker is than the one before it.
        leak: whether the last beaker leaks.
        gated: whether the flow from :math:`u_{k+1}` back into :math:`u_k` stays shut for the first
            :math:`q^k / g_{1,2}` updates, so that a deep beaker acts on the weight only once it has
            had time to learn something. The flow into deeper beakers is never shut.

    Example:
        >>> chain = Chain(n=4, g12=0.125)
        >>> chain
        Chain(n=4, g12=0.125, growth=2.0, leak=True, gated=True)  # timescales 8 to 512 updates
        >>> chain.areas
        array([1., 2., 4., 8.])
        >>> chain.tubes
        array([0.125   , 0.0625  , 0.03125 , 0.015625])

    References:
        Benna and Fusi, *Computational principles of synaptic memory consolidation*, 2016.
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 2.1.
    """

    n: int
    g12: float
    growth: float = 2.0
    leak: bool = True
    gated: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole("n", self.n))
        object.__setattr__(self, "g12", real("g12", self.g12))
        object.__setattr__(self, "growth", real("growth", self.growth))
        for name in ("leak", "gated"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}={getattr(self, name)!r}: must be True or False")
        if self.n < 1:
            raise ValueError(f"n={self.n}: a chain needs at least one beaker, n >= 1")
        if not self.g12 > 0:
            raise ValueError(f"g12={self.g12}: the first tube needs a width, g12 > 0")
        if not self.growth >= 1:
            raise ValueError(f"growth={self.growth}: beakers must not shrink, growth >= 1")
        deepest = 2 * self.n * math.log2(self.growth) - math.log2(self.g12)
        if deepest > 1000:  # float64 ends at 2^1024
            raise ValueError(
                f"n={self.n}, growth={self.growth}, g12={self.g12}: the slowest timescale, "
                f"2^{deepest:.0f} updates, is beyond float64; use fewer beakers or less growth"
            )

    @classmethod
    def covering(
        cls,
        shortest: float,
        longest: float,
        *,
        growth: float = 2.0,
        leak: bool = True,
        gated: bool = True,
        learning_rate: float = 1e-3,
    ) -> Chain:
        """The smallest chain whose timescales reach from ``shortest`` to ``longest`` updates.

        Warns where ``shortest`` is so small that a network could not leave its random start: where
        the reach, ``learning_rate * shortest``, is a fraction of what its weights start with. See
        :func:`bennafusi.reach`.

        Args:
            shortest: where the chain begins to pull, in updates.
            longest: what it remembers, in updates; beyond the end of training is right.
            growth: how much wider each beaker is than the one before it.
            leak: whether the last beaker leaks.
            gated: whether deep beakers act only once they had time to fill.
            learning_rate: of the optimiser, for the warning alone; the default is usual for Adam.
                For SGD, its rate times the size of a typical gradient.

        Example:
            Memories of three hundred updates up to a million, with seven beakers:

            >>> Chain.covering(300, 1_000_000).n
            7
        """
        shortest, longest = real("shortest", shortest), real("longest", longest)
        if not 0 < shortest <= longest:
            raise ValueError(
                f"shortest={shortest}, longest={longest}: need 0 < shortest <= longest, in updates"
            )
        if not real("growth", growth) > 1:
            raise ValueError(f"growth={growth}: covering a range needs growth > 1")
        rate = real("learning_rate", learning_rate)
        if not rate > 0:
            raise ValueError(f"learning_rate={rate:g}: must be above 0")
        if (far := shortest * rate) < LEAST_REACH:
            enough = math.ceil(LEAST_REACH / rate - 1e-9)
            warnings.warn(
                f"shortest={shortest:g} with learning_rate={rate:g}: a weight gets no farther than "
                f"{far:g} from the beaker below it (bennafusi.reach), so that a network is held at "
                f"its random start; choose shortest >= {enough:,}, or say your learning_rate if it "
                "is larger",
                stacklevel=2,
            )
        decades = math.log(longest / shortest) / (2 * math.log(growth))
        # The small allowance keeps a range of exactly 4^m from costing one beaker too many.
        n = 1 + math.ceil(decades - 1e-9)
        return cls(n, 1 / shortest, growth=growth, leak=leak, gated=gated)

    @cached_property
    def areas(self) -> Float64:
        """Base areas :math:`C_k`."""
        return readonly(self.growth ** np.arange(self.n, dtype=np.float64))

    @cached_property
    def tubes(self) -> Float64:
        """Tube widths :math:`g_{k,k+1}`; the last one is the leak, 0 if there is none."""
        tubes = self.g12 / self.areas
        if not self.leak:
            tubes[-1] = 0.0
        return readonly(tubes)

    @cached_property
    def timescales(self) -> Float64:
        r"""How many updates beaker :math:`k` remembers, :math:`q^{2(k-1)} / g_{1,2}`."""
        return readonly(self.areas**2 / self.g12)

    @cached_property
    def gate_opens(self) -> Float64:
        """Updates after which :math:`u_{k+1}` flows back into :math:`u_k`; 0 without gates."""
        opens = self.growth * self.areas / self.g12 if self.gated else np.zeros(self.n)
        return readonly(opens)

    @property
    def flows(self) -> bool:
        """Whether any liquid can move at all: not so for one beaker without a leak."""
        return self.n > 1 or self.leak

    @property
    def largest_step(self) -> float:
        """The largest ``dt`` at which an explicit step takes no level past its neighbours' levels.

        Every level must stay a weighted mean of its own and its neighbours' old levels. For the
        paper's growth of 2 the first beaker sets the limit, ``dt * g12 <= 1``. Near it a weight
        still goes forth and back from step to step, and less each time.
        """
        return 1.0 / (self.g12 * max(1.0, 1 / self.growth + 1 / self.growth**2))

    def reached(self, updates: int) -> list[int]:
        """The depths that have had time to learn something: 1, the weight, and those below it.

        A deeper beaker's timescale is longer than the training so far, so that it still holds most
        of its start; there is no use in reading it out.

        Args:
            updates: of the weight, so far.

        Example:
            >>> chain = Chain(n=30, g12=0.01)  # timescales 100, 400, 1600, ... updates
            >>> chain.reached(0), chain.reached(1600)
            ([1], [1, 2, 3])
        """
        whole("updates", updates)
        return [k for k in range(1, self.n + 1) if k == 1 or self.timescales[k - 1] <= updates]

    def __repr__(self) -> str:
        shortest, longest = (f"{t:.3g}" for t in self.timescales[[0, -1]])
        return (
            f"Chain(n={self.n}, g12={self.g12!r}, growth={self.growth!r}, leak={self.leak}, "
            f"gated={self.gated})  # timescales {shortest} to {longest} updates"
        )
