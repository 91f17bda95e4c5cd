"""Full vectors of numbers: from what callers give, and scaled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spgraph import binary, context, monoid, select, unary
from spgraph.algorithms._inputs import as_number
from spgraph.exceptions import DeviceMismatch, DimensionMismatch, GraphblasException, InvalidValue
from spgraph.vector import Vector

__all__ = ["distribution", "divided", "full_vector", "length_one", "scaled", "zeros"]


def zeros(dtype: np.dtype, size: int) -> Vector:
    """A full vector of zeros."""
    full = Vector(dtype, size)
    full << dtype.type(0)
    return full


def full_vector(name: str, what: str, given: Any, n: int, dtype: np.dtype, default: float) -> Vector:
    """A full vector from a number, a Vector, a dict or an array; absent entries are 0, None is `default`."""
    full = Vector(dtype, n)
    if given is None or (np.ndim(given) == 0 and not isinstance(given, (dict, Vector))):
        most = float(np.finfo(dtype).max)
        full << dtype.type(default if given is None else as_number(name, what, given, -most, most, f"a finite {dtype}"))
        return full
    full << dtype.type(0)
    full(binary.plus) << _as_vector(name, what, given, n, dtype).dup(dtype)
    wrong = select.valueeq(full.apply(unary.isfinite), False).new()
    if wrong.nvals:
        vertex = int(wrong.to_coo()[0][0])
        raise InvalidValue(f"{name}: {what} is {full[vertex].new().value} at vertex {vertex}, wanted a finite {dtype}")
    return full


def distribution(name: str, what: str, given: Any, n: int, dtype: np.dtype) -> Vector:
    """A full vector that sums to 1, from a Vector, a dict or an array, in proportion (None: uniform)."""
    full = Vector(dtype, n)
    if given is None:
        full << dtype.type(1 / max(n, 1))
        return full
    given = _as_vector(name, what, given, n, dtype)
    least = given.reduce(monoid.min).get(0)
    total = float(given.reduce(monoid.plus["FP64"]).get(0))
    if least < 0 or not 0 < total < math.inf:
        raise InvalidValue(f"{name}: {what} has the minimum {least} and the sum {total}; wanted no negative entry "
                           "and a positive, finite sum")
    full << dtype.type(0)
    full(binary.plus) << divided(given.dup(np.float64), total).new(dtype)
    return full


def _as_vector(name: str, what: str, given: Any, n: int, dtype: np.dtype) -> Vector:
    """A Vector of size n from a Vector, a dict or an array; messages name the argument."""
    try:
        with np.errstate(over="ignore"):  # what is too large becomes inf, and is told so
            if isinstance(given, dict):
                given = Vector.from_dict(given, dtype, size=n)
            elif not isinstance(given, Vector):
                given = Vector.from_dense(np.asarray(given, dtype))
    except GraphblasException as error:
        raise type(error)(f"{name}: {what}: {error}") from None
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"{name}: {what} is no Vector, dict or array of numbers: {error}") from None
    here = context.device().name
    if given.device != here:
        raise DeviceMismatch(f'{name}: A is on {here}, but {what} is on {given.device}; write {what}.to("{here}")')
    if given.size != n:
        raise DimensionMismatch(f"{name}: {what} has size {given.size}, but A has {n} vertices")
    return given


def scaled(v: Vector, factor: float):
    """``factor * v`` in v's own type."""
    return v.apply(binary.times, right=v.dtype.np_type.type(factor))


def divided(v: Vector, by: float):
    """``v / by`` in v's own type, also where ``1 / by`` is none of its numbers; v itself if `by` is 0."""
    return v.apply(binary.truediv, right=v.dtype.np_type.type(by or 1))


def length_one(v: Vector) -> None:
    """Scale `v` to the Euclidean norm 1, also where squares are too large or too small; 0 stays."""
    square, limits = _square(v), np.finfo(v.dtype.np_type)
    if not v.size * limits.tiny / limits.eps < square < math.inf:
        v << divided(v, float(v.apply(unary.abs).reduce(monoid.max).new().get(0)))
        square = _square(v)
    v << divided(v, math.sqrt(square))


def _square(v: Vector) -> float:
    return float(v.ewise_mult(v, binary.times).reduce(monoid.plus).new().get(0))
