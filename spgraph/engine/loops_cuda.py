"""A search that grows, level by level, on a GPU that needs no host in between.

Method: C<!s(C)> = u any.f A with u = what is new, again and again. A level of it is one kernel of a few (push into a
list, push into a bitmap, pull) and, where u changes its form, one or two before. Their arguments stay the same, so they
are packed once, and the host starts all of them in turns, ahead of what it knows; which of them has something to do, a
word in the GPU's memory says, and the others end at once (kernels/cuda/after.cuh). So a level costs what its kernel
costs, and some microseconds. What is next is chosen by the rule of `engine.plan.push_limit`, as the host does.

Data encoding: u is one of two lists with the running sums of row lengths, or one of two bitmaps; it has no values,
since its entries are C's. `grow` takes C and u as they are, and leaves them as single products do. Memory: 8 bytes a
position (10 with 64-bit positions).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from semirings import binary
from spgraph import _record, context
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.mask import EMPTY_BITS, NO_MASK, MaskView
from spgraph.engine.plan import GPU_COSTS
from spgraph.engine.product import occupied_rows
from spgraph.engine.products_cuda import CudaProduct
from spgraph.engine.queues_cuda import counts_edges, queue
from spgraph.engine.steps_cuda import LONG_SHARE, NO_THUNK
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES

__all__ = ["grow"]

ENDED, LISTING, CLEARING, CLEARING_MARKS, SPREADING, PUSHING, MARKING, PULLING = range(8)  # as in after.cuh
AHEAD = 3  # rounds that are started before the host knows what the first of them did
PUSHES, PUSHES_AHEAD = 16, 32  # of a long row of pushes: started at a time, and at most before the host knows
STEADY = 8  # levels after which a row of pushes is long
ALIGNED = 256  # bytes
PROGRESS, HEARD, WORDS = 5, 6, 8  # of a result's place: what after.cuh writes there
PATIENCE = 0.05  # seconds of polling before the host looks for errors
UNHEARD = 1000  # kernels started since something was done: then nothing will be


def grow(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool, known: bool,
         most: int | None) -> int:
    """See `engine.loops.grow`."""
    if not _suits(out, A, transposed, u, semiring) or most == 0:
        return 0
    search = _Search(out, A, transposed, u, semiring, flipped)
    if not known and "u" in search.product.term.uses:
        return 0
    return search.run(most)


def _suits(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring) -> bool:
    """Whether the loop can be run here and now."""
    if out.device.on_host or _record.listener is not None or context.current().direction != "auto":
        return False
    inner, outer = (A.rows, A.cols) if transposed else (A.cols, A.rows)
    if not (A.width == 1 and not A.most and semiring.monoid.terminal_any and A.rows is A.cols and A.has_transpose):
        return False
    if not (0 < A.nvals < MOST_EDGES and A.nrows == A.ncols <= COUNT_MASK and u.dtype is out.dtype):
        return False
    return (u is not out and u.partition is inner and out.partition is outer and 0 < out.nvals < out.size
            and 0 < u.nvals < u.size)


class _Search:
    """The kernels of a search, and what they work on."""

    def __init__(self, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool):
        self.out, self.u = out.writable_bitmap(), u
        self.device: Any = out.device
        self.rows, self.columns = A.oriented(not transposed), A.oriented(transposed)  # to push, to pull
        self.occupied, self.sources = occupied_rows(A, transposed), self.rows.occupied
        xp, size = self.device.xp, out.size
        self.room = max(size // LONG_SHARE, min(size, 1024))
        self.apart = -(-size // ALIGNED) * ALIGNED
        self.lists = xp.empty(2 * self.room, index_dtype(size))
        self.sums = xp.empty(2 * self.room, np.int64)
        self.bits = xp.empty(2 * self.apart, np.uint8)
        self.product = CudaProduct(out, None, NO_MASK, binary.first[out.dtype], False, A, transposed, u, semiring,
                                   flipped, u, None, False, True)

    def run(self, most: int | None) -> int:
        """All levels; returns how many."""
        device = self.device
        turn, edges = self._begin()
        loop = device.xp.asarray(self._state(turn, edges, math.inf if most is None else most))
        with device.lock:
            pending = device.expect(5, None)
            try:
                kernels = self._kernels(loop, pending)
                self._drive(kernels, pending)
            except BaseException:
                device.expect_no_more(pending)
                raise
            count, entries, steps, as_list, which = pending.get()[0]
        device.counters.products += steps
        self._end(count, entries, bool(as_list), which)
        return steps

    def _begin(self) -> tuple[int, int]:
        """u becomes the first list or bitmap; whose turn it is, and the edges that leave u (-1: not counted)."""
        u, device = self.u, self.device
        listed = u.format == "sparse" and u.nvals <= self.room
        made = queue(u, self.rows, math.inf) if listed else None
        if made is None:
            u.to_bitmap()
            device.copy_into(self.bits, 0, u.present)
            return (LISTING if u.nvals <= self.room else PULLING), -1
        prefix, edges = made
        device.copy_into(self.lists, 0, u.indices)
        device.copy_into(self.sums, 0, prefix[:u.nvals])
        return (CLEARING_MARKS if edges * LONG_SHARE >= self.out.size else PUSHING), edges

    def _state(self, turn: int, edges: int, most: float) -> np.ndarray:
        """`struct Loop`."""
        out, u, costs = self.out, self.u, GPU_COSTS
        whole = [turn, 0, 0, edges >= 0, u.nvals, edges, out.nvals, 0, min(most, 1 << 62), 0,
                 out.size, self.rows.nvals, self.occupied, self.sources, self.room, self.apart]
        real = [costs.push, costs.pull, costs.stop, out.size * costs.look + costs.start]
        return np.concatenate([np.array(whole, np.int64), np.array(real).view(np.int64)])

    def _kernels(self, loop: Any, pending: Any) -> list:
        """In the order in which a level may need them: the list is made, bits are cleared, set; push, push, pull."""
        product, out, device = self.product, self.out, self.device
        rows, columns, dtype = self.rows, self.columns, out.dtype
        lists, sums, bits, size = self.lists, self.sums, self.bits, out.size
        per_multiprocessor = device.multiprocessors
        push = []
        for bitmap in (False, True):
            key = ("loop push", *product.key(rows), dtype, bitmap)
            kernel = product.kernel(key, "push.push_scatter", rows, dtype, CHANGED=True, C_FULL=False, GROWS=True,
                                    BITMAP=bitmap, FILTER=False, NEXT=True, VALUES=False, LOOPED=True, U_ISO=False)
            args = (sums, 0, rows.indptr, lists, out.values, rows.indices, rows.values, EMPTY_BITS, EMPTY_BITS,
                    out.present, out.values, bits, 1, lists, EMPTY_BITS, sums, NO_THUNK,
                    *product.ids(rows, swap=True), loop)
            push.append(kernel.pack(0, args, pending, 4 * per_multiprocessor))
        product.view = MaskView("sc", out.present, EMPTY_BITS, -1)
        counts = counts_edges(columns)
        key = ("loop pull", *product.key(columns), dtype, counts)
        kernel = product.kernel(key, "pull.pull_until", columns, dtype, U_FULL=False, REPLACE=False, ACCUM=True,
                                C_FULL=False, C_ISO=False, FRESH=False, CHANGED=True, CHVALS=False, NEXT=counts, HOT=0,
                                HALVED=0, RUNS=1, BY_ROW="i" in product.term.uses, MOST=0, LOOPED=True, U_ISO=False)
        args = (columns.indptr, columns.indices, columns.values, bits, out.values, out.present, EMPTY_BITS, out.present,
                out.values, EMPTY_BITS, bits, EMPTY_BITS, *product.ids(columns), loop)
        pull = kernel.pack(size, args, pending, min(-(-size // 256), 8 * per_multiprocessor))
        words = self.apart // 4
        few, many = (min(-(-items // 256), 8 * per_multiprocessor) for items in (-(-size // 16), words))
        listing = _kernel(device, "list", VALUES=False).pack(
            size, (rows.indptr, bits, EMPTY_BITS, lists, EMPTY_BITS, sums, loop), pending, few)
        clear = _kernel(device, "clear").pack(words, (bits, loop), pending, many)
        spread = _kernel(device, "spread").pack(0, (lists, bits, loop), pending, 4 * per_multiprocessor)
        return [listing, clear, spread, *push, pull]

    def _drive(self, kernels: list, pending: Any) -> None:
        """Start kernels until the search has ended: all in turns, or pushes where nothing else has been for long."""
        device = self.device
        words, first = device.words, pending.slot * WORDS
        words[first + PROGRESS] = words[first + HEARD] = 0
        pushed = kernels[3]
        started = before = told = 0
        looked, turn, since = time.monotonic(), -1, 0
        while not pending.ready():
            if words[first + PROGRESS] != told:
                told, before = words[first + PROGRESS], started
            elif started - before > UNHEARD:
                raise RuntimeError(f"{device.name}: a loop does not go on after {told >> 3} steps, turn {told & 7}")
            steps = told >> 3
            if told & 7 != turn:
                turn, since = told & 7, steps
            waiting = started - words[first + HEARD]
            steady = turn == PUSHING and steps - since >= STEADY
            if steady and waiting <= PUSHES_AHEAD - PUSHES:
                for _ in range(PUSHES):
                    pushed.start()
                started += PUSHES
            elif not steady and waiting < AHEAD:
                for kernel in kernels:
                    kernel.start()
                started += 1
            else:
                if time.monotonic() - looked > PATIENCE:
                    device.check()
                continue
            looked = time.monotonic()

    def _end(self, count: int, entries: int, as_list: bool, which: int) -> None:
        """C and u as they are now."""
        out, u, xp = self.out, self.u, self.device.xp
        out.set_bitmap(out.present, out.values, entries)
        if not count:
            u.become(out.size, out.dtype)
        elif as_list:
            found = self.lists[which * self.room:which * self.room + count].copy()
            u.set_sparse(found, xp.take(out.values, found), sorted=count < 2, partition=out.partition)
        else:
            bits = self.bits[which * self.apart:which * self.apart + out.size].copy()
            u.set_bitmap(bits, out.values.copy(), count, partition=out.partition)


def _kernel(device: Any, name: str, **consts: Any) -> Any:
    key = "loop", name
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel(f"queue.{name}", {"LOOPED": True, **consts}, {})
    return kernel
