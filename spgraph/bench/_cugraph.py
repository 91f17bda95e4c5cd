"""cuGraph: what is timed.

Two ways to call it: its C API (what its Python functions call in the end; the faster) and pylibcugraph (what
its users call). The graph is built before, renumbered by degree as is cuGraph's default; weights and ranks are
float32. BFS comes direction-optimising (undirected graphs only) and top-down.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from spgraph.bench import _cugraph_api
from spgraph.bench._arrays import csr_of
from spgraph.bench._problem import Answer, Problem, Text
from spgraph.validate._edges import library

__all__ = ["NAME", "ON_GPU", "synchronize", "texts", "version"]

NAME = "cugraph"
ON_GPU = True


def version() -> str:
    """Version of the package; raises if it cannot be used."""
    return _cugraph_api.version()


def synchronize() -> None:
    """Wait for the GPU."""
    _cugraph_api.synchronize()


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    return {
        f"{name}{how}": text
        for name, api in _cugraph_api.apis().items()
        for how, text in _texts_of(problem, name, api).items()
    }


def _texts_of(problem: Problem, name: str, api: Any) -> dict[str, Text]:
    parents = problem.algorithm.endswith("_parents")
    if problem.algorithm == "pagerank":
        graph = _graph(problem, name, api, weighted=False, transposed=True)
        ranks = _answer_values(problem, "rank")
        return {"": Text(lambda iterations: api.pagerank(graph, problem.alpha, iterations), ranks)}
    if problem.algorithm == "betweenness":
        graph = _graph(problem, name, api, weighted=False, transposed=False)
        starts = api.vertices(problem.sources)  # on the device, before the clock starts
        return {"": Text(lambda number: api.betweenness(graph, starts), _answer_values(problem, "centrality"))}
    if problem.algorithm in ("components", "triangles"):
        if not problem.symmetric:
            return {}  # it takes undirected graphs only
        graph = _graph(problem, name, api, weighted=False, transposed=False)
        if problem.algorithm == "components":
            return {"": Text(lambda source: api.components(graph), _answer_values(problem, "label"))}
        return {"": Text(lambda source: api.triangles(graph), _answer_count)}
    graph = _graph(problem, name, api, weighted=True, transposed=False)
    if problem.algorithm.startswith("sssp"):
        return {"": Text(lambda source: api.sssp(graph, source, parents), _answer(problem, "distance", parents))}
    ready = {source: api.vertices([source]) for source in problem.sources}  # on the device, before the clock starts
    ways = {", direction-optimising": True, ", top-down": False} if problem.symmetric else {", top-down": False}

    def search(optimise: bool, source: int) -> Any:
        return api.bfs(graph, ready[source], optimise, parents)

    return {how: Text(partial(search, optimise), _answer(problem, "level", parents)) for how, optimise in ways.items()}


def _graph(problem: Problem, name: str, api: Any, *, weighted: bool, transposed: bool) -> Any:
    def edges() -> tuple[Any, Any, Any]:
        xp = api.xp
        indptr, indices, values = (xp.asarray(array) for array in csr_of(problem.graph))
        numbers = xp.arange(indices.size, dtype=indptr.dtype)
        rows = (xp.searchsorted(indptr, numbers, side="right") - 1).astype(np.int32)
        return rows, indices.astype(np.int32, copy=False), values.astype(np.float32, copy=False)

    def make() -> Any:
        rows, cols, weights = problem.kept("cugraph edges", edges)
        return api.graph(problem.n, rows, cols, weights if weighted else None, problem.symmetric, transposed)

    return problem.kept(f"cugraph {name} {weighted} {transposed}", make)


def _answer(problem: Problem, what: str, parents: bool) -> Callable[[Any], Answer]:
    """Levels or distances by vertex, and parents if they were asked for; cuGraph gives them by its own numbers."""

    def answer(result: Any) -> Answer:
        vertices, values, *rest = result.arrays()
        xp, n = library(vertices), problem.n
        absent: Any = -1
        if what == "level":
            reached = values != np.iinfo(values.dtype).max
        else:
            absent, reached = np.inf, values < np.finfo(values.dtype).max
        dense = xp.full(n, absent, values.dtype)
        dense[vertices] = xp.where(reached, values, values.dtype.type(absent))
        if not parents:
            return Answer(**{what: dense})
        before, parent = rest[0], xp.full(n, -1, np.int64)
        roots = reached & (before < 0)  # the source has no predecessor there, and itself here
        parent[vertices] = xp.where(roots, vertices, xp.where(reached, before, -1))
        return Answer(**{what: dense}, parent=parent)

    return answer


def _answer_values(problem: Problem, what: str) -> Callable[[Any], Answer]:
    def answer(result: Any) -> Answer:
        vertices, values = result.arrays()
        dense = library(vertices).zeros(problem.n, values.dtype)
        dense[vertices] = values
        return Answer(**{what: dense})

    return answer


def _answer_count(result: Any) -> Answer:
    """Every triangle is counted at three vertices."""
    _, counts = result.arrays()
    return Answer(total=int(counts.astype(np.int64).sum()) // 3)
