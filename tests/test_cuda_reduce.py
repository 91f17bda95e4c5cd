"""Reductions of the CUDA side against NumPy: rows of every length, columns, everything."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from semirings import expr as ex
from semirings import monoid
from spgraph.engine.shares_cuda import Shares
from spgraph.kernels.cuda.assemble import hardware_atomic

MONOIDS = [
    monoid.plus["FP32"], monoid.plus["FP64"], monoid.plus["INT8"], monoid.plus["UINT64"], monoid.times["INT16"],
    monoid.min["INT64"], monoid.min["FP32"], monoid.max["UINT8"], monoid.max["FP64"], monoid.lor["BOOL"],
    monoid.lxor["BOOL"], monoid.land["BOOL"], monoid.any["INT32"], monoid.bor["UINT32"], monoid.bxor["UINT8"],
]  # fmt: skip
LENGTHS = {
    "none": [0] * 50,
    "short": [3, 0, 1, 8, 64, 0, 17, 5] * 12,
    "around the bounds": [0, 63, 64, 65, 4095, 4096, 4097, 1, 0, 9000],
    "one": [300],
}


@pytest.fixture
def rng():
    return np.random.default_rng(20261128)


def is_float(typed):
    return typed.type.np_type.kind == "f"


def parts(typed, values_dtype, iso):
    """Constants and operators as the engine gives them."""
    dtype = typed.type.np_type
    stops = typed.terminal is not None and not typed.terminal_any
    consts = {"X_ISO": iso, "ANY": bool(typed.terminal_any), "HAS_TERMINAL": stops,
              "TERMINAL": typed.terminal if stops else False, "ATOMIC": hardware_atomic(typed)}
    add = ex.substitute(typed.binaryop.expr, {"x": ex.Input("s", dtype), "y": ex.Input("t", dtype)})
    take = ex.cast(ex.Input("x", np.dtype(values_dtype)), dtype)
    return consts, {"ADD": (ex.cast(add, dtype), ("s", "t")), "TAKE": (take, ("x",))}


def values_of(rng, size, values_dtype):
    values = rng.integers(-2, 4, size)
    return (values if np.dtype(values_dtype).kind in "if" else abs(values)).astype(values_dtype)


def agree(typed, got, want, values):
    assert got.dtype == want.dtype
    if typed.terminal_any:
        assert got in ex.cast_array(values, typed.type.np_type)
    elif is_float(typed):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    else:
        assert got == want


@pytest.mark.parametrize("iso", [False, True], ids=["values", "iso"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("typed", MONOIDS, ids=repr)
def test_rows(cuda, rng, typed, lengths, iso):
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32 if len(lengths) % 2 else np.int64)
    values = values_of(rng, 1 if iso else indptr[-1], np.int32)
    rows = len(lengths)
    present, out = cuda.xp.empty(rows, np.uint8), cuda.xp.empty(rows, typed.type.np_type)
    kernel = cuda.kernel("reduce.reduce_rows", *parts(typed, np.int32, iso))
    there = values if iso else cuda.to_device(values)
    A = SimpleNamespace(device=cuda, nrows=rows, nvals=int(indptr[-1]), indptr=cuda.to_device(indptr))
    shares = Shares(A)
    args = (*shares.args, cuda.xp.empty(shares.pieces, out.dtype), shares.arrived, A.indptr, there, present, out)
    for _ in range(2):  # what has arrived is counted from 0 again
        assert cuda.over(kernel, shares.units, rows, args) == [np.count_nonzero(lengths)]
    np.testing.assert_array_equal(cuda.to_host(present), np.array(lengths) > 0)
    out = cuda.to_host(out)
    for row in np.flatnonzero(lengths):
        entries = np.repeat(values, lengths[row]) if iso else values[indptr[row]:indptr[row + 1]]
        agree(typed, out[row], typed.reduce(entries), entries)


@pytest.mark.parametrize("ncols", [1, 7, 3000])
@pytest.mark.parametrize("typed", MONOIDS, ids=repr)
def test_columns(cuda, rng, typed, ncols):
    nvals = 5000
    indices, values = rng.integers(0, ncols, nvals).astype(np.uint32), values_of(rng, nvals, np.float32)
    present, out = cuda.xp.zeros(ncols, np.uint8), cuda.xp.full(ncols, typed.start, typed.type.np_type)
    kernel = cuda.kernel("reduce.reduce_columns", *parts(typed, np.float32, False))
    none = np.empty(0, np.int64)
    args = (none, none, cuda.to_device(indices), cuda.to_device(values), present, out)
    assert cuda.over(kernel, nvals, nvals, args) == []
    np.testing.assert_array_equal(cuda.to_host(present), np.bincount(indices, minlength=ncols) > 0)
    out = cuda.to_host(out)
    for column in np.unique(indices)[:200]:
        entries = values[indices == column]
        agree(typed, out[column], typed.reduce(entries), entries)


@pytest.mark.parametrize("size", [1, 33, 1025, 20000])
@pytest.mark.parametrize("typed", [one for one in MONOIDS if not one.terminal_any], ids=repr)
def test_all(cuda, rng, typed, size):
    values = values_of(rng, size, np.int32)
    kernel = cuda.kernel("reduce.reduce_all", *parts(typed, np.int32, False))
    (total,) = cuda.over(kernel, size, size, (cuda.to_device(values),))
    agree(typed, total, typed.reduce(values), values)


def test_all_of_what_has_no_identity_in_floats(cuda):
    """min ignores NaN, -0.0 stays: nothing is added to what was not there."""
    kernel = cuda.kernel("reduce.reduce_all", *parts(monoid.min["FP64"], np.float64, False))
    (total,) = cuda.over(kernel, 2, 2, (cuda.to_device(np.array([np.nan, np.nan])),))
    assert np.isnan(total)
    kernel = cuda.kernel("reduce.reduce_all", *parts(monoid.plus["FP64"], np.float64, False))
    (total,) = cuda.over(kernel, 1, 1, (cuda.to_device(np.array([-0.0])),))
    assert np.signbit(total)
