"""PageRank by power iteration.

Method: r = alpha (r D^-1 A + lost p') + (1 - alpha) p, where D holds the sums of
out-weights, `lost` is the rank on dangling vertices (those without out-weight),
and p, p' say where jumps and lost rank go (L. Page et al., 1999; the definition
is NetworkX's).
Encoding: all vectors are full. `share` is alpha / out-weight, 0 for dangling vertices.
What came along edges and what came by jumps are added where they are used: so the
product waits for no sum of the iteration before.
Work: one product over all edges per iteration; border values: n per iteration.
"""

from __future__ import annotations

import math

import numpy as np

from spgraph import agg, binary, monoid, select, semiring, unary
from spgraph.algorithms._inputs import as_float, of_graph
from spgraph.algorithms._iterated import (
    IteratedVector,
    as_number,
    as_steps,
    as_vector,
    check_not_negative,
    divided,
    scaled,
    weights_matter,
)
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.scalar import Scalar
from spgraph.vector import Vector

__all__ = ["PageRank", "pagerank"]


inverse = unary.register_anonymous(lambda x: np.where(x == 0, 0, 1 / x), "inverse_or_0")


class PageRank(IteratedVector):
    """The ranks, and how they were reached: copies by `copy` and `pickle` keep that, `dup` makes a plain Vector.

    Attributes
    ----------
    iterations : int
    residual : float
        L1 norm of the last change.
    converged : bool
    """

    __slots__ = ()


@of_graph
def pagerank(A, alpha: float = 0.85, *, personalization=None, dangling=None, weighted: bool = True,
             max_iter: int = 100, tol: float = 1e-6, nstart=None, dtype=np.float64,
             fail_on_nonconvergence: bool = True) -> PageRank:
    """The stationary distribution of a surfer who follows edges and sometimes jumps.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the weight of the edge i -> j; self-loops count.
    alpha : float
        Probability of following an edge instead of jumping, in [0, 1].
    personalization : Vector, dict or array, optional
        Where jumps go, in proportion; absent entries count as 0. Default: anywhere.
    dangling : Vector, dict or array, optional
        Where the rank of vertices without out-weight goes. Default: `personalization`.
    weighted : bool
        False: every stored entry weighs 1.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the L1 norm of the change is below ``n * tol``.
    nstart : Vector, dict or array, optional
        Ranks to start from, in proportion. Default: equal ones, as in NetworkX.
    dtype : dtype
        float64 or float32.
    fail_on_nonconvergence : bool
        Raise after `max_iter` iterations; else return what there is.

    Returns
    -------
    PageRank
        A Vector of `dtype`, full, which sums to 1, with `iterations`, `residual`
        (the L1 norm) and `converged`.

    Raises
    ------
    InvalidValue
        If an argument is out of range, a weight is negative or NaN, or the
        iteration did not converge.

    Examples
    --------
    >>> import spgraph as sg
    >>> r = sg.algorithms.pagerank(sg.generators.path(3, directed=True), tol=1e-10)
    >>> r.to_dense().round(6)
    array([0.184417, 0.341171, 0.474412])
    """
    n = A.nrows
    dtype = as_float("pagerank", dtype)
    alpha = as_number("pagerank", "alpha", alpha, 0, 1, "a number in [0, 1]")
    max_iter, tol = as_steps("pagerank", max_iter), as_number("pagerank", "tol", tol, 0)
    jump = _distribution("personalization", personalization, n, dtype)
    sink = jump if dangling is None else _distribution("dangling", dangling, n, dtype)
    rank = _distribution("nstart", nstart, n, dtype)
    share, idle, follow = _shares(A, alpha, weighted, dtype)
    came, flow, lost, change = Vector(dtype, n), Vector(dtype, n), Scalar(dtype), Scalar(dtype)
    uniform = personalization is None and sink is jump
    jumped, jumps, other = dtype.type(0), Vector(dtype, n), Vector(dtype, n)  # ranks are rank + jumped
    if not uniform:
        other << jumped
        jumped = other
    residual, converged, iterations = math.inf, n == 0, 0
    late = False  # the change is not known yet: a GPU computes it, and meanwhile begins the next product, wanted or not
    _spread(rank, jumped, idle, share, lost, flow)
    while not converged and iterations < max_iter:
        came << dtype.type(0)
        came(binary.plus) << flow.vxm(A, follow)  # r' = f plus.times A, ...
        lost_rank = alpha * lost.get(0)  # known when the product began
        if sink is not jump:
            jumps << binary.plus(scaled(jump, 1 - alpha) | scaled(sink, lost_rank))
        elif not uniform:
            jumps << scaled(jump, 1 - alpha + lost_rank)
        now = dtype.type((1 - alpha + lost_rank) / n) if uniform else jumps  # ... + (1 - alpha) p + alpha l p'
        if late:
            residual = _looked_at(change, iterations)
            converged = residual < n * tol
            if converged:
                break
        _spread(came, now, idle, share, lost, flow)
        change << _ranks(came - rank, now - jumped).apply(unary.abs).reduce(monoid.plus)
        rank, came, jumped, jumps, other = came, rank, now, other, jumps
        iterations += 1
        late = not change.ready
        if not late:
            residual = _looked_at(change, iterations)
            converged = residual < n * tol
    if late and not converged:
        residual = _looked_at(change, iterations)
        converged = residual < n * tol
    if not converged and fail_on_nonconvergence:
        raise InvalidValue(
            f"pagerank: not converged after max_iter={max_iter} iterations: the L1 norm of the last change is "
            f"{residual:.3g}, tol * n is {n * tol:.3g}; raise max_iter or tol, or pass fail_on_nonconvergence=False")
    return _result(_ranks(rank, jumped), iterations, float(residual), converged)


def _ranks(came, jumped):
    """What came along edges and what came by jumps, which is the same for all or a Vector."""
    return came.apply(binary.plus, right=jumped) if isinstance(jumped, np.generic) else binary.plus(came & jumped)


def _spread(came: Vector, jumped, idle: Vector, share: Vector, lost: Scalar, flow: Vector) -> None:
    """What leaves each vertex: the rank that dangling ones lose together, and what follows each edge of the others."""
    lost << binary.first(_ranks(came, jumped) & idle).reduce(monoid.plus)  # l = sum of r over dangling vertices
    flow << binary.times(_ranks(came, jumped) & share)  # f = r .* (alpha / outweight)


def _looked_at(change: Scalar, iterations: int) -> float:
    residual = change.get(0)
    if math.isnan(residual):
        raise InvalidValue(f"pagerank: the ranks are NaN after {iterations} iterations; are all weights finite?")
    return residual


def _distribution(name: str, given, n: int, dtype: np.dtype) -> Vector:
    """A full vector that sums to 1, from what a caller gives (None: uniform)."""
    full = Vector(dtype, n)
    if given is None:
        full << dtype.type(1 / max(n, 1))
        return full
    given = as_vector("pagerank", name, given, n, dtype)
    least = given.reduce(monoid.min).get(0)
    total = float(given.reduce(monoid.plus["FP64"]).get(0))
    if least < 0 or not 0 < total < math.inf:
        raise InvalidValue(f"pagerank: {name} has the minimum {least} and the sum {total}; wanted no negative entry "
                           "and a positive, finite sum")
    full << dtype.type(0)
    full(binary.plus) << divided(given.dup(np.float64), total).new(dtype)
    return full


def _shares(A: Matrix, alpha: float, weighted: bool, dtype: np.dtype):
    """alpha / out-weight of every vertex (0 if dangling), the dangling ones, the semiring that follows edges."""
    weighted = weights_matter(A, weighted)
    if weighted:
        check_not_negative("pagerank", A)
        out = A.reduce_rowwise(monoid.plus[dtype]).new()
    else:
        out = A.reduce_rowwise(agg.count).new(dtype)
    share = Vector(dtype, A.nrows)
    share << dtype.type(0)
    share(binary.second) << scaled(out.apply(inverse).new(), alpha)
    idle = select.valueeq(share, 0).new()
    return share, idle, semiring.plus_times[dtype] if weighted else semiring.plus_first[dtype]


def _result(rank, iterations: int, residual: float, converged: bool) -> PageRank:
    result = PageRank(rank.dtype, rank.size, name="pagerank")
    result << rank
    result.iterations = iterations
    result.residual = residual
    result.converged = converged
    return result
