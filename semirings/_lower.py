"""From NumPy's functions to primitives: result types, and what is made of other primitives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from semirings._primitives import PRIMITIVES
from semirings.exceptions import DomainMismatch
from semirings.expr import Call, Cast, Const, Expr, Where, cast

BOOL = np.dtype(np.bool_)
Operand = Any  # an Expr, or a Python int or float that adapts to the other operands

_COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_FLIPPED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_ON_BOOLS = {"logical_and": "bitwise_and", "logical_or": "bitwise_or", "logical_xor": "bitwise_xor"}


class Untraceable(Exception):
    """Raised inside a traced function; `trace` turns it into UdfParseError with the source line."""

    def __init__(self, reason: str, way_out: str) -> None:
        super().__init__(reason)
        self.reason, self.way_out = reason, way_out


class NoLoop(DomainMismatch):
    """The function works, but not for operands of these types."""


def supported(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, or float32 for float16; what spgraph has not raises NoLoop."""
    if dtype.char == "e":
        return np.dtype(np.float32)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise NoLoop(f"NumPy would compute in {dtype}, which is not supported")
    return dtype.newbyteorder("=")


def ufunc(function: np.ufunc, operands: list[Operand]) -> Expr | tuple[Expr, ...]:
    """What a ufunc computes."""
    name = function.__name__
    if name in _COMPARISONS:
        folded = _compare_with_number(name, operands)
        if folded is not None:
            return folded
    keys = [op.dtype if isinstance(op, Expr) else type(op) for op in operands]
    try:
        loop = function.resolve_dtypes((*keys, *[None] * function.nout))
    except TypeError as error:
        raise NoLoop(f"np.{name}: {error}") from None
    in_types = [supported(dtype) for dtype in loop[: function.nin]]
    out_types = [supported(dtype) for dtype in loop[function.nin :]]
    _refuse_mixed_64(name, [k for k in keys if isinstance(k, np.dtype)], in_types)
    args = [full(op, dtype) for op, dtype in zip(operands, in_types)]
    if name in COMPOUND:
        return COMPOUND[name](*args)
    if name not in PRIMITIVES:
        raise Untraceable(f"np.{name} cannot be traced", f"it can use {_known_names()}")
    return _call(name, args, out_types[0])


def where(condition: Operand, a: Operand, b: Operand) -> Expr:
    """What ``np.where(condition, a, b)`` computes."""
    keys = [v.dtype if isinstance(v, Expr) else v for v in (a, b)]
    dtype = supported(np.dtype(np.result_type(*keys)))
    _refuse_mixed_64("where", [k for k in keys if isinstance(k, np.dtype)], [dtype])
    return Where(full(condition, BOOL), full(a, dtype), full(b, dtype))


def full(value: Operand, dtype: np.dtype[Any]) -> Expr:
    """A value as a tree; converted to `dtype`, if it is a Python number or another type."""
    if isinstance(value, Expr):
        return cast(value, dtype)
    try:
        return Const(value, dtype)
    except OverflowError:
        raise NoLoop(f"the number {value} does not fit in {dtype}") from None


def _call(name: str, args: list[Expr], dtype: Any) -> Expr:
    kind = args[0].dtype.kind
    if name in _COMPARISONS and args[0].dtype != args[1].dtype:
        return _compare_mixed(name, args[0], args[1])
    if any(kind in kinds for kinds in PRIMITIVES[name]):
        return Call(name, tuple(args), dtype)
    return args[0]  # rounding an integer, the absolute value of what has no sign


def _refuse_mixed_64(name: str, keys: list[np.dtype[Any]], in_types: list[np.dtype[Any]]) -> None:
    kinds = {dtype.kind for dtype in keys}
    if (
        {"u", "i"} <= kinds
        and "f" not in kinds
        and in_types[0].kind == "f"
        and name not in ("divide", "ldexp")
    ):
        both = " and ".join(sorted({dtype.name for dtype in keys}))
        raise NoLoop(
            f"np.{name} of {both} would be computed in float64, which loses integers above 2**53; "
            "convert one of them with .astype"
        )


def _compare_with_number(name: str, operands: list[Operand]) -> Expr | None:
    """A comparison with a Python int outside the type's range is known."""
    a, b = operands
    if isinstance(a, Expr) and isinstance(b, Expr):
        return None
    if not isinstance(a, Expr):
        folded = _compare_with_number(_FLIPPED.get(name, name), [b, a]) if isinstance(b, Expr) else None
        return folded
    if a.dtype.kind in "iu" and isinstance(b, int):
        info = np.iinfo(a.dtype)
        if not info.min <= b <= info.max:
            return Const(_COMPARISONS[name](0, b), BOOL)
    return None


def _compare_mixed(name: str, a: Expr, b: Expr) -> Expr:
    """int64 with uint64, exactly."""
    if a.dtype.kind == "u":
        return _compare_mixed(_FLIPPED.get(name, name), b, a)
    below = Call("less", (a, Const(0, a.dtype)), BOOL)
    same = Call(name, (Cast(a, b.dtype), b), BOOL)
    return Where(below, Const(_COMPARISONS[name](-1, 0), BOOL), same)


def _known_names() -> str:
    names = sorted(n for n in {*PRIMITIVES, *COMPOUND} if hasattr(np, n))
    return ", ".join(f"np.{n}" for n in names)


# --- ufuncs made of other primitives; arguments have the types of the loop already ---


def _truth(x: Expr) -> Expr:
    return cast(x, BOOL)


def _logical(name: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: Call(_ON_BOOLS[name], (_truth(x), _truth(y)), BOOL)


def _scaled(up: float, down: float) -> Callable[[Expr], Expr]:
    def scale(x: Expr) -> Expr:
        factor = x.dtype.type(up) / x.dtype.type(down)
        return Call("multiply", (x, Const(factor, x.dtype)), x.dtype)

    return scale


def _divmod(x: Expr, y: Expr) -> tuple[Expr, ...]:
    return _call("floor_divide", [x, y], x.dtype), _call("remainder", [x, y], x.dtype)


def _modf(x: Expr) -> tuple[Expr, ...]:
    whole = Call("trunc", (x,), x.dtype)
    rest = Call("subtract", (x, whole), x.dtype)
    infinite = Call("isinf", (x,), BOOL)
    return Call("copysign", (Where(infinite, Const(0, x.dtype), rest), x), x.dtype), whole


def _frexp(x: Expr) -> tuple[Expr, ...]:
    exponent = Call("frexp_exponent", (x,), x.dtype)
    return Call("frexp_mantissa", (x,), x.dtype), cast(exponent, np.int32)


def _heaviside(x: Expr, at_zero: Expr) -> Expr:
    zero, one = Const(0, x.dtype), Const(1, x.dtype)
    positive = Where(Call("greater", (x, zero), BOOL), one, x)  # NaN stays
    not_zero = Where(Call("less", (x, zero), BOOL), zero, positive)
    return Where(Call("equal", (x, zero), BOOL), at_zero, not_zero)


def _power(x: Expr, y: Expr) -> Expr:
    if isinstance(y, Const) and y.value == 2:
        return Call("multiply", (x, x), x.dtype)
    return Call("power", (x, y), x.dtype)


def _reciprocal(x: Expr) -> Expr:
    one = Const(1, x.dtype)
    if x.dtype.kind == "f":
        return Call("divide", (one, x), x.dtype)
    size = Where(Call("equal", (x, one), BOOL), one, Const(0, x.dtype))
    if x.dtype.kind == "u":
        return size
    return Where(Call("equal", (x, Const(-1, x.dtype)), BOOL), Const(-1, x.dtype), size)


COMPOUND: dict[str, Callable[..., Any]] = {
    "logical_and": _logical("logical_and"),
    "logical_or": _logical("logical_or"),
    "logical_xor": _logical("logical_xor"),
    "logical_not": lambda x: Call("invert", (_truth(x),), BOOL),
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "square": lambda x: Call("multiply", (x, x), x.dtype),
    "fabs": lambda x: Call("absolute", (x,), x.dtype),
    "power": _power,
    "float_power": lambda x, y: Call("float_power", (x, y), x.dtype),  # NumPy's power may be another one by a bit
    "reciprocal": _reciprocal,
    "deg2rad": _scaled(np.pi, 180),
    "radians": _scaled(np.pi, 180),
    "rad2deg": _scaled(180, np.pi),
    "degrees": _scaled(180, np.pi),
    "heaviside": _heaviside,
    "divmod": _divmod,
    "modf": _modf,
    "frexp": _frexp,
}
