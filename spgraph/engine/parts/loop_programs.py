"""Kernels of loops in parts: those of one GPU, and those by which parts meet and give what others look at.

What a part keeps for them (the room into which others write, addresses of theirs) is made once, with the border. Each
kernel has a turn, as on one GPU; `queue.gate` is where parts wait for each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings._cuda import C_TYPES
from spgraph.block import VectorBlock
from spgraph.engine import loop_programs_cuda as alone
from spgraph.engine.loop_programs_cuda import NO_THUNK
from spgraph.engine.mask import EMPTY_BITS
from spgraph.engine.product import Filter
from spgraph.exchange.border import Border
from spgraph.exchange.direct import Direct

__all__ = ["MOST_PARTS", "Growth", "Lowering", "direct_of", "introduce"]

MOST_PARTS = 16  # as in after.cuh, and `struct Meeting`
MEETING_WORDS = 4 + MOST_PARTS + 2 * 5 * MOST_PARTS + 2 * MOST_PARTS
ENDS_AT, PEERS_AT = 2, 4  # words of it
GATES, PUSHES = 4, 12  # gates that are started together: with all kernels of a round, with those that short lists need
PARTED = {"PARTED": "1"}


def direct_of(border: Border) -> Direct:
    """What stores into other GPUs' arrays; there is one."""
    assert border.direct is not None
    return border.direct


class _Room:
    """What a part has of u, where others write it, and what it needs to write into theirs."""

    def __init__(self, border: Border, a: int, dtype: Any, symmetric: bool):
        block, self.part = border.blocks[a], border.group.mine[a]
        device: Any = block.device
        self.block, self.device = block, device
        xp, lists, columns = device.xp, direct_of(border).lists, block.oriented(True)
        self.numbers, self.begin = lists.numbers[a], columns.indptr
        self.order = lists.orders[a]
        self.others = len(self.order) - 1
        self.first_at, self.own_at = border.begins[a][self.order[0]], border.begins[a][self.part]
        self.everything = border.duplicate == "all"
        if symmetric:
            self.leaving = block.indptr
        else:  # of each own vertex to the rows of all parts
            lengths = self.numbers.reshape(block.nrows, self.others, 1 if self.everything else 2)[:, :, -1]
            own = xp.diff(columns.indptr[self.own_at:self.own_at + block.nrows + 1])
            leaving = own.astype(np.int64) + xp.maximum(lengths, 0).sum(axis=1)
            self.leaving = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(leaving)])
        self.meeting = xp.zeros(MEETING_WORDS, np.int64)
        both = 2 * block.ncols  # rooms
        self.columns, self.sums = xp.empty(both, self.numbers.dtype), xp.empty(both, lists.sums)
        self.values = xp.empty(1 if dtype is None else both, np.int8 if dtype is None else dtype)
        self.to: list[Any] = []  # addresses of the first rooms and of the second, in circular order

    def reset(self) -> None:
        """Nothing has come: a loop that was interrupted may have left something."""
        self.device.clear(self.meeting[ENDS_AT:ENDS_AT + 2])


def introduce(programs: list[Any]) -> None:
    """Tell each part where the others have what it writes into."""
    rooms = [program.room for program in programs]
    for program, room in zip(programs, rooms):
        with room.device as device:
            xp, pointer = device.xp, device.pointer
            room.meeting[PEERS_AT:PEERS_AT + len(rooms)] = xp.asarray(
                np.array([pointer(one.meeting) for one in rooms], np.int64))
            room.meeting[:2] = xp.asarray(np.array([len(rooms), room.part], np.int64))
            each = [(one, k) for k in (0, 1) for one in (rooms[q] for q in room.order)]
            at = [[pointer(one.columns) + k * one.block.ncols * one.columns.itemsize for one, k in each],
                  [pointer(one.sums) + k * one.block.ncols * one.sums.itemsize for one, k in each],
                  [pointer(one.values) + k * one.block.ncols * one.values.itemsize for one, k in each],
                  [pointer(one.meeting) + (ENDS_AT + k) * one.meeting.itemsize for one, k in each]]
            room.to = [xp.asarray(np.array(column, np.uint64)) for column in at]
            program.meet([programs[q] for q in room.order[1:]])


class _OfPart:
    """What the programs of both kinds of loops have in common."""

    room: _Room
    _many: int

    def _set_out(self, border: Border, a: int, dtype: Any, symmetric: bool) -> None:
        """`dtype` is that of values that come with u's entries; None: there are none."""
        self.room = _Room(border, a, dtype, symmetric)
        device, everything, valued = self.room.device, self.room.everything, dtype is not None
        self._valued = valued
        self._give = alone.loop_kernel(device, "exchange.give_list",
                                        ("parts", everything, dtype, self.room.sums.dtype), VALUES=valued,
                                        ALL=everything, SUMS=C_TYPES[self.room.sums.dtype.name], **PARTED)
        self._gate = alone.loop_kernel(device, "queue.gate", ("parts",), **PARTED)

    def meet(self, others: list[Any]) -> None:
        """Learn more of the others, which come in circular order."""

    def _gate_and_give(self, loop: Any, lists: Any, first: Any, values: Any) -> tuple[Any, Any]:
        room, use, none = self.room, alone.Use, EMPTY_BITS
        to_columns, to_sums, to_values, to_end = room.to
        given = (lists, first, values, room.numbers, room.begin, room.first_at, room.others, 0, to_columns,
                 to_values if self._valued else none, to_sums, to_end)
        return (use(self._gate, loop.out.size, (), 1),
                use(self._give, 0, given, alone.blocks_of(loop.room, 4 * self._many)))

    def _short(self, device: Any, gate: tuple, give: tuple, push: tuple) -> Any:
        """Rounds of what short lists need."""
        give, push = ((function, min(blocks, self._many), threads, place)
                      for function, blocks, threads, place in (give, push))
        return device.graph([gate, push, give] * PUSHES)


class Growth(_OfPart, alone.Growth):
    """Of a search: gate, list, clear, spread, give a list or bits, gate, arrange, clear marks, push, mark, pull."""

    def __init__(self, border: Border, a: int, out: VectorBlock, semiring: Any, flipped: bool, valued: bool,
                 symmetric: bool):
        block = border.blocks[a]
        super().__init__(out, block, False, semiring, flipped, symmetric, U_ISO=valued, **PARTED)
        self._set_out(border, a, None, symmetric)
        device: Any = block.device
        xp, direct = device.xp, direct_of(border)
        self.value = xp.zeros(1, out.dtype)  # of all entries of u
        self._ends, self._words, total, self._firsts = direct.places[a]
        self._bits, self._bytes = xp.zeros(max(total, 1), np.uint32), xp.empty(block.ncols, np.uint8)
        self._lent, self._lent_firsts = direct.given[a]
        self._to_bits: Any = None
        self._give_bits = alone.loop_kernel(device, "exchange.give_all", ("parts",), VALUES=False, U_FULL=False,
                                             LACKS=True, **PARTED)
        self._arrange = alone.loop_kernel(device, "exchange.arrange", ("parts",), VALUES=False, LACKS=True, **PARTED)

    def meet(self, others: list[Growth]) -> None:
        """See `_OfPart`."""
        at = [one.room.device.pointer(one._bits) + 4 * one._firsts[self.room.part] for one in others]
        self._to_bits = self.room.device.xp.asarray(np.array(at, np.uint64))

    def uses(self, loop: Any) -> list[Any]:
        """See `engine.loop_programs_cuda`."""
        lists, sums, bits, _, present, values, *_ = loop.changing()
        use, none, many, size, room = alone.Use, EMPTY_BITS, self._many, loop.out.size, self.room
        blocks, ncols, lent = alone.blocks_of, self.room.block.ncols, self._lent
        begin, indices, entries = self._rows
        listing, clear, spread, push, mark, pull = self._kernels
        pushed = (room.sums, 0, begin, room.columns, self.value, indices, entries, none, none, present, values, bits, 1,
                  lists, none, sums, NO_THUNK, room.leaving, *self._ids)
        pulled = (*self._columns, self._bytes, self.value, present, none, present, values, none, bits, none,
                  *self._column_ids)
        gate, give = self._gate_and_give(loop, lists, none, none)
        words = loop.apart // 16
        clearing = use(clear, words, (bits,), blocks(words, 2 * many))
        given = (lent, self._lent_firsts, room.others, bits, none, none, self._to_bits)
        arranged = (bits, none, size, room.own_at, self._ends, self._words, self._bits, self._bytes, none)
        return [
            gate,
            use(listing, size, (room.leaving, bits, none, lists, none, sums), blocks(size // 16, 8 * many)),
            clearing,
            use(spread, 0, (lists, bits), blocks(loop.room, 2 * many)),
            give,
            use(self._give_bits, lent.size, given, blocks(lent.size, 8 * many)),
            gate,
            use(self._arrange, ncols, arranged, blocks(ncols // 16, 4 * many)),
            clearing,
            use(push, 0, pushed, 4 * many),
            use(mark, 0, pushed, 4 * many),
            use(pull, size, pulled, blocks(size, 8 * many)),
        ]

    def _graphs_of(self, device: Any, launches: list[tuple]) -> tuple[Any, Any, Any]:
        gate, _, _, _, give, _, _, _, _, push, *_ = launches
        return None, device.graph(launches * (GATES // 2)), self._short(device, gate, give, push)


class Lowering(_OfPart, alone.Lowering):
    """Of a relaxation: give, gate, push."""

    def __init__(self, border: Border, a: int, out: VectorBlock, semiring: Any, flipped: bool, accum: Any,
                 kept: Filter | None, symmetric: bool):
        block = border.blocks[a]
        u = VectorBlock(block.ncols, out.dtype, block.cols, block.device)
        super().__init__(out, block, False, u, semiring, flipped, accum, kept, **PARTED)
        self._set_out(border, a, out.dtype, symmetric)

    def uses(self, loop: Any) -> list[Any]:
        """See `engine.loop_programs_cuda`."""
        lists, sums, bits, _, present, values, thunk, first = loop.changing()
        none, room = EMPTY_BITS, self.room
        begin, indices, entries = self._rows
        pushed = (room.sums, 0, begin, room.columns, room.values, indices, entries, none, none,
                  none if self._full else present, values, bits, 1, lists, none, sums,
                  NO_THUNK if thunk is None else thunk, room.leaving, *self._ids)
        gate, give = self._gate_and_give(loop, lists, first, values)
        return [give, gate, alone.Use(self._push, 0, pushed, 4 * self._many)]

    def _graphs_of(self, device: Any, launches: list[tuple]) -> tuple[Any, Any, Any]:
        give, gate, push = launches
        return None, device.graph(launches * GATES), self._short(device, gate, give, push)
