"""extract, element access, iteration and `in`: the same text on both engines."""

from hypothesis import given
from hypothesis import strategies as st
from strategies import INTEGERS, index_count, index_lists, matrices, vectors, writes

sizes = st.integers(0, 5)


@given(data=st.data())
def test_from_vector(agree, data):
    n = data.draw(sizes)
    spec, index = data.draw(vectors(n)), data.draw(index_lists(n, repeat=True))
    k = index_count(index, n)
    out, write = data.draw(vectors(k)), data.draw(writes(k))

    def extract(gb):
        v, w = spec.on(gb), out.on(gb)
        write.into(gb, w) << v[index]
        return w, v[index].new(), v[index].new(dtype="FP64")

    agree(extract)


@given(data=st.data())
def test_from_matrix(agree, data):
    m, n = data.draw(st.tuples(sizes, sizes))
    spec, flip = data.draw(matrices(m, n)), data.draw(st.booleans())
    at_rows, at_cols = data.draw(index_lists(m, repeat=True)), data.draw(index_lists(n, repeat=True))
    shape = index_count(at_rows, m), index_count(at_cols, n)
    out, write = data.draw(matrices(*shape)), data.draw(writes(*shape))

    def extract(gb):
        A, C = spec.on(gb), out.on(gb)
        source = A.T.new().T if flip else A
        write.into(gb, C) << source[at_rows, at_cols]
        return C, A.T[at_cols, at_rows].new()

    agree(extract)


@given(data=st.data())
def test_select_of_an_extraction(agree, data):
    """Positions are those of what was extracted. The thunk has the matrix's type: see test_oracle_apply."""
    m, n = data.draw(st.tuples(sizes, sizes))
    spec, flip, thunk = data.draw(matrices(m, n)), data.draw(st.booleans()), data.draw(st.integers(-2, 2))
    at_rows, at_cols = data.draw(index_lists(m, repeat=True)), data.draw(index_lists(n, repeat=True))
    shape = index_count(at_rows, m), index_count(at_cols, n)
    out, write = data.draw(matrices(*shape)), data.draw(writes(*shape))

    def extract(gb):
        A, C = spec.on(gb), out.on(gb)
        source = A.T.new().T if flip else A
        write.into(gb, C) << gb.select.triu(source[at_rows, at_cols], thunk)
        part = A[at_rows, at_cols]
        one = gb.Scalar.from_value(1, dtype=A.dtype)
        return C, gb.select.offdiag(part).new(), part.new(), gb.select.valueeq(A.T[at_cols, at_rows], one).new()

    agree(extract)


@given(data=st.data())
def test_row_and_column(agree, data):
    m, n = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    spec = data.draw(matrices(m, n))
    i, j = data.draw(st.integers(-m, m - 1)), data.draw(st.integers(-n, n - 1))
    at_rows, at_cols = data.draw(index_lists(m, repeat=True)), data.draw(index_lists(n, repeat=True))
    out, write = data.draw(vectors(index_count(at_cols, n))), data.draw(writes(index_count(at_cols, n)))

    def extract(gb):
        A, w = spec.on(gb), out.on(gb)
        write.into(gb, w) << A[i, at_cols]
        return w, A[at_rows, j].new(), A.T[j, at_rows].new(), A[i, :].new(), A[:, j].new()

    agree(extract)


@given(data=st.data())
def test_one_element(agree, data):
    m, n = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    mat, vec = data.draw(matrices(m, n)), data.draw(vectors(m))
    i, j = data.draw(st.integers(-m, m - 1)), data.draw(st.integers(-n, n - 1))

    def element(gb):
        A, v, s = mat.on(gb), vec.on(gb), gb.Scalar("FP64")
        s << v[i]
        found = A[i, j].new(), v[i].new(), A.T[j, i].new(), A[i, j].value, s
        got = A.get(i, j), A.get(i, j, -1), v.get(i), v.get(i, default="none")
        return found, got, (i, j) in A, i in v, (j, i) in A.T

    agree(element)


@given(vec=vectors(), mat=matrices())
def test_iteration_and_sizes(agree, vec, mat):
    def read(gb):
        v, A = vec.on(gb), mat.on(gb)
        places = [int(i) for i in v], [(int(i), int(j)) for i, j in A], sorted((int(i), int(j)) for i, j in A.T)
        sizes = (
            v.size,
            v.shape,
            v.nvals,
            v.ndim,
            A.nrows,
            A.ncols,
            A.shape,
            A.nvals,
            A.ndim,
            A.T.shape,
            A.T.nvals,
        )
        return places, sizes, v.dtype.name, A.T.dtype.name

    agree(read)


@given(data=st.data())
def test_masks_by_comparison_and_combined(agree, data):
    """A BOOL object or expression as a mask stands for its values; masks combine by `&` and `|`. Not of floats:
    where python-graphblas combines two masks, 0.5 and NaN are false."""
    kinds = st.sampled_from(("BOOL", *INTEGERS))
    u, v = data.draw(vectors(5, data.draw(kinds))), data.draw(vectors(5, data.draw(kinds)))
    w = data.draw(vectors(5))
    dense = data.draw(vectors(5, "INT64"))

    def masked(gb):
        x, y, z = u.on(gb), v.on(gb), dense.on(gb)
        kinds = x.S, x.V, ~x.S, ~x.V
        others = y.S, y.V, ~y.S, ~y.V
        combined = [(a & b).new() for a in kinds for b in others] + [(a | b).new() for a in kinds for b in others]
        by_value = z.dup()
        by_value(z > 1) << 100
        with_new = w.on(gb).dup(mask=x.S), w.on(gb).dup(mask=~x.V & y.S), x.S.new(), (~x.V).new()
        return combined, by_value, with_new

    agree(masked)


@given(data=st.data())
def test_expression_as_operand(agree, data):
    """An expression stands where an object is expected and is computed by itself."""
    mat, other, vec = (
        data.draw(matrices(4, 4, "INT64", tame=True)),
        data.draw(matrices(4, 4, "INT64", tame=True)),
        data.draw(vectors(4, "INT64", tame=True)),
    )

    def nested(gb):
        A, B, v = mat.on(gb), other.on(gb), vec.on(gb)
        products = A.mxm(B.mxm(A)).new(), A.mxv(B.mxv(v)).new(), (A @ B @ v).new()
        mixed = A.ewise_add(B.apply(gb.unary.ainv)).new(), v.ewise_mult(A.mxv(v)).new()
        reduced = A.mxm(B).reduce_rowwise().new(), (A + B).reduce_scalar().new(), (v * v).reduce().value
        selected = (
            gb.select.tril(A + B, -1).new(),
            A.mxm(B)[0, :].new(),
            (A + B).T.new(),
            v[:2].apply("abs").new(),
        )
        return products, mixed, reduced, selected, (A + B).nvals, v.apply(gb.unary.abs).to_coo()

    agree(nested)


@given(mat=matrices(4, 4, tame=True), vec=vectors(4, tame=True))
def test_diag(agree, mat, vec):
    def diagonals(gb):
        A, v = mat.on(gb), vec.on(gb)
        return [(v.diag(k), A.diag(k), A.T.diag(k), A.diag(k, dtype="FP64")) for k in (-3, -1, 0, 1, 2)]

    agree(diagonals)
