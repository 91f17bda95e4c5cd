"""Union, intersection, apply and select of matrices against python-graphblas."""

import matrix_cases as mc
import numpy as np
import pytest
from matrix_cases import chance, draw_matrix, draw_mode, gb, gb_scalar, run, scalar, turned, view

from semirings import binary, indexunary, select, unary
from semirings.exceptions import DomainMismatch
from spgraph.engine.matrix_elementwise import matrix_apply, matrix_ewise, matrix_select

pytestmark = pytest.mark.one_device("is about blocks of one device")

BINARY = ("plus", "times", "minus", "min", "first", "second", "pair", "eq", "lt", "lor", "max")
BOUND = ("plus", "minus", "rminus", "times", "first", "second", "pair", "ge", "ne", "lxor")
UNARY = ("identity", "ainv", "abs", "one", "lnot", "minv", "sqrt")
INDEXUNARY = ("rowindex", "colindex", "tril", "triu", "diag", "colle", "rowgt", "valueeq", "valuelt")
SELECT = ("tril", "triu", "diag", "offdiag", "colle", "colgt", "rowle", "rowgt", "valueeq", "valuene", "valuege")


@pytest.fixture(params=range(24))
def rng(request):
    with mc.case(request.param) as generator:
        yield generator


@pytest.mark.parametrize("kind", ["add", "mult", "union"])
def test_ewise(rng, kind):
    shape, ordered, a_t, b_t = mc.shape_of(rng), chance(rng, 0.4), chance(rng, 0.3), chance(rng, 0.3)
    name = str(rng.choice(BINARY))
    A = draw_matrix(rng, *turned(shape, a_t), ordered=ordered)
    B = A if a_t == b_t and chance(rng, 0.1) else draw_matrix(rng, *turned(shape, b_t), ordered=chance(rng, 0.3))
    mode = draw_mode(rng, shape, ordered=ordered and chance(rng, 0.5))
    try:
        op = getattr(binary, name).resolve(A.ours.dtype, B.ours.dtype)
    except DomainMismatch:
        op, B = getattr(binary, name).resolve(A.ours.dtype), A
        b_t = a_t
    gb_op, left, right = getattr(gb.binary, name), view(A.theirs, a_t), view(B.theirs, b_t)
    defaults = ()
    if kind == "union":
        defaults = scalar(rng, op.type.name), scalar(rng, op.type.name)
        expression = left.ewise_union(right, gb_op, *map(gb_scalar, defaults))
    else:
        expression = getattr(left, f"ewise_{kind}")(right, gb_op)
    run(mode, lambda *w: matrix_ewise(*w, kind, op, A.ours, a_t, B.ours, b_t, *defaults), expression, name)


@pytest.mark.parametrize("name", ["firsti", "secondj", "firstj1"])
def test_ewise_positional(rng, name):
    shape, ordered = mc.shape_of(rng), chance(rng, 0.5)
    A, B = (draw_matrix(rng, *shape, "INT64", ordered=ordered and chance(rng, 0.7)) for _ in range(2))
    mode = draw_mode(rng, shape, ordered=ordered)
    op = getattr(binary, name).resolve(np.int64, np.int64)
    expression = A.theirs.ewise_mult(B.theirs, getattr(gb.binary.ss, name))
    run(mode, lambda *w: matrix_ewise(*w, "mult", op, A.ours, False, B.ours, False), expression, name)


@pytest.mark.parametrize("kind", ["unary", "left", "right", "index", "transpose"])
def test_apply(rng, kind):
    shape, ordered, a_t = mc.shape_of(rng), chance(rng, 0.4), chance(rng, 0.4)
    A = draw_matrix(rng, *turned(shape, a_t), ordered=ordered)
    mode = draw_mode(rng, shape, ordered=ordered and chance(rng, 0.5))
    theirs, s = view(A.theirs, a_t), scalar(rng, A.theirs.dtype.name)
    names = {"unary": UNARY, "index": INDEXUNARY, "transpose": ("identity",)}.get(kind, BOUND)
    name, given, op = str(rng.choice(names)), {}, None
    if kind == "transpose":
        expression = theirs
    elif kind == "unary":
        op = getattr(unary, name).resolve(A.ours.dtype)
        expression = theirs.apply(getattr(gb.unary, name))
    elif kind == "index":
        op = getattr(indexunary, name).resolve(A.ours.dtype, s.dtype)
        if op.positional:
            s = np.int64(rng.integers(-2, 4))
        given = {"thunk": s}
        gb_op = getattr(gb.indexunary, name)
        if A.theirs.dtype not in gb_op.types and name.endswith("index"):
            gb_op = gb_op["INT64"]  # python-graphblas finds it for some types only
        expression = theirs.apply(gb_op, gb_scalar(s))
    else:
        op = getattr(binary, name).resolve(A.ours.dtype, s.dtype)
        given = {kind: s}
        expression = theirs.apply(getattr(gb.binary, name), **{kind: gb_scalar(s)})
    run(mode, lambda *w: matrix_apply(*w, A.ours, a_t, op, **given), expression, name)


@pytest.mark.parametrize("part", [0, 1])
def test_select(rng, part):
    shape, ordered, a_t = mc.shape_of(rng), chance(rng, 0.4), chance(rng, 0.4)
    A = draw_matrix(rng, *turned(shape, a_t), ordered=ordered)
    mode = draw_mode(rng, shape, ordered=ordered and chance(rng, 0.5))
    name, s = str(rng.choice(SELECT[part::2])), scalar(rng, A.theirs.dtype.name)
    op = getattr(select, name).resolve(A.ours.dtype, s.dtype)
    if op.positional:
        s = np.int64(rng.integers(-2, 4))
    expression = view(A.theirs, a_t).select(getattr(gb.select, name), gb_scalar(s))
    run(mode, lambda *w: matrix_select(*w, A.ours, a_t, op, s), expression, name)
