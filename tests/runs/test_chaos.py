"""Everything at once, at random: kills, damage, foreign files, environments and second writers.

One thing must hold: every finished run is bitwise right, or listed as a problem.
"""

import functools
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from bennafusi.files import RunError
from bennafusi.runs.load import load
from bennafusi.runs.manifest import newest_manifest, seal
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.signals import Stop
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, TOY, results
from tests.runs.test_environment import HOSTILE
from tests.runs.toy import ROOT, ToyJob

ROUNDS = 200 if int(os.environ.get("BENNAFUSI_FAULT_ROUNDS", "10")) >= 100 else 10
SETTINGS = {"steps": 40, "chunk": 2, "sleep": 0.01}
FILES = ("config.json", "status.json", "metrics.jsonl", "final.npz", "lock", "log.txt")


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Runs of other seeds, finished and halfway, whose files may get into the wrong place."""
    root = tmp_path_factory.mktemp("others")
    folders = prepare(root, plan("toy", ["walk"], [100, 101], {**SETTINGS, "sleep": 0}))
    for folder in folders:
        assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    return folders


@functools.cache
def right(root, seed, settings):
    """What a run must come to, by what its config says it is."""
    specs = plan("toy", ["walk"], [seed], {**json.loads(settings), "sleep": 0})
    (folder,) = prepare(root / f"right-{abs(hash(settings))}", specs)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    return results(folder)


class Chaos:
    def __init__(self, seed, folder, others, outside):
        self.chance, self.done = random.Random(seed), []
        self.folder, self.others, self.outside = folder, others, outside

    def anything(self):
        """One of a run's plain files, if there is one."""
        all_of_it = self.folder.path.rglob("*")
        there = sorted(p for p in all_of_it if p.is_file() and not p.is_symlink())
        return self.chance.choice(there) if there else None

    def start(self, hostile=False):
        environ = {**os.environ, **(HOSTILE if hostile else {}), "PYTHONPATH": str(ROOT)}
        environ |= {"TOY_CHECKPOINT": "0", "TOY_LAZY": "1"}
        command = [*TOY, str(self.folder.path)]
        return subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)

    def stopped(self):
        process = self.start(self.chance.random() < 0.3)
        time.sleep(self.chance.uniform(0.1, 0.6))
        process.send_signal(self.chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.wait()

    def second_writer(self):
        first = self.start()
        time.sleep(self.chance.uniform(0.1, 0.5))
        self.folder.lock_file.unlink(missing_ok=True)
        second = self.start()
        first.wait()
        second.wait()

    def flipped(self):
        if (path := self.anything()) and path.stat().st_size:
            content = bytearray(path.read_bytes())
            content[self.chance.randrange(len(content))] ^= 1 << self.chance.randrange(8)
            path.write_bytes(content)

    def cut(self):
        if path := self.anything():
            os.truncate(path, self.chance.randrange(path.stat().st_size + 1))

    def grown(self):
        if path := self.anything():
            path.write_bytes(path.read_bytes() + path.read_bytes()[-200:])

    def removed(self):
        if path := self.anything():
            path.unlink()

    def foreign(self):
        """Files of another run in place of this one's, alone or several together."""
        other = self.chance.choice(self.others)
        for name in self.chance.sample((*FILES, "checkpoints"), self.chance.randint(1, 4)):
            source, path = other.path / name, self.folder.path / name
            if source.is_dir():
                shutil.rmtree(path, ignore_errors=True)
                shutil.copytree(source, path)
            elif source.exists():
                shutil.copy(source, path)

    def edited(self):
        config = json.loads(self.folder.config.read_text())
        if self.chance.random() < 0.5:
            config["seed"] += 1
        else:
            config["settings"]["steps"] += 2
        self.folder.config.write_text(json.dumps(config))

    def strange(self):
        """A pipe, a link or a folder where a file was."""
        if path := self.anything():
            path.unlink()
            make = [os.mkfifo, os.mkdir, lambda path: os.symlink(self.outside, path)]
            self.chance.choice(make)(path)

    def older(self):
        """A backup of the whole, of which a part is put back."""
        backup = self.folder.path.with_name("backup")
        if backup.exists():
            for name in self.chance.sample((*FILES[1:4], "checkpoints"), 2):
                source, path = backup / name, self.folder.path / name
                if source.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                    shutil.copytree(source, path)
                elif source.is_file():
                    path.unlink(missing_ok=True) if not path.is_dir() else os.rmdir(path)
                    shutil.copy(source, path)
        elif not [p for p in self.folder.path.rglob("*") if not (p.is_file() or p.is_dir())]:
            shutil.copytree(self.folder.path, backup, symlinks=True)

    def happen(self, kinds, count):
        for _ in range(count):
            kind = self.chance.choice(kinds)
            try:
                getattr(self, kind)()
            except (OSError, ValueError, KeyError, TypeError):
                continue  # of what is damaged already, not all can be damaged again
            self.done.append(kind)


DAMAGE = ["flipped", "cut", "grown", "removed", "foreign", "edited", "strange", "older"]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_finished_run_is_right_or_a_problem(tmp_path, tmp_path_factory, others, seed):
    (folder,) = prepare(tmp_path / "out", plan("toy", ["walk"], [seed % 3], SETTINGS))
    outside = tmp_path / "thesis.tex"
    outside.write_text("mine")
    chaos = Chaos(seed, folder, others, outside)
    chaos.happen(["stopped", "stopped", "second_writer", "older"], chaos.chance.randint(1, 3))
    chaos.happen(DAMAGE, chaos.chance.choice([0, 1, 1, 2]))
    for _ in range(2):
        chaos.start().wait()
    if chaos.chance.random() < 0.4:
        chaos.happen(DAMAGE, chaos.chance.randint(1, 3))
    assert outside.read_text() == "mine", chaos.done
    judge(folder, tmp_path_factory, chaos.done)


def judge(folder, tmp_path_factory, what):
    """The one assertion."""
    problems = verify(folder.path).problems
    try:
        run = load(folder)
    except RunError:
        assert problems, what
        return
    if not run.over:
        return
    root = tmp_path_factory.getbasetemp()
    settings = {k: v for k, v in run.spec.settings.items() if k != "sleep"}
    metrics, final = right(root, run.spec.seed, json.dumps(settings))
    assert folder.metrics.read_bytes() == metrics, what
    assert [json.dumps(record) for record in run.records] == [
        json.dumps(json.loads(line)) for line in metrics.splitlines()
    ], what
    if not problems:
        assert folder.final.read_bytes() == final, what


def test_the_judge_can_say_no(tmp_path, tmp_path_factory):
    """Lines that were forged together with their seal are beyond what a hash can tell, not him."""
    (folder,) = prepare(tmp_path, plan("toy", ["walk"], [0], {**SETTINGS, "sleep": 0}))
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    judge(folder, tmp_path_factory, [])
    content = folder.metrics.read_bytes().replace(b'"step":0,', b'"step":1,')
    folder.metrics.write_bytes(content)
    with pytest.raises(RunError):
        load(folder)
    newest = newest_manifest(folder.checkpoints)
    forged = {**newest.metrics, "sha256": hashlib.sha256(content).hexdigest()}
    path = folder.checkpoints / f"{newest.number:08}.json"
    path.write_bytes(seal(newest._replace(metrics=forged)))
    with pytest.raises(AssertionError):
        judge(folder, tmp_path_factory, [])
