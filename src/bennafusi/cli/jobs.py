"""From what a run's folder says to its job."""

from __future__ import annotations

from typing import Any

from bennafusi.experiments import registry
from bennafusi.runs.config import from_json
from bennafusi.runs.job import RunSpec


def base_settings(spec: RunSpec) -> Any:
    """The settings that a run shares with its experiment's other variants."""
    return from_json(type(registry.find(spec.experiment).settings("paper")), spec.settings)


def make_job(spec: RunSpec) -> Any:
    """The job of one run; JAX is imported here and not before."""
    experiment = registry.find(spec.experiment)
    return experiment.job_of(spec.variant, spec.seed, base_settings(spec))
