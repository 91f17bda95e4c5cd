"""Text into numbers: exact, in blocks, interpreted and compiled alike; damaged files."""

import bz2
import gzip
import lzma
import math
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spgraph.io import FormatError, _table, _text, read
from spgraph.io._table import Table
from spgraph.io._text import Text, load
from spgraph.kernels.cpu import _specialise


def table(data, fields, kinds, **options):
    return Table(
        Text("test", data if isinstance(data, bytes) else data.encode()),
        0,
        fields,
        **{"marks": b"#%", **options},
    ).read(kinds)


def read_floats(tokens):
    return table("\n".join(tokens), 1, "f")[0]


def same_bits(values, tokens):
    expected = np.array([float(token) for token in tokens])
    nan = np.isnan(expected)
    assert np.array_equal(nan, np.isnan(values))
    assert np.array_equal(values.view(np.int64)[~nan], expected.view(np.int64)[~nan])


doubles = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0])
halfway = st.builds(
    lambda mantissa, tail: f"{2 * mantissa + 1}{tail}",
    st.integers(2**52, 2**53 - 1),
    st.sampled_from(["", ".0", "e0", "e-1", "e3", "00", "e-22", "e22"]),
)
tokens = st.one_of(
    doubles.map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9).map(
        str
    ),
    halfway,
    st.sampled_from(
        [
            "inf",
            "-Inf",
            "NaN",
            "infinity",
            "-0",
            "0.",
            ".5",
            "+7",
            "1e5",
            "1E+05",
            "1e-400",
            "5e-324",
            "0.000000000000000000000000000001",
            "9007199254740993",
            "123456789012345678901234567890",
        ]
    ),
)


@given(st.lists(tokens, min_size=1, max_size=30))
def test_floats_are_correctly_rounded(words):
    same_bits(read_floats(words), words)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_integers(numbers):
    (column,) = table("\n".join(map(str, numbers)), 1, "i")
    assert column.dtype == np.int64
    assert column.tolist() == numbers


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_unsigned_integers(numbers):
    (column,) = table("\n".join(map(str, numbers)), 1, "u")
    assert column.dtype == (np.uint64 if max(numbers) >= 2**63 else np.int64)
    assert column.tolist() == numbers


def test_kind_of_numbers():
    assert table("1\n2.5\n", 1, "n")[0].dtype == np.float64
    assert table("1\n2\n", 1, "n")[0].dtype == np.int64
    assert table("1\n18446744073709551615\n", 1, "n")[0].dtype == np.uint64
    assert table("18446744073709551615\n0.5\n", 1, "n")[0].tolist() == [2.0**64, 0.5]
    for text in ("18446744073709551616", "-9223372036854775809", "9" * 5000, "18446744073709551615\n-1"):
        with pytest.raises(FormatError, match="does not fit in 64 bits"):
            table(text, 1, "u")
    with pytest.raises(FormatError, match=r"line 2: 1e999 does not fit"):
        table("1\n1e999\n", 1, "f")


@pytest.mark.parametrize(
    "token", ["x", "1x", "--1", "+-1", "1_0", "0x10", "1e", "e5", ".", "-", "1.2.3", "1,5", "\x00"]
)
def test_no_numbers(token):
    for kind in "fn":
        with pytest.raises(FormatError, match=r"line 2: got .* expected a number"):
            table(f"1\n{token}\n", 1, kind)
    with pytest.raises(FormatError, match=r"line 2: got .* expected an integer"):
        table(f"1\n{token}\n", 1, "i")


def test_lines():
    rows, cols = table("# a\r\n1 2\r\n\r\n  3\t4  \r\n%b\n 5 6", 2, "ii")
    assert (rows.tolist(), cols.tolist()) == ([1, 3, 5], [2, 4, 6])
    assert table("1, 2\n3 ,4\n5,6", 2, "ii", comma=b",")[1].tolist() == [2, 4, 6]
    assert table("a 1 2\na\t3 4", 2, "ii", letter=b"a")[0].tolist() == [1, 3]
    assert table("1 2 9 x\n3 4", 2, "ii", more=True)[1].tolist() == [2, 4]
    for data, options in (
        ("1 2\n3", {}),
        ("1 2\n3 4 5", {}),
        ("1,2\n3,,4", {"comma": b","}),
        ("1,2\n3 4", {"comma": b","}),
        ("1,2\n3,4,", {"comma": b","}),
        ("1,2\n,4", {"comma": b","}),
        ("a 1 2\nb 3 4", {"letter": b"a"}),
        ("a 1 2\na3 4", {"letter": b"a"}),
        ("a 1 2\na", {"letter": b"a"}),
    ):
        with pytest.raises(FormatError, match=r"line 2: got .* expected"):
            table(data, 2, "ii", **options)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 99)), max_size=40), st.integers(1, 40))
def test_blocks(pairs, size):
    text = "".join(f"{u} {v}\n" + "# note\n" * (v % 3 == 0) for u, v in pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_table, "BLOCK", size)
        lines = Table(Text("test", text.encode()), 0, 2, marks=b"#")
        rows, cols = lines.read("ii")
        assert list(zip(rows.tolist(), cols.tolist())) == pairs
        for entry, (u, v) in enumerate(pairs):
            assert lines.text.line_at(lines.offset_of(entry)) == f"{u} {v}"
        with pytest.raises(FormatError, match=f"line {text.count(chr(10)) + 1}: got 'oops'"):
            Table(Text("test", f"{text}oops".encode()), 0, 2, marks=b"#").read("ii")


@pytest.mark.compiled
def test_compiled_like_interpreted():
    words = [repr(float(x)) for x in np.random.default_rng(0).normal(size=50)] + [
        "inf",
        "-0",
        "1e-30",
        "7",
        ".25e3",
    ]
    before = _specialise.set_jit("always")
    try:
        same_bits(read_floats(words), words)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_table, "BLOCK", 100)  # several blocks: on several threads
            rows, weights = table("\n".join(f"{k} {w}" for k, w in enumerate(words)), 2, "if")
            assert rows.tolist() == list(range(len(words)))
            same_bits(weights, words)
            for data, message in (
                ("1 2\n3", "line 2: got '3'"),
                ("1 2\n9223372036854775808 1", "64 bits"),
                ("1 2\n-9223372036854775809 1", "64 bits"),
                ("1 2\n1- 1", "got '1-'"),
            ):
                with pytest.raises(FormatError, match=message):
                    table(data, 2, "if")
            assert table("-9223372036854775808\n9223372036854775807", 1, "i")[0].tolist() == [
                -(2**63),
                2**63 - 1,
            ]
    finally:
        _specialise.set_jit(before)


def test_compression_is_known_by_content(tmp_path):
    for name, pack in (("a.txt", bytes), ("b", gzip.compress), ("c.mtx", lzma.compress)):
        path = tmp_path / name
        path.write_bytes(pack(b"\xef\xbb\xbf1 2\n"))
        assert load(path).data == b"1 2\n"
    path = tmp_path / "d.gz"
    path.write_bytes(gzip.compress(b"1 2\n" * 1000)[:-20])
    with pytest.raises(FormatError, match=r"d\.gz: the compressed file is damaged or cut short"):
        load(path)
    path.write_bytes(b"BZh91AY&SY this is not bzip2")
    with pytest.raises(FormatError, match="damaged"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.mtx")


@pytest.mark.parametrize("name", ["BZhang", "BZh9", "BZh91AY", "BZh91AY&SX", "PAR1", "PAR1é", "PK"])
def test_names_that_begin_as_packed_files_do(tmp_path, name):
    path = tmp_path / "names"
    path.write_text(f"{name} Wu\nWu Li\n")
    assert read(path).labels.tolist() == sorted([name, "Wu", "Li"])


@pytest.mark.parametrize("content", [b"", b"1 2\n", b"1 2\n" * 100_000])
@pytest.mark.parametrize("level", range(1, 10))
def test_bzip2(tmp_path, content, level):
    path = tmp_path / "a"
    path.write_bytes(bz2.compress(content, level))
    assert load(path).data == content
    for length in range(4, 14):  # a whole magic has ten bytes
        path.write_bytes(bz2.compress(content, level)[:length])
        with pytest.raises(FormatError, match="damaged or cut short"):
            load(path)


def test_text_larger_than_memory(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * 10_000))
    monkeypatch.setattr(_text, "_memory", lambda: 1000)
    with pytest.raises(FormatError, match="bytes of text, memory is"):
        load(path)


def test_progress_bar(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1 2\n" * 10)
    load(path)
    assert capsys.readouterr().err == ""  # not a terminal
    load(path, progress=True)
    assert "reading a.txt" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_no_file(tmp_path):
    path = tmp_path / "pipe.el"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)  # neither opening nor reading waits
    os.write(end, b"0 1\n" * 100)
    try:
        with pytest.raises(FormatError, match=r"pipe\.el: it is a pipe, wanted a file"):
            read(path)
    finally:
        os.close(end)


def test_powers_of_ten_are_exact():
    assert all(math.isclose(p, 10.0**k, rel_tol=0) and int(p) == 10**k for k, p in enumerate(_table.POWERS))
