"""Extract, lines, diagonals, single elements, resize, reductions: against python-graphblas."""

import matrix_cases as mc
import numpy as np
import pytest
from matrix_cases import assert_same, chance, draw_matrix, draw_mode, draw_vector, gb, run, turned, view

from semirings import binary, monoid
from semirings.exceptions import InvalidValue, OutOfMemory
from spgraph import context
from spgraph.engine.index import Index
from spgraph.engine.matrix_assign import matrix_assign
from spgraph.engine.matrix_build import build_matrix, matrix_coo
from spgraph.engine.matrix_reduce import matrix_reduce_rows, matrix_reduce_scalar
from spgraph.engine.matrix_structure import (
    matrix_diag,
    matrix_extract,
    matrix_extract_column,
    matrix_get,
    matrix_remove,
    matrix_resize,
    matrix_set,
    vector_diag,
)

pytestmark = pytest.mark.one_device("is about blocks of one device")

MONOIDS = ("plus", "times", "min", "max", "lor", "land", "lxor", "eq")


@pytest.fixture(params=range(40))
def rng(request):
    with mc.case(request.param) as generator:
        yield generator


def test_extract(rng):
    shape, ordered, a_t = mc.shape_of(rng), chance(rng, 0.4), chance(rng, 0.4)
    A = draw_matrix(rng, *turned(shape, a_t), ordered=ordered)
    rows, gb_rows = mc.draw_index(rng, shape[0])
    cols, gb_cols = mc.draw_index(rng, shape[1])
    mode = draw_mode(rng, (rows.size, cols.size), ordered=ordered and chance(rng, 0.5))
    expression = view(A.theirs, a_t)[gb_rows, gb_cols]
    run(mode, lambda *w: matrix_extract(*w, A.ours, a_t, rows, cols), expression, f"{rows} {cols}")


def test_extract_column(rng):
    nrows, ncols = mc.shape_of(rng)
    a_t, ordered = chance(rng, 0.5), chance(rng, 0.5)
    ncols += 1
    A = draw_matrix(rng, *turned((nrows, ncols), a_t), ordered=ordered)
    if chance(rng, 0.3):
        A.ours.oriented(True)
    rows, gb_rows = mc.draw_index(rng, nrows)
    j = int(rng.integers(ncols))
    mode = draw_mode(rng, rows.size)
    expression = A.theirs[j, gb_rows] if a_t else A.theirs[gb_rows, j]
    run(mode, lambda *w: matrix_extract_column(*w, A.ours, a_t, rows, j), expression, f"{rows}")


def test_diagonals(rng):
    k = int(rng.integers(-4, 5))
    u = draw_vector(rng, int(rng.integers(0, 6)), ordered=chance(rng, 0.3))
    assert_same(matrix_diag(u.ours, k), u.theirs.diag(k))
    assert_same(matrix_diag(u.ours, k, np.dtype("f4")), u.theirs.dup("FP32").diag(k))
    A, a_t = draw_matrix(rng, *mc.shape_of(rng), ordered=chance(rng, 0.3)), chance(rng, 0.5)
    assert_same(vector_diag(A.ours, a_t, k), (A.theirs.T.new() if a_t else A.theirs).diag(k))


def test_single_elements(rng):
    A = draw_matrix(rng, 4, 5, ordered=chance(rng, 0.5))
    for _ in range(6):
        i, j = int(rng.integers(4)), int(rng.integers(5))
        wanted = A.theirs.get(i, j)
        got = matrix_get(A.ours, i, j)
        assert got == wanted
        assert got is None or got.dtype == A.ours.dtype
        if chance(rng, 0.4):
            del A.theirs[i, j]
            matrix_remove(A.ours, i, j)
        else:
            first = matrix_coo(A.ours)[2][:1] if chance(rng, 0.4) else []
            value = first[0] if len(first) else mc.scalar(rng, A.theirs.dtype.name)
            A.theirs[i, j] = value
            matrix_set(A.ours, i, j, value)
        assert_same(A.ours, A.theirs)


def test_setting_leaves_others_alone(rng):
    A = draw_matrix(rng, 4, 4, "INT64", density=1.0, ordered=chance(rng, 0.5))
    before, B = A.theirs.dup(), mc.empty_matrix(4, 4, np.int64)
    B.assume(A.ours)
    matrix_set(B, 1, 2, 99)
    matrix_remove(B, 0, 0)
    assert_same(A.ours, before)


def test_resize(rng):
    A = draw_matrix(rng, *mc.shape_of(rng), ordered=chance(rng, 0.4))
    nrows, ncols = (int(n) for n in rng.integers(1, 9, 2))
    A.theirs.resize(nrows, ncols)
    matrix_resize(A.ours, nrows, ncols)
    assert A.ours.nrows == nrows
    assert A.ours.ncols == ncols
    assert_same(A.ours, A.theirs)


@pytest.mark.parametrize("how", ["rowwise", "columnwise", "cached"])
def test_reduce_to_vector(rng, how):
    shape, name, ordered = mc.shape_of(rng), str(rng.choice(MONOIDS)), chance(rng, 0.4)
    A = draw_matrix(rng, *shape, "BOOL" if name in ("lor", "land", "lxor", "eq") else None, ordered=ordered)
    if A.theirs.dtype == "BOOL" and name in ("plus", "times", "min", "max"):
        name = "lor"
    a_t = how != "rowwise"
    if how == "cached":
        A.ours.oriented(True)
    mode = draw_mode(rng, shape[1] if a_t else shape[0], ordered=ordered and chance(rng, 0.5))
    expression = (A.theirs.reduce_columnwise if a_t else A.theirs.reduce_rowwise)(getattr(gb.monoid, name))
    op = getattr(monoid, name).resolve(A.ours.dtype)
    run(mode, lambda *w: matrix_reduce_rows(*w, A.ours, a_t, op), expression, name)
    wanted = A.theirs.reduce_scalar(getattr(gb.monoid, name), allow_empty=True).new().value
    got = matrix_reduce_scalar(A.ours, op)
    assert got == wanted
    assert got is None or got.dtype == A.ours.dtype


def test_duplicates_raise_unless_combined():
    rows, cols, values = [1, 0, 1, 1], [2, 0, 2, 2], np.array([5, 1, 7, 9])
    on = {"device": context.device()}
    with pytest.raises(InvalidValue, match=r"2 of 4 entries repeat a position, the first is .* \(1, 2\); give dup_op"):
        build_matrix(2, 3, rows, cols, values, np.int64, **on)
    for given, wanted in ((values, [1, -11]), (np.int64(3), [3, -3])):
        block = build_matrix(2, 3, rows, cols, given, np.int64, binary.minus.resolve(np.int64, np.int64), **on)
        assert matrix_coo(block)[2].tolist() == wanted
    block = build_matrix(2, 3, rows, cols, 3, np.int64, binary.min.resolve(np.int64, np.int64), **on)
    assert block.iso
    assert block.nvals == 2


def test_a_region_beyond_memory_names_its_size_and_changes_nothing():
    n = 1 << 20
    block = mc.empty_matrix(n, n, np.int64)
    everything = Index.of_all(n)
    with pytest.raises(OutOfMemory, match=f"a region of {n * n} entries needs"):
        matrix_assign(block, None, None, False, np.int64(1), everything, everything)
    assert block.nvals == 0
