"""Katz centrality.

Method: x = alpha x A + beta until x stays (L. Katz, Psychometrika 18, 1953; the definition is NetworkX's).
Encoding: all vectors are full.
Work: one product over all edges per iteration; border values: n per iteration.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary
from spgraph.algorithms._inputs import as_float, as_number, of_graph
from spgraph.algorithms._iterated import IteratedVector, Stop, reported
from spgraph.algorithms._vectors import full_vector, length_one, scaled
from spgraph.algorithms._weights import along_edges, check_not_nan
from spgraph.vector import Vector

__all__ = ["katz_centrality"]


@of_graph
def katz_centrality(A, alpha: float = 0.1, beta=1.0, *, max_iter: int = 1000, tol: float = 1e-6, nstart=None,
                    normalized: bool = True, weighted: bool = False, dtype=np.float64,
                    fail_on_nonconvergence: bool = True) -> IteratedVector:
    """Walks that end in a vertex, counted with a factor `alpha` for every edge, from `beta` in every vertex.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j.
    alpha : float
        Less than 1 / the largest eigenvalue of A: else the sum has no limit.
    beta : float, Vector, dict or array
        What every vertex starts with.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the L1 norm of the change is below ``n * tol``.
    nstart : float, Vector, dict or array, optional
        Values to start from. Default: 0.
    normalized : bool
        Scale the result to the Euclidean norm 1.
    weighted : bool
        Whether edges count with their values, or 1 each.
    dtype : dtype
        float64 or float32.
    fail_on_nonconvergence : bool
        Raise after `max_iter` iterations; else return what there is.

    Returns
    -------
    IteratedVector
        Full, with `iterations`, `residual` (the L1 norm, before scaling) and `converged`.

    Raises
    ------
    InvalidValue
        If an argument is out of range, or the iteration does not converge.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.katz_centrality(sg.generators.star(5)).to_dense().round(3)
    array([0.537, 0.422, 0.422, 0.422, 0.422])
    """
    n, dtype = A.nrows, as_float("katz_centrality", dtype)
    most = float(np.finfo(dtype).max)
    alpha = as_number("katz_centrality", "alpha", alpha, -most, most, f"a finite {dtype}")
    stop = Stop("katz_centrality", n, max_iter, tol, n, fail_on_nonconvergence,
                f" as {dtype}; alpha must be less than 1 / the largest eigenvalue of A")
    if weighted:
        check_not_nan("katz_centrality", A)
    follow, _ = along_edges(A, weighted, dtype)
    base = full_vector("katz_centrality", "beta", beta, n, dtype, 1)
    old, new = full_vector("katz_centrality", "nstart", nstart, n, dtype, 0), Vector(dtype, n)
    while not stop.reached():
        new << base
        new(binary.plus) << scaled(old, alpha).new().vxm(A, follow)  # x' = b + (alpha x) plus.times A
        stop.look(new, old)
        old, new = new, old
    if normalized:
        length_one(old)
    return reported(old, stop)
