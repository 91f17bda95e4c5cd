"""Results as arrays over all vertices, and graphs as CSR arrays, where they lie: nothing is copied off a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import engine
from spgraph.matrix import Matrix
from spgraph.partition import NATURAL
from spgraph.vector import Vector

__all__ = ["csr_of", "dense", "smallest_members", "to_host"]


def csr_of(A: Matrix) -> tuple[Any, Any, Any]:
    """indptr, indices and values in natural order, arrays of the device that holds `A` (not to be written to)."""
    return engine.matrix_csr(A._block)


def dense(vector: Vector, fill: Any) -> Any:
    """An array over all positions with `fill` where there is no entry, on the vector's device.

    Its type is the vector's, or float64 if `fill` is a float and the vector holds integers.
    """
    if vector._device.group is not None:
        vector = vector.to("cpu")
    block = vector._block.copy().rehome(NATURAL).to_bitmap().expand()
    xp, values = block.device.xp, block.values
    if isinstance(fill, float) and values.dtype.kind != "f":
        values = values.astype(np.float64)
    if block.format == "full":
        return values
    return xp.where(block.present.view(np.bool_), values, values.dtype.type(fill))


def to_host(array: Any) -> np.ndarray:
    """An array of NumPy or CuPy as one of NumPy."""
    return array.get() if hasattr(array, "get") else array


def smallest_members(label: np.ndarray) -> np.ndarray:
    """Each component by its smallest vertex, whatever an engine calls it."""
    _, first, part = np.unique(label, return_index=True, return_inverse=True)
    return first[part]
