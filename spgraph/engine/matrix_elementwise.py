"""Element-wise operations on matrices: union, intersection, apply and select.

T is made in one pass over the operands' entries (and in C's dtype already, unless an
accumulator needs the operator's own), then written.
"""

from __future__ import annotations

import numpy as np

from semirings import expr as ex
from spgraph.block import MatrixBlock
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import (
    NO_IDS,
    align_matrices,
    bind,
    constant,
    global_ids,
    iso_values,
    kernel_for,
    make_block,
    pair_rooms,
    same,
    shallow,
    value_dtype,
)
from spgraph.engine.matrix_write import write

__all__ = ["matrix_apply", "matrix_ewise", "matrix_select"]

PLACES = {"ix": "i", "iy": "i", "jx": "j", "jy": "j"}
NO_SCALAR = np.int8(0)


# ---- union and intersection -------------------------------------------------------
def matrix_ewise(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    kind: str,
    op,
    A: MatrixBlock,
    a_t: bool,
    B: MatrixBlock,
    b_t: bool,
    ldefault=None,
    rdefault=None,
) -> None:
    """C<M, replace> (accum)= A op B; `kind` is "add", "mult" or "union" (with defaults)."""
    pinned = () if mask is None else (mask.block,)
    A, B = align_matrices(A, B, a_t, b_t, pinned)
    dtype = value_dtype(out, accum, op.return_type.np_type)
    write(out, mask, accum, replace, _ewise(kind, op, A, B, ldefault, rdefault, dtype))


def _ewise(kind, op, A: MatrixBlock, B: MatrixBlock, ldefault, rdefault, dtype) -> MatrixBlock:
    union = kind != "mult"
    x0 = NO_SCALAR if ldefault is None else ldefault
    y0 = NO_SCALAR if rdefault is None else rdefault
    both, left, right = _exprs(kind, op, A.dtype, B.dtype, x0.dtype, y0.dtype, dtype)
    iso = _ewise_iso(union, both, left, right, A, B, x0, y0)
    ids = global_ids(A.device, op.positional, (A.rows, A.nrows), (A.cols, A.ncols))
    x_iso, y_iso = A.iso or not A.nvals, B.iso or not B.nvals
    if not union:
        uses = ex.inputs(both)
        x_iso, y_iso = x_iso or "x" not in uses, y_iso or "y" not in uses
    key = (kind, op.key, A.dtype, B.dtype, x0.dtype, y0.dtype, dtype, x_iso, y_iso, iso is None, ids is None)

    def make():
        consts = {
            "UNION": union,
            "X_ISO": x_iso,
            "Y_ISO": y_iso,
            "VALUES": iso is None,
            "MAPPED": ids is not None,
        }
        return consts, {
            "BOTH": (both, ("x", "y", "i", "j")),
            "LEFT": (left, ("x", "y0", "i", "j")),
            "RIGHT": (right, ("x0", "y", "i", "j")),
        }

    kernel = kernel_for(A.device, "merge.ewise_rows", key, make)
    weights = pair_rooms(A, B)
    work = A.nvals + B.nvals + A.nrows
    rooms = weights if union else A.indptr if A.nvals <= B.nvals else B.indptr
    args = (
        A.indptr,
        A.indices,
        _readable(A),
        B.indptr,
        B.indices,
        _readable(B),
        x0,
        y0,
        *(ids or NO_IDS[:2]),
    )
    csr = A.device.produce_rows(
        kernel, work, args, rooms, A.indices.dtype, dtype if iso is None else None, costs=weights
    )
    return make_block(A.nrows, A.ncols, dtype, csr, iso, A.rows, A.cols, device=A.device)


def _exprs(kind, op, a_dtype, b_dtype, x0_dtype, y0_dtype, dtype):
    """What to compute where both, only the left and only the right operand has an entry."""
    dtypes = {"x": a_dtype, "y": b_dtype, "x0": x0_dtype, "y0": y0_dtype}
    both = bind(op.expr, dtypes, dtype, PLACES)
    if kind == "union":
        return (
            both,
            bind(op.expr, dtypes, dtype, {**PLACES, "y": "y0"}),
            bind(op.expr, dtypes, dtype, {**PLACES, "x": "x0"}),
        )
    single = [
        ex.cast(ex.cast(ex.Input(name, dtypes[name]), op.return_type.np_type), dtype) for name in ("x", "y")
    ]
    return both, *single


def _ewise_iso(union, both, left, right, A, B, x0, y0):
    """The value of all entries of the result if that is known, else None."""
    known = iso_values(x=A, y=B)
    value = constant(both, known)
    if value is None or not union:
        return value
    known |= {"x0": x0, "y0": y0}
    return value if same(value, constant(left, known), constant(right, known)) else None


def _readable(A: MatrixBlock):
    """Values of which [0] can be read."""
    return A.values if A.values.size else np.zeros(1, A.dtype)


# ---- apply --------------------------------------------------------------------------
def matrix_apply(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixBlock,
    a_t: bool,
    op,
    left=None,
    right=None,
    thunk=None,
) -> None:
    """C<M, replace> (accum)= op(A): unary, bound binary, index-unary, or (None) the identity."""
    A = A.oriented(a_t)
    if op is None:
        write(out, mask, accum, replace, shallow(A))
        return
    dtype = value_dtype(out, accum, op.return_type.np_type)
    write(out, mask, accum, replace, _applied(op, A, left, right, thunk, dtype))


def _scalar_names(left, right, thunk):
    """The bound scalar and how an operator's inputs are named: x for the matrix, s for the scalar."""
    if left is not None:
        return left, {**PLACES, "x": "s", "y": "x"}
    if right is not None:
        return right, {**PLACES, "y": "s"}
    return NO_SCALAR if thunk is None else thunk, {**PLACES, "thunk": "s"}


def _applied(op, A: MatrixBlock, left, right, thunk, dtype) -> MatrixBlock:
    scalar, names = _scalar_names(left, right, thunk)
    expr = bind(op.expr, {"x": A.dtype, "s": scalar.dtype}, dtype, names)
    symmetric = True if A.symmetric and not op.positional else None  # what was not may become it
    iso = constant(expr, {**iso_values(x=A), "s": scalar}) if A.nvals else None
    values = None
    if iso is None:
        values = _apply_positions(expr, A, scalar) if op.positional else _apply_flat(expr, A, scalar)
    csr = A.indptr, A.indices, values
    T = make_block(A.nrows, A.ncols, dtype, csr, iso, A.rows, A.cols, device=A.device)
    T.symmetric = symmetric
    return T


def _apply_flat(expr, A: MatrixBlock, scalar):
    device, key = A.device, (expr, scalar.dtype)
    kernel = kernel_for(device, "rows.apply_flat", key, lambda: ({}, {"OP": (expr, ("x", "s"))}))
    out = device.xp.empty(A.nvals, expr.dtype)
    device.over(kernel, A.nvals, A.nvals, (A.values, scalar, out))
    return out


def _apply_positions(expr, A: MatrixBlock, scalar):
    device = A.device
    ids = global_ids(device, True, (A.rows, A.nrows), (A.cols, A.ncols))
    x_iso = A.iso or "x" not in ex.inputs(expr)
    kernel = kernel_for(
        device,
        "rows.apply_rows",
        (expr, scalar.dtype, x_iso, ids is None),
        lambda: ({"X_ISO": x_iso, "MAPPED": ids is not None}, {"OP": (expr, ("x", "s", "i", "j"))}),
    )
    out = device.xp.empty(A.nvals, expr.dtype)
    args = (A.indptr, A.indices, A.values, scalar, *(ids or NO_IDS[:2]), out)
    device.over_rows(kernel, A.indptr, A.nvals + A.nrows, args)
    return out


# ---- select -------------------------------------------------------------------------
def matrix_select(
    out: MatrixBlock, mask: Mask | None, accum, replace: bool, A: MatrixBlock, a_t: bool, op, thunk
) -> None:
    """C<M, replace> (accum)= the entries of A for which op(value, row, column, thunk) holds."""
    write(out, mask, accum, replace, selected(A.oriented(a_t), op, thunk))


def selected(A: MatrixBlock, op, thunk) -> MatrixBlock:
    """A block of the entries that `op` keeps."""
    keep, scalar = condition(A, op, thunk)
    all_or_none = constant(keep, {**iso_values(x=A), "s": scalar})
    if all_or_none is not None:
        if all_or_none:
            return shallow(A)
        return MatrixBlock(A.nrows, A.ncols, A.dtype, rows=A.rows, cols=A.cols, device=A.device)
    ids = global_ids(A.device, op.positional, (A.rows, A.nrows), (A.cols, A.ncols))
    kernel = kernel_for(
        A.device,
        "rows.select_rows",
        (keep, A.dtype, A.iso, ids is None),
        lambda: (
            {"X_ISO": A.iso, "VALUES": not A.iso, "MAPPED": ids is not None},
            {"KEEP": (keep, ("x", "s", "i", "j"))},
        ),
    )
    work = A.nvals + A.nrows
    args = (A.indptr, A.indices, A.values, scalar, *(ids or NO_IDS[:2]))
    csr = A.device.produce_rows(kernel, work, args, A.indptr, A.indices.dtype, None if A.iso else A.dtype)
    iso = A.values[0] if A.iso else None
    return make_block(A.nrows, A.ncols, A.dtype, csr, iso, A.rows, A.cols, device=A.device)


def condition(A: MatrixBlock, op, thunk) -> tuple:
    """What `op` asks of entries x of A at (i, j) with the scalar s, and s."""
    scalar, names = _scalar_names(None, None, thunk)
    return bind(op.expr, {"x": A.dtype, "s": scalar.dtype}, np.dtype(np.bool_), names), scalar
