"""Triangles: how many there are, and how many each vertex is in.

Method: L holds every edge once, in the row of its higher vertex, U in that of its lower one. A triangle i < j < k then
is counted by L L at the edge (k, i), by U U' at (i, j), by L L' at (k, j): masked products, of which only sums are kept
(A. Azad, A. Buluc, J. Gilbert, IPDPSW 2015; T. Davis, HPEC 2018). Where degrees are skewed, vertices are renumbered by
rising degree first, so that rows of U are short and those of L are, but for hubs; `_order` decides.
Encoding: self-loops are dropped, values do not matter.
Work: the sum over edges (k, j) of the length of L's row j; border values: rows of L.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, monoid, select, semiring
from spgraph.algorithms._inputs import as_undirected, of_graph
from spgraph.algorithms._order import by_degree, check_order
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["triangle_count", "triangles"]

METHODS = ("auto", "burkhardt", "cohen", "rows", "dots")


@of_graph
def triangle_count(A, *, method: str = "auto", order: str = "auto", symmetrize: bool = False) -> int:
    """Number of triangles of an undirected graph.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Self-loops and values do not matter, a stored zero is an edge.
    method : {"auto", "rows", "dots", "cohen", "burkhardt"}
        Masked products that are summed up: L L within L by rows, U U' within U by dot products, L U within A (each
        triangle twice), A A within A (six times). "auto" is "rows" on a CPU, "dots" on a GPU. Results are the same.
    order : {"auto", "natural", "degree"}
        Whether vertices are renumbered by degree for "rows" and "dots".
    symmetrize : bool
        Count a directed edge as an undirected one; else directed graphs are an error.

    Returns
    -------
    int

    Raises
    ------
    InvalidValue
        If an edge has no opposite and `symmetrize` is False.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.triangle_count(sg.generators.complete(5))
    10
    """
    A = as_undirected("triangle_count", A, symmetrize)
    if method not in METHODS:
        raise InvalidValue(f"triangle_count: method is {method!r}, wanted one of {', '.join(METHODS)}")
    check_order("triangle_count", order)
    if method == "auto":
        method = "rows" if A.device.startswith("cpu") else "dots"
    if method in ("burkhardt", "cohen"):
        A = select.offdiag(A).new()
    if method == "burkhardt":
        return _total(semiring.plus_pair(A @ A).new(np.int64, mask=A.S)) // 6  # C<s(A)> = A plus.pair A
    if method == "cohen":
        L, U = select.tril(A, -1).new(), select.triu(A, 1).new()
        return _total(semiring.plus_pair(L @ U).new(np.int64, mask=A.S)) // 2  # C<s(A)> = L plus.pair U
    places = by_degree(A, order)
    A = A if places is None else A[places, places]  # renumbered and halved in one pass
    if method == "rows":
        L = select.tril(A, -1).new()
        return _total(semiring.plus_pair(L @ L).new(np.int64, mask=L.S))  # C<s(L)> = L plus.pair L
    U = select.triu(A, 1).new()
    return _total(semiring.plus_pair(U @ U.T).new(np.int64, mask=U.S))  # C<s(U)> = U plus.pair U'


@of_graph
def triangles(A, *, order: str = "auto", symmetrize: bool = False) -> Vector:
    """Number of triangles that each vertex of an undirected graph is in.

    Parameters
    ----------
    A, order, symmetrize
        As for `triangle_count`.

    Returns
    -------
    Vector of int64, size n
        Full; the sum is three times the number of triangles.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 1, 0, 2, 1, 2, 2, 3], [1, 0, 2, 0, 2, 1, 3, 2], True, nrows=4, ncols=4)
    >>> sg.algorithms.triangles(A).to_dense()
    array([1, 1, 1, 0])
    """
    A = as_undirected("triangles", A, symmetrize)
    check_order("triangles", order)
    places = by_degree(A, order)
    L = select.tril(A if places is None else A[places, places], -1).new()
    count = Vector(np.int64, A.nrows)
    count << 0
    outer = semiring.plus_pair(L @ L).new(np.int64, mask=L.S)  # C<s(L)> = L plus.pair L: at (highest, lowest)
    count(binary.plus) << outer.reduce_rowwise(monoid.plus)
    count(binary.plus) << outer.reduce_columnwise(monoid.plus)
    inner = semiring.plus_pair(L @ L.T).new(np.int64, mask=L.S)  # C<s(L)> = L plus.pair L': at (highest, middle)
    count(binary.plus) << inner.reduce_columnwise(monoid.plus)
    if places is None:
        return count
    found = Vector(np.int64, A.nrows)
    found[places] << count
    return found


def _total(C: Matrix) -> int:
    return int(C.reduce_scalar(monoid.plus, allow_empty=False).value)
