"""Graph500: its statistics by hand, its rules against spoilt answers, its output line by line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import spgraph as sg
from spgraph import bench, cli
from spgraph.bench import _graph500
from spgraph.bench._statistics import harmonic_statistics, statistics
from spgraph.exceptions import InvalidValue
from spgraph.validate import EdgeList, validate_bfs


def edges_of(scale: int = 6, seed: int = 0) -> EdgeList:
    return _graph500._edges(sg.context.device(), scale, 16, seed)


# ---- statistics ---------------------------------------------------------------------
def test_statistics_by_hand():
    found = statistics([7.0, 1.0, 3.0, 5.0, 9.0])
    assert found == {
        "min": 1, "firstquartile": 3, "median": 5, "thirdquartile": 7, "max": 9, "mean": 5, "stddev": math.sqrt(10),
    }  # fmt: skip
    found = statistics([6.0, 1.0, 2.0, 3.0, 4.0, 5.0])  # quartiles at (n-1)/4 = 1 and n/4 = 1, medians 2 and 3
    assert (found["firstquartile"], found["median"], found["thirdquartile"]) == (2, 3.5, 5)
    assert statistics([2.0])["stddev"] == 0


def test_rates_by_hand():
    """Two runs, 12 edges in 3 s and 12 in 1 s: 4 and 12 TEPS, harmonic mean 6."""
    found = harmonic_statistics([12, 12], [3.0, 1.0])
    assert (found["min"], found["max"], found["harmonic_mean"]) == (4, 12, pytest.approx(6))
    # seconds an edge: 1/4 and 1/12, mean 1/6, deviation sqrt(2)/12; Norris: deviation / (mean**2 sqrt(n - 1))
    assert found["harmonic_stddev"] == pytest.approx(math.sqrt(2) / 12 * 36)
    five = harmonic_statistics([1] * 5, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert (five["firstquartile"], five["thirdquartile"]) == (pytest.approx(1 / 4), pytest.approx(1 / 2))
    assert harmonic_statistics([5], [2.0])["harmonic_stddev"] == 0


# ---- the three kernels ----------------------------------------------------------------
@pytest.mark.parametrize("order", ["natural", "degree"])
def test_the_benchmark(order):
    result = bench.graph500(7, 4, roots=5, order=order, seed=1, progress=False)
    assert (result.validation, result.valid, result.order) == ("passed", True, order)
    assert result.device.split(",")[0] == sg.context.device().name
    assert len(set(result.roots)) == 5
    for runs in (result.bfs, result.sssp):
        assert len(runs.times) == len(runs.validate) == 5
        assert min(runs.times + runs.validate) > 0
    rows, cols = sg.generators.rmat_edges(7, 4, seed=1)
    A = sg.generators.rmat(7, 4, seed=1)
    for root, nedge in zip(result.roots, result.nedge):
        reached = sg.algorithms.bfs(A, root).to_coo()[0]
        assert nedge == np.isin(rows, reached).sum() == np.isin(cols, reached).sum()


def test_construction_keeps_the_least_of_parallel_weights():
    edges = EdgeList(4, np.array([0, 1, 0, 2, 3, 3]), np.array([1, 0, 1, 2, 2, 3]),
                     np.array([0.5, 0.25, 0.75, 0.1, 0.2, 0.3], np.float32))  # fmt: skip
    A = _graph500._construct(edges, "natural")
    assert A.symmetric is True
    assert A.dtype == "FP32"
    wanted = {0: {1: 0.25}, 1: {0: 0.25}, 2: {2: 0.1, 3: 0.2}, 3: {2: 0.2, 3: 0.3}}
    assert {u: {v: round(w, 6) for v, w in row.items()} for u, row in A.to_dicts().items()} == wanted


def test_weights_are_uniform_and_parallel_edges_have_their_own():
    edges = edges_of(8)
    assert edges.weights.dtype == np.float32
    assert 0 <= edges.weights.min() < 0.01 and 0.99 < edges.weights.max() < 1
    assert edges.rows.size == edges.cols.size == 16 << 8


def test_roots_have_an_edge_to_another_vertex():
    edges = EdgeList(6, np.array([0, 1, 2, 3]), np.array([0, 2, 1, 3]), np.ones(4, np.float32))
    assert sorted(_graph500._draw_roots(edges, 64, 0)) == [1, 2]
    loops = EdgeList(2, np.array([0, 1]), np.array([0, 1]), np.ones(2, np.float32))
    with pytest.raises(InvalidValue, match="no vertex has an edge to another"):
        _graph500._draw_roots(loops, 64, 0)


@pytest.mark.parametrize(("argument", "value"), [("roots", 0), ("edgefactor", 0)])
def test_arguments_are_checked(argument, value):
    with pytest.raises(InvalidValue, match=f"graph500: {argument} is 0, wanted 1 or more"):
        bench.graph500(5, **{argument: value})


# ---- validation -----------------------------------------------------------------------
def spoil(monkeypatch, kernel: str, change) -> None:
    """Let an algorithm give answers with a fault."""
    right = getattr(sg.algorithms, kernel)
    monkeypatch.setattr(_graph500.algorithms, kernel, lambda A, root: change(right(A, root), root))


def cut_off(parent: sg.Vector, root: int) -> sg.Vector:
    """The tree without one of its leaves."""
    vertices, parents = parent.to_coo()
    leaf = next(v for v in vertices.tolist() if v not in parents)
    del parent[leaf]
    return parent


def turned_round(parent: sg.Vector, root: int) -> sg.Vector:
    """A child of the root becomes the root's parent."""
    vertices, parents = parent.to_coo()
    parent[root] = next(v for v, p in zip(vertices.tolist(), parents.tolist()) if p == root != v)
    return parent


def farther(found, root: int):
    distance, parent = found
    vertex = next(v for v in distance.to_coo()[0].tolist() if v != root)
    distance[vertex] = distance.get(vertex) + 0.5
    return distance, parent


@pytest.mark.parametrize(
    ("kernel", "change", "rule"),
    [
        ("bfs_parents", cut_off, "rule 3 FAIL edges span at most one level: edge"),
        ("bfs_parents", turned_round, "rule 1 FAIL the tree has no cycles and hangs from the source"),
        ("sssp_parents", farther, "rule 2 FAIL tree edges span exactly their weight"),
    ],
)
def test_a_spoilt_answer_ends_the_benchmark(monkeypatch, capsys, kernel, change, rule):
    spoil(monkeypatch, kernel, change)
    result = bench.graph500(6, roots=3, progress=False)
    assert not result.valid
    assert result.validation.startswith(f"FAILED: {kernel.split('_')[0]} from root {result.roots[0]}: {rule}")
    assert "No results printed for invalid run." in str(result)
    assert "TEPS" not in str(result)
    assert result.to_dict()["statistics"] is None
    assert cli.main(["bench", "graph500", "--scale", "6", "--roots", "3", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["validation"].startswith("FAILED")
    assert captured.err.startswith("spgraph: FAILED: ")


def test_a_spoilt_answer_passes_if_nobody_looks(monkeypatch):
    spoil(monkeypatch, "bfs_parents", cut_off)
    result = bench.graph500(6, roots=3, validate=False, progress=False)
    assert result.valid
    assert "validation:                     skipped" in str(result)
    assert "_validate" not in str(result)


def test_rules_are_asked_of_the_list_of_edges():
    """Parallel edges count one by one, and a tree edge may be any of them."""
    edges = EdgeList(4, np.array([0, 0, 1, 3]), np.array([1, 1, 1, 3]))
    report = validate_bfs(edges, 0, np.array([0, 0, -1, -1]))
    assert report.ok
    assert report.edges == 3
    assert not validate_bfs(edges, 0, np.array([0, -1, -1, -1])).ok


# ---- output ---------------------------------------------------------------------------
QUARTILES = ["min", "firstquartile", "median", "thirdquartile", "max"]
MEANS, HARMONIC = [*QUARTILES, "mean", "stddev"], [*QUARTILES, "harmonic_mean", "harmonic_stddev"]


def test_output_is_that_of_the_reference_code(capsys, tmp_path):
    path = tmp_path / "graph500.json"
    assert cli.main(["bench", "graph500", "--scale", "6", "--edgefactor", "8", "--roots", "4",
                     "--save", str(path)]) == 0  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    keys = [line.partition(":")[0] for line in lines]
    assert keys == [
        "SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes", "construction_time",
        *(f"bfs  {name}_time" for name in MEANS), *(f"sssp {name}_time" for name in MEANS),
        *(f"{name}_nedge" for name in MEANS),
        *(f"bfs  {name}_TEPS" for name in HARMONIC), *(f"sssp {name}_TEPS" for name in HARMONIC),
        *(f"bfs  {name}_validate" for name in MEANS), *(f"sssp {name}_validate" for name in MEANS),
        "validation", "device", "order",
    ]  # fmt: skip
    assert lines[:3] == ["SCALE:                          6", "edgefactor:                     8",
                         "NBFS:                           4"]  # fmt: skip
    assert all(line[31] == " " and line[32] != " " for line in lines)
    ranked = [line for line in lines if "!" in line]
    assert [line[:32] for line in ranked] == ["bfs  harmonic_mean_TEPS:     !  ", "sssp harmonic_mean_TEPS:     !  "]
    document = json.loads(path.read_text())
    assert document["benchmark"] == "graph500"
    assert document["machine"]["versions"]["numpy"] == np.__version__
    numbers = document["statistics"]["bfs TEPS"]
    assert float(ranked[0][32:]) == pytest.approx(numbers["harmonic_mean"], rel=1e-4)
    assert numbers["harmonic_mean"] == pytest.approx(
        4 / sum(time / nedge for time, nedge in zip(document["bfs"]["times"], document["nedge"]))
    )


def test_validation_can_be_skipped(capsys):
    argv = ["bench", "graph500", "--scale", "5", "--roots", "2", "--skip-validation"]
    assert cli.main(argv) == 0
    out = capsys.readouterr().out
    assert "validation:                     skipped" in out
    assert "_validate" not in out
