"""Negative weights: relaxation in rounds, and the cycles around which distances fall for ever.

Paths without a cycle have fewer edges than there are vertices: what falls in round n, or, since rounding may let
distances fall around a cycle of weight 0, in round n + 1, comes from a cycle of negative weight. No sum has more than
n + 1 terms, then, which is what `_weights.to_add` counts on.
"""

from __future__ import annotations

import numpy as np

from spgraph import binary, indexunary, loop, monoid, select, semiring
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["causes", "cycle_of", "relax_in_rounds"]


def relax_in_rounds(name: str, A: Matrix, dist: Vector, min_plus) -> None:
    """Relax what changed until nothing does; if round n + 1 changes something, there is a negative cycle."""
    near = dist.dup()
    with loop() as rounds:
        dist(binary.min, changed=near) << near.vxm(A, min_plus)  # dist min= near min.+ A; near = what is lowered
        rounds.until(near.nvals == 0)
        rounds.until(rounds.count == A.nrows + 1)
    if near.nvals:
        i = near.to_coo()[0][0]
        raise InvalidValue(f"{name}: a cycle of negative weight reaches vertex {i}, so distances have no minimum "
                           "(negative_cycle names its vertices)")
    if dist.dtype.np_type.kind == "f" and dist.reduce(monoid.min).new().value == -np.inf:  # there falling ends
        i = select.valueeq(dist, -np.inf).new().to_coo()[0][0]
        raise InvalidValue(f"{name}: the distance of vertex {i} falls below all numbers of {dist.dtype}: a cycle of "
                           "negative weight reaches it (negative_cycle names its vertices), or weights are too large")


def causes(A: Matrix, near: Vector, lowered: Vector) -> Vector:
    """For every lowered v the smallest u with near(u) + A(u,v) = lowered(v)."""
    through = semiring.any_plus[lowered.dtype](near.diag() @ A).new()  # T(u,v) = near(u) + A(u,v), rounded as dist is
    arrival = semiring.any_second(through @ lowered.diag()).new(lowered.dtype)  # R(u,v) = lowered(v)
    tight = select.valueeq(binary.eq(through & arrival), True).new()
    return indexunary.rowindex(tight).new().reduce_columnwise(monoid.min).new()


def cycle_of(parent: np.ndarray) -> list[int] | None:
    """The vertices of a cycle of pointers, in the order of the edges, or None if all end (at -1)."""
    n = parent.size
    before = np.append(np.where(parent < 0, n, parent), n)
    far = before
    for _ in range(n.bit_length()):
        far = far[far]  # twice as many steps
    circling = far[far < n]
    if not circling.size:
        return None
    cycle = [int(circling[0])]
    while (vertex := int(before[cycle[-1]])) != cycle[0]:
        cycle.append(vertex)
    return cycle[::-1]
