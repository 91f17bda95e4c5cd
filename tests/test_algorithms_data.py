"""Real graphs: BFS, SSSP, PageRank and betweenness as recorded in `answers.json` by independent tools (SPGRAPH_DATA).

The conventions stand at the head of that file: `und` is the simple undirected graph, `dir` the simple directed
one, both without self-loops and with the smallest weight of parallel edges; vertices are numbered by position,
or by the rank of their id.
"""

import algorithm_calls as call
import numpy as np
import pytest
from graphs import formula_weights
from sampling import only_whole
from test_io_data import GRAPHS, LONE_IDS, answers, load_json, read_entry, sha256  # noqa: F401  (answers is a fixture)


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
@pytest.mark.parametrize("entry", only_whole(GRAPHS, {"road_FLA_pace"}))  # takes 15 s; road_NY_pace is a quarter
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


SLOWLY = 2000  # edges: an emulated GPU is not given larger graphs
# Thousands of sources times hundreds of levels: 140 s for all. Others of their kind are in every run: of roads
# lanl_routes, of meshes lagraph/jagmesh7, of more vertices facebook_combined.
LONG_WAYS = {
    "lagraph/olm1000",
    "lagraph/test_FW_1000",
    "monaco",
    "networkit-airfoil1",
    "networkit-power",
    "road_graph_23rd",
    "rome99",
}


@pytest.fixture(scope="session")
def exact():
    """Exact betweenness by graph: some files hold the same one."""
    return {}


def exact_betweenness(sg, A, part, exact):
    indptr, indices, _ = A.to_csr()
    graph = (part, A.dtype.name, indptr.tobytes(), indices.tobytes())
    if graph not in exact:
        exact[graph] = call.betweenness(sg, A, normalized=False, directed=part == "dir")
    return exact[graph]


def graph_for_betweenness(entry, data_dir, backend, part):
    A = read_entry(entry, data_dir, dup_op="min", symmetrize=part == "und", drop_self_loops=True)
    if backend == "emulated" and A.nvals > 2 * SLOWLY:
        pytest.skip("takes long on an emulated GPU")
    return A


def check_betweenness(values, total, top):
    assert values.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)
    for _, index, value in top:
        assert values[index] == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert np.sort(values)[::-1][:5] == pytest.approx([value for _, _, value in top], rel=1e-6, abs=1e-6)
    assert values.min() >= 0


@pytest.mark.parametrize("part", ["und", "dir"])
@pytest.mark.parametrize("entry", GRAPHS)
def test_betweenness(sg, data_dir, answers, backend, entry, part):  # noqa: F811
    """From four sources."""
    expected = answers[entry["name"]].get(part, {}).get("bc4")
    if expected is None or entry["name"] in LONE_IDS:
        pytest.skip("no recorded betweenness, or refused by the reader")
    A = graph_for_betweenness(entry, data_dir, backend, part)
    values = call.betweenness(sg, A, sources=expected["sources"], normalized=False)
    check_betweenness(values, expected["sum"], expected["top5"])


@pytest.mark.parametrize("part", ["und", "dir"])
@pytest.mark.parametrize("entry", only_whole(GRAPHS, LONG_WAYS))
def test_exact_betweenness(sg, data_dir, answers, backend, exact, entry, part):  # noqa: F811
    found = answers[entry["name"]].get(part, {})
    if "bc_sum" not in found or entry["name"] in LONE_IDS:
        pytest.skip("no recorded betweenness, or refused by the reader")
    A = graph_for_betweenness(entry, data_dir, backend, part)
    check_betweenness(exact_betweenness(sg, A, part, exact), found["bc_sum"], found["bc_top5"])


def entry_of(name):
    found = [parameter.values[0] for parameter in GRAPHS if parameter.values[0] and parameter.values[0]["name"] == name]
    return found[0] if found else None


def by_label(text):
    """Lines of a label and a value."""
    return {int(label): float(value) for label, value in (line.split() for line in text.split("\n") if line)}


def numbered(A, labels):
    names = np.arange(A.nrows) if A.labels is None else np.asarray(A.labels)
    places = {label: place for place, label in enumerate(names.tolist())}
    return [places[label] for label in labels]


EXPECTED = {
    "PageRank alpha .85": "pagerank",
    "BC summed over the 4 sources": "betweenness",
    "BFS levels from vertex 30": "levels",
    "BFS output": "bfs",
    "SSSP output": "sssp",
    "Katz centrality": "katz",
}
CLAIMS = [
    pytest.param(kind, claim, id=f"{kind}-{claim['graph']}")
    for claim in load_json("expectations.json") or []
    for start, kind in EXPECTED.items()
    if claim["what"].startswith(start)
] or [pytest.param(None, None, id="SPGRAPH_DATA not set")]


@pytest.mark.parametrize(("kind", "claim"), CLAIMS)
def test_expectations(sg, data_dir, backend, kind, claim):
    """What the files' own projects say of them."""
    entry, value = entry_of(claim["graph"]), claim["value"]
    if entry is None:
        pytest.skip("not in a format that is read here")
    if kind == "katz" and backend == "emulated":
        pytest.skip("takes long on an emulated GPU")
    A = read_entry(entry, data_dir, dup_op="min", symmetrize=kind in ("bfs", "sssp") and not entry["directed"])
    if kind == "pagerank":  # of MATLAB's, which stops early
        np.testing.assert_allclose(call.pagerank(sg, A, weighted=False, tol=1e-12).values, value, atol=1e-4)
    elif kind == "betweenness":
        got = call.betweenness(sg, A, sources=value["sources"], normalized=False)
        np.testing.assert_allclose(got, value["bc"], rtol=1e-4, atol=1e-4)
    elif kind == "levels":
        assert call.bfs(sg, A, 30).tolist() == value
    elif kind == "katz":
        degree = int(np.diff(A.to_csr()[0]).max())
        rank = sg.algorithms.katz_centrality(A, 1 / (degree + 1), tol=1e-12, max_iter=10_000).to_dense()
        best = rank[numbered(A, value)]  # of equal ones, any order
        np.testing.assert_allclose(best, np.sort(rank)[::-1][:10], rtol=1e-9)
    else:
        expected = by_label(value)
        labels = [label for label, found in expected.items() if found < 2**62]
        source, = numbered(A, [label for label in labels if expected[label] == 0])
        got = call.bfs(sg, A, source) if kind == "bfs" else call.sssp(sg, A, source)
        np.testing.assert_allclose(got[numbered(A, labels)], [expected[label] for label in labels], rtol=1e-12)
        assert ((got >= 0) & np.isfinite(got)).sum() == len(labels)
