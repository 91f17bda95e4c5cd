"""Real graphs: BFS, SSSP and PageRank as recorded in `answers.json` by independent tools (SPGRAPH_DATA).

The conventions stand at the head of that file: `und` is the simple undirected graph, `dir` the simple directed
one, both without self-loops and with the smallest weight of parallel edges; vertices are numbered by position,
or by the rank of their id.
"""

import algorithm_calls as call
import numpy as np
import pytest
from graphs import formula_weights
from test_io_data import GRAPHS, LONE_IDS, answers, read_entry, sha256  # noqa: F401  (answers is a fixture)


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """python-graphblas has no algorithms."""


def recorded(found, part, kind):
    return [(key, value) for key, value in found.get(part, {}).items() if key.startswith(kind)]


def check_levels(sg, A, expected):
    level = call.bfs(sg, A, expected["source"])
    reached = level[level >= 0]
    assert sha256(level, "<i4") == expected["sha256"]
    assert (reached.size, reached.max(), reached.sum()) == (expected["reached"], expected["ecc"], expected["sum"])
    rows, cols, _ = A.to_coo()
    parent = call.bfs_parents(sg, A, expected["source"])
    call.check_tree(rows, cols, level, parent, expected["source"])


def check_distances(sg, A, expected):
    dist = call.sssp(sg, A, expected["source"])
    reached = dist[(dist >= 0) & np.isfinite(dist)]
    assert reached.size == expected["reached"]
    if "sha256" in expected:
        whole = np.where((dist >= 0) & np.isfinite(dist), dist, -1)
        assert sha256(whole, "<i8") == expected["sha256"]
        assert (reached.max(), reached.sum()) == (expected["max"], expected["sum"])
    else:
        assert reached.max() == pytest.approx(expected["max"], rel=1e-6)
        assert reached.astype(float).sum() == pytest.approx(expected["sum"], rel=1e-6)


def check_ranks(sg, A, expected):
    ranks = call.pagerank(sg, A, weighted=False, tol=1e-12 / A.nrows, max_iter=1000).values
    assert ranks.sum() == pytest.approx(1)
    for _, index, value in expected:
        assert ranks[index] == pytest.approx(value, abs=1e-8)
    assert np.sort(ranks)[::-1][:5] == pytest.approx([value for _, _, value in expected], abs=1e-8)


@pytest.mark.parametrize("part", ["und", "dir"])
@pytest.mark.parametrize("entry", GRAPHS)
def test_graph(sg, data_dir, answers, entry, part):  # noqa: F811
    found = answers[entry["name"]]
    if part not in found:
        pytest.skip("undirected: no answers for arcs")
    if entry["name"] in LONE_IDS:
        pytest.skip("refused by the reader, see test_io_data")
    A = read_entry(entry, data_dir, dup_op="min", symmetrize=part == "und", drop_self_loops=True)
    assert A.nvals == (2 * found["und"]["E"] if part == "und" else found["dir"]["arcs"])
    for _, expected in recorded(found, part, "bfs_s"):
        check_levels(sg, A, expected)
    rows, cols, _ = A.to_coo()
    formula = sg.Matrix.from_coo(rows, cols, formula_weights(rows, cols), nrows=A.nrows, ncols=A.ncols)
    for _, expected in recorded(found, part, "sssp_formula"):
        check_distances(sg, formula, expected)
    for _, expected in recorded(found, part, "sssp_file"):
        check_distances(sg, A, expected)
    for key, expected in recorded(found, part, "pagerank_top5"):
        assert key == "pagerank_top5"
        check_ranks(sg, A, expected)
    assert recorded(found, part, "bfs_s")


@pytest.mark.parametrize("entry", GRAPHS)
def test_pagerank_with_loops(sg, data_dir, answers, entry):  # noqa: F811
    """Self-loops kept, as LAGraph has it: an undirected loop is one entry of the diagonal."""
    found = answers[entry["name"]]
    kept = [(part, value) for part in ("und", "dir") for _, value in recorded(found, part, "pagerank_keep_loops_top5")]
    if not kept or entry["name"] in LONE_IDS:
        pytest.skip("no self-loops")
    for part, expected in kept:
        check_ranks(sg, read_entry(entry, data_dir, dup_op="min", symmetrize=part == "und"), expected)
