"""Matrix-vector products on the CPU: threads over ranges of columns (push) or of rows (pull)."""

from __future__ import annotations

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import EMPTY_BITS, NO_MASK
from spgraph.engine.product import Product, cast_scalar
from spgraph.engine.scatters import Scatter, found, gathered, spread
from spgraph.engine.vector_write import differences, write
from spgraph.engine.workspace import workspace
from spgraph.kernels.cpu import pull as pull_kernels
from spgraph.kernels.cpu import push as push_kernels
from spgraph.kernels.cpu._specialise import Block, Kernel, get_kernel
from spgraph.kernels.cpu._threads import parallel_for

__all__ = ["CpuProduct"]

DENSE_SHARE = 8  # a u with more than size / this entries is gathered without branches
_kernels: dict = {}


class CpuProduct(Product):
    """See `Product`."""

    __slots__ = ()

    # ---- push ------------------------------------------------------------------
    def push(self, limit: float) -> bool:
        """Scatter from the entries of u; False (and nothing done) if they have more than `limit` edges."""
        out = self.out
        self.u.to_sparse()
        if self.fresh:
            result = self._push_list(limit, out.dtype)
            if result is None:
                return False
            out.set_sparse(*result[:2], iso=result[2], sorted=result[3])
            return True
        if self.combines_in_place():
            view = self.view
            done = self._push_scatter(limit)
            self.view = view
            return done
        result = self._push_list(limit, self.term.dtype)
        if result is None:
            return False
        before = out.copy() if self.changed is not None else None
        pending = VectorBlock(out.size, self.term.dtype, out.partition)
        pending.set_sparse(*result[:2], iso=result[2], sorted=result[3])
        write(out, self.mask, self.accum, self.replace, pending)
        if before is not None:
            self.changed.assume(differences(before, out))
        return True

    def _push_list(self, limit, dtype):
        u, view, term = self.u, self.view, self.term
        A = self.A.oriented(not self.transposed)
        iso = self.iso_value()
        key = ("list", *self.key(A), dtype, iso is None)
        kernel = self.kernel(key, push_kernels.push_list, A, dtype, ISO_OUT=iso is not None)
        space = workspace(self.out.size)
        if iso is None:
            values = space.array("values", dtype)
            acc = space.array("acc", term.dtype)
        else:
            values = acc = EMPTY_BITS
        args = (u.indices, u.values, A.indices, A.values, view.present, view.values, space.stamp, space.next_epoch(),
                acc, space.indices, values)
        parts = spread(kernel, A, u.nvals, limit, args, self.ids(A, swap=True))
        if parts is None:
            return None
        pieces = [slice(base, base + count) for base, count in parts if count]
        if iso is None:
            return gathered(space.indices, pieces), gathered(values, pieces), False, False
        indices, ascending = found(space, pieces)
        return indices, np.array([cast_scalar(iso, dtype)]), True, ascending

    def _push_scatter(self, limit) -> bool:
        u, view, out, changed, kept = self.u, self.view, self.out, self.changed, self.filter
        if self.grows:
            self.view = view = NO_MASK  # C's own presence says as much
        A = self.A.oriented(not self.transposed)
        out.writable_bitmap(full=True)
        full = out.format == "full"
        key = ("scatter", *self.key(A), out.dtype, full, changed is None, self.grows,
               kept and (kept.op.key, kept.thunk.dtype))
        kernel = self.kernel(key, push_kernels.push_scatter, A, out.dtype, CHANGED=changed is not None, C_FULL=full,
                             GROWS=self.grows, FILTER=kept is not None)
        scatter = Scatter(self, A, kernel)
        if not scatter.run(A, out, view, u, changed, kept and kept.thunk, limit):
            return False
        if self.mask is None or self.grows:
            self.step = scatter
        if changed is not None:
            self.filter = None  # it was applied
        return True

    # ---- pull ------------------------------------------------------------------
    def pull(self) -> None:
        """Gather into every allowed row of C, in place."""
        u, view, out, accum, changed = self.u, self.view, self.out, self.accum, self.changed
        A = self.A.oriented(self.transposed)
        u.to_bitmap()
        fresh = self.fresh
        full = not fresh and accum is not None and (self.mask is None or not self.replace) and out.nvals == out.size
        c_iso = full and out.iso
        before = out.values
        if fresh or c_iso:
            present = EMPTY_BITS if c_iso else np.empty(out.size, np.uint8)
            values = np.empty(out.size, out.dtype)
        else:
            out.writable_bitmap(full=full)
            present, values = EMPTY_BITS if full else out.present, out.values
            before = values
        noting = changed is not None and not fresh
        bits = np.zeros(out.size, np.uint8) if noting else EMPTY_BITS
        single = self.changed_value() if noting else None
        new_values = np.empty(out.size, out.dtype) if noting and single is None else EMPTY_BITS
        u_full = u.format == "full"
        densely = not self.term.stops and u.nvals * DENSE_SHARE >= u.size
        gather = "gather_all" if densely else "gather_until"  # whole, or entry by entry up to a terminal value
        key = (gather, *self.key(A), u_full, out.dtype, fresh, full, c_iso, self.replace, noting, single is None,
               None if fresh or accum is None else accum.key)
        kernel = self.kernel(key, pull_kernels.pull, A, out.dtype, U_FULL=u_full, REPLACE=self.replace,
                             ACCUM=accum is not None, C_FULL=full, C_ISO=c_iso, FRESH=fresh, CHANGED=noting,
                             CHVALS=single is None, GATHER=Block(gather))
        work = A.nvals + A.nrows
        args = (A.indptr, A.indices, A.values, EMPTY_BITS if u_full else u.present, u.values, view.present, view.values,
                present, values, before, bits, new_values, *self.ids(A), A.stored.nrows)
        counts = parallel_for(kernel, A.row_ranges(), work, args)
        nvals = sum(count for count, _ in counts)
        out.set_bitmap(present, values, nvals)
        if noting:
            found = sum(number for _, number in counts)
            changed.set_bitmap(bits, new_values if single is None else single, found, iso=single is not None,
                               partition=out.partition)

    def kernel(self, key: tuple, template, A: MatrixBlock, out_dtype, **consts) -> Kernel:
        """The template with this product's operators and constants, made once for each key."""
        kernel = _kernels.get(key)
        if kernel is None:
            ops = self.ops(out_dtype)
            if self.filter is not None:
                ops |= self.filter.ops(out_dtype)
            kernel = _kernels[key] = get_kernel(template, {**self.consts(A), "COPIES": A.width > 1, **consts}, ops)
        return kernel
