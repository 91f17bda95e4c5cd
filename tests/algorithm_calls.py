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


def betweenness(sg: Any, A: Any, *args: Any, **options: Any) -> np.ndarray:
    result = sg.algorithms.betweenness_centrality(A, *args, **options)
    assert result.nvals == result.size
    assert result.dtype == options.get("dtype", np.float64)
    return result.to_dense()


def components(sg: Any, A: Any) -> np.ndarray:
    label = sg.algorithms.connected_components(A)
    assert label.dtype == "INT64"
    assert label.nvals == label.size
    return label.to_dense()


def triangles(sg: Any, A: Any, **options: Any) -> np.ndarray:
    count = sg.algorithms.triangles(A, **options)
    assert count.dtype == "INT64"
    assert count.nvals == count.size
    return count.to_dense()


def core_number(sg: Any, A: Any, **options: Any) -> np.ndarray:
    core = sg.algorithms.core_number(A, **options)
    assert core.dtype == "INT64"
    assert core.nvals == core.size
    return core.to_dense()


def independent_set(sg: Any, A: Any, **options: Any) -> np.ndarray:
    """Whether each vertex is a member."""
    member = sg.algorithms.maximal_independent_set(A, **options)
    assert member.dtype == "BOOL"
    return member.to_dense(fill_value=False)


def spanning_forest(sg: Any, A: Any) -> Any:
    """A SciPy array."""
    forest = sg.algorithms.minimum_spanning_forest(A)
    assert forest.dtype == A.dtype
    S = sg.io.to_scipy(forest)
    assert abs(S - S.T).sum() == 0
    return S.astype(np.float64)


def check_tree(rows: np.ndarray, cols: np.ndarray, level: np.ndarray, parent: np.ndarray, source: int) -> None:
    """Parents are valid: arcs of the graph from one level to the next, and the source is its own."""
    reached = np.flatnonzero(level >= 0)
    assert np.array_equal(np.flatnonzero(parent >= 0), reached)
    assert parent[source] == source
    below = reached[reached != source]
    n = max(level.size, 1)
    assert np.isin(parent[below] * n + below, rows * n + cols).all()
    assert np.array_equal(level[parent[below]] + 1, level[below])
