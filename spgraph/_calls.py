"""Operators called with objects: ``binary.plus(u | v)``, ``unary.abs(v)``, ``agg.sum(A, rowwise=True)``.

The operator hands the call over here (``__semiring_call__``); it stands for the method of the same meaning.
"""

from __future__ import annotations

from typing import Any

from spgraph._base import RANK
from spgraph._chains import Infix, apply_infix
from spgraph._convert import describe

__all__ = ["call_operator"]


def call_operator(op: Any, args: tuple, kwargs: dict) -> Any:
    """What ``op(*args, **kwargs)`` means."""
    return _BY_KIND[op.kind](op, args, kwargs)


def _unary(op, args, kwargs):
    _expect(op, args, kwargs, 1)
    return args[0].apply(op)


def _binary(op, args, kwargs):
    if len(args) == 1 and not kwargs and isinstance(args[0], Infix) and args[0]._kind != "matmul":
        return apply_infix(op, args[0])
    left, right, ldefault, rdefault = _binary_arguments(op, *args, **kwargs)
    if right is None:
        if isinstance(left, Infix) and left._kind != "matmul":
            return apply_infix(op, left, ldefault, rdefault)
        raise TypeError(f"{op!r}: it combines two; write {op!r}(u | v), {op!r}(u & v), {op!r}(v, 1) or {op!r}(1, v)")
    if ldefault is not None or rdefault is not None:
        raise TypeError(f"{op!r}: defaults go with a union, as in {op!r}(u | v, left_default=0, right_default=0)")
    a, b = RANK.get(type(left)), RANK.get(type(right))
    if a and b:
        raise TypeError(
            f"{op!r}: of two objects say where they combine: {op!r}(u | v) for the union of their entries, "
            f"{op!r}(u & v) for the intersection"
        )
    if a:
        return left.apply(op, right=right)
    if b:
        return right.apply(op, left=left)
    return left.apply(op, right=right) if a == 0 else right.apply(op, left=left)


def _binary_arguments(op, left=None, right=None, *rest, left_default=None, right_default=None):
    if rest:  # op(u | v, left_default, right_default)
        raise TypeError(f"{op!r}: write {op!r}(u | v, left_default=..., right_default=...)")
    return left, right, left_default, right_default


def _semiring(op, args, kwargs):
    _expect(op, args, kwargs, 1)
    if isinstance(args[0], Infix) and args[0]._kind == "matmul":
        return apply_infix(op, args[0])
    raise TypeError(f"{op!r}: it multiplies two; write {op!r}(A @ v)")


def _indexunary(op, args, kwargs):
    thunk = _thunk(op, args, kwargs)
    return args[0].apply(op) if thunk is None else args[0].apply(op, right=thunk)


def _select(op, args, kwargs):
    return args[0].select(op, _thunk(op, args, kwargs))


def _thunk(op, args, kwargs):
    thunk = kwargs.pop("thunk", None)
    if kwargs or len(args) > 2 or (len(args) == 2 and thunk is not None):
        raise TypeError(f"{op!r}: it is called with an object and a thunk, as in {op!r}(A, 1)")
    return args[1] if len(args) == 2 else thunk


def _comparison(op, args, kwargs):
    """``select.value(A > 3)`` and its like."""
    plan = getattr(args[0], "_plan", None)
    if getattr(plan, "right", None) is None or not hasattr(plan, "operand"):
        raise TypeError(f"{op!r}: it is called with a comparison with a number, as in {op!r}(A <= 5)")
    chosen, thunk = op.pick(plan.op.parent.name, plan.right.item())
    return plan.operand.select(chosen, thunk)


def _aggregate(op, args, kwargs):
    rowwise = kwargs.pop("rowwise", False)
    columnwise = kwargs.pop("columnwise", False)
    _expect(op, args, kwargs, 1)
    value = args[0]
    if not RANK.get(type(value)):
        raise TypeError(f"{op!r}: it was called with {describe(value)}, but a Vector or a Matrix was wanted")
    if rowwise and columnwise:
        raise ValueError(f"{op!r}: rowwise and columnwise were both given, but one of them was wanted")
    if value.ndim == 1:
        if rowwise or columnwise:
            raise ValueError(f"{op!r}: rowwise and columnwise go with a Matrix")
        return value.reduce(op)
    if rowwise:
        return value.reduce_rowwise(op)
    return value.reduce_columnwise(op) if columnwise else value.reduce_scalar(op)


def _expect(op, args, kwargs, count):
    if kwargs or len(args) != count:
        raise TypeError(f"{op!r}: got {len(args)} arguments and {sorted(kwargs)}, but {count} was wanted")


_BY_KIND = {
    "unary": _unary,
    "binary": _binary,
    "monoid": _binary,
    "semiring": _semiring,
    "indexunary": _indexunary,
    "select": _select,
    "comparison": _comparison,
    "agg": _aggregate,
}
