"""Loops that one thread of the CPU runs by itself: searches that grow, levels and relaxations, while few edges leave u.

Method: `push_on` of `kernels.cpu.push`, superstep by superstep the same as single pushes. A step that a second thread
would make faster is left to `mxv`, which also chooses the direction.
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
from spgraph.engine.product import Filter, one_value
from spgraph.engine.products_cpu import CpuProduct
from spgraph.engine.scatters import NO_THUNK, gathered
from spgraph.engine.workspace import Workspace, forget_workspaces, workspace
from spgraph.kernels.cpu._threads import PARALLEL_WORK
from spgraph.kernels.cpu.push import push_on

__all__ = ["grow", "relax"]

PLACES = {"STEPS": 0, "ENTRIES": 1, "COUNT": 2, "ADDED": 3, "WORK": 4, "WITHIN": 5}
ITS_OWN = object()  # instead of a value: all entries have the same one
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
    if _record.listener is not None or context.current().direction not in ("auto", "push") or most == 0 or u is out:
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
    out.writable_bitmap(full=True)
    full = out.format == "full"
    model = VectorBlock(u.size, out.dtype, u.partition)  # u as it is after a step
    product = CpuProduct(out, None, NO_MASK, accum, False, A, transposed, model, semiring, flipped, model, kept, False,
                         grows)
    if value is None and grows and one_value(semiring, flipped, product.term, A, u) is not None:
        value = ITS_OWN
    rows = A.oriented(not transposed)
    key = "on", *product.key(rows), out.dtype, full, grows, kept and (kept.op.key, kept.thunk.dtype)
    kernel = product.kernel(key, push_on, rows, out.dtype, CHANGED=True, C_FULL=full, GROWS=grows,
                            FILTER=kept is not None, **PLACES)
    space = workspace(out.size)
    lists = space.array("list", space.indices.dtype), space.indices
    listed = space.array("listed", out.dtype), space.array("values", out.dtype)
    lists[0][:count] = u.indices
    listed[0][:count] = u.values if number is None else number
    first = count * (8 + A.nvals // A.nrows)
    work = AT_ONCE if kernel.ready(first) else INTERPRETED
    told = np.array([0, 0, count, 0, work, 0])
    result = _Result(out, u, lists, listed, told, value, grows, space)
    try:
        kernel(first, rows.indptr, rows.indptr[1:], lists[0], listed[0], rows.indices, rows.values,
               EMPTY_BITS if full else out.present, out.values, space.stamp, space.next_epoch(), lists[1], listed[1],
               NO_THUNK if kept is None else kept.thunk, PARALLEL_WORK, LIMIT if most is None else min(most, LIMIT),
               told, *product.ids(rows, swap=True), rows.stored.nrows)
        result.take()
    except BaseException:  # an interrupt is heard when the kernel has ended, or within it while it is interpreted
        result.take()
        raise
    kernel.note(work - int(told[PLACES["WORK"]]))
    return result.done()


class _Result:
    """What a call of the kernel has done to C and u; to be taken once more where that is interrupted."""

    def __init__(self, out: VectorBlock, u: VectorBlock, lists: tuple, listed: tuple, told: np.ndarray, value: Any,
                 grows: bool, space: Workspace):
        self.out, self.u, self.lists, self.listed, self.told, self.value = out, u, lists, listed, told, value
        self.grows, self.space = grows, space
        self.present, self.nvals, self.partition = out.present, out.nvals, out.partition

    def done(self) -> Done | None:
        """Steps, and u's entries in all of them."""
        steps, entries = self.told[:2].tolist()
        return Done(steps, entries) if steps else None

    def take(self) -> None:
        """C's entries are counted, and u becomes what the last step has changed."""
        steps, _, count, added, _, within = self.told.tolist()
        if within and not self.grows:
            self._keep_part(self.lists[steps % 2][:count])
            return
        if within:  # what this step has found was not there before
            self.present[self._stamped()] = 0
        if not steps:
            return
        ids, values = self.lists[steps % 2], self.listed[steps % 2]
        value, own = self.value, self.value is ITS_OWN
        if value is not None and not own:  # u's entries have another value than C, which they are not yet in
            self.present[ids[:count]] = 0
            added -= count
        if added:
            self.out.set_bitmap(self.present, self.out.values, self.nvals + added)
        if value is not None:
            values = np.array(values[:1]) if own else value
        self._become(ids, values, count, value is not None)

    def _stamped(self) -> np.ndarray:
        """What the step that is not done has found or lowered."""
        return np.flatnonzero(self.space.stamp == self.space.epoch).astype(self.lists[0].dtype)

    def _keep_part(self, listed: np.ndarray) -> None:
        """Of a relaxation that was interrupted within a step: u becomes all that may have something to lower yet."""
        if self.present is not None:
            self.out.set_bitmap(self.present, self.out.values, int(np.count_nonzero(self.present)))
        ids = np.union1d(self._stamped(), listed)
        self.u.set_sparse(ids, self.out.values[ids], partition=self.partition)

    def _become(self, ids: np.ndarray, values: np.ndarray, count: int, iso: bool) -> None:
        try:
            found = gathered(ids, [slice(0, count)]), values if iso else gathered(values, [slice(0, count)])
        except MemoryError:  # then u takes over the lists
            forget_workspaces()
            found = ids[:count], values if iso else values[:count]
        self.u.set_sparse(*found, iso=iso, sorted=False, partition=self.partition)
