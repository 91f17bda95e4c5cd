"""Matrices too large for one range of rows or one block of threads, against python-graphblas.

The other matrix tests run the CPU's kernels interpreted, on matrices too small for some branches
(rows long enough for a radix sort, keys enough for two-step counting sorts). Here they are compiled.
"""

import matrix_cases as mc
import numpy as np
import pytest
from matrix_cases import assert_same, gb

from semirings import binary, monoid, select, semiring
from spgraph import context, engine
from spgraph.engine import Index, Mask, matrix_products, matrix_reduce
from spgraph.kernels.cpu import _pieces, _specialise, _threads, sort

pytestmark = pytest.mark.one_device("is about blocks of one device")

INT = np.dtype(np.int64)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    for module in (_threads, _pieces, sort, matrix_reduce):
        monkeypatch.setattr(module, "PARALLEL_WORK", 0)
    threads, mode = _threads.set_threads(2), _specialise.set_jit("always")
    yield
    _threads.set_threads(threads)
    _specialise.set_jit(mode)


def both(seed, nrows, ncols, density, *, ordered=False):
    rng = np.random.default_rng(seed)
    return mc.draw_matrix(rng, nrows, ncols, "INT64", density=density, iso=False, ordered=ordered)


def empty(nrows, ncols):
    return mc.empty_matrix(nrows, ncols, INT), gb.Matrix(int, nrows, ncols)


def test_product_rows_of_every_length():
    A, B = both(1, 40, 60, 0.05), both(2, 60, 20_000, 0.0008)  # few of many columns: insertion and radix sort
    C, D = empty(40, 20_000)
    op = semiring.plus_times.resolve(INT, INT)
    engine.mxm(C, None, None, False, A.ours, False, B.ours, False, op)
    D << A.theirs.mxm(B.theirs, gb.semiring.plus_times)
    assert_same(C, D)
    lengths = np.diff(C.device.to_host(C.indptr))
    assert lengths.min() < 32 < lengths.max()
    C, D = empty(40, 40)  # a scan
    engine.mxm(C, None, None, False, A.ours, False, A.ours, True, op)
    D << A.theirs.mxm(A.theirs.T, gb.semiring.plus_times)
    assert_same(C, D)


@pytest.mark.parametrize("method", ["gustavson", "dot"])
@pytest.mark.parametrize("complement", [False, True])
def test_masked_product(monkeypatch, method, complement):
    monkeypatch.setattr(matrix_products, "settled", lambda *counts: False)
    monkeypatch.setattr(matrix_products, "choose_product", lambda *counts: method)
    A, M = both(3, 200, 200, 0.08, ordered=True), both(4, 200, 200, 0.03)
    C, D = empty(200, 200)
    mask = Mask(M.ours, complement, False)
    engine.mxm(C, mask, None, False, A.ours, False, A.ours, False, semiring.min_plus.resolve(INT, INT))
    D(~M.theirs.V if complement else M.theirs.V) << A.theirs.mxm(A.theirs, gb.semiring.min_plus)
    assert_same(C, D)


@pytest.mark.parametrize("method", ["gustavson", "dot"])
def test_masked_product_bisects_long_rows(monkeypatch, method):
    monkeypatch.setattr(matrix_products, "settled", lambda *counts: False)
    monkeypatch.setattr(matrix_products, "choose_product", lambda *counts: method)
    A, B, M = both(5, 30, 50, 0.06), both(6, 50, 3000, 0.5), both(7, 30, 3000, 0.002)
    if method == "dot":
        A, B, M = both(5, 30, 3000, 0.002), both(6, 3000, 50, 0.5), both(7, 30, 50, 0.3)
    shape = M.theirs.shape
    C, D = empty(*shape)
    mask, op = Mask(M.ours, False, True), semiring.plus_times.resolve(INT, INT)
    engine.mxm(C, mask, None, False, A.ours, False, B.ours, False, op)
    D(M.theirs.S) << A.theirs.mxm(B.theirs, gb.semiring.plus_times)
    assert_same(C, D)


def test_merges_and_selections():
    A, B, M = both(8, 300, 200, 0.1), both(9, 300, 200, 0.1), both(10, 300, 200, 0.2)
    plus = binary.plus.resolve(INT, INT)
    C, D = A.ours.copy(), A.theirs.dup()
    mask = Mask(M.ours, False, True)
    engine.matrix_ewise(C, mask, plus, True, "mult", plus, A.ours, False, B.ours, False)
    D(M.theirs.S, accum=gb.binary.plus, replace=True) << A.theirs.ewise_mult(B.theirs, gb.binary.plus)
    assert_same(C, D)
    C, D = empty(300, 200)
    engine.matrix_ewise(C, Mask(M.ours, True, False), None, False, "add", plus, A.ours, False, B.ours, False)
    D(~M.theirs.V) << A.theirs.ewise_add(B.theirs, gb.binary.plus)
    assert_same(C, D)
    engine.matrix_select(C, None, None, False, A.ours, False, select.tril.resolve(INT, INT), np.int64(1))
    D << A.theirs.select("tril", 1)
    assert_same(C, D)
    engine.matrix_apply(C, None, None, False, A.ours, False, binary.minus.resolve(INT, INT), left=np.int64(3))
    D << A.theirs.apply(gb.binary.minus, left=3)
    assert_same(C, D)


def test_extract_and_assign():
    A = both(11, 300, 6000, 0.01)
    rng = np.random.default_rng(12)
    rows, cols = rng.integers(0, 300, 100), rng.integers(0, 6000, 5000)
    C, D = empty(100, 5000)
    engine.matrix_extract(C, None, None, False, A.ours, False, Index.of_list(rows), Index.of_list(cols))
    D << A.theirs[rows, cols]
    assert_same(C, D)
    engine.matrix_assign(A.ours, None, None, False, (C, False), Index.of_list(rows), Index.of_list(cols))
    A.theirs[rows, cols] << D
    assert_same(A.ours, A.theirs)
    everything = Index.of_all(300), Index.of_list(cols[:7])
    engine.matrix_assign(A.ours, Mask(A.ours.copy(), False, True), None, False, np.int64(9), *everything)
    A.theirs(A.theirs.dup().S)[:, cols[:7]] << 9
    assert_same(A.ours, A.theirs)


def test_reductions_and_kronecker():
    A, B = both(13, 400, 300, 0.2), both(14, 5, 7, 0.5)
    plus = monoid.plus.resolve(INT)
    for a_t, wanted in ((False, A.theirs.reduce_rowwise("+")), (True, A.theirs.reduce_columnwise("+"))):
        w = mc.empty_vector(300 if a_t else 400, INT)
        engine.matrix_reduce_rows(w, None, None, False, A.ours, a_t, plus)
        assert_same(w, wanted.new())
    assert engine.matrix_reduce_scalar(A.ours, plus) == A.theirs.reduce_scalar("+").new().value
    C, D = empty(2000, 2100)
    engine.kronecker(C, None, None, False, A.ours, False, B.ours, False, binary.minus.resolve(INT, INT))
    D << A.theirs.kronecker(B.theirs, gb.binary.minus)
    assert_same(C, D)


def test_sorting():
    rng = np.random.default_rng(15)
    nrows, ncols, count = 3000, 9000, 60_000  # more columns than one step of the counting sort takes
    rows, cols, values = rng.integers(0, nrows, count), rng.integers(0, ncols, count), rng.integers(0, 9, count)
    minus = binary.minus.resolve(INT, INT)
    block = engine.build_matrix(nrows, ncols, rows, cols, values, INT, minus, device=context.device())
    order = np.lexsort((cols, rows))
    rows, cols, values = rows[order], cols[order], values[order]
    first = np.flatnonzero(np.diff(rows * ncols + cols, prepend=-1))
    signs = -np.ones(count, np.int64)
    signs[first] = 1
    found = engine.matrix_coo(block)
    assert np.array_equal(found[0], rows[first])
    assert np.array_equal(found[1], cols[first])
    assert np.array_equal(found[2], np.add.reduceat(values * signs, first))
    turned = block.oriented(True)
    theirs = gb.Matrix.from_coo(*engine.matrix_coo(block), nrows=nrows, ncols=ncols)
    assert_same(turned, theirs.T.new())
    parts = mc.draw_partition(rng, nrows), mc.draw_partition(rng, ncols)
    moved = block.copy().rehome(*parts)
    mc.assert_valid(moved)
    assert_same(moved, theirs)
