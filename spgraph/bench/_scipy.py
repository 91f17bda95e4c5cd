"""SciPy: csgraph for BFS, SSSP and components, a sparse product per iteration for PageRank and one for triangles."""

from __future__ import annotations

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse import csgraph

from spgraph.bench._problem import Answer, Problem, Text

__all__ = ["NAME", "texts", "version"]

NAME = "scipy"


def version() -> str:
    """Version of the package."""
    return scipy.__version__


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    if problem.algorithm == "pagerank":
        return _pagerank_texts(problem)
    if problem.algorithm == "betweenness":
        return {}  # it has none
    A = _csr(problem)
    return {
        "components": lambda: {
            "connected_components": Text(
                lambda source: csgraph.connected_components(A, not problem.symmetric, "weak")[1],
                lambda label: Answer(label=label),
            )
        },
        "triangles": lambda: _triangle_texts(problem),
        "bfs": lambda: {"breadth_first_order, levels": Text(lambda source: _levels(A, source), Answer)},
        "bfs_parents": lambda: {"breadth_first_order": Text(lambda source: (_search(A, source), source), _parents)},
        "sssp": lambda: {
            "dijkstra": Text(lambda source: csgraph.dijkstra(A, indices=source), lambda found: Answer(distance=found))
        },
        "sssp_parents": lambda: {"dijkstra": Text(lambda source: (_shortest(A, source), source), _tree)},
    }[problem.algorithm]()


def _csr(problem: Problem) -> sp.csr_array:
    """The graph; csgraph works in float64 and would convert at every call."""

    def make():
        indptr, indices, values = problem.csr
        return sp.csr_array((values.astype(np.float64), indices, indptr), shape=(problem.n, problem.n))

    return problem.kept("scipy", make)


def _search(A: sp.csr_array, source: int):
    return csgraph.breadth_first_order(A, source, directed=True, return_predecessors=True)


def _levels(A: sp.csr_array, source: int) -> np.ndarray:
    """Levels, which SciPy does not give: those of the vertices in the order of the search never fall."""
    order, before = _search(A, source)
    place = np.empty(A.shape[0], np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    parents = place[before[order[1:]]]  # where in the order the parents of its vertices are: ascending
    level = np.full(A.shape[0], -1, np.int32)
    start, stop, depth = 0, 1, 0
    while start < stop:
        level[order[start:stop]] = depth
        start, stop, depth = stop, 1 + int(np.searchsorted(parents, stop)), depth + 1
    return level


def _shortest(A: sp.csr_array, source: int):
    return csgraph.dijkstra(A, indices=source, return_predecessors=True)


def _rooted(before: np.ndarray, source: int) -> np.ndarray:
    parent = np.where(before < 0, -1, before).astype(np.int64)
    parent[source] = source
    return parent


def _parents(found) -> Answer:
    (_, before), source = found
    return Answer(parent=_rooted(before, source))


def _tree(found) -> Answer:
    (distance, before), source = found
    return Answer(distance=distance, parent=_rooted(before, source))


def _pagerank_texts(problem: Problem) -> dict[str, Text]:
    def make():
        indptr, indices, _ = problem.csr
        ones = np.ones(indices.size, problem.dtype)
        return sp.csr_array((ones, indices, indptr), shape=(problem.n, problem.n)).T.tocsr()

    AT = problem.kept(f"scipy transpose {problem.dtype}", make)
    out = np.diff(problem.csr[0])
    return {
        "A.T @ r": Text(lambda iterations: _pagerank(AT, out, problem, iterations), lambda rank: Answer(rank=rank))
    }


def _pagerank(AT: sp.csr_array, out: np.ndarray, problem: Problem, iterations: int) -> np.ndarray:
    n, alpha, dtype = problem.n, problem.alpha, problem.dtype.type
    share = np.zeros(n, dtype)
    np.divide(dtype(alpha), out, out=share, where=out > 0)
    idle = np.flatnonzero(out == 0)
    rank = np.full(n, 1 / n, dtype)
    for _ in range(iterations):
        flow = rank * share
        new = AT @ flow
        new += dtype((1 - alpha + alpha * rank[idle].sum()) / n)
        np.abs(new - rank).sum()  # the residual, which every engine computes
        rank = new
    return rank


def _triangle_texts(problem: Problem) -> dict[str, Text]:
    def make() -> sp.csr_array:
        indptr, indices, _ = problem.csr
        A = sp.csr_array((np.ones(indices.size, np.int64), indices, indptr), shape=(problem.n, problem.n))
        return A if problem.symmetric else (A + A.T).sign()

    A = problem.kept("scipy undirected", make)
    return {"(L @ L) * L": Text(lambda source: _triangles(A), lambda total: Answer(total=total))}


def _triangles(A: sp.csr_array) -> int:
    L = sp.csr_array(sp.tril(A, -1))
    return int((L @ L).multiply(L).sum())
