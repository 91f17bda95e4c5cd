"""Arrays from a caller, as coordinates or compressed rows (or columns): checked, and made into a block."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import DimensionMismatch, InvalidValue
from spgraph import _resolve as resolve
from spgraph import engine
from spgraph._arrays import together
from spgraph._convert import to_size, to_values
from spgraph._vector_make import named
from spgraph.block import MatrixBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.matrix_parts import matrix_storage
from spgraph.indexing import check_ids, to_ids

__all__ = ["built", "csr_block", "expanded"]


def built(nrows, ncols, rows, columns, values, dtype, dup_op, function, device) -> MatrixBlock:
    """A block on `device` from coordinates; `function` is what the caller called."""
    if rows.size != columns.size:
        raise DimensionMismatch(f"{function}: there are {rows.size} rows, but {columns.size} columns")
    check_ids(rows, nrows, function, "rows")
    check_ids(columns, ncols, function, "columns")
    array, dtype = checked_values(values, dtype, rows.size, function, device)
    if dup_op is not None:
        dup_op = resolve.dup_op(dup_op, dtype, function)
    try:
        return engine.build_matrix(nrows, ncols, rows, columns, array, dtype.np_type, dup_op, device=device)
    except InvalidValue as error:
        raise named(error, function) from None


def checked_values(values, dtype, count, function, device):
    array, dtype = to_values(values, dtype, function, device=device)
    if array.ndim > 1:
        raise DimensionMismatch(f"{function}: values have {array.ndim} dimensions, but 1 was wanted")
    if array.ndim and array.size != count:
        raise DimensionMismatch(f"{function}: there are {count} indices, but {array.size} values")
    return array, dtype


def _check_pointers(indptr, count: int, function: str) -> None:
    if not indptr.size:
        raise InvalidValue(f"{function}: indptr is empty, but nrows + 1 offsets were wanted")
    first, last = int(indptr[0]), int(indptr[-1])
    if first != 0 or last != count:
        raise InvalidValue(
            f"{function}: indptr goes from {first} to {last}, but 0 to {count} (the number of indices) was wanted"
        )
    if (indptr[1:] < indptr[:-1]).any():
        raise InvalidValue(f"{function}: indptr falls somewhere, but offsets that never fall were wanted")


def csr_block(indptr, indices, values, dtype, nrows, ncols, function, names, device, copy=True) -> MatrixBlock:
    """A block on `device` from compressed rows; `names` are those of the sizes in `function`.

    Without `copy`, arrays that are as the block wants them are the block's.
    """
    indptr = to_ids(indptr, function, "indptr", device, narrow=True)
    indices = to_ids(indices, function, "indices", device, narrow=True)
    _check_pointers(indptr, indices.size, function)
    if nrows is not None and nrows != indptr.size - 1:
        raise DimensionMismatch(f"{function}: {names[0]} is {nrows}, but indptr has length {indptr.size}")
    nrows = indptr.size - 1
    if ncols is None:
        ncols = int(indices.max()) + 1 if indices.size else 0
    ncols = to_size(ncols, function, names[1])
    check_ids(indices, ncols, function, "indices")
    array, dtype = checked_values(values, dtype, indices.size, function, device)
    home, (indptr, indices) = together(device, indptr, indices)
    if not indices.size or not _ascending(home.xp, indptr, indices):
        rows = home.sort.row_numbers(indptr, indices.size)
        return built(nrows, ncols, rows, indices, array, dtype, None, function, device)
    block = matrix_storage(nrows, ncols, dtype.np_type, device)
    indptr = device.to_device(_owned(indptr, index_dtype(indices.size), copy))
    indices = device.to_device(_owned(indices, index_dtype(ncols), copy))
    iso = array.ndim == 0
    values = np.array(array, ndmin=1) if iso else device.to_device(_owned(array, dtype.np_type, copy))
    block.set_csr(indptr, indices, values, iso=iso)
    return block


def _ascending(xp, indptr, indices) -> bool:
    """Whether the columns of every row ascend."""
    good = xp.ones(indices.size, np.bool_)
    good[1:] = indices[1:] > indices[:-1]
    good[indptr[:-1][indptr[:-1] < indices.size]] = True  # where a row starts
    return bool(good.all())


def _owned(array, dtype, copy):
    return array.astype(dtype, copy=copy or not array.flags.c_contiguous)


def expanded(outer, indptr, indices, function, name, device):
    """Both coordinates of doubly compressed arrays."""
    outer, indptr = to_ids(outer, function, name, device), to_ids(indptr, function, "indptr", device)
    indices = to_ids(indices, function, "indices", device)
    _check_pointers(indptr, indices.size, function)
    if indptr.size != outer.size + 1:
        raise DimensionMismatch(f"{function}: {name} has {outer.size} items, but indptr has {indptr.size}")
    home, (outer, indptr) = together(device, outer, indptr)
    return outer[home.sort.row_numbers(indptr, indices.size)], indices
