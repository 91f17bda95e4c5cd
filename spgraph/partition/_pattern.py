"""What every partition is given: the pattern of a square matrix, a number of parts, a seed."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue

__all__ = ["check_parts", "check_pattern", "check_rows", "check_seed"]


def check_parts(parts: Any) -> int:
    """A positive integer."""
    return _integer("parts", parts, 1, "a positive integer")


def check_seed(seed: Any) -> int:
    """An integer that is not negative."""
    return _integer("seed", seed, 0, "an integer that is not negative")


def _integer(what: str, given: Any, least: int, wanted: str) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if number < least or isinstance(given, (bool, np.bool_)):
        raise InvalidValue(f"partition: {what} is {given!r}, wanted {wanted}")
    return number


def check_rows(indptr: Any) -> np.ndarray:
    """Offsets of the rows of a CSR: from 0 on, never falling.

    Raises
    ------
    DimensionMismatch, DomainMismatch, InvalidValue
    """
    indptr = _line("indptr", indptr)
    if not indptr.size:
        raise DimensionMismatch("partition: indptr is empty, wanted an offset for each vertex and one more")
    if indptr[0] != 0 or bool((indptr[1:] < indptr[:-1]).any()):
        raise InvalidValue("partition: indptr begins with another number than 0 or falls, wanted offsets of a CSR")
    return indptr


def check_pattern(indptr: Any, indices: Any) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of a square matrix, as CSR arrays.

    Raises
    ------
    DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue
    """
    indptr, indices = check_rows(indptr), _line("indices", indices)
    n, stored = indptr.size - 1, int(indptr[-1])
    if indices.size != stored:
        raise DimensionMismatch(f"partition: indices has {indices.size} entries, but indptr ends with {stored}")
    low, high = (int(indices.min()), int(indices.max())) if stored else (0, -1)
    if low < 0 or high >= n:
        wrong = low if low < 0 else high
        raise IndexOutOfBound(f"partition: indices has the column {wrong}, wanted columns of 0..{n - 1} "
                              "of a square matrix")  # fmt: skip
    return indptr, indices


def _line(name: str, given: Any) -> np.ndarray:
    array = np.asarray(given)
    if array.ndim != 1:
        raise DimensionMismatch(f"partition: {name} has shape {array.shape}, wanted one dimension")
    if array.size and array.dtype.kind not in "iu":
        raise DomainMismatch(f"partition: {name} has dtype {array.dtype}, wanted integers")
    return array
