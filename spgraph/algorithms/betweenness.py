"""Betweenness centrality, exact or from some sources.

Method: U. Brandes (J. Math. Sociology 25, 2001), level by level: forward the shortest paths are counted, backward the
dependencies added up, each by one masked product a level whose direction the engine chooses. Sources go one by one as
vectors, or many at once: in copies of the graph (`spgraph.copies`), or as the rows of matrices (A. Buluc, J. Gilbert,
IJHPCA 25, 2011) in parts between devices and where there are more than copies are made for. Devices share them out
where the graph fits on each, else all work on each source, see `_sources`.
Encoding: `paths` has an entry for what is reached, the number of shortest paths from the source; `fronts` holds the
same by level. Instead of a dependency d(v), `share` = d(v) / paths(v) is kept: the sum of 1 / paths(w) + share(w) over
v's successors w, in which nothing is multiplied.
Numbers: floating point; a source that has more paths than fit is done again with wide exponents, see `_counts`.
Work: O(m) per source at most; O(n) memory per source of a batch; border values: a level's vertices, twice.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from spgraph import binary
from spgraph.algorithms._counts import Numbers
from spgraph.algorithms._fronts import fronts_of
from spgraph.algorithms._inputs import as_float, of_graph
from spgraph.algorithms._sources import is_directed, rescale, starts_of, sum_over
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["betweenness_centrality"]


@of_graph
def betweenness_centrality(A, k: int | None = None, *, sources=None, normalized: bool = True, endpoints: bool = False,
                           directed: bool | None = None, seed=None, batch: int | None = None, dtype=np.float64,
                           spread: str = "auto") -> Vector:
    """How many shortest paths pass through every vertex: the sum over pairs (s, t) of the share that does.

    Parameters
    ----------
    A : Matrix, or what converts to one
        Entry (i, j) is the edge i -> j; values do not matter, self-loops have no effect.
    k : int, optional
        Estimate from so many random sources. Default: exact, from all.
    sources : list of int, optional
        Only the paths from these.
    normalized : bool
        Divide by the number of pairs that a path through the vertex may join. If False, values are those of all
        paths, estimated for `k` as NetworkX does, or plain sums over the given `sources`.
    endpoints : bool
        Count the ends of a path as passed.
    directed : bool, optional
        False: an undirected path counts once, not twice, where `normalized` is False and no `sources` are given.
        Default: whether an edge lacks its opposite.
    seed : int or random.Random, optional
        Of the choice of `k` sources; a number chooses the vertices that NetworkX chooses.
    batch : int, optional
        Sources done at once: in copies of the graph, up to 32 of them on a GPU and 256 on a CPU, if they have room, or
        else as a matrix of frontiers with `batch` rows. Default: on a GPU as many as pay and have room; on a CPU
        several where a level has few edges, which large graphs show by a first source, and else one by one as
        vectors. Results are the same within rounding.
    dtype : dtype
        float64 or float32, of the result and of path counts.
    spread : {"auto", "sources", "graph"}
        How several devices share the work: each holds a copy of the graph and does some of the sources, or all go
        through the graph in parts together. "auto": the first where each device has a source and
        memory for a copy, but the second between parts of one CPU. Results are the same within rounding.

    Returns
    -------
    Vector of `dtype`, size n, full
        Always finite. (For a sole source of an estimate, about which there is no data, NetworkX gives NaN and we 0.)

    Raises
    ------
    IndexOutOfBound
        If a source is not a vertex.
    InvalidValue
        If an argument is out of range, or a source has more than 2^524286 shortest paths to a vertex.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.algorithms.betweenness_centrality(sg.generators.star(5)).to_dense()
    array([1., 0., 0., 0., 0.])
    """
    dtype = as_float("betweenness_centrality", dtype)
    if directed not in (None, True, False):
        raise InvalidValue(f"betweenness_centrality: directed is {directed!r}, wanted True, False or None")
    starts = starts_of(A, k, sources, seed)
    total = sum_over(A, starts, batch, spread, dtype, partial(_add_dependencies, endpoints=endpoints))
    if normalized or sources is None:
        halved = not normalized and not (is_directed(A) if directed is None else directed)
        rescale(total, starts, normalized, endpoints, halved)
    return total


def _add_dependencies(A: Matrix, starts: list[int], total: Vector, numbers: Numbers, endpoints: bool):
    """Add what passes through each vertex on paths from `starts`; False, and nothing, if the counts are too large."""
    dtype, one, last, add, follow, along, passed = numbers
    searches = fronts_of(A, starts, one, dtype)
    paths = searches.start
    front, fronts = paths.dup(), []
    while front.nvals:
        fronts.append(front)
        front = searches.along(front, follow).new(mask=~paths.S)  # q<!s(paths)> = q plus.first A
        paths(binary.second) << front
        yield
    if not searches.largest(paths) < last:
        return False
    share = searches.zeros(dtype)
    while len(fronts) > 2:
        ended = fronts.pop().ewise_mult(share, along).new(dtype)  # e = 1 ./ paths + share
        share(fronts[-1].S, add) << searches.back(ended, follow)  # share<s(level d - 1)> += e plus.first A'
        yield
    searches.add_up(total, paths, passed(paths & share), endpoints)  # total += paths .* share
    return True
