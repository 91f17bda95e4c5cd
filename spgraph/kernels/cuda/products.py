"""Matrix products on a GPU: launch of the kernels of spgemm.cuh, counted.cuh and gustavson.cuh.

Within a mask: one kernel leaves a flag and a value per entry of the mask, a running sum and a second kernel pack them.
Peak, besides the operands and the result: 9 bytes and a value per entry of the mask; where products are only counted
and rows of B^T are bitmaps, too, at most 4 DENSE bytes per entry of B and 8 per row.

Without one: rows in bins, one kernel per bin to count, one to fill; rows too large for shared memory in batches, whose
bitmaps and accumulators take WIDE_BYTES together, or what one row needs. Peak: 24 bytes per row and those.
It waits for the number of rows in each bin (twice) and for the number of entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.kernels.cpu._pieces import NOTHING, narrow
from spgraph.kernels.cpu.products import MatrixProduct
from spgraph.kernels.cuda.produce import room, running_sum

__all__ = ["multiply"]

WARP, BLOCK = 32, 256
WARPS_PER_MULTIPROCESSOR = 64
GIANT = 2048  # steps from which on a pair of lists has a block of its own
MOST_GIANTS = 1 << 18  # pairs that are listed for that; further ones stay with their warp
MOST_STEPS, COUNT_STEPS = 4, 16  # of a warp, 32 entries each, before it takes another share; if it only counts
COUNT_SLOTS, FILL_SLOTS = 16, 8  # of a hash table per thread; a table is filled by half
SMALL_WORK, MEDIUM_WORK = 4096, 1 << 18  # products that a warp, a block computes at most
WIDE_BYTES = 1 << 29  # of bitmaps and accumulators
LINE = 32  # words of a cache line, of which a bitmap has whole ones
MOST_PARTS = 64  # blocks that share a row
DENSE = 4  # words per entry that a row's bitmap may have
OFTEN = 4  # times that an entry of B^T is looked at, from which on bitmaps of its rows pay
BITMAPS = {"DENSE": DENSE}
PATTERN = {"VALUES": False, "A_ISO": True, "B_ISO": True, "ANY": False, "MAPPED": False, "IDENTITY": 0}
NO_VALUE = np.zeros(1, np.int8)


def multiply(device: Any, product: MatrixProduct) -> tuple:
    """(indptr, indices, values) of a product; values is None if only the pattern is wanted."""
    if product.method == "gustavson":
        return _Rows(device, product).multiply()
    found, values = _at_mask(device, product, product.method == "dot_masked")
    return _packed(device, product, found, values)


def _shared_kernel(device: Any, name: str, key: tuple, consts: dict, ops: dict) -> Any:
    """A kernel that products by different semirings have in common."""
    kernel = device.kernels.get((name, key))
    if kernel is None:
        kernel = device.kernels[name, key] = device.kernel(name, consts, ops)
    return kernel


# ---- within a mask ---------------------------------------------------------------------
def _at_mask(device: Any, product: MatrixProduct, dots: bool) -> tuple:
    """For each entry of the mask: whether there is a product, and the sum of its products."""
    xp, size = device.xp, product.mask[1].size
    through = product.mask if dots else product.A  # whose entries are shared among the warps
    found = xp.empty(size, np.uint8) if dots else xp.zeros(size, np.uint8)
    values = NOTHING
    if product.value_dtype is not None:
        values = xp.empty(size, product.dtype) if dots else device.filled(size, product.identity, product.dtype)
    items = through[1].size + product.nrows + 1
    counted = dots and product.counted and _worth_bitmaps(product)
    steps = items // (WARP * WARPS_PER_MULTIPROCESSOR * device.multiprocessors)
    shares = -(-items // (WARP * max(1, min(steps, COUNT_STEPS if counted else MOST_STEPS))))
    most = min(through[1].size, MOST_GIANTS)
    giants, waiting = xp.empty(most, np.int64), xp.zeros(1, np.uint64)
    results = (product.nrows, found, values, giants, waiting, most)
    operands = (*product.A, *product.B, *product.mask)
    args = (*operands, *product.ids, *results)
    name = "spgemm.mask_dots" if dots else "spgemm.mask_sums"
    if counted:
        both = product.A[0] is product.B[0] and product.A[1] is product.B[1]
        kernel = product.kernel("counted.mask_counts", GIANT=GIANT, BOTH=both, DENSE=DENSE)
        kernel(shares, (*operands, *_bitmaps(device, product), *results))
    else:
        product.kernel(name, LISTED=False, GIANT=GIANT)(shares, args)
    if (product.inner if dots else product.ncols) >= GIANT:
        product.kernel(name, LISTED=True, GIANT=GIANT)(most, args)
    return found, values


def _worth_bitmaps(product: MatrixProduct) -> bool:
    """Whether rows of B^T are met so often that making bitmaps of them pays, and their columns fit 32 bits."""
    indices = product.A[1], product.B[1]
    return all(one.itemsize == 4 for one in indices) and int(product.costs[-1]) >= OFTEN * indices[1].size


def _bitmaps(device: Any, product: MatrixProduct) -> tuple:
    """Where the words of each row of B^T begin, and the words."""
    xp, (indptr, indices, _), nrows = device.xp, product.B, product.B[0].size - 1
    sizes = xp.empty(nrows, np.int32)
    _shared_kernel(device, "counted.bit_sizes", (), BITMAPS, {})(nrows, (indptr, indices, sizes))
    words, total = running_sum(xp, sizes)
    bits = xp.zeros(max(total, 1), np.uint32)
    if total:
        fill = _shared_kernel(device, "counted.bit_rows", (), BITMAPS, {})
        device.over_rows(fill, indptr, indices.size + nrows, (indptr, indices, words, bits))
    return words, bits


def _packed(device: Any, product: MatrixProduct, found: Any, values: Any) -> tuple:
    """The entries of the mask that were found."""
    xp, (indptr, indices, _) = device.xp, product.mask
    offsets = xp.zeros(found.size + 1, narrow(found.size))
    xp.cumsum(found, dtype=offsets.dtype, out=offsets[1:])
    total = int(offsets[-1])
    same_type = product.value_dtype in (None, product.dtype)
    if total == found.size and same_type:
        return indptr, indices, None if product.value_dtype is None else values
    out_indices, out_values = room(device, "mxm", total, product.index_dtype, product.value_dtype)
    if total:
        key = (product.dtype, product.value_dtype)
        consts = {"VALUES": product.value_dtype is not None}
        kernel = _shared_kernel(device, "spgemm.mask_pack", key, consts, {"STORE": product.store})
        given = NOTHING if out_values is None else out_values
        kernel(found.size, (indices, found, values, offsets, out_indices, given))
    return offsets[indptr], out_indices, out_values


# ---- without a mask, or outside one --------------------------------------------------------
class _Rows:
    """Gustavson's method, rows in bins. The count pass knows no values, and its kernels no semiring."""

    def __init__(self, device: Any, product: MatrixProduct):
        self.device = device
        self.product = product
        self.distinct: Any = NOTHING  # columns of each row, those that the mask forbids included

    def multiply(self) -> tuple:
        device, product = self.device, self.product
        counts = device.xp.zeros(product.nrows, np.int64)
        distinct = device.xp.zeros(product.nrows, np.int64) if product.mask_consts["COMPLEMENT"] else counts
        self._run(False, (NOTHING, distinct, counts, NOTHING, NOTHING))
        self.distinct = distinct
        offsets, total = running_sum(device.xp, counts)
        indices, values = room(device, "mxm", total, product.index_dtype, product.value_dtype)
        if total:
            self._run(True, (offsets, NOTHING, NOTHING, indices, NOTHING if values is None else values))
        return offsets, indices, values

    def _run(self, fill: bool, results: tuple) -> None:
        """One pass over all rows."""
        rows, second, third = self._binned(fill)
        for width, one in ((WARP, rows[:second]), (BLOCK, rows[second:third])):
            if one.size:
                blocks = min(-(-one.size * width // BLOCK), 8 * self.device.multiprocessors)
                args = (*self._operands(fill), *self.product.mask, *self._ids(fill), one, *results)
                self._kernel("row_sums", fill, width)(one.size, args, blocks=blocks)
        if third < rows.size:
            self._run_wide(fill, rows[third:], results)

    def _binned(self, fill: bool) -> tuple:
        """The rows that have products, those for warps first, then for blocks, from which on for the card."""
        device, product = self.device, self.product
        slots = FILL_SLOTS if fill else COUNT_SLOTS
        consts = {"SIZED": fill, "SMALL": slots * WARP // 2, "MEDIUM": slots * BLOCK // 2, "SMALL_WORK": SMALL_WORK,
                  "MEDIUM_WORK": MEDIUM_WORK}
        count, place = (_shared_kernel(device, "spgemm.row_bins", (*consts.values(), placing),
                                       {**consts, "FILL": placing}, {}) for placing in (False, True))
        args = (product.costs, self.distinct, product.ncols)
        ((small, medium, wide),) = count(product.nrows, (*args, 0, 0, NOTHING, NOTHING)).get()
        rows = device.xp.empty(small + medium + wide, narrow(product.nrows))
        if rows.size:
            ends = device.xp.zeros(3, np.uint64)
            place(product.nrows, (*args, small, small + medium, ends, rows))
        return rows, small, small + medium

    def _run_wide(self, fill: bool, rows: Any, results: tuple) -> None:
        """The rows with too many columns for a table in shared memory."""
        device, product = self.device, self.product
        xp, valued = device.xp, fill and product.value_dtype is not None
        words = -(-product.ncols // (32 * LINE)) * LINE
        width = product.ncols if valued else 0
        batch = max(1, min(rows.size, WIDE_BYTES // (4 * words + width * product.dtype.itemsize)))
        bits = xp.zeros(batch * words, np.uint32)
        sums = device.filled(batch * width, product.identity, product.dtype) if valued else NOTHING
        parts = max(1, min(MOST_PARTS, 8 * device.multiprocessors // batch))
        add, read = self._kernel("wide_add", fill, BLOCK), self._kernel("wide_rows", fill, 4 * BLOCK)
        operands, ids = self._operands(fill), self._ids(fill)
        for first in range(0, rows.size, batch):
            count = min(batch, rows.size - first)
            add(count * parts, (*operands, *ids, rows, first, parts, words, width, bits, sums))
            read(count, (*product.mask, rows, first, words, width, bits, sums, *results))

    def _kernel(self, name: str, fill: bool, width: int) -> Any:
        product = self.product
        consts = {"FILL": fill, "WIDTH": width, "SLOTS": FILL_SLOTS if fill else COUNT_SLOTS}
        if fill:
            return product.kernel(f"gustavson.{name}", **consts)
        key = (width, *product.mask_consts.values())
        return _shared_kernel(self.device, f"gustavson.{name}", key, {**PATTERN, **product.mask_consts, **consts}, {})

    def _operands(self, fill: bool) -> tuple:
        A, B = self.product.A, self.product.B
        return (*A, *B) if fill else (*A[:2], NO_VALUE, *B[:2], NO_VALUE)

    def _ids(self, fill: bool) -> tuple:
        return self.product.ids if fill else (NOTHING, NOTHING, NOTHING)
