"""Ways to remember by name, each a line around one optimiser with one strength: to compare them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import optax
from jax import Array

from bennafusi.rivals.ademamix import ademamix
from bennafusi.rivals.annealed import annealed
from bennafusi.rivals.averages import ema, hare_and_tortoise, lookahead, schedule_free
from bennafusi.rivals.continual_backprop import continual_backprop
from bennafusi.rivals.decay import shrink_and_perturb, weight_decay
from bennafusi.rivals.ewc import online_ewc
from bennafusi.rivals.l2_init import l2_init
from bennafusi.rivals.mas import mas
from bennafusi.rivals.redo import redo
from bennafusi.rivals.skeleton import Number
from bennafusi.rivals.slow_weights import slow_weights
from bennafusi.rivals.synaptic_intelligence import (
    synaptic_intelligence,
    synaptic_intelligence_with_boundaries,
)
from bennafusi.rivals.units import Units
from bennafusi.rivals.upgd import upgd
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.readout import readout
from bennafusi.synapse.transform import consolidate

Tree = Any
BEAKERS = 8


class Given(NamedTuple):
    """What a method is made of.

    Attributes:
        optimizer: what it stands around.
        key: random key.
        rate: the optimiser's learning rate, for what replaces it.
        layers: of hidden units, for what replaces some of them.
    """

    optimizer: optax.GradientTransformation
    key: Array
    rate: Number = 1e-3
    layers: Sequence[Units] = ()


def _weights(state: Any, params: Tree) -> Tree:
    del state
    return params


class Method(NamedTuple):
    """A way to remember with one number to tune.

    Attributes:
        strength: where to begin; a grid has values a factor of ten apart around it.
        meaning: what the strength is.
        around: from what is given and a strength to an optax transformation.
        needs: extra arguments of ``update`` without which it does not work.
        read: from state and parameters to the weights to evaluate with.
        fixed: whether the strength must be known before compiling; else it may be traced.
    """

    strength: float
    meaning: str
    around: Callable[[Given, Any], optax.GradientTransformation]
    needs: tuple[str, ...] = ()
    read: Callable[[Any, Tree], Tree] = _weights
    fixed: bool = False


def _chain(given: Given, strength: float) -> optax.GradientTransformation:
    return consolidate(given.optimizer, Chain(BEAKERS, strength, gated=False))


def _shrink(given: Given, strength: float) -> optax.GradientTransformation:
    return shrink_and_perturb(given.optimizer, decay=strength, noise=strength, key=given.key)


def _upgd(given: Given, strength: float) -> optax.GradientTransformation:
    return upgd(given.optimizer, noise=strength, key=given.key, scale=2.0)


def _period(strength: float) -> int:
    if not strength > 0:
        raise ValueError(f"strength={strength}: must be above 0, it is 1/period")
    return round(1 / strength)


def _hare(given: Given, strength: float) -> optax.GradientTransformation:
    return hare_and_tortoise(given.optimizer, step_size=strength, period=_period(strength))


METHODS: dict[str, Method] = {
    "control": Method(1.0, "nothing", lambda given, s: given.optimizer),
    "benna-fusi": Method(1e-3, "g12", _chain, fixed=True),
    "benna-fusi-depth-2": Method(
        1e-2, "g12", _chain, read=lambda state, params: readout(state, 2), fixed=True
    ),
    "slow-weights": Method(
        1e-3, "g12", lambda given, s: slow_weights(given.optimizer, g12=s), fixed=True
    ),
    "annealed": Method(
        1e-2,
        "g12 of the chain",
        lambda given, s: annealed(given.optimizer, Chain(BEAKERS, s)),
        fixed=True,
    ),
    "ema": Method(
        1e-2,
        "step_size",
        lambda given, s: ema(given.optimizer, step_size=s),
        read=lambda state, params: state.average,
    ),
    "hare-and-tortoise": Method(
        1e-2, "step_size, 1/period", _hare, read=lambda state, params: state.slow, fixed=True
    ),
    "lookahead": Method(
        1e-2,
        "1/period",
        lambda given, s: lookahead(given.optimizer, period=_period(s)),
        read=lambda state, params: state.slow,
        fixed=True,
    ),
    "schedule-free": Method(
        5e-2,
        "1 - b1",
        lambda given, s: schedule_free(given.optimizer, b1=1 - s),
        read=optax.contrib.schedule_free_eval_params,
    ),
    "ademamix": Method(5.0, "alpha", lambda given, s: ademamix(given.rate, alpha=s, b3=0.999)),
    "weight-decay": Method(
        1e-4, "decay per update", lambda given, s: weight_decay(given.optimizer, decay=s)
    ),
    "shrink-and-perturb": Method(1e-4, "decay and noise per update", _shrink),
    "l2-init": Method(1e-3, "strength", lambda given, s: l2_init(given.optimizer, strength=s)),
    "online-ewc": Method(
        10.0, "strength", lambda given, s: online_ewc(given.optimizer, strength=s)
    ),
    "mas": Method(
        1e-1, "strength", lambda given, s: mas(given.optimizer, strength=s), ("output_grads",)
    ),
    "synaptic-intelligence": Method(
        1.0, "strength", lambda given, s: synaptic_intelligence(given.optimizer, strength=s)
    ),
    "synaptic-intelligence-told-boundaries": Method(
        1e-1,
        "strength",
        lambda given, s: synaptic_intelligence_with_boundaries(given.optimizer, strength=s),
        ("boundary",),
    ),
    "upgd": Method(1e-4, "noise per update", _upgd),
    "continual-backprop": Method(
        1e-4,
        "replacement_rate",
        lambda given, s: continual_backprop(
            given.optimizer, given.layers, key=given.key, replacement_rate=s
        ),
        ("activations",),
    ),
    "redo": Method(
        3e-2,
        "threshold",
        lambda given, s: redo(
            given.optimizer, given.layers, key=given.key, threshold=s, period=100
        ),
        ("activations",),
    ),
}
