"""Share by direct stores: a kernel of the owner writes entries into the arrays of the GPUs that look at them.

Method: the copy engines move half of what kernels store between GPUs that see each other, and a store needs no copy to
be packed first. Lists are those of `exchange.lists`. Values of whole lists of vertices go to the places where products
look for them, presence as bits; receivers wait for events of the senders. Values of full vectors are sent in a stream
of their own while the compute stream puts the own ones in place.
Memory: for each thread two rooms for values of all proxies, and their bits, are kept with the border.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.lists import Lists
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["Direct", "in_columns"]

WARP = 32
NOTHING = np.empty(0, np.uint8)
BESIDE = 1 << 21  # bytes of a GPU's message that are worth a stream of its own (6 us, two calls of CUDA's)


class _Own(threading.local):
    """What each thread has of its own, since a product reads its room after `share` has come back."""

    def __init__(self) -> None:
        self.turn = 0  # which of two rooms
        self.values: dict = {}
        self.bits: dict = {}


class Direct:
    """The border's `share` between GPUs of one process.

    Parameters
    ----------
    border : Border
    """

    def __init__(self, border: Any):
        self.border = border
        self.lists = Lists(border)
        self._own = _Own()

    @property
    def _parts(self) -> list[tuple[int, Any]]:
        group = self.border.group
        return [(part, group.devices[part]) for part in group.mine]

    def _others(self, part: int) -> list[int]:
        """The other parts in circular order."""
        parts = self.border.group.parts
        return [(part + distance) % parts for distance in range(1, parts)]

    def _kernel(self, device: Any, name: str, **consts: Any) -> Any:
        key = (name, *consts.values())
        found = device.kernels.get(key)
        if found is None:
            found = device.kernels[key] = device.kernel(name, consts, {})
        return found

    def forget_others(self, dtype: Any) -> None:
        """Give back the rooms for values of other types."""
        if any(kept != dtype for _, kept in self._own.values):
            self._own.values.clear()

    def share(self, u: VectorParts, listed: bool, single: Any) -> list[VectorBlock]:
        """See `Border.share`; what a push needs is a list, however long: see ARCHITECTURE.md."""
        if listed:
            return self.lists.share(u, single)
        try:
            return self._as_bitmaps(u, single)
        except BaseException:
            transport = self.border.group.transport
            transport.order()
            if transport.linked:
                transport.follow_messages()
            raise

    # ---- bitmaps and full vectors ---------------------------------------------------
    @cached_property
    def given(self) -> list[tuple]:
        """For each part: the lists of what it lends to the others, one after the other, and where each begins.

        A list begins with the last column of the receiver before those of this part that is a multiple of 32.
        """
        border = self.border
        found = []
        for a, (part, device) in enumerate(self._parts):
            with device:
                xp, own, others = device.xp, border.layout.count(part), self._others(part)
                sizes = [own if border.lent[a][q] is None else border.lent[a][q].size for q in others]
                firsts = np.cumsum([0, *(_places(border.begins[q][part], size) for q, size in zip(others, sizes))])
                lists = xp.full(int(firsts[-1]), -1, index_dtype(own))
                for q, first, size in zip(others, firsts.tolist(), sizes):
                    local, begin = border.lent[a][q], first + border.begins[q][part] % WARP
                    lists[begin : begin + size] = xp.arange(own) if local is None else local
                found.append((lists, xp.asarray(firsts[:-1])))
        return found

    @cached_property
    def places(self) -> list[tuple]:
        """For each part: the columns' ends by owner, where the owners' bits begin, and how many words these are."""
        border = self.border
        found = []
        for a, (part, device) in enumerate(self._parts):
            order = in_columns(border.begins[a], border.sizes[a], part)
            ends, words, total = [], [], 0
            firsts = dict.fromkeys(order, 0)
            for q in order:
                ends.append(border.begins[a][q] + border.sizes[a][q])
                words.append(-1 if q == part else total)
                firsts[q] = total
                if q != part:
                    total += _places(border.begins[a][q], border.sizes[a][q]) // WARP
            with device:
                xp = device.xp
                found.append((xp.asarray(np.array(ends)), xp.asarray(np.array(words)), total, firsts))
        return found

    def _rooms_for_all(self, dtype: Any) -> tuple[list[Any], list[Any]]:
        """Values of all columns on each part (none if dtype is None), and the addresses where others' values go."""
        key = self._own.turn, dtype
        found = self._own.values.get(key)
        if found is None:
            border = self.border
            arrays: list[Any] = []
            for (_, device), block in zip(self._parts, border.blocks):
                with device:
                    arrays.append(NOTHING if dtype is None else device.xp.empty(block.ncols, dtype))
            tables: list[Any] = []
            for part, device in self._parts:
                at = [0 if dtype is None else
                      device.pointer(arrays[q]) + border.begins[q][part] // WARP * WARP * dtype.itemsize
                      for q in self._others(part)]
                with device:
                    tables.append(device.xp.asarray(np.array(at, np.uint64)))
            found = self._own.values[key] = arrays, tables
            border.group.transport.order()
        return found

    def _rooms_for_bits(self) -> tuple[list[Any], list[Any]]:
        """The same for bits."""
        found = self._own.bits.get(self._own.turn)
        if found is not None:
            return found
        arrays: list[Any] = []
        tables: list[Any] = []
        for (_, device), (_, _, total, _) in zip(self._parts, self.places):
            with device:
                arrays.append(device.xp.zeros(max(total, 1), np.uint32))
        for part, device in self._parts:
            at = [device.pointer(arrays[q]) + 4 * self.places[q][3][part] for q in self._others(part)]
            with device:
                tables.append(device.xp.asarray(np.array(at, np.uint64)))
        self._own.bits[self._own.turn] = arrays, tables
        self.border.group.transport.order()
        return arrays, tables

    def _as_bitmaps(self, u: VectorParts, single: Any) -> list[VectorBlock]:
        border, transport = self.border, self.border.group.transport
        valued = single is None
        formats = {piece.format for piece in u.pieces}
        if "sparse" in formats:
            for _, piece in u.on_each():
                piece.to_bitmap()
            formats = {piece.format for piece in u.pieces}
        full = formats == {"full"}
        moves = valued or not full
        self._own.turn ^= moves
        arrays, to_values = self._rooms_for_all(u.dtype if valued else None)
        bits, to_bits = ([NOTHING] * len(arrays), to_values) if full else self._rooms_for_bits()
        beside = full and valued and transport.linked and (
            max(lists.size for lists, _ in self.given) * u.dtype.itemsize > BESIDE)
        if moves:
            for a, (device, piece) in enumerate(u.on_each()):
                lists, firsts = self.given[a]
                kernel = self._kernel(device, "exchange.give_all", VALUES=valued, U_FULL=full,
                                      LACKS=piece.format != "full", UNTOLD=True)
                with device.messages() if beside else nullcontext():
                    kernel(lists.size, (lists, firsts, border.group.parts - 1,
                                        NOTHING if piece.format == "full" else piece.present,
                                        piece.values if valued else NOTHING, to_values[a], to_bits[a]))
            if not beside:
                transport.order()
        if _record.listener is not None and moves:
            self._tell_all(u, valued, full)
        nonnegative = all(piece.nonnegative or piece.downward or not piece.size for piece in u.pieces)
        found = []
        for a, (device, piece) in enumerate(u.on_each()):
            block, part = border.blocks[a], border.group.mine[a]
            ext = VectorBlock(block.ncols, u.dtype, block.cols, device)
            found.append(ext)
            if not block.ncols:
                continue
            values = arrays[a] if valued else single.copy()
            if full:
                if valued and piece.size:
                    own = device.filled(piece.size, piece.values[0], u.dtype) if piece.iso else piece.values
                    device.copy_into(values, border.begins[a][part], own)
                ext.set_full(values, iso=not valued)
                ext.nonnegative = nonnegative
                continue
            ends, words, _, _ = self.places[a]
            present = device.xp.empty(block.ncols, np.uint8)
            kernel = self._kernel(device, "exchange.arrange", VALUES=valued, LACKS=piece.format != "full")
            later = kernel(block.ncols, (NOTHING if piece.format == "full" else piece.present,
                                         piece.values if valued else NOTHING, piece.size, border.begins[a][part], ends,
                                         words, bits[a], present, arrays[a]))
            ext.set_bitmap_later(present, values, _counted(later), iso=not valued)
        if beside:
            transport.follow_messages()
        return found

    @_record.aside
    def _tell_all(self, u: VectorParts, valued: bool, full: bool) -> None:
        border = self.border
        for a, (part, (device, piece)) in enumerate(zip(border.group.mine, u.on_each())):
            for q in self._others(part):
                local = border.lent[a][q]
                size = piece.size if local is None else int(local.size)
                count = size
                if not full:
                    there = device.xp.ones(piece.size, np.uint8) if piece.present is None else piece.present
                    count = int((there if local is None else there[local]).sum())
                bits = 0 if full else _places(border.begins[q][part], size)
                nbytes = bits // 8 + (count * u.dtype.itemsize if valued else 0)
                _record.listener.moved("share", part, q, count, nbytes, "dense" if full else "bits")


def in_columns(begins: list[int], sizes: list[int], part: int) -> list[int]:
    """Owners in the order of their columns: one that has none comes before another that begins there.

    Examples
    --------
    >>> in_columns([0, 3, 3], [3, 0, 4], 2), in_columns([2, 0, 2], [4, 2, 0], 1)
    ([0, 1, 2], [1, 2, 0])
    """
    return sorted(range(len(begins)), key=lambda q: (begins[q], sizes[q] > 0, q != part))


def _counted(later: Any) -> Any:
    return lambda: later.get()[0]


def _places(begin: int, size: int) -> int:
    """How many places so many columns take: whole words, the first of which begins with a multiple of 32."""
    return -(-(begin % WARP + size) // WARP) * WARP
