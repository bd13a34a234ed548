"""What XLA is asked for, beyond its defaults, when the loops of a run are compiled for a CPU."""

from __future__ import annotations

import jax
import jax.numpy as jnp

Options = dict[str, bool | int | float | str]

# Vectors of 512 bits where the processor has them (AVX-512), of which XLA takes half by default. An
# update, of which Adam's roots and divisions are most, takes two thirds of the time. On other
# processors this changes nothing, not a bit.
WIDE: Options = {"xla_cpu_prefer_vector_width": 512}
# Where there are filters, products with a large layer and sums over a batch take less without the
# library that XLA calls by itself (YNNPACK). Other networks keep it, and with it their bits.
WITHOUT_YNNPACK: Options = {"xla_cpu_experimental_ynn_fusion_type": ""}
# For what runs once: LLVM compiles draws in about half the time at its first level. The bits are
# the same, as a test holds; at level 0, without fused multiply-adds, they are not.
IN_HASTE: Options = {"xla_backend_optimization_level": 1}


def known(options: Options) -> Options:
    """Those of the options that this XLA knows: they come and go with its version.

    Asks XLA, which must not start before a run's process has its signal handlers.

    Example:
        >>> known({"xla_backend_optimization_level": 1, "xla_no_such_option": 1})
        {'xla_backend_optimization_level': 1}
    """
    return {name: value for name, value in options.items() if _accepted({name: value})}


def _accepted(options: Options) -> bool:
    try:
        jax.jit(jnp.negative, compiler_options=options).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
