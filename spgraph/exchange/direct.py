"""Share by direct stores: a kernel of the owner writes entries into the arrays of the GPUs that look at them.

Method: the copy engines move half of what kernels store between GPUs that see each other, and a store needs no copy to
be packed first. Lists are appended to a room that the receiver has, with one atomic for each warp and receiver; values
of whole lists of vertices go to the places where products look for them, presence as bits. Receivers wait for events of
the senders, the host for nothing but how long the lists have become. Values of full vectors are sent in a stream of
their own while the compute stream puts the own ones in place.
Memory: room for values of all proxies, and for lists as long as they have been, is kept with the border.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spgraph import _record
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["Direct", "in_columns"]

WARP = 32
NOTHING = np.empty(0, np.uint8)
COUNT_BITS = 30  # of a result that holds edges and entries, see kernels/cuda/push.cuh
COUNT_MASK = (1 << COUNT_BITS) - 1
BESIDE = 1 << 21  # bytes of a GPU's message that are worth a stream of its own (6 us, two calls of CUDA's)


class _Rooms(NamedTuple):
    """What each part receives in, and for each part the addresses at all: its own first, then in circular order."""

    arrays: list[tuple]
    addresses: list[tuple]


class Direct:
    """The border's `share` between GPUs of one process.

    Parameters
    ----------
    border : Border
    """

    def __init__(self, border: Any):
        self.border = border
        self._turn = 0  # which of two rooms
        self._lists: dict = {}
        self._sizes: dict = {}
        self._values: dict = {}
        self._bits: dict = {}

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
        if any(kept != dtype for _, kept in self._values):
            self._values.clear()

    def share(self, u: VectorParts, listed: bool, single: Any) -> list[VectorBlock]:
        """See `Border.share`; what a push needs is a list, however long: see ARCHITECTURE.md."""
        try:
            return self._as_lists(u, single) if listed else self._as_bitmaps(u, single)
        except BaseException:
            self._lists.clear()  # what was begun is not to be found there
            self._sizes.clear()
            transport = self.border.group.transport
            transport.order()
            if transport.linked:
                transport.follow_messages()
            raise

    # ---- lists -------------------------------------------------------------------
    @cached_property
    def _numbers(self) -> list[Any]:
        """For each part: the column of vertex v at the d-th other part, at [v, d]; -1 if that has no proxy of it."""
        border = self.border
        found = []
        for a, (part, device) in enumerate(self._parts):
            if border.duplicate == "all":
                found.append(np.empty(0, index_dtype(border.layout.size)))
                continue
            with device:
                xp, others = device.xp, self._others(part)
                widest = max(block.ncols for block in border.blocks)
                numbers = xp.full((border.layout.count(part), len(others)), -1, index_dtype(widest))
                for d, q in enumerate(others):
                    local = border.lent[a][q]
                    begin = border.begins[q][part]
                    numbers[local, d] = xp.arange(begin, begin + local.size)
                found.append(numbers.reshape(-1))
        return found

    def _rooms_for_lists(self, dtype: Any, valued: bool, most: list[int]) -> _Rooms:
        """Room for so many entries on each part."""
        key = self._turn, dtype if valued else None
        sizes = self._sizes.get(key)
        if sizes is None or any(size < wanted for size, wanted in zip(sizes, most)):
            widths = [block.ncols for block in self.border.blocks]
            sizes = [min(_power(max(pair)), width) for *pair, width in zip(most, sizes or most, widths)]
            self._sizes[key] = sizes
            self._lists.pop(key, None)
            arrays = []
            for (_, device), size, numbers in zip(self._parts, sizes, self._numbers):
                with device:
                    empty = device.xp.empty
                    arrays.append((empty(size, numbers.dtype), empty(size if valued else 0, dtype),
                                   device.xp.zeros(1, np.uint64)))
            self._lists[key] = self._addressed(arrays)
            self.border.group.transport.order()
        return self._lists[key]

    def _addressed(self, arrays: list[tuple]) -> _Rooms:
        addresses = []
        for part, device in self._parts:
            order = [part, *self._others(part)]
            tables = [np.array([device.pointer(arrays[q][k]) for q in order], np.uint64) for k in range(len(arrays[0]))]
            with device:
                addresses.append(tuple(device.xp.asarray(table) for table in tables))
        return _Rooms(arrays, addresses)

    def _as_lists(self, u: VectorParts, single: Any) -> list[VectorBlock]:
        border, transport = self.border, self.border.group.transport
        counts = [piece.nvals for piece in u.pieces]
        most = [sum(map(min, counts, sizes)) for sizes in border.sizes]
        valued = single is None
        self._turn ^= 1
        rooms = self._rooms_for_lists(u.dtype, valued, most)
        for a, (device, piece) in enumerate(u.on_each()):
            if not counts[a]:
                continue
            if piece.format != "sparse":
                piece.to_sparse()
            kernel = self._kernel(device, "exchange.give_list", VALUES=valued, ALL=border.duplicate == "all")
            part, addresses = border.group.mine[a], rooms.addresses[a]
            to_indices, to_values, to_length = addresses
            kernel(counts[a], (piece.indices, piece.values if valued else NOTHING, self._numbers[a],
                               border.begins[a][part], border.group.parts - 1, to_indices, to_values, to_length))
        transport.order()
        if _record.listener is not None:
            self._tell_lists(u, valued)
        found: list[VectorBlock] = []
        later: list[Any] = []
        for (_, device), block, size, (indices, values, length) in zip(self._parts, border.blocks, most, rooms.arrays):
            ext = VectorBlock(block.ncols, u.dtype, block.cols, device)
            found.append(ext)
            if not size:
                later.append(None)
                continue
            device.use()
            rows, empty = block.oriented(True), device.xp.empty
            listed, prefix = empty(size, index_dtype(block.ncols)), empty(size, np.int64)
            kept = empty(size, u.dtype) if valued else NOTHING
            kernel = self._kernel(device, "queue.make", VALUES=valued, LATE=True)
            pending = kernel(size, (rows.indptr, indices, values if valued else NOTHING, length, listed, kept, prefix))
            later.append((pending, rows, listed, kept, prefix))
        for ext, waited in zip(found, later):
            if waited is None:
                continue
            pending, rows, listed, kept, prefix = waited
            result = pending.get()[0]
            count, edges = result & COUNT_MASK, result >> COUNT_BITS
            if count:
                ext.set_sparse(listed[:count], kept[:count] if valued else single.copy(), iso=not valued,
                               sorted=count < 2)
                ext.queue = rows.indptr, prefix, edges
        return found

    @_record.aside
    def _tell_lists(self, u: VectorParts, valued: bool) -> None:
        border = self.border
        for a, (part, (_, piece)) in enumerate(zip(border.group.mine, u.on_each())):
            others, numbers = self._others(part), self._numbers[a]
            item = numbers.dtype.itemsize + (u.dtype.itemsize if valued else 0)
            for d, q in enumerate(others):
                count = piece.nvals
                if count and numbers.size:
                    count = int((numbers.reshape(-1, len(others))[piece.indices, d] >= 0).sum())
                _record.listener.moved("share", part, q, count, count * item, "list")

    # ---- bitmaps and full vectors ---------------------------------------------------
    @cached_property
    def _given(self) -> list[tuple]:
        """For each part: the lists of what it lends to the others, one after the other, and where each begins."""
        border = self.border
        found = []
        for a, (part, device) in enumerate(self._parts):
            with device:
                xp, own, others = device.xp, border.layout.count(part), self._others(part)
                sizes = [own if border.lent[a][q] is None else border.lent[a][q].size for q in others]
                firsts = np.cumsum([0, *(_whole_words(size) for size in sizes)])
                lists = xp.full(int(firsts[-1]), -1, index_dtype(own))
                for q, first, size in zip(others, firsts.tolist(), sizes):
                    local = border.lent[a][q]
                    lists[first : first + size] = xp.arange(own) if local is None else local
                found.append((lists, xp.asarray(firsts[:-1])))
        return found

    @cached_property
    def _places(self) -> list[tuple]:
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
                total += 0 if q == part else _whole_words(border.sizes[a][q]) // WARP
            with device:
                xp = device.xp
                found.append((xp.asarray(np.array(ends)), xp.asarray(np.array(words)), total, firsts))
        return found

    def _rooms_for_all(self, dtype: Any) -> tuple[list[Any], list[Any]]:
        """Values of all columns on each part (none if dtype is None), and the addresses where others' values go."""
        key = self._turn, dtype
        found = self._values.get(key)
        if found is None:
            border = self.border
            arrays: list[Any] = []
            for (_, device), block in zip(self._parts, border.blocks):
                with device:
                    arrays.append(NOTHING if dtype is None else device.xp.empty(block.ncols, dtype))
            tables: list[Any] = []
            for part, device in self._parts:
                at = [0 if dtype is None else device.pointer(arrays[q]) + border.begins[q][part] * dtype.itemsize
                      for q in self._others(part)]
                with device:
                    tables.append(device.xp.asarray(np.array(at, np.uint64)))
            found = self._values[key] = arrays, tables
            border.group.transport.order()
        return found

    def _rooms_for_bits(self) -> tuple[list[Any], list[Any]]:
        """The same for bits."""
        found = self._bits.get(self._turn)
        if found is not None:
            return found
        arrays: list[Any] = []
        tables: list[Any] = []
        for (_, device), (_, _, total, _) in zip(self._parts, self._places):
            with device:
                arrays.append(device.xp.zeros(max(total, 1), np.uint32))
        for part, device in self._parts:
            at = [device.pointer(arrays[q]) + 4 * self._places[q][3][part] for q in self._others(part)]
            with device:
                tables.append(device.xp.asarray(np.array(at, np.uint64)))
        self._bits[self._turn] = arrays, tables
        self.border.group.transport.order()
        return arrays, tables

    def _as_bitmaps(self, u: VectorParts, single: Any) -> list[VectorBlock]:
        border, transport = self.border, self.border.group.transport
        valued = single is None
        for _, piece in u.on_each():
            piece.to_bitmap()
        full = all(piece.format == "full" for piece in u.pieces)
        moves = valued or not full
        self._turn ^= moves
        arrays, to_values = self._rooms_for_all(u.dtype if valued else None)
        bits, to_bits = ([NOTHING] * len(arrays), to_values) if full else self._rooms_for_bits()
        beside = full and valued and transport.linked and (
            max(lists.size for lists, _ in self._given) * u.dtype.itemsize > BESIDE)
        if moves:
            for a, (device, piece) in enumerate(u.on_each()):
                lists, firsts = self._given[a]
                kernel = self._kernel(device, "exchange.give_all", VALUES=valued, U_FULL=full,
                                      LACKS=piece.format != "full")
                with device.messages() if beside else nullcontext():
                    kernel(lists.size, (lists, firsts, border.group.parts - 1,
                                        NOTHING if piece.format == "full" else piece.present,
                                        piece.values if valued else NOTHING, to_values[a], to_bits[a]))
            if not beside:
                transport.order()
        if _record.listener is not None and moves:
            self._tell_all(u, valued, full)
        found = []
        for a, (device, piece) in enumerate(u.on_each()):
            block, part = border.blocks[a], border.group.mine[a]
            ext = VectorBlock(block.ncols, u.dtype, block.cols, device)
            found.append(ext)
            if not block.ncols:
                continue
            values = arrays[a] if valued else single.copy()
            if full and not valued:
                ext.set_full(values, iso=True)
                continue
            ends, words, _, _ = self._places[a]
            present = NOTHING if full else device.xp.empty(block.ncols, np.uint8)
            kernel = self._kernel(device, "exchange.arrange", VALUES=valued, U_FULL=full, LACKS=piece.format != "full")
            later = kernel(block.ncols, (NOTHING if piece.format == "full" else piece.present,
                                         piece.values if valued else NOTHING, piece.size, border.begins[a][part], ends,
                                         words, bits[a], present, arrays[a]))
            if full:
                ext.set_full(values)
            else:
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
                nbytes = (0 if full else _whole_words(size) // 8) + (count * u.dtype.itemsize if valued else 0)
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


def _whole_words(size: int) -> int:
    return -(-size // WARP) * WARP


def _power(size: int) -> int:
    """The next power of 2, so that rooms grow seldom."""
    return 1 << (size - 1).bit_length() if size else 0
