"""HITS: hubs and authorities.

Method: power iteration on A A', a = h A, h = A a, both scaled to the maximum 1 (J. Kleinberg, J. ACM 46, 1999; the
definition is NetworkX's).
Encoding: all vectors are full.
Work: two products over all edges per iteration; border values: 2 n per iteration.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, monoid
from spgraph.algorithms._inputs import as_float, of_graph
from spgraph.algorithms._iterated import IteratedVector, Stop, reported
from spgraph.algorithms._vectors import divided, full_vector, length_one
from spgraph.algorithms._weights import along_edges, check_not_negative
from spgraph.exceptions import InvalidValue
from spgraph.vector import Vector

__all__ = ["hits"]


@of_graph
def hits(A, max_iter: int = 1000, tol: float = 1e-8, *, nstart=None, normalized: bool = True, weighted: bool = True,
         dtype=np.float64, fail_on_nonconvergence: bool = True) -> tuple[IteratedVector, IteratedVector]:
    """Hubs, which point to good authorities, and authorities, to which good hubs point.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j, not negative.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the L1 norm of the change of the hubs, of which the largest is 1, is below `tol`.
    nstart : Vector, dict or array, optional
        Hubs to start from, not negative, and not 0 wherever an edge starts. Default: all the same.
    normalized : bool
        Both sum to 1. If False, the authorities have the Euclidean norm 1, and the hubs are A times these.
    weighted : bool
        False: every stored entry weighs 1.
    dtype : dtype
        float64 or float32.
    fail_on_nonconvergence : bool
        Raise after `max_iter` iterations; else return what there is.

    Returns
    -------
    hubs, authorities : IteratedVector
        Full, with `iterations`, `residual` (the L1 norm) and `converged`; all 0 in a graph without edges.

    Raises
    ------
    InvalidValue
        If an argument is out of range, a weight is negative, or the iteration did not converge.

    Examples
    --------
    >>> import spgraph as sg
    >>> hubs, authorities = sg.algorithms.hits(sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], 1.0, nrows=3, ncols=3))
    >>> hubs.to_dense().round(3), authorities.to_dense().round(3)
    (array([0.618, 0.382, 0.   ]), array([0.   , 0.382, 0.618]))
    """
    n, dtype = A.nrows, as_float("hits", dtype)
    stop = Stop("hits", n, max_iter, tol, 1, fail_on_nonconvergence, f"; are sums of weights finite as {dtype}?")
    if weighted:
        check_not_negative("hits", A)
    to_authorities, to_hubs = along_edges(A, weighted, dtype)
    hubs, new, authorities = full_vector("hits", "nstart", nstart, n, dtype, 1), Vector(dtype, n), Vector(dtype, n)
    _check_start(hubs)
    hubs << divided(hubs, _largest(hubs))
    while True:
        authorities << dtype.type(0)
        authorities(binary.plus) << hubs.vxm(A, to_authorities)  # a = h plus.times A
        largest = _largest(authorities)
        if not largest and A.nvals and (not weighted or A.reduce_scalar(monoid.max).new().value > 0):
            if nstart is None:
                raise InvalidValue(f"hits: all weights are 0 as {dtype}, wanted one above 0; give another dtype")
            raise InvalidValue("hits: nstart is 0 wherever an edge with a weight starts, wanted it positive at one")
        authorities << divided(authorities, largest)
        if stop.reached():
            break
        new << dtype.type(0)
        new(binary.plus) << A.mxv(authorities, to_hubs)  # h' = A plus.times a
        new << divided(new, _largest(new))
        stop.look(new, hubs)
        hubs, new = new, hubs
    if normalized:
        parts = [divided(v, float(v.reduce(monoid.plus).new().get(0))) for v in (hubs, authorities)]
    else:
        length_one(authorities)
        new << dtype.type(0)
        new(binary.plus) << A.mxv(authorities, to_hubs)
        parts = [new, authorities]
    return reported(parts[0], stop), reported(parts[1], stop)


def _largest(v: Vector) -> float:
    return float(v.reduce(monoid.max).new().get(0))


def _check_start(hubs: Vector) -> None:
    least, largest = float(hubs.reduce(monoid.min).new().get(0)), _largest(hubs)
    if hubs.size and (least < 0 or not largest):
        raise InvalidValue(f"hits: nstart has entries from {least} to {largest}, wanted none below 0, one above")
