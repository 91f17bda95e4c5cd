"""Searches from one source as vectors, or from many at once as the rows of matrices: what is written in two ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spgraph import binary, monoid
from spgraph.algorithms._vectors import zeros
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["add_up", "begin", "largest", "product", "zeros_for"]


def begin(A: Matrix, starts: list[int], one: Any, dtype: np.dtype) -> Any:
    """Only the sources, with `one` each."""
    if len(starts) > 1:
        return Matrix.from_coo(range(len(starts)), starts, one, dtype, nrows=len(starts), ncols=A.nrows)
    return Vector.from_coo(starts, one, dtype, size=A.nrows)


def product(paths: Any, follow: Any) -> Callable[[Any, Any], Any]:
    """A function of a front and a matrix: what comes along their edges, as an expression."""
    # by methods, which take half as long as `follow(front @ A)`, with thousands of small steps
    if isinstance(paths, Matrix):
        return lambda front, A: front.mxm(A, follow)
    return lambda front, A: front.vxm(A, follow)


def zeros_for(paths: Any, dtype: np.dtype) -> Any:
    """Zeros of another type, in a matrix only where there are paths."""
    if isinstance(paths, Matrix):
        return paths.apply(binary.second, right=dtype.type(0)).new()
    return zeros(dtype, paths.size)


def largest(paths: Any) -> Any:
    """The largest of the values."""
    return (paths.reduce_scalar(monoid.max) if isinstance(paths, Matrix) else paths.reduce(monoid.max)).new().value


def add_up(total: Vector, starts: list[int], paths: Any, dependency: Any, endpoints: bool) -> None:
    """Add what passes through each vertex on `paths` to the total, with or without the ends of the paths."""
    batched = isinstance(paths, Matrix)
    if endpoints:
        dependency = dependency.apply(binary.plus, right=1)
    total(binary.plus) << (dependency.reduce_columnwise(monoid.plus) if batched else dependency)
    if endpoints:  # a source counts with every vertex that it reaches, and has been counted once
        reached = paths.reduce_rowwise("count").new().to_coo()[1] if batched else np.array([paths.nvals])
        total(binary.plus)[starts] << Vector.from_dense(reached - 2)
