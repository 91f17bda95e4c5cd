"""Searches that grow, in parts on GPUs that see each other, without the host.

Method: the kernels of `engine.loops_cuda`, and those by which owners store what others look at of u (`exchange.cuh`).
After each product every GPU tells all others how much it has found; each adds up and chooses what is next, all the same
(PARTED in kernels/cuda/after.cuh). The host starts rounds of all kernels on every GPU, ahead of what it knows: no GPU
waits for another but for a moment in a kernel of one warp, and goes on in a later round if that was not enough.

Data encoding: each part has its own entries of u as a list or a bitmap, as on one GPU, and room for what it looks at of
all of u: a list with the running sum of row lengths, or bits and bytes. Entries of u have no values, or one in common.
Memory of a part, kept with the border: 14 (17) bytes a column; of a loop: 26 (34) an own vertex.
Border values: a column, and a running sum of 8 bytes, for each entry and other part that looks at it; a bit for each
vertex of the border in a pull.
"""

from __future__ import annotations

import struct
import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from semirings._cuda import C_TYPES
from spgraph import _record, context
from spgraph.block import VectorBlock
from spgraph.engine import loops_cuda
from spgraph.engine.loops_cuda import FEW, HEARD, LIMIT, PATIENCE, PROGRESS, RETURNS, STEADY, WORDS, Done
from spgraph.engine.mask import EMPTY_BITS
from spgraph.engine.parts.products import _scattered_by
from spgraph.engine.plan import GPU_COSTS
from spgraph.engine.product import occupied_rows, term_of
from spgraph.exchange.border import Border, _single, sharing_of
from spgraph.exchange.direct import Direct
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES

__all__ = ["grow"]

ENDED, BEGINNING, MEETING, GIVING = 0, 9, 10, 11  # as in after.cuh
MOST_PARTS = 16
MEETING_WORDS = 3 + MOST_PARTS + 2 * 4 * MOST_PARTS + MOST_PARTS  # of `struct Meeting`
PEERS_AT = 3  # in it
RUN = struct.Struct("@q")
STEPS_OF_A_RUN = 1 << 32  # numbers that a loop's steps have for themselves
ROUNDS, PUSHES = 1, 8  # started together: rounds of all kernels, rounds of those that short lists need
SILENCE = 60.0  # seconds without a step on any GPU, after which none will come


def grow(out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, semiring, flipped: bool,
         most: int | None) -> Done | None:
    """See `engine.loops.run_alone`."""
    single = _suits(out, A, transposed, u, semiring, flipped, most)
    if single is None:
        return None
    border = sharing_of(A.oriented(transposed))
    if border.direct is None or not border.can_push or not border.direct.lists.fit:
        return None
    if not all(block.nrows and block.nvals for block in border.blocks):
        return None
    key = "grow", semiring, flipped, out.dtype, single.size > 0
    together = border.loops.get(key)
    if together is None:
        together = border.loops[key] = _Together(border, A, out, semiring, flipped, single.size > 0)
    return together.run(out, A, transposed, u, single, most)


def _suits(out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, semiring, flipped: bool,
           most: int | None) -> np.ndarray | None:
    """None if a loop cannot be run so here and now, else what u's entries all are (nothing, if nobody asks)."""
    group = out.device
    if _record.listener is not None or context.current().direction != "auto" or most == 0 or u is out:
        return None
    if not (group.transport.direct and group.exchange() != "broadcast" and 1 < group.parts <= MOST_PARTS
            and len(set(group.devices)) == group.parts):
        return None
    if not (semiring.monoid.terminal_any and A.rows is A.cols and 0 < A.nvals < MOST_EDGES
            and out.size == u.size == A.nrows == A.ncols <= COUNT_MASK):
        return None
    if not (0 < out.nvals < out.size and 0 < u.nvals < u.size) or _scattered_by(A, transposed) is not None:
        return None
    uses = term_of(semiring, flipped, A.dtype, u.dtype).uses
    if "u" not in uses:
        return np.empty(0, out.dtype)
    single = _single(u)
    if uses & {"a", "i", "k"} or u.dtype != out.dtype or single is None:
        return None
    return single


def _direct(border: Border) -> Direct:
    assert border.direct is not None
    return border.direct


class _PartProgram(loops_cuda._Growth):
    """The kernels of one part, and what it keeps for them."""

    rounds = ROUNDS

    def __init__(self, border: Border, a: int, out: VectorBlock, semiring, flipped: bool, valued: bool,
                 symmetric: bool):
        block, part = border.blocks[a], border.group.mine[a]
        columns = block.oriented(True)
        super().__init__(out, block, False, semiring, flipped, symmetric, PARTED="1", U_ISO=valued)
        device: Any = block.device
        xp, direct = device.xp, _direct(border)
        numbers, order = direct.lists._numbers[a], direct.lists._orders[a]
        self._device, self._part, self._block = device, part, block
        if symmetric:
            self._leaving = block.indptr
        else:  # of each own vertex to the rows of all parts
            step = 1 if border.duplicate == "all" else 2
            lengths = numbers.reshape(-1, len(order) - 1, step)[:, :, -1]
            begin = border.begins[a][part]
            own = xp.diff(columns.indptr[begin:begin + block.nrows + 1])
            leaving = own.astype(np.int64) + xp.maximum(lengths, 0).sum(axis=1)
            self._leaving = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(leaving)])
        self.meeting = xp.zeros(MEETING_WORDS, np.int64)
        self.value = xp.zeros(1, out.dtype)
        ncols = block.ncols
        self.came = xp.empty(ncols, numbers.dtype), xp.empty(ncols, np.int64)  # columns, running sums
        self.ends, self.words, total, self.firsts = direct._places[a]
        self.bits, self.bytes = xp.zeros(max(total, 1), np.uint32), xp.empty(ncols, np.uint8)
        self.lent, self.lent_firsts = direct._given[a]
        self.tables: Any = None
        self._give = loops_cuda._kernel(
            device, "exchange.give_list", ("parts", border.duplicate), VALUES=False, ALL=border.duplicate == "all",
            SUMS=C_TYPES["int64"], PARTED="1")
        self._give_bits = loops_cuda._kernel(device, "exchange.give_all", ("parts",), VALUES=False, U_FULL=False,
                                             LACKS=True, PARTED="1")
        self._arrange = loops_cuda._kernel(device, "exchange.arrange", ("parts",), VALUES=False, LACKS=True, PARTED="1")
        self._gate = loops_cuda._kernel(device, "queue.gate", ("parts",), PARTED="1")
        self._numbers, self._begin = numbers, columns.indptr
        self._at, self._own_at = border.begins[a][order[0]], border.begins[a][part]
        self._others = len(order) - 1

    def meet(self, programs: list[_PartProgram], order: list[int]) -> None:
        """Learn where the others have what this one writes into; `order` is circular from this part on."""
        xp = self._device.xp
        self.meeting[PEERS_AT:PEERS_AT + len(programs)] = xp.asarray(
            np.array([one._device.pointer(one.meeting) for one in programs], np.int64))
        self.meeting[:2] = xp.asarray(np.array([len(programs), self._part], np.int64))
        others = [programs[q] for q in order]
        end = 2 * self.meeting.itemsize
        columns = [[one._device.pointer(one.came[0]) for one in others],
                   [one._device.pointer(one.came[1]) for one in others],
                   [one._device.pointer(one.meeting) + end for one in others],
                   [one._device.pointer(one.bits) + 4 * one.firsts[self._part] for one in others[1:]]]
        self.tables = [xp.asarray(np.array(column, np.uint64)) for column in columns]

    def uses(self, loop: Any) -> list[Any]:
        """See `loops_cuda._Program`."""
        lists, sums, bits, _, present, values, *_ = loop.changing()
        use, none, most, size = loops_cuda._Use, EMPTY_BITS, 8 * self._many, loop.out.size
        blocks = loops_cuda._blocks
        begin, indices, entries = self._rows
        to_columns, to_sums, to_end, to_bits = self.tables
        listing, clear, spread, push, mark, pull = self._kernels
        columns, running = self.came
        pushed = (running, 0, begin, columns, self.value, indices, entries, none, none, present, values, bits, 1, lists,
                  none, sums, loops_cuda.NO_THUNK, self._leaving, *self._ids)
        pulled = (*self._columns, self.bytes, self.value, present, none, present, values, none, bits, none,
                  *self._column_ids)
        gate = use(self._gate, size, (), 1)
        words = loop.apart // 4
        clearing = use(clear, words, (bits,), blocks(words, most))
        given = (lists, none, self._numbers, self._begin, self._at, self._others, 0, to_columns, none, to_sums, to_end)
        return [
            gate,
            use(listing, size, (self._leaving, bits, none, lists, none, sums), blocks(size // 16, most)),
            clearing,
            use(spread, 0, (lists, bits), blocks(loop.room, most // 2)),
            use(self._give, 0, given, blocks(loop.room, most // 2)),
            use(self._give_bits, self.lent.size, (self.lent, self.lent_firsts, self._others, bits, none, none, to_bits),
                blocks(self.lent.size, most)),
            gate,
            use(self._arrange, self._block.ncols, (bits, none, size, self._own_at, self.ends, self.words, self.bits,
                                                   self.bytes, none), blocks(self._block.ncols, most)),
            clearing,
            use(push, 0, pushed, most // 2),
            use(mark, 0, pushed, most // 2),
            use(pull, size, pulled, blocks(size, most)),
        ]

    def _graphs_of(self, device: Any, launches: list[tuple]) -> tuple[Any, Any, Any]:
        gate, _, _, _, give, _, _, _, _, push, *_ = launches
        short = [gate, (give[0], min(give[1], self._many), *give[2:]), gate, (push[0], self._many, *push[2:])]
        return None, device.graph(launches * ROUNDS), device.graph(short * PUSHES)


class _PartSearch(loops_cuda._Search):
    """What one part works on."""

    def __init__(self, program: _PartProgram, out: VectorBlock, u: VectorBlock, size: int, base: int):
        loops_cuda._Loop.__init__(self, program, out.writable_bitmap(), program._block, False, u, max(out.size, 1))
        self.value = None
        self.costs = GPU_COSTS.push, GPU_COSTS.pull, GPU_COSTS.stop, size * GPU_COSTS.look + GPU_COSTS.start
        self.base = base

    def start(self, count: int, entries: int, most: int | None, counts: tuple, single: np.ndarray) -> None:
        """All memory that is needed, and the state: u has so many entries on all parts, C so many."""
        device, out, u, program = self.device, self.out, self.u, self.program
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
        if single.size:
            program.value[:] = device.to_device(single)
        if most is not None:
            self.spare = (device.xp.empty(self.room, self.width), device.xp.empty(out.size, np.uint8),
                          device.xp.empty(out.size, out.dtype))
        size, stored, occupied, sources = counts
        self.turn = BEGINNING
        self.state = (BEGINNING, 0, 0, listed, count, -1, entries, 0, LIMIT if most is None else min(most, LIMIT), 0, 0,
                      size, stored, occupied, sources, self.room, self.apart, -1)
        self.meeting = u.nvals, out.nvals, device.pointer(program.meeting), self.base

    def levels_done(self) -> int:
        """How many levels this part has done; all that was started has ended."""
        state = self.device.to_host(self.program.state()[:8])
        return int(state[7]) + (int(state[0]) == MEETING)

    def found(self) -> None:
        """C and u become what they are after these levels."""
        state = self.device.to_host(self.program.state()[:21])
        as_list, own, entries = bool(state[3]), int(state[19]), int(state[20])
        self._write_all(own, entries, as_list, int(state[1] if as_list else state[2]))


class _Together:
    """The programs of all parts."""

    def __init__(self, border: Border, A: MatrixParts, out: VectorParts, semiring, flipped: bool, valued: bool):
        self.programs: list[_PartProgram] = []
        self.runs = 0
        for a, (_, piece) in enumerate(out.on_each()):
            self.programs.append(_PartProgram(border, a, piece, semiring, flipped, valued, A.symmetric is True))
        for a, _ in enumerate(out.on_each()):
            self.programs[a].meet(self.programs, _direct(border).lists._orders[a])

    def run(self, out: VectorParts, A: MatrixParts, transposed: bool, u: VectorParts, single: np.ndarray,
            most: int | None) -> Done | None:
        """All that can be done."""
        u.rehome(A.rows)
        out.rehome(A.rows)
        group = out.device
        count, entries = u.nvals, out.nvals
        counts = out.size, A.nvals, occupied_rows(A, transposed), occupied_rows(A, not transposed)
        with ExitStack() as stack:
            for device in group.own:
                stack.enter_context(device.lock)
            self.runs += 1
            loops, pendings = [], []
            try:
                for (device, piece), own, program in zip(out.on_each(), u.pieces, self.programs):
                    loop = _PartSearch(program, piece, own, out.size, self.runs * STEPS_OF_A_RUN)
                    loop.start(count, entries, most, counts, single)
                    loops.append(loop)
                    pendings.append(device.expect(RETURNS, None))
                graphs = [loop.program.load(loop, pending)
                          for (_, _), loop, pending in zip(out.on_each(), loops, pendings)]
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
        steps, total = results[0][2:4]
        for (device, _), loop, (own, now, _, _, as_list, which) in zip(out.on_each(), loops, results):
            device.counters.products += steps
            loop._write_all(own, now, bool(as_list), which)
        out.stay()
        u.stay()
        return Done(steps, total)


def _drive(devices: list[Any], graphs: list[tuple], pendings: list[Any]) -> None:
    """Start rounds on all GPUs until the loop has ended on all of them."""
    parts = list(zip(devices, graphs, pendings))
    for device, _, pending in parts:
        place = pending.slot * WORDS
        device.words[place + PROGRESS] = device.words[place + HEARD] = 0
    started, told = [0] * len(parts), [0] * len(parts)
    kinds, since = [-1] * len(parts), [0] * len(parts)
    last = looked = time.monotonic()
    waiting = parts
    while waiting:
        idle = True
        for k, (device, (_, rounds, pushes), pending) in enumerate(parts):
            if pending.ready():
                continue
            words, place = device.words, pending.slot * WORDS
            if words[place + PROGRESS] != told[k]:
                told[k] = words[place + PROGRESS]
                last = time.monotonic()
                if told[k] & 255 != kinds[k]:
                    kinds[k], since[k] = told[k] & 255, told[k] >> 8
            steady = kinds[k] == FEW | GIVING and (told[k] >> 8) - since[k] >= STEADY
            gates = 2 * PUSHES if steady else 2 * ROUNDS
            if started[k] - words[place + HEARD] < gates:
                device.use()
                device.start_graph(pushes if steady else rounds)
                started[k] += gates
                idle = False
        waiting = [pending for pending in pendings if not pending.ready()]
        if idle and time.monotonic() - looked > PATIENCE:
            looked = time.monotonic()
            if looked - last > SILENCE:
                raise RuntimeError(f"{devices[0].name}: a loop does not go on after {told[0] >> 8} steps")


def _break_off(loops: list[_PartSearch], graphs: list[tuple]) -> None:
    """C and u become what the last level that was begun makes of them, on all parts; what was started ends first."""
    for _ in range(64):
        for loop in loops:
            loop.device.check()
        done = [loop.levels_done() for loop in loops]
        if min(done) == max(done):
            break
        for loop, (_, rounds, _), own in zip(loops, graphs, done):
            if own < max(done):
                loop.device.use()
                loop.device.start_graph(rounds)
    if min(done) == max(done) > 0:
        for loop in loops:
            with loop.device:
                loop.device.counters.products += max(done)
                loop.found()
