"""Assign: C<M, replace>(I, J) (accum)= a matrix, a scalar or a line.

What is assigned is first brought to C's shape (T, whose entries lie in the region I x J),
then one merge of C, T and the mask does the rest (`kernels.cpu.merge.write_rows`). A
scalar within a mask that is not complemented has the mask's pattern. Where a list
repeats a position, the last one counts, as in SuiteSparse.
"""

from __future__ import annotations

import numpy as np

from semirings.exceptions import OutOfMemory
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_common import make_block, natural, same, shallow
from spgraph.engine.matrix_structure import Targets, line_of, mapped, row_bounds
from spgraph.engine.matrix_write import Region, put, write
from spgraph.engine.vector_structure import vector_assign
from spgraph.partition import NATURAL

__all__ = ["matrix_assign", "matrix_assign_line"]


def matrix_assign(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    value,
    row_index: Index,
    col_index: Index,
    *,
    sub: bool = False,
) -> None:
    """C<M, replace>(I, J) (accum)= value, (MatrixBlock, transposed) or a NumPy scalar.

    With `sub`, mask (of the region's shape) and replace act on the region only, else on all of C.
    """
    scalar = not isinstance(value, tuple)
    pattern = mask.block if scalar and mask is not None and not mask.complement else None
    whole = row_index.kind == "all" and col_index.kind == "all"
    if whole and (pattern is not None or not scalar):
        T = shallow(value[0].oriented(value[1])) if pattern is None else _of_pattern(pattern, value)
        write(out, mask, accum, replace, T)
        return
    place = _Placement(out, row_index, col_index)
    if pattern is not None:
        T = _of_pattern(place.moved(natural(pattern)) if sub else place.cut(natural(pattern)), value)
    else:
        T = place.full(value) if scalar else place.moved(natural(*value))
    if sub and mask is not None:
        mask = mask._replace(block=place.moved(natural(mask.block)))
    rows, cols = out.rows, out.cols
    out.rehome(NATURAL, NATURAL)
    region = Region("sub" if sub else "assign", place.row_flags, place.col_flags)
    write(out, mask, accum, replace, T, region=region)
    out.rehome(rows, cols)


def _of_pattern(pattern: MatrixBlock, value) -> MatrixBlock:
    """`value` wherever the pattern has an entry."""
    csr = pattern.indptr, pattern.indices, None
    rows, cols = pattern.rows, pattern.cols
    return make_block(pattern.nrows, pattern.ncols, value.dtype, csr, value, rows, cols, device=pattern.device)


class _Placement:
    """Where the rows and columns of a region lie in C."""

    def __init__(self, out: MatrixBlock, row_index: Index, col_index: Index):
        self.device, self.nrows, self.ncols = out.device, out.nrows, out.ncols
        self.col_ids = col_index.to_array(out.device)
        self.row_source = row_index.last_places(out.nrows, out.device)
        self.col_source = col_index.last_places(out.ncols, out.device)
        self.row_flags = (self.row_source >= 0).view(np.uint8)
        self.col_flags = (self.col_source >= 0).view(np.uint8)

    def moved(self, A: MatrixBlock) -> MatrixBlock:
        """A matrix of the region's shape, at its place in C."""
        xp, ids = self.device.xp, self.col_ids
        target = xp.where(self.col_source[ids] == xp.arange(ids.size), ids, -1)
        kept = target[target >= 0]
        targets = Targets(target, None, bool((kept[1:] > kept[:-1]).all()))
        return mapped(A, self.nrows, self.ncols, self.row_source, targets, partial=True)

    def cut(self, A: MatrixBlock) -> MatrixBlock:
        """The entries of A, of C's shape, in the region."""
        xp = self.device.xp
        rows = xp.where(self.row_flags == 0, -1, xp.arange(self.nrows))
        cols = xp.where(self.col_flags == 0, -1, xp.arange(self.ncols))
        return mapped(A, self.nrows, self.ncols, rows, Targets(cols, None, True), partial=True)

    def full(self, value) -> MatrixBlock:
        """`value` everywhere in the region."""
        xp = self.device.xp
        cols = xp.flatnonzero(self.col_flags).astype(index_dtype(self.ncols))
        nvals = int(self.row_flags.sum(dtype=np.int64)) * cols.size
        try:
            indices = xp.tile(cols, nvals // max(cols.size, 1))
        except MemoryError as error:
            raise OutOfMemory(
                f"assign: a scalar to a region of {nvals} entries needs {nvals * cols.itemsize} bytes for "
                "their column numbers alone; assign through a mask, or leave absent what is equal everywhere"
            ) from error
        indptr = self.device.row_offsets(self.row_flags.astype(np.int64) * cols.size)
        csr = indptr, indices, None
        return make_block(self.nrows, self.ncols, value.dtype, csr, value, device=self.device)


# ---- lines ----------------------------------------------------------------------------
def matrix_assign_line(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    u: VectorBlock,
    index: Index,
    line: int,
    *,
    row: bool,
    sub: bool = False,
) -> None:
    """C(line, J) or C(I, line) (accum)= u, as a vector assignment to that row or column of C.

    The mask is a vector over the whole line, or over the region with `sub`; nothing
    outside the line changes, replace or not.
    """
    vector = line_of(out, line, row)
    vector_assign(vector, mask, accum, replace, u, index, sub=sub)
    vector.rehome(out.cols if row else out.rows).to_sparse().sort()
    partition = out.rows if row else out.cols
    local = partition.local_of(line)
    if row:
        _put_row(out, vector, local)
    else:
        _put_column(out, vector, local)


def _put_row(out: MatrixBlock, vector: VectorBlock, local: int) -> None:
    """Row `local` becomes the (sorted) vector: three pieces put together."""
    xp, (start, end) = out.device.xp, row_bounds(out, local)
    nvals = out.nvals + vector.nvals - (end - start)
    indptr = out.indptr.astype(index_dtype(nvals))
    indptr[local + 1 :] += vector.nvals - (end - start)
    indices = xp.concatenate([out.indices[:start], vector.indices, out.indices[end:]])
    parts = [block for block in (out, vector) if block.nvals]
    if all(block.iso for block in parts) and (len(parts) < 2 or same(out.values[0], vector.values[0])):
        put(out, (indptr, indices, None), parts[0].values if parts else None, out.rows, out.cols)
        return
    old = out.device.filled(out.nvals, out.values[0], out.dtype) if out.iso else out.values
    values = xp.concatenate([old[:start], vector.expand().values, old[end:]])
    put(out, (indptr, indices, values), None, out.rows, out.cols)


def _put_column(out: MatrixBlock, vector: VectorBlock, local: int) -> None:
    """Column `local` becomes the (sorted) vector: one merge."""
    xp = out.device.xp
    cols = xp.zeros(out.ncols, np.uint8)
    cols[local] = 1
    counts = xp.zeros(out.nrows, np.int64)
    counts[vector.indices] = 1
    csr = (
        out.device.row_offsets(counts),
        xp.full(vector.nvals, local, out.indices.dtype),
        None if vector.iso else vector.values,
    )
    iso = vector.values[0] if vector.iso else None
    T = make_block(out.nrows, out.ncols, out.dtype, csr, iso, out.rows, out.cols, device=out.device)
    write(out, None, None, False, T, region=Region("sub", xp.ones(out.nrows, np.uint8), cols))
