"""Matrices from what the caller has: coordinates, edges, CSR and CSC arrays, dictionaries, dense arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from semirings.dtypes import lookup_dtype
from semirings.exceptions import DimensionMismatch, InvalidValue, OutputNotEmpty
from spgraph import context, engine
from spgraph._arrays import given_array, home_of
from spgraph._convert import fit, to_order, to_size, to_values
from spgraph._elementwise import bound_scalar
from spgraph._matrix_build import built, csr_block, expanded
from spgraph._room import making
from spgraph._vector_make import is_present
from spgraph.block import MatrixBlock
from spgraph.exchange.matrix_parts import matrix_storage
from spgraph.indexing import infer_size, to_ids

if TYPE_CHECKING:
    from spgraph.matrix import Matrix

__all__ = ["MatrixMake"]


class MatrixMake:
    """Constructors, and `build`."""

    __slots__ = ()

    if TYPE_CHECKING:  # Matrix has them
        _wrap: Any
        _block: Any
        dtype: Any

    @classmethod
    def from_coo(
        cls,
        rows: Any,
        columns: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: int | None = None,
        ncols: int | None = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """A Matrix from rows, columns and values.

        Parameters
        ----------
        rows, columns : sequence or array of int
            In any order. Arrays may be CuPy's, PyTorch's or others that have ``__cuda_array_interface__`` or
            ``__dlpack__``.
        values : sequence, array or scalar, default 1.0
            One per entry, or one for all (stored once: an unweighted graph keeps no values).
        dtype : optional
            By default that of the values.
        nrows, ncols : int, optional
            By default the largest index plus one. A graph's Matrix is square: give both.
        dup_op : BinaryOp, Monoid or str, optional
            How values of the same position combine. Without it, duplicates raise.
        name : str, optional

        Raises
        ------
        InvalidValue
            For duplicates without `dup_op`, and for values that `dtype` can't hold.
        IndexOutOfBound
            For an index that is negative or too large.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], [5, 6, 7], nrows=3, ncols=3)
        >>> A.nvals, A.shape, A.dtype
        (3, (3, 3), INT64)
        """
        device = context.device()
        with making("from_coo", device):
            rows = to_ids(rows, "from_coo", "rows", device, narrow=True)
            columns = to_ids(columns, "from_coo", "columns", device, narrow=True)
            nrows = _size(nrows, rows, "rows", "nrows")
            ncols = _size(ncols, columns, "columns", "ncols")
            block = built(nrows, ncols, rows, columns, values, dtype, dup_op, "from_coo", device)
            return cls._wrap(block, name)

    @classmethod
    def from_edgelist(
        cls,
        edgelist: Any,
        values: Any = None,
        dtype: Any = None,
        *,
        nrows: int | None = None,
        ncols: int | None = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """A Matrix from ``(row, column)`` pairs or ``(row, column, value)`` triples.

        Parameters
        ----------
        edgelist : iterable, or integer array of shape (n, 2)
        values : sequence or scalar, optional
            If the edge list has none; default 1.0.
        dtype, nrows, ncols, dup_op, name
            As for `from_coo`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_edgelist([(0, 1, 5), (1, 2, 6)]).to_dicts()
        {0: {1: 5}, 1: {2: 6}}
        """
        own: Any = None
        rows: Any
        columns: Any
        array = given_array(edgelist, context.device(), "from_edgelist", "edgelist")
        if array is not None:
            edgelist = array
            if edgelist.ndim != 2 or edgelist.shape[1] != 2:
                raise InvalidValue(
                    f"from_edgelist: edgelist has shape {edgelist.shape}, but (n, 2) was wanted; "
                    "values are given separately"
                )
            rows, columns = edgelist[:, 0], edgelist[:, 1]
        else:
            edges = list(edgelist)
            lengths = {len(edge) if hasattr(edge, "__len__") else 0 for edge in edges}
            if not lengths <= {2} and not lengths <= {3}:
                raise InvalidValue("from_edgelist: all items are pairs (row, column), or all triples with a value")
            parts = [list(part) for part in zip(*edges)] if edges else [[], []]
            rows, columns = parts[:2]
            own = parts[2] if len(parts) == 3 else None
        if own is not None and values is not None:
            raise TypeError("from_edgelist: values were given twice, in the triples and as values")
        values = (1.0 if own is None else own) if values is None else values
        return cls.from_coo(rows, columns, values, dtype, nrows=nrows, ncols=ncols, dup_op=dup_op, name=name)

    @classmethod
    def from_csr(
        cls,
        indptr: Any,
        col_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: int | None = None,
        ncols: int | None = None,
        name: str | None = None,
        copy: bool = True,
    ) -> Matrix:
        """A Matrix from CSR arrays, as SciPy has them.

        Parameters
        ----------
        indptr : sequence or array of int, length nrows + 1
        col_indices : sequence or array of int
            Columns of row i are ``col_indices[indptr[i]:indptr[i + 1]]``, in any order. Arrays may be CuPy's,
            PyTorch's or others, as for `from_coo`.
        values : sequence, array or scalar, default 1.0
        dtype, name
            As for `from_coo`.
        nrows : int, optional
            Checked against `indptr`.
        ncols : int, optional
            By default the largest column plus one.
        copy : bool, default True
            False shares the arrays that are on the Matrix's device, of the right dtype (indices of 32 bits where they
            suffice) and sorted within rows: they must not be written to as long as the Matrix is in use.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_csr([0, 2, 2, 3], [0, 1, 1], [5, 6, 7]).to_dicts()
        {0: {0: 5, 1: 6}, 2: {1: 7}}
        """
        device = context.device()
        with making("from_csr", device):
            names = ("nrows", "ncols")
            block = csr_block(indptr, col_indices, values, dtype, nrows, ncols, "from_csr", names, device, copy)
            return cls._wrap(block, name)

    @classmethod
    def from_csc(
        cls,
        indptr: Any,
        row_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: int | None = None,
        ncols: int | None = None,
        name: str | None = None,
    ) -> Matrix:
        """A Matrix from CSC arrays; see `from_csr`."""
        device = context.device()
        with making("from_csc", device):
            names = ("ncols", "nrows")
            block = csr_block(indptr, row_indices, values, dtype, ncols, nrows, "from_csc", names, device)
        return cls._wrap(block, None).T.new(name=name)

    @classmethod
    def from_dcsr(
        cls,
        compressed_rows: Any,
        indptr: Any,
        col_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: int | None = None,
        ncols: int | None = None,
        name: str | None = None,
    ) -> Matrix:
        """A Matrix from CSR arrays of the rows that are not empty, which `compressed_rows` names."""
        device = context.device()
        rows, columns = expanded(compressed_rows, indptr, col_indices, "from_dcsr", "compressed_rows", device)
        return cls.from_coo(rows, columns, values, dtype, nrows=nrows, ncols=ncols, name=name)

    @classmethod
    def from_dcsc(
        cls,
        compressed_cols: Any,
        indptr: Any,
        row_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: int | None = None,
        ncols: int | None = None,
        name: str | None = None,
    ) -> Matrix:
        """A Matrix from CSC arrays of the columns that are not empty, which `compressed_cols` names."""
        device = context.device()
        columns, rows = expanded(compressed_cols, indptr, row_indices, "from_dcsc", "compressed_cols", device)
        return cls.from_coo(rows, columns, values, dtype, nrows=nrows, ncols=ncols, name=name)

    @classmethod
    def from_dicts(
        cls,
        nested_dicts: Any,
        dtype: Any = None,
        *,
        order: str = "rowwise",
        nrows: int | None = None,
        ncols: int | None = None,
        name: str | None = None,
    ) -> Matrix:
        """A Matrix from ``{row: {column: value}}``, or a list of dictionaries, one per row.

        Parameters
        ----------
        nested_dicts : mapping or sequence of mappings
        order : {"rowwise", "columnwise"}
            With "columnwise" the outer level is columns.
        dtype, nrows, ncols, name
            As for `from_coo`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_dicts({0: {1: 5}, 2: {0: 6}}).to_dicts()
        {0: {1: 5}, 2: {0: 6}}
        """
        rowwise = to_order(order, "from_dicts")
        outer: Any
        if isinstance(nested_dicts, Sequence):
            outer, dicts = range(len(nested_dicts)), list(nested_dicts)
            given = nrows if rowwise else ncols
            if given is not None and given != len(dicts):
                raise DimensionMismatch(f"from_dicts: there are {len(dicts)} dictionaries, but {given} was given")
            nrows, ncols = (len(dicts), ncols) if rowwise else (nrows, len(dicts))
        elif isinstance(nested_dicts, Mapping):
            outer, dicts = list(nested_dicts.keys()), list(nested_dicts.values())
        else:
            raise TypeError("from_dicts: nested_dicts is neither a mapping nor a list of mappings")
        ids = to_ids(list(outer), "from_dicts", "keys")
        ids = np.repeat(ids, [len(d) for d in dicts]) if dicts else ids
        inner = list(chain.from_iterable(dicts))
        values = list(chain.from_iterable(d.values() for d in dicts))
        rows, columns = (ids, inner) if rowwise else (inner, ids)
        return cls.from_coo(rows, columns, values, dtype, nrows=nrows, ncols=ncols, name=name)

    @classmethod
    def from_dense(
        cls, values: Any, missing_value: Any = None, *, dtype: Any = None, name: str | None = None
    ) -> Matrix:
        """A Matrix from a two-dimensional array or a list of lists.

        Parameters
        ----------
        values : array of two dimensions
            Also CuPy's, PyTorch's and others, as for `from_coo`.
        missing_value : scalar, optional
            Values equal to it (NaN: those that are NaN) become absent.
        dtype, name : optional

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_dense([[0, 5], [6, 0]], missing_value=0).to_dicts()
        {0: {1: 5}, 1: {0: 6}}
        """
        device = context.device()
        with making("from_dense", device):
            return cls._wrap(dense_matrix(values, missing_value, dtype, device), name)

    @classmethod
    def from_scalar(cls, value: Any, nrows: int, ncols: int, dtype: Any = None, *, name: str | None = None) -> Matrix:
        """A Matrix in which every position holds one value.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_scalar(5, 2, 2).to_dense()
        array([[5, 5],
               [5, 5]])
        """
        nrows, ncols = to_size(nrows, "from_scalar", "nrows"), to_size(ncols, "from_scalar", "ncols")
        number, found = bound_scalar(value, "from_scalar", "value")
        dtype = found if dtype is None else lookup_dtype(dtype)
        number = fit(number, dtype, "from_scalar", "value")
        device = context.device()
        with making("from_scalar", device):
            block = matrix_storage(nrows, ncols, dtype.np_type, device)
            if nrows and ncols:
                xp = device.xp
                indptr = xp.arange(0, nrows * ncols + 1, ncols)
                block.set_csr(indptr, xp.tile(xp.arange(ncols), nrows), np.array([number]), iso=True)
            return cls._wrap(block, name)

    def build(
        self,
        rows: Any,
        columns: Any,
        values: Any,
        *,
        dup_op: Any = None,
        clear: bool = False,
        nrows: int | None = None,
        ncols: int | None = None,
    ) -> None:
        """Fill an empty Matrix in place; `from_coo` makes and fills one.

        Parameters
        ----------
        rows, columns, values, dup_op
            As for `from_coo`; values are stored with the dtype of the Matrix.
        clear : bool, default False
            Remove what is there first. Without it a Matrix with entries raises OutputNotEmpty.
        nrows, ncols : int, optional
            Resize first.
        """
        block = self._block
        if block.nvals and not clear:
            raise OutputNotEmpty(f"build: the Matrix has {block.nvals} entries; give clear=True to replace them")
        nrows = block.nrows if nrows is None else to_size(nrows, "build", "nrows")
        ncols = block.ncols if ncols is None else to_size(ncols, "build", "ncols")
        device = block.device
        with making("build", device):
            rows, columns = to_ids(rows, "build", "rows", device), to_ids(columns, "build", "columns", device)
            block.assume(built(nrows, ncols, rows, columns, values, self.dtype, dup_op, "build", device))


def dense_matrix(values: Any, missing_value: Any, dtype: Any, device: context.Device) -> MatrixBlock:
    """A block on `device` with one value per position; see `Matrix.from_dense`."""
    array, dtype = to_values(values, dtype, "from_dense", device=device)
    if array.ndim == 0:
        raise TypeError("from_dense: values are one number; use Matrix.from_scalar(value, nrows, ncols)")
    if array.ndim != 2:
        raise DimensionMismatch(f"from_dense: values have {array.ndim} dimensions, but 2 were wanted")
    xp = home_of(array, device).xp
    present = xp.ones(array.shape, np.bool_) if missing_value is None else is_present(array, missing_value)
    rows, columns = map(xp.ascontiguousarray, xp.nonzero(present))
    nrows, ncols = array.shape
    return engine.build_matrix(nrows, ncols, rows, columns, array[rows, columns], dtype.np_type, device=device)


def _size(given, ids, argument, name):
    return infer_size(ids, "from_coo", argument, name) if given is None else to_size(given, "from_coo", name)
