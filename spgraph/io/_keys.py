"""(row, column) pairs as single integers: sort, find runs of equals, take apart.

Data encoding: a key is ``row << bits | column`` in int64, so that the order of
keys is the order of a CSR matrix. Sorting plain integers is several times
faster than any argsort, so positions ride along in the low bits where they fit.
Large arrays are worked on in pieces that fit the cache, on all threads: fresh
memory costs more than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from spgraph.block.width import index_dtype
from spgraph.kernels.cpu._threads import threads

__all__ = [
    "KEY_BITS",
    "PIECE",
    "bits_for",
    "distinct",
    "first_of_runs",
    "in_threads",
    "offsets",
    "sort_keys",
    "sort_with_positions",
    "unpack",
]

KEY_BITS = 63  # of a non-negative int64
PARALLEL_SORT = 1 << 20  # keys below which one thread sorts
PIECE = 1 << 16  # elements that are worked on together


def bits_for(count: int) -> int:
    """Bits that hold 0..count-1."""
    return max(count - 1, 0).bit_length()


def in_threads(function, tasks, done=None) -> list:
    """``[function(task) for task in tasks]`` on the engine's threads; `done` is called after each."""
    tasks = list(tasks)
    results = []
    with ExitStack() as stack:
        run: Callable = map
        if threads() > 1 and len(tasks) > 1:
            run = stack.enter_context(ThreadPoolExecutor(min(threads(), len(tasks)))).map
        for result in run(function, tasks):
            results.append(result)
            if done is not None:
                done()
    return results


def sort_keys(keys: np.ndarray) -> None:
    """Sort in place; one pass only if they are sorted already."""
    if bool(np.all(keys[1:] >= keys[:-1])):
        return
    parts = threads() if keys.size >= PARALLEL_SORT else 1
    cuts = np.linspace(0, keys.size, parts + 1).astype(int)[1:-1]
    if cuts.size:
        keys.partition(cuts)
    in_threads(np.ndarray.sort, np.split(keys, cuts))


def sort_with_positions(keys: np.ndarray, key_bits: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Sorted keys and where each came from, equal keys in their first order.

    The second result is None when nothing moved.
    """
    if bool(np.all(keys[1:] >= keys[:-1])):
        return keys, None
    position_bits = bits_for(keys.size)
    if key_bits + position_bits <= KEY_BITS:
        keys = keys << position_bits
        keys |= np.arange(keys.size)
        sort_keys(keys)
        order = keys & ((1 << position_bits) - 1)
        keys >>= position_bits
        return keys, order
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def first_of_runs(sorted_keys: np.ndarray) -> np.ndarray:
    """Mask of the keys that differ from the one before."""
    first = np.ones(sorted_keys.size, bool)
    np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=first[1:])
    return first


def distinct(ids: np.ndarray) -> np.ndarray:
    """The distinct ids, ascending (`np.unique` takes a hundred times longer for millions)."""
    ids = np.sort(ids)
    return ids[first_of_runs(ids)]


def unpack(keys: np.ndarray, bits: int, chosen: np.ndarray, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the keys that are chosen by a mask."""
    pieces = [slice(lo, lo + PIECE) for lo in range(0, keys.size, PIECE)]
    ends = np.cumsum([np.count_nonzero(chosen[piece]) for piece in pieces], dtype=np.int64)
    total = int(ends[-1]) if pieces else 0
    rows, cols = np.empty(total, dtype), np.empty(total, dtype)

    def take_apart(number):
        mine = keys[pieces[number]][chosen[pieces[number]]]
        place = slice(int(ends[number]) - mine.size, int(ends[number]))
        np.right_shift(mine, bits, out=rows[place], casting="unsafe")
        np.bitwise_and(mine, (1 << bits) - 1, out=cols[place], casting="unsafe")

    in_threads(take_apart, range(len(pieces)))
    return rows, cols


def offsets(rows: np.ndarray, nrows: int) -> np.ndarray:
    """Row offsets (nrows + 1,) of entries whose row numbers are given, ascending."""
    counts = np.zeros(nrows + 1, index_dtype(rows.size))
    for lo in range(0, rows.size, PIECE):
        mine = rows[lo : lo + PIECE]
        found = np.bincount(mine - mine[0])
        counts[int(mine[0]) + 1 : int(mine[0]) + 1 + found.size] += found.astype(counts.dtype)
    return np.cumsum(counts, out=counts)
