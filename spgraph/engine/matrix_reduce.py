"""Reductions of a matrix by a monoid: to a vector (rows or columns) or to a scalar."""

from __future__ import annotations

import numpy as np

from semirings import expr as ex
from semirings.expr import cast_array
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import bind, kernel_for
from spgraph.engine.vector_write import write
from spgraph.kernels.cpu import reduce as kernels
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_for, split_even, split_rows, threads

__all__ = ["matrix_reduce_rows", "matrix_reduce_scalar"]


def matrix_reduce_rows(
    out: VectorBlock, mask: Mask | None, accum, replace: bool, A: MatrixBlock, a_t: bool, monoid
) -> None:
    """C<M, replace> (accum)= the sum of each row of A (of each column, if transposed) that has entries.

    Columns are summed without making the transpose.
    """
    columns = a_t and not A.has_transpose
    write(out, mask, accum, replace, _columns(A, monoid) if columns else _rows(A.oriented(a_t), monoid))


def _kernel(template, A: MatrixBlock, monoid):
    def make():
        dtype = monoid.type.np_type
        stops = monoid.terminal is not None and not monoid.terminal_any
        add = bind(monoid.binaryop.expr, {"s": dtype, "t": dtype}, dtype, {"x": "s", "y": "t"})
        take = ex.cast(ex.Input("x", A.dtype), dtype)
        consts = {
            "X_ISO": A.iso,
            "ANY": bool(monoid.terminal_any),
            "HAS_TERMINAL": stops,
            "TERMINAL": monoid.terminal if stops else False,
        }
        return consts, {"ADD": (add, ("s", "t")), "TAKE": (take, ("x",))}

    return kernel_for(template, (monoid.key, A.dtype, A.iso), make)


def _rows(A: MatrixBlock, monoid) -> VectorBlock:
    T = VectorBlock(A.nrows, monoid.type.np_type, A.rows)
    present, values = np.empty(A.nrows, np.uint8), np.empty(A.nrows, T.dtype)
    work = A.nvals + A.nrows
    args = A.indptr, A.values, present, values
    counts = parallel_for(_kernel(kernels.reduce_rows, A, monoid), split_rows(A.indptr, work), work, args)
    T.set_bitmap(present, values, sum(counts))
    return T


def _columns(A: MatrixBlock, monoid) -> VectorBlock:
    T = VectorBlock(A.ncols, monoid.type.np_type, A.cols)
    parts = min(threads(), A.nvals // max(A.ncols, 1)) if A.nvals >= PARALLEL_WORK else 1
    parts = max(parts, 1)
    cuts = np.searchsorted(A.indptr, np.arange(parts + 1) * A.nvals // parts)
    cuts[0], cuts[-1] = 0, A.nrows
    present, values = np.zeros((parts, A.ncols), np.uint8), np.zeros((parts, A.ncols), T.dtype)
    bounds = [(part, part + 1) for part in range(parts)]
    kernel = _kernel(kernels.reduce_columns, A, monoid)
    parallel_for(kernel, bounds, A.nvals, (cuts, A.indptr, A.indices, A.values, present, values))
    bits, total = present[0].copy(), values[0].copy()
    for part in range(1, parts):
        both, new = (bits & present[part]) != 0, (~bits & present[part] & 1) != 0
        total[both] = monoid.numpy(total[both], values[part][both])
        total[new] = values[part][new]
        bits |= present[part]
    T.set_bitmap(bits, total, int(np.count_nonzero(bits)))
    return T


def matrix_reduce_scalar(A: MatrixBlock, monoid):
    """The sum of all entries as a scalar of the monoid's type, None if there are none."""
    dtype = monoid.type.np_type
    if not A.nvals:
        return None
    if A.iso or monoid.terminal_any:
        one = cast_array(A.values[:1], dtype)[0]
        return one if monoid.idempotent or monoid.terminal_any else _repeated(one, A.nvals, monoid)
    kernel = _kernel(kernels.reduce_all, A, monoid)
    bounds = [(lo, hi) for lo, hi in split_even(A.nvals, A.nvals) if lo < hi]
    parts = parallel_for(kernel, bounds, A.nvals, (A.values,))
    total = dtype.type(parts[0])
    for part in parts[1:]:
        total = monoid.numpy(total, dtype.type(part))[()]
    return total


def _repeated(value, count: int, monoid):
    """The sum of `count` times the same value, by doubling."""
    total = None
    while count:
        if count & 1:
            total = value if total is None else monoid.numpy(total, value)[()]
        value = monoid.numpy(value, value)[()]
        count >>= 1
    return total
