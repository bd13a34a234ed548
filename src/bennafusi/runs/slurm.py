"""Runs as an array of Slurm jobs: the batch scripts, and what may stand in them."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bennafusi.files import RunError
from bennafusi.runs.attempt import INTERRUPTED, LOCKED

MARGIN = 120  # seconds before the limit at which Slurm asks a run to stop; a chunk is one to five
MAX_ARRAY = 1000  # what Slurm allows unless a site says otherwise
OPTIONS = ("partition", "walltime", "account", "qos", "constraint", "memory")
_DIRECTIVES = {"walltime": "time", "memory": "mem"}  # the others have Slurm's own names
_VALUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:@+&|\-]{0,99}")
# Without a letter it would be megabytes for Slurm, and bytes for dask-jobqueue.
_MEMORY = re.compile(r"\d{1,9}[KMGT]", re.IGNORECASE)
_TIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,5})(?::(\d{1,2}))?(?::(\d{1,2}))?")


class SlurmError(RunError):
    """Something that Slurm would not take."""


class Script(NamedTuple):
    """A batch script, and the folders of its array."""

    name: str
    text: str
    folders: tuple[Path, ...]


def seconds(walltime: str) -> int:
    """A time as Slurm writes it.

    Example:
        >>> seconds("90"), seconds("1:30"), seconds("1:30:00"), seconds("2-12"), seconds("1-00:30")
        (5400, 90, 5400, 216000, 88200)
    """
    match = _TIME.fullmatch(walltime)
    if match is None:
        raise SlurmError(
            f"walltime={walltime!r}: must be as Slurm writes it, such as 12:00:00 or 2-00:00:00"
        )
    days, *rest = match.groups()
    first, second, third = (None if part is None else int(part) for part in rest)
    if days is not None:  # days-hours[:minutes[:seconds]]
        return int(days) * 86400 + (first or 0) * 3600 + (second or 0) * 60 + (third or 0)
    if third is not None:  # hours:minutes:seconds
        return (first or 0) * 3600 + (second or 0) * 60 + third
    return (first or 0) * 60 + (second or 0)  # minutes[:seconds]


def check(options: Mapping[str, str]) -> dict[str, str]:
    """The options, if all are known and none can be read as anything else by a shell or by Slurm.

    Example:
        >>> check({"partition": "long", "walltime": "1:00:00"})
        {'partition': 'long', 'walltime': '1:00:00'}
    """
    for name, value in options.items():
        if name not in OPTIONS:
            raise SlurmError(f"{name}={value}: must be one of {', '.join(OPTIONS)}")
        if not _VALUE.fullmatch(value):
            raise SlurmError(f"{name}={value!r}: must be letters, digits and _ . , : @ + & | -")
    if not _MEMORY.fullmatch(options.get("memory", "2G")):
        raise SlurmError(
            f"memory={options['memory']}: must be a whole number and K, M, G or T, such as 2G"
        )
    if "walltime" in options and seconds(options["walltime"]) < 3 * MARGIN:
        raise SlurmError(
            f"walltime={options['walltime']}: must be at least {3 * MARGIN // 60} minutes, of "
            f"which the last {MARGIN // 60} are for stopping"
        )
    return dict(options)


def scripts(
    name: str,
    folders: Sequence[Path],
    where: Path,
    command: Sequence[str],
    options: Mapping[str, str],
    max_array: int = MAX_ARRAY,
    at_a_time: int = 0,
) -> list[Script]:
    """One script for each so many folders; the same folders give the same names, others do not.

    Args:
        name: of the jobs.
        folders: of the runs, as every machine sees them.
        where: the folder in which scripts, their lists and their output will lie.
        command: what to start for one run; its folder is added as the last argument.
        options: for Slurm, by :func:`check`.
        max_array: the longest array that the site allows.
        at_a_time: how many jobs of an array may run at once, 0 for all.
    """
    if max_array < 1:
        raise SlurmError(f"max-array={max_array}: must be at least 1")
    for path in (where, *folders):
        if not path.is_absolute() or any(c in str(path) for c in "\n\r\0%"):
            raise SlurmError(
                f"{path}: must be a full path without line breaks and %, which Slurm reads as a "
                "pattern"
            )
    found = []
    for number, begin in enumerate(range(0, len(folders), max_array)):
        part = tuple(folders[begin : begin + max_array])
        # Queued jobs read their list when they start: one of other folders must not replace it.
        mark = hashlib.sha256("".join(f"{path}\n" for path in part).encode()).hexdigest()[:8]
        title = f"{name}-{number}-{mark}"
        found.append(
            Script(title, _text(title, len(part), where, command, options, at_a_time), part)
        )
    return found


def _text(
    title: str,
    runs: int,
    where: Path,
    command: Sequence[str],
    options: Mapping[str, str],
    at_a_time: int,
) -> str:
    limit = f"%{at_a_time}" if at_a_time else ""
    log = str(where / f"{title}-%a.txt").replace("\\", "\\\\").replace('"', '\\"')
    directives = {
        "job-name": f"bennafusi-{title}",
        "array": f"0-{runs - 1}{limit}",
        "ntasks": "1",
        "cpus-per-task": "1",
        "signal": f"B:TERM@{MARGIN}",
        "output": f'"{log}"',
        "open-mode": "append",
        **{_DIRECTIVES.get(key, key): value for key, value in options.items()},
    }
    lines = [f"#SBATCH --{key}={value}" for key, value in directives.items()]
    words = list(command)
    if "walltime" in options:  # also where a site does not pass the signal on
        words += ["--stop-after", str(seconds(options["walltime"]) - MARGIN)]
    return _SCRIPT.format(
        directives="\n".join(lines),
        list=shlex.quote(str(where / f"{title}.list")),
        command=shlex.join(words),
        interrupted=INTERRUPTED,
        locked=LOCKED,
    )


_SCRIPT = """\
#!/bin/bash
{directives}
#SBATCH --requeue
# One run per job of the array; every job continues its run where it was. Submit it again as often
# as you like: what is done ends at once.
set -u
export NPROC=1
list={list}
folder=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$list")
if [ -z "$folder" ]; then
    echo "error: no line $((SLURM_ARRAY_TASK_ID + 1)) in $list" >&2
    exit 2
fi
told=0
trap 'told=$((told + 1)); kill -TERM "$child" 2>/dev/null' TERM
{command} "$folder" </dev/null &
child=$!
seen=-1
while [ "$seen" -ne "$told" ]; do # a signal ends a wait before the run has saved
    seen=$told
    wait "$child"
    code=$?
done
if [ "$code" -eq {interrupted} ] || [ "$code" -eq {locked} ]; then
    # It was asked to stop, or another job still writes to it: later, from its checkpoint.
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}" && exit 0
fi
exit "$code"
"""
