"""Parts with as few edges, or as few border values, between them as other people's partitioners find.

METIS cuts an undirected graph so that few edges cross. What an exchange pays for is another number, the *border*: how
many pairs (vertex, part that needs its value and does not own it) there are. It is the (lambda - 1) objective of a
hypergraph: one net per column j, whose pins are j and the rows that have an entry there; a net that touches lambda
parts costs lambda - 1. Mt-KaHyPar minimises that.

Both balance stored edges by default: with a weight of 1 per vertex, METIS leaves one part of a power-law graph with
three times the edges of the others. Both are optional packages, imported when called.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.kernels.cpu._threads import threads
from spgraph.partition._owners import contiguous, owner_type, vertex_weights
from spgraph.partition._pattern import check_parts, check_pattern, check_seed

__all__ = ["border", "metis"]

SEEDS = 2**31  # that the packages take


def metis(
    indptr: Any, indices: Any, parts: int, *, seed: int = 0, balance: str = "edges", objective: str = "cut"
) -> np.ndarray:
    """By METIS: few edges between parts.

    A directed graph is taken as undirected, an edge that is stored both ways counting twice.

    Parameters
    ----------
    indptr, indices : array of int
        Pattern of the matrix, as CSR.
    parts : int
    seed : int
        Of METIS' random numbers; the same seed gives the same parts.
    balance : {"vertices", "edges"}
        What is shared evenly, to some percent (METIS promises nothing; a vertex with more edges than a share has is
        one reason).
    objective : {"cut", "volume"}
        The number of edges that cross, or METIS' "communication volume", which is the border if the graph is
        undirected; `border` finds smaller ones.

    Returns
    -------
    array of unsigned int, shape (n,)
        The part of each vertex.

    Raises
    ------
    ImportError
        Without pymetis.
    InvalidValue
        If `balance` or `objective` is none of those.

    References
    ----------
    G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci.
    Comput. 20 (1998).

    Examples
    --------
    >>> import spgraph as sg
    >>> from spgraph import partition
    >>> indptr, indices, _ = sg.generators.grid(30).to_csr()
    >>> partition.report("metis", indptr, indices, 2).cut < 100  # at random 1,600
    True
    """
    if objective not in ("cut", "volume"):
        raise InvalidValue(f"metis: objective is {objective!r}, wanted 'cut' or 'volume'")
    pymetis = _package("pymetis", "metis")
    parts, seed = check_parts(parts), check_seed(seed)
    indptr, indices = check_pattern(indptr, indices)
    weights = vertex_weights(indptr, balance)
    if trivial(weights.size, parts):
        return contiguous(indptr, indices, parts)
    width = pymetis.zero_copy_dtype()
    starts, ends, multiple = _undirected(indptr, indices)
    kind = pymetis.ObjType.VOL if objective == "volume" else pymetis.ObjType.CUT
    found = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(starts.astype(width), ends.astype(width)),
        vweights=weights.astype(width),
        eweights=multiple.astype(width) if multiple is not None and objective == "cut" else None,
        options=pymetis.Options(seed=seed % SEEDS, objtype=int(kind)),
        recursive=False if objective == "volume" else None,
    )
    return np.asarray(found.vertex_part).astype(owner_type(parts))


def border(
    indptr: Any,
    indices: Any,
    parts: int,
    *,
    seed: int = 0,
    balance: str = "edges",
    slack: float = 0.03,
    preset: str = "deterministic",
) -> np.ndarray:
    """By Mt-KaHyPar: few pairs of a vertex and a part that needs its value without owning it.

    The best that there is for the exchange, and the slowest to find: in 4 parts on two cores, 0.8 s for grid:300 (METIS
    0.1), 43 s for rmat:14 (METIS 0.3, or 1 s by volume; preset "default" 4 s). The graph goes over as Python's lists,
    about 50 bytes per stored edge.

    Parameters
    ----------
    indptr, indices : array of int
        Pattern of the matrix, as CSR.
    parts : int
    seed : int
        Of Mt-KaHyPar's random numbers, where its preset has any.
    balance : {"vertices", "edges"}
        What is shared evenly.
    slack : float
        Part of an equal share that a part may have more; kept where the vertices' weights allow.
    preset : {"deterministic", "deterministic_quality", "default", "quality", "highest_quality", "large_k"}
        Mt-KaHyPar's. The first two always give the same parts, whatever the seed; the others never the same twice, but
        "default" takes a tenth of the time on power-law graphs.

    Returns
    -------
    array of unsigned int, shape (n,)
        The part of each vertex.

    Raises
    ------
    ImportError
        Without mtkahypar.
    InvalidValue
        If `balance` or `preset` is none of those, or `slack` is negative.

    References
    ----------
    L. Gottesbueren, T. Heuer, N. Maas, P. Sanders, S. Schlag: Scalable high-quality hypergraph partitioning, ACM
    Trans. Algorithms 20 (2024).

    Examples
    --------
    >>> import spgraph as sg
    >>> from spgraph import partition
    >>> indptr, indices, _ = sg.generators.grid(12).to_csr()
    >>> partition.report("border", indptr, indices, 2).border < 40  # at random 130
    True
    """
    if not slack >= 0:
        raise InvalidValue(f"border: slack is {slack!r}, wanted a number that is not negative")
    package = _package("mtkahypar", "border")
    parts, seed = check_parts(parts), check_seed(seed)
    indptr, indices = check_pattern(indptr, indices)
    presets = {name.lower(): value for name, value in package.PresetType.__members__.items()}
    if preset not in presets:
        raise InvalidValue(f"border: preset is {preset!r}, wanted one of {', '.join(presets)}")
    weights = vertex_weights(indptr, balance)
    if trivial(weights.size, parts):
        return contiguous(indptr, indices, parts)
    nets = _nets(indptr, indices)
    solver = _solver()
    package.set_seed(seed % SEEDS)
    context = solver.context_from_preset(presets[preset])
    context.logging = False
    context.set_partitioning_parameters(parts, float(slack), package.Objective.KM1)
    graph = solver.create_hypergraph(context, weights.size, len(nets), nets, weights.tolist(), [1] * len(nets))
    return np.array(graph.partition(context).get_partition()).astype(owner_type(parts))


def trivial(n: int, parts: int) -> bool:
    """Whether there is nothing to choose: one part, or one vertex each."""
    return parts == 1 or n <= parts


def _undirected(indptr, indices):
    """CSR arrays of A + A' without its diagonal, and how often an edge is stored (None: all equally often)."""
    from scipy import sparse

    n = indptr.size - 1
    A = sparse.csr_array((np.ones(indices.size, np.int8), indices, indptr), shape=(n, n))
    both = sparse.csr_array(A + A.T)
    rows = np.repeat(np.arange(n), np.diff(both.indptr))
    keep = rows != both.indices
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows[keep], minlength=n), out=starts[1:])
    times = both.data[keep]
    return starts, both.indices[keep], None if not times.size or (times == times[0]).all() else times


def _nets(indptr, indices) -> list[list[int]]:
    """For each column its own vertex and the rows that have an entry there; those with one pin are left out."""
    from scipy import sparse

    n = indptr.size - 1
    A = sparse.csr_array((np.ones(indices.size, bool), indices, indptr), shape=(n, n))
    columns = sparse.csc_array(A + sparse.eye_array(n, dtype=bool, format="csr"))
    pins, bounds = columns.indices.tolist(), columns.indptr.tolist()
    return [pins[first:last] for first, last in itertools.pairwise(bounds) if last - first > 1]


@functools.cache
def _solver() -> Any:
    """Mt-KaHyPar with its threads: started once in a process."""
    return _package("mtkahypar", "border").initialize(threads(), False)


def _package(name: str, partition: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"partition {partition!r} needs {name}: pip install {name}", name=name) from error
