"""Are two arrays of values equal, or nearly so? They have the same length; dtypes may differ."""

from __future__ import annotations

import numpy as np


def equal_values(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether all are equal; NaN is not equal to NaN."""
    return bool((a == b).all())


def close_values(a: np.ndarray, b: np.ndarray, rel_tol: float, abs_tol: float, equal_nan: bool) -> bool:
    """Whether ``abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)`` or a == b, for all."""
    good = a == b
    if good.all():
        return True
    x, y = a[~good].astype(np.float64), b[~good].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        limit = np.maximum(rel_tol * np.maximum(np.abs(x), np.abs(y)), abs_tol)
        near = np.abs(x - y) <= limit
    # an infinity is close to nothing but itself, whatever rel_tol * inf says
    near &= np.isfinite(x) & np.isfinite(y)
    if equal_nan:
        near |= np.isnan(x) & np.isnan(y)
    return bool(near.all())
