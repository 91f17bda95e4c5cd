"""The one place where arrays become a Matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.io._coo import Csr

__all__ = ["build_matrix"]


def build_matrix(csr: Csr, order: str | None = None):
    """A Matrix that takes over the arrays, with ``.report`` and ``.labels``.

    `order` is "natural" or "degree" (None: the context's), for square matrices.
    """
    from spgraph import context
    from spgraph.block import MatrixBlock
    from spgraph.matrix import Matrix

    order = context.current().order if order is None else order
    if order not in context.ORDERS:
        raise InvalidValue(f"order: got {order!r}, wanted one of {', '.join(context.ORDERS)}")
    iso = np.ndim(csr.values) == 0
    values = csr.values
    if iso:
        values = np.full(min(csr.indices.size, 1), values)
    block = MatrixBlock(csr.nrows, csr.ncols, values.dtype)
    block.set_csr(csr.indptr, csr.indices, values, iso=iso and values.size == 1, symmetric=csr.symmetric)
    if csr.nrows == csr.ncols:
        block.reorder(order)
    matrix: Any = Matrix._wrap(block)
    matrix.report = csr.report
    matrix.labels = csr.labels
    return matrix
