"""Loops that one thread of the CPU runs by itself: searches that grow, levels and relaxations, while few edges leave u.

Method: `push_on` of `kernels.cpu.push`, superstep by superstep the same as single pushes. A step that a second thread
would make faster is left to `mxv`, which also chooses the direction; so is the first one, if u's values are of
another type than C's.
Memory: beside what pushes have, a second list of positions and values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings import binary
from spgraph import _record, context
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.loops import Done
from spgraph.engine.mask import EMPTY_BITS, NO_MASK
from spgraph.engine.operators import settles
from spgraph.engine.product import Filter
from spgraph.engine.products_cpu import CpuProduct
from spgraph.engine.scatters import NO_THUNK, gathered
from spgraph.engine.workspace import workspace
from spgraph.kernels.cpu._threads import PARALLEL_WORK
from spgraph.kernels.cpu.push import push_on

__all__ = ["grow", "relax"]

AT_ONCE = 1 << 24  # edges of one call, some tenths of a second: then an interrupt is heard
INTERPRETED = 2_000  # the same before the kernel is compiled
LIMIT = np.iinfo(np.int64).max


def grow(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool,
         kept: Filter | None, most: int | None, number: Any = None, value: Any = None) -> Done | None:
    """See `engine.loops.run_alone`; with the `value` of u's entries, and their number in C, `run_levels`."""
    if not (semiring.monoid.terminal_any and 0 < out.nvals < out.size and _suits(out, A, transposed, u, most)):
        return None
    return _run(out, A, transposed, u, semiring, flipped, binary.first[out.dtype], kept, most, number, value)


def relax(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool, accum,
          kept: Filter | None, most: int | None) -> Done | None:
    """See `engine.loops.run_alone`."""
    monoid = semiring.monoid
    if not (out.nvals and accum.key == monoid.binaryop.key and out.dtype == monoid.type.np_type and settles(monoid)
            and _suits(out, A, transposed, u, most)):
        return None
    return _run(out, A, transposed, u, semiring, flipped, accum, kept, most)


def _suits(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, most: int | None) -> bool:
    """Whether a loop can be run here and now; if so, vectors lie in the matrix's order."""
    if u.format != "sparse" or not u.nvals or u.nvals * A.nvals > 2 * PARALLEL_WORK * A.nrows:
        return False
    if _record.listener is not None or context.current().direction != "auto" or most == 0 or u is out:
        return False
    if not (A.width == 1 and not A.most and A.rows is A.cols and (transposed or A.has_transpose)):
        return False
    if not (out.size == u.size == A.nrows == A.ncols and out.device is u.device is A.device):
        return False
    for block in (out, u):
        if block.partition is not A.rows:
            block.rehome(A.rows)
    return True


def _run(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool, accum,
         kept: Filter | None, most: int | None, number: Any = None, value: Any = None) -> Done | None:
    """All that can be done; None if nothing could be."""
    count, grows = u.nvals, semiring.monoid.terminal_any
    if number is None and u.dtype != out.dtype:
        return None
    out.writable_bitmap(full=True)
    full = out.format == "full"
    values = np.full(1, number, out.dtype) if number is not None else u.values
    model = VectorBlock(u.size, out.dtype, u.partition)  # u as it is after a step
    product = CpuProduct(out, None, NO_MASK, accum, False, A, transposed, model, semiring, flipped, model, kept, False,
                         grows)
    rows = A.oriented(not transposed)
    key = "on", *product.key(rows), out.dtype, full, grows, kept and (kept.op.key, kept.thunk.dtype)
    kernel = product.kernel(key, push_on, rows, out.dtype, CHANGED=True, C_FULL=full, GROWS=grows,
                            FILTER=kept is not None)
    space = workspace(out.size)
    lists = space.array("list", space.indices.dtype), space.indices
    listed = space.array("listed", out.dtype), space.array("values", out.dtype)
    lists[0][:count], listed[0][:count] = u.indices, values
    present = out.present
    first = count * (8 + A.nvals // A.nrows)
    work = AT_ONCE if kernel.ready(first) else INTERPRETED
    steps, entries, count, added, left = map(int, kernel(
        first, rows.indptr, rows.indptr[1:], lists[0], listed[0], count, rows.indices, rows.values,
        EMPTY_BITS if full else present, out.values, space.stamp, space.next_epoch(), lists[1], listed[1],
        NO_THUNK if kept is None else kept.thunk, PARALLEL_WORK, work, LIMIT if most is None else most,
        *product.ids(rows, swap=True), rows.stored.nrows))
    kernel.note(work - left)
    if not steps:
        return None
    ids, found = (gathered(array[steps % 2], [slice(0, count)]) for array in (lists, listed))
    if value is not None:
        present[ids] = 0
        added -= count
        found = value
    if added:
        out.set_bitmap(present, out.values, out.nvals + added)
    u.set_sparse(ids, found, iso=value is not None, sorted=False, partition=out.partition)
    return Done(steps, entries)
