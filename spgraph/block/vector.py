"""One device's piece of a vector.

Data encoding (local numbers, see `spgraph.partition`):

=========  ==========================================================
format     arrays
=========  ==========================================================
sparse     ``indices`` (nvals,), ``values`` (nvals,); ascending if ``sorted``
bitmap     ``present`` (size,) uint8, ``values`` (size,)
full       ``values`` (size,); every entry is present
=========  ==========================================================

When ``iso`` is True all entries are equal and ``values`` has length 1.
``values`` at absent positions of a bitmap are arbitrary.
"""

from __future__ import annotations

import numpy as np

from spgraph.block.width import index_dtype
from spgraph.partition import NATURAL, Partition

__all__ = ["VectorBlock"]


class VectorBlock:
    """Storage of a vector on one device; see the module docstring for the encoding."""

    __slots__ = ("dtype", "format", "indices", "iso", "nvals", "partition", "present", "size", "sorted", "values")

    def __init__(self, size: int, dtype, partition: Partition = NATURAL):
        self.size = size
        self.dtype = np.dtype(dtype)
        self.partition = partition
        self.clear()

    def clear(self) -> None:
        """Remove all entries (cost O(1)). An empty block fits any partition."""
        self.set_sparse(np.empty(0, index_dtype(self.size)), np.empty(0, self.dtype))

    # ---- setting the content -------------------------------------------------
    def set_sparse(self, indices, values, *, iso=False, sorted=True, partition=None):
        """Take over local `indices` and `values` as the whole content."""
        self.format = "sparse"
        self.indices = indices
        self.values = values if indices.size else values[:0]
        self.present = None
        self.iso = iso and indices.size > 0
        self.nvals = indices.size
        self.sorted = sorted
        if partition is not None:
            self.partition = partition

    def set_bitmap(self, present, values, nvals, *, iso=False, partition=None):
        """Take over a bitmap (uint8) and values as the whole content."""
        self.indices = None
        self.values = values
        self.iso = iso
        self.nvals = nvals
        self.sorted = True
        full = nvals == self.size
        self.format = "full" if full else "bitmap"
        self.present = None if full else present
        if partition is not None:
            self.partition = partition

    def set_full(self, values, *, iso=False, partition=None):
        """Take over values of every entry."""
        self.set_bitmap(None, values, self.size, iso=iso, partition=partition)

    def assume(self, other: VectorBlock) -> None:
        """Become what `other` is (size, dtype, content); arrays are shared, not copied."""
        for name in VectorBlock.__slots__:
            setattr(self, name, getattr(other, name))

    def copy(self) -> VectorBlock:
        """A deep copy."""
        new = VectorBlock.__new__(VectorBlock)
        new.assume(self)
        for name in ("indices", "values", "present"):
            array = getattr(self, name)
            if array is not None:
                setattr(new, name, array.copy())
        return new

    # ---- changing the format -------------------------------------------------
    def to_sparse(self) -> VectorBlock:
        """Store as sparse, ascending; returns self."""
        if self.format == "full":
            self.indices = np.arange(self.size, dtype=index_dtype(self.size))
            self.format = "sparse"
        elif self.format == "bitmap":
            self.indices = np.flatnonzero(self.present.view(np.bool_)).astype(index_dtype(self.size))
            if not self.iso:
                self.values = self.values[self.indices]
            self.format = "sparse"
            self.present = None
        return self

    def sort(self) -> VectorBlock:
        """Bring a sparse block's indices into ascending order; returns self."""
        if not self.sorted:
            if self.iso:
                self.indices = np.sort(self.indices)
            else:
                order = np.argsort(self.indices, kind="stable")
                self.indices = self.indices[order]
                self.values = self.values[order]
            self.sorted = True
        return self

    def to_bitmap(self) -> VectorBlock:
        """Store so that any position can be looked up: bitmap, or full if it is; returns self."""
        if self.format == "sparse":
            if self.nvals == self.size:
                self.sort()
                self.set_full(self.values, iso=self.iso)
                return self
            present = np.zeros(self.size, np.uint8)
            present[self.indices] = 1
            values = self.values
            if not self.iso:
                values = np.empty(self.size, self.dtype)
                values[self.indices] = self.values
            self.set_bitmap(present, values, self.nvals, iso=self.iso)
        return self

    def writable_bitmap(self, *, full: bool = False) -> VectorBlock:
        """Bitmap with own, non-iso values, to be updated in place; `full` may stay full. Returns self."""
        self.to_bitmap()
        if self.iso:
            self.values = np.full(self.size, self.values[0], self.dtype)
            self.iso = False
        if self.format == "full" and not full:
            self.present = np.ones(self.size, np.uint8)
            self.format = "bitmap"
        return self

    def expand(self) -> VectorBlock:
        """Undo iso: one stored value per entry (per position for a bitmap); returns self."""
        if self.iso:
            count = self.nvals if self.format == "sparse" else self.size
            self.values = np.full(count, self.values[0], self.dtype)
            self.iso = False
        return self

    # ---- order ---------------------------------------------------------------
    def rehome(self, partition: Partition) -> VectorBlock:
        """Rewrite local numbers for another partition of the same size; returns self."""
        old = self.partition
        if old is partition:
            return self
        if self.nvals and not (self.format == "full" and self.iso):
            if self.format == "sparse":
                ids = old.globals_of(self.indices)
                self.indices = partition.locals_of(ids)
                self.sorted = self.nvals <= 1
            else:
                # where does local number i of the new partition lie in the old one?
                source = old.to_local if partition.natural else old.locals_of(partition.to_global)
                if self.present is not None:
                    self.present = self.present[source]
                if not self.iso:
                    self.values = self.values[source]
        self.partition = partition
        return self

    def coo(self) -> tuple[np.ndarray, np.ndarray]:
        """Global ids (int64, ascending) and values; fresh or safe-to-share arrays."""
        if self.partition.natural:
            if self.format == "sparse":
                self.sort()
                indices = self.indices.astype(np.int64)
            elif self.format == "full":
                indices = np.arange(self.size, dtype=np.int64)
            else:
                indices = np.flatnonzero(self.present.view(np.bool_))
            if self.iso:
                return indices, np.full(indices.size, self.values[0], self.dtype)
            return indices, (self.values.copy() if self.format != "bitmap" else self.values[indices])
        return self.copy().rehome(NATURAL).coo()

    def resize(self, size: int) -> None:
        """Change the size; entries beyond it are dropped."""
        self.rehome(NATURAL)
        self.to_sparse().sort()
        keep = int(np.searchsorted(self.indices, size)) if size < self.size else self.nvals
        values = self.values if self.iso else self.values[:keep].copy()
        self.size = size
        self.set_sparse(self.indices[:keep].astype(index_dtype(size)), values, iso=self.iso)
