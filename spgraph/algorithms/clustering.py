"""Clustering coefficients: how many pairs of neighbours are neighbours.

Method: triangles by masked products, see `spgraph.algorithms.triangles`; pairs of neighbours from the degrees
(D. Watts, S. Strogatz, Nature 393, 1998; definitions as in NetworkX).
Encoding: full vectors. Work and border values: those of `triangles`.
"""

from __future__ import annotations

import numpy as np

from spgraph import agg, binary, monoid, select, unary
from spgraph.algorithms._inputs import as_undirected, of_graph
from spgraph.algorithms.triangles import triangles
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["average_clustering", "clustering", "transitivity"]

pairs_of = unary.register_anonymous(lambda degree: degree * (degree - 1) / 2, "pairs_of")
share_of = binary.register_anonymous(lambda count, pairs: np.where(pairs > 0, count / pairs, 0.0), "share_of")


@of_graph
def clustering(A, *, symmetrize: bool = False) -> Vector:
    """Which share of the pairs of a vertex's neighbours are neighbours.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Undirected; self-loops and values do not matter, a stored zero is an edge.
    symmetrize : bool
        Count a directed edge as an undirected one; else directed graphs are an error.

    Returns
    -------
    Vector of float64, size n
        Full; 0 for vertices with fewer than two neighbours.

    Raises
    ------
    InvalidValue
        If an edge has no opposite and `symmetrize` is False.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.Matrix.from_coo([0, 1, 0, 2, 1, 2, 2, 3], [1, 0, 2, 0, 2, 1, 3, 2], True, nrows=4, ncols=4)
    >>> sg.algorithms.clustering(A).to_dense().round(3)
    array([1.   , 1.   , 0.333, 0.   ])
    """
    count, pairs = _counted("clustering", A, symmetrize)
    return share_of(count & pairs).new()


@of_graph
def average_clustering(A, *, count_zeros: bool = True, symmetrize: bool = False) -> float:
    """Mean of the vertices' clustering coefficients; NaN if there is nothing to average.

    Parameters
    ----------
    A, symmetrize
        As for `clustering`.
    count_zeros : bool
        Whether vertices with the coefficient 0 count.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.average_clustering(sg.generators.complete(4))
    1.0
    """
    count, pairs = _counted("average_clustering", A, symmetrize)
    share = share_of(count & pairs).new()
    counted = share.size if count_zeros else select.valuene(share, 0).new().nvals
    return float(share.reduce(monoid.plus, allow_empty=False).value) / counted if counted else float("nan")


@of_graph
def transitivity(A, *, symmetrize: bool = False) -> float:
    """Which share of all pairs of edges at a vertex are two sides of a triangle; 0 if there is no pair.

    Parameters
    ----------
    A, symmetrize
        As for `clustering`.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.transitivity(sg.generators.complete(4))
    1.0
    """
    count, pairs = _counted("transitivity", A, symmetrize)
    triads = float(pairs.reduce(monoid.plus, allow_empty=False).value)
    return int(count.reduce(monoid.plus, allow_empty=False).value) / triads if triads else 0.0


def _counted(name: str, A: Matrix, symmetrize: bool) -> tuple[Vector, Vector]:
    """Triangles and pairs of neighbours of every vertex."""
    A = as_undirected(name, A, symmetrize)
    degree = Vector(np.int64, A.nrows)
    degree << 0
    degree(binary.plus) << select.offdiag(A).new().reduce_rowwise(agg.count)  # d = sum of pattern(A) without loops
    return triangles(A), degree.apply(pairs_of).new()
