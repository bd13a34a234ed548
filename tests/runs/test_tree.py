import hashlib
import io
import tracemalloc
import zipfile
from collections import OrderedDict
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi.files import RunError
from bennafusi.runs import checkpoint, tree
from bennafusi.runs.manifest import CheckpointError, numbers, read_manifest, seal
from bennafusi.runs.metrics_file import Offset


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
    assert numbers(tmp_path) == [2, 3, 4]


def test_checkpoints_have_more_than_eight_digits_if_they_must(tmp_path):
    store = checkpoint.Store(tmp_path, {})
    store.save({}, Offset(), {}, {})
    made = read_manifest(tmp_path, 0)._replace(number=99_999_998)
    (tmp_path / "99999998.json").write_bytes(seal(made))
    (tmp_path / "00000000.npz").rename(tmp_path / "99999998.npz")
    assert [store.save({}, Offset(), {}, {}) for _ in range(3)] == [10**8 - 1, 10**8, 10**8 + 1]
    assert numbers(tmp_path) == [10**8, 10**8 + 1]
    assert store.load()[0].number == 10**8 + 1


def test_a_checkpoint_of_a_newer_schema_is_refused(tmp_path, monkeypatch):
    store = checkpoint.Store(tmp_path, {})
    monkeypatch.setattr(checkpoint, "SCHEMA", 3)
    store.save({}, Offset(), {}, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=r"its schema is 3 .* use a newer one"):
        store.load()


def test_the_dead_are_described_leaf_by_leaf():
    half = jnp.array([1, jnp.nan, -3], jnp.bfloat16)
    found = tree.statistics({"half": half, "key": jax.random.key(0), "flag": np.array([True])})
    assert found == {"half": {"size": 3, "not_finite": 1, "largest": 3.0}}


@pytest.mark.parametrize(
    "array", [np.zeros((0, 3)), np.array(1.5), np.asfortranarray(np.arange(6).reshape(2, 3))]
)
def test_arrays_come_out_of_the_file_as_they_went_in(array):
    (back,) = tree.unpack(tree.npz({"a": array})).values()
    np.testing.assert_array_equal(back, array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.flags.writeable


def packed(array):
    content = io.BytesIO()
    np.savez_compressed(content, a=array)
    return content.getvalue()


def swollen():
    """A few bytes whose header speaks of a terabyte."""
    content = tree.npz({"a": np.zeros(7)})
    return content.replace(b"'shape': (7,), }" + b" " * 12, b"'shape': (137438953472,), }" + b" ")


def folded():
    """Many names for the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("a.npy", tree.npz({"a": np.zeros(1000)}))
        for _ in range(99):
            file.filelist.append(file.filelist[0])
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(np.zeros(10**7)), "unpacks to more than it is"),
        (swollen(), r"CRC|header says float64\[137438953472\]"),
        (folded(), "unpacks to more"),
        (b"PK\x03\x04", "no plain npz"),
        (tree.npz({"a": np.zeros(3)})[:-30], "no plain npz"),
    ],
)
def test_a_file_that_claims_more_than_it_is_is_refused_before_there_is_an_array(content, message):
    tracemalloc.start()
    with pytest.raises(ValueError, match=message):
        tree.unpack(content)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_sealed_bomb_is_a_bad_checkpoint(tmp_path):
    """A stranger can hash whatever he likes."""
    store = checkpoint.Store(tmp_path, {"x": np.zeros(4)})
    store.save({"x": np.zeros(4)}, Offset(), {}, {})
    for content in (packed(np.zeros(10**7)), swollen(), tree.npz({"other": np.zeros(1)})):
        made = read_manifest(tmp_path, 0)._replace(sha256=hashlib.sha256(content).hexdigest())
        (tmp_path / "00000000.npz").write_bytes(content)
        (tmp_path / "00000000.json").write_bytes(seal(made))
        with pytest.raises(CheckpointError, match="its arrays are not ours"):
            checkpoint.read(tmp_path, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": {}},
        {"metrics": {"bytes": -1, "lines": 0, "sha256": ""}},
        {"metrics": {"bytes": 1.5, "lines": 0, "sha256": ""}},
        {"metrics": []},
        {"leaves": [1]},
        {"leaves": [["x", "float64", "y"]]},
        {"counters": 3},
        {"environment": None},
        {"number": True},
        {"run": 7},
    ],
)
def test_a_sealed_manifest_of_other_fields_is_bad(tmp_path, change):
    checkpoint.Store(tmp_path, {}).save({}, Offset(), {}, {})
    made = read_manifest(tmp_path, 0)._replace(**change)
    (tmp_path / "00000000.json").write_bytes(seal(made))
    with pytest.raises(CheckpointError, match="not what was written"):
        read_manifest(tmp_path, 0)
