"""METIS graphs: every fmt, comments, symmetry, vertices' sizes and weights, and what is refused."""

import numpy as np
import pytest

import spgraph as sg
from semirings.exceptions import DimensionMismatch, DomainMismatch, InvalidValue
from spgraph.io import FormatError, read, read_metis, write_metis


@pytest.fixture
def file(tmp_path):
    def make(text, name="test.graph"):
        path = tmp_path / name
        path.write_text(text, newline="")
        return path

    return make


def entries(A):
    return {(u, v): w for u, v, w in zip(*(array.tolist() for array in A.to_coo()))}


# The triangle 1-2-3 and the vertex 4, in all eight ways: sizes 10.., weights 20.., edges u + v.
def lists(sizes, ncon, weighted):
    result = []
    for v, others in ((1, (2, 3)), (2, (1, 3)), (3, (1, 2)), (4, ())):
        front = [10 + v] * sizes + [20 + v + 10 * k for k in range(ncon)]
        result.append(" ".join(map(str, front + [x for u in others for x in ([u, u + v] if weighted else [u])])))
    return "\n".join(result) + "\n"


FMTS = ["", "0", "1", "10", "11", "100", "101", "110", "111", "000", "011", "001"]
WITH_NCON = [(fmt, ncon) for fmt in FMTS for ncon in ((None, 1, 3) if fmt[-2:-1] == "1" else (None,))]


@pytest.mark.parametrize(("fmt", "ncon"), WITH_NCON)
def test_every_fmt(file, fmt, ncon):
    sizes, weights, weighted = (digit == "1" for digit in (fmt or "0").zfill(3))
    body = lists(sizes, (ncon or 1) * weights, weighted)
    A, found, numbers = read_metis(file(f"4 3 {fmt} {ncon or ''}\n{body}"), with_vertices=True)
    expected = {(u, v): u + v + 2 if weighted else True for u in range(3) for v in range(3) if u != v}
    assert entries(A) == expected
    assert (A.shape, A.symmetric, A.dtype) == ((4, 4), True, "INT64" if weighted else "BOOL")
    assert (found.tolist() if sizes else found) == ([11, 12, 13, 14] if sizes else None)
    if weights:
        assert numbers.tolist() == [[20 + v + 10 * k for k in range(ncon or 1)] for v in range(1, 5)]
    else:
        assert numbers is None


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_blanks_and_ends(file, end):
    text = end.join(["% one", "  % two", "", " 4  2 ", "% three", "2 ", "%", "\t1  3", "2", "", ""])
    assert entries(read(file(text))) == dict.fromkeys([(0, 1), (1, 0), (1, 2), (2, 1)], True)
    assert read(file("2 0\n\n")).nvals == 0
    assert read(file("2 0\n\n\n\n\n")).shape == (2, 2)
    assert read(file("0 0\n")).shape == (0, 0)
    assert read(file("1 0\n")).shape == (1, 1)
    A = read(file("2 2\n1 2\n1", "loop.metis"))
    assert entries(A) == dict.fromkeys([(0, 0), (0, 1), (1, 0)], True)


def test_what_is_left_out_is_said(file):
    A = read(file("4 3 110\n" + lists(True, 1, False)))
    assert str(A.report) == (
        "test.graph: 4 vertices; 6 edges read, 6 stored; "
        "sizes and weights of vertices left out (with_vertices=True returns them)"
    )
    assert A.report.numbered_from == 1


def test_weights(file):
    assert read(file("2 1 1\n2 0\n1 0\n")).to_coo()[2].tolist() == [0, 0]
    assert read(file("2 1 1\n2 0.5\n1 0.5\n")).dtype == np.float64
    assert read(file("2 1 1\n2 18446744073709551615\n1 18446744073709551615\n")).dtype == np.uint64
    assert read(file("2 1 1\n2 7\n1 7\n"), dtype="INT8").dtype == np.int8
    with pytest.raises(FormatError, match="line 2: 300 does not fit dtype int8"):
        read(file("2 1 1\n2 300\n1 300\n"), dtype="INT8")


def test_duplicates(file):
    path = file("2 2 1\n2 7 2 5\n1 7 1 5\n")
    with pytest.raises(FormatError, match=r"line 2: the pair \(1, 2\) was there before"):
        read(path)
    A = read(path, dup_op="min")
    assert (entries(A), A.report.duplicates_merged) == ({(0, 1): 5, (1, 0): 5}, 2)


def test_parallel_edges_in_any_order(file):
    path = file("3 3 001\n2 5 2 6\n1 6 1 5 3 2\n2 2\n")
    for op, wanted in (("min", 5), ("plus", 11), ("first", 5), ("last", 6), ("minus", -1)):  # the list of 1 counts
        A = read(path, dup_op=op)
        assert (entries(A), A.symmetric) == ({(0, 1): wanted, (1, 0): wanted, (1, 2): 2, (2, 1): 2}, True)
    with pytest.raises(FormatError, match=r"line 2: the pair \(1, 2\) was there before"):
        read(path)
    with pytest.raises(FormatError, match=r"line 2: \(1, 2\) has weight 5, \(2, 1\) has 6"):
        read(file("2 2 001\n2 5 2 6\n1 6 1 7\n"), dup_op="min")
    with pytest.raises(FormatError, match=r"line 3: \(2, 3\) has weight 2, \(3, 2\) has 4"):
        read(file("3 3 001\n2 5 2 6\n1 6 1 5 3 2\n2 4\n"), dup_op="min")
    assert np.isnan(read(file("2 2 001\n2 5 2 nan\n1 nan 1 5\n"), dup_op="plus").to_coo()[2]).all()


def test_directed(file):
    path = file("3 2 1\n2 7 3 9\n\n\n")
    with pytest.raises(FormatError, match=r"line 1: promises 2 edges, the lists have 1; .*directed=True"):
        read(path)
    A = read_metis(path, directed=True)
    assert (entries(A), A.symmetric) == ({(0, 1): 7, (0, 2): 9}, None)
    assert read_metis(path, directed=True, symmetrize=True).nvals == 4
    with pytest.raises(InvalidValue, match=r"fmt: got '7', wanted three digits"):
        read_metis(path, fmt="7")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected '<vertices> <edges>"),
        ("% c\n3\n", 2, "expected '<vertices> <edges>"),
        ("3 x\n", 1, "expected '<vertices> <edges>"),
        ("-3 1\n", 1, "expected '<vertices> <edges>"),
        ("2 1 2\n2\n1\n", 1, "got fmt '2', expected at most three digits"),
        ("2 1 0001\n2\n1\n", 1, "got fmt '0001'"),
        ("3 1\n2\n1", 3, "ends after the lists of 2 vertices, line 1 promises 3"),
        ("2 1\n2\n1\n\n2\n", 5, "expected the end of the file after 2 lists"),
        ("2 1\n3\n1\n", 2, r"vertex 3 is outside 1\.\.2"),
        ("2 1\n0\n1\n", 2, r"vertex 0 is outside 1\.\.2"),
        ("2 1\nx\n1\n", 2, "got 'x', expected an integer"),
        ("% c\n2 1\n% c\n2\n%\n1.0\n", 6, r"got '1\.0', expected an integer"),
        ("2 1 1\n2 0.5\n1.0 0.5\n", 3, r"got '1\.0', expected an integer"),
        ("2 1 1\n2 5\n1\n", 3, "expected pairs of neighbour and weight"),
        ("2 1 11\n5 2 5\n\n", 3, "expected 1 number about the vertex and then pairs"),
        ("2 1 10 2\n5 5 2\n1\n", 3, "expected 2 numbers about the vertex and then neighbours"),
        ("2 1 10\n-5 2\n1 1\n", 2, "got -5, expected a size or weight of a vertex"),
        ("3 2\n2 3\n1\n2\n", 2, "3 is in the list of 1 and 1 not as often in that of 3"),
        ("2 1 1\n2 5\n1 6\n", 2, r"\(1, 2\) has weight 5, \(2, 1\) has 6"),
        ("2 3\n2\n1\n", 1, "promises 3 edges, the lists have 1"),
        ("2 1\n2\n1\0\n", 3, "zero byte"),
    ],
)
def test_refusals(file, text, line, message):
    with pytest.raises(FormatError, match=message) as caught:
        read(file(text))
    assert caught.value.line == line, caught.value


def test_guessed_by_content(file):
    assert read(file("% c\n3 2\n2\n1 3\n2\n", "graph.txt")).report.numbered_from == 1
    assert read(file("3 2\n2 1\n1 3\n2 7\n", "edges.txt")).labels.tolist() == [1, 2, 3, 7]
    assert read(file("0 0\n", "edges.txt")).nvals == 1


def test_writing(tmp_path):
    A = sg.generators.path(3)
    for options, error, message in (
        ({"sizes": [1, 2]}, DimensionMismatch, r"sizes has shape \(2,\), the graph has 3 vertices"),
        ({"sizes": [[1], [2], [3]]}, DimensionMismatch, r"sizes has shape \(3, 1\)"),
        ({"weights": [1.5, 2, 3]}, DomainMismatch, "weights: wanted integers"),
        ({"weights": [-1, 2, 3]}, DomainMismatch, "weights: wanted integers, 0 or more"),
    ):
        with pytest.raises(error, match=message):
            write_metis(A, tmp_path / "a.graph", **options)
    write_metis(A, tmp_path / "a.graph.gz", weights=[[1, 2], [3, 4], [5, 6]])
    B, sizes, weights = read_metis(tmp_path / "a.graph.gz", with_vertices=True)
    assert B.isequal(A, check_dtype=True)
    assert (sizes, weights.tolist()) == (None, [[1, 2], [3, 4], [5, 6]])
