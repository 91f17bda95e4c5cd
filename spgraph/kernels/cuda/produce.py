"""Kernels that write rows of a result without knowing beforehand how many entries they will keep.

A kernel runs twice: the first pass counts, a running sum of the counts tells where each part of the result
begins, and the second pass writes. So exactly the result is allocated, at the price of doing the work twice
(and of one wait for the total). What is counted is either each share of the work, when the kernel goes
through all rows in equal shares and writes the rows' offsets itself (its section has the argument
``out_indptr``: rows.cuh, merge.cuh), or each row (spgemm.cuh).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import OutOfMemory
from spgraph.kernels.cpu._pieces import NOTHING, narrow

__all__ = ["produce_rows", "room", "row_offsets", "running_sum"]

SHARE = 512  # items that are worth a warp of their own
MOST_SHARES = 1 << 15  # about four times the warps that an H100 holds at once


def running_sum(xp: Any, counts: Any) -> tuple[Any, int]:
    """0 and the running sum of the counts, 32-bit where it fits, and the total (for which it waits)."""
    ends = xp.zeros(counts.size + 1, np.int64)
    xp.cumsum(counts, out=ends[1:])
    total = int(ends[-1])
    return ends.astype(narrow(total), copy=False), total


def row_offsets(device: Any, counts: Any) -> Any:
    """indptr of rows with so many entries, 32-bit if it fits."""
    return running_sum(device.xp, counts)[0]


def produce_rows(device: Any, kernel: Any, work: int, args: tuple, rooms: Any, index_dtype: Any, value_dtype: Any,
                 costs: Any = None) -> tuple:
    """Run a row-producing kernel: count, scan, allocate, fill.

    Parameters
    ----------
    device : CudaDevice
    kernel : CudaKernel
        With the constant FILL still to be given.
    work : int
        Entries that the kernel looks at, and rows.
    args : tuple
    rooms : array, shape (rows + 1,)
        Running sum of the candidates of each row, for kernels that have an argument ``costs``; others only need
        its size.
    index_dtype, value_dtype : dtype
        value_dtype None: there are no values (all are equal).
    costs : array, optional
        What is passed instead of `rooms`.

    Returns
    -------
    indptr, indices, values
        values is None if value_dtype is.

    Raises
    ------
    OutOfMemory
        If the device has no room for the result; the message says how much it needs.
    """
    names, nrows = kernel.section.arguments, rooms.size - 1
    if "costs" in names:
        args = (*args, rooms if costs is None else costs)
    shared = "out_indptr" in names
    parts = max(1, min(-(-work // SHARE), MOST_SHARES)) if shared else nrows
    counts = device.xp.empty(parts, np.int64)
    if shared:
        kernel.variant(FILL=False)(parts, (*args, nrows, NOTHING, counts, NOTHING, NOTHING, NOTHING))
    else:
        kernel.variant(FILL=False)(parts, (*args, NOTHING, counts, NOTHING, NOTHING))
    offsets, total = running_sum(device.xp, counts)
    indptr = device.xp.empty(nrows + 1, narrow(total)) if shared else offsets
    indices, values = room(device, kernel.name, total, index_dtype, value_dtype)
    given = NOTHING if values is None else values
    if shared:
        kernel.variant(FILL=True)(parts, (*args, nrows, offsets, NOTHING, indptr, indices, given))
    elif total:
        kernel.variant(FILL=True)(parts, (*args, offsets, NOTHING, indices, given))
    return indptr, indices, values


def room(device: Any, name: str, total: int, index_dtype: Any, value_dtype: Any) -> tuple:
    """Arrays for `total` entries."""
    try:
        indices = device.xp.empty(total, index_dtype)
        return indices, None if value_dtype is None else device.xp.empty(total, value_dtype)
    except MemoryError as error:
        size = np.dtype(index_dtype).itemsize + np.dtype(value_dtype or "V").itemsize
        raise OutOfMemory(f"{name}: the result has {total:,} entries of {size} bytes each, {total * size:,} bytes; "
                          "a mask makes it smaller") from error
