"""Graph algorithms as semiring expressions, one file each.

Every function takes a `Matrix` (entry (i, j) is the edge i -> j) or anything
that `spgraph.io.as_matrix` converts. Most return a Vector with the values of
the vertices; some a Matrix, two Vectors, a number or a list of vertices.
"""

from spgraph.algorithms._iterated import IteratedVector
from spgraph.algorithms.bellman_ford import bellman_ford, negative_cycle
from spgraph.algorithms.betweenness import betweenness_centrality
from spgraph.algorithms.bfs import bfs, bfs_parents
from spgraph.algorithms.bfs_order import bfs_order
from spgraph.algorithms.clustering import average_clustering, clustering, transitivity
from spgraph.algorithms.components import connected_components
from spgraph.algorithms.core import core_number
from spgraph.algorithms.eigenvector import eigenvector_centrality
from spgraph.algorithms.hits import hits
from spgraph.algorithms.independent import maximal_independent_set
from spgraph.algorithms.katz import katz_centrality
from spgraph.algorithms.multi_source import bfs_from_any, bfs_from_each
from spgraph.algorithms.pagerank import PageRank, pagerank
from spgraph.algorithms.spanning import minimum_spanning_forest
from spgraph.algorithms.sssp import sssp, sssp_parents
from spgraph.algorithms.triangles import triangle_count, triangles

__all__ = [
    "IteratedVector",
    "PageRank",
    "average_clustering",
    "bellman_ford",
    "betweenness_centrality",
    "bfs",
    "bfs_from_any",
    "bfs_from_each",
    "bfs_order",
    "bfs_parents",
    "clustering",
    "connected_components",
    "core_number",
    "eigenvector_centrality",
    "hits",
    "katz_centrality",
    "maximal_independent_set",
    "minimum_spanning_forest",
    "negative_cycle",
    "pagerank",
    "sssp",
    "sssp_parents",
    "transitivity",
    "triangle_count",
    "triangles",
]
