"""spgraph itself, as one of the engines."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import algorithms
from spgraph.bench._arrays import dense
from spgraph.bench._problem import Answer, Problem, Text
from spgraph.matrix import Matrix

__all__ = ["NAME", "text", "texts"]

NAME = "spgraph"


def text(problem: Problem, A: Matrix) -> Text:
    """The algorithm on `A`, which is the problem's graph in one of the orders."""
    return {
        "bfs": Text(lambda source: algorithms.bfs(A, source), lambda level: Answer(level=dense(level, -1))),
        "bfs_parents": Text(
            lambda source: algorithms.bfs_parents(A, source), lambda parent: Answer(parent=dense(parent, -1))
        ),
        "sssp": Text(
            lambda source: algorithms.sssp(A, source, dtype=problem.dtype),
            lambda distance: Answer(distance=dense(distance, np.inf)),
        ),
        "sssp_parents": Text(lambda source: algorithms.sssp_parents(A, source, dtype=problem.dtype), _tree),
        "pagerank": Text(
            lambda iterations: algorithms.pagerank(
                A,
                problem.alpha,
                weighted=False,
                tol=0,
                max_iter=iterations,
                dtype=problem.dtype,
                fail_on_nonconvergence=False,
            ),
            lambda rank: Answer(rank=dense(rank, 0)),
        ),
        "components": Text(
            lambda source: algorithms.connected_components(A), lambda label: Answer(label=dense(label, -1))
        ),
        "triangles": Text(
            lambda source: algorithms.triangle_count(A, symmetrize=True), lambda total: Answer(total=total)
        ),
        "betweenness": Text(
            lambda number: algorithms.betweenness_centrality(
                A, sources=problem.sources[:number], normalized=False, dtype=problem.dtype
            ),
            lambda centrality: Answer(centrality=dense(centrality, 0)),
        ),
    }[problem.algorithm]


def texts(problem: Problem, A: Matrix) -> dict[str, Text]:
    """The one text by name, as peers have them."""
    return {"algorithms": text(problem, A)}


def _tree(result: tuple[Any, Any]) -> Answer:
    distance, parent = result
    return Answer(distance=dense(distance, np.inf), parent=dense(parent, -1))
