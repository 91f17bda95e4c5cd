"""Buckets of delta-stepping: how wide the first one is, how much wider the next, and where they end.

Distances do not depend on any of this, only the number of supersteps and how often vertices are relaxed.
"""

from __future__ import annotations

import math
import numbers

import numpy as np

from spgraph import monoid, select
from spgraph.algorithms._weights import LARGEST, are_roads
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["Buckets"]

# A bucket that relaxes fewer than this share of all vertices is not worth its supersteps: the next is twice as wide.
# One that relaxes hardly any vertex a second time is much narrower than it need be. Neither says anything at the start,
# nor while buckets double what is reached: on the way from a leaf to the hubs all are small, and the one that meets
# these must be narrow.
# Where most of what has been reached is settled, few paths are still to be shortened: all the rest is one bucket. On
# rmat:18 and :16, with even, exponential and small whole weights, that relaxes 0.01 % to 0.3 % more edges, in 2 or 3
# buckets instead of 3 to 7.
# Roads have many small ones and pay for wide ones: a CPU, whose supersteps cost as much as 1,000 edges, before a GPU.
SMALL = 1 / 32
START = 1 / 8  # of SMALL
AGAIN, WIDER = 1 / 8, 4
REACHED, LAST = 1 / 4, 3 / 4  # of all vertices; of those
SMALL_ON_ROADS = {True: 1 / 4096, False: 1 / 256}  # by whether it is a CPU
ROAD_WIDTH = {True: 18, False: 24}  # mean weights that the first bucket on a road spans, likewise
WIDE_UP_TO = 1 << 28  # edges, on a GPU
LEAST_WIDE, MOST_WIDE = 1 / 2, 4


class Buckets:
    """A bucket holds the distances below `limit` that none before it has held; below `last` there are more to come."""

    def __init__(self, name: str, A: Matrix, delta, dtype: np.dtype):
        try:
            width = _first_width(A) if delta is None else float(delta) if isinstance(delta, numbers.Real) else math.nan
        except OverflowError:  # an integer
            width = math.inf if delta > 0 else math.nan
        if not width > 0:
            raise InvalidValue(f"{name}: delta is {delta!r}, wanted a positive number")
        self.width, self.dtype = width, dtype
        self.last = np.iinfo(dtype).max if dtype.kind == "i" else np.inf  # the limit that lets everything pass
        self.limit = _next_limit(0, width, dtype)
        self.roads = are_roads(A)
        self.most = A.nrows
        self.few = A.nrows * (SMALL_ON_ROADS[A.device.startswith("cpu")] if self.roads else SMALL)

    def below(self, v: Vector):
        """What of `v` is below the limit, as an expression; `v` itself if the limit lets everything pass."""
        return select.valuelt(v, self.limit) if self.limit < self.last else v

    def widen(self, first: int, relaxed: int, before: int, reached: int) -> None:
        """Choose the next width, from what this bucket did; see `_widening`."""
        if self.roads:
            self.width *= 2 if relaxed < self.few else 1
        else:
            self.width *= _widening(first, relaxed, self.few, before, reached)

    def begin(self, waiting: Vector, reached: int) -> None:
        """The next bucket, for those that wait; so many have been reached, these among them."""
        if not self.roads and reached >= self.most * REACHED and waiting.nvals <= reached * LAST:
            self.limit = self.last
        else:
            self.limit = _next_limit(waiting.reduce(monoid.min).value, self.width, self.dtype)


def _widening(first: int, relaxed: int, few: float, before: int, reached: int) -> int:
    """How many times as wide the next bucket is, after one that `relaxed` so many vertices, of which it found `first`.

    It `reached` so many vertices in all, and `before` it were so many.
    """
    if reached < few * START or reached >= 2 * before:
        return 1
    return WIDER if relaxed - first <= first * AGAIN else 2 if relaxed < few else 1


def _next_limit(least, width: float, dtype: np.dtype):
    """A number of the type that is above `least`, by `width` where it can be told apart."""
    if dtype.kind == "i":
        return min(int(least) + max(int(min(width, LARGEST)), 1), int(np.iinfo(dtype).max))
    with np.errstate(over="ignore"):  # infinity is a limit, too
        return max(dtype.type(least + width), np.nextafter(dtype.type(least), dtype.type(np.inf)))


def _first_width(A: Matrix) -> float:
    """Near enough to the best on scale-free graphs and on roads; any positive width is right.

    On a GPU a superstep costs as much as some million edges, so the buckets of graphs that are not large are wider, and
    those of large ones narrower: from a leaf of rmat20-16, half a width relaxes 1.0 m of its m edges, a whole one
    1.5 m, but urand22-16 takes 7.6 ms with four widths, 20 with one (H100).
    """
    total = float(A.reduce_scalar(monoid.plus["FP64"]).value) if A.nvals else 0.0
    mean, degree = total / max(A.nvals, 1), A.nvals / max(A.nrows, 1)
    if not 0 < mean < np.inf:
        return 1.0
    wide = 1.0 if A.device.startswith("cpu") else min(max(WIDE_UP_TO / A.nvals, LEAST_WIDE), MOST_WIDE)
    return wide * mean * (ROAD_WIDTH[A.device.startswith("cpu")] if are_roads(A) else 8 / degree)
