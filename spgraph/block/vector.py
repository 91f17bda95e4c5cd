"""One device's piece of a vector.

Data encoding (local numbers, see `spgraph.partition`):

=========  ==========================================================
format     arrays
=========  ==========================================================
sparse     ``indices`` (nvals,), ``values`` (nvals,); ascending if ``sorted``
bitmap     ``present`` (size,) uint8, ``values`` (size,)
full       ``values`` (size,); every entry is present
=========  ==========================================================

A list or bitmap may carry a ``queue``: what a product by one matrix has noted about it, see
`spgraph.engine.queues_cuda`.

When ``iso`` is True all entries are equal and ``values`` has length 1: a NumPy
array on every device, so that to look at it costs no transfer. All other arrays
lie on ``device``. ``values`` at absent positions of a bitmap are arbitrary,
unless ``padding`` says what they all hold. ``downward`` says of a vector on a GPU
that each value is a position in 0..i, ``nonnegative`` that no value is below 0: both
known since it was made so.

How many entries a GPU's kernel has found is known later than it is launched. A
block whose content is *pending* leaves out what depends on that number; whoever
asks for it waits. Masks and further kernels often need not ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semirings import expr as ex
from spgraph.block.width import index_dtype
from spgraph.kernels.device import HOST, Device
from spgraph.partition import NATURAL, Partition

__all__ = ["UNMASKED", "VectorBlock"]

NOTHING = np.empty(0, np.uint8)
ONE = np.ones(1, np.uint8)
UNMASKED = {"MASKED": False, "COMPLEMENT": False, "VALUED": False, "M_FULL": False}
CONTENT = ("format", "indices", "iso", "nvals", "present", "sorted", "values")
ATTRIBUTES = (*CONTENT, "device", "downward", "dtype", "nonnegative", "padding", "partition", "queue", "size")


class VectorBlock:
    """Storage of a vector on one device; see the module docstring for the encoding."""

    __slots__ = ("_awaited", "device", "downward", "dtype", "format", "indices", "iso", "nonnegative", "nvals",
                 "padding", "partition", "present", "queue", "size", "sorted", "values")

    def __init__(self, size: int, dtype, partition: Partition = NATURAL, device: Device = HOST):
        self.device = device
        self.size = size
        self.dtype = np.dtype(dtype)
        self.partition = partition
        self.indices: Any = device.nothing(index_dtype(size))  # as `clear` has it, which takes longer
        self.values: Any = device.nothing(self.dtype)
        self.present: Any = None
        self.format, self.nvals, self.iso, self.sorted = "sparse", 0, False, True
        self.padding: Any = None
        self.queue: Any = None
        self.downward: Any = False
        self.nonnegative: Any = False

    def clear(self) -> None:
        """Remove all entries (cost O(1)). An empty block fits any partition."""
        nothing = self.device.nothing
        self.set_sparse(nothing(index_dtype(self.size)), nothing(self.dtype))

    # ---- setting the content -------------------------------------------------
    def set_sparse(self, indices, values, *, iso=False, sorted=True, partition=None):
        """Take over local `indices` and `values` as the whole content."""
        count = indices.size
        if not count:
            values = self.device.nothing(values.dtype)
        self.format = "sparse"
        self.indices = indices
        self.values = values
        self.present = None
        self.iso = iso and count > 0
        self.nvals = count
        self.sorted = sorted
        self.padding = None
        self.queue = None
        self.downward = self.nonnegative = False
        if partition is not None:
            self.partition = partition

    def set_bitmap(self, present, values, nvals, *, iso=False, padding=None, partition=None):
        """Take over a bitmap (uint8) and values as the whole content.

        `padding` is the NumPy scalar that all absent positions of `values` hold, or None.
        """
        self.indices = None
        self.values = values
        self.iso = iso
        self.nvals = nvals
        self.sorted = True
        full = nvals == self.size
        self.format = "full" if full else "bitmap"
        self.present = None if full else present
        self.padding = padding
        self.queue = None
        self.downward = self.nonnegative = False
        if partition is not None:
            self.partition = partition

    def set_full(self, values, *, iso=False, partition=None):
        """Take over values of every entry."""
        self.set_bitmap(None, values, self.size, iso=iso, partition=partition)

    def become(self, size: int, dtype) -> None:
        """Become an empty vector of that size and dtype."""
        self.size = size
        self.dtype = np.dtype(dtype)
        self.clear()

    def assume(self, other: VectorBlock) -> None:
        """Become what `other` is (size, dtype, content); arrays are shared, not copied. Waits for a pending content."""
        for name in ATTRIBUTES:
            setattr(self, name, getattr(other, name))

    def copy(self) -> VectorBlock:
        """A deep copy."""
        new = VectorBlock.__new__(VectorBlock)
        new.assume(self)
        for name in ("indices", "values", "present"):
            array = getattr(self, name)
            if array is not None:
                setattr(new, name, self.device.copy(array) if array.size else array)
        return new

    def to_device(self, device: Device) -> VectorBlock:
        """The same content on another device; itself if it is there."""
        if device is self.device:
            return self
        if device.group is not None:
            with self.device:
                return device.group.dealt_vector(self)
        new = VectorBlock.__new__(VectorBlock)
        new.assume(self)
        new.device = device
        new.partition = self.partition.on(device)
        new.queue = None
        new.downward = new.nonnegative = False  # there nobody keeps them true
        for name in ("indices", "present") if self.iso else ("indices", "present", "values"):
            array = getattr(self, name)
            if array is not None:
                setattr(new, name, device.to_device(self.device.to_host(array)))
        if self.iso:
            new.values = self.values.copy()
        return new

    @property
    def listed(self) -> bool:
        """Whether it is stored as a list."""
        return self.format == "sparse"

    @property
    def counts(self) -> tuple[int, int]:
        """Entries, and those of them that are not listed."""
        return self.nvals, 0 if self.listed else self.nvals

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in (self.indices, self.values, self.present) if array is not None)

    # ---- content that is still being counted (on a GPU) ---------------------------
    def set_pending(self, resolve: Callable[[VectorBlock], None], *, partition=None) -> None:
        """Any content, unknown before a kernel has ended; only its partition is known.

        ``resolve(block)`` waits for it and sets it (`set_sparse`, `set_bitmap`); it is called when the
        first of format, nvals and arrays is asked for. It must not hold the block itself:
        what is dropped unread then frees its memory at once.
        """
        if partition is not None:
            self.partition = partition
        self.padding = self.queue = None
        self.downward = self.nonnegative = False
        self._leave_out(CONTENT, (resolve, -1, -1))

    def set_bitmap_later(self, present, values, count: Callable[[], int], *, least: int = 0, most: int | None = None,
                         iso=False, padding=None, partition=None, queue: Callable[[], tuple] | None = None) -> None:
        """The same as `set_bitmap` where ``count()`` waits for the number of entries, which comes with ``queue()``.

        Only nvals is left out, so the format stays "bitmap" even if the bitmap turns out to be full.
        `least` and `most` entries are certain.
        """
        def resolve(block):
            block.nvals = count()
            if queue is not None:
                block.queue = queue()
            block.settle()

        self.set_bitmap(present, values, None, iso=iso, padding=padding, partition=partition)
        self._leave_out(("nvals",), (resolve, least, self.size if most is None else most))

    def _leave_out(self, names: tuple[str, ...], awaited: tuple) -> None:
        for name in names:
            setattr(self, name, None)
            delattr(self, name)
        self._awaited = awaited
        self.__class__ = _PendingBlock

    def bounds(self) -> tuple[int, int]:
        """How many entries there are at least and at most: the same number, unless a bitmap's is still to come."""
        return self.nvals, self.nvals

    # ---- changing the format -------------------------------------------------
    def to_sparse(self) -> VectorBlock:
        """Store as sparse; returns self. Ascending on the CPU; a GPU lists a bitmap's entries in any order."""
        if self.format == "full":
            self.indices = self.device.xp.arange(self.size, dtype=index_dtype(self.size))
            self.format = "sparse"
        elif self.format == "bitmap":
            if self.device.on_host:
                indices = np.flatnonzero(self.present.view(np.bool_)).astype(index_dtype(self.size))
                values = self.values if self.iso else self.values[indices]
            else:
                indices, values = self._listed()
            self.set_sparse(indices, values, iso=self.iso, sorted=self.device.on_host)
        return self

    def _listed(self) -> tuple:
        """Positions and values of a bitmap's entries, in one launch that is not waited for."""
        device = self.device
        indices = device.xp.empty(self.nvals, index_dtype(self.size))
        values = self.values if self.iso else device.xp.empty(self.nvals, self.dtype)
        key = ("scatter.select_bitmap", "all", self.dtype, self.iso)
        kernel = device.kernels.get(key)
        if kernel is None:
            consts = {**UNMASKED, "T_FULL": False, "T_ISO": self.iso, "ISO_OUT": self.iso, "GLOBAL": False}
            ops = {"KEEP": (ex.Const(np.True_, np.bool_), ("x", "i", "thunk")), "STORE": _same(self.dtype)}
            kernel = device.kernels[key] = device.kernel("scatter.select_bitmap", consts, ops)
        if self.nvals:
            device.over_later(kernel, self.size, self.size, (
                self.present, self.values, np.int64(0), NOTHING, NOTHING, NOTHING, indices,
                NOTHING if self.iso else values))
        return indices, values

    def sort(self) -> VectorBlock:
        """Bring a sparse block's indices into ascending order; returns self."""
        if not self.sorted:
            xp = self.device.xp
            if self.iso:
                self.indices = xp.sort(self.indices)
            else:
                order = xp.argsort(self.indices, kind="stable")
                self.indices, self.values = self.indices[order], self.values[order]
            self.sorted = True
            self.queue = None
        return self

    def to_bitmap(self, *, expand: bool = False) -> VectorBlock:
        """Store so that any position can be looked up: bitmap, or full if it is; returns self.

        With `expand` a list that becomes a bitmap is not iso any more.
        """
        if self.format == "sparse":
            if self.nvals == self.size and (self.sorted or self.iso):
                self.set_full(self.values, iso=self.iso)
                return self
            xp, iso = self.device.xp, self.iso and not expand
            present = NOTHING if self.nvals == self.size else xp.zeros(self.size, np.uint8)
            values = self.values if iso else xp.empty(self.size, self.dtype)
            if not self.device.on_host:
                self._scatter(present, values, iso)
            else:
                if present.size:
                    present[self.indices] = 1
                if not iso:
                    values[self.indices] = self.values
            self.set_bitmap(present, values, self.nvals, iso=iso)
        return self

    def presence(self) -> Any:
        """Whether there is an entry, one byte per position, of a list that stays one; it has gaps."""
        marks = VectorBlock(self.size, np.bool_, self.partition, self.device)
        marks.set_sparse(self.indices, np.ones(1, np.bool_), iso=True, sorted=self.sorted)
        return marks.to_bitmap().present

    def _scatter(self, present, values, iso: bool) -> None:
        """The list's entries into a bitmap and values (unless these stay `iso`), in one launch."""
        device = self.device
        source, full = self.values, present is NOTHING
        if iso:
            source, values, full = ONE, present, True  # only the bits, as values that are all 1
        key = ("scatter.scatter", "all", values.dtype, self.iso, full)
        kernel = device.kernels.get(key)
        if kernel is None:
            consts = {**UNMASKED, "T_ISO": self.iso, "ACCUM": False, "C_FULL": full}
            kernel = device.kernels[key] = device.kernel("scatter.scatter", consts, {"STORE": _same(values.dtype)})
        if self.nvals:
            device.over_later(kernel, self.nvals, self.nvals, (
                self.indices, source, NOTHING, NOTHING, NOTHING if full else present, values))

    def writable_bitmap(self, *, full: bool = False) -> VectorBlock:
        """Bitmap with own, non-iso values, to be updated in place; `full` may stay full. Returns self."""
        self.to_bitmap(expand=True)
        self.downward = self.nonnegative = False
        if self.iso:
            self.expand()
        if self.format == "full" and not full:
            self.present = self.device.xp.ones(self.size, np.uint8)
            self.format = "bitmap"
        return self

    def expand(self) -> VectorBlock:
        """Undo iso: one stored value per entry (per position for a bitmap); returns self."""
        if self.iso:
            count = self.nvals if self.format == "sparse" else self.size
            self.values = self.device.filled(count, self.values[0], self.dtype)
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
                self.queue = None
            else:
                # where does local number i of the new partition lie in the old one?
                source = old.to_local if partition.natural else old.locals_of(partition.to_global)
                present = None if self.present is None else self.present[source]
                self.values = self.values if self.iso else self.values[source]
                self.present = present
                self.queue = None
        self.partition = partition
        return self

    def coo(self) -> tuple[Any, Any]:
        """Global ids (int64, ascending) and values; fresh or safe-to-share arrays of the device."""
        if not self.partition.natural:
            return self.copy().rehome(NATURAL).coo()
        xp = self.device.xp
        if self.format == "sparse":
            self.sort()
            indices = self.indices.astype(np.int64)
        elif self.format == "full":
            indices = xp.arange(self.size, dtype=np.int64)
        else:
            indices = xp.flatnonzero(self.present.view(np.bool_))
        if self.iso:
            return indices, self.device.filled(indices.size, self.values[0], self.dtype)
        return indices, (self.values.copy() if self.format != "bitmap" else self.values[indices])

    def resize(self, size: int) -> None:
        """Change the size; entries beyond it are dropped."""
        self.rehome(NATURAL)
        self.to_sparse().sort()
        keep = int(self.device.xp.count_nonzero(self.indices < size)) if size < self.size else self.nvals
        values = self.values if self.iso else self.values[:keep].copy()
        indices = self.indices[:keep].astype(index_dtype(size))
        self.size = size
        self.set_sparse(indices, values, iso=self.iso)


class _PendingBlock(VectorBlock):
    """What a block is while some of its slots are not set; `_awaited` has `resolve`, and `bounds` or -1.

    It is a class of its own because `__getattr__` slows every access to an attribute, also to one that is set
    (on the CPU by 40 ns, 2 us per expression).
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        # called only for a slot that is not set
        if name not in CONTENT:
            raise AttributeError(f"VectorBlock has no {name!r}")
        device: Any = self.device
        with device.lock:  # another thread may be at it
            if type(self) is _PendingBlock:
                self._awaited[0](self)
        return getattr(self, name)

    def __reduce_ex__(self, protocol):
        return self.copy().__reduce_ex__(protocol)

    def settle(self) -> VectorBlock:
        """All slots are set."""
        self.__class__ = VectorBlock  # type: ignore[assignment]
        del self._awaited
        return self

    def set_sparse(self, *args, **more):
        VectorBlock.set_sparse(self, *args, **more)
        if type(self) is _PendingBlock:  # computing the arguments may have settled it
            self.settle()

    def set_bitmap(self, *args, **more):
        VectorBlock.set_bitmap(self, *args, **more)
        if type(self) is _PendingBlock:
            self.settle()

    def assume(self, other: VectorBlock) -> None:
        self.settle().assume(other)

    def bounds(self) -> tuple[int, int]:
        _, least, most = getattr(self, "_awaited", (None, -1, -1))
        return (least, most) if most >= 0 else (self.nvals, self.nvals)


def _same(dtype) -> tuple:
    """STORE(t) that changes nothing."""
    return ex.Input("t", dtype), ("t",)
