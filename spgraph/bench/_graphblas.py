"""python-graphblas (SuiteSparse:GraphBLAS): the texts that are timed.

BFS is written three ways: push (the frontier a list), pull (the frontier a bitmap, through the transpose),
and switching between the two by the rule of LAGraph's BFS (T. Davis et al., https://github.com/GraphBLAS/LAGraph).
SSSP: Bellman-Ford over the changed vertices, and near-far delta-stepping with several widths; its tree is found
afterwards, by a search along the edges that end shortest paths.
PageRank: one product per iteration, over the edges of the graph or of its transpose.
"""

from __future__ import annotations

import math
from functools import partial

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, select, semiring, unary

from spgraph.bench._problem import Answer, Problem, Text

__all__ = ["NAME", "texts", "version"]

NAME = "python-graphblas"
ALPHA, BETA_PULL, BETA_PUSH = 8, 8, 512


def version() -> str:
    """Version of the package."""
    return gb.__version__


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    gb.ss.config["nthreads"] = problem.threads
    return {
        "bfs": _level_texts,
        "bfs_parents": _parent_texts,
        "sssp": _distance_texts,
        "sssp_parents": _tree_texts,
        "pagerank": _pagerank_texts,
    }[problem.algorithm](problem)


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
def _level_texts(problem: Problem) -> dict[str, Text]:
    return _bfs_texts(problem, np.int32, lambda level: Answer(level=level.to_dense(fill_value=-1)))


def _parent_texts(problem: Problem) -> dict[str, Text]:
    return _bfs_texts(problem, np.int64, lambda parent: Answer(parent=parent.to_dense(fill_value=-1)))


def _bfs_texts(problem: Problem, dtype, answer) -> dict[str, Text]:
    A, AT = _pattern(problem), _transpose(problem)
    degree = A.reduce_rowwise(monoid.plus["INT64"]).new()
    return {
        "push": Text(lambda source: _bfs_one_way(A, None, source, dtype), answer),
        "pull": Text(lambda source: _bfs_one_way(A, AT, source, dtype), answer),
        "push-pull": Text(lambda source: _bfs_switching(A, AT, degree, source, dtype), answer),
    }


class _Search:
    """What has been found, levels (int32) or parents (int64), and the frontier."""

    def __init__(self, n: int, source: int, dtype):
        self.levels = dtype == np.int32
        self.found = Vector(dtype, n)
        self.found[source] = 0 if self.levels else source
        self.frontier = Vector.from_coo([source], True if self.levels else source, size=n)
        self.semiring = semiring.any_pair if self.levels else semiring.ss.any_secondi
        self.depth = 0

    def step(self, A: Matrix, AT: Matrix | None) -> int:
        """Push through A, or pull through AT if there is one; returns the size of the new frontier."""
        found, frontier = self.found, self.frontier
        if AT is None:
            frontier(~found.S, replace=True) << frontier.vxm(A, self.semiring)
        else:
            frontier(~found.S, replace=True) << AT.mxv(frontier, self.semiring)
        self.depth += 1
        size = frontier.nvals
        if size:
            found(frontier.S) << (self.depth if self.levels else frontier)
        return size


def _bfs_one_way(A: Matrix, AT: Matrix | None, source: int, dtype) -> Vector:
    search = _Search(A.nrows, source, dtype)
    if AT is not None:
        search.frontier.ss.config["sparsity_control"] = "bitmap"
    while search.step(A, AT):
        pass
    return search.found


def _bfs_switching(A: Matrix, AT: Matrix, degree: Vector, source: int, dtype) -> Vector:
    n = A.nrows
    search = _Search(n, source, dtype)
    frontier = search.frontier
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
        pulled |= not push
        last, size = size, search.step(A, None if push else AT)
    return search.found


def _edges_of(frontier: Vector, degree: Vector) -> int:
    """Number of edges that leave the frontier."""
    return binary.second(frontier & degree).reduce(monoid.plus).get(0)


# ---- SSSP -------------------------------------------------------------------------
def _distance_texts(problem: Problem) -> dict[str, Text]:
    return {
        name: Text(search, lambda dist: Answer(distance=_distances(dist)))
        for name, search in _searches(problem).items()
    }


def _tree_texts(problem: Problem) -> dict[str, Text]:
    A = _weights(problem)

    def both(search):
        def run(source: int) -> tuple[Vector, Vector]:
            dist = search(source)
            return dist, _tree(A, dist, source)

        return run

    def answer(result: tuple[Vector, Vector]) -> Answer:
        dist, parent = result
        return Answer(distance=_distances(dist), parent=parent.to_dense(fill_value=-1))

    return {f"{name}, then a tree": Text(both(search), answer) for name, search in _searches(problem).items()}


def _weights(problem: Problem) -> Matrix:
    def make() -> Matrix:
        indptr, indices, values = problem.csr
        return Matrix.from_csr(indptr, indices, values, ncols=problem.n)

    return problem.kept(f"graphblas weights {problem.dtype}", make)


def _distances(dist: Vector) -> np.ndarray:
    indices, values = dist.to_coo()
    dense = np.full(dist.size, math.inf)
    dense[indices] = values
    return dense


def _searches(problem: Problem) -> dict:
    A, values = _weights(problem), problem.csr[2]
    texts = {"bellman-ford": partial(_bellman_ford, A)}
    if A.nvals and values.min() >= 0:
        mean, degree = float(values.mean()), A.nvals / A.nrows
        for factor in (2, 8, 32):
            delta = max(mean * factor * (8 if degree < 8 else 8 / degree), 1e-9)
            width = math.ceil(delta) if problem.dtype.kind == "i" else delta
            texts[f"near-far, delta {delta:.4g}"] = partial(_near_far, A, width)
    return texts


def _tree(A: Matrix, dist: Vector, source: int) -> Vector:
    """Parents, by a search along the edges that end shortest paths."""
    D = dist.diag()
    through = semiring.any_plus(D @ A).new(dist.dtype)
    arrival = semiring.any_second(A @ D).new(dist.dtype)
    tight = select.valueeq(binary.eq(through & arrival).new(), True).new()
    return _bfs_one_way(tight, None, source, np.int64)


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


def _near_far(A: Matrix, delta: float, source: int) -> Vector:
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

    def along(r: Vector, w: Vector) -> None:  # through the rows of A
        r(binary.plus) << w.vxm(A_typed, semiring.plus_first[problem.dtype])

    def against(r: Vector, w: Vector) -> None:  # through the rows of the transpose
        r(binary.plus) << AT_typed.mxv(w, semiring.plus_second[problem.dtype])

    return {
        name: Text(partial(_pagerank, out, follow, problem), lambda rank: Answer(rank=rank.to_dense()))
        for name, follow in (("vxm, plus_first", along), ("mxv, plus_second", against))
    }


def _pagerank(out: Vector, follow, problem: Problem, iterations: int) -> Vector:
    n, alpha, dtype = problem.n, problem.alpha, problem.dtype.type
    rank, new, flow = (Vector(problem.dtype, n) for _ in range(3))
    rank << dtype(1 / n)
    share = out.apply(binary.truediv, left=dtype(alpha)).new()
    idle = Vector(bool, n)
    idle(~out.S) << True
    for _ in range(iterations):
        flow << binary.times(rank & share)
        lost = binary.first(rank & idle).reduce(monoid.plus).get(0) if idle.nvals else 0
        new << dtype((1 - alpha + alpha * lost) / n)
        follow(new, flow)
        rank << binary.minus(new & rank)
        rank << unary.abs(rank)
        rank.reduce(monoid.plus).get(0)  # the residual, which every engine computes
        rank, new = new, rank
    return rank
