"""Lists for a push, stored by the owners' kernels where the push will read them (between GPUs that see each other).

Method: an owner knows of each vertex which column it is at every other part and how many rows look at it there. So its
kernel appends to a receiver's list together with the running sum of these lengths, by which a push shares edges: one
64-bit atomic for 1,024 entries and each receiver. It says to the host what each receiver got; when the host has heard
that of all owners, everything is there, and what it starts from then on needs no event to wait for. Entries that no
row of a receiver looks at are not sent.
Memory: a column and a length for each own vertex and each other part; for each thread and type of values two rooms (one
where there is one GPU), in turn, for lists as long as they have been.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from semirings._cuda import C_TYPES
from spgraph import _record
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES, unpacked

__all__ = ["Lists"]

SIDES = 6  # devices that a launch of exchange.give_list serves
NOTHING = np.empty(0, np.uint8)


class _Rooms(NamedTuple):
    """Each part's indices, values, running sums and their end; for each part the addresses of these at all parts."""

    arrays: list[tuple]
    addresses: list[tuple]


class _Own(threading.local):
    """What each thread has of its own, since a push reads its room after `share` has come back."""

    def __init__(self) -> None:
        self.turn = 0  # which of two rooms
        self.rooms: dict = {}
        self.sizes: dict = {}
        self.given: list[Any] = []  # devices that have got something in the room of the last turn
        self.events: dict = {}  # by room: when those had read it


class Lists:
    """A border's shares as lists.

    Parameters
    ----------
    border : Border
    """

    def __init__(self, border: Any):
        self.border = border
        self._own = _Own()

    @cached_property
    def fit(self) -> bool:
        """Whether a packed number holds all that a part can get."""
        return all(block.ncols <= COUNT_MASK and block.nvals < MOST_EDGES for block in self.border.blocks)

    @cached_property
    def sums(self) -> Any:
        """Type of the running sums."""
        return index_dtype(max(block.nvals for block in self.border.blocks))

    @cached_property
    def _parts(self) -> list[tuple[int, Any]]:
        group = self.border.group
        return [(part, group.devices[part]) for part in group.mine]

    @cached_property
    def orders(self) -> list[list[int]]:
        """For each part all parts in circular order, itself first."""
        parts = self.border.group.parts
        return [[(part + distance) % parts for distance in range(parts)] for part, _ in self._parts]

    @cached_property
    def numbers(self) -> list[Any]:
        """For each part what `exchange.give_list` calls numbers."""
        border, transport = self.border, self.border.group.transport
        sent: list[list[tuple]] = []
        for a, (part, device) in enumerate(self._parts):
            with device:
                ends = border.blocks[a].oriented(True).indptr
                lengths = [
                    () if q == part else (device.xp.diff(ends[begin : begin + size + 1]),)
                    for q, (begin, size) in enumerate(zip(border.begins[a], border.sizes[a]))
                ]
            sent.append(lengths)
        came = transport.all_to_all(sent)
        dtype = index_dtype(max(max(block.ncols, block.nrows) for block in border.blocks))
        found = []
        for a, (part, device) in enumerate(self._parts):
            others, own = self.orders[a][1:], border.layout.count(part)
            with device:
                xp = device.xp
                if border.duplicate == "all":
                    table = xp.zeros((own, len(others)), dtype)
                    for d, q in enumerate(others):
                        table[:, d] = came[a][q][0]
                else:
                    table = xp.full((own, len(others), 2), -1, dtype)
                    for d, q in enumerate(others):
                        local, begin = border.lent[a][q], border.begins[q][part]
                        table[local, d, 0] = xp.arange(begin, begin + local.size)
                        table[local, d, 1] = came[a][q][0]
                found.append(table.reshape(-1))
        transport.order()  # what came from other GPUs is given back
        return found

    def _room(self, dtype: Any, valued: bool, most: list[int]) -> _Rooms:
        """Room for so many entries on each part."""
        own = self._own
        key = own.turn, dtype if valued else None
        sizes = own.sizes.get(key)
        if sizes is None or any(size < wanted for size, wanted in zip(sizes, most)):
            numbers = self.numbers
            widths = [block.ncols for block in self.border.blocks]
            sizes = [min(_power(max(pair)), width) for *pair, width in zip(most, sizes or most, widths)]
            own.sizes[key] = sizes
            own.rooms.pop(key, None)
            arrays: list[tuple] = []
            for (_, device), size, table in zip(self._parts, sizes, numbers):
                with device:
                    empty = device.xp.empty
                    end = device.xp.zeros(1, np.uint64)
                    values = empty(size if valued else 0, dtype)
                    arrays.append((empty(size, table.dtype), values, empty(size, self.sums), end))
            addresses: list[tuple] = []
            for (_, device), order in zip(self._parts, self.orders):
                tables = [np.array([device.pointer(arrays[q][k]) for q in order], np.uint64) for k in range(4)]
                with device:
                    addresses.append(tuple(device.xp.asarray(table) for table in tables))
            own.rooms[key] = _Rooms(arrays, addresses)
            self.border.group.transport.order()
        return own.rooms[key]

    def share(self, u: VectorParts, single: Any) -> list[VectorBlock]:
        """See `Border.share`."""
        try:
            return self._share(u, single)
        except BaseException:
            self._own.rooms.clear()  # what was begun is not to be found there
            self._own.sizes.clear()
            self.border.group.transport.order()
            raise

    def _share(self, u: VectorParts, single: Any) -> list[VectorBlock]:
        border = self.border
        counts = [piece.nvals for piece in u.pieces]
        most = [sum(map(min, counts, sizes)) for sizes in border.sizes]
        valued = single is None
        before = self._next_turn()
        rooms = self._room(u.dtype, valued, most)
        later = []
        for a, (device, piece) in enumerate(u.on_each()):
            if not counts[a]:
                continue
            for event in before:
                device.follow_event(event)
            if piece.format != "sparse":
                piece.to_sparse()
            later += self._start(a, device, piece, counts[a], valued, rooms.addresses[a])
        if _record.listener is not None:
            self._tell(u, valued)
        got = [0] * border.group.parts
        for receivers, pending in later:
            for q, packed in zip(receivers, pending.get()[0]):
                got[q] += packed
        found = []
        given = self._own.given = []
        for (_, device), block, packed, arrays in zip(self._parts, border.blocks, got, rooms.arrays):
            ext = VectorBlock(block.ncols, u.dtype, block.cols, device)
            found.append(ext)
            count, edges = unpacked(packed)
            if count:
                indices, values, prefix, end = arrays
                device.use()
                device.clear(end)
                ext.set_sparse(indices[:count], values[:count] if valued else single.copy(), iso=not valued,
                               sorted=count < 2)
                ext.queue = block.oriented(True).indptr, prefix, edges
                given.append(device)
        return found

    def _start(self, a: int, device: Any, piece: VectorBlock, count: int, valued: bool, addresses: tuple) -> list:
        """Give what one part has; for each launch who gets something by it, and what will say how much."""
        border, order = self.border, self.orders[a]
        key = "exchange.give_list", valued, border.duplicate, self.sums
        kernel = device.kernels.get(key)
        if kernel is None:
            consts = {"VALUES": valued, "ALL": border.duplicate == "all", "SUMS": C_TYPES[self.sums.name]}
            kernel = device.kernels[key] = device.kernel(key[0], consts, {})
        to_indices, to_values, to_prefix, to_end = addresses
        args = (piece.indices, piece.values if valued else NOTHING, NOTHING, self.numbers[a],
                border.blocks[a].oriented(True).indptr, border.begins[a][order[0]], len(order) - 1)
        return [
            (order[first : first + SIDES], kernel(count, (*args, first, to_indices, to_values, to_prefix, to_end)))
            for first in range(0, len(order), SIDES)
        ]

    def _next_turn(self) -> list[Any]:
        """Events that owners have to wait for before they write into the room of this turn."""
        if not self.border.group.transport.linked:
            return []
        own = self._own
        events = own.events.setdefault(own.turn, {})
        own.turn ^= 1
        for device in own.given:
            event = events.get(device)
            if event is None:
                event = events[device] = device.event()
            device.mark(event)
        return [event for event in own.events.get(own.turn, {}).values() if not event.done]

    @_record.aside
    def _tell(self, u: VectorParts, valued: bool) -> None:
        border = self.border
        for a, (part, (_, piece)) in enumerate(zip(border.group.mine, u.on_each())):
            others, numbers, count = self.orders[a][1:], self.numbers[a], piece.nvals
            item = numbers.dtype.itemsize + self.sums.itemsize + (u.dtype.itemsize if valued else 0)
            lengths = numbers.reshape(-1, len(others), 1 if border.duplicate == "all" else 2)[..., -1]
            for d, q in enumerate(others):
                sent = int((lengths[piece.indices, d] > 0).sum()) if count else 0
                _record.listener.moved("share", part, q, sent, sent * item, "list")


def _power(size: int) -> int:
    """The next power of 2, so that rooms grow seldom."""
    return 1 << (size - 1).bit_length() if size else 0
