"""Matrix-vector products on a GPU: push from an edge-balanced list, pull by bins of rows.

Launches: push, one and one that clears up after it (and one before it for a list that did not come from a
push through the same matrix); pull, one. Nothing is waited for but the numbers that a program asks
for: the length of the result comes with the edges that it has, so the next push needs no other wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.mask import EMPTY_BITS, NO_MASK
from spgraph.engine.operators import settles, store
from spgraph.engine.product import Product, cast_scalar
from spgraph.engine.vector_write import differences, write
from spgraph.kernels.cuda.assemble import hardware_atomic

__all__ = ["CudaProduct"]

COUNT_BITS = 30  # of a result that holds edges and entries, see push.cuh
COUNT_MASK = (1 << COUNT_BITS) - 1
MOST_EDGES = 1 << (64 - COUNT_BITS)
WARP = 32
NO_THUNK = np.int8(0)
NO_PREFIX = np.empty(0, np.int64)
LAST_EPOCH = 255
EMPTY_INDICES = np.empty(0, np.int32)
LONG_SHARE = 4  # a result that may have more than size / this entries is made as a bitmap
BINS = (2048, 48, 6)  # rows with more entries than these go to 256, 32 and 8 threads each, the rest to 2
# select operators by which a value that is accepted once stays accepted, for monoids that only go down or only up
DOWNWARD = frozenset({"valuelt", "valuele"})
UPWARD = frozenset({"valuegt", "valuege"})


class CudaProduct(Product):
    """See `Product`."""

    __slots__ = ()

    @property
    def device(self) -> Any:
        """Where it runs: a `CudaDevice`."""
        return self.out.device

    # ---- push ------------------------------------------------------------------
    def push(self, limit: float) -> bool:
        """Scatter from the entries of u; False (and nothing done) if they have more than `limit` edges."""
        out, u = self.out, self.u
        if u.nvals > COUNT_MASK or self.A.nvals >= MOST_EDGES:  # such a list has no place in a packed result
            return False
        u.to_sparse()
        A = self.A.oriented(not self.transposed)
        prefix, edges = _queue(u, A)
        if edges > limit or min(edges, out.size) > COUNT_MASK:
            return False
        if self.fresh:
            self._push_new(A, prefix, edges, out, out.dtype)
        elif self.combines_in_place():
            self._push_scatter(A, prefix, edges)
        else:
            before = out.copy() if self.changed is not None else None
            T = VectorBlock(out.size, self.term.dtype, out.partition, device=out.device)
            self._push_new(A, prefix, edges, T, self.term.dtype)
            write(out, self.mask, self.accum, self.replace, T)
            if before is not None:
                self.changed.assume(differences(before, out))
        return True

    def _push_new(self, A: MatrixBlock, prefix, edges: int, result: VectorBlock, dtype) -> None:
        """`result` (C, or a vector of its size) becomes A u within the mask; its number of entries is pending."""
        u, view, term, device = self.u, self.view, self.term, self.device
        monoid, size = self.semiring.monoid, self.out.size
        iso = self.iso_value()
        any_, follows = bool(monoid.terminal_any), _follows(A)
        summed = iso is None and not any_
        bitmap = edges * LONG_SHARE >= size and (not summed or dtype == term.dtype)
        single = None if iso is None else np.array([cast_scalar(iso, dtype)])
        key = ("push list", *self.key(A), dtype, iso is None, follows, bitmap)
        kernel = device.kernels.get(key)
        if kernel is None:
            kernel = self._make(key, "push.push_list", A, dtype, ISO_OUT=iso is not None, BITMAP=bitmap,
                                NEXT=follows and not bitmap, VALUES=iso is None and any_)
        args = (prefix, edges, A.indptr, u.indices, u.values, A.indices, A.values, view.present, view.values)
        ids, blocks = self.ids(A, swap=True), _blocks(edges, device)
        if bitmap:
            xp = device.xp
            present = xp.zeros(size, np.uint8)
            values = (single if single is not None else device.filled(size, monoid.start, dtype) if summed
                      else xp.empty(size, dtype))
            acc, written = (values, EMPTY_BITS) if summed else (EMPTY_BITS, EMPTY_BITS if iso is not None else values)
            later = kernel(u.nvals, (*args, present, 1, acc, EMPTY_INDICES, written, NO_PREFIX, *ids), blocks=blocks)
            result.set_bitmap_later(present, values, lambda: later.get()[0], iso=iso is not None,
                                    padding=monoid.start if summed else None, partition=self.out.partition)
            return
        found = _Found(A, size, edges, dtype, single, self.out.partition)
        with device.lock:  # marks and accumulators are the device's, whichever thread asks
            acc = _accumulator(device, size, monoid, term.dtype) if summed else EMPTY_BITS
            found.later = kernel(u.nvals, (*args, *_marks(device, size), acc, found.indices, found.written,
                                           found.prefix, *ids), blocks=blocks)
            if summed:
                found.fetch(acc, monoid, reset=True)
        result.set_pending(found.settle)

    def _push_scatter(self, A: MatrixBlock, prefix, edges: int) -> None:
        """C is combined with terms where it stands; what changes is listed, or marked if that may be much."""
        u, view, out, changed, kept = self.u, self.view, self.out, self.changed, self.filter
        device, size, dtype, monoid, grows = self.device, out.size, out.dtype, self.semiring.monoid, self.grows
        if grows:
            self.view = view = NO_MASK  # C's own presence says as much
        out.writable_bitmap(full=True)
        full = out.format == "full"
        if not full and not grows:
            _pad(out, monoid.start)
        early = kept is not None and (grows or _is_monotone(kept.op, monoid))
        noting = changed is not None
        single = self.changed_value() if noting else None
        bitmap = noting and grows and edges * LONG_SHARE >= size
        follows = noting and not bitmap and _follows(A)
        key = ("push scatter", *self.key(A), dtype, full, noting, follows, grows, bitmap, single is None,
               (kept.op.key, kept.thunk.dtype) if early else None)
        kernel = device.kernels.get(key)
        if kernel is None:
            kernel = self._make(key, "push.push_scatter", A, dtype, CHANGED=noting, C_FULL=full, GROWS=grows,
                                BITMAP=bitmap, FILTER=early, NEXT=follows, VALUES=grows and single is None)
        before, bits, values, partition = out.nvals, out.present, out.values, out.partition
        args = (prefix, edges, A.indptr, u.indices, u.values, A.indices, A.values, view.present, view.values,
                EMPTY_BITS if full else bits, values)
        more = (kept.thunk if early else NO_THUNK, *self.ids(A, swap=True))
        blocks, count = _blocks(edges, device), u.nvals
        if bitmap:
            marks = device.xp.zeros(size, np.uint8)
            new_values = device.xp.empty(size, dtype) if single is None else single
            later = kernel(count, (*args, marks, 1, EMPTY_INDICES, EMPTY_BITS if single is not None else new_values,
                                   NO_PREFIX, *more), blocks=blocks)
            changed.become(size, dtype)
            changed.set_bitmap_later(marks, new_values, lambda: later.get()[0][0], iso=single is not None,
                                     partition=partition)
        else:
            found = _Found(A, size, edges if noting else 0, dtype, single, partition)
            with device.lock:
                marks, epoch = _marks(device, size) if noting and not grows else (EMPTY_BITS, 0)
                later = found.later = kernel(count, (*args, marks, epoch, found.indices, found.written, found.prefix,
                                                     *more), blocks=blocks)
                if noting and not grows:
                    found.fetch(values, monoid, reset=False)  # now: later they may be others
            if noting:
                changed.become(size, dtype)
                changed.set_pending(found.settle, partition=partition)
        if not full:
            out.set_bitmap_later(bits, values, lambda: before + later.get()[0][1], least=before,
                                 padding=None if grows else monoid.start)
        if early:
            self.filter = None

    # ---- pull ------------------------------------------------------------------
    def pull(self) -> None:
        """Gather into every allowed row of C, in place."""
        u, view, out, accum, changed = self.u, self.view, self.out, self.accum, self.changed
        device, xp = out.device, out.device.xp
        A = self.A.oriented(self.transposed)
        u.to_bitmap()
        fresh = self.fresh
        full = not fresh and accum is not None and (self.mask is None or not self.replace) and out.nvals == out.size
        c_iso = full and out.iso
        before = out.values if c_iso else EMPTY_BITS
        if fresh or c_iso:
            present = EMPTY_BITS if c_iso else xp.empty(out.size, np.uint8)
            values = xp.empty(out.size, out.dtype)
        else:
            out.writable_bitmap(full=full)
            present, values = EMPTY_BITS if full else out.present, out.values
        noting = changed is not None and not fresh
        bits = xp.zeros(out.size, np.uint8) if noting else EMPTY_BITS
        single = self.changed_value() if noting else None
        listed = noting and single is None
        new_values = xp.empty(out.size, out.dtype) if listed else EMPTY_BITS if single is None else single
        u_full = u.format == "full"
        dense = self.looks_densely()
        key = ("pull", dense, *self.key(A), u_full, out.dtype, fresh, full, c_iso, self.replace, noting, listed,
               None if fresh or accum is None else accum.key)
        kernel = device.kernels.get(key)
        if kernel is None:
            kernel = self._make(key, "pull.pull_all" if dense else "pull.pull_until", A, out.dtype, U_FULL=u_full,
                                REPLACE=self.replace, ACCUM=accum is not None, C_FULL=full, C_ISO=c_iso, FRESH=fresh,
                                CHANGED=noting, CHVALS=listed)
        args = (A.indptr, A.indices, A.values, EMPTY_BITS if u_full else u.present, u.values, view.present, view.values,
                present, values, before, bits, new_values if listed else EMPTY_BITS, *self.ids(A))
        if dense:
            bins = _bins(A)
            later = kernel(A.nrows, (*bins.args, *args), blocks=bins.blocks)
        else:
            later = kernel(A.nrows, args)
        partition = out.partition
        if full:
            out.set_bitmap(out.present, values, out.size)
        else:
            out.set_bitmap_later(present, values, lambda: later.get()[0][0])
        if noting:
            changed.become(out.size, out.dtype)
            changed.set_bitmap_later(bits, new_values, lambda: later.get()[0][1], iso=single is not None,
                                     partition=partition)

    # ---- kernels ---------------------------------------------------------------
    def _make(self, key, name: str, A: MatrixBlock, out_dtype, **consts):
        device, monoid = self.out.device, self.semiring.monoid
        ops = self.ops(out_dtype)
        if self.filter is not None:
            ops |= self.filter.ops(out_dtype)
        consts = {**self.consts(A), "ATOMIC": hardware_atomic(monoid), "GLANCE": settles(monoid), **consts}
        kernel = device.kernels[key] = device.kernel(name, consts, ops)
        return kernel


def _blocks(edges: int, device) -> int:
    """Blocks of eight warps: 32 edges to a warp, as long as there are not more blocks than run at once."""
    return max(1, min(-(-edges // (8 * WARP)), 6 * device.multiprocessors))


def _unpacked(result: int) -> tuple[int, int]:
    """Entries of a list, and their edges."""
    return result & COUNT_MASK, result >> COUNT_BITS


def _follows(A: MatrixBlock) -> bool:
    """Whether a result is likely to be pushed through the same matrix."""
    return A.nrows == A.ncols and A.rows is A.cols


def _is_monotone(op, monoid) -> bool:
    """Whether a value that `op` accepts stays accepted while the monoid goes on (NaN ends `minimum`'s way)."""
    label = getattr(monoid.binaryop.expr, "label", "")
    whole = monoid.type.np_type.kind != "f"
    down, up = label == "fmin" or (whole and label == "minimum"), label == "fmax" or (whole and label == "maximum")
    return (down and op.name in DOWNWARD) or (up and op.name in UPWARD)


def _queue(u: VectorBlock, A: MatrixBlock) -> tuple[Any, int]:
    """The running sum of row lengths along u's list, and the sum of all; may put the list into another order."""
    if u.queue is not None and u.queue[0] is A.indptr:
        return u.queue[1:]
    device, xp, count = u.device, u.device.xp, u.nvals
    key = "push queue", u.iso
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel("queue.make", {"VALUES": not u.iso}, {})
    indices, prefix = xp.empty(count, u.indices.dtype), xp.empty(count, np.int64)
    values = EMPTY_BITS if u.iso else xp.empty(count, u.dtype)
    later = kernel(count, (A.indptr, u.indices, u.values, indices, values, prefix))
    edges = _unpacked(later.get()[0])[1]
    u.set_sparse(indices, u.values if u.iso else values, iso=u.iso, sorted=count < 2)
    u.queue = A.indptr, prefix, edges
    return prefix, edges


class _Found:
    """The list that a push makes, with room for all that may come; how long it is, `later` will say."""

    __slots__ = ("device", "indices", "indptr", "later", "partition", "prefix", "single", "values", "written")

    def __init__(self, A: MatrixBlock, size: int, edges: int, dtype, single, partition):
        xp, room = A.device.xp, min(edges, size)
        self.device = A.device
        self.indptr = A.indptr  # as it is now: the matrix may have another one when the length is known
        self.indices = xp.empty(room, index_dtype(size))
        self.single = single
        self.values = xp.empty(room, dtype) if single is None else single
        self.written = EMPTY_BITS if single is not None else self.values  # by the kernel
        self.prefix = xp.empty(room, np.int64) if _follows(A) else NO_PREFIX
        self.partition = partition
        self.later: Any = None

    def fetch(self, source, monoid, *, reset: bool) -> None:
        """Values come from their places in `source`, which get the identity back if it is to be `reset`."""
        device = self.device
        key = "queue fetch", source.dtype, self.values.dtype, reset, monoid.key
        kernel = device.kernels.get(key)
        if kernel is None:
            kernel = device.kernels[key] = device.kernel(
                "queue.fetch", {"RESET": reset, "IDENTITY": monoid.start},
                {"STORE": store(source.dtype, self.values.dtype)})
        kernel(self.indices.size, (self.later.places()[0], self.indices, source, self.values))

    def settle(self, block: VectorBlock) -> None:
        """The list becomes the content of a block; waits for its length."""
        result = self.later.get()[0]
        count, edges = _unpacked(result[0] if type(result) is tuple else result)
        indices, sorted_ = self.indices[:count], count < 2
        if self.single is not None:
            block.set_sparse(indices, self.single, iso=True, sorted=sorted_, partition=self.partition)
        else:
            block.set_sparse(indices, self.values[:count], sorted=sorted_, partition=self.partition)
        if self.prefix.size:
            block.queue = self.indptr, self.prefix, edges  # more than `count` of it means nothing


def _marks(device, size: int) -> tuple[Any, int]:
    """A byte per position and the number that marks those that this push has found; only every 255th clears."""
    key = "marks", size
    marks, epoch = device.kernels.get(key, (None, 0))
    if marks is None:
        marks = device.xp.zeros(-(-size // 4) * 4, np.uint8)  # whole words, see set_mark
    elif epoch == LAST_EPOCH:
        device.clear(marks)
        epoch = 0
    device.kernels[key] = marks, epoch + 1
    return marks, epoch + 1


def _accumulator(device, size: int, monoid, dtype):
    """A value per position, all the identity; pushes leave it so."""
    key = "acc", size, monoid.start.tobytes(), dtype
    values = device.kernels.get(key)
    if values is None:
        values = device.kernels[key] = device.filled(size, monoid.start, dtype)
    return values


def _pad(out: VectorBlock, identity) -> None:
    """Absent positions of a bitmap get the identity."""
    if out.padding is not None and out.padding.tobytes() == identity.tobytes():
        return
    device = out.device
    key = "push pad", out.dtype, identity.tobytes()
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel("queue.pad", {"IDENTITY": identity}, {})
    kernel(out.size, (out.present, out.values))
    out.padding = identity


class _Bins:
    """The rows of a matrix by length, and how many blocks serve each bin of `pull_all`."""

    __slots__ = ("args", "blocks")

    def __init__(self, A: MatrixBlock):
        device: Any = A.device
        xp = device.xp
        lengths = A.indptr[1:] - A.indptr[:-1]
        longest_first: list[Any] = []
        ends: list[int] = []
        taken = xp.zeros(A.nrows, bool)
        for least in BINS:
            longer = lengths > least
            chosen = xp.flatnonzero(longer & ~taken)
            longest_first.append(chosen)
            ends.append((ends[-1] if ends else 0) + chosen.size)
            taken = longer
        longest_first.append(xp.flatnonzero(~taken))
        order = xp.concatenate(longest_first).astype(index_dtype(A.nrows))
        most = 8 * device.multiprocessors
        sizes = [ends[0], ends[1] - ends[0], ends[2] - ends[1], A.nrows - ends[2]]
        # a block has 1, 8, 32 or 128 rows of its bin at a time; with more than 4 turns each, blocks are kept busy
        blocks = [min(-(-size // rows), most) for size, rows in zip(sizes, (1, 8, 32, 128))]
        blocks[-1] = max(blocks[-1], 1)
        cuts = np.cumsum(blocks).tolist()
        self.blocks = cuts[-1]
        self.args = (order, *ends, *cuts[:3])


def _bins(A: MatrixBlock) -> _Bins:
    if A.bins is None:
        A.bins = _Bins(A)
    return A.bins
