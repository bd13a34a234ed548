"""Settings that every test and doctest runs under; they must be in place before JAX starts."""

import gc
import hashlib
import os
import platform
import re
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.compiling import FLAGS

gc.disable()  # until all is imported: what a module makes stays

os.environ.setdefault("NPROC", "1")  # the number of visible cores changes XLA's bits
os.environ.setdefault("OMP_NUM_THREADS", "1")  # PyTorch's threads wait for each other busily
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

CPU = Path("/proc/cpuinfo")


def _compiled_programs() -> Path:
    """Where compiled programs are kept: for this user and processor, whatever the checkout.

    Most of what the tests do is compiling; what one worker, or one process of a command, or the
    last run of the tests has compiled, the others need not.
    """
    try:
        processor = re.findall(r"(?m)^(?:flags|Features|model name)\s*:.*$", CPU.read_text())[:2]
    except OSError:
        processor = [platform.platform(), platform.processor()]
    kind = hashlib.sha256("".join(processor).encode()).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "bennafusi" / f"compiled-{kind}"


os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_compiled_programs()))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Under nohup our children would inherit that SIGHUP is ignored, behind a shell's & also SIGINT, and
# wait for it for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "house",
    deadline=None,  # the first example compiles
    derandomize=True,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("house")


def pytest_configure(config):
    """Compile without most optimisations, which takes a third of the time or less.

    What the tests run is small, and none of them compares its bits with those of a worker, which
    settles for itself how it compiles. XLA reads its flags once, when it starts; they are taken
    away again after that, because a run tells its user about each flag that it finds.
    """
    if config.getoption("numprocesses", None):
        return  # this process only hands out the tests, and needs no JAX

    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", " ".join([os.environ.get("XLA_FLAGS", ""), *FLAGS]))
        jax.devices()


# Files that take longest: the last one to begin is waited for by all other workers.
LONG = (
    *("test_examples", "test_cli", "test_common", "test_deep", "test_processes", "test_gymnax"),
    *("test_dask", "test_browser", "test_resume_law", "test_transform", "test_tabular"),
)


def pytest_collection_modifyitems(items):
    """Long files first, and as they were otherwise."""
    items.sort(key=lambda item: not item.path.stem.startswith(LONG))


def pytest_collection_finish():
    """Look for garbage rarely, and not among what was imported.

    Tracing makes millions of small objects that are all in use, and to look through them again and
    again takes a tenth of the time of a test.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


@pytest.fixture(autouse=True)
def _examples_run_as_users_run_them(request):
    """Doctests show optax's own optimisers, which rely on JAX's standard promotion."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    import jax

    with jax.numpy_dtype_promotion("standard"):
        yield
