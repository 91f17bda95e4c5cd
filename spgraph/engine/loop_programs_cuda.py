"""Kernels of loops that need no host, which a matrix keeps by statement: how they are made, packed and put into graphs.

A program has the kernels of one statement. Their arguments lie in the GPU's memory, so that the graphs that start them
serve all loops of the statement; what differs from loop to loop is written there before one begins. What the loops are,
and how the host starts the graphs, is in `engine.loops_cuda`; what the kernels do, in kernels/cuda/after.cuh.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from semirings import binary
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import EMPTY_BITS, NO_MASK, MaskView
from spgraph.engine.plan import rule_of
from spgraph.engine.product import Filter
from spgraph.engine.products_cuda import CudaProduct
from spgraph.engine.queues_cuda import NO_THUNK, counts_edges
from spgraph.kernels.cuda.launch import MOST_BYTES

__all__ = ["IN_LOOP", "NO_THUNK", "PUSHES", "Growth", "Lowering", "Use", "blocks_of", "loop_kernel"]

# Rounds of a search or of a relaxation, or pushes of a long row of them, that are started together.
ROUNDS, RELAXATIONS, PUSHES = 2, 8, 32
STATE = struct.Struct("@25q6d")  # `struct Loop`
COUNT, PLACES = struct.Struct("@q"), struct.Struct("@PPQ")
IN_LOOP = {"IN_LOOP": "1"}  # the constant of these kernels, see after.cuh


class Use(NamedTuple):
    """A kernel, its items and arguments, and how many blocks."""

    kernel: Any
    items: int
    args: tuple
    blocks: int


class Program:
    """The kernels of a statement: it has the matrix's arrays, not its block, which keeps it in turn.

    A subclass gives `uses`: what takes turns, in the order in which levels may need them, and last what makes a list.
    Whose turn it is not takes 1 to 3 us, so what often follows another one stands next to it, also a second time.
    """

    push_at, pushes = 0, 1  # the first of them that pushes into a list, and how many do
    rounds = 1  # of the others that are started together

    def __init__(self, product: CudaProduct, A: MatrixBlock, transposed: bool):
        rows = A.oriented(not transposed)
        self._rows, self._ids = _arrays(rows), product.ids(rows, swap=True)  # to push
        self._many = product.device.multiprocessors
        self._make: Any = None
        self._table: Any = None  # the arguments, on the device
        self._content: Any = None  # the same, as they were last
        self._graphs: Any = None
        self._stream: Any = None
        self._changing: list = []
        self._values: tuple = ()  # of these, as they were last
        self._told: list = []

    def fits(self, A: MatrixBlock, transposed: bool) -> bool:
        """Whether the matrix is stored as it was."""
        return _same(A.oriented(not transposed), self._rows)

    def uses(self, loop: Any) -> list[Use]:
        raise NotImplementedError

    def state(self) -> Any:
        """`struct Loop` on the device."""
        return self._table[len(self._told) * MOST_BYTES:].view(np.int64)

    def load(self, loop: Any, pending: Any) -> tuple[Any, Any, Any]:
        """Tell the kernels what they work on; graphs of the first one, of some rounds, and of many pushes."""
        device = loop.device
        if self._content is None:
            self._pack(loop, pending)
        content, values, places = self._content, loop.addresses(), pending.places()
        last = self._values
        if values != last:
            self._values = ()  # whatever interrupts this
            for offset, code, which in self._changing:
                if not last or values[which] != last[which]:
                    code.pack_into(content, offset, values[which])
            self._values = values
        for offset in self._told:
            PLACES.pack_into(content, offset, *places)
        if self._make is not None:
            COUNT.pack_into(content, (len(self._told) - 1) * MOST_BYTES, loop.u.nvals)
        STATE.pack_into(content, len(self._told) * MOST_BYTES, *loop.state, places[1], *loop.meeting, *loop.costs)
        stream = device.stream_number()
        if self._stream not in (None, stream):
            device.check()  # kernels that another stream has started do not see the next loop
        self._stream = stream
        device.put_bytes(self._table, content)
        return self._graphs

    def _pack(self, loop: Any, pending: Any) -> None:
        """All arguments, where those are that change from loop to loop, and the graphs, which stay."""
        device = loop.device
        uses = self.uses(loop)
        packed = [use.kernel.pack(use.items, use.args, pending) for use in uses]
        changing = loop.changing()
        self._changing = [(MOST_BYTES * k + offset, struct.Struct(f"@{code}"), which)
                          for k, (one, use) in enumerate(zip(packed, uses))
                          for (offset, code), arg in zip(one.fields, use.args)
                          for which, thing in enumerate(changing) if arg is thing]
        self._told = [MOST_BYTES * k + one.fields[-3][0] for k, one in enumerate(packed)]
        content = bytearray(b"".join(one.arguments for one in packed) + bytes(STATE.size))
        self._table = device.xp.empty(len(content), np.uint8)
        table = device.pointer(self._table)
        places = [(table + MOST_BYTES * k, table + MOST_BYTES * len(packed)) for k in range(len(packed))]
        self._graphs = self._graphs_of(device, [(one.function, use.blocks, use.kernel.section.block, place)
                                                for one, use, place in zip(packed, uses, places)])
        self._values = ()
        self._content = content  # last: nothing is missing now

    def _graphs_of(self, device: Any, launches: list[tuple]) -> tuple[Any, Any, Any]:
        """See `load`."""
        *together, make = launches
        function, _, threads, place = together[self.push_at]
        return (device.graph([make]), device.graph(together * self.rounds),
                device.graph([(function, self._many, threads, place)] * PUSHES))


class Growth(Program):
    """Of a search: a list is made, pushes, bits are cleared, and set, a push into a bitmap, pulls.

    Where all is to be pushed, nothing that pulls need is compiled, and A's other orientation is not asked for.
    """

    push_at, pushes, rounds = 1, 2, ROUNDS

    def __init__(self, out: VectorBlock, A: MatrixBlock, transposed: bool, semiring, flipped: bool, direction: str,
                 counts: bool | None = None, **consts: Any):
        inner = A.rows if transposed else A.cols
        size = A.nrows if transposed else A.ncols
        u = VectorBlock(size, out.dtype, inner, device=out.device)  # its values are C's
        product = CudaProduct(out, None, NO_MASK, binary.first[out.dtype], False, A, transposed, u, semiring, flipped,
                              u, None, False, True)
        super().__init__(product, A, transposed)
        rows, self._pulls = A.oriented(not transposed), direction != "push"
        device, dtype, self.reads_u = product.device, out.dtype, "u" in product.term.uses
        chosen = rule_of(direction) | {key: value for key, value in consts.items() if key == "PARTED"}
        consts |= chosen
        same = {"CHANGED": True, "C_FULL": False, "U_ISO": False, "READS_U": self.reads_u, **IN_LOOP, **consts}
        self._make = None if "PARTED" in consts else loop_kernel(device, "queue.make", VALUES=False, **chosen)
        self._kernels = [loop_kernel(device, f"queue.{name}", **more, **chosen)
                         for name, more in (("list", {"VALUES": False}), ("clear", {}), ("spread", {}))]
        for bitmap in (False, True):
            key = ("loop push", *product.key(rows), dtype, bitmap, *consts.items())
            self._kernels.append(product.kernel(key, "push.push_scatter", rows, dtype, GROWS=True, BITMAP=bitmap,
                                                FILTER=False, NEXT=True, VALUES=False, **same))
        if not self._pulls:
            return
        columns = A.oriented(transposed)
        self._columns, self._column_ids = _arrays(columns), product.ids(columns)
        product.view = MaskView("sc", EMPTY_BITS, EMPTY_BITS, -1)
        if counts is None:
            counts = counts_edges(columns)
        key = ("loop pull", *product.key(columns), dtype, counts, *consts.items())
        self._kernels.append(product.kernel(
            key, "pull.pull_until", columns, dtype, U_FULL=False, REPLACE=False, ACCUM=True, C_ISO=False, FRESH=False,
            CHVALS=False, NEXT=counts, HOT=0, HALVED=0, RUNS=1, BY_ROW="i" in product.term.uses, MOST=0, **same))

    def fits(self, A: MatrixBlock, transposed: bool) -> bool:
        """See `Program`."""
        return super().fits(A, transposed) and not (self._pulls and not _same(A.oriented(transposed), self._columns))

    def uses(self, loop: Any) -> list[Use]:
        """See `Program`."""
        lists, sums, bits, first, present, values, *_ = loop.changing()
        begin, indices, entries = self._rows
        none, size, words, many = EMPTY_BITS, loop.out.size, loop.apart // 16, self._many
        listing, clear, spread, push, mark, *pulls = self._kernels
        pushed = (sums, 0, begin, lists, values, indices, entries, none, none, present, values, bits, 1, lists, none,
                  sums, NO_THUNK, begin, *self._ids)
        pushing = Use(push, 0, pushed, 4 * many)
        spreading, pulling = [], []
        if pulls:
            pull = pulls[0]
            pulled = (*self._columns, bits, values, present, none, present, values, none, bits, none, *self._column_ids)
            spreading = [Use(spread, 0, (lists, bits), blocks_of(loop.room, 2 * many))]
            pulling = [Use(pull, size, pulled, blocks_of(size, pull.section.blocks_per_sm * many))]
        return [
            Use(listing, size, (begin, bits, none, lists, none, sums), blocks_of(size // 16, 8 * many)),
            pushing,
            pushing,
            Use(clear, words, (bits,), blocks_of(words, 2 * many)),
            *spreading,
            Use(mark, 0, pushed, 4 * many),
            *pulling,
            *pulling,
            Use(self._make, 0, (begin, first, none, lists, none, sums, NO_THUNK), self._many),
        ]


class Lowering(Program):
    """Of a relaxation: a push."""

    rounds = RELAXATIONS

    def __init__(self, out: VectorBlock, A: MatrixBlock, transposed: bool, u: VectorBlock, semiring, flipped: bool,
                 accum, kept: Filter | None, **consts: Any):
        product = CudaProduct(out, None, NO_MASK, accum, False, A, transposed, u, semiring, flipped, u, kept, False,
                              False)
        super().__init__(product, A, transposed)
        rows, self._full = A.oriented(not transposed), out.format == "full"
        self._checked = not u.iso and not consts
        checked: dict = {"CHECKED": "1", "FILTER": kept is not None} if self._checked else {}
        kind = (out.dtype, kept and (kept.op.key, kept.thunk.dtype)) if checked else None
        if not consts:
            more = kept and kept.ops(out.dtype)
            self._make = loop_kernel(product.device, "queue.make", kind, more, VALUES=False, **checked)
        key = ("loop lower", *product.key(rows), out.dtype, self._full, kept and (kept.op.key, kept.thunk.dtype),
               *consts.items())
        self._push = product.kernel(key, "push.push_scatter", rows, out.dtype, CHANGED=True, C_FULL=self._full,
                                    GROWS=False, BITMAP=False, FILTER=kept is not None, NEXT=True, VALUES=False,
                                    U_ISO=False, READS_U="u" in product.term.uses, **IN_LOOP, **consts)

    def uses(self, loop: Any) -> list[Use]:
        """See `Program`."""
        lists, sums, bits, first, present, values, thunk, own = loop.changing()
        begin, indices, entries = self._rows
        none, thunk = EMPTY_BITS, NO_THUNK if thunk is None else thunk
        pushed = (sums, 0, begin, lists, values, indices, entries, none, none, none if self._full else present, values,
                  bits, 1, lists, none, sums, thunk, begin, *self._ids)
        compared = (own, values) if self._checked else (none, none)
        return [Use(self._push, 0, pushed, 4 * self._many),
                Use(self._make, 0, (begin, first, compared[0], lists, compared[1], sums, thunk), self._many)]


def _arrays(A: MatrixBlock) -> tuple:
    return A.indptr, A.indices, A.values


def _same(A: MatrixBlock, arrays: tuple) -> bool:
    return all(now is then for now, then in zip(_arrays(A), arrays))


def blocks_of(items: int, most: int) -> int:
    """A thread for each item, but no more blocks than `most`."""
    return max(min(-(-items // 256), most), 1)


def loop_kernel(device: Any, name: str, kind: Any = None, ops: Any = None, **consts: Any) -> Any:
    key = "loop", name, kind, *consts.items()
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel(name, {**IN_LOOP, **consts}, ops or {})
    return kernel
