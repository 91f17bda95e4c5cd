"""A search that grows, level by level, on a GPU that needs no host in between.

Method: C<!s(C)> = u any.f A with u = what is new, again and again. A level of it is one kernel of a few (push into a
list, push into a bitmap, pull) and, where u changes its form, one or two before. Their arguments stay the same, so they
are packed once, and the host starts all of them in turns, ahead of what it knows; which of them has something to do, a
word in the GPU's memory says, and the others end at once (kernels/cuda/after.cuh). So a level costs what its kernel
costs, and some microseconds. What is next is chosen by the rule of `engine.plan.push_limit`, as the host does.

Data encoding: u is one of two lists with the running sums of row lengths, or one of two bitmaps; it has no values,
since its entries are C's. `grow` takes C and u as they are, and leaves them as single products do. Memory: 8 bytes a
position (10 with 64-bit positions).
"""

from __future__ import annotations

import struct
import time
from typing import Any

import numpy as np

from semirings import binary
from spgraph import _record, context
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine.mask import EMPTY_BITS, NO_MASK, MaskView
from spgraph.engine.plan import GPU_COSTS
from spgraph.engine.product import expected_edges, occupied_rows
from spgraph.engine.products_cuda import CudaProduct
from spgraph.engine.queues_cuda import counts_edges
from spgraph.engine.steps_cuda import LONG_SHARE, NO_THUNK
from spgraph.engine.vector_products import edges_limit
from spgraph.kernels.cuda.counts import COUNT_MASK, MOST_EDGES
from spgraph.kernels.cuda.launch import MOST_BYTES

__all__ = ["grow"]

ENDED, LISTING, CLEARING, CLEARING_MARKS, SPREADING, PUSHING, MARKING, PULLING, MAKING = range(9)  # as in after.cuh
FEW = 8  # with the turn: few edges leave u
PUSH, MAKE = 3, 6  # places of these kernels
ROUNDS, PUSHES = 2, 32  # rounds, or pushes of a long row of them, that are started together, half of them ahead
STEADY = 8  # levels after which a row of pushes is long
ALIGNED = 256  # bytes
THREADS = 256  # of a block
LEAST_ROOM = 1024
LIMIT = 1 << 62
STATE = struct.Struct("@17q4d")  # `struct Loop`
WORD, COUNT, PLACES = struct.Struct("@P"), struct.Struct("@q"), struct.Struct("@PPQ")
PROGRESS, HEARD, WORDS = 5, 6, 8  # of a result's place: what after.cuh writes there
PATIENCE = 0.05  # seconds of polling before the host looks for errors
UNHEARD = 1000  # kernels started since something was done: then nothing will be


def grow(out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool, known: bool,
         most: int | None) -> int:
    """See `engine.loops.grow`."""
    if most == 0 or not _suits(out, A, u, semiring):
        return 0
    for block in (out, u):
        if block.partition is not A.rows:
            block.rehome(A.rows)
    key = "loop", semiring, transposed, flipped, out.dtype
    program = A.steps.get(key)
    if program is None or not program.fits(A, transposed):
        program = A.steps[key] = _Program(out, A, transposed, u, semiring, flipped)
    if not known and program.reads_u:
        return 0
    return _Search(program, out, A, transposed, u).run(most)


def _suits(out: VectorBlock, A: MatrixBlock, u: VectorBlock, semiring) -> bool:
    """Whether the loop can be run here and now."""
    if _record.listener is not None or context.current().direction != "auto":
        return False
    if not (A.width == 1 and not A.most and semiring.monoid.terminal_any and A.rows is A.cols and A.has_transpose):
        return False
    if not (0 < A.nvals < MOST_EDGES and A.nrows == A.ncols <= COUNT_MASK and u.dtype is out.dtype):
        return False
    return u is not out and 0 < out.nvals < out.size and 0 < u.nvals < u.size


class _Program:
    """The kernels of a statement, as the matrix keeps them: its arrays, not its block, which keeps them in turn."""

    __slots__ = ("_changing", "_columns", "_content", "_graphs", "_kernels", "_many", "_pull_ids", "_push_ids", "_rows",
                 "_stream", "_table", "_told", "reads_u")

    def __init__(self, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool):
        rows, columns = A.oriented(not transposed), A.oriented(transposed)
        product = CudaProduct(out, None, NO_MASK, binary.first[out.dtype], False, A, transposed, u, semiring, flipped,
                              u, None, False, True)
        device, dtype = product.device, out.dtype
        self.reads_u = "u" in product.term.uses
        self._rows, self._columns = _arrays(rows), _arrays(columns)
        self._push_ids, self._pull_ids = product.ids(rows, swap=True), product.ids(columns)
        self._many = device.multiprocessors
        same = {"CHANGED": True, "C_FULL": False, "LOOPED": True, "U_ISO": False}
        kernels = [_kernel(device, "list", VALUES=False), _kernel(device, "clear"), _kernel(device, "spread")]
        make = _kernel(device, "make", VALUES=False)
        for bitmap in (False, True):
            key = ("loop push", *product.key(rows), dtype, bitmap)
            kernels.append(product.kernel(key, "push.push_scatter", rows, dtype, GROWS=True, BITMAP=bitmap,
                                          FILTER=False, NEXT=True, VALUES=False, **same))
        product.view = MaskView("sc", EMPTY_BITS, EMPTY_BITS, -1)
        counts = counts_edges(columns)
        key = ("loop pull", *product.key(columns), dtype, counts)
        kernels.append(product.kernel(key, "pull.pull_until", columns, dtype, U_FULL=False, REPLACE=False, ACCUM=True,
                                      C_ISO=False, FRESH=False, CHVALS=False, NEXT=counts, HOT=0, HALVED=0, RUNS=1,
                                      BY_ROW="i" in product.term.uses, MOST=0, **same))
        self._kernels = [*kernels, make]
        self._table = device.xp.empty(len(self._kernels) * MOST_BYTES + STATE.size, np.uint8)
        self._content: Any = None  # of the table, as it was written last
        self._graphs: Any = None
        self._stream: Any = None

    def fits(self, A: MatrixBlock, transposed: bool) -> bool:
        """Whether the matrix is stored as it was."""
        return all(now is then for block, arrays in ((A.oriented(not transposed), self._rows),
                                                     (A.oriented(transposed), self._columns))
                   for now, then in zip(_arrays(block), arrays))

    def load(self, search: _Search, pending: Any) -> tuple[Any, Any, Any]:
        """Tell the kernels what they work on; graphs of the first one, of some rounds, and of many pushes."""
        device = search.device
        if self._content is None:
            self._pack(search, pending)
        content, addresses = self._content, search.addresses()
        for offset, which in self._changing:
            WORD.pack_into(content, offset, addresses[which])
        for offset in self._told:
            PLACES.pack_into(content, offset, *pending.places())
        COUNT.pack_into(content, MAKE * MOST_BYTES, search.u.nvals)
        STATE.pack_into(content, len(self._kernels) * MOST_BYTES, *search.state, pending.places()[1], *search.costs)
        stream = device.stream_number()
        if self._stream not in (None, stream):
            device.check()  # kernels that another stream has started do not see the next loop
        self._stream = stream
        device.put_bytes(self._table, content)
        return self._graphs

    def _pack(self, search: _Search, pending: Any) -> None:
        """All arguments, where those are that change from search to search, and the graphs, which stay."""
        out, size, many, device = search.out, search.out.size, self._many, search.device
        lists, sums, bits, first = search.arrays()
        present, values = out.present, out.values
        begin, indices, entries = self._rows
        pushed = (sums, 0, begin, lists, values, indices, entries, EMPTY_BITS, EMPTY_BITS, present, values, bits, 1,
                  lists, EMPTY_BITS, sums, NO_THUNK, *self._push_ids)
        pulled = (*self._columns, bits, values, present, EMPTY_BITS, present, values, EMPTY_BITS, bits, EMPTY_BITS,
                  *self._pull_ids)
        listed = (begin, bits, EMPTY_BITS, lists, EMPTY_BITS, sums)
        words, room = search.apart // 4, search.room
        # in the order in which a level may need them: items, arguments, and how many blocks
        uses = [(size, listed, _blocks(size // 16, 8 * many)), (words, (bits,), _blocks(words, 8 * many)),
                (0, (lists, bits), _blocks(room, 4 * many)), (0, pushed, 4 * many), (0, pushed, 4 * many),
                (size, pulled, _blocks(size, 8 * many)), (0, (begin, first, EMPTY_BITS, lists, EMPTY_BITS, sums), many)]
        packed = [kernel.pack(count, args, pending) for kernel, (count, args, _) in zip(self._kernels, uses)]
        changing = (lists, sums, bits, first, present, values)
        self._changing = [(MOST_BYTES * k + offset, which)
                          for k, (one, (_, args, _)) in enumerate(zip(packed, uses))
                          for offset, arg in zip(one.offsets, args)
                          for which, array in enumerate(changing) if arg is array]
        self._told = [MOST_BYTES * k + one.offsets[-3] for k, one in enumerate(packed)]
        self._content = bytearray(b"".join(one.arguments for one in packed) + bytes(STATE.size))
        table = device.pointer(self._table)
        places = [(table + MOST_BYTES * k, table + MOST_BYTES * len(packed)) for k in range(len(packed))]
        *together, make = ((one.function, blocks, kernel.section.block, place) for one, (_, _, blocks), kernel, place
                           in zip(packed, uses, self._kernels, places))
        function, _, threads, place = together[PUSH]
        self._graphs = (device.graph([make]), device.graph(together * ROUNDS),
                        device.graph([(function, many, threads, place)] * PUSHES))


def _arrays(A: MatrixBlock) -> tuple:
    return A.indptr, A.indices, A.values


def _blocks(items: int, most: int) -> int:
    """A thread for each item, but no more blocks than `most`."""
    return max(min(-(-items // THREADS), most), 1)


class _Search:
    """What the kernels of a search work on."""

    def __init__(self, program: _Program, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock):
        self.program = program
        self.turn, self.first, self.state = ENDED, None, ()  # see `run`
        self.out, self.u = out.writable_bitmap(), u
        self.device: Any = out.device
        self.A, self.transposed, self.rows = A, transposed, A.oriented(not transposed)
        self.occupied = occupied_rows(A, transposed)
        xp, size = self.device.xp, out.size
        self.room = max(size // LONG_SHARE, min(size, LEAST_ROOM))
        self.apart = -(-size // ALIGNED) * ALIGNED
        self.width = index_dtype(size)
        ends = 2 * self.room * 8, 2 * self.room * (8 + self.width.itemsize)  # of sums, and of lists behind them
        self.begins = ends[0], -(-ends[1] // ALIGNED) * ALIGNED  # of lists and bits
        self.memory = xp.empty(self.begins[1] + 2 * self.apart, np.uint8)
        self.costs = GPU_COSTS.push, GPU_COSTS.pull, GPU_COSTS.stop, size * GPU_COSTS.look + GPU_COSTS.start

    def arrays(self) -> tuple:
        """Both lists, both running sums, both bitmaps, and the list to begin with."""
        lists, bits = self.begins
        memory = self.memory
        listed = memory[lists:lists + 2 * self.room * self.width.itemsize].view(self.width)
        return listed, memory[:lists].view(np.int64), memory[bits:], self.first if self.turn == MAKING else listed[:]

    def addresses(self) -> tuple:
        """Where these are, and C's presence and values."""
        pointer, begin = self.device.pointer, self.device.pointer(self.memory)
        lists, bits = begin + self.begins[0], begin + self.begins[1]
        first = pointer(self.first) if self.turn == MAKING else lists  # nobody reads it
        return lists, begin, bits, first, pointer(self.out.present), pointer(self.out.values)

    def run(self, most: int | None) -> int:
        """All levels; returns how many."""
        device = self.device
        self.turn = self._begin()
        self.state = self._state(LIMIT if most is None else min(most, LIMIT))
        with device.lock:
            pending = device.expect(5, None)
            try:
                self._drive(*self.program.load(self, pending), pending)
            except BaseException:
                device.expect_no_more(pending)
                raise
            count, entries, steps, as_list, which = pending.get()[0]
        device.counters.products += steps
        self._end(count, entries, bool(as_list), which)
        return steps

    def _begin(self) -> int:
        """Whose turn it is: u becomes the first list, or the first bitmap."""
        u = self.u
        listed = u.nvals <= self.room
        if listed and u.format == "sparse":
            self.first = u.indices
            return MAKING
        u.to_bitmap()
        self.device.copy_into(self.memory, self.begins[1], u.present)
        limit: Any = edges_limit(self.A, self.transposed, self.out.size - self.out.nvals, True, u, False, None, True)
        return LISTING if listed and expected_edges(u, self.A, not self.transposed) <= limit else PULLING

    def _state(self, most: int) -> tuple:
        """What `struct Loop` begins with."""
        out, u = self.out, self.u
        return (self.turn, 0, 0, self.turn == MAKING, u.nvals, -1, out.nvals, 0, most, 0, out.size, self.rows.nvals,
                self.occupied, self.rows.occupied, self.room, self.apart)

    def _drive(self, first: Any, rounds: Any, pushes: Any, pending: Any) -> None:
        """Start kernels until the search has ended: all in turns, or pushes where few edges were pushed for long."""
        device = self.device
        words, place = device.words, pending.slot * WORDS
        words[place + PROGRESS] = words[place + HEARD] = 0
        if self.turn == MAKING:
            device.start_graph(first)
        started = before = told = since = 0
        kind, looked = -1, time.monotonic()
        while not pending.ready():
            if words[place + PROGRESS] != told:
                told, before = words[place + PROGRESS], started
            elif started - before > UNHEARD:
                raise RuntimeError(f"{device.name}: a loop does not go on after {told >> 4} steps, turn {told & 7}")
            if told & 15 != kind:
                kind, since = told & 15, told >> 4
            waiting = started - words[place + HEARD]
            steady = kind == FEW | PUSHING and (told >> 4) - since >= STEADY
            if steady and waiting < PUSHES:
                device.start_graph(pushes)
                started += PUSHES
            elif not steady and waiting < ROUNDS:
                device.start_graph(rounds)
                started += ROUNDS
            else:
                if time.monotonic() - looked > PATIENCE:
                    device.check()
                continue
            looked = time.monotonic()

    def _end(self, count: int, entries: int, as_list: bool, which: int) -> None:
        """C and u as they are now."""
        out, u, xp = self.out, self.u, self.device.xp
        out.set_bitmap(out.present, out.values, entries)
        if not count:
            u.become(out.size, out.dtype)
        elif as_list:
            found = self.arrays()[0][which * self.room:which * self.room + count].copy()
            u.set_sparse(found, xp.take(out.values, found), sorted=count < 2, partition=out.partition)
        else:
            bits = self.arrays()[2][which * self.apart:which * self.apart + out.size].copy()
            u.set_bitmap(bits, out.values.copy(), count, partition=out.partition)


def _kernel(device: Any, name: str, **consts: Any) -> Any:
    key = "loop", name
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel(f"queue.{name}", {"LOOPED": True, **consts}, {})
    return kernel
