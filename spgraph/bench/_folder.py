"""Folders of raw CSR arrays: one graph that any engine can map into memory.

Data encoding: little-endian files without headers. ``rowptr.i32`` (vertices + 1), ``col.i32`` (stored edges,
ascending within a row, both directions of every edge, no duplicates), ``w.f32`` (weights, the same both ways),
``src.i32`` (vertices to search from; optional). All is checked, opposite directions by a sample.

Under ``mpiexec`` each process reads the rows that hold its share of the edges: first an equal share of the offsets,
which it checks, and from which all learn where whose rows begin; then offsets, columns and weights of its own rows.
"""

from __future__ import annotations

import errno
import os

import numpy as np

from spgraph.io import FormatError, Report
from spgraph.io._build import build_matrix
from spgraph.io._coo import Csr, below_shares
from spgraph.io._ranks import Alone, loading_ranks
from spgraph.matrix import Matrix

__all__ = ["folder_csr", "is_folder", "read_folder", "sources"]

SAMPLE = 1 << 16  # edges whose opposites are looked for
ROWS, COLUMNS, WEIGHTS, SOURCES = "rowptr.i32", "col.i32", "w.f32", "src.i32"


def is_folder(path: str) -> bool:
    """Whether `path` is such a folder."""
    return os.path.isfile(os.path.join(path, ROWS))


def _dtype(name: str) -> np.dtype:
    return np.dtype("<" + {"i32": "i4", "f32": "f4"}[name.rpartition(".")[2]])


def _length(folder: str, name: str) -> int:
    """How many numbers a file has."""
    path, dtype = os.path.join(folder, name), _dtype(name)
    if not os.path.isfile(path):
        raise FileNotFoundError(errno.ENOENT, f"no such file, wanted {ROWS}, {COLUMNS} and {WEIGHTS}", path)
    size = os.path.getsize(path)
    if size % dtype.itemsize:
        raise FormatError(path, None, f"{size} bytes are no whole number of {dtype.name}")
    return size // dtype.itemsize


def _array(folder: str, name: str, first: int, last: int) -> np.ndarray:
    """The numbers first..last of a file; nothing else of it is read."""
    dtype = _dtype(name)
    return np.fromfile(os.path.join(folder, name), dtype, last - first, offset=first * dtype.itemsize)


def sources(folder: str) -> list[int] | None:
    """The vertices to search from; None if the folder names none."""
    if not os.path.isfile(os.path.join(folder, SOURCES)):
        return None
    found, n = _array(folder, SOURCES, 0, _length(folder, SOURCES)), _length(folder, ROWS) - 1
    if not found.size or found.min() < 0 or found.max() >= n:
        raise FormatError(os.path.join(folder, SOURCES), None, f"wanted one vertex of 0..{n - 1} or more")
    return found.tolist()


def read_folder(folder: str, order: str | None = None) -> Matrix:
    """The graph, undirected, with weights in FP32.

    Raises
    ------
    FormatError
        If the arrays do not fit each other.
    FileNotFoundError
        If one is missing.
    """
    ranks = loading_ranks()
    with ranks.together():
        csr = folder_csr(folder, ranks)
    return build_matrix(csr, order)


def folder_csr(folder: str, ranks: Alone) -> Csr:
    """The arrays of the own rows."""
    offsets, count, weighed = (_length(folder, name) for name in (ROWS, COLUMNS, WEIGHTS))
    n = offsets - 1
    indptr, cuts = _own_rows(folder, n, count, ranks)
    if weighed != count:
        raise FormatError(os.path.join(folder, WEIGHTS), None, f"{weighed:,} weights for {count:,} edges")
    first, last = int(indptr[0]), int(indptr[-1])
    indices, weights = (_array(folder, name, first, last) for name in (COLUMNS, WEIGHTS))
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        raise FormatError(os.path.join(folder, COLUMNS), None, f"columns are not all in 0..{n - 1}")
    if first:
        indptr -= first
    rising = indices[1:] > indices[:-1]
    heads = indptr[1:-1]
    rising[heads[(heads > 0) & (heads < indices.size)] - 1] = True  # from one row to the next
    if not rising.all():
        raise FormatError(os.path.join(folder, COLUMNS), None, "the columns of a row are not ascending, each once")
    of_all = np.array([0, n]) if cuts is None else cuts
    _check_opposites(folder, (indptr, indices, weights), first, count, of_all, ranks)
    report = Report(os.path.basename(os.path.normpath(folder)), (n, n), count, stored=count)
    return Csr(indptr, indices, weights, n, n, True, report, cuts=cuts)


def _check_opposites(folder: str, csr: tuple, first: int, count: int, cuts: np.ndarray, ranks: Alone) -> None:
    """Refuse edges without their opposite, as far as a sample shows; the own edges begin with number `first`.

    Each edge of the sample goes to the process that has the row of its other end.
    """
    indptr, indices, weights = csr
    begin = int(cuts[ranks.rank])
    drawn = np.arange(count) if count <= SAMPLE else np.sort(np.random.default_rng(0).integers(0, count, SAMPLE))
    at = drawn[(drawn >= first) & (drawn < first + indices.size)] - first
    tails, heads = np.searchsorted(indptr, at, side="right") - 1 + begin, indices[at].astype(np.int64)
    owner = np.searchsorted(cuts[1:], heads, side="right")
    edges = at + first, tails, heads, weights[at]
    asked = [tuple(one[owner == rank] for one in edges) for rank in range(ranks.count)]
    numbers, tails, heads, wanted = (np.concatenate(some) for some in zip(*ranks.exchange(asked)))
    low, high = (indptr[heads - begin + k].astype(np.int64) for k in (0, 1))
    ends = high
    while (low < high).any():  # where row `head` has the column `tail`
        middle = (low + high) // 2
        before = (low < high) & (indices[np.minimum(middle, indices.size - 1)] < tails)
        low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
    there = low < ends
    there[there] = indices[low[there]] == tails[there]
    right = there.copy()
    found, wanted = weights[low[there]], wanted[there]
    right[there] = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    first_wrong = np.flatnonzero(~right)[:1]
    told = [(int(numbers[k]), bool(there[k]), int(tails[k]), int(heads[k])) for k in first_wrong]
    wrong = sorted(one for some in ranks.gather(told) for one in some)
    if wrong:
        _, is_there, u, v = wrong[0]
        raise FormatError(os.path.join(folder, WEIGHTS if is_there else COLUMNS), None,
                          f"{u} -> {v} and {v} -> {u} differ in weight" if is_there else
                          f"{u} -> {v} is there, but not {v} -> {u}: both directions of every edge were wanted")


def _own_rows(folder: str, n: int, count: int, ranks: Alone) -> tuple[np.ndarray, np.ndarray | None]:
    """Offsets of the own rows, once all offsets are known to rise, and where each process's rows begin."""
    wrong = FormatError(os.path.join(folder, ROWS), None, f"wanted offsets that rise from 0 to {count:,}, the edges")
    if n < 0:
        raise wrong
    share = ranks.share(n)
    indptr = _array(folder, ROWS, share[0], share[1] + 1)
    starts, ends = not ranks.first or indptr[0] == 0, not ranks.last or indptr[-1] == count
    if not (starts and ends) or (indptr[1:] < indptr[:-1]).any():
        raise wrong
    if ranks.count == 1:
        return indptr, None
    inner = ranks.total(below_shares(ranks, indptr[1:], count))  # all have come here: no offsets are wrong
    cuts = np.concatenate(([0], inner, [n]))
    own = cuts[ranks.rank], cuts[ranks.rank + 1]
    return indptr if own == share else _array(folder, ROWS, own[0], own[1] + 1), cuts
