"""mxm, mxv, vxm, inner, outer, kronecker, power: the same text on both engines.

Values are small multiples of 1/2, so that sums are exact in any order. Semirings are drawn from
python-graphblas's registry, masks, accumulators and dtypes freely. The inner dimension is never 0:
SuiteSparse then raises DimensionMismatch for some accumulators (BOOL `eq`), though the operands fit.
"""

import graphblas
from hypothesis import given
from hypothesis import strategies as st
from semiring_names import lookup, semirings_of, typed_semirings, unify
from strategies import DTYPES, NUMERIC, matrices, operator_names, vectors, writes

sizes, inner_sizes = st.integers(0, 4), st.integers(1, 4)
ATOL = 1e-5


def operand(draw, rows, cols, dtype):
    """A matrix operand, given as it is or as the transpose of one: ``build(gb)``."""
    if draw(st.booleans()):
        spec = draw(matrices(cols, rows, dtype, tame=True))
        return lambda gb: spec.on(gb).T
    return draw(matrices(rows, cols, dtype, tame=True)).on


@given(data=st.data())
def test_mxm(agree, data):
    m, k, n = data.draw(st.tuples(sizes, inner_sizes, sizes))
    d1, d2, name = data.draw(typed_semirings())
    left, right = operand(data.draw, m, k, d1), operand(data.draw, k, n, d2)
    out, write = data.draw(matrices(m, n, tame=True)), data.draw(writes(m, n))
    infix = data.draw(st.booleans())

    def mxm(gb):
        op, A, B, C = lookup(gb.semiring, name), left(gb), right(gb), out.on(gb)
        write.into(gb, C) << (op(A @ B) if infix else A.mxm(B, op))
        return C

    agree(mxm)


@given(data=st.data())
def test_mxv(agree, data):
    m, k = data.draw(st.tuples(sizes, inner_sizes))
    d1, d2, name = data.draw(typed_semirings())
    left, right = operand(data.draw, m, k, d1), data.draw(vectors(k, d2, tame=True))
    out, write = data.draw(vectors(m, tame=True)), data.draw(writes(m))
    infix = data.draw(st.booleans())

    def mxv(gb):
        op, A, v, w = lookup(gb.semiring, name), left(gb), right.on(gb), out.on(gb)
        write.into(gb, w) << (op(A @ v) if infix else A.mxv(v, op))
        return w

    agree(mxv)


@given(data=st.data())
def test_vxm(agree, data):
    k, n = data.draw(st.tuples(inner_sizes, sizes))
    d1, d2, name = data.draw(typed_semirings())
    left, right = data.draw(vectors(k, d1, tame=True)), operand(data.draw, k, n, d2)
    out, write = data.draw(vectors(n, tame=True)), data.draw(writes(n))
    infix = data.draw(st.booleans())

    def vxm(gb):
        op, v, A, w = lookup(gb.semiring, name), left.on(gb), right(gb), out.on(gb)
        write.into(gb, w) << (op(v @ A) if infix else v.vxm(A, op))
        return w

    agree(vxm)


@given(data=st.data())
def test_products_that_divide(agree, data):
    """Division and power: infinities and NaN arise, sums are rounded, and of 0.0 and -0.0 either is the largest.

    So what a second product divides by such a result is compared for integers alone.
    """
    d1, d2, name = data.draw(typed_semirings(exact=False))
    left, right = data.draw(matrices(3, 4, d1, tame=True)), data.draw(matrices(4, 2, d2, tame=True))
    x, y = data.draw(vectors(3, d1, tame=True)), data.draw(vectors(2, d2, tame=True))

    def products(gb):
        op, A, B = lookup(gb.semiring, name), left.on(gb), right.on(gb)
        AB = A.mxm(B, op).new()
        return AB, x.on(gb).vxm(AB, op).new(), AB.mxv(y.on(gb), op).new()

    def first_product_only(gb):
        return products(gb)[0]

    agree(first_product_only, atol=ATOL)
    if unify(d1, d2) in ("FP64", "FP32") or "truediv" in name:
        return
    agree(products, atol=ATOL)


@given(data=st.data())
def test_default_and_named_operators(agree, data):
    dtype = data.draw(st.sampled_from(NUMERIC))
    left, right = data.draw(matrices(3, 4, dtype, tame=True)), data.draw(matrices(4, 3, dtype, tame=True))
    u, w = data.draw(vectors(4, dtype, tame=True)), data.draw(vectors(3, dtype, tame=True))

    def products(gb):
        A, B, x, y = left.on(gb), right.on(gb), u.on(gb), w.on(gb)
        by_default = A.mxm(B).new(), A.mxv(x).new(), x.vxm(B).new(), (A @ B).new(), (A @ x).new()
        by_name = A.mxm(B, "min_plus").new(), A.mxv(x, "max.times").new(), y.vxm(A, "plus_first").new()
        typed = A.mxm(B, gb.semiring.plus_times[dtype]).new(dtype="FP64")
        return by_default, by_name, typed, y.vxm(A, gb.semiring.min_second).new(mask=x.S)

    agree(products)


@given(data=st.data())
def test_any_takes_one_of_the_products(agree, gb, data):
    """`any` may give any of the values; where the entries are is the same for all of them."""
    name = data.draw(st.sampled_from(["first", "second", "plus", "minus", "max", "ss.firstj", "ss.secondi"]))
    dtype = data.draw(st.sampled_from(["INT16", "INT64", "FP64"]))
    left, right = data.draw(matrices(4, 5, dtype, tame=True)), data.draw(vectors(5, dtype, tame=True))
    space, _, binary = name.rpartition(".")
    op = f"{space}.any_{binary}".lstrip(".")

    def where(gb):
        w = left.on(gb).mxv(right.on(gb), lookup(gb.semiring, op)).new()
        return w.apply(gb.unary.one).new(), w.dtype.name

    agree(where)
    w = left.on(gb).mxv(right.on(gb), lookup(gb.semiring, op)).new()
    rows, columns, terms = left.on(gb).mxm(right.on(gb).diag(), lookup(gb.semiring, op)).new().to_coo()
    assert set(rows.tolist()) == set(w)
    for i in w:
        columns_of_i = columns[rows == i]
        allowed = {"ss.firstj": columns_of_i, "ss.secondi": columns_of_i}.get(name, terms[rows == i])
        assert w.get(i) in allowed.tolist()


def outer_operators(dtype):
    """python-graphblas computes outer as any_OPERATOR, so the operator must have that semiring."""
    names = ("times", "plus", "minus", "first", "second", "max", "lt", "ne", "pair")
    return [b for b in names if operator_names(graphblas.semiring, dtype, (f"any_{b}",))]


@given(data=st.data())
def test_inner_and_outer(agree, data):
    n, m = data.draw(st.tuples(sizes, sizes))
    d1, d2, name = data.draw(typed_semirings())
    u, v = data.draw(vectors(n, d1, tame=True)), data.draw(vectors(n, d2, tame=True))
    w = data.draw(vectors(m, d2, tame=True))
    binary = data.draw(st.sampled_from(outer_operators(unify(d1, d2))))
    out, write = data.draw(matrices(n, m, tame=True)), data.draw(writes(n, m))

    def inner_outer(gb):
        x, C = u.on(gb), out.on(gb)
        write.into(gb, C) << x.outer(w.on(gb), getattr(gb.binary, binary))
        return x.inner(v.on(gb), lookup(gb.semiring, name)).new(), C

    agree(inner_outer)


@given(data=st.data())
def test_inner_by_infix(agree, data):
    dtype = data.draw(st.sampled_from(NUMERIC))
    u, v = data.draw(vectors(5, dtype, tame=True)), data.draw(vectors(5, dtype, tame=True))

    def inner(gb):
        x, y = u.on(gb), v.on(gb)
        return (x @ y).new(), gb.semiring.min_plus(x @ y).new(), x.inner(y).new(), x.outer(y).new()

    agree(inner)


@given(data=st.data())
def test_kronecker(agree, data):
    m, n, p, q = data.draw(st.tuples(*[st.integers(0, 3)] * 4))
    d1 = data.draw(st.sampled_from(DTYPES))
    d2 = data.draw(st.sampled_from([d for d in DTYPES if unify(d1, d)]))
    left, right = operand(data.draw, m, n, d1), operand(data.draw, p, q, d2)
    name = data.draw(st.sampled_from(["times", "plus", "minus", "first", "second", "max", "lt", "eq", "pair"]))
    out, write = data.draw(matrices(m * p, n * q, tame=True)), data.draw(writes(m * p, n * q))

    def kronecker(gb):
        C = out.on(gb)
        write.into(gb, C) << left(gb).kronecker(right(gb), getattr(gb.binary, name))
        return C

    agree(kronecker)


@given(data=st.data())
def test_power(agree, data):
    n, exponent = data.draw(sizes), data.draw(st.integers(0, 5))
    dtype = data.draw(st.sampled_from(NUMERIC))
    spec = data.draw(matrices(n, n, dtype, tame=True))
    names = ["plus_times", "min_plus", "max_plus", "min_max", "max_min"]
    name = data.draw(st.sampled_from(names + ([] if exponent == 0 else ["plus_first", "max_second", "plus_pair"])))
    write, out = data.draw(writes(n, n)), data.draw(matrices(n, n, dtype, tame=True))

    def power(gb):
        A, C = spec.on(gb), out.on(gb)
        write.into(gb, C) << A.power(exponent, getattr(gb.semiring, name))
        return C, A.T.power(exponent, getattr(gb.semiring, name)).new()

    agree(power, atol=ATOL)


def test_every_dtype_has_semirings_to_draw():
    assert all(len(semirings_of(dtype)) > 40 for dtype in DTYPES)
    assert len({name for dtype in DTYPES for name in semirings_of(dtype)}) > 150
