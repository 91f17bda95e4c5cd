"""Vertices by rising degree, where that pays: degrees are skewed, and not too small.

A sample of degrees decides whether they are skewed, as in LAGraph: a mean above 4 medians.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import agg, binary
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["by_degree", "check_order"]

SAMPLE, SKEW = 1000, 4  # degrees looked at, and their mean / median from which on vertices are renumbered
DENSE = 10  # mean degree from which on that pays


def check_order(name: str, order: str) -> None:
    """Raise for an order that is none."""
    if order not in ("auto", "natural", "degree"):
        raise InvalidValue(f'{name}: order is {order!r}, wanted "auto", "natural" or "degree"')


def by_degree(A: Matrix, order: str) -> Any:
    """All vertices by rising degree, if that is the order wanted, else None."""
    if order == "natural" or not A.nvals or (order == "auto" and A.nvals < DENSE * A.nrows):
        return None
    degree = Vector(np.int64, A.nrows)
    degree << 0
    degree(binary.second) << A.reduce_rowwise(agg.count)
    drawn = np.random.default_rng(0).integers(0, A.nrows, min(SAMPLE, A.nrows))
    sample = degree[drawn].new().to_dense()
    if order == "auto" and sample.mean() <= SKEW * np.median(sample):
        return None
    return degree.argsort(on_device=True)
