"""Benna-Fusi synapses for any optimiser: memories that fade by a power law, not an exponential."""

import bennafusi.envs.gym  # noqa: F401 - registers bennafusi/Grid-v0 with Gymnasium
from bennafusi.synapse.chain import Chain as Chain
from bennafusi.synapse.initial import linear_variance as linear_variance
from bennafusi.synapse.scheme import Scheme as Scheme
from bennafusi.synapse.simulate import simulate as simulate
from bennafusi.synapse.transform import add_flow as add_flow
from bennafusi.synapse.transform import beakers as beakers
from bennafusi.synapse.transform import consolidate as consolidate
from bennafusi.synapse.transform import readout as readout

__version__ = "0.1.0"
