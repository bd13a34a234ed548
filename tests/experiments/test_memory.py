"""The experiment ``memory``, small: files, findings, figures."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread

from bennafusi.experiments import memory

STEMS = ("memory-snr", "memory-lifetime", "memory-kernel")


@pytest.fixture(scope="module")
def ran():
    ticks = []
    result = memory.run(memory.MemorySettings.smoke(), lambda: ticks.append(1))
    return result, len(ticks)


@pytest.fixture(scope="module")
def drawn(ran, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return memory.figures(ran[0], folder)


def test_every_simulation_ticks(ran):
    result, ticks = ran
    assert ticks == len(result.settings.beakers) * result.settings.repeats


def test_findings_are_complete_and_hold(ran):
    found = memory.findings(ran[0])
    assert len(found) == 6
    for finding in found:
        assert all(isinstance(text, str) and text for text in finding[:3])
        assert finding.holds is True, finding


def test_findings_notice_a_wrong_simulation(ran):
    result, _ = ran
    first = result.chains[0]
    wrong = first.simulated._replace(
        snr=first.simulated.snr * 3, misfit=3.0, deviation=first.simulated.deviation * 1.1
    )
    broken = result._replace(chains=(first._replace(simulated=wrong), *result.chains[1:]))
    failing = [finding.statement for finding in memory.findings(broken) if not finding.holds]
    assert len(failing) == 3
    assert all("imulated" in statement for statement in failing)


def test_simulated_lifetimes_follow_the_exact_ones(ran):
    for chain in ran[0].chains:
        synapses, found, _, _ = chain.simulated.lifetimes.T
        assert len(found) >= 3
        exact = np.exp(np.interp(np.log(synapses), *np.log([memory.POPULATIONS, chain.lifetimes])))
        np.testing.assert_allclose(found, exact, rtol=0.5)


def test_figures_are_pictures(drawn):
    assert [d.path.name for d in drawn] == [f"{stem}.svg" for stem in STEMS]
    for drawing in drawn:
        pixels = imread(drawing.path.with_suffix(".png"))
        assert pixels.shape[1] >= 800
        assert 0.02 < np.mean(pixels[..., :3].min(axis=-1) < 0.9) < 0.5
        ET.parse(drawing.path)
        assert len(drawing.caption) > 50


def test_figures_are_the_same_each_time(ran, drawn, tmp_path):
    for before, after in zip(drawn, memory.figures(ran[0], tmp_path), strict=True):
        for kind in (".png", ".svg"):
            one, other = (d.path.with_suffix(kind).read_bytes() for d in (before, after))
            assert one == other
            assert not re.search(rb"<dc:date>|\d{4}-\d\d-\d\dT", other)


def test_numbers_on_disk(ran, tmp_path):
    result, _ = ran
    path = tmp_path / "memory.json"
    memory.save(result, memory.findings(result), path)
    content = json.loads(path.read_text())
    assert content["settings"]["synapses"] == result.settings.synapses
    assert set(content["versions"]) == {"bennafusi", "jax", "numpy"}
    assert [chain["beakers"] for chain in content["chains"]] == [1, 4, 12]
    assert content["chains"][2]["kernel"] == result.chains[2].kernel.tolist()
    assert len(content["findings"]) == 6
    assert [p.name for p in tmp_path.iterdir()] == ["memory.json"]


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"beakers=\(4, 4\)"):
        memory.MemorySettings(beakers=(4, 4))
    with pytest.raises(ValueError, match="repeats=1: must be at least 2"):
        memory.MemorySettings(repeats=1)
