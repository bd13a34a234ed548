"""Numbers by which continual learners are compared, each with one meaning. Needs only NumPy."""

from bennafusi.metrics.learning import Duration as Duration
from bennafusi.metrics.learning import area_under_curve as area_under_curve
from bennafusi.metrics.learning import average_performance as average_performance
from bennafusi.metrics.learning import drop_after_switch as drop_after_switch
from bennafusi.metrics.learning import forgetting_from_end as forgetting_from_end
from bennafusi.metrics.learning import forgetting_from_peak as forgetting_from_peak
from bennafusi.metrics.learning import forward_transfer as forward_transfer
from bennafusi.metrics.learning import median_duration as median_duration
from bennafusi.metrics.learning import relearning_gain as relearning_gain
from bennafusi.metrics.learning import time_to_reach as time_to_reach
from bennafusi.metrics.learning import zero_shot_transfer as zero_shot_transfer
from bennafusi.metrics.plasticity import distance_moved as distance_moved
from bennafusi.metrics.plasticity import dormant_share as dormant_share
from bennafusi.metrics.plasticity import effective_rank as effective_rank
from bennafusi.metrics.plasticity import stable_rank as stable_rank
from bennafusi.metrics.plasticity import weight_norm as weight_norm
from bennafusi.metrics.seeds import Interval as Interval
from bennafusi.metrics.seeds import interquartile_mean as interquartile_mean
from bennafusi.metrics.seeds import interval as interval
from bennafusi.metrics.seeds import performance_profile as performance_profile
