"""Bytes of what a graph is stored as, and of algorithms' vectors."""

from __future__ import annotations

import numpy as np

from spgraph.kernels.cpu._pieces import narrow

__all__ = ["LONG_LISTS", "PROXY", "VECTORS", "csr_bytes", "width_of"]

VECTORS = {"bfs": 24, "bfs_parents": 50, "sssp": 64, "pagerank": 72}  # bytes per vertex at most, results included
LONG_LISTS = {"bfs": 20}  # more than these, on GPUs whose loops list all vertices: in parts, or not by costs
PROXY = {"bfs": 2, "bfs_parents": 17, "sssp": 8, "pagerank": 16}  # more per vertex of others that a part has a proxy of


def width_of(count: int) -> int:
    """Bytes of an index or offset 0..count."""
    return np.dtype(narrow(count)).itemsize


def csr_bytes(nrows: int, ncols: int, nvals: int, itemsize: int) -> int:
    """Bytes of a CSR."""
    return (nrows + 1) * width_of(nvals) + nvals * (width_of(ncols) + itemsize)
