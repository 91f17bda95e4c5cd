"""One object in several roles: output and input, mask and output, mask and input, both operands.

The specification reads all inputs before it writes. An engine that fuses product, mask, accumulator and write
into one pass, or that reuses buffers, must not show it.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import matrices, vectors

INT = "INT64"


@given(spec=vectors(6, INT, tame=True), other=vectors(6, INT, tame=True))
def test_vector_output_is_input(agree, spec, other):
    def alias(gb):
        outs = [spec.on(gb) for _ in range(8)]
        v, w = outs[0], other.on(gb)
        v << v + v
        outs[1](gb.binary.plus) << outs[1].apply(gb.unary.ainv)
        outs[2](outs[2].V, replace=True) << outs[2].ewise_mult(outs[2], gb.binary.times)
        outs[3](~outs[3].S) << w
        outs[4](w.S, gb.binary.minus, replace=True) << outs[4].ewise_add(w, gb.binary.max)
        outs[5](outs[5].S) << outs[5]
        outs[6](gb.binary.rminus) << outs[6]
        outs[7](~outs[7].V, replace=True) << outs[7].select(">", 0)
        return outs

    agree(alias)


@given(spec=matrices(4, 4, INT, tame=True), vec=vectors(4, INT, tame=True))
def test_product_into_its_input(agree, spec, vec):
    def alias(gb):
        A, B, C, D = (spec.on(gb) for _ in range(4))
        v, w, u = (vec.on(gb) for _ in range(3))
        A << A @ A
        B(B.S, gb.binary.plus) << B.mxm(B.T, gb.semiring.min_plus)
        C(~C.S, replace=True) << C.mxm(C, gb.semiring.plus_pair)
        D << D.T
        E = spec.on(gb)
        v << E.mxv(v, gb.semiring.min_plus)
        w(~w.S) << w.vxm(E, gb.semiring.any_pair)
        u(u.V, gb.binary.min, replace=True) << E.mxv(u, gb.semiring.plus_second)
        return A, B, C, D, v, w, u

    agree(alias)


@given(spec=matrices(4, 4, INT, tame=True))
def test_matrix_elementwise_into_its_input(agree, spec):
    def alias(gb):
        A, B, C, D, E = (spec.on(gb) for _ in range(5))
        A << A + A.T
        B(B.T.new().S) << B.ewise_mult(B.T, gb.binary.minus)
        C(C.V, replace=True) << gb.select.tril(C)
        D(gb.binary.first) << D.apply(gb.binary.plus, right=1)
        E << E.kronecker(gb.Matrix.from_coo([0], [0], [2]))
        return A, B, C, D, E

    agree(alias)


@given(spec=matrices(4, 4, INT, tame=True), vec=vectors(4, INT, tame=True))
def test_assign_from_itself(agree, spec, vec):
    def alias(gb):
        A, B, C = (spec.on(gb) for _ in range(3))
        v, w, u = (vec.on(gb) for _ in range(3))
        A[[0, 1], :] << A[[2, 3], :].new()
        B[::-1, ::-1] << B
        C[:, 0] << C[0, :].new()
        v[[3, 2, 1, 0]] << v
        w(w.S)[:] << w[[1, 1, 0, 0]].new()
        u[:2] << u[2:]
        return A, B, C, v, w, u

    agree(alias)


@given(spec=matrices(3, 3, INT, tame=True), vec=vectors(3, INT, tame=True))
def test_expressions_see_the_values_at_their_writing(agree, spec, vec):
    """A lazy expression is computed when it is written, from the objects as they are then."""

    def lazy(gb):
        A, v = spec.on(gb), vec.on(gb)
        product, total = A.mxv(v), v.reduce()
        masked = v.S
        v << 1
        written = gb.Vector(INT, 3)
        written(masked) << product
        return written, total.new(), product.new()

    agree(lazy)


@given(spec=vectors(5, INT, tame=True), start=st.integers(-2, 2))
def test_scalar_output_is_input(agree, spec, start):
    def alias(gb):
        s, v = gb.Scalar.from_value(start), spec.on(gb)
        s(gb.binary.minus) << v.reduce()
        v << v.apply(gb.binary.times, right=s)
        s << s + s
        return s, v

    agree(alias)


@pytest.mark.parametrize("accum", ["minus", "rminus", "first", "second", "truediv", "pow", "lt"])
def test_accumulators_keep_their_order(agree, accum):
    """`w(op) << u` is op(w, u), never op(u, w), whatever the storage of either."""

    def accumulate(gb):
        found = []
        for make in (gb.Vector.from_coo([0, 1, 3], [8, 2, 5], size=4), gb.Vector.from_dense([8, 2, 7, 5])):
            for other in (gb.Vector.from_coo([1, 2, 3], [4, 3, 2], size=4), gb.Vector.from_scalar(3, 4)):
                w = make.dup()
                w(getattr(gb.binary, accum)) << other
                found.append(w)
        return found

    agree(accumulate)
