"""Searches from one source as a vector, or from many at once: what is written in two ways.

Many are the copies of one graph, where it lies on one device or in one CPU's memory, has room and is worth it, else the
rows of a matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import binary, context, monoid
from spgraph.algorithms._vectors import zeros
from spgraph.copies import Copies, most
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["Fronts", "fronts_of"]

ROOM = 75  # bytes for each vertex of a copy in which a search has room, as far as was measured


class Fronts:
    """A search from one source; `start` has an entry there."""

    def __init__(self, A: Matrix, starts: list[int], one: Any, dtype: np.dtype):
        self.A, self.starts = A, starts
        self.start = self._begin(one, dtype)

    def _begin(self, one: Any, dtype: np.dtype) -> Any:
        return Vector.from_coo(self.starts, one, dtype, size=self.A.nrows)

    # by methods, which take half as long as `op(front @ A)`, with thousands of small steps
    def along(self, front: Any, op: Any) -> Any:
        """What comes along the edges of a front, over a semiring: an expression."""
        return front.vxm(self.A, op)

    def back(self, front: Any, op: Any) -> Any:
        """The same against their direction."""
        return front.vxm(self.A.T, op)

    def zeros(self, dtype: np.dtype) -> Any:
        """Zeros wherever a search may come."""
        return zeros(dtype, self.start.size)

    def largest(self, paths: Any) -> Any:
        """The largest of the values."""
        return paths.reduce(monoid.max).new().value

    def add_up(self, total: Vector, paths: Any, dependency: Any, endpoints: bool) -> None:
        """Add what passes through each vertex on `paths` to the total, with or without the ends of the paths."""
        if endpoints:
            dependency = dependency.apply(binary.plus, right=1)
            # a source counts with every vertex that it reaches, and has been counted once
            ends = Vector.from_dense(self._reached(paths) - 2)
        total(binary.plus) << self._sums(dependency)
        if endpoints:
            total(binary.plus)[self.starts] << ends

    def rows(self, found: Any) -> Matrix:
        """What each search has found as a row of a Matrix."""
        row = Matrix(found.dtype, 1, found.size)
        row[0, :] << found
        return row

    def _sums(self, found: Any) -> Any:
        return found

    def _reached(self, paths: Any) -> np.ndarray:
        return np.array([paths.nvals])


class _Copies(Fronts):
    """Each search in its copy of the graph."""

    def _begin(self, one: Any, dtype: np.dtype) -> Vector:
        self.copies = Copies(self.A, len(self.starts))
        return self.copies.vector(self.starts, one, dtype)

    def zeros(self, dtype: np.dtype) -> Vector:
        with context.on(self.start):  # where the copies are
            return super().zeros(dtype)

    def along(self, front: Vector, op: Any) -> Any:
        return self.copies.vxm(front, op)

    def back(self, front: Vector, op: Any) -> Any:
        return self.copies.vxm(front, op, transposed=True)

    def rows(self, found: Vector) -> Matrix:
        return self.copies.rows(found, len(self.starts))

    def _sums(self, found: Any) -> Vector:
        return self.copies.sums(found.new())

    def _reached(self, paths: Vector) -> np.ndarray:
        return self.copies.counts(paths)[:len(self.starts)]


class _Rows(Fronts):
    """Each search in a row of a matrix."""

    def _begin(self, one: Any, dtype: np.dtype) -> Matrix:
        self.paths = Matrix.from_coo(range(len(self.starts)), self.starts, one, dtype, nrows=len(self.starts),
                                     ncols=self.A.nrows)
        return self.paths

    def along(self, front: Matrix, op: Any) -> Any:
        return front.mxm(self.A, op)

    def back(self, front: Matrix, op: Any) -> Any:
        return front.mxm(self.A.T, op)

    def zeros(self, dtype: np.dtype) -> Matrix:
        return self.paths.apply(binary.second, right=dtype.type(0)).new()

    def largest(self, paths: Matrix) -> Any:
        return paths.reduce_scalar(monoid.max).new().value

    def rows(self, found: Matrix) -> Matrix:
        return found

    def _sums(self, found: Any) -> Any:
        return found.reduce_columnwise(monoid.plus)

    def _reached(self, paths: Matrix) -> np.ndarray:
        return paths.reduce_rowwise("count").new().to_coo()[1]


def fronts_of(A: Matrix, starts: list[int], one: Any, dtype: np.dtype) -> Fronts:
    """The searches from `starts`, each with `one` path to its source."""
    kind = Fronts if len(starts) == 1 else _Copies if 1 < len(starts) <= most(A, ROOM) else _Rows
    return kind(A, starts, one, dtype)
