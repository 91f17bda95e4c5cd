"""What centralities by iteration share: their result with its report, arguments, and when to stop."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from spgraph import binary, context, monoid, select, semiring, unary
from spgraph.exceptions import DimensionMismatch, GraphblasException, InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["IteratedVector", "Stop", "along_edges", "as_number", "as_steps", "as_vector", "check_not_negative",
           "divided", "full_vector", "length_one", "reported", "scaled", "weights_matter"]


class IteratedVector(Vector):
    """A vector that was computed by iteration, and how.

    Copies by `copy` and `pickle` keep the report; `dup`, like every operation, makes a plain Vector.

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

    def _report(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in IteratedVector.__slots__ if hasattr(self, name)}

    def __copy__(self) -> IteratedVector:
        return _with_report(type(self), super().__copy__(), self._report(), self._name)

    def __deepcopy__(self, memo: Any) -> IteratedVector:
        return self.__copy__()

    def __reduce__(self):
        make, arguments = super().__reduce__()
        return _unpickle, (type(self), make, arguments, self._report(), self._name)


def _with_report(kind: type[IteratedVector], v: Vector, report: dict[str, Any], name: str | None) -> IteratedVector:
    with context.on(v):
        result = kind(v.dtype, v.size, name=name)
        result << v
    for key, value in report.items():
        setattr(result, key, value)
    return result


def _unpickle(kind, make, arguments, report, name) -> IteratedVector:
    return _with_report(kind, make(*arguments), report, name)


class Stop:
    """Counts iterations and says when to stop: at a change below `tol * scale`, after `max_iter`, or with an error."""

    def __init__(self, name: str, size: int, max_iter, tol, scale: int, raises: bool, hint: str = ""):
        most = as_steps(name, max_iter)
        limit = scale * as_number(name, "tol", tol, 0)
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


def as_steps(name: str, max_iter) -> int:
    """`max_iter` as a number of iterations."""
    try:
        most = operator.index(max_iter)
    except TypeError:
        most = -1
    if most < 0:
        raise InvalidValue(f"{name}: max_iter is {max_iter!r}, wanted an integer of 0 or more")
    return most


def as_number(name: str, what: str, given: Any, least: float, most: float = math.inf,
              wanted: str = "0 or more") -> float:
    """`given` as a number in [least, most]."""
    try:
        number = math.nan if isinstance(given, (str, bytes)) or np.ndim(given) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number <= most:
        raise InvalidValue(f"{name}: {what} is {given!r}, wanted {wanted}")
    return number


def as_vector(name: str, what: str, given: Any, n: int, dtype: np.dtype) -> Vector:
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
    if given.size != n:
        raise DimensionMismatch(f"{name}: {what} has size {given.size}, but A has {n} vertices")
    return given


def full_vector(name: str, what: str, given: Any, n: int, dtype: np.dtype, default: float) -> Vector:
    """A full vector from a number, a Vector, a dict or an array; absent entries are 0, None is `default`."""
    full = Vector(dtype, n)
    if given is None or (np.ndim(given) == 0 and not isinstance(given, (dict, Vector))):
        most = float(np.finfo(dtype).max)
        full << dtype.type(default if given is None else as_number(name, what, given, -most, most, f"a finite {dtype}"))
        return full
    full << dtype.type(0)
    full(binary.plus) << as_vector(name, what, given, n, dtype).dup(dtype)
    wrong = select.valueeq(full.apply(unary.isfinite), False).new()
    if wrong.nvals:
        vertex = int(wrong.to_coo()[0][0])
        raise InvalidValue(f"{name}: {what} is {full[vertex].new().value} at vertex {vertex}, wanted a finite {dtype}")
    return full


def weights_matter(A: Matrix, weighted: bool) -> bool:
    """Whether edges weigh their values, and these are not all true."""
    return weighted and not (A.dtype == bool and A.nvals and A.reduce_scalar(monoid.land).new().value)


def along_edges(A: Matrix, weighted: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """The semirings of x A and of A x, where an edge weighs its value or 1."""
    if weights_matter(A, weighted):
        return semiring.plus_times[dtype], semiring.plus_times[dtype]
    return semiring.plus_first[dtype], semiring.plus_second[dtype]


def check_not_negative(name: str, A: Matrix) -> None:
    """Raise for an edge of negative weight, and name it."""
    if A.nvals and A.reduce_scalar(monoid.min).new().value < 0:
        rows, cols, values = select.valuelt(A, 0).new().to_coo()
        raise InvalidValue(f"{name}: the weight of the edge {rows[0]} -> {cols[0]} is {values[0]}, wanted no negative "
                           "weight")


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


def reported(v: Vector, stop: Stop) -> IteratedVector:
    """`v` with the report."""
    result = IteratedVector(v.dtype, v.size)
    result << v
    result.iterations, result.residual, result.converged = stop.iterations, stop.residual, stop.converged
    return result
