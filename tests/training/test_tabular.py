import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.training import tabular
from bennafusi.training.changes import changed
from bennafusi.training.rows import trimmed
from bennafusi.training.tabular import advance, finished, hidden_values, start
from bennafusi.training.tabular_settings import TabularSettings
from tests.reference.q_lambda import Replay

VARIANTS = {
    "control": {"chain.n": 1},
    "benna-fusi": {},
    "modified": {"agent.modulation": "trace"},
    "directional": {"agent.modulation": "directional"},
}
SMALL = {"epochs": 3, "episodes": 40, "size": 4, "max_steps": 300}


def with_(**changes):
    """Settings by their paths, with __ for the point."""
    return changed(TabularSettings(), {k.replace("__", "."): v for k, v in changes.items()})


def assert_same(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def joined(parts):
    parts = [trimmed(records) for records in parts]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def run(settings, state, steps=None):
    """``advance`` in chunks, for as long as ``steps`` says or to the end; one program for all."""
    parts, goal = [], None if steps is None else int(state.steps) + steps
    while not finished(settings, state) and (goal is None or int(state.steps) < goal):
        chunk = 4096 if goal is None else min(4096, goal - int(state.steps))
        state, records = advance(settings, state, chunk)
        parts.append(records)
    return state, joined(parts)


def recorded(settings, state, steps):
    """The same loop as ``advance``, noting at every step where the agent was and what it did."""

    @jax.jit
    def run(state):
        void = jnp.zeros((), jnp.int32)
        loop = tabular._Loop(state, void, void, jnp.zeros(1, jnp.int32), jnp.zeros(1, jnp.bool_))

        def body(loop, _):
            now = loop.state
            noise, cells = tabular._draw(settings, now.key, now.steps // tabular.BLOCK)
            i = now.steps % tabular.BLOCK
            chance = jax.tree.map(lambda x: x[i], noise)
            q = tabular.q_lambda.values(settings.learner, now.table, now.grid.cell)
            action = tabular.q_lambda.act(q, chance)
            seen = (now.grid.cell, now.grid.goal, action, now.grid.steps == 0, chance.explore)
            return tabular._step(settings, loop, chance, cells[i]), seen

        return jax.lax.scan(body, loop, None, length=steps)

    with jax.enable_x64(True):
        loop, seen = run(state)
    return loop.state, [x.tolist() for x in seen]


@pytest.mark.parametrize("variant", VARIANTS)
def test_agrees_with_the_oracle_over_an_epoch(variant, monkeypatch):
    monkeypatch.setattr(tabular, "BLOCK", 16)  # `recorded` draws a whole block at every step
    settings = changed(TabularSettings(epochs=9, episodes=900, max_steps=3000), VARIANTS[variant])
    state, seen = recorded(settings, start(settings, 5), 50_000)
    oracle = Replay(
        size=settings.size,
        gamma=settings.agent.gamma,
        lam=settings.agent.lam,
        learning_rate=settings.agent.learning_rate,
        n=settings.chain.n,
        g12=settings.chain.g12,
        modulation=settings.agent.modulation,
        scale=settings.agent.trace_scale,
    )
    reached, ended, length = seen[0][0], False, 0
    for cell, goal, action, first, explore in zip(*seen, strict=True):
        length = 1 if first else length + 1
        assert first == (ended or length == 1)
        assert ended or cell == reached
        assert explore or oracle.u[0, cell, action] >= oracle.u[0, cell].max() - 1e-12
        reached, reward = oracle.step(cell, goal, action, first)
        ended = bool(reward) or length == settings.max_steps
    assert len(set(seen[1])) == 2  # both tasks were met
    levels = np.stack([np.asarray(u) for u in state.table.levels])
    assert levels.dtype == np.float64
    for ours, theirs in zip(levels, oracle.u, strict=True):
        scale = np.abs(theirs).max()
        assert scale > 0
        np.testing.assert_allclose(ours, theirs.ravel(), rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(state.table.traces, oracle.e.ravel(), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("variant", VARIANTS)
def test_chunks_do_not_change_a_bit(variant):
    settings = changed(TabularSettings(**SMALL), VARIANTS[variant])
    whole, records = advance(settings, start(settings, 0), 2500)
    for chunks in ((1200, 1300), (1, 1023, 1, 475, 1000), (0, 2047, 453)):
        state, parts = start(settings, 0), []
        for steps in chunks:
            state, part = advance(settings, state, steps)
            parts.append(part)
        assert_same(state, whole)
        assert_same(joined(parts), trimmed(records))


def test_large_and_small_chunks_agree_though_they_are_different_programs():
    settings = TabularSettings(**SMALL)
    state, records = advance(settings, start(settings, 0), 2**15)
    small, rows = run(settings, start(settings, 0))
    assert_same(small, state)
    assert_same(rows, trimmed(records))


def test_a_state_that_went_through_numpy_goes_on_to_the_bit():
    settings = TabularSettings(**SMALL)
    state, _ = advance(settings, start(settings, 0), 700)
    stored = jax.tree.map(lambda x: np.array(x), state)
    assert all(isinstance(x, np.ndarray) for x in jax.tree.leaves(stored))
    assert_same(advance(settings, stored, 500), advance(settings, state, 500))


def test_no_compilation_after_the_first_chunk():
    settings = TabularSettings(**SMALL)
    state, _ = advance(settings, start(settings, 0), 900)
    compiled = tabular._advance._cache_size()
    for steps in (900, 900, 200, 1024):
        state, _ = advance(settings, state, steps)
    advance(TabularSettings(**SMALL), start(settings, 1), 900)
    assert tabular._advance._cache_size() == compiled


def test_it_stops_when_the_last_epoch_ends():
    settings = TabularSettings(**SMALL)
    state, rows = run(settings, start(settings, 0))
    assert finished(settings, state)
    assert int(state.steps) == rows["length"].sum() == rows["end"][-1]
    after, none = advance(settings, state, 1000)
    assert_same(after, state)
    assert int(none.ended) == 0


def test_records_tell_the_whole_story():
    settings = TabularSettings(**SMALL)
    _, rows = run(settings, start(settings, 2))
    np.testing.assert_array_equal(rows["epoch"], np.repeat([0, 1, 2], 40))
    np.testing.assert_array_equal(rows["episode"], np.tile(np.arange(40), 3))
    np.testing.assert_array_equal(rows["end"], np.cumsum(rows["length"]))
    assert 40 < rows["found"].sum() < 120
    assert (rows["length"][~rows["found"]] == 300).all()


def test_the_goal_alternates():
    settings = TabularSettings(**SMALL)
    state, goals = start(settings, 0), {}
    while not finished(settings, state):
        goals.setdefault(int(state.epoch), set()).add(int(state.grid.goal))
        state, _ = advance(settings, state, 50)
    assert goals == {0: {3}, 1: {12}, 2: {3}}


def test_seeds():
    settings = TabularSettings(**SMALL)
    one, two = (advance(settings, start(settings, seed), 1000) for seed in (7, 8))
    assert_same(one, advance(settings, start(settings, 7), 1000))
    assert not np.array_equal(one[0].table.levels[0], two[0].table.levels[0])


def test_a_time_out_goes_on_with_the_value_of_the_state_it_reached():
    settings = TabularSettings(**SMALL)
    state = start(settings, 0)
    with jax.enable_x64(True):
        # In cell 4 the best action is up, to cell 0, whose value is 0.5; then time is up.
        q = jnp.zeros(80).at[20].set(0.1).at[3].set(0.5)
        table = state.table._replace(levels=(q, *state.table.levels[1:]))
        grid = settings.grid.place(4, 3)._replace(steps=jnp.int32(299))
    state, records = advance(settings, state._replace(table=table, grid=grid), 1)
    rows = trimmed(records)
    assert (rows["length"].tolist(), rows["found"].tolist()) == ([300], [False])
    learnt = 0.1 + 0.1 * (0.9 * 0.5 - 0.1)
    assert float(state.table.levels[0][20]) == pytest.approx(
        learnt * (1 - settings.chain.g12), rel=1e-12
    )


def test_control_learns():
    settings = with_(epochs=1, chain__n=1)
    _, rows = run(settings, start(settings, 0))
    assert rows["length"][0] > 500
    assert 10 < rows["length"][-1000:].mean() < 16  # few actions are random, ways stay crooked


def test_with_enough_exploration_it_finds_the_shortest_ways():
    settings = with_(epochs=1, chain__n=1, agent__epsilon=0.3)
    state, _ = run(settings, start(settings, 0), 150_000)
    greedy = with_(epochs=1, chain__n=1, agent__epsilon=0.0, agent__learning_rate=0.0)
    _, rows = run(greedy, state, 20_000)
    assert 9.5 < rows["length"][1:].mean() < 10.5  # 10 is the best there is


def test_hidden_values_follow_and_outlast_the_visible_ones():
    settings = TabularSettings(**SMALL)

    def peaks(state):
        values = np.asarray(hidden_values(settings, state))
        assert values.shape == (3, 4, 4)
        assert values.dtype == np.float64
        assert values[0].max() > values[1].max() > values[2].max() > 0
        return [np.unravel_index(v.argmax(), v.shape) for v in values]

    state, _ = run(settings, start(settings, 0), 250)
    assert int(state.epoch) == 0
    assert peaks(state) == [(0, 3)] * 3
    state, _ = run(settings, state, 150)
    assert int(state.epoch) == 1  # the reward is gone from there
    assert peaks(state)[0] != (0, 3)
    assert peaks(state)[1:] == [(0, 3)] * 2


def test_table_s1():
    s = TabularSettings()
    assert (s.epochs, s.episodes, s.max_steps) == (24, 10_000, 20_000)
    assert (s.agent.gamma, s.agent.lam, s.agent.epsilon) == (0.9, 0.9, 0.05)
    assert (s.agent.learning_rate, s.agent.trace_scale) == (0.1, 10)
    assert (s.size, s.chain.n, s.chain.g12) == (10, 3, 1e-5)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs=0: choose a whole number from 1"),
        ({"episodes": 1.5}, TypeError, "episodes=1.5: must be a whole number"),
        ({"size": 1}, ValueError, "size=1: choose"),
        ({"max_steps": -3}, ValueError, "max_steps=-3: choose"),
        ({"chain.n": 0}, ValueError, "n=0: a chain needs at least one beaker"),
        ({"chain.g12": 0}, ValueError, "g12=0.0: the first tube needs a width"),
        ({"agent.lam": -0.1}, ValueError, "lam=-0.1: must lie between 0 and 1"),
        (
            {"chain.n": 1, "agent.modulation": "trace"},
            ValueError,
            "agent.modulation='trace' with chain.n=1",
        ),
        (
            {"chain.g12": 0.5, "agent.modulation": "trace"},
            ValueError,
            "agent.trace_scale=10: with g12=0.5 a deeper beaker would overshoot",
        ),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        changed(TabularSettings(), settings)


def test_settings_are_cast_so_that_equal_ones_are_equal():
    cast = with_(agent__gamma=np.float64(1), chain__g12=np.float32(0.5))
    assert cast == with_(agent__gamma=1, chain__g12=0.5)
    assert type(with_(agent__gamma=1).agent.gamma) is float


def test_a_seed_is_a_whole_number_from_0_on():
    with pytest.raises(ValueError, match="seed=-1: choose a whole number from 0"):
        start(TabularSettings(), -1)
    with pytest.raises(TypeError, match=r"seed=0\.5: must be a whole number"):
        start(TabularSettings(), 0.5)


@pytest.mark.parametrize("steps", [-1, 2**31])
def test_bad_steps_are_refused(steps):
    settings = TabularSettings()
    with pytest.raises(ValueError, match=f"steps={steps}: choose"):
        advance(settings, start(settings, 0), steps)
