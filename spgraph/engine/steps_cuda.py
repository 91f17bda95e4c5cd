"""Products that write into C on a GPU: made ready once, run many times.

A superstep whose kernel takes some 20 us should not wait for the host to decide again what it decided before. So a
matrix keeps the steps of a statement (semiring, accumulator, selection of what has changed, ...), as it does on the CPU
(`engine.scatters`): pulls, pushes that list what has changed and such that mark it. The next run looks whether its
operands are stored as they were, chooses by the counts as always, and launches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import EMPTY_BITS, NO_MASK, Mask, MaskView
from spgraph.engine.product import Product, cast_scalar, expected_edges, one_value
from spgraph.engine.queues_cuda import (
    NO_PREFIX,
    NO_THUNK,
    Found,
    blocks_for,
    counts_edges,
    follows,
    marks,
    queue,
    unpacked,
)

__all__ = ["CLUSTER", "LONG_SHARE", "PullStep", "PushStep", "Steps"]

LONG_SHARE = 4  # a result that may have more than size / this entries is made as a bitmap
CLUSTER = 2  # multiprocessors side by side; see `products_cuda.Hot`
KEPT = 1000  # values that stand for all
EMPTY_INDICES = np.empty(0, np.int32)


class _Step:
    """What both have: the matrix's arrays (not its block, which keeps it in turn) and how operands are stored."""

    __slots__ = ("_dtype", "_flipped", "_ids", "_indices", "_kernel", "_mask", "_semiring", "_single", "_singles",
                 "_term", "_u_dtype", "_values", "chooses", "grows", "u_iso")

    def __init__(self, product: Product, A: MatrixBlock, kernel: Any, single: Any, ids: tuple):
        self._indices, self._values = A.indices, A.values
        self._semiring, self._flipped, self._term = product.semiring, product.flipped, product.term
        self._dtype, self._u_dtype, self.u_iso = product.out.dtype, product.u.dtype, product.u.iso
        self._kernel = kernel
        self._ids = ids
        self._single = single is not None
        self._singles: dict[bytes, Any] = {}  # by the one value of u
        self.grows, self.chooses = product.grows, product.chooses()
        self._mask = _kind_of_mask(product.mask, product.out)

    def fits(self, A: MatrixBlock, out: VectorBlock, mask: Mask | None, u: VectorBlock) -> bool:
        """Whether operands are stored as they were."""
        return (A.indices is self._indices and A.values is self._values
                and u.dtype is self._u_dtype and out.dtype is self._dtype and _kind_of_mask(mask, out) == self._mask)

    def single(self, A: MatrixBlock, u: VectorBlock) -> Any:
        """The values of an iso block for the changed entries, if they are known to be equal."""
        if not self._single:
            return None
        key = u.values.tobytes() if self.u_iso and "u" in self._term.uses else b""
        found = self._singles.get(key)
        if found is None:
            if len(self._singles) >= KEPT:
                self._singles.clear()
            value = one_value(self._semiring, self._flipped, self._term, A, u)
            found = self._singles[key] = np.array([cast_scalar(value, self._dtype)])
        return found.copy()


def _kind_of_mask(mask: Mask | None, out: VectorBlock) -> str:
    """None, another vector's, that of C where it has no entry ("grows"), or another one of C's ("own")."""
    if mask is None:
        return ""
    if mask.block is not out:
        return "another's"
    return "grows" if mask.complement and mask.structural else "own"


class PushStep(_Step):
    """A push into C where it stands, with C's accumulator or under its own mask.

    What changes is listed, or marked if that may be much (`bitmap`).

    Parameters
    ----------
    product : CudaProduct
        Whose C is a bitmap or full, padded if it needs to be.
    A : MatrixBlock
        The one whose rows u selects.
    bitmap : bool
    early : bool
        Whether the filter is applied as entries change.
    """

    __slots__ = ("_follows", "_full", "_monoid", "_noting", "bitmap", "early")

    def __init__(self, product: Any, A: MatrixBlock, bitmap: bool, early: bool):
        grows, dtype, kept = product.grows, product.out.dtype, product.filter
        full, noting = product.out.format == "full", product.changed is not None
        single = product.changed_value() if noting else None
        self.bitmap, self._noting, self.early, self._full = bitmap, noting, early, full
        self._follows = noting and follows(A)
        self._monoid = product.semiring.monoid
        key = ("push scatter", *product.key(A), dtype, full, noting, self._follows, grows, bitmap, single is None,
               (kept.op.key, kept.thunk.dtype) if early else None)
        kernel = product.kernel(key, "push.push_scatter", A, dtype, CHANGED=noting, C_FULL=full, GROWS=grows,
                                BITMAP=bitmap, FILTER=early, NEXT=self._follows, VALUES=grows and single is None)
        super().__init__(product, A, kernel, single, product.ids(A, swap=True))

    def fits(self, A: MatrixBlock, out: VectorBlock, mask: Mask | None, u: VectorBlock) -> bool:
        """Whether operands are stored as they were."""
        if (out.format == "full") is not self._full or not super().fits(A, out, mask, u):
            return False
        if self._full or self.grows:
            return True
        return out.padding is not None and out.padding.tobytes() == self._monoid.start.tobytes()

    def run(self, A: MatrixBlock, out: VectorBlock, u: VectorBlock, view: MaskView, changed: Any, thunk: Any,
            prefix: Any, edges: int) -> None:
        """Scatter the entries of u, which have so many edges."""
        device: Any = out.device
        size, full, partition = out.size, self._full, out.partition
        bits, values, before = out.present, out.values, out.nvals
        count, blocks, kernel = u.nvals, blocks_for(edges, device), self._kernel
        args = (prefix, edges, A.indptr, u.indices, u.values, self._indices, self._values, view.present, view.values,
                EMPTY_BITS if full else bits, values)
        more = (thunk if self.early else NO_THUNK, A.indptr, *self._ids)
        single = self.single(A, u)
        if self.bitmap:
            found = device.xp.zeros(size, np.uint8)
            new_values = device.xp.empty(size, self._dtype) if single is None else single
            later = kernel(count, (*args, found, 1, EMPTY_INDICES, EMPTY_BITS if single is not None else new_values,
                                   NO_PREFIX, *more), blocks=blocks)
            _note_marks(changed, out, found, new_values, single, later, 0, A.indptr if self._follows else None)
        else:
            listed = Found(A, size, edges if self._noting else 0, self._dtype, single, partition)
            with device.lock:
                noting = self._noting and not self.grows
                seen, epoch = marks(device, size) if noting else (EMPTY_BITS, 0)
                later = listed.later = kernel(count, (*args, seen, epoch, listed.indices, listed.written, listed.prefix,
                                                      *more), blocks=blocks)
                if noting:
                    listed.fetch(values, self._monoid, reset=False)  # now: later they may be others
            if self._noting:
                changed.size, changed.dtype = size, self._dtype
                changed.set_pending(listed.settle, partition=partition)
        if not full:
            out.set_bitmap_later(bits, values, lambda: before + later.get()[0][1], least=before,
                                 padding=None if self.grows else self._monoid.start)


class PullStep(_Step):
    """A pull into C with mask, accumulator and write, in one pass or from tiles; filters come later.

    Parameters
    ----------
    product : CudaProduct
        Whose C may be written, and whose u is a bitmap or full.
    A : MatrixBlock
        The one whose rows are C.
    shares : engine.shares_cuda.Shares, optional
        Of the rows that are stored, if they are gathered whole, or in copies.
    hot : products_cuda.Hot
        Which of u's values blocks keep, where there are no tiles.
    hot_blocks : int, optional
        How many such blocks there are.
    tiling : engine.tiles_cuda.Tiling, optional
        By which the product can gather from tiles, if they are made.
    """

    __slots__ = ("_counts", "_hot_blocks", "_noting", "_paired", "_runs", "_shares", "_start", "_tile_kernels",
                 "_tiling", "c_iso", "code", "fresh", "full", "u_full")
    early = False

    def __init__(self, product: Any, A: MatrixBlock, *, full: bool, shares: Any, hot: Any,
                 hot_blocks: int | None, paired: Any, tiling: Any):
        out, u, accum, fresh = product.out, product.u, product.accum, product.fresh
        self.fresh, self.c_iso, self.u_full = fresh, full and out.iso, u.format == "full"
        self._noting = product.changed is not None and not fresh
        most = product.most
        self._counts = self._noting and not most and counts_edges(A)
        self._shares, self._hot_blocks, self._paired = shares, hot_blocks, paired
        single = product.changed_value() if self._noting else None
        listed = self._noting and single is None
        tiles = None if tiling is None else tiling.usable
        self._tiling: Any = tiling
        self._tile_kernels: Any = None  # until tiles are made
        if tiles is not None:
            self._tile_kernels = [product.slices_kernel(A, one.kept) for one in tiles.slices]
            hot = hot._replace(own=0, halved=0)
        self._start = product.semiring.monoid.start
        dense = shares is not None
        own, halved, runs = hot
        self._runs = EMPTY_BITS if len(runs) == 1 or tiles is not None else A.device.to_device(np.array(runs))
        key = ("pull", dense, most, own, halved, len(runs), tiles is None, paired is not None, *product.key(A),
               self.u_full, out.dtype, fresh, full, self.c_iso, product.replace, self._noting, self._counts, listed,
               None if fresh or accum is None else accum.key)
        more = {} if paired is None else product.pair_consts()
        if halved:
            more["CLUSTER"] = str(CLUSTER)
        name = ("pull_sums" if tiles is not None else "pull_lanes" if A.width > 1 else "pull_all" if dense
                else "pull_until")
        kernel = product.kernel(key, f"pull.{name}", A, out.dtype, U_FULL=self.u_full,
                                REPLACE=product.replace, ACCUM=accum is not None, C_FULL=full, C_ISO=self.c_iso,
                                FRESH=fresh, CHANGED=self._noting, CHVALS=listed, NEXT=self._counts, HOT=own,
                                HALVED=halved, RUNS=len(runs), BY_ROW="i" in product.term.uses, MOST=most, **more)
        super().__init__(product, A, kernel, single, product.ids(A))
        self.full, self.code = full, product.view.code

    def fits(self, A: MatrixBlock, out: VectorBlock, mask: Mask | None, u: VectorBlock) -> bool:
        """Whether operands are stored as they were."""
        if not self.fresh:
            if not self.c_iso:
                out.writable_bitmap(full=self.full)
            if (out.format == "full") is not self.full or out.iso is not self.c_iso:
                return False
        tiling = self._tiling
        if tiling is not None and (tiling.due or (tiling.usable is None) is not (self._tile_kernels is None)):
            return False
        return super().fits(A, out, mask, u)

    def run(self, A: MatrixBlock, out: VectorBlock, u: VectorBlock, view: MaskView, changed: Any) -> None:
        """Gather into every allowed row."""
        device: Any = out.device
        size, dtype, empty = out.size, self._dtype, device.xp.empty
        full = self.full
        before = out.values if self.c_iso else EMPTY_BITS
        if self.fresh or self.c_iso:
            present = EMPTY_BITS if self.c_iso else empty(size, np.uint8)
            values = empty(size, dtype)
        else:
            present, values = EMPTY_BITS if full else out.present, out.values
        single = self.single(A, u)
        noting, listed = self._noting, self._noting and single is None
        bits = empty(size, np.uint8) if noting else EMPTY_BITS
        new_values = empty(size, dtype) if listed else EMPTY_BITS
        uvals = u.values if self._paired is None else self._paired(u, A.cols.to_global)
        args = (A.indptr, self._indices, self._values, EMPTY_BITS if self.u_full else u.present, uvals, view.present,
                view.values, present, values, before, bits, new_values, *self._ids)
        shares = self._shares
        if self._tile_kernels is not None:
            later = self._kernel(A.nrows, (*self._tile_sums(A, u), *args))
        elif shares is None:
            later = self._kernel(A.nrows, args)
        else:
            if self._tiling is not None:
                self._tiling.runs += 1
            pieces, runs = shares.pieces * A.width, () if A.width > 1 else (self._runs,)
            partials, founds = empty(pieces, self._term.dtype), empty(pieces, np.uint8)
            with device.lock:  # the giants' counters are the matrix's
                later = self._kernel(shares.units, (*shares.args, partials, founds, shares.arrived, *runs, *args),
                                     blocks=self._hot_blocks)
        if full:
            out.set_bitmap(out.present, values, size)
        else:
            out.set_bitmap_later(present, values, lambda: later.get()[0][0])
        if noting:
            _note_marks(changed, out, bits, new_values if listed else single, single, later, 1,
                        A.indptr if self._counts else None)

    def _tile_sums(self, A: MatrixBlock, u: VectorBlock) -> tuple:
        """The sums of A's rows, and which rows have several; see `pull_sums`."""
        device: Any = A.device
        tiles = self._tiling.tiles(A)
        sums = device.filled(tiles.sums, self._start, self._term.dtype)
        for one, kernel in zip(tiles.slices, self._tile_kernels):
            kernel(one.slots.size, (*one.args, sums, self._values, u.values),
                   blocks=device.multiprocessors if one.kept else None)
        return sums, tiles.splits, tiles.split


def _note_marks(changed: VectorBlock, out: VectorBlock, bits: Any, values: Any, single: Any, later: Any, which: int,
                indptr: Any) -> None:
    """`changed` becomes a bitmap; a kernel's result has its entries and, if `indptr` is given, the edges of these."""
    changed.size, changed.dtype = out.size, out.dtype
    iso, partition = single is not None, out.partition
    if indptr is None:
        changed.set_bitmap_later(bits, values, lambda: later.get()[0][which], iso=iso, partition=partition)
    else:
        changed.set_bitmap_later(bits, values, lambda: unpacked(later.get()[0][which])[0], iso=iso, partition=partition,
                                 queue=lambda: (indptr, None, unpacked(later.get()[0][which])[1]))


class Steps:
    """The steps of a statement, by how its operands are stored."""

    __slots__ = ("_marks", "_pulls", "_pushes", "fresh", "stops")

    def __init__(self, product: Product):
        self.stops = product.term.stops
        self.fresh = product.accum is None and product.mask is None  # nothing of C stays
        self._marks = product.grows and product.changed is not None
        self._pulls: dict[tuple, PullStep] = {}
        self._pushes: dict[tuple, PushStep] = {}

    def add(self, step: PushStep | PullStep) -> None:
        """Keep a step that was run."""
        if isinstance(step, PullStep):
            self._pulls[step.u_iso, step.u_full] = step
        else:
            self._pushes[step.u_iso, step.bitmap] = step

    def run(self, A: MatrixBlock, transposed: bool, out: VectorBlock, mask: Mask | None, view: MaskView | None,
            u: VectorBlock, changed: Any, thunk: Any,
            limit: float | None) -> tuple[PushStep | PullStep | None, str | None]:
        """Run the one that the counts ask for; no step if it was not run before, or operands are stored in another way.

        With it the direction, once u has the form for it: the counts, which ask for that, are not to be asked again.
        `view` is that of another vector's mask, None for others.
        """
        if limit is not None and expected_edges(u, A, not transposed) <= limit:
            if not self._pushes:
                return None, None
            rows = A.oriented(not transposed)
            made = queue(u, rows, limit)
            if made is not None:
                prefix, edges = made
                push = self._pushes.get((u.iso, self._marks and edges * LONG_SHARE >= out.size))
                if push is None or not push.fits(rows, out.writable_bitmap(full=True), mask, u):
                    return None, "push"
                if _record.listener is not None:
                    _record.listener.product("push", A, not transposed, u, edges=edges)
                push.run(rows, out, u, NO_MASK, changed, thunk, prefix, edges)
                return push, "push"
        u.to_bitmap()
        pull = self._pulls.get((u.iso, u.format == "full"))
        if pull is None:
            return None, "pull"
        rows = A.oriented(transposed)
        if not pull.fits(rows, out, mask, u) or (view is not None and view.code != pull.code):
            return None, "pull"
        if view is None:
            view = NO_MASK if mask is None else MaskView("sc", out.present, EMPTY_BITS, -1)
        if _record.listener is not None:
            _record.listener.product("pull", A, transposed, u, view)
        pull.run(rows, out, u, view, changed)
        return pull, "pull"
