"""Matrices from coordinates and back."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import InvalidValue
from semirings.expr import Input, cast, cast_array, substitute
from spgraph.block import MatrixBlock
from spgraph.engine.matrix_common import all_equal, natural, shallow
from spgraph.engine.operators import cast_values
from spgraph.kernels.device import HOST, Device

__all__ = ["build_matrix", "matrix_coo", "matrix_csr"]


def build_matrix(
    nrows: int, ncols: int, rows, cols, values, dtype, dup_op=None, *, device: Device = HOST
) -> MatrixBlock:
    """A block from checked global ids and values.

    Parameters
    ----------
    nrows, ncols : int
    rows, cols : array_like of int, shape (n,), or arrays of the device
        In any order. What lies on the host is brought to the device piece by piece.
    values : array of shape (n,), NumPy's or the device's, or a scalar
        A scalar gives an iso matrix, as do values that are all equal.
    dtype : dtype
    dup_op : typed binary operator, optional
        Combines the values of equal positions, in the order given.
    device : Device
        Where the block is to be, and the sorting is done.

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
    dtype, sort = np.dtype(dtype), device.sort
    device.check_size(8 * (nrows + 1))
    given = values if isinstance(values, device.xp.ndarray) else np.asarray(values)
    single = given.ndim == 0 or all_equal(given)
    one = device.to_host(given.ravel()[:1]).copy()
    moved = None
    if not single:
        moved = cast_values(device, given, dtype if dup_op is None else dup_op.type.np_type)
    indptr, indices, moved = sort.coo_to_csr(nrows, ncols, _ids(rows, device), _ids(cols, device), moved)
    repeated = sort.count_duplicates(indptr, indices)
    if repeated:
        if dup_op is None:
            raise InvalidValue(_repeated_message(device.xp, indptr, indices, repeated))
        if single and not _keeps(dup_op, one[0]):
            typed = cast_array(one[0], dup_op.type.np_type)[()]
            single, moved = False, device.filled(indices.size, typed, typed.dtype)
        dup = None if single else _typed(dup_op)
        indptr, indices, moved = sort.combine_duplicates(indptr, indices, moved, dup)
    block = MatrixBlock(nrows, ncols, dtype, device=device)
    if not indices.size:
        final = device.xp.empty(0, dtype)
    elif single:
        final = cast_array(one, dtype)
    else:
        final = cast_values(device, moved, dtype)
    own = _own(indices, cols, device), _own(final, given, device)
    block.set_csr(indptr, *own, iso=single and indices.size > 0)
    return block


def _ids(ids, device: Device):
    ids = ids if isinstance(ids, device.xp.ndarray) else np.asarray(ids)
    return ids if ids.dtype in (np.int32, np.int64) else ids.astype(np.int64)


def _own(array, given, device: Device):
    """`array`, copied if it is (part of) what the caller gave."""
    xp = device.xp
    both = isinstance(given, xp.ndarray) and isinstance(array, xp.ndarray)
    return array.copy() if both and xp.may_share_memory(array, given) else array


def _typed(dup_op):
    """DUP over values of the operator's first type."""
    have = dup_op.type.np_type
    x, y = Input("x", have), cast(Input("y", have), dup_op.type2.np_type)
    return cast(substitute(dup_op.expr, {"x": x, "y": y}), have), ("x", "y")


def _keeps(dup_op, value) -> bool:
    """Whether combining equal values gives that value."""
    typed = cast_array(value, dup_op.type.np_type)
    return all_equal(np.array([typed, cast_array(dup_op.numpy(typed, typed), typed.dtype)]))


def _repeated_message(xp, indptr, indices, repeated) -> str:
    same = xp.flatnonzero(indices[1:] == indices[:-1])
    rows = xp.searchsorted(indptr, same, "right") - 1
    first = int(xp.argmax(indptr[rows + 1] > same + 1))  # not the end of one row and the start of the next
    return (
        f"build: {repeated} of {indices.size} entries repeat a position, the first is (row, column) = "
        f"({int(rows[first])}, {int(indices[same[first]])}); give dup_op, for instance binary.plus, to say how "
        "duplicates combine"
    )


# ---- back -----------------------------------------------------------------------------
def matrix_csr(A: MatrixBlock, a_t: bool = False) -> tuple:
    """indptr, columns and values in natural order: arrays of A's device, which may be the block's own.

    A transpose that has to be made is not kept.
    """
    A = natural(shallow(A) if a_t and not A.has_transpose else A, a_t)
    return A.indptr, A.indices, A.device.filled(A.nvals, A.values[0], A.dtype) if A.iso else A.values


def matrix_coo(A: MatrixBlock, a_t: bool = False, *, on_device: bool = False) -> tuple:
    """Global rows, columns (int64, ascending by row, then column) and values.

    Fresh arrays: NumPy's, or with `on_device` those of A's device.
    """
    A = natural(A, a_t)
    if not on_device:
        A = A.to_device(HOST)
    rows = A.device.sort.row_numbers(A.indptr, A.nvals)
    values = A.device.filled(A.nvals, A.values[0], A.dtype) if A.iso else A.values.copy()
    return rows, A.indices.astype(np.int64), values
