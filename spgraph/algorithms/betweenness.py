"""Betweenness centrality, exact or from some sources.

Method: U. Brandes (J. Math. Sociology 25, 2001), level by level: forward the shortest paths are counted, backward the
dependencies added up, each by one masked product a level whose direction the engine chooses. Sources go one by one as
vectors, or many at once as the rows of matrices (A. Buluc, J. Gilbert, IJHPCA 25, 2011).
Encoding: `paths` has an entry for what is reached, the number of shortest paths from the source; `fronts` holds the
same by level. Instead of a dependency d(v), `share` = d(v) / paths(v) is kept: the sum of 1 / paths(w) + share(w) over
v's successors w, in which nothing is multiplied.
Several devices: sources are shared out where the graph fits on each, else all work on each source.
Numbers: floating point; a source that has more paths than fit is done again with wide exponents, see `_counts`.
Work: O(m) per source at most; O(n) memory per source of a batch; border values: a level's vertices, twice.
"""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np

from spgraph import binary, monoid, tasks, unary
from spgraph.algorithms._counts import BIAS, Numbers, floats, wide
from spgraph.algorithms._inputs import as_float, as_sources, of_graph
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["betweenness_centrality"]

TOGETHER = 1 << 20  # entries of a matrix of frontiers at most, where the choice is ours
ROOM = 33  # bytes for a vertex and a source of those done at once
MANY, ENOUGH = 256, 16  # its rows at most, and at least: with fewer, vectors are faster


@of_graph
def betweenness_centrality(A, k: int | None = None, *, sources=None, normalized: bool = True, endpoints: bool = False,
                           directed: bool | None = None, seed=None, batch: int | None = None, dtype=np.float64,
                           spread: str = "auto") -> Vector:
    """How many shortest paths pass through every vertex: the sum over pairs (s, t) of the share that does.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the edge i -> j; values do not matter, self-loops have no effect.
    k : int, optional
        Estimate from so many random sources. Default: exact, from all.
    sources : list of int, optional
        Only the paths from these.
    normalized : bool
        Divide by the number of pairs that a path through the vertex may join. If False, values are those of all
        paths, estimated for `k` as NetworkX does, or plain sums over the given `sources`.
    endpoints : bool
        Count the ends of a path as passed.
    directed : bool, optional
        False: an undirected path counts once, not twice, where `normalized` is False and no `sources` are given.
        Default: whether an edge lacks its opposite.
    seed : int or random.Random, optional
        Of the choice of `k` sources; a number chooses the vertices that NetworkX chooses.
    batch : int, optional
        Sources done at once, as a matrix of frontiers with `batch` rows. Default: one by one as vectors, but many
        where the graph is small. Results are the same within rounding.
    dtype : dtype
        float64 or float32, of the result and of path counts.
    spread : {"auto", "sources", "graph"}
        How several devices share the work: each holds a copy of the graph and does some of the sources, or all go
        through the graph in parts together, source by source. "auto": the first where each device has a source and
        memory for a copy. Results are the same within rounding.

    Returns
    -------
    Vector of `dtype`, size n, full
        Always finite. (For a sole source of an estimate, about which there is no data, NetworkX gives NaN and we 0.)

    Raises
    ------
    IndexOutOfBound
        If a source is not a vertex.
    InvalidValue
        If an argument is out of range, or a source has more than 2^524286 shortest paths to a vertex.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.betweenness_centrality(sg.generators.star(5)).to_dense()
    array([1., 0., 0., 0., 0.])
    """
    n, dtype = A.nrows, as_float("betweenness_centrality", dtype)
    starts = _starts(A, k, sources, seed)
    batch = _rows(n) if batch is None else _count("batch", batch, None)

    def work(copy, several):
        return _dependencies(copy, several, batch, dtype, endpoints)

    if _spreads(A, spread, len(starts), ROOM * n * batch):
        total, *others = tasks.spread(A, starts, work)
        for other in others:
            total(binary.plus) << other
    else:
        total = tasks.finish(work(A, starts))
    if normalized or sources is None:
        halved = not normalized and not (_is_directed(A) if directed is None else directed)
        _rescale(total, starts, normalized, endpoints, halved)
    return total


def _dependencies(A: Matrix, starts: list[int], batch: int, dtype: np.dtype, endpoints: bool):
    """What passes through each vertex on paths from `starts`. Yields in every level, see `tasks`."""
    total = _zeros(dtype, A.nrows)
    numbers = floats(dtype)
    for begin in range(0, len(starts), batch):
        several = starts[begin:begin + batch]
        if not (yield from _add_dependencies(A, several, total, numbers, endpoints)):
            numbers = wide()
            if not (yield from _add_dependencies(A, several, total, numbers, endpoints)):
                raise InvalidValue(f"betweenness_centrality: more than 2^{BIAS - 2} shortest paths to one vertex, from "
                                   f"a source among {several}")
    return total


def _add_dependencies(A: Matrix, starts: list[int], total: Vector, numbers: Numbers, endpoints: bool):
    """Add what passes through each vertex on paths from `starts`; False, and nothing, if the counts are too large."""
    dtype, one, last, add, follow, along, passed = numbers
    batched = len(starts) > 1
    paths: Any
    if batched:
        paths = Matrix.from_coo(range(len(starts)), starts, one, dtype, nrows=len(starts), ncols=A.nrows)
    else:
        paths = Vector.from_coo(starts, one, dtype, size=A.nrows)

    def step(front, A):  # by methods, which take half as long as `follow(front @ A)`, with thousands of small steps
        return front.mxm(A, follow) if batched else front.vxm(A, follow)

    front, fronts = paths.dup(), []
    while front.nvals:
        fronts.append(front)
        front = step(front, A).new(mask=~paths.S)  # q<!s(paths)> = q plus.first A
        paths(binary.second) << front
        yield
    largest = paths.reduce_scalar(monoid.max) if batched else paths.reduce(monoid.max)
    if not largest.new().value < last:
        return False
    share = paths.apply(binary.second, right=dtype.type(0)).new() if batched else _zeros(dtype, A.nrows)
    while len(fronts) > 2:
        ended = fronts.pop().ewise_mult(share, along).new(dtype)
        share(fronts[-1].S, add) << step(ended, A.T)  # share<s(level d - 1)> += (level d) plus.first A'
        yield
    dependency = passed(paths & share)
    if endpoints:
        dependency = dependency.apply(binary.plus, right=1)
    total(binary.plus) << (dependency.reduce_columnwise(monoid.plus) if batched else dependency)
    if endpoints:  # a source counts with every vertex that it reaches, and has been counted once
        reached = paths.reduce_rowwise("count").new().to_coo()[1] if batched else np.array([paths.nvals])
        total(binary.plus)[starts] << Vector.from_dense(reached - 2)
    return True


def _zeros(dtype: np.dtype, size: int) -> Vector:
    zeros = Vector(dtype, size)
    zeros << dtype.type(0)
    return zeros


def _rescale(total: Vector, starts: list[int], normalized: bool, endpoints: bool, halved: bool) -> None:
    """Divide by the number of pairs, or estimate the sum over all sources, as NetworkX does."""
    many, some = total.size if endpoints else total.size - 1, len(starts)
    if many < 2:
        return
    number = total.dtype.np_type.type
    factor = 1 / (many - 1) if normalized else many / (2 if halved else 1)
    exact = some == total.size
    own = total[starts].new()
    total << total.apply(binary.times, right=number(factor / (many if exact else some)))
    if not exact and not endpoints:  # a source is not passed on its own paths: one less has told of it
        total[starts] << own.apply(binary.times, right=number(factor / max(some - 1, 1)))


def _starts(A: Matrix, k, sources, seed) -> list[int]:
    """The sources as a list of vertices."""
    if sources is None:
        if k is None:
            return list(range(A.nrows))
        chance = seed if isinstance(seed, random.Random) else random.Random(seed)
        return chance.sample(range(A.nrows), _count("k", k, A.nrows))
    if k is not None:
        raise InvalidValue("betweenness_centrality: k and sources were both given, but one of them was wanted")
    starts = as_sources("betweenness_centrality", A, sources)
    if not starts or len(set(starts)) < len(starts):
        raise InvalidValue(f"betweenness_centrality: sources is {sources!r}, wanted one vertex or more, each once")
    return starts


def _spreads(A: Matrix, spread: str, jobs: int, room: int) -> bool:
    if spread not in ("auto", "sources", "graph"):
        raise InvalidValue(f"betweenness_centrality: spread is {spread!r}, wanted 'auto', 'sources' or 'graph'")
    return spread == "sources" or (spread == "auto" and tasks.fit(A, jobs, room))


def _rows(n: int) -> int:
    rows = min(TOGETHER // max(n, 1), MANY)
    return rows if rows >= ENOUGH else 1


def _count(name: str, given, most: int | None) -> int:
    try:
        count = operator.index(given)
    except TypeError:
        count = 0
    if count < 1 or (most is not None and count > most):
        wanted = "of 1 or more" if most is None else f"in [1, {most}], the number of vertices"
        raise InvalidValue(f"betweenness_centrality: {name} is {given!r}, wanted an integer {wanted}")
    return count


def _is_directed(A: Matrix) -> bool:
    if A.symmetric:  # else values may differ, which do not matter
        return False
    pattern = A.apply(unary.one).new(bool)
    return not pattern.T.isequal(pattern)
