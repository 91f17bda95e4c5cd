"""Matrices in parts: products, and what moves entries to other places.

A product of matrices takes, for each part, the rows of the right operand that its own rows name (*share* of rows), and
is then the one-device product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine import matrix_products, matrix_structure
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_assign import matrix_assign as assign_rows
from spgraph.engine.matrix_common import shallow
from spgraph.engine.operators import cast_values
from spgraph.engine.parts.align import mask_pieces
from spgraph.engine.parts.matrices import matrix_apply
from spgraph.engine.parts.vectors import vector_assign, vector_extract
from spgraph.exchange.border import border_of
from spgraph.exchange.matrix_parts import MatrixParts, fill_rows
from spgraph.exchange.route import route
from spgraph.exchange.rows import take_rows
from spgraph.exchange.take import take
from spgraph.exchange.vector_parts import VectorParts, piece_coo
from spgraph.partition import NATURAL
from spgraph.partition.layout import Layout

__all__ = [
    "kronecker",
    "matrix_assign",
    "matrix_assign_line",
    "matrix_diag",
    "matrix_extract",
    "matrix_extract_column",
    "matrix_remove",
    "matrix_resize",
    "matrix_set",
    "mxm",
    "outer",
    "vector_diag",
]


def mxm(
    out: MatrixParts,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixParts,
    a_t: bool,
    B: MatrixParts,
    b_t: bool,
    semiring,
) -> None:
    A = A.oriented(a_t)
    B = B.oriented(b_t)
    if B.rows is not A.cols:
        if B.rows.order is None and B.rows is B.device.even_layout(B.nrows):
            B = B.copy().rehome(A.cols, B.cols)
        else:
            A = A.copy().rehome(A.rows, B.rows)
    C = out
    out, mask = _laid(out, mask, A.rows, B.cols, A, B)
    border = border_of(A)
    wanted = []
    for (device, _), block in zip(A.on_each(), border.blocks):
        wanted.append(A.cols.whole(device).locals_of(block.cols.to_global))
    rows = take_rows(B, wanted, [block.cols for block in border.blocks])
    for (_, piece), piece_mask, left, right in zip(
        out.on_each(), mask_pieces(mask, len(out.pieces)), border.blocks, rows
    ):
        matrix_products.mxm(piece, piece_mask, accum, replace, left, False, right, False, semiring)
    out.take(out.pieces)
    if out is not C:
        C.assume(out)


def _laid(out: MatrixParts, mask: Mask | None, rows: Any, cols: Any, *operands: MatrixParts) -> tuple:
    """The output of a product and its mask in these layouts; operands stay as they are."""
    C, out = out, out.copy() if any(out is operand for operand in operands) else out
    out.rehome(rows, cols)
    if mask is not None:
        mask = mask._replace(block=out if mask.block is C else mask.block.copy())
        mask.block.rehome(rows, cols)
    return out, mask


def outer(out: MatrixParts, mask: Mask | None, accum, replace: bool, u: VectorParts, v: VectorParts, op) -> None:
    T = MatrixParts(u.size, v.size, op.return_type.np_type, u.device, u.layout, v.layout)
    everything = u.device.dealt([v.layout.positions(np.arange(v.size))] * len(u.pieces))
    for (device, piece), part, row in zip(T.on_each(), u.pieces, take(v, everything)):
        ids, values = piece_coo(part)
        column = VectorBlock(u.size, u.dtype, device=device)
        column.set_sparse(ids.astype(column.indices.dtype), values, sorted=False)
        product = MatrixBlock(u.size, v.size, T.dtype, device=device)
        matrix_products.outer(product, None, None, False, column.sort(), row, op)
        _take_own(piece, product, piece.rows.to_global, T.cols)
    T.take(T.pieces)
    matrix_apply(out, mask, accum, replace, T, False, None)


def kronecker(
    out: MatrixParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, B: MatrixParts, b_t: bool, op
) -> None:
    A, B = A.oriented(a_t), B.oriented(b_t)
    group, old, count = A.device, A.rows, B.nrows
    order = None if old.order is None else (old.order[:, None] * count + np.arange(count)).reshape(-1)
    nrows, ncols = A.nrows * count, A.ncols * B.ncols
    rows = Layout(group, old.starts * count, order, old.name, old.listed_by and old.partition)
    cols = rows if nrows == ncols else group.even_layout(ncols)
    T = MatrixParts(nrows, ncols, op.return_type.np_type, group, rows, cols)
    whole = _rows_at(B, [np.arange(count)] * len(T.pieces))
    for (device, piece), part, right in zip(T.on_each(), A.pieces, whole):
        product = MatrixBlock(nrows, ncols, T.dtype, device=device)
        matrix_products.kronecker(product, None, None, False, _at_their_ids(part, A.nrows), False, right, False, op)
        _take_own(piece, product, piece.rows.to_global, cols)
    T.take(T.pieces)
    matrix_apply(out, mask, accum, replace, T, False, None)


def _at_their_ids(piece: MatrixBlock, nrows: int) -> MatrixBlock:
    """A part's rows in a matrix of all rows, in natural order: positional operators see the rows' ids."""
    device, xp = piece.device, piece.device.xp
    block, ids = _local(piece), piece.rows.to_global
    lengths = xp.zeros(nrows, np.int64)
    lengths[ids] = xp.diff(block.indptr)
    csr = device.sort.gather_rows(
        block.indptr, block.indices, None if block.iso else block.values, xp.argsort(ids, kind="stable")
    )
    new = MatrixBlock(nrows, block.ncols, block.dtype, device=device)
    new.set_csr(device.row_offsets(lengths), csr[1], block.values if block.iso else csr[2], iso=block.iso)
    return new


def _take_own(piece: MatrixBlock, product: MatrixBlock, ids: Any, cols: Any) -> None:
    """A part becomes some rows, by id, of a matrix in natural order."""
    device = piece.device
    values = None if product.iso else product.values
    csr = device.sort.gather_rows(product.indptr, product.indices, values, ids)
    block = MatrixBlock(piece.nrows, piece.ncols, product.dtype, device=device)
    block.set_csr(csr[0], csr[1], product.values if product.iso else csr[2], iso=product.iso)
    _put_back(piece, block, cols)


# ---- a part as a matrix of its own ---------------------------------------------------
def _local(piece: MatrixBlock) -> MatrixBlock:
    """A part whose row ids are its local numbers, and whose columns are in natural order."""
    block = shallow(piece)
    block.rows = NATURAL
    return block.rehome(NATURAL, NATURAL)


def _put_back(piece: MatrixBlock, block: MatrixBlock, cols: Any) -> None:
    """The block that `_local` made, changed, becomes the part."""
    block.rehome(NATURAL, cols.whole(piece.device))
    rows = piece.rows
    piece.assume(block)
    piece.rows = rows


def _rows_at(B: MatrixParts, ids: list) -> list[MatrixBlock]:
    """Rows of B by global id (arrays of the host), for each part, columns in natural order."""
    found = []
    for block in take_rows(B, B.device.dealt([B.rows.positions(own) for own in ids])):
        with block.device:
            found.append(_local(block))
    return found


# ---- extract -----------------------------------------------------------------------
def matrix_extract(
    out: MatrixParts,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixParts,
    a_t: bool,
    row_index: Index,
    col_index: Index,
    keep: tuple | None = None,
) -> None:
    A = A.oriented(a_t)
    ids, group = row_index.to_array(), out.device
    same = row_index.kind == "all" and out.nrows == A.nrows
    square = row_index.size == col_index.size
    rows = A.rows if same else group.even_layout(row_index.size)
    cols = rows if square else group.even_layout(col_index.size)
    T = MatrixParts(row_index.size, col_index.size, A.dtype, group, rows, cols)
    own = [rows.ids(np.arange(*rows.starts[part : part + 2])) for part in group.mine]
    for (_, piece), block in zip(T.on_each(), _rows_at(A, [ids[k] for k in own])):
        chosen = MatrixBlock(block.nrows, col_index.size, A.dtype, device=piece.device)
        matrix_structure.matrix_extract(chosen, None, None, False, block, False, Index.of_all(block.nrows), col_index)
        _put_back(piece, chosen, cols)
    T.take(T.pieces)
    if keep is not None:
        from spgraph.engine.parts.matrices import matrix_select

        matrix_select(out, mask, accum, replace, T, False, *keep)
        return
    matrix_apply(out, mask, accum, replace, T, False, None)


def _line(A: MatrixParts, number: int, row: bool) -> VectorParts:
    """A row or a column as a vector."""
    layout = A.cols if row else A.rows
    across = A.rows if row else A.cols
    at = int(across.positions(np.array([number]))[0])
    keyed = []
    for part, (device, piece) in zip(A.device.mine, A.on_each()):
        xp = device.xp
        if row:
            local = at - int(A.rows.starts[part])
            begin, end = (
                device.to_host(piece.indptr[local : local + 2]).tolist() if 0 <= local < piece.nrows else (0, 0)
            )
            found, places = slice(begin, end), piece.indices[begin:end]
            count = end - begin
        else:
            found = xp.flatnonzero(piece.indices == at)
            places = device.sort.row_numbers(piece.indptr, piece.nvals)[found] + int(A.rows.starts[part])
            count = found.size
        values = device.filled(count, piece.values[0], A.dtype) if piece.iso else piece.values[found]
        keyed.append((places, values))
    v = VectorParts(layout.size, A.dtype, A.device, layout)
    for (_, piece), (local, values) in zip(v.on_each(), route(layout, keyed)):
        piece.set_sparse(local.astype(piece.indices.dtype), values, sorted=False)
    return v


def matrix_extract_column(
    out: VectorParts, mask: Mask | None, accum, replace: bool, A: MatrixParts, a_t: bool, row_index: Index, j: int
) -> None:
    vector_extract(out, mask, accum, replace, _line(A, j, a_t), row_index)


# ---- assign ------------------------------------------------------------------------
def matrix_assign(
    out: MatrixParts,
    mask: Mask | None,
    accum,
    replace: bool,
    value,
    row_index: Index,
    col_index: Index,
    *,
    sub: bool = False,
) -> None:
    scalar = not isinstance(value, tuple)
    if row_index.kind == col_index.kind == "all" and not scalar:
        matrix_apply(out, mask, accum, replace, value[0], value[1], None)
        return
    owned = out.rows.split(row_index.to_array())
    own = [own for own, _ in owned]
    values = (
        [value] * len(owned) if scalar else [(block, False) for block in _rows_at(value[0].oriented(value[1]), own)]
    )
    if mask is None:
        masks: list[Any] = [None] * len(owned)
    elif sub:
        masks = [mask._replace(block=block) for block in _rows_at(mask.block, own)]
    else:
        if mask.block is not out:
            mask.block.rehome(out.rows, out.cols)
        masks = [mask._replace(block=_local(piece)) for piece in mask.block.pieces]
    for (device, piece), (_, local), one, piece_mask in zip(out.on_each(), owned, values, masks):
        block = _local(piece)
        whole = row_index.kind == "all"
        rows = Index.of_all(block.nrows) if whole else Index.of_list(device.to_device(local))
        if whole and not scalar:
            order = np.argsort(local, kind="stable")
            one = (_rows_of(one[0], order), False)
        elif whole and sub and piece_mask is not None:
            piece_mask = piece_mask._replace(block=_rows_of(piece_mask.block, np.argsort(local, kind="stable")))
        assign_rows(block, piece_mask, accum, replace, one, rows, col_index, sub=sub)
        _put_back(piece, block, out.cols)
    out.take(out.pieces)


def _rows_of(block: MatrixBlock, order: np.ndarray) -> MatrixBlock:
    """The block with its rows in another order."""
    device = block.device
    csr = device.sort.gather_rows(
        block.indptr, block.indices, None if block.iso else block.values, device.to_device(order)
    )
    new = shallow(block)
    new.set_csr(csr[0], csr[1], block.values if block.iso else csr[2], iso=block.iso)
    return new


def matrix_assign_line(
    out: MatrixParts,
    mask: Mask | None,
    accum,
    replace: bool,
    u: VectorParts,
    index: Index,
    line: int,
    *,
    row: bool,
    sub: bool = False,
) -> None:
    vector = _line(out, line, row)
    vector_assign(vector, mask, accum, replace, u, index, sub=sub)
    ids = np.array([line])
    T = _as_line(out, vector, row)
    one, everything = Index.of_list(ids), Index.of_all(out.ncols if row else out.nrows)
    matrix_assign(out, None, None, False, (T, False), *((one, everything) if row else (everything, one)))


def _as_line(out: MatrixParts, v: VectorParts, row: bool) -> MatrixParts:
    """A vector as a matrix of one row or column."""
    group = out.device
    nrows, ncols = (1, v.size) if row else (v.size, 1)
    T = MatrixParts(nrows, ncols, v.dtype, group)
    keyed = []
    for device, piece in v.on_each():
        ids, values = piece_coo(piece)
        zeros = device.xp.zeros(ids.size, np.int64)
        keyed.append((zeros, ids, values) if row else (ids, zeros, values))
    for (device, piece), (local, columns, values) in zip(T.on_each(), route(T.rows, keyed)):
        fill_rows(device, piece, local, columns, values)
    T.take(T.pieces)
    return T


# ---- single elements, sizes, diagonals ---------------------------------------------------
def _at_owner(A: MatrixParts, i: int, change: Any) -> None:
    owner = int(A.rows.owners(A.rows.positions(np.array([i])))[0])
    for part, (_, piece) in zip(A.device.mine, A.on_each()):
        if part == owner:
            block = _local(piece)
            change(block, i=int(A.rows.positions(np.array([i]))[0] - A.rows.starts[part]))
            _put_back(piece, block, A.cols)
    A.take(A.pieces)


def matrix_set(A: MatrixParts, i: int, j: int, value) -> None:
    _at_owner(A, i, lambda block, i: matrix_structure.matrix_set(block, i, j, value))


def matrix_remove(A: MatrixParts, i: int, j: int) -> None:
    _at_owner(A, i, lambda block, i: matrix_structure.matrix_remove(block, i, j))


def _keyed(A: MatrixParts) -> list[tuple]:
    """(row ids, column ids, values) of each part's entries."""
    found = []
    for device, piece in A.on_each():
        rows = piece.rows.globals_of(device.sort.row_numbers(piece.indptr, piece.nvals).astype(np.int64))
        values = device.filled(piece.nvals, piece.values[0], A.dtype) if piece.iso else piece.values
        found.append((rows, piece.cols.globals_of(piece.indices).astype(np.int64, copy=False), values))
    return found


def matrix_resize(A: MatrixParts, nrows: int, ncols: int) -> None:
    keyed = []
    for (device, _), (rows, columns, values) in zip(A.on_each(), _keyed(A)):
        kept = device.xp.flatnonzero((rows < nrows) & (columns < ncols))
        keyed.append((rows[kept], columns[kept], values[kept]))
    new = MatrixParts(nrows, ncols, A.dtype, A.device)
    for (device, piece), arrived in zip(new.on_each(), route(new.rows, keyed)):
        fill_rows(device, piece, *arrived)
    new.take(new.pieces)
    A.assume(new)


def matrix_diag(u: VectorParts, k: int, dtype=None) -> MatrixParts:
    n = u.size + abs(k)
    new = MatrixParts(n, n, u.dtype if dtype is None else dtype, u.device)
    if not k:  # entries stay where they are
        new.rows = new.cols = u.layout
        new.clear()
    keyed = []
    for device, piece in u.on_each():
        ids, values = piece_coo(piece)
        if not k:
            ids = u.layout.whole(device).locals_of(ids)
        keyed.append((ids + max(-k, 0), ids + max(k, 0), cast_values(device, values, new.dtype)))
    for (device, piece), arrived in zip(new.on_each(), route(new.rows, keyed)):
        fill_rows(device, piece, *arrived)
    new.take(new.pieces)
    return new


def vector_diag(A: MatrixParts, a_t: bool, k: int, dtype=None) -> VectorParts:
    k = -k if a_t else k
    first = max(-k, 0)
    size = max(min(A.nrows - first, A.ncols - max(k, 0)), 0)
    layout = A.device.even_layout(size)  # in which ids are positions
    v = VectorParts(size, A.dtype if dtype is None else dtype, A.device, layout)
    keyed = []
    for (device, _), (rows, columns, values) in zip(A.on_each(), _keyed(A)):
        kept = device.xp.flatnonzero(columns - rows == k)
        keyed.append((rows[kept] - first, cast_values(device, values[kept], v.dtype)))
    for (_, piece), (local, values) in zip(v.on_each(), route(v.layout, keyed)):
        piece.set_sparse(local.astype(piece.indices.dtype), values, sorted=False)
        piece.sort()
        if piece.nvals == piece.size and piece.size:
            piece.to_bitmap()
    return v
