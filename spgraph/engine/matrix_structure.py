"""Matrices: single elements, lines, diagonals, extract and resize."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semirings.expr import cast_array
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import kernel_for, make_block, natural, same
from spgraph.engine.matrix_write import put, write
from spgraph.engine.vector_structure import vector_extract
from spgraph.kernels.cpu import sort
from spgraph.kernels.cpu._pieces import given, produce_rows, row_offsets
from spgraph.kernels.cpu._threads import parallel_for, split_rows
from spgraph.kernels.cpu.rows import find_in_rows, map_rows

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
    "vector_diag",
]


# ---- single elements ------------------------------------------------------------------
def _find(A: MatrixBlock, i: int, j: int) -> tuple[int, int, int, bool]:
    """Local row and column, where in `indices` the entry stands or would stand, and whether it is there."""
    if not A.rows.natural:
        i = int(A.rows.to_local[i])
    if not A.cols.natural:
        j = int(A.cols.to_local[j])
    start, end = int(A.indptr[i]), int(A.indptr[i + 1])
    at = start + int(np.searchsorted(A.indices[start:end], j))
    return i, j, at, at < end and int(A.indices[at]) == j


def matrix_get(A: MatrixBlock, i: int, j: int):
    """The value at (i, j), or None."""
    _, _, at, there = _find(A, i, j)
    return A.values[0 if A.iso else at] if there else None


def matrix_set(A: MatrixBlock, i: int, j: int, value) -> None:
    """Store a value at (i, j). Cost: a copy of the values, and of the rest for a new entry."""
    i, j, at, there = _find(A, i, j)
    value = A.dtype.type(value)
    single = A.iso and same(A.values[0], value)
    rows, cols = A.rows, A.cols
    values = None if single else np.full(A.nvals, A.values[0], A.dtype) if A.iso else A.values
    if there:
        if values is None:
            return
        values = values.copy()
        values[at] = value
        A.set_csr(A.indptr, A.indices, values)
        return
    indptr = A.indptr.astype(index_dtype(A.nvals + 1))
    indptr[i + 1 :] += 1
    indices = np.insert(A.indices, at, j)
    if not A.nvals:
        values = None
    put(
        A,
        (indptr, indices, None if values is None else np.insert(values, at, value)),
        np.array([value], A.dtype),
        rows,
        cols,
    )


def matrix_remove(A: MatrixBlock, i: int, j: int) -> None:
    """Delete the entry at (i, j), if there is one."""
    i, _, at, there = _find(A, i, j)
    if there:
        indptr = A.indptr.copy()
        indptr[i + 1 :] -= 1
        csr = indptr, np.delete(A.indices, at), None if A.iso else np.delete(A.values, at)
        put(A, csr, A.values, A.rows, A.cols)


# ---- lines ----------------------------------------------------------------------------
def line_of(A: MatrixBlock, number: int, row: bool) -> VectorBlock:
    """Row or column `number` as a vector."""
    if not row and A.has_transpose:
        A, row = A.oriented(True), True
    partition = A.rows if row else A.cols
    local = number if partition.natural else int(partition.to_local[number])
    if row:
        vector = VectorBlock(A.ncols, A.dtype, A.cols)
        part = slice(int(A.indptr[local]), int(A.indptr[local + 1]))
        indices, places = A.indices[part].copy(), part
    else:
        vector = VectorBlock(A.nrows, A.dtype, A.rows)
        found = _positions(A, np.full(A.nrows, local, A.indices.dtype))
        indices = np.flatnonzero(found >= 0).astype(index_dtype(A.nrows))
        places = found[indices]
    single = A.iso and indices.size > 0
    values = A.values.copy() if single else np.empty(0, A.dtype) if A.iso else A.values[places].copy()
    vector.set_sparse(indices, values, iso=single)
    return vector


def _positions(A: MatrixBlock, wanted: np.ndarray) -> np.ndarray:
    """For each row, where the wanted column stands in `indices`, or -1."""
    kernel = kernel_for(find_in_rows, (), lambda: ({}, {}))
    found = np.empty(A.nrows, np.int64)
    work = 4 * A.nrows
    parallel_for(kernel, split_rows(A.indptr, work), work, (A.indptr, A.indices, wanted, found))
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
    n = u.size + abs(k)
    dtype = u.dtype if dtype is None else np.dtype(dtype)
    ids, values = u.coo()
    counts = np.zeros(n, np.int64)
    counts[ids + max(-k, 0)] = 1
    values = cast_array(values, dtype)
    csr = row_offsets(counts), ids + max(k, 0), None if u.iso else values
    return make_block(n, n, dtype, csr, values[0] if u.iso else None)


def vector_diag(A: MatrixBlock, a_t: bool, k: int, dtype=None) -> VectorBlock:
    """The k-th diagonal of A as a vector."""
    A = natural(A)
    k = -k if a_t else k
    first = max(-k, 0)
    size = max(min(A.nrows - first, A.ncols - max(k, 0)), 0)
    wanted = np.arange(A.nrows, dtype=np.int64) + k
    found = _positions(A, wanted)[first : first + size]
    indices = np.flatnonzero(found >= 0)
    values = (
        np.full(indices.size, A.values[0], A.dtype) if A.iso and indices.size else A.values[found[indices]]
    )
    vector = VectorBlock(size, A.dtype if dtype is None else dtype)
    vector.set_sparse(indices.astype(index_dtype(size)), cast_array(values, vector.dtype))
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
) -> None:
    """C<M, replace> (accum)= A(I, J), the selected rows and columns in the order given; lists may repeat."""
    A = natural(A, a_t)
    source = None if row_index.kind == "all" else row_index.to_array()
    write(
        out,
        mask,
        accum,
        replace,
        mapped(A, row_index.size, col_index.size, source, _column_targets(col_index, A.ncols)),
    )


class Targets(NamedTuple):
    """Where each column goes: `target[j]`, negative to drop it, or (`first` given) several places."""

    target: np.ndarray
    first: np.ndarray | None
    ascending: bool  # rows stay sorted


def _column_targets(index: Index, ncols: int) -> Targets | None:
    """For every column its places in the selection; None if that is all columns."""
    if index.kind == "all":
        return None
    ids = index.to_array()
    ascending = index.step > 0 if index.kind == "range" else bool((ids[1:] >= ids[:-1]).all())
    target = np.full(ncols, -1, np.int64)
    target[ids] = np.arange(ids.size)
    if np.array_equal(target[ids], np.arange(ids.size)):
        return Targets(target, None, ascending)
    first = np.zeros(ncols + 1, np.int64)
    np.cumsum(np.bincount(ids, minlength=ncols), out=first[1:])
    return Targets(np.argsort(ids, kind="stable"), first, ascending)


def mapped(A: MatrixBlock, nrows: int, ncols: int, source, targets: Targets | None) -> MatrixBlock:
    """The block whose row i is row source[i] of A (none if negative; source None: i), columns moved."""
    if source is None and targets is None:
        return make_block(nrows, ncols, A.dtype, (A.indptr, A.indices, None if A.iso else A.values), _iso(A))
    first = None if targets is None else targets.first
    several = first is not None
    source = np.arange(nrows) if source is None else source
    partial = bool((source < 0).any())
    lengths = np.diff(A.indptr)
    if first is not None:
        copies = np.diff(first)[A.indices]
        lengths = np.diff(np.concatenate(([0], np.cumsum(copies)))[A.indptr])
    rooms = row_offsets(np.where(source < 0, 0, lengths[source]) if A.nrows else np.zeros(nrows, np.int64))
    values = None if A.iso else A.values
    flags = partial, targets is not None and not several, several, values is not None
    kernel = kernel_for(
        map_rows, flags, lambda: (dict(zip(("PARTIAL", "DROP", "MULTI", "VALUES"), flags)), {})
    )
    work = int(rooms[-1]) + nrows
    args = (
        source,
        A.indptr,
        A.indices,
        given(values),
        given(first),
        given(None if targets is None else targets.target),
    )
    csr = produce_rows(kernel, work, args, rooms, index_dtype(ncols), None if values is None else A.dtype)
    if targets is not None and not targets.ascending:
        csr = sort.sort_rows(nrows, ncols, *csr)
    return make_block(nrows, ncols, A.dtype, csr, _iso(A))


def _iso(A: MatrixBlock):
    return A.values[0] if A.iso else None


# ---- resize ---------------------------------------------------------------------------
def matrix_resize(A: MatrixBlock, nrows: int, ncols: int) -> None:
    """Change the shape; entries outside the new one are dropped."""
    kept = natural(A)
    source = np.arange(nrows)
    source[source >= A.nrows] = -1
    targets = None
    if ncols < A.ncols:
        target = np.arange(A.ncols)
        target[ncols:] = -1
        targets = Targets(target, None, True)
    A.assume(mapped(kept, nrows, ncols, source, targets))
