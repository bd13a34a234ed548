"""A real run of the grid, through the real entry point, stopped and killed at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bennafusi.experiments import grid_switch
from bennafusi.runs import plan
from bennafusi.runs.config import to_json, with_changes
from tests.runs.test_environment import HOSTILE

ROUNDS = max(2, int(os.environ.get("BENNAFUSI_FAULT_ROUNDS", "10")) // 5)
CHANGES = {"epochs": "6", "episodes": "12000", "size": "6", "max_steps": "500"}


def prepared(root):
    settings = with_changes(grid_switch.EXPERIMENT.settings("smoke"), CHANGES)
    specs = plan.plan("grid-switch", ["modified"], [5], to_json(settings))
    return plan.prepare(root, specs)[0]


def begin(folder, environ=None):
    return subprocess.Popen(
        [sys.executable, "-m", "bennafusi.cli", "work", str(folder.path)],
        env={**os.environ, **(environ or {"NPROC": "1"})},
        stderr=subprocess.DEVNULL,
    )


def contents(folder):
    with np.load(folder.final, allow_pickle=False) as final:
        arrays = {name: final[name].tobytes() for name in final.files}
    return Path(folder.metrics).read_bytes(), arrays


def test_killed_at_random_moments_it_ends_bit_for_bit_the_same(tmp_path):
    whole = prepared(tmp_path / "whole")
    began = time.monotonic()
    process = begin(whole)
    assert process.wait() == 0
    usual = time.monotonic() - began

    killed = prepared(tmp_path / "killed")
    chance = random.Random(1)
    codes = []
    for _ in range(ROUNDS):
        process = begin(killed, HOSTILE)  # whatever the shell says, the bits are the same
        while process.poll() is None and not killed.locked():
            time.sleep(0.02)  # it takes the lock once its handlers stand
        try:
            code = process.wait(timeout=chance.uniform(0.0, 0.8) * usual)
        except subprocess.TimeoutExpired:
            process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            code = process.wait()
        codes.append(code)
        assert code in (0, 75, -signal.SIGKILL)
    assert {75, -signal.SIGKILL} & set(codes), f"no round was interrupted: {codes}"
    process = begin(killed)
    assert process.wait() == 0
    assert contents(killed) == contents(whole)
