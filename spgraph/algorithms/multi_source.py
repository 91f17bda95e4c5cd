"""Breadth-first search from several sources at once.

Method: as `bfs`, with one frontier over copies of the graph (`spgraph.copies`), with a matrix of frontiers, one row a
source (A. Buluc, J. Gilbert, IJHPCA 25, 2011), in parts between devices and for very many, or with one frontier that
starts in all.
Encoding: a level is an entry; what is not reached has none.
Work: O(n + m) for each source, or once; border values: the frontiers, once per level.
"""

from __future__ import annotations

import numpy as np

from spgraph import loop, semiring
from spgraph.algorithms._fronts import fronts_of
from spgraph.algorithms._inputs import as_depth, as_sources, of_graph
from spgraph.algorithms.bfs import any_next
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["bfs_from_any", "bfs_from_each"]


@of_graph
def bfs_from_each(A, sources, *, max_depth: int | None = None) -> Matrix:
    """Number of edges on a shortest path from each of several sources to every vertex that it reaches.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the edge i -> j; values do not matter, a stored zero is an edge.
    sources : list of int
        Vertices to start from; one may come twice.
    max_depth : int, optional
        Stop after this level.

    Returns
    -------
    Matrix of int32, len(sources) x n
        Row k has the levels from ``sources[k]``; vertices that are not reached have no entry.

    Raises
    ------
    IndexOutOfBound
        If a source is not a vertex.
    InvalidValue
        If `sources` is no list, or `max_depth` out of range.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.bfs_from_each(sg.generators.path(4), [0, 2]).to_dense(fill_value=-1)
    array([[0, 1, 2, 3],
           [2, 1, 0, 1]], dtype=int32)
    """
    sources = as_sources("bfs_from_each", A, sources)
    max_depth = as_depth("bfs_from_each", max_depth)
    searches = fronts_of(A, sources, 0, np.dtype(np.int32))
    level = searches.start
    front = level.dup(bool)
    depth = 0
    while front.nvals and depth != max_depth:
        depth += 1
        front(~level.S, replace=True) << searches.along(front, semiring.any_pair[bool])  # q<!s(level)> = q any.pair A
        level(front.S) << depth
    return searches.rows(level)


@of_graph
def bfs_from_any(A, sources, *, max_depth: int | None = None) -> Vector:
    """Number of edges on a shortest path from the nearest of several sources to every vertex.

    Parameters
    ----------
    A, sources, max_depth
        As for `bfs_from_each`.

    Returns
    -------
    Vector of int32, size n
        Levels; vertices that are not reached have no entry.

    Raises
    ------
    IndexOutOfBound
        If a source is not a vertex.
    InvalidValue
        If `sources` is no list, or `max_depth` out of range.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.bfs_from_any(sg.generators.path(5), [0, 3]).to_dense(fill_value=-1)
    array([0, 1, 1, 0, 1], dtype=int32)
    """
    sources = sorted(set(as_sources("bfs_from_any", A, sources)))
    max_depth = as_depth("bfs_from_any", max_depth)
    level = Vector.from_coo(np.array(sources, np.int64), 0, np.int32, size=A.nrows)
    front = level.dup()
    if not sources or max_depth == 0:
        return level
    with loop() as levels:
        # level<!s(level)> = q any.next A; q = the vertices that are new
        level(~level.S, changed=front) << front.vxm(A, any_next)
        levels.until(front.nvals == 0)
        if max_depth is not None:
            levels.until(levels.count == max_depth)
    return level
