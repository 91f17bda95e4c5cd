"""python-graphblas (SuiteSparse:GraphBLAS): the texts that are timed.

BFS is written three ways: push (the frontier a list), pull (the frontier a bitmap, through the transpose),
and switching between the two by the rule of LAGraph's BFS (T. Davis et al., https://github.com/GraphBLAS/LAGraph).
SSSP: Bellman-Ford over the changed vertices, and near-far delta-stepping with several widths; its tree is found
afterwards, by a search along the edges that end shortest paths.
PageRank: one product per iteration, over the edges of the graph or of its transpose.
Components: FastSV over the whole graph, and as LAGraph has it: over four edges a vertex, then over what is outside
the component that most vertices are in; hooking by a product or by NumPy. Triangles: Sandia's products, by rows and by
dots, vertices as they are or by rising degree.
Betweenness: all sources as a matrix of frontiers, by the statements of LAGraph's,
and spgraph's own text, for all sources together and one by one.
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
        "betweenness": _betweenness_texts,
        "components": _component_texts,
        "triangles": _triangle_texts,
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


# ---- betweenness ------------------------------------------------------------------
def _betweenness_texts(problem: Problem) -> dict[str, Text]:
    A, AT = _pattern(problem), _transpose(problem)
    sources = problem.sources

    def one_by_one(number: int) -> Vector:
        total = Vector.from_scalar(0, problem.n, problem.dtype)
        for source in sources[:number]:
            total(binary.plus) << _shares_of(A, AT, Vector.from_coo([source], 1, problem.dtype, size=problem.n))
        return total

    def together(number: int) -> Vector:
        return _shares_of(A, AT, _rows(sources[:number], problem)).reduce_columnwise(monoid.plus).new()

    runs = {
        "batched": lambda number: _brandes(A, AT, _rows(sources[:number], problem)),
        "batched, shares": together,
        "one by one, shares": one_by_one,
    }

    def answer(total: Vector) -> Answer:
        return Answer(centrality=total.to_dense(fill_value=0))

    return {name: Text(run, answer) for name, run in runs.items()}


def _rows(sources: list[int], problem: Problem) -> Matrix:
    """A matrix with one row for each source, which has a 1 there."""
    number = len(sources)
    return Matrix.from_coo(range(number), sources, 1, problem.dtype, nrows=number, ncols=problem.n)


def _brandes(A: Matrix, AT: Matrix, paths: Matrix) -> Vector:
    """Path counts forward, dependencies backward; `centre` is dense from the start, as LAGraph has it."""
    dtype = paths.dtype
    follow = semiring.plus_first[dtype]
    front = Matrix(dtype, *paths.shape)
    front(~paths.S) << follow(paths @ A)
    levels = []
    while front.nvals:
        levels.append(front.dup(bool))
        paths(binary.plus) << front
        front(~paths.S, replace=True) << follow(front @ A)
    centre = Matrix.from_scalar(1, *paths.shape, dtype=dtype)
    work = Matrix(dtype, *paths.shape)
    for depth in range(len(levels) - 1, 0, -1):
        work(levels[depth].S, replace=True) << binary.truediv(centre & paths)
        work(levels[depth - 1].S, replace=True) << follow(work @ AT)
        centre(binary.plus) << binary.times(work & paths)
    total = Vector.from_scalar(-paths.nrows, paths.ncols, dtype)
    total(binary.plus) << centre.reduce_columnwise(monoid.plus)
    return total


def _shares_of(A: Matrix, AT: Matrix, paths):
    """Dependencies, of a vector with one source or a matrix with one in each row; see `algorithms.betweenness`."""
    dtype = paths.dtype
    follow = semiring.plus_first[dtype]
    front, fronts = paths.dup(), []
    while front.nvals:
        fronts.append(front)
        front = follow(front @ A).new(mask=~paths.S)
        paths(binary.second) << front
    share = paths.apply(unary.minv).new()
    while len(fronts) > 2:
        ended = binary.second(fronts.pop() & share).new()
        share(fronts[-1].S, binary.plus) << follow(ended @ AT)
    return binary.times(share & paths).new().apply(binary.minus, right=1).new(dtype)


# ---- components -------------------------------------------------------------------
FEW, SAMPLE = 4, 1024  # edges of a vertex and labels that are looked at


def _undirected(problem: Problem) -> Matrix:
    A, AT = _pattern(problem), _transpose(problem)
    return A if AT is A else problem.kept("graphblas undirected", lambda: binary.pair(A | AT).new(bool))


def _component_texts(problem: Problem) -> dict[str, Text]:
    A = _undirected(problem)
    hooks = {"product": _hook_by_product, "NumPy": _hook_by_numpy}

    def answer(label: Vector) -> Answer:
        return Answer(label=label.to_dense())

    return {
        f"{name}, hooks by {how}": Text(partial(run, A, hook), answer)
        for name, run in (("FastSV", _fastsv), ("FastSV, sampled", _sampled_fastsv))
        for how, hook in hooks.items()
    }


def _fastsv(A: Matrix, hook, source: int) -> Vector:
    parent = Vector.from_dense(np.arange(A.nrows, dtype=np.uint32))
    _hook_all(A, parent, hook)
    return parent


def _sampled_fastsv(A: Matrix, hook, source: int) -> Vector:
    parent = Vector.from_dense(np.arange(A.nrows, dtype=np.uint32))
    if not A.nvals:  # of a 1 x 1 matrix without entries, selectk makes an error
        return parent
    _hook_all(A.ss.selectk("first", FEW), parent, hook)
    drawn = parent[np.random.default_rng(0).integers(0, A.nrows, SAMPLE)].new().to_coo()[1]
    labels, counts = np.unique(drawn, return_counts=True)
    outside = select.valuene(parent, labels[counts.argmax()]).new()
    if outside.nvals:  # what is not seen from inside is seen from outside
        rows = semiring.any_second(unary.one(outside).new(bool).diag() @ A).new()
        _hook_all(binary.pair(rows | rows.T).new(bool), parent, hook)
    return parent


def _hook_all(A: Matrix, parent: Vector, hook) -> None:
    """FastSV's rounds until grandparents stay (Y. Zhang, A. Azad, Z. Hu, 2020)."""
    grand, low = parent.dup(), parent.dup()
    above = parent.to_coo(indices=False)[1]
    while True:
        low(binary.min) << A.mxv(grand, semiring.min_second)
        hook(parent, above, low)
        parent(binary.min) << low
        parent(binary.min) << grand
        above = parent.to_coo(indices=False)[1]
        new = parent[above].new()
        if new.isequal(grand):
            return
        grand = new


def _hook_by_product(parent: Vector, above: np.ndarray, low: Vector) -> None:
    """parent[above[v]] min= low[v]; any number of vertices have the same parent."""
    hooks = Matrix.from_csr(np.arange(above.size + 1), above, True, ncols=parent.size)
    parent(binary.min) << low.vxm(hooks, semiring.min_first)


def _hook_by_numpy(parent: Vector, above: np.ndarray, low: Vector) -> None:
    dense = parent.to_dense()
    np.minimum.at(dense, above, low.to_dense())
    parent << Vector.from_dense(dense)


# ---- triangles --------------------------------------------------------------------
def _triangle_texts(problem: Problem) -> dict[str, Text]:
    A = _undirected(problem)
    return {
        f"{name}, {'by degree' if presort else 'natural'}": Text(
            partial(_triangles, A, presort, dots), lambda total: Answer(total=total)
        )
        for name, dots in (("L L by rows", False), ("U U' by dots", True))
        for presort in (False, True)
    }


def _triangles(A: Matrix, presort: bool, dots: bool, source: int) -> int:
    if presort:
        degree = A.reduce_rowwise(monoid.plus["INT64"]).new().to_dense(fill_value=0)
        order = np.argsort(degree, kind="stable")
        A = A[order, order].new()
    half = select.triu(A, 1).new() if dots else select.tril(A, -1).new()
    count = semiring.plus_pair(half @ (half.T if dots else half)).new(mask=half.S)
    return int(count.reduce_scalar(monoid.plus, allow_empty=False).new().value)
