"""Operations on parts of one CPU in one process, each as one call of the one-device function over all positions.

See `exchange.near` for when that may be, and how a vector or matrix is both whole and in parts. What is not here works
part by part, on views of the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spgraph._interrupts import held
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine import (
    first_entries,
    matrix_elementwise,
    matrix_products,
    matrix_reduce,
    matrix_structure,
    pointers,
    vector_elementwise,
    vector_products,
    vector_sparse,
    vector_structure,
)
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_assign import matrix_assign as assign_to
from spgraph.engine.matrix_assign import matrix_assign_line as assign_to_line
from spgraph.engine.parts.align import align, mask_block
from spgraph.engine.vector_elementwise import Apply, Leaf, Plan, dtype_of
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.near import dealt_rows, moved_whole, whole_matrix
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.device import HOST
from spgraph.partition.layout import Layout

__all__ = [
    "combine_at",
    "gather",
    "inner",
    "kronecker",
    "matrix_apply",
    "matrix_assign",
    "matrix_assign_line",
    "matrix_ewise",
    "matrix_extract",
    "matrix_extract_column",
    "matrix_get",
    "matrix_reduce_rows",
    "matrix_reduce_scalar",
    "matrix_remove",
    "matrix_select",
    "matrix_set",
    "mxm",
    "mxv",
    "outer",
    "over_wholes",
    "pointer_jump",
    "some_entries",
    "vector_assign",
    "vector_chain",
    "vector_coo",
    "vector_extract",
    "vector_get",
    "vector_reduce",
    "vector_reduce_later",
    "vector_remove",
    "vector_select",
    "vector_set",
]


def _whole_mask(mask: Mask | None) -> Mask | None:
    return None if mask is None else Mask(mask.block.whole, mask.complement, mask.structural)


# ---- matrix times vector -----------------------------------------------------------
def mxv(out: VectorParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, transposed: bool, u: VectorParts,
        semiring, *, flipped: bool = False, changed: VectorParts | None = None, changed_if: tuple | None = None,
        direction: str | None = None) -> None:  # fmt: skip
    inner, outer = (A.rows, A.cols) if transposed else (A.cols, A.rows)
    if inner is not outer:
        if mask is not None and mask.block is u:
            mask = mask._replace(block=u.copy())
        u = u.copy() if u is out else u
    u.rehome(inner)
    out.rehome(outer)
    if mask is not None:
        mask.block.rehome(outer)
    note = None if changed is None else changed.whole
    with held():
        vector_products.mxv(out.whole, _whole_mask(mask), accum, replace, whole_matrix(A), transposed, u.whole,
                            semiring, flipped=flipped, changed=note, changed_if=changed_if, direction=direction)
        if changed is not None and note is not None:
            changed.take_whole(note, outer)


def over_wholes(run: Callable, out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, *how: Any) -> Any:
    """A loop by a function of `engine.loops`; u becomes what it leaves."""
    if A.rows is not A.cols or u is out or not out.size == u.size == A.nrows:
        return None
    u.rehome(A.rows)
    out.rehome(A.rows)
    frontier = u.whole
    try:
        return run(out.whole, whole_matrix(A), transposed, frontier, *how)
    finally:
        u.take_whole(frontier, A.rows)


# ---- element by element ---------------------------------------------------------------
def _over_wholes(tree: Any) -> Any:
    kind = type(tree)
    if kind is Leaf:
        return Leaf(tree.block.whole)
    if kind is Apply:
        return tree._replace(child=_over_wholes(tree.child))
    return tree._replace(l=_over_wholes(tree.l), r=_over_wholes(tree.r))


def _plan(plan: Plan, tree: Any) -> Plan:
    return plan.over([block.whole for block in plan.blocks], lambda: _over_wholes(tree))


def vector_chain(out: VectorParts, mask: Mask | None, accum, replace: bool, tree) -> None:
    plan = Plan(tree)
    align(*plan.blocks, out, mask_block(mask))
    if type(tree) is Leaf or out.size > vector_sparse.BITMAP_LIMIT:
        tree = _over_wholes(tree)
        vector_elementwise.vector_chain(out.whole, _whole_mask(mask), accum, replace, tree)
    else:
        dtype = dtype_of(tree)
        vector_elementwise.planned_chain(out.whole, _whole_mask(mask), accum, replace, _plan(plan, tree), dtype)


def vector_select(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, op, thunk) -> None:
    align(u, out, mask_block(mask))
    vector_elementwise.vector_select(out.whole, _whole_mask(mask), accum, replace, u.whole, op, thunk)


def vector_reduce_later(tree, monoid) -> Any:
    if isinstance(tree, VectorParts):
        tree = Leaf(tree)
    plan = Plan(tree)
    align(*plan.blocks)
    if plan.size > vector_sparse.BITMAP_LIMIT:
        return vector_elementwise.vector_reduce_later(_over_wholes(tree), monoid)
    return vector_elementwise.planned_reduce(_plan(plan, tree), monoid)


def vector_reduce(tree, monoid):
    return vector_reduce_later(tree, monoid).get()


def inner(u: VectorParts, v: VectorParts, semiring):
    align(u, v)
    return vector_elementwise.inner(u.whole, v.whole, semiring)


# ---- elements, extract and assign ---------------------------------------------------
def vector_coo(v: VectorParts, on_device: bool = False) -> tuple[Any, Any]:
    return v.coo()


def vector_get(v: VectorParts, i: int):
    return vector_structure.vector_get(v.whole, i)


def vector_set(v: VectorParts, i: int, value) -> None:
    vector_structure.vector_set(v.whole, i, value)


def vector_remove(v: VectorParts, i: int) -> None:
    vector_structure.vector_remove(v.whole, i)


def vector_extract(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, index: Index) -> None:
    align(out, mask_block(mask))
    vector_structure.vector_extract(out.whole, _whole_mask(mask), accum, replace, u.whole, index)


def vector_assign(out: VectorParts, mask: Mask | None, accum, replace: bool, value, index: Index, *,
                  sub: bool = False) -> None:  # fmt: skip
    if not sub:
        align(out, mask_block(mask))
    value = value.whole if isinstance(value, VectorParts) else value
    vector_structure.vector_assign(out.whole, _whole_mask(mask), accum, replace, value, index, sub=sub)


# ---- vectors of positions ---------------------------------------------------------------
def gather(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, p: VectorParts) -> None:
    align(p, out, mask_block(mask))
    pointers.gather(out.whole, _whole_mask(mask), accum, replace, u.whole, p.whole)


def combine_at(out: VectorParts, accum, p: VectorParts, x: VectorParts) -> None:
    align(p, x)
    pointers.combine_at(out.whole, accum, p.whole, x.whole)


def pointer_jump(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts) -> None:
    align(u, out, mask_block(mask))
    pointers.pointer_jump(out.whole, _whole_mask(mask), accum, replace, u.whole)


# ---- matrices ------------------------------------------------------------------------
def _layouts(A: MatrixParts, a_t: bool) -> tuple[Layout, Layout]:
    return (A.cols, A.rows) if a_t else (A.rows, A.cols)


def _whole_in(A: MatrixParts, a_t: bool, rows: Layout, cols: Layout) -> MatrixBlock:
    """All of a matrix that is in these layouts, or whose transpose is (`a_t`), else as if it were."""
    if a_t:
        rows, cols = cols, rows
    return whole_matrix(A) if A.rows is rows and A.cols is cols else moved_whole(A, rows, cols)


def _write(out: MatrixParts, mask: Mask | None, rows: Layout, cols: Layout, run: Callable[[Any, Any], None]) -> None:
    """``run(C, M)`` on all of the output and the mask, in these layouts."""
    M = None if mask is None else Mask(_whole_in(mask.block, False, rows, cols), mask.complement, mask.structural)
    out.rehome(rows, cols)
    _change(out, lambda C: run(C, M))


def _change(out: MatrixParts, run: Callable[[Any], None]) -> None:
    """``run(C)`` on all of a matrix, where it lies."""
    C = whole_matrix(out)
    run(C)
    C.rehome(out.rows.whole(HOST), out.cols.whole(HOST))
    out.take_whole(C, C.symmetric if out.rows is out.cols else None)


def matrix_apply(out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, op, left=None,
                 right=None, thunk=None) -> None:  # fmt: skip
    whole, apply = whole_matrix(A), matrix_elementwise.matrix_apply
    _write(out, mask, *_layouts(A, a_t),
           lambda C, M: apply(C, M, accum, replace, whole, a_t, op, left, right, thunk))  # fmt: skip


def matrix_select(out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, op,
                  thunk) -> None:  # fmt: skip
    whole, select = whole_matrix(A), matrix_elementwise.matrix_select
    _write(out, mask, *_layouts(A, a_t), lambda C, M: select(C, M, accum, replace, whole, a_t, op, thunk))


def matrix_ewise(out: MatrixParts, mask: Mask | None, accum, replace: bool, kind: str, op, A: MatrixParts, a_t: bool,
                 B: MatrixParts, b_t: bool, ldefault=None, rdefault=None) -> None:  # fmt: skip
    rows, cols = _layouts(A, a_t)
    left, right, ewise = whole_matrix(A), _whole_in(B, b_t, rows, cols), matrix_elementwise.matrix_ewise
    _write(out, mask, rows, cols,
           lambda C, M: ewise(C, M, accum, replace, kind, op, left, a_t, right, b_t, ldefault, rdefault))  # fmt: skip


def mxm(out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, B: MatrixParts,
        b_t: bool, semiring) -> None:  # fmt: skip
    (rows, inner), (_, cols) = _layouts(A, a_t), _layouts(B, b_t)
    left, right = whole_matrix(A), _whole_in(B, b_t, inner, cols)
    _write(out, mask, rows, cols,
           lambda C, M: matrix_products.mxm(C, M, accum, replace, left, a_t, right, b_t, semiring))  # fmt: skip


def matrix_extract(out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool,
                   row_index: Index, col_index: Index, keep: tuple | None = None) -> None:  # fmt: skip
    whole, extract = whole_matrix(A), matrix_structure.matrix_extract
    _write(out, mask, out.rows, out.cols,
           lambda C, M: extract(C, M, accum, replace, whole, a_t, row_index, col_index, keep))  # fmt: skip


def matrix_extract_column(out: VectorParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool,
                          row_index: Index, j: int) -> None:  # fmt: skip
    align(out, mask_block(mask))
    matrix_structure.matrix_extract_column(out.whole, _whole_mask(mask), accum, replace, whole_matrix(A), a_t,
                                           row_index, j)


def matrix_assign(out: MatrixParts, mask: Mask | None, accum, replace: bool, value, row_index: Index,
                  col_index: Index, *, sub: bool = False) -> None:  # fmt: skip
    if isinstance(value, tuple):
        value = whole_matrix(value[0]), value[1]
    M = None
    if mask is not None:
        M = mask._replace(block=whole_matrix(mask.block) if sub else _whole_in(mask.block, False, out.rows, out.cols))
    _change(out, lambda C: assign_to(C, M, accum, replace, value, row_index, col_index, sub=sub))


def matrix_assign_line(out: MatrixParts, mask: Mask | None, accum, replace: bool, u: VectorParts, index: Index,
                       line: int, *, row: bool, sub: bool = False) -> None:  # fmt: skip
    M, whole = _whole_mask(mask), u.whole
    _change(out, lambda C: assign_to_line(C, M, accum, replace, whole, index, line, row=row, sub=sub))


def matrix_get(A: MatrixParts, i: int, j: int):
    return matrix_structure.matrix_get(whole_matrix(A), i, j)


def matrix_set(A: MatrixParts, i: int, j: int, value) -> None:
    _change(A, lambda C: matrix_structure.matrix_set(C, i, j, value))


def matrix_remove(A: MatrixParts, i: int, j: int) -> None:
    _change(A, lambda C: matrix_structure.matrix_remove(C, i, j))


def kronecker(out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, B: MatrixParts,
              b_t: bool, op) -> None:  # fmt: skip
    left, right, product = whole_matrix(A), whole_matrix(B), matrix_products.kronecker
    _write(out, mask, out.rows, out.cols, lambda C, M: product(C, M, accum, replace, left, a_t, right, b_t, op))


def outer(out: MatrixParts, mask: Mask | None, accum, replace: bool, u: VectorParts, v: VectorParts, op) -> None:
    _write(out, mask, out.rows, out.cols,
           lambda C, M: matrix_products.outer(C, M, accum, replace, u.whole, v.whole, op))  # fmt: skip


def some_entries(A: MatrixParts, a_t: bool, count: int, making: Any) -> MatrixParts:
    rows, cols = (A.cols, A.rows) if a_t else (A.rows, A.cols)
    whole: MatrixBlock = first_entries.made_entries(whole_matrix(A).oriented(a_t), count)
    return dealt_rows(whole, A.device, rows, cols)


def matrix_reduce_rows(out: VectorParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool,
                       monoid) -> None:  # fmt: skip
    T = VectorParts(A.ncols if a_t else A.nrows, monoid.type.np_type, A.device, A.cols if a_t else A.rows)
    sums: VectorBlock = T.whole
    matrix_reduce.matrix_reduce_rows(sums, None, None, False, whole_matrix(A), a_t, monoid)
    vector_chain(out, mask, accum, replace, Leaf(T))


def matrix_reduce_scalar(A: MatrixParts, monoid):
    return matrix_reduce.matrix_reduce_scalar(whole_matrix(A), monoid)
