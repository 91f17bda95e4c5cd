"""PageRank's surfer: where jumps go, and how the rank of a vertex is shared out to its edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import agg, binary, monoid, select, semiring, unary
from spgraph.algorithms._vectors import distribution, scaled, zeros
from spgraph.algorithms._weights import check_not_negative, weights_matter
from spgraph.matrix import Matrix
from spgraph.scalar import Scalar
from spgraph.vector import Vector

__all__ = ["Jumps", "Lost", "less", "shares", "together"]

inverse = unary.register_anonymous(lambda x: np.where(x == 0, 0, 1 / x), "inverse_or_0")


class Jumps:
    """What comes by jumps in an iteration: a number where it is the same for all vertices, else a Vector.

    p and p' are the distributions of jumps and of the rank that dangling vertices lose. Two Vectors take turns, so that
    what came in the iteration before is still there.
    """

    def __init__(self, n: int, alpha: float, personalization, dangling, dtype: np.dtype):
        self.n, self.alpha, self.dtype = n, alpha, dtype
        self.jump = distribution("pagerank", "personalization", personalization, n, dtype)
        self.sink = self.jump if dangling is None else distribution("pagerank", "dangling", dangling, n, dtype)
        self.uniform = personalization is None and dangling is None
        self.next, self.other = Vector(dtype, n), Vector(dtype, n)

    def none(self) -> Any:
        """What came before the first iteration; None is nothing."""
        if self.uniform:
            return None
        self.other << self.dtype.type(0)
        return self.other

    def after(self, lost: float) -> Any:
        """(1 - alpha) p + alpha lost p', where dangling vertices have `lost` so much rank together."""
        follows = self.alpha * lost
        if self.uniform:
            return self.dtype.type((1 - self.alpha + follows) / max(self.n, 1))
        if self.sink is self.jump:
            self.next << scaled(self.jump, 1 - self.alpha + follows)
        else:
            self.next << binary.plus(scaled(self.jump, 1 - self.alpha) | scaled(self.sink, follows))
        self.next, self.other = self.other, self.next
        return self.other


class Lost:
    """The rank of dangling vertices together, l = sum of r over them, and what jumps bring by it.

    If the matrix is symmetric, nothing comes along edges to those without weight. So where all are such, and jumps are
    the same for all vertices, each has what came by these, and no vertex needs to be looked at. Then what jumps bring
    is known before the product, and ranks begin with it (`first`); else they begin with 0, and it is added late.
    """

    def __init__(self, A: Matrix, idle: Vector, bare: int, jumps: Jumps, dtype: np.dtype):
        self.idle, self.jumps, self.sum, self.first = idle, jumps, Scalar(dtype), dtype.type(0)
        known = A.symmetric and jumps.uniform and idle.nvals == bare
        self.count = bare if known else None  # of vertices that jumps alone reach

    def begin(self, came: Vector, jumped) -> None:
        """What they have at first, whatever they have."""
        self._add_up(came, jumped)
        if self.count is not None:
            self.first = self.jumps.after(self.sum.get(0))

    def _add_up(self, came: Vector, jumped) -> None:
        self.sum << binary.first(together(came, jumped) & self.idle).reduce(monoid.plus)

    def late(self) -> Any:
        """What comes by jumps, for which the sum is waited for; None if ranks began with it."""
        return self.jumps.after(self.sum.get(0)) if self.count is None else None

    def follow(self, came: Vector, jumped) -> None:
        """What they have after an iteration."""
        if self.count is None:
            self._add_up(came, jumped)
        else:
            self.first = self.jumps.after(self.count * float(self.first))


def together(came: Vector, jumped) -> Any:
    """What came along edges and what came by jumps besides, as an expression: the ranks."""
    if jumped is None:
        return came
    return came.apply(binary.plus, right=jumped) if isinstance(jumped, np.generic) else binary.plus(came & jumped)


def less(now, before) -> Any:
    """What comes by jumps now, less what came before; None is nothing."""
    return now if before is None else now - before


def shares(A: Matrix, alpha: float, weighted: bool, dtype: np.dtype):
    """alpha / out-weight of every vertex (0 if dangling), the dangling ones, how many have no weight, the semiring.

    Where an out-weight is infinite, or overflows, the vertex is dangling, too.
    """
    weighted = weights_matter(A, weighted)
    if weighted:
        check_not_negative("pagerank", A)
        out = A.reduce_rowwise(monoid.plus[dtype]).new()
    else:
        out = A.reduce_rowwise(agg.count).new(dtype)
    share = zeros(dtype, A.nrows)
    share(binary.second) << scaled(out.apply(inverse).new(), alpha)
    idle, bare = select.valueeq(share, 0).new(), A.nrows - select.valuene(out, 0).new().nvals
    return share, idle, bare, semiring.plus_times[dtype] if weighted else semiring.plus_first[dtype]
