"""Every rival with settings under which it learns, and what the tests of all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import optax

from bennafusi import Chain, rivals
from tests.promotion import lenient

KEY = jax.random.key(7)
LAYERS = (rivals.Units("w1", "w2", "b1", "b2"),)


@dataclass(frozen=True)
class Case:
    """A rival: how to build it around an optimiser, and what its update demands.

    Attributes:
        build: from an optimiser and its settings to the rival.
        settings: numbers that may be injected.
        fixed: the rest of its arguments.
        demands: from gradients and activations to the extra arguments.
        ours: whether it is written here, and so keeps to strict types.
    """

    build: Callable[..., Any]
    settings: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)
    demands: Callable[[Any, Any], dict[str, Any]] = lambda grads, h: {}
    ours: bool = True

    def around(self, optimizer):
        made = self.build(optimizer, **self.settings, **self.fixed)
        return made if self.ours else lenient(made)


def _ademamix(optimizer, alpha, b3):
    del optimizer  # it is one itself
    return rivals.ademamix(0.03, alpha=alpha, b3=b3)


def _obgd(optimizer, learning_rate, kappa, trace_decay):
    del optimizer
    return rivals.obgd(learning_rate=learning_rate, kappa=kappa, trace_decay=trace_decay)


CASES = {
    "weight_decay": Case(rivals.weight_decay, {"decay": 1e-5}, ours=False),
    "shrink_and_perturb": Case(
        rivals.shrink_and_perturb, {"decay": 1e-5, "noise": 1e-5}, {"key": KEY}
    ),
    "shrink_and_perturb, every 4": Case(
        rivals.shrink_and_perturb,
        {"decay": 1e-5, "noise": 1e-5},
        {"key": KEY, "every": 4},
    ),
    "ema": Case(rivals.ema, {"step_size": 0.1}, ours=False),
    "hare_and_tortoise": Case(
        rivals.hare_and_tortoise, {"step_size": 0.1}, {"period": 20}, ours=False
    ),
    "lookahead": Case(rivals.lookahead, {"step_size": 0.5}, {"period": 5}, ours=False),
    "schedule_free": Case(rivals.schedule_free, {"b1": 0.9}, ours=False),
    "ademamix": Case(_ademamix, {"alpha": 2.0, "b3": 0.9}, ours=False),
    "annealed": Case(rivals.annealed, {}, {"chain": Chain(8, 1e-3)}, ours=False),
    "slow_weights": Case(rivals.slow_weights, {}, {"g12": 0.01}),
    "l2_init": Case(rivals.l2_init, {"strength": 1e-3}),
    "online_ewc": Case(
        rivals.online_ewc,
        {"strength": 0.01, "mean_decay": 0.99, "importance_decay": 0.99},
    ),
    "mas": Case(
        rivals.mas,
        {"strength": 0.01, "mean_decay": 0.99, "importance_decay": 0.99},
        demands=lambda grads, h: {"output_grads": grads},
    ),
    "synaptic_intelligence": Case(
        rivals.synaptic_intelligence,
        {"strength": 0.01, "mean_decay": 0.99, "importance_decay": 0.99, "damping": 1e-3},
    ),
    "synaptic_intelligence_with_boundaries": Case(
        rivals.synaptic_intelligence_with_boundaries,
        {"strength": 0.1, "damping": 0.1},
        demands=lambda grads, h: {"boundary": jnp.bool_(False)},
    ),
    "upgd": Case(
        rivals.upgd,
        {"noise": 1e-5, "decay": 1e-5, "utility_decay": 0.99, "scale": 2.0},
        {"key": KEY},
    ),
    "upgd, every 4": Case(rivals.upgd, {"noise": 1e-5}, {"key": KEY, "every": 4}),
    "continual_backprop": Case(
        rivals.continual_backprop,
        {"replacement_rate": 1e-3, "utility_decay": 0.99},
        {"layers": LAYERS, "key": KEY, "maturity": 5},
        demands=lambda grads, h: {"activations": [h]},
    ),
    "redo": Case(
        rivals.redo,
        {"threshold": 0.0},
        {"layers": LAYERS, "key": KEY, "period": 7},
        demands=lambda grads, h: {"activations": [h]},
    ),
    "obgd": Case(
        _obgd,
        {"learning_rate": 0.05, "kappa": 2.0, "trace_decay": 0.0},
        # To the loss' gradient it is descent if the error is -1.
        demands=lambda grads, h: {"delta": jnp.float32(-1), "reset": jnp.bool_(False)},
    ),
}
BASES = {
    "sgd": lambda: lenient(optax.sgd(0.1)),
    "adam": lambda: lenient(optax.adam(0.03)),
}


def network(key=None, dtype=jnp.float32):
    """A network of 3 inputs, 4 hidden units and 2 outputs."""
    one, two = jax.random.split(jax.random.key(0) if key is None else key)
    return {
        "w1": jax.random.normal(one, (3, 4), dtype),
        "b1": jnp.ones(4, dtype),
        "w2": jax.random.normal(two, (4, 2), dtype) * 0.5,
        "b2": jnp.zeros(2, dtype),
    }


def hidden(params, x):
    bias = jnp.broadcast_to(params["b1"], (*x.shape[:-1], params["b1"].size))
    return jax.nn.relu(x @ params["w1"] + bias)


def parabola(params, target):
    """Half the squared distance to a target."""
    gaps = jax.tree.map(lambda p, t: jnp.sum((p - t) ** 2), params, target)
    return 0.5 * sum(jax.tree.leaves(gaps))


INPUTS = jax.random.normal(jax.random.key(3), (16, 3))


def stepper(case, transform, loss):
    """One update, with whatever the rival demands."""

    def step(params, state, **more):
        grads = jax.grad(loss)(params)
        h = hidden(params, INPUTS.astype(params["w1"].dtype))
        updates, state = transform.update(grads, state, params, **case.demands(grads, h), **more)
        return optax.apply_updates(params, updates), state

    return step
