"""Sorts of the CUDA side against those of the CPU: the same results, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest

from semirings import binary, expr
from spgraph.kernels.cpu import sort
from spgraph.kernels.cuda import sorting

pytestmark = pytest.mark.usefixtures("interpreted")  # on the CPU: a reference, for a call or two of each kernel
DUP = (expr.cast(binary.minus["FP64"].expr, np.float64), ("x", "y"))  # tells the order apart


@pytest.fixture
def rng():
    return np.random.default_rng(20261128)


@pytest.fixture
def small(monkeypatch):
    """Bounds so low that rows of a hundred entries take every path."""
    monkeypatch.setattr(sorting, "SHORT", 4)
    monkeypatch.setattr(sorting, "TILE", 16)
    monkeypatch.setattr(sorting, "SLICE", 50)


def coordinates(rng, nrows, ncols, nvals, skew=1):
    """Random coordinates; with skew, most lie in the first rows."""
    return (nrows * rng.random(nvals) ** skew).astype(np.int64), rng.integers(0, ncols, nvals)


def on(device, arrays):
    return [None if array is None else device.to_device(array) for array in arrays]


def check(device, got, want):
    for ours, theirs in zip(got, want, strict=True):
        if theirs is None:
            assert ours is None
            continue
        ours = device.to_host(ours)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


SHAPES = {
    "nothing": (3, 4, 0, 1),
    "no rows": (0, 4, 0, 1),
    "one": (1, 1, 1, 1),
    "one row": (1, 1000, 300, 1),
    "one column": (40, 1, 300, 1),
    "even": (30, 40, 500, 1),
    "hubs": (50, 300, 900, 8),
    "mostly empty": (5000, 5000, 100, 1),
}


@pytest.mark.parametrize("on_host", [True, False], ids=["host", "device"])
@pytest.mark.parametrize("valued", [False, True], ids=["pattern", "values"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_from_coordinates(cuda, small, rng, shape, valued, on_host):
    nrows, ncols, nvals, skew = shape
    rows, cols = coordinates(rng, nrows, ncols, nvals, skew)
    values = rng.random(nvals) if valued else None
    want = sort.coo_to_csr(nrows, ncols, rows, cols, values)
    given = (rows, cols, values) if on_host else on(cuda, (rows, cols, values))
    got = cuda.sort.coo_to_csr(nrows, ncols, *given)
    check(cuda, got, want)
    assert cuda.sort.count_duplicates(*got[:2]) == sort.count_duplicates(*want[:2])
    dup = DUP if valued else None
    check(cuda, cuda.sort.combine_duplicates(*got, dup), sort.combine_duplicates(*want, dup))


@pytest.mark.parametrize("nvals", [0, 1, 49, 50, 51, 400])
def test_sorted_coordinates_are_taken_as_they_are(cuda, small, rng, nvals):
    rows, cols = coordinates(rng, 30, 40, nvals)
    order = np.lexsort((cols, rows))
    rows, cols, values = rows[order], cols[order], cuda.to_device(rng.random(nvals))
    indptr, indices, out = cuda.sort.coo_to_csr(30, 40, rows, cols, values)
    assert out is values
    check(cuda, (indptr, indices), sort.coo_to_csr(30, 40, rows, cols, None)[:2])


def test_one_pair_out_of_order_at_the_seam_of_two_slices(cuda, small):
    rows, cols = np.arange(100), np.zeros(100, np.int64)
    rows[49], rows[50] = 50, 49
    indptr, indices, _ = cuda.sort.coo_to_csr(100, 1, rows, cols, None)
    check(cuda, (indptr, indices), (np.arange(101, dtype=np.int32), np.zeros(100, np.int32)))


@pytest.mark.parametrize("length", [*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 300])
@pytest.mark.parametrize("valued", [False, True], ids=["pattern", "values"])
def test_rows_of_every_length(cuda, small, rng, length, valued):
    """Equal columns too: their values stay in the order given."""
    indices = rng.integers(0, max(length // 2, 1), length)
    values = rng.random(length) if valued else None
    indptr = np.array([0, 0, length, length], np.int32)
    got = cuda.sort.sort_rows(3, length, *on(cuda, (indptr, indices, values)))
    check(cuda, got, sort.sort_rows(3, length, indptr, indices, values))


@pytest.mark.parametrize("wide", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("valued", [False, True], ids=["pattern", "values"])
def test_csr_moves(cuda, small, rng, valued, wide, monkeypatch):
    nrows, ncols = 50, 120
    csr = sort.coo_to_csr(nrows, ncols, *coordinates(rng, nrows, ncols, 900, 8), rng.random(900) if valued else None)
    row_source, col_target = rng.permutation(nrows), rng.permutation(ncols)
    some = rng.integers(0, nrows, 30)
    want = [
        sort.transpose_csr(nrows, ncols, *csr),
        sort.transpose_csr(nrows, ncols, *csr, col_target),
        sort.sort_rows(nrows, ncols, *csr, col_target),
        sort.gather_rows(*csr, some),
        sort.permute_csr(nrows, ncols, *csr, row_source, None),
        sort.permute_csr(nrows, ncols, *csr, None, col_target),
        sort.permute_csr(nrows, ncols, *csr, row_source, col_target),
        (sort.row_numbers(csr[0], 900),),
        sort.permute_csr(nrows, ncols, *csr, row_source, None),
        sort.permute_csr(nrows, ncols, *csr, row_source, col_target),
    ]
    if wide:
        monkeypatch.setattr(sorting, "narrow", lambda count: np.int64)
        csr = [array if array is None or array.dtype.kind == "f" else array.astype(np.int64) for array in csr]
    csr = on(cuda, csr)
    row_source, col_target, some = on(cuda, (row_source, col_target, some))
    got = [
        cuda.sort.transpose_csr(nrows, ncols, *csr),
        cuda.sort.transpose_csr(nrows, ncols, *csr, col_target),
        cuda.sort.sort_rows(nrows, ncols, *csr, col_target),
        cuda.sort.gather_rows(*csr, some),
        cuda.sort.permute_csr(nrows, ncols, *csr, row_source, None),
        cuda.sort.permute_csr(nrows, ncols, *csr, None, col_target),
        cuda.sort.permute_csr(nrows, ncols, *csr, row_source, col_target),
        (cuda.sort.row_numbers(csr[0], 900),),
        cuda.sort.permute_own(nrows, ncols, list(csr), row_source, None),
        cuda.sort.permute_own(nrows, ncols, list(csr), row_source, col_target),
    ]
    for ours, theirs in zip(got, want, strict=True):
        if wide:
            ours = [None if x is None else x.astype(y.dtype) for x, y in zip(ours, theirs, strict=True)]
        check(cuda, ours, theirs)


def test_nothing_moves_for_nothing(cuda):
    csr = on(cuda, (np.array([0, 2]), np.array([0, 1]), None))
    assert all(a is b for a, b in zip(cuda.sort.permute_csr(1, 2, *csr, None, None), csr))


@pytest.mark.parametrize("itemsize", [0, 1, 4, 8])
def test_building_holds_what_build_peak_says(emulated, rng, monkeypatch, itemsize):
    from emulator.array import pool

    nrows, nvals = 1 << 12, 1 << 17
    rows, cols = coordinates(rng, nrows, nrows, nvals)
    values = rng.integers(0, 100, nvals).astype(f"i{itemsize}") if itemsize else None
    dup = (binary.plus[f"INT{8 * itemsize}"].expr, ("x", "y")) if itemsize else None
    monkeypatch.setattr(sorting, "SLICE", 1 << 12)
    before = pool.peak = pool.used
    csr = emulated.sort.coo_to_csr(nrows, nrows, rows, cols, values)
    csr = emulated.sort.combine_duplicates(*csr, dup)
    held = pool.peak - before
    said = sorting.build_peak(nrows, nrows, nvals, itemsize, csr[1].size)
    assert held < 1.05 * said
    assert held < 2.2 * sum(array.nbytes for array in csr if array is not None)
