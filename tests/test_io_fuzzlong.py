"""Mutated files: a FormatError or a matrix, nothing else, in little time and memory."""

import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spgraph.io import FormatError, _text, read
from spgraph.io._coo import tidy
from spgraph.io._read import format_of
from spgraph.io._text import Text
from spgraph.io.dimacs import dimacs_edges
from spgraph.io.edgelist import edgelist_edges
from spgraph.io.matrix_market import matrix_market_edges

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
@settings(max_examples=2000, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
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
    assert report.edges <= text.count(b"\n") + 1
    if csr.indices.size:
        assert 0 <= csr.indices.min() <= csr.indices.max() < csr.ncols


@settings(max_examples=100)
@given(st.binary(max_size=200) | mutated([seed for seeds in SEEDS.values() for seed in seeds]))
def test_format_is_guessed_for_anything(text):
    assert format_of(Text("fuzz", text)) in ("matrix_market", "edgelist", "dimacs")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1000000000000\n1 1 1\n"),
        ("b.mtx", "%%MatrixMarket matrix array real general\n1000000000 1000000000\n1\n"),
        ("c.gr", "p sp 10 1000000000000\na 1 2 3\n"),
        ("d.txt", "0 1\n" * 100 + "9" * 10_000 + " 1\n"),
        ("e.txt", "x" * 10_000 + " y\n" + "a b\n" * 1000),
    ],
)
def test_promises_do_not_allocate(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
