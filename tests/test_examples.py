"""Examples are run as a user runs them."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments, cwd):
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_stable_baselines3(tmp_path):
    done = run("sb3_dqn.py", "--steps", "1500", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mean return over 10 episodes" in done.stdout
    distances = [float(x) for x in done.stdout.split("by beaker: ")[1].split("\n")[0].split()]
    assert len(distances) == 8
    assert distances[0] == 0
    assert distances[1] > 0
    assert (tmp_path / "dqn_with_chains.zip").exists()
