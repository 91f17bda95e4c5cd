"""Matrices in parts: what works row by row, on each part alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import VectorBlock
from spgraph.engine import first_entries, matrix_build, matrix_elementwise, matrix_reduce, matrix_structure
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import shallow
from spgraph.engine.parts.align import mask_block, mask_pieces
from spgraph.engine.parts.vectors import combined, vector_chain
from spgraph.engine.vector_elementwise import Leaf
from spgraph.engine.vector_write import write
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.vector_parts import VectorParts
from spgraph.exchange.whole import devices_of, to_owners

__all__ = [
    "build_matrix",
    "matrix_apply",
    "matrix_coo",
    "matrix_csr",
    "matrix_ewise",
    "matrix_get",
    "matrix_reduce_rows",
    "matrix_reduce_scalar",
    "matrix_select",
    "some_entries",
]


def build_matrix(nrows: int, ncols: int, rows, cols, values, dtype, dup_op=None, *, device: Any) -> MatrixParts:
    block = matrix_build.build_matrix(nrows, ncols, rows, cols, values, dtype, dup_op)
    new = MatrixParts(nrows, ncols, dtype, device)
    new.set_csr(block.indptr, block.indices, block.values, iso=block.iso, symmetric=block.symmetric)
    return new


def matrix_csr(A: MatrixParts, a_t: bool = False) -> tuple:
    indptr, columns, values, iso = A.oriented(a_t).csr()
    return indptr, columns.astype(np.int64), np.full(columns.size, values[0]) if iso else values


def matrix_coo(A: MatrixParts, a_t: bool = False, *, on_device: bool = False) -> tuple:
    indptr, columns, values = matrix_csr(A, a_t)
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr)), columns, values


def matrix_get(A: MatrixParts, i: int, j: int):
    layout, found = A.rows, []
    owner = int(layout.owners(layout.positions(np.array([i])))[0])
    for part, (_, piece) in zip(A.device.mine, A.on_each()):
        found.append(matrix_structure.matrix_get(piece, i, j) if part == owner else None)
    return next((value for value in A.device.transport.gather(found) if value is not None), None)


def _meet(out: MatrixParts, mask: Mask | None, *operands: MatrixParts) -> list[Any]:
    """All into the layouts of the first operand (None to keep what is in no operand); the mask of each part."""
    rows, cols = operands[0].rows, operands[0].cols
    for other in (*operands[1:], out, mask_block(mask)):
        if other is not None:
            other.rehome(rows, cols)
    return mask_pieces(mask, len(out.pieces))


def matrix_apply(
    out: MatrixParts,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixParts,
    a_t: bool,
    op,
    left=None,
    right=None,
    thunk=None,
) -> None:
    A = A.oriented(a_t)
    masks = _meet(out, mask, A)
    pieces = [shallow(piece) for piece in out.pieces] if out is A else out.pieces
    for piece, piece_mask, (_, operand) in zip(pieces, masks, A.on_each()):
        matrix_elementwise.matrix_apply(piece, piece_mask, accum, replace, operand, False, op, left, right, thunk)
    stays = A.symmetric and mask is None and accum is None and not (op is not None and op.positional)
    out.take(pieces, True if stays else None)


def matrix_select(
    out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, op, thunk
) -> None:
    A = A.oriented(a_t)
    masks = _meet(out, mask, A)
    for piece, piece_mask, (_, operand) in zip(out.pieces, masks, A.on_each()):
        matrix_elementwise.matrix_select(piece, piece_mask, accum, replace, operand, False, op, thunk)
    out.take(out.pieces)


def matrix_ewise(
    out: MatrixParts,
    mask: Mask | None,
    accum,
    replace: bool,
    kind: str,
    op,
    A: MatrixParts,
    a_t: bool,
    B: MatrixParts,
    b_t: bool,
    ldefault=None,
    rdefault=None,
) -> None:
    A, B = A.oriented(a_t), B.oriented(b_t)
    masks = _meet(out, mask, A, B)
    for piece, piece_mask, (_, left), right in zip(out.pieces, masks, A.on_each(), B.pieces):
        matrix_elementwise.matrix_ewise(
            piece, piece_mask, accum, replace, kind, op, left, False, right, False, ldefault, rdefault
        )
    out.take(out.pieces)


def some_entries(A: MatrixParts, a_t: bool, count: int, making: Any) -> MatrixParts:
    A = A.oriented(a_t)
    new = MatrixParts(A.nrows, A.ncols, A.dtype, A.device, A.rows, A.cols)
    new.take([first_entries.some_entries(piece, False, count, making) for _, piece in A.on_each()])
    new.brief = True
    return new


def matrix_reduce_rows(
    out: VectorParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, monoid
) -> None:
    if a_t and not A.has_transpose:
        T = _columns(A, monoid)
    else:
        A = A.oriented(a_t)
        T = VectorParts(A.nrows, monoid.type.np_type, A.device, A.rows)
        for (_, piece), rows in zip(T.on_each(), A.pieces):
            matrix_reduce.matrix_reduce_rows(piece, None, None, False, rows, False, monoid)
        T.stay()
    vector_chain(out, mask, accum, replace, Leaf(T))


def _columns(A: MatrixParts, monoid) -> VectorParts:
    """The sum of each column: of each device's rows first, then of those at the column's owner."""
    group, leaders = A.device, devices_of(A.device)
    partial: dict[int, VectorBlock] = {}
    for part, (device, rows) in zip(group.mine, A.on_each()):
        sums = VectorBlock(A.ncols, monoid.type.np_type, rows.cols, device)
        matrix_reduce.matrix_reduce_rows(sums, None, None, False, rows, True, monoid)
        if leaders[part] in partial:
            write(partial[leaders[part]], None, monoid.binaryop, False, sums)
        else:
            partial[part] = sums
    for sums in partial.values():
        with sums.device:
            sums.to_bitmap().expand()
    T = VectorParts(A.ncols, monoid.type.np_type, group, A.cols)
    for blocks, (_, piece) in zip(to_owners([partial.get(part) for part in group.mine], A.cols), T.on_each()):
        for block in blocks:
            block.partition = piece.partition
            write(piece, None, monoid.binaryop, False, block)
    T.stay()
    return T


def matrix_reduce_scalar(A: MatrixParts, monoid):
    totals = [matrix_reduce.matrix_reduce_scalar(piece, monoid) for _, piece in A.on_each()]
    return combined(A.device.transport.gather(totals), monoid)
