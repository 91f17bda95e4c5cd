"""NumPy's functions that are no ufuncs but can be made of them, for symbolic values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semirings._lower import Untraceable


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = np.where(condition, choice, result)
    return result


def _clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _round(x: Any, decimals: int = 0) -> Any:
    if decimals:
        raise Untraceable(f"np.round to {decimals} decimals", "scale, np.rint, and scale back")
    return np.rint(x) if x.dtype.kind == "f" else x


def _isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    close = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind != "f":
        return x
    info = np.finfo(x.dtype)
    high, low = (info.max if posinf is None else posinf), (info.min if neginf is None else neginf)
    finite = np.where(np.isinf(x), np.where(x > 0, high, low), x)
    return np.where(np.isnan(x), nan, finite)


COMPOSED: dict[str, Callable[..., Any]] = {
    "select": _select,
    "clip": _clip,
    "round": _round,
    "around": _round,
    "isclose": _isclose,
    "nan_to_num": _nan_to_num,
    "zeros_like": lambda x, dtype=None: np.full_like(x, 0, dtype),
    "ones_like": lambda x, dtype=None: np.full_like(x, 1, dtype),
}
