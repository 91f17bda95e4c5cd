"""How tests call `sg.algorithms`: the only place that knows the shapes of calls and results.

Answers come back as NumPy arrays over all vertices, -1 (or infinity) where there is no entry.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


def bfs(sg: Any, A: Any, source: Any) -> np.ndarray:
    level = sg.algorithms.bfs(A, source)
    assert level.dtype == "INT32"
    return level.to_dense(fill_value=-1)


def bfs_parents(sg: Any, A: Any, source: Any) -> np.ndarray:
    parent = sg.algorithms.bfs_parents(A, source)
    assert parent.dtype == "INT64"
    return parent.to_dense(fill_value=-1)


def sssp(sg: Any, A: Any, source: Any, **options: Any) -> np.ndarray:
    dist = sg.algorithms.sssp(A, source, **options)
    return _distances(dist)


def sssp_parents(sg: Any, A: Any, source: Any) -> tuple[np.ndarray, np.ndarray]:
    dist, parent = sg.algorithms.sssp_parents(A, source)
    assert parent.dtype == "INT64"
    return _distances(dist), parent.to_dense(fill_value=-1)


def _distances(dist: Any) -> np.ndarray:
    return dist.to_dense(fill_value=np.inf if dist.dtype.name.startswith("FP") else -1)


@dataclasses.dataclass(frozen=True)
class Ranks:
    values: np.ndarray
    iterations: int
    residual: float
    converged: bool


def pagerank(sg: Any, A: Any, **options: Any) -> Ranks:
    result = sg.algorithms.pagerank(A, **options)
    assert result.nvals == result.size
    return Ranks(result.to_dense(), result.iterations, result.residual, result.converged)


def check_tree(rows: np.ndarray, cols: np.ndarray, level: np.ndarray, parent: np.ndarray, source: int) -> None:
    """Parents are valid: arcs of the graph from one level to the next, and the source is its own."""
    reached = np.flatnonzero(level >= 0)
    assert np.array_equal(np.flatnonzero(parent >= 0), reached)
    assert parent[source] == source
    below = reached[reached != source]
    n = max(level.size, 1)
    assert np.isin(parent[below] * n + below, rows * n + cols).all()
    assert np.array_equal(level[parent[below]] + 1, level[below])
