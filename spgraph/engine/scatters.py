"""Pushes into C that are run again: what was decided about one, so that the next need not be.

A superstep on a road network looks at a few thousand edges, which takes no longer than deciding how: which kernel, with
which constants, from which arrays. So a matrix keeps what was decided when a statement (semiring, accumulator,
selection of what has changed, ...) was last run. The next run looks whether its operands are stored as they were then,
which takes a few comparisons, and calls the kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import EMPTY_BITS, Mask, MaskView
from spgraph.engine.product import Product, cast_scalar, one_value
from spgraph.engine.workspace import Workspace, workspace
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_calls, threads

__all__ = ["Scatter", "found", "gathered", "spread"]

LONG_LIST = 64  # a list is long from size / this on
MOST_RANGES = 16  # column ranges that push is spread over; each costs an offset per row
NO_THUNK = np.int8(0)


class Scatter:
    """A push into C on the CPU, with C's accumulator or under its own mask.

    It holds the arrays of the matrix, not its block, which keeps it in turn.

    Parameters
    ----------
    product : Product
    A : MatrixBlock
        The one whose rows u selects.
    kernel : Kernel
        Of `kernels.cpu.push.push_scatter`.
    """

    __slots__ = ("_arrays", "_dtype", "_format", "_ids", "_kernel", "_semiring", "_u_dtype", "_u_iso", "flipped",
                 "grows", "term")

    def __init__(self, product: Product, A: MatrixBlock, kernel: Any):
        out, u = product.out, product.u
        self._arrays = A.indices, A.values
        self._ids = product.ids(A, swap=True)
        self._kernel = kernel
        self._semiring = product.semiring
        self._dtype, self._format = out.dtype, out.format
        self._u_dtype, self._u_iso = u.dtype, u.iso
        self.flipped = product.flipped
        self.grows = product.grows
        self.term = product.term

    def fits(self, A: MatrixBlock, out: VectorBlock, mask: Mask | None, u: VectorBlock) -> bool:
        """Whether operands are stored as they were, so that `run` may be called."""
        indices, values = self._arrays
        return (
            A.indices is indices and A.values is values
            and u.format == "sparse" and u.iso is self._u_iso and u.dtype is self._u_dtype and u.partition is A.rows
            and out.format == self._format and not out.iso and out.dtype is self._dtype and out.partition is A.cols
            and (mask is None or (mask.block is out and mask.complement and mask.structural))
            and (mask is None) is not self.grows
        )

    def run(self, A: MatrixBlock, out: VectorBlock, view: MaskView, u: VectorBlock, changed: VectorBlock | None,
            thunk: Any, limit: float) -> bool:
        """Scatter the entries of u; False (and nothing done) if they have more than `limit` edges."""
        space, dtype = workspace(out.size), self._dtype
        values = EMPTY_BITS if changed is None else space.array("values", dtype)
        args = (u.indices, u.values, A.indices, A.values, view.present, view.values,
                EMPTY_BITS if out.present is None else out.present, out.values, space.stamp, space.next_epoch(),
                space.indices, values, NO_THUNK if thunk is None else thunk)
        parts = spread(self._kernel, A, u.nvals, limit, args, self._ids)
        if parts is None:
            return False
        added = sum([result[0] for _, result in parts])
        if added:
            out.set_bitmap(out.present, out.values, out.nvals + added)
        if changed is None:
            return True
        pieces = [slice(base, base + result[1]) for base, result in parts if result[1]]
        indices, ascending = found(space, pieces)
        single = one_value(self._semiring, self.flipped, self.term, A, u) if self.grows else None
        if single is not None:
            changed.set_sparse(indices, np.array([cast_scalar(single, dtype)]), iso=True, sorted=ascending,
                               partition=out.partition)
        else:
            changed.set_sparse(indices, out.values[indices] if ascending else gathered(values, pieces),
                               sorted=ascending, partition=out.partition)
        return True


def spread(kernel: Any, A: MatrixBlock, count: int, limit: float, args: tuple, ids: tuple) -> list | None:
    """Push from `count` entries on one thread, or on ranges of columns: [(base, result)], or None above the limit."""
    alone = float(limit if threads() == 1 else min(limit, PARALLEL_WORK))
    work = count * (8 + A.nvals // max(A.nrows, 1))
    result = kernel(work, 0, A.indptr, A.indptr[1:], *args, alone, *ids, A.stored.nrows)
    edges = -1 - (result[0] if type(result) is tuple else result)
    if edges < 0:
        return [(0, result)]
    if edges > limit:
        return None
    ranges = A.column_ranges(min(threads(), MOST_RANGES))
    calls = [(base, begin, end, *args, math.inf, *ids, A.stored.nrows) for base, begin, end in ranges]
    return [(base, result) for (base, _, _), result in zip(ranges, parallel_calls(kernel, int(edges), calls))]


def found(space: Workspace, pieces: list[slice]) -> tuple[np.ndarray, bool]:
    """The positions that a push has stamped, and whether they are ascending.

    Pushing on from a long list in ascending order is up to three times faster than
    in the order of discovery, and reading it off the stamps costs less than sorting.
    """
    if sum([piece.stop - piece.start for piece in pieces]) * LONG_LIST < space.size:
        return gathered(space.indices, pieces), False
    return np.flatnonzero(space.stamp == space.epoch).astype(space.indices.dtype), True


def gathered(array: np.ndarray, pieces: list[slice]) -> np.ndarray:
    """The pieces of a workspace's array, copied into one."""
    if len(pieces) == 1:
        return array[pieces[0]].copy()
    return np.concatenate([array[piece] for piece in pieces]) if pieces else array[:0].copy()
