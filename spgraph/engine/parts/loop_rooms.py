"""Where parts of a loop meet, and into what they write for each other: made once for a border and a type of values.

Data encoding: a part has room for what it looks at of all of u: two lists with running sums of row lengths (and values,
in relaxations), or bits, and the bytes that they become (in searches). Loops of a border use them one after the other.
Memory of a part: lists of searches 16 (32) bytes a column, those of relaxations as many and two values; bytes of
searches one a column; bits one for each vertex of others that it looks at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.exchange.border import Border
from spgraph.exchange.direct import Direct

__all__ = ["MOST_PARTS", "Room", "Rooms", "direct_of", "rooms_of"]

MOST_PARTS = 16  # as in after.cuh, and `struct Meeting`
MEETING_WORDS = 4 + MOST_PARTS + 2 * 5 * MOST_PARTS + 2 * MOST_PARTS
ENDS_AT, PEERS_AT = 2, 4  # words of it
SEARCHES = "searches"  # among the names of types
APART = 128  # entries, so that lists have no cache line in common
STEPS_OF_A_RUN = 1 << 32  # numbers that a loop's steps have for themselves


def direct_of(border: Border) -> Direct:
    """What stores into other GPUs' arrays; there is one."""
    assert border.direct is not None
    return border.direct


class Room:
    """A part's: what others write into, and what it needs to write into theirs."""

    def __init__(self, border: Border, a: int, dtype: Any, leaving: Any):
        block, self.part = border.blocks[a], border.group.mine[a]
        device: Any = block.device
        self.block, self.device, self.leaving = block, device, leaving
        xp, direct, columns = device.xp, direct_of(border), block.oriented(True)
        lists = direct.lists
        self.numbers, self.begin = lists.numbers[a], columns.indptr
        self.order = lists.orders[a]
        self.others = len(self.order) - 1
        self.first_at, self.own_at = border.begins[a][self.order[0]], border.begins[a][self.part]
        self.everything = border.duplicate == "all"
        self.meeting = xp.zeros(MEETING_WORDS, np.int64)
        self.apart = -(-block.ncols // APART) * APART  # from the first list to the second
        both = self.apart + block.ncols
        self.columns, self.sums = xp.empty(both, self.numbers.dtype), xp.empty(both, lists.sums)
        self.values = xp.empty(1 if dtype is None else both, np.int8 if dtype is None else dtype)
        self.ends, self.words, total, self.firsts = direct.places[a]
        self.lent, self.lent_firsts = direct.given[a]
        self.bits = xp.zeros(max(total, 1) if dtype is None else 1, np.uint32)
        self.bytes = xp.empty(block.ncols if dtype is None else 1, np.uint8)
        self.to: list[Any] = []  # addresses of columns, sums, values, ends: first lists, second ones, in circular order
        self.to_bits: Any = None  # of those that come after this part

    def reset(self) -> None:
        """Nothing has come: a loop that was interrupted may have left something."""
        self.device.clear(self.meeting[ENDS_AT:ENDS_AT + 2])


class Rooms:
    """Those of all parts, each of which knows where the others have theirs; `dtype` is that of values; None: none."""

    def __init__(self, border: Border, dtype: Any, leaving: list[Any]):
        self.runs = 0
        self.in_use = False  # by a loop that has not ended as it should
        self.each: list[Room] = []
        for a, block in enumerate(border.blocks):
            with block.device:
                self.each.append(Room(border, a, dtype, leaving[a]))
        for room in self.each:
            with room.device as device:
                self._introduce(room, device)

    def _introduce(self, room: Room, device: Any) -> None:
        rooms, xp, pointer = self.each, device.xp, device.pointer

        def put(addresses: list[int], dtype: Any) -> Any:
            return xp.asarray(np.array(addresses, dtype))

        room.meeting[PEERS_AT:PEERS_AT + len(rooms)] = put([pointer(one.meeting) for one in rooms], np.int64)
        room.meeting[:2] = put([len(rooms), room.part], np.int64)
        both = [(rooms[q], k) for k in (0, 1) for q in room.order]
        at = [[pointer(one.columns) + k * one.apart * one.columns.itemsize for one, k in both],
              [pointer(one.sums) + k * one.apart * one.sums.itemsize for one, k in both],
              [pointer(one.values) + k * one.apart * one.values.itemsize for one, k in both],
              [pointer(one.meeting) + (ENDS_AT + k) * one.meeting.itemsize for one, k in both]]
        room.to = [put(addresses, np.uint64) for addresses in at]
        others = [rooms[q] for q in room.order[1:]]
        room.to_bits = put([pointer(one.bits) + 4 * one.firsts[room.part] for one in others], np.uint64)

    def begin(self, devices: list[Any]) -> int:
        """The number of step 0 of a loop, whose steps have numbers that no other loop's have."""
        if self.in_use:  # nothing of the last one may be under way
            for device in devices:
                device.check()
        self.in_use = True
        self.runs += 1
        return self.runs * STEPS_OF_A_RUN


def rooms_of(border: Border, dtype: Any, symmetric: bool) -> Rooms:
    """Rooms for loops over a matrix, which its border keeps: those of searches, and of the last type of values."""
    kind = SEARCHES if dtype is None else dtype.name  # numpy takes None for a type
    found = border.rooms.get(kind)
    if found is None:
        for old in [other for other in border.rooms if SEARCHES not in (other, kind)]:
            rooms = border.rooms.pop(old, None)
            for key in [key for key, kept in list(border.loops.items()) if kept.rooms is rooms]:
                border.loops.pop(key, None)
        other = next(iter(border.rooms.values()), None)
        leaving = _leaving(border, symmetric) if other is None else [room.leaving for room in other.each]
        found = border.rooms[kind] = Rooms(border, dtype, leaving)
    return found


def _leaving(border: Border, symmetric: bool) -> list[Any]:
    """Where the edges of each own vertex to the rows of all parts would begin, for each part."""
    if symmetric:
        return [block.indptr for block in border.blocks]
    found = []
    for a, (part, block) in enumerate(zip(border.group.mine, border.blocks)):
        with block.device as device:
            xp, at, numbers = device.xp, border.begins[a][part], direct_of(border).lists.numbers[a]
            pairs = 1 if border.duplicate == "all" else 2
            lengths = numbers.reshape(block.nrows, border.group.parts - 1, pairs)[:, :, -1]
            own = xp.diff(block.oriented(True).indptr[at:at + block.nrows + 1])
            leaving = own.astype(np.int64) + xp.maximum(lengths, 0).sum(axis=1)
            found.append(xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(leaving)]))
    return found
