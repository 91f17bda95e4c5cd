"""NetworkX: the functions of the same names. Graphs are dictionaries, so only small ones are tried."""

from __future__ import annotations

import networkx as nx
import numpy as np

from spgraph import algorithms, io
from spgraph.bench._problem import Answer, Problem, Text

__all__ = ["LARGEST", "NAME", "texts", "version"]

NAME = "networkx"
LARGEST = 300_000  # stored edges


def version() -> str:
    """Version of the package."""
    return nx.__version__


def texts(problem: Problem) -> dict[str, Text]:
    """The algorithm's texts by name."""
    G = problem.kept("networkx", lambda: _graph(problem))
    n = problem.n
    parts = nx.weakly_connected_components if G.is_directed() else nx.connected_components

    def parents(found) -> np.ndarray:
        source, before = found
        return _dense({**before, source: source}, n, -1, np.int64)

    def tree(found) -> Answer:
        source, (before, distance) = found
        first = {v: earlier[0] for v, earlier in before.items() if earlier}
        return Answer(distance=_dense(distance, n, np.inf, np.float64), parent=parents((source, first)))

    return {
        "bfs": {
            "single_source_shortest_path_length": Text(
                lambda source: nx.single_source_shortest_path_length(G, source),
                lambda found: Answer(level=_dense(found, n, -1, np.int64)),
            )
        },
        "bfs_parents": {
            "bfs_edges": Text(
                lambda source: (source, {child: parent for parent, child in nx.bfs_edges(G, source)}),
                lambda found: Answer(parent=parents(found)),
            )
        },
        "sssp": {
            "single_source_dijkstra_path_length": Text(
                lambda source: nx.single_source_dijkstra_path_length(G, source),
                lambda found: Answer(distance=_dense(found, n, np.inf, np.float64)),
            )
        },
        "sssp_parents": {
            "dijkstra_predecessor_and_distance": Text(
                lambda source: (source, nx.dijkstra_predecessor_and_distance(G, source)), tree
            )
        },
        "pagerank": {
            "pagerank": Text(
                lambda iterations: nx.pagerank(G, problem.alpha, weight=None, **_stop(problem, iterations)),
                lambda found: Answer(rank=_dense(found, n, 0, np.float64)),
            )
        },
        "components": {
            "connected_components": Text(
                lambda source: list(parts(G)),
                lambda found: Answer(label=_labels(found, n)),
            )
        },
        "triangles": {
            "triangles": Text(
                lambda source: sum(nx.triangles(G.to_undirected(as_view=True)).values()) // 3,
                lambda total: Answer(total=total),
            )
        },
        "betweenness": {
            "betweenness_centrality_subset": Text(
                lambda number: nx.betweenness_centrality_subset(G, problem.sources[:number], range(n)),
                lambda found: Answer(centrality=_dense(found, n, 0, np.float64)),
            )
        },
    }[problem.algorithm]


def _stop(problem: Problem, iterations: int) -> dict:
    """NetworkX stops at a tolerance only: give it the one that is met after so many iterations."""

    def residual() -> float:
        return algorithms.pagerank(
            problem.graph, problem.alpha, weighted=False, max_iter=iterations, tol=0, fail_on_nonconvergence=False
        ).residual

    found = problem.kept(f"networkx {iterations}", residual)
    return {"max_iter": iterations + 1, "tol": max(found, 1e-15) * (1 + 1e-6) / problem.n}


def _graph(problem: Problem):
    return io.to_networkx(problem.graph, labels=range(problem.n), directed=not problem.symmetric)


def _dense(found: dict, n: int, fill, dtype) -> np.ndarray:
    dense = np.full(n, fill, dtype)
    dense[list(found)] = list(found.values())
    return dense


def _labels(components: list, n: int) -> np.ndarray:
    label = np.empty(n, np.int64)
    for number, members in enumerate(components):
        label[list(members)] = number
    return label
