"""EDGE_CASES.md for BFS, SSSP and PageRank: its line numbers stand at the tests."""

import algorithm_calls as call
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from graphs import GRAPHS

SETTINGS = [{"direction": d, "order": o} for d in ("push", "pull", "auto") for o in ("natural", "degree")]
NONEMPTY = [name for name, graph in GRAPHS.items() if graph.n]


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """python-graphblas has no algorithms."""


def scipy_graph(graph):
    return scipy.sparse.csr_array((graph.weights, (graph.rows, graph.cols)), shape=(graph.n, graph.n))


def arcs(sg, pairs, weights=True, n=None, dtype=None):
    rows, cols = np.array(pairs).reshape(-1, 2).T
    n = n if n is not None else int(max(rows.max(), cols.max())) + 1
    return sg.Matrix.from_coo(rows, cols, weights, dtype, nrows=n, ncols=n)


class TestSecondOpinion:
    """Lines 1, 5 and 17: every small graph, against SciPy and NetworkX, under every setting."""

    @pytest.mark.parametrize("options", SETTINGS, ids=str)
    def test_searches(self, sg, graph, options):
        if graph.n == 0:
            pytest.skip("no vertex to start from")
        hops = scipy.sparse.csgraph.dijkstra(scipy_graph(graph), unweighted=True)
        far = scipy.sparse.csgraph.dijkstra(scipy_graph(graph))
        with sg.Context(**options):
            A = sg.io.from_scipy(scipy_graph(graph))
            for source in {0, graph.n // 2, graph.n - 1}:
                level = call.bfs(sg, A, source)
                expected = np.where(np.isfinite(hops[source]), hops[source], -1)
                assert level.tolist() == expected.tolist()
                parent = call.bfs_parents(sg, A, source)
                call.check_tree(graph.rows, graph.cols, level, parent, source)
                dist, tree = call.sssp_parents(sg, A, source)
                assert dist.tolist() == np.where(np.isfinite(far[source]), far[source], -1).tolist()
                assert call.sssp(sg, A, source).tolist() == dist.tolist()
                lengths = dict(zip(zip(graph.rows.tolist(), graph.cols.tolist()), graph.weights.tolist()))
                assert tree[source] == source
                for v in np.flatnonzero(dist >= 0).tolist():
                    assert v == source or dist[tree[v]] + lengths[int(tree[v]), v] == dist[v]
                assert np.array_equal(tree >= 0, dist >= 0)

    @pytest.mark.parametrize("name", NONEMPTY)
    @pytest.mark.parametrize("weighted", [True, False])
    def test_pagerank(self, sg, name, weighted):
        graph = GRAPHS[name]
        A = graph.matrix(sg)
        G = nx.DiGraph()
        G.add_nodes_from(range(graph.n))
        G.add_weighted_edges_from(zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist()))
        seed = {0: 1.0, graph.n - 1: 3.0}
        for personalization in (None, seed):
            ranks = call.pagerank(sg, A, tol=1e-13, max_iter=1000, personalization=personalization, weighted=weighted)
            expected = nx.pagerank(
                G,
                tol=1e-13,
                max_iter=1000,
                personalization=personalization,
                weight="weight" if weighted else None,
            )
            np.testing.assert_allclose(ranks.values, [expected[v] for v in range(graph.n)], atol=1e-10)
            assert ranks.values.sum() == pytest.approx(1)
            assert ranks.converged


class TestInput:
    """Lines 1, 5 and 6."""

    @pytest.mark.parametrize("source", [-1, 3, 10**30, 1.0, 0.5, "0", None, True, [0], np.float64(1)])
    @pytest.mark.parametrize("name", ["bfs", "bfs_parents", "sssp", "sssp_parents"])
    def test_source(self, sg, name, source):
        A = arcs(sg, [(0, 1), (1, 2)], 1)
        with pytest.raises(sg.exceptions.IndexOutOfBound, match=rf"(?s){name}.*source.*3") as caught:
            getattr(sg.algorithms, name)(A, source)
        assert repr(source) in str(caught.value)
        assert isinstance(caught.value, IndexError)

    @pytest.mark.parametrize("source", [np.int64(1), np.uint8(1), np.array(1)])
    def test_source_of_numpy(self, sg, source):
        assert call.bfs(sg, arcs(sg, [(0, 1), (1, 2)]), source).tolist() == [-1, 0, 1]

    def test_no_vertices(self, sg):
        A = sg.Matrix(int, 0, 0)
        for name in ("bfs", "bfs_parents", "sssp", "sssp_parents"):
            with pytest.raises(sg.exceptions.IndexOutOfBound, match=name):
                getattr(sg.algorithms, name)(A, 0)
        for none in (A, sg.generators.path(0), sg.generators.path(0).T.new()):  # known to be symmetric, or not
            ranks = call.pagerank(sg, none)
            assert ranks.values.size == 0
            assert ranks.converged
            for name in ("hits", "katz_centrality", "eigenvector_centrality", "connected_components", "triangles",
                         "core_number", "clustering", "betweenness_centrality", "maximal_independent_set",
                         "minimum_spanning_forest", "bfs_order"):
                found = getattr(sg.algorithms, name)(none)
                for part in found if isinstance(found, tuple) else (found,):
                    assert set(np.shape(part) if isinstance(part, np.ndarray) else part.shape) == {0}

    def test_one_vertex(self, sg):
        for A in (sg.Matrix(float, 1, 1), sg.Matrix.from_coo([0], [0], [2.5])):
            assert call.bfs(sg, A, 0).tolist() == [0]
            assert call.bfs_parents(sg, A, 0).tolist() == [0]
            assert call.sssp(sg, A, 0).tolist() == [0]
            assert call.pagerank(sg, A).values.tolist() == [1]

    def test_isolated_vertices(self, sg):
        A = arcs(sg, [(0, 0), (0, 1), (1, 0)], n=3)
        assert call.bfs(sg, A, 0).tolist() == [0, 1, -1]
        assert call.sssp(sg, A, 2).tolist() == [-1, -1, 0]
        assert call.pagerank(sg, A).values.size == 3

    def test_what_converts(self, sg):
        S = scipy.sparse.csr_array(([1, 1, 1], ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
        G = nx.DiGraph([(0, 1), (1, 2), (2, 0)])
        G.add_node(3)
        for graph in (S, S.tocoo(), scipy.sparse.csr_matrix(S), G, S.toarray()):
            assert call.bfs(sg, graph, 0).tolist() == [0, 1, 2, -1]
            assert call.sssp(sg, graph, 0).tolist() == [0, 1, 2, -1]
            assert call.pagerank(sg, graph).values.size == 4

    def test_not_square(self, sg):
        for name in ("bfs", "sssp"):
            with pytest.raises(sg.exceptions.DimensionMismatch, match=rf"{name}.*2.*3"):
                getattr(sg.algorithms, name)(sg.Matrix(int, 2, 3), 0)
        with pytest.raises(sg.exceptions.DimensionMismatch, match=r"pagerank.*2.*3"):
            sg.algorithms.pagerank(sg.Matrix(int, 2, 3))

    @pytest.mark.parametrize("dtype", ["BOOL", "INT8", "UINT64", "FP32"])
    def test_a_stored_zero_is_an_edge(self, sg, dtype):
        A = sg.Matrix.from_coo([0, 1], [1, 2], np.zeros(2), nrows=3, ncols=3).dup(dtype)
        assert A.nvals == 2
        assert call.bfs(sg, A, 0).tolist() == [0, 1, 2]
        assert call.bfs_parents(sg, A, 0).tolist() == [0, 0, 1]

    def test_the_graph_is_left_as_it_was(self, sg, karate):
        A = karate.matrix(sg)
        before = A.dup()
        for run in (call.bfs, call.bfs_parents, call.sssp, call.sssp_parents):
            run(sg, A, 3)
        call.pagerank(sg, A)
        assert A.isequal(before, check_dtype=True)


class TestBfs:
    """Line 17."""

    def test_directed_line(self, sg):
        A = arcs(sg, [(0, 4), (4, 1), (1, 3), (3, 2)])
        assert call.bfs(sg, A, 0).tolist() == [0, 2, 4, 3, 1]
        assert call.bfs_parents(sg, A, 0).tolist() == [0, 4, 3, 1, 0]
        assert call.bfs(sg, A, 2).tolist() == [-1, -1, 0, -1, -1]

    def test_a_long_path(self, sg):
        n = 500
        A = arcs(sg, [(i, i + 1) for i in range(n - 1)])
        assert call.bfs(sg, A, 0).tolist() == list(range(n))

    def test_directions_agree_on_a_dense_graph(self, sg):
        A = sg.Matrix.from_scalar(True, 60, 60)
        for options in SETTINGS:
            with sg.Context(**options):
                assert call.bfs(sg, A, 7).tolist() == [int(v != 7) for v in range(60)]


class TestSssp:
    """Lines 8, 9 and 10."""

    def test_sums_beyond_int64(self, sg):
        A = arcs(sg, [(0, 1), (1, 2)], [2**62, 2**62])
        with pytest.raises(sg.exceptions.InvalidValue, match=r"int64.*dtype"):
            sg.algorithms.sssp(A, 0)
        assert call.sssp(sg, A, 0, dtype=np.float64)[2] == 2.0**63
        assert call.sssp(sg, arcs(sg, [(0, 1), (1, 2)], [2**61, 2**61]), 0).tolist() == [0, 2**61, 2**62]

    def test_a_long_edge_that_no_path_takes(self, sg):
        A = arcs(sg, [(0, 1), (1, 2), (0, 2)], [2**62, 2**62, 5])
        assert call.sssp(sg, A, 0).tolist() == [0, 2**62, 5]

    @pytest.mark.parametrize("dtype", ["INT8", "UINT8", "INT16", "INT32", "UINT32", "INT64"])
    def test_small_weights_add_up(self, sg, dtype):
        A = arcs(sg, [(i, i + 1) for i in range(9)], 120, dtype=dtype)
        assert call.sssp(sg, A, 0).tolist() == [120 * i for i in range(10)]

    def test_unreached_is_absent(self, sg):
        dist = sg.algorithms.sssp(arcs(sg, [(0, 1)], [2**62], n=4), 0)
        assert dist.to_dict() == {0: 0, 1: 2**62}
        assert dist.size == 4

    def test_zero_weights(self, sg):
        assert call.sssp(sg, arcs(sg, [(0, 1)], 0), 0).tolist() == [0, 0]
        cycle = arcs(sg, [(0, 1), (1, 2), (2, 0), (2, 3)], [0, 0, 0, 5])
        assert call.sssp(sg, cycle, 0).tolist() == [0, 0, 0, 5]
        for dtype in ("INT64", "FP64", "UINT8"):
            nothing = arcs(sg, [(0, 1), (1, 2), (2, 0)], 0, dtype=dtype)
            assert call.sssp(sg, nothing, 1).tolist() == [0, 0, 0]
        _, parent = call.sssp_parents(sg, cycle, 0)
        assert parent.tolist() == [0, 0, 1, 2]

    def test_nan_weights(self, sg):
        A = arcs(sg, [(0, 1), (1, 2)], [1.0, float("nan")])
        with pytest.raises(ValueError, match=r"1\b.*2\b.*NaN|NaN.*1\b.*2\b"):
            sg.algorithms.sssp(A, 0)

    def test_negative_weights(self, sg):
        A = arcs(sg, [(0, 1), (0, 2), (2, 1)], [2, 5, -10])
        assert call.sssp(sg, A, 0).tolist() == [0, -5, 5]
        assert call.sssp_parents(sg, A, 0)[1].tolist() == [0, 2, 0]

    def test_negative_cycle(self, sg):
        for dtype in ("INT64", "FP64", "INT8"):
            with pytest.raises(ValueError, match=r"negative"):
                sg.algorithms.sssp(arcs(sg, [(0, 1), (1, 0)], [1, -2], dtype=dtype), 0)
        with pytest.raises(ValueError, match=r"negative"):
            sg.algorithms.sssp(sg.Matrix.from_coo([0], [0], [-1]), 0)

    def test_stops_when_nothing_changes(self, sg):
        A = arcs(sg, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4)], [1, 100, 100, 100, 1, 1, 1])
        assert call.sssp(sg, A, 0).tolist() == [0, 1, 2, 3, 4]
        assert call.sssp_parents(sg, A, 0)[1].tolist() == [0, 0, 1, 2, 3]

    def test_a_star_ends(self, sg):
        A = arcs(sg, [(0, leaf) for leaf in range(1, 5)], [4, 3, 2, 1])
        assert call.sssp(sg, A, 0).tolist() == [0, 4, 3, 2, 1]
        assert call.sssp(sg, A, 3).tolist() == [-1, -1, -1, 0, -1]

    @pytest.mark.parametrize("delta", [None, 1e-3, 1, 7.5, 1e9])
    def test_any_delta(self, sg, karate, delta):
        expected = scipy.sparse.csgraph.dijkstra(scipy_graph(karate), indices=5)
        for dtype in (np.int64, np.float32):
            assert call.sssp(sg, karate.matrix(sg, dtype), 5, delta=delta).tolist() == expected.tolist()

    def test_booleans_weigh_one(self, sg, karate):
        A = karate.matrix(sg, bool)
        assert call.sssp(sg, A, 0).tolist() == call.bfs(sg, A, 0).tolist()

    def test_weights_of_very_different_size(self, sg):
        A = arcs(sg, [(0, 1), (1, 2), (0, 2), (2, 3)], [1e-9, 1e-9, 1.0, 1e12])
        assert call.sssp(sg, A, 0).tolist() == [0, 1e-9, 2e-9, 1e12 + 2e-9]


class TestPageRank:
    """Line 16."""

    def test_dangling(self, sg):
        ranks = call.pagerank(sg, arcs(sg, [(0, 1), (1, 2)]), tol=1e-10, max_iter=500)
        np.testing.assert_allclose(ranks.values, [0.184417, 0.341171, 0.474411], atol=2e-6)
        assert ranks.values.sum() == pytest.approx(1)

    def test_dangling_by_personalization(self, sg):
        A, seed = arcs(sg, [(0, 1), (1, 2)]), {0: 1.0}
        G = nx.DiGraph([(0, 1), (1, 2)])
        for given in (seed, sg.Vector.from_dict(seed, size=3), np.array([1.0, 0, 0])):
            ranks = call.pagerank(sg, A, personalization=given, tol=1e-12, max_iter=500)
            expected = nx.pagerank(G, personalization=seed, tol=1e-12, max_iter=500)
            np.testing.assert_allclose(ranks.values, [expected[v] for v in range(3)], atol=1e-9)
        ranks = call.pagerank(sg, A, personalization=seed, dangling={2: 1.0}, tol=1e-12, max_iter=500)
        expected = nx.pagerank(G, personalization=seed, dangling={2: 1.0}, tol=1e-12, max_iter=500)
        np.testing.assert_allclose(ranks.values, [expected[v] for v in range(3)], atol=1e-9)

    def test_zero_out_weight_is_dangling(self, sg):
        ranks = call.pagerank(sg, arcs(sg, [(0, 1), (1, 0)], [0.0, 1.0]), tol=1e-10, max_iter=500)
        np.testing.assert_allclose(ranks.values, [0.649123, 0.350877], atol=1e-6)

    @pytest.mark.parametrize("how", ["nstart", "personalization", "dangling"])
    @pytest.mark.parametrize("weighted", [True, False])
    def test_dangling_of_a_symmetric_graph(self, sg, how, weighted):
        """Nothing comes to them along edges, which PageRank makes use of: alone, or with weights that are all 0."""
        G = nx.Graph()
        G.add_nodes_from(range(9))
        G.add_weighted_edges_from([(1, 2, 3.0), (2, 3, 1.0), (3, 1, 2.0), (3, 5, 4.0), (7, 8, 0.0)])
        A = sg.io.from_networkx(G)
        assert A.symmetric is True
        given = {how: {0: 5.0, 2: 1.0, 8: 4.0}, "tol": 1e-13, "max_iter": 1000}
        expected = nx.pagerank(G, weight="weight" if weighted else None, **given)
        ranks = call.pagerank(sg, A, weighted=weighted, **given)
        np.testing.assert_allclose(ranks.values, [expected[v] for v in range(9)], atol=1e-11)
        one = call.pagerank(sg, A, weighted=weighted, **(given | {"max_iter": 1}), fail_on_nonconvergence=False)
        assert one.values.sum() == pytest.approx(1, abs=1e-14)

    def test_parallel_edges(self, sg):
        pairs = [(0, 1), (0, 2), (1, 0), (2, 0)]
        simple = call.pagerank(sg, arcs(sg, pairs), tol=1e-10, max_iter=500)
        np.testing.assert_allclose(simple.values, [0.4865, 0.2568, 0.2568], atol=1e-4)
        double = call.pagerank(sg, arcs(sg, pairs, [2, 1, 1, 1]), tol=1e-10, max_iter=500)
        np.testing.assert_allclose(double.values, [0.4865, 0.3257, 0.1878], atol=1e-4)
        as_simple = call.pagerank(sg, arcs(sg, pairs, [2, 1, 1, 1]), weighted=False, tol=1e-10, max_iter=500)
        np.testing.assert_allclose(as_simple.values, simple.values, atol=1e-9)

    def test_self_loops_count(self, sg):
        ranks = call.pagerank(sg, arcs(sg, [(0, 0), (0, 1), (1, 0)]), tol=1e-12, max_iter=500)
        # r0 = .075 + .85 (r0 / 2 + r1), r0 + r1 = 1
        assert ranks.values[0] == pytest.approx(0.925 / 1.425, abs=1e-9)

    def test_two_iterations(self, sg, karate):
        P = scipy_graph(karate).astype(bool).astype(float).toarray()
        P /= P.sum(axis=1, keepdims=True)
        rank = np.full(34, 1 / 34)
        for _ in range(2):
            before, rank = rank, 0.85 * (rank @ P) + 0.15 / 34
        A = karate.matrix(sg, bool)
        ranks = call.pagerank(sg, A, max_iter=2, fail_on_nonconvergence=False)
        np.testing.assert_allclose(ranks.values, rank, rtol=1e-12)
        assert (ranks.iterations, ranks.converged) == (2, False)
        assert ranks.residual == pytest.approx(np.abs(rank - before).sum())
        with pytest.raises(ValueError, match=r"pagerank.*converge.*max_iter") as caught:
            sg.algorithms.pagerank(A, max_iter=2)
        assert isinstance(caught.value, sg.exceptions.GraphblasException)

    def test_the_norm_of_tol(self, sg, karate):
        """L1 norm of the change below n * tol, as NetworkX has it."""
        ranks = call.pagerank(sg, karate.matrix(sg, bool), tol=1e-6)
        assert ranks.converged
        assert ranks.residual < 34 * 1e-6
        once_less = call.pagerank(
            sg, karate.matrix(sg, bool), max_iter=ranks.iterations - 1, fail_on_nonconvergence=False
        )
        assert once_less.residual >= 34 * 1e-6

    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    def test_alpha(self, sg, alpha):
        A = arcs(sg, [(0, 1), (1, 2), (2, 0), (0, 2)])
        ranks = call.pagerank(sg, A, alpha=alpha, max_iter=5000, tol=1e-12)
        expected = nx.pagerank(nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)]), alpha=alpha, max_iter=5000, tol=1e-12)
        np.testing.assert_allclose(ranks.values, [expected[v] for v in range(3)], atol=1e-9)

    def test_nan_and_infinity_end(self, sg):
        for weight in (float("nan"), float("inf")):
            with pytest.raises(ValueError, match=r"pagerank"):
                sg.algorithms.pagerank(arcs(sg, [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, weight]))

    @pytest.mark.parametrize(
        "wrong",
        [{"alpha": 1.5}, {"alpha": -0.1}, {"max_iter": -1}, {"tol": -1.0}, {"personalization": {0: 0.0}}],
        ids=str,
    )
    def test_wrong_arguments(self, sg, wrong):
        [(name, _)] = wrong.items()
        with pytest.raises(ValueError, match=rf"pagerank.*{name}"):
            sg.algorithms.pagerank(arcs(sg, [(0, 1), (1, 0)]), **wrong)

    def test_personalization_of_another_size(self, sg):
        with pytest.raises(sg.exceptions.DimensionMismatch, match=r"pagerank.*personalization.*5.*2"):
            sg.algorithms.pagerank(arcs(sg, [(0, 1), (1, 0)]), personalization=np.ones(5))

    def test_a_start_changes_the_way_not_the_end(self, sg, karate):
        A = karate.matrix(sg, bool)
        there = call.pagerank(sg, A, tol=1e-12, max_iter=500)
        again = call.pagerank(sg, A, tol=1e-12, max_iter=500, nstart=there.values)
        np.testing.assert_allclose(again.values, there.values, atol=1e-10)
        assert again.iterations < there.iterations


@pytest.mark.parametrize("name", ["pagerank", "connected_components", "core_number", "hits"])
def test_what_is_no_graph_is_said_of_the_algorithm(sg, name):
    with pytest.raises(sg.exceptions.DomainMismatch, match=rf"^{name}: A is no graph: got int, wanted a Matrix"):
        getattr(sg.algorithms, name)(3)
    with pytest.raises(sg.exceptions.DimensionMismatch, match=rf"^{name}: A is no graph: .*1 dimensions"):
        getattr(sg.algorithms, name)(np.zeros(3))
