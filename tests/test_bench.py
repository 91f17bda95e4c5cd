"""Benchmarks give right answers before they give times; nothing here depends on how long anything takes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import spgraph as sg
from spgraph import _graphspec, bench
from spgraph._machine import machine, optional_packages, versions
from spgraph.bench import _contest, _folder, _peers, _spgraph
from spgraph.bench._measurement import Measurement, Steps
from spgraph.bench._problem import ALGORITHMS, USUAL, Answer, Problem, Text
from spgraph.bench._progress import Progress
from spgraph.exceptions import IndexOutOfBound, InvalidValue
from spgraph.io import FormatError

PEERS = ("graphblas", "scipy", "networkx")
ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    """Peers and figures here are the CPU's, and nothing hangs on how good they are."""
    monkeypatch.setattr(_contest, "PAUSE", 0.0)
    with sg.Context("cpu"):
        yield


def directed() -> sg.Matrix:
    """Directed, weighted, with a dangling vertex, a self-loop and vertices out of reach."""
    rng = np.random.default_rng(7)
    rows, cols = np.divmod(np.unique(rng.integers(0, 39 * 40, 150)), 40)
    return sg.Matrix.from_coo(rows, cols, rng.integers(1, 9, rows.size), nrows=40, ncols=40)


GRAPHS = {
    "directed": directed,
    "rmat": lambda: sg.generators.rmat(7, 8, weights="int"),
    "grid": lambda: sg.generators.grid(9),
    "floats": lambda: sg.generators.uniform(60, 5, weights="uniform"),
    "edgeless": lambda: sg.Matrix(np.int64, 4, 4),
    "single": lambda: sg.Matrix(np.int64, 1, 1),
}


def problem(graph: str, algorithm: str, dtype=np.float64) -> Problem:
    A = GRAPHS[graph]()
    indptr = A.to_csr()[0]
    source = int(np.diff(indptr).argmax())
    return Problem(graph, algorithm, A, [source, int(source == 0)][: A.nrows], np.dtype(dtype), 2)


def contest(problem: Problem, peers=()) -> _contest.Contest:
    return _contest.Contest(problem, {"natural": problem.graph}, list(peers), [], [], Progress(1, False), 20.0)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("peer", PEERS)
def test_every_text_of_every_peer_agrees_with_spgraph(peer, algorithm, graph):
    module = pytest.importorskip(f"spgraph.bench._{peer}")
    there = problem(graph, algorithm)
    judge = contest(there)
    argument = there.argument(0)
    ours = _spgraph.text(there, there.graph)
    assert judge.check(ours.answer(ours.run(argument))) is None
    texts = module.texts(there)
    if (peer, algorithm) == ("scipy", "betweenness"):
        assert texts == {}
        return
    assert texts
    for name, text in texts.items():
        answer = text.answer(text.run(argument))
        assert judge.check(answer) is None, name
        wanted = {"bfs": "level", "sssp": "distance", "pagerank": "rank", "betweenness": "centrality",
                  "components": "label", "triangles": "total"}  # fmt: skip
        assert getattr(answer, wanted.get(algorithm, "parent")) is not None


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_compare_measures_every_engine(dtype):
    result = bench.compare(["rmat:6:4", "grid:5"], repeat=2, sources=3, dtype=dtype, progress=False)
    assert (result.notes, result.wrong) == ([], [])
    assert [graph["name"] for graph in result.graphs] == ["rmat:6:4", "grid:5"]
    assert all(len(set(graph["sources"])) == 3 for graph in result.graphs)
    for graph in ("rmat:6:4", "grid:5"):
        for algorithm in USUAL:
            rows = [row for row in result.rows if (row.graph, row.algorithm) == (graph, algorithm)]
            assert [(row.engine, row.order) for row in rows] == [
                ("spgraph", "natural"),
                ("spgraph", "degree"),
                ("python-graphblas", ""),
                ("scipy", ""),
                ("networkx", ""),
            ]
            assert all(len(row.times) == 2 and min(row.times) > 0 for row in rows)
            assert all(len(row.longer) == (2 if algorithm == "pagerank" else 0) for row in rows)
            assert result.ratio(rows[0])["natural"] == 1
            assert set(result.ratio(rows[2])) == {"natural", "degree"}
            assert rows[2].text in rows[2].tried


def test_comparison_prints_and_saves(tmp_path):
    path = tmp_path / "saved.json"
    seen = []
    result = bench.compare(
        ["path:30", "star:9"],
        against=["scipy"],
        algorithms=["bfs_parents", "pagerank"],
        repeat=1,
        progress=False,
        after_each=lambda so_far: (seen.append(len(so_far.graphs)), bench.save(path, so_far)),
    )
    assert seen == [1, 2]
    shown = str(result)
    assert "path:30: 30 vertices, 58 stored edges, searched from 16 vertices" in shown
    assert "spgraph, natural" in shown
    assert "  an iteration more" in shown
    assert "scipy: breadth_first_order (bfs_parents on path:30, bfs_parents on star:9)" in shown
    assert [line.split()[0] for line in shown.splitlines()[-3:]] == ["summary,", "path:30", "star:9"]
    document = json.loads(path.read_text())
    assert {"benchmark", "machine", "arguments", "graphs", "rows", "notes", "wrong"} == set(document)
    assert {"date", "commit", "cpu", "cores", "threads", "versions"} <= set(document["machine"])
    assert document["arguments"]["device"].startswith("cpu")
    assert {"gpus", "cuda"} <= set(document["machine"])
    assert document["rows"][0]["median"] >= document["rows"][0]["min"] > 0
    assert document["rows"][0]["per_iteration"] is None
    assert isinstance(document["rows"][3]["per_iteration"], float)


def test_without_a_terminal_there_is_a_line_for_every_engine(capsys, fake):
    def texts(problem):
        return {"bad": Text(lambda source: 1 / 0, Answer)} if problem.algorithm == "sssp" else {
            "good": _spgraph.text(problem, problem.graph)}  # fmt: skip

    fake(texts)
    bench.compare(["path:6", "star:4"], against=["fake"], algorithms=["bfs", "sssp"], repeat=1)
    told = [line.partition(" s  ") for line in capsys.readouterr().err.splitlines()]
    assert [float(seconds) for seconds, _, _ in told] == sorted(float(seconds) for seconds, _, _ in told)
    places = [f"path:6, {algorithm}, {engine}" for algorithm in ("bfs", "sssp")
              for engine in ("spgraph by natural", "spgraph by degree", "fake")]  # fmt: skip
    shown = [text for _, _, text in told if text.startswith("path:6")]
    assert shown[0] == "path:6: generated, 10 stored edges"
    assert [text for text in shown if "turns" in text] == [
        "path:6, bfs: all turns taken", "path:6, sssp: all turns taken"]  # fmt: skip
    engines = [text for text in shown if text.count(", ") >= 2]
    assert [text[: len(place)] for text, place in zip(engines, places, strict=True)] == places
    assert all(re.search(r": [0-9.e+-]+ ms \(\w+\)$", text) for text in engines[:-1])
    assert engines[-1] == "path:6, sssp, fake: left out"
    assert len(told) == 2 * len(shown)
    bench.compare(["path:6"], against=[], algorithms=["bfs"], repeat=1, progress=False)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bench.compare(["path:6"], against=[], algorithms=["bfs"], repeat=1)
    told = capsys.readouterr().err
    assert "path:6, bfs, turn 1:" in told
    assert "ms (" not in told


def test_a_file_is_a_graph_too(tmp_path):
    path = tmp_path / "roads.gr"
    path.write_text("p sp 3 4\na 1 2 7\na 1 2 5\na 2 1 5\na 2 3 1\n")
    result = bench.compare(
        [str(path)], against=["scipy"], algorithms=["sssp"], repeat=1, source=0, progress=False
    )
    assert result.graphs[0]["stored_edges"] == 3


def test_a_peer_that_is_missing_is_left_out_and_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    monkeypatch.delitem(sys.modules, "spgraph.bench._networkx", raising=False)
    result = bench.compare(["path:5"], against=["networkx"], algorithms=["bfs"], repeat=1, progress=False)
    assert {row.engine for row in result.rows} == {"spgraph"}
    assert "networkx is not installed: left out" in result.notes[0]
    assert "pip install" in str(result)


def test_networkx_is_left_out_on_large_graphs(monkeypatch):
    networkx = pytest.importorskip("spgraph.bench._networkx")
    monkeypatch.setattr(networkx, "LARGEST", 5)
    result = bench.compare(
        ["path:5"], against=["networkx"], algorithms=["bfs", "sssp"], repeat=1, progress=False
    )
    assert len(result.notes) == 1
    assert "more than 5 stored edges" in result.notes[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_wrong_answer_is_left_out_and_named(monkeypatch, algorithm):
    name = "networkx" if algorithm == "betweenness" else "scipy"
    peer = pytest.importorskip(f"spgraph.bench._{name}")
    right = peer.texts

    def wrong(problem):
        return {name: Text(text.run, lambda result, text=text: _spoilt(text.answer(result)))
                for name, text in right(problem).items()}  # fmt: skip

    monkeypatch.setattr(peer, "texts", wrong)
    result = bench.compare(["path:6"], against=[name], algorithms=[algorithm], repeat=1, source=0, progress=False)
    assert {row.engine for row in result.rows} == {"spgraph"}
    assert len(result.wrong) == 1
    assert result.wrong[0].startswith(f"{algorithm} on path:6 (")
    assert f"{name} (" in result.wrong[0]
    assert f"WRONG: {result.wrong[0]}" in str(result)


def _spoilt(answer: Answer) -> Answer:
    return Answer(*(part if part is None else part + 1 if type(part) is int else _changed(part) for part in answer))


def _changed(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array[3] = 5 if array.dtype.kind == "i" else array[3] + 1
    return array


class FakePeer:
    """An engine of the tests' own, put where `find_peers` looks."""

    NAME = "fake"
    ON_GPU = True

    def __init__(self, texts):
        self.texts = texts
        self.asked = []
        self.waits = 0

    def version(self) -> str:
        return "0.1"

    def synchronize(self) -> None:
        self.waits += 1


@pytest.fixture
def fake(monkeypatch):
    def put(texts) -> FakePeer:
        peer = FakePeer(texts)
        monkeypatch.setitem(_peers.PEERS, "fake", ("fake", "pip install fake"))
        monkeypatch.setitem(sys.modules, "spgraph.bench._fake", peer)
        return peer

    return put


def test_all_engines_search_from_the_same_sources(fake, monkeypatch):
    asked: dict[str, list] = {"ours": [], "fake": []}

    def texts(problem):
        def run(source):
            asked["fake"].append(source)
            return sg.algorithms.bfs_parents(problem.graph, source)

        return {"only": Text(run, lambda parent: Answer(parent=parent.to_dense(-1)))}

    ours = sg.algorithms.bfs_parents
    peer = fake(texts)
    monkeypatch.setattr(
        _spgraph.algorithms, "bfs_parents", lambda A, source: asked["ours"].append(source) or ours(A, source)
    )
    result = bench.compare(["rmat:7"], against=["fake"], algorithms=["bfs_parents"], orders=["natural"], repeat=5,
                           sources=3, progress=False)  # fmt: skip
    sources = result.graphs[0]["sources"]
    assert asked["fake"][-5:] == [sources[k % 3] for k in range(5)]
    assert set(asked["ours"]) == set(sources)
    assert peer.waits >= 2 * 10  # before and after every run of both engines
    assert result.arguments["versions"] == {"fake": "0.1"}


@pytest.mark.parametrize("algorithm", ["bfs", "pagerank"])
def test_of_several_runs_in_a_row_the_first_counts_apart(fake, algorithm):
    asked = []

    def texts(problem):
        ours = _spgraph.text(problem, problem.graph)
        return {"only": Text(lambda argument: asked.append(argument) or ours.run(argument), ours.answer)}

    fake(texts)
    result = bench.compare(["rmat:7"], against=["fake"], algorithms=[algorithm], repeat=2, sources=5, in_a_row=3,
                           progress=False)  # fmt: skip
    for row in result.rows:
        assert (len(row.after_others), len(row.times)) == (2, 4)
        assert len(row.longer) == (4 if algorithm == "pagerank" else 0)
    sources = result.graphs[0]["sources"]
    if algorithm == "bfs":
        assert asked[-6:] == [sources[k % 5] for k in range(6)]
    assert "medians of 2 turns, fewer where an engine is slow, of 3 runs each without the first" in str(result)
    assert all(row["after_others"] for row in result.to_dict()["rows"])


def test_an_engine_that_breaks_does_not_stop_the_others(fake):
    def texts(problem):
        if problem.algorithm == "sssp":
            raise MemoryError("no room")
        return {"bad": Text(lambda source: 1 / 0, Answer), "good": _spgraph.text(problem, problem.graph)}

    fake(texts)
    result = bench.compare(["path:6"], against=["fake"], algorithms=["bfs", "sssp"], repeat=1, progress=False)
    assert [(row.algorithm, row.engine) for row in result.rows if row.engine == "fake"] == [("bfs", "fake")]
    bad, none = result.wrong
    assert bad.startswith("bfs on path:6: fake (bad): ZeroDivisionError: division by zero (test_bench.py, line ")
    assert none.startswith("sssp on path:6: fake: MemoryError: no room (test_bench.py, line ")


def test_slow_engines_take_fewer_turns(fake):
    def texts(problem):
        return {"slow": Text(_spgraph.text(problem, problem.graph).run, lambda level: Answer(level=level.to_dense(-1)))}

    fake(texts)
    result = bench.compare(["path:6"], against=["fake"], algorithms=["bfs"], repeat=9, seconds=1e-9, progress=False)
    assert all(len(row.times) == 3 for row in result.rows)
    row = result.rows[-1]
    row.times[:] = [2.0] * 3
    result.rows[0].times[:] = [1.0, 1.0, 1.0, 50.0, 50.0]  # turns that only one of them took
    assert result.ratio(row)["natural"] == 2


def test_a_peer_that_cannot_be_used_says_why(fake):
    peer = fake(lambda problem: {})
    peer.version = lambda: (_ for _ in ()).throw(OSError("libfake.so: no such file"))
    result = bench.compare(["path:5"], against=["fake"], algorithms=["bfs"], repeat=1, progress=False)
    assert result.notes == ["fake cannot be used: left out (OSError: libfake.so: no such file)"]


def test_figures_for_a_superstep():
    row = Measurement("g", "bfs", "spgraph", "natural", "algorithms", {}, 0.0)
    assert row.per_step() is None
    assert row.per_iteration(20) is None
    row.times = [1e-3, 3e-3, 2e-3]
    row.steps = [Steps(10, 20, 10), Steps(10, 20, 10), Steps(0, 5, 5)]  # the last one multiplied nothing
    assert row.per_step() == {"supersteps": 10, "microseconds": pytest.approx(200), "launches": 2, "waits": 1}
    row.longer = [4e-3, 4e-3, 4e-3]
    assert row.per_iteration(20) == pytest.approx(1e-4)
    assert Steps(5, 6, 7) - Steps(1, 2, 3) == Steps(4, 4, 4)


# ---- folders of raw arrays ---------------------------------------------------------------
@pytest.fixture
def folder(tmp_path):
    """A square with one diagonal, as peers/gen.py writes graphs."""
    path = tmp_path / "square"
    path.mkdir()
    A = sg.Matrix.from_coo([0, 1, 1, 2, 2, 3, 3, 0, 0, 2], [1, 0, 2, 1, 3, 2, 0, 3, 2, 0],
                           np.array([1, 1, 2, 2, 3, 3, 4, 4, 5, 5], np.float32), nrows=4, ncols=4)  # fmt: skip
    indptr, indices, values = A.to_csr()
    indptr.astype("<i4").tofile(path / "rowptr.i32")
    indices.astype("<i4").tofile(path / "col.i32")
    values.astype("<f4").tofile(path / "w.f32")
    np.array([3, 1], "<i4").tofile(path / "src.i32")
    return path, A


def test_a_folder_is_a_graph(folder):
    path, A = folder
    read = _graphspec.load(str(path), order="degree")
    assert read.isequal(A, check_dtype=True)
    assert (read.symmetric, read.order, read.report.stored) == (True, "degree", 10)
    result = bench.compare([str(path)], against=["scipy"], repeat=3, progress=False)
    assert (result.notes, result.wrong) == ([], [])
    assert result.graphs[0] | {"reorder_seconds": 0} == {
        "name": "square", "vertices": 4, "stored_edges": 10, "weights": "FP32", "sources": [3, 1], "reorder_seconds": 0,
    }  # fmt: skip
    assert bench.compare([str(path) + "/"], against=[], sources=1, repeat=1, progress=False).graphs[0]["sources"] == [3]


def test_a_folder_without_sources_gets_some(folder):
    path, _ = folder
    (path / "src.i32").unlink()
    result = bench.compare([str(path)], against=[], algorithms=["bfs"], repeat=1, progress=False)
    assert sorted(result.graphs[0]["sources"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("rowptr.i32", np.array([0, 3, 5, 8, 9], "<i4"), "offsets that rise from 0 to 10"),
        ("rowptr.i32", np.array([0, 5, 3, 8, 10], "<i4"), "offsets that rise from 0 to 10"),
        ("rowptr.i32", np.array([0, 2**31 - 1, -5, 8, 10], "<i4"), "offsets that rise from 0 to 10"),
        ("col.i32", np.array([1, 2, 3, 0, 2, 0, 1, 3, 0, 4], "<i4"), r"columns are not all in 0\.\.3"),
        ("col.i32", np.array([1, 3, 2, 0, 2, 0, 1, 3, 0, 2], "<i4"), "columns of a row are not ascending, each once"),
        ("col.i32", np.array([1, 2, 3, 0, 2, 0, 1, 3, 2, 2], "<i4"), "columns of a row are not ascending, each once"),
        ("col.i32", np.array([1, 2, 3, 0, 1, 0, 1, 3, 0, 2], "<i4"), "2 -> 1 is there, but not 1 -> 2: both"),
        ("w.f32", np.arange(10, dtype="<f4"), "0 -> 1 and 1 -> 0 differ in weight"),
        ("w.f32", np.ones(9, "<f4"), "9 weights for 10 edges"),
        ("w.f32", np.ones(5, np.uint8), "5 bytes are no whole number of float32"),
    ],
)
def test_folders_that_do_not_fit(folder, name, data, message):
    path, _ = folder
    data.tofile(path / name)
    with pytest.raises(FormatError, match=f"{name}: .*{message}"):
        _folder.read_folder(str(path))


@pytest.mark.parametrize("wrong", [[], [4], [0, -1]])
def test_folders_whose_sources_are_no_vertices(folder, wrong):
    path, _ = folder
    np.array(wrong, "<i4").tofile(path / "src.i32")
    with pytest.raises(FormatError, match=r"src\.i32: wanted one vertex of 0\.\.3 or more"):
        bench.compare([str(path)], against=[], algorithms=["bfs"], repeat=1, progress=False)


@pytest.mark.parametrize("name", ["col.i32", "w.f32"])
def test_folders_that_lack_a_file(folder, name):
    path, _ = folder
    (path / name).unlink()
    with pytest.raises(FileNotFoundError, match=r"wanted rowptr\.i32, col\.i32 and w\.f32") as caught:
        _graphspec.load(str(path))
    assert caught.value.filename == str(path / name)


def test_other_folders_are_no_graphs(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wanted a file, or a folder with rowptr\.i32"):
        _graphspec.load(str(tmp_path))


@pytest.mark.parametrize(
    "arguments",
    [
        {"against": ["gunrock"]},
        {"algorithms": ["mst"]},
        {"orders": ["random"]},
        {"orders": []},
        {"repeat": 0},
        {"sources": 0},
        {"in_a_row": 0},
    ],
)
def test_arguments_are_checked(arguments):
    with pytest.raises(InvalidValue, match="compare:"):
        bench.compare(["path:4"], **arguments)


@pytest.mark.parametrize(
    ("graphs", "arguments", "message"),
    [
        (["path:4", "star:4", "path:4"], {}, "graphs: got 'path:4' twice"),
        (["a/x.el", "b/x.el"], {}, "graphs: results would call both a/x.el and b/x.el x.el; wanted names that differ"),
        (["a/x", "x/"], {}, "results would call both a/x and x/ x"),
        (["path:4"], {"against": ["scipy", "scipy"]}, "against: got 'scipy' twice"),
        (["path:4"], {"algorithms": ["bfs", "sssp", "bfs"]}, "algorithms: got 'bfs' twice"),
        (["path:4"], {"orders": ["bfs", "bfs"]}, "orders: got 'bfs' twice"),
    ],
)
def test_nothing_is_measured_twice(graphs, arguments, message):
    with pytest.raises(InvalidValue, match=f"^compare: .*{message}"):
        bench.compare(graphs, **arguments)


@pytest.mark.parametrize(("source", "message"), [
    (9, r"^compare: path:9: source is 9, wanted an integer in \[0, 9\)$"), (-1, "source is -1, wanted"),
    (1.5, "source is 1.5, wanted"), ("9", "^compare: path:9: source: got 9, the vertices are 0 to 8$"),
])  # fmt: skip
def test_a_source_outside_the_graph(source, message):
    with pytest.raises(IndexOutOfBound, match=message):
        bench.compare(["path:9"], against=[], repeat=1, source=source, progress=False)


def test_a_source_is_a_number_or_a_name(tmp_path):
    path = tmp_path / "one.gr"
    path.write_text("p sp 3 2\na 1 2 5\na 2 3 1\n")
    for source, number in ((1, 1), (np.int64(2), 2), ("1", 0), ("3", 2)):
        result = bench.compare([str(path)], against=[], algorithms=["bfs"], repeat=1, source=source, progress=False)
        assert result.graphs[0]["sources"] == [number]


def test_a_graph_without_vertices_has_no_source():
    with pytest.raises(InvalidValue, match=r"^path:0: the graph has no vertices, so there is no source$"):
        bench.compare(["path:0"], against=[], repeat=1, progress=False)


def test_stderr_may_be_closed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    for shown in (None, False):
        with Progress(1, shown) as told:
            told.doing("a")
            told.done("b")
            told.step()
    assert capsys.readouterr().out == ""


def test_overhead_runs_the_same_text_on_both():
    result = bench.overhead(vertices=30, repeat=1, imports=1)
    assert result.expression["spgraph"] > 0
    assert set(result.imports) == {"python alone", "numpy", "semirings", "spgraph"}
    assert "us per expression" in str(result)
    with pytest.raises(InvalidValue, match="overhead: vertices is 0"):
        bench.overhead(vertices=0)


def test_graph_specifications():
    assert _graphspec.load("rmat:5").shape == (32, 32)
    assert _graphspec.load("rmat:5:2").report.edges == 64
    assert _graphspec.load("uniform:5:4", seed=2).isequal(sg.generators.uniform(32, 4, seed=2))
    assert _graphspec.load("grid:3x5").nrows == 15
    assert _graphspec.load("grid:3").nrows == 9
    assert _graphspec.load("star:7", weights="int").dtype == np.int64
    assert _graphspec.load("path:7", order="degree").order == "degree"


def test_a_file_comes_before_a_generator_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "path:3").write_text("0 1\n1 0\n")
    assert not _graphspec.is_generator("path:3")
    assert _graphspec.load("path:3").nrows == 2


def test_the_table_of_the_readme_is_what_was_measured():
    """Times on two cores, and in brackets how many times as long as spgraph takes in either order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (about,) = (part for part in text.split("\n\n") if part.startswith("Two cores of"))
    files = re.findall(r"\((spgraph/bench/results/\S+\.json)\)", about)
    saved = [json.loads((ROOT / file).read_text()) for file in files]
    keys = ("graph", "algorithm", "engine", "order")
    rows = {tuple(row[key] for key in keys): row for each in saved for row in each["rows"]}
    names = {"BFS with parents": "bfs_parents", "SSSP": "sssp", "PageRank, 20 iterations": "pagerank"}
    engines = (("spgraph", "natural"), ("spgraph", "degree"), ("python-graphblas", ""), ("scipy", ""))
    lines = re.findall(r"^\| (\w+:\d+), ([^|]+) \|(.+)\|$", text, re.M)
    assert len(lines) >= 6
    for graph, algorithm, cells in lines:
        for cell, (engine, order) in zip(cells.split("|"), engines, strict=True):
            row = rows.get((graph, names[algorithm], engine, order))
            assert (row is None) == (not cell.strip()), (graph, algorithm, engine)
            if row is None:
                continue
            time, *ratios = map(float, re.findall(r"\d+(?:\.\d+)?", cell))
            assert time == pytest.approx(1e3 * row["median"], rel=0.01)
            theirs = [row["ratio"]["natural"], row["ratio"]["degree"]] if engine != "spgraph" else []
            assert ratios == pytest.approx(theirs, rel=0.06)


def test_machine_says_where_numbers_come_from():
    found = machine("networkx")
    assert found["versions"]["numpy"] == np.__version__
    assert found["cores"] >= 1
    assert json.loads(json.dumps(found)) == found
    assert "no-such-package" not in versions("no-such-package")
    assert all(row["install"].startswith("pip install") for row in optional_packages())


def test_orders_are_measured_apart():
    result = bench.compare(["rmat:6:4"], against=["scipy"], algorithms=["bfs", "pagerank"], orders=["bfs", "natural"],
                           repeat=1, progress=False)  # fmt: skip
    assert (result.notes, result.wrong) == ([], [])
    assert [row.order for row in result.rows if row.engine == "spgraph"] == ["bfs", "natural"] * 2
    assert list(result.graphs[0]["reorder_seconds"]) == ["bfs"]
    assert result.graphs[0]["reorder_seconds"]["bfs"] > 0
    assert "; to order by bfs took" in str(result)
    with pytest.raises(InvalidValue, match="orders: got 'rcm', wanted some of natural, degree, bfs"):
        bench.compare(["path:3"], orders=["rcm"])
