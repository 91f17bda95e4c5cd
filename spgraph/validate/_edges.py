"""What is validated: the edges of any kind of graph, in pieces, and arrays over its vertices.

Data encoding: `Rows` is a CSR, whose pieces are ranges of entries; `EdgeList` an undirected
list, whose pieces are slices, each given in both directions. A piece is (rows, columns, weights);
weights are an array, or one number for all. `name` says what problems call a vertex.
"""

from __future__ import annotations

import copy
import operator
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound

__all__ = ["EdgeList", "Rows", "as_edges", "as_ids", "as_values", "check_source", "each_piece"]

PIECE = {True: 1 << 20, False: 1 << 26}  # edges: on the host (for its caches and threads), on a device (few launches)


def library(array: Any) -> Any:
    """The module whose functions take `array`: NumPy, or CuPy."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


def narrow(n: int) -> type:
    """Type of vertex numbers, and of levels up to n + 1."""
    return np.int64 if n >= 2**31 - 2 else np.int32


class EdgeList:
    """The edges of an undirected graph as they were drawn: in any order, each once, duplicates and self-loops allowed.

    Parameters
    ----------
    n : int
        Number of vertices.
    rows, cols : array of int, shape (m,)
        NumPy or CuPy.
    weights : array, shape (m,), optional
        Default: 1 for each edge.

    Examples
    --------
    >>> import numpy as np
    >>> from spgraph.validate import validate_bfs
    >>> graph = EdgeList(3, np.array([0, 2, 2]), np.array([1, 1, 2]))
    >>> report = validate_bfs(graph, 0, [0, 0, 1])
    >>> report.ok, report.edges
    (True, 3)
    """

    def __init__(self, n: int, rows: Any, cols: Any, weights: Any = None):
        self.n = n
        self.rows = rows
        self.cols = cols
        self.weights = np.True_ if weights is None else weights
        self.xp = library(rows)
        self.name: Callable[[int], Any] = int

    def pieces(self) -> list[tuple[slice, bool]]:
        """Keys of the pieces: a slice, and whether it is turned round."""
        return [(some, turned) for some in _slices(self.rows.size, self.xp) for turned in (False, True)]

    def load(self, key: Any) -> tuple[Any, Any, Any]:
        """Rows, columns and weights of a piece."""
        some, turned = key
        ends = self.rows[some], self.cols[some]
        return *(ends[::-1] if turned else ends), _part(self.weights, some)

    def count(self, inside: Any) -> int:
        """Edges whose first end is inside: Graph500's count, where all of a component is inside."""
        slices = _slices(self.rows.size, self.xp)
        return sum(int(self.xp.count_nonzero(inside[self.rows[some]])) for some in slices)


class Rows:
    """A CSR with the interface of `EdgeList`."""

    def __init__(self, indptr: Any, indices: Any, weights: Any, xp: Any):
        self.n = indptr.size - 1
        self.indptr = indptr
        self.indices = indices.astype(narrow(self.n), copy=False)
        self.weights = weights
        self.xp = xp
        self.name: Callable[[int], Any] = int

    def pieces(self) -> list[slice]:
        """Keys of the pieces."""
        return _slices(self.indices.size, self.xp)

    def load(self, key: Any) -> tuple[Any, Any, Any]:
        """Rows, columns and weights of a piece."""
        return self._rows(key.start, key.stop), self.indices[key], _part(self.weights, key)

    def _rows(self, start: int, stop: int) -> Any:
        """The row of every entry from `start` to `stop`."""
        xp, dtype = self.xp, self.indices.dtype
        if xp is not np:  # CuPy repeats by numbers of the host only
            entries = xp.arange(start, stop, dtype=self.indptr.dtype)
            return (xp.searchsorted(self.indptr, entries, side="right") - 1).astype(dtype)
        low, high = np.searchsorted(self.indptr, (start, stop - 1), side="right") - 1
        borders = np.clip(self.indptr[low : high + 2], start, stop)
        return np.repeat(np.arange(low, high + 1, dtype=dtype), np.diff(borders))

    def count(self, inside: Any) -> int:
        """Entries in the rows that are inside."""
        return int(self.xp.diff(self.indptr)[inside].sum())


def _slices(count: int, xp: Any) -> list[slice]:
    size = PIECE[xp is np]
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


def _part(weights: Any, some: slice) -> Any:
    return weights if weights.ndim == 0 else weights[some]


def each_piece(edges: EdgeList | Rows, look: Callable) -> list:
    """``look(rows, cols, weights)`` for every piece, in order; on the host by all cores: NumPy lets go of the GIL."""
    if edges.xp is not np:
        return [look(*edges.load(key)) for key in edges.pieces()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda key: look(*edges.load(key)), edges.pieces()))


def as_edges(graph: Any, where: str, labels: Any = None) -> EdgeList | Rows:
    """Any kind of graph, checked, and with names for its vertices if it has `labels`, its own or these."""
    edges = graph if isinstance(graph, EdgeList) else _as_rows(graph, where)
    labels = getattr(graph, "labels", None) if labels is None else labels
    if labels is None:
        return edges
    if len(labels) != edges.n:
        raise DimensionMismatch(f"{where}: there are {len(labels)} labels, but the graph has {edges.n} vertices")
    named = copy.copy(edges)
    named.name = lambda vertex: labels[int(vertex)] if 0 <= vertex < edges.n else vertex  # wrong parents are anything
    return named


def _as_rows(graph: Any, where: str) -> Rows:
    parts: Any
    if hasattr(graph, "tocsr"):
        csr = graph.tocsr()
        parts = (csr.indptr, csr.indices, csr.data)
    else:
        parts = graph.to_csr() if hasattr(graph, "to_csr") else tuple(map(_as_array, graph))
    indptr, indices = parts[:2]
    nrows, ncols = getattr(graph, "shape", (indptr.size - 1, indptr.size - 1))
    if nrows != ncols:
        raise DimensionMismatch(f"{where}: the matrix is {nrows} x {ncols}, wanted a square one")
    return Rows(indptr, indices, parts[2] if len(parts) == 3 else np.True_, library(indptr))


def _as_array(array: Any) -> Any:
    return array if hasattr(array, "dtype") else np.asarray(array)


def check_source(source: Any, n: int, where: str) -> int:
    """`source` as a vertex number."""
    try:
        number = operator.index(source)
    except TypeError:
        number = -1
    if not 0 <= number < n:
        raise IndexOutOfBound(f"{where}: source: got {source!r}, wanted a vertex of 0..{n - 1}")
    return number


def _dense(vector: Any, edges: EdgeList | Rows, name: str, where: str) -> tuple[Any, Any]:
    """All values, where the edges are, and for a Vector which of them there are."""
    xp, n = edges.xp, edges.n
    present: Any = None
    if hasattr(vector, "to_coo"):
        indices, values = vector.to_coo()
        array, present = np.zeros(vector.size, values.dtype), np.zeros(vector.size, bool)
        array[indices], present[indices] = values, True
        array, present = xp.asarray(array), xp.asarray(present)
    elif xp is np and hasattr(vector, "get"):  # CuPy's
        array = vector.get()
    else:
        array = xp.asarray(vector)
    if array.shape != (n,):
        raise DimensionMismatch(f"{where}: {name} has shape {array.shape}, the graph has {n} vertices")
    return array, present


def as_ids(vector: Any, edges: EdgeList | Rows, name: str, where: str) -> Any:
    """Parents or levels over all vertices, -1 where there are none."""
    array, present = _dense(vector, edges, name, where)
    if array.dtype.kind not in "iu" and array.size:
        raise DomainMismatch(f"{where}: {name} has dtype {array.dtype}, wanted integers")
    ids = array.astype(np.int64)
    return ids if present is None else edges.xp.where(present, ids, -1)


def as_values(vector: Any, edges: EdgeList | Rows, name: str, where: str) -> tuple[Any, Any]:
    """Distances over all vertices, and which of them are there."""
    array, present = _dense(vector, edges, name, where)
    if present is None:
        present = edges.xp.isfinite(array) if array.dtype.kind == "f" else array >= 0
    return array, present
