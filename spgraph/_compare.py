"""Are two arrays of values equal, or nearly so? They have the same length and lie on one device; dtypes may differ.

`xp` is that device's NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def equal_values(xp: Any, a: Any, b: Any) -> bool:
    """Whether all are equal; NaN is not equal to NaN."""
    if a.dtype.kind == "u" and b.dtype.kind == "i":
        a, b = b, a
    if a.dtype.kind == "i" and b.dtype.kind == "u":  # they have no common type
        return bool(((a >= 0) & (a.astype(np.uint64) == b)).all())
    return bool((a == b).all())


def close_values(xp: Any, a: Any, b: Any, rel_tol: float, abs_tol: float, equal_nan: bool) -> bool:
    """Whether ``abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)`` or a == b, for all."""
    good = a == b
    if bool(good.all()):
        return True
    x, y = a[~good].astype(np.float64), b[~good].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        limit = xp.maximum(rel_tol * xp.maximum(xp.abs(x), xp.abs(y)), abs_tol)
        near = xp.abs(x - y) <= limit
    # an infinity is close to nothing but itself, whatever rel_tol * inf says
    near &= xp.isfinite(x) & xp.isfinite(y)
    if equal_nan:
        near |= xp.isnan(x) & xp.isnan(y)
    return bool(near.all())
