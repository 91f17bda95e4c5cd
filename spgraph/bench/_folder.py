"""Folders of raw CSR arrays: one graph that any engine can map into memory.

Data encoding: little-endian files without headers. ``rowptr.i32`` (vertices + 1), ``col.i32`` (stored edges,
ascending within a row, both directions of every edge, no duplicates), ``w.f32`` (weights, the same both ways),
``src.i32`` (vertices to search from; optional).
"""

from __future__ import annotations

import os

import numpy as np

from spgraph.io import FormatError, Report
from spgraph.io._build import build_matrix
from spgraph.io._coo import Csr
from spgraph.matrix import Matrix

__all__ = ["is_folder", "read_folder", "sources"]

ROWS, COLUMNS, WEIGHTS, SOURCES = "rowptr.i32", "col.i32", "w.f32", "src.i32"


def is_folder(path: str) -> bool:
    """Whether `path` is such a folder."""
    return os.path.isfile(os.path.join(path, ROWS))


def _array(folder: str, name: str) -> np.ndarray:
    dtype = np.dtype("<" + {"i32": "i4", "f32": "f4"}[name.rpartition(".")[2]])
    path = os.path.join(folder, name)
    if os.path.getsize(path) % dtype.itemsize:
        raise FormatError(path, None, f"{os.path.getsize(path)} bytes are no whole number of {dtype.name}")
    return np.fromfile(path, dtype)


def sources(folder: str) -> list[int] | None:
    """The vertices to search from; None if the folder names none."""
    return _array(folder, SOURCES).tolist() if os.path.isfile(os.path.join(folder, SOURCES)) else None


def read_folder(folder: str, order: str | None = None) -> Matrix:
    """The graph, undirected, with weights in FP32.

    Raises
    ------
    FormatError
        If the arrays do not fit each other.
    """
    indptr, indices, weights = (_array(folder, name) for name in (ROWS, COLUMNS, WEIGHTS))
    n, count = indptr.size - 1, indices.size
    if n < 0 or indptr[0] != 0 or indptr[-1] != count or (n and np.diff(indptr).min() < 0):
        raise FormatError(os.path.join(folder, ROWS), None, f"wanted offsets that rise from 0 to {count:,}, the edges")
    if weights.size != count:
        raise FormatError(os.path.join(folder, WEIGHTS), None, f"{weights.size:,} weights for {count:,} edges")
    if count and (indices.min() < 0 or indices.max() >= n):
        raise FormatError(os.path.join(folder, COLUMNS), None, f"columns are not all in 0..{n - 1}")
    report = Report(os.path.basename(os.path.normpath(folder)), (n, n), count, stored=count)
    return build_matrix(Csr(indptr, indices, weights, n, n, True, report), order)
