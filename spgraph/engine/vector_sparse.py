"""Sparse vectors as matrices of one row: merges whose work does not depend on the vector's size.

Used where every operand is a short list in a long vector; else one pass over a
bitmap is faster. Local numbers of the vector are the columns of the row.
"""

from __future__ import annotations

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_elementwise import matrix_ewise
from spgraph.engine.matrix_write import write as write_matrix
from spgraph.partition import NATURAL

__all__ = ["BITMAP_LIMIT", "applies", "ewise", "write"]

# Vectors longer than this never become bitmaps on the way of an operation.
BITMAP_LIMIT = 1 << 31

LONG = 1 << 16  # below this a pass over all positions costs less than the merge's set-up (about 40 us)
LONG_ON_DEVICE = 1 << 26  # a GPU reads a bitmap of this size in 20 us, and merging takes several launches and waits
SHARE = 16  # lists are merged while together they are shorter than size / this


def applies(first: VectorBlock, *blocks: VectorBlock | None) -> bool:
    """Whether merging lists pays: all blocks (None is passed over) are short lists in a long vector."""
    size = first.size
    if size < (LONG if first.device.on_host else LONG_ON_DEVICE):
        return False
    total = 0
    for block in (first, *blocks):
        if block is not None:
            if block.format != "sparse":
                return False
            total += block.nvals
    return total * SHARE < size


def _row(block: VectorBlock) -> MatrixBlock:
    block.sort()
    device = block.device
    row = MatrixBlock.__new__(MatrixBlock)
    row.device, row.nrows, row.ncols, row.dtype = device, 1, block.size, block.dtype
    indptr = device.to_device(np.array([0, block.nvals], index_dtype(block.nvals)))
    row.set_csr(indptr, block.indices, block.values, iso=block.iso, rows=NATURAL, cols=block.partition)
    return row


def _settle(out: VectorBlock, row: MatrixBlock) -> None:
    out.set_sparse(row.indices, row.values, iso=row.iso, partition=row.cols)


def write(out: VectorBlock, mask: Mask | None, accum, replace: bool, T: VectorBlock) -> None:
    """C<M, replace> = accum(C, T) for lists of one partition."""
    if mask is not None:
        mask.block.rehome(out.partition)
        mask = Mask(_row(mask.block), mask.complement, mask.structural)
    row = _row(out)
    write_matrix(row, mask, accum, replace, _row(T))
    _settle(out, row)


def ewise(out: VectorBlock, kind: str, op, u: VectorBlock, v: VectorBlock, ldefault, rdefault) -> None:
    """C = u op v for lists of one partition; `op` must not ask for positions."""
    row = MatrixBlock(1, out.size, out.dtype, cols=u.partition, device=out.device)
    matrix_ewise(row, None, None, False, kind, op, _row(u), False, _row(v), False, ldefault, rdefault)
    _settle(out, row)
