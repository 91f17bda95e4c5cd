"""Two counts in one 64-bit number, as kernels add them up in one atomic: of entries and of their edges.

Data encoding: (edges << COUNT_BITS | entries), as prelude.cuh has it; more than fit are not counted so (callers look).
"""

from __future__ import annotations

__all__ = ["COUNT_BITS", "COUNT_MASK", "MOST_EDGES", "unpacked"]

COUNT_BITS = 30
COUNT_MASK = (1 << COUNT_BITS) - 1
MOST_EDGES = 1 << (64 - COUNT_BITS)


def unpacked(result: int) -> tuple[int, int]:
    """Entries of a list, and their edges; a sum of packed numbers is that of sums.

    Examples
    --------
    >>> unpacked((7 << COUNT_BITS | 2) + (5 << COUNT_BITS | 1))
    (3, 12)
    >>> unpacked(((MOST_EDGES - 1) << COUNT_BITS) - (1 << 64))  # read as a signed number
    (0, 17179869183)
    """
    return result & COUNT_MASK, result >> COUNT_BITS & (MOST_EDGES - 1)
