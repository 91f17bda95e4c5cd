"""Weights of edges: what they may be, and the semirings and types in which they are added or multiplied.

Sums of integers are int32 where no path can be longer than that holds: half the bytes to gather; but for roads on a
GPU, which goes on alone where sums are sure not to wrap, and takes those of 64 bits for such. Where not even int64
is sure to hold them, sums stay at its end, and who comes to it is told so afterwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spgraph import dtypes, monoid, select, semiring, unary
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["LARGEST", "along_edges", "are_roads", "as_asked", "check_not_nan", "check_not_negative", "signed",
           "to_add", "weights_matter"]

LARGEST = np.iinfo(np.int64).max
ROAD_DEGREE = 8  # graphs of a smaller mean degree are like roads
# min that does not pass over NaN, and a plus that stays at the end of int64
nan_min = monoid.register_anonymous(np.minimum, np.inf)
capped_plus = semiring.register_anonymous(
    monoid.min, lambda x, y: np.where(x > LARGEST - y, LARGEST, x + y))


def are_roads(A: Matrix) -> bool:
    """Whether the mean degree is that of a road network."""
    return A.nvals < ROAD_DEGREE * A.nrows


# ---- added: distances -------------------------------------------------------------------
def to_add(name: str, A: Matrix, dtype) -> tuple[Any, Any, np.dtype, np.dtype]:
    """The smallest weight, a semiring that cannot overflow, the type of its distances, and the type to give back."""
    dtype = _distance_type(name, A, dtype)
    min_plus = semiring.min_plus[dtype] if dtype.kind == "f" else semiring.min_plus  # weights become distances
    if not A.nvals:
        return 0, min_plus, dtype, dtype
    if A.dtype.np_type.kind == "f":
        lightest = _lightest(name, A)
        with np.errstate(over="ignore"):
            added = dtype.type(lightest)
        if added == -math.inf:  # no sum is less, and none is told from another
            rows, cols, values = select.valueeq(A, lightest).new().to_coo()
            raise InvalidValue(f"{name}: the weight of the edge {rows[0]} -> {cols[0]} is {values[0]}, wanted one that "
                               f"is more than -inf as {dtype}")
        return lightest, min_plus, dtype, dtype
    lightest, heaviest = int(A.reduce_scalar(monoid.min).value), int(A.reduce_scalar(monoid.max).value)
    longest = max(heaviest, -lightest) * (max(A.nrows, 1) + (lightest < 0))  # see `_negative`
    alone = are_roads(A) and A._device.group is None and not A._device.on_host
    if dtype.kind == "i" and longest < np.iinfo(np.int32).max and not alone:
        return lightest, semiring.min_plus[np.int32], np.dtype(np.int32), dtype
    if dtype.kind == "f" or longest <= LARGEST:
        return lightest, min_plus, dtype, dtype
    if lightest < 0 or heaviest > LARGEST:
        raise InvalidValue(
            f"{name}: weights from {lightest} to {heaviest} may not fit int64 when added; give dtype=float")
    return lightest, capped_plus, dtype, dtype


def _lightest(name: str, A: Matrix) -> Any:
    """The smallest of the weights, of which there are some; raises for NaN, and names the edge."""
    if A.dtype.np_type.kind != "f":
        return A.reduce_scalar(monoid.min).new().value
    lightest = A.reduce_scalar(nan_min).new().value
    if np.isnan(lightest):
        rows, cols, _ = select.valueeq(A.apply(unary.isnan), True).new().to_coo()
        raise InvalidValue(f"{name}: the weight of the edge {rows[0]} -> {cols[0]} is NaN")
    return lightest


def _distance_type(name: str, A: Matrix, dtype) -> np.dtype:
    weights = A.dtype.np_type
    if dtype is None:
        return weights if weights.kind == "f" else np.dtype(np.int64)
    dtype = dtypes.lookup_dtype(dtype).np_type
    if dtype.kind != "f" and (dtype != np.int64 or weights.kind == "f"):
        raise InvalidValue(
            f"{name}: dtype is {dtype}; {weights} weights need int64 (integers only), float32 or float64")
    return dtype


def signed(A: Matrix, dtype: np.dtype) -> Matrix:
    """Weights that go with distances of a signed type; `to_add` has seen that they fit."""
    return A.dup(np.int64) if dtype.kind == "i" and A.dtype == np.uint64 else A


def as_asked(name: str, dist: Vector, min_plus, dtype: np.dtype) -> Vector:
    """The distances in the type to give back; raises for one that the semiring has stopped at the end of int64."""
    if min_plus is capped_plus and dist.reduce(monoid.max).value == LARGEST:
        raise InvalidValue(f"{name}: a distance does not fit int64; give dtype=float")
    return dist if dist.dtype == dtype else dist.dup(dtype)


# ---- multiplied: what flows along edges -------------------------------------------------
def weights_matter(A: Matrix, weighted: bool) -> bool:
    """Whether edges weigh their values, and these are not all true."""
    return weighted and not (A.dtype == bool and A.nvals and A.reduce_scalar(monoid.land).new().value)


def along_edges(A: Matrix, weighted: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """The semirings of x A and of A x, where an edge weighs its value or 1."""
    if weights_matter(A, weighted):
        return semiring.plus_times[dtype], semiring.plus_times[dtype]
    return semiring.plus_first[dtype], semiring.plus_second[dtype]


def check_not_nan(name: str, A: Matrix) -> None:
    """Raise for an edge whose weight is NaN, and name it."""
    if A.nvals and A.dtype.np_type.kind == "f":
        _lightest(name, A)


def check_not_negative(name: str, A: Matrix) -> None:
    """Raise for an edge whose weight is negative or NaN, and name it."""
    if A.nvals and _lightest(name, A) < 0:
        rows, cols, values = select.valuelt(A, 0).new().to_coo()
        raise InvalidValue(f"{name}: the weight of the edge {rows[0]} -> {cols[0]} is {values[0]}, wanted no negative "
                           "weight")
