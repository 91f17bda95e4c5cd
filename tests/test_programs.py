"""Real programs: one text under both engines on many graphs, and second opinions of SciPy and NetworkX."""

import dataclasses
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from graphs import GRAPHS
from programs import linear, paths, ranking, structure, traversal

NONEMPTY = tuple(name for name, g in GRAPHS.items() if g.n)
WITH_ARCS = tuple(name for name, g in GRAPHS.items() if g.rows.size)
SIMPLE = tuple(name for name in WITH_ARCS if GRAPHS[name].simple)
SYMMETRIC = tuple(name for name in NONEMPTY if GRAPHS[name].symmetric)


def scores(gb, graph, dtype="INT64"):
    order = np.random.default_rng(7).permutation(graph.n) + 1
    return gb.Vector.from_coo(np.arange(graph.n), order, dtype, size=graph.n)


def halves(gb, graph):
    return gb.Vector.from_coo(np.arange(graph.n), np.arange(graph.n) % 2, size=graph.n)


@dataclasses.dataclass(frozen=True)
class Case:
    """A program, the graphs that it is for, its matrix's dtype and what else it takes."""

    program: Callable
    graphs: tuple[str, ...] = NONEMPTY
    dtype: type = np.int64
    more: Callable = lambda gb, graph: ()

    def run(self, gb, graph):
        return self.program(gb, graph.matrix(gb, self.dtype), *self.more(gb, graph))


def source(gb, graph):
    return (int(np.bincount(graph.rows, minlength=graph.n).argmax()),)


def sources(gb, graph):
    return (list(range(0, graph.n, max(1, graph.n // 3))),)


def score(gb, graph):
    return (scores(gb, graph),)


CASES = [
    Case(traversal.bfs_levels, NONEMPTY, bool, source),
    Case(traversal.bfs_levels_dense, NONEMPTY, bool, source),
    Case(traversal.bfs_pull_levels, NONEMPTY, np.float64, source),
    Case(traversal.bfs_parents, NONEMPTY, bool, source),
    Case(traversal.bfs_parents_by_value, NONEMPTY, np.int64, source),
    Case(traversal.bfs_many, NONEMPTY, bool, sources),
    Case(traversal.topological_levels, NONEMPTY, np.int32),
    Case(paths.bellman_ford, NONEMPTY, np.int64, source),
    Case(paths.bellman_ford, NONEMPTY, np.float32, source),
    Case(paths.bellman_ford_changed, NONEMPTY, np.float64, source),
    Case(paths.delta_stepping, NONEMPTY, np.int64, lambda gb, graph: (*source(gb, graph), 20)),
    Case(paths.sssp_parents, NONEMPTY, np.int64, source),
    Case(paths.all_pairs, NONEMPTY, np.int64),
    Case(paths.widest_paths, NONEMPTY, np.int32, source),
    Case(ranking.pagerank, NONEMPTY, np.float64),
    Case(ranking.personalized_pagerank, NONEMPTY, np.float64, source),
    Case(ranking.katz, NONEMPTY, bool),
    Case(ranking.hits, WITH_ARCS, bool),
    Case(ranking.betweenness, NONEMPTY, bool, sources),
    Case(ranking.betweenness_by_shares, NONEMPTY, bool, sources),
    Case(ranking.eigenvector, NONEMPTY, bool),
    Case(structure.connected_components, SYMMETRIC, bool),
    Case(structure.components_by_labels, NONEMPTY, bool),
    Case(structure.triangles_burkhardt, SIMPLE, bool),
    Case(structure.triangles_cohen, SIMPLE, np.int64),
    Case(structure.triangles_sandia, SIMPLE, np.float64),
    Case(structure.clustering, SIMPLE, bool),
    Case(structure.k_truss, SIMPLE, bool, lambda gb, graph: (3,)),
    Case(structure.k_truss, SIMPLE, np.int64, lambda gb, graph: (4,)),
    Case(structure.core_numbers, SIMPLE, bool),
    Case(structure.maximal_independent_set, SIMPLE, bool, score),
    Case(structure.greedy_colouring, SIMPLE, bool, score),
    Case(structure.markov_clusters, SYMMETRIC, bool),
    Case(structure.components_by_pointers, SYMMETRIC, bool),
    Case(structure.votes, NONEMPTY, np.int64),
    Case(structure.library_components, NONEMPTY, np.float32),
    Case(structure.library_triangles, SIMPLE, bool),
    Case(linear.jaccard, SIMPLE, bool),
    Case(linear.bipartite_projection, NONEMPTY, np.int64),
    Case(linear.walks, NONEMPTY, bool, lambda gb, graph: (4,)),
    Case(linear.transitive_closure, NONEMPTY, np.int8),
    Case(linear.heat_diffusion, SYMMETRIC, np.int64),
    Case(linear.laplacian, SIMPLE, np.int64),
    Case(linear.incidence, SIMPLE, bool),
    Case(linear.modularity, NONEMPTY, bool, lambda gb, graph: (halves(gb, graph),)),
    Case(linear.label_propagation, SIMPLE, bool),
    Case(linear.subgraph_counts, NONEMPTY, np.int64, lambda gb, graph: (sources(gb, graph)[0],)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.program.__name__}-{case.dtype.__name__}")
def test_program(agree, case):
    for name in case.graphs:
        graph = GRAPHS[name]

        def text(gb, graph=graph):
            return case.run(gb, graph)

        text.__name__ = f"{case.program.__name__} on {name}"
        agree(text, rtol=1e-4 if case.dtype is np.float32 else 1e-7, atol=1e-9)


def nx_graph(graph):
    G = nx.Graph() if graph.symmetric else nx.DiGraph()
    G.add_nodes_from(range(graph.n))
    G.add_weighted_edges_from(zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist()))
    return G


def scipy_graph(graph):
    shape = graph.n, graph.n
    return scipy.sparse.csr_array((graph.weights, (graph.rows, graph.cols)), shape=shape)


@pytest.mark.parametrize("name", NONEMPTY)
def test_distances_of_scipy(gb, name):
    graph = GRAPHS[name]
    start = source(gb, graph)[0]
    hops = scipy.sparse.csgraph.dijkstra(scipy_graph(graph), indices=start, unweighted=True)
    far = scipy.sparse.csgraph.dijkstra(scipy_graph(graph), indices=start)
    A = graph.matrix(gb)
    reached = np.flatnonzero(np.isfinite(hops))
    for levels in (traversal.bfs_levels(gb, A, start), traversal.bfs_pull_levels(gb, A, start)):
        assert levels.to_dict() == {int(v): int(hops[v]) for v in reached}
    for dist in (paths.bellman_ford(gb, A, start), paths.delta_stepping(gb, A, start, 7)):
        assert dist.to_dict() == {int(v): int(far[v]) for v in reached}
    assert paths.all_pairs(gb, A)[start, :].new().to_dict() == dist.to_dict()


@pytest.mark.parametrize("name", NONEMPTY)
def test_parents_are_valid(gb, name):
    graph = GRAPHS[name]
    start = source(gb, graph)[0]
    A = graph.matrix(gb, bool)
    level = traversal.bfs_levels(gb, A, start).to_dict()
    parents = traversal.bfs_parents, traversal.bfs_any_parents, traversal.bfs_parents_by_value
    arcs = set(zip(graph.rows.tolist(), graph.cols.tolist()))
    for program in parents:
        parent = program(gb, A, start).to_dict()
        assert parent.keys() == level.keys()
        assert parent.pop(start) == start
        for child, above in parent.items():
            assert (above, child) in arcs
            assert level[child] == level[above] + 1


@pytest.mark.parametrize("name", SIMPLE)
def test_structure_of_networkx(gb, name):
    graph, A = GRAPHS[name], GRAPHS[name].matrix(gb, bool)
    G = nx_graph(graph)
    components = {min(c): c for c in nx.connected_components(G)}
    smallest = {v: label for label, members in components.items() for v in members}
    assert structure.connected_components(gb, A).to_dict() == smallest
    assert structure.components_by_labels(gb, A).to_dict() == smallest
    triangles = sum(nx.triangles(G).values()) // 3
    assert structure.triangles_burkhardt(gb, A) == structure.triangles_cohen(gb, A) == triangles
    assert [*map(int, structure.triangles_sandia(gb, A))] == [triangles, triangles]
    assert structure.core_numbers(gb, A).to_dict() == nx.core_number(G)
    truss = structure.k_truss(gb, A, 4)
    assert {(i, j) for i, j in truss if i < j} == {(min(e), max(e)) for e in nx.k_truss(G, 4).edges}
    members = set(structure.maximal_independent_set(gb, A, scores(gb, graph)).to_dict())
    assert not any(u in members and v in members for u, v in G.edges)
    assert all(v in members or members & set(G[v]) for v in G)
    colour = structure.greedy_colouring(gb, A, scores(gb, graph)).to_dict()
    assert len(colour) == graph.n
    assert all(colour[u] != colour[v] for u, v in G.edges)


@pytest.mark.parametrize("name", ["karate", "rmat6-5", "grid7", "star"])
def test_rankings_of_networkx(gb, name):
    graph, A = GRAPHS[name], GRAPHS[name].matrix(gb, bool)
    G = nx_graph(graph)
    start = source(gb, graph)[0]
    pagerank, iterations = ranking.pagerank(gb, A)
    expected = nx.pagerank(G, weight=None, tol=1e-12, max_iter=500)
    np.testing.assert_allclose(pagerank.to_dense(), [expected[v] for v in range(graph.n)], atol=1e-8)
    assert 1 < iterations < 200
    personal = ranking.personalized_pagerank(gb, graph.matrix(gb), start, iterations=200)
    expected = nx.pagerank(G, personalization={start: 1}, tol=1e-12, max_iter=500)
    np.testing.assert_allclose(personal.to_dense(fill_value=0), [expected[v] for v in range(graph.n)], atol=1e-8)
    centrality = ranking.betweenness(gb, A, list(range(graph.n)))
    expected = nx.betweenness_centrality(G, normalized=False)
    np.testing.assert_allclose(centrality.to_dense(), [2 * expected[v] for v in range(graph.n)], atol=1e-8)
    katz = ranking.katz(gb, A, alpha=0.02, tol=1e-12)
    expected = nx.katz_centrality_numpy(G, alpha=0.02)
    np.testing.assert_allclose(katz.to_dense(), [expected[v] for v in range(graph.n)], rtol=1e-6)


@pytest.mark.parametrize("name", NONEMPTY)
def test_linear_algebra_of_scipy(gb, name):
    graph, A = GRAPHS[name], GRAPHS[name].matrix(gb, bool)
    P = scipy_graph(graph).astype(bool).astype(np.int64)
    walks, starting, _ = linear.walks(gb, A, 4)
    expected = (P @ P @ P @ P).toarray()
    np.testing.assert_array_equal(walks.to_dense(fill_value=0), expected)
    np.testing.assert_array_equal(starting.to_dense(fill_value=0), expected.sum(axis=1))
    reach = linear.transitive_closure(gb, A)
    paths_of_any_length = (np.eye(graph.n, dtype=np.int64) + P.toarray() > 0).astype(float)
    reached = P.toarray() @ (np.linalg.matrix_power(paths_of_any_length, max(graph.n, 1)) > 0)
    np.testing.assert_array_equal(reach.to_dense(fill_value=False), reached > 0)
    W = scipy_graph(graph)
    rows, columns, _ = linear.bipartite_projection(gb, graph.matrix(gb))
    by_scipy = (W @ W.T).toarray()
    np.fill_diagonal(by_scipy, 0)
    np.testing.assert_array_equal(rows.to_dense(fill_value=0), by_scipy)
    assert columns.shape == rows.shape


def test_heat_is_conserved(gb, karate):
    heat, total = linear.heat_diffusion(gb, karate.matrix(gb), steps=20)
    assert total == pytest.approx(100)
    assert heat.reduce(gb.monoid.min).value > 0


def test_modularity_of_networkx(gb, karate):
    got = linear.modularity(gb, karate.matrix(gb, bool), halves(gb, karate))
    parts = [set(range(0, 34, 2)), set(range(1, 34, 2))]
    assert got == pytest.approx(nx.community.modularity(nx_graph(karate), parts, weight=None))


def test_jaccard_of_networkx(gb, karate):
    got = linear.jaccard(gb, karate.matrix(gb, bool))
    for (i, j), value in zip(got, got.to_coo()[2]):
        [(_, _, expected)] = nx.jaccard_coefficient(nx_graph(karate), [(int(i), int(j))])
        assert value == pytest.approx(expected)
    assert got.nvals > 100


def test_hits_of_networkx(gb):
    graph = GRAPHS["rmat6-5"]
    G = nx.Graph(zip(graph.rows.tolist(), graph.cols.tolist()))
    hub, authority = ranking.hits(gb, graph.matrix(gb, bool), iterations=200)
    expected_hubs, expected_authorities = nx.hits(G, max_iter=1000, tol=1e-12)
    for got, expected in ((hub, expected_hubs), (authority, expected_authorities)):
        dense = got.to_dense(fill_value=0.0)
        np.testing.assert_allclose(dense / dense.sum(), [expected.get(v, 0) for v in range(graph.n)], atol=1e-6)
