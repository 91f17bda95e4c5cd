"""Loops of one product on a GPU that needs no host in between: searches that grow, and relaxations.

Method: a search is C<!s(C)> = u any.f A with u = what is new, again and again; a relaxation accumulates into C by its
own monoid, with u = what has changed, or the part of it that a selection accepts. A level of a search is one kernel of
a few (push into a list, push into a bitmap, pull) and, where u changes its form, one or two before; one of a relaxation
is a push. The host starts all of them in turns, ahead of what it knows, as graphs; which of them has something to do, a
word in the GPU's memory says, and the others end at once (kernels/cuda/after.cuh). So a level costs what its kernel
costs, and some microseconds. What is next is chosen by the rule of `engine.plan.push_limit`, as the host does, or as
the context's direction says. A relaxation is left where so many edges leave u that pulling is cheaper.

Data encoding: u is one of two lists with the running sums of row lengths, or one of two bitmaps; it has no values,
since its entries are C's; where that is not known, a relaxation begins by comparing them. In a relaxation C's may have
been lowered further by the time they are read; where the end depends on that it is not run so. C and u are taken as
they are, and left as single products leave them. Memory of a search: 8 bytes a position (10 with 64-bit positions), if
not costs choose 26 (34), and what is to be left if the number of iterations is limited: 2 (3), or 5 (9), and C's values
once more; of a relaxation 2, and 24 (32) for each of as many entries as its lists may have: one a position, or a
`ROOM_SHARE` of the matrix's if that is less and pulls may take over.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from semirings import expr as ex
from spgraph import _record, context
from spgraph._interrupts import held, raise_noted
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.loop_programs_cuda import PUSHES, Growth, Lowering
from spgraph.engine.loops import Done
from spgraph.engine.operators import settles
from spgraph.engine.plan import GPU_COSTS, Costs, push_limit
from spgraph.engine.product import Filter, expected_edges, occupied_rows
from spgraph.engine.products_cuda import is_monotone
from spgraph.engine.queues_cuda import pad
from spgraph.engine.steps_cuda import LONG_SHARE
from spgraph.engine.vector_products import KEPT, edges_limit
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES

__all__ = ["Loop", "Relaxation", "Search", "grow", "most_pushed", "relax"]

ENDED, LISTING, CLEARING, CLEARING_MARKS, SPREADING, PUSHING, MARKING, PULLING, MAKING = range(9)  # as in after.cuh
FEW = 128  # with the turn: few edges leave u
STEADY = 8  # levels after which a row of pushes is long
MOST_LISTED, ROOM_SHARE = 1 << 20, 16  # entries of a relaxation's lists: so many, or a share of the matrix's
ALIGNED = 256  # bytes
LEAST_ROOM = 1024
LIMIT = 1 << 62
PROGRESS, HEARD, WORDS = 5, 6, 8  # of a result's place: what after.cuh writes there
RETURNS = 6
STEPS = 7  # that word of `struct Loop`
PATIENCE = 0.05  # seconds of polling before the host looks for errors
UNHEARD = 1000  # kernels started since something was done: then nothing will be


RISING = frozenset({"fmin", "fmax", "minimum", "maximum", "logical_and", "logical_or"})
RISING_BITS = frozenset({"bitwise_and", "bitwise_or"})  # of Booleans


def grow(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool, known: bool,
         most: int | None, value: Any = None) -> Done | None:
    """See `engine.loops.run_alone`, and with the `value` of u's entries `engine.loops.run_levels`."""
    direction = context.current().direction
    if not (semiring.monoid.terminal_any and 0 < out.nvals < out.size and u.nvals < u.size
            and (A.has_transpose or (transposed and direction == "push"))
            and (value is not None or u.dtype is out.dtype) and _suits(out, A, u, most)):
        return None
    key = "grow", semiring, transposed, flipped, direction, out.dtype, index_dtype(out.size)
    program = A.steps.get(key)
    if program is None or not program.fits(A, transposed):
        program = _keep(A, key, Growth(out, A, transposed, semiring, flipped, direction))
    if program.reads_u and not known:
        return None
    return Search(program, out, A, transposed, u, value).run(most)


def relax(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool, known: bool,
          most: int | None, accum, kept: Filter | None) -> Done | None:
    """See `engine.loops.run_alone`."""
    monoid = semiring.monoid
    if most is not None or context.current().direction == "pull" or not _in_any_order(semiring):
        return None
    if not ((known or not u.iso) and out.nvals and accum.key == monoid.binaryop.key and out.dtype == monoid.type.np_type
            and u.dtype is out.dtype and settles(monoid) and (kept is None or is_monotone(kept.op, monoid))
            and (transposed or A.has_transpose) and _suits(out, A, u, most)):
        return None
    room, few = _most_listed(A, transposed, out.size)
    if u.format != "sparse" or u.nvals > room:
        return None
    if u.queue is not None and u.queue[0] is A.oriented(not transposed).indptr:
        edges = u.queue[2]
    else:
        edges = u.nvals * A.nvals / A.nrows
    if edges > few:
        return None
    out.writable_bitmap(full=True)
    full = out.format == "full"
    if not full:
        pad(out, monoid.start)
    key = ("relax", semiring, transposed, flipped, out.dtype, index_dtype(out.size), full, u.iso,
           kept and (kept.op.key, kept.thunk.dtype))
    program = A.steps.get(key)
    if program is None or not program.fits(A, transposed):
        program = _keep(A, key, Lowering(out, A, transposed, u, semiring, flipped, accum, kept))
    return Relaxation(program, out, A, transposed, u, kept, room, few).run(most)


def _in_any_order(semiring) -> bool:
    """Whether a relaxation ends at the same values whichever of u's values, old or new, a term is made of.

    So it is if the operator never falls where its operand rises; sums of integers may wrap, those of 64 bits are taken
    for such that do not, and sums of floats for such that do not add infinities of both signs.
    """
    expr, dtype = semiring.binaryop.expr, semiring.monoid.type.np_type
    if isinstance(expr, ex.Input):
        return True
    if not all(isinstance(part, ex.Input) for part in getattr(expr, "args", (None,))):
        return False
    if dtype.kind == "b" and expr.label in RISING_BITS:
        return True
    return expr.label in RISING or (expr.label == "add" and (dtype.kind == "f" or dtype.itemsize == 8))


def _most_listed(A: MatrixBlock, transposed: bool, size: int) -> tuple[int, int]:
    """Entries of a relaxation's lists, and edges beyond which it is left: to pull, or as a list might be too long."""
    few = most_pushed(A, transposed, GPU_COSTS)
    if context.current().direction == "push":
        return size, few
    room = min(size, max(MOST_LISTED, A.nvals // ROOM_SHARE))
    return room, few if room == size else min(few, room)


def most_pushed(A: Any, transposed: bool, costs: Costs) -> int:
    """Edges beyond which a relaxation is to be pulled."""
    if context.current().direction == "push":
        return MOST_EDGES
    rows = occupied_rows(A, transposed)
    return int(min(push_limit(A.nrows, A.nvals, rows, False, 1, costs, rows), MOST_EDGES))


def _keep(A: MatrixBlock, key: tuple, program: Any) -> Any:
    """The program, which the matrix keeps with what it keeps of single products."""
    if len(A.steps) >= KEPT and key not in A.steps:
        A.steps.clear()
    A.steps[key] = program
    return program


def _suits(out: VectorBlock, A: MatrixBlock, u: VectorBlock, most: int | None) -> bool:
    """Whether a loop can be run here and now; if so, vectors lie in the matrix's order."""
    if _record.listener is not None or most == 0 or u is out:
        return False
    if not (A.width == 1 and not A.most and A.rows is A.cols and u.nvals):
        return False
    if not (0 < A.nvals < MOST_EDGES and out.size == u.size == A.nrows == A.ncols <= COUNT_MASK):
        return False
    if not (out.device is u.device is A.device):
        return False
    for block in (out, u):
        if block.partition is not A.rows:
            block.rehome(A.rows)
    return True


# ---- loops ---------------------------------------------------------------------------------------------
class Loop:
    """What the kernels of a program work on, and driving them."""

    few = -1  # edges beyond which it is left

    def __init__(self, program: Any, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, room: int):
        self.program, self.out, self.u, self.room = program, out, u, room
        self.device: Any = out.device
        self.A, self.transposed, self.rows = A, transposed, A.oriented(not transposed)
        self.occupied = occupied_rows(A, transposed)
        xp, size = self.device.xp, out.size
        self.apart = -(-size // ALIGNED) * ALIGNED
        self.width = index_dtype(size)
        ends = 2 * room * 8, 2 * room * (8 + self.width.itemsize)  # of sums, and of lists behind them
        self.begins = ends[0], -(-ends[1] // ALIGNED) * ALIGNED  # of lists and bits
        self.memory = xp.empty(self.begins[1] + 2 * self.apart, np.uint8)
        costs = GPU_COSTS
        self.costs = costs.push, costs.pull, costs.stop, size * costs.look + costs.start, costs.listing, 0.0
        self.turn, self.value = ENDED, None
        self.spare: Any = None
        self.first: Any = None
        self.thunk: Any = None
        self.own: Any = None  # u's values, if these are to be compared with C's
        self.state: tuple = ()
        self.meeting = (0,) * 6  # of a part, see `engine.parts.loops`
        self._changing: tuple = ()

    def changing(self) -> tuple:
        """What differs from loop to loop: lists, sums, bitmaps, the list to begin with, C, the thunk, u's values."""
        if not self._changing:
            lists, bits = self.begins
            memory, out = self.memory, self.out
            listed = memory[lists:lists + 2 * self.room * self.width.itemsize].view(self.width)
            first = self.first if self.turn == MAKING else listed[:]  # nobody reads it
            self._changing = (listed, memory[:lists].view(np.int64), memory[bits:], first, out.present, out.values,
                              self.thunk, self.own)
        return self._changing

    def addresses(self) -> tuple:
        """The same as kernels take it."""
        pointer, begin, out = self.device.pointer, self.device.pointer(self.memory), self.out
        lists, bits = begin + self.begins[0], begin + self.begins[1]
        first = pointer(self.first) if self.turn == MAKING else lists
        present = 0 if out.present is None else pointer(out.present)
        own = 0 if self.own is None else pointer(self.own)
        return lists, begin, bits, first, present, pointer(out.values), self.thunk, own

    def begin(self) -> int:
        """Whose turn it is: u becomes the first list, or the first bitmap."""
        raise NotImplementedError

    def run(self, most: int | None) -> Done | None:
        """All that can be done; None if nothing could be. An interrupt is heard while the host looks for the end."""
        with held():
            return self._run(most)

    def _run(self, most: int | None) -> Done | None:
        device, out, u, rows = self.device, self.out, self.u, self.rows
        self.turn = self.begin()
        if most is not None:  # something may be left: all memory that it takes, before anything changes
            self.spare = (device.xp.empty(self.room, self.width), device.xp.empty(out.size, np.uint8),
                          None if self.value is not None else device.xp.empty(out.size, out.dtype))
        self.state = (self.turn, 0, 0, self.turn == MAKING, u.nvals, -1, out.nvals, 0,
                      LIMIT if most is None else min(most, LIMIT), 0, 0, out.size, rows.nvals, self.occupied,
                      rows.occupied, self.room, self.apart, self.few)
        with device.lock:
            pending = device.expect(RETURNS, None)
            try:
                graphs = self.program.load(self, pending)
                try:
                    self._drive(graphs, pending)
                except BaseException:
                    self._break_off()
                    raise
            except BaseException:
                device.expect_no_more(pending)
                raise
            count, entries, steps, total, as_list, which = pending.get()[0]
        if not steps:
            return None
        device.counters.products += steps
        self._write_all(count, entries, bool(as_list), which)
        return Done(steps, total)

    def _break_off(self) -> None:
        """C and u become what the last superstep that was done has made of them; what was started ends first."""
        device = self.device
        device.check()
        state = device.to_host(self.program.state()[:STEPS + 1])
        turn, which, bits, as_list, count, _, entries, steps = (int(word) for word in state)
        if steps and turn != MAKING:
            device.counters.products += steps
            self._write_all(count, entries, bool(as_list), which if as_list else bits)

    def _write_all(self, count: int, entries: int, as_list: bool, which: int) -> None:
        self.write(entries - (0 if self.value is None else count))
        self._write_u(count, as_list, which)

    def _drive(self, graphs: tuple, pending: Any) -> None:
        """Start kernels until the loop has ended: all in turns, or pushes where few edges were pushed for long."""
        device, program, (first, rounds, pushes) = self.device, self.program, graphs
        together = program.rounds * program.pushes
        words, place = device.words, pending.slot * WORDS
        words[place + PROGRESS] = words[place + HEARD] = 0
        if self.turn == MAKING:
            device.start_graph(first)
        started = before = told = since = 0
        kind, looked = -1, time.monotonic()
        while not pending.ready():
            raise_noted()
            if words[place + PROGRESS] != told:
                told, before = words[place + PROGRESS], started
            elif started - before > UNHEARD:
                raise RuntimeError(f"{device.name}: a loop does not go on after {told >> 8} steps, turn {told & 127}")
            if told & 255 != kind:
                kind, since = told & 255, told >> 8
            waiting = started - words[place + HEARD]
            steady = kind == FEW | PUSHING and (told >> 8) - since >= STEADY
            if steady and waiting < PUSHES:
                device.start_graph(pushes)
                started += PUSHES
            elif not steady and waiting < together:
                device.start_graph(rounds)
                started += together
            else:
                if time.monotonic() - looked > PATIENCE:
                    device.check()
                continue
            looked = time.monotonic()

    def write(self, entries: int) -> None:
        """C as it is now, with so many entries."""
        raise NotImplementedError

    def _write_u(self, count: int, as_list: bool, which: int) -> None:
        """u as it is now, and out of C again, if it has a value of its own."""
        out, u, value = self.out, self.u, self.value
        if not count:
            u.become(out.size, u.dtype)
            return
        iso, device = value is not None, self.device
        if self.spare is None:  # broken off
            self.spare = (device.xp.empty(self.room, self.width), device.xp.empty(out.size, np.uint8),
                          None if iso else device.xp.empty(out.size, out.dtype))
        found, bits, values = self.spare
        if as_list:
            found = found[:count]
            device.copy_into(found, 0, self.changing()[0][which * self.room:which * self.room + count])
            if iso:
                out.present[found] = 0
            else:
                values = device.xp.take(out.values, found, out=values[:count])
            u.set_sparse(found, value if iso else values, iso=iso, sorted=count < 2, partition=out.partition)
        else:
            device.copy_into(bits, 0, self.changing()[2][which * self.apart:which * self.apart + out.size])
            if iso:
                out.present ^= bits
            else:
                device.copy_into(values, 0, out.values)
            u.set_bitmap(bits, value if iso else values, count, iso=iso, partition=out.partition)


class Search(Loop):
    """C grows."""

    def __init__(self, program: Growth, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock,
                 value: Any):
        by_costs = context.current().direction == "auto"  # then what is not a short list is a bitmap
        super().__init__(program, out.writable_bitmap(), A, transposed, u,
                         max(out.size // LONG_SHARE, min(out.size, LEAST_ROOM)) if by_costs else out.size)
        self.value: Any = value

    def begin(self) -> int:
        """See `Loop`."""
        u = self.u
        listed = u.nvals <= self.room
        if listed and u.format == "sparse":
            self.first = u.indices.astype(self.width, copy=False)  # kernels are not told its type again
            return MAKING
        u.to_bitmap()
        self.device.copy_into(self.memory, self.begins[1], u.present)
        limit: Any = edges_limit(self.A, self.transposed, self.out.size - self.out.nvals, True, u, False, None, True)
        pushes = limit is not None and expected_edges(u, self.A, not self.transposed) <= limit
        return LISTING if listed and pushes else PULLING

    def write(self, entries: int) -> None:
        """See `Loop`."""
        self.out.set_bitmap(self.out.present, self.out.values, entries)


class Relaxation(Loop):
    """C's values go one way; pushes alone."""

    def __init__(self, program: Lowering, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock,
                 kept: Filter | None, room: int, few: int):
        super().__init__(program, out, A, transposed, u, room)
        self.few = few
        self.own = None if u.iso else u.values
        self.thunk = None if kept is None else kept.thunk
        self.padding = out.padding

    def begin(self) -> int:
        """See `Loop`."""
        self.first = self.u.indices.astype(self.width, copy=False)  # as in a search
        self.device.clear(self.memory[self.begins[1]:])  # nothing is marked
        return MAKING

    def write(self, entries: int) -> None:
        """See `Loop`."""
        if self.out.format != "full":
            self.out.set_bitmap(self.out.present, self.out.values, entries, padding=self.padding)
