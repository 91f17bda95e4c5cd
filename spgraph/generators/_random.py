"""R-MAT and uniform random graphs.

Method: edges are drawn in chunks, each with a random stream of its own, so that
the result does not depend on the number of threads. Each edge is one packed
integer; sorting those and dropping equals cleans the graph.

Cost: scale draws of 16 bits per edge and one sort: about 0.25 us of one core's
time per edge drawn, rmat(18) in 0.6 s on two busy cores of a recent EPYC.
Source: D. Chakrabarti, Y. Zhan, C. Faloutsos, R-MAT, SDM 2004; Graph500
specification (parameters, edge factor 16, permuted vertices).
"""

from __future__ import annotations

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.generators._common import Weights, check_count, check_memory, from_keys, stream
from spgraph.io._build import build_matrix, made_on_host
from spgraph.io._coo import Csr
from spgraph.io._keys import bits_for, in_threads
from spgraph.io._ranks import loading_ranks
from spgraph.io._text import progress_bar

__all__ = ["rmat", "rmat_edges", "uniform"]

PARAMETERS = {"graph500": (0.57, 0.19, 0.19, 0.05), "gtgraph": (0.45, 0.15, 0.15, 0.25)}
CHUNK = 1 << 16  # edges that are drawn together: their arrays stay in the cache
PERMUTATION = 1 << 33
LOOP = -1  # the key of a self-loop that is to be dropped


@made_on_host
def rmat(
    scale,
    edge_factor=16,
    *,
    parameters="graph500",
    seed=0,
    permute=True,
    symmetrize=True,
    clean=True,
    weights=None,
    dtype=None,
    order=None,
    progress=None,
):
    """A power-law graph with 2**scale vertices and edge_factor * 2**scale edges before cleaning.

    Parameters
    ----------
    scale : int
        Logarithm of the number of vertices, 0..31.
    edge_factor : int
    parameters : {"graph500", "gtgraph"} or (a, b, c, d)
        Probabilities of the four quadrants; the presets are (.57, .19, .19, .05)
        and (.45, .15, .15, .25). They are rounded to multiples of 2**-16.
    seed : int
    permute : bool
        Number the vertices at random; otherwise small numbers have many edges.
    symmetrize : bool
        Undirected: every edge is stored in both directions, with one weight.
    clean : bool
        Drop self-loops and merge parallel edges. False keeps self-loops and,
        where no weights are asked for, counts parallel edges in the values (INT64).
    weights : None, "int", "uniform" or (lo, hi), optional
        None: True for every edge; "int": integers 1..64; (lo, hi): integers
        lo..hi; "uniform": floats in [0, 1).
    dtype : optional
        Type of the values.
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> A = rmat(8, seed=1)
    >>> A.shape, A.report.edges
    ((256, 256), 4096)
    """
    n, count, seed = _check("rmat", scale, edge_factor, seed)
    chosen = _weights("rmat", weights, dtype, seed, clean)
    draw = _Quadrants(n, parameters, permute, seed)
    source = f"rmat({scale}, {edge_factor})"
    return build_matrix(_random_graph(draw, count, chosen, symmetrize, clean, source, progress), order)


@made_on_host
def rmat_edges(scale, edge_factor=16, *, parameters="graph500", seed=0, permute=True):
    """The edges of `rmat` as they are drawn: with self-loops, parallel edges, in one direction.

    Under ``mpiexec`` every process gets all of them.

    Returns
    -------
    rows, cols : ndarray of int32

    Examples
    --------
    >>> rows, cols = rmat_edges(8)
    >>> rows.size
    4096
    """
    n, count, seed = _check("rmat_edges", scale, edge_factor, seed)
    draw = _Quadrants(n, parameters, permute, seed)
    pairs = in_threads(
        lambda chunk: draw(chunk, min(CHUNK, count - chunk * CHUNK)), range(-(-count // CHUNK))
    )
    if not pairs:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    return np.concatenate([rows for rows, _ in pairs]), np.concatenate([cols for _, cols in pairs])


def count_from(inside: np.ndarray, scale, edge_factor=16, *, seed=0) -> int:
    """How many of the edges of `rmat_edges` begin in a set of vertices, given as one bool each."""
    n, count, seed = _check("rmat_edges", scale, edge_factor, seed)
    draw = _Quadrants(n, "graph500", True, seed)
    ranks = loading_ranks()

    def count_some(chunk: int) -> int:
        rows, _ = draw(chunk, min(CHUNK, count - chunk * CHUNK))
        return int(np.count_nonzero(inside[rows]))

    own = sum(in_threads(count_some, range(*ranks.share(-(-count // CHUNK)))))
    return sum(ranks.gather(own))


@made_on_host
def uniform(
    n, degree=16, *, seed=0, symmetrize=True, clean=True, weights=None, dtype=None, order=None, progress=None
):
    """A random graph: the ends of every edge are drawn uniformly.

    Parameters
    ----------
    n : int
        Number of vertices.
    degree : int
        Mean degree before cleaning: n * degree / 2 edges are drawn when
        undirected, n * degree when directed.
    seed : int
    symmetrize, clean, weights, dtype, order, progress
        As for `rmat`.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> A = uniform(100, degree=4, symmetrize=False)
    >>> A.report.edges
    400
    """
    n = check_count(n, "n", "uniform")
    degree = check_count(degree, "degree", "uniform")
    seed = check_count(seed, "seed", "uniform", high=2**128)
    count = n * degree // (2 if symmetrize else 1)
    check_memory("uniform", n, count)
    chosen = _weights("uniform", weights, dtype, seed, clean)

    def draw(chunk, size):
        random = stream(seed, chunk)
        return random.integers(0, n, size, dtype=np.int32), random.integers(0, n, size, dtype=np.int32)

    draw.n = n
    source = f"uniform({n}, {degree})"
    return build_matrix(_random_graph(draw, count, chosen, symmetrize, clean, source, progress), order)


def _weights(where: str, weights, dtype, seed: int, clean: bool) -> Weights:
    """As asked for; the default dtype holds counts where parallel edges are counted."""
    counts = weights is None and dtype is None and not clean
    return Weights(weights, np.int64 if counts else dtype, seed, where)


def _check(where: str, scale, edge_factor, seed) -> tuple[int, int, int]:
    scale = check_count(scale, "scale", where, high=31)
    edge_factor = check_count(edge_factor, "edge_factor", where)
    check_memory(where, 1 << scale, edge_factor << scale)
    return 1 << scale, edge_factor << scale, check_count(seed, "seed", where, high=2**128)


class _Quadrants:
    """Draws chunks of R-MAT edges: at each level one of four quadrants."""

    def __init__(self, n: int, parameters, permute: bool, seed: int):
        if isinstance(parameters, str) and parameters not in PARAMETERS:
            raise InvalidValue(
                f"rmat: parameters: got {parameters!r}, wanted {', '.join(PARAMETERS)} or (a, b, c, d)"
            )
        chances = np.asarray(PARAMETERS[parameters] if isinstance(parameters, str) else parameters, float)
        if chances.shape != (4,) or not (chances >= 0).all() or abs(chances.sum() - 1) > 1e-6:
            raise InvalidValue(
                f"rmat: parameters: got {parameters!r}, wanted four probabilities that sum to 1"
            )
        self.n = n
        self.seed = seed
        self.cuts = np.rint(chances.cumsum()[:3] * 65536).astype(int).tolist()
        self.names = stream(seed, PERMUTATION).permutation(np.arange(n, dtype=np.int32)) if permute else None

    def __call__(self, chunk: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        random = stream(self.seed, chunk)
        rows, cols = np.zeros(size, np.int32), np.zeros(size, np.int32)
        levels = bits_for(self.n)
        row_bits, col_bits = np.empty(size, np.uint8), np.empty(size, np.uint8)
        for first in range(0, levels, 8):
            some = min(8, levels - first)
            row_bits[:] = 0
            col_bits[:] = 0
            words = -(-size * some // 4)  # 64 bits are four draws, and the fastest to come by
            drawn = random.integers(0, 2**64 - 1, words, dtype=np.uint64, endpoint=True).view(np.uint16)
            for level in range(some):
                self._level(drawn[level * size : (level + 1) * size], row_bits, col_bits)
            for numbers, bits in ((rows, row_bits), (cols, col_bits)):
                numbers <<= some
                numbers |= bits
        return (rows, cols) if self.names is None else (self.names[rows], self.names[cols])

    def _level(self, drawn, row_bits, col_bits):
        a, ab, abc = self.cuts
        down = drawn >= ab  # quadrants c and d
        right = drawn >= a  # b or d: an odd number of cuts passed
        right ^= down
        right ^= drawn >= abc
        for bits, bit in ((row_bits, down), (col_bits, right)):
            bits += bits  # a shift by one, only faster
            bits |= bit.view(np.uint8)


def _random_graph(
    draw, count: int, weights: Weights, symmetrize: bool, clean: bool, source: str, progress
) -> Csr:
    """Draw all chunks as keys, and build the graph from them."""
    bits = bits_for(draw.n)
    ranks = loading_ranks()
    first, last = ranks.share(-(-count // CHUNK))
    begin = first * CHUNK
    own = max(min(last * CHUNK, count) - begin, 0)
    keys = np.empty((2 if symmetrize else 1, own), np.int64)

    def chunk_keys(chunk):
        place = slice(chunk * CHUNK - begin, min((chunk + 1) * CHUNK, count) - begin)
        rows, cols = draw(chunk, place.stop - place.start)
        loop = rows == cols
        for mine, high, low in zip(keys[:, place], (rows, cols), (cols, rows)):
            mine[:] = high
            mine <<= bits
            mine |= low
        keys[0 if clean else 1 :, place][:, loop] = LOOP  # the mirror image of a self-loop always goes
        return int(np.count_nonzero(loop)) if clean else 0

    with progress_bar(own, f"generating {source}", progress if ranks.first else False, " edges") as bar:
        loops = sum(in_threads(chunk_keys, range(first, last), lambda: bar.update(CHUNK)))
    return from_keys(
        keys.ravel(),
        draw.n,
        weights,
        source=source,
        generated=own,
        loops=loops,
        undirected=symmetrize,
        multiplicities=weights.spec is None and not clean,
    )
