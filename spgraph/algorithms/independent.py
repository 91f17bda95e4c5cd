"""A maximal independent set: no two members are neighbours, every other vertex has one that is.

Method: rounds of local maxima (M. Luby, SIAM J. Computing 15, 1986). Every vertex draws a number; who has a larger one
than all its neighbours left joins, and takes its neighbours out. Numbers are a permutation of the vertices, drawn once:
there are no ties, and the seed decides the set, whatever the device (G. Blelloch, J. Fineman, J. Shun, SPAA 2012: it is
the one that a greedy pass in falling order of the numbers finds, after O(log^2 n) rounds).
Encoding: `score` has an entry exactly for the undecided.
Work: O(n) a round, and the edges of the undecided; border values: their scores.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, select, semiring
from spgraph.algorithms._inputs import as_seed, as_undirected, of_graph
from spgraph.vector import Vector

__all__ = ["maximal_independent_set"]


@of_graph
def maximal_independent_set(A, *, seed: int = 0, symmetrize: bool = False) -> Vector:
    """Vertices of which no two are neighbours, and to which none can be added.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Undirected; self-loops and values do not matter, a stored zero is an edge.
    seed : int
        Of the numbers drawn; the same seed gives the same set on every device.
    symmetrize : bool
        Take a directed edge as an undirected one; else directed graphs are an error.

    Returns
    -------
    Vector of bool, size n
        True for members; other vertices have no entry.

    Raises
    ------
    InvalidValue
        If an edge has no opposite and `symmetrize` is False, or the seed is negative.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.maximal_independent_set(sg.generators.star(5), seed=0).to_dict()
    {1: True, 2: True, 3: True, 4: True}
    """
    seed = as_seed("maximal_independent_set", seed)
    A = select.offdiag(as_undirected("maximal_independent_set", A, symmetrize)).new()
    n = A.nrows
    score = Vector.from_dense(np.random.default_rng(seed).permutation(n).astype(np.int64) + 1)
    member, rival, out = Vector(bool, n), Vector(np.int64, n), Vector(bool, n)
    while score.nvals:
        rival << score  # where no neighbour is left, one's own score
        rival(score.S, binary.max) << A.mxv(score, semiring.max_second)  # r<s(s)> max= A max.second s
        joining = select.valueeq(binary.eq(score & rival).new(), True).new()
        member(joining.S) << True
        out(score.S, replace=True) << joining.vxm(A, semiring.any_pair)  # o<s(s), replace> = j any.pair A
        out(joining.S) << True
        score(~out.S, replace=True) << score  # s<!s(o), replace> = s
    return member
