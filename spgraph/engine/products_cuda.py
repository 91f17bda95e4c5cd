"""Matrix-vector products on a GPU: push from an edge-balanced list, pull by equal shares of the entries.

Launches: push, one and one that clears up after it (and one before it for a list that did not come from a
push through the same matrix); pull, one. Nothing is waited for but the numbers that a program asks
for: the length of the result comes with the edges that it has, so the next push needs no other wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings._cuda import C_TYPES
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
WORK_OF_A_ROW = 8  # edges that a row costs as much as, besides its own
LEAST_SHARE, MOST_SHARE, SHARES_PER_WARP = 256, 4096, 8  # edges that a warp takes at a time
WARPS = 32  # of a multiprocessor, at least
# u's first values are kept in shared memory if rows and columns lie by falling degree and each is read often
HOT_EDGES, HOT_READS, HOT_SHARE, HOT_BLOCK = 1 << 22, 8, 1 / 8, 1024
PAIR_READS = 4  # of a value, from which on it is worth to lay its id beside it
BLOCK, ROOM_TERMS, ROOM_BYTES = 256, 264, 96  # of pull_all without them; of a warp's room
CACHE_BYTES = 63 << 10  # that stay a cache: rmat24-16 takes 3.2 ms, with 32 KiB more in shared memory 3.8 (H100)
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
        device, xp = self.device, out.device.xp
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
        dense = not self.term.stops
        paired = dense and self._pairs(A)
        hot = _hot_values(A, u, 8 if paired else u.dtype.itemsize, self.term.dtype) if dense else 0
        key = ("pull", dense, hot, paired, *self.key(A), u_full, out.dtype, fresh, full, c_iso, self.replace, noting,
               listed, None if fresh or accum is None else accum.key)
        kernel = device.kernels.get(key)
        if kernel is None:
            kernel = self._make(key, "pull.pull_all" if dense else "pull.pull_until", A, out.dtype, U_FULL=u_full,
                                REPLACE=self.replace, ACCUM=accum is not None, C_FULL=full, C_ISO=c_iso, FRESH=fresh,
                                CHANGED=noting, CHVALS=listed, HOT=hot, BY_ROW="i" in self.term.uses,
                                **({"PAIRED": "1", "U": C_TYPES[u.dtype.name]} if paired else {}))
        uvals = _paired(u, A.cols.to_global) if paired else u.values
        args = (A.indptr, A.indices, A.values, EMPTY_BITS if u_full else u.present, uvals, view.present, view.values,
                present, values, before, bits, new_values if listed else EMPTY_BITS, *self.ids(A))
        if dense:
            shares, dtype = _shares(A), self.term.dtype
            with device.lock:  # the giants' counters are the matrix's
                later = kernel(shares.units, (*shares.args, xp.empty(shares.pieces, dtype),
                                              xp.empty(shares.pieces, np.uint8), shares.arrived, *args),
                               blocks=_hot_blocks(shares.units, device) if hot else None)
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

    def _pairs(self, A: MatrixBlock) -> bool:
        """Whether every entry needs a value and a global id from the same place, and both fit 8 bytes."""
        u, ids = self.u, A.cols.to_global
        return (ids is not None and self.term.uses >= {"k", "u"} and not u.iso and u.dtype.itemsize == ids.itemsize == 4
                and A.nvals >= PAIR_READS * A.ncols)

    # ---- kernels ---------------------------------------------------------------
    def _make(self, key, name: str, A: MatrixBlock, out_dtype, **consts):
        device, monoid = self.device, self.semiring.monoid
        ops = self.ops(out_dtype)
        if self.filter is not None:
            ops |= self.filter.ops(out_dtype)
        consts = {**self.consts(A), "ATOMIC": hardware_atomic(monoid), "GLANCE": settles(monoid), **consts}
        if name == "pull.pull_all":
            hot = consts["HOT"]
            block = HOT_BLOCK if hot else BLOCK
            shared = _rooms(block, self.term.dtype) + hot * (8 if "PAIRED" in consts else self.u.dtype.itemsize)
            kernel = device.kernel(name, consts, ops, block=block, shared=shared)
        else:
            kernel = device.kernel(name, consts, ops)
        device.kernels[key] = kernel
        return kernel


def _hot_blocks(units: int, device: Any) -> int:
    """One per multiprocessor, whose shared memory it fills."""
    return min(-(-units * WARP // HOT_BLOCK), device.multiprocessors)


def _rooms(block: int, dtype: np.dtype) -> int:
    """Bytes of shared memory in which the warps of a block add up terms: `struct Room` of pull.cuh for each."""
    return block // WARP * (ROOM_TERMS * dtype.itemsize + ROOM_BYTES)


def _paired(u: VectorBlock, ids: Any) -> Any:
    """Values and ids of 4 bytes side by side, as numbers of 8 bytes."""
    values = u.values
    pairs = u.device.xp.empty((values.size, 2), np.uint32)
    pairs[:, 0] = values.view(np.uint32)
    pairs[:, 1] = ids.view(np.uint32)
    return pairs.reshape(-1).view(np.uint64)


def _hot_values(A: MatrixBlock, u: VectorBlock, size: int, dtype: np.dtype) -> int:
    """How many of u's first values, of `size` bytes, a block keeps at hand, besides terms of `dtype`."""
    if A.cols.name != "degree" or u.iso or A.nvals < max(HOT_EDGES, HOT_READS * A.ncols):
        return 0
    device: Any = u.device
    count = (device.shared_memory - CACHE_BYTES - _rooms(HOT_BLOCK, dtype)) // size
    return count if 0 < count < A.ncols and _shares(A).reads(A, count) >= HOT_SHARE * A.nvals else 0


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


class _Shares:
    """The rows of a matrix in shares of about equal work, its giants in pieces; see pull.cuh."""

    __slots__ = ("_reads", "args", "arrived", "pieces", "units")

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

    def reads(self, A: MatrixBlock, count: int) -> int:
        """Entries in the first `count` rows; by falling degree, about as many are in the first columns."""
        if count not in self._reads:
            self._reads[count] = int(A.device.to_host(A.indptr[count:count + 1])[0])
        return self._reads[count]


def _shares(A: MatrixBlock) -> _Shares:
    if A.shares is None:
        A.shares = _Shares(A)
    return A.shares
