"""spgraph itself, as one of the engines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spgraph import algorithms
from spgraph.bench._problem import Problem, Text
from spgraph.matrix import Matrix

__all__ = ["NAME", "text"]

NAME = "spgraph"


def text(problem: Problem, A: Matrix) -> Text:
    """The algorithm on `A`, which is the problem's graph in one of the orders."""
    calls: dict[str, tuple[Callable, Callable]] = {
        "bfs": (
            lambda: algorithms.bfs_parents(A, problem.source),
            lambda parent: parent.to_dense(fill_value=-1),
        ),
        "sssp": (lambda: algorithms.sssp(A, problem.source, dtype=problem.dtype), _distances),
        "pagerank": (
            lambda: algorithms.pagerank(
                A,
                problem.alpha,
                weighted=False,
                tol=0,
                max_iter=problem.iterations,
                dtype=problem.dtype,
                fail_on_nonconvergence=False,
            ),
            lambda rank: rank.to_dense().astype(np.float64),
        ),
    }
    return Text(*calls[problem.algorithm])


def _distances(dist) -> np.ndarray:
    dense = np.full(dist.size, np.inf)
    vertices, values = dist.to_coo()
    dense[vertices] = values
    return dense
