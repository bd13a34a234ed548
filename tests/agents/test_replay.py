import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bennafusi.agents import replay
from bennafusi.agents.replay import Transition

add = jax.jit(lambda ring, step: ring.add(step))
draw = jax.jit(replay.sample, static_argnums=2)
draw_one = jax.jit(replay.sample_one)


def transition(number):
    x = jnp.float32(number)
    return Transition(
        jnp.stack([x, -x]), jnp.int32(number), 10.0 * x, 1 / (x + 1), jnp.stack([x + 1, -x - 1])
    )


def filled(capacity, count):
    ring = replay.empty(capacity, (2,))
    for number in range(count):
        ring = add(ring, transition(number))
    return ring


def test_the_newest_take_the_place_of_the_oldest():
    ring = replay.empty(3, (2,))
    held = []
    for number in range(7):
        ring = add(ring, transition(number))
        held.append(ring.transitions.action.tolist())
        assert number in ring.transitions.action.tolist()
        assert int(ring.stored()) == min(number + 1, 3)
        assert int(ring.added) == number + 1
    assert held == [[0, 0, 0], [0, 1, 0], [0, 1, 2], [3, 1, 2], [3, 4, 2], [3, 4, 5], [6, 4, 5]]


def test_all_parts_of_a_transition_stay_together():
    ring = filled(4, 6)
    drawn = draw(ring, jax.random.key(0), 4)
    for i in range(4):
        expected = transition(int(drawn.action[i]))
        jax.tree.map(lambda a, b, i=i: np.testing.assert_array_equal(a[i], b), drawn, expected)
    one = draw_one(ring, jnp.float32(0.6))
    jax.tree.map(np.testing.assert_array_equal, one, transition(int(one.action)))


@given(st.integers(1, 23), st.integers(0, 2**16), st.data())
def test_a_draw_holds_different_ones_among_the_newest(added, seed, data):
    ring = filled(8, added)
    held = range(max(added - 8, 0), added)
    count = data.draw(st.integers(1, len(held)))
    drawn = draw(ring, jax.random.key(seed), count).action.tolist()
    assert len(set(drawn)) == len(drawn) == count
    assert set(drawn) <= set(held)


def test_every_ordered_pair_is_drawn_as_often():
    ring = filled(5, 4)
    keys = jax.random.split(jax.random.key(0), 12_000)
    drawn = np.asarray(jax.vmap(lambda key: draw(ring, key, 2).action)(keys))
    counts = np.zeros((4, 4), int)
    np.add.at(counts, (drawn[:, 0], drawn[:, 1]), 1)
    assert (np.diag(counts) == 0).all()
    assert stats.chisquare(counts[~np.eye(4, dtype=bool)]).pvalue > 0.01


def test_one_is_drawn_by_its_share_of_the_unit_interval():
    for count, held in ((3, [0, 1, 2]), (5, [0, 1, 2, 3, 4]), (7, [5, 6, 2, 3, 4])):
        ring = filled(5, count)
        chances = jnp.linspace(0.0, 1.0, 2 * len(held) + 1)[1::2]
        assert [int(draw_one(ring, chance).action) for chance in chances] == held
        assert int(draw_one(ring, jnp.float32(0)).action) == held[0]
        below_one = jnp.float32(np.nextafter(np.float32(1), np.float32(0)))
        assert int(draw_one(ring, below_one).action) == held[-1]


def test_rounding_does_not_reach_past_the_end():
    """In float32 the number just below 1 times 2,000 could be 2,000."""
    below_one = jnp.float32(np.nextafter(np.float32(1), np.float32(0)))
    for capacity in (3, 1000, 2000, 100_000):
        ring = replay.empty(capacity, (1,))
        rows = ring.transitions._replace(action=jnp.arange(capacity, dtype=jnp.int32))
        ring = replay.Replay(rows, jnp.int32(capacity))
        assert int(replay.sample_one(ring, below_one).action) == capacity - 1


def test_a_cleared_ring_holds_nothing_old():
    ring = filled(4, 9).clear()
    assert int(ring.stored()) == 0
    ring = add(add(ring, transition(20)), transition(21))
    assert int(ring.stored()) == 2
    for seed in range(20):
        assert set(draw(ring, jax.random.key(seed), 2).action.tolist()) == {20, 21}
        chance = jnp.float32(seed / 20)
        assert int(draw_one(ring, chance).action) in (20, 21)


def test_types_are_kept():
    ring = filled(3, 2)
    types = [x.dtype.name for x in jax.tree.leaves(ring)]
    assert types == ["float32", "int32", "float32", "float32", "float32", "int32"]


def test_bits_come_back_as_numpy_has_them():
    seen = np.random.default_rng(0).random((6, 3, 5)) < 0.5  # 15 bits: the last byte is not full
    rows = np.packbits(seen.reshape(6, -1), axis=-1)
    number = jnp.zeros(6)
    stored = Transition(jnp.asarray(rows), number, number, number, jnp.asarray(rows[::-1]))
    found = replay.unpacked(stored, jnp.asarray(seen[0]))
    assert found.observation.dtype == bool
    np.testing.assert_array_equal(found.observation, seen)
    np.testing.assert_array_equal(found.next_observation, seen[::-1])


def test_a_new_replay_can_be_donated():
    memory = replay.empty(4, (2,), tasks=True)
    pointers = [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(memory)]
    assert len(set(pointers)) == len(pointers)
