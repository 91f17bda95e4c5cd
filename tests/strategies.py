"""Hypothesis strategies for GraphBLAS objects and for how an operation writes its output.

A drawn object is a *spec*: plain data with a readable repr. ``spec.on(gb)`` builds it on an engine, so that
one drawn example gives the same object to both. Sizes are small: what breaks an implementation here is the
kind of an entry, an index or a mask, not their number. Specs also differ in how the object comes about
(from lists, from one value, by deleting entries), because engines store such objects differently.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

SIGNED = ("INT8", "INT16", "INT32", "INT64")
UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("FP32", "FP64")
DTYPES = ("BOOL", *INTEGERS, *FLOATS)
NUMERIC = INTEGERS + FLOATS

NUMPY = {"BOOL": np.bool_, "FP32": np.float32, "FP64": np.float64}
NUMPY |= {name: getattr(np, name.lower()) for name in INTEGERS}


def value_pool(dtype: str, *, tame: bool = False) -> list[Any]:
    """Values worth trying. Tame ones are small multiples of 1/2: their sums and products are exact in any
    order, also as floats; the others have extremes, infinities and NaN."""
    if dtype == "BOOL":
        return [False, True]
    small = [0, 1, 2, 3, 5] + ([] if dtype in UNSIGNED else [-1, -2, -3])
    if dtype in INTEGERS:
        info = np.iinfo(NUMPY[dtype])
        return small if tame else [*small, 10, 100, int(info.max), int(info.max) - 1, int(info.min)]
    halves = [*map(float, small), 0.5, -1.5]
    return halves if tame else [*halves, 1e10, -0.0, float("inf"), float("-inf"), float("nan")]


dtypes = st.sampled_from(DTYPES)


def values(dtype: str, n: int, *, tame: bool = False) -> st.SearchStrategy[np.ndarray]:
    pool = value_pool(dtype, tame=tame)
    drawn = st.lists(st.sampled_from(pool), min_size=n, max_size=n)
    return drawn.map(lambda items: np.array(items, dtype=NUMPY[dtype]))


def scalars(dtype: str, *, tame: bool = False) -> st.SearchStrategy[Any]:
    """Python scalars. python-graphblas can't make a Scalar of an integer beyond int64: left out."""
    pool = [x for x in value_pool(dtype, tame=tame) if not (isinstance(x, int) and x >= 2**63)]
    return st.sampled_from(pool)


@dataclasses.dataclass(frozen=True)
class VectorSpec:
    size: int
    dtype: str
    indices: np.ndarray
    values: np.ndarray
    made: str = "coo"

    def on(self, gb: Any) -> Any:
        given = self.values[0].item() if self.made == "iso" else self.values
        v = gb.Vector.from_coo(self.indices, given, self.dtype, size=self.size)
        if self.made == "deleted":
            full = gb.Vector.from_dense(np.ones(self.size, NUMPY[self.dtype]))
            full(v.S) << v
            for i in np.setdiff1d(np.arange(self.size), self.indices):
                del full[int(i)]
            return full
        return v


@dataclasses.dataclass(frozen=True)
class MatrixSpec:
    nrows: int
    ncols: int
    dtype: str
    rows: np.ndarray
    cols: np.ndarray
    values: np.ndarray
    made: str = "coo"

    @property
    def shape(self) -> tuple[int, int]:
        return self.nrows, self.ncols

    def on(self, gb: Any) -> Any:
        given = self.values[0].item() if self.made == "iso" else self.values
        if self.made == "transposed":
            turned = gb.Matrix.from_coo(self.cols, self.rows, given, self.dtype, nrows=self.ncols, ncols=self.nrows)
            return turned.T.new()
        A = gb.Matrix.from_coo(self.rows, self.cols, given, self.dtype, nrows=self.nrows, ncols=self.ncols)
        if self.made == "deleted":
            full = gb.Matrix.from_dense(np.ones(self.shape, NUMPY[self.dtype]))
            full(A.S, replace=True) << A
            return full
        return A


@st.composite
def places(draw: st.DrawFn, count: int) -> np.ndarray:
    """Which of `count` places hold an entry: none, all, or some."""
    kind = draw(st.sampled_from(["some", "some", "some", "none", "all"]))
    if kind == "none" or count == 0:
        return np.empty(0, np.int64)
    if kind == "all":
        return np.arange(count)
    chosen = draw(st.sets(st.integers(0, count - 1), max_size=count))
    return np.array(sorted(chosen), dtype=np.int64)


@st.composite
def vectors(draw: st.DrawFn, size: int | None = None, dtype: str | None = None, *, tame: bool = False) -> VectorSpec:
    size = draw(st.integers(0, 7)) if size is None else size
    dtype = draw(dtypes) if dtype is None else dtype
    indices = draw(places(size))
    vals, made = draw(_content(dtype, indices.size, tame))
    return VectorSpec(size, dtype, indices, vals, made)


@st.composite
def matrices(
    draw: st.DrawFn,
    nrows: int | None = None,
    ncols: int | None = None,
    dtype: str | None = None,
    *,
    tame: bool = False,
) -> MatrixSpec:
    nrows = draw(st.integers(0, 5)) if nrows is None else nrows
    ncols = draw(st.integers(0, 5)) if ncols is None else ncols
    dtype = draw(dtypes) if dtype is None else dtype
    where = draw(places(nrows * ncols))
    vals, made = draw(_content(dtype, where.size, tame))
    rows, cols = np.divmod(where, max(ncols, 1))
    made = draw(st.sampled_from([made, made, "transposed"])) if made == "coo" else made
    return MatrixSpec(nrows, ncols, dtype, rows, cols, vals, made)


@st.composite
def _content(draw: st.DrawFn, dtype: str, n: int, tame: bool) -> tuple[np.ndarray, str]:
    made = draw(st.sampled_from(["coo", "coo", "iso", "deleted"]))
    if made == "iso" and n:
        value = draw(scalars(dtype, tame=tame))
        return np.full(n, value, dtype=NUMPY[dtype]), "iso"
    return draw(values(dtype, n, tame=tame)), "deleted" if made == "deleted" else "coo"


MASK_KINDS = ("S", "V", "~S", "~V")


@dataclasses.dataclass(frozen=True)
class MaskSpec:
    kind: str
    parent: VectorSpec | MatrixSpec

    def on(self, gb: Any) -> Any:
        parent = self.parent.on(gb)
        mask = parent.V if self.kind.endswith("V") else parent.S
        return ~mask if self.kind.startswith("~") else mask


def masks(*shape: int) -> st.SearchStrategy[MaskSpec]:
    """A mask for a Vector of (size,) or a Matrix of (nrows, ncols), of any dtype. Without -0.0, which
    SuiteSparse takes for true: it looks at the bits."""
    parent = vectors(*shape) if len(shape) == 1 else matrices(*shape)
    return st.builds(MaskSpec, st.sampled_from(MASK_KINDS), parent.map(_without_minus_zero))


def _without_minus_zero(spec: Any) -> Any:
    return dataclasses.replace(spec, values=spec.values + 0) if spec.dtype in FLOATS else spec


ACCUMULATORS = ("plus", "minus", "times", "min", "max", "first", "second", "rminus", "eq", "lt", "pair")


@dataclasses.dataclass(frozen=True)
class Write:
    """How an operation writes: mask, accumulator, replace, and in which shape the call says so."""

    mask: MaskSpec | None
    accum: str | None
    replace: bool
    positional: bool

    def into(self, gb: Any, output: Any) -> Any:
        """``output(mask, accum, replace)``; `output` may be an object or an indexed one."""
        mask = None if self.mask is None else self.mask.on(gb)
        accum = None if self.accum is None else getattr(gb.binary, self.accum)
        if not self.positional:
            return output(mask=mask, accum=accum, replace=self.replace)
        given = [x for x in (accum, mask) if x is not None]
        return output(*given, *([gb.replace] if self.replace else []))


@st.composite
def writes(draw: st.DrawFn, *shape: int, mask: bool = True) -> Write:
    """How to write into an object of a shape; with mask=False without a mask."""
    chosen = draw(st.none() | masks(*shape)) if mask else None
    accum = draw(st.none() | st.sampled_from(ACCUMULATORS))
    replace = chosen is not None and draw(st.booleans())
    return Write(chosen, accum, replace, draw(st.booleans()))


@st.composite
def index_lists(draw: st.DrawFn, n: int, *, repeat: bool = False) -> Any:
    """A slice, list, range or array of indices of a dimension of size n; negative ones count from its end.
    Repeated indices are for extract alone: the specification leaves assign with them undefined."""
    bound = st.none() | st.integers(-n - 1, n + 1)
    step = st.sampled_from([None, None, 1, 2, -1, -2])
    kinds = ["all", "slice"] + (["list", "array", "range"] if n else ["none"])
    kind = draw(st.sampled_from(kinds))
    if kind == "all":
        return slice(None)
    if kind == "slice":
        return slice(draw(bound), draw(bound), draw(step))
    if kind == "none":
        return np.empty(0, np.int64)
    if kind == "range":
        start, stop = sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
        return range(start, stop) if start < stop else slice(start, stop)
    chosen = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n + 2, unique=not repeat))
    signed = [i - n if draw(st.booleans()) else i for i in chosen] if draw(st.booleans()) else chosen
    if kind == "array":
        return np.array(signed, dtype=draw(st.sampled_from([np.int64, np.int32])))
    return signed


def index_count(index: Any, n: int) -> int:
    """How many places of a dimension of size n an index list names."""
    return np.arange(n)[index if isinstance(index, slice) else np.asarray(index, np.int64)].size


def operator_names(namespace: Any, dtype: str, names: tuple[str, ...]) -> list[str]:
    """Those of the names whose operator is defined for the dtype, without a conversion of it."""
    return [name for name in names if dtype in {t.name for t in getattr(namespace, name).types}]
