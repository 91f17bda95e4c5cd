"""Results that several ranges of rows have written, each from its own start on.

A kernel that cannot know how much it will keep writes where an upper bound of the
ranges before it ends, and says how much it wrote. Closing the gaps costs one move of
the entries, a second pass of the kernel would cost more.
"""

from __future__ import annotations

import numpy as np

__all__ = ["close_gaps", "row_offsets"]


def row_offsets(counts: np.ndarray) -> np.ndarray:
    """indptr of rows with so many entries, 32-bit if it fits.

    Examples
    --------
    >>> import numpy as np
    >>> row_offsets(np.array([2, 0, 1]))
    array([0, 2, 2, 3], dtype=int32)
    """
    indptr = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr.astype(np.int32) if indptr[-1] < 2**31 - 1 else indptr


def close_gaps(starts, counts, *arrays):
    """Move pieces (starts[n], counts[n]) of each array side by side and drop the rest; None stays None.

    The arrays must be the caller's own: they are changed.

    Examples
    --------
    >>> import numpy as np
    >>> close_gaps([0, 3], [1, 2], np.array([7, 0, 0, 8, 9]))
    (array([7, 8, 9]),)
    """
    total = int(sum(counts))
    return tuple(None if array is None else _close(starts, counts, total, array) for array in arrays)


def _close(starts, counts, total, array):
    if total == array.size:
        return array
    end = 0
    for start, count in zip(starts, counts):
        if end != start and count:
            array[end:end + count] = array[start:start + count]
        end += count
    if array.base is not None or array.size < 4096:
        return array[:total].copy()
    array.resize(total, refcheck=False)  # gives the memory back without a copy
    return array
