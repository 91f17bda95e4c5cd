"""Recorded loops that a device may run by itself: which they are, and running them; see `spgraph.loops`."""

from __future__ import annotations

import functools
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from spgraph import binary, engine, monoid, semiring
from spgraph._loop_numbers import Comparison, Number, value_now
from spgraph._loop_statements import Statement
from spgraph._plans import MxV
from spgraph.mask import ComplementedStructuralMask, StructuralMask
from spgraph.scalar import SCALARS, Scalar
from spgraph.vector import Vector

if TYPE_CHECKING:
    from spgraph.loops import Loop

__all__ = ["levels_of", "product_of"]


class _Product:
    """C<!s(C)> = u f A, or C f= u g A, with u = what changes, until nothing does, or so often; a Scalar may count."""

    def __init__(self, statement: Statement, limits: list[Any], counter: Scalar | None):
        self.statement = statement
        self.out: Vector = statement.target
        value, _, self.accum, _, self.changed, _ = statement.args
        self.product: MxV = value._plan
        self.limits, self.counter = limits, counter
        self.known = False  # u's values are C's

    def iterations(self) -> Generator[int, None, None]:
        """Run as many at once as can be, again and again; yields how many."""
        u, run, total, done = self.product.u, self.statement.run, 0, 0
        try:
            while True:
                found = self.run(done)
                if found is None:
                    total += u._block.nvals
                    run()
                    steps = 1
                else:
                    steps, more = found
                    total += more
                done += steps
                yield steps
        finally:
            if self.counter is not None:
                self.counter(binary.plus) << _wrapped(total, self.counter.dtype.np_type)

    def run(self, done: int) -> Any:
        """Iterations without the host: how many, and u's entries in all of them. None if there are none."""
        most = min((value_now(limit) for limit in self.limits), default=None)
        known, self.known = self.known, True  # after this iteration, however it is run
        if most is not None and most <= done:
            return None
        product, out = self.product, self.out
        found: list[Any] = []

        def run_alone(*_: Any) -> None:
            kept = out._changed_block(self.changed)[1]
            found.append(
                engine.run_alone(
                    out._block, product.A._block, product.transposed, product.u._block, product.op, product.flipped,
                    self.accum, kept, known, None if most is None else most - done,
                )
            )  # fmt: skip

        try:
            out._on_device(run_alone, *self.statement.args)
        except BaseException as error:
            self.statement.note(error)
            raise
        return found[0]


def _wrapped(total: int, dtype: np.dtype) -> Any:
    """A sum as additions one by one would give it, see `_holds`; those of integers wrap."""
    return np.array(total % (1 << 8 * dtype.itemsize), np.uint64).astype(dtype)[()] if dtype.kind in "iu" else total


def product_of(loop: Loop) -> _Product | None:
    """The loop as such a product, if it is one."""
    statements = list(loop._statements)
    if not statements or any(type(one) is not Statement for one in statements):
        return None
    last = statements.pop()
    if type(last.target) is not Vector or len(last.args) != 6:
        return None
    value, mask, accum, replace, changed, input_mask = last.args
    product = getattr(value, "_plan", None)
    if type(product) is not MxV or replace or input_mask is not None:
        return None
    selected = getattr(changed, "_plan", None)
    u = changed if selected is None else getattr(selected, "u", None)
    if u is not product.u or u is last.target:
        return None
    grows = type(mask) is ComplementedStructuralMask and mask.parent is last.target and accum is None
    if not (grows or (mask is None and accum is not None)):
        return None
    counter = _counter(statements, u)
    limits = _limits(loop, u)
    return None if counter is False or limits is None else _Product(last, limits, counter)


class _Levels:
    """C<s(u)> = loop.count, u<!s(C), replace> = u any.pair A, until u is empty, or so often."""

    def __init__(self, loop: Loop, first: Statement, second: Statement, limits: list[Any]):
        self.loop, self.first, self.second, self.limits = loop, first, second, limits
        self.level: Vector = first.target
        self.product: MxV = second.args[0]._plan

    def iterations(self) -> Generator[int, None, None]:
        """As of `_Product`."""
        level, product = self.level, self.product
        dtype = level.dtype.np_type
        last = np.iinfo(dtype).max if dtype.kind in "iu" else 1 << np.finfo(dtype).nmant
        limit = min([*map(value_now, self.limits), last])
        follow = _next(product.flipped)[level.dtype]
        found: list[Any] = []

        def run_levels(*_: Any) -> None:
            found.append(
                engine.run_levels(
                    level._block, product.A._block, product.transposed, product.u._block, product.op, product.flipped,
                    follow, self.loop._count, int(limit) - self.loop._count,
                )
            )  # fmt: skip

        while True:
            self.first.run()
            if limit > self.loop._count:
                try:
                    self.second.target._on_device(run_levels, *self.second.args)
                except BaseException as error:
                    self.second.note(error)
                    raise
            done = found.pop() if found else None
            if done is None:
                self.second.run()
            yield 1 if done is None else done.steps


@functools.cache
def _next(first: bool) -> Any:
    """any.f, where f is one more than the first or the second operand."""
    function = (lambda x, y: x + 1) if first else (lambda x, y: y + 1)
    return semiring.register_anonymous(monoid.any, binary.register_anonymous(function, "next"), "any_next")


def levels_of(loop: Loop) -> _Levels | None:
    """The loop as such, if it is."""
    if len(loop._statements) != 2 or any(type(one) is not Statement or len(one.args) != 6 for one in loop._statements):
        return None
    first, second = loop._statements
    level, u = first.target, second.target
    if type(level) is not Vector or type(u) is not Vector or level is u or level.dtype.np_type.kind not in "iuf":
        return None
    count, mask, accum, replace, changed, input_mask = first.args
    if type(count) is not Number or count.of is not loop or type(mask) is not StructuralMask or mask.parent is not u:
        return None
    if accum is not None or replace or changed is not None or input_mask is not None:
        return None
    value, mask, accum, replace, changed, input_mask = second.args
    product = getattr(value, "_plan", None)
    if type(product) is not MxV or product.u is not u or not replace or accum is not None or changed is not None:
        return None
    if type(mask) is not ComplementedStructuralMask or mask.parent is not level or input_mask is not None:
        return None
    limits = _limits(loop, u)
    return None if limits is None else _Levels(loop, first, second, limits)


def _counter(statements: list[Statement], u: Vector) -> Any:
    """Of the statements before: None if there is none, the Scalar to which u's entries are added, False for others."""
    if not statements:
        return None
    target, args = statements[0].target, statements[0].args
    if len(statements) > 1 or type(target) not in SCALARS or len(args) != 3:
        return False
    value, mask, accum = args
    adds = mask is None and accum is not None and accum.parent is binary.plus
    counts = adds and type(value) is Number and value.of is u
    return target if counts and _holds(target.dtype.np_type, u.size) else False


def _holds(dtype: np.dtype, size: int) -> bool:
    """Whether a Scalar takes every number of entries, and their sum is what additions one by one make it."""
    return bool(np.iinfo(dtype).max >= size) if dtype.kind in "iu" else dtype == np.float64


def _limits(loop: Loop, u: Vector) -> list[Any] | None:
    """The numbers of iterations at which the loop ends; None if it does not end when u is empty, or by other rules."""
    limits, ends = [], False
    for one in loop._until.any_of:  # type: ignore[union-attr]
        if type(one) is not Comparison or type(one.left) is not Number or type(one.right) is Number:
            return None
        if one.left.of is u and (one.sign, one.right) in (("==", 0), ("<", 1), ("<=", 0)):
            ends = True
        elif one.left.of is loop and one.sign in (">=", "==") and float(one.right).is_integer():
            limits.append(int(one.right))
        else:
            return None
    return limits if ends else None
