"""Searches that grow, and relaxations, in parts on GPUs that see each other, without the host.

Method: the kernels of `engine.loops_cuda`, and those by which owners store what others look at of u (`exchange.cuh`).
After each product every GPU tells all others how much it has found; each adds up and chooses what is next, all the same
(PARTED in kernels/cuda/after.cuh). The host starts rounds of all kernels on every GPU, ahead of what it knows: no GPU
waits for another but for a moment at the end of a kernel, and goes on in a later round if that was not enough.

Data encoding: each part has its own entries of u as a list or a bitmap, as on one GPU, and room for what it looks at of
all of u: a list with the running sum of row lengths, or bits and bytes. A search's u has no values, or one in common; a
relaxation's are C's when they are given, so that it does, superstep by superstep, what single products do.
Memory of a part: what the border keeps is in `engine.parts.loop_rooms`; of a loop 26 (34) bytes an own vertex. Border
values: a column, a running sum of 4 or 8 bytes and, in relaxations, a value for each entry and other part that looks at
it; a bit for each vertex of the border in a pull.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from spgraph import _record, context
from spgraph._interrupts import held, raise_noted
from spgraph.block import VectorBlock
from spgraph.engine import loops_cuda
from spgraph.engine.loops_cuda import FEW, HEARD, LIMIT, PATIENCE, PROGRESS, PUSHING, RETURNS, STEADY, WORDS, Done
from spgraph.engine.operators import settles
from spgraph.engine.parts.loop_programs import GATES, PUSHES, Growth, Lowering
from spgraph.engine.parts.loop_rooms import MOST_PARTS, Rooms, rooms_of
from spgraph.engine.parts.products import scattered_by
from spgraph.engine.plan import GPU_COSTS
from spgraph.engine.product import Filter, occupied_rows, term_of
from spgraph.engine.products_cuda import is_monotone
from spgraph.engine.queues_cuda import pad
from spgraph.engine.vector_products import KEPT
from spgraph.exchange.border import Border, sharing_of, single_value
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES

__all__ = ["grow", "relax"]

BEGINNING, MEETING, GIVING_AHEAD = 9, 10, 16  # as in after.cuh
MOST = 8  # that word of `struct Loop`
SILENCE = 60.0  # seconds without a step on any GPU, after which none will come
NOTHING = np.empty(0, np.uint8)


def grow(out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, semiring, flipped: bool,
         most: int | None, value: Any = None, number: int = 0) -> Done | None:
    """See `engine.loops.run_alone`, and with the `value` of u's entries, and their number in C, `run_levels`."""
    entries = u.nvals, out.nvals
    if not (semiring.monoid.terminal_any and entries[0] < u.size and entries[1] < out.size):
        return None
    border = _border(out, A, transposed, u, most, entries)
    if border is None:
        return None
    dtype = u.dtype if value is None else out.dtype
    uses, single = term_of(semiring, flipped, A.dtype, dtype).uses, NOTHING
    if "u" in uses:
        known = single_value(u) if value is None else np.array([number], dtype)
        if uses & {"a", "i", "k"} or dtype != out.dtype or known is None:
            return None
        single = known
    direction = context.current().direction
    key = "grow", semiring, flipped, direction, out.dtype, single.size
    together = border.loops.get(key)
    if together is None:
        symmetric = A.symmetric is True
        rooms = rooms_of(border, None, symmetric)
        together = _keep(border, key, rooms, [
            Growth(room, piece, semiring, flipped, direction, single.size > 0, symmetric)
            for room, (_, piece) in zip(rooms.each, out.on_each())])
    loops = [_PartSearch(program, piece, own, single, value)
             for (_, piece), own, program in zip(out.on_each(), u.pieces, together.programs)]
    return together.run(loops, out, A, transposed, u, most, entries)


def relax(out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, semiring, flipped: bool, most: int | None,
          accum, kept: Filter | None) -> Done | None:
    """See `engine.loops.run_alone`."""
    monoid = semiring.monoid
    if context.current().direction == "pull":
        return None
    if not (accum.key == monoid.binaryop.key and out.dtype == monoid.type.np_type and u.dtype == out.dtype
            and settles(monoid) and (kept is None or is_monotone(kept.op, monoid))):
        return None
    entries = u.nvals, out.nvals
    border = _border(out, A, transposed, u, most, entries)
    if border is None:
        return None
    few = loops_cuda.most_pushed(A, transposed, GPU_COSTS)
    if entries[0] * A.nvals / A.nrows > few:
        return None
    for _, piece in out.on_each():
        piece.writable_bitmap(full=True)
        if piece.format != "full":
            pad(piece, monoid.start)
    full = tuple(piece.format == "full" for piece in out.pieces)
    key = "relax", semiring, flipped, out.dtype, full, kept and (kept.op.key, kept.thunk.dtype)
    together = border.loops.get(key)
    if together is None:
        rooms = rooms_of(border, out.dtype, A.symmetric is True)
        together = _keep(border, key, rooms, [
            Lowering(room, piece, semiring, flipped, accum, kept)
            for room, (_, piece) in zip(rooms.each, out.on_each())])
    loops = [_PartRelaxation(program, piece, own, kept, few)
             for (_, piece), own, program in zip(out.on_each(), u.pieces, together.programs)]
    return together.run(loops, out, A, transposed, u, most, entries)


def _keep(border: Border, key: tuple, rooms: Rooms, programs: list[Any]) -> _Together:
    """The programs of all parts, which the border keeps."""
    if len(border.loops) >= KEPT:
        border.loops.clear()
    together = border.loops[key] = _Together(rooms, programs)
    return together


def _border(out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, most: int | None,
            entries: tuple[int, int]) -> Border | None:
    """What gives parts of u to others, if a loop can be run so here and now; then vectors lie as the matrix.

    u and C have so many `entries`.
    """
    group = out.device
    if _record.listener is not None or most == 0 or u is out:
        return None
    if not (group.transport.direct and group.exchange() != "broadcast" and 1 < group.parts <= MOST_PARTS
            and len(set(group.devices)) == group.parts):
        return None
    if not (A.rows is A.cols and 0 < A.nvals < MOST_EDGES and out.size == u.size == A.nrows == A.ncols <= COUNT_MASK
            and all(entries)) or scattered_by(A, transposed) is not None:
        return None
    border = sharing_of(A.oriented(transposed))
    if border.direct is None or not border.can_push or not border.direct.lists.fit:
        return None
    if not all(block.nrows and block.nvals for block in border.blocks):
        return None
    u.rehome(A.rows)
    out.rehome(A.rows)
    return border


class _Part:
    """What one part works on; a mixin of `loops_cuda.Loop`."""

    def start(self: Any, count: int, entries: int, most: int | None, counts: tuple, unlisted: int, base: int) -> None:
        """All memory that is needed, and the state.

        u has `count` entries on all parts, `unlisted` of them in bitmaps, C has `entries`.
        """
        device, out, u = self.device, self.out, self.u
        listed = u.format == "sparse"
        lists, bits = self.begins
        if listed and u.nvals:
            own = self.memory[lists:lists + u.nvals * self.width.itemsize].view(self.width)
            device.copy_into(own, 0, u.indices.astype(self.width, copy=False))
        elif not listed:
            u.to_bitmap()
            if u.present is None:
                self.memory[bits:bits + out.size] = 1
            else:
                device.copy_into(self.memory, bits, u.present)
        if most is not None or self.few >= 0:  # something may be left
            self.spare = (device.xp.empty(self.room, self.width), device.xp.empty(out.size, np.uint8),
                          None if self.value is not None else device.xp.empty(out.size, out.dtype))
        self.program.room.reset()
        size, stored, occupied, sources = counts
        costs = GPU_COSTS
        looks = size * (costs.look + costs.bits) + costs.start
        self.costs = costs.push, costs.pull, costs.stop, looks, costs.listing, costs.give
        self.turn = BEGINNING
        self.state = (BEGINNING, 0, 0, listed, count, -1, entries, 0, LIMIT if most is None else min(most, LIMIT), 0, 0,
                      size, stored, occupied, sources, self.room, self.apart, self.few)
        room = self.program.room
        self.meeting = u.nvals, out.nvals, device.pointer(room.meeting), base, room.apart, unlisted

    def supersteps(self: Any) -> int:
        """How many this part has done; all that was started has ended."""
        state = self.device.to_host(self.program.state()[:8])
        return int(state[7]) + (int(state[0]) in (MEETING, GIVING_AHEAD))

    def find(self: Any) -> None:
        """C and u become what they are after these."""
        state = self.device.to_host(self.program.state()[:21])
        as_list, own, entries = bool(state[3]), int(state[19]), int(state[20])
        self._write_all(own, entries, as_list, int(state[1] if as_list else state[2]))


class _PartSearch(_Part, loops_cuda.Search):
    def __init__(self, program: Growth, out: VectorBlock, u: VectorBlock, single: np.ndarray, value: Any):
        loops_cuda.Loop.__init__(self, program, out.writable_bitmap(), program.room.block, False, u, max(out.size, 1))
        self.single = single
        self.value = None if value is None else value.copy()

    def start(self, *args: Any) -> None:
        """See `_Part`; the program's value is this loop's from now on."""
        super().start(*args)
        if self.single.size:
            self.device.put_one(self.program.value, 0, self.single)


class _PartRelaxation(_Part, loops_cuda.Relaxation):
    def __init__(self, program: Lowering, out: VectorBlock, u: VectorBlock, kept: Filter | None, few: int):
        u.to_sparse()
        super().__init__(program, out, program.room.block, False, u, kept, max(out.size, 1), few)
        if u.iso or not u.nvals:
            self.own = self.device.filled(max(u.nvals, 1), u.values[0] if u.nvals else 0, out.dtype)
        self.device.clear(self.memory[self.begins[1]:])  # nothing is marked


class _Together:
    """The programs of all parts."""

    def __init__(self, rooms: Rooms, programs: list[Any]):
        self.rooms, self.programs = rooms, programs

    def run(self, loops: list[Any], out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts,
            most: int | None, entries: tuple[int, int]) -> Done | None:
        """All that can be done; None if nothing could be. An interrupt is heard while the host looks for the end."""
        with held():
            return self._run(loops, out, A, transposed, u, most, entries)

    def _run(self, loops: list[Any], out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts,
             most: int | None, entries: tuple[int, int]) -> Done | None:
        group = out.device
        counts = out.size, A.nvals, occupied_rows(A, transposed), occupied_rows(A, not transposed)
        _, unlisted = u.counts
        with ExitStack() as stack:
            for device in sorted(group.own, key=lambda one: one.number):  # other groups have them in another order
                stack.enter_context(device.lock)
            first = self.rooms.begin(group.own)
            pendings: list[Any] = []
            graphs: list[tuple] = []
            try:
                for (device, _), loop in zip(out.on_each(), loops):
                    loop.start(*entries, most, counts, unlisted, first)
                    pendings.append(device.expect(RETURNS, None))
                    graphs.append(loop.program.load(loop, pendings[-1]))
                group.transport.order()
                try:
                    _drive(group.own, graphs, pendings)
                except BaseException:
                    _break_off(loops, graphs)
                    raise
            except BaseException:
                for loop, pending in zip(loops, pendings):
                    loop.device.expect_no_more(pending)
                raise
            results = [pending.get()[0] for pending in pendings]
            self.rooms.in_use = False
        steps, total = results[0][2:4]
        if not steps:
            return None
        for (device, _), loop, (own, now, _, _, as_list, which) in zip(out.on_each(), loops, results):
            device.counters.products += steps
            loop._write_all(own, now, bool(as_list), which)
        out.stay()
        u.stay()
        return Done(steps, total)


def _drive(devices: list[Any], graphs: list[tuple], pendings: list[Any]) -> None:
    """Start rounds on all GPUs until the loop has ended on all of them."""
    parts = [_Driven(*of_part) for of_part in zip(devices, graphs, pendings)]
    last = looked = time.monotonic()
    while not all(part.pending.ready() for part in parts):
        raise_noted()
        if sum(part.goes_on() for part in parts):
            last = looked = time.monotonic()
        elif time.monotonic() - looked > PATIENCE:
            for part in parts:
                part.device.check()
            looked = time.monotonic()
            if looked - last > SILENCE:
                raise RuntimeError(f"{devices[0].name}: a loop does not go on after {parts[0].told >> 8} steps")


class _Driven:
    """A GPU of a loop."""

    def __init__(self, device: Any, graphs: tuple, pending: Any):
        self.device, self.pending = device, pending
        _, self.rounds, self.short = graphs
        self.place = pending.slot * WORDS
        self.started = self.told = self.since = 0
        self.kind = -1
        device.words[self.place + PROGRESS] = device.words[self.place + HEARD] = 0

    def goes_on(self) -> bool:
        """Start what is wanting; whether a step has been done since."""
        words, place = self.device.words, self.place
        told = words[place + PROGRESS]
        moved = told != self.told
        if moved:
            self.told = told
            if told & 255 != self.kind:
                self.kind, self.since = told & 255, told >> 8
        steady = self.kind == FEW | PUSHING and (told >> 8) - self.since >= STEADY
        gates = PUSHES if steady else GATES
        if self.started - words[place + HEARD] < gates and not self.pending.ready():
            self.device.use()
            self.device.start_graph(self.short if steady else self.rounds)
            self.started += gates
        return moved


def _break_off(loops: list[Any], graphs: list[tuple]) -> None:
    """C and u become what the last superstep that was begun makes of them, on all parts, after what was started."""
    for _ in range(64):
        for loop in loops:
            loop.device.check()
        done = [loop.supersteps() for loop in loops]
        last = max(done)
        if min(done) == last:
            break
        for loop, (_, rounds, _), own in zip(loops, graphs, done):
            if own < last:
                loop.device.use()
                loop.program.state()[MOST:MOST + 1] = last  # and no further, though others may have given for it
                loop.device.start_graph(rounds)
    else:
        raise RuntimeError(f"{loops[0].device.name}: parts of a loop that was broken off stay at supersteps {done}")
    for loop in loops if last else ():
        with loop.device:
            loop.device.counters.products += last
            loop.find()
