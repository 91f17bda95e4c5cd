"""Connected components by hooking and pointer jumping.

Method: every vertex points to a smaller one of its component or to itself, at first to itself. A round links the root
of each vertex to the smallest root in its neighbourhood, then lets all point to their new roots (Y. Shiloach,
U. Vishkin, J. Algorithms 3, 1982; as semiring products: Y. Zhang, A. Azad, Z. Hu, FastSV, SIAM PP 2020). The first
rounds look at two edges of every vertex. Most vertices then are in one component, which needs no further look: all
other edges of a vertex outside it are found from that vertex (M. Sutton, T. Ben-Nun, A. Barak, Afforest, IPDPS 2018).
Encoding: `root` is full, root(v) <= v, and root(root) = root after each round. `rank` is 0 in the large component and
label + 1 elsewhere, so that it masks, and comes first in a minimum.
Work: O(n) a round, and the edges outside the large component; border values: n per round.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, indexunary, semiring
from spgraph.algorithms._inputs import of_graph
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["connected_components"]

ROUNDS, EDGES = 3, 2  # with two edges of each vertex; what is left then are few trees on all graphs that we have tried
SAMPLE = 256  # vertices that are asked which component is large

as_rank = binary.register_anonymous(lambda label, large: np.where(label == large, 0, label + 1), "as_rank")
as_label = binary.register_anonymous(lambda rank, large: np.where(rank == 0, large, rank - 1), "as_label")


@of_graph
def connected_components(A) -> Vector:
    """The component of every vertex, named by its smallest member.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the edge i -> j; directions and values do not matter (of a directed graph
        these are the weakly connected components), a stored zero is an edge.

    Returns
    -------
    Vector of int64, size n
        Labels, full; ``label[v] == v`` for one vertex of each component.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 4, 3], [2, 3, 1], True, nrows=6, ncols=6)
    >>> sg.algorithms.connected_components(A).to_dense()
    array([0, 1, 0, 1, 1, 5])
    """
    n = A.nrows
    root = Vector.from_scalar(0, n, np.int32 if n < 2**31 - 1 else np.int64).apply(indexunary.index).new()
    if A.nvals:
        few, hooks = A.selectk("any", EDGES), Vector(root.dtype, n)
        for _ in range(ROUNDS):
            hooks << few.mxv(root, semiring.min_second)
            root(binary.min)[root] << hooks  # r(r(v)) min= h(v)
            root << root.pointer_jump()
        _link_the_rest(A, root, hooks)
    return root.dup(np.int64)


def _link_the_rest(A: Matrix, root: Vector, hooks: Vector) -> None:
    """Rounds over all edges that leave vertices outside the large component, until no edge joins two."""
    large = _most_frequent(root)
    rank, low = Vector(root.dtype, root.size), Vector(root.dtype, root.size)
    back = None if A.symmetric else Vector(root.dtype, root.size)
    while True:
        rank << root.apply(as_rank, right=large)
        low << rank
        low(rank.V, binary.min, changed=hooks) << A.mxv(rank, semiring.min_second)  # l<k> min= A min.second k
        if back is not None:
            low(rank.V, binary.min, changed=back) << rank.vxm(A, semiring.min_first)  # l<k> min= A' min.second k
            hooks << binary.min(hooks | back)
        if not hooks.nvals:
            return
        label = hooks.apply(as_label, right=large)
        # r(max(r, h)) min= min(r, h): of two roots the larger one points to the smaller
        root(binary.min)[binary.max(root & label)] << binary.min(root & label)
        root << root.pointer_jump()
        large = root.dtype.np_type.type(root.get(large))


def _most_frequent(root: Vector):
    """The most frequent label of every k-th vertex (k is odd, since powers of 2 often mean something in ids)."""
    labels, counts = np.unique(root[::root.size // SAMPLE | 1].new().to_dense(), return_counts=True)
    return labels[counts.argmax()]
