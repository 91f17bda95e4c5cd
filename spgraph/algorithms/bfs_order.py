"""The order of a breadth-first search: neighbours get near each other.

Method: vertices by component, by level, and within a level as their parents lie, so that siblings are together (the
queue of a search, which is E. Cuthill and J. McKee's order of 1969 without their choice of siblings by degree). Parents
come from one search from all components at once. Then place and depth by the last k vertices of each path from its root
become those by the last 2 k (pointer doubling: J. JaJa, An Introduction to Parallel Algorithms, 1992).
Encoding: vectors are full; `order` are the vertices by the `place` of the paths so far.
Work: one search, and a sort of all vertices for each doubling of the depth; border values: n per doubling.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, indexunary, loop, semiring
from spgraph.algorithms._inputs import as_undirected, of_graph
from spgraph.algorithms.components import connected_components
from spgraph.vector import Vector

__all__ = ["bfs_order"]


@of_graph
def bfs_order(A) -> Vector:
    """All vertices in the order in which a breadth-first search finds them, for `Matrix.reorder`.

    Ends of an edge come to lie near each other, and so do the neighbours of a vertex: products read memory that is at
    hand. That pays on graphs without hubs whose numbers say nothing of their edges; for power laws
    ``A.reorder("degree")`` pays more, and roads and grids often come in a good order.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the edge i -> j; directions and values do not matter (a directed graph is made undirected
        first, which takes as much memory again), a stored zero is an edge.

    Returns
    -------
    Vector of int64, size n
        Vertices, full. Each component is searched from its smallest member, smaller ones first; which of the possible
        parents a vertex gets is left open, so equal graphs may get other orders.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 3, 3, 1, 1, 4], [3, 0, 1, 3, 4, 1], True, nrows=5, ncols=5)
    >>> order = sg.algorithms.bfs_order(A)
    >>> order.to_dense()
    array([0, 3, 1, 4, 2])
    >>> A.reorder(order).order
    'listed'
    """
    A, n = as_undirected("bfs_order", A, True), A.nrows
    number = Vector.from_scalar(0, n, np.int64).apply(indexunary.index).new()
    root = connected_components(A)
    above = number.dup(mask=binary.eq(root & number).new().V)
    found = above.dup()
    with loop() as levels:
        # a<!s(a)> = q any.secondi A; q = the vertices that are new
        above(~above.S, changed=found) << found.vxm(A, semiring.any_secondi)
        levels.until(found.nvals == 0)
    depth, place, order = binary.ne(above & number).new(np.int64), Vector(np.int64, n), number
    while True:
        place << 0
        place(binary.max)[order] << number  # p(o(i)) = i
        order = _sorted(order, place[above].new())  # by the first half of a path, of equal ones by the second
        depth(binary.plus) << depth[above]
        further = above[above].new()
        if further.isequal(above):
            return _sorted(_sorted(order, depth), root)
        above << further


def _sorted(order: Vector, key: Vector) -> Vector:
    """The vertices by rising key, of equal ones in the order they have."""
    return order[key[order].new().argsort(on_device=True)].new()
