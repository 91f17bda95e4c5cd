"""Single-source shortest paths: distances and a tree, by delta-stepping.

Method: buckets of width delta (U. Meyer, P. Sanders, J. Algorithms 49, 2003) in the near-far form (A. Davidson et al.,
IPDPS 2014): vertices nearer than the limit are relaxed until nothing changes below it, then the limit moves on, see
`_buckets`. No far set is kept: a vertex waits exactly if its distance is not below the limit. With negative weights the
limit is infinite, which is Bellman-Ford's algorithm over the changed vertices only. The tree comes last, see `_tree`.
Encoding: `dist` has an entry for what is reached; `near` holds what the last relaxation lowered below the limit.
Work: O(m) a superstep at most, in practice a small multiple of m in all; border values: the changed distances, once a
superstep.
"""

from __future__ import annotations

from spgraph import binary, loop, select
from spgraph.algorithms._buckets import Buckets
from spgraph.algorithms._inputs import as_source, of_graph
from spgraph.algorithms._negative import relax_in_rounds
from spgraph.algorithms._tree import tree_of_shortest_paths
from spgraph.algorithms._weights import as_asked, signed, to_add
from spgraph.matrix import Matrix
from spgraph.scalar import Scalar
from spgraph.vector import Vector

__all__ = ["distances", "sssp", "sssp_parents"]


@of_graph
def sssp(A, source: int, *, delta: float | None = None, dtype=None) -> Vector:
    """Least sum of weights on a path from `source` to every vertex it reaches.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j, 1 in a Boolean matrix. Zero and negative weights are allowed.
    source : int
        Vertex to start from.
    delta : float, optional
        Width of a bucket, in units of the weights; results do not depend on it. Default: from mean weight and degree.
    dtype : dtype, optional
        Type of the distances, in which weights are added. Default: int64 for integer weights, else the weights' own.

    Returns
    -------
    Vector, size n
        Distances; vertices that are not reached have no entry.

    Raises
    ------
    IndexOutOfBound
        If `source` is not a vertex.
    InvalidValue
        If a weight is NaN or -inf, a distance does not fit its type, or a cycle of negative weight can be reached.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], [2, 9, 3], nrows=3, ncols=3)
    >>> sg.algorithms.sssp(A, 0).to_dense()
    array([0, 2, 5])
    """
    return distances("sssp", A, source, delta, dtype)[0]


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
        ``distance[parent[v]] + A[parent[v], v] == distance[v]`` for every reached v but the source, its own parent.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], [2, 9, 3], nrows=3, ncols=3)
    >>> distance, parent = sg.algorithms.sssp_parents(A, 0)
    >>> parent.to_dense()
    array([0, 0, 1])
    """
    dist, lightest = distances("sssp_parents", A, source, delta, dtype)
    return dist, tree_of_shortest_paths(A, dist, source, lightest)


def distances(name: str, A: Matrix, source, delta, dtype) -> tuple:
    """The distances, and the smallest weight; `name` is the function that messages speak of."""
    source = as_source(name, A, source)
    lightest, min_plus, work, dtype = to_add(name, A, dtype)
    buckets = Buckets(name, A, delta, work)
    A = signed(A, work)
    dist = Vector(work, A.nrows)
    dist[source] = 0
    if lightest < 0:
        relax_in_rounds(name, A, dist, min_plus)
    else:
        _near_far(A, dist, min_plus, buckets)
    return as_asked(name, dist, min_plus, dtype), lightest


def _near_far(A: Matrix, dist: Vector, min_plus, buckets: Buckets) -> None:
    """Relax what changed and is below the limit; when nothing is left there, the limit moves on."""
    near = dist.dup()
    while near.nvals:
        first, before, relaxed = near.nvals, dist.nvals, Scalar.from_value(0)
        with loop() as bucket:
            relaxed(binary.plus) << near.nvals  # dist min= near min.+ A; near = what is lowered, and below the limit
            dist(binary.min, changed=buckets.below(near)) << near.vxm(A, min_plus)
            bucket.until(near.nvals == 0)
        if buckets.limit < buckets.last:
            buckets.widen(first, relaxed.value, before, dist.nvals)
            waiting = select.valuege(dist, buckets.limit).new()
            if waiting.nvals:
                buckets.begin(waiting, dist.nvals)
                near << buckets.below(waiting)
