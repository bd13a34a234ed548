"""Where the Dask engine finds its workers: a cluster that is there, one of its own, or Slurm's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, LocalCluster, Security

from bennafusi.runs.engine import EngineError
from bennafusi.runs.slurm import MARGIN, seconds

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Cluster:
    """A scheduler to talk to."""

    address: str  # such as tcp://10.0.0.1:8786
    survives: bool = True  # whether it is there without us
    security: Security = field(default_factory=Security)  # certificates, for tls://

    def client(self, timeout: float) -> Client:
        """Talk to it.

        Raises:
            EngineError: if there is none.
        """
        try:
            return Client(
                self.address, timeout=timeout, security=self.security, set_as_default=False
            )
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            reason = str(error) or type(error).__name__
            raise EngineError(f"no Dask scheduler at {self.address}: {reason}") from error


def certificates(authority: str, certificate: str, key: str) -> Security:
    """The same certificate for whatever part we play; nobody without one is talked to."""
    parts = ("client", "scheduler", "worker")
    ours: dict[str, Any] = {f"tls_{part}_cert": certificate for part in parts}
    ours |= {f"tls_{part}_key": key for part in parts}
    return Security(tls_ca_file=authority, require_encryption=True, **ours)


@contextlib.contextmanager
def loopback(workers: int) -> Iterator[Cluster]:
    """A cluster of this machine that no other one can reach, and no other user of this one.

    Its certificates are made for it and lie nowhere but in memory.

    Args:
        workers: processes, each with one run at a time.
    """
    security = Security.temporary()
    cluster = LocalCluster(
        protocol="tls://",
        security=security,
        n_workers=workers,
        threads_per_worker=1,
        host=LOOPBACK,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": f"{LOOPBACK}:0"},  # its health checks, at any port
        # Runs are children of the workers, and their memory is none of the workers'.
        memory_limit=0,
        preload=["bennafusi.runs.dask_side"],
    )
    with cluster:
        yield Cluster(cluster.scheduler_address, survives=False, security=security)


@contextlib.contextmanager
def slurm(options: Mapping[str, str], workers: int, security: Security) -> Iterator[Cluster]:
    """Workers that are jobs of Slurm; they end with this command.

    Args:
        options: ``partition``, ``walltime`` and so on, as the command line checked them.
        workers: jobs, each with one core and one run at a time.
        security: certificates; without any, whoever reaches the scheduler can use it.
    """
    from dask_jobqueue.slurm import SLURMCluster

    names = {"partition": "queue", "walltime": "walltime", "account": "account"}
    given: dict[str, Any] = {names[key]: value for key, value in options.items() if key in names}
    if security.require_encryption:
        given |= {"security": security, "protocol": "tls://"}
    extra = [f"--{name}={options[name]}" for name in ("qos", "constraint") if name in options]
    lifetime = seconds(options["walltime"]) - MARGIN
    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory=options.get("memory", "2GB"),
        job_extra_directives=extra,
        # A worker that knows its end gives its run time for a checkpoint; another one takes over.
        worker_extra_args=["--lifetime", f"{lifetime}s", "--lifetime-stagger", f"{MARGIN // 2}s"],
        # Runs are children of the workers, and Slurm is the one who limits their memory.
        # Its health checks are at any port: the usual one may be taken.
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        **given,
    )
    with cluster:
        cluster.adapt(minimum_jobs=workers, maximum_jobs=workers)  # replaces those that end
        yield Cluster(cluster.scheduler_address, survives=False, security=security)
