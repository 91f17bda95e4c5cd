"""Sorts on a GPU: the transpose, permutations of rows and columns, building from coordinates.

The functions of `spgraph.kernels.cpu.sort`, with the same results. Method: see sort.cuh. Entries are counted,
dealt into their rows, and sorted there in place; where they have values, each carries the position at which it was
given, which also keeps duplicates in order, and the values are gathered once, at the end.

Memory: coordinates of the host are copied in slices and never lie on the device as a whole. Held at most are, for each
entry, its column, its position and its value twice (before and after), or without values the column alone; merging
duplicates holds the entries before and after. `build_peak` says it in bytes. For rmat22-16 (134 M coordinates,
128 M entries) it is 2.05 times the finished CSR without values and 2.07 with 32-bit ones, as measured.

Cost: rmat22-16 on an H100: 22 ms from coordinates on the device (41 with values; 600 from the host, which is the
copy), 21 and 35 to transpose, 13 and 19 to reorder by degree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import OutOfMemory
from spgraph.kernels.cpu._pieces import NOTHING, given, narrow
from spgraph.kernels.cuda.produce import running_sum

__all__ = ["Sorting", "build_peak"]

LEAST_SLICE, SLICE = 1 << 16, 1 << 22  # how many coordinates of the host are copied at once: a sixteenth, within these
SHORT = 256  # entries of a row that a warp sorts in shared memory
TILE = 4096  # entries that a block sorts in shared memory (half as many if they are wide)


def build_peak(nrows: int, ncols: int, nvals: int, itemsize: int = 0, distinct: int | None = None) -> int:
    """Bytes of device memory that building a CSR from coordinates in host memory holds at most.

    Parameters
    ----------
    nrows, ncols : int
    nvals : int
        Coordinates given.
    itemsize : int
        Bytes of a value; 0 if all are equal.
    distinct : int, optional
        Entries of the result, if duplicates are merged.

    Returns
    -------
    int

    Examples
    --------
    >>> finished = 4 * (2**22 + 1) + 4 * 128_311_436
    >>> build_peak(2**22, 2**22, 2**27, distinct=128_311_436) / finished < 2.1
    True
    """
    offset, index = (np.dtype(narrow(count)).itemsize for count in (nvals, ncols))
    position = offset if itemsize else 0
    dealing = 2 * offset * nrows + (index + position) * nvals + 32 * _slice(nvals)  # one is copied, one in use
    gathering = offset * nrows + (index + position + 2 * itemsize) * nvals
    merging = 0 if distinct is None else 2 * offset * nrows + (index + itemsize) * (nvals + distinct)
    return max(dealing, gathering, merging)


def reorder_peak(n: int, nvals: int, itemsize: int = 0) -> int:
    """Bytes of device memory that giving a finished square CSR another order holds at most, the CSR included.

    Examples
    --------
    >>> finished = 4 * (2**22 + 1) + 8 * 2**27
    >>> 2 < reorder_peak(2**22, 2**27, 4) / finished < 2.2
    True
    """
    offset, index = (np.dtype(narrow(count)).itemsize for count in (nvals, n))
    position = offset if itemsize else 0
    lines = (3 * offset + 2 * index + 8) * (n + 1)  # two indptr, lengths, the order and where it puts what, degrees
    return lines + max(2 * index + itemsize + position, index + position + 2 * itemsize) * nvals


def _slice(nvals: int) -> int:
    return min(max(nvals >> 4, LEAST_SLICE), SLICE, nvals)


class Sorting:
    """Sorts on one device.

    Parameters
    ----------
    device : CudaDevice
    """

    def __init__(self, device: Any):
        self.device = device

    def _kernel(self, name: str, dup: Any = None, **consts: Any) -> Any:
        key = (name, dup, *consts.items())
        kernel = self.device.kernels.get(key)
        if kernel is None:
            ops = {} if dup is None else {"DUP": dup}
            kernel = self.device.kernels[key] = self.device.kernel(name, {"POSITIONS": False, **consts}, ops)
        return kernel

    # ---- on CSR -----------------------------------------------------------------------
    def row_numbers(self, indptr: Any, nvals: int) -> Any:
        """The row of each of the `nvals` entries, int64."""
        out = self.device.xp.empty(nvals, np.int64)
        self.device.over_rows(self._kernel("sort.row_numbers"), indptr, nvals + indptr.size, (indptr, out))
        return out

    def transpose_csr(self, nrows: int, ncols: int, indptr: Any, indices: Any, values: Any,
                      col_target: Any = None) -> tuple:
        """The CSR of the transpose, rows sorted; see `kernels.cpu.sort.transpose_csr`."""
        mapped = col_target is not None
        counts = self._counts(ncols, indices.size)
        self._count(counts, indices, col_target)
        out_indptr, cursor = self._begin(counts, indices.size)
        keys, positions = self._room(nrows, indices.size, values is not None)
        deal = self._kernel("sort.rows_deal", MAPPED=mapped, POSITIONS=values is not None)
        self.device.over_rows(deal, indptr, indices.size + nrows,
                              (indptr, indices, given(col_target), cursor, keys, positions))
        return self._finish(out_indptr, keys, positions, values)

    def sort_rows(self, nrows: int, ncols: int, indptr: Any, indices: Any, values: Any,
                  col_target: Any = None) -> tuple:
        """The same rows, each sorted by (mapped) column; equal columns stay in order."""
        keys = indices if col_target is None else col_target[indices]
        keys = keys.astype(narrow(ncols), copy=keys is indices)
        positions = NOTHING
        if values is not None:
            positions = self.device.xp.arange(indices.size, dtype=narrow(indices.size))
        return self._finish(indptr, keys, positions, values)

    def gather_rows(self, indptr: Any, indices: Any, values: Any, source: Any) -> tuple:
        """The CSR whose row i is row source[i] of the input; rows may repeat."""
        out_indptr, nvals = running_sum(self.device.xp, self.device.xp.diff(indptr)[source])
        out_indices = self.device.xp.empty(nvals, indices.dtype)
        out_values = None if values is None else self.device.xp.empty(nvals, values.dtype)
        kernel = self._kernel("sort.rows_gather", MAPPED=False, VALUES=values is not None)
        self.device.over_rows(kernel, out_indptr, nvals + source.size, (
            source, indptr, indices, given(values), NOTHING, out_indptr, out_indices, given(out_values), NOTHING))
        return out_indptr, out_indices, out_values

    def permute_csr(self, nrows: int, ncols: int, indptr: Any, indices: Any, values: Any, row_source: Any,
                    col_target: Any) -> tuple:
        """Rows and columns moved by permutations, either of which may be None; see `kernels.cpu.sort.permute_csr`."""
        if row_source is None and col_target is None:
            return indptr, indices, values
        if col_target is None:
            return self.gather_rows(indptr, indices, values, row_source)
        if row_source is None:
            return self.sort_rows(nrows, ncols, indptr, indices, values, col_target)
        out_indptr, keys, positions = self._moved(nrows, ncols, indptr, indices, row_source, col_target,
                                                  values is not None)  # fmt: skip
        return self._finish(out_indptr, keys, positions, values)

    def permute_own(self, nrows: int, ncols: int, csr: list, row_source: Any, col_target: Any) -> tuple:
        """The same of arrays that nobody else holds, in a list which is emptied: they go when they are not needed."""
        indptr, indices, values = csr
        csr.clear()
        if values is None or row_source is None or col_target is None:
            return self.permute_csr(nrows, ncols, indptr, indices, values, row_source, col_target)
        indptr, indices, positions = self._moved(nrows, ncols, indptr, indices, row_source, col_target, True)
        return self._finish(indptr, indices, positions, values)

    def _moved(self, nrows: int, ncols: int, indptr: Any, indices: Any, row_source: Any, col_target: Any,
               valued: bool) -> tuple:
        """(indptr, columns, positions) of moved rows, not yet sorted."""
        out_indptr, nvals = running_sum(self.device.xp, self.device.xp.diff(indptr)[row_source])
        keys, positions = self._room(ncols, nvals, valued)
        kernel = self._kernel("sort.rows_gather", MAPPED=True, VALUES=False, POSITIONS=valued)
        self.device.over_rows(kernel, out_indptr, nvals + nrows, (
            row_source, indptr, indices, NOTHING, col_target, out_indptr, keys, NOTHING, positions))
        return out_indptr, keys, positions

    def own_first(self, nrows: int, ncols: int, indptr: Any, indices: Any, values: Any, first: int, last: int,
                  target: Any) -> tuple:
        """Columns mapped by `target`, those of first..last come first; see `kernels.cpu.sort.own_first`."""
        return self.sort_rows(nrows, ncols, indptr, indices, values, target)

    # ---- from coordinates -----------------------------------------------------------------
    def coo_to_csr(self, nrows: int, ncols: int, rows: Any, cols: Any, values: Any) -> tuple:
        """CSR of coordinates in any order; duplicates stay, side by side in the order given.

        Parameters
        ----------
        nrows, ncols : int
        rows, cols : array of int, shape (n,)
            Within range; not checked. The device's, or NumPy's.
        values : array or None
            The device's, or NumPy's.

        Returns
        -------
        indptr, indices, values
            Of already sorted input, `values` itself if they are the device's.
        """
        try:
            found = self._of_sorted(nrows, ncols, rows, cols)
            if found is not None:
                return *found, None if values is None else self.device.to_device(values)
            indptr, keys, positions = self._dealt(nrows, ncols, rows, cols, values is not None)
            return self._finish(indptr, keys, positions, values)
        except MemoryError as error:
            need = build_peak(nrows, ncols, rows.size, 0 if values is None else values.itemsize)
            raise OutOfMemory(f"build: a matrix of {rows.size:,} coordinates needs {need:,} bytes while it is sorted; "
                              "give fewer, or leave out values that are all equal") from error

    def _slices(self, *arrays: Any) -> list[tuple[int, int]]:
        """Ranges of coordinates that are copied at once: all if they are on the device."""
        size = arrays[0].size
        step = _slice(size) if any(type(array) is np.ndarray for array in arrays) else size
        return [(lo, min(lo + step, size)) for lo in range(0, size, max(step, 1))]

    def _of_sorted(self, nrows: int, ncols: int, rows: Any, cols: Any) -> tuple | None:
        """indptr and indices, if the coordinates are in order."""
        device, disorder = self.device, self._kernel("sort.coo_disorder")
        counts = self._counts(nrows, rows.size)
        indices = device.xp.empty(rows.size, narrow(ncols))
        for lo, hi in self._slices(rows, cols):
            first = max(lo - 1, 0)
            part = device.to_device(rows[first:hi]), device.to_device(cols[first:hi])
            if sum(device.over(disorder, hi - first, hi - first, part)):
                return None
            self._count(counts, part[0][lo - first:])
            indices[lo:hi] = part[1][lo - first:]
        return self._begin(counts, rows.size)[0], indices

    def _dealt(self, nrows: int, ncols: int, rows: Any, cols: Any, valued: bool) -> tuple:
        """indptr, and columns and positions in any order within their rows."""
        device, deal = self.device, self._kernel("sort.coo_deal", POSITIONS=valued)
        counts = self._counts(nrows, rows.size)
        for lo, hi in self._slices(rows):
            self._count(counts, device.to_device(rows[lo:hi]))
        indptr, cursor = self._begin(counts, rows.size)
        keys, positions = self._room(ncols, rows.size, valued)
        for lo, hi in self._slices(rows, cols):
            part = device.to_device(rows[lo:hi]), device.to_device(cols[lo:hi])
            device.over(deal, hi - lo, hi - lo, (*part, lo, cursor, keys, positions))
        return indptr, keys, positions

    def count_duplicates(self, indptr: Any, indices: Any) -> int:
        """How many entries of sorted rows repeat the one before them."""
        kernel = self._kernel("sort.rows_repeats")
        return sum(self.device.over_rows(kernel, indptr, indices.size + indptr.size, (indptr, indices)))

    def combine_duplicates(self, indptr: Any, indices: Any, values: Any, dup: Any) -> tuple:
        """Merge neighbours of equal column, left to right; see `kernels.cpu.sort.combine_duplicates`."""
        kernel = self._kernel("sort.rows_combine", dup, VALUES=values is not None)
        return self.device.produce_rows(kernel, indices.size + indptr.size, (indptr, indices, given(values)), indptr,
                                        indices.dtype, None if values is None else values.dtype)

    # ---- pieces ---------------------------------------------------------------------------
    def _counts(self, nkeys: int, nvals: int) -> Any:
        return self.device.xp.zeros(nkeys, narrow(nvals))

    def _count(self, counts: Any, keys: Any, key_map: Any = None) -> None:
        """Add how often each (mapped) key occurs."""
        kernel = self._kernel("sort.key_count", MAPPED=key_map is not None)
        self.device.over(kernel, keys.size, keys.size, (keys, given(key_map), counts))

    def _begin(self, counts: Any, nvals: int) -> tuple:
        """indptr of rows with so many entries, `nvals` in all; `counts` becomes where the next of each row goes."""
        indptr = self.device.xp.zeros(counts.size + 1, narrow(nvals))
        self.device.xp.cumsum(counts, dtype=indptr.dtype, out=indptr[1:])
        counts[:] = indptr[:-1]
        return indptr, counts

    def _room(self, nkeys: int, nvals: int, valued: bool) -> tuple:
        """Arrays for columns and, where values are to follow, positions."""
        empty = self.device.xp.empty
        return empty(nvals, narrow(nkeys)), empty(nvals, narrow(nvals)) if valued else NOTHING

    def _finish(self, indptr: Any, keys: Any, positions: Any, values: Any) -> tuple:
        """Sort each row by key and position; values follow."""
        self._sort_within(indptr, keys, positions)
        return indptr, keys, None if values is None else self.device.to_device(values)[positions]

    def _sort_within(self, indptr: Any, keys: Any, positions: Any) -> None:
        """Sort each row by key and position, in place. Waits for the length of the longest row."""
        device, nrows = self.device, indptr.size - 1
        lengths = device.xp.diff(indptr)
        longest = int(lengths.max()) if keys.size else 0
        if longest < 2:
            return
        consts: dict[str, Any] = {"POSITIONS": positions is not NOTHING}
        device.over(self._kernel("sort.sort_short", SHORT=SHORT, **consts), nrows, keys.size, (indptr, keys, positions))
        if longest <= SHORT:
            return
        wide = keys.itemsize + (positions.itemsize if consts["POSITIONS"] else 0) > 8
        consts["TILE"] = tile = TILE // 2 if wide else TILE
        rest = self._kernel("sort.sort_tiles", REST=True, **consts)
        listed = device.xp.flatnonzero(lengths > SHORT)
        self._over_tiles(self._kernel("sort.sort_tiles", REST=False, **consts), self._tiles(listed, lengths, tile),
                         indptr, keys, positions)
        if longest <= tile:
            return
        tiles = self._tiles(listed[lengths[listed] > tile], lengths, tile)
        block = 2 * tile
        while block < 2 * longest:
            part = block
            while part > tile:
                step = self._kernel("sort.sort_step", FLIP=part == block, **consts)
                self._over_tiles(step, tiles, indptr, keys, positions, part)
                part //= 2
            self._over_tiles(rest, tiles, indptr, keys, positions)
            block *= 2

    def _tiles(self, listed: Any, lengths: Any, tile: int) -> tuple:
        """Rows, the running sum of their numbers of tiles, and how many tiles there are."""
        return listed, *running_sum(self.device.xp, (lengths[listed] + (tile - 1)) // tile)

    def _over_tiles(self, kernel: Any, tiles: tuple, indptr: Any, keys: Any, positions: Any, *more: int) -> None:
        listed, ends, count = tiles
        self.device.over(kernel, count, count, (listed, ends, listed.size, indptr, keys, positions, *more))
