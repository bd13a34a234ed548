"""One attempt at a run, from wherever it stands to its end.

At every checkpoint the metrics reach the disk first, then the checkpoint that counts on them, then
the status that speaks of it. A kill between any two leaves metrics that are cut back, or a status
that is behind; never a checkpoint without its metrics.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import time
import traceback
from dataclasses import dataclass
from typing import Any

from bennafusi import files
from bennafusi.files import RunError
from bennafusi.runs import capacity, checkpoint, metrics_file, tree
from bennafusi.runs.config import ConfigError, NewerError
from bennafusi.runs.environment import check as check_environment
from bennafusi.runs.environment import differences, environment
from bennafusi.runs.folder import Folder
from bennafusi.runs.job import Job, JobFactory, Record, RunSpec
from bennafusi.runs.lock import Held, LockedError
from bennafusi.runs.manifest import CheckpointError, numbers
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import Status, read_status, write_status

# Exit codes. 69 is EX_UNAVAILABLE, another process writes to the folder; 75 is EX_TEMPFAIL.
DONE, FAILED, BAD_INPUT, LOCKED, INTERRUPTED = 0, 1, 2, 69, 75


@dataclass(frozen=True)
class Pace:
    """How often a run writes."""

    checkpoint: float = 10.0  # seconds between checkpoints
    status: float = 0.5  # seconds between progress reports
    keep: int = 2  # checkpoints to keep, at least 2


class Attempt:
    """What the loop needs at hand; the folder must be locked for as long as it lives."""

    def __init__(self, folder: Folder, spec: RunSpec, pace: Pace, stop: Stop, held: Held) -> None:
        self.folder, self.spec, self.pace, self.stop = folder, spec, pace, stop
        self.held = held
        try:
            self.status = read_status(folder)
        except NewerError:
            raise
        except ConfigError as error:
            folder.log(f"warning: status.json is of no use and made anew ({error})")
            self.status = Status()
        self.environment: dict[str, Any] = {}
        self._before, self._began, self._reported = self.status.seconds, time.monotonic(), 0.0

    def to_its_end(self, make_job: JobFactory) -> int:
        """Make the job, run it, and answer for whatever happens with an exit code."""
        if self.status.state == "done" and self.folder.final.exists():
            return DONE
        for place in (self.folder.path, self.folder.checkpoints):
            files.clean(place)  # what a killed attempt left, now that the lock is ours
        attempts = self.status.attempts + 1
        self._report(state="running", attempts=attempts, reason=None, rate=None)
        self.folder.log(f"attempt {attempts}")
        try:
            return self._run(make_job(self.spec))
        except LockedError as error:  # the folder is no longer ours to write to
            self.folder.log(f"error: {error}")
            return LOCKED
        except ConfigError as error:
            return self._failed(str(error), BAD_INPUT)
        except RunError as error:
            return self._failed(str(error))
        except Exception as error:  # whatever a job may throw, the folder must say so
            reason = f"{type(error).__name__}: {error}"
            if capacity.exhausted(error):
                reason = f"out of memory: {error}. Make it smaller, or run fewer at a time"
            self.folder.log(traceback.format_exc())
            self._bury(reason, {"traceback": traceback.format_exc().splitlines()})
            return self._failed(reason)

    def _run(self, job: Job) -> int:
        if outline := getattr(job, "outline", None):
            capacity.check(outline())
        check_environment()
        state = job.initial()
        if not outline:  # at least there are no copies of it yet
            capacity.check(state)
        self.environment = environment()
        run = self.folder.identity()
        store = checkpoint.Store(self.folder.checkpoints, state, self.pace.keep, run)
        saved = self._newest(store)
        writer = metrics_file.Metrics(
            self.folder.metrics, saved.metrics if saved else metrics_file.Offset()
        )
        try:
            self._began = time.monotonic()
            if saved is None:
                self.folder.write_config(self.spec, self.environment)
                store.run = self.folder.identity()  # it may be of another schema now
                self._save(store, writer, job, state)
            else:
                state, self._before = saved.state, float(saved.counters["seconds"])
            self._report(run=store.run)
            state, (done, total) = self._loop(store, writer, job, state)
        finally:
            writer.close()
        return self._finish(job, state) if done >= total else self._interrupted()

    def _newest(self, store: checkpoint.Store) -> checkpoint.Saved | None:
        saved, warnings = store.load(lambda offset: metrics_file.fault(self.folder.metrics, offset))
        if saved is None and (self.status.checkpoints or _size(self.folder)):
            raise CheckpointError(
                f"{self.folder.checkpoints} is empty, and this run had checkpoints: put them back, "
                "or remove the run's folder to start anew"
            )
        if saved is not None:
            warnings += differences(saved.environment, self.environment)
            if saved.run is None:
                warnings.append(
                    f"checkpoint {saved.number} was made before checkpoints said which run they "
                    "belong to: that it is of this one was not checked"
                )
            self.folder.log(f"resumes from checkpoint {saved.number}")
        for warning in warnings:
            self.folder.log(f"warning: {warning}")
        self._report(warnings=tuple(dict.fromkeys([*self.status.warnings, *warnings])))
        return saved

    def _loop(
        self, store: checkpoint.Store, writer: metrics_file.Metrics, job: Job, state: Any
    ) -> tuple[Any, tuple[int, int]]:
        done, total = job.progress(state)
        saved_at, saved, first, stood = time.monotonic(), True, None, False
        while done < total and not self.stop.reason:
            state, records = job.advance(state)
            self._check(job, state, records)
            self.held.check()
            writer.append(records)
            before, (done, total), now, saved = done, job.progress(state), time.monotonic(), False
            if done < before or (stood and done == before):
                raise RunError(f"the job does not get on: it was left at {done} of {total} again")
            stood = done == before  # once it may: an episode that only tests is no step further
            first = first or (now, done)  # the first chunk compiles, and says nothing of the rate
            rate = (done - first[1]) / (now - first[0]) if now > first[0] else None
            if now - saved_at >= self.pace.checkpoint:
                self._save(store, writer, job, state, rate)
                saved_at, saved = time.monotonic(), True
            elif now - self._reported >= self.pace.status:
                self._report(durable=False, done=done, total=total, rate=rate)
        if not saved:
            self._save(store, writer, job, state, self.status.rate)
        return state, (done, total)

    def _check(self, job: Job, state: Any, records: list[Record]) -> None:
        wrong = job.check(state)
        if wrong is None:
            try:
                for record in records:
                    metrics_file.encode(record)
            except metrics_file.BadRecordError as error:
                wrong = str(error)
        if wrong is not None:
            self._bury(
                wrong, {"state": tree.statistics(state), "records": repr(records[-3:])[:2000]}
            )
            raise RunError(f"{wrong}; see {self.folder.postmortem.name}")

    def _save(
        self,
        store: checkpoint.Store,
        writer: metrics_file.Metrics,
        job: Job,
        state: Any,
        rate: float | None = None,
    ) -> None:
        done, total = job.progress(state)
        counters = {"done": done, "total": total, "seconds": self._seconds()}
        self.held.check()
        number = store.save(state, writer.sync(), counters, self.environment)
        self._report(done=done, total=total, rate=rate, checkpoints=number + 1)

    def _finish(self, job: Job, state: Any) -> int:
        content = tree.npz(job.final(state))
        self.held.check()
        files.replace(self.folder.final, content)
        self._report(state="done", final_sha256=hashlib.sha256(content).hexdigest())
        self.folder.log(f"done after {self.status.seconds:.1f} s of work")
        return DONE

    def _interrupted(self) -> int:
        self._report(state="interrupted", reason=self.stop.reason)
        self.folder.log(f"{self.stop.reason}: stopped at {self.status.done} of {self.status.total}")
        return INTERRUPTED

    def _failed(self, reason: str, code: int = FAILED) -> int:
        self.folder.log(f"error: {reason}")
        with contextlib.suppress(RunError):  # the disk itself may be what failed
            found = metrics_file.digest(self.folder.metrics)
            self._report(state="failed", reason=reason, metrics_sha256=found)
        return code

    def _bury(self, reason: str, evidence: dict[str, Any]) -> None:
        """Write down what the run died of; its last good checkpoint stays where it is."""
        with contextlib.suppress(RunError):
            good = numbers(self.folder.checkpoints)
            found = {
                "reason": reason,
                "experiment": self.spec.experiment,
                "variant": self.spec.variant,
                "seed": self.spec.seed,
                "attempt": self.status.attempts,
                "done": self.status.done,
                "total": self.status.total,
                "last_good_checkpoint": good[-1] if good else None,
                "environment": self.environment,
                **evidence,
            }
            files.replace(self.folder.postmortem, files.dump(found, indent=1))

    def _report(self, *, durable: bool = True, **changes: Any) -> None:
        self.status = dataclasses.replace(self.status, **changes, seconds=self._seconds())
        self._reported = time.monotonic()
        write_status(self.folder, self.status, durable=durable)

    def _seconds(self) -> float:
        return round(self._before + time.monotonic() - self._began, 3)


def _size(folder: Folder) -> int:
    return folder.metrics.stat().st_size if folder.metrics.exists() else 0
