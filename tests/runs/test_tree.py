from collections import OrderedDict
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi.files import RunError
from bennafusi.runs import checkpoint, tree
from bennafusi.runs.metrics import Offset


class Pair(NamedTuple):
    left: object
    right: object


def test_names_are_those_of_jax_whoever_takes_the_tree_apart():
    x = np.ones(2)
    plain = {"b": Pair([x, (x, None)], x), "a": {}, "c": x}
    paths = jax.tree_util.tree_flatten_with_path(plain)[0]
    names = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in paths]
    assert [name for name, _ in tree.flatten(plain)] == names
    assert names == ["b/left/0", "b/left/1/0", "b/right", "c"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "complex64", ">f8", "u8"])
def test_any_dtype_comes_back_bit_by_bit(tmp_path, dtype):
    array = np.arange(6).reshape(2, 3).astype(jnp.bfloat16 if dtype == "bfloat16" else dtype)
    state = {"x": array, "empty": array[:0], "scalar": array[0, 0], "fortran": array.T}
    store = checkpoint.Store(tmp_path, state)
    store.save(state, Offset(), {}, {})
    found = store.load()[0].state
    for name, leaf in state.items():
        assert type(found[name]) is type(leaf)
        assert found[name].dtype == leaf.dtype
        assert found[name].tobytes() == leaf.tobytes()


def test_an_optimiser_state_and_foreign_nodes_come_back(tmp_path):
    params = OrderedDict(w=jnp.ones((2, 2)), b=jnp.zeros(2))
    state = (params, optax.adam(1e-3).init(params), jax.random.key(1, impl="rbg"))
    store = checkpoint.Store(tmp_path, state)
    store.save(state, Offset(), {}, {})
    found = store.load()[0].state
    assert jax.tree.structure(found) == jax.tree.structure(state)
    assert jax.random.key_impl(found[2]) == jax.random.key_impl(state[2])
    assert jax.random.bits(found[2]) == jax.random.bits(state[2])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"count": 3}, "'count' of the state is a Python int: make it an array"),
        ({"x": jax.jit(lambda: 1.0)()}, "'x' .* weak type"),
        ({"x": np.array([None])}, "'x' of the state holds Python objects"),
        ({"a": {"b": np.ones(1)}, "a/b": np.ones(1)}, "two leaves .* 'a/b'"),
    ],
)
def test_a_leaf_that_would_not_come_back_is_refused(tmp_path, state, message):
    with pytest.raises(RunError, match=message):
        checkpoint.Store(tmp_path, state)


def test_a_state_that_changes_its_form_is_refused(tmp_path):
    store = checkpoint.Store(tmp_path, {"x": np.ones(2)})
    with pytest.raises(RunError, match=r"'x' is float64\[3\] where the job has float64\[2\]"):
        store.save({"x": np.ones(3)}, Offset(), {}, {})


def test_two_checkpoints_are_kept_at_least(tmp_path):
    with pytest.raises(ValueError, match="keep=1"):
        checkpoint.Store(tmp_path, {}, keep=1)
    store = checkpoint.Store(tmp_path, {}, keep=3)
    assert [store.save({}, Offset(), {}, {}) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert checkpoint.numbers(tmp_path) == [2, 3, 4]


def test_a_checkpoint_of_a_newer_schema_is_refused(tmp_path, monkeypatch):
    store = checkpoint.Store(tmp_path, {})
    monkeypatch.setattr(checkpoint, "SCHEMA", 3)
    store.save({}, Offset(), {}, {})
    monkeypatch.undo()
    with pytest.raises(checkpoint.CheckpointError, match=r"its schema is 3 .* use a newer one"):
        store.load()


def test_the_dead_are_described_leaf_by_leaf():
    half = jnp.array([1, jnp.nan, -3], jnp.bfloat16)
    found = tree.statistics({"half": half, "key": jax.random.key(0), "flag": np.array([True])})
    assert found == {"half": {"size": 3, "not_finite": 1, "largest": 3.0}}
