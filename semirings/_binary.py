"""The built-in binary operators, one row each.

Functions see arrays or symbolic values of one type and may look at ``x.dtype``. What GraphBLAS leaves
to the implementation (division of integers by zero, arithmetic on booleans) is as in SuiteSparse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from semirings import functions
from semirings._function_ops import FLOAT_COERCIONS, same_type
from semirings._operators import BinaryOp
from semirings.dtypes import ALL, BOOL, FLOATS, INT8, INT64, INTEGERS, DataType


def _flip(func: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: func(y, x)


def _minus(x: Any, y: Any) -> Any:
    return x ^ y if x.dtype.kind == "b" else x - y


def _cdiv(x: Any, y: Any) -> Any:
    """Division as in C, towards zero; x/0 is the end of the type on the side of x, and 0/0 is 0."""
    if x.dtype.kind == "f":
        return x / y
    if x.dtype.kind == "b":
        return x
    info = np.iinfo(x.dtype)
    end = np.full_like(x, info.max)
    if info.min == 0:
        return np.where(y == 0, np.where(x == 0, x, end), x // y)
    floor = x // y
    quotient = np.where((x < 0) ^ (y < 0), np.where(floor * y == x, floor, floor + 1), floor)
    return np.where(y == 0, np.where(x == 0, x, np.where(x < 0, info.min, end)), quotient)


def _pow(x: Any, y: Any) -> Any:
    """Power; of integers by way of FP64, saturated; NaN if either is NaN."""
    if x.dtype.kind == "b":
        return x | ~y
    if x.dtype.kind != "f":
        return np.power(x.astype(np.float64), y.astype(np.float64))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.power(x, y))


def _rpow(x: Any, y: Any) -> Any:
    return _pow(y.astype(np.int8), x.astype(np.int8)) if x.dtype.kind == "b" else _pow(y, x)


def _int8_for_bool(dtype: DataType) -> DataType:
    return INT8 if dtype == BOOL else dtype


def _float_power(x: Any, y: Any) -> Any:
    return np.power(x, y) if x.dtype == np.float32 else np.float_power(x, y)


def _remainder(x: Any, y: Any) -> Any:
    """IEEE remainder: x less the nearest multiple of y, the even one of two."""
    size, divisor = np.abs(x), np.abs(y)
    m = np.fmod(size, divisor)
    c = divisor - m
    tie = m - 2 * np.fmod(0.5 * (size - m), divisor)
    return np.copysign(np.ones_like(x), x) * np.where(m < c, m, np.where(m > c, -c, tie))


def _ldexp(x: Any, y: Any) -> Any:
    exponent = np.where(np.isnan(y), 0, np.clip(y, -5000, 5000))  # all beyond is 0 or infinite
    return np.ldexp(x, exponent.astype(np.int32))


def _of_ints(func: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of integers that takes booleans as INT8."""
    return lambda x, y: func(x.astype(np.int8), y.astype(np.int8)) if x.dtype.kind == "b" else func(x, y)


def _in_bits(x: Any, k: Any) -> Any:
    return (k >= 1) & (k <= 8 * x.dtype.itemsize)


def _bit(x: Any, k: Any) -> Any:
    return np.left_shift(np.ones_like(x), np.where(_in_bits(x, k), k - 1, 0))


def _bget(x: Any, k: Any) -> Any:
    return np.where(_in_bits(x, k), np.where((x & _bit(x, k)) != 0, 1, np.zeros_like(x)), 0)


def _bset(x: Any, k: Any) -> Any:
    return np.where(_in_bits(x, k), x | _bit(x, k), x)


def _bclr(x: Any, k: Any) -> Any:
    return np.where(_in_bits(x, k), x & ~_bit(x, k), x)


def _bshift(x: Any, k: Any) -> Any:
    """Shift left by k, or right by -k; k is an INT8."""
    k = k.astype(np.int8).astype(np.int16)
    left = np.left_shift(x, np.where(k > 0, k, 0).astype(x.dtype))
    return np.where(k >= 0, left, np.right_shift(x, np.where(k < 0, -k, 0).astype(x.dtype)))


def _isclose(rel_tol: float, abs_tol: float, x: Any, y: Any) -> Any:
    a, b = x.astype(np.float64), y.astype(np.float64)
    nearness = np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    return (x == y) | (np.abs(a - b) <= nearness)


class IsClose(BinaryOp):
    """``binary.isclose``: within 1e-7 of each other, relatively; other limits by calling it.

    Examples
    --------
    >>> from semirings import binary
    >>> binary.isclose(1.0, 1.00000001)
    np.True_
    >>> binary.isclose(rel_tol=0.1)(1.0, 1.05)
    np.True_
    """

    def __call__(self, *args: Any, rel_tol: float = 1e-7, abs_tol: float = 0.0, **kwargs: Any) -> Any:
        if args:
            return super().__call__(*args, **kwargs)
        func = partial(_isclose, float(rel_tol), float(abs_tol))
        return BinaryOp(f"isclose(rel_tol={rel_tol}, abs_tol={abs_tol})", func, ALL, anonymous=True)


def _place(which: str, offset: int) -> Callable[..., Any]:
    def place(x: Any, y: Any, ix: Any, jx: Any, iy: Any, jy: Any) -> Any:
        index = {"ix": ix, "jx": jx, "iy": iy, "jy": jy}[which]
        where = index + offset if offset else index
        return where.astype(np.int32) if x.dtype == np.int32 else where

    return place


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    # name: function, domain, coercions, result, name with the operands exchanged
    "first": (lambda x, y: x, ALL, None, None, "second"),
    "second": (lambda x, y: y, ALL, None, None, "first"),
    "any": (lambda x, y: y, ALL, None, None, "any"),
    "pair": (lambda x, y: np.ones_like(x), ALL, None, None, "pair"),
    "plus": (np.add, ALL, None, None, "plus"),
    "minus": (_minus, ALL, None, None, "rminus"),
    "rminus": (_flip(_minus), ALL, None, None, "minus"),
    "times": (np.multiply, ALL, None, None, "times"),
    "cdiv": (_cdiv, ALL, None, None, "rdiv"),
    "rdiv": (_flip(_cdiv), ALL, None, None, "cdiv"),
    "truediv": (np.divide, ALL, None, None, "rtruediv"),
    "rtruediv": (_flip(np.divide), ALL, None, None, "truediv"),
    "floordiv": (np.floor_divide, ALL, None, None, "rfloordiv"),
    "rfloordiv": (_flip(np.floor_divide), ALL, None, None, "floordiv"),
    "pow": (_pow, ALL, None, same_type, "rpow"),
    "rpow": (_rpow, ALL, None, _int8_for_bool, "pow"),
    "min": (np.fmin, ALL, None, None, "min"),
    "max": (np.fmax, ALL, None, None, "max"),
    "absfirst": (lambda x, y: np.abs(x), ALL, None, None, "abssecond"),
    "abssecond": (lambda x, y: np.abs(y), ALL, None, None, "absfirst"),
    # comparisons that give booleans, and those that give 0 or 1 of the type
    "eq": (np.equal, ALL, None, None, "eq"),
    "ne": (np.not_equal, ALL, None, None, "ne"),
    "gt": (np.greater, ALL, None, None, "lt"),
    "lt": (np.less, ALL, None, None, "gt"),
    "ge": (np.greater_equal, ALL, None, None, "le"),
    "le": (np.less_equal, ALL, None, None, "ge"),
    "iseq": (np.equal, ALL, None, same_type, "iseq"),
    "isne": (np.not_equal, ALL, None, same_type, "isne"),
    "isgt": (np.greater, ALL, None, same_type, "islt"),
    "islt": (np.less, ALL, None, same_type, "isgt"),
    "isge": (np.greater_equal, ALL, None, same_type, "isle"),
    "isle": (np.less_equal, ALL, None, same_type, "isge"),
    # logic
    "land": (np.logical_and, ALL, None, same_type, "land"),
    "lor": (np.logical_or, ALL, None, same_type, "lor"),
    "lxor": (np.logical_xor, ALL, None, same_type, "lxor"),
    "lxnor": (np.equal, [BOOL], dict.fromkeys(ALL[1:], BOOL), None, "lxnor"),
    # bits
    "band": (np.bitwise_and, INTEGERS, None, None, "band"),
    "bor": (np.bitwise_or, INTEGERS, None, None, "bor"),
    "bxor": (np.bitwise_xor, INTEGERS, None, None, "bxor"),
    "bxnor": (lambda x, y: ~(x ^ y), INTEGERS, None, None, "bxnor"),
    "bget": (_bget, INTEGERS, None, None, None),
    "bset": (_bset, INTEGERS, None, None, None),
    "bclr": (_bclr, INTEGERS, None, None, None),
    "bshift": (_bshift, INTEGERS, None, None, None),
    # floats
    "atan2": (np.arctan2, FLOATS, FLOAT_COERCIONS, None, None),
    "copysign": (np.copysign, FLOATS, FLOAT_COERCIONS, None, None),
    "fmod": (np.fmod, FLOATS, FLOAT_COERCIONS, None, None),
    "hypot": (np.hypot, FLOATS, FLOAT_COERCIONS, None, "hypot"),
    "ldexp": (_ldexp, FLOATS, FLOAT_COERCIONS, None, None),
    "remainder": (_remainder, FLOATS, FLOAT_COERCIONS, None, None),
    "binom": (functions.binom, [INT64], dict.fromkeys(set(INTEGERS) - {INT64}, INT64), None, None),
    # NumPy's, where GraphBLAS has none of this meaning
    "numpy.maximum": (np.maximum, ALL, None, None, "numpy.maximum"),
    "numpy.minimum": (np.minimum, ALL, None, None, "numpy.minimum"),
    "numpy.hypot": (np.hypot, None, None, None, "numpy.hypot"),
    "numpy.logaddexp": (np.logaddexp, None, None, None, "numpy.logaddexp"),
    "numpy.logaddexp2": (np.logaddexp2, None, None, None, "numpy.logaddexp2"),
    "numpy.nextafter": (np.nextafter, None, None, None, None),
    "numpy.float_power": (_float_power, ALL, None, None, None),
    "numpy.floor_divide": (np.floor_divide, None, None, None, None),
    "numpy.fmod": (np.fmod, None, None, None, None),
    "numpy.mod": (np.remainder, None, None, None, None),
    "numpy.remainder": (np.remainder, None, None, None, None),
    "numpy.gcd": (_of_ints(np.gcd), None, None, None, "numpy.gcd"),
    "numpy.lcm": (_of_ints(np.lcm), None, None, None, "numpy.lcm"),
    "numpy.left_shift": (np.left_shift, None, None, None, None),
    "numpy.right_shift": (np.right_shift, None, None, None, None),
}

ALIASES = {
    "numpy.add": "plus",
    "numpy.subtract": "minus",
    "numpy.multiply": "times",
    "numpy.divide": "truediv",
    "numpy.true_divide": "truediv",
    "numpy.power": "pow",
    "numpy.bitwise_and": "band",
    "numpy.bitwise_or": "bor",
    "numpy.bitwise_xor": "bxor",
    "numpy.logical_and": "land",
    "numpy.logical_or": "lor",
    "numpy.logical_xor": "lxor",
    "numpy.equal": "eq",
    "numpy.not_equal": "ne",
    "numpy.greater": "gt",
    "numpy.greater_equal": "ge",
    "numpy.less": "lt",
    "numpy.less_equal": "le",
    "numpy.fmax": "max",
    "numpy.fmin": "min",
    "numpy.arctan2": "atan2",
    "numpy.copysign": "copysign",
    "numpy.ldexp": "ldexp",
}

# name: input that is the result, offset, name with the operands of a product exchanged
POSITIONAL = {
    "ss.firsti": ("ix", 0, "ss.secondi"),
    "ss.firsti1": ("ix", 1, "ss.secondi1"),
    "ss.firstj": ("jx", 0, "ss.secondj"),
    "ss.firstj1": ("jx", 1, "ss.secondj1"),
    "ss.secondi": ("iy", 0, "ss.firsti"),
    "ss.secondi1": ("iy", 1, "ss.firsti1"),
    "ss.secondj": ("jy", 0, "ss.firstj"),
    "ss.secondj1": ("jy", 1, "ss.firstj1"),
}

SYMBOLS = {
    "<": "lt",
    ">": "gt",
    "<=": "le",
    ">=": "ge",
    "!=": "ne",
    "==": "eq",
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "truediv",
    "//": "floordiv",
    "%": "numpy.mod",
    "**": "pow",
    "&": "land",
    "|": "lor",
    "^": "lxor",
}


def operators() -> Iterator[tuple[str, BinaryOp]]:
    """Every built-in binary operator, with every name that it has."""
    made: dict[str, BinaryOp] = {}
    for name, (func, domain, coerce, returns, commutes_to) in FUNCTIONS.items():
        made[name] = BinaryOp(name, func, domain, coerce, returns=returns, commutes_to=commutes_to)
    made["pair"].pair_type = INT64
    made["isclose"] = IsClose("isclose", partial(_isclose, 1e-7, 0.0), ALL, commutes_to="isclose")
    for name, (which, offset, commutes_to) in POSITIONAL.items():
        made[name] = BinaryOp(name, _place(which, offset), commutes_to=commutes_to, positional=True)
        made[name.removeprefix("ss.")] = made[name]
    for alias, name in ALIASES.items():
        made[alias] = made[name]
    return iter(made.items())
