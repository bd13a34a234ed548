"""What the tests of several rooms share."""

import pytest


@pytest.fixture
def call(tmp_path, monkeypatch):
    """The command, called in an empty folder on a plain terminal of 80 columns."""
    from typer.testing import CliRunner

    from bennafusi import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *words: CliRunner().invoke(cli.app, words, prog_name="bennafusi")
