"""The measures and claims of the grid, by hand and on made-up runs; a job resumed to the bit."""

import json
from dataclasses import asdict

import jax
import numpy as np
import pytest

from bennafusi.experiments.grid_switch import EXPERIMENT
from bennafusi.experiments.grid_switch import grid_job as job_module
from bennafusi.experiments.grid_switch.grid_claims import claims
from bennafusi.experiments.grid_switch.grid_measures import Measures, first_reward, relearning_steps
from bennafusi.experiments.statistics import greater, in_words
from bennafusi.results import RunData
from bennafusi.runs.config import flat
from bennafusi.training.changes import changed


def test_table_s1():
    settings = EXPERIMENT.settings("paper")
    assert flat(asdict(settings)) == {
        "epochs": 24,
        "episodes": 10_000,
        "max_steps": 20_000,
        "agent.gamma": 0.9,
        "agent.lam": 0.9,
        "agent.epsilon": 0.05,
        "agent.learning_rate": 0.1,
        "size": 10,
        "chain.n": 3,
        "chain.g12": 1e-5,
        "agent.modulation": "none",
        "agent.trace_scale": 10.0,
        "depths": False,
    }
    assert EXPERIMENT.settings("quick") == settings


def test_first_reward_counts_episodes_that_ran_out():
    length, found = np.array([20, 20, 3, 4]), np.array([False, False, True, True])
    assert first_reward(length, found) == 43
    assert first_reward(length, np.zeros(4, bool)) is None


def test_relearning_by_hand():
    # Twenty episodes of 30, then of 10: the mean of 20 is below 13 once 18 of them are short
    # (17 short: 13.0 exactly, not below).
    length = np.array([30] * 20 + [10] * 30)
    assert relearning_steps(length) == 20 * 30 + 18 * 10
    assert relearning_steps(length[:37]) is None
    assert relearning_steps(np.full(19, 1)) is None


def epoch(number, first, relearnt, steps=500_000):
    return {
        "kind": "epoch",
        "epoch": number,
        "first_reward": first,
        "relearning_steps": relearnt,
        "steps": steps,
    }


def made_up(variant, seed, first, relearnt, shares=(0.1, 0.9, 0.9)):
    records = [epoch(k + 1, f, r) for k, (f, r) in enumerate(zip(first, relearnt, strict=True))]
    values = np.zeros((len(shares), 10, 10))
    values[:, 0, -1] = 1.0
    values[:, -1, 0] = shares
    records.append({"kind": "values", "epoch": 3, "steps": 1, "values": values.tolist()})
    return RunData(variant, seed, records)


def runs(modified=300, later=1000):
    return [
        made_up(
            variant, seed, [100, 9000, first + seed, first, first + 5], [500, 9000, *[late] * 3]
        )
        for variant, first, late in (
            ("control", 9000, 9000),
            ("benna-fusi", 2000, later),
            ("modified", modified, later),
        )
        for seed in range(3)
    ]


def test_claims_hold_where_they_should():
    found = claims(runs())
    assert [c.holds for c in found] == [True] * 6
    assert found[2].measured.startswith("control 100, then 9,000 steps; benna-fusi 100")


def test_claims_fail_where_they_should():
    slow = claims(runs(modified=5000, later=8000))
    assert [c.holds for c in slow] == [True, False, True, True, False, True]


def test_hidden_values_that_forgot_fail():
    forgot = made_up("", 0, [1] * 3, [1] * 3, (0.1, 0.2, 0.9)).records
    bad = [r._replace(records=forgot) for r in runs()]
    assert claims(bad)[-1].holds is False


def test_an_epoch_without_reward_is_not_a_fast_one():
    """It has no number of its own, and counts as the whole epoch."""
    data = runs()
    for run in data:
        if run.variant == "modified":
            run.records[3]["first_reward"] = None
    found = claims(data)
    assert found[1].holds is False
    assert "counted as their whole length: 3, 0" in found[1].measured


def test_a_run_that_never_relearns_is_censored_not_dropped():
    data = runs()
    data[3].records[4]["relearning_steps"] = None
    assert np.isinf(Measures(data).relearning["benna-fusi"][0, 4])
    found = claims(data)[4]
    assert "1 of 12 never did" in found.measured
    assert found.holds is False  # half a million steps weigh


def test_too_few_data_say_so():
    assert all(c.holds is None for c in claims([]))
    one_seed = [run for run in runs() if run.seed == 0]
    assert [c.holds for c in claims(one_seed)] == [None] * 6


def test_agents_are_compared_over_the_epochs_that_both_have():
    """Later epochs are quicker for everybody here: who has had them is not the quicker one."""
    first = [100, 9000, *[5000] * 4, *[1000] * 6]
    alike = [
        made_up(name, seed, first[:done], [500] * done)
        for name, done in (("control", 6), ("benna-fusi", 12), ("modified", 12))
        for seed in range(3)
    ]
    assert claims(alike)[0].holds is False
    assert "control 5,000" in claims(alike)[0].measured
    assert "benna-fusi 5,000" in claims(alike)[0].measured


def test_one_lagging_run_does_not_hide_what_the_others_say():
    data = runs()
    data[0] = data[0]._replace(records=data[0].records[:1])  # a control seed in its second epoch
    assert [c.holds for c in claims(data)] == [None, True, None, None, True, True]


def test_the_end_of_epoch_3_is_not_its_middle():
    data = [r._replace(records=[*r.records[:2], r.records[-1]]) for r in runs()]
    assert claims(data)[-1].holds is None


def test_one_agent_that_fails_is_enough_for_a_sentence_about_both():
    data = runs()
    for run in data:
        if run.variant == "modified":
            run.records[1]["first_reward"] = 50  # epoch 2, and 100 in the first
    assert [c.holds for c in claims(data)] == [True, True, False, True, True, True]


def test_intervals_are_over_seeds_alone():
    """Epochs that differ do not widen them; seeds that differ do."""
    epochs = np.array([[0.0, 20.0]] * 5)
    assert in_words({"a": epochs}) == "a 10 [10, 10]"
    seeds = np.array([[9.0], [10.0], [11.0]])
    assert in_words({"a": seeds}) == "a 10 [9, 11]"
    assert greater(seeds, seeds - 3)
    assert not greater(seeds, seeds - 1)


def test_two_seeds_carry_no_interval():
    two = np.array([[9.0], [12.0]])
    said = "a 10.5 (9 and 12), b 10.5 (9 and 12); two seeds carry no interval"
    assert in_words({"a": two, "b": two}) == said
    assert greater(two, two - 4)
    assert not greater(two, two - 3), "each seed must be above both of the other's"


@pytest.mark.parametrize("variant", EXPERIMENT.variants)
def test_a_job_stopped_and_resumed_is_the_same_job(variant, monkeypatch):
    monkeypatch.setattr(job_module, "FRAME", 500)
    monkeypatch.setattr(job_module, "FRAMES", 2)
    small = {"epochs": 2, "episodes": 60, "max_steps": 300, "size": 4, "chain.g12": 1e-3}
    base = changed(EXPERIMENT.settings("paper"), small)

    def finish(job, state, records):
        while job.progress(state)[0] < job.progress(state)[1]:
            state, more = job.advance(state)
            records += more
        return state, records

    whole = finish(*(lambda j: (j, j.initial(), []))(EXPERIMENT.job_of(variant, 1, base)))
    first = EXPERIMENT.job_of(variant, 1, base)
    state, records = first.advance(first.initial())
    saved = [np.array(x) for x in jax.tree.leaves(state)]
    second = EXPERIMENT.job_of(variant, 1, base)
    state = jax.tree.unflatten(jax.tree.structure(second.initial()), saved)
    resumed = finish(second, state, records)
    assert json.dumps(resumed[1]) == json.dumps(whole[1])
    jax.tree.map(np.testing.assert_array_equal, resumed[0], whole[0])
    assert second.check(resumed[0]) is None
    assert [r["epoch"] for r in whole[1] if r["kind"] == "epoch"] == [1, 2]
    other, _ = finish(*(lambda j: (j, j.initial(), []))(EXPERIMENT.job_of(variant, 2, base)))
    assert not np.array_equal(other.training.table.levels[0], whole[0].training.table.levels[0])


def test_a_broken_table_is_noticed():
    job = EXPERIMENT.job_of("benna-fusi", 0, EXPERIMENT.settings("smoke"))
    state = job.initial()
    levels = list(state.training.table.levels)
    levels[1] = np.full_like(levels[1], np.nan)
    table = state.training.table._replace(levels=tuple(levels))
    broken = state._replace(training=state.training._replace(table=table))
    assert "Q^2" in job.check(broken)


def test_figure_2_plots_means_spreads_and_those_who_never_did(plotted, tmp_path):
    data = runs()
    data[3].records[4]["relearning_steps"] = None
    (picture,) = (p for p in EXPERIMENT.figures(data, tmp_path) if p.path.stem == "figure-2")
    assert "3 seeds" in picture.caption
    top, bottom = plotted["figure-2"].axes
    names = ["control", "benna-fusi", "modified"]
    assert [text.get_text() for text in top.get_legend().get_texts()] == names
    tables = Measures(data)
    for axes, measured in ((top, tables.first), (bottom, tables.relearning)):
        for name, drawn in zip(names, axes.containers, strict=True):
            known = np.where(np.isfinite(measured[name]), measured[name], np.nan)
            line, _, (bars,) = drawn
            np.testing.assert_allclose(line.get_xdata(), [1, 2, 3, 4, 5], atol=0.2)
            np.testing.assert_allclose(line.get_ydata(), np.nanmean(known, axis=0))
            upper = [segment[1, 1] for segment in bars.get_segments()]
            spread = np.nanstd(known, axis=0)
            np.testing.assert_allclose(upper, np.nanmean(known, axis=0) + spread)
    crosses = [line for line in bottom.lines if line.get_marker() == "x"]
    assert [line.get_xdata().round().tolist() for line in crosses] == [[], [5], []]


def test_figure_3_plots_the_values_of_each_beaker(plotted, tmp_path):
    EXPERIMENT.figures(runs(), tmp_path)
    panels = plotted["figure-3"].axes
    assert [axes.get_title() for axes in panels] == [
        "$V^1$ (visible)",
        "$V^2$ (hidden)",
        "$V^3$ (hidden)",
    ]
    for axes, share in zip(panels, (0.1, 0.9, 0.9), strict=True):
        x, y, z = np.reshape(axes.collections[0]._faces, (-1, 3)).T
        assert z[(x == 10) & (y == 10)].max() == 1, "the goal is in the upper right corner"
        assert z[(x == 1) & (y == 1)].max() == share, "and was in the lower left one"


def test_the_film_has_a_frame_for_each_moment(tmp_path):
    from PIL import Image

    data = runs()
    for place in range(4):
        data[3].records.append({**data[3].records[-1], "steps": place + 2})
    (film,) = EXPERIMENT.films(data, tmp_path)
    with Image.open(film.path) as picture:
        assert picture.n_frames > 1
    with np.load(film.path.with_suffix(".npz"), allow_pickle=False) as arrays:
        assert arrays["steps"].tolist() == [1, 2, 3, 4, 5]
        assert arrays["values"][0, 1, -1, 0] == 0.9
