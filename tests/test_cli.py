"""The command line, through `main` and as a process: results, files, JSON, exit codes, messages."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import spgraph
from spgraph import cli
from spgraph._cli import info, output, ranks, run, text
from spgraph._cli.jobs import JOBS
from spgraph._cli.names import Names
from spgraph._cli.structure import check_components, check_cores, check_independent, check_triangles
from spgraph.validate import Rule

ROADS = """c five junctions, one of them out of reach, numbered from 1
p sp 5 6
a 1 2 7
a 2 1 7
a 2 3 1
a 1 3 9
a 3 4 2
a 4 3 2
"""


@pytest.fixture
def roads(tmp_path):
    path = tmp_path / "roads.gr"
    path.write_text(ROADS)
    return str(path)


@pytest.fixture
def friends(tmp_path):
    path = tmp_path / "friends.csv"
    path.write_text('ann,bob\nbob,"carl"\n'.replace('"', ""))
    return str(path)


def call(capsys, *argv: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    try:
        code = cli.main(list(argv))
    except SystemExit as stop:  # argparse
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys, *argv: str) -> dict:
    code, out, err = call(capsys, "run", *argv, "--repeat", "0", "--json")
    assert code == 0, err
    return json.loads(out)


# ---- run ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "graph", ["rmat:6", "uniform:5:4", "grid:4x5", "path:9", "cycle:5", "star:6", "complete:4"]
)
@pytest.mark.parametrize("algorithm", JOBS)
def test_run_validates_every_algorithm_on_every_generator(capsys, algorithm, graph):
    code, out, err = call(capsys, "run", algorithm, graph, "--validate", "--repeat", "1")
    assert code == 0, out + err
    rules = {"pagerank": 3, "hits": 4, "katz": 3, "bc": 3, "cc": 3, "triangles": 1, "kcore": 1, "mis": 2}
    assert out.count(" ok ") == rules.get(algorithm, 5)
    assert "NOT VALID" not in out


def test_bfs_says_what_it_did(capsys):
    code, out, err = call(capsys, "run", "bfs", "path:5", "--source", "1", "--parents", "--repeat", "0")
    assert (code, err) == (0, "")
    assert "5 vertices" in out
    assert "from vertex 1\n" in out
    assert "reached 5 of 5 vertices (100.0%), the farthest at level 3" in out
    assert "4 undirected edges in what was reached" in out


def test_what_is_said_of_structure(capsys, tmp_path):
    path = tmp_path / "two.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n6 6 4\n2 1\n3 1\n3 2\n5 4\n")
    facts = run_json(capsys, "cc", str(path), "--validate", "--output", str(tmp_path / "cc.npy"))
    assert (facts["components"], facts["largest"], facts["valid"]) == (3, 3, True)
    assert np.load(tmp_path / "cc.npy")["component"].tolist() == [1, 1, 1, 4, 4, 6]
    facts = run_json(capsys, "triangles", str(path), "--validate")
    assert (facts["triangles"], facts["most"]) == (1, 1)
    facts = run_json(capsys, "kcore", str(path), "--validate")
    assert (facts["highest"], facts["size"]) == (2, 3)
    facts = run_json(capsys, "mis", str(path), "--validate", "--seed", "4")
    assert facts["members"] == 3
    assert run_json(capsys, "cc", "path:0")["components"] == 0


@pytest.mark.parametrize(
    ("check", "right", "wrong", "said"),
    [
        (check_components, [0, 0, 2, 2], [0, 0, 2, 3], "edge 2 -> 3 joins two"),
        (check_components, [0, 0, 2, 2], [1, 1, 2, 2], "vertex 0: the label is 1"),
        (check_components, [0, 0, 2, 2], [0, 0, 0, 0], "1, not 2"),
        (check_triangles, [0, 0, 0, 0], [0, 0, 0, 1], "vertex 3: the count is 1"),
        (check_cores, [1, 1, 1, 1], [1, 1, 1, 2], "vertex 3: the number is 2"),
        (check_independent, [1, 0, 0, 1], [1, 1, 0, 1], "vertex 0: members beside it is 1"),
        (check_independent, [1, 0, 0, 1], [1, 0, 0, 0], "vertex 2: members beside it is 0"),
    ],
)
def test_wrong_structure_is_told(check, right, wrong, said):
    A = spgraph.Matrix.from_coo([0, 1, 2, 3], [1, 0, 3, 2], True, nrows=4, ncols=4)
    kind = bool if check is check_independent else np.int64
    assert all(rule.ok for rule in check(A, spgraph.Vector.from_dense(np.array(right, kind))))
    problems = [rule.problem for rule in check(A, spgraph.Vector.from_dense(np.array(wrong, kind))) if not rule.ok]
    assert problems[0] == said


def test_betweenness_from_some_sources_or_all(capsys, tmp_path):
    path = str(tmp_path / "bc.npy")
    facts = run_json(capsys, "bc", "path:5", "--samples", "0", "--validate", "--output", path)
    assert (facts["at"], facts["valid"]) == (2, True)
    assert "estimated" not in facts
    np.testing.assert_allclose(np.load(path)["betweenness"], [0, 1 / 2, 2 / 3, 1 / 2, 0])
    facts = run_json(capsys, "bc", "rmat:6", "--samples", "3", "--seed", "5", "--dtype", "float32", "--validate")
    assert (facts["valid"], [rule["number"] for rule in facts["rules"]]) == (True, [1, 2, 3])
    assert facts["estimated"] == {"sources": 3, "of": 64}
    assert "estimated" not in run_json(capsys, "bc", "path:5")  # 16 at most are drawn, so all of five
    assert run_json(capsys, "bc", "path:0")["highest"] is None
    out = call(capsys, "run", "bc", "path:3000", "--samples", "2", "--repeat", "0")[1]
    assert ", estimated from 2 of 3,000 sources\n" in out
    assert "estimated" not in call(capsys, "run", "bc", "path:5", "--repeat", "0")[1]
    code, _, err = call(capsys, "run", "bfs", "path:5", "--samples", "3")
    assert (code, err) == (2, "spgraph: --samples: bfs has no such option\n")


def test_hubs_and_authorities(capsys, tmp_path):
    path = tmp_path / "cites.csv"
    path.write_text("from,to,often\nann,bob,1\nann,carl,3\ndora,carl,1\n")
    output = str(tmp_path / "hits.npy")
    facts = run_json(capsys, "hits", str(path), "--validate", "--tol", "1e-12", "--output", output)
    assert (facts["hub"]["at"], facts["authority"]["at"]) == ("ann", "carl")
    assert (facts["converged"], facts["valid"]) == (True, True)
    table = np.load(output)
    hub, authority = (dict(zip(table["vertex"], table[name])) for name in ("hub", "authority"))
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("ann", "bob", 1), ("ann", "carl", 3), ("dora", "carl", 1)])
    for mine, theirs in zip((hub, authority), nx.hits(graph)):
        assert {name: mine[name] for name in theirs} == pytest.approx(theirs, abs=1e-9)
    out = call(capsys, "run", "hits", str(path), "--repeat", "0", "--max-iter", "1")[1]
    assert "NOT CONVERGED (see --max-iter, --tol) after 1 iteration" in out
    assert ", of vertex ann\n" in out
    assert ", of vertex carl\n" in out
    assert run_json(capsys, "hits", "path:0")["hub"] == {"highest": None}
    assert run_json(capsys, "hits", "path:1", "--validate")["valid"]  # no edges


def test_katz(capsys, friends, tmp_path):
    facts = run_json(capsys, "katz", friends, "--alpha", "0.5", "--validate")
    assert (facts["alpha"], facts["at"], facts["valid"]) == (0.5, "carl", True)
    assert facts["highest"] == pytest.approx(1.75 / np.linalg.norm([1, 1.5, 1.75]), rel=1e-5)
    assert run_json(capsys, "katz", "complete:9")["alpha"] == 1 / 9  # 1 / (1 + the largest degree)
    code, _, err = call(capsys, "run", "katz", "complete:9", "--alpha", "0.5")
    assert code == 2
    assert "alpha must be less than 1 / the largest eigenvalue of A" in err
    facts = run_json(capsys, "katz", "complete:9", "--alpha", "0.124", "--max-iter", "5")
    assert (facts["converged"], facts["iterations"]) == (False, 5)
    assert run_json(capsys, "katz", "path:0")["highest"] is None


def test_pagerank_says_who_is_first_and_how_exact_it_is(capsys):
    code, out, _ = call(capsys, "run", "pagerank", "rmat:13:4", "--repeat", "0", "--validate")
    assert code == 0
    assert "so these are rough: a smaller --tol than 1e-06" in out
    first = int(spgraph.algorithms.pagerank(spgraph.generators.rmat(13, 4)).to_dense().argmax())
    assert f", of vertex {first}\n" in out
    assert " in all, at most n * tol = 0.0082\n" in out
    exact = call(capsys, "run", "pagerank", "rmat:13:4", "--repeat", "0", "--tol", "1e-12")[1]
    assert "rough" not in exact


def test_pagerank_of_some_vertices(capsys, friends, roads, tmp_path):
    output = tmp_path / "ranks.csv"
    facts = run_json(capsys, "pagerank", friends, "--personalization", "bob", "--alpha", "0.5", "--tol", "1e-9",
                     "--validate", "--output", str(output))  # fmt: skip
    assert (facts["valid"], facts["converged"]) == (True, True)
    ranks = dict(line.split(",") for line in output.read_text().splitlines()[1:])
    assert {name: float(rank) for name, rank in ranks.items()} == pytest.approx({"ann": 0, "bob": 2 / 3, "carl": 1 / 3})
    several = ("--personalization", "1", "--personalization", "4", "--personalization", "4")
    assert run_json(capsys, "pagerank", roads, "--dup-op", "min", *several, "--validate")["valid"]
    assert facts["personalization"] == ["bob"]
    assert " jumps to ann\n" in call(capsys, "run", "pagerank", friends, "--personalization", "ann", "--repeat", "0")[1]
    for name, graph, message in (
        ("dora", friends, "--personalization: no vertex is called 'dora'; the first are ann, bob, carl"),
        ("6", roads, "--personalization: got 6, the vertices are 1 to 5"),
        ("ann", roads, "--personalization: got 'ann', and the vertices of this graph are numbers"),
    ):
        code, _, err = call(capsys, "run", "pagerank", graph, "--personalization", name)
        assert (code, err) == (2, f"spgraph: {message}\n")


def test_the_highest_betweenness_is_of_a_vertex_as_the_file_calls_it(capsys, friends, roads):
    assert run_json(capsys, "bc", friends)["at"] == "bob"
    assert "of vertex bob\n" in call(capsys, "run", "bc", friends, "--repeat", "0")[1]
    assert run_json(capsys, "bc", roads, "--dup-op", "min")["at"] == 3


def test_directions_are_told_where_they_are_known(capsys, friends):
    out = call(capsys, "run", "cc", friends, "--repeat", "0")[1]
    assert "            directions not checked, BOOL weights" in out
    assert "1 weakly connected component, the largest of 3 vertices\n" in out
    out = call(capsys, "run", "cc", friends, "--symmetrize", "--repeat", "0")[1]
    assert "            undirected, BOOL weights" in out
    assert " 1 component, the largest of 3 vertices\n" in out


@pytest.mark.parametrize("algorithm", ["triangles", "kcore", "mis"])
def test_directed_graphs_are_refused_with_the_option_that_helps(capsys, friends, algorithm):
    code, _, err = call(capsys, "run", algorithm, friends)
    assert code == 2
    assert "A is directed, 2 of its edges have no opposite" in err
    assert "; --symmetrize takes every edge as one\n" in err
    assert call(capsys, "run", algorithm, friends, "--symmetrize", "--repeat", "0")[0] == 0


def test_a_wrong_betweenness_is_told(capsys, monkeypatch):
    right = spgraph.algorithms.betweenness_centrality

    def wrong(A, **options):
        found = right(A, **options)
        found[0] = 1
        return found

    monkeypatch.setattr(spgraph.algorithms, "betweenness_centrality", wrong)
    code, out, _ = call(capsys, "run", "bc", "path:6", "--validate", "--samples", "0", "--repeat", "0")
    assert code == 1
    assert "the sum is " in out


def test_json_is_all_that_is_printed(capsys):
    facts = run_json(capsys, "bfs", "star:5", "--source", "0", "--validate")
    assert facts["graph"]["vertices"] == 5
    assert facts["graph"]["stored_edges"] == 8
    assert (facts["source"], facts["reached"], facts["depth"], facts["component_edges"]) == (0, 5, 1, 4)
    assert facts["valid"] is True
    assert [rule["number"] for rule in facts["rules"]] == [1, 2, 3, 4, 5]
    assert set(facts["times"]) == {"levels", "parents"}
    assert facts["teps"] > 0


def read_strictly(text: str) -> dict:
    """JSON as its standard has it, without Infinity and NaN."""

    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("argv", [
    ["pagerank", "path:4", "--max-iter", "0"], ["hits", "path:4", "--max-iter", "0"],
    ["katz", "path:4", "--max-iter", "0"], ["pagerank", "path:0"], ["hits", "path:0"], ["katz", "path:0"],
])  # fmt: skip
def test_json_has_no_infinity(capsys, argv):
    code, out, err = call(capsys, "run", *argv, "--repeat", "0", "--json")
    assert code == 0, err
    facts = read_strictly(out)
    assert (facts["iterations"], facts["residual"]) == (0, 0.0 if "path:0" in argv else None)


def test_what_json_does_not_know():
    found = {"a": [np.float32("inf"), (float("nan"), np.int64(3))], "b": {"c": -np.inf, "d": True}, "e": print}
    assert read_strictly(text.as_json(found, indent=1)) == {
        "a": [None, [None, 3]], "b": {"c": None, "d": True}, "e": str(print)}  # fmt: skip


def test_infinite_distances(capsys, tmp_path):
    path = tmp_path / "far.el"
    for weights in ("inf", 1), (1e308, 1e308):
        path.write_text("0 1 {}\n1 2 {}\n".format(*weights))
        for options in ([], ["--parents"], ["--dtype", "float32", "--parents"]):
            code, out, err = call(capsys, "run", "sssp", str(path), "--source", "0", "--validate", "--repeat", "0",
                                  "--json", *options)  # fmt: skip
            assert code == 0, err + out
            assert read_strictly(out)["farthest"] is None


def test_pagerank_of_no_vertices(capsys):
    out = call(capsys, "run", "pagerank", "path:0", "--repeat", "0")[1]
    assert "converged after 0 iterations\n" in out
    assert "changed" not in out and "rough" not in out
    assert "NOT CONVERGED" in call(capsys, "run", "pagerank", "path:3", "--repeat", "0", "--max-iter", "0")[1]


def test_the_drawn_source_has_an_edge_and_depends_on_the_seed(capsys):
    drawn = {run_json(capsys, "bfs", "rmat:7", "--seed", str(seed))["source"] for seed in range(4)}
    assert len(drawn) > 1
    again = run_json(capsys, "bfs", "rmat:7", "--seed", "0")
    assert again["source"] in drawn
    assert again["reached"] > 1


def test_rmat_counts_edges_as_graph500_does(capsys):
    """Generated edges count, parallel ones and self-loops included, each once."""
    facts = run_json(capsys, "bfs", "rmat:6:4", "--seed", "3")
    A = spgraph.generators.rmat(6, 4, seed=3)
    level = spgraph.algorithms.bfs(A, facts["source"])
    rows, _ = spgraph.generators.rmat_edges(6, 4, seed=3)
    assert facts["component_edges"] == np.isin(rows, level.to_coo()[0]).sum()
    assert facts["component_edges"] > A.nvals // 2


def test_undirected_edges_count_once_and_self_loops_too(capsys, tmp_path):
    path = tmp_path / "loops.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n")
    A = spgraph.io.read(path)
    facts = run_json(capsys, "bfs", str(path), "--source", str(Names(A).of(0)))
    assert facts["component_edges"] == 3


def test_repeat(capsys):
    facts = json.loads(call(capsys, "run", "sssp", "path:4", "--repeat", "2", "--json")[1])
    times = facts["times"]["distances"]
    assert len(times["runs"]) == 2
    assert times["median"] == pytest.approx(sum(times["runs"]) / 2)


def test_runs_that_compile_do_not_count(capsys, monkeypatch):
    """Some kernels are compiled when they have had much to do, in a later call than the first."""

    def fake_counts(*compiled):
        counts = iter(compiled)
        monkeypatch.setattr(run.Compiled, "since", lambda self: {"compiled": next(counts), "loaded": 0, "seconds": 0.5})

    fake_counts(0, 1, 2, 0, 1, 0, 4)  # loading the graph, the first call, four others, in all
    times = json.loads(call(capsys, "run", "cc", "path:5", "--repeat", "2", "--json")[1])["times"]["components"]
    assert (len(times["warm_ups"]), len(times["runs"])) == (2, 2)
    assert times["median"] == pytest.approx(sum(times["runs"]) / 2)
    fake_counts(0, 1, 2, 0, 3)
    out = call(capsys, "run", "cc", "path:5", "--repeat", "1")[1]
    assert re.search(r"\(median of 1\); the first call .* \(1 kernel compiled in .*\), then .* to compile more\n", out)


def test_algorithm_options_arrive(capsys):
    rank = run_json(capsys, "pagerank", "star:9", "--alpha", "0.5", "--tol", "1e-12")
    assert rank["converged"] is True
    short = run_json(capsys, "pagerank", "star:9", "--max-iter", "1", "--tol", "0")
    assert (short["iterations"], short["converged"]) == (1, False)
    wide = run_json(capsys, "sssp", "grid:4", "--source", "0", "--delta", "1000", "--parents")
    narrow = run_json(capsys, "sssp", "grid:4", "--source", "0", "--delta", "1")
    assert wide["farthest"] == narrow["farthest"]


def test_dtype(capsys, tmp_path):
    output = tmp_path / "d.npy"
    run_json(capsys, "sssp", "grid:3", "--dtype", "float32", "--output", str(output))
    assert np.load(output).dtype["distance"] == np.float32


def test_threads_and_order_change_nothing(capsys, tmp_path):
    files = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"]
    for file, options in zip(files, ([], ["--threads", "1", "--order", "degree"], ["--order", "bfs"])):
        facts = run_json(capsys, "bfs", "rmat:8", "--output", str(file), *options)
        assert facts["graph"]["order"] == {"degree": "degree", "bfs": "listed"}.get((options or [""])[-1], "natural")
    assert files[0].read_text() == files[1].read_text() == files[2].read_text()


# ---- files --------------------------------------------------------------------------
def test_a_road_file(capsys, roads):
    facts = run_json(capsys, "sssp", roads, "--source", "1", "--validate")
    assert (facts["source"], facts["reached"], facts["farthest"]) == (1, 4, 10)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".npy", ".npz"])
def test_output_has_a_row_for_every_reached_vertex(capsys, roads, tmp_path, suffix):
    output = tmp_path / f"result{suffix}"
    run_json(capsys, "sssp", roads, "--source", "1", "--parents", "--output", str(output))
    wanted = {"vertex": [1, 2, 3, 4], "distance": [0, 7, 8, 10], "parent": [1, 1, 2, 3]}
    if suffix in (".npy", ".npz"):
        table = np.load(output)
        names = table.dtype.names if suffix == ".npy" else table.files
        assert {name: table[name].tolist() for name in names} == wanted
        return
    separator = "\t" if suffix == ".txt" else ","
    head, *rows = (line.split(separator) for line in output.read_text().splitlines())
    assert [name.removeprefix("# ") for name in head] == list(wanted)
    assert [[int(field) for field in row] for row in rows] == [list(row) for row in zip(*wanted.values())]


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_labels_come_back(capsys, friends, tmp_path, suffix):
    output = tmp_path / f"levels{suffix}"
    facts = run_json(capsys, "bfs", friends, "--source", "ann", "--parents", "--output", str(output))
    assert facts["source"] == "ann"
    if suffix == ".npy":
        assert np.load(output).tolist() == [("ann", 0, "ann"), ("bob", 1, "ann"), ("carl", 2, "bob")]
    else:
        assert output.read_text().splitlines() == [
            "vertex,level,parent",
            "ann,0,ann",
            "bob,1,ann",
            "carl,2,bob",
        ]


def test_symmetrize_and_dup_op(capsys, friends, tmp_path):
    assert run_json(capsys, "bfs", friends, "--source", "carl", "--symmetrize")["reached"] == 3
    path = tmp_path / "twice.gr"
    path.write_text("p sp 2 2\na 1 2 5\na 1 2 3\n")
    assert run_json(capsys, "sssp", str(path), "--source", "1", "--dup-op", "min")["farthest"] == 3


def test_real_road_file(capsys, data_dir):
    answers = json.loads((data_dir / "answers.json").read_text())
    assert answers
    facts = run_json(
        capsys,
        "sssp",
        str(data_dir / "rome99" / "rome99.gr"),
        "--dup-op",
        "min",
        "--validate",
        "--parents",
        "--source",
        "1",
    )
    assert facts["graph"]["vertices"] == 3353
    assert facts["reached"] == 3353


# ---- what is wrong ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["bfs", "nowhere.mtx"], "nowhere.mtx: no such file, and no generator either"),
        (["bfs", "rmat:x"], "rmat:x: wanted rmat:SCALE[:EDGE_FACTOR]"),
        (["bfs", "rmat:"], "wanted rmat:SCALE[:EDGE_FACTOR]"),
        (["bfs", "path:3:4"], "path:3:4: wanted path:N"),
        (["bfs", "star:3x4"], "star:3x4: wanted star:N"),
        (["bfs", "uniform:99"], "0 to 31"),
        (["bfs", "path:5", "--source", "5"], "--source: got 5, the vertices are 0 to 4"),
        (["bfs", "path:5", "--source", "ann"], "the vertices of this graph are numbers"),
        (["bfs", "path:0"], "no vertices"),
        (["bfs", "path:5", "--delta", "3"], "--delta: bfs has no such option"),
        (["bfs", "path:5", "--alpha", "0.5"], "--alpha: bfs has no such option"),
        (["bfs", "path:5", "--alpha", "0.85"], "--alpha: bfs has no such option"),
        (["bfs", "path:5", "--max-iter", "0"], "--max-iter: bfs has no such option"),
        (["hits", "path:5", "--alpha", "0.5"], "--alpha: hits has no such option"),
        (["katz", "path:5", "--personalization", "1"], "--personalization: katz has no such option"),
        (["hits", "path:5", "--tol", "-1"], "tol is -1.0"),
        (["bfs", "path:5", "--dtype", "int8"], "--dtype: the levels of bfs are int32"),
        (["pagerank", "path:5", "--parents"], "--parents: pagerank has no such option"),
        (["pagerank", "path:5", "--source", "0"], "--source: pagerank has no source"),
        (["pagerank", "path:5", "--alpha", "2"], "alpha"),
        (["sssp", "path:5", "--delta", "-1"], "delta"),
        (["sssp", "path:5", "--symmetrize"], "--symmetrize: it is about files"),
        (["sssp", "path:5", "--dup-op", "min"], "--dup-op: it is about files"),
        (["bc", "path:5", "--samples", "6"], "--samples: got 6, the graph has 5 vertices (0: from all, exact)"),
        (["bc", "path:0", "--samples", "1"], "--samples: got 1, the graph has 0 vertices"),
        (["bfs", "path:5", "--output", "levels.png"], "wanted a name that ends with .txt, .csv, .npy, .npz"),
        (["bfs", "path:5", "--output", "no/such/folder/levels.txt"], "there is no folder no/such/folder"),
        (["bfs", "path:5", "--output", ""], "--output: '': wanted a name that ends with .txt, .csv, .npy, .npz"),
        (["bfs", "path:5", "--trace", ""], "--trace: got '', wanted the name of a file"),
    ],
)
def test_errors_are_one_line_on_stderr(capsys, argv, message):
    code, out, err = call(capsys, "run", *argv)
    assert code == 2
    assert message in err
    assert err.startswith("spgraph: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err + out


def test_a_label_that_is_not_there(capsys, friends):
    code, _, err = call(capsys, "run", "bfs", friends, "--source", "dora")
    assert code == 2
    assert "no vertex is called 'dora'; the first are ann, bob, carl" in err


def test_duplicates_are_refused_with_the_option_that_helps(capsys, tmp_path):
    path = tmp_path / "twice.gr"
    path.write_text("p sp 2 2\na 1 2 5\na 1 2 3\n")
    code, _, err = call(capsys, "run", "sssp", str(path))
    assert code == 2
    assert "twice.gr, line 3" in err
    assert "--dup-op" in err


@pytest.mark.parametrize(
    ("text", "argv", "message"),
    [
        ("0 1 5\n0 1 0\n0 2 1\n", ["--dup-op", "lor"], None),
        ("0 1 5\n0 1 0\n0 2 1\n", ["--dup-op", "land"], None),
        ("%%MatrixMarket matrix coordinate integer skew-symmetric\n%%GraphBLAS type bool\n2 2 1\n2 1 1\n", [],
         "line 4: skew-symmetric: -(True) does not fit"),
    ],
)  # fmt: skip
def test_values_of_files(capsys, tmp_path, text, argv, message):
    path = tmp_path / "a.graph_"
    path.write_text(text)
    code, _, err = call(capsys, "run", "bfs", str(path), "--source", "0", "--repeat", "0", *argv)
    assert code == (0 if message is None else 2)
    assert (message or "") in err and "should not happen" not in err


@pytest.mark.parametrize("separator", ["\t", "\r", "\n"])
def test_text_refuses_names_that_end_a_cell_or_line(capsys, tmp_path, separator):
    path, output = tmp_path / "a.csv", tmp_path / "levels.txt"
    path.write_bytes(f'"a{separator}b",c\nc,d\n'.encode())
    code, _, err = call(capsys, "run", "bfs", str(path), "--repeat", "0", "--output", str(output))
    assert code == 2 and not output.exists()
    assert f"--output: {output}: the vertex {f'a{separator}b'!r} has a tab or a line break in its name; wanted" in err
    assert call(capsys, "run", "bfs", str(path), "--repeat", "0", "--output", str(tmp_path / "levels.csv"))[0] == 0


@pytest.mark.parametrize("option", ["--output", "--trace"])
def test_a_folder_is_no_file(capsys, tmp_path, option):
    folder = tmp_path / "levels.txt"
    folder.mkdir()
    code, out, err = call(capsys, "run", "bfs", "path:5", option, str(folder))
    assert (code, out, err) == (2, "", f"spgraph: {option}: {folder} is a folder, wanted the name of a file\n")


@pytest.mark.parametrize("separator", ["\r", "\n", ","])
def test_output_quotes_what_ends_a_line_or_cell(tmp_path, separator):
    path = tmp_path / "a.csv"
    names = np.array([f"a{separator}b", "c"])
    output.SUFFIXES[".csv"](str(path), {"vertex": names, "level": np.array([0, 1])})
    with open(path, newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["vertex", "level"], [f"a{separator}b", "0"], ["c", "1"]]


@pytest.mark.parametrize(
    "argv",
    [
        ["run"],
        ["run", "dijkstra", "path:3"],
        ["run", "bfs", "path:3", "--repeat", "-1"],
        ["run", "bfs", "path:3", "--dtype", "int7"],
        ["bench", "compare"],
        ["bench", "overhead", "--save", ""],
        ["bench", "scaling", "path:3", "--plot", ""],
        ["bench"],
        [],
    ],
)
def test_usage_errors(capsys, argv):
    code, _, err = call(capsys, *argv)
    assert code == 2
    assert "usage: spgraph" in err


def test_debug_shows_the_traceback(capsys):
    with pytest.raises(FileNotFoundError):
        cli.main(["run", "bfs", "nowhere.mtx", "--debug"])


def test_a_wrong_answer_is_exit_code_1(capsys, monkeypatch):
    monkeypatch.setattr(
        spgraph.algorithms, "bfs", lambda A, source: spgraph.algorithms.bfs_parents(A, source)
    )
    code, out, _ = call(capsys, "run", "bfs", "path:6", "--validate", "--source", "3", "--repeat", "0")
    assert code == 1
    assert "NOT VALID" in out
    assert "FAIL" in out


def test_a_bug_is_called_one(capsys, monkeypatch):
    monkeypatch.setattr(run, "load", lambda *args, **kwargs: 1 // 0)
    code, _, err = call(capsys, "run", "bfs", "path:6")
    assert code == 2
    assert "this should not happen: ZeroDivisionError" in err
    assert "--debug" in err


def test_interrupted(capsys, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "load", stop)
    assert call(capsys, "run", "bfs", "path:6")[0] == 130
    monkeypatch.setattr(cli, "parser", stop)  # while commands are imported
    code, out, err = call(capsys, "run", "bfs", "path:6")
    assert (code, out, err) == (130, "", "spgraph: interrupted\n")


# ---- the check of ranks ---------------------------------------------------------------
def test_rank_rules_see_what_is_wrong():
    A = spgraph.generators.path(4)
    right = spgraph.algorithms.pagerank(A, tol=1e-12)
    assert all(rule.ok for rule in ranks.check_ranks(A, right, 0.85, 1e-12))
    dense = right.to_dense()
    for wrong, failing in (
        (dense * 2, {2, 3}),
        (dense[::-1] * [1, 1.2, 0.8, 1], {3}),
        (dense - 1, {1, 2, 3}),
    ):
        vector = spgraph.Vector.from_dense(np.asarray(wrong))
        found = {rule.number for rule in ranks.check_ranks(A, vector, 0.85, 1e-12) if not rule.ok}
        assert failing <= found
    at_end = spgraph.algorithms.pagerank(A, personalization={3: 1}, tol=1e-12, max_iter=1000)
    assert all(rule.ok for rule in ranks.check_ranks(A, at_end, 0.85, 1e-12, {3: 1}))
    assert not ranks.check_ranks(A, at_end, 0.85, 1e-12)[2].ok
    hole = spgraph.Vector.from_coo([0], [1.0], size=4)
    assert not ranks.check_ranks(A, hole, 0.85, 1e-12)[0].ok
    assert isinstance(ranks.check_ranks(A, hole, 0.85, 1e-12)[0], Rule)


def failing(rules) -> set[int]:
    return {rule.number for rule in rules if not rule.ok}


def test_hits_rules_see_what_is_wrong():
    A = spgraph.Matrix.from_coo([0, 0, 1, 3], [1, 2, 2, 2], [1.0, 2.0, 1.0, 0.5], nrows=4, ncols=4)
    h, a = (v.to_dense() for v in spgraph.algorithms.hits(A, tol=1e-13))

    def check(hub, authority):
        found = ranks.check_hits(A, *map(spgraph.Vector.from_dense, (hub, authority)), 1e-13)
        return failing(found)

    assert check(h, a) == set()
    assert check(h * 2, a) == {2}
    assert check(-h, a) >= {1, 2}
    assert check(h, a[::-1].copy()) == {3}
    assert check(np.full(4, 0.25), a) == {3, 4}
    equal = np.full(4, 0.25)  # authorities of equal hubs, which do not stay
    assert check(equal, np.array([0, 1, 3.5, 0]) / 4.5) == {4}
    assert "vertex 0 has the hub nan" in str(ranks.check_hits(A, spgraph.Vector(float, 4), spgraph.Vector(float, 4), 1))


def test_katz_rules_see_what_is_wrong():
    A = spgraph.Matrix.from_coo([0, 0, 1], [1, 2, 2], [5.0, 5.0, 5.0], nrows=3, ncols=3)
    x = spgraph.algorithms.katz_centrality(A, 0.25, tol=1e-13).to_dense()

    def check(values, alpha=0.25):
        return failing(ranks.check_katz(A, spgraph.Vector.from_dense(values), alpha, 1e-13))

    assert check(x) == set()
    assert check(x, 0.5) == {3}
    assert check(x * 2) == {2}
    assert check(x[::-1].copy()) == {3}
    assert 1 in check(np.array([np.nan, 1, 1]))


WRONG = [
    ("bfs", {"parent": [0, 0, 0], "level": [0, 1, 1]}, "there is no edge ann -> carl"),
    ("bfs", {"parent": [2, 0, 1], "level": [0, 1, 2]}, "the parent of the source ann is carl, not itself"),
    ("sssp", {"distance": [0, 1, 5]}, "edge bob -> carl of weight 1 joins distances 1 and 5"),
    ("pagerank", {"rank": [0.5, -0.5, 1.0]}, "vertex bob has the rank -0.5"),
    ("hits", {"hub": [0.5, -0.5, 1.0], "authority": [0.0, 0.0, 1.0]}, "vertex bob has the hub -0.5"),
    ("katz", {"katz": [1.0, np.nan, 1.0]}, "vertex bob has the centrality nan"),
    ("bc", {"betweenness": [0.0, 0.0, 0.5]}, "vertex carl has the centrality 0.5"),
    ("cc", {"component": [0, 1, 1]}, "edge ann -> bob joins two"),
    ("cc", {"component": [0, 2, 2]}, "vertex bob: the label is carl"),
    ("cc", {"component": [0, 7, 0]}, "vertex bob: the label is none"),
    ("triangles", {"triangles": [0, 1, 0]}, "vertex bob: the count is 1"),
    ("kcore", {"core": [1, 2, 1]}, "vertex bob: the number is 2"),
    ("mis", {"member": [True, True, False]}, "vertex ann: members beside it is 1"),
]


@pytest.mark.parametrize(("algorithm", "columns", "problem"), WRONG)
def test_problems_call_vertices_by_their_labels(friends, algorithm, columns, problem):
    A = spgraph.io.read(friends)
    vectors = {name: spgraph.Vector.from_dense(np.array(values)) for name, values in columns.items()}
    args = argparse.Namespace(alpha=0.85, tol=1e-6, personalization=None, samples=0, seed=0)
    assert problem in [rule.problem for rule in JOBS[algorithm].check(A, 0, vectors, args)]


def test_problems_number_vertices_as_the_file_does(capsys, monkeypatch, roads):
    wrong = spgraph.Vector.from_coo([0, 1, 2, 3], [0, 0, 0, 0], size=5)
    monkeypatch.setattr(spgraph.algorithms, "bfs_parents", lambda A, source: wrong)
    argv = ("run", "bfs", roads, "--dup-op", "min", "--source", "1", "--validate", "--repeat", "0")
    code, out, _ = call(capsys, *argv)
    assert code == 1
    assert "FAIL tree edges are edges of the graph: there is no edge 1 -> 4\n" in out


# ---- info, bench, help -----------------------------------------------------------------
def test_info(capsys):
    code, out, _ = call(capsys, "info")
    assert code == 0
    for title in ("spgraph", "devices", "memory", "caches", "optional"):
        assert f"\n{title}" in "\n" + out
    found = json.loads(call(capsys, "info", "--json")[1])
    assert found["spgraph"] == spgraph.__version__
    assert found["devices"][0]["device"] == "cpu"
    assert found["caches"][0]["name"] == "spgraph"
    assert (found["gpu_problem"] is None) == any(gpu["problem"] is None for gpu in found["devices"][1:])
    assert {row["package"] for row in found["optional"]} >= {"cupy", "networkx", "python-graphblas"}
    for row in found["optional"]:
        assert row["install"].startswith('pip install ".[')
        assert row["install"].endswith("in a copy of the repository")


def test_info_describes_gpus():
    """What a machine with two cards, one of them too old, is told."""
    found = info.gather() | {
        "devices": [
            {"device": "cpu", "name": "a processor", "threads": 1},
            {
                "device": "cuda:0", "name": "a card", "capability": "9.0",
                "memory": {"total": 80 << 30, "free": 78 << 30}, "problem": None,
            },
            {
                "device": "cuda:1", "name": "an old card", "capability": "6.1",
                "memory": {"total": 8 << 30}, "problem": "it is too old",
            },
        ],
        "gpu_problem": None,
        "cuda": {"driver": "580.65", "cuda": "13.0", "cupy": "14.2.0", "runtime": "13.0", "nvrtc": "13.0"},
    }  # fmt: skip
    shown = info.describe(found)
    assert "devices     cpu: a processor, 1 thread\n" in shown
    assert "            cuda:0: a card, compute capability 9.0, 78.0 GiB free of 80.0 GiB\n" in shown
    assert "cuda:1: an old card, compute capability 6.1, 8.00 GiB; cannot be used: it is too old\n" in shown
    assert "cuda        driver 580.65, for CUDA 13.0, CuPy 14.2.0, with CUDA 13.0, NVRTC 13.0\n" in shown
    assert "no GPU is used" not in shown
    without = info.describe(found | {"devices": found["devices"][:1], "gpu_problem": "no driver", "cuda": {}})
    assert "            no GPU is used: no driver\n" in without
    assert "\ncuda" not in without


def test_bench_compare(capsys, tmp_path):
    saved = tmp_path / "saved.json"
    code, out, err = call(
        capsys,
        "bench",
        "compare",
        "path:20",
        "--against",
        "scipy",
        "--algorithms",
        "bfs,sssp",
        "--repeat",
        "1",
        "--order",
        "degree",
        "--commit",
        "v1.2",
        "--save",
        str(saved),
    )
    assert code == 0, err
    assert "path:20: 20 vertices" in out
    assert "scipy" in out
    assert " s  path:20, sssp, spgraph by degree: " in err
    document = json.loads(saved.read_text())
    assert document["benchmark"] == "compare"
    assert document["machine"]["versions"]["numpy"] == np.__version__
    assert document["machine"]["commit"] == "v1.2"
    assert {row["order"] for row in document["rows"]} == {"degree", ""}
    assert {row["algorithm"] for row in document["rows"]} == {"bfs", "sssp"}


def test_bench_compare_tells_of_wrong_answers(capsys, monkeypatch):
    right = spgraph.algorithms.bfs
    monkeypatch.setattr(spgraph.algorithms, "bfs", lambda A, source: right(A, (source + 1) % A.nrows))
    argv = ("bench", "compare", "path:20", "--against", "scipy", "--algorithms", "bfs", "--repeat", "1")
    code, out, _ = call(capsys, *argv)
    assert code == 1
    assert "WRONG: bfs on path:20 (" in out
    code, out, err = call(capsys, *argv, "--json")
    assert code == 1
    assert len(json.loads(out)["wrong"]) == 2  # in each order
    assert err == 'spgraph: some answers were wrong, see "wrong"\n'


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["compare", "path:3", "--against", "gunrock"], "wanted some of graphblas,scipy,networkx,cugraph"),
        (["compare", "path:3", "--order", "random"], "wanted some of natural,degree,bfs"),
        (["compare", "path:3", "--seconds", "0"], "wanted more than 0"),
        (["compare", "path:3", "--seconds", "nan"], "wanted more than 0"),
        (["compare", "path:3", "--against", "scipy,scipy"], "got 'scipy' twice, wanted each once"),
        (["scaling", "path:3", "--algorithms", "bfs,bfs"], "got 'bfs' twice, wanted each once"),
        (["scaling", "path:3", "--save", "no/x.json"], "argument --save: no/x.json: there is no folder no"),
        (["compare", "path:3", "--save", ""], "argument --save: got '', wanted the name of a file"),
        (["memory", "path:3", "--save", "/"], "argument --save: / is a folder, wanted the name of a file"),
        (["graph500", "--scale", "4", "--save", "no/x"], "argument --save: no/x: there is no folder no"),
        (["overhead", "--save", "/"], "argument --save: / is a folder"),
        (["scaling", "path:3", "--plot", "no/p.png"], "argument --plot: no/p.png: there is no folder no"),
        (["scaling", "path:3", "--plot", "p.xyz"], "argument --plot: p.xyz: wanted a name that ends with ."),
        (["graph500"], "--scale"),
        (["graph500", "--scale", "0"], "wanted 1 or more"),
    ],
)
def test_bench_usage_errors(capsys, argv, message):
    code, _, err = call(capsys, "bench", *argv)
    assert code == 2
    assert "usage: spgraph bench" in err
    assert message in err


def test_a_picture_needs_matplotlib_before_anything_is_measured(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    code, out, err = call(capsys, "bench", "scaling", "path:3", "--plot", "p.png")
    assert (code, out) == (2, "")
    assert "argument --plot: it needs matplotlib: pip install matplotlib\n" in err


COMPARED = ("--against", "scipy", "--algorithms", "bfs", "--order", "natural", "--repeat", "1")


def test_bench_compare_knows_a_source_by_its_name(capsys, roads, friends):
    for graph, name, number in ((roads, "2", 1), (friends, "bob", 1), ("path:5", "4", 4)):
        code, out, err = call(capsys, "bench", "compare", graph, "--source", name, *COMPARED, "--json")
        assert code == 0, err
        assert json.loads(out)["graphs"][0]["sources"] == [number]
    for graph, name, message in ((roads, "0", "the vertices are 1 to 5"), (friends, "1", "no vertex is called '1'"),
                                 ("path:5", "5", "got 5, the vertices are 0 to 4")):  # fmt: skip
        code, out, err = call(capsys, "bench", "compare", graph, "--source", name, *COMPARED)
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].startswith(f"spgraph: compare: {graph}: source: ") and message in err


@pytest.mark.parametrize("kind", ["compare", "scaling", "memory"])
def test_bench_of_no_vertices(capsys, kind):
    code, _, err = call(capsys, "bench", kind, "path:0", "--algorithms", "bfs", "--repeat", "1", "--device", "cpu")
    assert code == 2
    assert err.splitlines()[-1] == "spgraph: path:0: the graph has no vertices, so there is no source"


@pytest.mark.parametrize("kind", ["compare", "scaling", "memory"])
def test_bench_with_all_the_time_there_is(capsys, kind):
    code, out, err = call(capsys, "bench", kind, "path:9", "--algorithms", "bfs", "--repeat", "2", "--seconds", "inf",
                          "--json", "--device", "cpu")  # fmt: skip
    assert code == 0, err
    found = read_strictly(out)
    assert found["arguments"]["seconds"] is None
    assert all(len(row["times"]) == 2 for row in found["rows"])


def test_a_device_that_is_none(capsys):
    for command in (["run", "bfs", "path:3"], ["bench", "graph500", "--scale", "4"]):
        code, _, err = call(capsys, *command, "--device", "tpu")
        assert code == 2
        assert err.startswith("spgraph: Context: devices is 'tpu', wanted 'cpu', 'cuda'")
        assert err.count("\n") == 1


def test_run_says_where_it_runs(capsys):
    facts = run_json(capsys, "bfs", "path:4", "--device", "cpu")
    assert facts["graph"]["device"] == "cpu"
    assert "weights, on cpu, in" in call(capsys, "run", "bfs", "path:4", "--device", "cpu", "--repeat", "0")[1]


def test_run_takes_a_folder_of_raw_arrays(capsys, tmp_path):
    for name, values in (("rowptr.i32", [0, 1, 2]), ("col.i32", [1, 0]), ("w.f32", [2.5, 2.5])):
        np.array(values, "<" + ("f4" if name == "w.f32" else "i4")).tofile(tmp_path / name)
    facts = run_json(capsys, "sssp", str(tmp_path), "--source", "0", "--validate")
    assert (facts["graph"]["vertices"], facts["farthest"], facts["valid"]) == (2, 2.5, True)
    code, _, err = call(capsys, "run", "sssp", str(tmp_path), "--symmetrize")
    assert code == 2
    assert f"--symmetrize: it is about files, and {tmp_path} is a folder" in err


def test_bench_overhead(capsys):
    code, out, _ = call(
        capsys, "bench", "overhead", "--vertices", "20", "--repeat", "1", "--imports", "0", "--json"
    )
    assert code == 0
    assert json.loads(out)["expression"]["spgraph"] > 0


def test_version(capsys):
    code, out, _ = call(capsys, "--version")
    assert (code, out) == (0, f"spgraph {spgraph.__version__}\n")


def test_python_m_spgraph_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "spgraph", "run", "bfs", "path:4", "--source", "0", "--repeat", "0", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["reached"] == 4
    assert done.stderr == ""
    failed = subprocess.run(
        [sys.executable, "-m", "spgraph", "run", "bfs", "nowhere"], capture_output=True, text=True
    )
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr.startswith("spgraph: nowhere: no such file")


NEEDS_FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


@pytest.mark.skipif(os.name != "posix", reason="needs sh")
@pytest.mark.parametrize("stderr", [
    pytest.param("2>&-", id="closed"), pytest.param("2</dev/null", id="only to be read"),
    pytest.param("2>/dev/full", id="full", marks=NEEDS_FULL),
])  # fmt: skip
@pytest.mark.parametrize(("argv", "code"), [
    (["run", "bfs", "path:4", "--repeat", "1", "--json"], 0), (["run", "bfs", "nowhere"], 2), (["run", "bogus"], 2),
    (["bench", "compare", "path:4", *COMPARED, "--json"], 0), (["bench", "compare", "path:4", *COMPARED], 0),
    (["bench", "overhead", "--repeat", "1", "--imports", "0"], 0),
])  # fmt: skip
def test_nobody_need_hear_stderr(argv, code, stderr):
    done = subprocess.run(["sh", "-c", f'exec "$0" -m spgraph "$@" {stderr}', sys.executable, *argv],
                          stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert done.returncode == code
    assert "all turns taken" not in done.stdout  # which is said on stderr
    assert bool(done.stdout) == (code == 0)
    if "--json" in argv:
        read_strictly(done.stdout)


class _Deaf(io.StringIO):
    """Takes nothing."""

    def write(self, text):
        raise OSError(28, "No space left on device")

    def flush(self):
        self.write("")


@pytest.mark.parametrize("kind", ["text", "none", "deaf", "closed"])
@pytest.mark.parametrize("argv", [["run", "bfs", "nowhere"], ["run", "bogus"], ["run", "bfs", "nowhere", "--debug"]])
def test_stderr_is_left_as_it_was(argv, kind, monkeypatch):
    stream = {"text": io.StringIO, "none": lambda: None, "deaf": _Deaf, "closed": io.StringIO}[kind]()
    if kind == "closed":
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    if "--debug" in argv:
        with pytest.raises(FileNotFoundError):
            cli.main(argv)
    elif "bogus" in argv:
        with pytest.raises(SystemExit) as ended:
            cli.main(argv)
        assert ended.value.code == 2
    else:
        assert cli.main(argv) == 2
    assert sys.stderr is stream
    if kind == "text" and "--debug" not in argv:
        assert ("nowhere: no such file" in stream.getvalue()) == ("nowhere" in argv)
        assert stream.getvalue()


# ---- texts ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (4.56e-6, "4.56 us"), (123.4, "123 s"), (0.0, "0.00 us")],
)
def test_timed(seconds, wanted):
    assert text.timed(seconds) == wanted


@pytest.mark.parametrize(
    ("count", "wanted"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (3 << 29, "1.50 GiB")]
)
def test_sized(count, wanted):
    assert text.sized(count) == wanted


@pytest.mark.parametrize(
    ("rate", "wanted"), [(1.35e9, "1.35 GTEPS"), (67.3e6, "67.3 MTEPS"), (950, "950 TEPS")]
)
def test_rated(rate, wanted):
    assert text.rated(rate, "TEPS") == wanted
