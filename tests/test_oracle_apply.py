"""apply (unary, bound first or second, index-unary) and select: the same text on both engines.

python-graphblas misreads the thunk of a select by value whose dtype is not the object's (FP64 for FP32, for
instance): thunks have the object's dtype here, and plain numbers are not compared with FP32 and UINT64.
"""

import functools

import graphblas
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import DTYPES, FLOATS, NUMERIC, masks, matrices, operator_names, scalars, vectors, writes
from test_oracle_ewise import typed_binary

UNARY = ("identity", "ainv", "minv", "abs", "lnot", "bnot", "one", "signum", "isnan", "isinf", "isfinite")
ROUNDING = ("ceil", "floor", "round", "trunc")
FUNCTIONS = ("sqrt", "exp", "log", "log1p", "expm1", "sin", "tan", "atan", "tanh", "cbrt", "exp2", "log2")
VALUE_TESTS = ("valueeq", "valuene", "valuelt", "valuele", "valuegt", "valuege")
PLACE_TESTS = ("tril", "triu", "diag", "offdiag", "rowle", "rowgt", "colle", "colgt")


@given(data=st.data())
def test_unary(agree, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    name = data.draw(st.sampled_from(operator_names(graphblas.unary, dtype, UNARY)))
    spec, mat = data.draw(vectors(5, dtype)), data.draw(matrices(3, 4, dtype))
    out, write = data.draw(vectors(5)), data.draw(writes(5))
    flip = data.draw(st.booleans())

    def apply(gb):
        op, w = getattr(gb.unary, name), out.on(gb)
        write.into(gb, w) << spec.on(gb).apply(op)
        A = mat.on(gb).T if flip else mat.on(gb)
        return w, op(A).new(), A.apply(name).new()

    agree(apply)


@given(data=st.data())
def test_functions_of_floats(agree, data):
    """Rounding is exact; transcendental functions agree but for the last digits. Integers become FP64."""
    name = data.draw(st.sampled_from(ROUNDING + FUNCTIONS))
    dtype = data.draw(st.sampled_from(FLOATS if name in ROUNDING else (*FLOATS, "INT32", "INT64")))
    spec = data.draw(vectors(6, dtype, tame=name not in ROUNDING))

    def apply(gb):
        return spec.on(gb).apply(getattr(gb.unary, name)).new()

    agree(apply, rtol=1e-5 if dtype == "FP32" else 1e-12)


@given(data=st.data())
def test_bound_operators(agree, data):
    d1, d2, name = data.draw(typed_binary())
    spec, mat = data.draw(vectors(5, d1)), data.draw(matrices(3, 3, d1))
    number = data.draw(scalars(d2))
    out, write = data.draw(vectors(5)), data.draw(writes(5))
    first = data.draw(st.booleans())

    def bound(gb):
        op, s, w = getattr(gb.binary, name), gb.Scalar.from_value(number, d2), out.on(gb)
        v, A = spec.on(gb), mat.on(gb)
        write.into(gb, w) << (v.apply(op, left=s) if first else v.apply(op, right=s))
        return w, (op(s, A) if first else op(A, s)).new(), A.T.apply(op, right=s).new()

    agree(bound)


@given(data=st.data())
def test_bound_to_plain_numbers(agree, data):
    """Not of UINT64: a Python integer becomes UINT64 here, and in python-graphblas INT64 and then FP64."""
    dtype = data.draw(st.sampled_from([dtype for dtype in NUMERIC if dtype != "UINT64"]))
    spec = data.draw(vectors(5, dtype, tame=True))
    number = data.draw(st.sampled_from([2, 3.5, True]))

    def bound(gb):
        v = spec.on(gb)
        operators = v.apply(gb.binary.minus, left=number).new(), v.apply("*", right=number).new()
        return operators, gb.binary.plus(v, number).new(), v.apply(gb.monoid.max, right=number).new()

    agree(bound)


@given(data=st.data())
def test_indexunary(agree, data):
    spec, mat = data.draw(vectors(5)), data.draw(matrices(4, 3))
    thunk = data.draw(st.integers(-3, 3))
    out, write = data.draw(matrices(4, 3)), data.draw(writes(4, 3))
    name = data.draw(st.sampled_from(["rowindex", "colindex"]))
    flip = data.draw(st.booleans())

    def apply(gb):
        v, C = spec.on(gb), out.on(gb)
        write.into(gb, C) << mat.on(gb).apply(getattr(gb.indexunary, name), thunk)
        A = mat.on(gb).T if flip else mat.on(gb)
        of_matrix = [getattr(gb.indexunary, test)(A, thunk).new() for test in PLACE_TESTS]
        of_vector = gb.indexunary.index(v, thunk).new(), v.apply(gb.indexunary.indexle, 2).new()
        return C, of_matrix, of_vector, A.apply(gb.indexunary.rowindex).new(), v.apply("index").new()

    agree(apply)


@given(mat=matrices(4, 3, "INT32"), thunk=st.integers(-3, 3))
def test_diagindex(agree, mat, thunk):
    """python-graphblas has diagindex for signed integers alone, and only with a thunk."""

    def apply(gb):
        return gb.indexunary.diagindex(mat.on(gb), thunk).new(), mat.on(gb).T.apply("diagindex", thunk).new()

    agree(apply)


@given(data=st.data())
def test_positional_unary(agree, data):
    spec, mat = data.draw(vectors(5)), data.draw(matrices(4, 3))
    name = data.draw(st.sampled_from(["positioni", "positioni1", "positionj", "positionj1"]))

    def apply(gb):
        op = getattr(gb.unary.ss, name)
        return op(spec.on(gb)).new(), op(mat.on(gb)).new(), op(mat.on(gb).T).new()

    agree(apply)


@given(data=st.data())
def test_indexunary_on_values(agree, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    spec, mat = data.draw(vectors(5, dtype)), data.draw(matrices(3, 3, dtype))
    thunk = data.draw(scalars(dtype))
    name = data.draw(st.sampled_from(VALUE_TESTS))

    def apply(gb):
        op, s = getattr(gb.indexunary, name), gb.Scalar.from_value(thunk, dtype)
        return spec.on(gb).apply(op, s).new(), op(mat.on(gb), s).new()

    agree(apply)


@given(data=st.data())
def test_select_by_value(agree, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    spec, mat = data.draw(vectors(5, dtype)), data.draw(matrices(3, 3, dtype))
    thunk, name = data.draw(scalars(dtype)), data.draw(st.sampled_from(VALUE_TESTS))
    out, write = data.draw(vectors(5)), data.draw(writes(5))

    def select(gb):
        op, s, w = getattr(gb.select, name), gb.Scalar.from_value(thunk, dtype), out.on(gb)
        write.into(gb, w) << spec.on(gb).select(op, s)
        return w, op(mat.on(gb), s).new(), mat.on(gb).T.select(op, s).new()

    agree(select)


@given(data=st.data())
def test_select_by_place(agree, data):
    m, n = data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    mat, spec, thunk = data.draw(matrices(m, n)), data.draw(vectors(n)), data.draw(st.integers(-4, 4))
    name = data.draw(st.sampled_from(PLACE_TESTS))
    out, write = data.draw(matrices(m, n)), data.draw(writes(m, n))

    def select(gb):
        A, C, v = mat.on(gb), out.on(gb), spec.on(gb)
        write.into(gb, C) << A.select(getattr(gb.select, name), thunk)
        of_vector = v.select("indexle", thunk).new(), gb.select.indexgt(v, thunk).new()
        return C, getattr(gb.select, name)(A.T, thunk).new(), of_vector

    agree(select)


@given(data=st.data())
def test_select_by_comparison_and_mask(agree, data):
    dtype = data.draw(st.sampled_from(("INT8", "INT32", "INT64", "UINT16", "FP64")))
    spec, mat = data.draw(vectors(5, dtype)), data.draw(matrices(3, 4, dtype))
    flags = data.draw(masks(5)).parent
    number = data.draw(st.sampled_from([0, 1, 2]))

    def select(gb):
        v, A, b = spec.on(gb), mat.on(gb), flags.on(gb)
        compared = gb.select.value(v > number).new(), gb.select.value(number <= A).new()
        places = gb.select.row(A <= 1).new(), gb.select.column(A > 1).new(), gb.select.index(v <= 2).new()
        by_mask = v.select(b.S).new(), v.select(~b.V).new(), v.select(b.V).new(mask=b.S)
        return (
            compared,
            places,
            by_mask,
            A.select("tril").new(),
            A.select("triu", 1).new(),
            v.select(">", 1).new(),
        )

    agree(select)


@functools.cache
def own_operators(gb):
    """Operators that neither engine has, once per engine: python-graphblas compiles them with Numba."""
    capped = gb.binary.register_anonymous(lambda x, y: np.minimum(x + y, 3), "capped_plus")
    return (
        gb.unary.register_anonymous(lambda x: 2 * x + 1, "twice_plus_one"),
        gb.binary.register_anonymous(lambda x, y: np.abs(x - y) + y, "distance_plus_second"),
        gb.semiring.register_anonymous(gb.monoid.min, capped, "min_capped_plus"),
    )


@given(data=st.data())
def test_operators_of_ones_own(agree, data):
    dtype = data.draw(st.sampled_from(["INT64", "FP64"]))
    spec, other = data.draw(vectors(5, dtype, tame=True)), data.draw(vectors(5, dtype, tame=True))
    mat = data.draw(matrices(4, 4, dtype, tame=True))

    def registered(gb):
        v, w, A = spec.on(gb), other.on(gb), mat.on(gb)
        one, two, ring = own_operators(gb)
        return v.apply(one).new(), v.ewise_mult(w, two).new(), ring(A @ A).new(), two(v | w).new()

    agree(registered)
