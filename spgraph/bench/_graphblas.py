"""python-graphblas (SuiteSparse:GraphBLAS): the texts that are timed.

BFS is written three ways: push (the frontier a list), pull (the frontier a bitmap, through the transpose),
and switching between the two by the rule of LAGraph's BFS (T. Davis et al., https://github.com/GraphBLAS/LAGraph).
SSSP: Bellman-Ford over the changed vertices, and near-far delta-stepping with several widths.
PageRank: one product per iteration, over the edges of the graph or of its transpose.
"""

from __future__ import annotations

import math
from functools import partial

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, select, semiring, unary

from spgraph.bench._problem import Problem, Text

__all__ = ["NAME", "texts", "version"]

NAME = "python-graphblas"
ALPHA, BETA_PULL, BETA_PUSH = 8, 8, 512


def version() -> str:
    """Version of the package."""
    return gb.__version__


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    gb.ss.config["nthreads"] = problem.threads
    return {"bfs": _bfs_texts, "sssp": _sssp_texts, "pagerank": _pagerank_texts}[problem.algorithm](problem)


def _pattern(problem: Problem) -> Matrix:
    indptr, indices, _ = problem.csr
    return problem.kept("graphblas pattern", lambda: Matrix.from_csr(indptr, indices, True, ncols=problem.n))


def _transpose(problem: Problem) -> Matrix:
    A = _pattern(problem)
    return problem.kept("graphblas transpose", lambda: _transposed(A))


def _transposed(A: Matrix) -> Matrix:
    AT = A.T.new()
    return A if AT.isequal(A) else AT


# ---- BFS --------------------------------------------------------------------------
def _bfs_texts(problem: Problem) -> dict[str, Text]:
    A, AT = _pattern(problem), _transpose(problem)
    degree = A.reduce_rowwise(monoid.plus["INT64"]).new()
    source = problem.source

    def parents(result: Vector) -> np.ndarray:
        return result.to_dense(fill_value=-1)

    return {
        "push": Text(lambda: _bfs_one_way(A, None, source), parents),
        "pull": Text(lambda: _bfs_one_way(A, AT, source), parents),
        "push-pull": Text(lambda: _bfs_switching(A, AT, degree, source), parents),
    }


def _bfs_one_way(A: Matrix, AT: Matrix | None, source: int) -> Vector:
    """Push through A, or pull through AT if there is one."""
    parent = Vector(np.int64, A.nrows)
    parent[source] = source
    frontier = parent.dup()
    if AT is not None:
        frontier.ss.config["sparsity_control"] = "bitmap"
    for _ in range(A.nrows):
        if AT is None:
            frontier(~parent.S, replace=True) << frontier.vxm(A, semiring.ss.any_secondi)
        else:
            frontier(~parent.S, replace=True) << AT.mxv(frontier, semiring.ss.any_secondi)
        if not frontier.nvals:
            break
        parent(frontier.S) << frontier
    return parent


def _bfs_switching(A: Matrix, AT: Matrix, degree: Vector, source: int) -> Vector:
    n = A.nrows
    parent = Vector(np.int64, n)
    parent[source] = source
    frontier = parent.dup()
    unexplored, last, size = A.nvals, 0, 1
    push = watching = True
    pulled = False
    while size:
        growing = size > last
        if push and watching:
            if unexplored < n:
                watching = False  # little is left: pulling cannot pay
            elif pulled:
                push = not (growing and size > n / BETA_PULL)
            else:
                edges = _edges_of(frontier, degree)
                unexplored -= edges
                push = not (growing and edges > unexplored / ALPHA)
        elif not push and not growing and size <= n / BETA_PUSH:
            push = True
        frontier.ss.config["sparsity_control"] = "sparse" if push else "bitmap"
        if push:
            frontier(~parent.S, replace=True) << frontier.vxm(A, semiring.ss.any_secondi)
        else:
            pulled = True
            frontier(~parent.S, replace=True) << AT.mxv(frontier, semiring.ss.any_secondi)
        last, size = size, frontier.nvals
        parent(frontier.S) << frontier
    return parent


def _edges_of(frontier: Vector, degree: Vector) -> int:
    """Number of edges that leave the frontier."""
    return binary.second(frontier & degree).reduce(monoid.plus).get(0)


# ---- SSSP -------------------------------------------------------------------------
def _sssp_texts(problem: Problem) -> dict[str, Text]:
    indptr, indices, values = problem.csr
    A = problem.kept(
        f"graphblas weights {problem.dtype}",
        lambda: Matrix.from_csr(indptr, indices, values, ncols=problem.n),
    )
    source = problem.source

    def distances(result: Vector) -> np.ndarray:
        indices, values = result.to_coo()
        dense = np.full(problem.n, math.inf)
        dense[indices] = values
        return dense

    texts = {"bellman-ford": Text(lambda: _bellman_ford(A, source), distances)}
    if A.nvals and values.min() >= 0:
        mean, degree = float(values.mean()), A.nvals / A.nrows
        for factor in (2, 8, 32):
            delta = max(mean * factor * (8 if degree < 8 else 8 / degree), 1e-9)
            width = math.ceil(delta) if problem.dtype.kind == "i" else delta
            texts[f"near-far, delta {delta:.4g}"] = Text(partial(_near_far, A, source, width), distances)
    return texts


def _relax(A: Matrix, dist: Vector, near: Vector) -> None:
    """Lower distances by one step from `near`, which then holds those that changed."""
    reached = near.vxm(A, semiring.min_plus).new()
    known = binary.le(dist & reached).new()
    near(~known.V, replace=True) << reached  # absent in `known`, or False: better
    dist(binary.min) << near


def _bellman_ford(A: Matrix, source: int) -> Vector:
    dist = Vector(A.dtype, A.nrows)
    dist[source] = 0
    near = dist.dup()
    while near.nvals:
        _relax(A, dist, near)
    return dist


def _near_far(A: Matrix, source: int, delta: float) -> Vector:
    dist = Vector(A.dtype, A.nrows)
    dist[source] = 0
    near = dist.dup()
    typed = A.dtype.np_type.type  # valuelt over FP32 misreads a limit in FP64
    limit = typed(delta)
    while near.nvals:
        _relax(A, dist, near)
        near << select.valuelt(near, limit)
        while not near.nvals:
            waiting = select.valuege(dist, limit).new()
            if not waiting.nvals:
                break
            limit = typed(max(limit, waiting.reduce(monoid.min).get(0)) + delta)
            near << select.valuelt(waiting, limit)
    return dist


# ---- PageRank ---------------------------------------------------------------------
def _pagerank_texts(problem: Problem) -> dict[str, Text]:
    def typed(A: Matrix) -> Matrix:
        return A.dup(problem.dtype)

    A, AT = _pattern(problem), _transpose(problem)
    out = A.reduce_rowwise(monoid.plus[problem.dtype]).new(problem.dtype)
    A_typed = problem.kept(f"graphblas pattern {problem.dtype}", lambda: typed(A))
    AT_typed = A_typed if AT is A else problem.kept(f"graphblas transpose {problem.dtype}", lambda: typed(AT))

    def ranks(result: Vector) -> np.ndarray:
        return result.to_dense().astype(np.float64)

    def along(r: Vector, w: Vector) -> None:  # through the rows of A
        r(binary.plus) << w.vxm(A_typed, semiring.plus_first[problem.dtype])

    def against(r: Vector, w: Vector) -> None:  # through the rows of the transpose
        r(binary.plus) << AT_typed.mxv(w, semiring.plus_second[problem.dtype])

    return {
        "vxm, plus_first": Text(lambda: _pagerank(out, along, problem), ranks),
        "mxv, plus_second": Text(lambda: _pagerank(out, against, problem), ranks),
    }


def _pagerank(out: Vector, follow, problem: Problem) -> Vector:
    n, alpha, dtype = problem.n, problem.alpha, problem.dtype.type
    rank, new, flow = (Vector(problem.dtype, n) for _ in range(3))
    rank << dtype(1 / n)
    share = out.apply(binary.truediv, left=dtype(alpha)).new()
    idle = Vector(bool, n)
    idle(~out.S) << True
    for _ in range(problem.iterations):
        flow << binary.times(rank & share)
        lost = binary.first(rank & idle).reduce(monoid.plus).get(0) if idle.nvals else 0
        new << dtype((1 - alpha + alpha * lost) / n)
        follow(new, flow)
        rank << binary.minus(new & rank)
        rank << unary.abs(rank)
        rank.reduce(monoid.plus).get(0)  # the residual, which every engine computes
        rank, new = new, rank
    return rank
