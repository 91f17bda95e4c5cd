"""SciPy: csgraph for BFS and SSSP, a sparse product per iteration for PageRank."""

from __future__ import annotations

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse import csgraph

from spgraph.bench._problem import Problem, Text

__all__ = ["NAME", "texts", "version"]

NAME = "scipy"


def version() -> str:
    """Version of the package."""
    return scipy.__version__


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    return {"bfs": _bfs_texts, "sssp": _sssp_texts, "pagerank": _pagerank_texts}[problem.algorithm](problem)


def _csr(problem: Problem, dtype) -> sp.csr_array:
    """The graph; csgraph works in float64 and would convert at every call."""

    def make():
        indptr, indices, values = problem.csr
        return sp.csr_array((values.astype(dtype), indices, indptr), shape=(problem.n, problem.n))

    return problem.kept(f"scipy {problem.algorithm == 'pagerank'} {np.dtype(dtype)}", make)


def _bfs_texts(problem: Problem) -> dict[str, Text]:
    A, source = _csr(problem, np.float64), problem.source

    def parents(result) -> np.ndarray:
        found = np.where(result[1] < 0, -1, result[1]).astype(np.int64)
        found[source] = source
        return found

    return {
        "breadth_first_order": Text(
            lambda: csgraph.breadth_first_order(A, source, directed=True, return_predecessors=True), parents
        )
    }


def _sssp_texts(problem: Problem) -> dict[str, Text]:
    A, source = _csr(problem, np.float64), problem.source
    return {"dijkstra": Text(lambda: csgraph.dijkstra(A, directed=True, indices=source), np.asarray)}


def _pagerank_texts(problem: Problem) -> dict[str, Text]:
    def make():
        indptr, indices, _ = problem.csr
        ones = np.ones(indices.size, problem.dtype)
        return sp.csr_array((ones, indices, indptr), shape=(problem.n, problem.n)).T.tocsr()

    AT = problem.kept(f"scipy transpose {problem.dtype}", make)
    out = np.diff(problem.csr[0])

    def float64(ranks) -> np.ndarray:
        return ranks.astype(np.float64)

    return {"A.T @ r": Text(lambda: _pagerank(AT, out, problem), float64)}


def _pagerank(AT: sp.csr_array, out: np.ndarray, problem: Problem) -> np.ndarray:
    n, alpha, dtype = problem.n, problem.alpha, problem.dtype.type
    share = np.zeros(n, dtype)
    np.divide(dtype(alpha), out, out=share, where=out > 0)
    idle = np.flatnonzero(out == 0)
    rank = np.full(n, 1 / n, dtype)
    for _ in range(problem.iterations):
        flow = rank * share
        new = AT @ flow
        new += dtype((1 - alpha + alpha * rank[idle].sum()) / n)
        np.abs(new - rank).sum()  # the residual, which every engine computes
        rank = new
    return rank
