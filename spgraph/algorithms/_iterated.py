"""What centralities by iteration share: a result with its report, and when to stop."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from spgraph import context, monoid, unary
from spgraph.algorithms._inputs import as_number, as_steps
from spgraph.exceptions import InvalidValue
from spgraph.scalar import Scalar
from spgraph.vector import Vector

__all__ = ["IteratedVector", "LateStop", "Stop", "reported", "with_report"]

Iterated = TypeVar("Iterated", bound="IteratedVector")


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
        return _copied(type(self), super().__copy__(), self._report(), self._name)

    def __deepcopy__(self, memo: Any) -> IteratedVector:
        return self.__copy__()

    def __reduce__(self):
        make, arguments = super().__reduce__()
        return _unpickle, (type(self), make, arguments, self._report(), self._name)


def _copied(kind: type[IteratedVector], v: Vector, report: dict[str, Any], name: str | None) -> IteratedVector:
    with context.on(v):
        result = kind(v.dtype, v.size, name=name)
        result << v
    for key, value in report.items():
        setattr(result, key, value)
    return result


def _unpickle(kind, make, arguments, report, name) -> IteratedVector:
    return _copied(kind, make(*arguments), report, name)


class Stop:
    """Counts iterations and says when to stop: at a change below `tol * scale`, after `max_iter`, or with an error."""

    last_change = "the last change is {:.3g}, wanted less than {:.3g}"

    def __init__(self, name: str, size: int, max_iter, tol, scale: int, raises: bool, hint: str = ""):
        most = as_steps(name, max_iter)
        limit = scale * as_number(name, "tol", tol, 0)
        self.name, self.max_iter, self.limit, self.raises, self.hint = name, most, limit, raises, hint
        self.iterations, self.residual, self.converged = 0, math.inf if size else 0.0, size == 0

    def reached(self) -> bool:
        """Whether to stop; raises if it is without having converged, and that is not allowed."""
        if self.converged or self.iterations < self.max_iter:
            return self.converged
        if self.raises:
            raise InvalidValue(
                f"{self.name}: not converged after max_iter={self.max_iter} iterations: "
                f"{self.last_change.format(self.residual, self.limit)}; raise max_iter or tol, or pass "
                "fail_on_nonconvergence=False")
        return True

    def look(self, new: Vector, old: Vector) -> None:
        """One iteration more, from `old` to `new`: the L1 norm of the change decides."""
        self.residual = float((new - old).apply(unary.abs).reduce(monoid.plus).new().value)
        self.iterations += 1
        if not math.isfinite(self.residual):
            raise InvalidValue(f"{self.name}: values are not finite after {self.iterations} iterations{self.hint}")
        self.converged = self.residual < self.limit


class LateStop(Stop):
    """The same where a GPU still computes the change while the next iteration begins, wanted or not."""

    last_change = "the L1 norm of the last change is {:.3g}, tol * n is {:.3g}"

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.late: Scalar | None = None  # the change, while nobody has looked at it

    def reached(self) -> bool:
        """Whether to stop, as far as is known; after `max_iter` iterations that is waited for."""
        return (self.iterations >= self.max_iter and self.at_last()) or super().reached()

    def look_later(self, change: Scalar) -> None:
        """One iteration more, with this change, which is looked at now only if that is no waiting."""
        self.iterations += 1
        self.late = change
        if change.ready:
            self.at_last()

    def at_last(self) -> bool:
        """Whether the change, which is waited for, was small enough."""
        if self.late is not None:
            self.residual, self.late = float(self.late.get(0)), None
            if math.isnan(self.residual):
                raise InvalidValue(f"{self.name}: the ranks are NaN after {self.iterations} iterations{self.hint}")
            self.converged = self.residual < self.limit
        return self.converged


def reported(v: Vector, stop: Stop) -> IteratedVector:
    """`v` with the report."""
    return with_report(IteratedVector(v.dtype, v.size), v, stop)


def with_report(result: Iterated, v: Any, stop: Stop) -> Iterated:
    """`result`, with the values of `v` and the report."""
    result << v
    result.iterations, result.residual, result.converged = stop.iterations, stop.residual, stop.converged
    return result
