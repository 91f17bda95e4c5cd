"""The caller's names of vertices: what a file calls them, or their numbers."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import IndexOutOfBound, InvalidValue

__all__ = ["Names"]


class Names:
    """Names of the vertices of a graph.

    Parameters
    ----------
    matrix : Matrix
        Its ``labels`` where a reader mapped ids to numbers, else the numbers,
        counted from where the file's format counts from.
    """

    def __init__(self, matrix) -> None:
        self.n = matrix.nrows
        self.labels = None if matrix.labels is None else np.asarray(matrix.labels)
        self.first = getattr(matrix.report, "numbered_from", 0)

    @property
    def by_number(self):
        """The names of all vertices in order: an array, or a range."""
        return range(self.first, self.first + self.n) if self.labels is None else self.labels

    def of(self, vertex: int):
        """The name of a vertex."""
        return self.by_number[vertex]

    def all(self, vertices: np.ndarray) -> np.ndarray:
        """Names of many vertices."""
        return vertices + self.first if self.labels is None else self.labels[vertices]

    def find(self, name: str, option: str = "--source") -> int:
        """The vertex that is called `name`; messages name the option."""
        if self.labels is not None:
            found = np.flatnonzero(self.labels.astype(str) == name)
            if found.size == 0:
                some = ", ".join(map(str, self.labels[:3]))
                raise InvalidValue(f"{option}: no vertex is called {name!r}; the first are {some}")
            return int(found[0])
        try:
            vertex = int(name) - self.first
        except ValueError:
            raise InvalidValue(
                f"{option}: got {name!r}, and the vertices of this graph are numbers"
            ) from None
        if not 0 <= vertex < self.n:
            last = self.n - 1 + self.first
            raise IndexOutOfBound(
                f"{option}: got {name}, the vertices are {self.first} to {last}"
                if self.n
                else f"{option}: the graph has no vertices"
            )
        return vertex
