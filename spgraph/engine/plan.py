"""Choices, as pure functions of counts.

Direction follows direction-optimising BFS (Beamer, Asanovic, Patterson, SC
2012) with its thresholds derived from costs per step instead of fixed factors:
pushing costs `PUSH` per edge of the frontier; pulling costs `LOOK` per row and
`PULL` per entry looked at; both share their work among the threads. Under a monoid with a terminal value an allowed row
stops early: when a share p of all edges leaves the frontier, after about 1/p
entries.
"""

from __future__ import annotations

import math

__all__ = ["push_limit"]

PUSH = 3.0  # ns per scattered edge (one thread of a 2-core EPYC, rmat:20)
PULL = 2.0  # ns per gathered entry
LOOK = 0.7  # ns per row that is only looked at
START = 20_000.0  # ns to change formats and to wake a thread


def push_limit(rows: int, edges: int, allowed: int, early_exit: bool, threads: int) -> float:
    """Edges of the frontier beyond which pulling is cheaper.

    Parameters
    ----------
    rows, edges : int
        Rows of the output and entries of the matrix.
    allowed : int
        Rows that the mask allows.
    early_exit : bool
        Whether the monoid has a terminal value.
    threads : int

    Returns
    -------
    float

    Examples
    --------
    >>> limit = push_limit(1000, 16000, 1000, True, 1)
    >>> 0 < limit < 16000
    True
    """
    if not rows:
        return math.inf
    look = rows * LOOK + START * threads
    whole = look + edges * (allowed / rows) * PULL
    if not early_exit or whole <= rows * PUSH:
        return whole / PUSH
    # PUSH * m = look + allowed * (edges / m) * PULL, solved for m
    work = allowed * edges * PULL
    return min(whole / PUSH, (look + math.sqrt(look * look + 4 * PUSH * work)) / (2 * PUSH))
