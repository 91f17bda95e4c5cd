"""Indices: what a caller may write between brackets, as what the engine takes.

An integer gives a Python int, everything else an `engine.index.Index` ("all", "range" or "list" of
global ids). Negative integers count from the end, as in Python. Booleans, floats and masks are not
indices; the messages say what to write instead.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from semirings.exceptions import DomainMismatch, IndexOutOfBound, InvalidValue
from spgraph._arrays import given_array
from spgraph._base import RANK
from spgraph._convert import describe
from spgraph.context import HOST, Device
from spgraph.engine.index import Index

__all__ = ["all_of", "parse_index", "parse_key", "to_ids"]

_ALL: dict[int, Index] = {}


def all_of(size: int) -> Index:
    """Every position of an axis (kept: assignments to a whole vector ask again and again)."""
    found = _ALL.get(size)
    if found is None:
        if len(_ALL) > 256:
            _ALL.clear()
        found = _ALL[size] = Index.of_all(size)
    return found


def parse_key(key: Any, shape: tuple[int, ...], device: Device = HOST) -> tuple:
    """One int or Index per axis of an object of `shape`; arrays in `key` may lie on the object's `device`."""
    if key is Ellipsis:
        return tuple(map(all_of, shape))
    if len(shape) == 1:
        if type(key) is tuple:
            raise TypeError(f"v[...]: the index of a Vector is {key}, but one index or a list was wanted")
        return (parse_index(key, shape[0], "v[...]", "index", device),)
    if type(key) is not tuple or len(key) != 2:
        raise TypeError("A[...]: the index of a Matrix is two indices, as in A[i, j], A[i, :] or A[[0, 1], 2:5]")
    rows = parse_index(key[0], shape[0], "A[...]", "row index", device)
    if key[1] is key[0] and shape[0] == shape[1]:
        return rows, rows
    return rows, parse_index(key[1], shape[1], "A[...]", "column index", device)


def parse_index(key: Any, size: int, function: str, argument: str, device: Device = HOST) -> Any:
    """An int in [0, size) or an Index; see the module docstring for what is accepted."""
    kind = type(key)
    if kind is int:
        return _single(key, size, function, argument)
    if kind is slice:
        return _range(key.indices(size), size)
    if kind is range:
        ids = np.arange(key.start, key.stop, key.step, dtype=np.int64)
        return _list(ids, size, function, argument)
    if kind is np.ndarray and key.ndim:
        return _array(key, size, function, argument)
    rank = RANK.get(kind)
    if rank == 0 and key.dtype.np_type.kind in "iu":
        return _single(int(key), size, function, argument)
    if rank or hasattr(key, "complement"):
        raise TypeError(
            f"{function}: {argument} is {describe(key) if rank else 'a mask'}; to read through a mask write "
            "v.dup(mask=m), to write through one v(m) << value"
        )
    if kind is tuple:
        raise TypeError(f"{function}: {argument} is the tuple {key}, but an integer, slice, list or array was wanted")
    if not isinstance(key, (bool, np.bool_)):
        try:
            return _single(operator.index(key), size, function, argument)
        except TypeError:
            pass
    array = given_array(key, device, function, argument)
    if array is not None and array.ndim:
        return _array(array, size, function, argument)
    if isinstance(key, (str, bytes)) or not hasattr(key, "__iter__"):
        raise TypeError(f"{function}: {argument} is {describe(key)}, but an integer, slice, list or array was wanted")
    items = key if isinstance(key, list) else list(key)
    try:
        array = np.asarray(items)
    except ValueError:
        raise TypeError(f"{function}: {argument} is a ragged list, but a list of integers was wanted") from None
    return _array(array, size, function, argument)


def _single(index: int, size: int, function: str, argument: str) -> int:
    if 0 <= index < size:
        return index
    if -size <= index < 0:
        return index + size
    raise IndexOutOfBound(f"{function}: {argument} is {index}, but the size is {size}")


def _range(indices: tuple[int, int, int], size: int) -> Index:
    start, stop, step = indices
    count = len(range(start, stop, step))
    if count == size and step == 1:
        return all_of(size)
    return Index("range", None, start, stop, step, count)


def _array(array: Any, size: int, function: str, argument: str) -> Index:
    if array.ndim != 1:
        raise TypeError(f"{function}: {argument} has {array.ndim} dimensions, but 1 was wanted")
    if array.dtype.kind not in "iu":
        if array.size:
            hint = "; np.flatnonzero(...) gives the positions" if array.dtype.kind == "b" else ""
            raise TypeError(f"{function}: {argument} has dtype {array.dtype}, but integers were wanted{hint}")
        array = array.astype(np.int64)
    return _list(array, size, function, argument)


def _list(array: Any, size: int, function: str, argument: str) -> Index:
    if array.size:
        low, high = int(array.min()), int(array.max())
        if low < -size or high >= size:
            bad = low if low < -size else high
            raise IndexOutOfBound(f"{function}: {argument} holds {bad}, but the size is {size}")
        array = array.astype(np.int64)  # always a copy: the caller may change his array before we look
        if low < 0:
            array[array < 0] += size
    else:
        array = np.empty(0, np.int64)
    return Index.of_list(array)


def single(index: int) -> Index:
    """The Index that holds one position."""
    return Index.of_range(index, index + 1, 1)


def to_ids(indices: Any, function: str, argument: str, device: Device = HOST, *, narrow: bool = False) -> Any:
    """Indices given to a constructor as an int64 array, NumPy's or (if they were there) one of `device`.

    With `narrow` int32 stays what it is.
    """
    array = given_array(indices, device, function, argument)
    if array is None:
        items = indices if isinstance(indices, (list, tuple, range)) or hasattr(indices, "__array__") else list(indices)
        try:
            array = np.asarray(items)
        except ValueError:
            raise TypeError(f"{function}: {argument} are a ragged list, but a list of integers was wanted") from None
    if array.ndim != 1:
        raise TypeError(f"{function}: {argument} have {array.ndim} dimensions, but 1 was wanted")
    if array.dtype.kind not in "iu":
        if array.size:
            raise TypeError(f"{function}: {argument} have dtype {array.dtype}, but integers were wanted")
        return np.empty(0, np.int64)
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise IndexOutOfBound(f"{function}: {argument} hold {int(array.max())}, but indices are below 2**63")
    return array if narrow and array.dtype == np.int32 else array.astype(np.int64, copy=False)


def to_permutation(order: Any, size: int, function: str, device: Device) -> Any:
    """All of 0, 1, ..., size - 1, each once, as an int64 array of `device` (of parts: of the host)."""
    home = HOST if device.group is not None else device
    rank = RANK.get(type(order))
    if rank == 1:
        if order.dtype.np_type.kind not in "iu":
            raise DomainMismatch(f"{function}: order has dtype {order.dtype}, but integers were wanted")
        if order._size != size:
            raise InvalidValue(f"{function}: order has size {order._size}, but the Matrix has {size} vertices")
        array = order._coo()[1]
        array = array if order._device is home else home.to_device(order._device.to_host(array))
    elif rank or isinstance(order, (set, frozenset, dict, bytes)) or not (
            hasattr(order, "__iter__") or hasattr(order, "__array__") or hasattr(order, "__dlpack__")):
        raise TypeError(f"{function}: order is {describe(order)}, but a Vector, array or list of vertices was wanted")
    else:
        array = home.to_device(to_ids(order, function, "vertices of order", home))
    if array.size != size:
        raise InvalidValue(f"{function}: order names {array.size} vertices, but the Matrix has {size}")
    if size:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= size:
            bad = low if low < 0 else high
            raise IndexOutOfBound(f"{function}: order names vertex {bad}, but the Matrix has {size}")
    seen = home.xp.zeros(size, bool)
    seen[array] = True
    if not seen.all():
        raise InvalidValue(f"{function}: order lacks vertex {int(seen.argmin())}, and another one comes again")
    return array.astype(np.int64, copy=False)


def check_ids(ids: Any, size: int, function: str, argument: str) -> None:
    """Raise IndexOutOfBound unless all of `ids` are in [0, size)."""
    if ids.size:
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= size:
            bad = low if low < 0 else high
            raise IndexOutOfBound(f"{function}: {argument} hold {bad}, but the size is {size}")


def infer_size(ids: Any, function: str, argument: str, name: str) -> int:
    """The size that holds all of `ids`, when the caller gave none."""
    if not ids.size:
        raise ValueError(f"{function}: there are no {argument} from which to infer {name}; give {name}=")
    return int(ids.max()) + 1


def index_text(index: Any) -> str:
    """An int or Index as a caller would write it."""
    if isinstance(index, int):
        return str(index)
    if index.kind == "all":
        return ":"
    if index.kind == "range":
        stop = "" if index.stop < 0 else index.stop
        return f"{index.start}:{stop}" + (f":{index.step}" if index.step != 1 else "")
    shown = ", ".join(map(str, index.array[:4].tolist()))
    return f"[{shown}, …]" if index.size > 4 else f"[{shown}]"
