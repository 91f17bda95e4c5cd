"""DIMACS: the four kinds of file, and what they refuse."""

import numpy as np
import pytest

from spgraph.io import FormatError, read, read_dimacs


@pytest.fixture
def file(tmp_path):
    def make(text, name="test.gr"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def test_shortest_path_files(file):
    A = read(file("c roads\nc\np sp 4 3\n\na 1 2 7\nc more\na 2 1 0\r\na 3 2 5"))
    assert A.to_dicts() == {0: {1: 7}, 1: {0: 0}, 2: {1: 5}}
    assert A.shape == (4, 4)
    assert A.dtype == np.int64
    assert A.report.edges == A.report.stored == 3


def test_without_a_problem_line_ids_begin_at_0(file):
    A = read(file("a 0 2 7\na 2 1 5\n"))
    assert A.to_dicts() == {0: {2: 7}, 2: {1: 5}}
    assert A.report.notes == ("no problem line: vertices numbered from 0",)


def test_undirected_files(file):
    for text in ("p tw 3 2\n1 2\n3 2\n", "p edge 3 2\ne 1 2\ne 3 2\n", "c x\np col 3 2\ne 1 2\ne 3 2\n"):
        A = read(file(text))
        assert A.to_coo()[0].tolist() == [0, 1, 1, 2]
        assert A.dtype == np.bool_
        assert A.report.reversed_added == 2


def test_weights_need_not_be_small_integers(file):
    assert read(file("p sp 2 1\na 1 2 1.25\n")).to_coo()[2].tolist() == [1.25]
    assert read(file("p sp 2 1\na 1 2 -4\n")).to_coo()[2].tolist() == [-4]
    assert read(file(f"p sp 2 1\na 1 2 {2**64 - 1}\n")).to_coo()[2].tolist() == [2**64 - 1]


def test_parallel_arcs(file):
    path = file("p sp 2 3\na 1 2 7\na 1 2 5\na 2 2 1\n")
    with pytest.raises(FormatError, match=r'line 3: the pair \(1, 2\) was there before .* dup_op="min"'):
        read(path)
    A = read_dimacs(path, dup_op="min", drop_self_loops=True)
    assert A.to_dicts() == {0: {1: 5}}
    assert (A.report.duplicates_merged, A.report.self_loops_dropped) == (1, 1)


def test_no_arcs(file):
    assert read(file("p sp 0 0\n")).shape == (0, 0)
    assert read(file("c empty\np sp 5 0")).shape == (5, 5)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected 'p sp <vertices> <arcs>'"),
        ("c only\n", 2, "expected 'p sp <vertices> <arcs>'"),
        ("1 2 3\n", 1, "expected 'p sp"),
        ("p sp 3\n", 1, "expected 'p <kind> <vertices> <edges>'"),
        ("p max 3 1\na 1 2 1\n", 1, "with one of sp, tw, edge, col"),
        ("p sp -3 1\na 1 2 1\n", 1, "expected 'p <kind>"),
        ("p sp 3 2\na 1 2 1\n", 1, "promises 2 edges, the file has 1"),
        ("p sp 3 1\na 1 2 1\na 2 1 1\n", 1, "promises 1 edges, the file has 2"),
        ("p sp 3 1\na 0 2 1\n", 2, "vertex 0 is outside 1..3"),
        ("p sp 3 1\na 1 4 1\n", 2, "vertex 4 is outside 1..3"),
        ("a 1 -4 1\n", 1, "vertex -4 is outside 0 or more"),
        ("p sp 3 1\na 1 2\n", 2, "got 'a 1 2', expected 'a' and 3 numbers"),
        ("p sp 3 1\na 1 2 3 4\n", 2, "expected 'a' and 3 numbers"),
        ("p sp 3 1\nb 1 2 3\n", 2, "expected 'a' and 3 numbers"),
        ("p sp 3 1\n1 2 3\n", 2, "expected 'a' and 3 numbers"),
        ("p sp 3 2\na 1 2 1\np sp 3 2\n", 3, "expected 'a' and 3 numbers"),
        ("p sp 3 1\na 1 x 3\n", 2, "got 'x', expected an integer"),
        ("p sp 3 1\na 1 2 far\n", 2, "got 'far', expected a number"),
        ("p tw 3 1\n1 2 3\n", 2, "expected 2 numbers"),
        ("p sp 1000000000000 0\n", 1, "bytes for row offsets"),
        ("p sp 3 1000000000000\na 1 2 1\n", 1, "promises 1,000,000,000,000"),
        ("a 1 1000000000000 3\n", None, "bytes for row offsets"),
    ],
)
def test_disagreements(file, text, line, message):
    with pytest.raises(FormatError) as caught:
        read(file(text))
    assert caught.value.line == line, caught.value
    assert message in str(caught.value)
