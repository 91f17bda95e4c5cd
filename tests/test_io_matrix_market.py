"""Matrix Market: what the format allows, and every disagreement by line."""

import io
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from spgraph.io import FormatError, read, read_matrix_market
from spgraph.io._text import Text
from spgraph.io.matrix_market import matrix_market_edges


def edges_of(text, banner=None):
    return matrix_market_edges(Text("test.mtx", text.encode()), banner)


def file(tmp_path, text, name="test.mtx"):
    path = tmp_path / name
    path.write_text(text)
    return path


def body(kind, *lines):
    return "\n".join([f"%%MatrixMarket matrix {kind}", *lines]) + "\n"


def test_orientation_is_row_column(tmp_path):
    A = read(file(tmp_path, body("coordinate real general", "% comment", "", "2 3 2", "1 3 5.5", "2 1 -1")))
    assert A.shape == (2, 3)
    assert A.to_dicts() == {0: {2: 5.5}, 1: {0: -1.0}}
    assert A.labels is None
    assert str(A.report) == "test.mtx: 2 x 3; 2 edges read, 2 stored"


@pytest.mark.parametrize(
    ("kind", "value", "dtype"),
    [
        ("real", "1.5", np.float64),
        ("integer", "-3", np.int64),
        ("integer", "18446744073709551615", np.uint64),
        ("unsigned-integer", "3", np.uint64),
        ("pattern", "", np.bool_),
    ],
)
def test_fields(tmp_path, kind, value, dtype):
    A = read(file(tmp_path, body(f"coordinate {kind} general", "2 2 1", f"1 2 {value}")))
    assert A.dtype == dtype
    assert A.to_coo()[2].tolist() == [np.array(value or 1, dtype).item()]


def test_symmetric(tmp_path):
    A = read(file(tmp_path, body("coordinate integer symmetric", "3 3 3", "1 1 7", "2 1 5", "3 2 -6")))
    assert A.to_dense(0).tolist() == [[7, 5, 0], [5, 0, -6], [0, -6, 0]]
    assert (A.report.edges, A.report.reversed_added, A.report.stored) == (3, 2, 5)
    A = read(file(tmp_path, body("coordinate real skew-symmetric", "3 3 2", "2 1 5", "3 2 0")))
    assert A.to_dense(9).tolist() == [[9, -5, 9], [5, 9, 0], [9, 0, 9]]
    A = read(file(tmp_path, body("coordinate pattern symmetric", "3 3 1", "3 1")))
    assert A.to_coo()[0].tolist() == [0, 2]


def test_array(tmp_path):
    A = read(file(tmp_path, body("array real general", "2 3", "1", "2", "3", "0", "5", "6")))
    assert A.to_dense().tolist() == [[1, 3, 5], [2, 0, 6]]
    assert A.nvals == 6
    A = read(file(tmp_path, body("array integer symmetric", "3 3", "1", "2", "3", "4", "5", "6")))
    assert A.to_dense().tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    A = read(file(tmp_path, body("array integer skew-symmetric", "3 3", "2", "3", "5")))
    assert A.to_dense(0).tolist() == [[0, -2, -3], [2, 0, -5], [3, 5, 0]]


def test_line_ends_comments_and_capitals(tmp_path):
    text = "%%matrixmarket MATRIX Coordinate Integer GENERAL\r\n%\r\n\r\n 2 2 2 \r\n"
    text += "\r\n1 1 3\r\n% late\r\n  2\t2 4"
    assert edges_of(text).values.tolist() == [3, 4]


def test_explicit_zeros_stay(tmp_path):
    A = read(file(tmp_path, body("coordinate integer general", "2 2 2", "1 1 0", "1 2 5")))
    assert A.nvals == 2
    assert A.to_coo()[2].tolist() == [0, 5]


def test_no_entries(tmp_path):
    for shape in ("0 0 0", "1 1 0", "3 4 0"):
        A = read(file(tmp_path, body("coordinate real general", shape)))
        assert A.nvals == 0
        assert A.shape == tuple(map(int, shape.split()[:2]))
    assert read(file(tmp_path, body("array real general", "0 3"))).shape == (0, 3)


def test_graphblas_types():
    typed = "%%GraphBLAS type int8_t"
    assert edges_of(body("coordinate real general", typed, "2 2 1", "1 2 4.0")).values.dtype == np.int8
    assert (
        edges_of(body("coordinate integer general", "%%GraphBLAS type float", "2 2 1", "1 2 -inf")).values[0]
        == -np.inf
    )
    assert (
        edges_of(body("coordinate pattern general", "%%GraphBLAS type int32_t", "2 2 1", "1 2")).values.dtype
        == np.int32
    )
    assert edges_of(
        body("coordinate integer general", "%%GraphBLAS type bool", "2 2 1", "1 2 0")
    ).values.tolist() == [False]
    big = body("coordinate real general", "%%GraphBLAS type int64_t", "2 2 1", "1 2 9007199254740993")
    assert edges_of(big).values.tolist() == [2**53 + 1]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected '%%MatrixMarket"),
        ("3 3 1\n1 1 1\n", 1, "pass banner="),
        (body("coordinate real"), 1, "got 3 words"),
        (body("coordinate real lopsided"), 1, "'lopsided', expected general or"),
        (body("coordinate quaternion general"), 1, "'quaternion', expected real or"),
        (body("heap real general"), 1, "'heap', expected coordinate or array"),
        (body("coordinate complex general", "2 2 1", "1 1 1 2"), 1, "complex values are not supported"),
        (body("coordinate real hermitian", "2 2 1", "1 1 1"), 1, "complex values are not supported"),
        (body("array pattern general", "2 2"), 1, "a pattern cannot be an array"),
        (body("coordinate pattern skew-symmetric", "2 2 0"), 1, "a pattern cannot be skew"),
        (
            body("coordinate real general", "%%GraphBLAS type double complex", "1 1 1", "1 1 1 2"),
            2,
            "complex",
        ),
        (body("coordinate real general", "%%GraphBLAS type gunk", "1 1 1", "1 1 1"), 2, "got type 'gunk'"),
        (body("coordinate real general"), 2, "expected the numbers of rows, columns, entries"),
        (body("coordinate real general", "2 2"), 2, "expected the numbers of rows, columns, entries"),
        (body("coordinate real general", "2 -2 1"), 2, "expected the numbers"),
        (body("coordinate real general", "2 2 1.0"), 2, "expected the numbers"),
        (body("array real general", "2 2 4"), 2, "expected the numbers of rows, columns"),
        (body("coordinate real symmetric", "2 3 0"), 2, "must be square"),
        (
            body("coordinate real general", "2 2 2", "1 1 5"),
            3,
            "the file ends after 1 entries, line 2 promises 2",
        ),
        (
            body("coordinate real general", "2 2 1", "1 1 5", "%", "2 2 6"),
            5,
            "expected the end of the file: line 2",
        ),
        (body("array real general", "2 2", "1", "2", "3"), 5, "ends after 3 entries"),
        (body("array real general", "2 2", "1", "2", "3", "4 5"), 6, "expected 1 number"),
        (body("coordinate real general", "2 2 1", "1 3 5"), 3, "column 3 is outside 1..2"),
        (body("coordinate real general", "2 2 1", "0 1 5"), 3, "row 0 is outside 1..2"),
        (body("coordinate real general", "2 2 1", "-1 1 5"), 3, "row -1 is outside 1..2"),
        (body("coordinate real general", "2 2 1", "1 1"), 3, "got '1 1', expected 3 numbers"),
        (body("coordinate pattern general", "2 2 1", "1 1 1"), 3, "expected 2 numbers"),
        (body("coordinate real general", "2 2 2", "1 1 1", "1 x 1"), 4, "got 'x', expected an integer"),
        (body("coordinate real general", "2 2 1", "1 1 pi"), 3, "got 'pi', expected a number"),
        (body("coordinate integer general", "2 2 1", "1 1 1.5"), 3, "got '1.5', expected an integer"),
        (
            body("coordinate integer general", "2 2 1", "1 1 18446744073709551616"),
            3,
            "does not fit in 64 bits",
        ),
        (body("coordinate unsigned-integer general", "2 2 1", "1 1 -1"), 3, "-1 does not fit dtype uint64"),
        (body("coordinate real skew-symmetric", "2 2 1", "1 1 1"), 3, "no entries on its diagonal"),
        (body("coordinate real general", "0 0 1", "1 1 1"), 3, "got row 1, wanted none: there are 0"),
        (
            body("coordinate integer general", "%%GraphBLAS type int8_t", "2 2 2", "1 1 1", "1 2 128"),
            5,
            "128 does not fit",
        ),
        (body("coordinate integer general", "%%GraphBLAS type bool", "2 2 1", "1 1 2"), 4, "expected 0 or 1"),
        (body("coordinate real general", "1000000000000 1000000000000 0"), 2, "bytes for row offsets"),
        (body("coordinate real general", "3 3 1000000000000", "1 1 1"), 3, "promises 1,000,000,000,000"),
        (body("array real general", "1000000 1000000", "1"), 3, "promises 1,000,000,000,000"),
    ],
)
def test_disagreements(text, line, message):
    with pytest.raises(FormatError) as caught:
        edges_of(text)
    assert caught.value.line == line, caught.value
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"test.mtx, line {line}: ")


@pytest.mark.parametrize(
    ("field", "kind", "value", "told"),
    [
        ("unsigned-integer", "", "5", r"-(5) does not fit in 64 bits of uint64, which has no sign"),
        ("integer", "%%GraphBLAS type uint8_t", "5", r"-(5) does not fit in 8 bits of uint8, which has no sign"),
        ("integer", "", str(2**63), f"-({2**63}) does not fit in 64 bits"),
        ("integer", "%%GraphBLAS type bool", "1", "-(True) does not fit in 8 bits of bool, which has no sign"),
        ("integer", "% spgraph: dtype=bool", "1", "-(True) does not fit in 8 bits of bool, which has no sign"),
        ("integer", "%%GraphBLAS type int8_t", "-128", "-(-128) does not fit in 8 bits"),
    ],
)
def test_skew_symmetric_values_without_a_negative(tmp_path, field, kind, value, told):
    lines = [kind] * bool(kind) + ["3 3 2", "3 1 0", f"2 1 {value}"]
    path = file(tmp_path, body(f"coordinate {field} skew-symmetric", *lines))
    with pytest.raises(FormatError, match=rf"line {4 + bool(kind)}: skew-symmetric: {re.escape(told)}"):
        read(path)


def test_skew_symmetric_duplicates(tmp_path):
    path = file(tmp_path, body("coordinate integer skew-symmetric", "2 2 2", "2 1 3", "2 1 4"))
    A = read(path, dup_op="min")
    assert A.to_dicts() == {0: {1: -3}, 1: {0: 3}}
    assert str(A.report).endswith("2 edges read, 2 duplicates merged, 2 reversed edges added, 2 stored")
    assert read(path, dup_op="max", dtype="FP32").to_dicts() == {0: {1: -4.0}, 1: {0: 4.0}}
    with pytest.raises(FormatError, match=r"line 4: the pair \(2, 1\) was there before"):
        read(path)


def test_file_without_banner(tmp_path):
    path = file(tmp_path, "2 2 1\n2 1 4\n")
    with pytest.raises(FormatError, match="pass banner="):
        read(path)
    assert read_matrix_market(path, banner="matrix coordinate integer general").to_dicts() == {1: {0: 4}}


def test_duplicates(tmp_path):
    path = file(tmp_path, body("coordinate integer general", "2 2 3", "1 2 5", "1 1 1", "1 2 6"))
    with pytest.raises(FormatError, match=r'line 5: the pair \(1, 2\).*1 duplicate in all.*dup_op="min"'):
        read(path)
    A = read(path, dup_op="plus")
    assert A.to_dicts() == {0: {0: 1, 1: 11}}
    assert A.report.duplicates_merged == 1
    both = file(tmp_path, body("coordinate pattern symmetric", "2 2 2", "1 2", "2 1"))
    with pytest.raises(FormatError, match=r"line 4: .*the file says symmetric, so an entry stands for two"):
        read(both)
    assert read(both, dup_op="any").nvals == 2


def test_options(tmp_path):
    path = file(tmp_path, body("coordinate real general", "2 2 2", "1 1 5", "1 2 300"))
    assert read(path, drop_self_loops=True).report.self_loops_dropped == 1
    assert read(path, symmetrize=True).to_dicts() == {0: {0: 5.0, 1: 300.0}, 1: {0: 300.0}}
    assert read(path, dtype="INT16").dtype == np.int16
    with pytest.raises(FormatError, match=r"line 4: 300\.0 does not fit dtype uint8"):
        read(path, dtype=np.uint8)


@given(st.data())
def test_like_scipy(data):
    """The same matrix as scipy.io.mmread, for files that scipy.io.mmwrite made."""
    shape = data.draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    dtype = data.draw(st.sampled_from([np.float64, np.int64, np.float32, np.int8, np.uint64]))
    symmetry = data.draw(st.sampled_from(["general", "symmetric", "skew-symmetric"]))
    dense = np.array(data.draw(st.lists(st.integers(0, 3), min_size=64, max_size=64))).reshape(8, 8)
    dense = dense.astype(dtype) * data.draw(
        st.sampled_from([1, 0.1] if np.dtype(dtype).kind == "f" else [1, 41])
    )
    if symmetry == "general":
        dense = dense[: shape[0], : shape[1]]
    else:
        if np.dtype(dtype).kind == "u":
            symmetry = "symmetric"
        lower = np.tril(dense, -1)
        dense = lower - lower.T if symmetry == "skew-symmetric" else lower + lower.T
    array = data.draw(st.booleans())
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, dense if array else sp.coo_array(dense), symmetry=symmetry)
    text = buffer.getvalue()
    expected = scipy.io.mmread(io.BytesIO(text), spmatrix=False)
    expected = expected if array else expected.toarray()
    edges = matrix_market_edges(Text("x", text))
    result = np.zeros(dense.shape, edges.values.dtype)
    if edges.mirror:
        result[edges.cols, edges.rows] = -edges.values if edges.mirror == "skew-symmetric" else edges.values
    result[edges.rows, edges.cols] = edges.values
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected)
