"""Arrays from a caller, as coordinates or compressed rows (or columns): checked, and made into a block."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import DimensionMismatch, InvalidValue
from spgraph import _resolve as resolve
from spgraph import engine
from spgraph._convert import to_size, to_values
from spgraph._vector_make import named
from spgraph.block import MatrixBlock
from spgraph.indexing import check_ids, to_ids

__all__ = ["built", "csr_block", "expanded"]


def built(nrows, ncols, rows, columns, values, dtype, dup_op, function) -> MatrixBlock:
    """A block from coordinates; `function` is what the caller called."""
    if rows.size != columns.size:
        raise DimensionMismatch(f"{function}: there are {rows.size} rows, but {columns.size} columns")
    check_ids(rows, nrows, function, "rows")
    check_ids(columns, ncols, function, "columns")
    array, dtype = checked_values(values, dtype, rows.size, function)
    if dup_op is not None:
        dup_op = resolve.binary(dup_op, dtype, dtype, function, "dup_op")
    try:
        return engine.build_matrix(nrows, ncols, rows, columns, array, dtype.np_type, dup_op)
    except InvalidValue as error:
        raise named(error, function) from None


def checked_values(values, dtype, count, function):
    array, dtype = to_values(values, dtype, function)
    if array.ndim > 1:
        raise DimensionMismatch(f"{function}: values have {array.ndim} dimensions, but 1 was wanted")
    if array.ndim and array.size != count:
        raise DimensionMismatch(f"{function}: there are {count} indices, but {array.size} values")
    return array, dtype


def _check_pointers(indptr: np.ndarray, count: int, function: str) -> None:
    if not indptr.size:
        raise InvalidValue(f"{function}: indptr is empty, but nrows + 1 offsets were wanted")
    if indptr[0] != 0 or indptr[-1] != count:
        raise InvalidValue(
            f"{function}: indptr goes from {indptr[0]} to {indptr[-1]}, but 0 to {count} "
            "(the number of indices) was wanted"
        )
    if (indptr[1:] < indptr[:-1]).any():
        raise InvalidValue(f"{function}: indptr falls somewhere, but offsets that never fall were wanted")


def csr_block(indptr, indices, values, dtype, nrows, ncols, function, names) -> MatrixBlock:
    """A block from compressed rows; `names` are those of the sizes in `function`."""
    indptr, indices = to_ids(indptr, function, "indptr"), to_ids(indices, function, "indices")
    _check_pointers(indptr, indices.size, function)
    if nrows is not None and nrows != indptr.size - 1:
        raise DimensionMismatch(f"{function}: {names[0]} is {nrows}, but indptr has length {indptr.size}")
    nrows = indptr.size - 1
    if ncols is None:
        ncols = int(indices.max()) + 1 if indices.size else 0
    ncols = to_size(ncols, function, names[1])
    check_ids(indices, ncols, function, "indices")
    array, dtype = checked_values(values, dtype, indices.size, function)
    ascending = np.ones(max(indices.size, 1), bool)
    np.greater(indices[1:], indices[:-1], out=ascending[1 : indices.size])
    ascending[indptr[:-1][indptr[:-1] < indices.size]] = True  # where a row starts
    if not ascending.all() or not indices.size:
        rows = np.repeat(np.arange(nrows, dtype=np.int64), np.diff(indptr))
        return built(nrows, ncols, rows, indices, array, dtype, None, function)
    block = MatrixBlock(nrows, ncols, dtype.np_type)
    iso = array.ndim == 0
    block.set_csr(indptr.copy(), indices.copy(), np.array(array, ndmin=1), iso=iso)
    return block


def expanded(outer, indptr, indices, function, name):
    """Both coordinates of doubly compressed arrays."""
    outer, indptr = to_ids(outer, function, name), to_ids(indptr, function, "indptr")
    indices = to_ids(indices, function, "indices")
    _check_pointers(indptr, indices.size, function)
    if indptr.size != outer.size + 1:
        raise DimensionMismatch(f"{function}: {name} has {outer.size} items, but indptr has {indptr.size}")
    return np.repeat(outer, np.diff(indptr)), indices
