"""Matrix-vector products on a GPU: push from an edge-balanced list, pull by equal shares of the entries.

Launches: push, one and one that clears up after it (and one before it for a list that did not come from a
push through the same matrix); pull, one (from tiles one for each section of columns, and one more). Nothing is
waited for but the numbers that a program asks for: the length of the result comes with the edges that it has, so the
next push needs no other wait.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from semirings._cuda import C_TYPES
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.first_entries import SHORT_ROWS
from spgraph.engine.mask import EMPTY_BITS, NO_MASK
from spgraph.engine.operators import settles
from spgraph.engine.product import Product, cast_scalar
from spgraph.engine.queues_cuda import (
    NO_PREFIX,
    WARP,
    Found,
    accumulator,
    blocks_for,
    copies_const,
    follows,
    marks,
    pad,
    queue,
)
from spgraph.engine.shares_cuda import row_shares
from spgraph.engine.steps_cuda import CLUSTER, EMPTY_INDICES, LONG_SHARE, PullStep, PushStep
from spgraph.engine.tiles_cuda import NONE, Tiling, tile_width
from spgraph.engine.vector_write import differences, write
from spgraph.kernels.cuda.assemble import hardware_atomic

__all__ = ["CudaProduct", "is_monotone"]

# the first values of each run of u are kept in shared memory if rows and columns lie by falling degree and each is read
# often
HOT_EDGES, HOT_READS, HOT_SHARE, HOT_BLOCK = 1 << 22, 8, 1 / 8, 1024
PAIR_READS = 4  # of a value, from which on it is worth to lay its id beside it
BLOCK, ROOM_TERMS, HOT_TERMS, ROOM_BYTES = 256, 264, 132, 96  # of pull_all without them; of a warp's room
MOST_RUNS = 8
# two neighbouring multiprocessors read each other's shared memory faster than the L2: so each keeps the hottest values
# itself, and every second one of those that come next. Gathers alone, ms on rmat22-64, rmat24-16 (H200): 1.56, 2.21;
# shared by two 1.41, 2.01, by four 3.03, 3.56. PageRank, ms an iteration: 1.81, 2.75; shared 1.72, 2.65 (bench/results)
HALVED_SHARE, HALVED_BYTES = 0.7, (4, 8)  # of the values that a block keeps; of a value


class Hot(NamedTuple):
    """Which of u's values multiprocessors keep at hand, from the beginning of each run of columns."""

    own: int  # every block the first `own` of each run
    halved: int  # of the next 2 * halved a block every second one, its neighbour the others
    runs: list[int]  # where they begin


NOT_HOT = Hot(0, 0, [0])
# a multiprocessor sets 164, 196 or all of its 228 KiB aside as shared memory, the least that is enough; the rest is a
# cache. So much less than the most just fits 196; PageRank, ms an iteration on rmat22-64, rmat24-16 (H200): 1.81, 2.77,
# with 32 KiB less (228) 2.28, 3.81; 63 (196) 1.94, 2.86; 65 (164) 1.88, 2.84; 97 1.98, 2.96 (bench/results has more)
CACHE_BYTES = 33 << 10
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
        out = self.out
        A = self.A.oriented(not self.transposed)
        made = queue(self.u, A, limit)
        if made is None:
            return False
        prefix, edges = made
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
        any_, following = bool(monoid.terminal_any), follows(A)
        summed = iso is None and not any_
        bitmap = edges * LONG_SHARE >= size and (not summed or dtype == term.dtype)
        single = None if iso is None else np.array([cast_scalar(iso, dtype)])
        key = ("push list", *self.key(A), dtype, iso is None, following, bitmap)
        kernel = self.kernel(key, "push.push_list", A, dtype, ISO_OUT=iso is not None, BITMAP=bitmap,
                             NEXT=following and not bitmap, VALUES=iso is None and any_)
        args = (prefix, edges, A.indptr, u.indices, u.values, A.indices, A.values, view.present, view.values)
        ids, blocks = self.ids(A, swap=True), blocks_for(edges, device)
        if bitmap:
            xp = device.xp
            present = xp.zeros(size, np.uint8)
            values = (single if single is not None else device.filled(size, monoid.start, dtype) if summed
                      else xp.empty(size, dtype))
            acc, written = (values, EMPTY_BITS) if summed else (EMPTY_BITS, EMPTY_BITS if iso is not None else values)
            later = kernel(u.nvals, (*args, present, 1, acc, EMPTY_INDICES, written, NO_PREFIX, A.indptr, *ids),
                           blocks=blocks)
            result.set_bitmap_later(present, values, lambda: later.get()[0], iso=iso is not None,
                                    padding=monoid.start if summed else None, partition=self.out.partition)
            return
        found = Found(A, size, edges, dtype, single, self.out.partition)
        with device.lock:  # marks and accumulators are the device's, whichever thread asks
            acc = accumulator(device, size, monoid, term.dtype) if summed else EMPTY_BITS
            found.later = kernel(u.nvals, (*args, *marks(device, size), acc, found.indices, found.written,
                                           found.prefix, A.indptr, *ids), blocks=blocks)
            if summed:
                found.fetch(acc, monoid, reset=True)
        result.set_pending(found.settle)

    def _push_scatter(self, A: MatrixBlock, prefix, edges: int) -> None:
        """C is combined with terms where it stands."""
        out, kept, grows, changed = self.out, self.filter, self.grows, self.changed
        if grows:
            self.view = NO_MASK  # C's own presence says as much
        out.writable_bitmap(full=True)
        if out.format != "full" and not grows:
            pad(out, self.semiring.monoid.start)
        early = kept is not None and (grows or is_monotone(kept.op, self.semiring.monoid))
        bitmap = changed is not None and grows and edges * LONG_SHARE >= out.size
        step = PushStep(self, A, bitmap, early)
        step.run(A, out, self.u, self.view, changed, kept and kept.thunk, prefix, edges)
        if early:
            self.filter = None  # it was applied
        if self.mask is None or grows:
            self.step = step

    # ---- pull ------------------------------------------------------------------
    def pull(self) -> None:
        """Gather into every allowed row of C, in place."""
        u, out, accum, fresh, device = self.u, self.out, self.accum, self.fresh, self.device
        A = self.A.oriented(self.transposed)
        u.to_bitmap()
        full = not fresh and accum is not None and (self.mask is None or not self.replace) and out.nvals == out.size
        if not fresh and not (full and out.iso):
            out.writable_bitmap(full=full)
        short = self.most or (A.longest is not None and A.longest <= SHORT_ROWS)
        dense = A.width > 1 or not (self.term.stops or short)
        paired = dense and self._pairs(A)
        hot = _hot_values(A, u, 8 if paired else u.dtype.itemsize, self.term.dtype) if dense else NOT_HOT
        shares = row_shares(A.stored) if dense else None
        tiling = self._tiling(A, hot, paired)
        if tiling is not None and tiling.due:
            tiling.make(A)
        step = PullStep(self, A, full=full, shares=shares, hot=hot, paired=_paired if paired else None, tiling=tiling,
                        hot_blocks=_hot_blocks(shares.units, device, hot) if shares is not None and hot.own else None)
        step.run(A, out, u, self.view, self.changed)
        if self.mask is None or self.grows:
            kept = not fresh or (accum is None and self.changed is None)
        else:
            kept = not fresh and self.mask.block is not out
        if kept:
            self.step = step

    def _tiling(self, A: MatrixBlock, hot: Hot, paired: bool) -> Tiling | None:
        """How A is cut into tiles, if such a pull can gather from them.

        It takes all of u, neither values of A nor ids, writes to all of C, and does not tell what has changed.
        """
        uses, u = self.term.uses, self.u
        if (not hot.own or paired or self.most or self.mask is not None or self.changed is not None
                or u.format != "full" or (not A.iso and "a" in uses) or uses & {"i", "k"}):
            return None
        tilings, width = row_shares(A).tilings, tile_width(self.device, u.dtype.itemsize)
        if width not in tilings:
            size, ends = hot.own + CLUSTER * hot.halved, dict(pairwise([*A.cols.runs, A.ncols]))
            near = [(begin, min(begin + size, ends[begin])) for begin in hot.runs]
            return tilings.setdefault(width, Tiling(A, width, near))
        return tilings[width]

    def slices_kernel(self, A: MatrixBlock, kept: int) -> Any:
        """The pull that adds what some columns have to sums; the values of so many are kept in shared memory."""
        key = ("pull slices", kept, *self.key(A))
        kernel = self.device.kernels.get(key)
        if kernel is None:
            per_word = 2 if kept else 1
            consts = {**self.consts(A), "KEPT": kept, "PER_WORD": per_word, "NONE": f"{NONE[per_word]}u"}
            kernel = self.device.kernels[key] = self.device.kernel(
                "tiles.pull_slices", consts, self.ops(self.term.dtype), block=HOT_BLOCK if kept else BLOCK,
                shared=kept * self.u.dtype.itemsize)
        return kernel

    def pair_consts(self) -> dict:
        """Constants of a pull that reads values and ids side by side."""
        return {"PAIRED": "1", "U": C_TYPES[self.u.dtype.name]}

    def _pairs(self, A: MatrixBlock) -> bool:
        """Whether every entry needs a value and a global id from the same place, and both fit 8 bytes."""
        u, ids = self.u, A.cols.to_global
        return (ids is not None and self.term.uses >= {"k", "u"} and not u.iso and u.dtype.itemsize == ids.itemsize == 4
                and A.nvals >= PAIR_READS * A.ncols)

    # ---- kernels ---------------------------------------------------------------
    def kernel(self, key: tuple, name: str, A: MatrixBlock, out_dtype, **consts) -> Any:
        """The kernel of that name with this product's operators, made if there is none under that key."""
        device, monoid = self.device, self.semiring.monoid
        kernel = device.kernels.get(key)
        if kernel is not None:
            return kernel
        ops = self.ops(out_dtype)
        if self.filter is not None:
            ops |= self.filter.ops(out_dtype)
        consts = {**self.consts(A), "ATOMIC": hardware_atomic(monoid), "GLANCE": settles(monoid), **copies_const(A),
                  **consts}
        if name == "pull.pull_all":
            hot = consts["HOT"]
            block = HOT_BLOCK if hot else BLOCK
            size = 8 if "PAIRED" in consts else self.u.dtype.itemsize
            shared = _rooms(block, self.term.dtype) + (hot + consts["HALVED"]) * consts["RUNS"] * size
            kernel = device.kernel(name, consts, ops, block=block, shared=shared)
        else:
            kernel = device.kernel(name, consts, ops)
        device.kernels[key] = kernel
        return kernel


def _hot_blocks(units: int, device: Any, hot: Hot) -> int:
    """One per multiprocessor, whose shared memory it fills; in pairs if neighbours share."""
    blocks = min(-(-units * WARP // HOT_BLOCK), device.multiprocessors)
    return blocks + -blocks % CLUSTER if hot.halved else blocks


def _rooms(block: int, dtype: np.dtype) -> int:
    """Bytes of shared memory in which the warps of a block add up terms: `struct Room` of pull.cuh for each."""
    return block // WARP * ((ROOM_TERMS if block == BLOCK else HOT_TERMS) * dtype.itemsize + ROOM_BYTES)


def _paired(u: VectorBlock, ids: Any) -> Any:
    """Values and ids of 4 bytes side by side, as numbers of 8 bytes."""
    values = u.values
    pairs = u.device.xp.empty((values.size, 2), np.uint32)
    pairs[:, 0] = values.view(np.uint32)
    pairs[:, 1] = ids.view(np.uint32)
    return pairs.reshape(-1).view(np.uint64)


def _hot_values(A: MatrixBlock, u: VectorBlock, size: int, dtype: np.dtype) -> Hot:
    """How many of u's values, of `size` bytes, blocks keep from the beginning of each run of columns, besides terms of
    `dtype`.
    """
    if A.cols.name != "degree" or u.iso or A.nvals < max(HOT_EDGES, HOT_READS * A.ncols):
        return NOT_HOT
    device: Any = u.device
    room = (device.shared_memory - CACHE_BYTES - _rooms(HOT_BLOCK, dtype)) // size
    ends = {begin: after for begin, after in pairwise([*A.cols.runs, A.ncols]) if begin == 0 or after - begin > room}
    runs = list(ends)[:MOST_RUNS]
    count = room // len(runs)
    if not 0 < count < min(A.nrows, A.ncols) or row_shares(A).reads(A, count) < HOT_SHARE * A.nvals:
        return NOT_HOT
    halved = 0
    if device.clusters and size in HALVED_BYTES:  # a run of n columns has no more than n
        halved = max(min([int(count * HALVED_SHARE), *(ends[begin] - begin - count for begin in runs)]), 0)
    return Hot(count - halved, halved, runs)


def is_monotone(op, monoid) -> bool:
    """Whether a value that `op` accepts stays accepted while the monoid goes on (NaN ends `minimum`'s way)."""
    label = getattr(monoid.binaryop.expr, "label", "")
    whole = monoid.type.np_type.kind != "f"
    down, up = label == "fmin" or (whole and label == "minimum"), label == "fmax" or (whole and label == "maximum")
    return (down and op.name in DOWNWARD) or (up and op.name in UPWARD)
