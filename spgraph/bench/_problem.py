"""What a benchmark gives to every engine, and what it wants back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spgraph.matrix import Matrix

__all__ = ["ALGORITHMS", "Problem", "Text"]

ALGORITHMS = ("bfs", "sssp", "pagerank")


class Text(NamedTuple):
    """One way to write an algorithm.

    ``run()`` computes; ``answer(result)`` makes it comparable: an array over all
    vertices, of parents (-1: not reached), distances (inf) or ranks.
    """

    run: Callable[[], Any]
    answer: Callable[[Any], np.ndarray]


@dataclass
class Problem:
    """A graph, an algorithm and its arguments.

    Parameters
    ----------
    name : str
        The graph's name.
    algorithm : {"bfs", "sssp", "pagerank"}
    graph : Matrix
        In natural order.
    source : int
    dtype : numpy.dtype
        Of distances and ranks.
    threads : int
    """

    name: str
    algorithm: str
    graph: Matrix
    source: int
    dtype: np.dtype
    threads: int
    alpha: float = 0.85
    iterations: int = 20
    shared: dict = field(default_factory=dict)  # what an engine keeps from one algorithm to the next

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.graph.nrows

    @cached_property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """indptr, indices and values (Boolean graphs weigh 1 per edge, in the type of the distances)."""
        if "csr" not in self.shared:
            self.shared["csr"] = self.graph.to_csr()
        indptr, indices, values = self.shared["csr"]
        return indptr, indices, values.astype(self.dtype, copy=False)

    def kept(self, key: str, make: Callable[[], Any]) -> Any:
        """``make()``, once for all problems on this graph."""
        if key not in self.shared:
            self.shared[key] = make()
        return self.shared[key]
