"""How many paths there are: numbers in floating point, and with wide exponents.

A grid of 1000 x 1000 has 10^600 shortest paths between its corners. Where a float64 ends, an int64 goes on that holds
an exponent of 20 bits over a fraction of 43: numbers (1 + f / 2^43) 2^(e - 2^19) as e 2^43 + f, and 0 as 0. They
compare as integers do; sums lose 2^-43 of their value at most.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from spgraph import binary, monoid, semiring

__all__ = ["BIAS", "FRACTION", "UNIT", "WIDE_LAST", "Numbers", "floats", "wide", "wide_add", "wide_inverse",
           "wide_passed"]

FRACTION, BIAS = 43, 1 << 19
UNIT, BELOW = 1 << FRACTION, (1 << FRACTION) - 1
WIDE_ONE, WIDE_LAST = BIAS << FRACTION, (2 * BIAS - 2) << FRACTION


class Numbers(NamedTuple):
    """How paths are counted: the operators, a count of one, and the count up to which results are right."""

    dtype: Any
    one: Any
    last: Any
    add: Any
    follow: Any  # the semiring that goes along edges: add, first
    along: Any  # of paths and share, what a vertex passes on to those before it
    passed: Any  # of paths and share, the dependency


@cache
def floats(dtype: np.dtype) -> Numbers:
    along = binary.register_anonymous(lambda paths, share: 1 / paths + share, "along")
    return Numbers(dtype, dtype.type(1), 1 / np.finfo(dtype).tiny, monoid.plus[dtype], semiring.plus_first[dtype],
                   along, binary.times)


def wide_add(x, y):
    high, low = np.maximum(x, y), np.minimum(x, y)
    apart = np.minimum(np.right_shift(high, FRACTION) - np.right_shift(low, FRACTION), FRACTION + 1)
    fraction = (high & BELOW) + np.right_shift(np.where(low > 0, low & BELOW | UNIT, 0), apart)
    carried = np.where(fraction < UNIT, fraction, UNIT + np.right_shift(fraction - UNIT, 1))
    return np.where(high >= WIDE_LAST, WIDE_LAST, high - (high & BELOW) + carried)


def wide_inverse(x):
    fraction = (x & BELOW) / UNIT  # 1 / ((1 + f) 2^e) = (2 / (1 + f)) 2^(-e - 1)
    return (2 * BIAS - 1 - np.right_shift(x, FRACTION)) * UNIT + np.rint((1 - fraction) / (1 + fraction) * UNIT).astype(
        np.int64)


def wide_along(paths, share):
    return wide_add(wide_inverse(paths), share)


def wide_passed(paths, share):
    exponent = np.right_shift(paths, FRACTION) + np.right_shift(share, FRACTION) - 2 * BIAS
    product = (1 + (paths & BELOW) / UNIT) * (1 + (share & BELOW) / UNIT)
    return np.where(share > 0, product * np.exp2(exponent.astype(np.float64)), 0.0)


@cache
def wide() -> Numbers:
    """Made when first needed."""
    add = monoid.register_anonymous(wide_add, 0, "wide_plus")
    return Numbers(np.dtype(np.int64), WIDE_ONE, WIDE_LAST, add,
                   semiring.register_anonymous(add, binary.first, "wide_plus_first"),
                   binary.register_anonymous(wide_along, "wide_along"),
                   binary.register_anonymous(wide_passed, "wide_passed"))
