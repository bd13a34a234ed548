"""Adam's epsilon: its variants, how far weights wander, and what is said of it."""

import json

import numpy as np
import pytest

from bennafusi.experiments.deep import online_epsilon
from bennafusi.experiments.deep.drift import SAMPLED, drift, record
from bennafusi.experiments.registry import find
from bennafusi.results import RunData
from bennafusi.training import deep_loop
from tests.experiments.test_deep_claims import alone

EXPERIMENT = online_epsilon.EXPERIMENT


def wandering(name, seed, sd, rewards=(500.0,) * 40, looks=60, steps=250_000):
    """A run whose 300 weights walk at random, so far in a million steps."""
    noise = np.random.default_rng(seed).normal(size=(looks, 300))
    walk = np.cumsum(noise * sd * np.sqrt(steps / 1e6), axis=0).tolist()
    seen = [
        {"kind": "weights", "episode": k, "steps": k * steps, "layers": [w[:200], w[200:]]}
        for k, w in enumerate(walk)
    ]
    run = alone(name, seed, rewards)
    return run._replace(records=[*seen, *run.records])


def test_variants_differ_by_epsilon_and_agent_alone():
    assert find("online-epsilon") is EXPERIMENT
    base = find("online-cartpole")
    for agent, epsilon in (("benna-fusi", "1e-4"), ("control-1e-5", "1e-2")):
        mine = EXPERIMENT.settings_of(f"{agent}-eps-{epsilon}", EXPERIMENT.settings("paper"))
        theirs = base.settings_of(agent, base.settings("paper"))
        assert mine.optimizer.eps == float(epsilon)
        assert mine.optimizer.learning_rate == theirs.optimizer.learning_rate
        assert (mine.chain, mine.schedule, mine.episodes) == (
            theirs.chain,
            theirs.schedule,
            theirs.episodes,
        )
    assert len(EXPERIMENT.variants) == 20
    assert len(EXPERIMENT.defaults("quick")) == 8


def test_the_drift_of_a_random_walk_does_not_depend_on_how_often_it_is_looked_at():
    often = drift(wandering("a", 0, 0.3, looks=200, steps=100_000))
    rarely = drift(wandering("a", 1, 0.3, looks=40, steps=2_000_000))
    assert often == pytest.approx(0.3, rel=0.05)
    assert rarely == pytest.approx(0.3, rel=0.05)
    assert np.isnan(drift(wandering("a", 0, 0.3, looks=3)))


def test_the_weights_that_are_followed():
    settings = EXPERIMENT.settings_of("control-1e-3-eps-1e-4", EXPERIMENT.settings("smoke"))
    state = deep_loop.start(settings, 0)
    seen = record(state, 7)
    assert json.loads(json.dumps(seen)) == seen
    assert [len(layer) for layer in seen["layers"]] == [32, 64, 16]  # all of a small network
    first = np.asarray(state.agent.params.weights[0]).ravel()
    np.testing.assert_allclose(seen["layers"][0], first, rtol=1e-5)
    assert SAMPLED == 128


def both_agents(large, small, control=20.0):
    runs = [wandering("benna-fusi-eps-1e-4", seed, large) for seed in range(2)]
    runs += [wandering("benna-fusi-eps-1e-8", seed, small, [300.0] * 40) for seed in range(2)]
    return runs + [
        wandering("control-1e-3-eps-1e-4", seed, small, [control] * 40) for seed in range(2)
    ]


def test_claims_hold_and_fail():
    found = online_epsilon.claims(both_agents(0.1, 0.4))
    assert [finding.holds for finding in found] == [True, True, True, True]
    assert "benna-fusi 0.0992 (1e-4) and 0.397 (1e-8)" in found[0].measured
    assert "control" not in found[0].measured, "it was not run with both"
    assert found[1].measured.endswith("; 2 of 3 were not run")
    assert found[2].measured == "benna-fusi 1 (1e-4) and 0 (1e-8)"
    assert found[3].measured.endswith("; 15 of 16 were not run")
    verdicts = [f.holds for f in online_epsilon.claims(both_agents(0.4, 0.1, 500.0))]
    assert verdicts == [False, True, True, False]
    assert all(f.holds is None for f in online_epsilon.claims([]))
    assert all(f.holds is None for f in online_epsilon.claims(both_agents(0.1, 0.4)[:1]))


def test_every_larger_epsilon_that_was_run_must_do_better_than_the_usual_one():
    runs = both_agents(0.1, 0.4)
    worse = [wandering("benna-fusi-eps-1e-2", seed, 0.5, [300.0] * 40) for seed in range(2)]
    found = online_epsilon.claims(runs + worse)
    assert [finding.holds for finding in found] == [False, False, False, True]
    assert found[2].measured == "benna-fusi 1 (1e-4) and 0 (1e-8); benna-fusi 0 (1e-2) and 0 (1e-8)"


def test_the_figure_has_a_point_for_each_run(plotted, tmp_path):
    runs = both_agents(0.1, 0.4)
    pictures = EXPERIMENT.figures(runs, tmp_path)
    assert "2 seeds" in pictures[0].caption
    cause, effect, both = plotted["cause-and-effect"].axes
    points = [line for line in both.lines if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in points) == len(runs)
    heights = {round(float(y)) for line in effect.lines for y in line.get_ydata()}
    assert heights == {500, 300, 20}
    assert cause.get_yscale() == "log"
    assert EXPERIMENT.figures([RunData("benna-fusi-eps-1e-8", 0, [])], tmp_path) == []
    assert EXPERIMENT.tables(runs)[-1].name == "drift"
