"""Settings that every test and doctest runs under; they must be in place before JAX starts."""

import os
import signal
import threading
from pathlib import Path

os.environ.setdefault("NPROC", "1")  # the number of visible cores changes XLA's bits
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# What one worker, or one process of a command, has compiled the others need not: half the time.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / ".pytest_cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

import pytest
from hypothesis import HealthCheck, settings

# Under nohup our children would inherit that SIGHUP is ignored, and wait for it for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile(
    "house",
    deadline=None,  # the first example compiles
    derandomize=True,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _examples_run_as_users_run_them(request):
    """Doctests show optax's own optimisers, which rely on JAX's standard promotion."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    import jax

    with jax.numpy_dtype_promotion("standard"):
        yield
