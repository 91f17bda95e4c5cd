"""Betweenness, HITS, Katz and eigenvector centrality: NetworkX's answers, options, and edge cases."""

import copy
import inspect
import pickle
import random

import algorithm_calls as call
import networkx as nx
import numpy as np
import pytest
from graphs import GRAPHS

from spgraph.algorithms import _counts as counts
from spgraph.algorithms import _sources

NONEMPTY = [name for name, graph in GRAPHS.items() if graph.n]


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """python-graphblas has no algorithms."""


def nx_graph(graph):
    G = nx.DiGraph()
    G.add_nodes_from(range(graph.n))
    G.add_weighted_edges_from(zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist()))
    return G


def in_order(found, n):
    return np.array([found[v] for v in range(n)])


class TestBetweenness:
    def test_edges_both_ways_of_other_weights_are_undirected(self, sg):
        """Also after an operation has found out that the matrix is not symmetric."""
        A = sg.Matrix.from_coo([0, 1, 1, 2], [1, 0, 2, 1], [1.0, 2, 1, 1], nrows=3, ncols=3)
        for _ in range(2):
            assert sg.algorithms.betweenness_centrality(A, normalized=False).to_dense().tolist() == [0, 1, 0]
            A.T.new().mxv(sg.Vector.from_dense([1.0, 1, 1])).new()
            sg.algorithms.connected_components(A)

    @pytest.mark.parametrize("batch", [1, 3, None])
    @pytest.mark.parametrize("name", NONEMPTY)
    def test_exact(self, sg, name, batch):
        graph = GRAPHS[name]
        A, G = graph.matrix(sg), nx_graph(graph)
        for normalized, endpoints in ((True, False), (False, True)):
            got = call.betweenness(sg, A, normalized=normalized, endpoints=endpoints, batch=batch, directed=True)
            expected = nx.betweenness_centrality(G, normalized=normalized, endpoints=endpoints)
            np.testing.assert_allclose(got, in_order(expected, graph.n), rtol=1e-10, atol=1e-13)

    @pytest.mark.parametrize("k", [1, 2, 7, 34])
    @pytest.mark.parametrize("normalized", [True, False])
    @pytest.mark.parametrize("endpoints", [True, False])
    def test_sampled(self, sg, k, normalized, endpoints):
        G = nx.karate_club_graph()
        A = sg.io.from_networkx(G)
        for batch in (1, 5):
            got = call.betweenness(sg, A, k, seed=11, normalized=normalized, endpoints=endpoints, batch=batch)
            expected = nx.betweenness_centrality(G, k, seed=11, normalized=normalized, endpoints=endpoints)
            np.testing.assert_allclose(got, np.nan_to_num(in_order(expected, 34)), rtol=1e-10, atol=1e-13)
        again = call.betweenness(sg, A, k, seed=random.Random(11), normalized=normalized, endpoints=endpoints)
        np.testing.assert_allclose(again, got, rtol=1e-10)

    @pytest.mark.parametrize("directed", [True, False])
    def test_from_sources(self, sg, directed):
        G = nx.gnp_random_graph(30, 0.1, seed=4, directed=directed)
        A = sg.io.from_networkx(G)
        expected = in_order(nx.betweenness_centrality_subset(G, [3, 8, 5], range(30)), 30)
        got = call.betweenness(sg, A, sources=[3, 8, 5], normalized=False)
        np.testing.assert_allclose(got, expected * (1 if directed else 2), rtol=1e-10, atol=1e-13)

    def test_undirected_paths_count_once(self, sg):
        A = sg.generators.path(5)
        assert call.betweenness(sg, A, normalized=False).tolist() == [0, 3, 4, 3, 0]
        assert call.betweenness(sg, A, normalized=False, directed=True).tolist() == [0, 6, 8, 6, 0]
        arcs = sg.Matrix.from_coo([0, 1, 2], [1, 2, 3], [1, 2, 3], nrows=4, ncols=4)
        assert call.betweenness(sg, arcs, normalized=False).tolist() == [0, 2, 2, 0]
        both = sg.Matrix.from_coo([0, 1, 1, 2], [1, 0, 2, 1], [1, 5, 2, 7], nrows=3, ncols=3)  # of other weights
        assert call.betweenness(sg, both, normalized=False).tolist() == [0, 1, 0]

    def test_star_from_one_leaf(self, sg):
        """EDGE_CASES 19."""
        for options in ({"sources": [2]}, {"k": 1, "seed": 0}):
            values = call.betweenness(sg, sg.generators.star(5), **options)
            assert np.isfinite(values).all()
            if "sources" in options:
                assert values.tolist() == [1, 0, 0, 0, 0]

    def test_small_graphs(self, sg):
        """EDGE_CASES 5."""
        assert call.betweenness(sg, sg.Matrix(int, 0, 0)).size == 0
        for n in (1, 2, 3):
            for options in ({}, {"normalized": False}, {"endpoints": True}, {"k": 1}, {"sources": [0]}):
                assert call.betweenness(sg, sg.Matrix(bool, n, n), **options).tolist() == [0] * n
        loop = sg.Matrix.from_coo([0], [0], [1])
        assert call.betweenness(sg, loop).tolist() == [0]

    @pytest.mark.parametrize("direction", ["push", "pull"])
    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_settings(self, sg, karate, direction, order):
        expected = in_order(nx.betweenness_centrality(nx_graph(karate)), karate.n)
        with sg.Context(direction=direction, order=order):
            A = sg.io.from_scipy(sg.io.to_scipy(karate.matrix(sg)))
            for batch in (1, 40):
                got = call.betweenness(sg, A, batch=batch)
                np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-13)

    def test_options_of_odd_types(self, sg, karate):
        A = karate.matrix(sg)
        found, wanted = (call.betweenness(sg, A, 2, seed=seed) for seed in (np.int64(3), 3))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)  # a GPU's atomics add up in any order
        for seed in ([1], "x", 1.5, np.random.default_rng(0)):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"seed is .*, wanted an integer, a random"):
                sg.algorithms.betweenness_centrality(A, 2, seed=seed)
        for directed in ("x", 2, 0.5):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"directed is .*, wanted True, False or None"):
                sg.algorithms.betweenness_centrality(A, directed=directed)

    def test_float32(self, sg, karate):
        A = karate.matrix(sg)
        got = call.betweenness(sg, A, dtype=np.float32)
        np.testing.assert_allclose(got, call.betweenness(sg, A), rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("batch", [1, 4])
    def test_more_paths_than_a_float_holds(self, sg, batch):
        """A chain of diamonds: 2^150 shortest paths are too many for float32."""
        length = 150
        a = 3 * np.arange(length)
        rows = np.concatenate([a, a, a + 1, a + 2])
        cols = np.concatenate([a + 1, a + 2, a + 3, a + 3])
        n = 3 * length + 1
        A = sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n)
        beyond = n - 4 - a  # vertices behind the end of a diamond
        expected = np.zeros(n)
        expected[a + 1] = expected[a + 2] = (beyond + 1) / 2
        expected[a + 3] = beyond
        options = {"sources": [0] if batch == 1 else [0, n - 1], "normalized": False, "batch": batch}
        for dtype in (np.float32, np.float64):
            assert call.betweenness(sg, A, dtype=dtype, **options).tolist() == expected.tolist()

    @pytest.mark.parametrize("name", ["karate", "grid7", "rmat6-5"])
    @pytest.mark.parametrize("batch", [1, None])
    def test_counts_with_wide_exponents(self, sg, monkeypatch, name, batch):
        graph = GRAPHS[name]
        A = graph.matrix(sg)
        expected = call.betweenness(sg, A, batch=batch)
        monkeypatch.setattr(_sources, "floats", lambda dtype: counts.wide())
        np.testing.assert_allclose(call.betweenness(sg, A, batch=batch), expected, rtol=1e-10, atol=1e-12)

    def test_wide_numbers(self):
        """Against Python's integers and fractions."""
        rng = np.random.default_rng(5)
        exponents = rng.integers(0, 3000, 200).tolist()
        numbers = [int(rng.integers(1, 1 << 40)) << e for e in exponents]
        wide = np.array([self.widened(x) for x in numbers])
        for x, y, u, v in zip(numbers, numbers[1:], wide, wide[1:]):
            assert abs(int(counts.wide_add(u, v)) - self.widened(x + y)) <= 2
            assert counts.wide_add(u, np.int64(0)) == u
            assert counts.wide_passed(u, counts.wide_inverse(u)) == pytest.approx(1, rel=1e-12)
        assert counts.wide_add(np.int64(counts.WIDE_LAST), wide[0]) == counts.WIDE_LAST

    @staticmethod
    def widened(x):
        exponent = x.bit_length() - 1
        fraction = (x << counts.FRACTION) >> exponent
        return np.int64(((counts.BIAS + exponent) << counts.FRACTION) + fraction - counts.UNIT)

    def test_too_many_paths_for_any_number(self, sg, monkeypatch):
        few = counts.floats(np.dtype(float))._replace(last=1)
        monkeypatch.setattr(_sources, "floats", lambda dtype: few)
        monkeypatch.setattr(_sources, "wide", lambda: few)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"betweenness_centrality: more than 2\^524286 shortest"):
            sg.algorithms.betweenness_centrality(sg.generators.cycle(4))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"k": 0}, r"k is 0, wanted an integer in \[1, 5\]"),
            ({"k": 6}, r"k is 6, wanted an integer in \[1, 5\]"),
            ({"sources": 3}, r"sources is 3, wanted a list of vertices"),
            ({"k": 1.5}, r"k is 1\.5"),
            ({"k": 1, "sources": [0]}, "k and sources were both given"),
            ({"sources": []}, r"sources is \[\], wanted one vertex or more"),
            ({"sources": [1, 1]}, r"sources is \[1, 1\], wanted .* each once"),
            ({"batch": 0}, "batch is 0, wanted an integer of 1 or more"),
            ({"dtype": int}, "dtype is int64, wanted float32 or float64"),
        ],
    )
    def test_arguments(self, sg, options, message):
        with pytest.raises(sg.exceptions.InvalidValue, match="betweenness_centrality: " + message):
            sg.algorithms.betweenness_centrality(sg.generators.path(5), **options)

    def test_sources_outside(self, sg):
        with pytest.raises(sg.exceptions.IndexOutOfBound, match=r"betweenness_centrality: source is 5.*\[0, 5\)"):
            sg.algorithms.betweenness_centrality(sg.generators.path(5), sources=[0, 5])


class TestHits:
    @pytest.mark.parametrize("name", ["karate", "rmat6-5", "directed12"])
    @pytest.mark.parametrize("normalized", [True, False])
    def test_networkx(self, sg, name, normalized):
        graph = GRAPHS[name]
        hubs, authorities = sg.algorithms.hits(graph.matrix(sg), 20000, tol=1e-13, normalized=normalized)
        as_before = {"method": "svd"} if "method" in inspect.signature(nx.hits).parameters else {}  # since NetworkX 3.7
        expected = nx.hits(nx_graph(graph), normalized=normalized, tol=1e-14, max_iter=2000, **as_before)
        for got, wanted in zip((hubs, authorities), expected):
            values = in_order(wanted, graph.n)
            np.testing.assert_allclose(got.to_dense(), values * np.sign(values.sum()), atol=1e-8)
            assert got.converged
            assert got.residual < 1e-13

    def test_bipartite(self, sg):
        """Where many answers are right, it is the one that an even start leads to."""
        hubs, authorities = sg.algorithms.hits(sg.generators.star(5))
        assert hubs.to_dense() == pytest.approx([0.2] * 5)
        assert authorities.to_dense() == pytest.approx([0.5, 0.125, 0.125, 0.125, 0.125])

    def test_options(self, sg, karate):
        A = karate.matrix(sg)
        unweighted, _ = sg.algorithms.hits(A, weighted=False)
        pattern, _ = sg.algorithms.hits(karate.matrix(sg, bool))
        np.testing.assert_allclose(unweighted.to_dense(), pattern.to_dense(), atol=1e-9)
        started, _ = sg.algorithms.hits(A, nstart={0: 2.0, 5: 1.0}, dtype=np.float32, tol=1e-5)
        assert started.dtype == "FP32"
        np.testing.assert_allclose(started.to_dense(), sg.algorithms.hits(A)[0].to_dense(), atol=1e-4)
        two, _ = sg.algorithms.hits(A, 2, fail_on_nonconvergence=False)
        assert (two.iterations, two.converged) == (2, False)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"hits: not converged after max_iter=2 .* tol"):
            sg.algorithms.hits(A, 2)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"hits: the weight of the edge 0 -> 1 is -1\.0"):
            sg.algorithms.hits(sg.Matrix.from_coo([0], [1], [-1.0], nrows=2, ncols=2))

    def test_without_edges(self, sg):
        for n in (0, 1, 4):
            for normalized in (True, False):
                hubs, authorities = sg.algorithms.hits(sg.Matrix(float, n, n), normalized=normalized)
                assert hubs.to_dense().tolist() == authorities.to_dense().tolist() == [0] * n
                assert hubs.converged

    @pytest.mark.parametrize(
        ("dtype", "weight"),
        [(np.float64, 1e-170), (np.float64, 1e155), (np.float32, 1e-20), (np.float32, 1e-24), (np.float32, 1e25)],
    )
    @pytest.mark.parametrize("normalized", [True, False])
    def test_the_size_of_weights_does_not_matter(self, sg, dtype, weight, normalized):
        rows, cols = [0, 0, 1], [1, 2, 2]
        found = sg.algorithms.hits(sg.Matrix.from_coo(rows, cols, dtype(weight), nrows=3, ncols=3), dtype=dtype,
                                   normalized=normalized)
        ones = sg.algorithms.hits(sg.Matrix.from_coo(rows, cols, 1.0, nrows=3, ncols=3), normalized=normalized)
        for got, wanted, size in zip(found, ones, (1 if normalized else weight, 1)):
            np.testing.assert_allclose(got.to_dense() / dtype(size), wanted.to_dense(), rtol=1e-5, atol=1e-7)

    @pytest.mark.parametrize("nstart", [[0, 0, 0], [-1, 1, 0], 0])
    def test_no_start(self, sg, nstart):
        A = sg.generators.path(3)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"hits: nstart has entries from -?[01]\.0 to [01]"):
            sg.algorithms.hits(A, nstart=nstart)

    def test_weights_that_the_dtype_does_not_hold(self, sg):
        small, large = (sg.Matrix.from_coo([0, 1], [1, 0], [w, w], nrows=2, ncols=2) for w in (1e-60, 1e60))
        with pytest.raises(sg.exceptions.InvalidValue, match="hits: all weights are 0 as float32, wanted one above 0"):
            sg.algorithms.hits(small, dtype=np.float32)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"not finite .*; are sums of weights finite as float32"):
            sg.algorithms.hits(large, dtype=np.float32)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"NaN .*; are all weights, .*, finite as float32"):
            sg.algorithms.pagerank(large, dtype=np.float32)
        assert sg.algorithms.hits(small)[0].converged and sg.algorithms.pagerank(large).converged

    def test_a_start_that_leads_nowhere(self, sg):
        A = sg.generators.path(3, directed=True)
        with pytest.raises(sg.exceptions.InvalidValue, match="hits: nstart is 0 wherever an edge"):
            sg.algorithms.hits(A, nstart={2: 1})
        hubs, _ = sg.algorithms.hits(sg.Matrix.from_coo([0], [1], [0.0], nrows=2, ncols=2))
        assert hubs.to_dense().tolist() == [0, 0]

    def test_no_iteration(self, sg):
        found = sg.algorithms.hits(sg.generators.star(5), 0, fail_on_nonconvergence=False)
        for got, wanted in zip(found, ([0.2] * 5, [0.5, 0.125, 0.125, 0.125, 0.125])):
            assert got.to_dense() == pytest.approx(wanted)
            assert (got.iterations, got.converged) == (0, False)


class TestKatz:
    @pytest.mark.parametrize("name", NONEMPTY)
    def test_networkx(self, sg, name):
        graph = GRAPHS[name]
        A, G = graph.matrix(sg), nx_graph(graph)
        alpha = 0.5 / max(graph.n, 1)
        for options in ({}, {"normalized": False}, {"beta": dict.fromkeys(range(graph.n), 0.5) | {0: 3.0}}):
            got = sg.algorithms.katz_centrality(A, alpha, tol=1e-13, **options)
            expected = nx.katz_centrality(G, alpha, tol=1e-13, **options)
            np.testing.assert_allclose(got.to_dense(), in_order(expected, graph.n), rtol=1e-9)
            assert got.converged
        got = sg.algorithms.katz_centrality(A, alpha / 100, weighted=True, tol=1e-13)
        expected = nx.katz_centrality(G, alpha / 100, weight="weight", tol=1e-13)
        np.testing.assert_allclose(got.to_dense(), in_order(expected, graph.n), rtol=1e-9)

    def test_options(self, sg, karate):
        A = karate.matrix(sg)
        rest = sg.algorithms.katz_centrality(A, 0.05, tol=1e-10, normalized=False)
        again = sg.algorithms.katz_centrality(A, 0.05, nstart=rest, normalized=False)
        assert again.iterations == 1
        ones = sg.Vector.from_scalar(1.0, karate.n)
        for beta in (ones, np.ones(karate.n), 1):
            got = sg.algorithms.katz_centrality(A, 0.05, beta, dtype=np.float32)
            np.testing.assert_allclose(got.to_dense(), sg.algorithms.katz_centrality(A, 0.05).to_dense(), atol=1e-5)
        short = sg.algorithms.katz_centrality(A, 0.05, max_iter=3, fail_on_nonconvergence=False)
        assert (short.iterations, short.converged) == (3, False)
        with pytest.raises(sg.exceptions.InvalidValue, match="katz_centrality: not converged after max_iter=3"):
            sg.algorithms.katz_centrality(A, 0.05, max_iter=3)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"not finite .* as float64; alpha must be less than"):
            sg.algorithms.katz_centrality(A, 10.0)
        with pytest.raises(sg.exceptions.DimensionMismatch, match="katz_centrality: beta has size 3, but A has 34"):
            sg.algorithms.katz_centrality(A, beta=[1, 2, 3])
        for options in ({"alpha": np.nan}, {"max_iter": -1}, {"max_iter": 1.5}, {"tol": -1}, {"dtype": int}):
            with pytest.raises(sg.exceptions.InvalidValue, match=f"katz_centrality: {next(iter(options))} is "):
                sg.algorithms.katz_centrality(A, **options)

    def test_no_vertices(self, sg):
        assert sg.algorithms.katz_centrality(sg.Matrix(int, 0, 0)).size == 0

    @pytest.mark.parametrize(("dtype", "beta"), [(float, 1e200), (float, 1e-200), (np.float32, 1e30)])
    def test_the_size_of_beta_does_not_matter(self, sg, dtype, beta):
        A = sg.generators.star(5)
        got = sg.algorithms.katz_centrality(A, 0.05, beta, dtype=dtype, tol=beta * 1e-6)
        np.testing.assert_allclose(got.to_dense(), sg.algorithms.katz_centrality(A, 0.05).to_dense(), rtol=1e-4)

    def test_a_weight_is_to_blame(self, sg):
        A = sg.Matrix.from_coo([0, 1, 2], [1, 2, 0], [1.0, np.nan, 2.0], nrows=3, ncols=3)
        for name in ("pagerank", "hits", "katz_centrality", "eigenvector_centrality"):
            with pytest.raises(sg.exceptions.InvalidValue, match=f"{name}: the weight of the edge 1 -> 2 is NaN"):
                getattr(sg.algorithms, name)(A, weighted=True)

    def test_beta_is_to_blame(self, sg):
        A = sg.generators.path(3)
        with pytest.raises(sg.exceptions.InvalidValue, match="katz_centrality: beta is nan, wanted a finite float64"):
            sg.algorithms.katz_centrality(A, beta=np.nan)
        with pytest.raises(sg.exceptions.InvalidValue, match="katz_centrality: beta is inf at vertex 1, wanted"):
            sg.algorithms.katz_centrality(A, beta=[1, np.inf, 1])
        with pytest.raises(sg.exceptions.InvalidValue, match=r"katz_centrality: alpha is 1e\+50, wanted .* float32"):
            sg.algorithms.katz_centrality(A, 1e50, dtype=np.float32)


class TestEigenvector:
    @pytest.mark.parametrize("name", ["karate", "rmat6-5", "star", "grid7", "path"])
    def test_networkx(self, sg, name):
        graph = GRAPHS[name]
        got = sg.algorithms.eigenvector_centrality(graph.matrix(sg), 5000, tol=1e-13)
        expected = nx.eigenvector_centrality(nx_graph(graph), 5000, tol=1e-13)
        np.testing.assert_allclose(got.to_dense(), in_order(expected, graph.n), atol=1e-9)

    def test_options(self, sg, karate):
        A = karate.matrix(sg)
        got = sg.algorithms.eigenvector_centrality(A, 1000, weighted=True, tol=1e-10)
        expected = nx.eigenvector_centrality(nx_graph(karate), 1000, weight="weight", tol=1e-10)
        np.testing.assert_allclose(got.to_dense(), in_order(expected, karate.n), atol=1e-7)
        again = sg.algorithms.eigenvector_centrality(A, nstart=got, weighted=True, tol=1e-8)
        assert again.iterations <= 2
        with pytest.raises(sg.exceptions.InvalidValue, match=r"eigenvector_centrality: nstart has the sum 0\.0"):
            sg.algorithms.eigenvector_centrality(A, nstart=0)
        with pytest.raises(sg.exceptions.InvalidValue, match="eigenvector_centrality: not converged"):
            sg.algorithms.eigenvector_centrality(A, 2)
        large = A.apply(sg.binary.times, right=1e38).new()
        with pytest.raises(sg.exceptions.InvalidValue, match=r"not finite .*; are sums of weights finite as float32\?"):
            sg.algorithms.eigenvector_centrality(large, weighted=True, dtype=np.float32)
        assert sg.algorithms.eigenvector_centrality(sg.Matrix(int, 0, 0)).size == 0

    @pytest.mark.parametrize(("dtype", "weight"), [(float, 1e155), (np.float32, 1e20)])
    def test_squares_beyond_all_numbers(self, sg, dtype, weight):
        A = sg.Matrix.from_coo([0, 1, 1, 2], [1, 0, 2, 1], dtype(weight), nrows=3, ncols=3)
        got = sg.algorithms.eigenvector_centrality(A, nstart=[1, 2, 1], weighted=True, dtype=dtype,
                                                   fail_on_nonconvergence=False)
        assert np.linalg.norm(got.to_dense()) == pytest.approx(1)
        small = sg.algorithms.eigenvector_centrality(sg.generators.path(3), nstart=[1e-310, 2e-310, 1e-310])
        np.testing.assert_allclose(small.to_dense(), [0.5, 0.5**0.5, 0.5], rtol=1e-5)

    def test_no_iteration(self, sg):
        got = sg.algorithms.eigenvector_centrality(sg.generators.path(4), 0, fail_on_nonconvergence=False)
        assert got.to_dense() == pytest.approx([0.5] * 4)
        assert got.iterations == 0


RANKED = ("pagerank", "eigenvector_centrality", "katz_centrality", "hits")


class TestAllByIteration:
    @pytest.mark.parametrize("name", RANKED)
    def test_a_copy_has_the_report(self, sg, name):
        found = getattr(sg.algorithms, name)(sg.generators.path(5), max_iter=3, fail_on_nonconvergence=False)
        for got in found if name == "hits" else [found]:
            for again in (copy.copy(got), copy.deepcopy(got), pickle.loads(pickle.dumps(got))):
                assert type(again) is type(got)
                assert isinstance(again, sg.algorithms.IteratedVector)
                assert again.isequal(got)
                for what in ("iterations", "residual", "converged", "name", "dtype", "device"):
                    assert getattr(again, what) == getattr(got, what)
                again[0] = 7
                assert got[0].new().value != 7
            assert type(got.dup()) is sg.Vector

    @pytest.mark.parametrize("name", RANKED)
    def test_a_stored_false_weighs_nothing(self, sg, name):
        rows, cols, values = [0, 0, 1, 1, 2, 2, 3], [1, 2, 0, 2, 0, 1, 0], [True] * 6 + [False]
        options = {"weighted": True, "max_iter": 10, "fail_on_nonconvergence": False}
        found = [
            getattr(sg.algorithms, name)(sg.Matrix.from_coo(rows, cols, values, dtype, nrows=4, ncols=4), **options)
            for dtype in (bool, float)
        ]
        for got, wanted in zip(*(found if name == "hits" else zip(found))):
            np.testing.assert_allclose(got.to_dense(), wanted.to_dense(), rtol=1e-12)

    @pytest.mark.parametrize("name", RANKED)
    def test_names_of_types(self, sg, name):
        for dtype in ("FP32", sg.dtypes.FP32, np.float32):
            found = getattr(sg.algorithms, name)(sg.generators.complete(4), dtype=dtype)
            assert (found[0] if name == "hits" else found).dtype == "FP32"

    @pytest.mark.parametrize("name", RANKED)
    @pytest.mark.parametrize(
        ("argument", "given"),
        [("tol", "a"), ("tol", None), ("tol", [1, 2]), ("max_iter", "a"), ("max_iter", 1.5), ("dtype", "INT32"),
         ("dtype", "x"), ("nstart", "a"), ("nstart", ["a"] * 3)],
    )  # fmt: skip
    def test_messages_name_the_argument(self, sg, name, argument, given):
        with pytest.raises(sg.exceptions.InvalidValue, match=f"^{name}: {argument} is "):
            getattr(sg.algorithms, name)(sg.generators.path(3), **{argument: given})

    @pytest.mark.parametrize("name", RANKED)
    def test_starts_elsewhere(self, sg, name):
        with pytest.raises(sg.exceptions.IndexOutOfBound, match=f"^{name}: nstart: .*5"):
            getattr(sg.algorithms, name)(sg.generators.path(3), nstart={5: 1})

    @pytest.mark.parametrize("name", RANKED)
    @pytest.mark.parametrize("nstart", [{0: 1e39}, [1e39, 1, 1]])
    def test_starts_beyond_the_type(self, sg, name, nstart):
        with pytest.raises(sg.exceptions.InvalidValue, match=rf"^{name}: nstart.*(inf|1e\+39)"):
            getattr(sg.algorithms, name)(sg.generators.path(3), nstart=nstart, dtype="FP32")

    @pytest.mark.parametrize("name", ["pagerank", "katz_centrality"])
    def test_alpha_is_a_number(self, sg, name):
        for alpha in ("a", None, np.nan):
            with pytest.raises(sg.exceptions.InvalidValue, match=f"^{name}: alpha is {alpha!r}, wanted "):
                getattr(sg.algorithms, name)(sg.generators.path(3), alpha=alpha)


@pytest.mark.parametrize(("weight", "dtype"), [(1e308, np.float64), (1e38, np.float32), (3.0, np.float64)])
def test_out_weights_that_overflow_lose_no_rank(sg, weight, dtype):
    """Whether or not a Matrix is known to be symmetric."""
    hub, leaves = [0] * 5, [1, 2, 3, 4, 5]
    A = sg.Matrix.from_coo(hub + leaves, leaves + hub, [weight] * 10, nrows=7, ncols=7)
    ranks = []
    for symmetric in (None, True):
        A._block.symmetric = symmetric
        ranks.append(sg.algorithms.pagerank(A, dtype=dtype).to_dense())
    assert all(abs(rank.sum() - 1) < 1e-5 for rank in ranks)
    assert np.allclose(*ranks, rtol=1e-5)
