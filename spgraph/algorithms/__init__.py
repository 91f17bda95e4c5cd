"""Graph algorithms as semiring expressions, one file each.

Every function takes a `Matrix` (entry (i, j) is the edge i -> j) or anything
that `spgraph.io.as_matrix` converts, and returns Vectors.
"""

from spgraph.algorithms.bfs import bfs, bfs_parents
from spgraph.algorithms.pagerank import PageRank, pagerank
from spgraph.algorithms.sssp import sssp, sssp_parents

__all__ = ["PageRank", "bfs", "bfs_parents", "pagerank", "sssp", "sssp_parents"]
