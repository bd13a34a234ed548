"""Benna-Fusi chains in PyTorch: :class:`Consolidated` and :func:`consolidated`.

Needs the extra ``bennafusi[torch]``.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "bennafusi.torch needs PyTorch: pip install 'bennafusi[torch]'", name="torch"
    ) from error

from bennafusi.synapse.torch import Consolidated as Consolidated
from bennafusi.synapse.torch_factory import consolidated as consolidated
from bennafusi.synapse.torch_readout import Readout as Readout
