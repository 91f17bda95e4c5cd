"""Components, triangles, clustering, cores, independent sets: SciPy, NetworkX, EDGE_CASES.md, recorded answers."""

import math

import algorithm_calls as call
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from graphs import GRAPHS, Graph, formula_weights, from_pairs, grid, rmat
from test_io_data import GRAPHS as FILES
from test_io_data import LONE_IDS, answers, load_json, read_entry  # noqa: F401  (answers is a fixture)

SETTINGS = [{"direction": d, "order": o} for d in ("push", "pull", "auto") for o in ("natural", "degree")]
UNDIRECTED = [name for name, graph in GRAPHS.items() if graph.symmetric]
COUNTED = ("triangles", "triangle_count", "clustering", "average_clustering", "transitivity", "core_number",
           "maximal_independent_set")  # fmt: skip


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """python-graphblas has no algorithms."""


def scipy_graph(graph: Graph):
    return scipy.sparse.csr_array((np.ones(graph.rows.size), (graph.rows, graph.cols)), shape=(graph.n, graph.n))


def nx_graph(graph: Graph, *, loops: bool = True):
    G = nx.Graph()
    G.add_nodes_from(range(graph.n))
    keep = slice(None) if loops else graph.rows != graph.cols
    G.add_edges_from(zip(graph.rows[keep].tolist(), graph.cols[keep].tolist()))
    return G


def smallest_members(graph: Graph) -> np.ndarray:
    """What SciPy finds, each component by its smallest vertex."""
    if not graph.n:
        return np.empty(0, np.int64)
    count, part = scipy.sparse.csgraph.connected_components(scipy_graph(graph), connection="weak")
    smallest = np.full(count, graph.n)
    np.minimum.at(smallest, part, np.arange(graph.n))
    return smallest[part]


def with_loops(graph: Graph) -> Graph:
    """The same with a self-loop at every third vertex."""
    loops = [(v, v) for v in range(0, graph.n, 3)]
    return from_pairs(graph.name, graph.n, [*zip(graph.rows.tolist(), graph.cols.tolist()), *loops])


def arcs(sg, pairs, n):
    rows, cols = np.array(pairs, np.int64).reshape(-1, 2).T
    return sg.Matrix.from_coo(rows, cols, True, bool, nrows=n, ncols=n)


class TestComponents:
    """Line 18."""

    @pytest.mark.parametrize("options", SETTINGS, ids=str)
    def test_of_scipy(self, sg, graph, options):
        with sg.Context(**options):
            A = sg.io.from_scipy(scipy_graph(graph))
            assert call.components(sg, A).tolist() == smallest_members(graph).tolist()

    def test_of_networkx(self, sg, graph):
        label = call.components(sg, graph.matrix(sg)).tolist()
        found = {v: min(members) for members in nx.connected_components(nx_graph(graph)) for v in members}
        assert label == [found[v] for v in range(graph.n)]

    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_random_graphs(self, sg, order):
        """Sparse ones, of many components, directed and not."""
        rng = np.random.default_rng(3)
        for _ in range(12):
            n, m = int(rng.integers(2, 200)), int(rng.integers(0, 300))
            pairs = list(zip(rng.integers(0, n, m).tolist(), rng.integers(0, n, m).tolist()))
            for both_ways in (False, True):
                graph = from_pairs("random", n, pairs, both_ways=both_ways)
                A = graph.matrix(sg, bool).reorder(order)
                assert call.components(sg, A).tolist() == smallest_members(graph).tolist()

    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_long_paths_in_any_numbering(self, sg, order):
        n = 700
        for names in (np.arange(n), np.arange(n)[::-1], np.random.default_rng(0).permutation(n)):
            pairs = [(int(names[i]), int(names[i + 1])) for i in range(n - 1) if i % 100 != 50]
            for both_ways in (False, True):
                graph = from_pairs("path", n, pairs, both_ways=both_ways)
                A = graph.matrix(sg).reorder(order)
                assert call.components(sg, A).tolist() == smallest_members(graph).tolist()

    def test_a_component_with_smaller_members_than_the_large_one(self, sg):
        """Edges into the large component are only found from outside, whichever end is smaller."""
        clique = [(i, j) for i in range(10, 60) for j in range(10, 60) if i != j]
        graph = from_pairs("late", 64, [*clique, (0, 59), (59, 0), (61, 3), (3, 61), (3, 58), (58, 3)])
        assert call.components(sg, graph.matrix(sg, bool)).tolist() == smallest_members(graph).tolist()
        directed = from_pairs("late", 64, [*clique, (0, 59), (58, 63), (61, 3), (3, 58)])
        assert call.components(sg, directed.matrix(sg, bool)).tolist() == smallest_members(directed).tolist()

    def test_a_larger_graph(self, sg):
        for graph in (rmat(10, 3, seed=2), grid(30, seed=5)):
            A = graph.matrix(sg, bool)
            assert call.components(sg, A).tolist() == smallest_members(graph).tolist()

    def test_explicit_zeros_are_edges(self, sg):
        A = sg.Matrix.from_coo([0], [1], [0], nrows=3, ncols=3)
        assert call.components(sg, A).tolist() == [0, 0, 2]

    def test_no_vertices(self, sg):
        assert call.components(sg, sg.Matrix(int, 0, 0)).size == 0
        assert call.components(sg, sg.Matrix(int, 1, 1)).tolist() == [0]
        assert call.components(sg, sg.Matrix(int, 3, 3)).tolist() == [0, 1, 2]

    def test_not_square(self, sg):
        with pytest.raises(sg.exceptions.DimensionMismatch, match=r"connected_components.*2 x 3"):
            sg.algorithms.connected_components(sg.Matrix(int, 2, 3))

    def test_the_graph_is_left_as_it_was(self, sg, karate):
        A = karate.matrix(sg)
        before = A.dup()
        call.components(sg, A)
        assert A.isequal(before, check_dtype=True)


class TestTriangles:
    """Line 20."""

    @pytest.mark.parametrize("options", SETTINGS, ids=str)
    @pytest.mark.parametrize("name", UNDIRECTED)
    def test_of_networkx(self, sg, name, options):
        for graph in (GRAPHS[name], with_loops(GRAPHS[name])):
            found = nx.triangles(nx_graph(graph))
            with sg.Context(**options):
                A = sg.io.from_scipy(scipy_graph(graph))
                for order in ("auto", "natural", "degree"):
                    assert call.triangles(sg, A, order=order).tolist() == [found[v] for v in range(graph.n)]
                    for method in ("auto", "rows", "dots", "cohen", "burkhardt"):
                        count = sg.algorithms.triangle_count(A, method=method, order=order)
                        assert type(count) is int
                        assert count == sum(found.values()) // 3

    def test_skewed_degrees(self, sg):
        graph = rmat(8, 16, seed=4)
        found = nx.triangles(nx_graph(graph))
        for order in ("auto", "natural"):
            assert call.triangles(sg, graph.matrix(sg), order=order).tolist() == [found[v] for v in range(graph.n)]

    @pytest.mark.parametrize("dtype", ["BOOL", "INT8", "FP32"])
    def test_values_do_not_matter_and_counts_do_not_wrap(self, sg, dtype):
        A = sg.Matrix.from_scalar(0, 60, 60, dtype)
        assert sg.algorithms.triangle_count(A) == math.comb(60, 3)
        assert call.triangles(sg, A).tolist() == [math.comb(59, 2)] * 60

    @pytest.mark.parametrize("name", COUNTED)
    def test_directed(self, sg, name):
        A = arcs(sg, [(0, 1), (1, 2), (2, 0), (1, 0)], 4)
        with pytest.raises(sg.exceptions.InvalidValue, match=rf"{name}: A is directed, 2 of its edges.*symmetrize"):
            getattr(sg.algorithms, name)(A)
        both = arcs(sg, [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)], 4)
        found, wanted = getattr(sg.algorithms, name)(A, symmetrize=True), getattr(sg.algorithms, name)(both)
        assert found.isequal(wanted) if isinstance(wanted, sg.Vector) else found == wanted

    @pytest.mark.parametrize("name", COUNTED)
    def test_both_directions_of_different_weight_are_one_edge(self, sg, name):
        A = sg.Matrix.from_coo([0, 1, 1, 2], [1, 0, 2, 1], [1.0, 2.0, 0.0, 4.0], nrows=3, ncols=3)
        found = getattr(sg.algorithms, name)(A)
        wanted = getattr(sg.algorithms, name)(arcs(sg, [(0, 1), (1, 0), (1, 2), (2, 1)], 3))
        assert found.isequal(wanted) if isinstance(wanted, sg.Vector) else found == wanted

    def test_wrong_options(self, sg):
        A = sg.Matrix(bool, 3, 3)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"triangle_count: method is 'fast', wanted one of auto"):
            sg.algorithms.triangle_count(A, method="fast")
        for method in ("burkhardt", "cohen", "rows"):
            with pytest.raises(sg.exceptions.InvalidValue, match="triangle_count: order is 'x', wanted"):
                sg.algorithms.triangle_count(A, method=method, order="x")
        for name in ("triangle_count", "triangles"):
            with pytest.raises(sg.exceptions.InvalidValue, match=rf"{name}: order is 'random', wanted"):
                getattr(sg.algorithms, name)(A, order="random")

    @pytest.mark.parametrize("name", UNDIRECTED)
    def test_clustering_of_networkx(self, sg, name):
        for graph in (GRAPHS[name], with_loops(GRAPHS[name])):
            A, G = graph.matrix(sg), nx_graph(graph)
            share = sg.algorithms.clustering(A)
            found = nx.clustering(G)
            assert share.dtype == "FP64"
            np.testing.assert_allclose(share.to_dense(), [found[v] for v in range(graph.n)])
            assert sg.algorithms.transitivity(A) == pytest.approx(nx.transitivity(G))
            for zeros in (True, False):
                values = [x for x in found.values() if zeros or x]
                mean = sg.algorithms.average_clustering(A, count_zeros=zeros)
                assert mean == pytest.approx(np.mean(values) if values else math.nan, nan_ok=True)


class TestCores:
    @pytest.mark.parametrize("name", UNDIRECTED)
    def test_of_networkx(self, sg, name):
        graph = GRAPHS[name]
        found = nx.core_number(nx_graph(graph, loops=False))
        for order in ("natural", "degree"):
            for same in (graph, with_loops(graph)):
                A = same.matrix(sg).reorder(order)
                assert call.core_number(sg, A).tolist() == [found[v] for v in range(graph.n)]

    def test_a_graph_without_small_cores(self, sg):
        assert call.core_number(sg, sg.generators.complete(30)).tolist() == [29] * 30
        assert call.core_number(sg, sg.generators.cycle(30)).tolist() == [2] * 30

    def test_no_vertices(self, sg):
        assert call.core_number(sg, sg.Matrix(int, 0, 0)).size == 0
        assert call.core_number(sg, sg.Matrix(int, 2, 2)).tolist() == [0, 0]
        assert call.core_number(sg, arcs(sg, [(0, 0)], 1)).tolist() == [0]


class TestIndependentSets:
    @pytest.mark.parametrize("seed", [0, 1, 7])
    @pytest.mark.parametrize("name", UNDIRECTED)
    def test_valid(self, sg, name, seed):
        graph = with_loops(GRAPHS[name])
        A = graph.matrix(sg, bool)
        member = call.independent_set(sg, A, seed=seed)
        edges = graph.rows != graph.cols
        rows, cols = graph.rows[edges], graph.cols[edges]
        assert not (member[rows] & member[cols]).any()
        has_a_member_beside = np.zeros(graph.n, bool)
        has_a_member_beside[rows[member[cols]]] = True
        assert (member | has_a_member_beside).all()

    @pytest.mark.parametrize("name", UNDIRECTED)
    def test_it_is_the_greedy_one(self, sg, name):
        """Vertices in falling order of the numbers drawn; so neither the order in memory nor the device decides."""
        graph = GRAPHS[name]
        G = nx_graph(graph, loops=False)
        for seed in (0, 3):
            score = np.random.default_rng(seed).permutation(graph.n)
            greedy: set = set()
            for v in np.argsort(-score).tolist():
                if not greedy & set(G[v]):
                    greedy.add(v)
            for order in ("natural", "degree"):
                member = call.independent_set(sg, graph.matrix(sg).reorder(order), seed=seed)
                assert set(np.flatnonzero(member).tolist()) == greedy

    def test_no_vertices(self, sg):
        assert call.independent_set(sg, sg.Matrix(int, 0, 0)).size == 0
        assert call.independent_set(sg, sg.Matrix(int, 3, 3)).tolist() == [True] * 3
        assert call.independent_set(sg, arcs(sg, [(0, 0)], 1)).tolist() == [True]

    @pytest.mark.parametrize("seed", [-1, 1.5, None])
    def test_seeds(self, sg, seed):
        with pytest.raises(sg.exceptions.InvalidValue, match=f"maximal_independent_set: seed is {seed}, wanted an int"):
            sg.algorithms.maximal_independent_set(sg.generators.path(3), seed=seed)


class TestSpanningForests:
    @pytest.mark.parametrize("name", UNDIRECTED)
    @pytest.mark.parametrize("kind", [np.int64, np.float32, np.uint8])
    def test_weight_of_networkx(self, sg, name, kind):
        for graph in (GRAPHS[name], with_loops(GRAPHS[name])):
            G = nx.Graph()
            G.add_nodes_from(range(graph.n))
            G.add_weighted_edges_from(zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist()))
            wanted = nx.minimum_spanning_tree(G).size(weight="weight")
            for order in ("natural", "degree"):
                A = graph.matrix(sg, kind).reorder(order)
                forest = call.spanning_forest(sg, A)
                assert forest.sum() == 2 * wanted
                check_forest(graph, A, forest)

    def test_ties_go_to_the_smaller_ends(self, sg):
        forest = call.spanning_forest(sg, sg.generators.complete(5))
        assert sorted((i, j) for i, j in zip(*forest.nonzero()) if i < j) == [(0, 1), (0, 2), (0, 3), (0, 4)]

    def test_weights_of_any_sign(self, sg):
        A = sg.Matrix.from_coo([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], [-5.0, -5.0, 0.0, 0.0, np.inf, np.inf])
        assert sg.algorithms.minimum_spanning_forest(A).to_dicts() == {0: {1: -5, 2: 0}, 1: {0: -5}, 2: {0: 0}}

    def test_self_loops_may_be_nan(self, sg):
        A = sg.Matrix.from_coo([0, 0, 1], [0, 1, 0], [np.nan, 2.0, 2.0], nrows=2, ncols=2)
        assert sg.algorithms.minimum_spanning_forest(A).to_dicts() == {0: {1: 2}, 1: {0: 2}}

    def test_labels_are_kept(self, sg, tmp_path):
        path = tmp_path / "friends.csv"
        path.write_text("ann,carl\nbob,ann\n")
        A = sg.io.read(path)
        forest = sg.algorithms.minimum_spanning_forest(A, symmetrize=True)
        assert list(forest.labels) == list(A.labels)
        assert sg.algorithms.minimum_spanning_forest(sg.generators.path(3)).labels is None

    def test_a_larger_graph(self, sg):
        for graph in (rmat(9, 6, seed=2), grid(20, seed=5)):
            A = graph.matrix(sg)
            forest = call.spanning_forest(sg, A)
            tree = scipy.sparse.csgraph.minimum_spanning_tree(
                scipy.sparse.csr_array((graph.weights, (graph.rows, graph.cols)), shape=(graph.n, graph.n)))
            assert forest.sum() == 2 * tree.sum()
            check_forest(graph, A, forest)

    def test_errors(self, sg):
        A = sg.Matrix.from_coo([0, 1, 1], [1, 0, 2], [1.0, 2.0, 4.0], nrows=3, ncols=3)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"minimum_spanning_forest: A is directed.*symmetrize"):
            sg.algorithms.minimum_spanning_forest(A)
        forest = sg.algorithms.minimum_spanning_forest(A, symmetrize=True)
        assert forest.to_dicts() == {0: {1: 1}, 1: {0: 1, 2: 4}, 2: {1: 4}}
        B = sg.Matrix.from_coo([0, 1], [1, 0], [1.0, np.nan], nrows=3, ncols=3)
        for symmetrize in (False, True):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"minimum_spanning_forest: .* the edge 1 -> 0 is NaN"):
                sg.algorithms.minimum_spanning_forest(B, symmetrize=symmetrize)

    def test_no_vertices(self, sg):
        for n in (0, 1, 3):
            assert sg.algorithms.minimum_spanning_forest(sg.Matrix(int, n, n)).shape == (n, n)


def check_forest(graph: Graph, A, forest) -> None:
    """Edges of the graph with their weights, as many as join all that is joined."""
    rows, cols, _ = A.to_coo()
    i, j = forest.nonzero()
    assert np.isin(i * graph.n + j, rows * graph.n + cols).all()
    assert i.size == 2 * (graph.n - np.unique(smallest_members(graph)).size)
    if graph.n:
        parts = scipy.sparse.csgraph.connected_components(forest, directed=False)[0]
        assert parts == np.unique(smallest_members(graph)).size


@pytest.mark.parametrize("entry", FILES)
def test_recorded(sg, data_dir, answers, entry):  # noqa: F811
    found = answers[entry["name"]]
    if entry["name"] in LONE_IDS:
        pytest.skip("refused by the reader, see test_io_data")
    und = found["und"]
    A = read_entry(entry, data_dir, dup_op="min", symmetrize=True, drop_self_loops=True)
    label = call.components(sg, A)
    size = np.bincount(label, minlength=A.nrows)
    assert np.array_equal(label[label], label)
    assert (np.count_nonzero(size), size.max(initial=0)) == (und["wcc"], und["largest"])
    if "dir" in found:
        directed = read_entry(entry, data_dir, dup_op="min", drop_self_loops=True)
        assert np.array_equal(call.components(sg, directed), label)
    if "triangles" in und:
        assert sg.algorithms.triangle_count(A) == und["triangles"]
        assert call.triangles(sg, A).sum() == 3 * und["triangles"]
    if und.get("transitivity") is not None:
        assert sg.algorithms.transitivity(A) == pytest.approx(und["transitivity"], abs=1e-7)
    if "kcore_max" in und:
        assert call.core_number(sg, A).max(initial=0) == und["kcore_max"]
    if "msf_formula_weight" in und:
        rows, cols, _ = A.to_coo()
        B = sg.Matrix.from_coo(rows, cols, formula_weights(rows, cols), nrows=A.nrows, ncols=A.ncols)
        assert call.spanning_forest(sg, B).sum() == 2 * und["msf_formula_weight"]


ENTRIES = {parameter.values[0]["name"]: parameter.values[0] for parameter in FILES if parameter.values[0]}
EXPECTED = {
    "number of connected components": "components",
    "triangle count": "triangles",
    "largest k-core number": "core",
    "WCC output": "labels",
    "LCC output": "clustering",
}
CLAIMS = [
    pytest.param(kind, claim, id=f"{kind}-{claim['graph']}")
    for claim in load_json("expectations.json") or []
    for start, kind in EXPECTED.items()
    if claim["what"].startswith(start)
] or [pytest.param(None, None, id="SPGRAPH_DATA not set")]


@pytest.mark.parametrize(("kind", "claim"), CLAIMS)
def test_expected(sg, data_dir, kind, claim):
    """What the files' own projects say of them."""
    entry, value = ENTRIES.get(claim["graph"]), claim["value"]
    if entry is None:
        pytest.skip("not in a format that is read here")
    if kind == "clustering" and entry["directed"]:
        pytest.skip("LDBC counts arcs between neighbours there: another number, which we do not compute")
    A = read_entry(entry, data_dir, dup_op="min", symmetrize=True)
    if kind == "components":
        assert np.unique(call.components(sg, A)).size == int(value)
    elif kind == "triangles":
        assert sg.algorithms.triangle_count(A) == int(value)
    elif kind == "core":
        assert call.core_number(sg, A).max() == int(value)
    else:
        names = (np.arange(A.nrows) if A.labels is None else np.asarray(A.labels)).tolist()
        found = call.components(sg, A) if kind == "labels" else sg.algorithms.clustering(A).to_dense()
        found = dict(zip(names, [names[v] for v in found] if kind == "labels" else found.tolist()))
        expected = {int(vertex): float(number) for vertex, number in map(str.split, value.strip().split("\n"))}
        assert found == pytest.approx(expected, abs=1e-12 if kind == "labels" else 1e-9)
