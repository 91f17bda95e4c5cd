"""Parts of one CPU in one process: there are no messages, and what all parts do alike is done once.

Method: what the parts hold lies one behind the other in common arrays, in the order of positions. Each part's block is
a view of them, and so is the *whole*, a block over all positions: a statement is one call of the one-device function
over the wholes of its operands. A matrix keeps both. Of a vector either the pieces or the whole is the content, and the
other is made when it is asked for (`VectorParts.pieces`, `VectorParts.whole`): of full vectors and bitmaps pieces are
slices, lists are cut. Between other devices, and where a trace listens or the user has chosen how values travel,
`Border` moves what is wanted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.matrix_parts import MatrixParts, over_positions
from spgraph.kernels.device import HOST
from spgraph.partition import NATURAL
from spgraph.partition.layout import Layout

__all__ = ["cut", "cut_rows", "dealt_rows", "is_near", "join", "moved_whole", "whole_in_natural_order",
           "whole_matrix"]


def is_near(group: Any) -> bool:
    """Whether entries need not be moved, and nobody wants to see them move."""
    return group.near and _record.listener is None and group.exchange() == "auto" and group.duplicate() == "1-hop"


# ---- vectors ---------------------------------------------------------------------
def join(pieces: list[VectorBlock], layout: Layout, dtype: np.dtype) -> VectorBlock:
    """The pieces as one block over positions; they are not to be used any more."""
    whole = VectorBlock(layout.size, dtype, layout.whole(HOST), HOST)
    some = [piece for piece in pieces if piece.nvals]
    if not some:
        return whole
    single = _single(some)
    if all(piece.format == "sparse" for piece in some):
        firsts = [first for piece, first in zip(pieces, layout.starts.tolist()) if piece.nvals]
        indices = [piece.indices.astype(whole.indices.dtype) + first for piece, first in zip(some, firsts)]
        values = [_values(piece, piece.nvals) for piece in some] if single is None else []
        whole.set_sparse(np.concatenate(indices), np.concatenate(values) if single is None else single,
                         iso=single is not None, sorted=all(piece.sorted for piece in some))  # fmt: skip
        return whole
    for piece in pieces:
        piece.to_bitmap()
    nvals, present = sum(piece.nvals for piece in pieces), None
    if nvals < whole.size:
        ones = (np.ones(piece.size, np.uint8) if piece.present is None else piece.present for piece in pieces)
        present = np.concatenate(list(ones))
    values = [_values(piece, piece.size) for piece in pieces] if single is None else []
    whole.set_bitmap(present, np.concatenate(values) if single is None else single, nvals, iso=single is not None)
    return whole


def cut(whole: VectorBlock, layout: Layout) -> list[VectorBlock]:
    """The pieces of a block over positions, which is not to be used any more."""
    cuts, iso = layout.starts.tolist(), whole.iso
    if whole.format == "sparse":
        whole.sort()
        bounds = np.searchsorted(whole.indices, layout.starts).tolist()
    pieces = []
    for part, (first, last) in enumerate(pairwise(cuts)):
        piece = VectorBlock(last - first, whole.dtype, layout.pieces[part], HOST)
        pieces.append(piece)
        if first == last or not whole.nvals:
            continue
        if whole.format == "sparse":
            own = slice(bounds[part], bounds[part + 1])
            indices = (whole.indices[own] - first).astype(index_dtype(piece.size), copy=False)
            piece.set_sparse(indices, whole.values.copy() if iso else whole.values[own], iso=iso)
            continue
        own = slice(first, last)
        present = None if whole.present is None else whole.present[own]
        nvals = piece.size if present is None else int(np.count_nonzero(present))
        piece.set_bitmap(present, whole.values.copy() if iso else whole.values[own], nvals, iso=iso)
    return pieces


def _single(pieces: list[VectorBlock]) -> np.ndarray | None:
    """The one value of all entries, if that is known."""
    first = pieces[0]
    if not first.iso:
        return None
    value = first.values.tobytes()
    alike = all(piece.iso and piece.values.tobytes() == value for piece in pieces)
    return first.values.copy() if alike else None


def _values(block: VectorBlock | MatrixBlock, count: int) -> np.ndarray:
    """A value for each of so many entries or positions."""
    return np.full(count, block.values[0], block.dtype) if block.iso else block.values


# ---- matrices --------------------------------------------------------------------
def whole_matrix(A: MatrixParts) -> MatrixBlock:
    """All rows of a matrix as one block over positions; kept with the matrix."""
    whole = A._whole
    if whole is None:
        whole = A._whole = _put_together(A)
    rows, cols = A.rows.whole(HOST), A.cols.whole(HOST)
    if whole.rows is not rows or whole.cols is not cols:  # an operation brought it into the order of another
        whole.rehome(rows, cols)
    if A.symmetric is not None:
        whole.symmetric = A.symmetric
    elif whole.symmetric is not None and A.rows is A.cols:
        A.symmetric = whole.symmetric
    return whole


def _put_together(A: MatrixParts) -> MatrixBlock:
    """The parts' rows one after the other; from then on the parts' arrays are views of these."""
    iso = A.iso
    before = np.cumsum([0, *(piece.nvals for piece in A.pieces)]).tolist()
    offsets = [np.zeros(1, np.int64)]
    offsets += [piece.indptr[1:].astype(np.int64) + first for piece, first in zip(A.pieces, before)]
    indices = np.concatenate([piece.indices for piece in A.pieces])
    for piece, (first, last) in zip(A.pieces, pairwise(before)):
        piece.indices, piece.steps = indices[first:last], {}
    values = A.values if iso else np.concatenate([_values(piece, piece.nvals) for piece in A.pieces])
    for piece, (first, last) in zip(A.pieces, pairwise(before)):
        if not piece.iso and piece.nvals:
            piece.values = values[first:last]
    return over_positions(A, np.concatenate(offsets), indices, values, iso)


def cut_rows(A: MatrixParts) -> list[MatrixBlock]:
    """The rows of each part, of a matrix that is whole."""
    whole, cols, pieces = whole_matrix(A), A.cols.whole(HOST), []
    for rows, (first, last) in zip(A.rows.pieces, pairwise(A.rows.starts.tolist())):
        own = slice(int(whole.indptr[first]), int(whole.indptr[last]))
        piece = MatrixBlock.__new__(MatrixBlock)
        piece.device, piece.nrows, piece.ncols, piece.dtype = HOST, last - first, A.ncols, whole.dtype
        values = whole.values if whole.iso else whole.values[own]
        piece.set_csr(whole.indptr[first : last + 1] - whole.indptr[first], whole.indices[own], values, iso=whole.iso,
                      rows=rows, cols=cols)  # fmt: skip
        pieces.append(piece)
    return pieces


def moved_whole(A: MatrixParts, rows: Layout, cols: Layout) -> MatrixBlock:
    """All rows in the order of other layouts; what A has stays as it is."""
    return _shared(A).rehome(rows.whole(HOST), cols.whole(HOST))


def whole_in_natural_order(A: MatrixParts) -> MatrixBlock:
    """The same in natural order, perhaps with A's arrays."""
    return _shared(A).rehome(NATURAL, NATURAL)


def _shared(A: MatrixParts) -> MatrixBlock:
    whole = MatrixBlock.__new__(MatrixBlock)
    whole.assume(whole_matrix(A))
    return whole


def dealt_rows(whole: MatrixBlock, group: Any, rows: Layout, cols: Layout) -> MatrixParts:
    """A matrix in parts of a block over positions, whose arrays its parts share."""
    A = MatrixParts.__new__(MatrixParts)
    A.device, A.nrows, A.ncols, A.dtype, A.rows, A.cols = group, whole.nrows, whole.ncols, whole.dtype, rows, cols
    A.take_whole(whole, whole.symmetric if rows is cols else None)
    return A
