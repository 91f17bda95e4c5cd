"""Reductions by an aggregator: `semirings.agg` says what is mapped, added up and finished.

An aggregator with parts runs each part as an ordinary reduction of the mapped entries; one that picks an
entry (first, argmin ...) looks at coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.dtypes import INT64, lookup_dtype
from semirings.expr import Call, Cast, Expr, Input, cast_array, evaluate, inputs, substitute, walk
from spgraph import engine
from spgraph._base import CLASSES
from spgraph._plans import ComputeRecipe, Recipe
from spgraph._vector_ops import VectorExpression
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.exchange.matrix_parts import matrix_storage
from spgraph.exchange.vector_parts import vector_storage
from spgraph.scalar import ScalarExpression

__all__ = ["reduce_lines", "reduce_matrix", "reduce_vector"]


class TreeOp:
    """An expression over ``x``, or over ``x`` and ``y``, as a typed operator for the engine."""

    __slots__ = ("expr", "inputs", "key", "kind", "return_type", "type", "type2")

    positional = False
    name = "map"

    def __init__(self, expr: Expr, type_: Any, type2: Any = None):
        self.expr = expr
        self.kind = "unary" if type2 is None else "binary"
        self.inputs = ("x",) if type2 is None else ("x", "y")
        self.type = type_
        self.type2 = type_ if type2 is None else type2
        self.return_type = lookup_dtype(expr.dtype)
        self.key = (self.kind, expr, type_.name, self.type2.name)

    def __eq__(self, other: object) -> bool:
        return type(other) is TreeOp and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def parent(self) -> TreeOp:
        """Itself: there is no untyped form."""
        return self

    def numpy(self, *args: Any) -> np.ndarray:
        """The NumPy reference."""
        arrays = [cast_array(x, dtype.np_type) for x, dtype in zip(args, (self.type, self.type2))]
        result = evaluate(self.expr, dict(zip(self.inputs, arrays)))
        return np.array(np.broadcast_to(result, arrays[0].shape), self.return_type.np_type)


def _map_of(agg: Any, part: Any) -> TreeOp | None:
    """The operator of a part, or None if entries are taken as they are."""
    if part.map == Input("x", agg.type.np_type):
        return None
    return TreeOp(part.map, agg.type)


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
        return _one(v._device, values, ids if agg.gives == "index" else values, agg.pick)

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

    def pick():
        values = A._coo()[2]
        return _one(A._device, values, values, agg.pick)

    return _scalar(agg, _of_nothing(agg, allow_empty), lambda: A.nvals, reduce_part, pick, text, A)


def _one(device: Any, values: Any, result: Any, pick: str) -> Any:
    """The item of `result` at the place of the picked value, or None."""
    if not values.size:
        return None
    if pick in ("first", "last"):
        where = 0 if pick == "first" else values.size - 1
    else:
        xp = device.xp
        real = values.dtype.kind == "f" and not bool(xp.isnan(values).all())
        where = int(getattr(xp, f"nanarg{pick}" if real else f"arg{pick}")(values))
    return device.to_host(result[where : where + 1])[0]


def _mapped(block: MatrixBlock, transposed: bool, op: TreeOp | None) -> MatrixBlock:
    """The block with every entry mapped, not transposed."""
    if op is None:
        return block
    np_type, device = op.return_type.np_type, block.device
    mapped = matrix_storage(block.nrows, block.ncols, np_type, device)
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
    leaves = {}
    for k, part in enumerate(agg.parts):
        out = vector_storage(size, part.monoid.return_type.np_type, block.device)
        mapped = _mapped(block, False, _map_of(agg, part))
        engine.matrix_reduce_rows(out, None, None, False, mapped, transposed, part.monoid)
        leaves[f"r{k}"] = engine.Leaf(out)
    if isinstance(agg.finish, Input):
        return leaves[agg.finish.name].block
    result = vector_storage(size, agg.return_type.np_type, block.device)
    engine.vector_chain(result, None, None, False, _tree(agg.finish, leaves))
    return result


def _tree(e: Expr, leaves: dict[str, engine.Leaf]) -> Any:
    """An expression over vectors as the engine takes it: operators of one or two operands."""
    found = sorted((node for node in walk(e) if isinstance(node, Input)), key=repr)
    if len(found) <= 2:
        operands: list[Any] = [leaves[part.name] for part in found]
        types = [part.dtype for part in found]
        expr = substitute(e, {part.name: Input(name, part.dtype) for part, name in zip(found, "xy")})
    else:
        parts = [arg for arg in e.args if inputs(arg)]
        operands = [_tree(arg, leaves) for arg in parts]
        types = [part.dtype for part in parts]
        names = iter("xy")
        args = tuple(Input(next(names), arg.dtype) if inputs(arg) else arg for arg in e.args)
        expr = Cast(args[0], e.dtype) if isinstance(e, Cast) else Call(str(e.label), args, e.dtype)
    op = TreeOp(expr, *map(lookup_dtype, types))
    return engine.Apply(op, *operands) if len(operands) == 1 else engine.Ewise("mult", op, *operands)


def _picked(A: Any, agg: Any, columns: bool, size: int) -> VectorBlock:
    """One entry per line: the first in an order that says which."""
    operand = A._eval()
    device = operand._device
    xp = device.xp
    lines, others, values = (operand.T if columns else operand)._coo()
    order = _preference(xp, values, agg.pick)
    order = order[xp.argsort(lines[order], kind="stable")]
    sorted_lines = lines[order]
    first = xp.ones(order.size, np.bool_)
    first[1:] = sorted_lines[1:] != sorted_lines[:-1]
    chosen = order[first]
    result = (others if agg.gives == "index" else values)[chosen]
    dtype = INT64 if agg.gives == "index" else agg.return_type
    return engine.build_vector(size, lines[chosen], result, dtype.np_type, device=device)


def _preference(xp: Any, values: Any, pick: str) -> Any:
    """Positions of entries, the preferred ones first; NaN comes last, equal values in their order."""
    if pick == "first":
        return xp.arange(values.size)
    if pick == "last":
        return xp.arange(values.size)[::-1]
    if pick == "min":
        return xp.argsort(values, kind="stable")  # which puts NaN last
    order = (values.size - 1 - xp.argsort(values[::-1], kind="stable"))[::-1]
    if values.dtype.kind != "f":
        return order
    missing = xp.isnan(values[order])
    return xp.concatenate([order[~missing], order[missing]])
