"""NetworkX: the functions of the same names. Graphs are dictionaries, so only small ones are tried."""

from __future__ import annotations

import networkx as nx
import numpy as np

from spgraph import algorithms, io
from spgraph.bench._problem import Problem, Text

__all__ = ["LARGEST", "NAME", "texts", "version"]

NAME = "networkx"
LARGEST = 300_000  # stored edges


def version() -> str:
    """Version of the package."""
    return nx.__version__


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    G = problem.kept("networkx", lambda: _graph(problem))
    source, n = problem.source, problem.n
    if problem.algorithm == "bfs":
        return {
            "bfs_predecessors": Text(
                lambda: dict(nx.bfs_predecessors(G, source)),
                lambda found: _dense({**found, source: source}, n, -1, np.int64),
            )
        }
    if problem.algorithm == "sssp":
        return {
            "single_source_dijkstra_path_length": Text(
                lambda: nx.single_source_dijkstra_path_length(G, source),
                lambda found: _dense(found, n, np.inf, np.float64),
            )
        }
    # NetworkX stops at a tolerance only: give it the one that is met after so many iterations
    ours = algorithms.pagerank(
        problem.graph,
        problem.alpha,
        weighted=False,
        max_iter=problem.iterations,
        tol=0,
        fail_on_nonconvergence=False,
    )
    tol = max(ours.residual, 1e-15) * (1 + 1e-6) / n
    return {
        "pagerank": Text(
            lambda: nx.pagerank(G, problem.alpha, weight=None, max_iter=problem.iterations + 1, tol=tol),
            lambda found: _dense(found, n, 0, np.float64),
        )
    }


def _graph(problem: Problem):
    symmetric = problem.graph.T.isequal(problem.graph)
    return io.to_networkx(problem.graph, labels=range(problem.n), directed=not symmetric)


def _dense(found: dict, n: int, fill, dtype) -> np.ndarray:
    dense = np.full(n, fill, dtype)
    dense[list(found)] = list(found.values())
    return dense
