"""Kernels that write rows of a result without knowing beforehand how many entries they will keep.

Each range of rows writes into a buffer of its own that an upper bound sizes (pages that
are never touched cost nothing) and says how much it wrote; the pieces are then put
together. One such move is cheaper than running a kernel twice to count first.
Scratch memory is made once per thread.
"""

from __future__ import annotations

import numpy as np

from semirings.exceptions import OutOfMemory
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_for, split_rows

__all__ = ["NOTHING", "given", "narrow", "produce_rows", "row_offsets"]

NOTHING = np.empty(0, np.int8)
LARGEST_PIECE = 1 << 26  # entries that a buffer has room for, unless one row needs more


def given(array):
    """What a kernel is passed for an optional array."""
    return NOTHING if array is None else array


def narrow(count: int) -> type:
    """Integer type of offsets and ids 0..count."""
    return np.int32 if count < 2**31 - 1 else np.int64


def row_offsets(counts: np.ndarray) -> np.ndarray:
    """indptr of rows with so many entries, 32-bit if it fits.

    Examples
    --------
    >>> import numpy as np
    >>> row_offsets(np.array([2, 0, 1]))
    array([0, 2, 2, 3], dtype=int32)
    """
    dtype = narrow(int(counts.sum(dtype=np.int64)))
    indptr: np.ndarray = np.zeros(counts.size + 1, dtype)
    np.cumsum(counts, dtype=dtype, out=indptr[1:])
    return indptr


def produce_rows(kernel, work, args, rooms, index_dtype, value_dtype, *, costs=None, scratch=tuple, idle=None):
    """Run a row-producing kernel on ranges of rows and put the pieces together.

    Parameters
    ----------
    kernel : Kernel
        Takes (lo, hi, *args, *scratch, counts, out_indices, out_values), writes from 0 on in
        the last two and returns how many entries it wrote; counts[i] are those of row i.
    work : int
    args : tuple
    rooms : ndarray, shape (rows + 1,)
        Running sum of upper bounds of the entries of each row.
    index_dtype, value_dtype : dtype
        Of column numbers, which are more than a row has entries. value_dtype None: there are no values (all are equal).
    costs : ndarray, shape (rows + 1,), optional
        Running sum of each row's work, if that is not like `rooms`.
    scratch : callable
        Makes a tuple of arrays that one thread reuses; the kernel leaves them as it found them.
    idle : list, optional
        Scratch that is at hand, and where scratch goes for later use.

    Returns
    -------
    indptr, indices, values
        values is None if value_dtype is.
    """
    counts = np.zeros(rooms.size - 1, index_dtype)
    idle = [] if idle is None else idle
    task = _Produce(kernel, args, rooms, scratch, idle, counts, index_dtype, value_dtype)
    bounds = _halved(split_rows(rooms if costs is None else costs, work), rooms)
    try:
        pieces = parallel_for(task, bounds, work, ())
        indices = _joined([piece[0] for piece in pieces], index_dtype)
        values = None if value_dtype is None else _joined([piece[1] for piece in pieces], value_dtype)
    except MemoryError as error:
        done, size = int(counts.sum()), np.dtype(index_dtype).itemsize + np.dtype(value_dtype or "V").itemsize
        raise OutOfMemory(f"{kernel.name}: the result has more entries than memory holds: {done} entries of {size} "
                          f"bytes each were made when {error}; a mask makes it smaller") from error
    return row_offsets(counts), indices, values


def _halved(bounds, rooms):
    """The same ranges, in pieces whose buffers are of a bearable size."""
    result = []
    for lo, hi in bounds:
        if hi - lo > 1 and rooms[hi] - rooms[lo] > LARGEST_PIECE:
            middle = (lo + hi) // 2
            result += _halved([(lo, middle), (middle, hi)], rooms)
        else:
            result.append((lo, hi))
    return result


class _Produce:
    """What `parallel_for` runs: a kernel with buffers around it."""

    def __init__(self, kernel, args, rooms, scratch, idle, counts, index_dtype, value_dtype):
        self.kernel = kernel
        self.args = args
        self.rooms = rooms
        self.scratch = scratch
        self.counts = counts
        self.index_dtype = index_dtype
        self.value_dtype = value_dtype
        self.idle = idle

    def ready(self, work):
        return self.kernel.ready(work)

    def fn(self, lo, hi):
        return self(0, lo, hi)

    def __call__(self, work, lo, hi):
        room = int(self.rooms[hi] - self.rooms[lo]) + 1  # a kernel may write one more before it decides
        indices = np.empty(room, self.index_dtype)
        values = NOTHING if self.value_dtype is None else np.empty(room, self.value_dtype)
        try:
            scratch = self.idle.pop()
        except IndexError:
            scratch = self.scratch()
        count = self.kernel(work, lo, hi, *self.args, *scratch, self.counts, indices, values)
        self.idle.append(scratch)
        return _shrink(indices, count), values if values is NOTHING else _shrink(values, count)


def _shrink(array, count):
    if count != array.size:
        array.resize(count, refcheck=False)  # gives memory back without a copy
    return array


def _joined(pieces, dtype):
    if len(pieces) == 1:
        return pieces[0]
    ends = np.cumsum([piece.size for piece in pieces])
    joined = np.empty(int(ends[-1]) if ends.size else 0, dtype)
    parallel_for(_Copy(pieces, ends, joined), [(n, n + 1) for n in range(len(pieces))], joined.size, ())
    return joined


class _Copy:
    """Copies pieces lo..hi to their places and lets go of them."""

    def __init__(self, pieces, ends, joined):
        self.pieces = pieces
        self.ends = ends
        self.joined = joined

    def ready(self, work):
        return work >= PARALLEL_WORK

    def fn(self, lo, hi):
        for n in range(lo, hi):
            piece = self.pieces[n]
            self.pieces[n] = None
            self.joined[self.ends[n] - piece.size:self.ends[n]] = piece

    def __call__(self, work, lo, hi):
        self.fn(lo, hi)
