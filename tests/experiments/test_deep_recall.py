"""Recall at a switch: which depth, what it changes, and that a stop changes nothing."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.experiments.deep import deep_job, deep_records, depth_claims, recalling, table_s2
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.experiments.deep.depth_evidence import evidence
from bennafusi.synapse.readout import beakers
from bennafusi.training import deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import Hold, no_hold
from bennafusi.training.rollout import evaluate, rollouts

SMALL = {"network.hidden": (4,), "epochs": 4, "episodes": 20, "max_steps": 20, "depths.games": 4}
SMALL |= {"schedule.batch": 4, "schedule.replay": 50, "exploration.decay": 0.5}
SMALL |= {"chain.n": 3, "chain.every": 2, "chain.g12": 0.1}  # timescales 10, 40, 160 updates
HOLD = changed(DeepSettings(), {**SMALL, "recall.kind": "hold", "recall.epsilon": 0.1})


def finish(job, state, records):
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = job.advance(state)
        records = records + more
    return state, records


@pytest.fixture
def second(monkeypatch):
    """The second beaker is chosen, and is said to have earned its threshold."""
    monkeypatch.setattr(recalling, "chosen", lambda look, task: 2)
    monkeypatch.setattr(recalling, "earned", lambda look, task, depth: 450.0)


@pytest.fixture
def whole(second):
    job = DeepRun(HOLD, 0)
    return finish(job, job.initial(), [])


def test_only_tasks_known_before_are_recalled_and_a_stop_changes_nothing(whole, monkeypatch):
    recalls = [record for record in whole[1] if record["kind"] == "recall"]
    assert [(r["epoch"], r["task"], r["depth"]) for r in recalls] == [
        (2, "cartpole", 2),
        (3, "catcher", 2),
    ]
    curves = deep_records.scalars(HOLD, recalls[0])  # what TensorBoard gets
    assert curves == (40, {"recall/depth": 2, "recall/earned": 450.0, "recall/weights": 450.0})
    monkeypatch.setitem(deep_job.CHUNK_EPISODES, "episodic", 7)
    job = DeepRun(HOLD, 0)
    state, records = job.initial(), []
    while int(state.epoch) < 2:  # right after a recall
        state, more = job.advance(state)
        records += more
    saved = [np.array(x) for x in jax.tree.leaves(state)]
    job = DeepRun(HOLD, 0)
    state = jax.tree.unflatten(jax.tree.structure(job.initial()), saved)
    state, records = finish(job, state, records)
    assert json.dumps(records) == json.dumps(whole[1])
    jax.tree.map(np.testing.assert_array_equal, state, whole[0])


def test_without_a_hold_the_two_kinds_of_recall_are_one(whole, monkeypatch):
    explore = changed(HOLD, {"recall.kind": "explore"})
    job = DeepRun(explore, 0)
    plain = finish(job, job.initial(), [])[1]  # the fixture's depth, and no hold whatever it earns
    differs = json.dumps(plain) != json.dumps(whole[1])
    assert differs, "a network that earned its threshold explores less"
    monkeypatch.setattr(recalling, "earned", lambda look, task, depth: 5.0)
    records = []
    for settings in (explore, HOLD):
        job = DeepRun(settings, 0)
        records.append(json.dumps(finish(job, job.initial(), [])[1]))
    assert '"depth": 2' in records[0]
    assert records[0] == records[1]


def test_the_epoch_begins_with_the_recalled_network(second):
    job = DeepRun(HOLD, 0)
    state = job.initial()
    while int(state.epoch) < 1:
        state, _ = job.advance(state)
    state = state._replace(epoch=np.int32(2))  # as if Cart-Pole had been trained before
    held = jax.tree.map(np.asarray, beakers(state.agent.optimizer))
    after, (record,) = recalling.recalled(HOLD, state, {})
    assert record["held"] is True
    for mine in (after.agent.params, after.agent.target):
        jax.tree.map(lambda p, u: np.testing.assert_array_equal(p, u[1]), mine, held)
    for level, before in zip(
        *map(jax.tree.leaves, (beakers(after.agent.optimizer), held)), strict=True
    ):
        np.testing.assert_array_equal(level[1:], before[1:])
    assert after.hold == Hold(np.float32(450), np.float32(450), 0)
    assert int(after.agent.optimizer.optimizer.count) > 0, "moments and counters stay"
    last = state._replace(epoch=np.int32(4))
    assert recalling.recalled(HOLD, last, {}) == (last, []), "no epoch follows"


def test_a_recall_in_epochs_of_steps_is_where_they_are(second):
    settings = changed(HOLD, {"steps": 300, "recall.kind": "explore"})
    state = deep_loop.start(settings, 0)._replace(epoch=np.int32(2))
    _, (record,) = recalling.recalled(settings, state, {})
    assert record["episode"] == 600


def test_the_beaker_that_acts_plays_the_tests_at_a_switch(monkeypatch):
    settings = changed(HOLD, {"agent.acting": 2, "recall.kind": "none"})
    job = DeepRun(settings, 0)
    state = job.initial()
    while int(state.epoch) < 1:
        state, _ = job.advance(state)
    played = []
    monkeypatch.setattr(deep_job, "rollouts", lambda settings, params, *rest: played.append(params))
    job._tests(state, 1)
    held = jax.tree.map(lambda u: u[1], beakers(state.agent.optimizer))
    assert len(played) == 2
    for mine in played:
        jax.tree.map(np.testing.assert_array_equal, mine, held)
    with pytest.raises(AssertionError):
        jax.tree.map(np.testing.assert_array_equal, held, state.agent.params)


def test_exploration_is_held_back_until_the_tests_fall():
    state = deep_loop.start(HOLD, 0)._replace(episode=jnp.int32(3))
    assert float(deep_loop._epsilon(HOLD, state)) == 0.125
    hold = Hold(jnp.float32(450), jnp.float32(480), jnp.int32(0))
    assert float(deep_loop._epsilon(HOLD, state._replace(hold=hold))) == pytest.approx(0.1)
    hold = deep_loop._judge(jnp.float32(200), jnp.int32(9), hold)  # 480 - 28
    assert [float(x) for x in hold] == [450, 452, 0]
    hold = deep_loop._judge(jnp.float32(200), jnp.int32(19), hold)  # 452 - 25.2
    assert float(hold.earned) == pytest.approx(426.8)
    assert [float(hold.level), int(hold.since)] == [float("inf"), 20]
    later = state._replace(hold=hold, episode=jnp.int32(22))
    assert float(deep_loop._epsilon(HOLD, later)) == 0.25, "it starts over, from there"
    good = deep_loop._judge(jnp.float32(500), jnp.int32(29), hold)
    assert float(good.level) == float("inf"), "and is not held back again"
    assert float(deep_loop._switch(HOLD, later).hold.level) == float(no_hold().level)


def test_losses_and_agreement_by_hand():
    one = deep_loop.start(HOLD, 0).agent.params
    two = jax.tree.map(lambda x: -x, one)
    key, task = jax.random.key(3), jnp.int32(1)
    losses, agreement = evidence(HOLD, [one, two, one], 1, key, 4)
    played = rollouts(HOLD, one, task, key, 4)
    assert evaluate(HOLD, one, task, key, 4).tolist() == played.total.tolist()
    errors, same = [], []
    look = jax.vmap(lambda state: HOLD.envs[1].features(state).ravel())
    for game in range(2):  # half of them
        steps = int(played.length[game])
        seen = look(jax.tree.map(lambda x, g=game: x[g], played.states))
        q, other = (np.asarray(HOLD.network.values(p, task, seen)) for p in (one, two))
        same += (q.argmax(-1) == other.argmax(-1))[:steps].tolist()
        for step in range(steps):
            highest = q[step + 1].max()
            rest = np.exp((q[step + 1] - highest) / 0.01).sum()
            value = 0.0 if step + 1 == steps else highest + 0.01 * np.log(rest)
            reward = float(played.returns[game, step + 1] - played.returns[game, step])
            errors.append(reward + 0.99 * value - q[step, int(played.actions[game, step])])
    assert losses[0] == losses[2] == pytest.approx(np.mean(np.square(errors)), rel=1e-4)
    share = np.mean(same)
    assert agreement == pytest.approx([(1 + share) / 2, share, (1 + share) / 2])


def test_what_cannot_be_recalled_is_refused():
    for change in ({"chain.n": 1}, {"depths.games": 1}):
        with pytest.raises(ValueError, match=r"recall.kind='hold' with chain.n="):
            changed(HOLD, change)
    with pytest.raises(ValueError, match="kind='often': unknown; choose 'none' or 'explore'"):
        changed(HOLD, {"recall.kind": "often"})
    with pytest.raises(ValueError, match="epsilon=2: choose a number from 0 to 1"):
        changed(HOLD, {"recall.epsilon": 2})


def test_the_variants_that_are_judged_are_those_that_recall():
    assert list(depth_claims.RECALLS) == list(table_s2.RECALLS)
    kinds = [changes["recall.kind"] for changes in table_s2.RECALLS.values()]
    assert kinds == ["explore", "hold"]
