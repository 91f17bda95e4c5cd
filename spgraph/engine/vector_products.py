"""Matrix times vector: choose push or pull, launch one kernel, store the result.

``mxv`` computes C<M, replace> (accum)= A u over a semiring, or with the operands
of the multiplication exchanged (`flipped`: u A, a row vector). Both directions
see the same matrix: pull reads the CSR whose rows are the output, push the CSR
whose rows are u. Which of the two is at hand, and what the counts in
`engine.plan` say, decides; a caller can force it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semirings import expr as ex
from semirings.expr import cast_array
from spgraph import context
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import EMPTY_BITS, MASK_CONSTS, Mask, view_mask
from spgraph.engine.operators import accumulate
from spgraph.engine.plan import push_limit
from spgraph.engine.vector_write import differences, write
from spgraph.engine.workspace import workspace
from spgraph.kernels.cpu import pull as pull_kernels
from spgraph.kernels.cpu import push as push_kernels
from spgraph.kernels.cpu._specialise import Block, get_kernel
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_calls, parallel_for, threads

__all__ = ["mxv"]

INT64 = np.dtype(np.int64)
ISO_OPERANDS = frozenset({"a", "u"})
NO_IDS = np.empty(0, np.int64)
# Making the CSR of the transpose costs about this many gathers per entry; it is
# made once the work that it would have saved adds up to that.
TRANSPOSE_COST = 6
DENSE_SHARE = 8  # a u with more than size / this entries is gathered without branches
LONG_LIST = 64  # a list is long from size / this on
MOST_RANGES = 16  # column ranges that push is spread over; each costs an offset per row


class Term(NamedTuple):
    """What does not change between calls with the same operator and types."""

    mult: tuple  # (Expr, input names) over a, u, i, k
    dtype: np.dtype  # the monoid's type
    idempotent: bool
    stops: bool  # rows are expected to reach a terminal value: any, or a Boolean (the least number of a type is rare)
    constant: np.generic | None  # the product's value when it depends on no operand
    uses: frozenset


_terms: dict = {}
_kernels: dict = {}


def _term(semiring, flipped: bool, a_dtype, u_dtype) -> Term:
    key = (semiring.key, flipped, a_dtype, u_dtype)
    term = _terms.get(key)
    if term is not None:
        return term
    op, monoid = semiring.binaryop, semiring.monoid
    zero = ex.Const(np.int64(0), INT64)
    i, k = ex.Input("i", INT64), ex.Input("k", INT64)
    first, second = ("u", "a") if flipped else ("a", "u")
    dtypes = {"a": a_dtype, "u": u_dtype}
    mapping = {
        "x": ex.cast(ex.Input(first, dtypes[first]), op.type.np_type),
        "y": ex.cast(ex.Input(second, dtypes[second]), op.type2.np_type),
    }
    # a product A(i,k) u(k,0), or u(0,k) A(k,i)
    names = (zero, k, k, i) if flipped else (i, k, k, zero)
    mapping |= dict(zip(("ix", "jx", "iy", "jy"), names))
    dtype = monoid.type.np_type
    expr = ex.cast(ex.substitute(op.expr, mapping), dtype)
    uses = ex.inputs(expr)
    constant = None if uses else dtype.type(ex.evaluate(expr, {}))
    term = Term((expr, ("a", "u", "i", "k")), dtype, bool(monoid.idempotent or monoid.terminal_any),
                bool(monoid.terminal_any or (dtype == np.bool_ and monoid.terminal is not None)), constant, uses)
    _terms[key] = term
    return term


def _ops(term: Term, semiring, out_dtype, accum) -> dict:
    monoid = semiring.monoid
    add = monoid.binaryop
    combined = ex.substitute(add.expr, {"x": ex.Input("s", term.dtype), "y": ex.Input("t", term.dtype)})
    ops = {
        "MULT": term.mult,
        "ADD": (ex.cast(combined, term.dtype), ("s", "t")),
        "STORE": (ex.cast(ex.Input("t", term.dtype), out_dtype), ("t",)),
    }
    if accum is not None:
        ops["ACC"] = accumulate(accum, out_dtype, term.dtype)
    return ops


def _monoid_consts(semiring) -> dict:
    monoid = semiring.monoid
    terminal = monoid.terminal
    return {
        "IDENTITY": monoid.start,
        "ANY": bool(monoid.terminal_any),
        "HAS_TERMINAL": terminal is not None,
        "TERMINAL": terminal if terminal is not None else False,
    }


def mxv(out: VectorBlock, mask: Mask | None, accum, replace: bool, A: MatrixBlock, transposed: bool,
        u: VectorBlock, semiring, *, flipped: bool = False, changed: VectorBlock | None = None,
        direction: str | None = None) -> None:
    """C<M, replace> (accum)= A u; see the module docstring and `spgraph.engine`.

    `changed`, if given, becomes the entries of C that are new or differ from before.
    `direction` forces "push" or "pull" (default: what the context says).
    """
    inner, outer = (A.rows, A.cols) if transposed else (A.cols, A.rows)
    fresh = out.nvals == 0 or (accum is None and (mask is None or replace))
    if out is u and (not fresh or inner is not outer):
        u = u.copy()
    if u.partition is not inner:
        u.rehome(inner)
    if out.partition is not outer:
        out.rehome(outer)
    overwritten = out.copy() if changed is not None and fresh and out.nvals else None
    view = view_mask(mask, out.size, outer, copy=not fresh and mask is not None and mask.block is out)
    product = _Product(out, mask, view, accum, replace, A, transposed, u, semiring, flipped, changed, fresh)
    limit = _limit(product, direction)
    if limit is None or _expected_edges(product) > limit or not product.push(limit):
        product.pull()
    if changed is not None and fresh:
        changed.assume(out.copy() if overwritten is None else differences(overwritten, out))


def _expected_edges(product: _Product) -> float:
    """At least so many edges leave u: exact counting is left to push, unless u must be made a list for it."""
    u, A = product.u, product.A
    if u.format == "sparse":
        return u.nvals
    return u.nvals * (A.nvals / max(u.size, 1))


def _limit(product: _Product, direction: str | None) -> float | None:
    """Edges that push may look at; None to pull at once."""
    direction = direction or context.current().direction
    if direction != "auto":
        return math.inf if direction == "push" else None
    A, transposed = product.A, product.transposed
    rows = product.out.size
    allowed = product.view.allowed if product.view.code else rows
    limit = push_limit(rows, A.nvals, allowed, product.term.stops, threads())
    if A.has_transpose:
        return limit
    # Only one direction is at hand. Keep to it until what the other would have saved pays for it.
    edges = product.u.nvals * (A.nvals / max(product.u.size, 1))
    if transposed:
        A.missed += max(edges - limit, 0)
        return math.inf if A.missed < TRANSPOSE_COST * A.nvals else limit
    A.missed += max(limit - edges, 0)
    return None if A.missed < TRANSPOSE_COST * A.nvals else limit


class _Product:
    """One matrix-vector product: its operands, and the two ways to run it."""

    __slots__ = ("A", "accum", "changed", "flipped", "fresh", "mask", "out", "replace", "semiring", "term",
                 "transposed", "u", "view")

    def __init__(self, out, mask, view, accum, replace, A, transposed, u, semiring, flipped, changed, fresh):
        self.out = out
        self.mask = mask
        self.view = view
        self.accum = accum
        self.replace = replace
        self.A = A
        self.transposed = transposed
        self.u = u
        self.semiring = semiring
        self.flipped = flipped
        self.changed = changed
        self.fresh = fresh
        self.term = _term(semiring, flipped, A.dtype, u.dtype)

    def iso_value(self):
        """The one value of all entries of the result, or None."""
        term = self.term
        if not term.idempotent or not term.uses <= ISO_OPERANDS:
            return None
        if term.constant is not None:
            return term.constant
        env = {}
        for name, block in (("a", self.A), ("u", self.u)):
            if name in term.uses:
                if not block.iso:
                    return None
                env[name] = block.values[0]
        return term.dtype.type(ex.evaluate(term.mult[0], env))

    # ---- push ------------------------------------------------------------------
    def push(self, limit: float) -> bool:
        """Scatter from the entries of u; False (and nothing done) if they have more than `limit` edges."""
        out, accum, semiring = self.out, self.accum, self.semiring
        self.u.to_sparse()
        if self.fresh:
            result = self._push_list(limit, out.dtype)
            if result is None:
                return False
            out.set_sparse(*result[:2], iso=result[2], sorted=result[3])
            return True
        if (accum is not None and (self.mask is None or not self.replace) and out.dtype == self.term.dtype
                and accum.key == semiring.monoid.binaryop.key):
            return self._push_scatter(limit)
        result = self._push_list(limit, self.term.dtype)
        if result is None:
            return False
        before = out.copy() if self.changed is not None else None
        pending = VectorBlock(out.size, self.term.dtype, out.partition)
        pending.set_sparse(*result[:2], iso=result[2], sorted=result[3])
        write(out, self.mask, accum, self.replace, pending)
        if before is not None:
            self.changed.assume(differences(before, out))
        return True

    def _push_list(self, limit, dtype):
        u, view, term = self.u, self.view, self.term
        A = self.A.oriented(not self.transposed)
        iso = self.iso_value()
        key = ("list", self.semiring.key, self.flipped, A.dtype, A.iso, u.dtype, u.iso, view.code, view.values.dtype,
               dtype, iso is None, A.rows.natural and A.cols.natural)
        kernel = _kernels.get(key)
        if kernel is None:
            kernel = self._make(key, push_kernels.push_list, A, dtype, ISO_OUT=iso is not None)
        space = workspace(self.out.size)
        if iso is None:
            values = space.array("values", dtype)
            acc = space.array("acc", term.dtype)
        else:
            values = acc = EMPTY_BITS
        args = (u.indices, u.values, A.indices, A.values, view.present, view.values, space.stamp, space.next_epoch(),
                acc, space.indices, values)
        parts = self._spread(kernel, A, limit, args)
        if parts is None:
            return None
        pieces = [slice(base, base + count) for base, count in parts if count]
        if iso is None:
            return _gathered(space.indices, pieces), _gathered(values, pieces), False, False
        indices, ascending = _found(space, pieces)
        return indices, np.array([cast_scalar(iso, dtype)]), True, ascending

    def _spread(self, kernel, A, limit, args):
        """Run a push kernel on one thread, or on ranges of columns: [(base, result)], None if above the limit."""
        ids = self._ids(A, swap=True)
        work = self.u.nvals * (8 + A.nvals // max(A.nrows, 1))
        alone = float(limit if threads() == 1 else min(limit, PARALLEL_WORK))
        result = kernel(work, 0, A.indptr, A.indptr[1:], *args, alone, *ids)
        edges = -1 - (result[0] if type(result) is tuple else result)
        if edges < 0:
            return [(0, result)]
        if edges > limit:
            return None
        ranges = A.column_ranges(min(threads(), MOST_RANGES))
        calls = [(base, begin, end, *args, math.inf, *ids) for base, begin, end in ranges]
        return [(base, result) for (base, _, _), result in zip(ranges, parallel_calls(kernel, int(edges), calls))]

    def _push_scatter(self, limit) -> bool:
        u, view, out, changed = self.u, self.view, self.out, self.changed
        A = self.A.oriented(not self.transposed)
        out.writable_bitmap(full=True)
        full = out.format == "full"
        key = ("scatter", self.semiring.key, self.flipped, A.dtype, A.iso, u.dtype, u.iso, view.code,
               view.values.dtype, full, changed is None, A.rows.natural and A.cols.natural)
        kernel = _kernels.get(key)
        if kernel is None:
            kernel = self._make(key, push_kernels.push_scatter, A, out.dtype, CHANGED=changed is not None, C_FULL=full)
        space = workspace(out.size)
        args = (u.indices, u.values, A.indices, A.values, view.present, view.values,
                EMPTY_BITS if full else out.present, out.values, space.stamp, space.next_epoch(), space.indices,
                EMPTY_BITS if changed is None else space.array("values", out.dtype))
        parts = self._spread(kernel, A, limit, args)
        if parts is None:
            return False
        added = sum(result[0] for _, result in parts)
        if added:
            out.set_bitmap(out.present, out.values, out.nvals + added)
        if changed is not None:
            pieces = [slice(base, base + result[1]) for base, result in parts if result[1]]
            indices, ascending = _found(space, pieces)
            values = out.values[indices] if ascending else _gathered(space.array("values", out.dtype), pieces)
            changed.set_sparse(indices, values, sorted=ascending, partition=out.partition)
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
        u_full = u.format == "full"
        gather = self._gather()
        key = (gather, self.semiring.key, self.flipped, A.dtype, A.iso, u.dtype, u.iso, u_full, view.code,
               view.values.dtype, out.dtype, fresh, full, c_iso, self.replace, noting,
               None if fresh or accum is None else accum.key, A.rows.natural and A.cols.natural)
        kernel = _kernels.get(key)
        if kernel is None:
            kernel = self._make(key, pull_kernels.pull, A, out.dtype, U_FULL=u_full, REPLACE=self.replace,
                                ACCUM=accum is not None, C_FULL=full, C_ISO=c_iso, FRESH=fresh, CHANGED=noting,
                                GATHER=Block(gather))
        work = A.nvals + A.nrows
        args = (A.indptr, A.indices, A.values, EMPTY_BITS if u_full else u.present, u.values, view.present, view.values,
                present, values, before, bits, *self._ids(A))
        counts = parallel_for(kernel, A.row_ranges(), work, args)
        nvals = sum(count for count, _ in counts)
        out.set_bitmap(present, values, nvals)
        if noting:
            changed.set_bitmap(bits, values.copy(), sum(number for _, number in counts), partition=out.partition)

    def _gather(self) -> str:
        """How a row is reduced: up to the terminal value, or all of it without branches."""
        dense = self.u.nvals * DENSE_SHARE >= self.u.size
        return "gather_until" if self.term.stops or not dense else "gather_all"

    # ---- kernels ---------------------------------------------------------------
    def _ids(self, A, swap=False):
        """Global ids of the output's rows and of u's entries, as the kernels take them."""
        out_ids, in_ids = (A.cols, A.rows) if swap else (A.rows, A.cols)
        return (NO_IDS if out_ids.natural else out_ids.to_global), (NO_IDS if in_ids.natural else in_ids.to_global)

    def _make(self, key, template, A, out_dtype, **consts):
        term = self.term
        positional = bool(term.uses & {"i", "k"})
        consts = {
            **MASK_CONSTS[self.view.code], **_monoid_consts(self.semiring), "A_ISO": A.iso, "U_ISO": self.u.iso,
            "GLOBAL": positional and not (A.rows.natural and A.cols.natural), **consts,
        }
        kernel = _kernels[key] = get_kernel(template, consts, _ops(term, self.semiring, out_dtype, self.accum))
        return kernel


def _found(space, pieces):
    """The positions that a push has stamped, and whether they are ascending.

    Pushing on from a long list in ascending order is up to three times faster than
    in the order of discovery, and reading it off the stamps costs less than sorting.
    """
    if sum(piece.stop - piece.start for piece in pieces) * LONG_LIST < space.size:
        return _gathered(space.indices, pieces), False
    return np.flatnonzero(space.stamp == space.epoch).astype(space.indices.dtype), True


def _gathered(array, pieces):
    """The pieces of a workspace's array, copied into one."""
    if len(pieces) == 1:
        return array[pieces[0]].copy()
    return np.concatenate([array[piece] for piece in pieces]) if pieces else array[:0].copy()


def cast_scalar(value, dtype):
    """`value` in another dtype, by the rules of `semirings.expr.cast`."""
    if value.dtype == dtype:
        return value
    key = (value.tobytes(), value.dtype, dtype)
    found = _casts.get(key)
    if found is None:
        if len(_casts) > 1000:
            _casts.clear()
        found = _casts[key] = cast_array(value, dtype)[()]
    return found


_casts: dict = {}
