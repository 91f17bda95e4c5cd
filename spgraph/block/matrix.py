"""One device's rows of a matrix.

Data encoding: CSR in local numbers (see `spgraph.partition`). ``indptr``
(nrows + 1,), ``indices`` (nvals,) ascending within each row and without
duplicates, ``values`` (nvals,), or of length 1 when ``iso`` (all entries equal:
an unweighted graph stores no values). Offsets and indices are 32-bit where they
fit, see `spgraph.block.width`. The CSR of the transpose is made when an
operation first needs it and kept (``Matrix.has_transpose`` shows it); a matrix
known to be symmetric shares one.

The arrays lie on the block's device (`spgraph.kernels.device`), but for the one value of
an iso matrix, which is a NumPy array everywhere: to look at it costs no transfer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block.width import index_dtype
from spgraph.kernels.cpu._threads import split_rows, threads
from spgraph.kernels.device import HOST, Device
from spgraph.partition import NATURAL, Partition, by_degree

__all__ = ["MatrixBlock"]


class MatrixBlock:
    """Storage of a matrix on one device; see the module docstring for the encoding.

    ``symmetric`` is True, False or None (not known); True promises that the
    stored pattern and values equal those of the transpose.
    """

    __slots__ = ("_cuts", "_occupied", "_ranges", "_transpose", "cols", "copies", "device", "diagonal", "dtype",
                 "indices", "indptr", "iso", "longest", "missed", "ncols", "nrows", "rows", "shares", "steps",
                 "symmetric", "totals", "values")

    def __init__(self, nrows: int, ncols: int, dtype, *, rows: Partition = NATURAL, cols: Partition = NATURAL,
                 device: Device = HOST):
        self.device = device
        self.nrows = nrows
        self.ncols = ncols
        self.dtype = np.dtype(dtype)
        self.rows = rows
        self.cols = cols
        device.check_size(4 * (nrows + 1))
        self.clear()

    width = 1  # of what is stored so many copies are seen, see `engine.lanes`
    most = 0  # if it has no arrays of its own: so many entries of each row of `source`, see `engine.first_entries`

    @property
    def stored(self) -> MatrixBlock:
        """What of copies is stored once."""
        return self

    @property
    def nvals(self) -> int:
        """Number of stored entries."""
        return self.indices.size

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, those of a kept transpose and of copies by tiles included."""
        blocks = (self,) if self._transpose is None else (self, self._transpose)
        copied = sum(block.shares.copied for block in blocks if block.shares is not None)
        return copied + sum(array.nbytes for block in blocks for array in (block.indptr, block.indices, block.values))

    def clear(self) -> None:
        """Remove all entries."""
        xp = self.device.xp
        self.set_csr(xp.zeros(self.nrows + 1, index_dtype(0)), xp.empty(0, index_dtype(self.ncols)),
                     xp.empty(0, self.dtype))

    def set_csr(self, indptr, indices, values, *, iso=False, symmetric=None, rows=None, cols=None):
        """Take over the arrays of the device as the whole content (rows sorted, no duplicates)."""
        indptr = indptr.astype(index_dtype(indices.size), copy=False)
        indices = indices.astype(index_dtype(self.ncols), copy=False)
        if not indices.size:
            values, iso = self.device.nothing(values.dtype), False  # not the host's, as one value is
        self.indptr = indptr
        self.indices = indices
        self.values = values
        self.iso = iso
        self.symmetric = symmetric
        self._transpose = None
        self._cuts = None
        self._ranges = None
        self._occupied: int | None = None
        self.diagonal: bool | None = None  # whether all entries are on the diagonal, if that is known
        self.longest = None  # no row has more entries, if that is known
        self.shares = None  # of the rows, which products on a GPU keep here
        self.totals: dict = {}  # of all entries, by monoid; see engine.matrix_reduce
        self.steps: dict = {}  # products that may be run again, by statement; see engine.scatters, engine.steps_cuda
        self.copies: dict = {}  # of it, by number; see engine.lanes
        self.missed = 0  # work that the missing transpose would have saved, see engine.vector_products
        if rows is not None:
            self.rows = rows
        if cols is not None:
            self.cols = cols

    @property
    def occupied(self) -> int:
        """Number of rows that have entries; counted at first use."""
        if self._occupied is None:
            self._occupied = int(self.device.xp.count_nonzero(self.indptr[1:] != self.indptr[:-1]))
        return self._occupied

    def assume(self, other: MatrixBlock) -> None:
        """Become what `other` is; arrays are shared, not copied."""
        for name in MatrixBlock.__slots__:
            setattr(self, name, getattr(other, name))

    def copy(self) -> MatrixBlock:
        """A deep copy (the cached transpose is left behind)."""
        new = MatrixBlock.__new__(MatrixBlock)
        new.assume(self)
        new._transpose = None
        new._cuts = new._ranges = new.shares = None
        new.steps, new.copies = {}, {}
        for name in ("indptr", "indices", "values"):
            setattr(new, name, getattr(self, name).copy())
        return new

    def to_device(self, device: Device) -> MatrixBlock:
        """The same content on another device (the cached transpose is left behind); itself if it is there."""
        if device is self.device:
            return self
        if device.group is not None:
            with self.device:
                return device.group.dealt_matrix(self)
        indptr = device.to_device(self.device.to_host(self.indptr))
        indices = device.to_device(self.device.to_host(self.indices))
        values = self.values if self.iso else device.to_device(self.device.to_host(self.values))
        new = MatrixBlock.__new__(MatrixBlock)
        new.device, new.nrows, new.ncols, new.dtype = device, self.nrows, self.ncols, self.dtype
        new.set_csr(indptr, indices, values, iso=self.iso, symmetric=self.symmetric, rows=self.rows.on(device),
                    cols=self.cols.on(device))
        return new

    def expand(self) -> MatrixBlock:
        """Undo iso: one stored value per entry; returns self."""
        if self.iso:
            self.values = self.device.filled(self.nvals, self.values[0], self.dtype)
            self.iso = False
            self._transpose = None
            self.steps, self.copies = {}, {}
        return self

    # ---- transpose -----------------------------------------------------------
    @property
    def has_transpose(self) -> bool:
        """Whether the CSR of the transpose is at hand."""
        return self.symmetric is True or self._transpose is not None

    def oriented(self, transposed: bool) -> MatrixBlock:
        """This block, or (made at first use, then kept) that of the transpose."""
        if not transposed or self.symmetric is True:
            return self
        if self._transpose is None:
            self._transpose = self._make_transpose()
            if self.symmetric is None and self.nrows == self.ncols and self.rows is self.cols:
                self._note_symmetry()
                if self.symmetric:
                    return self
        return self._transpose

    def _make_transpose(self) -> MatrixBlock:
        new = MatrixBlock.__new__(MatrixBlock)
        new.device, new.nrows, new.ncols, new.dtype = self.device, self.ncols, self.nrows, self.dtype
        indptr, indices, values = self.device.sort.transpose_csr(
            self.nrows, self.ncols, self.indptr, self.indices, None if self.iso else self.values)
        new.set_csr(indptr, indices, self.values if self.iso else values, iso=self.iso,
                    symmetric=self.symmetric, rows=self.cols, cols=self.rows)
        new._transpose = self
        return new

    def _note_symmetry(self) -> None:
        other, equal = self._transpose, self.device.xp.array_equal
        self.symmetric = other.symmetric = bool(
            equal(self.indptr, other.indptr)
            and equal(self.indices, other.indices)
            and (self.iso or equal(_bits(self.values), _bits(other.values)))
        )
        if self.symmetric:
            self._transpose = None

    # ---- ranges for threads (on the CPU) -------------------------------------------
    def row_ranges(self) -> list[tuple[int, int]]:
        """Ranges of rows with about equal work, for as many threads as there are now (kept)."""
        if self._ranges is None or self._ranges[0] != threads():
            self._ranges = threads(), split_rows(self.indptr, self.nvals + self.nrows)
        return self._ranges[1]

    def column_ranges(self, parts: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """The rows cut into `parts` ranges of columns with about equal entries.

        Returns
        -------
        list of (first column, begin, end)
            Row s has the entries ``begin[s]:end[s]`` in this range. Made at first
            use and kept: nrows offsets per cut.
        """
        if self._cuts is None or len(self._cuts) != parts:
            from spgraph.kernels.cpu.cuts import cut_columns

            # a sample of the entries tells where the columns' quantiles lie
            sample = np.sort(self.indices[:: max(self.nvals >> 16, 1)])
            borders = [int(sample[sample.size * part // parts]) for part in range(1, parts)] if sample.size else []
            edges = [self.indptr[:-1], *(cut_columns(self.indptr, self.indices, border) for border in borders),
                     self.indptr[1:]]
            self._cuts = list(zip([0, *borders], edges[:-1], edges[1:]))
        return self._cuts

    # ---- order ---------------------------------------------------------------
    def rehome(self, rows: Partition, cols: Partition, *, own: bool = False) -> MatrixBlock:
        """Rewrite local numbers for other partitions; returns self.

        Cost: one pass over the entries and a sort within rows. With `own` nobody else holds the block, nor its arrays:
        it is lost if memory runs out, and a GPU's arrays go as soon as they are not needed.
        """
        if rows is self.rows and cols is self.cols:
            return self
        row_source = _sources(self.rows, rows)
        col_target = _targets(self.cols, cols)
        symmetric = self.symmetric if rows is cols else None
        diagonal = self.diagonal if rows is cols and self.rows is self.cols else None
        csr, sort = [self.indptr, self.indices, None if self.iso else self.values], self.device.sort
        if own and not self.device.on_host:
            self.indptr = self.indices = None
            self.values = self.values if self.iso else None
            indptr, indices, values = sort.permute_own(self.nrows, self.ncols, csr, row_source, col_target)
        else:
            indptr, indices, values = sort.permute_csr(self.nrows, self.ncols, *csr, row_source, col_target)
        self.set_csr(indptr, indices, self.values if self.iso else values, iso=self.iso, symmetric=symmetric,
                     rows=rows, cols=cols)
        self.diagonal = diagonal
        return self

    def reorder(self, order: Any, *, own: bool = False) -> MatrixBlock:
        """Re-home a square block to ``"natural"`` order, by falling ``"degree"`` or as listed; returns self.

        A list is an array of all vertices, each once, of its device. See `rehome` for `own`.
        """
        if isinstance(order, str) and order == "natural":
            return self.rehome(NATURAL, NATURAL)
        if not isinstance(order, str):
            listed = Partition(order.astype(index_dtype(self.nrows)), "listed", device=self.device)
            return self.rehome(listed, listed)
        self.rehome(NATURAL, NATURAL)
        xp = self.device.xp
        degree = xp.diff(self.indptr)
        if self.symmetric is not True:
            degree = degree + xp.bincount(self.indices, minlength=self.ncols)
        partition = by_degree(degree, index_dtype(self.nrows), self.device)
        del degree
        return self.rehome(partition, partition, own=own)


def _bits(values: Any) -> Any:
    """The values as unsigned numbers: -0.0 is not 0.0, and NaN is NaN."""
    return values.view(f"u{values.itemsize}")


def _sources(old: Partition, new: Partition) -> Any:
    """Old local number of each new local number; None when nothing moves."""
    if old is new:
        return None
    return old.to_local if new.natural else old.locals_of(new.to_global)


def _targets(old: Partition, new: Partition) -> Any:
    """New local number of each old local number; None when nothing moves."""
    return _sources(new, old)
