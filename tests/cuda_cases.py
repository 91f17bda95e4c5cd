"""Operations on operands large enough for every path of the CUDA kernels, and what they give on a device.

A case is a function of a `Draw`, which makes random operands: several blocks' worth of entries, hubs beside empty rows,
any type, mask, format, order and index width. Values are small whole numbers, so that results are exact in any order.
The same seed makes the same operands on every device. `outcome` runs a case and keeps the texts that the emulated
device was given, so that NVRTC compiles what the tests ran.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from devices import spread
from interpreting import interpreting
from semirings_values import operators
from tiling import small_tiles

import spgraph as sg
from spgraph import binary, indexunary, monoid, select, semiring, unary
from spgraph.block import width
from spgraph.exchange import InProcess, group_of
from spgraph.kernels.cuda import assemble
from spgraph.kernels.cuda.launch import CudaKernel
from spgraph.kernels.device import Device

TYPES = ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FP32", "FP64")
SEMIRINGS = (
    "plus_times",
    "min_plus",
    "max_first",
    "any_pair",
    "plus_pair",
    "min_second",
    "min_firsti",
    "max_secondj",
    "lor_land",
    "lxor_lor",
    "times_minus",
    "band_bor",
    "min_max",
    "plus_first",
)
MONOIDS = ("plus", "min", "max", "times")
ACCUMS = ("plus", "min", "second", "minus", "max")


class Draw:
    """Random operands on the device in force.

    Parameters
    ----------
    seed : int
        Every fourth lets indices and offsets be 64-bit, every third stores square matrices by degree.
    """

    def __init__(self, seed: int):
        self.seed = seed
        self.rng = np.random.default_rng(seed)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def type(self) -> str:
        return self.pick(TYPES)

    def values(self, dtype: str, count: int) -> np.ndarray:
        numbers = self.rng.integers(0 if dtype == "BOOL" or dtype.startswith("U") else -3, 4, count)
        return (numbers % 2 == 1 if dtype == "BOOL" else numbers).astype(sg.dtypes.lookup_dtype(dtype).np_type)

    def matrix(
        self,
        nrows: int = 300,
        ncols: int = 300,
        dtype: str | None = None,
        *,
        degree: float = 4,
        hubs: int = 2,
        iso: bool | None = None,
        symmetric: bool = False,
    ) -> sg.Matrix:
        """Few entries a row on the whole, many in a few rows and columns, none in some."""
        dtype = dtype or self.type()
        count = int(nrows * degree)
        rows, cols = self.rng.integers(0, nrows, count) // 2 * 2 % nrows, self.rng.integers(0, ncols, count)
        for _ in range(hubs):
            across, down = self.rng.permutation(ncols)[: ncols * 3 // 4], self.rng.permutation(nrows)[: nrows // 2]
            rows = np.concatenate([rows, np.full(across.size, self.rng.integers(nrows)), down])
            cols = np.concatenate([cols, across, np.full(down.size, self.rng.integers(ncols))])
        if symmetric:
            rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        keys = self.rng.permutation(np.unique(rows * ncols + cols))
        iso = self.chance(0.3) if iso is None else iso
        values = self.values(dtype, 1)[0].item() if iso else self.values(dtype, keys.size)
        A = sg.Matrix.from_coo(keys // ncols, keys % ncols, values, dtype, nrows=nrows, ncols=ncols)
        return A.reorder("degree") if nrows == ncols and self.seed % 3 == 2 else A

    def vector(self, size: int = 300, dtype: str | None = None, *, share: float | None = None,
               places: Any = None) -> sg.Vector:
        """A few entries, many or all; some of equal value. Position k is ``places[k]``, if that is given."""
        dtype = dtype or self.type()
        share = self.pick([0.02, 0.5, 1.0]) if share is None else share
        ids = np.flatnonzero(self.rng.random(size) < share)
        values = self.values(dtype, 1)[0].item() if self.chance(0.3) else self.values(dtype, ids.size)
        ids = self.rng.permutation(ids)
        return sg.Vector.from_coo(ids if places is None else places[ids], values, dtype, size=size)

    def like(self, shape: Any, dtype: str | None = None) -> Any:
        """A vector or matrix of a shape."""
        return self.vector(shape, dtype) if isinstance(shape, int) else self.matrix(*shape, dtype)

    def semiring(self, *operands: Any) -> Any:
        """A semiring that is defined for the operands' types."""
        while True:
            found = getattr(semiring, self.pick(SEMIRINGS))
            try:
                found.resolve(*(x.dtype for x in operands))
            except (TypeError, KeyError):
                continue
            return found

    def written(self, shape: Any, expression: Any) -> Any:
        """The result of writing an expression into a new or an old object, through some mask, with some accumulator."""
        if self.chance(0.25):
            return expression.new()
        old = self.like(shape)
        keywords: dict[str, Any] = {}
        positional = []
        if self.chance(0.7):
            given = self.like(shape)
            mask = given.S if self.chance(0.5) else given.V
            positional.append(~mask if self.chance(0.5) else mask)
            keywords["replace"] = self.chance(0.5)
        if self.chance(0.5) and old.dtype != "BOOL":
            keywords["accum"] = getattr(binary, self.pick(ACCUMS))
        old(*positional, **keywords) << expression
        return old


CASES: dict[str, Callable[[Draw], list]] = {}


def case(function: Callable[[Draw], list]) -> Callable[[Draw], list]:
    """Registers a case."""
    CASES[function.__name__] = function
    return function


# ---- products -----------------------------------------------------------------------------
def _product(draw: Draw, direction: str) -> list:
    A = draw.matrix(300, draw.pick([300, 200]))
    inner, outer = (A.nrows, A.ncols) if draw.chance(0.5) else (A.ncols, A.nrows)
    u = draw.vector(inner)
    with sg.Context(direction=direction):
        if inner == A.ncols:
            return [draw.written(outer, A.mxv(u, draw.semiring(A, u))), u]
        return [draw.written(outer, u.vxm(A, draw.semiring(u, A))), u]


@case
def pull(draw: Draw) -> list:
    return _product(draw, "pull")


@case
def pull_of_many_rows(draw: Draw) -> list:
    """More than a small GPU has threads: long stretches that are open, some or none, and some without entries."""
    size = 20_011
    A = draw.matrix(size, size, draw.pick(["INT64", "FP32"]), degree=1.5, hubs=0)
    for begin, end in draw.pick([[], [(3000, 6000), (15_000, size)], [(0, 10_000)]]):
        del A[begin:end, :]
    u = draw.vector(size, "BOOL", share=0.7)
    band = sg.Vector.from_coo(np.arange(5000, 9000), True, size=size)
    results = []
    with sg.Context(direction="pull"):
        for there in (draw.vector(size, "BOOL", share=draw.pick([0.02, 0.5, 0.98])), band):
            grown = there.dup()
            found = sg.Vector(bool, size)
            grown(~grown.S, changed=found) << A.mxv(u, semiring.any_pair)
            results += [grown, found]
            for mask in (there.S, ~there.S, there.V, ~u.V):
                kept = draw.vector(size, "BOOL", share=0.5)
                kept(mask, binary.lor, replace=draw.chance(0.2)) << A.mxv(u, semiring.lor_land)
                results += [kept, kept.nvals]
    return results


@case
def push(draw: Draw) -> list:
    return _product(draw, "push")


@case
def products_in_parts(draw: Draw) -> list:
    """What parts need of each other, stored into their arrays as lists, bits and values."""
    device = sg.context.device()
    several = group_of(tuple(spread(device, draw.pick([2, 3]))))
    A, found = draw.matrix(), []
    with sg.Context(partition=draw.pick(["random", "contiguous"]), duplicate=draw.pick(["1-hop", "all"])):
        parts = A.to(several)
        for direction, share in (("push", 0.05), ("push", 0.6), ("pull", 0.6), ("pull", 1.0)):
            u = draw.vector(300, A.dtype.name, share=share)
            op = draw.semiring(A, u)
            with sg.Context(direction=direction):
                found.append(op(parts @ u.to(several)).new().to(device))
    return found


@case
def positions_in_parts(draw: Draw) -> list:
    """Terms combined where values of several devices lie."""
    device, found = sg.context.device(), []
    with linked():
        several = group_of(tuple(spread(device, draw.pick([2, 3]))))
        for dtype, op in (("INT32", binary.min), ("FP64", binary.max), ("INT64", binary.plus)):
            v, x = draw.vector(300, dtype, share=1.0), draw.vector(300, dtype)
            p = sg.Vector.from_dense(draw.rng.integers(0, draw.pick([3, 300]), 300))
            there = v.to(several)
            there(op)[p.to(several)] << x.to(several)
            found.append(there.to(device))
    return found


@case
def pull_sums(draw: Draw) -> list:
    """Dense vectors, and monoids that no row stops early under: rows are gathered whole."""
    A = draw.matrix(400, 400, draw.pick(["INT64", "FP32", "INT8", "BOOL"]), degree=draw.pick([1, 8]))
    names = "plus_times", "min_plus", "max_first", "plus_pair", "plus_secondj", "min_firsti"
    results = []
    with sg.Context(direction="pull"):
        for dtype, share in (("FP32", 1.0), ("INT64", 1.0), ("FP64", 0.7), ("INT16", 0.5)):
            u = draw.vector(400, dtype, share=share)
            results.append(draw.written(400, A.mxv(u, getattr(semiring, draw.pick(names)))))
            mask = draw.vector(400, "BOOL", share=0.5)
            results.append(u.vxm(A, getattr(semiring, draw.pick(names))).new(mask=draw.pick([mask.S, ~mask.S, mask.V])))
    return results


@case
def pull_tiles(draw: Draw) -> list:
    """Matrices that are cut into tiles of columns, at once: new results, and sums into what there is."""
    A = draw.matrix(400, 400, draw.pick(["INT64", "FP32", "BOOL"]), degree=draw.pick([1, 8]), iso=True)
    A = A.reorder("degree")
    piece, results = draw.pick([2048, 8]), []
    with (sg.Context(direction="pull"),
          small_tiles(RUNS_BEFORE=0, PIECE=piece, LANE=draw.pick([2, piece]), WINDOW=draw.pick([64, 4096]))):
        for dtype in ("FP32", "INT64", "INT8"):
            u = draw.vector(400, dtype, share=1.0)
            for name in ("plus_second", "min_plus", "max_first"):
                op = getattr(semiring, name)
                found = draw.vector(400, dtype, share=draw.pick([0.5, 1.0]))
                found(draw.pick([op.monoid.binaryop, binary.minus])) << A.mxv(u, op)
                results += [u.vxm(A, op).new(), found]
    return results


@case
def copies(draw: Draw) -> list:
    """Products with copies of a graph, in either direction; devices lay them out in their own ways."""
    A = draw.matrix(90, 90, draw.pick(["INT64", "FP32", "BOOL"]), degree=draw.pick([1, 8]), symmetric=draw.chance(0.5))
    both = sg.copies.Copies(A, draw.pick([2, 4, 16, 32]))
    places = both._copies.position(*np.divmod(np.arange(both.size), 90))
    results = []
    for names in (("plus_times", "min_plus", "plus_pair", "max_first"), ("any_pair", "any_first", "lor_land")):
        op, share = getattr(semiring, draw.pick(names)), draw.pick([0.01, 0.5, 1.0])
        u = draw.vector(both.size, draw.pick(["FP32", "BOOL"]), share=share, places=places)
        mask = draw.vector(both.size, "BOOL", share=0.5, places=places)
        back = draw.chance(0.5)
        for direction in ("push", "pull"):
            with sg.Context(direction=direction):
                found = draw.vector(both.size, "FP32", share=0.4, places=places)
                found(mask.S, binary.plus) << both.vxm(u, op, transposed=back)
                results += [both.vxm(u, op, transposed=back).new(mask=~mask.S), found]
    return [v[places].new() for v in results]


@case
def relax(draw: Draw) -> list:
    """The accumulator is the monoid's operator, what changed is wanted: SSSP's step, several times."""
    A = draw.matrix(300, 300, draw.pick(["INT64", "UINT16", "FP32", "FP64", "INT8"]), iso=False)
    A = A.apply(unary.abs).new() if not A.dtype.name.startswith("U") else A
    w = sg.Vector(A.dtype, 300)
    w[draw.rng.integers(300)] = 0
    near, changed = w.dup(), sg.Vector(A.dtype, 300)
    results = []
    for direction in ("push", "pull", "push", "auto"):
        with sg.Context(direction=direction):
            w(binary.min, changed=changed) << near.vxm(A, semiring.min_plus)
        results += [w.dup(), changed.dup()]
        near = changed.dup()
    return results


@case
def search(draw: Draw) -> list:
    """Levels and parents of a BFS, in either direction."""
    A = draw.matrix(400, 400, "BOOL", iso=True, symmetric=draw.chance(0.5), degree=2)
    source = int(draw.rng.integers(400))
    results = []
    with sg.Context(direction=draw.pick(["push", "pull", "auto"])):
        level, frontier = sg.Vector("INT32", 400), sg.Vector.from_coo([source], True, size=400)
        parent = sg.Vector.from_coo([source], source, "INT64", size=400)
        ids = sg.Vector.from_dense(np.arange(400))
        depth = 0
        while frontier.nvals and depth < 12:
            level(frontier.S) << depth
            origin = sg.Vector("INT64", 400)
            origin(frontier.S) << ids
            parent(~parent.S) << origin.vxm(A, semiring.min_first)
            frontier(~level.S, replace=True) << frontier.vxm(A, semiring.any_pair)
            depth += 1
        results += [level, parent]
    return results


@case
def visit(draw: Draw) -> list:
    """What is new in a set and where it came from, as a BFS has it; with `any`, the places are all that is certain."""
    A = draw.matrix(300, 300, draw.pick(["BOOL", "INT32", "FP64"]), degree=2)
    op = draw.pick([semiring.any_pair, semiring.any_firsti, semiring.any_second, semiring.min_firsti])
    w = sg.Vector(draw.pick(["INT64", "UINT8", "BOOL"]), 300)
    w[draw.rng.integers(0, 300, 3)] << 1
    near, changed, results = w.dup(), sg.Vector(w.dtype, 300), []
    for direction in (*draw.rng.permutation(["push", "pull"]), "auto"):
        with sg.Context(direction=str(direction)):
            w(~w.S, changed=changed) << near.vxm(A, op)
        results += [w.apply(unary.one).new(), changed.apply(unary.one).new()]
        near = changed.dup()
    return results


@case
def loop(draw: Draw) -> list:
    """The same as a loop, to its end or not: the places, and the numbers of levels."""
    from spgraph.engine import loops_cuda

    n = draw.pick([300, 5000])
    A = draw.matrix(n, n, draw.pick(["BOOL", "INT32"]), symmetric=draw.chance(0.5), degree=2)
    A._block.oriented(True)  # loops push and pull
    op = draw.pick([semiring.any_pair, semiring.any_firsti, semiring.any_first])
    costs, results = loops_cuda.GPU_COSTS, []
    try:
        for start, most in ((0.0, 50), (4000.0, 50), (0.0, 2)):
            loops_cuda.GPU_COSTS = costs._replace(start=start, look=start and costs.look)
            w = sg.Vector(draw.pick(["INT64", "UINT8", "BOOL"]), A.nrows)
            w[draw.rng.integers(0, A.nrows, 3)] << 1
            near = w.dup()
            with sg.loop() as levels:
                w(~w.S, changed=near) << near.vxm(A, op)
                levels.until((near.nvals == 0) | (levels.count >= most))
            results += [w.apply(unary.one).new(), near.apply(unary.one).new(), levels.count]
    finally:
        loops_cuda.GPU_COSTS = costs
    return results


@case
def loops_in_parts(draw: Draw) -> list:
    """Searches and relaxations on two devices, to their end or not."""
    from spgraph.engine import loops_cuda
    from spgraph.engine.parts import loops as parts_loops

    device = sg.context.device()
    several = group_of(tuple(spread(device, 2)))
    A = draw.matrix(300, 300, draw.pick(["INT64", "FP64"]), symmetric=draw.chance(0.5), degree=2)
    op = draw.pick([semiring.any_pair, semiring.any_firsti])
    costs, results = loops_cuda.GPU_COSTS, []
    try:
        with sg.Context(partition=draw.pick(["random", "contiguous"]), duplicate=draw.pick(["1-hop", "all"])):
            parts = A.to(several)
        for start, most in ((0.0, 50), (1e9, 50), (0.0, 2)):
            parts_loops.GPU_COSTS = costs._replace(start=start, look=start and costs.look, bits=start and costs.bits)
            at = draw.rng.choice(300, 3, replace=False)
            with sg.Context(several):
                w = sg.Vector.from_coo(at, 1, draw.pick(["INT64", "UINT8", "BOOL"]), size=300)
                near = w.dup()
                dist = sg.Vector.from_coo(at, draw.rng.integers(0, 4, 3), A.dtype, size=300)
                lower = dist.dup()
            with sg.loop() as levels:
                w(~w.S, changed=near) << near.vxm(parts, op)
                levels.until((near.nvals == 0) | (levels.count >= most))
            with sg.loop() as steps:
                dist(binary.min, changed=lower) << lower.vxm(parts, semiring.min_plus)
                steps.until((lower.nvals == 0) | (steps.count >= 5))
            results += [w.apply(unary.one).new().to(device), near.apply(unary.one).new().to(device), levels.count,
                        dist.to(device), lower.to(device), steps.count]
    finally:
        parts_loops.GPU_COSTS = costs
    return results


@case
def products_of_vectors(draw: Draw) -> list:
    u, v = draw.vector(700), draw.vector(700)
    short = draw.vector(20)
    return [u.inner(v, draw.semiring(u, v)).new(), draw.written((20, 700), short.outer(v, binary.first))]


@case
def matrix_product(draw: Draw) -> list:
    A, B = draw.matrix(120, 150, degree=3), draw.matrix(150, 300, degree=3)
    return [draw.written((120, 300), A.mxm(B, draw.semiring(A, B)))]


@case
def counted_products(draw: Draw) -> list:
    """Rows that are met often: some become bitmaps."""
    A, B = draw.matrix(60, 100, degree=20), draw.matrix(60, 100, degree=20)
    mask = draw.matrix(60, 60, degree=30)
    results = []
    for other in (A, B):
        product = getattr(semiring, draw.pick(["plus_pair", "any_pair"]))(A @ other.T)
        results.append(product.new(mask=draw.pick([mask.S, mask.V])))
    return results


@case
def matrix_product_of_square(draw: Draw) -> list:
    A = draw.matrix(200, 200, symmetric=draw.chance(0.5))
    B = A.T if draw.chance(0.5) else A
    return [draw.written((200, 200), A.mxm(B, draw.semiring(A, A)))]


@case
def matrix_product_with_a_diagonal(draw: Draw) -> list:
    A, D = draw.matrix(200, 150), draw.vector(200).diag()
    E = draw.vector(150).diag()
    return [D.mxm(A, draw.semiring(D, A)).new(), A.mxm(E, draw.semiring(A, E)).new()]


@case
def matrix_product_within_a_mask(draw: Draw) -> list:
    A, B, M = draw.matrix(200, 150), draw.matrix(150, 200), draw.matrix(200, 200)
    few, Bt = draw.matrix(200, 200, degree=0.2, hubs=0), B.T.new()
    op = draw.semiring(A, B)
    return [op(A @ B).new(mask=draw.pick([M.S, M.V])), op(A @ Bt.T).new(mask=draw.pick([few.S, few.V]))]


@case
def matrix_product_of_wide_rows(draw: Draw) -> list:
    """Rows with more products than a block computes in shared memory."""
    A, B = draw.matrix(6, 300, hubs=3, iso=True), draw.matrix(300, 60_000, degree=60, hubs=0)
    return [A.mxm(B, draw.semiring(A, B)).new()]


# ---- vectors ---------------------------------------------------------------------------------
@case
def chain(draw: Draw) -> list:
    u, v, w = (draw.vector(1500, draw.pick(["INT32", "FP64", "INT64", "FP32", "UINT8"])) for _ in range(3))
    tree = draw.pick(
        [
            lambda: unary.abs(u.ewise_add(v, binary.plus)),
            lambda: binary.times(u.ewise_mult(v, binary.minus).new() & w),
            lambda: u.ewise_union(v, binary.minus, 1, 2),
            lambda: u.ewise_add(v, binary.min).new().ewise_mult(w, binary.max),
            lambda: u.apply(indexunary.rowindex, 3),
            lambda: u.apply(binary.plus, right=2),
        ]
    )()
    return [draw.written(1500, tree), u, v]


@case
def vector_select(draw: Draw) -> list:
    u = draw.vector(1500)
    if draw.chance(0.3):
        return [draw.written(1500, u.select(select.rowle, 700))]
    return [draw.written(1500, u.select(draw.pick([select.valuene, select.valueeq]), 1))]


@case
def vector_reduce(draw: Draw) -> list:
    u = draw.vector(draw.pick([3, 900, 20_000]))
    if u.dtype == "BOOL":
        return [u.reduce(op).new() for op in (monoid.lor, monoid.land, monoid.lxor)]
    total = u.apply(unary.abs).new().reduce(draw.pick([monoid.max, monoid.min, monoid.plus])).new()
    return [total, u.reduce(monoid.min).new(), u.select(select.valuene, 0).new().reduce(monoid.any).new() != 0]


@case
def vector_assign(draw: Draw) -> list:
    w, ids = draw.vector(800), draw.rng.permutation(800)[:200]
    u = draw.vector(200)
    w[ids] << u
    w[10:600:3](binary.plus if w.dtype != "BOOL" else None) << 1
    w(draw.vector(800).S) << 0
    return [w, w[draw.rng.integers(0, 800, 500)].new(), w[5:700:7].new()]


@case
def vector_written(draw: Draw) -> list:
    u = draw.vector(1000)
    return [draw.written(1000, u.apply(unary.identity)), draw.written(1000, u.apply(unary.one))]


@case
def vector_filtered(draw: Draw) -> list:
    """A list through a mask into nothing."""
    w, given = sg.Vector(draw.type(), 600), draw.vector(600, share=0.6)
    w(draw.pick([given.S, given.V, ~given.S, ~given.V])) << draw.vector(1200, share=0.02)[600:]
    return [w]


@case
def vector_of_positions(draw: Draw) -> list:
    """Gathered, combined into, followed: positions in lists, bitmaps and full vectors, some named by many."""
    A = draw.matrix(1200, 1200, "BOOL", degree=0.5)
    w = draw.vector(1200, draw.pick(["INT32", "INT64", "UINT8", "FP32", "FP64"]))
    p = draw.vector(1200, draw.pick(["INT32", "UINT32", "INT64"])).apply(unary.abs).new()
    p = (p % draw.pick([7, 1200])).new(p.dtype)
    if draw.chance(0.5):  # in the matrix's order
        w, p = (x.ewise_add(A.reduce_rowwise("count").new(x.dtype), binary.first).new() for x in (w, p))
    gathered = draw.written(1200, w[p])
    x = draw.vector(1200, draw.pick([w.dtype.name, "INT8", "UINT8"]))
    w(draw.pick([binary.min, binary.max, binary.plus]))[p] << x
    ids = sg.Vector.from_scalar(0, 1200, dtype=draw.pick(["INT32", "INT64"])).apply(indexunary.rowindex).new()
    back = draw.pick([1, 2, 400])
    forest = (ids - back).new(ids.dtype).apply(binary.max, right=0).new(ids.dtype)
    forest(binary.min) << A.mxv(ids, semiring.min_second)
    return [gathered, w, forest.pointer_jump().new(), forest]


# ---- matrices ---------------------------------------------------------------------------------------
@case
def elementwise(draw: Draw) -> list:
    A, B = draw.matrix(250, 280), draw.matrix(250, 280)
    B = B.T.new().T if draw.chance(0.3) else B
    kind = draw.pick(["add", "mult", "union"])
    op = draw.pick([binary.plus, binary.min, binary.second, binary.first, binary.eq])
    if "UINT64" in (A.dtype, B.dtype):  # has no common type with signed integers
        B = B.dup(A.dtype)
    if kind == "union":
        return [draw.written((250, 280), A.ewise_union(B, op, 1, 0))]
    return [draw.written((250, 280), getattr(A, f"ewise_{kind}")(B, op))]


@case
def matrix_apply(draw: Draw) -> list:
    A = draw.matrix()
    return [
        draw.written((300, 300), A.apply(draw.pick([unary.identity, unary.one, unary.lnot]))),
        draw.written((300, 300), A.apply(indexunary.diagindex, 2)),
        draw.written((300, 300), A.T.apply(binary.first, right=1)),
    ]


@case
def matrix_select(draw: Draw) -> list:
    A = draw.matrix()
    return [draw.written((300, 300), A.select(select.valuene, 0)), draw.written((300, 300), A.select(select.tril, -1))]


@case
def matrix_some_entries(draw: Draw) -> list:
    A = draw.matrix(300, 280)
    some = [X.selectk("any", k) for X in (A, A.T) for k in (0, 2, 300)]
    return [*some, *(X.reduce_rowwise("count").new() for X in some)]


@case
def matrix_reduce(draw: Draw) -> list:
    A = draw.matrix(250, 300)
    names = ("lor", "land", "lxor") if A.dtype == "BOOL" else MONOIDS[:3]
    op = getattr(monoid, draw.pick(names))
    return [
        draw.written(250, A.reduce_rowwise(op)),
        draw.written(300, A.reduce_columnwise(op)),
        A.reduce_scalar(op).new(),
    ]


@case
def matrix_build(draw: Draw) -> list:
    rows, cols = draw.rng.integers(0, 90, 4000), draw.rng.integers(0, 4000, 4000) % draw.pick([3, 90, 4000])
    rows[:1500] = 7
    dtype = draw.type()
    op = binary.lor if dtype == "BOOL" else draw.pick([binary.plus, binary.min, binary.second, binary.minus])
    A = sg.Matrix.from_coo(rows, cols, draw.values(dtype, 4000), dtype, nrows=90, ncols=4000, dup_op=op)
    return [A, A.T.new()]


@case
def matrix_from_rows(draw: Draw) -> list:
    """CSR in arrays of the device, columns in no order."""
    to_device = sg.context.device().to_device
    lengths = draw.rng.integers(0, 12, 200)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    cols = np.concatenate([draw.rng.permutation(300)[:length] for length in lengths])
    A = sg.Matrix.from_csr(to_device(indptr), to_device(cols), to_device(draw.values("INT32", cols.size)), ncols=300)
    return [A, sg.Matrix.from_csc(to_device(indptr), to_device(cols), True, nrows=300)]


@case
def matrix_of_long_rows(draw: Draw) -> list:
    """Rows that are sorted in tiles."""
    cols = draw.rng.permutation(9000)
    rows = np.where(np.arange(9000) < 8000, 1, 2)
    return [sg.Matrix.from_coo(rows, cols, draw.values("FP32", 9000), "FP32", nrows=4, ncols=9000)]


@case
def matrix_order(draw: Draw) -> list:
    A = draw.matrix()
    return [A.dup().reorder("degree"), A.T.new(), A.diag(), A.dup().reorder("natural")]


@case
def matrix_extract(draw: Draw) -> list:
    A = draw.matrix(250, 280)
    rows, cols = draw.rng.integers(0, 250, 100), draw.rng.integers(0, 280, 120)
    return [
        A[rows, cols].new(),
        A[10:200:3, :].new(),
        A[:, 270:3:-2].new(),
        A[7, :].new(),
        A[:, 9].new(),
        draw.written((100, 280), A[rows, :]),
    ]


@case
def matrix_assign(draw: Draw) -> list:
    A = draw.matrix(250, 280)
    rows, cols = draw.rng.permutation(250)[:60], draw.rng.permutation(280)[:70]
    A[rows, cols] << draw.matrix(60, 70)
    A[3:200:4, cols] << 1
    A[5, :] << draw.vector(280)
    A[:, 6] << draw.vector(250)
    A(draw.matrix(250, 280).S) << 0
    return [A]


@case
def kronecker(draw: Draw) -> list:
    A, B = draw.matrix(12, 9, hubs=1), draw.matrix(15, 11, hubs=1)
    return [draw.written((180, 99), A.kronecker(B, draw.pick([binary.plus, binary.first, binary.times])))]


# What is run without --whole: a seed that stores by degree, one with 64-bit indices; more where these miss a kernel.
FEW_SEEDS = dict.fromkeys(CASES, (2, 3)) | dict.fromkeys(
    ("vector_written", "matrix_product", "vector_reduce"), (0, 1, 2, 3)
)


# ---- running ------------------------------------------------------------------------------------------
class Outcome(NamedTuple):
    """What a case gave."""

    results: list  # of tuples of arrays, as coordinates and values
    texts: dict  # of (section, text)


@contextmanager
def linked() -> Iterator[None]:
    """One device stands for several that see each other."""
    before = InProcess.linked
    InProcess.linked = True  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        InProcess.linked = before  # type: ignore[method-assign]


@contextmanager
def on(device: Device, seed: int) -> Iterator[Draw]:
    """Operands of a seed on a device."""
    before, limit = sg.context.set_default(device), width.LIMIT
    width.LIMIT = 3 if seed % 4 == 3 else limit
    try:
        with interpreting():
            yield Draw(seed)
    finally:
        sg.context.set_default(before)
        width.LIMIT = limit


@functools.cache
def outcome(name: str, seed: int, device: Device) -> Outcome:
    """The results of a case on a device."""
    texts: dict = {}
    load = device.load if hasattr(device, "load") else None
    if load is not None:
        device.load = lambda section, text, shared=0: texts.setdefault((section, text), load(section, text, shared))  # type: ignore[method-assign]
        device.kernels.clear(), device.chains.clear()  # else a kernel that another case has made is not seen here
    try:
        with on(device, seed) as draw:
            return Outcome([plain(result) for result in CASES[name](draw)], texts)
    finally:
        if load is not None:
            del device.load


# ---- atomics of every monoid ----------------------------------------------------------------------------
CELLS = 5


def monoids_alike() -> dict[tuple[str, int], list]:
    """The typed monoids by type and by which atomic instruction does their work."""
    groups: dict = defaultdict(list)
    for operator in operators(monoid):
        for dtype in operator.types:
            op = operator[dtype]
            groups[dtype.name, assemble.hardware_atomic(op)].append(op)
    return dict(groups)


def combining(device: Any, ops: list, code: int) -> CudaKernel:
    """A kernel that combines values[q] with cell places[q] by each monoid of a group, in a row of cells of its own."""
    body, expressions = "", {}
    for k, op in enumerate(ops):
        expressions[f"ADD{k}"] = op.binaryop.expr, op.binaryop.inputs
        body += (
            f"        atomic_combine(a.cells + {k * CELLS} + a.places[q], a.values[q], "
            f"[](E_cells x, E_cells y) {{ return ADD{k}(x, y); }}, changed);\n"
        )
    section = assemble.parse_section(
        " combine(cells, values, places)\nKERNEL {\n    for (i64 q = item(1); q < a.n; q += items(1)) {\n"
        f"        bool changed;\n{body}    }}\n}}\n"
    )
    return CudaKernel(device, section, {"ATOMIC": code}, expressions)


def plain(result: Any) -> tuple:
    """An object as arrays of the host."""
    if isinstance(result, (sg.Vector, sg.Matrix)):
        return result.dtype.name, result.shape, *result.to_coo()
    return type(result).__name__, getattr(result, "value", result)
