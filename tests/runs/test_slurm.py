"""Batch scripts: what may stand in them, and their bodies run by a real shell."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from bennafusi.runs import slurm
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.status import read_status
from tests.runs.cluster import environ, wait_for
from tests.runs.common import TOY, finished, results

RUN = {"steps": 400, "chunk": 4, "sleep": 0.01}
ODD = "it's a \"$(touch oops)\" `x`; & 'place'"


@pytest.fixture
def site(tmp_path):
    """An output folder of an unpleasant name, three runs in it, and a Slurm that writes down."""
    root = tmp_path / ODD
    folders = prepare(root, plan("toy", ["walk"], range(3), RUN))
    where = root / "slurm"
    where.mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    scontrol = tools / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    scontrol.chmod(0o755)
    (script,) = slurm.scripts("toy", [f.path for f in folders], where, TOY, {"partition": "a"})
    (where / f"{script.name}.list").write_text("".join(f"{path}\n" for path in script.folders))
    (where / f"{script.name}.sh").write_text(script.text)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    job = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "1", "PATH": path}

    def start(**more):
        command = ["bash", str(where / f"{script.name}.sh")]
        return subprocess.Popen(command, env=environ(**{**job, **more}), cwd=tmp_path)

    return start, folders, tmp_path / "asked"


def test_a_preempted_job_saves_is_queued_again_and_continues(site, tmp_path):
    start, folders, asked = site
    first = start()
    wait_for(lambda: read_status(folders[1]).checkpoints > 2)
    first.send_signal(signal.SIGTERM)  # to the script alone, as --signal=B:TERM does
    assert first.wait(60) == 0
    assert asked.read_text() == "requeue 7_1\n"
    assert read_status(folders[1]).state == "interrupted"
    again = start()
    assert again.wait(60) == 0
    assert asked.read_text() == "requeue 7_1\n", "a run that is done is not queued again"
    assert results(folders[1]) == results(finished(tmp_path, 1, **{**RUN, "sleep": 0}))
    assert [read_status(folder).attempts for folder in folders] == [0, 2, 0]
    assert not list(Path(tmp_path).rglob("oops"))


def test_a_run_that_another_job_has_is_tried_later(site):
    start, folders, asked = site
    with folders[1].lock():
        assert start().wait(60) == 0
    assert asked.read_text() == "requeue 7_1\n"
    assert read_status(folders[1]).attempts == 0


def test_a_failure_is_a_failure_and_a_number_too_high_is_one(site):
    start, folders, asked = site
    folders[1].config.write_text("{")
    assert start().wait(60) == 2
    assert start(SLURM_ARRAY_TASK_ID="3").wait(60) == 2
    assert not asked.exists()


def test_long_lists_become_several_scripts():
    paths = [Path(f"/shared/{n}") for n in range(25)]
    options = slurm.check({"partition": "short", "walltime": "1-00:00:00", "qos": "low"})
    found = slurm.scripts("grid", paths, Path("/shared/slurm"), ["work"], options, 10, 4)
    assert [len(script.folders) for script in found] == [10, 10, 5]
    assert [path for script in found for path in script.folders] == paths
    assert [script.name.rpartition("-")[0] for script in found] == ["grid-0", "grid-1", "grid-2"]
    for line in (
        "#SBATCH --array=0-4%4",
        "#SBATCH --signal=B:TERM@120",
        "#SBATCH --requeue",
        "#SBATCH --time=1-00:00:00",
        "#SBATCH --qos=low",
        "export NPROC=1",
        'work --stop-after 86280 "$folder" </dev/null &',
    ):
        assert line in found[2].text.splitlines()
    for script in found:
        checked = subprocess.run(["bash", "-n"], input=script.text, text=True, check=False)
        assert checked.returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition": "a b"}, "partition='a b': must be letters"),
        ({"partition": "a\n#SBATCH --uid=0"}, "must be letters"),
        ({"account": "$(id)"}, "must be letters"),
        ({"qos": "-x"}, "must be letters"),
        ({"walltime": "soon"}, "walltime='soon': must be as Slurm writes it"),
        ({"walltime": "0:30"}, "walltime=0:30: must be at least 6 minutes"),
        ({"memory": "lots"}, "memory=lots: must be a whole number and K, M, G or T, such as 2G"),
        ({"memory": "2048"}, "memory=2048: must be a whole number and K, M, G or T, such as 2G"),
        ({"nodes": "3"}, "nodes=3: must be one of partition, walltime"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(slurm.SlurmError, match="must") as error:
        slurm.check(options)
    assert message in str(error.value)


@pytest.mark.parametrize("path", ["relative", "/a\nb", "/a%j"])
def test_bad_paths(path):
    with pytest.raises(slurm.SlurmError, match="must be a full path"):
        slurm.scripts("x", [], Path(path), ["work"], {})


def test_workers_as_jobs(tmp_path, monkeypatch):
    """What dask-jobqueue hands to a Slurm that only writes it down."""
    from distributed import Security

    from bennafusi.runs.dask_clusters import slurm as workers_as_jobs

    sbatch, scancel, asked = tmp_path / "sbatch", tmp_path / "scancel", tmp_path / "asked"
    sbatch.write_text(
        f'#!/bin/sh\ncat "$1" > {asked}.part && mv {asked}.part {asked}\necho job 5\n'
    )
    scancel.write_text("#!/bin/sh\n")
    for tool in (sbatch, scancel):
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    options = {"partition": "short", "walltime": "1:00:00", "qos": "low", "memory": "3GB"}
    with workers_as_jobs(options, 1, Security()) as cluster:
        assert not cluster.survives
        text = wait_for(lambda: asked.exists() and asked.read_text())
    for part in ("-p short", "-t 1:00:00", "--qos=low", "--lifetime 3480s", "--nthreads 1"):
        assert part in text
