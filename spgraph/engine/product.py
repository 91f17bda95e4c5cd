"""One matrix-vector product made ready: its operands, its operators as kernels take them, what is known of its result.

How it runs is for `products_cpu` and `products_cuda`, one class each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from semirings import binary
from semirings import expr as ex
from semirings.expr import cast_array
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import MASK_CONSTS, Mask, MaskView
from spgraph.engine.operators import accumulate, is_min, settles

__all__ = ["NO_IDS", "Filter", "Product", "cast_scalar", "expected_edges", "occupied_rows", "one_value"]

INT64 = np.dtype(np.int64)
ISO_OPERANDS = frozenset({"a", "u"})
NO_IDS = np.empty(0, np.int64)
ZERO = ex.Const(np.int64(0), INT64)


class Filter(NamedTuple):
    """Which changed entries count: a typed select operator over (value, position, thunk)."""

    op: Any
    thunk: Any

    def ops(self, dtype) -> dict:
        """KEEP over stored values of `dtype`."""
        mapping = {"x": ex.Input("x", dtype), "thunk": ex.Input("thunk", self.thunk.dtype), "j": ZERO}
        return {"KEEP": (ex.cast(ex.substitute(self.op.expr, mapping), np.bool_), ("x", "i", "thunk"))}


class Term(NamedTuple):
    """What does not change between calls with the same operator and types."""

    mult: tuple  # (Expr, input names) over a, u, i, k
    dtype: np.dtype  # the monoid's type
    idempotent: bool
    stops: bool  # rows are expected to reach a terminal value: any, or a Boolean (the least number of a type is rare)
    constant: np.generic | None  # the product's value when it depends on no operand
    uses: frozenset


_terms: dict = {}


def term_of(semiring, flipped: bool, a_dtype, u_dtype) -> Term:
    key = (semiring.key, flipped, a_dtype, u_dtype)
    term = _terms.get(key)
    if term is not None:
        return term
    op, monoid = semiring.binaryop, semiring.monoid
    i, k = ex.Input("i", INT64), ex.Input("k", INT64)
    first, second = ("u", "a") if flipped else ("a", "u")
    dtypes = {"a": a_dtype, "u": u_dtype}
    mapping = {
        "x": ex.cast(ex.Input(first, dtypes[first]), op.type.np_type),
        "y": ex.cast(ex.Input(second, dtypes[second]), op.type2.np_type),
    }
    # a product A(i,k) u(k,0), or u(0,k) A(k,i)
    names = (ZERO, k, k, i) if flipped else (i, k, k, ZERO)
    mapping |= dict(zip(("ix", "jx", "iy", "jy"), names))
    dtype = monoid.type.np_type
    expr = ex.cast(ex.substitute(op.expr, mapping), dtype)
    uses = ex.inputs(expr)
    constant = None if uses else dtype.type(ex.evaluate(expr, {}))
    term = Term((expr, ("a", "u", "i", "k")), dtype, bool(monoid.idempotent or monoid.terminal_any),
                bool(monoid.terminal_any or (dtype == np.bool_ and monoid.terminal is not None)), constant, uses)
    _terms[key] = term
    return term


class Product(ABC):
    """C<M, replace> (accum)= A u over a semiring; a subclass runs it on its kind of device."""

    __slots__ = ("A", "accum", "changed", "filter", "flipped", "fresh", "grows", "mask", "most", "out", "replace",
                 "semiring", "step", "term", "transposed", "u", "view")

    def __init__(self, out: VectorBlock, mask: Mask | None, view: MaskView, accum, replace: bool, A: MatrixBlock,
                 transposed: bool, u: VectorBlock, semiring, flipped: bool, changed: VectorBlock | None,
                 kept: Filter | None, fresh: bool, grows: bool):
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
        self.changed: Any = changed
        self.filter: Any = kept
        self.fresh = fresh
        self.grows = grows  # C's entries stay as they are: it only gets new ones, any of their terms
        self.most = 0  # entries of each row that count, if not all; see `engine.first_entries`
        self.term = term_of(semiring, flipped, A.dtype, u.dtype)
        self.step: Any = None  # what was run, if it may be run again; see `engine.scatters` and `engine.steps_cuda`

    @abstractmethod
    def push(self, limit: float) -> bool:
        """Scatter from the entries of u; False (and nothing done) if they have more than `limit` edges."""

    @abstractmethod
    def pull(self) -> None:
        """Gather into every allowed row of C, in place."""

    def iso_value(self):
        """The one value of all entries of the result, or None."""
        return one_value(self.semiring, self.flipped, self.term, self.A, self.u)

    def chooses(self) -> bool:
        """Whether all values of C become some of u's: nothing of it stays, and ``min``, ``max`` or ``any`` chooses."""
        dtype, (mult, _), monoid = self.u.dtype, self.term.mult, self.semiring.monoid
        if not (self.accum is None and self.mask is None and self.out.dtype == dtype and dtype.kind in "iu"
                and mult == ex.Input("u", dtype)):
            return False
        return bool(monoid.terminal_any) or is_min(monoid.binaryop) or monoid.binaryop.key == binary.max[dtype].key

    def combines_in_place(self) -> bool:
        """Whether terms can go straight into C: it only grows, or accumulates by the monoid's own operator.

        What may change and change back is compared in the end, if it is to be known what has changed.
        """
        if self.grows:
            return True
        monoid, accum = self.semiring.monoid, self.accum
        if accum is None or accum.key != monoid.binaryop.key or self.out.dtype != self.term.dtype:
            return False
        return (self.mask is None or not self.replace) and (self.changed is None or settles(monoid))

    def changed_value(self):
        """The values of an iso block for the changed entries, if they are known to be equal; else None."""
        value = self.iso_value() if self.grows else None
        return None if value is None else np.array([cast_scalar(value, self.out.dtype)])

    def maps(self, A: MatrixBlock) -> bool:
        """Whether kernels take global ids, of both sides: somebody asks, and they are not the local numbers."""
        positional = bool(self.term.uses & {"i", "k"}) or (self.filter is not None and self.filter.op.positional)
        return positional and not (A.rows.natural and A.cols.natural)

    def ids(self, A: MatrixBlock, swap: bool = False) -> tuple:
        """Global ids of the output's rows and of u's entries, as the kernels take them."""
        if not self.maps(A):
            return NO_IDS, NO_IDS
        sides = (A.rows, A.stored.nrows), (A.cols, A.stored.ncols)
        return tuple(A.device.xp.arange(size) if side.natural else side.to_global
                     for side, size in (sides[::-1] if swap else sides))

    def key(self, A: MatrixBlock) -> tuple:
        """What every kernel of this product depends on."""
        return (self.semiring.key, self.flipped, A.dtype, A.iso, self.u.dtype, self.u.iso, self.view.code,
                self.view.values.dtype, self.maps(A), A.width)

    def consts(self, A: MatrixBlock) -> dict:
        """Constants that every kernel of this product takes."""
        monoid = self.semiring.monoid
        terminal = monoid.terminal
        return {
            **MASK_CONSTS[self.view.code],
            "IDENTITY": monoid.start,
            "ANY": bool(monoid.terminal_any),
            "HAS_TERMINAL": terminal is not None,
            "TERMINAL": terminal if terminal is not None else False,
            "A_ISO": A.iso,
            "U_ISO": self.u.iso,
            "GLOBAL": self.maps(A),
        }

    def ops(self, out_dtype) -> dict:
        """MULT, ADD, STORE and ACC, as far as they are needed."""
        term = self.term
        add = self.semiring.monoid.binaryop
        combined = ex.substitute(add.expr, {"x": ex.Input("s", term.dtype), "y": ex.Input("t", term.dtype)})
        ops = {
            "MULT": term.mult,
            "ADD": (ex.cast(combined, term.dtype), ("s", "t")),
            "STORE": (ex.cast(ex.Input("t", term.dtype), out_dtype), ("t",)),
        }
        if self.accum is not None:
            ops["ACC"] = accumulate(self.accum, out_dtype, term.dtype)
        return ops


def occupied_rows(A: Any, transposed: bool) -> int:
    """Rows of A, or of its transpose, that have entries; all if they are not at hand to be counted."""
    if not transposed or A.has_transpose:
        return A.oriented(transposed).occupied
    return A.ncols


def expected_edges(u: VectorBlock, A: MatrixBlock, transposed: bool) -> float:
    """So many edges leave u, about: exact counting is left to push, unless u must be made a list for it.

    u selects rows of A, or of its transpose.
    """
    if u.format == "sparse":
        return u.nvals
    if u.queue is not None and u.queue[0] is A.indptr:
        return u.queue[2]
    return min(u.nvals * (A.nvals / max(occupied_rows(A, transposed), 1)), A.nvals)


def one_value(semiring, flipped: bool, term: Term, A: MatrixBlock, u: VectorBlock):
    """The one value of all entries of a product, or None."""
    if not term.idempotent or not term.uses <= ISO_OPERANDS:
        return None
    if term.constant is not None:
        return term.constant
    env, key = {}, [semiring.key, flipped]
    for name, block in (("a", A), ("u", u)):
        if name in term.uses:
            if not block.iso:
                return None
            env[name] = block.values[0]
            key += (name, block.dtype, block.values.tobytes())
    found = _products.get(tuple(key))
    if found is None:
        if len(_products) > 1000:
            _products.clear()
        found = _products[tuple(key)] = term.dtype.type(ex.evaluate(term.mult[0], env))
    return found


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
_products: dict = {}  # of values that stand for all: evaluating one costs as much as the rest of a small superstep
