"""States as named leaves: taking a tree of arrays apart, and putting it together again.

Plain containers of NumPy arrays are handled here; any other node is left to JAX, which is only
imported for it. The names are the same either way.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bennafusi.files import RunError

_EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: equal arrays give equal bytes


class Leaf(NamedTuple):
    """Name, dtype and shape of one array of a state."""

    name: str
    dtype: str
    shape: tuple[int, ...]


def flatten(tree: Any) -> list[tuple[str, Any]]:
    """Names and arrays of a tree, in a fixed order.

    Example:
        >>> [name for name, _ in flatten({"q": [np.zeros(2), np.ones(2)], "a": np.zeros(())})]
        ['a', 'q/0', 'q/1']
    """
    leaves = list(_leaves(tree, ""))
    names = [name for name, _ in leaves]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise RunError(f"two leaves of the state are called {double!r}: rename one")
    return leaves


def rebuild(template: Any, leaves: Sequence[Any]) -> Any:
    """A tree like ``template`` with other leaves, in the order of :func:`flatten`."""
    return _rebuild(template, iter(leaves))


def describe(name: str, leaf: Any) -> Leaf:
    """Name, dtype and shape of a leaf, which must be an array that comes back as it was."""
    if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape"):
        raise RunError(
            f"leaf {name!r} of the state is a Python {type(leaf).__name__}: make it an array with "
            "a dtype, so that a resume gives back the same"
        )
    if getattr(leaf, "weak_type", False):
        raise RunError(
            f"leaf {name!r} of the state has a weak type, which no file can keep: give it a dtype, "
            f"as in jnp.asarray(x, jnp.{leaf.dtype})"
        )
    if isinstance(leaf.dtype, np.dtype) and leaf.dtype.hasobject:
        raise RunError(f"leaf {name!r} of the state holds Python objects: make it numbers")
    return Leaf(name, str(leaf.dtype), tuple(leaf.shape))


def to_numpy(leaf: Any) -> NDArray[Any]:
    """A leaf as numbers that ``.npy`` can hold: keys as their data, foreign dtypes as bits."""
    leaf = sys.modules["jax"].random.key_data(leaf) if _is_key(leaf) else leaf
    if hasattr(leaf, "block_until_ready"):  # NumPy waits for ever if there was no memory for it
        leaf.block_until_ready()
    array = np.asarray(leaf)
    if array.dtype.kind == "V":  # bfloat16 and its like are unknown to the format
        return array.view(f"u{array.dtype.itemsize}")
    return array


def from_numpy(like: Any, array: NDArray[Any]) -> Any:
    """The leaf whose :func:`to_numpy` is ``array``, of the kind that ``like`` is.

    Raises:
        ValueError: if the numbers do not fit.
    """
    if to_numpy(like).dtype != array.dtype or to_numpy(like).shape != array.shape:
        raise ValueError(f"stored as {array.dtype}{list(array.shape)}")
    if _is_key(like):
        random = sys.modules["jax"].random
        return random.wrap_key_data(array, impl=random.key_impl(like))
    if isinstance(like, np.generic):
        return array.view(like.dtype)[()]
    if isinstance(like, np.ndarray):
        return array.view(like.dtype)
    # A copy, because a buffer that JAX shares with NumPy cannot be donated.
    return sys.modules["jax"].numpy.array(array.view(like.dtype), copy=True)


def npz(arrays: dict[str, NDArray[Any]]) -> bytes:
    """The bytes of an ``.npz`` file: no pickle, no compression, no clock."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as file:
        for name, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
    return content.getvalue()


def unpack(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file that :func:`npz` or ``numpy.savez`` made.

    Nothing is compressed in those, so arrays that are larger than their file are not ours; such a
    file is refused by its headers, before there is an array.

    Raises:
        ValueError: if it is anything else.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            entries = file.infolist()
            packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
            if packed or sum(entry.file_size for entry in entries) > len(content):
                raise ValueError("it unpacks to more than it is")
            return {e.filename.removesuffix(".npy"): _array(file.read(e)) for e in entries}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"no plain npz file: {error}") from error


def _array(content: bytes) -> NDArray[Any]:
    """One ``.npy`` file; the size that its header speaks of is compared before it is believed."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of a strange version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    data = bytearray(file.read())  # which may be written to, as arrays may
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError("an array of no numbers")
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"an array of {len(data)} bytes whose header says {dtype}{list(shape)}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def statistics(tree: Any) -> dict[str, dict[str, Any]]:
    """How many numbers of each leaf are not finite, and the largest of the others; for the dead."""
    found = {}
    for name, leaf in flatten(tree):
        if _is_key(leaf) or leaf.dtype.kind not in "iufcV":  # V is bfloat16 and its like
            continue
        array = np.asarray(leaf).astype(np.complex128 if leaf.dtype.kind == "c" else np.float64)
        finite = np.isfinite(array)
        found[name] = {
            "size": int(array.size),
            "not_finite": int(array.size - finite.sum()),
            "largest": float(np.abs(array[finite]).max()) if finite.any() else None,
        }
    return found


def _leaves(node: Any, name: str) -> Iterator[tuple[str, Any]]:
    parts = _children(node)
    if parts is not None:
        for key, child in parts:
            yield from _leaves(child, f"{name}/{key}" if name else key)
    elif isinstance(node, np.ndarray | np.generic):
        yield name, node
    else:
        import jax

        for path, leaf in jax.tree_util.tree_flatten_with_path(node)[0]:
            rest = jax.tree_util.keystr(path, simple=True, separator="/")
            yield "/".join(part for part in (name, rest) if part), leaf


def _rebuild(node: Any, leaves: Iterator[Any]) -> Any:
    parts = _children(node)
    if parts is None and isinstance(node, np.ndarray | np.generic):
        return next(leaves)
    if parts is None:
        import jax

        return jax.tree_util.tree_map(lambda _: next(leaves), node)
    if node is None:
        return None
    children = [(key, _rebuild(child, leaves)) for key, child in parts]
    if type(node) is dict:
        values = dict(children)
        return {key: values[str(key)] for key in node}
    values_only = [child for _, child in children]
    return type(node)(*values_only) if hasattr(node, "_fields") else type(node)(values_only)


def _children(node: Any) -> list[tuple[str, Any]] | None:
    """The named parts of a plain container; None for a leaf or a node that only JAX knows."""
    if node is None:
        return []
    if type(node) is dict and all(isinstance(key, str) for key in node):
        return [(key, node[key]) for key in sorted(node)]  # JAX sorts, too
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return list(zip(node._fields, node, strict=True))
    if type(node) in (list, tuple):
        return [(str(index), child) for index, child in enumerate(node)]
    return None


def _is_key(leaf: Any) -> bool:
    jax: Any = sys.modules.get("jax")
    return jax is not None and bool(jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key))
