"""What the rivals share: checked numbers, averages that move, and a gradient with a pull added."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.typing import ArrayLike

from bennafusi.synapse.numbers import real, whole
from bennafusi.synapse.precision import wide
from bennafusi.synapse.wrapped import wrapped

T = TypeVar("T")
Tree = Any
Number = float | Array


def number(name: str, value: Any, *, most: float = math.inf, below: float = math.inf) -> Number:
    """A number within its bounds; one that is known only when a program runs is trusted.

    Example:
        >>> number("decay", 1.0, below=1.0)
        Traceback (most recent call last):
        ...
        ValueError: decay=1.0: must be at least 0 and below 1.0
    """
    if isinstance(value, Array):
        single(name, value)
    if isinstance(value, jax.core.Tracer):
        return value
    found = float(value) if isinstance(value, Array) else real(name, value)
    if not 0 <= found <= most or not found < below:
        bound = f" and below {below}" if below < math.inf else ""
        bound = f" and at most {most}" if most < math.inf else bound
        raise ValueError(f"{name}={found}: must be at least 0{bound}{_rounded(value)}")
    # An array stays one: optax.inject_hyperparams may have given it, to be changed while training.
    return value if isinstance(value, Array) else found


def above_zero(name: str, value: Any, why: str) -> Number:
    """The same for a number that must not be 0.

    Example:
        >>> above_zero("damping", 0, "it divides")
        Traceback (most recent call last):
        ...
        ValueError: damping=0.0: must be above 0, or it divides
    """
    found = number(name, value)
    if not isinstance(found, jax.core.Tracer) and found == 0:
        raise ValueError(f"{name}={float(found)}: must be above 0, or {why}{_rounded(value)}")
    return found


def average_decay(name: str, value: Any) -> Number:
    """How much of a moving average stays in one step, below 1.

    In half precision 0.999 is 1, and an average that stays as it is would say nothing of it; what
    is known only when a program runs cannot be looked at, so that its type must be wide enough.

    Example:
        >>> average_decay("mean_decay", 1.0)
        Traceback (most recent call last):
        ...
        ValueError: mean_decay=1.0: must be at least 0 and below 1.0
    """
    if isinstance(value, jax.core.Tracer) and value.dtype.itemsize <= 2:
        raise ValueError(
            f"{name}: a {value.dtype} inside jit, where it cannot be looked at, and 0.999 is 1 in "
            f"bfloat16: {_WIDER}"
        )
    return number(name, value, below=1.0)


_WIDER = "optax.inject_hyperparams(..., hyperparam_dtype=jnp.float32)"


def _rounded(value: Any) -> str:
    """Of weights in half precision optax makes numbers of theirs, and 0.999 is 1 in bfloat16."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype.itemsize > 2:
        return ""
    return f"; it is rounded to {dtype}: {_WIDER}"


def single(name: str, value: ArrayLike) -> Array:
    """One number, not several that would spread over the weights.

    Example:
        >>> single("delta", [1.0, 2.0])
        Traceback (most recent call last):
        ...
        ValueError: delta: must be one number, not of shape (2,)
    """
    found = jnp.asarray(value)
    if found.ndim:
        raise ValueError(f"{name}: must be one number, not of shape {found.shape}")
    return found


def positive(name: str, value: Any) -> int:
    """A whole number above 0, known when a program is compiled."""
    found = whole(name, value)
    if found < 1:
        raise ValueError(f"{name}={found}: must be at least 1")
    return found


def zeros(params: Tree) -> Tree:
    """A trace for every parameter, empty."""
    return jax.tree.map(lambda p: jnp.zeros_like(wide(p)), params)


def copied(params: Tree) -> Tree:
    """The parameters in buffers of their own, so that both can be donated."""
    return jax.tree.map(lambda p: jnp.copy(wide(p)), params)


def moved(trace: Tree, target: Tree, decay: Number) -> Tree:
    """The moving average, one step on: ``decay * trace + (1 - decay) * target``."""
    return jax.tree.map(lambda t, x: t + jnp.asarray(1 - decay, t.dtype) * (x - t), trace, target)


def nothing_in(traces: Tree) -> Array:
    """How much of these moving averages, empty so far, is what they are averages of."""
    return jnp.zeros((), widest(traces))


def more_in(share: Array, decay: Number) -> Array:
    """The same one step on: the average of ones, by which an average that began at 0 is divided.

    It stays right where the decay is changed on the way.

    Example:
        >>> float(more_in(more_in(jnp.zeros(()), 0.5), 0.5))
        0.75
    """
    return share + jnp.asarray(1 - decay, share.dtype) * (1 - share)


def by_type(make: Callable[[Any], T], tree: Tree) -> dict[Any, T]:
    """What ``make`` makes of each type that the leaves have: numbers as exact as their arrays.

    Example:
        >>> by_type(lambda dtype: jnp.asarray(0.5, dtype), {"w": jnp.ones(2), "b": jnp.ones(3)})
        {dtype('float32'): Array(0.5, dtype=float32)}
    """
    return {dtype: make(dtype) for dtype in dict.fromkeys(x.dtype for x in jax.tree.leaves(tree))}


def widest(tree: Tree) -> Any:
    """The widest type of the leaves, float32 if there is none: for numbers of all of them.

    Example:
        >>> widest({"w": jnp.ones(2)})
        dtype('float32')
    """
    types = [x.dtype for x in jax.tree.leaves(tree)]
    return max(types, key=lambda dtype: dtype.itemsize, default=jnp.dtype(jnp.float32))


def need(params: Tree | None) -> None:
    """Refuse to go on without the parameters."""
    if params is None:
        raise ValueError(
            "params=None: call update(grads, state, params), it depends on the weights"
        )


def need_key(key: Any) -> Array:
    """A random key in a buffer of its own, or a clear error.

    Example:
        >>> need_key(0)
        Traceback (most recent call last):
        ...
        TypeError: key=0: must be one random key, such as jax.random.key(0)
    """
    array = hasattr(key, "dtype")
    typed = array and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0
    old = array and key.dtype == jnp.uint32 and key.shape in ((2,), (4,))  # of PRNGKey
    if not typed and not old:
        raise TypeError(f"key={key!r}: must be one random key, such as jax.random.key(0)")
    return jnp.copy(key)


def need_floats(params: Tree) -> None:
    """Refuse parameters that cannot move a little, or are no arrays.

    Example:
        >>> need_floats({"w": 1.5})
        Traceback (most recent call last):
        ...
        TypeError: params: 'w' is of type float, and must be an array: jnp.asarray(1.5)
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        if not hasattr(leaf, "dtype"):
            raise TypeError(
                f"params: {name!r} is of type {type(leaf).__name__}, and must be an array: "
                f"jnp.asarray({leaf!r})"
            )
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise TypeError(
                f"params: {name!r} has dtype {leaf.dtype}, and only (real) floating point "
                f"can be learnt; leave it out with optax.masked"
            )


def stepped(params: Tree, updates: Tree) -> Tree:
    """The weights after an update, in float32 or more."""
    return jax.tree.map(lambda p, u: wide(p) + u.astype(wide(p).dtype), params, updates)


def difference(weights: Tree, params: Tree, updates: Tree) -> Tree:
    """The update that leads to these weights, in the types of ``updates``."""
    return jax.tree.map(lambda w, p, u: (w - wide(p)).astype(u.dtype), weights, params, updates)


def tidy(optimizer: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    """One of optax's, with updates in the types of the gradients and a state that can be donated.

    Whole numbers are refused, whose updates would be rounded to 0. Some of optax's states keep an
    array that they were given, which would be lost with the first state.
    """
    base = optax.with_extra_args_support(optimizer)

    def init(params: Tree) -> optax.OptState:
        need_floats(params)
        return jax.tree.map(jnp.copy, base.init(params))

    def update(
        updates: Tree, state: optax.OptState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, optax.OptState]:
        steps, state = base.update(updates, state, params, **extra)
        return jax.tree.map(lambda s, u: s.astype(u.dtype), steps, updates), state

    return optax.GradientTransformationExtraArgs(init, update)


class PulledState(NamedTuple):
    """State of a rival that adds a pull to the gradient.

    Attributes:
        memory: what the pull is made of; each rival has its own.
        optimizer: the wrapped optimiser's own state.
    """

    memory: Any
    optimizer: optax.OptState


def pulled(
    optimizer: optax.GradientTransformation,
    begin: Callable[[Tree], Any],
    pull: Callable[[Any, Tree, Tree], tuple[Tree, Any]],
    learn: Callable[[Any, Tree, Tree], Any] | None = None,
) -> optax.GradientTransformationExtraArgs:
    """An optimiser whose gradient has a pull added to it: that of a penalty, worked out by hand.

    Args:
        optimizer: any optax optimiser; it sees gradient plus pull.
        begin: from parameters to the memory.
        pull: from memory, gradients and parameters to the pull and the next memory.
        learn: from memory, gradients (without the pull) and the optimiser's step to the memory.

    Returns:
        An optax transformation.
    """
    base = wrapped(optimizer)

    def init(params: Tree) -> PulledState:
        need_floats(params)
        return PulledState(begin(params), base.init(params))

    def update(
        updates: Tree, state: PulledState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, PulledState]:
        need(params)
        grads = jax.tree.map(wide, updates)
        towards, memory = pull(state.memory, grads, jax.tree.map(wide, params))
        total = jax.tree.map(lambda g, t, u: (g + t).astype(u.dtype), grads, towards, updates)
        steps, inner = base.update(total, state.optimizer, params, **extra)
        if learn is not None:
            memory = learn(memory, grads, jax.tree.map(wide, steps))
        return steps, PulledState(memory, inner)

    return optax.GradientTransformationExtraArgs(init, update)
