"""Benchmarks give right answers before they give times; nothing here depends on how long anything takes."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import spgraph as sg
from spgraph import _graphspec, bench
from spgraph._machine import machine, optional_packages, versions
from spgraph.bench import _compare as compare_module
from spgraph.bench._problem import ALGORITHMS, Problem, Text
from spgraph.exceptions import InvalidValue

PEERS = ("graphblas", "scipy", "networkx")


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
}


def problem(graph: str, algorithm: str, dtype=np.float64) -> Problem:
    A = GRAPHS[graph]()
    indptr = A.to_csr()[0]
    source = int(np.diff(indptr).argmax())
    return Problem(graph, algorithm, A, source, np.dtype(dtype), 2)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("peer", PEERS)
def test_every_text_of_every_peer_agrees_with_spgraph(peer, algorithm, graph):
    module = pytest.importorskip(f"spgraph.bench._{peer}")
    contest = compare_module._Contest(problem(graph, algorithm), {}, [module], [], _Bar())
    ours = compare_module._spgraph.text(contest.problem, contest.problem.graph)
    contest.check("spgraph", ours.answer(ours.run()))
    texts = module.texts(contest.problem)
    assert texts
    for name, text in texts.items():
        contest.check(name, text.answer(text.run()))


class _Bar:
    def set_description(self, _text):
        pass


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_compare_measures_every_engine(dtype):
    result = bench.compare(["rmat:6:4", "grid:5"], repeat=2, dtype=dtype, progress=False)
    assert result.notes == []
    assert [graph["name"] for graph in result.graphs] == ["rmat:6:4", "grid:5"]
    for graph in ("rmat:6:4", "grid:5"):
        for algorithm in ALGORITHMS:
            rows = [row for row in result.rows if (row.graph, row.algorithm) == (graph, algorithm)]
            assert [(row.engine, row.order) for row in rows] == [
                ("spgraph", "natural"),
                ("spgraph", "degree"),
                ("python-graphblas", ""),
                ("scipy", ""),
                ("networkx", ""),
            ]
            assert all(len(row.times) == 2 and min(row.times) > 0 for row in rows)
            assert result.ratio(rows[0])["natural"] == 1
            assert set(result.ratio(rows[2])) == {"natural", "degree"}
            assert rows[2].text in rows[2].tried


def test_comparison_prints_and_saves(tmp_path):
    result = bench.compare(["path:30"], against=["scipy"], algorithms=["bfs"], repeat=1, progress=False)
    shown = str(result)
    assert "path:30: 30 vertices, 58 stored edges" in shown
    assert "spgraph, natural" in shown
    assert "scipy, breadth_first_order" in shown
    bench.save(tmp_path / "saved.json", result)
    document = json.loads((tmp_path / "saved.json").read_text())
    assert {"benchmark", "machine", "arguments", "graphs", "rows", "notes"} == set(document)
    assert {"date", "commit", "cpu", "cores", "threads", "versions"} <= set(document["machine"])
    assert document["rows"][0]["median"] >= document["rows"][0]["min"] > 0


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
    assert "networkx is not installed" in result.notes[0]
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
def test_a_wrong_answer_stops_the_comparison(monkeypatch, algorithm):
    scipy_peer = pytest.importorskip("spgraph.bench._scipy")
    right = scipy_peer.texts

    def wrong(problem):
        return {name: Text(text.run, lambda result, text=text: _spoilt(text.answer(result)))
                for name, text in right(problem).items()}  # fmt: skip

    monkeypatch.setattr(scipy_peer, "texts", wrong)
    with pytest.raises(bench.Disagreement, match=f"{algorithm} on path:6, source"):
        bench.compare(["path:6"], against=["scipy"], algorithms=[algorithm], repeat=1, progress=False)


def _spoilt(answer: np.ndarray) -> np.ndarray:
    answer = answer.copy()
    answer[3] = 5 if answer.dtype.kind == "i" else answer[3] + 1
    return answer


@pytest.mark.parametrize(
    "arguments",
    [{"against": ["gunrock"]}, {"algorithms": ["mst"]}, {"orders": ["random"]}, {"orders": []}, {"repeat": 0}],
)
def test_arguments_are_checked(arguments):
    with pytest.raises(InvalidValue, match="compare:"):
        bench.compare(["path:4"], **arguments)


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


def test_machine_says_where_numbers_come_from():
    found = machine("networkx")
    assert found["versions"]["numpy"] == np.__version__
    assert found["cores"] >= 1
    assert json.loads(json.dumps(found)) == found
    assert "no-such-package" not in versions("no-such-package")
    assert all(row["install"].startswith("pip install") for row in optional_packages())
