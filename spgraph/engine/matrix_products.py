"""Matrix times matrix over a semiring, the Kronecker product and the outer product.

A mask takes part in the product: what it does not allow is never computed. How much
each method would have to do is counted exactly (one pass over A and over the mask),
`matrix_plan` chooses, and the same counts share the rows among threads. Without a mask a
diagonal factor scales the other one's rows or columns, an entry at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semirings import expr as ex
from spgraph import _record
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine import matrix_plan
from spgraph.engine.mask import MASK_CONSTS, Mask
from spgraph.engine.matrix_common import (
    NO_IDS,
    bind,
    constant,
    global_ids,
    home,
    iso_values,
    kernel_for,
    make_block,
    natural,
    value_dtype,
)
from spgraph.engine.matrix_plan import choose_product, settled
from spgraph.engine.matrix_write import MatrixMask, view_mask, write
from spgraph.engine.operators import store
from spgraph.kernels.cpu._pieces import NOTHING
from spgraph.kernels.cpu.products import MatrixProduct
from spgraph.kernels.cuda.assemble import hardware_atomic

__all__ = ["kronecker", "mxm", "outer"]

OPERANDS = ("a", "b", "ix", "jx", "iy", "jy")


class _Term(NamedTuple):
    """What one product and the sum of products compute."""

    mult: object  # Expr over OPERANDS
    add: object  # Expr over s, t
    dtype: np.dtype  # the monoid's
    out_dtype: np.dtype
    iso: object  # the value of every entry of the result, or None
    a_iso: bool
    b_iso: bool
    consts: dict
    key: tuple


def mxm(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixBlock,
    a_t: bool,
    B: MatrixBlock,
    b_t: bool,
    semiring,
) -> None:
    """C<M, replace> (accum)= A B over a semiring."""
    A, B = _meet(A, a_t, B, b_t)
    rows, cols = (A.cols if a_t else A.rows), (B.rows if b_t else B.cols)
    view = view_mask(mask, rows, cols, (A, B))
    A = A if is_diagonal(A) else A.oriented(a_t)
    if _record.listener is not None:
        _record.listener.multiplies(A, B, b_t)
    dtype = value_dtype(out, accum, semiring.monoid.return_type.np_type)
    term = _term(semiring, A, B, dtype)
    ids = global_ids(
        A.device,
        semiring.binaryop.positional,
        (A.rows, A.nrows),
        (A.cols, A.ncols),
        (cols, B.nrows if b_t else B.ncols),
    )
    T = _product(A, B, b_t, view, term, ids)
    write(out, mask, accum, replace, T, masked=True)


def _meet(A: MatrixBlock, a_t: bool, B: MatrixBlock, b_t: bool) -> tuple[MatrixBlock, MatrixBlock]:
    """Bring the inner dimension into one partition: what is natural moves, and all of it if it is diagonal."""
    inner_a, inner_b = (A.rows if a_t else A.cols), (B.cols if b_t else B.rows)
    if inner_a is inner_b:
        return A, B
    moves = B if inner_b.natural or (not inner_a.natural and is_diagonal(B)) else A
    if is_diagonal(moves):
        if moves is B:
            return A, home(B, inner_a, inner_a, (A,))
        return home(A, inner_b, inner_b, (B,)), B
    if inner_b.natural:
        b_rows, b_cols = (B.rows, inner_a) if b_t else (inner_a, B.cols)
        return A, home(B, b_rows, b_cols, (A,))
    a_rows, a_cols = (inner_b, A.cols) if a_t else (A.rows, inner_b)
    return home(A, a_rows, a_cols, (B,)), B


def _term(semiring, A: MatrixBlock, B: MatrixBlock, out_dtype) -> _Term:
    op, monoid = semiring.binaryop, semiring.monoid
    dtype = monoid.type.np_type
    mult = bind(op.expr, {"a": A.dtype, "b": B.dtype}, dtype, {"x": "a", "y": "b"})
    add = bind(monoid.binaryop.expr, {"s": dtype, "t": dtype}, dtype, {"x": "s", "y": "t"})
    uses = ex.inputs(mult)
    a_iso, b_iso = A.iso or "a" not in uses, B.iso or "b" not in uses
    iso = None
    if monoid.idempotent or monoid.terminal_any:
        iso = constant(ex.cast(mult, out_dtype), iso_values(a=A, b=B))
    stops = monoid.terminal is not None and not monoid.terminal_any
    consts = {
        "A_ISO": a_iso,
        "B_ISO": b_iso,
        "VALUES": iso is None,
        "ANY": bool(monoid.terminal_any),
        "HAS_TERMINAL": stops,
        "TERMINAL": monoid.terminal if stops else False,
        "IDENTITY": monoid.start,
        "COUNTED": iso is None and _is_count(op, monoid, a_iso, b_iso),
        "ATOMIC": hardware_atomic(monoid),
    }
    key = (semiring.key, A.dtype, B.dtype, out_dtype, a_iso, b_iso, iso is None)
    return _Term(mult, add, dtype, out_dtype, iso, a_iso, b_iso, consts, key)


def _is_count(op, monoid, a_iso: bool, b_iso: bool) -> bool:
    """Whether every product is the same number and plus adds them up, so that they need only be counted."""
    added = monoid.binaryop.expr
    plus = isinstance(added, ex.Call) and added.name == "add" and all(isinstance(arg, ex.Input) for arg in added.args)
    return plus and monoid.type.np_type != np.bool_ and a_iso and b_iso and not op.positional


def _product(A: MatrixBlock, B: MatrixBlock, b_t: bool, view: MatrixMask, term: _Term, ids) -> MatrixBlock:
    """T = A B (B^T if b_t) within the mask."""
    device = A.device
    nrows, ncols, cols = (A.nrows, B.nrows, B.rows) if b_t else (A.nrows, B.ncols, B.cols)
    if not A.nvals or not B.nvals or (view.code in ("s", "v") and not view.indices.size):
        return MatrixBlock(nrows, ncols, term.out_dtype, rows=A.rows, cols=cols, device=device)
    if not view.code and (is_diagonal(A) or is_diagonal(B)):
        return _scaled(A, B, b_t, term, ids)
    counted = term.consts["COUNTED"] or term.iso is not None
    method, right, costs = (_within if view.code in ("s", "v") else _unmasked)(A, B, b_t, view, counted)
    key = (*term.key, view.code, ids is None)

    def kernel(name, **consts):
        return kernel_for(device, name, (*key, *consts.values()), lambda: _filled(term, view, ids, consts))

    csr = device.multiply(MatrixProduct(
        method,
        kernel,
        (A.indptr, A.indices, A.values),
        (right.indptr, right.indices, right.values),
        view.args,
        ids or NO_IDS,
        costs,
        nrows,
        A.ncols,
        ncols,
        index_dtype(ncols),
        term.dtype,
        None if term.iso is not None else term.out_dtype,
        term.consts["IDENTITY"],
        store(term.dtype, term.out_dtype),
        MASK_CONSTS[view.code],
        key,
        counted,
    ))  # fmt: skip
    return make_block(nrows, ncols, term.out_dtype, csr, term.iso, A.rows, cols, device=device)


def is_diagonal(D: MatrixBlock) -> bool:
    """Whether all entries are on the diagonal, in a partition for rows and columns; looked at once, then kept."""
    if D.nrows != D.ncols or D.rows is not D.cols or not 0 < D.nvals <= D.nrows:
        return False
    if D.diagonal is None:
        D.diagonal = bool((D.device.sort.row_numbers(D.indptr, D.nvals) == D.indices).all())
    return D.diagonal


def _scaled(A: MatrixBlock, B: MatrixBlock, b_t: bool, term: _Term, ids) -> MatrixBlock:
    """The product where one factor is diagonal: the other one's entries, each with one product."""
    device, left = A.device, is_diagonal(A)
    D, other = (A, B.oriented(b_t)) if left else (B, A)
    d_iso, x_iso = (term.a_iso, term.b_iso) if left else (term.b_iso, term.a_iso)
    key = (*term.key, left, ids is None)
    kernel = kernel_for(device, "rows.scale_rows", key, lambda: (
        {"LEFT": left, "D_ISO": d_iso, "X_ISO": x_iso, "VALUES": term.iso is None, "MAPPED": ids is not None},
        {"MULT": (term.mult, OPERANDS), "STORE": store(term.dtype, term.out_dtype)}))
    row_ids, _, col_ids = ids or NO_IDS
    args = (other.indptr, other.indices, other.values, D.indptr, D.values, row_ids, col_ids)
    csr = device.produce_rows(kernel, other.nvals + other.nrows, args, other.indptr, index_dtype(other.ncols),
                              None if term.iso is not None else term.out_dtype)
    return make_block(other.nrows, other.ncols, term.out_dtype, csr, term.iso, other.rows, other.cols, device=device)


def _filled(term: _Term, view: MatrixMask, ids, more: dict):
    """Constants and operators of the kernel."""
    consts = {**term.consts, **MASK_CONSTS[view.code], "MAPPED": ids is not None, **more}
    put = store(term.dtype, term.out_dtype)
    return consts, {"MULT": (term.mult, OPERANDS), "ADD": (term.add, ("s", "t")), "STORE": put}


# ---- the method: (function of `kernels.cpu.spgemm`, CSR of B or of its transpose, costs of the rows) --------------
def _unmasked(A: MatrixBlock, B: MatrixBlock, b_t: bool, view: MatrixMask, counted: bool):
    """Gustavson's method for all columns, or those outside a complemented mask."""
    right = B.oriented(b_t)
    return "gustavson", right, _costs(A.device, A.indptr, A.indices, A.device.xp.diff(right.indptr), None)


def _within(A: MatrixBlock, B: MatrixBlock, b_t: bool, view: MatrixMask, counted: bool):
    """What serves best within a mask."""
    dot, costs = _method(A, B, b_t, view, counted)
    return "dot_masked" if dot else "gustavson_masked", B.oriented(b_t != dot), costs


def _method(A: MatrixBlock, B: MatrixBlock, b_t: bool, view: MatrixMask, counted: bool):
    """Whether dot products serve better, and the costs of each row (running sum)."""
    device, xp = A.device, A.device.xp
    plan = _plan(device)
    if counted:
        plan = plan._replace(dot_step=plan.counted_step)

    def products(lengths):
        return _costs(device, A.indptr, A.indices, lengths, view.indptr)

    def comparisons(lengths):
        return _costs(device, view.indptr, view.indices, lengths, A.indptr)

    at_hand, other = (comparisons, products) if b_t else (products, comparisons)
    rows = view if b_t else A
    most = float(rows.indices.size) * (plan.dot_step if b_t else 1) * (_longest(B) if device.on_host else np.inf)
    if settled(most, B.nvals, plan):
        return b_t, rows.indptr  # rows are so short that steps need not be counted
    first = at_hand(xp.diff(B.indptr))
    if not B.has_transpose:
        if settled(float(first[-1]) * (plan.dot_step if b_t else 1), B.nvals, plan):
            return b_t, first
        second = other(xp.bincount(B.indices, minlength=B.ncols))
    else:
        second = other(xp.diff(B.oriented(True).indptr))
    missing = 0 if B.has_transpose else B.nvals
    gustavson, dot = (second, first) if b_t else (first, second)
    missing_b, missing_bt = (missing, 0) if b_t else (0, missing)
    method = choose_product(float(gustavson[-1]), float(dot[-1]), missing_b, missing_bt, plan)
    return (True, dot) if method == "dot" else (False, gustavson)


def _longest(B: MatrixBlock) -> int:
    """How many entries the longest row has."""
    if B.longest is None:
        B.longest = int(np.diff(B.indptr).max(initial=0))
    return B.longest


def _plan(device) -> matrix_plan.Costs:
    return matrix_plan.CPU if device.on_host else matrix_plan.GPU


def _costs(device, indptr, indices, weights, limits) -> Any:
    """Running sum of each row's steps."""
    consts = {"LIMITED": limits is not None, "SEARCH": _plan(device).search}
    kernel = kernel_for(device, "spgemm.row_costs", tuple(consts.values()), lambda: (consts, {}))
    nrows = indptr.size - 1
    costs = device.xp.zeros(nrows + 1, np.int64)
    work = indices.size + nrows
    args = (indptr, indices, weights, NOTHING if limits is None else limits, costs)
    device.over_rows(kernel, indptr, work, args)
    return device.xp.cumsum(costs)


# ---- Kronecker and outer --------------------------------------------------------------
def kronecker(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixBlock,
    a_t: bool,
    B: MatrixBlock,
    b_t: bool,
    op,
) -> None:
    """C<M, replace> (accum)= A (x) B, each entry of A times all of B."""
    A, B = natural(A, a_t), natural(B, b_t)
    write(out, mask, accum, replace, _kron(op, A, B, value_dtype(out, accum, op.return_type.np_type)))


def _kron(op, A: MatrixBlock, B: MatrixBlock, dtype) -> MatrixBlock:
    device, xp = A.device, A.device.xp
    nrows, ncols = A.nrows * B.nrows, A.ncols * B.ncols
    expr = bind(op.expr, {"x": A.dtype, "y": B.dtype}, dtype)
    iso = constant(expr, iso_values(x=A, y=B))
    uses = ex.inputs(expr)
    x_iso, y_iso = A.iso or "x" not in uses, B.iso or "y" not in uses
    kernel = kernel_for(
        device,
        "rows.kron_rows",
        (expr, x_iso, y_iso, iso is None),
        lambda: (
            {"X_ISO": x_iso, "Y_ISO": y_iso, "VALUES": iso is None},
            {"PAIR": (expr, ("x", "y", "ix", "jx", "iy", "jy"))},
        ),
    )
    indptr = device.row_offsets(xp.outer(xp.diff(A.indptr), xp.diff(B.indptr)).ravel())
    nvals = A.nvals * B.nvals
    indices = xp.empty(nvals, index_dtype(ncols))
    values = None if iso is not None else xp.empty(nvals, dtype)
    if nvals:
        left, right = (A.indptr, A.indices, A.values), (B.indptr, B.indices, B.values)
        result = (indptr, indices, NOTHING if values is None else values)
        device.over_rows(kernel, indptr, nvals + nrows, (*left, *right, B.nrows, B.ncols, *result))
    return make_block(nrows, ncols, dtype, (indptr, indices, values), iso, device=device)


def outer(
    out: MatrixBlock, mask: Mask | None, accum, replace: bool, u: VectorBlock, v: VectorBlock, op
) -> None:
    """C<M, replace> (accum)= the outer product, C(i, j) = op(u(i), v(j))."""
    column, row = _as_column(u), _as_row(v)
    write(out, mask, accum, replace, _kron(op, column, row, value_dtype(out, accum, op.return_type.np_type)))


def _as_row(v: VectorBlock) -> MatrixBlock:
    indices, values = v.coo()
    indptr = v.device.xp.array([0, indices.size])
    csr = (indptr, indices, None if v.iso else values)
    return make_block(1, v.size, v.dtype, csr, v.values[0] if v.iso else None, device=v.device)


def _as_column(u: VectorBlock) -> MatrixBlock:
    device, xp = u.device, u.device.xp
    indices, values = u.coo()
    counts = xp.zeros(u.size, np.int64)
    counts[indices] = 1
    csr = (device.row_offsets(counts), xp.zeros(indices.size, np.int64), None if u.iso else values)
    return make_block(u.size, 1, u.dtype, csr, u.values[0] if u.iso else None, device=device)
