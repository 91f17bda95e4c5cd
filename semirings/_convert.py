"""What may stand for an operator: the operator, a string, a monoid for its operator, a function."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from semirings import _registry

_BUILTINS = {builtins.abs: ("unary", "abs"), builtins.max: ("binary", "max"), builtins.min: ("binary", "min")}


def _kind(op: Any) -> str | None:
    kind = getattr(op, "kind", None)
    return kind if kind in _registry.KINDS else None


def _parse(kind: str, text: str) -> Any:
    import importlib

    return importlib.import_module(f"semirings.{kind}").from_string(text)


def _is_function(op: Any) -> bool:
    return callable(op) and _kind(op) is None and not isinstance(op, type)


def _refuse(op: Any, wanted: str, hint: str) -> TypeError:
    return TypeError(f"{wanted} is wanted, but got {op!r} of type {type(op).__name__}; {hint}")


def _untyped(op: Any, untyped: bool) -> Any:
    if untyped and hasattr(op, "parent"):
        raise TypeError(f"{op!r} has a type; an operator for all types is wanted, as {op.parent!r}")
    return op


def as_binary(op: Any, *, untyped: bool = False) -> Any:
    """The binary operator that `op` means.

    Parameters
    ----------
    op : BinaryOp, Monoid, their typed forms, str, or function
        A semiring stands for its product. A function becomes an anonymous operator.

    Examples
    --------
    >>> from semirings import monoid
    >>> as_binary(monoid.plus), as_binary("-"), as_binary(min)
    (binary.plus, binary.minus, binary.min)
    """
    if isinstance(op, str):
        op = _parse("binary", op)
    elif callable(op) and _hashable(op) and op in _BUILTINS:
        op = _registry.find(*_BUILTINS[op])
    elif _is_function(op):
        from semirings._operators import BinaryOp

        op = BinaryOp.register_anonymous(op)
    if _kind(op) in ("monoid", "semiring"):
        op = op.binaryop
    if _kind(op) != "binary":
        raise _refuse(
            op, "a binary operator", "for example binary.plus, monoid.min, '+' or a function of x and y"
        )
    return _untyped(op, untyped)


def as_monoid(op: Any, *, untyped: bool = False) -> Any:
    """The monoid that `op` means: a binary operator stands for the monoid it is part of.

    Examples
    --------
    >>> from semirings import binary
    >>> as_monoid(binary.plus), as_monoid("min[INT8]")
    (monoid.plus, monoid.min[INT8])
    """
    if isinstance(op, str):
        op = _parse("monoid", op)
    elif callable(op) and _hashable(op) and op in _BUILTINS:
        op = _registry.find(*_BUILTINS[op])
    if _kind(op) == "binary":
        if op.monoid is None:
            raise _refuse(
                op,
                "a monoid",
                "this operator is part of none; monoid.register_new(name, op, identity) makes one",
            )
        op = op.monoid
    if _kind(op) == "semiring":
        op = op.monoid
    if _kind(op) != "monoid":
        raise _refuse(op, "a monoid", "for example monoid.plus or 'min'")
    return _untyped(op, untyped)


def as_semiring(op: Any) -> Any:
    """The semiring that `op` means.

    Examples
    --------
    >>> as_semiring("min.+")
    semiring.min_plus
    """
    if isinstance(op, str):
        op = _parse("semiring", op)
    if _kind(op) != "semiring":
        raise _refuse(op, "a semiring", "for example semiring.min_plus or 'min.+'")
    return op


def _function_kind(kind: str, example: str) -> Callable[[Any], Any]:
    def convert(op: Any) -> Any:
        if isinstance(op, str):
            op = _parse(kind, op)
        elif callable(op) and _hashable(op) and _BUILTINS.get(op, ("",))[0] == kind:
            op = _registry.find(*_BUILTINS[op])
        elif _is_function(op):
            from semirings._operators import CLASSES

            op = CLASSES[kind].register_anonymous(op)
        if _kind(op) != kind:
            raise _refuse(op, f"an operator of kind {kind}", f"for example {example}")
        return op

    convert.__name__ = convert.__qualname__ = f"as_{kind}"
    convert.__doc__ = f"The {kind} operator that `op` (an operator, a string, a function) means."
    return convert


as_unary = _function_kind("unary", "unary.abs, '-' or a function of x")
as_indexunary = _function_kind("indexunary", "indexunary.rowindex or a function of x, i, j and thunk")
as_select = _function_kind("select", "select.tril, '>=' or a function of x, i, j and thunk")


def as_agg(op: Any) -> Any:
    """The aggregator or monoid that `op` means; what a reduction takes.

    Examples
    --------
    >>> from semirings import binary
    >>> as_agg("mean"), as_agg(binary.plus), as_agg("+")
    (agg.mean, monoid.plus, monoid.plus)
    """
    if isinstance(op, str):
        from semirings.exceptions import InvalidValue

        try:
            return as_monoid(_parse("binary", op))
        except (InvalidValue, TypeError):
            op = _parse("agg", op)
    return op if _kind(op) == "agg" else as_monoid(op)


def _hashable(op: Any) -> bool:
    return type(op).__hash__ is not None
