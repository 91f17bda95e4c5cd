"""What can be asked of a vector, or of an expression that gives one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semirings.dtypes import lookup_dtype, unify
from semirings.expr import cast_array
from spgraph import _check as check
from spgraph._base import CLASSES, RANK
from spgraph._compare import close_values, equal_values
from spgraph._convert import fit
from spgraph._elementwise import Elementwise, bound_scalar
from spgraph._recording import recorder, recorders, refuse
from spgraph._room import making
from spgraph.context import HOST
from spgraph.indexing import parse_index, parse_key
from spgraph.mask import StructuralMask, ValueMask

__all__ = ["VectorReads"]


class VectorReads(Elementwise):
    """Shape, entries, comparison, export. Nothing here changes anything."""

    __slots__ = ()
    ndim = 1

    @property
    def size(self) -> int:
        """Number of positions, with or without an entry."""
        return self._size

    @property
    def shape(self) -> tuple[int]:
        """``(size,)``."""
        return (self._size,)

    @property
    def nvals(self) -> int:
        """Number of entries. Within `loop` a number that is known later."""
        if recorders and recorder() is not None:
            from spgraph._loop_numbers import nvals_later

            return nvals_later(self)  # type: ignore[return-value]
        return self._block.nvals

    @property
    def S(self) -> StructuralMask:
        """Mask: where there is an entry."""
        return StructuralMask(self._eval())

    @property
    def V(self) -> ValueMask:
        """Mask: where there is an entry that is not zero."""
        return ValueMask(self._eval())

    def _parse_key(self, key: Any) -> Any:
        if RANK.get(type(key)) == 1 and key.dtype.np_type.kind in "iu":  # positions, see __getitem__
            check.same_device("v[p]", self, key)
            return key._eval()
        with making("v[...]", self._device):
            return parse_key(key, (self._size,), self._device)[0]

    def __getitem__(self, key: Any):
        """``v[i]`` or ``v[I]``: a lazy expression to read, or an output to write with ``<<``.

        Parameters
        ----------
        key : int, slice, list, array, ``...`` or Vector of integers
            Negative integers count from the end. A Vector p of positions stays where it is:
            ``w << v[p]`` is w(i) = v(p(i)), and ``v(accum)[p] << x`` combines every x(i) into
            v(p(i)), any number of them into one position.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 2], [5, 7], size=4)
        >>> v[2].value, v[1].value
        (7, None)
        >>> v[[2, 3]].new().to_dict()
        {0: 7}
        >>> p = sg.Vector.from_coo([0, 1, 2], [2, 2, 0], size=3)
        >>> v[p].new().to_dict()
        {0: 7, 1: 7, 2: 5}
        >>> v(sg.binary.plus)[p] << sg.Vector.from_dense([10, 20, 30])
        >>> v.to_dict()
        {0: 35, 2: 37}
        """
        return self._indexed(self._parse_key(key))

    def __contains__(self, index: Any) -> bool:
        index = parse_index(index, self._size, "in", "index")
        if not isinstance(index, int):
            raise TypeError("in: `i in v` asks for one index, an integer")
        return self._element(index) is not None

    def __iter__(self) -> Iterator[int]:
        """The indices that have an entry, ascending."""
        return iter(self.to_coo(values=False)[0].tolist())

    def get(self, index: int, default: Any = None) -> Any:
        """The value at `index` as a Python number, or `default` if there is no entry.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 2], [5, 7])
        >>> v.get(2), v.get(1, -1)
        (7, -1)
        """
        index = parse_index(index, self._size, "get", "index")
        if not isinstance(index, int):
            raise TypeError("get: index must be one integer")
        value = self._element(index)
        return default if value is None else value.item()

    def _on_host(self, function: str) -> tuple[np.ndarray, np.ndarray]:
        """Indices and values as NumPy arrays, for what leaves spgraph."""
        if recorders:
            refuse(function)
        device = self._device
        with making(function, device):
            ids, values = self._coo()
            return device.to_host(ids), device.to_host(values)

    def to_coo(self, dtype: Any = None, *, indices: bool = True, values: bool = True, sort: bool = True) -> tuple:
        """Indices and values as two arrays of the caller's own.

        Parameters
        ----------
        dtype : optional
            dtype of the values, which are cast as by `dup`.
        indices, values : bool, default True
            What to return; None stands for what was not wanted.
        sort : bool, default True
            Indices are ascending in any case.

        Returns
        -------
        indices : ndarray of int64
        values : ndarray

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_coo([2, 0], [1.5, 2.5]).to_coo()
        (array([0, 2]), array([2.5, 1.5]))
        """
        ids, vals = self._on_host("to_coo")
        if values and dtype is not None:
            vals = cast_array(vals, lookup_dtype(dtype).np_type)
        return (ids if indices else None), (vals if values else None)

    def to_dict(self) -> dict:
        """``{index: value}`` with Python numbers, by ascending index."""
        ids, values = self._on_host("to_dict")
        return dict(zip(ids.tolist(), values.tolist()))

    def to_dense(self, fill_value: Any = None, dtype: Any = None) -> np.ndarray:
        """A NumPy array of all positions.

        Parameters
        ----------
        fill_value : scalar, optional
            What stands where there is no entry; needed unless all are there.
        dtype : optional
            dtype of the array; by default one that holds values and `fill_value`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_coo([0, 2], [1, 2], size=4).to_dense(-1)
        array([ 1, -1,  2, -1])
        """
        if recorders:
            refuse("to_dense")
        block = self._block
        plain = block.format == "full" and not block.iso and block.partition.natural
        if plain and fill_value is None and dtype is None:
            return np.array(block.device.to_host(block.values))
        ids, values = self._on_host("to_dense")
        full = ids.size == self._size
        if fill_value is None and not full:
            raise TypeError(f"to_dense: {self._size - ids.size} positions have no entry; give fill_value")
        return dense((self._size,), (ids,), values, self.dtype, fill_value, dtype)

    def argsort(self, *, on_device: bool = False) -> Any:
        """The positions of all entries by rising value; of equal values the lower position first, NaN last.

        Sorted where the vector lies.

        Parameters
        ----------
        on_device : bool, default False
            Leave the result where the vector lies, for use as an index there.

        Returns
        -------
        array of int64
            NumPy's, or with `on_device` of the vector's device (CuPy's on a GPU).

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_coo([0, 2, 5], [7, 9, 3]).argsort()
        array([5, 0, 2])
        """
        if recorders:
            refuse("argsort")
        device = self._device
        with making("argsort", device):
            ids, values = self._coo()
            order = device.xp.argsort(values, kind="stable")
            order = ids[order] if on_device else device.to_host(ids[order])
            return order.astype(np.int64, copy=False)

    def isequal(self, other: Any, *, check_dtype: bool = False) -> bool:
        """Whether sizes, structures and values are the same.

        NaN is not equal to NaN (IEEE); `isclose` has ``equal_nan``.

        Parameters
        ----------
        other : Vector
        check_dtype : bool, default False
            Whether dtypes must be the same, too.

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 2])
        >>> u.isequal(sg.Vector.from_coo([0, 1], [1.0, 2.0]))
        True
        """
        return self._same(check.operand("isequal", "other", other, 1), check_dtype, equal_values)

    def isclose(
        self,
        other: Any,
        *,
        rel_tol: float = 1e-7,
        abs_tol: float = 0.0,
        check_dtype: bool = False,
        equal_nan: bool = False,
    ) -> bool:
        """Whether sizes and structures are the same, and values nearly so.

        ``abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)``

        Parameters
        ----------
        other : Vector
        rel_tol, abs_tol : float
            Tolerances.
        check_dtype : bool, default False
            Whether dtypes must be the same, too.
        equal_nan : bool, default False
            Whether NaN is close to NaN.

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 0.1 + 0.2])
        >>> u.isclose(sg.Vector.from_coo([0, 1], [1, 0.3]))
        True
        """
        other = check.operand("isclose", "other", other, 1)
        return self._same(other, check_dtype, lambda xp, a, b: close_values(xp, a, b, rel_tol, abs_tol, equal_nan))

    def _same(self, other, check_dtype, compare) -> bool:
        if (check_dtype and self.dtype is not other.dtype) or self._size != other._size:
            return False
        check.same_device("isequal", self, other)
        if recorders:
            refuse("isequal")
        if self.nvals != other.nvals:
            return False
        with making("isequal", self._device):
            ids, values = self._coo()
            other_ids, other_values = other._coo()
            xp = self._device.xp
            return bool(xp.array_equal(ids, other_ids)) and compare(xp, values, other_values)

    def diag(self, k: int = 0, *, dtype: Any = None, name: str | None = None):
        """A square Matrix with this vector on its k-th diagonal.

        Parameters
        ----------
        k : int, default 0
            Above the main diagonal if positive, below if negative. The Matrix is as large as needed.
        dtype, name : optional
            Of the Matrix.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_coo([0, 1], [5, 6]).diag(1).to_dicts()
        {0: {1: 5}, 1: {2: 6}}
        """
        return CLASSES[2]._from_diagonal(self, k, dtype, name)


def dense(shape, ids, values, own_dtype, fill_value, dtype) -> np.ndarray:
    """An array of `shape` with `values` at `ids` and `fill_value` elsewhere."""
    full = values.size == int(np.prod(shape))
    if dtype is not None:
        dtype = lookup_dtype(dtype)
    elif fill_value is None or full:
        dtype = own_dtype
    else:
        dtype = unify(bound_scalar(fill_value, "to_dense", "fill_value", own_dtype)[1], own_dtype)
    values = cast_array(values, dtype.np_type)
    if full:
        return values.reshape(shape)
    fill_value = bound_scalar(fill_value, "to_dense", "fill_value")[0]
    with making("to_dense", HOST):
        array = np.full(shape, fit(fill_value, dtype, "to_dense", "fill_value"), dtype.np_type)
        array[ids] = values
        return array
