"""The experiment ``grid-switch``: Figures 2 and 3, tabular Q(lambda) whose goal keeps moving."""

from bennafusi.experiments.grid_switch.claims import claims as claims
from bennafusi.experiments.grid_switch.figures import figures as figures
from bennafusi.experiments.grid_switch.figures import stills as stills
from bennafusi.experiments.grid_switch.job import DEFAULT_VARIANTS as DEFAULT_VARIANTS
from bennafusi.experiments.grid_switch.job import VARIANTS as VARIANTS
from bennafusi.experiments.grid_switch.job import GridSwitch as Job
from bennafusi.experiments.grid_switch.job import calibrate as calibrate
from bennafusi.experiments.grid_switch.job import settings as settings
from bennafusi.experiments.grid_switch.tables import numbers as numbers
from bennafusi.experiments.grid_switch.tables import scores as scores

__all__ = [
    "DEFAULT_VARIANTS",
    "VARIANTS",
    "Job",
    "calibrate",
    "claims",
    "figures",
    "numbers",
    "scores",
    "settings",
    "stills",
]
