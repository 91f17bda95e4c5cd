"""Vectors in parts: each is a `VectorBlock` of the vertices that one device owns."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange._parts import Parts
from spgraph.exchange.near import cut, is_near, join
from spgraph.exchange.route import route
from spgraph.kernels.device import HOST, Device
from spgraph.partition.layout import Layout

__all__ = ["VectorParts", "dealt_vector", "piece_coo", "vector_storage"]


def vector_storage(size: int, dtype: Any, device: Any) -> Any:
    """An empty vector on a device: a block, or parts if it is a group of devices."""
    return VectorBlock(size, dtype, device=device) if device.group is None else VectorParts(size, dtype, device)


SPARSE = 16  # a vector with less than size / this entries is sorted rather than spread out


class VectorParts(Parts):
    """A vector in parts.

    Parameters
    ----------
    size : int
    dtype : dtype
    group : Group
    layout : Layout, optional
        Default: the group's usual one. An empty vector fits any layout.

    Attributes
    ----------
    pieces : list of VectorBlock
        For each part of this process, over its local numbers.
    whole : VectorBlock
        Only where `exchange.near` says so: over positions. Whichever was asked for last is the content.
    """

    __slots__ = ("_pieces", "_whole", "device", "dtype", "layout", "size")
    format = "parts"
    iso = False

    def __init__(self, size: int, dtype: Any, group: Any, layout: Layout | None = None):
        self.device = group
        self.size = size
        self.dtype = np.dtype(dtype)
        self.layout = group.usual_layout(size) if layout is None else layout
        self.clear()

    @property
    def partition(self) -> Layout:
        """The layout, under the name that a block has for it."""
        return self.layout

    @property
    def pieces(self) -> list[VectorBlock]:  # type: ignore[override]
        if self._pieces is None:
            self.pieces = cut(self.whole, self.layout)
        return self._pieces

    @pieces.setter
    def pieces(self, pieces: list[VectorBlock]) -> None:
        self._pieces: Any = pieces
        self._whole: Any = None

    @property
    def whole(self) -> VectorBlock:
        if self._whole is None:
            self.take_whole(join(self._pieces, self.layout, self.dtype), self.layout)
        whole, partition = self._whole, self.layout.whole(HOST)
        return whole if whole.partition is partition else whole.rehome(partition)

    def take_whole(self, whole: VectorBlock, layout: Layout) -> None:
        """Take over a block over positions of a layout as the whole content."""
        self.size, self.dtype, self.layout = whole.size, whole.dtype, layout
        self._pieces, self._whole = None, whole

    @property
    def nvals(self) -> int:
        """Number of entries in all parts."""
        return super().nvals if self._whole is None else self._whole.nvals

    @property
    def listed(self) -> bool:
        """Whether all entries are stored in lists."""
        if self._whole is not None:
            return self._whole.format == "sparse"
        return all(self.device.transport.gather([piece.listed or not piece.nvals for piece in self.pieces]))

    @property
    def counts(self) -> tuple[int, int]:
        """Entries in all parts, and those of them that are not listed."""
        if self._whole is not None:
            return self._whole.counts
        entries, unlisted = zip(*self.device.transport.gather([piece.counts for piece in self.pieces]))
        return sum(entries), sum(unlisted)

    def clear(self) -> None:
        """Remove all entries."""
        if self.device.near:
            self.take_whole(VectorBlock(self.size, self.dtype, self.layout.whole(HOST), HOST), self.layout)
        else:
            self.pieces = self.empty_pieces(self.dtype)

    def empty_pieces(self, dtype: Any) -> list[VectorBlock]:
        """An empty block for each part of this process, as the vector lies."""
        group, layout = self.device, self.layout
        return [
            VectorBlock(layout.count(part), dtype, partition, device)
            for part, device, partition in zip(group.mine, group.own, layout.pieces)
        ]

    def stay(self) -> None:
        """After one-device operations on the pieces, which give a piece that was empty their operand's order."""
        for piece, partition in zip(self.pieces, self.layout.pieces):
            piece.partition = partition

    def become(self, size: int, dtype: Any) -> None:
        """Become an empty vector of that size and dtype."""
        self.__init__(size, dtype, self.device, self.layout if size == self.size else None)  # type: ignore[misc]

    def assume(self, other: VectorParts) -> None:
        """Become what `other` is; arrays are shared, not copied."""
        for name in VectorParts.__slots__:
            setattr(self, name, getattr(other, name))

    def copy(self) -> VectorParts:
        """A deep copy."""
        new = VectorParts.__new__(VectorParts)
        new.assume(self)
        if self._whole is not None:
            new.take_whole(self._whole.copy(), self.layout)
        else:
            new.pieces = [piece.copy() for _, piece in self.on_each()]
        return new

    def set_full(self, values: Any, *, iso: bool = False) -> None:
        """Take the values of every entry from an array of the host; one value if `iso`."""
        group, layout = self.device, self.layout
        self.clear()
        if is_near(group):
            if self.size:
                self.whole.set_full(values.copy() if iso or layout.order is None else values[layout.order], iso=iso)
            return
        for part, (device, piece) in zip(group.mine, self.on_each()):
            if not piece.size:
                continue
            if iso:
                piece.set_full(values.copy(), iso=True)
                continue
            first, last = layout.starts[part : part + 2].tolist()
            own = values[first:last] if layout.order is None else values[layout.order[first:last]]
            piece.set_full(device.to_device(np.array(own)))

    def set_entries(self, ids: Any, values: Any) -> None:
        """Take global ids, each once, and their values (one of them if all are equal) from arrays of the host."""
        self.clear()
        iso = values.size == 1 and ids.size != 1
        if is_near(self.device):
            positions = self.layout.positions(ids)
            order = np.argsort(positions, kind="stable")
            kept = values.copy() if iso else values[order]
            self.whole.set_sparse(positions[order].astype(index_dtype(self.size)), kept, iso=kept.size == 1)
            if self.nvals == self.size and self.size:
                self.whole.to_bitmap()
            return
        for (own, local), (device, piece) in zip(self.layout.split(ids), self.on_each()):
            if not own.size:
                continue
            order = np.argsort(local, kind="stable")
            one = iso or own.size == 1
            kept = values[own[:1]] if not iso and one else values if iso else values[own[order]]
            kept = kept.copy() if one else device.to_device(kept)
            if own.size == piece.size:
                piece.set_full(kept, iso=one)
            else:
                piece.set_sparse(device.to_device(local[order].astype(index_dtype(piece.size))), kept, iso=one)

    def coo(self) -> tuple[np.ndarray, np.ndarray]:
        """Global ids (int64, ascending) and values of all parts, in arrays of the host."""
        if self._whole is not None:
            return self.whole.coo()
        there = []
        for part, (device, piece) in zip(self.device.mine, self.on_each()):
            if piece.format == "full" and not piece.iso:  # the layout says whose they are
                first, last = self.layout.starts[part : part + 2].tolist()
                there.append((device, self.layout.ids(np.arange(first, last)), piece.values))
            else:
                there.append((device, *piece_coo(piece)))
        begun = []
        for device, *arrays in there:
            with device:
                begun.append([device.begin_copy(array) for array in arrays])
        for device, *_ in there:
            with device:
                device.synchronize()
        gather = self.device.transport.gather
        ids, values = (np.concatenate(gather(list(arrays))) for arrays in zip(*begun))
        return _ascending(ids, values, self.size)

    def rehome(self, layout: Layout) -> VectorParts:
        """Give every entry to its owner under another layout; returns self."""
        if layout is self.layout:
            return self
        if is_near(self.device):
            self.take_whole(self.whole.rehome(layout.whole(HOST)), layout)
            return self
        if self._moves_freely(layout):
            return self
        keyed = []
        for device, piece in self.on_each():
            ids, values = piece_coo(piece)
            keyed.append((layout.whole(device).locals_of(ids), values))
        new = VectorParts(self.size, self.dtype, self.device, layout)
        for (device, piece), (local, values) in zip(new.on_each(), route(layout, keyed)):
            order = device.xp.argsort(local)
            piece.set_sparse(local[order].astype(index_dtype(piece.size)), values[order])
            if piece.nvals == piece.size and piece.size:
                piece.to_bitmap()
        self.assume(new)  # now that all memory was there
        return self

    def _moves_freely(self, layout: Layout) -> bool:
        """Empty, or one value everywhere: nothing has to be sent."""
        facts = [
            (piece.nvals, piece.size, piece.values.tobytes() if piece.iso and piece.format == "full" else b"")
            for piece in self.pieces
        ]
        facts = self.device.transport.gather(facts)
        filled = {value for _, size, value in facts if size}
        whole = len(filled) == 1 and b"" not in filled
        if not whole and any(count for count, _, _ in facts):
            return False
        new = VectorParts(self.size, self.dtype, self.device, layout)
        if whole:
            new.set_full(np.frombuffer(filled.pop(), self.dtype), iso=True)
        self.assume(new)
        return True

    def resize(self, size: int) -> None:
        """Change the size; entries beyond it are dropped."""
        ids, values = self.coo()
        kept = np.searchsorted(ids, size)
        new = VectorParts(size, self.dtype, self.device, self.layout if size == self.size else None)
        new.set_entries(ids[:kept], values[:kept])
        self.assume(new)

    def to_device(self, device: Device) -> Any:
        """The same content on another device; itself if it is there."""
        if device is self.device:
            return self
        new = vector_storage(self.size, self.dtype, device)
        ids, values = self.coo()
        if device.group is not None:
            new.set_entries(ids, values)
        elif ids.size:
            new.set_sparse(device.to_device(ids.astype(index_dtype(self.size))), device.to_device(values))
            if new.nvals == new.size:
                new.to_bitmap()
        return new


def _ascending(ids: np.ndarray, values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids, each once, in ascending order, and their values."""
    if (ids[1:] > ids[:-1]).all():
        return ids, values
    if ids.size < size // SPARSE:
        order = np.argsort(ids)
        return ids[order], values[order]
    there, found = np.zeros(size, np.bool_), np.empty(size, values.dtype)
    there[ids], found[ids] = True, values
    return (np.arange(size), found) if ids.size == size else (np.flatnonzero(there), found[there])


def dealt_vector(block: VectorBlock, group: Any) -> VectorParts:
    """A vector of one device in parts."""
    new = VectorParts(block.size, block.dtype, group)
    ids, values = map(block.device.to_host, block.coo())
    if block.nvals == block.size and block.size:
        new.set_full(block.values if block.iso else values, iso=block.iso)
    else:
        new.set_entries(ids, values)
    return new


def piece_coo(block: VectorBlock) -> tuple[Any, Any]:
    """Global ids and values of a part's entries, in any order; arrays of its device."""
    device = block.device
    xp = device.xp
    if block.format == "sparse":
        local, values = block.indices, block.values
    elif block.format == "full":
        local, values = xp.arange(block.size, dtype=np.int64), block.values
    else:
        local = xp.flatnonzero(block.present)
        values = block.values if block.iso else block.values[local]
    if block.iso:
        values = device.filled(local.size, block.values[0], block.dtype)
    return block.partition.globals_of(local.astype(np.int64, copy=False)), values
