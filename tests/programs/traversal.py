"""Breadth-first search, in the ways people write it."""


def bfs_levels(gb, A, source):
    level = gb.Vector(int, A.nrows)
    frontier = gb.Vector.from_coo([source], [True], size=A.nrows)
    depth = 0
    while frontier.nvals > 0:
        level(frontier.S) << depth
        # f<!s(level), replace> = f any.pair A
        frontier(~level.S, replace=True) << frontier.vxm(A, gb.semiring.any_pair)
        depth += 1
    return level


def bfs_levels_dense(gb, A, source):
    """The C API's textbook version: dense integer levels, a value mask, `lor_land`, 0 for unvisited."""
    level = gb.Vector.from_scalar(0, A.nrows, dtype="INT32")
    frontier = gb.Vector(bool, A.nrows)
    frontier[source] = True
    depth, more = 0, True
    while more:
        depth += 1
        level(frontier.V) << depth
        frontier(~level.V, replace=True) << gb.semiring.lor_land(frontier @ A)
        more = frontier.reduce(gb.monoid.lor, allow_empty=False).new().value
    return level


def bfs_pull_levels(gb, A, source):
    """By rows of the transpose: A.T @ f."""
    level = gb.Vector("UINT8", A.nrows)
    frontier = gb.Vector.from_coo([source], True, size=A.nrows)
    depth = 0
    while frontier.nvals:
        level(mask=frontier.S) << depth
        frontier(mask=~level.S, replace=True) << A.T.mxv(frontier, gb.semiring.any_pair)
        depth += 1
    return level


def bfs_parents(gb, A, source):
    """Parents by a positional semiring: the smallest frontier vertex wins, so that the answer is unique."""
    parent = gb.Vector.from_coo([source], [source], dtype="INT64", size=A.nrows)
    frontier = parent.dup()
    while frontier.nvals:
        # f<!s(parent), replace> = f min.secondi A ; secondi is the row of A that the value came through
        frontier(~parent.S, replace=True) << frontier.vxm(A, gb.semiring.ss.min_secondi)
        parent(frontier.S) << frontier
    return parent


def bfs_any_parents(gb, A, source):
    """The same with `any`: a valid parent, not always the same one."""
    parent = gb.Vector.from_coo([source], [source], dtype="INT64", size=A.nrows)
    frontier = parent.dup()
    while frontier.nvals:
        frontier(~parent.S, replace=True) << frontier.vxm(A, gb.semiring.ss.any_secondi)
        parent(frontier.S) << frontier
    return parent


def bfs_parents_by_value(gb, A, source):
    """Without positional operators: the frontier's values are its own indices."""
    n = A.nrows
    identity = gb.Vector.from_coo(range(n), range(n), dtype=int, size=n)
    parent = gb.Vector(int, n)
    parent[source] = source
    wavefront = gb.Vector.from_coo([source], [source], dtype=int, size=n)
    while wavefront.nvals:
        wavefront(~parent.S, replace=True) << gb.semiring.min_first(wavefront @ A)
        parent(gb.binary.second) << wavefront
        wavefront(wavefront.S) << identity
    return parent


def bfs_many(gb, A, sources):
    """One BFS per source at once: a frontier matrix with one row each; the answer has all distances."""
    k = len(sources)
    levels = gb.Matrix(int, k, A.ncols)
    frontier = gb.Matrix.from_coo(range(k), sources, True, nrows=k, ncols=A.ncols)
    depth = 0
    while frontier.nvals:
        levels(frontier.S) << depth
        frontier(~levels.S, replace=True) << frontier.mxm(A, gb.semiring.any_pair)
        depth += 1
    return levels, levels.reduce_rowwise(gb.monoid.max).new()


def topological_levels(gb, A):
    """Longest path from a source in the acyclic part of a directed graph (Kahn's algorithm by levels)."""
    n = A.nrows
    indegree = gb.Vector.from_scalar(0, n, dtype=int)
    indegree(gb.binary.plus) << A.reduce_columnwise(gb.agg.count)
    level = gb.Vector(int, n)
    ready = gb.select.value(indegree == 0).new()
    depth = 0
    while ready.nvals:
        level(ready.S) << depth
        removed = ready.vxm(A, gb.semiring.plus_pair).new()
        indegree(removed.S, accum=gb.binary.minus) << removed
        ready(~level.S, replace=True) << gb.select.value(indegree == 0)
        depth += 1
    return level
