"""Reductions of a matrix by a monoid: to a vector (rows or columns) or to a scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

import semirings
from semirings import expr as ex
from semirings.expr import cast_array
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import bind, kernel_for
from spgraph.engine.vector_write import write
from spgraph.kernels.cpu._pieces import NOTHING
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_for, threads

__all__ = ["matrix_reduce_rows", "matrix_reduce_scalar"]


def matrix_reduce_rows(
    out: VectorBlock, mask: Mask | None, accum, replace: bool, A: MatrixBlock, a_t: bool, monoid
) -> None:
    """C<M, replace> (accum)= the sum of each row of A (of each column, if transposed) that has entries.

    Columns are summed without making the transpose.
    """
    columns = a_t and not A.has_transpose
    write(out, mask, accum, replace, _columns(A, monoid) if columns else _rows(A.oriented(a_t), monoid))


def _kernel(name: str, A: MatrixBlock, monoid):
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
        if not A.device.on_host:
            from spgraph.kernels.cuda.assemble import hardware_atomic

            consts["ATOMIC"] = hardware_atomic(monoid)
        return consts, {"ADD": (add, ("s", "t")), "TAKE": (take, ("x",))}

    return kernel_for(A.device, name, (monoid.key, A.dtype, A.iso), make)


def _rows(A: MatrixBlock, monoid) -> VectorBlock:
    device: Any = A.device
    xp = device.xp
    T = VectorBlock(A.nrows, monoid.type.np_type, A.rows, device=device)
    if A.iso and A.nvals and (monoid.idempotent or monoid.terminal_any or _multiplies(monoid)):
        _repeated_rows(T, A, monoid)
        return T
    present, values = xp.empty(A.nrows, np.uint8), xp.empty(A.nrows, T.dtype)
    kernel, args = _kernel("reduce.reduce_rows", A, monoid), (A.indptr, A.values, present, values)
    if device.on_host:
        T.set_bitmap(present, values, sum(device.over_rows(kernel, A.indptr, A.nvals + A.nrows, args)))
        return T
    from spgraph.engine.shares_cuda import row_shares

    shares = row_shares(A)
    with device.lock:  # the giants' counters are the matrix's
        later = kernel(shares.units, (*shares.args, xp.empty(shares.pieces, T.dtype), shares.arrived, *args))
    T.set_bitmap_later(present, values, lambda: later.get()[0])
    return T


def _multiplies(monoid) -> bool:
    """Whether the sum of so many equal values is exactly their product."""
    return monoid.parent is semirings.monoid.plus and monoid.type.np_type.kind in "iu"


def _repeated_rows(T: VectorBlock, A: MatrixBlock, monoid) -> None:
    """T = the sums of rows whose values are all the same: lengths say everything."""
    xp = A.device.xp
    one = cast_array(A.device.to_host(A.values[:1]), T.dtype)
    lengths = A.indptr[1:] - A.indptr[:-1]
    present = (lengths != 0).view(np.uint8)
    repeated = not (monoid.idempotent or monoid.terminal_any)
    values = lengths.astype(T.dtype) * one[0] if repeated else one
    if A.device.on_host:
        T.set_bitmap(present, values, int(np.count_nonzero(present)), iso=not repeated)
    else:
        T.set_bitmap_later(present, values, lambda: int(xp.count_nonzero(present)), iso=not repeated)


def _columns(A: MatrixBlock, monoid) -> VectorBlock:
    T = VectorBlock(A.ncols, monoid.type.np_type, A.cols, device=A.device)
    (_threaded if A.device.on_host else _atomic)(T, _kernel("reduce.reduce_columns", A, monoid), A, monoid)
    return T


def _atomic(T: VectorBlock, kernel, A: MatrixBlock, monoid) -> None:
    """T = the sums: all entries at once, combined in place."""
    xp = A.device.xp
    present, values = xp.zeros(A.ncols, np.uint8), A.device.filled(A.ncols, monoid.start, T.dtype)
    A.device.over(kernel, A.nvals, A.nvals, (NOTHING, NOTHING, A.indices, A.values, present, values))
    T.set_bitmap_later(present, values, lambda: int(xp.count_nonzero(present)))


def _threaded(T: VectorBlock, kernel, A: MatrixBlock, monoid) -> None:
    """T = the sums, on the CPU: first those of each thread's rows."""
    parts = min(threads(), A.nvals // max(A.ncols, 1)) if A.nvals >= PARALLEL_WORK else 1
    parts = max(parts, 1)
    cuts = np.searchsorted(A.indptr, np.arange(parts + 1) * A.nvals // parts)
    cuts[0], cuts[-1] = 0, A.nrows
    present, values = np.zeros((parts, A.ncols), np.uint8), np.zeros((parts, A.ncols), T.dtype)
    bounds = [(part, part + 1) for part in range(parts)]
    parallel_for(kernel, bounds, A.nvals, (cuts, A.indptr, A.indices, A.values, present, values))
    bits, total = present[0].copy(), values[0].copy()
    for part in range(1, parts):
        both, new = (bits & present[part]) != 0, (~bits & present[part] & 1) != 0
        total[both] = monoid.numpy(total[both], values[part][both])
        total[new] = values[part][new]
        bits |= present[part]
    T.set_bitmap(bits, total, int(np.count_nonzero(bits)))


def matrix_reduce_scalar(A: MatrixBlock, monoid):
    """The sum of all entries as a scalar of the monoid's type, None if there are none. A block remembers it."""
    if not A.nvals:
        return None
    total = A.totals.get(monoid.key)
    if total is None:
        total = A.totals[monoid.key] = _total(A, monoid)
    return total


def _total(A: MatrixBlock, monoid):
    dtype = monoid.type.np_type
    if A.iso or monoid.terminal_any:
        one = cast_array(A.device.to_host(A.values[:1]), dtype)[0]
        return one if monoid.idempotent or monoid.terminal_any else _repeated(one, A.nvals, monoid)
    kernel = _kernel("reduce.reduce_all", A, monoid)
    parts = A.device.over(kernel, A.nvals, A.nvals, (A.values,))
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
