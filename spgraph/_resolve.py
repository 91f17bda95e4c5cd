"""Which typed operator serves operands of given dtypes; remembered, since loops ask again and again.

Every function takes what a caller may give for an operator (an operator, typed or not, its name as a
string, for some kinds a Python function) and the operands' DataTypes, and returns a typed operator.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from semirings import agg as aggs
from semirings import binary as binaries
from semirings import indexunary as indexunaries
from semirings import monoid as monoids
from semirings import select as selects
from semirings import semiring as semirings_
from semirings import unary as unaries
from semirings.dtypes import BOOL, DataType, unify
from semirings.exceptions import DomainMismatch
from spgraph._convert import describe, fit_operand

_LIMIT = 4096  # remembered operators per kind; anonymous ones must not pile up for ever

_accum: dict[tuple, Any] = {}
_binary: dict[tuple, Any] = {}
_semiring: dict[tuple, Any] = {}
_union: dict[tuple, Any] = {}
_filled: dict[tuple, Any] = {}
_monoid: dict[tuple, Any] = {}
_element: dict[tuple, Any] = {}
_bound: dict[tuple, Any] = {}
_select: dict[tuple, Any] = {}

_BUILTIN: dict[str, dict] = {"unary": {abs: unaries.abs}, "binary": {max: binaries.max, min: binaries.min}}
_NAMES = {
    "unary": "a unary operator",
    "binary": "a binary operator or monoid",
    "monoid": "a monoid or aggregator",
    "semiring": "a semiring",
    "select": "a select operator, mask or BOOL object",
}
_MODULES = {
    "unary": unaries,
    "binary": binaries,
    "monoid": monoids,
    "semiring": semirings_,
    "select": selects,
}


def binary(op: Any, d1: DataType, d2: DataType, function: str, argument: str = "op") -> Any:
    """A typed binary operator: of a binary operator, or the one of a monoid."""
    key = (op, d1.name, d2.name)
    found = _known(_binary, key)
    if found is None:
        found = _remember(_binary, key, _typed_binary(_as_binary(op, function, argument), d1, d2, function))
    return found


def accum(op: Any, dtype: DataType) -> Any:
    """An accumulator: the binary operator of the output's type (``pair[FP64]``; for two operands it would be INT64)."""
    key = (op, dtype.name)
    found = _known(_accum, key)
    if found is None:
        typed = _typed_binary(_as_binary(op, "accum", "accum"), dtype, None, "accum")
        found = _remember(_accum, key, _of_values(typed, op, "accum"))
    return found


def dup_op(op: Any, dtype: DataType, function: str) -> Any:
    """What combines the values of duplicates."""
    return _of_values(binary(op, dtype, dtype, function, "dup_op"), op, f"{function}: dup_op")


def _of_values(typed: Any, op: Any, argument: str) -> Any:
    if typed.positional:
        raise DomainMismatch(f"{argument}: {op!r} asks for positions, which the values to be combined do not have")
    return typed


def union(op: Any, d1: DataType, d2: DataType, ltype: DataType, rtype: DataType, function: str) -> Any:
    """A typed binary operator that also serves defaults of types `ltype` (left) and `rtype`."""
    key = (op, d1.name, d2.name, ltype.name, rtype.name)
    found = _known(_union, key)
    if found is None:
        first = binary(op, d1, rtype, function)
        second = binary(op, ltype, d2, function)
        if first is not second:
            first = binary(op, unify(first.type, second.type), unify(first.type2, second.type2), function)
        found = _remember(_union, key, first)
    return found


def filled(op: Any, d1: DataType, d2: DataType, function: str) -> tuple[Any, Any, Any]:
    """The same where zeros are the defaults: the operator and its zeros, left and right."""
    key = (op, d1.name, d2.name)
    found = _known(_filled, key)
    if found is None:
        typed = union(op, d1, d2, BOOL, BOOL, function)
        zeros = [fit_operand(False, typed, *side) for side in (("x", function, "left_default"),
                                                               ("y", function, "right_default"))]
        found = _remember(_filled, key, (typed, *zeros))
    return found


def semiring(op: Any, d1: DataType, d2: DataType, function: str) -> Any:
    """A typed semiring for a product of `d1` by `d2`."""
    key = (op, d1.name, d2.name)
    found = _known(_semiring, key)
    if found is None:
        found = _operator(op, "semiring", function)
        if found.kind != "semiring":
            raise _wrong_kind(found, "semiring", function, "op")
        found = _remember(_semiring, key, _typed(found, d1, d2, function))
    return found


def monoid(op: Any, dtype: DataType, function: str) -> Any:
    """A typed monoid or aggregator, for a reduction."""
    key = (op, dtype.name)
    found = _known(_monoid, key)
    if found is None:
        found = _remember(_monoid, key, _typed(_as_reduction(op, function), dtype, None, function))
    return found


def element(op: Any, dtype: DataType, function: str) -> tuple[Any, Any]:
    """For an apply without scalar: the typed operator, and the thunk if it is index-unary (else None)."""
    key = (op, dtype.name)
    found = _known(_element, key)
    if found is None:
        operator = _operator(op, "unary", function)
        if operator.kind not in ("unary", "indexunary", "select"):
            hint = "; give left= or right= to bind a scalar" if operator.kind in ("binary", "monoid") else ""
            raise _wrong_kind(operator, "unary", function, "op", hint)
        typed = _typed(operator, dtype, None, function)
        thunk = None if operator.kind == "unary" else typed.type2.np_type.type(0)
        found = _remember(_element, key, (typed, thunk))
    return found


def bound(op: Any, d1: DataType, d2: DataType, function: str, side: str) -> Any:
    """For an apply with a scalar: a typed binary operator, or index-unary if the scalar is on the right."""
    key = (op, d1.name, d2.name, side)
    found = _known(_bound, key)
    if found is None:
        operator = _operator(op, "binary", function, also="indexunary")
        if operator.kind in ("indexunary", "select"):
            if side == "left":
                raise TypeError(f"{function}: {operator!r} takes its thunk on the right, but left was given")
        else:
            hint = "; it takes no scalar" if operator.kind == "unary" else ""
            operator = _as_binary(operator, function, "op", hint)
        found = _remember(_bound, key, _typed_binary(operator, d1, d2, function))
    return found


def select(op: Any, dtype: DataType, thunk: DataType | None, function: str) -> Any:
    """A typed select operator (or an index-unary one that gives BOOL)."""
    key = (op, dtype.name, thunk and thunk.name)
    found = _known(_select, key)
    if found is None:
        operator = _operator(op, "select", function)
        if operator.kind not in ("select", "indexunary"):
            raise _wrong_kind(operator, "select", function, "op")
        found = _typed(operator, dtype, thunk, function)
        if found.return_type.name != "BOOL":
            raise DomainMismatch(f"{function}: {operator!r} gives {found.return_type}, but BOOL was wanted")
        _remember(_select, key, found)
    return found


def is_indexed(op: Any) -> bool:
    """Whether a typed operator takes row, column and a thunk."""
    return op.parent.kind in ("indexunary", "select")


def _known(memo, key):
    try:
        return memo.get(key)
    except TypeError:  # not hashable
        raise TypeError(f"op is {describe(key[0])}, but an operator or its name was wanted") from None


def _remember(memo, key, found):
    if len(memo) >= _LIMIT:
        memo.clear()
    if isinstance(key[0], types.FunctionType):  # a lambda of a loop would never be asked for again
        return found
    memo[key] = found
    return found


def _typed(operator, d1, d2, function):
    try:
        return operator.resolve(d1) if d2 is None else operator.resolve(d1, d2)
    except DomainMismatch as error:
        raise DomainMismatch(f"{function}: {error}") from None


def _typed_binary(operator, d1, d2, function):
    typed = _typed(operator, d1, d2, function)
    return typed.binaryop if operator.kind == "monoid" else typed


def _operator(op: Any, kind: str, function: str, also: str = "") -> Any:
    """What the caller gave, as an operator of whatever kind."""
    if hasattr(type(op), "kind") and hasattr(type(op), "resolve"):
        return op
    if isinstance(op, str):
        return _from_string(op, kind, function, also)
    if isinstance(op, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)) and kind in (
        "unary",
        "binary",
        "select",
    ):
        found = _BUILTIN.get(kind, {}).get(op)
        return found if found is not None else _MODULES[kind].register_anonymous(op)
    raise TypeError(f"{function}: op is {describe(op)}, but {_NAMES[kind]} was wanted")


def _from_string(text: str, kind: str, function: str, also: str) -> Any:
    tries: tuple[Any, ...] = {
        "unary": (unaries, indexunaries, selects, binaries),
        "binary": (binaries, monoids, *((indexunaries, selects) if also else ())),
        "monoid": (monoids, binaries, aggs),
        "semiring": (semirings_,),
        "select": (selects, indexunaries),
    }[kind]
    reasons = []
    for module in tries:
        try:
            return module.from_string(text)
        except ValueError as error:
            reasons.append(error)
    raise type(reasons[0])(f"{function}: {reasons[0]}")


def _as_binary(op: Any, function: str, argument: str, hint: str = "") -> Any:
    operator = _operator(op, "binary", function)
    if operator.kind not in ("binary", "monoid"):
        if operator.kind == "semiring":
            hint = f"; {operator!r}.binaryop is one"
        raise _wrong_kind(operator, "binary", function, argument, hint)
    return operator


def _as_reduction(op: Any, function: str) -> Any:
    operator = _operator(op, "monoid", function)
    if operator.kind == "binary":
        found = operator.monoid
        if found is None:
            raise _wrong_kind(operator, "monoid", function, "op", "; it is not known to be a monoid's")
        return found
    if operator.kind not in ("monoid", "agg"):
        hint = f"; {operator!r}.monoid is one" if operator.kind == "semiring" else ""
        raise _wrong_kind(operator, "monoid", function, "op", hint)
    return operator


def _wrong_kind(operator, kind, function, argument, hint=""):
    return TypeError(f"{function}: {argument} is {operator!r}, but {_NAMES[kind]} was wanted{hint}")
