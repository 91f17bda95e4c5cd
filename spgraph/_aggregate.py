"""Reductions by an aggregator: `semirings.agg` says what is mapped, added up and finished.

An aggregator with parts runs each part as an ordinary reduction of the mapped entries; one that picks an
entry (first, argmin ...) looks at coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.dtypes import INT64
from semirings.expr import Expr, Input, cast_array, evaluate
from spgraph import engine
from spgraph._base import CLASSES
from spgraph._plans import ComputeRecipe, Recipe
from spgraph._vector_ops import VectorExpression
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.scalar import ScalarExpression

__all__ = ["reduce_lines", "reduce_matrix", "reduce_vector"]


class MapOp:
    """What an aggregator makes of each entry, as a typed unary operator for the engine."""

    __slots__ = ("expr", "key", "return_type", "type", "type2")

    inputs = ("x",)
    positional = False
    kind = "unary"
    name = "map"

    def __init__(self, expr: Expr, type_: Any, return_type: Any):
        self.expr = expr
        self.type = self.type2 = type_
        self.return_type = return_type
        self.key = ("unary", expr, type_.name)

    @property
    def parent(self) -> MapOp:
        """Itself: there is no untyped form."""
        return self

    def numpy(self, x: Any) -> np.ndarray:
        """The NumPy reference."""
        array = cast_array(x, self.type.np_type)
        result = evaluate(self.expr, {"x": array})
        return np.array(np.broadcast_to(result, array.shape), self.return_type.np_type)


def _map_of(agg: Any, part: Any) -> MapOp | None:
    """The operator of a part, or None if entries are taken as they are."""
    if part.map == Input("x", agg.type.np_type):
        return None
    return MapOp(part.map, agg.type, part.monoid.type)


def _of_nothing(agg: Any, allow_empty: bool) -> Any:
    """The result for no entries: None, or a value."""
    if allow_empty or agg.empty is not None:
        return agg.empty
    if len(agg.parts) != 1 or agg.pick is not None:
        raise ValueError(f"reduce: allow_empty=False goes with monoids; {agg!r} has no value for no entries")
    return agg.finish_numpy(agg.parts[0].monoid.identity)[()]


def _scalar(agg: Any, empty: Any, count: Any, reduce_part: Any, pick: Any, text: Any, operand: Any):
    """The expression of a reduction to one value."""

    def compute():
        if agg.pick is not None:
            value = pick()
        elif agg.parent.name == "count":
            value = agg.return_type.np_type.type(count())
        else:
            reduced = [reduce_part(part) for part in agg.parts]
            value = None if any(r is None for r in reduced) else agg.finish_numpy(*reduced)[()]
        return empty if value is None else value

    return ScalarExpression(ComputeRecipe(compute, text, (operand,)), agg.return_type)


def reduce_vector(v: Any, agg: Any, allow_empty: bool) -> ScalarExpression:
    """``v.reduce(agg)``."""

    def reduce_part(part):
        op = _map_of(agg, part)
        return engine.vector_reduce(v._node() if op is None else engine.Apply(op, v._node()), part.monoid)

    def pick():
        ids, values = v._coo()
        return agg.numpy(values, ids)

    def text(names):
        return f"{v._formula(names)}.reduce({agg!r})"

    return _scalar(agg, _of_nothing(agg, allow_empty), lambda: v.nvals, reduce_part, pick, text, v)


def reduce_matrix(A: Any, agg: Any, allow_empty: bool) -> ScalarExpression:
    """``A.reduce_scalar(agg)``."""
    if agg.gives == "index":
        raise ValueError(f"reduce_scalar: {agg!r} gives an index, which all of a Matrix has not; reduce rows first")

    def reduce_part(part):
        return engine.matrix_reduce_scalar(_mapped(A._block, False, _map_of(agg, part)), part.monoid)

    def text(names):
        return f"{A._formula(names)}.reduce_scalar({agg!r})"

    empty = _of_nothing(agg, allow_empty)
    return _scalar(agg, empty, lambda: A.nvals, reduce_part, lambda: agg.numpy(A._coo()[2]), text, A)


def _mapped(block: MatrixBlock, transposed: bool, op: MapOp | None) -> MatrixBlock:
    """The block with every entry mapped, not transposed."""
    if op is None:
        return block
    mapped = MatrixBlock(block.nrows, block.ncols, op.return_type.np_type, rows=block.rows, cols=block.cols)
    engine.matrix_apply(mapped, None, None, False, block, transposed, op)
    return mapped


def reduce_lines(A: Any, agg: Any, columns: bool) -> VectorExpression:
    """``A.reduce_rowwise(agg)``, or with `columns` ``A.reduce_columnwise(agg)``."""
    size = A.shape[1] if columns else A.shape[0]
    way = "columnwise" if columns else "rowwise"

    def make():
        block = _picked(A, agg, columns, size) if agg.pick is not None else _reduced(A, agg, columns, size)
        return CLASSES[1]._wrap(block)

    def text(names):
        return f"{A._formula(names)}.reduce_{way}({agg!r})"

    return VectorExpression(Recipe(make, text, (A,)), agg.return_type, size)


def _reduced(A: Any, agg: Any, columns: bool, size: int) -> VectorBlock:
    block, transposed = A._block, A._is_transposed != columns
    results = []
    for part in agg.parts:
        out = VectorBlock(size, part.monoid.return_type.np_type)
        mapped = _mapped(block, False, _map_of(agg, part))
        engine.matrix_reduce_rows(out, None, None, False, mapped, transposed, part.monoid)
        results.append(engine.vector_coo(out))
    ids = results[0][0]
    values = agg.finish_numpy(*(values for _, values in results))
    return engine.build_vector(size, ids, np.broadcast_to(values, ids.shape), agg.return_type.np_type)


def _picked(A: Any, agg: Any, columns: bool, size: int) -> VectorBlock:
    """One entry per line: the first in an order that says which."""
    operand = A._eval()
    lines, others, values = (operand.T if columns else operand)._coo()
    order = _preference(values, agg.pick)
    order = order[np.argsort(lines[order], kind="stable")]
    sorted_lines = lines[order]
    first = np.flatnonzero(np.r_[True, sorted_lines[1:] != sorted_lines[:-1]]) if lines.size else order
    chosen = order[first]
    result = (others if agg.gives == "index" else values)[chosen]
    dtype = INT64 if agg.gives == "index" else agg.return_type
    return engine.build_vector(size, lines[chosen], result, dtype.np_type)


def _preference(values: np.ndarray, pick: str) -> np.ndarray:
    """Positions of entries, the preferred ones first; NaN comes last, equal values in their order."""
    if pick == "first":
        return np.arange(values.size)
    if pick == "last":
        return np.arange(values.size)[::-1]
    if pick == "min":
        return np.argsort(values, kind="stable")  # NumPy puts NaN last
    order = (values.size - 1 - np.argsort(values[::-1], kind="stable"))[::-1]
    if values.dtype.kind != "f":
        return order
    missing = np.isnan(values[order])
    return np.r_[order[~missing], order[missing]]
