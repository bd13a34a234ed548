"""The experiment ``memory``, small: a run stopped and resumed, findings, figures."""

import json
import re
import xml.etree.ElementTree as ET

import jax
import numpy as np
import pytest
from matplotlib.image import imread

from bennafusi.experiments.memory import EXPERIMENT
from bennafusi.experiments.memory.memory_claims import findings
from bennafusi.experiments.memory.memory_job import POPULATIONS, MemorySettings, result_of
from bennafusi.results import RunData

STEMS = ("memory-snr", "memory-lifetime", "memory-kernel")


def finish(job, state, records):
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = job.advance(state)
        assert job.check(state) is None
        records = [*records, *more]
    return state, records


@pytest.fixture(scope="module")
def job():
    return EXPERIMENT.job_of("chains", 0, EXPERIMENT.settings("smoke"))


@pytest.fixture(scope="module")
def run(job):
    _, records = finish(job, job.initial(), [])
    return RunData("chains", 0, json.loads(json.dumps(records, allow_nan=False)), 1.0)


@pytest.fixture(scope="module")
def result(run):
    return result_of(run)


@pytest.fixture(scope="module")
def drawn(run, tmp_path_factory):
    return EXPERIMENT.figures([run], tmp_path_factory.mktemp("figures"))


def test_a_run_stopped_and_resumed_is_the_same_run(job, run):
    state, records = job.initial(), []
    for _ in range(5):  # in the middle of the second chain
        state, more = job.advance(state)
        records += more
    saved = [np.array(leaf) for leaf in jax.tree.leaves(state)]
    again = jax.tree.unflatten(jax.tree.structure(job.initial()), saved)
    final, records = finish(job, again, records)
    assert json.loads(json.dumps(records)) == run.records
    assert [record["kind"] for record in records] == ["setup", "chain", "chain", "chain"]
    assert job.progress(final) == (12, 12)
    assert job.final(final)["overlaps"].shape[:2] == (3, 4)


def test_findings_are_complete_and_hold(run):
    found = EXPERIMENT.claims([run])
    assert len(found) == 6
    for finding in found:
        assert all(isinstance(text, str) and text for text in finding[:3])
        assert finding.holds is True, finding


def test_a_statement_must_hold_for_every_seed(run):
    wrong = json.loads(json.dumps(run.records))
    wrong[1]["simulated"]["misfit"] = 9.0
    found = EXPERIMENT.claims([run, RunData("chains", 1, wrong)])
    assert [finding.holds for finding in found] == [True, True, True, True, False, True]
    assert found[4].measured.startswith("seed 0: ")
    assert "; seed 1: 9.00 (n=1)" in found[4].measured


def test_a_run_that_is_not_done_says_nothing(run, tmp_path):
    begun = run._replace(records=run.records[:2])
    assert EXPERIMENT.claims([begun]) == EXPERIMENT.tables([begun]) == []
    assert EXPERIMENT.figures([begun], tmp_path) == []
    assert all(np.isnan(list(EXPERIMENT.scores(begun._replace(seconds=None)).values())))


def test_findings_notice_a_wrong_simulation(result):
    first = result.chains[0]
    wrong = first.simulated._replace(
        snr=first.simulated.snr * 3, misfit=3.0, deviation=first.simulated.deviation * 1.1
    )
    broken = result._replace(chains=(first._replace(simulated=wrong), *result.chains[1:]))
    failing = [finding.statement for finding in findings(broken) if not finding.holds]
    assert len(failing) == 3
    assert all("imulated" in statement for statement in failing)


def test_simulated_lifetimes_follow_the_exact_ones(result):
    for chain in result.chains:
        synapses, found, _, _ = chain.simulated.lifetimes.T
        assert len(found) >= 3
        exact = np.exp(np.interp(np.log(synapses), *np.log([POPULATIONS, chain.lifetimes])))
        np.testing.assert_allclose(found, exact, rtol=0.5)


def test_tables_have_the_numbers_of_the_run(run, result):
    summary, lives, curves = EXPERIMENT.tables([run])
    longest = result.chains[-1]
    assert summary.rows[0][1:4] == (
        "exact lifetime for 1e8 synapses, longest chain",
        1,
        longest.lifetimes[POPULATIONS == 1e8][0],
    )
    assert lives.rows[-1] == (12, 1e10, longest.lifetimes[-1])
    assert curves.rows[-1][:2] == (12, "simulated, seed 0")
    assert curves.rows[-1][2:4] == (longest.simulated.ages[-1], longest.simulated.snr[-1])


def test_figures_plot_the_numbers_of_the_run(plotted, run, result, tmp_path):
    EXPERIMENT.figures([run], tmp_path)
    assert list(plotted) == list(STEMS)
    ratio, lifetime, kernel = (figure.axes[0] for figure in plotted.values())
    assert ratio.get_legend_handles_labels()[1] == ["1 beaker", "4 beakers", "12 beakers"]
    for place, chain in enumerate(result.chains):
        exact, points = ratio.lines[2 * place : 2 * place + 2]
        np.testing.assert_array_equal(exact.get_ydata(), chain.snr)
        np.testing.assert_array_equal(points.get_ydata(), chain.simulated.snr[::2])
        np.testing.assert_array_equal(
            kernel.lines[place].get_xydata().T, [result.ages, chain.kernel]
        )
        exact, points = lifetime.lines[1 + 2 * place : 3 + 2 * place]
        np.testing.assert_array_equal(exact.get_xydata().T, [POPULATIONS, chain.lifetimes])
        np.testing.assert_array_equal(points.get_ydata(), chain.simulated.lifetimes[:, 1])


def test_figures_are_pictures(drawn):
    assert [d.path.name for d in drawn] == [f"{stem}.svg" for stem in STEMS]
    for drawing in drawn:
        pixels = imread(drawing.path.with_suffix(".png"))
        assert pixels.shape[1] >= 800
        assert 0.02 < np.mean(pixels[..., :3].min(axis=-1) < 0.9) < 0.5
        ET.parse(drawing.path)
        assert len(drawing.caption) > 50


def test_figures_are_the_same_each_time(run, drawn, tmp_path):
    for before, after in zip(drawn, EXPERIMENT.figures([run], tmp_path), strict=True):
        for kind in (".png", ".svg"):
            one, other = (d.path.with_suffix(kind).read_bytes() for d in (before, after))
            assert one == other
            assert not re.search(rb"<dc:date>|\d{4}-\d\d-\d\dT", other)


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"beakers=\(4, 4\)"):
        MemorySettings(beakers=(4, 4))
    with pytest.raises(ValueError, match="repeats=1: must be at least 2"):
        MemorySettings(repeats=1)
    with pytest.raises(ValueError, match=r"beakers=\(12, 4\): name the shortest first"):
        MemorySettings(beakers=(12, 4))
    for wrong, what in (({"g12": -1.0}, "g12"), ({"g12": 9.0}, "g12"), ({"beakers": (0, 4)}, "n=")):
        with pytest.raises(ValueError, match=what):
            MemorySettings(**wrong)
