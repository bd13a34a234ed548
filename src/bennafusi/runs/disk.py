"""Moved to :mod:`bennafusi.files`."""

from bennafusi.files import *  # noqa: F403
from bennafusi.files import RunError as RunError
