"""How programs are compiled that only tests run: with speed, since most of them run once."""

# XLA's older emitter of loops compiles twice as fast as its newer one, and a program in one part
# costs less than one split for many cores.
FLAGS = ("--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1")
# For a test of bits that this emitter does not promise.
AS_RUNS_DO = {"xla_cpu_use_fusion_emitters": True}


def on_devices(number: int) -> dict[str, str]:
    """Settings for a process of its own that sees several devices."""
    return {
        "XLA_FLAGS": " ".join([*FLAGS, f"--xla_force_host_platform_device_count={number}"]),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
