"""The built-in unary operators, one row each.

Functions see arrays or symbolic values of one type and may look at ``x.dtype``. What GraphBLAS leaves
to the implementation (1/0 of integers, the sign of a boolean) is as in SuiteSparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semirings import functions
from semirings._function_ops import FLOAT_COERCIONS, same_type
from semirings._operators import UnaryOp
from semirings.dtypes import ALL, FLOATS, INTEGERS


def _is_bool(x: Any) -> bool:
    return x.dtype.kind == "b"


def _ainv(x: Any) -> Any:
    return x if _is_bool(x) else -x


def _minv(x: Any) -> Any:
    if x.dtype.kind == "f":
        return 1 / x
    if _is_bool(x):
        return np.ones_like(x)
    return np.where(x == 0, np.iinfo(x.dtype).max, np.reciprocal(np.where(x == 0, 1, x)))


def _round(x: Any) -> Any:
    whole = np.trunc(x)  # halves go away from zero, unlike np.rint
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones_like(x), x), whole)


def _position(index: str, offset: int) -> Any:
    def position(x: Any, i: Any, j: Any) -> Any:
        where = i if index == "i" else j
        where = where + offset if offset else where
        return where.astype(np.int32) if x.dtype == np.int32 else where

    return position


def _reciprocal(x: Any) -> Any:
    if x.dtype.kind == "f":
        return np.reciprocal(x)
    return np.where(x == 0, 0, np.reciprocal(np.where(x == 0, np.ones_like(x), x)))


def _sign(x: Any) -> Any:
    return x.astype(np.int8) if _is_bool(x) else np.sign(x)


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    # name: function, domain, coercions, result
    "identity": (lambda x: x, ALL, None, None),
    "ainv": (_ainv, ALL, None, None),
    "abs": (np.absolute, ALL, None, None),
    "minv": (_minv, ALL, None, None),
    "lnot": (np.logical_not, ALL, None, same_type),
    "one": (np.ones_like, ALL, None, None),
    "bnot": (np.invert, INTEGERS, None, None),
    "isfinite": (np.isfinite, FLOATS, None, None),
    "isinf": (np.isinf, FLOATS, None, None),
    "isnan": (np.isnan, FLOATS, None, None),
    "round": (_round, FLOATS, FLOAT_COERCIONS, None),
    "signum": (np.sign, FLOATS, FLOAT_COERCIONS, None),
    "ss.erf": (functions.erf, FLOATS, FLOAT_COERCIONS, None),
    "ss.erfc": (functions.erfc, FLOATS, FLOAT_COERCIONS, None),
    "ss.lgamma": (functions.lgamma, FLOATS, FLOAT_COERCIONS, None),
    "ss.tgamma": (functions.tgamma, FLOATS, FLOAT_COERCIONS, None),
    "ss.frexpx": (functions.frexp_mantissa, FLOATS, None, None),
    "ss.frexpe": (functions.frexp_exponent, FLOATS, None, None),
    "numpy.fabs": (np.fabs, None, None, None),
    "numpy.sign": (_sign, ALL, None, None),
    "numpy.square": (np.square, None, None, None),
    "numpy.reciprocal": (_reciprocal, None, None, None),
    "numpy.signbit": (np.signbit, None, None, None),
    "numpy.spacing": (np.spacing, None, None, None),
    "numpy.deg2rad": (np.deg2rad, None, None, None),
    "numpy.rad2deg": (np.rad2deg, None, None, None),
    "numpy.degrees": (np.degrees, None, None, None),
    "numpy.radians": (np.radians, None, None, None),
}

# functions of floats, by GraphBLAS's name and NumPy's
FLOAT_FUNCTIONS: dict[str, Any] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}

# further names: NumPy's, and those of ss at the top
ALIASES = {
    **{f"numpy.{func.__name__}": name for name, func in FLOAT_FUNCTIONS.items()},
    "numpy.abs": "abs",
    "numpy.absolute": "abs",
    "numpy.bitwise_not": "bnot",
    "numpy.invert": "bnot",
    "numpy.isfinite": "isfinite",
    "numpy.isinf": "isinf",
    "numpy.isnan": "isnan",
    "numpy.logical_not": "lnot",
    "numpy.negative": "ainv",
    "numpy.positive": "identity",
    "numpy.rint": "round",
    **{name.removeprefix("ss."): name for name in FUNCTIONS if name.startswith("ss.")},
}

POSITIONAL = {
    "ss.positioni": ("i", 0),
    "ss.positioni1": ("i", 1),
    "ss.positionj": ("j", 0),
    "ss.positionj1": ("j", 1),
}

SYMBOLS = {"-": "ainv", "~": "lnot"}


def operators() -> Iterator[tuple[str, UnaryOp]]:
    """Every built-in unary operator, with every name that it has."""
    made: dict[str, UnaryOp] = {}
    for name, (func, domain, coerce, returns) in FUNCTIONS.items():
        made[name] = UnaryOp(name, func, domain, coerce, returns=returns)
    for name, func in FLOAT_FUNCTIONS.items():
        made[name] = UnaryOp(name, func, FLOATS, FLOAT_COERCIONS)
    for name, (index, offset) in POSITIONAL.items():
        made[name] = UnaryOp(name, _position(index, offset), positional=True)
        made[name.removeprefix("ss.")] = made[name]
    for alias, name in ALIASES.items():
        made[alias] = made[name]
    return iter(made.items())
