"""Edge lists: separators, kinds of ids, labels, weights, and what they refuse."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from semirings.exceptions import GraphblasException, InvalidValue
from spgraph.io import FormatError, _table, read, read_edgelist


@pytest.fixture
def file(tmp_path):
    def make(text, name="test.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


def labelled(A):
    """{(id, id): value}."""
    names = list(range(A.nrows)) if A.labels is None else A.labels.tolist()
    return {(names[u], names[v]): w for u, v, w in zip(*(array.tolist() for array in A.to_coo()))}


def test_numbers_are_ranked(file):
    A = read(file("# SNAP\r\n# From To\r\n9010\t9001\r\n\r\n9001\t9002\r\n"))
    assert A.labels.tolist() == [9001, 9002, 9010]
    assert A.labels.dtype == np.int64
    assert labelled(A) == {(9010, 9001): True, (9001, 9002): True}
    assert A.dtype == np.bool_
    assert str(A.report) == "test.txt: 3 vertices; 2 edges read, 2 stored"


def test_ids_0_to_n_need_no_labels(file):
    A = read(file("0 2\n2 1\n"))
    assert A.labels is None
    assert A.shape == (3, 3)
    A = read_edgelist(file("5 2\n"), relabel=False)
    assert (A.labels, A.shape) == (None, (6, 6))


def test_wide_ids(file):
    big = 2**63 - 1
    A = read(file(f"{big} 4\n4 {2**40}\n"))
    assert A.labels.tolist() == [4, 2**40, big]
    with pytest.raises(FormatError, match=r"line 1: 9223372036854775808 does not fit in 64 bits"):
        read(file(f"{2**63} 4\n"))
    with pytest.raises(FormatError, match="bytes for row offsets"):
        read_edgelist(file(f"{big - 1} 4\n"), relabel=False)


def test_text_ids(file):
    A = read(file("% interactions\nbob\talice\t2\nalice\tÉmile\t5\n"))
    assert A.labels.tolist() == ["alice", "bob", "Émile"]
    assert labelled(A) == {("bob", "alice"): 2, ("alice", "Émile"): 5}
    assert A.dtype == np.int64
    A = read(file("9q,a9,0.5\n12,a9,1\n", "test.csv"))
    assert labelled(A) == {("9q", "a9"): 0.5, ("12", "a9"): 1.0}
    A = read(file("New York,Los Angeles\n", "test.csv"))
    assert A.labels.tolist() == ["Los Angeles", "New York"]
    assert read_edgelist(file("1 2\n10 9\n"), ids=str).labels.tolist() == ["1", "10", "2", "9"]


@pytest.mark.parametrize(
    "text",
    [
        "0 1 5\n1 2 7\n",
        "0\t1\t5\n1\t2\t7",
        "0,1,5\n1,2,7\n",
        "0, 1, 5\n1 ,2 , 7\n",
        "0;1;5\n1;2;7\n",
        "\n\n0 1 5\r\n\r\n1 2 7\r\n#",
        "# a\n%b\n  0  1  5 \n1 2 7",
    ],
)
def test_separators(file, text):
    assert labelled(read(file(text))) == {(0, 1): 5, (1, 2): 7}


def test_header(file):
    A = read(file("source,target\n0,1\n1,2\n", "a.csv"))
    assert A.nvals == 2
    assert A.report.notes == ("line 1 taken as a header: 'source,target'",)
    assert "taken as a header" in str(A.report)
    assert read(file("source target\na b\n", "a.el")).labels.tolist() == ["a", "b", "source", "target"]


def test_weights(file):
    path = file("0 1 1.5\n1 2 4\n")
    assert read(path).dtype == np.float64
    assert read(path, dtype="FP32").dtype == np.float32
    assert read_edgelist(path, weights=False).dtype == np.bool_
    assert read(file("0 1 -3\n")).to_coo()[2].tolist() == [-3]
    assert read(file("0 1 18446744073709551615\n")).dtype == np.uint64
    stamped = file("0 1 5 1082040961\n")
    with pytest.raises(FormatError, match=r"line 1: .* weights=False ignores all columns after the second"):
        read(stamped)
    assert labelled(read_edgelist(stamped, weights=False)) == {(0, 1): True}


def test_vertices_without_edges(file):
    path = file("10 30\n")
    A = read_edgelist(path, vertices=[40, 20, 10])
    assert A.labels.tolist() == [10, 20, 30, 40]
    assert labelled(A) == {(10, 30): True}
    A = read_edgelist(path, vertices=file("# ids\n20\n40 ignored\n", "ids.v"))
    assert A.labels.tolist() == [10, 20, 30, 40]
    A = read_edgelist(path, vertices=31)
    assert (A.shape, A.labels) == ((31, 31), None)
    with pytest.raises(FormatError, match=r"line 1: id 30 is outside 0\.\.29"):
        read_edgelist(path, vertices=30)
    names = file("a b\n", "names.txt")
    assert read_edgelist(names, vertices=["z", "a"]).labels.tolist() == ["a", "b", "z"]
    assert read_edgelist(names, vertices=file("z\n", "z.v")).labels.tolist() == ["a", "b", "z"]
    for wrong in (-1, [[1]], [1.5], [-3]):
        with pytest.raises(InvalidValue, match="vertices"):
            read_edgelist(path, vertices=wrong, relabel=np.ndim(wrong) > 0)
    with pytest.raises(InvalidValue, match="ids: got <class 'float'>"):
        read_edgelist(path, ids=float)


def test_formats_that_are_not_read(file):
    for name, hint in (("a.gml", "read_gml"), ("a.net", "read_pajek"), ("a.mat", "loadmat")):
        with pytest.raises(InvalidValue, match=hint):
            read(file("1 2\n", name))
    assert read(file("1 2\n", "a.graph"), "edgelist").nvals == 1


def test_empty_files_have_no_vertices(file):
    for text in ("", "\n\n", "# nothing\n% at all"):
        A = read(file(text))
        assert (A.shape, A.nvals) == ((0, 0), 0)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0 1\n0\n", 2, "got '0', expected 2 numbers"),
        ("0 1\n\n0 1 2\n", 3, "expected 2 numbers"),
        ("0 1 2\n0 2\n", 2, "expected 3 numbers"),
        ("0 1 2\n3 1 2 0\n", 2, "expected 3 numbers; lists of neighbours, as LDBC's"),
        ("0 1 2 3\n", 1, "weights=False ignores all columns after the second; lists of neighbours, as LDBC's"),
        ("a b\nc a b\n", 2, "expected 2 fields; lists of neighbours, as LDBC's"),
        ("0\n", 1, "expected 'u v' or 'u v weight'"),
        ("0 1\n# x\n2 three\n", 3, "got 'three', expected an integer; ids=str reads ids as text"),
        ("0 1\n1 1.5\n", 2, "got '1.5', expected an integer"),
        ("0 1\n-4 1\n", 2, "id -4 is outside 0 or more"),
        ("0 1 2\n0 2 x\n", 2, "got 'x', expected a number"),
        ("0,1\n1 2\n", 2, "expected 2 numbers separated by ','"),
        ("0,1\n1,,2\n", 2, "expected 2 numbers separated by ','"),
        ("a b\nc\n", 2, "expected 2 fields"),
        ("a b 1\nc d\n", 2, "expected 3 fields"),
        ("a b 1\nc d 2 3\n", 2, "expected 3 fields"),
        ("a b 1\nc d x\n", 2, "got 'x', expected a number"),
        ("a,b\n,c\n", 2, "expected 2 fields"),
        ("a,b,1\nc,d,\n", 2, "the weight is missing"),
        ("a b\nc d e\n", 2, "expected 2 fields"),
        (b"a b\n\xff c\n", 2, "expected UTF-8 text"),
        (b"a b\nc \0\n", 2, "not a text file"),
    ],
)
def test_disagreements(file, text, line, message):
    with pytest.raises(FormatError) as caught:
        read(file(text))
    assert caught.value.line == line, caught.value
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, GraphblasException)


def test_duplicates_name_ids_and_line(file):
    with pytest.raises(FormatError, match=r"line 4: the pair \(70, 90\) was there before"):
        read(file("# c\n70 90\n90 70\n70 90\n"))
    with pytest.raises(FormatError, match=r"line 2: the pair \(a, b\) was there before"):
        read(file("a b\na b\n"))
    A = read(file("0 1\n1 0\n0 1\n2 2\n"), dup_op="first", symmetrize=True, drop_self_loops=True)
    assert A.shape == (3, 3)
    report = A.report
    assert (report.self_loops_dropped, report.duplicates_merged, report.reversed_added) == (1, 1, 0)


@given(
    st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 9)), max_size=20, unique=True),
    st.sampled_from([(" ", ""), ("\t", ""), (",", ""), (" ", " 7")]),
)
def test_any_ids(tmp_path_factory, pairs, style):
    separator, weight = style
    path = tmp_path_factory.mktemp("ids") / "edges.txt"
    path.write_text("".join(f"{u}{separator}{v}{weight}\n" for u, v in pairs))
    A = read(path)
    assert labelled(A) == dict.fromkeys(pairs, 7 if weight else True)
    assert A.nrows == len({end for pair in pairs for end in pair})


# ---- numbers and sizes ---------------------------------------------------------------------
@pytest.mark.parametrize("odd", ["1.5", "1e3", "inf"])
@pytest.mark.parametrize("wide", [str(2**64), "-1", str(-(2**63) - 1), str(2**63)])
@pytest.mark.parametrize("separator", [" ", ",", " a"])
def test_fp64_whatever_the_order_of_lines(file, odd, wide, separator):
    weights = [odd, wide, str(2**63), "7"]
    for order in itertools.permutations(weights):
        A = read(file("".join(f"x{separator}{k}{separator[:1]}{weight}\n" for k, weight in enumerate(order))))
        assert A.dtype == np.float64
        assert sorted(A.to_coo()[2].tolist()) == sorted(map(float, weights))


@pytest.mark.parametrize("block", [8, _table.BLOCK])
def test_what_does_not_fit_is_named_whatever_the_order_of_lines(file, block, monkeypatch):
    monkeypatch.setattr(_table, "BLOCK", block)
    for order in itertools.permutations(["5", "-1", str(2**63)]):
        with pytest.raises(FormatError, match="9223372036854775808 does not fit in 64 bits beside -1, which") as caught:
            read(file("".join(f"0 {k} {weight}\n" for k, weight in enumerate(order))))
        assert caught.value.line == order.index("-1") + 1
    for order in itertools.permutations(["5", "-1", str(2**63), str(2**64)]):
        with pytest.raises(FormatError, match=r"18446744073709551616 does not fit in 64 bits$") as caught:
            read(file("".join(f"0 {k} {weight}\n" for k, weight in enumerate(order))))
        assert caught.value.line == order.index(str(2**64)) + 1
    assert read(file(f"0 1 {2**64}\n0 2 {2**63}\n0 3 0.5\n")).dtype == np.float64


@pytest.mark.parametrize(
    ("vertices", "error", "told"),
    [
        (10**13, FormatError, "10,000,000,000,000 vertices need .* more than half of this machine's memory"),
        (2**62, FormatError, "vertices need .* more than half of this machine's memory"),
        (2**70, FormatError, "vertices need .* more than half of this machine's memory"),
        (np.array([2**63], np.uint64), InvalidValue, "vertices: got id 9223372036854775808, but ids are below"),
        (-1, InvalidValue, r"vertices: got -1, wanted their number \(0 or more\), ids or a path"),
        (np.int64(-1), InvalidValue, "vertices: got .*-1.*, wanted their number"),
        (True, InvalidValue, "vertices: got True, wanted their number"),
        (1.5, InvalidValue, "vertices: got 1.5, .*wanted their number"),
        (0, FormatError, "line 1: got id 0, wanted none: there are 0"),
    ],
)
def test_vertices_that_cannot_be(file, vertices, error, told):
    path = file("0 1\n")
    for relabel in (True, False):
        if relabel or np.ndim(vertices) == 0:
            with pytest.raises(error, match=told):
                read_edgelist(path, vertices=vertices, relabel=relabel)
    with pytest.raises(InvalidValue, match=r"vertices: got 1\.5, wanted"):
        read_edgelist(file("a b\n"), vertices=1.5)
    assert read_edgelist(file(""), vertices=0).shape == (0, 0)


@pytest.mark.parametrize(("values", "wanted"), [("nan 3", 3.0), ("3 nan", 3.0), ("nan nan", np.nan)])
@pytest.mark.parametrize("op", [sg.binary.min, "max", sg.monoid.min])
def test_nan_among_duplicates(file, values, wanted, op):
    A = read(file("".join(f"0 1 {value}\n" for value in values.split())), dup_op=op)
    assert np.array_equal(A.to_coo()[2], [wanted], equal_nan=True)


def test_truth_of_numbers_among_duplicates(file):
    path = file("0 1 5\n0 1 0\n1 2 7\n")
    for op, wanted in (("lor", 1), ("land", 0), ("lxor", 1), (sg.monoid.lor, 1)):
        A = read(path, dup_op=op)
        assert (A.dtype, A.to_coo()[2].tolist()) == ("INT64", [wanted, 7])
    with pytest.raises(FormatError, match='dup_op="minus": -1 does not fit uint8'):
        read(file("0 1 0\n0 1 1\n"), dup_op="minus", dtype="UINT8")
