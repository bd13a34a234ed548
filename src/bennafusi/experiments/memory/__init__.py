"""The experiment ``memory``: how long do random patterns stand out, and how does it scale?

Exact curves of :mod:`bennafusi.synapse.memory` beside a simulation of the same chains by the
integrator that the optimisers use.
"""

from bennafusi.experiments.memory.experiment import POPULATIONS as POPULATIONS
from bennafusi.experiments.memory.experiment import MemoryResult as MemoryResult
from bennafusi.experiments.memory.experiment import MemorySettings as MemorySettings
from bennafusi.experiments.memory.experiment import calibrate as calibrate
from bennafusi.experiments.memory.experiment import run as run
from bennafusi.experiments.memory.figures import figures as figures
from bennafusi.experiments.memory.findings import findings as findings
from bennafusi.experiments.memory.findings import numbers as numbers
from bennafusi.experiments.memory.findings import save as save
from bennafusi.experiments.memory.load import load as load
