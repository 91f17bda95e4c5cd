"""What centralities by iteration share: their result with its report, arguments, and when to stop."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from spgraph import binary, monoid, semiring, unary
from spgraph.exceptions import DimensionMismatch, InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["IteratedVector", "Stop", "along_edges", "full_vector", "reported", "scaled"]


class IteratedVector(Vector):
    """A vector that was computed by iteration, and how.

    Attributes
    ----------
    iterations : int
    residual : float
        Norm of the last change, as the algorithm's documentation states it.
    converged : bool
    """

    __slots__ = ("converged", "iterations", "residual")

    converged: bool
    iterations: int
    residual: float


class Stop:
    """Counts iterations and says when to stop: at a small change, after `max_iter`, or with an error."""

    def __init__(self, name: str, size: int, max_iter, tol, limit: float, raises: bool, hint: str = ""):
        try:
            most = operator.index(max_iter)
        except TypeError:
            most = -1
        if most < 0:
            raise InvalidValue(f"{name}: max_iter is {max_iter!r}, wanted an integer of 0 or more")
        if not limit >= 0:
            raise InvalidValue(f"{name}: tol is {tol!r}, wanted 0 or more")
        self.name, self.max_iter, self.limit, self.raises, self.hint = name, most, limit, raises, hint
        self.iterations, self.residual, self.converged = 0, math.inf, size == 0

    def reached(self) -> bool:
        """Whether to stop; raises if it is without having converged, and that is not allowed."""
        if self.converged or self.iterations < self.max_iter:
            return self.converged
        if self.raises:
            raise InvalidValue(
                f"{self.name}: not converged after max_iter={self.max_iter} iterations: the last change is "
                f"{self.residual:.3g}, wanted less than {self.limit:.3g}; raise max_iter or tol, or pass "
                "fail_on_nonconvergence=False")
        return True

    def look(self, new: Vector, old: Vector) -> None:
        """One iteration more, from `old` to `new`: the L1 norm of the change decides."""
        self.residual = float((new - old).apply(unary.abs).reduce(monoid.plus).new().value)
        self.iterations += 1
        if not math.isfinite(self.residual):
            raise InvalidValue(f"{self.name}: values are not finite after {self.iterations} iterations{self.hint}")
        self.converged = self.residual < self.limit


def full_vector(name: str, what: str, given: Any, n: int, dtype: np.dtype, default: float) -> Vector:
    """A full vector from a number, a Vector, a dict or an array; absent entries are 0, None is `default`."""
    full = Vector(dtype, n)
    if given is None or (np.ndim(given) == 0 and not isinstance(given, (dict, Vector))):
        full << dtype.type(default if given is None else given)
        return full
    if isinstance(given, dict):
        given = Vector.from_dict(given, dtype, size=n)
    elif not isinstance(given, Vector):
        given = Vector.from_dense(np.asarray(given, dtype))
    if given.size != n:
        raise DimensionMismatch(f"{name}: {what} has size {given.size}, but A has {n} vertices")
    full << dtype.type(0)
    full(binary.plus) << given.dup(dtype)
    return full


def along_edges(A: Matrix, weighted: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """The semirings of x A and of A x, where an edge weighs its value or 1."""
    if weighted and A.dtype != bool:
        return semiring.plus_times[dtype], semiring.plus_times[dtype]
    return semiring.plus_first[dtype], semiring.plus_second[dtype]


def scaled(v: Vector, factor: float):
    """``factor * v`` in v's own type."""
    return v.apply(binary.times, right=v.dtype.np_type.type(factor))


def reported(v: Vector, stop: Stop) -> IteratedVector:
    """`v` with the report."""
    result = IteratedVector(v.dtype, v.size)
    result << v
    result.iterations, result.residual, result.converged = stop.iterations, stop.residual, stop.converged
    return result
