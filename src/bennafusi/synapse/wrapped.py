"""What stands around an optimiser begins by asking whether it is one."""

from __future__ import annotations

import optax


def wrapped(optimizer: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    """The optimiser, with room for extra arguments; refused in words if it is none of optax's.

    Example:
        >>> wrapped(optax.adam)
        Traceback (most recent call last):
        ...
        TypeError: optimizer=<function adam at ...>: must be an optax optimiser that is made, ...
    """
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        raise TypeError(
            f"optimizer={optimizer!r}: must be an optax optimiser that is made, such as "
            f"optax.adam(1e-3); around PyTorch's, bennafusi.torch.Consolidated"
        )
    return optax.with_extra_args_support(optimizer)
