"""The same bits, or a word about it."""

import json
import os
import subprocess
import sys

import pytest

from bennafusi.files import RunError
from bennafusi.runs import environment
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, new_run
from tests.runs.toy import ToyJob

HOSTILE = {
    "JAX_RANDOM_SEED_OFFSET": "7",
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_ENABLE_X64": "1",
    "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=true --xla_dump_hlo_as_text=false",
}


def test_what_would_change_bits_is_not_inherited_and_said():
    environ = {**HOSTILE, "HOME": "x", "JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": "y"}
    told = environment.settle(environ)
    assert len(told) == 7
    assert told[-1].startswith("XLA_FLAGS=--xla_cpu_enable_fast_math=true is not used")
    assert environ == {
        **environment.NEEDED,
        "HOME": "x",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": "y",
        "XLA_FLAGS": "--xla_dump_hlo_as_text=false",
    }
    assert environment.settle(environ) == []
    assert (
        environment.settle({"JAX_ENABLE_X64": "false", "JAX_THREEFRY_PARTITIONABLE": "True"}) == []
    )


def test_without_a_flag_to_keep_there_are_none():
    environ = {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}
    assert len(environment.settle(environ)) == 1
    assert "XLA_FLAGS" not in environ


def test_what_is_needed_is_what_jax_does_by_itself():
    """Setting it must not change what runs were before it was set."""
    import jax

    names = list(environment._CONFIG)
    assert {name: getattr(jax.config, name) for name in names} == environment._CONFIG
    program = f"import jax; print([getattr(jax.config, name) for name in {names}])"
    command = [sys.executable, "-c", program]
    environ = {**os.environ, **environment.NEEDED}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"{list(environment._CONFIG.values())}\n"


def test_a_process_whose_jax_is_set_otherwise_is_refused(tmp_path):
    import jax

    folder = new_run(tmp_path)
    with jax.enable_x64(True):
        assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert read_status(folder).reason.startswith("jax_enable_x64 is True in this process")
    environment.check()
    with jax.threefry_partitionable(False), pytest.raises(RunError, match="partitionable"):
        environment.check()


def test_another_instruction_set_or_flag_is_a_warning_that_stays(tmp_path, monkeypatch):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, EAGER, After(3)) == 75
    monkeypatch.setattr(environment, "_features", lambda: "avx512f")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
    assert work(folder.path, ToyJob, EAGER, After(3)) == 75
    monkeypatch.undo()
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    warnings = read_status(folder).warnings
    assert len(warnings) == 4
    assert "is now 'avx512f'" in warnings[1]
    assert "XLA_FLAGS was None and is now '--xla_cpu_max_isa=AVX2'" in warnings[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("processor : 0\nflags\t\t: fpu sse2 avx2 fma lm avx512f\n", "avx2 avx512f fma sse2"),
        ("Features\t: fp asimd sve2 crc32\n", "asimd sve2"),
        ("", None),
    ],
)
def test_the_vector_instructions_are_read_from_the_kernel(tmp_path, text, found):
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    assert environment._features(path) == found
    assert environment._features(tmp_path / "not there") is None


def test_a_command_says_what_it_does_not_use():
    command = [sys.executable, "-m", "bennafusi.cli", "list", "--json"]
    done = subprocess.run(
        command, env={**os.environ, **HOSTILE}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)
    assert done.stderr.count("is not used: it could change the bits of a run") == 7
