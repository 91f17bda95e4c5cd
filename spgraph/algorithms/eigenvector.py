"""Eigenvector centrality.

Method: power iteration on A + I, which does not swing on bipartite graphs (P. Bonacich, 1987; the definition is
NetworkX's).
Encoding: all vectors are full.
Work: one product over all edges per iteration; border values: n per iteration.
"""

from __future__ import annotations

import math

import numpy as np

from spgraph import binary, monoid
from spgraph.algorithms._inputs import as_float, of_graph
from spgraph.algorithms._iterated import IteratedVector, Stop, reported
from spgraph.algorithms._vectors import divided, full_vector, length_one
from spgraph.algorithms._weights import along_edges, check_not_nan
from spgraph.exceptions import InvalidValue
from spgraph.vector import Vector

__all__ = ["eigenvector_centrality"]


@of_graph
def eigenvector_centrality(A, max_iter: int = 100, tol: float = 1e-6, *, nstart=None, weighted: bool = False,
                           dtype=np.float64, fail_on_nonconvergence: bool = True) -> IteratedVector:
    """A vertex counts as much as those that point to it, up to one factor for all: the left eigenvector of A.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the L1 norm of the change is below ``n * tol``.
    nstart : float, Vector, dict or array, optional
        Values to start from. Default: all the same.
    weighted : bool
        Whether edges count with their values, or 1 each.
    dtype : dtype
        float64 or float32.
    fail_on_nonconvergence : bool
        Raise after `max_iter` iterations; else return what there is.

    Returns
    -------
    IteratedVector
        Full, of the Euclidean norm 1, with `iterations`, `residual` (the L1 norm) and `converged`.

    Raises
    ------
    InvalidValue
        If an argument is out of range, `nstart` is 0 everywhere, or the iteration does not converge.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.eigenvector_centrality(sg.generators.star(5), tol=1e-9).to_dense().round(3)
    array([0.707, 0.354, 0.354, 0.354, 0.354])
    """
    n, dtype = A.nrows, as_float("eigenvector_centrality", dtype)
    stop = Stop("eigenvector_centrality", n, max_iter, tol, n, fail_on_nonconvergence,
                f"; are sums of weights finite as {dtype}?")
    if weighted:
        check_not_nan("eigenvector_centrality", A)
    follow, _ = along_edges(A, weighted, dtype)
    old, new = full_vector("eigenvector_centrality", "nstart", nstart, n, dtype, 1), Vector(dtype, n)
    total = float(old.reduce(monoid.plus).new().get(0))
    if n and (not math.isfinite(total) or total == 0):
        raise InvalidValue(f"eigenvector_centrality: nstart has the sum {total}, wanted a finite one that is not 0")
    old << divided(old, total)
    while not stop.reached():
        new << old
        new(binary.plus) << old.vxm(A, follow)  # x' = x + x plus.times A
        length_one(new)
        stop.look(new, old)
        old, new = new, old
    if not stop.iterations:
        length_one(old)
    return reported(old, stop)
