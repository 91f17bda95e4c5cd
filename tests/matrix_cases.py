"""Random matrices and write modes, each as a spgraph block and as a python-graphblas object.

Everything is drawn from a seeded generator, so that a case is named by its seed. Values are
small whole numbers: sums and products are exact in any order, also as floats. Blocks are on the
device that is tested.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import graphblas as gb
import numpy as np

from semirings import binary
from spgraph import context
from spgraph.block import MatrixBlock, VectorBlock, width
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_build import build_matrix, matrix_coo
from spgraph.engine.vector_structure import build_vector, vector_coo
from spgraph.kernels.device import HOST
from spgraph.partition import Partition

DTYPES = ("BOOL", "INT8", "UINT8", "INT32", "INT64", "UINT64", "FP32", "FP64")
ACCUMS = (None, None, "plus", "minus", "second", "max")


class Pair(NamedTuple):
    """The same object twice: `ours` a block, `theirs` python-graphblas's."""

    ours: Any
    theirs: Any

    def copy(self) -> Pair:
        return Pair(self.ours.copy(), self.theirs.dup())


class Mode(NamedTuple):
    """How an operation writes: out, mask, accumulator, replace."""

    out: Pair
    mask: Mask | None
    accum: Any
    replace: bool
    target: Any  # what python-graphblas assigns to, a function of the output

    @property
    def args(self) -> tuple:
        return self.out.ours, self.mask, self.accum, self.replace


def draw_values(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    np_type = gb.dtypes.lookup_dtype(dtype).np_type
    low = 0 if np_type.kind in "bu" else -3
    return rng.integers(low, 2 if dtype == "BOOL" else 5, count).astype(np_type)


def draw_partition(rng: np.random.Generator, size: int) -> Partition:
    device = context.device()
    return Partition(device.to_device(rng.permutation(size).astype(np.int32)), "degree", device=device)


def empty_matrix(nrows: int, ncols: int, dtype) -> MatrixBlock:
    return MatrixBlock(nrows, ncols, dtype, device=context.device())


def empty_vector(size: int, dtype) -> VectorBlock:
    return VectorBlock(size, dtype, device=context.device())


def draw_matrix(
    rng, nrows: int, ncols: int, dtype: str | None = None, *, density=None, iso=None, ordered=False
) -> Pair:
    """A matrix; `ordered` stores ours in an order of its own (one for rows and columns if it is square)."""
    dtype = dtype or str(rng.choice(DTYPES))
    density = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], p=[0.05, 0.25, 0.35, 0.25, 0.1]) if density is None else density
    rows, cols = np.nonzero(rng.random((nrows, ncols)) < density)
    iso = bool(rng.random() < 0.25) if iso is None else iso
    values = draw_values(rng, dtype, rows.size)
    if iso and rows.size:
        values[:] = values[0]
    order = rng.permutation(rows.size)
    rows, cols, values = rows[order], cols[order], values[order]
    block = build_matrix(nrows, ncols, rows, cols, values, values.dtype, device=context.device())
    if ordered:
        parts = draw_partition(rng, nrows)
        block.rehome(parts, parts if nrows == ncols else draw_partition(rng, ncols))
    theirs = gb.Matrix.from_coo(rows, cols, values, dtype, nrows=nrows, ncols=ncols)
    return Pair(block, theirs)


def draw_vector(rng, size: int, dtype: str | None = None, *, ordered=False) -> Pair:
    dtype = dtype or str(rng.choice(DTYPES))
    indices = np.flatnonzero(rng.random(size) < rng.choice([0.1, 0.5, 0.9, 1.0]))
    values = draw_values(rng, dtype, indices.size)
    block = build_vector(size, indices, values, values.dtype, device=context.device())
    if rng.random() < 0.5:
        block.to_bitmap()
    if ordered:
        block.rehome(draw_partition(rng, size))
    return Pair(block, gb.Vector.from_coo(indices, values, dtype, size=size))


def draw_mask(rng, pair: Pair | None):
    """A mask over `pair` (ours, and a function from a gb object to the gb mask)."""
    if pair is None:
        return None, None
    complement, structural = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    theirs = pair.theirs.S if structural else pair.theirs.V
    return Mask(pair.ours, complement, structural), ~theirs if complement else theirs


def draw_mode(rng, shape, *, ordered=False, masked: bool | None = None, dtype: str | None = None) -> Mode:
    """Output, mask, accumulator and replace for results of `shape` (a tuple, or a size for vectors)."""
    draw = draw_vector if isinstance(shape, int) else draw_matrix
    size = (shape,) if isinstance(shape, int) else shape
    dtype = dtype or str(rng.choice(DTYPES))
    out = draw(rng, *size, dtype, ordered=ordered)
    if rng.random() < 0.3:
        out.ours.clear()
        out.theirs.clear()
    masked = rng.random() < 0.6 if masked is None else masked
    which = out if rng.random() < 0.1 else draw(rng, *size, ordered=ordered)
    mask, gb_mask = draw_mask(rng, which if masked else None)
    name = ACCUMS[rng.integers(len(ACCUMS))]
    accum = None if name is None else getattr(binary, name).resolve(dtype, dtype)
    replace = mask is not None and bool(rng.random() < 0.5)

    def target(C):
        gb_accum = None if name is None else getattr(gb.binary, name)
        if mask is None:
            return C if name is None else C(accum=gb_accum)
        return C(gb_mask, accum=gb_accum, replace=replace)

    return Mode(out, mask, accum, replace, target)


def run(mode: Mode, operation, expression, label="") -> None:
    """``operation(*mode.args)`` on ours and ``target << expression`` on theirs must give the same."""
    before = str(matrix_or_vector(mode.out.ours))
    mode.target(mode.out.theirs) << expression
    operation(*mode.args)
    assert_same(mode.out.ours, mode.out.theirs, f"{label} {describe(mode)}\nbefore {before}")


def describe(mode: Mode) -> str:
    mask = mode.mask and f"complement={mode.mask.complement} structural={mode.mask.structural}"
    return f"mask: {mask}, accum: {mode.accum}, replace: {mode.replace}"


def matrix_or_vector(block):
    return matrix_coo(block) if isinstance(block, MatrixBlock) else vector_coo(block)


def assert_same(ours, theirs, label="") -> None:
    """Same entries, values and dtype; and the block keeps its promises."""
    assert ours.dtype == theirs.dtype.np_type, f"{label}: dtype {ours.dtype}, wanted {theirs.dtype}"
    got, wanted = matrix_or_vector(ours), theirs.to_coo(sort=True)
    for name, a, b in zip(("rows", "cols", "values") if len(got) == 3 else ("indices", "values"), got, wanted):
        np.testing.assert_array_equal(a, b.astype(a.dtype), err_msg=f"{label}: {name}")
    if isinstance(ours, MatrixBlock):
        assert_valid(ours)


def assert_valid(A: MatrixBlock) -> None:
    """The encoding that `spgraph.block.matrix` promises."""
    assert type(A.indptr) is type(A.indices) is A.device.xp.ndarray
    assert type(A.values) is (np.ndarray if A.iso else A.device.xp.ndarray)
    A = A.to_device(HOST)
    assert A.indptr.shape == (A.nrows + 1,)
    assert A.indptr[0] == 0
    assert A.indptr[-1] == A.indices.size
    assert A.values.size == (1 if A.iso else A.indices.size)
    assert A.values.dtype == A.dtype
    assert A.indices.dtype == width.index_dtype(A.ncols)
    assert A.indptr.dtype == width.index_dtype(A.nvals)
    rows = np.repeat(np.arange(A.nrows), np.diff(A.indptr))
    keys = rows * max(A.ncols, 1) + A.indices
    assert (np.diff(keys) > 0).all(), "rows are sorted and without duplicates"
    if A.symmetric:
        r, c, v = matrix_coo(A)
        order = np.lexsort((r, c))
        assert np.array_equal(c[order], r)
        assert np.array_equal(v[order], v)


@contextlib.contextmanager
def case(seed: int):
    """The generator of a case; in every fourth, indices and offsets beyond 3 are 64-bit."""
    before = width.LIMIT
    if seed % 4 == 3:
        width.LIMIT = 3
    try:
        yield np.random.default_rng(seed)
    finally:
        width.LIMIT = before


def chance(rng, share: float) -> bool:
    return bool(rng.random() < share)


def shape_of(rng) -> tuple[int, int]:
    """Small shapes, 0 included; square half of the time (only then have rows and columns one order)."""
    nrows = int(rng.integers(0, 7))
    return nrows, nrows if chance(rng, 0.5) else int(rng.integers(0, 8))


def draw_index(rng, size: int, *, repeats=True):
    """An index selection and the same for python-graphblas."""
    kind = rng.choice(["all", "range", "back", "list", "list", "sorted"])
    if kind == "all":
        return Index.of_all(size), slice(None)
    if size == 0:
        return Index.of_list(np.empty(0, np.int64)), np.empty(0, np.int64)
    if kind in ("range", "back"):
        start, stop = sorted(int(n) for n in rng.integers(0, size + 1, 2))
        step = int(rng.integers(1, 4))
        if kind == "back" and start < stop:
            numbers = range(stop - 1, start - 1, -step)
            return Index.of_range(numbers.start, numbers.stop, numbers.step), np.array(numbers, np.int64)
        return Index.of_range(start, stop, step), slice(start, stop, step)
    count = int(rng.integers(0, size + 3))
    if not repeats:
        count = min(count, size)
    ids = rng.choice(size, count, replace=repeats)
    if kind == "sorted":
        ids.sort()
    return Index.of_list(ids), ids


def turned(shape, flag: bool):
    return shape[::-1] if flag else shape


def view(theirs, flag: bool):
    return theirs.T if flag else theirs


def scalar(rng, dtype: str) -> np.generic:
    return draw_values(rng, dtype, 1)[0]


def gb_scalar(value: np.generic):
    """The same for python-graphblas, which would take a Python number for INT64 or FP64."""
    return gb.Scalar.from_value(value.item(), value.dtype)

