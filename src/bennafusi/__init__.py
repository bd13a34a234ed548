"""Benna-Fusi synapses for any optimiser: memories that fade by a power law, not an exponential."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bennafusi.synapse.chain import Chain as Chain
    from bennafusi.synapse.flow import add_flow as add_flow
    from bennafusi.synapse.initial import linear_variance as linear_variance
    from bennafusi.synapse.reach import reach as reach
    from bennafusi.synapse.readout import beakers as beakers
    from bennafusi.synapse.readout import readout as readout
    from bennafusi.synapse.readout import recall as recall
    from bennafusi.synapse.simulate import simulate as simulate
    from bennafusi.synapse.transform import consolidate as consolidate

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first asked for, because a run's process
# must have its signal handlers before JAX starts, and help should not wait for JAX.
_HOMES = {
    "Chain": "chain",
    "add_flow": "flow",
    "beakers": "readout",
    "consolidate": "transform",
    "linear_variance": "initial",
    "reach": "reach",
    "readout": "readout",
    "recall": "readout",
    "simulate": "simulate",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'bennafusi' has no attribute {name!r}")
    value = getattr(import_module(f"bennafusi.synapse.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
