"""Trained agents at play in a report: which network of a run plays, and that it plays but once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bennafusi.cli.gather import Group
from bennafusi.cli.jobs import make_job
from bennafusi.results import Exhibit, RunData, Table
from bennafusi.runs import checkpoint
from bennafusi.runs.folder import Folder
from bennafusi.runs.load import final
from bennafusi.runs.manifest import CheckpointError, numbers
from bennafusi.runs.status import actual_status

_TRIES = 3
PAUSE = 60.0  # seconds before a run that goes on is played again; drawing it is quicker
MOST_DEPTHS = 2  # runs of which every depth plays; a dozen episodes of each task


class _Kept(NamedTuple):
    since: float
    done: int
    played: Any


class EpisodeCache:
    """Episodes of trained agents; each is played again only when its run has gone on."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Path], _Kept] = {}

    def exhibit(self, group: Group, runs: list[RunData], summary: Table | None) -> list[Exhibit]:
        """One episode of each task by the newest networks of all agents."""
        from bennafusi.experiments.deep import play

        if not runs or play.tasks(_job(group, runs[0])) is None:
            return []  # a table does not play
        shown, strongest = play.chosen(runs, summary)
        played = [episode for run in shown for episode in self._of("agent", group, run, _episodes)]
        return play.exhibit(played, strongest)

    def depths(self, group: Group, runs: list[RunData]) -> dict[tuple[str, int], dict[str, Any]]:
        """Of the first runs that looked at their depths: an episode by the network of each.

        Those that kept a game of each at their last look need not play.
        """
        from bennafusi.experiments.deep import play
        from bennafusi.experiments.depth_films import looked, shows_its_end

        seen = [run for run in runs if len(looked(run)) > 1 and not shows_its_end(run)]
        if not seen or play.tasks(_job(group, seen[0])) is None:
            return {}
        found = {
            (run.variant, run.seed): self._of("depths", group, run, _by_depth)
            for run in seen[:MOST_DEPTHS]
        }
        return {name: played for name, played in found.items() if played}

    def _of(self, what: str, group: Group, run: RunData, play: Callable[..., Any]) -> Any:
        """What one run plays; nothing if there is no network."""
        name = (run.variant, run.seed)
        folder = group.folders[name]
        row = next(row for row in group.rows if (row.variant, row.seed) == name)
        if (kept := self._kept.get((what, folder.path))) is not None:
            fresh = time.monotonic() - kept.since < PAUSE and row.state != "done"
            if kept.done == row.done or fresh:
                return kept.played
        played = play(folder, _job(group, run), run, row.done)
        self._kept[what, folder.path] = _Kept(time.monotonic(), row.done, played)
        return played


def newest(folder: Folder, job: Any) -> Any:
    """The newest intact checkpoint of a run, which may be going on; None if there is none yet.

    Raises:
        CheckpointError: if none of those that are there can be used.
    """
    if not folder.checkpoints.is_dir() or not numbers(folder.checkpoints):
        return None
    store = checkpoint.Store(folder.checkpoints, job.initial(), run=folder.identity())
    for _ in range(_TRIES - 1):
        # Between listing and reading, a run that goes on may have replaced all there were.
        with contextlib.suppress(CheckpointError):
            return store.newest()[0]
    return store.newest()[0]


def _job(group: Group, run: RunData) -> Any:
    return make_job(group.spec(run.variant, run.seed))


def _episodes(folder: Folder, job: Any, run: RunData, done: int) -> list[dict[str, Any]]:
    from bennafusi.experiments.deep import play

    if (arrays := _network(folder)) is None:
        return []
    params = play.network(job.settings, arrays)
    return play.plain(job.settings, params, run.variant, run.seed, done)


def _by_depth(folder: Folder, job: Any, run: RunData, _: int) -> dict[str, Any] | None:
    """The depths are in checkpoints alone; one that cannot be used costs only this."""
    from bennafusi.experiments.deep import play

    try:
        saved = newest(folder, job)
    except CheckpointError:
        return None
    if saved is None:
        return None
    done = job.progress(saved.state)[0]
    return play.of_depths(job.settings, saved.state, run.variant, run.seed, done)


def _network(folder: Folder) -> dict[str, Any] | None:
    """The arrays of the newest network of a run: of its end, else of its newest checkpoint."""
    if (kept := final(folder, actual_status(folder))) is not None:
        return kept
    for number in reversed(numbers(folder.checkpoints) if folder.checkpoints.is_dir() else []):
        try:
            manifest, arrays = checkpoint.read(folder.checkpoints, number)
        except CheckpointError:  # replaced by now, or damaged: the one before it may do
            continue
        start = "agent/params/"
        pairs = zip(manifest.leaves, arrays, strict=True)
        return {leaf[0].removeprefix(start): a for leaf, a in pairs if leaf[0].startswith(start)}
    return None
