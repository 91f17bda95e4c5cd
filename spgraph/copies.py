"""Many copies of one graph, so that searches from many sources run as one.

A search from one source leaves a GPU idle in most of its steps, which find little. Copies of the graph, with no edge
between them, are searched together: the vectors are longer, the steps as many as the longest search has. On a GPU the
graph is stored once and an edge is read once for all copies, as a product with a dense matrix does it; see
`spgraph.engine.lanes`. On a CPU the copies are made, and cost their memory.

Source: M. Then et al., The more the merrier: efficient multi-source graph traversal, VLDB 2014 (breadth-first search).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, IndexOutOfBound, InvalidValue
from spgraph import context, engine
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["Copies", "most"]


def most(A: Matrix, room: int = 0) -> int:
    """How many copies of a graph are stored as one: a power of two up to 32 on one GPU, elsewhere 1.

    With `room`, so many that as many bytes for each vertex of each copy fit in half of the memory that is free.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.copies.most(sg.generators.path(4).to("cpu"))
    1
    """
    if A._device.group is not None or A._device.on_host:
        return 1
    return engine.most_copies(A._block, room)


class Copies:
    """Copies of a graph as it is now, and vectors over the vertices of all of them.

    Parameters
    ----------
    A : Matrix
        Square, on one device.
    count : int
        How many copies; on a GPU the next power of two is taken, 32 at most.

    Attributes
    ----------
    width : int
        How many copies there are, those that nobody asked for included.
    size : int
        Of a vector over all their vertices.

    Raises
    ------
    InvalidValue
        If `A` is not square or lies in parts, or there cannot be so many copies.

    Examples
    --------
    >>> import spgraph as sg
    >>> copies = sg.copies.Copies(sg.generators.path(4).to("cpu"), 2)
    >>> found = copies.vector([0, 3], 1, "INT64")  # vertex 0 of the first copy, vertex 3 of the second
    >>> for _ in range(2):
    ...     found(sg.binary.plus) << copies.vxm(found, sg.semiring.plus_first)
    >>> copies.sums(found).to_dense(), copies.counts(found)
    (array([2, 3, 3, 2]), array([3, 3]))
    >>> copies.rows(found).to_dense(fill_value=0)
    array([[2, 2, 1, 0],
           [0, 1, 2, 2]])
    """

    def __init__(self, A: Matrix, count: int):
        try:
            wanted = operator.index(count)
        except TypeError:
            wanted = 0
        if A._device.group is not None:
            raise InvalidValue(f"Copies: A lies in {A._device.group.parts} parts, wanted one device; "
                               "tasks.spread gives each device a copy")
        if A.nrows != A.ncols or A._block.rows is not A._block.cols:
            raise InvalidValue(f"Copies: A is {A.nrows} x {A.ncols}, wanted a square matrix with one order of vertices")
        limit = most(A) if not A._device.on_host else None
        if wanted < 1 or (limit is not None and wanted > limit):
            upto = "1 or more" if limit is None else f"1 to {limit}"
            raise InvalidValue(f"Copies: count is {count!r}, wanted {upto} copies of {A.nrows} vertices")
        self._graph = A
        self._order = A._block.rows  # as it is now
        self._matrix = Matrix._wrap(engine.copies_of(A._block, wanted))
        self.size = self._matrix.nrows
        self.width = max(self._matrix._block.width, wanted)

    def vector(self, vertices: Any, value: Any, dtype: Any) -> Vector:
        """A Vector with one entry for each copy asked for: ``vertices[c]`` of copy c has `value`.

        Raises
        ------
        IndexOutOfBound
            If one is not a vertex.
        DimensionMismatch
            If there are more vertices than copies.
        """
        places = np.asarray(vertices, np.int64).reshape(-1)
        n = self._graph.nrows
        if places.size > self.width:
            raise DimensionMismatch(f"Copies.vector: {places.size} vertices for {self.width} copies")
        if places.size and not (places.min() >= 0 and places.max() < n):
            wrong = places[(places < 0) | (places >= n)][0]
            raise IndexOutOfBound(f"Copies.vector: vertex {wrong} of {n}")
        local = np.array([self._order.local_of(int(v)) for v in places], np.int64)
        with context.on(self._graph):
            return Vector.from_coo(local * self.width + np.arange(places.size), value, dtype, size=self.size)

    def vxm(self, v: Vector, op: Any, *, transposed: bool = False) -> Any:
        """``v @ A`` in each copy, or ``v @ A.T``, over a semiring; an expression as that of `Vector.vxm`."""
        return v.vxm(self._matrix.T if transposed else self._matrix, op)

    def sums(self, v: Vector) -> Vector:
        """The sum over the copies of a Vector over all of them: a full Vector over the vertices of the graph."""
        return Vector._wrap(engine.sum_of_copies(self._checked("sums", v), self.width, self._order))

    def counts(self, v: Vector) -> np.ndarray:
        """How many entries a Vector over all of them has in each copy."""
        return engine.count_of_copies(self._checked("counts", v), self.width)

    def rows(self, v: Vector, count: int | None = None) -> Matrix:
        """A Vector over all of them as a Matrix whose row c has the entries of copy c, of the first `count` only."""
        count = self.width if count is None else count
        return Matrix._wrap(engine.rows_of_copies(self._checked("rows", v), self.width, count, self._order))

    def _checked(self, name: str, v: Vector) -> Any:
        if v.size != self.size or v._device is not self._graph._device:
            raise DimensionMismatch(f"Copies.{name}: v has size {v.size} on {v.device}, "
                                    f"wanted {self.size} on {self._graph.device}")
        return v._block
