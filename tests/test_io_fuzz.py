"""Mutated files: a FormatError or a matrix, nothing else, in little time and memory."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import traced
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spgraph.io import FormatError, _text, read
from spgraph.io._coo import tidy
from spgraph.io._read import FORMATS, format_of
from spgraph.io._text import Text
from spgraph.io.csv_edges import csv_edges
from spgraph.io.dimacs import dimacs_edges
from spgraph.io.edgelist import edgelist_edges
from spgraph.io.matrix_market import matrix_market_edges
from spgraph.io.metis import metis_edges
from spgraph.io.npz import npz_edges
from spgraph.io.parquet import parquet_edges


def metis(text):
    return metis_edges(text)[0]


def directed_metis(text):
    return metis_edges(text, directed=True)[0]


def npz_seed(layout, compressed=True):
    file = io.BytesIO()
    dense = sp.coo_array(np.array([[0, 2.5, 0, 1], [0, 0, 0, 0], [3, 0, 0, 0], [0, 0, 4, 0]]))
    sp.save_npz(file, dense.asformat(layout), compressed=compressed)
    return file.getvalue()


SEEDS = {
    matrix_market_edges: [
        b"%%MatrixMarket matrix coordinate real general\n% c\n3 4 3\n1 1 2.5\n2 4 -1e3\n3 2 0\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\r\n3 3 2\r\n2 1\r\n3 3\r\n",
        b"%%MatrixMarket matrix coordinate integer skew-symmetric\n%%GraphBLAS type int16_t\n"
        b"3 3 2\n2 1 7\n3 1 -8\n",
        b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
        b"%%MatrixMarket matrix array unsigned-integer general\n2 1\n1\n18446744073709551615\n",
    ],
    edgelist_edges: [
        b"# SNAP\n9001\t9002\n9002\t17\n\n17\t17\n",
        b"0 1 2.5\n1 2 1e-7\n2 0 3\n",
        b"source,target,weight\n1,2,3\n2,3,4\n",
        b"alice bob 5\nbob carol 7\n",
    ],
    dimacs_edges: [
        b"c roads\np sp 4 3\na 1 2 7\na 2 3 0\na 4 1 12\n",
        b"a 0 2 7\na 2 1 5\n",
        b"p tw 3 2\n1 2\n2 3\n",
        b"c spgraph: dtype=int8 ids=text\nc spgraph vertex: a\nc spgraph vertex: b\np sp 2 1\na 1 2 7\n",
    ],
    metis: [
        b"% c\n4 3\n2 3\n1 3\n1 2\n\n",
        b"3 2 011 2\n5 6 2 7\n1 1 1 7 3 9\n0 4 2 9",
        b"2 1 111\r\n1 2 2 0.5\r\n% c\r\n3 4 1 0.5\r\n",
        b"% spgraph: dtype=int8 ids=int\n% spgraph vertex: 9\n% spgraph vertex: 7\n2 1\n2\n1\n",
    ],
    directed_metis: [b"3 3 1\n2 7 3 9\n\n1 4\n"],
    csv_edges: [
        b"source,target,weight\n1,2,3\n2,3,4.5\n7,,\n",
        b'id,from,to\r\n1,"Rome, Italy",Oslo\r\n2,Oslo,"a ""b"""\r\n',
        b"0;1;5\n1;2;7\n",
        b"# spgraph\nsrc\tdst\nx\ty\n",
    ],
}
BITS = [
    b"",
    b" ",
    b"\n",
    b"\r\n",
    b"\t",
    b",",
    b"0",
    b"9",
    b"-",
    b"+",
    b".",
    b"e",
    b"%",
    b"#",
    b"c",
    b"p",
    b"a",
    b"1000000000000",
    b"99999999999999999999",
    b"-1",
    b"nan",
    b"inf",
    b"1e400",
    b"_",
    b"\0",
    b"\xff",
    b"\xc3\xa9",
    b'"',
    b";",
    b"spgraph: nrows=99999999999 ncols=1",
    b"% spgraph: dtype=bool\n",
    b" 111 3",
    b"symmetric",
    b"complex",
    b"array",
    b"pattern",
    b"%%MatrixMarket",
    b"p sp 3 3\n",
    b"1 1 1\n",
    b"1 2\n",
]


@st.composite
def mutated(draw, seeds):
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["insert", "replace", "cut", "double", "byte"]))
        end = min(len(data), start + draw(st.integers(1, 8)))
        if kind == "insert":
            data = data[:start] + draw(st.sampled_from(BITS)) + data[start:]
        elif kind == "replace":
            data = data[:start] + draw(st.sampled_from(BITS)) + data[end:]
        elif kind == "cut":
            data = data[:start] + data[end:]
        elif kind == "double":
            data = data[:end] + data[start:]
        else:
            data = data[:start] + draw(st.binary(min_size=1, max_size=2)) + data[start + 1 :]
    return data


@pytest.fixture(scope="module", autouse=True)
def _little_memory():
    """As if the machine had little: absurd sizes are refused at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "_memory", lambda: 1 << 22)
        yield


@pytest.mark.parametrize("reader", SEEDS, ids=lambda reader: reader.__name__)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_mutated_files(reader, data):
    text = data.draw(mutated(SEEDS[reader]))
    options = data.draw(
        st.fixed_dictionaries(
            {
                "dup_op": st.sampled_from([None, "min", "plus"]),
                "symmetrize": st.booleans(),
                "drop_self_loops": st.booleans(),
                "dtype": st.sampled_from([None, None, "INT8", "FP32", "BOOL"]),
            }
        )
    )
    try:
        csr = tidy(reader(Text("fuzz", text)), **options)
    except FormatError as error:
        message = str(error)
        csr = None
    if csr is None:
        assert message.startswith("fuzz")
        return
    report = csr.report
    assert int(csr.indptr[-1]) == csr.indices.size == report.stored
    assert csr.indptr.size == csr.nrows + 1
    assert report.edges <= len(text.split()) + text.count(b",") + 1
    if csr.indices.size:
        assert 0 <= csr.indices.min() <= csr.indices.max() < csr.ncols


@settings(max_examples=100)
@given(st.binary(max_size=200) | mutated([seed for seeds in SEEDS.values() for seed in seeds]))
def test_format_is_guessed_for_anything(text):
    assert format_of(Text("fuzz", text)) in FORMATS


def held_by_a_refusal(path, message=None):
    def refuse():
        with pytest.raises(FormatError, match=message):
            read(path)

    return traced.peak(refuse)[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1000000000000\n1 1 1\n"),
        ("b.mtx", "%%MatrixMarket matrix array real general\n1000000000 1000000000\n1\n"),
        ("c.gr", "p sp 10 1000000000000\na 1 2 3\n"),
        ("d.txt", "0 1\n" * 100 + "9" * 10_000 + " 1\n"),
        ("e.txt", "x" * 10_000 + " y\n" + "a b\n" * 1000),
        ("f.graph", "1000000000000000 1\n2\n1\n"),
        ("g.graph", "2 1000000000000000\n2\n1\n"),
        ("h.graph", "2 1 010 1000000000000000\n5 2\n5 1\n"),
        ("i.csv", "9" * 10_000 + ",1\n"),
        ("j.csv", 'a,b\n"' + "x" * 200_000),
        ("k.edges", "# spgraph: nrows=1000000000000000 ncols=5\n0 1\n"),
    ],
)
def test_promises_do_not_allocate(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert held_by_a_refusal(path) < 5_000_000


# ---- binary files -------------------------------------------------------------------------
@st.composite
def broken(draw, seed):
    data = bytearray(seed)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        kind = draw(st.sampled_from(["byte", "cut", "double"]))
        if kind == "byte":
            data[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[at : at + draw(st.integers(1, 8))]
        else:
            data[at:at] = data[at : at + 8]
        data = data or bytearray(b"P")
    return bytes(data)


def check_edges(reader, data):
    try:
        edges = reader(Text("fuzz", data))
    except FormatError as error:
        message, edges = str(error), None
    if edges is None:
        assert message.startswith("fuzz")
        return
    for ids, count in ((edges.rows, edges.nrows), (edges.cols, edges.ncols)):
        assert ids.size == 0 or 0 <= ids.min() <= ids.max() < count


@settings(max_examples=300)
@given(st.sampled_from(sorted(("csr", "csc", "coo", "bsr", "dia"))), st.booleans(), st.data())
def test_broken_npz(layout, compressed, data):
    check_edges(npz_edges, data.draw(broken(npz_seed(layout, compressed))))


@settings(max_examples=150)
@given(st.data())
def test_broken_parquet(data):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    file = io.BytesIO()
    table = pa.table({"source": ["a", "b", "c"], "target": ["b", "c", None], "weight": [1.5, 2.5, None]})
    pyarrow.parquet.write_table(table, file, compression=None)
    check_edges(parquet_edges, data.draw(broken(file.getvalue())))


def npy(header, body=b""):
    """An array whose header says anything."""
    text = repr(header).encode() if isinstance(header, dict) else header
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def npz(**arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            if not isinstance(content, bytes):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, np.asarray(content))
                content = buffer.getvalue()
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


COO = {"format": np.array(b"coo"), "shape": [2, 2], "row": [0], "col": [1], "data": [5]}
HUGE = {"descr": "<i8", "fortran_order": False, "shape": (10**15,)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": npy(HUGE)}, r"array 'data': it promises 1,000,000,000,000,000 values of int64, the file holds 0"),
        ({"data": npy(HUGE | {"shape": (-1,)})}, "array 'data': it"),
        ({"data": npy(HUGE | {"descr": "|O", "shape": (1,)}, b"8 bytes.")}, "pickled Python objects, which are not"),
        ({"data": npy(b"[" * 5000)}, "array 'data': it is damaged"),
        ({"data": npy(HUGE | {"descr": "<c16", "shape": (1,)}, bytes(16))}, r"got complex128 of 1 .* real numbers"),
        ({"data": [5, 6]}, "array 'row': its length is not that of the other arrays"),
        ({"row": [2]}, r"array 'row': got index 2, expected 0\.\.1"),
        ({"col": [-1]}, r"array 'col': got index -1, expected 0\.\.1"),
        ({"row": [0.0]}, "array 'row': got float64 of 1 dimensions, expected integers of 1"),
        ({"shape": [10**15, 2]}, "bytes for row offsets"),
        ({"shape": [2]}, r"array 'shape': got \[2\], expected two numbers"),
        ({"format": np.array("lil")}, r"array 'format': got 'lil', expected one of csr, csc, bsr, coo, dia"),
        ({"labels": np.array(["a"])}, r"array 'labels': got <U1 of shape \(1,\), expected 2"),
        ({"labels": np.array(["a", "a"])}, r"array 'labels': it names 1 different vertices, there are 2"),
        ({"labels": np.array([7, 7])}, r"array 'labels': it names 1 different vertices, there are 2"),
        ({"shape": [0, 0]}, "array 'row': got index 0, expected none"),
        ({"row": None}, "there is no array 'row'; wanted what scipy.sparse.save_npz writes"),
    ],
)
def test_npz_that_lies(tmp_path, changes, message):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(**{name: content for name, content in (COO | changes).items() if content is not None}))
    assert held_by_a_refusal(path, message) < 5_000_000


def test_npz_that_swells(tmp_path):
    """A megabyte of zeros takes a kilobyte, a directory may promise any size."""
    path = tmp_path / "a.npz"
    path.write_bytes(npz(**COO | {"data": npy(HUGE, bytes(1 << 23))}))
    with pytest.raises(FormatError, match="more than the file or the memory can hold"):
        read(path)
    path.write_bytes(b"PK not a zip")
    with pytest.raises(FormatError, match=r"not a \.npz file"):
        read(path)
