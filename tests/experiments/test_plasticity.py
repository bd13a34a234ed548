"""Whether an agent can still learn: by hand, in a run, as a table and as a figure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents.networks import Network, Params, Sizes
from bennafusi.colours import BLUE
from bennafusi.experiments.deep import deep_records, deep_tables, plasticity_looks
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.experiments.deep.plasticity_figure import plasticity
from bennafusi.results import RunData
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.rollout import Trajectory

SIZES = {"network.hidden": (4,), "epochs": 2, "episodes": 20, "max_steps": 20}
SCHEDULE = {"schedule.batch": 4, "schedule.replay": 50}
SETTINGS = changed(DeepSettings(), SIZES | SCHEDULE | {"chain.n": 1})


def look(epoch, dormant, moved=1.0):
    found = {"dormant": dormant, "rank": 3, "norm": 2.0, "moved": moved}
    return {"kind": "plasticity", "epoch": epoch, "task": "catcher" if epoch else None, **found}


def test_hidden_units_are_what_comes_out_of_each_hidden_layer():
    network = Network(hidden=(2, 1))
    params = Params(
        (jnp.array([[1.0, -1.0]]), jnp.array([[1.0], [1.0]]), jnp.ones((1, 2))),
        (jnp.array([[2.0, 3.0]]), jnp.ones((1, 1)), jnp.ones((1, 2))),
        (jnp.array([[0.0, 0.5]]), jnp.array([[-1.0]]), jnp.zeros((1, 2))),
    )
    first, second = network.hidden_units(params, 0, jnp.array([[2.0], [-1.0]]))
    assert first.tolist() == [[4.0, 0.0], [0.0, 4.5]]  # gain times max(0, w x + b)
    assert second.tolist() == [[3.0], [3.5]]


@pytest.mark.parametrize(("units", "width"), [("relu", 3), ("crelu", 6)])
def test_filters_are_units_in_many_places(units, width):
    network, sizes = Network(hidden=(5,), filters=3, units=units), Sizes((6, 5, 2), 2)
    params = network.start(jax.random.key(0), sizes)
    grids = jax.random.bernoulli(jax.random.key(1), 0.5, (4, 6, 5, 2))
    slid, hidden = network.hidden_units(params, 0, grids)
    assert slid.shape == (4, 4 * 3, width)
    assert hidden.shape == (4, width // 3 * 5)
    patch = np.asarray(grids[1, 2:5, 1:4], np.float32).reshape(-1)  # of place (2, 1)
    by_hand = patch @ np.asarray(params.weights[0])
    np.testing.assert_allclose(slid[1, 2 * 3 + 1, :3], np.maximum(by_hand, 0), atol=1e-6)


def a_run(settings, seed=0):
    """All records, with a new job for every chunk, as after so many stops."""
    job = DeepRun(settings, seed)
    state, records = job.initial(), []
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = DeepRun(settings, seed).advance(state)
        records += more
    return state, [record for record in records if record["kind"] == "plasticity"]


def test_a_run_looks_before_training_and_at_the_end_of_each_epoch():
    state, found = a_run(SETTINGS)
    assert [(x["epoch"], x["task"]) for x in found] == [(0, None), (1, "cartpole"), (2, "catcher")]
    assert [x["moved"] > 0 for x in found] == [False, True, True]
    assert found[2]["moved"] > found[1]["moved"]
    born = DeepRun(SETTINGS, 0).initial().agent.params.weights
    for last, weights in ((found[-1], state.agent.params.weights), (found[0], born)):
        norm = np.sqrt(sum((np.asarray(w, np.float64) ** 2).sum() for w in weights))
        assert last["norm"] == pytest.approx(norm, rel=1e-5)
    assert all(0 <= x["dormant"] <= 1 and 1 <= x["rank"] <= 4 for x in found)
    step, numbers = deep_records.scalars(SETTINGS, found[1])
    assert step == 20
    assert numbers["plasticity/rank"] == found[1]["rank"]


def test_where_each_epoch_has_a_new_agent_there_is_no_way_to_have_moved():
    settings = changed(SETTINGS, {"schedule.agent_at_switch": "reset", "epochs": 1})
    assert [x["moved"] for x in a_run(settings)[1]] == [None, None]


def played(steps):
    """Two episodes of Cart-Pole in which nothing moves."""
    state = SETTINGS.envs[0].reset(jnp.zeros(4))
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (2, 21, *x.shape)), state)
    nothing = jnp.zeros((2, 20))
    return Trajectory(states, nothing, nothing, jnp.array(steps), jnp.zeros(2))


def test_silent_units_are_dormant_and_span_nothing():
    params = DeepRun(SETTINGS, 0).initial().agent.params
    biases = (jnp.array([[5.0, 5.0, 5.0, -50.0]] * 2), *params.biases[1:])
    found = plasticity_looks.record(
        SETTINGS, params._replace(biases=biases), 0, played([3, 1]), None
    )
    assert found["dormant"] == 0.25
    assert found["rank"] == 1  # all states are the same one
    lost = params._replace(weights=(params.weights[0] * jnp.nan, *params.weights[1:]))
    assert plasticity_looks.record(SETTINGS, lost, 0, played([3, 1]), None) == {}


def test_the_table_and_the_figure_show_every_epoch(tmp_path, plotted):
    runs = [
        RunData("control", seed, [look(epoch, 0.1 * epoch + seed) for epoch in range(4)])
        for seed in range(3)
    ]
    runs.append(RunData("control-reset", 0, [look(epoch, 0.5, None) for epoch in range(4)]))
    runs.append(RunData("short", 0, [look(epoch, 0.5) for epoch in range(2)]))
    table = deep_tables.plasticity(runs)
    names = ("dormant share", "effective rank", "weight norm", "distance moved")
    assert table.columns == ("variant", "seed", "epoch", *names)
    assert table.rows[3] == ("control", 0, 3, pytest.approx(0.3), 3.0, 2.0, 1.0)
    assert len(table.rows) == 4 * 4 + 2
    assert plasticity(runs[-1:], tmp_path) is None, "one epoch has no course"
    plasticity(runs, tmp_path)
    figure = plotted["plasticity"]
    assert [axes.get_title() for axes in figure.axes] == [
        "dormant units, share", "effective rank, last hidden layer",
        "norm of the weights", "distance from the start",
    ]  # fmt: skip
    (mean,) = [line for line in figure.axes[0].lines if line.get_color() == BLUE]
    np.testing.assert_allclose(mean.get_xydata(), [[k, 1 + 0.1 * k] for k in range(4)])
    assert [text.get_text() for text in figure.legends[0].texts] == ["control", "control-reset"]


def test_a_run_that_lags_behind_cuts_the_mean_and_not_the_figure(tmp_path, plotted):
    runs = [
        RunData("control", seed, [look(epoch, 0.1 * epoch) for epoch in range(epochs)])
        for seed, epochs in enumerate((9, 6, 9))
    ]
    plasticity(runs, tmp_path)
    (mean,) = plotted["plasticity"].axes[0].lines
    np.testing.assert_allclose(mean.get_xydata(), [[k, 0.1 * k] for k in range(6)])


def test_agents_that_all_began_anew_have_no_line_for_how_far_they_went(tmp_path, plotted):
    looks = [look(epoch, 0.5, None) for epoch in range(4)]
    plasticity([RunData("control-reset", seed, looks) for seed in range(3)], tmp_path)
    drawn = {axes.get_title(): len(axes.lines) for axes in plotted["plasticity"].axes}
    assert drawn == {
        "dormant units, share": 1, "effective rank, last hidden layer": 1,
        "norm of the weights": 1, "distance from the start": 0,
    }  # fmt: skip
