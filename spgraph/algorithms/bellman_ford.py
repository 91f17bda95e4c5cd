"""Shortest paths with negative weights, and cycles of negative weight.

Method: what has changed is relaxed until nothing does (R. Bellman, 1958; L. Ford, 1956). To find a cycle, every
vertex also keeps the neighbour that lowered it last: those pointers close a cycle if and only if its weight is negative
(T. Cormen et al., Introduction to Algorithms, section 24.5), so a look at them now and then ends the search early.
Encoding: `dist` has an entry for what is reached, `parent` for what has been lowered, `near` holds the distances that
the last round lowered.
Work: O(m) per round, at most n rounds; border values: the changed distances, once per round.
"""

from __future__ import annotations

import math

import numpy as np

from spgraph import binary
from spgraph.algorithms._inputs import as_source, of_graph
from spgraph.algorithms._negative import causes, cycle_of
from spgraph.algorithms._tree import tree_of_shortest_paths
from spgraph.algorithms._weights import signed, to_add
from spgraph.algorithms.sssp import distances
from spgraph.vector import Vector

__all__ = ["bellman_ford", "negative_cycle"]


@of_graph
def bellman_ford(A, source: int, *, dtype=None) -> tuple[Vector, Vector]:
    """Shortest distances and a tree of shortest paths, whatever the signs of the weights.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j; a Boolean matrix weighs 1 per edge.
    source : int
        Vertex to start from.
    dtype : dtype, optional
        Type of the distances, in which weights are added. Default: int64 for integer weights, else the weights' own.

    Returns
    -------
    distance : Vector, size n
    parent : Vector of int64, size n
        ``distance[parent[v]] + A[parent[v], v] == distance[v]`` for every reached v but the source, which is its own
        parent. Vertices that are not reached have no entry in either, and no parent have those on cycles of weight 0
        around which rounding has let distances fall.

    Raises
    ------
    IndexOutOfBound
        If `source` is not a vertex.
    InvalidValue
        If a cycle of negative weight can be reached (`negative_cycle` names its vertices), if a weight is NaN or -inf,
        or if a distance does not fit int64.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 0, 2], [1, 2, 1], [2, 5, -10], nrows=3, ncols=3)
    >>> distance, parent = sg.algorithms.bellman_ford(A, 0)
    >>> distance.to_dense(), parent.to_dense()
    (array([ 0, -5,  5]), array([0, 2, 0]))
    """
    dist, lightest = distances("bellman_ford", A, source, math.inf, dtype)
    return dist, tree_of_shortest_paths(A, dist, source, lightest)


@of_graph
def negative_cycle(A, source: int, *, dtype=None) -> list[int] | None:
    """A cycle of negative weight that can be reached from `source`.

    Parameters
    ----------
    A, source, dtype
        As for `bellman_ford`.

    Returns
    -------
    list of int, or None
        The vertices in the order of the edges, each once; the last has an edge to the first. None if there is no
        such cycle.

    Raises
    ------
    IndexOutOfBound
        If `source` is not a vertex.
    InvalidValue
        If a weight is NaN or -inf.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 1, 2, 2], [1, 2, 1, 3], [4, 1, -3, 1], nrows=4, ncols=4)
    >>> sorted(sg.algorithms.negative_cycle(A, 0))
    [1, 2]
    """
    source = as_source("negative_cycle", A, source)
    lightest, min_plus, dtype, _ = to_add("negative_cycle", A, dtype)
    if lightest >= 0:
        return None
    A = signed(A, dtype)
    dist = Vector.from_coo([source], 0, dtype, size=A.nrows)
    parent = Vector(np.int64, A.nrows)  # the source has none, until it is lowered
    near, lowered = dist.dup(), Vector(dtype, A.nrows)
    look_at = 1
    for number in range(1, A.nrows + 1):
        dist(binary.min, changed=lowered) << near.vxm(A, min_plus)  # dist min= near min.+ A
        if not lowered.nvals:  # at -inf nothing falls any more, even around a cycle
            return cycle_of(parent.to_dense(fill_value=-1))
        parent(binary.second) << causes(A, near, lowered)  # p second= who lowered it
        if number == look_at or number == A.nrows:
            cycle = cycle_of(parent.to_dense(fill_value=-1))
            if cycle is not None:
                return cycle
            look_at *= 2
        near, lowered = lowered, near
    return None
