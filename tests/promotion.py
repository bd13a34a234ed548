"""The suite forbids mixed types and ranks; optax mixes them, and is allowed to."""

import contextlib

import jax
import optax


@contextlib.contextmanager
def standard_promotion():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def lenient(optimizer):
    """optax mixes types and ranks, which this suite forbids: allowed to it, and not to us."""
    optimizer = optax.with_extra_args_support(optimizer)

    def init(params):
        with standard_promotion():
            return optimizer.init(params)

    def update(*args, **extra):
        with standard_promotion():
            return optimizer.update(*args, **extra)

    return optax.GradientTransformationExtraArgs(init, update)
