"""NetworkX's dispatch to spgraph: its own answers, the caller's nodes, reasons, and never an old graph."""

import inspect
import logging
import math
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spgraph.nx
from spgraph._nx_info import FUNCTIONS, get_info


def call(name, *args, **kwargs):
    return getattr(nx, name)(*args, backend="spgraph", **kwargs)


def plain(value):
    """Iterators as lists, for comparing."""
    return list(value) if hasattr(value, "__next__") else value


def check(name, G, *args, **kwargs):
    """Our answer, which is NetworkX's in value, keys and (for whole graphs) in node order."""
    got = plain(call(name, G, *args, **kwargs))
    expected = plain(getattr(nx, name)(G, *args, **kwargs))
    if isinstance(expected, dict):
        assert type(got) is dict
        assert got == pytest.approx(expected, abs=1e-9)
        assert list(got) == [node for node in G if node in got]
        assert {type(value) for value in got.values()} <= {int, float}
    else:
        assert got == (pytest.approx(expected) if isinstance(expected, float) else expected)
    return got


def labelled(kind=nx.Graph):
    """Nodes of several types, not sorted, one of them isolated."""
    G = kind()
    G.add_nodes_from(["z", 5, (1, 2), "lonely", print, 0.5])
    G.add_weighted_edges_from([("z", 5, 2), (5, (1, 2), 3), ("z", (1, 2), 9), ((1, 2), 0.5, 0), (print, 0.5, 1.5)])
    return G


KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
VERSION = tuple(int(part) for part in nx.__version__.split(".")[:2])
SINCE = {("hits", "method"): (3, 7)}  # what NetworkX has had since then


# ---- every function -------------------------------------------------------------------
def test_networkx_finds_what_there_is():
    assert set(FUNCTIONS) == {name for name in vars(spgraph.nx) if name in nx.utils.backends._registered_algorithms}
    assert sorted(FUNCTIONS) == list(FUNCTIONS)
    assert nx.utils.backends.backend_info["spgraph"] == get_info()
    for name in FUNCTIONS:
        assert "spgraph" in getattr(nx, name).backends
        theirs = list(inspect.signature(getattr(nx, name)).parameters.values())[:-2]  # without backend
        ours = list(inspect.signature(getattr(spgraph.nx, name)).parameters.values())
        ours = [p for p in ours if (name, p.name) not in SINCE or SINCE[name, p.name] <= VERSION]
        assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


@pytest.mark.parametrize("kind", KINDS)
def test_paths(kind):
    G = labelled(kind)
    for node in G:
        for name in ("single_source_shortest_path_length", "single_target_shortest_path_length"):
            for cutoff in (None, 0, 1, 1.5, math.inf):
                check(name, G, node, cutoff)
        check("descendants", G, node)
        check("ancestors", G, node)
        for weight in ("weight", "missing", None):
            for cutoff in (None, 0, 2.5, -1):
                if weight is not None:
                    check("single_source_dijkstra_path_length", G, node, cutoff, weight)
    for name in ("single_source_shortest_path_length", "single_source_dijkstra_path_length"):
        with pytest.raises(nx.NodeNotFound, match="nowhere"):
            call(name, G, "nowhere")
    with pytest.raises(nx.NetworkXError, match="nowhere is not in the graph"):
        call("descendants", G, "nowhere")


@pytest.mark.parametrize("weights", [[1, math.inf], [1.5, math.inf], [math.inf, 2.0], [-1073741823, 5], [3, 4]])
def test_paths_of_any_weights(weights):
    """NetworkX leaves out what is infinitely far by Bellman-Ford, and not by Dijkstra."""
    G = nx.DiGraph()
    G.add_weighted_edges_from([("a", "b", weights[0]), ("b", "c", weights[1])])
    for node in G:
        check("single_source_bellman_ford_path_length", G, node)
        if min(weights) >= 0:
            check("single_source_dijkstra_path_length", G, node)
    for back in (-1073741823, -1e308):
        G.add_edge("b", "a", weight=back)
        if weights[0] < math.inf:
            with pytest.raises(nx.NetworkXUnbounded):
                call("single_source_bellman_ford_path_length", G, "a")


@pytest.mark.parametrize("kind", KINDS)
def test_ranks(kind):
    G = labelled(kind)
    if G.is_multigraph():
        G.add_edge("z", 5, weight=4)
    check("pagerank", G)
    check("pagerank", G, weight=None)
    check("pagerank", G, 0.5, weight="missing", tol=1e-9)
    check("pagerank", G, personalization={"z": 1, "lonely": 3}, dangling={5: 1}, nstart=dict.fromkeys(G, 1))
    with pytest.raises(nx.PowerIterationFailedConvergence):
        call("pagerank", G, max_iter=1, tol=1e-12)
    with pytest.raises(ZeroDivisionError):
        call("pagerank", G, personalization={"nowhere": 1})
    for name in ("nstart", "dangling"):
        with pytest.raises(nx.PowerIterationFailedConvergence):
            call("pagerank", G, **{name: dict.fromkeys(G, 0)})
    assert call("pagerank", kind()) == {}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_eigenvectors(kind):
    G = labelled(kind)
    values = {node: 1.0 + number for number, node in enumerate(G)}
    for weight in (None, "weight", "missing"):
        check("katz_centrality", G, 0.05, weight=weight, tol=1e-12)
        check("katz_centrality", G, 0.05, 2.5, weight=weight, normalized=False, tol=1e-12)
    check("katz_centrality", G, 0.05, values, nstart=values, tol=1e-12)
    if kind is nx.Graph:
        for weight in (None, "weight"):
            check("eigenvector_centrality", G, 1000, 1e-12, weight=weight)
        check("eigenvector_centrality", G, 1000, 1e-12, values)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        call("katz_centrality", G, max_iter=1)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        call("eigenvector_centrality", nx.path_graph(5), max_iter=1)
    with pytest.raises(nx.NetworkXPointlessConcept):
        call("eigenvector_centrality", kind())
    with pytest.raises(nx.NetworkXError, match="zero"):
        call("eigenvector_centrality", G, nstart=dict.fromkeys(G, 0))
    assert call("katz_centrality", kind()) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_hits(kind):
    G = nx.gnp_random_graph(20, 0.3, seed=1, directed=True) if kind().is_directed() else nx.karate_club_graph()
    G = kind(G)
    if G.is_multigraph():
        G.add_edge(0, 1, weight=3)
    for got, expected in zip(call("hits", G, tol=1e-12), nx.hits(G)):
        assert got == pytest.approx(expected, abs=1e-7)
        assert list(got) == list(G)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        call("hits", G, max_iter=0)
    assert call("hits", kind()) == ({}, {})
    assert spgraph.nx.hits(G, method="svd") == spgraph.nx.hits(G)
    with pytest.raises(ValueError, match="method not supported: power"):
        spgraph.nx.hits(G, method="power")


def test_negative_weights():
    G = nx.DiGraph()
    G.add_weighted_edges_from([("a", "b", 2), ("a", "c", 5), ("c", "b", -10), ("d", "e", 1), ("e", "d", -2)])
    assert check("single_source_bellman_ford_path_length", G, "a") == {"a": 0, "b": -5, "c": 5}
    with pytest.raises(nx.NetworkXUnbounded, match="Negative cycle"):
        call("single_source_bellman_ford_path_length", G, "d")
    with pytest.raises(nx.NodeNotFound, match="nowhere"):
        call("single_source_bellman_ford_path_length", G, "nowhere")


def test_parallel_edges_add_up():
    G = nx.MultiDiGraph([(0, 1), (0, 1), (0, 2), (1, 0), (2, 0)])
    assert call("pagerank", G) == pytest.approx({0: 0.4865, 1: 0.3257, 2: 0.1878}, abs=1e-4)
    assert call("pagerank", nx.DiGraph(G)) == pytest.approx({0: 0.4865, 1: 0.2568, 2: 0.2568}, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_betweenness(kind):
    G = labelled(kind)
    for normalized in (True, False):
        for endpoints in (True, False):
            check("betweenness_centrality", G, None, normalized, None, endpoints)
            for k in (2, 3, len(G)):
                check("betweenness_centrality", G, k, normalized, None, endpoints, 7)
                check("betweenness_centrality", G, k, normalized, None, endpoints, random.Random(3).randrange(99))


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_undirected(kind):
    G = labelled(kind)
    for name in ("connected_components", "number_connected_components", "is_connected"):
        check(name, G)
    for node in G:
        check("node_connected_component", G, node)
    with pytest.raises(KeyError):
        call("node_connected_component", G, "nowhere")
    with pytest.raises(nx.NetworkXPointlessConcept):
        call("is_connected", kind())


def test_clustering_and_cores():
    G = labelled()
    for name in ("triangles", "clustering", "average_clustering", "transitivity", "core_number"):
        check(name, G)
        assert "not for multigraphs" in spgraph.nx.can_run(name, (nx.MultiGraph(),), {})
    for node in G:
        check("clustering", G, node)
        check("triangles", G, node)
    check("triangles", G, ["z", 0.5])
    check("clustering", G, ["z", 5])
    assert call("triangles", G, ["z", "nowhere"]) == {"z": 1}
    check("average_clustering", G, count_zeros=False)
    with pytest.raises(ZeroDivisionError):
        call("average_clustering", nx.Graph())
    G.add_edge("z", "z")
    with pytest.raises(nx.NetworkXNotImplemented, match="self loops"):
        call("core_number", G)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_weak_components(kind):
    G = labelled(kind)
    for name in ("weakly_connected_components", "number_weakly_connected_components", "is_weakly_connected"):
        check(name, G)
    G.remove_node("lonely")
    assert check("is_weakly_connected", G) is True


triples = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 5)), max_size=20)


@given(triples, st.permutations(range(8)), st.booleans())
def test_any_graph(triples, order, directed):
    G = nx.DiGraph() if directed else nx.Graph()
    G.add_nodes_from(order)
    G.add_weighted_edges_from(triples)
    check("single_source_shortest_path_length", G, 3)
    check("single_source_dijkstra_path_length", G, 3)
    check("pagerank", G)
    check("betweenness_centrality", G)
    if directed:
        check("weakly_connected_components", G)
    else:
        for name in ("connected_components", "triangles", "clustering"):
            check(name, G)


SMALL = {
    "empty": nx.Graph(), "one": nx.empty_graph(1), "loop": nx.Graph([(0, 0)]), "path": nx.path_graph(4),
    "star": nx.star_graph(4),
}  # fmt: skip


@pytest.mark.parametrize("graph", SMALL)
@pytest.mark.parametrize(
    "name",
    ["pagerank", "betweenness_centrality", "triangles", "clustering", "connected_components", "transitivity"],
)
def test_small_graphs(graph, name):
    check(name, SMALL[graph])


def test_views_and_converted_graphs():
    G = nx.path_graph(5)
    view = G.subgraph([0, 1, 3, 4])
    assert check("single_source_shortest_path_length", view, 0) == {0: 0, 1: 1}
    assert check("single_source_shortest_path_length", G.to_directed(as_view=True), 0)[4] == 4
    H = spgraph.nx.convert_from_nx(G)
    assert (len(H), list(H), 3 in H, H.is_directed(), H.is_multigraph()) == (5, [0, 1, 2, 3, 4], True, False, False)
    assert nx.pagerank(H) == call("pagerank", G) == spgraph.nx.pagerank(G)
    assert spgraph.nx.convert_to_nx(H) is G
    assert spgraph.nx.convert_to_nx(7) == 7


# ---- a graph that changes -------------------------------------------------------------
def test_a_changed_graph_is_never_answered_from_a_cache():
    G = nx.path_graph(4)
    nx.set_edge_attributes(G, 1, "weight")
    assert nx.config.cache_converted_graphs
    for change in (
        lambda: G[1][2].__setitem__("weight", 50),  # not seen by NetworkX
        lambda: G.edges[2, 3].update(weight=7),
        lambda: G.add_edge(0, 3, weight=2),
        lambda: G.remove_edge(0, 1),
        lambda: G.add_node("new"),
        lambda: G._adj[0].pop(3) and G._adj[3].pop(0),
    ):
        check("single_source_dijkstra_path_length", G, 0)
        check("pagerank", G)
        change()
    assert check("single_source_dijkstra_path_length", G, 0) == {0: 0}
    assert "spgraph" not in G.__networkx_cache__.get("backends", {})


def test_the_view_that_networkx_keeps_is_not_old_either():
    G = nx.path_graph(3)
    H = spgraph.nx.convert_from_nx(G)
    assert spgraph.nx.single_source_shortest_path_length(H, 0) == {0: 0, 1: 1, 2: 2}
    G._adj[0][2] = G._adj[2][0] = {}
    assert spgraph.nx.single_source_shortest_path_length(H, 0) == {0: 0, 1: 1, 2: 1}


# ---- what we decline ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "args", "kwargs", "reason"),
    [
        ("single_source_dijkstra_path_length", (nx.path_graph(3), 0), {"weight": max}, "weight is a function"),
        ("betweenness_centrality", (nx.path_graph(3),), {"weight": "weight"}, "without weights only"),
        ("betweenness_centrality", (nx.path_graph(3),), {"k": 1, "seed": 1}, "k=1 without endpoints"),
        ("betweenness_centrality", (nx.path_graph(3),), {"k": 2, "seed": np.random.RandomState(0)}, "takes None"),
        ("clustering", (nx.path_graph(3, create_using=nx.DiGraph),), {}, "undirected graphs only"),
        ("core_number", (nx.path_graph(3, create_using=nx.DiGraph),), {}, "undirected graphs only"),
        ("average_clustering", (nx.path_graph(3), [0]), {}, "for all nodes only"),
        ("clustering", (nx.path_graph(3),), {"weight": "weight"}, "without weights only"),
        ("katz_centrality", (nx.path_graph(3),), {"beta": {0: 1}}, "beta has values for 1 nodes"),
        ("single_source_dijkstra_path_length", (nx.path_graph(3), 0), {"weight": False}, "weight is False"),
        ("pagerank", (nx.path_graph(3),), {"weight": True}, "weight is True"),
        ("eigenvector_centrality", (nx.path_graph(3),), {"weight": False}, "weight is False"),
        ("single_source_shortest_path_length", (nx.path_graph(3), 0), {"cutoff": math.nan}, "cutoff is nan"),
        ("single_target_shortest_path_length", (nx.path_graph(3), 0), {"cutoff": 1j}, "cutoff is 1j"),
        ("single_source_dijkstra_path_length", (nx.path_graph(3), 0), {"cutoff": np.float64("nan")}, "a real number"),
        ("katz_centrality", (nx.path_graph(3),), {"beta": [1, 2, 3]}, "beta is [1, 2, 3]"),
        ("katz_centrality", (nx.path_graph(3),), {"beta": None}, "beta is None"),
        ("hits", (nx.path_graph(3),), {"normalized": False}, "leaves signs to chance"),
        ("hits", (nx.path_graph(3),), {"nstart": {0: 1}}, "NetworkX's own method"),
    ],
)
def test_declined_with_a_reason(name, args, kwargs, reason, caplog):
    assert reason in spgraph.nx.can_run(name, args, kwargs)
    assert reason in spgraph.nx.should_run(name, args, kwargs)
    with caplog.at_level(logging.DEBUG, logger="networkx"), pytest.raises(NotImplementedError, match=name):
        call(name, *args, **kwargs)
    assert reason in caplog.text


@pytest.mark.parametrize("weight", [True, False])
def test_a_truth_value_is_no_name(weight):
    for function, args in ((spgraph.nx.pagerank, ()), (spgraph.nx.single_source_dijkstra_path_length, (0,))):
        with pytest.raises(NotImplementedError, match=f"weight is {weight}, and spgraph takes the name"):
            function(nx.path_graph(3), *args, weight=weight)


def test_declined_by_what_the_edges_hold():
    G = nx.Graph()
    G.add_edge("a", "b", weight="far")
    with pytest.raises(NotImplementedError) as caught:
        call("pagerank", G)
    assert "edge ('a', 'b') has weight 'far'" in str(caught.value.__cause__)
    G.add_edge("a", "b", weight=None)
    with pytest.raises(NotImplementedError) as caught:
        call("single_source_dijkstra_path_length", G, "a")
    assert "an edge has weight=None" in str(caught.value.__cause__)
    D = nx.DiGraph()
    D.add_weighted_edges_from([(0, 1, 1), (1, 0, -2)])
    with pytest.raises(NotImplementedError) as caught:
        call("single_source_dijkstra_path_length", D, 0)
    assert "negative" in str(caught.value.__cause__)


def test_unknown_functions_and_arguments():
    assert spgraph.nx.can_run("voterank", (nx.path_graph(2),), {}) == "spgraph has no voterank"
    assert "source" in spgraph.nx.can_run("descendants", (nx.path_graph(2),), {})
    assert spgraph.nx.can_run("pagerank", (nx.path_graph(2),), {}) is True
    for seed in (None, 3, np.int64(3), random.Random(3)):
        assert spgraph.nx.can_run("betweenness_centrality", (nx.path_graph(3),), {"k": 2, "seed": seed}) is True
    for seed in ("3", 1.5, np.random, np.random.default_rng(3)):
        assert "seed is " in spgraph.nx.can_run("betweenness_centrality", (nx.path_graph(3),), {"k": 2, "seed": seed})
    with pytest.raises(NotImplementedError, match="voterank"):
        call("voterank", nx.path_graph(2))


def test_automatic_dispatch_falls_back():
    """With a priority set, what we decline NetworkX does itself."""
    G = nx.path_graph(4, create_using=nx.DiGraph)
    with nx.config.backend_priority(algos=["spgraph"]):
        assert nx.clustering(G) == dict.fromkeys(G, 0)
        assert nx.descendants(G, 1) == {2, 3}
        G.add_edge(0, 1, weight="far")
        assert nx.single_source_shortest_path_length(G, 0) == {0: 0, 1: 1, 2: 2, 3: 3}
