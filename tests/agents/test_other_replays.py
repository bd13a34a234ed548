"""Replays that do not only hold the newest: against an authors' program, and what must hold."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bennafusi.agents import cascade_replay, replay, reservoir_replay
from bennafusi.agents.replay import Transition

KEY = jax.random.key(5)
TRACES = np.load(Path(__file__).parents[1] / "data" / "cascade_traces.npz", allow_pickle=False)


def transition(number):
    x = jnp.asarray(number, jnp.float32)
    return Transition(
        jnp.stack([x, -x]),
        jnp.asarray(number, jnp.int32),
        10.0 * x,
        1 / (x + 1),
        jnp.stack([x + 1, -x - 1]),
    )


@jax.jit
def filled(memory, count, key=KEY):
    """After that many transitions, numbered from 0."""

    def one(i, memory):
        return memory.add(transition(i), jax.random.fold_in(key, i))

    return jax.lax.fori_loop(0, count, one, memory)


@jax.jit
def _numbers(memory):
    everywhere = memory.places(jnp.arange(memory.capacity))
    return memory.transitions.action[everywhere], memory.stored()


def inside(memory):
    """All that can be drawn."""
    numbers, stored = _numbers(memory)
    return numbers[: int(stored)].tolist()


draw = jax.jit(replay.sample, static_argnums=2)


@pytest.mark.parametrize(
    ("capacity", "rings", "keep"), [(6, 3, 0.85), (8, 2, 0.5), (20, 5, 0.9), (60, 20, 0.85)]
)
def test_the_cascade_holds_what_its_authors_program_holds(capacity, rings, keep):
    memory = cascade_replay.empty(capacity, (2,), rings=rings, keep=keep)
    add = jax.jit(lambda memory, i: memory.add(transition(i), jax.random.fold_in(KEY, i)))
    for number, held in enumerate(TRACES[f"held_{capacity}_{rings}"]):
        memory = add(memory, number)
        assert sorted(inside(memory)) == held[held >= 0].tolist(), number


EMPTY = {rings: cascade_replay.empty(4 * rings, (2,), rings=rings) for rings in (2, 3)}


@given(st.integers(1, 120), st.floats(0, 1), st.integers(2, 3))
def test_what_a_cascade_holds(count, keep, rings):
    memory = EMPTY[rings]._replace(keep=jnp.float32(keep))
    found = inside(filled(memory, count))
    assert len(set(found)) == len(found) <= 4 * rings
    assert set(found) <= set(range(count))
    assert set(range(max(count - 4, 0), count)) <= set(found)  # the first ring is the newest
    if count <= 4 * rings:
        assert len(found) == count  # nothing is forgotten while there is room


def test_a_cascade_holds_older_ones_than_a_ring_of_its_size():
    memory = filled(cascade_replay.empty(100, (2,), rings=10), 1500)
    ages = 1499 - np.array(inside(memory))
    assert ages.size == 100
    assert ages.max() > 140  # a ring's oldest would be 99
    assert (ages < 10).sum() == 10


def test_a_reservoir_is_a_fair_sample():
    capacity, total = 5, 20

    @jax.jit
    @jax.vmap
    def fill(key):
        memory = reservoir_replay.empty(capacity, (2,))
        return filled(memory, total, key).transitions.action

    found = np.asarray(fill(jax.random.split(KEY, 1500)))
    assert all(len(set(row)) == capacity for row in found[:200].tolist())
    counts = np.bincount(found.ravel(), minlength=total)
    assert stats.chisquare(counts).pvalue > 0.01
    assert inside(filled(reservoir_replay.empty(5, (2,)), 3)) == [0, 1, 2]
    with pytest.raises(TypeError, match="key=None: chance decides"):
        reservoir_replay.empty(5, (2,)).add(transition(0))


@pytest.mark.parametrize("module", [cascade_replay, reservoir_replay])
def test_parts_stay_together_and_a_cleared_one_is_empty(module):
    memory = filled(module.empty(20, (2,)), 50)
    drawn = draw(memory, jax.random.key(0), 12)
    expected = jax.jit(jax.vmap(transition))(drawn.action)
    jax.tree.map(np.testing.assert_array_equal, drawn, expected)
    memory = jax.jit(lambda m: m.clear().add(transition(77), KEY))(memory)
    assert inside(memory) == [77]


def test_every_held_one_is_drawn_as_often():
    memory = filled(cascade_replay.empty(6, (2,), rings=3), 40)
    keys = jax.random.split(jax.random.key(0), 6000)

    @jax.jit
    @jax.vmap
    def three_ways(key):
        one = replay.sample_one(memory, jax.random.uniform(key))
        again = replay.sample_with_return(memory, key, 1)
        return replay.sample(memory, key, 1).action[0], one.action, again.action[0]

    for drawn in three_ways(keys):
        values, counts = np.unique(np.asarray(drawn), return_counts=True)
        assert sorted(values) == sorted(inside(memory))
        assert stats.chisquare(counts).pvalue > 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"capacity": 7, "rings": 3}, "capacity=7, rings=3: capacity must be a multiple"),
        ({"capacity": 7, "rings": 1}, "at least 2 rings"),
        ({"capacity": 6, "rings": 3, "keep": 1.5}, r"keep=1\.5: must be from 0 to 1"),
    ],
)
def test_bad_sizes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        cascade_replay.empty(shape=(2,), **arguments)
