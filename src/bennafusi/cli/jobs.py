"""From what a run's folder says to its job."""

from __future__ import annotations

from typing import Any

from bennafusi.experiments import registry
from bennafusi.runs.job import RunSpec


def make_job(spec: RunSpec) -> Any:
    """The job of one run; JAX is imported here and not before."""
    from bennafusi.runs.config import from_json

    experiment = registry.find(spec.experiment)
    base = from_json(type(experiment.settings("paper")), spec.settings)
    return experiment.job_of(spec.variant, spec.seed, base)
