"""Matrix products, Kronecker and outer products against python-graphblas."""

import matrix_cases as mc
import numpy as np
import pytest
from matrix_cases import chance, draw_matrix, draw_mode, draw_vector, gb, run, turned, view

from semirings import binary, semiring
from semirings.exceptions import DomainMismatch
from spgraph import context
from spgraph.engine import matrix_products
from spgraph.engine.matrix_build import matrix_coo
from spgraph.engine.matrix_products import kronecker, mxm, outer

pytestmark = pytest.mark.one_device("is about blocks of one device")

SEMIRINGS = ("plus_times", "min_plus", "max_times", "any_pair", "plus_pair", "lor_land", "times_first",
             "min_max", "plus_minus", "max_lor", "lxor_lor")
POSITIONAL = ("min_firsti", "max_secondj", "plus_firstj", "min_secondi1", "times_firstj1")


@pytest.fixture(params=range(16))
def rng(request):
    with mc.case(request.param) as generator:
        yield generator


def operands(rng, ordered, dtype=None):
    """A and B, possibly transposed, and the shape of their product."""
    nrows, inner, ncols = (int(n) for n in rng.integers(0, 8, 3))
    if chance(rng, 0.5):
        inner = ncols = nrows
    a_t, b_t = chance(rng, 0.3), chance(rng, 0.3)
    A = draw_matrix(rng, *turned((nrows, inner), a_t), dtype, ordered=ordered and chance(rng, 0.8))
    B = draw_matrix(rng, *turned((inner, ncols), b_t), dtype, ordered=ordered and chance(rng, 0.8))
    if nrows == inner == ncols and chance(rng, 0.3):
        B = A
    return A, a_t, B, b_t, (nrows, ncols)


@pytest.fixture(params=["counted", "gustavson", "dot"])
def method(request, monkeypatch):
    """The method of masked products: as the counts say, or forced."""
    if request.param != "counted":
        monkeypatch.setattr(matrix_products, "settled", lambda *counts: False)
        monkeypatch.setattr(matrix_products, "choose_product", lambda *counts: request.param)


def agreed(name, a, b):
    """The semiring in both, if python-graphblas has it for the types."""
    ours, theirs = getattr(semiring, name), getattr(gb.semiring, name)
    try:
        return ours.resolve(a.dtype, b.dtype), gb.core.operator.get_typed_op(
            theirs, gb.dtypes.lookup_dtype(a.dtype), gb.dtypes.lookup_dtype(b.dtype))
    except (KeyError, DomainMismatch):
        return None


def test_mxm(rng, method):
    ordered = chance(rng, 0.4)
    A, a_t, B, b_t, shape = operands(rng, ordered)
    name = str(rng.choice(SEMIRINGS))
    ops = agreed(name, A.ours, B.ours)
    if ops is None:
        name, ops = "any_pair", agreed("any_pair", A.ours, A.ours)
        B, b_t = A, not a_t
        shape = (view(A.theirs, a_t).nrows,) * 2
    mode = draw_mode(rng, shape, ordered=ordered and chance(rng, 0.5))
    expression = view(A.theirs, a_t).mxm(view(B.theirs, b_t), ops[1])
    run(mode, lambda *w: mxm(*w, A.ours, a_t, B.ours, b_t, ops[0]), expression, name)


def test_any_takes_one_of_the_products(rng, method):
    n = int(rng.integers(1, 8))
    A, B, M = (draw_matrix(rng, n, n, "INT64", ordered=chance(rng, 0.5)) for _ in range(3))
    mask, _ = mc.draw_mask(rng, M if chance(rng, 0.6) else None)
    C = mc.empty_matrix(n, n, np.int64)
    mxm(C, mask, None, False, A.ours, False, B.ours, False, semiring.any_second.resolve(np.int64, np.int64))
    pattern = mc.empty_matrix(n, n, np.bool_)
    mxm(pattern, mask, None, False, A.ours, False, B.ours, False, semiring.any_pair.resolve(np.int64, np.int64))
    (rows, cols, values), (a_rows, a_cols, _) = matrix_coo(C), matrix_coo(A.ours)
    right = {(k, j): value for k, j, value in zip(*matrix_coo(B.ours))}
    for i, j, value in zip(rows, cols, values):
        assert value in {right.get((k, j)) for k in a_cols[a_rows == i]}
    assert np.array_equal(matrix_coo(pattern)[0], rows)
    assert np.array_equal(matrix_coo(pattern)[1], cols)


def test_mask_is_an_operand(rng, method):
    n, ordered = int(rng.integers(1, 8)), chance(rng, 0.5)
    A = draw_matrix(rng, n, n, "INT64", ordered=ordered)
    C = A if chance(rng, 0.3) else draw_matrix(rng, n, n, "INT64", ordered=ordered and chance(rng, 0.5))
    mask, gb_mask = mc.draw_mask(rng, A)
    replace, (a_t, b_t) = chance(rng, 0.5), (chance(rng, 0.5), chance(rng, 0.5))
    mode = mc.Mode(C, mask, None, replace, lambda out: out(gb_mask, replace=replace))
    op = semiring.plus_times.resolve(np.int64, np.int64)
    expression = view(A.theirs, a_t).mxm(view(A.theirs, b_t), gb.semiring.plus_times)
    run(mode, lambda *w: mxm(*w, A.ours, a_t, A.ours, b_t, op), expression)


@pytest.mark.parametrize("name", POSITIONAL)
def test_positional(rng, name):
    A, a_t, B, b_t, shape = operands(rng, True, "INT64")
    mode = draw_mode(rng, shape, ordered=chance(rng, 0.5))
    expression = view(A.theirs, a_t).mxm(view(B.theirs, b_t), getattr(gb.semiring.ss, name))
    op = getattr(semiring, name).resolve(np.int64, np.int64)
    run(mode, lambda *w: mxm(*w, A.ours, a_t, B.ours, b_t, op), expression, name)


def draw_diagonal(rng, n, dtype=None, ordered=False):
    """A square matrix with some, or all, of its diagonal."""
    diagonal = draw_vector(rng, n, dtype)
    ids, values = diagonal.theirs.to_coo()
    if chance(rng, 0.3):
        values[:] = values[:1].repeat(values.size)
    block = mc.build_matrix(n, n, ids, ids, values, values.dtype, device=context.device())
    if ordered:
        parts = mc.draw_partition(rng, n)
        block.rehome(parts, parts)
    return mc.Pair(block, gb.Matrix.from_coo(ids, ids, values, nrows=n, ncols=n))


def scaled_by_position(name, A, B, left):
    """What a positional semiring gives where A or B is diagonal: each entry is one product, at (i, k) and (k, j).

    SuiteSparse 9.4.5 gives 0 for firsti and secondj where a matrix of one entry is transposed.
    """
    (rows, inner, _), (inner_b, cols, _) = A.to_coo(), B.to_coo()
    there = np.isin(inner_b, inner) if left else np.isin(inner, inner_b)
    i, j = (inner_b[there], cols[there]) if left else (rows[there], inner[there])
    place = {"firsti": i, "firstj": i if left else j, "secondi": i if left else j, "secondj": j}
    kind = name.partition("_")[2]
    values = place[kind.rstrip("1")].astype(np.int64) + kind.endswith("1")
    return gb.Matrix.from_coo(i, j, values, nrows=A.nrows, ncols=B.ncols)


@pytest.mark.parametrize("side", ["left", "right", "both"])
@pytest.mark.parametrize("name", [*SEMIRINGS, *POSITIONAL])
def test_a_diagonal_factor_scales(rng, monkeypatch, name, side):
    """Rows or columns, by any operator, also where it has gaps, lies otherwise or is transposed."""
    n, m = (int(k) for k in rng.integers(1, 9, 2))
    positional = name in POSITIONAL
    first, second = ("INT64", "INT64") if positional else map(str, rng.choice(mc.DTYPES, 2))
    if {first, second} == {"INT64", "UINT64"}:
        second = first  # python-graphblas has no type for both
    ordered, (a_t, b_t) = chance(rng, 0.5), (chance(rng, 0.3), chance(rng, 0.3))
    D = draw_diagonal(rng, n, first, ordered=ordered and chance(rng, 0.3))
    A = B = D
    if side == "right":
        A = draw_matrix(rng, *turned((m, n), a_t), second, ordered=ordered)
    else:
        B = draw_diagonal(rng, n, second) if side == "both" else draw_matrix(
            rng, *turned((n, m), b_t), second, ordered=ordered)
    left, right = view(A.theirs, a_t), view(B.theirs, b_t)
    if positional:
        op = getattr(semiring, name).resolve(np.int64, np.int64)
        expression = scaled_by_position(name, left.dup(), right.dup(), side != "right")
    else:
        op, theirs = agreed(name, A.ours, B.ours)
        expression = left.mxm(right, theirs)
    mode = draw_mode(rng, (left.nrows, right.ncols), ordered=ordered and chance(rng, 0.5))
    if mode.mask is None:
        monkeypatch.setattr(matrix_products, "_unmasked", lambda *_: pytest.fail("the general way"))
    run(mode, lambda *w: mxm(*w, A.ours, a_t, B.ours, b_t, op), expression, name)


@pytest.mark.parametrize("name", ["times", "minus", "pair", "first", "eq"])
def test_kronecker(rng, name):
    ordered, a_t, b_t = chance(rng, 0.3), chance(rng, 0.3), chance(rng, 0.3)
    (r1, c1), (r2, c2) = (tuple(int(n) for n in rng.integers(0, 4, 2)) for _ in range(2))
    A = draw_matrix(rng, *turned((r1, c1), a_t), "INT32", ordered=ordered)
    B = draw_matrix(rng, *turned((r2, c2), b_t), "FP64", ordered=ordered)
    mode = draw_mode(rng, (r1 * r2, c1 * c2), ordered=ordered)
    expression = view(A.theirs, a_t).kronecker(view(B.theirs, b_t), getattr(gb.binary, name))
    op = getattr(binary, name).resolve(A.ours.dtype, B.ours.dtype)
    run(mode, lambda *w: kronecker(*w, A.ours, a_t, B.ours, b_t, op), expression, name)


@pytest.mark.parametrize("name", ["times", "minus", "pair", "ge"])
def test_outer(rng, name):
    ordered = chance(rng, 0.4)
    u, v = (draw_vector(rng, int(rng.integers(0, 6)), "INT16", ordered=ordered) for _ in range(2))
    mode = draw_mode(rng, (u.ours.size, v.ours.size), ordered=ordered)
    expression = u.theirs.outer(v.theirs, getattr(gb.binary, name))
    op = getattr(binary, name).resolve(np.int16, np.int16)
    run(mode, lambda *w: outer(*w, u.ours, v.ours, op), expression, name)
