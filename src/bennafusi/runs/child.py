"""Starting the process of one run, the same way on every machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from bennafusi.files import descriptor
from bennafusi.runs.folder import Folder
from bennafusi.runs.signals import PARENT


def begin(
    command: Sequence[str], folder: Folder, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a command on a folder; it ends with the thread that called this.

    Its output goes to the run's log. Linux sends the death signal that the child asks for when the
    *thread* that created it ends, not the process: call this from a thread that lasts.

    Args:
        command: what to start; the folder is added as the last argument.
        folder: the run's.
        environ: variables that the environment of this process need not have, and goes before.

    Raises:
        OSError: if the log cannot be written, or the command not be found.
    """
    with open(folder.log_file, "ab", opener=descriptor) as log:
        # In full, because a name that begins with a dash would be taken for an option.
        return subprocess.Popen(  # noqa: S603 - the command is the caller's own
            [*command, os.path.abspath(folder.path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**environ, **os.environ, "NPROC": "1", PARENT: str(os.getpid())},
            start_new_session=True,  # Ctrl-C reaches us alone, and we pass it on once
        )
