"""assign and subassign: scalars, vectors and matrices, by lists, slices and masks; the same text on both.

`C(mask)[I, J] << x` (GrB_assign) has a mask of C's shape: with replace, entries outside I, J that the mask
does not cover are deleted as well. `C[I, J](mask) << x` (GxB_subassign) has a mask of the region's shape, and
nothing outside the region changes. Index lists of assignments have no duplicates: the specification leaves
those undefined.
"""

from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    DTYPES,
    Write,
    index_count,
    index_lists,
    masks,
    matrices,
    scalars,
    vectors,
    writes,
)

sizes = st.integers(0, 5)


@st.composite
def numbers(draw, output):
    """A number to assign: ``(value, dtype or None)``. A Scalar of a dtype, which is cast to the output's; or a
    plain Python number that the output's dtype holds (another one raises here, and wraps in python-graphblas)."""
    if draw(st.booleans()):
        dtype = draw(st.sampled_from(DTYPES))
        return draw(scalars(dtype)), dtype
    return draw(scalars(output.dtype)), None


def number_on(gb, number):
    value, dtype = number
    return value if dtype is None else gb.Scalar.from_value(value, dtype)


@given(data=st.data())
def test_number_into_vector(agree, data):
    n = data.draw(sizes)
    out = data.draw(vectors(n))
    number = data.draw(numbers(out))
    index = data.draw(index_lists(n))
    write, inner = data.draw(writes(n)), data.draw(writes(index_count(index, n)))

    def assign(gb):
        assigned, sub, whole = out.on(gb), out.on(gb), out.on(gb)
        write.into(gb, assigned)[index] << number_on(gb, number)
        inner.into(gb, sub[index]) << number_on(gb, number)
        write.into(gb, whole) << number_on(gb, number)
        return assigned, sub, whole

    agree(assign)


@given(data=st.data())
def test_vector_into_vector(agree, data):
    n = data.draw(sizes)
    index = data.draw(index_lists(n))
    k = index_count(index, n)
    out, part, whole = data.draw(vectors(n)), data.draw(vectors(k)), data.draw(vectors(n))
    write, inner = data.draw(writes(n)), data.draw(writes(k))

    def assign(gb):
        assigned, sub, all_of_it = out.on(gb), out.on(gb), out.on(gb)
        write.into(gb, assigned)[index] << part.on(gb)
        inner.into(gb, sub[index]) << part.on(gb)
        write.into(gb, all_of_it) << whole.on(gb)
        return assigned, sub, all_of_it

    agree(assign)


@given(data=st.data())
def test_number_into_matrix(agree, data):
    m, n = data.draw(st.tuples(sizes, sizes))
    at_rows, at_cols = data.draw(index_lists(m)), data.draw(index_lists(n))
    out = data.draw(matrices(m, n))
    number = data.draw(numbers(out))
    write = data.draw(writes(m, n))
    inner = data.draw(writes(index_count(at_rows, m), index_count(at_cols, n)))

    def assign(gb):
        assigned, sub, whole = out.on(gb), out.on(gb), out.on(gb)
        write.into(gb, assigned)[at_rows, at_cols] << number_on(gb, number)
        inner.into(gb, sub[at_rows, at_cols]) << number_on(gb, number)
        write.into(gb, whole) << number_on(gb, number)
        return assigned, sub, whole

    agree(assign)


@given(data=st.data())
def test_matrix_into_matrix(agree, data):
    m, n = data.draw(st.tuples(sizes, sizes))
    at_rows, at_cols = data.draw(index_lists(m)), data.draw(index_lists(n))
    rows, cols = index_count(at_rows, m), index_count(at_cols, n)
    flip = data.draw(st.booleans())
    out, whole = data.draw(matrices(m, n)), data.draw(matrices(m, n))
    part = data.draw(matrices(cols, rows) if flip else matrices(rows, cols))
    write, inner = data.draw(writes(m, n)), data.draw(writes(rows, cols))

    def assign(gb):
        B = part.on(gb).T if flip else part.on(gb)
        assigned, sub, all_of_it = out.on(gb), out.on(gb), out.on(gb)
        write.into(gb, assigned)[at_rows, at_cols] << B
        inner.into(gb, sub[at_rows, at_cols]) << B
        write.into(gb, all_of_it) << whole.on(gb)
        return assigned, sub, all_of_it

    agree(assign)


@given(data=st.data())
def test_row_and_column(agree, data):
    """Of a vector into one row or column: the mask is a vector for that row or column."""
    m, n = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    i, j = data.draw(st.integers(-m, m - 1)), data.draw(st.integers(-n, n - 1))
    at_rows, at_cols = data.draw(index_lists(m)), data.draw(index_lists(n))
    out = data.draw(matrices(m, n))
    row, col = data.draw(vectors(index_count(at_cols, n))), data.draw(vectors(index_count(at_rows, m)))
    of_row, of_col = data.draw(writes(n)), data.draw(writes(m))
    in_row, in_col = data.draw(writes(index_count(at_cols, n))), data.draw(writes(index_count(at_rows, m)))

    def assign(gb):
        C, D, E, F = out.on(gb), out.on(gb), out.on(gb), out.on(gb)
        of_row.into(gb, C)[i, at_cols] << row.on(gb)
        of_col.into(gb, D)[at_rows, j] << col.on(gb)
        in_row.into(gb, E[i, at_cols]) << row.on(gb)
        in_col.into(gb, F[at_rows, j]) << col.on(gb)
        return C, D, E, F

    agree(assign)


@given(data=st.data())
def test_number_into_row_and_column(agree, data):
    m, n = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    i, j = data.draw(st.integers(0, m - 1)), data.draw(st.integers(0, n - 1))
    at_rows, at_cols = data.draw(index_lists(m)), data.draw(index_lists(n))
    out = data.draw(matrices(m, n))
    number = data.draw(numbers(out))
    of_row, of_col, whole = data.draw(writes(n)), data.draw(writes(m)), data.draw(writes(m, n))

    def assign(gb):
        C, D, E = out.on(gb), out.on(gb), out.on(gb)
        of_row.into(gb, C)[i, at_cols] << number_on(gb, number)
        of_col.into(gb, D)[at_rows, j] << number_on(gb, number)
        whole.into(gb, E)[i, at_cols] << number_on(gb, number)
        return C, D, E

    agree(assign)


@given(data=st.data())
def test_matrix_mask_on_a_row(agree, data):
    """`C(M)[i, J] << v` with a matrix mask, which is of C's shape."""
    m, n = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    i, at_cols = data.draw(st.integers(0, m - 1)), data.draw(index_lists(n))
    out, row = data.draw(matrices(m, n)), data.draw(vectors(index_count(at_cols, n)))
    write = Write(data.draw(masks(m, n)), data.draw(st.none() | st.just("plus")), data.draw(st.booleans()), False)

    def assign(gb):
        C = out.on(gb)
        write.into(gb, C)[i, at_cols] << row.on(gb)
        return C

    agree(assign)


@given(data=st.data())
def test_one_element(agree, data):
    m, n = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    i, j = data.draw(st.integers(-m, m - 1)), data.draw(st.integers(-n, n - 1))
    out, vec = data.draw(matrices(m, n)), data.draw(vectors(m))
    number, other = data.draw(numbers(out)), data.draw(numbers(vec))
    write, of_vector = data.draw(writes(m, n)), data.draw(writes(m))

    def assign(gb):
        C, D, v, w = out.on(gb), out.on(gb), vec.on(gb), vec.on(gb)
        C[i, j] = number_on(gb, number)
        write.into(gb, D)[i, j] << number_on(gb, number)
        v[i] << number_on(gb, other)
        of_vector.into(gb, w)[i] << number_on(gb, other)
        return C, D, v, w

    agree(assign)


@given(data=st.data())
def test_set_item_forms(agree, data):
    """`v[I] = x`, `C[I, J] = x`, `v(mask)[I] = x`, arrays, and an empty Scalar, which deletes."""
    n = data.draw(st.integers(1, 5))
    out, vec, mask = data.draw(matrices(n, 4, "INT64")), data.draw(vectors(n, "INT64")), data.draw(vectors(n))
    k = data.draw(st.integers(0, n))

    def assign(gb):
        C, v, w, u = out.on(gb), vec.on(gb), vec.on(gb), vec.on(gb)
        C[:k, [0, 2]] = 7
        C[0, :] = [1, 2, 3, 4]
        C[:, 3] << vec.on(gb)
        C[[0], 1:3] << [[8, 9]]
        v[:] << 5
        v[: n // 2] = 6
        w(mask.on(gb).S)[:] = 3
        w(gb.binary.plus)[0] << 4
        u[:k] << gb.Scalar("INT64")
        return C, v, w, u

    agree(assign)


@given(data=st.data())
def test_delete(agree, data):
    n = data.draw(st.integers(1, 5))
    vec, mat, i = data.draw(vectors(n)), data.draw(matrices(n, 4)), data.draw(st.integers(-n, n - 1))
    index, mask = data.draw(index_lists(n)), data.draw(vectors(n))

    def delete(gb):
        v, w, u, A, B = vec.on(gb), vec.on(gb), vec.on(gb), mat.on(gb), mat.on(gb)
        del v[i]
        del w[index]
        del u(mask.on(gb).S)[index]
        del A[i, 2]
        del B[index, 1:]
        return v, w, u, A, B

    agree(delete)


@given(data=st.data())
def test_transpose(agree, data):
    m, n = data.draw(st.tuples(sizes, sizes))
    spec, out = data.draw(matrices(n, m)), data.draw(matrices(m, n))
    write = data.draw(writes(m, n))

    def transpose(gb):
        A, C = spec.on(gb), out.on(gb)
        write.into(gb, C) << A.T
        return C, A.T.new(), A.T.T, A.T.new(dtype="FP32"), A.T.dup()

    agree(transpose)
