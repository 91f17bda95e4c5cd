"""The one place where arrays become a Matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from spgraph.io._coo import Csr

__all__ = ["build_matrix", "finish", "made_on_host", "whole_at_first"]

P = ParamSpec("P")
R = TypeVar("R")


def build_matrix(csr: Csr, order: str | None = None):
    """A Matrix on the context's device, with ``.report`` and ``.labels``; on the CPU it takes over the arrays.

    Where several processes have some rows each, all must call it.

    `order` is "natural" or "degree" (None: the context's), for square matrices.
    """
    from spgraph import context
    from spgraph._room import making
    from spgraph.exchange.loaded import deal_rows
    from spgraph.exchange.matrix_parts import matrix_storage

    device = context.device()
    iso = np.ndim(csr.values) == 0
    values = csr.values
    if iso:
        values = np.full(min(csr.indices.size, 1), values)
    with making(csr.report.source, device):
        block = matrix_storage(csr.nrows, csr.ncols, values.dtype, device)
        iso = iso and values.size == 1
        if csr.cuts is not None:
            deal_rows(block, csr.cuts, csr.indptr, csr.indices, values, iso=iso, symmetric=csr.symmetric)
            return finish(block, csr.report, csr.labels, order)
        indptr, indices = device.to_device(csr.indptr), device.to_device(csr.indices)
        values = values if iso else device.to_device(values)
        block.set_csr(indptr, indices, values, iso=iso, symmetric=csr.symmetric)
        del indptr, indices, values  # so that the block holds them alone
        return finish(block, csr.report, csr.labels, order)


def made_on_host(function: Callable[P, R]) -> Callable[P, R]:
    """A function that makes arrays of the host: where these find no room, `OutOfMemory` names it."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from spgraph._room import making
        from spgraph.context import HOST

        with making(function.__name__, HOST):
            return function(*args, **kwargs)

    return run


def whole_at_first(matrix: Any) -> Any:
    """A matrix that is shared by several processes as one of the CPU, in the first of them; None in the others."""
    from spgraph.exchange.loaded import block_at_first
    from spgraph.matrix import Matrix

    block = block_at_first(matrix._block)
    if block is None:
        return None
    whole: Any = Matrix._wrap(block)
    whole.report, whole.labels = matrix.report, matrix.labels
    return whole


def finish(block, report, labels, order: str | None):
    """The Matrix of a block in natural order, stored in the order that is wanted."""
    from spgraph import context
    from spgraph.matrix import Matrix

    order = context.current().order if order is None else order
    context.check_order("order: got", order)
    if block.nrows == block.ncols:
        block.reorder(order, own=True)
    matrix: Any = Matrix._wrap(block)
    matrix.report = report
    matrix.labels = labels
    return matrix
