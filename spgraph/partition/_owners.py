"""Parts by position, by chance, and by chance with a preference for neighbours.

Data encoding: the pattern of a square matrix as CSR arrays (``indptr``, ``indices``); n = indptr.size - 1 vertices.
A part that owns a vertex holds its row. The result, ``owner``, has for every vertex a number of 0..parts - 1, of the
smallest unsigned type that has room. Work: O(n), but for the edges that `biased_random` looks at once.

What is shared evenly, `balance`: ``"vertices"`` counts each vertex as 1, ``"edges"`` as its stored edges and
`VERTEX_COST` for itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.kernels.device import HOST
from spgraph.partition._pattern import check_parts, check_pattern, check_rows, check_seed

__all__ = ["biased_random", "contiguous", "owner_type", "random", "vertex_weights"]

VERTEX_COST = 1  # what a vertex counts besides its edges where edges are balanced


def owner_type(parts: int) -> np.dtype:
    """The smallest unsigned type for numbers of parts."""
    return np.min_scalar_type(max(parts - 1, 0))


def vertex_weights(indptr: Any, balance: str) -> np.ndarray:
    """What each vertex counts.

    Raises
    ------
    InvalidValue
        If `balance` is neither "vertices" nor "edges".
    """
    if balance not in ("vertices", "edges"):
        raise InvalidValue(f"partition: balance is {balance!r}, wanted 'vertices' or 'edges'")
    if balance == "vertices":
        return np.ones(indptr.size - 1, np.int64)
    return np.diff(indptr).astype(np.int64) + VERTEX_COST


def contiguous(indptr: Any, indices: Any, parts: int, *, seed: int = 0, balance: str = "vertices") -> np.ndarray:
    """Ranges of neighbouring numbers.

    Good for graphs whose numbering means something (grids, roads, crawls of the web): it costs nothing and cuts
    little.

    Parameters
    ----------
    indptr, indices : array of int
        Pattern of the matrix, as CSR.
    parts : int
    seed : int
        Not used: nothing is left to chance.
    balance : {"vertices", "edges"}
        What is shared evenly. Numbers of vertices differ by 1 at most; with "edges", no part has more than an
        equal share and one vertex.

    Returns
    -------
    array of unsigned int, shape (n,)
        The part of each vertex.

    Examples
    --------
    >>> import numpy as np
    >>> indptr = np.array([0, 5, 6, 7, 8])                  # five edges leave vertex 0
    >>> contiguous(indptr, None, 2)
    array([0, 0, 1, 1], dtype=uint8)
    >>> contiguous(indptr, None, 2, balance="edges")
    array([0, 1, 1, 1], dtype=uint8)
    """
    parts, indptr = check_parts(parts), check_rows(indptr)
    n = indptr.size - 1
    if balance == "vertices":
        bounds = np.arange(parts + 1) * n // parts
    else:
        after = np.cumsum(vertex_weights(indptr, balance))
        total = int(after[-1]) if n else 0
        shares = np.array([total * p // parts for p in range(1, parts)], np.int64)
        bounds = np.concatenate([[0], np.searchsorted(after, shares, "left"), [n]])
        # A vertex across a border goes to the side where more of it lies.
        inner = bounds[1:-1]
        if n:
            at = np.minimum(inner, n - 1)
            before = after[at] - np.diff(after, prepend=0)[at]
            inner += shares - before > after[at] - shares
    return np.repeat(np.arange(parts, dtype=owner_type(parts)), np.diff(bounds))


def random(indptr: Any, indices: Any, parts: int, *, seed: int = 0, balance: str = "vertices") -> np.ndarray:
    """Equal shares, drawn at random.

    Balances any graph, and cuts all but 1 / parts of its edges: what the exchange pays most for.

    Parameters
    ----------
    indptr, indices : array of int
        Pattern of the matrix, as CSR.
    parts : int
    seed : int
        Of the random numbers; the same seed gives the same parts.
    balance : {"vertices", "edges"}
        What is shared evenly. Numbers of vertices differ by 1 at most. With "edges", vertices are dealt by falling
        degree, equal ones in random order, each to the part with least: parts differ by one vertex at most.

    Returns
    -------
    array of unsigned int, shape (n,)
        The part of each vertex.

    Examples
    --------
    >>> import numpy as np
    >>> indptr = np.array([0, 5, 6, 7, 8])
    >>> np.bincount(random(indptr, None, 2))
    array([2, 2])
    >>> owner = random(indptr, None, 2, balance="edges")
    >>> np.bincount(owner, np.diff(indptr))
    array([5., 3.])
    """
    rng, parts, indptr = np.random.default_rng(check_seed(seed)), check_parts(parts), check_rows(indptr)
    n = indptr.size - 1
    weights = vertex_weights(indptr, balance)
    if balance == "vertices":
        owner = contiguous(indptr, indices, parts)
        rng.shuffle(owner)
        return owner
    owner = np.empty(n, owner_type(parts))
    order = rng.permutation(n)
    order = order[np.argsort(-weights[order], kind="stable")]
    kernel = HOST.kernel("deal.deal_lightest", {}, {})
    kernel(n * parts, 0, n, order, weights, parts, np.zeros(parts, np.int64), owner)
    return owner


def biased_random(
    indptr: Any,
    indices: Any,
    parts: int,
    *,
    seed: int = 0,
    balance: str = "edges",
    bias: float = 0.5,
    slack: float = 0.03,
) -> np.ndarray:
    """At random, but rather where a vertex has its neighbours.

    Vertices come in random order. With probability `bias` one goes to the part that has most of those of its
    neighbours (the columns of its row) that were placed before; else, or if there are none, to a part drawn in
    proportion to the room that is left there. A part that is full takes no more.

    Parameters
    ----------
    indptr, indices : array of int
        Pattern of the matrix, as CSR.
    parts : int
    seed : int
        Of the random numbers; the same seed gives the same parts.
    balance : {"vertices", "edges"}
        What is shared evenly.
    bias : float
        From 0, where neighbours do not matter, to 1.
    slack : float
        A part is full when it has its equal share and this fraction of it more. No part has more than that, or than an
        equal share and one vertex if that is more.

    Returns
    -------
    array of unsigned int, shape (n,)
        The part of each vertex.

    Raises
    ------
    InvalidValue
        If `bias` is not in [0, 1] or `slack` is negative.

    References
    ----------
    After the partitioner of this name in Y. Pan, Y. Wang, Y. Wu, C. Yang, J. D. Owens: Multi-GPU graph analytics,
    IPDPS 2017, which draws from the mean of two shares (neighbours, room) and has no part that is full.

    Examples
    --------
    >>> import spgraph as sg
    >>> from spgraph import partition
    >>> indptr, indices, _ = sg.generators.grid(30).to_csr()
    >>> by_chance, biased = (partition.report(name, indptr, indices, 2) for name in ("random", "biased_random"))
    >>> biased.border < by_chance.border
    True
    """
    if not 0 <= bias <= 1:
        raise InvalidValue(f"biased_random: bias is {bias!r}, wanted a number from 0 to 1")
    if not slack >= 0:
        raise InvalidValue(f"biased_random: slack is {slack!r}, wanted a number that is not negative")
    rng, parts = np.random.default_rng(check_seed(seed)), check_parts(parts)
    indptr, indices = check_pattern(indptr, indices)
    n = indptr.size - 1
    weights = vertex_weights(indptr, balance)
    owner = np.full(n, parts, np.min_scalar_type(parts))
    room = np.full(parts, int(np.ceil(weights.sum() / parts * (1 + slack))), np.int64)
    near = np.zeros(parts + 1, np.int64)
    kernel = HOST.kernel("deal.deal_biased", {}, {})
    kernel(n * parts + indices.size, 0, n, rng.permutation(n), indptr, indices, weights, parts, rng.random(n),
           float(bias), room, near, owner)  # fmt: skip
    return owner.astype(owner_type(parts))
