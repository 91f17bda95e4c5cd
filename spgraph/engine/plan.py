"""Choices, as pure functions of counts.

Direction follows direction-optimising BFS (Beamer, Asanovic, Patterson, SC
2012) with its thresholds derived from costs per step instead of fixed factors:
pushing costs `push` per edge of the frontier, and `listing` per entry if this is
a bitmap; pulling costs `look` per row and `pull` per entry looked at; both share
their work among the threads. Between GPUs entries of lists, or bits, are given
to others. Under a monoid with a terminal value an allowed row
stops early: when a share p of all edges leaves the frontier, after about 1/p
entries, each of which costs `stop`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

__all__ = ["CPU_COSTS", "GPU_COSTS", "Costs", "of_copies", "preset_limit", "push_limit", "rule_of"]


class Costs(NamedTuple):
    """Nanoseconds of a device's steps."""

    push: float  # per scattered edge
    pull: float  # per gathered entry
    stop: float  # per entry that a row looks at which may stop at it
    look: float  # per row that is only looked at
    start: float  # to change formats, and to wake a thread
    listing: float = 0.0  # per entry of a bitmap that becomes a list, beyond `start`
    give: float = 0.0  # per entry of a list that others look at
    bits: float = 0.0  # per row whose bit others look at


CPU_COSTS = Costs(3.0, 2.0, 2.0, 0.7, 20_000.0)  # one thread of a 2-core EPYC, rmat:20
# H100: gathers at 50 to 100 G/s, presence bytes at 1 TB/s. H200, BFS on rmat24-16: `stop` from pulls; some 2 M vertices
# are listed in 55 us, by each of two GPUs half of them in 34 and given in 40; giving all bits takes these 28
GPU_COSTS = Costs(0.020, 0.015, 0.002, 0.003, 4_000.0, 0.025, 0.040, 0.0034)


TOGETHER = 8  # copies whose values come with one read


@cache
def of_copies(costs: Costs, width: int) -> Costs:
    """Those of so many copies of a matrix, see `engine.lanes`, which are read together when pulled.

    Examples
    --------
    >>> of_copies(GPU_COSTS, 1) == GPU_COSTS
    True
    """
    together = min(width, TOGETHER)
    return costs._replace(pull=costs.pull / together, stop=costs.stop / together, look=costs.look / together)


def push_limit(rows: int, edges: int, allowed: int, early_exit: bool, threads: int, costs: Costs = CPU_COSTS,
               occupied: int | None = None) -> float:
    """Edges of the frontier beyond which pulling is cheaper.

    Parameters
    ----------
    rows, edges : int
        Rows of the output and entries of the matrix.
    allowed : int
        Rows that the mask allows, of those that have entries.
    early_exit : bool
        Whether the monoid has a terminal value.
    threads : int
        Of a CPU.
    costs : Costs
    occupied : int, optional
        Rows that have entries. Default: all.

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
    look = rows * costs.look + costs.start * threads
    whole = look + edges * (allowed / max(rows if occupied is None else occupied, 1)) * costs.pull
    if not early_exit or whole <= rows * costs.push:
        return whole / costs.push
    # push * m = look + allowed * (edges / m) * stop, solved for m
    work = allowed * edges * costs.stop
    return min(whole / costs.push, (look + math.sqrt(look * look + 4 * costs.push * work)) / (2 * costs.push))


GAP_ALPHA, GAP_BETA = 15, 18  # S. Beamer, K. Asanovic, D. Patterson, The GAP Benchmark Suite, 2015
LAGRAPH_ALPHA, LAGRAPH_BETA1, LAGRAPH_BETA2 = 8, 8, 512  # LAGraph's breadth-first search
DO_A, DO_B = 0.01, 0.1  # Y. Pan et al., Multi-GPU Graph Analytics, IPDPS 2017


def preset_limit(preset: str, rows: int, edges: int, allowed: int, frontier: int, pushed: bool) -> float | None:
    """The same by the rule of another system, which keeps to a direction until a factor is passed; None to pull.

    Parameters
    ----------
    preset : {"gap", "lagraph", "gunrock"}
    rows, edges, allowed
        As for `push_limit`; edges of the unvisited are taken for the mean number times `allowed`.
    frontier : int
        Entries of the vector.
    pushed : bool
        Whether the vector is a list, which pushes make.

    Examples
    --------
    >>> preset_limit("gap", 1800, 18000, 900, 50, True), preset_limit("gap", 1800, 18000, 900, 50, False)
    (600.0, inf)
    """
    if not rows:
        return math.inf
    unexplored = allowed * edges / rows
    if preset == "gap":
        return unexplored / GAP_ALPHA if pushed else math.inf if frontier <= rows / GAP_BETA else None
    if preset == "lagraph":
        if pushed:
            return unexplored / LAGRAPH_ALPHA if frontier <= rows / LAGRAPH_BETA1 else None
        return math.inf if frontier < rows / LAGRAPH_BETA2 else None
    backward = allowed * rows / max(rows - allowed, 1)
    forward = frontier * edges / rows
    if pushed:
        return None if forward > backward * DO_A else math.inf
    return math.inf if forward < backward * DO_B else None


FACTORS = {"push": (0, 0, 0), "pull": (0, 0, 0), "gap": (GAP_ALPHA, GAP_BETA, 0), "gunrock": (DO_A, DO_B, 0),
           "lagraph": (LAGRAPH_ALPHA, LAGRAPH_BETA1, LAGRAPH_BETA2)}


def rule_of(direction: str) -> dict[str, str]:
    """The constants by which kernels of a loop choose as `direction` says (kernels/cuda/after.cuh); none for "auto".

    Examples
    --------
    >>> rule_of("gap"), rule_of("push"), rule_of("auto")
    ({'RULE': 'GAP', 'FACTORS': '15, 18, 0'}, {'RULE': 'PUSHES', 'FACTORS': '0, 0, 0'}, {})
    """
    if direction == "auto":
        return {}
    name = {"push": "PUSHES", "pull": "PULLS"}.get(direction, direction.upper())
    return {"RULE": name, "FACTORS": ", ".join(map(str, FACTORS[direction]))}
