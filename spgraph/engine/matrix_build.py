"""Matrices from coordinates and back."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import InvalidValue
from semirings.expr import Input, cast, cast_array, substitute
from spgraph.block import MatrixBlock
from spgraph.kernels.cpu import sort
from spgraph.partition import NATURAL

__all__ = ["all_equal", "build_matrix", "matrix_coo"]


def build_matrix(nrows: int, ncols: int, rows, cols, values, dtype, dup_op=None) -> MatrixBlock:
    """A block from checked global ids and values.

    Parameters
    ----------
    nrows, ncols : int
    rows, cols : array_like of int, shape (n,)
        In any order.
    values : ndarray of shape (n,), or a scalar
        A scalar gives an iso matrix, as do values that are all equal.
    dtype : dtype
    dup_op : typed binary operator, optional
        Combines the values of equal positions, in the order given.

    Raises
    ------
    InvalidValue
        If a position stands twice and `dup_op` is None.

    Examples
    --------
    >>> import numpy as np
    >>> block = build_matrix(2, 3, np.array([1, 0]), np.array([0, 2]), np.array([5, 7]), np.int64)
    >>> block.indptr, block.indices, block.values
    (array([0, 1, 2], dtype=int32), array([2, 0], dtype=int32), array([7, 5]))
    """
    dtype = np.dtype(dtype)
    rows, cols = _ids(rows), _ids(cols)
    given = np.asarray(values)
    single = given.ndim == 0 or all_equal(given)
    moved = None if single else cast_array(given, dtype if dup_op is None else dup_op.type.np_type)
    indptr, indices, moved = sort.coo_to_csr(nrows, ncols, rows, cols, moved)
    repeated = sort.count_duplicates(indptr, indices)
    if repeated:
        if dup_op is None:
            raise InvalidValue(_repeated_message(indptr, indices, repeated))
        if single and not _keeps(dup_op, given.ravel()[0]):
            single, moved = False, np.full(indices.size, cast_array(given.ravel()[0], dup_op.type.np_type))
        dup = None if single else _typed(dup_op)
        indptr, indices, moved = sort.combine_duplicates(indptr, indices, moved, dup)
    block = MatrixBlock(nrows, ncols, dtype)
    if single:
        final = cast_array(given.ravel()[:1], dtype) if indices.size else np.empty(0, dtype)
    else:
        final = cast_array(moved, dtype)
    block.set_csr(indptr, _own(indices, cols), _own(final, given), iso=single and indices.size > 0)
    return block


def all_equal(values: np.ndarray) -> bool:
    """Whether there are values and all have the same bits as the first (so that one can stand for all)."""
    if not values.size:
        return False
    bits = values.view(f"u{values.itemsize}") if values.flags.c_contiguous else values
    return bool(bits[-1] == bits[0] and (bits[:64] == bits[0]).all() and (bits == bits[0]).all())


def _ids(ids) -> np.ndarray:
    ids = np.asarray(ids)
    return ids if ids.dtype in (np.int32, np.int64) else ids.astype(np.int64)


def _own(array, given):
    """`array`, copied if it is (part of) what the caller gave."""
    return array.copy() if np.may_share_memory(array, given) else array


def _typed(dup_op):
    """DUP over values of the operator's first type."""
    have = dup_op.type.np_type
    x, y = Input("x", have), cast(Input("y", have), dup_op.type2.np_type)
    return cast(substitute(dup_op.expr, {"x": x, "y": y}), have), ("x", "y")


def _keeps(dup_op, value) -> bool:
    """Whether combining equal values gives that value."""
    typed = cast_array(value, dup_op.type.np_type)
    return all_equal(np.array([typed, cast_array(dup_op.numpy(typed, typed), typed.dtype)]))


def _repeated_message(indptr, indices, repeated) -> str:
    same = np.flatnonzero(indices[1:] == indices[:-1])
    rows = np.searchsorted(indptr, same, "right") - 1
    inside = indptr[rows + 1] > same + 1
    row, col = int(rows[inside][0]), int(indices[same[inside][0]])
    return (
        f"build: {repeated} of {indices.size} entries repeat a position, the first is (row, column) = "
        f"({row}, {col}); give dup_op, for instance binary.plus, to say how duplicates combine"
    )


def matrix_coo(A: MatrixBlock, a_t: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Global rows, columns (int64, ascending by row, then column) and values; fresh arrays."""
    if not (A.rows.natural and A.cols.natural):
        A = A.copy().rehome(NATURAL, NATURAL)
    A = A.oriented(a_t)
    rows = np.repeat(np.arange(A.nrows, dtype=np.int64), np.diff(A.indptr))
    values = np.full(A.nvals, A.values[0], A.dtype) if A.iso else A.values.copy()
    return rows, A.indices.astype(np.int64), values
