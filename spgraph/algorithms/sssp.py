"""Single-source shortest paths: distances and a tree, by delta-stepping.

Method: buckets of width delta (U. Meyer, P. Sanders, J. Algorithms 49, 2003) in
the near-far form (A. Davidson et al., IPDPS 2014): vertices nearer than the
limit are relaxed until nothing changes below it, then the limit moves on. No far
set is kept: a vertex waits exactly if its distance is not below the limit. With
negative weights the limit is infinite, which is Bellman-Ford's algorithm over
the changed vertices only.
Encoding: `dist` has an entry exactly for the reached vertices; `near` holds the
distances that the last relaxation lowered below the limit.
Work: O(m) per superstep at most, in practice a small multiple of m in all;
border values: the changed distances, once per superstep.
"""

from __future__ import annotations

import math
import numbers
from functools import cache
from typing import Any

import numpy as np

from spgraph import binary, dtypes, monoid, select, semiring, unary
from spgraph.algorithms._inputs import as_source, of_graph
from spgraph.algorithms.bfs import bfs_parents
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["distances_and_tree", "sssp", "sssp_parents", "weights_to_add"]

LARGEST = np.iinfo(np.int64).max
# A bucket that relaxes fewer than this share of all vertices is not worth its supersteps: the next is twice as wide.
# One that relaxes hardly any vertex a second time is much narrower than it need be. Neither says anything at the start,
# nor while buckets double what is reached: on the way from a leaf to the hubs all are small, and the one that meets
# these must be narrow.
# Roads have many small ones and pay for wide ones: a CPU, whose supersteps cost as much as 1,000 edges, before a GPU.
SMALL = 1 / 32
START = 1 / 8  # of SMALL
AGAIN, WIDER = 1 / 8, 4
SMALL_ON_ROADS = {True: 1 / 4096, False: 1 / 256}  # by whether it is a CPU
ROAD_WIDTH = {True: 18, False: 24}  # mean weights that the first bucket on a road spans, likewise
WIDE_UP_TO = 1 << 28  # edges, on a GPU
LEAST_WIDE, MOST_WIDE = 1 / 2, 4
ROAD_DEGREE = 8  # graphs of a smaller mean degree are like roads
# min that does not pass over NaN, and a plus that stays at the end of int64
nan_min = monoid.register_anonymous(np.minimum, np.inf)
capped_plus = semiring.register_anonymous(
    monoid.min, lambda x, y: np.where(x > LARGEST - y, LARGEST, x + y))


# A distance and a vertex as one number that compares by distance first. A float64 has 29 bits more than a float32:
# there the vertex goes, as a multiple of 2^-52 of the distance (between one and two units of the last place: the sum is
# exact up to half a unit, and other vertices give other numbers). Edges that add nothing come last of all, but for the
# `late` form, which takes them, too.
FLOAT_BITS, INT_BITS = 28, 31
STEP = 2.0**-52  # of a float64's mantissa


def _join_float(x, y, ix, jx, iy, jy):
    through = x + y
    wide = through.astype(np.float64)
    return np.where(through > x, wide + wide * (iy * STEP), np.inf)


def _join_late_float(x, y, ix, jx, iy, jy):
    wide = (x + y).astype(np.float64)
    return np.where(wide < np.inf, wide + wide * (iy * STEP), np.inf)


def _part_float(x, y):
    k = np.rint((x - y) / (y * STEP))
    return np.where((k >= 0) & (k < 1 << FLOAT_BITS), k, -1).astype(np.int64)


def _join_int(x, y, ix, jx, iy, jy):
    through = (x + y).astype(np.int64)
    return np.where((y > 0) & (x < LARGEST), np.left_shift(through, INT_BITS) | iy, LARGEST)


def _join_late_int(x, y, ix, jx, iy, jy):
    return np.where(x < LARGEST, np.left_shift((x + y).astype(np.int64), INT_BITS) | iy, LARGEST)


def _part_int(x, y):
    return np.where(np.right_shift(x, INT_BITS) == y, x & ((1 << INT_BITS) - 1), -1)


@cache
def _packing(kind: str):
    """The two semirings that join and the operator that takes apart; made when first used."""
    join, late, part = ((_join_float, _join_late_float, _part_float) if kind == "f" else
                        (_join_int, _join_late_int, _part_int))
    joined = semiring.register_anonymous(monoid.min, binary.register_anonymous(join, "join"), "min_join")
    joined_late = semiring.register_anonymous(monoid.min, binary.register_anonymous(late, "join_late"), "min_join_late")
    return joined, joined_late, binary.register_anonymous(part, "part")


@of_graph
def sssp(A, source: int, *, delta: float | None = None, dtype=None) -> Vector:
    """Least sum of weights on a path from `source` to every vertex it reaches.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j; a Boolean matrix weighs 1
        per edge. Zero and negative weights are allowed.
    source : int
        Vertex to start from.
    delta : float, optional
        Width of a bucket, in units of the weights. Default: from the mean weight
        and degree. Results do not depend on it.
    dtype : dtype, optional
        Type of the distances. Default: int64 for integer weights, else the
        weights' own.

    Returns
    -------
    Vector, size n
        Distances; vertices that are not reached have no entry.

    Raises
    ------
    IndexOutOfBound
        If `source` is not a vertex.
    InvalidValue
        If a weight is NaN, if a distance does not fit int64, or if a cycle of
        negative weight can be reached.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], [2, 9, 3], nrows=3, ncols=3)
    >>> sg.algorithms.sssp(A, 0).to_dense()
    array([0, 2, 5])
    """
    return _distances("sssp", A, source, delta, dtype)


@of_graph
def sssp_parents(A, source: int, *, delta: float | None = None, dtype=None) -> tuple[Vector, Vector]:
    """Shortest distances and a tree of shortest paths.

    Parameters
    ----------
    A, source, delta, dtype
        As for `sssp`.

    Returns
    -------
    distance : Vector, size n
    parent : Vector of int64, size n
        ``distance[parent[v]] + A[parent[v], v] == distance[v]`` for every
        reached v but the source, which is its own parent.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], [2, 9, 3], nrows=3, ncols=3)
    >>> distance, parent = sg.algorithms.sssp_parents(A, 0)
    >>> parent.to_dense()
    array([0, 0, 1])
    """
    return distances_and_tree("sssp_parents", A, source, delta, dtype)


def distances_and_tree(name: str, A: Matrix, source, delta, dtype) -> tuple[Vector, Vector]:
    """`sssp_parents`, by the name that messages speak of."""
    dist = _distances(name, A, source, delta, dtype)
    A = _signed(A, dist.dtype.np_type)
    parent = _nearest_parents(A, dist, source)
    return dist, _tree_of_tight_edges(A, dist, source) if parent is None else parent


def _nearest_parents(A: Matrix, dist: Vector, source: int) -> Vector | None:
    """For each reached vertex a u with dist(u) + A(u,v) = dist(v): one product with (distance, u) as one number.

    Vertices whose shortest paths end in an edge that adds nothing to the distance come after those whose parents are
    known, and get one of these, so that no cycle closes. None where such a number has no room for both.
    """
    weights, dtype = A.dtype.np_type, dist.dtype.np_type
    if dtype == np.int64 and A.nvals:
        farthest = int(dist.reduce(monoid.max).value) + int(A.reduce_scalar(monoid.max).value)
        fits = A.nrows <= 1 << INT_BITS and farthest < 1 << (63 - INT_BITS)
    else:
        fits = dtype == weights == np.float32 and A.nrows <= 1 << FLOAT_BITS
    if not fits:
        return None
    joined, joined_late, part = _packing(dtype.kind)
    everywhere, nowhere = Vector(dtype, A.nrows), np.inf if dtype.kind == "f" else LARGEST
    everywhere << nowhere  # a full vector is gathered without looking for gaps
    everywhere(binary.second) << dist
    nearest = everywhere.vxm(A, joined).new()  # k(v) = min over u of (dist(u) + A(u,v), u)
    parent = part(nearest & dist).new(np.int64)
    parent[source] = source
    while True:
        waiting = select.valuelt(parent, 0).new()
        if not waiting.nvals:
            return parent
        everywhere(waiting.S) << nowhere
        nearest = everywhere.vxm(A, joined_late).new(mask=waiting.S)
        found = select.valuege(part(nearest & dist), 0).new()
        if not found.nvals:  # distances of 0 as floats
            return None
        parent(binary.second) << found
        everywhere(found.S) << dist


def _tree_of_tight_edges(A: Matrix, dist: Vector, source: int) -> Vector:
    """A breadth-first tree over the edges that end a shortest path; any tree of those will do."""
    D = dist.diag()
    through = semiring.any_plus(D @ A).new(dist.dtype)  # T(i,j) = dist(i) + A(i,j), rounded as dist is
    arrival = semiring.any_second(A @ D).new(dist.dtype)  # R(i,j) = dist(j)
    tight = select.valueeq(binary.eq(through & arrival), True).new()
    return bfs_parents(tight, source)


def _distances(name: str, A: Matrix, source, delta, dtype) -> Vector:
    """The distances; `name` is the function that messages speak of."""
    source = as_source(name, A, source)
    dtype = _distance_type(name, A, dtype)
    lightest, min_plus, work = _look_at_weights(name, A, dtype)
    width = _bucket_width(A) if delta is None else float(delta) if isinstance(delta, numbers.Real) else math.nan
    if not width > 0:
        raise InvalidValue(f"{name}: delta is {delta!r}, wanted a positive number")
    A = _signed(A, dtype)
    dist = Vector(work, A.nrows)
    dist[source] = 0
    if lightest < 0:
        _bellman_ford(name, A, dist, min_plus)
    else:
        _near_far(A, dist, min_plus, width)
    if min_plus is capped_plus and dist.reduce(monoid.max).value == LARGEST:
        raise InvalidValue(f"{name}: a distance does not fit int64; give dtype=float")
    return dist if work == dtype else dist.dup(dtype)


def weights_to_add(name: str, A: Matrix, dtype) -> tuple[Matrix, Any, Any, np.dtype]:
    """A with weights that go with the distances, the smallest of them, the semiring and the type of the distances."""
    lightest, min_plus, work = _look_at_weights(name, A, _distance_type(name, A, dtype))
    return _signed(A, work), lightest, min_plus, work


def _near_far(A: Matrix, dist: Vector, min_plus, width: float) -> None:
    """Relax what changed and is below the limit; when nothing is left there, the limit moves on."""
    dtype = dist.dtype.np_type
    last = np.iinfo(dtype).max if dtype.kind == "i" else np.inf  # the limit that lets everything pass
    limit = _next_limit(0, width, dtype)
    near = dist.dup()
    relaxation = near.vxm(A, min_plus)  # an expression: computed anew wherever it is written to
    roads = A.nvals < ROAD_DEGREE * A.nrows
    few = A.nrows * (SMALL_ON_ROADS[A.device.startswith("cpu")] if roads else SMALL)
    while near.nvals:
        # near becomes what is lowered, and below the limit
        lower = dist(binary.min, changed=select.valuelt(near, limit) if limit < last else near)
        relaxed, first, before = 0, near.nvals, dist.nvals
        while near.nvals:
            relaxed += near.nvals
            lower << relaxation  # dist min= near min.+ A
        if limit < last:
            if roads:
                width *= 2 if relaxed < few else 1
            else:
                width *= _widening(first, relaxed, few, before, dist.nvals)
            waiting = select.valuege(dist, limit).new()
            if waiting.nvals:
                limit = _next_limit(waiting.reduce(monoid.min).value, width, dtype)
                near << (select.valuelt(waiting, limit) if limit < last else waiting)


def _widening(first: int, relaxed: int, few: float, before: int, reached: int) -> int:
    """How many times as wide the next bucket is, after one that `relaxed` so many vertices, of which it found `first`.

    It `reached` so many vertices in all, and `before` it were so many.
    """
    if reached < few * START or reached >= 2 * before:
        return 1
    return WIDER if relaxed - first <= first * AGAIN else 2 if relaxed < few else 1


def _next_limit(least, width: float, dtype: np.dtype):
    """A number of the type that is above `least`, by `width` where it can be told apart."""
    if dtype.kind == "i":
        return min(int(least) + max(int(min(width, LARGEST)), 1), int(np.iinfo(dtype).max))
    with np.errstate(over="ignore"):  # infinity is a limit, too
        return max(dtype.type(least + width), np.nextafter(dtype.type(least), dtype.type(np.inf)))


def _distance_type(name: str, A: Matrix, dtype) -> np.dtype:
    weights = A.dtype.np_type
    if dtype is None:
        return weights if weights.kind == "f" else np.dtype(np.int64)
    dtype = dtypes.lookup_dtype(dtype).np_type
    if dtype.kind != "f" and (dtype != np.int64 or weights.kind == "f"):
        raise InvalidValue(
            f"{name}: dtype is {dtype}; {weights} weights need int64 (integers only), float32 or float64")
    return dtype


def _look_at_weights(name: str, A: Matrix, dtype: np.dtype):
    """The smallest weight, and the semiring and type of distances that cannot overflow.

    Where no path can be longer than int32 holds, int32 it is: half the bytes to gather.
    """
    if not A.nvals:
        return 0, semiring.min_plus, dtype
    if A.dtype.np_type.kind == "f":
        lightest = A.reduce_scalar(nan_min).value
        if np.isnan(lightest):
            rows, cols, _ = select.valueeq(A.apply(unary.isnan), True).new().to_coo()
            raise InvalidValue(f"{name}: the weight of the edge {rows[0]} -> {cols[0]} is NaN")
        return lightest, semiring.min_plus, dtype
    lightest, heaviest = int(A.reduce_scalar(monoid.min).value), int(A.reduce_scalar(monoid.max).value)
    longest = max(heaviest, -lightest) * max(A.nrows, 1)
    if dtype.kind == "i" and longest < np.iinfo(np.int32).max:
        return lightest, semiring.min_plus[np.int32], np.dtype(np.int32)
    if dtype.kind == "f" or longest <= LARGEST:
        return lightest, semiring.min_plus, dtype
    if lightest < 0 or heaviest > LARGEST:
        raise InvalidValue(
            f"{name}: weights from {lightest} to {heaviest} may not fit int64 when added; give dtype=float")
    return lightest, capped_plus, dtype


def _signed(A: Matrix, dtype: np.dtype) -> Matrix:
    """Weights that go with int64 distances; `_look_at_weights` has seen that they fit."""
    return A.dup(np.int64) if dtype.kind == "i" and A.dtype == np.uint64 else A


def _bucket_width(A: Matrix) -> float:
    """Near enough to the best on scale-free graphs and on roads; any positive width is right.

    On a GPU a superstep costs as much as some million edges, so the buckets of graphs that are not large are wider, and
    those of large ones narrower: from a leaf of rmat20-16, half a width relaxes 1.0 m of its m edges, a whole one
    1.5 m, but urand22-16 takes 7.6 ms with four widths, 20 with one (H100).
    """
    total = float(A.reduce_scalar(monoid.plus["FP64"]).value) if A.nvals else 0.0
    mean, degree = total / max(A.nvals, 1), A.nvals / max(A.nrows, 1)
    if not 0 < mean < np.inf:
        return 1.0
    wide = 1.0 if A.device.startswith("cpu") else min(max(WIDE_UP_TO / A.nvals, LEAST_WIDE), MOST_WIDE)
    return wide * mean * (ROAD_WIDTH[A.device.startswith("cpu")] if degree < ROAD_DEGREE else 8 / degree)


def _bellman_ford(name: str, A: Matrix, dist: Vector, min_plus) -> None:
    """Relax what changed until nothing does; more than n rounds mean a negative cycle."""
    near, new = dist.dup(), Vector(dist.dtype, A.nrows)
    for _ in range(A.nrows + 1):
        dist(binary.min, changed=new) << near.vxm(A, min_plus)  # dist min= near min.+ A
        if not new.nvals:
            return
        near << new
    i = new.to_coo()[0][0]
    raise InvalidValue(f"{name}: a cycle of negative weight reaches vertex {i}, so distances have no minimum "
                       "(negative_cycle names its vertices)")
