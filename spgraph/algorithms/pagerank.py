"""PageRank by power iteration.

Method: r = alpha (r D^-1 A + lost p') + (1 - alpha) p, where D holds the sums of out-weights, `lost` is the rank on
dangling vertices (those without out-weight), and p, p' say where jumps and lost rank go (L. Page et al., 1999; the
definition is NetworkX's).
Encoding: all vectors are full. `share` is alpha / out-weight, 0 for dangling vertices. Ranks are what came along edges
plus what came by jumps, which are added where they are used: so the product waits for no sum of the iteration before.
Where that is known without a sum, ranks begin with it (`Lost.first`).
Work: one product over all edges per iteration; border values: n per iteration.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, monoid, unary
from spgraph.algorithms._inputs import as_float, as_number, of_graph
from spgraph.algorithms._iterated import IteratedVector, LateStop, with_report
from spgraph.algorithms._jumps import Jumps, Lost, less, shares, together
from spgraph.algorithms._vectors import distribution
from spgraph.scalar import Scalar
from spgraph.vector import Vector

__all__ = ["PageRank", "pagerank"]


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
    n, dtype = A.nrows, as_float("pagerank", dtype)
    alpha = as_number("pagerank", "alpha", alpha, 0, 1, "a number in [0, 1]")
    hint = f"; are all weights, and their sum at each vertex, finite as {dtype}?"
    stop = LateStop("pagerank", n, max_iter, tol, n, fail_on_nonconvergence, hint)
    jumps = Jumps(n, alpha, personalization, dangling, dtype)
    rank, jumped = distribution("pagerank", "nstart", nstart, n, dtype), jumps.none()
    share, idle, bare, follow = shares(A, alpha, weighted, dtype)
    came, flow, lost, change = Vector(dtype, n), Vector(dtype, n), Lost(A, idle, bare, jumps, dtype), Scalar(dtype)
    lost.begin(rank, jumped)
    flow << binary.times(together(rank, jumped) & share)  # f = r .* (alpha / outweight), what follows each edge
    along = flow.vxm(A, follow)
    while not stop.reached():
        came << lost.first
        came(binary.plus) << along  # r' = f plus.times A, ...
        now = lost.late()  # ... + (1 - alpha) p + alpha l p'; l is known when the product began, or was before
        if stop.at_last():  # the last change, which a GPU computed meanwhile, was small
            break
        lost.follow(came, now)
        flow << binary.times(together(came, now) & share)
        change << together(came - rank, less(now, jumped)).apply(unary.abs).reduce(monoid.plus)
        rank, came, jumped = came, rank, now
        stop.look_later(change)
    return with_report(PageRank(dtype, n, name="pagerank"), together(rank, jumped), stop)
