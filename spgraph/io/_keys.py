"""(row, column) pairs as single integers: sort, find groups of equals, mirror.

Data encoding: a key is ``row << bits | column`` in int64, so that the order of
keys is the order of a CSR matrix. Sorting plain integers is several times
faster than any argsort, so positions ride along in the low bits where they fit.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from spgraph.block.width import index_dtype
from spgraph.kernels.cpu._threads import threads

__all__ = ["KEY_BITS", "bits_for", "group", "in_threads", "mirror_upper", "offsets", "sort_keys", "sort_with_positions"]

KEY_BITS = 63  # of a non-negative int64
PARALLEL_SORT = 1 << 20  # keys below which one thread sorts


def bits_for(count: int) -> int:
    """Bits that hold 0..count-1."""
    return max(count - 1, 0).bit_length()


def in_threads(function, tasks) -> list:
    """``[function(task) for task in tasks]`` on the engine's number of threads."""
    tasks = list(tasks)
    if threads() == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(min(threads(), len(tasks))) as pool:
        return list(pool.map(function, tasks))


def sort_keys(keys: np.ndarray) -> np.ndarray:
    """Sorted keys; may sort in place. One pass only if they are sorted already."""
    if bool(np.all(keys[1:] >= keys[:-1])):
        return keys
    if keys.size < PARALLEL_SORT or threads() == 1:
        keys.sort()
        return keys
    sample = np.sort(keys[:: max(keys.size // 1024, 1)])
    cuts = sample[np.linspace(0, sample.size, threads() + 1).astype(int)[1:-1]]

    def part(number):
        if number == 0:
            mine = keys[keys < cuts[0]]
        elif number == cuts.size:
            mine = keys[keys >= cuts[-1]]
        else:
            mine = keys[(keys >= cuts[number - 1]) & (keys < cuts[number])]
        mine.sort()
        return mine

    return np.concatenate(in_threads(part, range(cuts.size + 1)))


def sort_with_positions(keys: np.ndarray, key_bits: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Sorted keys and where each came from, equal keys in their first order.

    The second result is None when nothing moved.
    """
    if bool(np.all(keys[1:] >= keys[:-1])):
        return keys, None
    position_bits = bits_for(keys.size)
    if key_bits + position_bits <= KEY_BITS:
        packed = keys << position_bits
        packed |= np.arange(keys.size)
        packed = sort_keys(packed)
        return packed >> position_bits, packed & ((1 << position_bits) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def group(sorted_keys: np.ndarray) -> np.ndarray:
    """Start of each run of equal keys."""
    if sorted_keys.size == 0:
        return np.empty(0, np.int64)
    first = np.empty(sorted_keys.size, bool)
    first[0] = True
    np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=first[1:])
    return np.flatnonzero(first)


def offsets(rows: np.ndarray, nrows: int) -> np.ndarray:
    """Row offsets (nrows + 1,) of entries whose row numbers are given."""
    indptr = np.zeros(nrows + 1, index_dtype(rows.size))
    np.cumsum(np.bincount(rows, minlength=nrows), out=indptr[1:])
    return indptr


def mirror_upper(rows: np.ndarray, cols: np.ndarray, values, n: int, negate: bool = False):
    """CSR of U + U' (the diagonal once) from the sorted entries of U, where row <= col.

    Row i of the result is column i of U above the diagonal, then row i of U:
    both come sorted, so nothing is sorted again.

    Parameters
    ----------
    rows, cols : ndarray of int
        Ascending by (row, column), no duplicates.
    values : ndarray or scalar
        A scalar is kept as it is.
    n : int
    negate : bool
        Give the mirrored entries the opposite sign (skew-symmetric).

    Returns
    -------
    indptr, indices, values
    """
    start = offsets(rows, n)
    above = rows != cols
    iso = np.ndim(values) == 0
    data = np.ones(rows.size, np.int8) if iso else values
    cols = cols.astype(index_dtype(n), copy=False)
    if above.all():
        upper = sp.csr_array((data, cols, start), (n, n))
    else:
        upper = sp.csr_array((data[above], cols[above], offsets(rows[above], n)), (n, n))
    lower = upper.tocsc()
    width = index_dtype(2 * rows.size)
    before = lower.indptr.astype(width, copy=False)
    indptr = before + start
    indices = np.empty(int(indptr[-1]), cols.dtype)
    result = values if iso else np.empty(indices.size, values.dtype)

    def place(begin, shift, part_indices, part_values):
        target = np.repeat(shift, np.diff(begin))
        target += np.arange(target.size, dtype=width)
        indices[target] = part_indices
        if not iso:
            result[target] = part_values

    place(before, start[:-1].astype(width, copy=False), lower.indices, -lower.data if negate else lower.data)
    place(start, before[1:], cols, data)
    return indptr, indices, result
