"""Cut sorted CSR rows at a column, for threads that each own a range of columns.

Work: a binary search per row.
"""

from __future__ import annotations

import numpy as np

from spgraph.kernels.cpu._specialise import get_kernel
from spgraph.kernels.cpu._threads import parallel_for, split_even

__all__ = ["cut_columns"]


def column_cuts(lo, hi, indptr, indices, border, cuts):
    for row in range(lo, hi):
        first = indptr[row]
        last = indptr[row + 1]
        while first < last:
            middle = (first + last) // 2
            if indices[middle] < border:
                first = middle + 1
            else:
                last = middle
        cuts[row] = first
    return 0


def cut_columns(indptr: np.ndarray, indices: np.ndarray, border: int) -> np.ndarray:
    """For every row the number of its first entry whose column is not below `border`."""
    rows = indptr.size - 1
    cuts = np.empty(rows, indptr.dtype)
    kernel = get_kernel(column_cuts, {}, {})
    parallel_for(kernel, split_even(rows, indices.size), rows * 8, (indptr, indices, border, cuts))
    return cuts
