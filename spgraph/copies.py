"""Many copies of one graph, so that searches from many sources run as one.

Most steps of a search from one source find little: they leave a GPU idle, and take a CPU as long to begin as to run.
Copies of the graph, with no edge between them, are searched together: the vectors are longer, the steps as many as the
longest search has. The graph is stored once, and a GPU reads an edge once for all copies, as a product with a dense
matrix does it; see `spgraph.engine.lanes`.

Source: M. Then et al., The more the merrier: efficient multi-source graph traversal, VLDB 2014 (breadth-first search).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, IndexOutOfBound, InvalidValue
from spgraph import context, engine
from spgraph._convert import INT64_MAX
from spgraph._room import making
from spgraph.exchange.near import is_near, whole_matrix
from spgraph.matrix import Matrix, MatrixExpression, TransposedMatrix
from spgraph.vector import Vector

__all__ = ["Copies", "most"]


def most(A: Matrix, room: int = 0) -> int:
    """How many copies of a graph are worth while: a power of two up to 32 on a GPU, 256 on a CPU, and 1 in parts.

    Parts of one CPU that read each other's entries in place are one CPU.
    With `room`, so many that as many bytes for each vertex of each copy fit in half of the memory that is free.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.copies.most(sg.generators.path(4).to("cpu"))
    256
    """
    stored = _stored(_graph("most", A))
    return 1 if stored is None else engine.most_copies(stored, room)


class Copies:
    """Copies of a graph as it is now, and vectors over the vertices of all of them.

    Parameters
    ----------
    A : Matrix
        Square, on one device, or in parts of one CPU that read each other's entries in place.
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
    OutOfMemory
        If there is no room.

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
        A = _graph("Copies", A)
        stored = _stored(A)
        if stored is None:
            raise InvalidValue(f"Copies: A lies in {A._device.group.parts} parts, wanted one device; "
                               "tasks.spread gives each device a copy")
        if A.nrows != A.ncols or stored.rows is not stored.cols:
            raise InvalidValue(f"Copies: A is {A.nrows} x {A.ncols}, wanted a square matrix with one order of vertices")
        limit = INT64_MAX // max(A.nrows, 1) if stored.device.on_host else most(A)
        wanted = _integer(count)
        if wanted is None or not 1 <= wanted <= limit:
            raise InvalidValue(f"Copies: count is {count!r}, wanted 1 to {limit} copies of {A.nrows} vertices")
        self._order, self._vertices, self._home = stored.rows, A.nrows, A._device  # as they are now
        with making("Copies", A._device):
            self._copies = engine.copies_of(stored, wanted)
            self._matrix = Matrix._wrap(self._copies)
        self.size, self.width = self._copies.nrows, self._copies.width

    def __reduce__(self):
        raise TypeError("Copies are not pickled: pickle the graph, and make them anew")

    def vector(self, vertices: Any, value: Any, dtype: Any) -> Vector:
        """A Vector with one entry for each copy asked for: ``vertices[c]`` of copy c has `value`.

        It lies on the device that has the copies: for parts of one CPU, on the CPU.

        Raises
        ------
        IndexOutOfBound
            If one is not a vertex.
        DimensionMismatch
            If there are more vertices than copies.
        InvalidValue
            If they are no integers.
        """
        places: list[Any] = [_integer(v) for v in vertices] if np.iterable(vertices) else [None]
        if None in places:
            raise InvalidValue(f"Copies.vector: vertices is {vertices!r}, wanted a list of integers")
        if len(places) > self.width:
            raise DimensionMismatch(f"Copies.vector: {len(places)} vertices for {self.width} copies")
        wrong = [v for v in places if not 0 <= v < self._vertices]
        if wrong:
            raise IndexOutOfBound(f"Copies.vector: vertex {wrong[0]} of {self._vertices}")
        with context.on(self._matrix):
            numbers = [self._copies.position(copy, self._order.local_of(v)) for copy, v in enumerate(places)]
            return Vector.from_coo(np.array(numbers, np.int64), value, dtype, size=self.size)

    def vxm(self, v: Vector, op: Any, *, transposed: bool = False) -> Any:
        """``v @ A`` in each copy, or ``v @ A.T``, over a semiring; an expression as that of `Vector.vxm`.

        Raises
        ------
        InvalidValue
            If the semiring multiplies by positions: those of copies are none of the graph's.
        """
        product = v.vxm(self._matrix.T if transposed else self._matrix, op)
        chosen = product._plan.op
        if chosen.binaryop.is_positional:
            raise InvalidValue(f"Copies.vxm: {chosen} multiplies by positions, which copies number in their own way")
        return product

    def sums(self, v: Vector) -> Vector:
        """The sum over the copies of a Vector over all of them: a full Vector over the vertices of the graph."""
        block = self._checked("sums", v)
        with making("Copies.sums", block.device):
            return Vector._wrap(engine.sum_of_copies(self._copies, block, self._order))._moved(self._home)

    def counts(self, v: Vector) -> np.ndarray:
        """How many entries a Vector over all of them has in each copy."""
        block = self._checked("counts", v)
        with making("Copies.counts", block.device):
            return engine.count_of_copies(self._copies, block)

    def rows(self, v: Vector, count: int | None = None) -> Matrix:
        """A Vector over all of them as a Matrix whose row c has the entries of copy c, of the first `count` only.

        Raises
        ------
        InvalidValue
            If there are not so many copies.
        """
        block = self._checked("rows", v)
        wanted = self.width if count is None else _integer(count)
        if wanted is None or not 0 <= wanted <= self.width:
            raise InvalidValue(f"Copies.rows: count is {count!r}, wanted 0 to {self.width}")
        with making("Copies.rows", block.device):
            return Matrix._wrap(engine.rows_of_copies(self._copies, block, wanted, self._order))._moved(self._home)

    def _checked(self, name: str, v: Vector) -> Any:
        if not isinstance(v, Vector) or v.size != self.size or v._device is not self._matrix._device:
            got = f"has size {v.size} on {v.device}" if isinstance(v, Vector) else f"is of type {type(v).__name__}"
            wanted = f"a Vector of size {self.size} on {self._matrix.device}"
            raise DimensionMismatch(f"Copies.{name}: v {got}, wanted {wanted}")
        return v._block


def _graph(name: str, A: Any) -> Matrix:
    if isinstance(A, (MatrixExpression, TransposedMatrix)):
        return A.new()
    if not isinstance(A, Matrix):
        raise InvalidValue(f"{name}: A is of type {type(A).__name__}, wanted a Matrix")
    return A


def _stored(A: Matrix) -> Any:
    """The block that has all of a Matrix; None if it lies in parts that do not read each other's entries in place."""
    group = A._device.group
    if group is None:
        return A._block
    return whole_matrix(A._block) if is_near(group) else None


def _integer(given: Any) -> Any:
    try:
        return operator.index(given)
    except TypeError:
        return None
