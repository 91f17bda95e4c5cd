"""What can be asked of a matrix, of A.T, or of an expression that gives a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semirings.dtypes import lookup_dtype
from semirings.expr import cast_array
from spgraph import _check as check
from spgraph import engine
from spgraph._compare import close_values, equal_values
from spgraph._convert import to_order
from spgraph._elementwise import Elementwise
from spgraph._recording import recorder, recorders, refuse
from spgraph._room import making
from spgraph._vector_reads import dense
from spgraph.context import HOST
from spgraph.indexing import parse_key

__all__ = ["MatrixReads"]


class MatrixReads(Elementwise):
    """Shape, entries, comparison, export. Nothing here changes anything."""

    __slots__ = ()
    ndim = 2

    @property
    def nrows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def ncols(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def nvals(self) -> int:
        """Number of entries. Within `loop` a number that is known later."""
        if recorders and recorder() is not None:
            from spgraph._loop_numbers import nvals_later

            return nvals_later(self)  # type: ignore[return-value]
        return self._block.nvals

    def _coo(self) -> tuple:
        """Rows, columns and values, by row and column, as arrays of the device."""
        operand = self._eval()
        return engine.matrix_coo(operand._block, operand._is_transposed, on_device=True)

    def _on_host(self, function: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same as NumPy arrays, for what leaves spgraph."""
        operand = self._eval()
        with making(function, operand._device):
            return engine.matrix_coo(operand._block, operand._is_transposed)

    def _element(self, index: tuple[int, int]):
        operand = self._eval()
        row, column = index
        if operand._is_transposed:
            row, column = column, row
        with making("get", operand._device):
            return engine.matrix_get(operand._block, row, column)

    def _parse_key(self, key: Any) -> tuple:
        with making("A[...]", self._device):
            return parse_key(key, self.shape, self._device)

    def __getitem__(self, key: Any):
        """``A[i, j]``, ``A[i, J]``, ``A[I, j]`` or ``A[I, J]``: a lazy expression, or an output for ``<<``.

        Parameters
        ----------
        key : pair of int, slice, list or array; or ``...``
            Negative integers count from the end.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_dense([[1, 2, 3], [4, 5, 6]])
        >>> A[1, 2].value
        6
        >>> A[1, :].new().to_dict()
        {0: 4, 1: 5, 2: 6}
        >>> A[:, [2, 0]].new().to_dense()
        array([[3, 1],
               [6, 4]])
        """
        return self._indexed(self._parse_key(key))

    def __contains__(self, index: Any) -> bool:
        return self._element(self._single(index, "in")) is not None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The ``(row, column)`` pairs that have an entry, by row and column."""
        rows, columns, _ = self._on_host("iter")
        return zip(rows.tolist(), columns.tolist())

    def _single(self, index: Any, function: str) -> tuple[int, int]:
        pair = self._parse_key(index)
        if not all(isinstance(i, int) for i in pair):
            raise TypeError(f"{function}: the index is two integers, (row, column)")
        return pair

    def get(self, row: int, col: int, default: Any = None) -> Any:
        """The value at (row, col) as a Python number, or `default` if there is no entry.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0], [1], [5])
        >>> A.get(0, 1), A.get(0, 0, -1)
        (5, -1)
        """
        value = self._element(self._single((row, col), "get"))
        return default if value is None else value.item()

    # ---- export -----------------------------------------------------------------------
    def to_coo(
        self,
        dtype: Any = None,
        *,
        rows: bool = True,
        columns: bool = True,
        values: bool = True,
        sort: bool = True,
    ) -> tuple:
        """Rows, columns and values as three arrays of the caller's own, by row and column.

        Parameters
        ----------
        dtype : optional
            dtype of the values, which are cast as by `dup`.
        rows, columns, values : bool, default True
            What to return; None stands for what was not wanted.
        sort : bool, default True
            They are sorted in any case.

        Returns
        -------
        rows, columns : ndarray of int64
        values : ndarray

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_coo([1, 0], [0, 1], [5, 6]).to_coo()
        (array([0, 1]), array([1, 0]), array([6, 5]))
        """
        i, j, vals = self._on_host("to_coo")
        if values and dtype is not None:
            vals = cast_array(vals, lookup_dtype(dtype).np_type)
        return (i if rows else None), (j if columns else None), (vals if values else None)

    def to_edgelist(self, dtype: Any = None, *, values: bool = True, sort: bool = True) -> tuple:
        """``(edges, values)``: an array of shape (nvals, 2) of rows and columns, and the values."""
        rows, columns, vals = self.to_coo(dtype, values=values)
        return np.column_stack([rows, columns]), vals

    def to_csr(self, dtype: Any = None, *, sort: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(indptr, column indices, values)``, as SciPy has them; indices are int64 and sorted.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_coo([0, 2], [1, 0], [5, 6]).to_csr()
        (array([0, 1, 1, 2]), array([1, 0]), array([5, 6]))
        """
        own = self._csr()
        with making("to_csr", HOST):
            indptr, indices, values = map(self._device.to_host, own)
            values = values.copy() if values is own[2] else values
            if dtype is not None:
                values = cast_array(values, lookup_dtype(dtype).np_type)
            return indptr.astype(np.int64), indices.astype(np.int64), values

    def _csr(self) -> tuple:
        """The same as arrays of the device, in the block's index widths; they may be the block's own."""
        operand = self._eval()
        with making("to_csr", operand._device):
            return engine.matrix_csr(operand._block, operand._is_transposed)

    def to_csc(self, dtype: Any = None, *, sort: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(indptr, row indices, values)`` by columns; see `to_csr`."""
        return self._flipped().to_csr(dtype)

    def to_dcsr(self, dtype: Any = None, *, sort: bool = True) -> tuple:
        """``(rows, indptr, column indices, values)`` for the rows that are not empty."""
        rows, columns, values = self.to_coo(dtype)
        present, counts = np.unique(rows, return_counts=True)
        return present, np.concatenate([[0], np.cumsum(counts)]), columns, values

    def to_dcsc(self, dtype: Any = None, *, sort: bool = True) -> tuple:
        """``(columns, indptr, row indices, values)`` for the columns that are not empty."""
        return self._flipped().to_dcsr(dtype)

    def to_dense(self, fill_value: Any = None, dtype: Any = None) -> np.ndarray:
        """A two-dimensional NumPy array.

        Parameters
        ----------
        fill_value : scalar, optional
            What stands where there is no entry; needed unless all are there.
        dtype : optional
            dtype of the array; by default one that holds values and `fill_value`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_coo([0, 1], [1, 0], [5, 6]).to_dense(0)
        array([[0, 5],
               [6, 0]])
        """
        rows, columns, values = self._on_host("to_dense")
        missing = self.nrows * self.ncols - rows.size
        if fill_value is None and missing:
            raise TypeError(f"to_dense: {missing} positions have no entry; give fill_value")
        return dense(self.shape, (rows, columns), values, self.dtype, fill_value, dtype)

    def to_dicts(self, order: str = "rowwise") -> dict:
        """``{row: {column: value}}``, or with ``order="columnwise"`` ``{column: {row: value}}``.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_coo([0, 0, 2], [0, 1, 1], [5, 6, 7]).to_dicts()
        {0: {0: 5, 1: 6}, 2: {1: 7}}
        """
        source = self if to_order(order, "to_dicts") else self._flipped()
        present, pointers, inner, values = source.to_dcsr()
        keys, items, ends = inner.tolist(), values.tolist(), pointers.tolist()
        return {
            outer: dict(zip(keys[start:stop], items[start:stop]))
            for outer, start, stop in zip(present.tolist(), ends, ends[1:])
        }

    def _flipped(self):
        return self._eval().T

    # ---- comparison -------------------------------------------------------------------
    def isequal(self, other: Any, *, check_dtype: bool = False) -> bool:
        """Whether shapes, structures and values are the same; NaN is not equal to NaN (IEEE).

        Parameters
        ----------
        other : Matrix
        check_dtype : bool, default False
            Whether dtypes must be the same, too.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 1], [1, 0], [5, 5])
        >>> A.isequal(A.T)
        True
        """
        return self._same(check.operand("isequal", "other", other, 2), check_dtype, equal_values)

    def isclose(
        self,
        other: Any,
        *,
        rel_tol: float = 1e-7,
        abs_tol: float = 0.0,
        check_dtype: bool = False,
        equal_nan: bool = False,
    ) -> bool:
        """Whether shapes and structures are the same, and values nearly so; see `Vector.isclose`."""
        other = check.operand("isclose", "other", other, 2)
        return self._same(other, check_dtype, lambda xp, a, b: close_values(xp, a, b, rel_tol, abs_tol, equal_nan),
                          "isclose")  # fmt: skip

    def _same(self, other, check_dtype, compare, who="isequal") -> bool:
        if (check_dtype and self.dtype is not other.dtype) or self.shape != other.shape:
            return False
        check.same_device(who, self, other)
        if recorders:
            refuse(who)
        if self.nvals != other.nvals:
            return False
        left, right = self._eval(), other._eval()
        with making("isequal", self._device):
            indptr, columns, values = engine.matrix_csr(left._block, left._is_transposed)
            other_indptr, other_columns, other_values = engine.matrix_csr(right._block, right._is_transposed)
            xp = self._device.xp
            same = xp.array_equal(indptr, other_indptr) and xp.array_equal(columns, other_columns)
            return bool(same) and compare(xp, values, other_values)
