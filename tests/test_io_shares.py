"""Files and edges that several processes share: whatever the cuts, what one process makes of them.

The processes are threads here, which give each other what they send; `test_ranks` starts real ones.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spgraph.bench import _folder
from spgraph.exchange.ranks import ALONE, Ranks
from spgraph.io import FormatError, _coo, _text
from spgraph.io._coo import Edges, invalid, tidy
from spgraph.io._text import load_share
from spgraph.io.csv_edges import csv_edges
from spgraph.io.dimacs import dimacs_edges
from spgraph.io.edgelist import edgelist_edges
from spgraph.io.matrix_market import matrix_market_edges
from spgraph.io.metis import metis_edges

N = 6


class Room:
    """Where threads put what others take."""

    def __init__(self, count: int):
        self.barrier = threading.Barrier(count, timeout=60)
        self.slots: list[Any] = [None] * count


class Threads:
    """The transport of one thread."""

    def __init__(self, room: Room, rank: int):
        self.room = room
        self.mine = [rank]

    def gather(self, values: list) -> list:
        self.room.slots[self.mine[0]] = values[0]
        self.room.barrier.wait()
        found = list(self.room.slots)
        self.room.barrier.wait()
        return found

    def all_to_all(self, sent: list) -> list:
        return [[messages[self.mine[0]] for messages in self.gather([sent[0]])]]


def outcome(call: Any, ranks: Any) -> Any:
    try:
        with ranks.together():
            return call(ranks)
    except Exception as error:
        return type(error), str(error)


def together(count: int, call: Any) -> list:
    """What ``call(ranks)`` gives, or how it fails, in each of so many threads."""
    room, results = Room(count), [None] * count

    def run(rank: int) -> None:
        try:
            results[rank] = outcome(call, Ranks(Threads(room, rank), count))
        except BaseException:
            room.barrier.abort()
            raise

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def check(count: int, call: Any) -> None:
    """The rows of all processes, one after the other, are those of one; or all fail as one does.

    One goes first: kernels are made by one thread (CPython 3.11's `ast` does not bear several).
    """
    wanted = outcome(call, ALONE)
    found = together(count, call)
    if isinstance(wanted, tuple):
        assert found == [wanted] * len(found)
        return
    assert not [one for one in found if isinstance(one, tuple)]
    first = found[0]
    assert [one.report for one in found] == [wanted.report] * len(found)
    assert all(np.array_equal(one.cuts, first.cuts) for one in found)
    assert first.cuts[0] == 0 and first.cuts[-1] == wanted.nrows and (np.diff(first.cuts) >= 0).all()
    assert [one.indptr.size for one in found] == (np.diff(first.cuts) + 1).tolist()
    assert np.array_equal(np.concatenate([np.diff(one.indptr) for one in found]), np.diff(wanted.indptr))
    assert np.array_equal(np.concatenate([one.indices for one in found]), wanted.indices)
    values = [np.broadcast_to(one.values, one.indices.shape) for one in found]
    assert all(one.dtype == wanted.values.dtype for one in values)
    assert np.array_equal(np.concatenate(values), np.broadcast_to(wanted.values, wanted.indices.shape))
    for one in found:
        assert one.symmetric == wanted.symmetric
        assert (one.labels is None) == (wanted.labels is None)
        assert wanted.labels is None or one.labels.tolist() == wanted.labels.tolist()


triples = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.integers(-9, 9)), max_size=20)
options = st.fixed_dictionaries({
    "drop_self_loops": st.booleans(), "symmetrize": st.booleans(), "dtype": st.sampled_from([None, "INT8", "FP32"]),
    "dup_op": st.sampled_from([None, "min", "plus", "first", "last"]),
})  # fmt: skip


@given(given_edges=triples, how=options, cuts=st.lists(st.integers(0, 20), min_size=1, max_size=3),
       mirror=st.sampled_from([None, "symmetric", "skew-symmetric"]), iso=st.booleans(),
       wide=st.booleans())  # fmt: skip
def test_edges(given_edges, how, cuts, mirror, iso, wide):
    """Wide: ids beyond what a key of row and column can hold."""
    iso = iso and mirror != "skew-symmetric"
    n, scale = (4096, 700) if wide else (N, 1)
    rows, cols, values = (np.array([edge[k] for edge in given_edges], np.int64) for k in range(3))
    bounds = [0, *sorted(min(cut, rows.size) for cut in cuts), rows.size]

    def call(ranks: Any) -> Any:
        own = slice(*bounds[ranks.rank : ranks.rank + 2]) if ranks.count > 1 else slice(None)
        fail = invalid("test")
        first = own.start or 0
        edges = Edges(rows[own] * scale, cols[own] * scale, np.True_ if iso else values[own], n, n, "test",
                      lambda entry, message: fail(None if entry is None else first + entry, message),
                      mirror=mirror, ranks=ranks)  # fmt: skip
        return tidy(edges, **how)

    with pytest.MonkeyPatch.context() as patch:
        if wide:
            patch.setattr(_coo, "KEY_BITS", 20)
        check(len(bounds) - 1, call)


blanks = st.sampled_from(["", "\n", "\n\n", " \n", "# a comment\n"])
END = st.booleans()


def numbers(draw: Any, sep: str, mark: str, first: int, weights: bool = True, head: str = "") -> str:
    """Lines of edges, with blank lines and comments in between."""
    lines = []
    for u, v, w in draw(triples):
        odd = draw(st.sampled_from(["", "", "", "", "", ".5", "x"]))
        more = f"{sep}{w}{odd}" if weights else ""
        lines.append(f"{head}{u + first}{sep}{v + first}{more}\n" + draw(blanks).replace("#", mark))
    text = "".join(lines)
    return text if draw(END) else text.rstrip("\n")


def wide(draw: Any) -> str:
    """Weights of which some need another type than others."""
    weights = draw(st.lists(st.sampled_from([1, 1, 2**63, 2**64, -1, 0.5, "inf", "x"]), max_size=9))
    return "".join(f"0 {place} {weight}\n" for place, weight in enumerate(weights))


def quoted(draw: Any, names: list[str]) -> str:
    """Rows of quoted names, and rows that name a vertex alone."""
    rows = ["from,to,km"]
    for u, v, w in draw(triples):
        name = draw(st.sampled_from(names))
        rows.append(f'"{name}{u}","{name}{v}",{w}' if draw(st.integers(0, 6)) else f'"{name}{u}",,')
    return "\n".join(rows) + "\n" * draw(END)


FORMATS = {
    "el": (b"#%", edgelist_edges, lambda draw: numbers(draw, " ", "#", 0)),
    "wide": (b"#%", edgelist_edges, wide),
    "comma": (b"#%", edgelist_edges, lambda draw: numbers(draw, ",", "%", 0)),
    "pairs": (b"#%", edgelist_edges, lambda draw: numbers(draw, "\t", "#", 7, weights=False)),
    "texts": (b"#%", edgelist_edges, lambda draw: numbers(draw, " ", "#", 0, head="n")),
    "gr": (b"c", dimacs_edges, lambda draw: f"p sp {N} {draw(st.integers(0, 9))}\n" + numbers(draw, " ", "c", 1,
                                                                                             head="a ")),
    "bare": (b"c", dimacs_edges, lambda draw: "a 0 1 2\n" + numbers(draw, " ", "c", 0, head="a ")),
    "csv": (b"#%", csv_edges, lambda draw: "source,target,weight\n" + numbers(draw, ",", "\n", 0)),
    "quoted": (b"#%", csv_edges, lambda draw: quoted(draw, ["city, "])),
    "lines": (b"#%", csv_edges, lambda draw: quoted(draw, ["city, ", "city\n"])),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data(), count=st.integers(2, 4))
def test_texts(name, data, count, tmp_path_factory):
    marks, edges_of, made = FORMATS[name]
    path = tmp_path_factory.mktemp("shares") / "file"
    path.write_text(made(data.draw))
    how = data.draw(options)

    def call(ranks: Any) -> Any:
        text = load_share(path, marks, False, ranks)
        return tidy(edges_of(text), **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "HEAD", 1)
        patch.setattr(_text, "HEAD_LINES", 2)
        check(count, call)


@given(given_edges=triples, count=st.integers(2, 4), symmetry=st.sampled_from(["general", "symmetric"]),
       promised=st.integers(-1, 1), end=END, how=options)  # fmt: skip
def test_matrix_market(given_edges, count, symmetry, promised, end, how, tmp_path_factory):
    path = tmp_path_factory.mktemp("shares") / "file.mtx"
    lines = "".join(f"{u + 1} {v + 1} {w}\n" for u, v, w in given_edges)
    head = f"%%MatrixMarket matrix coordinate integer {symmetry}\n{N} {N} {max(len(given_edges) + promised, 0)}\n"
    path.write_text(head + (lines if end else lines.rstrip("\n")))

    def call(ranks: Any) -> Any:
        return tidy(matrix_market_edges(load_share(path, b"%", False, ranks)), **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "HEAD", 1)
        patch.setattr(_text, "HEAD_LINES", 1)
        check(count, call)


@given(data=st.data(), count=st.integers(2, 4))
def test_metis(data, count, tmp_path_factory):
    weight = {(min(u, v), max(u, v)): abs(w) for u, v, w in data.draw(triples)}
    ends: dict[int, list] = {v: [] for v in range(N)}
    for (u, v), w in weight.items():
        ends[u].append(f"{v + 1} {w}")
        if u != v:
            ends[v].append(f"{u + 1} {w + data.draw(st.sampled_from([0] * 20 + [1]))}")
    lines = [" ".join(ends[v]) + "\n" + data.draw(st.sampled_from(["", "", "% a comment\n"])) for v in ends]
    lines = lines[: data.draw(st.sampled_from([N] * 8 + [N - 1]))]
    text = f"{N} {len(weight)} 1\n" + "".join(lines)
    path = tmp_path_factory.mktemp("shares") / "file.graph"
    path.write_text(text if data.draw(END) else text.rstrip("\n"))
    directed = data.draw(st.booleans())

    def call(ranks: Any) -> Any:
        return tidy(metis_edges(load_share(path, b"%", False, ranks), directed=directed)[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "HEAD", 1)
        patch.setattr(_text, "HEAD_LINES", 1)
        check(count, call)


@given(weights=st.lists(st.integers(0, 3), min_size=1, max_size=5), more=st.integers(0, 9), count=st.integers(2, 4),
       op=st.sampled_from(["min", "plus", "first", "last", "minus", None]), data=st.data())  # fmt: skip
def test_metis_parallel_edges(weights, more, count, op, data, tmp_path_factory):
    """In any order at the other end, or with one that is not the same."""
    other = data.draw(st.permutations(weights))
    other[-1] += more == 0
    there, back = (" ".join(f"{v} {w}" for w in ends) for v, ends in ((2, weights), (1, other)))
    path = tmp_path_factory.mktemp("shares") / "file.graph"
    path.write_text(f"4 {len(weights) + 1} 1\n{there}\n{back}\n4 7\n3 7\n")

    def call(ranks: Any) -> Any:
        csr = tidy(metis_edges(load_share(path, b"%", False, ranks))[0], dup_op=op)
        assert ranks.count > 1 or csr.values[0] == csr.values[1]
        return csr

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "HEAD", 1)
        patch.setattr(_text, "HEAD_LINES", 1)
        check(count, call)


# ---- folders of raw arrays ------------------------------------------------------------------
def write_folder(path: Path, n: int, weight: dict[tuple[int, int], int]) -> tuple:
    """Files of an undirected graph, as peers/gen.py writes them; the arrays."""
    both = sorted({(*ends, w) for (u, v), w in weight.items() for ends in ((u, v), (v, u))})
    rows, cols, values = np.array(both, np.int64).reshape(-1, 3).T
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
    arrays = indptr.astype("<i4"), cols.astype("<i4"), values.astype("<f4")
    for name, array in zip(NAMES, arrays):
        array.tofile(path / name)
    return arrays


def undirected(edges: list, n: int, weighted: bool) -> dict[tuple[int, int], int]:
    return {(min(u, v), max(u, v)): w if weighted else 1 for u, v, w in edges if max(u, v) < n}


def load_folder(path: Path) -> Any:
    return lambda ranks: _folder.folder_csr(str(path), ranks)


NAMES = "rowptr.i32", "col.i32", "w.f32"
COUNTS = st.integers(2, 4)
numbers_that_may_be_wrong = st.one_of(st.integers(-2, 40), st.sampled_from([2**31 - 1, -(2**31)]))


@given(given_edges=triples, n=st.integers(0, N), count=COUNTS, weighted=st.booleans())
def test_folders(given_edges, n, count, weighted, tmp_path_factory):
    path = tmp_path_factory.mktemp("shares")
    arrays = write_folder(path, n, undirected(given_edges, n, weighted))
    alone = _folder.folder_csr(str(path), ALONE)
    for found, wanted in zip((alone.indptr, alone.indices, alone.values), arrays):
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    assert (alone.nrows, alone.report.stored, alone.symmetric, alone.cuts) == (n, arrays[1].size, True, None)
    check(count, load_folder(path))


@given(given_edges=triples, count=COUNTS, name=st.sampled_from(NAMES), data=st.data())
def test_broken_folders(given_edges, count, name, data, tmp_path_factory):
    """Cut short, with more at the end, missing, or with another number somewhere: all say what one says."""
    path = tmp_path_factory.mktemp("shares")
    write_folder(path, N, undirected(given_edges, N, True))
    array = np.fromfile(path / name, "<f4" if name == "w.f32" else "<i4")
    what = data.draw(st.sampled_from(["cut", "more", "missing", *["number"] * 5]))
    if what == "cut":
        (path / name).write_bytes(array.tobytes()[: data.draw(st.integers(0, array.nbytes))])
    elif what == "more":
        (path / name).write_bytes(array.tobytes() + bytes(data.draw(st.integers(1, 9))))
    elif what == "missing":
        (path / name).unlink()
    elif array.size:
        array[data.draw(st.integers(0, array.size - 1))] = data.draw(numbers_that_may_be_wrong)
        array.tofile(path / name)
    check(count, load_folder(path))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("name", "place", "number", "message"),
    [
        ("rowptr.i32", 0, 1, "wanted offsets that rise from 0 to 16"),
        ("rowptr.i32", 3, -1, "wanted offsets that rise from 0 to 16"),
        ("rowptr.i32", 6, 9, "wanted offsets that rise from 0 to 16"),
        ("rowptr.i32", 8, 17, "wanted offsets that rise from 0 to 16"),
        ("col.i32", 0, -1, "columns are not all in 0..7"),
        ("col.i32", 15, 8, "columns are not all in 0..7"),
        ("rowptr.i32", None, 3, "33 bytes are no whole number of int32"),
        ("w.f32", None, 3, "61 bytes are no whole number of float32"),
        ("rowptr.i32", None, 0, "wanted offsets that rise from 0 to 16"),
        ("w.f32", None, 4, "15 weights for 16 edges"),
        *((name, None, None, "wanted rowptr.i32, col.i32 and w.f32") for name in NAMES),
    ],
)
def test_the_error_of_one_is_that_of_all(name, place, number, message, count, tmp_path):
    """A ring of 8: wrong in the share of one; or sizes (so many bytes are cut off, 0: all; None: there is no file)."""
    write_folder(tmp_path, 8, {(v, (v + 1) % 8): 1 for v in range(8)})
    data = (tmp_path / name).read_bytes()
    if number is None:
        (tmp_path / name).unlink()
    elif place is None:
        (tmp_path / name).write_bytes(data[:-number] if number else b"")
    else:
        (tmp_path / name).write_bytes(data[: 4 * place] + np.array(number, "<i4").tobytes() + data[4 * place + 4 :])
    found = together(count, load_folder(tmp_path))
    assert found == [found[0]] * count
    kind, words = found[0]
    assert kind is (FileNotFoundError if number is None else FormatError)
    assert message in words and str(tmp_path / name) in words


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("graph", ["ring", "random", "star"])
def test_no_process_reads_the_whole(graph, count, tmp_path, monkeypatch):
    """Every entry is read by one process alone; offsets twice at most, once to be checked and once as own ones."""
    n, random = 3000, np.random.default_rng(0)
    pairs = {"ring": [(v, (v + 1) % n) for v in range(n)], "random": random.integers(0, n // 3, (4 * n, 2)).tolist(),
             "star": [(0, v) for v in range(1, n)]}[graph]  # fmt: skip
    indptr, indices, _ = write_folder(tmp_path, n, undirected([(u, v, u + v) for u, v in pairs], n, True))
    read: dict[int, dict] = {}
    from_file = np.fromfile

    def recorded(path: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        array = from_file(path, *args, **kwargs)
        read.setdefault(threading.get_ident(), {}).setdefault(Path(path).name, []).append(array.size)
        return array

    monkeypatch.setattr(np, "fromfile", recorded)
    found = together(count, load_folder(tmp_path))
    assert len(read) == count
    longest = int(np.diff(indptr).max())
    for sizes in read.values():
        assert sum(sizes["rowptr.i32"]) <= (n + 1 if count == 1 else n / count + 2 + n), sizes
        assert sizes["col.i32"] == sizes["w.f32"]
        assert sum(sizes["col.i32"]) <= indices.size / count + longest, sizes
    own = [one.indices.size for one in found]
    assert sorted(own) == sorted(sum(sizes["col.i32"]) for sizes in read.values()) and sum(own) == indices.size
    assert sum(sum(sizes["rowptr.i32"]) for sizes in read.values()) <= 2 * (n + count)


def test_an_error_that_cannot_travel_keeps_its_words():
    class Own(Exception):
        def __init__(self, one: int, other: int):
            super().__init__("no way")

    def call(ranks: Any) -> None:
        if ranks.rank == 1:
            raise Own(1, 2)
        ranks.gather(0)

    assert together(3, call) == [(RuntimeError, "Own: no way"), (Own, "no way"), (RuntimeError, "Own: no way")]


def test_the_first_that_fails_speaks():
    def call(ranks: Any) -> None:
        if ranks.rank:
            raise FormatError("file", 7 * ranks.rank, "bad")
        ranks.total(np.zeros(3))

    assert together(3, call) == [(FormatError, "file, line 7: bad")] * 3
