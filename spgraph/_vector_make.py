"""Vectors from what the caller has: coordinates, pairs, dictionaries, arrays, one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from semirings.dtypes import lookup_dtype
from semirings.exceptions import DimensionMismatch, InvalidValue, OutputNotEmpty
from spgraph import _resolve as resolve
from spgraph import context, engine
from spgraph._arrays import home_of
from spgraph._convert import fit, to_size, to_values
from spgraph._elementwise import bound_scalar
from spgraph._room import making
from spgraph.block import VectorBlock
from spgraph.context import Device
from spgraph.exchange.vector_parts import vector_storage
from spgraph.indexing import check_ids, infer_size, to_ids

if TYPE_CHECKING:
    from spgraph.vector import Vector

__all__ = ["VectorMake"]


class VectorMake:
    """Constructors, and `build`."""

    __slots__ = ()

    if TYPE_CHECKING:  # Vector has them
        _wrap: Any
        _block: Any
        dtype: Any

    @classmethod
    def from_coo(
        cls,
        indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        size: int | None = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Vector:
        """A Vector from indices and values.

        Parameters
        ----------
        indices : sequence or array of int
            In any order. Arrays may be CuPy's, PyTorch's or others, as for `from_dense`; they are copied.
        values : sequence, array or scalar, default 1.0
            One per index, or one for all (stored once).
        dtype : optional
            By default that of the values.
        size : int, optional
            By default the largest index plus one.
        dup_op : BinaryOp, Monoid or str, optional
            How values of the same index combine. Without it, duplicates raise.
        name : str, optional

        Raises
        ------
        InvalidValue
            For duplicates without `dup_op`, and for values that `dtype` can't hold.
        IndexOutOfBound
            For an index that is negative or not below `size`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_coo([0, 3], [1.5, 2.5]).to_dict()
        {0: 1.5, 3: 2.5}
        >>> sg.Vector.from_coo([0, 0], [1, 2], dup_op="+").to_dict()
        {0: 3}
        """
        device = context.device()
        with making("from_coo", device):
            ids = to_ids(indices, "from_coo", "indices", device)
            size = infer_size(ids, "from_coo", "indices", "size") if size is None else to_size(size, "from_coo", "size")
            return cls._wrap(_built(size, ids, values, dtype, dup_op, "from_coo", device), name)

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable,
        dtype: Any = None,
        *,
        size: int | None = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Vector:
        """A Vector from ``(index, value)`` pairs; the other arguments are those of `from_coo`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_pairs([(0, 5), (2, 7)]).to_dict()
        {0: 5, 2: 7}
        """
        if isinstance(pairs, np.ndarray):
            raise TypeError("from_pairs: pairs are an array; use Vector.from_coo(a[:, 0], a[:, 1])")
        pairs = list(pairs)
        if any(not hasattr(pair, "__len__") or len(pair) != 2 for pair in pairs):
            raise InvalidValue("from_pairs: each item is a pair (index, value)")
        indices, values = zip(*pairs) if pairs else ((), ())
        return cls.from_coo(indices, list(values), dtype, size=size, dup_op=dup_op, name=name)

    @classmethod
    def from_dict(cls, d: Mapping, dtype: Any = None, *, size: int | None = None, name: str | None = None) -> Vector:
        """A Vector from ``{index: value}``.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_dict({3: True, 0: False}).to_dict()
        {0: False, 3: True}
        """
        if size is None and not d:
            size = 0
        return cls.from_coo(list(d.keys()), list(d.values()), dtype, size=size, name=name)

    @classmethod
    def from_dense(
        cls, values: Any, missing_value: Any = None, *, dtype: Any = None, name: str | None = None, copy: bool = True
    ) -> Vector:
        """A Vector from one value per position.

        Parameters
        ----------
        values : sequence or array of one dimension
            Also CuPy's, PyTorch's and others that have ``__cuda_array_interface__`` or ``__dlpack__``.
        missing_value : scalar, optional
            Values equal to it (NaN: those that are NaN) become absent.
        dtype : optional
            By default that of the values.
        name : str, optional
        copy : bool, default True
            False lets the Vector use the array itself, if it is writable, contiguous, of that dtype and on the
            Vector's device: who writes to one of them then changes both.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_dense([5, 0, 7], missing_value=0).to_dict()
        {0: 5, 2: 7}
        """
        device = context.device()
        with making("from_dense", device):
            return cls._wrap(dense_vector(values, missing_value, dtype, device, copy), name)

    @classmethod
    def from_scalar(cls, value: Any, size: int, dtype: Any = None, *, name: str | None = None) -> Vector:
        """A Vector in which every position holds one value, which is stored once.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_scalar(5, size=1_000_000_000).nvals
        1000000000
        """
        size = to_size(size, "from_scalar", "size")
        number, found = bound_scalar(value, "from_scalar", "value")
        dtype = found if dtype is None else lookup_dtype(dtype)
        return cls._wrap(filled_vector(size, fit(number, dtype, "from_scalar", "value"), context.device()), name)

    def build(
        self, indices: Any, values: Any, *, dup_op: Any = None, clear: bool = False, size: int | None = None
    ) -> None:
        """Fill an empty Vector in place; `from_coo` makes and fills one.

        Parameters
        ----------
        indices, values, dup_op
            As for `from_coo`; values are stored with the dtype of the Vector.
        clear : bool, default False
            Remove what is there first. Without it a Vector with entries raises OutputNotEmpty.
        size : int, optional
            Resize first.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector(int, 3)
        >>> v.build([2], [5])
        >>> v.to_dict()
        {2: 5}
        """
        block = self._block
        if block.nvals and not clear:
            raise OutputNotEmpty(f"build: the Vector has {block.nvals} entries; give clear=True to replace them")
        device = block.device
        with making("build", device):
            ids = to_ids(indices, "build", "indices", device)
            size = block.size if size is None else to_size(size, "build", "size")
            block.assume(_built(size, ids, values, self.dtype, dup_op, "build", device))


def dense_vector(values: Any, missing_value: Any, dtype: Any, device: Device, copy: bool = True) -> VectorBlock:
    """A block on `device` with one value per position; see `Vector.from_dense`."""
    array, dtype = to_values(values, dtype, "from_dense", device=device)
    if array.ndim == 0:
        raise TypeError("from_dense: values are one number; use Vector.from_scalar(value, size)")
    if array.ndim != 1:
        raise DimensionMismatch(f"from_dense: values have {array.ndim} dimensions, but 1 was wanted")
    block = vector_storage(array.size, dtype.np_type, device)
    xp = home_of(array, device).xp
    if missing_value is not None:
        kept = xp.flatnonzero(is_present(array, missing_value))
        if kept.size < array.size:
            return engine.build_vector(array.size, kept, array[kept], dtype.np_type, device=device)
    if array.size:
        shared = not copy and array.flags.c_contiguous and getattr(array.flags, "writeable", True)
        block.set_full(device.to_device(array if shared else xp.array(array, dtype.np_type, order="C")))
    return block


def filled_vector(size: int, value: np.generic, device: Device) -> VectorBlock:
    """A block on `device` in which every position holds one value."""
    block = vector_storage(size, value.dtype, device)
    if size:
        block.set_full(np.array([value]), iso=True)
    return block


def is_present(array: Any, missing_value: Any) -> Any:
    """Where `array` is not `missing_value`; NaN means NaN."""
    missing, _ = bound_scalar(missing_value, "from_dense", "missing_value")
    return array == array if missing != missing else array != missing


def _built(size, ids, values, dtype, dup_op, function, device) -> VectorBlock:
    check_ids(ids, size, function, "indices")
    array, dtype = to_values(values, dtype, function, device=device)
    if array.ndim > 1:
        raise DimensionMismatch(f"{function}: values have {array.ndim} dimensions, but 1 was wanted")
    if array.ndim and array.size != ids.size:
        raise DimensionMismatch(f"{function}: there are {ids.size} indices, but {array.size} values")
    if array is values or not array.flags.owndata:
        array = array.copy()  # the caller may go on using his
    if dup_op is not None:
        dup_op = resolve.dup_op(dup_op, dtype, function)
    try:
        return engine.build_vector(size, ids, array, dtype.np_type, dup_op, device=device)
    except InvalidValue as error:
        raise named(error, function) from None


def named(error: InvalidValue, function: str) -> InvalidValue:
    """The engine's error about duplicates, under the name of the function that was called."""
    return InvalidValue(f"{function}: {str(error).removeprefix('build: ')}")
