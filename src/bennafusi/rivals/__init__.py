"""Other ways to remember and to stay able to learn: each one line around any optax optimiser."""

from bennafusi.rivals.ademamix import ademamix as ademamix
from bennafusi.rivals.annealed import annealed as annealed
from bennafusi.rivals.annealed import kernel_schedule as kernel_schedule
from bennafusi.rivals.averages import ema as ema
from bennafusi.rivals.averages import hare_and_tortoise as hare_and_tortoise
from bennafusi.rivals.averages import lookahead as lookahead
from bennafusi.rivals.averages import schedule_free as schedule_free
from bennafusi.rivals.continual_backprop import continual_backprop as continual_backprop
from bennafusi.rivals.decay import shrink_and_perturb as shrink_and_perturb
from bennafusi.rivals.decay import weight_decay as weight_decay
from bennafusi.rivals.ewc import online_ewc as online_ewc
from bennafusi.rivals.l2_init import l2_init as l2_init
from bennafusi.rivals.mas import mas as mas
from bennafusi.rivals.obgd import obgd as obgd
from bennafusi.rivals.redo import redo as redo
from bennafusi.rivals.slow_weights import slow_weights as slow_weights
from bennafusi.rivals.synaptic_intelligence import synaptic_intelligence as synaptic_intelligence
from bennafusi.rivals.synaptic_intelligence import (
    synaptic_intelligence_with_boundaries as synaptic_intelligence_with_boundaries,
)
from bennafusi.rivals.units import Units as Units
from bennafusi.rivals.upgd import upgd as upgd
