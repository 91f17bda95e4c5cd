"""Lists that a GPU pushes from: the running sum of row lengths along them, and the lists that a push makes.

Data encoding: a block's ``queue`` is (indptr, prefix, edges): of the matrix whose rows its entries select, the running
sum of their lengths along the block's list, and the sum of all. Of a bitmap only the latter is known; prefix is None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.mask import EMPTY_BITS
from spgraph.engine.operators import store
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES, unpacked

__all__ = ["NO_PREFIX", "Found", "accumulator", "blocks_for", "copies_const", "counts_edges", "follows",
           "marks", "pad", "queue", "unpacked"]

WARP = 32
NO_THUNK = np.int8(0)
NO_PREFIX = np.empty(0, np.int64)
LAST_EPOCH = 255
MOST_KEPT, KEPT_BYTES = 16, 1 << 28  # arrays of a device that pushes find as they left them, of each kind


def blocks_for(edges: int, device: Any) -> int:
    """Blocks of eight warps: 32 edges to a warp, as long as there are not more blocks than run at once."""
    return max(1, min(-(-edges // (8 * WARP)), 4 * device.multiprocessors))


def copies_const(A: MatrixBlock) -> dict:
    """The constant that kernels take for copies of a matrix, see `engine.lanes`."""
    return {"COPIES": str(A.width)} if A.width > 1 else {}


def follows(A: MatrixBlock) -> bool:
    """Whether a result is likely to be pushed through the same matrix."""
    return A.nrows == A.ncols and A.rows is A.cols


def counts_edges(A: MatrixBlock) -> bool:
    """Whether what a pull by A's rows finds will likely be pushed through them, and a packed result holds its edges."""
    return A.symmetric is True and follows(A) and A.nrows <= COUNT_MASK and A.nvals < MOST_EDGES


def queue(u: VectorBlock, A: MatrixBlock, limit: float) -> tuple[Any, int] | None:
    """The running sum of row lengths along u, which becomes a list in any order, and the sum of all.

    None if that is above `limit`, or more than a packed result holds. Then a bitmap stays one.
    """
    if u.nvals > COUNT_MASK or A.nvals >= MOST_EDGES:
        return None
    prefix: Any = None
    edges: Any = None
    if u.queue is not None and u.queue[0] is A.indptr:
        _, prefix, edges = u.queue
    if prefix is None and (edges is None or edges <= limit):
        prefix, edges = _made(u, A, limit, edges)
    return None if edges > limit or min(edges, A.ncols) > COUNT_MASK else (prefix, edges)


def _made(u: VectorBlock, A: MatrixBlock, limit: float, edges: int | None) -> tuple[Any, int]:
    if u.format == "full":
        u.to_sparse()
    device, xp, count, iso, listed = u.device, u.device.xp, u.nvals, u.iso, u.format == "sparse"
    key = "push queue", iso, listed, A.width
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel("queue.make" if listed else "queue.list",
                                                      {"VALUES": not iso, **copies_const(A)}, {})
    indices, prefix = xp.empty(count, index_dtype(u.size)), xp.empty(count, np.int64)
    values = EMPTY_BITS if iso else xp.empty(count, u.dtype)
    entries = u.indices if listed else u.present
    args = (A.indptr, entries, u.values, indices, values, prefix)
    later = kernel(count if listed else u.size, (*args, NO_THUNK) if listed else args)
    if edges is None:
        edges = unpacked(later.get()[0])[1]
    if listed or edges <= limit:
        u.set_sparse(indices, u.values if iso else values, iso=iso, sorted=count < 2)
        u.queue = A.indptr, prefix, edges
    return prefix, edges


def room(A: MatrixBlock, size: int, edges: int) -> int:
    """For how many entries a list gets room that a push through so many edges of A makes; see `bench._memory`."""
    return min(edges, size)


class Found:
    """The list that a push makes, with room for all that may come; how long it is, `later` will say."""

    __slots__ = ("device", "indices", "indptr", "later", "partition", "prefix", "single", "values", "written")

    def __init__(self, A: MatrixBlock, size: int, edges: int, dtype, single, partition):
        empty, count = A.device.xp.empty, room(A, size, edges)
        self.device = A.device
        self.indptr = A.indptr  # as it is now: the matrix may have another one when the length is known
        self.indices = empty(count, index_dtype(size))
        self.single = single
        self.values = empty(count, dtype) if single is None else single
        self.written = EMPTY_BITS if single is not None else self.values  # by the kernel
        self.prefix = empty(count, np.int64) if follows(A) else NO_PREFIX
        self.partition = partition
        self.later: Any = None

    def fetch(self, source, monoid, *, reset: bool) -> None:
        """Values come from their places in `source`, which get the identity back if it is to be `reset`."""
        device = self.device
        key = "queue fetch", source.dtype, self.values.dtype, reset, monoid.key
        kernel = device.kernels.get(key)
        if kernel is None:
            kernel = device.kernels[key] = device.kernel(
                "queue.fetch", {"RESET": reset, "IDENTITY": monoid.start},
                {"STORE": store(source.dtype, self.values.dtype)})
        kernel(self.indices.size, (self.later.places()[0], self.indices, source, self.values))

    def settle(self, block: VectorBlock) -> None:
        """The list becomes the content of a block; waits for its length."""
        result = self.later.get()[0]
        count, edges = unpacked(result[0] if type(result) is tuple else result)
        if self.single is not None:
            block.set_sparse(self.indices[:count], self.single, iso=True, sorted=count < 2, partition=self.partition)
        else:
            block.set_sparse(self.indices[:count], self.values[:count], sorted=count < 2, partition=self.partition)
        if self.prefix.size:
            block.queue = self.indptr, self.prefix, edges  # more than `count` of it means nothing


def marks(device: Any, size: int) -> tuple[Any, int]:
    """A byte per position and the number that marks those that this push has found; only every 255th clears."""
    kept = device.kept.setdefault("marks", {})
    found, epoch = kept.pop(size, (None, 0))
    if found is None:
        found = device.xp.zeros(-(-size // 4) * 4, np.uint8)  # whole words, see set_mark
    elif epoch == LAST_EPOCH:
        device.clear(found)
        epoch = 0
    _keep(kept, size, (found, epoch + 1))
    return found, epoch + 1


def accumulator(device: Any, size: int, monoid, dtype) -> Any:
    """A value per position, all the identity; pushes leave it so."""
    kept = device.kept.setdefault("accumulators", {})
    key = size, monoid.start.tobytes(), dtype
    values = kept.pop(key, None)
    if values is None:
        values = device.filled(size, monoid.start, dtype)
    _keep(kept, key, values)
    return values


def _keep(kept: dict, key: Any, found: Any) -> None:
    """Put it last; what has not been used for longest goes, until all are few and small, but for the last."""
    kept[key] = found
    nbytes = sum(_nbytes(one) for one in kept.values())
    while len(kept) > 1 and (len(kept) > MOST_KEPT or nbytes > KEPT_BYTES):
        nbytes -= _nbytes(kept.pop(next(iter(kept))))


def _nbytes(found: Any) -> int:
    return (found[0] if type(found) is tuple else found).nbytes


def pad(out: VectorBlock, identity) -> None:
    """Absent positions of a bitmap get the identity."""
    if out.padding is not None and out.padding.tobytes() == identity.tobytes():
        return
    device = out.device
    key = "push pad", out.dtype, identity.tobytes()
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel("queue.pad", {"IDENTITY": identity}, {})
    kernel(out.size, (out.present, out.values))
    out.padding = identity
