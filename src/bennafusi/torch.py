"""Benna-Fusi chains in PyTorch: :class:`Consolidated` and :func:`consolidated`.

Needs the extra ``bennafusi[torch]``.
"""

from bennafusi.synapse.torch import Consolidated as Consolidated
from bennafusi.synapse.torch import consolidated as consolidated
