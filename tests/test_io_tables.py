"""SciPy's .npz, CSV and Parquet: columns, ids, weights, vertices without edges, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import spgraph as sg
from semirings.exceptions import InvalidValue
from spgraph.io import FormatError, read, read_csv, read_npz, read_parquet, to_scipy, write


@pytest.fixture
def file(tmp_path):
    def make(text, name="test.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


@pytest.fixture
def table(tmp_path):
    """Writes columns to a Parquet file."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    def make(**columns):
        path = tmp_path / "test.parquet"
        pyarrow.parquet.write_table(pa.table(columns), path)
        return path

    return make


def labelled(A):
    names = list(range(A.nrows)) if A.labels is None else A.labels.tolist()
    return {(names[u], names[v]): w for u, v, w in zip(*(array.tolist() for array in A.to_coo()))}


# ---- SciPy ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_what_scipy_saves(tmp_path, layout, dtype, kind):
    dense = np.kron(np.array([[0, 1, 0], [3, 0, 0]]), np.ones((2, 2))).astype(dtype)
    theirs = kind(dense).asformat(layout)
    for compressed in (True, False):
        sp.save_npz(tmp_path / "a.npz", theirs, compressed=compressed)
        A = read(tmp_path / "a.npz")
        assert (A.shape, A.dtype, A.nvals) == ((4, 6), np.dtype(dtype), 8)
        assert np.array_equal(to_scipy(A).toarray(), dense)
        write(A, tmp_path / "b.npz")
        back = sp.load_npz(tmp_path / "b.npz")
        assert back.dtype == np.dtype(dtype)
        assert np.array_equal(back.toarray(), dense)


def test_npz_zeros_duplicates_and_shapes(tmp_path):
    path = tmp_path / "a.npz"
    sp.save_npz(path, sp.coo_array(([0, 5], ([1, 0], [0, 2])), shape=(2, 3)))
    assert sorted(zip(*(array.tolist() for array in read(path).to_coo()))) == [(0, 2, 5), (1, 0, 0)]
    sp.save_npz(path, sp.coo_array(([1, 2], ([1, 1], [0, 0])), shape=(2, 3)))
    with pytest.raises(FormatError, match=r"a\.npz: entry 1: the pair \(1, 0\) was there before"):
        read(path)
    A = read_npz(path, dup_op="plus", dtype="FP32")
    assert (A.to_coo()[2].tolist(), A.dtype, A.report.duplicates_merged) == ([3.0], "FP32", 1)
    for shape in ((0, 0), (0, 3), (3, 0)):
        sp.save_npz(path, sp.csr_array(shape))
        assert (read(path).shape, read(path).dtype) == (shape, np.float64)
    path.rename(tmp_path / "a")
    assert read(tmp_path / "a").shape == (3, 0)
    np.savez(path, a=[1])
    with pytest.raises(FormatError, match=r"there is no array 'format'; wanted what scipy\.sparse\.save_npz writes"):
        read(path)


# ---- CSV ------------------------------------------------------------------------------
FLIGHTS = 'day,from,to,km\n1,"Rome, Italy",Oslo,2003\n2,Oslo,"Turku ""Åbo""",683\n'


@pytest.mark.parametrize("columns", [("from", "to", "km"), (1, 2, 3), (None, None, "km"), ("from", "to", 3)])
def test_columns(file, columns):
    A = read_csv(file(FLIGHTS), *columns, **({"header": True} if columns == (1, 2, 3) else {}))
    assert labelled(A) == {("Rome, Italy", "Oslo"): 2003, ("Oslo", 'Turku "Åbo"'): 683}
    assert A.labels.tolist() == ["Oslo", "Rome, Italy", 'Turku "Åbo"']
    assert read_csv(file(FLIGHTS), "from", "to", False).dtype == "BOOL"
    assert labelled(read_csv(file(FLIGHTS), "to", "from", "day"))["Oslo", "Rome, Italy"] == 1


def test_wrong_columns(file):
    for columns, error, message in (
        (("from", "where"), FormatError, "line 1: target: got 'where', which names 0 columns; there are 'day', 'from'"),
        (("from", 9), FormatError, "line 1: target: got position 9"),
        (("from", None), InvalidValue, "source and target: wanted both, or neither"),
        (("from", 1.5), InvalidValue, r"target: got 1\.5, wanted the name or the position"),
        (("from", "to"), FormatError, "line 1: which column is the weight.*weight=False"),
        (("from", "to", "from to"), FormatError, "weight: got 'from to', which names 0 columns"),
    ):
        with pytest.raises(error, match=message):
            read_csv(file(FLIGHTS), *columns)
    with pytest.raises(InvalidValue, match="ids: got 'int'"):
        read_csv(file(FLIGHTS), ids="int")
    with pytest.raises(InvalidValue, match="delimiter: got ', '"):
        read_csv(file(FLIGHTS), delimiter=", ")


@pytest.mark.parametrize(
    "text",
    [
        "0,1,5\n1,2,7\n",
        "# c\n% c\nsource,target,weight\r\n0,1,5\r\n\r\n1,2,7",
        '"source","target","weight"\n"0","1","5"\n1,2,7\n',
        "weight;target;source\n5;1;0\n7;2;1\n",
        "src\tdst\tx\n0\t1\t5\n1\t2\t7\n",
        " u , v , w \n 0 , 1 , 5 \n 1 , 2 , 7 \n",
        "a,b,c\n0,1,5\n1,2,7\n",
        "0 1 5\n1 2 7\n",
    ],
)
def test_numbers(file, text):
    A = read(file(text))
    assert labelled(A) == {(0, 1): 5, (1, 2): 7}
    assert (A.labels, A.dtype) == (None, "INT64")


def test_both_ways_of_reading_agree(file):
    """Rows of numbers are scanned at once; a quote sends them through Python's csv module."""
    rows = "90,70,1.5\n70,9223372036854775807,1e-3\n7,7,18446744073709551615\n"
    fast, slow = read(file(rows)), read(file(rows + '"7","70",2'))
    assert labelled(slow) == {**labelled(fast), (7, 70): 2.0}
    assert fast.labels.tolist() == slow.labels.tolist() == [7, 70, 90, 2**63 - 1]
    assert fast.dtype == slow.dtype == np.float64


def test_vertices_alone(file):
    A = read(file("source,target,weight\n5,7,1\n9,,\n"))
    assert (A.labels.tolist(), A.nvals) == ([5, 7, 9], 1)
    assert A.report.notes[-1] == "1 row with an empty target: a vertex, no edge"
    assert read(file("source,target\nz,\na,\n")).labels.tolist() == ["a", "z"]
    assert read(file("source,target\n")).shape == (0, 0)
    assert read(file("")).shape == (0, 0)


def test_columns_left_out_are_said(file):
    A = read(file("time,source,weight,target\n9,1,3,2\n"))
    assert labelled(A) == {(1, 2): 3}
    assert A.report.notes[-1] == "left out: column 'time'"
    assert read_csv(file("0,1,2,3,4\n"), weight=False).report.notes == ("left out: 3 columns",)


def test_duplicates_and_options(file):
    path = file("from,to\na,b\nb,a\na,b\nc,c\n")
    with pytest.raises(FormatError, match=r"line 4: the pair \(a, b\) was there before"):
        read(path)
    A = read(path, dup_op="first", symmetrize=True, drop_self_loops=True)
    assert (A.shape, A.nvals, A.report.duplicates_merged, A.report.self_loops_dropped) == ((3, 3), 2, 1, 1)
    assert read_csv(file("1,2\n10,9\n"), ids=str).labels.tolist() == ["1", "10", "2", "9"]
    assert read(file("0,1,1.5\n"), dtype="FP32").dtype == np.float32
    assert read_csv(file("0|1|4\n"), delimiter="|").to_coo()[2].tolist() == [4]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a,b,1\nc,,2\n", 2, "the target is empty"),
        ("a,b,1\n,d,2\n", 2, "the source is empty"),
        ("a,b,1\n,,\n", 2, "the source and target are empty"),
        ("a,b,1\nc,d,\n", 2, "the weight is empty"),
        ("a,b,1\nc,d\n", 2, "expected 3 cells, there are 2"),
        ("a,b\nc,d,e\n", 2, "expected 2 cells, there are 3"),
        ("0,1\n1,x\n", 2, "got 'x', expected an integer; ids=str"),
        ("0,1\n1,-2\n", 2, "id -2 is outside 0 or more"),
        ('0,1\n"1",2 3\n', 2, "got '2 3', expected a number"),
        ("0,1,5\n1,2,x\n", 2, "got 'x', expected a number"),
        ("0,1,5\n1,2,1e999\n", 2, "1e999 does not fit in 64 bits"),
        ("0,9223372036854775808\n", 1, "does not fit in 64 bits"),
        ('a,"b\nc",1\n"d,e,2\n', 3, "that is not CSV"),
        ('a,b\nc,"d"e\n', 2, "that is not CSV"),
        (b"a,b\n\xff,c\n", 2, "expected UTF-8 text"),
        ("a,b\nc,\0\n", 2, "zero byte"),
        ("source,target,cost,time\n1,2,3,4\n", 1, "which column is the weight"),
        ('"a"\n', 1, "expected two columns or more"),
    ],
)
def test_csv_refusals(file, text, line, message):
    with pytest.raises(FormatError, match=message) as caught:
        read(file(text))
    assert caught.value.line == line, caught.value


def test_csv_is_known_by_its_content(file):
    assert read(file("source,target\na,b\n", "edges.txt")).labels.tolist() == ["a", "b"]
    assert read(file('"x, y",z\n', "edges.txt")).labels.tolist() == ["x, y", "z"]


# ---- Parquet --------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("ids", [[9, 5, 9], ["z", "a b", "z"]])
def test_parquet(table, ids, dtype):
    path = table(src=ids, dst=[ids[1], ids[0], ids[0]], weight=np.array([1, 0, 1], dtype))
    A = read(path)
    assert labelled(A) == {(ids[0], ids[1]): 1, (ids[1], ids[0]): 0, (ids[0], ids[0]): 1}
    assert (A.labels.tolist(), A.dtype) == (sorted(set(ids)), np.dtype(dtype))
    assert read_parquet(path, "dst", "src", False).dtype == "BOOL"


def test_parquet_types(table):
    pa = pytest.importorskip("pyarrow")
    A = read(table(source=pa.array(["b", "a"]).dictionary_encode(), target=pa.array(["a", "b"], pa.large_string())))
    assert A.labels.tolist() == ["a", "b"]
    if hasattr(pa, "string_view"):
        views = pa.array(["b", "a"], pa.string_view()), pa.array(["a", None], pa.string_view())
        assert read(table(source=views[0], target=views[1])).labels.tolist() == ["a", "b"]
    A = read(table(source=pa.array([3, 2], pa.uint64()), target=pa.array([2, 3], pa.int8())))
    assert A.labels.tolist() == [2, 3]
    A = read(table(source=[0, 1, 2], target=[1, None, None], weight=[0.5, None, None]))
    assert (A.shape, A.nvals) == ((3, 3), 1)
    assert A.report.notes == ("2 rows with a null target: a vertex, no edge",)
    A = read(table(source=[0, 0], target=[1, 1], weight=[4, 3]), dup_op="min", dtype="INT8")
    assert (A.to_coo()[2].tolist(), A.dtype, A.report.duplicates_merged) == ([3], "INT8", 1)
    assert read(table(source=[0, 1], target=[1, 0], __index_level_0__=[7, 8])).dtype == "BOOL"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": [0, None], "target": [1, 1]}, "row 2: 'source' null"),
        ({"source": [0, 1], "target": [1, 1], "weight": [5, None]}, "row 2: 'weight' null"),
        ({"source": [0, 1], "target": [1, None], "weight": [5, 5]}, "row 2: 'target' null"),
        ({"source": [0, -1], "target": [1, 1]}, r"column 'source': id -1 is outside 0\.\."),
        ({"source": [0.5], "target": [1]}, "column 'source' holds double, wanted ids that are integers or texts"),
        ({"source": ["a"], "target": [1]}, "columns 'source' and 'target' hold text and integers"),
        ({"source": [0], "target": [1], "weight": ["x"]}, "column 'weight' holds string, wanted weights"),
        ({"source": [0], "target": [1], "weight": np.ones(1, np.float16)}, "column 'weight' holds halffloat, wanted"),
        ({"source": [0, 0], "target": [1, 1]}, r"row 2: the pair \(0, 1\) was there before"),
        ({"source": [0], "target": [1], "a": [1], "b": [2]}, "which column is the weight"),
        ({"source": [0]}, "expected two columns or more"),
    ],
)
def test_parquet_refusals(table, columns, message):
    with pytest.raises(FormatError, match=rf"test\.parquet: {message}"):
        read(table(**columns))


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        ([b"a", b"\x80b"], [b"b", b"c"], "row 2: 'source'"),
        ([b"a", b"b"], [b"\xff", b"c"], "row 1: 'target'"),
        ([b"a", b"b", b"\xc3"], [None, b"c", None], "row 3: 'source'"),
    ],
)
def test_parquet_texts_that_are_not_utf8(table, source, target, place):
    """The format does not check that, and readers of it do not, either."""
    pa = pytest.importorskip("pyarrow")
    columns = {"source": pa.array(source, pa.binary()), "target": pa.array(target, pa.binary())}
    for text in (lambda column: column.view(pa.string()), lambda column: column.view(pa.string()).dictionary_encode()):
        path = table(**{name: text(column) for name, column in columns.items()})
        with pytest.raises(FormatError, match=rf"test\.parquet: {place} is not UTF-8: b'"):
            read(path)


def test_not_parquet(file):
    pytest.importorskip("pyarrow")
    for content in (b"PAR1", b"0 1\n", b"PAR1" * 9):
        with pytest.raises(FormatError, match=r"x\.parquet: this is not a Parquet file, or a damaged one"):
            read(file(content, "x.parquet"))


def test_without_pyarrow(tmp_path):
    """One sentence with the line that helps; everything else works."""
    code = (
        "import sys; sys.modules['pyarrow'] = None; import spgraph as sg; A = sg.generators.path(3)\n"
        "sg.io.write(A, 'a.csv'); print(sg.io.read('a.csv').nvals)\n"
        "for call in (lambda: sg.io.write(A, 'a.parquet'), lambda: sg.io.read('a.csv', 'parquet')):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "4",
        "write: Parquet files need pyarrow: pip install pyarrow",
        "read a.csv: Parquet files need pyarrow: pip install pyarrow",
    ], done.stderr


FILES = ["a.mtx", "a.edges", "a.tsv.gz", "a.gr", "a.graph", "a.graph.gz", "a.npz", "a.csv", "a.csv.gz", "a.parquet"]


@pytest.mark.parametrize("name", FILES)
def test_the_command_takes_every_format(tmp_path, capsys, name):
    """``spgraph run`` names vertices as the file does; a vertex without edges stays one."""
    from spgraph.cli import main

    if "parquet" in name:
        pytest.importorskip("pyarrow")
    A = sg.Matrix.from_coo([0, 1, 1, 2], [1, 0, 2, 1], [3, 3, 4, 4], nrows=4, ncols=4)
    A.labels = np.array([10, 20, 30, 40])
    write(A, tmp_path / name)
    out = tmp_path / "out.csv"
    assert main(["run", "sssp", str(tmp_path / name), "--source", "20", "--output", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["graph"]["vertices"], facts["graph"]["stored_edges"]) == (4, 4)
    assert sorted(out.read_text().split()[1:4]) == ["10,3", "20,0", "30,4"]


def test_tables_of_labels_reach_results(file):
    A = read(file("who,whom\nann,bob\nbob,cat\n".replace("who,whom", "from,to")))
    level = sg.algorithms.bfs(A, A.labels.tolist().index("ann"))
    assert {A.labels[v]: depth for v, depth in level.to_dict().items()} == {"ann": 0, "bob": 1, "cat": 2}


@pytest.mark.parametrize("names", [["a\rb", "c"], ["a\r\nb", "c,d"], ['a"\rb', "\u2028b"[1:]], ["c", "a\rb"]])
@pytest.mark.parametrize("weights", [True, False])
def test_csv_of_names_of_several_lines(tmp_path, names, weights):
    A = sg.Matrix.from_coo([0], [0], 5 if weights else True, nrows=2, ncols=2)  # one vertex stands alone
    write(A, tmp_path / "a.csv", labels=names)
    for suffix in (".csv", ""):
        path = tmp_path / f"a{suffix}"
        path.write_bytes((tmp_path / "a.csv").read_bytes())
        B = read(path)
        assert labelled(B) == {(names[0], names[0]): 5 if weights else True}
        assert B.labels.tolist() == sorted(names)


@pytest.mark.parametrize("header", ["x", "yes", 1, 0, 2, [True]])
def test_header_that_is_no_truth_value(file, header):
    with pytest.raises(InvalidValue, match=r"read_csv: header: got .*, wanted True, False or None"):
        read_csv(file("0,1\n"), header=header)
    assert read_csv(file("x,y\n0,1\n"), header=np.True_).nvals == 1


@pytest.mark.parametrize("format", [["csv"], {"csv"}, 3, b"csv", "xml"])
def test_format_that_is_not_one(file, format):
    path = file("0,1\n")
    with pytest.raises(InvalidValue, match=r"read: format: got .*, wanted one of matrix_market, edgelist"):
        read(path, format=format)
    with pytest.raises(InvalidValue, match=r"write: format: got .*, wanted one of matrix_market, edgelist"):
        write(read(path), path, format=format)
