"""A rival in place of a chain: another way to remember around an agent's optimiser, as settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax
import optax
from jax import Array

from bennafusi.rivals.catalogue import METHODS, Given
from bennafusi.synapse.numbers import check_choices, check_positive

# Those that act on the weights with which an agent plays, and need to be told nothing.
MethodName = Literal[
    "none",
    "annealed",
    "slow-weights",
    "weight-decay",
    "shrink-and-perturb",
    "l2-init",
    "online-ewc",
    "synaptic-intelligence",
    "upgd",
    "hare-and-tortoise",
    "lookahead",
]


@dataclass(frozen=True)
class Rival:
    """What stands around Adam, inside the chains if there are any.

    Args:
        name: of :data:`bennafusi.rivals.catalogue.METHODS`, or ``"none"``.
        strength: in multiples of the usual one that stands there.

    Example:
        >>> Rival("l2-init", strength=10.0).number
        0.01
        >>> Rival("ewc")
        Traceback (most recent call last):
        ...
        ValueError: name='ewc': unknown; choose 'none' or 'annealed' or ...
    """

    name: MethodName = "none"
    strength: float = 1.0

    def __post_init__(self) -> None:
        check_choices(self, {"name": MethodName})
        check_positive(self, "strength")
        try:
            self.around(optax.identity())  # refuses what the method does
        except ValueError as error:
            raise ValueError(
                f"strength={self.strength:g} with name={self.name!r}: {error}"
            ) from None

    @property
    def number(self) -> float:
        """The strength itself, in the method's own unit."""
        usual = 1.0 if self.name == "none" else METHODS[self.name].strength
        return float(f"{usual * self.strength:.9g}")

    def around(
        self, optimizer: optax.GradientTransformationExtraArgs, key: Array | None = None
    ) -> optax.GradientTransformationExtraArgs:
        """This method around an optimiser; the optimiser itself if there is none.

        Args:
            optimizer: what makes the updates.
            key: of what is drawn; it becomes part of the state, so that only ``init`` needs it.
        """
        if self.name == "none":
            return optimizer
        given = Given(optimizer, jax.random.key(0) if key is None else key)
        return optax.with_extra_args_support(METHODS[self.name].around(given, self.number))
