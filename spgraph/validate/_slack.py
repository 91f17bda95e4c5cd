"""dist[u] + weight against dist[v]: exact among integers, within rounding among floats."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Slack"]


class Slack:
    """Compares the distances at the ends of edges.

    Parameters
    ----------
    edges : EdgeList or Rows
        Of its weights only the type matters here.
    dist : array, shape (n,)
    rtol : float or None
        Relative error of a sum; None: 0 among integers, else 8 units in the last place.
    """

    def __init__(self, edges: Any, dist: Any, rtol: float | None):
        weights = edges.weights
        floats = [array.dtype for array in (dist, weights) if array.dtype.kind == "f"]
        self.xp, self.name = edges.xp, edges.name
        self.wide = np.float64 if floats or _too_large(dist) or _too_large(weights) else np.int64
        self.dist = dist.astype(self.wide)
        if rtol is None and self.wide is np.float64:
            rtol = 8 * max(float(np.finfo(dtype).eps) for dtype in floats or [np.float64])
        self.rtol = rtol
        # a sum that this type does not hold is infinite, and so is the distance
        self.overflows = dist.dtype if dist.dtype.kind == "f" and bool(self.xp.isinf(dist).any()) else None

    def of(self, rows: Any, cols: Any, weights: Any) -> tuple[Any, Any]:
        """For every edge: whether it is too long for its ends, and whether it is tight."""
        start, end, weights = self.dist[rows], self.dist[cols], self._widened(weights)
        with np.errstate(all="ignore"):
            total = start + weights
            if self.overflows is not None:
                beyond = self.xp.isinf(total.astype(self.overflows))
                total = self.xp.where(beyond, self.xp.copysign(np.inf, total), total)
            if self.rtol:
                room = self.rtol * abs(start) + self.rtol * abs(weights)
                near = self.xp.isfinite(total) & (abs(end - total) <= room)
                return ~(end <= total + room), near | (end == total)
        if self.wide is np.float64:
            return ~(end <= total), end == total
        wrapped = ((start ^ total) & (weights ^ total)) < 0  # beyond int64, on the side of start
        return self.xp.where(wrapped, start < 0, end > total), (end == total) & ~wrapped

    def describe(self, u: int, v: int, weight: Any) -> str:
        """An edge and what it joins."""
        edge = f"edge {self.name(u)} -> {self.name(v)} of weight {self._widened(weight)}"
        return f"{edge} joins distances {self.dist[u]} and {self.dist[v]}"

    def _widened(self, weights: Any) -> Any:
        return weights.astype(self.wide)


def _too_large(values: Any) -> bool:
    return bool(values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63)
