import os
import subprocess
import sys
import tempfile
import time

import pytest

from bennafusi.runs.scratch import PREFIX, Scratch, clean


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_folder_goes_with_its_block(temporary):
    with Scratch() as path:
        (path / "file").touch()
        assert path.parent == temporary
    assert os.listdir(temporary) == []


def test_what_a_killed_command_left_is_removed_by_the_next(temporary):
    program = (
        "import os, signal; from bennafusi.runs.scratch import Scratch; "
        "s = Scratch(); print(s.path); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environ = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False
    )
    left = done.stdout.strip()
    assert os.path.isdir(left)
    clean()
    assert os.path.isdir(left), "it may be about to be locked"
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "lock").touch()
    (temporary / f"{PREFIX}link").symlink_to(outside)
    (temporary / f"{PREFIX}notes").mkdir()
    with Scratch() as other:
        for path in (left, other, outside, temporary / f"{PREFIX}notes"):
            os.utime(path, (time.time() - 3600,) * 2)
        Scratch().close()
        assert not os.path.exists(left)
        assert other.is_dir()
        assert (outside / "lock").exists()
        assert (temporary / f"{PREFIX}notes").is_dir()
