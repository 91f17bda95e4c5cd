"""Matrix.setdiag: several steps, none of which changes the matrix before all checks have passed."""

from __future__ import annotations

from typing import Any

from semirings import select
from semirings.exceptions import DimensionMismatch, IndexOutOfBound
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph._base import CLASSES, RANK
from spgraph._convert import is_number, to_int
from spgraph._vector_make import dense_vector
from spgraph.mask import StructuralMask, to_mask, to_shape

__all__ = ["set_diagonal"]


def set_diagonal(A: Any, values: Any, k: int, mask: Any, accum: Any) -> None:
    """A(i, i + k) = values(i); see `Matrix.setdiag`."""
    k = to_int(k, "setdiag", "k")
    nrows, ncols = A.shape
    size = min(nrows + k, ncols) if k < 0 else min(ncols - k, nrows)
    if k and size <= 0:
        raise IndexOutOfBound(f"setdiag: k is {k}, but a Matrix of shape {A.shape} has no such diagonal")
    if accum is not None:
        accum = resolve.accum(accum, A.dtype)
    if RANK.get(type(values)) == 1:
        check.same_device("setdiag", A, values)
    clear = False
    vector = CLASSES[1]
    if RANK.get(type(values)) == 1:
        new = values._eval()
        clear = accum is None and new.nvals != new.size
    elif RANK.get(type(values)) == 0 or is_number(values):
        new = vector._on(A._device, A.dtype, max(size, 0))
        new << values
    else:
        new = vector._wrap(dense_vector(values, None, None, A._device))
        new = new if new.dtype is A.dtype else vector._wrap(dense_vector(values, None, A.dtype, A._device))
    if new.size != max(size, 0):
        raise DimensionMismatch(f"setdiag: values have size {new.size}, but the diagonal has size {size}")
    chosen = _diagonal_mask(A, k, size, mask)
    diagonal = _embedded(new, k, A.shape)
    if clear:
        A(mask=chosen) << select.offdiag(A, k)
    A(diagonal.S if chosen is None else chosen, accum=accum) << diagonal


def _embedded(vector: Any, k: int, shape: tuple) -> Any:
    """A Matrix of `shape` with a vector on its k-th diagonal."""
    matrix = vector.diag(k)
    if matrix.shape != shape:
        matrix.resize(*shape)
    return matrix


def _diagonal_mask(A: Any, k: int, size: int, mask: Any) -> Any:
    """A structural mask over A that allows places of the diagonal only; None for all of them."""
    if mask is None:
        return None
    mask = to_mask(mask, "setdiag")
    if mask.ndim == 2:
        to_shape(mask, A.shape, "setdiag")
        mask = type(mask)(mask.parent.diag(k))
    else:
        to_shape(mask, (size,), "setdiag")
    return StructuralMask(_embedded(mask.new(), k, A.shape))
