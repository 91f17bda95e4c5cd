"""What every algorithm checks before it starts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from spgraph import binary, context, dtypes, io
from spgraph.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue
from spgraph.matrix import Matrix, MatrixExpression, TransposedMatrix

__all__ = ["as_depth", "as_float", "as_graph", "as_number", "as_seed", "as_source", "as_sources", "as_steps",
           "as_undirected", "of_graph"]

Function = TypeVar("Function", bound=Callable[..., Any])


def of_graph(algorithm: Function) -> Function:
    """Let an algorithm take what converts to a Matrix, and make its vectors where the matrix is."""

    @wraps(algorithm)
    def run(A, *args, **kwargs):
        A = as_graph(algorithm.__name__, A)
        if A._device is context.device():
            return algorithm(A, *args, **kwargs)
        with context.on(A):
            return algorithm(A, *args, **kwargs)

    return run  # type: ignore[return-value]


def as_graph(name: str, A) -> Matrix:
    """`A` as a square matrix, converted if need be."""
    if isinstance(A, (MatrixExpression, TransposedMatrix)):
        A = A.new()
    elif not isinstance(A, Matrix):
        try:
            A = io.as_matrix(A)
        except (DomainMismatch, DimensionMismatch) as error:
            raise type(error)(f"{name}: A is no graph: {error}") from None
    if A.nrows != A.ncols:
        raise DimensionMismatch(f"{name}: A is {A.nrows} x {A.ncols}; the adjacency matrix of a graph is square")
    return A


def as_float(name: str, dtype) -> np.dtype:
    """`dtype` as one of NumPy's floating-point types."""
    try:
        found = dtypes.lookup_dtype(dtype).np_type
    except DomainMismatch:
        raise InvalidValue(f"{name}: dtype is {dtype!r}, wanted float32 or float64") from None
    if found not in (np.float32, np.float64):
        raise InvalidValue(f"{name}: dtype is {found}, wanted float32 or float64")
    return found


def as_source(name: str, A: Matrix, source) -> int:
    """`source` as a vertex number of `A`."""
    try:
        number = operator.index(source)
    except TypeError:
        number = None
    if number is None or isinstance(source, bool) or not 0 <= number < A.nrows:
        wanted = f"wanted an integer in [0, {A.nrows})" if A.nrows else "but the graph has no vertex"
        raise IndexOutOfBound(f"{name}: source is {source!r}, {wanted}")
    return number


def as_sources(name: str, A: Matrix, sources) -> list[int]:
    """`sources` as vertex numbers of `A`."""
    try:
        several = list(sources)
    except TypeError:
        raise InvalidValue(f"{name}: sources is {sources!r}, wanted a list of vertices") from None
    return [as_source(name, A, source) for source in several]


def as_seed(name: str, seed) -> int:
    """`seed` as an integer that random numbers can start from."""
    return _not_negative(name, "seed", seed)


def as_depth(name: str, max_depth) -> int | None:
    """`max_depth` as a number of levels, or None."""
    return None if max_depth is None else _not_negative(name, "max_depth", max_depth, ", or None")


def as_steps(name: str, max_iter) -> int:
    """`max_iter` as a number of iterations."""
    return _not_negative(name, "max_iter", max_iter)


def _not_negative(name: str, what: str, given: Any, else_wanted: str = "") -> int:
    """`given` as an integer of 0 or more."""
    try:
        number = operator.index(given)
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidValue(f"{name}: {what} is {given!r}, wanted an integer of 0 or more{else_wanted}")
    return number


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


def as_undirected(name: str, A: Matrix, symmetrize: bool) -> Matrix:
    """`A` if every edge has its opposite (values may differ), else, if that is wanted, the pattern of A and A'."""
    if A.symmetric:
        return A
    opposite = binary.pair(A & A.T).new().nvals
    if opposite == A.nvals:
        return A
    if not symmetrize:
        raise InvalidValue(f"{name}: A is directed, {A.nvals - opposite} of its edges have no opposite, wanted an "
                           "undirected graph; symmetrize=True takes every edge as one")
    return binary.pair(A | A.T).new(bool)
