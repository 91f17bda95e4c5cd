"""What NetworkX reads of our backend when it is imported: names only, since it is read whoever imports NetworkX."""

from __future__ import annotations

from typing import Any

__all__ = ["FUNCTIONS", "get_info"]

FUNCTIONS = (
    "ancestors", "average_clustering", "betweenness_centrality", "clustering", "connected_components", "core_number",
    "descendants", "eigenvector_centrality", "hits", "is_connected", "is_weakly_connected", "katz_centrality",
    "node_connected_component", "number_connected_components", "number_weakly_connected_components", "pagerank",
    "single_source_bellman_ford_path_length", "single_source_dijkstra_path_length",
    "single_source_shortest_path_length", "single_target_shortest_path_length", "transitivity", "triangles",
    "weakly_connected_components",
)  # fmt: skip


def get_info() -> dict[str, Any]:
    """The description of the backend, see ``networkx.backend_info``.

    Examples
    --------
    >>> get_info()["backend_name"]
    'spgraph'
    """
    return {
        "backend_name": "spgraph",
        "project": "spgraph",
        "package": "spgraph",
        "short_summary": "Compiled semiring kernels on the CPU or a GPU.",
        "functions": {name: {} for name in FUNCTIONS},
    }
