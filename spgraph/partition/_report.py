"""What a partition costs: balance, edges cut, border, and the time that it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spgraph.kernels.device import HOST
from spgraph.partition._choice import assign
from spgraph.partition._order import lay_out
from spgraph.partition._pattern import check_pattern

__all__ = ["Report", "report"]


@dataclass(frozen=True, eq=False)
class Report:
    """What a partition is like; `report` makes one.

    Attributes
    ----------
    name : str
    parts : int
    vertices, edges : array of int64, shape (parts,)
        How many vertices each part owns, and how many stored edges (entries of their rows) it holds.
    cut : int
        Stored edges whose ends have different owners.
    border : int
        Pairs (vertex, part) of a part that holds an edge to a vertex and does not own it: what the exchange pays for.
    pairs : array of int64, shape (parts, parts)
        The border by owner and by part that needs: pairs[p, d] values go from p to d when p shares, as many
        partial results from d to p when d reduces.
    seconds : float
        That it took to find the owners; 0 if they were given.
    owner : array of unsigned int, shape (n,)
    """

    name: str
    parts: int
    vertices: np.ndarray
    edges: np.ndarray
    cut: int
    pairs: np.ndarray
    seconds: float
    owner: np.ndarray = field(repr=False)

    @property
    def border(self) -> int:
        """Distinct pairs of a vertex and a part that needs but does not own it."""
        return int(self.pairs.sum())

    @property
    def vertex_balance(self) -> float:
        """Vertices of the largest part by those of the mean; 1 is even."""
        return _balance(self.vertices)

    @property
    def edge_balance(self) -> float:
        """Stored edges of the largest part by those of the mean; 1 is even."""
        return _balance(self.edges)

    def __str__(self) -> str:
        n, m = int(self.vertices.sum()), int(self.edges.sum())
        lines = [
            f"{self.name}: {n:,} vertices and {m:,} stored edges in {self.parts} parts, {self.seconds:.2f} s",
            f"  balance  {self.vertex_balance:.3f} of vertices, {self.edge_balance:.3f} of edges (largest / mean)",
            f"  cut      {self.cut:,} edges ({self.cut / max(m, 1):.1%})",
            f"  border   {self.border:,} values, {self.border / max(n, 1):.2f} per vertex",
        ]
        if 1 < self.parts <= 16:
            width = max(len(f"{max(self.pairs.max(), self.edges.max()):,}"), 8)
            head = "".join(f"{f'to {d}':>{width + 1}}" for d in range(self.parts))
            lines.append(f"  part {'vertices':>{width}} {'edges':>{width}}{head}")
            lines += [
                f"  {p:>4} {self.vertices[p]:>{width},} {self.edges[p]:>{width},}"
                + "".join(f"{value if p != d else '':>{width + 1},}" if p != d else " " * (width + 1)
                          for d, value in enumerate(self.pairs[p]))
                for p in range(self.parts)
            ]  # fmt: skip
        return "\n".join(line.rstrip() for line in lines)


def report(partition: Any, indptr: Any, indices: Any, parts: int, *, seed: int = 0) -> Report:
    """Find the owners, and say what they cost.

    One pass over the edges, in which a part asks for each remote vertex once; memory of some bytes per vertex.

    Parameters
    ----------
    partition : str, callable or array of int, shape (n,)
        As `assign` takes it; an array of owners is reported as it is.
    indptr, indices : array of int
        Pattern of a square matrix, as CSR arrays of NumPy.
    parts : int
    seed : int

    Returns
    -------
    Report

    Examples
    --------
    >>> import spgraph as sg
    >>> from spgraph import partition
    >>> indptr, indices, _ = sg.generators.path(4).to_csr()
    >>> print(partition.report([0, 0, 1, 1], indptr, indices, 2))
    array: 4 vertices and 6 stored edges in 2 parts, 0.00 s
      balance  1.000 of vertices, 1.000 of edges (largest / mean)
      cut      2 edges (33.3%)
      border   2 values, 0.50 per vertex
      part vertices    edges     to 0     to 1
         0        2        3                 1
         1        2        3        1
    """
    indptr, indices = check_pattern(indptr, indices)
    start = time.perf_counter()
    owner = assign(partition, indptr, indices, parts, seed=seed)
    seconds = time.perf_counter() - start
    given = not isinstance(partition, str) and not callable(partition)
    n = owner.size
    starts, order = lay_out(owner, parts)
    order = np.arange(n) if order is None else order
    ends = np.zeros(n + 1, np.int64)
    np.cumsum(np.diff(indptr)[order], out=ends[1:])
    pairs = np.zeros(parts * parts, np.int64)
    kernel = HOST.kernel("deal.count_border", {}, {})
    asked = np.zeros(n, np.min_scalar_type(parts))
    cut = kernel(n + indices.size, 0, n, order, indptr, indices, owner, parts, asked, pairs)
    return Report(
        _name(partition),
        parts,
        np.diff(starts),
        np.diff(ends[starts]),
        int(cut),
        pairs.reshape(parts, parts),
        0.0 if given else seconds,
        owner,
    )


def _name(partition: Any) -> str:
    if isinstance(partition, str):
        return partition
    function = getattr(partition, "func", partition)  # of a functools.partial
    return getattr(function, "__name__", "function" if callable(partition) else "array")


def _balance(counts: np.ndarray) -> float:
    return float(counts.max() / counts.mean()) if counts.any() else 1.0
