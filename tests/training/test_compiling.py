"""Options of XLA: the one that we are tested with must know them, or speed is lost unnoticed."""

import jax
import numpy as np
import pytest

from bennafusi.training import deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.compiling import IN_HASTE, WIDE, WITHOUT_YNNPACK, known
from bennafusi.training.deep_settings import ONLINE, DeepSettings

SMALL = changed(DeepSettings(), {**ONLINE, "network.hidden": (4, 4), "episodes": 10})


@pytest.mark.parametrize("options", [WIDE, WITHOUT_YNNPACK, IN_HASTE])
def test_this_xla_knows_them(options):
    assert known(options) == options


def test_what_it_does_not_know_is_left_out_and_the_rest_stays():
    assert known({"xla_no_such_option": 1, **WIDE}) == WIDE


def test_inside_a_program_of_the_callers_a_chunk_is_compiled_with_it():
    """Where JAX takes no options; the same steps, and numbers that differ by rounding at most."""
    state = deep_loop.start(SMALL, 3)
    alone, tests = deep_loop.advance(SMALL, state, 50, 10)
    within, same = jax.jit(lambda s: deep_loop.advance(SMALL, s, 50, 10))(state)
    assert int(alone.steps) == int(within.steps) == 50
    np.testing.assert_array_equal(tests.ended, same.ended)
    for one, other in zip(alone.agent.params.weights, within.agent.params.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
