"""A tree of shortest paths, from the distances: every vertex gets a neighbour through which its distance comes.

Method: one product with a distance and a vertex as one number that compares by distance first. A float64 has 29 bits
more than a float32: there the vertex goes, as a multiple of 2^-52 of the distance (between one and two units of the
last place: the sum is exact up to half a unit, and other vertices give other numbers). An int64 has the vertex in its
low 31 bits. Edges that add nothing come last of all, but for the `late` form, which takes them, too. Where such a
number has no room for both, or weights are negative, so that a cycle that weighs nothing may have edges that add
something, a breadth-first search over the edges that end a shortest path.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from spgraph import binary, monoid, select, semiring
from spgraph.algorithms._weights import LARGEST, signed
from spgraph.algorithms.bfs import bfs_parents
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["tree_of_shortest_paths"]

FLOAT_BITS, INT_BITS = 28, 31
STEP = 2.0**-52  # of a float64's mantissa


def tree_of_shortest_paths(A: Matrix, dist: Vector, source: int, lightest: Any) -> Vector:
    """A parent for every vertex that has a distance; the source is its own. `lightest` is the smallest weight."""
    A = signed(A, dist.dtype.np_type)
    parent = None if lightest < 0 else _nearest_parents(A, dist, source)
    return _tree_of_tight_edges(A, dist, source) if parent is None else parent


def _nearest_parents(A: Matrix, dist: Vector, source: int) -> Vector | None:
    """For each reached vertex a u with dist(u) + A(u,v) = dist(v): one product with (distance, u) as one number.

    Vertices whose shortest paths end in an edge that adds nothing to the distance come after those whose parents are
    known, and get one of these, so that no cycle closes. None where such a number has no room for both.
    """
    dtype = dist.dtype.np_type
    if dtype == np.int64 and A.nvals:
        farthest = int(dist.reduce(monoid.max).value) + int(A.reduce_scalar(monoid.max).value)
        fits = A.nrows <= 1 << INT_BITS and farthest < 1 << (63 - INT_BITS)
    else:
        fits = dtype == np.float32 and A.nrows <= 1 << FLOAT_BITS
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
    through = semiring.any_plus[dist.dtype](D @ A).new()  # T(i,j) = dist(i) + A(i,j), rounded as dist is
    arrival = semiring.any_second(A @ D).new(dist.dtype)  # R(i,j) = dist(j)
    tight = select.valueeq(binary.eq(through & arrival), True).new()
    return bfs_parents(tight, source)


# ---- a distance and a vertex as one number ----------------------------------------------
@cache
def _packing(kind: str):
    """The two semirings that join and the operator that takes apart; made when first used."""
    join, late, part = ((_join_float, _join_late_float, _part_float) if kind == "f" else
                        (_join_int, _join_late_int, _part_int))
    joined = semiring.register_anonymous(monoid.min, binary.register_anonymous(join, "join"), "min_join")
    joined_late = semiring.register_anonymous(monoid.min, binary.register_anonymous(late, "join_late"), "min_join_late")
    return joined, joined_late, binary.register_anonymous(part, "part")


def _join_float(x, y, ix, jx, iy, jy):
    x = x.astype(np.float32)  # operands come in a type for both
    through = x + y.astype(np.float32)
    wide = through.astype(np.float64)
    return np.where(through > x, wide + wide * (iy * STEP), np.inf)


def _join_late_float(x, y, ix, jx, iy, jy):
    wide = (x.astype(np.float32) + y.astype(np.float32)).astype(np.float64)
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
