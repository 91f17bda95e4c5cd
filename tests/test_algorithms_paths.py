"""Bellman-Ford, negative cycles and BFS from several sources: SciPy's and NetworkX's answers, and edge cases."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from algorithm_calls import _distances as distances
from graphs import GRAPHS
from scipy.sparse.csgraph import dijkstra

from spgraph.algorithms import _buckets, _tree

NONEMPTY = [name for name, graph in GRAPHS.items() if graph.n]


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """python-graphblas has no algorithms."""


def arcs(sg, pairs, weights, n=None, dtype=None):
    rows, cols = np.array(pairs).reshape(-1, 2).T
    n = n if n is not None else int(max(rows.max(), cols.max())) + 1
    return sg.Matrix.from_coo(rows, cols, weights, dtype, nrows=n, ncols=n)


def hops(graph):
    pattern = scipy.sparse.csr_array((graph.weights, (graph.rows, graph.cols)), shape=(graph.n, graph.n))
    found = dijkstra(pattern, unweighted=True)
    return np.where(np.isfinite(found), found, -1)


def drawn(seed, n=24, m=70, negative=0.1):
    """A random directed graph with some negative weights, in both worlds."""
    rng = np.random.default_rng(seed)
    rows, cols = np.divmod(np.unique(rng.integers(0, n * n, m)), n)
    weights = rng.integers(1, 20, rows.size) * np.where(rng.random(rows.size) < negative, -1, 1)
    G = nx.DiGraph()
    G.add_nodes_from(range(n))
    G.add_weighted_edges_from(zip(rows.tolist(), cols.tolist(), weights.tolist()))
    return rows, cols, weights, G


class TestBellmanFord:
    @pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float32, np.float64])
    def test_networkx(self, sg, dtype):
        with_cycles = 0
        for seed in range(12):
            rows, cols, weights, G = drawn(seed)
            A = sg.Matrix.from_coo(rows, cols, weights, dtype, nrows=24, ncols=24)
            try:
                expected = nx.single_source_bellman_ford_path_length(G, 0)
            except nx.NetworkXUnbounded:
                with_cycles += 1
                with pytest.raises(sg.exceptions.InvalidValue, match=r"bellman_ford: .*negative.*negative_cycle"):
                    sg.algorithms.bellman_ford(A, 0)
                self.check_cycle(sg.algorithms.negative_cycle(A, 0), G)
                continue
            assert sg.algorithms.negative_cycle(A, 0) is None
            dist, parent = sg.algorithms.bellman_ford(A, 0)
            assert dist.to_dict() == expected
            parents = parent.to_dict()
            assert parents.keys() == expected.keys()
            assert parents.pop(0) == 0
            for v, u in parents.items():
                assert expected[u] + G[u][v]["weight"] == expected[v]
        assert 0 < with_cycles < 12

    @staticmethod
    def check_cycle(cycle, G):
        assert len(set(cycle)) == len(cycle)
        assert all(type(vertex) is int for vertex in cycle)
        assert sum(G[u][v]["weight"] for u, v in zip(cycle, [*cycle[1:], cycle[0]])) < 0
        assert nx.has_path(G, 0, cycle[0])

    def test_edge_cases(self, sg):
        """EDGE_CASES 9."""
        A = arcs(sg, [(0, 1), (0, 2), (2, 1)], [2, 5, -10])
        dist, parent = sg.algorithms.bellman_ford(A, 0)
        assert (dist.to_dense().tolist(), parent.to_dense().tolist()) == ([0, -5, 5], [0, 2, 0])
        assert sg.algorithms.negative_cycle(A, 0) is None
        for dtype in ("INT64", "FP64", "INT8"):
            two = arcs(sg, [(0, 1), (1, 0)], [1, -2], dtype=dtype)
            with pytest.raises(sg.exceptions.InvalidValue, match="bellman_ford: a cycle of negative weight"):
                sg.algorithms.bellman_ford(two, 0)
            assert sorted(sg.algorithms.negative_cycle(two, 1)) == [0, 1]
        assert sg.algorithms.negative_cycle(sg.Matrix.from_coo([0], [0], [-1]), 0) == [0]
        at_the_end = arcs(sg, [(0, 1), (1, 2), (2, 2)], [1, 1, -1])
        assert sg.algorithms.negative_cycle(at_the_end, 0) == [2]
        zeros = arcs(sg, [(0, 1), (1, 2), (2, 0), (2, 3)], [-4, 0, 4, -7])
        assert sg.algorithms.bellman_ford(zeros, 0)[0].to_dense().tolist() == [0, -4, -4, -11]
        assert sg.algorithms.negative_cycle(zeros, 0) is None

    def test_a_cycle_out_of_reach(self, sg):
        A = arcs(sg, [(0, 1), (2, 3), (3, 2)], [-1, 1, -2])
        assert distances(sg.algorithms.bellman_ford(A, 0)[0]).tolist()[:2] == [0, -1]
        assert sg.algorithms.negative_cycle(A, 0) is None
        assert sorted(sg.algorithms.negative_cycle(A, 2)) == [2, 3]

    def test_a_long_cycle(self, sg):
        n = 300
        A = arcs(sg, [(i, (i + 1) % n) for i in range(n)], [-2, *[0] * (n - 2), 1])
        cycle = sg.algorithms.negative_cycle(A, 5)
        assert sorted(cycle) == list(range(n))
        start = cycle.index(0)
        assert cycle[start:] + cycle[:start] == list(range(n))

    @pytest.mark.parametrize("n", [1, 2, 3, 1000])
    @pytest.mark.parametrize("most", [2**31 - 1, 2**63 - 1])
    @pytest.mark.parametrize("less", [-1, 0, 1])
    def test_sums_around_a_cycle_do_not_wrap(self, sg, n, most, less):
        weight = -(most // n + less if n > 1 else most - abs(less))
        edges = [(0, 1), (1, 0)] if n > 1 else [(0, 0)]
        A = sg.Matrix.from_coo(*zip(*edges), weight, nrows=n, ncols=n)
        for name in ("sssp", "sssp_parents", "bellman_ford"):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"cycle of negative weight|may not fit int64"):
                getattr(sg.algorithms, name)(A, 0)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_distances_that_fall_out_of_range(self, sg, dtype):
        low = -dtype(np.finfo(dtype).max) / 2
        for edges, weights in (([(0, 1), (1, 0)], [low, 1]), ([(0, 1), (1, 2), (2, 3)], [low, low, low])):
            A = arcs(sg, edges, np.array(weights, dtype))
            for name in ("sssp", "bellman_ford"):
                with pytest.raises(sg.exceptions.InvalidValue, match=r"cycle of negative|below all numbers of FP"):
                    getattr(sg.algorithms, name)(A, 0)
        for n in (5, 10):  # at -inf before the pointers are looked at again
            A = sg.Matrix.from_coo(range(5), [1, 2, 3, 4, 0], low, nrows=n, ncols=n)
            assert sorted(sg.algorithms.negative_cycle(A, 0)) == [0, 1, 2, 3, 4]
        A = arcs(sg, [(0, 1), (1, 2), (2, 3)], np.array([low, low, low], dtype))
        assert sg.algorithms.negative_cycle(A, 0) is None
        A = arcs(sg, [(0, 1), (1, 2)], np.array([low, low], dtype))
        assert distances(sg.algorithms.bellman_ford(A, 0)[0]).tolist() == [0, low, 2 * low]

    def test_weights_that_are_infinite_in_the_type_of_distances(self, sg):
        A = arcs(sg, [(0, 1), (1, 2)], [1e300, -1e300])
        for name in ("sssp", "sssp_parents", "bellman_ford", "negative_cycle"):
            with pytest.raises(sg.exceptions.InvalidValue, match=rf"{name}: .* edge 1 -> 2 is -1e\+300, .* as float32"):
                getattr(sg.algorithms, name)(A, 0, dtype=np.float32)
        assert distances(sg.algorithms.sssp(A, 0)).tolist() == [0, 1e300, 0]
        far = sg.algorithms.sssp(arcs(sg, [(0, 1), (1, 2)], [1e300, -1.0]), 0, dtype=np.float32)
        assert distances(far).tolist() == [0, np.inf, np.inf]

    @pytest.mark.parametrize("n", [3, 4])
    def test_rounding_around_a_cycle_of_weight_0(self, sg, n):
        A = sg.Matrix.from_coo([2, 0, 1], [0, 1, 0], [0.1, -1.0, 1.0], nrows=n, ncols=n)
        found = sg.algorithms.bellman_ford(A, 2)[0].to_dict()
        assert found == pytest.approx({0: 0.1, 1: -0.9, 2: 0})

    def test_input(self, sg):
        A = arcs(sg, [(0, 1)], [1.0])
        with pytest.raises(sg.exceptions.InvalidValue, match=r"sssp: the weight of the edge 1 -> 0 is -inf"):
            sg.algorithms.sssp(arcs(sg, [(0, 1), (1, 0)], [1.0, -np.inf]), 0)
        for delta in (10**400, 1e300):
            assert distances(sg.algorithms.sssp(A, 0, delta=delta)).tolist() == [0, 1]
        for delta in (-(10**400), 0, "1", np.nan):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"sssp: delta is .*, wanted a positive number"):
                sg.algorithms.sssp(A, 0, delta=delta)
        for name in ("bellman_ford", "negative_cycle"):
            run = getattr(sg.algorithms, name)
            with pytest.raises(sg.exceptions.IndexOutOfBound, match=rf"{name}: source is 2, .*\[0, 2\)"):
                run(A, 2)
            with pytest.raises(sg.exceptions.InvalidValue, match=rf"{name}: .*0 -> 1 is NaN"):
                run(arcs(sg, [(0, 1)], [np.nan]), 0)
            with pytest.raises(sg.exceptions.DimensionMismatch, match=rf"{name}: A is 2 x 3"):
                run(sg.Matrix(int, 2, 3), 0)
            with pytest.raises(sg.exceptions.InvalidValue, match=rf"{name}: the weight of the edge 0 -> 1 is -inf"):
                run(arcs(sg, [(0, 1), (1, 0)], [-np.inf, 1.0]), 0)
        endless = sg.algorithms.bellman_ford(arcs(sg, [(0, 1), (1, 2)], [-1.0, np.inf]), 0)
        assert endless[0].to_dict()[1] == -1
        alone = sg.algorithms.bellman_ford(sg.Matrix(int, 1, 1), 0)
        assert [part.to_dict() for part in alone] == [{0: 0}, {0: 0}]


class TestSeveralSources:
    @pytest.mark.parametrize("name", NONEMPTY)
    def test_scipy(self, sg, name):
        graph = GRAPHS[name]
        A, expected = graph.matrix(sg), hops(graph)
        sources = sorted({0, graph.n // 2, graph.n - 1})
        each = sg.algorithms.bfs_from_each(A, sources)
        assert (each.dtype, each.shape) == ("INT32", (len(sources), graph.n))
        assert each.to_dense(fill_value=-1).tolist() == expected[sources].tolist()
        nearest = sg.algorithms.bfs_from_any(A, sources)
        found = np.where(expected[sources] < 0, np.inf, expected[sources]).min(axis=0)
        assert nearest.dtype == "INT32"
        assert nearest.to_dense(fill_value=-1).tolist() == np.where(np.isfinite(found), found, -1).tolist()

    @pytest.mark.parametrize("direction", ["push", "pull"])
    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_settings(self, sg, karate, direction, order):
        with sg.Context(direction=direction, order=order):
            A = sg.io.from_scipy(sg.io.to_scipy(karate.matrix(sg)))
            each = sg.algorithms.bfs_from_each(A, [3, 30, 3])
            assert each.to_dense(fill_value=-1).tolist() == hops(karate)[[3, 30, 3]].tolist()
            nearest = sg.algorithms.bfs_from_any(A, [3, 30, 3])
            assert nearest.to_dense().tolist() == hops(karate)[[3, 30]].min(axis=0).tolist()

    def test_options(self, sg):
        A = sg.generators.path(6)
        assert sg.algorithms.bfs_from_each(A, [0, 5], max_depth=1).to_dense(fill_value=-1).tolist() == [
            [0, 1, -1, -1, -1, -1],
            [-1, -1, -1, -1, 1, 0],
        ]
        assert sg.algorithms.bfs_from_any(A, np.array([0, 5]), max_depth=1).to_dict() == {0: 0, 1: 1, 4: 1, 5: 0}
        assert sg.algorithms.bfs_from_each(A, []).shape == (0, 6)
        assert sg.algorithms.bfs_from_any(A, []).nvals == 0
        for name in ("bfs_from_each", "bfs_from_any"):
            with pytest.raises(sg.exceptions.IndexOutOfBound, match=rf"{name}: source is 6, .*\[0, 6\)"):
                getattr(sg.algorithms, name)(A, [0, 6])
            with pytest.raises(sg.exceptions.InvalidValue, match=f"{name}: max_depth is -1"):
                getattr(sg.algorithms, name)(A, [0], max_depth=-1)
            with pytest.raises(sg.exceptions.InvalidValue, match=f"{name}: sources is 3, wanted a list of vertices"):
                getattr(sg.algorithms, name)(A, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_edges_that_add_nothing_cost_no_product_of_matrices(sg, monkeypatch, dtype):
    """0 -5-> 1 -0-> 2 -0-> 3, and 3 -0-> 2: parents of 2 and 3 wait for those of 1 and 2, and no cycle closes."""
    monkeypatch.setattr(_tree, "_tree_of_tight_edges", lambda *_: pytest.fail("the slow way"))
    A = sg.Matrix.from_coo([0, 1, 2, 3, 0], [1, 2, 3, 2, 4], np.array([5, 0, 0, 0, 7], dtype), nrows=5, ncols=5)
    distance, parent = sg.algorithms.sssp_parents(A, 0)
    assert distance.to_dense().tolist() == [0, 5, 5, 5, 7]
    assert parent.to_dense().tolist() == [0, 0, 1, 2, 0]


@pytest.mark.parametrize("dtype", ["INT32", "INT64", "UINT64", "FP64"])
@pytest.mark.parametrize("name", ["sssp_parents", "bellman_ford"])
def test_trees_of_sums_that_float32_rounds(sg, monkeypatch, name, dtype):
    """Weights become distances, then are added: parents are those by which the distances come, without a slow way."""
    monkeypatch.setattr(_tree, "_tree_of_tight_edges", lambda *_: pytest.fail("the slow way"))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = 30
        rows, cols = np.nonzero(rng.random((n, n)) < 0.15)
        weights = rng.integers(1, 1 << 26, rows.size) if dtype != "FP64" else rng.random(rows.size) * 30
        A = arcs(sg, list(zip(rows, cols)), weights.tolist(), n, dtype)
        distance, parent = getattr(sg.algorithms, name)(A, 0, dtype=np.float32)
        far = {v: np.float32(d) for v, d in distance.to_dict().items()}
        weight = {(i, j): np.float32(w) for i, j, w in zip(*A.to_coo())}
        assert all(far[j] <= far[i] + w for (i, j), w in weight.items() if i in far)
        assert all(far[p] + weight[p, v] == far[v] for v, p in parent.to_dict().items() if v != 0)
        assert parent.to_dict().keys() == far.keys()


@pytest.mark.parametrize("dtype", ["INT8", "INT32", "INT64", "FP32", "FP64"])
@pytest.mark.parametrize("name", ["sssp_parents", "bellman_ford"])
def test_no_tree_closes_a_cycle_that_weighs_nothing(sg, name, dtype):
    """Where weights are differences of potentials all cycles weigh 0, and every edge ends a shortest path."""
    cases = [([2, 1, 0], [1, 0, 1], [0, 1, -1], 3, 2), ([3, 2, 1, 0], [2, 1, 0, 1], [5, 0, 1, -1], 4, 3)]
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 12))
        height = rng.integers(-3, 4, n)
        rows, cols = rng.integers(0, n, (2, 4 * n))
        rows, cols = np.unique(np.stack([rows, cols])[:, rows != cols], axis=1)
        longer = rng.integers(0, 2, rows.size) * (seed % 3)
        cases.append((rows, cols, height[cols] - height[rows] + longer, n, int(rng.integers(0, n))))
    for rows, cols, weights, n, source in cases:
        A = arcs(sg, list(zip(rows, cols)), weights, n, dtype)
        distance, parent = getattr(sg.algorithms, name)(A, source)
        far, up = distance.to_dict(), parent.to_dict()
        weight = dict(zip(zip(map(int, rows), map(int, cols)), weights))
        assert up.keys() == far.keys()
        assert up[source] == source
        for v in far:
            assert v == source or far[up[v]] + weight[up[v], v] == far[v]
            at, steps = v, 0
            while at != source:
                at, steps = up[at], steps + 1
                assert steps <= n, (rows, cols, weights, source)


@pytest.mark.parametrize(("first", "relaxed", "before", "reached", "factor"), [
    (1, 1, 2, 3, 1),  # from a leaf to its neighbour: the hubs are still to come
    (1, 900, 300, 600, 1),
    (100, 112, 600, 700, 4),  # hardly a vertex is relaxed again
    (100, 113, 600, 700, 2),
    (900, 1000, 2000, 2100, 4),
    (900, 1800, 2000, 2100, 1),
])
def test_how_buckets_widen(first, relaxed, before, reached, factor):
    assert _buckets._widening(first, relaxed, 500, before, reached) == factor


def test_buckets_stay_narrow_until_the_hubs_are_met(sg, monkeypatch):
    """From a leaf at the end of a path, as soon as from a hub: neither relaxes every vertex twice."""
    core = sg.generators.rmat(11, 16, seed=1, weights="int")
    rows, cols, weights = core.to_coo()
    n, last, hub = core.nrows + 3, core.nrows + 2, int(np.argmax(np.bincount(rows)))
    path = np.array([[hub, n - 3], [n - 3, n - 2], [n - 2, last]])
    ends = np.concatenate([path, path[:, ::-1]])
    A = sg.Matrix.from_coo(np.r_[rows, ends[:, 0]], np.r_[cols, ends[:, 1]],
                           np.r_[weights, np.full(6, weights.max())], nrows=n, ncols=n)
    total, widening = {}, _buckets._widening

    def spy(first, relaxed, *more):
        total[source] = total.get(source, 0) + relaxed
        return widening(first, relaxed, *more)

    monkeypatch.setattr(_buckets, "_widening", spy)
    for source in (hub, last):
        distance = sg.algorithms.sssp(A, source, delta=8 * weights.mean() * n / rows.size)
        assert total[source] < 2 * distance.nvals, source
