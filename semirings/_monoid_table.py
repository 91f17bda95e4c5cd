"""The built-in monoids, one row each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semirings import _registry
from semirings._monoids import Monoid
from semirings.dtypes import (
    ALL,
    BOOL,
    FLOATS,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGERS,
    UINT16,
    UINT32,
    UINT64,
    UNSIGNED,
)


def lowest(dtype: np.dtype[Any]) -> Any:
    """The smallest value of a type."""
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> Any:
    """The largest value of a type."""
    if dtype.kind == "f":
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _unless_float(value: Any) -> Any:
    """A terminal value that only exact types have: 0 * inf and max(inf, nan) are NaN."""

    def terminal(dtype: np.dtype[Any]) -> Any:
        if dtype.kind == "f":
            return None
        return value(dtype) if callable(value) else value

    return terminal


def _of_floats(value: float) -> Any:
    """A value that only floats have."""
    return lambda dtype: value if dtype.kind == "f" else None


def _true_of_bool(dtype: np.dtype[Any]) -> Any:
    return True if dtype.kind == "b" else None


_TO_BOOL = dict.fromkeys(ALL[1:], BOOL)
_TO_UNSIGNED = {INT8: UINT16, INT16: UINT32, INT32: UINT64, INT64: UINT64}

MONOIDS: dict[str, dict[str, Any]] = {
    "any": {"identity": 0, "is_idempotent": True, "terminal_any": True},
    "min": {"identity": highest, "terminal": lowest, "is_idempotent": True, "start": _of_floats(np.nan)},
    "max": {"identity": lowest, "terminal": highest, "is_idempotent": True, "start": _of_floats(np.nan)},
    # plus over BOOL is logical or, times is logical and, as the operators are
    "plus": {"identity": 0, "terminal": _true_of_bool, "start": _of_floats(-0.0)},
    "times": {"identity": 1, "terminal": _unless_float(0)},
    "lor": {"identity": False, "terminal": True, "is_idempotent": True, "domain": [BOOL], "coerce": _TO_BOOL},
    "land": {
        "identity": True,
        "terminal": False,
        "is_idempotent": True,
        "domain": [BOOL],
        "coerce": _TO_BOOL,
    },
    "lxor": {"identity": False, "domain": [BOOL], "coerce": _TO_BOOL},
    "lxnor": {"identity": True, "domain": [BOOL], "coerce": _TO_BOOL},
    "eq": {"identity": True, "domain": [BOOL], "semiring_coerce": _TO_BOOL},
    "band": {
        "identity": highest,
        "terminal": 0,
        "is_idempotent": True,
        "domain": UNSIGNED,
        "semiring_coerce": _TO_UNSIGNED,
    },
    "bor": {
        "identity": 0,
        "terminal": highest,
        "is_idempotent": True,
        "domain": UNSIGNED,
        "semiring_coerce": _TO_UNSIGNED,
    },
    "bxor": {"identity": 0, "domain": UNSIGNED, "semiring_coerce": _TO_UNSIGNED},
    "bxnor": {"identity": highest, "domain": UNSIGNED, "semiring_coerce": _TO_UNSIGNED},
    "numpy.maximum": {
        "identity": lowest,
        "terminal": _unless_float(highest),
        "is_idempotent": True,
        "domain": ALL,
    },
    "numpy.minimum": {
        "identity": highest,
        "terminal": _unless_float(lowest),
        "is_idempotent": True,
        "domain": ALL,
    },
    # gcd and hypot: identity and idempotence hold for values that are not negative
    "numpy.gcd": {"identity": 0, "terminal": 1, "domain": INTEGERS},
    "numpy.hypot": {"identity": 0, "domain": FLOATS},
    "numpy.logaddexp": {"identity": -np.inf, "domain": FLOATS},
    "numpy.logaddexp2": {"identity": -np.inf, "domain": FLOATS},
}

ALIASES = {
    "numpy.add": "plus",
    "numpy.multiply": "times",
    "numpy.fmax": "max",
    "numpy.fmin": "min",
    "numpy.equal": "eq",
    "numpy.bitwise_and": "band",
    "numpy.bitwise_or": "bor",
    "numpy.bitwise_xor": "bxor",
    "numpy.logical_and": "land",
    "numpy.logical_or": "lor",
    "numpy.logical_xor": "lxor",
}

SYMBOLS = {"==": "eq", "+": "plus", "*": "times", "&": "land", "|": "lor", "^": "lxor"}


def operators() -> Iterator[tuple[str, Monoid]]:
    """Every built-in monoid, with every name that it has."""
    made = {name: Monoid(name, _registry.find("binary", name), **row) for name, row in MONOIDS.items()}
    made.update((alias, made[name]) for alias, name in ALIASES.items())
    return iter(made.items())
