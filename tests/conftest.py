"""What the tests of several rooms share."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk():
    """Tests of what the kernel holds need not wait for the disk, which others use meanwhile."""
    real = os.fsync, os.sync
    os.fsync, os.sync = lambda descriptor: None, lambda: None
    yield
    os.fsync, os.sync = real


@pytest.fixture
def call(tmp_path, monkeypatch):
    """The command, called in an empty folder on a plain terminal of 80 columns."""
    from typer.testing import CliRunner

    from bennafusi import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *words: CliRunner().invoke(cli.app, words, prog_name="bennafusi")
