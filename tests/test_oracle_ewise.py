"""ewise_add, ewise_mult, ewise_union and infix arithmetic: the same text on both engines.

One operator is applied to each pair, so extremes, infinities and NaN are drawn too. Integer `floordiv` and
`mod` by zero are left out: python-graphblas computes them by a Numba function whose result is not specified.
"""

import graphblas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from semiring_names import unify
from strategies import DTYPES, FLOATS, NUMERIC, matrices, operator_names, scalars, vectors, writes

BINARY = (
    *("plus", "minus", "rminus", "times", "min", "max", "first", "second", "pair", "cdiv", "rdiv"),
    *("truediv", "rtruediv", "eq", "ne", "lt", "gt", "le", "ge", "iseq", "isne", "islt", "isge"),
    *("land", "lor", "lxor", "lxnor", "band", "bor", "bxor", "bxnor"),
)


@st.composite
def typed_binary(draw, names=BINARY):
    """Two dtypes of operands and the name of a binary operator that is defined for what they unify to."""
    d1 = draw(st.sampled_from(DTYPES))
    d2 = draw(st.sampled_from([d for d in DTYPES if unify(d1, d)])) if draw(st.booleans()) else d1
    return d1, d2, draw(st.sampled_from(operator_names(graphblas.binary, unify(d1, d2), names)))


@given(data=st.data())
@pytest.mark.parametrize("method", ["ewise_add", "ewise_mult"])
def test_vectors(agree, data, method):
    d1, d2, name = data.draw(typed_binary())
    n = data.draw(st.integers(0, 6))
    left, right = data.draw(vectors(n, d1)), data.draw(vectors(n, d2))
    out, write = data.draw(vectors(n)), data.draw(writes(n))

    def ewise(gb):
        w = out.on(gb)
        write.into(gb, w) << getattr(left.on(gb), method)(right.on(gb), getattr(gb.binary, name))
        return w

    agree(ewise)


@given(data=st.data())
@pytest.mark.parametrize("method", ["ewise_add", "ewise_mult"])
def test_matrices(agree, data, method):
    d1, d2, name = data.draw(typed_binary())
    m, n = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    flip_left, flip_right = data.draw(st.booleans()), data.draw(st.booleans())
    left = data.draw(matrices(*((n, m) if flip_left else (m, n)), d1))
    right = data.draw(matrices(*((n, m) if flip_right else (m, n)), d2))
    out, write = data.draw(matrices(m, n)), data.draw(writes(m, n))

    def ewise(gb):
        A = left.on(gb).T if flip_left else left.on(gb)
        B = right.on(gb).T if flip_right else right.on(gb)
        C = out.on(gb)
        write.into(gb, C) << getattr(A, method)(B, getattr(gb.binary, name))
        return C

    agree(ewise)


@given(data=st.data())
def test_union(agree, data):
    d1, d2, name = data.draw(typed_binary())
    n = data.draw(st.integers(0, 6))
    left, right = data.draw(vectors(n, d1)), data.draw(vectors(n, d2))
    A, B = data.draw(matrices(2, n, d1)), data.draw(matrices(2, n, d2))
    default, other_default = data.draw(scalars(d1)), data.draw(scalars(d2))
    out, write = data.draw(vectors(n)), data.draw(writes(n))

    def union(gb):
        op, w = getattr(gb.binary, name), out.on(gb)
        x, y = gb.Scalar.from_value(default, d1), gb.Scalar.from_value(other_default, d2)
        write.into(gb, w) << left.on(gb).ewise_union(right.on(gb), op, x, y)
        return w, op(A.on(gb) | B.on(gb), left_default=x, right_default=y).new()

    agree(union)


@given(data=st.data())
def test_union_with_plain_defaults(agree, data):
    """Python numbers of the operands' own kind; not for UINT64, see `test_infix_with_numbers`."""
    dtype = data.draw(st.sampled_from([dtype for dtype in NUMERIC if dtype != "UINT64"]))
    left, right = data.draw(vectors(5, dtype, tame=True)), data.draw(vectors(5, dtype, tame=True))
    default = 1.5 if dtype in FLOATS else 2

    def union(gb):
        v, w = left.on(gb), right.on(gb)
        by_call = gb.binary.minus(v | w, left_default=default, right_default=default).new()
        return v.ewise_union(w, gb.binary.minus, default, 0).new(), by_call

    agree(union)


@given(data=st.data())
def test_called_operators(agree, data):
    """``op(v | w)``, ``monoid(v | w)``, names as strings, typed operators, ``new`` with a mask."""
    dtype = data.draw(st.sampled_from(NUMERIC))
    left, right = data.draw(vectors(5, dtype, tame=True)), data.draw(vectors(5, dtype, tame=True))
    A, B = data.draw(matrices(3, 4, dtype, tame=True)), data.draw(matrices(3, 4, dtype, tame=True))

    def called(gb):
        v, w, C, D = left.on(gb), right.on(gb), A.on(gb), B.on(gb)
        vectors = gb.binary.minus(v | w).new(), gb.monoid.max(v | w).new(), gb.binary.lt(v & w).new()
        strings = v.ewise_add(w, "min").new(), v.ewise_mult(w, "-").new(), C.ewise_mult(D, "<").new()
        typed = v.ewise_mult(w, gb.binary.times[dtype]).new(dtype="FP64"), C.ewise_add(D).new(mask=~D.S)
        return vectors, strings, typed, C.ewise_mult(D).new(), gb.binary.first(C & D.T.T).new()

    agree(called)


@given(data=st.data())
def test_positional(agree, data):
    name = data.draw(st.sampled_from([f"{o}{i}{one}" for o in ("first", "second") for i in "ij" for one in ("", "1")]))
    d1 = data.draw(st.sampled_from(DTYPES))
    d2 = data.draw(st.sampled_from([d for d in DTYPES if unify(d1, d)]))
    u, v = data.draw(vectors(5, d1)), data.draw(vectors(5, d2))
    A, B = data.draw(matrices(3, 4, d1)), data.draw(matrices(3, 4, d2))

    def positional(gb):
        op = getattr(gb.binary.ss, name)
        return op(u.on(gb) & v.on(gb)).new(), op(A.on(gb) & B.on(gb)).new()

    agree(positional)


@given(data=st.data())
def test_infix_arithmetic(agree, data):
    d1 = data.draw(st.sampled_from(NUMERIC))
    d2 = data.draw(st.sampled_from([d for d in NUMERIC if unify(d1, d)]))
    left, right = data.draw(vectors(5, d1, tame=True)), data.draw(vectors(5, d2, tame=True))
    A, B = data.draw(matrices(3, 4, d1, tame=True)), data.draw(matrices(3, 4, d2, tame=True))

    def infix(gb):
        v, w, C, D = left.on(gb), right.on(gb), A.on(gb), B.on(gb)
        arithmetic = (v + w).new(), (v - w).new(), (v * w).new(), (v / w).new()
        compared = (
            (v < w).new(),
            (v <= w).new(),
            (v > w).new(),
            (v >= w).new(),
            (v == w).new(),
            (v != w).new(),
        )
        chained = ((v + w) * v).new(), (v * v + w * w).new(), abs(v - w).new(), (-v).new()
        return arithmetic, compared, chained, (C + D).new(), (C - D).new(), (C * D).new(), (C.T + D.T).new()

    agree(infix)


@given(data=st.data())
def test_infix_with_numbers(agree, data):
    """Not with UINT64: a Python integer becomes UINT64 here, and in python-graphblas INT64 and then FP64."""
    dtype = data.draw(st.sampled_from([dtype for dtype in NUMERIC if dtype != "UINT64"]))
    spec, mat = data.draw(vectors(5, dtype, tame=True)), data.draw(matrices(3, 4, dtype, tame=True))
    number = data.draw(st.sampled_from([2, 3, 1.5, 0, True]))

    def infix(gb):
        v, C, s = spec.on(gb), mat.on(gb), gb.Scalar.from_value(number)
        right = (v + number).new(), (v - number).new(), (v * number).new(), (v / number).new()
        left = (number + v).new(), (number - v).new(), (number * v).new(), (number / v).new()
        compared = (v < number).new(), (v == number).new(), (number >= v).new(), (v != number).new()
        return right, left, compared, (C * number).new(), (number - C).new(), (v + s).new(), (s * C).new()

    agree(infix)


@given(data=st.data())
def test_infix_division(agree, data):
    """`//`, `%`, `divmod`, `**`: of integers by positive numbers alone, see the head of this file."""
    dtype = data.draw(st.sampled_from(["INT64", "FP64"]))
    spec = data.draw(vectors(5, dtype, tame=True))
    divisors = data.draw(vectors(5, "INT64", tame=True))

    def infix(gb):
        v, w = spec.on(gb), (divisors.on(gb) * divisors.on(gb) + 1).new()
        quotient, remainder = divmod(v, w)
        by_number = (v // 2).new(), (v % 3).new(), (v**2).new(), (2 ** (v * v)).new()
        return (v // w).new(), (v % w).new(), quotient.new(), remainder.new(), by_number

    agree(infix)


@given(u=vectors(5, "BOOL"), v=vectors(5, "BOOL"), A=matrices(3, 3, "BOOL"), B=matrices(3, 3, "BOOL"))
def test_infix_boolean(agree, u, v, A, B):
    def infix(gb):
        x, y, C, D = u.on(gb), v.on(gb), A.on(gb), B.on(gb)
        return (
            (x | y).new(),
            (x & y).new(),
            (x ^ y).new(),
            (~x).new(),
            (C | D).new(),
            (C & D.T).new(),
            (~C).new(),
        )

    agree(infix)


@given(data=st.data())
def test_infix_in_place(agree, data):
    dtype = data.draw(st.sampled_from(["INT16", "INT64", "FP64"]))
    left, right = data.draw(vectors(5, dtype, tame=True)), data.draw(vectors(5, dtype, tame=True))
    flags, others = data.draw(vectors(4, "BOOL")), data.draw(vectors(4, "BOOL"))

    def in_place(gb):
        v, w, x, y = left.on(gb), right.on(gb), flags.on(gb), others.on(gb)
        steps = []
        v += w
        steps.append(v.dup())
        v -= w
        steps.append(v.dup())
        v *= 2
        steps.append(v.dup())
        v *= w
        x |= y
        x ^= y
        y &= x
        return steps, v, x, y

    agree(in_place)


@given(data=st.data())
def test_matrix_with_vector(agree, data):
    """A vector operand of a matrix is repeated: on the right as every row, on the left as every column."""
    dtype = data.draw(st.sampled_from(["INT32", "FP64"]))
    A = data.draw(matrices(3, 4, dtype, tame=True))
    row, column = data.draw(vectors(4, dtype, tame=True)), data.draw(vectors(3, dtype, tame=True))

    def repeated(gb):
        C, r, c = A.on(gb), row.on(gb), column.on(gb)
        return (C * r).new(), (c * C).new(), C.ewise_add(r, gb.binary.max).new(), gb.binary.minus(c & C).new()

    agree(repeated)
