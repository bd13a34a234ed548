"""Noise by coin flips: is it what it says, and does nothing in it hang together?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bennafusi.rivals import noise

KEY = jax.random.key(7)
SHAPE = (1000, 1000)
SQUARE = {"w": jnp.zeros(SHAPE)}


def draw(seed=7, like=SQUARE):
    return np.asarray(noise.drawn(jax.random.key(seed), like)["w"], np.float64)


def limit(count, deviations=5):
    """How far the correlation of so many independent pairs may be from 0."""
    return deviations / count**0.5


def test_the_words_of_one_element_by_hand():
    """The same arithmetic in Python's whole numbers, of a row and a column."""

    def mixed(x, first, second):
        x = (x * 0x9E3779B9 + first) % 2**32
        x = (((x ^ (x >> 16)) * 0x21F0AAAD) % 2**32) ^ second
        x = ((x ^ (x >> 15)) * 0xD35A2D97) % 2**32
        return x ^ (x >> 15)

    first, second = (int(x) for x in jax.random.bits(KEY, (1, 2), jnp.uint32)[0])
    found = noise.drawn(KEY, jnp.zeros((5, 7)))
    heads = mixed(3 * 7 + 4, first, second).bit_count()
    np.testing.assert_allclose(found[3, 4], (heads - 16) / 8**0.5, rtol=1e-6)


def test_it_is_binomial():
    heads = np.rint(draw() * 8**0.5 + 16).astype(int)
    seen = np.bincount(heads.ravel(), minlength=33)
    expected = heads.size * stats.binom.pmf(np.arange(33), 32, 0.5)
    enough = expected >= 10
    chi = ((seen - expected)[enough] ** 2 / expected[enough]).sum()
    assert stats.chi2.sf(chi, enough.sum() - 1) > 1e-4
    assert abs(draw().mean()) < limit(heads.size)
    assert abs(draw().var() - 1) < limit(heads.size) * 2**0.5


def test_added_up_over_updates_it_is_normal():
    total = sum(draw(seed, {"w": jnp.zeros(2_000)}) for seed in range(64)) / 8
    assert stats.kstest(total, "norm").pvalue > 1e-4
    assert abs(stats.kurtosis(total)) < 0.4


def test_neighbours_updates_and_arrays_have_nothing_in_common():
    found, later = draw(), draw(8)
    for rows, columns in [(0, 1), (1, 0), (1, 1), (2, 3), (0, 16), (64, 0), (0, 500), (500, 1)]:
        beside = np.roll(found, (rows, columns), (0, 1))
        assert abs((found * beside).mean()) < limit(found.size)
        assert abs((found * found * beside * beside).mean() - 1) < limit(found.size, 10)
        assert abs((later * beside).mean()) < limit(found.size)
    both = noise.drawn(KEY, [jnp.zeros(SHAPE), jnp.zeros(SHAPE)])
    assert abs(float(jnp.mean(both[0] * both[1]))) < limit(found.size)


@pytest.mark.parametrize("part", [0, 1])
def test_every_bit_hangs_on_every_bit(part):
    """One bit of a number or of the first word, turned over, turns half of what comes out."""
    given = [jax.random.bits(key, (4096,), jnp.uint32) for key in jax.random.split(KEY, 3)]
    plain = noise._mixed(*given)
    for bit in range(32):
        turned = [x ^ jnp.uint32(1 << bit) if i == part else x for i, x in enumerate(given)]
        change = np.asarray(plain ^ noise._mixed(*turned))
        share = ((change[:, None] >> np.arange(32)) & 1).mean(0)
        np.testing.assert_allclose(share, 0.5, atol=0.05)


def test_another_second_word_is_another_sequence():
    numbers = jnp.arange(10**6, dtype=jnp.uint32)
    one, other = (
        np.bitwise_count(np.asarray(noise._mixed(numbers, jnp.uint32(5), jnp.uint32(second))))
        - 16.0
        for second in (0x12345678, 0x9ABCDEF0)
    )
    for shift in range(-3, 4):
        assert abs((one * np.roll(other, shift)).mean() / 8) < limit(one.size)


def test_keys_shapes_and_types():
    assert (draw(1) != draw(2)).mean() > 0.8
    np.testing.assert_array_equal(draw(1), draw(1))
    old = noise.drawn(jax.random.PRNGKey(7), SQUARE)["w"]
    np.testing.assert_array_equal(old, noise.drawn(KEY, SQUARE)["w"])
    tree = {"a": jnp.zeros(()), "b": jnp.zeros((0, 3)), "c": jnp.zeros(4, jnp.bfloat16)}
    found = noise.drawn(KEY, tree)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), found) == jax.tree.map(
        lambda x: (x.shape, x.dtype), tree
    )
    assert noise.drawn(KEY, {}) == {}
