"""Many copies of one graph as one matrix, so that searches from many sources are one search.

Data encoding: of a square block of n rows only that is stored. On a GPU copy c of row v has position
``v * width + c``: the copies lie side by side, so that a kernel reads a column once for all of them, and their values
together, as a product with a dense matrix does. On a CPU it has position ``c * n + v``: a copy's vector fits a cache
(betweenness from 16 sources, 2 cores: grid:300 330 ms, side by side 450; rmat:18 760, 1,490).

`CopiesBlock` is an operand of `vxm` and `mxv` on one device and nothing else: kernels get the arrays of the block, and
on a GPU the width as the constant COPIES (push.cuh, queue.cuh, pull.cuh), on a CPU n (push.py, pull.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.matrix_build import build_matrix
from spgraph.kernels.cpu._threads import PARALLEL_WORK, split_rows, threads
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES
from spgraph.partition import NATURAL, Partition

__all__ = ["MOST", "CopiesBlock", "copies_of", "count_of_copies", "most_copies", "rows_of_copies", "sum_of_copies"]

MOST, HOST_MOST = 32, 256  # on a GPU the lanes of a warp; on a CPU more are possible, but nothing is gained


def most_copies(block: MatrixBlock, room: int = 0) -> int:
    """How many copies products can number, a power of two; with `room` bytes for each of their rows in free memory."""
    if block.device.on_host:
        most = HOST_MOST
    else:
        most = min(COUNT_MASK // max(block.nrows, 1), (MOST_EDGES - 1) // max(block.nvals, 1), MOST)
    if room:
        most = min(most, block.device.memory().free // (2 * room * max(block.nrows, 1)))
    return 1 << max(most, 1).bit_length() - 1


class CopiesBlock(MatrixBlock):
    """The copies; see the module docstring.

    Parameters
    ----------
    base : MatrixBlock
        Square.
    width : int
        How many: on a GPU a power of two up to `most_copies`.
    """

    __slots__ = ("base", "width")

    def __init__(self, base: MatrixBlock, width: int):
        own = MatrixBlock.__new__(MatrixBlock)  # the block itself keeps its copies, and would never be freed
        own.assume(base)
        own.copies = {}
        self.base, self.width = own, width
        super().__init__(base.nrows * width, base.ncols * width, base.dtype, device=base.device)

    def clear(self) -> None:
        """Begin with the arrays of the block, and with nothing noted of the copies."""
        base = self.base
        self.indptr, self.indices, self.values, self.iso = base.indptr, base.indices, base.values, base.iso
        self.symmetric, self.longest = base.symmetric, base.longest
        self._transpose = self._cuts = self._ranges = self._occupied = self.shares = self.diagonal = None
        self.totals, self.steps, self.copies = {}, {}, {}
        self.missed = 0

    @property
    def stored(self) -> MatrixBlock:
        """What of copies is stored once."""
        return self.base

    @property
    def nvals(self) -> int:
        """Number of entries of all copies."""
        return self.indices.size * self.width

    @property
    def occupied(self) -> int:
        """Number of rows that have entries."""
        return self.base.occupied * self.width

    @property
    def has_transpose(self) -> bool:
        """Whether the CSR of the transpose is at hand."""
        return self.base.has_transpose

    def oriented(self, transposed: bool) -> MatrixBlock:
        """These copies, or those of the transpose."""
        stored = self.base.oriented(transposed)
        self.symmetric = self.base.symmetric
        if stored is self.base:
            return self
        if self._transpose is None:
            self._transpose = CopiesBlock(stored, self.width)
            self._transpose._transpose = self
        return self._transpose


    # ---- positions ---------------------------------------------------------------
    def position(self, copy: Any, row: Any) -> Any:
        """Where rows lie in copies: numbers or arrays of them."""
        return copy * self.base.nrows + row if self.device.on_host else row * self.width + copy

    def places(self, positions: Any) -> tuple[Any, Any]:
        """The copies and the rows at positions."""
        if self.device.on_host:
            return positions // max(self.base.nrows, 1), positions % max(self.base.nrows, 1)
        return positions % self.width, positions // self.width

    def of_each(self, values: Any) -> Any:
        """What an array says of the rows, for every position."""
        return self.device.xp.tile(values, self.width) if self.device.on_host else values.repeat(self.width)

    # ---- ranges for threads (on the CPU) -------------------------------------------
    def row_ranges(self) -> list[tuple[int, int]]:
        """Those of the block in each copy, or one of all if that is little work."""
        if self._ranges is None or self._ranges[0] != threads():
            n, work = self.base.nrows, self.nvals + self.nrows
            ranges = [(0, self.nrows)]
            if work >= PARALLEL_WORK:
                each = split_rows(self.indptr, work // self.width)
                ranges = [(copy * n + lo, copy * n + hi) for copy in range(self.width) for lo, hi in each]
            self._ranges = threads(), ranges
        return self._ranges[1]

    def column_ranges(self, parts: int) -> list[tuple[int, Any, Any]]:
        """Those of the block in all copies; what a thread lists begins after what those before it can list."""
        return [(first * self.width, begin, end) for first, begin, end in self.base.column_ranges(parts)]


def copies_of(block: MatrixBlock, count: int) -> CopiesBlock:
    """Copies of a square block whose rows and columns have one order."""
    width = count if block.device.on_host else 1 << (count - 1).bit_length()
    found = block.copies.get(width)
    if found is None:
        block.oriented(True)  # now, so that both have it: a search goes there and back
        found = block.copies[width] = CopiesBlock(block, width)
    return found


def sum_of_copies(copies: CopiesBlock, v: VectorBlock, order: Partition) -> VectorBlock:
    """The sum over the copies of each vertex, in the numbers of `order`; absent ones count nothing."""
    xp = v.device.xp
    v.rehome(NATURAL).to_bitmap(expand=True).expand()
    values = v.values if v.format == "full" else xp.where(v.present != 0, v.values, v.dtype.type(0))
    new = VectorBlock(copies.base.nrows, v.dtype, order, v.device)
    shape, axis = ((copies.width, new.size), 0) if v.device.on_host else ((new.size, copies.width), 1)
    new.set_full(values.reshape(shape).sum(axis=axis, dtype=v.dtype))
    return new


def rows_of_copies(copies: CopiesBlock, v: VectorBlock, count: int, order: Partition) -> MatrixBlock:
    """The entries of the first `count` copies as rows of a matrix."""
    places, values = v.coo()
    rows, vertices = copies.places(places)
    if count < copies.width:
        kept = rows < count
        vertices, values, rows = vertices[kept], values[kept], rows[kept]
    return build_matrix(count, copies.base.nrows, rows, order.globals_of(vertices), values, v.dtype, device=v.device)


def count_of_copies(copies: CopiesBlock, v: VectorBlock) -> np.ndarray:
    """How many entries each copy has, on the host."""
    v.rehome(NATURAL)
    if v.format == "full":
        return np.full(copies.width, copies.base.nrows)
    xp = v.device.xp
    where = xp.flatnonzero(v.present) if v.format == "bitmap" else v.indices
    return np.asarray(v.device.to_host(xp.bincount(copies.places(where)[0], minlength=copies.width)))
