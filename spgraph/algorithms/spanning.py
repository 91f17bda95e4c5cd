"""Minimum spanning forest by growing components.

Method: every component takes its lightest edge to another one, and components that an edge was taken between become one
(O. Boruvka, 1926; in rounds as here: S. Chung, A. Condon, IPPS 1996). Edges are numbered by rising weight, ties by
their ends, so that no two are equal: then every lightest edge is in the one minimum spanning forest, and it does no
harm where two components that one was taken between are united a round later.
Encoding: `edge` has an entry, its own number, for each edge between two components; `head` and `tail` hold its ends;
root(v) <= v names the component of v, root(root) = root after each round.
Work: O(m) a round, of edges that are left, O(log n) rounds; edges are sorted on the host. Border values: n per round.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, indexunary, select, unary
from spgraph.algorithms._inputs import of_graph
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["minimum_spanning_forest"]


@of_graph
def minimum_spanning_forest(A, *, symmetrize: bool = False) -> Matrix:
    """A tree for each component of an undirected graph, of the least total weight.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge between i and j, any number but NaN; self-loops do not matter.
    symmetrize : bool
        Take a directed edge as an undirected one, of two the lighter; else directed graphs are an error.

    Returns
    -------
    Matrix
        The edges of the forest, in both directions, with their weights, and the labels of `A`. Of edges of equal
        weight the one with the smaller ends is taken.

    Raises
    ------
    InvalidValue
        If an edge has no opposite of the same weight and `symmetrize` is False, or a weight is NaN.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], [5, 5, 1, 1, 2, 2], nrows=4, ncols=4)
    >>> sg.algorithms.minimum_spanning_forest(A).to_coo()[:2]
    (array([0, 1, 2, 2]), array([2, 2, 0, 1]))
    """
    labels, A = A.labels, _of_one_weight(A, symmetrize)
    heads, tails, weights = select.triu(A, 1).new().to_coo()
    order = np.argsort(weights, kind="stable")
    heads, tails, weights = heads[order], tails[order], weights[order]
    kept = np.flatnonzero(_lightest(A.nrows, heads, tails).to_dense(fill_value=False))
    heads, tails, weights = heads[kept], tails[kept], weights[kept]
    forest = Matrix.from_coo(np.concatenate([heads, tails]), np.concatenate([tails, heads]),
                             np.concatenate([weights, weights]), A.dtype, nrows=A.nrows, ncols=A.ncols)
    forest.labels = labels
    return forest


def _lightest(n: int, heads: np.ndarray, tails: np.ndarray) -> Vector:
    """Which of the edges, numbered by rising weight, are in the forest."""
    head, tail = Vector.from_dense(heads), Vector.from_dense(tails)
    edge = Vector.from_scalar(0, heads.size, np.int64).apply(indexunary.index).new()
    root = Vector.from_scalar(0, n, np.int64).apply(indexunary.index).new()
    taken = Vector(bool, heads.size)
    while edge.nvals:
        one, other = root[head].new(), root[tail].new()  # o(e) = r(h(e)): the components that e joins
        apart = binary.ne(one & other).new()
        for ends in (edge, head, tail, one, other):
            ends(apart.V, replace=True) << ends  # e<v(a), replace> = e
        best = Vector(np.int64, n)
        best(binary.min)[one] << edge  # b(o(e)) min= e
        best(binary.min)[other] << edge
        taken(binary.lor)[best] << True  # t(b(c)) = true
        one, other = one[best].new(), other[best].new()
        # r(max(o, p)) min= min(o, p): of two roots the larger one points to the smaller
        root(binary.min)[binary.max(one & other)] << binary.min(one & other)
        root << root.pointer_jump()
    return taken


def _of_one_weight(A: Matrix, symmetrize: bool) -> Matrix:
    """The same graph, every edge in both directions with one weight, which is a number."""
    if A.dtype.np_type.kind == "f":
        rows, cols, _ = select.valueeq(A.apply(unary.isnan), True).new().to_coo()
        between = np.flatnonzero(rows != cols)
        if between.size:
            edge = between[0]
            raise InvalidValue(f"minimum_spanning_forest: the weight of the edge {rows[edge]} -> {cols[edge]} is NaN")
        if rows.size:
            A = select.offdiag(A).new()  # NaN is not equal to itself
    if A.symmetric or A.isequal(A.T):
        return A
    if symmetrize:
        return binary.min(A | A.T).new(A.dtype)
    raise InvalidValue("minimum_spanning_forest: A is directed, an edge has no opposite of its weight, wanted an "
                       "undirected graph; symmetrize=True takes every edge as one, of two the lighter")
