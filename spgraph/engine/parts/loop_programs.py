"""Kernels of loops in parts: those of one GPU, and those by which parts meet and give what others look at.

Each kernel has a turn, as on one GPU. Parts wait for each other in `queue.gate`; what they write into for each other is
in `engine.parts.loop_rooms`.
"""

from __future__ import annotations

from typing import Any

from semirings._cuda import C_TYPES
from spgraph.block import VectorBlock
from spgraph.engine import loop_programs_cuda as alone
from spgraph.engine.loop_programs_cuda import NO_THUNK
from spgraph.engine.mask import EMPTY_BITS
from spgraph.engine.parts.loop_rooms import Room
from spgraph.engine.plan import rule_of
from spgraph.engine.product import Filter

__all__ = ["GATES", "PUSHES", "Growth", "Lowering"]

GATES, PUSHES = 2, 12  # gates that are started together: with all kernels of a round, with those that short lists need
PARTED = {"PARTED": "1"}


class _OfPart:
    """What the programs of both kinds of loops have in common."""

    room: Room
    _many: int

    def _set_out(self, room: Room, dtype: Any, direction: str = "auto") -> None:
        """`dtype` is that of values that come with u's entries; None: there are none."""
        self.room = room
        device, everything, valued = room.device, room.everything, dtype is not None
        self._valued = valued
        chosen = PARTED | rule_of(direction)
        self._give = alone.loop_kernel(device, "exchange.give_list", dtype, VALUES=valued, ALL=everything,
                                        SUMS=C_TYPES[room.sums.dtype.name], **chosen)
        self._gate = alone.loop_kernel(device, "queue.gate", **chosen)

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
    """Of a search: gate, list, give and push, again, clear, spread, give bits, arrange, pull, clear marks, mark."""

    def __init__(self, room: Room, out: VectorBlock, semiring: Any, flipped: bool, direction: str, valued: bool,
                 symmetric: bool):
        super().__init__(out, room.block, False, semiring, flipped, direction, symmetric, U_ISO=valued, **PARTED)
        self._set_out(room, None, direction)
        device: Any = room.device
        self.value = device.xp.zeros(1, out.dtype)  # of all entries of u
        if self._pulls:
            same = {"VALUES": False, "LACKS": True, **PARTED, **rule_of(direction)}
            self._give_bits = alone.loop_kernel(device, "exchange.give_all", U_FULL=False, **same)
            self._arrange = alone.loop_kernel(device, "exchange.arrange", **same)

    def uses(self, loop: Any) -> list[Any]:
        """See `engine.loop_programs_cuda`."""
        lists, sums, bits, _, present, values, *_ = loop.changing()
        use, none, many, size, room = alone.Use, EMPTY_BITS, self._many, loop.out.size, self.room
        blocks, ncols, lent = alone.blocks_of, room.block.ncols, room.lent
        begin, indices, entries = self._rows
        listing, clear, spread, push, mark, *pulls = self._kernels
        pushed = (room.sums, 0, begin, room.columns, self.value, indices, entries, none, none, present, values, bits, 1,
                  lists, none, sums, NO_THUNK, room.leaving, *self._ids)
        gate, give = self._gate_and_give(loop, lists, none, none)
        words = loop.apart // 16
        clearing = use(clear, words, (bits,), blocks(words, 2 * many))
        pushing, pulling = use(push, 0, pushed, 4 * many), []
        if pulls:
            pull = pulls[0]
            given = (lent, room.lent_firsts, room.others, bits, none, none, room.to_bits)
            arranged = (bits, none, size, room.own_at, room.ends, room.words, room.bits, room.bytes, none)
            pulled = (*self._columns, room.bytes, self.value, present, none, present, values, none, bits, none,
                      *self._column_ids)
            pulling = [
                clearing,
                use(spread, 0, (lists, bits), blocks(loop.room, 2 * many)),
                use(self._give_bits, lent.size, given, blocks(lent.size, 4 * many)),
                use(self._arrange, ncols, arranged, blocks(ncols // 16, 4 * many)),
                use(pull, size, pulled, blocks(size, pull.section.blocks_per_sm * many)),
            ]
        return [
            gate,
            use(listing, size, (room.leaving, bits, none, lists, none, sums), blocks(size // 16, 8 * many)),
            give,
            pushing,
            give,
            pushing,
            *pulling,
            clearing,
            use(mark, 0, pushed, 4 * many),
        ]

    def _graphs_of(self, device: Any, launches: list[tuple]) -> tuple[Any, Any, Any]:
        gate, _, give, push, *_ = launches
        return None, device.graph(launches * GATES), self._short(device, gate, give, push)


class Lowering(_OfPart, alone.Lowering):
    """Of a relaxation: give, gate, push."""

    def __init__(self, room: Room, out: VectorBlock, semiring: Any, flipped: bool, accum: Any, kept: Filter | None):
        block = room.block
        u = VectorBlock(block.ncols, out.dtype, block.cols, block.device)
        super().__init__(out, block, False, u, semiring, flipped, accum, kept, **PARTED)
        self._set_out(room, out.dtype)

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
