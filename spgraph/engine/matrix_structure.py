"""Matrices: single elements, lines, diagonals, extract and resize."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semirings import expr as ex
from semirings.expr import cast_array
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import kernel_for, make_block, natural, same
from spgraph.engine.matrix_elementwise import NO_SCALAR, condition, selected
from spgraph.engine.matrix_write import put, write
from spgraph.engine.operators import cast_values
from spgraph.engine.vector_structure import vector_extract
from spgraph.kernels.cpu._pieces import given
from spgraph.kernels.device import Device

__all__ = [
    "line_of",
    "mapped",
    "matrix_diag",
    "matrix_extract",
    "matrix_extract_column",
    "matrix_get",
    "matrix_remove",
    "matrix_resize",
    "matrix_set",
    "row_bounds",
    "vector_diag",
]


# ---- single elements ------------------------------------------------------------------
def row_bounds(A: MatrixBlock, row: int) -> tuple[int, int]:
    """Where a (local) row starts and ends."""
    start, end = A.device.to_host(A.indptr[row : row + 2]).tolist()
    return start, end


def _find(A: MatrixBlock, i: int, j: int) -> tuple[int, int, int, bool]:
    """Local row and column, where in `indices` the entry stands or would stand, and whether it is there."""
    i, j = A.rows.local_of(i), A.cols.local_of(j)
    start, end = row_bounds(A, i)
    at = start + int(A.device.xp.searchsorted(A.indices[start:end], j))
    return i, j, at, at < end and int(A.indices[at]) == j


def matrix_get(A: MatrixBlock, i: int, j: int):
    """The value at (i, j), a NumPy scalar, or None."""
    _, _, at, there = _find(A, i, j)
    if not there:
        return None
    return A.values[0] if A.iso else A.device.to_host(A.values[at : at + 1])[0]


def matrix_set(A: MatrixBlock, i: int, j: int, value) -> None:
    """Store a value at (i, j). Cost: a copy of the values, and of the rest for a new entry."""
    i, j, at, there = _find(A, i, j)
    value = A.dtype.type(value)
    single = A.iso and same(A.values[0], value)
    values = None if single else A.device.filled(A.nvals, A.values[0], A.dtype) if A.iso else A.values
    if there:
        if values is None:
            return
        values = values.copy()
        A.device.put(values, at, value)
        A.set_csr(A.indptr, A.indices, values)
        return
    indptr = A.indptr.astype(index_dtype(A.nvals + 1))
    indptr[i + 1 :] += 1
    indices = _inserted(A.device, A.indices, at, j)
    if not A.nvals:
        values = None
    csr = indptr, indices, None if values is None else _inserted(A.device, values, at, value)
    put(A, csr, np.array([value], A.dtype), A.rows, A.cols)


def _inserted(device, array, at: int, value):
    """A copy of `array` with `value` before position `at`."""
    return device.xp.concatenate([array[:at], device.filled(1, value, array.dtype), array[at:]])


def matrix_remove(A: MatrixBlock, i: int, j: int) -> None:
    """Delete the entry at (i, j), if there is one."""
    i, _, at, there = _find(A, i, j)
    if there:
        indptr = A.indptr.copy()
        indptr[i + 1 :] -= 1
        values = None if A.iso else _without(A.device.xp, A.values, at)
        put(A, (indptr, _without(A.device.xp, A.indices, at), values), A.values, A.rows, A.cols)


def _without(xp, array, at: int):
    """A copy of `array` that lacks position `at`."""
    return xp.concatenate([array[:at], array[at + 1 :]])


# ---- lines ----------------------------------------------------------------------------
def line_of(A: MatrixBlock, number: int, row: bool) -> VectorBlock:
    """Row or column `number` as a vector."""
    if not row and A.has_transpose:
        A, row = A.oriented(True), True
    xp, local = A.device.xp, (A.rows if row else A.cols).local_of(number)
    if row:
        vector = VectorBlock(A.ncols, A.dtype, A.cols, device=A.device)
        part = slice(*row_bounds(A, local))
        indices, places = A.indices[part].copy(), part
    else:
        vector = VectorBlock(A.nrows, A.dtype, A.rows, device=A.device)
        found = _positions(A, xp.full(A.nrows, local, A.indices.dtype))
        indices = xp.flatnonzero(found >= 0).astype(index_dtype(A.nrows))
        places = found[indices]
    single = A.iso and indices.size > 0
    values = A.values.copy() if single else xp.empty(0, A.dtype) if A.iso else A.values[places].copy()
    vector.set_sparse(indices, values, iso=single)
    return vector


def _positions(A: MatrixBlock, wanted):
    """For each row, where the wanted column stands in `indices`, or -1."""
    kernel = kernel_for(A.device, "rows.find_in_rows", (), lambda: ({}, {}))
    found = A.device.xp.empty(A.nrows, np.int64)
    A.device.over_rows(kernel, A.indptr, 4 * A.nrows, (A.indptr, A.indices, wanted, found))
    return found


def matrix_extract_column(
    out: VectorBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixBlock,
    a_t: bool,
    row_index: Index,
    j: int,
) -> None:
    """C<M, replace> (accum)= A(I, j), or A(j, I) if transposed; I is `row_index`."""
    vector_extract(out, mask, accum, replace, line_of(A, j, row=a_t), row_index)


# ---- diagonals ------------------------------------------------------------------------
def matrix_diag(u: VectorBlock, k: int, dtype=None) -> MatrixBlock:
    """The square matrix with `u` on its k-th diagonal (k > 0: above the main one)."""
    n, device = u.size + abs(k), u.device
    dtype = u.dtype if dtype is None else np.dtype(dtype)
    ids, values = u.coo()
    counts = device.xp.zeros(n, np.int64)
    counts[ids + max(-k, 0)] = 1
    iso = cast_array(u.values, dtype)[0] if u.iso else None
    csr = device.row_offsets(counts), ids + max(k, 0), None if u.iso else cast_values(device, values, dtype)
    return make_block(n, n, dtype, csr, iso, device=device)


def vector_diag(A: MatrixBlock, a_t: bool, k: int, dtype=None) -> VectorBlock:
    """The k-th diagonal of A as a vector."""
    A = natural(A)
    xp = A.device.xp
    k = -k if a_t else k
    first = max(-k, 0)
    size = max(min(A.nrows - first, A.ncols - max(k, 0)), 0)
    found = _positions(A, xp.arange(A.nrows, dtype=np.int64) + k)[first : first + size]
    indices = xp.flatnonzero(found >= 0)
    values = A.device.filled(indices.size, A.values[0], A.dtype) if A.iso else A.values[found[indices]]
    vector = VectorBlock(size, A.dtype if dtype is None else dtype, device=A.device)
    vector.set_sparse(indices.astype(index_dtype(size)), cast_values(A.device, values, vector.dtype))
    return vector


# ---- extract --------------------------------------------------------------------------
def matrix_extract(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixBlock,
    a_t: bool,
    row_index: Index,
    col_index: Index,
    keep: tuple | None = None,
) -> None:
    """C<M, replace> (accum)= A(I, J), the selected rows and columns in the order given; lists may repeat.

    `keep`, an operator of select and its thunk: only those entries of A(I, J) for which it holds.
    """
    A = A.oriented(a_t)
    targets = _column_targets(col_index, A.ncols, A.device)
    if targets is not None and targets.first is not None:
        A = natural(A)
    elif not A.cols.natural:
        at = A.cols.to_global
        targets = Targets(at if targets is None else targets.target[at], None, False)
    source = None if row_index.kind == "all" and A.rows.natural else A.rows.locals_of(row_index.to_array(A.device))
    write(out, mask, accum, replace, _kept(A, row_index.size, col_index.size, source, targets, keep))


def _kept(A: MatrixBlock, nrows: int, ncols: int, source, targets, keep) -> MatrixBlock:
    """The moved block, or what `keep` wants of it, in one pass where that can be."""
    if keep is None:
        return mapped(A, nrows, ncols, source, targets)
    wanted = condition(A, *keep)
    if targets is None or targets.first is not None or not ex.inputs(wanted[0]) & {"i", "j"}:
        return selected(mapped(A, nrows, ncols, source, targets), *keep)
    return mapped(A, nrows, ncols, source, targets, keep=wanted)


class Targets(NamedTuple):
    """Where each column goes: `target[j]`, negative to drop it, or (`first` given) several places."""

    target: Any
    first: Any
    ascending: bool  # rows stay sorted


def _column_targets(index: Index, ncols: int, device: Device) -> Targets | None:
    """For every column its places in the selection; None if that is all columns."""
    if index.kind == "all":
        return None
    xp, ids = device.xp, index.to_array(device)
    ascending = index.step > 0
    if index.kind == "list" and ids.size:
        counts = xp.bincount(ids, minlength=ncols)
        repeats, ascending = xp.stack([(counts > 1).any(), (ids[1:] >= ids[:-1]).all()]).tolist()
        if repeats:
            first = xp.zeros(ncols + 1, np.int64)
            first[1:] = xp.cumsum(counts)
            return Targets(xp.argsort(ids, kind="stable"), first, ascending)
    target = xp.full(ncols, -1, index_dtype(max(ids.size, 1)))
    target[ids] = xp.arange(ids.size, dtype=target.dtype)
    return Targets(target, None, ascending)


def mapped(
    A: MatrixBlock,
    nrows: int,
    ncols: int,
    source,
    targets: Targets | None,
    *,
    partial: bool = False,
    keep: tuple | None = None,
) -> MatrixBlock:
    """The block whose row i is row source[i] of A (source None: i), columns moved.

    `partial`: a negative source[i] stands for an empty row. `keep`: a `condition` on what has moved.
    """
    device = A.device
    if source is None and targets is None:
        csr = A.indptr, A.indices, None if A.iso else A.values
        return make_block(nrows, ncols, A.dtype, csr, _iso(A), device=device)
    first = None if targets is None else targets.first
    several = first is not None
    source = device.xp.arange(nrows) if source is None else source
    wanted, thunk = (None, NO_SCALAR) if keep is None else keep
    flags = {
        "PARTIAL": partial,
        "DROP": targets is not None and not several,
        "MULTI": several,
        "VALUES": not A.iso,
        "X_ISO": A.iso,
        "KEPT": keep is not None,
    }
    kernel = kernel_for(
        device,
        "rows.map_rows",
        (*flags.values(), wanted),
        lambda: (flags, {} if wanted is None else {"KEEP": (wanted, ("x", "s", "i", "j"))}),
    )
    rooms = _map_rooms(A, source, first)
    work = (int(rooms[-1]) if device.on_host else A.nvals) + nrows
    args = (
        source,
        A.indptr,
        A.indices,
        A.values,
        given(first),
        given(None if targets is None else targets.target),
        thunk,
    )
    csr = device.produce_rows(kernel, work, args, rooms, index_dtype(ncols), None if A.iso else A.dtype)
    if targets is not None and not targets.ascending:
        csr = device.sort.sort_rows(nrows, ncols, *csr)
    return make_block(nrows, ncols, A.dtype, csr, _iso(A), device=device)


def _map_rooms(A: MatrixBlock, source, first):
    """Running sum of the entries that each row of `mapped` may have (on a device: that it is made of)."""
    xp, lengths = A.device.xp, A.device.xp.diff(A.indptr)
    rooms = xp.zeros(source.size + 1, np.int64)
    if A.nrows:
        if A.device.on_host and first is not None:
            copies = np.diff(first)[A.indices]
            lengths = np.diff(np.concatenate(([0], np.cumsum(copies)))[A.indptr])
        rooms[1:] = xp.cumsum(xp.where(source < 0, 0, lengths[source]))
    return rooms


def _iso(A: MatrixBlock):
    return A.values[0] if A.iso else None


# ---- resize ---------------------------------------------------------------------------
def matrix_resize(A: MatrixBlock, nrows: int, ncols: int) -> None:
    """Change the shape; entries outside the new one are dropped."""
    xp, kept = A.device.xp, natural(A)
    source = xp.arange(nrows)
    source[A.nrows :] = -1
    targets = None
    if ncols < A.ncols:
        target = xp.arange(A.ncols)
        target[ncols:] = -1
        targets = Targets(target, None, True)
    A.assume(mapped(kept, nrows, ncols, source, targets, partial=nrows > A.nrows))
