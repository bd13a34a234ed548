"""What the tests of figures share."""

import pytest

from bennafusi.experiments import figure_style


@pytest.fixture
def plotted(monkeypatch):
    """Every figure that is drawn, by the stem of its file, instead of the file: to look at."""
    found = {}
    monkeypatch.setattr(
        figure_style, "write", lambda stem, figure: found.update({stem.name: figure})
    )
    return found
