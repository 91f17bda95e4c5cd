"""Grids, paths, cycles, stars and complete graphs: edges known without drawing.

Cost: one sort of the edges in both directions. Under ``mpiexec`` each process makes those of a share of the vertices;
of a grid's random numbers, one stream, it passes over those of the others.
"""

from __future__ import annotations

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.generators._common import Weights, check_count, check_memory, from_keys, stream
from spgraph.io._build import build_matrix, made_on_host
from spgraph.io._keys import bits_for
from spgraph.io._ranks import loading_ranks

__all__ = ["complete", "cycle", "grid", "path", "star"]

DELETIONS = 1 << 34  # number of the random stream
PIECE = 1 << 16  # of its numbers are passed over at a time


@made_on_host
def grid(rows, cols=None, *, delete=0.1, weights=(1, 64), seed=0, diagonal=False, dtype=None, order=None):
    """A road-like graph: a two-dimensional grid with some edges deleted.

    Vertex ``r * cols + c`` lies in row r and column c. Undirected.

    Parameters
    ----------
    rows, cols : int
        `cols` defaults to `rows`.
    delete : float
        Share of the edges that are deleted, 0..1, drawn edge by edge.
    weights : None, "int", "uniform" or (lo, hi)
        See `rmat`; both directions of an edge have the same.
    seed : int
    diagonal : bool
        Eight neighbours instead of four.
    dtype : optional
        Type of the values.
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> A = grid(3, 2, delete=0)
    >>> A.shape, A.nvals
    ((6, 6), 14)
    """
    rows = check_count(rows, "rows", "grid")
    cols = rows if cols is None else check_count(cols, "cols", "grid")
    n = check_count(rows * cols, "rows * cols", "grid")
    check_memory("grid", n, 2 * n)
    seed = check_count(seed, "seed", "grid", high=2**128)
    if not 0 <= delete <= 1:
        raise InvalidValue(f"grid: delete: got {delete}, wanted a share within 0..1")
    chosen = Weights(weights, dtype, seed, "grid")
    steps = [(0, 1), (1, -1), (1, 0), (1, 1)] if diagonal else [(0, 1), (1, 0)]
    first, last = loading_ranks().share(n)
    row, col = np.divmod(np.arange(first, last), max(cols, 1))
    present = np.empty((last - first, len(steps)), bool)
    for k, (down, right) in enumerate(steps):
        present[:, k] = (row + down < rows) & (col + right >= 0) & (col + right < cols)
    shifts = np.array([down * cols + right for down, right in steps])
    if delete:
        random = stream(seed, DELETIONS)
        for before in range(0, first * len(steps), PIECE):
            random.random(min(PIECE, first * len(steps) - before), dtype=np.float32)
        present &= random.random(present.shape, dtype=np.float32) >= delete
    start, step = np.nonzero(present)  # by vertex, then by neighbour: sorted
    start += first
    return _build(start, start + shifts[step], n, chosen, f"grid({rows}, {cols})", order, undirected=True)


@made_on_host
def path(n, *, directed=False, weights=None, seed=0, dtype=None, order=None):
    """The path 0 - 1 - ... - n-1.

    Parameters
    ----------
    n : int
        Number of vertices.
    directed : bool
        Store only the edges i -> i+1.
    weights, seed, dtype, order
        As for `rmat`.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> path(4, directed=True).to_coo()[:2]
    (array([0, 1, 2]), array([1, 2, 3]))
    """
    n = check_count(n, "n", "path")
    check_memory("path", n, max(n - 1, 0))
    ids = np.arange(*loading_ranks().share(max(n - 1, 0)))
    return _simple("path", n, ids, ids + 1, directed, weights, seed, dtype, order)


@made_on_host
def cycle(n, *, directed=False, weights=None, seed=0, dtype=None, order=None):
    """The path 0 - 1 - ... - n-1 with an edge back to 0; n is at least 3 (undirected) or 1.

    Parameters
    ----------
    n : int
    directed : bool
        Store only the edges i -> i+1 and n-1 -> 0.
    weights, seed, dtype, order
        As for `rmat`.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> cycle(3, directed=True).to_coo()[:2]
    (array([0, 1, 2]), array([1, 2, 0]))
    """
    n = check_count(n, "n", "cycle", low=1 if directed else 3)
    check_memory("cycle", n, n)
    ids = np.arange(*loading_ranks().share(n))
    return _simple("cycle", n, ids, (ids + 1) % n, directed, weights, seed, dtype, order)


@made_on_host
def star(n, *, directed=False, weights=None, seed=0, dtype=None, order=None):
    """Vertex 0 joined to each of the other n-1 vertices.

    Parameters
    ----------
    n : int
        Number of vertices, the centre included.
    directed : bool
        Store only the edges from the centre.
    weights, seed, dtype, order
        As for `rmat`.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> star(4, directed=True).to_coo()[:2]
    (array([0, 0, 0]), array([1, 2, 3]))
    """
    n = check_count(n, "n", "star")
    check_memory("star", n, max(n - 1, 0))
    leaves = np.arange(*loading_ranks().share(max(n - 1, 0))) + 1
    return _simple("star", n, np.zeros_like(leaves), leaves, directed, weights, seed, dtype, order)


@made_on_host
def complete(n, *, weights=None, seed=0, dtype=None, order=None):
    """Every vertex joined to every other one.

    Parameters
    ----------
    n : int
    weights, seed, dtype, order
        As for `rmat`.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> complete(4).nvals
    12
    """
    n = check_count(n, "n", "complete", high=2**16)
    check_memory("complete", n, n * (n - 1) // 2)
    ids = np.arange(*loading_ranks().share(n))
    steps = np.arange(1, n // 2 + 1)  # to the half of the others that come next in a circle
    low, step = np.repeat(ids, steps.size), np.tile(steps, ids.size)
    once = (2 * step != n) | (low < step)
    low, high = low[once], ((low + step) % max(n, 1))[once]
    return _simple("complete", n, low, high, False, weights, seed, dtype, order)


def _simple(name: str, n: int, rows, cols, directed: bool, weights, seed, dtype, order):
    seed = check_count(seed, "seed", name, high=2**128)
    chosen = Weights(weights, dtype, seed, name)
    return _build(rows, cols, n, chosen, f"{name}({n})", order, undirected=not directed)


def _build(rows, cols, n: int, chosen: Weights, source: str, order, undirected: bool):
    keys = (rows.astype(np.int64) << bits_for(n)) | cols
    if undirected:
        keys = np.concatenate((keys, (cols.astype(np.int64) << bits_for(n)) | rows))
    csr = from_keys(keys, n, chosen, source=source, generated=rows.size, undirected=undirected)
    return build_matrix(csr, order)
