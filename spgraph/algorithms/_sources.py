"""Betweenness from many sources: which, in what batches, on which devices, and what some of them say of all."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from spgraph import binary, tasks, unary
from spgraph.algorithms._counts import BIAS, floats, wide
from spgraph.algorithms._inputs import as_sources
from spgraph.algorithms._vectors import zeros
from spgraph.copies import most
from spgraph.exceptions import InvalidValue, OutOfMemory
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["is_directed", "rescale", "starts_of", "sum_over"]

TOGETHER = 1 << 20  # entries of a matrix of frontiers at most, where the choice is ours
POSITIONS = 1 << 22  # in copies of a graph on a CPU; grid:1000, 8 sources: 3.6 s with 4 copies, 4.3 with 8 (2 cores)
FEW_EDGES = 100_000  # in a level, up to which copies are faster there: rmat:14 143 ms, one by one 165; rmat:16 160, 124
ROOM = 9  # numbers' worth of bytes for a vertex and a source of those done at once: 35 in FP32, 62 to 75 in FP64
SCRATCH = 3 << 29  # bytes for sources that a GPU does at once in copies of the graph
# rmat24-16, ms for 16 sources: 155 one by one, 183 with two copies, 148 with four (H200). Two GPUs, which wait for one
# Python: 124 one by one, 119 with four copies on each, 98 with eight; so these may have half of the memory.
FEW_COPIES = 4
MANY, ENOUGH = 256, 16  # its rows at most, and at least: with fewer, vectors are faster


def starts_of(A: Matrix, k, sources, seed) -> list[int]:
    """The sources as a list of vertices."""
    if sources is None:
        if k is None:
            return list(range(A.nrows))
        chance = seed if isinstance(seed, random.Random) else random.Random(_seed(seed))
        drawn = chance.sample(range(A.nrows), _count("k", k, A.nrows))
        return tasks.agreed(A, drawn)
    if k is not None:
        raise InvalidValue("betweenness_centrality: k and sources were both given, but one of them was wanted")
    starts = as_sources("betweenness_centrality", A, sources)
    if not starts or len(set(starts)) < len(starts):
        raise InvalidValue(f"betweenness_centrality: sources is {sources!r}, wanted one vertex or more, each once")
    return starts


def _seed(seed) -> int | None:
    try:
        return None if seed is None else operator.index(seed)
    except TypeError:
        raise InvalidValue(f"betweenness_centrality: seed is {seed!r}, wanted an integer, a random.Random or None") \
            from None


def sum_over(A: Matrix, starts: list[int], batch: int | None, spread: str, dtype: np.dtype,
             add: Callable[..., Generator]) -> Vector:
    """The sum of what ``add(A, some, total, numbers)`` adds to a Vector `total` for some sources at once.

    It yields in every level, see `tasks`, and gives False, having added nothing, if paths are too many for the numbers.
    """
    batch = None if batch is None else _count("batch", batch, None)
    spreads = _spreads(A, spread, len(starts), ROOM * dtype.itemsize * A.nrows * (batch or _rows(A.nrows)))
    shared = spreads and A._device.group is not None

    def work(copy, jobs):
        total, numbers = zeros(dtype, copy.nrows), floats(dtype)
        done, longest, most_at_once = 0, 0, len(jobs)
        while done < len(jobs):
            at_once = batch or min(_at_once(copy, len(jobs), ROOM * dtype.itemsize, longest, shared), most_at_once)
            several = jobs[done:done + at_once]
            try:
                added, steps = yield from _counted(add(copy, several, total, numbers))
            except OutOfMemory:  # what a search keeps of its levels depends on the graph
                if batch or len(several) == 1 or copy._device.group is not None:  # parts must all do the same
                    raise
                most_at_once = len(several) // 2
                continue
            if not added:
                numbers = wide()
                added, steps = yield from _counted(add(copy, several, total, numbers))
                if not added:
                    raise InvalidValue(f"betweenness_centrality: more than 2^{BIAS - 2} shortest paths to one vertex, "
                                       f"from a source among {several}")
            done, longest = done + len(several), max(longest, steps // 2 + 1)
        return total

    if not spreads:
        return tasks.finish(work(A, starts))
    total, *others = tasks.spread(A, starts, work)
    for other in others:
        total(binary.plus) << other
    return total


def rescale(total: Vector, starts: list[int], normalized: bool, endpoints: bool, halved: bool) -> None:
    """Divide by the number of pairs, or estimate the sum over all sources, as NetworkX does."""
    many, some = total.size if endpoints else total.size - 1, len(starts)
    if many < 2:
        return
    number = total.dtype.np_type.type
    factor = 1 / (many - 1) if normalized else many / (2 if halved else 1)
    exact = some == total.size
    own = total[starts].new()
    total << total.apply(binary.times, right=number(factor / (many if exact else some)))
    if not exact and not endpoints:  # a source is not passed on its own paths: one less has told of it
        total[starts] << own.apply(binary.times, right=number(factor / max(some - 1, 1)))


def is_directed(A: Matrix) -> bool:
    """Whether an edge lacks its opposite."""
    if A.symmetric:  # else values may differ, which do not matter
        return False
    pattern = A.apply(unary.one).new(bool)
    return not pattern.T.isequal(pattern)


def _spreads(A: Matrix, spread: str, jobs: int, room: int) -> bool:
    if spread not in ("auto", "sources", "graph"):
        raise InvalidValue(f"betweenness_centrality: spread is {spread!r}, wanted 'auto', 'sources' or 'graph'")
    return spread == "sources" or (spread == "auto" and tasks.fit(A, jobs, room))


def _counted(steps: Generator) -> Generator[None, None, tuple[Any, int]]:
    """The same steps; gives what they give, and how many there were."""
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1
        yield


def _at_once(A: Matrix, jobs: int, room: int, levels: int, shared: bool) -> int:
    """How many sources to do at once, of so many, where searches have had up to so many levels, 0 if there was none.

    Whether the sources are `shared` out over devices: these then take as many as there is memory for, if they pay.
    """
    device = A._device
    on_cpu = device.on_host if device.group is None else most(A) > 1  # parts that share a CPU's memory have copies
    if on_cpu:
        if A.nvals > FEW_EDGES * max(levels, 1):
            return 1  # of large graphs the first, too, which shows how many levels there are
        return max(min(most(A, room), POSITIONS // max(A.nrows, 1)), 1)
    rows, copies = _rows(A.nrows), most(A, room)
    if not shared or jobs < FEW_COPIES:
        copies = min(copies, SCRATCH // (room * max(A.nrows, 1)))
    if copies < FEW_COPIES or min(rows, jobs) > copies:  # rmat:13, exact: 644 ms in 32 copies, 367 in 256 rows (H200)
        return rows
    return 1 << copies.bit_length() - 1


def _rows(n: int) -> int:
    rows = min(TOGETHER // max(n, 1), MANY)
    return rows if rows >= ENOUGH else 1


def _count(name: str, given, limit: int | None) -> int:
    try:
        count = operator.index(given)
    except TypeError:
        count = 0
    if count < 1 or (limit is not None and count > limit):
        wanted = "of 1 or more" if limit is None else f"in [1, {limit}], the number of vertices"
        raise InvalidValue(f"betweenness_centrality: {name} is {given!r}, wanted an integer {wanted}")
    return count
