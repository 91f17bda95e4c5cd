"""What a benchmark gives to every engine, and what it wants back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spgraph import context
from spgraph.bench import _folder
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix

__all__ = ["ALGORITHMS", "PUSHED", "USUAL", "Answer", "Problem", "Text", "choose_dtype", "directed", "draw_sources"]

USUAL = ("bfs", "bfs_parents", "sssp", "sssp_parents", "pagerank")  # what is compared if nothing else is asked for
ALGORITHMS = (*USUAL, "betweenness", "components", "triangles")
PUSHED = "bfs_push"  # a BFS that never pulls


class Answer(NamedTuple):
    """Arrays over all vertices, of NumPy or CuPy: -1 (levels, parents) or infinity (distances) where not reached."""

    level: Any = None
    parent: Any = None
    distance: Any = None
    rank: Any = None
    label: Any = None  # of components; every engine has its own
    total: int | None = None  # of triangles
    centrality: Any = None  # within a factor for all, sources aside: every engine has its own


class Text(NamedTuple):
    """One way to write an algorithm.

    ``run(source)`` computes, for PageRank ``run(iterations)``, for betweenness ``run(number)`` of the problem's
    sources, from the first on; it may come back before a device is ready, see ``wait``. ``answer(result)`` makes the
    result comparable.
    """

    run: Callable[[int], Any]
    answer: Callable[[Any], Answer]


@dataclass
class Problem:
    """A graph, an algorithm and its arguments.

    Parameters
    ----------
    name : str
        The graph's name.
    algorithm : str
        One of `ALGORITHMS`. "bfs" and "sssp" give levels and distances, with "_parents" also or only a
        tree, whatever the engine has.
    graph : Matrix
        In natural order.
    sources : list of int
        Every engine searches from these, in this order.
    dtype : numpy.dtype
        Of distances and ranks.
    threads : int
        For engines on the CPU.
    """

    name: str
    algorithm: str
    graph: Matrix
    sources: list[int]
    dtype: np.dtype
    threads: int
    alpha: float = 0.85
    iterations: int = 20
    shared: dict = field(default_factory=dict)  # what an engine keeps from one algorithm to the next

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.graph.nrows

    def argument(self, turn: int) -> int:
        """What a text is run with at a turn."""
        if self.algorithm == "betweenness":
            return len(self.sources)
        return self.iterations if self.algorithm == "pagerank" else self.sources[turn % len(self.sources)]

    @property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """indptr, indices and values on the host; Boolean graphs weigh 1 per edge, in the type of the distances."""
        indptr, indices, values = self.kept("csr", self.graph.to_csr)
        return indptr, indices, self.kept(f"values {self.dtype}", lambda: values.astype(self.dtype, copy=False))

    @property
    def symmetric(self) -> bool:
        """Whether every edge has its opposite, of the same weight."""
        return self.kept("symmetric", self._is_symmetric)

    def _is_symmetric(self) -> bool:
        known = self.graph.symmetric
        return self.graph.T.isequal(self.graph) if known is None else known

    def kept(self, key: str, make: Callable[[], Any]) -> Any:
        """``make()``, once for all problems on this graph."""
        if key not in self.shared:
            self.shared[key] = make()
        return self.shared[key]


def choose_dtype(algorithm: str, A: Matrix, dtype: Any) -> np.dtype:
    """`dtype` where it fits what the algorithm computes, else a usual one."""
    if algorithm in ("pagerank", "betweenness"):
        if dtype is not None and np.dtype(dtype).kind == "f":
            return np.dtype(dtype)
        return np.dtype(np.float64 if A._device.on_host else np.float32)
    if dtype is not None:
        return np.dtype(dtype)
    return A.dtype.np_type if A.dtype.np_type.kind == "f" else np.dtype(np.int64)


def draw_sources(A: Matrix, spec: str, count: int, seed: int) -> list[int]:
    """Those that a folder names, or some drawn among vertices with an edge."""
    named = _folder.sources(spec) if _folder.is_folder(spec) else None
    if named is not None:
        return named[:count]
    if not A.nrows:
        raise InvalidValue(f"{spec}: the graph has no vertices, so there is no source")
    candidates = np.flatnonzero(np.diff(A.to_csr()[0]))
    if not candidates.size:
        return [0]
    drawn = np.random.default_rng(seed).choice(candidates, min(count, candidates.size), replace=False)
    return [int(vertex) for vertex in drawn]


def directed(algorithm: str) -> tuple[str, str]:
    """The algorithm, and the direction of its products: that of the context in force, but for `PUSHED`."""
    return ("bfs", "push") if algorithm == PUSHED else (algorithm, context.current().direction)
