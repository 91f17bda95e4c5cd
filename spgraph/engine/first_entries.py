"""The first entries of every row of a matrix, without a copy of them.

On a GPU a pull reads a few entries of each row where they lie, and most programs want no more of them. So
`FirstEntries` is a matrix block whose CSR is made when somebody asks for its arrays. `vector_products.mxv` does not:
it pulls from the rows that these entries begin, each of which ends after `most` (MOST in pull.cuh).
"""

from __future__ import annotations

from typing import Any

from spgraph.block import MatrixBlock
from spgraph.block.width import index_dtype
from spgraph.engine.matrix_common import NO_IDS, kernel_for, make_block

__all__ = ["SHORT_ROWS", "FirstEntries", "made_entries", "some_entries"]

SHORT_ROWS = 4  # rows that are known to have no more entries are gathered by a thread each


class FirstEntries(MatrixBlock):
    """At most `most` entries of each row of a block as it is now.

    Parameters
    ----------
    base : MatrixBlock
        With entries.
    most : int
        Positive; 0 as soon as the arrays are the block's own.
    making : context manager
        What the arrays are made within; it says what an allocation was for that failed.
    """

    __slots__ = ("_base", "_making", "most")

    def __init__(self, base: MatrixBlock, most: int, making: Any):
        self._base: Any = MatrixBlock.__new__(MatrixBlock)
        self._base.assume(base)  # its arrays: the engine never writes them, but may give the block others
        self.most, self._making = most, making
        self.device, self.dtype, self.iso = base.device, base.dtype, base.iso
        self.nrows, self.ncols, self.rows, self.cols = base.nrows, base.ncols, base.rows, base.cols
        self.symmetric = self.shares = self._transpose = self._cuts = self._ranges = None
        self._occupied, self.longest, self.diagonal = base._occupied, most, None
        self.totals, self.steps, self.copies = {}, {}, {}
        self.missed = 0

    @property
    def source(self) -> MatrixBlock:
        """The block whose rows they begin, or this one."""
        return self._base if self.most else self

    def make(self) -> None:
        """Be a matrix like others."""
        if self.most:
            with self._making, self.device:
                self.indptr, self.indices, self.values, self.iso = _first(self._base, self.most)
            self.most, self._base = 0, None

    def set_csr(self, *args: Any, **kwargs: Any) -> None:
        """Other content: nothing is left to be made."""
        self.most, self._base = 0, None
        super().set_csr(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in ("indptr", "indices", "values") or not self.most:  # slots that are still empty
            raise AttributeError(name)
        self.make()
        return getattr(self, name)


def some_entries(A: MatrixBlock, a_t: bool, count: int, making: Any) -> MatrixBlock:
    """A block of at most `count` entries of each row of A (or A^T), those that come first in memory.

    They may be made later, within `making`.
    """
    A = A.oriented(a_t)
    if A.device.on_host or not A.nvals or not 0 < count <= SHORT_ROWS:
        return made_entries(A, count)
    return FirstEntries(A, count, making)


def made_entries(A: MatrixBlock, count: int) -> MatrixBlock:
    """The same with its arrays."""
    indptr, indices, values, iso = _first(A, count)
    csr = (indptr, indices, None if iso else values)
    few = make_block(A.nrows, A.ncols, A.dtype, csr, values[0] if iso else None, A.rows, A.cols, device=A.device)
    few.longest = count
    return few


def _first(A: MatrixBlock, count: int) -> tuple:
    """indptr, indices, values and whether these are one."""
    device = A.device
    counts = device.xp.minimum(A.indptr[1:] - A.indptr[:-1], min(count, A.ncols))
    indptr = device.xp.zeros(A.nrows + 1, index_dtype(min(A.nvals, A.nrows * count)))
    device.xp.cumsum(counts, out=indptr[1:], dtype=indptr.dtype)
    nvals = int(indptr[-1])
    indptr = indptr.astype(index_dtype(nvals), copy=False)
    indices = device.xp.empty(nvals, A.indices.dtype)
    iso = A.iso and nvals > 0
    values = A.values if iso else device.xp.empty(nvals, A.dtype)
    if nvals:
        consts = {"VALUES": not iso}
        kernel = kernel_for(device, "rows.first_entries", (iso,), lambda: (consts, {}))
        args = (A.indptr, A.indices, A.values, indptr, indices, NO_IDS[0] if iso else values)
        device.over_rows(kernel, indptr, nvals + A.nrows, args)
    return indptr, indices, values, iso
