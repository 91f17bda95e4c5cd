"""Breadth-first search: levels and parents.

Method: one masked product per level. The frontier q is pushed through its edges
while it is small and pulled by the unvisited vertices when it is large
(direction-optimising: S. Beamer, K. Asanovic, D. Patterson, SC 2012); the
engine chooses, see `spgraph.engine.plan`.
Encoding: `level` and `parent` have an entry exactly for the reached vertices; the frontier holds those that the last
product has added.
Work: O(n + m); border values: the frontier, once per level.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, loop, monoid, semiring
from spgraph.algorithms._inputs import as_depth, as_source, of_graph
from spgraph.vector import Vector

__all__ = ["bfs", "bfs_parents"]

any_next = semiring.register_anonymous(monoid.any, binary.register_anonymous(lambda x, y: x + 1, "next"), "any_next")


@of_graph
def bfs(A, source: int, *, max_depth: int | None = None) -> Vector:
    """Number of edges on a shortest path from `source` to every vertex it reaches.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the edge i -> j; values do not matter, a stored zero is an edge.
    source : int
        Vertex to start from.
    max_depth : int, optional
        Stop after this level.

    Returns
    -------
    Vector of int32, size n
        Levels; vertices that are not reached have no entry.

    Raises
    ------
    IndexOutOfBound
        If `source` is not a vertex.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.bfs(sg.generators.path(4), 0).to_dense(fill_value=-1)
    array([0, 1, 2, 3], dtype=int32)
    """
    source = as_source("bfs", A, source)
    max_depth = as_depth("bfs", max_depth)
    level = Vector.from_coo([source], 0, np.int32, size=A.nrows)
    frontier = level.dup()
    if max_depth == 0:
        return level
    with loop() as levels:
        # level<!s(level)> = q any.next A; q = the vertices that are new
        level(~level.S, changed=frontier) << frontier.vxm(A, any_next)
        levels.until(frontier.nvals == 0)
        if max_depth is not None:
            levels.until(levels.count == max_depth)
    return level


@of_graph
def bfs_parents(A, source: int, *, max_depth: int | None = None) -> Vector:
    """A breadth-first tree: for every vertex reached from `source`, the vertex it was reached from.

    Parameters
    ----------
    A, source, max_depth
        As for `bfs`.

    Returns
    -------
    Vector of int64, size n
        Parents, ``parent[source] == source``; any valid tree may come back.
        Vertices that are not reached have no entry.

    Raises
    ------
    IndexOutOfBound
        If `source` is not a vertex.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.bfs_parents(sg.generators.path(4), 0).to_dense(fill_value=-1)
    array([0, 0, 1, 2])
    """
    source = as_source("bfs_parents", A, source)
    max_depth = as_depth("bfs_parents", max_depth)
    parent = Vector.from_coo([source], source, np.int64, size=A.nrows)
    frontier = parent.dup()
    if max_depth == 0:
        return parent
    with loop() as levels:
        # p<!s(p)> = q any.secondi A; q = the vertices that are new
        parent(~parent.S, changed=frontier) << frontier.vxm(A, semiring.any_secondi)
        levels.until(frontier.nvals == 0)
        if max_depth is not None:
            levels.until(levels.count == max_depth)
    return parent
