"""The rows of a matrix in equal shares, for kernels of a GPU that read whole rows: pull.cuh, reduce.cuh."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import MatrixBlock
from spgraph.block.width import index_dtype

__all__ = ["Shares", "row_shares"]

WORK_OF_A_ROW = 8  # edges that a row costs as much as, besides its own
LEAST_SHARE, MOST_SHARE, SHARES_PER_WARP = 256, 4096, 8  # edges that a warp takes at a time
WARPS = 32  # of a multiprocessor, at least


class Shares:
    """The rows of a matrix in shares of about equal work, its giants in pieces.

    Attributes
    ----------
    tilings : dict of int to engine.tiles_cuda.Tiling
        How the matrix is cut into tiles, by how many columns these have: of values of up to 4 bytes, of others.
    """

    __slots__ = ("_reads", "args", "arrived", "pieces", "tilings", "units")

    def __init__(self, A: MatrixBlock):
        device: Any = A.device
        xp = device.xp
        work = A.indptr.astype(np.int64) + xp.arange(A.nrows + 1, dtype=np.int64) * WORK_OF_A_ROW
        all_work = A.nvals + A.nrows * WORK_OF_A_ROW
        share = LEAST_SHARE
        while share < MOST_SHARE and share * SHARES_PER_WARP * WARPS * device.multiprocessors < all_work:
            share *= 2
        starts = xp.searchsorted(work, xp.arange(-(-all_work // share) + 1, dtype=np.int64) * share)
        starts = xp.minimum(starts, A.nrows)
        lengths = A.indptr[1:] - A.indptr[:-1]
        giants = xp.flatnonzero(lengths > share)
        pieces = -(-lengths[giants].astype(np.int64) // share)
        first = xp.zeros(giants.size + 1, np.int64)
        xp.cumsum(pieces, out=first[1:])
        numbers = xp.arange(int(device.to_host(first[-1:])[0]), dtype=np.int64)
        piece_of = xp.searchsorted(first, numbers, side="right") - 1
        small = index_dtype(A.nrows)
        self.pieces = numbers.size
        self.units = self.pieces + starts.size - 1
        self.args = (starts.astype(small), starts.size - 1, giants.astype(small), first, piece_of.astype(small),
                     self.pieces, share)
        self.arrived = xp.zeros(giants.size, np.uint32)
        self._reads: dict[int, int] = {}
        self.tilings: dict[int, Any] = {}

    @property
    def copied(self) -> int:
        """Bytes of the matrix's copy by tiles, if there is one."""
        found = [tiling.made for tiling in list(self.tilings.values())]
        return sum(tiles.nbytes for tiles in found if tiles is not None)

    def reads(self, A: MatrixBlock, count: int) -> int:
        """Entries in the first `count` rows; by falling degree, about as many are in the first columns."""
        if count not in self._reads:
            self._reads[count] = int(A.device.to_host(A.indptr[count:count + 1])[0])
        return self._reads[count]


def row_shares(A: MatrixBlock) -> Shares:
    """Those of a matrix, which keeps them."""
    if A.shares is None:
        A.shares = Shares(A)
    return A.shares
