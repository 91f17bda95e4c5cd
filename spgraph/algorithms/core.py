"""Core numbers: which vertices are left where every one has at least k neighbours.

Method: peeling (S. Seidman, Social Networks 5, 1983). All vertices of degree k or less leave together, their neighbours
lose as many edges, which may let these leave, too; when no vertex leaves, k rises to the smallest degree left.
Encoding: `degree` has an entry exactly for the vertices that are left, `core` for the others.
Work: O(n) a round and O(m) in all; border values: the vertices that leave.
"""

from __future__ import annotations

import numpy as np

from spgraph import agg, binary, monoid, select, semiring
from spgraph.algorithms._inputs import as_undirected, of_graph
from spgraph.vector import Vector

__all__ = ["core_number"]


@of_graph
def core_number(A, *, symmetrize: bool = False) -> Vector:
    """The largest k for which each vertex is in the k-core, the largest subgraph of degrees k and more.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Undirected; self-loops and values do not matter, a stored zero is an edge.
    symmetrize : bool
        Count a directed edge as an undirected one; else directed graphs are an error.

    Returns
    -------
    Vector of int64, size n
        Full; 0 for isolated vertices.

    Raises
    ------
    InvalidValue
        If an edge has no opposite and `symmetrize` is False.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 1, 0, 2, 1, 2, 2, 3], [1, 0, 2, 0, 2, 1, 3, 2], True, nrows=5, ncols=5)
    >>> sg.algorithms.core_number(A).to_dense()
    array([2, 2, 2, 1, 0])
    """
    A = select.offdiag(as_undirected("core_number", A, symmetrize)).new()
    core, degree = Vector(np.int64, A.nrows), Vector(np.int64, A.nrows)
    core << 0
    degree << A.reduce_rowwise(agg.count)  # d = sum of pattern(A)
    k = 0
    while degree.nvals:
        leaving = select.valuele(degree, k).new()
        if not leaving.nvals:
            k = degree.reduce(monoid.min).value
            continue
        core(leaving.S) << k
        degree(~leaving.S, replace=True) << degree  # d<!s(q), replace> = d
        lost = leaving.vxm(A, semiring.plus_pair).new(np.int64, mask=degree.S)  # t<s(d)> = q plus.pair A
        degree(binary.plus) << -lost  # d -= t
    return core
